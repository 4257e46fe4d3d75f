/* Dependence in a series: autocorrelation and what follows from it, tests of the order. */
#include "calibrax/statistics/series.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "calibrax/statistics/distribution.h"
#include "calibrax/statistics/interval.h"
#include "calibrax/statistics/sample.h"
#include "calibrax/statistics/spread.h"

enum { RUNS_EXACT = 200 };

/* Without spread there is no dependence. */
static double correlation_at(const double *x, size_t n, const cbx__moments *m, size_t lag)
{
    double f = m->factor, origin = f * m->origin, offset = f * m->offset, all = m->scaled * (double)(n - 1), sum = 0;

    if (lag == 0) return 1;
    if (!(all > 0)) return 0;
    for (size_t i = 0; i + lag < n; i++) sum += ((f * x[i] - origin) - offset) * ((f * x[i + lag] - origin) - offset);
    return sum / all;
}

cbx_status cbx_stat_autocorrelation(const double *x, size_t n, size_t lags, double *r, cbx_err *err)
{
    cbx_status st = cbx__sample_check(x, n, 1, err);

    if (!st && lags >= n) st = cbx_fail(err, CBX_EINVAL, "a lag of %zu needs more than %zu values", lags, n);
    if (st) return st;
    cbx__moments m = cbx__moments_of(x, n);
    for (size_t k = 0; k <= lags; k++) r[k] = correlation_at(x, n, &m, k);
    return CBX_OK;
}

cbx_status cbx_stat_effective_size(const double *x, size_t n, double *out, cbx_err *err)
{
    cbx_status st = cbx__sample_check(x, n, 1, err);
    double sum = 0, min = INFINITY; /* sum of pairs r_0 + r_1, r_2 + r_3, ... while positive, never rising */

    if (st) return st;
    cbx__moments m = cbx__moments_of(x, n);
    for (size_t k = 0; k + 1 < n && m.scaled > 0; k += 2) {
        double pair = correlation_at(x, n, &m, k) + correlation_at(x, n, &m, k + 1);
        if (pair <= 0) break;
        min = fmin(min, pair);
        sum += min;
    }
    *out = sum > 0 ? fmin((double)n, fmax(1.0, (double)n / (2 * sum - 1))) : (double)n;
    return CBX_OK;
}

cbx_status cbx_stat_batch_means(cbx_ctx *ctx, const double *x, size_t n, size_t batches, double level,
                                cbx_interval *out, cbx_err *err)
{
    cbx__scratch double *means = NULL;
    cbx_status st = cbx__sample_check(x, n, 2, err);

    if (st) return st;
    if (batches == 0) batches = (size_t)fmax(2.0, floor(sqrt((double)n)));
    if (batches < 2 || batches > n)
        return cbx_fail(err, CBX_EINVAL, "%zu values are too few for %zu batches", n, batches);
    st = cbx__doubles(ctx, batches, &means, err);
    if (st) return st;
    size_t size = n / batches;
    size_t start = n - size * batches;
    for (size_t b = 0; b < batches; b++) {
        cbx__moments m = cbx__moments_of(x + start + b * size, size);
        means[b] = cbx__mean_of(&m);
    }
    st = cbx_stat_mean_interval(means, batches, level, out, err);
    return st;
}

static double neumann_ratio(const double *x, size_t n)
{
    cbx__moments m = cbx__moments_of(x, n);
    double sum = 0;

    for (size_t i = 1; i < n; i++) {
        double step = m.factor * x[i] - m.factor * x[i - 1];
        sum += step * step;
    }
    return m.scaled > 0 ? sum / (m.scaled * (double)(n - 1)) : 2;
}

cbx_status cbx_stat_von_neumann(const double *x, size_t n, double *out, cbx_err *err)
{
    cbx_status st = cbx__sample_check(x, n, 2, err);

    if (!st) *out = neumann_ratio(x, n);
    return st;
}

static void normal_p(cbx_test *r, double z)
{
    r->p_less = cbx_stat_normal_cdf(z);
    r->p_greater = cbx_stat_normal_sf(z);
    r->p = fmin(1.0, 2 * cbx_stat_normal_sf(fabs(z)));
}

cbx_status cbx_stat_test_order(cbx_ctx *ctx, const double *x, size_t n, cbx_test *out, cbx_err *err)
{
    cbx_test r = { .method = "bartels rank", .statistic = 2, .p = 1, .p_less = 1, .p_greater = 1 };
    cbx__scratch double *sorted = NULL, *ranks = NULL;
    double size = (double)n;
    cbx_status st = cbx__sorted_copy(ctx, x, n, 4, &sorted, err);

    if (!st) st = cbx__doubles(ctx, n, &ranks, err);
    if (!st && sorted[0] < sorted[n - 1]) {
        double variance = 4 * (size - 2) * (5 * size * size - 2 * size - 9) /
                          (5 * size * (size + 1) * (size - 1) * (size - 1));
        for (size_t i = 0; i < n; i++) ranks[i] = (double)cbx__midrank2(sorted, n, x[i]) / 2;
        r.statistic = neumann_ratio(ranks, n);
        normal_p(&r, (r.statistic - 2) / sqrt(variance));
    }
    if (!st) *out = r;
    return st;
}

/* ---- runs ---- */

static double log_ways(double n, double k)
{
    int sign;
    return k < 0 || k > n ? -INFINITY : lgamma_r(n + 1, &sign) - lgamma_r(k + 1, &sign) - lgamma_r(n - k + 1, &sign);
}

static void exact_runs(cbx_test *t, double a, double b, double runs)
{
    double all = log_ways(a + b, a);

    t->exact = true;
    t->p_less = t->p_greater = 0;
    for (double r = 2; r <= a + b; r++) {
        /* Chance of r runs of a and b symbols: 2 C(a-1, k-1) C(b-1, k-1) / C(a+b, a) for r = 2k,
         * and its like for odd r. */
        double k = floor(r / 2), p;
        if (fmod(r, 2) == 0)
            p = 2 * exp(log_ways(a - 1, k - 1) + log_ways(b - 1, k - 1) - all);
        else
            p = exp(log_ways(a - 1, k) + log_ways(b - 1, k - 1) - all) +
                exp(log_ways(a - 1, k - 1) + log_ways(b - 1, k) - all);
        if (r <= runs) t->p_less += p;
        if (r >= runs) t->p_greater += p;
    }
    t->p_less = fmin(1.0, t->p_less);
    t->p_greater = fmin(1.0, t->p_greater);
    t->p = fmin(1.0, 2 * fmin(t->p_less, t->p_greater));
}

cbx_status cbx_stat_test_runs(cbx_ctx *ctx, const double *x, size_t n, cbx_test_mode mode, cbx_test *out, cbx_err *err)
{
    cbx_test r = { .method = "runs about the median", .p = 1, .p_less = 1, .p_greater = 1 };
    double median = 0, above = 0, runs = 1;
    cbx_status st = cbx_stat_median(ctx, x, n, &median, err);

    if (st) return st;
    if ((unsigned)mode > CBX_TEST_NORMAL) return cbx_fail(err, CBX_EINVAL, "unknown test mode %d", (int)mode);
    if (mode == CBX_TEST_EXACT && n > RUNS_EXACT)
        return cbx_fail(err, CBX_EINVAL, "%zu values are too many for exact counts: leave the mode to the test", n);
    for (size_t i = 0; i < n; i++) {
        above += x[i] >= median;
        runs += i > 0 && (x[i] >= median) != (x[i - 1] >= median);
    }
    double below = (double)n - above;
    if (above > 0 && below > 0) {
        double twice = 2 * above * below, size = (double)n;
        double mean = 1 + twice / size;
        double variance = twice * (twice - size) / (size * size * (size - 1));
        r.statistic = variance > 0 ? (runs - mean) / sqrt(variance) : 0;
        if (mode == CBX_TEST_NORMAL || n > RUNS_EXACT)
            normal_p(&r, r.statistic);
        else
            exact_runs(&r, above, below, runs);
    }
    *out = r;
    return CBX_OK;
}

/* ---- trend by Theil-Sen: the quotients of all pairs, sorted ---- */

static double at_rank(const double *quotients, size_t n, double rank)
{
    if (rank < 0) return -INFINITY;
    return rank >= (double)n ? INFINITY : quotients[(size_t)rank];
}

cbx_status cbx_stat_theil_sen(cbx_ctx *ctx, const double *x, size_t n, double inflation, double level,
                              cbx_interval *out, cbx_err *err)
{
    cbx__scratch double *quotients = NULL;
    size_t pairs = n * (n - 1) / 2, used = 0;

    if (n < 2 || n > CBX_SLOPE_MAX)
        return cbx_fail(err, CBX_EINVAL, "a trend of %zu values: 2 to %d are needed", n, CBX_SLOPE_MAX);
    if (!(inflation >= 1) || !isfinite(inflation))
        return cbx_fail(err, CBX_EINVAL, "'inflation' must be finite and at least 1, got %g", inflation);
    cbx_status st = cbx_check_level("level", level, err);
    if (!st) st = cbx__sample_check(x, n, 2, err);
    if (!st) st = cbx__doubles(ctx, pairs + n, &quotients, err);
    if (st) return st;
    /* The variance of Kendall's S: n values in order against their places, which are all
     * different. */
    double variance = (double)n * ((double)n - 1) * (2 * (double)n + 5), *sorted = quotients + pairs;
    memcpy(sorted, x, n * sizeof *x);
    cbx_stat_sort(sorted, n);
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && sorted[k] == sorted[i];) k++;
        variance -= (double)(k - i) * ((double)(k - i) - 1) * (2 * (double)(k - i) + 5);
    }
    double half = cbx_stat_normal_quantile(0.5 + 0.5 * level) * sqrt(inflation * (variance / 18));
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++) quotients[used++] = (x[k] - x[i]) / (double)(k - i);
    cbx_stat_sort(quotients, pairs);
    out->value = cbx_stat_quantile_sorted(quotients, pairs, 0.5);
    out->lower = at_rank(quotients, pairs, rint(((double)pairs - half) / 2) - 1);
    out->upper = at_rank(quotients, pairs, rint(((double)pairs + half) / 2));
    out->level = level;
    return CBX_OK;
}

/* ---- modes by gaps.  Launches of one program fall into a few tight groups (a penalty that is on
 * or off for the whole process); a density estimate smears a group of two among thirty, a gap does
 * not.  The scale comes from Qn, which half of the values in other groups leave small ---- */

#define GAP        3.0
#define GAP_OF_FEW 6.0
enum { FEW = 3 };

cbx_status cbx_stat_modes(cbx_ctx *ctx, const double *x, size_t n, double resolution, cbx_mode *modes, size_t capacity,
                          size_t *count, cbx_err *err)
{
    cbx__scratch double *sorted = NULL, *place = NULL;
    double scale = 0;
    size_t found = 0, start = 0;
    if (!(resolution >= 0 && isfinite(resolution)))
        return cbx_fail(err, CBX_EINVAL, "'resolution' must be at least 0, got %g", resolution);
    cbx_status st = cbx__sorted_copy(ctx, x, n, 1, &sorted, err);
    if (!st) st = cbx__doubles(ctx, n, &place, err);
    for (size_t i = 0; !st && i < n; i++) place[i] = sorted[0] > 0 ? log(sorted[i]) : sorted[i];
    if (!st) st = cbx_stat_qn(ctx, place, n, &scale, err);
    if (st) return st;
    scale = fmax(scale, resolution);
    for (size_t i = 1; i <= n; i++) {
        bool few = i - start < FEW || n - i < FEW; /* a few values need a wider gap */
        if (i < n && !(place[i] - place[i - 1] > (few ? GAP_OF_FEW : GAP) * scale)) continue;
        if (found < capacity)
            modes[found] = (cbx_mode){ cbx_stat_quantile_sorted(sorted + start, i - start, 0.5), sorted[start],
                                       sorted[i - 1], i - start, (double)(i - start) / (double)n };
        found++;
        start = i;
    }
    *count = found;
    return CBX_OK;
}
