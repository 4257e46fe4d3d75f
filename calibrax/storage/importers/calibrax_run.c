/*
 * Run files of our own and of the Python package `calibrax`: taken as they stand, ids and unknown members included.
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
    cbx_run *run = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_arena *arena = cbx__import_arena(job);
    cbx_status st = cbx_run_from_text(&arena->al, src->text, src->len, src->what, &run, &err);

    if (st) {
        cbx__import_fail_whole(job, st, err.message);
        return;
    }
    if (cbx_run_schema_version(run) > CBX_RUN_SCHEMA_VERSION) {
        cbx__import_fail(job, CBX_EVERSION, "is a run of schema %lld; this release reads up to %d",
                         (long long)cbx_run_schema_version(run), CBX_RUN_SCHEMA_VERSION);
        cbx_run_free(run);
        return;
    }
    cbx__import_run_whole(job, run);
}

const cbx__importer cbx__importer_run = {
    sizeof(cbx__importer),
    CBX_IMPORTER_ABI,
    "calibrax",
    "run files of Calibrax and of the Python package calibrax",
    detect,
    read_run,
    true,
};
