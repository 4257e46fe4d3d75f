/* Case ell_edge_aggregate: out[i,:] = reduce over the neighbours j of vertex i of w[i,j] * (W
 * x[j,:]), reduce the sum or the maximum, after nitrix's semiring_ell_edge_aggregate.  This file is
 * the case's table; its parts lie in ell_edge_aggregate/.
 *
 * Everything is an argument of the call: x, W, the graph and its weights.  Rows end where their
 * degree says; the padding is not read. */
#include <math.h>
#include <string.h>

#include "suites/common/oracle.h"
#include "suites/common/params.h"
#include "suites/common/plan.h"
#include "suites/common/rotation.h"
#include "suites/common/work.h"
#include "suites/nitrix/ell_edge_aggregate/aggregate.h"

#define MAX_FEATURES 4096

static const char *const algebras[] = { "real", "tropical_max_plus", NULL };

static const cbx_param_def params[] = {
    CBX__SUITE_COUNT("n", 1, CBX__ELL_MAX_VERTICES, "vertices"),
    CBX__SUITE_COUNT("k", 1, CBX__SUITE_MAX_NEIGHBOURS, "most neighbours of a vertex"),
    CBX__SUITE_COUNT("d_in", 1, MAX_FEATURES, "features of a vertex"),
    CBX__SUITE_COUNT("d_out", 1, MAX_FEATURES, "features of the result"),
    CBX__SUITE_WORD("algebra", algebras, NULL, "real: the sum; tropical_max_plus: the maximum"),
    CBX__ELL_GRAPH_PARAMS,
    CBX__SUITE_WORD("dtype", cbx__suite_floats, "f32", "of x, W, the weights and the result"),
    CBX__SUITE_SEED,
};

cbx__ea_point cbx__ea_read(const cbx_params *point)
{
    cbx__ea_point p = { .n = cbx__suite_count(point, "n"),
                        .k = cbx__suite_count(point, "k"),
                        .d_in = cbx__suite_count(point, "d_in"),
                        .d_out = cbx__suite_count(point, "d_out"),
                        .max = strcmp(cbx_params_word(point, "algebra"), "real") != 0,
                        .dtype = cbx__suite_dtype(point) };

    p.graph = cbx__suite_graph_read(point, p.n, p.k);
    return p;
}

#define POINT(n, k, d, algebra, graph, order, dtype)                                                                   \
    "{\"n\":" #n ",\"k\":" #k ",\"d_in\":" #d ",\"d_out\":" #d ",\"algebra\":\"" algebra "\",\"graph\":\"" graph       \
    "\",\"order\":\"" order "\",\"dtype\":\"" dtype "\",\"seed\":0}"
#define BOTH(n, k, d, graph, order)                                                                                    \
    POINT(n, k, d, "real", graph, order, "f32"), POINT(n, k, d, "tropical_max_plus", graph, order, "f32")
#define REPRESENTATIVE 2 /* 16384, real */

static const char *const points[] = {
    BOTH(4096, 16, 64, "uniform", "natural"),
    BOTH(16384, 16, 64, "uniform", "natural"),
    BOTH(16384, 9, 64, "mesh2d", "natural"),
    BOTH(16384, 9, 64, "mesh2d", "shuffled"),
    BOTH(16384, 9, 64, "mesh2d", "rcm"),
    BOTH(16384, 64, 64, "power_law", "natural"),
    BOTH(16384, 64, 64, "skewed", "natural"),
    BOTH(4096, 16, 64, "empty_rows", "natural"),
    POINT(4096, 16, 64, "real", "uniform", "natural", "f64"),
    POINT(4096, 16, 64, "tropical_max_plus", "uniform", "natural", "f64"),
    BOTH(1009, 7, 33, "power_law", "shuffled"), /* odd: tails everywhere */
    BOTH(64, 4, 8, "uniform", "natural"),       /* all overhead */
};

static const char *const series[] = {
    BOTH(1024, 16, 64, "uniform", "natural"),  BOTH(2048, 16, 64, "uniform", "natural"),
    BOTH(4096, 16, 64, "uniform", "natural"),  BOTH(8192, 16, 64, "uniform", "natural"),
    BOTH(16384, 16, 64, "uniform", "natural"),
};

/* --- work: a lower bound of each algorithm --- */

static cbx_work work_of(const cbx_params *given, bool once, bool stored)
{
    const cbx__ea_point p = cbx__ea_read(given);
    const double n = (double)p.n, d_in = (double)p.d_in, d_out = (double)p.d_out,
                 size = (double)cbx_dtype_size(p.dtype), edges = (double)cbx__suite_graph_edges(&p.graph);
    const double products = (once ? n : edges) * d_in * d_out, messages = edges * d_out;
    const double bytes = size * (n * (d_in + (stored ? 2 : 1) * d_out) + d_in * d_out + edges) + 4 * (edges + n);

    return cbx__suite_work(n * d_in * d_out + messages, 2 * (products + messages), bytes, CBX_PIPE_FMA,
                           products + messages);
}

void cbx__ea_work_once(const cbx_params *given, cbx_work *out) { *out = work_of(given, true, false); }
void cbx__ea_work_once_stored(const cbx_params *given, cbx_work *out) { *out = work_of(given, true, true); }
void cbx__ea_work_per_edge(const cbx_params *given, cbx_work *out) { *out = work_of(given, false, false); }

/* --- inputs, and other names for the vertices and the features of the result --- */

static cbx_status make_inputs(cbx_ctx *ctx, const cbx_params *given, cbx_array **in, cbx_err *err)
{
    const cbx__ea_point p = cbx__ea_read(given);
    const cbx_array_desc descs[] = { { p.dtype, 2, { p.n, p.d_in } }, { p.dtype, 2, { p.d_out, p.d_in } } };
    cbx_rng rng = cbx_rng_make(p.graph.seed, CBX__SUITE_STREAM_INPUTS);
    cbx_array *a[CBX__EA_INPUTS] = { NULL };
    cbx_status st = cbx__suite_arrays(ctx, descs, CBX_LEN(descs), a, err);

    if (!st) {
        cbx__suite_fill_normal(a[CBX__EA_X], 1, &rng);
        cbx__suite_fill_normal(a[CBX__EA_W], 1 / sqrt((double)p.d_in), &rng);
        st = cbx__ell_make(ctx, &p.graph, p.dtype, &rng, a + CBX__EA_GRAPH, err);
    }
    return cbx__suite_arrays_give(st, a, CBX__EA_INPUTS, in);
}

static const cbx__suite_axes axes[CBX__EA_INPUTS] = {
    [CBX__EA_X] = { 0, -1 }, [CBX__EA_W] = { -1, 0 }, CBX__ELL_TURNED(CBX__EA_GRAPH)
};

CBX__SUITE_ROTATIONS(cbx__ea_point, cbx__ea_read, axes, CBX__EA_INPUTS, 0, 1,
                     { p.graph.seed, r, p.n, p.d_out, &p.graph })
CBX__SUITE_ORACLE(cbx_ell_edge_aggregate_case, cbx__ea_point, cbx__ea_read, CBX__EA_SCRATCH(&p), cbx__ea_solve)

/* --- the table --- */

/* A library's product sums. */
CBX__SUITE_SUPPORTS(is_sum, cbx__ea_point, cbx__ea_read, !p.max)

/* GraphBLAS holds one weight for a pair of vertices. */
static bool has_single_edges(const cbx_params *point, const char **reason)
{
    const cbx__ea_point p = cbx__ea_read(point);
    if (!p.max || p.graph.kind == CBX__SUITE_MESH2D) return true;
    *reason = "a GraphBLAS matrix has one element for a pair of vertices, and this graph has pairs with several edges, "
              "whose maximum is not that of one";
    return false;
}

#define FOREIGN(name, provider, summary, supports_)                                                                    \
    CBX__SUITE_ENTRY CBX__SUITE_BASELINE(name, provider, summary, .work = cbx__ea_work_once, .supports = supports_)

/* In the order they are shown; the ratio reference first, mutants last.  Each framework's own form
 * of the graph is made ready before the clock; workers/python/cases/ell_edge_aggregate.py
 * runs them. */
static const cbx_baseline_ops *const baselines[] = {
    &cbx__ea_once,
    &cbx__ea_per_edge,
    &cbx__ea_gather,
    &cbx__ea_cuda,
    FOREIGN("numpy", "numpy", "project once, gather by row, weighted sum or masked maximum", NULL),
    FOREIGN("jax-once", "jax", "project once, gather by row, reduce", NULL),
    CBX__SUITE_ENTRY CBX__SUITE_BASELINE(
        "jax-per-edge", "jax", "a function of an edge, mapped over all edges",
        .slow_reason = "k times the products: 9.7 ms against 2.0 ms of jax-once at 4096x16, 64 to 64",
        .work = cbx__ea_work_per_edge),
    FOREIGN("torch-scatter", "torch", "project once, gather by edge, index_add or scatter_reduce amax", NULL),
    FOREIGN("torch-gather", "torch", "project once, gather by row, sum or amax", NULL),
    FOREIGN("torch-csr", "torch", "project once, sparse CSR times dense", is_sum),
    FOREIGN("pyg", "pyg", "torch_geometric MessagePassing: project once, propagate with add or max", NULL),
    FOREIGN("scipy-csr", "scipy", "project once, CSR times dense", is_sum),
    FOREIGN("graphblas", "graphblas", "project once, then mxm over plus_times or max_times", has_single_edges),
    &cbx__ea_limit,
    &cbx__ea_mutants[0],
    &cbx__ea_mutants[1],
    &cbx__ea_mutants[2],
    &cbx__ea_mutants[3],
    &cbx__ea_mutants[4],
    &cbx__ea_mutants[5],
    &cbx__ea_mutants[6],
};

static const char *const input_names[] = { "x", "W", "indices", "weights", "degree" };
static const char *const output_names[] = { "out" };

CBX__SUITE_LABEL(cbx__ea_point, cbx__ea_read, "%zux%zu, %zu to %zu (%s, %s%s%s, %s)", p.n, p.k, p.d_in, p.d_out,
                 p.max ? "max" : "sum", cbx_params_word(given, "graph"), p.graph.order ? " " : "",
                 p.graph.order ? cbx_params_word(given, "order") : "", cbx_params_word(given, "dtype"))

CBX__SUITE_OUTPUT(cbx__ea_point, cbx__ea_read, { p.dtype, 2, { p.n, p.d_out } })

const cbx_case_ops cbx_ell_edge_aggregate_case = CBX__SUITE_CASE(
    "ell_edge_aggregate",
    "features of neighbours, projected, weighted, and summed or maximised over the edges of a graph");
