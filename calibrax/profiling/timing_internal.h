/* Estimates from samples, and calls that run in another process. */
#ifndef CALIBRAX_PROFILING_TIMING_INTERNAL_H
#define CALIBRAX_PROFILING_TIMING_INTERNAL_H

#include "calibrax/profiling/timing.h"

/* A clock that times windows. */
typedef struct cbx__stopwatch {
    uint64_t (*clock_ns)(void); /* NULL: cbx_clock_ns */
    double cost_ns, step_ns;    /* of an empty window; between two readings that differ */
    bool backwards;             /* a reading was less than the one before */
} cbx__stopwatch;

uint64_t cbx__stopwatch_now(const cbx__stopwatch *w);
/* [ns]; 0 where the clock ran backwards. */
double cbx__stopwatch_since(cbx__stopwatch *w, uint64_t start);
/* Finds cost and step from readings back to back. */
void cbx__stopwatch_measure(cbx__stopwatch *w);

/* Fills summary, steady, percentiles, first_excess_s and clock_share from samples, first_call_s,
 * calls_per_sample and the clock. */
cbx_status cbx__timing_estimate(cbx_ctx *ctx, double level, const double *percentiles, size_t npercentiles,
                                cbx_call_timing *r, cbx_err *err);

/*
 * cbx_time_calls for calls that are made elsewhere.
 * @param window    makes these calls and returns their time in ns, by the clock where they are made
 * @param clock_ns  cost of a reading of that clock
 */
cbx_status cbx__time_windows(cbx_ctx *ctx, double (*window)(void *user, uint64_t calls), void *user, double clock_ns,
                             const cbx_timing_opts *opts, cbx_call_timing *out, cbx_err *err);

#endif
