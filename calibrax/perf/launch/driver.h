/*
 * A driver: how benchmarks of one kind are listed and launched.  One file each; the list is in session.c.
 */
#ifndef CALIBRAX_PERF_LAUNCH_DRIVER_H
#define CALIBRAX_PERF_LAUNCH_DRIVER_H

#include "calibrax/perf/sweep/benchmarks.h"
#include "calibrax/profiling/watched.h"

/* What drivers work with. */
typedef struct cbx__session {
    cbx_ctx *ctx;
    cbx_arena *arena; /* lives as long as the report */
    const cbx_benchmark_source *source;
    const cbx_benchmark_opts *o;
    cbx_timeline *trace;
} cbx__session;

/* One launch.  Zeroed at first; cleared with cbx__launch_clear. */
typedef struct cbx__launch {
    cbx_run *run; /* one point; NULL: it failed, and the next three say why */
    cbx_status status;
    const char *phase;   /* a constant or in the session's arena */
    const char *message; /* in the session's arena */
    double hwm_mb;       /* greatest memory of the process as it said itself; 0: it did not */
    bool has_process;
    cbx_profile_run process; /* without samples */
} cbx__launch;

typedef struct cbx__driver {
    cbx_status (*list)(cbx__session *s, const char *const **names, size_t *count, cbx_err *err);
    /*
     * @return CBX_OK, also for a benchmark that failed; CBX_EINTERRUPTED (the stop flag); what makes further launches useless: CBX_ENOMEM,
     *         a missing program
     */
    cbx_status (*launch)(cbx__session *s, const char *name, cbx__launch *out, cbx_err *err);
} cbx__driver;

extern const cbx__driver cbx__driver_ops, cbx__driver_object, cbx__driver_command, cbx__driver_python;

void cbx__launch_clear(cbx__launch *l);
/* Records a failure; the first one stays. */
void cbx__launch_fail(cbx__session *s, cbx__launch *l, const char *phase, cbx_status st, const char *fmt, ...)
    CBX_PRINTF(5, 6);
/* Why a watched process gave nothing: time, signal, status; the last words are added. */
void cbx__launch_explain(cbx__session *s, cbx__launch *l, const char *phase, const cbx__watched *w);

/* --- a worker: a program that reads a request from standard input and answers on descriptor 3 --- */

#define CBX__ANSWER_SCHEMA  "calibrax-benchmark-answer"
#define CBX__ANSWER_VERSION 1
#define CBX__ANSWER_MOST    ((size_t)256 << 20)

/* What a worker is asked; name NULL: for the names. */
cbx_json *cbx__request(const cbx__session *s, const char *name);
cbx_status cbx__worker_list(cbx__session *s, const char *const *argv, const char *const **names, size_t *count,
                            cbx_err *err);
cbx_status cbx__worker_launch(cbx__session *s, const char *const *argv, const char *name, cbx__launch *out,
                              cbx_err *err);
/* {"schema","version","failure":{"phase","status","message"}} or with "names", or "run" and perhaps "hwm_bytes".  NULL: out of memory. */
cbx_json *cbx__answer(const char *key, cbx_json *value);
/* Taken apart; used by the parent and by a fuzzer.  An answer that is none is a failure of phase "output". */
cbx_status cbx__answer_read(cbx__session *s, const char *text, size_t len, cbx__launch *out, cbx_err *err);

#endif
