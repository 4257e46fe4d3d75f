/* Protocols: the check of their heads, named values, benchmarks of older headers. */
#include "calibrax/core/protocols.h"

#include <stddef.h>
#include <string.h>

#include "calibrax/base/list.h"
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
    CBX_LIST(cbx_named_metric) list;
};

cbx_status cbx_values_create(cbx_ctx *ctx, cbx_values **out, cbx_err *err)
{
    cbx_values *v = CBX_ARENA_OBJECT(cbx_values, cbx_ctx_allocator(ctx));

    if (!v) return cbx_fail_nomem(err, NULL);
    *out = v;
    return CBX_OK;
}

void cbx_values_free(cbx_values *values)
{
    if (values) cbx_arena_end(&values->arena);
}

const cbx_named_metric *cbx_values_items(const cbx_values *values, size_t *count)
{
    *count = values->list.n;
    return values->list.items;
}

cbx_status cbx_values_add(cbx_values *values, const char *name, double value, cbx_err *err)
{
    cbx_named_metric item = { .metric = cbx_metric_of(value) };
    cbx_status st;

    for (size_t i = 0; name && i < values->list.n; i++) {
        if (strcmp(values->list.items[i].name, name) != 0) continue;
        values->list.items[i].metric = item.metric;
        return CBX_OK;
    }
    st = cbx__record_text(&values->arena, name, "value name", &item.name, err);
    if (st) return st;
    return cbx_list_push(CBX_IN_ARENA(&values->arena), &values->list, item) ? CBX_OK : cbx_fail_nomem(err, NULL);
}

#define SIZE_OF_ABI_1 offsetof(cbx_benchmark_ops, metric_defs)

static cbx_status check_benchmark(const cbx_benchmark_ops *b, cbx_err *err)
{
    cbx_status st;

    if (!b->name || !*b->name) return cbx_fail(err, CBX_EINVAL, "a benchmark has no name");
    if (!b->run_training && !b->work && !b->run_batch && !b->run_evaluation)
        return cbx_fail(err, CBX_EINVAL, "benchmark '%s' has neither training nor work nor evaluation", b->name);
    if (b->work && b->run_batch)
        return cbx_fail(err, CBX_EINVAL, "benchmark '%s' has both work and run_batch: leave one out", b->name);
    if (b->run_batch && !b->dataset)
        return cbx_fail(err, CBX_EINVAL, "benchmark '%s' has a run_batch, and no dataset for it", b->name);
    if (b->nmetric_defs && !b->metric_defs)
        return cbx_fail(err, CBX_EINVAL, "benchmark '%s' counts definitions that it does not have", b->name);
    if (!b->run_batch) return CBX_OK;
    st = cbx_protocol_check(b->dataset, sizeof *b->dataset, CBX_DATASET_ABI, "dataset", err);
    if (!st && (!b->dataset->length || !b->dataset->get))
        st = cbx_fail(err, CBX_EINVAL, "the dataset of benchmark '%s' lacks length or get", b->name);
    return st;
}

cbx_status cbx_benchmark_ops_read(const cbx_benchmark_ops *ops, cbx_benchmark_ops *out, cbx_err *err)
{
    bool old = ops && ops->abi == 1;
    cbx_benchmark_ops b = { 0 };
    cbx_status st = cbx_protocol_check(ops, old ? SIZE_OF_ABI_1 : sizeof *ops, old ? 1 : CBX_BENCHMARK_ABI, "benchmark",
                                       err);

    if (st) return st;
    memcpy(&b, ops, old ? SIZE_OF_ABI_1 : sizeof b);
    b.struct_size = sizeof b;
    b.abi = CBX_BENCHMARK_ABI;
    st = check_benchmark(&b, err);
    if (!st) *out = b;
    return st;
}
