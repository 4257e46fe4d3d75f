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

#endif
