/*
 * The environment a worker gets: the parent's, less what would make a measurement depend on a user's shell.
 */
#ifndef CALIBRAX_PERF_ENVIRONMENT_H
#define CALIBRAX_PERF_ENVIRONMENT_H

#include "calibrax/perf/launch.h"

typedef struct cbx__environment {
    cbx_arena *arena;
    const char **vars; /* "NAME=value", NULL-terminated */
    size_t n, cap;
    bool failed; /* memory was out */
} cbx__environment;

/* Starts from this process's environment.  clean: without the variables that steer allocators, threads, BLAS and frameworks. */
void cbx__environment_init(cbx__environment *e, cbx_arena *arena, bool clean);
/* value NULL: unset. */
void cbx__environment_set(cbx__environment *e, const char *name, const char *value);
/* Everything a worker needs: protocol descriptor, threads, device, cores, then the variant's settings. */
void cbx__environment_worker(cbx__environment *e, const cbx_launch_opts *opts, const char *provider);

#endif
