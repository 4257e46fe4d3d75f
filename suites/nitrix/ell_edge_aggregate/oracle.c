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
#include "suites/nitrix/ell_edge_aggregate/aggregate.h"

typedef struct problem {
    cbx__ea_point p;
    double u;
    double *x, *W, *weights; /* widened */
    long double *h, *size;   /* n by d_out: sums, and sums of magnitudes */
    const int32_t *indices, *degree;
    double *answer, *bound;
} problem;

static void project(problem *q)
{
    const size_t d_in = q->p.d_in, d_out = q->p.d_out;

    for (size_t i = 0; i < q->p.n; i++) {
        for (size_t o = 0; o < d_out; o++) {
            cbx__suite_total t = { 0 };
            for (size_t j = 0; j < d_in; j++)
                cbx__suite_include(&t, (long double)q->x[i * d_in + j] * (long double)q->W[o * d_in + j]);
            q->h[i * d_out + o] = t.sum + t.lost;
            q->size[i * d_out + o] = t.size;
        }
    }
}

static void solve_one(problem *q, size_t i, size_t o)
{
    const size_t k = q->p.k, degree = (size_t)q->degree[i], at = i * q->p.d_out + o;
    const double d = (double)q->p.d_in, u = q->u, each = d / 3 + 1;
    long double largest = -INFINITY, sizes = 0, squares = 0, widest = 0;
    cbx__suite_total t = { 0 };

    for (size_t e = 0; e < degree; e++) {
        const size_t from = (size_t)q->indices[i * k + e] * q->p.d_out + o;
        const long double w = q->weights[i * k + e], message = w * q->h[from], size = fabsl(w) * q->size[from];
        cbx__suite_include(&t, message);
        largest = message > largest ? message : largest;
        sizes += size;
        squares += size * size;
        widest = size > widest ? size : widest;
    }
    if (q->p.max) {
        q->answer[at] = (double)largest;
        q->bound[at] = fmin(cbx__suite_gamma(d + 1, u), CBX__SUITE_LAMBDA * u * sqrt(each)) * (double)widest;
    } else {
        const double by_chance = CBX__SUITE_LAMBDA * u *
                                 sqrt(each * (double)squares + (double)degree / 3 * (double)(sizes * sizes));
        q->answer[at] = (double)(t.sum + t.lost);
        q->bound[at] = fmin(cbx__suite_gamma(d + (double)degree + 1, u) * (double)sizes, by_chance);
    }
}

static cbx_status solve(cbx_ctx *ctx, problem *q, cbx_array *const *in, cbx_err *err)
{
    const size_t nx = cbx_array_count(in[CBX__EA_X]), nw = cbx_array_count(in[CBX__EA_W]), nv = q->p.n * q->p.k,
                 nh = q->p.n * q->p.d_out;
    const size_t bytes = 2 * nh * sizeof(long double) + (nx + nw + nv) * sizeof(double);
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    char *block = cbx_mem_alloc(al, bytes);

    if (!block) return cbx_fail(err, CBX_ENOMEM, "out of memory for the oracle's %zu bytes", bytes);
    q->h = (long double *)(void *)block; /* the strictest alignment first */
    q->size = q->h + nh;
    q->x = (double *)(void *)(q->size + nh);
    q->W = q->x + nx;
    q->weights = q->W + nw;
    cbx__suite_widen(in[CBX__EA_X], q->x);
    cbx__suite_widen(in[CBX__EA_W], q->W);
    cbx__suite_widen(in[CBX__EA_GRAPH + CBX__ELL_WEIGHTS], q->weights);
    q->indices = cbx_array_data(in[CBX__EA_GRAPH + CBX__ELL_INDICES]);
    q->degree = cbx_array_data(in[CBX__EA_GRAPH + CBX__ELL_DEGREE]);
    project(q);
    for (size_t i = 0; i < q->p.n; i++)
        for (size_t o = 0; o < q->p.d_out; o++) solve_one(q, i, o);
    cbx_mem_free(al, block, bytes);
    return CBX_OK;
}

cbx_status cbx__ea_oracle(cbx_ctx *ctx, const cbx_params *params, cbx_array *const *in, cbx_array **answer,
                          cbx_array **bound, cbx_err *err)
{
    problem q = { .p = cbx__ea_read(params) };
    const cbx_array_desc d = { CBX_F64, 2, { q.p.n, q.p.d_out } }, both[] = { d, d };
    cbx_array *made[2] = { NULL };
    cbx_status st = cbx__suite_arrays(ctx, both, 2, made, err);

    if (st) return st;
    q.u = cbx__suite_unit(q.p.dtype);
    q.answer = cbx_array_data_mut(made[0]);
    q.bound = cbx_array_data_mut(made[1]);
    st = solve(ctx, &q, in, err);
    if (st) {
        cbx__suite_arrays_free(made, 2);
        return st;
    }
    answer[0] = made[0];
    bound[0] = made[1];
    return CBX_OK;
}
