/** Exact p-values of paired ratios, and corrections of p-values over a table.
 *
 * All corrections give adjusted p-values in the order of p, at most 1, monotone in p, ties alike:
 * reject what is adjusted to at most alpha. p holds m values in [0, 1], read only (CBX_EDOM
 * otherwise);
 * adjusted must not overlap p.  m = 0 does nothing.
 * @return CBX_OK; CBX_EDOM; CBX_ENOMEM.  Safe from any thread with contexts of their own.  Since
 *   0.1. */
#ifndef CALIBRAX_STATISTICS_MULTIPLICITY_H
#define CALIBRAX_STATISTICS_MULTIPLICITY_H

#include <stddef.h>

#include "calibrax/base/ctx.h"

CBX_BEGIN_DECLS

typedef enum cbx_correction {
    CBX_CORRECTION_BONFERRONI, /* m p: no error anywhere, any dependence; Holm's is never worse */
    CBX_CORRECTION_HOLM,       /* step down; the same values as cbx_stat_holm, in O(m log m) */
    CBX_CORRECTION_HOCHBERG,   /* step up: independent or positively dependent tests; Biometrika 75 (1988) 800 */
    CBX_CORRECTION_HOMMEL,     /* closed Simes tests, never worse than Hochberg; Biometrika 75 (1988) 383; O(m^2) */
    CBX_CORRECTION_BENJAMINI_HOCHBERG, /* false discovery rate, as Hochberg; J. R. Stat. Soc. B 57 (1995) 289 */
    CBX_CORRECTION_BENJAMINI_YEKUTIELI /* false discovery rate, any dependence; Ann. Stat. 29 (2001) 1165 */
} cbx_correction;

CBX_API cbx_status cbx_stat_adjust(cbx_ctx *ctx, cbx_correction correction, const double *p, size_t m, double *adjusted,
                                   cbx_err *err);
/** "holm", "benjamini-hochberg", ...; NULL for a number outside the list. */
CBX_API const char *cbx_correction_name(cbx_correction correction);

/* ---- sign tests, and the correction that the gates use ---- */

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
