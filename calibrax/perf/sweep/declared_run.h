/**
 * Case files at work: the set-up of one with Python functions, and the rounds of one with commands.
 */
#ifndef CALIBRAX_PERF_SWEEP_DECLARED_RUN_H
#define CALIBRAX_PERF_SWEEP_DECLARED_RUN_H

#include "calibrax/perf/case/declared.h"
#include "calibrax/perf/case/source.h"
#include "calibrax/perf/launch/launch.h"
#include "calibrax/perf/sweep/exec.h"

CBX_BEGIN_DECLS

/* --- the checks of a case file of commands, after each run, not timed --- */

/* @param how  folder, time limit, environment and stop flag of the commands among the checks
 * @return CBX_OK; CBX_EDOM: a wrong output; CBX_ECHILD: a command did not exit with 0;
 *         CBX_EINTERRUPTED; CBX_EIO, CBX_ENOMEM */
cbx_status cbx__command_checks(cbx_ctx *ctx, const cbx_command_check *checks, size_t n, const cbx_command_opts *how,
                               cbx_err *err);

/** Runs the set-up of a file of kind "python", once, in the file's folder.  @return CBX_OK, also
 * without a set-up; CBX_ECHILD, CBX_EIO */
CBX_API cbx_status cbx_declared_setup(cbx_ctx *ctx, const cbx_declared *d, const cbx_stop_flag *stop, cbx_err *err);

/**
 * Measures a file of kind "commands": at each point a new folder, set-up in it, then the commands
 * in rounds, each run's outputs checked.  Rows have the case's name, the point, and the baselines'
 * names; a run whose outputs are wrong makes its baseline fidelity_failed.
 * @param opts    points, quick, allow, deny, skip_slow, launches, warmup, budget (of all points
 *                together; 0: exec's own for each), precision, worker_timeout, lock_wait, seed,
 *                out_path, stop, progress; the rest is ignored
 * @param result  initialised; points counts points, points_good those with a good row
 * @return CBX_OK, also when commands failed or the stop flag ended it; CBX_EINVAL (a point, an
 *         unknown baseline, or none left); CBX_ECHILD: the set-up failed; CBX_EBUSY (another
 *         invocation holds cores); CBX_EIO, CBX_ENOMEM
 */
CBX_API cbx_status cbx_declared_run(cbx_ctx *ctx, const cbx_declared *d, const cbx_measure_opts *opts,
                                    cbx_measure_result *result, cbx_err *err);

CBX_END_DECLS
#endif
