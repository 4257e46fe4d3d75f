/* Inside timing: what is made of samples, whoever took them. */
#ifndef CALIBRAX_PROFILING_TIMING_PARTS_H
#define CALIBRAX_PROFILING_TIMING_PARTS_H

#include "calibrax/profiling/timing.h"

/* Fills summary, steady, percentiles, first_excess_s and clock_share from samples, first_call_s, calls_per_sample and the clock. */
cbx_status cbx__timing_estimate(cbx_ctx *ctx, double level, const double *percentiles, size_t npercentiles,
                                cbx_call_timing *r, cbx_err *err);

#endif
