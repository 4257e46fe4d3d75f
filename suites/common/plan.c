/* The plan of native baselines. */
#include "suites/common/plan.h"

#include <stdint.h>
#include <string.h>

#include "suites/common/rounding.h"

cbx_status cbx__suite_plan_create(cbx_ctx *ctx, const cbx_case_ops *c, const void *point, size_t point_bytes,
                                  size_t scratch_bytes, size_t spare_bytes, void **plan, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx__suite_plan *p = cbx_mem_zalloc(al, sizeof *p + point_bytes);

    if (!p) return cbx_fail(err, CBX_ENOMEM, "out of memory for a plan");
    p->al = *al;
    p->point_bytes = point_bytes;
    p->scratch_bytes = scratch_bytes;
    p->block_bytes = (scratch_bytes + 63) / 64 * 64 + spare_bytes + 64;
    p->ninputs = c->ninputs;
    p->noutputs = c->noutputs;
    p->point = memcpy(p + 1, point, point_bytes);
    p->block = cbx_mem_alloc(al, p->block_bytes);
    if (!p->block) {
        cbx__suite_plan_finish(p);
        return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu bytes of scratch", scratch_bytes);
    }
    p->scratch = (void *)(((uintptr_t)p->block + 63) / 64 * 64);
    p->spare = (char *)p->scratch + (scratch_bytes + 63) / 64 * 64;
    *plan = p;
    return CBX_OK;
}

void cbx__suite_plan_bind(void *plan, cbx_array *const *in, cbx_array *const *out)
{
    cbx__suite_plan *p = plan;
    for (size_t i = 0; i < p->ninputs; i++) p->in[i] = cbx_array_data(p->inputs[i] = in[i]);
    for (size_t i = 0; i < p->noutputs; i++) p->out[i] = cbx_array_data_mut(out[i]);
    p->out_bytes = p->noutputs ? cbx_array_bytes(out[0]) : 0;
}

void cbx__suite_plan_finish(void *plan)
{
    cbx__suite_plan *p = plan;
    if (!p) return;
    const cbx_allocator al = p->al;
    cbx_mem_free(&al, p->block, p->block_bytes);
    cbx_mem_free(&al, p, sizeof *p + p->point_bytes);
}

void cbx__suite_run_with(cbx__suite_plan *s, cbx__suite_run_fn *run, size_t i, const void *other)
{
    const void *right = s->in[i];
    s->in[i] = other;
    run(s);
    s->in[i] = right;
}

void cbx__suite_run_rounded(void *plan, cbx__suite_run_fn *run, size_t i, int bits)
{
    cbx__suite_plan *s = plan;
    cbx__suite_round(cbx_array_dtype(s->inputs[i]), s->in[i], cbx_array_count(s->inputs[i]), bits, s->spare);
    cbx__suite_run_with(s, run, i, s->spare);
}

void cbx__suite_run_stale(void *plan, cbx__suite_run_fn *run)
{
    cbx__suite_plan *s = plan;
    const bool first = !s->ran;

    if (first) run(plan);
    if (s->out_bytes) memcpy(first ? s->spare : s->out[0], first ? s->out[0] : s->spare, s->out_bytes);
    s->ran = true;
}

void cbx__suite_round(cbx_dtype t, const void *from, size_t count, int bits, void *to)
{
    for (size_t i = 0; i < count; i++) {
        if (t == CBX_F32)
            ((float *)to)[i] = cbx__suite_bits_f32(((const float *)from)[i], bits);
        else
            ((double *)to)[i] = cbx__suite_bits_f64(((const double *)from)[i], bits);
    }
}
