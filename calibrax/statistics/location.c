/* Means that resist, means of rates and ratios, and Hodges-Lehmann estimators with their rank
 * intervals. */
#include "calibrax/statistics/location.h"

#include <math.h>

#include "calibrax/statistics/distribution.h"
#include "calibrax/statistics/pairs.h"
#include "calibrax/statistics/rank_internal.h"
#include "calibrax/statistics/sample.h"

enum { SIGNED_EXACT = 200, SHIFT_EXACT = 100 };

cbx_status cbx_stat_mean(const double *x, size_t n, double *mean, double *stddev, cbx_err *err)
{
    cbx_status st = cbx__sample_check(x, n, 1, err);

    if (st) return st;
    cbx__moments m = cbx__moments_of(x, n);
    if (mean) *mean = cbx__mean_of(&m);
    if (stddev) *stddev = m.stddev;
    return CBX_OK;
}

static cbx_status positive_check(const double *x, size_t n, const char *what, cbx_err *err)
{
    cbx_status st = cbx__sample_check(x, n, 1, err);

    if (st) return st;
    for (size_t i = 0; i < n; i++)
        if (!(x[i] > 0))
            return cbx_fail(err, CBX_EDOM, "sample %zu of %zu is %g: a %s mean needs values above 0", i, n, x[i], what);
    return CBX_OK;
}

cbx_status cbx_stat_geometric_mean(const double *x, size_t n, double *out, cbx_err *err)
{
    cbx_status st = positive_check(x, n, "geometric", err);
    double sum = 0;

    if (st) return st;
    for (size_t i = 0; i < n; i++) sum += log(x[i] / x[0]);
    *out = x[0] * exp(sum / (double)n);
    if (!isfinite(*out) || *out == 0) { /* the quotients left the range of doubles */
        sum = 0;
        for (size_t i = 0; i < n; i++) sum += log(x[i]) / (double)n;
        *out = exp(sum);
    }
    return CBX_OK;
}

cbx_status cbx_stat_harmonic_mean(const double *x, size_t n, double *out, cbx_err *err)
{
    cbx_status st = positive_check(x, n, "harmonic", err);
    double min = INFINITY, sum = 0;

    if (st) return st;
    for (size_t i = 0; i < n; i++) min = fmin(min, x[i]);
    for (size_t i = 0; i < n; i++) sum += min / x[i];
    *out = (double)n / sum * min;
    return CBX_OK;
}

/* The values that are cut from both ends are left out, or replaced by those next to them. */
static cbx_status cut_mean(cbx_ctx *ctx, const double *x, size_t n, double cut, bool replace, double *out, cbx_err *err)
{
    cbx__scratch double *work = NULL;

    if (!(cut >= 0 && cut < 0.5))
        return cbx_fail(err, CBX_EINVAL, "a share of %g cannot be cut from both ends: 0 <= cut < 0.5", cut);
    const size_t off = (size_t)(cut * (double)n);
    cbx_status st = cbx__sorted_copy(ctx, x, n, 1, &work, err);
    if (st) return st;
    for (size_t i = 0; replace && i < off; i++) {
        work[i] = work[off];
        work[n - 1 - i] = work[n - 1 - off];
    }
    cbx__moments m = replace ? cbx__moments_of(work, n) : cbx__moments_of(work + off, n - 2 * off);
    *out = cbx__mean_of(&m);
    return CBX_OK;
}

cbx_status cbx_stat_trimmed_mean(cbx_ctx *ctx, const double *x, size_t n, double cut, double *out, cbx_err *err)
{
    return cut_mean(ctx, x, n, cut, false, out, err);
}

cbx_status cbx_stat_winsorized_mean(cbx_ctx *ctx, const double *x, size_t n, double cut, double *out, cbx_err *err)
{
    return cut_mean(ctx, x, n, cut, true, out, err);
}

/* ---- Hodges-Lehmann ---- */

static double normal_limit(double mean, double variance, double level)
{
    double rank = floor(mean - cbx_stat_normal_isf((1 - level) / 2) * sqrt(variance) + 0.5);
    return fmax(1.0, rank);
}

static cbx_interval interval_of_pairs(cbx__pair_kind kind, const double *x, size_t n, const double *y, size_t m,
                                      double rank, double achieved)
{
    double count = cbx__pair_count(kind, n, m), half = floor(count / 2);
    double median = cbx__pair_select(kind, x, n, y, m, half + 1);

    if (fmod(count, 2) == 0) median = 0.5 * median + 0.5 * cbx__pair_select(kind, x, n, y, m, half);
    if (rank < 1) return (cbx_interval){ median, -INFINITY, INFINITY, 0 };
    return (cbx_interval){ median, cbx__pair_select(kind, x, n, y, m, rank),
                           cbx__pair_select(kind, x, n, y, m, count + 1 - rank), achieved };
}

cbx_status cbx_stat_hodges_lehmann(cbx_ctx *ctx, const double *x, size_t n, double level, cbx_interval *out,
                                   cbx_err *err)
{
    cbx__scratch double *work = NULL;
    double achieved = level, size = (double)n;
    cbx_status st = cbx_check_level("level", level, err);

    if (!st) st = cbx__sorted_copy(ctx, x, n, 1, &work, err);
    if (st) return st;
    double rank = normal_limit(size * (size + 1) / 4, size * (size + 1) * (2 * size + 1) / 24, level);
    if (n <= SIGNED_EXACT) st = cbx__signed_rank_limit(ctx, n, level, &rank, &achieved, err);
    if (!st) *out = interval_of_pairs(CBX__PAIR_MEAN, work, n, NULL, 0, rank, achieved);
    return st;
}

cbx_status cbx_stat_hodges_lehmann_shift(cbx_ctx *ctx, const double *x, size_t n, const double *y, size_t m,
                                         double level, cbx_interval *out, cbx_err *err)
{
    cbx__scratch double *a = NULL, *b = NULL;
    double achieved = level, nm = (double)n * (double)m;
    cbx_status st = cbx_check_level("level", level, err);

    if (!st) st = cbx__sorted_copy(ctx, x, n, 1, &a, err);
    if (!st) st = cbx__sorted_copy(ctx, y, m, 1, &b, err);
    double rank = normal_limit(nm / 2, nm * (double)(n + m + 1) / 12, level);
    if (!st && n + m <= SHIFT_EXACT) st = cbx__shift_limit(ctx, n, m, level, &rank, &achieved, err);
    if (!st) *out = interval_of_pairs(CBX__PAIR_DIFFERENCE, a, n, b, m, rank, achieved);
    return st;
}
