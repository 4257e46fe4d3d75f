/**
 * The paired ratio of two attempts, as a row holds it.  Internal to perf.
 */
#ifndef CALIBRAX_PERF_SWEEP_PAIRING_H
#define CALIBRAX_PERF_SWEEP_PAIRING_H

#include "calibrax/perf/sweep/plan.h"
#include "calibrax/statistics/interval.h"
#include "calibrax/storage/row.h"

/** As a row has it: too few launches have no bounds, and a reason, instead of an endless
 * interval. */
cbx_row_interval cbx__row_interval(const cbx_interval *iv, const char **reason);
/**
 * Fills `paired`, `verdict`, `pairs` and `paired_p` of a row from launch medians of the same
 * rounds; see significance.h for the p-value.
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

#endif
