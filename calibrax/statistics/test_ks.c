/* Kolmogorov-Smirnov tests with exact p-values.
 *
 * Two samples: the chance that a random path on the n-by-m lattice leaves the band |i/n - j/m| <
 * D.  Carried as the chance of having left it, each step is an average of two chances, so small
 * p-values keep their digits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/statistics/estimate.h"
#include "calibrax/statistics/sample.h"
#include "calibrax/statistics/test.h"

#define PI 3.14159265358979323846
enum { ONE_EXACT = 1000 };
#define TWO_EXACT 4e6

/* P(sup |B| > t) of the Brownian bridge: by its series for large t, by the theta transformation for
 * small. */
static double kolmogorov_sf(double t)
{
    double sum = 0;

    if (t <= 0) return 1;
    if (t < 1) {
        for (int k = 1; k < 20; k += 2) sum += exp(-k * k * PI * PI / (8 * t * t));
        return 1 - sqrt(2 * PI) / t * sum;
    }
    for (int k = 1; k < 20; k++) sum += (k % 2 ? 2 : -2) * exp(-2.0 * k * k * t * t);
    return sum;
}

/* ---- one sample ---- */

/* P(D+ >= d) = d sum_j C(n, j) (d + j/n)^(j-1) (1 - d - j/n)^(n-j) over j <= n (1 - d); Birnbaum &
 * Tingey (1951). */
static double one_sided_sf(double d, size_t n)
{
    double sum = 0, size = (double)n;
    int sign;

    if (d <= 0) return 1;
    if (d >= 1) return 0;
    for (size_t j = 0; j <= n; j++) {
        double at = d + (double)j / size, left = 1 - at, log_ways;
        if (left < 0) break;
        if (left == 0) {
            if (j == n) sum += pow(at, (double)j - 1);
            break;
        }
        log_ways = lgamma_r(size + 1, &sign) - lgamma_r((double)j + 1, &sign) - lgamma_r(size - (double)j + 1, &sign);
        sum += exp(log_ways + ((double)j - 1) * log(at) + (size - (double)j) * log(left));
    }
    return fmin(1.0, d * sum);
}

/* A matrix and the power of ten it is to be multiplied with. */
typedef struct scaled {
    double *at;
    int exponent;
} scaled;

/* a times b into a, whose matrix changes places with the one of work. */
static void multiply(scaled *a, const scaled *b, double **work, size_t m)
{
    double *product = *work;

    memset(product, 0, m * m * sizeof(double));
    for (size_t i = 0; i < m; i++)
        for (size_t k = 0; k < m; k++)
            for (size_t j = 0; j < m; j++) product[i * m + j] += a->at[i * m + k] * b->at[k * m + j];
    *work = a->at;
    *a = (scaled){ product, a->exponent + b->exponent };
    if (product[(m / 2) * m + m / 2] <= 1e140) return;
    for (size_t i = 0; i < m * m; i++) product[i] *= 1e-140;
    a->exponent += 140;
}

/* P(D < d), Marsaglia, Tsang & Wang: n!/n^n times the middle element of a matrix to the n-th. */
static cbx_status two_sided_cdf(cbx_ctx *ctx, double d, size_t n, double *out, cbx_err *err)
{
    size_t k = (size_t)((double)n * d) + 1, m = 2 * k - 1;
    cbx__scratch double *work = NULL;
    cbx_status st = cbx__doubles(ctx, 3 * m * m, &work, err);

    if (st) return st;
    scaled base = { work, 0 }, power = { work + m * m, 0 };
    double *spare = work + 2 * m * m;
    double rest = (double)k - (double)n * d;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++) base.at[i * m + j] = i + 1 < j ? 0 : 1;
    for (size_t i = 0; i < m; i++) {
        base.at[i * m] -= pow(rest, (double)(i + 1));
        base.at[(m - 1) * m + i] -= pow(rest, (double)(m - i));
    }
    base.at[(m - 1) * m] += 2 * rest - 1 > 0 ? pow(2 * rest - 1, (double)m) : 0;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m && j <= i; j++)
            for (size_t g = 1; g <= i - j + 1; g++) base.at[i * m + j] /= (double)g;
    for (size_t i = 0; i < m; i++) power.at[i * m + i] = 1;
    for (size_t left = n; left; left >>= 1) { /* base^n by squaring */
        if (left & 1) multiply(&power, &base, &spare, m);
        multiply(&base, &base, &spare, m);
    }
    double s = power.at[(k - 1) * m + k - 1];
    for (size_t i = 1; i <= n; i++) {
        s = s * (double)i / (double)n;
        if (s < 1e-140) {
            s *= 1e140;
            power.exponent -= 140;
        }
    }
    *out = s * pow(10.0, power.exponent);
    return CBX_OK;
}

cbx_status cbx_stat_test_ks_one(cbx_ctx *ctx, const double *x, size_t n, cbx_cdf_fn cdf, void *user, cbx_test *out,
                                cbx_err *err)
{
    cbx_test r = { .method = "kolmogorov-smirnov, one sample", .exact = n <= ONE_EXACT };
    cbx__scratch double *sorted = NULL;
    double above = 0, below = 0, size = (double)n, root = sqrt(size), inside = 0;
    cbx_status st = cbx__sorted_copy(ctx, x, n, 1, &sorted, err);

    if (st) return st;
    for (size_t i = 0; i < n; i++) {
        double f = cdf(sorted[i], user);
        if (!(f >= 0 && f <= 1))
            return cbx_fail(err, CBX_EDOM, "the distribution function returns %g at %g, which is not a probability", f,
                            sorted[i]);
        above = fmax(above, (double)(i + 1) / (double)n - f);
        below = fmax(below, f - (double)i / (double)n);
    }
    const double d = r.statistic = fmax(above, below);
    if (n > ONE_EXACT) {
        r.p = fmin(1.0, kolmogorov_sf((root + 1 / (6 * root)) * d));
    } else if (size * d * d > 4) {
        /* both sides are passed with a chance of exp(-8 n d^2) against exp(-2 n d^2): below 1e-10
         * of it beyond 4 */
        r.p = fmin(1.0, 2 * one_sided_sf(d, n));
    } else {
        st = two_sided_cdf(ctx, d, n, &inside, err);
        if (st) return st;
        r.p = fmax(0.0, 1 - inside);
    }
    r.p_less = n <= ONE_EXACT ? one_sided_sf(above, n) : exp(-2 * (double)n * above * above - 2 * above / 3);
    r.p_greater = n <= ONE_EXACT ? one_sided_sf(below, n) : exp(-2 * (double)n * below * below - 2 * below / 3);
    *out = r;
    return CBX_OK;
}

/* ---- two samples ---- */

/* Pooled, sorted values; a path is looked at after i + j of them only where a group of ties ends.
 */
typedef struct lattice {
    const double *pool;
    size_t n, m;
    long long above, below; /* n m times the largest F_x - F_y, and F_y - F_x */
    double *left;           /* chances, m + 1 */
} lattice;

/* Chance that i m - j n reaches `above` or -(i m - j n) reaches `below` at a point that is looked
 * at; a bound <= 0 is never asked. */
static double chance_of_leaving(lattice *l, long long above, long long below)
{
    for (size_t i = 0; i <= l->n; i++)
        for (size_t j = 0; j <= l->m; j++) {
            long long gap = (long long)(i * l->m) - (long long)(j * l->n);
            double total = (double)(i + j), *at = &l->left[j];
            bool ends_a_group = i + j && (i + j == l->n + l->m || l->pool[i + j - 1] != l->pool[i + j]);
            if (ends_a_group && ((above > 0 && gap >= above) || (below > 0 && -gap >= below)))
                *at = 1;
            else if (i + j == 0)
                *at = 0;
            else
                *at = (i ? *at * (double)i / total : 0) + (j ? at[-1] * (double)j / total : 0);
        }
    return fmin(1.0, l->left[l->m]);
}

static void measure_gaps(lattice *l, const double *x, const double *y)
{
    for (size_t i = 0, j = 0; i + j < l->n + l->m;) {
        double v = i == l->n ? y[j] : j == l->m ? x[i] : fmin(x[i], y[j]);
        long long gap;
        while (i < l->n && x[i] == v) i++;
        while (j < l->m && y[j] == v) j++;
        gap = (long long)(i * l->m) - (long long)(j * l->n);
        if (gap > l->above) l->above = gap;
        if (-gap > l->below) l->below = -gap;
    }
}

cbx_status cbx_stat_test_ks_two(cbx_ctx *ctx, const double *x, size_t n, const double *y, size_t m, cbx_test_mode mode,
                                cbx_test *out, cbx_err *err)
{
    cbx_test r = { .method = "kolmogorov-smirnov, two samples" };
    cbx__scratch double *work = NULL;
    double cells = (double)n * (double)m;
    lattice l = { .n = n, .m = m };

    if ((unsigned)mode > CBX_TEST_NORMAL) return cbx_fail(err, CBX_EINVAL, "unknown test mode %d", (int)mode);
    if (mode == CBX_TEST_EXACT && cells > TWO_EXACT)
        return cbx_fail(err, CBX_EINVAL, "%zu and %zu values are too many for exact counts: leave the mode to the test",
                        n, m);
    cbx_status st = cbx__joined_copy(ctx, x, n, y, m, &work, err);
    if (st) return st;
    cbx_stat_sort(work, n);
    cbx_stat_sort(work + n, m);
    measure_gaps(&l, work, work + n);
    cbx_stat_sort(work, n + m);
    l.pool = work;
    r.statistic = (double)(l.above > l.below ? l.above : l.below) / cells;
    if (mode == CBX_TEST_NORMAL || cells > TWO_EXACT) {
        /* Limits: the bridge's supremum on both sides, exp(-2 t^2) on one. */
        double nm = (double)l.n * (double)l.m, size = nm / (double)(l.n + l.m);
        double above = (double)l.above / nm, below = (double)l.below / nm;
        r.p = fmin(1.0, kolmogorov_sf(sqrt(size) * r.statistic));
        r.p_less = exp(-2 * size * above * above);
        r.p_greater = exp(-2 * size * below * below);
    } else {
        st = cbx__doubles(ctx, m + 1, &l.left, err);
        if (!st) {
            long long max = l.above > l.below ? l.above : l.below;

            r.exact = true;
            r.p = max > 0 ? chance_of_leaving(&l, max, max) : 1;
            r.p_less = l.above > 0 ? chance_of_leaving(&l, l.above, 0) : 1;
            r.p_greater = l.below > 0 ? chance_of_leaving(&l, 0, l.below) : 1;
        }
        cbx__doubles_free(&l.left);
    }
    if (!st) *out = r;
    return st;
}
