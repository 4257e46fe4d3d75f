/*
 * Time of a pass over batches.
 */
#include "calibrax/profiling/batches.h"

#include <math.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/list.h"
#include "calibrax/base/options.h"

#define CLOCK_READINGS 201

typedef struct pass {
    cbx_batches_opts o;
    const cbx_batches *b;
    double cost_ns, step_ns;
    bool backwards;
    cbx_batches_timing t;
} pass;

static uint64_t now(const pass *p) { return p->o.clock_ns ? p->o.clock_ns() : cbx_clock_ns(); }

static double since(pass *p, uint64_t start)
{
    uint64_t end = now(p);
    if (end < start) p->backwards = true;
    return end < start ? 0 : (double)(end - start);
}

/* Median of windows around nothing; the step is at least as long as the least that moves. */
static void measure_clock(pass *p)
{
    double window[CLOCK_READINGS];

    p->step_ns = INFINITY;
    for (size_t i = 0; i < CLOCK_READINGS; i++) {
        uint64_t start = now(p);
        window[i] = since(p, start);
        if (window[i] > 0) p->step_ns = fmin(p->step_ns, window[i]);
    }
    cbx_stat_sort(window, CLOCK_READINGS);
    p->cost_ns = window[CLOCK_READINGS / 2];
    if (!isfinite(p->step_ns)) p->step_ns = fmax(p->cost_ns, 1);
}

/* Capacity for one more in both arrays. */
static cbx_status reserve(pass *p, cbx_err *err)
{
    cbx_batches_timing *t = &p->t;

    if (cbx_grow(&t->al, &t->fetch_s, &t->fetch_capacity, t->nbatches + 1, sizeof *t->fetch_s) &&
        cbx_grow(&t->al, &t->batch_s, &t->capacity, t->nbatches + 1, sizeof *t->batch_s))
        return CBX_OK;
    return cbx_fail_nomem(err, "the times of batches");
}

typedef struct one {
    void *batch;
    double fetch_s, batch_s;
    uint64_t elements;
} one;

static double seconds(const pass *p, double ns) { return 1e-9 * fmax(0, ns - p->cost_ns); }

static cbx_status take_one(pass *p, one *x, cbx_err *err)
{
    const cbx_batches *b = p->b;
    uint64_t start = now(p);
    cbx_status st;

    *x = (one){ .elements = 1 };
    st = b->next(b->user, &x->batch, err);
    x->fetch_s = seconds(p, since(p, start));
    if (st || !x->batch) return st;
    if (b->count) x->elements = b->count(b->user, x->batch);
    start = now(p);
    if (b->process) st = b->process(b->user, x->batch, err);
    if (!st && b->sync) b->sync(b->user);
    x->batch_s = b->process || b->sync ? seconds(p, since(p, start)) : 0;
    return st;
}

static void see_first(pass *p, const one *x)
{
    if (p->t.nbatches + p->t.warmup_batches == 0) p->t.first_batch_s = x->fetch_s + x->batch_s;
}

static cbx_status warm_up(pass *p, bool *ended, cbx_err *err)
{
    cbx_status st = CBX_OK;
    one x;

    for (*ended = false; !st && !*ended && p->t.warmup_batches < p->o.warmup;) {
        st = take_one(p, &x, err);
        *ended = !x.batch;
        if (st || *ended) break;
        see_first(p, &x);
        p->t.warmup_batches++;
        p->t.warmup_elements += x.elements;
        p->t.warmup_s += x.fetch_s + x.batch_s;
    }
    return st;
}

static cbx_status take_all(pass *p, cbx_err *err)
{
    bool ended;
    cbx_status st = warm_up(p, &ended, err);
    double fetched = 0;
    one x;

    while (!st && !ended && p->t.nbatches < p->o.most) {
        st = reserve(p, err);
        if (!st) st = take_one(p, &x, err);
        ended = !st && !x.batch;
        if (st || ended) break;
        see_first(p, &x);
        p->t.fetch_s[p->t.nbatches] = x.fetch_s;
        p->t.batch_s[p->t.nbatches++] = x.batch_s;
        p->t.elements += x.elements;
        p->t.wall_s += x.fetch_s + x.batch_s;
        fetched += x.fetch_s;
    }
    p->t.fetch_share = p->t.wall_s > 0 ? fetched / p->t.wall_s : 0;
    return st;
}

static cbx_status conclude(cbx_ctx *ctx, pass *p, cbx_err *err)
{
    cbx_batches_timing *t = &p->t;
    cbx_status st;

    if (p->backwards) return cbx_fail(err, CBX_EDOM, "the clock ran backwards: nothing that it tells can be used");
    if (!t->nbatches)
        return cbx_fail(err, CBX_ENOENT, "no batch was left to count: %zu came, %zu were to warm up with",
                        t->warmup_batches, p->o.warmup);
    st = cbx_stat_summary(ctx, t->batch_s, t->nbatches, &t->summary, err);
    if (!st) st = cbx_stat_median_interval(ctx, t->batch_s, t->nbatches, p->o.level, &t->batch, err);
    t->elements_per_s = t->wall_s > 0 ? (double)t->elements / t->wall_s : NAN;
    t->clock_cost_ns = p->cost_ns;
    t->clock_share = t->summary.median > 0 ? fmax(p->cost_ns, p->step_ns) / (1e9 * t->summary.median) : INFINITY;
    return st;
}

cbx_status cbx_batches_time(cbx_ctx *ctx, const cbx_batches *b, const cbx_batches_opts *opts, cbx_batches_timing *out,
                            cbx_err *err)
{
    pass p = { .o = CBX_BATCHES_OPTS_INIT, .b = b, .t = { .al = *cbx_ctx_allocator(ctx) } };
    cbx_status st;

    if (!b || !b->next) return cbx_fail(err, CBX_EINVAL, "no batches to time: 'next' is NULL");
    st = cbx_take_options(&p.o, sizeof p.o, opts, "cbx_batches_opts", err);
    if (!st) st = cbx_check_range("most", (double)p.o.most, 1, INFINITY, err);
    if (!st) st = cbx_check_level("level", p.o.level, err);
    if (st) return st;
    measure_clock(&p);
    st = take_all(&p, err);
    if (!st) st = conclude(ctx, &p, err);
    if (st)
        cbx_batches_timing_clear(&p.t);
    else
        *out = p.t;
    return st;
}

void cbx_batches_timing_clear(cbx_batches_timing *t)
{
    if (!t) return;
    cbx_mem_free(&t->al, t->batch_s, t->capacity * sizeof *t->batch_s);
    cbx_mem_free(&t->al, t->fetch_s, t->fetch_capacity * sizeof *t->fetch_s);
    t->batch_s = t->fetch_s = NULL;
    t->nbatches = t->capacity = t->fetch_capacity = 0;
}

cbx_timing_sample cbx_batches_timing_sample(const cbx_batches_timing *t)
{
    return (cbx_timing_sample){ .wall_clock_sec = t->wall_s,
                                .per_batch_times = t->batch_s,
                                .nbatch_times = t->nbatches,
                                .first_batch_time = t->first_batch_s,
                                .num_batches = t->nbatches + t->warmup_batches,
                                .num_elements = t->elements,
                                .compilation_time_sec = NAN,
                                .warmup_batches_excluded = t->warmup_batches };
}
