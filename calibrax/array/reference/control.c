/*
 * Control flow and batches as plain loops.  Each step runs in a scope of its own; what goes from step to step are
 * references of the loop's own, and stacked results are written row by row into one array.
 *
 * The loops run on any backend (bodies go through the context's), so they also replace members that one lacks.
 */
#include <string.h>

#include "calibrax/array/fn_internal.h"
#include "calibrax/array/ops_internal.h"

/* Operands and results of a running body: one list, and what the steps have in common. */
typedef struct stepper {
    cbx_ctx *ctx;
    const char *what;
    const cbx_fn *body;
    cbx_array **in, **now; /* now: results of the last step, ours */
    bool abstract;         /* the body closes over an abstract array: the loop has no values */
} stepper;

static cbx_status stepper_init(stepper *s, cbx_ctx *ctx, const char *what, const cbx_fn *body, cbx_err *err)
{
    *s = (stepper){ .ctx = ctx, .what = what, .body = body };
    s->in = cbx_mem_calloc(cbx_ctx_allocator(ctx), body->nin + body->nout + 1, sizeof *s->in);
    if (!s->in) return cbx_fail(err, CBX_ENOMEM, "no memory for the operands of '%s'", body->name);
    s->now = s->in + body->nin;
    return CBX_OK;
}

static void stepper_clear(stepper *s)
{
    if (s->in) cbx__arrays_free(s->body->nout, s->now);
    cbx_mem_free(cbx_ctx_allocator(s->ctx), s->in, (s->body->nin + s->body->nout + 1) * sizeof *s->in);
}

/* The step whose operands were made in scope: calls the body, closes. */
static cbx_status step(stepper *s, cbx_scope *scope, cbx_err *err)
{
    const cbx_fn *f = s->body;
    cbx_status st;

    cbx_fn_call(s->ctx, f, f->nin, s->in, f->nout, s->now);
    st = cbx_scope_close_keep(scope, f->nout, s->now, err);
    if (st) memset(s->now, 0, f->nout * sizeof *s->now);
    if (!st) s->abstract = cbx__any_abstract(f->nout, s->now);
    return st;
}

/* The first n results become the values of the loop, if they are like them. */
static cbx_status carry(stepper *s, size_t n, cbx_array **values, cbx_err *err)
{
    cbx_status st = CBX_OK;

    for (size_t i = 0; !st && i < n; i++)
        st = cbx__carry_check(s->what, s->body, i, &values[i]->desc, &s->now[i]->desc, err);
    for (size_t i = 0; !st && i < n; i++) {
        cbx_array_free(values[i]);
        values[i] = s->now[i];
        s->now[i] = NULL;
    }
    return st;
}

/* Row at of *whole, which the first row makes. */
static cbx_status stack_row(const stepper *s, size_t at, size_t rows, const cbx_array *row, cbx_array **whole,
                            cbx_err *err)
{
    char text[2][160];
    cbx_array_desc d;
    cbx_status st = cbx__stacked_desc(s->what, rows, &row->desc, &d, err);

    if (st) return st;
    if (!*whole) st = cbx_array_create(s->ctx, &d, whole, err);
    if (st) return st;
    if (!cbx_array_desc_equal(&d, &(*whole)->desc))
        return cbx_fail(err, CBX_ESHAPE, "'%s' of '%s' gives %s and makes no row of %s", s->body->name, s->what,
                        cbx_array_desc_text(&row->desc, text[0], sizeof text[0]),
                        cbx_array_desc_text(&(*whole)->desc, text[1], sizeof text[1]));
    cbx__array_pack(row, 0, row->count, (char *)(*whole)->data + at * cbx_array_bytes(row));
    return CBX_OK;
}

/* Results from the n-th on become row at of the stacks; all are let go. */
static cbx_status stack(stepper *s, size_t n, size_t at, size_t rows, cbx_array **whole, cbx_err *err)
{
    cbx_status st = CBX_OK;

    for (size_t i = n; !st && i < s->body->nout; i++) st = stack_row(s, at, rows, s->now[i], &whole[i], err);
    cbx__arrays_free(s->body->nout, s->now);
    return st;
}

static void take_values(size_t n, cbx_array *const *init, cbx_array **out)
{
    for (size_t i = 0; i < n; i++) out[i] = cbx_array_ref(init[i]);
}

/* A loop over abstract values that none of its operands showed: all of it is shapes. */
#define IF_ABSTRACT_THEN(s, st, shapes, call, nout, out, err)                                                          \
    do {                                                                                                               \
        if (!(st) && (s)->abstract) {                                                                                  \
            cbx__arrays_free((nout), (out));                                                                           \
            (st) = cbx__untraced_check((s)->ctx, (s)->what, (err));                                                    \
            if (!(st)) (st) = shapes((call), (out), (err));                                                            \
        }                                                                                                              \
    } while (0)

/* ---- scan ---- */

static cbx_status scan_step(stepper *s, const cbx_scan_call *call, size_t at, cbx_array **out, cbx_err *err)
{
    cbx_scope scope;
    cbx_status st;

    cbx_scope_open(s->ctx, &scope);
    for (size_t i = 0; i < call->ncarry; i++) s->in[i] = out[i];
    for (size_t i = 0; i < call->nxs; i++) s->in[call->ncarry + i] = cbx_index(s->ctx, call->xs[i], 0, (ptrdiff_t)at);
    st = step(s, &scope, err);
    if (st || s->abstract) return st;
    st = carry(s, call->ncarry, out, err);
    return st ? st : stack(s, call->ncarry, at, call->length, out, err);
}

/* Results of a batch or scan without steps: abstract ones became known, here are arrays of no elements for them. */
static cbx_status empty_rows(cbx_ctx *ctx, size_t n, cbx_array **out, cbx_err *err)
{
    cbx_status st = CBX_OK;

    for (size_t i = 0; !st && i < n; i++) {
        cbx_array *empty = NULL;
        st = cbx_array_create(ctx, &out[i]->desc, &empty, err);
        if (st) break;
        cbx_array_free(out[i]);
        out[i] = empty;
    }
    return st;
}

static cbx_status scan_nothing(const cbx_scan_call *call, cbx_array **out, cbx_err *err)
{
    const size_t n = call->ncarry, nout = call->body->nout;
    cbx_status st;

    if (nout == n) return CBX_OK;
    cbx__arrays_free(n, out);
    st = cbx__scan_shapes(call, out, err);
    if (st) return st;
    cbx__arrays_free(n, out);
    take_values(n, call->init, out);
    return empty_rows(call->ctx, nout - n, out + n, err);
}

cbx_status cbx__ref_scan(const cbx_backend *self, const cbx_scan_call *call, cbx_array **out, cbx_err *err)
{
    const size_t nout = call->body->nout, length = call->length;
    stepper s;
    cbx_status st = stepper_init(&s, call->ctx, "scan", call->body, err);

    (void)self;
    memset(out, 0, nout * sizeof *out);
    take_values(call->ncarry, call->init, out);
    for (size_t i = 0; !st && !s.abstract && i < length; i++)
        st = scan_step(&s, call, call->reverse ? length - 1 - i : i, out, err);
    if (!st && length == 0) st = scan_nothing(call, out, err);
    IF_ABSTRACT_THEN(&s, st, cbx__scan_shapes, call, nout, out, err);
    if (st) cbx__arrays_free(nout, out);
    stepper_clear(&s);
    return st;
}

/* ---- fori_loop and while_loop ---- */

cbx_status cbx__ref_fori_loop(const cbx_backend *self, const cbx_loop_call *call, cbx_array **out, cbx_err *err)
{
    stepper s;
    cbx_status st = stepper_init(&s, call->ctx, "fori_loop", call->body, err);

    (void)self;
    take_values(call->n, call->init, out);
    for (int64_t i = call->lower; !st && !s.abstract && i < call->upper; i++) {
        cbx_scope scope;
        cbx_scope_open(call->ctx, &scope);
        s.in[0] = cbx_full(call->ctx, 0, NULL, CBX_I64, cbx_int(i));
        memcpy(s.in + 1, out, call->n * sizeof *out);
        st = step(&s, &scope, err);
        if (!st && !s.abstract) st = carry(&s, call->n, out, err);
    }
    IF_ABSTRACT_THEN(&s, st, cbx__loop_shapes, call, call->n, out, err);
    if (st) cbx__arrays_free(call->n, out);
    stepper_clear(&s);
    return st;
}

/* Whether the test holds; *abstract: it has no value. */
static cbx_status test_holds(const cbx_loop_call *call, cbx_array *const *values, bool *holds, bool *abstract,
                             cbx_err *err)
{
    cbx_array *truth = NULL;
    cbx_status st = cbx_fn_run(call->ctx, call->test, call->n, values, 1, &truth, err);
    cbx_scope scope;
    uint8_t byte = 0;

    if (st) return st;
    st = cbx__test_check(call->test, &truth->desc, err);
    *abstract = cbx_array_is_abstract(truth);
    if (!st && !*abstract) {
        cbx_scope_open(call->ctx, &scope);
        cbx_array_read(cbx__as(call->ctx, truth, CBX_BOOL), &byte, 1, NULL);
        st = cbx_scope_close(&scope, err);
    }
    cbx_array_free(truth);
    *holds = byte;
    return st;
}

static cbx_status while_step(stepper *s, const cbx_loop_call *call, cbx_array **out, cbx_err *err)
{
    cbx_scope scope;
    cbx_status st;

    cbx_scope_open(s->ctx, &scope);
    memcpy(s->in, out, call->n * sizeof *out);
    st = step(s, &scope, err);
    return st || s->abstract ? st : carry(s, call->n, out, err);
}

cbx_status cbx__ref_while_loop(const cbx_backend *self, const cbx_loop_call *call, cbx_array **out, cbx_err *err)
{
    bool holds = true;
    stepper s;
    cbx_status st = stepper_init(&s, call->ctx, "while_loop", call->body, err);

    (void)self;
    take_values(call->n, call->init, out);
    while (!st && !s.abstract) {
        st = test_holds(call, out, &holds, &s.abstract, err);
        if (st || s.abstract || !holds) break;
        st = while_step(&s, call, out, err);
    }
    IF_ABSTRACT_THEN(&s, st, cbx__loop_shapes, call, call->n, out, err);
    if (st) cbx__arrays_free(call->n, out);
    stepper_clear(&s);
    return st;
}

/* ---- cond ---- */

static cbx_status chosen(const cbx_cond_call *call, size_t *which, cbx_err *err)
{
    int64_t i = 0;
    cbx_status st = cbx_array_read(call->index, &i, sizeof i, err);

    *which = i < 0 ? 0 : (uint64_t)i >= call->n ? call->n - 1 : (size_t)i;
    return st;
}

cbx_status cbx__ref_cond(const cbx_backend *self, const cbx_cond_call *call, cbx_array **out, cbx_err *err)
{
    const size_t nout = call->branches[0]->nout;
    cbx_array_desc *d = cbx_mem_calloc(cbx_ctx_allocator(call->ctx), nout + 1, sizeof *d);
    size_t which = 0;
    cbx_status st = d ? chosen(call, &which, err) : cbx_fail(err, CBX_ENOMEM, "no memory for the results of 'cond'");

    (void)self;
    if (!st) st = cbx_fn_run(call->ctx, call->branches[which], call->nin, call->in, nout, out, err);
    if (!st) {
        for (size_t i = 0; i < nout; i++) d[i] = out[i]->desc;
        st = cbx__branches_check(call, which, d, err);
        if (st) cbx__arrays_free(nout, out);
    }
    cbx_mem_free(cbx_ctx_allocator(call->ctx), d, (nout + 1) * sizeof *d);
    return st;
}

/* ---- vmap ---- */

cbx_status cbx__ref_vmap(const cbx_backend *self, const cbx_vmap_call *call, cbx_array **out, cbx_err *err)
{
    const cbx_fn *f = call->f;
    stepper s;
    cbx_status st = stepper_init(&s, call->ctx, "vmap", f, err);

    (void)self;
    memset(out, 0, f->nout * sizeof *out);
    for (size_t b = 0; !st && !s.abstract && b < call->length; b++) {
        cbx_scope scope;
        cbx_scope_open(call->ctx, &scope);
        for (size_t i = 0; i < f->nin; i++)
            s.in[i] = call->mapped[i] ? cbx_index(call->ctx, call->in[i], 0, (ptrdiff_t)b) : call->in[i];
        st = step(&s, &scope, err);
        if (!st && !s.abstract) st = stack(&s, 0, b, call->length, out, err);
    }
    if (!st && call->length == 0) {
        st = cbx__vmap_shapes(call, out, err);
        if (!st) st = empty_rows(call->ctx, f->nout, out, err);
    }
    IF_ABSTRACT_THEN(&s, st, cbx__vmap_shapes, call, f->nout, out, err);
    if (st) cbx__arrays_free(f->nout, out);
    stepper_clear(&s);
    return st;
}

cbx_status cbx__ref_jit(const cbx_backend *self, cbx_ctx *ctx, const cbx_fn *f, cbx_fn **out, cbx_err *err)
{
    (void)self;
    return cbx_fn_keep(ctx, f, out, err);
}
