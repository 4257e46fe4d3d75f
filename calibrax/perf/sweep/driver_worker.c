/*
 * Benchmarks of shared objects and of Python modules, each launch in a worker of its own: this end
 * of the conversation (PROTOCOL.md).  What a benchmark breaks, it breaks there.
 */
#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/environment.h"
#include "calibrax/base/json_put.h"
#include "calibrax/base/programs.h"
#include "calibrax/core/owned.h"
#include "calibrax/perf/launch/launch_run.h"
#include "calibrax/perf/launch/phases_internal.h"
#include "calibrax/perf/sweep/benchmark_session.h"

#define DETAIL_MAX   ((size_t)256 << 20)
#define EMPTY_EPOCHS 5
#define MIB          1048576.0

typedef struct worker {
    cbx__session *s;
    cbx__run x; /* of it: the talk, and the readings that are judged */
    cbx_launch_record record;
    cbx_arena arena;
    int detail; /* memory file in which the worker writes what is too long for a message */
    uint64_t started_ns;
    bool reported; /* the failure is the benchmark's own: the worker goes on */
} worker;

/* --- failures --- */

/* Why the worker gave no answer, or did not end well. */
static cbx_status explain(worker *w, cbx_err *err)
{
    cbx__talk *t = w->x.t;
    char words[256];

    cbx__talk_stop(t);
    cbx__process_last_words(&t->child, words, sizeof words);
    if (t->failure == CBX_FAILURE_WORKER_MISSING || t->failure == CBX_FAILURE_INTERPRETER_MISSING)
        return cbx_fail(err, CBX_ENOENT, "%s", t->message);
    if (t->no_memory) return cbx_fail(err, CBX_ENOMEM, "%s", t->message);
    const int status = t->child.status;
    return cbx__session_explain(w->s, t->failure, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                                WIFSIGNALED(status) ? WTERMSIG(status) : 0, t->message, words, err);
}

/* --- messages --- */

/*
 * One request, which is freed, and its answer, whose op is that of the request.
 * @param ns      time by the worker's clock; NULL: it has none
 * @param detail  the caller's to unref; NULL: not needed
 */
static cbx_status ask(worker *w, cbx_json *message, const char *op, double *ns, cbx_json **detail, cbx_err *err)
{
    const bool loads = !strcmp(op, "benchmark"); /* the first request, with the file for long answers */
    cbx__talk *t = w->x.t;
    cbx_json *answer = NULL, *d = NULL;

    t->phase = loads ? "start" : op;
    if (!(message = cbx_json_finish(message))) return cbx_fail_nomem(err, "a request");
    if (w->s->o->timeout_s > 0)
        t->opts.timeout_s = fmax(1e-3, w->s->o->timeout_s - 1e-9 * (double)(cbx_clock_ns() - w->started_ns));
    cbx_status st = cbx__talk_ask(t, message, loads ? &w->detail : NULL, loads, op, &answer) ? CBX_OK : explain(w, err);
    cbx_json_unref(message);
    if (st) return st;
    if (ns) *ns = cbx_json_get_double(answer, "ns", NAN);
    const bool failed = cbx_json_get_bool(answer, "failed", false);
    cbx_json_unref(answer);
    if (detail || failed) {
        CBX_SCOPED(cbx_text, text, cbx_ctx_allocator(w->s->ctx));
        st = cbx__memory_file_text(w->detail, "the worker's answer", DETAIL_MAX, &text, err);
        if (!st) st = cbx_json_parse(text.data, text.len, "its answer", &d, err);
    }
    if (!st && failed) {
        const cbx_json *failure = cbx_json_get(d, "failure");
        const int64_t given = cbx_json_get_int(failure, "status", CBX_ECHILD);
        w->reported = true;
        st = cbx_fail(err, given < CBX_EINVAL || given > CBX_EINTERNAL ? CBX_ECHILD : (cbx_status)given, "%s",
                      cbx_json_get_string(failure, "message", "no reason was given"));
    }
    if (t->ending) { /* what it answered came of being asked to end */
        w->reported = true;
        st = cbx__session_explain(w->s, t->ending, -1, 0, "", "", err);
    }
    if (!st && ns && !(isfinite(*ns) && *ns >= 0)) st = cbx_fail(err, CBX_EPROTO, "its answer has no time");
    if (st || !detail)
        cbx_json_unref(d);
    else
        *detail = d;
    return st;
}

/* --- the benchmark, as phases.c sees it --- */

static cbx_status run_phase(void *user, cbx__phase phase, cbx_values *out, double *ns, cbx_err *err)
{
    worker *w = user;
    cbx_json *detail = NULL, *value;
    const char *name;

    if (phase == CBX__PHASE_TEARDOWN) { /* only its time limit interrupts it */
        w->x.t->opts.stop = NULL;
        if (w->x.t->ending) w->started_ns = cbx_clock_ns();
        w->x.t->ending = CBX_FAILURE_NONE;
    }
    cbx_json *m = cbx_json_object(J_TEXT("op", "phase"), J_TEXT("phase", cbx__phase_names[phase]));
    cbx_status st = ask(w, m, "phase", ns, out ? &detail : NULL, err);
    for (size_t i = 0; !st && cbx_json_member(cbx_json_get(detail, "values"), i, &name, &value); i++)
        st = cbx_values_add(out, name, cbx_json_double_value(value), err);
    cbx_json_unref(detail);
    return st;
}

static cbx_status epoch(worker *w, uint64_t n, double *ns, cbx_err *err)
{
    return ask(w, cbx_json_object(J_TEXT("op", "epoch"), J_INT("iterations", n)), "epoch", ns, NULL, err);
}

static cbx_status run_calls(void *user, uint64_t n, double *ns, cbx_err *err)
{
    worker *w = user;
    cbx__run *x = &w->x;
    double empty[EMPTY_EPOCHS];
    cbx_status st = CBX_OK;

    if (!(w->record.empty_epoch_ns > 0)) {
        for (size_t i = 0; i < EMPTY_EPOCHS && !st; i++) {
            st = epoch(w, 0, &empty[i], err);
            empty[i] = (double)(x->t->received_ns - x->t->sent_ns);
        }
        w->record.empty_epoch_ns = cbx__run_median(empty, EMPTY_EPOCHS);
    }
    if (!st) st = epoch(w, n, ns, err);
    if (st) return st;
    /* epochs of one number of calls are judged together */
    if (x->r->iterations != n || x->r->epochs == CBX_LAUNCH_MAX_EPOCHS) x->r->epochs = 0;
    x->r->iterations = n;
    cbx__run_note_epoch(x, x->r->epochs++, *ns, (double)(x->t->received_ns - x->t->sent_ns));
    return CBX_OK;
}

static cbx_status run_batch(void *user, size_t start, size_t examples, double *ns, cbx_err *err)
{
    cbx_json *m = cbx_json_object(J_TEXT("op", "batch"), J_INT("start", start), J_INT("examples", examples));
    return ask(user, m, "batch", ns, NULL, err);
}

static cbx_status length_of(void *user, size_t *examples, cbx_err *err)
{
    CBX_OWNED(cbx_json) *detail = NULL;
    cbx_status st = ask(user, cbx_json_object(J_TEXT("op", "dataset")), "dataset", NULL, &detail, err);

    if (!st) *examples = (size_t)cbx_json_get_int(detail, "examples", 0);
    return st;
}

static cbx_status judge(void *user, cbx_err *err)
{
    worker *w = user;

    cbx__run_judge_clocks(&w->x);
    return w->x.t->failure ? cbx_fail(err, CBX_EPROTO, "%s", w->x.t->message) : CBX_OK;
}

/* --- start and end --- */

static cbx_status start(worker *w, cbx__session *s, cbx_err *err)
{
    const bool python = s->source->kind == CBX_BENCHMARK_PYTHON;
    const char *program[4] = { 0 }, *tool = NULL;
    cbx__talk_opts talk = { .timeout_s = s->o->timeout_s,
                            .memory_limit_bytes = UINT64_MAX, /* is watched, not limited */
                            .grace_s = s->o->grace_s,
                            .stop = s->o->stop,
                            .python = python };
    cbx__child_opts child = { .program = program, .show_output = s->o->show_output };
    cbx__environment env;

    *w = (worker){ .s = s, .detail = -1, .started_ns = cbx_clock_ns() };
    w->x.r = &w->record;
    w->x.o.platform = "cpu";
    cbx_arena_init(&w->arena, cbx_ctx_allocator(s->ctx));
    if (!s->source->path)
        return cbx_fail(err, CBX_EINVAL, python ? "no Python module is named" : "no shared object is named");
    cbx_status st = cbx__tool_find(python ? CBX__TOOL_PYTHON_WORKER : CBX__TOOL_WORKER, &w->arena, &tool, err);
    if (!st) st = cbx__memory_file("answer", &w->detail, err);
    if (st) return st;
    if (python) program[0] = s->source->python ? s->source->python : "python3";
    program[python] = tool;
    if (python) program[2] = "benchmark";
    cbx__environment_init(&env, &w->arena, NULL);
    cbx__environment_set(&env, "NPERF_WORKER_FD", "3");
    child.env = env.vars;
    if (env.failed) return cbx_fail_nomem(err, "the environment of a worker");
    st = cbx__talk_open(cbx_ctx_allocator(s->ctx), &child, &talk, &w->x.t, err);
    return st || cbx__talk_hello(w->x.t, &w->record.sandbox, NULL) ? st : explain(w, err);
}

/* Has the worker load the benchmark.  @param name  NULL: only list those that there are */
static cbx_status load(worker *w, const char *name, cbx_json **detail, cbx_err *err)
{
    const cbx_json *config = w->s->o->measure.config;
    cbx_json *m = cbx_json_object(J_TEXT("op", "benchmark"), J_TEXT("source", w->s->source->path),
                                  J_INT("batch_size", w->s->o->measure.batch_size), J_GIVEN("name", name),
                                  J_JSON("config", config ? cbx_json_copy(config) : cbx_json_new_object()));
    return ask(w, m, "benchmark", NULL, detail, err);
}

static void stop(worker *w)
{
    const cbx_allocator *al = cbx_ctx_allocator(w->s->ctx);

    cbx__talk_close(w->x.t);
    if (w->detail >= 0) close(w->detail);
    cbx_arena_clear(&w->arena);
    cbx_mem_free(al, w, sizeof *w);
}

/* --- the driver --- */

static cbx_status list(cbx__session *s, const char *const **names, size_t *count, cbx_err *err)
{
    CBX_OWNED(cbx_json) *detail = NULL;
    const char **out = NULL;
    cbx_err why = CBX_ERR_INIT;
    worker *w = cbx_mem_zalloc(cbx_ctx_allocator(s->ctx), sizeof *w);

    if (!w) return cbx_fail_nomem(err, "a worker");
    cbx_status st = start(w, s, &why);
    if (!st) st = load(w, NULL, &detail, &why);
    if (st == CBX_EINTERRUPTED)
        cbx_fail(err, st, "interrupted while the benchmarks of '%s' were listed", s->source->path);
    else if (st && !w->reported && w->x.t && st != CBX_ENOENT && st != CBX_ENOMEM)
        cbx_fail(err, st, "cannot list the benchmarks of '%s': %s", s->source->path, why.message);
    else if (st)
        cbx_fail(err, st, "%s", why.message);
    const cbx_json *all = cbx_json_get(detail, "names");
    *count = cbx_json_length(all);
    if (!st) out = cbx_arena_calloc(s->arena, *count, sizeof *out);
    for (size_t i = 0; out && i < *count; i++) {
        const char *name = cbx_json_string_value(cbx_json_at(all, i));
        out[i] = cbx_arena_strdup(s->arena, name ? name : "");
        if (!out[i]) out = NULL;
    }
    if (!st && !out) st = cbx_fail_nomem(err, "the names of benchmarks");
    if (!st) *names = out;
    stop(w);
    return st;
}

/* The benchmark as the worker described it, into b; run holds its definitions. */
static cbx_status describe(worker *w, const cbx_json *detail, cbx__bench *b, cbx_run **run, cbx_err *err)
{
    const cbx_json *phases = cbx_json_get(detail, "phases"), *tags = cbx_json_get(detail, "tags");
    size_t ntags = cbx_json_length(tags);
    cbx_tag *t = cbx_arena_calloc(&w->arena, ntags, sizeof *t);
    cbx_json *value;
    cbx_status st = t ? CBX_OK : cbx_fail_nomem(err, "a benchmark");

    b->domain = cbx_json_get_string(detail, "domain", "");
    b->batches = cbx_json_get_bool(detail, "batches", false);
    b->clock_ns = cbx_json_get_double(detail, "clock_ns", 0);
    b->versions = cbx_json_get(detail, "versions");
    b->source = cbx_json_get(detail, "source");
    for (size_t i = 0; i < cbx_json_length(phases); i++) {
        const size_t k = CBX_WORD_AT(cbx__phase_names, cbx_json_string_value(cbx_json_at(phases, i)));
        if (k < CBX__PHASE_COUNT) b->has[k] = true;
    }
    for (size_t i = 0; !st && i < ntags && cbx_json_member(tags, i, &t[i].key, &value); i++) {
        t[i].value = cbx_json_string_value(value);
        if (!t[i].value) st = cbx_fail(err, CBX_EPROTO, "its tag '%s' is not text", t[i].key);
    }
    b->tags = t;
    b->ntags = ntags;
    if (!st) st = cbx_run_from_json(w->s->ctx, cbx_json_get(detail, "run"), "its answer", run, err);
    if (st) return st;
    b->ndefs = cbx_run_nmetric_defs(*run);
    cbx_metric_def *defs = cbx_arena_calloc(&w->arena, b->ndefs, sizeof *defs);
    if (!defs) return cbx_fail_nomem(err, "definitions");
    for (size_t i = 0; i < b->ndefs; i++) defs[i] = *cbx_run_metric_def(*run, i);
    b->defs = defs;
    return CBX_OK;
}

static cbx_status launch(cbx__session *s, const char *name, cbx__launch *out, cbx_err *err)
{
    worker *w = cbx_mem_zalloc(cbx_ctx_allocator(s->ctx), sizeof *w);
    cbx_benchmark_measure_opts o = s->o->measure;
    cbx__bench b = { .name = name,
                     .user = w,
                     .phase = run_phase,
                     .calls = run_calls,
                     .length = length_of,
                     .batch = run_batch,
                     .judge = judge };
    const char *phase = "start";
    cbx_err why = CBX_ERR_INIT;
    CBX_OWNED(cbx_json) *detail = NULL;
    CBX_OWNED(cbx_run) *defs = NULL;

    if (!w) return cbx_fail_nomem(err, "a worker");
    o.stop = s->o->stop;
    o.trace = s->trace;
    o.phase = &phase;
    o.no_resources = true; /* the parent watches */
    cbx_status st = start(w, s, &why);
    if (!st) st = load(w, name, &detail, &why);
    if (!st) st = describe(w, detail, &b, &defs, &why);
    if (!st) st = cbx__bench_run(s->ctx, &b, &o, &out->run, &why);
    if (w->x.t && !w->x.t->failure) {
        CBX_OWNED(cbx_json) *m = cbx_json_object(J_TEXT("op", "bye"));
        cbx__run_look_at_peak(&w->x);
        w->x.t->opts.stop = NULL;
        if ((!cbx__talk_ask(w->x.t, m, NULL, 0, "bye", NULL) || !cbx__talk_end(w->x.t)) && !st) {
            phase = "end";
            st = explain(w, &why);
        }
    }
    if (w->x.t) {
        cbx_timeline_at at = { w->started_ns, 1, 0 };
        const cbx__talk *t = w->x.t;
        const struct rusage *u = &t->child.usage;
        cbx__talk_stop(w->x.t);
        out->has_process = true;
        out->process = (cbx__process_use){
            .wall_s = 1e-9 * (double)(cbx_clock_ns() - w->started_ns),
            .cpu_user_s = cbx__seconds_of(u->ru_utime),
            .cpu_system_s = cbx__seconds_of(u->ru_stime),
            .max_rss_mb = w->x.peak > 0 ? w->x.peak / MIB : NAN,
            .peak_rss_mb = t->tree_peak ? fmax(w->x.peak, (double)t->tree_peak) / MIB : NAN,
        };
        cbx_timeline_span(s->trace, name, "run", &at, cbx_clock_ns() - w->started_ns, NULL, 0);
    }
    bool own = w->reported;
    stop(w);
    if (!st) return CBX_OK;
    cbx__launch_clear(out);
    if (s->o->stop && *s->o->stop && st == CBX_EINTERRUPTED)
        return cbx_fail(err, st, "interrupted while '%s' ran", name);
    if (st == CBX_ENOMEM && !own) return cbx_fail(err, st, "%s", why.message);
    if (!out->has_process) return cbx_fail(err, st, "%s", why.message); /* nothing to launch */
    cbx__launch_fail(s, out, phase, st, "%s", why.message[0] ? why.message : cbx_status_words(st));
    return CBX_OK;
}

const cbx__driver cbx__driver_worker = { list, launch };
