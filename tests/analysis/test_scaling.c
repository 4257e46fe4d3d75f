/* Growth and speed-up on exact and noisy data, intervals by their coverage. */
#include "check.h"

#include <math.h>

#include "calibrax/analysis/scaling.h"
#include "calibrax/base/rng.h"
#include "counted.h"

static cbx_err err;

#define POINTS 12
static double f_one(double n) { return 3e-6 + 0 * n; }
static double f_log(double n) { return 1e-6 * log2(n + 1); }
static double f_sqrt(double n) { return 1e-6 * sqrt(n); }
static double f_n(double n) { return 2e-9 * n; }
static double f_n_plus(double n) { return 1e-5 + 1e-8 * n; }
static double f_nlogn(double n) { return 3e-9 * n * log2(n + 1); }
static double f_n15(double n) { return 1e-9 * n * sqrt(n); }
static double f_n2(double n) { return 1e-10 * n * n; }
static double f_n2log(double n) { return 1e-10 * n * n * log2(n + 1); }
static double f_n3(double n) { return 1e-12 * n * n * n; }

TEST(orders)
{
    static const struct {
        double (*f)(double);
        const char *order;
        bool intercept;
        double exponent; /* NaN: none */
        double coefficient;
    } cases[] = {
        { f_one, "O(1)", false, 0, 3e-6 },
        { f_log, "O(log n)", false, NAN, 1e-6 },
        { f_sqrt, "O(sqrt n)", false, 0.5, 1e-6 },
        { f_n, "O(n)", false, 1, 2e-9 },
        { f_n_plus, "O(n)", true, 1, 1e-8 },
        { f_nlogn, "O(n log n)", false, NAN, 3e-9 },
        { f_n15, "O(n^1.5)", false, 1.5, 1e-9 },
        { f_n2, "O(n^2)", false, 2, 1e-10 },
        { f_n2log, "O(n^2 log n)", false, NAN, 1e-10 },
        { f_n3, "O(n^3)", false, 3, 1e-12 },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++)
        for (int noisy = 0; noisy < 2; noisy++) {
            double x[POINTS], y[POINTS], sum = 0;
            cbx_rng rng = cbx_rng_make(4, i);
            cbx_growth g;
            for (int k = 0; k < POINTS; k++) {
                x[k] = pow(2, k + 4);
                y[k] = cases[i].f(x[k]) * (1 + (noisy ? 0.005 * cbx_rng_normal(&rng) : 0));
            }
            CHECK_OK(cbx_scaling_growth(ctx, x, y, POINTS, 0.99, &g, &err), &err, cases[i].order);
            CHECK_STR(cbx_complexity_name(g.order), cases[i].order, noisy ? "with noise" : "exactly");
            CHECK(g.intercept == cases[i].intercept || noisy, "intercept");
            for (int k = 0; k < CBX_COMPLEXITY_COUNT; k++) sum += g.weight[k];
            CHECK_LE(fabs(sum - 1), 1e-12, "weights sum to 1");
            CHECK_LE(g.weight[g.order] * -1, -0.3, "the order chosen weighs most");
            CHECK_LE(g.relative_error, noisy ? 0.01 : 1e-12, "fits");
            CHECK_LE(fabs(g.coefficient / cases[i].coefficient - 1), noisy ? 0.02 : 1e-9,
                     "coefficient, in the units given");
            CHECK_LE(fabs(g.intercept_value - (g.intercept ? cases[i].f(0) : 0)), 0.02 * cases[i].f(1024), "intercept");
            if (isnan(cases[i].exponent)) continue;
            CHECK_LE(g.exponent.lower - 1e-6, cases[i].exponent, "the interval holds the exponent");
            CHECK_GT(g.exponent.upper + 1e-6, cases[i].exponent, "the interval holds the exponent");
            CHECK_LE(g.exponent.upper - g.exponent.lower, noisy ? 0.2 : 1e-5, "and is narrow");
        }
}

/* The interval of the exponent covers as often as it says, within three standard errors and the
 * curvature of the model. */
TEST(coverage)
{
    cbx_rng rng = cbx_rng_make(8, 0);
    size_t held = 0, turns = 300;

    for (size_t t = 0; t < turns; t++) {
        double x[8], y[8];
        cbx_growth g;
        for (int k = 0; k < 8; k++) {
            x[k] = pow(2, k + 4);
            y[k] = 1e-9 * pow(x[k], 1.25) * (1 + 0.03 * cbx_rng_normal(&rng));
        }
        CHECK_OK(cbx_scaling_growth(ctx, x, y, 4 + (size_t)(t % 5), 0.9, &g, &err), &err, "growth");
        held += g.exponent.lower <= 1.25 && 1.25 <= g.exponent.upper;
    }
    CHECK_LE(fabs((double)held / (double)turns - 0.9), 0.06, "covers 90 %");
}

TEST(laws)
{
    static const double p[] = { 1, 2, 4, 8, 16, 32, 64 };

    for (int noisy = 0; noisy < 2; noisy++) {
        double time[7], weak[7], rate[7];
        cbx_rng rng = cbx_rng_make(15, 0);
        cbx_speedup_fit f;
        for (int k = 0; k < 7; k++) {
            double e = noisy ? 0.01 : 0;
            time[k] = 8 * (0.1 + 0.9 / p[k]) * (1 + e * cbx_rng_normal(&rng));
            weak[k] = 5 * (0.2 + 0.8 * p[k]) * (1 + e * cbx_rng_normal(&rng));
            rate[k] = 100 * p[k] / (1 + 0.05 * (p[k] - 1) + 0.001 * p[k] * (p[k] - 1)) * (1 + e * cbx_rng_normal(&rng));
        }
        CHECK_OK(cbx_scaling_speedup(ctx, CBX_LAW_AMDAHL, p, time, 7, 0.99, &f, &err), &err, "Amdahl");
        CHECK_LE(f.parameter[0].lower - 1e-6, 0.1, "serial share");
        CHECK_GT(f.parameter[0].upper + 1e-6, 0.1, "serial share");
        CHECK_LE(f.parameter[0].upper - f.parameter[0].lower, noisy ? 0.02 : 1e-6, "narrow");
        CHECK_LE(fabs(f.scale - 8), noisy ? 0.3 : 1e-6, "time of one worker");
        CHECK_OK(cbx_scaling_speedup(ctx, CBX_LAW_GUSTAFSON, p, weak, 7, 0.99, &f, &err), &err, "Gustafson");
        CHECK_LE(fabs(f.parameter[0].value - 0.2), noisy ? 0.05 : 1e-6, "serial share");
        CHECK_OK(cbx_scaling_speedup(ctx, CBX_LAW_USL, p, rate, 7, 0.99, &f, &err), &err, "USL");
        CHECK_LE(fabs(f.parameter[0].value - 0.05), noisy ? 0.02 : 1e-5, "contention");
        CHECK_LE(fabs(f.parameter[1].value - 0.001), noisy ? 0.0005 : 1e-6, "coherence");
        CHECK(f.parameter[1].lower <= 0.001 + 1e-6 && 0.001 - 1e-6 <= f.parameter[1].upper, "its interval");
        CHECK_LE(fabs(f.peak_workers - sqrt(0.95 / 0.001)), noisy ? 10 : 0.1, "where it turns");
    }
}

TEST(refused)
{
    double x[] = { 1, 2, 4, 8, 16 }, y[] = { 1, 2, 4, 8, 16 }, few[] = { 1, 1, 2, 2, 4 }, bad[] = { 1, 2, 0, 8, 16 };
    double nan[] = { 1, 2, NAN, 8, 16 };
    cbx_growth g;
    cbx_speedup_fit f;

    CHECK_STATUS(cbx_scaling_growth(ctx, x, y, 3, 0.95, &g, &err), CBX_EINVAL, "three points");
    CHECK_STATUS(cbx_scaling_growth(ctx, few, y, 5, 0.95, &g, &err), CBX_EINVAL, "three sizes");
    CHECK_STATUS(cbx_scaling_growth(ctx, x, bad, 5, 0.95, &g, &err), CBX_EDOM, "a time of 0");
    CHECK_STATUS(cbx_scaling_growth(ctx, nan, y, 5, 0.95, &g, &err), CBX_EDOM, "no size");
    CHECK_STATUS(cbx_scaling_growth(ctx, x, y, 5, 1, &g, &err), CBX_EINVAL, "level");
    CHECK_STATUS(cbx_scaling_growth(ctx, x, y, 0, 0.95, &g, &err), CBX_EINVAL, "nothing");
    CHECK_STATUS(cbx_scaling_speedup(ctx, CBX_LAW_USL, x, y, 3, 0.95, &f, &err), CBX_EINVAL, "three points");
    CHECK_STATUS(cbx_scaling_speedup(ctx, (cbx_speedup_law)9, x, y, 5, 0.95, &f, &err), CBX_EINVAL, "no law");
    CHECK_STR(cbx_complexity_name(CBX_COMPLEXITY_COUNT), "?", "no order");
}

/* A growth that no named order has is not called by the nearest one. */
TEST(free_exponents)
{
    static const struct {
        double power;
        bool logs;
        const char *wanted;
    } cases[] = { { 2.4, false, "O(n^2.4)" },
                  { 0.8, false, "O(n^0.8)" },
                  { 2, false, "O(n^2)" },
                  { 2, true, "O(n^2 log n)" },
                  { 1, false, "O(n)" } };
    cbx_rng rng = cbx_rng_make(24, 0);

    for (size_t k = 0; k < CBX_LEN(cases); k++) {
        double x[POINTS], y[POINTS];
        char text[CBX_GROWTH_TEXT];
        cbx_growth g;
        for (int i = 0; i < POINTS; i++) {
            x[i] = 100 * pow(2, i);
            y[i] = 1e-9 * pow(x[i], cases[k].power) * (cases[k].logs ? log2(x[i]) : 1) *
                   exp(0.002 * cbx_rng_normal(&rng));
        }
        CHECK_OK(cbx_scaling_growth(ctx, x, y, POINTS, 0.95, &g, &err), &err, cases[k].wanted);
        cbx_growth_text(&g, text);
        CHECK_INT(g.free_exponent, strchr(cases[k].wanted, '.') != NULL, cases[k].wanted);
        if (!g.free_exponent) CHECK_STR(text, cases[k].wanted, "named");
        if (g.free_exponent) CHECK_LE(fabs(g.exponent.value - cases[k].power), 0.005, "the exponent");
        CHECK_LE(g.relative_error, 0.01, "the error is that of the growth that is named");
    }
}

TESTS(.before = counted_setup, .after = counted_teardown)
