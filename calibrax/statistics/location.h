/** Estimators of location that a wild sample moves little or not at all, means of rates and ratios,
 * and pairwise medians.
 *
 * Samples are read only, in any order, finite.  Since 0.1.
 * @return of all: CBX_OK; CBX_EINVAL (no sample, a share or level out of range); CBX_EDOM (not
 *   finite, or not > 0 where said);
 * CBX_ENOMEM.  `out` is written on success only; err may be NULL. */
#ifndef CALIBRAX_STATISTICS_LOCATION_H
#define CALIBRAX_STATISTICS_LOCATION_H

#include "calibrax/statistics/estimate.h"

CBX_BEGIN_DECLS

/** Arithmetic mean and standard deviation (n - 1; 0 for n = 1) about the first value: 10^9 +- 50
 * loses nothing.  Allocates nothing.
 * @param mean, stddev  each may be NULL */
CBX_API cbx_status cbx_stat_mean(const double *x, size_t n, double *mean, double *stddev, cbx_err *err);
/** exp(mean log x): of ratios, where one must average them.  Every x > 0. */
CBX_API cbx_status cbx_stat_geometric_mean(const double *x, size_t n, double *out, cbx_err *err);
/** n / sum(1/x): of rates over equal work.  Every x > 0. */
CBX_API cbx_status cbx_stat_harmonic_mean(const double *x, size_t n, double *out, cbx_err *err);
/** Mean without the floor(cut n) smallest and as many largest.  @param cut  0 <= cut < 1/2.
 * Source: Tukey & McLaughlin, Sankhya 25 (1963). */
CBX_API cbx_status cbx_stat_trimmed_mean(cbx_ctx *ctx, const double *x, size_t n, double cut, double *out,
                                         cbx_err *err);
/** Mean with those pulled in to the nearest value that is kept. */
CBX_API cbx_status cbx_stat_winsorized_mean(cbx_ctx *ctx, const double *x, size_t n, double cut, double *out,
                                            cbx_err *err);

/** Hodges-Lehmann: median of the n (n+1)/2 averages of two (x_i + x_j)/2, i <= j, with the interval
 * that the signed-rank test gives. Takes O(n log n + 64 n): values are found by bisection over the
 * order of doubles, pairs are counted, not made. The level is exact for symmetric distributions up
 * to n = 200; beyond, ranks are the normal approximation's and level the one asked for. Source:
 * Hodges & Lehmann, Ann. Math. Statist. 34 (1963) 598-611; Hollander & Wolfe, section 3. */
CBX_API cbx_status cbx_stat_hodges_lehmann(cbx_ctx *ctx, const double *x, size_t n, double level, cbx_interval *out,
                                           cbx_err *err);
/** Shift of x over y: median of all x_i - y_j, interval of the Mann-Whitney test (exact up to n + m
 * = 100).  O((n + m) (log + 64)). */
CBX_API cbx_status cbx_stat_hodges_lehmann_shift(cbx_ctx *ctx, const double *x, size_t n, const double *y, size_t m,
                                                 double level, cbx_interval *out, cbx_err *err);

CBX_END_DECLS
#endif
