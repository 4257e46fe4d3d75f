/** Corrections of p-values over a table: beside Holm's (significance.h), which the gates use.
 *
 * All give adjusted p-values in the order of p, at most 1, monotone in p, ties alike: reject what
 * is adjusted to at most alpha. p holds m values in [0, 1], read only (CBX_EDOM otherwise);
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

CBX_END_DECLS
#endif
