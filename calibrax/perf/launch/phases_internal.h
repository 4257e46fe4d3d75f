/*
 * The phases of a benchmark, wherever it runs: phases.c runs them in order and makes a run of what
 * they give.  A benchmark runs in this process (local.c), or in a worker that answers messages
 * (conversation.c at this end, worker_benchmark.c at the other).
 */
#ifndef CALIBRAX_PERF_LAUNCH_PHASES_INTERNAL_H
#define CALIBRAX_PERF_LAUNCH_PHASES_INTERNAL_H

#include "calibrax/perf/launch/phases.h"

/* In the order in which they run. */
typedef enum cbx__phase {
    CBX__PHASE_SETUP,
    CBX__PHASE_TRAINING,
    CBX__PHASE_WORK,
    CBX__PHASE_EVALUATION,
    CBX__PHASE_TARGETS,
    CBX__PHASE_TEARDOWN,
    CBX__PHASE_COUNT
} cbx__phase;

/* "setup", "training" ... */
extern const char *const cbx__phase_names[CBX__PHASE_COUNT];

typedef struct cbx__bench {
    const char *name, *domain;
    bool has[CBX__PHASE_COUNT];
    bool batches; /* its work is an iteration over a dataset */
    const cbx_metric_def *defs;
    size_t ndefs;
    const cbx_tag *tags;
    size_t ntags;
    const cbx_json *versions; /* kept with the result; NULL: none */
    const cbx_json *source;   /* the same: {"file": F, "line": L} of its code */
    double clock_ns;          /* cost of a reading of the clock where it runs */
    void *user;
    /* Each returns its time by the clock where it runs.  Values go to `out`, or nowhere if it is
     * NULL. */
    cbx_status (*phase)(void *user, cbx__phase phase, cbx_values *out, double *ns, cbx_err *err);
    cbx_status (*calls)(void *user, uint64_t n, double *ns, cbx_err *err); /* of timed work */
    /* Examples of the dataset, at least 1, after set-up and training; 0: it has no dataset, and is
     * not timed. */
    cbx_status (*length)(void *user, size_t *examples, cbx_err *err);
    cbx_status (*batch)(void *user, size_t start, size_t examples, double *ns, cbx_err *err);
    /* Optional: whether the times can be believed, after the work. */
    cbx_status (*judge)(void *user, cbx_err *err);
} cbx__bench;

/* As cbx_benchmark_measure.  @param o  checked */
cbx_status cbx__bench_run(cbx_ctx *ctx, const cbx__bench *b, const cbx_benchmark_measure_opts *o, cbx_run **out,
                          cbx_err *err);

/* A benchmark of this process. */
typedef struct cbx__local_bench {
    cbx_ctx *ctx;
    cbx_benchmark_ops ops;
    void *self;
    size_t batch_size;
    const volatile sig_atomic_t *stop; /* looked at between calls of work */
} cbx__local_bench;

/* @return CBX_OK; as cbx_benchmark_ops_read */
cbx_status cbx__local_bench_init(cbx__local_bench *l, cbx_ctx *ctx, const cbx_benchmark_ops *ops, void *self,
                                 cbx__bench *out, cbx_err *err);

#endif
