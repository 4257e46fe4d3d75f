/*
 * Results of the Python package `calibrax` (BenchmarkResult.save): each becomes a run of one point, as cbx_run_builder_add_result has it.
 */
#include <math.h>

#include "calibrax/core/result.h"
#include "calibrax/core/run_spool.h"
#include "calibrax/storage/importers/job.h"

static int detect(const cbx__import_source *src)
{
    static const char *const members[] = { "name", "config", "metadata" };

    for (size_t i = 0; i < CBX_LEN(members); i++)
        if (!cbx_json_has(src->json, members[i])) return 0;
    if (cbx_json_has(src->json, "points") || !cbx__import_is_number(cbx_json_get(src->json, "timestamp"))) return 0;
    return cbx_json_has(src->json, "timing") && cbx_json_has(src->json, "resources") ? 95 : 60;
}

/* What the result makes of an empty run. */
static cbx_status convert(cbx_ctx *ctx, const cbx_result *result, cbx_run **out, cbx_err *err)
{
    cbx_run_opts o = CBX_RUN_OPTS_INIT;
    cbx_run_builder *b = NULL;
    cbx_status st;

    o.no_vcs = o.no_machine = o.no_versions = true;
    st = cbx_run_builder_create(ctx, &o, &b, err);
    if (!st) st = cbx_run_builder_add_result(b, result, err);
    if (!st) st = cbx_run_builder_freeze(b, out, err);
    cbx_run_builder_free(b);
    return st;
}

/* Definitions, metadata and the point of it, into the run of the job. */
static void take(cbx__import_job *job, const cbx_run *from)
{
    cbx__import_run *to;

    cbx__import_run_begin(job);
    cbx__import_run_metadata(job, "results", cbx_json_get(cbx_run_metadata(from), "results"));
    to = job->run;
    for (size_t i = 0; !job->status && i < cbx_run_nmetric_defs(from); i++)
        cbx__import_take(job, cbx_run_builder_add_metric_def(to->builder, cbx_run_metric_def(from, i), &job->inner));
    if (job->status) return;
    if (job->scratch)
        cbx__import_take(job, cbx__spooled_add(&to->spooled, job->scratch, cbx_run_point(from, 0), NULL, &job->inner));
    else
        cbx__import_take(job, cbx_run_builder_add_point(to->builder, cbx_run_point(from, 0), &job->inner));
    to->npoints++;
}

static void read_result(cbx__import_job *job)
{
    const cbx__import_source *src = cbx__import_source_of(job);
    cbx_err err = CBX_ERR_INIT;
    cbx_result *result = NULL;
    cbx_run *run = NULL;
    cbx_status st = CBX_OK;

    if (!src->json) st = cbx_fail(&err, CBX_EFORMAT, "%s", src->json_fault);
    if (!st) st = cbx_result_from_json(cbx__import_ctx(job), src->json, src->what, &result, &err);
    if (!st) st = convert(cbx__import_ctx(job), result, &run, &err);
    if (st)
        cbx__import_fail_whole(job, st, err.message);
    else
        take(job, run);
    if (!st) cbx__import_run_time(job, cbx__import_milliseconds(1e3 * cbx_result_get(result)->timestamp));
    cbx__import_run_end(job);
    cbx_run_free(run);
    cbx_result_free(result);
}

const cbx__importer cbx__importer_result = {
    .struct_size = sizeof(cbx__importer),
    .abi = CBX_IMPORTER_ABI,
    .name = "calibrax-result",
    .summary = "results of the Python package calibrax (BenchmarkResult.save)",
    .detect = detect,
    .read = read_result,
    .version = "schema_version",
};
