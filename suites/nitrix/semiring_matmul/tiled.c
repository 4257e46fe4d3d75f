/* The toolkit's own kernel (calibrax/array/kernels/semiring.h): on one thread, and on all that the
 * worker is given. */
#include "suites/nitrix/semiring_matmul/matmul.h"

static cbx_status prepare_threads(cbx_ctx *ctx, const cbx_params *params, int threads, void **plan, cbx_err *err)
{
    const cbx__sm_point p = cbx__sm_read(params);
    cbx__sm_plan *made = NULL;
    size_t bytes = 0;
    cbx_matmul product = CBX_MATMUL_INIT;
    product.semiring = p.semiring;
    product.dtype = p.dtype;
    product.threads = threads;
    product.m = p.m, product.k = p.k, product.n = p.n;
    product.lda = (ptrdiff_t)p.k, product.ldb = (ptrdiff_t)p.n, product.ldc = (ptrdiff_t)p.n;
    cbx_status st = cbx_matmul_workspace(&product, &bytes, err);
    if (!st) st = cbx__sm_plan_create(ctx, params, bytes, &made, err);
    if (st) return st;
    product.workspace = made->scratch;
    product.workspace_bytes = bytes;
    made->product = product;
    *plan = made;
    return CBX_OK;
}

static cbx_status prepare_tiled(cbx_ctx *ctx, const cbx_params *params, void **plan, cbx_err *err)
{
    return prepare_threads(ctx, params, 1, plan, err);
}

static cbx_status prepare_calibrax(cbx_ctx *ctx, const cbx_params *params, void **plan, cbx_err *err)
{
    return prepare_threads(ctx, params, 0, plan, err);
}

static void run(void *plan)
{
    const cbx__sm_plan *p = plan;
    (void)cbx_matmul_run(&p->product, NULL); /* cannot fail: prepare has checked the arguments */
}

const cbx_baseline_ops cbx__sm_tiled = {
    sizeof(cbx_baseline_ops),
    CBX_CASE_ABI,
    "tiled",
    "native",
    "cache-blocked register tiles; log as a product of shifted exponentials with a certificate; boolean packed to bits",
    NULL,
    NULL,
    NULL,
    CBX__SM_NATIVE(cbx__sm_work_tiled, prepare_tiled, run),
};

const cbx_baseline_ops cbx__sm_calibrax = {
    sizeof(cbx_baseline_ops),
    CBX_CASE_ABI,
    "calibrax",
    "native",
    "the same on all threads that the worker is given; the same bits",
    NULL,
    NULL,
    NULL,
    CBX__SM_NATIVE(cbx__sm_work_tiled, prepare_calibrax, run),
};
