/**
 * What the launches of an attempt say beside their median, as JSON for the row's provenance.  Internal to perf.
 *
 *   modes              groups of launch medians that stand apart (series.h), each with its share
 *   steady_state       launches by class: flat, warm-up, slowdown, no steady state (steady.h); epochs measured, and those before the
 *                      steady state, which count for nothing else
 *   detectable_effect  the least slow-down that as many launches a side would show with power 0.9 at 5 % (variance.h)
 *   compile_s, first_call_s, memory_mb, memory_increase_mb, device_memory_mb
 *                      medians over launches with their order-statistic intervals at 95 %
 *
 * What cannot be said of so few launches is absent.
 */
#ifndef CALIBRAX_PERF_ESTIMATES_H
#define CALIBRAX_PERF_ESTIMATES_H

#include "calibrax/perf/session.h"

/** NULL: out of memory.  Caller unrefs. */
cbx_json *cbx__estimates_make(cbx_ctx *ctx, cbx_arena *arena, const cbx__attempt *a);

#endif
