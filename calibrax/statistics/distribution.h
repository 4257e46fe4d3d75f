/** Distributions: normal, Student t (central and not), F, chi-square, beta, binomial.
 *
 * cdf = P(X <= x); sf = P(X > x), computed apart, so that a small tail keeps its digits; quantile =
 * smallest x with cdf >= p; isf = smallest x with sf <= q, the quantile of 1 - q without the loss
 * of writing 1 - q. Accuracy: within 1e-10 of SciPy 1.17 (relative, both tails down to 1e-250) for
 * parameters from 0.1 to 10^5. The incomplete beta and gamma functions are libnifticdf's, the
 * inverses are our own Newton steps on the logarithm of the smaller tail, the normal distribution
 * is the C library's erfc and Wichura's inverse. Sources: Abramowitz & Stegun, chapter 26; Wichura,
 * Appl. Statist. 37 (1988) 477-484, AS 241; Lenth, Appl. Statist. 38 (1989) 185-189, AS 243.
 *
 * A parameter outside its domain or a NaN gives NaN; x outside the support gives 0 or 1; p = 0 and
 * 1 give the ends of the support. Nothing is allocated.  Safe from any thread (one lock inside).
 * Since 0.1. */
#ifndef CALIBRAX_STATISTICS_DISTRIBUTION_H
#define CALIBRAX_STATISTICS_DISTRIBUTION_H

#include "calibrax/base/api.h"

CBX_BEGIN_DECLS

CBX_API double cbx_stat_normal_cdf(double z);
CBX_API double cbx_stat_normal_sf(double z);
CBX_API double cbx_stat_normal_quantile(double p);
CBX_API double cbx_stat_normal_isf(double q);

/** @param df  degrees of freedom > 0; infinite: the normal distribution */
CBX_API double cbx_stat_t_cdf(double t, double df);
CBX_API double cbx_stat_t_sf(double t, double df);
CBX_API double cbx_stat_t_quantile(double p, double df);
CBX_API double cbx_stat_t_isf(double q, double df);

/** @param df  > 0, finite */
CBX_API double cbx_stat_chi2_cdf(double x, double df);
CBX_API double cbx_stat_chi2_sf(double x, double df);
CBX_API double cbx_stat_chi2_quantile(double p, double df);
CBX_API double cbx_stat_chi2_isf(double q, double df);

/** @param df1, df2  of numerator and denominator, > 0, finite */
CBX_API double cbx_stat_f_cdf(double f, double df1, double df2);
CBX_API double cbx_stat_f_sf(double f, double df1, double df2);
CBX_API double cbx_stat_f_quantile(double p, double df1, double df2);
CBX_API double cbx_stat_f_isf(double q, double df1, double df2);

/** @param a, b  shapes > 0, finite */
CBX_API double cbx_stat_beta_cdf(double x, double a, double b);
CBX_API double cbx_stat_beta_sf(double x, double a, double b);
CBX_API double cbx_stat_beta_quantile(double p, double a, double b);
CBX_API double cbx_stat_beta_isf(double q, double a, double b);

/** Successes among n tries of chance p.  @param n  whole, 0 <= n <= 10^9; k is rounded down.
 * @param p  in [0, 1] */
CBX_API double cbx_stat_binomial_cdf(double k, double n, double p);
CBX_API double cbx_stat_binomial_sf(double k, double n, double p);
CBX_API double cbx_stat_binomial_quantile(double u, double n, double p);

/** Student t whose numerator has mean delta, for power: P((Z + delta) / sqrt(V / df) <= t).
 * Absolute error below 1e-11.
 * @param delta  |delta| <= 37; NaN beyond */
CBX_API double cbx_stat_noncentral_t_cdf(double t, double df, double delta);

CBX_END_DECLS
#endif
