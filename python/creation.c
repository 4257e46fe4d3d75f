/* Creation functions. */
#include <math.h>
#include <string.h>

#include "python/state.h"

/* dtype and device, the last two arguments of every creation function. */
static bool options(cx_call *c, int first, cbx_dtype *t)
{
    return cx_dtype_arg(c, first, t) && cx_device_arg(c, first + 1);
}

static PyObject *do_asarray(cx_call *c, cx_fn fn)
{
    cbx_dtype t = CBX_DTYPE_COUNT;
    bool copy = false;
    int how = -1;

    (void)fn;
    if (!options(c, 1, &t) || !cx_bool_arg(c, 3, &copy)) return NULL;
    if (c->arg[3] && c->arg[3] != Py_None) how = copy;
    return cx_asarray(c->st, c->arg[0], t, how);
}

/* fn: 0 zeros, 1 ones; empty is zeros. */
static PyObject *filled(cx_call *c, double value)
{
    size_t shape[CBX_MAX_RANK];
    cbx_dtype t = CBX_F64;
    int ndim;

    if (!cx_shape_arg(c, 0, &ndim, shape) || !options(c, 1, &t) || !cx_begin(c)) return NULL;
    return cx_result(c, value != 0 ? cbx_ones(c->ctx, ndim, shape, t) : cbx_zeros(c->ctx, ndim, shape, t));
}
static PyObject *do_zeros(cx_call *c, cx_fn fn)
{
    (void)fn;
    return filled(c, 0);
}
static PyObject *do_ones(cx_call *c, cx_fn fn)
{
    (void)fn;
    return filled(c, 1);
}

static PyObject *filled_like(cx_call *c, bool one)
{
    const cbx_array *x = cx_array_arg(c, 0);
    const cbx_array_desc *d = x ? cbx_array_get_desc(x) : NULL;
    cbx_dtype t = x ? d->dtype : CBX_F64;

    if (!x || !options(c, 1, &t) || !cx_begin(c)) return NULL;
    return cx_result(c, one ? cbx_ones(c->ctx, d->ndim, d->shape, t) : cbx_zeros(c->ctx, d->ndim, d->shape, t));
}
static PyObject *do_zeros_like(cx_call *c, cx_fn fn)
{
    (void)fn;
    return filled_like(c, false);
}
static PyObject *do_ones_like(cx_call *c, cx_fn fn)
{
    (void)fn;
    return filled_like(c, true);
}

/* A fill value: a number, or an array of rank 0. */
static PyObject *fill(cx_call *c, int i, cbx_dtype t, int ndim, const size_t *shape)
{
    cx_operand v;
    int is = cx_operand_from(c, c->arg[i], &v);

    if (is == 0) PyErr_Format(PyExc_TypeError, "%s: %R is no number", c->name, c->arg[i]);
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

static PyObject *do_full(cx_call *c, cx_fn fn)
{
    size_t shape[CBX_MAX_RANK];
    cbx_dtype t = CBX_DTYPE_COUNT;
    int ndim;

    (void)fn;
    if (!cx_shape_arg(c, 0, &ndim, shape) || !options(c, 2, &t)) return NULL;
    return fill(c, 1, t, ndim, shape);
}

static PyObject *do_full_like(cx_call *c, cx_fn fn)
{
    const cbx_array *x = cx_array_arg(c, 0);
    cbx_dtype t = x ? cbx_array_dtype(x) : CBX_F64;

    (void)fn;
    if (!x || !options(c, 2, &t)) return NULL;
    return fill(c, 1, t, cbx_array_ndim(x), cbx_array_get_desc(x)->shape);
}

/* Whole numbers are counted exactly, others by the formula of floats. */
static PyObject *do_arange(cx_call *c, cx_fn fn)
{
    PyObject *o[3] = { c->arg[0], c->arg[1], c->arg[2] };
    double f[3] = { 0, 0, 1 };
    cx_operand v[3];
    cbx_dtype t = CBX_DTYPE_COUNT;
    bool whole = true;

    (void)fn;
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
    if (PyErr_Occurred() || !options(c, 3, &t)) return NULL;
    if (t == CBX_DTYPE_COUNT) t = whole ? CBX_I64 : CBX_F64;
    if (!cx_begin(c)) return NULL;
    return cx_result(c, whole && cbx_dtype_kind(t) == CBX_KIND_INT
                            ? cbx_arange_int(c->ctx, v[0].scalar.v.i, v[1].scalar.v.i, v[2].scalar.v.i, t)
                            : cbx_arange(c->ctx, f[0], f[1], f[2], t));
}

static PyObject *do_linspace(cx_call *c, cx_fn fn)
{
    double start[2] = { 0, 0 }, stop[2] = { 0, 0 };
    cbx_dtype t = CBX_DTYPE_COUNT;
    bool endpoint = true, complex_ends = false;
    cbx_array *re, *im;
    int64_t num = 0;

    (void)fn;
    for (int i = 0; i < 2; i++) {
        double *end = i ? stop : start;
        complex_ends = complex_ends || PyComplex_Check(c->arg[i]);
        end[0] = PyComplex_Check(c->arg[i]) ? PyComplex_RealAsDouble(c->arg[i]) : PyFloat_AsDouble(c->arg[i]);
        end[1] = PyComplex_Check(c->arg[i]) ? PyComplex_ImagAsDouble(c->arg[i]) : 0.0;
        if (PyErr_Occurred()) return NULL;
    }
    if (!cx_int_arg(c, 2, &num) || !options(c, 3, &t) || !cx_bool_arg(c, 5, &endpoint)) return NULL;
    if (num < 0) return cx_raise(CBX_EINVAL, "linspace: num is negative");
    if (t == CBX_DTYPE_COUNT) t = complex_ends ? CBX_C128 : CBX_F64;
    if (!cx_begin(c)) return NULL;
    if (!complex_ends) return cx_result(c, cbx_linspace(c->ctx, start[0], stop[0], (size_t)num, endpoint, t));
    re = cbx_linspace(c->ctx, start[0], stop[0], (size_t)num, endpoint, CBX_F64);
    im = cbx_linspace(c->ctx, start[1], stop[1], (size_t)num, endpoint, CBX_F64);
    return cx_result(
        c, cbx_astype(c->ctx, cbx_apply(c->ctx, CBX_PRIM_COMPLEX, 2, (const cbx_array *[]){ re, im }, NULL), t));
}

static PyObject *do_eye(cx_call *c, cx_fn fn)
{
    int64_t n = 0, m, k = 0;
    cbx_dtype t = CBX_F64;

    (void)fn;
    if (!cx_int_arg(c, 0, &n)) return NULL;
    m = n;
    if (!cx_int_arg(c, 1, &m) || !cx_offset_arg(c, 2, &k) || !options(c, 3, &t)) return NULL;
    if (n < 0 || m < 0) return cx_raise(CBX_EINVAL, "eye: a length is negative");
    return cx_begin(c) ? cx_result(c, cbx_eye(c->ctx, (size_t)n, (size_t)m, (ptrdiff_t)k, t)) : NULL;
}

/* fn: cbx_tril or cbx_triu. */
static PyObject *triangle(cx_call *c, cx_fn fn)
{
    const cbx_array *x = cx_array_arg(c, 0);
    int64_t k = 0;

    if (!x || !cx_offset_arg(c, 1, &k) || !cx_begin(c)) return NULL;
    return cx_result(c, ((cbx_array * (*)(cbx_ctx *, const cbx_array *, ptrdiff_t)) fn)(c->ctx, x, (ptrdiff_t)k));
}

static PyObject *do_meshgrid(cx_call *c, cx_fn fn)
{
    size_t n = (size_t)c->nrest;
    bool xy = true;
    cbx_array *out[CBX_MAX_RANK] = { 0 };
    const cbx_array **in;
    PyObject *list = NULL;

    (void)fn;
    if (c->arg[0]) {
        bool ij = PyUnicode_Check(c->arg[0]) && PyUnicode_CompareWithASCIIString(c->arg[0], "ij") == 0;
        xy = PyUnicode_Check(c->arg[0]) && PyUnicode_CompareWithASCIIString(c->arg[0], "xy") == 0;
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
#define LIKE "x, /, *, dtype=None, device=None"
#define SHAPED "shape, *, dtype=None, device=None"
#define CREATION(X) \
    X(arange, "start, /, stop=None, step=1, *, dtype=None, device=None", do_arange, 0, "Numbers from start by step up to stop.") \
    X(asarray, "obj, /, *, dtype=None, device=None, copy=None", do_asarray, 0, "An Array of numbers, nested sequences, or what an object with a buffer or __dlpack__ holds.") \
    X(empty, SHAPED, do_zeros, 0, "As zeros.") \
    X(empty_like, LIKE, do_zeros_like, 0, "As zeros_like.") \
    X(eye, "n_rows, n_cols=None, /, *, k=0, dtype=None, device=None", do_eye, 0, "1 on the k-th diagonal, else 0.") \
    X(full, "shape, fill_value, *, dtype=None, device=None", do_full, 0, "One value throughout.") \
    X(full_like, "x, /, fill_value, *, dtype=None, device=None", do_full_like, 0, "One value in the shape of x.") \
    X(linspace, "start, stop, /, num, *, dtype=None, device=None, endpoint=True", do_linspace, 0, "num numbers in even steps.") \
    X(meshgrid, "*arrays, indexing='xy'", do_meshgrid, 0, "Arrays of rank 1 spread over a common grid.") \
    X(ones, SHAPED, do_ones, 0, "Ones.") \
    X(ones_like, LIKE, do_ones_like, 0, "Ones in the shape of x.") \
    X(tril, "x, /, *, k=0", triangle, cbx_tril, "Lower triangle.") \
    X(triu, "x, /, *, k=0", triangle, cbx_triu, "Upper triangle.") \
    X(zeros, SHAPED, do_zeros, 0, "Zeros.") \
    X(zeros_like, LIKE, do_zeros_like, 0, "Zeros in the shape of x.")
/* clang-format on */
CX_FUNCTIONS(cx_creation_methods, CREATION)
