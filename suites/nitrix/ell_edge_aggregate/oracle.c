/* The right answer, and how far from it a right implementation may be.  Shares no code with any
 * baseline: long double throughout, compensated sums (Neumaier, ZAMM 54 (1974) 39-51), and every
 * product formed where it is needed.
 *
 * One message is w h, h = sum over d = d_in terms x W.  With S = |w| sum |x W| of a message, its
 * error is at most
 *
 *   e_message  min(gamma_(d+1), lambda u sqrt(d / 3 + 1)) S
 *
 * (bounds.h; the 1 is the product with w).  Then, T = sum of S over the neighbours, k of them:
 *
 *   max        the largest e_message: maxima differ by no more than what they are taken of
 *   sum        the smaller of gamma_(d+k+1) T and lambda u sqrt(sum (d / 3 + 1) S^2 + (k / 3) T^2):
 *              all roundings are independent
 *
 * No neighbour: 0 of the sum, -inf of the maximum, exactly. */
#include <math.h>

#include "suites/common/bounds.h"
#include "suites/common/oracle.h"
#include "suites/nitrix/ell_edge_aggregate/aggregate.h"

typedef struct problem {
    const cbx__ea_point *p;
    double u;
    const double *x, *W, *indices, *weights, *degree;
    long double *h, *size; /* n by d_out: sums, and sums of magnitudes */
    double *answer, *bound;
} problem;

static void project(const problem *q)
{
    const size_t d_in = q->p->d_in, d_out = q->p->d_out;

    for (size_t i = 0; i < q->p->n; i++) {
        for (size_t o = 0; o < d_out; o++) {
            cbx__suite_total t = { 0 };
            for (size_t j = 0; j < d_in; j++)
                cbx__suite_include(&t, (long double)q->x[i * d_in + j] * (long double)q->W[o * d_in + j]);
            q->h[i * d_out + o] = t.sum + t.lost;
            q->size[i * d_out + o] = t.size;
        }
    }
}

static void solve_one(const problem *q, size_t i, size_t o)
{
    const size_t k = q->p->k, degree = (size_t)q->degree[i], at = i * q->p->d_out + o;
    const double d = (double)q->p->d_in, u = q->u, each = d / 3 + 1;
    long double largest = -INFINITY, sizes = 0, squares = 0, widest = 0;
    cbx__suite_total t = { 0 };

    for (size_t e = 0; e < degree; e++) {
        const size_t from = (size_t)q->indices[i * k + e] * q->p->d_out + o;
        const long double w = q->weights[i * k + e], message = w * q->h[from], size = fabsl(w) * q->size[from];
        cbx__suite_include(&t, message);
        largest = message > largest ? message : largest;
        sizes += size;
        squares += size * size;
        widest = size > widest ? size : widest;
    }
    if (q->p->max) {
        q->answer[at] = (double)largest;
        q->bound[at] = fmin(cbx__suite_gamma(d + 1, u), CBX__SUITE_LAMBDA * u * sqrt(each)) * (double)widest;
    } else {
        const double by_chance = CBX__SUITE_LAMBDA * u *
                                 sqrt(each * (double)squares + (double)degree / 3 * (double)(sizes * sizes));
        q->answer[at] = (double)(t.sum + t.lost);
        q->bound[at] = fmin(cbx__suite_gamma(d + (double)degree + 1, u) * (double)sizes, by_chance);
    }
}

void cbx__ea_solve(const cbx__ea_point *p, const cbx__suite_problem *q)
{
    const double *const *graph = q->in + CBX__EA_GRAPH;
    long double *h = (long double *)(void *)q->scratch;
    const problem s = { .p = p,
                        .u = cbx__suite_unit(p->dtype),
                        .x = q->in[CBX__EA_X],
                        .W = q->in[CBX__EA_W],
                        .indices = graph[CBX__ELL_INDICES],
                        .weights = graph[CBX__ELL_WEIGHTS],
                        .degree = graph[CBX__ELL_DEGREE],
                        .h = h,
                        .size = h + p->n * p->d_out,
                        .answer = q->answer,
                        .bound = q->bound };

    project(&s);
    for (size_t i = 0; i < p->n; i++)
        for (size_t o = 0; o < p->d_out; o++) solve_one(&s, i, o);
}
