/*
 * Case semiring_matmul: every native baseline against the oracle over shapes, algebras and dtypes;
 * mutants must be rejected.
 */
#include "check.h"

#include <math.h>
#include <stdio.h>

#include "suites/suites.h"

/* One point with its inputs, answer and bound. */
typedef struct bench {
    cbx_ctx *ctx;
    cbx_params *point;
    cbx_array *in[2], *answer, *bound, *out;
} bench;

static const cbx_case_ops *const mm = &cbx_semiring_matmul_case;

static void must(cbx_status st, const cbx_err *err)
{
    if (st) fail_msg("%s: %s", cbx_status_name(st), err->message);
}

static void bench_open(bench *t, const char *json)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_array_desc desc;
    memset(t, 0, sizeof *t);
    must(cbx_ctx_create(NULL, &t->ctx, &err), &err);
    must(cbx_case_point(t->ctx, mm, json, "test", &t->point, &err), &err);
    must(mm->make_inputs(t->ctx, t->point, t->in, &err), &err);
    must(mm->oracle(t->ctx, t->point, t->in, &t->answer, &t->bound, &err), &err);
    mm->outputs(t->point, &desc);
    must(cbx_array_create(t->ctx, &desc, &t->out, &err), &err);
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

static double element(const cbx_array *a, size_t i)
{
    const void *data = cbx_array_data(a);
    switch (cbx_array_dtype(a)) {
    case CBX_F32: return (double)((const float *)data)[i];
    case CBX_F64: return ((const double *)data)[i];
    default: return ((const uint8_t *)data)[i];
    }
}

/* Largest |out - answer| / bound; equal values count as 0, so infinity means wrong where
 * nothing may be. */
static double worst_ratio(const cbx_array *out, const cbx_array *answer, const cbx_array *bound)
{
    double worst = 0;
    for (size_t i = 0; i < cbx_array_count(out); i++) {
        const double x = element(out, i), y = element(answer, i), e = fabs(x - y);
        if (x == y || (isnan(x) && isnan(y))) continue;
        const double r = e <= 0 || isnan(e) ? INFINITY : e / element(bound, i);
        worst = r > worst ? r : worst;
    }
    return worst;
}

/* Runs a baseline on the bench, output poisoned first.  false: not for this point, or not on this
 * machine. */
static bool run_baseline(bench *t, const cbx_baseline_ops *b, cbx_array *const *in, double *ratio,
                         const cbx_array *answer, const cbx_array *bound)
{
    cbx_err err = CBX_ERR_INIT;
    const char *reason = NULL;
    void *plan = NULL;
    if (!b->prepare || (b->supports && !b->supports(t->point, &reason))) return false;
    const cbx_status st = b->prepare(t->ctx, t->point, &plan, &err);
    if (st == CBX_EUNAVAILABLE) return false;
    must(st, &err);
    memset(cbx_array_data_mut(t->out), 0xA5, cbx_array_bytes(t->out));
    b->bind(plan, in, &t->out);
    b->run(plan);
    *ratio = worst_ratio(t->out, answer, bound);
    b->run(plan); /* a second run gives the same: nothing is carried over */
    assert_true(worst_ratio(t->out, answer, bound) == *ratio);
    b->finish(plan);
    return true;
}

static const char *const algebras[] = {
    "real", "log", "tropical_max_plus", "tropical_min_plus", "euclidean", "boolean"
};

static const struct {
    int m, k, n;
    const char *why;
} shapes[] = {
    { 7, 5, 3, "tiny" },
    { 1, 1, 1, "one element" },
    { 0, 5, 3, "no rows" },
    { 7, 5, 0, "no columns" },
    { 7, 0, 3, "nothing to sum: the empty value" },
    { 0, 0, 0, "nothing at all" },
    { 12, 16, 32, "one register tile" },
    { 13, 17, 33, "one more than a tile" },
    { 11, 15, 31, "one less than a tile" },
    { 25, 257, 65, "a panel of k and one more" },
    { 64, 64, 64, "whole vectors" },
    { 130, 33, 47, "rows beyond" },
    { 400, 8, 16, "skinny" },
    { 3, 600, 100, "wide, three panels of k" },
    { 65, 33, 259, "odd" },
};

static void for_each_point(void (*visit)(bench *, const char *algebra, const char *why))
{
    for (size_t s = 0; s < CBX_LEN(shapes); s++) {
        for (size_t g = 0; g < CBX_LEN(algebras); g++) {
            for (int wide = 0; wide < 2; wide++) {
                const bool boolean = strcmp(algebras[g], "boolean") == 0;
                char json[200];
                bench t;
                if (boolean && wide) continue;
                snprintf(json, sizeof json,
                         "{\"m\":%d,\"k\":%d,\"n\":%d,\"algebra\":\"%s\",\"dtype\":\"%s\",\"seed\":3}", shapes[s].m,
                         shapes[s].k, shapes[s].n, algebras[g],
                         boolean ? "bool"
                         : wide  ? "f64"
                                 : "f32");
                bench_open(&t, json);
                visit(&t, algebras[g], shapes[s].why);
                bench_close(&t);
            }
        }
    }
}

static size_t honest_runs;

static void check_honest(bench *t, const char *algebra, const char *why)
{
    for (size_t i = 0; i < mm->nbaselines; i++) {
        const cbx_baseline_ops *b = mm->baselines[i];
        double ratio = 0;
        if (b->mutant_reason || b->limit || !run_baseline(t, b, t->in, &ratio, t->answer, t->bound)) continue;
        honest_runs++;
        if (!(ratio <= 1))
            fail_msg("%s on %s (%s, %s): error / bound = %g", b->name, algebra, cbx_params_json(t->point), why, ratio);
    }
}

TEST(test_honest_baselines)
{
    honest_runs = 0;
    for_each_point(check_honest);
    assert_true(honest_runs >= 3 * 11 * CBX_LEN(shapes));
}

/* Each algebra has at least two mutants, and each comes out outside the bound. */
TEST(test_mutants_are_rejected)
{
    static const char *const sizes[] = { "\"m\":64,\"k\":64,\"n\":64", "\"m\":128,\"k\":200,\"n\":96" };
    for (size_t s = 0; s < CBX_LEN(sizes); s++) {
        for (size_t g = 0; g < CBX_LEN(algebras); g++) {
            for (int wide = 0; wide < 2; wide++) {
                char json[200];
                bench t;
                int mutants = 0;
                if (g == 5 && wide) continue;
                snprintf(json, sizeof json, "{%s,\"algebra\":\"%s\"%s}", sizes[s], algebras[g],
                         wide ? ",\"dtype\":\"f64\"" : "");
                bench_open(&t, json);
                for (size_t i = 0; i < mm->nbaselines; i++) {
                    double ratio = 0;
                    if (!mm->baselines[i]->mutant_reason ||
                        !run_baseline(&t, mm->baselines[i], t.in, &ratio, t.answer, t.bound))
                        continue;
                    mutants++;
                    if (!(ratio > 1))
                        fail_msg("%s passes on %s: error / bound = %g", mm->baselines[i]->name, json, ratio);
                }
                if (mutants < 2) fail_msg("%s has %d mutants", algebras[g], mutants);
                bench_close(&t);
            }
        }
    }
}

/* The bounds are no blank cheque: the honest reference uses a visible part of them. */
TEST(test_bounds_are_not_loose)
{
    static const struct {
        const char *algebra, *dtype;
        double min; /* a third of what is seen */
    } rows[] = { { "real", "f32", 1e-2 }, { "real", "f64", 1e-2 },      { "log", "f32", 1e-2 },
                 { "log", "f64", 1e-2 },  { "euclidean", "f32", 1e-2 }, { "euclidean", "f64", 1e-2 } };
    for (size_t i = 0; i < CBX_LEN(rows); i++) {
        char json[200];
        bench t;
        double ratio = 0;
        snprintf(json, sizeof json, "{\"m\":64,\"k\":512,\"n\":64,\"algebra\":\"%s\",\"dtype\":\"%s\"}",
                 rows[i].algebra, rows[i].dtype);
        bench_open(&t, json);
        assert_true(run_baseline(&t, mm->baselines[0], t.in, &ratio, t.answer, t.bound));
        print_message("# stream %s %s: error / bound %.3g\n", rows[i].algebra, rows[i].dtype, ratio);
        if (!(ratio > rows[i].min && ratio <= 1))
            fail_msg("%s %s: error / bound = %g", rows[i].algebra, rows[i].dtype, ratio);
        bench_close(&t);
    }
}

/* The largest ratio of a point among its honest native baselines, and the smallest among mutants
 * (`only`: of that name). */
static void ratios_of(const char *json, const char *only, double *honest, double *mutant, const char **survivor)
{
    bench t;
    bench_open(&t, json);
    *honest = 0;
    *mutant = INFINITY;
    for (size_t i = 0; i < mm->nbaselines; i++) {
        const cbx_baseline_ops *b = mm->baselines[i];
        double ratio = 0;
        if (b->limit || (only && b->mutant_reason && strcmp(b->name, only) != 0)) continue;
        if (!run_baseline(&t, b, t.in, &ratio, t.answer, t.bound)) continue;
        if (!b->mutant_reason && ratio > *honest) *honest = ratio;
        if (b->mutant_reason && ratio <= *mutant) *mutant = ratio, *survivor = b->name;
    }
    bench_close(&t);
}

/* The gap: right kernels stay below half of the bound, operands of 11 bits come out above it, at
 * small k and at large. */
TEST(test_bounds_tell_precisions_apart)
{
    static const struct {
        int m, k, n, seeds;
        const char *why;
    } rows[] = {
        { 7, 5, 3, 8, "the tiny point" },
        { 24, 12, 24, 8, "where the two bounds of a sum meet" },
        { 16, 256, 16, 4, "the smallest declared cube's k" },
        { 64, 512, 64, 2, "the representative point's k" },
        { 16, 1024, 16, 4, "the largest declared k" },
        { 16, 4096, 16, 2, "beyond the declared points" },
        { 3, 16384, 5, 1, "the largest k that a point may have" },
    };
    static const char *const summing[] = { "real", "log", "euclidean" };
    for (size_t r = 0; r < CBX_LEN(rows); r++) {
        for (size_t g = 0; g < CBX_LEN(summing); g++) {
            for (int seed = 0; seed < rows[r].seeds; seed++) {
                char json[200];
                double honest, rounded;
                const char *name = NULL;
                snprintf(json, sizeof json, "{\"m\":%d,\"k\":%d,\"n\":%d,\"algebra\":\"%s\",\"seed\":%d}", rows[r].m,
                         rows[r].k, rows[r].n, summing[g], seed);
                ratios_of(json, "mutant-tf32", &honest, &rounded, &name);
                print_message("# %s: honest %.3g, 11 bits %.3g of the bound\n", json, honest, rounded);
                if (!(honest < 0.5)) fail_msg("%s (%s): error / bound = %g", json, rows[r].why, honest);
                if (rows[r].k <= 4096 && !(name && rounded > 1))
                    fail_msg("%s (%s): 11 bits pass, error / bound = %g", json, rows[r].why, rounded);
            }
        }
    }
}

/* Every declared boolean point, its rows and columns cut to what a test has time for, has about as
 * many true as false elements and rejects every mutant. */
TEST(test_boolean_points)
{
    size_t seen = 0;
    cbx_ctx *ctx = NULL;
    must(cbx_ctx_create(NULL, &ctx, NULL), &(cbx_err)CBX_ERR_INIT);
    for (size_t i = 0; i < mm->npoints; i++) {
        cbx_params *p = NULL;
        char json[200];
        bench t;
        size_t trues = 0;
        double honest, mutant;
        const char *name = NULL;
        must(cbx_case_point(ctx, mm, mm->points[i], "points", &p, NULL), &(cbx_err)CBX_ERR_INIT);
        const int m = (int)cbx_params_int(p, "m"), k = (int)cbx_params_int(p, "k"), n = (int)cbx_params_int(p, "n");
        const bool boolean = strcmp(cbx_params_word(p, "algebra"), "boolean") == 0;
        cbx_params_free(p);
        if (!boolean || k == 0) continue;
        seen++;
        snprintf(json, sizeof json, "{\"m\":%d,\"k\":%d,\"n\":%d,\"algebra\":\"boolean\"}", m < 256 ? m : 256, k,
                 n < 256 ? n : 256);
        bench_open(&t, json);
        const size_t count = cbx_array_count(t.answer);
        for (size_t j = 0; j < count; j++) trues += element(t.answer, j) != 0;
        bench_close(&t);
        print_message("# %s: %zu of %zu true\n", json, trues, count);
        if (trues < count / 4 || trues > count - count / 4) fail_msg("%s: %zu of %zu are true", json, trues, count);
        ratios_of(json, NULL, &honest, &mutant, &name);
        if (!(honest <= 0)) fail_msg("%s: an honest baseline is wrong", json);
        if (!(name && mutant > 1)) fail_msg("%s: %s passes", json, name ? name : "no mutant");
    }
    cbx_ctx_free(ctx);
    assert_int_equal(seen, 8);
}

/* Rotated inputs give the rotated answer, which differs from the first one. */
static void check_rotation(bench *t, const char *algebra, const char *why)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_array *in[2] = { NULL, NULL }, *answer = NULL, *bound = NULL, *fresh = NULL, *fresh_bound = NULL;
    double ratio = 0;
    must(mm->rotate_inputs(t->ctx, t->point, 2, t->in, in, &err), &err);
    must(mm->rotate_output(t->ctx, t->point, 2, 0, t->answer, &answer, &err), &err);
    must(mm->rotate_output(t->ctx, t->point, 2, 0, t->bound, &bound, &err), &err);
    must(mm->oracle(t->ctx, t->point, in, &fresh, &fresh_bound, &err), &err);
    if (cbx_array_bytes(answer) &&
        (memcmp(cbx_array_data(answer), cbx_array_data(fresh), cbx_array_bytes(answer)) != 0 ||
         memcmp(cbx_array_data(bound), cbx_array_data(fresh_bound), cbx_array_bytes(bound)) != 0))
        fail_msg("%s (%s): the rotated answer is not the answer of the rotated inputs", algebra, why);
    assert_true(run_baseline(t, &*mm->baselines[2], in, &ratio, answer, bound));
    assert_true(ratio <= 1);
    const int64_t k = cbx_params_int(t->point, "k");
    if (k > 4 && cbx_array_count(answer) > 100) {
        assert_true(run_baseline(t, mm->baselines[2], in, &ratio, t->answer, t->bound));
        if (!(ratio > 1)) fail_msg("%s (%s): the answer without rotation is accepted too", algebra, why);
    }
    cbx_array_free(in[0]);
    cbx_array_free(in[1]);
    cbx_array_free(answer);
    cbx_array_free(bound);
    cbx_array_free(fresh);
    cbx_array_free(fresh_bound);
}

TEST(test_rotation) { for_each_point(check_rotation); }

/* Work is positive, grows with the point, and the table's own checks pass. */
TEST(test_table)
{
    cbx_ctx *ctx = NULL;
    cbx_err err = CBX_ERR_INIT;
    char text[100];
    must(cbx_ctx_create(NULL, &ctx, &err), &err);
    for (size_t i = 0; i < cbx_builtin_cases.count; i++)
        must(cbx_case_check(ctx, cbx_builtin_cases.cases[i], &err), &err);
    assert_ptr_equal(cbx_case_find(&cbx_builtin_cases, "semiring_matmul"), mm);
    assert_int_equal(mm->npoints, 59);
    for (size_t i = 0; i < mm->npoints; i++) {
        cbx_params *p = NULL;
        must(cbx_case_point(ctx, mm, mm->points[i], "points", &p, &err), &err);
        assert_string_equal(cbx_params_json(p), mm->points[i]); /* written in the canonical form */
        for (size_t j = 0; j < mm->nbaselines; j++) {
            cbx_work w;
            const char *reason = NULL;
            const double m = (double)cbx_params_int(p, "m"), k = (double)cbx_params_int(p, "k"),
                         n = (double)cbx_params_int(p, "n");
            if (mm->baselines[j]->supports && !mm->baselines[j]->supports(p, &reason)) continue;
            mm->baselines[j]->work(p, &w);
            assert_true(w.macs == m * k * n && w.bytes >= m * n);
            assert_true(w.pipe_ops >= w.macs / 32 || w.pipe == CBX_PIPE_AND_OR);
            assert_true(w.working_set_bytes > 0 && w.flop >= 0 && (unsigned)w.pipe < CBX_PIPE_COUNT);
        }
        if (i == mm->representative) {
            mm->label(p, text, sizeof text);
            assert_string_equal(text, "512x512x512 (log, f32)");
        }
        cbx_params_free(p);
    }
    cbx_ctx_free(ctx);
}

/* A core that was measured, and times of products on it: a bound may be no quarter above any of
 * them, or they would be refused. */
TEST(test_honest_times)
{
    static const struct {
        const char *json, *baseline;
        double time_s;
        bool honest;
        const char *why;
    } cases[] = {
        { "{\"m\":4096,\"k\":4096,\"n\":4096,\"algebra\":\"boolean\",\"density\":\"half\",\"seed\":0}", "tiled", 0.015,
          true, "rows of C are full after a few terms" },
        { "{\"m\":4096,\"k\":4096,\"n\":4096,\"algebra\":\"boolean\",\"density\":\"sparse\",\"seed\":0}", "tiled",
          0.030, true, "few rows of B are joined" },
        { "{\"m\":4096,\"k\":4096,\"n\":4096,\"algebra\":\"boolean\",\"density\":\"half\",\"seed\":0}", "graphblas",
          0.015, true, "so may others" },
        { "{\"m\":4096,\"k\":4096,\"n\":4096,\"algebra\":\"boolean\",\"density\":\"half\",\"seed\":0}", "tiled", 1e-4,
          false, "C itself cannot be written in the time" },
        { "{\"m\":512,\"k\":512,\"n\":512,\"algebra\":\"boolean\",\"seed\":0}", "tiled", 1e-6, false,
          "nor in a nearer cache" },
        { "{\"m\":512,\"k\":512,\"n\":512,\"algebra\":\"tropical_max_plus\",\"dtype\":\"f64\",\"seed\":0}", "tiled",
          6.5e-3, true, "the sum by fma, on pipes that max leaves free" },
        { "{\"m\":512,\"k\":512,\"n\":512,\"algebra\":\"tropical_max_plus\",\"dtype\":\"f64\",\"seed\":0}", "tiled",
          3.2e-3, false, "faster than either" },
        { "{\"m\":512,\"k\":512,\"n\":512,\"algebra\":\"log\",\"dtype\":\"f64\",\"seed\":0}", "tiled", 5.2e-3, true,
          "a product of exponentials" },
        { "{\"m\":512,\"k\":512,\"n\":512,\"algebra\":\"log\",\"dtype\":\"f64\",\"seed\":0}", "tiled", 3.4e-3, false,
          "without the exponentials, and faster than a product" },
        { "{\"m\":512,\"k\":512,\"n\":512,\"algebra\":\"real\",\"dtype\":\"f64\",\"seed\":0}", "tiled", 4.6e-3, true,
          "at the limit" },
    };
    cbx_probe p = { .nlevels = 4,
                    .level = { { "L1", 48 << 10, 300e9, 200e9, 1, 1 },
                               { "L2", 2 << 20, 120e9, 80e9, 1, 1 },
                               { "L3", 105 << 20, 40e9, 30e9, 1, 1 },
                               { "memory", 0, 12e9, 12e9, 1, 1 } } };
    p.pipe_ops_per_s[CBX_PIPE_FMA][1] = 29.4e9; /* a Zen 4 */
    p.pipe_ops_per_s[CBX_PIPE_ADD_MAX][1] = 14.7e9;
    p.pipe_ops_per_s[CBX_PIPE_FMA_MAX][1] = 29.4e9;
    p.pipe_ops_per_s[CBX_PIPE_AND_OR][0] = 90e9;
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_ctx *ctx = NULL;
        cbx_params *point = NULL;
        cbx_err err = CBX_ERR_INIT;
        cbx_work w;
        must(cbx_ctx_create(NULL, &ctx, &err), &err);
        must(cbx_case_point(ctx, mm, cases[i].json, "test", &point, &err), &err);
        cbx_case_baseline(mm, cases[i].baseline)->work(point, &w);
        const double bound = cbx_probe_bound_seconds(&p, w.pipe, w.pipe != CBX_PIPE_AND_OR, w.pipe_ops, w.bytes,
                                                     w.working_set_bytes);
        if ((bound / cases[i].time_s > 1.25) == cases[i].honest)
            fail_msg("%s in %g s, bound %g s: %s", cases[i].json, cases[i].time_s, bound, cases[i].why);
        cbx_params_free(point);
        cbx_ctx_free(ctx);
    }
}

static const struct {
    const char *json, *says, *why;
} bad_points[] = {
    { "{\"m\":1,\"k\":1,\"n\":1,\"algebra\":\"max_plus\"}", "tropical_max_plus",
      "an unknown algebra, the names are listed" },
    { "{\"m\":1,\"k\":1,\"n\":1,\"algebra\":\"boolean\",\"dtype\":\"f32\"}", "use bool", "boolean takes bool only" },
    { "{\"m\":1,\"k\":1,\"n\":1,\"algebra\":\"log\",\"dtype\":\"bool\"}", "use f32", "log takes floats only" },
    { "{\"m\":16385,\"k\":1,\"n\":1,\"algebra\":\"log\"}", "0..16384", "too large" },
};

TEST(test_bad_points)
{
    cbx_ctx *ctx = NULL;
    assert_int_equal(cbx_ctx_create(NULL, &ctx, NULL), CBX_OK);
    for (size_t i = 0; i < CBX_LEN(bad_points); i++) {
        cbx_err err = CBX_ERR_INIT;
        cbx_params *p = NULL;
        assert_int_equal(cbx_case_point(ctx, mm, bad_points[i].json, "--point", &p, &err), CBX_EINVAL);
        if (!strstr(err.message, bad_points[i].says)) fail_msg("%s: '%s'", bad_points[i].why, err.message);
    }
    cbx_ctx_free(ctx);
}

/* Which baseline is for which point; a reason makes a skipped row, no reason makes none. */
TEST(test_supports)
{
    static const struct {
        const char *baseline, *json;
        bool supported, has_reason;
    } rows[] = {
        { "naive-dense", "{\"m\":512,\"k\":512,\"n\":512,\"algebra\":\"log\"}", true, false },
        { "naive-dense", "{\"m\":1024,\"k\":1024,\"n\":1024,\"algebra\":\"log\"}", false, true },
        { "torch-dense", "{\"m\":1024,\"k\":1024,\"n\":1024,\"algebra\":\"real\"}", false, true },
        { "jnp-matmul", "{\"m\":8,\"k\":8,\"n\":8,\"algebra\":\"log\"}", false, false },
        { "openblas", "{\"m\":8,\"k\":8,\"n\":8,\"algebra\":\"euclidean\"}", false, false },
        { "openblas", "{\"m\":8,\"k\":8,\"n\":8,\"algebra\":\"real\",\"dtype\":\"f64\"}", true, false },
        { "nitrix-pallas", "{\"m\":513,\"k\":129,\"n\":257,\"algebra\":\"real\"}", false, true },
    };
    cbx_ctx *ctx = NULL;
    assert_int_equal(cbx_ctx_create(NULL, &ctx, NULL), CBX_OK);
    for (size_t i = 0; i < CBX_LEN(rows); i++) {
        const cbx_baseline_ops *b = cbx_case_baseline(mm, rows[i].baseline);
        const char *reason = NULL;
        cbx_params *p = NULL;
        assert_int_equal(cbx_case_point(ctx, mm, rows[i].json, "test", &p, NULL), CBX_OK);
        assert_int_equal(b->supports(p, &reason), rows[i].supported);
        assert_int_equal(reason != NULL, rows[i].has_reason);
        cbx_params_free(p);
    }
    cbx_ctx_free(ctx);
}

TESTS()
