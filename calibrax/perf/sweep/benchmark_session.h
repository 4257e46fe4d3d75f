/*
 * A session of benchmarks: what its drivers, its merging of launches and its report share.
 * Internal to perf.
 */
#ifndef CALIBRAX_PERF_SWEEP_BENCHMARK_SESSION_H
#define CALIBRAX_PERF_SWEEP_BENCHMARK_SESSION_H

#include "calibrax/perf/case/failure.h"
#include "calibrax/perf/sweep/benchmarks.h"

typedef struct cbx__session {
    cbx_ctx *ctx;
    cbx_arena *arena; /* lives as long as the report */
    const cbx_benchmark_source *source;
    const cbx_benchmark_opts *o;
    cbx_timeline *trace;
    size_t planned; /* launches of each benchmark, as far as is known */
} cbx__session;

/* What the kernel counted of a process and all that it started; NaN: unknown. */
typedef struct cbx__process_use {
    double wall_s, cpu_user_s, cpu_system_s;
    double max_rss_mb;  /* of a single process, at most */
    double peak_rss_mb; /* of all processes at the same time, at most */
} cbx__process_use;

/* One launch.  Zeroed at first; cleared with cbx__launch_clear. */
typedef struct cbx__launch {
    cbx_run *run; /* one point; NULL: it failed, for the reason in the next three */
    cbx_status status;
    const char *phase;   /* a constant or in the session's arena */
    const char *message; /* in the session's arena */
    bool has_process;
    cbx__process_use process;
} cbx__launch;

void cbx__launch_clear(cbx__launch *l);
/* Records a failure; the first one stays. */
void cbx__launch_fail(cbx__session *s, cbx__launch *l, const char *phase, cbx_status st, const char *fmt, ...)
    CBX_PRINTF(5, 6);

/*
 * Why a process gave nothing, as an error: time, stop flag, signal or status; else the message.
 * @param words  the last of its standard error; ""
 */
cbx_status cbx__session_explain(const cbx__session *s, cbx_failure failure, int exit_code, int term_signal,
                                const char *message, const char *words, cbx_err *err);

/* How benchmarks of one kind are listed and launched.  The list of drivers is in
 * benchmark_session.c. */
typedef struct cbx__driver {
    cbx_status (*list)(cbx__session *s, const char *const **names, size_t *count, cbx_err *err);
    /*
     * @return CBX_OK, also for a benchmark that failed; CBX_EINTERRUPTED (the stop flag); what
     *         makes further launches useless: CBX_ENOMEM, a missing program
     */
    cbx_status (*launch)(cbx__session *s, const char *name, cbx__launch *out, cbx_err *err);
} cbx__driver;

extern const cbx__driver cbx__driver_worker, cbx__driver_command;

/*
 * A run with one point from the standard output of a command; output that cannot be used is a
 * failure of the launch in phase "output".
 * @return CBX_OK; CBX_ENOMEM
 */
cbx_status cbx__output_read(cbx__session *s, const cbx_benchmark_command *c, const char *text, size_t len,
                            cbx__launch *out, cbx_err *err);

/* All launches of one benchmark, in order; those that failed have no run. */
typedef struct cbx__gathered {
    const char *name;
    cbx__launch *launches;
    size_t count, good, capacity;
    bool failed; /* more launches failed than the user allows */
} cbx__gathered;

struct cbx_benchmark_report {
    cbx_arena arena;
    cbx__gathered *gathered;
    size_t ngathered;
    cbx_run *run;
    cbx_target_check *targets;
    size_t ntargets;
    cbx_benchmark_failure *failures;
    size_t nfailures;
    const char *trace_fault; /* why the trace was not written; NULL: it was, or none was requested */
    const char *link_fault;  /* the same of traces that the benchmarks wrote */
    bool interrupted;
};

/* Makes the run of the gathered launches, judges the targets, lists the failures; in place of what
 * it made before. */
cbx_status cbx__report_finish(cbx_benchmark_report *r, cbx__session *s, cbx_err *err);

#endif
