/**
 * Looks at the rounds of a point; see stopping.h.
 */
#include "calibrax/perf/sweep/stopping.h"

#include <math.h>

#include "calibrax/analysis/verdict.h"
#include "calibrax/base/idioms.h"
#include "calibrax/perf/sweep/estimates.h"
#include "calibrax/statistics/estimate.h"
#include "calibrax/statistics/variance.h"

#define LEVEL 0.95

bool cbx__stopping_by_goal(const cbx__session *s) { return s->goal.half_width > 0 || s->goal.decide; }

cbx_status cbx__stopping_plan(cbx__point *p, size_t last, cbx_err *err)
{
    size_t end = last < 1 ? 1 : last > CBX_LOOKS_PAIRS ? CBX_LOOKS_PAIRS : last;

    p->looked = 0;
    return cbx_looks_plan(end < CBX__FIRST_LOOK ? end : CBX__FIRST_LOOK, end, 1 - LEVEL, &p->looks, err);
}

bool cbx__stopping_done(const cbx__point *p) { return p->looks.count && p->looked == p->looks.count; }

double cbx__stopping_level(const cbx__point *p, const cbx__attempt *a)
{
    return p->looks.count ? cbx_looks_level(&p->looks, a->look) : LEVEL;
}

/* --- one look --- */

typedef struct look {
    cbx_ctx *ctx;
    const cbx__session *s;
    cbx__point *p;
    double level;
    double *mine, *theirs; /* a round each */
    cbx_status st;         /* of a question that could not be answered */
} look;

static bool narrow(const look *k, const cbx_interval *iv)
{
    const double half_width = k->s->goal.half_width;
    return half_width > 0 && iv->level > 0 && iv->upper - iv->lower <= 2 * half_width * iv->value;
}

static bool is_reference(const look *k, const cbx__attempt *a)
{
    return a->baseline == k->s->opts->case_ops->baselines[0];
}

/* True if the question was answered. */
static bool answered(look *k, cbx_status st)
{
    if (st && !k->st) k->st = st;
    return !st;
}

/* The variant of the reference that an attempt is compared with, as far as one knows now; NULL:
 * none. */
static const cbx__attempt *rival_now(look *k, const cbx__attempt *a)
{
    const cbx__attempt *best = NULL, *const end = k->p->plan.attempts + k->p->plan.count;
    double lowest = INFINITY;

    for (const cbx__attempt *r = k->p->plan.attempts; r < end; r++) {
        double m = INFINITY;
        if (r->failure || r->idle || !is_reference(k, r) || r->platform != a->platform) continue;
        const size_t n = cbx__pair_rounds(r, r, k->mine, k->theirs);
        if (n && !answered(k, cbx_stat_median(k->ctx, k->mine, n, &m, NULL))) m = INFINITY;
        if (!best || m < lowest) best = r;
        lowest = fmin(lowest, m);
    }
    return best;
}

/* Why the interval of a's paired ratio is enough; NULL: it is not. */
static const char *ratio_is_enough(look *k, const cbx__attempt *a, const cbx__attempt *rival)
{
    cbx_interval iv;
    size_t n = cbx__pair_rounds(a, rival, k->mine, k->theirs);

    if (!n || !answered(k, cbx_stat_paired_ratio(k->ctx, k->mine, k->theirs, n, k->level, &iv, NULL))) return NULL;
    if (narrow(k, &iv)) return "precision";
    if (k->s->goal.family > 1 && /* by Bonferroni's level, so that the corrected table is decided, too */
        !answered(k, cbx_stat_paired_ratio(k->ctx, k->mine, k->theirs, n,
                                           1 - (1 - k->level) / (double)k->s->goal.family, &iv, NULL)))
        return NULL;
    if (k->s->goal.decide && cbx_verdict_of_ratio(&iv, CBX_VERDICT_MARGIN) != CBX_VERDICT_UNDECIDED) return "verdict";
    return NULL;
}

static const char *median_is_enough(look *k, const cbx__attempt *a)
{
    cbx_interval iv;
    size_t n = cbx__pair_rounds(a, a, k->mine, k->theirs);

    if (!n || !answered(k, cbx_stat_median_interval(k->ctx, k->mine, n, k->level, &iv, NULL))) return NULL;
    return narrow(k, &iv) ? "precision" : NULL;
}

static void settle(look *k, cbx__attempt *a, const char *why)
{
    if (!why) return;
    a->ended = true;
    a->look = k->p->looked;
    a->stopped_because = why;
}

cbx_status cbx__stopping_look(cbx_ctx *ctx, const cbx__session *s, cbx__point *p, cbx_err *err)
{
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    cbx__attempt *const first = p->plan.attempts, *const end = first + p->plan.count;
    look k = { .ctx = ctx, .s = s, .p = p };

    if (cbx__stopping_done(p) || !p->looks.count || p->rounds != p->looks.pairs[p->looked]) return CBX_OK;
    k.mine = cbx_arena_calloc(&arena, 2 * (p->rounds + 1), sizeof *k.mine);
    if (!k.mine) return cbx_fail(err, CBX_ENOMEM, "out of memory for a look at %zu rounds", p->rounds);
    k.theirs = k.mine + p->rounds + 1;
    k.level = cbx_looks_level(&p->looks, p->looked);
    for (cbx__attempt *a = first; a < end; a++) {
        if (!cbx__attempt_alive(a) || is_reference(&k, a)) continue;
        const cbx__attempt *rival = a->baseline->limit ? NULL : rival_now(&k, a);
        settle(&k, a, rival ? ratio_is_enough(&k, a, rival) : median_is_enough(&k, a));
    }
    for (cbx__attempt *a = first; a < end; a++) {
        bool needed = false, compared = false; /* by an attempt on its platform: still, ever */
        if (!cbx__attempt_alive(a) || !is_reference(&k, a)) continue;
        for (const cbx__attempt *b = first; b < end; b++) {
            if (b->failure || b->idle || is_reference(&k, b) || b->platform != a->platform) continue;
            compared = true;
            needed = needed || !b->ended;
        }
        if (needed) continue;
        const char *why = median_is_enough(&k, a);
        /* where verdicts are all that is wanted, those of the others are it */
        settle(&k, a, why ? why : s->goal.decide && compared ? "verdict" : NULL);
    }
    p->looked++;
    return k.st ? cbx_fail(err, k.st, "a look at %zu rounds: %s", p->rounds, cbx_status_words(k.st)) : CBX_OK;
}

cbx_status cbx__stopping_end(cbx__point *p, const char *why, cbx_err *err)
{
    cbx_status st = CBX_OK;

    if (p->looks.count && p->rounds && (!p->looked || p->looks.pairs[p->looked - 1] != p->rounds)) {
        size_t pairs = p->rounds < CBX_LOOKS_PAIRS ? p->rounds : CBX_LOOKS_PAIRS;
        st = cbx_looks_end(&p->looks, p->looked, pairs, err);
        if (!st) p->looked++;
    }
    for (cbx__attempt *a = p->plan.attempts; a < p->plan.attempts + p->plan.count; a++) {
        if (a->ended || a->failure || a->idle) continue;
        a->look = p->looked ? p->looked - 1 : 0;
        a->stopped_because = why;
    }
    return st;
}

/* --- the pilot: Kalibera & Jones' counts from the first launches --- */

#define LATE_LEVEL 0.98 /* of the last looks of a design, about */
#define MARGIN     4 /* three launches know a variance to a factor: looks are planned for so much more than is needed */

cbx__cost cbx__launch_cost(const cbx__session *s, const cbx__launch *l)
{
    double call = l->median_s, epoch = call * (double)l->record.iterations;
    /* slow calls have no spare warm-up to give back but the one call that they were granted */
    double warm = call * (double)(s->slow_call_s > 0 && call > s->slow_call_s && s->warmup > 1 ? 1 : s->warmup);
    cbx__cost c = { .epoch_s = epoch, .warmup_s = warm };

    c.fixed_s = fmax(0, l->wall_s - warm - epoch * (double)l->record.epochs);
    return c;
}

size_t cbx__epochs_of(const cbx__point *p, const cbx__attempt *a) { return a->epochs ? a->epochs : p->counts.epochs; }

/* --- one attempt --- */

cbx_status cbx__pilot_read(cbx_arena *arena, const cbx__session *s, const cbx__attempt *a, size_t max_epochs,
                           cbx__pilot *out, cbx_err *err)
{
    cbx__pilot pilot = { 0 };
    cbx_components c;
    cbx__times t;
    cbx_status st = cbx__attempt_times(arena, a, &t, err);

    *out = pilot;
    if (st || t.launches < 2) return st;
    st = cbx_stat_components(&(cbx_nested){ t.epochs, t.sizes, t.launches }, &c, err);
    if (st) return st;
    for (const cbx__launch *l = a->first; l; l = l->next) {
        if (isnan(l->median_s)) continue;
        const cbx__cost cost = cbx__launch_cost(s, l);
        pilot.launch_s += cost.fixed_s + cost.warmup_s;
        pilot.epoch_s += cost.epoch_s;
        pilot.warmed += l->steady == CBX_STEADY_WARMUP || l->steady == CBX_STEADY_SLOWDOWN;
    }
    pilot.launch_s /= (double)t.launches;
    pilot.epoch_s /= (double)t.launches;
    pilot.launches = t.launches;
    pilot.mean_s = c.mean;
    pilot.launch_cv = sqrt(c.between) / c.mean;
    pilot.epoch_cv = sqrt(c.within) / c.mean;
    pilot.best_epochs = 1;
    if (pilot.epoch_s > 0 && pilot.launch_s > 0) {
        const double variance[] = { c.within, c.between }, cost[] = { pilot.epoch_s, pilot.launch_s };
        st = cbx_stat_repetitions(variance, cost, 2, max_epochs, &pilot.best_epochs, err);
    }
    if (!st) *out = pilot;
    return st;
}

/* Variance of the median of a launch's epochs, relative. */
static double launch_variance(const cbx__pilot *p, size_t epochs)
{
    return p->launch_cv * p->launch_cv + p->epoch_cv * p->epoch_cv / (double)epochs;
}

/* --- the table --- */

static bool is_planned(const cbx__attempt *a) { return cbx__attempt_alive(a) && a->pilot.launches; }

static double round_cost(const cbx__plan *plan)
{
    double s = 0;

    for (const cbx__attempt *a = plan->attempts; a < plan->attempts + plan->count; a++)
        if (is_planned(a)) s += a->pilot.launch_s + a->pilot.epoch_s * (double)a->epochs;
    return s;
}

/* Variance that the reference brings into a ratio. */
static double reference_variance(const cbx__session *s, const cbx__plan *plan, const char *platform)
{
    for (const cbx__attempt *a = plan->attempts; a < plan->attempts + plan->count; a++)
        if (is_planned(a) && a->baseline == s->opts->case_ops->baselines[0] && a->platform == platform)
            return launch_variance(&a->pilot, a->epochs);
    return 0;
}

/* Best epochs for each; those asked for where a launch must show its warm-up. */
static void choose_epochs(const cbx__session *s, cbx__plan *plan)
{
    for (cbx__attempt *a = plan->attempts; a < plan->attempts + plan->count; a++) {
        if (!is_planned(a)) continue;
        a->epochs = a->pilot.best_epochs;
        if (a->pilot.warmed && a->epochs < s->epochs) a->epochs = s->epochs;
    }
}

static void forget_epochs(cbx__plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) plan->attempts[i].epochs = 0;
}

/* Rounds in all that the time allows. */
static size_t affordable(const cbx__point *p, double left_s)
{
    double cost = round_cost(&p->plan), more = cost > 0 ? floor(fmax(0, left_s) / cost) : INFINITY;
    return more > CBX_LOOKS_PAIRS ? CBX_LOOKS_PAIRS : p->rounds + (size_t)more;
}

/* A number of rounds was asked for, and a budget forbids the epochs that go with it: fewer epochs,
 * but no fewer than are best, while rounds fit; then more epochs for everybody while they fit, up
 * to those asked for. */
static void plan_for_budget(const cbx__session *s, cbx__point *p, double left_s)
{
    cbx__attempt *const first = p->plan.attempts, *const end = first + p->plan.count;
    bool enough = true;

    for (const cbx__attempt *a = first; a < end; a++)
        if (is_planned(a)) enough = enough && p->counts.epochs >= a->pilot.best_epochs;
    if (enough && p->counts.launches == s->launches) return; /* every launch has what it is worth */
    choose_epochs(s, &p->plan);
    const size_t n = affordable(p, left_s);
    if (n < s->launches && n < CBX__MIN_LAUNCHES) {
        forget_epochs(&p->plan); /* the cut that was made after the first round goes deeper */
        return;
    }
    p->counts.warmup = true;
    p->counts.launches = n < s->launches ? n : s->launches;
    const double rounds = (double)(p->counts.launches - p->rounds);
    for (bool more = true; more;) {
        more = false;
        for (cbx__attempt *a = first; a < end; a++) {
            if (!is_planned(a) || a->epochs >= s->epochs) continue;
            a->epochs++;
            if (rounds * round_cost(&p->plan) > left_s)
                a->epochs--;
            else
                more = true;
        }
    }
}

static cbx_status plan_for_goal(const cbx__session *s, cbx__point *p, double left_s, cbx_err *err)
{
    choose_epochs(s, &p->plan);
    /* Launches that the goal needs: the most of any row. */
    size_t needed = 1;
    for (cbx__attempt *a = p->plan.attempts; a < p->plan.attempts + p->plan.count; a++) {
        const bool reference = a->baseline == s->opts->case_ops->baselines[0];
        if (!is_planned(a) || !(s->goal.half_width > 0)) continue;
        const double v = launch_variance(&a->pilot, a->epochs) +
                         (reference ? 0 : reference_variance(s, &p->plan, a->platform));
        if (cbx_stat_launches_for(M_PI_2 * v, s->goal.half_width, LATE_LEVEL, &a->pilot.needed, NULL))
            a->pilot.needed = s->launches;
        if (a->pilot.needed > needed) needed = a->pilot.needed;
    }
    size_t last = s->goal.decide || needed > s->launches / MARGIN ? s->launches : MARGIN * needed;
    if (last < CBX__FIRST_LOOK) last = s->launches < CBX__FIRST_LOOK ? s->launches : CBX__FIRST_LOOK;
    p->limit = last < s->launches ? "precision" : "most";
    size_t affordable_rounds = isfinite(left_s) ? affordable(p, left_s) : CBX_LOOKS_PAIRS;
    if (affordable_rounds < CBX__MIN_LAUNCHES) {
        forget_epochs(&p->plan);
        affordable_rounds = p->counts.launches; /* of the cut after the first round */
    }
    if (affordable_rounds < last) {
        last = affordable_rounds;
        p->limit = "budget";
    }
    if (last < p->rounds) last = p->rounds;
    p->counts.launches = last;
    return cbx__stopping_plan(p, last, err);
}

cbx_status cbx__pilot_plan(cbx_ctx *ctx, const cbx__session *s, cbx__point *p, double spent_s, cbx_err *err)
{
    size_t max_epochs = s->opts->repeats || !cbx__stopping_by_goal(s) ? s->epochs : CBX__MAX_EPOCHS;
    double left = p->share_s - spent_s;
    cbx_status st = CBX_OK;

    CBX_SCOPED(cbx_arena, scratch, cbx_ctx_allocator(ctx));
    for (cbx__attempt *a = p->plan.attempts; a < p->plan.attempts + p->plan.count && !st; a++)
        if (cbx__attempt_alive(a)) st = cbx__pilot_read(&scratch, s, a, max_epochs, &a->pilot, err);
    if (st) return st;
    if (cbx__stopping_by_goal(s)) return plan_for_goal(s, p, left, err);
    if (isfinite(left) && !s->opts->twins) plan_for_budget(s, p, left); /* twins stay alike */
    return CBX_OK;
}
