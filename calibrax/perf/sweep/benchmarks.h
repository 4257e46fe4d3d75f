/**
 * Benchmarks run into a Run: launches as samples, targets checked, trace written.
 *
 *     cbx_benchmark_source source = CBX_BENCHMARK_SOURCE_INIT;
 *     cbx_benchmark_opts opts = CBX_BENCHMARK_OPTS_INIT;
 *     source.kind = CBX_BENCHMARK_OBJECT;
 *     source.path = "sum.so";
 *     opts.launches = 10;
 *     st = cbx_benchmark_run(ctx, &source, &opts, &report, &err);
 *     if (!st) st = cbx_store_save(store, cbx_benchmark_report_run(report), false, &err);
 *     exit_code = cbx_benchmark_report_exit_code(report);
 *     cbx_benchmark_report_free(report);
 *
 * A launch of an object, a command or a Python class is a fresh process, and the sample: identical
 * programs differ by launch.  Launches of several benchmarks are interleaved by Williams squares,
 * so that drift and order favour none of them.
 *
 * A point is a benchmark.  With one launch a metric is as that launch gave it; with more its value
 * is the median over launches, its interval that of order statistics, its samples the launches; it
 * is NaN if a launch gave a value that is not finite.  Beside what the benchmark gives, each fresh
 * process adds cpu_user, cpu_system, max_rss, peak_rss, and wall_time (of a command) or
 * launch_seconds (of a worker).
 *
 * A benchmark of which more launches fail than opts.allow_failed has failed: the exit code is 2,
 * and its point, made of the good launches, has the tag failed_launches ("4 of 5"), so that no
 * check takes it for a sound one.
 *
 * metadata.benchmarks holds for each benchmark its driver, launches, failures, targets,
 * configuration and what each launch reported beside its metrics; metadata.targets how the targets
 * came out; metadata.sources the places of their code that are known, as {"point","file","line"}
 * with files relative to their repository; metadata.trace the file of the trace, or why it could
 * not be written; metadata.trace_link the traces of opts.trace_dir (profiling/trace_link.h), or why
 * there are none.
 *
 * Interrupted (opts.stop): a process gets SIGTERM, so that it can tear down, and SIGKILL after the
 * grace; what finished is kept.
 */
#ifndef CALIBRAX_PERF_SWEEP_BENCHMARKS_H
#define CALIBRAX_PERF_SWEEP_BENCHMARKS_H

#include "calibrax/perf/case/source.h"
#include "calibrax/perf/case/targets.h"
#include "calibrax/perf/launch/phases.h"

CBX_BEGIN_DECLS

/** A launch that failed. */
typedef struct cbx_benchmark_failure {
    const char *benchmark;
    size_t launch;     /* from 1 */
    const char *phase; /* "start", "setup", "training", "work", "evaluation", "targets", "run", "output" */
    cbx_status status;
    const char *message;
} cbx_benchmark_failure;

typedef struct cbx_benchmark_opts {
    uint32_t struct_size;
    const char *const *names; /* benchmarks of the source to run; nnames 0: all */
    size_t nnames;
    size_t launches;  /* 1..65536 of each */
    double timeout_s; /* of a launch in a process of its own; 0: none */
    double grace_s;   /* between SIGTERM and SIGKILL */
    double level;     /* of intervals, in (0, 1) */
    /* share of a benchmark's launches that may fail, in [0, 1): with more of them the benchmark
     * has failed */
    double allow_failed;
    /* warmup, samples, sample_s, budget_s, batch_size, max_batches, config; the rest is ours */
    cbx_benchmark_measure_opts measure;
    const cbx_tag *tags; /* of each point */
    size_t ntags;
    const char *name;           /* of the point; NULL: the benchmark's.  Only for a single benchmark */
    const char *scenario;       /* NULL: the benchmark's domain */
    const cbx_metric_def *defs; /* before those that the benchmarks give */
    size_t ndefs;
    const cbx_named_metric *targets; /* of every benchmark; before those that the benchmarks give */
    size_t ntargets;
    const char *trace;                 /* file to write; NULL: none */
    bool show_output;                  /* standard output and error of processes pass through */
    const cbx_run_opts *run;           /* what the run finds out by itself; NULL: all */
    const volatile sig_atomic_t *stop; /* NULL: never */
    /** Called after each launch; failure NULL: it went well.  May be NULL. */
    void (*progress)(void *user, const char *benchmark, size_t launch, size_t launches,
                     const cbx_benchmark_failure *failure);
    void *progress_user;
    /* folder into which the benchmarks write traces of their own (JAX, XLA, Perfetto); NULL:
     * none */
    const char *trace_dir;
    /** Optional: called after `launches` of each benchmark, and again after those that it asked
     * for.
     * @param run  of all launches so far; NULL: none is good
     * @return how many more launches of each; 0: enough */
    size_t (*more)(void *user, const cbx_run *run, size_t launches);
    void *more_user;
} cbx_benchmark_opts;

#define CBX_BENCHMARK_OPTS_INIT                                                                                        \
    CBX_OPTS(cbx_benchmark_opts, 0, 0, 1, 0, 10, 0.95, 0, CBX_BENCHMARK_MEASURE_OPTS_INIT, 0, 0, 0, 0, 0, 0, 0, 0, 0,  \
             0, 0, 0, 0, 0, 0, 0, 0)

typedef struct cbx_benchmark_report cbx_benchmark_report;

/**
 * Runs the benchmarks of a source.  A benchmark that fails is part of the report, not a failure of
 * this call.
 * @param out  written on success only; the caller frees it
 * @return CBX_OK, also if it was interrupted; CBX_EINVAL (options); CBX_ENOENT (no such benchmark);
 *         as cbx_plugin_open for an object, the worker's or interpreter's absence, a trace whose
 *         file cannot be made (reported before the work; one that cannot be written after it costs
 *         nothing else: cbx_benchmark_report_trace_fault); CBX_ENOMEM
 */
CBX_API cbx_status cbx_benchmark_run(cbx_ctx *ctx, const cbx_benchmark_source *source, const cbx_benchmark_opts *opts,
                                     cbx_benchmark_report **out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_benchmark_report_free(cbx_benchmark_report *r);

/** NULL: no launch came to its end.  Lives as long as the report, or as a reference that is taken
 * of it. */
CBX_API cbx_run *cbx_benchmark_report_run(const cbx_benchmark_report *r);
CBX_API const cbx_target_check *cbx_benchmark_report_targets(const cbx_benchmark_report *r, size_t *count);
CBX_API const cbx_benchmark_failure *cbx_benchmark_report_failures(const cbx_benchmark_report *r, size_t *count);
/** Why the trace was not written, a sentence that lives as long as the report; NULL: it was, or
 * none was asked for. */
CBX_API const char *cbx_benchmark_report_trace_fault(const cbx_benchmark_report *r);
/** Why the benchmarks' own traces could not be referred to; NULL: they are, or none was
 * requested. */
CBX_API const char *cbx_benchmark_report_link_fault(const cbx_benchmark_report *r);
/** 130 interrupted; else that of the targets; 2 if a benchmark failed and no target was missed.
 * The trace has no part in it. */
CBX_API int cbx_benchmark_report_exit_code(const cbx_benchmark_report *r);
/** {"schema":"calibrax-benchmark-report","version":1,"run","targets","failures","interrupted","exit_code"};
 * NULL: out of memory. */
CBX_API cbx_json *cbx_benchmark_report_json(const cbx_benchmark_report *r);

/** Names of the benchmarks of a source, in its order, in the arena.  @return as
 * cbx_benchmark_run */
CBX_API cbx_status cbx_benchmark_list(cbx_ctx *ctx, const cbx_benchmark_source *source, const cbx_benchmark_opts *opts,
                                      cbx_arena *arena, const char *const **names, size_t *count, cbx_err *err);

CBX_END_DECLS
#endif
