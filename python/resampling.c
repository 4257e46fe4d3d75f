/* calibrax_c.statistics: bootstrap, variance components, plans, and the sequences that may be looked at after each value. */
#include "python/things.h"

#include <math.h>

static const char *const statistics[] = { "mean", "median", "quantile", "trimmed-mean", "stddev" };
static const char *const methods[] = { "percentile", "basic", "bca", "studentised" };
static const char *const comparisons[] = { "difference", "ratio" };

/* ---- bootstrap ---- */

/* Called from the library's threads, without the interpreter's lock. */
static double call_statistic(const double *x, size_t n, const double *y, size_t m, void *user)
{
    PyGILState_STATE state = PyGILState_Ensure();
    cx_callback *cb = user;
    double v = 0;

    if (!cb->type) {
        PyObject *r = y ? PyObject_CallFunction(cb->function, "NN", cx_numbers_object(x, n), cx_numbers_object(y, m))
                        : PyObject_CallFunction(cb->function, "(N)", cx_numbers_object(x, n));
        v = r ? PyFloat_AsDouble(r) : 0;
        Py_XDECREF(r);
        if (PyErr_Occurred()) cx_callback_caught(cb);
    }
    PyGILState_Release(state);
    return v;
}

static bool read_statistic(cx_call *c, int i, cx_callback *cb, cbx_boot_opts *o)
{
    int v = (int)o->statistic;

    if (c->arg[i] && !PyUnicode_Check(c->arg[i]) && PyCallable_Check(c->arg[i])) {
        cb->function = c->arg[i];
        o->fn = call_statistic;
        o->user = cb;
        return true;
    }
    if (!cx_word_arg(c, i, statistics, CBX_LEN(statistics), &v)) return false;
    o->statistic = (cbx_boot_statistic)v;
    return true;
}

static PyObject *do_bootstrap(cx_call *c, cx_fn fn)
{
    static const cx_option options[] = {
        CX_OPTION(3, NUMBER, cbx_boot_opts, parameter), CX_OPTION_WORD(4, cbx_boot_opts, compare, comparisons),
        CX_OPTION(5, FLAG, cbx_boot_opts, paired),      CX_OPTION_WORD(6, cbx_boot_opts, method, methods),
        CX_OPTION(7, NUMBER, cbx_boot_opts, level),     CX_OPTION(8, WHOLE, cbx_boot_opts, resamples),
        CX_OPTION(9, WHOLE, cbx_boot_opts, seed),       CX_OPTION(10, WHOLE, cbx_boot_opts, threads)
    };
    cbx_boot_opts o = CBX_BOOT_OPTS_INIT;
    cbx_err err = CBX_ERR_INIT;
    cx_callback cb = { 0 };
    cbx_interval out;
    cbx_status status;
    cx_samples x, y;

    (void)fn;
    if (!cx_two_samples(c, &x, &y, false) || !read_statistic(c, 2, &cb, &o) ||
        !cx_options(c, options, CBX_LEN(options), &o))
        return NULL;
    c->elements = CX_UNLOCK_ELEMENTS; /* it takes its time, and its threads call back */
    if (!cx_begin(c)) return NULL;
    status = cbx_stat_bootstrap(c->ctx, x.x, x.n, y.x, y.n, &o, &out, &err);
    cx_lock(c);
    return cx_callback_done(&cb) ? NULL : cx_answer(c, status, &err, CX_INTERVAL, &out);
}

static PyObject *do_bootstrap_nested(cx_call *c, cx_fn fn)
{
    static const cx_option options[] = {
        CX_OPTION_WORD(2, cbx_boot_opts, statistic, statistics), CX_OPTION_WORD(3, cbx_boot_opts, compare, comparisons),
        CX_OPTION_WORD(4, cbx_boot_opts, method, methods),       CX_OPTION(5, NUMBER, cbx_boot_opts, level),
        CX_OPTION(6, WHOLE, cbx_boot_opts, resamples),           CX_OPTION(7, WHOLE, cbx_boot_opts, seed)
    };
    bool two = c->arg[1] && c->arg[1] != Py_None;
    cbx_boot_opts o = CBX_BOOT_OPTS_INIT;
    cbx_err err = CBX_ERR_INIT;
    cx_groups x = { 0 }, y = { 0 };
    PyObject *r = NULL;
    cbx_interval out;

    (void)fn;
    o.method = CBX_BOOT_PERCENTILE;
    if (cx_groups_arg(c, 0, &x) && (!two || cx_groups_arg(c, 1, &y)) && cx_options(c, options, CBX_LEN(options), &o) &&
        cx_begin(c)) {
        cbx_nested a = { x.x, x.sizes, x.n }, b = { y.x, y.sizes, y.n };
        cbx_status status = cbx_stat_bootstrap_nested(c->ctx, &a, two ? &b : NULL, &o, &out, &err);
        r = cx_answer(c, status, &err, CX_INTERVAL, &out);
    }
    cx_groups_free(&x);
    cx_groups_free(&y);
    return r;
}

/* ---- variance and plans ---- */

static PyObject *do_components(cx_call *c, cx_fn fn)
{
    cbx_err err = CBX_ERR_INIT;
    cx_groups g = { 0 };
    cbx_components out;
    PyObject *r = NULL;

    (void)fn;
    if (cx_groups_arg(c, 0, &g)) {
        cbx_nested x = { g.x, g.sizes, g.n };
        r = cx_answer(c, cbx_stat_components(&x, &out, &err), &err, CX_COMPONENTS, &out);
    }
    cx_groups_free(&g);
    return r;
}

static PyObject *do_repetitions(cx_call *c, cx_fn fn)
{
    cx_samples variance, cost;
    cbx_err err = CBX_ERR_INIT;
    size_t most = 1000, *out;
    PyObject *r = NULL;

    (void)fn;
    if (!cx_two_samples(c, &variance, &cost, true) || !cx_size_arg(c, 2, &most)) return NULL;
    out = PyMem_Calloc(variance.n + 1, sizeof *out);
    if (!out) return PyErr_NoMemory();
    if (cx_fine(c, cbx_stat_repetitions(variance.x, cost.x, variance.n, most, out, &err), &err))
        r = cx_wholes_object(out, variance.n - 1);
    PyMem_Free(out);
    return r;
}

static PyObject *do_launches_for(cx_call *c, cx_fn fn)
{
    double variance = 0, half = 0, level = 0.95;
    cbx_err err = CBX_ERR_INIT;
    size_t out = 0;

    (void)fn;
    if (!cx_double_arg(c, 0, &variance) || !cx_double_arg(c, 1, &half) || !cx_double_arg(c, 2, &level)) return NULL;
    return cx_fine(c, cbx_stat_launches_for(variance, half, level, &out, &err), &err) ? PyLong_FromSize_t(out) : NULL;
}

static PyObject *do_power(cx_call *c, cx_fn fn)
{
    double a = 0, b = 0;
    size_t n = 0;

    if (!cx_size_arg(c, 0, &n) || !cx_double_arg(c, 1, &a) || !cx_double_arg(c, 2, &b)) return NULL;
    return PyFloat_FromDouble(((double (*)(size_t, double, double))fn)(n, a, b));
}

static PyObject *do_detectable_ratio(cx_call *c, cx_fn fn)
{
    static const cx_option options[] = { CX_OPTION(2, NUMBER, cbx_detectable_opts, alpha),
                                         CX_OPTION(3, NUMBER, cbx_detectable_opts, power),
                                         CX_OPTION(4, WHOLE, cbx_detectable_opts, runs),
                                         CX_OPTION(5, WHOLE, cbx_detectable_opts, seed) };
    cbx_detectable_opts o = CBX_DETECTABLE_OPTS_INIT;
    cbx_err err = CBX_ERR_INIT;
    cbx_status status;
    double out = 0;
    size_t n = 0;
    cx_samples x;

    (void)fn;
    if (!cx_samples_arg(c, 0, &x) || !cx_size_arg(c, 1, &n) || !cx_options(c, options, CBX_LEN(options), &o))
        return NULL;
    c->elements = CX_UNLOCK_ELEMENTS;
    if (!cx_begin(c)) return NULL;
    status = cbx_stat_detectable_ratio(c->ctx, x.x, x.n, n, &o, &out, &err);
    return cx_answer_number(c, status, &err, out);
}

/* clang-format off */
#define RESAMPLING(X) \
    X(bootstrap, "x, y=None, /, statistic='mean', *, parameter=0.0, compare='difference', paired=False, method='bca', level=0.95, resamples=10000, seed=0, threads=0", do_bootstrap, 0, "Bootstrap interval of a statistic ('mean', 'median', 'quantile', 'trimmed-mean', 'stddev', or a function of tuples), of one sample or two.") \
    X(bootstrap_nested, "x, y=None, /, statistic='mean', *, compare='difference', method='percentile', level=0.95, resamples=10000, seed=0", do_bootstrap_nested, 0, "Bootstrap of launches with epochs: x is a sequence of sequences.") \
    X(components, "x, /", do_components, 0, "Variance within and between groups; x is a sequence of sequences.") \
    X(repetitions, "variance, cost, /, most=1000", do_repetitions, 0, "Kalibera and Jones: repetitions of each level, lowest first.") \
    X(launches_for, "variance, half, /, level=0.95", do_launches_for, 0, "Launches for which the interval of their mean is that narrow.") \
    X(power_two, "n, d, /, alpha=0.05", do_power, cbx_stat_power_two, "Power of a t test of two samples of n.") \
    X(power_one, "n, d, /, alpha=0.05", do_power, cbx_stat_power_one, "Power of a t test of n values or pairs.") \
    X(detectable_two, "n, alpha, power, /", do_power, cbx_stat_detectable_two, "Smallest standardised difference found with that power.") \
    X(detectable_one, "n, alpha, power, /", do_power, cbx_stat_detectable_one, "The same of one sample.") \
    X(detectable_ratio, "pilot, n, /, *, alpha=0.05, power=0.9, runs=2000, seed=0", do_detectable_ratio, 0, "Smallest relative slow-down that n launches a side show.")
/* clang-format on */
CX_FUNCTIONS(cx_resampling_methods, RESAMPLING)

/* ---- Sequence ---- */

static const char *const kinds[] = { "normal", "bounded", "asymptotic" };

static void sequence_free(cx_thing *t) { PyMem_Free(t->handle); }

static PyObject *sequence_make(cx_call *c, cx_fn fn)
{
    static const cx_option options[] = { CX_OPTION_WORD(0, cbx_sequence_opts, kind, kinds),
                                         CX_OPTION(1, NUMBER, cbx_sequence_opts, level),
                                         CX_OPTION(2, NUMBER, cbx_sequence_opts, planned),
                                         CX_OPTION(3, NUMBER, cbx_sequence_opts, low),
                                         CX_OPTION(4, NUMBER, cbx_sequence_opts, high) };
    cbx_sequence_opts o = CBX_SEQUENCE_OPTS_INIT;
    cbx_err err = CBX_ERR_INIT;
    cx_thing *t;

    (void)fn;
    if (!cx_options(c, options, CBX_LEN(options), &o) || !(t = cx_thing_new(c->st, CX_SEQUENCE))) return NULL;
    t->handle = PyMem_Calloc(1, sizeof(cbx_sequence));
    if (!t->handle) PyErr_NoMemory();
    return cx_thing_made(t, t->handle ? cbx_sequence_init(t->handle, &o, &err) : CBX_ENOMEM, &err);
}

static PyObject *sequence_add(cx_call *c, cx_fn fn)
{
    cx_thing *t = cx_thing_self(c);
    cbx_err err = CBX_ERR_INIT;
    double x = 0;

    (void)fn;
    if (!t || !cx_double_arg(c, 0, &x) || !cx_fine(c, cbx_sequence_add(t->handle, x, &err), &err)) return NULL;
    Py_RETURN_NONE;
}

static PyObject *sequence_add_ratio(cx_call *c, cx_fn fn)
{
    cx_thing *t = cx_thing_self(c);
    cbx_err err = CBX_ERR_INIT;
    double a = 0, b = 0;

    (void)fn;
    if (!t || !cx_double_arg(c, 0, &a) || !cx_double_arg(c, 1, &b)) return NULL;
    if (!cx_fine(c, cbx_sequence_add_ratio(t->handle, a, b, &err), &err)) return NULL;
    Py_RETURN_NONE;
}

static PyObject *sequence_interval(cx_call *c, cx_fn fn)
{
    cx_thing *t = cx_thing_self(c);
    cbx_interval out;

    if (!t) return NULL;
    out = ((cbx_interval(*)(const cbx_sequence *))fn)(t->handle);
    return cx_answer_object(c->st, CX_INTERVAL, &out);
}

/* clang-format off */
#define SEQUENCE(X) \
    X(add, "x, /", sequence_add, 0, "One more value.") \
    X(add_ratio, "a, b, /", sequence_add_ratio, 0, "log(a / b) as one more value.") \
    X(mean, "/", sequence_interval, cbx_sequence_mean, "Interval of the mean so far.") \
    X(ratio, "/", sequence_interval, cbx_sequence_ratio, "The same, exponentiated: of the geometric mean ratio.")
/* clang-format on */
CX_TYPE_FUNCTIONS(sequence_methods, SEQUENCE)

const cx_thing_type cx_sequence_thing = {
    "calibrax_c.statistics.Sequence",
    "Sequence(kind='normal', *, level=0.95, planned=30.0, low=0.0, high=0.0)\n--\n\n"
    "A confidence sequence: an interval that may be looked at after each value. kind: 'normal', 'bounded' (by low and "
    "high), 'asymptotic'.",
    sequence_free,
    sequence_methods,
    { "Sequence", "kind='normal', *, level=0.95, planned=30.0, low=0.0, high=0.0", sequence_make, 0 },
};
