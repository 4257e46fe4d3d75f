/*
 * Files of other benchmark tools, one JSON document a run: Google Benchmark, hyperfine,
 * pytest-benchmark, pyperf, Bencher Metric Format, github-action-benchmark, Perfherder.
 *
 * All of them are a list of entries behind a few facts, so a format is a row of `forms`: where its
 * list is, what precedes it, and what a point adds to it.  The first three have a place for one
 * time of a point only; the others for each metric.  What a format has no place for is left out,
 * and a note of the report counts it.  Names, tags and numbers are written so that our importer
 * of the same format reads the same numbers back, to the last bit.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/hash_table.h"
#include "calibrax/base/json_put.h"
#include "calibrax/base/together.h"
#include "calibrax/exporters/job.h"
#include "calibrax/exporters/units.h"
#include "calibrax/statistics/estimate.h"

typedef struct document {
    cbx_export_job *job;
    const cbx_run *run;
    cbx__export_stream out; /* with the first fault */
    cbx_names names;        /* of entries: each is there once */
    CBX_LIST(size_t) next;  /* of each name: the number behind it that its next repetition gets */
    size_t nentries;
    const char *scenario;         /* of all points; NULL: they differ */
    size_t without_time, misfits; /* points; metrics that the format has no place for */
} document;

/* --- what entries are made from --- */

static void fail_nomem(document *d)
{
    if (!d->out.fault) d->out.fault = cbx_fail_nomem(&d->out.err, "an export");
}

/* Adds an element, or a member, and takes it. */
static void add_entry(document *d, const char *key, cbx_json *entry)
{
    cbx__export_stream_add(&d->out, key, entry);
    d->nentries++;
}

/* A copy of an object that an importer kept, or a new one. */
static cbx_json *kept(const cbx_json *parent, const char *key)
{
    const cbx_json *v = cbx_json_get(parent, key);

    return cbx_json_typeof(v) == CBX_JSON_OBJECT ? cbx_json_copy(v) : cbx_json_new_object();
}

/* A text of the run's arena that no entry has had before; NULL: the document has failed. */
static const char *unique(document *d, const char *name)
{
    const cbx_allocator *al = cbx_ctx_allocator(d->job->ctx);
    const char *given = name;
    size_t first = CBX_NO_NAME;

    while (name) {
        size_t before = d->names.n, at = cbx_names_add(&d->names, name);
        if (at == CBX_NO_NAME) break;
        if (at == before) {
            if (!cbx_list_push(al, &d->next, (size_t)2)) break;
            return d->names.list[at];
        }
        if (first == CBX_NO_NAME) first = at;
        name = cbx_arena_printf(d->job->arena, "%s (%zu)", given, d->next.items[first]++);
    }
    fail_nomem(d);
    return NULL;
}

/* "scenario/name[key=value,...]:suffix", unique; a suffix NULL is left out. */
static const char *label_of(document *d, const cbx_point *p, const char *suffix)
{
    cbx_text out = cbx__arena_text(d->job->arena);

    cbx_text_printf(&out, "%s%s%s", p->scenario, *p->scenario ? "/" : "", p->name);
    for (size_t i = 0; i < p->ntags; i++)
        cbx_text_printf(&out, "%c%s=%s", i ? ',' : '[', p->tags[i].key, p->tags[i].value);
    if (p->ntags) cbx_text_putc(&out, ']');
    if (suffix) cbx_text_printf(&out, ":%s", suffix);
    return unique(d, out.status ? NULL : cbx_text_str(&out));
}

/* The next metric from *k on that is asked for and finite; NULL: no more. */
static const cbx_named_metric *next_metric(document *d, const cbx_point *p, size_t *k)
{
    while (!d->out.fault && *k < p->nmetrics) {
        const cbx_named_metric *m = &p->metrics[(*k)++];
        if (!cbx__export_wants(d->job, m->name)) continue;
        if (isfinite(m->metric.value)) return m;
    }
    return NULL;
}

/* Samples of a metric, or its value where it has none; in seconds or bytes where that is its
 * unit.  NULL: the document has failed. */
static const double *numbers_of(document *d, const cbx_named_metric *m, size_t *n)
{
    const cbx__unit *u = cbx__unit_of(d->run, m->name);
    bool has_samples = m->metric.nsamples && cbx__all_finite(m->metric.samples, m->metric.nsamples);
    const double *from = has_samples ? m->metric.samples : &m->metric.value;
    double *v;

    *n = has_samples ? m->metric.nsamples : 1;
    if (u->times == 1 && u->per == 1) return from;
    v = cbx_arena_calloc(d->job->arena, *n, sizeof *v);
    if (!v) fail_nomem(d);
    for (size_t i = 0; v && i < *n; i++) v[i] = from[i] * u->times / u->per;
    return v;
}

/* The time of a point, in seconds. */
typedef struct timing {
    const cbx_named_metric *metric;
    const double *times;
    size_t n;
    cbx_summary summary; /* of the times; of a single one what the point has about it (time_mean, ...) */
} timing;

/* A value in seconds or bytes where that is its unit. */
static double scaled(const document *d, const char *name, double value)
{
    const cbx__unit *u = cbx__unit_of(d->run, name);

    return value * u->times / u->per;
}

static double spread(const document *d, const cbx_point *p, const char *name, double fallback)
{
    const cbx_metric *m = cbx_point_metric(p, name);

    return m && isfinite(m->value) ? scaled(d, name, m->value) : fallback;
}

/* "time" before a primary metric before another one: a unit of time, and less is better.  false:
 * the point has none. */
static bool find_time(document *d, const cbx_point *p, timing *t)
{
    const cbx_named_metric *m;
    int best = 0;

    *t = (timing){ .n = 0 };
    for (size_t k = 0; (m = next_metric(d, p, &k));) {
        const cbx_metric_def *def = cbx_run_find_metric_def(d->run, m->name);
        int rank = !strcmp(m->name, "time") ? 3 : def && def->priority == CBX_PRIORITY_PRIMARY ? 2 : 1;
        bool is_time = cbx__unit_of(d->run, m->name)->kind == CBX__UNIT_TIME;
        if (!is_time || def->direction != CBX_DIRECTION_LOWER || rank <= best) continue;
        best = rank;
        t->metric = m;
    }
    if (t->metric) t->times = numbers_of(d, t->metric, &t->n);
    if (!t->times) {
        d->without_time++;
        return false;
    }
    if (!d->out.fault) d->out.fault = cbx_stat_summary(d->job->ctx, t->times, t->n, &t->summary, &d->out.err);
    if (t->n == 1) {
        cbx_summary *s = &t->summary;
        s->mean = spread(d, p, "time_mean", s->mean);
        s->stddev = spread(d, p, "time_stddev", s->stddev);
        s->min = spread(d, p, "time_min", s->min);
        s->max = spread(d, p, "time_max", s->max);
        s->p25 = spread(d, p, "time_q1", s->p25);
        s->p75 = spread(d, p, "time_q3", s->p75);
    }
    return !d->out.fault;
}

static void set_tags(cbx_json *o, const char *key, const cbx_point *p, const char *but)
{
    cbx_json *tags = cbx_json_set_object(o, key);

    for (size_t i = 0; i < p->ntags; i++)
        if (strcmp(p->tags[i].key, but) != 0) cbx_json_set_string(tags, p->tags[i].key, p->tags[i].value);
}

/* --- Google Benchmark --- */

static void google_head(document *d)
{
    cbx_json *context = kept(cbx_run_metadata(d->run), "context");
    const cbx_json *hardware = cbx_json_get(cbx_run_environment(d->run), "hardware");
    char date[CBX_TIME_SIZE];

    if (!cbx_json_has(context, "date"))
        cbx_json_set_string(context, "date", cbx_time_format_iso(cbx_run_timestamp_us(d->run), date));
    if (!cbx_json_has(context, "executable")) cbx_json_put(context, J_GIVEN("executable", d->scenario));
    if (!cbx_json_has(context, "num_cpus"))
        cbx_json_set_int(context, "num_cpus", cbx_json_get_int(hardware, "cpu_count", 0));
    cbx_json_set_int(context, "json_schema_version", 1);
    cbx__export_stream_add(&d->out, "context", context);
}

/* "scenario/name/args/key:value"; the scenario is the executable where all points share one. */
static const char *google_name(document *d, const cbx_point *p)
{
    const char *args = cbx_point_tag(p, "args");
    cbx_text out = cbx__arena_text(d->job->arena);

    if (!d->scenario && *p->scenario) cbx_text_printf(&out, "%s/", p->scenario);
    cbx_text_puts(&out, p->name);
    if (args) cbx_text_printf(&out, "/%s", args);
    for (size_t i = 0; i < p->ntags; i++)
        if (strcmp(p->tags[i].key, "args") != 0 && strcmp(p->tags[i].key, "label") != 0)
            cbx_text_printf(&out, "/%s:%s", p->tags[i].key, p->tags[i].value);
    return unique(d, out.status ? NULL : cbx_text_str(&out));
}

/* A metric beside the time, by repetition: its samples where it has as many, else its value. */
typedef struct counter {
    const char *name;
    const double *samples; /* NULL: value in each */
    double value;
    bool is_cpu_time;
} counter;

/* An entry a sample.  A CPU time that is unknown is 0, which compare.py shows and our importer
 * leaves out.  Times of a file that was ingested have its unit: not every double of microseconds is
 * one of nanoseconds too, and compare.py compares what has one unit. */
static void google_point(document *d, const cbx_point *p)
{
    const char *name, *threads = cbx_point_tag(p, "threads"), *label = cbx_point_tag(p, "label"), *unit;
    counter *counters = cbx_arena_calloc(d->job->arena, p->nmetrics + 1, sizeof *counters);
    size_t ncounters = 0, count;
    const cbx_named_metric *m;
    timing t;

    if (!counters) fail_nomem(d);
    if (!counters || !find_time(d, p, &t)) return;
    name = google_name(d, p);
    for (size_t k = 0; (m = next_metric(d, p, &k));) {
        const bool is_cpu_time = !strcmp(m->name, "cpu_time");
        if (m == t.metric && !is_cpu_time) continue;
        const double *v = numbers_of(d, m, &count);
        counters[ncounters++] = (counter){ m->name, count == t.n ? v : NULL, scaled(d, m->name, m->metric.value),
                                           is_cpu_time };
    }
    unit = cbx_json_get_string(cbx_json_get(cbx_run_metadata(d->run), "time_units"), name ? name : "", "ns");
    if (cbx__unit_find(unit)->kind != CBX__UNIT_TIME) unit = "ns";
    const double scale = cbx__unit_find(unit)->times / cbx__unit_find(unit)->per;
    for (size_t i = 0; name && !d->out.fault && i < t.n; i++) {
        cbx_json *o = cbx_json_object(J_TEXT("name", name), J_TEXT("run_name", name), J_TEXT("run_type", "iteration"),
                                      J_INT("repetitions", t.n), J_INT("repetition_index", i),
                                      J_INT("threads", threads && atoi(threads) > 0 ? atoi(threads) : 1),
                                      J_INT("iterations", 1), J_NUMBER("real_time", cbx__unscaled(t.times[i], scale)),
                                      J_NUMBER("cpu_time", 0), J_TEXT("time_unit", unit), J_GIVEN("label", label));
        for (size_t k = 0; k < ncounters; k++) {
            const counter *c = &counters[k];
            double v = c->samples ? c->samples[i] : c->value;
            if (c->is_cpu_time)
                cbx_json_set_double(o, c->name, cbx__unscaled(v, scale));
            else if (!cbx_json_has(o, c->name))
                cbx_json_set_double(o, c->name, v);
        }
        add_entry(d, NULL, o);
    }
}

/* --- hyperfine --- */

/* The command of a point, with the values of its tags where it has "{key}" as our importer leaves
 * it; of another point its label. */
static const char *command_of(document *d, const cbx_point *p)
{
    const char *command = cbx_point_tag(p, "command");
    cbx_text out = cbx__arena_text(d->job->arena);

    if (!command) return label_of(d, p, NULL);
    while (*command) {
        size_t n = 0;
        for (size_t i = 0; !n && i < p->ntags; i++) {
            size_t length = strlen(p->tags[i].key);
            if (*command != '{' || strncmp(command + 1, p->tags[i].key, length) || command[length + 1] != '}') continue;
            cbx_text_puts(&out, p->tags[i].value);
            n = length + 2;
        }
        if (!n) cbx_text_putc(&out, *command);
        command += n ? n : 1;
    }
    if (out.status) fail_nomem(d);
    return cbx_text_str(&out);
}

static void hyperfine_point(document *d, const cbx_point *p)
{
    const bool has_user = cbx_point_metric(p, "user_time"), has_system = cbx_point_metric(p, "system_time");
    const cbx_named_metric *m;
    timing t;

    if (!find_time(d, p, &t)) return;
    cbx_json *o = cbx_json_object(
        J_TEXT("command", command_of(d, p)), J_NUMBER("mean", t.summary.mean), J_NUMBER("stddev", t.summary.stddev),
        J_NUMBER("median", t.summary.median), J_KNOWN("user", has_user ? spread(d, p, "user_time", 0) : NAN),
        J_KNOWN("system", has_system ? spread(d, p, "system_time", 0) : NAN), J_NUMBER("min", t.summary.min),
        J_NUMBER("max", t.summary.max), J_NUMBERS("times", t.times, t.n));
    for (size_t k = 0; (m = next_metric(d, p, &k));) {
        size_t n = 0;
        const double *bytes = strcmp(m->name, "memory") ? NULL : numbers_of(d, m, &n);
        if (bytes && n == t.n && m->metric.nsamples == n) cbx_json_set_doubles(o, "memory_usage_byte", bytes, n);
    }
    if (p->ntags > (cbx_point_tag(p, "command") != NULL)) set_tags(o, "parameters", p, "command");
    add_entry(d, NULL, o);
}

/* --- pytest-benchmark --- */

static void pytest_head(document *d)
{
    cbx_json *commit = kept(cbx_run_metadata(d->run), "commit_info");
    char date[CBX_TIME_SIZE];

    cbx__export_stream_add(&d->out, "machine_info", kept(cbx_run_environment(d->run), "machine_info"));
    cbx_json_put(commit, J_TEXT("id", cbx_run_commit(d->run) ? cbx_run_commit(d->run) : "unversioned"),
                 J_TEXT("branch", cbx_run_branch(d->run) ? cbx_run_branch(d->run) : "(unknown)"));
    cbx__export_stream_add(&d->out, "commit_info", commit);
    cbx_json_writer_add_string(&d->out.w, "datetime", cbx_time_format_iso(cbx_run_timestamp_us(d->run), date));
    cbx_json_writer_add_string(&d->out.w, "version", "5.1.0");
}

static void pytest_stats(cbx_json *o, const timing *t)
{
    const cbx_summary *s = &t->summary;
    double low = s->p25 - 1.5 * (s->p75 - s->p25), high = s->p75 + 1.5 * (s->p75 - s->p25), total = 0;
    double low_inside = s->max, high_inside = s->min;
    int64_t far = 0, outside = 0;
    char outliers[64];

    for (size_t i = 0; i < t->n; i++) {
        double x = t->times[i];
        total += x;
        far += fabs(x - s->mean) > s->stddev;
        outside += x < low || x > high;
        if (x >= low && x < low_inside) low_inside = x;
        if (x <= high && x > high_inside) high_inside = x;
    }
    snprintf(outliers, sizeof outliers, "%lld;%lld", (long long)far, (long long)outside);
    cbx_json_put(o, J_NUMBER("min", s->min), J_NUMBER("max", s->max), J_NUMBER("mean", s->mean),
                 J_NUMBER("stddev", s->stddev), J_INT("rounds", t->n), J_NUMBER("median", s->median),
                 J_NUMBER("iqr", s->p75 - s->p25), J_NUMBER("q1", s->p25), J_NUMBER("q3", s->p75),
                 J_INT("iqr_outliers", outside), J_INT("stddev_outliers", far), J_TEXT("outliers", outliers),
                 J_NUMBER("ld15iqr", low_inside), J_NUMBER("hd15iqr", high_inside),
                 J_NUMBER("ops", s->mean > 0 ? 1 / s->mean : 0), J_NUMBER("total", total),
                 J_NUMBERS("data", t->times, t->n), J_INT("iterations", 1));
}

/* Tags but for the module are parameters; metrics but for the time are extra information. */
static void pytest_point(document *d, const cbx_point *p)
{
    const char *module = cbx_point_tag(p, "module"), *values = p->name, *name, *full;
    const cbx_named_metric *m;
    timing t;

    if (!find_time(d, p, &t)) return;
    for (size_t i = 0; values && i < p->ntags; i++)
        if (strcmp(p->tags[i].key, "module") != 0)
            values = cbx_arena_printf(d->job->arena, "%s%s%s", values, values == p->name ? "[" : "-", p->tags[i].value);
    name = values && values != p->name ? cbx_arena_printf(d->job->arena, "%s]", values) : values;
    full = unique(d, name ? cbx_arena_printf(d->job->arena, "%s::%s", module ? module : p->scenario, name) : NULL);
    cbx_json *o = cbx_json_object(J_TEXT("group", module ? p->scenario : NULL));
    set_tags(o, "params", p, "module");
    if (!cbx_json_length(cbx_json_get(o, "params"))) cbx_json_set_null(o, "params");
    cbx_json_put(o, J_TEXT("name", name), J_TEXT("fullname", full),
                 J_TEXT("param", values && values != p->name ? values + strlen(p->name) + 1 : NULL));
    cbx_json *extra = cbx_json_set_object(o, "extra_info");
    for (size_t k = 0; (m = next_metric(d, p, &k));)
        if (m != t.metric && strncmp(m->name, "time_", 5) != 0) cbx_json_set_double(extra, m->name, m->metric.value);
    cbx_json_set_object(o, "options");
    pytest_stats(cbx_json_set_object(o, "stats"), &t);
    add_entry(d, NULL, o);
}

/* --- pyperf --- */

static void pyperf_head(document *d)
{
    cbx_json_writer_add_string(&d->out.w, "version", "1.0");
    cbx__export_stream_add(&d->out, "metadata", kept(cbx_run_environment(d->run), "pyperf"));
}

/* The number of values of each process, as the importer keeps it; NULL: unknown. */
static const cbx_json *launches_of(const document *d, const cbx_point *p, size_t n)
{
    const cbx_json *counts = cbx_json_get(cbx_json_get(cbx_run_metadata(d->run), "launches"), p->name);
    size_t sum = 0;

    if (cbx_json_typeof(counts) != CBX_JSON_ARRAY) return NULL;
    for (size_t i = 0; i < cbx_json_length(counts); i++) {
        int64_t count = cbx_json_int_value(cbx_json_at(counts, i));
        if (count < 1 || (uint64_t)count > n - sum) return NULL;
        sum += (size_t)count;
    }
    return sum == n ? counts : NULL;
}

static const char *pyperf_unit(const cbx__unit *u, const double *v, size_t n)
{
    static const char *const words[] = { "integer", "second", "byte" };

    for (size_t i = 0; i < n; i++)
        if (!(v[i] > 0) || (u->kind == CBX__UNIT_OTHER && v[i] != floor(v[i]))) return NULL;
    return words[u->kind];
}

/* A benchmark a metric: times, sizes and counts above 0; "time" has the name of its point. */
static void pyperf_point(document *d, const cbx_point *p)
{
    const cbx_named_metric *m;

    for (size_t k = 0; (m = next_metric(d, p, &k));) {
        const cbx__unit *u = cbx__unit_of(d->run, m->name);
        const cbx_metric_def *def = cbx_run_find_metric_def(d->run, m->name);
        const char *plain[] = { "count", "time", "memory" }, *unit, *name;
        bool other = u->kind == CBX__UNIT_OTHER && def && *def->unit;
        size_t n, at = 0;
        const double *v = numbers_of(d, m, &n);
        const cbx_json *counts = v ? launches_of(d, p, n) : NULL;
        char date[CBX_TIME_SIZE];
        unit = v && !other ? pyperf_unit(u, v, n) : NULL;
        if (!unit) {
            d->misfits++;
            continue;
        }
        name = label_of(d, p, strcmp(m->name, plain[u->kind]) != 0 ? m->name : NULL);
        cbx_time_format_iso(cbx_run_timestamp_us(d->run), date);
        date[26] = '\0'; /* pyperf reads no time zone */
        cbx_json *o = cbx_json_object(J_JSON("metadata", cbx_json_object(J_TEXT("name", name), J_TEXT("unit", unit)))),
                 *runs = cbx_json_set_array(o, "runs");
        for (size_t i = 0; i < (counts ? cbx_json_length(counts) : 1); i++) {
            size_t count = counts ? (size_t)cbx_json_int_value(cbx_json_at(counts, i)) : n;
            cbx_json_put(cbx_json_push_object(runs), J_JSON("metadata", cbx_json_object(J_TEXT("date", date))),
                         J_NUMBERS("values", v + at, count));
            at += count;
        }
        add_entry(d, NULL, o);
    }
}

/* --- Bencher Metric Format --- */

static void bmf_point(document *d, const cbx_point *p)
{
    cbx_json *o = cbx_json_new_object();
    const cbx_named_metric *m;

    for (size_t k = 0; (m = next_metric(d, p, &k));) {
        const cbx__unit *u = cbx__unit_of(d->run, m->name);
        bool latency = !strcmp(m->name, "time") && u->kind == CBX__UNIT_TIME;
        const double v[] = { m->metric.value, m->metric.lower, m->metric.upper };
        static const char *const keys[] = { "value", "lower_value", "upper_value" };
        cbx_json *measure = cbx_json_set_object(o, latency ? "latency" : m->name);
        for (size_t i = 0; i < CBX_LEN(v); i++)
            if (isfinite(v[i]))
                cbx_json_set_double(measure, keys[i], latency ? cbx__unscaled(v[i] * u->times / u->per, 1e-9) : v[i]);
    }
    if (cbx_json_length(o))
        add_entry(d, label_of(d, p, NULL), o);
    else
        cbx_json_unref(o);
}

/* --- github-action-benchmark --- */

/* Entries of the metrics of one direction: the action reads the two from different files. */
static void github_point(document *d, const cbx_point *p, cbx_direction direction)
{
    const cbx_named_metric *m;

    for (size_t k = 0; (m = next_metric(d, p, &k));) {
        const cbx_metric_def *def = cbx_run_find_metric_def(d->run, m->name);
        char text[2 * CBX_FORMAT_SIZE + 8];
        if (!def || def->direction != direction) {
            d->misfits += direction == CBX_DIRECTION_LOWER && (!def || def->direction == CBX_DIRECTION_INFO);
            continue;
        }
        cbx_json *o = cbx_json_object(J_TEXT("name", label_of(d, p, m->name)), J_TEXT("unit", def->unit),
                                      J_NUMBER("value", m->metric.value));
        if (isfinite(m->metric.lower) && isfinite(m->metric.upper)) {
            char low[CBX_FORMAT_SIZE], high[CBX_FORMAT_SIZE];
            snprintf(text, sizeof text, "%s to %s", cbx_format_double(m->metric.lower, low),
                     cbx_format_double(m->metric.upper, high));
            cbx_json_set_string(o, "range", text);
        }
        if (m->metric.nsamples) {
            snprintf(text, sizeof text, "%zu samples", m->metric.nsamples);
            cbx_json_set_string(o, "extra", text);
        }
        add_entry(d, NULL, o);
    }
}

static void github_smaller(document *d, const cbx_point *p) { github_point(d, p, CBX_DIRECTION_LOWER); }
static void github_bigger(document *d, const cbx_point *p) { github_point(d, p, CBX_DIRECTION_HIGHER); }

/* --- Perfherder --- */

static void perfherder_head(document *d)
{
    cbx__export_stream_add(&d->out, "framework", cbx_json_object(J_TEXT("name", "calibrax")));
}

/* A suite a point, a subtest a metric, within the limits of its schema: values of at most 1e12, and
 * units of at most 20 characters. */
static void perfherder_point(document *d, const cbx_point *p)
{
    cbx_json *o = cbx_json_object(J_TEXT("name", label_of(d, p, NULL))), *tests = cbx_json_set_array(o, "subtests");
    const cbx_named_metric *m;

    for (size_t k = 0; (m = next_metric(d, p, &k));) {
        const cbx_metric_def *def = cbx_run_find_metric_def(d->run, m->name);
        const bool directed = def && def->direction != CBX_DIRECTION_INFO,
                   known = def && *def->unit && strlen(def->unit) <= 20;
        if (fabs(m->metric.value) > 1e12) {
            d->misfits++;
            continue;
        }
        cbx_json *test = cbx_json_push_object(tests);
        cbx_json_put(
            test, J_TEXT("name", m->name), J_NUMBER("value", m->metric.value),
            J_GIVEN("unit", known ? def->unit : NULL),
            J_BOOL(directed ? "lowerIsBetter" : "shouldAlert", directed && def->direction == CBX_DIRECTION_LOWER));
        if (m->metric.nsamples && cbx__all_finite(m->metric.samples, m->metric.nsamples))
            cbx_json_set_doubles(test, "replicates", m->metric.samples, m->metric.nsamples);
    }
    if (cbx_json_length(tests))
        add_entry(d, NULL, o);
    else
        cbx_json_unref(o);
}

/* --- the formats --- */

typedef struct form {
    const char *format;
    const char *part;          /* of a format of several files: run-ID-FORMAT-PART.json; NULL: run-ID-FORMAT.json */
    const char *list;          /* the member that holds the entries; NULL: the document does */
    char bracket;              /* of that list */
    void (*head)(document *d); /* members before it; NULL: none */
    void (*put)(document *d, const cbx_point *p);
    const char *misfit; /* what it has no place for, as a note states it */
} form;

static const form forms[] = {
    { "google-benchmark", NULL, "benchmarks", '[', google_head, google_point, NULL },
    { "hyperfine", NULL, "results", '[', NULL, hyperfine_point, NULL },
    { "pytest-benchmark", NULL, "benchmarks", '[', pytest_head, pytest_point, NULL },
    { "pyperf", NULL, "benchmarks", '[', pyperf_head, pyperf_point, "not a time, size or count above 0" },
    { "bmf", NULL, NULL, '{', NULL, bmf_point, NULL },
    { "github-action-benchmark", "smaller", NULL, '[', NULL, github_smaller, "no direction" },
    { "github-action-benchmark", "bigger", NULL, '[', NULL, github_bigger, "no direction" },
    { "perfherder", NULL, "suites", '[', perfherder_head, perfherder_point, "beyond 1e12" },
};

/* Notes that n of something were left out; 0: none were. */
static cbx_status note(cbx_export_job *job, const cbx_run *run, size_t n, const char *one, const char *many,
                       const char *why, cbx_err *err)
{
    if (!n) return CBX_OK;
    return cbx__export_note(job, err, "run '%s': %zu %s %s left out: %s", cbx_run_id(run), n, n == 1 ? one : many,
                            n == 1 ? "is" : "are", why);
}

/* Writes a file; *count: its entries.  One without any is not written. */
static cbx_status put_file(cbx_export_job *job, const form *f, const cbx_run *run, size_t *count, cbx_err *err)
{
    document d = { .job = job, .run = run };
    const char *id = cbx__export_safe_name(job->arena, cbx_run_id(run)), *name;
    cbx_status st;

    name = id ? cbx_arena_printf(job->arena, "run-%s-%s%s%s.json", id, f->format, f->part ? "-" : "",
                                 f->part ? f->part : "")
              : NULL;
    if (!name) return cbx_fail_nomem(err, "an export");
    for (size_t i = 0; i < cbx_run_npoints(run); i++) {
        const char *scenario = cbx_run_point(run, i)->scenario;
        d.scenario = !i || (d.scenario && !strcmp(scenario, d.scenario)) ? scenario : NULL;
    }
    st = cbx__export_stream_begin(job, name, &d.out, err);
    d.out.w.flags = CBX_JSON_INDENT2 | CBX_JSON_ASCII;
    cbx_names_init(&d.names, cbx_ctx_allocator(job->ctx));
    if (!st) {
        cbx_json_writer_begin(&d.out.w, NULL, f->list ? '{' : f->bracket);
        if (f->head) f->head(&d);
        if (f->list) cbx_json_writer_begin(&d.out.w, f->list, f->bracket);
    }

    for (size_t i = 0; !st && !d.out.fault && i < cbx_run_npoints(run); i++) {
        /* With its tags in order: a name does not depend on the order that a program gave them
         * in. */
        cbx_point ordered = *cbx_run_point(run, i);
        cbx_tag *tags = cbx_arena_calloc(job->arena, ordered.ntags + 1, sizeof *tags);
        if (!tags) {
            fail_nomem(&d);
            break;
        }
        if (ordered.ntags) memcpy(tags, ordered.tags, ordered.ntags * sizeof *tags);
        qsort(tags, ordered.ntags, sizeof *tags, cbx_tag_compare);
        ordered.tags = tags;
        f->put(&d, &ordered);
    }
    *count = d.nentries;
    if (!st && !d.out.fault && !d.nentries)
        cbx__export_stream_end(&d.out, CBX_ENOENT, NULL);
    else
        st = cbx__export_stream_end(&d.out, st, err);
    if (!st) st = note(job, run, d.without_time, "point", "points", "no time of which less is better", err);
    if (!st) st = note(job, run, d.misfits, "value", "values", f->misfit, err);
    cbx_names_clear(&d.names);
    cbx_list_clear(cbx_ctx_allocator(job->ctx), &d.next);
    return st;
}

static cbx_status put_run(cbx_export_job *job, const cbx_run *run, cbx_err *err)
{
    size_t total = 0, count = 0, not_finite = 0;
    cbx_status st = CBX_OK;

    for (size_t i = 0; !st && i < CBX_LEN(forms); i++) {
        if (strcmp(forms[i].format, job->format->name) != 0) continue;
        st = put_file(job, &forms[i], run, &count, err);
        total += count;
    }
    for (size_t i = 0; i < cbx_run_npoints(run); i++) {
        const cbx_point *p = cbx_run_point(run, i);
        for (size_t k = 0; k < p->nmetrics; k++)
            not_finite += cbx__export_wants(job, p->metrics[k].name) && !isfinite(p->metrics[k].metric.value);
    }
    if (!st) st = note(job, run, not_finite, "value", "values", "not a finite number", err);
    if (!st && !total)
        st = cbx_fail(err, CBX_ENOENT, "run '%s' has no measurement that %s has a place for", cbx_run_id(run),
                      job->format->name);
    return st;
}

#define FORMAT(symbol, format, words) CBX__EXPORTER(symbol, .name = format, .summary = words, .export_run = put_run)

FORMAT(google_benchmark, "google-benchmark", "Google Benchmark, JSON, for compare.py: run-ID-google-benchmark.json");
FORMAT(hyperfine, "hyperfine", "hyperfine, JSON: run-ID-hyperfine.json");
FORMAT(pytest_benchmark, "pytest-benchmark", "pytest-benchmark, JSON: run-ID-pytest-benchmark.json");
FORMAT(pyperf, "pyperf", "pyperf, JSON: run-ID-pyperf.json");
FORMAT(bmf, "bmf", "Bencher Metric Format: run-ID-bmf.json");
FORMAT(github_action_benchmark, "github-action-benchmark",
       "two files, by direction: run-ID-github-action-benchmark-smaller.json, -bigger.json");
FORMAT(perfherder, "perfherder", "Perfherder, JSON: run-ID-perfherder.json");
