/* Making arrays, and moving elements: views where strides can describe them, else copies. */
#include <string.h>

#include "calibrax/array/reference/reference.h"

CBX__RUN(full)
{
    const cbx_array_desc *d = call->results;
    const cbx_dtype from = call->attrs->value.dtype;
    static const char zeros[16] = { 0 };
    char element[16] = { 0 };

    if (from != CBX_BOOL && from != CBX_I64 && from != CBX_U64 && from != CBX_F64 && from != CBX_C128)
        return cbx_fail(err, CBX_EINVAL, "a scalar is bool, int64, uint64, float64 or complex128, not %s",
                        cbx_dtype_name(from));
    if (from == CBX_C128 && d->dtype != CBX_C64 && d->dtype != CBX_C128)
        return cbx_fail(err, CBX_EDTYPE, "'full' does not drop the imaginary part for %s", cbx_dtype_name(d->dtype));
    cbx__ref_store_scalar(&call->attrs->value, d->dtype, element);
    if (memcmp(element, zeros, sizeof element) == 0 && (*out)->count)
        memset((*out)->data, 0, cbx_array_bytes(*out));
    else
        cbx__move(cbx__copy_loop(d->dtype), (*out)->count, (*out)->data, (ptrdiff_t)cbx_dtype_size(d->dtype), element,
                  0);
    return CBX_OK;
}

CBX__RUN(iota)
{
    const cbx_array_desc *d = call->results;
    size_t length = d->shape[call->attrs->axis];
    cbx_array_desc line = { CBX_I64, 1, { length } };
    const bool there = d->ndim == 1 && d->dtype == CBX_I64;
    cbx_array *count = *out;
    cbx__strided op[2];
    cbx_status st = there ? CBX_OK : cbx_array_create(call->ctx, &line, &count, err);

    for (size_t i = 0; !st && i < length; i++) ((int64_t *)count->data)[i] = (int64_t)i;
    if (st || there) return st;
    op[0] = cbx__ref_strided(*out);
    op[1] = (cbx__strided){ .data = count->data };
    op[1].strides[call->attrs->axis] = sizeof(int64_t);
    cbx__ref_walk(d->ndim, d->shape, 2, op, cbx__move_loop(CBX_I64, d->dtype));
    cbx_array_free(count);
    return CBX_OK;
}

CBX__RUN(copy)
{
    cbx__array_pack(call->in[0], 0, call->in[0]->count, (*out)->data);
    return CBX_OK;
}

/* The operand is the result. */
CBX__RUN(same)
{
    *out = cbx_array_ref(call->in[0]);
    return CBX_OK;
}

/*
 * Strides under which a shows another shape, if there are any: groups of axes with equal products
 * are split or joined, and a group can be joined if its axes are dense within it.
 */
static bool view_strides(const cbx_array *a, const cbx_array_desc *to, ptrdiff_t *strides)
{
    size_t shape[CBX_MAX_RANK];
    ptrdiff_t old[CBX_MAX_RANK];
    int n = 0, i = 0, k = 0;

    for (int j = 0; j < a->desc.ndim; j++)
        if (a->desc.shape[j] != 1) {
            shape[n] = a->desc.shape[j];
            old[n++] = a->strides[j];
        }
    for (int j = 0; j < to->ndim; j++) strides[j] = 1;
    while (i < n && k < to->ndim) {
        int i1 = i + 1, k1 = k + 1;
        size_t have = shape[i], want = to->shape[k];
        while (have != want) {
            if (have < want) {
                if (i1 >= n) return false;
                have *= shape[i1++];
            } else {
                if (k1 >= to->ndim) return false;
                want *= to->shape[k1++];
            }
        }
        for (int j = i; j + 1 < i1; j++)
            if (old[j] != (ptrdiff_t)shape[j + 1] * old[j + 1]) return false;
        strides[k1 - 1] = old[i1 - 1];
        for (int j = k1 - 1; j > k; j--) strides[j - 1] = strides[j] * (ptrdiff_t)to->shape[j];
        i = i1;
        k = k1;
    }
    return true;
}

CBX__RUN(reshape)
{
    const cbx_array *a = call->in[0];
    ptrdiff_t strides[CBX_MAX_RANK];
    cbx_status st;

    if (a->flags & CBX__CONTIGUOUS) return cbx__array_view(call->ctx, a, call->results, NULL, 0, out, err);
    if (view_strides(a, call->results, strides))
        return cbx__array_view(call->ctx, a, call->results, strides, 0, out, err);
    st = cbx_array_create(call->ctx, call->results, out, err);
    return st ? st : cbx__ref_run_copy(call, out, err);
}

CBX__RUN(transpose)
{
    const cbx_array *a = call->in[0];
    ptrdiff_t strides[CBX_MAX_RANK];

    for (int i = 0; i < a->desc.ndim; i++) strides[i] = a->strides[call->attrs->axes[i]];
    return cbx__array_view(call->ctx, a, call->results, strides, 0, out, err);
}

CBX__RUN(broadcast)
{
    const cbx_array *a = call->in[0];
    ptrdiff_t strides[CBX_MAX_RANK] = { 0 };
    int shift = call->results->ndim - a->desc.ndim;

    for (int i = 0; i < a->desc.ndim; i++)
        if (a->desc.shape[i] != 1) strides[i + shift] = a->strides[i];
    return cbx__array_view(call->ctx, a, call->results, strides, 0, out, err);
}

CBX__RUN(slice)
{
    const cbx_array *a = call->in[0];
    ptrdiff_t strides[CBX_MAX_RANK], offset = 0;

    for (int i = 0; i < a->desc.ndim; i++) {
        /* a step of an axis that is not walked may be anything: it must not overflow */
        strides[i] = call->results->shape[i] > 1 ? a->strides[i] * call->attrs->step[i] : a->strides[i];
        if (call->results->shape[i]) offset += a->strides[i] * call->attrs->start[i];
    }
    return cbx__array_view(call->ctx, a, call->results, strides, offset, out, err);
}

static void assign(const cbx__strided *to, const cbx_array *a)
{
    cbx__strided op[2] = { *to, cbx__ref_strided(a) };
    cbx__ref_walk(a->desc.ndim, a->desc.shape, 2, op, cbx__copy_loop(a->desc.dtype));
}

CBX__RUN(pad)
{
    const cbx_array *a = call->in[0];
    cbx_status st = cbx__ref_run_full(call, out, err);
    cbx__strided to;

    if (st || a->count == 0) return st;
    to = cbx__ref_strided(*out);
    for (int i = 0; i < a->desc.ndim; i++) to.data += call->attrs->start[i] * to.strides[i];
    assign(&to, a);
    return CBX_OK;
}

CBX__RUN(concat)
{
    int axis = call->attrs->axis;
    cbx__strided to = cbx__ref_strided(*out);

    if ((*out)->count == 0) return CBX_OK;
    for (size_t i = 0; i < call->nin; i++) {
        assign(&to, call->in[i]);
        to.data += to.strides[axis] * (ptrdiff_t)call->in[i]->desc.shape[axis];
    }
    return CBX_OK;
}
