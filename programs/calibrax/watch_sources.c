/*
 * The sources of `calibrax watch`: lines of standard input, a process and a device beside it, a store, executions of pipelines.
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
#include "calibrax/base/table.h"
#include "calibrax/profiling/gpu.h"
#include "programs/calibrax/select.h"
#include "programs/calibrax/watch.h"
#include "programs/common/columns.h"
#include "programs/common/output.h"

#define MAX_LINE ((size_t)1 << 20)

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

typedef void take_fn(watcher *w, const char *line, size_t len);

/* Passes each line that is not blank to `take`, without its end, until the input or the time ends. */
static int watch_lines(watcher *w, take_fn *take)
{
    char *buffer = cbx_arena_alloc(w->run->arena, MAX_LINE);
    struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
    size_t len = 0;
    bool ended = false;

    if (!buffer) return opt_fail(w->run->program, "out of memory");
    while (!*w->stop && !ended) {
        char *from = buffer, *end;
        ssize_t n = 0;
        if (poll(&in, 1, 50) > 0) {
            n = read(STDIN_FILENO, buffer + len, MAX_LINE - len);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) return opt_fail(w->run->program, "cannot read standard input: %s", strerror(errno));
            ended = n == 0;
        } else {
            ended = is_over(w);
        }
        len += (size_t)n;
        while (from < buffer + len) {
            size_t line;
            end = memchr(from, '\n', len - (size_t)(from - buffer));
            if (!end && !ended) break;
            if (!end) end = buffer + len;
            line = (size_t)(end - from);
            while (line > 0 && is_blank(from[line - 1])) line--;
            if (line > 0) take(w, from, line);
            from = end < buffer + len ? end + 1 : end;
        }
        len -= (size_t)(from - buffer);
        memmove(buffer, from, len);
        if (len == MAX_LINE) return opt_fail(w->run->program, "a line of standard input is longer than 1 MiB");
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

/* A number, which is of the first metric, or an object with some of them, of which the first one comes last. */
static void take_value(watcher *w, const char *line, size_t len)
{
    cbx_json *json = NULL;
    double value;
    bool found = false;

    if (cbx_json_parse(line, len, "standard input", &json, NULL)) {
        found = read_nonfinite(line, len, &value);
        if (found) watch_take(w, 0, value);
    } else if (cbx_json_typeof(json) == CBX_JSON_INT || cbx_json_typeof(json) == CBX_JSON_DOUBLE) {
        found = true;
        watch_take(w, 0, cbx_json_double_value(json));
    } else if (cbx_json_typeof(json) == CBX_JSON_OBJECT) {
        for (size_t i = w->nmetrics; i-- > 0;) {
            if (!cbx_json_has(json, w->metrics[i].name)) continue;
            watch_take(w, i, cbx_json_get_double(json, w->metrics[i].name, NAN));
            found = true;
        }
    }
    cbx_json_unref(json);
    if (!found && w->bad_lines++ == 0)
        opt_fail(w->run->program, "a line without '%s' is ignored: '%.*s'", w->metrics[0].name,
                 (int)(len < 60 ? len : 60), line);
}

int watch_values(watcher *w) { return watch_lines(w, take_value); }

/* --- a process with its children, and a device --- */

/* The device over the whole watch. */
typedef struct device {
    cbx_gpu *gpu;         /* NULL: no device */
    double celsius, watt; /* maximum of each; NaN: unknown */
    uint64_t throttle;
} device;

typedef struct fact {
    const char *name;
    bool of_device;
    double value;
} fact;

/* Means over the last interval, and what is sampled as its last sample has it. */
static bool process_value(const cbx_resource_report *r, const char *metric, fact *out)
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

    for (size_t i = 0; i < CBX_LEN(known); i++) {
        if (strcmp(known[i].name, metric)) continue;
        *out = known[i];
        return true;
    }
    return false;
}

/* One interval.  *ended: the process has ended. */
static int watch_interval(watcher *w, device *d, bool *ended)
{
    cbx_resource_opts opts = CBX_RESOURCE_OPTS_INIT;
    cbx_resource_report report;
    cbx_resource_monitor *m = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;
    fact found;

    opts.pid = (pid_t)w->a->pid;
    opts.interval_s = fmin(w->a->interval, 0.1);
    opts.device = d->gpu ? cbx_gpu_sample : NULL;
    opts.device_user = d->gpu;
    st = cbx_resource_monitor_start(w->run->ctx, &opts, &m, &err);
    *ended = st == CBX_ENOENT && w->values > 0;
    if (*ended) return EXIT_PASS;
    if (st) return opt_fail(w->run->program, "%s", err.message);
    wait_interval(w);
    cbx_resource_monitor_stop(m, &report, NULL);
    *ended = report.ended;
    d->celsius = fmax(d->celsius, report.peak_gpu_temperature_c);
    d->watt = fmax(d->watt, report.summary.mean_gpu_power_w);
    d->throttle |= report.gpu_throttle;
    /* a value that the device does not report is NaN, which is beyond every level */
    for (size_t i = 0; !report.ended && i < w->nmetrics; i++)
        if (process_value(&report, w->metrics[i].name, &found)) watch_take(w, i, found.value);
    cbx_resource_monitor_free(m);
    return EXIT_PASS;
}

int watch_process(watcher *w)
{
    const cbx_resource_report none = { .nsamples = 0 };
    device d = { .celsius = NAN, .watt = NAN };
    int index = w->a->gpu, status = EXIT_PASS;
    char words[CBX_GPU_THROTTLE_SIZE];
    cbx_err err = CBX_ERR_INIT;
    bool ended = false;
    fact asked;

    for (size_t i = 0; i < w->nmetrics; i++) {
        const char *metric = w->metrics[i].name;
        if (!process_value(&none, metric, &asked))
            return opt_fail(w->run->program,
                            "a metric of '--pid' must be cpu_percent, rss_mb, threads, processes, gpu_mem_mb, "
                            "gpu_util, gpu_temperature_c, gpu_power_w or gpu_slowed, got '%s'",
                            metric);
        if (asked.of_device && index < 0) index = 0;
    }
    if (index >= 0 && cbx_gpu_open(w->run->ctx, (unsigned)index, NULL, &d.gpu, &err))
        return opt_fail(w->run->program, "watch: %s", err.message);
    while (!status && !ended) {
        status = watch_interval(w, &d, &ended);
        if (is_over(w)) break;
    }
    if (!status && d.gpu) {
        const bool slowed = cbx_gpu_is_slowed(d.throttle);
        fprintf(stderr, "GPU '%s':", cbx_gpu_name(d.gpu));
        if (!isnan(d.celsius)) fprintf(stderr, " at most %.6g C,", d.celsius);
        if (!isnan(d.watt)) fprintf(stderr, " %.6g W,", d.watt);
        fprintf(stderr, " %s%s\n", slowed ? "slowed down by " : "never seen slowed down",
                slowed ? cbx_gpu_throttle_words(d.throttle & ~(uint64_t)CBX_GPU_THROTTLE_IDLE, words) : "");
    }
    cbx_gpu_close(d.gpu);
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

/* Refuses a newest run that lacks the metric or cannot be read: values of older runs would pass in its place. */
static int check_newest(watcher *w, cbx_store *store, const char *metric, const char *last)
{
    const select_args runs = { .branch = w->a->branch, .machine = w->a->machine };
    cbx_store_query query;
    cbx_store_list list;
    cbx_err err = CBX_ERR_INIT;
    int status = select_query(w->run, &runs, &query);

    query.limit = 1;
    if (status) return status;
    if (cbx_store_query_runs(store, &query, &list, &err)) return opt_fail(w->run->program, "%s", err.message);
    status = select_need_newest(w->run, store, &list, "");
    if (!status && !w->a->allow_dropped && list.count && strcmp(list.entries[0].id, last))
        status = opt_fail(w->run->program,
                          "the newest run, '%s', has no '%s', which run '%s' had: choose runs with --branch or "
                          "--machine, or use --allow-dropped",
                          list.entries[0].id, metric, last);
    cbx_store_list_clear(&list);
    return status;
}

/* A run counts when it is first seen, whatever its time: one that was measured elsewhere may come late. */
static int take_series(watcher *w, cbx_store *store, const cbx_trend *trend, followed *at)
{
    const cbx_trend_series *s = &trend->series[0];
    const cbx_point p = { s->point, s->scenario, s->tags, s->ntags, NULL, 0 };
    const char *metric = w->metrics[at->metric].name, *name = point_key(w->run->arena, &p, NULL);
    int status = EXIT_PASS;

    if (!name) return opt_fail(w->run->program, "out of memory");
    if (!at->series) at->series = name;
    if (trend->count > 1 || strcmp(at->series, name))
        return opt_fail(w->run->program,
                        "several series have a metric '%s': choose one with --point, --scenario or --tag", metric);
    status = select_check_machines(w->run, s, metric, w->a->allow_machines, &at->machine);
    if (!status) status = select_check_units(w->run, store, s, metric, false);
    if (!status && w->a->once && s->npoints) status = check_newest(w, store, metric, s->points[s->npoints - 1].run_id);
    for (size_t i = 0; !status && i < s->npoints && !*w->stop; i++) {
        const size_t known = at->runs.n, number = cbx_names_add(&at->runs, s->points[i].run_id);
        if (number == CBX_NO_NAME)
            status = opt_fail(w->run->program, "out of memory");
        else if (number == known)
            watch_take(w, at->metric, s->points[i].value);
    }
    return status;
}

static int take_new(watcher *w, cbx_store *store, followed *at)
{
    const watch_args *a = w->a;
    const select_args points = { .metric = w->metrics[at->metric].name,
                                 .point = a->point,
                                 .scenario = a->scenario,
                                 .branch = a->branch,
                                 .machine = a->machine,
                                 .tags = a->tags };
    cbx_store_query query;
    cbx_err err = CBX_ERR_INIT;
    cbx_trend trend;
    int status = select_query(w->run, &points, &query);

    if (status) return status;
    if (cbx_store_trend(store, &query, &trend, &err)) return opt_fail(w->run->program, "%s", err.message);
    if (trend.count) status = take_series(w, store, &trend, at);
    cbx_trend_clear(&trend);
    return status;
}

int watch_store(watcher *w)
{
    followed places[WATCH_MAX_METRICS] = { 0 };
    cbx_err err = CBX_ERR_INIT;
    cbx_store *store = NULL;
    int status = EXIT_PASS;

    if (cbx_store_open(w->run->ctx, w->a->data, NULL, &store, &err))
        return opt_fail(w->run->program, "%s", err.message);
    for (size_t i = 0; i < w->nmetrics; i++) {
        places[i].metric = i;
        cbx_names_init(&places[i].runs, cbx_ctx_allocator(w->run->ctx));
    }
    for (;;) {
        for (size_t i = 0; !status && i < w->nmetrics; i++) status = take_new(w, store, &places[i]);
        if (status || is_over(w)) break;
        wait_interval(w);
    }
    for (size_t i = 0; i < w->nmetrics; i++) cbx_names_clear(&places[i].runs);
    cbx_store_close(store);
    return status;
}

/* --- executions of pipelines: the state of each is a value of the alert engine --- */

/* The engine's message is about numbers; this one is about the pipeline. */
static void on_state(void *user, const cbx_alert *alert)
{
    watcher *w = user;
    cbx_alert changed = *alert;

    snprintf(changed.message, sizeof changed.message, "pipeline '%.60s' is %s%s%.60s",
             plain_text(w->run->arena, alert->metric),
             alert->severity ? cbx_health_state_name(w->now.state) : "healthy again", *w->now.reason ? ": " : "",
             w->now.reason);
    watch_alert(w, &changed);
}

/* A degraded pipeline is a warning, a critical one is critical; an unknown state is below both. */
static int add_pipeline(watcher *w, const char *pipeline)
{
    cbx_alert_rule rule = watch_rule(w, pipeline);
    cbx_err err = CBX_ERR_INIT;

    rule.levels[1] = CBX_HEALTH_DEGRADED - 0.5;
    rule.levels[3] = CBX_HEALTH_CRITICAL - 0.5;
    return cbx_alerts_add_rule(w->alerts, &rule, &err) ? opt_fail(w->run->program, "watch: %s", err.message)
                                                       : EXIT_PASS;
}

int watch_health_begin(watcher *w)
{
    const watch_args *a = w->a;
    cbx_health_opts o = CBX_HEALTH_OPTS_INIT;
    cbx_err err = CBX_ERR_INIT;

    if (!(a->age >= 0 && a->age <= 1e9))
        return opt_fail(w->run->program, "'--age' must be at most 1e9 s, got %g", a->age);
    if (a->window) o.window = a->window;
    o.age_ns = (uint64_t)(1e9 * a->age);
    if (a->minimum) o.min_executions = a->minimum;
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
            return opt_fail(w->run->program, "'--baseline' of '%s': %s", pipeline, err.message);
        if (add_pipeline(w, pipeline)) return EXIT_ERROR;
    }
    return EXIT_PASS;
}

/* Place of a pipeline in the book, with its report; the count of pipelines: it is new. */
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

    if (place_of(w, pipeline, now_ns, &r) == cbx_health_count(w->health) && add_pipeline(w, pipeline))
        return EXIT_ERROR;
    if (cbx_health_record(w->health, pipeline, seconds, success, now_ns, &err))
        return opt_fail(w->run->program, "watch: %s", err.message);
    (void)place_of(w, pipeline, now_ns, &w->now);
    w->values++;
    cbx_alerts_observe(w->alerts, pipeline, w->now.state, now_ns);
    return EXIT_PASS;
}

/* {"pipeline": NAME, "seconds": X, "success": true}; a failure may lack the seconds. */
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
            opt_fail(w->run->program, "a line without 'pipeline' and 'seconds' is ignored: '%.*s'",
                     (int)(len < 60 ? len : 60), line);
    } else if (record(w, pipeline, seconds, success)) {
        w->lost++;
    }
    cbx_json_unref(json);
}

int watch_health(watcher *w) { return watch_lines(w, take_execution); }

int watch_health_end(watcher *w)
{
    static const char *const heads[] = { "Pipeline", "State", "Runs", "Failures", "Mean", "p95", "Baseline", "" };
    static const paint paints[] = { PAINT_FAINT, PAINT_GOOD, PAINT_STRONG, PAINT_BAD };
    const size_t n = cbx_health_count(w->health);
    const uint64_t now_ns = cbx_clock_ns();
    cbx_arena *arena = w->run->arena;
    columns *table = n && !w->a->json ? columns_begin(arena, heads, "llrrrrrl") : NULL;
    cbx_json *o = n && w->a->json ? new_document("calibrax-health") : NULL, *list = cbx_json_new_array();
    char text[CBX_FORMAT_SIZE];

    for (size_t i = 0; i < n; i++) {
        cbx_health_report r;
        cbx_health_read(w->health, i, now_ns, &r);
        const double seconds[] = { r.window.mean, r.window.p95, r.baseline_s };
        if (w->a->json) {
            cbx_json *p = cbx_json_push_object(list);
            json_put(p, J_TEXT("pipeline", r.pipeline), J_TEXT("state", cbx_health_state_name(r.state)),
                     J_TEXT("reason", r.reason), J_INT("executions", r.executions), J_INT("window", r.window.count),
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
    if (table) return columns_print(table, "") ? EXIT_PASS : opt_fail(w->run->program, "out of memory");
    if (!o) return EXIT_PASS;
    cbx_json_set_string(o, "overall", cbx_health_state_name(cbx_health_overall(w->health, now_ns)));
    cbx_json_set(o, "pipelines", list);
    return print_json(w->run->program, o);
}
