/* Fourier transforms: lengths, factors and axes around three primitives. */
#include "calibrax/array/fft.h"

#include <math.h>

#include "calibrax/array/ops_internal.h"

typedef enum direction { FORWARD, BACK } direction;

/* 1, 1/sqrt(n) or 1/n; false, with a failure recorded, if norm is invalid. */
static bool factor_of(cbx_ctx *ctx, const char *name, size_t n, cbx_fft_norm norm, direction way, cbx_scalar *out)
{
    double scale = 1;

    if ((unsigned)norm > CBX_FFT_FORWARD)
        return cbx__refused(ctx, CBX_EINVAL, "'%s': unknown norm %d", name, (int)norm);
    if (norm == CBX_FFT_ORTHO)
        scale = 1 / sqrt((double)n);
    else if ((norm == CBX_FFT_FORWARD) == (way == FORWARD))
        scale = 1 / (double)n;
    *out = cbx_float(scale);
    return true;
}

/* Cut, or filled with zeros at the end. */
static cbx_array *to_length(cbx_ctx *ctx, const cbx_array *x, int axis, size_t n)
{
    size_t none[CBX_MAX_RANK] = { 0 }, more[CBX_MAX_RANK] = { 0 }, have = x->desc.shape[axis];

    if (n == have) return (cbx_array *)(uintptr_t)x;
    if (n < have) return cbx_slice(ctx, x, axis, 0, (ptrdiff_t)n, 1);
    more[axis] = n - have;
    return cbx_pad(ctx, x, none, more, cbx_int(0));
}

static cbx_dtype complex_of(cbx_dtype t) { return t == CBX_F32 || t == CBX_C64 ? CBX_C64 : CBX_C128; }

/* One axis through one of the three primitives. */
static cbx_array *transform(cbx_ctx *ctx, cbx_prim p, const char *name, const cbx_array *x, size_t n, int axis,
                            cbx_fft_norm norm, direction way)
{
    cbx_attrs attrs = { 0 };
    size_t have;

    if (cbx__unusable(ctx, name, 1, &x) || !cbx__axis(ctx, name, axis, x->desc.ndim, &attrs.axis))
        return cbx__array_failed();
    if (p == CBX_PRIM_RFFT && cbx_dtype_kind(x->desc.dtype) == CBX_KIND_COMPLEX)
        return cbx__refuse(ctx, CBX_EDTYPE, "'%s' takes real numbers, not %s: use 'fft'", name,
                           cbx_dtype_name(x->desc.dtype));
    have = x->desc.shape[attrs.axis];
    if (n == 0) n = p != CBX_PRIM_IRFFT ? have : have > 1 ? 2 * (have - 1) : 0;
    if (n == 0 && p == CBX_PRIM_IRFFT)
        return cbx__refuse(ctx, CBX_ESHAPE, "'%s' of %zu frequencies needs a length", name, have);
    if (!factor_of(ctx, name, n, norm, way, &attrs.value)) return cbx__array_failed();
    if (p == CBX_PRIM_FFT) attrs.mode = way;
    if (p == CBX_PRIM_IRFFT) attrs.shape[0] = n;
    x = cbx__as(ctx, x, p == CBX_PRIM_RFFT ? cbx__inexact(x->desc.dtype) : complex_of(x->desc.dtype));
    return cbx__apply1(ctx, p, to_length(ctx, x, attrs.axis, p == CBX_PRIM_IRFFT ? n / 2 + 1 : n), &attrs);
}

/*
 * hfft is irfft of the conjugate, ihfft the conjugate of rfft, each with the factor of its own
 * direction.
 */
#define ALONG(name, expr)                                                                                              \
    cbx_array *cbx_##name(cbx_ctx *ctx, const cbx_array *x, size_t n, int axis, cbx_fft_norm norm)                     \
    {                                                                                                                  \
        size_t mark = cbx__mark(ctx);                                                                                  \
        return cbx__tidy(ctx, mark, expr);                                                                             \
    }
ALONG(fft, transform(ctx, CBX_PRIM_FFT, "fft", x, n, axis, norm, FORWARD))
ALONG(ifft, transform(ctx, CBX_PRIM_FFT, "ifft", x, n, axis, norm, BACK))
ALONG(rfft, transform(ctx, CBX_PRIM_RFFT, "rfft", x, n, axis, norm, FORWARD))
ALONG(irfft, transform(ctx, CBX_PRIM_IRFFT, "irfft", x, n, axis, norm, BACK))
ALONG(hfft, transform(ctx, CBX_PRIM_IRFFT, "hfft", cbx_conj(ctx, x), n, axis, norm, FORWARD))
ALONG(ihfft, cbx_conj(ctx, transform(ctx, CBX_PRIM_RFFT, "ihfft", x, n, axis, norm, BACK)))

/* ---- several axes ---- */

/* Non-negative, none twice; false, with a failure recorded, otherwise. */
static bool axes_of(cbx_ctx *ctx, const char *name, const cbx_array *x, const cbx_axes *axes, cbx_attrs *out)
{
    return cbx__reduced(ctx, name, x, axes, out) && cbx__distinct(ctx, name, out);
}

typedef cbx_array *(*along)(cbx_ctx *ctx, const cbx_array *x, size_t n, int axis, cbx_fft_norm norm);

/* Axes count-1 .. 0 of the list, or for the inverse of real frequencies 0 .. count-1. */
static cbx_array *over_axes(cbx_ctx *ctx, along f, const cbx_array *x, const size_t *s, const cbx_attrs *a, int count,
                            bool rising, cbx_fft_norm norm)
{
    for (int i = 0; i < count; i++) {
        int at = rising ? i : count - 1 - i;
        x = f(ctx, x, s ? s[at] : 0, a->axes[at], norm);
    }
    return (cbx_array *)(uintptr_t)x;
}

static cbx_array *complex_axes(cbx_ctx *ctx, const char *name, along f, const cbx_array *x, const size_t *s,
                               const cbx_axes *axes, cbx_fft_norm norm)
{
    cbx_attrs a;

    if (!axes_of(ctx, name, x, axes, &a)) return cbx__array_failed();
    if (a.naxes == 0) return cbx_copy(ctx, cbx__as(ctx, x, complex_of(x->desc.dtype)));
    return over_axes(ctx, f, x, s, &a, a.naxes, false, norm);
}

static bool real_axes(cbx_ctx *ctx, const char *name, const cbx_array *x, const cbx_axes *axes, cbx_attrs *out)
{
    if (!axes_of(ctx, name, x, axes, out)) return false;
    if (out->naxes > 0) return true;
    return cbx__refused(ctx, CBX_EINVAL, "'%s' over no axes", name);
}

cbx_array *cbx_fftn(cbx_ctx *ctx, const cbx_array *x, const size_t *s, const cbx_axes *axes, cbx_fft_norm norm)
{
    return cbx__tidied(ctx, complex_axes(ctx, "fftn", cbx_fft, x, s, axes, norm));
}

cbx_array *cbx_ifftn(cbx_ctx *ctx, const cbx_array *x, const size_t *s, const cbx_axes *axes, cbx_fft_norm norm)
{
    return cbx__tidied(ctx, complex_axes(ctx, "ifftn", cbx_ifft, x, s, axes, norm));
}

cbx_array *cbx_rfftn(cbx_ctx *ctx, const cbx_array *x, const size_t *s, const cbx_axes *axes, cbx_fft_norm norm)
{
    size_t mark = cbx__mark(ctx);
    cbx_attrs a;
    int last;

    if (!real_axes(ctx, "rfftn", x, axes, &a)) return cbx__array_failed();
    last = a.naxes - 1;
    x = cbx_rfft(ctx, x, s ? s[last] : 0, a.axes[last], norm);
    return cbx__tidy(ctx, mark, over_axes(ctx, cbx_fft, x, s, &a, last, false, norm));
}

cbx_array *cbx_irfftn(cbx_ctx *ctx, const cbx_array *x, const size_t *s, const cbx_axes *axes, cbx_fft_norm norm)
{
    size_t mark = cbx__mark(ctx);
    cbx_attrs a;
    int last;

    if (!real_axes(ctx, "irfftn", x, axes, &a)) return cbx__array_failed();
    last = a.naxes - 1;
    x = over_axes(ctx, cbx_ifft, x, s, &a, last, true, norm);
    return cbx__tidy(ctx, mark, cbx_irfft(ctx, x, s ? s[last] : 0, a.axes[last], norm));
}

/* ---- frequencies ---- */

static cbx_array *freq_steps(cbx_ctx *ctx, const char *name, size_t n, double d, bool real)
{
    const cbx_array *part[2];
    int64_t half = (int64_t)((n - 1) / 2) + 1;

    if (n == 0) return cbx__refuse(ctx, CBX_EINVAL, "'%s' of no samples", name);
    if (real) {
        part[0] = cbx_arange_int(ctx, 0, (int64_t)(n / 2) + 1, 1, CBX_F64);
    } else {
        part[0] = cbx_arange_int(ctx, 0, half, 1, CBX_F64);
        part[1] = cbx_arange_int(ctx, -(int64_t)(n / 2), 0, 1, CBX_F64);
        part[0] = cbx_concat(ctx, 2, part, 0);
    }
    return cbx_multiply_scalar(ctx, part[0], 1 / ((double)n * d));
}

cbx_array *cbx_fftfreq(cbx_ctx *ctx, size_t n, double d)
{
    return cbx__tidied(ctx, freq_steps(ctx, "fftfreq", n, d, false));
}

cbx_array *cbx_rfftfreq(cbx_ctx *ctx, size_t n, double d)
{
    return cbx__tidied(ctx, freq_steps(ctx, "rfftfreq", n, d, true));
}

static cbx_array *shift_steps(cbx_ctx *ctx, const char *name, const cbx_array *x, const cbx_axes *axes, bool inverse)
{
    cbx_attrs a;

    if (!axes_of(ctx, name, x, axes, &a)) return cbx__array_failed();
    if (a.naxes == 0) return cbx_copy(ctx, x);
    for (int i = 0; i < a.naxes && !cbx_array_is_failed(x); i++) {
        ptrdiff_t half = (ptrdiff_t)(x->desc.shape[a.axes[i]] / 2);
        x = cbx_roll(ctx, x, inverse ? -half : half, a.axes[i]);
    }
    return (cbx_array *)(uintptr_t)x;
}

cbx_array *cbx_fftshift(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes)
{
    return cbx__tidied(ctx, shift_steps(ctx, "fftshift", x, axes, false));
}

cbx_array *cbx_ifftshift(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes)
{
    return cbx__tidied(ctx, shift_steps(ctx, "ifftshift", x, axes, true));
}
