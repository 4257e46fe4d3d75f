/* The textbook form of array languages: materialise the m x k x n terms, then reduce over k. */
#include "suites/nitrix/semiring_matmul/matmul.h"

static cbx_status prepare(cbx_ctx *ctx, const cbx_params *params, void **plan, cbx_err *err)
{
    const cbx__sm_point p = cbx__sm_read(params);
    return cbx__sm_plan_create(ctx, params, (p.m * p.k + 1) * p.n * cbx_dtype_size(p.dtype), (cbx__sm_plan **)plan,
                               err);
}

static void run(void *plan)
{
    const cbx__sm_plan *p = plan;
    cbx__sm_loops_of(p->isa)->dense(p);
}

const cbx_baseline_ops cbx__sm_naive_dense = {
    sizeof(cbx_baseline_ops),
    CBX_CASE_ABI,
    "naive-dense",
    "native",
    "materialise the m x k x n terms, then reduce over k",
    "writes and reads a temporary of m*k*n elements, 512 MiB at 512^3 f32: 3 times the time of stream for log, 10 to "
    "15 times for the others (Xeon, AVX-512)",
    NULL,
    cbx__sm_supports_dense,
    CBX__SM_NATIVE(cbx__sm_work_dense, prepare, run),
};
