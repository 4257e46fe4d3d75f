/*
 * All slopes of two, sorted.
 */
#include "calibrax/statistics/slope.h"

#include <math.h>
#include <string.h>

#include "calibrax/statistics/distribution.h"

/* Of Kendall's S: n values in order against their places, which are all different.  sorted: the values. */
static double variance_of(const double *sorted, size_t n)
{
    double v = (double)n * ((double)n - 1) * (2 * (double)n + 5);

    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && sorted[k] == sorted[i];) k++;
        v -= (double)(k - i) * ((double)(k - i) - 1) * (2 * (double)(k - i) + 5);
    }
    return v / 18;
}

static double at_rank(const double *slopes, size_t n, double rank)
{
    if (rank < 0) return -INFINITY;
    return rank >= (double)n ? INFINITY : slopes[(size_t)rank];
}

static cbx_status check(const double *x, size_t n, double inflation, double level, cbx_err *err)
{
    if (n < 2 || n > CBX_SLOPE_MOST)
        return cbx_fail(err, CBX_EINVAL, "a slope of %zu values: 2 to %d are needed", n, CBX_SLOPE_MOST);
    if (!(inflation >= 1) || !isfinite(inflation))
        return cbx_fail(err, CBX_EINVAL, "the inflation of a slope's variance is %g: say 1 or more", inflation);
    if (!(level > 0 && level < 1)) return cbx_fail(err, CBX_EINVAL, "the level is %g: say one between 0 and 1", level);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return cbx_fail(err, CBX_EDOM, "value %zu of the series is not finite", i);
    return CBX_OK;
}

cbx_status cbx_stat_theil_sen(cbx_ctx *ctx, const double *x, size_t n, double inflation, double level,
                              cbx_interval *out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_status st = check(x, n, inflation, level, err);
    size_t pairs = st ? 0 : n * (n - 1) / 2, used = 0;
    double *slopes, half;

    if (st) return st;
    slopes = cbx_mem_calloc(al, pairs + n, sizeof *slopes);
    if (!slopes) return cbx_fail(err, CBX_ENOMEM, "out of memory for the slopes of %zu values", n);
    memcpy(slopes + pairs, x, n * sizeof *x);
    cbx_stat_sort(slopes + pairs, n);
    half = cbx_stat_normal_quantile(0.5 + 0.5 * level) * sqrt(inflation * variance_of(slopes + pairs, n));
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++) slopes[used++] = (x[k] - x[i]) / (double)(k - i);
    cbx_stat_sort(slopes, pairs);
    out->value = cbx_stat_quantile_sorted(slopes, pairs, 0.5);
    out->lower = at_rank(slopes, pairs, rint(((double)pairs - half) / 2) - 1);
    out->upper = at_rank(slopes, pairs, rint(((double)pairs + half) / 2));
    out->level = level;
    cbx_mem_free(al, slopes, (pairs + n) * sizeof *slopes);
    return CBX_OK;
}
