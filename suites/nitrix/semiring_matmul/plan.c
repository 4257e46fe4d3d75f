/* The plan that native baselines share. */
#include <stdint.h>

#include "suites/nitrix/semiring_matmul/matmul.h"

cbx_status cbx__sm_plan_create(cbx_ctx *ctx, const cbx_params *params, size_t scratch_bytes, cbx__sm_plan **out,
                               cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx__sm_plan *plan = cbx_mem_zalloc(al, sizeof *plan);
    if (!plan) return cbx_fail(err, CBX_ENOMEM, "out of memory for a plan");
    plan->al = *al;
    plan->point = cbx__sm_read(params);
    plan->isa = cbx_isa_best();
    plan->scratch_bytes = scratch_bytes;
    plan->block_bytes = scratch_bytes + 64;
    plan->block = cbx_mem_alloc(al, plan->block_bytes);
    if (!plan->block) {
        cbx_mem_free(al, plan, sizeof *plan);
        return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu bytes of scratch", scratch_bytes);
    }
    plan->scratch = (void *)(((uintptr_t)plan->block + 63) / 64 * 64);
    *out = plan;
    return CBX_OK;
}

void cbx__sm_plan_bind(void *plan, cbx_array *const *in, cbx_array *const *out)
{
    cbx__sm_plan *p = plan;
    p->a = cbx_array_data(in[0]);
    p->b = cbx_array_data(in[1]);
    p->c = cbx_array_data_mut(out[0]);
    p->product.a = p->a;
    p->product.b = p->b;
    p->product.c = p->c;
}

void cbx__sm_plan_finish(void *plan)
{
    cbx__sm_plan *p = plan;
    if (!p) return;
    const cbx_allocator al = p->al;
    cbx_mem_free(&al, p->block, p->block_bytes);
    cbx_mem_free(&al, p, sizeof *p);
}
