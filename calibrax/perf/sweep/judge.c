/**
 * What the launches of a point say: medians, refused times, the strongest variant of each baseline.
 *
 * The estimate of an attempt is the median of its launch medians.  A time more than 25 % below the
 * roofline's bound is refused: no honest kernel does less than its declared work.  The roofs are
 * measured, on a shared machine sometimes too low, so the probe is repeated once before anything is
 * refused.  So is an attempt whose clocks kept disagreeing.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/perf/sweep/session.h"
#include "calibrax/statistics/estimate.h"

/** A share of the roofline above this is no measurement. */
#define MAX_SHARE 1.25
/** Worker's time over the parent's, median over launches: below this the worker's times are not
 * what they say. */
#define MIN_CLOCK_RATIO 0.97
/** Repeated launches below this number are chance. */
#define MIN_REPEATS 2

/* Cores that work on one call. */
static double cores_of(const cbx__session *s, const cbx__point *p)
{
    size_t n = s->threads > 1 ? (size_t)s->threads : 1;
    return (double)(p->ncores && p->ncores < n ? p->ncores : n);
}

/* True if so many bytes fit a cache that each core has for itself. */
static bool own_level(const cbx_probe *probe, double bytes)
{
    for (int i = 0; i < probe->nlevels; i++) {
        const cbx_level_rate *l = &probe->level[i];
        if (l->bytes > 0 && (double)l->bytes >= bytes) return !strcmp(l->name, "L1") || !strcmp(l->name, "L2");
    }
    return false;
}

/* True of a set that is larger than some level, and less than twice as large: a good part of it is
 * found there. */
static bool just_above_a_level(const cbx_probe *probe, double bytes)
{
    for (int i = 0; i < probe->nlevels; i++) {
        double level = (double)probe->level[i].bytes;
        if (level > 0 && bytes > level && bytes < 2 * level) return true;
    }
    return false;
}

/* [s] At least, on one core: by the level that holds the set; in doubt, by all levels that parts of
 * it may be found in. */
static double moving(const cbx_probe *probe, const cbx_work *work, double set, bool lax)
{
    if (lax || just_above_a_level(probe, set)) return cbx_probe_min_seconds(probe, work->bytes, set); /* words:ok */
    return cbx_probe_bound_seconds(probe, work->pipe, false, 0, work->bytes, set);
}

/*
 * The probe knows one core.  n cores do n times the operations and read n times as fast from their
 * own caches; what they share (L3, memory) is taken as one core finds it, which is what it gives at
 * least.  lax: as if shared levels too were n times as fast, which is what they give at most.
 */
static double bound_of(const cbx__session *s, const cbx__point *p, const cbx__attempt *a, bool lax, cbx_work *work)
{
    const cbx_case_ops *c = s->opts->case_ops;
    cbx_array_desc out[CBX_CASE_MAX_ARRAYS];
    double n = cores_of(s, p), pipe, moved, bound;
    bool is_f64;

    *work = (cbx_work){ 0 };
    if (!a->baseline->work) return NAN;
    a->baseline->work(p->params, work);
    if (!s->have_probe || strcmp(a->platform, "cpu")) return NAN;
    c->outputs(p->params, out);
    is_f64 = out[0].dtype == CBX_F64 || out[0].dtype == CBX_C128;
    pipe = cbx_probe_bound_seconds(&s->probe, work->pipe, is_f64, work->pipe_ops, 0, 0) / n;
    moved = moving(&s->probe, work, work->working_set_bytes / n, lax);
    if (s->opts->cold_cache && !lax) /* whatever fits a cache is not in it */
        moved = moving(&s->probe, work, INFINITY, false);
    else if (lax || own_level(&s->probe, work->working_set_bytes / n))
        moved /= n;
    else
        moved = moving(&s->probe, work, work->working_set_bytes, false);
    bound = fmax(pipe, moved);
    return bound > 0 ? bound : NAN;
}

double cbx__attempt_bound(const cbx__session *s, const cbx__point *p, const cbx__attempt *a, cbx_work *work)
{
    return bound_of(s, p, a, false, work);
}

static const char *level_name(const cbx_probe *probe, double bytes)
{
    for (int i = 0; i < probe->nlevels; i++) {
        const cbx_level_rate *l = &probe->level[i];
        if (l->bytes == 0 || (double)l->bytes >= bytes) return l->name;
    }
    return "memory";
}

const char *cbx__attempt_bound_by(const cbx__session *s, const cbx__point *p, const cbx__attempt *a)
{
    cbx_work work;
    double n = cores_of(s, p), bound = bound_of(s, p, a, false, &work), pipe;
    cbx_array_desc out[CBX_CASE_MAX_ARRAYS];
    bool is_f64;

    s->opts->case_ops->outputs(p->params, out);
    is_f64 = out[0].dtype == CBX_F64 || out[0].dtype == CBX_C128;
    pipe = cbx_probe_bound_seconds(&s->probe, work.pipe, is_f64, work.pipe_ops, 0, 0) / n;
    if (pipe >= bound) return cbx_pipe_name(work.pipe);
    if (s->opts->cold_cache) return "memory";
    return level_name(&s->probe, own_level(&s->probe, work.working_set_bytes / n) ? work.working_set_bytes / n
                                                                                  : work.working_set_bytes);
}

static cbx_status medians(cbx_ctx *ctx, cbx__point *p, cbx__attempt *a, cbx_err *err)
{
    cbx__times t;
    const cbx_status st = cbx__attempt_times(&p->arena, a, &t, err);

    a->min_s = NAN;
    if (st || !t.launches) return st;
    for (size_t i = 0; i < t.nepochs; i++) a->min_s = fmin(a->min_s, t.epochs[i]);
    return cbx_stat_median(ctx, t.medians, t.launches, &a->median_s, err);
}

static bool beats_the_roof(const cbx__session *s, const cbx__point *p, const cbx__attempt *a)
{
    cbx_work work;
    double bound = bound_of(s, p, a, true, &work);
    return !isnan(bound) && a->median_s > 0 && bound / a->median_s > MAX_SHARE;
}

static void refuse(cbx_ctx *ctx, cbx__session *s, cbx__point *p, cbx__attempt *a)
{
    cbx_work work;

    if (!beats_the_roof(s, p, a)) return;
    cbx__session_repeat_probe(ctx, s);
    if (!beats_the_roof(s, p, a)) return;
    a->failure = CBX_FAILURE_FASTER_THAN_ROOF;
    snprintf(a->message, sizeof(a->message),
             "median %.3g s is faster than the %.3g s that the declared work takes at this machine's best", a->median_s,
             bound_of(s, p, a, true, &work));
}

/* Rounds that were launched again because the clocks disagreed. */
static size_t restless_rounds(const cbx__attempt *a)
{
    size_t n = 0, last = SIZE_MAX;

    for (const cbx__launch *l = a->first; l; l = l->next) {
        if (!l->next || !l->next->retry || l->record.failure != CBX_FAILURE_CLOCKS_DISAGREE || l->round == last)
            continue;
        last = l->round;
        n++;
    }
    return n;
}

/* Launches that were repeated until the clocks agreed are a choice among launches: with more than a
 * third of them, no sample. */
static void refuse_restless(cbx__attempt *a)
{
    size_t rounds = a->nlaunches - a->retries, again = restless_rounds(a);

    if (again < MIN_REPEATS || 3 * again <= rounds) return;
    a->failure = CBX_FAILURE_CLOCKS_DISAGREE;
    snprintf(a->message, sizeof(a->message),
             "%zu of %zu launches had to be repeated because the clocks of worker and parent disagreed", again, rounds);
}

/* A worker whose clock runs short by a little in every launch stays below each launch's limit; over
 * the launches it shows. */
static cbx_status refuse_short_clock(cbx__point *p, cbx__attempt *a, cbx_err *err)
{
    double *ratios = cbx_arena_calloc(&p->arena, a->nlaunches + 1, sizeof(*ratios)), ratio;
    size_t n = 0;

    if (!ratios) return cbx_fail(err, CBX_ENOMEM, "out of memory for clock ratios");
    for (const cbx__launch *l = a->first; l; l = l->next) {
        const cbx_launch_record *r = &l->record;
        if (isnan(l->median_s) || !(r->clock_ratio > 0)) continue;
        /* the benefit of the doubt, where a busy machine leaves some */
        ratios[n++] = r->clock_doubt > 0 ? fmin(1, r->clock_ratio / (1 - r->clock_doubt)) : r->clock_ratio;
    }
    if (n < CBX__MIN_LAUNCHES) return CBX_OK; /* one late wake-up would decide */
    cbx_stat_sort(
        ratios,
        n); /* the upper quartile: a busy machine wakes this program late in many launches, not in most of them */
    ratio = cbx_stat_quantile_sorted(ratios, n, 0.75);
    if (ratio >= MIN_CLOCK_RATIO) return CBX_OK;
    a->failure = CBX_FAILURE_CLOCKS_DISAGREE;
    snprintf(a->message, sizeof(a->message),
             "the worker's clock saw %.1f %% of the time that this program saw, in the upper quartile of %zu launches",
             100 * ratio, n);
    return CBX_OK;
}

/* Smallest median among the good variants of a's baseline on its platform: at most one attempt is
 * marked. */
static bool is_strongest(const cbx__plan *plan, size_t i)
{
    const cbx__attempt *a = &plan->attempts[i];

    if (!a->good) return false;
    for (size_t j = 0; j < plan->count; j++) {
        const cbx__attempt *b = &plan->attempts[j];
        if (j == i || !b->good || b->baseline != a->baseline || b->platform != a->platform) continue;
        if (b->median_s < a->median_s || (b->median_s == a->median_s && j < i)) return false;
    }
    return true;
}

cbx_status cbx__rows_judge(cbx_ctx *ctx, cbx__session *s, cbx__point *p, cbx_err *err)
{
    cbx_status st = CBX_OK;

    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < p->plan.count && !st; i++) {
        cbx__attempt *a = &p->plan.attempts[i];
        st = medians(ctx, p, a, err);
        if (st) break;
        if (!a->failure && !isnan(a->median_s)) refuse(ctx, s, p, a);
        if (!a->failure) refuse_restless(a);
        if (!a->failure && !isnan(a->median_s)) st = refuse_short_clock(p, a, err);
        if (st) break;
        a->good = !a->failure && !isnan(a->median_s);
    }
    for (size_t i = 0; i < p->plan.count && !st; i++) p->plan.attempts[i].strongest = is_strongest(&p->plan, i);
    pthread_mutex_unlock(&s->lock);
    return st;
}
