/* Ranks, scores, and how far chance decides them. */
#include "check.h"

#include <math.h>

#include "calibrax/analysis/ranking.h"
#include "calibrax/base/rng.h"
#include "fail_alloc.h"

static cbx_err err;

TEST(ranks)
{
    static const struct {
        double v[4];
        cbx_direction d;
        size_t index[4], rank[4];
        double delta[4];
        const char *why;
    } cases[] = {
        { { 3, 1, 2, 4 }, CBX_DIRECTION_LOWER, { 1, 2, 0, 3 }, { 1, 2, 3, 4 }, { 0, 1, 2, 3 }, "less is better" },
        { { 3, 1, 2, 4 },
          CBX_DIRECTION_HIGHER,
          { 3, 0, 2, 1 },
          { 1, 2, 3, 4 },
          { 0, 0.25, 0.5, 0.75 },
          "more is better" },
        { { 2, 1, 1, 3 }, CBX_DIRECTION_LOWER, { 1, 2, 0, 3 }, { 1, 1, 3, 4 }, { 0, 0, 1, 2 }, "equals share a rank" },
        { { NAN, 1, NAN, 2 },
          CBX_DIRECTION_LOWER,
          { 1, 3, 0, 2 },
          { 1, 2, 0, 0 },
          { 0, 1, NAN, NAN },
          "missing comes last" },
        { { NAN, 1, NAN, 2 }, CBX_DIRECTION_HIGHER, { 3, 1, 0, 2 }, { 1, 2, 0, 0 }, { 0, 0.5, NAN, NAN }, "both ways" },
        { { 0, 1, 0, 2 },
          CBX_DIRECTION_LOWER,
          { 0, 2, 1, 3 },
          { 1, 1, 3, 4 },
          { 0, 0, INFINITY, INFINITY },
          "a best of 0" },
        { { -1, -2, 0, 1 },
          CBX_DIRECTION_LOWER,
          { 1, 0, 2, 3 },
          { 1, 2, 3, 4 },
          { 0, 0.5, 1, 1.5 },
          "negative values" },
        { { NAN, NAN, NAN, NAN },
          CBX_DIRECTION_LOWER,
          { 0, 1, 2, 3 },
          { 0, 0, 0, 0 },
          { NAN, NAN, NAN, NAN },
          "no value" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_rank_entry e[4];
        CHECK_OK(cbx_rank(cases[i].v, 4, cases[i].d, e, &err), &err, cases[i].why);
        for (int k = 0; k < 4; k++) {
            CHECK_INT(e[k].index, cases[i].index[k], cases[i].why);
            CHECK_INT(e[k].rank, cases[i].rank[k], cases[i].why);
            CHECK(e[k].delta == cases[i].delta[k] || (isnan(e[k].delta) && isnan(cases[i].delta[k])), cases[i].why);
        }
    }
    CHECK_STATUS(cbx_rank(cases[0].v, 4, CBX_DIRECTION_INFO, NULL, &err), CBX_EINVAL, "information has no better side");
    CHECK_OK(cbx_rank(NULL, 0, CBX_DIRECTION_LOWER, NULL, &err), &err, "no competitors");
}

TEST(scores)
{
    static const cbx_direction d[] = { CBX_DIRECTION_LOWER, CBX_DIRECTION_HIGHER };
    static const double v[] = { 1, 10, 2, 40, 4, 40 };
    static const double worse[] = { 1, 10, 2, 40, 400, 4 }, hole[] = { 1, 10, 2, 40, NAN, 40 },
                        bad[] = { 1, 1, 0, 1, 2, 1 };
    static const double flat[] = { 3, 10, 3, 40, 3, 40 };
    double s[3], t[3], w[] = { 3, 1 }, none[] = { 0, 0 }, first[] = { 0, 1 };
    cbx_test_alloc memory;
    cbx_ctx *ctx;
    size_t missing;

    cbx_test_alloc_init(&memory);
    ctx = cbx_test_ctx(&memory);
    CHECK_OK(cbx_score(ctx, CBX_SCORE_GEOMETRIC, v, 3, 2, d, w, s, &missing, &err), &err, "geometric");
    CHECK_LE(fabs(s[0] - pow(0.25, 0.25)), 1e-15, "best in one, a quarter in the other");
    CHECK_LE(fabs(s[1] - pow(0.5, 0.75)), 1e-15, "half in one");
    CHECK_LE(fabs(s[2] - pow(0.25, 0.75)), 1e-15, "a quarter in one");
    CHECK_INT(missing, 0, "all are there");
    CHECK_OK(cbx_score(ctx, CBX_SCORE_GEOMETRIC, worse, 3, 2, d, w, t, NULL, &err), &err, "a third gets worse");
    CHECK_LE(fabs(t[0] / t[1] - s[0] / s[1]), 1e-15, "and changes nothing between the others");
    CHECK_OK(cbx_score(ctx, CBX_SCORE_MIN_MAX, v, 3, 2, d, w, s, NULL, &err), &err, "min-max");
    CHECK_LE(fabs(s[0] - 0.75), 1e-15, "1 and 0");
    CHECK_LE(fabs(s[1] - (0.75 * 2 / 3 + 0.25)), 1e-15, "2/3 and 1");
    CHECK_LE(fabs(s[2] - 0.25), 1e-15, "0 and 1");
    CHECK_OK(cbx_score(ctx, CBX_SCORE_MIN_MAX, flat, 3, 2, d, w, s, NULL, &err), &err, "all alike");
    CHECK_LE(fabs(s[0] - 0.75), 1e-15, "all alike are all best");
    for (int kind = 0; kind < 2; kind++) {
        CHECK_OK(cbx_score(ctx, (cbx_score_kind)kind, hole, 3, 2, d, NULL, s, &missing, &err), &err, "a hole");
        CHECK(isnan(s[2]) && !isnan(s[0]) && missing == 1, "is no score, and said");
        CHECK_OK(cbx_score(ctx, (cbx_score_kind)kind, hole, 3, 2, d, first, s, &missing, &err), &err,
                 "where nothing weighs");
        CHECK_INT(missing, 0, "it does not matter");
        CHECK_STATUS(cbx_score(ctx, (cbx_score_kind)kind, v, 3, 2, d, none, s, NULL, &err), CBX_EINVAL, "no weight");
    }
    CHECK_STATUS(cbx_score(ctx, CBX_SCORE_GEOMETRIC, bad, 3, 2, d, w, s, NULL, &err), CBX_EDOM, "a value of 0");
    CHECK_STATUS(cbx_score(ctx, CBX_SCORE_GEOMETRIC, v, 0, 2, d, NULL, s, NULL, &err), CBX_EINVAL, "no competitor");
    CHECK(strstr(err.message, "'values'") != NULL, err.message);
    CHECK_STATUS(cbx_score(ctx, CBX_SCORE_GEOMETRIC, v, 3, 0, d, NULL, s, NULL, &err), CBX_EINVAL, "no metric");
    cbx_ctx_free(ctx);
    cbx_test_alloc_check(&memory, "scores");
}

typedef struct field {
    double a[15], b[15], c[15];
    cbx_rank_sample samples[3];
} field;

static void make_field(field *f, double gap)
{
    cbx_rng rng = cbx_rng_make(3, 1);

    for (int i = 0; i < 15; i++) {
        f->a[i] = 10 + cbx_rng_normal(&rng);
        f->b[i] = 10 + gap + cbx_rng_normal(&rng);
        f->c[i] = 100 + cbx_rng_normal(&rng);
    }
    f->samples[0] = (cbx_rank_sample){ f->a, 15 };
    f->samples[1] = (cbx_rank_sample){ f->b, 15 };
    f->samples[2] = (cbx_rank_sample){ f->c, 15 };
}

static cbx_status stability_of(cbx_ctx *ctx, void *user)
{
    field *f = user;
    double share[9];
    cbx_err e;

    return cbx_rank_stability(ctx, f->samples, 3, CBX_DIRECTION_LOWER, 20, 5, share, &e);
}

TEST(stability)
{
    double near[9], again[9], far[9];
    cbx_test_alloc memory;
    cbx_ctx *ctx;
    field f;

    cbx_test_alloc_init(&memory);
    ctx = cbx_test_ctx(&memory);
    make_field(&f, 0);
    CHECK_OK(cbx_rank_stability(ctx, f.samples, 3, CBX_DIRECTION_LOWER, 400, 5, near, &err), &err, "alike");
    CHECK_OK(cbx_rank_stability(ctx, f.samples, 3, CBX_DIRECTION_LOWER, 400, 5, again, &err), &err, "again");
    CHECK(!memcmp(near, again, sizeof near), "the same bits");
    CHECK_GT(near[0], 0.02, "two alike change places");
    CHECK_GT(near[3], 0.02, "two alike change places");
    for (int i = 0; i < 3; i++)
        CHECK_LE(fabs(near[3 * i] + near[3 * i + 1] + near[3 * i + 2] - 1), 1e-12, "shares sum to 1");
    CHECK(near[8] == 1, "the third is always third");
    make_field(&f, 20);
    CHECK_OK(cbx_rank_stability(ctx, f.samples, 3, CBX_DIRECTION_HIGHER, 200, 5, far, &err), &err, "apart");
    CHECK(far[2] == 1 && far[4] == 1 && far[6] == 1, "far apart, ranks are certain");
    CHECK_STATUS(cbx_rank_stability(ctx, f.samples, 3, CBX_DIRECTION_LOWER, 0, 5, far, &err), CBX_EINVAL, "no draws");
    f.a[3] = NAN;
    CHECK_STATUS(cbx_rank_stability(ctx, f.samples, 3, CBX_DIRECTION_LOWER, 9, 5, far, &err), CBX_EDOM, "not a number");
    f.samples[1].n = 0;
    f.a[3] = 1;
    CHECK_STATUS(cbx_rank_stability(ctx, f.samples, 3, CBX_DIRECTION_LOWER, 9, 5, far, &err), CBX_EINVAL, "no samples");
    make_field(&f, 0);
    CHECK_GT(cbx_test_fail_each(stability_of, &f, "cbx_rank_stability"), 0, "allocations failed");
    cbx_ctx_free(ctx);
    cbx_test_alloc_check(&memory, "stability");
}

TESTS()
