/*
 * Between the parts of nperf's first command: what was asked for, where it goes, and what they do
 * for each other.
 */
#ifndef PROGRAMS_NPERF_MEASURE_H
#define PROGRAMS_NPERF_MEASURE_H

#include "calibrax/perf/gate/gate.h"
#include "programs/nperf/nperf.h"

/* --- the gate, from its own command and from the flags --gate-... of the program --- */

#define GATE_OUT    "results/gate.json"
#define GATE_REPORT "results/gate.md"

typedef struct gate_args {
    opt_list baseline, current; /* no current: results/store */
    cbx_row_gate_opts how;
    const char *waivers, *out, *report, *junit;
    bool github, json;
} gate_args;

/* Returns the exit status. */
int gate_rows(const opt_run *run, const gate_args *a);

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

#endif
