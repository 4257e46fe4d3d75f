/*
 * JMH, JSON (-rf json).  "org.example.Sort.quick" is the point quick in the scenario
 * org.example.Sort; times per operation become seconds, throughputs operations a second.
 * metadata.launches has the number of values of each fork.
 */
#include <math.h>
#include <string.h>

#include "calibrax/storage/importers/importer.h"

static const cbx__import_def throughput = CBX__DEF("throughput", "ops/s", HIGHER, PRIMARY);

static int detect(const cbx__import_source *src)
{
    const cbx_json *first = cbx_json_at(src->json, 0);

    return cbx_json_has(first, "jmhVersion") ||
                   (cbx_json_has(first, "primaryMetric") && cbx_json_has(first, "benchmark"))
               ? 95
               : 0;
}

/* How a unit reads: "us/op" is a time, "ops/ms" a throughput; others are kept. */
static cbx__import_def read_unit(const char *name, const char *unit, double *scale)
{
    cbx__import_def def = CBX__DEF(name, unit, INFO, SECONDARY);
    char word[16] = "";
    size_t n = strcspn(unit, "/");

    *scale = 1;
    if (name) return def;
    def.metric = "score";
    def.priority = CBX_PRIORITY_PRIMARY;
    if (!strcmp(unit + n, "/op") && n < sizeof(word)) {
        memcpy(word, unit, n);
        *scale = cbx__import_seconds(word);
        if (!isnan(*scale)) return cbx__import_time;
    } else if (!strncmp(unit, "ops/", 4) && !isnan(cbx__import_seconds(unit + 4))) {
        *scale = 1 / cbx__import_seconds(unit + 4);
        return throughput;
    }
    *scale = 1;
    return def;
}

/* name NULL: the primary one. */
static void read_metric(cbx__import_job *job, const cbx_json *metric, const char *name, cbx_json *launches)
{
    const char *unit = cbx__import_string(job, metric, "scoreUnit");
    const cbx_json *bounds = cbx_json_get(metric, "scoreConfidence"), *raw = cbx_json_get(metric, "rawData");
    cbx__samples s = { 0 };
    cbx__import_def def;
    cbx_metric m;
    double scale;

    if (!unit) return;
    def = read_unit(name, unit, &scale);
    m = cbx_metric_of(cbx__import_number(job, metric, "score") * scale);
    if (cbx_json_length(bounds) == 2) {
        m.lower = cbx__import_double(cbx_json_at(bounds, 0)) * scale;
        m.upper = cbx__import_double(cbx_json_at(bounds, 1)) * scale;
    }
    for (size_t i = 0; i < cbx_json_length(raw); i++) {
        const cbx_json *fork = cbx_json_at(raw, i);
        cbx__import_samples(job, fork, "rawData", scale, &s);
        if (launches) cbx_json_push(launches, cbx_json_new_int((int64_t)cbx_json_length(fork)));
    }
    cbx__import_metric_with(job, &def, m, &s);
}

/* Sampling keeps a histogram instead of values: its percentiles. */
static void read_percentiles(cbx__import_job *job, const cbx_json *metric)
{
    const cbx_json *percentiles = cbx_json_get(metric, "rawDataHistogram") ? cbx_json_get(metric, "scorePercentiles")
                                                                           : NULL;
    double scale;
    cbx__import_def def = read_unit(NULL, cbx_json_get_string(metric, "scoreUnit", ""), &scale);
    const char *base = def.metric, *key;
    cbx_json *value;

    def.direction = CBX_DIRECTION_INFO;
    def.priority = CBX_PRIORITY_SECONDARY;
    for (size_t i = 0; cbx_json_member(percentiles, i, &key, &value) && !cbx__import_failed(job); i++) {
        def.metric = cbx__import_printf(job, "%s_p%s", base, key);
        if (def.metric) cbx__import_metric(job, &def, cbx_metric_of(cbx__import_double(value) * scale));
    }
}

static void read_item(cbx__import_job *job, const cbx_json *item, cbx_json *launches)
{
    const char *full = cbx__import_string(job, item, "benchmark"), *dot = full ? strrchr(full, '.') : NULL, *key;
    const cbx_json *primary = cbx__import_object(job, item, "primaryMetric"),
                   *more = cbx_json_get(item, "secondaryMetrics");
    cbx_json *value, *counts = cbx_json_new_array();

    cbx__import_point_begin(job, dot ? dot + 1 : full, dot ? cbx__import_strndup(job, full, (size_t)(dot - full)) : "");
    cbx__import_tag(job, "mode", cbx__import_maybe_string(job, item, "mode"));
    if (cbx_json_get_int(item, "threads", 1) != 1) cbx__import_tag_json(job, "threads", cbx_json_get(item, "threads"));
    cbx__import_tags_of(job, cbx_json_get(item, "params"));
    read_metric(job, primary, NULL, counts);
    read_percentiles(job, primary);
    for (size_t i = 0; cbx_json_member(more, i, &key, &value) && !cbx__import_failed(job); i++)
        read_metric(job, value, key, NULL);
    cbx__import_point_end(job);
    cbx_json_push(launches, counts);
}

static void read_file(cbx__import_job *job)
{
    static const char *const facts[] = { "jmhVersion", "jdkVersion", "vmName", "vmVersion", "jvmArgs" };
    const cbx_json *list = cbx__import_source_of(job)->json, *item;
    CBX_OWNED(cbx_json) *launches = cbx_json_new_array();

    if (cbx_json_typeof(list) != CBX_JSON_ARRAY) cbx__import_fail(job, CBX_EFORMAT, "expected an array of benchmarks");
    for (size_t i = 0; cbx__import_element(job, list, NULL, i, &item); i++) {
        for (size_t k = 0; i == 0 && k < CBX_LEN(facts); k++)
            cbx__import_run_environment(job, facts[k], cbx_json_get(item, facts[k]));
        read_item(job, item, launches);
    }
    cbx__import_run_metadata(job, "launches", launches);
}

const cbx__importer cbx__importer_jmh = {
    .name = "jmh",
    .summary = "JMH, JSON",
    .detect = detect,
    .read = read_file,
    .version = "0.jmhVersion",
};
