/* Functions that move elements. */
#include <string.h>

#include "python/state.h"

static PyObject *do_broadcast_to(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    size_t shape[CBX_MAX_RANK];
    int ndim;

    if (!x || !cx_shape_arg(c, "shape", &ndim, shape) || !cx_begin(c)) return NULL;
    return cx_result(c, cbx_broadcast_to(c->ctx, x, ndim, shape));
}

static PyObject *do_broadcast_arrays(cx_call *c)
{
    size_t n = (size_t)c->nrest;
    const cbx_array **in = cx_arrays_from(c, c->rest, n);
    cbx_array **out = PyMem_Calloc(n + 1, sizeof *out);
    PyObject *list = NULL;

    if (in && !out) PyErr_NoMemory();
    if (in && out && cx_begin(c)) {
        cbx_broadcast_arrays(c->ctx, n, in, out);
        list = cx_results(c, n, out, false);
    }
    PyMem_Free(in);
    PyMem_Free(out);
    return list;
}

/* concat of flattened arrays where axis is None; fn: cbx_concat or cbx_stack. */
static PyObject *joined(cx_call *c)
{
    const cbx_array **in;
    PyObject *r = NULL;
    int axis = 0;
    bool none;
    size_t n;

    if (!cx_axis_arg(c, "axis", &axis, &none)) return NULL;
    in = cx_array_list_arg(c, "arrays", &n);
    if (in && cx_begin(c)) {
        for (size_t i = 0; none && i < n; i++) in[i] = cbx_flatten(c->ctx, in[i]);
        r = cx_result(c,
                      ((cbx_array * (*)(cbx_ctx *, size_t, const cbx_array *const *, int)) c->fn)(c->ctx, n, in, axis));
    }
    PyMem_Free(in);
    return r;
}

static PyObject *do_expand_dims(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    int axis = 0;

    if (!x || !cx_axis_arg(c, "axis", &axis, NULL)) return NULL;
    if (axis < -cbx_array_ndim(x) - 1 || axis > cbx_array_ndim(x)) {
        PyErr_Format(PyExc_IndexError, "expand_dims: there is no place %d among %d axes", axis, cbx_array_ndim(x));
        return NULL;
    }
    return cx_begin(c) ? cx_result(c, cbx_expand_dims(c->ctx, x, axis)) : NULL;
}

/* x, axis: flip and squeeze */
static PyObject *along_axes(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    cbx_axes axes;

    if (!x || !cx_axes_arg(c, "axis", x, false, &axes) || !cx_begin(c)) return NULL;
    return cx_result(c, ((cbx_array * (*)(cbx_ctx *, const cbx_array *, const cbx_axes *)) c->fn)(c->ctx, x, &axes));
}

/* A whole number or several, small enough to be axes. */
static bool axis_numbers(cx_call *c, const char *name, int *n, int *out)
{
    ptrdiff_t v[CBX_MAX_RANK];

    if (!cx_ints_from(c, cx_arg(c, name) ? cx_arg(c, name) : Py_None, "an axis or several", CBX_MAX_RANK, n, v))
        return false;
    for (int k = 0; k < *n; k++) out[k] = v[k] < -CBX_MAX_RANK || v[k] > CBX_MAX_RANK ? CBX_MAX_RANK : (int)v[k];
    return true;
}

static PyObject *do_permute_dims(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    int n, order[CBX_MAX_RANK];

    if (!x || !axis_numbers(c, "axes", &n, order)) return NULL;
    if (n != cbx_array_ndim(x))
        return PyErr_Format(PyExc_ValueError, "permute_dims: %d axes are named, and the array has %d", n,
                            cbx_array_ndim(x));
    return cx_begin(c) ? cx_result(c, cbx_permute_dims(c->ctx, x, order)) : NULL;
}

static PyObject *do_moveaxis(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    int n, m, from[CBX_MAX_RANK], to[CBX_MAX_RANK];

    if (!x || !axis_numbers(c, "source", &n, from) || !axis_numbers(c, "destination", &m, to)) return NULL;
    if (n != m) return cx_raise(CBX_EINVAL, "moveaxis: source and destination are not of one length");
    return cx_begin(c) ? cx_result(c, cbx_moveaxes(c->ctx, x, n, from, to)) : NULL;
}

static PyObject *do_repeat(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x"), *counts = NULL;
    int64_t repeats = 0;
    int axis = 0;
    bool flat;

    if (!x || !cx_axis_arg(c, "axis", &axis, &flat)) return NULL;
    if (PyLong_Check(cx_arg(c, "repeats")) ? !CX_GET(c, repeats) : !(counts = cx_array_arg(c, "repeats"))) return NULL;
    if (repeats < 0) return cx_raise(CBX_EINVAL, "repeat: the number of repeats is negative");
    if (!cx_begin(c)) return NULL;
    if (flat) x = cbx_flatten(c->ctx, x);
    return cx_result(c, counts ? cbx_repeat_counts(c->ctx, x, counts, axis)
                               : cbx_repeat(c->ctx, x, (size_t)repeats, axis));
}

/* Integers as an argument, or one by one as *shape of a method. */
static bool integers(cx_call *c, const char *name, int *n, ptrdiff_t *v)
{
    PyObject *o = cx_arg(c, name), *tuple = NULL;
    bool fine;

    if (!c->rest) return cx_ints_from(c, o ? o : Py_None, "integers", CBX_MAX_RANK, n, v);
    if (c->nrest == 1) return cx_ints_from(c, c->rest[0], "integers", CBX_MAX_RANK, n, v);
    tuple = PyTuple_New(c->nrest);
    for (Py_ssize_t i = 0; tuple && i < c->nrest; i++) PyTuple_SetItem(tuple, i, Py_NewRef(c->rest[i]));
    fine = tuple && cx_ints_from(c, tuple, "integers", CBX_MAX_RANK, n, v);
    Py_XDECREF(tuple);
    return fine;
}

static PyObject *do_reshape(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    ptrdiff_t shape[CBX_MAX_RANK];
    bool copy = false;
    cbx_array *r;
    int ndim;

    if (!x || !integers(c, "shape", &ndim, shape) || !CX_GET(c, copy)) return NULL;
    if (cx_arg(c, "copy") && !copy && !cbx_array_is_contiguous(x))
        return cx_raise(CBX_EINVAL, "reshape: an array that is not row-major needs a copy: leave copy=False out");
    if (!cx_begin(c)) return NULL;
    r = cbx_reshape(c->ctx, x, ndim, shape);
    return cx_result(c, copy ? cbx_copy(c->ctx, r) : r);
}

static PyObject *do_roll(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    ptrdiff_t shift[CBX_MAX_RANK];
    cbx_axes axes;
    int n;

    if (!x || !cx_ints_from(c, cx_arg(c, "shift"), "shifts", CBX_MAX_RANK, &n, shift)) return NULL;
    if (!cx_axes_arg(c, "axis", x, false, &axes)) return NULL;
    if (!cx_arg(c, "axis")) {
        if (n != 1) return cx_raise(CBX_EINVAL, "roll: several shifts need their axes");
        return cx_begin(c) ? cx_result(c, cbx_roll_flat(c->ctx, x, shift[0])) : NULL;
    }
    if (n != axes.n && n != 1 && axes.n != 1) return cx_raise(CBX_EINVAL, "roll: there are not as many shifts as axes");
    for (; axes.n == 1 && axes.n < n; axes.n = n) /* one axis by each of the shifts */
        for (int k = 1; k < n; k++) axes.axis[k] = axes.axis[0];
    for (int k = 1; n == 1 && k < axes.n; k++) shift[k] = shift[0];
    return cx_begin(c) ? cx_result(c, cbx_roll_axes(c->ctx, x, axes.n, shift, axes.axis)) : NULL;
}

static PyObject *do_tile(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    size_t times[CBX_MAX_RANK];
    int n;

    if (!x || !cx_shape_arg(c, "repetitions", &n, times) || !cx_begin(c)) return NULL;
    return cx_result(c, cbx_tile(c->ctx, x, n, times));
}

static PyObject *do_unstack(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    cbx_array **out;
    PyObject *r = NULL;
    int axis = 0;
    size_t n;

    if (!x || !cx_axis_arg(c, "axis", &axis, NULL)) return NULL;
    if (axis < -cbx_array_ndim(x) || axis >= cbx_array_ndim(x))
        return PyErr_Format(PyExc_ValueError, "unstack: there is no axis %d", axis);
    if (axis < 0) axis += cbx_array_ndim(x);
    n = cbx_array_dim(x, axis);
    out = PyMem_Calloc(n + 1, sizeof *out);
    if (!out) return PyErr_NoMemory();
    if (cx_begin(c)) {
        cbx_unstack(c->ctx, x, axis, n, out);
        r = cx_results(c, n, out, true);
    }
    PyMem_Free(out);
    return r;
}

/* clang-format off */
#define MANIPULATION(X) \
    X(broadcast_arrays, "*arrays: Array", "list[Array]", do_broadcast_arrays, 0, "The arrays in their common shape.") \
    X(broadcast_to, "x: Array, /, shape: int | Sequence[int]", "Array", do_broadcast_to, 0, "x repeated to a shape.") \
    X(concat, "arrays: Sequence[Array], /, *, axis: int | None = 0", "Array", joined, cbx_concat, "Arrays one behind the other; axis None: flattened first.") \
    X(expand_dims, "x: Array, /, *, axis: int | Sequence[int] = 0", "Array", do_expand_dims, 0, "A new axis of length 1.") \
    X(flip, "x: Array, /, *, axis: int | Sequence[int] | None = None", "Array", along_axes, cbx_flip_axes, "The elements in reverse order.") \
    X(moveaxis, "x: Array, source: int | Sequence[int], destination: int | Sequence[int], /", "Array", do_moveaxis, 0, "Axes at other places.") \
    X(permute_dims, "x: Array, /, axes: int | Sequence[int]", "Array", do_permute_dims, 0, "The axes in another order.") \
    X(repeat, "x: Array, repeats: int | Array, /, *, axis: int | None = None", "Array", do_repeat, 0, "Each element several times in a row.") \
    X(reshape, "x: Array, /, shape: int | Sequence[int], *, copy: bool | None = None", "Array", do_reshape, 0, "The elements in another shape; one length may be -1.") \
    X(roll, "x: Array, /, shift: int | Sequence[int], *, axis: int | Sequence[int] | None = None", "Array", do_roll, 0, "The elements moved round.") \
    X(squeeze, "x: Array, /, axis: int | Sequence[int]", "Array", along_axes, cbx_squeeze_axes, "Without axes of length 1.") \
    X(stack, "arrays: Sequence[Array], /, *, axis: int = 0", "Array", joined, cbx_stack, "Arrays along a new axis.") \
    X(tile, "x: Array, repetitions: int | Sequence[int], /", "Array", do_tile, 0, "x several times along each axis.") \
    X(unstack, "x: Array, /, *, axis: int = 0", "tuple[Array, ...]", do_unstack, 0, "The arrays along an axis.")
/* clang-format on */
CX_FUNCTIONS(cx_manipulation_methods, MANIPULATION)

/* The axes reversed, or in the order given. */
static PyObject *do_transpose(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    ptrdiff_t axes[CBX_MAX_RANK];
    int order[CBX_MAX_RANK], n = x ? cbx_array_ndim(x) : 0;

    if (!x) return NULL;
    for (int k = 0; k < n; k++) axes[k] = n - 1 - k;
    if (c->nrest && !integers(c, "axes", &n, axes)) return NULL;
    if (n != cbx_array_ndim(x))
        return PyErr_Format(PyExc_ValueError, "transpose: %d axes for an array of %d", n, cbx_array_ndim(x));
    for (int k = 0; k < n; k++) order[k] = (int)axes[k];
    return cx_begin(c) ? cx_result(c, cbx_permute_dims(c->ctx, x, order)) : NULL;
}

static PyObject *do_flatten(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    return x && cx_begin(c) ? cx_result(c, cbx_flatten(c->ctx, x)) : NULL;
}

static PyObject *do_squeeze(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    cbx_axes axes;

    if (!x || !cx_axes_arg(c, "axis", x, false, &axes)) return NULL;
    if (!cx_arg(c, "axis")) {
        axes.n = 0;
        for (int k = 0; k < cbx_array_ndim(x); k++)
            if (cbx_array_dim(x, k) == 1) axes.axis[axes.n++] = k;
    }
    return cx_begin(c) ? cx_result(c, cbx_squeeze_axes(c->ctx, x, &axes)) : NULL;
}

/* clang-format off */
#define METHODS(X) \
    X(flatten, "", "Array", do_flatten, 0, "The elements along one axis, in row-major order.") \
    X(reshape, "*shape: int | Sequence[int], copy: bool | None = None", "Array", do_reshape, 0, "The elements in another shape; one length may be -1.") \
    X(squeeze, "axis: int | Sequence[int] | None = None", "Array", do_squeeze, 0, "Without axes of length 1.") \
    X(transpose, "*axes: int | Sequence[int]", "Array", do_transpose, 0, "The axes reversed, or in the order given.")
/* clang-format on */
CX_ARRAY_FUNCTIONS(cx_array_movements, METHODS)
