/**
 * The worker's side: what a program calls to run native baselines for a parent that speaks
 * PROTOCOL.md.
 *
 * nperf-worker is this function and a list of cases; the author of a plug-in builds one with a list
 * of his own and lets NPERF_WORKER name it.
 */
#ifndef CALIBRAX_PERF_LAUNCH_WORKER_H
#define CALIBRAX_PERF_LAUNCH_WORKER_H

#include "calibrax/perf/case/case.h"

CBX_BEGIN_DECLS

/**
 * Speaks the protocol until `bye` or a failure.  Prints nothing, and leaves `fd` open.
 *
 * An epoch is timed with the monotonic clock around its calls, less the measured cost of one
 * reading; before each epoch the inputs of its set are bound and every byte of the outputs is
 * overwritten with 0x7e, outside the timed part, so that a baseline that does nothing leaves wrong
 * numbers behind.
 *
 * @param cases  borrowed
 * @param fd     connected stream socket; usually the number in NPERF_WORKER_FD
 * @return exit status for main: 0 after `bye`; 1 after a failure that was reported to the parent; 2
 *   if the parent went away
 */
CBX_API int cbx_worker_main(const cbx_case_list *cases, int fd);

/** The descriptor that NPERF_WORKER_FD names; -1 if it is unset or names no open descriptor. */
CBX_API int cbx_worker_fd(void);

CBX_END_DECLS
#endif
