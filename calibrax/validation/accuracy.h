/**
 * A value against its target, by the direction of its metric.
 * Nothing here allocates or fails; all is safe from any thread.  Since 0.1.
 */
#ifndef CALIBRAX_VALIDATION_ACCURACY_H
#define CALIBRAX_VALIDATION_ACCURACY_H

#include "calibrax/core/metric.h"

CBX_BEGIN_DECLS

typedef enum cbx_accuracy_outcome {
    CBX_ACCURACY_MET,
    CBX_ACCURACY_MISSED,
    CBX_ACCURACY_UNDECIDED,    /* the interval of the value contains the target */
    CBX_ACCURACY_NOT_FINITE,   /* the value, or the target, is NaN or infinite */
    CBX_ACCURACY_NO_DIRECTION, /* an "info" metric has no direction */
    CBX_ACCURACY_IMPOSSIBLE    /* a time that is not above 0, or a value outside the range of its samples */
} cbx_accuracy_outcome;

/** "met", "missed", "undecided", "not-finite", "no-direction", "impossible"; "?" outside the
 * list. */
CBX_API const char *cbx_accuracy_outcome_name(cbx_accuracy_outcome o);

typedef struct cbx_accuracy_result {
    cbx_accuracy_outcome outcome;
    double achieved, target;
    double margin; /* distance to the target in its unit, > 0 on the good side; NaN: unknown */
} cbx_accuracy_result;

/**
 * Met: value >= target where higher is better, value <= target where lower is; the target itself is
 * met.  With an interval all of it has to lie on one side, else undecided.
 * @param achieved  a bound that is NaN is absent; a single one counts; an infinite one leaves its
 *   side open
 * @param def       only its direction and unit are used
 */
CBX_API cbx_accuracy_result cbx_accuracy_check(const cbx_metric *achieved, double target, const cbx_metric_def *def);

CBX_END_DECLS
#endif
