/*
 * ankerl::nanobench, JSON: seconds per iteration; hardware counters where they were had.
 */
#include <math.h>

#include "calibrax/storage/importers/importer.h"

static const cbx__import_field counters[] = {
    { "instructions", { "instructions", "", CBX_DIRECTION_LOWER, CBX_PRIORITY_SECONDARY }, 1 },
    { "cpucycles", { "cpucycles", "", CBX_DIRECTION_LOWER, CBX_PRIORITY_SECONDARY }, 1 },
    { "branchinstructions", { "branchinstructions", "", CBX_DIRECTION_INFO, CBX_PRIORITY_SECONDARY }, 1 },
    { "branchmisses", { "branchmisses", "", CBX_DIRECTION_LOWER, CBX_PRIORITY_SECONDARY }, 1 },
    { "pagefaults", { "pagefaults", "", CBX_DIRECTION_LOWER, CBX_PRIORITY_SECONDARY }, 1 },
    { "contextswitches", { "contextswitches", "", CBX_DIRECTION_LOWER, CBX_PRIORITY_SECONDARY }, 1 },
};

static int detect(const cbx__import_source *src)
{
    return cbx_json_has(cbx_json_at(cbx_json_get(src->json, "results"), 0), "median(elapsed)") ? 95 : 0;
}

/* One member of all measurements. */
typedef struct series {
    cbx__samples samples;
    bool counted; /* a counter that is 0 throughout was not */
} series;

static void add_measurement(cbx__import_job *job, const cbx_json *m, cbx__samples *times, series *counts)
{
    bool measured = cbx_json_get_double(m, "iterations", 1) > 0;

    cbx__import_sample(job, times, measured ? cbx__import_number(job, m, "elapsed") : NAN);
    for (size_t i = 0; i < CBX_LEN(counters); i++) {
        double v = cbx_json_get(m, counters[i].key) ? cbx__import_number(job, m, counters[i].key) : 0;
        counts[i].counted = counts[i].counted || v != 0;
        cbx__import_sample(job, &counts[i].samples, v);
    }
}

static void read_measurements(cbx__import_job *job, const cbx_json *item)
{
    const cbx_json *list = cbx_json_get(item, "measurements"), *m;
    series counts[CBX_LEN(counters)] = { 0 };
    cbx__samples times = { .may_wait = true };
    cbx__import_elements e = { 0 };

    for (size_t i = 0; i < CBX_LEN(counters); i++) counts[i].samples.may_wait = true;
    while (cbx__import_each(job, list, &e, &m)) add_measurement(job, m, &times, counts);
    if (times.n)
        cbx__import_metric_samples(job, &cbx__import_time, &times);
    else
        cbx__import_metric(job, &cbx__import_time, cbx_metric_of(cbx__import_number(job, item, "median(elapsed)")));
    for (size_t i = 0; i < CBX_LEN(counters); i++)
        if (counts[i].counted) cbx__import_metric_samples(job, &counters[i].def, &counts[i].samples);
}

static void read_result(cbx__import_job *job, const cbx_json *item)
{
    cbx__import_point_begin(job, cbx__import_string(job, item, "name"), cbx__import_maybe_string(job, item, "title"));
    if (cbx_json_get_double(item, "complexityN", -1) > 0)
        cbx__import_tag_json(job, "n", cbx_json_get(item, "complexityN"));
    if (cbx_json_get_double(item, "batch", 1) != 1) cbx__import_tag_json(job, "batch", cbx_json_get(item, "batch"));
    read_measurements(job, item);
    cbx__import_point_end(job);
}

static void read_file(cbx__import_job *job)
{
    const cbx_json *item;

    cbx__import_array(job, cbx__import_source_of(job)->json, "results");
    cbx__import_run_begin(job);
    for (size_t i = 0; cbx__import_next(job, NULL, &item); i++) {
        cbx__import_at(job, "results.%zu", i);
        read_result(job, item);
    }
    cbx__import_run_end(job);
}

const cbx__importer cbx__importer_nanobench = {
    .struct_size = sizeof(cbx__importer),
    .abi = CBX_IMPORTER_ABI,
    .name = "nanobench",
    .summary = "ankerl::nanobench, JSON",
    .detect = detect,
    .read = read_file,
    .list = "results",
    .apart = true,
};
