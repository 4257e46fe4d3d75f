/* Effect sizes.  Intervals come from inverting a distribution (noncentral t) or a variance
 * (Newcombe), by bisection on what is monotone. */
#include "calibrax/statistics/effect.h"

#include <math.h>

#include "calibrax/statistics/distribution.h"
#include "calibrax/statistics/sample.h"

#define LARGEST_NONCENTRALITY 37.0 /* cbx_stat_noncentral_t_cdf */

/* The moments of both, and the level checked. */
static cbx_status two_moments(const double *x, size_t n, size_t min_x, const double *y, size_t m, size_t min_y,
                              double level, cbx__moments *a, cbx__moments *b, cbx_err *err)
{
    cbx_status st = cbx_check_level("level", level, err);

    return st ? st : cbx__moments_of_two(x, n, min_x, y, m, min_y, a, b, err);
}

/* difference / sd, and the point interval where there is no spread. */
static bool has_no_spread(double difference, double sd, double level, cbx_interval *out)
{
    double v = difference > 0 ? INFINITY : difference < 0 ? -INFINITY : 0;

    if (sd > 0) return false;
    *out = (cbx_interval){ v, v, v, level };
    return true;
}

/* The noncentrality for which P(T <= t) = p; it falls as the noncentrality grows.  False beyond the
 * reach. */
static bool noncentrality(double t, double df, double p, double *out)
{
    double low = -LARGEST_NONCENTRALITY, high = LARGEST_NONCENTRALITY;

    if (!(cbx_stat_noncentral_t_cdf(t, df, low) > p && cbx_stat_noncentral_t_cdf(t, df, high) < p)) return false;
    for (int i = 0; i < 100 && high - low > 1e-13 * (1 + fabs(low)); i++) {
        double middle = low + (high - low) / 2;
        if (cbx_stat_noncentral_t_cdf(t, df, middle) > p)
            low = middle;
        else
            high = middle;
    }
    *out = low + (high - low) / 2;
    return true;
}

/* d is t times `unit`; normal_error is used where noncentral t does not reach. */
static cbx_interval standardised(double d, double df, double unit, double normal_error, double level)
{
    cbx_interval iv = { d, 0, 0, level };
    double tail = (1 - level) / 2, z = cbx_stat_normal_isf(tail);

    iv.lower = noncentrality(d / unit, df, 1 - tail, &iv.lower) ? iv.lower * unit : d - z * normal_error;
    iv.upper = noncentrality(d / unit, df, tail, &iv.upper) ? iv.upper * unit : d + z * normal_error;
    return iv;
}

cbx_status cbx_stat_cohen_d(const double *x, size_t n, const double *y, size_t m, double level, cbx_interval *out,
                            cbx_err *err)
{
    cbx__moments a, b;
    cbx_status st = two_moments(x, n, 2, y, m, 2, level, &a, &b, err);
    double df = (double)(n + m - 2), sizes = 1 / (double)n + 1 / (double)m;

    if (st) return st;
    double difference = cbx__mean_difference(&a, &b), sd = cbx__pooled_stddev(&a, &b);
    if (has_no_spread(difference, sd, level, out)) return CBX_OK;
    double d = difference / sd;
    *out = standardised(d, df, sqrt(sizes), sqrt(sizes + d * d / (2 * (double)(n + m))), level);
    return CBX_OK;
}

cbx_status cbx_stat_hedges_g(const double *x, size_t n, const double *y, size_t m, double level, cbx_interval *out,
                             cbx_err *err)
{
    cbx_status st = cbx_stat_cohen_d(x, n, y, m, level, out, err);
    double df = (double)(n + m) - 2;
    int sign;
    double factor = exp(lgamma_r(df / 2, &sign) - lgamma_r((df - 1) / 2, &sign) - 0.5 * log(df / 2));

    if (!st) *out = (cbx_interval){ out->value * factor, out->lower * factor, out->upper * factor, level };
    return st;
}

cbx_status cbx_stat_glass_delta(const double *x, size_t n, const double *y, size_t m, double level, cbx_interval *out,
                                cbx_err *err)
{
    cbx__moments a, b;
    cbx_status st = two_moments(x, n, 1, y, m, 2, level, &a, &b, err);

    if (st) return st;
    double difference = cbx__mean_difference(&a, &b);
    if (has_no_spread(difference, b.stddev, level, out)) return CBX_OK;
    double d = difference / b.stddev;
    double error = cbx_stat_normal_isf((1 - level) / 2) *
                   sqrt(1 / (double)n + 1 / (double)m + d * d / (2 * (double)(m - 1)));
    *out = (cbx_interval){ d, d - error, d + error, level };
    return CBX_OK;
}

cbx_status cbx_stat_paired_d(cbx_ctx *ctx, const double *x, const double *y, size_t n, double level, cbx_interval *out,
                             cbx_err *err)
{
    cbx__scratch double *difference = NULL;
    double size = (double)n;
    cbx__moments a, b;
    cbx_status st = two_moments(x, n, 2, y, n, 2, level, &a, &b, err);

    if (!st) st = cbx__doubles(ctx, n, &difference, err);
    if (st) return st;
    for (size_t i = 0; i < n; i++) difference[i] = x[i] - y[i];
    a = cbx__moments_of(difference, n);
    double mean = cbx__mean_of(&a);
    if (!has_no_spread(mean, a.stddev, level, out)) {
        double d = mean / a.stddev;
        *out = standardised(d, size - 1, 1 / sqrt(size), sqrt(1 / size + d * d / (2 * size)), level);
    }
    return CBX_OK;
}

/* ---- superiority ---- */

/* The end on one side of a: `inside` is a, `outside` 0 or 1. */
static double newcombe_limit(double a, double outside, double z, double n, double m)
{
    double inside = a, h = (n + m) / 2 - 1;

    for (int i = 0; i < 100; i++) {
        double middle = inside + (outside - inside) / 2;
        if (fabs(a - middle) <= z * sqrt(middle * (1 - middle) *
                                         (1 + h * (1 - middle) / (2 - middle) + h * middle / (1 + middle)) / (n * m)))
            inside = middle;
        else
            outside = middle;
    }
    return inside;
}

cbx_status cbx_stat_vargha_delaney(cbx_ctx *ctx, const double *x, size_t n, const double *y, size_t m, double level,
                                   cbx_interval *out, cbx_err *err)
{
    cbx__scratch double *sorted = NULL;
    double wins = 0, nm = (double)n * (double)m, z = cbx_stat_normal_isf((1 - level) / 2);
    cbx_status st = cbx_check_level("level", level, err);

    if (!st) st = cbx__sample_check(x, n, 1, err);
    if (!st) st = cbx__sorted_copy(ctx, y, m, 1, &sorted, err);
    if (st) return st;
    for (size_t i = 0; i < n; i++)
        wins += (double)(cbx__count_below(sorted, m, x[i]) + cbx__count_upto(sorted, m, x[i]));
    double a = wins / (2 * nm);
    *out = (cbx_interval){ a, newcombe_limit(a, 0, z, (double)n, (double)m),
                           newcombe_limit(a, 1, z, (double)n, (double)m), level };
    return CBX_OK;
}

cbx_status cbx_stat_cliff_delta(cbx_ctx *ctx, const double *x, size_t n, const double *y, size_t m, double level,
                                cbx_interval *out, cbx_err *err)
{
    cbx_status st = cbx_stat_vargha_delaney(ctx, x, n, y, m, level, out, err);

    if (!st) *out = (cbx_interval){ 2 * out->value - 1, 2 * out->lower - 1, 2 * out->upper - 1, level };
    return st;
}
