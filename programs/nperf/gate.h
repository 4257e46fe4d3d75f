/*
 * The gate, from its own command and from the flags --gate-... of the program.
 */
#ifndef CALIBRAX_PROGRAMS_NPERF_GATE_H
#define CALIBRAX_PROGRAMS_NPERF_GATE_H

#include "calibrax/perf/gate/gate.h"
#include "programs/nperf/nperf.h"

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

#endif
