/* Commands: each launch is a process, what it prints are its metrics, its time and resources are seen from outside. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/base/environment.h"
#include "calibrax/perf/sweep/driver.h"
#include "calibrax/perf/sweep/output.h"
#include "calibrax/profiling/watched.h"

#define LOOK_S      0.01
#define OUTPUT_MOST ((size_t)64 << 20)

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

/* Ours, the command's, and the configuration as JSON in CALIBRAX_CONFIG. */
static const char *const *environment_of(cbx__session *s, const cbx_benchmark_command *c)
{
    cbx__environment e;
    cbx_text config;

    cbx__environment_init(&e, s->arena, NULL);
    for (size_t i = 0; i < c->nenvironment; i++)
        cbx__environment_set(&e, c->environment[i].key, c->environment[i].value);
    if (s->o->measure.config) {
        cbx_text_init(&config, cbx_ctx_allocator(s->ctx));
        cbx_json_write(s->o->measure.config, CBX_JSON_COMPACT | CBX_JSON_ASCII, &config);
        if (config.status) e.failed = true;
        cbx__environment_set(&e, "CALIBRAX_CONFIG", cbx_text_str(&config));
        cbx_text_clear(&config);
    }
    return e.failed ? NULL : e.vars;
}

typedef struct commanding {
    cbx__session *s;
    const cbx_benchmark_command *c;
    const char *const *env;
    cbx__launch *out;
} commanding;

/* Why a program gave nothing: time, signal, status; its last words are added. */
static void explain(commanding *m, const char *phase, const cbx__watched *w)
{
    const char *colon = w->last_words[0] ? ": " : "";
    int code = w->run.exit_status;

    if (w->end == CBX__WATCHED_TIMEOUT)
        cbx__launch_fail(m->s, m->out, phase, CBX_ETIMEOUT, "it took more than %g s and was stopped",
                         m->s->o->timeout_s);
    else if (code > 128 && code < 128 + 65)
        cbx__launch_fail(m->s, m->out, phase, CBX_ECHILD, "it was killed by signal %d (%s)%s%s", code - 128,
                         strsignal(code - 128), colon, w->last_words);
    else
        cbx__launch_fail(m->s, m->out, phase, CBX_ECHILD, "it ended with status %d%s%s", code, colon, w->last_words);
}

/*
 * Runs one program of a command to its end.
 * @param stop    NULL: runs on when everything else is to stop (a tear-down), within the grace
 * @param output  for its standard output; CBX__FD_NOWHERE, CBX__FD_OURS
 */
static cbx_status run_program(commanding *m, const char *const *argv, const char *phase, bool stoppable, int output,
                              cbx__watched *w, cbx_err *err)
{
    const cbx_benchmark_opts *b = m->s->o;
    cbx__watched_opts o = { .process = CBX__PROCESS_OPTS_INIT, .interval_s = LOOK_S, .grace_s = b->grace_s };
    cbx_err why = CBX_ERR_INIT;
    cbx_status st;

    o.process.argv = argv;
    o.process.env = m->env;
    o.process.folder = m->c->folder;
    o.process.output = output;
    o.process.errors = b->show_output ? CBX__FD_OURS : CBX__FD_TAIL;
    o.process.own_group = true;
    o.timeout_s = b->timeout_s;
    if (stoppable) o.stop = b->stop;
    st = cbx__watched_run(m->s->ctx, &o, w, &why);
    if (st == CBX_ENOMEM) return cbx_fail(err, st, "%s", why.message);
    if (st) {
        cbx__launch_fail(m->s, m->out, phase, st, "%s", why.message);
        return CBX_OK;
    }
    if (w->end == CBX__WATCHED_STOPPED)
        st = cbx_fail(err, CBX_EINTERRUPTED, "interrupted while '%s' ran", m->c->name);
    else if (w->end == CBX__WATCHED_TIMEOUT || w->run.exit_status != 0)
        explain(m, phase, w);
    return st;
}

static cbx_status run_aside(commanding *m, const char *const *argv, const char *phase, bool stoppable, cbx_err *err)
{
    cbx__watched w = { 0 };
    cbx_status st = run_program(m, argv, phase, stoppable, m->s->o->show_output ? CBX__FD_OURS : CBX__FD_NOWHERE, &w,
                                err);

    cbx__watched_clear(&w);
    return st;
}

/* A process that ended before the second look may have been seen before it grew. */
static cbx__process_use use_of(const cbx_profile_run *r)
{
    bool seen = r->resources.summary.num_samples > 1;
    return (cbx__process_use){ r->wall_s, r->cpu_user_s, r->cpu_system_s, seen ? r->max_rss_mb : NAN,
                               seen ? r->resources.summary.peak_rss_mb : NAN };
}

static cbx_status measure(commanding *m, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(m->s->ctx);
    cbx__watched w = { 0 };
    char *text = NULL;
    size_t len = 0;
    int fd = -1;
    cbx_status st = cbx__memory_file("output", &fd, err);

    if (st) return st;
    st = run_program(m, m->c->argv, "run", true, fd, &w, err);
    if (!st && w.start_ns && m->s->trace) cbx__watched_trace(m->s->trace, m->c->name, &w);
    m->out->process = use_of(&w.run);
    m->out->has_process = true;
    cbx__watched_clear(&w);
    if (!st && !m->out->status) {
        cbx_err why = CBX_ERR_INIT;
        cbx_status read = cbx__memory_file_read(al, fd, "standard output", OUTPUT_MOST, &text, &len, &why);
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
    cbx_status st = CBX_OK;

    if (m->c->setup) st = run_aside(m, m->c->setup, "setup", true, err);
    for (size_t i = 0; i < m->c->warmup && !st && !m->out->status; i++)
        st = run_aside(m, m->c->argv, "warmup", true, err);
    return st || m->out->status ? st : measure(m, err);
}

static cbx_status launch(cbx__session *s, const char *name, cbx__launch *out, cbx_err *err)
{
    commanding m = { .s = s, .c = find(s, name), .out = out };
    cbx_status st, torn;

    m.env = environment_of(s, m.c);
    if (!m.env) return cbx_fail(err, CBX_ENOMEM, "out of memory for the environment of '%s'", name);
    st = run_phases(&m, err);
    if (m.c->teardown) {
        torn = run_aside(&m, m.c->teardown, "teardown", false, st ? NULL : err);
        if (!st) st = torn;
    }
    if (out->status) cbx__launch_clear(out);
    return st;
}

const cbx__driver cbx__driver_command = { list, launch };
