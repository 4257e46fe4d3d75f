/* Movement of several axes at once, and parts whose number or length is an operand. */
#include "calibrax/array/ops_internal.h"

cbx_array *cbx_flip_axes(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes)
{
    size_t mark = cbx__mark(ctx);
    cbx_attrs a;
    cbx_array *r;

    if (!cbx__reduced(ctx, "flip", x, axes, &a) || !cbx__distinct(ctx, "flip", &a)) return cbx__array_failed();
    r = cbx__same(ctx, x);
    for (int i = 0; i < a.naxes; i++) r = cbx_flip(ctx, r, a.axes[i]);
    return cbx__tidy(ctx, mark, r);
}

cbx_array *cbx_squeeze_axes(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes)
{
    cbx_attrs a, shape = { 0 };
    unsigned gone = 0;

    if (!cbx__reduced(ctx, "squeeze", x, axes, &a) || !cbx__distinct(ctx, "squeeze", &a)) return cbx__array_failed();
    for (int i = 0; i < a.naxes; i++) {
        if (x->desc.shape[a.axes[i]] != 1 && axes)
            return cbx__refuse_of(ctx, x, CBX_ESHAPE, "'squeeze' drops axes of length 1, axis %d has %zu", a.axes[i],
                                  x->desc.shape[a.axes[i]]);
        gone |= 1u << a.axes[i];
    }
    for (int i = 0; i < x->desc.ndim; i++)
        if (x->desc.shape[i] != 1 || !(gone & (1u << i))) shape.shape[shape.ndim++] = x->desc.shape[i];
    return cbx__apply1(ctx, CBX_PRIM_RESHAPE, x, &shape);
}

/* The axes not named keep their order around those that are. */
cbx_array *cbx_moveaxes(cbx_ctx *ctx, const cbx_array *x, int n, const int *from, const int *to)
{
    int order[CBX_MAX_RANK] = { -1, -1, -1, -1, -1, -1, -1, -1 }, a, b, at = 0;
    unsigned taken = 0, filled = 0;

    if (cbx__unusable(ctx, "moveaxis", 1, &x) || !cbx__given(ctx, "moveaxis", "from", n, from) ||
        !cbx__given(ctx, "moveaxis", "to", n, to))
        return cbx__array_failed();
    for (int i = 0; i < n; i++) {
        if (!cbx__axis(ctx, "moveaxis", from[i], x->desc.ndim, &a) ||
            !cbx__axis(ctx, "moveaxis", to[i], x->desc.ndim, &b))
            return cbx__array_failed();
        if ((taken & (1u << a)) || (filled & (1u << b)))
            return cbx__refuse_of(ctx, x, CBX_EINVAL, "axis %d of 'moveaxis' is named twice",
                                  taken & (1u << a) ? a : b);
        taken |= 1u << a;
        filled |= 1u << b;
        order[b] = a;
    }
    for (int i = 0; i < x->desc.ndim; i++) {
        while (at < x->desc.ndim && (taken & (1u << at))) at++;
        if (order[i] < 0) order[i] = at++;
    }
    return cbx_permute_dims(ctx, x, order);
}

cbx_array *cbx_roll_axes(cbx_ctx *ctx, const cbx_array *x, int n, const ptrdiff_t *shifts, const int *axes)
{
    size_t mark = cbx__mark(ctx);
    cbx_array *r;

    if (cbx__unusable(ctx, "roll", 1, &x) || !cbx__given(ctx, "roll", "shifts", n, shifts) ||
        !cbx__given(ctx, "roll", "axes", n, axes))
        return cbx__array_failed();
    r = cbx__same(ctx, x);
    for (int i = 0; i < n; i++) r = cbx_roll(ctx, r, shifts[i], axes[i]);
    return cbx__tidy(ctx, mark, r);
}

cbx_array *cbx_roll_flat(cbx_ctx *ctx, const cbx_array *x, ptrdiff_t shift)
{
    size_t mark = cbx__mark(ctx);

    if (cbx__unusable(ctx, "roll", 1, &x)) return cbx__array_failed();
    return cbx__tidy(ctx, mark,
                     cbx__reshaped(ctx, cbx_roll(ctx, cbx_flatten(ctx, x), shift, 0), x->desc.ndim, x->desc.shape));
}

static void all_failed(size_t n, cbx_array **out)
{
    for (size_t i = 0; i < n; i++) out[i] = cbx__array_failed();
}

void cbx_unstack(cbx_ctx *ctx, const cbx_array *x, int axis, size_t n, cbx_array **out)
{
    if (!cbx__given(ctx, "unstack", "out", (int64_t)n, out)) return;
    all_failed(n, out);
    if (cbx__unusable(ctx, "unstack", 1, &x) || !cbx__axis(ctx, "unstack", axis, x->desc.ndim, &axis)) return;
    if (x->desc.shape[axis] != n) {
        cbx__refuse_of(ctx, x, CBX_ESHAPE, "'unstack' of axis %d with %zu elements into %zu arrays", axis,
                       x->desc.shape[axis], n);
        return;
    }
    for (size_t i = 0; i < n; i++) out[i] = cbx_index(ctx, x, axis, (ptrdiff_t)i);
}

void cbx_broadcast_arrays(cbx_ctx *ctx, size_t n, const cbx_array *const *in, cbx_array **out)
{
    size_t shape[CBX_MAX_RANK];
    int ndim;

    if (!cbx__given(ctx, "broadcast_arrays", "out", (int64_t)n, out)) return;
    all_failed(n, out);
    if (cbx__unusable(ctx, "broadcast_arrays", n, in) || cbx_broadcast_shapes(n, in, &ndim, shape, cbx__sticky(ctx)))
        return;
    for (size_t i = 0; i < n; i++) out[i] = cbx_broadcast_to(ctx, in[i], ndim, shape);
}

/* How often each place of an axis comes, as running sums; total < 0: all of them. */
static cbx_array *repeat_steps(cbx_ctx *ctx, const cbx_array *x, const cbx_array *counts, int axis, ptrdiff_t total)
{
    cbx_array *ends, *at;
    int64_t minimum = 0, sum = 0;
    size_t n;

    if (cbx__unusable(ctx, "repeat", 2, (const cbx_array *const[]){ x, counts }) ||
        !cbx__axis(ctx, "repeat", axis, x->desc.ndim, &axis))
        return cbx__array_failed();
    n = x->desc.shape[axis];
    if (cbx_dtype_kind(counts->desc.dtype) != CBX_KIND_INT)
        return cbx__refuse_of(ctx, x, CBX_EDTYPE, "'repeat' takes integers, not %s",
                              cbx_dtype_name(counts->desc.dtype));
    if (counts->desc.ndim > 1 || (counts->desc.ndim == 1 && counts->count != n && counts->count != 1))
        return cbx__refuse_of(ctx, x, CBX_ESHAPE, "'repeat' of %zu places takes as many counts on one axis", n);
    counts = cbx__to_shape(ctx, cbx__as(ctx, counts, CBX_I64), 1, &n);
    if (total < 0 && n > 0 && !cbx__item(ctx, "repeat", "repeat_counts_size", cbx_min(ctx, counts, NULL), &minimum))
        return cbx__array_failed();
    if (minimum < 0) return cbx__refuse_of(ctx, x, CBX_EDOM, "'repeat' of %lld times", (long long)minimum);
    if (total >= 0) counts = cbx_maximum(ctx, counts, cbx_zeros(ctx, 0, NULL, CBX_I64));
    ends = cbx_cumulative_sum(ctx, counts, 0);
    if (total < 0 && n > 0 &&
        (!cbx__item(ctx, "repeat", "repeat_counts_size", cbx_min(ctx, ends, NULL), &minimum) ||
         !cbx__item(ctx, "repeat", "repeat_counts_size", cbx_index(ctx, ends, 0, -1), &sum)))
        return cbx__array_failed();
    if (minimum < 0) /* the first sum past the range wraps below 0 */
        return cbx__refuse_of(ctx, x, CBX_EOVERFLOW, "'repeat' makes axis %d too long", axis);
    at = cbx_searchsorted(ctx, ends, cbx_arange_int(ctx, 0, total < 0 ? sum : total, 1, CBX_I64), true);
    if (total >= 0 && n > 0) at = cbx_minimum(ctx, at, cbx_full(ctx, 0, NULL, CBX_I64, cbx_int((int64_t)n - 1)));
    return cbx_take(ctx, x, at, axis);
}

cbx_array *cbx_repeat_counts(cbx_ctx *ctx, const cbx_array *x, const cbx_array *counts, int axis)
{
    return cbx__tidied(ctx, repeat_steps(ctx, x, counts, axis, -1));
}

cbx_array *cbx_repeat_counts_size(cbx_ctx *ctx, const cbx_array *x, const cbx_array *counts, int axis, size_t total)
{
    size_t mark = cbx__mark(ctx);

    if (total > PTRDIFF_MAX) return cbx__refuse_of(ctx, x, CBX_EOVERFLOW, "'repeat' to %zu places", total);
    return cbx__tidy(ctx, mark, repeat_steps(ctx, x, counts, axis, (ptrdiff_t)total));
}
