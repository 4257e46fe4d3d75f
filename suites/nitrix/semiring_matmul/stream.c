/* The ratio reference: for each kk, update all of C. */
#include "suites/nitrix/semiring_matmul/matmul.h"

#define DECLARE(id, name, cpus) extern const cbx__sm_loops cbx__sm_loops_##name;
CBX_ISA_MAP(DECLARE)

static const cbx__sm_loops *const loops[CBX_ISA_COUNT] = {
#define ENTRY(id, name, cpus) CBX_ISA_ON_##cpus([CBX_ISA_##id] = &cbx__sm_loops_##name, )
    CBX_ISA_MAP(ENTRY)
};

const cbx__sm_loops *cbx__sm_loops_of(cbx_isa isa) { return loops[isa]; }

static cbx_status prepare(cbx_ctx *ctx, const cbx_params *params, void **plan, cbx_err *err)
{
    const cbx__sm_point p = cbx__sm_read(params);
    const size_t sums = p.semiring->id == CBX_ALGEBRA_LOG ? p.m * p.n * cbx_dtype_size(p.dtype) : 0;
    return cbx__sm_plan_create(ctx, params, sums, (cbx__sm_plan **)plan, err);
}

static void run(void *plan)
{
    const cbx__sm_plan *p = plan;
    cbx__sm_loops_of(p->isa)->stream(p);
}

const cbx_baseline_ops cbx__sm_stream = {
    sizeof(cbx_baseline_ops),
    CBX_CASE_ABI,
    "stream",
    "native",
    "for each k update all of C; log by the online recurrence, one exp a step",
    NULL,
    NULL,
    NULL,
    CBX__SM_NATIVE(cbx__sm_work_stream, prepare, run),
};
