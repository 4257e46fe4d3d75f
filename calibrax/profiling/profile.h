/**
 * A command that is run several times and monitored: wall time, resources of all its processes, one
 * record a run.
 *
 * The process launch is the sample: estimates are over runs.  A run lasts from before the process
 * is made until it has ended, even if its children live on.
 */
#ifndef CALIBRAX_PROFILING_PROFILE_H
#define CALIBRAX_PROFILING_PROFILE_H

#include <signal.h>

#include "calibrax/profiling/energy.h"
#include "calibrax/profiling/tracing.h"
#include "calibrax/statistics/estimate.h"

CBX_BEGIN_DECLS

typedef struct cbx_profile_opts {
    uint32_t struct_size;
    const char *const *argv;  /* program and arguments, NULL at the end; searched in PATH */
    size_t warmup, runs;      /* runs that do not count, and 1..65536 that do */
    double interval_s;        /* between samples; 0: 0.01 */
    bool show_output;         /* standard output is that of this program, else discarded; standard error always is */
    bool ignore_failure;      /* a run may have any exit status */
    cbx_gpu *gpu;             /* sampled too; borrowed; NULL: none */
    cbx_energy_meter *energy; /* read after every run; borrowed; NULL: none */
    cbx_timeline *trace;      /* receives a span a run and counters; borrowed; NULL: none */
    const volatile sig_atomic_t
        *stop; /* not 0: ends the run (SIGTERM, SIGKILL after 10 s); CBX_EINTERRUPTED; NULL: never */
} cbx_profile_opts;

#define CBX_PROFILE_OPTS_INIT CBX_OPTS(cbx_profile_opts, 0, 1, 10, 0, 0, 0, 0, 0, 0, 0)

typedef struct cbx_profile_run {
    double wall_s;
    double cpu_user_s, cpu_system_s; /* of all processes: the greater of wait4 and the monitor */
    double max_rss_mb;               /* MiB, greatest of a single process; see profile.c on wait4 */
    int exit_status;                 /* 128 + number for a signal */
    cbx_resource_report resources;   /* without samples; num_samples 0: ended before the first sample */
} cbx_profile_run;

typedef struct cbx_profile {
    cbx_profile_run *runs; /* owned: cbx_profile_clear */
    size_t nruns;
    cbx_allocator al;
} cbx_profile;

/**
 * @param out  written on success only; the caller clears it
 * @return CBX_OK; CBX_EINVAL; CBX_ENOENT, CBX_EPERM (no such program, or it may not be run);
 *         CBX_ECHILD (a run failed); CBX_EINTERRUPTED; CBX_ENOMEM; CBX_EIO
 */
CBX_API cbx_status cbx_profile_command(cbx_ctx *ctx, const cbx_profile_opts *opts, cbx_profile *out, cbx_err *err);
CBX_API void cbx_profile_clear(cbx_profile *p);

CBX_END_DECLS
#endif
