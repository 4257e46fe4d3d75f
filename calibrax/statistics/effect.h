/** Effect sizes, signed (positive: x is larger), with intervals.
 *
 * Standardised mean differences assume normal data; Cliff's delta and the Vargha-Delaney A assume
 * nothing and are what a table of timings should show.  Without any spread a mean difference is
 * infinite in its direction (0 for equal means) and its interval is that point, level as asked
 * for.  Samples are read only, finite.  Since 0.1.
 *
 * @param level  of the interval, 0 < level < 1
 * @return of all: CBX_OK; CBX_EINVAL (a sample too small, level); CBX_EDOM (not finite);
 *   CBX_ENOMEM. */
#ifndef CALIBRAX_STATISTICS_EFFECT_H
#define CALIBRAX_STATISTICS_EFFECT_H

#include "calibrax/statistics/estimate.h"

CBX_BEGIN_DECLS

/** Cohen's d = (mean x - mean y) / s, s^2 pooled over n + m - 2.  n, m >= 2. Interval: noncentral
 * t, exact for normal data of equal variance; where the noncentrality exceeds 37, d -+ z
 * sqrt((n+m)/(nm) + d^2/(2(n+m))). Source: Cohen (1988), section 2.2; Steiger & Fouladi (1997).
 * Allocates nothing. */
CBX_API cbx_status cbx_stat_cohen_d(const double *x, size_t n, const double *y, size_t m, double level,
                                    cbx_interval *out, cbx_err *err);
/** Hedges' g = J d without the bias of small samples, J = Gamma(f/2) / (sqrt(f/2) Gamma((f-1)/2)),
 * f = n + m - 2; interval of d times J. Source: Hedges, J. Educ. Stat. 6 (1981) 107-128. */
CBX_API cbx_status cbx_stat_hedges_g(const double *x, size_t n, const double *y, size_t m, double level,
                                     cbx_interval *out, cbx_err *err);
/** Glass's delta: (mean x - mean y) / sd of y, the control.  n >= 1, m >= 2.  Interval: delta -+ z
 * sqrt(1/n + 1/m + delta^2 / (2(m-1))). */
CBX_API cbx_status cbx_stat_glass_delta(const double *x, size_t n, const double *y, size_t m, double level,
                                        cbx_interval *out, cbx_err *err);
/** Pairs: mean(x - y) / sd(x - y), d_z.  n >= 2.  Interval: noncentral t with n - 1 degrees of
 * freedom. */
CBX_API cbx_status cbx_stat_paired_d(cbx_ctx *ctx, const double *x, const double *y, size_t n, double level,
                                     cbx_interval *out, cbx_err *err);
/** Vargha-Delaney A = P(x > y) + P(x = y)/2; 1/2: no effect.  n, m >= 1.  O((n + m) log(n + m)).
 * Interval: Newcombe's method 5, all theta with |A - theta| <= z sqrt(theta (1-theta) (1 + h
 * (1-theta)/(2-theta) + h theta/(1+theta)) / (n m)), h = (n + m)/2 - 1; inside [0, 1] and of
 * positive width for samples that do not overlap, too. Source: Vargha & Delaney, J. Educ. Behav.
 * Stat. 25 (2000) 101-132; Newcombe, Stat. Med. 25 (2006) 559-573. */
CBX_API cbx_status cbx_stat_vargha_delaney(cbx_ctx *ctx, const double *x, size_t n, const double *y, size_t m,
                                           double level, cbx_interval *out, cbx_err *err);
/** Cliff's delta = P(x > y) - P(x < y) = 2 A - 1, interval likewise.  Source: Cliff, Psychol. Bull.
 * 114 (1993) 494-509. */
CBX_API cbx_status cbx_stat_cliff_delta(cbx_ctx *ctx, const double *x, size_t n, const double *y, size_t m,
                                        double level, cbx_interval *out, cbx_err *err);

CBX_END_DECLS
#endif
