/** Values in the order in which they came: autocorrelation, effective sample size, batch means,
 * tests of randomness, modes.
 *
 * Epochs of one launch depend on each other; these functions measure how much; a p-value over
 * epochs would be wrong.  Series are read only, finite.  A constant series has autocorrelation 0,
 * full effective size, and every p is 1.  Since 0.1.
 * @return of all: CBX_OK; CBX_EINVAL (too short, options); CBX_EDOM (not finite); CBX_ENOMEM. */
#ifndef CALIBRAX_STATISTICS_SERIES_H
#define CALIBRAX_STATISTICS_SERIES_H

#include "calibrax/statistics/estimate.h"
#include "calibrax/statistics/test.h"

CBX_BEGIN_DECLS

/** r_k = sum (x_t - mean)(x_{t+k} - mean) / sum (x_t - mean)^2 for k = 0 .. lags, lags < n.
 * Constant: 1, 0, 0, ...  O(n lags).
 * @param r  lags + 1 values.  Source: Box & Jenkins, Time Series Analysis, section 2.1.  Allocates
 *   nothing. */
CBX_API cbx_status cbx_stat_autocorrelation(const double *x, size_t n, size_t lags, double *r, cbx_err *err);

/** n / (1 + 2 sum r_k), the sum by Geyer's initial monotone sequence of pairs r_2k + r_{2k+1};
 * between 1 and n. Source: Geyer, Statist. Sci. 7 (1992) 473-483, section 3.3.  O(n k) with k where
 * the pairs end.  Allocates nothing. */
CBX_API cbx_status cbx_stat_effective_size(const double *x, size_t n, double *out, cbx_err *err);

/** Interval of a dependent series' mean: t interval over the means of equal batches; what does not
 * fill a batch is left out at the start.
 * @param batches  2 <= batches <= n; 0: floor(sqrt n), at least 2
 * Source: Alexopoulos & Seila, in Handbook of Simulation (1998), section 7.3. */
CBX_API cbx_status cbx_stat_batch_means(cbx_ctx *ctx, const double *x, size_t n, size_t batches, double level,
                                        cbx_interval *out, cbx_err *err);

/** Von Neumann's ratio sum (x_{i+1} - x_i)^2 / sum (x_i - mean)^2: near 2 for independent values,
 * near 0 for drift.  Constant: 2.  n >= 2. */
CBX_API cbx_status cbx_stat_von_neumann(const double *x, size_t n, double *out, cbx_err *err);

/** Bartels' test: von Neumann's ratio of the ranks, near 2 for a random order; p_less is small for
 * values that follow their neighbours (drift, positive dependence), p_greater for alternating
 * ones.  Normal approximation with variance 4 (n-2)(5n^2-2n-9) / (5n(n+1)(n-1)^2); n >= 4.  Source:
 * Bartels, J. Am. Stat. Assoc. 77 (1982) 40-46. */
CBX_API cbx_status cbx_stat_test_order(cbx_ctx *ctx, const double *x, size_t n, cbx_test *out, cbx_err *err);

/** Runs above and below the median (values equal to it count as above): statistic z of the number
 * of runs.  p_less: too few runs. Exact counts of arrangements up to n = 200 unless mode is
 * CBX_TEST_NORMAL, which has no continuity correction. All on one side: statistic 0, every p is 1.
 * Source: Wald & Wolfowitz, Ann. Math. Statist. 11 (1940) 147-162. */
CBX_API cbx_status cbx_stat_test_runs(cbx_ctx *ctx, const double *x, size_t n, cbx_test_mode mode, cbx_test *out,
                                      cbx_err *err);

/** Values that lie together, apart from all others. */
typedef struct cbx_mode {
    double center, low, high; /* median, smallest, largest */
    size_t count;
    double share; /* of all values */
} cbx_mode;

#define CBX_MODES_RESOLUTION 0.001

/** Modes of launch values, ascending: the sorted values (their logarithms if all are > 0) are split
 * where the gap to the next exceeds 3 scales, or 6 where fewer than 3 values would be alone on
 * the outer side; scale is the larger of Qn (spread.h) and `resolution`. Nothing is called an
 * outlier: one launch far away is a mode of one.  Finds modes that stand apart, not ones that
 * overlap.
 * @param resolution  relative (absolute where a value is <= 0), of gaps that split; >= 0;
 *   CBX_MODES_RESOLUTION
 * @param modes       `capacity` of them are written at most; more are counted and not written
 * @param count       modes there are, >= 1 */
CBX_API cbx_status cbx_stat_modes(cbx_ctx *ctx, const double *x, size_t n, double resolution, cbx_mode *modes,
                                  size_t capacity, size_t *count, cbx_err *err);

#define CBX_DIP_DRAWS 2000

/** Hartigan's dip test: are the values of one mode?  Also sees modes that overlap, which
 * cbx_stat_modes does not, and needs more values for it.  statistic: the least over distributions
 * with one mode of the largest difference from the sample's, in [1/(2n), 1/4]; p: the share of
 * uniform samples of n that dip as far, (1 + as far) / (1 + draws), which for other distributions
 * with one mode is too large rather than too small.  p_less is 1.  Fewer than 4 values, or all
 * alike: the least dip, p = 1. Source: Hartigan & Hartigan, Ann. Statist. 13 (1985) 70-84.
 * @param n      1 to 10^6
 * @param draws  uniform samples, 1 to 10^7; CBX_DIP_DRAWS
 * @param seed   of the draws; the same seed gives the same p on every machine */
CBX_API cbx_status cbx_stat_test_dip(cbx_ctx *ctx, const double *x, size_t n, size_t draws, uint64_t seed,
                                     cbx_test *out, cbx_err *err);

/* ---- trend ---- */

#define CBX_SLOPE_MAX 2000 /* values of a series: all pairs are made */

/** Theil-Sen: the median of (x_j - x_i) / (j - i), i < j, with the interval that Kendall's test
 * gives: the quotients of rank (N -+ z sqrt(inflation var S)) / 2 of N = n (n-1) / 2, var S = (n
 * (n-1) (2n+5) - sum t (t-1) (2t+5)) / 18 over groups of t equal values. An end that no quotient
 * bounds at the level is infinite. Sources: Sen, J. Am. Stat. Assoc. 63 (1968) 1379-1389; for
 * series whose values depend on each other, inflation n / n_eff: Yue & Wang, Water Resour. Manage.
 * 18 (2004) 201-218.
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
