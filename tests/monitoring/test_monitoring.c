/*
 * Windows, alerts and health by a clock of our own.
 */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "calibrax/base/file.h"
#include "calibrax/base/rng.h"
#include "calibrax/monitoring/health.h"
#include "calibrax/monitoring/pattern.h"
#include "calibrax/monitoring/sink.h"
#include "calibrax/monitoring/tendency.h"
#include "calibrax/statistics/estimate.h"
#include "calibrax/statistics/series.h"
#include "fail_alloc.h"

#define SECOND 1000000000u

/* --- windows --- */

TEST(windows_are_the_last_values)
{
    enum { N = 1000, CAPACITY = 37 };
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_rng rng = cbx_rng_make(1, 1);
    double all[N], sorted[CAPACITY];
    cbx_window_facts f;
    cbx_window *w = NULL;

    CHECK_STATUS(cbx_window_create(ctx, 0, 0, &w, &err), CBX_EINVAL, "no room");
    CHECK_OK(cbx_window_create(ctx, CAPACITY, 0, &w, &err), &err, "create");
    cbx_window_read(w, 0, &f);
    CHECK(f.count == 0 && isnan(f.mean) && isnan(f.failure_rate) && isnan(f.last), "nothing is no number");
    for (size_t i = 0; i < N; i++) {
        size_t n = i + 1 < CAPACITY ? i + 1 : CAPACITY;
        double mean = 0;
        all[i] = cbx_rng_normal(&rng);
        cbx_window_add(w, all[i], false, i);
        cbx_window_read(w, i, &f);
        memcpy(sorted, all + i + 1 - n, n * sizeof *sorted);
        for (size_t k = 0; k < n; k++) mean += sorted[k];
        cbx_stat_sort(sorted, n);
        CHECK_INT(f.count, n, "count");
        CHECK_LE(fabs(f.mean - mean / (double)n), 1e-12, "mean");
        CHECK(f.p95 == cbx_stat_quantile_sorted(sorted, n, 0.95), "p95");
        CHECK(f.min == sorted[0] && f.max == sorted[n - 1] && f.last == all[i], "ends");
    }
    cbx_window_free(w);
    cbx_ctx_free(ctx);
}

TEST(windows_age_and_fail)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_window_facts f;
    cbx_window *w = NULL;

    CHECK_OK(cbx_window_create(ctx, 10, 5 * (uint64_t)SECOND, &w, &err), &err, "create");
    for (uint64_t t = 0; t < 8; t++) cbx_window_add(w, (double)t, t == 6, t * SECOND);
    cbx_window_read(w, 7 * (uint64_t)SECOND, &f);
    CHECK_INT(f.count, 6, "2 to 7 are young enough");
    CHECK_INT(f.failures, 1, "one of them failed");
    CHECK_LE(fabs(f.mean - (2 + 3 + 4 + 5 + 7) / 5.0), 1e-14, "a failure's value does not count");
    cbx_window_add(w, NAN, false, 7 * (uint64_t)SECOND);
    cbx_window_read(w, 7 * (uint64_t)SECOND, &f);
    CHECK_INT(f.failures, 2, "no number is a failure");
    CHECK(f.failure_rate == 2.0 / 7 && isnan(f.last), "rate");
    cbx_window_read(w, SECOND, &f);
    CHECK_INT(f.count, 9, "a clock that went back removes nothing");
    cbx_window_read(w, 100 * (uint64_t)SECOND, &f);
    CHECK_INT(f.count, 0, "all too old");
    cbx_window_free(w);
    cbx_ctx_free(ctx);
}

/* --- alerts --- */

typedef struct heard {
    char text[4096]; /* "w:" for a warning, "-:" for all clear, with the number of the value */
    size_t step;
} heard;

static void hear(void *user, const cbx_alert *alert)
{
    heard *h = user;
    size_t len = strlen(h->text);
    snprintf(h->text + len, sizeof h->text - len, "%s%zu%s%s", len ? " " : "", h->step,
             alert->severity ? cbx_severity_name(alert->severity) : "clear", alert->held_back ? "+" : "");
}

TEST(rules_step_by_step)
{
    static const struct {
        bool lower;
        double levels[4], hysteresis;
        uint32_t raise, clear;
        unsigned quiet_s, repeat_s;
        double values[12];
        const char *wanted, *why;
    } cases[] = {
        { false,
          { NAN, 10, NAN, NAN },
          0,
          1,
          1,
          0,
          0,
          { 1, 11, 12, 9, 11, 1 },
          "1warning 3clear 4warning 5clear",
          "told once while it lasts" },
        { false,
          { NAN, 10, NAN, NAN },
          0,
          1,
          1,
          0,
          0,
          { 10, 10, 10.5, 10 },
          "2warning 3clear",
          "the level itself is not beyond" },
        { false,
          { NAN, 10, NAN, NAN },
          0,
          3,
          1,
          0,
          0,
          { 11, 11, 1, 11, 11, 11, 1 },
          "5warning 6clear",
          "three in a row" },
        { false, { NAN, 10, NAN, NAN }, 2, 1, 1, 0, 0, { 11, 9, 11, 9, 8, 7 }, "0warning 4clear", "clear of the band" },
        { false,
          { NAN, 10, NAN, NAN },
          0,
          1,
          3,
          0,
          0,
          { 11, 1, 1, 11, 1, 1, 1, 1 },
          "0warning 6clear",
          "three quiet ones in a row" },
        { false,
          { 1, 2, 3, 4 },
          0,
          1,
          1,
          0,
          0,
          { 1.5, 2.5, 3.5, 4.5, 3.5, 0 },
          "0info 1warning 2error 3critical 4error 5clear",
          "up and down" },
        { false, { 1, 2, 3, 4 }, 0, 1, 1, 0, 0, { 9, 0 }, "0critical 1clear", "at once" },
        { true,
          { NAN, 10, NAN, 5 },
          0,
          1,
          1,
          0,
          0,
          { 11, 9, 4, 9, 11 },
          "1warning 2critical 3warning 4clear",
          "below" },
        { true, { NAN, 0, NAN, NAN }, 0, 1, 1, 0, 0, { 1, -1, 0 }, "1warning 2clear", "a level of 0" },
        { false,
          { NAN, 10, NAN, 20 },
          0,
          1,
          1,
          0,
          0,
          { 1, NAN, 1, INFINITY, 1 },
          "1critical 2clear 3critical 4clear",
          "no number is beyond all" },
        { false,
          { NAN, 10, NAN, NAN },
          0,
          1,
          1,
          3,
          0,
          { 11, 1, 11, 1, 1, 1 },
          "0warning 3clear+",
          "held back, then told" },
        { false, { NAN, 10, 20, NAN }, 0, 1, 1, 60, 0, { 11, 21, 11, 11 }, "0warning 1error", "worse never waits" },
        { false,
          { NAN, 10, NAN, NAN },
          0,
          1,
          1,
          0,
          3,
          { 11, 11, 11, 11, 11, 11, 11, 1, 1, 1, 1, 1 },
          "0warning 3warning 6warning 7clear",
          "again" },
    };
    cbx_ctx *ctx = cbx_test_context();
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_alert_rule rule = CBX_ALERT_RULE_INIT;
        cbx_err err = CBX_ERR_INIT;
        cbx_alerts *a = NULL;
        heard h = { "", 0 };
        rule.metric = "x";
        rule.lower = cases[i].lower;
        memcpy(rule.levels, cases[i].levels, sizeof rule.levels);
        rule.hysteresis = cases[i].hysteresis;
        rule.raise_after = cases[i].raise;
        rule.clear_after = cases[i].clear;
        rule.quiet_ns = (uint64_t)cases[i].quiet_s * SECOND;
        rule.repeat_ns = (uint64_t)cases[i].repeat_s * SECOND;
        CHECK_OK(cbx_alerts_create(ctx, 4, &a, &err), &err, cases[i].why);
        CHECK_OK(cbx_alerts_add_rule(a, &rule, &err), &err, cases[i].why);
        CHECK_OK(cbx_alerts_listen(a, hear, &h, &err), &err, cases[i].why);
        for (; h.step < 12; h.step++)
            cbx_alerts_observe(a, "x", cases[i].values[h.step], (100 + h.step) * (uint64_t)SECOND);
        /* rows shorter than 12 end in zeros: what those do is not part of the case */
        CHECK(strncmp(h.text, cases[i].wanted, strlen(cases[i].wanted)) == 0, h.text);
        cbx_alerts_free(a);
    }
    cbx_ctx_free(ctx);
}

TEST(books_remember)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_alert_rule rule = CBX_ALERT_RULE_INIT;
    cbx_alerts *a = NULL;
    cbx_json *json;

    CHECK_OK(cbx_alerts_create(ctx, 3, &a, &err), &err, "create");
    CHECK_STATUS(cbx_alerts_add_rule(a, &rule, &err), CBX_EINVAL, "no metric");
    rule.metric = "latency";
    CHECK_STATUS(cbx_alerts_add_rule(a, &rule, &err), CBX_EINVAL, "no level");
    rule.levels[1] = 2;
    rule.levels[3] = 1;
    CHECK_STATUS(cbx_alerts_add_rule(a, &rule, &err), CBX_EINVAL, "critical before warning");
    rule.levels[3] = NAN;
    rule.hysteresis = -1;
    CHECK_STATUS(cbx_alerts_add_rule(a, &rule, &err), CBX_EINVAL, "a band below 0");
    rule.hysteresis = 0;
    CHECK_OK(cbx_alerts_add_rule(a, &rule, &err), &err, "rule");
    for (unsigned i = 0; i < 6; i++) cbx_alerts_observe(a, "latency", i % 2 ? 1 : 3 + i, i);
    CHECK_INT(cbx_alerts_observe(a, "other", 99, 7), 0, "another metric");
    CHECK_INT(cbx_alerts_count(a), 6, "all told");
    CHECK_INT(cbx_alerts_recent(a, 0)->time_ns, 5, "newest first");
    CHECK_INT(cbx_alerts_recent(a, 2)->time_ns, 3, "the third newest");
    CHECK(!cbx_alerts_recent(a, 3), "no more than asked for");
    CHECK_INT(cbx_alerts_severity(a, NULL), CBX_SEVERITY_NONE, "all clear");
    json = cbx_alert_json(cbx_alerts_recent(a, 1), 0);
    CHECK_STR(cbx_json_get_string(json, "severity", ""), "warning", "severity");
    CHECK_STR(cbx_json_get_string(json, "message", ""), "latency is 7, above 2", "message");
    CHECK_STR(cbx_json_get_string(json, "time", ""), "1970-01-01T00:00:00.000000+00:00", "time");
    cbx_json_unref(json);
    cbx_alerts_free(a);
    cbx_ctx_free(ctx);
}

typedef struct counted {
    size_t n;
    const cbx_alert *last;
} counted;

static void count_up(void *user, const cbx_alert *alert)
{
    counted *h = user;
    h->n++;
    h->last = alert;
}

TEST(books_are_sorted_and_cleared)
{
    cbx_alert_rule rule = { .metric = "load", .levels = { NAN, 1, NAN, 2 }, .raise_after = 1, .clear_after = 1 };
    cbx_alert own = { .metric = "disk", .severity = CBX_SEVERITY_ERROR, .value = 0.97, .threshold = NAN, .time_ns = 9 };
    const cbx_alert *found[2] = { 0 };
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_alerts *a = NULL;
    counted h = { 0 };

    CHECK_OK(cbx_alerts_create(ctx, 4, &a, &err), &err, "create");
    CHECK_OK(cbx_alerts_add_rule(a, &rule, &err), &err, "rule");
    CHECK_OK(cbx_alerts_listen(a, count_up, &h, &err), &err, "listen");
    for (unsigned i = 0; i < 7; i++) cbx_alerts_observe(a, "load", (double[]){ 1.5, 0, 3, 0, 1.5, 0, 1.5 }[i], i);
    CHECK_INT(cbx_alerts_by_severity(a, CBX_SEVERITY_WARNING, found, 2), 2, "the third lies beyond what is kept");
    CHECK(found[0]->time_ns == 6 && found[1]->time_ns == 4, "newest first");
    CHECK_INT(cbx_alerts_by_severity(a, CBX_SEVERITY_NONE, found, 1), 2, "all are counted");
    CHECK(found[0]->time_ns == 5 && found[1]->time_ns == 4, "no more is written than there is room for");
    CHECK_INT(cbx_alerts_by_severity(a, CBX_SEVERITY_CRITICAL, NULL, 0), 0, "forgotten by its age");
    cbx_alerts_clear(a);
    CHECK(!cbx_alerts_recent(a, 0), "nothing is remembered");
    CHECK_INT(cbx_alerts_count(a), 7, "what was told was told");
    CHECK_INT(cbx_alerts_observe(a, "load", 1.5, 7), 0, "the state stays: it is not told twice");
    CHECK_INT(cbx_alerts_observe(a, "load", 5, 8), 1, "and goes on from there");
    CHECK(cbx_alerts_recent(a, 0)->time_ns == 8 && !cbx_alerts_recent(a, 1), "only what came since");
    snprintf(own.message, sizeof own.message, "nearly full");
    CHECK_OK(cbx_alerts_tell(a, &own, &err), &err, "one of the caller's own");
    CHECK_INT(h.n, 9, "listeners hear it");
    CHECK_STR(h.last->rule, "disk", "named after its metric");
    CHECK(h.last->metric != own.metric, "its texts are copied");
    CHECK_INT(cbx_alerts_severity(a, "disk"), CBX_SEVERITY_NONE, "no state is changed");
    own.severity = CBX_SEVERITY_NONE;
    CHECK_STATUS(cbx_alerts_tell(a, &own, &err), CBX_EINVAL, "no severity");
    own.metric = "";
    CHECK_STATUS(cbx_alerts_tell(a, &own, &err), CBX_EINVAL, "no metric");
    cbx_alerts_free(a);
    cbx_ctx_free(ctx);
}

/* --- health --- */

TEST(every_state_is_reached)
{
    static const struct {
        unsigned n, failures;
        double seconds, baseline;
        cbx_health_state wanted;
        const char *why;
    } cases[] = {
        { 2, 2, 1, 0, CBX_HEALTH_UNKNOWN, "too few" },
        { 10, 0, 1, 0, CBX_HEALTH_HEALTHY, "no baseline, no failure" },
        { 10, 2, 1, 0, CBX_HEALTH_HEALTHY, "at the limit" },
        { 10, 3, 1, 0, CBX_HEALTH_DEGRADED, "some fail" },
        { 10, 5, 1, 0, CBX_HEALTH_DEGRADED, "at the next limit" },
        { 10, 6, 1, 0, CBX_HEALTH_CRITICAL, "most fail" },
        { 10, 0, 1.3, 1, CBX_HEALTH_DEGRADED, "slow" },
        { 10, 0, 2.1, 1, CBX_HEALTH_CRITICAL, "very slow" },
        { 10, 0, 1.1, 1, CBX_HEALTH_HEALTHY, "slow enough" },
        { 10, 0, -1, 1, CBX_HEALTH_CRITICAL, "durations below 0" },
        { 10, 0, -1, 0, CBX_HEALTH_CRITICAL, "durations below 0, no baseline" },
        { 10, 0, -0.0, 1, CBX_HEALTH_HEALTHY, "0 is a duration" },
        { 10, 10, 1, 1, CBX_HEALTH_CRITICAL, "all fail: no duration is left" },
    };
    cbx_ctx *ctx = cbx_test_context();
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_err err = CBX_ERR_INIT;
        cbx_health_report r;
        cbx_health *h = NULL;
        CHECK_OK(cbx_health_create(ctx, NULL, &h, &err), &err, "create");
        CHECK_INT(cbx_health_overall(h, 0), CBX_HEALTH_UNKNOWN, "nothing is known of nothing");
        if (cases[i].baseline > 0) CHECK_OK(cbx_health_set_baseline(h, "p", cases[i].baseline, &err), &err, "baseline");
        for (unsigned k = 0; k < cases[i].n; k++)
            CHECK_OK(cbx_health_record(h, "p", cases[i].seconds, k >= cases[i].failures, k, &err), &err, "record");
        cbx_health_read(h, 0, 100, &r);
        CHECK_STR(cbx_health_state_name(r.state), cbx_health_state_name(cases[i].wanted), cases[i].why);
        CHECK_INT(cbx_health_overall(h, 100), cases[i].wanted, cases[i].why);
        CHECK((r.reason[0] != '\0') == (r.state != CBX_HEALTH_HEALTHY), "a reason for what is not healthy");
        cbx_health_free(h);
    }
    cbx_ctx_free(ctx);
}

/* Two or three failures in any ten executions: their rate goes from 0.2, the limit, to 0.3 and back
 * as the window moves. */
static size_t changes_of_state(cbx_ctx *ctx, double hysteresis, bool is_read)
{
    cbx_health_opts opts = CBX_HEALTH_OPTS_INIT;
    cbx_err err = CBX_ERR_INIT;
    cbx_health *h = NULL;
    cbx_health_state before = CBX_HEALTH_HEALTHY;
    size_t changes = 0;

    opts.window = 10;
    opts.min_executions = 10;
    opts.hysteresis = hysteresis;
    CHECK_OK(cbx_health_create(ctx, &opts, &h, &err), &err, "create");
    for (unsigned k = 0; k < 199; k++) {
        cbx_health_report r;
        CHECK_OK(cbx_health_record(h, "p", 1, k % 17 % 4 != 0, k, &err), &err, "record");
        if (!is_read && k < 198) continue; /* two of ten then */
        cbx_health_read(h, 0, k, &r);
        if (r.window.count < 10) continue;
        changes += r.state != before;
        before = r.state;
    }
    cbx_health_free(h);
    return changes;
}

TEST(states_waver_only_without_hysteresis)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_health_opts opts = CBX_HEALTH_OPTS_INIT;
    cbx_health_report r;
    cbx_health *h = NULL;

    CHECK_GT(changes_of_state(ctx, 0, true), 5, "a rate that wavers about its limit");
    CHECK_INT(changes_of_state(ctx, 0.3, true), 1, "told once");
    CHECK_INT(changes_of_state(ctx, 0.3, false), 1, "what is not read is remembered too");
    opts.hysteresis = 1;
    CHECK_STATUS(cbx_health_create(ctx, &opts, &h, &err), CBX_EINVAL, "nothing would be healthy again");
    opts.hysteresis = 0.5;
    opts.window = 10;
    opts.age_ns = 100;
    CHECK_OK(cbx_health_create(ctx, &opts, &h, &err), &err, "create");
    for (unsigned k = 0; k < 10; k++) CHECK_OK(cbx_health_record(h, "p", 1, k < 4 || k > 6, k, &err), &err, "record");
    cbx_health_read(h, 0, 10, &r);
    CHECK_INT(r.state, CBX_HEALTH_DEGRADED, "three of ten");
    for (unsigned k = 0; k < 5; k++) CHECK_OK(cbx_health_record(h, "p", 1, true, 11 + k, &err), &err, "record");
    cbx_health_read(h, 0, 15, &r);
    CHECK_INT(r.state, CBX_HEALTH_DEGRADED, "two of ten, within the band");
    CHECK_OK(cbx_health_record(h, "p", 1, true, 16, &err), &err, "record");
    cbx_health_read(h, 0, 16, &r);
    CHECK_INT(r.state, CBX_HEALTH_HEALTHY, "one of ten is half of the limit");
    cbx_health_read(h, 0, 500, &r);
    CHECK_INT(r.state, CBX_HEALTH_UNKNOWN, "too old");
    cbx_health_free(h);
    cbx_ctx_free(ctx);
}

TEST(pipelines_recover)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_health_opts opts = CBX_HEALTH_OPTS_INIT;
    cbx_health *h = NULL;

    opts.critical_rate = 0.1;
    CHECK_STATUS(cbx_health_create(ctx, &opts, &h, &err), CBX_EINVAL, "critical below degraded");
    opts.critical_rate = 0.5;
    opts.window = 20;
    CHECK_OK(cbx_health_create(ctx, &opts, &h, &err), &err, "create");
    for (unsigned k = 0; k < 100; k++) CHECK_OK(cbx_health_record(h, "a", 1, false, k, &err), &err, "record");
    CHECK_OK(cbx_health_record(h, "b", 1, true, 0, &err), &err, "record");
    CHECK_INT(cbx_health_overall(h, 0), CBX_HEALTH_CRITICAL, "the worst of those that are known");
    for (unsigned k = 0; k < 20; k++) CHECK_OK(cbx_health_record(h, "a", 1, true, k, &err), &err, "record");
    CHECK_INT(cbx_health_overall(h, 0), CBX_HEALTH_HEALTHY, "what is past is past");
    CHECK_INT(cbx_health_count(h), 2, "two pipelines");
    CHECK_STATUS(cbx_health_set_baseline(h, "a", 0, &err), CBX_EDOM, "no duration");
    CHECK_STATUS(cbx_health_record(h, "", 1, true, 0, &err), CBX_EINVAL, "no name");
    cbx_health_free(h);
    cbx_ctx_free(ctx);
}

/* --- memory --- */

static cbx_status everything(cbx_ctx *ctx, void *user)
{
    const char *path = user;
    cbx_alert_rule rule = CBX_ALERT_RULE_INIT;
    cbx_alerts *a = NULL;
    heard words = { "", 0 };
    cbx_health *h = NULL;
    cbx_sink *s = NULL;
    cbx_status st = cbx_alerts_create(ctx, 1000, &a, NULL);

    rule.metric = "x";
    rule.levels[1] = 1;
    if (!st) st = cbx_alerts_add_rule(a, &rule, NULL);
    if (!st) st = cbx_alerts_listen(a, hear, &words, NULL);
    if (!st) st = cbx_alerts_tell(a, &(cbx_alert){ .metric = "y", .severity = CBX_SEVERITY_INFO }, NULL);
    if (!st) st = cbx_sink_create(ctx, CBX_SINK_FILE, path, CBX_SINK_TIMEOUT_S, &s, NULL);
    if (!st) st = cbx_sink_send(s, &(cbx_alert){ .rule = "x", .metric = "x" }, 0, NULL);
    if (!st) st = cbx_health_create(ctx, NULL, &h, NULL);
    if (!st) st = cbx_health_record(h, "p", 1, true, 0, NULL);
    cbx_sink_free(s);
    cbx_alerts_free(a);
    cbx_health_free(h);
    return st;
}

TEST(memory_that_runs_out)
{
    char path[] = "/dev/null";
    CHECK_GT(cbx_test_fail_each(everything, path, "alerts, receivers, health"), 5, "something was allocated");
}

/* --- tendencies --- */

/* level * (1 + slope * i + noise * z_i), z an AR(1) of variance 1. */
static void make_series(double slope, double noise, double rho, uint64_t stream, size_t n, double *x)
{
    cbx_rng rng = cbx_rng_make(77, stream);
    double z = cbx_rng_normal(&rng);

    for (size_t i = 0; i < n; i++, z = rho * z + sqrt(1 - rho * rho) * cbx_rng_normal(&rng))
        x[i] = 50 * (1 + slope * (double)i + noise * z);
}

TEST(words_of_series)
{
    static const struct {
        double slope, noise;
        size_t n;
        cbx_tendency_kind wanted;
        const char *why;
    } cases[] = {
        { 0, 0, 30, CBX_TENDENCY_STABLE, "constant" },
        { 0, 0.02, 60, CBX_TENDENCY_STABLE, "level, and known well enough" },
        { 0.02, 0.05, 60, CBX_TENDENCY_RISING, "2 % a value" },
        { -0.012, 0.05, 60, CBX_TENDENCY_FALLING, "down" },
        { 0.005, 0.02, 60, CBX_TENDENCY_STABLE, "rises, but by less than the threshold" },
        { 0, 0.5, 10, CBX_TENDENCY_UNDECIDED, "ten wild values say nothing" },
        { 0.02, 0, 4, CBX_TENDENCY_UNKNOWN, "too few" },
        { 0, 0, 0, CBX_TENDENCY_UNKNOWN, "none" },
    };
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    double x[64];
    cbx_tendency t;
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        make_series(cases[i].slope, cases[i].noise, 0, i, cases[i].n, x);
        CHECK_OK(cbx_tendency_find(ctx, x, cases[i].n, CBX_TENDENCY_THRESHOLD, 0.95, &t, &err), &err, cases[i].why);
        CHECK_STR(cbx_tendency_name(t.kind, CBX_DIRECTION_INFO), cbx_tendency_name(cases[i].wanted, CBX_DIRECTION_INFO),
                  cases[i].why);
        CHECK_INT(t.n, cases[i].n, cases[i].why);
    }
    CHECK_OK(cbx_tendency_find(ctx, (const double[]){ 1, NAN, 2, 3, INFINITY, 4, 5, 6 }, 8, 0.01, 0.8, &t, &err), &err,
             "holes");
    CHECK(t.n == 6 && t.kind == CBX_TENDENCY_RISING, "are left out");
    CHECK_OK(cbx_tendency_find(ctx, (const double[]){ -2, -1, 0, 1, 2 }, 5, CBX_TENDENCY_THRESHOLD, 0.95, &t, &err),
             &err, "about 0");
    CHECK(t.kind == CBX_TENDENCY_UNKNOWN && isnan(t.slope.value), "nothing to be a share of");
    CHECK_STATUS(cbx_tendency_find(ctx, x, 5, 0, 0.95, &t, &err), CBX_EINVAL, "threshold");
    CHECK_STATUS(cbx_tendency_find(ctx, x, 5, CBX_TENDENCY_THRESHOLD, 1, &t, &err), CBX_EINVAL, "level");
    CHECK_STR(cbx_tendency_name(CBX_TENDENCY_RISING, CBX_DIRECTION_LOWER), "degrading", "where less is better");
    CHECK_STR(cbx_tendency_name(CBX_TENDENCY_RISING, CBX_DIRECTION_HIGHER), "improving", "where more is");
    CHECK_STR(cbx_tendency_name(CBX_TENDENCY_COUNT, CBX_DIRECTION_INFO), "?", "no such word");
    cbx_ctx_free(ctx);
}

/* A level series is called rising or falling by a threshold of nearly 0 in about 5 % of cases, also
 * where values follow each other. */
TEST(level_series_seldom_move)
{
    enum { SERIES = 200, N = 80 };
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_tendency t;
    double x[N];
    for (int dependent = 0; dependent < 2; dependent++) {
        size_t moves = 0, naive = 0;
        for (uint64_t s = 0; s < SERIES; s++) {
            cbx_interval i;
            make_series(0, 0.03, dependent ? 0.5 : 0, 1000 + s, N, x);
            CHECK_OK(cbx_tendency_find(ctx, x, N, 1e-9, 0.95, &t, &err), &err, "level");
            moves += t.kind == CBX_TENDENCY_RISING || t.kind == CBX_TENDENCY_FALLING;
            CHECK_OK(cbx_stat_theil_sen(ctx, x, N, 1, 0.95, &i, &err), &err, "as if independent");
            naive += i.lower > 0 || i.upper < 0;
        }
        CHECK_LE((double)moves, 0.1 * SERIES, "false words");
        CHECK(!dependent || naive > 2 * moves, "an interval that knows nothing of dependence has many more");
    }
    cbx_ctx_free(ctx);
}

static cbx_status find_tendency(cbx_ctx *ctx, void *user)
{
    double x[40];
    cbx_tendency t;
    (void)user;
    make_series(0.01, 0.05, 0.5, 5, 40, x);
    return cbx_tendency_find(ctx, x, 40, CBX_TENDENCY_THRESHOLD, 0.95, &t, NULL);
}

TEST(tendency_without_memory) { CHECK_GT(cbx_test_fail_each(find_tendency, NULL, "tendency"), 2, "allocations"); }

/* --- patterns --- */

typedef enum shape { LEVEL, CREEPING, STEPPING, JUMPING, IN_BLOCKS, RARELY_HIGH, ROUNDED, CONSTANT } shape;

/* Noise of 2 % about 50, AR(1) of rho, of normal values or their exponentials, with something
 * on top. */
static void draw(shape what, double size, double rho, bool lognormal, uint64_t stream, size_t n, double *x)
{
    cbx_rng rng = cbx_rng_make(78, stream);
    double z = cbx_rng_normal(&rng);

    for (size_t i = 0; i < n; i++, z = rho * z + sqrt(1 - rho * rho) * cbx_rng_normal(&rng)) {
        double u = cbx_rng_uniform(&rng), noise = lognormal ? exp(0.3 * z) : 1 + 0.02 * z;
        double on_top = what == CREEPING      ? size * (double)i / (double)(n - 1)
                        : what == STEPPING    ? (i >= n / 2) * size
                        : what == JUMPING     ? (u < 0.3) * size
                        : what == IN_BLOCKS   ? (i / 10 % 2) * size
                        : what == RARELY_HIGH ? (u < 0.02) * size
                                              : 0;
        x[i] = what == CONSTANT ? 50 : what == ROUNDED ? floor(20 * 50 * noise) / 20 : 50 * (noise + on_top);
    }
}

TEST(patterns_of_series)
{
    static const struct {
        shape what;
        double size;
        cbx_pattern_kind kind;
        double least, most;
        const char *why;
    } cases[] = {
        { CREEPING, 0.1, CBX_PATTERN_DRIFT, 0.07, 0.13, "10 % up" },
        { CREEPING, -0.1, CBX_PATTERN_DRIFT, -0.13, -0.07, "10 % down" },
        { CREEPING, 0.1, CBX_PATTERN_MODES, 0, 0, "one moving level" },
        { STEPPING, 0.3, CBX_PATTERN_MODES, 0, 0, "a step goes over once" },
        { JUMPING, 0.3, CBX_PATTERN_MODES, 0.15, 0.45, "one in three" },
        { JUMPING, 0.3, CBX_PATTERN_DRIFT, 0, 0, "at any time" },
        { IN_BLOCKS, 0.3, CBX_PATTERN_MODES, 0.4, 0.5, "to and fro, ten at a time" },
        { RARELY_HIGH, 0.5, CBX_PATTERN_MODES, 0, 0, "one wild value is no mode" },
        { LEVEL, 0, CBX_PATTERN_DRIFT, 0, 0, "noise" },
        { LEVEL, 0, CBX_PATTERN_MODES, 0, 0, "noise" },
        { ROUNDED, 0, CBX_PATTERN_MODES, 0, 0, "steps of a coarse clock" },
        { CONSTANT, 0, CBX_PATTERN_DRIFT, 0, 0, "constant" },
        { CONSTANT, 0, CBX_PATTERN_MODES, 0, 0, "constant" },
    };
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_pattern p;
    double x[50];
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        draw(cases[i].what, cases[i].size, 0, false, i, 50, x);
        CHECK_OK(cbx_pattern_find(ctx, cases[i].kind, x, 50, &p, &err), &err, cases[i].why);
        CHECK_LE(cases[i].least, p.strength, cases[i].why);
        CHECK_LE(p.strength, cases[i].most, cases[i].why);
        CHECK(p.n == 50 && isnan(p.low) == (p.strength == 0), cases[i].why);
    }
    draw(CREEPING, 5, 0, false, 1, CBX_PATTERN_MIN - 1, x);
    CHECK_OK(cbx_pattern_find(ctx, CBX_PATTERN_DRIFT, x, CBX_PATTERN_MIN - 1, &p, &err), &err, "few");
    CHECK(p.strength == 0, "too few to say");
    for (size_t i = 0; i < 50; i++) x[i] = (double)i - 24.5 + (i >= 24 && i <= 25 ? (double)(25 - i) - 0.5 : 0);
    CHECK_OK(cbx_pattern_find(ctx, CBX_PATTERN_DRIFT, x, 50, &p, &err), &err, "about 0");
    CHECK(p.strength > 1e3, "no level to be a share of");
    CHECK_STATUS(cbx_pattern_find(ctx, CBX_PATTERN_NONE, x, 50, &p, &err), CBX_EINVAL, "kind");
    CHECK_STATUS(cbx_pattern_find(ctx, CBX_PATTERN_DRIFT, x, CBX_PATTERN_MAX + 1, &p, &err), CBX_EINVAL, "length");
    x[7] = NAN;
    CHECK_STATUS(cbx_pattern_find(ctx, CBX_PATTERN_DRIFT, x, 50, &p, &err), CBX_EDOM, "drift of no number");
    CHECK_STATUS(cbx_pattern_find(ctx, CBX_PATTERN_MODES, x, 50, &p, &err), CBX_EDOM, "modes of no number");
    cbx_ctx_free(ctx);
}

/* Alerts of a rule over 100 values, looked at after each. */
static size_t alarms(cbx_ctx *ctx, cbx_pattern_kind kind, double level, const double *x, size_t n)
{
    cbx_alert_rule rule = CBX_ALERT_RULE_INIT;
    cbx_alerts *book = NULL;
    cbx_err err = CBX_ERR_INIT;
    size_t told = 0;

    rule.metric = "m";
    rule.pattern = kind;
    rule.levels[1] = level;
    CHECK_OK(cbx_alerts_create(ctx, 4, &book, &err), &err, "book");
    CHECK_OK(cbx_alerts_add_rule(book, &rule, &err), &err, "rule");
    for (size_t i = 0; i < n; i++) told += cbx_alerts_observe(book, "m", x[i], i);
    cbx_alerts_free(book);
    return told;
}

/* By the least levels that there are: series without a pattern must not alarm, those with
 * one must. */
TEST(series_without_patterns_are_quiet)
{
    enum { SERIES = 30, N = 100 };
    static const struct {
        shape what;
        double size, rho;
        bool lognormal;
        cbx_pattern_kind kind;
        size_t least, most;
        const char *why;
    } cases[] = {
        { LEVEL, 0, 0, false, CBX_PATTERN_DRIFT, 0, 0, "normal" },
        { LEVEL, 0, 0, true, CBX_PATTERN_DRIFT, 0, 0, "log-normal" },
        { LEVEL, 0, 0.3, false, CBX_PATTERN_DRIFT, 0, 1, "AR(1) 0.3" },
        { LEVEL, 0, 0.6, false, CBX_PATTERN_DRIFT, 0, 3, "AR(1) 0.6" },
        { LEVEL, 0, 0, false, CBX_PATTERN_MODES, 0, 0, "normal" },
        { LEVEL, 0, 0, true, CBX_PATTERN_MODES, 0, 0, "log-normal" },
        { LEVEL, 0, 0.6, false, CBX_PATTERN_MODES, 0, 0, "AR(1) 0.6" },
        { CREEPING, 0.3, 0, false, CBX_PATTERN_DRIFT, SERIES, SERIES, "30 % up over 100" },
        { CREEPING, 0.3, 0.3, false, CBX_PATTERN_DRIFT, SERIES - 1, SERIES, "up, AR(1) 0.3" },
        { JUMPING, 0.2, 0, false, CBX_PATTERN_MODES, SERIES - 1, SERIES, "20 % higher at times" },
        { IN_BLOCKS, 0.3, 0, false, CBX_PATTERN_MODES, SERIES - 1, SERIES, "in blocks" },
    };
    cbx_ctx *ctx = cbx_test_context();
    double x[N];
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        size_t loud = 0;
        for (uint64_t s = 0; s < SERIES; s++) {
            draw(cases[i].what, cases[i].size, cases[i].rho, cases[i].lognormal, 1000 * (i + 1) + s, N, x);
            loud += alarms(ctx, cases[i].kind, 1e-9, x, N) > 0;
        }
        CHECK_LE((double)loud, (double)cases[i].most, cases[i].why);
        CHECK_LE((double)cases[i].least, (double)loud, cases[i].why);
    }
    cbx_ctx_free(ctx);
}

static void hear_message(void *user, const cbx_alert *alert) { snprintf(user, 200, "%s", alert->message); }

TEST(rules_of_patterns)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_alert_rule rule = CBX_ALERT_RULE_INIT;
    cbx_alerts *book = NULL;
    char said[200] = "";
    const cbx_alert *last;
    CHECK_OK(cbx_alerts_create(ctx, 4, &book, &err), &err, "book");
    CHECK_OK(cbx_alerts_listen(book, hear_message, said, &err), &err, "listen");
    rule.metric = "t";
    rule.pattern = CBX_PATTERN_DRIFT;
    rule.window = 20;
    rule.levels[1] = 0.1;
    rule.levels[2] = 0.3;
    rule.hysteresis = 0.05;
    rule.levels[0] = -0.1;
    CHECK_STATUS(cbx_alerts_add_rule(book, &rule, &err), CBX_EINVAL, "no drift is beyond it");
    rule.levels[0] = NAN;
    rule.window = 9;
    CHECK_STATUS(cbx_alerts_add_rule(book, &rule, &err), CBX_EINVAL, "too short a window");
    rule.window = 20;
    CHECK_OK(cbx_alerts_add_rule(book, &rule, &err), &err, "rule");
    for (size_t i = 0; i < 40; i++)
        (void)cbx_alerts_observe(book, "t", 100 + (i < 20 ? 0.01 * (double)(i % 3) : (double)(i - 20)), i);
    CHECK_INT(cbx_alerts_severity(book, "t"), CBX_SEVERITY_WARNING, "17 % over 20 values");
    last = cbx_alerts_recent(book, 0);
    CHECK(last && last->pattern == CBX_PATTERN_DRIFT && !strcmp(last->rule, "t drift") && last->value > 0.1, "which");
    CHECK(strstr(said, "t drifts by +1") && strstr(said, "over the last 20 values"), said);
    CHECK_INT(cbx_alerts_observe(book, "t", NAN, 41), 1, "no number is told");
    CHECK(strstr(said, "no finite value"), said);
    for (size_t i = 0; i < 40; i++) (void)cbx_alerts_observe(book, "t", 120, 50 + i);
    CHECK_INT(cbx_alerts_severity(book, "t"), CBX_SEVERITY_NONE, "level again");
    CHECK(strstr(said, "t drift is back"), said);
    cbx_alerts_free(book);
    cbx_ctx_free(ctx);
}

static cbx_status find_patterns(cbx_ctx *ctx, void *user)
{
    cbx_alert_rule rule = CBX_ALERT_RULE_INIT;
    cbx_alerts *book = NULL;
    cbx_pattern p;
    double x[50];
    cbx_status st = cbx_alerts_create(ctx, 4, &book, NULL);
    (void)user;
    draw(CREEPING, 0.3, 0.3, false, 3, 50, x);
    rule.metric = "t";
    rule.pattern = CBX_PATTERN_MODES;
    rule.levels[0] = 0.1;
    if (!st) st = cbx_alerts_add_rule(book, &rule, NULL);
    cbx_alerts_free(book);
    if (!st) st = cbx_pattern_find(ctx, CBX_PATTERN_DRIFT, x, 50, &p, NULL);
    if (!st) st = cbx_pattern_find(ctx, CBX_PATTERN_MODES, x, 50, &p, NULL);
    return st;
}

TEST(patterns_without_memory) { CHECK_GT(cbx_test_fail_each(find_patterns, NULL, "patterns"), 7, "allocations"); }

TESTS()
