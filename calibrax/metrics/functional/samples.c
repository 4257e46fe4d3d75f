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

static meetings meet(cbx_ctx *ctx, size_t n, size_t m)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    const size_t capacity = n + m, size = capacity * sizeof(double);
    cbx_array_desc d = { .dtype = CBX_I64, .ndim = 1 };
    int64_t *x = cbx_mem_alloc(al, size), *y = cbx_mem_alloc(al, size);
    double *width = cbx_mem_alloc(al, size), at = 0;
    meetings out = { cbx__array_failed(), cbx__array_failed(), cbx__array_failed() };
    size_t i = 0, j = 0, k = 0;

    while (x && y && width && i < n && j < m) {
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
    if (k) {
        out.x = cbx_asarray(ctx, &d, x);
        out.y = cbx_asarray(ctx, &d, y);
        d.dtype = CBX_F64;
        out.width = cbx_asarray(ctx, &d, width);
    } else {
        cbx__refuse(ctx, CBX_ENOMEM, "no memory for samples of %zu and %zu", n, m);
    }
    cbx_mem_free(al, x, size);
    cbx_mem_free(al, y, size);
    cbx_mem_free(al, width, size);
    return out;
}

static cbx_array *power(cbx_ctx *ctx, const cbx_array *x, double p)
{
    const cbx_array *distance = cbx_abs(ctx, x);

    if (p == 1) return (cbx_array *)distance;
    return p == 2 ? cbx_square(ctx, x) : cbx_pow_scalar(ctx, distance, p);
}

cbx_array *cbx__quantile_gap(cbx_ctx *ctx, const cbx_array *x, const cbx_array *y, double p)
{
    const size_t n = cbx_array_dim(x, 0), m = cbx_array_dim(y, 0);
    const cbx_array *sorted_x = cbx_sort(ctx, x, 0, false), *sorted_y = cbx_sort(ctx, y, 0, false), *gap, *width;
    meetings k;

    if (n == m) return cbx_mean(ctx, power(ctx, cbx_subtract(ctx, sorted_x, sorted_y), p), CBX_AXIS(0));
    k = meet(ctx, n, m);
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
