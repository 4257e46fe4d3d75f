/*
 * Weights & Biases: offline runs, which `wandb sync` uploads.  The package wandb writes them, in
 * the Python that NPERF_PYTHON_WANDB names, that scripts/setup-refs.sh built, or that is on PATH:
 * workers/python/wandb_files.py.  No API key is read here or there.
 */
#include <stdlib.h>
#include <string.h>

#include "calibrax/analysis/regression.h"
#include "calibrax/base/file.h"
#include "calibrax/base/hash.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/json_put.h"
#include "calibrax/base/path.h"
#include "calibrax/base/process.h"
#include "calibrax/base/programs.h"
#include "calibrax/base/temporary.h"
#include "calibrax/exporters/job.h"
#include "calibrax/exporters/wandb_answer.h"
#include "calibrax/perf/case/provider.h"

CBX_FREED_BY(cbx_regression, cbx_regression_free)

#define MAX_ANSWER ((size_t)1 << 20)
#define TIMEOUT_NS UINT64_C(600000000000) /* a run of 10^5 points takes a minute */

/* An id that W&B accepts: at most 64 letters, digits, '-' and '_'. */
static const char *identity_of(cbx_export_job *job, const cbx_run *run)
{
    const char *id = cbx_run_id(run);
    char digest[CBX_HASH_SIZE];

    if (strlen(id) <= 64 &&
        strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == strlen(id))
        return id;
    cbx_hash_bytes(id, strlen(id), digest);
    return cbx_arena_strdup(job->arena, digest);
}

/* The run as JSON, with the metrics that are asked for. */
static cbx_json *chosen(const cbx_export_job *job, const cbx_run *run)
{
    cbx_json *tree = cbx_run_to_json(run), *metrics;
    const cbx_json *points = cbx_json_get(tree, "points");

    for (size_t i = 0; job->opts.nmetrics && i < cbx_run_npoints(run); i++) {
        const cbx_point *p = cbx_run_point(run, i);
        metrics = (cbx_json *)cbx_json_get(cbx_json_at(points, i), "metrics");
        for (size_t k = 0; k < p->nmetrics; k++)
            if (!cbx__export_wants(job, p->metrics[k].name)) cbx_json_remove(metrics, p->metrics[k].name);
    }
    return tree;
}

/* Those of the metrics that are asked for. */
static cbx_json *findings_of(const cbx_export_job *job, const cbx_regression *r)
{
    cbx_json *list = cbx_json_new_array();

    for (size_t i = 0; i < cbx_regression_nfindings(r); i++) {
        const cbx_finding *f = cbx_regression_finding(r, i);
        if (!cbx__export_wants(job, f->metric)) continue;
        cbx_json_put(cbx_json_push_object(list), J_TEXT("outcome", cbx_outcome_name(f->outcome)),
                     J_TEXT("point", f->point), J_TEXT("scenario", f->scenario), J_TEXT("tags", f->tags),
                     J_TEXT("metric", f->metric), J_NUMBER("baseline", f->baseline), J_NUMBER("current", f->current),
                     J_NUMBER("change", f->change), J_NUMBER("lower", f->interval.lower),
                     J_NUMBER("upper", f->interval.upper), J_NUMBER("threshold", f->threshold),
                     J_NUMBER("p", f->p_holm));
    }
    return list;
}

cbx_status cbx__wandb_answer_read(const char *text, size_t len, cbx_json **files, cbx_err *err)
{
    CBX_OWNED(cbx_json) *answer = NULL;
    cbx_status st = cbx_json_parse(text, len, "answer of 'wandb_files.py'", &answer, err);

    if (st) return st;
    if (cbx_json_has(answer, "failure")) {
        const char *reason = cbx_json_get_string(answer, "failure", "");
        st = cbx_fail(err, CBX_ECHILD, "%s", *reason ? reason : "wandb failed without a reason");
        if (err) cbx_text_blank(err->message);
        return st;
    }
    cbx_json *list = cbx_json_get(answer, "files");
    if (cbx_json_typeof(list) != CBX_JSON_ARRAY || !cbx_json_length(list))
        return cbx_fail(err, CBX_EFORMAT, "'wandb_files.py' named no file: CALIBRAX_WANDB_PYTHON names another script");
    for (size_t i = 0; i < cbx_json_length(list); i++)
        if (!cbx_json_string_value(cbx_json_at(list, i)) || !*cbx_json_string_value(cbx_json_at(list, i)))
            return cbx_fail(err, CBX_EFORMAT, "'wandb_files.py' named a file without a name");
    *files = cbx_json_ref(list);
    return CBX_OK;
}

/* Takes what the script answered: the files, or why there are none. */
static cbx_status read_answer(cbx_export_job *job, const char *path, const char *last_words, cbx_err *err)
{
    CBX_OWNED(cbx_json) *files = NULL;
    char *text;
    size_t len;
    cbx_status st;

    if (!cbx_path_exists(path))
        return cbx_fail(err, CBX_ECHILD, "the Python that writes runs of wandb ended without an answer: %s",
                        *last_words ? last_words : "it printed no reason");
    st = cbx_file_read(job->ctx, path, MAX_ANSWER, &text, &len, err);
    if (st) return st;
    st = cbx__wandb_answer_read(text, len, &files, err);
    cbx_mem_free(cbx_ctx_allocator(job->ctx), text, len + 1);
    for (size_t i = 0; !st && i < cbx_json_length(files); i++)
        st = cbx__export_add_path(job, cbx_json_string_value(cbx_json_at(files, i)), err);
    return st;
}

/* Runs the script, which reads the one file and writes the other. */
static cbx_status ask(cbx_export_job *job, const char *request, const char *answer, cbx_err *err)
{
    const char *python = NULL, *script = NULL;
    cbx__process process;
    cbx__process_opts opts = CBX__PROCESS_OPTS_INIT;
    char words[200];
    cbx_status st = cbx_provider_interpreter(job->ctx, "wandb", "cpu", job->arena, &python, NULL, err);
    if (!st) st = cbx__tool_find(CBX__TOOL_PYTHON_WANDB, job->arena, &script, err);
    if (st) return st;
    const char *argv[] = { python, script, request, answer, NULL };
    opts.argv = argv;
    opts.errors = CBX__FD_TAIL;
    opts.name = "the Python that writes runs of wandb";
    opts.own_group = true;
    cbx__process_init(&process);
    st = cbx__process_start(&opts, &process, err);
    if (!st && !cbx__process_wait(&process, TIMEOUT_NS)) {
        cbx__process_kill(&process);
        st = cbx_fail(err, CBX_ETIMEOUT, "wandb did not write the run within 10 minutes");
    }
    cbx__process_drain(&process);
    cbx__process_last_words(&process, words, sizeof words);
    cbx__process_finish(&process);
    return st ? st : read_answer(job, answer, words, err);
}

static cbx_status write_run(cbx_export_job *job, const cbx_run *run, const cbx_regression *r, cbx_err *err)
{
    const char *project = job->opts.experiment ? job->opts.experiment : getenv("WANDB_PROJECT"),
               *entity = getenv("WANDB_ENTITY");
    char folder[CBX__TEMPORARY_SIZE], digest[CBX_HASH_SIZE];
    cbx_status st;

    if (!job->opts.experiment && project && !*project) project = NULL;
    CBX_OWNED(cbx_json) *o = cbx_json_document("calibrax-wandb-request", J_JSON("run", chosen(job, run)),
                                               J_TEXT("project", project ? project : "calibrax"),
                                               J_GIVEN("entity", entity && *entity ? entity : NULL));
    if (r) cbx_json_set(o, "findings", findings_of(job, r));
    CBX_SCOPED(cbx_text, text, cbx_ctx_allocator(job->ctx));
    cbx_json_write(o, CBX_JSON_SORT_KEYS, &text);
    st = cbx_text_check(&text, err);
    if (!st) cbx_hash_bytes(cbx_text_str(&text), text.len, digest); /* of what is written, wherever that is */
    cbx_json_put(o, J_TEXT("digest", st ? "" : digest), J_TEXT("id", identity_of(job, run)),
                 J_TEXT("folder", job->opts.folder), J_BOOL("replace", job->opts.replace));
    cbx_text_reset(&text);
    cbx_json_write(o, 0, &text);
    if (!st) st = cbx_text_check(&text, err);
    if (!st) st = cbx__temporary_make("wandb", folder, err);
    if (st) return st;
    const char *request = cbx_path_join(job->arena, folder, "request.json");
    const char *answer = cbx_path_join(job->arena, folder, "answer.json");
    st = request && answer ? cbx_file_write_atomic(job->ctx, request, cbx_text_str(&text), text.len, err)
                           : cbx_fail_nomem(err, "a run of wandb");
    if (!st) st = ask(job, request, answer, err);
    cbx__temporary_remove(folder);
    return st;
}

static cbx_status wandb_run(cbx_export_job *job, const cbx_run *run, cbx_err *err)
{
    return write_run(job, run, NULL, err);
}

static cbx_status wandb_analysis(cbx_export_job *job, const cbx_run *run, const cbx_run *baseline, cbx_err *err)
{
    cbx_regression_opts opts = CBX_REGRESSION_OPTS_INIT;
    CBX_OWNED(cbx_regression) *r = NULL;
    cbx_status st;

    opts.allow_machines = job->opts.allow_machines;
    opts.allow_dropped = true;
    st = cbx_regression_create(job->ctx, run, baseline, &opts, &r, err);
    return st ? st : write_run(job, run, r, err);
}

CBX__EXPORTER(wandb, .name = "wandb", .summary = "offline runs of Weights & Biases, for wandb sync",
              .export_run = wandb_run, .export_analysis = wandb_analysis);
