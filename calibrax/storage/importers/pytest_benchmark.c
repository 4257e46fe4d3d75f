/*
 * pytest-benchmark, JSON: seconds per iteration.  "test_sort.py::test_sorted[10]" is the point
 * test_sorted with its parameters as tags; its group is the scenario, without one its module.
 */
#include <string.h>

#include "calibrax/storage/importers/importer.h"

static void read_item(cbx__import_job *job, const cbx_json *item)
{
    const char *name = cbx__import_string(job, item, "name"), *full = cbx__import_maybe_string(job, item, "fullname");
    const char *group = cbx__import_maybe_string(job, item, "group"), *colons = full ? strstr(full, "::") : NULL;
    const char *module = colons ? cbx__import_strndup(job, full, (size_t)(colons - full)) : NULL;
    const cbx_json *params = cbx_json_get(item, "params"), *stats = cbx__import_object(job, item, "stats");
    cbx__samples s = { 0 };

    if (!name) return;
    cbx__import_point_begin(job, cbx__import_strndup(job, name, strcspn(name, "[")), group ? group : module);
    if (group) cbx__import_tag(job, "module", module);
    if (cbx_json_typeof(params) == CBX_JSON_OBJECT) /* by name where each has one, otherwise as one text */
        cbx__import_tags_of(job, params);
    else
        cbx__import_tag_json(job, "param", cbx_json_get(item, "param"));
    cbx__import_member_samples(job, stats, "data", 1, &s);
    if (s.n) {
        cbx__import_metric_samples(job, &cbx__import_time, &s);
    } else {
        cbx__import_metric(job, &cbx__import_time, cbx_metric_of(cbx__import_number(job, stats, "median")));
        cbx__import_spread(job, stats);
    }
    cbx__import_point_end(job);
}

static void read_file(cbx__import_job *job)
{
    const cbx_json *root = cbx__import_source_of(job)->json, *commit = cbx_json_get(root, "commit_info"), *item;
    const cbx_json *list = cbx__import_array(job, root, "benchmarks");
    CBX_OWNED(cbx_json) *extra = cbx_json_new_object();

    cbx__import_run_iso(job, cbx__import_maybe_string(job, root, "datetime"));
    cbx__import_run_commit(job, cbx_json_get_string(commit, "id", NULL), cbx_json_get_string(commit, "branch", NULL));
    cbx__import_run_environment(job, "machine_info", cbx_json_get(root, "machine_info"));
    cbx__import_run_metadata(job, "commit_info", commit);
    for (size_t i = 0; cbx__import_element(job, list, "benchmarks", i, &item); i++) {
        const cbx_json *more = cbx_json_get(item, "extra_info");
        read_item(job, item);
        if (cbx_json_length(more)) cbx_json_set(extra, cbx_json_get_string(item, "fullname", ""), cbx_json_copy(more));
    }
    if (cbx_json_length(extra)) cbx__import_run_metadata(job, "extra_info", extra);
}

const cbx__importer cbx__importer_pytest_benchmark = {
    .name = "pytest-benchmark",
    .summary = "pytest-benchmark, JSON",
    .marks = { "machine_info", "benchmarks" },
    .read = read_file,
    .version = "version",
    .version_max = 5,
};
