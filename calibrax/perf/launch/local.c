/*
 * A benchmark of this process.  Batches come from the dataset where it makes them, else examples
 * are stacked here; either is outside a batch's time and inside the time of the pass.
 */
#include <string.h>

#include "calibrax/array/ops.h"
#include "calibrax/array/scope.h"
#include "calibrax/base/arena.h"
#include "calibrax/base/clock.h"
#include "calibrax/base/idioms.h"
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

/* Array k of all examples, one on top of the other. */
static cbx_status stack(cbx__local_bench *l, const batch *examples, size_t n, size_t k, cbx_array **out, cbx_err *err)
{
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(l->ctx));
    const cbx_array **list = cbx_arena_calloc(&arena, n, sizeof *list);
    cbx_scope scope;

    if (!list) return cbx_fail(err, CBX_ENOMEM, "out of memory for a batch of %zu examples", n);
    for (size_t i = 0; i < n; i++) list[i] = examples[i].items[k].array;
    cbx_scope_open(l->ctx, &scope);
    cbx_array *all = cbx_stack(l->ctx, n, list, 0);
    cbx_status st = cbx_scope_close_keep(&scope, 1, &all, err);
    if (!st) *out = all;
    return st;
}

static const char *dataset_name(const cbx__local_bench *l)
{
    return l->ops.dataset->name ? l->ops.dataset->name : l->ops.name;
}

static cbx_status stack_examples(cbx__local_bench *l, size_t start, batch *examples, size_t n, batch *out, cbx_err *err)
{
    cbx_status st = CBX_OK;

    for (size_t i = 0; i < n && !st; i++) {
        const batch *first = &examples[0];
        batch *b = &examples[i];
        size_t count = 0;
        st = l->ops.dataset->get(l->ctx, l->self, start + i, b->items, CBX_BENCHMARK_MAX_ARRAYS, &count, err);
        if (st) break;
        b->count = count;
        bool same = first->count == b->count;
        for (size_t k = 0; same && k < b->count; k++) same = strcmp(first->items[k].name, b->items[k].name) == 0;
        if (!same)
            st = cbx_fail(err, CBX_EINVAL, "examples %zu and %zu of dataset '%s' differ in their arrays", start,
                          start + i, dataset_name(l));
    }
    for (size_t k = 0; k < examples[0].count && !st; k++) {
        cbx_array *all = NULL;
        st = stack(l, examples, n, k, &all, err);
        if (!st) out->items[out->count++] = (cbx_named_array){ examples[0].items[k].name, all };
    }
    for (size_t i = 0; i < n; i++) clear(&examples[i]);
    return st;
}

static cbx_status get_batch(cbx__local_bench *l, size_t start, size_t n, batch *out, cbx_err *err)
{
    const cbx_dataset_ops *d = l->ops.dataset;
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(l->ctx));
    size_t count = 0;
    cbx_status st;

    *out = (batch){ .examples = n };
    if (d->get_batch) {
        st = d->get_batch(l->ctx, l->self, l->batch_size, start, out->items, CBX_BENCHMARK_MAX_ARRAYS, &count, err);
        if (!st) out->count = count;
        /* Throughput counts the examples asked for: a dataset's own batch has to hold them. */
        bool there = !out->count; /* none: the benchmark keeps its batch to itself */
        for (size_t k = 0; k < out->count; k++) there = there || cbx_array_dim(out->items[k].array, 0) == n;
        if (!there)
            st = cbx_fail(err, CBX_ESHAPE,
                          "the batch of dataset '%s' from example %zu on has %zu rows: get_batch has to give %zu",
                          dataset_name(l), start, cbx_array_dim(out->items[0].array, 0), n);
    } else {
        batch *examples = cbx_arena_calloc(&arena, n, sizeof *examples);
        st = examples ? stack_examples(l, start, examples, n, out, err)
                      : cbx_fail(err, CBX_ENOMEM, "out of memory for a batch of %zu examples", n);
    }
    if (st) clear(out);
    return st;
}

static cbx_status length_of(void *user, size_t *examples, cbx_err *err)
{
    const cbx__local_bench *l = user;

    *examples = l->ops.dataset->length(l->self);
    return *examples ? CBX_OK : cbx_fail(err, CBX_EINVAL, "dataset '%s' has no examples", dataset_name(l));
}

/* What the benchmark left to a scope dies with its batch, and so does a failure that it did not
 * look at. */
static cbx_status run_batch(void *user, size_t start, size_t examples, double *ns, cbx_err *err)
{
    cbx__local_bench *l = user;
    cbx_err left = CBX_ERR_INIT;
    cbx_scope scope;
    batch b;

    cbx_status st = get_batch(l, start, examples, &b, err);
    if (st) return st;
    cbx_scope_open(l->ctx, &scope);
    uint64_t begin = cbx_clock_ns();
    st = l->ops.run_batch(l->ctx, l->self, b.items, b.count, err);
    *ns = (double)(cbx_clock_ns() - begin);
    cbx_status pending = cbx_scope_close(&scope, &left);
    clear(&b);
    return !st && pending ? cbx_fail(err, pending, "%s", left.message) : st;
}

static cbx_status run_calls(void *user, uint64_t n, double *ns, cbx_err *err)
{
    cbx__local_bench *l = user;
    uint64_t begin = cbx_clock_ns();
    cbx_status st = CBX_OK;

    for (uint64_t i = 0; i < n && !st; i++) {
        if (l->stop && *l->stop) return cbx_fail(err, CBX_EINTERRUPTED, "interrupted during work");
        st = l->ops.work(l->ctx, l->self, err);
    }
    *ns = (double)(cbx_clock_ns() - begin);
    return st;
}

static cbx_status run_phase(void *user, cbx__phase phase, cbx_values *out, double *ns, cbx_err *err)
{
    cbx__local_bench *l = user;
    const cbx_benchmark_ops *o = &l->ops;
    uint64_t begin = cbx_clock_ns();
    cbx_status st = CBX_OK;

    switch (phase) {
    case CBX__PHASE_SETUP: st = o->setup(l->ctx, l->self, err); break;
    case CBX__PHASE_TRAINING: st = o->run_training(l->ctx, l->self, out, err); break;
    case CBX__PHASE_EVALUATION: st = o->run_evaluation(l->ctx, l->self, out, err); break;
    case CBX__PHASE_TARGETS: st = o->targets(l->ctx, l->self, out, err); break;
    default: o->teardown(l->ctx, l->self);
    }
    *ns = (double)(cbx_clock_ns() - begin);
    return st;
}

cbx_status cbx__local_bench_init(cbx__local_bench *l, cbx_ctx *ctx, const cbx_benchmark_ops *ops, void *self,
                                 cbx__bench *out, cbx_err *err)
{
    *l = (cbx__local_bench){ .ctx = ctx, .self = self, .batch_size = 1 };
    cbx_status st = cbx_benchmark_ops_read(ops, &l->ops, err);
    if (st) return st;
    *out = (cbx__bench){ .name = l->ops.name,
                         .domain = l->ops.domain,
                         .has = { [CBX__PHASE_SETUP] = l->ops.setup != NULL,
                                  [CBX__PHASE_TRAINING] = l->ops.run_training != NULL,
                                  [CBX__PHASE_WORK] = l->ops.work || l->ops.run_batch,
                                  [CBX__PHASE_EVALUATION] = l->ops.run_evaluation != NULL,
                                  [CBX__PHASE_TARGETS] = l->ops.targets != NULL,
                                  [CBX__PHASE_TEARDOWN] = l->ops.teardown != NULL },
                         .batches = l->ops.run_batch != NULL,
                         .defs = l->ops.metric_defs,
                         .ndefs = l->ops.nmetric_defs,
                         .user = l,
                         .phase = run_phase,
                         .calls = run_calls,
                         .length = length_of,
                         .batch = run_batch };
    return CBX_OK;
}
