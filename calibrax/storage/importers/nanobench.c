/*
 * ankerl::nanobench, JSON: seconds per iteration; hardware counters where there are any.
 */
#include <math.h>

#include "calibrax/storage/importers/importer.h"

static const cbx__import_field counters[] = {
    { "instructions", CBX__DEF("instructions", "", LOWER, SECONDARY), 1 },
    { "cpucycles", CBX__DEF("cpucycles", "", LOWER, SECONDARY), 1 },
    { "branchinstructions", CBX__DEF("branchinstructions", "", INFO, SECONDARY), 1 },
    { "branchmisses", CBX__DEF("branchmisses", "", LOWER, SECONDARY), 1 },
    { "pagefaults", CBX__DEF("pagefaults", "", LOWER, SECONDARY), 1 },
    { "contextswitches", CBX__DEF("contextswitches", "", LOWER, SECONDARY), 1 },
};

static void read_result(cbx__import_job *job, const cbx_json *item)
{
    const cbx_json *list = cbx_json_get(item, "measurements");
    cbx__samples times = { 0 };

    cbx__import_point_begin(job, cbx__import_string(job, item, "name"), cbx__import_maybe_string(job, item, "title"));
    if (cbx_json_get_double(item, "complexityN", -1) > 0)
        cbx__import_tag_json(job, "n", cbx_json_get(item, "complexityN"));
    if (cbx_json_get_double(item, "batch", 1) != 1) cbx__import_tag_json(job, "batch", cbx_json_get(item, "batch"));
    for (size_t k = 0; k < cbx_json_length(list); k++) {
        const cbx_json *m = cbx_json_at(list, k);
        bool measured = cbx_json_get_double(m, "iterations", 1) > 0;
        cbx__import_sample(job, &times, measured ? cbx__import_number(job, m, "elapsed") : NAN);
    }
    if (times.n)
        cbx__import_metric_samples(job, &cbx__import_time, &times);
    else
        cbx__import_metric(job, &cbx__import_time, cbx_metric_of(cbx__import_number(job, item, "median(elapsed)")));
    for (size_t i = 0; i < CBX_LEN(counters); i++) {
        cbx__samples counts = { 0 };
        bool counted = false; /* a counter that is always 0 was not read */
        for (size_t k = 0; k < cbx_json_length(list); k++) {
            const cbx_json *m = cbx_json_at(list, k);
            double v = cbx_json_get(m, counters[i].key) ? cbx__import_number(job, m, counters[i].key) : 0;
            counted = counted || v != 0;
            cbx__import_sample(job, &counts, v);
        }
        if (counted) cbx__import_metric_samples(job, &counters[i].def, &counts);
    }
    cbx__import_point_end(job);
}

static void read_file(cbx__import_job *job)
{
    const cbx_json *results = cbx__import_array(job, cbx__import_source_of(job)->json, "results"), *item;

    for (size_t i = 0; cbx__import_element(job, results, "results", i, &item); i++) read_result(job, item);
}

const cbx__importer cbx__importer_nanobench = {
    .name = "nanobench",
    .summary = "ankerl::nanobench, JSON",
    .marks = { "results.0.median(elapsed)" },
    .read = read_file,
};
