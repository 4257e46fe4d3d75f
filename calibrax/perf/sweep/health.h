/**
 * Whether the machine left a launch alone.  Internal to perf.
 *
 * A launch during which the host took the CPU away for more than a tenth of the time, or a CPU was slowed down for heat, is made again, once; what
 * decides is never its time.  Both stay in the raw lines, the row counts them (`retry_reasons`, `health`).  No more than a third of an
 * attempt's launches is repeated: on a machine that is always so, that is what it is like.
 */
#ifndef CALIBRAX_PERF_SWEEP_HEALTH_H
#define CALIBRAX_PERF_SWEEP_HEALTH_H

#include "calibrax/perf/sweep/plan.h"

/** "stolen", "throttled"; NULL: nothing was seen. */
const char *cbx__launch_complaint(const cbx__launch *l);
/** True if a launch that is complained of is to be made again. */
bool cbx__launch_repeats(const cbx__attempt *a);

#endif
