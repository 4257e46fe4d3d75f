/*
 * A session: what is asked is checked, the benchmarks are listed, launched in turn, gathered, and made into a report.
 */
#include "calibrax/perf/sweep/benchmarks.h"

#include <string.h>

#include "calibrax/base/file.h"
#include "calibrax/base/text.h"
#include "calibrax/perf/sweep/benchmark_report.h"
#include "calibrax/perf/sweep/order.h"

#define LAUNCHES_MOST 65536
#define ORDER_SEED    0x0bdeu

static const struct {
    const char *name;
    const cbx__driver *driver;
} drivers[] = {
    [CBX_BENCHMARK_OPS] = { "program", &cbx__driver_ops },
    [CBX_BENCHMARK_OBJECT] = { "object", &cbx__driver_worker },
    [CBX_BENCHMARK_COMMAND] = { "command", &cbx__driver_command },
    [CBX_BENCHMARK_PYTHON] = { "python", &cbx__driver_worker },
};

const char *cbx_benchmark_kind_name(cbx_benchmark_kind kind)
{
    return (unsigned)kind < CBX_LEN(drivers) ? drivers[kind].name : "?";
}

/* --- what is asked --- */

static cbx_status check(const cbx_benchmark_source *source, const cbx_benchmark_opts *o, cbx_err *err)
{
    if (source->struct_size != sizeof *source)
        return cbx_fail(err, CBX_EINVAL, "cbx_benchmark_source of another version");
    if (o->struct_size != sizeof *o) return cbx_fail(err, CBX_EINVAL, "cbx_benchmark_opts of another version");
    if ((unsigned)source->kind >= CBX_LEN(drivers))
        return cbx_fail(err, CBX_EINVAL, "no source of benchmarks has the number %d", (int)source->kind);
    if (o->launches < 1 || o->launches > LAUNCHES_MOST)
        return cbx_fail(err, CBX_EINVAL, "%zu launches: say 1 to %d", o->launches, LAUNCHES_MOST);
    if (!(o->timeout_s >= 0) || !(o->grace_s >= 0))
        return cbx_fail(err, CBX_EINVAL, "a time limit of %g s, a grace of %g s: say 0 or more", o->timeout_s,
                        o->grace_s);
    if (!(o->allow_failed >= 0 && o->allow_failed < 1))
        return cbx_fail(err, CBX_EINVAL, "the share of launches that may fail must be at least 0 and below 1, got %g",
                        o->allow_failed);
    if (!(o->level > 0 && o->level < 1))
        return cbx_fail(err, CBX_EINVAL, "level is %g: say more than 0, less than 1", o->level);
    return CBX_OK;
}

static cbx_status choose(cbx__session *s, const char *const *all, size_t n, const char *const **names, size_t *count,
                         cbx_err *err)
{
    const cbx_benchmark_opts *o = s->o;

    for (size_t i = 0; i < o->nnames; i++) {
        const char *nearest;
        size_t k = 0;
        while (k < n && strcmp(all[k], o->names[i]) != 0) k++;
        if (k < n) continue;
        nearest = cbx_nearest_word(o->names[i], all, n);
        return nearest ? cbx_fail(err, CBX_ENOENT, "no benchmark '%s': did you mean '%s'?", o->names[i], nearest)
                       : cbx_fail(err, CBX_ENOENT, "no benchmark '%s' among the %zu that there are", o->names[i], n);
    }
    *names = o->nnames ? o->names : all;
    *count = o->nnames ? o->nnames : n;
    if (*count == 0) return cbx_fail(err, CBX_ENOENT, "there is no benchmark to run");
    if (o->name && *count > 1)
        return cbx_fail(err, CBX_EINVAL, "%zu benchmarks cannot all be named '%s': choose one", *count, o->name);
    return CBX_OK;
}

cbx_status cbx_benchmark_list(cbx_ctx *ctx, const cbx_benchmark_source *source, const cbx_benchmark_opts *opts,
                              cbx_arena *arena, const char *const **names, size_t *count, cbx_err *err)
{
    static const cbx_benchmark_opts usual = CBX_BENCHMARK_OPTS_INIT;
    cbx__session s = { ctx, arena, source, opts ? opts : &usual, NULL };
    cbx_status st = check(source, s.o, err);

    return st ? st : drivers[source->kind].driver->list(&s, names, count, err);
}

/* --- launches --- */

static void tell(cbx__session *s, const char *name, size_t number, const cbx__launch *l)
{
    cbx_benchmark_failure f = { name, number, l->phase, l->status, l->message };

    if (s->o->progress) s->o->progress(s->o->progress_user, name, number, s->o->launches, l->run ? NULL : &f);
}

static cbx_status launch(cbx__session *s, cbx__gathered *g, cbx_err *err)
{
    cbx__launch *l = &g->launches[g->count];
    cbx_status st;

    if (s->o->stop && *s->o->stop) return cbx_fail(err, CBX_EINTERRUPTED, "interrupted");
    st = drivers[s->source->kind].driver->launch(s, g->name, l, err);
    if (st) {
        cbx__launch_clear(l);
        return st;
    }
    g->count++;
    g->good += l->run != NULL;
    g->failed = g->good == 0 || (double)(g->count - g->good) > s->o->allow_failed * (double)g->count;
    tell(s, g->name, g->count, l);
    return CBX_OK;
}

static cbx_status launch_all(cbx_benchmark_report *r, cbx__session *s, cbx_err *err)
{
    const size_t n = r->ngathered;
    size_t *order = cbx_arena_calloc(&r->arena, 2 * n, sizeof *order);
    cbx_status st = order ? CBX_OK : cbx_fail(err, CBX_ENOMEM, "out of memory for the order of launches");

    for (size_t round = 0; round < s->o->launches && !st; round++) {
        cbx__schedule_order(ORDER_SEED, n, round, order + n, order);
        for (size_t i = 0; i < n && !st; i++) st = launch(s, &r->gathered[order[i]], err);
    }
    if (st != CBX_EINTERRUPTED) return st;
    r->interrupted = true;
    return CBX_OK;
}

static cbx_status make_room(cbx_benchmark_report *r, const cbx__session *s, const char *const *names, size_t n,
                            cbx_err *err)
{
    r->gathered = cbx_arena_calloc(&r->arena, n, sizeof *r->gathered);
    for (size_t i = 0; r->gathered && i < n; i++) {
        r->gathered[i].name = cbx_arena_strdup(&r->arena, names[i]);
        r->gathered[i].launches = cbx_arena_calloc(&r->arena, s->o->launches, sizeof *r->gathered[i].launches);
        if (!r->gathered[i].name || !r->gathered[i].launches) r->gathered = NULL;
    }
    if (!r->gathered) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu benchmarks", n);
    r->ngathered = n;
    return CBX_OK;
}

/* --- the whole --- */

static cbx_status open_trace(cbx__session *s, cbx_err *err)
{
    cbx_status st = s->o->trace ? cbx_file_check_writable(s->ctx, s->o->trace, err) : CBX_OK;

    return !st && s->o->trace ? cbx_timeline_create(s->ctx, "benchmarks", &s->trace, err) : st;
}

/* What was measured is told and kept although its trace could not be written. */
static cbx_status write_trace(cbx_benchmark_report *r, const cbx__session *s, cbx_err *err)
{
    cbx_err why = CBX_ERR_INIT;

    if (!s->trace || !cbx_timeline_write(s->ctx, s->trace, s->o->trace, &why)) return CBX_OK;
    r->trace_fault = cbx_arena_strdup(&r->arena, why.message);
    return r->trace_fault ? CBX_OK : cbx_fail(err, CBX_ENOMEM, "out of memory for a report");
}

static cbx_status run_session(cbx_benchmark_report *r, cbx__session *s, cbx_err *err)
{
    const char *const *all = NULL, *const *names = NULL;
    size_t n = 0, count = 0;
    cbx_status st = drivers[s->source->kind].driver->list(s, &all, &n, err);

    if (!st) st = choose(s, all, n, &names, &count, err);
    if (!st) st = make_room(r, s, names, count, err);
    if (!st) st = open_trace(s, err);
    if (!st) st = launch_all(r, s, err);
    if (!st) st = write_trace(r, s, err);
    if (!st) st = cbx__report_finish(r, s, err);
    cbx_timeline_free(s->trace);
    return st;
}

cbx_status cbx_benchmark_run(cbx_ctx *ctx, const cbx_benchmark_source *source, const cbx_benchmark_opts *opts,
                             cbx_benchmark_report **out, cbx_err *err)
{
    static const cbx_benchmark_opts usual = CBX_BENCHMARK_OPTS_INIT;
    const cbx_benchmark_opts *o = opts ? opts : &usual;
    cbx_benchmark_report *r;
    cbx__session s;
    cbx_status st = check(source, o, err);

    if (st) return st;
    r = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *r);
    if (!r) return cbx_fail(err, CBX_ENOMEM, "out of memory for a report");
    cbx_arena_init(&r->arena, cbx_ctx_allocator(ctx));
    s = (cbx__session){ ctx, &r->arena, source, o, NULL };
    st = run_session(r, &s, err);
    if (st == CBX_EINTERRUPTED) { /* before the first launch */
        r->interrupted = true;
        st = CBX_OK;
    }
    if (st)
        cbx_benchmark_report_free(r);
    else
        *out = r;
    return st;
}
