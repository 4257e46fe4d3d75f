/* Programs: the units of a plan as steps, and how they run. */
#include "calibrax/array/jit/program.h"

#include <string.h>

#include "calibrax/array/fn_internal.h"
#include "calibrax/array/jit/folds.h"
#include "calibrax/array/jit/program_gpu.h"
#include "calibrax/array/kernels/threads.h"
#include "calibrax/array/reference/reference.h"
#include "calibrax/array/state.h"
#include "calibrax/base/clock.h"
#include "calibrax/base/idioms.h"

/* Outputs of more bytes go past the caches: none of them is there when it is read next. */
#define PAST_CACHES ((size_t)16 << 20)

/* ---- making ---- */

typedef struct maker {
    cbx__program *p;
    CBX_LIST(cbx__nest) nests;
    cbx_allocator al; /* of the arena */
} maker;

/* Results that nothing reads soon, and that are larger than the caches, are written past them. */
static void set_nontemporal(const cbx__program *p, cbx__nest *n)
{
    for (size_t s = 0; s < n->kernel.nout; s++) {
        cbx__kstream *t = &n->kernel.streams.items[s];
        const cbx__vid v = n->sites[s].base;
        size_t bytes = v == CBX__NO_VALUE ? 0 : cbx_dtype_size((cbx_dtype)t->dtype) * cbx__kstream_run(t);
        for (int i = 0; i < n->ndim; i++) bytes *= n->shape[i];
        t->nontemporal = bytes >= PAST_CACHES && (t->kind == CBX__STREAM_DENSE || t->beside) &&
                         p->graph->values.items[v].last == CBX__NO_VALUE; /* a result */
    }
}

static cbx_status add_nest(maker *m, cbx__nest *n, cbx_err *err)
{
    set_nontemporal(m->p, n);
    if (!cbx_list_push(&m->al, &m->nests, *n)) {
        cbx__kernel_clear(&n->kernel);
        return cbx_fail_nomem(err, "the steps of a compiled function");
    }
    m->p->nests = m->nests.items;
    m->p->nnests = m->nests.n;
    if (n->kernel.streams.n <= CBX__MAX_STREAMS) return CBX_OK;
    return cbx_fail(err, CBX_EUNSUPPORTED, "'%s' has a kernel of more than %d operands", m->p->graph->name,
                    CBX__MAX_STREAMS);
}

/* An operation of the backend, or a scan that is a kernel. */
static cbx_status add_node(maker *m, uint32_t k, size_t longest, cbx_err *err)
{
    cbx__program *p = m->p;
    const cbx__node *node = &p->graph->nodes.items[k];
    cbx__nest nest;
    bool done = false;
    cbx_status st = CBX_OK;

    if (longest && node->prim == CBX_PRIM_SCAN) st = cbx__scan_nest(&p->arena, &p->al, node, &done, &nest, err);
    if (st) return st;
    p->steps[p->nsteps++] = (cbx__step){ .node = done ? CBX__NO_INDEX : k, .nest = m->nests.n };
    return done ? add_nest(m, &nest, err) : CBX_OK;
}

static cbx_status add_units(maker *m, size_t longest, cbx_err *err)
{
    cbx__program *p = m->p;
    cbx_status st = CBX_OK;

    for (size_t u = 0; !st && u < p->plan.nunits; u++) {
        const cbx__unit *unit = &p->plan.units[u];
        cbx__nest *nests = NULL;
        size_t n = 0;
        if (unit->apply != CBX__NO_INDEX) {
            st = add_node(m, unit->apply, longest, err);
            continue;
        }
        st = cbx__nests_create(&p->arena, &p->al, &p->plan, unit, &n, &nests, err);
        for (size_t i = 0; !st && i < n; i++) {
            p->steps[p->nsteps++] = (cbx__step){ .node = CBX__NO_INDEX, .nest = m->nests.n };
            st = add_nest(m, &nests[i], err);
            for (size_t rest = i + 1; st && rest < n; rest++) cbx__kernel_clear(&nests[rest].kernel);
        }
    }
    return st;
}

static cbx_status compile(cbx_ctx *ctx, const cbx__program *p, const cbx__emitter *emitter, cbx__code **out,
                          cbx_err *err)
{
    return p->nnests ? emitter->compile(ctx, p->nnests, p->kernels, out, err) : CBX_OK;
}

/* What a program for GPUs runs on the CPU; where LLVM is missing, or does not take a kernel, it is
 * interpreted. */
static cbx_status code_of(cbx_ctx *ctx, cbx__program *p, const cbx__code **out, cbx_err *err)
{
    cbx__code *code = atomic_load_explicit(&p->code, memory_order_acquire);
    cbx_err why = CBX_ERR_INIT; /* a record that the context reads must not see attempts */
    cbx_status st = CBX_OK;

    if (!code) {
        pthread_mutex_lock(&p->lock);
        code = atomic_load_explicit(&p->code, memory_order_relaxed);
        if (!code) st = compile(ctx, p, &cbx__emitter_llvm, &code, &why);
        if (st == CBX_EUNAVAILABLE || st == CBX_EUNSUPPORTED)
            st = compile(ctx, p, &cbx__emitter_interpreter, &code, &why);
        if (!st) atomic_store_explicit(&p->code, code, memory_order_release);
        pthread_mutex_unlock(&p->lock);
    }
    *out = code;
    return st ? cbx_fail(err, st, "%s", why.message) : CBX_OK;
}

/* Since a reading of the clock, which is then renewed. */
static double seconds_since(uint64_t *start)
{
    const uint64_t now = cbx_clock_ns();
    const double s = 1e-9 * (double)(now - *start);
    *start = now;
    return s;
}

/* longest: operations of one kernel; 0: every operation by itself. */
static cbx_status create(cbx_ctx *ctx, const cbx__graph *g, const cbx__emitter *emitter, size_t longest,
                         cbx__program **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx__program *p = cbx_mem_zalloc(al, sizeof *p);
    maker m = { .p = p };
    uint64_t start = cbx_clock_ns();
    size_t max = 0;
    cbx_status st;

    if (!p) return cbx_fail_nomem(err, "a compiled function");
    p->al = *al;
    pthread_mutex_init(&p->lock, NULL);
    cbx_arena_init(&p->arena, al);
    p->graph = g;
    m.al = cbx_arena_allocator(&p->arena);
    p->emitter = emitter ? emitter->name : "gpu";
    st = cbx__plan_create(&p->arena, g, longest, !emitter, &p->plan, err);
    p->plan_s = seconds_since(&start);
    for (size_t u = 0; !st && u < p->plan.nunits; u++)
        max += p->plan.units[u].apply == CBX__NO_INDEX ? p->plan.units[u].nroots : 1;
    p->steps = cbx_arena_calloc(&p->arena, max + 1, sizeof *p->steps);
    if (!st && !p->steps) st = cbx_fail_nomem(err, "the steps of a compiled function");
    if (!st) st = add_units(&m, longest, err);
    p->kernels = cbx_arena_calloc(&p->arena, p->nnests + 1, sizeof *p->kernels);
    if (!st && (!p->kernels || !cbx__buffers_plan(p))) st = cbx_fail_nomem(err, "the steps of a compiled function");
    for (size_t i = 0; !st && i < p->nnests; i++) p->kernels[i] = &p->nests[i].kernel;
    p->kernels_s = seconds_since(&start);
    if (!st && emitter) {
        cbx__code *code = NULL;
        st = compile(ctx, p, emitter, &code, err);
        if (!st) atomic_init(&p->code, code);
    }
    p->code_s = seconds_since(&start);
    return CBX_FINISH(st, *out = p, cbx__program_free(p));
}

cbx_status cbx__program_create(cbx_ctx *ctx, const cbx__graph *g, const cbx__emitter *emitter, cbx__program **out,
                               cbx_err *err)
{
    static const size_t longest[] = { CBX__LONGEST, 24, 0 };
    cbx_err why = CBX_ERR_INIT; /* as in code_of */
    cbx_status st = CBX_EUNSUPPORTED;

    for (size_t i = 0; st == CBX_EUNSUPPORTED && i < CBX_LEN(longest); i++)
        st = create(ctx, g, emitter, longest[i], out, &why);
    return st ? cbx_fail(err, st, "%s", why.message) : CBX_OK;
}

void cbx__program_free(cbx__program *p)
{
    cbx_allocator al;

    if (!p) return;
    al = p->al;
    for (size_t i = 0; i < CBX_LEN(p->on_gpu); i++) cbx__gpu_nests_free(p->on_gpu[i]);
    pthread_mutex_destroy(&p->lock);
    cbx__code_free(atomic_load_explicit(&p->code, memory_order_relaxed));
    for (size_t i = 0; i < p->nnests; i++) cbx__kernel_clear(&p->nests[i].kernel);
    cbx_arena_clear(&p->arena);
    cbx_mem_free(&al, p, sizeof *p);
}

/* ---- running ---- */

/* A block of memory for a run: the caller's on its stack, if it is small, else one of the pool. */
static cbx_status get_block(cbx_ctx *ctx, size_t bytes, void *small, cbx_block *out, cbx_err *err)
{
    *out = (cbx_block){ small, 0 };
    return bytes > CBX__SMALL_WORK ? cbx_pool_get(cbx_ctx_pool(ctx), bytes, out, err) : CBX_OK;
}

static void put_block(cbx_ctx *ctx, cbx_block *b)
{
    if (b->capacity) cbx_pool_put(cbx_ctx_pool(ctx), *b);
    *b = (cbx_block){ 0 };
}

/*
 * Memory for a value that a nest makes: its place, or an array, which may be that of the value
 * whose memory it takes: the step's list of values that are done frees the other handle.  On a
 * device every value is an array of its own.
 */
static cbx_status make_value(const cbx__run *r, cbx__vid v, cbx__vid over, cbx_err *err)
{
    const cbx__vid in = r->nests ? v : r->p->places[v].in;
    const cbx_array *a = in != v || over == CBX__NO_VALUE ? NULL : r->env[over];

    if (in == CBX__NO_VALUE || r->env[in]) return CBX_OK;
    if (!a || !(a->flags & CBX__CONTIGUOUS) || a->flags & CBX__ELSEWHERE || !cbx_array_is_exclusive(a))
        return cbx_array_create(r->ctx, &r->p->graph->values.items[in].desc, &r->env[in], err);
    r->env[v] = cbx_array_ref(a);
    return CBX_OK;
}

/* The first element of a value. */
static char *address_of(const cbx__run *r, cbx__vid v)
{
    const cbx__place *place = &r->p->places[v];

    if (r->env[v]) return r->env[v]->data;
    return (place->in == CBX__NO_VALUE ? r->work : (char *)r->env[place->in]->data) + place->at;
}

static bool has_gaps(const cbx__run *r, const cbx__nest *n)
{
    for (size_t s = n->kernel.nout; s < n->kernel.streams.n; s++) {
        const cbx__vid v = n->sites[s].base;
        if (v != CBX__NO_VALUE && r->env[v] && !(r->env[v]->flags & CBX__CONTIGUOUS)) return true;
    }
    return false;
}

/* Whether all operands with gaps are of rank 1 and walked in their order, so that a map packs them
 * a block at a time. */
static bool can_pack(const cbx__run *r, const cbx__nest *n, const cbx_array **packed)
{
    size_t count = 0;

    if (n->ndim != 1 || n->nfolds || n->kernel.carries.n) return false;
    for (size_t s = 0; s < n->kernel.streams.n; s++) {
        const cbx__vid v = s < n->kernel.nout ? CBX__NO_VALUE : n->sites[s].base;
        packed[s] = v == CBX__NO_VALUE || !r->env[v] || r->env[v]->flags & CBX__CONTIGUOUS ? NULL : r->env[v];
        if (packed[s] && (++count > CBX__MAX_PACKED || n->kernel.streams.items[s].kind != CBX__STREAM_DENSE ||
                          packed[s]->desc.ndim != 1))
            return false;
    }
    return true;
}

/* Operands with gaps are read where they are, if the kernel can do it, packed on the way (*packs),
 * or copied. */
static cbx_status bind_operands(const cbx__run *r, const cbx__nest **n, cbx__nest *bound, cbx_block *work,
                                const cbx_array **packed, bool *packs, cbx_err *err)
{
    cbx_status st = cbx_pool_get(cbx_ctx_pool(r->ctx), cbx__nest_bound_bytes(*n), work, err);

    if (!st && cbx__nest_bind(*n, r->env, work->data, bound)) {
        *n = bound;
        return CBX_OK;
    }
    *packs = !st && can_pack(r, *n, packed);
    if (*packs) return CBX_OK;
    for (size_t s = (*n)->kernel.nout; !st && s < (*n)->kernel.streams.n; s++) {
        const cbx__vid v = (*n)->sites[s].base;
        cbx_array *dense;
        if (v == CBX__NO_VALUE || !r->env[v] || r->env[v]->flags & CBX__CONTIGUOUS) continue;
        st = cbx__array_dense(r->ctx, r->env[v], &dense, err);
        if (st) break;
        cbx_array_free(r->env[v]);
        r->env[v] = dense;
    }
    return st;
}

static cbx_status run_bound(const cbx__run *r, const cbx__nest *n, const cbx_array *const *packed,
                            const cbx__code *code, size_t number, cbx_err *err)
{
    char *results[CBX__MAX_STREAMS];
    const cbx__state *state = cbx__state_peek(r->ctx);
    cbx__nest_call c = {
        .nest = n, .results = results, .packed = packed, .scratch = r->scratch, .threads = r->threads
    };

    for (size_t s = 0; s < n->kernel.streams.n; s++) {
        const cbx__vid v = n->sites[s].base;
        c.at[s] = (v == CBX__NO_VALUE ? NULL : address_of(r, v)) + n->sites[s].offset;
    }
    for (size_t f = 0; f < n->nfolds; f++)
        results[f] = address_of(r, n->folds[f].result.base) + n->folds[f].result.offset;
    c.fn = code->fn[number];
    c.self = code->self[number];
    c.stop = state ? state->stop : NULL;
    return cbx__nest_run(&c) ? CBX_OK : cbx_fail(err, CBX_EINTERRUPTED, "'%s' was interrupted", r->p->graph->name);
}

static cbx_status run_nest(const cbx__run *r, const cbx__step *step, cbx_err *err)
{
    const cbx__nest *n = &r->p->nests[step->nest];
    const cbx_array *packed[CBX__MAX_STREAMS];
    cbx__nest bound;
    cbx_block work = { 0 };
    const cbx__code *code = NULL;
    bool packs = false;
    cbx_status st = code_of(r->ctx, r->p, &code, err);

    for (size_t i = 0; !st && i < step->nmade; i++) st = make_value(r, step->made[i], step->over[i], err);
    if (!st && has_gaps(r, n)) st = bind_operands(r, &n, &bound, &work, packed, &packs, err);
    if (!st) st = run_bound(r, n, packs ? packed : NULL, code, step->nest, err);
    put_block(r->ctx, &work);
    return st;
}

static cbx_status run_node(const cbx__run *r, const cbx__step *step, cbx_err *err)
{
    enum { FEW = 8 };
    const cbx__node *node = &r->p->graph->nodes.items[step->node];
    const cbx_array *small[FEW], **in = small;
    cbx_array_desc few[FEW], *results = few;
    const cbx_allocator *al = cbx_ctx_allocator(r->ctx);
    const cbx_backend *reference = cbx_backend_reference();
    cbx_status st = CBX_OK;

    if (node->nin > FEW) in = cbx_mem_calloc(al, node->nin, sizeof *in);
    if (node->nout > FEW) results = cbx_mem_calloc(al, node->nout, sizeof *results);
    if (!in || !results) st = cbx_fail_nomem(err, "the operands of an operation");
    for (uint32_t i = 0; !st && i < node->nin; i++) in[i] = r->env[node->in[i]];
    for (uint32_t k = 0; !st && k < node->nout; k++) results[k] = r->p->graph->values.items[node->out + k].desc;
    if (!st)
        st = reference->apply(reference,
                              &(cbx_call){ r->ctx, node->prim, node->nin, in, node->attrs, node->nout, results },
                              &r->env[node->out], err);
    if (st) memset(&r->env[node->out], 0, node->nout * sizeof *r->env); /* whatever a backend left there */
    for (uint32_t k = 0; !st && k < node->nout; k++) /* a function of the node may have captured an array of a device */
        st = cbx__array_bring(r->ctx, &r->env[node->out + k], err);
    if (in != small) cbx_mem_free(al, in, node->nin * sizeof *in);
    if (results != few) cbx_mem_free(al, results, node->nout * sizeof *results);
    return st;
}

/* Frees an array; its handle serves the next one. */
static void drop(cbx_ctx *ctx, cbx_array **a)
{
    cbx__state *state = cbx__state_peek(ctx);

    if (*a && state)
        cbx__array_drop(&state->handles, cbx_ctx_allocator(ctx), *a);
    else
        cbx_array_free(*a);
    *a = NULL;
}

static cbx_status run_step(const cbx__run *r, const cbx__step *step, cbx_err *err)
{
    bool done = false;
    cbx_status st = r->nests ? cbx__gpu_step(r, step, &done, err) : CBX_OK;

    if (!st && !done) st = step->node == CBX__NO_INDEX ? run_nest(r, step, err) : run_node(r, step, err);
    for (size_t i = 0; !st && i < step->ndone; i++) {
        drop(r->ctx, &r->env[step->done[i]]);
        cbx__gpu_drop(r, step->done[i]);
    }
    return st;
}

/* A reference to an operand; of one that is donated, and of which there is no other, its
 * elements. */
static cbx_status take_operand(cbx_ctx *ctx, const cbx__graph *g, size_t i, cbx_array *const *in, cbx_array **out,
                               cbx_err *err)
{
    bool donated = g->values.items[g->in.items[i]].donated && !in[i]->base && cbx_array_is_exclusive(in[i]);

    for (size_t k = 0; donated && k < g->in.n; k++) donated = k == i || in[k] != in[i];
    if (donated) return cbx_array_take(ctx, in[i], out, err);
    *out = cbx_array_ref(in[i]);
    return CBX_OK;
}

/* The arrays of values, and what nests need beside. */
static size_t arrays_bytes(const cbx__program *p) { return cbx__padded(p->graph->values.n * sizeof(cbx_array *)); }

size_t cbx__program_bytes(const cbx__program *p, int threads)
{
    size_t scratch = 0;

    for (size_t i = 0; i < p->nnests; i++) {
        const size_t bytes = cbx__nest_scratch(&p->nests[i], threads);
        if (bytes > scratch) scratch = bytes;
    }
    return arrays_bytes(p) + scratch;
}

static cbx_status run_steps(cbx__run *r, cbx_err *err)
{
    _Alignas(64) char small[CBX__SMALL_WORK];
    cbx_block work = { 0 };
    cbx_status st = CBX_OK;

    for (uint32_t s = 0; !st && s < r->p->nsteps; s++) {
        if (!r->nests && s == r->p->work_first) st = get_block(r->ctx, r->p->work_bytes, small, &work, err);
        r->work = work.data;
        if (!st) st = run_step(r, &r->p->steps[s], err);
        if (s == r->p->work_last) put_block(r->ctx, &work);
    }
    put_block(r->ctx, &work);
    return st;
}

static cbx_status run(cbx__run *r, cbx_array *const *in, cbx_array **out, cbx_err *err)
{
    const cbx__graph *g = r->p->graph;
    cbx_status st = CBX_OK;

    for (size_t i = 0; i < g->values.n; i++) r->env[i] = cbx_array_ref(g->values.items[i].constant);
    for (size_t i = 0; !st && i < g->in.n; i++)
        if (r->nests)
            r->env[g->in.items[i]] = cbx_array_ref(in[i]);
        else
            st = take_operand(r->ctx, g, i, in, &r->env[g->in.items[i]], err);
    if (!st && r->nests) st = cbx__gpu_begin(r, err);
    if (!st) st = run_steps(r, err);
    for (size_t i = 0; !st && r->nests && i < g->out.n; i++)
        st = (r->stays ? cbx__gpu_send : cbx__gpu_fetch)(r, g->out.items[i], err);
    for (size_t i = 0; !st && i < g->out.n; i++)
        out[i] = cbx_array_ref((r->stays ? r->there : r->env)[g->out.items[i]]);
    for (size_t i = 0; i < g->values.n; i++) drop(r->ctx, &r->env[i]);
    return st;
}

cbx_status cbx__program_run(cbx_ctx *ctx, cbx__program *p, cbx__gpu *gpu, cbx_array *const *in, cbx_array **out,
                            cbx_err *err)
{
    _Alignas(64) char small[CBX__SMALL_WORK];
    const size_t nvalues = p->graph->values.n;
    cbx__run r = { .ctx = ctx, .p = p, .threads = cbx__omp_threads() };
    cbx_block block = { 0 };
    cbx_status st = gpu ? cbx__program_nests(ctx, p, gpu, &r.nests, err) : CBX_OK;

    if (!st) st = get_block(ctx, cbx__program_bytes(p, r.threads), small, &block, err);
    if (st) return st;
    r.env = (cbx_array **)block.data;
    r.scratch = (char *)block.data + arrays_bytes(p);
    if (gpu) r.there = cbx_mem_calloc(cbx_ctx_allocator(ctx), nvalues + 1, sizeof(cbx_array *));
    st = !gpu || r.there ? run(&r, in, out, err) : cbx_fail_nomem(err, "the values of a function on a GPU");
    if (r.there) cbx__arrays_free(nvalues, r.there);
    if (r.there) cbx_mem_free(cbx_ctx_allocator(ctx), r.there, (nvalues + 1) * sizeof(cbx_array *));
    put_block(ctx, &block);
    return st;
}
