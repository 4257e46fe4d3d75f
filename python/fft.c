/* The namespace fft: the extension of the standard. */
#include "python/state.h"

CX_RETURN(transform, (cbx_fft_norm norm; const cbx_array *x; int64_t n = 0; int axis),
          CX_GET(c, x, n, axis, norm) &&
              (!cx_arg(c, "n") || n >= 1 || cx_refuse(c, "n", PyExc_ValueError, "at least 1", cx_arg(c, "n"))) &&
              cx_begin(c),
          cx_result(c, CX_FN(const cbx_array *, size_t, int, cbx_fft_norm)(c->ctx, x, (size_t)n, axis, norm)))

static PyObject *transform_axes(cx_call *c)
{
    size_t lengths[CBX_MAX_RANK];
    cx_ints s = { 0 };
    cbx_fft_norm norm;
    const cbx_array *x;
    cbx_axes axes;

    if (!CX_GET(c, x, axes, norm) || (cx_arg(c, "s") && !CX_GET(c, s))) return NULL;
    if (s.n && !cx_arg(c, "axes")) { /* of the last axes */
        for (int k = 0; k < s.n; k++) axes.axis[k] = k - s.n;
        axes.n = s.n;
    }
    if (cx_arg(c, "s") && s.n != axes.n)
        return PyErr_Format(PyExc_ValueError, "%s: 's' must be as many lengths as 'axes', %d, got %d", c->name, axes.n,
                            s.n);
    for (int k = 0; k < s.n; k++) {
        if (s.v[k] != -1 && s.v[k] < 1)
            return cx_refuse(c, "s", PyExc_ValueError, "of at least 1", cx_arg(c, "s")), NULL;
        lengths[k] = s.v[k] == -1 ? 0 : (size_t)s.v[k];
    }
    if (!cx_begin(c)) return NULL;
    return cx_result(c, CX_FN(const cbx_array *, const size_t *, const cbx_axes *,
                              cbx_fft_norm)(c->ctx, x, s.n ? lengths : NULL, &axes, norm));
}

CX_RETURN(frequencies, (cbx_dtype dtype = CBX_F64; size_t n; double d),
          CX_GET(c, n, d, dtype) && (n >= 1 || cx_refuse(c, "n", PyExc_ValueError, "at least 1", cx_arg(c, "n"))) &&
              (cbx_dtype_kind(dtype) == CBX_KIND_FLOAT ||
               cx_refuse(c, "dtype", PyExc_TypeError, "float32 or float64", cx_arg(c, "dtype"))) &&
              cx_begin(c),
          cx_result(c, cbx_astype(c->ctx, CX_FN(size_t, double)(c->ctx, n, d), dtype)))

CX_FORMULA(shift, CX_FN(const cbx_array *, const cbx_axes *)(c->ctx, x, &over.axes), x, over.axes)

/* clang-format off */
#define ONE "x: Array, /, *, n: int | None = None, axis: int = -1, norm: 'backward' | 'ortho' | 'forward' = 'backward'"
#define SEVERAL "x: Array, /, *, s: Sequence[int] | None = None, axes: int | Sequence[int] | None = None, norm: 'backward' | 'ortho' | 'forward' = 'backward'"
#define FREQUENCIES "n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: str | None = None"
#define FFT(X) \
    X(fft, ONE, "Array", transform, cbx_fft, "Fourier transform along an axis.\n\n>>> xp.fft.fft(xp.asarray([1.0, 0.0, 0.0, 0.0])).shape\n(4,)") \
    X(fftn, SEVERAL, "Array", transform_axes, cbx_fftn, "Fourier transform along several axes.\n\n>>> xp.fft.fftn(xp.asarray([1.0, 0.0, 0.0, 0.0])).shape\n(4,)") \
    X(hfft, ONE, "Array", transform, cbx_hfft, "Fourier transform of a signal with Hermitian symmetry.\n\n>>> xp.fft.hfft(xp.asarray([1.0, 0.0, 0.0, 0.0])).shape\n(6,)") \
    X(ifft, ONE, "Array", transform, cbx_ifft, "Inverse of fft.\n\n>>> xp.fft.ifft(xp.asarray([1.0, 0.0, 0.0, 0.0])).shape\n(4,)") \
    X(ifftn, SEVERAL, "Array", transform_axes, cbx_ifftn, "Inverse of fftn.\n\n>>> xp.fft.ifftn(xp.asarray([1.0, 0.0, 0.0, 0.0])).shape\n(4,)") \
    X(ihfft, ONE, "Array", transform, cbx_ihfft, "Inverse of hfft.\n\n>>> xp.fft.ihfft(xp.asarray([1.0, 0.0, 0.0, 0.0])).shape\n(3,)") \
    X(irfft, ONE, "Array", transform, cbx_irfft, "Inverse of rfft.\n\n>>> xp.fft.irfft(xp.asarray([1.0, 0.0, 0.0, 0.0])).shape\n(6,)") \
    X(irfftn, SEVERAL, "Array", transform_axes, cbx_irfftn, "Inverse of rfftn.\n\n>>> xp.fft.irfftn(xp.asarray([1.0, 0.0, 0.0, 0.0])).shape\n(6,)") \
    X(rfft, ONE, "Array", transform, cbx_rfft, "Fourier transform of real numbers.\n\n>>> xp.fft.rfft(xp.asarray([1.0, 0.0, 0.0, 0.0])).shape\n(3,)") \
    X(rfftn, SEVERAL, "Array", transform_axes, cbx_rfftn, "Fourier transform of real numbers along several axes.\n\n>>> xp.fft.rfftn(xp.asarray([1.0, 0.0, 0.0, 0.0])).shape\n(3,)")
#define SHIFTS(X) \
    X(fftfreq, FREQUENCIES, "Array", frequencies, cbx_fftfreq, "Frequencies of the results of fft.\n\n>>> xp.fft.fftfreq(4)\nArray([  0.0,  0.25,  -0.5, -0.25], dtype=float64)") \
    X(fftshift, "x: Array, /, *, axes: int | Sequence[int] | None = None", "Array", shift, cbx_fftshift, "Move frequency 0 to the middle.\n\n>>> xp.fft.fftshift(xp.asarray([1.0, 0.0, 0.0, 0.0])).shape\n(4,)") \
    X(ifftshift, "x: Array, /, *, axes: int | Sequence[int] | None = None", "Array", shift, cbx_ifftshift, "Inverse of fftshift.\n\n>>> xp.fft.ifftshift(xp.asarray([1.0, 0.0, 0.0, 0.0])).shape\n(4,)") \
    X(rfftfreq, FREQUENCIES, "Array", frequencies, cbx_rfftfreq, "Frequencies of the results of rfft.\n\n>>> xp.fft.rfftfreq(4)\nArray([ 0.0, 0.25,  0.5], dtype=float64)")
/* clang-format on */
CX_FUNCTIONS(cx_fft_methods, FFT, HEAVY)
CX_FUNCTIONS(cx_shift_methods, SHIFTS, LIGHT) /* each element once */
