/* Estimators that the tables and the verdicts rest on.
 *
 * Timings are skewed and have wild samples, so location is the median, and its interval comes from
 * order statistics: no distribution is assumed, and the coverage is a sum of binomial terms that is
 * computed here without rounding that shows.
 *
 * David & Nagaraja, Order Statistics, 3rd ed. (2003), section 7.1.  Hyndman & Fan, The American
 * Statistician 50 (1996) 361-365. Rousseeuw & Croux, J. Am. Stat. Assoc. 88 (1993) 1273-1283. */
#include "calibrax/statistics/estimate.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "calibrax/statistics/sample.h"

#define MAD_TO_SIGMA 1.4826 /* 1 / (normal quantile of 3/4) */

typedef unsigned __int128 u128;

/* P(Bin(n, 1/2) <= k) for k = 0, 1, 2 ... below n/2, where the terms C(n,k) 2^-n grow. The term is
 * mantissa * 2^exponent with 95 < log2(mantissa) <= 96, each step loses at most one unit of its
 * last bit, and so 10^6 steps lose 2^-75 of it; the sum is held in the same scale and is below 2^31
 * terms. */
typedef struct walk {
    u128 term, sum;
    int64_t exponent;
    uint64_t n, k;
} walk;

static walk walk_begin(uint64_t n)
{
    walk w = { (u128)1 << 95, (u128)1 << 95, -(int64_t)n - 95, n, 0 };
    return w;
}

static void walk_step(walk *w)
{
    w->term = w->term * (w->n - w->k) / (w->k + 1);
    w->k++;
    while (w->term >> 96) {
        w->term >>= 1;
        w->sum >>= 1;
        w->exponent++;
    }
    w->sum += w->term;
}

static double walk_value(const walk *w) { return w->exponent < -4000 ? 0.0 : ldexp((double)w->sum, (int)w->exponent); }

double cbx_stat_binomial_half_cdf(long k, unsigned long n)
{
    if (k < 0) return 0.0;
    if ((unsigned long)k >= n) return 1.0;
    if (n > UINT32_MAX) return NAN;                       /* the product of a step would not fit */
    bool lower = (unsigned long)k < n - (unsigned long)k; /* P(X <= k) = 1 - P(X <= n-1-k) */
    if (!lower && n - 1 - (unsigned long)k == (unsigned long)k) return 0.5;
    unsigned long upto = lower ? (unsigned long)k : n - 1 - (unsigned long)k;
    walk w = walk_begin(n);
    while (w.k < upto) walk_step(&w);
    return lower ? walk_value(&w) : 1.0 - walk_value(&w);
}

/* Largest r with 2 P(X < r) <= 1 - level, and that sum; 0 if no r has it. */
static size_t interval_rank(size_t n, double level, double *outside)
{
    walk w = walk_begin(n);
    size_t r = 0;

    *outside = 1.0;
    while (w.k < (n + 1) / 2 && 2 * walk_value(&w) <= 1 - level) {
        *outside = 2 * walk_value(&w);
        r = w.k + 1;
        walk_step(&w);
    }
    return r;
}

/* x[root] sinks to its place in the heap x[0..n-1], largest on top. */
static void sift(double *x, size_t root, size_t n)
{
    double v = x[root];

    for (size_t child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && x[child] < x[child + 1]) child++;
        if (!(v < x[child])) break;
        x[root] = x[child];
    }
    x[root] = v;
}

/* Heapsort: the C library's qsort may allocate. */
void cbx_stat_sort(double *x, size_t n)
{
    size_t numbers = 0;

    for (size_t i = 0; i < n; i++) {
        double v = x[i];
        if (isnan(v)) continue;
        x[i] = x[numbers];
        x[numbers++] = v;
    }
    for (size_t i = numbers / 2; i-- > 0;) sift(x, i, numbers);
    for (size_t last = numbers; last-- > 1;) {
        double v = x[0];
        x[0] = x[last];
        x[last] = v;
        sift(x, 0, last);
    }
}

/* NumPy's order of operations, so that its results come out to the last bit: from the nearer
 * neighbour. */
static double between(double a, double b, double t)
{
    double gap = b - a;

    if (t == 0 || a == b) return a;
    if (isinf(gap)) return a * (1 - t) + b * t;
    return t < 0.5 ? a + gap * t : b - gap * (1 - t);
}

double cbx_stat_quantile_sorted(const double *sorted, size_t n, double p)
{
    if (isnan(p)) return p;
    double at = (double)(n - 1) * fmin(fmax(p, 0.0), 1.0);
    double below = floor(at);
    size_t i = (size_t)below;
    return i + 1 < n ? between(sorted[i], sorted[i + 1], at - below) : sorted[n - 1];
}

cbx_status cbx_stat_summary(cbx_ctx *ctx, const double *x, size_t n, cbx_summary *out, cbx_err *err)
{
    cbx__scratch double *work = NULL;
    cbx_summary s = { .n = n };
    cbx_status st = cbx__sorted_copy(ctx, x, n, 1, &work, err);

    if (st) return st;
    s.min = work[0];
    s.max = work[n - 1];
    s.median = cbx_stat_quantile_sorted(work, n, 0.50);
    s.p25 = cbx_stat_quantile_sorted(work, n, 0.25);
    s.p75 = cbx_stat_quantile_sorted(work, n, 0.75);
    s.p95 = cbx_stat_quantile_sorted(work, n, 0.95);
    s.p99 = cbx_stat_quantile_sorted(work, n, 0.99);
    cbx__moments m = cbx__moments_of(x, n);
    s.mean = cbx__mean_of(&m);
    s.stddev = m.stddev;
    for (size_t i = 0; i < n; i++) work[i] = fabs(work[i] - s.median);
    cbx_stat_sort(work, n);
    s.mad = MAD_TO_SIGMA * cbx_stat_quantile_sorted(work, n, 0.5);
    *out = s;
    return CBX_OK;
}

cbx_status cbx_stat_median(cbx_ctx *ctx, const double *x, size_t n, double *out, cbx_err *err)
{
    cbx__scratch double *work = NULL;
    cbx_status st = cbx__sorted_copy(ctx, x, n, 1, &work, err);

    if (!st) *out = cbx_stat_quantile_sorted(work, n, 0.5);
    return st;
}

static cbx_interval interval_of_sorted(const double *sorted, size_t n, double level)
{
    cbx_interval iv = { cbx_stat_quantile_sorted(sorted, n, 0.5), -INFINITY, INFINITY, 0 };
    double outside;
    size_t r = interval_rank(n, level, &outside);

    if (r > 0) {
        iv.lower = sorted[r - 1];
        iv.upper = sorted[n - r];
        iv.level = 1 - outside;
    }
    return iv;
}

/* Hettmansperger & Sheather between rank r, which attains more than the level, and the next, which
 * attains less. */
static cbx_interval interpolated(const double *sorted, size_t n, double level)
{
    cbx_interval iv = interval_of_sorted(sorted, n, level);
    double outside;
    size_t r = interval_rank(n, level, &outside);

    if (r == 0 || 2 * (r + 1) > n + 1) return iv;
    double next = fmax(0, 1 - 2 * cbx_stat_binomial_half_cdf((long)r, n));
    double share = (iv.level - level) / (iv.level - next);
    double w = (double)(n - r) * share / ((double)r + ((double)n - 2 * (double)r) * share);
    iv.lower = between(sorted[r - 1], sorted[r], w);
    iv.upper = between(sorted[n - r], sorted[n - r - 1], w);
    iv.level = level;
    return iv;
}

static cbx_status of_sorted(cbx_ctx *ctx, const double *x, size_t n, double level,
                            cbx_interval (*interval)(const double *sorted, size_t n, double level), cbx_interval *out,
                            cbx_err *err)
{
    cbx__scratch double *work = NULL;
    cbx_status st = cbx_check_level("level", level, err);

    if (!st) st = cbx__sorted_copy(ctx, x, n, 1, &work, err);
    if (!st) *out = interval(work, n, level);
    return st;
}

cbx_status cbx_stat_median_interval(cbx_ctx *ctx, const double *x, size_t n, double level, cbx_interval *out,
                                    cbx_err *err)
{
    return of_sorted(ctx, x, n, level, interval_of_sorted, out, err);
}

cbx_status cbx_stat_median_interpolated(cbx_ctx *ctx, const double *x, size_t n, double level, cbx_interval *out,
                                        cbx_err *err)
{
    return of_sorted(ctx, x, n, level, interpolated, out, err);
}

cbx_status cbx_stat_paired_ratio(cbx_ctx *ctx, const double *a, const double *b, size_t n, double level,
                                 cbx_interval *out, cbx_err *err)
{
    cbx__scratch double *work = NULL;
    cbx_status st = cbx_check_level("level", level, err);

    if (!st && n == 0) st = cbx_fail(err, CBX_EINVAL, "no pairs: a ratio needs at least one");
    if (!st) st = cbx__doubles(ctx, n, &work, err);
    for (size_t i = 0; !st && i < n; i++) {
        work[i] = a[i] / b[i];
        if (!(a[i] > 0 && b[i] > 0 && work[i] > 0 && isfinite(a[i]) && isfinite(b[i]) && isfinite(work[i])))
            st = cbx_fail(err, CBX_EDOM, "pair %zu of %zu, %g over %g, has no finite ratio above 0", i, n, a[i], b[i]);
    }
    if (!st) {
        cbx_stat_sort(work, n);
        *out = interval_of_sorted(work, n, level);
    }
    return st;
}
