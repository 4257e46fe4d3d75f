/* Commands: each launch is a process, what it prints are its metrics, its time and resources are seen from outside. */
#include <string.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/process.h"
#include "calibrax/perf/launch/launch.h"
#include "calibrax/perf/sweep/driver.h"
#include "calibrax/perf/sweep/output.h"

#define OUTPUT_MOST ((size_t)64 << 20)
#define NO_LIMIT_S  1e9
#define MIB         1048576.0

static cbx_status list(cbx__session *s, const char *const **names, size_t *count, cbx_err *err)
{
    size_t n = s->source->ncommands;
    const char **out = cbx_arena_calloc(s->arena, n, sizeof *out);

    if (!out) return cbx_fail(err, CBX_ENOMEM, "out of memory for the names of benchmarks");
    for (size_t i = 0; i < n; i++) {
        const cbx_benchmark_command *c = &s->source->commands[i];
        if (!c->name || !*c->name || !c->argv || !c->argv[0])
            return cbx_fail(err, CBX_EINVAL, "command %zu has no name, or nothing to run", i + 1);
        for (size_t k = 0; k < i; k++) {
            if (strcmp(out[k], c->name) == 0) return cbx_fail(err, CBX_EINVAL, "two commands are named '%s'", c->name);
        }
        out[i] = c->name;
    }
    *names = out;
    *count = n;
    return CBX_OK;
}

static const cbx_benchmark_command *find(const cbx__session *s, const char *name)
{
    const cbx_benchmark_command *c = s->source->commands;
    while (strcmp(c->name, name) != 0) c++;
    return c;
}

/* The command's own, and the configuration as JSON in CALIBRAX_CONFIG. */
static cbx_env_setting *environment_of(cbx__session *s, const cbx_benchmark_command *c, size_t *n)
{
    cbx_env_setting *env = cbx_arena_calloc(s->arena, c->nenvironment + 1, sizeof *env);
    cbx_text config;

    *n = c->nenvironment;
    for (size_t i = 0; env && i < *n; i++) env[i] = (cbx_env_setting){ c->environment[i].key, c->environment[i].value };
    if (!env || !s->o->measure.config) return env;
    cbx_text_init(&config, cbx_ctx_allocator(s->ctx));
    cbx_json_write(s->o->measure.config, CBX_JSON_COMPACT | CBX_JSON_ASCII, &config);
    env[*n] = (cbx_env_setting){ "CALIBRAX_CONFIG",
                                 config.status ? NULL : cbx_arena_strdup(s->arena, cbx_text_str(&config)) };
    cbx_text_clear(&config);
    return env[(*n)++].value ? env : NULL;
}

typedef struct commanding {
    cbx__session *s;
    const cbx_benchmark_command *c;
    const cbx_env_setting *env;
    size_t nenv;
    cbx__launch *out;
} commanding;

/* Why a program gave nothing: time, signal, status; its last words are added. */
static void explain(commanding *m, const char *phase, const char *program, const cbx_command_record *r)
{
    const char *colon = r->last_words[0] ? ": " : "";

    if (r->failure == CBX_FAILURE_TIMEOUT)
        cbx__launch_fail(m->s, m->out, phase, CBX_ETIMEOUT, "it took more than %g s and was stopped",
                         m->s->o->timeout_s);
    else if (r->failure == CBX_FAILURE_CRASHED)
        cbx__launch_fail(m->s, m->out, phase, CBX_ECHILD, "it was killed by signal %d (%s)%s%s", r->term_signal,
                         strsignal(r->term_signal), colon, r->last_words);
    else if (r->failure == CBX_FAILURE_EXITED && (r->exit_code == 126 || r->exit_code == 127) && !*colon)
        cbx__launch_fail(m->s, m->out, phase, CBX_ENOENT, "cannot run '%s': %s", program,
                         r->exit_code == 126 ? "it is not a program that you may run" : "there is no such program");
    else if (r->failure == CBX_FAILURE_EXITED)
        cbx__launch_fail(m->s, m->out, phase, CBX_ECHILD, "it ended with status %d%s%s", r->exit_code, colon,
                         r->last_words);
    else
        cbx__launch_fail(m->s, m->out, phase, CBX_ECHILD, "%s%s%s", r->message, colon, r->last_words);
}

/*
 * Runs one program of a command to its end.
 * @param stoppable  false: it runs on when everything else is to stop (a tear-down)
 * @param output     for its standard output; 0: shown or discarded
 */
static cbx_status run_program(commanding *m, const char *const *argv, const char *phase, bool stoppable, int output,
                              cbx_command_record *r, cbx_err *err)
{
    const cbx_benchmark_opts *b = m->s->o;
    cbx_command_opts o = { .struct_size = sizeof o, .program = argv, .folder = m->c->folder, .env = m->env };
    cbx_err why = CBX_ERR_INIT;
    cbx_status st;

    o.nenv = m->nenv;
    o.output = output;
    o.show_output = b->show_output;
    o.timeout_s = b->timeout_s > 0 ? b->timeout_s : NO_LIMIT_S;
    o.grace_s = b->grace_s;
    o.stop = stoppable ? b->stop : NULL;
    st = cbx_command_run(m->s->ctx, argv[0], &o, r, &why);
    if (st == CBX_ENOMEM) return cbx_fail(err, st, "%s", why.message);
    if (st)
        cbx__launch_fail(m->s, m->out, phase, st, "%s", why.message);
    else if (r->failure == CBX_FAILURE_INTERRUPTED)
        return cbx_fail(err, CBX_EINTERRUPTED, "interrupted while '%s' ran", m->c->name);
    else if (r->failure)
        explain(m, phase, argv[0], r);
    return CBX_OK;
}

static cbx_status measure(commanding *m, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(m->s->ctx);
    cbx_timeline_at at = { cbx_clock_ns(), 1, 0 };
    cbx_command_record r = { 0 };
    cbx_err why = CBX_ERR_INIT;
    char *text = NULL;
    size_t len = 0;
    int fd = -1;
    cbx_status st = cbx__memory_file("output", &fd, err), read;

    if (st) return st;
    st = run_program(m, m->c->argv, "run", true, fd, &r, err);
    cbx_timeline_span(m->s->trace, m->c->name, "run", &at, cbx_clock_ns() - at.time_ns, NULL, 0);
    m->out->process = (cbx__process_use){ 1e-9 * r.wall_ns, r.cpu_user_s, r.cpu_system_s, r.hwm_bytes / MIB,
                                          r.tree_bytes / MIB };
    m->out->has_process = true;
    if (!st && !m->out->status) {
        read = cbx__memory_file_read(al, fd, "standard output", OUTPUT_MOST, &text, &len, &why);
        if (read == CBX_ENOMEM)
            st = cbx_fail(err, read, "%s", why.message);
        else if (read)
            cbx__launch_fail(m->s, m->out, "output", read, "%s", why.message);
        else
            st = cbx__output_read(m->s, m->c, text, len, m->out, err);
    }
    cbx_mem_free(al, text, text ? len + 1 : 0);
    close(fd);
    return st;
}

static cbx_status run_phases(commanding *m, cbx_err *err)
{
    cbx_command_record r;
    cbx_status st = CBX_OK;

    if (m->c->setup) st = run_program(m, m->c->setup, "setup", true, 0, &r, err);
    for (size_t i = 0; i < m->c->warmup && !st && !m->out->status; i++)
        st = run_program(m, m->c->argv, "warmup", true, 0, &r, err);
    return st || m->out->status ? st : measure(m, err);
}

static cbx_status launch(cbx__session *s, const char *name, cbx__launch *out, cbx_err *err)
{
    commanding m = { .s = s, .c = find(s, name), .out = out };
    cbx_command_record r;
    cbx_status st, torn;

    m.env = environment_of(s, m.c, &m.nenv);
    if (!m.env) return cbx_fail(err, CBX_ENOMEM, "out of memory for the environment of '%s'", name);
    st = run_phases(&m, err);
    if (m.c->teardown) {
        torn = run_program(&m, m.c->teardown, "teardown", false, 0, &r, st ? NULL : err);
        if (!st) st = torn;
    }
    if (out->status) cbx__launch_clear(out);
    return st;
}

const cbx__driver cbx__driver_command = { list, launch };
