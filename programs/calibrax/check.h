/*
 * The arguments of `calibrax check`, and its modes; check_targets returns the exit status.
 */
#ifndef CALIBRAX_PROGRAMS_CHECK_H
#define CALIBRAX_PROGRAMS_CHECK_H

#include "programs/calibrax/inputs.h"

typedef struct check_args {
    select_args select;
    inputs_args inputs;
    const char *baseline, *waivers, *name, *reference;
    double threshold, primary, secondary, minimum, level;
    opt_list rules, targets, series, tolerances;
    size_t hold;
    int format; /* cbx_guard_format */
    bool values_only, allow_dropped, allow_machines, undecided_passes;
} check_args;

int check_targets(const opt_run *run);
/*
 * Refuses a run with values that cannot be right: a time that is not above 0, or a value outside the range of its samples.
 * @param q  points to look at; NULL: all
 */
int check_values(const opt_run *run, const cbx_run *r, const cbx_store_query *q);

#endif
