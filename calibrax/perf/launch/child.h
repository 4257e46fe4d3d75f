/*
 * A child process in a process group of its own, started through nperf-launch, with a socket as
 * descriptor 3.
 */
#ifndef CALIBRAX_PERF_LAUNCH_CHILD_H
#define CALIBRAX_PERF_LAUNCH_CHILD_H

#include "calibrax/base/process.h"
#include "calibrax/perf/launch/grants.h"
#include "calibrax/perf/launch/launch.h"

typedef struct cbx__child_opts {
    const char *const *program; /* program and arguments, NULL-terminated */
    const char *const *env;     /* the whole environment, NULL-terminated */
    const int *held;            /* descriptors that the child inherits, as 4 and so on */
    size_t nheld;
    const int *cores;
    size_t ncores;
    size_t env_pad_bytes, stack_pad_bytes;
    bool confine;             /* forbid what a worker has no business with ... */
    cbx_sandbox_mode sandbox; /* ... in this mode, not OFF ... */
    const cbx__grant *grants; /* ... but these */
    size_t ngrants;
    bool measure;       /* the launcher stays, waits, and reports on descriptor 3 */
    const char *folder; /* NULL: ours */
    int output;         /* descriptor that gets its standard output; 0: show_output decides */
    bool show_output;   /* stdout and stderr pass through; else stdout is discarded and the end of stderr kept */
} cbx__child_opts;

/* "0,2,3" in the arena; "" for none; NULL: out of memory. */
const char *cbx__cores_text(cbx_arena *arena, const int *cores, size_t n);
/* @return CBX_OK; CBX_ENOENT (no launcher); CBX_EIO, CBX_ENOMEM */
cbx_status cbx__child_start(const cbx_allocator *al, const cbx__child_opts *opts, cbx__process *c, cbx_err *err);
/* Kills what descends from the leader, but not the leader.  @return their number */
size_t cbx__child_sweep(cbx__process *c);
/* SIGKILL to the whole group, and to all that descend from its leader while that still lives,
 * whatever group they went to. */
void cbx__child_kill(cbx__process *c);
/* The same, then reaps the leader and closes the descriptors.  Fine on an init-ed struct, and
 * twice. */
void cbx__child_finish(cbx__process *c);

#endif
