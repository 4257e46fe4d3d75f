/* Spread, stability, outliers.  Every rule has a value for constant samples and for a mean of 0. */
#include "calibrax/statistics/spread.h"

#include <math.h>
#include <string.h>

#include "calibrax/statistics/distribution.h"
#include "calibrax/statistics/pairs.h"
#include "calibrax/statistics/sample.h"

#define MAD_TO_SCORE     0.6745 /* normal quantile of 3/4, to the digits of the source */
#define NORMAL_3_4       0.67448975019608174320
#define MEAN_AD_TO_SIGMA 1.25331413731550025121 /* sqrt(pi / 2) */

static cbx_status threshold_check(double threshold, cbx_err *err)
{
    if (threshold > 0) return CBX_OK;
    return cbx_fail(err, CBX_EINVAL, "threshold %g is not above 0", threshold);
}

cbx_status cbx_stat_variation(const double *x, size_t n, double threshold, cbx_variation *out, cbx_err *err)
{
    cbx_status st = threshold_check(threshold, err);
    cbx_variation v = { 0 };

    if (!st) st = cbx__sample_check(x, n, 1, err);
    if (st) return st;
    cbx__moments m = cbx__moments_of(x, n);
    v.mean = cbx__mean_of(&m);
    v.stddev = m.stddev;
    v.cv = v.stddev == 0 ? 0 : v.mean == 0 ? INFINITY : v.stddev / fabs(v.mean);
    v.stable = n >= 2 && v.cv < threshold;
    *out = v;
    return CBX_OK;
}

/* Distances from the median, in the order of x. */
static cbx_status distances(cbx_ctx *ctx, const double *x, size_t n, double **out, double *median, cbx_err *err)
{
    cbx_status st = cbx__sample_check(x, n, 1, err);

    if (!st) st = cbx__doubles(ctx, n, out, err);
    if (st) return st;
    memcpy(*out, x, n * sizeof(double));
    *median = cbx__quantile_select(*out, n, 0.5);
    for (size_t i = 0; i < n; i++) (*out)[i] = fabs(x[i] - *median);
    return CBX_OK;
}

cbx_status cbx_stat_mad(cbx_ctx *ctx, const double *x, size_t n, double *out, cbx_err *err)
{
    cbx__scratch double *work = NULL;
    double median;
    cbx_status st = distances(ctx, x, n, &work, &median, err);

    if (!st) *out = cbx__quantile_select(work, n, 0.5) / NORMAL_3_4;
    return st;
}

cbx_status cbx_stat_outliers(cbx_ctx *ctx, const double *x, size_t n, double threshold, bool *mask, size_t *count,
                             cbx_err *err)
{
    cbx__scratch double *work = NULL;
    double median, mean = 0;
    size_t found = 0;
    cbx_status st = threshold_check(threshold, err);

    if (!st) st = distances(ctx, x, n, &work, &median, err);
    if (st) return st;
    for (size_t i = 0; i < n; i++) mean += work[i] / (double)n;
    double mad = cbx__quantile_select(work, n, 0.5);
    double scale = mad > 0 ? mad / MAD_TO_SCORE : mean * MEAN_AD_TO_SIGMA;
    for (size_t i = 0; i < n; i++) {
        mask[i] = n >= 3 && scale > 0 && fabs(x[i] - median) / scale > threshold;
        found += mask[i];
    }
    if (count) *count = found;
    return CBX_OK;
}

cbx_status cbx_stat_qn(cbx_ctx *ctx, const double *x, size_t n, double *out, cbx_err *err)
{
    cbx__scratch double *work = NULL;
    double h = floor((double)n / 2) + 1;
    cbx_status st = cbx__sorted_copy(ctx, x, n, 1, &work, err);

    if (st) return st;
    /* 1 / (sqrt 2 times the normal quantile of 5/8) */
    *out = n < 2 ? 0
                 : cbx__pair_select(CBX__PAIR_GAP, work, n, NULL, 0, h * (h - 1) / 2) /
                       (sqrt(2.0) * cbx_stat_normal_quantile(0.625));
    return CBX_OK;
}
