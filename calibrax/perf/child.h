/*
 * A child process in a process group of its own, started through nperf-launch, with a socket (or pipe) as descriptor 3.
 */
#ifndef CALIBRAX_PERF_CHILD_H
#define CALIBRAX_PERF_CHILD_H

#include <sys/resource.h>
#include <sys/types.h>

#include "calibrax/perf/launch.h"

#define CBX__CHILD_TAIL 2047

typedef struct cbx__child_opts {
    const char *const *program; /* program and arguments, NULL-terminated */
    const char *const *env;     /* the whole environment, NULL-terminated */
    const int *held;            /* descriptors that the child inherits, as 4 and so on */
    size_t nheld;
    const int *cores;
    size_t ncores;
    size_t env_pad_bytes, stack_pad_bytes;
    bool measure;     /* the launcher stays, waits, and reports on descriptor 3 */
    bool show_output; /* stdout and stderr pass through; else stdout is discarded and the end of stderr kept */
} cbx__child_opts;

typedef struct cbx__child {
    pid_t pid;   /* leader of its group; 0: none */
    int pidfd;   /* readable once the leader ended; -1 where the kernel has none */
    int channel; /* our end of its descriptor 3 */
    int errors;  /* our end of its stderr; -1 */
    bool reaped;
    bool killed; /* by us */
    bool lost;   /* somebody else reaped it (SIGCHLD is ignored): status and usage are unknown */
    int status;  /* as wait4 gives it, once reaped */
    struct rusage usage;
    size_t tail_len;
    char tail[CBX__CHILD_TAIL + 1]; /* last bytes of stderr */
} cbx__child;

void cbx__child_init(cbx__child *c);
/* @return CBX_OK; CBX_ENOENT (no launcher); CBX_EIO, CBX_ENOMEM */
cbx_status cbx__child_start(const cbx_allocator *al, const cbx__child_opts *opts, cbx__child *c, cbx_err *err);
/* Takes what stands in the stderr pipe, without waiting. */
void cbx__child_drain(cbx__child *c);
/* True once the leader has ended (it stays a zombie, so that its group can be killed without touching another). */
bool cbx__child_ended(const cbx__child *c);
/* Waits for the end; false if the time ran out first. */
bool cbx__child_wait(cbx__child *c, uint64_t timeout_ns);
/* SIGKILL to the whole group, and to all that descend from its leader while that still lives, whatever group they went to. */
void cbx__child_kill(cbx__child *c);
/* Kills what descends from the leader, but not the leader.  @return their number */
size_t cbx__child_sweep(cbx__child *c);
/* Kills what is left of the group, reaps the leader, closes the descriptors.  Fine on an init-ed struct, and twice. */
void cbx__child_finish(cbx__child *c);

/* Last bytes of stderr as text: printable, cut at a line where possible.  @param size  of out, at least 1 */
void cbx__child_tail(const cbx__child *c, char *out, size_t size);

#endif
