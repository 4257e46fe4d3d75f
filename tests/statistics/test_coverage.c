/*
 * How often intervals hold what they are for.  Without arguments: a quick form with fixed seeds, as
 * a test.  With a number of runs: the table that docs/reference/statistics.md publishes (make
 * coverage-table).
 *
 * Order-statistic intervals of the median cover what they say they attain, whatever the
 * distribution; intervals of a mean cover what normal data would give them, and less on
 * skewed data.
 */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/base/rng.h"
#include "calibrax/statistics/bootstrap.h"
#include "calibrax/statistics/interval.h"
#include "calibrax/statistics/location.h"
#include "counted.h"

enum { RESAMPLES = 999, LARGEST = 100 };

static cbx_err err;

typedef enum method { MEDIAN, INTERPOLATED, SHIFT, STUDENT, PERCENTILE, BASIC, BCA, STUDENTISED, METHODS } method;
static const char *const names[METHODS] = { "median, order statistics",
                                            "median, interpolated",
                                            "pseudo-median, Hodges-Lehmann",
                                            "mean, t",
                                            "mean, percentile",
                                            "mean, basic",
                                            "mean, BCa",
                                            "mean, studentised" };

/* Five values attain no 95 % for their median: there 90 % is asked for. */
static double level_of(method m, size_t n) { return m <= INTERPOLATED && n < 6 ? 0.90 : 0.95; }

static cbx_interval interval_of(method m, const double *x, size_t n, uint64_t seed)
{
    cbx_boot_opts o = CBX_BOOT_OPTS_INIT;
    cbx_interval iv = { 0 };
    cbx_status st;

    o.resamples = RESAMPLES;
    o.seed = seed;
    o.threads = 1;
    switch (m) {
    case MEDIAN: st = cbx_stat_median_interval(ctx, x, n, level_of(m, n), &iv, &err); break;
    case INTERPOLATED: st = cbx_stat_median_interpolated(ctx, x, n, level_of(m, n), &iv, &err); break;
    case SHIFT: st = cbx_stat_hodges_lehmann(ctx, x, n, level_of(m, n), &iv, &err); break;
    case STUDENT: st = cbx_stat_mean_interval(x, n, level_of(m, n), &iv, &err); break;
    default: o.method = (cbx_boot_method)(m - PERCENTILE); st = cbx_stat_bootstrap(ctx, x, n, NULL, 0, &o, &iv, &err);
    }
    CHECK_OK(st, &err, names[m]);
    return iv;
}

/* Normal 10 + z, or lognormal exp(z) with sigma 1. */
static double truth_of(method m, bool lognormal) { return !lognormal ? 10 : m <= INTERPOLATED ? 1 : exp(0.5); }

/* Share of `runs` samples whose interval holds the truth; an interval without a level holds
 * nothing.  *attained: the level it says. */
static double coverage(method m, size_t n, bool lognormal, size_t runs, double *attained)
{
    size_t held = 0;

    for (uint64_t run = 0; run < runs; run++) {
        cbx_rng rng = cbx_rng_make(20260101, run);
        double x[LARGEST], truth = truth_of(m, lognormal);
        cbx_interval iv;
        for (size_t i = 0; i < n; i++) {
            double z = cbx_rng_normal(&rng);
            x[i] = lognormal ? exp(z) : 10 + z;
        }
        iv = interval_of(m, x, n, run);
        *attained = iv.level;
        held += iv.level > 0 && iv.lower <= truth && truth <= iv.upper;
    }
    return (double)held / (double)runs;
}

/* 4000 runs: a standard error of 0.0035, so 1.5 % is four of them. */
TEST(medians_cover_what_they_attain)
{
    double attained, share;
    for (size_t i = 0; i < 6; i++) {
        size_t n = (size_t[]){ 5, 10, 30 }[i % 3];
        share = coverage(MEDIAN, n, i >= 3, 4000, &attained);
        CHECK(attained >= level_of(MEDIAN, n), "at least what was asked for");
        CHECK_LE(fabs(share - attained), 0.015, "coverage is the level attained");
        share = coverage(INTERPOLATED, n, i >= 3, 4000, &attained);
        CHECK(attained == level_of(INTERPOLATED, n), "what was asked for");
        CHECK_LE(fabs(share - attained), 0.015, "and that is what it covers");
    }
}

TEST(means_cover_what_is_known_of_them)
{
    double reported;
    CHECK_LE(fabs(coverage(STUDENT, 5, false, 2000, &reported) - 0.95), 0.015, "t on normal data is exact");
    CHECK_LE(fabs(coverage(SHIFT, 10, false, 2000, &reported) - reported), 0.015,
             "so is Hodges-Lehmann on symmetric data");
    CHECK_LE(coverage(PERCENTILE, 5, false, 500, &reported), 0.89,
             "the percentile bootstrap is too narrow: the check sees it");
    CHECK_GT(coverage(PERCENTILE, 30, false, 500, &reported), 0.90, "and less so at 30");
    CHECK_GT(coverage(STUDENTISED, 10, false, 500, &reported), 0.93, "studentised repairs it");
    CHECK_GT(coverage(BCA, 30, true, 500, &reported), coverage(PERCENTILE, 30, true, 500, &reported),
             "BCa corrects skewness");
}

static void print_table(size_t runs)
{
    static const size_t sizes[] = { 3, 5, 10, 30, 100 };

    printf("Nominal 95 %% (median of 5: 90 %%), %zu samples each, %d resamples; share of intervals that hold the truth "
           "(level attained).\n\n",
           runs, RESAMPLES);
    printf("| interval | data |");
    for (size_t i = 0; i < CBX_LEN(sizes); i++) printf(" n = %zu |", sizes[i]);
    printf("\n|---|---|---|---|---|---|---|\n");
    for (int m = 0; m < METHODS; m++)
        for (int lognormal = 0; lognormal < (m == SHIFT ? 1 : 2); lognormal++) {
            printf("| %s | %s |", names[m], lognormal ? "log-normal" : "normal");
            for (size_t i = 0; i < CBX_LEN(sizes); i++) {
                double attained = 0, share = coverage((method)m, sizes[i], lognormal, runs, &attained);
                if (attained == 0)
                    printf(" none |");
                else if (m <= SHIFT)
                    printf(" %.1f (%.1f) |", 100 * share, 100 * attained);
                else
                    printf(" %.1f |", 100 * share);
            }
            printf("\n");
            fflush(stdout);
        }
}

static int before(void **state)
{
    const char *runs = getenv("CBX_COVERAGE_RUNS");

    counted_setup(state);
    if (runs) print_table((size_t)atoi(runs));
    return 0;
}

TESTS(.seconds = 600, .before = before, .after = counted_teardown)
