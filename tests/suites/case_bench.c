/*
 * What every case is held to; see case_bench.h.
 */
#include "case_bench.h"

#include "check.h"

#include <string.h>

#include "calibrax/perf/launch/launch.h"
#include "suites/suites.h"

void case_bench_open(case_bench *t, const cbx_case_ops *c, const char *json)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_array_desc d[CBX_CASE_MAX_ARRAYS];

    *t = (case_bench){ .c = c };
    CHECK_OK(cbx_ctx_create(NULL, &t->ctx, &err), &err, "context");
    CHECK_OK(cbx_case_point(t->ctx, c, json, "test", &t->point, &err), &err, json);
    CHECK_OK(c->make_inputs(t->ctx, t->point, t->in, &err), &err, json);
    CHECK_OK(c->oracle(t->ctx, t->point, t->in, t->answer, t->bound, &err), &err, json);
    c->outputs(t->point, d);
    for (size_t i = 0; i < c->noutputs; i++) CHECK_OK(cbx_array_create(t->ctx, &d[i], &t->out[i], &err), &err, json);
}

static void free_all(cbx_array **a)
{
    for (size_t i = 0; i < CBX_CASE_MAX_ARRAYS; i++) {
        cbx_array_free(a[i]);
        a[i] = NULL;
    }
}

void case_bench_close(case_bench *t)
{
    free_all(t->in);
    free_all(t->answer);
    free_all(t->bound);
    free_all(t->out);
    cbx_params_free(t->point);
    cbx_ctx_free(t->ctx);
}

double case_bench_ratio(case_bench *t, const cbx_baseline_ops *b)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_array *turned[CBX_CASE_MAX_ARRAYS] = { NULL };
    const char *reason = NULL;
    void *plan = NULL;
    double worst = 0;

    if (!b->prepare || (b->supports && !b->supports(t->point, &reason))) return -1;
    CHECK_OK(t->c->rotate_inputs(t->ctx, t->point, 3, t->in, turned, &err), &err, "turn");
    cbx_status st = b->prepare(t->ctx, t->point, &plan, &err);
    if (st == CBX_EUNAVAILABLE) { /* a GPU's, without a GPU */
        free_all(turned);
        return -1;
    }
    CHECK_OK(st, &err, b->name);
    b->bind(plan, turned, t->out);
    b->run(plan);
    b->bind(plan, t->in, t->out);
    for (size_t i = 0; i < t->c->noutputs; i++) memset(cbx_array_data_mut(t->out[i]), 0xA5, cbx_array_bytes(t->out[i]));
    b->run(plan);
    if (b->collect) b->collect(plan);
    for (size_t i = 0; i < t->c->noutputs; i++) {
        cbx_fidelity f = { 0 };
        cbx_fidelity_compare(t->out[i], t->answer[i], t->bound[i], &f);
        worst = f.rel_to_tol > worst ? f.rel_to_tol : worst;
    }
    b->finish(plan);
    free_all(turned);
    return worst;
}

void case_bench_check_baselines(case_bench *t, const char *json, size_t *honest, size_t *mutants)
{
    for (size_t i = 0; i < t->c->nbaselines; i++) {
        const cbx_baseline_ops *b = t->c->baselines[i];
        const double ratio = case_bench_ratio(t, b);
        if (ratio < 0 || b->limit) continue; /* a limit runs, and gives no answer */
        *(b->mutant_reason ? mutants : honest) += 1;
        if (!b->mutant_reason && !(ratio <= 1)) fail_msg("%s on %s: error / bound = %g", b->name, json, ratio);
        if (b->mutant_reason && !(ratio > 1)) fail_msg("%s passes on %s: error / bound = %g", b->name, json, ratio);
    }
}

static bool same_bytes(const cbx_array *a, const cbx_array *b)
{
    return cbx_array_bytes(a) == cbx_array_bytes(b) &&
           (cbx_array_bytes(a) == 0 || memcmp(cbx_array_data(a), cbx_array_data(b), cbx_array_bytes(a)) == 0);
}

void case_bench_check_turns(case_bench *t, const char *json, bool same)
{
    cbx_err err = CBX_ERR_INIT;

    for (uint64_t r = 1; r < 4; r++) {
        cbx_array *in[CBX_CASE_MAX_ARRAYS] = { NULL }, *fresh[CBX_CASE_MAX_ARRAYS] = { NULL },
                  *bounds[CBX_CASE_MAX_ARRAYS] = { NULL };
        CHECK_OK(t->c->rotate_inputs(t->ctx, t->point, r, t->in, in, &err), &err, json);
        CHECK_OK(t->c->oracle(t->ctx, t->point, in, fresh, bounds, &err), &err, json);
        for (size_t o = 0; o < t->c->noutputs; o++) {
            cbx_array *answer = NULL, *bound = NULL;
            CHECK_OK(t->c->rotate_output(t->ctx, t->point, r, o, t->answer[o], &answer, &err), &err, json);
            CHECK_OK(t->c->rotate_output(t->ctx, t->point, r, o, t->bound[o], &bound, &err), &err, json);
            if (!same_bytes(answer, fresh[o]))
                fail_msg("turn %d of %s: another answer than the turned one", (int)r, json);
            if (!same_bytes(bound, bounds[o]))
                fail_msg("turn %d of %s: another bound than the turned one", (int)r, json);
            if (!same && same_bytes(answer, t->answer[o])) fail_msg("turn %d of %s turns nothing", (int)r, json);
            cbx_array_free(answer);
            cbx_array_free(bound);
        }
        free_all(in);
        free_all(fresh);
        free_all(bounds);
    }
}

void case_bench_check_table(const cbx_case_ops *c)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_case_check(ctx, c, &err), &err, "the case's own table");
    CHECK(cbx_case_find(&cbx_builtin_cases, c->name) == c, "in the list of cases");
    for (size_t i = 0; i < c->npoints; i++) {
        cbx_params *p = NULL;
        CHECK_OK(cbx_case_point(ctx, c, c->points[i], "points", &p, &err), &err, c->points[i]);
        CHECK_STR(cbx_params_json(p), c->points[i], "written in the canonical form");
        for (size_t b = 0; b < c->nbaselines; b++) {
            cbx_work w = { 0 };
            const char *reason = NULL;
            if (c->baselines[b]->supports && !c->baselines[b]->supports(p, &reason)) continue;
            c->baselines[b]->work(p, &w);
            /* a sum of truths may end at its first term */
            CHECK(w.pipe_ops > 0 || c->baselines[b]->limit || w.pipe == CBX_PIPE_AND_OR, "operations that it must do");
            CHECK(w.macs > 0 && w.bytes > 0 && w.flop >= 0, "work is positive");
            CHECK(w.working_set_bytes >= w.bytes, "the working set holds what is moved");
        }
        cbx_params_free(p);
    }
    cbx_ctx_free(ctx);
}
