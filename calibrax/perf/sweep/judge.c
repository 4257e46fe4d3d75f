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

/* [s] At least, on one core: by the level that holds the set; in doubt, by all levels that parts of
 * it may be found in, as of a set that is larger than some level, and less than twice as large. */
static double moving(const cbx_probe *probe, const cbx_work *work, double set, bool lax)
{
    for (int i = 0; i < probe->nlevels; i++) {
        const double level = (double)probe->level[i].bytes;
        lax = lax || (level > 0 && set > level && set < 2 * level);
    }
    if (lax) return cbx_probe_min_seconds(probe, work->bytes, set); /* words:ok */
    return cbx_probe_bound_seconds(probe, work->pipe, false, 0, work->bytes, set);
}

/*
 * The probe knows one core.  n cores do n times the operations and read n times as fast from their
 * own caches; what they share (L3, memory) is taken as one core finds it, which is what it gives at
 * least.  lax: as if shared levels too were n times as fast, which is what they give at most.
 * @param pipe  [s] of the operations alone; may be NULL
 */
static double bound_of(const cbx__session *s, const cbx__point *p, const cbx__attempt *a, bool lax, cbx_work *work,
                       double *pipe)
{
    cbx_array_desc out[CBX_CASE_MAX_ARRAYS];
    const double n = cores_of(s, p);

    *work = (cbx_work){ 0 };
    if (!a->baseline->work) return NAN;
    a->baseline->work(p->params, work);
    if (!s->have_probe || strcmp(a->platform, "cpu")) return NAN;
    s->opts->case_ops->outputs(p->params, out);
    const bool is_f64 = out[0].dtype == CBX_F64 || out[0].dtype == CBX_C128;
    const double computed = cbx_probe_bound_seconds(&s->probe, work->pipe, is_f64, work->pipe_ops, 0, 0) / n;
    double moved = moving(&s->probe, work, work->working_set_bytes / n, lax);
    if (s->opts->cold_cache && !lax) /* whatever fits a cache is not in it */
        moved = moving(&s->probe, work, INFINITY, false);
    else if (lax || own_level(&s->probe, work->working_set_bytes / n))
        moved /= n;
    else
        moved = moving(&s->probe, work, work->working_set_bytes, false);
    if (pipe) *pipe = computed;
    return fmax(computed, moved) > 0 ? fmax(computed, moved) : NAN;
}

double cbx__attempt_bound(const cbx__session *s, const cbx__point *p, const cbx__attempt *a, cbx_work *work,
                          const char **by)
{
    double pipe = 0, set;
    const double bound = bound_of(s, p, a, false, work, &pipe);

    *by = isnan(bound) ? NULL : pipe >= bound ? cbx_pipe_name(work->pipe) : "memory";
    if (isnan(bound) || pipe >= bound || s->opts->cold_cache) return bound;
    set = work->working_set_bytes / cores_of(s, p);
    if (!own_level(&s->probe, set)) set = work->working_set_bytes;
    for (int i = s->probe.nlevels; i-- > 0;) {
        const cbx_level_rate *l = &s->probe.level[i];
        if (l->bytes == 0 || (double)l->bytes >= set) *by = l->name;
    }
    return bound;
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
    const double bound = bound_of(s, p, a, true, &work, NULL);
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
             bound_of(s, p, a, true, &work, NULL));
}

/* Launches that were repeated until the clocks agreed are a choice among launches: with more than a
 * third of the rounds, no sample. */
static void refuse_restless(cbx__attempt *a)
{
    const size_t rounds = a->nlaunches - a->retries;
    size_t again = 0, last = SIZE_MAX;

    for (const cbx__launch *l = a->first; l; l = l->next) {
        if (!l->next || !l->next->retry || l->record.failure != CBX_FAILURE_CLOCKS_DISAGREE || l->round == last)
            continue;
        last = l->round;
        again++;
    }
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
    /* the upper quartile: a busy machine wakes this program late in many launches, not in most of
     * them */
    cbx_stat_sort(ratios, n);
    ratio = cbx_stat_quantile_sorted(ratios, n, 0.75);
    if (ratio >= MIN_CLOCK_RATIO) return CBX_OK;
    a->failure = CBX_FAILURE_CLOCKS_DISAGREE;
    snprintf(a->message, sizeof(a->message),
             "the worker's clock saw %.1f %% of the time that this program saw, in the upper quartile of %zu launches",
             100 * ratio, n);
    return CBX_OK;
}

cbx_status cbx__rows_judge(cbx_ctx *ctx, cbx__session *s, cbx__point *p, cbx_err *err)
{
    cbx__attempt *const first = p->plan.attempts, *const end = first + p->plan.count;
    cbx_status st = CBX_OK;

    pthread_mutex_lock(&s->lock);
    for (cbx__attempt *a = first; a < end && !st; a++) {
        st = medians(ctx, p, a, err);
        if (st) break;
        if (!a->failure && !isnan(a->median_s)) refuse(ctx, s, p, a);
        if (!a->failure) refuse_restless(a);
        if (!a->failure && !isnan(a->median_s)) st = refuse_short_clock(p, a, err);
        a->good = !st && !a->failure && !isnan(a->median_s);
    }
    /* the smallest median among the good variants of a baseline on its platform: at most one
     * attempt is marked */
    for (cbx__attempt *a = first; a < end && !st; a++) {
        a->strongest = a->good;
        for (const cbx__attempt *b = first; b < end; b++) {
            if (b == a || !b->good || b->baseline != a->baseline || b->platform != a->platform) continue;
            if (b->median_s < a->median_s || (b->median_s == a->median_s && b < a)) a->strongest = false;
        }
    }
    pthread_mutex_unlock(&s->lock);
    return st;
}
