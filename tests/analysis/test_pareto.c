/* Fronts against the definition, for one to five objectives, with ties, infinities and holes. */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "calibrax/analysis/pareto.h"
#include "calibrax/base/clock.h"
#include "calibrax/base/rng.h"
#include "fail_alloc.h"

static cbx_err err;

/* The definition, pair by pair. */
static bool beaten(const double *x, size_t n, size_t d, const cbx_direction *dir, size_t i)
{
    for (size_t j = 0; j < n; j++) {
        bool as_good = true, better = false;
        for (size_t k = 0; k < d; k++) {
            double a = x[j * d + k], b = x[i * d + k];
            if (dir[k] == CBX_DIRECTION_HIGHER) a = -a, b = -b;
            if (!(a <= b)) as_good = false;
            if (a < b) better = true;
        }
        if (as_good && better) return true;
    }
    return false;
}

TEST(definition)
{
    static double x[60 * 5];
    cbx_rng rng = cbx_rng_make(11, 0);
    cbx_ctx *ctx = cbx_test_context();

    for (size_t turn = 0; turn < 2000; turn++) {
        size_t n = 1 + cbx_rng_below(&rng, 59), d = 1 + cbx_rng_below(&rng, 5), front = 0, wanted = 0, missing = 0,
               holes = 0;
        uint64_t grid = 2 + cbx_rng_below(&rng, 40);
        cbx_direction dir[5];
        bool on[60];
        for (size_t k = 0; k < 5; k++) dir[k] = cbx_rng_below(&rng, 2) ? CBX_DIRECTION_HIGHER : CBX_DIRECTION_LOWER;
        for (size_t i = 0; i < n * d; i++) {
            x[i] = (double)cbx_rng_below(&rng, grid); /* a coarse grid: many ties and equal points */
            if (!cbx_rng_below(&rng, 50)) x[i] = NAN;
            if (!cbx_rng_below(&rng, 50)) x[i] = INFINITY;
            if (!cbx_rng_below(&rng, 50)) x[i] = -INFINITY;
        }
        CHECK_OK(cbx_pareto_front(ctx, x, n, d, dir, on, &front, &missing, &err), &err, "front");
        for (size_t i = 0; i < n; i++) {
            bool hole = false, is;
            for (size_t k = 0; k < d; k++) hole |= isnan(x[i * d + k]);
            is = !hole && !beaten(x, n, d, dir, i);
            if (on[i] != is) fail_msg("turn %zu: point %zu of %zu in %zu objectives: %d", turn, i, n, d, on[i]);
            wanted += is;
            holes += hole;
        }
        CHECK_INT(front, wanted, "counted");
        CHECK_INT(missing, holes, "missing are counted");
    }
    cbx_ctx_free(ctx);
}

TEST(refused)
{
    cbx_direction info = CBX_DIRECTION_INFO, lower = CBX_DIRECTION_LOWER;
    cbx_ctx *ctx = cbx_test_context();
    double one = 1;
    bool on;

    CHECK_STATUS(cbx_pareto_front(ctx, &one, 1, 1, &info, &on, NULL, NULL, &err), CBX_EINVAL, "info");
    CHECK_STATUS(cbx_pareto_front(ctx, &one, 1, 0, &lower, &on, NULL, NULL, &err), CBX_EINVAL, "no objective");
    CHECK_STATUS(cbx_pareto_front(ctx, &one, 0, 1, &lower, &on, NULL, NULL, &err), CBX_EINVAL, "no point");
    CHECK(strstr(err.message, "'points'") != NULL, err.message);
    CHECK_OK(cbx_pareto_front(ctx, &one, 1, 1, &lower, &on, NULL, NULL, &err), &err, "one point");
    CHECK(on, "not dominated");
    cbx_ctx_free(ctx);
}

/* 100,000 points that are all on the front: pair by pair that would be 10^10 steps. */
TEST(large)
{
    static const cbx_direction dir[] = { CBX_DIRECTION_LOWER, CBX_DIRECTION_LOWER, CBX_DIRECTION_LOWER };
    const size_t n = 100000;
    double *x = malloc(n * 3 * sizeof *x);
    bool *on = malloc(n);
    cbx_ctx *ctx = cbx_test_context();

    for (size_t d = 2; d <= 3; d++) {
        size_t front = 0;
        uint64_t t0;
        for (size_t i = 0; i < n; i++) {
            x[i * d] = (double)((i * 7919) % n);
            x[i * d + 1] = -x[i * d];
            if (d == 3) x[i * d + 2] = (double)i;
        }
        t0 = cbx_clock_ns();
        CHECK_OK(cbx_pareto_front(ctx, x, n, d, dir, on, &front, NULL, &err), &err, "front");
        CHECK_INT(front, n, "all are on it");
        print_message("# %zu points, %zu objectives: %.3f s\n", n, d, (double)(cbx_clock_ns() - t0) * 1e-9);
    }
    cbx_ctx_free(ctx);
    free(x);
    free(on);
}

static cbx_status one_front(cbx_ctx *ctx, void *user)
{
    static const double x[] = { 1, 2, 2, 1, 3, 3 };
    static const cbx_direction dir[] = { CBX_DIRECTION_LOWER, CBX_DIRECTION_LOWER };
    bool on[3];
    cbx_err e;

    (void)user;
    return cbx_pareto_front(ctx, x, 3, 2, dir, on, NULL, NULL, &e);
}

TEST(out_of_memory) { CHECK_GT(cbx_test_fail_each(one_front, NULL, "cbx_pareto_front"), 0, "allocations failed"); }

TESTS()
