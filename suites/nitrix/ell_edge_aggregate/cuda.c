/* The toolkit's kernels on a GPU (calibrax/array/cuda/cuda.h): h = x W^T, then messages folded as
 * they are gathered. */
#include "suites/common/gpu.h"
#include "suites/nitrix/ell_edge_aggregate/aggregate.h"

/* Scratch: h, then the workspace of the projection. */
static size_t h_bytes(const cbx__ea_point *p) { return (p->n * p->d_out * cbx_dtype_size(p->dtype) + 255) / 256 * 256; }

static cbx_cuda_matmul projection(const cbx__ea_point *p)
{
    cbx_cuda_matmul q = CBX_CUDA_MATMUL_INIT;
    q.product = cbx__ea_projection(p);
    return q;
}

static cbx_status prepare(cbx_ctx *ctx, const cbx_params *params, void **plan, cbx_err *err)
{
    const cbx__ea_point p = cbx__ea_read(params);
    const cbx_cuda_matmul q = projection(&p);

    return cbx__suite_gpu_prepare(ctx, &cbx_ell_edge_aggregate_case, &p, sizeof p, &q, h_bytes(&p), plan, err);
}

static void run(void *plan)
{
    cbx__suite_gpu *s = plan;
    const cbx__ea_point *p = s->plan.point;
    const cbx_ell_product e = cbx__ea_product(p, s->plan.in + CBX__EA_GRAPH, s->plan.scratch, s->plan.out[0]);
    cbx_cuda_matmul q = projection(p);

    q.product.a = s->plan.in[CBX__EA_X], q.product.b = s->plan.in[CBX__EA_W], q.product.c = s->plan.scratch;
    q.product.workspace = (char *)s->plan.scratch + h_bytes(p), q.product.workspace_bytes = s->plan.block_bytes;
    cbx_status st = cbx_cuda_matmul_run(s->g, &q, NULL, NULL);
    if (!st) st = cbx_cuda_ell_product_run(s->g, &e, NULL, NULL);
    cbx__suite_gpu_wait(s, st);
}

const cbx_baseline_ops cbx__ea_cuda = CBX__SUITE_GPU(
    "projected once, by cuBLAS where it is; messages folded in registers as they are gathered", prepare, run,
    .work = cbx__ea_work_once_stored);
