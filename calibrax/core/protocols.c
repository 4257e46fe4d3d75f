/* Protocols: the check of their heads, named values, and running a benchmark. */
#include "calibrax/core/protocols.h"

#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/core/record.h"

cbx_status cbx_protocol_check(const void *ops, size_t struct_size, uint32_t abi, const char *kind, cbx_err *err)
{
    const cbx_protocol_head *head = ops;

    if (!head) return cbx_fail(err, CBX_EINVAL, "no %s was given", kind);
    if (head->abi != abi)
        return cbx_fail(err, CBX_EVERSION, "a %s of abi %u, not %u: compile it against this library", kind, head->abi,
                        abi);
    if (head->struct_size < struct_size)
        return cbx_fail(err, CBX_EINVAL, "a %s of %u bytes, not %zu: compile it against this library", kind,
                        head->struct_size, struct_size);
    return CBX_OK;
}

struct cbx_values {
    cbx_arena arena;
    cbx_named_metric *items;
    size_t count, capacity;
};

cbx_status cbx_values_add(cbx_values *values, const char *name, double value, cbx_err *err)
{
    cbx_named_metric item = { .metric = cbx_metric_of(value) };
    cbx_status st;

    for (size_t i = 0; name && i < values->count; i++) {
        if (strcmp(values->items[i].name, name) != 0) continue;
        values->items[i].metric = item.metric;
        return CBX_OK;
    }
    st = cbx__record_text(&values->arena, name, "value name", &item.name, err);
    if (st) return st;
    if (values->count == values->capacity) {
        size_t capacity = values->capacity ? 2 * values->capacity : 16;
        cbx_named_metric *grown = cbx_arena_calloc(&values->arena, capacity, sizeof *grown);
        if (!grown) return cbx__record_no_memory(err);
        if (values->count) memcpy(grown, values->items, values->count * sizeof *grown);
        values->items = grown;
        values->capacity = capacity;
    }
    values->items[values->count++] = item;
    return CBX_OK;
}

typedef cbx_status (*phase)(cbx_ctx *, void *, cbx_values *, cbx_err *);

static cbx_status run_phase(cbx_ctx *ctx, void *self, phase fn, const char *seconds_name, cbx_values *values,
                            cbx_err *err)
{
    uint64_t begin = cbx_clock_ns();
    cbx_status st;

    if (!fn) return CBX_OK;
    st = fn(ctx, self, values, err);
    return st ? st : cbx_values_add(values, seconds_name, (double)(cbx_clock_ns() - begin) / 1e9, err);
}

static cbx_status make_metadata(cbx_ctx *ctx, const cbx_benchmark_ops *ops, void *self, cbx_json *metadata,
                                cbx_err *err)
{
    cbx_values targets = { 0 };
    cbx_json *object = NULL;
    cbx_status st = CBX_OK;

    if (!ops->targets) return CBX_OK;
    cbx_arena_init(&targets.arena, cbx_ctx_allocator(ctx));
    st = ops->targets(ctx, self, &targets, err);
    if (!st) object = cbx_json_new_object();
    for (size_t i = 0; object && i < targets.count; i++) {
        if (cbx_json_set_double(object, targets.items[i].name, targets.items[i].metric.value)) continue;
        cbx_json_unref(object);
        object = NULL;
    }
    if (!st && (!object || !cbx_json_set(metadata, "targets", object))) st = cbx__record_no_memory(err);
    cbx_arena_clear(&targets.arena);
    return st;
}

static cbx_status run_all(cbx_ctx *ctx, const cbx_benchmark_ops *ops, void *self, cbx_values *values,
                          cbx_json *metadata, cbx_err *err)
{
    cbx_status st = ops->setup ? ops->setup(ctx, self, err) : CBX_OK;

    if (!st) st = run_phase(ctx, self, ops->run_training, "training_seconds", values, err);
    if (!st) st = run_phase(ctx, self, ops->run_evaluation, "evaluation_seconds", values, err);
    if (!st) st = make_metadata(ctx, ops, self, metadata, err);
    if (ops->teardown) ops->teardown(ctx, self);
    return st;
}

cbx_status cbx_benchmark_run(cbx_ctx *ctx, const cbx_benchmark_ops *ops, void *self, cbx_result **out, cbx_err *err)
{
    cbx_values values = { 0 };
    cbx_json *metadata = NULL;
    cbx_status st = cbx_protocol_check(ops, sizeof *ops, CBX_BENCHMARK_ABI, "benchmark", err);

    if (st) return st;
    if (!ops->name || !ops->run_evaluation)
        return cbx_fail(err, CBX_EINVAL, "benchmark '%s' lacks its name or its evaluation", ops->name ? ops->name : "");
    metadata = cbx_json_new_object();
    if (!metadata) return cbx__record_no_memory(err);
    cbx_arena_init(&values.arena, cbx_ctx_allocator(ctx));
    st = run_all(ctx, ops, self, &values, metadata, err);
    if (!st) {
        cbx_result_content content = {
            .name = ops->name,
            .domain = ops->domain,
            .metrics = values.items,
            .nmetrics = values.count,
            .metadata = metadata,
        };
        st = cbx_result_create(ctx, &content, out, err);
    }
    cbx_arena_clear(&values.arena);
    cbx_json_unref(metadata);
    return st;
}
