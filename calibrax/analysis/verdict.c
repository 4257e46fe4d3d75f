/* The one verdict engine.  Two one-sided tests: Schuirmann, J. Pharmacokinet. Biopharm. 15 (1987)
 * 657-680. Equivalence comes first: an interval within the margin on one side of 1 is too small a
 * difference. */
#include "calibrax/analysis/verdict.h"

#include <float.h>
#include <math.h>

#include "calibrax/base/idioms.h"
#include "calibrax/statistics/distribution.h"

/** More than a threshold means more by this share of it; above what differences and quotients of
 * doubles round. */
#define SLACK 1e-9

cbx_verdict cbx_verdict_of_ratio(const cbx_interval *ratio, double margin)
{
    double wide = margin > 0 ? 1 + margin : 1;

    if (!(ratio->level > 0) || !(ratio->lower <= ratio->upper) || isnan(margin)) return CBX_VERDICT_UNDECIDED;
    if (ratio->lower >= 1 / wide && ratio->upper <= wide) return CBX_VERDICT_EQUIVALENT;
    if (ratio->upper < 1) return CBX_VERDICT_FASTER;
    if (ratio->lower > 1) return CBX_VERDICT_SLOWER;
    return CBX_VERDICT_UNDECIDED;
}

bool cbx_verdict_exceeds(double change, double threshold)
{
    return fabs(change) > threshold * (1 + SLACK) + 4 * DBL_EPSILON;
}

cbx_verdict cbx_verdict_of_change(const cbx_interval *change, double threshold)
{
    if (!(change->lower <= change->upper) || isnan(threshold)) return CBX_VERDICT_UNDECIDED;
    if (!cbx_verdict_exceeds(change->lower, threshold) && !cbx_verdict_exceeds(change->upper, threshold))
        return CBX_VERDICT_EQUIVALENT;
    bool far = cbx_verdict_exceeds(change->value, threshold);
    if (far && change->lower > 0 && change->value > 0) return CBX_VERDICT_SLOWER;
    if (far && change->upper < 0 && change->value < 0) return CBX_VERDICT_FASTER;
    return CBX_VERDICT_UNDECIDED;
}

const char *cbx_verdict_name(cbx_verdict v)
{
    static const char *const names[] = {
        [CBX_VERDICT_UNDECIDED] = "undecided",
        [CBX_VERDICT_FASTER] = "faster",
        [CBX_VERDICT_SLOWER] = "slower",
        [CBX_VERDICT_EQUIVALENT] = "equivalent",
    };
    return CBX_WORD(names, v);
}

size_t cbx_verdict_samples(double spread, double change, double threshold, double level)
{
    double d = fabs(change) > threshold ? fabs(change) : fmax(threshold - fabs(change), threshold / 4);
    double z = cbx_stat_normal_isf((1 - level) / 2) + cbx_stat_normal_isf(0.2), n = 2 * pow(z * spread / d, 2);
    double ways = 1; /* C(2 least, least): the smallest p of a rank test is 2 over it */
    size_t min = 0;

    if (!(n < INFINITY)) return 0;
    while (2 / ways > 1 - level && min < 100) {
        min++;
        ways *= 2 * (2 * (double)min - 1) / (double)min;
    }
    return n > 1e6 ? 1000000 : (size_t)fmax(ceil(n), (double)min);
}
