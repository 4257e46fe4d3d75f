/* The sweep with a worker of its own, good and bad: statuses, files, resume, slots,
 * interruption. */
#include "check.h"
#include "fail_alloc.h"
#include "toy_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/file.h"
#include "calibrax/perf/sweep/exec.h"
#include "calibrax/perf/sweep/measure.h"

typedef struct rig {
    cbx_ctx *ctx;
    char folder[64];
    char out[96], store[96];
    cbx_measure_result result; /* of the last run */
    cbx_rows file;             /* the rows that were read last */
} rig;

static int rig_open(void **state)
{
    static rig r;
    char worker[4096];
    const char *build = getenv("CALIBRAX_BUILD_ROOT");
    snprintf(worker, sizeof(worker), "%s/tests/perf/toy-worker", build ? build : ".");
    setenv("NPERF_WORKER", worker, 1);
    cbx_test_folder(r.folder);
    setenv("CALIBRAX_CACHE_DIR", r.folder, 1);
    snprintf(r.out, sizeof(r.out), "%s/rows.jsonl", r.folder);
    snprintf(r.store, sizeof(r.store), "%s/store", r.folder);
    r.ctx = cbx_test_context();
    cbx_measure_result_init(&r.result, cbx_allocator_default());
    cbx_rows_init(&r.file, cbx_allocator_default());
    *state = &r;
    return 0;
}

static int rig_close(void **state)
{
    rig *r = *state;
    cbx_rows_clear(&r->file);
    cbx_measure_result_clear(&r->result);
    cbx_ctx_free(r->ctx);
    cbx_test_folder_remove(r->folder);
    return 0;
}

static int fresh(void **state)
{
    rig *r = *state;
    unlink(r->out);
    return 0;
}

static cbx_measure_opts quick(rig *r, const char *const *names, size_t n)
{
    cbx_measure_opts o = CBX_MEASURE_OPTS_INIT;
    o.case_ops = &toy_case;
    o.allow = names;
    o.nallow = n;
    o.launches = 2;
    o.warmup = 0;
    o.repeats = 2;
    o.epoch_target_s = 0.0005;
    o.worker_timeout_s = 20;
    o.memory_limit_bytes = 2000000000u;
    o.out_path = r->out;
    return o;
}

static cbx_measure_result *next_result(rig *r)
{
    cbx_measure_result_clear(&r->result);
    cbx_measure_result_init(&r->result, cbx_allocator_default());
    return &r->result;
}

static const cbx_measure_result *run(rig *r, const cbx_measure_opts *o, const char *why)
{
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_measure_run(r->ctx, o, next_result(r), &err), &err, why);
    return &r->result;
}

static void read_file(rig *r)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_rows_clear(&r->file);
    CHECK_OK(cbx_rows_read(r->ctx, r->out, &r->file, &err), &err, "the file is whole");
}

static const cbx_row *row_of(const cbx_rows *rows, const char *baseline)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (!strcmp(rows->rows[i].baseline, baseline)) return &rows->rows[i];
    }
    fail_msg("no row of '%s'", baseline);
    return NULL;
}

/* Launches of a baseline in the raw lines, those that repeat one or those that do not. */
static size_t count_lines(const cbx_measure_result *r, const char *baseline, bool retries)
{
    char mark[80];
    size_t n = 0;
    snprintf(mark, sizeof(mark), "\"baseline\":\"%s\"", baseline);
    for (const char *s = cbx_text_str(&r->raw); (s = strstr(s, mark)); s++) {
        const char *retry = strstr(s, "\"retry\":");
        n += retry && (retry[strlen("\"retry\":")] == 't') == retries;
    }
    return n;
}

static size_t launches_of(const cbx_measure_result *r, const char *baseline) { return count_lines(r, baseline, false); }

TEST(every_failure_is_a_row)
{
    static const struct {
        const char *baseline, *status;
        size_t launches, retries;
        const char *why;
    } cases[] = {
        { "good", "ok", 2, 0, "the honest one is measured in each round" },
        { "wrong", "fidelity_failed", 1, 0, "a wrong answer is wrong once and for all" },
        { "killed", "crashed", 1, 1, "a crash is confirmed once" },
        { "exit0", "no_answer", 1, 1, "so is an exit without a word" },
        { "rubbish", "protocol_error", 1, 0, "not JSON" },
        { "says_oom", "oom", 1, 0, "as the worker says" },
        { "unsupported", "skipped", 1, 0, "the machine cannot" },
    };
    static const char *const names[] = { "good", "wrong", "killed", "exit0", "rubbish", "says_oom", "unsupported" };
    rig *r = *test_state;
    cbx_measure_opts o = quick(r, names, CBX_LEN(names));
    const cbx_measure_result *result = run(r, &o, "the sweep goes on");

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const cbx_row *row = row_of(&result->rows, cases[i].baseline);
        CHECK_STR(row->status, cases[i].status, cases[i].why);
        CHECK_INT(launches_of(result, cases[i].baseline), cases[i].launches, cases[i].why);
        if (i > 0) CHECK_INT(count_lines(result, cases[i].baseline, true), cases[i].retries, cases[i].why);
        CHECK(cbx_row_is_good(row) || row->failure_message, "a failure has a sentence");
    }
    CHECK_STR(row_of(&result->rows, "spin")->status, "skipped", "what was not asked for is a row");
    CHECK_INT(result->points, 1, "points");
    CHECK_INT(result->points_good, 1, "one good row makes a good point");
    read_file(r);
    CHECK_INT(r->file.count, result->rows.count, "all rows");
    CHECK_INT(r->file.damaged, 0, "all readable");
}

TEST(a_hanging_worker_does_not_stop_the_sweep)
{
    static const char *const names[] = { "good", "hang" };
    rig *r = *test_state;
    cbx_measure_opts o = quick(r, names, CBX_LEN(names));
    const cbx_measure_result *result;
    o.worker_timeout_s = 5; /* for the start of a worker on a busy machine, too */
    result = run(r, &o, "the other one is measured");
    CHECK_STR(row_of(&result->rows, "hang")->status, "timeout", "by the clock");
    CHECK_STR(row_of(&result->rows, "good")->status, "ok", "still");
    CHECK_INT(launches_of(result, "hang"), 1, "not waited for again");
}

TEST(resume_keeps_what_is_good)
{
    static const char *const first[] = { "good", "spin" }, *const more[] = { "good", "spin", "flood" };
    static const char *const points[] = { "{\"n\":100}", "{\"n\":200}" };
    rig *r = *test_state;
    cbx_measure_opts o = quick(r, first, CBX_LEN(first));
    const cbx_measure_result *result;
    char old_run[CBX_RUN_ID_SIZE];

    o.points = points;
    o.npoints = 1;
    result = run(r, &o, "first");
    memcpy(old_run, result->run_id, sizeof(old_run));
    o.npoints = 2;
    o.resume = true;
    result = run(r, &o, "one point more");
    CHECK_INT(result->points_kept, 1, "the first point is not measured again");
    CHECK_STR(result->rows.rows[0].run_id, old_run, "its row is the old one");
    CHECK_INT(launches_of(result, "good"), 2, "launches at the new point only");
    CHECK(cbx_row_is_good(row_of(&result->rows, "spin")), "good rows of both");
    o.allow = more;
    o.nallow = CBX_LEN(more);
    result = run(r, &o, "one baseline more");
    CHECK_INT(result->points_kept, 0, "no point is complete");
    CHECK_INT(launches_of(result, "spin"), 0, "kept");
    CHECK_INT(launches_of(result, "flood"), 4, "measured at both points");
    CHECK_INT(launches_of(result, "good"), 4, "the reference, for the ratio");
    CHECK_STR(row_of(&result->rows, "good")->run_id, old_run, "though its row is kept");
    CHECK(row_of(&result->rows, "flood")->paired_vs != NULL, "paired with launches of this run");
}

/* Status of a baseline at a point with this label in the file; "" if it has no row, "twice" if it
 * has more. */
static const char *status_in_file(const cbx_rows *file, const char *baseline, const char *label)
{
    const char *found = "";
    for (size_t i = 0; i < file->count; i++) {
        const cbx_row *row = &file->rows[i];
        if (strcmp(row->baseline, baseline) || strcmp(row->point_label, label)) continue;
        found = found[0] ? "twice" : row->status;
    }
    return found;
}

typedef struct watcher {
    cbx_stop_flag flag;
    size_t launches, stop_after, notes;
    char note[4096]; /* a line each */
} watcher;

static void watch(void *user, const cbx_measure_progress *p)
{
    watcher *w = user;
    size_t used = strlen(w->note);

    if (p->event == CBX_MEASURE_LAUNCH && ++w->launches == w->stop_after) w->flag = 1;
    if (p->event != CBX_MEASURE_NOTE) return;
    w->notes++;
    snprintf(w->note + used, sizeof(w->note) - used, "%.255s\n", p->text);
}

TEST(a_stop_keeps_finished_points)
{
    static const char *const names[] = { "good" }, *const points[] = { "{\"n\":100}", "{\"n\":200}", "{\"n\":300}" };
    rig *r = *test_state;
    cbx_measure_opts o = quick(r, names, 1);
    watcher w = { .stop_after = 3 };
    const cbx_measure_result *result;
    size_t good = 0, interrupted = 0;

    o.points = points;
    o.npoints = 3;
    o.stop = &w.flag;
    o.progress = watch;
    o.user = &w;
    result = run(r, &o, "a stop is no error");
    CHECK(result->interrupted, "it is said");
    read_file(r);
    for (size_t i = 0; i < r->file.count; i++) {
        good += cbx_row_is_good(&r->file.rows[i]);
        interrupted += !strcmp(r->file.rows[i].status, "interrupted");
    }
    CHECK_INT(good, 1, "the point that was finished");
    CHECK_INT(interrupted, 1, "the point that was not");
    o.stop = NULL;
    o.resume = true;
    result = run(r, &o, "and on from there");
    CHECK_INT(result->points_kept, 1, "kept");
    CHECK_INT(result->points_good, 3, "complete now");
}

/* Rows that this run did not finish stay, whatever stopped it. */
TEST(a_stopped_resume_loses_nothing)
{
    static const char *const names[] = { "good", "spin" }, *const points[] = { "{\"n\":7}", "{\"n\":9}", "{\"n\":11}" };
    rig *r = *test_state;
    cbx_measure_opts o = quick(r, names, CBX_LEN(names));
    watcher w = { .stop_after = 1 };
    const cbx_measure_result *result;

    o.points = points + 1;
    o.npoints = 2;
    result = run(r, &o, "9 and 11");
    o.points = points;
    o.npoints = 3;
    o.resume = true;
    o.stop = &w.flag;
    o.progress = watch;
    o.user = &w;
    result = run(r, &o, "stopped in 7");
    CHECK(result->interrupted, "stopped");
    read_file(r);
    CHECK_STR(status_in_file(&r->file, "good", "9"), "ok", "kept");
    CHECK_STR(status_in_file(&r->file, "spin", "11"), "ok", "kept");
    CHECK_STR(status_in_file(&r->file, "spin", "7"), "interrupted", "what this run came to");
    CHECK_INT(r->file.count, result->rows.count, "the result is what the file holds");
    w = (watcher){ .stop_after = 1 };
    o.allow = NULL;
    o.nallow = 0;
    result = run(r, &o, "stopped in a point that has good rows");
    read_file(r);
    CHECK_STR(status_in_file(&r->file, "spin", "9"), "ok", "kept");
    CHECK_INT(r->file.count, result->rows.count, "still the same");
}

/* Other points and other baselines are none of this run's business. */
TEST(a_narrow_resume_drops_nothing)
{
    static const char *const wide[] = { "good", "spin" }, *const narrow[] = { "good", "flood" },
                             *const points[] = { "{\"n\":7}", "{\"n\":9}" };
    rig *r = *test_state;
    cbx_measure_opts o = quick(r, wide, CBX_LEN(wide));
    const cbx_measure_result *result;
    char first[CBX_RUN_ID_SIZE];

    o.points = points;
    o.npoints = 2;
    result = run(r, &o, "all");
    memcpy(first, result->run_id, sizeof(first));
    o.allow = narrow;
    o.nallow = CBX_LEN(narrow);
    o.npoints = 1;
    o.resume = true;
    result = run(r, &o, "another baseline at one point");
    read_file(r);
    CHECK_STR(status_in_file(&r->file, "spin", "7"), "ok", "a row that says nothing replaces no good one");
    CHECK_STR(status_in_file(&r->file, "flood", "7"), "ok", "the new one is there");
    CHECK_STR(status_in_file(&r->file, "spin", "9"), "ok", "a point that was not asked for");
    CHECK_STR(status_in_file(&r->file, "flood", "9"), "skipped", "with all its rows");
    CHECK_STR(row_of(&r->file, "spin")->run_id, first, "as they were");
    CHECK_INT(result->points, 1, "this run had one point");
}

TEST(slots_share_the_points)
{
    static const char *const names[] = { "good" }, *const points[] = { "{\"n\":1}", "{\"n\":2}", "{\"n\":3}",
                                                                       "{\"n\":4}", "{\"n\":5}" };
    rig *r = *test_state;
    cbx_measure_opts o = quick(r, names, 1);
    const cbx_measure_result *result;
    size_t k = 0;

    o.points = points;
    o.npoints = CBX_LEN(points);
    o.cpu_slots = 64; /* more than CPUs: clamped, and said */
    watcher w = { .stop_after = 0 };
    o.progress = watch;
    o.user = &w;
    result = run(r, &o, "slots");
    CHECK_INT(result->points_good, 5, "every point");
    for (size_t i = 0; i < result->rows.count; i++) {
        char wanted[32];
        if (strcmp(result->rows.rows[i].baseline, "good")) continue;
        snprintf(wanted, sizeof(wanted), "%zu", ++k);
        CHECK_STR(result->rows.rows[i].point_label, wanted, "rows keep the order of the points");
    }
    CHECK(w.notes >= 1 && strstr(w.note, "64 CPU slots"), "a note tells that there are fewer CPUs");
}

TEST(in_process)
{
    static const char *const names[] = { "good", "wrong" };
    rig *r = *test_state;
    cbx_measure_opts o = quick(r, names, CBX_LEN(names));
    const cbx_measure_result *result;
    const cbx_row *row;
    o.in_process = true;
    result = run(r, &o, "in process");
    row = row_of(&result->rows, "good");
    CHECK_STR(row->status, "ok", "measured");
    CHECK_STR(cbx_json_get_string(row->provenance, "measurement_isolation", ""), "in_process", "and the row says how");
    CHECK_STR(row_of(&result->rows, "wrong")->status, "fidelity_failed", "checked as well");
}

TEST(store_and_raw)
{
    static const char *const names[] = { "good" };
    rig *r = *test_state;
    cbx_measure_opts o = quick(r, names, 1);
    char path[256];
    const cbx_measure_result *result;
    o.store_root = r->store;
    result = run(r, &o, "with a store");
    snprintf(path, sizeof(path), "%s/toy/%s.jsonl", r->store, result->run_id);
    CHECK(cbx_path_exists(path), path);
    snprintf(path, sizeof(path), "%s/toy/%s.raw.jsonl.gz", r->store, result->run_id);
    CHECK(cbx_path_exists(path), path);
}

/* Under a goal a row is launched until its look is enough; a goal that anything meets is met at the
 * first look. */
TEST(a_goal_ends_the_launches)
{
    static const char *const names[] = { "good", "spin" };
    rig *r = *test_state;
    cbx_measure_opts o = quick(r, names, CBX_LEN(names));
    const cbx_measure_result *result;
    const cbx_json *schedule;

    o.precision = 0.999; /* half widths relative to the value: whatever the machine does */
    o.decide = true;
    o.launches = 30;
    result = run(r, &o, "until narrow or decided");
    const cbx_row *row = row_of(&result->rows, "spin");
    CHECK(cbx_row_is_good(row), "measured");
    schedule = cbx_json_get(row->provenance, "schedule");
    const char *why = cbx_json_get_string(schedule, "stopped_because", "");
    CHECK(!strcmp(why, "precision") || !strcmp(why, "verdict") || !strcmp(why, "plan"), why);
    CHECK(row->nlaunches >= 11 && row->nlaunches <= 30, "between the first look and the most");
    CHECK_INT(cbx_json_get_int(cbx_json_get(schedule, "looks"), "stopped_at", 0), row->pairs, "the look it is of");
    CHECK_INT(cbx_json_get_int(cbx_json_get(schedule, "pilot"), "pilot_launches", 0), 3, "after a pilot");
    CHECK(row->paired.level > 0.95 || row->paired.level == 0, "looks are stricter than one interval");
    CHECK(cbx_json_has(cbx_json_get(row->provenance, "layout"), "placed_anew"), "who placed the program is recorded");
}

TEST(budget_says_what_it_cut)
{
    static const char *const names[] = { "spin" }, *const points[] = { "{\"n\":10,\"spin_us\":20000}" };
    rig *r = *test_state;
    cbx_measure_opts o = quick(r, names, 1);
    watcher w = { .stop_after = 0 };
    const cbx_measure_result *result;
    const cbx_row *row;
    o.points = points;
    o.npoints = 1;
    o.launches = 50;
    o.repeats = 5;
    o.budget_s = 0.2; /* each launch is three calls of 20 ms at least */
    o.progress = watch;
    o.user = &w;
    result = run(r, &o, "under a budget");
    row = row_of(&result->rows, "spin");
    CHECK_STR(row->status, "ok", "measured all the same");
    CHECK(row->nlaunches < CBX_LEN("123456"), "fewer launches than an interval needs");
    CHECK(isinf(row->steady.lower) || row->steady.level == 0 || isnan(row->steady.lower), "so there is none");
    CHECK(w.notes == 1 && strstr(w.note, "too few for an interval"), "and it is said");
    CHECK(strstr(cbx_json_get_string(cbx_json_get(row->provenance, "schedule"), "note", ""), "budget"),
          "in the row as well");
}

/* A run whose time is over when its first point is: the others are rows that say so, and --resume
 * measures them. */
TEST(budget_leaves_points_for_later)
{
    static const char *const names[] = { "spin" }, *const points[] = { "{\"n\":10,\"spin_us\":20000}",
                                                                       "{\"n\":11,\"spin_us\":20000}",
                                                                       "{\"n\":12,\"spin_us\":20000}" };
    rig *r = *test_state;
    cbx_measure_opts o = quick(r, names, 1);
    const cbx_measure_result *result;
    size_t good = 0, skipped = 0;
    o.points = points;
    o.npoints = CBX_LEN(points);
    o.launches = 6;
    o.budget_s = 1e-6;
    result = run(r, &o, "no time at all");
    CHECK_INT(result->points_good, 1, "the first point is begun");
    for (size_t i = 0; i < result->rows.count; i++) {
        const cbx_row *row = &result->rows.rows[i];
        if (strcmp(row->baseline, "spin") != 0) continue;
        good += !strcmp(row->status, "ok");
        if (strcmp(row->status, "skipped") != 0) continue;
        skipped++;
        CHECK_STR(row->failure_reason, "budget_spent", "a reason of its own");
        CHECK(strstr(row->failure_remedy, "raise the budget"), "and a remedy");
    }
    CHECK(good == 1 && skipped == 2, "a row for each point");
    CHECK_INT(row_of(&result->rows, "spin")->nlaunches, 1, "one round");
    o.resume = true;
    o.budget_s = 1000;
    result = run(r, &o, "with time");
    CHECK_INT(result->points_good, 3, "the others, too");
    CHECK_INT(result->points_kept, 1, "and the first one is kept");
    for (size_t i = 0; i < result->rows.count; i++) {
        const cbx_json *schedule = cbx_json_get(result->rows.rows[i].provenance, "schedule");
        double share = cbx_json_get_double(schedule, "point_budget_s", 0);
        if (result->rows.rows[i].nlaunches == 6) CHECK(share > 100 && share <= 1000, "a share each");
    }
}

TEST(oracle_failure)
{
    static const char *const names[] = { "good" };
    rig *r = *test_state;
    cbx_measure_opts o = quick(r, names, 1);
    static const char *const points[] = { "{\"n\":1234}" };
    const cbx_measure_result *result;
    o.points = points;
    o.npoints = 1;
    setenv("TOY_ORACLE_FAILS", "1", 1);
    result = run(r, &o, "without an oracle");
    unsetenv("TOY_ORACLE_FAILS");
    CHECK_STR(row_of(&result->rows, "good")->status, "fidelity_inconclusive", "nothing to compare with");
    CHECK_INT(result->points_good, 0, "no good row");
}

TEST(usage_errors)
{
    static const char *const bad_point[] = { "{\"n\":" }, *const bad_platform[] = { "cpuu" },
                             *const good[] = { "good" };
    rig *r = *test_state;
    cbx_measure_opts o = quick(r, good, 1);
    cbx_err err = CBX_ERR_INIT;

    o.points = bad_point;
    o.npoints = 1;
    CHECK_STATUS(cbx_measure_run(r->ctx, &o, next_result(r), &err), CBX_EFORMAT, "no JSON");
    o.npoints = 0;
    o.platforms = bad_platform;
    o.nplatforms = 1;
    CHECK_STATUS(cbx_measure_run(r->ctx, &o, next_result(r), &err), CBX_EINVAL, "no such platform");
    o.nplatforms = 0;
    o.out_path = "/proc/no/such/rows.jsonl";
    CHECK(cbx_measure_run(r->ctx, &o, next_result(r), &err) != CBX_OK && strstr(err.message, "/proc/no") &&
              strstr(err.message, "choose another folder"),
          "known before anything is measured");
    CHECK_INT(r->result.rows.count, 0, "no rows");
}

TEST(gpu_without_a_device)
{
    static const char *const names[] = { "good" }, *const platforms[] = { "jax-cpu", "cuda12" };
    rig *r = *test_state;
    cbx_measure_opts o = quick(r, names, 1);
    const cbx_measure_result *result;
    size_t gpu = 0;
    o.platforms = platforms;
    o.nplatforms = 2;
    result = run(r, &o, "two platforms");
    for (size_t i = 0; i < result->rows.count; i++) {
        const cbx_row *row = &result->rows.rows[i];
        if (strcmp(row->platform, "cuda12") || strcmp(row->baseline, "good")) continue;
        CHECK_STR(row->status, "skipped", "our own code is not for a GPU");
        CHECK_STR(row->failure_reason, "backend_unavailable", "whether there is one or not");
        gpu++;
    }
    CHECK_INT(gpu, 1, "a row all the same");
    CHECK_STR(row_of(&result->rows, "good")->platform, "cpu", "the alias is not written");
}

/* --- devices --- */

static size_t count_rows(const cbx_rows *rows, const char *baseline, const char *platform, const char *status)
{
    size_t n = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const cbx_row *row = &rows->rows[i];
        n += !strcmp(row->baseline, baseline) && !strcmp(row->platform, platform) && !strcmp(row->status, status);
    }
    return n;
}

/* Two devices that are none: each job knows its own, and no row of the CPU is another for it. */
TEST(devices_have_queues)
{
    static const char *const names[] = { "on_device", "good" }, *const platforms[] = { "cpu", "fake" },
                             *const points[] = { "{\"n\":1}", "{\"n\":2}", "{\"n\":3}" };
    rig *r = *test_state;
    cbx_measure_opts o = quick(r, names, CBX_LEN(names));
    watcher w = { .stop_after = 0 };
    const cbx_measure_result *result;
    size_t seen = 0;

    setenv("NPERF_FAKE_DEVICES", "2", 1);
    o.platforms = platforms;
    o.nplatforms = 2;
    o.points = points;
    o.npoints = 2;
    o.progress = watch;
    o.user = &w;
    result = run(r, &o, "a CPU and two devices");
    CHECK_INT(result->points_good, 2, "points, not jobs");
    CHECK_INT(count_rows(&result->rows, "on_device", "fake", "ok"), 2, "a device is named to each worker there");
    CHECK_INT(count_rows(&result->rows, "on_device", "cpu", "fidelity_failed"), 2, "and none to those on the CPU");
    CHECK_INT(count_rows(&result->rows, "good", "cpu", "ok"), 2, "the CPU is measured");
    for (size_t i = 0; i < result->rows.count; i++) {
        const cbx_row *row = &result->rows.rows[i];
        const cbx_json *device = cbx_json_get(row->provenance, "device"),
                       *s = cbx_json_get(row->provenance, "scheduler");
        CHECK_INT(cbx_json_get_int(s, "n_gpus", 0), 2, "two devices");
        if (!strcmp(row->platform, "fake") && !strcmp(row->status, "ok"))
            seen |= (size_t)1 << cbx_json_get_int(device, "number", 9);
        else
            CHECK(!cbx_json_has(device, "number") || strcmp(row->platform, "cpu"), "no device on the CPU");
    }
    CHECK(seen && seen <= 3, "numbers of devices");
    o.resume = true;
    o.npoints = 3;
    result = run(r, &o, "one point more");
    CHECK_INT(count_rows(&result->rows, "good", "fake", "ok"), 3, "kept rows and new ones, each once");
    CHECK_INT(count_rows(&result->rows, "good", "cpu", "ok"), 3, "on both platforms");
    CHECK_INT(launches_of(result, "on_device"), 5, "two kept on devices; the CPU's wrong ones again");
    unsetenv("NPERF_FAKE_DEVICES");
}

TEST(devices_settle)
{
    static const char *const names[] = { "good" }, *const platforms[] = { "fake" }, *const gpus[] = { "1" },
                             *const wrong[] = { "2" };
    rig *r = *test_state;
    cbx_measure_opts o = quick(r, names, 1);
    const cbx_measure_result *result;
    cbx_err err = CBX_ERR_INIT;
    uint64_t start = cbx_clock_ns();

    setenv("NPERF_FAKE_DEVICES", "2", 1);
    o.platforms = platforms;
    o.nplatforms = 1;
    o.gpus = gpus;
    o.ngpus = 1;
    o.gpu_settle_s = 0.1;
    result = run(r, &o, "one device of two");
    CHECK(cbx_clock_ns() - start >= 300000000u, "before the first launch and after each of two");
    CHECK_INT(cbx_json_get_int(cbx_json_get(result->rows.rows[0].provenance, "device"), "number", 9), 1, "that one");
    o.gpus = wrong;
    CHECK_STATUS(cbx_measure_run(r->ctx, &o, next_result(r), &err), CBX_EINVAL, "no such device");
    CHECK(strstr(err.message, "'gpus' must name devices of platform"), err.message);
    unsetenv("NPERF_FAKE_DEVICES");
    o.ngpus = 0;
    result = run(r, &o, "no device at all");
    CHECK_STR(row_of(&result->rows, "good")->status, "skipped", "is a row");
    CHECK(strstr(row_of(&result->rows, "good")->failure_message, "NPERF_FAKE_DEVICES"), "that says why");
}

TEST(what_was_told_is_in_the_row)
{
    static const char *const names[] = { "good", "killed" };
    rig *r = *test_state;
    cbx_measure_opts o = quick(r, names, 2);
    const cbx_measure_result *result;
    const cbx_json *policy, *memory;

    o.memory_limit_bytes = 0;
    o.cpu_slots = 2;
    o.matmul_precision = "tf32";
    result = run(r, &o, "with a policy");
    policy = cbx_json_get(row_of(&result->rows, "good")->provenance, "policy");
    CHECK_STR(cbx_json_get_string(policy, "precision", ""), "full", "native code has no other");
    CHECK_STR(cbx_json_get_string(policy, "precision_asked", ""), "tf32", "though it was asked for");
    CHECK_STR(cbx_json_get_string(cbx_json_get(policy, "environment"), "OMP_NUM_THREADS", ""), "1", "told");
    policy = cbx_json_get(cbx_json_get(row_of(&result->rows, "good")->provenance, "worker"), "policy");
    CHECK_INT(cbx_json_get_int(cbx_json_get(policy, "threads"), "openmp", 0), 1, "and what the worker says of itself");
    memory = cbx_json_get(row_of(&result->rows, "good")->provenance, "memory");
    CHECK_GT(cbx_json_get_double(memory, "limit_bytes", 0), 1e6, "a share of the free memory");
    CHECK(cbx_json_get_string(memory, "limit_by", NULL), "and who holds it");
    const char *retry = strstr(cbx_text_str(&result->raw),
                               "\"attempt\":2,\"retry\":true,\"retry_reason\":\"worker_killed\"");
    CHECK(retry, "a repeated launch says so, and why");
}

/* --- commands --- */

static const cbx_measure_result *run_exec(rig *r, const cbx_exec_opts *o, const char *why)
{
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_exec_run(r->ctx, o, next_result(r), &err), &err, why);
    return &r->result;
}

TEST(commands)
{
    static const cbx_exec_command two[] = { { "sleep 0.002", NULL }, { "exit 3", NULL }, { "sleep 0.15", NULL } };
    cbx_exec_opts o = CBX_EXEC_OPTS_INIT;
    rig *r = *test_state;
    const cbx_measure_result *result;
    cbx_text words;
    o.commands = two;
    o.ncommands = CBX_LEN(two);
    o.measure.launches = 6;
    result = run_exec(r, &o, "three commands");
    CHECK_INT(result->rows.count, 3, "a row a command");
    CHECK_STR(result->rows.rows[0].case_name, "exec", "case");
    CHECK_INT(result->rows.rows[0].nlaunches, 6, "runs");
    CHECK_STR(result->rows.rows[1].failure_message, "command 'exit 3' exited with status 3", "named, with its status");
    CHECK_STR(result->rows.rows[2].verdict, "slower", "148 ms more");
    CHECK_INT(result->points_good, 2, "the others are measured");
    cbx_text_init(&words, cbx_allocator_default());
    cbx_exec_sentence(&result->rows, &words);
    CHECK(strstr(cbx_text_str(&words), "'sleep 0.15' takes ") &&
              strstr(cbx_text_str(&words), " times as long as 'sleep 0.002'") &&
              strstr(cbx_text_str(&words), "]: slower\n"),
          cbx_text_str(&words));
    cbx_text_clear(&words);
}

TEST(parameters)
{
    static const char *const a[] = { "1", "2" }, *const b[] = { "x", "y", "z" };
    static const cbx_exec_param params[] = { { "a", a, 2 }, { "b", b, 3 } };
    static const cbx_exec_command two[] = { { "true {a} {b} {c}", NULL }, { "true", NULL } };
    static const char *const wanted[] = { "true 1 x {c}", "true 1 y {c}", "true 1 z {c}", "true 2 x {c}",
                                          "true 2 y {c}", "true 2 z {c}", "true" };
    cbx_exec_opts o = CBX_EXEC_OPTS_INIT;
    rig *r = *test_state;
    const cbx_measure_result *result;
    o.commands = two;
    o.ncommands = 2;
    o.params = params;
    o.nparams = 2;
    o.measure.launches = 1;
    o.measure.warmup = 0;
    result = run_exec(r, &o, "every combination");
    CHECK_INT(result->rows.count, CBX_LEN(wanted), "a command without parameters is there once");
    for (size_t i = 0; i < CBX_LEN(wanted); i++)
        CHECK_STR(result->rows.rows[i].baseline, wanted[i], "the last parameter runs fastest");
}

TEST(setup_and_failures)
{
    static const cbx_exec_command one[] = { { "false", NULL } };
    cbx_exec_opts o = CBX_EXEC_OPTS_INIT;
    rig *r = *test_state;
    char setup[160], counter[128];
    char *data = NULL;
    size_t len = 0;
    const cbx_measure_result *result;
    cbx_err err = CBX_ERR_INIT;
    snprintf(counter, sizeof(counter), "%s/counter", r->folder);
    snprintf(setup, sizeof(setup), "echo x >> %s", counter);
    o.commands = one;
    o.ncommands = 1;
    o.hooks[CBX_EXEC_PREPARE] = setup;
    o.measure.launches = 3;
    o.ignore_failure = true;
    result = run_exec(r, &o, "failures ignored");
    CHECK_INT(result->points_good, 1, "a run all the same");
    CHECK_OK(cbx_file_read(r->ctx, counter, 0, &data, &len, &err), &err, "set-up ran");
    CHECK_INT(len, 8, "before each of three runs and one warm-up");
    cbx_mem_free(cbx_ctx_allocator(r->ctx), data, len + 1);
    o.hooks[CBX_EXEC_PREPARE] = "exit 9";
    result = run_exec(r, &o, "preparation fails");
    CHECK_STR(result->rows.rows[0].failure_message, "preparation 'exit 9' exited with status 9", "named");
    o.ncommands = 0;
    CHECK_STATUS(cbx_exec_run(r->ctx, &o, next_result(r), &err), CBX_EINVAL, "nothing to run");
}

TESTS(.seconds = 600, .before = rig_open, .after = rig_close, .setup = fresh)
