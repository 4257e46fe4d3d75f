/*
 * Run files of our own and of the Python package `calibrax`, taken unchanged, ids and unknown
 * members included; and results of that package (BenchmarkResult.save), each of which becomes a run
 * of one point, as cbx_run_builder_add_result makes it.
 */
#include "calibrax/core/result.h"
#include "calibrax/storage/importers/importer.h"

static int detect_run(const cbx__import_source *src)
{
    if (!cbx_json_has(src->json, "points")) return 0;
    return cbx_json_has(src->json, "id") && cbx_json_has(src->json, "timestamp") ? 95 : 60;
}

static void read_run(cbx__import_job *job)
{
    const cbx__import_source *src = cbx__import_source_of(job);
    cbx_err err = CBX_ERR_INIT;
    cbx_run *run = NULL;
    cbx_status st = cbx_run_from_json(cbx__import_ctx(job), src->json, src->what, &run, &err);

    cbx__import_check(job, st, &err);
    if (!st) cbx__import_run_whole(job, run);
}

const cbx__importer cbx__importer_run = {
    .name = "calibrax",
    .summary = "run files of Calibrax and of the Python package calibrax",
    .detect = detect_run,
    .read = read_run,
    .version = "schema_version",
};

static int detect_result(const cbx__import_source *src)
{
    static const char *const members[] = { "name", "config", "metadata" };

    for (size_t i = 0; i < CBX_LEN(members); i++)
        if (!cbx_json_has(src->json, members[i])) return 0;
    if (cbx_json_has(src->json, "points") || !cbx__import_is_number(cbx_json_get(src->json, "timestamp"))) return 0;
    return cbx_json_has(src->json, "timing") && cbx_json_has(src->json, "resources") ? 95 : 60;
}

static void read_result(cbx__import_job *job)
{
    const cbx__import_source *src = cbx__import_source_of(job);
    cbx_run_builder *b = cbx__import_builder(job);
    cbx_err err = CBX_ERR_INIT;
    cbx_result result;
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(cbx__import_ctx(job)));
    cbx_status st = cbx_result_from_json(src->json, src->what, &arena, &result, &err);

    if (!st && b) st = cbx_run_builder_add_result(b, &result, &err);
    cbx__import_check(job, st, &err);
    if (!st) cbx__import_run_time(job, cbx__import_milliseconds(1e3 * result.timestamp));
}

const cbx__importer cbx__importer_result = {
    .name = "calibrax-result",
    .summary = "results of the Python package calibrax (BenchmarkResult.save)",
    .detect = detect_result,
    .read = read_result,
    .version = "schema_version",
};
