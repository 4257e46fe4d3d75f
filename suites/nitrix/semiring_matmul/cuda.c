/* The toolkit's kernels on a GPU (calibrax/array/cuda/cuda.h): operands are on the device before
 * the clock starts. */
#include "suites/common/gpu.h"
#include "suites/nitrix/semiring_matmul/matmul.h"
#include "suites/suites.h"

static cbx_cuda_matmul product_of(const cbx__sm_point *p)
{
    cbx_cuda_matmul q = CBX_CUDA_MATMUL_INIT;

    q.product = cbx__sm_product(p);
    return q;
}

static cbx_status prepare(cbx_ctx *ctx, const cbx_params *params, void **plan, cbx_err *err)
{
    const cbx__sm_point p = cbx__sm_read(params);
    const cbx_cuda_matmul q = product_of(&p);

    return cbx__suite_gpu_prepare(ctx, &cbx_semiring_matmul_case, &p, sizeof p, &q, 0, plan, err);
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
