/*
 * calibrax watch: follows metrics, or the health of pipelines (watch_health.c), and alerts.  Values
 * come from lines of standard input, a process and a device beside it, or a store.
 */
#include "programs/calibrax/watch.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/hash_table.h"
#include "calibrax/profiling/gpu.h"
#include "calibrax/statistics/estimate.h"
#include "programs/calibrax/calibrax.h"
#include "programs/common/output.h"

#define MAX_LINE ((size_t)1 << 20)

static const watch_args defaults = { .levels = { NAN, NAN, NAN, NAN },
                                     .degraded_rate = 0.2,
                                     .critical_rate = 0.5,
                                     .degraded_slow = 1.2,
                                     .critical_slow = 2,
                                     .minimum = 3,
                                     .timeout = CBX_SINK_TIMEOUT_S,
                                     .statistic = -1,
                                     .fail_on = CBX_SEVERITY_ERROR - CBX_SEVERITY_INFO,
                                     .length = -1,
                                     .gpu = -1,
                                     .interval = 5,
                                     .raise_after = 1,
                                     .clear_after = 1 };

/*
 * Statistics of the window besides the mean, which is the default: the word of --statistic, and the
 * value by its facts f, or its n finite values x that are no failures.
 */
#define STATISTICS(X)                                                                                                  \
    X(median, (cbx_stat_median(w->run->ctx, x, n, &v, NULL), v))                                                       \
    X(p95, f.p95)                                                                                                      \
    X(min, f.min)                                                                                                      \
    X(max, f.max)                                                                                                      \
    X(failures, f.failure_rate)
#define NUMBER(word, value) STATISTIC_##word,
#define WORD(word, value)   " " #word
#define LISTED(word, value) ", " #word
enum { STATISTIC_mean, STATISTICS(NUMBER) };

#define AT(member) offsetof(watch_args, member)

static const opt_spec watch_options[] = {
    OPT("metric", 'm', STRING, select.metric, "NAME", NULL,
        "metric to follow; for a process and its children: cpu_percent, rss_mb, threads or processes; for a GPU: "
        "gpu_mem_mb (used by those processes), gpu_util, gpu_temperature_c, gpu_power_w, or gpu_slowed (1 while it is "
        "throttled)",
        "@metrics"),
    OPT_SWITCH("lower", 0, lower, "alert if values are below the levels, not above"),
    OPT("info", 0, REAL, levels[0], "X", NULL, "level of an alert of severity info"),
    OPT("warning", 'w', REAL, levels[1], "X", NULL, "level of an alert of severity warning"),
    OPT("error", 'e', REAL, levels[2], "X", NULL, "level of an alert of severity error"),
    OPT("critical", 'c', REAL, levels[3], "X", NULL, "level of an alert of severity critical"),
    OPT("rule", 0, EACH, rules, "METRIC:SEVERITY=X", NULL,
        "level of a metric, such as rss_mb:warning=2000; X may be drift[:SHARE], a relative drift over the last 50 "
        "values or --window (default 0.05), or modes[:SHARE], the share of values in the less frequent of two levels "
        "between which they alternate (default 0.1); may be repeated"),
    OPT("hysteresis", 0, NUMBER, hysteresis, "X", "0",
        "how far a value must return past a level to clear the alert; with --health: as a share of each limit"),
    OPT("raise-after", 0, POSITIVE, raise_after, "N", "1", "number of consecutive values before an alert"),
    OPT("clear-after", 0, POSITIVE, clear_after, "N", "1", "number of consecutive values before an alert is cleared"),
    OPT("window", 0, POSITIVE, window, "N", "1; 100 for a pipeline",
        "use a statistic of the last N values or executions"),
    OPT("statistic", 0, CHOICE, statistic, "WHAT", "mean",
        "statistic of the window: mean" STATISTICS(LISTED) "; failures is a share", "mean" STATISTICS(WORD)),
    OPT("quiet", 0, NUMBER, quiet, "SECONDS", "0",
        "minimum time between two alerts; a more severe one is never delayed"),
    OPT("repeat", 0, ABOVE, repeat, "SECONDS", "never", "repeat an alert while it lasts"),
    OPT("interval", 'n', ABOVE, interval, "SECONDS", "5", "time between two values of a process or a store"),
    OPT("for", 0, NUMBER, length, "SECONDS", "until the input ends",
        "stop after this time; 0: read the available values once"),
    OPT_SWITCH("once", 0, once,
               "for CI: read the available values once, report the alerts that are active at the end, and set the exit "
               "status by them"),
    OPT("fail-on", 0, CHOICE, fail_on, "SEVERITY", "error",
        "exit with 1 if there was an alert of at least this severity", "info warning error critical"),
    OPT_SWITCH("summary", 0, summary,
               "at the end, print the latest, minimum, maximum, mean and tendency of the last 1000 values, and the "
               "number of alerts by severity"),
    OPT_SWITCH("json", 0, select.json, "print alerts, and the summary, as JSON lines"),
    OPT_HEADING("Receivers of alerts", NULL),
    OPT("alerts", 'o', EACH, files, "FILE", NULL, "append alerts as JSON lines"),
    OPT("command", 0, EACH, commands, "CMD", NULL, "run this command for each alert, with its JSON on standard input"),
    OPT("webhook", 0, EACH, webhooks, "URL", NULL, "POST the JSON of each alert"),
    OPT("timeout", 0, ABOVE, timeout, "SECONDS", "10", "maximum time of a command or a webhook"),
    OPT_HEADING("A process", NULL),
    OPT("pid", 'p', POSITIVE, pid, "PID", NULL, "follow a process until it ends"),
    OPT("gpu", 0, INT, gpu, "N", "0 for a metric of a GPU", "also follow this NVIDIA GPU"),
    OPT_HEADING("A store", "data"),
    OPT("data", 0, STRING, select.data, "DIR", NULL,
        "follow a store: one value per run, oldest first, then new runs as they arrive"),
    SELECT_PLACE_ROWS,
    SELECT_TAG_ROW,
    SELECT_BRANCH_ROW,
    SELECT_MACHINE_ROW,
    OPT_SWITCH("allow-other-machine", 0, allow_machines, "accept values of several machines as one series"),
    OPT_SWITCH("allow-dropped", 0, allow_dropped, "with --once: do not fail if the newest run lacks a metric"),
    OPT_HEADING("Health of pipelines", "health"),
    OPT_SWITCH(
        "health", 0, health,
        "follow pipelines: standard input has lines such as {\"pipeline\": NAME, \"seconds\": X, \"success\": true}"),
    OPT("baseline", 0, EACH, baselines, "PIPELINE=X", "none, failures only",
        "expected duration of the pipeline in seconds"),
    OPT("age", 0, ABOVE, age, "SECONDS", "any", "ignore older executions"),
    OPT("minimum", 0, POSITIVE, minimum, "N", "3", "minimum number of executions before a state is reported"),
    OPT("degraded-rate", 0, NUMBER, degraded_rate, "X", "0.2", "share of failures above which a pipeline is degraded"),
    OPT("critical-rate", 0, NUMBER, critical_rate, "X", "0.5", "share of failures above which it is critical"),
    OPT("degraded-slow", 0, NUMBER, degraded_slow, "X", "1.2",
        "mean duration over the baseline above which it is degraded"),
    OPT("critical-slow", 0, NUMBER, critical_slow, "X", "2",
        "p95 of the duration over the baseline above which it is critical"),
};
static const opt_rule watch_rules[] = {
    { "", OPT_NEEDS, "metric rule health" },
    { "health", OPT_EXCLUDES, "metric rule info warning error critical lower once summary pid data statistic" },
    { "info,warning,error,critical", OPT_NEEDS, "metric" },
    { "once", OPT_EXCLUDES, "for quiet repeat" },
    { "allow-dropped", OPT_NEEDS, "once" },
    { "gpu", OPT_NEEDS, "pid" },
    { "pid", OPT_EXCLUDES, "data" },
};

/* --- alerts --- */

void watch_send(watcher *w, const cbx_alert *alert)
{
    const int64_t now_us = cbx_time_now_us();
    const paint how = alert->severity >= CBX_SEVERITY_ERROR ? PAINT_BAD : alert->severity ? PAINT_STRONG : PAINT_GOOD;
    char time[CBX_TIME_SIZE];

    w->sent++;
    if (alert->severity > w->worst) w->worst = alert->severity;
    if (w->a->select.json) {
        (void)print_json(w->run, cbx_alert_json(alert, now_us));
    } else {
        print_painted(PAINT_FAINT, "%s  ", cbx_time_format_iso(now_us, time));
        print_painted(how, "%-8s", alert->severity ? cbx_severity_name(alert->severity) : "clear");
        printf("  %s\n", alert->message);
    }
    fflush(stdout);
    for (size_t i = 0; i < w->nsinks; i++) {
        if (!cbx_sink_send(w->sinks[i], alert, now_us, w->run->err)) continue;
        w->lost++;
        opt_fail(w->run, "an alert was lost: %s", w->run->err->message);
    }
}

/* With --once, alerts wait for the end: only those that last are sent. */
static void on_alert(void *user, const cbx_alert *alert)
{
    watcher *w = user;
    size_t i = 0;

    while (i < w->nrules && (w->rules[i].pattern != alert->pattern || strcmp(w->rules[i].metric, alert->metric))) i++;
    if (w->a->once && i < w->nrules)
        w->latest[i] = *alert;
    else
        watch_send(w, alert);
}

int watch_alerts(watcher *w, size_t keep, cbx_alert_listener listener)
{
    const opt_run *run = w->run;
    int status = opt_check(run, cbx_alerts_create(run->ctx, keep, &w->alerts, run->err));

    return status ? status : opt_check(run, cbx_alerts_listen(w->alerts, listener, w, run->err));
}

/* Of the first metric rules see the statistic; a value that is not finite is seen itself: most
 * statistics ignore it, and would hide it. */
static void take(watcher *w, size_t i, double value)
{
#define CASE(word, value)                                                                                              \
    case STATISTIC_##word: seen = value; break;
    const uint64_t now_ns = w->a->once ? ++w->step : cbx_clock_ns();
    double *x = w->recent, v = NAN, seen = value;
    cbx_window_facts f;

    w->metrics[i].values++;
    if (i == 0) {
        w->values++;
        cbx_window_add(w->window, value, false, now_ns);
        if (w->history) cbx_window_add(w->history, value, false, now_ns);
    }
    if (i == 0 && w->of_window && (w->a->statistic == STATISTIC_failures || isfinite(value))) {
        cbx_window_read(w->window, now_ns, &f);
        size_t n = cbx_window_values(w->window, now_ns, x, w->a->window ? w->a->window : 1);
        switch (w->a->statistic) {
            STATISTICS(CASE)
        default: seen = f.mean;
        }
    }
    cbx_alerts_observe(w->alerts, w->metrics[i].name, seen, now_ns);
#undef CASE
}

/* --- rules: one a metric for its values, and one for each pattern of them, with all levels that
 * options give --- */

cbx_alert_rule watch_rule(const watcher *w, const char *metric)
{
    return (cbx_alert_rule){ .metric = metric,
                             .levels = { NAN, NAN, NAN, NAN },
                             .raise_after = (uint32_t)w->a->raise_after,
                             .clear_after = (uint32_t)w->a->clear_after,
                             .quiet_ns = (uint64_t)(1e9 * w->a->quiet),
                             .repeat_ns = w->a->once ? 1 : (uint64_t)(1e9 * w->a->repeat) };
}

/* The rule of a metric and a pattern, made if missing; there is capacity for all patterns of all
 * metrics. */
static cbx_alert_rule *find_rule(watcher *w, const char *metric, cbx_pattern_kind pattern)
{
    cbx_alert_rule *r = w->rules;

    for (; r < w->rules + w->nrules; r++)
        if (r->pattern == pattern && !strcmp(r->metric, metric)) return r;
    w->nrules++;
    *r = watch_rule(w, metric);
    r->lower = w->a->lower && pattern != CBX_PATTERN_MODES; /* a share of modes has no other side */
    r->hysteresis = pattern ? 0 : w->a->hysteresis;
    r->pattern = pattern;
    r->window = pattern && w->a->window ? w->a->window : CBX_PATTERN_WINDOW;
    return r;
}

/* A level "5" of values, or "drift", "drift:0.05" of a pattern. */
static bool read_level(const watcher *w, const char *word, cbx_pattern_kind *pattern, double *level)
{
    static const double defaults_of[] = { [CBX_PATTERN_DRIFT] = 0.05, [CBX_PATTERN_MODES] = 0.1 };
    size_t len = strcspn(word, ":");

    *pattern = CBX_PATTERN_NONE;
    if (!cbx_pattern_parse(cbx_arena_strndup(w->run->arena, word, len), pattern)) return opt_number(word, level);
    *level = defaults_of[*pattern];
    return !word[len] || (opt_number(word + len + 1, level) && *level >= 0);
}

/* "rss_mb:warning=2000" */
static int add_rule(watcher *w, const char *word)
{
    const char *equals = strrchr(word, '='), *colon, *metric;
    char *key = equals ? cbx_arena_strndup(w->run->arena, word, (size_t)(equals - word)) : NULL;
    cbx_pattern_kind pattern;
    cbx_severity severity;
    double level, *at;
    size_t i = 0;

    colon = key ? strrchr(key, ':') : NULL;
    metric = colon && colon > key ? cbx_arena_strndup(w->run->arena, key, (size_t)(colon - key)) : NULL;
    if (!metric || !read_level(w, equals + 1, &pattern, &level) || !cbx_severity_parse(colon + 1, &severity) ||
        severity == CBX_SEVERITY_NONE)
        return opt_fail(w->run,
                        "'--rule' must be METRIC:SEVERITY=X with info, warning, error or critical, and a number, "
                        "drift[:X] or modes[:X], got '%s'",
                        word);
    while (i < w->nmetrics && strcmp(w->metrics[i].name, metric)) i++;
    if (i == WATCH_MAX_METRICS) return opt_fail(w->run, "'--rule' must name at most %d metrics", WATCH_MAX_METRICS);
    if (i == w->nmetrics) w->metrics[w->nmetrics++] = (watched_metric){ metric, 0 };
    cbx_alert_rule *r = find_rule(w, w->metrics[i].name, pattern);
    at = &r->levels[severity - CBX_SEVERITY_INFO];
    if (!isnan(*at))
        return opt_fail(w->run, "'--rule' gives two levels of '%s' for the %s of '%s'", cbx_severity_name(severity),
                        cbx_pattern_name(pattern), metric);
    *at = pattern == CBX_PATTERN_DRIFT && r->lower ? -level : level;
    return EXIT_PASS;
}

static int set_rules(watcher *w)
{
    const watch_args *a = w->a;
    bool values = false, patterns = false;

    if (a->select.metric) w->metrics[w->nmetrics++] = (watched_metric){ a->select.metric, 0 };
    for (size_t i = 0; i < CBX_ALERT_LEVELS; i++)
        if (!isnan(a->levels[i])) find_rule(w, a->select.metric, CBX_PATTERN_NONE)->levels[i] = a->levels[i];
    for (size_t i = 0; i < a->rules.count; i++)
        if (add_rule(w, a->rules.items[i])) return EXIT_ERROR;
    for (size_t i = 0; i < w->nrules; i++) {
        if (w->rules[i].metric != w->metrics[0].name) continue;
        values = values || !w->rules[i].pattern;
        patterns = patterns || w->rules[i].pattern;
    }
    if (!values && !patterns) return opt_fail(w->run, "'%s' has no alert level", w->metrics[0].name);
    if (a->statistic >= 0 && !values)
        return opt_fail(w->run, "'--statistic' needs a level of the values of '%s'", w->metrics[0].name);
    if (patterns && values && (a->statistic >= 0 || a->window))
        return opt_fail(
            w->run,
            "'--window' and '--statistic' cannot apply to both the levels and the patterns of '%s': watch one of them",
            w->metrics[0].name);
    w->of_window = values && (a->window > 1 || a->statistic >= 0);
    for (size_t i = 0; i < w->nrules; i++) {
        cbx_alert_rule *r = &w->rules[i];
        /* a pattern clears at half of its lowest level, so that noise about a level alerts once */
        for (size_t k = CBX_ALERT_LEVELS; r->pattern && k-- > 0;)
            if (!isnan(r->levels[k])) r->hysteresis = 0.5 * fabs(r->levels[k]);
        if (opt_check(w->run, cbx_alerts_add_rule(w->alerts, r, w->run->err))) return EXIT_ERROR;
    }
    return EXIT_PASS;
}

/* The time is up, or a signal came. */
static bool is_over(const watcher *w)
{
    return *w->stop || (w->length >= 0 && 1e-9 * (double)(cbx_clock_ns() - w->start_ns) >= w->length);
}

/* Waits for an interval, or until it is over. */
static void wait_interval(const watcher *w)
{
    const struct timespec tick = { 0, 10000000 };
    uint64_t start = cbx_clock_ns();

    while (!is_over(w) && 1e-9 * (double)(cbx_clock_ns() - start) < w->a->interval) nanosleep(&tick, NULL);
}

/* --- lines on standard input --- */

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

typedef void line_fn(watcher *w, const char *line, size_t len);

/* Passes each line that is not blank to fn, without its end, until the input or the time ends. */
static int watch_lines(watcher *w, line_fn *fn)
{
    char *buffer = cbx_arena_alloc(w->run->arena, MAX_LINE);
    struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
    size_t len = 0;
    bool ended = false;
    while (!*w->stop && !ended) {
        char *from = buffer, *end;
        ssize_t n = 0;
        if (poll(&in, 1, 50) > 0) {
            n = read(STDIN_FILENO, buffer + len, MAX_LINE - len);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) return opt_fail(w->run, "cannot read standard input: %s", strerror(errno));
            ended = n == 0;
        } else {
            ended = is_over(w);
        }
        len += (size_t)n;
        while (from < buffer + len) {
            end = memchr(from, '\n', len - (size_t)(from - buffer));
            if (!end && !ended) break;
            if (!end) end = buffer + len;
            size_t line = (size_t)(end - from);
            while (line > 0 && is_blank(from[line - 1])) line--;
            if (line > 0) fn(w, from, line);
            from = end < buffer + len ? end + 1 : end;
        }
        len -= (size_t)(from - buffer);
        memmove(buffer, from, len);
        if (len == MAX_LINE) return opt_fail(w->run, "a line of standard input is longer than 1 MiB");
    }
    return EXIT_PASS;
}

/* What C's printf writes of a number that is not finite, for which JSON has no word. */
static bool read_nonfinite(const char *line, size_t len, double *value)
{
    char word[16], *end;

    while (len > 0 && is_blank(*line)) line++, len--;
    if (len == 0 || len >= sizeof word || memchr(line, 0, len)) return false;
    memcpy(word, line, len);
    word[len] = 0;
    *value = strtod(word, &end);
    return !*end && !isfinite(*value);
}

/* A number, which is of the first metric, or an object with some of them, of which the first one
 * comes last. */
static void take_value(watcher *w, const char *line, size_t len)
{
    SCOPED(cbx_json) *json = NULL;
    double value;
    bool found = false;

    if (cbx_json_parse(line, len, "standard input", &json, NULL)) {
        found = read_nonfinite(line, len, &value);
        if (found) take(w, 0, value);
    } else if (cbx_json_typeof(json) == CBX_JSON_INT || cbx_json_typeof(json) == CBX_JSON_DOUBLE) {
        found = true;
        take(w, 0, cbx_json_double_value(json));
    } else if (cbx_json_typeof(json) == CBX_JSON_OBJECT) {
        for (size_t i = w->nmetrics; i-- > 0;) {
            if (!cbx_json_has(json, w->metrics[i].name)) continue;
            take(w, i, cbx_json_get_double(json, w->metrics[i].name, NAN));
            found = true;
        }
    }
    if (!found && w->bad_lines++ == 0)
        opt_fail(w->run, "a line without '%s' is ignored: '%.*s'", w->metrics[0].name, (int)(len < 60 ? len : 60),
                 line);
}

/* --- a process with its children, and a device --- */

typedef struct fact {
    const char *name;
    bool of_device;
    double value;
} fact;

/* Means over the last interval, and what is sampled as its last sample has it.  No name: there is
 * no such metric. */
static fact process_value(const cbx_resource_report *r, const char *metric)
{
    static const cbx_resource_sample none = { .gpu_util = NAN };
    const cbx_resource_sample *last = r->nsamples ? &r->samples[r->nsamples - 1] : &none;
    const fact known[] = {
        { "cpu_percent", false, r->mean_cpu_percent },
        { "rss_mb", false, (double)last->rss_bytes / 1048576 },
        { "threads", false, last->threads },
        { "processes", false, last->processes },
        { "gpu_mem_mb", true, last->gpu_tree_mem_mb },
        { "gpu_util", true, r->summary.mean_gpu_util },
        { "gpu_temperature_c", true, last->gpu_temperature_c },
        { "gpu_power_w", true, r->summary.mean_gpu_power_w },
        { "gpu_slowed", true, cbx_gpu_is_slowed(r->gpu_throttle) },
    };

    for (size_t i = 0; i < CBX_LEN(known); i++)
        if (!strcmp(known[i].name, metric)) return known[i];
    return (fact){ .name = NULL };
}

static int watch_process(watcher *w)
{
    const cbx_resource_report none = { .nsamples = 0 };
    cbx_resource_opts opts = CBX_RESOURCE_OPTS_INIT;
    cbx_gpu *gpu = NULL;
    double celsius = NAN, watt = NAN; /* maximum of each; NaN: unknown */
    uint64_t throttle = 0;
    int index = w->a->gpu, status = EXIT_PASS;
    char words[CBX_GPU_THROTTLE_SIZE];
    bool ended = false;

    for (size_t i = 0; i < w->nmetrics; i++) {
        const char *metric = w->metrics[i].name;
        const fact asked = process_value(&none, metric);
        if (!asked.name)
            return opt_fail(w->run,
                            "a metric of '--pid' must be cpu_percent, rss_mb, threads, processes, gpu_mem_mb, "
                            "gpu_util, gpu_temperature_c, gpu_power_w or gpu_slowed, got '%s'",
                            metric);
        if (asked.of_device && index < 0) index = 0;
    }
    if (index >= 0 && opt_check(w->run, cbx_gpu_open(w->run->ctx, (unsigned)index, NULL, &gpu, w->run->err)))
        return EXIT_ERROR;
    opts.pid = (pid_t)w->a->pid;
    opts.interval_s = fmin(w->a->interval, 0.1);
    opts.device = gpu ? cbx_gpu_sample : NULL;
    opts.device_user = gpu;
    do {
        cbx_resource_report report;
        cbx_resource_monitor *m = NULL;
        cbx_status st = cbx_resource_monitor_start(w->run->ctx, &opts, &m, w->run->err);
        if (st == CBX_ENOENT && w->values > 0) break; /* it has ended */
        status = opt_check(w->run, st);
        if (status) break;
        wait_interval(w);
        cbx_resource_monitor_stop(m, &report, NULL);
        ended = report.ended;
        celsius = fmax(celsius, report.peak_gpu_temperature_c);
        watt = fmax(watt, report.summary.mean_gpu_power_w);
        throttle |= report.gpu_throttle;
        /* a value that the device does not report is NaN, which is beyond every level */
        for (size_t i = 0; !ended && i < w->nmetrics; i++) take(w, i, process_value(&report, w->metrics[i].name).value);
        cbx_resource_monitor_free(m);
    } while (!ended && !is_over(w));
    if (!status && gpu) {
        const bool slowed = cbx_gpu_is_slowed(throttle);
        fprintf(stderr, "GPU '%s':", cbx_gpu_name(gpu));
        if (!isnan(celsius)) fprintf(stderr, " at most %.6g C,", celsius);
        if (!isnan(watt)) fprintf(stderr, " %.6g W,", watt);
        fprintf(stderr, " %s%s\n", slowed ? "throttled by " : "never throttled",
                slowed ? cbx_gpu_throttle_words(throttle & ~(uint64_t)CBX_GPU_THROTTLE_IDLE, words) : "");
    }
    cbx_gpu_close(gpu);
    return status;
}

/* --- a store: a value a run of each metric, oldest first, then those of runs as they come --- */

/* What was taken of a store for one metric. */
typedef struct followed {
    size_t metric;
    const char *series;       /* NULL: unknown so far */
    cbx_names runs;           /* ids of runs whose value was taken */
    cbx_same_machine machine; /* what was noted of its machines */
} followed;

/* Refuses a newest run that lacks the metric or cannot be read: values of older runs would pass in
 * its place. */
static int check_newest(watcher *w, cbx_store *store, const char *metric, const char *last)
{
    const cbx_store_query query = { .branch = w->a->select.branch, .machine = w->a->select.machine, .limit = 1 };
    CLEARED(cbx_store_list) list = { 0 };

    if (opt_check(w->run, cbx_store_query_runs(store, &query, &list, w->run->err))) return EXIT_ERROR;
    int status = select_need_newest(w->run, store, &list, "");
    if (!status && !w->a->allow_dropped && list.count && strcmp(list.entries[0].id, last))
        return opt_fail(w->run,
                        "the newest run, '%s', has no '%s', which run '%s' had: choose runs with --branch or "
                        "--machine, or use --allow-dropped",
                        list.entries[0].id, metric, last);
    return status;
}

/* A run counts when it is first seen, whatever its time: one that was measured elsewhere may come
 * late. */
static int take_new(watcher *w, cbx_store *store, followed *at)
{
    const char *metric = w->metrics[at->metric].name;
    cbx_store_query query;
    CLEARED(cbx_trend) trend = { 0 };
    int status = select_query(w->run, &w->a->select, &query);

    query.metric = metric;
    if (!status) status = opt_check(w->run, cbx_store_trend(store, &query, &trend, w->run->err));
    if (status || !trend.count) return status;
    const cbx_trend_series *s = &trend.series[0];
    const cbx_point p = { s->point, s->scenario, s->tags, s->ntags, NULL, 0 };
    const char *name = point_key(w->run->arena, &p, NULL);
    if (!at->series) at->series = name;
    if (trend.count > 1 || strcmp(at->series, name))
        return opt_fail(w->run, "several series have the metric '%s': choose one with --point, --scenario or --tag",
                        metric);
    status = select_check_machines(w->run, s, metric, w->a->allow_machines, &at->machine);
    if (!status) status = select_check_units(w->run, store, s, metric, false);
    if (!status && w->a->once && s->npoints) status = check_newest(w, store, metric, s->points[s->npoints - 1].run_id);
    for (size_t i = 0; !status && i < s->npoints && !*w->stop; i++) {
        const size_t known = at->runs.n;
        if (cbx_names_add(&at->runs, s->points[i].run_id) == known) take(w, at->metric, s->points[i].value);
    }
    return status;
}

static int watch_store(watcher *w)
{
    followed places[WATCH_MAX_METRICS] = { 0 };
    SCOPED(cbx_store) *store = NULL;
    int status = EXIT_PASS;

    if (opt_check(w->run, cbx_store_open(w->run->ctx, w->a->select.data, NULL, &store, w->run->err))) return EXIT_ERROR;
    for (size_t i = 0; i < w->nmetrics; i++) {
        places[i].metric = i;
        cbx_names_init(&places[i].runs, &w->run->arena->al);
    }
    for (;;) {
        for (size_t i = 0; !status && i < w->nmetrics; i++) status = take_new(w, store, &places[i]);
        if (status || is_over(w)) break;
        wait_interval(w);
    }
    for (size_t i = 0; i < w->nmetrics; i++) cbx_names_clear(&places[i].runs);
    return status;
}

/* --- the command --- */

static int set_up(watcher *w)
{
    const opt_run *run = w->run;
    const watch_args *a = w->a;
    const opt_list *const lists[] = { &a->files, &a->commands, &a->webhooks };
    const cbx_sink_kind kinds[] = { CBX_SINK_FILE, CBX_SINK_COMMAND, CBX_SINK_WEBHOOK };
    int status;

    if (a->interval > 3600) return opt_fail(run, "'--interval' must be at most 3600 s, got %g", a->interval);
    if (!(a->quiet <= WATCH_MAX_SECONDS && a->repeat <= WATCH_MAX_SECONDS))
        return opt_fail(run, "'--quiet' and '--repeat' must be at most %g s", WATCH_MAX_SECONDS);
    if (a->raise_after > UINT32_MAX || a->clear_after > UINT32_MAX)
        return opt_fail(run, "'--raise-after' and '--clear-after' must be at most %u", UINT32_MAX);
    if (a->health) {
        status = watch_health_begin(w);
    } else {
        status = watch_alerts(w, a->summary ? 1000 : 16, on_alert);
        if (!status)
            status = opt_check(run, cbx_window_create(run->ctx, a->window ? a->window : 1, 0, &w->window, run->err));
        if (!status) w->recent = cbx_arena_calloc(run->arena, a->window ? a->window : 1, sizeof *w->recent);
        if (!status && a->summary)
            status = opt_check(run, cbx_window_create(run->ctx, CBX_TENDENCY_MAX, 0, &w->history, run->err));
        if (!status) status = set_rules(w);
    }
    if (status) return status;
    for (size_t k = 0; k < CBX_LEN(lists); k++)
        for (size_t i = 0; i < lists[k]->count; i++, w->nsinks++) {
            if (w->nsinks == CBX_LEN(w->sinks))
                return opt_fail(run, "the maximum is %zu receivers of alerts", CBX_LEN(w->sinks));
            if (opt_check(run, cbx_sink_create(run->ctx, kinds[k], lists[k]->items[i], a->timeout, &w->sinks[w->nsinks],
                                               run->err)))
                return EXIT_ERROR;
        }
    return EXIT_PASS;
}

/* The last values and their tendency, where above a level is bad, and the number of alerts of each
 * severity. */
static int summarize(const watcher *w)
{
    uint64_t now_ns = cbx_clock_ns();
    double *values = cbx_arena_calloc(w->run->arena, CBX_TENDENCY_MAX, sizeof *values);
    const char *word, *before = "Alerts: ";
    cbx_window_facts f;
    cbx_tendency t;
    cbx_window_read(w->history, now_ns, &f);
    if (opt_check(w->run, cbx_tendency_find(w->run->ctx, values,
                                            cbx_window_values(w->history, now_ns, values, CBX_TENDENCY_MAX),
                                            CBX_TENDENCY_THRESHOLD, 0.95, &t, w->run->err)))
        return EXIT_ERROR;
    word = cbx_tendency_name(t.kind, w->a->lower ? CBX_DIRECTION_HIGHER : CBX_DIRECTION_LOWER);
    if (w->a->select.json) {
        cbx_json *o = cbx_json_document("calibrax-watch-summary", J_TEXT("metric", w->metrics[0].name),
                                        J_INT("values", f.count), J_NUMBER("latest", f.last), J_NUMBER("min", f.min),
                                        J_NUMBER("max", f.max), J_NUMBER("mean", f.mean),
                                        J_JSON("tendency", tendency_json(&t, word)));
        cbx_json *alerts = cbx_json_set_object(o, "alerts");
        for (cbx_severity s = CBX_SEVERITY_INFO; s <= CBX_SEVERITY_CRITICAL; s++)
            cbx_json_set_int(alerts, cbx_severity_name(s), (int64_t)cbx_alerts_by_severity(w->alerts, s, NULL, 0));
        return print_json(w->run, o);
    }
    print_painted(PAINT_STRONG, "%s", w->metrics[0].name);
    printf(": latest %.6g, minimum %.6g, maximum %.6g, mean %.6g of %zu values\n", f.last, f.min, f.max, f.mean,
           f.count);
    print_tendency(&t, word);
    for (cbx_severity s = CBX_SEVERITY_CRITICAL; s >= CBX_SEVERITY_INFO; s--) {
        size_t n = cbx_alerts_by_severity(w->alerts, s, NULL, 0);
        if (!n) continue;
        printf("%s%zu %s", before, n, cbx_severity_name(s));
        before = ", ";
    }
    printf(*before == 'A' ? "Alerts: 0\n" : "\n");
    return EXIT_PASS;
}

/* The exit status.  A lost alert was reported when it was lost; its receiver waits in vain, however
 * severe the others were. */
static int conclude(const watcher *w)
{
    fprintf(stderr, "%zu value%s, %zu alert%s\n", w->values, w->values == 1 ? "" : "s", w->sent,
            w->sent == 1 ? "" : "s");
    if (w->bad_lines) fprintf(stderr, "%zu line%s ignored\n", w->bad_lines, w->bad_lines == 1 ? "" : "s");
    if (*w->stop) return EXIT_STOPPED;
    if (w->lost) return EXIT_ERROR;
    if (w->worst >= w->fail_on) return EXIT_CHECK;
    if (w->values == 0 && w->health) return opt_fail(w->run, "watch: no execution was received");
    for (size_t i = 0; i < w->nmetrics; i++)
        if (!w->metrics[i].values) return opt_fail(w->run, "watch: no value of '%s' was received", w->metrics[i].name);
    return EXIT_PASS;
}

static int run_watch(const opt_run *run)
{
    const watch_args *a = run->args;
    watcher w = { .run = run, .a = a, .stop = stop_catch(), .start_ns = cbx_clock_ns() };

    w.fail_on = (cbx_severity)(a->fail_on + CBX_SEVERITY_INFO);
    w.length = a->once && (a->pid || a->select.data) ? 0 : a->length;
    int status = set_up(&w);
    if (!status)
        status = a->health        ? watch_lines(&w, watch_health_take)
                 : a->pid         ? watch_process(&w)
                 : a->select.data ? watch_store(&w)
                                  : watch_lines(&w, take_value);
    if (!status && a->health) status = watch_health_end(&w);
    for (size_t i = 0; !status && a->once && i < w.nrules; i++)
        if (w.latest[i].severity != CBX_SEVERITY_NONE) watch_send(&w, &w.latest[i]);
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
    .description =
        "Follows the values of metrics: from JSON lines on standard input (a number, or an object with the metric), "
        "from a process and its children, or from a store. A value beyond a level raises an alert of the level's "
        "severity, and so does a drift or a second mode of the values; the alert is cleared when the values return. A "
        "value that is not a finite number is beyond every level. Alerts are printed, and sent to files, commands and "
        "webhooks. Exit status 0: no alert of the severity of --fail-on; 1: there was one, and all alerts reached "
        "their receivers; 2: an alert was lost, a metric has no data, or an error; 130: interrupted.",
    OPT_OPTIONS_RULES(watch),
    .defaults = &defaults,
};
