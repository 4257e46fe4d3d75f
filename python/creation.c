/* Creation functions. */
#include <string.h>

#include "python/state.h"

CX_RETURN(do_asarray, (cbx_dtype dtype = CBX_DTYPE_COUNT; bool copy = false), CX_GET(c, dtype, copy),
          cx_asarray(c->st, cx_arg(c, "obj"), dtype, cx_arg(c, "copy") ? copy : -1))

typedef cbx_array *(*filled)(cbx_ctx *, int, const size_t *, cbx_dtype);
#define OF_SHAPE(t) ((filled)c->fn)(c->ctx, shape.ndim, shape.of, t)
CX_FORMULA(do_filled, OF_SHAPE(dtype == CBX_DTYPE_COUNT ? CBX_F64 : dtype), shape, dtype)
#define LIKE_OF(x)                                                                                                     \
    ((filled)c->fn)(c->ctx, cbx_array_ndim(x), cbx_array_get_desc(x)->shape,                                           \
                    dtype == CBX_DTYPE_COUNT ? cbx_array_dtype(x) : dtype)
CX_FORMULA(do_filled_like, LIKE_OF(x), x, dtype)

static PyObject *uninitialised(cx_call *c, cbx_dtype t, int ndim, const size_t *shape)
{
    cbx_array_desc d = { .dtype = t, .ndim = ndim };
    cbx_array *a;

    memcpy(d.shape, shape, (size_t)ndim * sizeof *shape);
    a = cx_create(c->st, &d);
    return a ? cx_array_new(c->st, a) : NULL;
}
CX_RETURN(do_empty, (cbx_dtype dtype = CBX_F64; cx_shape shape), CX_GET(c, shape, dtype),
          uninitialised(c, dtype, shape.ndim, shape.of))
CX_RETURN(do_empty_like, (cbx_dtype dtype = CBX_DTYPE_COUNT; const cbx_array *x), CX_GET(c, x, dtype),
          uninitialised(c, dtype == CBX_DTYPE_COUNT ? cbx_array_dtype(x) : dtype, cbx_array_ndim(x),
                        cbx_array_get_desc(x)->shape))

CX_FORMULA(triangle, CX_FN(const cbx_array *, ptrdiff_t)(c->ctx, x, (ptrdiff_t)k), x, k)

/* A fill value: a number, or an array of rank 0. */
static PyObject *fill(cx_call *c, cbx_dtype t, int ndim, const size_t *shape)
{
    cx_operand v;

    if (!CX_GET_AS(c, "fill_value", v)) return NULL;
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

CX_RETURN(do_full, (cbx_dtype dtype = CBX_DTYPE_COUNT; cx_shape shape), CX_GET(c, shape, dtype),
          fill(c, dtype, shape.ndim, shape.of))

CX_RETURN(do_full_like, (cbx_dtype dtype = CBX_DTYPE_COUNT; const cbx_array *x), CX_GET(c, x, dtype),
          fill(c, dtype == CBX_DTYPE_COUNT ? cbx_array_dtype(x) : dtype, cbx_array_ndim(x),
               cbx_array_get_desc(x)->shape))

/* Integers are counted exactly, others by the formula of floats. */
static PyObject *do_arange(cx_call *c)
{
    PyObject *o[3] = { cx_arg(c, "start"), cx_arg(c, "stop"), cx_arg(c, "step") };
    const char *const names[] = { "start", o[1] ? "stop" : "start", "step" };
    double f[3] = { 0, 0, 1 };
    cx_operand v[3];
    cbx_dtype t = CBX_DTYPE_COUNT;
    bool integers = true;

    if (!o[1] || o[1] == Py_None) o[1] = o[0], o[0] = NULL;
    for (int i = 0; i < 3; i++) {
        int is = 1;
        v[i] = (cx_operand){ .scalar = cbx_int(i == 2) };
        if (o[i]) is = cx_scalar_from(o[i], &v[i]);
        if (is == 0) cx_refuse(c, names[i], PyExc_TypeError, "a number", o[i]);
        if (is <= 0) return NULL;
        if (v[i].scalar.dtype == CBX_U64) v[i].scalar = cbx_float((double)v[i].scalar.v.u);
        if (v[i].scalar.dtype == CBX_BOOL) v[i].scalar.dtype = CBX_I64;
        if (v[i].scalar.dtype == CBX_C128) cx_refuse(c, names[i], PyExc_TypeError, "a real number", o[i]);
        integers = integers && v[i].scalar.dtype == CBX_I64;
        f[i] = v[i].scalar.dtype == CBX_I64 ? (double)v[i].scalar.v.i : v[i].scalar.v.f;
    }
    if (PyErr_Occurred() || !CX_GET_AS(c, "dtype", t)) return NULL;
    if (t == CBX_DTYPE_COUNT) t = integers ? CBX_I64 : CBX_F64;
    if (!cx_begin(c)) return NULL;
    return cx_result(c, integers && cbx_dtype_kind(t) == CBX_KIND_INT
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
        const char *name = i ? "stop" : "start";
        PyObject *o = cx_arg(c, name) ? cx_arg(c, name) : Py_None;
        double *end = i ? stop : start;
        if (PyComplex_Check(o)) {
            complex_ends = true;
            end[0] = PyComplex_RealAsDouble(o);
            end[1] = PyComplex_ImagAsDouble(o);
        } else if (!cx_read_double(c, name, o, &end[0])) {
            return NULL;
        }
    }
    if (!CX_GET(c, num, endpoint) || !CX_GET_AS(c, "dtype", t)) return NULL;
    if (t == CBX_DTYPE_COUNT) t = complex_ends ? CBX_C128 : CBX_F64;
    if (!cx_begin(c)) return NULL;
    if (!complex_ends) return cx_result(c, cbx_linspace(c->ctx, start[0], stop[0], num, endpoint, t));
    re = cbx_linspace(c->ctx, start[0], stop[0], num, endpoint, CBX_F64);
    im = cbx_linspace(c->ctx, start[1], stop[1], num, endpoint, CBX_F64);
    return cx_result(
        c, cbx_astype(c->ctx, cbx_apply(c->ctx, CBX_PRIM_COMPLEX, 2, (const cbx_array *[]){ re, im }, NULL), t));
}

CX_RETURN(do_eye, (cbx_dtype dtype = CBX_F64; size_t n_rows, n_cols; int64_t k),
          CX_GET(c, n_rows) && (n_cols = n_rows, CX_GET(c, n_cols, k, dtype)) && cx_begin(c),
          cx_result(c, cbx_eye(c->ctx, n_rows, n_cols, (ptrdiff_t)k, dtype)))

CX_RETURN(do_meshgrid, (cbx_array * out[CBX_MAX_RANK] = { 0 }; cx_arrays arrays; int indexing),
          CX_GET(c, arrays, indexing) &&
              (arrays.n <= CBX_MAX_RANK ||
               cx_refused(PyExc_ValueError, "meshgrid: 'arrays' must be at most %d, got %zu", CBX_MAX_RANK,
                          arrays.n)) &&
              cx_begin(c),
          (cbx_meshgrid(c->ctx, arrays.n, arrays.list, indexing == 0, out), cx_results(c, arrays.n, out, false)))

/* clang-format off */
#define LIKE "x: Array, /, *, dtype: DType | None = None, device: str | None = None"
#define SHAPED "shape: int | Sequence[int], *, dtype: DType | None = None, device: str | None = None"
#define CREATION(X) \
    X(arange, "start: Number, /, stop: Number | None = None, step: Number = 1, *, dtype: DType | None = None, device: str | None = None", "Array", do_arange, 0, "Evenly spaced numbers from start, below stop.\n\n>>> xp.arange(2, 8, 3)\nArray([2, 5], dtype=int64)") \
    X(asarray, "obj: object, /, *, dtype: DType | None = None, device: str | None = None, copy: bool | None = None", "Array", do_asarray, 0, "An Array of numbers, nested sequences, or what an object with a buffer or __dlpack__ holds.\n\n>>> xp.asarray([[1, 2], [3, 4]])\nArray([[1, 2],\n       [3, 4]], dtype=int64)") \
    X(empty, SHAPED, "Array", do_empty, 0, "A new array; its elements have any values.\n\n>>> xp.empty((2, 2)).shape\n(2, 2)") \
    X(empty_like, LIKE, "Array", do_empty_like, 0, "A new array in the shape of x; its elements have any values.\n\n>>> xp.empty_like(xp.asarray([1.0, 2.0, 4.0])).shape\n(3,)") \
    X(eye, "n_rows: int, n_cols: int | None = None, /, *, k: offset = 0, dtype: DType | None = None, device: str | None = None", "Array", do_eye, 0, "1 on the k-th diagonal, else 0.\n\n>>> xp.eye(2, 3, k=1)\nArray([[0.0, 1.0, 0.0],\n       [0.0, 0.0, 1.0]], dtype=float64)") \
    X(full, "shape: int | Sequence[int], fill_value: Number, *, dtype: DType | None = None, device: str | None = None", "Array", do_full, 0, "A new array with one value.\n\n>>> xp.full(2, 7)\nArray([7, 7], dtype=int64)") \
    X(full_like, "x: Array, /, fill_value: Number, *, dtype: DType | None = None, device: str | None = None", "Array", do_full_like, 0, "A new array in the shape of x with one value.\n\n>>> xp.full_like(xp.asarray([1.0, 2.0, 4.0]), 7)\nArray([7.0, 7.0, 7.0], dtype=float64)") \
    X(linspace, "start: Number, stop: Number, /, num: int, *, dtype: DType | None = None, device: str | None = None, endpoint: bool = True", "Array", do_linspace, 0, "Evenly spaced numbers from start to stop.\n\n>>> xp.linspace(0, 1, num=3)\nArray([0.0, 0.5, 1.0], dtype=float64)") \
    X(meshgrid, "*arrays: Array, indexing: 'xy' | 'ij' = 'xy'", "list[Array]", do_meshgrid, 0, "Coordinate arrays of a grid, from arrays of rank 1.\n\n>>> xp.meshgrid(xp.arange(2), xp.arange(2))\n[Array([[0, 1],\n       [0, 1]], dtype=int64), Array([[0, 0],\n       [1, 1]], dtype=int64)]") \
    X(ones, SHAPED, "Array", do_filled, cbx_ones, "A new array of ones.\n\n>>> xp.ones((2, 2))\nArray([[1.0, 1.0],\n       [1.0, 1.0]], dtype=float64)") \
    X(ones_like, LIKE, "Array", do_filled_like, cbx_ones, "A new array of ones in the shape of x.\n\n>>> xp.ones_like(xp.asarray([1.0, 2.0, 4.0]))\nArray([1.0, 1.0, 1.0], dtype=float64)") \
    X(tril, "x: Array, /, *, k: offset = 0", "Array", triangle, cbx_tril, "Lower triangle.\n\n>>> xp.tril(xp.ones((2, 2)))\nArray([[1.0, 0.0],\n       [1.0, 1.0]], dtype=float64)") \
    X(triu, "x: Array, /, *, k: offset = 0", "Array", triangle, cbx_triu, "Upper triangle.\n\n>>> xp.triu(xp.ones((2, 2)))\nArray([[1.0, 1.0],\n       [0.0, 1.0]], dtype=float64)") \
    X(zeros, SHAPED, "Array", do_filled, cbx_zeros, "A new array of zeros.\n\n>>> xp.zeros((2, 2))\nArray([[0.0, 0.0],\n       [0.0, 0.0]], dtype=float64)") \
    X(zeros_like, LIKE, "Array", do_filled_like, cbx_zeros, "A new array of zeros in the shape of x.\n\n>>> xp.zeros_like(xp.asarray([1.0, 2.0, 4.0]))\nArray([0.0, 0.0, 0.0], dtype=float64)")
/* clang-format on */
CX_FUNCTIONS(cx_creation_methods, CREATION, LIGHT)
