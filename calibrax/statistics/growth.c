/* Growth: the order that explains the points best for the parameters it spends. */
#include "calibrax/statistics/growth.h"

#include <math.h>
#include <stdio.h>

#include "calibrax/base/idioms.h"
#include "calibrax/statistics/relative_fit.h"

#define MIN_POWER -4.0
#define MAX_POWER 8.0
#define FREE_GAIN 4.0 /* AICc: a model 4 behind has "considerably less" support (Burnham & Anderson 2002, p. 70) */

static double geometric_mean(const double *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) sum += log(x[i]) / (double)n;
    return exp(sum);
}

/* theta[0]: exponent, theta[1]: scale of x */
static double power_shape(double x, const double *theta) { return pow(x / theta[1], theta[0]); }

/* theta[0]: the order; theta[1]: scale of x for powers, which logarithms of sizes do not know */
static double order_shape(double x, const double *theta)
{
    double r = x / theta[1], l = log2(x + 1);

    switch ((cbx_complexity)theta[0]) {
    case CBX_COMPLEXITY_LOG: return l;
    case CBX_COMPLEXITY_SQRT: return sqrt(r);
    case CBX_COMPLEXITY_LINEAR: return r;
    case CBX_COMPLEXITY_N_LOG_N: return r * l;
    case CBX_COMPLEXITY_N_SQRT_N: return r * sqrt(r);
    case CBX_COMPLEXITY_QUADRATIC: return r * r;
    case CBX_COMPLEXITY_QUADRATIC_LOG: return r * r * l;
    case CBX_COMPLEXITY_CUBIC: return r * r * r;
    default: return 1;
    }
}

/* k counts the cbx__fit_linear parameters and the variance. */
static double aicc(double square, size_t n, size_t k)
{
    double m = (double)n, p = (double)k;
    return m * log(fmax(square, CBX__FIT_MIN_SQUARE) / m) + 2 * p +
           (m - p - 1 > 0 ? 2 * p * (p + 1) / (m - p - 1) : INFINITY);
}

cbx_status cbx_scaling_growth(cbx_ctx *ctx, const double *sizes, const double *y, size_t n, double level,
                              cbx_growth *out, cbx_err *err)
{
    cbx__fit_data d = { sizes, y, n, 1 };
    cbx_status st = cbx__fit_check(sizes, y, n, 4, level, err);
    cbx_growth g = { 0 };

    (void)ctx;
    if (st) return st;
    d.x_scale = geometric_mean(sizes, n);
    size_t different = cbx__fit_different(sizes, n);
    double score[CBX_COMPLEXITY_COUNT], min = INFINITY, sum = 0;

    for (int k = 0; k < CBX_COMPLEXITY_COUNT; k++) {
        double theta[2] = { k, d.x_scale };
        score[k] = INFINITY;
        for (int with = 0; with <= (k != CBX_COMPLEXITY_CONSTANT && different >= 5); with++) {
            cbx__fit_linear l = cbx__fit_solve(&d, order_shape, theta, with);
            double s = aicc(l.square, d.n, 2 + (size_t)with);
            if (with && !(l.a > 0 && l.c > 0)) continue; /* the model without */
            score[k] = fmin(score[k], s);
            if (s >= min) continue;
            min = s;
            g.order = (cbx_complexity)k;
            g.intercept = with;
            g.intercept_value = l.a;
            static const double power[] = { 0, 0, 0.5, 1, 1, 1.5, 2, 2, 3 };
            g.coefficient = l.c / pow(d.x_scale, power[k]);
            g.relative_error = sqrt(l.square / (double)d.n);
        }
    }
    for (int k = 0; k < CBX_COMPLEXITY_COUNT; k++) sum += exp((min - score[k]) / 2);
    for (int k = 0; k < CBX_COMPLEXITY_COUNT; k++) g.weight[k] = exp((min - score[k]) / 2) / sum;
    cbx__fit_profile p = (cbx__fit_profile){ &d, power_shape, g.intercept,      { 0, d.x_scale },
                                             0,  0,           { MIN_POWER, 0 }, { MAX_POWER, 0 } };
    double best = cbx__fit_minimise(&p, MIN_POWER, MAX_POWER);
    g.exponent = cbx__fit_interval(&p, best, 2 + (size_t)g.intercept, level);
    cbx__fit_linear l = cbx__fit_solve(&d, power_shape, (double[]){ best, d.x_scale }, g.intercept);
    g.power_intercept = l.a;
    g.power_gain = min - aicc(l.square, n, 3 + (size_t)g.intercept);
    if (isnan(g.power_gain)) g.power_gain = -INFINITY; /* too few points for either */
    g.free_exponent = g.power_gain > FREE_GAIN;
    if (g.free_exponent) g.relative_error = sqrt(l.square / (double)n);
    g.power_coefficient = l.c / pow(d.x_scale, best);
    *out = g;
    return CBX_OK;
}

#define WORDS(name, words) words,
static const char *const complexity_names[] = { CBX_COMPLEXITY_MAP(WORDS) };
#undef WORDS

const char *cbx_complexity_name(cbx_complexity c) { return CBX_WORD(complexity_names, c); }

const char *cbx_growth_text(const cbx_growth *g, char buf[CBX_GROWTH_TEXT])
{
    if (g->free_exponent)
        snprintf(buf, CBX_GROWTH_TEXT, "O(n^%.3g)", g->exponent.value);
    else
        snprintf(buf, CBX_GROWTH_TEXT, "%s", cbx_complexity_name(g->order));
    return buf;
}

/* --- the exponent, resampled --- */

typedef struct resampling {
    double estimate;
    bool intercept;
} resampling;

/* Points that are nearly all one size tell no exponent: there the estimate stands. */
static double exponent_of(const double *x, size_t n, const double *y, size_t m, void *user)
{
    const resampling *r = user;
    cbx__fit_data d = { x, y, n, geometric_mean(x, n) };
    cbx__fit_profile p = { &d, power_shape, r->intercept, { 0, d.x_scale }, 0, 0, { MIN_POWER, 0 }, { MAX_POWER, 0 } };

    (void)m;
    return cbx__fit_different(x, n) < 3 + (size_t)r->intercept ? r->estimate
                                                               : cbx__fit_minimise(&p, MIN_POWER, MAX_POWER);
}

cbx_status cbx_scaling_exponent_bootstrap(cbx_ctx *ctx, const double *sizes, const double *y, size_t n,
                                          const cbx_growth *growth, double level, size_t resamples, uint64_t seed,
                                          cbx_interval *out, cbx_err *err)
{
    cbx_boot_opts o = CBX_BOOT_OPTS_INIT;
    resampling r = { growth->exponent.value, growth->intercept };
    cbx_status st = cbx__fit_check(sizes, y, n, 4, level, err);

    if (st) return st;
    o.fn = exponent_of;
    o.user = &r;
    o.paired = true;
    o.method = CBX_BOOT_PERCENTILE;
    o.level = level;
    o.resamples = resamples;
    o.seed = seed;
    return cbx_stat_bootstrap(ctx, sizes, n, y, n, &o, out, err);
}
