/*
 * A pass over a dataset, a batch a call.  Batches come from the dataset where it makes them, else examples are stacked here; either is
 * outside a batch's time and inside the time of the pass.
 */
#include <math.h>
#include <string.h>

#include "calibrax/array/ops.h"
#include "calibrax/array/scope.h"
#include "calibrax/base/clock.h"
#include "calibrax/perf/launch/phases_internal.h"

typedef struct batch {
    cbx_named_array items[CBX_BENCHMARK_MAX_ARRAYS];
    size_t count, examples;
} batch;

static void clear(batch *b)
{
    for (size_t i = 0; i < b->count; i++) cbx_array_free(b->items[i].array);
    b->count = 0;
}

static cbx_status get_example(cbx__measuring *m, size_t i, batch *out, cbx_err *err)
{
    size_t n = 0;
    cbx_status st = m->ops.dataset->get(m->ctx, m->self, i, out->items, CBX_BENCHMARK_MAX_ARRAYS, &n, err);

    if (!st) out->count = n;
    return st;
}

/* Array k of all examples, one on top of the other. */
static cbx_status stack(cbx__measuring *m, const batch *examples, size_t n, size_t k, cbx_array **out, cbx_err *err)
{
    const cbx_array **list = cbx_mem_calloc(cbx_ctx_allocator(m->ctx), n, sizeof *list);
    cbx_scope scope;
    cbx_array *all;
    cbx_status st;

    if (!list) return cbx_fail(err, CBX_ENOMEM, "out of memory for a batch of %zu examples", n);
    for (size_t i = 0; i < n; i++) list[i] = examples[i].items[k].array;
    cbx_scope_open(m->ctx, &scope);
    all = cbx_stack(m->ctx, n, list, 0);
    st = cbx_scope_close_keep(&scope, 1, &all, err);
    cbx_mem_free(cbx_ctx_allocator(m->ctx), list, n * sizeof *list);
    if (!st) *out = all;
    return st;
}

static cbx_status check_alike(const cbx__measuring *m, const batch *a, const batch *b, size_t start, size_t i,
                              cbx_err *err)
{
    bool same = a->count == b->count;

    for (size_t k = 0; same && k < a->count; k++) same = strcmp(a->items[k].name, b->items[k].name) == 0;
    return same ? CBX_OK
                : cbx_fail(err, CBX_EINVAL, "examples %zu and %zu of dataset '%s' differ in their arrays", start,
                           start + i, m->ops.dataset->name ? m->ops.dataset->name : m->ops.name);
}

static cbx_status stack_examples(cbx__measuring *m, size_t start, batch *examples, size_t n, batch *out, cbx_err *err)
{
    cbx_status st = CBX_OK;

    for (size_t i = 0; i < n && !st; i++) {
        st = get_example(m, start + i, &examples[i], err);
        if (!st) st = check_alike(m, &examples[0], &examples[i], start, i, err);
    }
    for (size_t k = 0; k < examples[0].count && !st; k++) {
        cbx_array *all = NULL;
        st = stack(m, examples, n, k, &all, err);
        if (!st) out->items[out->count++] = (cbx_named_array){ examples[0].items[k].name, all };
    }
    for (size_t i = 0; i < n; i++) clear(&examples[i]);
    return st;
}

/* Throughput counts the examples asked for: a dataset's own batch has to hold them. */
static cbx_status check_rows(const cbx__measuring *m, const batch *b, size_t start, cbx_err *err)
{
    const cbx_array *first = b->count ? b->items[0].array : NULL; /* none: the benchmark keeps its batch to itself */
    bool there = !first;

    for (size_t k = 0; k < b->count; k++) there = there || cbx_array_dim(b->items[k].array, 0) == b->examples;
    return there ? CBX_OK
                 : cbx_fail(err, CBX_ESHAPE,
                            "the batch of dataset '%s' from example %zu on has %zu rows: get_batch has to give %zu",
                            m->ops.dataset->name ? m->ops.dataset->name : m->ops.name, start, cbx_array_dim(first, 0),
                            b->examples);
}

static cbx_status get_batch(cbx__measuring *m, size_t start, size_t n, batch *out, cbx_err *err)
{
    const cbx_dataset_ops *d = m->ops.dataset;
    const cbx_allocator *al = cbx_ctx_allocator(m->ctx);
    batch *examples;
    cbx_status st;
    size_t count = 0;

    out->count = 0;
    out->examples = n;
    if (d->get_batch) {
        st = d->get_batch(m->ctx, m->self, m->o.batch_size, start, out->items, CBX_BENCHMARK_MAX_ARRAYS, &count, err);
        if (st) return st;
        out->count = count;
        st = check_rows(m, out, start, err);
        if (st) clear(out);
        return st;
    }
    examples = cbx_mem_calloc(al, n, sizeof *examples);
    if (!examples) return cbx_fail(err, CBX_ENOMEM, "out of memory for a batch of %zu examples", n);
    st = stack_examples(m, start, examples, n, out, err);
    cbx_mem_free(al, examples, n * sizeof *examples);
    if (st) clear(out);
    return st;
}

/* What the benchmark left to a scope dies with its batch, and so does a failure that it did not look at. */
static cbx_status run_batch(cbx__measuring *m, const batch *b, double *seconds, cbx_err *err)
{
    uint64_t start;
    cbx_scope scope;
    cbx_status st, pending;
    cbx_err left = CBX_ERR_INIT;

    cbx_scope_open(m->ctx, &scope);
    start = cbx_clock_ns();
    st = m->ops.run_batch(m->ctx, m->self, b->items, b->count, err);
    *seconds = 1e-9 * (double)(cbx_clock_ns() - start);
    pending = cbx_scope_close(&scope, &left);
    return !st && pending ? cbx_fail(err, pending, "%s", left.message) : st;
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static cbx_status pass(cbx__measuring *m, size_t length, size_t n, double *times, cbx_err *err)
{
    size_t size = m->o.batch_size, warmup = least(m->o.warmup, n - 1);
    uint64_t start = cbx_clock_ns();
    double counted = 0, counted_s = 0;
    cbx_timing_sample *t = &m->timing;
    cbx_status st = CBX_OK;

    *t = (cbx_timing_sample){ .per_batch_times = times + warmup, .nbatch_times = n - warmup, .num_batches = n };
    t->warmup_batches_excluded = warmup;
    t->compilation_time_sec = NAN;
    for (size_t i = 0; i < n && !st; i++) {
        batch b;
        if (cbx__measuring_stopped(m)) return cbx_fail(err, CBX_EINTERRUPTED, "interrupted after %zu batches", i);
        st = get_batch(m, i * size, least(size, length - i * size), &b, err);
        if (st) break;
        st = run_batch(m, &b, &times[i], err);
        clear(&b);
        if (i == 0) t->first_batch_time = 1e-9 * (double)(cbx_clock_ns() - start);
        t->num_elements += b.examples;
        if (i >= warmup) counted += (double)b.examples, counted_s += times[i];
    }
    t->wall_clock_sec = 1e-9 * (double)(cbx_clock_ns() - start);
    m->throughput = counted_s > 0 ? counted / counted_s : NAN;
    m->timed = !st;
    return st;
}

cbx_status cbx__measuring_batches(cbx__measuring *m, cbx_err *err)
{
    size_t length = m->ops.dataset->length(m->self), size = m->o.batch_size, n = length / size + (length % size != 0);
    double *times;

    if (m->o.max_batches) n = least(n, m->o.max_batches);
    if (n == 0)
        return cbx_fail(err, CBX_EINVAL, "dataset '%s' has no examples",
                        m->ops.dataset->name ? m->ops.dataset->name : m->ops.name);
    times = cbx_arena_calloc(&m->arena, n, sizeof *times);
    if (!times) return cbx_fail(err, CBX_ENOMEM, "out of memory for the times of %zu batches", n);
    return pass(m, length, n, times, err);
}
