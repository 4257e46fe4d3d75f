/* Permutation tests: all arrangements in lexicographic order when there are few, else random ones.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/rng.h"
#include "calibrax/base/together.h"
#include "calibrax/statistics/resample.h"
#include "calibrax/statistics/sample.h"
#include "calibrax/statistics/test.h"

typedef struct arrangement {
    double *x, *y; /* what is compared now */
    double *pool;  /* the values as given: x, then y */
    size_t *order; /* split: which of the pool are x, n of them, then y's */
    size_t n, m;
    bool paired;
    cbx_compare_fn compare;
    void *user;
    double observed, tolerance;
    size_t at_most, at_least, count;
    uint32_t *words; /* random ones, for `picked` picks */
    size_t picked;   /* size of the smaller sample */
    double total;    /* of the pool */
    bool undefined;  /* the statistic of some arrangement is NaN */
} arrangement;

static double mean_difference(const double *x, size_t n, const double *y, size_t m, void *user)
{
    double sum_x = 0, sum_y = 0;

    (void)user;
    for (size_t i = 0; i < n; i++) sum_x += x[i];
    for (size_t i = 0; i < m; i++) sum_y += y[i];
    return sum_x / (double)n - sum_y / (double)m;
}

static double compared(arrangement *a) { return a->compare(a->x, a->n, a->y, a->m, a->user); }

static void count_value(arrangement *a, double v)
{
    a->at_most += v <= a->observed + a->tolerance;
    a->at_least += v >= a->observed - a->tolerance;
    a->undefined |= isnan(v);
    a->count++;
}

static void count_one(arrangement *a) { count_value(a, compared(a)); }

/* The next n-subset of n + m in order[0..n), the others behind them; false after the last. */
static bool next_split(arrangement *a)
{
    size_t total = a->n + a->m, i = a->n, other = a->n;

    while (i > 0 && a->order[i - 1] == total - a->n + i - 1) i--;
    if (i == 0) return false;
    a->order[i - 1]++;
    for (; i < a->n; i++) a->order[i] = a->order[i - 1] + 1;
    for (size_t v = 0, k = 0; v < total; v++) {
        if (k < a->n && a->order[k] == v)
            k++;
        else
            a->order[other++] = v;
    }
    return true;
}

static void swap_pairs(arrangement *a, uint64_t bits, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++, bits >>= 1) {
        a->x[i] = a->pool[bits & 1 ? a->n + i : i];
        a->y[i] = a->pool[bits & 1 ? i : a->n + i];
    }
}

/* Each draws from a stream of its own number; a uniform shuffle of any order is uniform. */
static void count_random(arrangement *a, size_t permutations, uint64_t seed)
{
    for (size_t i = 0; i < a->n + a->m; i++) a->order[i] = i;
    for (size_t b = 0; b < permutations; b++) {
        cbx_rng rng = cbx_rng_make(seed, b);
        if (a->paired) {
            for (size_t i = 0; i < a->n; i += 64) swap_pairs(a, cbx_rng_u64(&rng), i, i + 64 < a->n ? i + 64 : a->n);
            count_one(a);
            continue;
        }
        /* The smaller sample's share of the pool: the first `picked` steps of a shuffle of order,
         * which stays a permutation from run to run. */
        size_t total = a->n + a->m;
        cbx__draw(rng.key, 0, UINT32_MAX, a->picked, a->words);
        for (size_t i = 0; i < a->picked; i++) {
            size_t j = i + (size_t)((uint64_t)a->words[i] * (total - i) >> 32), v = a->order[j];
            a->order[j] = a->order[i];
            a->order[i] = v;
        }
        if (a->compare == mean_difference) {
            double sum = 0; /* means need the sum of one side only */
            for (size_t i = 0; i < a->picked; i++) sum += a->pool[a->order[i]];
            double x = a->n <= a->m ? sum : a->total - sum, y = a->n <= a->m ? a->total - sum : sum;
            count_value(a, x / (double)a->n - y / (double)a->m);
            continue;
        }
        /* x takes what was picked if it is the smaller sample, else the rest. */
        size_t x_from = a->n <= a->m ? 0 : a->picked, y_from = a->n <= a->m ? a->picked : 0;
        for (size_t i = 0; i < a->n; i++) a->x[i] = a->pool[a->order[x_from + i]];
        for (size_t i = 0; i < a->m; i++) a->y[i] = a->pool[a->order[y_from + i]];
        count_one(a);
    }
}

cbx_status cbx_stat_test_permutation(cbx_ctx *ctx, const double *x, size_t n, const double *y, size_t m,
                                     const cbx_permutation_opts *opts, cbx_test *out, cbx_err *err)
{
    cbx_permutation_opts o = CBX_PERMUTATION_OPTS_INIT;
    cbx_status st = cbx_take_options(&o, sizeof o, opts, "cbx_permutation_opts", err);
    cbx_test r = { .method = o.paired ? "paired permutation" : "permutation" };
    arrangement a = { .n = n, .m = m, .paired = o.paired, .user = o.user };

    if (st) return st;
    if (n + m < n || n + m >= CBX__RESAMPLE_LIMIT) return cbx_fail(err, CBX_EINVAL, "samples too large to permute");
    if (!o.permutations) return cbx_fail(err, CBX_EINVAL, "'permutations' must be at least 1, got 0");
    if (o.paired && n != m) return cbx_fail(err, CBX_EINVAL, "pairs need samples of one size, not %zu and %zu", n, m);
    a.compare = o.compare ? o.compare : mean_difference;
    st = cbx__sample_check(x, n, 1, err);
    if (!st) st = cbx__sample_check(y, m, 1, err);
    if (st) return st;
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    if (!cbx_arena_arrays(&arena, CBX_ARRAY(a.pool, n + m), CBX_ARRAY(a.x, n + m), CBX_ARRAY(a.order, n + m),
                          CBX_ARRAY(a.words, cbx__draws_capacity(n + m))))
        return cbx_fail(err, CBX_ENOMEM, "out of memory to rearrange %zu samples", n + m);
    memcpy(a.pool, x, n * sizeof *x);
    memcpy(a.pool + n, y, m * sizeof *y);
    a.y = a.x + n;
    a.picked = n < m ? n : m;
    /* The mean difference is taken about the first value: large offsets then cost no digits,
     * and ties in it are seen as such. */
    double largest = 0;
    if (a.compare == mean_difference) {
        double origin = a.pool[0];
        for (size_t i = 0; i < a.n + a.m; i++) a.pool[i] -= origin;
    }
    for (size_t i = 0; i < a.n + a.m; i++) {
        largest = fmax(largest, fabs(a.pool[i]));
        a.total += a.pool[i];
    }
    a.tolerance = 1e-14 * largest;
    double all = a.paired ? ldexp(1, n > 1000 ? 1001 : (int)n) : 1; /* arrangements */
    for (size_t i = 1; !a.paired && i <= n && all < 1e18; i++) all = all * (double)(m + i) / (double)i;
    all = round(all);
    memcpy(a.x, a.pool, a.n * sizeof(double));
    memcpy(a.y, a.pool + a.n, a.m * sizeof(double));
    a.observed = compared(&a);
    r.statistic = a.observed;
    r.exact = all <= (double)o.permutations;
    if (r.exact && a.paired) {
        for (uint64_t bits = 0; bits < (uint64_t)1 << a.n; bits++) {
            swap_pairs(&a, bits, 0, a.n);
            count_one(&a);
        }
    } else if (r.exact) {
        for (size_t i = 0; i < a.n + a.m; i++) a.order[i] = i;
        do {
            for (size_t i = 0; i < a.n; i++) a.x[i] = a.pool[a.order[i]];
            for (size_t i = 0; i < a.m; i++) a.y[i] = a.pool[a.order[a.n + i]];
            count_one(&a);
        } while (next_split(&a));
    } else
        count_random(&a, o.permutations, o.seed);
    double extra = r.exact ? 0 : 1;
    r.p_less = ((double)a.at_most + extra) / ((double)a.count + extra);
    r.p_greater = ((double)a.at_least + extra) / ((double)a.count + extra);
    r.p = fmin(1.0, 2 * fmin(r.p_less, r.p_greater));
    if (isnan(r.statistic)) return cbx_fail(err, CBX_EDOM, "the statistic to permute is NaN");
    if (a.undefined) return cbx_fail(err, CBX_EDOM, "the statistic of a rearrangement is NaN");
    *out = r;
    return CBX_OK;
}
