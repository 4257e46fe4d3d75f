/* Orders of growth from points whose order is known, undecided where it is not, from calls on a
 * played clock; sizes of models. */
#include "check.h"

#include <math.h>

#include "calibrax/array/linalg.h"
#include "calibrax/array/ops.h"
#include "calibrax/base/rng.h"
#include "calibrax/profiling/complexity.h"
#include "fail_alloc.h"

#define POINTS 12

/* Noise of a few per cent, the same in each run. */
static double noise(int i, int of) { return 1 + 0.01 * sin(37.0 * i + of); }

static double constant(double n) { return n > 0; }
static double logarithm(double n) { return log2(n + 1); }
static double linear(double n) { return n; }
static double n_log_n(double n) { return n * log2(n + 1); }
static double square(double n) { return n * n; }
static double square_log(double n) { return n * n * log2(n + 1); }
static double cube(double n) { return n * n * n; }
static double odd_power(double n) { return pow(n, 2.41); }

TEST(orders)
{
    static const struct {
        double (*f)(double);
        const char *order;
        double exponent; /* 0: logarithms have none of their own */
    } cases[] = {
        { constant, "O(1)", 0 },      { logarithm, "O(log n)", 0 },     { linear, "O(n)", 1 },
        { n_log_n, "O(n log n)", 0 }, { square, "O(n^2)", 2 },          { square_log, "O(n^2 log n)", 0 },
        { cube, "O(n^3)", 3 },        { odd_power, "O(n^2.41)", 2.41 },
    };
    cbx_ctx *ctx = cbx_test_context();
    cbx_complexity_report r;
    cbx_err err = CBX_ERR_INIT;
    for (size_t k = 0; k < CBX_LEN(cases); k++) {
        double x[POINTS], y[POINTS];
        for (int i = 0; i < POINTS; i++) {
            x[i] = 16 << i;
            y[i] = 3e-9 * cases[k].f(x[i]) * noise(i, (int)k);
        }
        CHECK_OK(cbx_complexity_of_points(ctx, x, y, POINTS, NULL, &r, &err), &err, cases[k].order);
        CHECK(r.decided, r.why);
        if (cases[k].f != odd_power) CHECK_STR(r.order, cases[k].order, "order");
        CHECK_INT(r.is_power, cases[k].f == odd_power, cases[k].order);
        if (cases[k].exponent > 0) {
            CHECK(r.exponent.lower <= cases[k].exponent + 0.01 && cases[k].exponent - 0.01 <= r.exponent.upper,
                  cases[k].order);
            CHECK_LE(r.exponent.upper - r.exponent.lower, 0.05, "narrow");
            CHECK(r.exponent.level == 0.95 && r.exponent.value == r.growth.exponent.value, "of the fit");
        }
    }
    cbx_ctx_free(ctx);
}

TEST(undecided)
{
    double x[POINTS], y[POINTS];
    cbx_ctx *ctx = cbx_test_context();
    cbx_complexity_report r;
    cbx_complexity_opts o = CBX_COMPLEXITY_OPTS_INIT;
    cbx_err err = CBX_ERR_INIT;
    for (int i = 0; i < POINTS; i++) {
        x[i] = 1000 + 10 * i;
        y[i] = x[i] * noise(i, 0);
    }
    CHECK_OK(cbx_complexity_of_points(ctx, x, y, POINTS, NULL, &r, &err), &err, "a narrow range");
    CHECK(!r.decided && strstr(r.why, "span"), r.why);
    for (int i = 0; i < POINTS; i++) {
        x[i] = 100 << i;
        y[i] = 1e-6 * (i % 2 ? 100 : 1);
    }
    CHECK_OK(cbx_complexity_of_points(ctx, x, y, POINTS, NULL, &r, &err), &err, "no order at all");
    CHECK(!r.decided && (strstr(r.why, "no order explains") || strstr(r.why, "weight")), r.why);
    /* 20 % of noise, a factor of 16: n and n log n cannot be told apart */
    for (int i = 0; i < 5; i++) {
        x[i] = 1000 << i;
        y[i] = n_log_n(x[i]) * (1 + 20 * (noise(i, 5) - 1));
    }
    CHECK_OK(cbx_complexity_of_points(ctx, x, y, 5, NULL, &r, &err), &err, "noise");
    CHECK(!r.decided && strstr(r.why, "weight"), r.why);
    CHECK(r.exponent.level == 0 && isinf(r.exponent.upper), "too few points to resample");
    o.min_weight = 0.01;
    CHECK_OK(cbx_complexity_of_points(ctx, x, y, 5, &o, &r, &err), &err, "who asks for less");
    CHECK(r.decided, "gets it");
    CHECK_STATUS(cbx_complexity_of_points(ctx, x, y, 3, NULL, &r, &err), CBX_EINVAL, "three points");
    y[2] = 0;
    CHECK_STATUS(cbx_complexity_of_points(ctx, x, y, 5, NULL, &r, &err), CBX_EDOM, "no time");
    o.min_weight = 0;
    CHECK_STATUS(cbx_complexity_of_points(ctx, x, y, 5, &o, &r, &err), CBX_EINVAL, "weight");
    o = (cbx_complexity_opts)CBX_COMPLEXITY_OPTS_INIT;
    o.min_span = 0;
    CHECK_STATUS(cbx_complexity_of_points(ctx, x, y, 5, &o, &r, &err), CBX_EINVAL, "span");
    o.struct_size = 3;
    CHECK_STATUS(cbx_complexity_of_points(ctx, x, y, 5, &o, &r, &err), CBX_EINVAL, "version");
    cbx_ctx_free(ctx);
}

/* docs/how-to/profiling.md has these figures: n log n over a factor of 16, 8 points,
 * log-normal noise. */
TEST(how_often)
{
    static const struct {
        double noise, least_decided, most_wrong;
    } cases[] = { { 0.07, 0.85, 0.04 }, { 0.19, 0.05, 0.06 } };
    enum { SERIES = 400, N = 8 };
    cbx_complexity_opts o = CBX_COMPLEXITY_OPTS_INIT;
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    o.resamples = 2;
    for (size_t k = 0; k < CBX_LEN(cases); k++) {
        cbx_rng rng = cbx_rng_make(20, k);
        double decided = 0, wrong = 0;
        for (int i = 0; i < SERIES; i++) {
            double x[N], y[N];
            cbx_complexity_report r;
            for (int j = 0; j < N; j++) {
                x[j] = 1000 * pow(16, j / (N - 1.0));
                y[j] = n_log_n(x[j]) * exp(cases[k].noise * cbx_rng_normal(&rng));
            }
            CHECK_OK(cbx_complexity_of_points(ctx, x, y, N, &o, &r, &err), &err, "a series");
            decided += r.decided;
            wrong += r.decided && (r.is_power || r.growth.order != CBX_COMPLEXITY_N_LOG_N);
        }
        print_message("# noise %.2f: %.3f decided, %.3f wrong\n", cases[k].noise, decided / SERIES, wrong / SERIES);
        CHECK_LE(cases[k].least_decided, decided / SERIES, "power");
        CHECK_LE(wrong / SERIES, cases[k].most_wrong, "false decisions");
    }
    cbx_ctx_free(ctx);
}

/* The clock moves only where work is done: a call of size n takes n^2 + 5000 ns. */
static uint64_t now_ns;
static size_t torn_down;

static uint64_t played_clock(void) { return now_ns += 10; }

static cbx_status begin(size_t size, void *user, void **state, cbx_err *err)
{
    static double ns;
    if (size == 77) return cbx_fail(err, CBX_EDOM, "nothing is 77 long");
    ns = (double)size * (double)size + *(double *)user;
    *state = &ns;
    return CBX_OK;
}

static void spend(void *state) { now_ns += (uint64_t) * (double *)state; }
static void end(void *state)
{
    (void)state;
    torn_down++;
}

TEST(measured)
{
    const size_t sizes[] = { 100, 200, 400, 800, 1600, 3200, 6400, 12800 }, bad[] = { 100, 77 }, none[] = { 0 };
    double offset = 5000;
    cbx_sized_call call = { begin, spend, end, &offset };
    cbx_timing_opts t = CBX_TIMING_OPTS_INIT;
    cbx_complexity_point p[CBX_LEN(sizes)] = { { 0, { 0 } } };
    cbx_complexity_report r;
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    t.clock_ns = played_clock;
    t.samples = 6;
    CHECK_OK(cbx_complexity_measure(ctx, &call, sizes, CBX_LEN(sizes), &t, p, &err), &err, "measure");
    CHECK_INT(torn_down, CBX_LEN(sizes), "each is torn down");
    for (size_t i = 0; i < CBX_LEN(sizes); i++) {
        double n = (double)sizes[i];
        CHECK(p[i].size == sizes[i] && fabs(1e9 * p[i].time.value - (n * n + offset)) < 1, "each its time");
    }
    CHECK_OK(cbx_complexity_of_measured(ctx, p, CBX_LEN(sizes), NULL, &r, &err), &err, "fit");
    CHECK(r.decided && r.growth.intercept, r.why);
    CHECK_STR(r.order, "O(n^2)", "with the constant part separated");
    CHECK_LE(fabs(1e9 * r.growth.intercept_value - offset), 50, "which is found");
    p[0].size = 4711;
    CHECK_STATUS(cbx_complexity_measure(ctx, &call, bad, 2, &t, p, &err), CBX_EDOM, "a set-up that fails");
    CHECK(strstr(err.message, "size 77: nothing is 77 long") != NULL, err.message);
    CHECK_INT(p[0].size, 4711, "untouched");
    CHECK_STATUS(cbx_complexity_measure(ctx, &call, none, 1, &t, p, &err), CBX_EINVAL, "a size of 0");
    cbx_ctx_free(ctx);
}

static cbx_status fits(cbx_ctx *ctx, void *user)
{
    const double x[] = { 10, 20, 40, 80, 160, 320, 640, 1280 };
    cbx_complexity_opts o = CBX_COMPLEXITY_OPTS_INIT;
    cbx_complexity_report r;
    cbx_err err = CBX_ERR_INIT;
    (void)user;
    o.resamples = 20;
    return cbx_complexity_of_points(ctx, x, x, CBX_LEN(x), &o, &r, &err);
}

static cbx_status measures(cbx_ctx *ctx, void *user)
{
    const size_t sizes[] = { 1000, 2000 };
    double offset = 5000;
    cbx_sized_call call = { begin, spend, end, &offset };
    cbx_timing_opts t = CBX_TIMING_OPTS_INIT;
    cbx_complexity_point p[2];
    cbx_err err = CBX_ERR_INIT;
    (void)user;
    t.clock_ns = played_clock;
    t.samples = 6;
    return cbx_complexity_measure(ctx, &call, sizes, 2, &t, p, &err);
}

static cbx_status fits_measured(cbx_ctx *ctx, void *user)
{
    cbx_complexity_opts o = CBX_COMPLEXITY_OPTS_INIT;
    cbx_complexity_point p[8] = { { 0, { 0 } } };
    cbx_complexity_report r;
    cbx_err err = CBX_ERR_INIT;
    (void)user;
    o.resamples = 20;
    for (size_t i = 0; i < CBX_LEN(p); i++) {
        p[i].size = (size_t)10 << i;
        p[i].time = (cbx_interval){ (double)p[i].size, (double)p[i].size, (double)p[i].size, 0.95 };
    }
    return cbx_complexity_of_measured(ctx, p, CBX_LEN(p), &o, &r, &err);
}

TEST(memory_that_runs_out)
{
    CHECK_GT(cbx_test_fail_each(fits, NULL, "fit"), 0, "resamples");
    CHECK_GT(cbx_test_fail_each(fits_measured, NULL, "fit of what was measured"), 0, "resamples");
    CHECK_GT(cbx_test_fail_each(measures, NULL, "measure"), 2, "samples");
}

TESTS()
