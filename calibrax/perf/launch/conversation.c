/* A launch: how it fails, and the talk with a worker: a request on its standard input, an answer in a memory file. */
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/perf/launch/driver.h"

#define LOOK_S 0.05 /* between looks at a process; the kernel keeps its greatest memory meanwhile */

void cbx__launch_clear(cbx__launch *l)
{
    cbx_run_free(l->run);
    l->run = NULL;
}

void cbx__launch_fail(cbx__session *s, cbx__launch *l, const char *phase, cbx_status st, const char *fmt, ...)
{
    char text[CBX_ERR_MESSAGE_SIZE];
    const char *copy, *where;
    va_list args;

    if (l->status) return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    copy = cbx_arena_strdup(s->arena, text);
    where = cbx_arena_strdup(s->arena, phase);
    l->status = st;
    l->phase = where ? where : "run";
    l->message = copy ? copy : "out of memory to say why";
}

void cbx__launch_explain(cbx__session *s, cbx__launch *l, const char *phase, const cbx__watched *w)
{
    const char *colon = w->last_words[0] ? ": " : "";
    int code = w->run.exit_status;

    if (w->end == CBX__WATCHED_TIMEOUT)
        cbx__launch_fail(s, l, phase, CBX_ETIMEOUT, "it took more than %g s and was stopped", s->o->timeout_s);
    else if (code > 128 && code < 128 + 65)
        cbx__launch_fail(s, l, phase, CBX_ECHILD, "it was killed by signal %d (%s)%s%s", code - 128,
                         strsignal(code - 128), colon, w->last_words);
    else
        cbx__launch_fail(s, l, phase, CBX_ECHILD, "it ended with status %d%s%s", code, colon, w->last_words);
}

/* --- messages --- */

cbx_json *cbx__request(const cbx__session *s, const char *name)
{
    const cbx_benchmark_measure_opts *m = &s->o->measure;
    cbx_json *o = cbx_json_new_object(), *config = m->config ? cbx_json_copy(m->config) : cbx_json_new_object();
    bool ok = o && cbx_json_set_string(o, "schema", "calibrax-benchmark-request") &&
              cbx_json_set_int(o, "version", 1) && cbx_json_set_string(o, "path", s->source->path) &&
              cbx_json_set_string(o, "benchmark", name) && cbx_json_set_int(o, "warmup", (int64_t)m->warmup) &&
              cbx_json_set_int(o, "samples", (int64_t)m->samples) && cbx_json_set_double(o, "sample_s", m->sample_s) &&
              cbx_json_set_double(o, "budget_s", m->budget_s) &&
              cbx_json_set_int(o, "batch_size", (int64_t)m->batch_size) &&
              cbx_json_set_int(o, "max_batches", (int64_t)m->max_batches);

    if (ok && config && cbx_json_set(o, "config", config)) return o;
    if (!ok) cbx_json_unref(config);
    cbx_json_unref(o);
    return NULL;
}

cbx_json *cbx__answer(const char *key, cbx_json *value)
{
    cbx_json *o = cbx_json_new_object();
    bool ok = o && cbx_json_set_string(o, "schema", CBX__ANSWER_SCHEMA) &&
              cbx_json_set_int(o, "version", CBX__ANSWER_VERSION);

    if (ok && value && cbx_json_set(o, key, value)) return o;
    if (!ok) cbx_json_unref(value);
    cbx_json_unref(o);
    return NULL;
}

static const char *parse_answer(const char *text, size_t len, cbx_json **out, cbx_err *err)
{
    cbx_json *o = NULL;

    if (cbx_json_parse(text, len, "its answer", &o, err)) return err->message;
    *out = o;
    if (strcmp(cbx_json_get_string(o, "schema", ""), CBX__ANSWER_SCHEMA) != 0) return "its answer is none";
    return cbx_json_get_int(o, "version", 0) == CBX__ANSWER_VERSION ? NULL : "its answer is of another version";
}

static void take_failure(cbx__session *s, const cbx_json *failure, cbx__launch *out)
{
    int64_t st = cbx_json_get_int(failure, "status", CBX_ECHILD);

    if (st < CBX_EINVAL || st > CBX_EINTERNAL) st = CBX_ECHILD;
    cbx__launch_fail(s, out, cbx_json_get_string(failure, "phase", "run"), (cbx_status)st, "%s",
                     cbx_json_get_string(failure, "message", "no reason was given"));
}

cbx_status cbx__answer_read(cbx__session *s, const char *text, size_t len, cbx__launch *out, cbx_err *err)
{
    cbx_err why = CBX_ERR_INIT;
    cbx_json *answer = NULL, *failure, *run;
    const char *fault = parse_answer(text, len, &answer, &why);
    cbx_status st = CBX_OK;

    failure = cbx_json_get(answer, "failure");
    run = cbx_json_get(answer, "run");
    if (fault)
        cbx__launch_fail(s, out, "output", CBX_EPROTO, "%s", fault);
    else if (failure)
        take_failure(s, failure, out);
    else if (!run)
        cbx__launch_fail(s, out, "output", CBX_EPROTO, "its answer holds neither a run nor a failure");
    else
        st = cbx_run_from_json(s->ctx, run, "its answer", &out->run, &why);
    if (st && st != CBX_ENOMEM) {
        cbx__launch_fail(s, out, "output", st, "%s", why.message);
        st = CBX_OK;
    }
    out->hwm_mb = fmax(0, cbx_json_get_double(answer, "hwm_bytes", 0) / 1048576);
    if (!st && out->run && cbx_run_npoints(out->run) != 1) {
        cbx__launch_fail(s, out, "output", CBX_EPROTO, "its answer holds %zu points", cbx_run_npoints(out->run));
        cbx__launch_clear(out);
    }
    cbx_json_unref(answer);
    return st ? cbx_fail(err, st, "out of memory to read an answer") : CBX_OK;
}

/* --- the process --- */

static cbx_status write_request(const cbx__session *s, const char *name, int fd, cbx_err *err)
{
    cbx_json *request = cbx__request(s, name);
    cbx_status st;
    cbx_text text;

    cbx_text_init(&text, cbx_ctx_allocator(s->ctx));
    if (request) cbx_json_write(request, CBX_JSON_COMPACT | CBX_JSON_ASCII, &text);
    cbx_json_unref(request);
    st = request ? cbx_text_check(&text, err) : cbx_fail(err, CBX_ENOMEM, "out of memory for a request");
    if (!st && (write(fd, cbx_text_str(&text), text.len) != (ssize_t)text.len || lseek(fd, 0, SEEK_SET) != 0))
        st = cbx_fail(err, CBX_EIO, "cannot write a request");
    cbx_text_clear(&text);
    return st;
}

/* Starts a worker, waits for its end, takes its answer; *text is "" if there is none. */
static cbx_status ask(cbx__session *s, const char *const *argv, const char *name, cbx__watched *w, char **text,
                      size_t *len, cbx_err *err)
{
    cbx__watched_opts o = { .process = CBX__PROCESS_OPTS_INIT, .interval_s = LOOK_S };
    int request = -1, answer = -1;
    cbx_status st = cbx__memory_file("request", &request, err);

    if (!st) st = cbx__memory_file("answer", &answer, err);
    if (!st) st = write_request(s, name, request, err);
    o.process.argv = argv;
    o.process.input = request;
    o.process.output = s->o->show_output ? CBX__FD_OURS : CBX__FD_NOWHERE;
    o.process.errors = s->o->show_output ? CBX__FD_OURS : CBX__FD_TAIL;
    o.process.channel = answer;
    o.process.own_group = true;
    o.timeout_s = s->o->timeout_s;
    o.grace_s = s->o->grace_s;
    o.stop = s->o->stop;
    if (!st) st = cbx__watched_run(s->ctx, &o, w, err);
    if (!st) {
        st = cbx__memory_file_read(cbx_ctx_allocator(s->ctx), answer, "the worker's answer", CBX__ANSWER_MOST, text,
                                   len, err);
        if (st) cbx__watched_clear(w);
    }
    if (request >= 0) close(request);
    if (answer >= 0) close(answer);
    return st;
}

static void trace_phases(cbx__session *s, const cbx_run *run, const char *name)
{
    const cbx_json *results = cbx_json_get(cbx_run_metadata(run), "results");
    const cbx_json *phases = cbx_json_get(cbx_json_get(cbx_json_at(results, 0), "metadata"), "phases");

    for (size_t i = 0; i < cbx_json_length(phases); i++) {
        const cbx_json *p = cbx_json_at(phases, i);
        cbx_timeline_at at = { (uint64_t)cbx_json_get_int(p, "start_ns", 0), 1, 0 };
        if (at.time_ns)
            cbx_timeline_span(s->trace, cbx_json_get_string(p, "name", "phase"), name, &at,
                              (uint64_t)cbx_json_get_int(p, "duration_ns", 0), NULL, 0);
    }
}

cbx_status cbx__worker_launch(cbx__session *s, const char *const *argv, const char *name, cbx__launch *out,
                              cbx_err *err)
{
    cbx__watched w;
    size_t len = 0;
    char *text = NULL;
    cbx_status st = ask(s, argv, name, &w, &text, &len, err);

    if (st) return st;
    if (s->trace) cbx__watched_trace(s->trace, name, &w);
    if (w.end == CBX__WATCHED_STOPPED)
        st = cbx_fail(err, CBX_EINTERRUPTED, "interrupted while '%s' ran", name);
    else if (w.end == CBX__WATCHED_TIMEOUT || len == 0)
        cbx__launch_explain(s, out, "run", &w);
    else
        st = cbx__answer_read(s, text, len, out, err);
    cbx__watched_clear(&w);
    if (out->run && w.run.exit_status != 0) {
        cbx__launch_explain(s, out, "end", &w);
        cbx__launch_clear(out);
    }
    out->process = w.run;
    out->has_process = true;
    if (out->run && s->trace) trace_phases(s, out->run, name);
    cbx_mem_free(cbx_ctx_allocator(s->ctx), text, len + 1);
    return st;
}

static cbx_status take_names(cbx__session *s, const cbx_json *answer, const char *const **names, size_t *count,
                             cbx_err *err)
{
    const cbx_json *list = cbx_json_get(answer, "names"), *failure = cbx_json_get(answer, "failure");
    size_t n = cbx_json_length(list);
    const char **out = cbx_arena_calloc(s->arena, n, sizeof *out);
    cbx__launch told = { 0 };

    if (!out) return cbx_fail(err, CBX_ENOMEM, "out of memory for the names of benchmarks");
    if (failure) {
        take_failure(s, failure, &told);
        return cbx_fail(err, told.status, "%s", told.message);
    }
    for (size_t i = 0; i < n; i++) {
        const char *name = cbx_json_string_value(cbx_json_at(list, i));
        out[i] = cbx_arena_strdup(s->arena, name ? name : "");
        if (!out[i]) return cbx_fail(err, CBX_ENOMEM, "out of memory for the names of benchmarks");
    }
    *names = out;
    *count = n;
    return CBX_OK;
}

cbx_status cbx__worker_list(cbx__session *s, const char *const *argv, const char *const **names, size_t *count,
                            cbx_err *err)
{
    cbx__watched w;
    cbx__launch why = { 0 };
    cbx_json *answer = NULL;
    size_t len = 0;
    char *text = NULL;
    const char *fault;
    cbx_status st = ask(s, argv, NULL, &w, &text, &len, err);

    if (st) return st;
    if (w.end == CBX__WATCHED_STOPPED) {
        st = cbx_fail(err, CBX_EINTERRUPTED, "interrupted while '%s' was looked at", s->source->path);
    } else if (w.end == CBX__WATCHED_TIMEOUT || len == 0) {
        cbx__launch_explain(s, &why, "start", &w);
        st = cbx_fail(err, why.status, "cannot list the benchmarks of '%s': %s", s->source->path, why.message);
    } else {
        cbx_err detail = CBX_ERR_INIT;
        fault = parse_answer(text, len, &answer, &detail);
        st = fault ? cbx_fail(err, CBX_EPROTO, "cannot list the benchmarks of '%s': %s", s->source->path, fault)
                   : take_names(s, answer, names, count, err);
    }
    cbx__watched_clear(&w);
    cbx_json_unref(answer);
    cbx_mem_free(cbx_ctx_allocator(s->ctx), text, len + 1);
    return st;
}
