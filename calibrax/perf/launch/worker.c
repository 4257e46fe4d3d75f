/*
 * The worker's side of the protocol: load (worker_load.c), compile, epochs, outputs; or load and
 * oracle.
 */
#include "calibrax/perf/launch/worker_internal.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/array/io/npy.h"
#include "calibrax/base/clock.h"
#include "calibrax/base/version.h"
#include "calibrax/core/machine.h"

#define PROTOCOL_VERSION 1
#define CACHE_LINE       64

bool cbx__worker_fail(cbx__worker *w, cbx_failure cause, const char *fmt, ...)
{
    va_list args;
    w->cause = cause;
    if (fmt) {
        va_start(args, fmt);
        vsnprintf(w->err.message, sizeof w->err.message, fmt, args);
        va_end(args);
    }
    return false;
}

bool cbx__worker_fail_status(cbx__worker *w, cbx_status st, cbx_failure otherwise)
{
    const cbx_failure cause = st == CBX_ENOMEM         ? CBX_FAILURE_OUT_OF_MEMORY
                              : st == CBX_EUNAVAILABLE ? CBX_FAILURE_BACKEND_UNAVAILABLE
                              : st == CBX_EUNSUPPORTED ? CBX_FAILURE_HOST_UNSUPPORTED
                                                       : otherwise;
    return cbx__worker_fail(w, cause, NULL);
}

bool cbx__worker_say(cbx__worker *w, cbx_json *answer)
{
    cbx_status st = answer ? cbx__wire_send(&w->wire, cbx_ctx_allocator(w->ctx), answer, NULL, 0, &w->err) : CBX_ENOMEM;
    cbx_json_unref(answer);
    return st == CBX_OK;
}

/* --- measuring --- */

/* Outputs that a call does not touch are overwritten when they are collected: here it would sweep
 * the caches between epochs. */
static bool bind_set(cbx__worker *w, size_t set)
{
    if (set >= w->nsets) return cbx__worker_fail(w, CBX_FAILURE_PROTOCOL, "there is no input set %zu", set);
    if (!w->baseline->collect) cbx__worker_poison(w);
    w->baseline->bind(w->plan, w->in + set * w->c->ninputs, w->out);
    return true;
}

static double timed(void (*run)(void *), void *plan, uint64_t n, double clock_cost_ns)
{
    uint64_t start = cbx_clock_ns();
    for (uint64_t i = 0; i < n; i++) run(plan);
    double ns = (double)(cbx_clock_ns() - start) - clock_cost_ns;
    return ns > 0 ? ns : 0;
}

static bool do_compile(cbx__worker *w, const cbx_json *m)
{
    (void)m;
    if (!w->baseline || w->compiled)
        return cbx__worker_fail(w, CBX_FAILURE_PROTOCOL, "compile comes once, after the load of a baseline");
    if (!bind_set(w, 0)) return false;
    double ns = timed(w->baseline->run, w->plan, 1, w->clock_cost_ns);
    w->compiled = true;
    cbx_json *answer = cbx_json_object(J_TEXT("op", "compiled"), J_NUMBER("first_call_ns", ns));
    cbx_json_set_null(answer, "compile_ns");
    return cbx__worker_say(w, answer);
}

static bool do_epoch(cbx__worker *w, const cbx_json *m)
{
    int64_t set = cbx_json_get_int(m, "set", -1), n = cbx_json_get_int(m, "iterations", -1);
    if (w->bench && n >= 0) return cbx__worker_calls(w, (uint64_t)n);
    if (!w->compiled) return cbx__worker_fail(w, CBX_FAILURE_PROTOCOL, "epoch comes after compile");
    if (set < 0 || n < 0)
        return cbx__worker_fail(w, CBX_FAILURE_PROTOCOL, "epoch needs a set and a number of iterations");
    if (!bind_set(w, (size_t)set)) return false;
    double ns = timed(w->baseline->run, w->plan, (uint64_t)n, w->clock_cost_ns);
    return cbx__worker_answer(w, J_TEXT("op", "epoch"), J_NUMBER("ns", ns));
}

/* A call on each of some sets, every result fetched. */
static bool do_series(cbx__worker *w, const cbx_json *m)
{
    const cbx_json *sets = cbx_json_get(m, "sets");
    const cbx_baseline_ops *b = w->baseline;
    if (!w->compiled || cbx_json_length(sets) == 0)
        return cbx__worker_fail(w, CBX_FAILURE_PROTOCOL, "series comes after compile, and names its sets");
    for (size_t i = 0; i < cbx_json_length(sets); i++)
        if ((uint64_t)cbx_json_int_value(cbx_json_at(sets, i)) >= w->nsets)
            return cbx__worker_fail(w, CBX_FAILURE_PROTOCOL, "series names no set that is there");
    cbx__worker_poison(w);
    uint64_t start = cbx_clock_ns();
    for (size_t i = 0; i < cbx_json_length(sets); i++) {
        b->bind(w->plan, w->in + (size_t)cbx_json_int_value(cbx_json_at(sets, i)) * w->c->ninputs, w->out);
        b->run(w->plan);
        if (b->collect) b->collect(w->plan);
    }
    double ns = (double)(cbx_clock_ns() - start);
    return cbx__worker_answer(w, J_TEXT("op", "series"), J_NUMBER("ns", ns));
}

/* Read and written line by line: a store that goes around the caches would leave in them what is
 * there. */
static bool do_flush(cbx__worker *w, const cbx_json *m)
{
    (void)m;
    if (!w->flush) return cbx__worker_fail(w, CBX_FAILURE_PROTOCOL, "flush comes after a load with flush_bytes");
    for (size_t i = 0; i < w->flush_bytes; i += CACHE_LINE) w->flush[i]++;
    return cbx__worker_answer(w, J_TEXT("op", "flush"));
}

static void nothing(void *plan) { (void)plan; }

/* The loop of the epochs around a call that returns at once. */
static bool do_null(cbx__worker *w, const cbx_json *m)
{
    int64_t n = cbx_json_get_int(m, "iterations", -1);
    void (*volatile run)(void *) = nothing; /* not known to the compiler, as a baseline's is not */
    if (n < 0) return cbx__worker_fail(w, CBX_FAILURE_PROTOCOL, "null needs a number of iterations");
    double ns = timed(run, w->plan, (uint64_t)n, w->clock_cost_ns);
    return cbx__worker_answer(w, J_TEXT("op", "null"), J_NUMBER("ns", ns));
}

static bool do_outputs(cbx__worker *w, const cbx_json *m)
{
    (void)m;
    if (!w->compiled) return cbx__worker_fail(w, CBX_FAILURE_PROTOCOL, "outputs comes after compile");
    if (w->baseline->collect) {
        cbx__worker_poison(w);
        w->baseline->collect(w->plan);
    }
    for (size_t i = 0; i < w->c->noutputs; i++) {
        cbx_status st = cbx_npy_write_fd(w->ctx, w->out_fds[i], w->out[i], &w->err);
        if (st) return cbx__worker_fail_status(w, st, CBX_FAILURE_RUN_ERROR);
    }
    return cbx__worker_answer(w, J_TEXT("op", "outputs"));
}

static bool do_oracle(cbx__worker *w, const cbx_json *m)
{
    cbx_array *answer[CBX_CASE_MAX_ARRAYS] = { 0 }, *bound[CBX_CASE_MAX_ARRAYS] = { 0 };
    (void)m;
    if (!w->c || w->baseline)
        return cbx__worker_fail(w, CBX_FAILURE_PROTOCOL, "oracle comes after a load without baseline");
    cbx_status st = w->c->oracle(w->ctx, w->point, w->in, answer, bound, &w->err);
    for (size_t i = 0; !st && i < w->c->noutputs; i++) {
        st = cbx_npy_write_fd(w->ctx, w->out_fds[2 * i], answer[i], &w->err);
        if (!st) st = cbx_npy_write_fd(w->ctx, w->out_fds[2 * i + 1], bound[i], &w->err);
    }
    for (size_t i = 0; i < CBX_CASE_MAX_ARRAYS; i++) {
        cbx_array_free(answer[i]);
        cbx_array_free(bound[i]);
    }
    return st ? cbx__worker_fail_status(w, st, CBX_FAILURE_ORACLE_FAILED)
              : cbx__worker_answer(w, J_TEXT("op", "oracle"));
}

static bool do_bye(cbx__worker *w, const cbx_json *m)
{
    (void)m;
    w->done = true;
    return cbx__worker_answer(w, J_TEXT("op", "bye"), J_TEXT("device_peak_bytes", NULL));
}

/* --- the loop --- */

static const struct {
    const char *op;
    bool (*handle)(cbx__worker *w, const cbx_json *message);
} handlers[] = {
    { "load", cbx__worker_load },
    { "compile", do_compile },
    { "epoch", do_epoch },
    { "inputs", cbx__worker_inputs },
    { "outputs", do_outputs },
    { "oracle", do_oracle },
    { "bye", do_bye },
    { "flush", do_flush },
    { "null", do_null },
    { "series", do_series },
    { "benchmark", cbx__worker_benchmark },
    { "phase", cbx__worker_phase },
    { "dataset", cbx__worker_dataset },
    { "batch", cbx__worker_batch },
};

/* Handles a message; false: it failed, or could not be read. */
static bool handle(cbx__worker *w, const char *line, size_t len)
{
    cbx_json *m = NULL;
    size_t i = 0;
    if (cbx_json_parse(line, len, "the parent's message", &m, &w->err))
        return cbx__worker_fail(w, CBX_FAILURE_PROTOCOL, NULL);
    const char *op = cbx_json_get_string(m, "op", "");
    while (i < CBX_LEN(handlers) && strcmp(op, handlers[i].op) != 0) i++;
    if (i < CBX_LEN(handlers)) w->phase = handlers[i].op;
    bool ok = i < CBX_LEN(handlers) ? handlers[i].handle(w, m)
                                    : cbx__worker_fail(w, CBX_FAILURE_PROTOCOL, "unknown op '%.40s'", op);
    cbx_json_unref(m);
    return ok;
}

static int serve(cbx__worker *w)
{
    const char *threads = getenv("OMP_NUM_THREADS");
    if (!cbx__worker_answer(
            w, J_TEXT("op", "hello"), J_INT("protocol", PROTOCOL_VERSION), J_TEXT("framework", "native"),
            J_JSON("versions", cbx_json_object(J_TEXT("calibrax", cbx_version()), J_TEXT("revision", cbx_revision()),
                                               J_TEXT("build", cbx_build()))),
            J_INT("threads", threads ? atoi(threads) : 1), J_TEXT("instruction_set", cbx_machine_isa()),
            J_BOOL("flush", true), J_BOOL("null", true), J_BOOL("series", true)))
        return 2;
    while (!w->done) {
        char *line = NULL;
        size_t len = 0;
        cbx_status st = cbx__wire_next_line(&w->wire, &line, &len, &w->err);
        if (!st && !line) st = cbx__wire_fill(&w->wire, &w->err);
        if (st == CBX_ECHILD || st == CBX_EIO) return 2;
        if (st) cbx__worker_fail(w, CBX_FAILURE_PROTOCOL, NULL);
        if (!st && (!line || handle(w, line, len))) continue;
        cbx__worker_answer(w, J_TEXT("op", "error"), J_TEXT("phase", w->phase),
                           J_TEXT("cause", cbx_failure_word(w->cause)), J_TEXT("message", w->err.message));
        return 1;
    }
    return 0;
}

int cbx_worker_main(const cbx_case_list *cases, int fd)
{
    cbx_clock_facts clock;
    cbx_ctx *ctx = NULL;
    cbx__worker *w = calloc(1, sizeof *w);
    int status = 2;
    if (w && cbx_ctx_create(NULL, &ctx, NULL) == CBX_OK) {
        cbx_clock_measure(&clock);
        w->ctx = ctx;
        w->cases = cases;
        w->clock_cost_ns = clock.cost_ns;
        w->phase = "import";
        w->cause = CBX_FAILURE_RUN_ERROR;
        cbx__wire_init(&w->wire, fd, true);
        status = serve(w);
        cbx__worker_benchmark_clear(w);
        if (w->plan) w->baseline->finish(w->plan);
        for (size_t i = 0; i < CBX__WIRE_FDS_MAX; i++) cbx_array_free(w->in[i]);
        for (size_t i = 0; i < CBX_CASE_MAX_ARRAYS; i++) cbx_array_free(w->out[i]);
        for (size_t i = 0; i < w->nout_fds; i++) close(w->out_fds[i]);
        cbx_params_free(w->point);
        free(w->heap_pad);
        free((void *)w->flush);
        cbx__wire_clear(&w->wire);
    }
    cbx_ctx_free(ctx);
    free(w);
    return status;
}

int cbx_worker_fd(void)
{
    const char *text = getenv("NPERF_WORKER_FD");
    char *end = NULL;
    long fd = text ? strtol(text, &end, 10) : -1;
    if (!text || end == text || *end || fd < 0 || fd > 1 << 20 || fcntl((int)fd, F_GETFD) < 0) return -1;
    fcntl((int)fd, F_SETFD, FD_CLOEXEC); /* a program that a baseline starts must not keep the channel open */
    return (int)fd;
}
