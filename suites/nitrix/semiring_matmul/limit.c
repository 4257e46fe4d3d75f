/* The limits (calibrax/array/kernels/semiring.h), on all threads that the worker is given: the
 * steps of the product on registers alone, and the same steps with operands from the first-level
 * cache, as any product has to read them. */
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

static void run_pipes(void *plan)
{
    const cbx__sm_plan *p = plan;
    (void)cbx_matmul_limit_run(&p->product, NULL); /* cannot fail: a point's algebra and dtype are right */
}

static void run_fed(void *plan)
{
    const cbx__sm_plan *p = plan;
    (void)cbx_matmul_fed_limit_run(&p->product, NULL);
}

#define LIMIT(named, says, runs, leaves)                                                                               \
    {                                                                                                                  \
        .struct_size = sizeof(cbx_baseline_ops), .abi = CBX_CASE_ABI, .name = named, .provider = "native",             \
        .summary = says, .supports = has_limit, .work = work, .prepare = prepare, .bind = cbx__sm_plan_bind,           \
        .run = runs, .finish = cbx__sm_plan_finish, .limit = leaves                                                    \
    }

const cbx_baseline_ops cbx__sm_pipes = LIMIT(
    "pipes", "the steps of the product on registers: fma, add and max, or sub and fma", run_pipes,
    "does as many steps as the product has, on registers, and nothing else");
const cbx_baseline_ops cbx__sm_fed = LIMIT(
    "fed", "the steps of the product by its register tile, operands from the first-level cache", run_fed,
    "does as many steps as the product has, each with its loads, from the first-level cache alone");
