/**
 * Time of a call: without warm-up and compilation, with so many calls a sample that the clock does
 * not matter, its own cost subtracted; calls that are too short to time are refused.
 *
 * A sample is (window - clock) / calls: window is the time between two readings around `calls`
 * calls and one synchronisation, clock the median of empty windows.  Calls a sample grow until the
 * window is 200 times the greater of the clock's step and its cost; a median window below 100
 * times, where either passes 1 %, is refused.  Between the readings nothing is allocated.  Source:
 * nanobench (calibration by clock precision); Google Benchmark (growth by 1.4 of what is missing,
 * at most tenfold).
 *
 * Samples of one process represent that process only: identical programs differ by launch (nperf
 * measures launches).
 */
#ifndef CALIBRAX_PROFILING_TIMING_H
#define CALIBRAX_PROFILING_TIMING_H

#include "calibrax/core/result.h"
#include "calibrax/statistics/estimate.h"

CBX_BEGIN_DECLS

#define CBX_TIMING_MAX_PERCENTILES 16

typedef void (*cbx_timed_fn)(void *user);

typedef struct cbx_timing_opts {
    uint32_t struct_size;
    uint64_t warmup; /* calls after the first one that are not counted, besides calibration */
    size_t samples;  /* 1..2^20 */
    double sample_s; /* minimum duration of a window; 0: as short as the clock allows */
    uint64_t calls;  /* in each window; 0: chosen */
    /* no more samples after this time, the first call included; 0: no limit.  One is always
     * taken */
    double budget_s;
    double level;              /* of the median's interval, in (0, 1) */
    const double *percentiles; /* 0..100, at most CBX_TIMING_MAX_PERCENTILES; NULL: 50, 90, 99 */
    size_t npercentiles;
    /* called once before the first call, timed separately; NULL: nothing to compile */
    cbx_timed_fn compile;
    /* ends each window and the first call, inside the time: waits for a device; NULL: no device */
    cbx_timed_fn sync;
    uint64_t (*clock_ns)(void); /* NULL: cbx_clock_ns */
} cbx_timing_opts;

#define CBX_TIMING_OPTS_INIT CBX_OPTS(cbx_timing_opts, 3, 30, 1e-3, 0, 10, 0.95, 0, 0, 0, 0, 0)

/** Times of one call in seconds, unless the name says otherwise. */
typedef struct cbx_call_timing {
    double compile_s;    /* NaN: nothing was compiled */
    double first_call_s; /* with all preparations on first use */
    /* first call less the median, at least 0: an estimate of the cost of first use */
    double first_excess_s;
    cbx_interval steady; /* median and its order-statistic interval */
    cbx_summary summary;
    /* of samples, type 7 */
    double percentile[CBX_TIMING_MAX_PERCENTILES], percentile_s[CBX_TIMING_MAX_PERCENTILES];
    size_t npercentiles;
    double *samples; /* in order taken; owned: cbx_call_timing_clear */
    size_t nsamples;
    uint64_t calls_per_sample; /* a sample is the mean of this number of calls */
    uint64_t warmup_calls;     /* made before the first sample: first, calibration, warm-up */
    double clock_cost_ns;      /* subtracted from each window */
    double clock_step_ns;
    double clock_share;   /* of the clock's step or cost, the greater one, in a median window */
    double empty_call_ns; /* an empty call in the same loop: part of every call, not subtracted */
    double wall_s;        /* everything */
    cbx_allocator al;
} cbx_call_timing;

/**
 * Times fn(user).
 * @param opts  NULL: all defaults
 * @param out   written on success only; the caller clears it
 * @return CBX_OK; CBX_EINVAL (no fn, an option outside its range); CBX_ENOMEM; CBX_EDOM: with
 *         opts->calls so short that the clock cannot measure the window; a call as short as an
 *         empty one; a clock that ran backwards
 */
CBX_API cbx_status cbx_time_calls(cbx_ctx *ctx, cbx_timed_fn fn, void *user, const cbx_timing_opts *opts,
                                  cbx_call_timing *out, cbx_err *err);
/** NULL and a zeroed struct are fine. */
CBX_API void cbx_call_timing_clear(cbx_call_timing *t);
/** For a result: a batch is a sample, its time that of a call.  Pointers lead into t. */
CBX_API cbx_timing_sample cbx_call_timing_sample(const cbx_call_timing *t);

CBX_END_DECLS
#endif
