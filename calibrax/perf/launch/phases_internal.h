/*
 * One benchmark under way: what the phases leave behind until it becomes a run.  For measure.c, batches.c and measured.c.
 */
#ifndef CALIBRAX_PERF_LAUNCH_PHASES_INTERNAL_H
#define CALIBRAX_PERF_LAUNCH_PHASES_INTERNAL_H

#include "calibrax/base/arena.h"
#include "calibrax/perf/launch/phases.h"
#include "calibrax/profiling/resources.h"
#include "calibrax/profiling/timing.h"

#define CBX__PHASES_MOST 8

typedef struct cbx__phase {
    const char *name;    /* a constant: "setup" */
    const char *seconds; /* the metric of its duration; NULL: none */
    bool gates;          /* whether that metric is better lower, or only told */
    uint64_t start_ns, duration_ns;
} cbx__phase;

typedef struct cbx__measuring {
    cbx_ctx *ctx;
    cbx_benchmark_ops ops;
    void *self;
    cbx_benchmark_measure_opts o;
    cbx_arena arena;
    cbx_values *values, *targets;
    cbx__phase phases[CBX__PHASES_MOST];
    size_t nphases;
    cbx_call_timing calls;
    cbx_timing_sample timing; /* of work or batches */
    bool timed;
    double throughput; /* NaN: no batches */
    cbx_resource_report resources;
    bool watched;
} cbx__measuring;

bool cbx__measuring_stopped(const cbx__measuring *m);
/* Times run_batch over the dataset into timing and throughput. */
cbx_status cbx__measuring_batches(cbx__measuring *m, cbx_err *err);
/* All of it as a run with one point. */
cbx_status cbx__measuring_run(cbx__measuring *m, cbx_run **out, cbx_err *err);

#endif
