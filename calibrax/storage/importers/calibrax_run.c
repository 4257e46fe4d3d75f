/*
 * Run files of our own and of the Python package `calibrax`: taken as they stand, ids and unknown members included.
 */
#include <stdio.h>

#include "calibrax/storage/importers/bytes.h"
#include "calibrax/storage/importers/importer.h"

static int detect(const cbx__import_source *src)
{
    if (!cbx_json_has(src->json, "points")) return 0;
    return cbx_json_has(src->json, "id") && cbx_json_has(src->json, "timestamp") ? 95 : 60;
}

/* With its points, from the text. */
static cbx_run *read_whole(cbx__import_job *job)
{
    const cbx__import_source *src = cbx__import_source_of(job);
    cbx_allocator al = cbx__import_arena(job)->al;
    cbx_err err = CBX_ERR_INIT;
    cbx_run *run = NULL;
    size_t len = cbx__bytes_length(src->bytes), got = 1;
    char *text = cbx_mem_alloc(&al, len + 1);
    cbx_status st = text ? CBX_OK : cbx_fail(&err, CBX_ENOMEM, "out of memory while reading '%s'", src->what);

    for (size_t at = 0; !st && got && at < len; at += got)
        st = cbx__bytes_read(src->bytes, at, text + at, len - at, &got, &err);
    if (!st) st = cbx_run_from_text(&al, text, len, src->what, &run, &err);
    cbx_mem_free(&al, text, len + 1);
    if (st) cbx__import_fail_whole(job, st, err.message);
    return run;
}

/* All but its points, from the JSON. */
static cbx_run *read_head(cbx__import_job *job)
{
    const cbx__import_source *src = cbx__import_source_of(job);
    cbx_err err = CBX_ERR_INIT;
    cbx_run *run = NULL;
    cbx_status st = CBX_OK;

    if (!src->json) st = cbx_fail(&err, CBX_EFORMAT, "%s", src->json_fault);
    if (!st) st = cbx_run_from_json(cbx__import_ctx(job), src->json, src->what, &run, &err);
    if (st) cbx__import_fail_whole(job, st, err.message);
    return run;
}

static void read_run(cbx__import_job *job)
{
    bool whole = !cbx__import_is_on_disk(job);
    cbx_run *run = whole ? read_whole(job) : read_head(job);
    const cbx_json *point;

    if (!run) return;
    cbx__import_run_whole(job, run);
    for (size_t i = 0; !whole && cbx__import_next(job, NULL, &point); i++) {
        char path[32];
        snprintf(path, sizeof path, "points.%zu", i);
        cbx__import_point_json(job, point, path);
    }
}

const cbx__importer cbx__importer_run = {
    .struct_size = sizeof(cbx__importer),
    .abi = CBX_IMPORTER_ABI,
    .name = "calibrax",
    .summary = "run files of Calibrax and of the Python package calibrax",
    .detect = detect,
    .read = read_run,
    .list = "points",
    .apart = true,
    .version = "schema_version",
};
