/*
 * A native worker at work, shared by worker.c (messages, measuring) and worker_load.c (what it is
 * given).
 */
#ifndef CALIBRAX_PERF_LAUNCH_WORKER_INTERNAL_H
#define CALIBRAX_PERF_LAUNCH_WORKER_INTERNAL_H

#include "calibrax/base/json_put.h"
#include "calibrax/perf/case/failure.h"
#include "calibrax/perf/launch/wire.h"
#include "calibrax/perf/launch/worker.h"

typedef struct cbx__worker {
    cbx_ctx *ctx;
    const cbx_case_list *cases;
    const cbx_case_ops *c;
    const cbx_baseline_ops *baseline; /* NULL: the oracle was loaded */
    cbx_params *point;
    size_t nsets;
    cbx_array *in[CBX__WIRE_FDS_MAX]; /* [set * ninputs + input] */
    cbx_array *out[CBX_CASE_MAX_ARRAYS];
    int out_fds[2 * CBX_CASE_MAX_ARRAYS];
    size_t nout_fds;
    void *plan, *heap_pad;
    volatile unsigned char *flush; /* larger than the caches; NULL: not asked for */
    size_t flush_bytes;
    struct cbx__worker_bench *bench; /* NULL: none was asked for */
    bool compiled, done;
    double clock_cost_ns;
    const char *phase;
    cbx_failure cause; /* of the failure that a handler returned */
    cbx_err err;
    cbx__wire wire;
} cbx__worker;

/* A handler's failure: the cause for the wire, and the sentence unless err holds it already.
 * Always false. */
bool cbx__worker_fail(cbx__worker *w, cbx_failure cause, const char *fmt, ...) CBX_PRINTF(3, 4);
/* A status of the library or of a case as a cause. */
bool cbx__worker_fail_status(cbx__worker *w, cbx_status st, cbx_failure otherwise);
/* Sends an answer, and drops it; NULL: no memory for it. */
bool cbx__worker_say(cbx__worker *w, cbx_json *answer);
#define cbx__worker_answer(w, ...) cbx__worker_say(w, cbx_json_object(__VA_ARGS__))

/* Handlers of messages. */
bool cbx__worker_load(cbx__worker *w, const cbx_json *m);
bool cbx__worker_inputs(cbx__worker *w, const cbx_json *m);
/* A benchmark of a plug-in, phase by phase (worker_benchmark.c); cleared after `bye`. */
bool cbx__worker_benchmark(cbx__worker *w, const cbx_json *m);
bool cbx__worker_phase(cbx__worker *w, const cbx_json *m);
bool cbx__worker_dataset(cbx__worker *w, const cbx_json *m);
bool cbx__worker_batch(cbx__worker *w, const cbx_json *m);
bool cbx__worker_calls(cbx__worker *w, uint64_t n);
void cbx__worker_benchmark_clear(cbx__worker *w);
/* Every byte of the outputs. */
void cbx__worker_poison(cbx__worker *w);

#endif
