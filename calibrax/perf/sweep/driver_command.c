/*
 * Commands: each launch is a process, whose time and resources are measured from outside.  Its
 * metrics are a JSON object, the last line or all of its standard output; that is put into the form
 * of a run file, so that the one strict reader of runs judges it.
 */
#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/json_put.h"
#include "calibrax/base/process.h"
#include "calibrax/base/temporary.h"
#include "calibrax/base/text_keep.h"
#include "calibrax/core/owned.h"
#include "calibrax/perf/launch/launch.h"
#include "calibrax/perf/sweep/benchmark_session.h"
#include "calibrax/perf/sweep/declared_run.h"

#define MAX_OUTPUT ((size_t)64 << 20)
#define NO_LIMIT_S 1e9
#define MIB        1048576.0

/* --- the output --- */

typedef struct slice {
    const char *text;
    size_t len;
} slice;

static slice trimmed(const char *text, size_t len)
{
    while (len > 0 && isspace((unsigned char)text[len - 1])) len--;
    while (len > 0 && isspace((unsigned char)*text)) text++, len--;
    return (slice){ text, len };
}

/* The object to read, the last line or else the whole; len 0: neither is an object. */
static slice find_object(const char *text, size_t len)
{
    const slice all = trimmed(text, len);
    const char *newline = all.len ? memrchr(all.text, '\n', all.len) : NULL;
    const slice candidates[] = { newline ? trimmed(newline, (size_t)(all.text + all.len - newline)) : all, all };

    for (size_t i = 0; i < CBX_LEN(candidates); i++) {
        const slice s = candidates[i];
        if (s.len >= 2 && s.text[0] == '{' && s.text[s.len - 1] == '}') return s;
    }
    return (slice){ text, 0 };
}

/* The output as a run with one point: a metric that is a number becomes {"value": number}, the rest
 * is for the reader to judge; targets of the output follow those of the command in
 * results[0].metadata. */
static cbx_json *run_of(const cbx_benchmark_command *c, const cbx_json *output)
{
    const cbx_json *inner = cbx_json_get(output, "metrics"), *defs = cbx_json_get(output, "metric_defs"), *found = NULL;
    const bool whole = cbx_json_typeof(inner) == CBX_JSON_OBJECT;
    char now[CBX_TIME_SIZE];
    cbx_json *o = cbx_json_new_object(), *p, *members, *value, *targets;
    const char *key;

    cbx_json_put(o, J_TEXT("id", "launch"), J_TEXT("timestamp", cbx_time_format_iso(cbx_time_now_us(), now)));
    if (whole) found = cbx_json_get(output, "targets");
    targets = found ? cbx_json_copy(found) : cbx_json_new_object();
    for (size_t i = 0; i < c->ntargets; i++)
        cbx_json_set_double(targets, c->targets[i].name, c->targets[i].metric.value);
    p = cbx_json_push_object(cbx_json_set_array(cbx_json_set_object(o, "metadata"), "results"));
    cbx_json_set(cbx_json_set_object(p, "metadata"), "targets", targets);
    if (whole && defs) cbx_json_set(o, "metric_defs", cbx_json_copy(defs));
    p = cbx_json_push_object(cbx_json_set_array(o, "points"));
    cbx_json_put(p, J_TEXT("name", c->name), J_TEXT("scenario", c->domain ? c->domain : ""));
    members = cbx_json_set_object(p, "tags");
    for (size_t i = 0; i < c->ntags; i++) cbx_json_set_string(members, c->tags[i].key, c->tags[i].value);
    members = cbx_json_set_object(p, "metrics");
    for (size_t i = 0; cbx_json_member(whole ? inner : output, i, &key, &value); i++) {
        const cbx_json_type type = cbx_json_typeof(value);
        const bool number = type == CBX_JSON_INT || type == CBX_JSON_DOUBLE;
        cbx_json_put(members, number ? J_JSON(key, cbx_json_object(J_COPY("value", value))) : J_COPY(key, value));
    }
    return cbx_json_finish(o);
}

cbx_status cbx__output_read(cbx__session *s, const cbx_benchmark_command *c, const char *text, size_t len,
                            cbx__launch *out, cbx_err *err)
{
    const slice object = c->metrics == CBX_COMMAND_NONE ? (slice){ text, 0 } : find_object(text, len);
    CBX_OWNED(cbx_json) *found = NULL;
    CBX_OWNED(cbx_run) *given = NULL;
    CBX_OWNED(cbx_run_builder) *b = NULL;
    cbx_err why = CBX_ERR_INIT;
    cbx_status st = CBX_OK;

    if (!object.len && c->metrics == CBX_COMMAND_STDOUT) {
        cbx__launch_fail(s, out, "output", CBX_EFORMAT, "its last line is not a JSON object with metrics");
        return CBX_OK;
    }
    if (object.len) st = cbx_json_parse(object.text, object.len, "its output", &found, &why);
    if (!st) {
        CBX_OWNED(cbx_json) *json = run_of(c, found);
        st = json ? cbx_run_from_json(s->ctx, json, "its output", &given, &why)
                  : cbx_fail_nomem(&why, "the output of a command");
    }
    /* definitions of the command's declaration go before those of its output */
    if (!st) st = cbx_run_builder_from(s->ctx, given, &b, &why);
    for (size_t i = 0; i < c->ndefs && !st; i++) st = cbx_run_builder_add_metric_def(b, &c->defs[i], &why);
    if (!st) st = cbx_run_builder_freeze(b, &out->run, &why);
    if (st == CBX_ENOMEM) return cbx_fail(err, st, "%s", why.message);
    if (st) cbx__launch_fail(s, out, "output", st, "%s", why.message);
    return CBX_OK;
}

/* --- launches --- */

static cbx_status list(cbx__session *s, const char *const **names, size_t *count, cbx_err *err)
{
    size_t n = s->source->ncommands;
    const char **out = cbx_arena_calloc(s->arena, n, sizeof *out);

    if (!out) return cbx_fail_nomem(err, "the names of benchmarks");
    for (size_t i = 0; i < n; i++) {
        const cbx_benchmark_command *c = &s->source->commands[i];
        if (!c->name || !*c->name || !c->argv || !c->argv[0])
            return cbx_fail(err, CBX_EINVAL, "command %zu has no name, or nothing to run", i + 1);
        for (size_t k = 0; k < i; k++)
            if (strcmp(out[k], c->name) == 0) return cbx_fail(err, CBX_EINVAL, "two commands are named '%s'", c->name);
        out[i] = c->name;
    }
    *names = out;
    *count = n;
    return CBX_OK;
}

typedef struct commanding {
    cbx__session *s;
    const cbx_benchmark_command *c;
    cbx_command_opts how; /* its programs are run */
    cbx__launch *out;
} commanding;

/* The command's own, and the configuration as JSON in CALIBRAX_CONFIG.  false: out of memory. */
static bool set_environment(commanding *m)
{
    const size_t n = m->c->nenvironment;
    const cbx_json *config = m->s->o->measure.config;
    cbx_env_setting *env = cbx_arena_calloc(m->s->arena, n + 1, sizeof *env);
    cbx_text text;

    for (size_t i = 0; env && i < n; i++)
        env[i] = (cbx_env_setting){ m->c->environment[i].key, m->c->environment[i].value };
    m->how.env = env;
    m->how.nenv = n + (config != NULL);
    if (!env || !config) return env != NULL;
    cbx_text_init(&text, cbx_ctx_allocator(m->s->ctx));
    cbx_json_write(config, CBX_JSON_COMPACT | CBX_JSON_ASCII, &text);
    env[n] = (cbx_env_setting){ "CALIBRAX_CONFIG", cbx__text_keep(&text, m->s->arena) };
    return env[n].value != NULL;
}

/*
 * Runs one program of a command to its end.
 * @param stoppable  false: it runs on when everything else is to stop (a tear-down)
 * @param output     for its standard output; 0: shown or discarded
 */
static cbx_status run_program(commanding *m, const char *const *argv, const char *phase, bool stoppable, int output,
                              cbx_command_record *r, cbx_err *err)
{
    cbx_command_opts o = m->how;
    cbx_err why = CBX_ERR_INIT;

    if (!stoppable) o.stop = NULL;
    o.program = argv;
    o.output = output;
    cbx_status st = cbx_command_run(m->s->ctx, argv[0], &o, r, &why);
    if (st == CBX_ENOMEM) return cbx_fail(err, st, "%s", why.message);
    if (!st && r->failure == CBX_FAILURE_INTERRUPTED)
        return cbx_fail(err, CBX_EINTERRUPTED, "interrupted while '%s' ran", m->c->name);
    const bool cannot_run = r->exit_code == 126 || r->exit_code == 127;
    if (!st && r->failure == CBX_FAILURE_EXITED && cannot_run && !r->last_words[0])
        st = cbx_fail(&why, CBX_ENOENT, "cannot run '%s': %s", argv[0],
                      r->exit_code == 126 ? "it is not a program that you may run" : "there is no such program");
    else if (!st && r->failure)
        st = cbx__session_explain(m->s, r->failure, r->exit_code, r->term_signal, r->message, r->last_words, &why);
    if (st) cbx__launch_fail(m->s, m->out, phase, st, "%s", why.message);
    return CBX_OK;
}

static cbx_status measure(commanding *m, cbx_err *err)
{
    cbx_timeline_at at = { cbx_clock_ns(), 1, 0 };
    cbx_command_record r = { 0 };
    cbx_err why = CBX_ERR_INIT;
    int fd = -1;
    cbx_status st = cbx__memory_file("output", &fd, err);

    if (st) return st;
    st = run_program(m, m->c->argv, "run", true, fd, &r, err);
    cbx_timeline_span(m->s->trace, m->c->name, "run", &at, cbx_clock_ns() - at.time_ns, NULL, 0);
    m->out->process = (cbx__process_use){ 1e-9 * r.wall_ns, r.cpu_user_s, r.cpu_system_s, r.hwm_bytes / MIB,
                                          r.tree_bytes / MIB };
    m->out->has_process = true;
    if (!st && !m->out->status) {
        CBX_SCOPED(cbx_text, text, cbx_ctx_allocator(m->s->ctx));
        const cbx_status read = cbx__memory_file_text(fd, "standard output", MAX_OUTPUT, &text, &why);
        if (read == CBX_ENOMEM)
            st = cbx_fail(err, read, "%s", why.message);
        else if (read)
            cbx__launch_fail(m->s, m->out, "output", read, "%s", why.message);
        else
            st = cbx__output_read(m->s, m->c, text.data, text.len, m->out, err);
    }
    close(fd);
    if (st || m->out->status) return st;
    /* the conditions on its outputs: one that is not met is a failed launch */
    st = cbx__command_checks(m->s->ctx, m->c->checks, m->c->nchecks, &m->how, &why);
    if (st == CBX_ENOMEM || st == CBX_EINTERRUPTED) return cbx_fail(err, st, "%s", why.message);
    if (st) cbx__launch_fail(m->s, m->out, "check", st, "%s", why.message);
    return CBX_OK;
}

static cbx_status launch(cbx__session *s, const char *name, cbx__launch *out, cbx_err *err)
{
    const cbx_benchmark_opts *o = s->o;
    commanding m = { .s = s, .c = s->source->commands, .out = out };
    char made[CBX__TEMPORARY_SIZE] = "";
    cbx_command_record r;
    cbx_status st = CBX_OK;

    while (strcmp(m.c->name, name) != 0) m.c++;
    if (m.c->new_folder && (st = cbx__temporary_make("launch", made, err))) return st;
    m.how = (cbx_command_opts){ .struct_size = sizeof m.how,
                                .folder = m.c->new_folder ? made : m.c->folder,
                                .show_output = o->show_output,
                                .timeout_s = o->timeout_s > 0 ? o->timeout_s : NO_LIMIT_S,
                                .grace_s = o->grace_s,
                                .stop = o->stop };
    bool ready = set_environment(&m);
    if (!ready) st = cbx_fail(err, CBX_ENOMEM, "out of memory for the environment of '%s'", name);
    if (!st && m.c->setup) st = run_program(&m, m.c->setup, "setup", true, 0, &r, err);
    for (size_t i = 0; i < m.c->warmup && !st && !out->status; i++)
        st = run_program(&m, m.c->argv, "warmup", true, 0, &r, err);
    if (!st && !out->status) st = measure(&m, err);
    if (m.c->teardown && ready) {
        const cbx_status torn = run_program(&m, m.c->teardown, "teardown", false, 0, &r, st ? NULL : err);
        if (!st) st = torn;
    }
    if (out->status) cbx__launch_clear(out);
    cbx__temporary_remove(made);
    return st;
}

const cbx__driver cbx__driver_command = { list, launch };
