/**
 * How many calls an epoch takes to last a given time, found by epochs.  Internal to perf.
 *
 * Calls grow by two to ten times until a reading is long enough to trust; then it is read again,
 * and the shorter reading is believed: what holds up an epoch makes it longer only, and too few
 * calls would leave epochs too short.
 */
#ifndef CALIBRAX_PERF_LAUNCH_CALIBRATION_H
#define CALIBRAX_PERF_LAUNCH_CALIBRATION_H

#include <stdbool.h>
#include <stdint.h>

/* Most calls an epoch is given. */
#define CBX__ITERATIONS_MAX 1000000000u

typedef struct cbx__calibration {
    double target_ns;
    uint64_t calls; /* of the epoch to be read next; in the end, of those to be measured */
    double call_ns; /* least so far */
    bool closing;   /* the next reading is the last */
} cbx__calibration;

/** @param target_ns  > 0 */
void cbx__calibration_begin(cbx__calibration *c, double target_ns);
/**
 * After an epoch of c->calls.
 * @param epoch_ns  all of it: whether it is long enough to trust
 * @param call_ns   of one call, > 0
 * @return false: c->calls is final
 */
bool cbx__calibration_note(cbx__calibration *c, double epoch_ns, double call_ns);

#endif
