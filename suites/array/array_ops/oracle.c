/*
 * The right answer, and how far from it a right implementation may be.  Shares no code with any
 * baseline: libm, libc's qsort, and compensated sums in long double (Neumaier, ZAMM 54 (1974)
 * 39-51).
 *
 * Bounds, u = 2^-24 or 2^-53 of the dtype, 0 where an answer is one of the operands, a count, or
 * correctly rounded.
 *
 *   sums      the smaller of gamma_k S and lambda sqrt(k) u S, S = sum |t|: Higham, Accuracy and
 *             Stability (2002), (3.7), and the model of Higham & Mary, SIAM J. Sci. Comput. 41
 *             (2019) A2815; any order of the additions may come
 *   mean      that over n, and the rounding of the quotient
 *   std       half of the relative error of a sum of squares, and of the root
 *   exp       4 ulp, what vector libraries promise
 *   percentile two roundings of the ranks' difference, and of the rank itself
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/idioms.h"
#include "suites/array/array_ops/ops.h"
#include "suites/common/bounds.h"

/* In units of u: how far a sum of k terms may be off, relative to the sum of their magnitudes. */
static double growth(double k, double u) { return fmin(cbx__suite_gamma(k, u) / u, CBX__SUITE_LAMBDA * sqrt(k)); }

static double sum_of(const cbx__suite_total *t) { return (double)(t->sum + t->lost); }
static double sum_bound(const cbx__suite_total *t, double u)
{
    return (growth((double)t->count, u) + 1) * u * (double)t->size;
}

static void span(const double *x, size_t n, size_t step, cbx__suite_total *t)
{
    *t = (cbx__suite_total){ 0 };
    for (size_t i = 0; i < n; i++) cbx__suite_include(t, x[i * step]);
}

static void put_sum(const cbx__ao_problem *q, size_t at, const cbx__suite_total *t)
{
    q->answer[at] = sum_of(t);
    q->bound[at] = sum_bound(t, q->u);
}

/* The dtype's own number: one rounding of an exact sum is what every right addition gives. */
static double rounded(const cbx__ao_problem *q, double x) { return q->p->dtype == CBX_F32 ? (double)(float)x : x; }

void cbx__ao_solve_add(const cbx__ao_problem *q)
{
    for (size_t i = 0; i < q->p->n; i++) q->answer[i] = rounded(q, q->in[0][i] + q->in[1][i]);
}

void cbx__ao_solve_exp(const cbx__ao_problem *q)
{
    for (size_t i = 0; i < q->p->n; i++) {
        q->answer[i] = (double)expl((long double)q->in[0][i]);
        q->bound[i] = 8 * q->u * q->answer[i];
    }
}

void cbx__ao_solve_where(const cbx__ao_problem *q)
{
    for (size_t i = 0; i < q->p->n; i++) q->answer[i] = q->in[2][i] != 0 ? q->in[0][i] : q->in[1][i];
}

void cbx__ao_solve_take(const cbx__ao_problem *q)
{
    for (size_t i = 0; i < q->p->n; i++) q->answer[i] = q->in[0][(size_t)q->in[1][i]];
}

void cbx__ao_solve_digitize(const cbx__ao_problem *q)
{
    for (size_t i = 0; i < q->p->n; i++) {
        size_t bin = 0;
        while (bin < CBX__AO_EDGES && q->in[1][bin] <= q->in[0][i]) bin++;
        q->answer[i] = (double)bin;
    }
}

void cbx__ao_solve_sum(const cbx__ao_problem *q)
{
    cbx__suite_total t;
    span(q->in[0], q->p->n, 1, &t);
    put_sum(q, 0, &t);
}

void cbx__ao_solve_sum_axis0(const cbx__ao_problem *q)
{
    cbx__suite_total t;
    for (size_t j = 0; j < q->p->columns; j++) {
        span(q->in[0] + j, q->p->rows, q->p->columns, &t);
        put_sum(q, j, &t);
    }
}

void cbx__ao_solve_sum_axis1(const cbx__ao_problem *q)
{
    cbx__suite_total t;
    for (size_t i = 0; i < q->p->rows; i++) {
        span(q->in[0] + i * q->p->columns, q->p->columns, 1, &t);
        put_sum(q, i, &t);
    }
}

void cbx__ao_solve_mean(const cbx__ao_problem *q)
{
    const double n = (double)q->p->n;
    cbx__suite_total t;

    span(q->in[0], q->p->n, 1, &t);
    q->answer[0] = sum_of(&t) / n;
    q->bound[0] = sum_bound(&t, q->u) / n + 2 * q->u * fabs(q->answer[0]);
}

void cbx__ao_solve_std(const cbx__ao_problem *q)
{
    const double n = (double)q->p->n;
    long double mean;
    cbx__suite_total t, squares = { 0 };

    span(q->in[0], q->p->n, 1, &t);
    mean = (t.sum + t.lost) / (long double)n;
    for (size_t i = 0; i < q->p->n; i++) {
        const long double d = (long double)q->in[0][i] - mean;
        cbx__suite_include(&squares, (double)(d * d));
    }
    q->answer[0] = sqrt(sum_of(&squares) / n);
    q->bound[0] = (growth(n, q->u) / 2 + 8) * q->u * (q->answer[0] + fabs((double)mean));
}

void cbx__ao_solve_max(const cbx__ao_problem *q)
{
    double max = -INFINITY;
    for (size_t i = 0; i < q->p->n; i++) max = q->in[0][i] > max ? q->in[0][i] : max;
    q->answer[0] = max;
}

void cbx__ao_solve_cumsum(const cbx__ao_problem *q)
{
    cbx__suite_total t = { 0 };
    for (size_t i = 0; i < q->p->n; i++) {
        cbx__suite_include(&t, q->in[0][i]);
        put_sum(q, i, &t);
    }
}

CBX_BY_VALUE(by_value, double)

void cbx__ao_solve_sort(const cbx__ao_problem *q)
{
    memcpy(q->answer, q->in[0], q->p->n * sizeof *q->answer);
    qsort(q->answer, q->p->n, sizeof *q->answer, by_value);
}

/* The k-th smallest by counting: what is below it, and what equals it (selection by bisection over
 * the values' range). */
static double kth(const double *x, size_t n, size_t k)
{
    double low = INFINITY, high = -INFINITY;

    for (size_t i = 0; i < n; i++) {
        low = fmin(low, x[i]);
        high = fmax(high, x[i]);
    }
    for (;;) { /* at most k of n are below low, more than k are at or below high */
        const double middle = low + (high - low) / 2;
        double above = high, below = low;
        size_t at_most = 0;
        for (size_t i = 0; i < n; i++) {
            if (x[i] <= middle) {
                at_most++;
                below = fmax(below, x[i]);
            } else {
                above = fmin(above, x[i]);
            }
        }
        if (at_most > k) {
            if (below == high || below == low) return below;
            high = below;
        } else {
            if (above == high) return above;
            low = above;
        }
    }
}

static void solve_rank(const cbx__ao_problem *q, double percent)
{
    const long double rank = (long double)percent / 100 * (long double)(q->p->n - 1);
    const size_t k = (size_t)rank;
    const double a = kth(q->in[0], q->p->n, k), b = k + 1 < q->p->n ? kth(q->in[0], q->p->n, k + 1) : a;

    q->answer[0] = (double)((long double)a + (rank - (long double)k) * ((long double)b - (long double)a));
    q->bound[0] = 4 * q->u * (fmax(fabs(a), fabs(b)) + (double)rank * (b - a));
}

void cbx__ao_solve_percentile(const cbx__ao_problem *q) { solve_rank(q, CBX__AO_RANK); }
void cbx__ao_solve_median(const cbx__ao_problem *q) { solve_rank(q, 50); }

/* Labels are counted, or their weights added up. */
static void solve_bins(const cbx__ao_problem *q)
{
    const bool weighted = q->p->op->in[1] != CBX__AO_NONE;
    cbx__suite_total bins[CBX__AO_BINS] = { 0 };

    for (size_t i = 0; i < q->p->n; i++) cbx__suite_include(&bins[(size_t)q->in[0][i]], weighted ? q->in[1][i] : 1.0);
    for (size_t b = 0; b < CBX__AO_BINS; b++)
        if (weighted)
            put_sum(q, b, &bins[b]);
        else
            q->answer[b] = (double)bins[b].count;
}

void cbx__ao_solve_bincount(const cbx__ao_problem *q) { solve_bins(q); }
void cbx__ao_solve_bincount_weights(const cbx__ao_problem *q) { solve_bins(q); }
