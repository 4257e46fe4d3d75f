/*
 * Runs on an MLflow server (REST API 2.0, MLflow 2.8 or later).
 *
 * A run is an MLflow run, whose metrics are METRIC/SCENARIO/POINT/TAG/VALUE..., with its facts as
 * parameters, the run file, tables, plots and the analysis as artifacts; points with the same
 * labels are steps.  Below it each point is a nested run, of the first ones (the option limit): its
 * labels are parameters, and it has its metrics, lower/METRIC, upper/METRIC, samples/METRIC (a step
 * a sample) and rank/METRIC.  A run against a baseline adds regression/against/BASELINE/KEY to the
 * same run: the change in percent.
 *
 * Nothing is there twice.  A run is found by the tag calibrax.key, a hash of its content, and a
 * point by its number; what is complete is marked so and is left alone; what an export that ended
 * early left incomplete is written again, and MLflow keeps a metric of the same step, time and
 * value once.  A run is only made after a look whether an attempt whose answer was lost made it.
 * Two exports at a time, or a request that was carried out late, may still make two: every export
 * chooses the same one (mlflow_answer.h), and deletes the others where they are empty, its own, or,
 * of points, finished.
 *
 * Names of more than 250 bytes and values longer than the server accepts are cut, end in a hash,
 * and are counted in a note; the run file has them whole.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/analysis/regression.h"
#include "calibrax/base/clock.h"
#include "calibrax/base/file.h"
#include "calibrax/base/hash.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/json_put.h"
#include "calibrax/base/path.h"
#include "calibrax/base/temporary.h"
#include "calibrax/base/together.h"
#include "calibrax/core/point_index.h"
#include "calibrax/exporters/job.h"
#include "calibrax/exporters/mlflow_analysis.h"
#include "calibrax/exporters/mlflow_session.h"

CBX_FREED_BY(cbx_regression, cbx_regression_free)

#define FORMAT_VERSION 2 /* part of the key: another version writes runs of its own */

typedef struct mlflow_export {
    cbx_export_job *job;
    cbx__mlflow_session s;
    const cbx_run *run;
    cbx_arena *arena; /* of the run: the session's */
    cbx__mlflow_remote top;
    const char *filter; /* that finds it */
    bool made;          /* by this export */
    bool incomplete;    /* an artifact could not be made */
    size_t left_out;    /* values */
} mlflow_export;

/* Values of a run on the server: a search answers with all of them. */
enum { MAX_NESTED = 1000, MAX_VALUES = 100000 };

/* How many points have a nested run. */
static size_t nested(const mlflow_export *e)
{
    const size_t limit = e->job->opts.limit ? e->job->opts.limit : MAX_NESTED, n = cbx_run_npoints(e->run);

    return n < limit ? n : limit;
}

/* --- the run itself --- */

/* Members of an object as parameters "environment/NAME/NAME"; lists as JSON. */
static void log_facts(mlflow_export *e, const char *prefix, const cbx_json *object)
{
    const char *key;
    cbx_json *value;

    for (size_t i = 0; cbx_json_member(object, i, &key, &value); i++) {
        const char *name = cbx_arena_strdup(e->arena, cbx__mlflow_name(&e->s, prefix, key, NULL));
        const char *words = value ? cbx_json_string_value(value) : NULL;
        cbx_text text = cbx__arena_text(e->arena);
        if (name && cbx_json_typeof(value) == CBX_JSON_OBJECT) {
            log_facts(e, name, value);
            continue;
        }
        if (!words) cbx_json_write(value, CBX_JSON_COMPACT, &text);
        cbx__mlflow_log_param(&e->s, text.status ? NULL : name, words ? words : cbx_text_str(&text));
    }
}

/* The value of each metric of each point; the step is the number of points before it with the same
 * labels. */
static cbx_status log_values(mlflow_export *e, cbx_err *err)
{
    const size_t n = cbx_run_npoints(e->run);
    size_t *alike = cbx_arena_calloc(e->arena, n + 1, sizeof *alike), values = 0;
    cbx_status st = alike ? CBX_OK : cbx_fail_nomem(err, "an export");

    CBX_SCOPED(cbx_point_index, labels, cbx_ctx_allocator(e->job->ctx), NULL);
    for (size_t i = 0; !st && i < n; i++) {
        const cbx_point *p = cbx_run_point(e->run, i);
        const cbx_point_entry *same = cbx_point_index_add(&labels, p, i);
        if (!same) st = cbx_fail_nomem(err, "an export");
        for (size_t k = 0; !st && k < p->nmetrics; k++) {
            if (!cbx__export_wants(e->job, p->metrics[k].name)) continue;
            if (values++ >= MAX_VALUES)
                e->left_out++;
            else
                cbx__mlflow_log_metric(&e->s, cbx__mlflow_name(&e->s, NULL, p->metrics[k].name, p),
                                       p->metrics[k].metric.value, alike[same->value]);
        }
        if (!st) alike[same->value]++;
    }
    return st;
}

static cbx_status log_run(mlflow_export *e, cbx_err *err)
{
    const cbx_run *run = e->run;
    const char *points = cbx_arena_printf(e->arena, "%zu", cbx_run_npoints(run));
    const struct {
        bool tag;
        const char *name, *value;
    } facts[] = {
        { false, "run_id", cbx_run_id(run) },
        { false, "points", points },
        { false, "commit", cbx_run_commit(run) },
        { false, "branch", cbx_run_branch(run) },
        { true, "mlflow.source.name", "calibrax" },
        { true, "mlflow.source.git.commit", cbx_run_commit(run) },
        { true, "mlflow.source.git.branch", cbx_run_branch(run) },
    };
    cbx__mlflow_log_begin(&e->s, e->top.id, err);
    for (size_t i = 0; i < CBX_LEN(facts); i++)
        if (facts[i].value)
            (facts[i].tag ? cbx__mlflow_log_tag : cbx__mlflow_log_param)(&e->s, facts[i].name, facts[i].value);
    log_facts(e, "environment", cbx_run_environment(run));
    for (size_t i = 0; i < cbx_run_nmetric_defs(run); i++) {
        const cbx_metric_def *d = cbx_run_metric_def(run, i);
        if (!cbx__export_wants(e->job, d->name)) continue;
        cbx__mlflow_log_tag(&e->s, cbx__mlflow_name(&e->s, "calibrax.unit", d->name, NULL), d->unit);
        cbx__mlflow_log_tag(&e->s, cbx__mlflow_name(&e->s, "calibrax.direction", d->name, NULL),
                            cbx_direction_name(d->direction));
    }
    return cbx__mlflow_log_end(&e->s, points ? log_values(e, err) : cbx_fail_nomem(err, "an export"));
}

/* --- points --- */

static cbx_status log_point(mlflow_export *e, const cbx__mlflow_analysis *a, const char *id, size_t number,
                            cbx_err *err)
{
    const cbx_point *p = cbx_run_point(e->run, number);
    const char *samples;
    cbx_status st;

    cbx__mlflow_log_begin(&e->s, id, err);
    cbx__mlflow_log_param(&e->s, "scenario", p->scenario);
    cbx__mlflow_log_param(&e->s, "point", p->name);
    for (size_t i = 0; i < p->ntags; i++)
        cbx__mlflow_log_param(&e->s, cbx__mlflow_name(&e->s, "tag", p->tags[i].key, NULL), p->tags[i].value);
    if (a->compared[number]) cbx__mlflow_log_tag(&e->s, "calibrax.pareto", a->on_front[number] ? "front" : "dominated");
    for (size_t k = 0; k < p->nmetrics; k++) {
        const char *name = p->metrics[k].name;
        const cbx_metric *m = &p->metrics[k].metric;
        size_t rank = cbx__mlflow_rank(a, m);
        const struct {
            const char *prefix;
            bool is_known;
            double v;
        } values[] = { { NULL, true, m->value },
                       { "lower", !isnan(m->lower), m->lower },
                       { "upper", !isnan(m->upper), m->upper },
                       { "rank", rank > 0, (double)rank } };
        if (!cbx__export_wants(e->job, name)) continue;
        for (size_t i = 0; i < CBX_LEN(values); i++)
            if (values[i].is_known)
                cbx__mlflow_log_metric(&e->s, cbx__mlflow_name(&e->s, values[i].prefix, name, NULL), values[i].v, 0);
        samples = m->nsamples ? cbx__mlflow_name(&e->s, "samples", name, NULL) : NULL;
        for (size_t i = 0; i < m->nsamples; i++) cbx__mlflow_log_metric(&e->s, samples, m->samples[i], i);
    }
    st = cbx__mlflow_log_end(&e->s, CBX_OK);
    return st ? st : cbx__mlflow_finish(&e->s, id, err);
}

/* NULL: out of memory. */
static const char *children_of(mlflow_export *e)
{
    return cbx_arena_printf(e->arena, "tags.`mlflow.parentRunId` = '%s'", e->top.id);
}

/* The number of the point that a nested run is of; n: of none below n. */
static size_t number_of(const cbx__mlflow_remote *r, size_t n)
{
    char *end = NULL;
    unsigned long long at = r->point ? strtoull(r->point, &end, 10) : n;

    return at < n && !*end ? (size_t)at : n;
}

/* The nested runs on the server, and by the number of the point the one that is used. */
static cbx_status find_points(mlflow_export *e, cbx__mlflow_remote **used, cbx__mlflow_remote **all, size_t *count,
                              cbx_err *err)
{
    size_t n = nested(e);
    cbx_status st = CBX_OK;

    *count = 0;
    *used = cbx_arena_calloc(e->arena, n + 1, sizeof **used);
    if (!*used) return cbx_fail_nomem(err, "an export");
    if (n) st = cbx__mlflow_list(&e->s, children_of(e), all, count, err);
    for (size_t i = 0; !st && i < *count; i++) {
        cbx__mlflow_remote *r = &(*all)[i], *at = &(*used)[number_of(r, n)];
        if (!at->id || cbx__mlflow_remote_precedes(r, at)) *at = *r; /* the last is of no point */
    }
    return st;
}

/* The nested run of a point.  Another export may make one, too, and delete this one. */
static cbx_status put_point(mlflow_export *e, const cbx__mlflow_analysis *a, size_t i, cbx__mlflow_remote *at,
                            cbx_err *err)
{
    const cbx_point *p = cbx_run_point(e->run, i);
    const char *number = cbx_arena_printf(e->arena, "%zu", i), *name, *filter;
    cbx__mlflow_remote other = { NULL };
    size_t count;
    cbx_status st = CBX_OK;

    CBX_SCOPED(cbx_text, label, cbx_ctx_allocator(e->job->ctx)); /* "SCENARIO/POINT TAG=VALUE ..." */
    cbx_text_printf(&label, "%s%s%s", p->scenario, *p->scenario ? "/" : "", p->name);
    for (size_t k = 0; k < p->ntags; k++) cbx_text_printf(&label, " %s=%s", p->tags[k].key, p->tags[k].value);
    name = label.status ? NULL : cbx__mlflow_fit(&e->s, cbx_text_str(&label), CBX__MLFLOW_NAME_MAX);
    filter = cbx_arena_printf(e->arena, "tags.`mlflow.parentRunId` = '%s' and tags.`calibrax.point` = '%zu'", e->top.id,
                              i);
    if (!number || !name || !filter) return cbx_fail_nomem(err, "an export");
    if (!at->id) {
        cbx_json *tags = cbx_json_new_array();
        cbx__mlflow_push_tag(tags, "mlflow.parentRunId", e->top.id);
        cbx__mlflow_push_tag(tags, "calibrax.point", number);
        st = cbx__mlflow_make(&e->s, name, tags, filter, at, err);
    }
    if (!st) st = log_point(e, a, at->id, i, err);
    if (st == CBX_EPROTO && at->id && !cbx__mlflow_find(&e->s, filter, &other, &count, NULL) && count &&
        other.finished && strcmp(other.id, at->id) != 0)
        st = CBX_OK;
    return st;
}

/* --- artifacts --- */

/* The path of the run's artifacts in the server's own store; NULL: they are elsewhere. */
static const char *artifact_path(const mlflow_export *e)
{
    static const char scheme[] = "mlflow-artifacts:";
    const char *s = e->top.artifacts;

    if (strncmp(s, scheme, sizeof scheme - 1) != 0) return NULL;
    s += sizeof scheme - 1;
    if (!strncmp(s, "//", 2)) s += 2 + strcspn(s + 2, "/");
    return s + strspn(s, "/");
}

static cbx_status put_bytes(mlflow_export *e, const char *folder, const char *name, const char *bytes, size_t len,
                            cbx_err *err)
{
    cbx_text path = cbx__arena_text(e->arena);

    cbx_text_printf(&path, "%s/%s/", artifact_path(e), folder);
    for (; *name; name++) {
        bool plain = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
                     (*name >= '0' && *name <= '9') || strchr("._-", *name);
        cbx_text_printf(&path, plain ? "%c" : "%%%02X", (unsigned)(unsigned char)*name);
    }
    return cbx_text_check(&path, err) ? CBX_ENOMEM : cbx__mlflow_put(e->s.server, cbx_text_str(&path), bytes, len, err);
}

static cbx_status put_file(mlflow_export *e, const char *folder, const char *path, cbx_err *err)
{
    char *bytes;
    size_t len;
    cbx_status st = cbx_file_read(e->job->ctx, path, 0, &bytes, &len, err);

    if (st) return st;
    st = put_bytes(e, folder, cbx_path_base(path), bytes, len, err);
    cbx_mem_free(cbx_ctx_allocator(e->job->ctx), bytes, len + 1);
    return st;
}

static cbx_status put_json(mlflow_export *e, const char *folder, const char *name, const cbx_json *v, cbx_err *err)
{
    cbx_status st;

    CBX_SCOPED(cbx_text, text, cbx_ctx_allocator(e->job->ctx));
    cbx_json_write(v, CBX_JSON_INDENT2 | CBX_JSON_NONFINITE_STRING, &text);
    st = cbx_text_check(&text, err);
    return st ? st : put_bytes(e, folder, name, cbx_text_str(&text), text.len, err);
}

/* Files of another exporter, made in a temporary folder; a format that has nothing to show of the
 * run (CBX_ENOENT) has none.  Where one refuses the run a note has the reason, and the run stays
 * incomplete.
 * @param baseline  NULL: the run alone */
static cbx_status put_exported(mlflow_export *e, const char *format, const char *folder, const cbx_run *baseline,
                               const char *temporary, cbx_err *err)
{
    const cbx_exporter *exporter = cbx_exporter_find(format);
    cbx_export_opts opts = e->job->opts;
    cbx_export_report report;
    cbx_err why = CBX_ERR_INIT;
    cbx_status st;

    opts.folder = temporary;
    opts.plots = NULL;
    opts.nplots = 0;
    opts.to = NULL;
    st = baseline ? cbx_export_analysis(e->job->ctx, exporter, e->run, baseline, &opts, &report, &why)
                  : cbx_export_runs(e->job->ctx, exporter, &e->run, 1, &opts, &report, &why);
    if (st == CBX_ENOENT) return CBX_OK;
    if (st == CBX_EINVAL) {
        e->incomplete = true;
        return cbx__export_note(
            e->job, err, "run '%s': no files of '%s' are among its artifacts, and the next export tries again: %s",
            cbx_run_id(e->run), format, why.message);
    }
    if (st) return cbx_fail(err, st, "%s", why.message);
    for (size_t i = 0; !st && i < report.nfiles; i++) st = put_file(e, folder, report.files[i], err);
    cbx_export_report_clear(&report);
    return st;
}

static cbx_status put_artifacts(mlflow_export *e, const cbx__mlflow_analysis *a, cbx_err *err)
{
    static const char *const formats[][2] = {
        { "html", "tables" }, { "csv", "tables" }, { "markdown", "tables" }, { "svg", "plots" }
    };
    char temporary[CBX__TEMPORARY_SIZE];
    const char *path;
    cbx_status st;

    if (!artifact_path(e))
        return cbx__export_note(
            e->job, err,
            "run '%s': its files are left out: the server keeps artifacts elsewhere ('%s'); start it with "
            "--serve-artifacts",
            cbx_run_id(e->run), e->top.artifacts);
    st = cbx__temporary_make("export", temporary, err);
    path = st ? NULL : cbx_arena_printf(e->arena, "%s/run.json", temporary);
    if (!st && !path) st = cbx_fail_nomem(err, "an export");
    if (!st) st = cbx_run_write(e->job->ctx, e->run, path, err);
    if (!st) st = put_file(e, "run", path, err);
    if (!st) st = put_json(e, "analysis", "analysis.json", a->document, err);
    for (size_t i = 0; !st && i < CBX_LEN(formats); i++)
        st = put_exported(e, formats[i][0], formats[i][1], NULL, temporary, err);
    cbx__temporary_remove(temporary);
    return st;
}

/* --- its place --- */

/* The hash of what is written of a run: its content, the choice of metrics, and how it is
 * written. */
static const char *key_of(mlflow_export *e, cbx_err *err)
{
    char hash[CBX_HASH_SIZE], *key;
    cbx_text text = cbx__arena_text(e->arena);

    if (cbx_run_hash(e->run, hash, err)) return NULL;
    cbx_text_printf(&text, "%d\n%s\n%s", FORMAT_VERSION, hash, e->job->opts.group_by);
    for (size_t i = 0; i < e->job->opts.nmetrics; i++) cbx_text_printf(&text, "\n%s", e->job->opts.metrics[i]);
    if (nested(e) < cbx_run_npoints(e->run)) cbx_text_printf(&text, "\n%zu nested", nested(e));
    cbx_hash_bytes(cbx_text_str(&text), text.len, hash);
    key = text.status ? NULL : cbx_arena_strdup(e->arena, hash);
    if (!key) cbx_fail_nomem(err, "an export");
    return key;
}

/* The run on the server, made if it is missing. */
static cbx_status open_run(mlflow_export *e, cbx_err *err)
{
    const char *key = key_of(e, err), *mine;
    cbx_json *tags;
    size_t count;
    cbx_status st;

    e->filter = key ? cbx_arena_printf(e->arena, "tags.`calibrax.key` = '%s'", key) : NULL;
    if (!e->filter) return cbx_fail_nomem(err, "an export");
    st = cbx__mlflow_find(&e->s, e->filter, &e->top, &count, err);
    if (st || count) return st;
    tags = cbx_json_new_array();
    cbx__mlflow_push_tag(tags, "calibrax.key", key);
    cbx__mlflow_push_tag(tags, "calibrax.run", cbx_run_id(e->run));
    st = cbx__mlflow_make(&e->s, cbx_run_id(e->run), tags, e->filter, &e->top, err);
    mine = e->top.id;
    if (!st) st = cbx__mlflow_find(&e->s, e->filter, &e->top, &count, err);
    e->made = !st && !strcmp(mine, e->top.id);
    if (st || e->made) return st;
    st = cbx__mlflow_delete(&e->s, mine, err);
    return st ? st
              : cbx__export_note(e->job, err,
                                 "run '%s': the server made it twice at one moment, for another export or for a "
                                 "request whose answer was lost: one is used, and the empty one is deleted",
                                 cbx_run_id(e->run));
}

/* --- what was made twice --- */

/* Deletes copies before the run is marked as complete: of points those that are empty or finished,
 * of the run those that are empty; and the run that this export made, with its points, where
 * another export has completed one. */
static cbx_status delete_copies(mlflow_export *e, cbx_err *err)
{
    cbx__mlflow_remote *used, *all, *complete = NULL;
    size_t count, others = 0;
    cbx_status st = find_points(e, &used, &all, &count, err);

    for (size_t i = 0; !st && i < count; i++) {
        size_t at = number_of(&all[i], nested(e));
        if (at < nested(e) && (all[i].empty || all[i].finished) && strcmp(all[i].id, used[at].id) != 0)
            st = cbx__mlflow_delete(&e->s, all[i].id, err);
    }
    if (!st) st = cbx__mlflow_list(&e->s, e->filter, &all, &count, err);
    for (size_t i = 0; !st && i < count; i++) {
        if (!strcmp(all[i].id, e->top.id)) continue;
        if (all[i].empty) {
            st = cbx__mlflow_delete(&e->s, all[i].id, err);
            continue;
        }
        others++;
        if (all[i].complete) complete = &all[i];
    }
    if (!st && complete && e->made) {
        st = cbx__mlflow_list(&e->s, children_of(e), &all, &count, err);
        for (size_t i = 0; !st && i < count; i++) st = cbx__mlflow_delete(&e->s, all[i].id, err);
        if (!st) st = cbx__mlflow_delete(&e->s, e->top.id, err);
        e->top = *complete;
        if (!st)
            st = cbx__export_note(e->job, err,
                                  "run '%s': another export wrote it at the same time: its run of the server is used",
                                  cbx_run_id(e->run));
    } else if (!st && others) {
        st = cbx__export_note(e->job, err,
                              "run '%s': the server has it %zu times, of exports at the same time: delete all but '%s'",
                              cbx_run_id(e->run), others + 1, e->top.id);
    }
    return st;
}

/* --- a run --- */

static cbx_status note_counts(mlflow_export *e, cbx_err *err)
{
    const struct {
        size_t n;
        const char *words;
    } notes[] = { { e->s.shortened,
                    "names or values are longer than MLflow allows and were cut; its file has them whole" },
                  { e->s.infinite, "infinite values are the largest finite number on the server" },
                  { cbx_run_npoints(e->run) - nested(e),
                    "points have no nested run, for which there is a limit; its metrics and its file have them" },
                  { e->left_out, "values are beyond what a run on the server can have; its file has them" } };
    cbx_status st = CBX_OK;

    for (size_t i = 0; !st && i < CBX_LEN(notes); i++)
        if (notes[i].n)
            st = cbx__export_note(e->job, err, "run '%s': %zu %s", cbx_run_id(e->run), notes[i].n, notes[i].words);
    return st;
}

static cbx_status write_run(mlflow_export *e, cbx_err *err)
{
    cbx__mlflow_analysis a = { NULL };
    cbx__mlflow_remote *used, *all;
    size_t count;
    cbx_status st = log_run(e, err);

    if (!st) st = cbx__mlflow_analyse(e->job, e->run, e->arena, &a, err);
    if (!st) st = find_points(e, &used, &all, &count, err);
    for (size_t i = 0; !st && i < nested(e); i++)
        if (!used[i].finished) st = put_point(e, &a, i, &used[i], err);
    if (!st) st = put_artifacts(e, &a, err);
    if (!st) st = note_counts(e, err);
    if (!st) st = delete_copies(e, err);
    if (!st && !e->top.complete) {
        st = cbx__mlflow_finish(&e->s, e->top.id, err);
        cbx__mlflow_log_begin(&e->s, e->top.id, err);
        if (a.front) cbx__mlflow_log_tag(&e->s, "calibrax.pareto", a.front);
        if (!e->incomplete) cbx__mlflow_log_tag(&e->s, "calibrax.complete", "1");
        st = cbx__mlflow_log_end(&e->s, st);
    }
    cbx_json_unref(a.document);
    return st;
}

/* All of a run; what is complete is left alone, also where another export completes it and deletes
 * this one. */
static cbx_status put_run(mlflow_export *e, cbx_err *err)
{
    cbx__mlflow_remote other = { NULL };
    size_t count;
    cbx_status st = open_run(e, err);

    if (!st && !e->top.complete) st = write_run(e, err);
    if (st == CBX_EPROTO && e->top.id && !cbx__mlflow_find(&e->s, e->filter, &other, &count, NULL) && count &&
        other.complete && strcmp(other.id, e->top.id) != 0) {
        e->top = other;
        st = CBX_OK;
    }
    return st ? st
              : cbx__export_add_path(e->job,
                                     cbx_arena_printf(e->arena, "%s/#/experiments/%s/runs/%s",
                                                      cbx__mlflow_address(e->s.server), e->s.experiment, e->top.id),
                                     err);
}

/* --- a run against a baseline --- */

static cbx_status put_findings(mlflow_export *e, const cbx_run *baseline, const cbx_regression *r, cbx_err *err)
{
    const char *safe = cbx__export_safe_name(e->arena, cbx_run_id(baseline));
    char temporary[CBX__TEMPORARY_SIZE], name[160]; /* a safe name has at most 128 characters */
    cbx_gate gate;
    cbx_status st;

    cbx_regression_gate(r, NULL, &gate);
    CBX_OWNED(cbx_json) *document = cbx_json_object(J_TEXT("baseline", cbx_run_id(baseline)),
                                                    J_TEXT("gate", gate.sentence), J_INT("exit_code", gate.exit_code));
    cbx__mlflow_log_begin(&e->s, e->top.id, err);
    cbx_json *list = cbx_json_set_array(document, "findings");
    size_t regressed = 0;
    for (size_t i = 0; i < cbx_regression_nfindings(r); i++) {
        const cbx_finding *f = cbx_regression_finding(r, i);
        if (!cbx__export_wants(e->job, f->metric)) continue;
        regressed += f->outcome == CBX_OUTCOME_REGRESSED;
        cbx_json_put(cbx_json_push_object(list), J_TEXT("key", f->key), J_TEXT("outcome", cbx_outcome_name(f->outcome)),
                     J_NUMBER("baseline", f->baseline), J_NUMBER("current", f->current),
                     J_NUMBER("change_percent", 100 * f->change), J_GIVEN("sentence", f->sentence));
        if (isfinite(f->change))
            cbx__mlflow_log_metric(&e->s, cbx__mlflow_name_against(&e->s, cbx_run_id(baseline), f->key),
                                   100 * f->change, 0);
    }
    cbx__mlflow_log_metric(&e->s, cbx__mlflow_name(&e->s, "regression_count", cbx_run_id(baseline), NULL),
                           (double)regressed, 0);
    cbx__mlflow_log_tag(&e->s, cbx__mlflow_name(&e->s, "calibrax.gate", cbx_run_id(baseline), NULL), gate.sentence);
    st = cbx__mlflow_log_end(&e->s, safe ? CBX_OK : cbx_fail_nomem(err, "an export"));
    if (!st && artifact_path(e)) {
        snprintf(name, sizeof name, "against-%s.json", safe);
        st = put_json(e, "analysis", name, document, err);
        if (!st) st = cbx__temporary_make("export", temporary, err);
        if (!st) {
            st = put_exported(e, "html", "analysis", baseline, temporary, err);
            cbx__temporary_remove(temporary);
        }
    }
    return st;
}

/* --- the exporter --- */

static cbx_status open_server(mlflow_export *e, cbx_export_job *job, cbx_err *err)
{
    const char *uri = job->opts.to ? job->opts.to : getenv("MLFLOW_TRACKING_URI");
    const char *experiment = job->opts.experiment ? job->opts.experiment : getenv("MLFLOW_EXPERIMENT_NAME");
    cbx_status st;

    *e = (mlflow_export){ .job = job };
    cbx__mlflow_session_init(&e->s, cbx_ctx_allocator(job->ctx));
    e->arena = &e->s.arena;
    if (!uri || !*uri)
        return cbx_fail(err, CBX_EINVAL, "an export to MLflow needs the address of a server: set MLFLOW_TRACKING_URI");
    st = cbx__mlflow_open(job->ctx, uri, job->opts.timeout_s > 0 ? job->opts.timeout_s : 30, &e->s.server, err);
    if (!st && cbx__mlflow_is_unchecked(e->s.server))
        st = cbx__export_note(job, err, "the certificate of '%s' is not checked: MLFLOW_TRACKING_INSECURE_TLS is set",
                              cbx__mlflow_address(e->s.server));
    return st ? st
              : cbx__mlflow_open_experiment(&e->s, experiment && *experiment ? experiment : "calibrax", &job->out.arena,
                                            err);
}

static void begin_run(mlflow_export *e, const cbx_run *run)
{
    e->run = e->s.run = run;
    e->top = (cbx__mlflow_remote){ NULL };
    e->filter = NULL;
    e->made = e->incomplete = false;
    e->left_out = e->s.shortened = e->s.infinite = 0;
}

static void mlflow_export_clear(mlflow_export *e) { cbx__mlflow_session_clear(&e->s); }

static cbx_status mlflow_runs(cbx_export_job *job, const cbx_export_source *runs, cbx_err *err)
{
    CBX_CLEARED(mlflow_export) e;
    cbx_status st = open_server(&e, job, err);

    for (size_t i = 0; !st && i < runs->count; i++) {
        CBX_OWNED(cbx_run) *run = NULL;
        st = runs->load(runs->user, i, &run, err);
        if (st) break;
        begin_run(&e, run);
        st = put_run(&e, err);
        cbx_arena_clear(e.arena);
    }
    return st;
}

static cbx_status mlflow_analysis(cbx_export_job *job, const cbx_run *run, const cbx_run *baseline, cbx_err *err)
{
    cbx_regression_opts opts = CBX_REGRESSION_OPTS_INIT;
    CBX_OWNED(cbx_regression) *r = NULL;
    CBX_CLEARED(mlflow_export) e;
    cbx_status st = open_server(&e, job, err);

    opts.allow_machines = true; /* refused before this is called, unless allowed */
    begin_run(&e, run);
    if (!st) st = cbx_regression_create(job->ctx, run, baseline, &opts, &r, err);
    if (!st) st = put_run(&e, err);
    return st ? st : put_findings(&e, baseline, r, err);
}

CBX__EXPORTER(mlflow, .name = "mlflow", .summary = "runs on an MLflow server, with nested runs, artifacts and analysis",
              .export_analysis = mlflow_analysis, .export_together = mlflow_runs);
