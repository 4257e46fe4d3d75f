/*
 * Between the parts of nperf's first command: what was asked for, where it goes, and what they do
 * for each other.
 */
#ifndef PROGRAMS_NPERF_MEASURE_H
#define PROGRAMS_NPERF_MEASURE_H

#include "programs/nperf/gate.h"

#define MEASURE_DEFAULT_CASE "semiring_matmul"

typedef struct measure_args {
    cbx_measure_opts o; /* its lists, paths and callbacks are set by measure_fill */
    cbx_sandbox sandbox;
    gate_args gate;
    const char *case_name, *out, *report, *site, *selftest, *op_matrix, *csv;
    opt_list sandbox_read, sandbox_write, platforms, gpus, points, baselines, skip, render_from, plugins, defined;
    size_t prune_keep;
    int series; /* --points series */
    bool latest, json, list;
} measure_args;

/** Paths, defaults included. */
typedef struct outputs {
    const char *rows, *report, *page;
    const char *folder; /* of the page */
} outputs;

/* --- options (measure_options.c) --- */

/* The command itself (measure.c). */
int run_measure(const opt_run *run);

/* The first option given that does nothing for a case of commands; NULL: none. */
const char *measure_not_for_commands(const opt_run *run);
/* The command that gives such rows again, without paths. */
const char *measure_reproduce(const opt_run *run);
/* Completes the options of a sweep.  @return an exit status; a fault has been printed */
int measure_fill(const opt_run *run, measure_args *a, const cbx_case_ops *c, const outputs *to, progress *p);

/* --- what is shown and written (measure_show.c) --- */

int show_rows(const opt_run *run, const cbx_rows *rows, bool json);
int write_report(const opt_run *run, const cbx_rows *rows, const char *command, const outputs *to);
int write_csv(const opt_run *run, const measure_args *a, const cbx_rows *rows);
/* Rows that are there, rendered again. */
int measure_render(const opt_run *run, const measure_args *a, const outputs *to);

#endif
