/**
 * The paired ratio of two attempts, as a row holds it.  Internal to perf.
 */
#ifndef CALIBRAX_PERF_PAIRING_H
#define CALIBRAX_PERF_PAIRING_H

#include "calibrax/storage/row.h"

/**
 * Fills `paired`, `verdict`, `pairs` and `paired_p` of a row from launch medians of the same rounds; see significance.h for the p-value.
 * @param mine, theirs  [s] n medians, all > 0, n >= 1
 */
cbx_status cbx__row_pair(cbx_ctx *ctx, const double *mine, const double *theirs, size_t n, double level, cbx_row *row,
                         cbx_err *err);

#endif
