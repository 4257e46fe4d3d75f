/* Case ell_matmul: C[i,j] = fold over the neighbours p of row i of combine(values[i,p],
 * B[indices[i,p], j]), a sparse matrix in ELL form times a dense one, over six algebras; after
 * nitrix's semiring_ell_matmul.
 *
 * Rows end where their degree says, so that no algebra needs a value that masks: euclidean has
 * none.  An empty row gives the algebra's empty value.  The oracle gathers each element's terms and
 * folds them in long double (common/oracle.h). */
#include <math.h>

#include "calibrax/array/kernels/ell.h"
#include "suites/common/gpu.h"
#include "suites/common/oracle.h"
#include "suites/common/params.h"
#include "suites/common/plan.h"
#include "suites/common/rotation.h"
#include "suites/common/rows.h"
#include "suites/common/work.h"
#include "suites/nitrix/ell/ell.h"
#include "suites/suites.h"

#define MAX_COLUMNS 4096

/* Order of the inputs: the graph's arrays as in ell.h, values in the place of weights, then B. */
enum { B = CBX__ELL_ARRAYS, INPUTS };

static const cbx_param_def params[] = {
    CBX__SUITE_COUNT("m", 1, CBX__ELL_MAX_VERTICES, "rows and columns of the sparse matrix, rows of B"),
    CBX__SUITE_COUNT("k", 1, CBX__SUITE_MAX_NEIGHBOURS, "most elements of a row"),
    CBX__SUITE_COUNT("n", 1, MAX_COLUMNS, "columns of B and C"),
    CBX__SUITE_WORD("algebra", cbx__suite_algebras, NULL, "which combine and update"),
    CBX__ELL_GRAPH_PARAMS,
    CBX__SUITE_WORD_FROM("dtype", cbx__suite_floats_and_bool, cbx__suite_fitting_dtype,
                         "of values, B and C; f32, and bool for boolean, if absent"),
    CBX__SUITE_SEED,
};

typedef struct point {
    cbx__suite_graph graph;
    const cbx_semiring *semiring;
    cbx_dtype dtype;
    size_t m, k, n, size; /* size: of an element */
} point;

static point read_point(const cbx_params *given)
{
    point p = { .semiring = cbx__suite_algebra(given),
                .dtype = cbx__suite_dtype(given),
                .m = cbx__suite_count(given, "m"),
                .k = cbx__suite_count(given, "k"),
                .n = cbx__suite_count(given, "n") };

    p.graph = cbx__suite_graph_read(given, p.m, p.k);
    p.size = cbx_dtype_size(p.dtype);
    return p;
}

#define POINT(m, k, n, algebra, graph, order, dtype)                                                                   \
    "{\"m\":" #m ",\"k\":" #k ",\"n\":" #n ",\"algebra\":\"" algebra "\",\"graph\":\"" graph "\",\"order\":\"" order   \
    "\",\"dtype\":\"" dtype "\",\"seed\":0}"
#define FLOAT(m, k, n, algebra, graph) POINT(m, k, n, algebra, graph, "natural", "f32")
#define REPRESENTATIVE                 0

static const char *const points[] = {
    FLOAT(4096, 32, 32, "real", "uniform"), /* the size that others publish */
    FLOAT(4096, 32, 32, "log", "uniform"),
    FLOAT(4096, 32, 32, "tropical_max_plus", "uniform"),
    FLOAT(4096, 32, 32, "tropical_min_plus", "uniform"),
    FLOAT(4096, 32, 32, "euclidean", "uniform"),
    POINT(4096, 32, 32, "boolean", "uniform", "natural", "bool"),
    FLOAT(1024, 16, 32, "real", "uniform"),
    FLOAT(1024, 16, 32, "log", "uniform"),
    FLOAT(1024, 16, 32, "tropical_max_plus", "uniform"),
    POINT(4096, 32, 32, "real", "uniform", "natural", "f64"),
    POINT(4096, 32, 32, "log", "uniform", "natural", "f64"),
    FLOAT(65536, 9, 32, "real", "mesh2d"),
    POINT(65536, 9, 32, "real", "mesh2d", "shuffled", "f32"),
    POINT(65536, 9, 32, "real", "mesh2d", "rcm", "f32"),
    FLOAT(16384, 64, 32, "real", "power_law"),
    FLOAT(16384, 64, 32, "tropical_max_plus", "power_law"),
    FLOAT(16384, 64, 32, "real", "skewed"),
    FLOAT(4096, 32, 32, "log", "empty_rows"),
    FLOAT(4096, 32, 32, "tropical_max_plus", "empty_rows"),
    FLOAT(4096, 16, 64, "real", "uniform"), /* B in the second-level cache, the last one, memory */
    FLOAT(16384, 16, 64, "real", "uniform"),
    FLOAT(131072, 16, 64, "real", "uniform"),
    FLOAT(16384, 16, 64, "tropical_max_plus", "uniform"),
    FLOAT(1009, 7, 33, "euclidean", "power_law"), /* odd */
    FLOAT(64, 4, 8, "real", "uniform"),           /* all overhead */
};

#define ROWS(m) FLOAT(m, 32, 32, "real", "uniform"), FLOAT(m, 32, 32, "log", "uniform")

static const char *const series[] = { ROWS(1024), ROWS(2048), ROWS(4096), ROWS(8192), ROWS(16384) };

/* --- work: each element of a row meets a row of B; an exp takes at least 7 operations --- */

static void work(const cbx_params *given, cbx_work *out)
{
    const point p = read_point(given);
    const cbx_algebra g = p.semiring->id;
    const cbx__suite_step step = g == CBX_ALGEBRA_LOG ? (cbx__suite_step){ CBX_PIPE_FMA, 7, 11 }
                                                      : cbx__suite_step_of(g);
    const double edges = (double)cbx__suite_graph_edges(&p.graph), macs = edges * (double)p.n, m = (double)p.m;
    const double bytes = (double)p.size * (edges + 2 * m * (double)p.n) + 4 * (edges + m);

    *out = g == CBX_ALGEBRA_BOOLEAN ? cbx__suite_lazy_work(macs, m * (double)p.n)
                                    : cbx__suite_work(macs, step.flop * macs, bytes, step.pipe, step.ops * macs);
}

/* --- inputs and their rotation: other names for the rows, another order of B's columns --- */

static cbx_status make_inputs(cbx_ctx *ctx, const cbx_params *given, cbx_array **in, cbx_err *err)
{
    const point p = read_point(given);
    const cbx_array_desc shape = { p.dtype, 2, { p.m, p.n } };
    cbx_rng rng = cbx_rng_make(p.graph.seed, CBX__SUITE_STREAM_INPUTS);
    cbx_array *a[INPUTS] = { NULL };
    cbx_status st = cbx_array_create(ctx, &shape, &a[B], err);

    if (!st) st = cbx__ell_make(ctx, &p.graph, p.dtype, &rng, a, err);
    if (!st) cbx__suite_fill(a[B], cbx__suite_bool_density(p.k), &rng);
    return cbx__suite_arrays_give(st, a, INPUTS, in);
}

static const cbx__suite_axes axes[INPUTS] = { CBX__ELL_TURNED(0), [B] = { 0, 1 } };

CBX__SUITE_ROTATIONS(point, read_point, axes, INPUTS, 0, 1, { p.graph.seed, r, p.m, p.n, &p.graph })

/* --- the oracle --- */

static void solve(const point *p, const cbx__suite_problem *q)
{
    double column[CBX__SUITE_MAX_NEIGHBOURS];

    for (size_t i = 0; i < p->m; i++) {
        const size_t k = (size_t)q->in[CBX__ELL_DEGREE][i];
        const double *indices = q->in[CBX__ELL_INDICES] + i * p->k, *values = q->in[CBX__ELL_WEIGHTS] + i * p->k;
        for (size_t j = 0; j < p->n; j++) {
            for (size_t e = 0; e < k; e++) column[e] = q->in[B][(size_t)indices[e] * p->n + j];
            cbx__suite_problem_fold(q, i * p->n + j, p->semiring, p->dtype, k, values, column);
        }
    }
}

CBX__SUITE_ORACLE(cbx_ell_matmul_case, point, read_point, 0, solve)

/* --- the native baseline: a row of C at a time --- */

/* Scratch: pointers to rows of B, then a row of sums; mutants have memory for a copy of any
 * input. */
CBX__SUITE_PREPARE(prepare, cbx_ell_matmul_case, point, read_point,
                   CBX__SUITE_MAX_NEIGHBOURS * sizeof(void *) + p.n * p.size, (p.k > p.n ? p.k : p.n) * p.m * 8)

static void run(void *plan)
{
    const cbx__suite_plan *s = plan;
    const point *p = s->point;
    const int32_t *indices = s->in[CBX__ELL_INDICES], *degree = s->in[CBX__ELL_DEGREE];
    const char *values = s->in[CBX__ELL_WEIGHTS], *dense = s->in[B];
    cbx__suite_row_fn *row = cbx__suite_row(p->semiring->id, p->dtype);
    const void **b = s->scratch;
    char *space = (char *)s->scratch + CBX__SUITE_MAX_NEIGHBOURS * sizeof(void *), *out = s->out[0];

    for (size_t i = 0; i < p->m; i++) {
        const cbx__suite_terms t = { (size_t)degree[i], p->n, values + i * p->k * p->size, b };
        for (size_t e = 0; e < t.k; e++) b[e] = dense + (size_t)indices[i * p->k + e] * p->n * p->size;
        row(&t, out + i * p->n * p->size, space);
    }
}

/* --- the toolkit's own kernel (calibrax/array/kernels/ell.h) --- */

static cbx_ell_product product_of(const cbx__suite_plan *s)
{
    const point *p = s->point;
    cbx_ell_product e = CBX_ELL_PRODUCT_INIT;

    e.semiring = p->semiring, e.dtype = p->dtype;
    e.rows = e.cols = p->m, e.width = p->k, e.d = e.ldb = e.ldc = p->n;
    e.index = s->in[CBX__ELL_INDICES], e.degree = s->in[CBX__ELL_DEGREE], e.values = s->in[CBX__ELL_WEIGHTS];
    e.b = s->in[B], e.c = s->out[0];
    e.threads = 0; /* all that the worker is given */
    return e;
}

static void run_kernel(void *plan)
{
    const cbx_ell_product e = product_of(plan);
    (void)cbx_ell_product_run(&e, NULL); /* cannot fail: a point's shapes and algebra are right */
}

/* --- the limit: its gather alone --- */

CBX__SUITE_SUPPORTS(is_float, point, read_point, p.dtype != CBX_BOOL)

static void run_gather(void *plan)
{
    const cbx_ell_product e = product_of(plan);
    (void)cbx_ell_gather_run(&e, NULL);
}

/* No arithmetic, and nothing is written. */
static void gather_work(const cbx_params *given, cbx_work *out)
{
    const point p = read_point(given);

    work(given, out);
    out->flop = out->pipe_ops = 0;
    out->bytes -= (double)p.size * (double)p.m * (double)p.n;
    out->working_set_bytes = out->bytes;
}

/* --- and on a GPU (calibrax/array/cuda/cuda.h) --- */

CBX__SUITE_PREPARE_BY(prepare_cuda, point, read_point,
                      cbx__suite_gpu_create(ctx, &cbx_ell_matmul_case, &p, sizeof p, (cbx__suite_gpu **)plan, err))

static void run_cuda(void *plan)
{
    cbx__suite_gpu *s = plan;
    const cbx_ell_product e = product_of(&s->plan);
    cbx__suite_gpu_wait(s, cbx_cuda_ell_product_run(s->g, &e, NULL, NULL));
}

/* --- planted faults --- */

/* One of k boolean terms decides about (ln 2 / 2) / k of the elements: half a hundred of those are
 * wanted. */
CBX__SUITE_SUPPORTS(shows, point, read_point, p.m > 1 && (p.dtype != CBX_BOOL || p.m * p.n >= 150 * p.k))

/* 0 * b adds nothing to a sum, and 0 AND b nothing to OR. */
CBX__SUITE_SUPPORTS(is_padded, point, read_point,
                    p.semiring->id != CBX_ALGEBRA_REAL && p.semiring->id != CBX_ALGEBRA_BOOLEAN &&
                        cbx__suite_graph_edges(&p.graph) < p.m * p.k)

static void run_drop_last(void *plan) { cbx__ell_run_drop_last(plan, run, CBX__ELL_DEGREE); }

static void run_padding(void *plan) { cbx__ell_run_padding(plan, run, CBX__ELL_WEIGHTS, CBX__ELL_DEGREE); }

static void run_next_row(void *plan) { cbx__ell_run_next(plan, run, CBX__ELL_INDICES); }

static void run_tf32(void *plan) { cbx__suite_run_rounded(plan, run, B, 11); }

static void run_stale(void *plan) { cbx__suite_run_stale(plan, run); }

/* --- the table --- */

/* A library's product has no other algebra; GraphBLAS has no such operator built in, and runs
 * others one call an element. */
CBX__SUITE_SUPPORTS(is_real, point, read_point, p.semiring->id == CBX_ALGEBRA_REAL)
CBX__SUITE_SUPPORTS(is_built_in, point, read_point,
                    p.semiring->id != CBX_ALGEBRA_LOG && p.semiring->id != CBX_ALGEBRA_EUCLIDEAN)

#define NATIVE(name, summary, run_, ...)                                                                               \
    CBX__SUITE_ENTRY CBX__SUITE_NATIVE(name, summary, prepare, run_, .work = __VA_ARGS__)
#define FOREIGN(name, provider, summary, supports_)                                                                    \
    CBX__SUITE_ENTRY CBX__SUITE_BASELINE(name, provider, summary, .work = work, .supports = supports_)
#define MUTANT(name, summary, reason, supports_, run_)                                                                 \
    CBX__SUITE_ENTRY CBX__SUITE_MUTANT(name, summary, reason, prepare, run_, .supports = supports_, .work = work)

/* In the order they are shown; the ratio reference first, mutants last. */
static const cbx_baseline_ops *const baselines[] = {
    NATIVE("rows", "plain loops: a row of C at a time", run, work),
    NATIVE("calibrax",
           "rows of B gathered by vectors and folded in registers, the next row's neighbours asked for ahead",
           run_kernel, work),
    CBX__SUITE_ENTRY CBX__SUITE_GPU("rows of B gathered by 16 bytes a thread, four under way, folded in registers",
                                    prepare_cuda, run_cuda, .work = work),
    FOREIGN("numpy", "numpy", "gather rows of B, then reduce", NULL),
    FOREIGN("jax-gather", "jax", "gather rows of B, then reduce; compiled", NULL),
    FOREIGN("torch-gather", "torch", "gather rows of B, then reduce", NULL),
    FOREIGN("torch-csr", "torch", "sparse CSR times dense", is_real),
    FOREIGN("scipy-csr", "scipy", "CSR times dense", is_real),
    FOREIGN("graphblas", "graphblas", "mxm over the built-in semiring", is_built_in),
    NATIVE("gather", "reads the rows of B that the product reads, into registers, and no more", run_gather, gather_work,
           .supports = is_float,
           .limit = "reads the rows of B that any such product reads, and does nothing with them"),
    MUTANT("mutant-drop-last", "rows end one early", "leaves out each row's last element", shows, run_drop_last),
    MUTANT("mutant-padding", "rows do not end", "lets the padding take part", is_padded, run_padding),
    MUTANT("mutant-next-row", "rows of B one further", "reads row j + 1 of B for index j", shows, run_next_row),
    MUTANT("mutant-tf32", "operands of 11 bits", "rounds B to the 11 bits of TF32, then sums in full", is_float,
           run_tf32),
    MUTANT("mutant-stale", "answers from memory", "gives the first call's answer forever", shows, run_stale),
};

static const char *const input_names[] = { "indices", "values", "degree", "B" };
static const char *const output_names[] = { "C" };

CBX__SUITE_LABEL(point, read_point, "%zux%zu by %zu (%s, %s%s%s, %s)", p.m, p.k, p.n, p.semiring->name,
                 cbx_params_word(given, "graph"), p.graph.order ? " " : "",
                 p.graph.order ? cbx_params_word(given, "order") : "", cbx_params_word(given, "dtype"))

CBX__SUITE_OUTPUT(point, read_point, { p.dtype, 2, { p.m, p.n } })

const cbx_case_ops cbx_ell_matmul_case = CBX__SUITE_CASE(
    "ell_matmul", "a sparse matrix in rows of equal room times a dense one, over six algebras",
    .check_point = cbx__suite_check_algebra);
