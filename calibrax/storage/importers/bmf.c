/*
 * Bencher Metric Format: {"benchmark": {"measure": {"value": n, "lower_value": n, "upper_value": n}}}.
 * The measures that Bencher knows have units: latency comes in nanoseconds and becomes the time in seconds.
 */
#include <string.h>

#include "calibrax/storage/importers/importer.h"

static const cbx__import_field measures[] = {
    { "latency", { "time", "s", CBX_DIRECTION_LOWER, CBX_PRIORITY_PRIMARY }, 1e-9 },
    { "throughput", { "throughput", "ops/s", CBX_DIRECTION_HIGHER, CBX_PRIORITY_PRIMARY }, 1 },
    { "build-time", { "build-time", "s", CBX_DIRECTION_LOWER, CBX_PRIORITY_PRIMARY }, 1 },
    { "file-size", { "file-size", "B", CBX_DIRECTION_LOWER, CBX_PRIORITY_PRIMARY }, 1 },
};

static int detect(const cbx__import_source *src)
{
    const char *key;
    cbx_json *bench, *measure;

    if (!cbx_json_member(src->json, 0, &key, &bench) || !cbx_json_member(bench, 0, &key, &measure)) return 0;
    return cbx_json_has(measure, "value") ? 40 : 0;
}

static void read_measure(cbx__import_job *job, const char *name, const cbx_json *object)
{
    cbx__import_field f = { name, { name, "", CBX_DIRECTION_INFO, CBX_PRIORITY_SECONDARY }, 1 };
    cbx_metric m;

    for (size_t i = 0; i < CBX_LEN(measures); i++) {
        if (!strcmp(name, measures[i].key)) f = measures[i];
    }
    m = cbx_metric_of(cbx__import_number(job, object, "value") * f.scale);
    m.lower = cbx__import_maybe_number(job, object, "lower_value") * f.scale;
    m.upper = cbx__import_maybe_number(job, object, "upper_value") * f.scale;
    cbx__import_metric(job, &f.def, m);
}

static void read_file(cbx__import_job *job)
{
    const cbx_json *root = cbx__import_source_of(job)->json;
    const char *name, *measure;
    const cbx_json *bench;
    cbx_json *value;

    if (cbx_json_typeof(root) != CBX_JSON_OBJECT)
        cbx__import_fail(job, CBX_EFORMAT, "expected an object of benchmarks");
    cbx__import_run_begin(job);
    while (cbx__import_next(job, &name, &bench)) {
        cbx__import_at(job, "%.120s", name);
        cbx__import_point_begin(job, name, "");
        if (cbx_json_typeof(bench) != CBX_JSON_OBJECT)
            cbx__import_fail(job, CBX_EFORMAT, "expected an object of measures");
        for (size_t k = 0; !cbx__import_failed(job) && cbx_json_member(bench, k, &measure, &value); k++)
            read_measure(job, measure, cbx__import_object(job, bench, measure));
        cbx__import_point_end(job);
    }
    cbx__import_run_end(job);
}

const cbx__importer cbx__importer_bmf = {
    .struct_size = sizeof(cbx__importer),
    .abi = CBX_IMPORTER_ABI,
    .name = "bmf",
    .summary = "Bencher Metric Format, JSON",
    .detect = detect,
    .read = read_file,
    .list = "",
};
