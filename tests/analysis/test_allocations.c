/* Each function of numbers here that takes memory, with every allocation of it failing once:
 * CBX_ENOMEM with a sentence, and no leak. */
#include "check.h"

#include <math.h>

#include "calibrax/analysis/changepoint.h"
#include "calibrax/analysis/ranking.h"
#include "calibrax/statistics/effect.h"
#include "calibrax/statistics/growth.h"
#include "calibrax/statistics/series.h"
#include "fail_alloc.h"

#define N 12

typedef struct numbers {
    double sizes[N], seconds[N], other[N];
} numbers;

static cbx_status noise(cbx_ctx *ctx, const numbers *x, cbx_err *err)
{
    cbx_noise out;
    return cbx_noise_estimate(ctx, x->seconds, N, &out, err);
}

static cbx_status score(cbx_ctx *ctx, const numbers *x, cbx_err *err)
{
    static const cbx_direction directions[] = { CBX_DIRECTION_LOWER, CBX_DIRECTION_HIGHER };
    double scores[N / 2];
    size_t missing;
    cbx_status st = cbx_score(ctx, CBX_SCORE_MIN_MAX, x->seconds, N / 2, 2, directions, NULL, scores, &missing, err);

    return st ? st : cbx_score(ctx, CBX_SCORE_GEOMETRIC, x->seconds, N / 2, 2, directions, NULL, scores, &missing, err);
}

static cbx_status growth(cbx_ctx *ctx, const numbers *x, cbx_err *err)
{
    cbx_growth out;
    cbx_interval exponent;
    cbx_status st = cbx_scaling_growth(ctx, x->sizes, x->seconds, N, 0.95, &out, err);

    return st ? st : cbx_scaling_exponent_bootstrap(ctx, x->sizes, x->seconds, N, &out, 0.95, 20, 1, &exponent, err);
}

static cbx_status slope(cbx_ctx *ctx, const numbers *x, cbx_err *err)
{
    cbx_interval out;
    return cbx_stat_theil_sen(ctx, x->seconds, N, 1.5, 0.95, &out, err);
}

static cbx_status superiority(cbx_ctx *ctx, const numbers *x, cbx_err *err)
{
    cbx_interval out;
    return cbx_stat_vargha_delaney(ctx, x->seconds, N, x->other, N, 0.95, &out, err);
}

static const struct deed {
    const char *name;
    cbx_status (*fn)(cbx_ctx *ctx, const numbers *x, cbx_err *err);
} deeds[] = {
    { "cbx_noise_estimate", noise },
    { "cbx_score", score },
    { "cbx_scaling_growth, cbx_scaling_exponent_bootstrap", growth },
    { "cbx_stat_theil_sen", slope },
    { "cbx_stat_vargha_delaney", superiority },
};

static cbx_status attempt(cbx_ctx *ctx, void *user)
{
    const struct deed *d = *(const struct deed *const *)user;
    cbx_err err = CBX_ERR_INIT;
    numbers x;
    cbx_status st;

    for (int i = 0; i < N; i++) {
        x.sizes[i] = i + 1;
        x.seconds[i] = 1 + 0.9 * i + 0.01 * sin(i);
        x.other[i] = 2 * (0.1 + 0.9 / (i + 1)) + 0.003 * cos(i);
    }
    st = d->fn(ctx, &x, &err);
    CHECK(!st == !*err.message, "a sentence comes with a failure, and only with one");
    return st;
}

TEST(test_every_allocation_may_fail)
{
    for (size_t i = 0; i < CBX_LEN(deeds); i++) {
        const struct deed *one = &deeds[i];
        CHECK_GT(cbx_test_fail_each(attempt, &one, one->name), 0, one->name);
    }
}

TESTS()
