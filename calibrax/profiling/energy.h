/**
 * Energy of a period: processors and memory through RAPL and the kernel's powercap, a device
 * through NVML; once, or as a series.
 *
 * RAPL counters are of the whole machine, not of a process: subtract its idle energy, or run
 * nothing else.  Packages are summed, and so are their drams; core and uncore are parts of their
 * package and are not added; psys is the whole platform and is reported separately.  A counter
 * wraps to 0 at its range (max_energy_range_uj): one wrap between two readings is corrected, so a
 * period of many minutes needs cbx_energy_meter_see in between.
 * A value is NaN, with a reason in `why`, if the period holds fewer than CBX_ENERGY_MIN_UPDATES
 * updates of its sensor.  Source: Linux, Documentation/power/powercap/powercap.rst; RAPL updates
 * about every 1 ms (Intel SDM vol. 3, 15.10), NVML 100 ms.
 */
#ifndef CALIBRAX_PROFILING_ENERGY_H
#define CALIBRAX_PROFILING_ENERGY_H

#include "calibrax/profiling/gpu.h"

CBX_BEGIN_DECLS

#define CBX_ENERGY_MIN_UPDATES 20 /* a period may miss one at its ends: 5 % */
#define CBX_ENERGY_MAX_DOMAINS 64

typedef enum cbx_energy_kind {
    CBX_ENERGY_PACKAGE, /* summed */
    CBX_ENERGY_DRAM,    /* summed */
    CBX_ENERGY_PLATFORM,
    CBX_ENERGY_PART /* core, uncore */
} cbx_energy_kind;

typedef struct cbx_energy_domain {
    char name[48]; /* "package-0", "package-0/dram", "psys" */
    cbx_energy_kind kind;
    double joules; /* NaN: it can no longer be read */
} cbx_energy_domain;

typedef struct cbx_energy_report {
    double duration_s;
    double cpu_j, dram_j, platform_j, gpu_j; /* NaN: unknown */
    /* sum of the known ones of cpu_j, dram_j and gpu_j; NaN: all are unknown */
    double total_j;
    double mean_power_w;             /* total_j / duration_s */
    char cpu_why[256], gpu_why[256]; /* why NaN, and the remedy; "": known */
    /* from power readings, by trapezoids: the device has no energy counter */
    bool gpu_integrated;
    cbx_energy_domain domain[CBX_ENERGY_MAX_DOMAINS];
    size_t ndomains;
    double gpu_w; /* last power reading; NaN: unknown */
} cbx_energy_report;

typedef struct cbx_energy_opts {
    uint32_t struct_size;
    cbx_gpu *gpu;               /* borrowed; NULL: none */
    double rapl_update_s;       /* 0: 0.001 */
    double gpu_update_s;        /* 0: 0.1 */
    const char *powercap;       /* NULL: "/sys/class/powercap" */
    uint64_t (*clock_ns)(void); /* NULL: cbx_clock_ns */
} cbx_energy_opts;

#define CBX_ENERGY_OPTS_INIT CBX_OPTS(cbx_energy_opts, 0, 0, 0, 0, 0)

typedef struct cbx_energy_meter cbx_energy_meter;

/** Takes the first readings.  If nothing can be read, the report states why.
 * @param opts  NULL: all defaults.  @return CBX_OK; CBX_EINVAL; CBX_ENOMEM */
CBX_API cbx_status cbx_energy_meter_start(cbx_ctx *ctx, const cbx_energy_opts *opts, cbx_energy_meter **out,
                                          cbx_err *err);
/** Reads every counter.  Allocates nothing; one thread at a time. */
CBX_API void cbx_energy_meter_see(cbx_energy_meter *m);
/** Reads again and reports the time since the start; the meter goes on. */
CBX_API void cbx_energy_meter_report(cbx_energy_meter *m, cbx_energy_report *out);
/** NULL is fine. */
CBX_API void cbx_energy_meter_free(cbx_energy_meter *m);

/*
 * --- a series: a meter that a thread of its own reads at a set rate ---
 *
 * The energy of a sample is since the start, and NaN while that period is too short for its sensor,
 * so that the difference of two samples is the energy between them.
 */

/** NaN: unknown. */
typedef struct cbx_energy_sample {
    double time_s;                           /* since the start */
    double cpu_j, dram_j, platform_j, gpu_j; /* since the start */
    double gpu_w;                            /* reading */
} cbx_energy_sample;

typedef struct cbx_energy_series_report {
    cbx_energy_report total;
    double peak_gpu_w;                /* over samples; NaN: unknown */
    const cbx_energy_sample *samples; /* oldest first; thinned to every 2^k-th beyond max_samples */
    size_t nsamples;
    uint64_t late;         /* samples more than half an interval late, or missing */
    double overhead_cpu_s; /* CPU time of the thread */
} cbx_energy_series_report;

typedef struct cbx_energy_series_opts {
    uint32_t struct_size;
    double interval_s;  /* 0.001..3600; 0: 0.1 */
    size_t max_samples; /* kept; 0: 4096; at least 2 */
    /* NULL: all defaults; its gpu is read by the thread until the series stops */
    const cbx_energy_opts *meter;
} cbx_energy_series_opts;

#define CBX_ENERGY_SERIES_OPTS_INIT CBX_OPTS(cbx_energy_series_opts, 0, 0, 0)

typedef struct cbx_energy_series cbx_energy_series;

/**
 * Takes the first readings and starts the thread; it allocates nothing.
 * @param opts  NULL: all defaults
 * @param out   the caller frees it
 * @return CBX_OK; CBX_EINVAL; CBX_ENOMEM; CBX_EIO (no thread)
 */
CBX_API cbx_status cbx_energy_series_start(cbx_ctx *ctx, const cbx_energy_series_opts *opts, cbx_energy_series **out,
                                           cbx_err *err);
/** Takes a last sample and ends the thread.  A second call returns the same.  @param out  its
 * samples live as long as the series */
CBX_API void cbx_energy_series_stop(cbx_energy_series *s, cbx_energy_series_report *out);
/** Stops first if necessary.  NULL is fine. */
CBX_API void cbx_energy_series_free(cbx_energy_series *s);

CBX_END_DECLS
#endif
