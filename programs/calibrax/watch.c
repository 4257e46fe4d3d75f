/*
 * calibrax watch: follows one metric, or the health of pipelines, and alerts.  Values come from watch_sources.c.
 */
#include "programs/calibrax/watch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/select.h"
#include "programs/common/output.h"

#define MOST_SECONDS 1e9

static const watch_args defaults = {
    .info = NAN,
    .warning = NAN,
    .error = NAN,
    .critical = NAN,
    .degraded_rate = NAN,
    .critical_rate = NAN,
    .degraded_slow = NAN,
    .critical_slow = NAN,
    .timeout = CBX_SINK_TIMEOUT_S,
    .statistic = -1,
    .fail_on = CBX_SEVERITY_ERROR - CBX_SEVERITY_INFO,
    .length = -1,
    .gpu = -1,
    .interval = 5,
    .raise_after = 1,
    .clear_after = 1,
};

#define AT(member) offsetof(watch_args, member)

static const opt_spec watch_options[] = {
    { "metric", 'm', OPT_STRING, AT(metric), "NAME", NULL,
      "the metric to follow; of a process: cpu_percent, rss_mb, threads or processes, of it and its children; of a "
      "device "
      "beside it: gpu_mem_mb, which they use there, gpu_util, gpu_temperature_c, gpu_power_w, or gpu_slowed, 1 while "
      "it is throttled",
      "@metrics" },
    { "lower", 0, OPT_FLAG, AT(lower), NULL, NULL, "alert below the levels, not above" },
    { "info", 0, OPT_REAL, AT(info), "X", NULL, "level of an information" },
    { "warning", 'w', OPT_REAL, AT(warning), "X", NULL, "level of a warning" },
    { "error", 'e', OPT_REAL, AT(error), "X", NULL, "level of an error" },
    { "critical", 'c', OPT_REAL, AT(critical), "X", NULL, "level of a critical alert" },
    { "rule", 0, OPT_EACH, AT(rules), "METRIC:SEVERITY=X", NULL,
      "a level of a metric of the same lines, process or store: rss_mb:warning=2000; X may be drift[:SHARE], how far "
      "the "
      "last 50 values, or --window, drift (0.05), or modes[:SHARE], the share of them in the rarer of two levels "
      "between which they alternate (0.1); may be repeated" },
    { "hysteresis", 0, OPT_NUMBER, AT(hysteresis), "X", "0",
      "how far a value must come back before it counts as clear; with --health: a share of each limit" },
    { "raise-after", 0, OPT_POSITIVE, AT(raise_after), "N", "1", "number of values in a row before an alert" },
    { "clear-after", 0, OPT_POSITIVE, AT(clear_after), "N", "1", "number of values in a row before the all-clear" },
    { "window", 0, OPT_POSITIVE, AT(window), "N", "1; 100 of each pipeline",
      "use a statistic of the last N values, or executions" },
    { "statistic", 0, OPT_CHOICE, AT(statistic), "WHAT", "mean",
      "of the window: mean, p95, min, max or failures (a share)", "mean p95 min max failures" },
    { "quiet", 0, OPT_NUMBER, AT(quiet), "SECONDS", "0",
      "minimum time between two alerts; a more severe one is never delayed" },
    { "repeat", 0, OPT_ABOVE, AT(repeat), "SECONDS", "never", "repeat an alert while it lasts" },
    { "interval", 'n', OPT_ABOVE, AT(interval), "SECONDS", "5", "time between two values of a process or a store" },
    { "for", 0, OPT_NUMBER, AT(length), "SECONDS", "until the end",
      "stop after this time; 0: read once what is there" },
    { "once", 0, OPT_FLAG, AT(once), NULL, NULL,
      "for CI: read what is there once, report the alerts that last at its end, and exit by them" },
    { "fail-on", 0, OPT_CHOICE, AT(fail_on), "SEVERITY", "error", "exit with 1 if an alert was at least this severe",
      "info warning error critical" },
    { "summary", 0, OPT_FLAG, AT(summary), NULL, NULL,
      "at the end, of the last 1000 values: latest, minimum, maximum, mean, tendency; and the number of alerts by "
      "severity" },
    { "json", 0, OPT_FLAG, AT(json), NULL, NULL, "print alerts, and the summary, as JSON lines" },
    { "Receivers of alerts", 0, OPT_GROUP, 0, NULL, NULL, NULL },
    { "alerts", 'o', OPT_EACH, AT(files), "FILE", NULL, "append alerts as JSON lines" },
    { "command", 0, OPT_EACH, AT(commands), "CMD", NULL,
      "run this command for each alert, with its JSON on standard input" },
    { "webhook", 0, OPT_EACH, AT(webhooks), "URL", NULL, "POST the JSON of each alert" },
    { "timeout", 0, OPT_ABOVE, AT(timeout), "SECONDS", "10", "maximum time of a command or a webhook" },
    { "A process", 0, OPT_GROUP, 0, NULL, NULL, NULL },
    { "pid", 'p', OPT_POSITIVE, AT(pid), "PID", NULL, "follow a process until it ends" },
    { "gpu", 0, OPT_INT, AT(gpu), "N", "0 for a metric of a device", "watch this device of NVIDIA, too" },
    { "A store", 0, OPT_GROUP, 0, "data", NULL, NULL },
    { "data", 0, OPT_STRING, AT(data), "DIR", NULL,
      "follow a store: one value a run, oldest first, then those of runs as they come" },
    { "point", 0, OPT_STRING, AT(point), "NAME", NULL, "the point, if runs have several with this metric" },
    { "scenario", 0, OPT_STRING, AT(scenario), "NAME", NULL, "points of this scenario" },
    { "tag", 0, OPT_EACH, AT(tags), "KEY=VALUE", NULL, "points with this tag; may be repeated, all must match" },
    { "branch", 0, OPT_STRING, AT(branch), "NAME", NULL, "runs of this branch" },
    { "machine", 0, OPT_STRING, AT(machine), "ID", NULL,
      "runs of the machines whose fingerprint begins so; -: runs without one" },
    { "allow-other-machine", 0, OPT_FLAG, AT(allow_machines), NULL, NULL,
      "accept values of several machines as one series" },
    { "allow-dropped", 0, OPT_FLAG, AT(allow_dropped), NULL, NULL,
      "with --once: the newest run need not have the metrics" },
    { "Health of pipelines", 0, OPT_GROUP, 0, "health", NULL, NULL },
    { "health", 0, OPT_FLAG, AT(health), NULL, NULL,
      "follow pipelines: lines {\"pipeline\": NAME, \"seconds\": X, \"success\": true} on standard input" },
    { "baseline", 0, OPT_EACH, AT(baselines), "PIPELINE=X", "failures only", "seconds that the pipeline should take" },
    { "age", 0, OPT_ABOVE, AT(age), "SECONDS", "any", "ignore older executions" },
    { "least", 0, OPT_POSITIVE, AT(least), "N", "3", "minimum number of executions for a state" },
    { "degraded-rate", 0, OPT_NUMBER, AT(degraded_rate), "X", "0.2",
      "share of failures above which a pipeline is degraded" },
    { "critical-rate", 0, OPT_NUMBER, AT(critical_rate), "X", "0.5", "share of failures above which it is critical" },
    { "degraded-slow", 0, OPT_NUMBER, AT(degraded_slow), "X", "1.2",
      "mean duration over the baseline above which it is degraded" },
    { "critical-slow", 0, OPT_NUMBER, AT(critical_slow), "X", "2",
      "p95 of the duration over the baseline above which it is critical" },
};
static const opt_rule watch_rules[] = {
    { "", OPT_NEEDS, "metric rule health" },
    { "health", OPT_EXCLUDES, "metric rule info warning error critical lower once summary pid data statistic" },
    { "info", OPT_NEEDS, "metric" },
    { "warning", OPT_NEEDS, "metric" },
    { "error", OPT_NEEDS, "metric" },
    { "critical", OPT_NEEDS, "metric" },
    { "once", OPT_EXCLUDES, "for quiet repeat" },
    { "allow-dropped", OPT_NEEDS, "once" },
    { "gpu", OPT_NEEDS, "pid" },
    { "pid", OPT_EXCLUDES, "data" },
};

/* --- alerts --- */

void watch_tell(watcher *w, const cbx_alert *alert)
{
    int64_t now_us = cbx_time_now_us();

    w->told++;
    if (alert->severity > w->worst) w->worst = alert->severity;
    char time[CBX_TIME_SIZE];
    paint how = alert->severity >= CBX_SEVERITY_ERROR ? PAINT_BAD : alert->severity ? PAINT_STRONG : PAINT_GOOD;

    if (w->a->json) {
        (void)print_json(w->run->program, cbx_alert_json(alert, now_us));
    } else {
        print_painted(PAINT_FAINT, "%s  ", cbx_time_format_iso(now_us, time));
        print_painted(how, "%-8s", alert->severity ? cbx_severity_name(alert->severity) : "clear");
        printf("  %s\n", alert->message);
    }
    fflush(stdout);
    for (size_t i = 0; i < w->nsinks; i++) {
        cbx_err err = CBX_ERR_INIT;
        if (!cbx_sink_send(w->sinks[i], alert, now_us, &err)) continue;
        w->lost++;
        opt_fail(w->run->program, "an alert was lost: %s", err.message);
    }
}

static cbx_alert *place_of_rule(watcher *w, const cbx_alert *alert)
{
    size_t i = 0;

    while (i < w->nrules && (w->rules[i].pattern != alert->pattern || strcmp(w->rules[i].metric, alert->metric))) i++;
    return i < w->nrules ? &w->standing[i] : NULL;
}

static void on_alert(void *user, const cbx_alert *alert)
{
    watcher *w = user;
    cbx_alert *standing = w->a->once ? place_of_rule(w, alert) : NULL;

    if (standing)
        *standing = *alert;
    else
        watch_tell(w, alert);
}

static double statistic_of(const watcher *w, uint64_t now_ns)
{
    cbx_window_facts f;

    cbx_window_read(w->window, now_ns, &f);
    switch (w->a->statistic) { /* in the order of the option's words */
    case 1: return f.p95;
    case 2: return f.min;
    case 3: return f.max;
    case WATCH_FAILURES: return f.failure_rate;
    default: return f.mean;
    }
}

/* A value that is no number is looked at by itself: most statistics pass it over, and a window of them would hide it. */
static double look_at(watcher *w, double value, uint64_t now_ns)
{
    bool failures = w->a->statistic == WATCH_FAILURES;

    w->values++;
    cbx_window_add(w->window, value, false, now_ns);
    if (w->history) cbx_window_add(w->history, value, false, now_ns);
    return w->of_window && (failures || isfinite(value)) ? statistic_of(w, now_ns) : value;
}

void watch_take(watcher *w, size_t i, double value)
{
    uint64_t now_ns = w->a->once ? ++w->step : cbx_clock_ns();

    w->metrics[i].values++;
    cbx_alerts_observe(w->alerts, w->metrics[i].name, i == 0 ? look_at(w, value, now_ns) : value, now_ns);
}

/* --- the whole --- */

static int add_sinks(watcher *w, cbx_sink_kind kind, const opt_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        cbx_err err = CBX_ERR_INIT;
        if (w->nsinks == CBX_LEN(w->sinks))
            return opt_fail(w->run->program, "more than %zu receivers of alerts", CBX_LEN(w->sinks));
        if (cbx_sink_create(w->run->ctx, kind, list->items[i], w->a->timeout, &w->sinks[w->nsinks], &err))
            return opt_fail(w->run->program, "%s", err.message);
        w->nsinks++;
    }
    return EXIT_PASS;
}

static int set_up_metric(watcher *w)
{
    const watch_args *a = w->a;
    cbx_err err = CBX_ERR_INIT;

    if (cbx_alerts_create(w->run->ctx, a->summary ? 1000 : 16, &w->alerts, &err) ||
        cbx_alerts_listen(w->alerts, on_alert, w, &err) ||
        cbx_window_create(w->run->ctx, a->window ? a->window : 1, 0, &w->window, &err) ||
        (a->summary && cbx_window_create(w->run->ctx, CBX_TENDENCY_MOST, 0, &w->history, &err)))
        return opt_fail(w->run->program, "watch: %s", err.message);
    return watch_set_rules(w);
}

static int check_args(const watcher *w)
{
    const watch_args *a = w->a;

    if (a->interval > 3600)
        return opt_fail(w->run->program, "'--interval' must be at most 3600 s, got %g", a->interval);
    if (!(a->quiet <= MOST_SECONDS && a->repeat <= MOST_SECONDS))
        return opt_fail(w->run->program, "'--quiet' and '--repeat' must be at most %g s", MOST_SECONDS);
    if (a->raise_after > UINT32_MAX || a->clear_after > UINT32_MAX)
        return opt_fail(w->run->program, "'--raise-after' and '--clear-after' must be at most %u", UINT32_MAX);
    return EXIT_PASS;
}

static int set_up_receivers(watcher *w)
{
    const watch_args *a = w->a;
    int status = EXIT_PASS;

    w->fail_on = (cbx_severity)(a->fail_on + CBX_SEVERITY_INFO);
    status = add_sinks(w, CBX_SINK_FILE, &a->files);
    if (!status) status = add_sinks(w, CBX_SINK_COMMAND, &a->commands);
    if (!status) status = add_sinks(w, CBX_SINK_WEBHOOK, &a->webhooks);
    return status;
}

/* Alerts of each severity among those that the book remembers. */
static cbx_json *alerts_json(const watcher *w)
{
    cbx_json *o = cbx_json_new_object();

    for (cbx_severity s = CBX_SEVERITY_INFO; o && s <= CBX_SEVERITY_CRITICAL; s++)
        cbx_json_set_int(o, cbx_severity_name(s), (int64_t)cbx_alerts_by_severity(w->alerts, s, NULL, 0));
    return o;
}

/* The last values, and where they go: what is alerted of above a level had better fall. */
static int summarize(const watcher *w)
{
    uint64_t now_ns = cbx_clock_ns();
    double *values = cbx_arena_calloc(w->run->arena, CBX_TENDENCY_MOST, sizeof *values);
    cbx_window_facts f;
    cbx_tendency t;
    cbx_err err = CBX_ERR_INIT;
    const char *word;

    if (!values) return opt_fail(w->run->program, "out of memory");
    cbx_window_read(w->history, now_ns, &f);
    if (cbx_tendency_find(w->run->ctx, values, cbx_window_values(w->history, now_ns, values, CBX_TENDENCY_MOST),
                          CBX_TENDENCY_THRESHOLD, 0.95, &t, &err))
        return opt_fail(w->run->program, "watch: %s", err.message);
    word = cbx_tendency_name(t.kind, w->a->lower ? CBX_DIRECTION_HIGHER : CBX_DIRECTION_LOWER);
    if (w->a->json) {
        cbx_json *o = cbx_json_new_object();

        cbx_json_set_string(o, "schema", "calibrax-watch-summary");
        cbx_json_set_int(o, "version", 1);
        cbx_json_set_string(o, "metric", w->metrics[0].name);
        cbx_json_set_int(o, "values", (int64_t)f.count);
        cbx_json_set_double(o, "latest", f.last);
        cbx_json_set_double(o, "min", f.min);
        cbx_json_set_double(o, "max", f.max);
        cbx_json_set_double(o, "mean", f.mean);
        cbx_json_set(o, "tendency", tendency_json(&t, word));
        cbx_json_set(o, "alerts", alerts_json(w));
        return print_json(w->run->program, o);
    }
    print_painted(PAINT_STRONG, "%s", w->metrics[0].name);
    printf(": latest %.6g, least %.6g, greatest %.6g, mean %.6g of %zu values\n", f.last, f.min, f.max, f.mean,
           f.count);
    print_tendency(&t, word);
    const char *before = "Alerts: ";

    for (cbx_severity s = CBX_SEVERITY_CRITICAL; s >= CBX_SEVERITY_INFO; s--) {
        size_t n = cbx_alerts_by_severity(w->alerts, s, NULL, 0);
        if (!n) continue;
        printf("%s%zu %s", before, n, cbx_severity_name(s));
        before = ", ";
    }
    printf(*before == 'A' ? "Alerts: none\n" : "\n");
    return EXIT_PASS;
}

/* What the watch comes to. */
static int conclude(const watcher *w)
{
    fprintf(stderr, "%zu values, %zu alerts\n", w->values, w->told);
    if (w->bad_lines) fprintf(stderr, "%zu lines were passed over\n", w->bad_lines);
    if (*w->stop) return EXIT_STOPPED;
    if (w->lost) return EXIT_ERROR; /* each was told; whoever waits for it has not heard, however bad the others were */
    if (w->worst >= w->fail_on) return EXIT_CHECK;
    if (w->values == 0 && w->health) return opt_fail(w->run->program, "watch: no execution came");
    for (size_t i = 0; i < w->nmetrics; i++)
        if (!w->metrics[i].values) return opt_fail(w->run->program, "watch: no value of '%s' came", w->metrics[i].name);
    return EXIT_PASS;
}

static int run_watch(const opt_run *run)
{
    const watch_args *a = run->args;
    watcher w = { .run = run, .a = a, .stop = stop_catch(), .fail_on = CBX_SEVERITY_ERROR, .start_ns = cbx_clock_ns() };
    int status = check_args(&w);

    w.length = a->once && (a->pid || a->data) ? 0 : a->length;
    if (!status) status = a->health ? watch_health_begin(&w) : set_up_metric(&w);
    if (!status) status = set_up_receivers(&w);
    if (!status)
        status = a->health ? watch_health(&w)
                 : a->pid  ? watch_process(&w)
                 : a->data ? watch_store(&w)
                           : watch_values(&w);
    if (!status && a->health) status = watch_health_end(&w);
    if (!status && a->once) {
        /* What has come and gone is told by a watch that goes on, not by one look. */
        for (size_t i = 0; i < w.nrules; i++)
            if (w.standing[i].severity != CBX_SEVERITY_NONE) watch_tell(&w, &w.standing[i]);
    }
    if (!status && w.history) status = summarize(&w);
    if (!status) status = conclude(&w);
    for (size_t i = 0; i < w.nsinks; i++) cbx_sink_free(w.sinks[i]);
    cbx_health_free(w.health);
    cbx_window_free(w.window);
    cbx_window_free(w.history);
    cbx_alerts_free(w.alerts);
    return status;
}

const opt_command watch_command = {
    .name = "watch",
    .synopsis = "(--metric NAME | --rule METRIC:SEVERITY=X [--pid PID | --data DIR] | --health) [OPTION]...",
    .summary = "follow metrics, or the health of pipelines, and alert",
    .description = "Follows the values of metrics: JSON lines on standard input (a number, or an object with the "
                   "metric), a process and its children, or a "
                   "store. A value beyond a level raises an alert of its severity; the alert is cleared when values "
                   "have come back; so are a drift, and two "
                   "modes, of a metric. A value that is not a finite number is beyond every level. Alerts are printed, "
                   "and go to files, commands and webhooks. "
                   "Exit status 0: no alert as severe as --fail-on; 1: there was one, and all alerts reached their "
                   "receivers; 2: a lost alert, no data of a "
                   "metric, or a fault; 130: interrupted.",
    .options = watch_options,
    .noptions = CBX_LEN(watch_options),
    .args_size = sizeof(watch_args),
    .defaults = &defaults,
    .run = run_watch,
    .rules = watch_rules,
    .nrules = CBX_LEN(watch_rules),
};
