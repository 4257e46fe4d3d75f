/*
 * Bencher Metric Format: {"benchmark": {"measure": {"value": n, "lower_value": n, "upper_value":
 * n}}}, and its version 1, where a benchmark is a list of [{"parameters": {...}, "measures":
 * {...}}], its measures may have further numbers ("p99"), and even lack the value.  The measures
 * that Bencher knows have units: latency comes in nanoseconds and becomes the time in seconds.
 */
#include <string.h>

#include "calibrax/storage/importers/importer.h"

static const cbx__import_field measures[] = {
    { "latency", CBX__DEF("time", "s", LOWER, PRIMARY), 1e-9 },
    { "throughput", CBX__DEF("throughput", "ops/s", HIGHER, PRIMARY), 1 },
    { "build-time", CBX__DEF("build-time", "s", LOWER, PRIMARY), 1 },
    { "file-size", CBX__DEF("file-size", "B", LOWER, PRIMARY), 1 },
    { "instructions", CBX__DEF("instructions", "", LOWER, SECONDARY), 1 },
    { "estimated-cycles", CBX__DEF("estimated-cycles", "", LOWER, SECONDARY), 1 },
    { "allocated", CBX__DEF("allocated", "B", LOWER, SECONDARY), 1 },
    { "total-bytes", CBX__DEF("total-bytes", "B", LOWER, SECONDARY), 1 },
};

static int detect(const cbx__import_source *src)
{
    const char *key;
    cbx_json *bench, *measure;

    if (!cbx_json_member(src->json, 0, &key, &bench)) return 0;
    if (cbx_json_has(cbx_json_at(bench, 0), "measures")) return 40;
    if (!cbx_json_member(bench, 0, &key, &measure)) return 0;
    return cbx_json_has(measure, "value") ? 40 : 0;
}

/* bare: a value may be missing. */
static void read_measure(cbx__import_job *job, const char *name, const cbx_json *object, bool bare)
{
    const cbx__import_field *known = cbx__import_find(measures, CBX_LEN(measures), name);
    const cbx__import_field f = known ? *known : (cbx__import_field){ name, CBX__DEF(name, "", INFO, SECONDARY), 1 };
    cbx_metric m;

    if (!bare || cbx_json_has(object, "value")) {
        m = cbx_metric_of(cbx__import_number(job, object, "value") * f.scale);
        m.lower = cbx__import_maybe_number(job, object, "lower_value") * f.scale;
        m.upper = cbx__import_maybe_number(job, object, "upper_value") * f.scale;
        cbx__import_metric(job, &f.def, m);
    }
    if (bare) {
        /* "p99" of the time: time_p99. */
        cbx__import_def def = f.def;
        const char *key;
        cbx_json *value;

        def.direction = CBX_DIRECTION_INFO;
        def.priority = CBX_PRIORITY_SECONDARY;
        for (size_t i = 0; cbx_json_member(object, i, &key, &value) && !cbx__import_failed(job); i++) {
            if (!strcmp(key, "value") || !strcmp(key, "lower_value") || !strcmp(key, "upper_value")) continue;
            def.metric = cbx__import_printf(job, "%s_%s", f.def.metric, key);
            if (def.metric)
                cbx__import_metric(job, &def, cbx_metric_of(cbx__import_number(job, object, key) * f.scale));
        }
    }
}

static void read_measures(cbx__import_job *job, const cbx_json *object, bool bare)
{
    const char *measure;
    cbx_json *value;

    if (cbx_json_typeof(object) != CBX_JSON_OBJECT)
        cbx__import_fail(job, CBX_EFORMAT, "expected an object of measures");
    for (size_t k = 0; !cbx__import_failed(job) && cbx_json_member(object, k, &measure, &value); k++)
        read_measure(job, measure, cbx__import_object(job, object, measure), bare);
}

/* Version 1: a point for each set of parameters. */
static void read_variants(cbx__import_job *job, const char *name, const cbx_json *list)
{
    const cbx_json *variant;
    const char *place = cbx__import_printf(job, "%.120s", name);

    for (size_t i = 0; cbx__import_element(job, list, place, i, &variant); i++) {
        cbx__import_point_begin(job, name, "");
        cbx__import_tags_of(job, cbx_json_get(variant, "parameters"));
        read_measures(job, cbx__import_object(job, variant, "measures"), true);
        cbx__import_point_end(job);
    }
}

static void read_file(cbx__import_job *job)
{
    const cbx_json *root = cbx__import_source_of(job)->json, *bench;
    const char *name;

    if (cbx_json_typeof(root) != CBX_JSON_OBJECT)
        cbx__import_fail(job, CBX_EFORMAT, "expected an object of benchmarks");
    for (size_t i = 0; cbx__import_member(job, root, NULL, i, &name, &bench); i++) {
        if (cbx_json_typeof(bench) == CBX_JSON_ARRAY) {
            read_variants(job, name, bench);
            continue;
        }
        cbx__import_point_begin(job, name, "");
        read_measures(job, bench, false);
        cbx__import_point_end(job);
    }
}

const cbx__importer cbx__importer_bmf = {
    .name = "bmf",
    .summary = "Bencher Metric Format, JSON",
    .detect = detect,
    .read = read_file,
};
