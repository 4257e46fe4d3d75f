/*
 * The ratio reference: the array engine on its reference backend, called as user code calls it.
 */
#include "suites/array/array_ops/ops.h"

cbx_status cbx__ao_plan_create(cbx_ctx *ctx, const cbx_params *params, void **plan, cbx_err *err)
{
    const cbx_status st = cbx__suite_engine_create(ctx, cbx_backend_reference(), CBX__AO_INPUTS, sizeof(cbx__ao_plan),
                                                   plan, err);

    if (!st) ((cbx__ao_plan *)*plan)->point = cbx__ao_read(params);
    return st;
}

void cbx__ao_plan_run(void *plan)
{
    cbx__ao_plan *p = plan;

    cbx__suite_engine_begin(&p->call);
    p->call.result = p->point.op->call(p->call.ctx, p->call.in);
}

const cbx_baseline_ops cbx__ao_engine = CBX__AO_CALL("reference",
                                                     "the array engine on its reference backend: a scope and a new "
                                                     "result each call",
                                                     cbx__ao_plan_run, cbx__suite_engine_collect);
