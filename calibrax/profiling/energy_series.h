/**
 * Energy over time: a meter (energy.h) read by a thread of its own at a set rate.
 *
 * Each sample tells what the stretch from the start to it has taken, and is NaN as long as that stretch is too short for its sensor, so
 * that the difference of two samples is the energy between them.  Why a value is not known at the end is told as the meter tells it.
 */
#ifndef CALIBRAX_PROFILING_ENERGY_SERIES_H
#define CALIBRAX_PROFILING_ENERGY_SERIES_H

#include "calibrax/profiling/energy.h"

CBX_BEGIN_DECLS

/** NaN: not known. */
typedef struct cbx_energy_sample {
    double time_s;                           /* since the start */
    double cpu_j, dram_j, platform_j, gpu_j; /* since the start */
    double gpu_w;                            /* as the device told it */
} cbx_energy_sample;

typedef struct cbx_energy_series_report {
    cbx_energy_report total;
    double peak_gpu_w;                /* over samples; NaN: never told */
    const cbx_energy_sample *samples; /* oldest first; thinned to every 2^k-th when they outgrew max_samples */
    size_t nsamples;
    uint64_t late;         /* samples that came more than half an interval late, or not at all */
    double overhead_cpu_s; /* CPU time of the thread */
} cbx_energy_series_report;

typedef struct cbx_energy_series_opts {
    uint32_t struct_size;
    double interval_s;            /* 0.001..3600; 0: 0.1 */
    size_t max_samples;           /* kept; 0: 4096; at least 2 */
    const cbx_energy_opts *meter; /* NULL: all defaults; its gpu is read by the thread until the series stops */
} cbx_energy_series_opts;

#define CBX_ENERGY_SERIES_OPTS_INIT                                                                                    \
    {                                                                                                                  \
        sizeof(cbx_energy_series_opts), 0, 0, 0                                                                        \
    }

typedef struct cbx_energy_series cbx_energy_series;

/**
 * Takes the first readings and starts the thread; no memory is taken later.
 * @param opts  NULL: all defaults
 * @param out   the caller frees it
 * @return CBX_OK; CBX_EINVAL; CBX_ENOMEM; CBX_EIO (no thread)
 */
CBX_API cbx_status cbx_energy_series_start(cbx_ctx *ctx, const cbx_energy_series_opts *opts, cbx_energy_series **out,
                                           cbx_err *err);
/** Takes a last sample and ends the thread.  A second call gives the same.  @param out  its samples live as long as the series */
CBX_API void cbx_energy_series_stop(cbx_energy_series *s, cbx_energy_series_report *out);
/** Stops first if need be.  NULL is fine. */
CBX_API void cbx_energy_series_free(cbx_energy_series *s);

CBX_END_DECLS
#endif
