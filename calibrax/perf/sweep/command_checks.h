/*
 * The checks of a case file of commands, after each run, not timed.
 */
#ifndef CALIBRAX_PERF_SWEEP_COMMAND_CHECKS_H
#define CALIBRAX_PERF_SWEEP_COMMAND_CHECKS_H

#include "calibrax/perf/case/source.h"
#include "calibrax/perf/launch/launch.h"

/* @param how  folder, time limit, environment and stop flag of the commands among the checks
 * @return CBX_OK; CBX_EDOM: a wrong output; CBX_ECHILD: a command did not exit with 0;
 *         CBX_EINTERRUPTED; CBX_EIO, CBX_ENOMEM */
cbx_status cbx__command_checks(cbx_ctx *ctx, const cbx_command_check *checks, size_t n, const cbx_command_opts *how,
                               cbx_err *err);

#endif
