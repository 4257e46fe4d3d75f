/*
 * The reference backend: the definition of right answers, in plain strided C.
 *
 * Element-by-element primitives are one walk over inner loops from tables by primitive and dtype; every other
 * primitive has a function of its own.
 */
#include "calibrax/array/reference/reference.h"

static const cbx__ref_run runs[CBX_PRIM_LIMIT] = {
    [CBX_PRIM_FULL] = cbx__ref_run_full,
    [CBX_PRIM_IOTA] = cbx__ref_run_iota,
    [CBX_PRIM_POW] = cbx__ref_run_pow,
    [CBX_PRIM_RESHAPE] = cbx__ref_run_reshape,
    [CBX_PRIM_TRANSPOSE] = cbx__ref_run_transpose,
    [CBX_PRIM_BROADCAST] = cbx__ref_run_broadcast,
    [CBX_PRIM_SLICE] = cbx__ref_run_slice,
    [CBX_PRIM_PAD] = cbx__ref_run_pad,
    [CBX_PRIM_CONCAT] = cbx__ref_run_concat,
    [CBX_PRIM_COPY] = cbx__ref_run_copy,
    [CBX_PRIM_TAKE] = cbx__ref_run_take,
    [CBX_PRIM_TAKE_ALONG] = cbx__ref_run_take_along,
    [CBX_PRIM_SCATTER] = cbx__ref_run_scatter,
    [CBX_PRIM_SEARCHSORTED] = cbx__ref_run_searchsorted,
    [CBX_PRIM_NONZERO] = cbx__ref_run_nonzero,
    [CBX_PRIM_SUM] = cbx__ref_run_reduce,
    [CBX_PRIM_PROD] = cbx__ref_run_reduce,
    [CBX_PRIM_REDUCE_MAX] = cbx__ref_run_reduce,
    [CBX_PRIM_REDUCE_MIN] = cbx__ref_run_reduce,
    [CBX_PRIM_ANY] = cbx__ref_run_reduce,
    [CBX_PRIM_ALL] = cbx__ref_run_reduce,
    [CBX_PRIM_ARGMAX] = cbx__ref_run_reduce,
    [CBX_PRIM_ARGMIN] = cbx__ref_run_reduce,
    [CBX_PRIM_CUMSUM] = cbx__ref_run_cumulative,
    [CBX_PRIM_CUMPROD] = cbx__ref_run_cumulative,
    [CBX_PRIM_CUMMAX] = cbx__ref_run_cumulative,
    [CBX_PRIM_CUMMIN] = cbx__ref_run_cumulative,
    [CBX_PRIM_SORT] = cbx__ref_run_sort,
    [CBX_PRIM_ARGSORT] = cbx__ref_run_sort,
    [CBX_PRIM_RANKED] = cbx__ref_run_sort,
    [CBX_PRIM_MATMUL] = cbx__ref_run_matmul,
    [CBX_PRIM_SEMIRING_MATMUL] = cbx__ref_run_semiring_matmul,
    [CBX_PRIM_SEMIRING_CONV] = cbx__ref_run_semiring_conv,
    [CBX_PRIM_CHOLESKY] = cbx__ref_run_cholesky,
    [CBX_PRIM_TRIANGULAR_SOLVE] = cbx__ref_run_triangular_solve,
    [CBX_PRIM_SOLVE] = cbx__ref_run_solve,
    [CBX_PRIM_LU] = cbx__ref_run_lu,
    [CBX_PRIM_QR] = cbx__ref_run_qr,
    [CBX_PRIM_EIGH] = cbx__ref_run_eigh,
    [CBX_PRIM_EIGVALSH] = cbx__ref_run_eigh,
    [CBX_PRIM_SVD] = cbx__ref_run_svd,
    [CBX_PRIM_SVDVALS] = cbx__ref_run_svd,
    [CBX_PRIM_FFT] = cbx__ref_run_fft,
    [CBX_PRIM_RFFT] = cbx__ref_run_rfft,
    [CBX_PRIM_IRFFT] = cbx__ref_run_irfft,
};

static cbx__loop find_loop(const cbx_call *call)
{
    cbx_dtype t = cbx_array_dtype(call->in[call->nin - 1]);

    if (call->prim > CBX_PRIM_THREEFRY && call->prim <= CBX_PRIM_RANDOM_GAMMA) return cbx__ref_random(call->prim, t);
    if (call->prim == CBX_PRIM_CAST) return cbx__loops_get()->cast(t, call->attrs->dtype);
    if (call->nin == 1) return cbx__loops_get()->unary(call->prim, t);
    return cbx__loops_get()->binary(call->prim, t);
}

/* True if all operands lie without gaps: then n elements are one run (they have one shape). */
static bool is_one_run(const cbx_call *call)
{
    unsigned flags = CBX__CONTIGUOUS;

    for (size_t i = 0; i < call->nin; i++) flags &= call->in[i]->flags;
    return flags;
}

static void run_dense(const cbx_call *call, cbx_array *out, cbx__loop loop)
{
    char *p[CBX__OPERANDS_MAX] = { out->data };
    ptrdiff_t s[CBX__OPERANDS_MAX] = { (ptrdiff_t)cbx__dtype_size(out->desc.dtype) };

    for (size_t i = 0; i < call->nin; i++) {
        p[i + 1] = call->in[i]->data;
        s[i + 1] = (ptrdiff_t)cbx__dtype_size(call->in[i]->desc.dtype);
    }
    if (out->count) loop(out->count, p, s);
}

/* A temporary operand without another reference becomes the result: no other memory is touched. */
static bool takes_operand(const cbx_call *call)
{
    const cbx_array *x = call->in[0];

    return call->prim == CBX_PRIM_MUL && call->attrs->mode && x->pool && !x->base && atomic_load(&x->refs) == 1 &&
           (x->flags & CBX__CONTIGUOUS) && cbx_array_desc_equal(&x->desc, call->result);
}

static cbx_status make_result(const cbx_call *call, cbx_array **out, cbx_err *err)
{
    if (!takes_operand(call)) return cbx_array_create(call->ctx, call->result, out, err);
    *out = cbx_array_ref(call->in[0]);
    return CBX_OK;
}

static cbx_status apply(const cbx_backend *self, const cbx_call *call, cbx_array **out, cbx_err *err)
{
    cbx__strided op[CBX__OPERANDS_MAX];
    cbx__loop loop;
    cbx_status st;

    (void)self;
    for (size_t i = 0; i < call->nin; i++)
        if (call->in[i]->flags & CBX__ABSTRACT)
            return cbx_fail(err, CBX_EINVAL, "'%s' needs data, operand %zu is abstract", cbx_prim_name(call->prim),
                            i + 1);
    if (runs[call->prim]) return runs[call->prim](call, out, err);
    loop = find_loop(call);
    if (!loop) return cbx_fail(err, CBX_EINTERNAL, "'%s' has no loop for its dtype", cbx_prim_name(call->prim));
    st = make_result(call, out, err);
    if (st) return st;
    if (is_one_run(call)) {
        run_dense(call, *out, loop);
        return CBX_OK;
    }
    op[0] = cbx__ref_strided(*out);
    for (size_t i = 0; i < call->nin; i++) op[i + 1] = cbx__ref_strided(call->in[i]);
    cbx__ref_walk(call->result->ndim, call->result->shape, call->nin + 1, op, loop);
    return CBX_OK;
}

const cbx_backend cbx__reference_backend = {
    .struct_size = sizeof(cbx_backend),
    .abi = CBX_BACKEND_ABI,
    .name = "reference",
    .apply = apply,
    .jit = cbx__ref_jit,
    .vmap = cbx__ref_vmap,
    .scan = cbx__ref_scan,
    .fori_loop = cbx__ref_fori_loop,
    .while_loop = cbx__ref_while_loop,
    .cond = cbx__ref_cond,
};
