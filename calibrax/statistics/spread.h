/** Spread, stability and outliers.
 *
 * Samples are read only, in any order, finite.  Since 0.1.
 * @return of all: CBX_OK; CBX_EINVAL (no sample, an invalid threshold); CBX_EDOM (not finite);
 *   CBX_ENOMEM. */
#ifndef CALIBRAX_STATISTICS_SPREAD_H
#define CALIBRAX_STATISTICS_SPREAD_H

#include <stdbool.h>
#include <stddef.h>

#include "calibrax/base/ctx.h"

CBX_BEGIN_DECLS

/** Used where no threshold is given: below it a sample is called stable. */
#define CBX_STAT_STABLE_CV 0.10
/** Modified z-score beyond which a value is called an outlier. */
#define CBX_STAT_OUTLIER_SCORE 3.5

typedef struct cbx_variation {
    double mean, stddev; /* n - 1; 0 for n = 1 */
    double cv;           /* stddev / |mean|; 0 if both are 0, infinite for spread about a mean of 0 */
    bool stable;         /* n >= 2 and cv < threshold: one value does not show stability */
} cbx_variation;

/** Coefficient of variation and the rule of stability.  @param threshold  > 0; CBX_STAT_STABLE_CV
 * is usual.  Allocates nothing. */
CBX_API cbx_status cbx_stat_variation(const double *x, size_t n, double threshold, cbx_variation *out, cbx_err *err);

/** Outliers by the modified z-score 0.6745 (x - median) / MAD > threshold in size.  Where more than
 * half of the values are alike and the MAD is 0, the score is (x - median) / (1.253314 mean |x -
 * median|) instead.  Fewer than 3 values, or all alike: none. Source: Iglewicz & Hoaglin, How to
 * Detect and Handle Outliers, ASQC 1993.
 * @param mask   n entries, written on success
 * @param count  how many are set; may be NULL */
CBX_API cbx_status cbx_stat_outliers(cbx_ctx *ctx, const double *x, size_t n, double threshold, bool *mask,
                                     size_t *count, cbx_err *err);

/** Median absolute deviation from the median, times 1/0.6745 = 1.4826...: the standard deviation of
 * normal data. */
CBX_API cbx_status cbx_stat_mad(cbx_ctx *ctx, const double *x, size_t n, double *out, cbx_err *err);

/** Qn: 2.2191 times the C(h,2)-th smallest |x_i - x_j|, i < j, h = floor(n/2) + 1.  As robust as
 * the MAD, 82 % efficient instead of 37 %, and without a centre.  No small-sample factor.  0 for n
 * = 1.  O(n log n + 64 n). Source: Rousseeuw & Croux, J. Am. Stat. Assoc. 88 (1993) 1273-1283. */
CBX_API cbx_status cbx_stat_qn(cbx_ctx *ctx, const double *x, size_t n, double *out, cbx_err *err);

CBX_END_DECLS
#endif
