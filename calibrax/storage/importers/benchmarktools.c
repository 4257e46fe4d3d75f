/*
 * BenchmarkTools.jl, JSON: [versions, [["BenchmarkGroup", {"tags": [...], "data": {name: ["Trial", {...}]}}]]].  Groups nest; their
 * names are the scenario.  Times are nanoseconds, infinities were written as null.
 */
#include <string.h>

#include "calibrax/storage/importers/importer.h"

static const cbx__import_field costs[] = {
    { "memory", { "memory", "B", CBX_DIRECTION_LOWER, CBX_PRIORITY_SECONDARY }, 1 },
    { "allocs", { "allocs", "", CBX_DIRECTION_LOWER, CBX_PRIORITY_SECONDARY }, 1 },
};
static const cbx__import_field estimate[] = {
    { "time", { "time", "s", CBX_DIRECTION_LOWER, CBX_PRIORITY_PRIMARY }, 1e-9 },
    { "gctime", { "gc_time", "s", CBX_DIRECTION_LOWER, CBX_PRIORITY_SECONDARY }, 1e-9 },
};

static int detect(const cbx__import_source *src)
{
    return cbx_json_has(cbx_json_at(src->json, 0), "BenchmarkTools") ? 95 : 0;
}

static void read_trial(cbx__import_job *job, const cbx_json *trial, const char *name, const char *scenario)
{
    cbx__samples times = { 0 }, gc = { 0 };

    cbx__import_point_begin(job, name, scenario);
    if (cbx_json_get(trial, "times")) {
        cbx__import_samples(job, cbx__import_array(job, trial, "times"), "times", 1e-9, &times);
        cbx__import_metric_samples(job, &estimate[0].def, &times);
        if (cbx_json_get(trial, "gctimes"))
            cbx__import_samples(job, cbx__import_array(job, trial, "gctimes"), "gctimes", 1e-9, &gc);
        cbx__import_metric_samples(job, &estimate[1].def, &gc);
    } else {
        cbx__import_fields(job, trial, estimate, CBX_LEN(estimate));
    }
    cbx__import_fields(job, trial, costs, CBX_LEN(costs));
    cbx__import_point_end(job);
}

/* value: ["Trial" | "TrialEstimate" | "BenchmarkGroup", {...}]; as deep as the JSON may be */
static void read_node(cbx__import_job *job, const cbx_json *node, const char *name, const char *scenario)
{
    const char *kind = cbx_json_string_value(cbx_json_at(node, 0)), *key, *inner = scenario;
    const cbx_json *content = cbx_json_at(node, 1), *data;
    cbx_json *value;

    if (!kind || cbx_json_typeof(content) != CBX_JSON_OBJECT) {
        cbx__import_fail(job, CBX_EFORMAT, "'%.80s': expected [type, object]", name);
    } else if (!strcmp(kind, "BenchmarkGroup")) {
        data = cbx__import_object(job, content, "data");
        if (*name) inner = cbx__import_printf(job, "%s%s%s", scenario, *scenario ? "/" : "", name);
        for (size_t i = 0; inner && !cbx__import_failed(job) && cbx_json_member(data, i, &key, &value); i++)
            read_node(job, value, key, inner);
    } else if (!strncmp(kind, "Trial", 5)) {
        read_trial(job, content, *name ? name : "trial", scenario);
    } else {
        cbx__import_note(job, *name ? name : kind, "is a %.80s, which holds no measurement", kind);
    }
}

static void read_file(cbx__import_job *job)
{
    const cbx_json *root = cbx__import_source_of(job)->json, *list = cbx_json_at(root, 1);

    if (cbx_json_typeof(list) != CBX_JSON_ARRAY) cbx__import_fail(job, CBX_EFORMAT, "expected [versions, values]");
    cbx__import_run_begin(job);
    cbx__import_run_environment(job, "versions", cbx_json_at(root, 0));
    for (size_t i = 0; i < cbx_json_length(list) && !cbx__import_failed(job); i++) {
        cbx__import_at(job, "1.%zu", i);
        read_node(job, cbx_json_at(list, i), "", "");
    }
    cbx__import_run_end(job);
}

const cbx__importer cbx__importer_benchmarktools = {
    sizeof(cbx__importer), CBX_IMPORTER_ABI, "benchmarktools", "BenchmarkTools.jl, JSON", detect, read_file, false,
};
