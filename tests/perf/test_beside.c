/*
 * What a launch measures beside its epochs: cold caches, calls that do nothing, energy; and
 * launches that only compile.
 */
#include "check.h"
#include "fail_alloc.h"
#include "launch_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "calibrax/base/temporary.h"
#include "calibrax/perf/launch/energy_source.h"
#include "calibrax/perf/sweep/session.h"

TEST(empty_calls_are_measured)
{
    fixture *f = *test_state;
    cbx_launch_opts o = quick_opts();
    const cbx_launch_record *r = launch(f, "good", &o);
    fail_if_too_busy(r);
    CHECK_INT(r->failure, CBX_FAILURE_NONE, r->message);
    CHECK(r->call_overhead_ns > 0 && r->call_overhead_ns < 1e6, "a call through a pointer");
    CHECK(isnan(r->energy_call_j) && strstr(r->energy_why, "not asked for"), r->energy_why);
}

TEST(cold_epochs_are_single_calls)
{
    fixture *f = *test_state;
    cbx_launch_opts o = quick_opts();

    o.cold = true;
    o.flush_bytes = 1 << 20;
    o.iterations = 0;
    const cbx_launch_record *r = launch(f, "good", &o);
    fail_if_too_busy(r);
    CHECK_INT(r->failure, CBX_FAILURE_NONE, r->message);
    CHECK_INT(r->iterations, 1, "one call an epoch");
    CHECK_INT(r->iterations_chosen, 1, "for later launches too");
    CHECK_INT(r->epochs, 6, "all of them");
    CHECK(r->fidelity.checked && r->fidelity.ok, "checked as ever");
    CHECK(r->hwm_increase_bytes >= 0 && r->hwm_increase_bytes < 1 << 20, "what flushes is not what the work adds");

    r = launch(f, "wrong", &o);
    fail_if_too_busy(r);
    CHECK_INT(r->failure, CBX_FAILURE_FIDELITY, "a wrong answer is as wrong from cold caches");
}

TEST(compile_only)
{
    fixture *f = *test_state;
    cbx_launch_opts o = quick_opts();

    o.compile_only = true;
    const cbx_launch_record *r = launch(f, "good", &o);
    CHECK_INT(r->failure, CBX_FAILURE_NONE, r->message);
    CHECK_INT(r->epochs, 0, "no epoch");
    CHECK_GT(r->first_call_ns, 0, "the first call");
    CHECK(r->fidelity.checked && r->fidelity.ok, "its answer is checked");
    CHECK(isnan(r->compile_ns), "the native worker compiles nothing");
    r = launch(f, "wrong", &o);
    CHECK_INT(r->failure, CBX_FAILURE_FIDELITY, "and may be wrong");
}

/* --- energy, from a powercap tree of our own --- */

static void make_powercap(char folder[CBX__TEMPORARY_SIZE], char domain[CBX__TEMPORARY_SIZE + 32])
{
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx__temporary_make("powercap", folder, &err), &err, "a folder");
    snprintf(domain, CBX__TEMPORARY_SIZE + 32, "%s/intel-rapl:0", folder);
    CHECK_INT(mkdir(domain, 0700), 0, domain);
    cbx_test_put("package-0\n", "%s/name", domain);
    cbx_test_put("262143328850\n", "%s/max_energy_range_uj", domain);
    cbx_test_put("1000000\n", "%s/energy_uj", domain);
}

static void wait_ms(long ms)
{
    struct timespec t = { 0, ms * 1000000 };
    nanosleep(&t, NULL);
}

TEST(energy_of_a_call)
{
    char folder[CBX__TEMPORARY_SIZE], domain[CBX__TEMPORARY_SIZE + 32];
    fixture *f = *test_state;
    cbx_energy_source s;
    cbx_energy_meter *m;
    cbx_launch_record r = { 0 };

    make_powercap(folder, domain);
    cbx__energy_source_open(f->ctx, false, folder, &s);
    CHECK(s.cpu && !s.device, s.why);
    CHECK(s.cpu_idle_w == 0, "the counter stood still");
    m = cbx__energy_begin(f->ctx, &s);
    CHECK(m != NULL, "a meter");
    wait_ms(30);
    cbx_test_put("6000000\n", "%s/energy_uj", domain); /* five joules */
    cbx__energy_end(m, &s, false, 2e6, &r);
    CHECK_STR(r.energy_why, "", "measured");
    CHECK(r.power_w > 0 && r.power_w <= 5 / 0.03, "five joules in no less than 30 ms");
    CHECK(fabs(r.energy_call_j - r.power_w * 2e-3) <= 1e-12 * r.energy_call_j, "power times the 2 ms of a call");
    CHECK_STR(r.energy_scope, "package, idle power subtracted", "of what");

    s.cpu_idle_w = 1e6;
    m = cbx__energy_begin(f->ctx, &s);
    wait_ms(30);
    cbx__energy_end(m, &s, false, 2e6, &r);
    CHECK(isnan(r.energy_call_j) && strstr(r.energy_why, "no more than"), r.energy_why);

    m = cbx__energy_begin(f->ctx, &s);
    cbx__energy_end(m, &s, true, 2e6, &r);
    CHECK(isnan(r.energy_call_j) && r.energy_why[0], "a device that nobody reads");
    cbx__energy_source_close(&s);
    cbx__temporary_remove(folder);
    CHECK(access(folder, F_OK) != 0, "a scratch folder goes with all that is in it");
}

TEST(energy_in_a_launch)
{
    char folder[CBX__TEMPORARY_SIZE], domain[CBX__TEMPORARY_SIZE + 32];
    fixture *f = *test_state;
    cbx_launch_opts o = quick_opts();
    cbx_energy_source s;

    make_powercap(folder, domain);
    cbx__energy_source_open(f->ctx, false, folder, &s);
    o.energy = &s;
    const cbx_launch_record *r = launch(f, "good", &o);
    fail_if_too_busy(r);
    CHECK_INT(r->failure, CBX_FAILURE_NONE, r->message);
    CHECK(isnan(r->energy_call_j), "a counter that did not change has no energy");
    CHECK(strstr(r->energy_why, "too short") || strstr(r->energy_why, "no more than"), r->energy_why);
    cbx__energy_source_close(&s);
    cbx__temporary_remove(folder);

    cbx__energy_source_open(f->ctx, false, "/nonexistent", &s);
    CHECK(!s.cpu && strstr(s.why, "RAPL"), s.why);
    CHECK(cbx__energy_begin(f->ctx, &s) == NULL, "nothing to read");
    cbx__energy_source_close(&s);
}

/* Without memory there is no energy, and a reason; never a power of nothing. */
static cbx_status measure_energy(cbx_ctx *ctx, void *folder)
{
    cbx_launch_record r = { 0 };
    cbx_energy_source s;
    cbx_energy_meter *m;
    bool open, metered;

    cbx__energy_source_open(ctx, false, folder, &s);
    open = s.cpu;
    CHECK(open || strstr(s.why, "memory"), s.why);
    m = cbx__energy_begin(ctx, &s);
    metered = m != NULL;
    cbx__energy_end(m, &s, false, 2e6, &r);
    CHECK(isnan(r.energy_call_j) && r.energy_why[0], "nothing was used, and it says so");
    CHECK(metered || !open || strstr(r.energy_why, "could not be read"), r.energy_why);
    cbx__energy_source_close(&s);
    return open && metered ? CBX_OK : CBX_ENOMEM;
}

TEST(energy_without_memory)
{
    char folder[CBX__TEMPORARY_SIZE], domain[CBX__TEMPORARY_SIZE + 32];

    make_powercap(folder, domain);
    CHECK_GT(cbx_test_fail_each(measure_energy, folder, "energy"), 1, "two meters");
    cbx__temporary_remove(folder);
}

/* --- compile times with a filled cache --- */

typedef struct warmed {
    fixture *f;
    const char *interpreter;
    cbx_baseline_ops baseline; /* of a framework that can keep what it compiled */
    const char *keeps;         /* file that it leaves in its cache; "": none */
    double share_s;            /* of the run's budget */
    size_t n;                  /* compile times */
    char reason[128];
} warmed;

static cbx_status warm_once(cbx_ctx *ctx, void *user)
{
    warmed *w = user;
    cbx_measure_opts opts = CBX_MEASURE_OPTS_INIT;
    cbx_env_setting env = { TOY_COMPILES, w->keeps };
    cbx_variant variant = { "default", &env, 1, "as installed" };
    cbx__launch first = { .median_s = 1e-3 };
    cbx__attempt a = { .baseline = &w->baseline,
                       .platform = "cpu",
                       .variant = "default",
                       .settings = &variant,
                       .interpreter = w->interpreter,
                       .first = &first,
                       .last = &first,
                       .nlaunches = 1 };
    cbx__point p = {
        .params = w->f->toy.point, .json = "{}", .platform = "cpu", .plan = { &a, 1 }, .share_s = w->share_s
    };
    cbx__session s;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;

    opts.case_ops = &toy_case;
    opts.warm_compiles = 2;
    cbx__session_init(&s, &opts);
    s.threads = 1;
    s.timeout_s = 60;
    s.sandbox = launch_sandbox;
    cbx_arena_init(&p.arena, cbx_ctx_allocator(ctx));
    st = cbx__point_warm(ctx, &s, &p, w->f->toy.w, &err);
    CHECK(st == CBX_OK || st == CBX_ENOMEM, err.message);
    snprintf(w->reason, sizeof w->reason, "%s", a.warm_reason ? a.warm_reason : "");
    for (size_t i = 0; i < a.nwarm; i++) CHECK(a.warm_ns[i] == 1e6, "what the worker told");
    w->n = a.nwarm;
    if (!st && *w->keeps && w->n < 2) st = CBX_ENOMEM; /* a message to the worker that could not be written */
    cbx_arena_clear(&p.arena);
    cbx__session_clear(&s);
    return st;
}

/* A toy worker in place of a Python. */
static warmed framework(fixture *f, const char *keeps)
{
    warmed w = { .f = f, .interpreter = getenv("NPERF_WORKER"), .keeps = keeps, .share_s = INFINITY };

    w.baseline = *cbx_case_baseline(&toy_case, "good");
    w.baseline.provider = "jax";
    setenv("NPERF_WORKERS_PYTHON", w.interpreter, 1);
    return w;
}

TEST(warm_compiles)
{
    fixture *f = *test_state;
    warmed w = framework(f, "compiled");

    CHECK_INT(warm_once(f->ctx, &w), CBX_OK, "one launch fills the cache, two find it filled");
    CHECK_INT(w.n, 2, "the first one is cold, and does not count");
    w = framework(f, "");
    CHECK_INT(warm_once(f->ctx, &w), CBX_OK, "a framework that keeps nothing");
    CHECK_INT(w.n, 0, "was cold every time");
    CHECK_STR(w.reason, "the framework left nothing in the folder of its cache", "and that is the reason");
    w.share_s = 0;
    CHECK_INT(warm_once(f->ctx, &w), CBX_OK, "where the time is spent");
    CHECK(w.n == 0 && strstr(w.reason, "budget was spent"), w.reason);
    unsetenv("NPERF_WORKERS_PYTHON");
}

TEST(warm_compiles_without_memory)
{
    warmed w = framework(*test_state, "compiled");

    CHECK_GT(cbx_test_fail_each(warm_once, &w, "compile times"), 3, "times, records, launches, names");
    unsetenv("NPERF_WORKERS_PYTHON");
}

TEST(scratch_folders)
{
    char path[CBX__TEMPORARY_SIZE], long_name[600];
    cbx_err err = CBX_ERR_INIT;
    char *before;

    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    before = change_variable("TMPDIR", long_name);
    CHECK_STATUS(cbx__temporary_make("x", path, &err), CBX_EIO, "a name too long");
    CHECK_STR(path, "", "no folder");
    setenv("TMPDIR", "/nonexistent", 1);
    CHECK_STATUS(cbx__temporary_make("x", path, &err), CBX_EIO, "no such folder");
    CHECK(strstr(err.message, "TMPDIR") != NULL, err.message);
    cbx__temporary_remove(path);
    restore_variable("TMPDIR", before);
}

TESTS(.seconds = 600, .before = launch_setup, .after = launch_teardown)
