/* Planted faults: `once` on inputs spoiled before, or with results spoiled after, in ways real
 * kernels have been wrong. */
#include <math.h>
#include <string.h>

#include "suites/common/plan.h"
#include "suites/nitrix/ell_edge_aggregate/aggregate.h"

enum { INDICES = CBX__EA_GRAPH + CBX__ELL_INDICES, DEGREE = CBX__EA_GRAPH + CBX__ELL_DEGREE };

/* Memory for a spoiled copy of any input, or of the output. */
static size_t capacity(const cbx__ea_point *p)
{
    size_t largest = p->n * p->d_in;
    largest = p->d_out * p->d_in > largest ? p->d_out * p->d_in : largest;
    largest = p->n * p->d_out > largest ? p->n * p->d_out : largest;
    return (largest > p->n * p->k ? largest : p->n * p->k) * 8;
}

CBX__SUITE_PREPARE(prepare, cbx_ell_edge_aggregate_case, cbx__ea_point, cbx__ea_read,
                   (p.d_in + p.n) * p.d_out * cbx_dtype_size(p.dtype), capacity(&p))

CBX__SUITE_SUPPORTS(has_edges, cbx__ea_point, cbx__ea_read, p.k > 0)

/* --- the last neighbour is left out --- */

static void run_drop_last(void *plan) { cbx__ell_run_drop_last(plan, cbx__ea_run_once, DEGREE); }

/* --- the padding takes part: weights of 0 are harmless in a sum, and wrong in a maximum of
 * negative numbers --- */

/* A mesh's border lacks half of a disc of neighbours: of more than a few left, the largest is never
 * negative. */
CBX__SUITE_SUPPORTS(has_padding, cbx__ea_point, cbx__ea_read,
                    cbx__suite_graph_edges(&p.graph) < p.n * p.k && p.max &&
                        (p.graph.kind != CBX__SUITE_MESH2D || p.k <= 12))

static void run_padding(void *plan)
{
    cbx__ell_run_padding(plan, cbx__ea_run_once, CBX__EA_GRAPH + CBX__ELL_WEIGHTS, DEGREE);
}

/* --- an empty row's maximum is 0, as scatter operations have it that start from zeros --- */

CBX__SUITE_SUPPORTS(has_empty_rows, cbx__ea_point, cbx__ea_read, p.graph.kind == CBX__SUITE_EMPTY_ROWS && p.max)

static void run_zero_empty(void *plan)
{
    cbx__suite_plan *s = plan;
    const cbx__ea_point *p = s->point;
    const size_t row = p->d_out * cbx_dtype_size(p->dtype);
    const int32_t *degree = s->in[DEGREE];

    cbx__ea_run_once(plan);
    for (size_t i = 0; i < p->n; i++)
        if (degree[i] == 0) memset((char *)s->out[0] + i * row, 0, row);
}

/* --- neighbours one further --- */

CBX__SUITE_SUPPORTS(has_others, cbx__ea_point, cbx__ea_read, p.n > 1)

static void run_next_vertex(void *plan) { cbx__ell_run_next(plan, cbx__ea_run_once, INDICES); }

/* --- operands of 11 bits, results of 8 --- */

static void run_tf32(void *plan) { cbx__suite_run_rounded(plan, cbx__ea_run_once, CBX__EA_X, 11); }

static void run_bf16(void *plan)
{
    cbx__suite_plan *s = plan;
    const cbx__ea_point *p = s->point;

    cbx__ea_run_once(plan);
    for (size_t i = 0; i < p->n * p->d_out; i++) {
        void *at = (char *)s->out[0] + i * cbx_dtype_size(p->dtype);
        const double x = p->dtype == CBX_F32 ? (double)*(float *)at : *(double *)at;
        if (isfinite(x)) cbx__suite_round(p->dtype, at, 1, 8, at);
    }
}

/* --- the first answer for ever --- */

static void run_stale(void *plan) { cbx__suite_run_stale(plan, cbx__ea_run_once); }

#define MUTANT(name, summary, reason, supports_, run)                                                                  \
    CBX__SUITE_MUTANT(name, summary, reason, prepare, run, .supports = supports_, .work = cbx__ea_work_once)

const cbx_baseline_ops cbx__ea_mutants[CBX__EA_MUTANTS] = {
    MUTANT("mutant-drop-last", "rows end one early", "leaves out each row's last neighbour", has_edges, run_drop_last),
    MUTANT("mutant-padding", "rows do not end", "lets the padding take part in the maximum", has_padding, run_padding),
    MUTANT("mutant-zero-empty", "empty rows are 0", "gives 0 for the maximum of no neighbours", has_empty_rows,
           run_zero_empty),
    MUTANT("mutant-next-vertex", "neighbours one further", "reads vertex j + 1 for neighbour j", has_others,
           run_next_vertex),
    MUTANT("mutant-tf32", "multiplies in 11 bits", "rounds x to the 11 bits of TF32, then sums in full", has_edges,
           run_tf32),
    MUTANT("mutant-bf16", "results of 8 bits", "rounds each result to bfloat16", has_edges, run_bf16),
    MUTANT("mutant-stale", "answers from memory", "gives the first call's answer forever", has_others, run_stale),
};
