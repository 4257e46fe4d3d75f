/* Inside the library: ranks at which exact rank intervals and tests decide, and Mann-Whitney's test
 * of many pairs of samples with the same sizes. */
#ifndef CALIBRAX_STATISTICS_RANK_INTERNAL_H
#define CALIBRAX_STATISTICS_RANK_INTERNAL_H

#include "calibrax/statistics/test.h"

/** Largest r with 2 P(S < r) <= 1 - level, and 1 - 2 P(S < r); both 0 if no r has it.  S:
 * Wilcoxon's sum over ranks 1..n. */
cbx_status cbx__signed_rank_limit(cbx_ctx *ctx, size_t n, double level, double *rank, double *achieved, cbx_err *err);
/** The same of Mann-Whitney's U of n and m values without ties. */
cbx_status cbx__shift_limit(cbx_ctx *ctx, size_t n, size_t m, double level, double *rank, double *achieved,
                            cbx_err *err);

/** The exact counts of one pair of sizes without ties, kept for the next test of such a pair; all
 * 0: none yet. */
typedef struct cbx__whitney {
    size_t k, m, length;
    double *upto; /* of U <= u: integers below 2^53 */
} cbx__whitney;

/** cbx_stat_test_mann_whitney, to the last bit.  @param kept  may be NULL; cleared with
 * cbx__whitney_clear */
cbx_status cbx__mann_whitney(cbx_ctx *ctx, const double *x, size_t n, const double *y, size_t m, cbx_test_mode mode,
                             cbx__whitney *kept, cbx_test *out, cbx_err *err);
void cbx__whitney_clear(cbx__whitney *kept);

#endif
