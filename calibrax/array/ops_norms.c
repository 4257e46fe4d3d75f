/* Norms, diagonals and the vector product: composites of reductions and views. */
#include <math.h>
#include <string.h>

#include "calibrax/array/linalg.h"
#include "calibrax/array/ops_internal.h"

/* ---- norms ---- */

/*
 * |x| in float64 of float32, so that powers neither overflow nor are rounded before they are
 * summed.
 */
static cbx_array *lengths(cbx_ctx *ctx, const cbx_array *x)
{
    return cbx__as(ctx, cbx_abs(ctx, cbx__as(ctx, x, cbx__inexact(x->desc.dtype))), CBX_F64);
}

/* The largest (least) over axes; of nothing 0, but the least of nothing is refused. */
static cbx_array *extreme(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes, bool smaller)
{
    cbx_attrs attrs;

    if (cbx_array_is_failed(x)) return cbx__array_failed();
    if (smaller) return cbx_min(ctx, x, axes);
    if (!cbx__reduced(ctx, "norm", x, axes, &attrs)) return cbx__array_failed();
    if (cbx__reduced_count(x, &attrs) == 0) return cbx_sum(ctx, x, axes);
    return cbx_max(ctx, x, axes);
}

/* Sums of squares of real numbers in float64.  A primitive of its own makes no array of the
 * squares; of a recorded operand the squares are computed where they are summed. */
static cbx_array *squares(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes)
{
    size_t shape[CBX_MAX_RANK];
    const cbx_array *in[2];
    cbx_attrs sum;

    if (cbx_dtype_kind(x->desc.dtype) != CBX_KIND_FLOAT || cbx__is_recorded(ctx, 1, &x))
        return cbx_sum(ctx, cbx_square(ctx, lengths(ctx, x)), axes);
    if (!cbx__reduced(ctx, "vector_norm", x, axes, &sum)) return cbx__array_failed();
    memcpy(shape, x->desc.shape, sizeof shape);
    for (int i = 0; i < sum.naxes; i++) shape[sum.axes[i]] = 1;
    sum.dtype = CBX_F64;
    in[0] = x;
    in[1] = cbx_zeros(ctx, x->desc.ndim, shape, CBX_F64);
    return cbx_array_is_failed(in[1]) ? cbx__array_failed() : cbx_apply(ctx, CBX_PRIM_SQUARES, 2, in, &sum);
}

cbx_array *cbx_vector_norm(cbx_ctx *ctx, const cbx_array *x, double ord, const cbx_axes *axes)
{
    size_t mark = cbx__mark(ctx);
    cbx_array *a, *r;
    cbx_dtype t;

    if (cbx__unusable(ctx, "vector_norm", 1, &x)) return cbx__array_failed();
    if (isnan(ord)) return cbx__refuse_of(ctx, x, CBX_EINVAL, "'vector_norm' of order NaN");
    t = cbx__real_of(x->desc.dtype);
    if (ord == 0) return cbx__tidy(ctx, mark, cbx__as(ctx, cbx_count_nonzero(ctx, x, axes), t));
    if (ord == 2) return cbx__tidy(ctx, mark, cbx__as(ctx, cbx_sqrt(ctx, squares(ctx, x, axes)), t));
    a = lengths(ctx, x);
    if (isinf(ord))
        r = extreme(ctx, a, axes, ord < 0);
    else if (ord == 1)
        r = cbx_sum(ctx, a, axes);
    else
        r = cbx_pow_scalar(ctx, cbx_sum(ctx, cbx_pow_scalar(ctx, a, ord), axes), 1 / ord);
    return cbx__tidy(ctx, mark, cbx__as(ctx, r, t));
}

/* Sums along one of the last two axes, then the extreme along the other. */
static cbx_array *sum_norm(cbx_ctx *ctx, const cbx_array *x, int summed, bool smaller)
{
    cbx_array *sums = cbx_sum(ctx, lengths(ctx, x), CBX_AXIS_KEEP(summed));
    return extreme(ctx, sums, CBX_AXIS_KEEP(-3 - summed), smaller);
}

/* Singular values as a row, so that one axis is kept in the place of two. */
static cbx_array *value_norm(cbx_ctx *ctx, const cbx_array *x, cbx_matrix_ord ord)
{
    cbx_array *s = cbx_expand_dims(ctx, cbx_svdvals(ctx, x), -2);

    if (ord == CBX_ORD_NUC) return cbx_sum(ctx, s, CBX_AXIS_KEEP(-1));
    return extreme(ctx, s, CBX_AXIS_KEEP(-1), ord == CBX_ORD_MINUS_2);
}

static cbx_array *kept_norm(cbx_ctx *ctx, const cbx_array *x, cbx_matrix_ord ord)
{
    switch (ord) {
    case CBX_ORD_FRO: return cbx_vector_norm(ctx, x, 2, &(const cbx_axes){ .n = 2, .axis = { -2, -1 }, .keep = true });
    case CBX_ORD_1: return sum_norm(ctx, x, -2, false);
    case CBX_ORD_MINUS_1: return sum_norm(ctx, x, -2, true);
    case CBX_ORD_INF: return sum_norm(ctx, x, -1, false);
    case CBX_ORD_MINUS_INF: return sum_norm(ctx, x, -1, true);
    default: return value_norm(ctx, x, ord);
    }
}

cbx_array *cbx_matrix_norm(cbx_ctx *ctx, const cbx_array *x, cbx_matrix_ord ord, bool keepdims)
{
    size_t mark = cbx__mark(ctx);
    cbx_array *r;

    if (cbx__unusable(ctx, "matrix_norm", 1, &x)) return cbx__array_failed();
    if (x->desc.ndim < 2)
        return cbx__refuse(ctx, CBX_ESHAPE, "'matrix_norm' needs a matrix, not %s: use 'vector_norm'",
                           CBX__DESC_TEXT(&x->desc));
    if ((unsigned)ord >= CBX_ORD_COUNT)
        return cbx__refuse_of(ctx, x, CBX_EINVAL, "'matrix_norm': unknown order %d", (int)ord);
    r = cbx__as(ctx, kept_norm(ctx, x, ord), cbx__real_of(x->desc.dtype));
    return cbx__tidy(ctx, mark, keepdims ? r : cbx_squeeze(ctx, cbx_squeeze(ctx, r, -1), -1));
}

/* ---- diagonals ---- */

/* In a flattened matrix of n columns the diagonal is every (n+1)-th element. */
static cbx_array *diagonal_steps(cbx_ctx *ctx, const char *name, const cbx_array *x, ptrdiff_t offset)
{
    size_t shape[CBX_MAX_RANK];
    ptrdiff_t m, n, first, length;
    cbx_array *flat;

    if (cbx__unusable(ctx, name, 1, &x)) return cbx__array_failed();
    if (x->desc.ndim < 2)
        return cbx__refuse(ctx, CBX_ESHAPE, "'%s' needs a matrix, not %s", name, CBX__DESC_TEXT(&x->desc));
    m = (ptrdiff_t)x->desc.shape[x->desc.ndim - 2];
    n = (ptrdiff_t)x->desc.shape[x->desc.ndim - 1];
    if (offset >= n || offset <= -m)
        length = 0;
    else if (offset >= 0)
        length = n - offset < m ? n - offset : m;
    else
        length = m + offset < n ? m + offset : n;
    memcpy(shape, x->desc.shape, sizeof shape);
    shape[x->desc.ndim - 2] = (size_t)(m * n);
    flat = cbx__reshaped(ctx, x, x->desc.ndim - 1, shape);
    if (length == 0) return cbx_slice(ctx, flat, -1, 0, 0, 1);
    first = offset >= 0 ? offset : -offset * n;
    return cbx_slice(ctx, flat, -1, first, first + (length - 1) * (n + 1) + 1, n + 1);
}

cbx_array *cbx_diagonal(cbx_ctx *ctx, const cbx_array *x, ptrdiff_t offset)
{
    return cbx__tidied(ctx, diagonal_steps(ctx, "diagonal", x, offset));
}

cbx_array *cbx_trace(cbx_ctx *ctx, const cbx_array *x, ptrdiff_t offset)
{
    return cbx__tidied(ctx, cbx_sum(ctx, diagonal_steps(ctx, "trace", x, offset), CBX_AXIS(-1)));
}

/* ---- the vector product ---- */

cbx_array *cbx_cross(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b, int axis)
{
    size_t mark = cbx__mark(ctx);
    const cbx_array *in[2] = { a, b }, *part[3];

    if (cbx__unusable(ctx, "cross", 2, in)) return cbx__array_failed();
    if (axis >= 0 || axis < -a->desc.ndim || axis < -b->desc.ndim)
        return cbx__refuse(ctx, CBX_EINVAL, "axis %d of 'cross' counts from the end: -1 and below", axis);
    for (int i = 0; i < 2; i++)
        if (in[i]->desc.shape[in[i]->desc.ndim + axis] != 3)
            return cbx__refuse(ctx, CBX_ESHAPE, "'cross' needs three numbers along axis %d, not %zu", axis,
                               in[i]->desc.shape[in[i]->desc.ndim + axis]);
    a = cbx__packed(ctx, a);
    b = cbx__packed(ctx, b);
    for (int i = 0; i < 3; i++) {
        int next = (i + 1) % 3, last = (i + 2) % 3;
        part[i] = cbx_subtract(ctx, cbx_multiply(ctx, cbx_index(ctx, a, axis, next), cbx_index(ctx, b, axis, last)),
                               cbx_multiply(ctx, cbx_index(ctx, a, axis, last), cbx_index(ctx, b, axis, next)));
    }
    return cbx__tidy(ctx, mark, cbx_stack(ctx, 3, part, axis));
}
