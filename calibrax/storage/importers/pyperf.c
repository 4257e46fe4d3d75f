/*
 * pyperf, JSON (version 1.0).  A run is a process: metadata.launches has for each benchmark the
 * number of values of each process, in the order of the samples.
 */
#include <string.h>

#include "calibrax/storage/importers/importer.h"

static const cbx__import_field units[] = {
    { "second", CBX__DEF("time", "s", LOWER, PRIMARY), 1 },
    { "byte", CBX__DEF("memory", "B", LOWER, PRIMARY), 1 },
    { "integer", CBX__DEF("count", "", INFO, PRIMARY), 1 },
};

/* Metadata of a benchmark, or of all of them. */
static const char *meta(const cbx_json *bench, const cbx_json *root, const char *key)
{
    const char *own = cbx_json_get_string(cbx_json_get(bench, "metadata"), key, NULL);

    return own ? own : cbx_json_get_string(cbx_json_get(root, "metadata"), key, NULL);
}

/* The values of all processes, one after another. */
static void read_benchmark(cbx__import_job *job, const cbx_json *bench, bool first, const char *name, const char *unit,
                           cbx_json *launches)
{
    const cbx_json *runs = cbx__import_array(job, bench, "runs");
    cbx_json *counts = cbx_json_new_array();
    cbx__samples s = { 0 };

    for (size_t i = 0; i < cbx_json_length(runs); i++) {
        const cbx_json *run = cbx_json_at(runs, i), *values = cbx_json_get(run, "values");
        if (first && i == 0) cbx__import_run_iso(job, cbx_json_get_string(cbx_json_get(run, "metadata"), "date", NULL));
        if (!values) continue; /* only warm-ups */
        cbx__import_samples(job, cbx__import_array(job, run, "values"), "values", 1, &s);
        cbx_json_push(counts, cbx_json_new_int((int64_t)cbx_json_length(values)));
    }
    cbx__import_point_begin(job, name, "");
    const cbx__import_field *f = cbx__import_find(units, CBX_LEN(units), unit ? unit : "second");
    if (f) cbx__import_metric_samples(job, &f->def, &s);
    cbx__import_point_end(job);
    cbx_json_set(launches, name, counts);
    if (!s.n) cbx__import_note(job, name, "has no value, only warm-ups");
}

static void read_file(cbx__import_job *job)
{
    const cbx_json *root = cbx__import_source_of(job)->json, *bench;
    const cbx_json *list = cbx__import_array(job, root, "benchmarks");
    CBX_OWNED(cbx_json) *launches = cbx_json_new_object();

    cbx__import_string(job, root, "version");
    cbx__import_run_environment(job, "pyperf", cbx_json_get(root, "metadata"));
    for (size_t i = 0; cbx__import_element(job, list, "benchmarks", i, &bench); i++) {
        const char *name = meta(bench, root, "name");
        if (!name)
            cbx__import_fail(job, CBX_EFORMAT, "'metadata.name' is missing: expected a string");
        else
            read_benchmark(job, bench, i == 0, name, meta(bench, root, "unit"), launches);
    }
    cbx__import_run_metadata(job, "launches", launches);
}

const cbx__importer cbx__importer_pyperf = {
    .name = "pyperf",
    .summary = "pyperf, JSON",
    .marks = { "version", "benchmarks.0.runs" },
    .read = read_file,
};
