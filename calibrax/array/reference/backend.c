/*
 * The reference backend: the definition of right answers.
 *
 * Element-by-element primitives are one walk over the loops of kernels/, which are compiled for
 * each instruction set; every other primitive has a function of its own, named in the table of
 * primitives.
 */
#include "calibrax/array/reference/reference.h"

#include <string.h>

/* loop over the operands and the result. */
static cbx_status run_loop(const cbx_call *call, cbx__loop loop, cbx_array **out, cbx_err *err)
{
    const bool line = call->results->ndim == 1; /* a run with strides */
    unsigned flags = CBX__CONTIGUOUS;
    char *p[CBX__OPERANDS_MAX];
    ptrdiff_t s[CBX__OPERANDS_MAX];
    cbx__strided op[CBX__OPERANDS_MAX];

    if (!loop) return cbx_fail(err, CBX_EINTERNAL, "'%s' is not implemented for its dtype", cbx_prim_name(call->prim));
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

CBX__RUN(each)
{
    const cbx_dtype t = call->in[call->nin - 1]->desc.dtype;
    const cbx__loops *loops = cbx__loops_get();
    return run_loop(call, call->nin == 1 ? loops->unary(call->prim, t) : loops->binary(call->prim, t), out, err);
}

CBX__RUN(cast) { return run_loop(call, cbx__move_loop(call->in[0]->desc.dtype, call->attrs->dtype), out, err); }

CBX__RUN(random) { return run_loop(call, cbx__ref_random(call->prim, call->results->dtype), out, err); }

cbx_status cbx__ref_packed(cbx_ctx *ctx, const cbx_array *a, cbx_array **copy, const cbx_array **out, cbx_err *err)
{
    const cbx_status st = a->flags & CBX__CONTIGUOUS ? CBX_OK : cbx__array_dense(ctx, a, copy, err);

    *out = *copy ? *copy : a;
    return st;
}

/* Of operands without gaps: copies where they have some.  Not inlined: other calls need none of
 * its stack. */
static __attribute__((noinline)) cbx_status run_dense(const cbx_call *call, cbx__ref_run run, cbx_array **out,
                                                      cbx_err *err)
{
    enum { OPERANDS = 6 };
    cbx_array *copies[OPERANDS] = { NULL };
    const cbx_array *in[OPERANDS];
    cbx_call dense = *call;
    cbx_status st = CBX_OK;

    dense.in = in;
    for (size_t i = 0; !st && i < call->nin; i++) st = cbx__ref_packed(call->ctx, call->in[i], &copies[i], &in[i], err);
    if (!st) st = run(&dense, out, err);
    cbx__arrays_free(call->nin, copies);
    return st;
}

/* Makes the results, which run fills. */
static __attribute__((noinline)) cbx_status run_made(const cbx_call *call, cbx__ref_run run, bool dense,
                                                     cbx_array **out, cbx_err *err)
{
    size_t made = 0;
    cbx_status st = CBX_OK;

    for (; !st && made < call->nout; made += !st)
        st = cbx_array_create(call->ctx, &call->results[made], &out[made], err);
    if (!st) st = dense ? run_dense(call, run, out, err) : run(call, out, err);
    if (st) cbx__arrays_free(made, out);
    return st;
}

static cbx_status apply(CBX__UNUSED const cbx_backend *self, const cbx_call *call, cbx_array **out, cbx_err *err)
{
    static const cbx__ref_run runs[CBX_PRIM_LIMIT] = {
#define ROW(name, run, ...) [CBX_PRIM_##name] = cbx__ref_run_##run,
        CBX__RULES_MAP(ROW)
#undef ROW
    };
    /* clang-format off */
    static const bool hands_on[CBX_PRIM_LIMIT] = { /* an operand, a view of it, or what functions return */
#define ROW(name, number, word, function, operands, dtypes, results, kind, shape) \
    [number] = CBX_CLASS_##kind == CBX_CLASS_VIEW || CBX_CLASS_##kind == CBX_CLASS_CONTROL,
        CBX_PRIM_MAP(ROW)
#undef ROW
    };
    static const bool dense[CBX_PRIM_LIMIT] = {
#define ROW(name) [CBX_PRIM_##name] = true,
        ROW(TAKE) ROW(TAKE_ALONG) ROW(SEMIRING_CONV) ROW(SEMIRING_CONV_VJP) ROW(SEMIRING_CONV_JVP)
        ROW(SEMIRING_MATMUL_VJP) ROW(SEMIRING_MATMUL_JVP) ROW(ELL_MATMUL) ROW(ELL_MATMUL_VJP) ROW(ELL_MATMUL_JVP)
        ROW(ELL_SOFTMAX) ROW(ELL_SOFTMAX_VJP) ROW(ELL_PACK) ROW(ELL_EDGE) ROW(ELL_EDGE_VJP) ROW(ELL_EDGE_JVP)
#undef ROW
    };
    /* clang-format on */
    const cbx__ref_run run = runs[call->prim];
    cbx_status st;

    if (hands_on[call->prim]) return run(call, out, err);
    if (call->nout != 1) return run_made(call, run, dense[call->prim], out, err);
    st = cbx_array_create(call->ctx, call->results, out, err); /* as most calls: without the steps of run_made */
    if (st) return st;
    st = dense[call->prim] ? run_dense(call, run, out, err) : run(call, out, err);
    if (st) cbx__arrays_free(1, out);
    return st;
}

const cbx_backend cbx__reference_backend = {
    .struct_size = sizeof(cbx_backend), .abi = CBX_BACKEND_ABI, .name = "reference", .apply = apply
};
