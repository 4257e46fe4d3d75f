/* The phases of a benchmark, one after the other, the tear-down that follows whatever happened, and
 * the run that comes of them. */
#include <math.h>
#include <string.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/clock.h"
#include "calibrax/base/json_put.h"
#include "calibrax/core/owned.h"
#include "calibrax/perf/launch/phases_internal.h"
#include "calibrax/profiling/resources.h"
#include "calibrax/profiling/timing_internal.h"

const char *const cbx__phase_names[CBX__PHASE_COUNT] = { "setup",      "training", "work",
                                                         "evaluation", "targets",  "teardown" };

typedef struct measuring {
    cbx_ctx *ctx;
    const cbx__bench *b;
    const cbx_benchmark_measure_opts *o;
    cbx_arena arena;
    cbx_values *values, *targets;
    struct {
        uint64_t start_ns, duration_ns; /* 0, 0: it did not run */
    } ran[CBX__PHASE_COUNT];
    cbx_call_timing calls;
    cbx_timing_sample timing; /* of work or batches */
    bool timed;
    double throughput; /* NaN: no batches */
    cbx_resource_report resources;
    cbx_status status; /* of a call of work */
    cbx_err err;
} measuring;

static bool stopped(const measuring *m) { return m->o->stop && *m->o->stop; }

/* --- work --- */

/* A call that failed makes the samples that follow infinite, which ends the timing; its status is
 * returned afterwards. */
static double window(void *user, uint64_t calls)
{
    measuring *m = user;
    double ns = INFINITY;

    if (!m->status && stopped(m)) m->status = cbx_fail(&m->err, CBX_EINTERRUPTED, "interrupted during work");
    if (!m->status) m->status = m->b->calls(m->b->user, calls, &ns, &m->err);
    return m->status ? INFINITY : ns;
}

static cbx_status time_work(measuring *m, cbx_err *err)
{
    cbx_timing_opts o = CBX_TIMING_OPTS_INIT;

    o.warmup = m->o->warmup;
    o.samples = m->o->samples;
    o.sample_s = m->o->sample_s;
    o.budget_s = m->o->budget_s;
    cbx_status st = cbx__time_windows(m->ctx, window, m, m->b->clock_ns, &o, &m->calls, err);
    if (m->status) return cbx_fail(err, m->status, "%s", m->err.message);
    if (st) return st;
    m->timing = cbx_call_timing_sample(&m->calls);
    m->timing.wall_clock_sec = NAN; /* as long as the clock and the budget made it */
    m->timed = true;
    return CBX_OK;
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* An iteration over the dataset, a batch a call. */
static cbx_status time_batches(measuring *m, cbx_err *err)
{
    size_t length = 0, size = m->o->batch_size, n, warmup;
    cbx_timing_sample *t = &m->timing;
    double counted = 0, counted_s = 0, *times;
    cbx_status st = m->b->length(m->b->user, &length, err);

    if (st || length == 0) return st;
    n = length / size + (length % size != 0);
    if (m->o->max_batches) n = smaller(n, m->o->max_batches);
    times = cbx_arena_calloc(&m->arena, n, sizeof *times);
    if (!times) return cbx_fail(err, CBX_ENOMEM, "out of memory for the times of %zu batches", n);
    warmup = smaller(m->o->warmup, n - 1);
    *t = (cbx_timing_sample){ .per_batch_times = times + warmup, .nbatch_times = n - warmup, .num_batches = n };
    t->warmup_batches_excluded = warmup;
    t->compilation_time_sec = NAN;
    uint64_t start = cbx_clock_ns();
    for (size_t i = 0; i < n; i++) {
        size_t examples = smaller(size, length - i * size);
        double ns = 0;
        if (stopped(m)) return cbx_fail(err, CBX_EINTERRUPTED, "interrupted after %zu batches", i);
        st = m->b->batch(m->b->user, i * size, examples, &ns, err);
        if (st) return st;
        times[i] = 1e-9 * ns;
        if (i == 0) t->first_batch_time = 1e-9 * (double)(cbx_clock_ns() - start);
        t->num_elements += examples;
        if (i >= warmup) counted += (double)examples, counted_s += times[i];
    }
    t->wall_clock_sec = 1e-9 * (double)(cbx_clock_ns() - start);
    m->throughput = counted_s > 0 ? counted / counted_s : NAN;
    m->timed = true;
    return CBX_OK;
}

/* --- all of them --- */

static cbx_status run_phase(measuring *m, cbx__phase phase, cbx_err *err)
{
    cbx_timeline_at at = { .time_ns = cbx_clock_ns() };
    double ns = NAN;
    cbx_status st;

    if (m->o->phase) *m->o->phase = cbx__phase_names[phase];
    m->ran[phase].start_ns = at.time_ns;
    if (phase == CBX__PHASE_WORK) {
        st = m->b->batches ? time_batches(m, err) : time_work(m, err);
        if (!st && m->b->judge) st = m->b->judge(m->b->user, err);
    } else {
        st = m->b->phase(m->b->user, phase, phase == CBX__PHASE_TARGETS ? m->targets : m->values, &ns, err);
    }
    m->ran[phase].duration_ns = ns >= 0 ? (uint64_t)ns : cbx_clock_ns() - at.time_ns;
    cbx_timeline_span(m->o->trace, cbx__phase_names[phase], m->b->name, &at, m->ran[phase].duration_ns, NULL, 0);
    return st;
}

static cbx_status run_phases(measuring *m, cbx_err *err)
{
    const char *failed_in = NULL;
    bool begun = false;
    cbx_status st = CBX_OK, torn;

    for (cbx__phase p = 0; p < CBX__PHASE_TEARDOWN && !st; p++) {
        if (!m->b->has[p]) continue;
        if (stopped(m)) {
            st = cbx_fail(err, CBX_EINTERRUPTED, "interrupted before %s", cbx__phase_names[p]);
            break;
        }
        begun = true;
        st = run_phase(m, p, err);
    }
    if (st && m->o->phase) failed_in = *m->o->phase;
    if (!m->b->has[CBX__PHASE_TEARDOWN] || !begun) return st;
    torn = run_phase(m, CBX__PHASE_TEARDOWN, st ? NULL : err);
    if (failed_in) *m->o->phase = failed_in;
    return st ? st : torn;
}

/* --- the run --- */

static bool has(const cbx_result *r, const char *name)
{
    return cbx_point_metric(&(const cbx_point){ .metrics = r->metrics, .nmetrics = r->nmetrics }, name) != NULL;
}

/* A metric and its definition, unless the benchmark gave one of that name itself. */
static cbx_status add(cbx_run_builder *b, cbx_result *r, cbx_named_metric *metrics, const cbx_metric_def *def,
                      double value, cbx_err *err)
{
    if (isnan(value) || has(r, def->name)) return CBX_OK;
    metrics[r->nmetrics++] = (cbx_named_metric){ def->name, cbx_metric_of(value) };
    return cbx_run_builder_add_metric_def(b, def, err);
}

static cbx_status fill(measuring *m, cbx_run_builder *b, cbx_json *metadata, cbx_err *err)
{
    static const cbx_metric_def
        throughput = { "throughput",           "1/s",
                       CBX_DIRECTION_HIGHER,   "timing",
                       CBX_PRIORITY_SECONDARY, "examples by the time of their batches" },
        first_batch = { "first_batch_time",     "s",
                        CBX_DIRECTION_INFO,     "timing",
                        CBX_PRIORITY_SECONDARY, "of one call with whatever it makes ready" },
        seconds[CBX__PHASE_COUNT] = {
            [CBX__PHASE_SETUP] = { .name = "setup_seconds", "s", CBX_DIRECTION_INFO, "phases" },
            [CBX__PHASE_TRAINING] = { .name = "training_seconds", "s", CBX_DIRECTION_LOWER, "phases" },
            [CBX__PHASE_EVALUATION] = { .name = "evaluation_seconds", "s", CBX_DIRECTION_LOWER, "phases" },
            [CBX__PHASE_TEARDOWN] = { .name = "teardown_seconds", "s", CBX_DIRECTION_INFO, "phases" },
        };
    size_t given;
    const cbx_named_metric *values = cbx_values_items(m->values, &given);
    cbx_result r = { .name = m->b->name,
                     .domain = m->b->domain,
                     .tags = m->b->tags,
                     .ntags = m->b->ntags,
                     .metadata = metadata,
                     .config = m->o->config,
                     .timestamp = (double)cbx_time_now_us() / 1e6 };

    cbx_named_metric *metrics = cbx_arena_calloc(&m->arena, given + CBX__PHASE_COUNT + 1, sizeof *metrics);
    size_t n;
    const cbx_named_metric *t = cbx_values_items(m->targets, &n);
    cbx_json *targets = cbx_json_set_object(metadata, "targets"), *phases = cbx_json_set_array(metadata, "phases");
    for (size_t i = 0; i < n; i++) cbx_json_set_double(targets, t[i].name, t[i].metric.value);
    for (size_t i = 0; i < CBX__PHASE_COUNT; i++) {
        if (!m->ran[i].start_ns) continue;
        cbx_json_put(cbx_json_push_object(phases), J_TEXT("name", cbx__phase_names[i]),
                     J_INT("start_ns", m->ran[i].start_ns), J_INT("duration_ns", m->ran[i].duration_ns));
    }
    cbx_json_put(metadata, m->b->versions ? J_COPY("versions", m->b->versions) : J_NONE,
                 m->b->source ? J_COPY("source", m->b->source) : J_NONE);
    if (!metrics || cbx_json_check(metadata, NULL))
        return cbx_fail(err, CBX_ENOMEM, "out of memory for the result of '%s'", m->b->name);
    if (given) memcpy(metrics, values, given * sizeof *values);
    r.metrics = metrics;
    r.nmetrics = given;
    cbx_status st = add(b, &r, metrics, &throughput, m->throughput, err);
    for (size_t i = 0; i < CBX__PHASE_COUNT && !st; i++)
        if (seconds[i].name && m->ran[i].start_ns)
            st = add(b, &r, metrics, &seconds[i], 1e-9 * (double)m->ran[i].duration_ns, err);
    if (st) return st;
    if (m->timed) r.timing = &m->timing;
    if (m->resources.summary.num_samples > 0) r.resources = &m->resources.summary;
    st = cbx_run_builder_add_result(b, &r, err);
    if (!st && m->timed && !has(&r, first_batch.name)) st = cbx_run_builder_add_metric_def(b, &first_batch, err);
    for (size_t i = 0; i < m->b->ndefs && !st; i++) st = cbx_run_builder_add_metric_def(b, &m->b->defs[i], err);
    return st;
}

cbx_status cbx__bench_run(cbx_ctx *ctx, const cbx__bench *b, const cbx_benchmark_measure_opts *o, cbx_run **out,
                          cbx_err *err)
{
    measuring m = { .ctx = ctx, .b = b, .o = o, .throughput = NAN };
    cbx_resource_monitor *monitor = NULL;

    cbx_arena_init(&m.arena, cbx_ctx_allocator(ctx));
    cbx_status st = cbx_values_create(ctx, &m.values, err);
    if (!st) st = cbx_values_create(ctx, &m.targets, err);
    if (!st && !o->no_resources) st = cbx_resource_monitor_start(ctx, NULL, &monitor, err);
    if (!st) st = run_phases(&m, err);
    if (monitor) {
        cbx_resource_monitor_stop(monitor, &m.resources, NULL);
        m.resources.samples = NULL;
        m.resources.summary.memory_growth_mb = NAN; /* about 0, and no measure of anything between runs */
        cbx_resource_monitor_free(monitor);
    }
    cbx_run_opts bare = CBX_RUN_OPTS_INIT;
    CBX_OWNED(cbx_json) *metadata = cbx_json_new_object();
    CBX_OWNED(cbx_run_builder) *builder = NULL;
    bare.no_vcs = bare.no_machine = bare.no_versions = true; /* whoever keeps it knows them */
    if (!st) st = cbx_run_builder_create(ctx, &bare, &builder, err);
    if (!st) st = fill(&m, builder, metadata, err);
    if (!st) st = cbx_run_builder_freeze(builder, out, err);
    cbx_call_timing_clear(&m.calls);
    cbx_values_free(m.targets);
    cbx_values_free(m.values);
    cbx_arena_clear(&m.arena);
    return st;
}

cbx_status cbx_benchmark_measure(cbx_ctx *ctx, const cbx_benchmark_ops *ops, void *self,
                                 const cbx_benchmark_measure_opts *opts, cbx_run **out, cbx_err *err)
{
    static const cbx_benchmark_measure_opts usual = CBX_BENCHMARK_MEASURE_OPTS_INIT;
    const cbx_benchmark_measure_opts *o = opts ? opts : &usual;
    cbx__local_bench l;
    cbx__bench b;

    if (o->struct_size != sizeof *o) return cbx_fail(err, CBX_EINVAL, "cbx_benchmark_measure_opts of another version");
    if (o->batch_size < 1) return cbx_fail(err, CBX_EINVAL, "a batch must have at least 1 example, got 0");
    if (o->config && cbx_json_typeof(o->config) != CBX_JSON_OBJECT)
        return cbx_fail(err, CBX_EINVAL, "the configuration of a benchmark must be an object");
    cbx_status st = cbx__local_bench_init(&l, ctx, ops, self, &b, err);
    l.batch_size = o->batch_size;
    l.stop = o->stop;
    return st ? st : cbx__bench_run(ctx, &b, o, out, err);
}
