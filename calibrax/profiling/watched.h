/*
 * A process from its start to its end, with the resources of all that it starts: one run of a command, one launch of a benchmark.
 */
#ifndef CALIBRAX_PROFILING_WATCHED_H
#define CALIBRAX_PROFILING_WATCHED_H

#include "calibrax/base/process.h"
#include "calibrax/profiling/profile.h"

typedef struct cbx__watched_opts {
    cbx__process_opts process;
    double interval_s;                 /* between samples; 0: 0.1 */
    double timeout_s;                  /* then it is ended as by the stop flag; 0: none */
    double grace_s;                    /* between SIGTERM and SIGKILL */
    const volatile sig_atomic_t *stop; /* not 0: SIGTERM to the process, after the grace SIGKILL; NULL: no flag */
    cbx_gpu *gpu;                      /* borrowed; NULL: none */
} cbx__watched_opts;

typedef enum cbx__watched_end { CBX__WATCHED_ITSELF, CBX__WATCHED_TIMEOUT, CBX__WATCHED_STOPPED } cbx__watched_end;

typedef struct cbx__watched {
    cbx_profile_run run; /* its samples live until cbx__watched_clear */
    uint64_t start_ns, end_ns;
    cbx__watched_end end;
    bool killed;          /* it did not end within the grace */
    char last_words[256]; /* last line of standard error, if that was read */
    cbx_resource_monitor *monitor;
} cbx__watched;

/*
 * @param out  written on success only; the caller clears it
 * @return CBX_OK, whatever the exit status; CBX_ENOENT, CBX_EPERM (no such program, or it may not be run); CBX_ENOMEM; CBX_EIO
 */
cbx_status cbx__watched_run(cbx_ctx *ctx, const cbx__watched_opts *opts, cbx__watched *out, cbx_err *err);
void cbx__watched_clear(cbx__watched *w);
/* A span of its time, and counters of its samples. */
void cbx__watched_trace(cbx_timeline *t, const char *name, const cbx__watched *w);

#endif
