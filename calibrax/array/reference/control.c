/*
 * Control flow of operands with data: the functions' graphs, repeated.  What goes from step to step
 * are references of the loop's own, stacked results are written row by row into one array: memory
 * does not grow with the number of steps.
 */
#include <string.h>

#include "calibrax/array/reference/reference.h"
#include "calibrax/array/trace/regions.h"
#include "calibrax/array/trace/trace.h"

/* Operands and results of a function in a loop: one list. */
typedef struct stepper {
    const cbx_call *call;
    const cbx__graph *f;
    cbx_array **in, **out; /* out: of the last step, ours */
} stepper;

static cbx_status stepper_init(stepper *s, const cbx_call *call, const cbx__graph *f, cbx_err *err)
{
    *s = (stepper){ .call = call, .f = f };
    s->in = cbx_mem_calloc(cbx_ctx_allocator(call->ctx), f->in.n + f->out.n + 1, sizeof *s->in);
    if (!s->in) return cbx_fail(err, CBX_ENOMEM, "no memory for the operands of '%s'", f->name);
    s->out = s->in + f->in.n;
    return CBX_OK;
}

static void stepper_clear(stepper *s)
{
    if (s->in) cbx__arrays_free(s->f->out.n, s->out);
    cbx_mem_free(cbx_ctx_allocator(s->call->ctx), s->in, (s->f->in.n + s->f->out.n + 1) * sizeof *s->in);
}

/* Operands from..from+n-1 of the call as operands at.. of the function. */
static void give(stepper *s, size_t at, size_t from, size_t n)
{
    for (size_t i = 0; i < n; i++) s->in[at + i] = (cbx_array *)(uintptr_t)s->call->in[from + i];
}

static cbx_status step(stepper *s, cbx_err *err)
{
    const cbx__state *state = cbx__state_peek(s->call->ctx);
    cbx_status st;

    cbx__arrays_free(s->f->out.n, s->out);
    if (state && state->stop && *state->stop)
        return cbx_fail(err, CBX_EINTERRUPTED, "'%s' was interrupted", s->f->name);
    st = cbx__graph_run(s->call->ctx, s->f, s->in, s->out, err);
    for (size_t i = 0; !st && i < s->f->out.n; i++) /* it may have captured an array of a device */
        st = cbx__array_bring(s->call->ctx, &s->out[i], err);
    return st;
}

/* The first n results become the values of the loop. */
static void carry(stepper *s, size_t n, cbx_array **values)
{
    for (size_t i = 0; i < n; i++) {
        cbx_array_free(values[i]);
        values[i] = s->out[i];
        s->out[i] = NULL;
    }
}

/* Row `at` of an array along its first axis. */
static cbx_status row_of(cbx_ctx *ctx, const cbx_array *x, size_t at, cbx_array **out, cbx_err *err)
{
    const cbx_array_desc d = cbx__element_desc(&x->desc);

    return cbx__array_view(ctx, x, &d, x->strides + 1, (ptrdiff_t)at * x->strides[0], out, err);
}

CBX__RUN(scan)
{
    const cbx__control *c = cbx__control_of(call->attrs);
    const size_t nconst = c->consts[0], first_x = nconst + c->ncarry;
    stepper s;
    cbx_status st = stepper_init(&s, call, c->graph[CBX__SCAN_BODY], err);

    memset(out, 0, call->nout * sizeof *out);
    for (size_t i = 0; i < c->ncarry; i++) out[i] = cbx_array_ref(call->in[nconst + i]);
    for (size_t i = c->ncarry; !st && i < call->nout; i++)
        st = cbx_array_create(call->ctx, &call->results[i], &out[i], err);
    if (!st) give(&s, 0, 0, nconst);
    for (size_t k = 0; !st && k < c->length; k++) {
        const size_t at = c->reverse ? c->length - 1 - k : k;
        for (size_t i = 0; i < c->ncarry; i++) s.in[nconst + i] = out[i];
        for (size_t i = 0; !st && i < c->nxs; i++)
            st = row_of(call->ctx, call->in[first_x + i], at, &s.in[first_x + i], err);
        if (!st) st = step(&s, err);
        cbx__arrays_free(c->nxs, s.in + first_x);
        if (st) break;
        carry(&s, c->ncarry, out);
        for (size_t i = c->ncarry; i < call->nout; i++)
            cbx__array_pack(s.out[i], 0, s.out[i]->count, (char *)out[i]->data + at * cbx_array_bytes(s.out[i]));
    }
    if (st) cbx__arrays_free(call->nout, out);
    stepper_clear(&s);
    return st;
}

/* True unless the one element is 0; NaN is true. */
static bool holds(const cbx_array *truth)
{
    static const char zeros[16];
    _Alignas(double) char bytes[16] = { 0 };

    cbx__array_pack(truth, 0, 1, bytes);
    if (cbx_dtype_kind(truth->desc.dtype) >= CBX_KIND_FLOAT) { /* -0 is 0 */
        const double *d = (const double *)(const void *)bytes;
        const float *f = (const float *)(const void *)bytes;
        switch (truth->desc.dtype) {
        case CBX_F32: return f[0] != 0;
        case CBX_C64: return f[0] != 0 || f[1] != 0;
        case CBX_F64: return d[0] != 0;
        default: return d[0] != 0 || d[1] != 0;
        }
    }
    return memcmp(bytes, zeros, cbx__dtype_size(truth->desc.dtype)) != 0;
}

CBX__RUN(while)
{
    const cbx__control *c = cbx__control_of(call->attrs);
    const size_t ntest = c->consts[CBX__WHILE_TEST], nbody = c->consts[CBX__WHILE_BODY];
    stepper test, body = { 0 };
    cbx_status st = stepper_init(&test, call, c->graph[CBX__WHILE_TEST], err);

    memset(out, 0, call->nout * sizeof *out);
    if (!st) st = stepper_init(&body, call, c->graph[CBX__WHILE_BODY], err);
    for (size_t i = 0; !st && i < call->nout; i++) out[i] = cbx_array_ref(call->in[ntest + nbody + i]);
    if (!st) give(&test, 0, 0, ntest);
    if (!st) give(&body, 0, ntest, nbody);
    while (!st) {
        memcpy(test.in + ntest, out, call->nout * sizeof *out);
        st = step(&test, err);
        if (st || !holds(test.out[0])) break;
        memcpy(body.in + nbody, out, call->nout * sizeof *out);
        st = step(&body, err);
        if (!st) carry(&body, call->nout, out);
    }
    if (st) cbx__arrays_free(call->nout, out);
    stepper_clear(&test);
    if (body.f) stepper_clear(&body);
    return st;
}

CBX__RUN(cond)
{
    const cbx__control *c = cbx__control_of(call->attrs);
    const int64_t index = *(const int64_t *)call->in[0]->data;
    const size_t which = index < 0 ? 0 : (uint64_t)index >= c->n ? c->n - 1 : (size_t)index;
    size_t first = 1, all = 1;
    stepper s;
    cbx_status st = stepper_init(&s, call, c->graph[which], err);

    for (size_t i = 0; i < c->n; i++) {
        if (i < which) first += c->consts[i];
        all += c->consts[i];
    }
    if (!st) {
        give(&s, 0, first, c->consts[which]);
        give(&s, c->consts[which], all, call->nin - all);
        st = step(&s, err);
    }
    for (size_t i = 0; !st && i < call->nout; i++) {
        out[i] = s.out[i];
        s.out[i] = NULL;
    }
    stepper_clear(&s);
    return st;
}

/* CUSTOM_... and CHECKPOINT: the function itself. */
CBX__RUN(function)
{
    return cbx__graph_eval(call->ctx, cbx__control_of(call->attrs)->graph[0], (cbx_array *const *)call->in, out, err);
}

CBX__RUN(checkpoint_map)
{
    CBX_CLEARED(cbx__traced) map = { 0 };
    cbx_status st = cbx__checkpoint_map(call->ctx, cbx__control_of(call->attrs), &map, err);

    return st ? st : cbx__graph_eval(call->ctx, map.graph, (cbx_array *const *)call->in, out, err);
}

CBX__RUN(custom_vjp_map)
{
    return cbx_fail(err, CBX_EUNSUPPORTED,
                    "'%s' has a 'custom_vjp', which gives reverse derivatives alone: its derivative cannot be called",
                    cbx__control_of(call->attrs)->graph[0]->name);
}

/* The function is called as outside of traces: what it does with data is not recorded. */
CBX__RUN(host_call)
{
    const cbx_fn *f = cbx__control_of(call->attrs)->rule[0];
    cbx__state *s = cbx__state_get(call->ctx);
    if (!s) return cbx_fail_nomem(err, "a function that reads values");
    cbx__trace *open = s->trace;
    cbx_err why = CBX_ERR_INIT; /* err may be the context's record, which a scope clears */
    cbx_status st;

    s->trace = NULL;
    st = cbx_fn_run(call->ctx, f, call->nin, (cbx_array *const *)call->in, call->nout, out, &why);
    s->trace = open;
    if (st) return cbx_fail(err, st, "%s", why.message);
    for (size_t i = 0; !st && i < call->nout; i++) {
        if (!cbx_array_desc_equal(&out[i]->desc, &call->results[i]))
            st = cbx_fail(err, CBX_ESHAPE, "result %zu of '%s' is %s, and was described as %s", i, f->name,
                          CBX__DESC_TEXT(&out[i]->desc), CBX__DESC_TEXT(&call->results[i]));
        else
            st = cbx__array_bring(call->ctx, &out[i], err);
    }
    if (st) cbx__arrays_free(call->nout, out);
    return st;
}
