/*
 * A driver: how benchmarks of one kind are listed and launched.  The list is in benchmark_session.c.
 */
#ifndef CALIBRAX_PERF_SWEEP_DRIVER_H
#define CALIBRAX_PERF_SWEEP_DRIVER_H

#include "calibrax/perf/sweep/benchmarks.h"

/* What drivers work with. */
typedef struct cbx__session {
    cbx_ctx *ctx;
    cbx_arena *arena; /* lives as long as the report */
    const cbx_benchmark_source *source;
    const cbx_benchmark_opts *o;
    cbx_timeline *trace;
} cbx__session;

/* What the kernel counted of a process and all that it started; NaN: unknown. */
typedef struct cbx__process_use {
    double wall_s, cpu_user_s, cpu_system_s;
    double max_rss_mb;  /* of a single process, at most */
    double peak_rss_mb; /* of all processes at the same time, at most */
} cbx__process_use;

/* One launch.  Zeroed at first; cleared with cbx__launch_clear. */
typedef struct cbx__launch {
    cbx_run *run; /* one point; NULL: it failed, and the next three say why */
    cbx_status status;
    const char *phase;   /* a constant or in the session's arena */
    const char *message; /* in the session's arena */
    bool has_process;
    cbx__process_use process;
} cbx__launch;

typedef struct cbx__driver {
    cbx_status (*list)(cbx__session *s, const char *const **names, size_t *count, cbx_err *err);
    /*
     * @return CBX_OK, also for a benchmark that failed; CBX_EINTERRUPTED (the stop flag); what makes further launches useless: CBX_ENOMEM,
     *         a missing program
     */
    cbx_status (*launch)(cbx__session *s, const char *name, cbx__launch *out, cbx_err *err);
} cbx__driver;

extern const cbx__driver cbx__driver_ops, cbx__driver_worker, cbx__driver_command;

void cbx__launch_clear(cbx__launch *l);
/* Records a failure; the first one stays. */
void cbx__launch_fail(cbx__session *s, cbx__launch *l, const char *phase, cbx_status st, const char *fmt, ...)
    CBX_PRINTF(5, 6);

#endif
