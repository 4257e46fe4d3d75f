/* Calls of an epoch by its target; see calibration.h. */
#include "calibrax/perf/launch/calibration.h"

#include <math.h>

#define TRUSTED_SHARE 0.25 /* of the target: a reading that is shorter says too little */
#define MARGIN        1.02

void cbx__calibration_begin(cbx__calibration *c, double target_ns)
{
    *c = (cbx__calibration){ .target_ns = target_ns, .calls = 1, .call_ns = INFINITY };
}

bool cbx__calibration_note(cbx__calibration *c, double epoch_ns, double call_ns)
{
    bool trusted = c->closing || epoch_ns >= TRUSTED_SHARE * c->target_ns || c->calls >= CBX__ITERATIONS_MAX;

    c->call_ns = c->closing ? fmin(c->call_ns, call_ns) : call_ns;
    if (!trusted) {
        /* towards half the target, for the reading may have been hindered */
        const double n = (double)c->calls, wanted = fmin(fmax(0.5 * c->target_ns / c->call_ns, 2 * n), 10 * n);
        c->calls = (uint64_t)fmin(wanted, CBX__ITERATIONS_MAX);
        return true;
    }
    if (!c->closing && c->call_ns * (double)c->calls < c->target_ns) {
        c->closing = true;
        return true;
    }
    c->calls = (uint64_t)fmin(fmax(ceil(MARGIN * c->target_ns / c->call_ns), 1), CBX__ITERATIONS_MAX);
    return false;
}
