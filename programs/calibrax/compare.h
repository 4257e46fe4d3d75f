/*
 * The arguments of `calibrax compare`, and its modes; each is a file, and returns the exit status.
 */
#ifndef CALIBRAX_PROGRAMS_COMPARE_H
#define CALIBRAX_PROGRAMS_COMPARE_H

#include "programs/calibrax/inputs.h"

typedef struct compare_args {
    select_args select;
    inputs_args inputs;
    const char *by, *reference;
    opt_list metrics, weights, objectives;
    double level, threshold;
    size_t draws, seed;
    int score; /* cbx_score_kind */
    bool allow_machines, diff, rank, exit_code, values, front_only;
} compare_args;

int compare_diff(const opt_run *run);
int compare_rank(const opt_run *run);
int compare_pareto(const opt_run *run);

#endif
