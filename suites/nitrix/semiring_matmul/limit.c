/*
 * The limit: the steps of the product on registers alone (calibrax/array/kernels/semiring.h), on all threads that the worker is given.
 */
#include "suites/nitrix/semiring_matmul/matmul.h"

static bool has_limit(const cbx_params *params, const char **reason)
{
    *reason = NULL; /* not a gap: booleans are joined by tables in memory */
    return !cbx__sm_is(params, CBX_ALGEBRA_BOOLEAN);
}

static void work(const cbx_params *params, cbx_work *out)
{
    const cbx__sm_point p = cbx__sm_read(params);

    cbx__sm_work_steps(&p, out);
}

static cbx_status prepare(cbx_ctx *ctx, const cbx_params *params, void **plan, cbx_err *err)
{
    const cbx__sm_point p = cbx__sm_read(params);
    cbx__sm_plan *made = NULL;
    const cbx_status st = cbx__sm_plan_create(ctx, params, 0, &made, err);

    if (st) return st;
    made->product = (cbx_matmul)CBX_MATMUL_INIT;
    made->product.semiring = p.semiring;
    made->product.dtype = p.dtype;
    made->product.threads = 0;
    made->product.m = p.m, made->product.k = p.k, made->product.n = p.n;
    *plan = made;
    return CBX_OK;
}

static void run(void *plan)
{
    const cbx__sm_plan *p = plan;
    (void)cbx_matmul_limit_run(&p->product, NULL); /* cannot fail: a point's algebra and dtype are right */
}

const cbx_baseline_ops cbx__sm_pipes = {
    .struct_size = sizeof(cbx_baseline_ops),
    .abi = CBX_CASE_ABI,
    .name = "pipes",
    .provider = "native",
    .summary = "the steps of the product on registers: fma, add and max, or sub and fma",
    .supports = has_limit,
    .work = work,
    .prepare = prepare,
    .bind = cbx__sm_plan_bind,
    .run = run,
    .finish = cbx__sm_plan_finish,
    .limit = "does as many steps as the product has, on registers, and nothing else",
};
