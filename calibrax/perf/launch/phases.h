/**
 * One benchmark measured in this process: set-up, training, timed work or batches, evaluation,
 * targets, tear-down.
 *
 * What comes of it is a run with one point, named as the benchmark, its domain as scenario:
 *     what training and evaluation gave (evaluation replaces training)
 *     setup_seconds, training_seconds, evaluation_seconds, teardown_seconds, by the monotonic clock
 *     of work: batch_time (a sample is the mean of so many calls as the clock needs:
 *     calibrax/profiling/timing.h), first_batch_time ...
 *     of batches: batch_time (a sample a batch, warm-up left out), first_batch_time, wall_clock,
 *     throughput [examples/s]
 *     peak_rss of this process and its children
 * unless the benchmark gives a metric of that name itself.  Set-up, tear-down and the first batch
 * are "info": they never gate.  Definitions: the benchmark's, then those of what is measured here.
 * metadata.results[0].metadata holds targets and phases ({"name","start_ns","duration_ns"},
 * CLOCK_MONOTONIC).
 */
#ifndef CALIBRAX_PERF_LAUNCH_PHASES_H
#define CALIBRAX_PERF_LAUNCH_PHASES_H

#include <signal.h>

#include "calibrax/core/protocols.h"
#include "calibrax/profiling/tracing.h"

CBX_BEGIN_DECLS

#define CBX_BENCHMARK_MAX_ARRAYS 16 /* of a batch */

typedef struct cbx_benchmark_measure_opts {
    uint32_t struct_size;
    size_t warmup;          /* calls of work beyond the first, or batches, that do not count; one batch always counts */
    size_t samples;         /* of work, 1..2^20 */
    double sample_s;        /* of work: a sample lasts at least so long */
    double budget_s;        /* of work: no more samples after so long; 0: no limit */
    size_t batch_size;      /* examples a batch; at least 1 */
    size_t max_batches;     /* 0: the whole dataset */
    const cbx_json *config; /* kept with the result; an object, or NULL; borrowed */
    const volatile sig_atomic_t *stop; /* looked at between phases, samples and batches; not 0: CBX_EINTERRUPTED */
    cbx_timeline *trace;               /* gets a span a phase; borrowed; NULL: none */
    bool no_resources;                 /* another watches this process */
    const char **phase;                /* set to the name of the phase under way, a constant; NULL: not needed */
} cbx_benchmark_measure_opts;

#define CBX_BENCHMARK_MEASURE_OPTS_INIT CBX_OPTS(cbx_benchmark_measure_opts, 1, 30, 1e-3, 10, 32, 0, 0, 0, 0, 0, 0)

/**
 * @param self  handed to the benchmark
 * @param opts  NULL: all defaults
 * @param out   written on success only
 * @return CBX_OK; as cbx_benchmark_ops_read; what the benchmark, or cbx_time_calls for its work,
 *         returned; CBX_EINTERRUPTED; CBX_EINVAL (options; an empty dataset; examples of a batch
 *         that differ in their arrays); CBX_ESHAPE (a dataset's batch has another number of rows);
 *         CBX_ENOMEM.  Once set-up was called, tear-down is, whatever the outcome
 */
CBX_API cbx_status cbx_benchmark_measure(cbx_ctx *ctx, const cbx_benchmark_ops *ops, void *self,
                                         const cbx_benchmark_measure_opts *opts, cbx_run **out, cbx_err *err);

CBX_END_DECLS
#endif
