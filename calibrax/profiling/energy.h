/**
 * Energy of a stretch of time: processors and memory through RAPL as the kernel's powercap tells it, a device through NVML.
 *
 * RAPL counters are of the whole machine, not of a process: subtract what it takes idle, or leave it alone.  Every package counts,
 * and every dram that a package tells beside itself; core and uncore are parts of their package and are not added; psys is the whole
 * platform and stands alone.  A counter falls back to 0 past its range (max_energy_range_uj): one fall between two looks is put
 * right, so a stretch of many minutes needs cbx_energy_meter_see in between.
 * A sensor is believed only if the stretch holds CBX_ENERGY_LEAST_UPDATES of its updates; otherwise the value is NaN, and `why` says so.
 * Source: Linux, Documentation/power/powercap/powercap.rst; RAPL renews about every 1 ms (Intel SDM vol. 3, 15.10), NVML 100 ms.
 */
#ifndef CALIBRAX_PROFILING_ENERGY_H
#define CALIBRAX_PROFILING_ENERGY_H

#include "calibrax/profiling/gpu.h"

CBX_BEGIN_DECLS

#define CBX_ENERGY_LEAST_UPDATES 20 /* a stretch may miss one at its ends: 5 % */
#define CBX_ENERGY_MAX_DOMAINS   64

typedef enum cbx_energy_kind {
    CBX_ENERGY_PACKAGE, /* added up */
    CBX_ENERGY_DRAM,    /* added up */
    CBX_ENERGY_PLATFORM,
    CBX_ENERGY_PART /* core, uncore */
} cbx_energy_kind;

typedef struct cbx_energy_domain {
    char name[48]; /* "package-0", "package-0/dram", "psys" */
    cbx_energy_kind kind;
    double joules; /* NaN: cannot be read any more */
} cbx_energy_domain;

typedef struct cbx_energy_report {
    double duration_s;
    double cpu_j, dram_j, platform_j, gpu_j; /* NaN: not known */
    double total_j;                          /* of cpu_j, dram_j and gpu_j those that are known; NaN: none is */
    double mean_power_w;                     /* total_j / duration_s */
    char cpu_why[256], gpu_why[256];         /* why NaN, and what to do about it; "" if it is none */
    bool gpu_integrated; /* from power readings at each look, by trapezoids: the device has no energy counter */
    cbx_energy_domain domain[CBX_ENERGY_MAX_DOMAINS];
    size_t ndomains;
    double gpu_w; /* power as the device told it last; NaN: not told */
} cbx_energy_report;

typedef struct cbx_energy_opts {
    uint32_t struct_size;
    cbx_gpu *gpu;               /* borrowed; NULL: none */
    double rapl_update_s;       /* 0: 0.001 */
    double gpu_update_s;        /* 0: 0.1 */
    const char *powercap;       /* NULL: "/sys/class/powercap" */
    uint64_t (*clock_ns)(void); /* NULL: cbx_clock_ns */
} cbx_energy_opts;

#define CBX_ENERGY_OPTS_INIT                                                                                           \
    {                                                                                                                  \
        sizeof(cbx_energy_opts), 0, 0, 0, 0, 0                                                                         \
    }

typedef struct cbx_energy_meter cbx_energy_meter;

/** Takes the first readings.  That nothing can be read is no failure: the report says why.
 * @param opts  NULL: all defaults.  @return CBX_OK; CBX_EINVAL; CBX_ENOMEM */
CBX_API cbx_status cbx_energy_meter_start(cbx_ctx *ctx, const cbx_energy_opts *opts, cbx_energy_meter **out,
                                          cbx_err *err);
/** Looks at every counter.  Allocates nothing; one thread at a time. */
CBX_API void cbx_energy_meter_see(cbx_energy_meter *m);
/** Looks once more and reports the time since the start; the meter runs on. */
CBX_API void cbx_energy_meter_report(cbx_energy_meter *m, cbx_energy_report *out);
/** NULL is fine. */
CBX_API void cbx_energy_meter_free(cbx_energy_meter *m);

CBX_END_DECLS
#endif
