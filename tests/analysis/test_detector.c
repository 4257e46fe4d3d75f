/*
 * The detector on simulated series, seeds fixed: alarms without a change, and steps found.
 * CALIBRAX_LONG_TESTS=1 takes twenty times as many series (`make detector-study`; figures in
 * docs/reference/statistics.md).
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

TEST(null_series)
{
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

/* +10 % at 3 % noise after 60 points: seen with no more than 3 points behind it, and where
 * it is. */
TEST(steps)
{
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

/* One value of a null series, about 1. */
typedef struct null_kind {
    const char *name;
    double phi, sigma;
    int freedom;        /* of Student's t; 0: normal */
    bool logs;          /* exp of it */
    double slow, spike; /* share of values in a mode 30 % slower; share that are 1.3 to 3 times as long */
    double wanted;      /* at most this share of series may raise any alarm */
} null_kind;

static double null_value(const null_kind *k, double *ar, cbx_rng *rng)
{
    double noise = cbx_rng_normal(rng), v;

    if (k->freedom) {
        double square = 0;
        for (int i = 0; i < k->freedom; i++) square += pow(cbx_rng_normal(rng), 2);
        noise /= sqrt(square / k->freedom);
    }
    *ar = k->phi * *ar + sqrt(1 - k->phi * k->phi) * noise;
    v = k->logs ? exp(fmin(fmax(k->sigma * *ar, -500), 500)) : 1 + k->sigma * *ar;
    if (cbx_rng_uniform(rng) < k->slow) v *= 1.3;
    if (cbx_rng_uniform(rng) < k->spike) v *= 1.3 + 1.7 * cbx_rng_uniform(rng);
    return v;
}

/* A gate that checks a series without a change after each of 100 runs, from its first and from its
 * 201st on. */
TEST(repeated_checks)
{
    static const null_kind kinds[] = {
        { "normal", 0, 0.03, 0, false, 0, 0, 0.01 },
        { "log-normal, sigma 0.8", 0, 0.8, 0, true, 0, 0, 0.01 },
        { "Student's t, 3 degrees", 0, 0.02, 3, false, 0, 0, 0.01 },
        { "exp of Cauchy", 0, 0.02, 1, true, 0, 0, 0.01 },
        { "12 % in a slow mode", 0, 0.01, 0, false, 0.12, 0, 0.01 },
        { "30 % in a slow mode", 0, 0.01, 0, false, 0.3, 0, 0.01 },
        { "50 % in a slow mode", 0, 0.01, 0, false, 0.5, 0, 0.01 },
        { "2 % spikes", 0, 0.02, 0, false, 0, 0.02, 0.01 },
        { "AR(1) 0.3", 0.3, 0.03, 0, false, 0, 0, 0.01 },
        { "AR(1) 0.6", 0.6, 0.03, 0, false, 0, 0, 0.05 },
    };
    static const size_t firsts[] = { 0, 200 };
    bool is_long = getenv("CALIBRAX_LONG_TESTS");

    for (size_t k = 0; k < CBX_LEN(kinds); k++)
        for (size_t j = 0; j < CBX_LEN(firsts); j++) {
            size_t n = is_long ? (j ? 400 : 3000) : j ? 10 : 100, alarmed = 0;
            cbx_rng rng = cbx_rng_make(2027, 2 * k + j);
            for (size_t i = 0; i < n; i++) {
                double x[300], ar = kinds[k].freedom ? 0 : cbx_rng_normal(&rng);
                bool before = false, any = false;
                for (size_t m = 0; m < firsts[j] + 100; m++) {
                    cbx_change c[300];
                    x[m] = null_value(&kinds[k], &ar, &rng);
                    if (m + 1 < firsts[j] || m < 5) continue;
                    for (size_t f = found(x, m + 1, c); f-- > 0;) *(m + 1 == firsts[j] ? &before : &any) |= c[f].alarm;
                }
                alarmed += any && !before;
            }
            print_message("# %s, 100 checks from value %zu on: %.2f %% of %zu series alarm\n", kinds[k].name,
                          firsts[j] + 1, 100 * (double)alarmed / (double)n, n);
            CHECK_LE((double)alarmed, kinds[k].wanted * (double)n + 3 * sqrt(kinds[k].wanted * (double)n) + 1,
                     kinds[k].name); /* three standard errors of so rare a count, and one */
        }
}

/* How soon a step of 3.3 standard deviations is an alarm. */
TEST(alarm_of_a_step)
{
    static const struct {
        size_t before, after;
        double step, wanted;
    } cases[] = {
        { 60, 4, 0.1, 0.55 }, { 60, 6, 0.1, 0.85 }, { 60, 8, 0.1, 0.95 }, { 20, 8, 0.1, 0.5 }, { 12, 6, 0.3, 0.9 }
    };
    size_t n = turns(200);

    for (size_t k = 0; k < CBX_LEN(cases); k++) {
        size_t seen = 0, length = cases[k].before + cases[k].after;
        cbx_rng rng = cbx_rng_make(8, k);
        for (size_t i = 0; i < n; i++) {
            double x[68];
            cbx_change c[68];
            size_t count;
            simulate(x, length, 0, 0.03, false, &rng);
            for (size_t m = cases[k].before; m < length; m++) x[m] += cases[k].step;
            count = found(x, length, c);
            seen += count && c[count - 1].alarm && c[count - 1].index + 3 >= cases[k].before;
        }
        print_message("# +%g %% at 3 %% noise, %zu values before and %zu after: %.1f %% alarm\n", 100 * cases[k].step,
                      cases[k].before, cases[k].after, 100 * (double)seen / (double)n);
        CHECK_GT((double)seen / (double)n, cases[k].wanted, "seen");
    }
}

/* What the last values alone show: one is no change, whatever its size; two and three are named
 * where they begin. */
TEST(last_values)
{
    double x[40];
    cbx_change c[40];
    cbx_rng rng = cbx_rng_make(13, 0);
    size_t one = 0, n = turns(200);

    for (size_t i = 0; i < n; i++) {
        simulate(x, 40, 0, 0.02, false, &rng);
        x[39] *= 1.5;
        for (size_t k = found(x, 40, c); k-- > 0;) one += c[k].index >= 36;
        x[38] *= 1.5;
        for (size_t k = found(x, 40, c); k-- > 0;) CHECK(c[k].index < 37 || c[k].index == 38, "two values at the end");
        x[37] *= 1.5;
        CHECK(found(x, 40, c) >= 1 && c[found(x, 40, c) - 1].index == 37, "three values at the end");
    }
    CHECK_LE((double)one / (double)n, bound(0.01, n), "a lone last value 50 % off");
}

TEST(levels)
{
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
    CHECK_STATUS(cbx_changes_detect(ctx, x, 5, 3, c, &count, &err), CBX_EINVAL, "a short one");
    CHECK(strstr(err.message, "5 values") && strstr(err.message, "need 6"), err.message);
    x[3] = INFINITY;
    CHECK_STATUS(cbx_changes_detect(ctx, x, 150, 3, c, &count, &err), CBX_EDOM, "not finite");
    CHECK_STATUS(cbx_changes_detect(ctx, x, 3, 0, c, &count, &err), CBX_EINVAL, "no segment");
}

/* Fresh launches of both sides confirm what the series only suggests. */
TEST(confirmed)
{
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
    CHECK_STATUS(cbx_change_confirm(ctx, a, 21, b, 21, 0.95, NAN, &v, &iv, &err), CBX_EINVAL, "no threshold");
    CHECK_STATUS(cbx_change_confirm(ctx, a, 21, b, 21, 0.95, -0.1, &v, &iv, &err), CBX_EINVAL, "one below 0");
    CHECK_OK(cbx_change_confirm(ctx, a, 1, b, 21, 0.95, 0.02, &v, &iv, &err), &err, "few");
    CHECK_STR(cbx_verdict_name(v), "undecided", "one sample is too few");
    CHECK(iv.level == 0, "no level");
}

/* A long series, again and again; its cost is printed (the goal is 1,000 such series a second,
 * which make report-pipeline measures). */
TEST(long_series)
{
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

TEST(out_of_memory) { CHECK_GT(cbx_test_fail_each(one_detection, NULL, "detector"), 3, "allocations failed"); }

TESTS(.before = counted_setup, .after = counted_teardown)
