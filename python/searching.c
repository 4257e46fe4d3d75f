/* Searching, sorting, counting, gathering and scattering. */
#include <string.h>

#include "python/state.h"

/* The place of a winner: x, axis=None, keepdims=False. */
static PyObject *winner(cx_call *c, cx_fn fn)
{
    const cbx_array *x = cx_array_arg(c, 0);
    bool keep = false, none;
    cbx_axes axes;
    int axis = 0;

    if (!x || !cx_bool_arg(c, 2, &keep) || !cx_axis_arg(c, 1, &axis, &none)) return NULL;
    if (!cx_axes_arg(c, 1, x, keep, &axes) || !cx_begin(c)) return NULL;
    return cx_result(c, ((cbx_array * (*)(cbx_ctx *, const cbx_array *, const cbx_axes *)) fn)(c->ctx, x, &axes));
}

static PyObject *do_nonzero(cx_call *c, cx_fn fn)
{
    const cbx_array *x = cx_array_arg(c, 0);
    cbx_array *all, *rows[CBX_MAX_RANK] = { 0 };
    int n;

    (void)fn;
    if (!x) return NULL;
    n = cbx_array_ndim(x);
    if (n == 0) return cx_raise(CBX_ESHAPE, "nonzero: an array of rank 0 has no indices");
    if (!cx_begin(c)) return NULL;
    all = cbx_nonzero(c->ctx, x);
    for (int k = 0; k < n; k++) rows[k] = cbx_index(c->ctx, all, 0, k);
    return cx_results(c, (size_t)n, rows, true);
}

static PyObject *do_argwhere(cx_call *c, cx_fn fn)
{
    const cbx_array *x = cx_array_arg(c, 0);

    (void)fn;
    return x && cx_begin(c) ? cx_result(c, cbx_argwhere(c->ctx, x)) : NULL;
}

/* One of two words. */
static bool word(cx_call *c, int i, const char *no, const char *yes, bool *out)
{
    *out = false;
    if (!c->arg[i]) return true;
    if (PyUnicode_Check(c->arg[i])) {
        *out = PyUnicode_CompareWithASCIIString(c->arg[i], yes) == 0;
        if (*out || PyUnicode_CompareWithASCIIString(c->arg[i], no) == 0) return true;
    }
    PyErr_Format(PyExc_ValueError, "%s takes '%s' or '%s', not %R", c->name, no, yes, c->arg[i]);
    return false;
}

static PyObject *do_searchsorted(cx_call *c, cx_fn fn)
{
    const cbx_array *edges = cx_array_arg(c, 0), *sorter = NULL, *values;
    cx_operand v;
    bool right;
    int is;

    (void)fn;
    if (!edges || (is = cx_operand_from(c, c->arg[1], &v)) < 0) return NULL;
    if (is == 0) return PyErr_Format(PyExc_TypeError, "searchsorted takes Arrays and numbers, not %R", c->arg[1]);
    if (!word(c, 2, "left", "right", &right)) return NULL;
    if (c->arg[3] && c->arg[3] != Py_None && !(sorter = cx_array_arg(c, 3))) return NULL;
    if ((!v.array && !cx_fits(cbx_array_dtype(edges), &v)) || !cx_begin(c)) return NULL;
    values = v.array ? v.array : cx_weak(c, edges, &v);
    return cx_result(c, sorter ? cbx_searchsorted_sorter(c->ctx, edges, values, right, sorter)
                               : cbx_searchsorted(c->ctx, edges, values, right));
}

/* x, axis=-1, descending=False, stable=True: always stable */
static PyObject *ordered(cx_call *c, cx_fn fn)
{
    const cbx_array *x = cx_array_arg(c, 0);
    bool descending = false, stable = true;
    int axis = -1;

    if (!x || !cx_axis_arg(c, 1, &axis, NULL)) return NULL;
    if (!cx_bool_arg(c, 2, &descending) || !cx_bool_arg(c, 3, &stable) || !cx_begin(c)) return NULL;
    return cx_result(c, ((cbx_array * (*)(cbx_ctx *, const cbx_array *, int, bool)) fn)(c->ctx, x, axis, descending));
}

static PyObject *do_take(cx_call *c, cx_fn fn)
{
    const cbx_array *x = cx_array_arg(c, 0), *indices = x ? cx_array_arg(c, 1) : NULL;
    int axis = 0;
    bool none;

    (void)fn;
    c->domain_error = PyExc_IndexError;
    if (!indices || !cx_axis_arg(c, 2, &axis, &none)) return NULL;
    if (none && cbx_array_ndim(x) != 1)
        return PyErr_Format(PyExc_ValueError, "take: an array of %d axes needs 'axis'", cbx_array_ndim(x));
    return cx_begin(c) ? cx_result(c, cbx_take(c->ctx, x, indices, axis)) : NULL;
}

static PyObject *do_take_along_axis(cx_call *c, cx_fn fn)
{
    const cbx_array *x = cx_array_arg(c, 0), *indices = x ? cx_array_arg(c, 1) : NULL;
    int axis = -1;

    (void)fn;
    c->domain_error = PyExc_IndexError;
    if (!indices || !cx_axis_arg(c, 2, &axis, NULL) || !cx_begin(c)) return NULL;
    return cx_result(c, cbx_take_along_axis(c->ctx, x, indices, axis));
}

static PyObject *do_scatter(cx_call *c, cx_fn fn)
{
    static const char *const modes[] = { "set", "add", "multiply", "min", "max" }; /* as cbx_scatter_mode */
    const cbx_array *in[3];
    size_t mode = 0;
    int axis = 0;

    (void)fn;
    c->domain_error = PyExc_IndexError;
    for (int i = 0; i < 3; i++)
        if (!(in[i] = cx_array_arg(c, i))) return NULL;
    if (!cx_axis_arg(c, 3, &axis, NULL)) return NULL;
    while (c->arg[4] && mode < CBX_LEN(modes) &&
           !(PyUnicode_Check(c->arg[4]) && PyUnicode_CompareWithASCIIString(c->arg[4], modes[mode]) == 0))
        mode++;
    if (mode == CBX_LEN(modes)) return cx_raise(CBX_EINVAL, "scatter: mode may be set, add, multiply, min or max");
    if (!cx_begin(c)) return NULL;
    return cx_result(c, cbx_scatter(c->ctx, in[0], in[1], in[2], axis, (cbx_scatter_mode)mode));
}

/* x, ids, segments */
static PyObject *segments(cx_call *c, cx_fn fn)
{
    const cbx_array *x = cx_array_arg(c, 0), *ids = x ? cx_array_arg(c, 1) : NULL;
    int64_t n = 0;

    if (!ids || !cx_int_arg(c, 2, &n)) return NULL;
    if (n < 0) return cx_raise(CBX_EINVAL, "the number of segments is negative");
    if (!cx_begin(c)) return NULL;
    return cx_result(
        c, ((cbx_array * (*)(cbx_ctx *, const cbx_array *, const cbx_array *, size_t)) fn)(c->ctx, x, ids, (size_t)n));
}

static PyObject *do_digitize(cx_call *c, cx_fn fn)
{
    const cbx_array *x = cx_array_arg(c, 0), *edges = x ? cx_array_arg(c, 1) : NULL;

    (void)fn;
    return edges && cx_begin(c) ? cx_result(c, cbx_digitize(c->ctx, x, edges)) : NULL;
}

/* An array that may be None. */
static bool maybe_array(cx_call *c, int i, const cbx_array **out)
{
    *out = NULL;
    return !c->arg[i] || c->arg[i] == Py_None || (*out = cx_array_arg(c, i));
}

static PyObject *do_bincount(cx_call *c, cx_fn fn)
{
    const cbx_array *x = cx_array_arg(c, 0), *weights;
    int64_t least = 0;

    (void)fn;
    if (!x || !maybe_array(c, 1, &weights) || !cx_int_arg(c, 2, &least)) return NULL;
    if (least < 0) return cx_raise(CBX_EINVAL, "bincount: minlength is negative");
    return cx_begin(c) ? cx_result(c, cbx_bincount(c->ctx, x, weights, (size_t)least)) : NULL;
}

static PyObject *do_histogram(cx_call *c, cx_fn fn)
{
    const cbx_array *x = cx_array_arg(c, 0), *edges = x ? cx_array_arg(c, 1) : NULL, *weights;

    (void)fn;
    if (!edges || !maybe_array(c, 2, &weights)) return NULL;
    return cx_begin(c) ? cx_result(c, cbx_histogram(c->ctx, x, edges, weights)) : NULL;
}

/* clang-format off */
#define ORDER "x, /, *, axis=-1, descending=False, stable=True"
#define SEGMENTS "x, ids, segments, /"
#define SEARCHING(X) \
    X(argwhere, "x, /", do_argwhere, 0, "Places of elements that are not zero: a row for each.") \
    X(argmax, "x, /, *, axis=None, keepdims=False", winner, cbx_argmax, "Place of the first greatest.") \
    X(argmin, "x, /, *, axis=None, keepdims=False", winner, cbx_argmin, "Place of the first least.") \
    X(argsort, ORDER, ordered, cbx_argsort, "Places in rising order.") \
    X(bincount, "x, /, *, weights=None, minlength=0", do_bincount, 0, "How often each whole number occurs, or sums of weights.") \
    X(digitize, "x, edges, /", do_digitize, 0, "Bins of values between edges.") \
    X(histogram, "x, edges, /, *, weights=None", do_histogram, 0, "Counts between edges, or sums of weights.") \
    X(nonzero, "x, /", do_nonzero, 0, "Places of elements that are not zero: an array of indices for each axis.") \
    X(scatter, "x, indices, updates, /, *, axis=0, mode='set'", do_scatter, 0, "x with updates joined in at indices: set, add, multiply, min or max.") \
    X(searchsorted, "x1, x2, /, *, side='left', sorter=None", do_searchsorted, 0, "Where x2 would go into sorted x1.") \
    X(segment_max, SEGMENTS, segments, cbx_segment_max, "The greatest along the first axis by segment number.") \
    X(segment_mean, SEGMENTS, segments, cbx_segment_mean, "Means along the first axis by segment number.") \
    X(segment_min, SEGMENTS, segments, cbx_segment_min, "The least along the first axis by segment number.") \
    X(segment_prod, SEGMENTS, segments, cbx_segment_prod, "Products along the first axis by segment number.") \
    X(segment_sum, SEGMENTS, segments, cbx_segment_sum, "Sums along the first axis by segment number.") \
    X(sort, ORDER, ordered, cbx_sort, "In rising order, NaN last.") \
    X(take, "x, indices, /, *, axis=None", do_take, 0, "Elements at indices of an axis.") \
    X(take_along_axis, "x, indices, /, *, axis=-1", do_take_along_axis, 0, "Elements at indices of their own lane.")
/* clang-format on */
CX_FUNCTIONS(cx_searching_methods, SEARCHING)
