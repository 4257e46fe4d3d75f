/*
 * Counting: a backend that stands before another one.  It counts each operation, answers for abstract operands with abstract
 * results, and hands the others on.
 *
 * Control flow with values runs as the reference's plain loops do, each round counted as it comes.  Without values a body or branch
 * runs once with abstract operands, and its cost is taken as often as the loop runs.  A loop over values whose body closes over an
 * abstract array shows it in its first round: what that counted is dropped, and the loop is taken without values.
 */
#include "calibrax/array/fn_internal.h"
#include "calibrax/array/trace/cost.h"

typedef struct counter {
    cbx_backend face;
    const cbx_backend *inner;
    cbx_cost *by_prim; /* CBX_PRIM_LIMIT of them: where operations are counted now */
    bool saw_abstract; /* since it was cleared */
} counter;

static counter *counter_of(const cbx_backend *self) { return (counter *)(uintptr_t)self; }

static cbx_cost total_of(const cbx_cost *by_prim)
{
    cbx_cost sum = { 0 };
    for (size_t p = 0; p < CBX_PRIM_LIMIT; p++) cbx_cost_add(&sum, &by_prim[p], by_prim[p].calls > 0);
    return sum;
}

static bool asks_for_shapes(cbx_ctx *ctx) { return cbx__state_get(ctx)->shapes_only > 0; }

static cbx_status count_apply(const cbx_backend *self, const cbx_call *call, cbx_array **out, cbx_err *err)
{
    counter *c = counter_of(self);
    bool abstract = false;

    if (!asks_for_shapes(call->ctx)) {
        cbx_cost cost = cbx_cost_of_call(call);
        cbx_cost_add(&c->by_prim[call->prim], &cost, 1);
    }
    for (size_t i = 0; i < call->nin; i++) abstract |= cbx_array_is_abstract(call->in[i]);
    if (!abstract) return c->inner->apply(c->inner, call, out, err);
    c->saw_abstract = true;
    return cbx_array_create_abstract(call->ctx, call->result, out, err);
}

/* --- counting aside --- */

typedef struct aside {
    counter *c;
    cbx_ctx *ctx;
    cbx_cost *before; /* where counts went */
} aside;

static cbx_status aside_begin(aside *a, counter *c, cbx_ctx *ctx, cbx_err *err)
{
    *a = (aside){ c, ctx, c->by_prim };
    c->by_prim = cbx_mem_calloc(cbx_ctx_allocator(ctx), CBX_PRIM_LIMIT, sizeof *c->by_prim);
    if (c->by_prim) return CBX_OK;
    c->by_prim = a->before;
    return cbx_fail(err, CBX_ENOMEM, "no memory to count a function");
}

/* What was counted aside goes to the rest, so many times. */
static void aside_end(aside *a, uint64_t times)
{
    for (size_t p = 0; p < CBX_PRIM_LIMIT; p++)
        if (a->c->by_prim[p].calls) cbx_cost_add(&a->before[p], &a->c->by_prim[p], times);
    cbx_mem_free(cbx_ctx_allocator(a->ctx), a->c->by_prim, CBX_PRIM_LIMIT * sizeof *a->before);
    a->c->by_prim = a->before;
}

static void set_flag(counter *c, unsigned flag)
{
    for (size_t p = 0; p < CBX_PRIM_LIMIT; p++)
        if (c->by_prim[p].calls) c->by_prim[p].flags |= flag;
}

/* One run of f, its results dropped. */
static cbx_status run_once(cbx_ctx *ctx, const cbx_fn *f, cbx_array *const *in, cbx_err *err)
{
    cbx_array **out = cbx_mem_calloc(cbx_ctx_allocator(ctx), f->nout + 1, sizeof(cbx_array *));
    cbx_status st;

    if (!out) return cbx_fail(err, CBX_ENOMEM, "no memory for the results of '%s'", f->name);
    st = cbx_fn_run(ctx, f, f->nin, in, f->nout, out, err);
    cbx__arrays_free(f->nout, out);
    cbx_mem_free(cbx_ctx_allocator(ctx), out, (f->nout + 1) * sizeof(cbx_array *));
    return st;
}

/* Counts f once for operands so described, and takes that so many times. */
static cbx_status count_body(counter *c, cbx_ctx *ctx, const cbx_fn *f, const cbx_array_desc *in, uint64_t times,
                             unsigned flag, cbx_err *err)
{
    cbx_array **list = cbx_mem_calloc(cbx_ctx_allocator(ctx), f->nin + 1, sizeof(cbx_array *));
    aside a;
    cbx_status st;

    if (!list) return cbx_fail(err, CBX_ENOMEM, "no memory for the operands of '%s'", f->name);
    st = aside_begin(&a, c, ctx, err);
    if (!st) {
        st = cbx__abstract_all(ctx, f->nin, in, list, err);
        if (!st) st = run_once(ctx, f, list, err);
        if (flag) set_flag(c, flag);
        aside_end(&a, st ? 0 : times);
    }
    cbx__arrays_free(f->nin, list);
    cbx_mem_free(cbx_ctx_allocator(ctx), list, (f->nin + 1) * sizeof(cbx_array *));
    return st;
}

/*
 * A call of control flow: for shapes alone, by the reference; with values, too, unless a round meets an abstract array; else out from
 * its shapes and counts from without_values.
 */
#define COUNT_FLOW(self, member, abstract, shapes, without_values, call, nout, out, err)                               \
    do {                                                                                                               \
        counter *c = counter_of(self);                                                                                 \
        const cbx_backend *plain = &cbx__reference_backend;                                                            \
        aside a;                                                                                                       \
        cbx_status st;                                                                                                 \
        if (asks_for_shapes((call)->ctx)) return plain->member(plain, (call), (out), (err));                           \
        if (!(abstract)) {                                                                                             \
            bool before = c->saw_abstract;                                                                             \
            st = aside_begin(&a, c, (call)->ctx, (err));                                                               \
            if (st) return st;                                                                                         \
            c->saw_abstract = false;                                                                                   \
            st = plain->member(plain, (call), (out), (err));                                                           \
            aside_end(&a, !c->saw_abstract);                                                                           \
            if (!c->saw_abstract || st == CBX_ENOMEM) {                                                                \
                c->saw_abstract = before;                                                                              \
                return st;                                                                                             \
            }                                                                                                          \
            if (!st) cbx__arrays_free((nout), (out));                                                                  \
        }                                                                                                              \
        st = shapes((call), (out), (err));                                                                             \
        if (st) return st;                                                                                             \
        c->saw_abstract = true;                                                                                        \
        st = without_values(c, (call), (err));                                                                         \
        if (st) cbx__arrays_free((nout), (out));                                                                       \
        return st;                                                                                                     \
    } while (0)

/* --- operands of bodies --- */

static cbx_array_desc *descs_create(cbx_ctx *ctx, const cbx_fn *f, cbx_err *err)
{
    cbx_array_desc *d = cbx_mem_calloc(cbx_ctx_allocator(ctx), f->nin + 1, sizeof *d);
    if (!d) cbx_fail(err, CBX_ENOMEM, "no memory for the operands of '%s'", f->name);
    return d;
}

static void descs_free(cbx_ctx *ctx, const cbx_fn *f, cbx_array_desc *d)
{
    cbx_mem_free(cbx_ctx_allocator(ctx), d, (f->nin + 1) * sizeof *d);
}

static cbx_array_desc without_axis_0(const cbx_array *x)
{
    cbx_array_desc d = *cbx_array_get_desc(x);
    d.ndim--;
    for (int i = 0; i < d.ndim; i++) d.shape[i] = d.shape[i + 1];
    d.shape[d.ndim] = 0;
    return d;
}

/* --- loops, branches and batches without values --- */

static cbx_status scan_shapes_only(counter *c, const cbx_scan_call *call, cbx_err *err)
{
    cbx_array_desc *d = descs_create(call->ctx, call->body, err);
    cbx_status st;

    if (!d) return CBX_ENOMEM;
    for (size_t i = 0; i < call->ncarry; i++) d[i] = *cbx_array_get_desc(call->init[i]);
    for (size_t i = 0; i < call->nxs; i++) d[call->ncarry + i] = without_axis_0(call->xs[i]);
    st = count_body(c, call->ctx, call->body, d, call->length, 0, err);
    descs_free(call->ctx, call->body, d);
    return st;
}

static cbx_status fori_shapes_only(counter *c, const cbx_loop_call *call, cbx_err *err)
{
    uint64_t rounds = call->upper > call->lower ? (uint64_t)call->upper - (uint64_t)call->lower : 0;
    cbx_array_desc *d = descs_create(call->ctx, call->body, err);
    cbx_status st;

    if (!d) return CBX_ENOMEM;
    d[0] = (cbx_array_desc){ .dtype = CBX_I64 };
    for (size_t i = 0; i < call->n; i++) d[i + 1] = *cbx_array_get_desc(call->init[i]);
    st = count_body(c, call->ctx, call->body, d, rounds, 0, err);
    descs_free(call->ctx, call->body, d);
    return st;
}

static cbx_status while_shapes_only(counter *c, const cbx_loop_call *call, cbx_err *err)
{
    cbx_array_desc *d = descs_create(call->ctx, call->body, err);
    cbx_status st;

    if (!d) return CBX_ENOMEM;
    for (size_t i = 0; i < call->n; i++) d[i] = *cbx_array_get_desc(call->init[i]);
    st = count_body(c, call->ctx, call->test, d, 1, CBX_COST_LOWER_BOUND, err);
    if (!st) st = count_body(c, call->ctx, call->body, d, 1, CBX_COST_LOWER_BOUND, err);
    descs_free(call->ctx, call->body, d);
    return st;
}

static bool is_dearer(const cbx_cost *a, const cbx_cost *b)
{
    double x = (double)a->flop + (double)a->int_op + (double)a->transcendental;
    double y = (double)b->flop + (double)b->int_op + (double)b->transcendental;

    if (x > y || x < y) return x > y;
    return (double)a->bytes_read + (double)a->bytes_written > (double)b->bytes_read + (double)b->bytes_written;
}

/* Each branch apart; then the dearest again, to be kept. */
static cbx_status dearest_branch(counter *c, const cbx_cond_call *call, size_t *which, bool *differ, cbx_err *err)
{
    cbx_cost dearest = { 0 };
    cbx_status st = CBX_OK;
    aside a;

    *differ = false;
    for (size_t b = 0; !st && b < call->n; b++) {
        cbx_cost cost;
        st = aside_begin(&a, c, call->ctx, err);
        if (st) break;
        st = run_once(call->ctx, call->branches[b], call->in, err);
        cost = total_of(c->by_prim);
        aside_end(&a, 0);
        *differ |= b > 0 && (cost.flop != dearest.flop || cost.int_op != dearest.int_op ||
                             cost.transcendental != dearest.transcendental || cost.bytes_read != dearest.bytes_read ||
                             cost.bytes_written != dearest.bytes_written);
        if (b > 0 && !is_dearer(&cost, &dearest)) continue;
        dearest = cost;
        *which = b;
    }
    return st;
}

static cbx_status cond_shapes_only(counter *c, const cbx_cond_call *call, cbx_err *err)
{
    bool differ = false;
    size_t which = 0;
    int64_t index = 0;
    cbx_status st = CBX_OK;
    aside a;

    if (cbx_array_is_abstract(call->index)) {
        st = dearest_branch(c, call, &which, &differ, err);
    } else {
        st = cbx_array_read(call->index, &index, sizeof index, err);
        which = index < 0 ? 0 : (uint64_t)index >= call->n ? call->n - 1 : (size_t)index;
    }
    if (!st) st = aside_begin(&a, c, call->ctx, err);
    if (st) return st;
    st = run_once(call->ctx, call->branches[which], call->in, err);
    if (differ) set_flag(c, CBX_COST_DEAREST);
    aside_end(&a, 1);
    return st;
}

static cbx_status vmap_shapes_only(counter *c, const cbx_vmap_call *call, cbx_err *err)
{
    cbx_array_desc *d = descs_create(call->ctx, call->f, err);
    cbx_status st;

    if (!d) return CBX_ENOMEM;
    for (size_t i = 0; i < call->f->nin; i++)
        d[i] = call->mapped[i] ? without_axis_0(call->in[i]) : *cbx_array_get_desc(call->in[i]);
    st = count_body(c, call->ctx, call->f, d, call->length, 0, err);
    descs_free(call->ctx, call->f, d);
    return st;
}

/* --- the members --- */

static cbx_status count_scan(const cbx_backend *self, const cbx_scan_call *call, cbx_array **out, cbx_err *err)
{
    COUNT_FLOW(self, scan, cbx__any_abstract(call->ncarry, call->init) || cbx__any_abstract(call->nxs, call->xs),
               cbx__scan_shapes, scan_shapes_only, call, call->body->nout, out, err);
}

static cbx_status count_fori(const cbx_backend *self, const cbx_loop_call *call, cbx_array **out, cbx_err *err)
{
    COUNT_FLOW(self, fori_loop, cbx__any_abstract(call->n, call->init), cbx__loop_shapes, fori_shapes_only, call,
               call->n, out, err);
}

static cbx_status count_while(const cbx_backend *self, const cbx_loop_call *call, cbx_array **out, cbx_err *err)
{
    COUNT_FLOW(self, while_loop, cbx__any_abstract(call->n, call->init), cbx__loop_shapes, while_shapes_only, call,
               call->n, out, err);
}

static cbx_status count_cond(const cbx_backend *self, const cbx_cond_call *call, cbx_array **out, cbx_err *err)
{
    COUNT_FLOW(self, cond, cbx_array_is_abstract(call->index) || cbx__any_abstract(call->nin, call->in),
               cbx__cond_shapes, cond_shapes_only, call, call->branches[0]->nout, out, err);
}

static cbx_status count_vmap(const cbx_backend *self, const cbx_vmap_call *call, cbx_array **out, cbx_err *err)
{
    COUNT_FLOW(self, vmap, cbx__any_abstract(call->f->nin, call->in), cbx__vmap_shapes, vmap_shapes_only, call,
               call->f->nout, out, err);
}

static cbx_status count_sync(const cbx_backend *self, cbx_ctx *ctx, cbx_err *err)
{
    const cbx_backend *inner = counter_of(self)->inner;
    return inner->sync(inner, ctx, err);
}

static cbx_status count_grad(const cbx_backend *self, cbx_ctx *ctx, const cbx_fn *f, size_t n, const size_t *argnums,
                             cbx_fn **out, cbx_err *err)
{
    const cbx_backend *inner = counter_of(self)->inner;
    return inner->grad(inner, ctx, f, n, argnums, out, err);
}

static cbx_status count_value_and_grad(const cbx_backend *self, cbx_ctx *ctx, const cbx_fn *f, size_t n,
                                       const size_t *argnums, cbx_fn **out, cbx_err *err)
{
    const cbx_backend *inner = counter_of(self)->inner;
    return inner->value_and_grad(inner, ctx, f, n, argnums, out, err);
}

/* jit stays empty: a function compiled while it is counted is the function itself. */
static counter counter_before(const cbx_backend *inner, cbx_cost *by_prim)
{
    counter c = { .inner = inner, .by_prim = by_prim };

    c.face = (cbx_backend){ .struct_size = sizeof(cbx_backend),
                            .abi = CBX_BACKEND_ABI,
                            .name = inner->name,
                            .flags = inner->flags | CBX_BACKEND_TAKES_ABSTRACT,
                            .apply = count_apply,
                            .vmap = count_vmap,
                            .scan = count_scan,
                            .fori_loop = count_fori,
                            .while_loop = count_while,
                            .cond = count_cond };
    if (inner->sync) c.face.sync = count_sync;
    if (inner->grad) c.face.grad = count_grad;
    if (inner->value_and_grad) c.face.value_and_grad = count_value_and_grad;
    return c;
}

static uint64_t bytes_of(size_t n, cbx_array *const *arrays)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) sum += cbx_array_bytes(arrays[i]);
    return sum;
}

cbx_status cbx_cost_count_run(cbx_ctx *ctx, const cbx_fn *f, size_t nin, cbx_array *const *in, size_t nout,
                              cbx_array **results, cbx_cost_report *out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx__state *s = cbx__state_get(ctx);
    cbx_cost *by_prim = cbx_mem_calloc(al, CBX_PRIM_LIMIT, sizeof *by_prim);
    cbx_array **list = cbx_mem_calloc(al, nout + 1, sizeof(cbx_array *));
    cbx_status st = CBX_OK;

    if (!s || !by_prim || !list) st = cbx_fail(err, CBX_ENOMEM, "no memory to count a function");
    if (!st) {
        const cbx_backend *before = s->backend;
        counter c = counter_before(before, by_prim);
        s->backend = &c.face;
        st = cbx_fn_run(ctx, f, nin, in, nout, list, err);
        s->backend = before;
    }
    if (!st) {
        out->total = total_of(by_prim);
        out->in_bytes = bytes_of(nin, in);
        out->out_bytes = bytes_of(nout, list);
        for (size_t p = 0; p < CBX_PRIM_LIMIT; p++) out->by_prim[p] = by_prim[p];
        for (size_t i = 0; results && i < nout; i++) results[i] = cbx_array_ref(list[i]);
    }
    if (list) cbx__arrays_free(nout, list);
    cbx_mem_free(al, list, (nout + 1) * sizeof(cbx_array *));
    cbx_mem_free(al, by_prim, CBX_PRIM_LIMIT * sizeof *by_prim);
    return st;
}

cbx_status cbx_cost_count(cbx_ctx *ctx, const cbx_fn *f, size_t nin, const cbx_array_desc *in, cbx_cost_report *out,
                          cbx_err *err)
{
    cbx_array **list = cbx_mem_calloc(cbx_ctx_allocator(ctx), nin + 1, sizeof(cbx_array *));
    cbx_status st;

    if (!list) return cbx_fail(err, CBX_ENOMEM, "no memory for the operands of a function");
    st = cbx__abstract_all(ctx, nin, in, list, err);
    if (!st) st = cbx_cost_count_run(ctx, f, nin, list, f ? f->nout : 0, NULL, out, err);
    cbx__arrays_free(nin, list);
    cbx_mem_free(cbx_ctx_allocator(ctx), list, (nin + 1) * sizeof(cbx_array *));
    return st;
}
