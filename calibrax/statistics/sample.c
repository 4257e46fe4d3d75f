/* What the statistics share: checks, scratch, moments about the first value, ranks, selection.
 *
 * Hoare, "Algorithm 65: find", Comm. ACM 4 (1961) 321; the pivot is the middle of nine, so that
 * sorted and constant data are no trap. */
#include "calibrax/statistics/sample.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "calibrax/statistics/estimate.h"

#define MAX_SHIFT   1000           /* 2^MAX_SHIFT is a double */
#define MAX_SQUARES (DBL_MAX / 16) /* leaves space for sums of squares of differences */

/* Scratch, with what frees it. */
typedef struct scratch {
    cbx_ctx *ctx;
    size_t size;
    double x[];
} scratch;

cbx_status cbx__sample_check(const double *x, size_t n, size_t min, cbx_err *err)
{
    if (n == 0) return cbx_fail(err, CBX_EINVAL, "a sample without values has no estimate");
    if (n < min)
        return cbx_fail(err, CBX_EINVAL, "a sample of %zu is too small: at least %zu values are needed", n, min);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return cbx_fail(err, CBX_EDOM, "sample %zu of %zu is not finite", i, n);
    return CBX_OK;
}

cbx_status cbx__doubles(cbx_ctx *ctx, size_t n, double **out, cbx_err *err)
{
    size_t size = n > SIZE_MAX / sizeof(double) - 4 ? SIZE_MAX : sizeof(scratch) + n * sizeof(double);
    scratch *s = size == SIZE_MAX ? NULL : cbx_mem_zalloc(cbx_ctx_allocator(ctx), size);

    if (!s) return cbx_fail(err, CBX_ENOMEM, "no memory for %zu samples", n);
    *s = (scratch){ ctx, size };
    *out = s->x;
    return CBX_OK;
}

void cbx__doubles_free(double **work)
{
    scratch *s = *work ? (scratch *)(void *)((char *)*work - offsetof(scratch, x)) : NULL;

    if (s) cbx_mem_free(cbx_ctx_allocator(s->ctx), s, s->size);
    *work = NULL;
}

cbx_status cbx__sorted_copy(cbx_ctx *ctx, const double *x, size_t n, size_t min, double **out, cbx_err *err)
{
    cbx_status st = cbx__sample_check(x, n, min, err);

    if (!st) st = cbx__doubles(ctx, n, out, err);
    if (st) return st;
    memcpy(*out, x, n * sizeof(double));
    cbx_stat_sort(*out, n);
    return CBX_OK;
}

cbx_status cbx__joined_copy(cbx_ctx *ctx, const double *x, size_t n, const double *y, size_t m, double **out,
                            cbx_err *err)
{
    cbx_status st = cbx__sample_check(x, n, 1, err);

    if (!st) st = cbx__sample_check(y, m, 1, err);
    if (!st) st = cbx__doubles(ctx, n > SIZE_MAX - m ? SIZE_MAX : n + m, out, err);
    if (st) return st;
    memcpy(*out, x, n * sizeof(double));
    memcpy(*out + n, y, m * sizeof(double));
    return CBX_OK;
}

/* Squares left the range of double, or all are 0: scale the values so that the largest is near
 * 1/4. */
static cbx__moments scaled_moments(const double *x, size_t n, double variance)
{
    double max = 0, sum = 0, squares = 0;

    for (size_t i = 0; i < n; i++) max = fmax(max, fabs(x[i]));
    int shift = max > 0 ? -2 - ilogb(max) : 0;
    if (shift > MAX_SHIFT) shift = MAX_SHIFT;
    double origin = scalbn(x[0], shift);
    for (size_t i = 0; i < n; i++) sum += scalbn(x[i], shift) - origin;
    sum /= (double)n;
    for (size_t i = 0; i < n; i++) {
        double d = (scalbn(x[i], shift) - origin) - sum;
        squares += d * d;
    }
    squares = n > 1 ? squares / (double)(n - 1) : 0;
    double offset = scalbn(sum, -shift);
    return (cbx__moments){
        .n = n,
        .origin = isfinite(offset) ? x[0] : scalbn(origin + sum, -shift),
        .offset = isfinite(offset) ? offset : 0,
        .variance = variance,
        .stddev = scalbn(sqrt(squares), -shift),
        .factor = scalbn(1, shift),
        .scaled = squares,
    };
}

cbx__moments cbx__moments_of(const double *x, size_t n)
{
    cbx__moments m = { .n = n, .origin = x[0], .factor = 1 };
    double sum = 0, squares = 0, rest = 0;

    for (size_t i = 0; i < n; i++) sum += x[i] - m.origin;
    m.offset = sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        double d = (x[i] - m.origin) - m.offset;
        squares += d * d;
        rest += d; /* rounding of the mean; Chan, Golub & LeVeque, The American Statistician 37 (1983) 242, eq. 1.7 */
    }
    if (n > 1) m.variance = fmax(0.0, squares - rest * rest / (double)n) / (double)(n - 1);
    m.stddev = sqrt(m.variance);
    m.scaled = m.variance;
    return isnormal(squares) && squares < MAX_SQUARES ? m : scaled_moments(x, n, m.variance);
}

cbx_status cbx__moments_of_two(const double *x, size_t n, size_t min_x, const double *y, size_t m, size_t min_y,
                               cbx__moments *a, cbx__moments *b, cbx_err *err)
{
    cbx_status st = cbx__sample_check(x, n, min_x, err);

    if (!st) st = cbx__sample_check(y, m, min_y, err);
    if (st) return st;
    *a = cbx__moments_of(x, n);
    *b = cbx__moments_of(y, m);
    return CBX_OK;
}

double cbx__mean_of(const cbx__moments *a) { return a->origin + a->offset; }

double cbx__mean_difference(const cbx__moments *a, const cbx__moments *b)
{
    return (a->origin - b->origin) + (a->offset - b->offset);
}

double cbx__pooled_stddev(const cbx__moments *a, const cbx__moments *b)
{
    double df = (double)(a->n + b->n - 2);
    return hypot(a->stddev * sqrt((double)(a->n - 1) / df), b->stddev * sqrt((double)(b->n - 1) / df));
}

/* Values below v, or, with `equal`, at most v. */
static size_t count(const double *sorted, size_t n, double v, bool equal)
{
    size_t low = 0;

    while (low < n) {
        size_t middle = low + (n - low) / 2;
        if (sorted[middle] < v || (equal && sorted[middle] == v))
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

size_t cbx__count_below(const double *sorted, size_t n, double v) { return count(sorted, n, v, false); }
size_t cbx__count_upto(const double *sorted, size_t n, double v) { return count(sorted, n, v, true); }

size_t cbx__midrank2(const double *sorted, size_t n, double v)
{
    return cbx__count_below(sorted, n, v) + cbx__count_upto(sorted, n, v) + 1;
}

double cbx__tie_sum(const double *sorted, size_t n)
{
    double sum = 0;

    for (size_t i = 0, next; i < n; i = next) {
        double t;
        for (next = i + 1; next < n && sorted[next] == sorted[i]; next++) continue;
        t = (double)(next - i);
        sum += t * t * t - t;
    }
    return sum;
}

static double middle_of(double a, double b, double c) { return fmax(fmin(a, b), fmin(fmax(a, b), c)); }

double cbx__select(double *x, size_t n, size_t k)
{
    size_t low = 0, high = n - 1;

    while (low < high) {
        size_t step = (high - low) / 8;
        const double *p = x + low;
        double pivot = middle_of(middle_of(p[0], p[step], p[2 * step]),
                                 middle_of(p[3 * step], p[4 * step], p[5 * step]),
                                 middle_of(p[6 * step], p[7 * step], p[8 * step]));
        size_t i = low, j = high;
        for (;;) {
            while (x[i] < pivot) i++;
            while (pivot < x[j]) j--;
            if (i >= j) break;
            double v = x[i];
            x[i++] = x[j];
            x[j--] = v;
        }
        /* [low, i) <= pivot <= (j, high]; what lies between equals it */
        if (i == j) {
            if (k == i) return x[k];
            i++;
            j--;
        }
        if (k < i && (j == SIZE_MAX || k > j)) return x[k];
        if (k < i)
            high = j;
        else
            low = i;
    }
    return x[k];
}

double cbx__quantile_select(double *x, size_t n, double p)
{
    double at = (double)(n - 1) * fmin(fmax(p, 0.0), 1.0), pair[2];
    size_t i = (size_t)floor(at);

    pair[0] = cbx__select(x, n, i);
    if (i + 1 >= n) return pair[0];
    pair[1] = x[i + 1];
    for (size_t k = i + 2; k < n; k++) pair[1] = fmin(pair[1], x[k]);
    return cbx_stat_quantile_sorted(pair, 2, at - (double)i);
}
