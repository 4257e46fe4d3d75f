/*
 * Tests, effect sizes and robust estimators where a formula ends: ties, constant samples, samples
 * that do not overlap, one value, bad input, memory.  Their values on ordinary samples are SciPy's
 * (test_scipy.c).
 */
#include "check.h"

#include <math.h>

#include "calibrax/base/rng.h"
#include "calibrax/statistics/effect.h"
#include "calibrax/statistics/interval.h"
#include "calibrax/statistics/location.h"
#include "calibrax/statistics/multiplicity.h"
#include "calibrax/statistics/series.h"
#include "calibrax/statistics/spread.h"
#include "calibrax/statistics/test.h"
#include "counted.h"

static cbx_err err;

static double uniform_cdf(double at, void *user)
{
    (void)user;
    return fmin(fmax(at / 10, 0.0), 1.0);
}

/* Every two-sample test under one type; context or not, options or not. */
static cbx_status welch(const double *x, size_t n, const double *y, size_t m, cbx_test *t)
{
    return cbx_stat_test_welch(x, n, y, m, t, &err);
}
static cbx_status student(const double *x, size_t n, const double *y, size_t m, cbx_test *t)
{
    return cbx_stat_test_student(x, n, y, m, t, &err);
}
static cbx_status whitney_exact(const double *x, size_t n, const double *y, size_t m, cbx_test *t)
{
    return cbx_stat_test_mann_whitney(ctx, x, n, y, m, CBX_TEST_EXACT, t, &err);
}
static cbx_status whitney_normal(const double *x, size_t n, const double *y, size_t m, cbx_test *t)
{
    return cbx_stat_test_mann_whitney(ctx, x, n, y, m, CBX_TEST_NORMAL, t, &err);
}
static cbx_status munzel(const double *x, size_t n, const double *y, size_t m, cbx_test *t)
{
    return cbx_stat_test_brunner_munzel(ctx, x, n, y, m, t, &err);
}
static cbx_status smirnov(const double *x, size_t n, const double *y, size_t m, cbx_test *t)
{
    return cbx_stat_test_ks_two(ctx, x, n, y, m, CBX_TEST_AUTO, t, &err);
}
static cbx_status smirnov_limit(const double *x, size_t n, const double *y, size_t m, cbx_test *t)
{
    return cbx_stat_test_ks_two(ctx, x, n, y, m, CBX_TEST_NORMAL, t, &err);
}
static cbx_status permuted(const double *x, size_t n, const double *y, size_t m, cbx_test *t)
{
    return cbx_stat_test_permutation(ctx, x, n, y, m, NULL, t, &err);
}

static const struct {
    const char *name;
    cbx_status (*run)(const double *x, size_t n, const double *y, size_t m, cbx_test *t);
    double apart; /* most that p may be for 1..6 against 11..16, smallest first */
    size_t min;   /* values that a sample needs */
} two_samples[] = {
    { "welch", welch, 1e-5, 2 },
    { "student", student, 1e-5, 2 },
    { "mann-whitney, exact", whitney_exact, 2.0 / 924 + 1e-12, 1 },
    { "mann-whitney, normal", whitney_normal, 0.006, 1 },
    { "brunner-munzel", munzel, 2.0 / 924 + 1e-12, 2 },
    { "kolmogorov-smirnov", smirnov, 2.0 / 924 + 1e-12, 1 },
    { "kolmogorov-smirnov, limit", smirnov_limit, 0.006, 1 },
    { "permutation", permuted, 2.0 / 924 + 1e-12, 1 },
};

static void check_whole(const cbx_test *t, const char *why)
{
    CHECK(!isnan(t->statistic) && !isnan(t->df), why);
    CHECK(t->p >= 0 && t->p <= 1 && t->p_less >= 0 && t->p_less <= 1 && t->p_greater >= 0 && t->p_greater <= 1, why);
    CHECK(t->method && t->method[0], why);
}

TEST(constant_and_separate_samples)
{
    static const double low[] = { 1, 2, 3, 4, 5, 6 }, high[] = { 11, 12, 13, 14, 15, 16 },
                        same[] = { 0.1, 0.1, 0.1, 0.1, 0.1, 0.1 }, other[] = { 0.2, 0.2, 0.2, 0.2, 0.2, 0.2 };
    for (size_t i = 0; i < CBX_LEN(two_samples); i++) {
        const char *why = two_samples[i].name;
        cbx_test t;
        CHECK_OK(two_samples[i].run(same, 6, same, 6, &t), &err, why);
        check_whole(&t, why);
        CHECK(t.p == 1, why);
        CHECK_OK(two_samples[i].run(low, 6, high, 6, &t), &err, why);
        check_whole(&t, why);
        CHECK_LE(t.p, two_samples[i].apart, why);
        CHECK(t.p_less < 0.01 && t.p_greater > 0.9, "p_less is small where x is smaller");
        CHECK_OK(two_samples[i].run(high, 6, low, 6, &t), &err, why);
        CHECK(t.p_greater < 0.01 && t.p_less > 0.9, "and p_greater where it is larger");
        CHECK_OK(two_samples[i].run(same, 6, other, 6, &t), &err, why);
        check_whole(&t, why);
        CHECK_LE(t.p, 0.01, "constants that differ");
    }
}

TEST(what_is_refused)
{
    static const double x[] = { 1, 2, 3 }, bad[] = { 1, INFINITY, 3 };
    cbx_test t = { .df = 99 };
    cbx_interval iv = { .level = 99 };
    double many[300], v = 99;
    for (size_t i = 0; i < 300; i++) many[i] = (double)i;
    for (size_t i = 0; i < CBX_LEN(two_samples); i++) {
        const char *why = two_samples[i].name;
        CHECK_STATUS(two_samples[i].run(x, 0, x, 3, &t), CBX_EINVAL, why);
        CHECK_STATUS(two_samples[i].run(x, 3, x, two_samples[i].min - 1, &t), CBX_EINVAL, why);
        CHECK_STATUS(two_samples[i].run(bad, 3, x, 3, &t), CBX_EDOM, why);
        CHECK_STATUS(two_samples[i].run(x, 3, bad, 3, &t), CBX_EDOM, why);
    }
    CHECK_STATUS(whitney_exact(many, 90, many, 90, &t), CBX_EINVAL, "too many to count");
    CHECK_STATUS(cbx_stat_test_signed_rank(ctx, many, NULL, 300, CBX_ZERO_DROP, CBX_TEST_EXACT, &t, &err), CBX_EINVAL,
                 "too many");
    CHECK_STATUS(cbx_stat_test_signed_rank(ctx, x, NULL, 3, (cbx_zero_rule)9, CBX_TEST_AUTO, &t, &err), CBX_EINVAL,
                 "a rule");
    CHECK_STATUS(cbx_stat_test_mann_whitney(ctx, x, 3, x, 3, (cbx_test_mode)9, &t, &err), CBX_EINVAL, "a mode");
    CHECK_STATUS(cbx_stat_tost_welch(x, 3, x, 3, 1, -1, &t, &err), CBX_EINVAL, "bounds out of order");
    CHECK_STATUS(cbx_stat_test_ks_one(ctx, x, 3, uniform_cdf, NULL, &t, &err), CBX_OK, "a distribution");
    t.df = 99;
    CHECK_STATUS(cbx_stat_trimmed_mean(ctx, x, 3, 0.5, &v, &err), CBX_EINVAL, "nothing left");
    CHECK_STATUS(cbx_stat_geometric_mean((double[]){ 1, 0 }, 2, &v, &err), CBX_EDOM, "zero has no logarithm");
    CHECK_STATUS(cbx_stat_harmonic_mean((double[]){ 1, -1 }, 2, &v, &err), CBX_EDOM, "negative rates");
    CHECK_STATUS(cbx_stat_quantile_interval(ctx, x, 3, 1, 0.9, &iv, &err), CBX_EINVAL, "p = 1");
    CHECK_STATUS(cbx_stat_proportion_interval(4, 3, 0.9, &iv, &err), CBX_EINVAL, "4 of 3");
    CHECK_STATUS(cbx_stat_cohen_d(x, 3, x, 3, 1.5, &iv, &err), CBX_EINVAL, "level");
    CHECK_STATUS(cbx_stat_adjust(ctx, CBX_CORRECTION_HOLM, (double[]){ 0.5, 1.5 }, 2, &v, &err), CBX_EDOM, "p of 1.5");
    CHECK(t.df == 99 && iv.level == 99 && v == 99, "out is untouched");
}

TEST(signed_ranks_at_the_edges)
{
    static const double zeros[] = { 0, 0, 0 }, ups[] = { 1, 2, 3, 4, 5, 6 };
    for (int rule = 0; rule <= CBX_ZERO_SPLIT; rule++)
        for (int mode = 0; mode <= CBX_TEST_NORMAL; mode++) {
            cbx_test t;
            CHECK_OK(cbx_stat_test_signed_rank(ctx, zeros, NULL, 3, (cbx_zero_rule)rule, (cbx_test_mode)mode, &t, &err),
                     &err, "zeros");
            check_whole(&t, "zeros");
            CHECK(t.p == 1 && t.p_less == 1 && t.p_greater == 1, "nothing but zeros");
            CHECK_OK(cbx_stat_test_signed_rank(ctx, ups, NULL, 6, (cbx_zero_rule)rule, (cbx_test_mode)mode, &t, &err),
                     &err, "ups");
            CHECK(t.statistic == 21, "all ranks");
            if (mode != CBX_TEST_NORMAL) CHECK(t.p_greater == 1.0 / 64 && t.p == 1.0 / 32, "one of 2^6 signs");
        }
}

/* Weakness: MAD 0 hid the only wild value; a mean of 0 or below was always stable. */
TEST(spread_has_no_blind_spots)
{
    static const double one_wild[] = { 1, 1, 1, 1, 1, 100 }, same[] = { 2, 2, 2 }, negative[] = { -1, -100, -50 },
                        about_zero[] = { -1, 1 }, zeros[] = { 0, 0 }, tight[] = { -100, -101, -99 };
    bool mask[6];
    size_t count;
    cbx_variation v;
    CHECK_OK(cbx_stat_outliers(ctx, one_wild, 6, CBX_STAT_OUTLIER_SCORE, mask, &count, &err), &err, "MAD 0");
    CHECK(count == 1 && mask[5] && !mask[0], "the wild value, and only it");
    CHECK_OK(cbx_stat_outliers(ctx, same, 3, CBX_STAT_OUTLIER_SCORE, mask, &count, &err), &err, "constant");
    CHECK_INT(count, 0, "a constant has none");
    CHECK_OK(cbx_stat_variation(negative, 3, CBX_STAT_STABLE_CV, &v, &err), &err, "negative");
    CHECK(v.cv > 0.9 && !v.stable, "a negative mean is not stable for its sign");
    CHECK_OK(cbx_stat_variation(tight, 3, CBX_STAT_STABLE_CV, &v, &err), &err, "tight");
    CHECK(fabs(v.cv - 0.01) < 1e-15 && v.stable, "nor unstable");
    CHECK_OK(cbx_stat_variation(about_zero, 2, CBX_STAT_STABLE_CV, &v, &err), &err, "zero mean");
    CHECK(isinf(v.cv) && !v.stable, "spread about a mean of 0");
    CHECK_OK(cbx_stat_variation(zeros, 2, CBX_STAT_STABLE_CV, &v, &err), &err, "zeros");
    CHECK(v.cv == 0 && v.stable, "zeros do not vary");
    CHECK_OK(cbx_stat_variation(zeros, 1, CBX_STAT_STABLE_CV, &v, &err), &err, "one");
    CHECK(!v.stable, "one value does not show stability");
}

TEST(effects_at_the_edges)
{
    static const double same[] = { 3, 3, 3 }, more[] = { 4, 4, 4 }, low[] = { 1, 2, 3 }, high[] = { 7, 8, 9 };
    cbx_interval iv;
    CHECK_OK(cbx_stat_cohen_d(same, 3, same, 3, 0.95, &iv, &err), &err, "no difference");
    CHECK(iv.value == 0 && iv.lower == 0 && iv.upper == 0, "no spread, no difference");
    CHECK_OK(cbx_stat_cohen_d(same, 3, more, 3, 0.95, &iv, &err), &err, "difference");
    CHECK(isinf(iv.value) && iv.value < 0, "no spread, a difference: endless, in its direction");
    CHECK_OK(cbx_stat_hedges_g(same, 3, more, 3, 0.95, &iv, &err), &err, "hedges");
    CHECK(isinf(iv.value) && iv.value < 0 && !isnan(iv.lower), "hedges");
    CHECK_OK(cbx_stat_paired_d(ctx, high, low, 3, 0.95, &iv, &err), &err, "pairs");
    CHECK(isinf(iv.value) && iv.value > 0, "pairs that differ by one constant");
    CHECK_OK(cbx_stat_glass_delta(low, 3, same, 3, 0.95, &iv, &err), &err, "glass");
    CHECK(isinf(iv.value) && iv.value < 0, "a control without spread");
    CHECK_OK(cbx_stat_vargha_delaney(ctx, high, 3, low, 3, 0.95, &iv, &err), &err, "apart");
    CHECK(iv.value == 1 && iv.upper == 1 && iv.lower > 0.3 && iv.lower < 0.95,
          "apart: an interval of positive width all the same");
    CHECK_OK(cbx_stat_cliff_delta(ctx, same, 3, same, 3, 0.95, &iv, &err), &err, "ties");
    CHECK(iv.value == 0 && iv.lower < 0 && iv.upper > 0, "ties only: no effect");
}

/* Share of 2000 pairs of samples of 10 whose 95 % interval of A holds its true value, 1/2, for
 * lognormal data. */
TEST(superiority_covers)
{
    enum { RUNS = 2000, N = 10 };
    cbx_rng rng = cbx_rng_make(31, 0);
    size_t held = 0;
    for (int run = 0; run < RUNS; run++) {
        double x[N], y[N];
        cbx_interval iv;
        for (int i = 0; i < N; i++) {
            x[i] = exp(cbx_rng_normal(&rng));
            y[i] = exp(cbx_rng_normal(&rng));
        }
        CHECK_OK(cbx_stat_vargha_delaney(ctx, x, N, y, N, 0.95, &iv, &err), &err, "A");
        held += iv.lower <= 0.5 && 0.5 <= iv.upper;
    }
    CHECK_LE(fabs((double)held / RUNS - 0.95), 0.02, "coverage of A");
}

TEST(holm_is_one_rule)
{
    cbx_rng rng = cbx_rng_make(5, 0);
    double p[40], a[40], b[40];
    for (int i = 0; i < 40; i++) p[i] = floor(30 * cbx_rng_uniform(&rng)) / 30; /* with ties */
    cbx_stat_holm(p, 40, a);
    CHECK_OK(cbx_stat_adjust(ctx, CBX_CORRECTION_HOLM, p, 40, b, &err), &err, "holm");
    for (int i = 0; i < 40; i++) CHECK_LE(fabs(a[i] - b[i]), 1e-15, "both forms");
    CHECK_STR(cbx_correction_name(CBX_CORRECTION_BENJAMINI_HOCHBERG), "benjamini-hochberg", "name");
    CHECK(cbx_correction_name((cbx_correction)77) == NULL, "no name");
    CHECK_STATUS(cbx_stat_adjust(ctx, CBX_CORRECTION_HOMMEL, p, 0, b, &err), CBX_OK, "an empty table");
}

/* A permutation p is what the drawn ones say, plus one; the same seed gives the same. */
static double largest_gap(const double *x, size_t n, const double *y, size_t m, void *user)
{
    double max = 0;
    (void)user;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++) max = fmax(max, fabs(x[i] - y[j]));
    return max;
}

/* log of the ratio of two sums: undefined where a rearrangement makes them differ in sign. */
static double log_ratio(const double *x, size_t n, const double *y, size_t m, void *user)
{
    double a = 0, b = 0;
    (void)user;
    for (size_t i = 0; i < n; i++) a += x[i];
    for (size_t i = 0; i < m; i++) b += y[i];
    return log(a / b);
}

TEST(permutations_are_drawn)
{
    const double rises[] = { 5, 6, 7 }, falls[] = { 1, 2, -9.5, 8 };

    double x[30], y[30];
    cbx_rng rng = cbx_rng_make(9, 0);
    cbx_permutation_opts o = CBX_PERMUTATION_OPTS_INIT;
    cbx_test t, again;
    for (int i = 0; i < 30; i++) {
        x[i] = 1e9 + cbx_rng_normal(&rng);
        y[i] = 1e9 + cbx_rng_normal(&rng) + 3;
    }
    o.permutations = 999;
    CHECK_OK(cbx_stat_test_permutation(ctx, x, 30, y, 30, &o, &t, &err), &err, "drawn");
    CHECK(!t.exact && fabs(t.p_less - 1e-3) < 1e-15, "none as extreme: 1 / 1000, never 0");
    CHECK_OK(cbx_stat_test_permutation(ctx, x, 30, y, 30, &o, &again, &err), &err, "drawn");
    CHECK(t.statistic == again.statistic && t.p == again.p && t.p_less == again.p_less &&
              t.p_greater == again.p_greater,
          "one seed, one answer");
    o.paired = true;
    CHECK_OK(cbx_stat_test_permutation(ctx, x, 30, y, 30, &o, &t, &err), &err, "pairs");
    CHECK(fabs(t.p_less - 1e-3) < 1e-15, "pairs");
    o.paired = false;
    o.compare = largest_gap;
    CHECK_OK(cbx_stat_test_permutation(ctx, x, 6, y, 5, &o, &t, &err), &err, "one's own");
    CHECK(t.exact, "462 splits are all counted");
    CHECK_STATUS(cbx_stat_test_permutation(ctx, x, 6, y, 0, &o, &t, &err), CBX_EINVAL, "an empty sample");
    o.compare = log_ratio;
    CHECK(isfinite(log_ratio(rises, 3, falls, 4, NULL)), "the samples themselves have one");
    CHECK_STATUS(cbx_stat_test_permutation(ctx, rises, 3, falls, 4, &o, &t, &err), CBX_EDOM,
                 "what cannot be counted is not left out of the count");
}

/* Under the null the exact tests reject at most as often as they say, whatever the ties. */
TEST(tests_keep_their_level)
{
    enum { RUNS = 1000 };
    for (size_t k = 0; k < CBX_LEN(two_samples); k++) {
        cbx_rng rng = cbx_rng_make(41, k);
        size_t alarms = 0;
        if (two_samples[k].run == permuted) continue; /* the same counts as the exact rank tests, and slow */
        for (int run = 0; run < RUNS; run++) {
            double x[12], y[9];
            cbx_test t;
            for (int i = 0; i < 12; i++) x[i] = floor(4 * cbx_rng_uniform(&rng));
            for (int i = 0; i < 9; i++) y[i] = floor(4 * cbx_rng_uniform(&rng));
            CHECK_OK(two_samples[k].run(x, 12, y, 9, &t), &err, two_samples[k].name);
            alarms += t.p <= 0.05;
        }
        CHECK_LE((double)alarms / RUNS, 0.05 + 3 * 0.0069, two_samples[k].name);
    }
}

/* Scaling data by a power of two changes no p-value, no effect and no verdict on stability, however
 * far squares leave the range. */
TEST(scale_does_not_matter)
{
    static const int shifts[] = { 0, -30, 600, 1015, -600, -1000 };
    static const double x[] = { 1, -1.5, 0.25, 0.5, 0.75, 0.125 }, y[] = { 2, 1.75, 3, 2.5, 1.5, 2.25 };
    double a[6], b[6], sd;
    cbx_test t[4], first[4];
    cbx_interval iv, d, first_d = { 0 };
    cbx_variation v;
    for (size_t k = 0; k < CBX_LEN(shifts); k++) {
        for (size_t i = 0; i < 6; i++) a[i] = scalbn(x[i], shifts[k]);
        for (size_t i = 0; i < 6; i++) b[i] = scalbn(y[i], shifts[k]);
        CHECK_OK(cbx_stat_test_welch(a, 6, b, 6, &t[0], &err), &err, "welch");
        CHECK_OK(cbx_stat_test_student(a, 6, b, 6, &t[1], &err), &err, "student");
        CHECK_OK(cbx_stat_test_mean(a, 6, 0, &t[2], &err), &err, "one sample");
        CHECK_OK(cbx_stat_test_paired_t(ctx, a, b, 6, &t[3], &err), &err, "pairs");
        CHECK_OK(cbx_stat_cohen_d(a, 6, b, 6, 0.9, &d, &err), &err, "cohen d");
        CHECK_OK(cbx_stat_mean_interval(a, 6, 0.9, &iv, &err), &err, "mean interval");
        CHECK_OK(cbx_stat_variation(a, 6, 0.1, &v, &err), &err, "variation");
        CHECK_OK(cbx_stat_mean(a, 6, NULL, &sd, &err), &err, "mean");
        if (k == 0) memcpy(first, t, sizeof t);
        if (k == 0) first_d = d;
        for (int j = 0; j < 4; j++) CHECK_LE(fabs(t[j].p - first[j].p), 1e-13 * first[j].p, t[j].method);
        CHECK_LE(fabs(d.value - first_d.value), 1e-13 * fabs(first_d.value), "effect");
        CHECK(!v.stable, "a spread of four times the mean is not stable");
        CHECK_LE(fabs(scalbn(sd, -shifts[k]) - 0.8865311613248572), 1e-12, "numpy.std(x, ddof=1)");
        CHECK(iv.lower < 0 && iv.upper > scalbn(0.5, shifts[k]), "an interval has a width");
    }
}

/* numpy.std(x - x[0], ddof=1), exact differences: a clock's large origin costs nothing. */
TEST(clocks_keep_their_spread)
{
    static const double x[] = { 1e9 + 4, 1e9, 1e9, 1e9 + 1, 1e9 + 4, 1e9 + 4, 1e9 + 2, 1e9 };
    cbx_summary s;
    CHECK_OK(cbx_stat_summary(ctx, x, 8, &s, &err), &err, "summary");
    CHECK_LE(fabs(s.stddev - 1.8850918886280925), 1e-15, "the deviation");
    CHECK(s.mean == 1e9 + 1.875, "the mean");
}

static cbx_status all_of_them(cbx_ctx *c, void *user)
{
    static const double x[] = { 3, 1, 2, 5, 4, 6 }, y[] = { 2, 2, 7, 1, 9, 3 };
    cbx_test t;
    cbx_interval iv;
    cbx_mode modes[2];
    bool mask[6];
    size_t count;
    double v, six[6];
    cbx_status st = cbx_stat_test_paired_t(c, x, y, 6, &t, NULL);
    (void)user;
    if (!st) st = cbx_stat_tost_paired(c, x, y, 6, -9, 9, &t, NULL);
    if (!st) st = cbx_stat_test_mann_whitney(c, x, 6, y, 6, CBX_TEST_EXACT, &t, NULL);
    if (!st) st = cbx_stat_test_signed_rank(c, x, y, 6, CBX_ZERO_DROP, CBX_TEST_EXACT, &t, NULL);
    if (!st) st = cbx_stat_test_brunner_munzel(c, x, 6, y, 6, &t, NULL);
    if (!st) st = cbx_stat_test_ks_one(c, x, 6, uniform_cdf, NULL, &t, NULL);
    if (!st) st = cbx_stat_test_ks_two(c, x, 6, y, 6, CBX_TEST_EXACT, &t, NULL);
    if (!st) st = cbx_stat_test_permutation(c, x, 6, y, 6, NULL, &t, NULL);
    if (!st) st = cbx_stat_adjust(c, CBX_CORRECTION_HOMMEL, (double[]){ 0.1, 0.2 }, 2, six, NULL);
    if (!st) st = cbx_stat_trimmed_mean(c, x, 6, 0.2, &v, NULL);
    if (!st) st = cbx_stat_winsorized_mean(c, x, 6, 0.2, &v, NULL);
    if (!st) st = cbx_stat_hodges_lehmann(c, x, 6, 0.9, &iv, NULL);
    if (!st) st = cbx_stat_hodges_lehmann_shift(c, x, 6, y, 6, 0.9, &iv, NULL);
    if (!st) st = cbx_stat_outliers(c, x, 6, 3.5, mask, &count, NULL);
    if (!st) st = cbx_stat_mad(c, x, 6, &v, NULL);
    if (!st) st = cbx_stat_qn(c, x, 6, &v, NULL);
    if (!st) st = cbx_stat_quantile_interval(c, x, 6, 0.5, 0.9, &iv, NULL);
    if (!st) st = cbx_stat_paired_d(c, x, y, 6, 0.9, &iv, NULL);
    if (!st) st = cbx_stat_cliff_delta(c, x, 6, y, 6, 0.9, &iv, NULL);
    if (!st) st = cbx_stat_batch_means(c, x, 6, 3, 0.9, &iv, NULL);
    if (!st) st = cbx_stat_test_order(c, x, 6, &t, NULL);
    if (!st) st = cbx_stat_test_runs(c, x, 6, CBX_TEST_AUTO, &t, NULL);
    if (!st) st = cbx_stat_modes(c, x, 6, CBX_MODES_RESOLUTION, modes, 2, &count, NULL);
    if (!st) st = cbx_stat_test_dip(c, x, 6, 9, 1, &t, NULL);
    return st;
}

TEST(every_allocation_may_fail) { CHECK_GT(cbx_test_fail_each(all_of_them, NULL, "statistics"), 30, "allocations"); }

TESTS(.seconds = 600, .before = counted_setup, .after = counted_teardown)
