/* Timing of calls, with a clock that is told what to say, and with the machine's. */
#include "check.h"

#include <math.h>

#include "calibrax/base/clock.h"
#include "calibrax/profiling/timing.h"
#include "fail_alloc.h"

/* --- a clock that only work moves --- */

static struct {
    double now, step, cost; /* [ns] */
    uint64_t reads, jump_at;
    uint64_t calls, syncs;
    double first, each, after;
} world;

static uint64_t told(void)
{
    world.reads++;
    world.now += world.cost;
    if (world.jump_at && world.reads == world.jump_at) world.now -= 1e9;
    return (uint64_t)(floor((world.now + 2e9) / world.step) * world.step);
}

static void work(void *user)
{
    (void)user;
    world.now += world.calls ? world.each : world.first;
    world.calls++;
}

static void compile(void *user)
{
    (void)user;
    world.now += 5e6;
}

static void finish_device(void *user)
{
    (void)user;
    world.syncs++;
    world.now += world.after;
}

static void reset(double first, double each)
{
    memset(&world, 0, sizeof world);
    world.step = 1;
    world.cost = 20;
    world.first = first;
    world.each = each;
}

TEST(parts_stand_apart)
{
    static const double at[] = { 0, 50, 100 };
    cbx_ctx *ctx = cbx_test_context();
    cbx_timing_opts o = CBX_TIMING_OPTS_INIT;
    cbx_call_timing t;
    cbx_timing_sample s;
    cbx_err err = CBX_ERR_INIT;
    reset(3e6, 137);
    o.clock_ns = told;
    o.compile = compile;
    o.sample_s = 0;
    o.samples = 11;
    o.warmup = 5;
    o.percentiles = at;
    o.npercentiles = CBX_LEN(at);
    CHECK_OK(cbx_time_calls(ctx, work, NULL, &o, &t, &err), &err, "times");
    CHECK_LE(fabs(t.compile_s - 5e-3), 1e-12, "compilation alone");
    CHECK_LE(fabs(t.first_call_s - 3e-3), 1e-12, "the first call alone");
    CHECK_LE(fabs(t.steady.value - 137e-9), 1e-15, "the clock's 20 ns are not in it");
    CHECK_LE(fabs(t.first_excess_s - (3e-3 - 137e-9)), 1e-12, "first use");
    CHECK_LE(fabs(t.clock_cost_ns - 20), 0, "cost");
    CHECK(t.calls_per_sample * 137 >= 4000 && t.calls_per_sample * 137 < 40000, "200 times the clock, not much more");
    CHECK_LE(t.clock_share, 0.01, "below one in a hundred");
    CHECK_INT(world.calls, t.warmup_calls + 11 * t.calls_per_sample, "each call is told of");
    CHECK(t.nsamples == 11 && t.npercentiles == 3, "as asked");
    CHECK_LE(fabs(t.percentile_s[2] - t.summary.max), 0, "the hundredth is the greatest");
    s = cbx_call_timing_sample(&t);
    CHECK(s.nbatch_times == 11 && s.num_elements == 11 * t.calls_per_sample && s.compilation_time_sec == t.compile_s,
          "same");
    cbx_call_timing_clear(&t);
    cbx_call_timing_clear(NULL);
    cbx_ctx_free(ctx);
}

TEST(a_device_is_waited_for)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_timing_opts o = CBX_TIMING_OPTS_INIT;
    cbx_call_timing t;
    cbx_err err = CBX_ERR_INIT;
    reset(100, 100);
    world.after = 9900;
    o.clock_ns = told;
    o.sync = finish_device;
    o.calls = 10;
    CHECK_OK(cbx_time_calls(ctx, work, NULL, &o, &t, &err), &err, "times");
    CHECK_LE(fabs(t.steady.value - 1090e-9), 1e-15, "one wait in each window");
    CHECK_LE(fabs(t.first_call_s - 10e-6), 1e-12, "and in the first call");
    CHECK_INT(world.syncs, 30 + 2, "windows, first call, warm-up");
    cbx_call_timing_clear(&t);
    cbx_ctx_free(ctx);
}

TEST(refusals)
{
    static const struct {
        double step, each;
        uint64_t calls, jump_at;
        const char *part;
    } cases[] = {
        { 1, 150, 1, 0, "leave the number of calls unset" },
        { 1000, 20000, 1, 0, "the clock steps by 1e+03 ns" },
        { 1, 500, 0, 2500, "ran backwards" },
    };
    cbx_ctx *ctx = cbx_test_context();
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_timing_opts o = CBX_TIMING_OPTS_INIT;
        cbx_call_timing t = { 0 };
        cbx_err err = CBX_ERR_INIT;
        reset(cases[i].each, cases[i].each);
        world.step = cases[i].step;
        world.jump_at = cases[i].jump_at;
        o.clock_ns = told;
        o.calls = cases[i].calls;
        o.samples = 1000;
        o.sample_s = 0;
        CHECK_STATUS(cbx_time_calls(ctx, work, NULL, &o, &t, &err), CBX_EDOM, cases[i].part);
        CHECK(strstr(err.message, cases[i].part), err.message);
        CHECK(t.samples == NULL, "untouched");
    }
    cbx_ctx_free(ctx);
}

TEST(bad_options)
{
    static const double wrong[] = { 50, 101 };
    cbx_timing_opts o[7];
    cbx_ctx *ctx = cbx_test_context();
    cbx_call_timing t;
    for (size_t i = 0; i < CBX_LEN(o); i++) o[i] = (cbx_timing_opts)CBX_TIMING_OPTS_INIT;
    o[0].struct_size = 1;
    o[1].samples = 0;
    o[2].sample_s = NAN;
    o[3].level = 1;
    o[4].percentiles = wrong;
    o[4].npercentiles = 2;
    o[5].budget_s = -1;
    o[6].npercentiles = CBX_TIMING_MAX_PERCENTILES + 1;
    o[6].percentiles = wrong;
    for (size_t i = 0; i < CBX_LEN(o); i++)
        CHECK_STATUS(cbx_time_calls(ctx, work, NULL, &o[i], &t, NULL), CBX_EINVAL, "an option outside its range");
    CHECK_STATUS(cbx_time_calls(ctx, NULL, NULL, NULL, &t, NULL), CBX_EINVAL, "nothing to time");
    cbx_ctx_free(ctx);
}

/* --- the machine's clock --- */

static void idle(void *user) { (void)user; }

static void add_up(void *user)
{
    volatile double *x = user;
    for (int i = 0; i < 300; i++) *x += 1.0;
}

static void spin(void *user)
{
    uint64_t start = cbx_clock_ns();
    (void)user;
    while (cbx_clock_ns() - start < 2000000) {}
}

TEST(on_this_machine)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_timing_opts o = CBX_TIMING_OPTS_INIT;
    cbx_call_timing t;
    cbx_err err = CBX_ERR_INIT;
    double x = 0;
    o.samples = 15;
    CHECK_OK(cbx_time_calls(ctx, add_up, &x, &o, &t, &err), &err, "300 dependent additions");
    CHECK(t.summary.min > 300 * 0.2e-9 && t.steady.value < 0.1, "a fraction of a ns to many each, in seconds");
    CHECK(t.clock_share < 0.01 && t.calls_per_sample > 1, "many at once");
    CHECK(t.steady.lower <= t.steady.value && t.steady.value <= t.steady.upper && t.steady.level >= 0.95, "interval");
    cbx_call_timing_clear(&t);
    CHECK_OK(cbx_time_calls(ctx, spin, NULL, &o, &t, &err), &err, "2 ms");
    CHECK(t.summary.min >= 1.99e-3 && t.calls_per_sample == 1, "one call is long enough");
    cbx_call_timing_clear(&t);
    o.budget_s = 0.02;
    o.samples = 1000;
    CHECK_OK(cbx_time_calls(ctx, spin, NULL, &o, &t, &err), &err, "a budget");
    CHECK(t.nsamples >= 1 && t.nsamples < 10, "ends it");
    cbx_call_timing_clear(&t);
    o = (cbx_timing_opts)CBX_TIMING_OPTS_INIT;
    CHECK_STATUS(cbx_time_calls(ctx, idle, NULL, &o, &t, &err), CBX_EDOM, "an empty call");
    CHECK(strstr(err.message, "too short to time"), err.message);
    cbx_ctx_free(ctx);
}

static cbx_status time_it(cbx_ctx *ctx, void *user)
{
    cbx_timing_opts o = CBX_TIMING_OPTS_INIT;
    cbx_call_timing t = { 0 };
    cbx_err err;
    cbx_status st;
    (void)user;
    reset(100, 100);
    o.clock_ns = told;
    o.budget_s = 1e-3;
    o.samples = 100;
    st = cbx_time_calls(ctx, work, NULL, &o, &t, &err);
    cbx_call_timing_clear(&t);
    return st;
}

TEST(out_of_memory)
{
    CHECK_GT(cbx_test_fail_each(time_it, NULL, "cbx_time_calls"), 2, "samples, estimates, percentiles");
}

TESTS()
