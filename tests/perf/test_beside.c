/*
 * What a launch measures beside its epochs: cold caches, calls that do nothing, energy; and launches that only compile.
 */
#include "check.h"
#include "launch_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "calibrax/base/temporary.h"
#include "calibrax/perf/energy_source.h"

static void empty_calls_are_measured(void **state)
{
    fixture *f = *state;
    cbx_launch_opts o = quick_opts();
    cbx_launch_record r;

    launch(f, "good", &o, &r);
    skip_if_too_busy(&r);
    CHECK_INT(r.failure, CBX_FAILURE_NONE, r.message);
    CHECK(r.call_overhead_ns > 0 && r.call_overhead_ns < 1e6, "a call through a pointer");
    CHECK(isnan(r.energy_call_j) && strstr(r.energy_why, "not asked for"), r.energy_why);
    cbx_launch_record_clear(&r);
}

static void cold_epochs_are_single_calls(void **state)
{
    fixture *f = *state;
    cbx_launch_opts o = quick_opts();
    cbx_launch_record r;

    o.cold = true;
    o.flush_bytes = 1 << 20;
    o.iterations = 0;
    launch(f, "good", &o, &r);
    skip_if_too_busy(&r);
    CHECK_INT(r.failure, CBX_FAILURE_NONE, r.message);
    CHECK_INT(r.iterations, 1, "one call an epoch");
    CHECK_INT(r.iterations_chosen, 1, "for later launches too");
    CHECK_INT(r.epochs, 6, "all of them");
    CHECK(r.fidelity.checked && r.fidelity.ok, "checked as ever");
    CHECK(r.hwm_increase_bytes >= 0 && r.hwm_increase_bytes < 1 << 20, "what flushes is not what the work adds");
    cbx_launch_record_clear(&r);

    launch(f, "wrong", &o, &r);
    skip_if_too_busy(&r);
    CHECK_INT(r.failure, CBX_FAILURE_FIDELITY, "a wrong answer is as wrong from cold caches");
    cbx_launch_record_clear(&r);
}

static void compile_only(void **state)
{
    fixture *f = *state;
    cbx_launch_opts o = quick_opts();
    cbx_launch_record r;

    o.compile_only = true;
    launch(f, "good", &o, &r);
    CHECK_INT(r.failure, CBX_FAILURE_NONE, r.message);
    CHECK_INT(r.epochs, 0, "no epoch");
    CHECK_GT(r.first_call_ns, 0, "the first call");
    CHECK(r.fidelity.checked && r.fidelity.ok, "its answer is checked");
    CHECK(isnan(r.compile_ns), "the native worker compiles nothing");
    cbx_launch_record_clear(&r);
    launch(f, "wrong", &o, &r);
    CHECK_INT(r.failure, CBX_FAILURE_FIDELITY, "and may be wrong");
    cbx_launch_record_clear(&r);
}

/* --- energy, from a powercap tree of our own --- */

static void put_file(const char *folder, const char *name, const char *text)
{
    char path[400];
    FILE *fp;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    fp = fopen(path, "w");
    CHECK(fp && fputs(text, fp) >= 0, path);
    fclose(fp);
}

static void make_powercap(char folder[CBX__TEMPORARY_SIZE], char domain[CBX__TEMPORARY_SIZE + 32])
{
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx__temporary_make("powercap", folder, &err), &err, "a folder");
    snprintf(domain, CBX__TEMPORARY_SIZE + 32, "%s/intel-rapl:0", folder);
    CHECK_INT(mkdir(domain, 0700), 0, domain);
    put_file(domain, "name", "package-0\n");
    put_file(domain, "max_energy_range_uj", "262143328850\n");
    put_file(domain, "energy_uj", "1000000\n");
}

static void wait_ms(long ms)
{
    struct timespec t = { 0, ms * 1000000 };
    nanosleep(&t, NULL);
}

static void energy_of_a_call(void **state)
{
    char folder[CBX__TEMPORARY_SIZE], domain[CBX__TEMPORARY_SIZE + 32];
    fixture *f = *state;
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
    put_file(domain, "energy_uj", "6000000\n"); /* five joules */
    cbx__energy_end(m, &s, false, 2e6, &r);
    CHECK_STR(r.energy_why, "", "measured");
    CHECK(r.power_w > 0 && r.power_w <= 5 / 0.03, "five joules in no less than 30 ms");
    CHECK(fabs(r.energy_call_j - r.power_w * 2e-3) <= 1e-12 * r.energy_call_j, "power times the 2 ms of a call");
    CHECK_STR(r.energy_scope, "package, idle power taken off", "of what");

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

static void energy_in_a_launch(void **state)
{
    char folder[CBX__TEMPORARY_SIZE], domain[CBX__TEMPORARY_SIZE + 32];
    fixture *f = *state;
    cbx_launch_opts o = quick_opts();
    cbx_energy_source s;
    cbx_launch_record r;

    make_powercap(folder, domain);
    cbx__energy_source_open(f->ctx, false, folder, &s);
    o.energy = &s;
    launch(f, "good", &o, &r);
    skip_if_too_busy(&r);
    CHECK_INT(r.failure, CBX_FAILURE_NONE, r.message);
    CHECK(isnan(r.energy_call_j), "a counter that stands still has told nothing");
    CHECK(strstr(r.energy_why, "too short") || strstr(r.energy_why, "no more than"), r.energy_why);
    cbx_launch_record_clear(&r);
    cbx__energy_source_close(&s);
    cbx__temporary_remove(folder);

    cbx__energy_source_open(f->ctx, false, "/nonexistent", &s);
    CHECK(!s.cpu && strstr(s.why, "RAPL"), s.why);
    CHECK(cbx__energy_begin(f->ctx, &s) == NULL, "nothing to read");
    cbx__energy_source_close(&s);
}

static void scratch_folders(void **state)
{
    char path[CBX__TEMPORARY_SIZE], long_name[600];
    cbx_err err = CBX_ERR_INIT;
    const char *before = getenv("TMPDIR");
    char *kept = before ? strdup(before) : NULL;

    (void)state;
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    setenv("TMPDIR", long_name, 1);
    CHECK_STATUS(cbx__temporary_make("x", path, &err), CBX_EIO, "a name too long");
    CHECK_STR(path, "", "no folder");
    setenv("TMPDIR", "/nonexistent", 1);
    CHECK_STATUS(cbx__temporary_make("x", path, &err), CBX_EIO, "no such folder");
    CHECK(strstr(err.message, "TMPDIR") != NULL, err.message);
    cbx__temporary_remove(path);
    if (kept)
        setenv("TMPDIR", kept, 1);
    else
        unsetenv("TMPDIR");
    free(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_calls_are_measured),
        cmocka_unit_test(cold_epochs_are_single_calls),
        cmocka_unit_test(compile_only),
        cmocka_unit_test(energy_of_a_call),
        cmocka_unit_test(energy_in_a_launch),
        cmocka_unit_test(scratch_folders),
    };
    return cmocka_run_group_tests(tests, launch_setup, launch_teardown);
}
