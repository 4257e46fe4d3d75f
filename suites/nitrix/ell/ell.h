/* The arrays that hold a graph in the ell_ cases. */
#ifndef SUITES_NITRIX_ELL_H
#define SUITES_NITRIX_ELL_H

#include "suites/common/arrays.h"
#include "suites/common/graph.h"
#include "suites/common/plan.h"

/* Order of the arrays below. */
enum { CBX__ELL_INDICES, CBX__ELL_WEIGHTS, CBX__ELL_DEGREE, CBX__ELL_ARRAYS };

#define CBX__ELL_MAX_VERTICES (1 << 22)

/* Parameters of a graph behind "n" and "k". */
#define CBX__ELL_GRAPH_PARAMS                                                                                          \
    CBX__SUITE_WORD("graph", cbx__suite_graph_words, "uniform", "which graph"),                                        \
        CBX__SUITE_WORD("order", cbx__suite_order_words, "natural", "in which order its vertices stand")

/* indices i32 n-by-k, weights n-by-k of the dtype (normal draws, or booleans; 0 in the padding),
 * degree i32 n. */
cbx_status cbx__ell_make(cbx_ctx *ctx, const cbx__suite_graph *g, cbx_dtype dtype, cbx_rng *rng, cbx_array **out,
                         cbx_err *err);
/* Axes of those arrays (rotation.h) in a list of inputs, from number `first` on. */
#define CBX__ELL_TURNED(first)                                                                                         \
    [(first) + CBX__ELL_INDICES] = { 0, -1, true }, [(first) + CBX__ELL_WEIGHTS] = { 0, -1 },                          \
               [(first) + CBX__ELL_DEGREE] = { 0, -1 }

/* Planted faults of all ell_ cases, each by the `run` of the honest baseline, with the numbers of
 * the inputs `values` (n-by-k), `degree` and `indices`; spare memory holds a copy of degree or
 * indices. */
void cbx__ell_run_drop_last(void *plan, cbx__suite_run_fn *run, size_t degree);
void cbx__ell_run_padding(void *plan, cbx__suite_run_fn *run, size_t values, size_t degree);
void cbx__ell_run_next(void *plan, cbx__suite_run_fn *run, size_t indices);

#endif
