/*
 * The plan of native baselines; see plan.h.
 */
#include "suites/common/plan.h"

#include <stdint.h>
#include <string.h>

cbx_status cbx__suite_plan_create(cbx_ctx *ctx, const cbx_case_ops *c, const void *point, size_t point_bytes,
                                  size_t scratch_bytes, void **plan, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx__suite_plan *p = cbx_mem_zalloc(al, sizeof *p);

    if (!p) return cbx_fail(err, CBX_ENOMEM, "out of memory for a plan");
    p->al = *al;
    p->point_bytes = point_bytes;
    p->block_bytes = scratch_bytes + 64;
    p->ninputs = c->ninputs;
    p->noutputs = c->noutputs;
    p->point = cbx_mem_alloc(al, point_bytes);
    p->block = cbx_mem_alloc(al, p->block_bytes);
    if (!p->point || !p->block) {
        cbx__suite_plan_finish(p);
        return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu bytes of scratch", scratch_bytes);
    }
    memcpy(p->point, point, point_bytes);
    p->scratch = (void *)(((uintptr_t)p->block + 63) / 64 * 64);
    *plan = p;
    return CBX_OK;
}

void cbx__suite_plan_bind(void *plan, cbx_array *const *in, cbx_array *const *out)
{
    cbx__suite_plan *p = plan;
    for (size_t i = 0; i < p->ninputs; i++) p->in[i] = cbx_array_data(in[i]);
    for (size_t i = 0; i < p->noutputs; i++) p->out[i] = cbx_array_data_mut(out[i]);
}

void cbx__suite_plan_finish(void *plan)
{
    cbx__suite_plan *p = plan;
    if (!p) return;
    const cbx_allocator al = p->al;
    cbx_mem_free(&al, p->point, p->point_bytes);
    cbx_mem_free(&al, p->block, p->block_bytes);
    cbx_mem_free(&al, p, sizeof *p);
}

void cbx__suite_plan_stale(void *plan, void (*run)(void *plan), size_t out_bytes)
{
    cbx__suite_plan *p = plan;
    char *kept = p->block + p->block_bytes - out_bytes;

    if (!p->ran) {
        run(plan);
        if (out_bytes) memcpy(kept, p->out[0], out_bytes);
        p->ran = true;
    } else if (out_bytes) {
        memcpy(p->out[0], kept, out_bytes);
    }
}
