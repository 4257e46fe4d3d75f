/*
 * Look-ups in a case, and the check of its table: a good table passes, each planted fault is named.
 */
#include "check.h"

#include <stdio.h>

#include "calibrax/perf/case/case.h"

static void no_work(const cbx_params *p, cbx_work *out)
{
    (void)p;
    memset(out, 0, sizeof *out);
}
static cbx_status no_prepare(cbx_ctx *ctx, const cbx_params *p, void **plan, cbx_err *err)
{
    (void)ctx, (void)p, (void)err;
    *plan = NULL;
    return CBX_OK;
}
static void no_bind(void *plan, cbx_array *const *in, cbx_array *const *out) { (void)plan, (void)in, (void)out; }
static void no_run(void *plan) { (void)plan; }
static void text_label(const cbx_params *p, char *buf, size_t size)
{
    snprintf(buf, size, "n=%d", (int)cbx_params_int(p, "n"));
}
static void scalar_output(const cbx_params *p, cbx_array_desc *out)
{
    (void)p;
    *out = (cbx_array_desc){ CBX_F64, 0, { 0 } };
}
static cbx_status no_inputs(cbx_ctx *ctx, const cbx_params *p, cbx_array **in, cbx_err *err)
{
    (void)ctx, (void)p, (void)in;
    return cbx_fail(err, CBX_EUNSUPPORTED, "not made here");
}
static cbx_status no_oracle(cbx_ctx *ctx, const cbx_params *p, cbx_array *const *in, cbx_array **answer,
                            cbx_array **bound, cbx_err *err)
{
    (void)ctx, (void)p, (void)in, (void)answer, (void)bound;
    return cbx_fail(err, CBX_EUNSUPPORTED, "not made here");
}
static cbx_status no_rotation(cbx_ctx *ctx, const cbx_params *p, uint64_t r, cbx_array *const *in, cbx_array **out,
                              cbx_err *err)
{
    (void)r;
    (void)in;
    return no_inputs(ctx, p, out, err);
}
static cbx_status even_only(const cbx_params *p, cbx_err *err)
{
    const int64_t n = cbx_params_int(p, "n");
    return n % 2 ? cbx_fail(err, CBX_EINVAL, "'n' is %d, but it must be even", (int)n) : CBX_OK;
}

#define NATIVE(label, mutant)                                                                                          \
    {                                                                                                                  \
        sizeof(cbx_baseline_ops), CBX_CASE_ABI, label, "native", "a baseline", NULL, mutant, NULL, no_work,            \
            no_prepare, no_bind, no_run, no_run                                                                        \
    }

/* A table that tests may damage. */
typedef struct sample {
    cbx_case_ops ops;
    cbx_param_def params[1];
    cbx_baseline_ops first, second, mutant;
    const cbx_baseline_ops *baselines[3];
    const char *points[2], *inputs[1], *outputs[1];
} sample;

static void sample_init(sample *s)
{
    *s = (sample){
        .params = { { .name = "n", .kind = CBX_PARAM_INT, .min = 0, .max = 100 } },
        .first = NATIVE("plain", NULL),
        .second = { sizeof(cbx_baseline_ops), CBX_CASE_ABI, "numpy", "numpy", "foreign", NULL, NULL, NULL, no_work,
                    NULL, NULL, NULL, NULL },
        .mutant = NATIVE("wrong", "adds one"),
        .points = { "{\"n\":2}", "{\"n\":4}" },
        .inputs = { "A" },
        .outputs = { "C" },
    };
    s->baselines[0] = &s->first;
    s->baselines[1] = &s->second;
    s->baselines[2] = &s->mutant;
    s->ops = (cbx_case_ops){
        .struct_size = sizeof s->ops,
        .abi = CBX_CASE_ABI,
        .name = "sample",
        .summary = "for this test",
        .params = s->params,
        .nparams = 1,
        .points = s->points,
        .npoints = 2,
        .representative = 1,
        .baselines = s->baselines,
        .nbaselines = 3,
        .ninputs = 1,
        .noutputs = 1,
        .input_names = s->inputs,
        .output_names = s->outputs,
        .label = text_label,
        .outputs = scalar_output,
        .make_inputs = no_inputs,
        .oracle = no_oracle,
        .check_point = even_only,
    };
}

static void damage_size(sample *s) { s->ops.struct_size--; }
static void damage_abi(sample *s) { s->first.abi++; }
static void damage_name(sample *s) { s->ops.name = "../sample"; }
static void damage_oracle(sample *s) { s->ops.oracle = NULL; }
static void damage_rotation(sample *s) { s->ops.rotate_inputs = no_rotation; }
static void damage_counts(sample *s) { s->ops.ninputs = CBX_CASE_MAX_ARRAYS + 1; }
static void damage_representative(sample *s) { s->ops.representative = 2; }
static void damage_reference(sample *s) { s->ops.nbaselines = 0; }
static void damage_run(sample *s) { s->first.run = NULL; }
static void damage_foreign(sample *s) { s->second.run = no_run; }
static void damage_twice(sample *s) { s->second.name = "plain"; }
static void damage_order(sample *s) { s->baselines[1] = &s->mutant, s->baselines[2] = &s->second; }
static void damage_null(sample *s) { s->baselines[1] = NULL; }
static void damage_param(sample *s) { s->params[0].max = -1; }
static void damage_point(sample *s) { s->points[0] = "{\"n\":101}"; }
static void damage_rule(sample *s) { s->points[0] = "{\"n\":3}"; }
static void damage_repeat(sample *s) { s->points[0] = "{\"n\":4}"; }
static void damage_limit(sample *s) { s->first.limit = "does nothing"; }
static void damage_both(sample *s) { s->mutant.limit = "does nothing"; }
static void damage_output(sample *s) { s->outputs[0] = NULL; }

static const struct {
    void (*damage)(sample *);
    cbx_status status;
    const char *says;
} faults[] = {
    { damage_size, CBX_EVERSION, "another" },
    { damage_abi, CBX_EVERSION, "baseline 0" },
    { damage_name, CBX_EINVAL, "no usable name" },
    { damage_oracle, CBX_EINVAL, "oracle" },
    { damage_rotation, CBX_EINVAL, "rotate_output" },
    { damage_counts, CBX_EINVAL, "1..8" },
    { damage_representative, CBX_EINVAL, "representative 2" },
    { damage_reference, CBX_EINVAL, "ratio reference" },
    { damage_run, CBX_EINVAL, "'plain' needs" },
    { damage_foreign, CBX_EINVAL, "'numpy'" },
    { damage_twice, CBX_EINVAL, "two baselines" },
    { damage_order, CBX_EINVAL, "mutants come last" },
    { damage_null, CBX_EINVAL, "baseline 1 is NULL" },
    { damage_param, CBX_EINVAL, "'n' allows no value" },
    { damage_point, CBX_EINVAL, "0..100" },
    { damage_rule, CBX_EINVAL, "must be even" },
    { damage_repeat, CBX_EINVAL, "is listed twice" },
    { damage_output, CBX_EINVAL, "output 0" },
    { damage_limit, CBX_EINVAL, "the ratio reference as well" },
    { damage_both, CBX_EINVAL, "a mutant as well" },
};

TEST(test_check)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    sample s;
    sample_init(&s);
    if (cbx_case_check(ctx, &s.ops, &err)) fail_msg("a good table is refused: %s", err.message);
    for (size_t i = 0; i < CBX_LEN(faults); i++) {
        sample_init(&s);
        faults[i].damage(&s);
        const cbx_status st = cbx_case_check(ctx, &s.ops, &err);
        if (st != faults[i].status || !strstr(err.message, faults[i].says))
            fail_msg("fault %zu ('%s'): status %s, '%s'", i, faults[i].says, cbx_status_name(st),
                     st ? err.message : "");
    }
    cbx_ctx_free(ctx);
}

TEST(test_look_ups)
{
    sample s;
    sample_init(&s);
    const cbx_case_ops *const cases[] = { &s.ops };
    const cbx_case_list list = { cases, 1 };
    assert_ptr_equal(cbx_case_find(&list, "sample"), &s.ops);
    assert_null(cbx_case_find(&list, "sampl"));
    assert_null(cbx_case_find(&list, NULL));
    assert_ptr_equal(cbx_case_baseline(&s.ops, "wrong"), &s.mutant);
    assert_null(cbx_case_baseline(&s.ops, "right"));
}

TEST(test_point)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_params *p = NULL;
    cbx_err err = CBX_ERR_INIT;
    sample s;
    sample_init(&s);
    assert_int_equal(cbx_case_point(ctx, &s.ops, "{\"n\":6}", "--point", &p, &err), CBX_OK);
    assert_int_equal(cbx_params_int(p, "n"), 6);
    cbx_params_free(p);
    p = NULL;
    assert_int_equal(cbx_case_point(ctx, &s.ops, "{\"n\":5}", "--point", &p, &err), CBX_EINVAL);
    assert_null(p);
    cbx_ctx_free(ctx);
}

TESTS()
