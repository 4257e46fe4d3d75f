/*
 * The store that a command's work goes into: had before the work, and still there, or told, after it.
 */
#ifndef CALIBRAX_PROGRAMS_KEEP_H
#define CALIBRAX_PROGRAMS_KEEP_H

#include "calibrax/storage/store.h"
#include "programs/common/options.h"

/* Opens the store, made if missing: one that cannot be had is told before the work, not after it.  EXIT_PASS or EXIT_ERROR, told. */
int keep_prepare(const opt_run *run, const char *store);
/* Saves the run.  A store whose disk went away meanwhile is made anew, where the path leads now, and that is told. */
cbx_status keep_run(const opt_run *run, const char *store, const cbx_run *r, cbx_err *err);

#endif
