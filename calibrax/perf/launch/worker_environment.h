/*
 * The environment a worker gets: the parent's, less what would make a measurement depend on a
 * user's shell.
 */
#ifndef CALIBRAX_PERF_LAUNCH_WORKER_ENVIRONMENT_H
#define CALIBRAX_PERF_LAUNCH_WORKER_ENVIRONMENT_H

#include "calibrax/base/environment.h"
#include "calibrax/perf/launch/launch.h"

/* This process's, without the variables that steer allocators, threads, BLAS and frameworks. */
void cbx__environment_clean(cbx__environment *e, cbx_arena *arena);
/* Everything a worker needs: protocol descriptor, threads, device, cores, then the variant's
 * settings. */
void cbx__environment_worker(cbx__environment *e, const cbx_launch_opts *opts, const char *provider);

#endif
