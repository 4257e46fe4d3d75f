/*
 * The cases after nitrix's sparse and convolution operations, and the ordinary product: oracles
 * against 60-digit answers, native baselines against oracles, mutants that must be rejected, turned
 * inputs with turned answers, points that are refused, memory that runs out.
 */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "case_answers.h"
#include "case_bench.h"
#include "case_problems.h"
#include "fail_alloc.h"
#include "suites/suites.h"

TEST(baselines_pass_and_mutants_do_not)
{
    size_t honest = 0, mutants = 0;

    for (size_t i = 0; i < CBX_LEN(problems); i++) {
        case_bench t;
        case_bench_open(&t, problems[i].c, problems[i].json);
        case_bench_check_baselines(&t, problems[i].json, &honest, &mutants);
        case_bench_close(&t);
    }
    CHECK_GT((double)honest, (double)CBX_LEN(problems), "points by baselines");
    CHECK_GT((double)mutants, 3.0 * (double)CBX_LEN(problems), "points by mutants");
}

TEST(turned_inputs_have_the_turned_answer)
{
    for (size_t i = 0; i < CBX_LEN(problems); i++) {
        case_bench t;
        case_bench_open(&t, problems[i].c, problems[i].json);
        case_bench_check_turns(&t, problems[i].json, false);
        case_bench_close(&t);
    }
}

TEST(the_tables_are_whole)
{
    static const cbx_case_ops *const all[] = { &cbx_ell_edge_aggregate_case, &cbx_ell_matmul_case,
                                               &cbx_ell_row_softmax_case,    &cbx_semiring_conv_case,
                                               &cbx_dense_matmul_case,       &cbx_array_qmap_case };
    for (size_t i = 0; i < CBX_LEN(all); i++) case_bench_check_table(all[i]);
}

/* --- known answers --- */

static const double *put(cbx_array *a, const double *from)
{
    void *data = cbx_array_data_mut(a);

    for (size_t i = 0; i < cbx_array_count(a); i++, from++) {
        switch (cbx_array_dtype(a)) {
        case CBX_F32: ((float *)data)[i] = (float)*from; break;
        case CBX_I32: ((int32_t *)data)[i] = (int32_t)*from; break;
        default: ((double *)data)[i] = *from;
        }
    }
    return from;
}

static void check_answer(case_bench *t, const char *json, const double *right)
{
    const double *c = cbx_array_data(t->answer[0]), *bound = cbx_array_data(t->bound[0]);
    const double u = strstr(json, "f64") ? 0x1p-53 : 0x1p-24;

    for (size_t e = 0; e < cbx_array_count(t->answer[0]); e++) {
        const double near = 0x1p-50 * fabs(right[e]) + 0x1p-52 * (strstr(json, "f64") ? 0x1p-6 : 1);
        if (c[e] != right[e] && !(fabs(c[e] - right[e]) <= near))
            fail_msg("%s: element %zu is %.17g, not %.17g", json, e, c[e], right[e]);
        if (isfinite(right[e]) && !(bound[e] >= 0 && bound[e] < 2000 * u * (1 + fabs(right[e]))))
            fail_msg("%s: element %zu may err by %g", json, e, bound[e]);
        if (!isfinite(right[e]) && bound[e] != 0) fail_msg("%s: a special value may err", json);
    }
}

TEST(oracles_give_the_known_answers)
{
    for (size_t i = 0; i < CBX_LEN(answers); i++) {
        const cbx_case_ops *c = cbx_case_find(&cbx_builtin_cases, answers[i].name);
        const double *from = answers[i].numbers;
        cbx_err err = CBX_ERR_INIT;
        case_bench t;

        case_bench_open(&t, c, answers[i].point);
        for (size_t a = 0; a < c->ninputs; a++) from = put(t.in[a], from);
        cbx_array_free(t.answer[0]);
        cbx_array_free(t.bound[0]);
        CHECK_OK(c->oracle(t.ctx, t.point, t.in, t.answer, t.bound, &err), &err, answers[i].point);
        CHECK((size_t)(from - answers[i].numbers) + cbx_array_count(t.answer[0]) == answers[i].count, answers[i].point);
        check_answer(&t, answers[i].point, from);
        for (size_t b = 0; b < c->nbaselines; b++) {
            const cbx_baseline_ops *ops = c->baselines[b];
            if (!ops->mutant_reason && !ops->limit && case_bench_ratio(&t, ops) > 1)
                fail_msg("%s of %s on known answers", ops->name, answers[i].point);
        }
        case_bench_close(&t);
    }
}

/* --- what is refused, and memory --- */

TEST(bad_points_are_refused)
{
    static const struct {
        const cbx_case_ops *c;
        const char *json, *says;
    } bad[] = {
        { &cbx_ell_matmul_case, "{\"m\":4,\"k\":2,\"n\":2,\"algebra\":\"boolean\",\"dtype\":\"f32\"}", "use bool" },
        { &cbx_ell_edge_aggregate_case, "{\"n\":4,\"k\":2,\"d_in\":2,\"d_out\":2,\"algebra\":\"log\"}", "real" },
        { &cbx_ell_edge_aggregate_case,
          "{\"n\":4,\"k\":2,\"d_in\":2,\"d_out\":2,\"algebra\":\"real\",\"graph\":\"mesh\"}", "mesh2d" },
        { &cbx_ell_row_softmax_case, "{\"n\":4,\"k\":257}", "256" },
        { &cbx_semiring_conv_case,
          "{\"batch\":1,\"height\":2,\"width\":9,\"c_in\":1,\"c_out\":1,\"kernel\":3,\"padding\":\"valid\","
          "\"algebra\":\"real\"}",
          "does not fit" },
        { &cbx_dense_matmul_case, "{\"m\":0,\"k\":2,\"n\":2}", "1.." },
    };
    cbx_ctx *ctx = cbx_test_context();

    for (size_t i = 0; i < CBX_LEN(bad); i++) {
        cbx_err err = CBX_ERR_INIT;
        cbx_params *p = NULL;
        CHECK_STATUS(cbx_case_point(ctx, bad[i].c, bad[i].json, "--point", &p, &err), CBX_EINVAL, bad[i].json);
        if (!strstr(err.message, bad[i].says)) fail_msg("%s: '%s'", bad[i].json, err.message);
    }
    cbx_ctx_free(ctx);
}

static void free_arrays(cbx_array **a, size_t n)
{
    for (size_t i = 0; i < n; i++) cbx_array_free(a[i]);
}

/* Inputs, a turn, the oracle, and a plan of every baseline, of one point. */
static cbx_status everything(cbx_ctx *ctx, void *user)
{
    const size_t which = *(const size_t *)user;
    const cbx_case_ops *c = problems[which].c;
    cbx_array *in[CBX_CASE_MAX_ARRAYS] = { NULL }, *turned[CBX_CASE_MAX_ARRAYS] = { NULL },
              *out[2 * CBX_CASE_MAX_ARRAYS] = { NULL }, *other = NULL;
    cbx_params *p = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = cbx_case_point(ctx, c, problems[which].json, "test", &p, &err);

    if (!st) st = c->make_inputs(ctx, p, in, &err);
    if (!st) st = c->rotate_inputs(ctx, p, 1, in, turned, &err);
    if (!st) st = c->oracle(ctx, p, in, out, out + c->noutputs, &err);
    if (!st) st = c->rotate_output(ctx, p, 1, 0, out[0], &other, &err);
    for (size_t b = 0; b < c->nbaselines && !st; b++) {
        void *plan = NULL;
        if (!c->baselines[b]->prepare) continue;
        st = c->baselines[b]->prepare(ctx, p, &plan, &err);
        c->baselines[b]->finish(plan);
        if (st == CBX_EUNAVAILABLE) st = CBX_OK; /* a GPU's, without a GPU */
    }
    free_arrays(in, c->ninputs);
    free_arrays(turned, c->ninputs);
    free_arrays(out, 2 * c->noutputs);
    cbx_array_free(other);
    cbx_params_free(p);
    return st;
}

TEST(memory_may_run_out)
{
    for (size_t i = 0; i < CBX_LEN(problems); i++) {
        if (i && problems[i].c == problems[i - 1].c && !strstr(problems[i].why, "rcm")) continue;
        CHECK_GT((double)cbx_test_fail_each(everything, &i, problems[i].json), 10, "something was allocated");
    }
}

TESTS()
