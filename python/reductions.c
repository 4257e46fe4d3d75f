/* Reductions and cumulative functions. */
#include "python/answers.h"

typedef cbx_array *(*reduce_fn)(cbx_ctx *, const cbx_array *, const cbx_axes *);
typedef cbx_array *(*spread_fn)(cbx_ctx *, const cbx_array *, const cbx_axes *, double);
typedef cbx_array *(*along_fn)(cbx_ctx *, const cbx_array *, int);

/* x, axis=None, keepdims=False */
static PyObject *reduction(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    bool keepdims = false;
    cbx_axes axes;

    if (!x || !CX_GET(c, keepdims) || !cx_axes_arg(c, "axis", x, keepdims, &axes) || !cx_begin(c)) return NULL;
    return cx_result(c, ((reduce_fn)c->fn)(c->ctx, x, &axes));
}

/* x, axis=None, dtype=None, keepdims=False: summed in the dtype asked for */
static PyObject *sum_or_product(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    cbx_dtype dtype = CBX_DTYPE_COUNT;
    bool keepdims = false;
    cbx_axes axes;
    cbx_array *r;

    if (!x || !CX_GET(c, keepdims) || !cx_axes_arg(c, "axis", x, keepdims, &axes)) return NULL;
    if (!CX_GET(c, dtype) || !cx_begin(c)) return NULL;
    if (dtype == CBX_DTYPE_COUNT) return cx_result(c, ((reduce_fn)c->fn)(c->ctx, x, &axes));
    r = ((reduce_fn)c->fn)(c->ctx, cbx_astype(c->ctx, x, dtype), &axes);
    return cx_result(c, cbx_astype(c->ctx, r, dtype));
}

/* x, axis=None, correction=0.0, keepdims=False */
static PyObject *spread(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    double correction = 0;
    bool keepdims = false;
    cbx_axes axes;

    if (!x || !CX_GET(c, keepdims) || !cx_axes_arg(c, "axis", x, keepdims, &axes)) return NULL;
    if (!CX_GET(c, correction) || !cx_begin(c)) return NULL;
    return cx_result(c, ((spread_fn)c->fn)(c->ctx, x, &axes, correction));
}

/* The axis of a function along one axis; None is allowed of rank 1 (and 0: made rank 1). */
static bool one_axis(cx_call *c, const cbx_array *x, int *axis)
{
    bool none;

    if (!cx_axis_arg(c, "axis", axis, &none)) return false;
    if (!none || cbx_array_ndim(x) < 2) return true;
    PyErr_Format(PyExc_ValueError, "%s: an array of %d axes needs 'axis'", c->name, cbx_array_ndim(x));
    return false;
}

/* x, axis=None, dtype=None, include_initial=False */
static PyObject *cumulative(cx_call *c, along_fn plain, along_fn with_initial)
{
    const cbx_array *x = cx_array_arg(c, "x");
    cbx_dtype dtype = CBX_DTYPE_COUNT;
    bool include_initial;
    int axis = 0;
    cbx_array *r;

    if (!x || !one_axis(c, x, &axis) || !CX_GET(c, dtype, include_initial) || !cx_begin(c)) return NULL;
    if (cbx_array_ndim(x) == 0) x = cbx_expand_dims(c->ctx, x, 0);
    if (dtype != CBX_DTYPE_COUNT) x = cbx_astype(c->ctx, x, dtype);
    r = (include_initial ? with_initial : plain)(c->ctx, x, axis);
    return cx_result(c, dtype != CBX_DTYPE_COUNT ? cbx_astype(c->ctx, r, dtype) : r);
}
static PyObject *do_cumulative_sum(cx_call *c) { return cumulative(c, cbx_cumulative_sum, cbx_cumulative_sum_initial); }
static PyObject *do_cumulative_prod(cx_call *c)
{
    return cumulative(c, cbx_cumulative_prod, cbx_cumulative_prod_initial);
}

/* x, axis=None: cumulative_max and cumulative_min */
static PyObject *running(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    int axis = 0;

    if (!x || !one_axis(c, x, &axis) || !cx_begin(c)) return NULL;
    return cx_result(c, ((along_fn)c->fn)(c->ctx, x, axis));
}

static PyObject *do_diff(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x"), *prepend = NULL, *append = NULL, *parts[3];
    size_t times, n = 0;
    int axis = -1;
    cbx_array *r;

    if (!x || !cx_axis_arg(c, "axis", &axis, NULL) || !CX_GET_AS(c, "n", times) || !CX_GET(c, prepend, append))
        return NULL;
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
    const cbx_array *x = cx_array_arg(c, "x"), **each;
    PyObject *o = cx_arg(c, "q"), *r;
    bool keepdims = false;
    cbx_axes axes;
    cx_samples q;
    double one;

    if (!x || !CX_GET(c, keepdims) || !cx_axes_arg(c, "axis", x, keepdims, &axes)) return NULL;
    if (PyFloat_Check(o) || PyIndex_Check(o) || !PySequence_Check(o)) {
        if (!CX_GET_AS(c, "q", one) || !cx_begin(c)) return NULL;
        return cx_result(c, cbx_percentile(c->ctx, x, one, &axes));
    }
    if (!CX_GET(c, q)) return NULL; /* several: along a first axis */
    each = PyMem_Calloc(q.n + 1, sizeof *each);
    if (!each) return PyErr_NoMemory();
    r = NULL;
    if (cx_begin(c)) {
        for (size_t i = 0; i < q.n; i++) each[i] = cbx_percentile(c->ctx, x, q.x[i], &axes);
        r = cx_result(c, cbx_stack(c->ctx, q.n, each, 0));
    }
    PyMem_Free(each);
    return r;
}

static PyObject *do_average(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x"), *weights = NULL;
    bool keepdims = false;
    cbx_axes axes;

    if (!x || !CX_GET(c, keepdims) || !cx_axes_arg(c, "axis", x, keepdims, &axes)) return NULL;
    if (cx_arg(c, "weights") && !(weights = cx_array_arg(c, "weights"))) return NULL;
    return cx_begin(c) ? cx_result(c, cbx_average(c->ctx, x, weights, &axes)) : NULL;
}

/* clang-format off */
#define AXES "x: Array, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False"
#define AXES_DTYPE "x: Array, /, *, axis: int | Sequence[int] | None = None, dtype: DType | None = None, keepdims: bool = False"
#define AXES_CORRECTION "x: Array, /, *, axis: int | Sequence[int] | None = None, correction: float = 0.0, keepdims: bool = False"
#define CUMULATIVE "x: Array, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False"
#define REDUCTIONS(X) \
    X(all, AXES, "Array", reduction, cbx_all, "Whether all are true.") \
    X(average, "x: Array, /, *, axis: int | Sequence[int] | None = None, weights: Array | None = None, keepdims: bool = False", "Array", do_average, 0, "Mean with weights.") \
    X(any, AXES, "Array", reduction, cbx_any, "Whether one is true.") \
    X(count_nonzero, AXES, "Array", reduction, cbx_count_nonzero, "How many are not zero.") \
    X(cumulative_max, "x: Array, /, *, axis: int | None = None", "Array", running, cbx_cumulative_max, "The greatest so far.") \
    X(cumulative_min, "x: Array, /, *, axis: int | None = None", "Array", running, cbx_cumulative_min, "The least so far.") \
    X(cumulative_prod, CUMULATIVE, "Array", do_cumulative_prod, 0, "Products so far.") \
    X(cumulative_sum, CUMULATIVE, "Array", do_cumulative_sum, 0, "Sums so far.") \
    X(diff, "x: Array, /, *, axis: int = -1, n: int = 1, prepend: Array | None = None, append: Array | None = None", "Array", do_diff, 0, "Differences of neighbours, n times.") \
    X(max, AXES, "Array", reduction, cbx_max, "The greatest; NaN if one is.") \
    X(mean, AXES, "Array", reduction, cbx_mean, "Arithmetic mean.") \
    X(median, AXES, "Array", reduction, cbx_median, "The middle one.") \
    X(min, AXES, "Array", reduction, cbx_min, "The least; NaN if one is.") \
    X(nanmax, AXES, "Array", reduction, cbx_nanmax, "As max, NaN left out.") \
    X(nanmean, AXES, "Array", reduction, cbx_nanmean, "As mean, NaN left out.") \
    X(nanmin, AXES, "Array", reduction, cbx_nanmin, "As min, NaN left out.") \
    X(nanstd, AXES_CORRECTION, "Array", spread, cbx_nanstd, "As std, NaN left out.") \
    X(nansum, AXES, "Array", reduction, cbx_nansum, "As sum, NaN left out.") \
    X(percentile, "x: Array, q: Operand, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False", "Array", do_percentile, 0, "The value that q percent lie below, linear between ranks.") \
    X(prod, AXES_DTYPE, "Array", sum_or_product, cbx_prod, "Product.") \
    X(std, AXES_CORRECTION, "Array", spread, cbx_std, "Standard deviation.") \
    X(sum, AXES_DTYPE, "Array", sum_or_product, cbx_sum, "Sum.") \
    X(var, AXES_CORRECTION, "Array", spread, cbx_var, "Variance.")
/* clang-format on */
CX_FUNCTIONS(cx_reduction_methods, REDUCTIONS)

/* clang-format off */
#define OF_AXES "axis: int | Sequence[int] | None = None, *, keepdims: bool = False"
#define OF_AXES_DTYPE "axis: int | Sequence[int] | None = None, *, dtype: DType | None = None, keepdims: bool = False"
#define OF_AXES_CORRECTION "axis: int | Sequence[int] | None = None, *, correction: float = 0.0, keepdims: bool = False"
#define METHODS(X) \
    X(all, OF_AXES, "Array", reduction, cbx_all, "Whether all are true.") \
    X(any, OF_AXES, "Array", reduction, cbx_any, "Whether one is true.") \
    X(max, OF_AXES, "Array", reduction, cbx_max, "Maximum; NaN if an element is.") \
    X(mean, OF_AXES, "Array", reduction, cbx_mean, "Arithmetic mean.") \
    X(min, OF_AXES, "Array", reduction, cbx_min, "Minimum; NaN if an element is.") \
    X(prod, OF_AXES_DTYPE, "Array", sum_or_product, cbx_prod, "Product.") \
    X(std, OF_AXES_CORRECTION, "Array", spread, cbx_std, "Standard deviation.") \
    X(sum, OF_AXES_DTYPE, "Array", sum_or_product, cbx_sum, "Sum.") \
    X(var, OF_AXES_CORRECTION, "Array", spread, cbx_var, "Variance.")
/* clang-format on */
CX_ARRAY_FUNCTIONS(cx_array_reductions, METHODS)
