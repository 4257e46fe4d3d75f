/*
 * Run files of our own and of the Python package `calibrax`: taken unchanged, ids and unknown members included.
 */
#include "calibrax/storage/importers/importer.h"

static int detect(const cbx__import_source *src)
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
    .struct_size = sizeof(cbx__importer),
    .abi = CBX_IMPORTER_ABI,
    .name = "calibrax",
    .summary = "run files of Calibrax and of the Python package calibrax",
    .detect = detect,
    .read = read_run,
    .version = "schema_version",
};
