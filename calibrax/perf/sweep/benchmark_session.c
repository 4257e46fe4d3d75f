/*
 * A session: the options are checked, the benchmarks are listed, launched in turn, gathered, and
 * made into a report.  Benchmarks of this program run here, in this process.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/ctx.h"
#include "calibrax/base/file.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/list.h"
#include "calibrax/base/text.h"
#include "calibrax/perf/sweep/benchmark_session.h"
#include "calibrax/perf/sweep/order.h"

#define MAX_LAUNCHES 65536
#define ORDER_SEED   0x0bdeu

/* --- benchmarks of this program --- */

static cbx_status list_ops(cbx__session *s, const char *const **names, size_t *count, cbx_err *err)
{
    const size_t n = s->source->nitems;
    const char **out = cbx_arena_calloc(s->arena, n, sizeof *out);

    if (!out) return cbx_fail_nomem(err, "the names of benchmarks");
    for (size_t i = 0; i < n; i++) {
        cbx_benchmark_ops ops;
        cbx_status st = cbx_benchmark_ops_read(s->source->items[i].ops, &ops, err);
        if (st) return st;
        out[i] = ops.name;
    }
    *names = out;
    *count = n;
    return CBX_OK;
}

static cbx_status launch_ops(cbx__session *s, const char *name, cbx__launch *out, cbx_err *err)
{
    const cbx_benchmark_item *item = s->source->items;
    cbx_benchmark_measure_opts o = s->o->measure;
    const char *phase = "start";
    cbx_err why = CBX_ERR_INIT;

    while (strcmp(item->ops->name, name) != 0) item++;
    o.stop = s->o->stop;
    o.trace = s->trace;
    o.phase = &phase;
    const cbx_status st = cbx_benchmark_measure(s->ctx, item->ops, item->self, &o, &out->run, &why);
    if (st == CBX_EINTERRUPTED || st == CBX_ENOMEM) return cbx_fail(err, st, "%s", why.message);
    if (st) cbx__launch_fail(s, out, phase, st, "%s", why.message[0] ? why.message : cbx_status_words(st));
    return CBX_OK;
}

static const cbx__driver driver_ops = { list_ops, launch_ops };

static const struct {
    const char *name;
    const cbx__driver *driver;
} drivers[] = {
    [CBX_BENCHMARK_OPS] = { "program", &driver_ops },
    [CBX_BENCHMARK_OBJECT] = { "object", &cbx__driver_worker },
    [CBX_BENCHMARK_COMMAND] = { "command", &cbx__driver_command },
    [CBX_BENCHMARK_PYTHON] = { "python", &cbx__driver_worker },
};

const char *cbx_benchmark_kind_name(cbx_benchmark_kind kind)
{
    return (unsigned)kind < CBX_LEN(drivers) ? drivers[kind].name : "?";
}

/* --- options --- */

static cbx_status check(const cbx_benchmark_source *source, const cbx_benchmark_opts *o, cbx_err *err)
{
    if (source->struct_size != sizeof *source)
        return cbx_fail(err, CBX_EINVAL, "cbx_benchmark_source of another version");
    if (o->struct_size != sizeof *o) return cbx_fail(err, CBX_EINVAL, "cbx_benchmark_opts of another version");
    if ((unsigned)source->kind >= CBX_LEN(drivers))
        return cbx_fail(err, CBX_EINVAL, "no source of benchmarks has the number %d", (int)source->kind);
    if (o->launches < 1 || o->launches > MAX_LAUNCHES)
        return cbx_fail(err, CBX_EINVAL, "the number of launches must be from 1 to %d, got %zu", MAX_LAUNCHES,
                        o->launches);
    if (!(o->timeout_s >= 0) || !(o->grace_s >= 0))
        return cbx_fail(err, CBX_EINVAL, "the time limit and the grace must be at least 0 s, got %g s and %g s",
                        o->timeout_s, o->grace_s);
    if (!(o->allow_failed >= 0 && o->allow_failed < 1))
        return cbx_fail(err, CBX_EINVAL, "the share of launches that may fail must be at least 0 and below 1, got %g",
                        o->allow_failed);
    if (!(o->level > 0 && o->level < 1))
        return cbx_fail(err, CBX_EINVAL, "the level must be above 0 and below 1, got %g", o->level);
    return CBX_OK;
}

/* The benchmarks to run. */
static cbx_status choose(cbx_benchmark_report *r, cbx__session *s, cbx_err *err)
{
    const cbx_benchmark_opts *o = s->o;
    const char *const *all = NULL;
    size_t n = 0;
    cbx_status st = drivers[s->source->kind].driver->list(s, &all, &n, err);

    if (st) return st;
    for (size_t i = 0; i < o->nnames; i++) {
        size_t k = 0;
        while (k < n && strcmp(all[k], o->names[i]) != 0) k++;
        if (k < n) continue;
        const char *nearest = cbx_nearest_word(o->names[i], all, n);
        return nearest ? cbx_fail(err, CBX_ENOENT, "no benchmark '%s': did you mean '%s'?", o->names[i], nearest)
                       : cbx_fail(err, CBX_ENOENT, "no benchmark '%s' among the %zu that there are", o->names[i], n);
    }
    const char *const *names = o->nnames ? o->names : all;
    const size_t count = o->nnames ? o->nnames : n;
    if (count == 0) return cbx_fail(err, CBX_ENOENT, "there is no benchmark to run");
    if (o->name && count > 1)
        return cbx_fail(err, CBX_EINVAL, "%zu benchmarks cannot all be named '%s': choose one", count, o->name);
    r->gathered = cbx_arena_calloc(&r->arena, count, sizeof *r->gathered);
    for (size_t i = 0; r->gathered && i < count; i++) {
        r->gathered[i].name = cbx_arena_strdup(&r->arena, names[i]);
        if (!r->gathered[i].name) r->gathered = NULL;
    }
    if (!r->gathered) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu benchmarks", count);
    r->ngathered = count;
    return CBX_OK;
}

cbx_status cbx_benchmark_list(cbx_ctx *ctx, const cbx_benchmark_source *source, const cbx_benchmark_opts *opts,
                              cbx_arena *arena, const char *const **names, size_t *count, cbx_err *err)
{
    static const cbx_benchmark_opts usual = CBX_BENCHMARK_OPTS_INIT;
    cbx__session s = { .ctx = ctx, .arena = arena, .source = source, .o = opts ? opts : &usual };
    cbx_status st = check(source, s.o, err);

    return st ? st : drivers[source->kind].driver->list(&s, names, count, err);
}

/* --- launches --- */

void cbx__launch_clear(cbx__launch *l)
{
    cbx_run_free(l->run);
    l->run = NULL;
}

void cbx__launch_fail(cbx__session *s, cbx__launch *l, const char *phase, cbx_status st, const char *fmt, ...)
{
    char text[CBX_ERR_MESSAGE_SIZE];
    va_list args;

    if (l->status) return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    l->status = st;
    l->phase = cbx_arena_strdup(s->arena, phase);
    l->message = cbx_arena_strdup(s->arena, text);
    if (!l->phase) l->phase = "run";
    if (!l->message) l->message = "out of memory for the reason";
}

cbx_status cbx__session_explain(const cbx__session *s, cbx_failure failure, int exit_code, int term_signal,
                                const char *message, const char *words, cbx_err *err)
{
    const char *colon = words[0] ? ": " : "";

    if (failure == CBX_FAILURE_TIMEOUT)
        return cbx_fail(err, CBX_ETIMEOUT, "it took more than %g s and was stopped", s->o->timeout_s);
    if (failure == CBX_FAILURE_INTERRUPTED) return cbx_fail(err, CBX_EINTERRUPTED, "interrupted");
    if (failure == CBX_FAILURE_CRASHED && term_signal)
        return cbx_fail(err, CBX_ECHILD, "it was killed by signal %d (%s)%s%s", term_signal, strsignal(term_signal),
                        colon, words);
    if (failure == CBX_FAILURE_EXITED && exit_code >= 0)
        return cbx_fail(err, CBX_ECHILD, "it ended with status %d%s%s", exit_code, colon, words);
    return cbx_fail(err, failure == CBX_FAILURE_PROTOCOL ? CBX_EPROTO : CBX_ECHILD, "%s%s%s", message, colon, words);
}

static cbx_status launch(cbx__session *s, cbx__gathered *g, cbx_err *err)
{
    const cbx_benchmark_opts *o = s->o;

    if (o->stop && *o->stop) return cbx_fail(err, CBX_EINTERRUPTED, "interrupted");
    if (!cbx_grow(CBX_IN_ARENA(s->arena), &g->launches, &g->capacity, g->count + 1, sizeof *g->launches))
        return cbx_fail_nomem(err, "a launch");
    cbx__launch *l = &g->launches[g->count];
    memset(l, 0, sizeof *l);
    const cbx_status st = drivers[s->source->kind].driver->launch(s, g->name, l, err);
    if (st) {
        cbx__launch_clear(l);
        return st;
    }
    g->count++;
    g->good += l->run != NULL;
    g->failed = g->good == 0 || (double)(g->count - g->good) > o->allow_failed * (double)g->count;
    if (o->progress) {
        cbx_benchmark_failure f = { g->name, g->count, l->phase, l->status, l->message };
        o->progress(o->progress_user, g->name, g->count, s->planned, l->run ? NULL : &f);
    }
    return CBX_OK;
}

/* Rounds `first` up to what is planned, then the file of the trace.  What was measured is kept
 * although its trace could not be written. */
static cbx_status launch_all(cbx_benchmark_report *r, cbx__session *s, size_t first, cbx_err *err)
{
    const size_t n = r->ngathered;
    size_t *order = cbx_arena_calloc(&r->arena, 2 * n, sizeof *order);
    cbx_err why = CBX_ERR_INIT;
    cbx_status st = order ? CBX_OK : cbx_fail_nomem(err, "the order of launches");

    if (!st && s->o->trace && !s->trace) {
        st = cbx_file_check_writable(s->ctx, s->o->trace, err);
        if (!st) st = cbx_timeline_create(s->ctx, "benchmarks", &s->trace, err);
    }
    for (size_t round = first; round < s->planned && !st; round++) {
        cbx__schedule_order(ORDER_SEED, n, round, order + n, order);
        for (size_t i = 0; i < n && !st; i++) st = launch(s, &r->gathered[order[i]], err);
    }
    r->interrupted = st == CBX_EINTERRUPTED;
    if (st && !r->interrupted) return st;
    if (s->trace && cbx_timeline_write(s->ctx, s->trace, s->o->trace, &why)) {
        r->trace_fault = cbx_arena_strdup(&r->arena, why.message);
        if (!r->trace_fault) return cbx_fail_nomem(err, "a report");
    }
    return CBX_OK;
}

cbx_status cbx_benchmark_run(cbx_ctx *ctx, const cbx_benchmark_source *source, const cbx_benchmark_opts *opts,
                             cbx_benchmark_report **out, cbx_err *err)
{
    static const cbx_benchmark_opts usual = CBX_BENCHMARK_OPTS_INIT;
    const cbx_benchmark_opts *o = opts ? opts : &usual;
    cbx_status st = check(source, o, err);

    if (st) return st;
    cbx_benchmark_report *r = CBX_ARENA_OBJECT(cbx_benchmark_report, cbx_ctx_allocator(ctx));
    if (!r) return cbx_fail_nomem(err, "a report");
    cbx__session s = { .ctx = ctx, .arena = &r->arena, .source = source, .o = o, .planned = o->launches };
    st = choose(r, &s, err);
    for (size_t first = 0; !st && first < s.planned;) {
        st = launch_all(r, &s, first, err);
        if (!st) st = cbx__report_finish(r, &s, err);
        first = s.planned;
        if (!st && !r->interrupted && o->more) s.planned += o->more(o->more_user, r->run, first);
        if (s.planned > MAX_LAUNCHES) s.planned = MAX_LAUNCHES;
    }
    cbx_timeline_free(s.trace);
    if (st == CBX_EINTERRUPTED) { /* before the first launch */
        r->interrupted = true;
        st = CBX_OK;
    }
    return CBX_FINISH(st, *out = r, cbx_benchmark_report_free(r));
}
