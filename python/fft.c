/* The namespace fft: the extension of the standard. */
#include "python/state.h"

typedef cbx_array *(*one_axis_fn)(cbx_ctx *, const cbx_array *, size_t, int, cbx_fft_norm);
typedef cbx_array *(*axes_fn)(cbx_ctx *, const cbx_array *, const size_t *, const cbx_axes *, cbx_fft_norm);

static bool norm_arg(cx_call *c, int i, cbx_fft_norm *out)
{
    static const char *const words[] = { "backward", "ortho", "forward" }; /* as cbx_fft_norm */

    *out = CBX_FFT_BACKWARD;
    if (!c->arg[i] || c->arg[i] == Py_None) return true;
    for (size_t k = 0; PyUnicode_Check(c->arg[i]) && k < CBX_LEN(words); k++)
        if (PyUnicode_CompareWithASCIIString(c->arg[i], words[k]) == 0) {
            *out = (cbx_fft_norm)k;
            return true;
        }
    PyErr_Format(PyExc_ValueError, "%s: norm may be 'backward', 'ortho' or 'forward', not %R", c->name, c->arg[i]);
    return false;
}

/* A length that is given must be 1 at least. */
static bool length(cx_call *c, int64_t n)
{
    if (n >= 1) return true;
    PyErr_Format(PyExc_ValueError, "%s: a length of %lld is below 1", c->name, (long long)n);
    return false;
}

static PyObject *transform(cx_call *c, cx_fn fn)
{
    const cbx_array *x = cx_array_arg(c, 0);
    cbx_fft_norm norm;
    int64_t n = 0;
    int axis = -1;

    if (!x || !cx_int_arg(c, 1, &n) || !cx_axis_arg(c, 2, &axis, NULL) || !norm_arg(c, 3, &norm)) return NULL;
    if (c->arg[1] && c->arg[1] != Py_None && !length(c, n)) return NULL;
    return cx_begin(c) ? cx_result(c, ((one_axis_fn)fn)(c->ctx, x, (size_t)n, axis, norm)) : NULL;
}

static PyObject *transform_axes(cx_call *c, cx_fn fn)
{
    const cbx_array *x = cx_array_arg(c, 0);
    ptrdiff_t v[CBX_MAX_RANK];
    size_t s[CBX_MAX_RANK];
    bool sized = c->arg[1] && c->arg[1] != Py_None;
    cbx_fft_norm norm;
    cbx_axes axes;
    int n = 0;

    if (!x || !cx_axes_arg(c, 2, x, false, &axes) || !norm_arg(c, 3, &norm)) return NULL;
    if (sized && !cx_ints_from(c, c->arg[1], "lengths", CBX_MAX_RANK, &n, v)) return NULL;
    if (sized && (!c->arg[2] || c->arg[2] == Py_None)) { /* of the last axes */
        for (int k = 0; k < n; k++) axes.axis[k] = k - n;
        axes.n = n;
    }
    if (sized && n != axes.n) return cx_raise(CBX_EINVAL, "there are not as many lengths as axes");
    for (int k = 0; k < n; k++) {
        if (v[k] != -1 && !length(c, v[k])) return NULL;
        s[k] = v[k] == -1 ? 0 : (size_t)v[k];
    }
    return cx_begin(c) ? cx_result(c, ((axes_fn)fn)(c->ctx, x, sized ? s : NULL, &axes, norm)) : NULL;
}

static PyObject *frequencies(cx_call *c, cx_fn fn)
{
    cbx_dtype t = CBX_F64;
    int64_t n = 0;
    double d = 1;

    if (!cx_int_arg(c, 0, &n) || !cx_double_arg(c, 1, &d) || !cx_dtype_arg(c, 2, &t) || !cx_device_arg(c, 3))
        return NULL;
    if (!length(c, n)) return NULL;
    if (cbx_dtype_kind(t) != CBX_KIND_FLOAT)
        return PyErr_Format(PyExc_TypeError, "%s: frequencies are float32 or float64, not %s", c->name,
                            cbx_dtype_name(t));
    if (!cx_begin(c)) return NULL;
    return cx_result(c, cbx_astype(c->ctx, ((cbx_array * (*)(cbx_ctx *, size_t, double)) fn)(c->ctx, (size_t)n, d), t));
}

static PyObject *shift(cx_call *c, cx_fn fn)
{
    const cbx_array *x = cx_array_arg(c, 0);
    cbx_axes axes;

    if (!x || !cx_axes_arg(c, 1, x, false, &axes) || !cx_begin(c)) return NULL;
    return cx_result(c, ((cbx_array * (*)(cbx_ctx *, const cbx_array *, const cbx_axes *)) fn)(c->ctx, x, &axes));
}

/* clang-format off */
#define ONE "x, /, *, n=None, axis=-1, norm='backward'"
#define SEVERAL "x, /, *, s=None, axes=None, norm='backward'"
#define FREQUENCIES "n, /, *, d=1.0, dtype=None, device=None"
#define FFT(X) \
    X(fft, ONE, transform, cbx_fft, "Fourier transform along an axis.") \
    X(fftfreq, FREQUENCIES, frequencies, cbx_fftfreq, "Frequencies of fft.") \
    X(fftn, SEVERAL, transform_axes, cbx_fftn, "Fourier transform along several axes.") \
    X(fftshift, "x, /, *, axes=None", shift, cbx_fftshift, "Frequency 0 to the middle.") \
    X(hfft, ONE, transform, cbx_hfft, "Transform of a signal with Hermitian symmetry.") \
    X(ifft, ONE, transform, cbx_ifft, "Inverse of fft.") \
    X(ifftn, SEVERAL, transform_axes, cbx_ifftn, "Inverse of fftn.") \
    X(ifftshift, "x, /, *, axes=None", shift, cbx_ifftshift, "Inverse of fftshift.") \
    X(ihfft, ONE, transform, cbx_ihfft, "Inverse of hfft.") \
    X(irfft, ONE, transform, cbx_irfft, "Inverse of rfft.") \
    X(irfftn, SEVERAL, transform_axes, cbx_irfftn, "Inverse of rfftn.") \
    X(rfft, ONE, transform, cbx_rfft, "Fourier transform of real numbers.") \
    X(rfftfreq, FREQUENCIES, frequencies, cbx_rfftfreq, "Frequencies of rfft.") \
    X(rfftn, SEVERAL, transform_axes, cbx_rfftn, "Fourier transform of real numbers along several axes.")
/* clang-format on */
CX_FUNCTIONS(cx_fft_methods, FFT)
