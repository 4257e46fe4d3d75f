/*
 * The arguments of `calibrax trend`, and its modes; each is a file, and returns the exit status.
 */
#ifndef CALIBRAX_PROGRAMS_TREND_H
#define CALIBRAX_PROGRAMS_TREND_H

#include "calibrax/analysis/changepoint.h"
#include "programs/calibrax/inputs.h"

typedef struct trend_args {
    select_args select;
    inputs_args inputs;
    const char *framework, *output, *state, *over;
    opt_list before, after; /* runs that measured both sides of the last change again */
    cbx_changepoint_opts how;
    double level, threshold;
    int method, cost, law, figure; /* figure: cbx_plot_format, -1: none */
    bool changes, allow_machines, tendency, replace, new_only, check, allow_dropped;
} trend_args;

int trend_changes(const opt_run *run);
int trend_over(const opt_run *run);

#endif
