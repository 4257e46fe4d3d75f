/*
 * airspeed velocity: one file of results (results/<machine>/<commit>-<env>.json, version 2).
 *
 * The columns of a row are those that the file names; rows may be cut short.  Parametrized
 * benchmarks hold lists in the order of the product of their parameters, the last one fastest.
 * null is a failure, NaN a skipped one.  Units come from the benchmarks.json beside the machine's
 * folder where it is there, else from the name ("time_...", "mem_...", "peakmem_...").
 */
#include <math.h>
#include <string.h>

#include "calibrax/storage/importers/importer.h"

static const struct {
    const char *prefix;
    cbx__import_def def;
} kinds[] = {
    { "time", CBX__DEF("time", "s", LOWER, PRIMARY) },
    { "mem", CBX__DEF("memory", "B", LOWER, PRIMARY) },
    { "peakmem", CBX__DEF("peak_memory", "B", LOWER, PRIMARY) },
    { "track", CBX__DEF("value", "", INFO, PRIMARY) },
};

#define PARAMS_MAX 64

/* Facts of the file, for all rows. */
typedef struct asv_file {
    const cbx_json *columns, *benchmarks;
} asv_file;

static const cbx_json *cell(const asv_file *f, const cbx_json *row, const char *column)
{
    for (size_t i = 0; i < cbx_json_length(f->columns); i++) {
        const char *name = cbx_json_string_value(cbx_json_at(f->columns, i));
        if (name && !strcmp(name, column)) return cbx_json_at(row, i);
    }
    return NULL;
}

/* The i-th of a list; a value that is not a list is its own first element. */
static const cbx_json *element(const cbx_json *v, size_t i)
{
    return cbx_json_typeof(v) == CBX_JSON_ARRAY ? cbx_json_at(v, i) : i == 0 ? v : NULL;
}

static cbx__import_def definition(const asv_file *f, const char *full, const char *name)
{
    cbx__import_def def = kinds[CBX_LEN(kinds) - 1].def;
    size_t n = strcspn(name, "_");
    const char *unit = cbx_json_get_string(cbx_json_get(f->benchmarks, full), "unit", NULL);

    for (size_t i = 0; i < CBX_LEN(kinds); i++)
        if (strlen(kinds[i].prefix) == n && !strncmp(kinds[i].prefix, name, n)) def = kinds[i].def;
    if (!*def.unit && unit) def.unit = unit;
    return def;
}

/* asv writes parameters as Python's repr: quotes around text go. */
static void tag_parameter(cbx__import_job *job, const char *name, const cbx_json *value)
{
    const char *text = cbx_json_string_value(value);
    size_t n = text ? strlen(text) : 0;

    if (n >= 2 && text[0] == '\'' && text[n - 1] == '\'')
        cbx__import_tag(job, name, cbx__import_strndup(job, text + 1, n - 2));
    else
        cbx__import_tag_json(job, name, value);
}

/* Tags of the i-th combination: the last parameter changes fastest. */
static void tag_parameters(cbx__import_job *job, const asv_file *f, const cbx_json *params, const char *full, size_t i)
{
    const cbx_json *names = cbx_json_get(cbx_json_get(f->benchmarks, full), "param_names");

    for (size_t k = cbx_json_length(params); k-- > 0;) {
        const cbx_json *values = cbx_json_at(params, k);
        const char *name = cbx_json_string_value(cbx_json_at(names, k));
        size_t n = cbx_json_length(values);
        if (!n) continue;
        if (!name) name = cbx__import_printf(job, "param%zu", k + 1);
        if (name) tag_parameter(job, name, cbx_json_at(values, i % n));
        i /= n;
    }
}

static void read_value(cbx__import_job *job, const asv_file *f, const cbx_json *row, const cbx__import_def *def,
                       size_t i)
{
    const cbx_json *v = element(cell(f, row, "result"), i), *lower = element(cell(f, row, "stats_ci_99_a"), i);
    const cbx_json *upper = element(cell(f, row, "stats_ci_99_b"), i), *samples = cell(f, row, "samples");
    cbx__samples s = { 0 };

    if (!cbx__import_is_number(v)) {
        cbx__import_fail(job, CBX_EFORMAT, "result %zu is not a number", i);
        return;
    }
    cbx_metric m = cbx_metric_of(cbx_json_double_value(v));
    if (cbx__import_is_number(lower)) m.lower = cbx_json_double_value(lower);
    if (cbx__import_is_number(upper)) m.upper = cbx_json_double_value(upper);
    if (cbx_json_typeof(cbx_json_at(samples, i)) == CBX_JSON_ARRAY)
        cbx__import_samples(job, cbx_json_at(samples, i), "samples", 1, &s);
    cbx__import_metric_with(job, def, m, &s);
}

static void read_row(cbx__import_job *job, const asv_file *f, const char *full, const cbx_json *row)
{
    const char *dot = strrchr(full, '.'), *name = dot ? dot + 1 : full;
    const char *scenario = dot ? cbx__import_strndup(job, full, (size_t)(dot - full)) : "";
    const cbx_json *result = cell(f, row, "result"), *params = cell(f, row, "params");
    cbx__import_def def = definition(f, full, name);
    size_t n = cbx_json_typeof(result) == CBX_JSON_ARRAY ? cbx_json_length(result) : 1;

    if (cbx_json_length(params) > PARAMS_MAX) /* each combination has a tag for each of them */
        cbx__import_fail(job, CBX_EFORMAT, "%zu parameters, at most %d are read", cbx_json_length(params), PARAMS_MAX);
    for (size_t i = 0; i < n && !cbx__import_failed(job); i++) {
        const cbx_json *v = element(result, i);
        if (!v || (cbx__import_is_number(v) && isnan(cbx_json_double_value(v)))) {
            cbx__import_note(job, full, "combination %zu %s", i + 1, v ? "was skipped" : "failed");
            continue;
        }
        cbx__import_point_begin(job, name, scenario);
        tag_parameters(job, f, params, full, i);
        read_value(job, f, row, &def, i);
        cbx__import_point_end(job);
    }
}

static void read_file(cbx__import_job *job)
{
    static const char *const facts[] = { "env_name", "params", "python", "requirements", "env_vars" };
    const cbx__import_source *src = cbx__import_source_of(job);
    const cbx_json *root = src->json, *machine = cbx_json_get(src->companion, "machine"), *row;
    const cbx_json *results = cbx__import_object(job, root, "results");
    asv_file f = { cbx__import_array(job, root, "result_columns"), cbx_json_get(src->companion, "benchmarks") };
    const cbx_json *called = cbx_json_get(machine, "machine"); /* as asv calls it */
    const char *name;

    if (!cbx_json_string_value(called)) called = cbx_json_get(cbx_json_get(root, "params"), "machine");
    cbx__import_run_environment(job, "machine_info", machine);
    if (cbx_json_string_value(called)) cbx__import_run_environment(job, "machine", called);
    if (cbx_json_get(root, "date"))
        cbx__import_run_time(job, cbx__import_milliseconds(cbx__import_number(job, root, "date")));
    cbx__import_run_commit(job, cbx__import_string(job, root, "commit_hash"), NULL);
    for (size_t i = 0; i < CBX_LEN(facts); i++)
        cbx__import_run_environment(job, facts[i], cbx_json_get(root, facts[i]));
    for (size_t i = 0; cbx__import_member(job, results, "results", i, &name, &row); i++) {
        if (cbx_json_typeof(row) == CBX_JSON_ARRAY)
            read_row(job, &f, name, row);
        else if (row)
            cbx__import_fail(job, CBX_EFORMAT, "expected an array of columns");
        else
            cbx__import_note(job, name, "failed");
    }
}

const cbx__importer cbx__importer_asv = {
    .name = "asv",
    .summary = "airspeed velocity, a file of results",
    .marks = { "commit_hash", "results" },
    .read = read_file,
    .version = "version",
    .version_min = 2,
    .version_max = 2,
};
