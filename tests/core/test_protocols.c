/* Registry, adapters, benchmarks of older headers and what is refused. */
#include "check.h"

#include <stddef.h>
#include <stdlib.h>

#include "calibrax/core/adapters.h"
#include "place.h"

typedef cbx_test_place state;

/* --- registry --- */

TEST(test_registry)
{
    static const char *const names[] = { "zeta", "alpha", "mid" };
    static const int items[] = { 1, 2, 3, 4 };
    state *s = *test_state;
    cbx_registry r;
    const void *got = NULL;
    cbx_err err = CBX_ERR_INIT;

    cbx_registry_init(&r, cbx_ctx_allocator(s->ctx), "benchmark");
    for (size_t i = 0; i < 3; i++)
        CHECK_OK(cbx_registry_register(&r, names[i], &items[i], false, &err), &err, names[i]);
    CHECK_STATUS(cbx_registry_register(&r, "mid", &items[3], false, &err), CBX_EEXIST, "a duplicate");
    CHECK_STR(err.message, "benchmark 'mid' is registered already", "is named");
    CHECK_STATUS(cbx_registry_register(&r, "", &items[3], false, &err), CBX_EINVAL, "no name");
    CHECK_STATUS(cbx_registry_register(&r, NULL, &items[3], true, &err), CBX_EINVAL, "no name");
    for (size_t i = 0; i < 3; i++) CHECK_STR(r.entries[i].name, names[i], "in order of registration");
    CHECK_OK(cbx_registry_register(&r, "alpha", &items[3], true, &err), &err, "replaced when asked");
    CHECK_OK(cbx_registry_get(&r, "alpha", &got, &err), &err, "get");
    CHECK(got == &items[3] && r.count == 3, "in its place");
    CHECK_STATUS(cbx_registry_get(&r, "alpah", &got, &err), CBX_ENOENT, "a slip");
    CHECK_STR(err.message, "no benchmark 'alpah': did you mean 'alpha'?", "is met with the nearest");
    CHECK_STATUS(cbx_registry_get(&r, "something else", &got, &err), CBX_ENOENT, "far away");
    CHECK_STR(err.message, "no benchmark 'something else' among the 3 registered", "no suggestion");
    CHECK(got == &items[3], "out is untouched");
    cbx_registry_clear(&r);
    CHECK_INT(r.count, 0, "clear");
    CHECK_OK(cbx_registry_register(&r, "again", &items[0], false, &err), &err, "usable afterwards");
    cbx_registry_clear(&r);
}

static cbx_status register_many(cbx_ctx *ctx, void *user)
{
    cbx_registry r;
    cbx_status st = CBX_OK;

    (void)user;
    cbx_registry_init(&r, cbx_ctx_allocator(ctx), "thing");
    for (int i = 0; i < 20 && !st; i++) {
        char name[3] = { 'a', (char)('a' + i), 0 };
        st = cbx_registry_register(&r, name, NULL, false, NULL);
    }
    cbx_registry_clear(&r);
    return st;
}

/* --- benchmarks --- */

typedef struct bench {
    int setups;
} bench;

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

/* --- adapters --- */

static bool takes_model(const cbx_target *t) { return strcmp(t->type, "model") == 0; }
static bool takes_all(const cbx_target *t) { return strcmp(t->type, "alien") != 0; }

static int released;

static void release(void *self)
{
    released++;
    free(self);
}

static cbx_status adapt(cbx_ctx *ctx, const cbx_target *t, cbx_adapted *out, cbx_err *err)
{
    (void)ctx;
    if (!t->object) return cbx_fail(err, CBX_EINVAL, "planted");
    out->ops = &ops;
    out->self = calloc(1, sizeof(bench));
    return CBX_OK;
}

static cbx_status adapt_special(cbx_ctx *ctx, const cbx_target *t, cbx_adapted *out, cbx_err *err)
{
    static const cbx_benchmark_ops special = { sizeof special, CBX_BENCHMARK_ABI, "special" };
    cbx_status st = adapt(ctx, t, out, err);

    out->ops = &special;
    return st;
}

static const cbx_adapter_ops general = { sizeof general, CBX_ADAPTER_ABI, "general", takes_all, adapt, release };
static const cbx_adapter_ops for_models = { sizeof for_models, CBX_ADAPTER_ABI, "models",
                                            takes_model,       adapt_special,   release };

TEST(test_adapters)
{
    state *s = *test_state;
    int thing = 0;
    cbx_target model = { "model", "net", &thing }, table = { "table", NULL, &thing }, alien = { "alien", NULL, &thing };
    cbx_target broken = { "model", "net", NULL };
    cbx_adapter_ops old = general;
    cbx_adapted adapted = { 0 };
    cbx_adapters a;
    cbx_err err = CBX_ERR_INIT;

    released = 0;
    cbx_adapters_init(&a, cbx_ctx_allocator(s->ctx));
    CHECK_OK(cbx_adapters_register(&a, &general, &err), &err, "general");
    CHECK_OK(cbx_adapters_register(&a, &for_models, &err), &err, "special");
    CHECK_STATUS(cbx_adapters_register(&a, &general, &err), CBX_EEXIST, "twice");
    old.abi = 0;
    CHECK_STATUS(cbx_adapters_register(&a, &old, &err), CBX_EVERSION, "another abi");
    CHECK_OK(cbx_adapters_adapt(s->ctx, &a, &model, &adapted, &err), &err, "a model");
    CHECK_STR(adapted.ops->name, "special", "the last registered is asked first");
    cbx_adapted_release(&adapted);
    CHECK_OK(cbx_adapters_adapt(s->ctx, &a, &table, &adapted, &err), &err, "a table");
    CHECK_STR(adapted.ops->name, "resnet", "then the one before");
    cbx_adapted_release(&adapted);
    cbx_adapted_release(&adapted);
    CHECK_INT(released, 2, "each once");
    CHECK_STATUS(cbx_adapters_adapt(s->ctx, &a, &alien, &adapted, &err), CBX_EUNSUPPORTED, "nobody takes it");
    CHECK_STR(err.message, "no adapter takes 'unknown' of type 'alien': 2 are registered", "the message names it");
    CHECK_STATUS(cbx_adapters_adapt(s->ctx, &a, &broken, &adapted, &err), CBX_EINVAL, "what the adapter says");
    CHECK(adapted.ops == NULL, "out is untouched");
    cbx_adapters_clear(&a);
}

TEST(test_every_allocation_may_fail)
{
    CHECK_GT(cbx_test_fail_each(register_many, NULL, "registry"), 20, "allocations were made to fail");
    CHECK_GT(cbx_test_fail_each(fill_values, NULL, "cbx_values_add"), 2, "allocations were made to fail");
}

TESTS(.setup = cbx_test_place_open, .teardown = cbx_test_place_close)
