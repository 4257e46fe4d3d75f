/*
 * calibrax watch --health: executions of pipelines; the state of each is a value of the alert
 * engine.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "programs/calibrax/watch.h"
#include "programs/common/columns.h"
#include "programs/common/output.h"

/* The engine's message is about numbers; this one is about the pipeline. */
static void on_state(void *user, const cbx_alert *alert)
{
    watcher *w = user;
    cbx_alert changed = *alert;

    snprintf(changed.message, sizeof changed.message, "pipeline '%.60s' is %s%s%.60s",
             plain_text(w->run->arena, alert->metric),
             alert->severity ? cbx_health_state_name(w->now.state) : "healthy again", *w->now.reason ? ": " : "",
             w->now.reason);
    watch_send(w, &changed);
}

/* A degraded pipeline is a warning, a critical one is critical; an unknown state is below both. */
static int add_pipeline(watcher *w, const char *pipeline)
{
    cbx_alert_rule rule = watch_rule(w, pipeline);

    rule.levels[1] = CBX_HEALTH_DEGRADED - 0.5;
    rule.levels[3] = CBX_HEALTH_CRITICAL - 0.5;
    return opt_check(w->run, cbx_alerts_add_rule(w->alerts, &rule, w->run->err));
}

int watch_health_begin(watcher *w)
{
    const opt_run *run = w->run;
    const watch_args *a = w->a;
    cbx_health_opts o = CBX_HEALTH_OPTS_INIT;

    if (a->age > WATCH_MAX_SECONDS) return opt_fail(run, "'--age' must be at most 1e9 s, got %g", a->age);
    if (a->window) o.window = a->window;
    o.age_ns = (uint64_t)(1e9 * a->age);
    o.min_executions = a->minimum;
    o.degraded_rate = a->degraded_rate;
    o.critical_rate = a->critical_rate;
    o.degraded_slow = a->degraded_slow;
    o.critical_slow = a->critical_slow;
    o.hysteresis = a->hysteresis;
    int status = opt_check(run, cbx_health_create(run->ctx, &o, &w->health, run->err));
    if (!status) status = watch_alerts(w, 16, on_state);
    for (size_t i = 0; !status && i < a->baselines.count; i++) {
        const char *pipeline;
        double seconds;
        if (select_pair(run, "baseline", "PIPELINE", a->baselines.items[i], &pipeline, &seconds)) return EXIT_ERROR;
        if (cbx_health_set_baseline(w->health, pipeline, seconds, run->err))
            return opt_fail(run, "'--baseline' of '%s': %s", pipeline, run->err->message);
        status = add_pipeline(w, pipeline);
    }
    return status;
}

/* Whether the pipeline is known, with its report. */
static bool read_pipeline(const watcher *w, const char *pipeline, uint64_t now_ns, cbx_health_report *r)
{
    for (size_t i = 0; i < cbx_health_count(w->health); i++) {
        cbx_health_read(w->health, i, now_ns, r);
        if (!strcmp(r->pipeline, pipeline)) return true;
    }
    return false;
}

/* {"pipeline": NAME, "seconds": X, "success": true}; a failure may lack the seconds. */
void watch_health_take(watcher *w, const char *line, size_t len)
{
    const uint64_t now_ns = cbx_clock_ns();
    SCOPED(cbx_json) *json = NULL;
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
            opt_fail(w->run, "a line without 'pipeline' and 'seconds' is ignored: '%.*s'", (int)(len < 60 ? len : 60),
                     line);
    } else if ((!read_pipeline(w, pipeline, now_ns, &w->now) && add_pipeline(w, pipeline)) ||
               opt_check(w->run, cbx_health_record(w->health, pipeline, seconds, success, now_ns, w->run->err))) {
        w->lost++;
    } else {
        (void)read_pipeline(w, pipeline, now_ns, &w->now);
        w->values++;
        cbx_alerts_observe(w->alerts, pipeline, w->now.state, now_ns);
    }
}

int watch_health_end(watcher *w)
{
    static const char *const heads[] = { "Pipeline", "State", "Runs", "Failures", "Mean", "p95", "Baseline", "" };
    static const paint paints[] = { PAINT_FAINT, PAINT_GOOD, PAINT_STRONG, PAINT_BAD };
    const size_t n = cbx_health_count(w->health);
    const uint64_t now_ns = cbx_clock_ns();
    cbx_arena *arena = w->run->arena;
    columns *table = n && !w->a->select.json ? columns_begin(arena, heads, "llrrrrrl") : NULL;
    cbx_json *o = n && w->a->select.json ? cbx_json_new_document("calibrax-health") : NULL,
             *list = cbx_json_new_array();
    char text[CBX_FORMAT_SIZE];

    for (size_t i = 0; i < n; i++) {
        cbx_health_report r;
        cbx_health_read(w->health, i, now_ns, &r);
        const double seconds[] = { r.window.mean, r.window.p95, r.baseline_s };
        if (w->a->select.json) {
            cbx_json_put(cbx_json_push_object(list), J_TEXT("pipeline", r.pipeline),
                         J_TEXT("state", cbx_health_state_name(r.state)), J_TEXT("reason", r.reason),
                         J_INT("executions", r.executions), J_INT("window", r.window.count),
                         J_NUMBER("failure_rate", r.window.failure_rate), J_NUMBER("mean_s", r.window.mean),
                         J_NUMBER("p95_s", r.window.p95), J_NUMBER("baseline_s", r.baseline_s));
            continue;
        }
        columns_put(table, PAINT_PLAIN, plain_text(arena, r.pipeline));
        columns_put(table, paints[r.state], cbx_health_state_name(r.state));
        columns_printf(table, PAINT_PLAIN, "%llu", (unsigned long long)r.executions);
        columns_printf(table, PAINT_PLAIN, "%.1f %%", r.window.count ? 100 * r.window.failure_rate : 0.0);
        for (size_t k = 0; k < CBX_LEN(seconds); k++)
            columns_put(table, PAINT_PLAIN, cbx_arena_strdup(arena, cbx_format_seconds(seconds[k], text)));
        columns_put(table, PAINT_PLAIN, cbx_arena_strdup(arena, r.reason));
    }
    if (!o) cbx_json_unref(list);
    if (table) columns_print(table, "");
    if (!o) return EXIT_PASS;
    cbx_json_put(o, J_TEXT("overall", cbx_health_state_name(cbx_health_overall(w->health, now_ns))),
                 J_JSON("pipelines", list));
    return print_json(w->run, o);
}
