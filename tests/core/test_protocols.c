/* Benchmarks of older headers and what is refused, named values. */
#include "check.h"

#include <stddef.h>
#include <stdlib.h>

#include "calibrax/core/protocols.h"
#include "place.h"

typedef cbx_test_place state;

/* --- benchmarks --- */

static cbx_status evaluate(cbx_ctx *ctx, void *self, cbx_values *out, cbx_err *err)
{
    (void)ctx;
    (void)self;
    return cbx_values_add(out, "accuracy", 0.9, err);
}

static cbx_status work(cbx_ctx *ctx, void *self, cbx_err *err)
{
    (void)ctx;
    (void)self;
    (void)err;
    return CBX_OK;
}

static cbx_status run_batch(cbx_ctx *ctx, void *self, const cbx_named_array *batch, size_t n, cbx_err *err)
{
    (void)batch;
    (void)n;
    return work(ctx, self, err);
}

static const cbx_benchmark_ops ops = { sizeof(cbx_benchmark_ops), CBX_BENCHMARK_ABI, .name = "resnet",
                                       .domain = "vision", .run_evaluation = evaluate };

TEST(test_benchmarks_of_older_headers)
{
    /* what a program compiled against abi 1 hands over: nothing lies behind targets */
    struct {
        cbx_benchmark_ops ops;
        unsigned char behind[64];
    } old = { .ops = ops };
    size_t size = offsetof(cbx_benchmark_ops, metric_defs);
    cbx_benchmark_ops now;
    cbx_err err = CBX_ERR_INIT;

    memset((unsigned char *)&old + size, 0xAB, sizeof old - size);
    old.ops.abi = 1;
    old.ops.struct_size = (uint32_t)size;
    CHECK_OK(cbx_benchmark_ops_read(&old.ops, &now, &err), &err, "abi 1");
    CHECK(now.abi == CBX_BENCHMARK_ABI && now.struct_size == sizeof now, "in today's form");
    CHECK(!now.metric_defs && !now.nmetric_defs && !now.work && !now.dataset && !now.run_batch,
          "what it lacks is NULL");
    CHECK(now.run_evaluation == evaluate, "what it has stays");
    CHECK_STR(now.domain, "vision", "text");
}

TEST(test_benchmarks_that_are_refused)
{
    static const cbx_dataset_ops hollow = { sizeof hollow, CBX_DATASET_ABI, "hollow", NULL, NULL, NULL };
    static const cbx_dataset_ops other = { sizeof other, 9, "other", NULL, NULL, NULL };
    const struct {
        cbx_benchmark_ops ops;
        cbx_status status;
        const char *message;
    } cases[] = {
        { { sizeof ops, 9, "b" }, CBX_EVERSION, "a benchmark of abi 9, not 2: compile it against this library" },
        { { 16, CBX_BENCHMARK_ABI, "b" }, CBX_EINVAL, "a benchmark of 16 bytes" },
        { { sizeof ops, 2, "b", "" }, CBX_EINVAL, "benchmark 'b' has neither training nor work nor evaluation" },
        { { sizeof ops, 2, "", "", .work = work }, CBX_EINVAL, "a benchmark has no name" },
        { { sizeof ops, 2, "b", "", .work = work, .run_batch = run_batch, .dataset = &hollow },
          CBX_EINVAL,
          "both work and run_batch" },
        { { sizeof ops, 2, "b", "", .run_batch = run_batch }, CBX_EINVAL, "no dataset" },
        { { sizeof ops, 2, "b", "", .run_batch = run_batch, .dataset = &hollow }, CBX_EINVAL, "lacks length or get" },
        { { sizeof ops, 2, "b", "", .run_batch = run_batch, .dataset = &other }, CBX_EVERSION, "a dataset of abi 9" },
        { { sizeof ops, 2, "b", "", .work = work, .nmetric_defs = 1 },
          CBX_EINVAL,
          "definitions that it does not have" },
    };
    cbx_benchmark_ops now;
    cbx_err err = CBX_ERR_INIT;

    CHECK_STATUS(cbx_benchmark_ops_read(NULL, &now, &err), CBX_EINVAL, "none");
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        CHECK_STATUS(cbx_benchmark_ops_read(&cases[i].ops, &now, &err), cases[i].status, cases[i].message);
        CHECK(strstr(err.message, cases[i].message) != NULL, err.message);
    }
}

static cbx_status fill_values(cbx_ctx *ctx, void *user)
{
    cbx_values *v = NULL;
    cbx_status st = cbx_values_create(ctx, &v, NULL);
    size_t n = 0;

    (void)user;
    for (int i = 0; i < 40 && !st; i++) {
        char name[3] = { (char)('a' + i % 20), (char)('a' + i / 20), 0 };
        st = cbx_values_add(v, name, i, NULL);
    }
    if (!st) st = cbx_values_add(v, "aa", 77, NULL);
    if (!st) {
        const cbx_named_metric *items = cbx_values_items(v, &n);
        CHECK(n == 40 && items[0].metric.value == 77 && items[39].metric.value == 39, "in order, the last value stays");
    }
    cbx_values_free(v);
    return st;
}

TEST(test_every_allocation_may_fail)
{
    CHECK_GT(cbx_test_fail_each(fill_values, NULL, "cbx_values_add"), 1, "allocations were made to fail");
}

TESTS(.setup = cbx_test_place_open, .teardown = cbx_test_place_close)
