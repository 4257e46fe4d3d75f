/* Intervals with a formula. */
#include "calibrax/statistics/interval.h"

#include <math.h>

#include "calibrax/statistics/distribution.h"
#include "calibrax/statistics/sample.h"

cbx_status cbx_stat_mean_interval(const double *x, size_t n, double level, cbx_interval *out, cbx_err *err)
{
    cbx_status st = cbx_check_level("level", level, err);
    cbx_interval iv = { 0, -INFINITY, INFINITY, 0 };

    if (!st) st = cbx__sample_check(x, n, 1, err);
    if (st) return st;
    cbx__moments m = cbx__moments_of(x, n);
    iv.value = cbx__mean_of(&m);
    if (n > 1) {
        double half = cbx_stat_t_isf((1 - level) / 2, (double)(n - 1)) * m.stddev / sqrt((double)n);
        iv.lower = iv.value - half;
        iv.upper = iv.value + half;
        iv.level = level;
    }
    *out = iv;
    return CBX_OK;
}

cbx_status cbx_stat_stddev_interval(const double *x, size_t n, double level, cbx_interval *out, cbx_err *err)
{
    cbx_status st = cbx_check_level("level", level, err);
    cbx_interval iv = { 0, -INFINITY, INFINITY, 0 };

    if (!st) st = cbx__sample_check(x, n, 1, err);
    if (st) return st;
    iv.value = cbx__moments_of(x, n).stddev;
    if (n > 1) {
        double df = (double)(n - 1), tail = (1 - level) / 2;
        iv.lower = iv.value * sqrt(df / cbx_stat_chi2_isf(tail, df));
        iv.upper = iv.value * sqrt(df / cbx_stat_chi2_quantile(tail, df));
        iv.level = level;
    }
    *out = iv;
    return CBX_OK;
}

cbx_status cbx_stat_quantile_interval(cbx_ctx *ctx, const double *x, size_t n, double p, double level,
                                      cbx_interval *out, cbx_err *err)
{
    cbx__scratch double *work = NULL;
    const double size = (double)n, tail = (1 - level) / 2;
    cbx_status st = cbx_check_level("level", level, err);
    cbx_interval iv = { 0, -INFINITY, INFINITY, 0 };

    if (!st && !(p > 0 && p < 1)) st = cbx_fail(err, CBX_EINVAL, "quantile %g is not between 0 and 1", p);
    if (!st) st = cbx__sorted_copy(ctx, x, n, 1, &work, err);
    if (st) return st;
    /* Ranks from 1; l = 0 and u = n + 1 where no rank qualifies.  l: the first count whose cdf
     * reaches the tail, and one more; then back. */
    double l = cbx_stat_binomial_quantile(tail, size, p) + 1;
    while (l > 0 && cbx_stat_binomial_cdf(l - 1, size, p) > tail) l--;
    double u = fmin(size + 1, cbx_stat_binomial_quantile(1 - tail, size, p) + 1);
    while (u <= size && cbx_stat_binomial_sf(u - 1, size, p) > tail) u++;
    while (u > 1 && cbx_stat_binomial_sf(u - 2, size, p) <= tail) u--;
    double below = l > 0 ? cbx_stat_binomial_cdf(l - 1, size, p) : 0;
    double above = u <= size ? cbx_stat_binomial_sf(u - 1, size, p) : 0;
    iv.value = cbx_stat_quantile_sorted(work, n, p);
    if (l >= 1) iv.lower = work[(size_t)l - 1];
    if (u <= size) iv.upper = work[(size_t)u - 1];
    if (l >= 1 || u <= size) iv.level = 1 - below - above;
    *out = iv;
    return CBX_OK;
}

cbx_status cbx_stat_proportion_interval(size_t k, size_t n, double level, cbx_interval *out, cbx_err *err)
{
    double tail = (1 - level) / 2, hits = (double)k, rest = (double)n - (double)k;
    cbx_status st = cbx_check_level("level", level, err);

    if (st) return st;
    if (k > n) return cbx_fail(err, CBX_EINVAL, "%zu of %zu is not a proportion", k, n);
    out->value = n ? hits / (double)n : 0.5;
    out->lower = k == 0 ? 0 : cbx_stat_beta_quantile(tail, hits, rest + 1);
    out->upper = k == n ? 1 : cbx_stat_beta_isf(tail, hits + 1, rest);
    out->level = level;
    return CBX_OK;
}
