/** Exact p-values of paired ratios, and their correction over a table. */
#ifndef CALIBRAX_STATISTICS_SIGNIFICANCE_H
#define CALIBRAX_STATISTICS_SIGNIFICANCE_H

#include <stddef.h>

#include "calibrax/base/ctx.h"

CBX_BEGIN_DECLS

/** Exact two-sided sign test that a median is where the caller split the sample: min(1, 2
 * P(Bin(below + above, 1/2) <= min(below, above))). Values on the split itself are counted in
 * neither.  Source: Conover, Practical Nonparametric Statistics, 3rd ed., section 3.4.
 * @return 0 < p <= 1; 1 without any value.  Allocates nothing.  Safe from any thread. */
CBX_API double cbx_stat_sign_test_p(size_t below, size_t above);

/** Exact test that a median lies outside (lower, upper), by two one-sided sign tests: the larger of
 * P(Bin(n, 1/2) <= number of x <= lower) and P(Bin(n, 1/2) <= number of x >= upper).  A small p
 * says equivalent.  Source: Schuirmann, J. Pharmacokinet. Biopharm. 15 (1987) 657.
 * @param x  n values, read only, any order
 * @return 0 < p <= 1; 1 for n = 0.  Allocates nothing.  Safe from any thread. */
CBX_API double cbx_stat_equivalence_p(const double *x, size_t n, double lower, double upper);

/** Holm's step-down adjustment: with p_(1) <= ... <= p_(m), adjusted p_(j) = max over i <= j of
 * min(1, (m - i + 1) p_(i)). Rejecting what is adjusted to at most alpha errs anywhere with
 * probability at most alpha, whatever the dependence. Source: Holm, Scand. J. Statist. 6 (1979)
 * 65-70.
 * @param p         m values in [0, 1], read only
 * @param adjusted  m values, in the order of p; must not overlap p
 * Allocates nothing; takes m^2 steps.  Safe from any thread. */
CBX_API void cbx_stat_holm(const double *p, size_t m, double *adjusted);

CBX_END_DECLS
#endif
