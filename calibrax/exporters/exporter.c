/*
 * The list of exporters, how they are called, a run at a time, and their files: named safely, never
 * in the place of something else, on the disk together.
 */
#include "calibrax/exporters/exporter.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "calibrax/base/hash.h"
#include "calibrax/base/options.h"
#include "calibrax/exporters/job.h"

static const cbx_exporter *const exporters[] = {
    &cbx__export_latex,
    &cbx__export_html,
    &cbx__export_csv,
    &cbx__export_markdown,
    &cbx__export_svg,
    &cbx__export_pdf,
    &cbx__export_png,
    &cbx__export_asv,
    &cbx__export_google_benchmark,
    &cbx__export_hyperfine,
    &cbx__export_pytest_benchmark,
    &cbx__export_pyperf,
    &cbx__export_bmf,
    &cbx__export_github_action_benchmark,
    &cbx__export_perfherder,
    &cbx__export_openmetrics,
    &cbx__export_node_exporter,
    &cbx__export_otlp,
    &cbx__export_site,
    &cbx__export_mlflow,
    &cbx__export_wandb,
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
    report->files = report->notes = NULL;
    report->nfiles = report->nnotes = 0;
}

/* --- files --- */

#define PIECE_BYTES ((size_t)64 << 10)

static bool same_files(const char *a, const char *b)
{
    FILE *x = fopen(a, "rbe"), *y = fopen(b, "rbe");
    char p[16384], q[sizeof p];
    size_t n = sizeof p;
    bool same = x && y;

    while (same && n == sizeof p) {
        n = fread(p, 1, sizeof p, x);
        same = fread(q, 1, sizeof q, y) == n && memcmp(p, q, n) == 0 && !ferror(x) && !ferror(y);
    }
    if (x) fclose(x);
    if (y) fclose(y);
    return same;
}

/* --- in pieces --- */

/* The first fault is kept for the end. */
static void write_text(cbx__export_stream *s)
{
    if (!s->fault) s->fault = cbx_text_check(&s->text, &s->err);
    if (!s->fault && s->to && s->text.len && fwrite(s->text.data, s->text.len, 1, s->to) != 1)
        s->fault = cbx_fail_errno(&s->err, errno, "cannot write '%s'", s->path);
    cbx_text_reset(&s->text);
}

/* A file of the same name that is being written is put into its place first: it may have another
 * content. */
cbx_status cbx__export_stream_begin(cbx_export_job *job, const char *name, cbx__export_stream *s, cbx_err *err)
{
    cbx_status st;

    *s = (cbx__export_stream){ .job = job, .path = cbx_path_join(job->arena, job->opts.folder, name) };
    cbx_text_init(&s->text, cbx_ctx_allocator(job->ctx));
    s->w = (cbx_json_writer){ .out = &s->text, .pour = cbx__export_stream_pour, .user = s };
    if (!s->path) return cbx_fail_nomem(err, "an export");
    st = cbx__file_batch_has(&job->batch, s->path) ? cbx__file_batch_commit(&job->batch, err) : CBX_OK;
    if (!st) st = cbx_dir_create_parent(job->ctx, s->path, err);
    if (!st) st = cbx_replacement_begin(job->ctx, s->path, &s->file, err);
    if (st) return st;
    s->to = fopen(cbx_replacement_path(s->file), "wbe");
    return s->to ? CBX_OK : cbx_fail_errno(err, errno, "cannot write '%s'", s->path);
}

void cbx__export_stream_pour(void *stream, cbx_text *text)
{
    if (text->status || text->len >= PIECE_BYTES) write_text(stream);
}

void cbx__export_stream_add(cbx__export_stream *s, const char *key, cbx_json *value)
{
    if (!s->fault) s->fault = cbx_json_check(value, &s->err);
    if (!s->fault) cbx_json_writer_add(&s->w, key, value);
    cbx_json_unref(value);
}

cbx_status cbx__export_stream_end(cbx__export_stream *s, cbx_status st, cbx_err *err)
{
    cbx_export_job *job = s->job;

    if (s->w.level) {
        while (s->w.level) cbx_json_writer_end(&s->w);
        cbx_text_putc(&s->text, '\n');
    }
    if (!st) {
        write_text(s);
        st = s->fault ? cbx_fail(err, s->fault, "%s", s->err.message) : CBX_OK;
    }
    if (s->to && fclose(s->to) != 0 && !st) st = cbx_fail_errno(err, errno, "cannot write '%s'", s->path);
    if (!st && (job->opts.replace || !cbx_path_exists(s->path))) {
        st = cbx__file_batch_add(&job->batch, s->file, err);
        s->file = NULL;
    } else if (!st && !same_files(cbx_replacement_path(s->file), s->path))
        st = cbx_fail(err, CBX_EEXIST,
                      "'%s' exists and has different content: choose another folder, or allow it to be replaced",
                      s->path);
    if (!st) st = cbx__export_add_path(job, s->path, err);
    cbx_replacement_discard(s->file);
    cbx_text_clear(&s->text);
    return st;
}

cbx_status cbx__export_file(cbx_export_job *job, const char *name, const cbx_text *text, cbx_err *err)
{
    cbx__export_stream s;
    cbx_status st = cbx_text_check(text, err);

    if (st) return st;
    st = cbx__export_stream_begin(job, name, &s, err);
    if (!st && text->len && fwrite(text->data, text->len, 1, s.to) != 1)
        st = cbx_fail_errno(err, errno, "cannot write '%s'", s.path);
    return cbx__export_stream_end(&s, st, err);
}

/* --- what the formats share --- */

bool cbx__export_wants(const cbx_export_job *job, const char *metric)
{
    const cbx_export_opts *o = &job->opts;

    for (size_t i = 0; i < o->nmetrics; i++)
        if (!strcmp(o->metrics[i], metric)) return true;
    return !o->nmetrics;
}

cbx_status cbx__export_add_path(cbx_export_job *job, const char *path, cbx_err *err)
{
    const char *copy = path ? cbx_arena_strdup(&job->out.arena, path) : NULL;

    return copy && cbx_list_push(CBX_IN_ARENA(&job->out.arena), &job->files, copy) ? CBX_OK
                                                                                   : cbx_fail_nomem(err, "an export");
}

cbx_status cbx__export_note(cbx_export_job *job, cbx_err *err, const char *fmt, ...)
{
    const char *text;
    va_list args;

    va_start(args, fmt);
    text = cbx_arena_vprintf(&job->out.arena, fmt, args);
    va_end(args);
    return text && cbx_list_push(CBX_IN_ARENA(&job->out.arena), &job->notes, text) ? CBX_OK
                                                                                   : cbx_fail_nomem(err, "an export");
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

cbx_status cbx__export_begin(cbx_ctx *ctx, const cbx_exporter *format, const cbx_export_opts *opts, cbx_export_job *job,
                             cbx_err *err)
{
    cbx_status st;

    *job = (cbx_export_job){ .ctx = ctx, .format = format, .opts = CBX_EXPORT_OPTS_INIT, .arena = &job->passing };
    st = cbx_take_options(&job->opts, sizeof job->opts, opts, "cbx_export_opts", err);
    if (st) return st;
    cbx_arena_init(&job->passing, cbx_ctx_allocator(ctx));
    cbx_arena_init(&job->out.arena, cbx_ctx_allocator(ctx));
    if (!job->opts.folder) job->opts.folder = "";
    if (!job->opts.group_by) job->opts.group_by = "framework";
    return CBX_OK;
}

/* What was written before a fault stays. */
cbx_status cbx__export_end(cbx_status st, cbx_export_job *job, cbx_export_report *out, cbx_err *err)
{
    cbx_status late = cbx__file_batch_commit(&job->batch, st ? NULL : err);

    cbx_arena_clear(&job->passing);
    if (!st) st = late;
    if (st) {
        cbx_export_report_clear(&job->out);
        return st;
    }
    job->out.files = job->files.items;
    job->out.nfiles = job->files.n;
    job->out.notes = job->notes.items;
    job->out.nnotes = job->notes.n;
    *out = job->out;
    return CBX_OK;
}

/* Every metric that is asked for is somewhere: runs are loaded until all have been found. */
static cbx_status check_metrics(cbx_export_job *job, const cbx_export_source *runs, cbx_err *err)
{
    const cbx_export_opts *o = &job->opts;
    bool *found = cbx_arena_calloc(job->arena, o->nmetrics, sizeof *found);
    const char *first = NULL;
    size_t n = 0;

    if (!found) return cbx_fail_nomem(err, "an export");
    for (size_t i = 0; n < o->nmetrics && i < runs->count; i++) {
        CBX_OWNED(cbx_run) *run = NULL;
        cbx_status st = runs->load(runs->user, i, &run, err);
        if (st) return st;
        for (size_t m = 0; m < o->nmetrics; m++)
            for (size_t k = 0; !found[m] && k < cbx_run_npoints(run); k++) {
                found[m] = cbx_point_metric(cbx_run_point(run, k), o->metrics[m]);
                n += found[m];
            }
        if (!first) first = cbx_arena_strdup(job->arena, cbx_run_id(run));
        if (!first) return cbx_fail_nomem(err, "an export");
    }
    for (size_t m = 0; m < o->nmetrics; m++)
        if (!found[m])
            return cbx_fail(err, CBX_ENOENT, "no point of run '%s' has the metric '%s'", first, o->metrics[m]);
    return CBX_OK;
}

cbx_status cbx_export_each(cbx_ctx *ctx, const cbx_exporter *format, const cbx_export_source *runs,
                           const cbx_export_opts *opts, cbx_export_report *out, cbx_err *err)
{
    cbx_export_job job;
    cbx_status st;

    if (!runs->count) return cbx_fail(err, CBX_EINVAL, "no run to export");
    if (!format->export_run && !format->export_together)
        return cbx_fail(err, CBX_EUNSUPPORTED, "'%s' writes a whole store, not single runs", format->name);
    st = cbx__export_begin(ctx, format, opts, &job, err);
    if (st) return st;
    st = check_metrics(&job, runs, err);
    cbx_arena_clear(job.arena);
    if (!st && format->export_together) st = format->export_together(&job, runs, err);
    for (size_t i = 0; !st && !format->export_together && i < runs->count; i++) {
        CBX_OWNED(cbx_run) *run = NULL;
        st = runs->load(runs->user, i, &run, err);
        if (!st) st = format->export_run(&job, run, err);
        cbx_arena_clear(job.arena);
    }
    return cbx__export_end(st, &job, out, err);
}

static cbx_status load_held(void *user, size_t i, cbx_run **out, cbx_err *err)
{
    const cbx_run *const *runs = user;

    (void)err;
    *out = cbx_run_ref((cbx_run *)(uintptr_t)runs[i]);
    return CBX_OK;
}

cbx_status cbx_export_runs(cbx_ctx *ctx, const cbx_exporter *format, const cbx_run *const *runs, size_t nruns,
                           const cbx_export_opts *opts, cbx_export_report *out, cbx_err *err)
{
    const cbx_export_source held = { nruns, load_held, (void *)(uintptr_t)runs };

    return cbx_export_each(ctx, format, &held, opts, out, err);
}

cbx_status cbx_export_store(cbx_ctx *ctx, const cbx_exporter *format, cbx_store *store, const cbx_export_opts *opts,
                            cbx_export_report *out, cbx_err *err)
{
    cbx_export_job job;
    cbx_status st;

    if (!format->export_store)
        return cbx_fail(err, CBX_EUNSUPPORTED, "'%s' writes runs, not a whole store", format->name);
    st = cbx__export_begin(ctx, format, opts, &job, err);
    if (st) return st;
    return cbx__export_end(format->export_store(&job, store, err), &job, out, err);
}

cbx_status cbx_export_analysis(cbx_ctx *ctx, const cbx_exporter *format, const cbx_run *run, const cbx_run *baseline,
                               const cbx_export_opts *opts, cbx_export_report *out, cbx_err *err)
{
    const cbx_export_source alone = { 1, load_held, (void *)(uintptr_t)&run };
    cbx_export_job job;
    cbx_status st;

    if (!format->export_analysis)
        return cbx_fail(err, CBX_EUNSUPPORTED,
                        "'%s' cannot show a run against a baseline: use markdown, html, latex or csv", format->name);
    st = cbx__export_begin(ctx, format, opts, &job, err);
    if (st) return st;
    if (!job.opts.allow_machines) {
        const cbx_run *unnamed = cbx_run_same_machine(run, run) == CBX_MACHINE_UNKNOWN ? run : baseline;
        if (cbx_run_same_machine(run, baseline) == CBX_MACHINE_OTHER)
            st = cbx_fail(err, CBX_EPERM, "runs '%s' and '%s' are from different machines", cbx_run_id(run),
                          cbx_run_id(baseline));
        else if (cbx_run_same_machine(unnamed, unnamed) == CBX_MACHINE_UNKNOWN)
            st = cbx_fail(err, CBX_EPERM, "run '%s' does not name its machine", cbx_run_id(unnamed));
    }
    if (!st) st = check_metrics(&job, &alone, err);
    if (!st) st = format->export_analysis(&job, run, baseline, err);
    return cbx__export_end(st, &job, out, err);
}
