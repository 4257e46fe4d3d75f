/* Searching, sorting, counting, gathering and scattering. */

#include "python/state.h"

#define REDUCE CX_FN(const cbx_array *, const cbx_axes *)
CX_FORMULA(winner, REDUCE(c->ctx, x, &over.axis), x, axis, over.axis)
CX_FORMULA(do_argwhere, cbx_argwhere(c->ctx, x), x)
CX_FORMULA(ordered, CX_FN(const cbx_array *, int, bool)(c->ctx, x, axis.value, descending), x, axis, descending, stable)
CX_FORMULA(do_digitize, cbx_digitize(c->ctx, x, edges), x, edges)
CX_FORMULA(do_histogram, cbx_histogram(c->ctx, x, edges, weights), x, edges, weights)
CX_FORMULA(do_take_along_axis, cbx_take_along_axis(c->ctx, x, indices, axis.value), x, indices, axis)
CX_FORMULA(do_scatter, cbx_scatter(c->ctx, x, indices, updates, axis.value, (cbx_scatter_mode)mode), x, indices,
           updates, axis, mode)

CX_RETURN(do_bincount,
          (const cbx_array *x, *weights = NULL;
           const bool sized = cx_arg(c, "length") && cx_arg(c, "length") != Py_None; size_t minlength = 0, length = 0),
          CX_GET(c, x, weights, minlength) && (!sized || CX_GET(c, length)) &&
              (sized || !cbx_array_is_abstract(x) ||
               cx_refused(PyExc_ValueError,
                          "the length of 'bincount' depends on data, which a trace has not: give 'length'")) &&
              cx_begin(c),
          cx_result(c, sized ? cbx_bincount_size(c->ctx, x, weights, length)
                             : cbx_bincount(c->ctx, x, weights, minlength)))

CX_FORMULA(segment, CX_FN(const cbx_array *, const cbx_array *, size_t)(c->ctx, x, ids, segments), x, ids, segments)

/* Of x, as many as there are; or, for nonzero_size, so many. */
static PyObject *do_nonzero(cx_call *c)
{
    const bool sized = cx_parameter_of(c, "size") != NULL;
    cbx_array *all, *rows[CBX_MAX_RANK] = { 0 };
    const cbx_array *x;
    int64_t fill_value = 0;
    size_t size = 0;
    int n;

    if (!CX_GET(c, x) || (sized && !CX_GET(c, size, fill_value))) return NULL;
    n = cbx_array_ndim(x);
    if (n == 0) return PyErr_Format(PyExc_ValueError, "%s: an array of rank 0 has no indices", c->name);
    if (!cx_begin(c)) return NULL;
    all = sized ? cbx_nonzero_size(c->ctx, x, size, fill_value) : cbx_nonzero(c->ctx, x);
    for (int k = 0; k < n; k++) rows[k] = cbx_index(c->ctx, all, 0, k);
    return cx_results(c, (size_t)n, rows, true);
}

CX_RETURN(do_searchsorted, (const cbx_array *x1, *sorter = NULL, *values; cx_operand x2; int side),
          CX_GET(c, x1, x2, side, sorter) && (x2.array || cx_fits(cbx_array_dtype(x1), &x2)) && cx_begin(c),
          (values = x2.array ? x2.array : cx_weak(c, x1, &x2),
           cx_result(c, sorter ? cbx_searchsorted_sorter(c->ctx, x1, values, side == 1, sorter)
                               : cbx_searchsorted(c->ctx, x1, values, side == 1))))

CX_RETURN(do_take, (const cbx_array *x, *indices; cx_axis axis = { 0 }),
          CX_GET(c, x, indices, axis) &&
              (!axis.none || cbx_array_ndim(x) == 1 ||
               cx_refused(PyExc_ValueError, "take: an array of %d axes needs 'axis'", cbx_array_ndim(x))) &&
              cx_begin(c),
          cx_result(c, cbx_take(c->ctx, x, indices, axis.value)))

/* clang-format off */
#define AXIS "axis: int = -1"
#define ORDER ", descending: bool = False, stable: bool = True"
#define SEGMENTS "x: Array, ids: Array, segments: int, /"
#define SORTS(F, X) \
    F(X, argsort, AXIS, ORDER, ordered, cbx_argsort, "Indices that sort the elements in ascending order.", "xp.asarray([3, 1, 2])", "Array([1, 2, 0], dtype=int64)")
#define SEARCHING(X) \
    SORTS(CX_AS_FUNCTION, X) \
    X(digitize, "x: Array, edges: Array, /", "Array", do_digitize, 0, "Index of the bin of each value, between edges.\n\n>>> xp.digitize(xp.asarray([0.5, 2.5]), xp.asarray([0, 1, 2]))\nArray([1, 3], dtype=int64)") \
    X(histogram, "x: Array, edges: Array, /, *, weights: Array | None = None", "Array", do_histogram, 0, "Number of values between edges, or sums of weights.\n\n>>> xp.histogram(xp.asarray([0.5, 1.5, 1.6]), xp.asarray([0, 1, 2]))\nArray([1, 2], dtype=int64)") \
    X(searchsorted, "x1: Operand, x2: Operand, /, *, side: 'left' | 'right' = 'left', sorter: Array | None = None", "Array", do_searchsorted, 0, "Indices at which x2 would be inserted into the sorted x1.\n\n>>> xp.searchsorted(xp.asarray([1, 2, 4]), 3)\nArray(2, dtype=int64)") \
    X(sort, "x: Array, /, *, " AXIS ORDER, "Array", ordered, cbx_sort, "Sort in ascending order, NaN last.\n\n>>> xp.sort(xp.asarray([3, 1, 2]))\nArray([1, 2, 3], dtype=int64)")
#define WINNER(F, X, name, text, result) \
    F(X, name, "axis: int | None = None", ", keepdims: bool = False", winner, cbx_##name, text, "xp.asarray([3, 1, 2])", result)
#define WINNERS(F, X) WINNER(F, X, argmax, "Index of the first maximum.", "Array(0, dtype=int64)") WINNER(F, X, argmin, "Index of the first minimum.", "Array(1, dtype=int64)")
#define SCANS(X) \
    X(argwhere, "x: Array, /", "Array", do_argwhere, 0, "Indices of the elements that are not zero, a row for each.\n\n>>> xp.argwhere(xp.asarray([0, 5]))\nArray([[1]], dtype=int64)") \
    WINNERS(CX_AS_FUNCTION, X) \
    X(bincount, "x: Array, /, *, weights: Array | None = None, minlength: int = 0, length: int | None = None", "Array", do_bincount, 0, "Number of occurrences of each integer, or sums of weights. With a length, as a traced function needs it, numbers outside of it are not counted.\n\n>>> xp.bincount(xp.asarray([0, 2, 2]))\nArray([1, 0, 2], dtype=int64)") \
    X(nonzero, "x: Array, /", "tuple[Array, ...]", do_nonzero, 0, "Indices of the elements that are not zero, an array for each axis.\n\n>>> xp.nonzero(xp.asarray([0, 5]))\n(Array([1], dtype=int64),)") \
    X(nonzero_size, "x: Array, /, size: int, *, fill_value: int = -1", "tuple[Array, ...]", do_nonzero, 0, "The same cut to a size or filled up to it: a shape that does not depend on data, as a traced function needs it.\n\n>>> xp.nonzero_size(xp.asarray([0, 5, 7]), 3)\n(Array([ 1,  2, -1], dtype=int64),)") \
    X(scatter, "x: Array, indices: Array, updates: Operand, /, *, axis: int = 0, mode: 'set' | 'add' | 'multiply' | 'min' | 'max' = 'set'", "Array", do_scatter, 0, "Combine updates with the elements of x at indices: set, add, multiply, min or max.\n\n>>> xp.scatter(xp.zeros(3), xp.asarray([1]), 5.0, mode='add')\nArray([0.0, 5.0, 0.0], dtype=float64)") \
    X(segment_max, SEGMENTS, "Array", segment, cbx_segment_max, "Maximum of each segment of the first axis.\n\n>>> xp.segment_max(xp.asarray([1.0, 2.0, 5.0]), xp.asarray([0, 0, 1]), 2)\nArray([2.0, 5.0], dtype=float64)") \
    X(segment_mean, SEGMENTS, "Array", segment, cbx_segment_mean, "Mean of each segment of the first axis.\n\n>>> xp.segment_mean(xp.asarray([1.0, 2.0, 5.0]), xp.asarray([0, 0, 1]), 2)\nArray([1.5, 5.0], dtype=float64)") \
    X(segment_min, SEGMENTS, "Array", segment, cbx_segment_min, "Minimum of each segment of the first axis.\n\n>>> xp.segment_min(xp.asarray([1.0, 2.0, 5.0]), xp.asarray([0, 0, 1]), 2)\nArray([1.0, 5.0], dtype=float64)") \
    X(segment_prod, SEGMENTS, "Array", segment, cbx_segment_prod, "Product of each segment of the first axis.\n\n>>> xp.segment_prod(xp.asarray([1.0, 2.0, 5.0]), xp.asarray([0, 0, 1]), 2)\nArray([2.0, 5.0], dtype=float64)") \
    X(segment_sum, SEGMENTS, "Array", segment, cbx_segment_sum, "Sum of each segment of the first axis.\n\n>>> xp.segment_sum(xp.asarray([1.0, 2.0, 5.0]), xp.asarray([0, 0, 1]), 2)\nArray([3.0, 5.0], dtype=float64)") \
    X(take, "x: Array, indices: Array, /, *, axis: int | None = None", "Array", do_take, 0, "Elements at indices along an axis.\n\n>>> xp.take(xp.asarray([4, 5, 6]), xp.asarray([2, 0]))\nArray([6, 4], dtype=int64)") \
    X(take_along_axis, "x: Array, indices: Array, /, *, axis: int = -1", "Array", do_take_along_axis, 0, "Elements at indices that differ along the other axes.\n\n>>> xp.take_along_axis(xp.asarray([4, 5, 6]), xp.asarray([2, 0]))\nArray([6, 4], dtype=int64)")
/* clang-format on */
CX_FUNCTIONS(cx_searching_methods, SEARCHING, HEAVY)
CX_FUNCTIONS(cx_scan_methods, SCANS, LIGHT) /* each element once */

/* clang-format off */
#define METHODS(X) SORTS(CX_AS_METHOD, X)
#define SCAN_METHODS(X) \
    WINNERS(CX_AS_METHOD, X) \
    X(nonzero, "", "tuple[Array, ...]", do_nonzero, 0, "Indices of elements that are not zero, an array for each axis.\n\n>>> xp.asarray([0, 5]).nonzero()\n(Array([1], dtype=int64),)") \
    X(take, "indices: Array, axis: int | None = None", "Array", do_take, 0, "Elements at indices along an axis.\n\n>>> xp.asarray([3.0, 1.0, 2.0]).take(xp.asarray([2, 0]))\nArray([2.0, 3.0], dtype=float64)")
/* clang-format on */
CX_ARRAY_FUNCTIONS(cx_array_searches, METHODS, HEAVY)
CX_ARRAY_FUNCTIONS(cx_array_scans, SCAN_METHODS, LIGHT)
