/* What the table, the oracle and the baselines of ell_edge_aggregate share. */
#ifndef SUITES_NITRIX_ELL_EDGE_AGGREGATE_H
#define SUITES_NITRIX_ELL_EDGE_AGGREGATE_H

#include "calibrax/array/kernels/ell.h"
#include "calibrax/perf/case/case.h"
#include "suites/nitrix/ell/ell.h"
#include "suites/suites.h"

/* Order of the inputs; those of the graph are as in ell.h. */
enum { CBX__EA_X, CBX__EA_W, CBX__EA_GRAPH, CBX__EA_INPUTS = CBX__EA_GRAPH + CBX__ELL_ARRAYS };

/* A point read once. */
typedef struct cbx__ea_point {
    cbx__suite_graph graph;
    size_t n, k, d_in, d_out;
    bool max; /* else the sum */
    cbx_dtype dtype;
} cbx__ea_point;

cbx__ea_point cbx__ea_read(const cbx_params *params);

struct cbx__suite_problem;
void cbx__ea_solve(const cbx__ea_point *p, const struct cbx__suite_problem *q);
/* Doubles that this needs: two long doubles for each feature of the result. */
#define CBX__EA_SCRATCH(p) (2 * (p)->n * (p)->d_out * sizeof(long double) / sizeof(double))

extern const cbx_baseline_ops cbx__ea_once, cbx__ea_per_edge, cbx__ea_gather, cbx__ea_limit, cbx__ea_cuda;
#define CBX__EA_MUTANTS 7
extern const cbx_baseline_ops cbx__ea_mutants[CBX__EA_MUTANTS];

/* The projection, and the aggregation of what is projected: inputs, h and out as they lie. */
cbx_matmul cbx__ea_projection(const cbx__ea_point *p);
cbx_ell_product cbx__ea_product(const cbx__ea_point *p, const void *const *graph, const void *h, void *out);

/* The honest loop over `once`, for the mutants. */
void cbx__ea_run_once(void *plan);

/* Work of a call: the algorithms that project each vertex once, with h written to memory or not,
 * and those that project for each edge. */
void cbx__ea_work_once(const cbx_params *params, cbx_work *out);
void cbx__ea_work_once_stored(const cbx_params *params, cbx_work *out);
void cbx__ea_work_per_edge(const cbx_params *params, cbx_work *out);

#endif
