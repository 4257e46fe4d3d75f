/*
 * BenchmarkTools.jl, JSON: [versions, [["BenchmarkGroup", {"tags": [...], "data": {name: ["Trial",
 * {...}]}}]]].  Groups nest; their names are the scenario.  Times are nanoseconds, infinities were
 * written as null.
 */
#include <string.h>

#include "calibrax/storage/importers/importer.h"

static const cbx__import_field costs[] = {
    { "memory", CBX__DEF("memory", "B", LOWER, SECONDARY), 1 },
    { "allocs", CBX__DEF("allocs", "", LOWER, SECONDARY), 1 },
};
static const cbx__import_field estimate[] = {
    { "time", CBX__DEF("time", "s", LOWER, PRIMARY), 1e-9 },
    { "gctime", CBX__DEF("gc_time", "s", LOWER, SECONDARY), 1e-9 },
};

/* ["Trial" | "TrialEstimate" | "BenchmarkGroup", {...}], nested as deep as JSON may be. */
static void read_node(cbx__import_job *job, const cbx_json *node, const char *name, const char *scenario)
{
    static const char module[] = "BenchmarkTools."; /* before the name of a type, in files of the first versions */
    const char *kind = cbx_json_string_value(cbx_json_at(node, 0)), *inner, *key;
    const cbx_json *content = cbx_json_at(node, 1), *data;
    cbx_json *child;

    if (cbx_json_typeof(node) != CBX_JSON_ARRAY || !kind || cbx_json_typeof(content) != CBX_JSON_OBJECT) {
        cbx__import_fail(job, CBX_EFORMAT, "'%.80s': expected [type, object]", name);
        return;
    }
    if (!strncmp(kind, module, sizeof(module) - 1)) kind += sizeof(module) - 1;
    if (!strcmp(kind, "Trial") || !strcmp(kind, "TrialEstimate")) {
        cbx__samples times = { 0 }, gc = { 0 };

        cbx__import_point_begin(job, *name ? name : "trial", scenario);
        if (cbx_json_get(content, "times")) {
            cbx__import_member_samples(job, content, "times", 1e-9, &times);
            cbx__import_metric_samples(job, &estimate[0].def, &times);
            cbx__import_member_samples(job, content, "gctimes", 1e-9, &gc);
            cbx__import_metric_samples(job, &estimate[1].def, &gc);
        } else {
            cbx__import_fields(job, content, estimate, CBX_LEN(estimate));
        }
        cbx__import_fields(job, content, costs, CBX_LEN(costs));
        cbx__import_point_end(job);
    } else if (!strcmp(kind, "BenchmarkGroup")) {
        data = cbx__import_object(job, content, "data");
        inner = cbx__import_printf(job, "%s%s%s", scenario, *scenario && *name ? "/" : "", name);
        for (size_t i = 0; !cbx__import_failed(job) && cbx_json_member(data, i, &key, &child); i++)
            read_node(job, child, key, inner);
    } else {
        cbx__import_note(job, *name ? name : kind, "is a %.80s, which holds no measurement", kind);
    }
}

static void read_file(cbx__import_job *job)
{
    const cbx_json *root = cbx__import_source_of(job)->json, *values = cbx_json_at(root, 1), *node;

    if (cbx_json_typeof(root) != CBX_JSON_ARRAY || cbx_json_typeof(values) != CBX_JSON_ARRAY)
        cbx__import_fail(job, CBX_EFORMAT, "expected [versions, values]");
    cbx__import_run_environment(job, "versions", cbx_json_at(root, 0));
    for (size_t i = 0; cbx__import_element(job, values, "1", i, &node); i++) read_node(job, node, "", "");
}

const cbx__importer cbx__importer_benchmarktools = {
    .name = "benchmarktools",
    .summary = "BenchmarkTools.jl, JSON",
    .marks = { "0.BenchmarkTools" },
    .read = read_file,
    .version = "0.BenchmarkTools",
};
