/**
 * Kalibera & Jones' counts from the first launches; see pilot.h.
 */
#include "calibrax/perf/sweep/pilot.h"

#include <math.h>

#include "calibrax/perf/sweep/stopping.h"
#include "calibrax/statistics/variance.h"

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

/* Launches that the goal needs: the most of any row. */
static size_t launches_needed(const cbx__session *s, cbx__plan *plan)
{
    size_t needed = 1;

    for (cbx__attempt *a = plan->attempts; a < plan->attempts + plan->count; a++) {
        const bool reference = a->baseline == s->opts->case_ops->baselines[0];
        if (!is_planned(a) || !(s->goal.half_width > 0)) continue;
        const double v = launch_variance(&a->pilot, a->epochs) +
                         (reference ? 0 : reference_variance(s, plan, a->platform));
        if (cbx_stat_launches_for(M_PI_2 * v, s->goal.half_width, LATE_LEVEL, &a->pilot.needed, NULL))
            a->pilot.needed = s->launches;
        if (a->pilot.needed > needed) needed = a->pilot.needed;
    }
    return needed;
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
    size_t needed = launches_needed(s, &p->plan);
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
    cbx_arena scratch;
    cbx_status st = CBX_OK;

    cbx_arena_init(&scratch, cbx_ctx_allocator(ctx));
    for (cbx__attempt *a = p->plan.attempts; a < p->plan.attempts + p->plan.count && !st; a++)
        if (cbx__attempt_alive(a)) st = cbx__pilot_read(&scratch, s, a, max_epochs, &a->pilot, err);
    cbx_arena_clear(&scratch);
    if (st) return st;
    if (cbx__stopping_by_goal(s)) return plan_for_goal(s, p, left, err);
    if (isfinite(left) && !s->opts->twins) plan_for_budget(s, p, left); /* twins stay alike */
    return CBX_OK;
}
