/*
 * Timing of calls.  Order: clock, compilation, first call, calibration, warm-up, samples,
 * estimates.
 */
#include "calibrax/profiling/timing.h"

#include <math.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/options.h"
#include "calibrax/profiling/timing_internal.h"

#define WINDOW_STEPS    100 /* minimum steps or costs of the clock in a window; the target is twice that */
#define MAX_CALLS       ((uint64_t)1 << 40)
#define CLOCK_WINDOWS   201
#define EMPTY_CALLS     2000
#define INTERRUPTION_NS 100e6
#define EMPTY_MARGIN    1.75 /* the placement of code is random: equal loops differ by up to a half */

typedef struct timer {
    cbx_timing_opts o;
    cbx_timed_fn fn;
    double (*window)(void *user, uint64_t calls); /* instead of fn, which is then NULL */
    void *user;
    cbx__stopwatch watch;
    uint64_t start_ns;
    double empty_ns;
    uint64_t calls, warmup;
} timer;

/* --- the clock --- */

uint64_t cbx__stopwatch_now(const cbx__stopwatch *w) { return w->clock_ns ? w->clock_ns() : cbx_clock_ns(); }

double cbx__stopwatch_since(cbx__stopwatch *w, uint64_t start)
{
    uint64_t end = cbx__stopwatch_now(w);
    if (end < start) w->backwards = true;
    return end < start ? 0 : (double)(end - start);
}

void cbx__stopwatch_measure(cbx__stopwatch *w)
{
    double window[CLOCK_WINDOWS];

    w->step_ns = INFINITY;
    for (int i = 0; i < CLOCK_WINDOWS; i++) window[i] = cbx__stopwatch_since(w, cbx__stopwatch_now(w));
    cbx_stat_sort(window, CLOCK_WINDOWS);
    w->cost_ns = window[CLOCK_WINDOWS / 2];
    for (int i = 0; i < CLOCK_WINDOWS; i++) {
        uint64_t first = cbx__stopwatch_now(w), second = first;
        for (int k = 0; k < 100000 && second == first; k++) second = cbx__stopwatch_now(w);
        if (second == first) break; /* it does not advance by itself */
        if (second > first) w->step_ns = fmin(w->step_ns, (double)(second - first));
    }
    if (!isfinite(w->step_ns)) w->step_ns = fmax(w->cost_ns, 1);
}

/* --- windows --- */

static double window_ns(timer *t, cbx_timed_fn fn, void *user, uint64_t calls)
{
    uint64_t start = cbx__stopwatch_now(&t->watch);
    if (!fn) return t->window(user, calls);
    for (uint64_t i = 0; i < calls; i++) fn(user);
    if (t->o.sync && fn == t->fn) t->o.sync(user);
    return fmax(0, cbx__stopwatch_since(&t->watch, start) - t->watch.cost_ns);
}

static void nothing(void *user) { (void)user; }

/* What the loop and an empty call cost: the minimum of some windows, or their median, which is the
 * usual cost. */
static double empty_call(timer *t, uint64_t calls, bool usual)
{
    cbx_timed_fn volatile empty = nothing;
    double x[15];

    for (size_t i = 0; i < CBX_LEN(x); i++) x[i] = window_ns(t, empty, NULL, calls) / (double)calls;
    cbx_stat_sort(x, CBX_LEN(x));
    return x[usual ? CBX_LEN(x) / 2 : 0];
}

static double elapsed_s(timer *t) { return 1e-9 * cbx__stopwatch_since(&t->watch, t->start_ns); }

/* An interruption makes one window long, seldom two: a long one is repeated unless it is too long
 * for an interruption. */
static double calibration_window(timer *t, uint64_t calls, double target)
{
    double ns = window_ns(t, t->fn, t->user, calls);

    t->warmup += calls;
    if (ns < target || ns > INTERRUPTION_NS) return ns;
    t->warmup += calls;
    return fmin(ns, window_ns(t, t->fn, t->user, calls));
}

static cbx_status calibrate(timer *t, cbx_err *err)
{
    double target = fmax(1e9 * t->o.sample_s, 2 * WINDOW_STEPS * fmax(t->watch.cost_ns, t->watch.step_ns)), ns;
    uint64_t n = 1;

    if (t->o.calls) {
        t->calls = t->o.calls;
        return CBX_OK;
    }
    ns = calibration_window(t, n, target); /* the first one includes preparations */
    while (ns < target) {
        double grown = ns > 0 ? 1.4 * (double)n * target / ns : 10.0 * (double)n;
        n = (uint64_t)fmin(fmax(grown, (double)n + 1), 10.0 * (double)n);
        if (n > MAX_CALLS || t->watch.backwards)
            return cbx_fail(err, CBX_EDOM, "the clock does not advance during %g calls: they cannot be timed",
                            (double)n);
        ns = calibration_window(t, n, target);
    }
    t->calls = n;
    return CBX_OK;
}

/* --- options, refusals, estimates --- */

/* The shortest sample against an empty call: noise makes both longer, never shorter. */
static cbx_status refuse(timer *t, const cbx_call_timing *r, cbx_err *err)
{
    double call = 1e9 * r->summary.median, window = call * (double)t->calls, empty;

    if (t->watch.backwards) return cbx_fail(err, CBX_EDOM, "the clock ran backwards: its readings cannot be used");
    if (window < WINDOW_STEPS * fmax(t->watch.cost_ns, t->watch.step_ns))
        return cbx_fail(err, CBX_EDOM,
                        "%llu calls take %.3g ns, the clock steps by %.3g ns and costs %.3g ns: leave the number of "
                        "calls unset, or increase it",
                        (unsigned long long)t->calls, window, t->watch.step_ns, t->watch.cost_ns);
    if (t->o.sync || 1e9 * r->summary.min > 20 * t->empty_ns) return CBX_OK;
    empty = fmax(t->empty_ns, empty_call(t, 50 * EMPTY_CALLS, true)); /* as the machine is now */
    if (1e9 * r->summary.min < EMPTY_MARGIN * empty)
        return cbx_fail(err, CBX_EDOM,
                        "a call takes %.3g ns, an empty one %.3g ns: too short to time, do more work in a call", call,
                        empty);
    return CBX_OK;
}

cbx_status cbx__timing_estimate(cbx_ctx *ctx, double level, const double *percentiles, size_t npercentiles,
                                cbx_call_timing *r, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    double *sorted;
    cbx_status st = cbx_stat_summary(ctx, r->samples, r->nsamples, &r->summary, err);

    if (!st) st = cbx_stat_median_interval(ctx, r->samples, r->nsamples, level, &r->steady, err);
    if (st) return st;
    sorted = cbx_mem_alloc(al, r->nsamples * sizeof *sorted);
    if (!sorted) return cbx_fail_nomem(err, "samples");
    memcpy(sorted, r->samples, r->nsamples * sizeof *sorted);
    cbx_stat_sort(sorted, r->nsamples);
    r->npercentiles = npercentiles;
    for (size_t i = 0; i < r->npercentiles; i++) {
        r->percentile[i] = percentiles[i];
        r->percentile_s[i] = cbx_stat_quantile_sorted(sorted, r->nsamples, percentiles[i] / 100);
    }
    cbx_mem_free(al, sorted, r->nsamples * sizeof *sorted);
    r->first_excess_s = fmax(0, r->first_call_s - r->summary.median);
    r->clock_share = fmax(r->clock_cost_ns, r->clock_step_ns) / (1e9 * r->summary.median * (double)r->calls_per_sample);
    return CBX_OK;
}

static cbx_status run(cbx_ctx *ctx, timer *t, cbx_call_timing *r, cbx_err *err)
{
    double elsewhere = t->watch.cost_ns; /* of a clock in another process */

    cbx__stopwatch_measure(&t->watch);
    t->watch.cost_ns = fmax(t->watch.cost_ns, elsewhere);
    t->empty_ns = empty_call(t, EMPTY_CALLS, false);
    r->compile_s = t->o.compile ? 1e-9 * window_ns(t, t->o.compile, t->user, 1) : NAN;
    r->first_call_s = 1e-9 * window_ns(t, t->fn, t->user, 1);
    t->warmup = 1;
    cbx_status st = calibrate(t, err);
    if (st) return st;
    if (t->o.warmup) window_ns(t, t->fn, t->user, t->o.warmup);
    t->warmup += t->o.warmup;
    size_t n = 0;
    while (n < t->o.samples && (n == 0 || t->o.budget_s == 0 || elapsed_s(t) < t->o.budget_s))
        r->samples[n++] = 1e-9 * window_ns(t, t->fn, t->user, t->calls) / (double)t->calls;
    r->nsamples = n;
    r->calls_per_sample = t->calls;
    r->warmup_calls = t->warmup;
    r->clock_cost_ns = t->watch.cost_ns;
    r->clock_step_ns = t->watch.step_ns;
    r->empty_call_ns = t->empty_ns;
    r->wall_s = elapsed_s(t);
    st = cbx__timing_estimate(ctx, t->o.level, t->o.percentiles, t->o.npercentiles, r, err);
    return st ? st : refuse(t, r, err);
}

static cbx_status time_it(cbx_ctx *ctx, timer t, const cbx_timing_opts *opts, cbx_call_timing *out, cbx_err *err)
{
    cbx_call_timing r = { .al = *cbx_ctx_allocator(ctx) };
    static const double usual[] = { 50, 90, 99 };
    t.o = (cbx_timing_opts)CBX_TIMING_OPTS_INIT;
    cbx_status st = cbx_take_options(&t.o, sizeof t.o, opts, "cbx_timing_opts", err);
    if (!st) st = cbx_check_range("samples", (double)t.o.samples, 1, 1 << 20, err);
    if (!st) st = cbx_check_range("sample_s", t.o.sample_s, 0, 3600, err);
    if (!st) st = cbx_check_range("budget_s", t.o.budget_s, 0, INFINITY, err);
    if (!st) st = cbx_check_level("level", t.o.level, err);
    if (!st) st = cbx_check_range("calls", (double)t.o.calls, 0, (double)MAX_CALLS, err);
    if (!t.o.percentiles) {
        t.o.percentiles = usual;
        t.o.npercentiles = CBX_LEN(usual);
    }
    if (!st) st = cbx_check_range("npercentiles", (double)t.o.npercentiles, 0, CBX_TIMING_MAX_PERCENTILES, err);
    for (size_t i = 0; !st && i < t.o.npercentiles; i++)
        st = cbx_check_range("percentiles", t.o.percentiles[i], 0, 100, err);

    if (st) return st;
    r.samples = cbx_mem_calloc(&r.al, t.o.samples, sizeof *r.samples);
    if (!r.samples) return cbx_fail_nomem(err, "samples");
    t.watch.clock_ns = t.o.clock_ns;
    t.start_ns = cbx__stopwatch_now(&t.watch);
    st = run(ctx, &t, &r, err);
    if (!st && r.nsamples < t.o.samples) {
        size_t size = sizeof *r.samples;
        double *fit = cbx_mem_resize(&r.al, r.samples, t.o.samples * size, r.nsamples * size);
        if (fit)
            r.samples = fit;
        else
            st = cbx_fail_nomem(err, "samples");
    }
    return CBX_FINISH(st, *out = r, cbx_mem_free(&r.al, r.samples, t.o.samples * sizeof *r.samples));
}

cbx_status cbx_time_calls(cbx_ctx *ctx, cbx_timed_fn fn, void *user, const cbx_timing_opts *opts, cbx_call_timing *out,
                          cbx_err *err)
{
    if (!fn) return cbx_fail(err, CBX_EINVAL, "no function to time");
    return time_it(ctx, (timer){ .fn = fn, .user = user }, opts, out, err);
}

cbx_status cbx__time_windows(cbx_ctx *ctx, double (*window)(void *user, uint64_t calls), void *user, double clock_ns,
                             const cbx_timing_opts *opts, cbx_call_timing *out, cbx_err *err)
{
    return time_it(ctx, (timer){ .window = window, .user = user, .watch.cost_ns = clock_ns }, opts, out, err);
}

void cbx_call_timing_clear(cbx_call_timing *t)
{
    if (!t || !t->samples) return;
    cbx_mem_free(&t->al, t->samples, t->nsamples * sizeof *t->samples);
    t->samples = NULL;
    t->nsamples = 0;
}

cbx_timing_sample cbx_call_timing_sample(const cbx_call_timing *t)
{
    return (cbx_timing_sample){ t->wall_s,       t->samples,     t->nsamples,
                                t->first_call_s, t->nsamples,    t->nsamples * t->calls_per_sample,
                                t->compile_s,    t->warmup_calls };
}
