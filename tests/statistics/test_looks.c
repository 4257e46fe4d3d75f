/* Looks at a growing sample: the error over all of them, by counting every path of signs, and by
 * simulation. */
#include "check.h"

#include <math.h>
#include <stdbool.h>

#include "calibrax/base/rng.h"
#include "calibrax/statistics/estimate.h"
#include "calibrax/statistics/looks.h"
#include "calibrax/statistics/multiplicity.h"

/* Two-sided p of the sign test after the first n signs of a path. */
static double p_after(unsigned path, size_t n)
{
    size_t below = (size_t)__builtin_popcount(path & ((1u << n) - 1));
    return cbx_stat_sign_test_p(below, n - below);
}

/* Share of all 2^n paths that any look excludes; nominal levels are the design's, or `flat` at
 * each look. */
static double counted(const cbx_looks *l, double flat)
{
    size_t n = l->pairs[l->count - 1];
    unsigned hits = 0;

    for (unsigned path = 0; path < 1u << n; path++) {
        bool hit = false;
        for (size_t j = 0; j < l->count; j++)
            hit = hit || p_after(path, l->pairs[j]) <= (flat > 0 ? flat : l->scale * l->weight[j]);
        hits += hit;
    }
    return ldexp(hits, -(int)n);
}

static cbx_looks planned(size_t first, size_t last, double alpha)
{
    cbx_looks l;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_looks_plan(first, last, alpha, &l, &err), &err, "a plan");
    return l;
}

TEST(the_error_is_the_share_of_paths)
{
    static const struct {
        size_t first, last;
        double alpha;
        const char *why;
    } cases[] = {
        { 6, 6, 0.05, "one look: the plain test" },
        { 6, 9, 0.05, "two looks" },
        { 6, 16, 0.05, "three" },
        { 4, 17, 0.2, "a loose level" },
        { 1, 16, 0.01, "early looks that cannot reject" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_looks l = planned(cases[i].first, cases[i].last, cases[i].alpha);
        CHECK_LE(l.error, cases[i].alpha, cases[i].why);
        CHECK_LE(fabs(counted(&l, 0) - l.error), 1e-12, cases[i].why);
        CHECK_INT(l.pairs[0], cases[i].first, cases[i].why);
        CHECK_INT(l.pairs[l.count - 1], cases[i].last, cases[i].why);
        /* the scale is the largest: a little more is too much */
        cbx_looks more = l;
        more.scale *= 1.001;
        if (l.scale * l.weight[0] < 1) CHECK_GT(counted(&more, 0), cases[i].alpha, cases[i].why);
    }
    cbx_looks naive = planned(6, 16, 0.05);
    CHECK_GT(counted(&naive, 0.05), 0.06, "looking at 5 % each time errs more often: the count sees it");
}

TEST(one_look_is_the_plain_interval)
{
    static const double x[] = { 5, 1, 4, 2, 3, 7, 6, 9, 8, 11, 10 };
    cbx_looks l = planned(CBX_LEN(x), CBX_LEN(x), 0.05);
    cbx_interval plain, looked;
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_stat_median_interval(ctx, x, CBX_LEN(x), 0.95, &plain, &err), &err, "plain");
    CHECK_OK(cbx_stat_median_interval(ctx, x, CBX_LEN(x), cbx_looks_level(&l, 0), &looked, &err), &err, "looked at");
    CHECK(plain.lower == looked.lower && plain.upper == looked.upper, "the same ends");
    CHECK_LE(fabs(cbx_looks_p(&l, 0, cbx_stat_sign_test_p(1, 10)) - cbx_stat_sign_test_p(1, 10)), 1e-15,
             "and the same p");
    cbx_ctx_free(ctx);
}

/* At the walk's own boundary the order-statistic interval leaves 1 out, and one sign less
 * does not. */
TEST(levels_and_intervals_agree)
{
    cbx_looks l = planned(11, 60, 0.05);
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    for (size_t j = 0; j < l.count; j++) {
        for (size_t below = 0; below <= l.pairs[j]; below++) {
            double x[64];
            cbx_interval iv;
            for (size_t i = 0; i < l.pairs[j]; i++) x[i] = i < below ? 0.9 + 1e-4 * (double)i : 1.1 + 1e-4 * (double)i;
            CHECK_OK(cbx_stat_median_interval(ctx, x, l.pairs[j], cbx_looks_level(&l, j), &iv, &err), &err, "interval");
            bool out = iv.level > 0 && (iv.lower > 1 || iv.upper < 1);
            double p = cbx_stat_sign_test_p(below, l.pairs[j] - below);
            CHECK_INT(out, p <= l.scale * l.weight[j], "the interval leaves 1 out where the test rejects");
            CHECK_INT(out, cbx_looks_p(&l, j, p) <= l.alpha, "and where the repeated p-value is small");
        }
    }
    cbx_ctx_free(ctx);
}

/* P(smallest repeated p over the looks <= u) <= u, whatever u: by all paths. */
TEST(repeated_p_values_hold_at_any_look)
{
    static const double us[] = { 0.002, 0.01, 0.03, 0.05, 0.1, 0.3 };
    cbx_looks l = planned(6, 16, 0.05);
    size_t n = l.pairs[l.count - 1];
    double p_of[CBX_LOOKS_MAX][17];
    unsigned hits[CBX_LEN(us)] = { 0 };
    for (size_t j = 0; j < l.count; j++)
        for (size_t k = 0; k <= l.pairs[j]; k++)
            p_of[j][k] = cbx_looks_p(&l, j, cbx_stat_sign_test_p(k, l.pairs[j] - k));
    for (unsigned path = 0; path < 1u << n; path++) {
        double min = 1;
        for (size_t j = 0; j < l.count; j++)
            min = fmin(min, p_of[j][__builtin_popcount(path & ((1u << l.pairs[j]) - 1))]);
        for (size_t u = 0; u < CBX_LEN(us); u++) hits[u] += min <= us[u];
    }
    for (size_t u = 0; u < CBX_LEN(us); u++) CHECK_LE(ldexp(hits[u], -(int)n), us[u], "valid at whichever look");
}

TEST(an_early_end_spends_what_is_left)
{
    cbx_looks l = planned(6, 30, 0.05), e = l;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_looks_end(&e, 2, 14, &err), &err, "after two looks, at 14 pairs");
    CHECK_INT(e.count, 3, "the two, and the end");
    CHECK_LE(fabs(counted(&e, 0) - e.error), 1e-12, "its error is the share of paths");
    CHECK_LE(e.error, 0.05, "and what was asked for");
    CHECK_GT(e.scale * e.weight[2], l.scale * l.weight[2], "nothing is kept for later");
    CHECK(e.pairs[0] == l.pairs[0] && e.scale == l.scale, "what was looked at stays as it was");
    e = l;
    CHECK_OK(cbx_looks_end(&e, 0, 8, &err), &err, "before the first look");
    CHECK_LE(fabs(counted(&e, 0) - e.error), 1e-12, "the plain test of 8");
    CHECK_STATUS(cbx_looks_end(&e, 1, 8, &err), CBX_EINVAL, "not at the same place again");
    CHECK_STATUS(cbx_looks_end(&e, 2, 20, &err), CBX_EINVAL, "not after looks that were none");
}

/*
 * Log-normal pairs with a heavy tail, stopped by whichever comes first of a narrow interval and a
 * decided verdict: the interval at the stop misses 1 in at most 5 % of runs.  Bin(4000, 0.05)
 * exceeds 250 with a chance below 2e-4; a plain interval at each look is seen to exceed it.
 */
static unsigned missed(cbx_ctx *ctx, const cbx_looks *l, bool naive)
{
    unsigned misses = 0;

    for (uint64_t run = 0; run < 4000; run++) {
        cbx_rng rng = cbx_rng_make(17, run);
        double x[128];
        cbx_interval iv = { 1, 0, 0, 0 };
        size_t n = 0;
        for (size_t j = 0; j < l->count; j++) {
            for (; n < l->pairs[j]; n++) {
                double z = cbx_rng_normal(&rng);
                x[n] = exp(0.01 * z * (cbx_rng_below(&rng, 10) == 0 ? 20 : 1));
            }
            if (cbx_stat_median_interval(ctx, x, n, naive ? 0.95 : cbx_looks_level(l, j), &iv, NULL))
                fail_msg("interval");
            if (iv.level > 0 && (iv.upper - iv.lower < 0.004 || iv.lower > 1 || iv.upper < 1)) break;
        }
        misses += iv.level > 0 && (iv.lower > 1 || iv.upper < 1);
    }
    return misses;
}

TEST(stopping_early_keeps_the_error)
{
    cbx_looks l = planned(11, 128, 0.05);
    cbx_ctx *ctx = cbx_test_context();
    CHECK_LE((double)missed(ctx, &l, false), 250, "false alarms of 4000");
    CHECK_GT((double)missed(ctx, &l, true), 250, "peeking with plain intervals is seen to alarm more often");
    cbx_ctx_free(ctx);
}

TEST(long_designs)
{
    cbx_looks l = planned(11, CBX_LOOKS_PAIRS, 0.05);
    CHECK_LE((double)l.count, CBX_LOOKS_MAX, "no more looks than the capacity");
    CHECK(l.error <= 0.05 && l.error > 0.049, "ten thousand pairs leave little unspent");
    for (size_t j = 1; j < l.count; j++) CHECK(l.pairs[j] > l.pairs[j - 1], "ascending");
}

TEST(bad_designs)
{
    cbx_looks l;
    cbx_err err = CBX_ERR_INIT;
    CHECK_STATUS(cbx_looks_plan(0, 10, 0.05, &l, &err), CBX_EINVAL, "no pairs");
    CHECK_STATUS(cbx_looks_plan(11, 10, 0.05, &l, &err), CBX_EINVAL, "backwards");
    CHECK_STATUS(cbx_looks_plan(11, CBX_LOOKS_PAIRS + 1, 0.05, &l, &err), CBX_EINVAL, "too many");
    CHECK_STATUS(cbx_looks_plan(11, 20, 0, &l, &err), CBX_EINVAL, "no error");
    CHECK_STATUS(cbx_looks_plan(11, 20, NAN, &l, &err), CBX_EINVAL, "no number");
}

TESTS(.seconds = 600)
