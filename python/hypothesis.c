/* calibrax_c.statistics: tests, corrections over a table, and the distributions under them. */
#include "python/answers.h"

/* ---- tests ---- */

CX_COMPUTE(do_test2, cbx_test, TEST, (cx_samples x; cx_samples y), CX_GET(c, x, y),
           CX_STAT(cbx_ctx *, CX_SAMPLE, CX_SAMPLE, cbx_test *)(c->ctx, x.x, x.n, y.x, y.n, &out, &c->err))

CX_COMPUTE(do_test2_bare, cbx_test, TEST, (cx_samples x; cx_samples y), CX_GET(c, x, y),
           CX_STAT(CX_SAMPLE, CX_SAMPLE, cbx_test *)(x.x, x.n, y.x, y.n, &out, &c->err))

CX_COMPUTE(do_test2_mode, cbx_test, TEST, (cx_samples x; cx_samples y; int mode), CX_GET(c, x, y, mode),
           CX_STAT(cbx_ctx *, CX_SAMPLE, CX_SAMPLE, cbx_test_mode, cbx_test *)(c->ctx, x.x, x.n, y.x, y.n,
                                                                               (cbx_test_mode)mode, &out, &c->err))

CX_COMPUTE(do_one_sample_t, cbx_test, TEST, (cx_samples x; double mean), CX_GET(c, x, mean),
           cbx_stat_test_mean(x.x, x.n, mean, &out, &c->err))

CX_COMPUTE(do_paired_t, cbx_test, TEST, (cx_samples x; cx_samples y), CX_GET(c, x, y) && cx_same_length(c, &x, &y),
           cbx_stat_test_paired_t(c->ctx, x.x, y.x, x.n, &out, &c->err))

CX_COMPUTE(do_tost_welch, cbx_test, TEST, (cx_samples x; cx_samples y; double lower; double upper),
           CX_GET(c, x, y, lower, upper), cbx_stat_tost_welch(x.x, x.n, y.x, y.n, lower, upper, &out, &c->err))
CX_COMPUTE(do_tost_paired, cbx_test, TEST, (cx_samples x; cx_samples y; double lower; double upper),
           CX_GET(c, x, y, lower, upper) && cx_same_length(c, &x, &y),
           cbx_stat_tost_paired(c->ctx, x.x, y.x, x.n, lower, upper, &out, &c->err))
CX_COMPUTE(do_signed_rank, cbx_test, TEST, (cx_samples x; cx_samples y; int zeros; int mode),
           CX_GET(c, x, y, zeros, mode) && (!cx_arg(c, "y") || cx_same_length(c, &x, &y)),
           cbx_stat_test_signed_rank(c->ctx, x.x, y.x, x.n, (cbx_zero_rule)zeros, (cbx_test_mode)mode, &out, &c->err))

CX_COMPUTE(do_order, cbx_test, TEST, (cx_samples x), CX_GET(c, x), cbx_stat_test_order(c->ctx, x.x, x.n, &out, &c->err))

CX_COMPUTE(do_runs, cbx_test, TEST, (cx_samples x; int mode), CX_GET(c, x, mode),
           cbx_stat_test_runs(c->ctx, x.x, x.n, (cbx_test_mode)mode, &out, &c->err))

CX_COMPUTE(do_dip, cbx_test, TEST, (cx_samples x; size_t draws; size_t seed), CX_GET(c, x, draws, seed),
           cbx_stat_test_dip(c->ctx, x.x, x.n, draws, seed, &out, &c->err))

/* ---- with a function of Python's, which is called with the interpreter's lock ---- */

static double call_cdf(double at, void *user) { return cx_callback_number(user, Py_BuildValue("(d)", at)); }

CX_RETURN(do_ks_one, (cx_callback cb = { 0 }; cx_samples x; cbx_test out),
          CX_GET(c, x) && CX_GET_AS(c, "cdf", cb) && (c->elements = 0, cx_begin(c)),
          cx_answer_called(c, &cb, cbx_stat_test_ks_one(c->ctx, x.x, x.n, call_cdf, &cb, &out, &c->err), CX_TEST, &out))

static PyObject *do_permutation(cx_call *c)
{
    cbx_permutation_opts o = CBX_PERMUTATION_OPTS_INIT;
    cx_callback cb = { 0 };
    cx_samples x, y;
    cbx_test out;

    if (!CX_GET(c, x, y, o.paired, o.permutations, o.seed) || !CX_GET_AS(c, "compare", cb)) return NULL;
    if (cb.function) {
        o.compare = cx_callback_statistic;
        o.user = &cb;
        c->elements = 0;
    }
    if (!cx_begin(c)) return NULL;
    return cx_answer_called(c, &cb, cbx_stat_test_permutation(c->ctx, x.x, x.n, y.x, y.n, &o, &out, &c->err), CX_TEST,
                            &out);
}

/* ---- p-values ---- */

CX_RETURN(do_adjust, (int correction; cx_samples p; double *out),
          CX_GET(c, p, correction) && (out = cx_alloc(c, p.n, sizeof *out)) && cx_begin(c) &&
              cx_fine(c, cbx_stat_adjust(c->ctx, (cbx_correction)correction, p.x, p.n, out, &c->err)),
          cx_numbers_object(out, p.n))

CX_RETURN(do_sign_test, (size_t below = 0, above = 0), CX_GET(c, below, above),
          PyFloat_FromDouble(cbx_stat_sign_test_p(below, above)))

CX_RETURN(do_equivalence, (double lower = 0, upper = 0; cx_samples x), CX_GET(c, x, lower, upper),
          PyFloat_FromDouble(cbx_stat_equivalence_p(x.x, x.n, lower, upper)))

/* ---- distributions: functions of one to three numbers ---- */

CX_RETURN(do_of1, (double v[1]), cx_numbers(c, 1, v), PyFloat_FromDouble(((double (*)(double))c->fn)(v[0])))
CX_RETURN(do_of2, (double v[2]), cx_numbers(c, 2, v),
          PyFloat_FromDouble(((double (*)(double, double))c->fn)(v[0], v[1])))
CX_RETURN(do_of3, (double v[3]), cx_numbers(c, 3, v),
          PyFloat_FromDouble(((double (*)(double, double, double))c->fn)(v[0], v[1], v[2])))

/* clang-format off */
#define EXAMPLE(name, to, args) "\n\n>>> round(statistics." #name "_quantile(0.9999 * (1 - statistics." #name "_sf(1.0" args "))" args "), 2), statistics." #name "_" #to "(0.5" args ") >= 0\n(1.0, True)"
#define FAMILY(X, name, params, impl, args) \
    X(name##_cdf, "x: float" params ", /", "float", impl, cbx_stat_##name##_cdf, "P(X <= x)." EXAMPLE(name, cdf, args)) \
    X(name##_sf, "x: float" params ", /", "float", impl, cbx_stat_##name##_sf, "P(X > x), small tails kept." EXAMPLE(name, sf, args)) \
    X(name##_quantile, "p: float" params ", /", "float", impl, cbx_stat_##name##_quantile, "Smallest x with cdf >= p." EXAMPLE(name, quantile, args))
#define WITH_ISF(X, name, params, impl, args) \
    FAMILY(X, name, params, impl, args) \
    X(name##_isf, "q: float" params ", /", "float", impl, cbx_stat_##name##_isf, "Smallest x with sf <= q." EXAMPLE(name, isf, args))
#define HYPOTHESIS(X) \
    X(welch, "x: Samples, y: Samples, /", "Test", do_test2_bare, cbx_stat_test_welch, "Welch's t test of unequal variances.\n\n>>> statistics.welch([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8], [9.0, 9.2, 9.1, 9.3, 9.0, 9.1, 9.2]).p < 0.05\nTrue") \
    X(student, "x: Samples, y: Samples, /", "Test", do_test2_bare, cbx_stat_test_student, "Student's t test of equal variances.\n\n>>> statistics.student([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8], [9.0, 9.2, 9.1, 9.3, 9.0, 9.1, 9.2]).p < 0.05\nTrue") \
    X(one_sample_t, "x: Samples, mean: float = 0.0, /", "Test", do_one_sample_t, 0, "t test of one sample against a mean.\n\n>>> statistics.one_sample_t([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8], 10.0).p > 0.05\nTrue") \
    X(paired_t, "x: Samples, y: Samples, /", "Test", do_paired_t, 0, "t test of pairs.\n\n>>> statistics.paired_t([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8], [9.0, 9.2, 9.1, 9.3, 9.0, 9.1, 9.2]).p < 0.05\nTrue") \
    X(tost_welch, "x: Samples, y: Samples, lower: float, upper: float, /", "Test", do_tost_welch, 0, "Equivalence of means by two one-sided tests: a small p is evidence for it.\n\n>>> statistics.tost_welch([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8], [10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8], -1.0, 1.0).p < 0.05\nTrue") \
    X(tost_paired, "x: Samples, y: Samples, lower: float, upper: float, /", "Test", do_tost_paired, 0, "As tost_welch, of pairs.\n\n>>> statistics.tost_paired([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8], [9.0, 9.2, 9.1, 9.3, 9.0, 9.1, 9.2], 0.0, 2.0).p < 0.05\nTrue") \
    X(mann_whitney, "x: Samples, y: Samples, /, mode: 'auto' | 'exact' | 'normal' = 'auto'", "Test", do_test2_mode, cbx_stat_test_mann_whitney, "Mann-Whitney U test, exact with ties for small samples.\n\n>>> statistics.mann_whitney([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8], [9.0, 9.2, 9.1, 9.3, 9.0, 9.1, 9.2]).p < 0.05\nTrue") \
    X(signed_rank, "x: Samples, y: Samples | None = None, /, zeros: 'drop' | 'pratt' | 'split' = 'drop', mode: 'auto' | 'exact' | 'normal' = 'auto'", "Test", do_signed_rank, 0, "Wilcoxon's signed-rank test of pairs, or of differences.\n\n>>> statistics.signed_rank([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8], [9.0, 9.2, 9.1, 9.3, 9.0, 9.1, 9.2]).p < 0.05\nTrue") \
    X(brunner_munzel, "x: Samples, y: Samples, /", "Test", do_test2, cbx_stat_test_brunner_munzel, "Brunner and Munzel's test.\n\n>>> statistics.brunner_munzel([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8], [9.0, 9.2, 9.1, 9.3, 9.0, 9.1, 9.2]).p < 0.05\nTrue") \
    X(ks_one, "x: Samples, cdf: Callable[[float], float], /", "Test", do_ks_one, 0, "Kolmogorov-Smirnov test against a distribution function.\n\n>>> statistics.ks_one([0.2, 0.5, 0.8], lambda x: x).p > 0.05\nTrue") \
    X(ks_two, "x: Samples, y: Samples, /, mode: 'auto' | 'exact' | 'normal' = 'auto'", "Test", do_test2_mode, cbx_stat_test_ks_two, "Kolmogorov-Smirnov test of two samples, exact with ties.\n\n>>> statistics.ks_two([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8], [9.0, 9.2, 9.1, 9.3, 9.0, 9.1, 9.2]).p < 0.05\nTrue") \
    X(permutation, "x: int | Array, y: Samples, /, *, paired: bool = False, compare: Callable[[tuple[float, ...], tuple[float, ...]], float] | None = None, permutations: int = 9999, seed: int = 0", "Test", do_permutation, 0, "Permutation test of mean x - mean y, or of compare(x, y).\n\n>>> statistics.permutation([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8], [9.0, 9.2, 9.1, 9.3, 9.0, 9.1, 9.2]).p < 0.05\nTrue") \
    X(order_test, "x: Samples, /", "Test", do_order, 0, "Bartels' test of a random order.\n\n>>> statistics.order_test([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8]).p > 0.05\nTrue") \
    X(runs_test, "x: Samples, /, mode: 'auto' | 'exact' | 'normal' = 'auto'", "Test", do_runs, 0, "Test of runs above and below the median.\n\n>>> statistics.runs_test([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8]).p > 0.05\nTrue") \
    X(dip, "x: Samples, /, draws: int = 2000, seed: int = 1", "Test", do_dip, 0, "Hartigan's dip test of one mode against several.\n\n>>> statistics.dip([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8]).p > 0.05\nTrue") \
    X(adjust, "p: Samples, /, correction: 'bonferroni' | 'holm' | 'hochberg' | 'hommel' | 'benjamini-hochberg' | 'benjamini-yekutieli' = 'holm'", "tuple[float, ...]", do_adjust, 0, "p-values corrected over a table.\n\n>>> statistics.adjust([0.01, 0.04])\n(0.02, 0.04)") \
    X(sign_test_p, "below: int, above: int, /", "float", do_sign_test, 0, "Exact two-sided sign test.\n\n>>> statistics.sign_test_p(0, 5)\n0.0625") \
    X(equivalence_p, "x: Samples, lower: float, upper: float, /", "float", do_equivalence, 0, "Exact test that the median lies between two bounds: a small p supports it.\n\n>>> statistics.equivalence_p([10.0, 10.2, 9.9, 10.1, 10.0, 10.3, 9.8], 9.0, 11.0) < 0.05\nTrue") \
    WITH_ISF(X, normal, "", do_of1, "") \
    WITH_ISF(X, t, ", df: float", do_of2, ", 5") \
    WITH_ISF(X, chi2, ", df: float", do_of2, ", 5") \
    WITH_ISF(X, f, ", df1: float, df2: float", do_of3, ", 5, 7") \
    WITH_ISF(X, beta, ", a: float, b: float", do_of3, ", 0.5, 1.5") \
    FAMILY(X, binomial, ", n: float, chance: float", do_of3, ", 5, 0.5") \
    X(noncentral_t_cdf, "t: float, df: float, delta: float, /", "float", do_of3, cbx_stat_noncentral_t_cdf, "P(T <= t) of a t with mean delta above.\n\n>>> round(statistics.noncentral_t_cdf(0.0, 5.0, 0.0), 3)\n0.5")
/* clang-format on */
CX_FUNCTIONS(cx_hypothesis_methods, HYPOTHESIS, SLOW)
