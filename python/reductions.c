/* Reductions and cumulative functions. */
#include "python/answers.h"

/* In the dtype asked for. */
static const cbx_array *as(cx_call *c, const cbx_array *x, cbx_dtype dtype)
{
    return dtype == CBX_DTYPE_COUNT ? x : cbx_astype(c->ctx, x, dtype);
}
static cbx_array *back(cx_call *c, cbx_array *r, cbx_dtype dtype)
{
    return dtype == CBX_DTYPE_COUNT ? r : cbx_astype(c->ctx, r, dtype);
}

#define REDUCE CX_FN(const cbx_array *, const cbx_axes *)
CX_FORMULA(reduction, REDUCE(c->ctx, x, &over.axis), x, over.axis)
CX_FORMULA(sum_or_product, back(c, REDUCE(c->ctx, as(c, x, dtype), &over.axis), dtype), x, over.axis, dtype)
#define SPREAD CX_FN(const cbx_array *, const cbx_axes *, double)
CX_FORMULA(spread, SPREAD(c->ctx, x, &over.axis, correction), x, over.axis, correction)
CX_FORMULA(do_average, cbx_average(c->ctx, x, weights, &over.axis), x, over.axis, weights)

/* The axis of a function along one axis; None is allowed of rank 1 (and 0: made rank 1). */
static bool one_axis(cx_call *c, const cbx_array **x, int *axis)
{
    cx_axis given = { 0 };

    if (!CX_GET_AS(c, "x", *x) || !CX_GET_AS(c, "axis", given)) return false;
    *axis = given.value;
    if (!given.none || cbx_array_ndim(*x) < 2) return true;
    return cx_refused(PyExc_ValueError, "%s: an array of %d axes needs 'axis'", c->name, cbx_array_ndim(*x));
}

static PyObject *cumulative(cx_call *c)
{
    const bool sum = c->fn == (cx_fn)cbx_cumulative_sum;
    cbx_dtype dtype = CBX_DTYPE_COUNT;
    const cbx_array *x;
    bool include_initial;
    cbx_array *r;
    int axis;

    if (!one_axis(c, &x, &axis) || !CX_GET(c, dtype, include_initial) || !cx_begin(c)) return NULL;
    if (cbx_array_ndim(x) == 0) x = cbx_expand_dims(c->ctx, x, 0);
    x = as(c, x, dtype);
    if (include_initial)
        r = sum ? cbx_cumulative_sum_initial(c->ctx, x, axis) : cbx_cumulative_prod_initial(c->ctx, x, axis);
    else
        r = CX_FN(const cbx_array *, int)(c->ctx, x, axis);
    return cx_result(c, back(c, r, dtype));
}

/* cumulative_max and cumulative_min */
CX_RETURN(running, (const cbx_array *x; int axis), one_axis(c, &x, &axis) && cx_begin(c),
          cx_result(c, CX_FN(const cbx_array *, int)(c->ctx, x, axis)))

static PyObject *do_diff(cx_call *c)
{
    const cbx_array *x, *prepend = NULL, *append = NULL, *parts[3];
    size_t times, n = 0;
    cbx_array *r;
    int axis;

    if (!CX_GET(c, x, axis, prepend, append) || !CX_GET_AS(c, "n", times)) return NULL;
    if (prepend) parts[n++] = prepend;
    parts[n++] = x;
    if (append) parts[n++] = append;
    if (!cx_begin(c)) return NULL;
    r = n > 1 ? cbx_concat(c->ctx, n, parts, axis) : cbx_scope_hold(c->ctx, cbx_array_ref(x));
    if (axis < 0) axis += cbx_array_ndim(x); /* one that x lacks is rejected below */
    while (times-- > 0 && !cbx_array_is_failed(r) && (cbx_array_dim(r, axis) > 0 || axis >= cbx_array_ndim(x)))
        r = cbx_diff(c->ctx, r, axis);
    return cx_result(c, r);
}

static PyObject *do_percentile(cx_call *c)
{
    const cbx_array *x, **each;
    PyObject *o = cx_arg(c, "q");
    cx_samples q = { 0 };
    cbx_axes axis;
    double one;

    if (!CX_GET(c, x, axis)) return NULL;
    if (PyObject_Size(o) < 0) { /* not a sequence, and not an array of axes */
        PyErr_Clear();
        if (!CX_GET_AS(c, "q", one) || !cx_begin(c)) return NULL;
        return cx_result(c, cbx_percentile(c->ctx, x, one, &axis));
    }
    if (!CX_GET(c, q) || !(each = cx_alloc(c, q.n, sizeof *each)) || !cx_begin(c)) return NULL;
    for (size_t i = 0; i < q.n; i++) each[i] = cbx_percentile(c->ctx, x, q.x[i], &axis);
    return cx_result(c, cbx_stack(c->ctx, q.n, each, 0)); /* several: along a first axis */
}

/* clang-format off */
#define AXIS "axis: int | Sequence[int] | None = None"
#define KEEP ", keepdims: bool = False"
#define DTYPE ", dtype: DType | None = None" KEEP
#define CORRECTION ", correction: float = 0.0" KEEP
#define AXES "x: Array, /, *, " AXIS KEEP
#define BOTH(F, X) \
    F(X, all, AXIS, KEEP, reduction, cbx_all, "Whether all elements are true.", "xp.asarray([True, False])", "Array(False, dtype=bool)") \
    F(X, any, AXIS, KEEP, reduction, cbx_any, "Whether any element is true.", "xp.asarray([True, False])", "Array(True, dtype=bool)") \
    F(X, max, AXIS, KEEP, reduction, cbx_max, "Maximum; NaN if an element is NaN.", "xp.asarray([1.0, 2.0, 4.0])", "Array(4.0, dtype=float64)") \
    F(X, mean, AXIS, KEEP, reduction, cbx_mean, "Arithmetic mean.", "xp.asarray([1.0, 2.0, 4.0])", "Array(2.3333333333333335, dtype=float64)") \
    F(X, min, AXIS, KEEP, reduction, cbx_min, "Minimum; NaN if an element is NaN.", "xp.asarray([1.0, 2.0, 4.0])", "Array(1.0, dtype=float64)") \
    F(X, prod, AXIS, DTYPE, sum_or_product, cbx_prod, "Product.", "xp.asarray([1.0, 2.0, 4.0])", "Array(8.0, dtype=float64)") \
    F(X, std, AXIS, CORRECTION, spread, cbx_std, "Standard deviation.", "xp.asarray([1.0, 2.0, 4.0])", "Array(1.247219128924647, dtype=float64)") \
    F(X, sum, AXIS, DTYPE, sum_or_product, cbx_sum, "Sum.", "xp.asarray([1.0, 2.0, 4.0])", "Array(7.0, dtype=float64)") \
    F(X, var, AXIS, CORRECTION, spread, cbx_var, "Variance.", "xp.asarray([1.0, 2.0, 4.0])", "Array(1.5555555555555554, dtype=float64)")
#define CUMULATIVE "x: Array, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False"
#define REDUCTIONS(X) \
    BOTH(CX_AS_FUNCTION, X) \
    X(average, "x: Array, /, *, axis: int | Sequence[int] | None = None, weights: Array | None = None, keepdims: bool = False", "Array", do_average, 0, "Weighted mean.\n\n>>> xp.average(xp.asarray([1.0, 2.0, 4.0]), weights=xp.asarray([1.0, 1.0, 2.0]))\nArray(2.75, dtype=float64)") \
    X(count_nonzero, AXES, "Array", reduction, cbx_count_nonzero, "Number of elements that are not zero.\n\n>>> xp.count_nonzero(xp.asarray([1.0, 2.0, 4.0]))\nArray(3, dtype=int64)") \
    X(cumulative_max, "x: Array, /, *, axis: int | None = None", "Array", running, cbx_cumulative_max, "Cumulative maximum.\n\n>>> xp.cumulative_max(xp.asarray([1.0, 2.0, 4.0]))\nArray([1.0, 2.0, 4.0], dtype=float64)") \
    X(cumulative_min, "x: Array, /, *, axis: int | None = None", "Array", running, cbx_cumulative_min, "Cumulative minimum.\n\n>>> xp.cumulative_min(xp.asarray([1.0, 2.0, 4.0]))\nArray([1.0, 1.0, 1.0], dtype=float64)") \
    X(cumulative_prod, CUMULATIVE, "Array", cumulative, cbx_cumulative_prod, "Cumulative product.\n\n>>> xp.cumulative_prod(xp.asarray([1.0, 2.0, 4.0]))\nArray([1.0, 2.0, 8.0], dtype=float64)") \
    X(cumulative_sum, CUMULATIVE, "Array", cumulative, cbx_cumulative_sum, "Cumulative sum.\n\n>>> xp.cumulative_sum(xp.asarray([1.0, 2.0, 4.0]))\nArray([1.0, 3.0, 7.0], dtype=float64)") \
    X(diff, "x: Array, /, *, axis: int = -1, n: int = 1, prepend: Array | None = None, append: Array | None = None", "Array", do_diff, 0, "Differences of neighbouring elements, taken n times.\n\n>>> xp.diff(xp.asarray([1.0, 2.0, 4.0]))\nArray([1.0, 2.0], dtype=float64)") \
    X(median, AXES, "Array", reduction, cbx_median, "Median.\n\n>>> xp.median(xp.asarray([1.0, 2.0, 4.0]))\nArray(2.0, dtype=float64)") \
    X(nanmax, AXES, "Array", reduction, cbx_nanmax, "Maximum, ignoring NaN.\n\n>>> xp.nanmax(xp.asarray([1.0, 2.0, 4.0]))\nArray(4.0, dtype=float64)") \
    X(nanmean, AXES, "Array", reduction, cbx_nanmean, "Mean, ignoring NaN.\n\n>>> xp.nanmean(xp.asarray([1.0, 2.0, 4.0]))\nArray(2.3333333333333335, dtype=float64)") \
    X(nanmin, AXES, "Array", reduction, cbx_nanmin, "Minimum, ignoring NaN.\n\n>>> xp.nanmin(xp.asarray([1.0, 2.0, 4.0]))\nArray(1.0, dtype=float64)") \
    X(nanstd, "x: Array, /, *, " AXIS CORRECTION, "Array", spread, cbx_nanstd, "Standard deviation, ignoring NaN.\n\n>>> xp.nanstd(xp.asarray([1.0, 2.0, 4.0]))\nArray(1.247219128924647, dtype=float64)") \
    X(nansum, AXES, "Array", reduction, cbx_nansum, "Sum, ignoring NaN.\n\n>>> xp.nansum(xp.asarray([1.0, 2.0, 4.0]))\nArray(7.0, dtype=float64)") \
    X(percentile, "x: Array, q: Operand, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False", "Array", do_percentile, 0, "Percentiles q, by linear interpolation between ranks.\n\n>>> xp.percentile(xp.asarray([1.0, 2.0, 4.0]), [0, 50])\nArray([1.0, 2.0], dtype=float64)")
/* clang-format on */
CX_FUNCTIONS(cx_reduction_methods, REDUCTIONS, LIGHT)

#define METHODS(X) BOTH(CX_AS_METHOD, X)
CX_ARRAY_FUNCTIONS(cx_array_reductions, METHODS, LIGHT)
