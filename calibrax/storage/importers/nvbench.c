/*
 * NVBench, JSON (version 1): a state of a benchmark is a point, its axes are tags, its summaries
 * metrics.  Numbers are strings in "data".  The GPU's time is the headline, with its samples if the
 * file of them (--jsonbin) is there; what a summary is called otherwise is its tag.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/storage/importers/importer.h"

/* Summaries with names of their own, of equal names the first that a state has. */
static const cbx__import_field known[] = {
    { "nv/cold/time/gpu/median", CBX__DEF("time", "s", LOWER, PRIMARY), 1 },
    { "nv/cold/time/gpu/mean", CBX__DEF("time", "s", LOWER, PRIMARY), 1 },
    { "nv/cpu_only/time/cpu/mean", CBX__DEF("time", "s", LOWER, PRIMARY), 1 },
    { "nv/cold/time/cpu/mean", CBX__DEF("cpu_time", "s", LOWER, SECONDARY), 1 },
    { "nv/batch/time/gpu/mean", CBX__DEF("batch_time", "s", LOWER, SECONDARY), 1 },
    { "nv/cold/bw/item_rate", CBX__DEF("items_per_second", "1/s", HIGHER, SECONDARY), 1 },
    { "nv/cold/bw/global/bytes_per_second", CBX__DEF("bytes_per_second", "B/s", HIGHER, SECONDARY), 1 },
};

static const struct {
    const char *hint, *unit;
} hints[] = {
    { "duration", "s" },   { "item_rate", "1/s" }, { "bytes", "B" },      { "byte_rate", "B/s" },
    { "sample_size", "" }, { "percentage", "" },   { "frequency", "Hz" },
};

static int detect(const cbx__import_source *src)
{
    const cbx_json *first = cbx_json_at(cbx_json_get(src->json, "benchmarks"), 0);

    return cbx_json_has(cbx_json_get(cbx_json_get(src->json, "meta"), "version"), "nvbench") ? 95
           : cbx_json_has(first, "states")                                                   ? 85
                                                                                             : 0;
}

/* The number of a summary; false: it is text, or a name of a file. */
static bool summary_number(cbx__import_job *job, const cbx_json *summary, double *out)
{
    const cbx_json *data = cbx_json_get(summary, "data");

    for (size_t i = 0; i < cbx_json_length(data); i++) {
        const cbx_json *d = cbx_json_at(data, i);
        const char *type = cbx_json_get_string(d, "type", ""), *text = cbx_json_get_string(d, "value", NULL);
        char *end;
        if (strcmp(cbx_json_get_string(d, "name", ""), "value") != 0 || !strcmp(type, "string")) continue;
        *out = text ? strtod(text, &end) : cbx__import_number(job, d, "value");
        if (text && (end == text || *end))
            cbx__import_fail(job, CBX_EFORMAT, "'%.60s' is '%.40s': expected a number",
                             cbx_json_get_string(summary, "tag", ""), text);
        return true;
    }
    return false;
}

static const char *datum(const cbx_json *summary, const char *name)
{
    const cbx_json *data = cbx_json_get(summary, "data");

    for (size_t i = 0; i < cbx_json_length(data); i++)
        if (!strcmp(cbx_json_get_string(cbx_json_at(data, i), "name", ""), name))
            return cbx_json_get_string(cbx_json_at(data, i), "value", NULL);
    return NULL;
}

/* Cold GPU times [s], as little-endian floats in a file beside the JSON. */
static void read_samples(cbx__import_job *job, const cbx_json *list, const char *bench, cbx__samples *out)
{
    for (size_t i = 0; i < cbx_json_length(list) && !cbx__import_failed(job); i++) {
        const cbx_json *s = cbx_json_at(list, i);
        const char *name = datum(s, "filename"), *size = datum(s, "size");
        if (strcmp(cbx_json_get_string(s, "tag", ""), "nv/json/bin:nv/cold/sample_times") != 0 || !name || !size)
            continue;
        cbx__import_floats(job, bench, name, (size_t)strtoull(size, NULL, 10), out);
        return;
    }
}

static void read_summaries(cbx__import_job *job, const cbx_json *list, const char *bench)
{
    bool timed = false;
    cbx__samples samples = { 0 };

    read_samples(job, list, bench, &samples);

    for (size_t k = 0; k < CBX_LEN(known); k++) { /* named ones first, in the order of the table */
        for (size_t i = 0; i < cbx_json_length(list) && !cbx__import_failed(job); i++) {
            bool time = !strcmp(known[k].def.metric, "time");
            double v;
            if (strcmp(cbx_json_get_string(cbx_json_at(list, i), "tag", ""), known[k].key) != 0 || (time && timed))
                continue;
            if (!summary_number(job, cbx_json_at(list, i), &v)) continue;
            cbx_metric m = cbx_metric_of(v);
            if (time && strstr(known[k].key, "/gpu/")) {
                m.samples = samples.items;
                m.nsamples = samples.n;
            }
            cbx__import_metric(job, &known[k].def, m);
            timed = timed || time;
        }
    }
    for (size_t i = 0; i < cbx_json_length(list) && !cbx__import_failed(job); i++) {
        const cbx_json *s = cbx_json_at(list, i);
        const char *tag = cbx__import_string(job, s, "tag");
        double v;
        if (!tag || (timed && cbx__import_find(known, CBX_LEN(known), tag)) || !summary_number(job, s, &v)) continue;
        cbx__import_def def = CBX__DEF(tag, "", INFO, SECONDARY);
        for (size_t h = 0; h < CBX_LEN(hints); h++)
            if (!strcmp(cbx_json_get_string(s, "hint", ""), hints[h].hint)) def.unit = hints[h].unit;
        cbx__import_metric(job, &def, cbx_metric_of(v));
    }
}

static const char *device_name(const cbx_json *root, const cbx_json *state)
{
    const cbx_json *devices = cbx_json_get(root, "devices");

    if (!cbx_json_get(state, "device")) return NULL;
    for (size_t i = 0; i < cbx_json_length(devices); i++) {
        const cbx_json *d = cbx_json_at(devices, i);
        if (cbx_json_get_int(d, "id", -1) == cbx_json_get_int(state, "device", -2))
            return cbx_json_get_string(d, "name", NULL);
    }
    return NULL;
}

/* A list without elements, as NVBench writes it. */
static bool is_written_as_null(const cbx_json *object, const char *key)
{
    return cbx_json_has(object, key) && !cbx_json_get(object, key);
}

static void read_state(cbx__import_job *job, const cbx_json *root, const cbx_json *state, const char *bench)
{
    const cbx_json *axes = cbx_json_get(state, "axis_values");

    if (cbx_json_get_bool(state, "is_skipped", false)) {
        cbx__import_note(job, bench, "%.200s: %.200s", cbx_json_get_string(state, "name", "a state"),
                         cbx_json_get_string(state, "skip_reason", "was skipped"));
        return;
    }
    cbx__import_point_begin(job, bench, "");
    for (size_t i = 0; i < cbx_json_length(axes); i++) {
        const char *name = cbx_json_get_string(cbx_json_at(axes, i), "name", NULL);
        if (name) cbx__import_tag_json(job, name, cbx_json_get(cbx_json_at(axes, i), "value"));
    }
    cbx__import_tag(job, "device", device_name(root, state));
    if (!is_written_as_null(state, "summaries")) read_summaries(job, cbx__import_array(job, state, "summaries"), bench);
    cbx__import_point_end(job);
}

static void read_file(cbx__import_job *job)
{
    const cbx_json *root = cbx__import_source_of(job)->json, *bench, *state;
    const cbx_json *list = cbx__import_array(job, root, "benchmarks");

    cbx__import_run_environment(job, "devices", cbx_json_get(root, "devices"));
    cbx__import_run_metadata(job, "nvbench",
                             cbx_json_get(cbx_json_get(cbx_json_get(root, "meta"), "version"), "nvbench"));
    for (size_t i = 0; cbx__import_element(job, list, "benchmarks", i, &bench); i++) {
        const char *name = cbx_json_get_string(bench, "name", NULL);
        const cbx_json *states = is_written_as_null(bench, "states") ? NULL : cbx__import_array(job, bench, "states");
        char place[48];
        snprintf(place, sizeof place, "benchmarks.%zu.states", i);
        if (cbx_json_length(states)) cbx__import_string(job, bench, "name");
        for (size_t k = 0; cbx__import_element(job, states, place, k, &state); k++) read_state(job, root, state, name);
    }
}

const cbx__importer cbx__importer_nvbench = {
    .name = "nvbench",
    .summary = "NVBench, JSON",
    .detect = detect,
    .read = read_file,
    .version = "meta.version.json.major",
};
