/*
 * The reference backend: the definition of right answers.
 *
 * Element-by-element primitives are one walk over the loops of kernels/, which are compiled for each instruction set;
 * every other primitive has a function of its own, named in the table of primitives.
 */
#include "calibrax/array/reference/reference.h"

#include <string.h>

#include "calibrax/array/fn_internal.h"

cbx_status cbx__dense_open(cbx__dense *m, const cbx_call *call, bool zeros, cbx_array **out, cbx_err *err)
{
    cbx_status st = CBX_OK;

    *m = (cbx__dense){ .call = call, .out = out };
    memset(out, 0, call->nout * sizeof *out);
    for (size_t i = 0; !st && i < call->nin; i++) {
        st = cbx__array_dense(call->ctx, call->in[i], &m->in[i], err);
        if (!st) m->p[i] = m->in[i]->data ? m->in[i]->data : "";
    }
    for (size_t i = 0; !st && i < call->nout; i++) {
        st = cbx_array_create(call->ctx, &call->results[i], &out[i], err);
        if (!st && zeros) memset(out[i]->data, 0, cbx_array_bytes(out[i]));
    }
    return st;
}

cbx_status cbx__dense_close(cbx__dense *m, cbx_status st)
{
    for (size_t i = 0; i < m->call->nin; i++) cbx_array_free(m->in[i]);
    if (st) cbx__arrays_free(m->call->nout, m->out);
    return st;
}

/* loop over the operands and the result, which it makes. */
static cbx_status run_loop(const cbx_call *call, cbx__loop loop, cbx_array **out, cbx_err *err)
{
    const bool line = call->results->ndim == 1; /* a run with strides */
    unsigned flags = CBX__CONTIGUOUS;
    char *p[CBX__OPERANDS_MAX];
    ptrdiff_t s[CBX__OPERANDS_MAX];
    cbx__strided op[CBX__OPERANDS_MAX];
    cbx_status st;

    if (!loop) return cbx_fail(err, CBX_EINTERNAL, "'%s' is not implemented for its dtype", cbx_prim_name(call->prim));
    st = cbx_array_create(call->ctx, call->results, out, err);
    if (st) return st;
    for (size_t i = 0; i < call->nin; i++) flags &= call->in[i]->flags;
    for (size_t i = 0; i <= call->nin; i++) {
        const cbx_array *a = i ? call->in[i - 1] : *out;
        if (!flags && !line) {
            op[i] = cbx__ref_strided(a);
            continue;
        }
        p[i] = a->data;
        s[i] = (ptrdiff_t)cbx__dtype_size(a->desc.dtype) * (flags ? 1 : a->strides[0]);
    }
    if (!flags && !line)
        cbx__ref_walk(call->results->ndim, call->results->shape, call->nin + 1, op, loop);
    else if ((*out)->count) /* one axis, or no operand has gaps: all elements are one run */
        loop((*out)->count, p, s);
    return CBX_OK;
}

cbx_status cbx__ref_run_each(const cbx_call *call, cbx_array **out, cbx_err *err)
{
    const cbx_dtype t = call->in[call->nin - 1]->desc.dtype;
    const cbx__loops *loops = cbx__loops_get();
    return run_loop(call, call->nin == 1 ? loops->unary(call->prim, t) : loops->binary(call->prim, t), out, err);
}

cbx_status cbx__ref_run_cast(const cbx_call *call, cbx_array **out, cbx_err *err)
{
    return run_loop(call, cbx__move_loop(call->in[0]->desc.dtype, call->attrs->dtype), out, err);
}

cbx_status cbx__ref_run_random(const cbx_call *call, cbx_array **out, cbx_err *err)
{
    return run_loop(call, cbx__ref_random(call->prim, call->results->dtype), out, err);
}

static cbx_status apply(const cbx_backend *self, const cbx_call *call, cbx_array **out, cbx_err *err)
{
    static const cbx__ref_run runs[CBX_PRIM_LIMIT] = {
#define ROW(name, run, ...) [CBX_PRIM_##name] = cbx__ref_run_##run,
        CBX__RULES_MAP(ROW)
#undef ROW
    };

    (void)self;
    return runs[call->prim](call, out, err);
}

const cbx_backend cbx__reference_backend = {
    .struct_size = sizeof(cbx_backend), .abi = CBX_BACKEND_ABI, .name = "reference", .apply = apply
};
