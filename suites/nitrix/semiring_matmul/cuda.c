/*
 * The toolkit's kernels on a GPU (calibrax/array/cuda/cuda.h): operands are on the device before the clock starts.
 */
#include "suites/common/gpu.h"
#include "suites/nitrix/semiring_matmul/matmul.h"
#include "suites/suites.h"

static cbx_cuda_matmul product_of(const cbx__sm_point *p)
{
    cbx_cuda_matmul q = CBX_CUDA_MATMUL_INIT;

    q.product.semiring = p->semiring, q.product.dtype = p->dtype;
    q.product.m = p->m, q.product.k = p->k, q.product.n = p->n;
    q.product.lda = (ptrdiff_t)p->k, q.product.ldb = q.product.ldc = (ptrdiff_t)p->n;
    return q;
}

static cbx_status prepare(cbx_ctx *ctx, const cbx_params *params, void **plan, cbx_err *err)
{
    const cbx__sm_point p = cbx__sm_read(params);
    const cbx_cuda_matmul q = product_of(&p);
    cbx__suite_gpu *s = NULL;
    size_t bytes = 0;
    cbx_status st = cbx__suite_gpu_create(ctx, &cbx_semiring_matmul_case, &p, sizeof p, &s, err);

    if (!st) st = cbx_cuda_matmul_workspace(s->g, &q, &bytes, err);
    if (!st) st = cbx__suite_gpu_scratch(s, bytes, err);
    if (!st) s->plan.block_bytes = bytes;
    if (st)
        cbx__suite_gpu_finish(s);
    else
        *plan = s;
    return st;
}

static void run(void *plan)
{
    cbx__suite_gpu *s = plan;
    cbx_cuda_matmul q = product_of(s->plan.point);

    q.product.a = s->plan.in[0], q.product.b = s->plan.in[1], q.product.c = s->plan.out[0];
    q.product.workspace = s->plan.scratch, q.product.workspace_bytes = s->plan.block_bytes;
    cbx__suite_gpu_wait(s, cbx_cuda_matmul_run(s->g, &q, NULL, NULL));
}

const cbx_baseline_ops cbx__sm_calibrax_cuda = CBX__SUITE_GPU(
    "tiles in shared memory and registers; log as a scaled product with a certificate, cuBLAS where it is; boolean on "
    "bits",
    prepare, run, .work = cbx__sm_work_tiled);
