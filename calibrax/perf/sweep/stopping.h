/**
 * When a point needs no more launches.  Internal to perf.
 *
 * Without a goal every attempt is launched as often as asked.  With one, the rounds are looked at
 * 11, 16, 24 ... times (looks.h); at a look an attempt ends whose interval is narrow enough or, if
 * that is wanted, whose verdict is decided, and is launched no more; the reference goes on while
 * others need it.  The intervals of all looks hold together, so the level of a row holds although
 * the launches were watched.  Rows record why their launches ended (`stopped_because`):
 *
 *   asked      as many as were asked for
 *   precision  the interval of the paired ratio (of the reference: of its own median) is within the
 *              goal
 *   verdict    faster, slower or equivalent at the look's level
 *   plan       the last planned look, and the goal was not reached
 *   budget     the time was spent
 */
#ifndef CALIBRAX_PERF_SWEEP_STOPPING_H
#define CALIBRAX_PERF_SWEEP_STOPPING_H

#include "calibrax/perf/sweep/session.h"

/** Launches before the first look: the floor of a verdict. */
#define CBX__FIRST_LOOK 11

/** True if the session stops by a goal instead of a number. */
bool cbx__stopping_by_goal(const cbx__session *s);
/** Plans looks up to `last` rounds, at least one.  @return as cbx_looks_plan */
cbx_status cbx__stopping_plan(cbx__point *p, size_t last, cbx_err *err);
/**
 * Looks, if one is planned after the rounds that are complete: sets `ended`, `look` and
 * `stopped_because` of attempts whose goal is reached.
 * @return CBX_OK; CBX_ENOMEM
 */
cbx_status cbx__stopping_look(cbx_ctx *ctx, const cbx__session *s, cbx__point *p, cbx_err *err);
/** True once every round that was planned to be looked at has been. */
bool cbx__stopping_done(const cbx__point *p);
/** After the last round: what has not ended gets the interval of the last look, or of one more
 * here, and `why`. */
cbx_status cbx__stopping_end(cbx__point *p, const char *why, cbx_err *err);
/** Level of the intervals of an attempt: 0.95, or its look's. */
double cbx__stopping_level(const cbx__point *p, const cbx__attempt *a);

/* --- the pilot: variance and cost by the first launches, and the counts that follow ---
 *
 * Variance sits at levels: T_0^2 of an epoch (a batch of calls) within its launch, T_1^2 of
 * launches beyond what their epochs explain (one-way random effects, variance.h).  A launch costs
 * c_1 apart from its epochs, an epoch c_0.  For a time t the mean over n launches of r epochs has
 * the variance (T_1^2 + T_0^2 / r) / n with n (c_1 + r c_0) = t, which is least at
 *
 *   r = ceil(sqrt(c_1 / c_0 * T_0^2 / T_1^2))
 *
 * whatever t is.  Then n is what the goal needs (half width of the t interval at the level of a
 * late look, variance times pi / 2 because rows take medians) or what the budget allows, the
 * largest n over the rows of the table, which are launched in turns; each row has its own r.
 * Source: Kalibera & Jones, ISMM 2013, equations 3 and 5, with the variance estimators of the
 * corrected edition (Kent, 2012, section 9.2).
 *
 * Without a budget and without a goal nothing is changed: the pilot is only recorded.
 */

/** Launches of each attempt before the counts are final. */
#define CBX__PILOT_LAUNCHES 3
/** Most launches under a goal, where no number is given. */
#define CBX__MAX_LAUNCHES 200
/** Most epochs of a launch that the pilot chooses, where no number is given. */
#define CBX__MAX_EPOCHS 100

/** Cost of one launch that gave a time. */
cbx__cost cbx__launch_cost(const cbx__session *s, const cbx__launch *l);
/**
 * Variance and cost by the launches of an attempt so far; launches 0 where fewer than 2 gave a
 * time.
 * @param max_epochs  of the best number
 * @return CBX_OK; CBX_ENOMEM; CBX_EDOM
 */
cbx_status cbx__pilot_read(cbx_arena *arena, const cbx__session *s, const cbx__attempt *a, size_t max_epochs,
                           cbx__pilot *out, cbx_err *err);
/**
 * Fixes the counts of a point after its pilot: epochs of each attempt, rounds of all, looks where
 * there is a goal; `limit` is what decided.
 * @param spent_s  of the point's share (session.h) so far
 */
cbx_status cbx__pilot_plan(cbx_ctx *ctx, const cbx__session *s, cbx__point *p, double spent_s, cbx_err *err);

/** Epochs of the next launch of an attempt. */
size_t cbx__epochs_of(const cbx__point *p, const cbx__attempt *a);

#endif
