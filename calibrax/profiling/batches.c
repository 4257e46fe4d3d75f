/* The time of an iteration over batches. */
#include "calibrax/profiling/batches.h"

#include <math.h>

#include "calibrax/base/idioms.h"
#include "calibrax/base/list.h"
#include "calibrax/base/options.h"
#include "calibrax/profiling/timing_internal.h"

typedef struct pass {
    cbx_batches_opts o;
    const cbx_batches *b;
    cbx__stopwatch watch;
    cbx_batches_timing t;
} pass;

static double seconds_since(pass *p, uint64_t start)
{
    return 1e-9 * fmax(0, cbx__stopwatch_since(&p->watch, start) - p->watch.cost_ns);
}

/* *more false: no batch was left. */
static cbx_status take_one(pass *p, bool counts, bool *more, cbx_err *err)
{
    const cbx_batches *b = p->b;
    cbx_batches_timing *t = &p->t;
    double fetch_s, batch_s = 0;
    uint64_t elements = 1, start;
    void *batch = NULL;

    if (counts && (!cbx_grow(&t->al, &t->fetch_s, &t->fetch_capacity, t->nbatches + 1, sizeof *t->fetch_s) ||
                   !cbx_grow(&t->al, &t->batch_s, &t->capacity, t->nbatches + 1, sizeof *t->batch_s)))
        return cbx_fail_nomem(err, "the times of batches");
    start = cbx__stopwatch_now(&p->watch);
    cbx_status st = b->next(b->user, &batch, err);
    fetch_s = seconds_since(p, start);
    *more = !st && batch;
    if (!*more) return st;
    if (b->count) elements = b->count(b->user, batch);
    start = cbx__stopwatch_now(&p->watch);
    if (b->process) st = b->process(b->user, batch, err);
    if (!st && b->sync) b->sync(b->user);
    if (b->process || b->sync) batch_s = seconds_since(p, start);
    if (st) return st;
    if (t->nbatches + t->warmup_batches == 0) t->first_batch_s = fetch_s + batch_s;
    if (!counts) {
        t->warmup_batches++;
        t->warmup_elements += elements;
        t->warmup_s += fetch_s + batch_s;
        return CBX_OK;
    }
    t->fetch_s[t->nbatches] = fetch_s;
    t->batch_s[t->nbatches++] = batch_s;
    t->elements += elements;
    t->wall_s += fetch_s + batch_s;
    t->fetch_share += fetch_s;
    return CBX_OK;
}

static cbx_status time_all(cbx_ctx *ctx, pass *p, cbx_err *err)
{
    cbx_batches_timing *t = &p->t;
    cbx_status st = CBX_OK;
    bool more = true;

    cbx__stopwatch_measure(&p->watch);
    while (!st && more && t->warmup_batches < p->o.warmup) st = take_one(p, false, &more, err);
    while (!st && more && t->nbatches < p->o.max_batches) st = take_one(p, true, &more, err);
    if (st) return st;
    if (p->watch.backwards) return cbx_fail(err, CBX_EDOM, "the clock ran backwards: its readings cannot be used");
    if (!t->nbatches)
        return cbx_fail(err, CBX_ENOENT, "no batch was left to measure: there were %zu, and %zu are for warm-up",
                        t->warmup_batches, p->o.warmup);
    st = cbx_stat_summary(ctx, t->batch_s, t->nbatches, &t->summary, err);
    if (!st) st = cbx_stat_median_interval(ctx, t->batch_s, t->nbatches, p->o.level, &t->batch, err);
    t->fetch_share = t->wall_s > 0 ? t->fetch_share / t->wall_s : 0;
    t->elements_per_s = t->wall_s > 0 ? (double)t->elements / t->wall_s : NAN;
    t->clock_cost_ns = p->watch.cost_ns;
    t->clock_share = t->summary.median > 0 ? fmax(p->watch.cost_ns, p->watch.step_ns) / (1e9 * t->summary.median)
                                           : INFINITY;
    return st;
}

cbx_status cbx_batches_time(cbx_ctx *ctx, const cbx_batches *b, const cbx_batches_opts *opts, cbx_batches_timing *out,
                            cbx_err *err)
{
    pass p = { .o = CBX_BATCHES_OPTS_INIT, .b = b, .t = { .al = *cbx_ctx_allocator(ctx) } };

    if (!b || !b->next) return cbx_fail(err, CBX_EINVAL, "no batches to time: 'next' is NULL");
    cbx_status st = cbx_take_options(&p.o, sizeof p.o, opts, "cbx_batches_opts", err);
    if (!st) st = cbx_check_range("max_batches", (double)p.o.max_batches, 1, INFINITY, err);
    if (!st) st = cbx_check_level("level", p.o.level, err);
    if (st) return st;
    p.watch.clock_ns = p.o.clock_ns;
    st = time_all(ctx, &p, err);
    return CBX_FINISH(st, *out = p.t, cbx_batches_timing_clear(&p.t));
}

void cbx_batches_timing_clear(cbx_batches_timing *t)
{
    if (!t) return;
    cbx_mem_free(&t->al, t->batch_s, t->capacity * sizeof *t->batch_s);
    cbx_mem_free(&t->al, t->fetch_s, t->fetch_capacity * sizeof *t->fetch_s);
    t->batch_s = t->fetch_s = NULL;
    t->nbatches = t->capacity = t->fetch_capacity = 0;
}
