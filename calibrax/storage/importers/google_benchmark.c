/*
 * Google Benchmark, JSON (context.json_schema_version 1).
 *
 * Repetitions of one benchmark stand behind each other and become the samples of one point; their aggregates say nothing new and
 * are left out, but stand for them where a file has aggregates only.  "copy/scaled/64/threads:2" is the point copy/scaled with the
 * tags args=64 and threads=2.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/storage/importers/importer.h"

static const cbx__import_def cpu_time = { "cpu_time", "s", CBX_DIRECTION_LOWER, CBX_PRIORITY_SECONDARY };

/* User counters whose sense is known; others are INFO without a unit. */
static const cbx__import_def counters[] = {
    { "bytes_per_second", "B/s", CBX_DIRECTION_HIGHER, CBX_PRIORITY_SECONDARY },
    { "items_per_second", "1/s", CBX_DIRECTION_HIGHER, CBX_PRIORITY_SECONDARY },
    { "allocs_per_iter", "", CBX_DIRECTION_LOWER, CBX_PRIORITY_SECONDARY },
    { "max_bytes_used", "B", CBX_DIRECTION_LOWER, CBX_PRIORITY_SECONDARY },
};

/* Numbers that are no measurements. */
static const char *const bookkeeping[] = {
    "family_index",     "per_family_instance_index",
    "repetitions",      "repetition_index",
    "threads",          "iterations",
    "real_time",        "cpu_time",
    "real_coefficient", "cpu_coefficient",
};

static int detect(const cbx__import_source *src)
{
    if (cbx_json_typeof(cbx_json_get(src->json, "benchmarks")) != CBX_JSON_ARRAY) return 0;
    return cbx_json_has(cbx_json_get(src->json, "context"), "num_cpus") ? 95
           : cbx_json_has(src->json, "context")                         ? 60
                                                                        : 0;
}

static bool is_bookkeeping(const char *key)
{
    for (size_t i = 0; i < CBX_LEN(bookkeeping); i++) {
        if (!strcmp(key, bookkeeping[i])) return true;
    }
    return false;
}

static const char *run_name(const cbx_json *item)
{
    return cbx_json_get_string(item, "run_name", cbx_json_get_string(item, "name", ""));
}

static bool is_aggregate(const cbx_json *item)
{
    return !strcmp(cbx_json_get_string(item, "run_type", ""), "aggregate");
}

/* --- names --- */

static bool is_parameter(const char *part, size_t n)
{
    return memchr(part, ':', n) || strspn(part, "-0123456789.") >= n;
}

/* Tags from the parts of a name, and the name that is left. */
static const char *split_name(cbx__import_job *job, const char *whole, cbx_tag *tags, size_t most, size_t *ntags)
{
    size_t end = strcspn(whole, "/");
    const char *args = NULL, *at;

    while (whole[end] && !is_parameter(whole + end + 1, strcspn(whole + end + 1, "/")))
        end += 1 + strcspn(whole + end + 1, "/");
    for (at = whole + end; *at; at += strcspn(at, "/")) {
        size_t n = strcspn(++at, "/");
        const char *colon = memchr(at, ':', n);
        if (colon && colon > at && *ntags < most) {
            tags[*ntags].key = cbx__import_strndup(job, at, (size_t)(colon - at));
            tags[(*ntags)++].value = cbx__import_strndup(job, colon + 1, (size_t)(at + n - colon - 1));
        } else {
            args = cbx__import_printf(job, "%s%s%.*s", args ? args : "", args ? "/" : "", (int)n, at);
        }
    }
    if (args && *ntags < most) tags[(*ntags)++] = (cbx_tag){ "args", args };
    return cbx__import_strndup(job, whole, end);
}

static void begin_point(cbx__import_job *job, const cbx_json *item, const char *scenario)
{
    cbx_tag tags[16];
    size_t n = 0;
    const char *name = split_name(job, run_name(item), tags, CBX_LEN(tags), &n);
    bool threads = false;

    cbx__import_point_begin(job, name, scenario);
    for (size_t i = 0; i < n; i++) {
        cbx__import_tag(job, tags[i].key ? tags[i].key : "", tags[i].value);
        threads = threads || (tags[i].key && !strcmp(tags[i].key, "threads"));
    }
    if (!threads && cbx_json_get_int(item, "threads", 1) > 1)
        cbx__import_tag_json(job, "threads", cbx_json_get(item, "threads"));
    cbx__import_tag(job, "label", cbx_json_get_string(item, "label", NULL));
}

/* --- values --- */

static double scale_of(cbx__import_job *job, const cbx_json *item)
{
    const char *unit = cbx__import_string(job, item, "time_unit");
    double scale = cbx__import_seconds(unit);

    if (unit && isnan(scale)) cbx__import_fail(job, CBX_EFORMAT, "'time_unit' is '%s': expected ns, us, ms or s", unit);
    return scale;
}

/* One member of all repetitions. */
typedef struct series {
    cbx__import_def def;
    const char *key;
    bool time;
    cbx__samples samples; /* of the allocator: they outlive the elements */
} series;

/* Repetitions of one benchmark: the first as it stands, of all of them the numbers. */
typedef struct group {
    cbx_json *first; /* NULL: none */
    series *series;
    size_t nseries, room;
} group;

static const cbx_allocator *allocator_of(const cbx__import_job *job) { return cbx_ctx_allocator(cbx__import_ctx(job)); }

static bool is_counter(const char *key, const cbx_json *value)
{
    cbx_json_type t = cbx_json_typeof(value);

    return (t == CBX_JSON_INT || t == CBX_JSON_DOUBLE) && !is_bookkeeping(key);
}

static cbx__import_def counter_def(const char *key)
{
    for (size_t k = 0; k < CBX_LEN(counters); k++)
        if (!strcmp(counters[k].metric, key)) return counters[k];
    return (cbx__import_def){ key, "", CBX_DIRECTION_INFO, CBX_PRIORITY_SECONDARY };
}

static void begin_group(cbx__import_job *job, group *g, const cbx_json *item)
{
    const char *key;
    cbx_json *value;

    *g = (group){ .first = cbx_json_ref((cbx_json *)(uintptr_t)item), .room = 2 + cbx_json_length(item) };
    g->series = cbx_mem_calloc(allocator_of(job), g->room, sizeof *g->series);
    if (!g->first || !g->series) {
        cbx__import_fail(job, CBX_ENOMEM, "out of memory");
        return;
    }
    g->series[g->nseries++] = (series){ .def = cbx__import_time, .key = "real_time", .time = true };
    g->series[g->nseries++] = (series){ .def = cpu_time, .key = "cpu_time", .time = true };
    for (size_t i = 0; cbx_json_member(g->first, i, &key, &value); i++)
        if (is_counter(key, value)) g->series[g->nseries++] = (series){ .def = counter_def(key), .key = key };
}

static void add_sample(cbx__import_job *job, cbx__samples *s, double value)
{
    if (s->n == s->room) {
        size_t room = s->room ? 2 * s->room : 8;
        double *more = cbx_mem_resize(allocator_of(job), s->values, s->room * sizeof *more, room * sizeof *more);
        if (!more) {
            cbx__import_fail(job, CBX_ENOMEM, "out of memory");
            return;
        }
        s->values = more;
        s->room = room;
    }
    s->values[s->n++] = value;
}

/* A time of no iteration is none, however short it is said to be. */
static double factor_of(cbx__import_job *job, const series *s, const cbx_json *item)
{
    if (!s->time) return 1;
    return cbx_json_get_double(item, "iterations", 1) > 0 ? scale_of(job, item) : NAN;
}

static void add_numbers(cbx__import_job *job, group *g, const cbx_json *item)
{
    if (!(cbx_json_get_double(item, "iterations", 1) > 0))
        cbx__import_note(job, run_name(item), "it made no iteration, so its time is not a number");
    for (size_t i = 0; i < g->nseries && !cbx__import_failed(job); i++) {
        series *s = &g->series[i];
        if (!s->time && !cbx_json_has(item, s->key)) continue;
        add_sample(job, &s->samples, cbx__import_number(job, item, s->key) * factor_of(job, s, item));
    }
}

/* A single value stands alone, without samples. */
static void read_group(cbx__import_job *job, const group *g, const char *scenario)
{
    begin_point(job, g->first, scenario);
    for (size_t i = 0; i < g->nseries; i++) {
        const series *s = &g->series[i];
        if (s->samples.n == 1)
            cbx__import_metric(job, &s->def, cbx_metric_of(s->samples.values[0]));
        else
            cbx__import_metric_samples(job, &s->def, &s->samples);
    }
    cbx__import_point_end(job);
}

static void clear_group(const cbx_allocator *al, group *g)
{
    for (size_t i = 0; i < g->nseries; i++)
        cbx_mem_free(al, g->series[i].samples.values, g->series[i].samples.room * sizeof(double));
    cbx_mem_free(al, g->series, g->room * sizeof *g->series);
    cbx_json_unref(g->first);
    *g = (group){ 0 };
}

/* An aggregate that no repetition stands behind: a point of its own. */
static void read_aggregate(cbx__import_job *job, const cbx_json *item, const char *scenario)
{
    static const cbx__import_field fits[] = {
        { "real_coefficient", { "real_coefficient", "", CBX_DIRECTION_INFO, CBX_PRIORITY_SECONDARY }, 1 },
        { "cpu_coefficient", { "cpu_coefficient", "", CBX_DIRECTION_INFO, CBX_PRIORITY_SECONDARY }, 1 },
        { "rms", { "rms", "", CBX_DIRECTION_INFO, CBX_PRIORITY_SECONDARY }, 1 },
    };
    const char *which = cbx_json_get_string(item, "aggregate_name", "");
    bool ratio = !strcmp(cbx_json_get_string(item, "aggregate_unit", "time"), "percentage");
    cbx__import_def share = { "time_ratio", "", CBX_DIRECTION_INFO, CBX_PRIORITY_SECONDARY };

    begin_point(job, item, scenario);
    cbx__import_tag(job, "aggregate", which);
    cbx__import_tag(job, "big_o", cbx_json_get_string(item, "big_o", NULL));
    cbx__import_fields(job, item, fits, CBX_LEN(fits));
    if (cbx_json_has(item, "real_time")) {
        double v = cbx__import_number(job, item, "real_time");
        cbx__import_metric(job, ratio ? &share : &cbx__import_time, cbx_metric_of(ratio ? v : v * scale_of(job, item)));
    }
    cbx__import_point_end(job);
}

/* --- the file --- */

static const char *failure_of(const cbx_json *item)
{
    if (cbx_json_get_bool(item, "error_occurred", false)) return cbx_json_get_string(item, "error_message", "failed");
    if (cbx_json_get_bool(item, "skipped", false)) return cbx_json_get_string(item, "skip_message", "was skipped");
    return NULL;
}

/* What has been read of the list. */
typedef struct reading {
    cbx__import_job *job;
    const char *scenario;
    group group;    /* the repetitions seen last */
    char *measured; /* name of the last benchmark with repetitions */
} reading;

static void end_group(reading *r)
{
    const cbx_allocator *al = allocator_of(r->job);

    if (!r->group.first) return;
    read_group(r->job, &r->group, r->scenario);
    cbx_mem_strfree(al, r->measured);
    r->measured = cbx_mem_strdup(al, run_name(r->group.first));
    if (!r->measured) cbx__import_fail(r->job, CBX_ENOMEM, "out of memory");
    clear_group(al, &r->group);
}

/* A repetition joins those of its name that stand before it. */
static void add_repetition(reading *r, const cbx_json *item)
{
    if (r->group.first && strcmp(run_name(item), run_name(r->group.first)) != 0) end_group(r);
    if (!r->group.first) begin_group(r->job, &r->group, item);
    add_numbers(r->job, &r->group, item);
}

static void read_item(reading *r, const cbx_json *item, size_t at)
{
    const char *failure = failure_of(item);

    cbx__import_at(r->job, "benchmarks.%zu", at);
    cbx__import_string(r->job, item, "name");
    if (cbx__import_failed(r->job)) return;
    if (!failure && !is_aggregate(item)) {
        add_repetition(r, item);
        return;
    }
    end_group(r);
    cbx__import_at(r->job, "benchmarks.%zu", at);
    if (failure)
        cbx__import_note(r->job, run_name(item), "%s", failure);
    else if (!r->measured || strcmp(r->measured, run_name(item)) != 0 || !cbx_json_has(item, "real_time"))
        read_aggregate(r->job, item, r->scenario);
}

static void read_file(cbx__import_job *job)
{
    const cbx_json *root = cbx__import_source_of(job)->json, *context = cbx__import_object(job, root, "context");
    const char *program = cbx_json_get_string(context, "executable", ""), *slash = strrchr(program, '/');
    reading r = { .job = job, .scenario = slash ? slash + 1 : program };
    const cbx_json *item;

    cbx__import_array(job, root, "benchmarks");
    cbx__import_run_begin(job);
    cbx__import_run_iso(job, cbx__import_maybe_string(job, context, "date"));
    cbx__import_run_metadata(job, "context", context);
    for (size_t i = 0; cbx__import_next(job, NULL, &item); i++) read_item(&r, item, i);
    end_group(&r);
    cbx_mem_strfree(allocator_of(job), r.measured);
    cbx__import_run_end(job);
}

const cbx__importer cbx__importer_google_benchmark = {
    .struct_size = sizeof(cbx__importer),
    .abi = CBX_IMPORTER_ABI,
    .name = "google-benchmark",
    .summary = "Google Benchmark, JSON",
    .detect = detect,
    .read = read_file,
    .list = "benchmarks",
    .version = "context.json_schema_version",
};
