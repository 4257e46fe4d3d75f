/* Reductions: axes worked out, dtypes chosen, means and variances in terms of sums. */
#include <math.h>
#include <string.h>

#include "calibrax/array/ops_internal.h"

bool cbx__reduced(cbx_ctx *ctx, const char *name, const cbx_array *x, const cbx_axes *axes, cbx_attrs *attrs)
{
    int ndim;

    *attrs = (cbx_attrs){ 0 };
    if (cbx__unusable(ctx, name, 1, &x)) return false;
    ndim = x->desc.ndim;
    attrs->naxes = axes ? axes->n : ndim;
    attrs->keep = axes && axes->keep;
    if (attrs->naxes < 0 || attrs->naxes > CBX_MAX_RANK)
        return cbx__refused_of(ctx, x, CBX_EINVAL, "'%s' got %d axes", name, attrs->naxes);
    for (int i = 0; i < attrs->naxes; i++) {
        attrs->axes[i] = i;
        if (axes && !cbx__axis_of(ctx, name, axes->axis[i], x, ndim, &attrs->axes[i])) return false;
    }
    return true;
}

size_t cbx__reduced_count(const cbx_array *x, const cbx_attrs *attrs)
{
    size_t n = 1;

    for (int i = 0; i < attrs->naxes; i++) n *= x->desc.shape[attrs->axes[i]];
    return n;
}

bool cbx__distinct(cbx_ctx *ctx, const char *name, const cbx_attrs *attrs)
{
    unsigned seen = 0;

    for (int i = 0; i < attrs->naxes; i++) {
        if (seen & (1u << attrs->axes[i]))
            return cbx__refused(ctx, CBX_EINVAL, "axis %d of '%s' is named twice", attrs->axes[i], name);
        seen |= 1u << attrs->axes[i];
    }
    return true;
}

/* Sums and products of small integers need a wider dtype. */
static cbx_dtype sum_dtype(cbx_dtype t)
{
    if (cbx_dtype_kind(t) > CBX_KIND_INT) return t;
    return cbx_dtype_is_unsigned(t) ? CBX_U64 : CBX_I64;
}

#define REDUCING(name, prim, set)                                                                                      \
    cbx_array *cbx_##name(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes)                                      \
    {                                                                                                                  \
        cbx_attrs attrs;                                                                                               \
        if (!cbx__reduced(ctx, #name, x, axes, &attrs)) return cbx__array_failed();                                    \
        set;                                                                                                           \
        return cbx__apply1(ctx, CBX_PRIM_##prim, x, &attrs);                                                           \
    }
REDUCING(sum, SUM, attrs.dtype = sum_dtype(x->desc.dtype))
REDUCING(prod, PROD, attrs.dtype = sum_dtype(x->desc.dtype))
REDUCING(max, REDUCE_MAX, )
REDUCING(min, REDUCE_MIN, )
REDUCING(nanmax, REDUCE_MAX, attrs.mode = 1)
REDUCING(nanmin, REDUCE_MIN, attrs.mode = 1)
REDUCING(any, ANY, )
REDUCING(all, ALL, )
REDUCING(argmax, ARGMAX, )
REDUCING(argmin, ARGMIN, )

/* In at least float64, so that float32 is rounded once, at the end. */
static cbx_dtype mean_dtype(cbx_dtype t) { return t == CBX_F32 ? CBX_F64 : t == CBX_C64 ? CBX_C128 : cbx__inexact(t); }

static cbx_array *wide_sum(cbx_ctx *ctx, const cbx_array *x, cbx_attrs attrs)
{
    attrs.dtype = mean_dtype(x->desc.dtype);
    return cbx__apply1(ctx, CBX_PRIM_SUM, x, &attrs);
}

cbx_array *cbx_mean(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes)
{
    size_t mark = cbx__mark(ctx);
    cbx_attrs attrs;

    if (!cbx__reduced(ctx, "mean", x, axes, &attrs)) return cbx__array_failed();
    return cbx__tidy(ctx, mark,
                     cbx__as(ctx,
                             cbx_divide_scalar(ctx, wide_sum(ctx, x, attrs), (double)cbx__reduced_count(x, &attrs)),
                             cbx__inexact(x->desc.dtype)));
}

/* |d|^2 for real and complex deviations. */
cbx_array *cbx__norm_square(cbx_ctx *ctx, const cbx_array *d)
{
    if (cbx_array_is_failed(d) || cbx_dtype_kind(d->desc.dtype) < CBX_KIND_COMPLEX) return cbx_square(ctx, d);
    return cbx_add(ctx, cbx_square(ctx, cbx_real(ctx, d)), cbx_square(ctx, cbx_imag(ctx, d)));
}

cbx_dtype cbx__real_of(cbx_dtype t) { return t == CBX_C64 || t == CBX_F32 ? CBX_F32 : CBX_F64; }

/* Sums of |x - mean|^2 in float64, NaN left out on request; mean keeps the axes. */
static cbx_array *squares(cbx_ctx *ctx, const cbx_array *x, const cbx_attrs *attrs, const cbx_array *mean,
                          bool skips_nan)
{
    cbx_attrs sum = *attrs;
    cbx_array *d;

    if (cbx_array_is_failed(mean)) return cbx__array_failed();
    sum.dtype = CBX_F64;
    if (cbx_dtype_kind(x->desc.dtype) == CBX_KIND_FLOAT) {
        sum.mode = skips_nan;
        return cbx_apply(ctx, CBX_PRIM_SQUARES, 2, (const cbx_array *const[]){ x, mean }, &sum);
    }
    d = cbx__norm_square(ctx, cbx_subtract(ctx, cbx__as(ctx, x, mean_dtype(x->desc.dtype)), mean));
    if (cbx_array_is_failed(d)) return d;
    if (skips_nan) d = cbx_where(ctx, cbx_isnan(ctx, x), cbx_weak(ctx, d, cbx_float(0.0)), d);
    return cbx__apply1(ctx, CBX_PRIM_SUM, d, &sum);
}

/* In float64 whatever x is; two passes. */
static cbx_array *wide_var(cbx_ctx *ctx, const cbx_array *x, const cbx_attrs *attrs, double correction)
{
    const double n = (double)cbx__reduced_count(x, attrs);
    cbx_attrs keep = *attrs;
    cbx_array *mean;

    keep.keep = true;
    mean = cbx_divide_scalar(ctx, wide_sum(ctx, x, keep), n);
    if (cbx_dtype_kind(x->desc.dtype) < CBX_KIND_FLOAT) x = cbx__as(ctx, x, CBX_F64);
    if (cbx_array_is_failed(x)) return cbx__array_failed();
    return cbx_divide_scalar(ctx, squares(ctx, x, attrs, mean, false), fmax(n - correction, 0.0));
}

cbx_array *cbx_var(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes, double correction)
{
    size_t mark = cbx__mark(ctx);
    cbx_attrs attrs;

    if (!cbx__reduced(ctx, "var", x, axes, &attrs)) return cbx__array_failed();
    return cbx__tidy(ctx, mark, cbx__as(ctx, wide_var(ctx, x, &attrs, correction), cbx__real_of(x->desc.dtype)));
}

cbx_array *cbx_std(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes, double correction)
{
    size_t mark = cbx__mark(ctx);
    cbx_attrs attrs;

    if (!cbx__reduced(ctx, "std", x, axes, &attrs)) return cbx__array_failed();
    return cbx__tidy(ctx, mark,
                     cbx__as(ctx, cbx_sqrt(ctx, wide_var(ctx, x, &attrs, correction)), cbx__real_of(x->desc.dtype)));
}

cbx_array *cbx_count_nonzero(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes)
{
    return cbx__tidied(ctx, cbx_sum(ctx, cbx__as(ctx, x, CBX_BOOL), axes));
}

/* x with a number in the place of each NaN. */
static cbx_array *without_nan(cbx_ctx *ctx, const cbx_array *x, double v)
{
    if (cbx_array_is_failed(x) || cbx_dtype_kind(x->desc.dtype) < CBX_KIND_FLOAT) return (cbx_array *)(uintptr_t)x;
    return cbx_where(ctx, cbx_isnan(ctx, x), cbx_weak(ctx, x, cbx_float(v)), x);
}

static cbx_array *count_numbers(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes)
{
    return cbx_sum(ctx, cbx_logical_not(ctx, cbx_isnan(ctx, x)), axes);
}

cbx_array *cbx_nansum(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes)
{
    return cbx__tidied(ctx, cbx_sum(ctx, without_nan(ctx, x, 0.0), axes));
}

/* Sum and count in float64, so that a count beyond float32's integers stays right. */
static cbx_array *wide_nanmean(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes)
{
    const cbx_array *numbers = without_nan(ctx, x, 0.0);
    cbx_attrs attrs;

    if (!cbx__reduced(ctx, "nanmean", numbers, axes, &attrs)) return cbx__array_failed();
    return cbx_divide(ctx, wide_sum(ctx, numbers, attrs), count_numbers(ctx, x, axes));
}

cbx_array *cbx_nanmean(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes)
{
    size_t mark = cbx__mark(ctx);
    if (cbx__unusable(ctx, "nanmean", 1, &x)) return cbx__array_failed();
    return cbx__tidy(ctx, mark, cbx__as(ctx, wide_nanmean(ctx, x, axes), cbx__inexact(x->desc.dtype)));
}

cbx_array *cbx_nanstd(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes, double correction)
{
    size_t mark = cbx__mark(ctx);
    cbx_axes keep = { 0 };
    cbx_array *d, *n;
    cbx_attrs attrs;

    if (!cbx__reduced(ctx, "nanstd", x, axes, &attrs)) return cbx__array_failed();
    if (axes) keep = *axes;
    for (int i = 0; !axes && i < x->desc.ndim; i++) keep.axis[keep.n++] = i;
    keep.keep = true;
    n = cbx_subtract_scalar(ctx, count_numbers(ctx, x, axes), correction);
    n = cbx_where(ctx, cbx_greater_scalar(ctx, n, 0.0), n, cbx_weak(ctx, n, cbx_float(NAN)));
    /* the distance of an infinity is NaN, too, and stays */
    d = squares(ctx, x, &attrs, wide_nanmean(ctx, x, &keep), true);
    return cbx__tidy(ctx, mark, cbx__as(ctx, cbx_sqrt(ctx, cbx_divide(ctx, d, n)), cbx__real_of(x->desc.dtype)));
}

static cbx_array *running(cbx_ctx *ctx, cbx_prim p, const cbx_array *x, int axis, bool sums)
{
    cbx_attrs attrs = { 0 };

    if (cbx__unusable(ctx, cbx_prim_name(p), 1, &x) ||
        !cbx__axis_of(ctx, cbx_prim_name(p), axis, x, x->desc.ndim, &attrs.axis))
        return cbx__array_failed();
    if (sums) attrs.dtype = sum_dtype(x->desc.dtype);
    return cbx__apply1(ctx, p, x, &attrs);
}

#define RUNNING(name, prim, sums)                                                                                      \
    cbx_array *cbx_cumulative_##name(cbx_ctx *ctx, const cbx_array *x, int axis)                                       \
    {                                                                                                                  \
        return running(ctx, CBX_PRIM_##prim, x, axis, sums);                                                           \
    }
RUNNING(sum, CUMSUM, true)
RUNNING(prod, CUMPROD, true)
RUNNING(max, CUMMAX, false)
RUNNING(min, CUMMIN, false)

/* The start in front: one element more. */
static cbx_array *with_initial(cbx_ctx *ctx, cbx_prim p, const cbx_array *x, int axis, int64_t start)
{
    cbx_array *r = running(ctx, p, x, axis, true);
    size_t shape[CBX_MAX_RANK];

    if (cbx_array_is_failed(r)) return r;
    memcpy(shape, r->desc.shape, sizeof shape);
    shape[axis < 0 ? axis + r->desc.ndim : axis] = 1;
    x = cbx_full(ctx, r->desc.ndim, shape, r->desc.dtype, cbx_int(start));
    return cbx_concat(ctx, 2, (const cbx_array *const[]){ x, r }, axis);
}

cbx_array *cbx_cumulative_sum_initial(cbx_ctx *ctx, const cbx_array *x, int axis)
{
    return cbx__tidied(ctx, with_initial(ctx, CBX_PRIM_CUMSUM, x, axis, 0));
}
cbx_array *cbx_cumulative_prod_initial(cbx_ctx *ctx, const cbx_array *x, int axis)
{
    return cbx__tidied(ctx, with_initial(ctx, CBX_PRIM_CUMPROD, x, axis, 1));
}

/* sum(w x) / sum(w); a row of weights belongs to the one reduced axis. */
cbx_array *cbx_average(cbx_ctx *ctx, const cbx_array *x, const cbx_array *w, const cbx_axes *axes)
{
    size_t mark = cbx__mark(ctx);
    cbx_attrs a;
    cbx_dtype t;

    if (!cbx__reduced(ctx, "average", x, axes, &a)) return cbx__array_failed();
    if (!w) return cbx__tidy(ctx, mark, cbx_mean(ctx, x, axes));
    if (cbx__unusable(ctx, "average", 1, &w)) return cbx__array_failed();
    t = cbx__inexact(cbx_dtype_promote(x->desc.dtype, w->desc.dtype));
    if (w->desc.ndim == 1 && x->desc.ndim > 1 && a.naxes == 1 && w->desc.shape[0] == x->desc.shape[a.axes[0]])
        for (int i = a.axes[0] + 1; i < x->desc.ndim; i++) w = cbx_expand_dims(ctx, w, -1);
    else if (w->desc.ndim != x->desc.ndim ||
             memcmp(w->desc.shape, x->desc.shape, (size_t)x->desc.ndim * sizeof(size_t)))
        return cbx__refuse(ctx, CBX_ESHAPE, "'average' takes weights of the operand's shape, or a row for one axis");
    w = cbx__to_shape(ctx, cbx__as(ctx, w, mean_dtype(t)), x->desc.ndim, x->desc.shape);
    x = cbx_sum(ctx, cbx_multiply(ctx, x, w), axes);
    return cbx__tidy(ctx, mark, cbx__as(ctx, cbx_divide(ctx, x, cbx_sum(ctx, w, axes)), t));
}

cbx_array *cbx_diff(cbx_ctx *ctx, const cbx_array *x, int axis)
{
    size_t mark = cbx__mark(ctx);
    cbx_array *after = cbx_slice(ctx, x, axis, 1, CBX_OPEN, 1), *before = cbx_slice(ctx, x, axis, CBX_OPEN, -1, 1);

    if (cbx_array_is_failed(after) || x->desc.dtype != CBX_BOOL)
        return cbx__tidy(ctx, mark, cbx_subtract(ctx, after, before));
    return cbx__tidy(ctx, mark, cbx_not_equal(ctx, after, before));
}
