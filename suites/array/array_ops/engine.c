/*
 * The array engine as user code calls it: compiled, which is the ratio reference, and operation by
 * operation on the reference backend.
 */
#include <string.h>

#include "calibrax/array/transform.h"
#include "suites/array/array_ops/ops.h"

#define MAX_PAIRS (4096.0 * 4096.0)

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
    p->call.result = p->point.op->call(p->call.ctx, p->call.in, p->point.n);
}

static bool fits(const cbx_params *params, const char **reason)
{
    const cbx__ao_point p = cbx__ao_read(params);

    *reason = NULL;
    if (p.op->in[0] != CBX__AO_POINTS || cbx__ao_steps(&p) <= MAX_PAIRS) return true;
    *reason = "the reference backend keeps what each operation gives, here of all pairs of points";
    return false;
}

const cbx_baseline_ops cbx__ao_engine = CBX__AO_CALL("reference",
                                                     "the array engine on its reference backend: a scope and a new "
                                                     "result each call",
                                                     cbx__ao_plan_run, cbx__suite_engine_collect, .supports = fits);

/* --- compiled --- */

typedef struct compiled {
    cbx__ao_plan plan; /* first */
    cbx_fn *fn;
} compiled;

/* What a trace has no data for, by the functions that it can take. */
static const struct {
    const char *name;
    cbx__ao_call *call;
} traced[] = { { "digitize", cbx__ao_traced_digitize },
               { "bincount", cbx__ao_traced_bincount },
               { "bincount_weights", cbx__ao_traced_bincount_weights },
               { "histogram", cbx__ao_traced_histogram } };

static cbx_status function(cbx_ctx *ctx, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    const cbx__ao_point *p = user;

    (void)nin, (void)nout;
    for (size_t i = 0; i < CBX_LEN(traced); i++)
        if (strcmp(traced[i].name, p->op->name) == 0) {
            out[0] = traced[i].call(ctx, in);
            return CBX_OK;
        }
    out[0] = p->op->call(ctx, in, p->n);
    return CBX_OK;
}

static void compiled_finish(void *plan)
{
    if (plan) cbx_fn_free(((compiled *)plan)->fn);
    cbx__suite_engine_finish(plan);
}

/* Traced and compiled by the first call. */
static cbx_status compiled_create(cbx_ctx *ctx, const cbx_params *params, void **plan, cbx_err *err)
{
    compiled *s = NULL;
    void *made = NULL;
    cbx_status st = cbx__suite_engine_create(ctx, NULL, CBX__AO_INPUTS, sizeof *s, &made, err);

    if (st) return st;
    s = made;
    s->plan.point = cbx__ao_read(params);
    const cbx_fn plain = { .name = s->plan.point.op->name,
                           .call = function,
                           .user = &s->plan.point,
                           .nin = cbx__ao_operands(s->plan.point.op),
                           .nout = 1 };
    st = cbx_jit(s->plan.call.ctx, &plain, &s->fn, err);
    if (st)
        compiled_finish(s);
    else
        *plan = s;
    return st;
}

static void compiled_run(void *plan)
{
    compiled *s = plan;
    cbx__suite_engine *e = &s->plan.call;
    cbx_array *out = NULL;

    cbx__suite_engine_begin(e);
    (void)cbx_fn_call(e->ctx, s->fn, s->fn->nin, e->in, 1, &out);
    e->result = out;
}

const cbx_baseline_ops cbx__ao_compiled = CBX__SUITE_BASELINE(
    "compiled", "native", "the same function compiled by cbx_jit: a scope and a new result each call",
    .work = cbx__ao_work, .prepare = compiled_create, .bind = cbx__suite_engine_bind, .run = compiled_run,
    .finish = compiled_finish, .collect = cbx__suite_engine_collect);
