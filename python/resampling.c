/* calibrax_c.statistics: bootstrap, variance components, plans, and the sequences that may be
 * looked at after each value. */
#include "python/objects.h"

#include <math.h>

/* ---- bootstrap ---- */

static bool read_statistic(cx_call *c, cx_callback *cb, cbx_boot_opts *o)
{
    PyObject *f = cx_arg(c, "statistic");

    if (f && !PyUnicode_Check(f) && PyCallable_Check(f)) {
        cb->function = f;
        o->fn = cx_callback_statistic;
        o->user = cb;
        return true;
    }
    return CX_GET(c, o->statistic);
}

static PyObject *do_bootstrap(cx_call *c)
{
    cbx_boot_opts o = CBX_BOOT_OPTS_INIT;
    cx_callback cb = { 0 };
    cbx_interval out;
    cx_samples x, y;

    o.stop = c->stop;
    if (!CX_GET(c, x, y) || !read_statistic(c, &cb, &o) ||
        !CX_GET(c, o.parameter, o.compare, o.paired, o.method, o.level, o.resamples, o.seed, o.threads))
        return NULL;
    if (!cx_begin_long(c)) return NULL; /* it takes its time, and its threads call back */
    return cx_answer_called(c, &cb, cbx_stat_bootstrap(c->ctx, x.x, x.n, y.x, y.n, &o, &out, &c->err), CX_INTERVAL,
                            &out);
}

CX_RETURN(do_bootstrap_nested, (cbx_boot_opts o = CBX_BOOT_OPTS_INIT; cbx_interval out; cx_groups x, y),
          (o.method = CBX_BOOT_PERCENTILE, o.stop = c->stop,
           CX_GET(c, x, y, o.statistic, o.compare, o.method, o.level, o.resamples, o.seed)) &&
              cx_begin(c),
          cx_answer(c,
                    cbx_stat_bootstrap_nested(c->ctx, &(cbx_nested){ x.x, x.sizes, x.n },
                                              cx_arg(c, "y") ? &(cbx_nested){ y.x, y.sizes, y.n } : NULL, &o, &out,
                                              &c->err),
                    CX_INTERVAL, &out))

/* ---- variance and plans ---- */

CX_RETURN(do_components, (cbx_components out; cx_groups x), CX_GET(c, x),
          cx_answer(c, cbx_stat_components(&(cbx_nested){ x.x, x.sizes, x.n }, &out, &c->err), CX_COMPONENTS, &out))

CX_RETURN(do_repetitions, (cx_samples variance, cost; size_t maximum, *out),
          CX_GET(c, variance, cost) && cx_same_length(c, &variance, &cost) && CX_GET(c, maximum) &&
              (out = cx_alloc(c, variance.n, sizeof *out)) &&
              cx_fine(c, cbx_stat_repetitions(variance.x, cost.x, variance.n, maximum, out, &c->err)),
          cx_wholes_object(out, variance.n - 1))

CX_RETURN(do_launches_for, (double variance = 0, half = 0, level = 0.95; size_t out = 0),
          CX_GET(c, variance, half, level) && cx_fine(c, cbx_stat_launches_for(variance, half, level, &out, &c->err)),
          PyLong_FromSize_t(out))

CX_RETURN(do_power, (double v[3]; size_t n), CX_GET(c, n) && cx_numbers(c, 3, v),
          PyFloat_FromDouble(((double (*)(size_t, double, double))c->fn)(n, v[1], v[2])))

CX_RETURN(do_detectable_ratio,
          (cbx_detectable_opts o = CBX_DETECTABLE_OPTS_INIT; cx_samples pilot; double out; size_t n),
          CX_GET(c, pilot, n, o.alpha, o.power, o.runs, o.seed) && cx_begin_long(c) &&
              cx_fine(c, cbx_stat_detectable_ratio(c->ctx, pilot.x, pilot.n, n, &o, &out, &c->err)),
          PyFloat_FromDouble(out))

/* clang-format off */
#define RESAMPLING(X) \
    X(bootstrap, "x: Samples, y: Samples | None = None, /, statistic: 'mean' | 'median' | 'quantile' | 'trimmed-mean' | 'stddev' | Callable[..., float] = 'mean', *, parameter: float = 0.0, compare: 'difference' | 'ratio' = 'difference', paired: bool = False, method: 'percentile' | 'basic' | 'bca' | 'studentised' = 'bca', level: float = 0.95, resamples: int = 10000, seed: int = 0, threads: int = 0", "Interval", do_bootstrap, 0, "Bootstrap interval of a statistic ('mean', 'median', 'quantile', 'trimmed-mean', 'stddev', or a function of tuples) of one or two samples.\n\n>>> statistics.bootstrap([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8]).value == sum([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8]) / 7\nTrue") \
    X(bootstrap_nested, "x: Groups, y: Groups | None = None, /, statistic: 'mean' | 'median' | 'quantile' | 'trimmed-mean' | 'stddev' | Callable[..., float] = 'mean', *, compare: 'difference' | 'ratio' = 'difference', method: 'percentile' | 'basic' | 'bca' | 'studentised' = 'percentile', level: float = 0.95, resamples: int = 10000, seed: int = 0", "Interval", do_bootstrap_nested, 0, "Bootstrap of launches with epochs: x is a sequence of sequences.\n\n>>> statistics.bootstrap_nested([[1.0, 1.1], [1.2, 1.3], [1.0, 1.2]]).value > 1\nTrue") \
    X(components, "x: Groups, /", "Components", do_components, 0, "Variance within and between groups; x is a sequence of sequences.\n\n>>> statistics.components([[1.0, 1.1], [1.2, 1.3]]).groups\n2") \
    X(repetitions, "variance: Samples, cost: Samples, /, maximum: int = 1000", "tuple[int, ...]", do_repetitions, 0, "Kalibera and Jones: repetitions of each level, lowest first.\n\n>>> statistics.repetitions([1.0, 4.0], [1.0, 16.0])\n(2,)") \
    X(launches_for, "variance: float, half: float, /, level: float = 0.95", "int", do_launches_for, 0, "Number of launches for which the interval of their mean has that half width.\n\n>>> statistics.launches_for(1.0, 0.5) > 10\nTrue") \
    X(power_two, "n: int, d: float, /, alpha: float = 0.05", "float", do_power, cbx_stat_power_two, "Power of a t test of two samples of n.\n\n>>> statistics.power_two(20, 1.0) > 0.8\nTrue") \
    X(power_one, "n: int, d: float, /, alpha: float = 0.05", "float", do_power, cbx_stat_power_one, "Power of a t test of n values or pairs.\n\n>>> statistics.power_one(20, 1.0) > 0.9\nTrue") \
    X(detectable_two, "n: int, alpha: float, power: float, /", "float", do_power, cbx_stat_detectable_two, "Smallest standardised difference that is detected with this power.\n\n>>> round(statistics.detectable_two(20, 0.05, 0.9), 2)\n1.05") \
    X(detectable_one, "n: int, alpha: float, power: float, /", "float", do_power, cbx_stat_detectable_one, "Smallest standardised difference that one sample detects with this power.\n\n>>> round(statistics.detectable_one(20, 0.05, 0.9), 2)\n0.76") \
    X(detectable_ratio, "pilot: Samples, n: int, /, *, alpha: float = 0.05, power: float = 0.9, runs: int = 2000, seed: int = 0", "float", do_detectable_ratio, 0, "Smallest relative slow-down that n launches on each side detect.\n\n>>> statistics.detectable_ratio([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8], 10) > 1\nFalse")
/* clang-format on */
CX_FUNCTIONS(cx_resampling_methods, RESAMPLING, LONG)

/* ---- Sequence ---- */

static PyObject *sequence_make(cx_call *c)
{
    cbx_sequence_opts o = CBX_SEQUENCE_OPTS_INIT;
    cx_object *t;

    if (!CX_GET(c, o.kind, o.level, o.planned, o.low, o.high) || !(t = cx_object_new(c->st, CX_SEQUENCE))) return NULL;
    t->handle = PyMem_Calloc(1, sizeof(cbx_sequence));
    if (!t->handle) PyErr_NoMemory();
    return cx_object_made(t, t->handle ? cbx_sequence_init(t->handle, &o, &c->err) : CBX_ENOMEM, &c->err);
}

CX_DO(sequence_add, cbx_sequence, (double x), (x), cx_none(c, cbx_sequence_add(self, x, &c->err)))

CX_DO(sequence_add_ratio, cbx_sequence, (double a; double b), (a, b),
      cx_none(c, cbx_sequence_add_ratio(self, a, b, &c->err)))

CX_DO(sequence_interval, cbx_sequence, (cbx_interval out), (),
      (out = ((cbx_interval(*)(const cbx_sequence *))c->fn)(self), cx_answer_object(c->st, CX_INTERVAL, &out)))

/* clang-format off */
#define SEQUENCE(X) \
    X(add, "x: float, /", "None", sequence_add, 0, "Add a value.\n\n>>> s = statistics.Sequence()\n>>> s.add(1.0)") \
    X(add_ratio, "a: float, b: float, /", "None", sequence_add_ratio, 0, "log(a / b) as one more value.\n\n>>> s = statistics.Sequence()\n>>> s.add_ratio(2.0, 1.0)") \
    X(mean, "/", "float", sequence_interval, cbx_sequence_mean, "Interval of the mean so far.\n\n>>> s = statistics.Sequence()\n>>> s.add(1.0)\n>>> s.mean().value\n1.0") \
    X(ratio, "/", "Interval", sequence_interval, cbx_sequence_ratio, "Interval of the geometric mean ratio so far.\n\n>>> s = statistics.Sequence()\n>>> s.add_ratio(2.0, 2.0)\n>>> s.ratio().value\n1.0")
CX_OBJECT_TYPE(sequence, sequence, SEQUENCE, "statistics", Sequence, "kind: 'normal' | 'bounded' | 'asymptotic' = 'normal', *, level: float = 0.95, planned: float = 30.0, low: float = 0.0, high: float = 0.0", PyMem_Free,
    "A confidence sequence: an interval that may be looked at after each value. kind: 'normal', 'bounded' (by low and high), 'asymptotic'.")
/* clang-format on */
