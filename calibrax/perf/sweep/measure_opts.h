/**
 * What a sweep is asked to measure, and what it reports on its way; measure.h runs it.
 */
#ifndef CALIBRAX_PERF_SWEEP_MEASURE_OPTS_H
#define CALIBRAX_PERF_SWEEP_MEASURE_OPTS_H

#include "calibrax/perf/launch/launch.h"

CBX_BEGIN_DECLS

/** Which variants of a provider are measured. */
typedef enum cbx_measure_variants { CBX_VARIANTS_ALL, CBX_VARIANTS_DEFAULT, CBX_VARIANTS_TUNED } cbx_measure_variants;

/** What happened, for a progress line.  Numbers count launches over the whole sweep; total is an
 * estimate that only falls. */
typedef enum cbx_measure_event {
    CBX_MEASURE_NOTE,   /* text is a sentence a person should see */
    CBX_MEASURE_POINT,  /* a point begins; text is its label */
    CBX_MEASURE_LAUNCH, /* a launch ended; text is the attempt's name */
    CBX_MEASURE_DONE    /* a point is finished and written; text is its label */
} cbx_measure_event;

typedef struct cbx_measure_progress {
    cbx_measure_event event;
    const char *text;
    size_t launches_done, launches_total;
    double elapsed_s, eta_s; /* eta NaN: unknown */
} cbx_measure_progress;

typedef struct cbx_measure_opts {
    uint32_t struct_size;
    const cbx_case_ops *case_ops;
    const char *const *points; /* JSON texts; npoints 0: the case's own */
    size_t npoints;
    bool quick; /* the representative point; 6 launches, warm-up 1, one epoch for calls above 0.1 s */
    /* "cpu" (alias "jax-cpu"), "cuda12" (alias "jax-cuda12"), "fake" (platforms.h); nplatforms
     * 0: "cpu" */
    const char *const *platforms;
    size_t nplatforms;
    const char *const *allow; /* baselines to measure; nallow 0: all */
    size_t nallow;
    const char *const *deny;
    size_t ndeny;
    bool skip_slow;
    cbx_measure_variants variants;
    bool mutants;    /* measure the planted faults too (selftest) */
    bool twins;      /* measure each attempt as two, "default" and "twin", and pair them with each other */
    size_t launches; /* 0: 11, quick 6; the most there may be with precision or decide, 0: 200 */
    int warmup;      /* calls; < 0: 3, quick 1 */
    size_t repeats;  /* epochs; 0: 10, and at most 3 for calls above 1 s (quick: 1 above 0.1 s) */
    /* of the whole run, divided over its points as they begin (docs/explanation/planning.md); 0:
     * none */
    double budget_s;
    double precision;      /* relative half width at which a row needs no more launches; 0: none */
    bool decide;           /* a decided verdict is as good */
    double epoch_target_s; /* 0: 0.020 */
    size_t cpu_slots;      /* points measured side by side on disjoint cores; 0: 1 */
    /* devices by number, "0", "2-3", or "all"; ngpus 0: all that CUDA_VISIBLE_DEVICES leaves */
    const char *const *gpus;
    size_t ngpus;
    double gpu_settle_s;          /* left alone, and held: a device before its first launch and after each */
    size_t max_parallel;          /* launches at a time over all slots and devices; 0: as many as there are of them */
    double lock_wait_s;           /* for cores and devices that another invocation holds; 0: worker_timeout_s */
    int threads;                  /* of each worker; 0: 1 */
    const char *matmul_precision; /* of float32 arithmetic, a word of calibrax/perf/launch/policy.h; NULL: "full" */
    double worker_timeout_s;      /* every message of a worker; 0: 3600 */
    /* of a worker's whole tree; 0: 80 % of the free memory, shared out among parallel launches */
    uint64_t memory_limit_bytes;
    uint64_t seed;
    bool in_process;        /* native baselines run in this process */
    bool cold_cache;        /* flush the caches before each call; variants are then "cold" and "tuned-cold" */
    int warm_compiles;      /* launches of each attempt that only compile, with a cache that is filled; < 0: 7 at the
                               representative point and none elsewhere, none with quick */
    const char *out_path;   /* row file; NULL: rows are only returned */
    const char *store_root; /* NULL: no store */
    bool resume;            /* measure only what out_path has no good row of; every other row of it is carried over */
    const char *cache_dir;  /* oracle answers; NULL: the user's */
    const cbx_sandbox *sandbox; /* NULL: as CBX_SANDBOX_INIT; the row file and the store are hidden in any case */
    const cbx_stop_flag *stop;  /* may be NULL */
    void (*progress)(void *user, const cbx_measure_progress *p); /* may be NULL; called by one thread at a time */
    void *user;
} cbx_measure_opts;

#define CBX_MEASURE_OPTS_INIT                                                                                          \
    {                                                                                                                  \
        sizeof(cbx_measure_opts), .warmup = -1, .warm_compiles = -1                                                    \
    }

CBX_END_DECLS
#endif
