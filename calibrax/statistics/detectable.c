/* Minimum detectable effect by simulation.  The rank test needs only the order of two samples, so
 * the shift is found with the same draws at each step of the bisection, and power rises with it
 * without noise. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "calibrax/base/parallel.h"
#include "calibrax/base/rng.h"
#include "calibrax/statistics/estimate.h"
#include "calibrax/statistics/rank_limits.h"
#include "calibrax/statistics/sample.h"
#include "calibrax/statistics/variance.h"

enum { MAX_LAUNCHES = 50, HALVINGS = 40 };

typedef struct simulation {
    const double *pilot; /* sorted */
    size_t k, n, runs;
    uint64_t seed;
    double limit;  /* reject where min(U, n^2 - U) < limit */
    double effect; /* of this pass */
    double *work;  /* 2 n for each worker */
    double *found; /* a run: 1 if it rejects */
} simulation;

static double u_statistic(const double *x, const double *y, size_t n, double factor)
{
    double u = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) u += x[i] * factor > y[j] ? 1 : x[i] * factor == y[j] ? 0.5 : 0;
    return u;
}

static void simulate(void *user, size_t worker, size_t begin, size_t end)
{
    const simulation *s = user;
    double *both = s->work + worker * 2 * s->n, pairs = (double)s->n * (double)s->n;

    for (size_t run = begin; run < end; run++) {
        double u;
        /* Two samples of the pilot's distribution, its quantile function at uniform points. */
        cbx_rng rng = cbx_rng_make(s->seed, run);
        for (size_t i = 0; i < 2 * s->n; i++) both[i] = cbx_stat_quantile_sorted(s->pilot, s->k, cbx_rng_uniform(&rng));
        u = u_statistic(both, both + s->n, s->n, 1 + s->effect);
        s->found[run] = fmin(u, pairs - u) < s->limit;
    }
}

static double simulated_power(simulation *s, size_t workers, double effect)
{
    double sum = 0;

    s->effect = effect;
    cbx__parallel(workers, s->runs, simulate, s);
    for (size_t i = 0; i < s->runs; i++) sum += s->found[i];
    return sum / (double)s->runs;
}

/* The pilot's whole range separates the samples for sure: no larger effect is needed. */
static double bisect(simulation *s, size_t workers, double power)
{
    double low = 0, high = 2 * (s->pilot[s->k - 1] / s->pilot[0] - 1);

    if (high == 0) return 0;
    if (simulated_power(s, workers, high) < power) return INFINITY;
    for (int i = 0; i < HALVINGS && high - low > 1e-4 * high; i++) {
        double middle = low + (high - low) / 2;
        if (simulated_power(s, workers, middle) < power)
            low = middle;
        else
            high = middle;
    }
    return high;
}

static cbx_status detectable_options(const cbx_detectable_opts *opts, size_t k, size_t n, cbx_detectable_opts *o,
                                     cbx_err *err)
{
    const cbx_detectable_opts defaults = CBX_DETECTABLE_OPTS_INIT;

    *o = opts ? *opts : defaults;
    if (o->struct_size != sizeof *o) return cbx_fail(err, CBX_EINVAL, "options of another version");
    if (!o->runs) return cbx_fail(err, CBX_EINVAL, "'runs' must be at least 1, got 0");
    if (!(o->alpha > 0 && o->alpha < 1 && o->power > 0 && o->power < 1))
        return cbx_fail(err, CBX_EINVAL, "alpha %g and power %g are not between 0 and 1", o->alpha, o->power);
    if (k < 2) return cbx_fail(err, CBX_EINVAL, "a pilot of %zu launches shows no spread: at least 2", k);
    if (n < 2 || n > MAX_LAUNCHES)
        return cbx_fail(err, CBX_EINVAL, "%zu launches a side cannot be simulated: 2 to %d", n, (int)MAX_LAUNCHES);
    return CBX_OK;
}

cbx_status cbx_stat_detectable_ratio(cbx_ctx *ctx, const double *pilot, size_t k, size_t n,
                                     const cbx_detectable_opts *opts, double *out, cbx_err *err)
{
    cbx_detectable_opts o;
    double *sorted = NULL, achieved;
    simulation s = { .k = k, .n = n };
    size_t workers = 1;
    cbx_status st = detectable_options(opts, k, n, &o, err);

    if (st) return st;
    s.runs = o.runs;
    s.seed = o.seed;
    workers = cbx__workers(o.threads, o.runs);
    st = cbx__sorted_copy(ctx, pilot, k, 2, &sorted, err);
    if (!st && !(sorted[0] > 0)) st = cbx_fail(err, CBX_EDOM, "a pilot value of %g is no time: above 0", sorted[0]);
    if (!st) st = cbx__shift_limit(ctx, n, n, 1 - o.alpha, &s.limit, &achieved, err);
    if (!st) st = cbx__doubles(ctx, workers * 2 * n, &s.work, err);
    if (!st) st = cbx__doubles(ctx, s.runs, &s.found, err);
    if (!st) {
        s.pilot = sorted;
        *out = bisect(&s, workers, o.power);
    }
    cbx__doubles_free(ctx, sorted, k);
    cbx__doubles_free(ctx, s.work, workers * 2 * n);
    cbx__doubles_free(ctx, s.found, s.runs);
    return st;
}
