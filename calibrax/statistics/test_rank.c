/* Rank tests: Mann-Whitney, signed-rank, Brunner-Munzel.
 *
 * Exact counts are sums of positive terms over twice the midranks, which are whole: ways[k][s], the
 * number of k-subsets of the pool with doubled rank sum s (Streitberg & Roehmel, Statistical
 * Software Newsletter 12 (1986) 10-17).  Doubles hold them to 1e-14. */
#include <math.h>

#include "calibrax/statistics/distribution.h"
#include "calibrax/statistics/estimate.h"
#include "calibrax/statistics/rank_internal.h"
#include "calibrax/statistics/sample.h"

enum { WHITNEY_AUTO = 50, WHITNEY_EXACT = 100, SIGNED_AUTO = 50, SIGNED_EXACT = 200 };

/* ways[s] of total: tails at s, both with s itself. */
static void count_tails(const double *ways, size_t length, size_t s, double *at_most, double *at_least)
{
    double below = 0, above = 0;

    for (size_t i = 0; i < length; i++) {
        if (i < s) below += ways[i];
        if (i > s) above += ways[i];
    }
    double total = below + ways[s] + above;
    *at_most = (below + ways[s]) / total;
    *at_least = (above + ways[s]) / total;
}

static void exact_result(cbx_test *r, double at_most, double at_least)
{
    r->exact = true;
    r->p_less = at_most;
    r->p_greater = at_least;
    r->p = fmin(1.0, 2 * fmin(at_most, at_least));
}

/* Normal tails of a count with mean and deviation, each with half a step of continuity; a deviation
 * of 0 shows nothing. */
static void normal_result(cbx_test *r, double count, double mean, double deviation)
{
    double away = fabs(count - mean);

    r->p = r->p_less = r->p_greater = 1;
    if (!(deviation > 0)) return;
    r->p_less = cbx_stat_normal_cdf((count - mean + 0.5) / deviation);
    r->p_greater = cbx_stat_normal_sf((count - mean - 0.5) / deviation);
    r->p = fmin(1.0, 2 * cbx_stat_normal_sf((away - 0.5) / deviation));
}

static cbx_status wants_exact(cbx_test_mode mode, size_t n, size_t by_itself, size_t at_most, bool *exact, cbx_err *err)
{
    if ((unsigned)mode > CBX_TEST_NORMAL) return cbx_fail(err, CBX_EINVAL, "unknown test mode %d", (int)mode);
    if (mode == CBX_TEST_EXACT && n > at_most)
        return cbx_fail(err, CBX_EINVAL,
                        "%zu values are too many for exact counts, at most %zu: leave the mode to the test", n,
                        at_most);
    *exact = mode == CBX_TEST_EXACT || (mode == CBX_TEST_AUTO && n <= by_itself);
    return CBX_OK;
}

/* ---- Mann-Whitney ---- */

/* Counts over the smaller side k; ways is (k + 1) rows of `length`. */
static cbx_status count_subsets(cbx_ctx *ctx, const double *pool, size_t total, size_t k, size_t s, double *at_most,
                                double *at_least, cbx_err *err)
{
    cbx__scratch double *ways = NULL;
    size_t length = 1, max = 0;

    for (size_t i = total - k; i < total; i++) length += cbx__midrank2(pool, total, pool[i]); /* the k largest */
    cbx_status st = cbx__doubles(ctx, (k + 1) * length, &ways, err);
    if (st) return st;
    ways[0] = 1;
    for (size_t i = 0; i < total; i++) {
        size_t rank = cbx__midrank2(pool, total, pool[i]);
        max = max + rank < length ? max + rank : length - 1;
        for (size_t j = i + 1 < k ? i + 1 : k; j >= 1; j--) {
            double *to = ways + j * length;
            const double *from = ways + (j - 1) * length;
            for (size_t sum = rank; sum <= max; sum++) to[sum] += from[sum - rank];
        }
    }
    count_tails(ways + k * length, length, s, at_most, at_least);
    return CBX_OK;
}

/* The same without ties: k-subsets of 1..k+m by their rank sum less the least one are the
 * coefficients of the Gaussian binomial prod_i (1 - q^(m+i)) / (1 - q^i), i = 1..k (Mann & Whitney,
 * Ann. Math. Stat. 18 (1947) 50-60).  After each factor they are counts below C(k+m, k), which are
 * whole doubles for k + m <= PLAIN_MAX.  O(k * k m) against O(k^2 m (k + m)^2). */
enum { PLAIN_MAX = 54 };

static cbx_status count_plain(cbx_ctx *ctx, size_t k, size_t m, cbx__whitney *out, cbx_err *err)
{
    size_t length = k * m + 1;
    double *ways = NULL;
    cbx_status st = cbx__doubles(ctx, length, &ways, err);

    if (st) return st;
    ways[0] = 1;
    for (size_t i = 1; i <= k; i++) {
        for (size_t u = length; u-- > m + i;) ways[u] -= ways[u - m - i];
        for (size_t u = i; u < length; u++) ways[u] += ways[u - i];
    }
    for (size_t u = 1; u < length; u++) ways[u] += ways[u - 1]; /* whole, and so exact in any order */
    cbx__whitney_clear(out);
    *out = (cbx__whitney){ k, m, length, ways };
    return CBX_OK;
}

void cbx__whitney_clear(cbx__whitney *kept)
{
    cbx__doubles_free(&kept->upto);
    *kept = (cbx__whitney){ 0 };
}

cbx_status cbx_stat_test_mann_whitney(cbx_ctx *ctx, const double *x, size_t n, const double *y, size_t m,
                                      cbx_test_mode mode, cbx_test *out, cbx_err *err)
{
    return cbx__mann_whitney(ctx, x, n, y, m, mode, NULL, out, err);
}

cbx_status cbx__mann_whitney(cbx_ctx *ctx, const double *x, size_t n, const double *y, size_t m, cbx_test_mode mode,
                             cbx__whitney *kept, cbx_test *out, cbx_err *err)
{
    cbx_test r = { .method = "mann-whitney u" };
    cbx__scratch double *pool = NULL;
    double at_most, at_least, sum_x = 0, total = (double)(n + m);
    cbx__whitney own = { 0 }, *c = kept ? kept : &own;
    bool exact = false, has_ties = false;
    cbx_status st = wants_exact(mode, n + m, WHITNEY_AUTO, WHITNEY_EXACT, &exact, err);

    if (!st) st = cbx__joined_copy(ctx, x, n, y, m, &pool, err);
    if (st) return st;
    cbx_stat_sort(pool, n + m);
    for (size_t i = 0; i < n; i++) sum_x += (double)cbx__midrank2(pool, n + m, x[i]); /* doubled */
    r.statistic = (sum_x - (double)n * (double)(n + 1)) / 2;
    if (exact) { /* the rank sum of the smaller sample; of y, the tails change places */
        bool of_x = n <= m;
        double s = of_x ? sum_x : total * (total + 1) - sum_x;
        size_t k = of_x ? n : m;
        for (size_t i = 1; i < n + m; i++) has_ties |= pool[i] == pool[i - 1];
        if (n + m > PLAIN_MAX || has_ties) {
            st = count_subsets(ctx, pool, n + m, k, (size_t)s, &at_most, &at_least, err);
        } else {
            size_t u = (size_t)s / 2 - k * (k + 1) / 2;
            if (!c->upto || c->k != k || c->m != n + m - k) st = count_plain(ctx, k, n + m - k, c, err);
            if (!st) {
                at_most = c->upto[u] / c->upto[c->length - 1];
                at_least = (c->upto[c->length - 1] - (u ? c->upto[u - 1] : 0)) / c->upto[c->length - 1];
            }
        }
        cbx__whitney_clear(&own);
        if (!st) exact_result(&r, of_x ? at_most : at_least, of_x ? at_least : at_most);
    } else {
        double ties = cbx__tie_sum(pool, n + m) / (total * (total - 1)), nm = (double)n * (double)m;
        normal_result(&r, r.statistic, nm / 2, sqrt(fmax(0.0, nm / 12 * (total + 1 - ties))));
    }
    if (!st) *out = r;
    return st;
}

/* ---- signed-rank ---- */

typedef struct signed_ranks {
    double *sizes;                /* sorted |d| of all that is ranked */
    size_t ranked, zeros;         /* zeros among the ranked */
    double plus2, minus2, zeros2; /* doubled rank sums */
} signed_ranks;

/* All signs of the ranks that are not of zeros. */
static cbx_status count_signs(cbx_ctx *ctx, const signed_ranks *s, double *at_most, double *at_least, cbx_err *err)
{
    size_t length = (size_t)(s->plus2 + s->minus2) + 1, max = 0;
    cbx__scratch double *ways = NULL;
    cbx_status st = cbx__doubles(ctx, length, &ways, err);

    if (st) return st;
    ways[0] = 1;
    for (size_t i = s->zeros; i < s->ranked; i++) {
        size_t rank = cbx__midrank2(s->sizes, s->ranked, s->sizes[i]);
        max += rank;
        for (size_t sum = max + 1; sum-- > rank;) ways[sum] += ways[sum - rank];
    }
    count_tails(ways, length, (size_t)s->plus2, at_most, at_least);
    return CBX_OK;
}

cbx_status cbx_stat_test_signed_rank(cbx_ctx *ctx, const double *x, const double *y, size_t n, cbx_zero_rule zeros,
                                     cbx_test_mode mode, cbx_test *out, cbx_err *err)
{
    cbx_test r = { .method = "wilcoxon signed-rank" };
    cbx__scratch double *d = NULL, *sizes = NULL;
    double at_most, at_least;
    bool exact = false;
    cbx_status st = cbx__sample_check(x, n, 1, err);

    if (!st && y) st = cbx__sample_check(y, n, 1, err);
    if (!st && (unsigned)zeros > CBX_ZERO_SPLIT)
        st = cbx_fail(err, CBX_EINVAL, "unknown rule %d for zeros", (int)zeros);
    if (!st) st = cbx__doubles(ctx, n, &d, err);
    for (size_t i = 0; !st && i < n; i++) d[i] = y ? x[i] - y[i] : x[i];
    if (!st) st = cbx__sample_check(d, n, 1, err);
    if (!st) st = wants_exact(mode, n, SIGNED_AUTO, SIGNED_EXACT, &exact, err);
    if (!st) st = cbx__doubles(ctx, n, &sizes, err);
    if (st) return st;
    signed_ranks s = { .sizes = sizes };
    for (size_t i = 0; i < n; i++) {
        if (d[i] == 0 && zeros == CBX_ZERO_DROP) continue;
        s.sizes[s.ranked++] = fabs(d[i]);
        s.zeros += d[i] == 0;
    }
    cbx_stat_sort(s.sizes, s.ranked);
    for (size_t i = 0; i < n; i++) {
        if (d[i] == 0 && zeros == CBX_ZERO_DROP) continue;
        *(d[i] > 0 ? &s.plus2 : d[i] < 0 ? &s.minus2 : &s.zeros2) += (double)cbx__midrank2(sizes, s.ranked, fabs(d[i]));
    }
    r.statistic = (s.plus2 + (zeros == CBX_ZERO_SPLIT ? s.zeros2 / 2 : 0)) / 2;
    if (s.ranked == s.zeros) {
        r.p = r.p_less = r.p_greater = 1;
        r.exact = exact;
    } else if (exact) {
        st = count_signs(ctx, &s, &at_most, &at_least, err);
        if (!st) exact_result(&r, at_most, at_least);
    } else {
        double k = (double)s.ranked, z = (double)s.zeros, mean = k * (k + 1) / 4, squares = k * (k + 1) * (2 * k + 1);
        double ties = cbx__tie_sum(s.sizes, s.ranked);
        if (zeros == CBX_ZERO_PRATT) {
            mean -= z * (z + 1) / 4;
            squares -= z * (z + 1) * (2 * z + 1);
            ties -= z * z * z - z;
        }
        normal_result(&r, r.statistic, mean, sqrt(fmax(0.0, (squares - ties / 2) / 24)));
        if (r.statistic == mean) r.p = 1;
    }
    if (!st) *out = r;
    return st;
}

/* ---- Brunner-Munzel ---- */

/* Mean and variance of the placements of a sample: how many of the other lie below each value, ties
 * a half. */
static void placements(const double *x, size_t n, const double *other, size_t m, double *mean, double *variance)
{
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)(cbx__count_below(other, m, x[i]) + cbx__count_upto(other, m, x[i])) / 2;
    *mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        double d = (double)(cbx__count_below(other, m, x[i]) + cbx__count_upto(other, m, x[i])) / 2 - *mean;
        squares += d * d;
    }
    *variance = squares / (double)(n - 1);
}

cbx_status cbx_stat_test_brunner_munzel(cbx_ctx *ctx, const double *x, size_t n, const double *y, size_t m,
                                        cbx_test *out, cbx_err *err)
{
    cbx_test r = { .method = "brunner-munzel" };
    cbx__scratch double *a = NULL, *b = NULL;
    double mean_x, mean_y, vx, vy;
    cbx_status st = cbx__sorted_copy(ctx, x, n, 2, &a, err);

    if (!st) st = cbx__sorted_copy(ctx, y, m, 2, &b, err);
    if (st) return st;
    placements(a, n, b, m, &mean_x, &vx);
    placements(b, m, a, n, &mean_y, &vy);
    double wx = (double)n * vx, wy = (double)m * vy;
    /* P(x < y) + P(x = y)/2 - 1/2; mean ranks differ by (n + m) times it */
    double larger = mean_y / (double)n - 0.5;
    if (wx + wy <= 0) {
        /* No variance: the samples lie apart, or all values are alike. */
        int sign;
        double total = (double)(n + m);
        double one = exp(lgamma_r((double)n + 1, &sign) + lgamma_r((double)m + 1, &sign) - lgamma_r(total + 1, &sign));

        r.df = total - 2;
        r.statistic = larger == 0 ? 0 : larger > 0 ? INFINITY : -INFINITY;
        r.p = larger == 0 ? 1 : fmin(1.0, 2 * one);
        r.p_less = larger > 0 ? one : 1;
        r.p_greater = larger < 0 ? one : 1;
    } else {
        r.statistic = (double)n * (double)m * larger / sqrt(wx + wy);
        r.df = (wx + wy) * (wx + wy) / (wx * wx / (double)(n - 1) + wy * wy / (double)(m - 1));
        r.p_less = cbx_stat_t_sf(r.statistic, r.df);
        r.p_greater = cbx_stat_t_cdf(r.statistic, r.df);
        r.p = fmin(1.0, 2 * fmin(r.p_less, r.p_greater));
    }
    *out = r;
    return CBX_OK;
}

/* ---- limits of ranks: null distributions of the two rank sums by counting, without ties ---- */

/* Largest r with 2 P(S < r) <= 1 - level, by the ways of each S = 0, 1, ...; 0 if no r has it. */
static double rank_of_ways(const double *ways, size_t length, double level, double *achieved)
{
    double total = 0, below = 0;
    size_t r = 0;

    for (size_t i = 0; i < length; i++) total += ways[i];
    while (r < length / 2 && 2 * (below + ways[r]) / total <= (1 - level) * (1 + 1e-14)) below += ways[r++];
    *achieved = r ? 1 - 2 * below / total : 0;
    return (double)r;
}

/* Signs of ranks 1..n. */
cbx_status cbx__signed_rank_limit(cbx_ctx *ctx, size_t n, double level, double *rank, double *achieved, cbx_err *err)
{
    size_t length = n * (n + 1) / 2 + 1;
    cbx__scratch double *ways = NULL;
    cbx_status st = cbx__doubles(ctx, length, &ways, err);

    if (st) return st;
    ways[0] = 1;
    for (size_t i = 1; i <= n; i++)
        for (size_t s = length; s-- > i;) ways[s] += ways[s - i];
    *rank = rank_of_ways(ways, length, level, achieved);
    return CBX_OK;
}

/* Pairs above in all splits of n + m: U_{n,m}, as the coefficients of the Gauss binomial, built by
 * multiplying and dividing. */
cbx_status cbx__shift_limit(cbx_ctx *ctx, size_t n, size_t m, double level, double *rank, double *achieved,
                            cbx_err *err)
{
    size_t length = n * m + 1, k = n < m ? n : m, other = n < m ? m : n;
    cbx__scratch double *ways = NULL;
    cbx_status st = cbx__doubles(ctx, (k + 1) * length, &ways, err);

    if (st) return st;
    ways[0] = 1;                        /* ways[j][u]: j of the smaller sample placed, u pairs above */
    for (size_t i = 0; i <= other; i++) /* values of the other sample that lie below the next ones placed */
        for (size_t j = 1; j <= k; j++)
            for (size_t u = i; u < length; u++) ways[j * length + u] += ways[(j - 1) * length + u - i];
    *rank = rank_of_ways(ways + k * length, length, level, achieved);
    return CBX_OK;
}
