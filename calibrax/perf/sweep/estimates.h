/**
 * What the launches of an attempt say beside their median, into the row's typed fields.  Internal
 * to perf.
 *
 *   modes            groups of launch medians that stand apart (series.h), each with its share
 *   steady_state     launches by class: flat, warm-up, slowdown, no steady state (steady.h); epochs
 *                    measured, and those before the steady state, which count for nothing else
 *   detectable       the least slow-down that as many launches a side would show with power 0.9 at
 *                    5 % (variance.h)
 *   compile, compile_warm, first_call, memory, device_memory, call_overhead, energy, error medians
 *                    over launches with their order-statistic intervals at 95 %, or the reason why
 *                    it is missing
 *
 * What cannot be said of so few launches is absent.
 */
#ifndef CALIBRAX_PERF_SWEEP_ESTIMATES_H
#define CALIBRAX_PERF_SWEEP_ESTIMATES_H

#include "calibrax/perf/sweep/plan.h"
#include "calibrax/perf/sweep/session.h"
#include "calibrax/statistics/interval.h"
#include "calibrax/storage/row.h"

/* --- the paired ratio of two attempts, as a row holds it --- */

/** As a row has it: too few launches have no bounds, and a reason, instead of an endless
 * interval. */
cbx_row_interval cbx__row_interval(const cbx_interval *iv, const char **reason);
/**
 * Fills `paired`, `verdict`, `pairs` and `paired_p` of a row from launch medians of the same
 * rounds; see statistics/multiplicity.h for the p-value.
 * @param mine, theirs  [s] n medians, all > 0, n >= 1
 */
cbx_status cbx__row_pair(cbx_ctx *ctx, const double *mine, const double *theirs, size_t n, double level, cbx_row *row,
                         cbx_err *err);

/**
 * Launch medians of the rounds that both attempts have, in order; of a round that was repeated, the
 * last that went well.
 * @param mine, theirs  as many elements as either has rounds; a == rival is fine, and gives its own
 *   medians twice
 * @return how many
 */
size_t cbx__pair_rounds(const cbx__attempt *a, const cbx__attempt *rival, double *mine, double *theirs);

/** All of it; arrays live in the arena.  @return CBX_OK; CBX_ENOMEM */
cbx_status cbx__estimates_put(cbx_ctx *ctx, cbx_arena *arena, const cbx__attempt *a, cbx_row *row, cbx_err *err);
/** The error over its bound, also of an attempt whose answers are wrong. */
cbx_status cbx__estimates_put_error(cbx_ctx *ctx, cbx_arena *arena, const cbx__attempt *a, cbx_row *row, cbx_err *err);
/** Of provenance: the share of the variance of launch medians that goes with the offset within a
 * page which environment, stack and heap were shifted by: one-way components over eight bins
 * (variance.h).  @return owned; NULL with fewer than 24 launches, or without memory */
cbx_json *cbx__estimates_layout(cbx_arena *arena, const cbx__attempt *a);

#endif
