/*
 * The list of exporters, and the files they write.
 */
#include "calibrax/exporters/exporter.h"

#include <string.h>

#include "calibrax/base/file.h"
#include "calibrax/base/hash.h"
#include "calibrax/exporters/job.h"

static const cbx_exporter *const exporters[] = {
    &cbx__export_latex, &cbx__export_html, &cbx__export_csv, &cbx__export_markdown,
    &cbx__export_svg,   &cbx__export_pdf,  &cbx__export_png, &cbx__export_asv,
};

const cbx_exporter *const *cbx_exporters(size_t *count)
{
    *count = CBX_LEN(exporters);
    return exporters;
}

const cbx_exporter *cbx_exporter_find(const char *name)
{
    for (size_t i = 0; i < CBX_LEN(exporters); i++)
        if (!strcmp(exporters[i]->name, name)) return exporters[i];
    return NULL;
}

void cbx_export_report_clear(cbx_export_report *report)
{
    cbx_arena_clear(&report->arena);
    report->files = NULL;
    report->nfiles = 0;
}

/* --- files --- */

static bool holds(cbx_ctx *ctx, const char *path, const cbx_text *text, bool *same, cbx_err *err, cbx_status *st)
{
    char *data = NULL;
    size_t len = 0;

    *same = false;
    if (!cbx_path_exists(path)) return false;
    *st = cbx_file_read(ctx, path, 0, &data, &len, err);
    if (*st) return true;
    *same = len == text->len && !memcmp(data, cbx_text_str(text), len);
    cbx_mem_free(cbx_ctx_allocator(ctx), data, len + 1);
    return true;
}

static cbx_status note_file(cbx_export_job *job, const char *path, cbx_err *err)
{
    if (job->nfiles == job->room) {
        size_t room = job->room ? 2 * job->room : 8;
        const char **more = cbx_arena_calloc(job->arena, room, sizeof *more);
        if (!more) return cbx_fail(err, CBX_ENOMEM, "out of memory to export");
        if (job->nfiles) memcpy(more, job->files, job->nfiles * sizeof *more);
        job->files = more;
        job->room = room;
    }
    job->files[job->nfiles++] = path;
    return CBX_OK;
}

cbx_status cbx__export_file(cbx_export_job *job, const char *name, const cbx_text *text, cbx_err *err)
{
    const char *path = cbx_path_join(job->arena, job->opts.folder, name);
    bool same = false, there;
    cbx_status st = cbx_text_check(text, err);

    if (!path) return cbx_fail(err, CBX_ENOMEM, "out of memory to export");
    if (st) return st;
    there = !job->opts.replace && holds(job->ctx, path, text, &same, err, &st);
    if (st) return st;
    if (there && !same)
        return cbx_fail(err, CBX_EEXIST, "'%s' is there and holds something else: choose another folder, or --replace",
                        path);
    if (!same) st = cbx_dir_create_parent(job->ctx, path, err);
    if (!st && !same) st = cbx_file_write_atomic(job->ctx, path, text->data, text->len, err);
    return st ? st : note_file(job, path, err);
}

const char *cbx__export_safe_name(cbx_arena *arena, const char *name)
{
    static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    char hash[CBX_HASH_SIZE];
    char *copy;
    size_t n;

    if (cbx_name_is_safe(name) && strlen(name) <= 64) return cbx_arena_strdup(arena, name);
    copy = cbx_arena_strndup(arena, name, 48);
    if (!copy) return NULL;
    n = strlen(copy);
    for (size_t i = 0; i < n; i++)
        if (!strchr(safe, copy[i]) || (i == 0 && (*copy == '.' || *copy == '-'))) copy[i] = '_';
    cbx_hash_bytes(name, strlen(name), hash);
    return cbx_arena_printf(arena, "%s-%.8s", *copy ? copy : "_", hash);
}

/* --- calls --- */

cbx_status cbx__export_begin(cbx_ctx *ctx, const cbx_export_opts *opts, cbx_export_job *job, cbx_export_report *report,
                             cbx_err *err)
{
    const cbx_export_opts none = CBX_EXPORT_OPTS_INIT;

    if (opts && opts->struct_size != sizeof *opts)
        return cbx_fail(err, CBX_EINVAL, "'cbx_export_opts' has another version: begin with CBX_EXPORT_OPTS_INIT");
    *report = (cbx_export_report){ .nfiles = 0 };
    cbx_arena_init(&report->arena, cbx_ctx_allocator(ctx));
    *job = (cbx_export_job){ .ctx = ctx, .opts = opts ? *opts : none, .arena = &report->arena };
    if (!job->opts.folder) job->opts.folder = "";
    if (!job->opts.group_by) job->opts.group_by = "framework";
    return CBX_OK;
}

cbx_status cbx__export_end(cbx_status st, const cbx_export_job *job, cbx_export_report *report, cbx_export_report *out)
{
    if (st) {
        cbx_export_report_clear(report);
        return st;
    }
    report->files = job->files;
    report->nfiles = job->nfiles;
    *out = *report;
    return CBX_OK;
}

/* Every metric that is asked for is somewhere. */
static cbx_status check_metrics(const cbx_export_opts *o, const cbx_run *const *runs, size_t nruns, cbx_err *err)
{
    for (size_t i = 0; i < o->nmetrics; i++) {
        bool found = false;
        for (size_t r = 0; r < nruns; r++)
            for (size_t k = 0; !found && k < cbx_run_npoints(runs[r]); k++)
                found = cbx_point_metric(cbx_run_point(runs[r], k), o->metrics[i]);
        if (!found)
            return cbx_fail(err, CBX_ENOENT, "no point of run '%s' has the metric '%s'", cbx_run_id(runs[0]),
                            o->metrics[i]);
    }
    return CBX_OK;
}

cbx_status cbx_export_runs(cbx_ctx *ctx, const cbx_exporter *format, const cbx_run *const *runs, size_t nruns,
                           const cbx_export_opts *opts, cbx_export_report *out, cbx_err *err)
{
    cbx_export_job job;
    cbx_export_report report;
    cbx_status st;

    if (!nruns) return cbx_fail(err, CBX_EINVAL, "no run to export");
    st = cbx__export_begin(ctx, opts, &job, &report, err);
    if (st) return st;
    st = check_metrics(&job.opts, runs, nruns, err);
    if (!st) st = format->export_runs(&job, runs, nruns, err);
    return cbx__export_end(st, &job, &report, out);
}

static cbx_status check_machines(const cbx_run *run, const cbx_run *baseline, cbx_err *err)
{
    if (cbx_run_same_machine(run, baseline) == CBX_MACHINE_OTHER)
        return cbx_fail(err, CBX_EPERM, "runs '%s' and '%s' are of machines that differ", cbx_run_id(run),
                        cbx_run_id(baseline));
    if (cbx_run_same_machine(run, run) != CBX_MACHINE_UNKNOWN) run = baseline;
    return cbx_run_same_machine(run, run) == CBX_MACHINE_UNKNOWN
               ? cbx_fail(err, CBX_EPERM, "run '%s' does not say its machine", cbx_run_id(run))
               : CBX_OK;
}

cbx_status cbx_export_analysis(cbx_ctx *ctx, const cbx_exporter *format, const cbx_run *run, const cbx_run *baseline,
                               const cbx_export_opts *opts, cbx_export_report *out, cbx_err *err)
{
    cbx_export_job job;
    cbx_export_report report;
    cbx_status st;

    if (!format->export_analysis)
        return cbx_fail(err, CBX_EUNSUPPORTED,
                        "'%s' has no form for a run against a baseline: take markdown, html, latex or csv",
                        format->name);
    st = cbx__export_begin(ctx, opts, &job, &report, err);
    if (st) return st;
    if (!job.opts.allow_machines) st = check_machines(run, baseline, err);
    if (!st) st = check_metrics(&job.opts, &run, 1, err);
    if (!st) st = format->export_analysis(&job, run, baseline, err);
    return cbx__export_end(st, &job, &report, out);
}
