/* calibrax_c.statistics: estimates, intervals, effect sizes, series.  An implementation a shape of
 * the library's functions. */
#include <string.h>

#include "python/answers.h"

/* ---- one sample ---- */

CX_RETURN(do_number, (cx_samples x; double v),
          CX_GET(c, x) && cx_begin(c) &&
              cx_fine(c, CX_STAT(cbx_ctx *, CX_SAMPLE, double *)(c->ctx, x.x, x.n, &v, &c->err)),
          PyFloat_FromDouble(v))

CX_RETURN(do_number_bare, (cx_samples x; double v),
          CX_GET(c, x) && cx_fine(c, CX_STAT(CX_SAMPLE, double *)(x.x, x.n, &v, &c->err)), PyFloat_FromDouble(v))

CX_RETURN(do_cut, (cx_samples x; double v, cut),
          CX_GET(c, x, cut) && cx_begin(c) &&
              cx_fine(c, CX_STAT(cbx_ctx *, CX_SAMPLE, double, double *)(c->ctx, x.x, x.n, cut, &v, &c->err)),
          PyFloat_FromDouble(v))

CX_COMPUTE(do_interval, cbx_interval, INTERVAL, (double level; cx_samples x), CX_GET(c, x, level),
           CX_STAT(cbx_ctx *, CX_SAMPLE, double, cbx_interval *)(c->ctx, x.x, x.n, level, &out, &c->err))

CX_COMPUTE(do_interval_bare, cbx_interval, INTERVAL, (double level; cx_samples x), CX_GET(c, x, level),
           CX_STAT(CX_SAMPLE, double, cbx_interval *)(x.x, x.n, level, &out, &c->err))

CX_COMPUTE(do_quantile_interval, cbx_interval, INTERVAL, (double level; double p; cx_samples x), CX_GET(c, x, p, level),
           cbx_stat_quantile_interval(c->ctx, x.x, x.n, p, level, &out, &c->err))

CX_COMPUTE(do_proportion_interval, cbx_interval, INTERVAL, (double level; size_t k; size_t n), CX_GET(c, k, n, level),
           cbx_stat_proportion_interval(k, n, level, &out, &c->err))

CX_COMPUTE(do_summary, cbx_summary, SUMMARY, (cx_samples x), CX_GET(c, x),
           cbx_stat_summary(c->ctx, x.x, x.n, &out, &c->err))

static PyObject *do_quantile(cx_call *c)
{
    double p, *sorted;
    cx_samples x;

    if (!CX_GET(c, x, p)) return NULL;
    if (!x.n || !(p >= 0 && p <= 1))
        return PyErr_Format(PyExc_ValueError,
                            x.n ? "quantile: 'p' must be between 0 and 1, got %R"
                                : "quantile: 'x' must have at least one value, got %R",
                            cx_arg(c, x.n ? "p" : "x"));
    if (!(sorted = cx_alloc(c, x.n, sizeof *sorted))) return NULL;
    memcpy(sorted, x.x, x.n * sizeof *sorted);
    cbx_stat_sort(sorted, x.n);
    return PyFloat_FromDouble(cbx_stat_quantile_sorted(sorted, x.n, p));
}

CX_COMPUTE(do_variation, cbx_variation, VARIATION, (double threshold; cx_samples x), CX_GET(c, x, threshold),
           cbx_stat_variation(x.x, x.n, threshold, &out, &c->err))

CX_RETURN(do_outliers, (double threshold; cx_samples x; bool *mask),
          CX_GET(c, x, threshold) && (mask = cx_alloc(c, x.n, sizeof *mask)) && cx_begin(c) &&
              cx_fine(c, cbx_stat_outliers(c->ctx, x.x, x.n, threshold, mask, NULL, &c->err)),
          cx_places_object(c, mask, x.n))

/* ---- two samples ---- */

CX_COMPUTE(do_interval2, cbx_interval, INTERVAL, (double level; cx_samples x; cx_samples y), CX_GET(c, x, y, level),
           CX_STAT(cbx_ctx *, CX_SAMPLE, CX_SAMPLE, double, cbx_interval *)(c->ctx, x.x, x.n, y.x, y.n, level, &out,
                                                                            &c->err))

CX_COMPUTE(do_interval2_bare, cbx_interval, INTERVAL, (double level; cx_samples x; cx_samples y),
           CX_GET(c, x, y, level),
           CX_STAT(CX_SAMPLE, CX_SAMPLE, double, cbx_interval *)(x.x, x.n, y.x, y.n, level, &out, &c->err))

CX_COMPUTE(do_pairs, cbx_interval, INTERVAL, (double level; cx_samples x; cx_samples y),
           CX_GET(c, x, y) && cx_same_length(c, &x, &y) && CX_GET(c, level),
           CX_STAT(cbx_ctx *, const double *, CX_SAMPLE, double, cbx_interval *)(c->ctx, x.x, y.x, x.n, level, &out,
                                                                                 &c->err))

/* ---- series ---- */

CX_RETURN(do_autocorrelation, (cx_samples x; size_t lags; double *out),
          CX_GET(c, x, lags) &&
              (lags = lags < x.n ? lags : x.n - (x.n > 0), out = cx_alloc(c, lags + 1, sizeof *out)) &&
              cx_fine(c, cbx_stat_autocorrelation(x.x, x.n, lags, out, &c->err)),
          cx_numbers_object(out, lags + 1))

CX_COMPUTE(do_batch_means, cbx_interval, INTERVAL, (double level; size_t batches; cx_samples x),
           CX_GET(c, x, batches, level), cbx_stat_batch_means(c->ctx, x.x, x.n, batches, level, &out, &c->err))

CX_RETURN(do_modes, (double resolution; cbx_mode * modes; size_t count; cx_samples x),
          CX_GET(c, x, resolution) && (modes = cx_alloc(c, x.n, sizeof *modes)) && cx_begin(c) &&
              cx_fine(c, cbx_stat_modes(c->ctx, x.x, x.n, resolution, modes, x.n, &count, &c->err)),
          cx_answer_list(c->st, CX_MODE, modes, count))

CX_COMPUTE(do_steady, cbx_steady, STEADY, (cbx_steady_opts o = CBX_STEADY_OPTS_INIT; cx_samples x),
           CX_GET(c, x, o.tolerance, o.tail, o.penalty), cbx_stat_steady(c->ctx, x.x, x.n, &o, &out, NULL, 0, &c->err))

static PyObject *looks_object(cx_call *c, const cbx_looks *plan)
{
    cx_looks_answer out = { .plan = *plan };

    for (size_t i = 0; i < plan->count; i++) out.levels[i] = cbx_looks_level(plan, i);
    return cx_answer_object(c->st, CX_LOOKS, &out);
}

CX_RETURN(do_looks, (size_t first, last; double alpha; cbx_looks plan),
          CX_GET(c, first, last, alpha) && cx_fine(c, cbx_looks_plan(first, last, alpha, &plan, &c->err)),
          looks_object(c, &plan))

/* The argument looks, a Looks: (pairs, levels, alpha, error, weights, scale). */
static bool read_looks(cx_call *c, cbx_looks *out)
{
    PyObject *o = cx_arg(c, "looks") ? cx_arg(c, "looks") : Py_None, *pairs, *weights;

    *out = (cbx_looks){ 0 };
    if (Py_TYPE(o) != c->st->answers[CX_LOOKS])
        return cx_refused(PyExc_TypeError, "%s: 'looks' must be Looks as looks() returns it, got %R", c->name, o);
    pairs = PyTuple_GetItem(o, 0);
    weights = PyTuple_GetItem(o, 4);
    out->alpha = PyFloat_AsDouble(PyTuple_GetItem(o, 2));
    out->error = PyFloat_AsDouble(PyTuple_GetItem(o, 3));
    out->scale = PyFloat_AsDouble(PyTuple_GetItem(o, 5));
    out->count = PyTuple_Check(pairs) && PyTuple_Check(weights) ? (size_t)PyTuple_Size(pairs) : 0;
    if (!out->count || out->count > CBX_LOOKS_MAX || (size_t)PyTuple_Size(weights) != out->count)
        PyErr_Format(PyExc_ValueError, "%s: 'looks' must be a plan of looks, got %R", c->name, o);
    for (size_t i = 0; !PyErr_Occurred() && i < out->count; i++) {
        out->pairs[i] = PyLong_AsSize_t(PyTuple_GetItem(pairs, (Py_ssize_t)i));
        out->weight[i] = PyFloat_AsDouble(PyTuple_GetItem(weights, (Py_ssize_t)i));
        if (!PyErr_Occurred() && (out->pairs[i] <= (i ? out->pairs[i - 1] : 0) || out->pairs[i] > CBX_LOOKS_PAIRS ||
                                  !(out->weight[i] > 0 && out->weight[i] <= 1e9)))
            PyErr_Format(PyExc_ValueError, "%s: look %zu of 'looks' is invalid: got %R", c->name, i, o);
    }
    return !PyErr_Occurred();
}

CX_RETURN(do_looks_p, (cbx_looks plan; double p = 1; size_t j = 0),
          read_looks(c, &plan) && CX_GET(c, j, p) &&
              (j < plan.count ||
               cx_refused(PyExc_IndexError, "looks_p: 'j' must be below the number of looks, %zu, got %zu", plan.count,
                          j)) &&
              ((p >= 0 && p <= 1) || cx_refuse(c, "p", PyExc_ValueError, "between 0 and 1", cx_arg(c, "p"))),
          PyFloat_FromDouble(cbx_looks_p(&plan, j, p)))

CX_RETURN(do_looks_end, (size_t done = 0, pairs = 0; cbx_looks plan),
          read_looks(c, &plan) && CX_GET(c, done, pairs) && cx_fine(c, cbx_looks_end(&plan, done, pairs, &c->err)),
          looks_object(c, &plan))

/* clang-format off */
#define STATISTICS(X) \
    X(summary, "x: Samples, /", "Summary", do_summary, 0, "Minimum, maximum, mean, quantiles and spread.\n\n>>> statistics.summary([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8]).max\n10.3") \
    X(median, "x: Samples, /", "float", do_number, cbx_stat_median, "Median.\n\n>>> round(statistics.median([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8]), 3)\n10.0") \
    X(quantile, "x: Samples, p: float, /", "float", do_quantile, 0, "Quantile by linear interpolation (type 7, NumPy's default).\n\n>>> statistics.quantile([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8], 0.5)\n10.0") \
    X(mad, "x: Samples, /", "float", do_number, cbx_stat_mad, "1.4826 times the median distance from the median.\n\n>>> round(statistics.mad([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8]), 3)\n0.148") \
    X(qn, "x: Samples, /", "float", do_number, cbx_stat_qn, "Rousseeuw and Croux's Qn: spread without a centre.\n\n>>> round(statistics.qn([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8]), 3)\n0.222") \
    X(geometric_mean, "x: Samples, /", "float", do_number_bare, cbx_stat_geometric_mean, "exp(mean log x), every x > 0.\n\n>>> round(statistics.geometric_mean([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8]), 3)\n10.042") \
    X(harmonic_mean, "x: Samples, /", "float", do_number_bare, cbx_stat_harmonic_mean, "n / sum(1/x), every x > 0.\n\n>>> round(statistics.harmonic_mean([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8]), 3)\n10.04") \
    X(trimmed_mean, "x: Samples, cut: float = 0.1, /", "float", do_cut, cbx_stat_trimmed_mean, "Mean without a share of the smallest, and as many of the largest.\n\n>>> round(statistics.trimmed_mean([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8]), 3)\n10.043") \
    X(winsorized_mean, "x: Samples, cut: float = 0.1, /", "float", do_cut, cbx_stat_winsorized_mean, "Mean with the extreme values replaced by the nearest that remain.\n\n>>> round(statistics.winsorized_mean([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8]), 3)\n10.043") \
    X(variation, "x: Samples, /, threshold: float = 0.1", "Variation", do_variation, 0, "Coefficient of variation, and whether the sample is called stable.\n\n>>> statistics.variation([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8]).stable\nTrue") \
    X(outliers, "x: Samples, /, threshold: float = 3.5", "tuple[int, ...]", do_outliers, 0, "Indices of the outliers, by the modified z-score.\n\n>>> statistics.outliers([1.0, 1.1, 0.9, 1.0, 9.0])\n(4,)") \
    X(median_interval, "x: Samples, /, level: float = 0.95", "Interval", do_interval, cbx_stat_median_interval, "Median with its exact order-statistic interval.\n\n>>> round(statistics.median_interval([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8]).value, 3)\n10.0") \
    X(median_interpolated, "x: Samples, /, level: float = 0.95", "Interval", do_interval, cbx_stat_median_interpolated, "Median with an interval at the requested level.\n\n>>> round(statistics.median_interpolated([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8]).value, 3)\n10.0") \
    X(hodges_lehmann, "x: Samples, /, level: float = 0.95", "Interval", do_interval, cbx_stat_hodges_lehmann, "Median of pairwise means, with the signed-rank interval.\n\n>>> round(statistics.hodges_lehmann([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8]).value, 3)\n10.05") \
    X(mean_interval, "x: Samples, /, level: float = 0.95", "Interval", do_interval_bare, cbx_stat_mean_interval, "Mean with Student's t interval.\n\n>>> round(statistics.mean_interval([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8]).value, 3)\n10.043") \
    X(stddev_interval, "x: Samples, /, level: float = 0.95", "Interval", do_interval_bare, cbx_stat_stddev_interval, "Standard deviation with its chi-square interval.\n\n>>> round(statistics.stddev_interval([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8]).value, 3)\n0.172") \
    X(quantile_interval, "x: Samples, p: float, /, level: float = 0.95", "Interval", do_quantile_interval, 0, "Quantile with its order-statistic interval.\n\n>>> statistics.quantile_interval([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8], 0.5).value\n10.0") \
    X(proportion_interval, "k: int, n: int, /, level: float = 0.95", "Interval", do_proportion_interval, 0, "Proportion k / n with Clopper and Pearson's interval.\n\n>>> statistics.proportion_interval(3, 10).value\n0.3") \
    X(hodges_lehmann_shift, "x: Samples, y: Samples, /, level: float = 0.95", "Interval", do_interval2, cbx_stat_hodges_lehmann_shift, "Median of x_i - y_j, with the Mann-Whitney interval.\n\n>>> round(statistics.hodges_lehmann_shift([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8], [9.0, 9.2, 9.1, 9.3, 9.0, 9.1, 9.2]).value, 3)\n0.9") \
    X(paired_ratio, "x: Samples, y: Samples, /, level: float = 0.95", "Interval", do_pairs, cbx_stat_paired_ratio, "Median of x_i / y_i, with its order-statistic interval.\n\n>>> round(statistics.paired_ratio([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8], [9.0, 9.2, 9.1, 9.3, 9.0, 9.1, 9.2]).value, 3)\n1.109") \
    X(cohen_d, "x: Samples, y: Samples, /, level: float = 0.95", "Interval", do_interval2_bare, cbx_stat_cohen_d, "Difference of means in pooled standard deviations.\n\n>>> round(statistics.cohen_d([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8], [9.0, 9.2, 9.1, 9.3, 9.0, 9.1, 9.2]).value, 3)\n6.316") \
    X(hedges_g, "x: Samples, y: Samples, /, level: float = 0.95", "Interval", do_interval2_bare, cbx_stat_hedges_g, "Cohen's d without the bias of small samples.\n\n>>> round(statistics.hedges_g([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8], [9.0, 9.2, 9.1, 9.3, 9.0, 9.1, 9.2]).value, 3)\n5.912") \
    X(glass_delta, "x: Samples, y: Samples, /, level: float = 0.95", "Interval", do_interval2_bare, cbx_stat_glass_delta, "Difference of means in standard deviations of y.\n\n>>> round(statistics.glass_delta([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8], [9.0, 9.2, 9.1, 9.3, 9.0, 9.1, 9.2]).value, 3)\n8.217") \
    X(paired_d, "x: Samples, y: Samples, /, level: float = 0.95", "Interval", do_pairs, cbx_stat_paired_d, "Mean difference of pairs in its standard deviations.\n\n>>> round(statistics.paired_d([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8], [9.0, 9.2, 9.1, 9.3, 9.0, 9.1, 9.2]).value, 3)\n4.684") \
    X(vargha_delaney, "x: Samples, y: Samples, /, level: float = 0.95", "Interval", do_interval2, cbx_stat_vargha_delaney, "P(x > y) + P(x = y)/2.\n\n>>> round(statistics.vargha_delaney([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8], [9.0, 9.2, 9.1, 9.3, 9.0, 9.1, 9.2]).value, 3)\n1.0") \
    X(cliff_delta, "x: Samples, y: Samples, /, level: float = 0.95", "Interval", do_interval2, cbx_stat_cliff_delta, "P(x > y) - P(x < y).\n\n>>> round(statistics.cliff_delta([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8], [9.0, 9.2, 9.1, 9.3, 9.0, 9.1, 9.2]).value, 3)\n1.0") \
    X(autocorrelation, "x: Samples, /, lags: int = 10", "tuple[float, ...]", do_autocorrelation, 0, "Autocorrelation at 0 .. lags.\n\n>>> statistics.autocorrelation([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8], 1)[0]\n1.0") \
    X(effective_size, "x: Samples, /", "float", do_number_bare, cbx_stat_effective_size, "Effective sample size: the number of independent values with the same information.\n\n>>> round(statistics.effective_size([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8]), 3)\n1.0") \
    X(batch_means, "x: Samples, /, batches: int = 0, level: float = 0.95", "Interval", do_batch_means, 0, "Mean of a dependent series, with an interval over batches.\n\n>>> round(statistics.batch_means([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8]).value, 3)\n10.05") \
    X(von_neumann, "x: Samples, /", "float", do_number_bare, cbx_stat_von_neumann, "Von Neumann's ratio: near 2 for independent values.\n\n>>> round(statistics.von_neumann([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8]), 3)\n2.935") \
    X(modes, "x: Samples, /, resolution: float = 0.001", "tuple[Mode, ...]", do_modes, 0, "Groups of values with gaps between them.\n\n>>> len(statistics.modes([1.0, 1.0001, 1.0002, 5.0, 5.0001, 5.0002]))\n2") \
    X(steady, "x: Samples, /, *, tolerance: float = 0.01, tail: float = 0.25, penalty: float = 3.0", "Steady", do_steady, 0, "Whether and when a launch becomes steady.\n\n>>> statistics.steady([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8] * 4).kind\n'flat'") \
    X(looks, "first: int, last: int, /, alpha: float = 0.05", "Looks", do_looks, 0, "Planned looks at a growing sample of pairs, with exact sign tests.\n\n>>> statistics.looks(10, 40).pairs[0]\n10") \
    X(looks_p, "looks: Looks, j: int, p: float, /", "float", do_looks_p, 0, "The repeated p-value at look j of a plan, from 0, of a two-sided sign test's p there: valid at whichever look one stops.\n\n>>> plan = statistics.looks(10, 40)\n>>> statistics.looks_p(plan, 0, 1e-9) < 0.05\nTrue") \
    X(looks_end, "looks: Looks, done: int, pairs: int, /", "Looks", do_looks_end, 0, "Ends a plan early: behind the looks that were done one more, at so many pairs, spends what is left.\n\n>>> plan = statistics.looks(10, 40)\n>>> statistics.looks_end(plan, 1, 15).pairs\n(10, 15)")
/* clang-format on */
CX_FUNCTIONS(cx_statistics_methods, STATISTICS, SLOW)
