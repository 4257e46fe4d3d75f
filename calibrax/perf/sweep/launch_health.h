/**
 * The state of a launch: its steady epochs, and whether the machine left it alone.  Internal to
 * perf.
 *
 * A launch during which the host took the CPU away for more than a tenth of the time, or a CPU was
 * slowed down for heat, is made again, once; what decides is never its time.  Both stay in the raw
 * lines, the row counts them (`retry_reasons`, `health`).  No more than a third of an attempt's
 * launches is repeated: on a machine that is always so, that is what it is like.
 */
#ifndef CALIBRAX_PERF_SWEEP_LAUNCH_HEALTH_H
#define CALIBRAX_PERF_SWEEP_LAUNCH_HEALTH_H

#include "calibrax/perf/sweep/plan.h"

/**
 * Sets class, first steady epoch and median of a launch that has epochs.
 *
 * Change points over its epochs (steady.h) separate a warm-up or a slow-down from the level that
 * lasts.  What came before that level is no part of the launch's median, nor of its row's times; it
 * stays in the raw lines, and the row records how many epochs were left out.  A launch without a
 * steady state keeps all of them, and is counted as such.  Fewer than 10 epochs are one level.
 * @return CBX_OK; CBX_ENOMEM; CBX_EDOM (a time that is not a number)
 */
cbx_status cbx__launch_settle(cbx_ctx *ctx, cbx__launch *l, cbx_err *err);
/** "stolen", "throttled"; NULL: nothing was seen. */
const char *cbx__launch_complaint(const cbx__launch *l);
/** True if a launch that is complained of is to be made again. */
bool cbx__launch_repeats(const cbx__attempt *a);

#endif
