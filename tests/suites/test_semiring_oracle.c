/*
 * The oracle of semiring_matmul against 60-digit answers, and the one table of special values
 * against the oracle and every baseline.
 */
#include "check.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "semiring_answers.h"
#include "suites/suites.h"

static const cbx_case_ops *const mm = &cbx_semiring_matmul_case;

typedef struct bench {
    cbx_ctx *ctx;
    cbx_params *point;
    cbx_array *in[2], *answer, *bound, *out;
} bench;

static double element(const cbx_array *a, size_t i)
{
    const void *data = cbx_array_data(a);
    if (cbx_array_dtype(a) == CBX_F32) return (double)((const float *)data)[i];
    return cbx_array_dtype(a) == CBX_F64 ? ((const double *)data)[i] : (double)((const uint8_t *)data)[i];
}

static void set_elements(cbx_array *a, const double *values)
{
    void *data = cbx_array_data_mut(a);
    for (size_t i = 0; i < cbx_array_count(a); i++) {
        if (cbx_array_dtype(a) == CBX_F32)
            ((float *)data)[i] = (float)values[i];
        else if (cbx_array_dtype(a) == CBX_F64)
            ((double *)data)[i] = values[i];
        else
            ((uint8_t *)data)[i] = values[i] != 0;
    }
}

/* A point whose operands are given, with the oracle's answer. */
static void bench_open(bench *t, const char *algebra, const char *dtype, int m, int k, int n, const double *a,
                       const double *b)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_array_desc desc;
    char json[200];
    memset(t, 0, sizeof *t);
    snprintf(json, sizeof json, "{\"m\":%d,\"k\":%d,\"n\":%d,\"algebra\":\"%s\",\"dtype\":\"%s\"}", m, k, n, algebra,
             dtype);
    assert_int_equal(cbx_ctx_create(NULL, &t->ctx, &err), CBX_OK);
    if (cbx_case_point(t->ctx, mm, json, "test", &t->point, &err)) fail_msg("%s", err.message);
    assert_int_equal(mm->make_inputs(t->ctx, t->point, t->in, &err), CBX_OK);
    set_elements(t->in[0], a);
    set_elements(t->in[1], b);
    assert_int_equal(mm->oracle(t->ctx, t->point, t->in, &t->answer, &t->bound, &err), CBX_OK);
    mm->outputs(t->point, &desc);
    assert_int_equal(cbx_array_create(t->ctx, &desc, &t->out, &err), CBX_OK);
}

static void bench_close(bench *t)
{
    cbx_array_free(t->in[0]);
    cbx_array_free(t->in[1]);
    cbx_array_free(t->answer);
    cbx_array_free(t->bound);
    cbx_array_free(t->out);
    cbx_params_free(t->point);
    cbx_ctx_free(t->ctx);
}

/* Runs an honest native baseline; false if it is not for this point or this machine. */
static bool run(bench *t, const cbx_baseline_ops *b)
{
    const char *reason = NULL;
    void *plan = NULL;
    if (!b->prepare || b->mutant_reason || b->limit || (b->supports && !b->supports(t->point, &reason))) return false;
    if (b->prepare(t->ctx, t->point, &plan, NULL)) return false;
    memset(cbx_array_data_mut(t->out), 0xA5, cbx_array_bytes(t->out));
    b->bind(plan, t->in, &t->out);
    b->run(plan);
    b->finish(plan);
    return true;
}

static bool same(double x, double y) { return x == y || (isnan(x) && isnan(y)); }

TEST(test_known_answers)
{
    for (size_t i = 0; i < CBX_LEN(answers); i++) {
        const bool tropical = strncmp(answers[i].algebra, "tropical", 8) == 0,
                   is_log = strcmp(answers[i].algebra, "log") == 0;
        bench t;
        bench_open(&t, answers[i].algebra, answers[i].dtype, ANSWER_M, ANSWER_K, ANSWER_N, answers[i].a, answers[i].b);
        for (size_t j = 0; j < ANSWER_M * ANSWER_N; j++) {
            const double right = answers[i].c[j], seen = element(t.answer, j), bound = element(t.bound, j);
            /* two units of the last place of a double, or a thousandth of what a baseline
             * may err */
            const double allowed = tropical ? 0
                                            : fmax(DBL_EPSILON * (is_log ? fmax(fabs(right), 1) : fabs(right)),
                                                   bound / 1000);
            if (!(fabs(seen - right) <= allowed))
                fail_msg("%s %s, %s: element %zu is %.17g, not %.17g", answers[i].algebra, answers[i].dtype,
                         answers[i].why, j, seen, right);
            if (tropical) assert_true(bound == 0);
            if (!tropical && !(bound >= allowed))
                fail_msg("%s, %s: a bound of %g", answers[i].algebra, answers[i].why, bound);
        }
        bench_close(&t);
    }
}

/* The bounds hold on these too, which are nastier than the case's own draws. */
TEST(test_baselines_on_known_answers)
{
    size_t runs = 0;
    for (size_t i = 0; i < CBX_LEN(answers); i++) {
        bench t;
        bench_open(&t, answers[i].algebra, answers[i].dtype, ANSWER_M, ANSWER_K, ANSWER_N, answers[i].a, answers[i].b);
        for (size_t b = 0; b < mm->nbaselines; b++) {
            if (!run(&t, mm->baselines[b])) continue;
            runs++;
            for (size_t j = 0; j < ANSWER_M * ANSWER_N; j++)
                if (!(fabs(element(t.out, j) - answers[i].c[j]) <= element(t.bound, j)))
                    fail_msg("%s: %s %s, %s: error %g of %g", mm->baselines[b]->name, answers[i].algebra,
                             answers[i].dtype, answers[i].why, fabs(element(t.out, j) - answers[i].c[j]),
                             element(t.bound, j));
        }
        bench_close(&t);
    }
    assert_true(runs >= 3 * CBX_LEN(answers));
}

#define INF INFINITY

/* One row of A by one column of B. */
static const struct {
    const char *algebra;
    double a[4], b[4], c;
    const char *why;
} table[] = {
    { "real", { 1, 2, 3, 4 }, { 1, 1, 1, 1 }, 10, "finite" },
    { "real", { 1, NAN, 3, 4 }, { 1, 1, 1, 1 }, NAN, "NaN" },
    { "real", { 0, 2, 3, 4 }, { INF, 1, 1, 1 }, NAN, "0 annihilates finite values only" },
    { "real", { 1, INF, 3, 4 }, { 1, 1, 1, 1 }, INF, "+inf" },
    { "real", { 1, INF, INF, 4 }, { 1, 1, -1, 1 }, NAN, "+inf beside -inf" },
    { "log", { 0, 0, 0, 0 }, { -INF, -INF, -INF, -INF }, -INF, "all masked by B" },
    { "log", { -INF, -INF, -INF, -INF }, { 1, 2, 3, 4 }, -INF, "all masked by A" },
    { "log", { 3, -INF, -INF, -INF }, { 4, 1, 1, -INF }, 7, "one term left" },
    { "log", { 1, INF, 2, 3 }, { 1, 1, 1, 1 }, INF, "+inf" },
    { "log", { 1, 2, 3, 4 }, { 1, 1, INF, -INF }, INF, "+inf beside -inf" },
    { "log", { NAN, 1, 2, 3 }, { 1, 1, 1, 1 }, NAN, "NaN" },
    { "log", { NAN, INF, 2, 3 }, { 1, 1, 1, 1 }, NAN, "NaN beats +inf" },
    { "log", { NAN, -INF, -INF, -INF }, { 1, 1, 1, 1 }, NAN, "NaN beats all masked" },
    { "log", { INF, 1, 2, 3 }, { -INF, 1, 1, 1 }, NAN, "inf - inf is a NaN term" },
    { "log", { 1000, -INF, -INF, 0 }, { -1000, 1, 1, -900 }, 0, "maxima of row and column far from every term" },
    { "tropical_max_plus", { 1, NAN, 9, 2 }, { 1, 1, 1, 1 }, NAN, "NaN in the middle" },
    { "tropical_max_plus", { 9, 1, 2, NAN }, { 1, 1, 1, 1 }, NAN, "NaN last" },
    { "tropical_max_plus", { NAN, 1, 2, 9 }, { 1, 1, 1, 1 }, NAN, "NaN first" },
    { "tropical_max_plus", { 1, 2, INF, 3 }, { 1, 1, 1, 1 }, INF, "+inf" },
    { "tropical_max_plus", { 1, -INF, 2, 3 }, { 1, INF, 1, 1 }, NAN, "inf - inf" },
    { "tropical_max_plus", { -INF, -INF, -INF, -INF }, { 1, 2, 3, 4 }, -INF, "all masked" },
    { "tropical_max_plus", { -INF, 2, -INF, -INF }, { 1, 2, 3, 4 }, 4, "one term left" },
    { "tropical_min_plus", { 1, NAN, 9, 2 }, { 1, 1, 1, 1 }, NAN, "NaN" },
    { "tropical_min_plus", { NAN, 1, 2, 9 }, { 1, 1, 1, 1 }, NAN, "NaN first" },
    { "tropical_min_plus", { 1, -INF, 9, 2 }, { 1, 1, 1, 1 }, -INF, "-inf" },
    { "tropical_min_plus", { INF, INF, INF, INF }, { 1, 2, 3, 4 }, INF, "all masked" },
    { "tropical_min_plus", { INF, INF, 5, INF }, { 1, -INF, 3, 4 }, NAN, "inf - inf" },
    { "euclidean", { 1, 2, 3, 4 }, { 1, 2, 3, 4 }, 0, "equal rows" },
    { "euclidean", { 1, NAN, 3, 4 }, { 1, 2, 3, 4 }, NAN, "NaN" },
    { "euclidean", { 1, INF, 3, 4 }, { 1, 2, 3, 4 }, INF, "inf" },
    { "euclidean", { 1, INF, 3, 4 }, { 1, INF, 3, 4 }, NAN, "inf - inf" },
    { "euclidean", { 1, -INF, 3, 4 }, { 1, INF, 3, 4 }, INF, "-inf - inf" },
    { "boolean", { 0, 1, 0, 1 }, { 1, 0, 1, 0 }, 0, "never together" },
    { "boolean", { 0, 1, 0, 1 }, { 1, 0, 1, 1 }, 1, "together once" },
};

TEST(test_special_values)
{
    for (size_t i = 0; i < CBX_LEN(table); i++) {
        const bool boolean = strcmp(table[i].algebra, "boolean") == 0;
        for (int wide = 0; wide < (boolean ? 1 : 2); wide++) {
            bench t;
            bench_open(&t, table[i].algebra, boolean ? "bool" : wide ? "f64" : "f32", 1, 4, 1, table[i].a, table[i].b);
            if (!same(element(t.answer, 0), table[i].c))
                fail_msg("oracle: %s, %s: %g, not %g", table[i].algebra, table[i].why, element(t.answer, 0),
                         table[i].c);
            for (size_t b = 0; b < mm->nbaselines; b++) {
                if (!run(&t, mm->baselines[b])) continue;
                const double c = element(t.out, 0);
                if (!same(c, table[i].c) && !(fabs(c - table[i].c) <= element(t.bound, 0)))
                    fail_msg("%s: %s, %s: %g, not %g", mm->baselines[b]->name, table[i].algebra, table[i].why, c,
                             table[i].c);
            }
            bench_close(&t);
        }
    }
}

/* The recurrence that maps NaN and +inf to -inf (exp of a non-finite difference taken as 0): the
 * table must report it from ours. */
static double lossy_log(const double *a, const double *b)
{
    double m = -INF, s = 0;
    for (int kk = 0; kk < 4; kk++) {
        const double v = a[kk] + b[kk], top = fmax(m, v);
        s = s * (isfinite(m) ? exp(m - top) : 0) + (isfinite(v) ? exp(v - top) : 0);
        m = top;
    }
    return s > 0 ? m + log(s) : -INF;
}

TEST(test_the_table_reports_rules_apart)
{
    int lost_nan = 0, lost_inf = 0, masked_ok = 0;
    for (size_t i = 0; i < CBX_LEN(table); i++) {
        if (strcmp(table[i].algebra, "log") != 0) continue;
        const double c = lossy_log(table[i].a, table[i].b);
        lost_nan += isnan(table[i].c) && !isnan(c);
        lost_inf += table[i].c == INF && c != INF;
        masked_ok += table[i].c == -INF && c == -INF;
    }
    assert_true(lost_nan > 0 && lost_inf > 0 && masked_ok > 0);
}

TESTS()
