/* The phases of a benchmark, one after the other, and the tear-down that follows whatever happened. */
#include "calibrax/perf/launch/phases.h"

#include <math.h>

#include "calibrax/base/clock.h"
#include "calibrax/perf/launch/phases_internal.h"

bool cbx__measuring_stopped(const cbx__measuring *m) { return m->o.stop && *m->o.stop; }

/* --- phases --- */

static cbx__phase *begin(cbx__measuring *m, const char *name, const char *seconds, bool gates)
{
    cbx__phase *p = &m->phases[m->nphases++];

    if (m->o.phase) *m->o.phase = name;
    *p = (cbx__phase){ name, seconds, gates, cbx_clock_ns(), 0 };
    return p;
}

static void end(const cbx__measuring *m, cbx__phase *p)
{
    const cbx_timeline_at at = { .time_ns = p->start_ns };

    p->duration_ns = cbx_clock_ns() - p->start_ns;
    cbx_timeline_span(m->o.trace, p->name, m->ops.name, &at, p->duration_ns, NULL, 0);
}

static cbx_status set_up(cbx__measuring *m, cbx_err *err) { return m->ops.setup(m->ctx, m->self, err); }

static cbx_status train(cbx__measuring *m, cbx_err *err)
{
    return m->ops.run_training(m->ctx, m->self, m->values, err);
}

static cbx_status evaluate(cbx__measuring *m, cbx_err *err)
{
    return m->ops.run_evaluation(m->ctx, m->self, m->values, err);
}

static cbx_status set_targets(cbx__measuring *m, cbx_err *err)
{
    return m->ops.targets(m->ctx, m->self, m->targets, err);
}

/* --- work --- */

/* A call of work that failed stops the calls behind it; its status comes out when the timing is over. */
typedef struct worker {
    cbx__measuring *m;
    cbx_status st;
    cbx_err err;
} worker;

static void work_once(void *user)
{
    worker *w = user;

    if (w->st) return;
    w->st = cbx__measuring_stopped(w->m) ? cbx_fail(&w->err, CBX_EINTERRUPTED, "interrupted during work")
                                         : w->m->ops.work(w->m->ctx, w->m->self, &w->err);
}

static cbx_status time_work(cbx__measuring *m, cbx_err *err)
{
    cbx_timing_opts o = CBX_TIMING_OPTS_INIT;
    worker w = { .m = m };
    cbx_status st;

    o.warmup = m->o.warmup;
    o.samples = m->o.samples;
    o.sample_s = m->o.sample_s;
    o.budget_s = m->o.budget_s;
    st = cbx_time_calls(m->ctx, work_once, &w, &o, &m->calls, err);
    if (w.st) return cbx_fail(err, w.st, "%s", w.err.message);
    if (st) return st;
    m->timing = cbx_call_timing_sample(&m->calls);
    m->timing.wall_clock_sec = NAN; /* as long as the clock and the budget made it */
    m->timed = true;
    return CBX_OK;
}

/* --- all of them --- */

typedef cbx_status (*step)(cbx__measuring *m, cbx_err *err);

static cbx_status run_steps(cbx__measuring *m, cbx_err *err)
{
    const struct {
        const char *name, *seconds;
        bool gates;
        step run; /* NULL: the benchmark has none */
    } steps[] = {
        { "setup", "setup_seconds", false, m->ops.setup ? set_up : NULL },
        { "training", "training_seconds", true, m->ops.run_training ? train : NULL },
        { "work", NULL, false,
          m->ops.work        ? time_work
          : m->ops.run_batch ? cbx__measuring_batches
                             : NULL },
        { "evaluation", "evaluation_seconds", true, m->ops.run_evaluation ? evaluate : NULL },
        { "targets", NULL, false, m->ops.targets ? set_targets : NULL },
    };
    cbx_status st = CBX_OK;

    for (size_t i = 0; i < CBX_LEN(steps) && !st; i++) {
        cbx__phase *p;
        if (!steps[i].run) continue;
        if (cbx__measuring_stopped(m)) return cbx_fail(err, CBX_EINTERRUPTED, "interrupted before %s", steps[i].name);
        p = begin(m, steps[i].name, steps[i].seconds, steps[i].gates);
        st = steps[i].run(m, err);
        end(m, p);
    }
    return st;
}

static cbx_status watch(cbx__measuring *m, cbx_resource_monitor **monitor, cbx_err *err)
{
    return m->o.no_resources ? CBX_OK : cbx_resource_monitor_start(m->ctx, NULL, monitor, err);
}

static cbx_status run_all(cbx__measuring *m, cbx_err *err)
{
    cbx_resource_monitor *monitor = NULL;
    const char *failed_in = NULL;
    cbx_status st = watch(m, &monitor, err);

    if (st) return st;
    st = run_steps(m, err);
    if (st && m->o.phase) failed_in = *m->o.phase;
    if (m->ops.teardown && m->nphases) {
        cbx__phase *p = begin(m, "teardown", "teardown_seconds", false);
        m->ops.teardown(m->ctx, m->self);
        end(m, p);
    }
    if (failed_in) *m->o.phase = failed_in;
    if (monitor) {
        cbx_resource_monitor_stop(monitor, &m->resources, NULL);
        m->resources.samples = NULL;
        m->resources.summary.memory_growth_mb = NAN; /* about 0, and no measure of anything between runs */
        m->watched = m->resources.summary.num_samples > 0;
        cbx_resource_monitor_free(monitor);
    }
    return st;
}

/* --- from outside --- */

static cbx_status check_opts(const cbx_benchmark_measure_opts *o, cbx_err *err)
{
    if (o->struct_size != sizeof *o) return cbx_fail(err, CBX_EINVAL, "cbx_benchmark_measure_opts of another version");
    if (o->batch_size < 1) return cbx_fail(err, CBX_EINVAL, "a batch of %zu examples: say 1 or more", o->batch_size);
    if (o->config && cbx_json_typeof(o->config) != CBX_JSON_OBJECT)
        return cbx_fail(err, CBX_EINVAL, "the configuration of a benchmark is no object");
    return CBX_OK;
}

cbx_status cbx_benchmark_measure(cbx_ctx *ctx, const cbx_benchmark_ops *ops, void *self,
                                 const cbx_benchmark_measure_opts *opts, cbx_run **out, cbx_err *err)
{
    cbx__measuring m = { .ctx = ctx, .self = self, .o = CBX_BENCHMARK_MEASURE_OPTS_INIT, .throughput = NAN };
    cbx_status st;

    if (opts) m.o = *opts;
    st = check_opts(&m.o, err);
    if (!st) st = cbx_benchmark_ops_read(ops, &m.ops, err);
    if (st) return st;
    cbx_arena_init(&m.arena, cbx_ctx_allocator(ctx));
    st = cbx_values_create(ctx, &m.values, err);
    if (!st) st = cbx_values_create(ctx, &m.targets, err);
    if (!st) st = run_all(&m, err);
    if (!st) st = cbx__measuring_run(&m, out, err);
    cbx_call_timing_clear(&m.calls);
    cbx_values_free(m.targets);
    cbx_values_free(m.values);
    cbx_arena_clear(&m.arena);
    return st;
}
