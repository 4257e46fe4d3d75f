/*
 * Between the parts of nperf's first command: what was asked for, where it goes, and what they do for each other.
 */
#ifndef PROGRAMS_NPERF_MEASURE_H
#define PROGRAMS_NPERF_MEASURE_H

#include "programs/nperf/nperf.h"

#define MEASURE_DEFAULT_CASE "semiring_matmul"

typedef struct measure_args {
    const char *case_name, *point_set, *out, *report, *site, *store, *variants, *sandbox;
    opt_list sandbox_read, sandbox_write;
    opt_list platforms, gpus, points, baselines, skip, render_from, gate_baseline, gate_current, plugins, defined;
    size_t repeats, launches, cpu_slots, max_parallel, seed, prune_keep;
    int warmup, threads, warm_compiles;
    double budget, precision, worker_timeout, gpu_settle, lock_wait, gate_min, gate_p95;
    const char *matmul_precision, *gate_out, *selftest, *op_matrix, *csv;
    uint64_t memory_limit;
    bool quick, decide, skip_slow, in_process, cold_cache, latest, resume, json, list;
} measure_args;

/** Paths, defaults included. */
typedef struct outputs {
    const char *rows, *report, *page;
    const char *folder; /* of the page */
    cbx_arena *arena;
} outputs;

/* --- options (measure_options.c) --- */

/* The command itself (measure.c). */
int measure_run(const opt_run *run);

/* Ways of working besides a case of workers. */
enum { FOR_COMMANDS = 1, FOR_RENDERS = 2 };
/* What does nothing is refused, not ignored: the first option given that is of another way of working; NULL: none. */
const char *measure_not_for(const measure_args *a, unsigned way);
/* The command that gives such rows again, without paths; NULL: out of memory. */
const char *measure_reproduce(const measure_args *a, cbx_arena *arena);
/* Options of a sweep; sandbox lends its lists.  @return an exit status; a fault has been printed */
int measure_fill(const opt_program *program, const measure_args *a, const cbx_case_ops *c, const outputs *to,
                 progress *p, cbx_measure_opts *o);
/* Checked before anything is made: a path that does not exist is a mistake. */
int measure_sandbox(const opt_program *program, const measure_args *a, cbx_sandbox *out);

/* --- what is shown and written (measure_show.c) --- */

int show_rows(const opt_program *program, const cbx_rows *rows, bool json);
int write_report(const opt_program *program, cbx_ctx *ctx, const cbx_rows *rows, const char *command,
                 const outputs *to);
int write_csv(const opt_program *program, cbx_ctx *ctx, const measure_args *a, const cbx_rows *rows);
/* Rows that are there, rendered again. */
int measure_render(const opt_program *program, cbx_ctx *ctx, const measure_args *a, const outputs *to);

#endif
