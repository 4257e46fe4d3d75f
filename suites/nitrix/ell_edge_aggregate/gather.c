/* The toolkit's own kernels: h = x W^T by the tiled product (calibrax/array/kernels/semiring.h),
 * then messages folded as they are gathered (calibrax/array/kernels/ell.h). */
#include <string.h>

#include "suites/common/plan.h"
#include "suites/nitrix/ell_edge_aggregate/aggregate.h"

/* Scratch: h, then the workspace of the projection. */
static size_t h_bytes(const cbx__ea_point *p) { return (p->n * p->d_out * cbx_dtype_size(p->dtype) + 63) / 64 * 64; }

cbx_matmul cbx__ea_projection(const cbx__ea_point *p)
{
    cbx_matmul m = CBX_MATMUL_INIT;

    m.semiring = cbx_semiring_get(CBX_ALGEBRA_REAL), m.dtype = p->dtype;
    m.m = p->n, m.k = p->d_in, m.n = p->d_out;
    m.lda = (ptrdiff_t)p->d_in, m.ldc = (ptrdiff_t)p->d_out;
    m.threads = 0;
    m.ldb = 1, m.b_step = (ptrdiff_t)p->d_in; /* W read as its transpose */
    return m;
}

cbx_ell_product cbx__ea_product(const cbx__ea_point *p, const void *const *graph, const void *h, void *out)
{
    cbx_ell_product e = CBX_ELL_PRODUCT_INIT;

    e.semiring = cbx_semiring_get(p->max ? CBX_ALGEBRA_TROPICAL_MAX_PLUS : CBX_ALGEBRA_REAL);
    e.scaled = true, e.dtype = p->dtype;
    e.rows = e.cols = p->n, e.width = p->k, e.d = e.ldb = e.ldc = p->d_out;
    e.index = graph[CBX__ELL_INDICES], e.degree = graph[CBX__ELL_DEGREE], e.values = graph[CBX__ELL_WEIGHTS];
    e.b = h, e.c = out;
    return e;
}

static cbx_status prepare(cbx_ctx *ctx, const cbx_params *params, void **plan, cbx_err *err)
{
    const cbx__ea_point p = cbx__ea_read(params);
    const cbx_matmul m = cbx__ea_projection(&p);
    size_t bytes = 0;
    const cbx_status st = cbx_matmul_workspace(&m, &bytes, err);

    if (st) return st;
    return cbx__suite_plan_create(ctx, &cbx_ell_edge_aggregate_case, &p, sizeof p, h_bytes(&p) + bytes, 0, plan, err);
}

/* The limit reads h and never writes it: memory that was never written would be one page of zeros,
 * which stays in the first-level cache. */
static cbx_status prepare_limit(cbx_ctx *ctx, const cbx_params *params, void **plan, cbx_err *err)
{
    const cbx__ea_point p = cbx__ea_read(params);
    const cbx_status st = prepare(ctx, params, plan, err);

    if (!st) memset(((cbx__suite_plan *)*plan)->scratch, 0x3f, h_bytes(&p));
    return st;
}

static cbx_ell_product aggregation(const cbx__suite_plan *s)
{
    const cbx__ea_point *p = s->point;
    cbx_ell_product e = cbx__ea_product(p, s->in + CBX__EA_GRAPH, s->scratch, s->out[0]);
    e.threads = 0; /* as the projection: all that the worker is given */
    return e;
}

static void run(void *plan)
{
    const cbx__suite_plan *s = plan;
    const cbx__ea_point *p = s->point;
    const cbx_ell_product e = aggregation(s);
    cbx_matmul m = cbx__ea_projection(p);

    m.a = s->in[CBX__EA_X], m.b = s->in[CBX__EA_W], m.c = s->scratch;
    m.workspace = (char *)s->scratch + h_bytes(p);
    (void)cbx_matmul_workspace(&m, &m.workspace_bytes, NULL); /* prepare has asked before */
    (void)cbx_matmul_run(&m, NULL);
    (void)cbx_ell_product_run(&e, NULL);
}

/* The least that the same algorithm can take: the projection's steps without memory, the gather
 * without arithmetic. */
static void run_limit(void *plan)
{
    const cbx__suite_plan *s = plan;
    const cbx_ell_product e = aggregation(s);
    const cbx_matmul m = cbx__ea_projection(s->point);

    (void)cbx_matmul_limit_run(&m, NULL);
    (void)cbx_ell_gather_run(&e, NULL);
}

const cbx_baseline_ops cbx__ea_gather = CBX__SUITE_NATIVE(
    "calibrax", "projected once by register tiles; messages folded in registers as they are gathered", prepare, run,
    .work = cbx__ea_work_once_stored);
const cbx_baseline_ops cbx__ea_limit = CBX__SUITE_NATIVE(
    "gather", "the projection's steps on registers, then the rows of h read into registers", prepare_limit, run_limit,
    .work = cbx__ea_work_once,
    .limit =
        "does the projection's steps on registers, and reads the rows that are folded, and does nothing with them");
