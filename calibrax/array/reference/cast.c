/* Scalars as elements, assignments, and the pow primitive, which inspects its operands first. */
#include <string.h>

#include "calibrax/array/reference/reference.h"

void cbx__ref_store_scalar(const cbx_scalar *v, cbx_dtype t, void *out)
{
    uint64_t bits[2] = { 0 };

    if (v->dtype == CBX_BOOL)
        memcpy(bits, &(bool){ v->v.i != 0 }, sizeof(bool));
    else
        memcpy(bits, &v->v, cbx_dtype_size(v->dtype));
    cbx__move(cbx__move_loop(v->dtype, t), 1, out, 0, bits, 0);
}

cbx_dtype cbx__ref_wide(cbx_dtype t)
{
    static const unsigned char wide[] = { CBX_I64, CBX_I64, CBX_F64, CBX_C128 };
    return cbx_dtype_is_unsigned(t) ? CBX_U64 : t == CBX_BOOL ? CBX_U64 : (cbx_dtype)wide[cbx_dtype_kind(t)];
}

/* An integer to a negative power is not an integer: rejected before anything is computed. */
CBX__RUN(pow)
{
    const cbx_array *n = call->in[1];
    cbx__strided op[3];

    if (n->desc.dtype >= CBX_I8 && n->desc.dtype <= CBX_I64) {
        enum { RUN = 512 };
        cbx__stream s;
        int64_t powers[RUN];
        op[0] = cbx__ref_strided(n);
        cbx__stream_init(&s, n->desc.ndim, n->desc.shape, op[0].strides, n->desc.dtype, CBX_I64);
        cbx__stream_start(&s, n->data);
        for (size_t i = 0; i < n->count; i += RUN) {
            const size_t run = n->count - i < RUN ? n->count - i : RUN;
            const int64_t *power = cbx__stream_next(&s, run, powers);
            int64_t signs = 0;
            for (size_t k = 0; k < run; k++) signs |= power[k];
            if (signs < 0)
                return cbx_fail(err, CBX_EDOM, "'pow' of %s to a negative power: convert to float64 first",
                                cbx_dtype_name(n->desc.dtype));
        }
    }
    op[0] = cbx__ref_strided(*out);
    op[1] = cbx__ref_strided(call->in[0]);
    op[2] = cbx__ref_strided(n);
    cbx__ref_walk(call->results->ndim, call->results->shape, 3, op,
                  cbx__loops_get()->binary(CBX_PRIM_POW, n->desc.dtype));
    return CBX_OK;
}

cbx_status cbx_array_assign(CBX__UNUSED cbx_ctx *ctx, cbx_array *to, const cbx_array *value, cbx_err *err)
{
    const int shift = to ? to->desc.ndim - (value ? value->desc.ndim : 0) : 0;
    cbx__strided op[2];
    cbx__loop loop;

    if (!to || !value || (to->flags | value->flags) & (CBX__FAILED | CBX__ABSTRACT))
        return cbx_fail(err, CBX_EINVAL, "an assignment needs two arrays with data");
    if ((to->flags | value->flags) & CBX__ELSEWHERE)
        return cbx__array_here("array_assign", to->flags & CBX__ELSEWHERE ? to : value, err);
    op[0] = cbx__ref_strided(to);
    op[1] = (cbx__strided){ .data = value->data };
    for (int i = 0; i < value->desc.ndim; i++) {
        const size_t n = value->desc.shape[i];
        const bool fits = i + shift >= 0 ? n == 1 || n == to->desc.shape[i + shift] : n == 1;
        if (!fits)
            return cbx_fail(err, CBX_ESHAPE, "%s cannot be assigned to %s", CBX__DESC_TEXT(&value->desc),
                            CBX__DESC_TEXT(&to->desc));
        if (n != 1) op[1].strides[i + shift] = value->strides[i] * (ptrdiff_t)cbx__dtype_size(value->desc.dtype);
    }
    loop = cbx__move_loop(value->desc.dtype, to->desc.dtype);
    if (!loop)
        return cbx_fail(err, CBX_EDTYPE, "%s cannot be assigned to %s: use real or imag",
                        cbx_dtype_name(value->desc.dtype), cbx_dtype_name(to->desc.dtype));
    cbx__ref_walk(to->desc.ndim, to->desc.shape, 2, op, loop);
    return CBX_OK;
}

bool cbx_array_is_exclusive(const cbx_array *a)
{
    if (!a || a->flags & (CBX__FAILED | CBX__ABSTRACT)) return false;
    for (int i = 0; i < a->desc.ndim; i++)
        if (a->strides[i] == 0 && a->desc.shape[i] > 1) return false; /* elements in one place */
    for (; a->base; a = a->base)
        if (atomic_load(&a->refs) != 1) return false;
    return atomic_load(&a->refs) == 1 && !a->release && (a->pool || a->flags & CBX__INLINE);
}
