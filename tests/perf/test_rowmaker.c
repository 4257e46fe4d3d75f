/* Rows from launches whose numbers are made up, so that every number of a row is known. */
#include "check.h"
#include "point_support.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "calibrax/perf/sweep/public.h"
#include "calibrax/perf/sweep/run_table.h"

/* One launch of two epochs, median us and median + 1 us: its median is us + 0.5. */
static void add_launch(rig *b, cbx__attempt *a, double us)
{
    cbx__launch *l = cbx__attempt_add(&b->p.arena, a);
    cbx_launch_record *r = &l->record;

    l->round = a->nlaunches - 1;
    l->median_s = 1e-6 * (us + 0.5);
    r->epochs = 2;
    r->epoch_ns[0] = r->outer_ns[0] = 1000 * us;
    r->epoch_ns[1] = r->outer_ns[1] = 1000 * (us + 1);
    r->iterations = 3;
    r->first_call_ns = 1e6;
    r->compile_ns = 5e5;
    r->hwm_bytes = 1e6 * (double)a->nlaunches;
    r->hwm_increase_bytes = r->device_peak_bytes = NAN;
    r->clock_ratio = 1;
    r->cpu_user_s = 0.5;
    r->cpu_system_s = 0.25;
    r->fidelity = (cbx_fidelity){ .checked = true, .ok = true, .rel_to_tol = 0.1 * (double)a->nlaunches, .checks = 2 };
    if (a->nlaunches > b->p.rounds) b->p.rounds = a->nlaunches;
}

static void make(rig *b)
{
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx__rows_judge(b->ctx, &b->s, &b->p, &err), &err, "judge");
    CHECK_OK(cbx__rows_make(b->ctx, &b->s, &b->p, &b->rows, &b->raw, &err), &err, "make");
}

static void near(double actual, double wanted, const char *why)
{
    if (!(fabs(actual - wanted) <= 1e-12 * fabs(wanted))) fail_msg("%s: %.17g, not %.17g", why, actual, wanted);
}

TEST(numbers_of_a_row)
{
    static const double us[] = {
        100, 104, 101, 103, 102, 105, 106
    }; /* launch medians 100.5 ... 106.5, their median 103.5 */
    const cbx_row *r;
    rig *b = fresh(test_state);
    cbx__attempt *a = add_attempt(b, "good", "default");
    for (size_t i = 0; i < CBX_LEN(us); i++) add_launch(b, a, us[i]);
    make(b);
    CHECK_INT(b->rows.count, 1, "a row an attempt");
    r = &b->rows.rows[0];
    CHECK_STR(r->status, "ok", "status");
    near(r->median_s, 103.5e-6, "median of launch medians");
    /* n = 7: r = 1, the whole range, at 1 - 2/2^7 */
    near(r->steady.lower, 100.5e-6, "exact interval");
    near(r->steady.upper, 106.5e-6, "exact interval");
    near(r->steady.level, 1 - 2.0 / 128, "level reached");
    near(r->min_s, 100e-6, "smallest epoch of all launches");
    CHECK_INT(r->n, 14, "epochs are pooled");
    CHECK_INT(r->nlaunches, 7, "launches");
    near(r->mean_s, (103 + 0.5) * 1e-6, "mean of the epochs");
    near(r->host_rss_mb, 7, "largest peak, in 10^6 bytes");
    CHECK(isnan(r->peak_hbm_mb) && isnan(r->host_rss_increase_mb), "unknown stays unknown");
    near(r->cpu_s, 0.75, "CPU seconds of a launch");
    near(r->first_call_s, 1e-3, "first call");
    near(r->compile_s, 5e-4, "compile");
    near(r->throughput_elem_per_s, 1000 / 100e-6, "v1: output elements over the minimum");
    near(r->gmac_per_s, 1e-9 * 1000 / 103.5e-6, "declared work over the median");
    near(r->gflop_per_s, 1e-9 * 2000 / 103.5e-6, "declared work over the median");
    near(r->gbyte_per_s, 1e-9 * 8000 / 103.5e-6, "declared work over the median");
    near(r->bound_s, 8e-6, "8000 bytes at 1 GB/s");
    near(r->roofline_share, 8 / 103.5, "share of the roofline");
    CHECK_STR(r->fidelity_status, "ok", "fidelity");
    near(r->rel_to_tol, 0.7, "the worst check");
    CHECK_INT(r->checks, 14, "all checks");
    CHECK_STR(r->ratio_vs, "good", "the reference has a v1 ratio to itself");
    near(r->ratio_value, 1, "of one");
    CHECK(r->paired_vs == NULL && r->verdict == NULL, "and no paired one");
    CHECK(r->strongest, "one variant is the strongest");
    CHECK_STR(r->machine, "0123456789abcdef", "machine");
}

TEST(ratios_are_paired)
{
    /* The machine slows down by half in the middle: the rounds' quotients do not see it. */
    static const double reference_us[] = { 99.5, 99.5, 149.5, 149.5, 199.5, 99.5 };
    const cbx_row *r;
    rig *b = fresh(test_state);
    cbx__attempt *good = add_attempt(b, "good", "default"), *spin = add_attempt(b, "spin", "default");
    for (size_t i = 0; i < CBX_LEN(reference_us); i++) {
        add_launch(b, good, reference_us[i]);
        add_launch(b, spin, (reference_us[i] + 0.5) * 2 - 0.5);
    }
    make(b);
    r = &b->rows.rows[1];
    CHECK_STR(r->paired_vs, "good", "against the reference");
    near(r->paired.value, 2, "twice in each round");
    near(r->paired.lower, 2, "and nothing else");
    near(r->paired.upper, 2, "and nothing else");
    near(r->ratio_value, 199.5 / 99.5, "v1: minimum over minimum");
    CHECK_STR(r->verdict, "slower", "verdict");
    CHECK(cbx_json_has(r->json, "param_point") && cbx_json_has(r->json, "provenance"), "v1 keys");
}

/* A limit has no ratio and no fidelity; a rival's row says its share of it, round by round. */
TEST(limits_are_shares)
{
    static const double rival_us[] = { 99.5, 199.5, 99.5, 199.5, 99.5, 99.5 };
    cbx_baseline_ops probe = *toy_baseline("spin");
    const cbx_row *r;

    probe.name = "probe";
    probe.limit = "does half of the work";
    rig *b = fresh(test_state);
    cbx__attempt *good = add_attempt(b, "good", "default"), *limit = add_attempt(b, "spin", "default");
    limit->baseline = &probe;
    for (size_t i = 0; i < CBX_LEN(rival_us); i++) {
        add_launch(b, good, rival_us[i]);
        add_launch(b, limit, (rival_us[i] + 0.5) * 0.8 - 0.5);
        limit->last->record.fidelity = (cbx_fidelity){ .checked = false };
    }
    make(b);
    r = &b->rows.rows[0];
    CHECK_STR(r->limit_vs, "probe", "which limit");
    near(r->limit_share, 0.8, "in each round");
    CHECK(!r->role && r->ratio_vs, "a rival stays one");
    r = &b->rows.rows[1];
    CHECK_STR(r->role, "limit", "role");
    CHECK(cbx_row_is_limit(r) && !r->ratio_vs && !r->paired_vs && !r->fidelity_status && !r->limit_vs, "no rival");
    b = fresh(test_state);
    good = add_attempt(b, "good", "default");
    add_launch(b, good, 100);
    make(b);
    CHECK(!b->rows.rows[0].limit_vs && !b->rows.rows[0].role, "without a limit there is no share");
}

TEST(strongest_variant_is_quoted)
{
    rig *b = fresh(test_state);
    cbx__attempt *plain = add_attempt(b, "good", "default"), *tuned = add_attempt(b, "good", "tuned"),
                 *spin = add_attempt(b, "spin", "default");
    for (size_t i = 0; i < 6; i++) {
        add_launch(b, plain, 199.5);
        add_launch(b, tuned, 99.5);
        add_launch(b, spin, 399.5);
    }
    make(b);
    CHECK(!b->rows.rows[0].strongest && b->rows.rows[1].strongest && b->rows.rows[2].strongest,
          "the smaller median of a baseline");
    near(b->rows.rows[2].paired.value, 4, "against the reference at its best");
    near(b->rows.rows[0].paired.value, 2, "the default beside it");
    CHECK_STR(b->rows.rows[1].variant, "tuned", "variants have rows of their own");
}

TEST(failures_are_rows)
{
    static const struct {
        cbx_failure failure;
        bool launched;
        const char *status, *reason;
        bool metrics;
        const char *why;
    } cases[] = {
        { CBX_FAILURE_CRASHED, false, "crashed", "worker_killed", false, "a crash has no numbers" },
        { CBX_FAILURE_FIDELITY, true, "fidelity_failed", "outside_bound", true,
          "a wrong answer keeps its numbers, without a ratio" },
        { CBX_FAILURE_SLOW_SKIPPED, false, "skipped", "slow_skipped", false, "skipped" },
        { CBX_FAILURE_TIMEOUT, true, "timeout", "message_timeout", false,
          "numbers of a baseline that later hung are not quoted" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const cbx_row *r;
        rig *b = fresh(test_state);
        cbx__attempt *good = add_attempt(b, "good", "default"), *bad = add_attempt(b, "wrong", "default");
        add_launch(b, good, 100);
        if (cases[i].launched) add_launch(b, bad, 50);
        bad->failure = cases[i].failure;
        snprintf(bad->message, sizeof(bad->message), "as planted");
        make(b);
        r = &b->rows.rows[1];
        CHECK_STR(r->status, cases[i].status, cases[i].why);
        CHECK_STR(r->failure_reason, cases[i].reason, cases[i].why);
        CHECK_STR(r->failure_message, "as planted", cases[i].why);
        CHECK_INT(r->has_metrics, cases[i].metrics, cases[i].why);
        CHECK(r->ratio_vs == NULL && r->paired_vs == NULL && !r->strongest, "no ratio for what is not good");
        CHECK_STR(b->rows.rows[0].status, "ok", "the others stay");
    }
}

TEST(one_wrong_launch_is_wrong)
{
    rig *b = fresh(test_state);
    cbx__attempt *a = add_attempt(b, "good", "default");
    for (int i = 0; i < 3; i++) add_launch(b, a, 100);
    a->last->record.fidelity.ok = false;
    a->last->record.fidelity.rel_to_tol = INFINITY;
    a->failure = CBX_FAILURE_FIDELITY;
    make(b);
    CHECK_STR(b->rows.rows[0].fidelity_status, "failed", "one wrong output of three launches");
    CHECK(isinf(b->rows.rows[0].rel_to_tol), "the worst one");
}

/* Nine launches at 100 us and three at 150: two modes, and an effect below the step between them
 * cannot be seen. */
TEST(modes_and_effects_are_told)
{
    rig *b = fresh(test_state);
    cbx__attempt *a = add_attempt(b, "good", "default");
    for (int i = 0; i < 12; i++) add_launch(b, a, i % 4 == 3 ? 150 + i * 0.01 : 100 + i * 0.01);
    make(b);
    const cbx_row *r = &b->rows.rows[0];
    CHECK_INT(r->nmodes, 2, "modes");
    near(r->modes[0].share, 0.75, "share of the faster one");
    near(r->modes[1].share, 0.25, "of the slower one");
    CHECK_INT(r->modes[1].launches, 3, "its launches");
    CHECK_INT(r->steady_state.flat, 12, "epochs on one level");
    CHECK_GT(r->detectable.relative, 0.1, "what would have shown");
    CHECK_INT(r->detectable.launches, 12, "to so many launches");

    b = fresh(test_state);
    a = add_attempt(b, "good", "default");
    for (int i = 0; i < 12; i++) add_launch(b, a, 100 + i * 0.01);
    make(b);
    CHECK_INT(b->rows.rows[0].nmodes, 1, "one mode");
    CHECK_LE(b->rows.rows[0].detectable.relative, 0.01, "launches that hardly vary show little");
}

static void interval(const cbx_row_metric *m, double value, double lower, double upper, const char *why)
{
    near(m->over.value, value, why);
    near(m->over.lower, lower, why);
    near(m->over.upper, upper, why);
    CHECK_INT(m->nlaunches, 7, why);
    CHECK(m->reason == NULL, why);
}

/* Seven launches, each metric with values of its own: 1 .. 7 times something; the interval of seven
 * is their range. */
TEST(metrics_have_intervals)
{
    const cbx_row *r;
    rig *b = fresh(test_state);
    cbx__attempt *a = add_attempt(b, "good", "default");
    for (int i = 0; i < 7; i++) {
        double k = 1 + (i * 3) % 7;
        add_launch(b, a, 100);
        cbx_launch_record *l = &a->last->record;
        l->compile_ns = 1e6 * k;
        l->first_call_ns = 2e6 * k;
        l->hwm_increase_bytes = 1e6 * k;
        l->device_peak_bytes = 3e6 * k;
        l->call_overhead_ns = k;
        l->energy_call_j = 0.5 * k;
        l->power_w = 10 * k;
        l->energy_scope = "package";
        l->fidelity.rel_to_tol = 0.1 * k;
    }
    a->warm_ns = cbx_arena_calloc(&b->p.arena, 7, sizeof *a->warm_ns);
    for (; a->nwarm < 7; a->nwarm++) a->warm_ns[a->nwarm] = 1e5 * (double)(1 + a->nwarm);
    make(b);
    r = &b->rows.rows[0];
    interval(&r->compile, 4e-3, 1e-3, 7e-3, "compile time, cold");
    near(r->compile_s, 4e-3, "the value of version 1");
    interval(&r->compile_warm, 4e-4, 1e-4, 7e-4, "compile time, warm");
    interval(&r->first_call, 8e-3, 2e-3, 14e-3, "first call");
    interval(&r->memory, 4, 1, 7, "growth of memory, in 10^6 bytes");
    interval(&r->device_memory, 12, 3, 21, "device memory");
    near(r->peak_hbm_mb, 21, "version 1 keeps the largest");
    interval(&r->call_overhead, 4e-9, 1e-9, 7e-9, "a call that does nothing");
    interval(&r->energy, 2, 0.5, 3.5, "energy");
    near(r->power_w, 40, "mean power");
    CHECK_STR(r->energy_scope, "package", "of what");
    interval(&r->error, 0.4, 0.1, 0.7, "error over its bound");
    near(r->margin, 1 - 0.7, "what is left of the bound, by the worst");
    near(r->gflop.upper, 1e-9 * 2000 / r->steady.lower, "the shortest time is the highest rate");
    near(r->roofline.lower, 8e-6 / r->steady.upper, "and the other way round");
    CHECK_STR(r->bound_by, "memory", "8000 bytes at 1 GB/s bound it, not 1000 operations");
    CHECK_STR(r->caches, "warm", "calls follow each other");
}

TEST(absent_metrics_say_why)
{
    const cbx_row *r;
    rig *b = fresh(test_state);
    cbx__attempt *a = add_attempt(b, "good", "default");
    for (int i = 0; i < 7; i++) {
        add_launch(b, a, 100);
        a->last->record.compile_ns = a->last->record.call_overhead_ns = a->last->record.energy_call_j =
            a->last->record.power_w = NAN;
        snprintf(a->last->record.energy_why, sizeof a->last->record.energy_why, "no counters");
    }
    make(b);
    r = &b->rows.rows[0];
    CHECK(strstr(r->compile.reason, "nothing is compiled") != NULL, r->compile.reason);
    CHECK(strstr(r->compile_warm.reason, "nothing is compiled") != NULL, r->compile_warm.reason);
    CHECK(strstr(r->device_memory.reason, "no device memory") != NULL, r->device_memory.reason);
    CHECK_STR(r->energy.reason, "no counters", "energy");
    CHECK(r->memory.reason && r->call_overhead.reason, "memory, and a call that does nothing");
    CHECK(isnan(r->compile_s) && isnan(r->energy.over.value), "and have no value");
}

/* Equal launches: the difference is not shown, that there is none beyond 2 % is. */
TEST(equivalence_is_tested)
{
    const cbx_row *r;
    rig *b = fresh(test_state);
    cbx__attempt *good = add_attempt(b, "good", "default"), *spin = add_attempt(b, "spin", "default");
    for (int i = 0; i < 7; i++) {
        add_launch(b, good, 100);
        add_launch(b, spin, i % 2 ? 100.5 : 99.5);
    }
    make(b);
    r = &b->rows.rows[1];
    CHECK_STR(r->verdict, "equivalent", "within 2 %");
    near(r->p_equivalence, 1.0 / 128, "all seven quotients within the margin");
    near(r->margin_equal, 0.02, "which is told");
    near(r->p_difference, 1, "four below, three above");
    near(r->paired_p, r->p_equivalence, "the p-value of what the verdict claims");
}

TEST(too_fast_is_refused)
{
    rig *b = fresh(test_state);
    cbx__attempt *good = add_attempt(b, "good", "default"), *lazy = add_attempt(b, "lazy", "default");
    for (int i = 0; i < 6; i++) {
        add_launch(b, good, 6.5); /* 7 us of 8 us: within what a measured roof may be wrong */
        add_launch(b, lazy, 5.5); /* 6 us of 8 us: share 1.33 */
    }
    make(b);
    CHECK_STR(b->rows.rows[0].status, "ok", "a share of 1.14 is the roof's own error");
    CHECK_STR(b->rows.rows[1].status, "refused", "a share of 1.33 is no measurement");
    CHECK_STR(b->rows.rows[1].failure_reason, "faster_than_roof", "reason");
    CHECK(b->rows.rows[1].ratio_vs == NULL, "no ratio");
}

TEST(equals_are_compared_with_each_other)
{
    rig *b = fresh(test_state);
    b->opts.twins = true;
    cbx__attempt *one = add_attempt(b, "spin", "default"), *two = add_attempt(b, "spin", "twin");
    for (int i = 0; i < 6; i++) {
        add_launch(b, one, 100);
        add_launch(b, two, 100);
    }
    make(b);
    CHECK_STR(b->rows.rows[1].paired_vs, "spin", "its twin, not the case's reference");
    CHECK_STR(b->rows.rows[1].verdict, "equivalent", "equal");
}

TEST(raw_lines)
{
    cbx_json *line = NULL;
    cbx_err err = CBX_ERR_INIT;
    rig *b = fresh(test_state);
    cbx__attempt *a = add_attempt(b, "good", "default");
    add_launch(b, a, 100);
    add_launch(b, a, 101);
    a->last->retry = true;
    make(b);
    const char *text = cbx_text_str(&b->raw), *end = strchr(text, '\n');
    CHECK(end && strchr(end + 1, '\n') && !strchr(strchr(end + 1, '\n') + 1, '\n'), "a line a launch");
    CHECK_OK(cbx_json_parse(text, (size_t)(end - text), "raw", &line, &err), &err, "JSON");
    CHECK_STR(cbx_json_get_string(line, "schema", ""), "nperf-launch", "names its schema");
    CHECK_INT(cbx_json_get_int(line, "version", 0), 1, "and version");
    CHECK_INT(cbx_json_length(cbx_json_get(line, "epoch_ns")), 2, "every epoch");
    CHECK(cbx_json_has(line, "env_pad_bytes") && cbx_json_has(line, "position") && cbx_json_has(line, "seed"),
          "order, layout, seed");
    cbx_json_unref(line);
}

TEST(nothing_names_the_place)
{
    cbx_text t;
    char host[256] = "", folder[1024];
    rig *b = fresh(test_state);
    cbx__attempt *a = add_attempt(b, "good", "default");
    a->interpreter = "/somewhere/private/bin/python3";
    add_launch(b, a, 100);
    make(b);
    cbx_text_init(&t, cbx_allocator_default());
    cbx_json_write(b->rows.rows[0].json, CBX_JSON_COMPACT, &t);
    CHECK(!strstr(cbx_text_str(&t), "/somewhere"), "no path");
    if (getcwd(folder, sizeof(folder)) && strlen(folder) > 4) CHECK(!strstr(cbx_text_str(&t), folder), "no folder");
    if (!gethostname(host, sizeof(host) - 1) && strlen(host) > 4) CHECK(!strstr(cbx_text_str(&t), host), "no host");
    cbx_text_clear(&t);
}

TEST(sentences_name_no_folder)
{
    static const struct {
        const char *whole, *told;
    } cases[] = {
        { "cannot open '/srv/a/b.so': no such file", "cannot open 'b.so': no such file" },
        { "/usr/bin/python3: no module", "python3: no module" },
        { "found ~/env/bin/python (and /opt/x)", "found python (and x)" },
        { "1/2 of a/b took 3 ops/s", "1/2 of a/b took 3 ops/s" },
        { "ends with /a/b/", "ends with b/" },
        { "a lone / stays", "a lone / stays" },
        { "", "" },
    };
    char text[CBX_ERR_MESSAGE_SIZE];
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        snprintf(text, sizeof(text), "%s", cases[i].whole);
        cbx__public_message(text);
        CHECK_STR(text, cases[i].told, cases[i].whole);
    }
}

/* Launches that were repeated n times of 6. */
static void restless(rig *b, cbx__attempt *a, size_t n)
{
    for (size_t i = 0; i < 6; i++) {
        if (i < n) {
            add_launch(b, a, 100);
            a->last->round = i;
            a->last->median_s = NAN;
            a->last->record.failure = CBX_FAILURE_CLOCKS_DISAGREE;
            a->retries++;
        }
        add_launch(b, a, 100);
        a->last->round = i;
        a->last->retry = i < n;
    }
}

TEST(repeated_launches_are_told_and_limited)
{
    static const struct {
        size_t again;
        const char *status, *why;
    } cases[] = {
        { 0, "ok", "none" },
        { 1, "ok", "one accident" },
        { 2, "ok", "a third" },
        { 3, "refused", "more than a third" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const cbx_json *schedule;
        rig *b = fresh(test_state);
        restless(b, add_attempt(b, "good", "default"), cases[i].again);
        make(b);
        schedule = cbx_json_get(b->rows.rows[0].provenance, "schedule");
        CHECK_STR(b->rows.rows[0].status, cases[i].status, cases[i].why);
        CHECK_INT(cbx_json_get_int(schedule, "retries", -1), cases[i].again, "how many");
        CHECK_INT(cbx_json_get_int(cbx_json_get(schedule, "retry_reasons"), "clocks_disagree", 0), cases[i].again,
                  "and why");
    }
}

TEST(a_clock_that_runs_short_is_refused)
{
    static const struct {
        double ratio[6];
        const char *status, *why;
    } cases[] = {
        { { 0.99, 0.98, 1, 0.99, 0.98, 1 }, "ok", "honest" },
        { { 0.96, 0.96, 0.96, 0.96, 0.96, 0.96 }, "refused", "a little in every launch" },
        { { 0.5, 0.5, 0.99, 0.99, 0.99, 0.99 }, "ok", "a parent that woke late twice" },
        { { NAN, NAN, NAN, NAN, NAN, NAN }, "ok", "epochs too short to compare" },
        { { NAN, NAN, NAN, 0.9, 0.9, 0.99 }, "ok", "three launches cannot tell it from a late parent" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        rig *b = fresh(test_state);
        cbx__attempt *a = add_attempt(b, "good", "default");
        for (size_t k = 0; k < 6; k++) {
            add_launch(b, a, 100);
            a->last->record.clock_ratio = cases[i].ratio[k];
        }
        make(b);
        CHECK_STR(b->rows.rows[0].status, cases[i].status, cases[i].why);
    }
}

/* The toy moves 8000 bytes at 1 GB/s: 8 us on one core. */
TEST(threads_share_what_is_shared)
{
    static const struct {
        const char *level;
        int threads;
        size_t cores;
        double bound_us, refused_below_us;
        const char *why;
    } cases[] = {
        { "memory", 1, 1, 8, 6.4, "one core" },
        { "memory", 4, 4, 8, 1.6, "memory is shared; nobody is refused for having it to himself" },
        { "L2", 4, 4, 2, 1.6, "each core has its own" },
        { "L2", 4, 2, 4, 3.2, "four threads on two cores are two" },
        { "L3", 4, 4, 8, 1.6, "shared too" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        for (int fast = 0; fast < 2; fast++) {
            rig *b = fresh(test_state);
            b->s.threads = cases[i].threads;
            b->p.ncores = cases[i].cores;
            snprintf(b->s.probe.level[0].name, sizeof(b->s.probe.level[0].name), "%s", cases[i].level);
            b->s.probe.level[0].bytes = strcmp(cases[i].level, "memory") ? 1000000 : 0;
            cbx__attempt *a = add_attempt(b, "good", "default");
            for (int k = 0; k < 6; k++) add_launch(b, a, cases[i].refused_below_us * (fast ? 0.9 : 1.1) - 0.5);
            make(b);
            near(b->rows.rows[0].bound_s, 1e-6 * cases[i].bound_us, cases[i].why);
            CHECK_STR(b->rows.rows[0].status, fast ? "refused" : "ok", cases[i].why);
        }
    }
}

TEST(a_ratio_has_its_p)
{
    rig *b = fresh(test_state);
    cbx__attempt *good = add_attempt(b, "good", "default"), *spin = add_attempt(b, "spin", "default"),
                 *twin = add_attempt(b, "flood", "default");
    for (int i = 0; i < 11; i++) {
        add_launch(b, good, 99.5);
        add_launch(b, spin, i == 4 ? 49.5 : 199.5);
        add_launch(b, twin, 99.5);
    }
    make(b);
    CHECK_INT(b->rows.rows[1].pairs, 11, "pairs");
    near(b->rows.rows[1].paired_p, 2 * 12.0 / 2048, "one of eleven on the other side");
    CHECK_STR(b->rows.rows[2].verdict, "equivalent", "the same times");
    near(b->rows.rows[2].paired_p, 1.0 / 2048, "two one-sided tests");
}

/* A table of m ratios: the first one weak, the others as strong as so many launches can be. */
static void correct(cbx_row *rows, size_t m, uint64_t pairs, double weak, double strong, cbx_arena *arena)
{
    cbx_err err = CBX_ERR_INIT;
    for (size_t i = 0; i < m; i++) {
        cbx_row_init(&rows[i]);
        rows[i].case_name = "toy";
        rows[i].status = "ok";
        rows[i].paired_vs = "good";
        rows[i].verdict = "faster";
        rows[i].pairs = pairs;
        rows[i].paired_p = i ? strong : weak;
    }
    CHECK_OK(cbx__table_correct("toy", rows, m, arena, &err), &err, "a table");
}

TEST(verdicts_stand_over_the_table)
{
    cbx_arena arena;
    cbx_row rows[8];
    cbx_arena_init(&arena, cbx_allocator_default());
    correct(rows, 8, 11, 2 * 67.0 / 2048, 2.0 / 2048, &arena);
    CHECK_STR(rows[1].verdict_holm, "faster", "eight ratios of eleven launches");
    near(rows[1].paired_p_holm, 8 * 2.0 / 2048, "times eight");
    CHECK_STR(rows[0].verdict_holm, "undecided", "p = 0.065 never stood");
    CHECK_STR(rows[0].verdict, "faster", "the row's own verdict stays");
    CHECK_INT(rows[0].holm_rows, 8, "ratios of the table");
    correct(rows, 8, 11, 2 * 12.0 / 2048, 2.0 / 2048, &arena);
    CHECK_STR(rows[0].verdict_holm, "faster", "the weakest needs no factor any more: Holm, not Bonferroni");
    correct(rows, 2, 6, 0.03125, 0.03125, &arena);
    CHECK(rows[0].verdict_holm == NULL && rows[0].holm_rows == 2, "six launches cannot carry two rows");
    correct(rows, 1, 6, 0.03125, 0, &arena);
    CHECK_STR(rows[0].verdict_holm, "faster", "but one");
    cbx_arena_clear(&arena);
}

/* Caches of what is compiled are the user's where nothing keeps a framework from them. */
TEST(shared_caches_are_called_so)
{
    static const struct {
        const char *provider, *platform;
        cbx_sandbox_mode mode;
        const char *word;
    } cases[] = {
        { "torch", "cpu", CBX_SANDBOX_AUTO, "cold" },      { "torch", "cpu", CBX_SANDBOX_OFF, "shared" },
        { "graphblas", "cpu", CBX_SANDBOX_OFF, "shared" }, { "jax", "cpu", CBX_SANDBOX_OFF, "cold" },
        { "jax", "cuda12", CBX_SANDBOX_OFF, "shared" },    { "native", "cpu", CBX_SANDBOX_OFF, "cold" },
    };

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_baseline_ops other = *toy_baseline("good");
        rig *b = fresh(test_state);
        b->s.sandbox.mode = cases[i].mode;
        other.provider = cases[i].provider;
        cbx__attempt *a = add_attempt(b, "good", "default");
        a->baseline = &other;
        a->platform = cases[i].platform;
        add_launch(b, a, 100);
        make(b);
        CHECK_STR(cbx_json_get_string(b->rows.rows[0].provenance, "compile_cache", "?"), cases[i].word,
                  cases[i].provider);
    }
}

TESTS(.before = rig_setup, .after = rig_teardown)
