/** The one verdict engine: what an interval of a ratio says.
 *
 * A ratio is candidate over reference of a cost (time): below 1 the candidate is faster.
 * equivalent: the whole interval lies within [1/(1+margin), 1+margin] (two one-sided tests;
 * Schuirmann 1987); otherwise faster: upper < 1; slower: lower > 1; else undecided.  An interval
 * without a level is undecided. */
#ifndef CALIBRAX_ANALYSIS_VERDICT_H
#define CALIBRAX_ANALYSIS_VERDICT_H

#include <stdbool.h>

#include "calibrax/statistics/estimate.h"

CBX_BEGIN_DECLS

typedef enum cbx_verdict {
    CBX_VERDICT_UNDECIDED,
    CBX_VERDICT_FASTER,
    CBX_VERDICT_SLOWER,
    CBX_VERDICT_EQUIVALENT
} cbx_verdict;

/** Margin used when none is given: 2 %. */
#define CBX_VERDICT_MARGIN 0.02

/** @param margin  relative, >= 0; NaN: undecided */
CBX_API cbx_verdict cbx_verdict_of_ratio(const cbx_interval *ratio, double margin);
/** True if |change| is more than the threshold, where rounding does not decide: |change| >
 * threshold (1 + 1e-9) + 4 eps. A change of exactly the threshold is never more, however its
 * numbers round (1 -> 1.05, 20 -> 21 at 5 %).  NaN: false. */
CBX_API bool cbx_verdict_exceeds(double change, double threshold);
/** What the interval of a change says, the change counted so that positive is worse (slower).
 * equivalent: the whole interval within -threshold .. threshold; slower: the whole interval above 0
 * and its value more than the threshold; faster: mirrored; else undecided.  A value alone (lower =
 * value = upper) is never undecided.  The level is not needed: foreign bounds have none.
 * @param threshold  >= 0; NaN: undecided; both are relative, so of the order of 1 or less */
CBX_API cbx_verdict cbx_verdict_of_change(const cbx_interval *change, double threshold);
/** About how many samples on each side decide a change with a chance of four in five, if its true
 * value is the one observed: 2 ((z + z_0.8) spread / d)^2 with d the distance to what would decide
 * (threshold - |change| up to the threshold, at least a quarter of it; beyond it |change|, from 0).
 * @param spread  standard deviation of a sample, relative
 * @return at least as many as an interval of the level needs, at most 10^6; 0: none would (a spread
 *   that is not finite, d = 0) */
CBX_API size_t cbx_verdict_samples(double spread, double change, double threshold, double level);
/** "faster", "slower", "equivalent", "undecided" */
CBX_API const char *cbx_verdict_name(cbx_verdict v);

CBX_END_DECLS
#endif
