/*
 * calibrax run: what it reads of its options, and how it shows what came of them.
 */
#ifndef CALIBRAX_PROGRAMS_RUN_H
#define CALIBRAX_PROGRAMS_RUN_H

#include "calibrax/perf/sweep/benchmarks.h"
#include "programs/common/options.h"

typedef struct run_args {
    const char *plugin, *module, *python, *file, *data, *trace, *trace_dir, *name, *scenario;
    int metrics; /* cbx_command_metrics */
    opt_list benchmarks, config, tags, defines, targets;
    size_t launches, warmup, samples, batch_size, max_batches;
    double sample_ms, budget, timeout, grace, level, allow_failed;
    bool list, show_output, json;
} run_args;

/* The options as the library takes them; config is freed by the caller.  0, or 2 with a sentence said. */
int run_read_source(const opt_run *run, cbx_benchmark_source *out);
int run_read_opts(const opt_run *run, cbx_benchmark_opts *out, cbx_json **config);

/* Points, targets; for people. */
void run_print(const opt_run *run, const cbx_benchmark_report *r);

#endif
