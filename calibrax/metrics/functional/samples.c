/* Distances between two samples of numbers in sorted order. */
#include "calibrax/metrics/functional/samples.h"

/*
 * Quantile functions of samples of n and m are constant between the multiples of 1/n and 1/m: which
 * elements meet in each of these intervals depends on n and m alone, so that the sum over them is
 * an array expression.
 */
typedef struct meetings {
    cbx_array *x, *y, *width; /* places of both, and the length of the interval */
} meetings;

static meetings meet(cbx_ctx *ctx, const cbx_metric_function *metric, size_t n, size_t m)
{
    cbx_array_desc d = { .dtype = CBX_I64, .ndim = 1 };
    int64_t *x = cbx__scratch(ctx, metric, n + m, sizeof *x, "samples of %zu and %zu", n, m);
    int64_t *y = cbx__scratch(ctx, metric, n + m, sizeof *y, "samples of %zu and %zu", n, m);
    double *width = cbx__scratch(ctx, metric, n + m, sizeof *width, "samples of %zu and %zu", n, m), at = 0;
    size_t i = 0, j = 0, k = 0;

    if (!x || !y || !width) return (meetings){ cbx__array_failed(), cbx__array_failed(), cbx__array_failed() };
    while (i < n && j < m) {
        const double ends_x = (double)(i + 1) / (double)n, ends_y = (double)(j + 1) / (double)m;
        const double end_x = (double)(i + 1) * (double)m, end_y = (double)(j + 1) * (double)n;
        const double end = end_x < end_y ? ends_x : ends_y;
        x[k] = (int64_t)i;
        y[k] = (int64_t)j;
        width[k++] = end - at;
        at = end;
        i += end_x <= end_y;
        j += end_y <= end_x;
    }
    d.shape[0] = k;
    return (meetings){ cbx_asarray(ctx, &d, x), cbx_asarray(ctx, &d, y), cbx__vector(ctx, k, width) };
}

static cbx_array *power(cbx_ctx *ctx, const cbx_array *x, double p)
{
    const cbx_array *distance = cbx_abs(ctx, x);

    if (p == 1) return (cbx_array *)distance;
    return p == 2 ? cbx_square(ctx, x) : cbx_pow_scalar(ctx, distance, p);
}

cbx_array *cbx__quantile_gap(cbx_ctx *ctx, const cbx_metric_function *metric, const cbx_array *x, const cbx_array *y,
                             double p)
{
    const size_t n = cbx_array_dim(x, 0), m = cbx_array_dim(y, 0);
    const cbx_array *sorted_x = cbx_sort(ctx, x, 0, false), *sorted_y = cbx_sort(ctx, y, 0, false), *gap, *width;
    meetings k;

    if (n == m) return cbx_mean(ctx, power(ctx, cbx_subtract(ctx, sorted_x, sorted_y), p), CBX_AXIS(0));
    k = meet(ctx, metric, n, m);
    gap = cbx_subtract(ctx, cbx_take(ctx, sorted_x, k.x, 0), cbx_take(ctx, sorted_y, k.y, 0));
    width = cbx_array_ndim(x) > 1 ? cbx_expand_dims(ctx, k.width, 1) : k.width;
    return cbx_sum(ctx, cbx_multiply(ctx, power(ctx, gap, p), width), CBX_AXIS(0));
}

cbx_array *cbx__root_of(cbx_ctx *ctx, const cbx_array *x, double p)
{
    const cbx_array *zero = cbx_equal_scalar(ctx, x, 0);
    const cbx_array *safe = cbx_where(ctx, zero, cbx__number(ctx, 1), x);

    if (p == 1) return (cbx_array *)x;
    return cbx_where(ctx, zero, cbx__number(ctx, 0), cbx_pow_scalar(ctx, safe, 1 / p));
}
