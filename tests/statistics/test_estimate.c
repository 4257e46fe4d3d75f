/*
 * Estimators against NumPy and SciPy (tests/fixtures/statistics, made by make_estimates.py), exact
 * binomial sums, and the one property that an interval is for: it covers as often as it says.
 */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "../fixtures/statistics/expected.h"
#include "calibrax/base/rng.h"
#include "calibrax/statistics/estimate.h"
#include "counted.h"

#define A(...)                                                                                                         \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }
#define UNIT 0x1p-53 /* rounding unit of double */

static const struct {
    const char *why;
    size_t n;
    double x[128];
    double min, max, mean, median, p25, p75, p95, p99, stddev, mad;
} samples[] = {
#define ROW(why, n, x, ...) { why, n, x, __VA_ARGS__ },
    SAMPLES(ROW)
#undef ROW
};

static const struct {
    unsigned long n;
    long k;
    double p;
} binomials[] = {
#define ROW(n, k, p) { n, k, p },
    BINOMIALS(ROW)
#undef ROW
};

static const struct {
    size_t n;
    double level;
    size_t r;
    double achieved;
} ranks[] = {
#define ROW(n, level, r, achieved) { n, level, r, achieved },
    RANKS(ROW)
#undef ROW
};

static cbx_err err;

/* Quantiles are NumPy's to the last bit.  The deviation is one of two passes: NumPy's own, about a
 * rounded mean, bounds how near both are. */
TEST(summaries_are_numpys)
{
    for (size_t i = 0; i < CBX_LEN(samples); i++) {
        const char *why = samples[i].why;
        size_t n = samples[i].n;
        cbx_summary s;
        double largest = fmax(fabs(samples[i].min), fabs(samples[i].max)), median;
        double before[128];

        memcpy(before, samples[i].x, sizeof(before));
        CHECK_OK(cbx_stat_summary(ctx, samples[i].x, n, &s, &err), &err, why);
        CHECK_INT(memcmp(before, samples[i].x, sizeof(before)), 0, "the sample is not changed");
        CHECK_INT(s.n, n, why);
        CHECK(s.min == samples[i].min && s.max == samples[i].max, why);
        CHECK(s.median == samples[i].median && s.p25 == samples[i].p25 && s.p75 == samples[i].p75, why);
        CHECK(s.p95 == samples[i].p95 && s.p99 == samples[i].p99, why);
        CHECK_LE(fabs(s.mad - samples[i].mad), 4 * UNIT * samples[i].mad, why);
        CHECK_LE(fabs(s.mean - samples[i].mean), 2 * (double)n * UNIT * largest, why);
        CHECK_LE(fabs(s.stddev - samples[i].stddev), 2 * (double)n * UNIT * hypot(samples[i].stddev, samples[i].mean),
                 why);
        CHECK_OK(cbx_stat_median(ctx, samples[i].x, n, &median, &err), &err, why);
        CHECK(median == samples[i].median, why);
    }
}

TEST(quantiles_at_the_edges)
{
    static const double x[] = { 1, 2, 4 }, wide[] = { -1.7e308, 1.7e308 };
    static const struct {
        const double *x;
        size_t n;
        double p, wanted;
        const char *why;
    } cases[] = {
        { x, 3, 0, 1, "the smallest" },      { x, 3, 1, 4, "the largest" },
        { x, 3, 0.5, 2, "on a sample" },     { x, 3, 0.75, 3, "between two" },
        { x, 3, -1, 1, "below 0 is 0" },     { x, 3, 2, 4, "above 1 is 1" },
        { x, 1, 0.3, 1, "a single sample" }, { wide, 2, 0.5, 0, "their difference overflows" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++)
        CHECK(cbx_stat_quantile_sorted(cases[i].x, cases[i].n, cases[i].p) == cases[i].wanted, cases[i].why);
    CHECK(isnan(cbx_stat_quantile_sorted(x, 3, NAN)), "no p, no quantile");
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

TEST(sorting)
{
    cbx_rng rng = cbx_rng_make(7, 0);
    double x[300], y[300];

    for (size_t n = 0; n <= 300; n += n < 20 ? 1 : 70) {
        size_t numbers = 0;
        for (size_t i = 0; i < n; i++) {
            x[i] = i % 7 == 3 ? NAN : i % 5 == 2 ? -INFINITY : (double)cbx_rng_below(&rng, 40);
            if (!isnan(x[i])) y[numbers++] = x[i];
        }
        qsort(y, numbers, sizeof(double), ascending);
        cbx_stat_sort(x, n);
        CHECK(numbers == 0 || memcmp(x, y, numbers * sizeof(double)) == 0, "as the C library sorts the numbers");
        for (size_t i = numbers; i < n; i++) CHECK(isnan(x[i]), "NaN last");
    }
}

TEST(binomial_sums_are_exact)
{
    for (size_t i = 0; i < CBX_LEN(binomials); i++) {
        double p = cbx_stat_binomial_half_cdf(binomials[i].k, binomials[i].n);
        /* the largest is SciPy's, good to 10 digits; the others are fractions rounded once,
         * ours twice */
        double bound = binomials[i].n >= 1000000 ? 1e-10 : 2 * UNIT;
        if (fabs(p - binomials[i].p) > bound * binomials[i].p)
            fail_msg("P(Bin(%lu) <= %ld) is %.17g, not %.17g", binomials[i].n, binomials[i].k, p, binomials[i].p);
    }
    CHECK(cbx_stat_binomial_half_cdf(-1, 10) == 0, "below 0");
    CHECK(cbx_stat_binomial_half_cdf(10, 10) == 1, "all");
    CHECK(cbx_stat_binomial_half_cdf(0, 0) == 1, "no draw");
    CHECK(cbx_stat_binomial_half_cdf(499999, 999999) == 0.5, "the middle of an odd number");
    CHECK(cbx_stat_binomial_half_cdf(3, 1ul << 20) == 0, "too small for a double");
}

/* The sample 1, 2, ... n shows its ranks. */
static size_t rank_of_interval(size_t n, double level, double *achieved)
{
    double *x = test_malloc(n * sizeof(double));
    cbx_interval iv;

    for (size_t i = 0; i < n; i++)
        x[i] = (double)((i * 7919) % n + 1); /* 7919 is prime to every n used: a permutation */
    CHECK_OK(cbx_stat_median_interval(ctx, x, n, level, &iv, &err), &err, "interval");
    test_free(x);
    CHECK(iv.value == (double)(n + 1) / 2, "median");
    *achieved = iv.level;
    if (iv.level == 0) {
        CHECK(isinf(iv.lower) && iv.lower < 0 && isinf(iv.upper) && iv.upper > 0, "no interval is an endless one");
        return 0;
    }
    CHECK(iv.upper == (double)(n + 1) - iv.lower, "symmetric");
    return (size_t)iv.lower;
}

static size_t wrong_ranks(long shift)
{
    size_t wrong = 0;
    for (size_t i = 0; i < CBX_LEN(ranks); i++) {
        double achieved;
        size_t r = rank_of_interval(ranks[i].n, ranks[i].level, &achieved);
        if ((long)r + shift != (long)ranks[i].r) wrong++;
        if (!shift && fabs(achieved - ranks[i].achieved) > 2 * UNIT) wrong++;
    }
    return wrong;
}

TEST(interval_ranks_are_scipys)
{
    CHECK_INT(wrong_ranks(0), 0, "ranks and achieved levels");
    CHECK_INT(wrong_ranks(1), CBX_LEN(ranks), "the check sees a rank one too large");
    CHECK_INT(wrong_ranks(-1), CBX_LEN(ranks), "and one too small");
    double achieved;
    CHECK_INT(rank_of_interval(5, 0.95, &achieved), 0, "95 % needs six");
    CHECK_INT(rank_of_interval(6, 0.95, &achieved), 1, "95 % needs six");
    CHECK(achieved == 0.96875, "1 - 2/64");
    CHECK_INT(rank_of_interval(7, 0.99, &achieved), 0, "99 % needs eight");
    CHECK_INT(rank_of_interval(8, 0.99, &achieved), 1, "99 % needs eight");
}

/*
 * Share of 4000 lognormal samples of 15 whose interval, narrowed by `off` ranks on both sides,
 * holds the median.  The rank of 95 % is 4 with coverage 0.9648; standard error of the
 * share 0.0029.
 */
static double covered(size_t off)
{
    enum { N = 15, RUNS = 4000 };
    cbx_rng rng = cbx_rng_make(20260101, 3);
    size_t held = 0;

    for (int run = 0; run < RUNS; run++) {
        double x[N];
        cbx_interval iv;
        for (int i = 0; i < N; i++) x[i] = exp(1.5 * cbx_rng_normal(&rng)); /* its median is 1 */
        CHECK_OK(cbx_stat_median_interval(ctx, x, N, 0.95, &iv, &err), &err, "interval");
        if (off) {
            cbx_stat_sort(x, N);
            iv.lower = x[3 + off];
            iv.upper = x[N - 4 - off];
        }
        held += iv.lower <= 1 && 1 <= iv.upper;
    }
    return (double)held / RUNS;
}

TEST(intervals_cover_as_often_as_they_say)
{
    CHECK_LE(fabs(covered(0) - 0.96484375), 4 * 0.0029, "the achieved level is the coverage");
    CHECK_GT(0.95, covered(1), "the check sees a rank one too large");
}

TEST(paired_ratios)
{
    /* pairs that drift together: each quotient is 2 but for the noise that is written in */
    static const double b[] = { 1, 2, 4, 8, 16, 32, 64 }, a[] = { 2.02, 4, 7.92, 16.16, 32, 63.36, 129.28 };
    cbx_interval iv = { 0 };

    CHECK_OK(cbx_stat_paired_ratio(ctx, a, b, 7, 0.95, &iv, &err), &err, "ratio");
    CHECK(iv.value == 2 && iv.lower == 63.36 / 32 && iv.upper == 129.28 / 64, "median and extremes of the quotients");
    CHECK(iv.level == 0.984375, "1 - 2/128");
    CHECK_OK(cbx_stat_paired_ratio(ctx, b, a, 7, 0.95, &iv, &err), &err, "ratio");
    CHECK_LE(fabs(iv.lower * (129.28 / 64) - 1), 2 * UNIT, "the other way round is the inverse");
    CHECK_OK(cbx_stat_paired_ratio(ctx, a, b, 1, 0.95, &iv, &err), &err, "one pair");
    CHECK(iv.value == 2.02 && iv.level == 0 && isinf(iv.upper), "a value without an interval");
}

TEST(constants_and_ties_have_narrow_intervals)
{
    static const double same[] = { 5, 5, 5, 5, 5, 5, 5 }, ties[] = { 1, 2, 2, 2, 2, 2, 3 };
    cbx_interval iv;

    CHECK_OK(cbx_stat_median_interval(ctx, same, 7, 0.95, &iv, &err), &err, "constant");
    CHECK(iv.value == 5 && iv.lower == 5 && iv.upper == 5, "constant");
    CHECK_OK(cbx_stat_median_interval(ctx, ties, 7, 0.8, &iv, &err), &err, "ties");
    CHECK(iv.lower == 2 && iv.upper == 2, "ties");
}

TEST(what_is_refused)
{
    static const double good[] = { 1, 2 }, nan_value[] = { 1, NAN }, infinite[] = { 1, -INFINITY }, zero[] = { 1, 0 },
                        negative[] = { -1, 1 }, tiny[] = { 1e-320, 1 }, huge[] = { 1e300, 1 };
    static const double levels[] = { 0, 1, -0.5, 95, NAN };
    static const struct {
        const double *a, *b;
        const char *why;
    } pairs[] = {
        { zero, good, "zero over something" },
        { good, zero, "something over zero" },
        { negative, good, "negative" },
        { good, negative, "over negative" },
        { nan_value, good, "NaN" },
        { good, infinite, "infinite" },
        { huge, tiny, "the ratio overflows" },
    };
    cbx_summary s = { .n = 99 };
    cbx_interval iv = { .level = 99 };
    double m = 99;

    CHECK_STATUS(cbx_stat_summary(ctx, good, 0, &s, &err), CBX_EINVAL, "no samples");
    CHECK_STATUS(cbx_stat_median(ctx, NULL, 0, &m, &err), CBX_EINVAL, "no samples");
    CHECK_STATUS(cbx_stat_paired_ratio(ctx, good, good, 0, 0.95, &iv, &err), CBX_EINVAL, "no pairs");
    CHECK_STATUS(cbx_stat_summary(ctx, nan_value, 2, &s, &err), CBX_EDOM, "NaN");
    CHECK_STATUS(cbx_stat_median(ctx, infinite, 2, &m, &err), CBX_EDOM, "infinite");
    CHECK_STATUS(cbx_stat_median_interval(ctx, nan_value, 2, 0.9, &iv, &err), CBX_EDOM, "NaN");
    for (size_t i = 0; i < CBX_LEN(levels); i++) {
        CHECK_STATUS(cbx_stat_median_interval(ctx, good, 2, levels[i], &iv, &err), CBX_EINVAL, "level");
        CHECK_STATUS(cbx_stat_paired_ratio(ctx, good, good, 2, levels[i], &iv, &err), CBX_EINVAL, "level");
    }
    for (size_t i = 0; i < CBX_LEN(pairs); i++)
        CHECK_STATUS(cbx_stat_paired_ratio(ctx, pairs[i].a, pairs[i].b, 2, 0.95, &iv, &err), CBX_EDOM, pairs[i].why);
    CHECK(s.n == 99 && iv.level == 99 && m == 99, "out is untouched");
}

static cbx_status all_of_it(cbx_ctx *c, void *user)
{
    static const double x[] = { 3, 1, 2 };
    cbx_summary s;
    cbx_interval iv;
    double m;
    cbx_status st = cbx_stat_summary(c, x, 3, &s, user);

    if (!st) st = cbx_stat_median(c, x, 3, &m, user);
    if (!st) st = cbx_stat_median_interval(c, x, 3, 0.5, &iv, user);
    if (!st) st = cbx_stat_median_interpolated(c, x, 3, 0.5, &iv, user);
    if (!st) st = cbx_stat_paired_ratio(c, x, x, 3, 0.5, &iv, user);
    return st;
}

TEST(no_memory) { CHECK_GT(cbx_test_fail_each(all_of_it, &err, "estimates"), 3, "a scratch each"); }

/* Ten values by hand: c_2 = 1 - 22/1024, c_3 = 1 - 112/1024, i = (c_2 - 0.95) / (c_2 - c_3), w = 8
 * i / (2 + 6 i). */
TEST(interpolated_median_interval)
{
    static const double x[] = { 7, 1, 10, 4, 2, 9, 3, 8, 5, 6 }, same[] = { 3, 3, 3, 3, 3, 3 };
    const double i = (1 - 22 / 1024.0 - 0.95) / (90 / 1024.0), w = 8 * i / (2 + 6 * i);
    cbx_interval iv, exact;

    CHECK_OK(cbx_stat_median_interpolated(ctx, x, 10, 0.95, &iv, &err), &err, "interval");
    CHECK_LE(fabs(iv.lower - (2 + w)), 1e-14, "between the second and the third");
    CHECK_LE(fabs(iv.upper - (9 - w)), 1e-14, "and its mirror image");
    CHECK(iv.value == 5.5 && iv.level == 0.95, "the median, and the level asked for");
    CHECK_OK(cbx_stat_median_interpolated(ctx, x, 5, 0.95, &iv, &err), &err, "too few");
    CHECK(iv.level == 0 && isinf(iv.lower) && isinf(iv.upper), "no interval of five values has 95 %");
    CHECK_OK(cbx_stat_median_interpolated(ctx, same, 6, 0.9, &iv, &err), &err, "constant");
    CHECK(iv.lower == 3 && iv.upper == 3, "is its value");
    for (size_t n = 1; n <= 10; n++)
        for (double level = 0.05; level < 1; level += 0.05) {
            CHECK_OK(cbx_stat_median_interpolated(ctx, x, n, level, &iv, &err), &err, "any size and level");
            CHECK_OK(cbx_stat_median_interval(ctx, x, n, level, &exact, &err), &err, "any size and level");
            CHECK(iv.lower >= exact.lower && iv.upper <= exact.upper && iv.lower <= iv.value && iv.value <= iv.upper,
                  "within the order-statistic one, about the median");
        }
    CHECK_STATUS(cbx_stat_median_interpolated(ctx, x, 10, 1, &iv, &err), CBX_EINVAL, "level");
    CHECK_STATUS(cbx_stat_median_interpolated(ctx, x, 0, 0.9, &iv, &err), CBX_EINVAL, "no values");
}

TESTS(.seconds = 600, .before = counted_setup, .after = counted_teardown)
