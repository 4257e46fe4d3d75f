/* Targets: one comparison, reversed where lower is better. */
#include "calibrax/validation/accuracy.h"
#include "calibrax/base/idioms.h"

#include <math.h>

static const char *const names[] = { "met", "missed", "undecided", "not-finite", "no-direction", "impossible" };

const char *cbx_accuracy_outcome_name(cbx_accuracy_outcome o) { return CBX_WORD(names, o); }

cbx_accuracy_result cbx_accuracy_check(const cbx_metric *achieved, double target, const cbx_metric_def *def)
{
    cbx_accuracy_result r = { CBX_ACCURACY_NOT_FINITE, achieved->value, target, NAN };
    cbx_metric bare = *achieved;
    double sign = def->direction == CBX_DIRECTION_HIGHER ? 1 : -1, worst, best;

    if (def->direction == CBX_DIRECTION_INFO) {
        r.outcome = CBX_ACCURACY_NO_DIRECTION;
        return r;
    }
    bare.lower = bare.upper = NAN; /* bounds are checked below */
    if (!isfinite(target)) return r;
    switch (cbx_metric_check(&bare, def)) {
    case CBX_METRIC_SOUND: break;
    case CBX_METRIC_NOT_FINITE: return r;
    default: r.outcome = CBX_ACCURACY_IMPOSSIBLE; return r;
    }
    r.margin = sign * (achieved->value - target);
    /* bounds that do not contain the value must not decide for it; fmin and fmax ignore NaN */
    worst = fmin(r.margin, fmin(sign * (achieved->lower - target), sign * (achieved->upper - target)));
    best = fmax(r.margin, fmax(sign * (achieved->lower - target), sign * (achieved->upper - target)));
    r.outcome = worst >= 0 ? CBX_ACCURACY_MET : best < 0 ? CBX_ACCURACY_MISSED : CBX_ACCURACY_UNDECIDED;
    return r;
}
