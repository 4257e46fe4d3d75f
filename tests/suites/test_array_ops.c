/*
 * Case array_ops: native baselines against the oracle at small and odd sizes, mutants that must be rejected, turned inputs
 * with turned answers, work that is positive, and a line of the table for each name.
 */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/perf/launch.h"
#include "suites/array/array_ops/ops.h"
#include "suites/suites.h"

static const cbx_case_ops *const ao = &cbx_array_ops_case;

typedef struct bench {
    cbx_ctx *ctx;
    cbx_params *point;
    cbx_array *in[CBX__AO_INPUTS], *answer, *bound, *out;
} bench;

static void bench_open(bench *t, const char *json)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_array_desc d;

    *t = (bench){ NULL };
    CHECK_OK(cbx_ctx_create(NULL, &t->ctx, &err), &err, "context");
    CHECK_OK(cbx_case_point(t->ctx, ao, json, "test", &t->point, &err), &err, json);
    CHECK_OK(ao->make_inputs(t->ctx, t->point, t->in, &err), &err, json);
    CHECK_OK(ao->oracle(t->ctx, t->point, t->in, &t->answer, &t->bound, &err), &err, json);
    ao->outputs(t->point, &d);
    CHECK_OK(cbx_array_create(t->ctx, &d, &t->out, &err), &err, json);
}

static void bench_close(bench *t)
{
    for (size_t i = 0; i < CBX__AO_INPUTS; i++) cbx_array_free(t->in[i]);
    cbx_array_free(t->answer);
    cbx_array_free(t->bound);
    cbx_array_free(t->out);
    cbx_params_free(t->point);
    cbx_ctx_free(t->ctx);
}

/* Error over bound of one baseline, its output poisoned first; a warm call on other inputs goes before, as in a launch.
 * Negative: not for this point. */
static double ratio_of(bench *t, const cbx_baseline_ops *b)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_array *turned[CBX__AO_INPUTS] = { NULL };
    const char *reason = NULL;
    void *plan = NULL;
    cbx_fidelity f = { 0 };

    if (!b->prepare || (b->supports && !b->supports(t->point, &reason))) return -1;
    CHECK_OK(ao->rotate_inputs(t->ctx, t->point, 3, t->in, turned, &err), &err, "turn");
    CHECK_OK(b->prepare(t->ctx, t->point, &plan, &err), &err, b->name);
    b->bind(plan, turned, &t->out);
    b->run(plan);
    b->bind(plan, t->in, &t->out);
    b->run(plan);
    memset(cbx_array_data_mut(t->out), 0xA5, cbx_array_bytes(t->out));
    if (!b->collect) b->run(plan);
    for (int twice = 0; b->collect && twice < 2; twice++) b->collect(plan);
    cbx_fidelity_compare(t->out, t->answer, t->bound, &f);
    b->finish(plan);
    for (size_t i = 0; i < CBX__AO_INPUTS; i++) cbx_array_free(turned[i]);
    return f.rel_to_tol;
}

static const struct {
    long n;
    const char *why;
} sizes[] = {
    { 1, "one element" }, { 2, "two" },        { 10, "the smallest point" },         { 17, "a prime: one row" },
    { 80, "selftest" },   { 1000, "a point" }, { 4099, "odd: tails in every loop" },
};

static void for_each_point(void (*visit)(bench *, const char *json))
{
    static const char *const dtypes[] = { "f64", "f32", "i64" };
    static const cbx_dtype types[] = { CBX_F64, CBX_F32, CBX_I64 };

    for (size_t s = 0; s < CBX_LEN(sizes); s++)
        for (size_t o = 0; cbx__ao_names[o]; o++)
            for (size_t t = 0; t < CBX_LEN(dtypes); t++) {
                char json[160];
                bench b;
                if (!(cbx__ao_ops[o].dtypes & (1u << types[t]))) continue;
                snprintf(json, sizeof json, "{\"op\":\"%s\",\"n\":%ld,\"dtype\":\"%s\",\"seed\":5}", cbx__ao_names[o],
                         sizes[s].n, dtypes[t]);
                bench_open(&b, json);
                visit(&b, json);
                bench_close(&b);
            }
}

static size_t honest_runs, mutant_runs;

static void check_baselines(bench *t, const char *json)
{
    bool mutated = false;

    for (size_t i = 0; i < ao->nbaselines; i++) {
        const cbx_baseline_ops *b = ao->baselines[i];
        double ratio = ratio_of(t, b);
        if (ratio < 0) continue;
        if (!b->mutant_reason) {
            honest_runs++;
            if (!(ratio <= 1)) fail_msg("%s on %s: error / bound = %g", b->name, json, ratio);
        } else if (cbx_params_int(t->point, "n") >= 10) {
            mutant_runs++;
            mutated = true;
            if (!(ratio > 1)) fail_msg("%s passes on %s: error / bound = %g", b->name, json, ratio);
        }
    }
    CHECK(mutated || cbx_params_int(t->point, "n") < 10, json);
}

static void baselines_pass_and_mutants_do_not(void **state)
{
    (void)state;
    for_each_point(check_baselines);
    CHECK_GT(honest_runs, 200, "points by baselines");
    CHECK_GT(mutant_runs, 300, "points by mutants");
}

static void check_turn(bench *t, const char *json)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_array *in[CBX__AO_INPUTS] = { NULL }, *answer = NULL, *bound = NULL, *fresh = NULL, *fresh_bound = NULL;

    for (uint64_t r = 1; r < 4; r++) {
        CHECK_OK(ao->rotate_inputs(t->ctx, t->point, r, t->in, in, &err), &err, json);
        CHECK_OK(ao->rotate_output(t->ctx, t->point, r, 0, t->answer, &answer, &err), &err, json);
        CHECK_OK(ao->rotate_output(t->ctx, t->point, r, 0, t->bound, &bound, &err), &err, json);
        CHECK_OK(ao->oracle(t->ctx, t->point, in, &fresh, &fresh_bound, &err), &err, json);
        CHECK(memcmp(cbx_array_data(answer), cbx_array_data(fresh), cbx_array_bytes(answer)) == 0, json);
        CHECK(memcmp(cbx_array_data(bound), cbx_array_data(fresh_bound), cbx_array_bytes(bound)) == 0, json);
        if (cbx_params_int(t->point, "n") > 2)
            CHECK(memcmp(cbx_array_data(answer), cbx_array_data(t->answer), cbx_array_bytes(answer)) != 0, json);
        for (size_t i = 0; i < CBX__AO_INPUTS; i++) cbx_array_free(in[i]);
        cbx_array_free(answer);
        cbx_array_free(bound);
        cbx_array_free(fresh);
        cbx_array_free(fresh_bound);
    }
}

static void turned_inputs_have_the_turned_answer(void **state)
{
    (void)state;
    for_each_point(check_turn);
}

static void the_table_is_whole(void **state)
{
    (void)state;
    cbx_ctx *ctx = NULL;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "context");
    CHECK_OK(cbx_case_check(ctx, ao, &err), &err, "the case's own table");
    CHECK(cbx_case_find(&cbx_builtin_cases, "array_ops") == ao, "in the list of cases");
    for (size_t i = 0; cbx__ao_names[i]; i++) CHECK_STR(cbx__ao_ops[i].name, cbx__ao_names[i], "names in table order");
    for (size_t i = 0; i < ao->npoints; i++) {
        cbx_params *p = NULL;
        cbx_work w;
        CHECK_OK(cbx_case_point(ctx, ao, ao->points[i], "points", &p, &err), &err, ao->points[i]);
        CHECK_STR(cbx_params_json(p), ao->points[i], "written in the canonical form");
        cbx__ao_work(p, &w);
        CHECK(w.macs == (double)cbx_params_int(p, "n") && w.bytes >= 8 && w.pipe_ops >= 0 && w.flop >= 0, "work");
        CHECK(w.working_set_bytes >= w.bytes, "the working set holds what is moved");
        cbx_params_free(p);
    }
    cbx_ctx_free(ctx);
}

static void bad_points_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *json, *says;
    } cases[] = {
        { "{\"op\":\"bincount\",\"n\":10,\"dtype\":\"f32\"}", "use i64" },
        { "{\"op\":\"percentile\",\"n\":10,\"dtype\":\"i64\"}", "use f64" },
        { "{\"op\":\"sum\",\"n\":0}", "1.." },
        { "{\"op\":\"cumprod\",\"n\":10}", "cumsum" },
    };
    cbx_ctx *ctx = NULL;

    CHECK_OK(cbx_ctx_create(NULL, &ctx, NULL), (&(cbx_err){ 0 }), "context");
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_err err = CBX_ERR_INIT;
        cbx_params *p = NULL;
        CHECK_STATUS(cbx_case_point(ctx, ao, cases[i].json, "--point", &p, &err), CBX_EINVAL, cases[i].json);
        if (!strstr(err.message, cases[i].says)) fail_msg("%s: '%s'", cases[i].json, err.message);
    }
    cbx_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_whole),
        cmocka_unit_test(bad_points_are_refused),
        cmocka_unit_test(baselines_pass_and_mutants_do_not),
        cmocka_unit_test(turned_inputs_have_the_turned_answer),
    };
    return cmocka_run_group_tests_name("suites/array_ops", tests, NULL, NULL);
}
