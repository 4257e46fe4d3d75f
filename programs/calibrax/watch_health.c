/*
 * calibrax watch --health: executions of pipelines as JSON lines; an alert where the state of one changes.
 *
 * A state is a value of the alert engine, so that its rules for raising, clearing, holding back and repeating hold here, too.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "programs/calibrax/select.h"
#include "programs/calibrax/watch.h"
#include "programs/common/columns.h"
#include "programs/common/output.h"

/* --- alerts --- */

/* The engine's words are about numbers; these are about the pipeline. */
static void on_state(void *user, const cbx_alert *alert)
{
    watcher *w = user;
    cbx_alert told = *alert;

    snprintf(told.message, sizeof told.message, "pipeline '%.60s' is %s%s%.60s",
             plain_text(w->run->arena, alert->metric),
             alert->severity ? cbx_health_state_name(w->now.state) : "healthy again", *w->now.reason ? ": " : "",
             w->now.reason);
    watch_tell(w, &told);
}

/* Degraded is a warning, critical is critical; a state that is not known yet is nothing to tell. */
static int add_rule(watcher *w, const char *pipeline)
{
    const watch_args *a = w->a;
    cbx_alert_rule rule = {
        .metric = pipeline,
        .levels = { NAN, CBX_HEALTH_DEGRADED - 0.5, NAN, CBX_HEALTH_CRITICAL - 0.5 },
        .raise_after = (uint32_t)a->raise_after,
        .clear_after = (uint32_t)a->clear_after,
        .quiet_ns = (uint64_t)(1e9 * a->quiet),
        .repeat_ns = (uint64_t)(1e9 * a->repeat),
    };
    cbx_err err = CBX_ERR_INIT;

    return cbx_alerts_add_rule(w->alerts, &rule, &err) ? opt_fail(w->run->program, "watch: %s", err.message)
                                                       : EXIT_PASS;
}

/* --- executions --- */

/* Place of a pipeline in the book; one that is new has no rule yet. */
static size_t place_of(const watcher *w, const char *pipeline, uint64_t now_ns, cbx_health_report *r)
{
    size_t n = cbx_health_count(w->health), i = 0;

    for (; i < n; i++) {
        cbx_health_read(w->health, i, now_ns, r);
        if (!strcmp(r->pipeline, pipeline)) break;
    }
    return i;
}

static int record(watcher *w, const char *pipeline, double seconds, bool success)
{
    uint64_t now_ns = cbx_clock_ns();
    cbx_err err = CBX_ERR_INIT;
    cbx_health_report r;

    if (place_of(w, pipeline, now_ns, &r) == cbx_health_count(w->health) && add_rule(w, pipeline)) return EXIT_ERROR;
    if (cbx_health_record(w->health, pipeline, seconds, success, now_ns, &err))
        return opt_fail(w->run->program, "watch: %s", err.message);
    (void)place_of(w, pipeline, now_ns, &w->now);
    w->values++;
    cbx_alerts_observe(w->alerts, pipeline, w->now.state, now_ns);
    return EXIT_PASS;
}

/* An execution that failed need not say how long it took. */
static void take_execution(watcher *w, const char *line, size_t len)
{
    cbx_json *json = NULL;
    const char *pipeline = NULL;
    double seconds = NAN;
    bool success = true;

    if (!cbx_json_parse(line, len, "standard input", &json, NULL)) {
        pipeline = cbx_json_get_string(json, "pipeline", NULL);
        seconds = cbx_json_get_double(json, "seconds", NAN);
        success = cbx_json_get_bool(json, "success", true);
    }
    if (!pipeline || !*pipeline || (success && isnan(seconds))) {
        if (w->bad_lines++ == 0)
            opt_fail(w->run->program, "a line without 'pipeline' and 'seconds' is passed over: '%.*s'",
                     (int)(len < 60 ? len : 60), line);
    } else if (record(w, pipeline, seconds, success)) {
        w->lost++;
    }
    cbx_json_unref(json);
}

/* --- the parts of the watch --- */

int watch_health_begin(watcher *w)
{
    const watch_args *a = w->a;
    cbx_health_opts o = CBX_HEALTH_OPTS_INIT;
    cbx_err err = CBX_ERR_INIT;

    if (!(a->age >= 0 && a->age <= 1e9)) return opt_fail(w->run->program, "watch --age: 0 to 1e9 s");
    if (a->window) o.window = a->window;
    o.age_ns = (uint64_t)(1e9 * a->age);
    if (a->least) o.least = a->least;
    if (!isnan(a->degraded_rate)) o.degraded_rate = a->degraded_rate;
    if (!isnan(a->critical_rate)) o.critical_rate = a->critical_rate;
    if (!isnan(a->degraded_slow)) o.degraded_slow = a->degraded_slow;
    if (!isnan(a->critical_slow)) o.critical_slow = a->critical_slow;
    o.hysteresis = a->hysteresis;
    if (cbx_health_create(w->run->ctx, &o, &w->health, &err) || cbx_alerts_create(w->run->ctx, 16, &w->alerts, &err) ||
        cbx_alerts_listen(w->alerts, on_state, w, &err))
        return opt_fail(w->run->program, "watch: %s", err.message);
    for (size_t i = 0; i < a->baselines.count; i++) {
        const char *pipeline;
        double seconds;
        if (select_pair(w->run, "baseline", "PIPELINE", a->baselines.items[i], &pipeline, &seconds)) return EXIT_ERROR;
        if (cbx_health_set_baseline(w->health, pipeline, seconds, &err))
            return opt_fail(w->run->program, "--baseline: '%s': %s", pipeline, err.message);
        if (add_rule(w, pipeline)) return EXIT_ERROR;
    }
    return EXIT_PASS;
}

int watch_health(watcher *w) { return watch_lines(w, take_execution); }

/* --- at the end --- */

static cbx_json *pipeline_json(const cbx_health_report *r)
{
    cbx_json *o = cbx_json_new_object();

    cbx_json_set_string(o, "pipeline", r->pipeline);
    cbx_json_set_string(o, "state", cbx_health_state_name(r->state));
    cbx_json_set_string(o, "reason", r->reason);
    cbx_json_set_int(o, "executions", (int64_t)r->executions);
    cbx_json_set_int(o, "window", (int64_t)r->window.count);
    cbx_json_set_double(o, "failure_rate", r->window.failure_rate);
    cbx_json_set_double(o, "mean_s", r->window.mean);
    cbx_json_set_double(o, "p95_s", r->window.p95);
    cbx_json_set_double(o, "baseline_s", r->baseline_s);
    return o;
}

static int end_json(const watcher *w, uint64_t now_ns)
{
    cbx_json *o = new_document("calibrax-health"), *list = cbx_json_new_array();

    for (size_t i = 0; i < cbx_health_count(w->health); i++) {
        cbx_health_report r;
        cbx_health_read(w->health, i, now_ns, &r);
        cbx_json_push(list, pipeline_json(&r));
    }
    cbx_json_set_string(o, "overall", cbx_health_state_name(cbx_health_overall(w->health, now_ns)));
    cbx_json_set(o, "pipelines", list);
    return print_json(w->run->program, o);
}

static int end_text(const watcher *w, uint64_t now_ns)
{
    static const char *const heads[] = { "Pipeline", "State", "Runs", "Failures", "Mean", "p95", "Baseline", "" };
    static const paint paints[] = { PAINT_FAINT, PAINT_GOOD, PAINT_STRONG, PAINT_BAD };
    columns *table = columns_begin(w->run->arena, heads, "llrrrrrl");
    char text[CBX_FORMAT_SIZE];

    for (size_t i = 0; i < cbx_health_count(w->health); i++) {
        cbx_health_report r;
        cbx_health_read(w->health, i, now_ns, &r);
        const double seconds[] = { r.window.mean, r.window.p95, r.baseline_s };
        columns_put(table, PAINT_PLAIN, plain_text(w->run->arena, r.pipeline));
        columns_put(table, paints[r.state], cbx_health_state_name(r.state));
        columns_printf(table, PAINT_PLAIN, "%llu", (unsigned long long)r.executions);
        columns_printf(table, PAINT_PLAIN, "%.1f %%", r.window.count ? 100 * r.window.failure_rate : 0.0);
        for (size_t k = 0; k < CBX_LEN(seconds); k++)
            columns_put(table, PAINT_PLAIN, cbx_arena_strdup(w->run->arena, cbx_format_seconds(seconds[k], text)));
        columns_put(table, PAINT_PLAIN, cbx_arena_strdup(w->run->arena, r.reason));
    }
    return columns_print(table, "") ? EXIT_PASS : opt_fail(w->run->program, "out of memory");
}

int watch_health_end(watcher *w)
{
    uint64_t now_ns = cbx_clock_ns();

    if (!cbx_health_count(w->health)) return EXIT_PASS;
    return w->a->json ? end_json(w, now_ns) : end_text(w, now_ns);
}
