/* Case ell_row_softmax: y[i,p] = exp(v[i,p] - top) / sum over q of exp(v[i,q] - top), q over the
 * first degree[i] places of row i and top the largest of them; the attention weights of a graph.
 * Places behind a row's end are 0, and an empty row is all zeros.
 *
 * Oracle: long double, libm's expl, compensated sums.  Bound of y, u the unit roundoff: exponents x
 * - top err by u |x - top|, exp by 2 ulp, the sum of k positive terms by sum_error(k)
 * (common/bounds.h), the quotient by u, so that relative to y it is
 *
 *   sum_error(k) + u (10 + |x_p - top| + sum over q of y_q |x_q - top|), and once the smallest
 *   number where y may underflow */
#include <math.h>
#include <string.h>

#include "calibrax/array/kernels/ell.h"
#include "suites/common/bounds.h"
#include "suites/common/gpu.h"
#include "suites/common/oracle.h"
#include "suites/common/params.h"
#include "suites/common/plan.h"
#include "suites/common/rotation.h"
#include "suites/common/work.h"
#include "suites/nitrix/ell/ell.h"
#include "suites/suites.h"

enum { VALUES, DEGREE, INPUTS };

static const cbx_param_def params[] = {
    CBX__SUITE_COUNT("n", 1, CBX__ELL_MAX_VERTICES, "rows"),
    CBX__SUITE_COUNT("k", 1, CBX__SUITE_MAX_NEIGHBOURS, "places of a row"),
    CBX__ELL_GRAPH_PARAMS,
    CBX__SUITE_WORD("dtype", cbx__suite_floats, "f32", "of the values and the result"),
    CBX__SUITE_SEED,
};

typedef struct point {
    cbx__suite_graph graph;
    cbx_dtype dtype;
    size_t n, k, size;
} point;

static point read_point(const cbx_params *given)
{
    point p = { .dtype = cbx__suite_dtype(given),
                .n = cbx__suite_count(given, "n"),
                .k = cbx__suite_count(given, "k") };

    p.graph = cbx__suite_graph_read(given, p.n, p.k);
    p.size = cbx_dtype_size(p.dtype);
    return p;
}

#define POINT(n, k, graph, dtype)                                                                                      \
    "{\"n\":" #n ",\"k\":" #k ",\"graph\":\"" graph "\",\"order\":\"natural\",\"dtype\":\"" dtype "\",\"seed\":0}"
#define REPRESENTATIVE 1

static const char *const points[] = {
    POINT(4096, 16, "uniform", "f32"),  POINT(16384, 32, "uniform", "f32"),   POINT(16384, 32, "uniform", "f64"),
    POINT(16384, 9, "mesh2d", "f32"),   POINT(16384, 64, "power_law", "f32"), POINT(16384, 64, "skewed", "f32"),
    POINT(65536, 32, "uniform", "f32"), POINT(4096, 16, "empty_rows", "f32"), POINT(4096, 16, "empty_rows", "f64"),
    POINT(1009, 7, "power_law", "f32"), POINT(64, 4, "uniform", "f32"),
};

static const char *const series[] = {
    POINT(2048, 32, "uniform", "f32"),  POINT(4096, 32, "uniform", "f32"),  POINT(8192, 32, "uniform", "f32"),
    POINT(16384, 32, "uniform", "f32"), POINT(32768, 32, "uniform", "f32"),
};

/* An exp takes at least 7 operations; besides it a subtraction, a sum and a product. */
static void work(const cbx_params *given, cbx_work *out)
{
    const point p = read_point(given);
    const double edges = (double)cbx__suite_graph_edges(&p.graph), places = (double)(p.n * p.k);
    const double bytes = (double)p.size * (edges + places) + 4 * (double)p.n;

    *out = cbx__suite_work(edges, 11 * edges, bytes, CBX_PIPE_FMA, 9 * edges);
}

/* --- inputs; rows change places in a rotation --- */

static cbx_status make_inputs(cbx_ctx *ctx, const cbx_params *given, cbx_array **in, cbx_err *err)
{
    const point p = read_point(given);
    cbx_rng rng = cbx_rng_make(p.graph.seed, CBX__SUITE_STREAM_INPUTS);
    cbx_array *graph[CBX__ELL_ARRAYS] = { NULL };
    const cbx_status st = cbx__ell_make(ctx, &p.graph, p.dtype, &rng, graph, err);

    if (st) return st;
    cbx_array_free(graph[CBX__ELL_INDICES]); /* only how long the rows are matters here */
    in[VALUES] = graph[CBX__ELL_WEIGHTS];
    in[DEGREE] = graph[CBX__ELL_DEGREE];
    return CBX_OK;
}

static const cbx__suite_axes axes[INPUTS] = { { 0, -1 }, { 0, -1 } };

CBX__SUITE_ROTATIONS(point, read_point, axes, INPUTS, 0, -1, { p.graph.seed, r, p.n, 0, NULL })

/* --- the oracle --- */

static void solve_row(const point *p, const double *v, size_t k, double *y, double *bound)
{
    const double u = cbx__suite_unit(p->dtype), min = p->dtype == CBX_F32 ? FLT_MIN : DBL_MIN;
    long double e[CBX__SUITE_MAX_NEIGHBOURS], sum, away = 0, top = -INFINITY;
    cbx__suite_total t = { 0 };

    for (size_t q = 0; q < k; q++) top = v[q] > top ? v[q] : top;
    for (size_t q = 0; q < k; q++) cbx__suite_include(&t, e[q] = expl(v[q] - top));
    sum = t.sum + t.lost;
    for (size_t q = 0; q < k; q++) away += e[q] / sum * (top - v[q]);
    for (size_t q = 0; q < p->k; q++) {
        y[q] = q < k ? (double)(e[q] / sum) : 0;
        bound[q] = q < k ? (cbx__suite_sum_error((double)k, u) + u * (10 + (double)(top - v[q] + away))) * y[q] + min
                         : 0;
    }
}

static void solve(const point *p, const cbx__suite_problem *q)
{
    for (size_t i = 0, at = 0; i < p->n; i++, at += p->k)
        solve_row(p, q->in[VALUES] + at, (size_t)q->in[DEGREE][i], q->answer + at, q->bound + at);
}

CBX__SUITE_ORACLE(cbx_ell_row_softmax_case, point, read_point, 0, solve)

/* --- the native baseline: three sweeps over a row --- */

#define LOOPS(T, SFX, EXP)                                                                                             \
    static void softmax_##SFX(const cbx__suite_plan *s)                                                                \
    {                                                                                                                  \
        const point *p = s->point;                                                                                     \
        const int32_t *degree = s->in[DEGREE];                                                                         \
        for (size_t i = 0; i < p->n; i++) {                                                                            \
            const size_t k = (size_t)degree[i];                                                                        \
            const T *v = (const T *)s->in[VALUES] + i * p->k;                                                          \
            T *y = (T *)s->out[0] + i * p->k, top = (T)-INFINITY, sum = 0;                                             \
            for (size_t q = 0; q < k; q++) top = v[q] > top ? v[q] : top;                                              \
            for (size_t q = 0; q < k; q++) sum += y[q] = EXP(v[q] - top);                                              \
            for (size_t q = 0; q < k; q++) y[q] /= sum;                                                                \
            for (size_t q = k; q < p->k; q++) y[q] = 0;                                                                \
        }                                                                                                              \
    }
LOOPS(float, f32, expf)
LOOPS(double, f64, exp)

static void run(void *plan)
{
    const cbx__suite_plan *s = plan;
    (((const point *)s->point)->dtype == CBX_F32 ? softmax_f32 : softmax_f64)(s);
}

/* Spare: a mutant's degrees, or its kept result. */
CBX__SUITE_PREPARE(prepare, cbx_ell_row_softmax_case, point, read_point, 0, (p.k > 1 ? p.k : 2) * p.n * p.size)

/* --- the toolkit's own kernel (calibrax/array/kernels/ell.h) --- */

static cbx_ell_product product_of(const cbx__suite_plan *s)
{
    const point *p = s->point;
    cbx_ell_product e = CBX_ELL_PRODUCT_INIT;

    e.dtype = p->dtype;
    e.rows = p->n, e.width = p->k;
    e.degree = s->in[DEGREE], e.values = s->in[VALUES], e.c = s->out[0];
    e.threads = 0; /* all that the worker is given */
    return e;
}

static void run_kernel(void *plan)
{
    const cbx_ell_product e = product_of(plan);
    (void)cbx_ell_softmax_run(&e, NULL); /* cannot fail: a point's shapes are right */
}

/* --- and on a GPU (calibrax/array/cuda/cuda.h) --- */

CBX__SUITE_PREPARE_BY(prepare_cuda, point, read_point,
                      cbx__suite_gpu_create(ctx, &cbx_ell_row_softmax_case, &p, sizeof p, (cbx__suite_gpu **)plan, err))

static void run_cuda(void *plan)
{
    cbx__suite_gpu *s = plan;
    const cbx_ell_product e = product_of(&s->plan);
    cbx__suite_gpu_wait(s, cbx_cuda_ell_softmax_run(s->g, &e, NULL, NULL));
}

/* --- planted faults --- */

CBX__SUITE_SUPPORTS(has_others, point, read_point, p.n > 1 && p.k > 1)
CBX__SUITE_SUPPORTS(is_padded, point, read_point, cbx__suite_graph_edges(&p.graph) < p.n * p.k)

static void run_padding(void *plan) { cbx__ell_run_padding(plan, run, VALUES, DEGREE); }

static void run_drop_last(void *plan) { cbx__ell_run_drop_last(plan, run, DEGREE); }

/* Results of 11 bits, as of an exp in half precision. */
static void run_fp16(void *plan)
{
    const cbx__suite_plan *s = plan;
    const point *p = s->point;

    run(plan);
    cbx__suite_round(p->dtype, s->out[0], p->n * p->k, 11, s->out[0]);
}

static void run_stale(void *plan) { cbx__suite_run_stale(plan, run); }

/* --- the table --- */

#define NATIVE(name, summary, run_)      CBX__SUITE_ENTRY CBX__SUITE_NATIVE(name, summary, prepare, run_, .work = work)
#define FOREIGN(name, provider, summary) CBX__SUITE_ENTRY CBX__SUITE_BASELINE(name, provider, summary, .work = work)
#define MUTANT(name, summary, reason, supports_, run_)                                                                 \
    CBX__SUITE_ENTRY CBX__SUITE_MUTANT(name, summary, reason, prepare, run_, .supports = supports_, .work = work)

/* In the order they are shown; the ratio reference first, mutants last. */
static const cbx_baseline_ops *const baselines[] = {
    NATIVE("rows", "plain loops: largest, exp and sum, quotient", run),
    NATIVE("calibrax", "the largest, exp and sum, and the quotient by vectors", run_kernel),
    CBX__SUITE_ENTRY CBX__SUITE_GPU("a warp a row, sums of lanes in a fixed order", prepare_cuda, run_cuda,
                                    .work = work),
    FOREIGN("numpy", "numpy", "mask, largest, exp, sum"),
    FOREIGN("jax-masked", "jax", "jax.nn.softmax over the places that are there"),
    FOREIGN("torch-masked", "torch", "mask with -inf, torch.softmax, zeros for empty rows"),
    FOREIGN("pyg", "pyg", "torch_geometric.utils.softmax by edge, then back into rows"),
    MUTANT("mutant-padding", "rows do not end", "lets the padding take part in the sum", is_padded, run_padding),
    MUTANT("mutant-drop-last", "rows end one early", "leaves out each row's last place", has_others, run_drop_last),
    MUTANT("mutant-fp16", "results of 11 bits", "rounds each result to half precision", has_others, run_fp16),
    MUTANT("mutant-stale", "answers from memory", "gives the first call's answer forever", has_others, run_stale),
};

static const char *const input_names[] = { "values", "degree" };
static const char *const output_names[] = { "y" };

CBX__SUITE_LABEL(point, read_point, "%zux%zu (%s, %s)", p.n, p.k, cbx_params_word(given, "graph"),
                 cbx_params_word(given, "dtype"))

CBX__SUITE_OUTPUT(point, read_point, { p.dtype, 2, { p.n, p.k } })

const cbx_case_ops cbx_ell_row_softmax_case = CBX__SUITE_CASE("ell_row_softmax",
                                                              "softmax over each row of a graph's weights");
