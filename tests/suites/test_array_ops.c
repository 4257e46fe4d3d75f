/*
 * Case array_ops: native baselines against the oracle at small and odd sizes, mutants that must be
 * rejected, turned inputs with turned answers, work that is positive, and a line of the table for
 * each name.
 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

#include "calibrax/array/trace/cost.h"
#include "calibrax/array/transform.h"
#include "case_bench.h"
#include "suites/array/array_ops/ops.h"
#include "suites/suites.h"

static const cbx_case_ops *const ao = &cbx_array_ops_case;

static const struct {
    long n;
    const char *why;
} sizes[] = {
    { 1, "one element" }, { 2, "two" },        { 10, "the smallest point" },         { 17, "a prime: one row" },
    { 80, "selftest" },   { 1000, "a point" }, { 4099, "odd: tails in every loop" },
};

static void for_each_point(void (*visit)(case_bench *, const char *json))
{
    static const char *const dtypes[] = { "f64", "f32", "i64" };
    static const cbx_dtype types[] = { CBX_F64, CBX_F32, CBX_I64 };

    for (size_t s = 0; s < CBX_LEN(sizes); s++)
        for (size_t o = 0; cbx__ao_names[o]; o++)
            for (size_t t = 0; t < CBX_LEN(dtypes); t++) {
                char json[160];
                case_bench b;
                if (!(cbx__ao_ops[o].dtypes & (1u << types[t]))) continue;
                if (sizes[s].n > 1000 && cbx__ao_ops[o].in[0] == CBX__AO_POINTS) continue; /* all pairs of them */
                snprintf(json, sizeof json, "{\"op\":\"%s\",\"n\":%ld,\"dtype\":\"%s\",\"seed\":5}", cbx__ao_names[o],
                         sizes[s].n, dtypes[t]);
                case_bench_open(&b, ao, json);
                visit(&b, json);
                case_bench_close(&b);
            }
}

static size_t honest_runs, mutant_runs;

static void check_baselines(case_bench *t, const char *json)
{
    const bool many = cbx_params_int(t->point, "n") >= 10; /* fewer elements may hide a fault */
    size_t mutants = 0;

    for (size_t i = 0; i < ao->nbaselines; i++) {
        const cbx_baseline_ops *b = ao->baselines[i];
        const double ratio = b->mutant_reason && !many ? -1 : case_bench_ratio(t, b);
        if (ratio < 0 || b->limit) continue; /* a limit runs, and gives no answer */
        *(b->mutant_reason ? &mutants : &honest_runs) += 1;
        if (!b->mutant_reason && !(ratio <= 1)) fail_msg("%s on %s: error / bound = %g", b->name, json, ratio);
        if (b->mutant_reason && !(ratio > 1)) fail_msg("%s passes on %s: error / bound = %g", b->name, json, ratio);
    }
    mutant_runs += mutants;
    CHECK(mutants || !many, json);
}

TEST(baselines_pass_and_mutants_do_not)
{
    for_each_point(check_baselines);
    CHECK_GT(honest_runs, 200, "points by baselines");
    CHECK_GT(mutant_runs, 300, "points by mutants");
}

static void check_turn(case_bench *t, const char *json)
{
    case_bench_check_turns(t, json, cbx_params_int(t->point, "n") <= 2);
}

TEST(turned_inputs_have_the_turned_answer) { for_each_point(check_turn); }

TEST(the_table_is_whole)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_case_check(ctx, ao, &err), &err, "the case's own table");
    CHECK(cbx_case_find(&cbx_builtin_cases, "array_ops") == ao, "in the list of cases");
    for (size_t i = 0; cbx__ao_names[i]; i++) CHECK_STR(cbx__ao_ops[i].name, cbx__ao_names[i], "names in table order");
    for (size_t i = 0; i < ao->npoints; i++) {
        cbx_params *p = NULL;
        cbx_work w;
        CHECK_OK(cbx_case_point(ctx, ao, ao->points[i], "points", &p, &err), &err, ao->points[i]);
        CHECK_STR(cbx_params_json(p), ao->points[i], "written in the canonical form");
        cbx__ao_work(p, &w);
        CHECK(w.macs >= (double)cbx_params_int(p, "n") && w.bytes >= 8 && w.pipe_ops >= 0 && w.flop >= 0, "work");
        CHECK(w.working_set_bytes >= w.bytes, "the working set holds what is moved");
        cbx_params_free(p);
    }
    cbx_ctx_free(ctx);
}

/* The sum of an operation's result. */
static cbx_status summed(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    const cbx__ao_point *p = user;

    (void)nin, (void)nout;
    out[0] = cbx_sum(c, p->op->call(c, in, p->n), NULL);
    return CBX_OK;
}

static double flops_of(cbx_ctx *c, const cbx_fn *f, const cbx_array_desc *in)
{
    cbx_cost_report work;
    cbx_cost_program program = { 0 };
    cbx_err err;

    CHECK_OK(cbx_cost_compile(c, f, f->nin, in, &work, &program, &err), &err, f->name);
    const double flops = (double)program.total.flop + (double)program.total.transcendental;
    cbx_cost_program_clear(&program);
    return flops;
}

/* Of what compiled code does, by count: reverse mode takes at most four times the flops of a
 * model. */
TEST(gradients_take_at_most_four_times_the_flops)
{
    static const char *const models[] = { "expression", "chain100",  "model",   "model_grad_p", "model_grad_x",
                                          "scan",       "scan_grad", "fori",    "kww",          "kww_grad",
                                          "kww_jac",    "rbf",       "rbf_grad" };
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_ctx_set_backend(ctx, cbx_backend_jit(), &err), &err, "the backend");
    for (size_t m = 0; m < CBX_LEN(models); m++) {
        cbx_array_desc in[CBX__AO_INPUTS];
        char json[120];
        cbx_params *params = NULL;
        cbx_fn *gradient = NULL;
        snprintf(json, sizeof json, "{\"op\":\"%s\",\"n\":1000,\"dtype\":\"f64\"}", models[m]);
        CHECK_OK(cbx_case_point(ctx, ao, json, "a point", &params, &err), &err, json);
        cbx__ao_point p = cbx__ao_read(params);
        const cbx_fn f = { p.op->name, summed, &p, cbx__ao_operands(p.op), 1, NULL };
        for (size_t i = 0; i < f.nin; i++) cbx__ao_input(&p, i, &in[i]);
        CHECK_OK(cbx_grad(ctx, &f, 1, NULL, &gradient, &err), &err, json);
        const double times = flops_of(ctx, gradient, in) / flops_of(ctx, &f, in);
        if (!(times <= 4)) fail_msg("%s: its gradient takes %.2f times the flops", p.op->name, times);
        cbx_fn_free(gradient);
        cbx_params_free(params);
    }
    cbx_ctx_free(ctx);
}

TEST(bad_points_are_refused)
{
    static const struct {
        const char *json, *says;
    } cases[] = {
        { "{\"op\":\"bincount\",\"n\":10,\"dtype\":\"f32\"}", "use i64" },
        { "{\"op\":\"percentile\",\"n\":10,\"dtype\":\"i64\"}", "use f64" },
        { "{\"op\":\"sum\",\"n\":0}", "1.." },
        { "{\"op\":\"cumprod\",\"n\":10}", "cumsum" },
    };
    cbx_ctx *ctx = cbx_test_context();

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_err err = CBX_ERR_INIT;
        cbx_params *p = NULL;
        CHECK_STATUS(cbx_case_point(ctx, ao, cases[i].json, "--point", &p, &err), CBX_EINVAL, cases[i].json);
        if (!strstr(err.message, cases[i].says)) fail_msg("%s: '%s'", cases[i].json, err.message);
    }
    cbx_ctx_free(ctx);
}

TESTS()
