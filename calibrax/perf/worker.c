/*
 * The worker's side of the protocol: load, compile, epochs, outputs; or load and oracle.
 *
 * Inputs are copied out of the memory files into blocks of the context's pool: aligned, on huge pages where that helps, and
 * resident before the first call, so that no epoch pays for touching shared pages.
 */
#include "calibrax/perf/worker.h"

#include <fcntl.h>
#include <omp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/array/io/npy.h"
#include "calibrax/base/clock.h"
#include "calibrax/base/version.h"
#include "calibrax/perf/failure.h"
#include "calibrax/perf/wire.h"

#define POISON           0x7e
#define PROTOCOL_VERSION 1
#define MAX_HEAP_PAD     (64u << 20)
#define MAX_FLUSH        (1ll << 32)
#define PAGE             4096
#define CACHE_LINE       64

typedef struct worker {
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
    bool compiled, done;
    double clock_cost_ns;
    const char *phase;
    cbx_failure cause; /* of the failure that a handler returned */
    cbx_err err;
    cbx__wire wire;
} worker;

/* A handler's failure: the cause for the wire, and the sentence unless err holds it already. */
static bool fail(worker *w, cbx_failure cause, const char *fmt, ...) CBX_PRINTF(3, 4);
static bool fail(worker *w, cbx_failure cause, const char *fmt, ...)
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

/* A status of the library or of a case as a cause. */
static bool fail_status(worker *w, cbx_status st, cbx_failure otherwise)
{
    static const struct {
        cbx_status status;
        cbx_failure cause;
    } table[] = {
        { CBX_ENOMEM, CBX_FAILURE_OUT_OF_MEMORY },
        { CBX_EUNAVAILABLE, CBX_FAILURE_BACKEND_UNAVAILABLE },
        { CBX_EUNSUPPORTED, CBX_FAILURE_HOST_UNSUPPORTED },
    };
    for (size_t i = 0; i < CBX_LEN(table); i++) {
        if (table[i].status == st) return fail(w, table[i].cause, NULL);
    }
    return fail(w, otherwise, NULL);
}

static bool say(worker *w, cbx_json *answer)
{
    cbx_status st = answer ? cbx__wire_send(&w->wire, cbx_ctx_allocator(w->ctx), answer, NULL, 0, &w->err) : CBX_ENOMEM;
    cbx_json_unref(answer);
    return st == CBX_OK;
}

static cbx_json *answer_of(const char *op)
{
    cbx_json *m = cbx_json_new_object();
    if (m) cbx_json_set_string(m, "op", op);
    return m;
}

static const char *instruction_set(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return "avx512";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "avx2";
    return "sse2";
#elif defined(__aarch64__)
    return "neon";
#else
    return "plain";
#endif
}

static bool say_hello(worker *w)
{
    cbx_json *m = answer_of("hello"), *versions = cbx_json_new_object();
    const char *threads = getenv("OMP_NUM_THREADS");
    if (!m || !versions) {
        cbx_json_unref(versions);
        return say(w, m);
    }
    cbx_json_set_int(m, "protocol", PROTOCOL_VERSION);
    cbx_json_set_string(m, "framework", "native");
    cbx_json_set_string(versions, "calibrax", cbx_version());
    cbx_json_set_string(versions, "revision", cbx_revision());
    cbx_json_set_string(versions, "build", cbx_build());
    cbx_json_set(m, "versions", versions);
    cbx_json_set_int(m, "threads", threads ? atoi(threads) : 1);
    cbx_json_set_string(m, "instruction_set", instruction_set());
    cbx_json_set_bool(m, "flush", true);
    cbx_json_set_bool(m, "null", true);
    return say(w, m);
}

/* --- load --- */

static bool find_case(worker *w, const cbx_json *m)
{
    const char *name = cbx_json_get_string(m, "case", ""), *baseline = cbx_json_get_string(m, "baseline", NULL);
    cbx_json *point = cbx_json_get(m, "point");
    cbx_text text;
    cbx_status st;

    w->c = cbx_case_find(w->cases, name);
    if (!w->c) return fail(w, CBX_FAILURE_WORKER_MISSING, "this worker does not know the case '%s'", name);
    if (baseline) {
        w->baseline = cbx_case_baseline(w->c, baseline);
        if (!w->baseline || !w->baseline->run)
            return fail(w, CBX_FAILURE_WORKER_MISSING, "case '%s' has no native baseline '%s' in this worker", name,
                        baseline);
    }
    cbx_text_init(&text, cbx_ctx_allocator(w->ctx));
    cbx_json_write(point, CBX_JSON_COMPACT, &text);
    st = cbx_text_check(&text, &w->err);
    if (!st) st = cbx_case_point(w->ctx, w->c, cbx_text_str(&text), "load", &w->point, &w->err);
    cbx_text_clear(&text);
    return st ? fail_status(w, st, CBX_FAILURE_PROTOCOL) : true;
}

static cbx_status read_input(worker *w, int fd, cbx_array **out)
{
    cbx_array *mapped = NULL, *copy = NULL;
    cbx_status st = cbx_npy_map_fd(w->ctx, fd, &mapped, &w->err);
    if (!st && !cbx_array_is_contiguous(mapped)) st = cbx_fail(&w->err, CBX_ESHAPE, "an input is not row-major");
    if (!st) st = cbx_array_create(w->ctx, cbx_array_get_desc(mapped), &copy, &w->err);
    if (!st && cbx_array_bytes(mapped))
        memcpy(cbx_array_data_mut(copy), cbx_array_data(mapped), cbx_array_bytes(mapped));
    cbx_array_free(mapped);
    if (!st) *out = copy;
    return st;
}

/* Descriptors come in the order of `arrays`, which is the order of the case, set after set. */
static bool read_inputs(worker *w, const cbx_json *m)
{
    const cbx_json *arrays = cbx_json_get(m, "arrays");
    size_t n = cbx_json_length(arrays), per_set = w->c->ninputs;
    if (n > w->wire.nfds || n > CBX__WIRE_FDS_MAX || (per_set && (n < per_set || n % per_set != 0)) || (!per_set && n))
        return fail(w, CBX_FAILURE_PROTOCOL, "load names %zu arrays and brings %zu descriptors", n, w->wire.nfds);
    w->nsets = per_set ? n / per_set : 1;
    for (size_t i = 0; i < n; i++) {
        const cbx_json *one = cbx_json_at(arrays, i);
        const char *name = cbx_json_get_string(one, "name", "");
        if (strcmp(name, w->c->input_names[i % per_set]) != 0 ||
            cbx_json_get_int(one, "set", 0) != (int64_t)(i / per_set))
            return fail(w, CBX_FAILURE_PROTOCOL, "array %zu is not input '%s' of set %zu", i,
                        w->c->input_names[i % per_set], i / per_set);
        cbx_status st = read_input(w, w->wire.fds[i], &w->in[i]);
        if (st) return fail_status(w, st, CBX_FAILURE_PROTOCOL);
    }
    return true;
}

/* Another set, or other elements for one that is there: written over the old ones, so that nothing moves and nothing is added. */
static bool do_inputs(worker *w, const cbx_json *m)
{
    const cbx_json *arrays = cbx_json_get(m, "arrays");
    int64_t set = cbx_json_get_int(m, "set", -1);
    size_t n = w->c ? w->c->ninputs : 0;
    if (!w->compiled) return fail(w, CBX_FAILURE_PROTOCOL, "inputs comes after compile");
    if (set < 0 || (uint64_t)set > w->nsets || ((size_t)set + 1) * n > CBX__WIRE_FDS_MAX)
        return fail(w, CBX_FAILURE_PROTOCOL, "inputs names no set that is there, nor the next one");
    if (cbx_json_length(arrays) != n || w->wire.nfds != n)
        return fail(w, CBX_FAILURE_PROTOCOL, "inputs names %zu arrays and brings %zu descriptors, %zu are needed",
                    cbx_json_length(arrays), w->wire.nfds, n);
    for (size_t i = 0; i < n; i++) {
        cbx_array **old = &w->in[(size_t)set * n + i], *fresh = NULL;
        cbx_status st;
        if (strcmp(cbx_json_get_string(cbx_json_at(arrays, i), "name", ""), w->c->input_names[i]) != 0)
            return fail(w, CBX_FAILURE_PROTOCOL, "array %zu is not input '%s'", i, w->c->input_names[i]);
        st = *old ? cbx_npy_map_fd(w->ctx, w->wire.fds[i], &fresh, &w->err) : read_input(w, w->wire.fds[i], &fresh);
        if (st) return fail_status(w, st, CBX_FAILURE_PROTOCOL);
        if (!*old) {
            *old = fresh;
            continue;
        }
        bool same = cbx_array_is_contiguous(fresh) &&
                    cbx_array_desc_equal(cbx_array_get_desc(fresh), cbx_array_get_desc(*old));
        if (same && cbx_array_bytes(fresh))
            memcpy(cbx_array_data_mut(*old), cbx_array_data(fresh), cbx_array_bytes(fresh));
        cbx_array_free(fresh);
        if (!same) return fail(w, CBX_FAILURE_PROTOCOL, "input '%s' has another form", w->c->input_names[i]);
    }
    for (size_t i = 0; i < n; i++) close(w->wire.fds[i]);
    w->wire.nfds = 0;
    if ((size_t)set == w->nsets) w->nsets++;
    return say(w, answer_of("inputs"));
}

static bool take_outputs(worker *w, size_t ninputs)
{
    size_t wanted = w->c->noutputs * (w->baseline ? 1 : 2);
    cbx_array_desc descs[CBX_CASE_MAX_ARRAYS];
    if (w->wire.nfds != ninputs + wanted)
        return fail(w, CBX_FAILURE_PROTOCOL, "load brings %zu descriptors, %zu are needed", w->wire.nfds,
                    ninputs + wanted);
    for (size_t i = 0; i < wanted; i++) w->out_fds[i] = w->wire.fds[ninputs + i];
    for (size_t i = 0; i < ninputs; i++) close(w->wire.fds[i]);
    w->nout_fds = wanted;
    w->wire.nfds = 0;
    w->c->outputs(w->point, descs);
    for (size_t i = 0; w->baseline && i < w->c->noutputs; i++) {
        cbx_status st = cbx_array_create(w->ctx, &descs[i], &w->out[i], &w->err);
        if (st) return fail_status(w, st, CBX_FAILURE_RUN_ERROR);
        if (cbx_array_bytes(w->out[i])) memset(cbx_array_data_mut(w->out[i]), POISON, cbx_array_bytes(w->out[i]));
    }
    return true;
}

/* Resident from the start, so that it is no part of what the work adds. */
static bool make_flush(worker *w, int64_t bytes)
{
    if (bytes < 0 || bytes > MAX_FLUSH)
        return fail(w, CBX_FAILURE_PROTOCOL, "flush_bytes is outside 0..%lld", MAX_FLUSH);
    if (bytes == 0) return true;
    w->flush = malloc((size_t)bytes);
    if (!w->flush) return fail(w, CBX_FAILURE_OUT_OF_MEMORY, "no memory to flush the caches with");
    w->flush_bytes = (size_t)bytes;
    for (size_t i = 0; i < w->flush_bytes; i += PAGE) w->flush[i] = 1;
    return true;
}

/* With the threads that a parallel region would get, for the parent to compare with what it told. */
static bool say_loaded(worker *w)
{
    cbx_json *m = answer_of("loaded"), *policy = cbx_json_new_object(), *threads = cbx_json_new_object();
    if (!m || !policy || !threads) {
        cbx_json_unref(policy);
        cbx_json_unref(threads);
        return say(w, m);
    }
    cbx_json_set_int(threads, "openmp", omp_get_max_threads());
    cbx_json_set(policy, "threads", threads);
    cbx_json_set(policy, "settings", cbx_json_new_object());
    cbx_json_set(m, "policy", policy);
    return say(w, m);
}

static bool do_load(worker *w, const cbx_json *m)
{
    int64_t pad = cbx_json_get_int(m, "heap_pad", 0);
    if (w->c) return fail(w, CBX_FAILURE_PROTOCOL, "load came twice");
    if (pad < 0 || pad > MAX_HEAP_PAD) return fail(w, CBX_FAILURE_PROTOCOL, "heap_pad is outside 0..%u", MAX_HEAP_PAD);
    if (pad) w->heap_pad = malloc((size_t)pad);
    if (!make_flush(w, cbx_json_get_int(m, "flush_bytes", 0))) return false;
    if (!find_case(w, m) || !read_inputs(w, m) || !take_outputs(w, w->nsets * w->c->ninputs)) return false;
    if (w->baseline) {
        cbx_status st = w->baseline->prepare(w->ctx, w->point, &w->plan, &w->err);
        if (st) return fail_status(w, st, CBX_FAILURE_COMPILE_ERROR);
    }
    return say_loaded(w);
}

/* --- measuring --- */

static void poison_outputs(worker *w)
{
    for (size_t i = 0; i < w->c->noutputs; i++) {
        if (cbx_array_bytes(w->out[i])) memset(cbx_array_data_mut(w->out[i]), POISON, cbx_array_bytes(w->out[i]));
    }
}

/* Outputs that a call does not touch are overwritten when they are collected: here it would sweep the caches between epochs. */
static bool bind_set(worker *w, size_t set)
{
    if (set >= w->nsets) return fail(w, CBX_FAILURE_PROTOCOL, "there is no input set %zu", set);
    if (!w->baseline->collect) poison_outputs(w);
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

static double timed_calls(worker *w, uint64_t n) { return timed(w->baseline->run, w->plan, n, w->clock_cost_ns); }

static bool do_compile(worker *w, const cbx_json *m)
{
    cbx_json *answer;
    double ns;
    (void)m;
    if (!w->baseline || w->compiled)
        return fail(w, CBX_FAILURE_PROTOCOL, "compile comes once, after the load of a baseline");
    if (!bind_set(w, 0)) return false;
    ns = timed_calls(w, 1);
    w->compiled = true;
    answer = answer_of("compiled");
    if (answer) {
        cbx_json_set_double(answer, "first_call_ns", ns);
        cbx_json_set_null(answer, "compile_ns");
    }
    return say(w, answer);
}

static bool do_epoch(worker *w, const cbx_json *m)
{
    int64_t set = cbx_json_get_int(m, "set", -1), n = cbx_json_get_int(m, "iterations", -1);
    cbx_json *answer;
    double ns;
    if (!w->compiled) return fail(w, CBX_FAILURE_PROTOCOL, "epoch comes after compile");
    if (set < 0 || n < 0) return fail(w, CBX_FAILURE_PROTOCOL, "epoch needs a set and a number of iterations");
    if (!bind_set(w, (size_t)set)) return false;
    ns = timed_calls(w, (uint64_t)n);
    answer = answer_of("epoch");
    if (answer) cbx_json_set_double(answer, "ns", ns);
    return say(w, answer);
}

/* Read and written line by line: a store that goes around the caches would leave in them what is there. */
static bool do_flush(worker *w, const cbx_json *m)
{
    (void)m;
    if (!w->flush) return fail(w, CBX_FAILURE_PROTOCOL, "flush comes after a load with flush_bytes");
    for (size_t i = 0; i < w->flush_bytes; i += CACHE_LINE) w->flush[i]++;
    return say(w, answer_of("flush"));
}

static void nothing(void *plan) { (void)plan; }

/* The loop of the epochs around a call that returns at once. */
static bool do_null(worker *w, const cbx_json *m)
{
    int64_t n = cbx_json_get_int(m, "iterations", -1);
    void (*volatile run)(void *) = nothing; /* not known to the compiler, as a baseline's is not */
    cbx_json *answer = answer_of("null");
    if (n < 0) {
        cbx_json_unref(answer);
        return fail(w, CBX_FAILURE_PROTOCOL, "null needs a number of iterations");
    }
    if (answer) cbx_json_set_double(answer, "ns", timed(run, w->plan, (uint64_t)n, w->clock_cost_ns));
    return say(w, answer);
}

static bool do_outputs(worker *w, const cbx_json *m)
{
    (void)m;
    if (!w->compiled) return fail(w, CBX_FAILURE_PROTOCOL, "outputs comes after compile");
    if (w->baseline->collect) {
        poison_outputs(w);
        w->baseline->collect(w->plan);
    }
    for (size_t i = 0; i < w->c->noutputs; i++) {
        cbx_status st = cbx_npy_write_fd(w->ctx, w->out_fds[i], w->out[i], &w->err);
        if (st) return fail_status(w, st, CBX_FAILURE_RUN_ERROR);
    }
    return say(w, answer_of("outputs"));
}

static bool do_oracle(worker *w, const cbx_json *m)
{
    cbx_array *answer[CBX_CASE_MAX_ARRAYS] = { 0 }, *bound[CBX_CASE_MAX_ARRAYS] = { 0 };
    cbx_status st;
    (void)m;
    if (!w->c || w->baseline) return fail(w, CBX_FAILURE_PROTOCOL, "oracle comes after a load without baseline");
    st = w->c->oracle(w->ctx, w->point, w->in, answer, bound, &w->err);
    for (size_t i = 0; !st && i < w->c->noutputs; i++) {
        st = cbx_npy_write_fd(w->ctx, w->out_fds[2 * i], answer[i], &w->err);
        if (!st) st = cbx_npy_write_fd(w->ctx, w->out_fds[2 * i + 1], bound[i], &w->err);
    }
    for (size_t i = 0; i < CBX_CASE_MAX_ARRAYS; i++) {
        cbx_array_free(answer[i]);
        cbx_array_free(bound[i]);
    }
    return st ? fail_status(w, st, CBX_FAILURE_ORACLE_FAILED) : say(w, answer_of("oracle"));
}

static bool do_bye(worker *w, const cbx_json *m)
{
    cbx_json *answer = answer_of("bye");
    (void)m;
    w->done = true;
    if (answer) cbx_json_set_null(answer, "device_peak_bytes");
    return say(w, answer);
}

/* --- the loop --- */

static const struct {
    const char *op;
    bool (*handle)(worker *w, const cbx_json *message);
} handlers[] = {
    { "load", do_load },     { "compile", do_compile }, { "epoch", do_epoch },
    { "inputs", do_inputs }, { "outputs", do_outputs }, { "oracle", do_oracle },
    { "bye", do_bye },       { "flush", do_flush },     { "null", do_null },
};

static bool dispatch(worker *w, const char *line, size_t len)
{
    cbx_json *m = NULL;
    bool ok = false, known = false;
    if (cbx_json_parse(line, len, "the parent's message", &m, &w->err)) return fail(w, CBX_FAILURE_PROTOCOL, NULL);
    const char *op = cbx_json_get_string(m, "op", "");
    for (size_t i = 0; i < CBX_LEN(handlers) && !known; i++) {
        if (strcmp(op, handlers[i].op) != 0) continue;
        known = true;
        w->phase = handlers[i].op;
        ok = handlers[i].handle(w, m);
    }
    if (!known) fail(w, CBX_FAILURE_PROTOCOL, "unknown op '%.40s'", op);
    cbx_json_unref(m);
    return ok;
}

static void report_failure(worker *w)
{
    cbx_json *m = answer_of("error");
    if (!m) return;
    cbx_json_set_string(m, "phase", w->phase);
    cbx_json_set_string(m, "cause", cbx_failure_word(w->cause));
    cbx_json_set_string(m, "message", w->err.message);
    say(w, m);
}

static int serve(worker *w)
{
    if (!say_hello(w)) return 2;
    while (!w->done) {
        char *line = NULL;
        size_t len = 0;
        cbx_status st = cbx__wire_next_line(&w->wire, &line, &len, &w->err);
        if (!st && !line) st = cbx__wire_fill(&w->wire, &w->err);
        if (st == CBX_ECHILD || st == CBX_EIO) return 2;
        if (st) fail(w, CBX_FAILURE_PROTOCOL, NULL);
        if (!st && (!line || dispatch(w, line, len))) continue;
        report_failure(w);
        return 1;
    }
    return 0;
}

static void clear(worker *w)
{
    if (w->plan) w->baseline->finish(w->plan);
    for (size_t i = 0; i < CBX__WIRE_FDS_MAX; i++) cbx_array_free(w->in[i]);
    for (size_t i = 0; i < CBX_CASE_MAX_ARRAYS; i++) cbx_array_free(w->out[i]);
    for (size_t i = 0; i < w->nout_fds; i++) close(w->out_fds[i]);
    cbx_params_free(w->point);
    free(w->heap_pad);
    free((void *)w->flush);
    cbx__wire_clear(&w->wire);
}

int cbx_worker_main(const cbx_case_list *cases, int fd)
{
    cbx_clock_facts clock;
    cbx_ctx *ctx = NULL;
    worker *w = calloc(1, sizeof *w);
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
        clear(w);
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
