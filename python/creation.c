/* Creation functions. */
#include <math.h>
#include <string.h>

#include "python/state.h"

/* dtype and device, arguments of every creation function. */
static bool options(cx_call *c, cbx_dtype *dtype)
{
    return CX_GET_AS(c, "dtype", *dtype) && cx_device_arg(c, "device");
}

static PyObject *do_asarray(cx_call *c)
{
    cbx_dtype t = CBX_DTYPE_COUNT;
    bool copy = false;
    int how = -1;

    if (!options(c, &t) || !CX_GET(c, copy)) return NULL;
    if (cx_arg(c, "copy")) how = copy;
    return cx_asarray(c->st, cx_arg(c, "obj"), t, how);
}

/* fn: 0 zeros, 1 ones; empty is zeros. */
static PyObject *filled(cx_call *c, double value)
{
    size_t shape[CBX_MAX_RANK];
    cbx_dtype t = CBX_F64;
    int ndim;

    if (!cx_shape_arg(c, "shape", &ndim, shape) || !options(c, &t) || !cx_begin(c)) return NULL;
    return cx_result(c, value != 0 ? cbx_ones(c->ctx, ndim, shape, t) : cbx_zeros(c->ctx, ndim, shape, t));
}
static PyObject *do_zeros(cx_call *c) { return filled(c, 0); }
static PyObject *do_ones(cx_call *c) { return filled(c, 1); }

static PyObject *filled_like(cx_call *c, bool one)
{
    const cbx_array *x = cx_array_arg(c, "x");
    const cbx_array_desc *d = x ? cbx_array_get_desc(x) : NULL;
    cbx_dtype t = x ? d->dtype : CBX_F64;

    if (!x || !options(c, &t) || !cx_begin(c)) return NULL;
    return cx_result(c, one ? cbx_ones(c->ctx, d->ndim, d->shape, t) : cbx_zeros(c->ctx, d->ndim, d->shape, t));
}
static PyObject *do_zeros_like(cx_call *c) { return filled_like(c, false); }
static PyObject *do_ones_like(cx_call *c) { return filled_like(c, true); }

/* A fill value: a number, or an array of rank 0. */
static PyObject *fill(cx_call *c, cbx_dtype t, int ndim, const size_t *shape)
{
    cx_operand v;
    PyObject *o = cx_arg(c, "fill_value");
    int is = o ? cx_operand_from(c, o, &v) : 0;

    if (is == 0) cx_refuse(c, "fill_value", PyExc_TypeError, "a number", o ? o : Py_None);
    if (is <= 0) return NULL;
    if (v.array) {
        if (t == CBX_DTYPE_COUNT) t = cbx_array_dtype(v.array);
        if (!cx_begin(c)) return NULL;
        return cx_result(c, cbx_copy(c->ctx, cbx_broadcast_to(c->ctx, cbx_astype(c->ctx, v.array, t), ndim, shape)));
    }
    if (t == CBX_DTYPE_COUNT) t = v.big ? CBX_I64 : v.scalar.dtype;
    if (!cx_fits(t, &v) || !cx_begin(c)) return NULL;
    if (cbx_dtype_kind(t) == CBX_KIND_INT && v.scalar.dtype == CBX_I64) /* the value must be one of the dtype's */
        return cx_result(
            c, cbx_copy(c->ctx, cbx_broadcast_to(c->ctx, cx_weak(c, cbx_zeros(c->ctx, 0, NULL, t), &v), ndim, shape)));
    return cx_result(c, cbx_full(c->ctx, ndim, shape, t, v.scalar));
}

static PyObject *do_full(cx_call *c)
{
    size_t shape[CBX_MAX_RANK];
    cbx_dtype t = CBX_DTYPE_COUNT;
    int ndim;

    if (!cx_shape_arg(c, "shape", &ndim, shape) || !options(c, &t)) return NULL;
    return fill(c, t, ndim, shape);
}

static PyObject *do_full_like(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    cbx_dtype t = x ? cbx_array_dtype(x) : CBX_F64;

    if (!x || !options(c, &t)) return NULL;
    return fill(c, t, cbx_array_ndim(x), cbx_array_get_desc(x)->shape);
}

/* Whole numbers are counted exactly, others by the formula of floats. */
static PyObject *do_arange(cx_call *c)
{
    PyObject *o[3] = { cx_arg(c, "start"), cx_arg(c, "stop"), cx_arg(c, "step") };
    double f[3] = { 0, 0, 1 };
    cx_operand v[3];
    cbx_dtype t = CBX_DTYPE_COUNT;
    bool whole = true;

    if (!o[1] || o[1] == Py_None) o[1] = o[0], o[0] = NULL;
    for (int i = 0; i < 3; i++) {
        int is = 1;
        v[i] = (cx_operand){ .scalar = cbx_int(i == 2) };
        if (o[i]) is = cx_scalar_from(o[i], &v[i]);
        if (is == 0) PyErr_Format(PyExc_TypeError, "arange takes numbers, not %R", (PyObject *)Py_TYPE(o[i]));
        if (is <= 0) return NULL;
        if (v[i].scalar.dtype == CBX_U64) v[i].scalar = cbx_float((double)v[i].scalar.v.u);
        if (v[i].scalar.dtype == CBX_BOOL) v[i].scalar.dtype = CBX_I64;
        if (v[i].scalar.dtype == CBX_C128) PyErr_SetString(PyExc_TypeError, "arange takes real numbers");
        whole = whole && v[i].scalar.dtype == CBX_I64;
        f[i] = v[i].scalar.dtype == CBX_I64 ? (double)v[i].scalar.v.i : v[i].scalar.v.f;
    }
    if (PyErr_Occurred() || !options(c, &t)) return NULL;
    if (t == CBX_DTYPE_COUNT) t = whole ? CBX_I64 : CBX_F64;
    if (!cx_begin(c)) return NULL;
    return cx_result(c, whole && cbx_dtype_kind(t) == CBX_KIND_INT
                            ? cbx_arange_int(c->ctx, v[0].scalar.v.i, v[1].scalar.v.i, v[2].scalar.v.i, t)
                            : cbx_arange(c->ctx, f[0], f[1], f[2], t));
}

static PyObject *do_linspace(cx_call *c)
{
    double start[2] = { 0, 0 }, stop[2] = { 0, 0 };
    cbx_dtype t = CBX_DTYPE_COUNT;
    bool endpoint = true, complex_ends = false;
    cbx_array *re, *im;
    size_t num;

    for (int i = 0; i < 2; i++) {
        PyObject *o = cx_arg(c, i ? "stop" : "start");
        double *end = i ? stop : start;
        if (!o) return cx_refuse(c, i ? "stop" : "start", PyExc_TypeError, "a number", Py_None) ? o : NULL;
        complex_ends = complex_ends || PyComplex_Check(o);
        end[0] = PyComplex_Check(o) ? PyComplex_RealAsDouble(o) : PyFloat_AsDouble(o);
        end[1] = PyComplex_Check(o) ? PyComplex_ImagAsDouble(o) : 0.0;
        if (PyErr_Occurred()) return NULL;
    }
    if (!CX_GET(c, num, endpoint) || !options(c, &t)) return NULL;
    if (t == CBX_DTYPE_COUNT) t = complex_ends ? CBX_C128 : CBX_F64;
    if (!cx_begin(c)) return NULL;
    if (!complex_ends) return cx_result(c, cbx_linspace(c->ctx, start[0], stop[0], num, endpoint, t));
    re = cbx_linspace(c->ctx, start[0], stop[0], num, endpoint, CBX_F64);
    im = cbx_linspace(c->ctx, start[1], stop[1], num, endpoint, CBX_F64);
    return cx_result(
        c, cbx_astype(c->ctx, cbx_apply(c->ctx, CBX_PRIM_COMPLEX, 2, (const cbx_array *[]){ re, im }, NULL), t));
}

static PyObject *do_eye(cx_call *c)
{
    int64_t n_rows = 0, n_cols, k = 0;
    cbx_dtype t = CBX_F64;

    if (!CX_GET(c, n_rows)) return NULL;
    n_cols = n_rows;
    if (!CX_GET(c, n_cols, k) || !options(c, &t)) return NULL;
    if (n_rows < 0 || n_cols < 0) return cx_raise(CBX_EINVAL, "eye: a length is negative");
    return cx_begin(c) ? cx_result(c, cbx_eye(c->ctx, (size_t)n_rows, (size_t)n_cols, (ptrdiff_t)k, t)) : NULL;
}

/* fn: cbx_tril or cbx_triu. */
static PyObject *triangle(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    int64_t k = 0;

    if (!x || !CX_GET(c, k) || !cx_begin(c)) return NULL;
    return cx_result(c, ((cbx_array * (*)(cbx_ctx *, const cbx_array *, ptrdiff_t)) c->fn)(c->ctx, x, (ptrdiff_t)k));
}

static PyObject *do_meshgrid(cx_call *c)
{
    size_t n = (size_t)c->nrest;
    bool xy = true;
    cbx_array *out[CBX_MAX_RANK] = { 0 };
    const cbx_array **in;
    PyObject *list = NULL;

    if (cx_arg(c, "indexing")) {
        bool ij = PyUnicode_Check(cx_arg(c, "indexing")) &&
                  PyUnicode_CompareWithASCIIString(cx_arg(c, "indexing"), "ij") == 0;
        xy = PyUnicode_Check(cx_arg(c, "indexing")) &&
             PyUnicode_CompareWithASCIIString(cx_arg(c, "indexing"), "xy") == 0;
        if (!ij && !xy) return cx_raise(CBX_EINVAL, "meshgrid: indexing may be 'xy' or 'ij'");
    }
    if (n > CBX_MAX_RANK) return cx_raise(CBX_EINVAL, "meshgrid of more than 8 arrays has too many axes");
    in = cx_arrays_from(c, c->rest, n);
    if (in && cx_begin(c)) {
        cbx_meshgrid(c->ctx, n, in, xy, out);
        list = cx_results(c, n, out, false);
    }
    PyMem_Free(in);
    return list;
}

/* clang-format off */
#define LIKE "x: Array, /, *, dtype: DType | None = None, device: str | None = None"
#define SHAPED "shape: int | Sequence[int], *, dtype: DType | None = None, device: str | None = None"
#define CREATION(X) \
    X(arange, "start: Number, /, stop: Number | None = None, step: Number = 1, *, dtype: DType | None = None, device: str | None = None", "Array", do_arange, 0, "Numbers from start by step up to stop.") \
    X(asarray, "obj: object, /, *, dtype: DType | None = None, device: str | None = None, copy: bool | None = None", "Array", do_asarray, 0, "An Array of numbers, nested sequences, or what an object with a buffer or __dlpack__ holds.") \
    X(empty, SHAPED, "Array", do_zeros, 0, "As zeros.") \
    X(empty_like, LIKE, "Array", do_zeros_like, 0, "As zeros_like.") \
    X(eye, "n_rows: int, n_cols: int | None = None, /, *, k: offset = 0, dtype: DType | None = None, device: str | None = None", "Array", do_eye, 0, "1 on the k-th diagonal, else 0.") \
    X(full, "shape: int | Sequence[int], fill_value: Number, *, dtype: DType | None = None, device: str | None = None", "Array", do_full, 0, "One value throughout.") \
    X(full_like, "x: Array, /, fill_value: Number, *, dtype: DType | None = None, device: str | None = None", "Array", do_full_like, 0, "One value in the shape of x.") \
    X(linspace, "start: Number, stop: Number, /, num: int, *, dtype: DType | None = None, device: str | None = None, endpoint: bool = True", "Array", do_linspace, 0, "num numbers in even steps.") \
    X(meshgrid, "*arrays: Array, indexing: str = 'xy'", "list[Array]", do_meshgrid, 0, "Arrays of rank 1 spread over a common grid.") \
    X(ones, SHAPED, "Array", do_ones, 0, "Ones.") \
    X(ones_like, LIKE, "Array", do_ones_like, 0, "Ones in the shape of x.") \
    X(tril, "x: Array, /, *, k: offset = 0", "Array", triangle, cbx_tril, "Lower triangle.") \
    X(triu, "x: Array, /, *, k: offset = 0", "Array", triangle, cbx_triu, "Upper triangle.") \
    X(zeros, SHAPED, "Array", do_zeros, 0, "Zeros.") \
    X(zeros_like, LIKE, "Array", do_zeros_like, 0, "Zeros in the shape of x.")
/* clang-format on */
CX_FUNCTIONS(cx_creation_methods, CREATION)
