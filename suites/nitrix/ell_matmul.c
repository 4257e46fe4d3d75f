/* Case ell_matmul: C[i,j] = fold over the neighbours p of row i of combine(values[i,p],
 * B[indices[i,p], j]), a sparse matrix in ELL form times a dense one, over six algebras; after
 * nitrix's semiring_ell_matmul.
 *
 * Rows end where their degree says, so that no algebra needs a value that masks: euclidean has
 * none.  An empty row gives the algebra's empty value.  The oracle gathers each element's terms and
 * folds them in long double (common/fold.h). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/array/kernels/ell.h"
#include "suites/common/fold.h"
#include "suites/common/gpu.h"
#include "suites/common/lazy.h"
#include "suites/common/params.h"
#include "suites/common/plan.h"
#include "suites/common/rotation.h"
#include "suites/common/rows.h"
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
    static const struct {
        cbx_pipe pipe;
        double ops, flop;
    } step[CBX_ALGEBRA_COUNT] = {
        [CBX_ALGEBRA_REAL] = { CBX_PIPE_FMA, 1, 2 },
        [CBX_ALGEBRA_LOG] = { CBX_PIPE_FMA, 7, 11 },
        [CBX_ALGEBRA_TROPICAL_MAX_PLUS] = { CBX_PIPE_ADD_MAX, 1, 2 },
        [CBX_ALGEBRA_TROPICAL_MIN_PLUS] = { CBX_PIPE_ADD_MAX, 1, 2 },
        [CBX_ALGEBRA_EUCLIDEAN] = { CBX_PIPE_SUB_FMA, 1, 3 },
    };
    const point p = read_point(given);
    const double edges = (double)cbx__suite_graph_edges(&p.graph), macs = edges * (double)p.n, m = (double)p.m;
    const double bytes = (double)p.size * (edges + 2 * m * (double)p.n) + 4 * (edges + m);

    if (p.semiring->id == CBX_ALGEBRA_BOOLEAN) {
        *out = cbx__suite_lazy_work(macs, m * (double)p.n);
        return;
    }
    *out = (cbx_work){ .macs = macs,
                       .flop = step[p.semiring->id].flop * macs,
                       .bytes = bytes,
                       .pipe = step[p.semiring->id].pipe,
                       .pipe_ops = step[p.semiring->id].ops * macs,
                       .working_set_bytes = bytes };
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
    if (st) {
        cbx__suite_arrays_free(a, INPUTS);
        return st;
    }
    cbx__suite_fill(a[B], cbx__suite_bool_density(p.k), &rng);
    memcpy(in, a, sizeof a);
    return CBX_OK;
}

static const cbx__suite_axes axes[INPUTS] = { CBX__ELL_TURNED(0), [B] = { 0, 1 } };

static cbx__suite_rotation rotation_of(const point *p, uint64_t r)
{
    return (cbx__suite_rotation){ p->graph.seed, r, p->m, p->n, &p->graph };
}

CBX__SUITE_ROTATIONS(point, read_point, rotation_of, axes, INPUTS, 0, 1)

/* --- the oracle --- */

/* Terms of C[i,j], values and elements of B, widened already. */
static void solve(const point *p, cbx_array *const *in, const double *values, const double *dense, double *answer,
                  uint8_t *truth, double *bound)
{
    const int32_t *indices = cbx_array_data(in[CBX__ELL_INDICES]), *degree = cbx_array_data(in[CBX__ELL_DEGREE]);
    double column[CBX__SUITE_MAX_NEIGHBOURS];

    for (size_t i = 0; i < p->m; i++) {
        for (size_t j = 0; j < p->n; j++) {
            const size_t k = (size_t)degree[i], at = i * p->n + j;
            double c;
            for (size_t e = 0; e < k; e++) column[e] = dense[(size_t)indices[i * p->k + e] * p->n + j];
            cbx__suite_fold(p->semiring, p->dtype, k, values + i * p->k, column, &c, &bound[at]);
            if (truth)
                truth[at] = c != 0;
            else
                answer[at] = c;
        }
    }
}

static cbx_status oracle(cbx_ctx *ctx, const cbx_params *given, cbx_array *const *in, cbx_array **answer,
                         cbx_array **bound, cbx_err *err)
{
    const point p = read_point(given);
    const bool boolean = p.dtype == CBX_BOOL;
    const cbx_array_desc descs[] = { { boolean ? CBX_BOOL : CBX_F64, 2, { p.m, p.n } },
                                     { CBX_F64, 2, { p.m, p.n } },
                                     { CBX_F64, 2, { p.m, p.k } },
                                     { CBX_F64, 2, { p.m, p.n } } };
    cbx_array *a[CBX_LEN(descs)] = { NULL };
    const cbx_status st = cbx__suite_arrays(ctx, descs, CBX_LEN(descs), a, err);

    if (st) return st;
    void *out = cbx_array_data_mut(a[0]);
    cbx__suite_widen(in[CBX__ELL_WEIGHTS], cbx_array_data_mut(a[2]));
    cbx__suite_widen(in[B], cbx_array_data_mut(a[3]));
    solve(&p, in, cbx_array_data(a[2]), cbx_array_data(a[3]), boolean ? NULL : out, boolean ? out : NULL,
          cbx_array_data_mut(a[1]));
    answer[0] = a[0];
    bound[0] = a[1];
    cbx__suite_arrays_free(a + 2, 2);
    return CBX_OK;
}

/* --- the native baseline: a row of C at a time --- */

/* Scratch: pointers to rows of B, then a row of sums; mutants have memory for a copy of any
 * input. */
static cbx_status prepare(cbx_ctx *ctx, const cbx_params *given, void **plan, cbx_err *err)
{
    const point p = read_point(given);
    return cbx__suite_plan_create(ctx, &cbx_ell_matmul_case, &p, sizeof p,
                                  CBX__SUITE_MAX_NEIGHBOURS * sizeof(void *) + p.n * p.size,
                                  p.m * (p.k > p.n ? p.k : p.n) * 8, plan, err);
}

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

static const cbx_baseline_ops rows_baseline = CBX__SUITE_NATIVE("rows", "plain loops: a row of C at a time", prepare,
                                                                run, .work = work);

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

static const cbx_baseline_ops kernel_baseline = CBX__SUITE_NATIVE(
    "calibrax", "rows of B gathered by vectors and folded in registers, the next row's neighbours asked for ahead",
    prepare, run_kernel, .work = work);

/* --- the limit: its gather alone --- */

static bool is_float(const cbx_params *given, const char **reason)
{
    *reason = NULL;
    return read_point(given).dtype != CBX_BOOL;
}

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

static const cbx_baseline_ops gather_limit = CBX__SUITE_NATIVE(
    "gather", "reads the rows of B that the product reads, into registers, and no more", prepare, run_gather,
    .supports = is_float, .work = gather_work,
    .limit = "reads the rows of B that any such product reads, and does nothing with them");
/* --- and on a GPU (calibrax/array/cuda/cuda.h) --- */

static cbx_status prepare_cuda(cbx_ctx *ctx, const cbx_params *given, void **plan, cbx_err *err)
{
    const point p = read_point(given);
    return cbx__suite_gpu_create(ctx, &cbx_ell_matmul_case, &p, sizeof p, (cbx__suite_gpu **)plan, err);
}

static void run_cuda(void *plan)
{
    cbx__suite_gpu *s = plan;
    const cbx_ell_product e = product_of(&s->plan);
    cbx__suite_gpu_wait(s, cbx_cuda_ell_product_run(s->g, &e, NULL, NULL));
}

static const cbx_baseline_ops cuda_baseline = CBX__SUITE_GPU(
    "rows of B gathered by 16 bytes a thread, four under way, folded in registers", prepare_cuda, run_cuda,
    .work = work);

/* --- planted faults --- */

/* One of k boolean terms decides about (ln 2 / 2) / k of the elements: half a hundred of those are
 * wanted. */
static bool shows(const cbx_params *given, const char **reason)
{
    const point p = read_point(given);
    *reason = NULL;
    return p.m > 1 && (p.dtype != CBX_BOOL || p.m * p.n >= 150 * p.k);
}

static bool is_padded(const cbx_params *given, const char **reason)
{
    const point p = read_point(given);
    const cbx_algebra g = p.semiring->id;
    *reason = NULL; /* 0 * b adds nothing to a sum, and 0 AND b nothing to OR */
    return g != CBX_ALGEBRA_REAL && g != CBX_ALGEBRA_BOOLEAN && cbx__suite_graph_edges(&p.graph) < p.m * p.k;
}

static void run_drop_last(void *plan) { cbx__ell_run_drop_last(plan, run, CBX__ELL_DEGREE); }

static void run_padding(void *plan) { cbx__ell_run_padding(plan, run, CBX__ELL_WEIGHTS, CBX__ELL_DEGREE); }

static void run_next_row(void *plan) { cbx__ell_run_next(plan, run, CBX__ELL_INDICES); }

static void run_tf32(void *plan) { cbx__suite_run_rounded(plan, run, B, 11); }

static void run_stale(void *plan) { cbx__suite_run_stale(plan, run); }

#define MUTANT(name, summary, reason, supports_, run_)                                                                 \
    CBX__SUITE_MUTANT(name, summary, reason, prepare, run_, .supports = supports_, .work = work)

static const cbx_baseline_ops mutants[] = {
    MUTANT("mutant-drop-last", "rows end one early", "leaves out each row's last element", shows, run_drop_last),
    MUTANT("mutant-padding", "rows do not end", "lets the padding take part", is_padded, run_padding),
    MUTANT("mutant-next-row", "rows of B one further", "reads row j + 1 of B for index j", shows, run_next_row),
    MUTANT("mutant-tf32", "operands of 11 bits", "rounds B to the 11 bits of TF32, then sums in full", is_float,
           run_tf32),
    MUTANT("mutant-stale", "answers from memory", "gives the first call's answer forever", shows, run_stale),
};

/* --- the table --- */

static bool is_real(const cbx_params *given, const char **reason)
{
    *reason = NULL; /* not a gap: a library's product has no other algebra */
    return read_point(given).semiring->id == CBX_ALGEBRA_REAL;
}

static bool is_built_in(const cbx_params *given, const char **reason)
{
    const cbx_algebra g = read_point(given).semiring->id;
    *reason = NULL; /* not a gap: GraphBLAS has no such operator built in, and runs others one call an element */
    return g != CBX_ALGEBRA_LOG && g != CBX_ALGEBRA_EUCLIDEAN;
}

#define FOREIGN(name, provider, summary, supports_)                                                                    \
    CBX__SUITE_BASELINE(name, provider, summary, .work = work, .supports = supports_)

static const cbx_baseline_ops foreign[] = {
    FOREIGN("numpy", "numpy", "gather rows of B, then reduce", NULL),
    FOREIGN("jax-gather", "jax", "gather rows of B, then reduce; compiled", NULL),
    FOREIGN("torch-gather", "torch", "gather rows of B, then reduce", NULL),
    FOREIGN("torch-csr", "torch", "sparse CSR times dense", is_real),
    FOREIGN("scipy-csr", "scipy", "CSR times dense", is_real),
    FOREIGN("graphblas", "graphblas", "mxm over the built-in semiring", is_built_in),
};

/* In the order they are shown; the ratio reference first, mutants last. */
static const cbx_baseline_ops *const baselines[] = {
    &rows_baseline, &kernel_baseline, &cuda_baseline, &foreign[0], &foreign[1], &foreign[2], &foreign[3], &foreign[4],
    &foreign[5],    &gather_limit,    &mutants[0],    &mutants[1], &mutants[2], &mutants[3], &mutants[4],
};

static const char *const input_names[] = { "indices", "values", "degree", "B" };
static const char *const output_names[] = { "C" };

static void label(const cbx_params *given, char *buf, size_t size)
{
    const point p = read_point(given);
    snprintf(buf, size, "%zux%zu by %zu (%s, %s%s%s, %s)", p.m, p.k, p.n, p.semiring->name,
             cbx_params_word(given, "graph"), p.graph.order ? " " : "",
             p.graph.order ? cbx_params_word(given, "order") : "", cbx_params_word(given, "dtype"));
}

static void outputs(const cbx_params *given, cbx_array_desc *out)
{
    const point p = read_point(given);
    out[0] = (cbx_array_desc){ p.dtype, 2, { p.m, p.n } };
}

const cbx_case_ops cbx_ell_matmul_case = CBX__SUITE_CASE(
    "ell_matmul", "a sparse matrix in rows of equal room times a dense one, over six algebras",
    .make_inputs = make_inputs, .oracle = oracle, .rotate_inputs = rotate_inputs, .rotate_output = rotate_output,
    .check_point = cbx__suite_check_algebra);
