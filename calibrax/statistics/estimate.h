/** Estimators of location and spread, exact order-statistic intervals, paired ratios. */
#ifndef CALIBRAX_STATISTICS_ESTIMATE_H
#define CALIBRAX_STATISTICS_ESTIMATE_H

#include <stddef.h>

#include "calibrax/base/ctx.h"

CBX_BEGIN_DECLS

/** A point with its interval; level is the level really achieved (>= the one asked for), 0 if no
 * interval exists. */
typedef struct cbx_interval {
    double value, lower, upper;
    /* achieved coverage, for instance 0.96875; 0: too few samples, lower = -inf and upper = +inf */
    double level;
} cbx_interval;

/** What a table shows of a sample; all in the sample's unit. */
typedef struct cbx_summary {
    size_t n;
    double min, max, mean, median, p25, p75, p95, p99;
    double stddev; /* n-1; 0 for n = 1 */
    double mad;    /* 1.4826 * median |t - median| */
} cbx_summary;

/** Smallest, quantiles (linear interpolation, Hyndman & Fan type 7, NumPy's default), mean and
 * spread taken about the first value, so that nanosecond clocks lose no digit of them. Samples must
 * be finite.  @return CBX_OK; CBX_EINVAL (n = 0); CBX_EDOM (not finite); CBX_ENOMEM */
CBX_API cbx_status cbx_stat_summary(cbx_ctx *ctx, const double *x, size_t n, cbx_summary *out, cbx_err *err);
/** Median; x is not changed.  @return as cbx_stat_summary */
CBX_API cbx_status cbx_stat_median(cbx_ctx *ctx, const double *x, size_t n, double *out, cbx_err *err);
/** Type-7 quantile of sorted data, p in [0,1], n >= 1.  Allocates nothing. */
CBX_API double cbx_stat_quantile_sorted(const double *sorted, size_t n, double p);
/** Sorts ascending, NaN last.  Allocates nothing. */
CBX_API void cbx_stat_sort(double *x, size_t n);

/** Exact interval of the median from order statistics: [x_(r), x_(n+1-r)] with the largest r for
 * which P(Bin(n, 1/2) < r) * 2 <= 1 - level.  No assumption on the distribution; ties make it
 * conservative. Source: David & Nagaraja, Order Statistics, 3rd ed., section 7.1.  95 % needs n >=
 * 6, 99 % needs n >= 8.
 * @param level  0 < level < 1 */
CBX_API cbx_status cbx_stat_median_interval(cbx_ctx *ctx, const double *x, size_t n, double level, cbx_interval *out,
                                            cbx_err *err);

/** Interval of the median at the level asked for, between two order-statistic intervals: with r as
 * above, attained level c_r and c_(r+1) of the next narrower one, the ends are (1 - w) x_(r) + w
 * x_(r+1) and its mirror image, w = (n - r) i / (r + (n - 2r) i), i = (c_r - level) / (c_r -
 * c_(r+1)).  Exact for no distribution, and within 1.5 % of the level for normal and log-normal
 * data from n = 5 on; where the attained level of cbx_stat_median_interval does as well, that one
 * assumes nothing. Source: Hettmansperger & Sheather, Statistics & Probability Letters 4 (1986)
 * 75-79.
 * @param out  level is the one asked for; 0, and endless, where cbx_stat_median_interval has none
 *   either */
CBX_API cbx_status cbx_stat_median_interpolated(cbx_ctx *ctx, const double *x, size_t n, double level,
                                                cbx_interval *out, cbx_err *err);

/** Ratio of paired samples: median of a_i / b_i with the order-statistic interval of those
 * quotients (all a_i, b_i > 0). Medians and order statistics commute with log, so this is the
 * median log-ratio of the pairs, read back. */
CBX_API cbx_status cbx_stat_paired_ratio(cbx_ctx *ctx, const double *a, const double *b, size_t n, double level,
                                         cbx_interval *out, cbx_err *err);

/** P(Bin(n, 1/2) <= k), exact to double rounding for n <= 10^6; 0 for k < 0. */
CBX_API double cbx_stat_binomial_half_cdf(long k, unsigned long n);

CBX_END_DECLS
#endif
