/*
 * Google Benchmark, JSON (context.json_schema_version 1).
 *
 * Repetitions of one benchmark follow each other and become the samples of one point; their
 * aggregates add nothing and are left out, but become points where a file has aggregates only.
 * "copy/scaled/64/threads:2" is the point copy/scaled with the tags args=64 and threads=2.
 */
#include <math.h>
#include <string.h>

#include "calibrax/base/path.h"
#include "calibrax/storage/importers/importer.h"

/* User counters whose direction is known; others are information without a unit. */
static const cbx__import_def counters[] = {
    CBX__DEF("bytes_per_second", "B/s", HIGHER, SECONDARY),
    CBX__DEF("items_per_second", "1/s", HIGHER, SECONDARY),
    CBX__DEF("allocs_per_iter", "", LOWER, SECONDARY),
    CBX__DEF("max_bytes_used", "B", LOWER, SECONDARY),
};

/* Numbers that are not measurements. */
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

static const char *run_name(const cbx_json *item)
{
    return cbx_json_get_string(item, "run_name", cbx_json_get_string(item, "name", ""));
}

/* --- names --- */

static bool is_parameter(const char *part, size_t n)
{
    return memchr(part, ':', n) || strspn(part, "-0123456789.") >= n;
}

/* Tags from the parts of a name, and the name without them. */
static const char *split_name(cbx__import_job *job, const char *whole, cbx_tag *tags, size_t max, size_t *ntags)
{
    cbx_allocator al = cbx__import_allocator(job);
    size_t end = strcspn(whole, "/");
    const char *at;
    cbx_text args;

    cbx_text_init(&args, &al);
    while (whole[end] && !is_parameter(whole + end + 1, strcspn(whole + end + 1, "/")))
        end += 1 + strcspn(whole + end + 1, "/");
    for (at = whole + end; *at; at += strcspn(at, "/")) {
        size_t n = strcspn(++at, "/");
        const char *colon = memchr(at, ':', n);
        if (colon && colon > at && *ntags < max) {
            tags[*ntags].key = cbx__import_strndup(job, at, (size_t)(colon - at));
            tags[(*ntags)++].value = cbx__import_strndup(job, colon + 1, (size_t)(at + n - colon - 1));
        } else {
            if (args.len) cbx_text_putc(&args, '/');
            cbx_text_add(&args, at, n);
        }
    }
    if (args.status) cbx__import_fail(job, args.status, "out of memory");
    if (args.len && *ntags < max) tags[(*ntags)++] = (cbx_tag){ "args", cbx_text_str(&args) };
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

/* Times of no iteration are no measurements, whatever the file has there. */
static double time_of(cbx__import_job *job, const cbx_json *item, const char *key)
{
    double v = cbx__import_number(job, item, key) * scale_of(job, item);

    return cbx_json_get_double(item, "iterations", 1) > 0 ? v : NAN;
}

/* A single value has no samples. */
static void add_metric(cbx__import_job *job, const cbx__import_def *def, const cbx__samples *s)
{
    if (s->n == 1)
        cbx__import_metric(job, def, cbx_metric_of(s->items[0]));
    else
        cbx__import_metric_samples(job, def, s);
}

/* The repetitions of one benchmark: elements [from, to) of the list.  @param units {name: unit} of
 * times that are not in ns */
static void read_repetitions(cbx__import_job *job, const cbx_json *list, size_t from, size_t to, const char *scenario,
                             cbx_json *units)
{
    static const cbx__import_def cpu_time = CBX__DEF("cpu_time", "s", LOWER, SECONDARY);
    const cbx_json *first = cbx_json_at(list, from), *item;
    const char *unit = cbx_json_get_string(first, "time_unit", "ns"), *key;
    cbx__samples real = { 0 }, cpu = { 0 };
    bool measured = false; /* files that other programs write have 0 for a CPU time that is unknown */
    cbx_json *value;

    if (strcmp(unit, "ns") != 0) cbx_json_set_string(units, run_name(first), unit);
    begin_point(job, first, scenario);
    for (size_t i = from; i < to && cbx__import_element(job, list, "benchmarks", i, &item); i++) {
        if (!(cbx_json_get_double(item, "iterations", 1) > 0))
            cbx__import_note(job, run_name(item), "it made no iteration, so its time is not a number");
        cbx__import_sample(job, &real, time_of(job, item, "real_time"));
        cbx__import_sample(job, &cpu, time_of(job, item, "cpu_time"));
    }
    add_metric(job, &cbx__import_time, &real);
    for (size_t i = 0; i < cpu.n; i++) measured = measured || cpu.items[i] != 0;
    if (measured) add_metric(job, &cpu_time, &cpu);
    for (size_t k = 0; cbx_json_member(first, k, &key, &value); k++) {
        cbx__import_def def = CBX__DEF(key, "", INFO, SECONDARY);
        cbx_json_type type = cbx_json_typeof(value);
        cbx__samples counts = { 0 };
        if (type != CBX_JSON_INT && type != CBX_JSON_DOUBLE) continue;
        if (CBX_WORD_AT(bookkeeping, key) < CBX_LEN(bookkeeping)) continue;
        for (size_t c = 0; c < CBX_LEN(counters); c++)
            if (!strcmp(counters[c].metric, key)) def = counters[c];
        for (size_t i = from; i < to && cbx__import_element(job, list, "benchmarks", i, &item); i++)
            if (cbx_json_has(item, key)) cbx__import_sample(job, &counts, cbx__import_number(job, item, key));
        add_metric(job, &def, &counts);
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

static bool is_repetition(const cbx_json *item)
{
    return !failure_of(item) && strcmp(cbx_json_get_string(item, "run_type", ""), "aggregate") != 0;
}

static void read_file(cbx__import_job *job)
{
    const cbx_json *root = cbx__import_source_of(job)->json, *context = cbx__import_object(job, root, "context");
    const cbx_json *list = cbx__import_array(job, root, "benchmarks"), *item;
    cbx_json *units = cbx_json_new_object();
    const char *scenario = cbx_path_base(cbx_json_get_string(context, "executable", "")), *measured = NULL;

    cbx__import_run_iso(job, cbx__import_maybe_string(job, context, "date"));
    cbx__import_run_metadata(job, "context", context);
    for (size_t i = 0, end; cbx__import_element(job, list, "benchmarks", i, &item); i = end) {
        const char *failure = failure_of(item), *name;
        end = i + 1;
        cbx__import_string(job, item, "name");
        name = run_name(item);
        if (failure) {
            cbx__import_note(job, name, "%s", failure);
        } else if (is_repetition(item)) {
            while (end < cbx_json_length(list) && is_repetition(cbx_json_at(list, end)) &&
                   !strcmp(run_name(cbx_json_at(list, end)), name))
                end++;
            read_repetitions(job, list, i, end, scenario, units);
            measured = name;
        } else if (!measured || strcmp(measured, name) != 0 || !cbx_json_has(item, "real_time")) {
            /* An aggregate without its repetitions: a point.  Only a mean or a median is a time
             * that is compared; a spread is information. */
            static const cbx__import_field fits[] = {
                { "real_coefficient", CBX__DEF("real_coefficient", "", INFO, SECONDARY), 1 },
                { "cpu_coefficient", CBX__DEF("cpu_coefficient", "", INFO, SECONDARY), 1 },
                { "rms", CBX__DEF("rms", "", INFO, SECONDARY), 1 },
            };
            const char *which = cbx_json_get_string(item, "aggregate_name", "");
            bool is_ratio = !strcmp(cbx_json_get_string(item, "aggregate_unit", "time"), "percentage");

            begin_point(job, item, scenario);
            cbx__import_tag(job, "aggregate", which);
            cbx__import_tag(job, "big_o", cbx_json_get_string(item, "big_o", NULL));
            cbx__import_fields(job, item, fits, CBX_LEN(fits));
            if (cbx_json_has(item, "real_time")) {
                bool is_time = !strcmp(which, "mean") || !strcmp(which, "median");
                double v = cbx__import_number(job, item, "real_time") * (is_ratio ? 1 : scale_of(job, item));
                cbx__import_def def = CBX__DEF(is_ratio ? "time_ratio" : "time_statistic", is_ratio ? "" : "s", INFO,
                                               SECONDARY);
                cbx__import_metric(job, is_time && !is_ratio ? &cbx__import_time : &def, cbx_metric_of(v));
            }
            cbx__import_point_end(job);
        }
    }
    if (cbx_json_length(units)) cbx__import_run_metadata(job, "time_units", units);
    cbx_json_unref(units);
}

const cbx__importer cbx__importer_google_benchmark = {
    .name = "google-benchmark",
    .summary = "Google Benchmark, JSON",
    .detect = detect,
    .read = read_file,
    .version = "context.json_schema_version",
};
