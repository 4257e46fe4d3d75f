/*
 * calibrax watch: follows one metric and alerts.
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "calibrax/monitoring/alert.h"
#include "calibrax/monitoring/sink.h"
#include "calibrax/monitoring/window.h"
#include "calibrax/profiling/resources.h"
#include "calibrax/storage/store.h"
#include "programs/calibrax/calibrax.h"
#include "programs/common/output.h"
#include "programs/common/stop.h"

#define LONGEST_LINE ((size_t)1 << 20)

typedef struct watch_args {
    const char *metric, *data, *point, *statistic, *fail_on;
    double info, warning, error, critical, hysteresis, quiet, repeat, interval, length, timeout;
    size_t pid, raise_after, clear_after, window;
    opt_list files, commands, webhooks;
    bool lower, json;
} watch_args;

static const watch_args defaults = {
    .info = NAN,
    .warning = NAN,
    .error = NAN,
    .critical = NAN,
    .length = -1,
    .interval = 5,
    .window = 1,
    .raise_after = 1,
    .clear_after = 1,
};

#define AT(member) offsetof(watch_args, member)

static const opt_spec watch_options[] = {
    { "metric", 'm', OPT_STRING, AT(metric), "NAME", NULL,
      "what to follow; of a process: cpu_percent, rss_mb, threads or processes, of it and its children" },
    { "pid", 'p', OPT_COUNT, AT(pid), "PID", NULL, "follow a process until it ends" },
    { "data", 0, OPT_STRING, AT(data), "DIR", NULL,
      "follow a store: one value a run, oldest first, then those that come" },
    { "point", 0, OPT_STRING, AT(point), "NAME", NULL, "of a store: the point, if runs have several with this metric" },
    { "lower", 0, OPT_FLAG, AT(lower), NULL, NULL, "alert below the levels, not above" },
    { "info", 0, OPT_NUMBER, AT(info), "X", NULL, "level of an information" },
    { "warning", 'w', OPT_NUMBER, AT(warning), "X", NULL, "level of a warning" },
    { "error", 'e', OPT_NUMBER, AT(error), "X", NULL, "level of an error" },
    { "critical", 'c', OPT_NUMBER, AT(critical), "X", NULL, "level of a critical alert" },
    { "hysteresis", 0, OPT_NUMBER, AT(hysteresis), "X", "0",
      "how far a value must come back before it counts as clear" },
    { "raise-after", 0, OPT_COUNT, AT(raise_after), "N", "1", "values in a row before an alert" },
    { "clear-after", 0, OPT_COUNT, AT(clear_after), "N", "1", "values in a row before the all-clear" },
    { "window", 0, OPT_COUNT, AT(window), "N", "1", "look at a statistic of the last N values" },
    { "statistic", 0, OPT_STRING, AT(statistic), "WHAT", "mean",
      "of the window: mean, p95, min, max or failures (a share)" },
    { "quiet", 0, OPT_NUMBER, AT(quiet), "SECONDS", "0",
      "least time between two alerts; one that is worse never waits" },
    { "repeat", 0, OPT_NUMBER, AT(repeat), "SECONDS", "never", "tell again while it lasts" },
    { "interval", 'n', OPT_NUMBER, AT(interval), "SECONDS", "5", "between two looks at a process or a store" },
    { "for", 0, OPT_NUMBER, AT(length), "SECONDS", "until the end",
      "stop after this time; 0: one look at what is there" },
    { "alerts", 'o', OPT_EACH, AT(files), "FILE", NULL, "append alerts as JSON lines" },
    { "command", 0, OPT_EACH, AT(commands), "CMD", NULL, "run for each alert, with its JSON on standard input" },
    { "webhook", 0, OPT_EACH, AT(webhooks), "URL", NULL, "POST each alert's JSON" },
    { "timeout", 0, OPT_NUMBER, AT(timeout), "SECONDS", "10", "longest time that a command or a webhook may take" },
    { "fail-on", 0, OPT_STRING, AT(fail_on), "SEVERITY", "error", "exit with 1 if an alert was this bad" },
    { "json", 0, OPT_FLAG, AT(json), NULL, NULL, "print alerts as JSON lines" },
};

typedef struct watcher {
    const opt_run *run;
    const watch_args *a;
    const cbx_stop_flag *stop;
    cbx_alerts *alerts;
    cbx_window *window;
    cbx_sink *sinks[64];
    size_t nsinks, values, lost, told, bad_lines;
    cbx_severity fail_on, worst;
    uint64_t start_ns;
} watcher;

/* --- telling --- */

static void print_alert(const watcher *w, const cbx_alert *alert, int64_t now_us)
{
    char time[CBX_TIME_SIZE];

    if (w->a->json)
        (void)print_json(w->run->program, cbx_alert_json(alert, now_us));
    else
        printf("%s  %-8s  %s\n", cbx_time_format_iso(now_us, time),
               alert->severity ? cbx_severity_name(alert->severity) : "clear", alert->message);
    fflush(stdout);
}

static void on_alert(void *user, const cbx_alert *alert)
{
    watcher *w = user;
    int64_t now_us = cbx_time_now_us();

    w->told++;
    if (alert->severity > w->worst) w->worst = alert->severity;
    print_alert(w, alert, now_us);
    for (size_t i = 0; i < w->nsinks; i++) {
        cbx_err err = CBX_ERR_INIT;
        if (!cbx_sink_send(w->sinks[i], alert, now_us, &err)) continue;
        w->lost++;
        opt_fail(w->run->program, "an alert was lost: %s", err.message);
    }
}

static double statistic_of(const watcher *w, uint64_t now_ns)
{
    const char *what = w->a->statistic ? w->a->statistic : "mean";
    cbx_window_facts f;

    cbx_window_read(w->window, now_ns, &f);
    return !strcmp(what, "p95")        ? f.p95
           : !strcmp(what, "min")      ? f.min
           : !strcmp(what, "max")      ? f.max
           : !strcmp(what, "failures") ? f.failure_rate
                                       : f.mean;
}

static void take(watcher *w, double value)
{
    uint64_t now_ns = cbx_clock_ns();

    w->values++;
    cbx_window_add(w->window, value, false, now_ns);
    cbx_alerts_observe(w->alerts, w->a->metric, w->a->window > 1 || w->a->statistic ? statistic_of(w, now_ns) : value,
                       now_ns);
}

/* --- time --- */

static bool over(const watcher *w)
{
    return *w->stop || (w->a->length >= 0 && 1e-9 * (double)(cbx_clock_ns() - w->start_ns) >= w->a->length);
}

/* Waits for an interval, or until it is over. */
static void rest(const watcher *w)
{
    const struct timespec tick = { 0, 10000000 };
    uint64_t start = cbx_clock_ns();

    while (!over(w) && 1e-9 * (double)(cbx_clock_ns() - start) < w->a->interval) nanosleep(&tick, NULL);
}

/* --- lines on standard input --- */

/* A number, or an object with the metric: as a member, or as {"name": metric, "value": x}. */
static bool read_value(const watcher *w, const char *line, size_t len, double *value)
{
    cbx_json *json = NULL;
    bool found = false;

    if (cbx_json_parse(line, len, "standard input", &json, NULL)) return false;
    switch (cbx_json_typeof(json)) {
    case CBX_JSON_INT:
    case CBX_JSON_DOUBLE:
        *value = cbx_json_double_value(json);
        found = true;
        break;
    case CBX_JSON_OBJECT:
        found = cbx_json_has(json, w->a->metric);
        *value = cbx_json_get_double(json, w->a->metric, NAN);
        break;
    default: break;
    }
    cbx_json_unref(json);
    return found;
}

static void take_line(watcher *w, const char *line, size_t len)
{
    double value;

    while (len > 0 && strchr(" \t\r", line[len - 1])) len--;
    if (len == 0) return;
    if (read_value(w, line, len, &value))
        take(w, value);
    else if (w->bad_lines++ == 0)
        opt_fail(w->run->program, "a line without '%s' is passed over: '%.*s'", w->a->metric,
                 (int)(len < 60 ? len : 60), line);
}

/* Whole lines of the buffer; what is left moves to its front.  Returns how much that is. */
static size_t take_lines(watcher *w, char *buffer, size_t len)
{
    char *from = buffer, *end;

    while ((end = memchr(from, '\n', len - (size_t)(from - buffer)))) {
        take_line(w, from, (size_t)(end - from));
        from = end + 1;
    }
    len -= (size_t)(from - buffer);
    memmove(buffer, from, len);
    return len;
}

static int follow_lines(watcher *w)
{
    char *buffer = cbx_arena_alloc(w->run->arena, LONGEST_LINE);
    struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
    size_t len = 0;

    if (!buffer) return opt_fail(w->run->program, "out of memory");
    while (!*w->stop) {
        ssize_t n;
        int ready = poll(&in, 1, 50);
        if (ready <= 0) {
            if (over(w)) break;
            continue;
        }
        n = read(STDIN_FILENO, buffer + len, LONGEST_LINE - len);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return opt_fail(w->run->program, "cannot read standard input: %s", strerror(errno));
        if (n == 0) break;
        len = take_lines(w, buffer, len + (size_t)n);
        if (len == LONGEST_LINE) return opt_fail(w->run->program, "a line of standard input is longer than 1 MiB");
    }
    if (len) take_line(w, buffer, len);
    return EXIT_PASS;
}

/* --- a process --- */

static bool process_value(const cbx_resource_report *r, const char *metric, double *value)
{
    const cbx_resource_sample *last = r->nsamples ? &r->samples[r->nsamples - 1] : NULL;
    const struct {
        const char *name;
        double value;
    } known[] = {
        { "cpu_percent", r->mean_cpu_percent },
        { "rss_mb", last ? (double)last->rss_bytes / 1048576 : NAN },
        { "threads", last ? last->threads : NAN },
        { "processes", last ? last->processes : NAN },
    };

    for (size_t i = 0; i < CBX_LEN(known); i++) {
        if (strcmp(known[i].name, metric)) continue;
        *value = known[i].value;
        return true;
    }
    return false;
}

static int follow_process(watcher *w)
{
    cbx_resource_opts opts = CBX_RESOURCE_OPTS_INIT;
    cbx_resource_report report = { .nsamples = 0 };
    double value;

    if (!process_value(&report, w->a->metric, &value))
        return opt_fail(w->run->program, "watch --pid: '%s' is none of cpu_percent, rss_mb, threads, processes",
                        w->a->metric);
    opts.pid = (pid_t)w->a->pid;
    opts.interval_s = fmin(w->a->interval, 0.1);
    do {
        cbx_resource_monitor *m = NULL;
        cbx_err err = CBX_ERR_INIT;
        cbx_status st = cbx_resource_monitor_start(w->run->ctx, &opts, &m, &err);
        if (st == CBX_ENOENT && w->values > 0) break;
        if (st) return opt_fail(w->run->program, "%s", err.message);
        rest(w);
        st = cbx_resource_monitor_stop(m, &report, &err);
        if (!st && !report.ended && process_value(&report, w->a->metric, &value)) take(w, value);
        cbx_resource_monitor_free(m);
        if (st) return opt_fail(w->run->program, "%s", err.message);
    } while (!report.ended && !over(w));
    return EXIT_PASS;
}

/* --- a store --- */

/* Values that came after *since; which moves on. */
static int take_new(watcher *w, cbx_store *store, size_t *seen)
{
    cbx_store_query query = { .metric = w->a->metric, .point = w->a->point };
    cbx_err err = CBX_ERR_INIT;
    int status = EXIT_PASS;
    cbx_trend trend;

    if (cbx_store_trend(store, &query, &trend, &err)) return opt_fail(w->run->program, "%s", err.message);
    if (trend.count > 1)
        status = opt_fail(w->run->program, "watch: %zu series have a metric '%s': choose one with --point", trend.count,
                          w->a->metric);
    if (trend.count == 1) {
        const cbx_trend_series *s = &trend.series[0];
        for (; *seen < s->npoints && !*w->stop; ++*seen) take(w, s->points[*seen].value);
    }
    cbx_trend_clear(&trend);
    return status;
}

static int follow_store(watcher *w)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_store *store = NULL;
    size_t seen = 0;
    int status;

    if (cbx_store_open(w->run->ctx, w->a->data, NULL, &store, &err))
        return opt_fail(w->run->program, "%s", err.message);
    while (!(status = take_new(w, store, &seen)) && !over(w)) rest(w);
    cbx_store_close(store);
    return status;
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

static int set_up(watcher *w)
{
    static const char *const statistics[] = { "mean", "p95", "min", "max", "failures" };
    const watch_args *a = w->a;
    cbx_alert_rule rule = {
        .metric = a->metric,
        .lower = a->lower,
        .levels = { a->info, a->warning, a->error, a->critical },
        .hysteresis = a->hysteresis,
        .raise_after = (uint32_t)a->raise_after,
        .clear_after = (uint32_t)a->clear_after,
        .quiet_ns = (uint64_t)(1e9 * a->quiet),
        .repeat_ns = (uint64_t)(1e9 * a->repeat),
    };
    cbx_err err = CBX_ERR_INIT;
    size_t known = 0;
    int status;

    while (a->statistic && known < CBX_LEN(statistics) && strcmp(a->statistic, statistics[known])) known++;
    if (known == CBX_LEN(statistics))
        return opt_fail(w->run->program, "watch --statistic: '%s' is none of mean, p95, min, max, failures",
                        a->statistic);
    if (a->fail_on && !cbx_severity_parse(a->fail_on, &w->fail_on))
        return opt_fail(w->run->program, "watch --fail-on: '%s' is none of info, warning, error, critical", a->fail_on);
    if (!(a->interval > 0 && a->interval <= 3600))
        return opt_fail(w->run->program, "watch --interval: above 0 and at most 3600 s");
    if (!(a->quiet >= 0 && a->repeat >= 0))
        return opt_fail(w->run->program, "watch: --quiet and --repeat must not be below 0");
    if (cbx_alerts_create(w->run->ctx, 16, &w->alerts, &err) || cbx_alerts_add_rule(w->alerts, &rule, &err) ||
        cbx_alerts_listen(w->alerts, on_alert, w, &err) ||
        cbx_window_create(w->run->ctx, a->window, 0, &w->window, &err))
        return opt_fail(w->run->program, "watch: %s", err.message);
    status = add_sinks(w, CBX_SINK_FILE, &a->files);
    if (!status) status = add_sinks(w, CBX_SINK_COMMAND, &a->commands);
    if (!status) status = add_sinks(w, CBX_SINK_WEBHOOK, &a->webhooks);
    return status;
}

/* What the watch comes to. */
static int conclude(const watcher *w)
{
    fprintf(stderr, "%zu values, %zu alerts\n", w->values, w->told);
    if (w->bad_lines) fprintf(stderr, "%zu lines were passed over\n", w->bad_lines);
    if (*w->stop) return EXIT_STOPPED;
    if (w->worst >= w->fail_on) return EXIT_CHECK;
    if (w->values == 0) return opt_fail(w->run->program, "watch: no value of '%s' came", w->a->metric);
    return w->lost ? EXIT_ERROR : EXIT_PASS;
}

static int run_watch(const opt_run *run)
{
    const watch_args *a = run->args;
    watcher w = { .run = run, .a = a, .stop = stop_catch(), .fail_on = CBX_SEVERITY_ERROR, .start_ns = cbx_clock_ns() };
    int status;

    if (!a->metric) return opt_fail(run->program, "watch: --metric is missing: name what to follow");
    if (a->pid && a->data) return opt_fail(run->program, "watch: --pid and --data: follow one of them");
    status = set_up(&w);
    if (!status) status = a->pid ? follow_process(&w) : a->data ? follow_store(&w) : follow_lines(&w);
    if (!status) status = conclude(&w);
    for (size_t i = 0; i < w.nsinks; i++) cbx_sink_free(w.sinks[i]);
    cbx_window_free(w.window);
    cbx_alerts_free(w.alerts);
    return status;
}

const opt_command watch_command = {
    "watch",
    "--metric NAME [--pid PID | --data DIR] [OPTION]...",
    "follow a metric and alert",
    "Follows the values of one metric: JSON lines on standard input (a number, or an object with the metric), a "
    "process and its "
    "children, or a store. A value beyond a level raises an alert of its severity; the alert is cleared when values "
    "have come back. A "
    "value that is no finite number is beyond every level. Alerts are printed, and go to files, commands and webhooks. "
    "Exit status: 0 no "
    "alert as bad as --fail-on, 1 there was one, 2 no data, a lost alert or a fault, 130 interrupted.",
    watch_options,
    CBX_LEN(watch_options),
    sizeof(watch_args),
    &defaults,
    0,
    run_watch,
};
