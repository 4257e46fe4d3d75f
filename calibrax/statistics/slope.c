/* Theil-Sen: the quotients of all pairs, sorted. */
#include "calibrax/statistics/slope.h"

#include <math.h>
#include <string.h>

#include "calibrax/statistics/distribution.h"

/* Of Kendall's S: n values in order against their places, which are all different.  sorted: the
 * values. */
static double variance_of(const double *sorted, size_t n)
{
    double v = (double)n * ((double)n - 1) * (2 * (double)n + 5);

    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && sorted[k] == sorted[i];) k++;
        v -= (double)(k - i) * ((double)(k - i) - 1) * (2 * (double)(k - i) + 5);
    }
    return v / 18;
}

static double at_rank(const double *quotients, size_t n, double rank)
{
    if (rank < 0) return -INFINITY;
    return rank >= (double)n ? INFINITY : quotients[(size_t)rank];
}

static cbx_status check(const double *x, size_t n, double inflation, double level, cbx_err *err)
{
    if (n < 2 || n > CBX_SLOPE_MAX)
        return cbx_fail(err, CBX_EINVAL, "a trend of %zu values: 2 to %d are needed", n, CBX_SLOPE_MAX);
    if (!(inflation >= 1) || !isfinite(inflation))
        return cbx_fail(err, CBX_EINVAL, "'inflation' must be finite and at least 1, got %g", inflation);
    if (!(level > 0 && level < 1))
        return cbx_fail(err, CBX_EINVAL, "confidence level %g is not between 0 and 1", level);
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

    if (st) return st;
    double *quotients = cbx_mem_calloc(al, pairs + n, sizeof *quotients);
    if (!quotients) return cbx_fail(err, CBX_ENOMEM, "out of memory for the pairs of %zu values", n);
    memcpy(quotients + pairs, x, n * sizeof *x);
    cbx_stat_sort(quotients + pairs, n);
    double half = cbx_stat_normal_quantile(0.5 + 0.5 * level) * sqrt(inflation * variance_of(quotients + pairs, n));
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++) quotients[used++] = (x[k] - x[i]) / (double)(k - i);
    cbx_stat_sort(quotients, pairs);
    out->value = cbx_stat_quantile_sorted(quotients, pairs, 0.5);
    out->lower = at_rank(quotients, pairs, rint(((double)pairs - half) / 2) - 1);
    out->upper = at_rank(quotients, pairs, rint(((double)pairs + half) / 2));
    out->level = level;
    cbx_mem_free(al, quotients, (pairs + n) * sizeof *quotients);
    return CBX_OK;
}
