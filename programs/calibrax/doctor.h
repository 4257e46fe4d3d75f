/*
 * The arguments of `calibrax doctor`, and its other mode, which returns the exit status.
 */
#ifndef CALIBRAX_PROGRAMS_CALIBRAX_DOCTOR_H
#define CALIBRAX_PROGRAMS_CALIBRAX_DOCTOR_H

#include "programs/common/options.h"

typedef struct doctor_args {
    bool json, machine, probe, refresh, sheets;
    const char *root, *plot;
    int gpu; /* -1: none */
} doctor_args;

int doctor_machine(const opt_run *run);

#endif
