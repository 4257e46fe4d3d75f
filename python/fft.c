/* The namespace fft: the extension of the standard. */
#include "python/state.h"

typedef cbx_array *(*one_axis_fn)(cbx_ctx *, const cbx_array *, size_t, int, cbx_fft_norm);
typedef cbx_array *(*axes_fn)(cbx_ctx *, const cbx_array *, const size_t *, const cbx_axes *, cbx_fft_norm);

/* A length that is given must be 1 at least. */
static bool length(cx_call *c, int64_t n)
{
    if (n >= 1) return true;
    PyErr_Format(PyExc_ValueError, "%s: a length of %lld is below 1", c->name, (long long)n);
    return false;
}

static PyObject *transform(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    cbx_fft_norm norm;
    int64_t n = 0;
    int axis = -1;

    if (!x || !CX_GET(c, n) || !cx_axis_arg(c, "axis", &axis, NULL) || !CX_GET(c, norm)) return NULL;
    if (cx_arg(c, "n") && !length(c, n)) return NULL;
    return cx_begin(c) ? cx_result(c, ((one_axis_fn)c->fn)(c->ctx, x, (size_t)n, axis, norm)) : NULL;
}

static PyObject *transform_axes(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    ptrdiff_t v[CBX_MAX_RANK];
    size_t s[CBX_MAX_RANK];
    bool sized = cx_arg(c, "s") != NULL;
    cbx_fft_norm norm;
    cbx_axes axes;
    int n = 0;

    if (!x || !cx_axes_arg(c, "axes", x, false, &axes) || !CX_GET(c, norm)) return NULL;
    if (sized && !cx_ints_from(c, cx_arg(c, "s"), "lengths", CBX_MAX_RANK, &n, v)) return NULL;
    if (sized && !cx_arg(c, "axes")) { /* of the last axes */
        for (int k = 0; k < n; k++) axes.axis[k] = k - n;
        axes.n = n;
    }
    if (sized && n != axes.n) return cx_raise(CBX_EINVAL, "there are not as many lengths as axes");
    for (int k = 0; k < n; k++) {
        if (v[k] != -1 && !length(c, v[k])) return NULL;
        s[k] = v[k] == -1 ? 0 : (size_t)v[k];
    }
    return cx_begin(c) ? cx_result(c, ((axes_fn)c->fn)(c->ctx, x, sized ? s : NULL, &axes, norm)) : NULL;
}

static PyObject *frequencies(cx_call *c)
{
    cbx_dtype dtype = CBX_F64;
    int64_t n = 0;
    double d = 1;

    if (!CX_GET(c, n, d, dtype) || !cx_device_arg(c, "device")) return NULL;
    if (!length(c, n)) return NULL;
    if (cbx_dtype_kind(dtype) != CBX_KIND_FLOAT)
        return PyErr_Format(PyExc_TypeError, "%s: frequencies are float32 or float64, not %s", c->name,
                            cbx_dtype_name(dtype));
    if (!cx_begin(c)) return NULL;
    return cx_result(
        c, cbx_astype(c->ctx, ((cbx_array * (*)(cbx_ctx *, size_t, double)) c->fn)(c->ctx, (size_t)n, d), dtype));
}

static PyObject *shift(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    cbx_axes axes;

    if (!x || !cx_axes_arg(c, "axes", x, false, &axes) || !cx_begin(c)) return NULL;
    return cx_result(c, ((cbx_array * (*)(cbx_ctx *, const cbx_array *, const cbx_axes *)) c->fn)(c->ctx, x, &axes));
}

/* clang-format off */
#define ONE "x: Array, /, *, n: int | None = None, axis: int = -1, norm: 'backward' | 'ortho' | 'forward' = 'backward'"
#define SEVERAL "x: Array, /, *, s: Sequence[int] | None = None, axes: int | Sequence[int] | None = None, norm: 'backward' | 'ortho' | 'forward' = 'backward'"
#define FREQUENCIES "n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: str | None = None"
#define FFT(X) \
    X(fft, ONE, "Array", transform, cbx_fft, "Fourier transform along an axis.") \
    X(fftfreq, FREQUENCIES, "Array", frequencies, cbx_fftfreq, "Frequencies of fft.") \
    X(fftn, SEVERAL, "Array", transform_axes, cbx_fftn, "Fourier transform along several axes.") \
    X(fftshift, "x: Array, /, *, axes: int | Sequence[int] | None = None", "Array", shift, cbx_fftshift, "Frequency 0 to the middle.") \
    X(hfft, ONE, "Array", transform, cbx_hfft, "Transform of a signal with Hermitian symmetry.") \
    X(ifft, ONE, "Array", transform, cbx_ifft, "Inverse of fft.") \
    X(ifftn, SEVERAL, "Array", transform_axes, cbx_ifftn, "Inverse of fftn.") \
    X(ifftshift, "x: Array, /, *, axes: int | Sequence[int] | None = None", "Array", shift, cbx_ifftshift, "Inverse of fftshift.") \
    X(ihfft, ONE, "Array", transform, cbx_ihfft, "Inverse of hfft.") \
    X(irfft, ONE, "Array", transform, cbx_irfft, "Inverse of rfft.") \
    X(irfftn, SEVERAL, "Array", transform_axes, cbx_irfftn, "Inverse of rfftn.") \
    X(rfft, ONE, "Array", transform, cbx_rfft, "Fourier transform of real numbers.") \
    X(rfftfreq, FREQUENCIES, "Array", frequencies, cbx_rfftfreq, "Frequencies of rfft.") \
    X(rfftn, SEVERAL, "Array", transform_axes, cbx_rfftn, "Fourier transform of real numbers along several axes.")
/* clang-format on */
CX_FUNCTIONS(cx_fft_methods, FFT)
