/*
 * What a worker is given: the case and its point, inputs, outputs to be, and memory that is larger
 * than the caches.
 *
 * Inputs are copied out of the memory files into blocks of the context's pool: aligned, on huge
 * pages where that helps, and resident before the first call, so that no epoch pays for touching
 * shared pages.
 */
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/array/io/npy.h"
#include "calibrax/base/idioms.h"
#include "calibrax/perf/launch/worker_internal.h"

#define POISON       0x7e
#define MAX_HEAP_PAD (64u << 20)
#define MAX_FLUSH    (1ll << 32)
#define PAGE         4096

void cbx__worker_poison(cbx__worker *w)
{
    for (size_t i = 0; i < w->c->noutputs; i++)
        if (cbx_array_bytes(w->out[i])) memset(cbx_array_data_mut(w->out[i]), POISON, cbx_array_bytes(w->out[i]));
}

static bool find_case(cbx__worker *w, const cbx_json *m)
{
    const char *name = cbx_json_get_string(m, "case", ""), *baseline = cbx_json_get_string(m, "baseline", NULL);
    cbx_json *point = cbx_json_get(m, "point");

    w->c = cbx_case_find(w->cases, name);
    if (!w->c) return cbx__worker_fail(w, CBX_FAILURE_WORKER_MISSING, "this worker does not know the case '%s'", name);
    if (baseline) {
        w->baseline = cbx_case_baseline(w->c, baseline);
        if (!w->baseline || !w->baseline->run)
            return cbx__worker_fail(w, CBX_FAILURE_WORKER_MISSING,
                                    "case '%s' has no native baseline '%s' in this worker", name, baseline);
    }
    CBX_SCOPED(cbx_text, text, cbx_ctx_allocator(w->ctx));
    cbx_json_write(point, CBX_JSON_COMPACT, &text);
    cbx_status st = cbx_text_check(&text, &w->err);
    if (!st) st = cbx_case_point(w->ctx, w->c, cbx_text_str(&text), "load", &w->point, &w->err);
    return st ? cbx__worker_fail_status(w, st, CBX_FAILURE_PROTOCOL) : true;
}

static cbx_status read_input(cbx__worker *w, int fd, cbx_array **out)
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
static bool read_inputs(cbx__worker *w, const cbx_json *m)
{
    const cbx_json *arrays = cbx_json_get(m, "arrays");
    size_t n = cbx_json_length(arrays), per_set = w->c->ninputs;
    if (n > w->wire.nfds || n > CBX__WIRE_FDS_MAX || (per_set && (n < per_set || n % per_set != 0)) || (!per_set && n))
        return cbx__worker_fail(w, CBX_FAILURE_PROTOCOL, "load names %zu arrays and brings %zu descriptors", n,
                                w->wire.nfds);
    w->nsets = per_set ? n / per_set : 1;
    for (size_t i = 0; i < n; i++) {
        const cbx_json *one = cbx_json_at(arrays, i);
        const char *name = cbx_json_get_string(one, "name", "");
        if (strcmp(name, w->c->input_names[i % per_set]) != 0 ||
            cbx_json_get_int(one, "set", 0) != (int64_t)(i / per_set))
            return cbx__worker_fail(w, CBX_FAILURE_PROTOCOL, "array %zu is not input '%s' of set %zu", i,
                                    w->c->input_names[i % per_set], i / per_set);
        cbx_status st = read_input(w, w->wire.fds[i], &w->in[i]);
        if (st) return cbx__worker_fail_status(w, st, CBX_FAILURE_PROTOCOL);
    }
    return true;
}

/* Another set, or other elements for one that is there: written over the old ones, so that nothing
 * moves and nothing is added. */
bool cbx__worker_inputs(cbx__worker *w, const cbx_json *m)
{
    const cbx_json *arrays = cbx_json_get(m, "arrays");
    int64_t set = cbx_json_get_int(m, "set", -1);
    size_t n = w->c ? w->c->ninputs : 0;
    if (!w->compiled) return cbx__worker_fail(w, CBX_FAILURE_PROTOCOL, "inputs comes after compile");
    if (set < 0 || (uint64_t)set > w->nsets || ((size_t)set + 1) * n > CBX__WIRE_FDS_MAX)
        return cbx__worker_fail(w, CBX_FAILURE_PROTOCOL, "inputs names no set that is there, nor the next one");
    if (cbx_json_length(arrays) != n || w->wire.nfds != n)
        return cbx__worker_fail(w, CBX_FAILURE_PROTOCOL,
                                "inputs names %zu arrays and brings %zu descriptors, %zu are needed",
                                cbx_json_length(arrays), w->wire.nfds, n);
    for (size_t i = 0; i < n; i++) {
        cbx_array **old = &w->in[(size_t)set * n + i], *fresh = NULL;
        cbx_status st;
        if (strcmp(cbx_json_get_string(cbx_json_at(arrays, i), "name", ""), w->c->input_names[i]) != 0)
            return cbx__worker_fail(w, CBX_FAILURE_PROTOCOL, "array %zu is not input '%s'", i, w->c->input_names[i]);
        st = *old ? cbx_npy_map_fd(w->ctx, w->wire.fds[i], &fresh, &w->err) : read_input(w, w->wire.fds[i], &fresh);
        if (st) return cbx__worker_fail_status(w, st, CBX_FAILURE_PROTOCOL);
        if (!*old) {
            *old = fresh;
            continue;
        }
        bool same = cbx_array_is_contiguous(fresh) &&
                    cbx_array_desc_equal(cbx_array_get_desc(fresh), cbx_array_get_desc(*old));
        if (same && cbx_array_bytes(fresh))
            memcpy(cbx_array_data_mut(*old), cbx_array_data(fresh), cbx_array_bytes(fresh));
        cbx_array_free(fresh);
        if (!same)
            return cbx__worker_fail(w, CBX_FAILURE_PROTOCOL, "input '%s' has another form", w->c->input_names[i]);
    }
    for (size_t i = 0; i < n; i++) close(w->wire.fds[i]);
    w->wire.nfds = 0;
    if ((size_t)set == w->nsets) w->nsets++;
    return cbx__worker_answer(w, J_TEXT("op", "inputs"));
}

static bool take_outputs(cbx__worker *w, size_t ninputs)
{
    size_t wanted = w->c->noutputs * (w->baseline ? 1 : 2);
    cbx_array_desc descs[CBX_CASE_MAX_ARRAYS];
    if (w->wire.nfds != ninputs + wanted)
        return cbx__worker_fail(w, CBX_FAILURE_PROTOCOL, "load brings %zu descriptors, %zu are needed", w->wire.nfds,
                                ninputs + wanted);
    for (size_t i = 0; i < wanted; i++) w->out_fds[i] = w->wire.fds[ninputs + i];
    for (size_t i = 0; i < ninputs; i++) close(w->wire.fds[i]);
    w->nout_fds = wanted;
    w->wire.nfds = 0;
    w->c->outputs(w->point, descs);
    for (size_t i = 0; w->baseline && i < w->c->noutputs; i++) {
        cbx_status st = cbx_array_create(w->ctx, &descs[i], &w->out[i], &w->err);
        if (st) return cbx__worker_fail_status(w, st, CBX_FAILURE_RUN_ERROR);
    }
    if (w->baseline) cbx__worker_poison(w);
    return true;
}

bool cbx__worker_load(cbx__worker *w, const cbx_json *m)
{
    int64_t pad = cbx_json_get_int(m, "heap_pad", 0), flush = cbx_json_get_int(m, "flush_bytes", 0);
    if (w->c) return cbx__worker_fail(w, CBX_FAILURE_PROTOCOL, "load came twice");
    if (pad < 0 || pad > MAX_HEAP_PAD)
        return cbx__worker_fail(w, CBX_FAILURE_PROTOCOL, "heap_pad is outside 0..%u", MAX_HEAP_PAD);
    if (pad) w->heap_pad = malloc((size_t)pad);
    if (flush < 0 || flush > MAX_FLUSH)
        return cbx__worker_fail(w, CBX_FAILURE_PROTOCOL, "flush_bytes is outside 0..%lld", MAX_FLUSH);
    if (flush && !(w->flush = malloc((size_t)flush)))
        return cbx__worker_fail(w, CBX_FAILURE_OUT_OF_MEMORY, "no memory to flush the caches with");
    w->flush_bytes = (size_t)flush;
    /* Resident from the start, so that it is no part of what the work adds. */
    for (size_t i = 0; i < w->flush_bytes; i += PAGE) w->flush[i] = 1;
    if (!find_case(w, m) || !read_inputs(w, m) || !take_outputs(w, w->nsets * w->c->ninputs)) return false;
    if (w->baseline) {
        cbx_status st = w->baseline->prepare(w->ctx, w->point, &w->plan, &w->err);
        if (st) return cbx__worker_fail_status(w, st, CBX_FAILURE_COMPILE_ERROR);
    }
    /* With the threads that a parallel region would get, for the parent to compare with those that
     * it set. */
    return cbx__worker_answer(
        w, J_TEXT("op", "loaded"),
        J_JSON("policy", cbx_json_object(J_JSON("threads", cbx_json_object(J_INT("openmp", omp_get_max_threads()))),
                                         J_JSON("settings", cbx_json_new_object()))));
}
