/* Planted faults: `once` on inputs spoiled before, or with results spoiled after, in ways real
 * kernels have been wrong. */
#include <math.h>
#include <string.h>

#include "suites/common/plan.h"
#include "suites/common/rounding.h"
#include "suites/nitrix/ell_edge_aggregate/aggregate.h"

enum { INDICES = CBX__EA_GRAPH + CBX__ELL_INDICES, DEGREE = CBX__EA_GRAPH + CBX__ELL_DEGREE };

/* Scratch: what `once` needs, and behind it space for one spoiled copy of any input, or of the
 * output. */
static size_t honest_bytes(const cbx__ea_point *p) { return (p->d_in + p->n) * p->d_out * cbx_dtype_size(p->dtype); }

static size_t capacity(const cbx__ea_point *p)
{
    size_t largest = p->n * p->d_in;
    largest = p->d_out * p->d_in > largest ? p->d_out * p->d_in : largest;
    largest = p->n * p->d_out > largest ? p->n * p->d_out : largest;
    return (largest > p->n * p->k ? largest : p->n * p->k) * 8;
}

static cbx_status prepare(cbx_ctx *ctx, const cbx_params *params, void **plan, cbx_err *err)
{
    const cbx__ea_point p = cbx__ea_read(params);
    return cbx__suite_plan_create(ctx, &cbx_ell_edge_aggregate_case, &p, sizeof p, honest_bytes(&p) + capacity(&p) + 64,
                                  plan, err);
}

static void *spare(const cbx__suite_plan *s) { return (char *)s->scratch + (honest_bytes(s->point) + 63) / 64 * 64; }

/* Runs `once` with input i replaced. */
static void run_with(cbx__suite_plan *s, size_t i, const void *other)
{
    const void *right = s->in[i];
    s->in[i] = other;
    cbx__ea_run_once(s);
    s->in[i] = right;
}

static bool has_edges(const cbx_params *params, const char **reason)
{
    *reason = NULL;
    return cbx__ea_read(params).k > 0;
}

/* --- the last neighbour is left out --- */

static void run_drop_last(void *plan)
{
    cbx__suite_plan *s = plan;
    const cbx__ea_point *p = s->point;
    const int32_t *degree = s->in[DEGREE];
    int32_t *less = spare(s);

    for (size_t i = 0; i < p->n; i++) less[i] = degree[i] > 0 ? degree[i] - 1 : 0;
    run_with(s, DEGREE, less);
}

/* --- the padding takes part: weights of 0 are harmless in a sum, and wrong in a maximum of
 * negative numbers --- */

static bool has_padding(const cbx_params *params, const char **reason)
{
    const cbx__ea_point p = cbx__ea_read(params);
    *reason = NULL;
    /* a mesh's border lacks half of a disc of neighbours: of more than a few left, the largest is
     * never negative */
    return p.max && cbx__suite_graph_edges(&p.graph) < p.n * p.k && (p.graph.kind != CBX__SUITE_MESH2D || p.k <= 12);
}

static void run_padding(void *plan)
{
    cbx__suite_plan *s = plan;
    const cbx__ea_point *p = s->point;
    int32_t *full = spare(s);

    for (size_t i = 0; i < p->n; i++) full[i] = (int32_t)p->k;
    run_with(s, DEGREE, full);
}

/* --- an empty row's maximum is 0, as scatter operations have it that start from zeros --- */

static bool has_empty_rows(const cbx_params *params, const char **reason)
{
    const cbx__ea_point p = cbx__ea_read(params);
    *reason = NULL;
    return p.max && p.graph.kind == CBX__SUITE_EMPTY_ROWS;
}

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

static bool has_others(const cbx_params *params, const char **reason)
{
    *reason = NULL;
    return cbx__ea_read(params).n > 1;
}

static void run_next_vertex(void *plan)
{
    cbx__suite_plan *s = plan;
    const cbx__ea_point *p = s->point;
    const int32_t *indices = s->in[INDICES];
    int32_t *next = spare(s);

    for (size_t e = 0; e < p->n * p->k; e++) next[e] = (indices[e] + 1) % (int32_t)p->n;
    run_with(s, INDICES, next);
}

/* --- operands of 11 bits, results of 8 --- */

static void round_to(const cbx__ea_point *p, const void *from, size_t count, int bits, void *to)
{
    for (size_t i = 0; i < count; i++) {
        if (p->dtype == CBX_F32)
            ((float *)to)[i] = cbx__suite_bits_f32(((const float *)from)[i], bits);
        else
            ((double *)to)[i] = cbx__suite_bits_f64(((const double *)from)[i], bits);
    }
}

static void run_tf32(void *plan)
{
    cbx__suite_plan *s = plan;
    const cbx__ea_point *p = s->point;
    void *rounded = spare(s);

    round_to(p, s->in[CBX__EA_X], p->n * p->d_in, 11, rounded);
    run_with(s, CBX__EA_X, rounded);
}

static void run_bf16(void *plan)
{
    cbx__suite_plan *s = plan;
    const cbx__ea_point *p = s->point;

    cbx__ea_run_once(plan);
    for (size_t i = 0; i < p->n * p->d_out; i++) {
        void *at = (char *)s->out[0] + i * cbx_dtype_size(p->dtype);
        const double x = p->dtype == CBX_F32 ? (double)*(float *)at : *(double *)at;
        if (isfinite(x)) round_to(p, at, 1, 8, at);
    }
}

/* --- the first answer for ever --- */

static void run_stale(void *plan)
{
    const cbx__suite_plan *s = plan;
    const cbx__ea_point *p = s->point;
    cbx__suite_plan_stale(plan, cbx__ea_run_once, p->n * p->d_out * cbx_dtype_size(p->dtype));
}

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
    MUTANT("mutant-stale", "answers from memory", "gives the first call's answer for ever", has_others, run_stale),
};
