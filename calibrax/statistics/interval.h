/** Intervals with a formula: mean, standard deviation, any quantile, proportions.  For whatever has
 * none: bootstrap.h.
 *
 * Samples are read only, in any order, finite.  A constant sample gives its value as both ends.
 * Since 0.1.
 * @param level  0 < level < 1
 * @return of all: CBX_OK; CBX_EINVAL (a sample too small, level, p); CBX_EDOM (not finite);
 *   CBX_ENOMEM. */
#ifndef CALIBRAX_STATISTICS_INTERVAL_H
#define CALIBRAX_STATISTICS_INTERVAL_H

#include "calibrax/statistics/estimate.h"

CBX_BEGIN_DECLS

/** Student's t: mean -+ t sd / sqrt n.  Exact for normal data.  n = 1: level 0, endless.  Allocates
 * nothing. */
CBX_API cbx_status cbx_stat_mean_interval(const double *x, size_t n, double level, cbx_interval *out, cbx_err *err);
/** Of the standard deviation, by chi-square: sd sqrt((n-1) / q).  Exact for normal data, and for no
 * other.  n = 1: level 0. */
CBX_API cbx_status cbx_stat_stddev_interval(const double *x, size_t n, double level, cbx_interval *out, cbx_err *err);

/** Of the p-quantile, from order statistics: [x_(l), x_(u)] with the largest l for which P(Bin(n,
 * p) < l) <= (1 - level)/2 and the smallest u for which P(Bin(n, p) >= u) <= (1 - level)/2.  No
 * assumption on the distribution.  value is the type-7 quantile. Where one rank does not exist,
 * that end is infinite; level is the coverage attained, P(l <= Bin < u); 0 if both are missing.
 * Source: David & Nagaraja, Order Statistics, 3rd ed., section 7.1.
 * @param p  0 < p < 1 */
CBX_API cbx_status cbx_stat_quantile_interval(cbx_ctx *ctx, const double *x, size_t n, double p, double level,
                                              cbx_interval *out, cbx_err *err);

/** Of a proportion, k of n: Clopper & Pearson's, whose coverage is never below the level
 * (Biometrika 26 (1934) 404-413). n = 0: [0, 1], value 1/2.  @param k  k <= n.  Allocates nothing.
 */
CBX_API cbx_status cbx_stat_proportion_interval(size_t k, size_t n, double level, cbx_interval *out, cbx_err *err);

CBX_END_DECLS
#endif
