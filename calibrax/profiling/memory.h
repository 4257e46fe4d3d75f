/**
 * Memory over time: whether it grows or is nearly full; and the peak and the retained memory of a
 * call.
 */
#ifndef CALIBRAX_PROFILING_MEMORY_H
#define CALIBRAX_PROFILING_MEMORY_H

#include "calibrax/profiling/resources.h"
#include "calibrax/profiling/timing.h"

CBX_BEGIN_DECLS

/** Of a device or of a process, in order of time. */
typedef struct cbx_memory_reading {
    double used_mb;  /* MiB */
    double total_mb; /* NaN: unknown */
} cbx_memory_reading;

#define CBX_MEMORY_LEAK_MB     10.0 /* growth a reading, first to last ... */
#define CBX_MEMORY_LEAK_RISING 0.75 /* while this share of pairs rises: a spike is no leak */
#define CBX_MEMORY_NEARLY_FULL 0.9  /* greatest occupancy */
#define CBX_MEMORY_HIGHLY_USED 0.8  /* mean occupancy */
#define CBX_MEMORY_MUCH_MB     1000.0
#define CBX_MEMORY_MIN_FREED   0.7
#define CBX_MEMORY_MIN_KEPT    1.0 /* MiB; less is pages of stack, loader and C library */

typedef struct cbx_memory_pattern {
    size_t nreadings;
    double peak_mb, mean_mb;
    /* a reading: (last - first) / (n - 1); NaN: fewer than two */
    double growth_mb;
    /* share of pairs (i < j) in which j is greater; NaN likewise */
    double rising;
    double max_occupancy, mean_occupancy; /* of readings with a total; NaN: none has */
    bool leaks, nearly_full, highly_used; /* highly_used only if not nearly_full */
    char hint[3][160];                    /* a sentence for each that holds */
    size_t nhints;
} cbx_memory_pattern;

/**
 * More than 4096 readings: pairs are taken of 4096 of them, evenly.
 * @return CBX_OK; CBX_EINVAL (n = 0); CBX_EDOM: a used_mb that is not finite or below 0.  Allocates
 *   nothing; safe from any thread.
 */
CBX_API cbx_status cbx_memory_pattern_of(const cbx_memory_reading *r, size_t n, cbx_memory_pattern *out, cbx_err *err);

typedef struct cbx_memory_of_call {
    double baseline_mb; /* resident before, after freed memory was returned to the kernel */
    double peak_mb;     /* resident, greatest */
    double usage_mb;    /* peak less baseline, at least 0 */
    double retained_mb; /* resident afterwards, likewise, less baseline, at least 0 */
    double freed;       /* (usage - retained) / usage; 1 if usage is 0 */
    /* VmHWM, reset before: exact; else sampled every millisecond: a lower bound */
    bool peak_by_kernel;
    char hint[2][160];
    size_t nhints;
} cbx_memory_of_call;

/**
 * Calls fn(user) once and watches this process, all threads included.
 * @return CBX_OK; CBX_EINVAL (no fn); CBX_EIO: unknown to the kernel; CBX_ENOMEM
 */
CBX_API cbx_status cbx_memory_measure(cbx_ctx *ctx, cbx_timed_fn fn, void *user, cbx_memory_of_call *out, cbx_err *err);

CBX_END_DECLS
#endif
