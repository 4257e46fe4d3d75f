/* Reductions and cumulative functions. */
#include "python/state.h"

typedef cbx_array *(*reduce_fn)(cbx_ctx *, const cbx_array *, const cbx_axes *);
typedef cbx_array *(*spread_fn)(cbx_ctx *, const cbx_array *, const cbx_axes *, double);
typedef cbx_array *(*along_fn)(cbx_ctx *, const cbx_array *, int);

/* x, axis=None, keepdims=False */
static PyObject *reduction(cx_call *c, cx_fn fn)
{
    const cbx_array *x = cx_array_arg(c, 0);
    bool keep = false;
    cbx_axes axes;

    if (!x || !cx_bool_arg(c, 2, &keep) || !cx_axes_arg(c, 1, x, keep, &axes) || !cx_begin(c)) return NULL;
    return cx_result(c, ((reduce_fn)fn)(c->ctx, x, &axes));
}

/* x, axis=None, dtype=None, keepdims=False: summed in the dtype asked for */
static PyObject *sum_or_product(cx_call *c, cx_fn fn)
{
    const cbx_array *x = cx_array_arg(c, 0);
    cbx_dtype t = CBX_DTYPE_COUNT;
    bool keep = false;
    cbx_axes axes;
    cbx_array *r;

    if (!x || !cx_bool_arg(c, 3, &keep) || !cx_axes_arg(c, 1, x, keep, &axes)) return NULL;
    if (!cx_dtype_arg(c, 2, &t) || !cx_begin(c)) return NULL;
    if (t == CBX_DTYPE_COUNT) return cx_result(c, ((reduce_fn)fn)(c->ctx, x, &axes));
    r = ((reduce_fn)fn)(c->ctx, cbx_astype(c->ctx, x, t), &axes);
    return cx_result(c, cbx_astype(c->ctx, r, t));
}

/* x, axis=None, correction=0.0, keepdims=False */
static PyObject *spread(cx_call *c, cx_fn fn)
{
    const cbx_array *x = cx_array_arg(c, 0);
    double correction = 0;
    bool keep = false;
    cbx_axes axes;

    if (!x || !cx_bool_arg(c, 3, &keep) || !cx_axes_arg(c, 1, x, keep, &axes)) return NULL;
    if (!cx_double_arg(c, 2, &correction) || !cx_begin(c)) return NULL;
    return cx_result(c, ((spread_fn)fn)(c->ctx, x, &axes, correction));
}

/* The axis of a function along one axis; None is allowed of rank 1 (and 0: made rank 1). */
static bool one_axis(cx_call *c, int i, const cbx_array *x, int *axis)
{
    bool none;

    if (!cx_axis_arg(c, i, axis, &none)) return false;
    if (!none || cbx_array_ndim(x) < 2) return true;
    PyErr_Format(PyExc_ValueError, "%s: an array of %d axes needs 'axis'", c->name, cbx_array_ndim(x));
    return false;
}

/* x, axis=None, dtype=None, include_initial=False */
static PyObject *cumulative(cx_call *c, along_fn plain, along_fn with_initial)
{
    const cbx_array *x = cx_array_arg(c, 0);
    cbx_dtype t = CBX_DTYPE_COUNT;
    bool include = false;
    int axis = 0;
    cbx_array *r;

    if (!x || !one_axis(c, 1, x, &axis) || !cx_dtype_arg(c, 2, &t) || !cx_bool_arg(c, 3, &include)) return NULL;
    if (!cx_begin(c)) return NULL;
    if (cbx_array_ndim(x) == 0) x = cbx_expand_dims(c->ctx, x, 0);
    if (t != CBX_DTYPE_COUNT) x = cbx_astype(c->ctx, x, t);
    r = (include ? with_initial : plain)(c->ctx, x, axis);
    return cx_result(c, t != CBX_DTYPE_COUNT ? cbx_astype(c->ctx, r, t) : r);
}
static PyObject *do_cumulative_sum(cx_call *c, cx_fn fn)
{
    (void)fn;
    return cumulative(c, cbx_cumulative_sum, cbx_cumulative_sum_initial);
}
static PyObject *do_cumulative_prod(cx_call *c, cx_fn fn)
{
    (void)fn;
    return cumulative(c, cbx_cumulative_prod, cbx_cumulative_prod_initial);
}

/* x, axis=None: cumulative_max and cumulative_min */
static PyObject *running(cx_call *c, cx_fn fn)
{
    const cbx_array *x = cx_array_arg(c, 0);
    int axis = 0;

    if (!x || !one_axis(c, 1, x, &axis) || !cx_begin(c)) return NULL;
    return cx_result(c, ((along_fn)fn)(c->ctx, x, axis));
}

static PyObject *do_diff(cx_call *c, cx_fn fn)
{
    const cbx_array *x = cx_array_arg(c, 0), *ends[3];
    int axis = -1;
    int64_t times = 1;
    size_t n = 0;
    cbx_array *r;

    (void)fn;
    if (!x || !cx_axis_arg(c, 1, &axis, NULL) || !cx_int_arg(c, 2, &times)) return NULL;
    if (times < 0) return cx_raise(CBX_EINVAL, "diff: n is negative");
    for (int i = 3; i < 5; i++) {
        const cbx_array *end = c->arg[i] && c->arg[i] != Py_None ? cx_array_arg(c, i) : NULL;
        if (PyErr_Occurred()) return NULL;
        if (i == 4) ends[n++] = x;
        if (end && i == 3) ends[n++] = end;
        if (end && i == 4) ends[n++] = end;
    }
    if (!cx_begin(c)) return NULL;
    r = n > 1 ? cbx_concat(c->ctx, n, ends, axis) : cbx_scope_hold(c->ctx, cbx_array_ref(x));
    while (times-- > 0) r = cbx_diff(c->ctx, r, axis);
    return cx_result(c, r);
}

static PyObject *do_percentile(cx_call *c, cx_fn fn)
{
    const cbx_array *x = cx_array_arg(c, 0);
    bool keep = false;
    cbx_axes axes;
    double q = 0;

    (void)fn;
    if (!x || !cx_double_arg(c, 1, &q) || !cx_bool_arg(c, 3, &keep) || !cx_axes_arg(c, 2, x, keep, &axes)) return NULL;
    return cx_begin(c) ? cx_result(c, cbx_percentile(c->ctx, x, q, &axes)) : NULL;
}

static PyObject *do_average(cx_call *c, cx_fn fn)
{
    const cbx_array *x = cx_array_arg(c, 0), *weights = NULL;
    bool keep = false;
    cbx_axes axes;

    (void)fn;
    if (!x || !cx_bool_arg(c, 3, &keep) || !cx_axes_arg(c, 1, x, keep, &axes)) return NULL;
    if (c->arg[2] && c->arg[2] != Py_None && !(weights = cx_array_arg(c, 2))) return NULL;
    return cx_begin(c) ? cx_result(c, cbx_average(c->ctx, x, weights, &axes)) : NULL;
}

/* clang-format off */
#define AXES "x, /, *, axis=None, keepdims=False"
#define AXES_DTYPE "x, /, *, axis=None, dtype=None, keepdims=False"
#define AXES_CORRECTION "x, /, *, axis=None, correction=0.0, keepdims=False"
#define CUMULATIVE "x, /, *, axis=None, dtype=None, include_initial=False"
#define REDUCTIONS(X) \
    X(all, AXES, reduction, cbx_all, "Whether all are true.") \
    X(average, "x, /, *, axis=None, weights=None, keepdims=False", do_average, 0, "Mean with weights.") \
    X(any, AXES, reduction, cbx_any, "Whether one is true.") \
    X(count_nonzero, AXES, reduction, cbx_count_nonzero, "How many are not zero.") \
    X(cumulative_max, "x, /, *, axis=None", running, cbx_cumulative_max, "The greatest so far.") \
    X(cumulative_min, "x, /, *, axis=None", running, cbx_cumulative_min, "The least so far.") \
    X(cumulative_prod, CUMULATIVE, do_cumulative_prod, 0, "Products so far.") \
    X(cumulative_sum, CUMULATIVE, do_cumulative_sum, 0, "Sums so far.") \
    X(diff, "x, /, *, axis=-1, n=1, prepend=None, append=None", do_diff, 0, "Differences of neighbours, n times.") \
    X(max, AXES, reduction, cbx_max, "The greatest; NaN if one is.") \
    X(mean, AXES, reduction, cbx_mean, "Arithmetic mean.") \
    X(median, AXES, reduction, cbx_median, "The middle one.") \
    X(min, AXES, reduction, cbx_min, "The least; NaN if one is.") \
    X(nanmax, AXES, reduction, cbx_nanmax, "As max, NaN left out.") \
    X(nanmean, AXES, reduction, cbx_nanmean, "As mean, NaN left out.") \
    X(nanmin, AXES, reduction, cbx_nanmin, "As min, NaN left out.") \
    X(nanstd, AXES_CORRECTION, spread, cbx_nanstd, "As std, NaN left out.") \
    X(nansum, AXES, reduction, cbx_nansum, "As sum, NaN left out.") \
    X(percentile, "x, q, /, *, axis=None, keepdims=False", do_percentile, 0, "The value that q percent lie below, linear between ranks.") \
    X(prod, AXES_DTYPE, sum_or_product, cbx_prod, "Product.") \
    X(std, AXES_CORRECTION, spread, cbx_std, "Standard deviation.") \
    X(sum, AXES_DTYPE, sum_or_product, cbx_sum, "Sum.") \
    X(var, AXES_CORRECTION, spread, cbx_var, "Variance.")
/* clang-format on */
CX_FUNCTIONS(cx_reduction_methods, REDUCTIONS)
