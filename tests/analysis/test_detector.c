/*
 * The detector on simulated series, seeds fixed: alarms without a change, and steps found.
 * CALIBRAX_LONG_TESTS=1 takes twenty times as many series (`make detector-study`; figures in docs/statistics.md).
 */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "calibrax/analysis/changepoint.h"
#include "calibrax/base/clock.h"
#include "calibrax/base/rng.h"
#include "counted.h"

static cbx_err err;

static size_t turns(size_t quick) { return getenv("CALIBRAX_LONG_TESTS") ? 20 * quick : quick; }

/* phi: AR(1) of variance 1; sigma: relative noise; logs: log-normal. */
static void simulate(double *x, size_t n, double phi, double sigma, bool logs, cbx_rng *rng)
{
    double v = cbx_rng_normal(rng);

    for (size_t i = 0; i < n; i++) {
        v = phi * v + sqrt(1 - phi * phi) * cbx_rng_normal(rng);
        x[i] = logs ? exp(sigma * v) : 1 + sigma * v;
    }
}

static size_t found(const double *x, size_t n, cbx_change *out)
{
    size_t count = 0;

    CHECK_OK(cbx_changes_detect(ctx, x, n, 3, out, &count, &err), &err, "detected");
    return count;
}

/* At most the stated share, and what chance adds to it in so many series: three standard errors. */
static double bound(double share, size_t n) { return share + 3 * sqrt(share * (1 - share) / (double)n); }

static void null_series(void **state)
{
    (void)state;
    static const struct {
        double phi, sigma;
        bool logs;
        double wanted;
        const char *why;
    } cases[] = {
        { 0, 0.03, false, 0.01, "normal" },         { 0, 0.03, true, 0.01, "log-normal" },
        { 0, 0.8, true, 0.01, "log-normal, wide" }, { 0.3, 0.03, false, 0.01, "AR(1) 0.3" },
        { 0.6, 0.03, false, 0.05, "AR(1) 0.6" },
    };
    for (size_t k = 0; k < CBX_LEN(cases); k++) {
        size_t n = turns(1000), alarms = 0;
        cbx_rng rng = cbx_rng_make(2026, k);
        for (size_t i = 0; i < n; i++) {
            double x[100];
            cbx_change c[100];
            simulate(x, 100, cases[k].phi, cases[k].sigma, cases[k].logs, &rng);
            alarms += found(x, 100, c) > 0;
        }
        print_message("# %s: %.2f %% of %zu series alarm\n", cases[k].why, 100 * (double)alarms / (double)n, n);
        CHECK_LE((double)alarms / (double)n, bound(cases[k].wanted, n), cases[k].why);
    }
}

/* +10 % at 3 % noise after 60 points: seen with no more than 3 points behind it, and where it is. */
static void steps(void **state)
{
    (void)state;
    size_t n = turns(1000), seen = 0, drops = 0;
    cbx_rng rng = cbx_rng_make(7, 7);

    for (size_t i = 0; i < n; i++) {
        double x[63];
        cbx_change c[63];
        size_t count;
        simulate(x, 63, 0, 0.03, false, &rng);
        for (int k = 60; k < 63; k++) x[k] += 0.1;
        count = found(x, 63, c);
        seen += count && c[count - 1].index >= 57 && c[count - 1].change > 0;
        for (int k = 60; k < 63; k++) x[k] -= 0.2;
        count = found(x, 63, c);
        drops += count && c[count - 1].index >= 57 && c[count - 1].change < 0;
    }
    print_message("# +10 %% seen after 3 points: %.1f %%, -10 %%: %.1f %%\n", 100 * (double)seen / (double)n,
                  100 * (double)drops / (double)n);
    CHECK_GT((double)seen / (double)n, 0.9, "+10 %");
    CHECK_GT((double)drops / (double)n, 0.9, "-10 %");
}

static void levels(void **state)
{
    (void)state;
    double x[150];
    cbx_change c[150];
    cbx_rng rng = cbx_rng_make(12, 0);
    size_t count;

    simulate(x, 150, 0, 0.01, false, &rng);
    for (int i = 50; i < 100; i++) x[i] *= 1.2;
    count = found(x, 150, c);
    CHECK_INT(count, 2, "up and down again");
    CHECK(c[0].index == 50 && c[1].index == 100, "where they are");
    CHECK_LE(fabs(c[0].change - 0.2), 0.01, "by 20 %");
    CHECK_LE(fabs(c[1].change + 1 - 1 / 1.2), 0.01, "and back");
    CHECK_LE(fabs(c[0].before - 1), 0.01, "level before");
    CHECK_LE(fabs(c[0].after - 1.2), 0.01, "level after");
    CHECK(c[0].score > 0 && c[1].score < 0, "signed");
    for (int i = 0; i < 150; i++) x[i] = i < 75 ? -4 : 4; /* no logarithms, no noise */
    count = found(x, 150, c);
    CHECK(count == 1 && c[0].index == 75 && c[0].change == 2 && isinf(c[0].score), "a clean step");
    for (int i = 0; i < 150; i++) x[i] = 3;
    CHECK_INT(found(x, 150, c), 0, "a constant series");
    CHECK_INT(found(x, 5, c), 0, "a short one");
    x[3] = INFINITY;
    CHECK_STATUS(cbx_changes_detect(ctx, x, 150, 3, c, &count, &err), CBX_EDOM, "not finite");
    CHECK_STATUS(cbx_changes_detect(ctx, x, 3, 0, c, &count, &err), CBX_EINVAL, "no segment");
}

/* Fresh launches of both sides settle what the series only suggests. */
static void confirmed(void **state)
{
    (void)state;
    double a[21], b[21];
    cbx_rng rng = cbx_rng_make(77, 0);
    cbx_verdict v;
    cbx_interval iv;

    for (int i = 0; i < 21; i++) {
        a[i] = 1 + 0.005 * cbx_rng_normal(&rng);
        b[i] = 1 + 0.005 * cbx_rng_normal(&rng);
    }
    CHECK_OK(cbx_change_confirm(ctx, a, 21, b, 21, 0.95, 0.02, &v, &iv, &err), &err, "no change");
    CHECK_STR(cbx_verdict_name(v), "equivalent", "a false alarm falls");
    CHECK_GT(iv.level, 0.95, "at the level asked for");
    for (int i = 0; i < 21; i++) b[i] *= 1.1;
    CHECK_OK(cbx_change_confirm(ctx, a, 21, b, 21, 0.95, 0.02, &v, NULL, &err), &err, "a change");
    CHECK_STR(cbx_verdict_name(v), "slower", "a change stands");
    CHECK_OK(cbx_change_confirm(ctx, a, 1, b, 21, 0.95, 0.02, &v, &iv, &err), &err, "few");
    CHECK_STR(cbx_verdict_name(v), "undecided", "one sample is too few");
    CHECK(iv.level == 0, "no level");
}

/* A long series, again and again; what it costs is told (the goal is 1,000 such series a second, which make report-pipeline measures). */
static void long_series(void **state)
{
    (void)state;
    double x[500], seconds;
    cbx_change c[500];
    cbx_rng rng = cbx_rng_make(9, 0);
    uint64_t t0;

    simulate(x, 500, 0, 0.03, false, &rng);
    for (int i = 250; i < 500; i++) x[i] += 0.2;
    t0 = cbx_clock_ns();
    for (int i = 0; i < 100; i++) CHECK(found(x, 500, c) == 1 && c[0].index == 250, "the same each time");
    seconds = (double)(cbx_clock_ns() - t0) * 1e-9;
    print_message("# 100 series of 500 points: %.3f s\n", seconds);
}

static cbx_status one_detection(cbx_ctx *c, void *user)
{
    double x[20];
    cbx_change out[20];
    cbx_verdict v;
    cbx_err e;
    size_t count;
    cbx_status st;

    (void)user;
    for (int i = 0; i < 20; i++) x[i] = 1 + i / 10 + 0.01 * (i % 3);
    st = cbx_changes_detect(c, x, 20, 3, out, &count, &e);
    if (!st) st = cbx_change_confirm(c, x, 10, x + 10, 10, 0.95, 0.02, &v, NULL, &e);
    return st;
}

static void out_of_memory(void **state)
{
    (void)state;
    CHECK_GT(cbx_test_fail_each(one_detection, NULL, "detector"), 3, "allocations failed");
}

TEST_FILE()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_series), cmocka_unit_test(steps),       cmocka_unit_test(levels),
        cmocka_unit_test(confirmed),   cmocka_unit_test(long_series), cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("detector", tests, counted_setup, counted_teardown);
}
