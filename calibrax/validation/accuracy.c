/*
 * Targets: one comparison, turned so that larger is better.
 */
#include "calibrax/validation/accuracy.h"

#include <math.h>

static const char *const names[] = { "met", "missed", "undecided", "not-finite", "no-direction" };

const char *cbx_accuracy_outcome_name(cbx_accuracy_outcome o) { return (size_t)o < CBX_LEN(names) ? names[o] : "?"; }

cbx_accuracy_result cbx_accuracy_check(const cbx_metric *achieved, double target, cbx_direction direction)
{
    cbx_accuracy_result r = { CBX_ACCURACY_NOT_FINITE, achieved->value, target, NAN };
    double sign = direction == CBX_DIRECTION_HIGHER ? 1 : -1, worst, best;

    if (direction == CBX_DIRECTION_INFO) {
        r.outcome = CBX_ACCURACY_NO_DIRECTION;
        return r;
    }
    if (!isfinite(achieved->value) || !isfinite(target)) return r;
    r.margin = sign * (achieved->value - target);
    /* bounds that do not hold the value must not speak for it; fmin and fmax pass over one that is NaN */
    worst = fmin(r.margin, fmin(sign * (achieved->lower - target), sign * (achieved->upper - target)));
    best = fmax(r.margin, fmax(sign * (achieved->lower - target), sign * (achieved->upper - target)));
    r.outcome = worst >= 0 ? CBX_ACCURACY_MET : best < 0 ? CBX_ACCURACY_MISSED : CBX_ACCURACY_UNDECIDED;
    return r;
}
