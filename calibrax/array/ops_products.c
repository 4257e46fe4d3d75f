/* Products: every form is brought to stacks of matrices (batch, rows, columns). */
#include <string.h>

#include "calibrax/array/ops_internal.h"

cbx_array *cbx__reshaped(cbx_ctx *ctx, const cbx_array *x, int ndim, const size_t *shape)
{
    cbx_attrs attrs = { .ndim = ndim };

    if (ndim > CBX_MAX_RANK)
        return cbx__refuse(ctx, CBX_EINVAL, "a shape of %d axes has more than %d", ndim, CBX_MAX_RANK);
    if (ndim) memcpy(attrs.shape, shape, (size_t)ndim * sizeof *shape);
    return cbx__apply1(ctx, CBX_PRIM_RESHAPE, x, &attrs);
}

/* Leading axes of both joined by broadcasting; lead: their common shape. */
bool cbx__common_lead(const cbx_array *a, const cbx_array *b, int *n, size_t *lead)
{
    int na = a->desc.ndim - 2, nb = b->desc.ndim - 2;
    bool fits = true;

    *n = na > nb ? na : nb;
    for (int i = 0; i < *n; i++) {
        size_t da = i < *n - na ? 1 : a->desc.shape[i - (*n - na)], db = i < *n - nb ? 1 : b->desc.shape[i - (*n - nb)];
        fits = fits && (da == db || da == 1 || db == 1);
        lead[i] = da == 1 ? db : da;
    }
    return fits;
}

/* The last two axes under a common lead, merged into one. */
static cbx_array *stack_of(cbx_ctx *ctx, const cbx_array *x, int n, const size_t *lead, size_t batch)
{
    size_t shape[CBX_MAX_RANK], rows = x->desc.shape[x->desc.ndim - 2], columns = x->desc.shape[x->desc.ndim - 1];

    memcpy(shape, lead, (size_t)n * sizeof *shape);
    shape[n] = rows;
    shape[n + 1] = columns;
    return cbx__reshaped(ctx, cbx__to_shape(ctx, x, n + 2, shape), 3, (const size_t[]){ batch, rows, columns });
}

/* Of two vectors of one length, in as few steps as there are. */
static cbx_array *vector_product(cbx_ctx *ctx, const cbx__product *how, const cbx_array *a, const cbx_array *b)
{
    const size_t n = a->count;
    const cbx_array *in[2] = { cbx__reshaped(ctx, cbx__as(ctx, a, how->dtype), 3, (const size_t[]){ 1, 1, n }),
                               cbx__reshaped(ctx, cbx__as(ctx, b, how->dtype), 3, (const size_t[]){ 1, n, 1 }) };

    if (cbx__unusable(ctx, how->name, 2, in)) return cbx__array_failed();
    return cbx__reshaped(ctx, cbx_apply(ctx, how->prim, 2, in, how->attrs), 0, NULL);
}

cbx_array *cbx__matrix_product(cbx_ctx *ctx, const cbx__product *how, const cbx_array *a, const cbx_array *b)
{
    size_t mark = cbx__mark(ctx);
    const cbx_array *in[2] = { a, b };
    size_t lead[CBX_MAX_RANK], batch = 1;
    bool row, column;
    cbx_array *r;
    int n;

    if (cbx__unusable(ctx, how->name, 2, in)) return cbx__array_failed();
    if (a->desc.ndim == 0 || b->desc.ndim == 0)
        return cbx__refuse_of(ctx, a->desc.ndim == 0 ? a : b, CBX_ESHAPE, "'%s' does not take scalars: use 'multiply'",
                              how->name);
    row = a->desc.ndim == 1;
    column = b->desc.ndim == 1;
    if (row && column && a->count == b->count) return cbx__tidy(ctx, mark, vector_product(ctx, how, a, b));
    in[0] = cbx__as(ctx, row ? cbx_expand_dims(ctx, a, 0) : a, how->dtype);
    in[1] = cbx__as(ctx, column ? cbx_expand_dims(ctx, b, 1) : b, how->dtype);
    if (cbx__unusable(ctx, how->name, 2, in)) return cbx__array_failed();
    if (!cbx__common_lead(in[0], in[1], &n, lead) ||
        in[0]->desc.shape[in[0]->desc.ndim - 1] != in[1]->desc.shape[in[1]->desc.ndim - 2])
        return cbx__refuse(ctx, CBX_ESHAPE, "'%s' cannot join %s with %s", how->name, CBX__DESC_TEXT(&a->desc),
                           CBX__DESC_TEXT(&b->desc));
    for (int i = 0; i < n; i++) batch *= lead[i];
    for (int i = 0; i < 2; i++) in[i] = stack_of(ctx, in[i], n, lead, batch);
    r = cbx_apply(ctx, how->prim, 2, in, how->attrs);
    if (cbx_array_is_failed(r)) return cbx__tidy(ctx, mark, r);
    if (!row) lead[n++] = r->desc.shape[1];
    if (!column) lead[n++] = r->desc.shape[2];
    return cbx__tidy(ctx, mark, cbx__reshaped(ctx, r, n, lead));
}

cbx_array *cbx_matrix_product(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b)
{
    const cbx_array *in[2] = { a, b };

    if (cbx__unusable(ctx, "matmul", 2, in)) return cbx__array_failed();
    return cbx__matrix_product(
        ctx, &(cbx__product){ "matmul", CBX_PRIM_MATMUL, NULL, cbx_dtype_promote(a->desc.dtype, b->desc.dtype) }, a, b);
}

/*
 * Axes not named first (last: summed ones behind), as a matrix; bound[] and free[] get the lengths
 * of the named ones and the others.
 */
static cbx_array *as_matrix(cbx_ctx *ctx, const cbx_array *x, int n, const int *axes, bool last, size_t *bound,
                            int *nfree, size_t *free)
{
    cbx_attrs order = { .naxes = x->desc.ndim };
    size_t summed = 1, rest = 1;
    unsigned named = 0;
    int at = last ? 0 : n;

    *nfree = 0;
    for (int i = 0; i < n; i++) {
        int axis;
        if (!cbx__axis_of(ctx, "tensordot", axes[i], x, x->desc.ndim, &axis)) return cbx__array_failed();
        if (named & (1u << axis))
            return cbx__refuse_of(ctx, x, CBX_EINVAL, "axis %d of 'tensordot' is named twice", axis);
        named |= 1u << axis;
        order.axes[last ? x->desc.ndim - n + i : i] = axis;
        bound[i] = x->desc.shape[axis];
        summed *= bound[i];
    }
    for (int i = 0; i < x->desc.ndim; i++)
        if (!(named & (1u << i))) {
            order.axes[at++] = i;
            free[(*nfree)++] = x->desc.shape[i];
            rest *= x->desc.shape[i];
        }
    x = cbx__apply1(ctx, CBX_PRIM_TRANSPOSE, x, &order);
    return cbx__reshaped(ctx, x, 3, last ? (const size_t[]){ 1, rest, summed } : (const size_t[]){ 1, summed, rest });
}

cbx_array *cbx_tensordot(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b, int n, const int *axes_a,
                         const int *axes_b)
{
    size_t mark = cbx__mark(ctx);
    const cbx_array *in[2] = { a, b };
    size_t shape[2 * CBX_MAX_RANK], summed[2][CBX_MAX_RANK];
    int na, nb;
    cbx_dtype t;

    if (cbx__unusable(ctx, "tensordot", 2, in) || !cbx__given(ctx, "tensordot", "axes_a", n, axes_a) ||
        !cbx__given(ctx, "tensordot", "axes_b", n, axes_b))
        return cbx__array_failed();
    if (n < 0 || n > a->desc.ndim || n > b->desc.ndim)
        return cbx__refuse_of(ctx, a, CBX_EINVAL, "'tensordot' over %d axes of ranks %d and %d", n, a->desc.ndim,
                              b->desc.ndim);
    if (a->desc.ndim + b->desc.ndim - 2 * n > CBX_MAX_RANK)
        return cbx__refuse_of(ctx, a, CBX_EINVAL, "the result of 'tensordot' has more than %d axes", CBX_MAX_RANK);
    t = cbx_dtype_promote(a->desc.dtype, b->desc.dtype);
    in[0] = as_matrix(ctx, a, n, axes_a, true, summed[0], &na, shape);
    in[1] = as_matrix(ctx, b, n, axes_b, false, summed[1], &nb, shape + na);
    if (cbx__unusable(ctx, "tensordot", 2, in)) return cbx__array_failed();
    for (int i = 0; i < n; i++)
        if (summed[0][i] != summed[1][i])
            return cbx__refuse(ctx, CBX_ESHAPE,
                               "'tensordot' sums axis %d of %s with axis %d of %s: their lengths differ", axes_a[i],
                               CBX__DESC_TEXT(&a->desc), axes_b[i], CBX__DESC_TEXT(&b->desc));
    for (int i = 0; i < 2; i++) in[i] = cbx__as(ctx, in[i], t);
    return cbx__tidy(ctx, mark, cbx__reshaped(ctx, cbx_apply(ctx, CBX_PRIM_MATMUL, 2, in, NULL), na + nb, shape));
}

cbx_array *cbx_vecdot(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b, int axis)
{
    size_t mark = cbx__mark(ctx);
    const cbx_array *in[2] = { a, b };
    cbx_array *wide[2];
    size_t batch = 1, n;
    cbx_dtype t;

    if (cbx__unusable(ctx, "vecdot", 2, in)) return cbx__array_failed();
    if (axis >= 0 || axis < -a->desc.ndim || axis < -b->desc.ndim)
        return cbx__refuse_of(ctx, a, CBX_EINVAL, "axis %d of 'vecdot' counts from the end: -1 and below", axis);
    n = a->desc.shape[a->desc.ndim + axis];
    if (n != b->desc.shape[b->desc.ndim + axis])
        return cbx__refuse_of(ctx, a, CBX_ESHAPE, "'vecdot' of %zu with %zu elements", n,
                              b->desc.shape[b->desc.ndim + axis]);
    t = cbx_dtype_promote(a->desc.dtype, b->desc.dtype);
    in[0] = cbx__as(ctx, cbx_moveaxis(ctx, cbx_conj(ctx, a), axis, -1), t);
    in[1] = cbx__as(ctx, cbx_moveaxis(ctx, b, axis, -1), t);
    cbx_broadcast_arrays(ctx, 2, in, wide);
    if (cbx__unusable(ctx, "vecdot", 2, (const cbx_array *const[]){ wide[0], wide[1] })) return cbx__array_failed();
    for (int i = 0; i < wide[0]->desc.ndim - 1; i++) batch *= wide[0]->desc.shape[i];
    in[0] = cbx__reshaped(ctx, wide[0], 3, (const size_t[]){ batch, 1, n });
    in[1] = cbx__reshaped(ctx, wide[1], 3, (const size_t[]){ batch, n, 1 });
    return cbx__tidy(
        ctx, mark,
        cbx__reshaped(ctx, cbx_apply(ctx, CBX_PRIM_MATMUL, 2, in, NULL), wide[0]->desc.ndim - 1, wide[0]->desc.shape));
}

cbx_array *cbx_outer(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b)
{
    return cbx__tidied(ctx, cbx_multiply(ctx, cbx_expand_dims(ctx, cbx_flatten(ctx, a), 1),
                                         cbx_expand_dims(ctx, cbx__packed(ctx, cbx_flatten(ctx, b)), 0)));
}
