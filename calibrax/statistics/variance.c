/* Variance components, repetition counts, power. */
#include "calibrax/statistics/variance.h"

#include <math.h>
#include <stdint.h>

#include "calibrax/base/parallel.h"
#include "calibrax/base/rng.h"
#include "calibrax/statistics/distribution.h"
#include "calibrax/statistics/estimate.h"
#include "calibrax/statistics/rank_internal.h"
#include "calibrax/statistics/sample.h"

#define MAX_LAUNCHES          1000000
#define LARGEST_NONCENTRALITY 37.0

cbx_status cbx_stat_components(const cbx_nested *x, cbx_components *out, cbx_err *err)
{
    double ssw = 0, ssb = 0, sizes2 = 0, of_means = 0, groups = (double)x->groups;
    cbx_components c = { .groups = x->groups };

    if (x->groups < 2)
        return cbx_fail(err, CBX_EINVAL, "%zu launches do not show how launches vary: at least 2", x->groups);
    for (size_t g = 0; g < x->groups; c.values += x->sizes[g++])
        if (x->sizes[g] == 0) return cbx_fail(err, CBX_EINVAL, "launch %zu has no epochs", g);
    cbx_status st = cbx__sample_check(x->x, c.values, 2, err);
    if (st) return st;
    /* Sums of squares of factor * x about the first value of all, so that clocks lose nothing. */
    const cbx__moments all = cbx__moments_of(x->x, c.values);
    const double values = (double)c.values, factor = all.factor;
    for (size_t g = 0, at = 0; g < x->groups; at += x->sizes[g++]) {
        const cbx__moments m = cbx__moments_of(x->x + at, x->sizes[g]);
        const double n = (double)m.n, sd = factor * m.stddev;
        const double away = (factor * m.origin - factor * all.origin) + (factor * m.offset - factor * all.offset);
        ssw += (factor == m.factor ? m.scaled : factor == 1 ? m.variance : sd * sd) * (n - 1);
        ssb += n * away * away;
        sizes2 += n * n;
        of_means += away / groups;
    }
    c.mean = cbx__mean_of(&all) + of_means / factor;
    double within = values > groups ? ssw / (values - groups) : 0;
    c.epochs = (values - sizes2 / values) / (groups - 1);
    double between = (ssb / (groups - 1) - within) / c.epochs;
    c.share = between > 0 ? between / (between + within) : 0;
    c.within = within / factor / factor;
    c.between_raw = between / factor / factor;
    c.between = fmax(0.0, c.between_raw);
    *out = c;
    return CBX_OK;
}

cbx_status cbx_stat_repetitions(const double *variance, const double *cost, size_t levels, size_t max, size_t *counts,
                                cbx_err *err)
{
    if (levels < 2 || max < 1)
        return cbx_fail(err, CBX_EINVAL, "repetitions need at least two levels and a maximum of at least 1");
    for (size_t i = 0; i < levels; i++)
        if (!(variance[i] >= 0 && isfinite(variance[i]) && cost[i] > 0 && isfinite(cost[i])))
            return cbx_fail(err, CBX_EDOM, "level %zu has variance %g and cost %g: finite, not negative, and above 0",
                            i, variance[i], cost[i]);
    for (size_t i = 0; i + 1 < levels; i++) {
        double r = variance[i] == 0 ? 1 : sqrt(cost[i + 1] / cost[i] * (variance[i] / variance[i + 1]));
        counts[i] = r >= (double)max ? max : r <= 1 ? 1 : (size_t)ceil(r);
    }
    return CBX_OK;
}

static double expected_half(double variance, size_t n, double level)
{
    return cbx_stat_t_isf((1 - level) / 2, (double)(n - 1)) * sqrt(variance / (double)n);
}

cbx_status cbx_stat_launches_for(double variance, double half, double level, size_t *out, cbx_err *err)
{
    size_t low = 1, high = MAX_LAUNCHES; /* expected_half falls with n */
    cbx_status st = cbx_check_level("level", level, err);

    if (st) return st;
    if (!(variance >= 0 && isfinite(variance) && half > 0))
        return cbx_fail(err, CBX_EINVAL,
                        "the variance must be at least 0 and the half width above 0, both finite, got %g and %g",
                        variance, half);
    if (expected_half(variance, high, level) > half)
        return cbx_fail(err, CBX_EINVAL, "a half width of %g takes more than %d launches", half, MAX_LAUNCHES);
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (expected_half(variance, middle, level) > half)
            low = middle;
        else
            high = middle;
    }
    *out = high;
    return CBX_OK;
}

/* ---- power ---- */

static double power_of(double noncentrality, double df, double alpha)
{
    double t = cbx_stat_t_isf(alpha / 2, df);

    if (fabs(noncentrality) > LARGEST_NONCENTRALITY) return 1;
    return fmin(1.0, 1 - cbx_stat_noncentral_t_cdf(t, df, fabs(noncentrality)) +
                         cbx_stat_noncentral_t_cdf(-t, df, fabs(noncentrality)));
}

static bool power_fits(size_t n, double d, double alpha) { return n >= 2 && !isnan(d) && alpha > 0 && alpha < 1; }

double cbx_stat_power_two(size_t n, double d, double alpha)
{
    return power_fits(n, d, alpha) ? power_of(d * sqrt((double)n / 2), 2 * (double)n - 2, alpha) : NAN;
}

double cbx_stat_power_one(size_t n, double d, double alpha)
{
    return power_fits(n, d, alpha) ? power_of(d * sqrt((double)n), (double)n - 1, alpha) : NAN;
}

/* Bisection: power rises with the noncentrality. */
static double noncentrality_for(double df, double alpha, double power)
{
    double low = 0, high = LARGEST_NONCENTRALITY;

    if (power_of(high, df, alpha) < power) return INFINITY;
    for (int i = 0; i < 200 && high - low > 1e-14 * high; i++) {
        double middle = (low + high) / 2;
        if (power_of(middle, df, alpha) < power)
            low = middle;
        else
            high = middle;
    }
    return high;
}

double cbx_stat_detectable_two(size_t n, double alpha, double power)
{
    if (!power_fits(n, 0, alpha) || !(power > alpha && power < 1)) return NAN;
    return noncentrality_for(2 * (double)n - 2, alpha, power) / sqrt((double)n / 2);
}

double cbx_stat_detectable_one(size_t n, double alpha, double power)
{
    if (!power_fits(n, 0, alpha) || !(power > alpha && power < 1)) return NAN;
    return noncentrality_for((double)n - 1, alpha, power) / sqrt((double)n);
}

/* ---- minimum detectable effect by simulation.  The rank test needs only the order of two samples,
 * so the shift is found with the same draws at each step of the bisection, and power rises with it
 * without noise ---- */

enum { MAX_SIMULATED = 50, HALVINGS = 40 };

typedef struct simulation {
    const double *pilot; /* sorted */
    size_t k, n, runs;
    uint64_t seed;
    double limit;  /* reject where min(U, n^2 - U) < limit */
    double effect; /* of this pass */
    double *work;  /* 2 n for each worker */
    double *found; /* a run: 1 if it rejects */
} simulation;

static void simulate(void *user, size_t worker, size_t begin, size_t end)
{
    const simulation *s = user;
    double *both = s->work + worker * 2 * s->n, pairs = (double)s->n * (double)s->n;

    for (size_t run = begin; run < end; run++) {
        double u = 0;
        /* Two samples of the pilot's distribution, its quantile function at uniform points. */
        cbx_rng rng = cbx_rng_make(s->seed, run);
        for (size_t i = 0; i < 2 * s->n; i++) both[i] = cbx_stat_quantile_sorted(s->pilot, s->k, cbx_rng_uniform(&rng));
        for (size_t i = 0; i < s->n; i++)
            for (size_t j = s->n; j < 2 * s->n; j++) {
                double x = both[i] * (1 + s->effect);
                u += x > both[j] ? 1 : x == both[j] ? 0.5 : 0;
            }
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

cbx_status cbx_stat_detectable_ratio(cbx_ctx *ctx, const double *pilot, size_t k, size_t n,
                                     const cbx_detectable_opts *opts, double *out, cbx_err *err)
{
    cbx_detectable_opts o = CBX_DETECTABLE_OPTS_INIT;
    cbx__scratch double *sorted = NULL, *work = NULL, *found = NULL;
    simulation s = { .k = k, .n = n };
    double achieved;
    cbx_status st = cbx_take_options(&o, sizeof o, opts, "cbx_detectable_opts", err);

    if (!st) st = cbx_check_range("runs", (double)o.runs, 1, INFINITY, err);
    if (!st) st = cbx_check_level("alpha", o.alpha, err);
    if (!st) st = cbx_check_level("power", o.power, err);
    if (st) return st;
    if (k < 2) return cbx_fail(err, CBX_EINVAL, "a pilot of %zu launches shows no spread: at least 2", k);
    if (n < 2 || n > MAX_SIMULATED)
        return cbx_fail(err, CBX_EINVAL, "%zu launches a side cannot be simulated: 2 to %d", n, (int)MAX_SIMULATED);
    s.runs = o.runs;
    s.seed = o.seed;
    size_t workers = cbx__workers(o.threads, o.runs);
    st = cbx__sorted_copy(ctx, pilot, k, 2, &sorted, err);
    if (!st && !(sorted[0] > 0)) st = cbx_fail(err, CBX_EDOM, "a pilot value must be above 0, got %g", sorted[0]);
    if (!st) st = cbx__shift_limit(ctx, n, n, 1 - o.alpha, &s.limit, &achieved, err);
    if (!st) st = cbx__doubles(ctx, workers * 2 * n, &work, err);
    if (!st) st = cbx__doubles(ctx, s.runs, &found, err);
    if (st) return st;
    s.pilot = sorted;
    s.work = work;
    s.found = found;
    /* The pilot's whole range separates the samples for sure: no larger effect is needed. */
    double low = 0, high = 2 * (sorted[k - 1] / sorted[0] - 1);
    const bool reached = high == 0 || simulated_power(&s, workers, high) >= o.power;
    for (int i = 0; reached && i < HALVINGS && high - low > 1e-4 * high; i++) {
        double middle = low + (high - low) / 2;
        if (simulated_power(&s, workers, middle) < o.power)
            low = middle;
        else
            high = middle;
    }
    *out = reached ? high : INFINITY;
    return CBX_OK;
}
