/** Planned looks at a growing sample of pairs, with exact sign tests: a group-sequential design.
 *
 * A look after n_j pairs excludes 1 where the two-sided sign test's p is at most scale * weight_j,
 * which is the same as leaving 1 out of the order-statistic interval at level 1 - scale * weight_j
 * (estimate.h).  Under the null the number of pairs below 1 is a fair random walk, whatever the
 * distribution, so the chance that any look errs is a sum over paths that is computed to the last
 * bit; `scale` is the largest number for which it is at most alpha.  The intervals of all looks
 * hold together at 1 - alpha (repeated confidence intervals), so that one may stop at any look for
 * any reason: a narrow interval, a decided verdict, the wish to go home. Weights grow as the fourth
 * root of n_j, between Pocock's equal ones and O'Brien & Fleming's, so that a first look at 11
 * pairs can decide in a design that may go on to thousands (the boundary family of Wang & Tsiatis,
 * Biometrics 43 (1987) 193-199).
 *
 * Sources: Jennison & Turnbull, J. R. Stat. Soc. B 51 (1989) 305-361, for repeated intervals and
 * p-values; Pocock, Biometrika 64 (1977) 191-199; the walk: Armitage, McPherson & Rowe, J. R. Stat.
 * Soc. A 132 (1969) 235-244. Allocates nothing.  Safe from any thread.  Since 0.1. */
#ifndef CALIBRAX_STATISTICS_LOOKS_H
#define CALIBRAX_STATISTICS_LOOKS_H

#include <stddef.h>

#include "calibrax/base/ctx.h"

CBX_BEGIN_DECLS

#define CBX_LOOKS_MAX   12
#define CBX_LOOKS_PAIRS 10000 /* most pairs at the last look */

typedef struct cbx_looks {
    size_t count;
    size_t pairs[CBX_LOOKS_MAX]; /* at each look, ascending */
    double weight[CBX_LOOKS_MAX];
    double scale; /* level of look j: 1 - scale * weight[j] */
    double alpha; /* asked for: chance that any look errs */
    double error; /* what it is, <= alpha */
} cbx_looks;

/** Looks at first, then at half as many pairs more each time (more than that where a dozen looks
 * would not reach), and at last.
 * @param first  >= 1; look 0
 * @param last   first <= last <= CBX_LOOKS_PAIRS; last == first: one look, the plain test
 * @param alpha  0 < alpha < 1
 * @return CBX_OK; CBX_EINVAL.  `out` is written on success only */
CBX_API cbx_status cbx_looks_plan(size_t first, size_t last, double alpha, cbx_looks *out, cbx_err *err);
/** Ends a design early, because time or money ran out: the looks after the first `done` are
 * replaced by one at `pairs`, which spends all that is left.  Exact where the number of pairs does
 * not depend on which side they fell.
 * @param done   looks that were taken
 * @param pairs  more than those of the last look taken, at most CBX_LOOKS_PAIRS
 * @return CBX_OK; CBX_EINVAL: the design is as before */
CBX_API cbx_status cbx_looks_end(cbx_looks *l, size_t done, size_t pairs, cbx_err *err);
/** Level of the interval to compute at look j < count, below 1.  So few pairs may have no interval
 * at it (see estimate.h). */
CBX_API double cbx_looks_level(const cbx_looks *l, size_t j);
/** The repeated p-value: the least alpha at which a design of these looks would have excluded 1 at
 * look j.  Valid whichever look it is taken at: P(p <= u at any look) <= u under the null.
 * @param p  two-sided sign test's p at look j */
CBX_API double cbx_looks_p(const cbx_looks *l, size_t j, double p);

CBX_END_DECLS
#endif
