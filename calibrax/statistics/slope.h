/** The trend of a series: the change per step, by an estimator that outliers move little. */
#ifndef CALIBRAX_STATISTICS_SLOPE_H
#define CALIBRAX_STATISTICS_SLOPE_H

#include "calibrax/statistics/estimate.h"

CBX_BEGIN_DECLS

#define CBX_SLOPE_MAX 2000 /* values of a series: all pairs are made */

/** Theil-Sen: the median of (x_j - x_i) / (j - i), i < j, with the interval that Kendall's test
 * gives: the quotients of rank (N -+ z sqrt(inflation var S)) / 2 of N = n (n-1) / 2, var S = (n (n-1)
 * (2n+5) - sum t (t-1) (2t+5)) / 18 over groups of t equal values. An end that no quotient bounds
 * at the level is infinite. Sources: Sen, J. Am. Stat. Assoc. 63 (1968) 1379-1389; for series whose
 * values depend on each other, inflation n / n_eff: Yue & Wang, Water Resour. Manage. 18 (2004)
 * 201-218.
 *
 * @param x          n values in order, finite; read only; 2 <= n <= CBX_SLOPE_MAX
 * @param inflation  of the variance, 1 for independent values; >= 1
 * @param level      in (0, 1)
 * @param out        per step; level is the one asked for
 * @return CBX_OK; CBX_EINVAL; CBX_EDOM (not finite); CBX_ENOMEM.  O(n^2 log n).  Since 0.1. */
CBX_API cbx_status cbx_stat_theil_sen(cbx_ctx *ctx, const double *x, size_t n, double inflation, double level,
                                      cbx_interval *out, cbx_err *err);

CBX_END_DECLS
#endif
