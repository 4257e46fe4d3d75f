/* Inside statistics: ranks at which exact rank intervals and tests stand. */
#ifndef CALIBRAX_STATISTICS_RANK_LIMITS_H
#define CALIBRAX_STATISTICS_RANK_LIMITS_H

#include "calibrax/base/ctx.h"

/** Largest r with 2 P(S < r) <= 1 - level, and 1 - 2 P(S < r); both 0 if no r has it.  S:
 * Wilcoxon's sum over ranks 1..n. */
cbx_status cbx__signed_rank_limit(cbx_ctx *ctx, size_t n, double level, double *rank, double *achieved, cbx_err *err);
/** The same of Mann-Whitney's U of n and m values without ties. */
cbx_status cbx__shift_limit(cbx_ctx *ctx, size_t n, size_t m, double level, double *rank, double *achieved,
                            cbx_err *err);

#endif
