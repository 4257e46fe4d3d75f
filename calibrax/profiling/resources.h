/**
 * Resources of a process and of all that it starts, sampled by a thread at a set rate.
 *
 * Read are /proc/PID/stat, status, io, smaps_rollup and task/TID/status of each process of the
 * tree.  A process belongs to the tree from the first sample in which an ancestor of it does, and
 * stays in it when it is orphaned; number and start time together identify it, since numbers are
 * used again.
 *
 * Counters (CPU time, faults, bytes, switches) run from the first sample, or from the start of a
 * process that came later.  They are lower bounds: what a process did after its last sample counts
 * only if its parent waited for it inside the tree, and switches not even then.  Two sums are kept,
 * of last values of every process, and of living processes with their waited-for children; the
 * greater one is reported, since their sum would count twice.
 */
#ifndef CALIBRAX_PROFILING_RESOURCES_H
#define CALIBRAX_PROFILING_RESOURCES_H

#include <stdbool.h>
#include <sys/types.h>

#include "calibrax/base/ctx.h"
#include "calibrax/core/result.h"

CBX_BEGIN_DECLS

/** One sample of the tree; counts are since the first sample. */
typedef struct cbx_resource_sample {
    uint64_t time_ns;   /* cbx_clock_ns at its start */
    uint64_t rss_bytes; /* sum over processes: pages that they share count once for each */
    /* shared pages divided among their users; NaN: not requested, unknown, or too slow */
    double pss_bytes;
    /* since the sample before, 100: one core all the time; NaN in the first one */
    double cpu_percent;
    double cpu_user_s;    /* the kernel counts in ticks, 10 ms as a rule */
    double cpu_system_s;  /* */
    uint32_t processes;   /* alive */
    uint32_t threads;     /* */
    double gpu_mem_mb;    /* NaN: unknown; so the next three */
    double gpu_util;      /* [percent] */
    double gpu_clock_mhz; /* */
    double gpu_power_w;   /* */
    double gpu_temperature_c;
    double gpu_tree_mem_mb; /* [MiB] of the tree; NaN: unknown */
    uint64_t gpu_throttle;  /* CBX_GPU_THROTTLE_... (gpu.h); also 0 if unknown */
} cbx_resource_sample;

typedef struct cbx_resource_report {
    cbx_resource_summary summary; /* MB are MiB; as in the Python package */
    /* greatest VmHWM of a single process: kept by the kernel, so no peak is missed */
    uint64_t hwm_bytes;
    double peak_pss_bytes;                               /* NaN: unknown */
    double peak_gpu_temperature_c, peak_gpu_tree_mem_mb; /* NaN: unknown */
    /* of samples in which the device was slowed down (cbx_gpu_is_slowed); NaN: no device */
    double gpu_slowed_share;
    uint64_t gpu_throttle; /* reasons of all samples together */
    bool pss_stopped;      /* reading it took too long: the peak is of the time before */
    double cpu_user_s, cpu_system_s;
    double mean_cpu_percent, peak_cpu_percent; /* NaN: fewer than two samples */
    uint64_t minor_faults, major_faults;
    uint64_t voluntary_switches, involuntary_switches; /* all threads */
    /* from and to storage; NaN: hidden from this user */
    double read_bytes, write_bytes;
    double read_calls_bytes,
        /* through read(2), write(2) and similar, caches included; NaN likewise */
        write_calls_bytes;
    uint32_t peak_threads, peak_processes;
    uint32_t processes_seen;
    uint32_t left_out; /* processes beyond max_processes, at most in a sample */
    /* the root of the tree was gone before the monitor stopped */
    bool ended;
    uint64_t late;         /* samples more than half an interval late, or missing */
    double overhead_cpu_s; /* CPU time of the sampling thread */
    /* of one core: 100 * overhead_cpu_s / duration; NaN if no time passed */
    double overhead_percent;
    /* oldest first; thinned to every 2^k-th beyond max_samples */
    const cbx_resource_sample *samples;
    size_t nsamples;
} cbx_resource_report;

/** State of a device, read once a sample by the sampling thread. */
typedef struct cbx_resource_device {
    double mem_mb, util, clock_mhz, power_w; /* NaN: unknown; so the next two */
    double temperature_c, tree_mem_mb;
    uint64_t throttle; /* CBX_GPU_THROTTLE_...; 0: none, or unknown */
} cbx_resource_device;

typedef struct cbx_resource_opts {
    uint32_t struct_size;
    pid_t pid;         /* root of the tree; 0: this process */
    double interval_s; /* 0.001..3600; 0: 0.1 */
    bool alone;        /* the root only, without children */
    /* read smaps_rollup too; stopped if that takes more than a tenth of the interval */
    bool pss;
    size_t max_samples;   /* kept; 0: 4096; at least 2 */
    size_t max_processes; /* of the tree; 0: 1024 */
    /* NULL: no device; must not allocate from ctx.  pids: living processes of the tree, any
     * order */
    void (*device)(void *user, const pid_t *pids, size_t npids, cbx_resource_device *out);
    void *device_user;
    /* counters run from the start of the root, not from the first sample: for a child just
     * started */
    bool from_start;
    const char *proc; /* NULL: "/proc"; a folder: a captured one */
} cbx_resource_opts;

#define CBX_RESOURCE_OPTS_INIT CBX_OPTS(cbx_resource_opts, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)

typedef struct cbx_resource_monitor cbx_resource_monitor;

/**
 * Takes the first sample and starts the thread.  All memory is taken here: sampling allocates
 * nothing.
 * @param opts  NULL: all defaults; text is copied
 * @param out   the caller frees it
 * @return CBX_OK; CBX_EINVAL (struct_size, interval_s, max_samples); CBX_ENOENT (no such process);
 *   CBX_ENOMEM; CBX_EIO (no thread)
 */
CBX_API cbx_status cbx_resource_monitor_start(cbx_ctx *ctx, const cbx_resource_opts *opts, cbx_resource_monitor **out,
                                              cbx_err *err);
/**
 * Takes a last sample, ends the thread, and reports.  A second call returns the same report.
 * @param out  its samples live as long as the monitor
 * @return CBX_OK
 */
CBX_API cbx_status cbx_resource_monitor_stop(cbx_resource_monitor *m, cbx_resource_report *out, cbx_err *err);
/** Stops first if necessary.  NULL is fine. */
CBX_API void cbx_resource_monitor_free(cbx_resource_monitor *m);

CBX_END_DECLS
#endif
