/* Registry, adapters, and the run of a benchmark. */
#include "check.h"

#include <stdlib.h>

#include "calibrax/core/adapters.h"
#include "fail_alloc.h"

typedef struct state {
    cbx_test_alloc alloc;
    cbx_ctx *ctx;
} state;

static int setup(void **out)
{
    static state s;

    cbx_test_alloc_init(&s.alloc);
    s.ctx = cbx_test_ctx(&s.alloc);
    *out = &s;
    return 0;
}

static int teardown(void **in)
{
    state *s = *in;

    cbx_ctx_free(s->ctx);
    cbx_test_alloc_check(&s->alloc, "after the test");
    return 0;
}

/* --- registry --- */

static void test_registry(void **in)
{
    static const char *const names[] = { "zeta", "alpha", "mid" };
    static const int items[] = { 1, 2, 3, 4 };
    state *s = *in;
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
    for (size_t i = 0; i < 3; i++) CHECK_STR(cbx_registry_name(&r, i), names[i], "in order of registration");
    CHECK(cbx_registry_name(&r, 3) == NULL, "past the end");
    CHECK_OK(cbx_registry_register(&r, "alpha", &items[3], true, &err), &err, "replaced when asked");
    CHECK_OK(cbx_registry_get(&r, "alpha", &got, &err), &err, "get");
    CHECK(got == &items[3] && cbx_registry_count(&r) == 3, "in its place");
    CHECK_STATUS(cbx_registry_get(&r, "alpah", &got, &err), CBX_ENOENT, "a slip");
    CHECK_STR(err.message, "no benchmark 'alpah': did you mean 'alpha'?", "is met with the nearest");
    CHECK_STATUS(cbx_registry_get(&r, "something else", &got, &err), CBX_ENOENT, "far away");
    CHECK_STR(err.message, "no benchmark 'something else' among the 3 registered", "no suggestion");
    CHECK(got == &items[3], "out is untouched");
    CHECK_OK(cbx_registry_remove(&r, "zeta", &err), &err, "remove");
    CHECK(!cbx_registry_has(&r, "zeta") && cbx_registry_has(&r, "mid"), "only that");
    CHECK_STR(cbx_registry_name(&r, 0), "alpha", "the order stays");
    CHECK_STATUS(cbx_registry_remove(&r, "zeta", &err), CBX_ENOENT, "only once");
    cbx_registry_clear(&r);
    CHECK_INT(cbx_registry_count(&r), 0, "clear");
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
    int setups, teardowns;
    cbx_status fail_setup, fail_training, fail_evaluation, fail_targets;
} bench;

static cbx_status give(cbx_status fail, cbx_values *out, const char *name, double value, cbx_err *err)
{
    return fail ? cbx_fail(err, fail, "planted") : cbx_values_add(out, name, value, err);
}

static cbx_status bench_setup(cbx_ctx *ctx, void *self, cbx_err *err)
{
    bench *b = self;

    (void)ctx;
    b->setups++;
    return b->fail_setup ? cbx_fail(err, b->fail_setup, "planted") : CBX_OK;
}

static cbx_status bench_training(cbx_ctx *ctx, void *self, cbx_values *out, cbx_err *err)
{
    cbx_status st = give(((bench *)self)->fail_training, out, "loss", 0.5, err);

    (void)ctx;
    return st ? st : cbx_values_add(out, "accuracy", 0.1, err);
}

static cbx_status bench_evaluation(cbx_ctx *ctx, void *self, cbx_values *out, cbx_err *err)
{
    (void)ctx;
    return give(((bench *)self)->fail_evaluation, out, "accuracy", 0.9, err);
}

static cbx_status bench_targets(cbx_ctx *ctx, void *self, cbx_values *out, cbx_err *err)
{
    (void)ctx;
    return give(((bench *)self)->fail_targets, out, "accuracy", 0.95, err);
}

static void bench_teardown(cbx_ctx *ctx, void *self)
{
    (void)ctx;
    ((bench *)self)->teardowns++;
}

static const cbx_benchmark_ops ops = {
    sizeof(cbx_benchmark_ops), CBX_BENCHMARK_ABI, "resnet",      "vision", bench_setup, bench_training,
    bench_evaluation,          bench_teardown,    bench_targets,
};

static double value_of(const cbx_result *r, const char *name)
{
    const cbx_result_content *c = cbx_result_get(r);
    cbx_point p = { .metrics = c->metrics, .nmetrics = c->nmetrics };

    CHECK(cbx_point_metric(&p, name) != NULL, name);
    return cbx_point_metric(&p, name)->value;
}

static void test_a_benchmark_is_run(void **in)
{
    state *s = *in;
    bench b = { 0 };
    cbx_result *r = NULL;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_benchmark_run(s->ctx, &ops, &b, &r, &err), &err, "run");
    CHECK(b.setups == 1 && b.teardowns == 1, "set up and torn down");
    CHECK(value_of(r, "loss") == 0.5 && value_of(r, "accuracy") == 0.9,
          "evaluation replaces what training gave by the same name");
    CHECK(value_of(r, "training_seconds") >= 0 && value_of(r, "evaluation_seconds") >= 0, "both are timed");
    CHECK(cbx_json_get_double(cbx_json_get(cbx_result_get(r)->metadata, "targets"), "accuracy", 0) == 0.95, "targets");
    CHECK_STR(cbx_result_get(r)->domain, "vision", "domain");
    cbx_result_free(r);
}

static void test_a_failing_benchmark_is_torn_down(void **in)
{
    static const struct {
        bench b;
        const char *why;
    } cases[] = {
        { { .fail_setup = CBX_EIO }, "setup" },
        { { .fail_training = CBX_EDOM }, "training" },
        { { .fail_evaluation = CBX_ETIMEOUT }, "evaluation" },
        { { .fail_targets = CBX_ENOENT }, "targets" },
    };
    static const cbx_status wanted[] = { CBX_EIO, CBX_EDOM, CBX_ETIMEOUT, CBX_ENOENT };
    state *s = *in;

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        bench b = cases[i].b;
        cbx_result *r = NULL;
        cbx_err err = CBX_ERR_INIT;
        CHECK_STATUS(cbx_benchmark_run(s->ctx, &ops, &b, &r, &err), wanted[i], cases[i].why);
        CHECK_STR(err.message, "planted", "its own words");
        CHECK(b.teardowns == 1 && r == NULL, cases[i].why);
    }
}

static void test_protocols_of_another_version_are_refused(void **in)
{
    state *s = *in;
    cbx_benchmark_ops other = ops;
    cbx_result *r = NULL;
    cbx_err err = CBX_ERR_INIT;

    CHECK_STATUS(cbx_benchmark_run(s->ctx, NULL, NULL, &r, &err), CBX_EINVAL, "none");
    other.abi = 9;
    CHECK_STATUS(cbx_benchmark_run(s->ctx, &other, NULL, &r, &err), CBX_EVERSION, "another abi");
    other = ops;
    other.struct_size = 16;
    CHECK_STATUS(cbx_benchmark_run(s->ctx, &other, NULL, &r, &err), CBX_EINVAL, "too small");
    other = ops;
    other.run_evaluation = NULL;
    CHECK_STATUS(cbx_benchmark_run(s->ctx, &other, NULL, &r, &err), CBX_EINVAL, "nothing to run");
}

static cbx_status run_it(cbx_ctx *ctx, void *user)
{
    bench b = { 0 };
    cbx_result *r = NULL;
    cbx_status st = cbx_benchmark_run(ctx, &ops, &b, &r, NULL);

    (void)user;
    cbx_result_free(r);
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

static void test_adapters(void **in)
{
    state *s = *in;
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

static void test_every_allocation_may_fail(void **in)
{
    (void)in;
    CHECK_GT(cbx_test_fail_each(register_many, NULL, "registry"), 20, "allocations were made to fail");
    CHECK_GT(cbx_test_fail_each(run_it, NULL, "cbx_benchmark_run"), 3, "allocations were made to fail");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_registry, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_benchmark_is_run, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_failing_benchmark_is_torn_down, setup, teardown),
        cmocka_unit_test_setup_teardown(test_protocols_of_another_version_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_adapters, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_allocation_may_fail, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
