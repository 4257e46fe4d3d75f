/* Searching, sorting, counting, gathering and scattering. */
#include <string.h>

#include "python/state.h"

/* The place of a winner: x, axis=None, keepdims=False. */
static PyObject *winner(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    bool keepdims = false, none;
    cbx_axes axes;
    int axis = 0;

    if (!x || !CX_GET(c, keepdims) || !cx_axis_arg(c, "axis", &axis, &none)) return NULL;
    if (!cx_axes_arg(c, "axis", x, keepdims, &axes) || !cx_begin(c)) return NULL;
    return cx_result(c, ((cbx_array * (*)(cbx_ctx *, const cbx_array *, const cbx_axes *)) c->fn)(c->ctx, x, &axes));
}

static PyObject *do_nonzero(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    cbx_array *all, *rows[CBX_MAX_RANK] = { 0 };
    int n;

    if (!x) return NULL;
    n = cbx_array_ndim(x);
    if (n == 0) return cx_raise(CBX_ESHAPE, "nonzero: an array of rank 0 has no indices");
    if (!cx_begin(c)) return NULL;
    all = cbx_nonzero(c->ctx, x);
    for (int k = 0; k < n; k++) rows[k] = cbx_index(c->ctx, all, 0, k);
    return cx_results(c, (size_t)n, rows, true);
}

static PyObject *do_argwhere(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");

    return x && cx_begin(c) ? cx_result(c, cbx_argwhere(c->ctx, x)) : NULL;
}

static PyObject *do_searchsorted(cx_call *c)
{
    const cbx_array *edges = cx_array_arg(c, "x1"), *sorter = NULL, *values;
    cx_operand v;
    int is, side;

    if (!edges || (is = cx_operand_from(c, cx_arg(c, "x2"), &v)) < 0) return NULL;
    if (is == 0)
        return PyErr_Format(PyExc_TypeError, "searchsorted: 'x2' must be an Array or a number, got %R",
                            cx_arg(c, "x2"));
    if (!CX_GET(c, side, sorter)) return NULL;
    if ((!v.array && !cx_fits(cbx_array_dtype(edges), &v)) || !cx_begin(c)) return NULL;
    values = v.array ? v.array : cx_weak(c, edges, &v);
    return cx_result(c, sorter ? cbx_searchsorted_sorter(c->ctx, edges, values, side == 1, sorter)
                               : cbx_searchsorted(c->ctx, edges, values, side == 1));
}

/* x, axis=-1, descending=False, stable=True: always stable */
static PyObject *ordered(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    bool descending = false, stable = true;
    int axis = -1;

    if (!x || !cx_axis_arg(c, "axis", &axis, NULL)) return NULL;
    if (!CX_GET(c, descending, stable) || !cx_begin(c)) return NULL;
    return cx_result(c,
                     ((cbx_array * (*)(cbx_ctx *, const cbx_array *, int, bool)) c->fn)(c->ctx, x, axis, descending));
}

static PyObject *do_take(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x"), *indices = x ? cx_array_arg(c, "indices") : NULL;
    int axis = 0;
    bool none;

    c->domain_error = PyExc_IndexError;
    if (!indices || !cx_axis_arg(c, "axis", &axis, &none)) return NULL;
    if (none && cbx_array_ndim(x) != 1)
        return PyErr_Format(PyExc_ValueError, "take: an array of %d axes needs 'axis'", cbx_array_ndim(x));
    return cx_begin(c) ? cx_result(c, cbx_take(c->ctx, x, indices, axis)) : NULL;
}

static PyObject *do_take_along_axis(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x"), *indices = x ? cx_array_arg(c, "indices") : NULL;
    int axis = -1;

    c->domain_error = PyExc_IndexError;
    if (!indices || !cx_axis_arg(c, "axis", &axis, NULL) || !cx_begin(c)) return NULL;
    return cx_result(c, cbx_take_along_axis(c->ctx, x, indices, axis));
}

static PyObject *do_scatter(cx_call *c)
{
    const cbx_array *x, *indices, *updates;
    cbx_scatter_mode mode;
    int axis;

    c->domain_error = PyExc_IndexError;
    if (!CX_GET(c, x, indices, updates, axis, mode) || !cx_begin(c)) return NULL;
    return cx_result(c, cbx_scatter(c->ctx, x, indices, updates, axis, mode));
}

/* x, ids, segments */
static PyObject *segments(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x"), *ids = x ? cx_array_arg(c, "ids") : NULL;
    int64_t segments = 0;

    if (!ids || !CX_GET(c, segments)) return NULL;
    if (segments < 0) return cx_raise(CBX_EINVAL, "the number of segments is negative");
    c->domain_error = PyExc_IndexError;
    if (!cx_begin(c)) return NULL;
    return cx_result(c, ((cbx_array * (*)(cbx_ctx *, const cbx_array *, const cbx_array *, size_t))
                             c->fn)(c->ctx, x, ids, (size_t)segments));
}

static PyObject *do_digitize(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x"), *edges = x ? cx_array_arg(c, "edges") : NULL;

    return edges && cx_begin(c) ? cx_result(c, cbx_digitize(c->ctx, x, edges)) : NULL;
}

static PyObject *do_bincount(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x"), *weights = NULL;
    size_t minlength;

    if (!x || !CX_GET(c, weights) || !CX_GET(c, minlength)) return NULL;
    return cx_begin(c) ? cx_result(c, cbx_bincount(c->ctx, x, weights, minlength)) : NULL;
}

static PyObject *do_histogram(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x"), *edges = x ? cx_array_arg(c, "edges") : NULL, *weights = NULL;

    if (!edges || !CX_GET(c, weights)) return NULL;
    return cx_begin(c) ? cx_result(c, cbx_histogram(c->ctx, x, edges, weights)) : NULL;
}

/* clang-format off */
#define ORDER "x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True"
#define SEGMENTS "x: Array, ids: Array, segments: int, /"
#define SEARCHING(X) \
    X(argwhere, "x: Array, /", "Array", do_argwhere, 0, "Places of elements that are not zero: a row for each.") \
    X(argmax, "x: Array, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False", "Array", winner, cbx_argmax, "Place of the first greatest.") \
    X(argmin, "x: Array, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False", "Array", winner, cbx_argmin, "Place of the first least.") \
    X(argsort, ORDER, "Array", ordered, cbx_argsort, "Places in rising order.") \
    X(bincount, "x: Array, /, *, weights: Array | None = None, minlength: int = 0", "Array", do_bincount, 0, "How often each integer occurs, or sums of weights.") \
    X(digitize, "x: Array, edges: Array, /", "Array", do_digitize, 0, "Bins of values between edges.") \
    X(histogram, "x: Array, edges: Array, /, *, weights: Array | None = None", "Array", do_histogram, 0, "Counts between edges, or sums of weights.") \
    X(nonzero, "x: Array, /", "tuple[Array, ...]", do_nonzero, 0, "Places of elements that are not zero: an array of indices for each axis.") \
    X(scatter, "x: Array, indices: Array, updates: Operand, /, *, axis: int = 0, mode: 'set' | 'add' | 'multiply' | 'min' | 'max' = 'set'", "Array", do_scatter, 0, "x with updates joined in at indices: set, add, multiply, min or max.") \
    X(searchsorted, "x1: Operand, x2: Operand, /, *, side: 'left' | 'right' = 'left', sorter: Array | None = None", "Array", do_searchsorted, 0, "Where x2 would go into sorted x1.") \
    X(segment_max, SEGMENTS, "Array", segments, cbx_segment_max, "The greatest along the first axis by segment number.") \
    X(segment_mean, SEGMENTS, "Array", segments, cbx_segment_mean, "Means along the first axis by segment number.") \
    X(segment_min, SEGMENTS, "Array", segments, cbx_segment_min, "The least along the first axis by segment number.") \
    X(segment_prod, SEGMENTS, "Array", segments, cbx_segment_prod, "Products along the first axis by segment number.") \
    X(segment_sum, SEGMENTS, "Array", segments, cbx_segment_sum, "Sums along the first axis by segment number.") \
    X(sort, ORDER, "Array", ordered, cbx_sort, "In rising order, NaN last.") \
    X(take, "x: Array, indices: Array, /, *, axis: int | None = None", "Array", do_take, 0, "Elements at indices of an axis.") \
    X(take_along_axis, "x: Array, indices: Array, /, *, axis: int = -1", "Array", do_take_along_axis, 0, "Elements at indices of their own lane.")
/* clang-format on */
CX_FUNCTIONS(cx_searching_methods, SEARCHING)

/* clang-format off */
#define METHODS(X) \
    X(argmax, "axis: int | None = None, *, keepdims: bool = False", "Array", winner, cbx_argmax, "Index of the first maximum.") \
    X(argmin, "axis: int | None = None, *, keepdims: bool = False", "Array", winner, cbx_argmin, "Index of the first minimum.") \
    X(argsort, "axis: int = -1, *, descending: bool = False, stable: bool = True", "Array", ordered, cbx_argsort, "Indices in ascending order of the elements.") \
    X(nonzero, "", "tuple[Array, ...]", do_nonzero, 0, "Indices of elements that are not zero, an array for each axis.") \
    X(take, "indices: Array, axis: int | None = None", "Array", do_take, 0, "Elements at indices of an axis.")
/* clang-format on */
CX_ARRAY_FUNCTIONS(cx_array_searches, METHODS)
