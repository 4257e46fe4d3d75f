/* Inside the library: Mann-Whitney's test where many pairs of samples have the same sizes. */
#ifndef CALIBRAX_STATISTICS_WHITNEY_H
#define CALIBRAX_STATISTICS_WHITNEY_H

#include "calibrax/statistics/test.h"

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
void cbx__whitney_clear(cbx_ctx *ctx, cbx__whitney *kept);

#endif
