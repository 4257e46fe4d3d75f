/*
 * The ratio reference: the array engine on its reference backend, called as user code calls it.
 *
 * Each call opens a scope and makes a new result; the scope of the call before is closed first, so that its memory goes
 * back to the pool, as in a loop over frames.  Copying the result out belongs to collect, which nobody times.
 */
#include <string.h>

#include "suites/array/array_ops/ops.h"

cbx_status cbx__ao_plan_create(cbx_ctx *ctx, const cbx_params *params, void **plan, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx__ao_plan *p = cbx_mem_zalloc(al, sizeof *p);
    cbx_status st;

    if (!p) return cbx_fail(err, CBX_ENOMEM, "out of memory for a plan");
    p->al = *al;
    p->point = cbx__ao_read(params);
    st = cbx_ctx_create(NULL, &p->ctx, err);
    if (!st) st = cbx_ctx_set_backend(p->ctx, cbx_backend_reference(), err);
    if (st)
        cbx__ao_plan_finish(p);
    else
        *plan = p;
    return st;
}

static void close_scope(cbx__ao_plan *p)
{
    if (p->open) (void)cbx_scope_close(&p->scope, NULL);
    p->open = false;
    p->result = NULL;
}

void cbx__ao_plan_bind(void *plan, cbx_array *const *in, cbx_array *const *out)
{
    cbx__ao_plan *p = plan;

    memcpy(p->in, in, sizeof p->in);
    p->out = out[0];
}

void cbx__ao_plan_run(void *plan)
{
    cbx__ao_plan *p = plan;

    close_scope(p);
    cbx_scope_open(p->ctx, &p->scope);
    p->open = true;
    p->result = p->point.op->call(p->ctx, p->in);
}

/* A failed call leaves the poison in place, which the check then finds. */
void cbx__ao_plan_collect(void *plan)
{
    cbx__ao_plan *p = plan;

    if (p->result && !cbx_array_is_failed(p->result))
        (void)cbx_array_read(p->result, cbx_array_data_mut(p->out), cbx_array_bytes(p->out), NULL);
}

void cbx__ao_plan_finish(void *plan)
{
    cbx__ao_plan *p = plan;
    cbx_allocator al;

    if (!p) return;
    al = p->al;
    close_scope(p);
    cbx_ctx_free(p->ctx);
    cbx_mem_free(&al, p, sizeof *p);
}

const cbx_baseline_ops cbx__ao_engine = {
    .struct_size = sizeof(cbx_baseline_ops),
    .abi = CBX_CASE_ABI,
    .name = "reference",
    .provider = "native",
    .summary = "the array engine on its reference backend: a scope and a new result each call",
    .work = cbx__ao_work,
    .prepare = cbx__ao_plan_create,
    .bind = cbx__ao_plan_bind,
    .run = cbx__ao_plan_run,
    .finish = cbx__ao_plan_finish,
    .collect = cbx__ao_plan_collect,
};
