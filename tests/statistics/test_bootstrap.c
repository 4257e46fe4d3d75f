/*
 * Bootstrap: the same bits for any number of threads, clocks that count nanoseconds, constant
 * samples, memory, and how often it covers. The intervals themselves are SciPy's over the same
 * draws (test_scipy.c).
 */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "calibrax/base/rng.h"
#include "calibrax/statistics/bootstrap.h"
#include "calibrax/statistics/interval.h"
#include "calibrax/statistics/resample.h"
#include "counted.h"

static cbx_err err;

static void clock_readings(double *x, size_t n, uint64_t stream)
{
    cbx_rng rng = cbx_rng_make(11, stream);
    for (size_t i = 0; i < n; i++) x[i] = 1e9 + floor(50 * cbx_rng_normal(&rng));
}

static double spread_of(const double *x, size_t n, const double *y, size_t m, void *user)
{
    double min = x[0], max = x[0];
    (void)user;
    for (size_t i = 0; i < n; i++) {
        min = fmin(min, x[i]);
        max = fmax(max, x[i]);
    }
    return y ? max - y[m - 1] : max - min;
}

static const struct {
    const char *why;
    cbx_boot_statistic statistic;
    double parameter;
    cbx_boot_method method;
    bool two, paired, own;
} kinds[] = {
    { "mean", CBX_BOOT_MEAN, 0, CBX_BOOT_PERCENTILE, false, false, false },
    { "median, BCa", CBX_BOOT_MEDIAN, 0, CBX_BOOT_BCA, false, false, false },
    { "trimmed, basic", CBX_BOOT_TRIMMED_MEAN, 0.2, CBX_BOOT_BASIC, true, false, false },
    { "deviation of pairs", CBX_BOOT_STDDEV, 0, CBX_BOOT_BCA, true, true, false },
    { "studentised difference", CBX_BOOT_MEAN, 0, CBX_BOOT_STUDENTISED, true, false, false },
    { "p90", CBX_BOOT_QUANTILE, 0.9, CBX_BOOT_PERCENTILE, false, false, false },
    { "a function", CBX_BOOT_MEAN, 0, CBX_BOOT_BCA, true, false, true },
};

static cbx_boot_opts opts_of(size_t kind)
{
    cbx_boot_opts o = CBX_BOOT_OPTS_INIT;
    o.statistic = kinds[kind].statistic;
    o.parameter = kinds[kind].parameter;
    o.method = kinds[kind].method;
    o.paired = kinds[kind].paired;
    o.fn = kinds[kind].own ? spread_of : NULL;
    o.resamples = 301;
    o.seed = 5;
    return o;
}

TEST(any_number_of_threads_gives_the_same_bits)
{
    double x[77], y[77], one[301], many[301];
    clock_readings(x, 77, 1);
    clock_readings(y, 77, 2);
    for (size_t k = 0; k < CBX_LEN(kinds); k++) {
        cbx_interval first, other;
        cbx_boot_opts o = opts_of(k);
        o.threads = 1;
        o.distribution = one;
        CHECK_OK(cbx_stat_bootstrap(ctx, x, 77, y, kinds[k].two ? 77 : 0, &o, &first, &err), &err, kinds[k].why);
        o.distribution = many;
        for (o.threads = 2; o.threads <= 4; o.threads++) {
            CHECK_OK(cbx_stat_bootstrap(ctx, x, 77, y, kinds[k].two ? 77 : 0, &o, &other, &err), &err, kinds[k].why);
            CHECK(memcmp(&first, &other, sizeof first) == 0 && memcmp(one, many, sizeof one) == 0, kinds[k].why);
        }
        o.seed = 6;
        CHECK_OK(cbx_stat_bootstrap(ctx, x, 77, y, kinds[k].two ? 77 : 0, &o, &other, &err), &err, kinds[k].why);
        CHECK(memcmp(one, many, sizeof one) != 0, "another seed gives other resamples");
    }
}

/* A float holds 1e9 in steps of 64; the half width is 1.96 * 50 / sqrt 1000 = 3.1. */
TEST(nanosecond_clocks)
{
    static double x[1000];
    cbx_interval t, iv;
    clock_readings(x, 1000, 3);
    CHECK_OK(cbx_stat_mean_interval(x, 1000, 0.95, &t, &err), &err, "t interval");
    for (int method = 0; method <= CBX_BOOT_STUDENTISED; method++) {
        cbx_boot_opts o = CBX_BOOT_OPTS_INIT;
        o.method = (cbx_boot_method)method;
        o.resamples = 2000;
        CHECK_OK(cbx_stat_bootstrap(ctx, x, 1000, NULL, 0, &o, &iv, &err), &err, "clock");
        CHECK_LE(fabs(iv.value - t.value), 1e-6, "the mean to the last bit of the clock");
        CHECK_LE(fabs(iv.lower - t.lower), 0.5, "the lower end is the t interval's");
        CHECK_LE(fabs(iv.upper - t.upper), 0.5, "the upper end, too");
    }
}

TEST(constant_samples_are_points)
{
    static const double same[] = { 0.1, 0.1, 0.1, 0.1, 0.1 }, single[] = { 7 };
    for (size_t k = 0; k < CBX_LEN(kinds); k++) {
        cbx_boot_opts o = opts_of(k);
        cbx_interval iv;
        CHECK_OK(cbx_stat_bootstrap(ctx, same, 5, same, kinds[k].two ? 5 : 0, &o, &iv, &err), &err, kinds[k].why);
        CHECK(iv.lower == iv.value && iv.upper == iv.value, kinds[k].why);
        if (kinds[k].two) continue;
        CHECK_OK(cbx_stat_bootstrap(ctx, single, 1, NULL, 0, &o, &iv, &err), &err, "one value");
        CHECK(iv.lower == iv.value && iv.upper == iv.value, "one value");
    }
}

/* Set before the first resample, or by the statistic itself: an interrupted bootstrap gives no
 * interval. */
TEST(a_stop_gives_no_interval)
{
    static const double x[] = { 1, 2, 3, 4, 5, 7 };
    static const size_t sizes[] = { 2, 2, 2 };
    static const volatile sig_atomic_t stop = 1;
    const cbx_nested nested = { x, sizes, 3 };
    cbx_boot_opts o = CBX_BOOT_OPTS_INIT;
    cbx_interval iv = { .level = 99 };

    o.stop = &stop;
    o.method = CBX_BOOT_PERCENTILE;
    CHECK_STATUS(cbx_stat_bootstrap(ctx, x, 6, NULL, 0, &o, &iv, &err), CBX_EINTERRUPTED, "of one sample");
    CHECK_STATUS(cbx_stat_bootstrap_nested(ctx, &nested, NULL, &o, &iv, &err), CBX_EINTERRUPTED, "of launches");
    CHECK(iv.level == 99, "out is untouched");
}

TEST(what_is_refused)
{
    static const double x[] = { 1, 2, 3 }, bad[] = { 1, NAN, 3 }, zeros[] = { 0, 0, 0 };
    cbx_interval iv = { .level = 99 };
    cbx_interval older;
    cbx_boot_opts o = CBX_BOOT_OPTS_INIT;
    CHECK_STATUS(cbx_stat_bootstrap(ctx, x, 0, NULL, 0, NULL, &iv, &err), CBX_EINVAL, "no values");
    CHECK_STATUS(cbx_stat_bootstrap(ctx, bad, 3, NULL, 0, NULL, &iv, &err), CBX_EDOM, "NaN");
    CHECK_STATUS(cbx_stat_bootstrap(ctx, x, 3, bad, 3, NULL, &iv, &err), CBX_EDOM, "NaN in the second");
    o.level = 1;
    CHECK_STATUS(cbx_stat_bootstrap(ctx, x, 3, NULL, 0, &o, &iv, &err), CBX_EINVAL, "level");
    o = (cbx_boot_opts)CBX_BOOT_OPTS_INIT;
    o.struct_size = 3;
    CHECK_STATUS(cbx_stat_bootstrap(ctx, x, 3, NULL, 0, &o, &iv, &err), CBX_EINVAL, "version");
    o = (cbx_boot_opts)CBX_BOOT_OPTS_INIT;
    o.struct_size = offsetof(cbx_boot_opts, distribution);
    o.stop = (const volatile sig_atomic_t *)1; /* beyond its struct: not read */
    CHECK_OK(cbx_stat_bootstrap(ctx, x, 3, NULL, 0, &o, &older, &err), &err, "options of an older version");
    o = (cbx_boot_opts)CBX_BOOT_OPTS_INIT;
    o.paired = true;
    CHECK_STATUS(cbx_stat_bootstrap(ctx, x, 3, x, 2, &o, &iv, &err), CBX_EINVAL, "pairs of unequal size");
    o = (cbx_boot_opts)CBX_BOOT_OPTS_INIT;
    o.compare = CBX_BOOT_RATIO;
    CHECK_STATUS(cbx_stat_bootstrap(ctx, x, 3, zeros, 3, &o, &iv, &err), CBX_EDOM, "over zero");
    o.method = CBX_BOOT_STUDENTISED;
    CHECK_STATUS(cbx_stat_bootstrap(ctx, x, 3, x, 3, &o, &iv, &err), CBX_EINVAL, "a studentised ratio");
    o = (cbx_boot_opts)CBX_BOOT_OPTS_INIT;
    o.statistic = CBX_BOOT_TRIMMED_MEAN;
    o.parameter = 0.5;
    CHECK_STATUS(cbx_stat_bootstrap(ctx, x, 3, NULL, 0, &o, &iv, &err), CBX_EINVAL, "nothing left");
    CHECK(iv.level == 99, "out is untouched");
}

/* 8 bytes a resample and O(n) a thread: an index matrix of 2000 x 20000 would take 160 MB. */
TEST(memory_is_linear)
{
    enum { N = 20000, B = 2000 };
    cbx_test_alloc t;
    cbx_ctx *own;
    cbx_interval iv;
    double *x = calloc(N, sizeof *x);
    cbx_boot_opts o = CBX_BOOT_OPTS_INIT;
    cbx_test_alloc_init(&t);
    own = cbx_test_ctx(&t);
    clock_readings(x, N, 4);
    o.statistic = CBX_BOOT_MEDIAN;
    o.resamples = B;
    o.threads = 2;
    CHECK_OK(cbx_stat_bootstrap(own, x, N, NULL, 0, &o, &iv, &err), &err, "long sample");
    CHECK_LE(t.peak_bytes, 3 * 1000 * 1000, "bytes at most");
    cbx_ctx_free(own);
    cbx_test_alloc_check(&t, "bootstrap");
    free(x);
}

static cbx_status boot_some(cbx_ctx *c, void *user)
{
    static const double x[] = { 3, 1, 2, 5, 4 };
    static const size_t sizes[] = { 2, 3 };
    const cbx_nested nested = { x, sizes, 2 };
    cbx_boot_opts o = CBX_BOOT_OPTS_INIT;
    cbx_interval iv;
    cbx_err e;
    cbx_status st = CBX_OK;

    o.resamples = 20;
    o.threads = 2;
    for (size_t k = 0; k < CBX_LEN(kinds) && !st; k++) {
        o = opts_of(k);
        o.resamples = 20;
        o.threads = 2;
        st = cbx_stat_bootstrap(c, x, 5, x, kinds[k].two ? 5 : 0, &o, &iv, user ? user : &e);
    }
    if (!st) st = cbx_stat_bootstrap_nested(c, &nested, &nested, NULL, &iv, user ? user : &e);
    return st;
}

TEST(every_allocation_may_fail) { CHECK_GT(cbx_test_fail_each(boot_some, NULL, "bootstrap"), 6, "allocations"); }

/* ---- launches with epochs ---- */

enum { LAUNCHES = 12, EPOCHS = 30 };

static void nested_sample(uint64_t stream, double launch_sd, double *x)
{
    cbx_rng rng = cbx_rng_make(21, stream);
    for (size_t g = 0; g < LAUNCHES; g++) {
        double launch = launch_sd * cbx_rng_normal(&rng);
        for (size_t i = 0; i < EPOCHS; i++) x[g * EPOCHS + i] = 100 + launch + 0.5 * cbx_rng_normal(&rng);
    }
}

/* Share of 150 nested samples whose 95 % interval holds the mean; epochs as samples of their own,
 * or launches first. */
static double nested_coverage(bool launches_first)
{
    enum { RUNS = 150 };
    size_t sizes[LAUNCHES], held = 0;
    static double x[LAUNCHES * EPOCHS];

    for (size_t g = 0; g < LAUNCHES; g++) sizes[g] = EPOCHS;
    for (uint64_t run = 0; run < RUNS; run++) {
        const cbx_nested nested = { x, sizes, LAUNCHES };
        cbx_boot_opts o = CBX_BOOT_OPTS_INIT;
        cbx_interval iv;
        o.resamples = 200;
        o.seed = run;
        o.method = CBX_BOOT_PERCENTILE;
        nested_sample(run, 1, x);
        if (launches_first)
            CHECK_OK(cbx_stat_bootstrap_nested(ctx, &nested, NULL, &o, &iv, &err), &err, "nested");
        else
            CHECK_OK(cbx_stat_bootstrap(ctx, x, LAUNCHES * EPOCHS, NULL, 0, &o, &iv, &err), &err, "flat");
        held += iv.lower <= 100 && 100 <= iv.upper;
    }
    return (double)held / RUNS;
}

TEST(epochs_are_no_samples)
{
    CHECK_GT(nested_coverage(true), 0.85, "launches are drawn first: about 92 % with 12 of them");
    CHECK_GT(0.5, nested_coverage(false), "the check sees epochs taken for samples");
}

TEST(nested_threads_and_shapes)
{
    static const double x[] = { 1, 2, 3, 10, 11, 20 };
    static const size_t sizes[] = { 3, 2, 1 }, empty[] = { 3, 0, 3 };
    const cbx_nested nested = { x, sizes, 3 }, broken = { x, empty, 3 };
    cbx_interval first, other;
    cbx_boot_opts o = CBX_BOOT_OPTS_INIT;
    o.method = CBX_BOOT_BASIC;
    o.resamples = 101;
    o.threads = 1;
    CHECK_OK(cbx_stat_bootstrap_nested(ctx, &nested, NULL, &o, &first, &err), &err, "unequal launches");
    CHECK_LE(fabs(first.value - (2 + 10.5 + 20) / 3), 1e-14, "the mean of launch means");
    for (o.threads = 2; o.threads <= 4; o.threads++) {
        CHECK_OK(cbx_stat_bootstrap_nested(ctx, &nested, NULL, &o, &other, &err), &err, "threads");
        CHECK(memcmp(&first, &other, sizeof first) == 0, "the same bits");
    }
    o.statistic = CBX_BOOT_MEDIAN;
    CHECK_OK(cbx_stat_bootstrap_nested(ctx, &nested, NULL, &o, &first, &err), &err, "medians");
    CHECK(first.value == 10.5, "the median of launch medians");
    o.compare = CBX_BOOT_RATIO;
    CHECK_OK(cbx_stat_bootstrap_nested(ctx, &nested, &nested, &o, &first, &err), &err, "ratio");
    CHECK(first.value == 1, "of a thing to itself");
    CHECK_STATUS(cbx_stat_bootstrap_nested(ctx, &broken, NULL, &o, &first, &err), CBX_EINVAL,
                 "a launch without epochs");
    o.method = CBX_BOOT_BCA;
    CHECK_STATUS(cbx_stat_bootstrap_nested(ctx, &nested, NULL, &o, &first, &err), CBX_EINVAL, "no BCa of launches");
}

/* The fixture's draws (test_scipy.c) are NumPy's; here each compilation of the body gives those of
 * the plain one. */
TEST(every_instruction_set_draws_the_same)
{
    static const size_t sizes[] = { 1, 2, 31, 32, 33, 1000 };
    uint32_t plain[1024], other[1024], key[2] = { 0x12345678u, 0x9abcdef0u };
    for (size_t i = 0; i < CBX_LEN(sizes); i++)
        for (size_t variant = 0; variant < 3; variant++) {
            memset(other, 0xff, sizeof other);
            CHECK(cbx__draw_by(0, key, 7, (uint32_t)sizes[i], sizes[i], plain), "plain C");
            if (!cbx__draw_by(variant, key, 7, (uint32_t)sizes[i], sizes[i], other)) continue;
            CHECK(memcmp(plain, other, sizes[i] * sizeof *plain) == 0, "the same draws");
            for (size_t k = 0; k < sizes[i]; k++) CHECK(plain[k] < sizes[i], "an index");
        }
    CHECK(!cbx__draw_by(3, key, 0, 5, 5, other), "no such variant");
}

TESTS(.seconds = 600, .before = counted_setup, .after = counted_teardown)
