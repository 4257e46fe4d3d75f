/*
 * Products and convolutions over an algebra, in terms of their primitives.
 */
#include "calibrax/array/semiring.h"

#include <math.h>
#include <string.h>

#include "calibrax/array/algebra_object.h"
#include "calibrax/array/kernels/semiring.h"
#include "calibrax/array/kernels/traits.h"
#include "calibrax/array/ops_internal.h"
#include "calibrax/base/options.h"

/*
 * dtype in which two operands meet under an algebra; CBX_DTYPE_COUNT, with a failure recorded, if
 * they cannot.
 */
static cbx_dtype meeting_dtype(cbx_ctx *ctx, const char *name, const cbx_semiring *s, const cbx_array *a,
                               const cbx_array *b)
{
    const cbx_dtype t = cbx_dtype_promote(a->desc.dtype, b->desc.dtype);

    if (s->functions || cbx__traits_of[s->id].of_bool) {
        const cbx_dtype own = s->functions ? s->functions->dtype : CBX_BOOL;
        if (a->desc.dtype == own && b->desc.dtype == own) return own;
        cbx__refuse(ctx, CBX_EDTYPE, "'%s' over '%s' takes %s, not %s with %s: convert with 'astype'", name, s->name,
                    cbx_dtype_name(own), cbx_dtype_name(a->desc.dtype), cbx_dtype_name(b->desc.dtype));
        return CBX_DTYPE_COUNT;
    }
    if (cbx_dtype_kind(t) != CBX_KIND_COMPLEX) return cbx__inexact(t);
    cbx__refuse(ctx, CBX_EDTYPE, "'%s' over '%s' takes float32 or float64, not %s", name, s->name, cbx_dtype_name(t));
    return CBX_DTYPE_COUNT;
}

static bool usable(cbx_ctx *ctx, const char *name, const cbx_semiring *s, const cbx_array *const in[2])
{
    if (cbx__unusable(ctx, name, 2, in)) return false;
    if (s) return true;
    return cbx__refused(ctx, CBX_EINVAL, "'%s' needs an algebra: get one from cbx_semiring_find", name);
}

/* ---- matrices ---- */

static cbx_array *product(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b, const cbx_semiring *s, bool raw)
{
    const cbx_array *in[2] = { a, b };
    cbx_attrs attrs = { .keep = raw };
    cbx__product how = { "semiring_matmul", CBX_PRIM_SEMIRING_MATMUL, &attrs, CBX_F64 };
    cbx_array *c;

    if (!usable(ctx, how.name, s, in)) return cbx__array_failed();
    if (raw && (s->functions || !cbx__traits_of[s->id].has_raw))
        return cbx__refuse(ctx, CBX_EINVAL, "algebra '%s' has no raw form: only euclidean has one", s->name);
    how.dtype = meeting_dtype(ctx, how.name, s, a, b);
    if (how.dtype == CBX_DTYPE_COUNT) return cbx__array_failed();
    if (cbx__algebra_put(ctx, s, NULL, NULL, &attrs, cbx__sticky(ctx))) return cbx__array_failed();
    c = cbx__matrix_product(ctx, &how, a, b);
    cbx__object_unref(attrs.object);
    return c;
}

cbx_array *cbx_semiring_matmul(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b, const cbx_semiring *s)
{
    return product(ctx, a, b, s, false);
}

/*
 * The operation of euclidean, sqrt(d^2 + c^2); unlike hypot's, whose infinity covers it, a NaN
 * stays, as a NaN among the terms does.
 */
static cbx_array *merge_distances(cbx_ctx *ctx, const cbx_array *d, const cbx_array *c)
{
    const cbx_array *none = cbx_logical_or(ctx, cbx_isnan(ctx, d), cbx_isnan(ctx, c)), *h = cbx_hypot(ctx, d, c);
    return cbx_where(ctx, none, cbx_weak(ctx, h, cbx_float(NAN)), h);
}

static cbx_array *merged(cbx_ctx *ctx, const cbx_array *d, const cbx_array *c, const cbx_semiring *s, bool raw)
{
    if (raw) return cbx_add(ctx, d, c);
#define CBX_ALGEBRA_MERGE(number, merge, operation)                                                                    \
    if (s->id == CBX_ALGEBRA_##number) return operation(ctx, d, c);
#include "calibrax/array/kernels/algebra.h"
    return cbx__refuse(ctx, CBX_EINVAL, "algebra '%s', given by functions, cannot be merged with an array", s->name);
}

static cbx_array *masked(cbx_ctx *ctx, const cbx_array *c, const cbx_array *mask, bool complement, double empty)
{
    const cbx_array *hidden;

    if (cbx__unusable(ctx, "semiring_matmul", 2, (const cbx_array *const[]){ c, mask })) return cbx__array_failed();
    if (mask->desc.dtype != CBX_BOOL)
        return cbx__refuse(ctx, CBX_EDTYPE, "the mask of 'semiring_matmul' is %s, not bool",
                           cbx_dtype_name(mask->desc.dtype));
    hidden = cbx_weak(ctx, c, c->desc.dtype == CBX_BOOL ? cbx_bool(empty != 0) : cbx_float(empty));
    return complement ? cbx_where(ctx, mask, hidden, c) : cbx_where(ctx, mask, c, hidden);
}

cbx_array *cbx_semiring_matmul_with(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b, const cbx_semiring *s,
                                    const cbx_semiring_options *options)
{
    const size_t mark = cbx__mark(ctx);
    cbx_semiring_options o = CBX_SEMIRING_OPTIONS_INIT;
    cbx_array *c;

    if (cbx_take_options(&o, sizeof o, options, "cbx_semiring_options", cbx__sticky(ctx))) return cbx__array_failed();
    c = product(ctx, a, b, s, o.raw);
    if (o.merge && !cbx_array_is_failed(c)) c = merged(ctx, o.merge, c, s, o.raw);
    if (o.mask && !cbx_array_is_failed(c)) c = masked(ctx, c, o.mask, o.mask_complement, s->empty);
    return cbx__tidy(ctx, mark, c);
}

/* ---- convolution ---- */

/*
 * Positions along one axis and the padding before it; false, with a failure recorded, if no
 * position exists.
 */
static bool slide(cbx_ctx *ctx, const cbx_conv_options *o, int i, size_t length, size_t taps, cbx_attrs *attrs)
{
    const size_t stride = o->stride[i] ? o->stride[i] : 1, dilation = o->dilation[i] ? o->dilation[i] : 1;
    size_t low = 0, high = 0, window = 0, padded;

    if (stride > PTRDIFF_MAX || dilation > INT32_MAX ||
        (taps > 0 && __builtin_mul_overflow(taps - 1, dilation, &window)) ||
        __builtin_add_overflow(window, taps > 0 ? 1 : 0, &window))
        return cbx__refused(ctx, CBX_EOVERFLOW,
                            "a window of %zu taps with dilation %zu along axis %d is larger than the address space",
                            taps, dilation, i);
    if (o->padding == CBX_CONV_SAME && length > 0) {
        const size_t positions = (length - 1) / stride + 1, reach = (positions - 1) * stride + window;
        const size_t total = reach > length ? reach - length : 0;
        low = total / 2, high = total - low;
    } else if (o->padding == CBX_CONV_EXPLICIT) {
        low = o->low[i], high = o->high[i];
    }
    if (__builtin_add_overflow(length, low, &padded) || __builtin_add_overflow(padded, high, &padded) ||
        padded > PTRDIFF_MAX)
        return cbx__refused(ctx, CBX_EOVERFLOW,
                            "axis %d with its padding, %zu + %zu + %zu, is longer than the address space", i, low,
                            length, high);
    if (window > padded)
        return cbx__refused(ctx, CBX_ESHAPE,
                            "a window of %zu along axis %d is larger than the padded length %zu: pad, or use SAME",
                            window, i, padded);
    attrs->shape[i] = (padded - window) / stride + 1;
    attrs->step[i] = (ptrdiff_t)stride;
    attrs->axes[i] = (int)dilation;
    attrs->start[i] = (ptrdiff_t)low;
    return true;
}

bool cbx__conv_attrs(cbx_ctx *ctx, const cbx_array *x, const cbx_array *w, const cbx_semiring *s,
                     const cbx_conv_options *options, cbx_attrs *attrs, cbx_dtype *dtype)
{
    cbx_conv_options o = CBX_CONV_INIT;
    const cbx_array *const in[2] = { x, w };
    int n;

    if (!usable(ctx, "semiring_conv", s, in)) return false;
    n = w->desc.ndim - 2;
    if (cbx_take_options(&o, sizeof o, options, "cbx_conv_options", cbx__sticky(ctx))) return false;
    if ((unsigned)o.padding > CBX_CONV_EXPLICIT)
        return cbx__refused(ctx, CBX_EINVAL, "'padding' of 'semiring_conv' must be one of cbx_conv_padding, got %d",
                            (int)o.padding);
    if (n < 1 || x->desc.ndim < n + 1 || x->desc.shape[x->desc.ndim - 1] != w->desc.shape[n])
        return cbx__refused(
            ctx, CBX_ESHAPE,
            "'semiring_conv' cannot join %s with %s: (..., lengths, channels) and (taps, channels, out)",
            CBX__DESC_TEXT(&x->desc), CBX__DESC_TEXT(&w->desc));
    if (n > CBX_CONV_MAX_AXES)
        return cbx__refused(ctx, CBX_EINVAL, "'semiring_conv' slides along at most %d axes, not %d", CBX_CONV_MAX_AXES,
                            n);
    *dtype = meeting_dtype(ctx, "semiring_conv", s, x, w);
    *attrs = (cbx_attrs){ .mode = s->functions ? CBX__OF_OBJECT : (int)s->id, .ndim = n, .naxes = n };
    for (int i = 0; i < n; i++)
        if (!slide(ctx, &o, i, x->desc.shape[x->desc.ndim - 1 - n + i], w->desc.shape[i], attrs)) return false;
    return *dtype != CBX_DTYPE_COUNT;
}

cbx_array *cbx__conv_images(cbx_ctx *ctx, const cbx_array *x, int n)
{
    size_t shape[CBX_MAX_RANK] = { 1 };
    const int lead = x->desc.ndim - 1 - n;

    for (int i = 0; i < lead; i++) shape[0] *= x->desc.shape[i];
    memcpy(shape + 1, x->desc.shape + lead, (size_t)(n + 1) * sizeof *shape);
    return cbx__reshaped(ctx, x, n + 2, shape);
}

cbx_array *cbx_semiring_conv(cbx_ctx *ctx, const cbx_array *x, const cbx_array *w, const cbx_semiring *s,
                             const cbx_conv_options *options)
{
    const size_t mark = cbx__mark(ctx);
    cbx_attrs attrs;
    cbx_dtype t;

    if (!cbx__conv_attrs(ctx, x, w, s, options, &attrs, &t)) return cbx__array_failed();
    const int n = attrs.ndim, lead = x->desc.ndim - 1 - n;
    const cbx_array *in[2] = { cbx__conv_images(ctx, cbx__as(ctx, x, t), n), cbx__as(ctx, w, t) };
    size_t shape[CBX_MAX_RANK];
    cbx_array *y;

    if (cbx__algebra_put(ctx, s, NULL, NULL, &attrs, cbx__sticky(ctx)))
        return cbx__tidy(ctx, mark, cbx__array_failed());
    y = cbx_apply(ctx, CBX_PRIM_SEMIRING_CONV, 2, in, &attrs);
    cbx__object_unref(attrs.object);
    if (cbx_array_is_failed(y)) return cbx__tidy(ctx, mark, y);
    memcpy(shape, x->desc.shape, (size_t)lead * sizeof *shape);
    memcpy(shape + lead, y->desc.shape + 1, (size_t)(n + 1) * sizeof *shape);
    return cbx__tidy(ctx, mark, cbx__reshaped(ctx, y, lead + n + 1, shape));
}
