/**
 * Where the steady state of a launch begins.  Internal to perf.
 *
 * Change points over the epochs of the launch (steady.h) separate a warm-up or a slow-down from the level that lasts.  What came before that level
 * is no part of the launch's median, nor of its row's times; it stays in the raw lines, and the row records how many epochs were left
 * out.  A launch without a steady state keeps all of them, and is counted as such.  Fewer than 10 epochs are one level.
 */
#ifndef CALIBRAX_PERF_SWEEP_WARMUP_H
#define CALIBRAX_PERF_SWEEP_WARMUP_H

#include "calibrax/perf/sweep/plan.h"

/** Sets class, first steady epoch and median of a launch that has epochs.  @return CBX_OK; CBX_ENOMEM; CBX_EDOM (a time that is no number) */
cbx_status cbx__launch_settle(cbx_ctx *ctx, cbx__launch *l, cbx_err *err);

#endif
