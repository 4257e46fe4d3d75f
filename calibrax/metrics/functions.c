/* Metrics as functions of their operands, for the transforms, and as one operation of a trace. */
#include "calibrax/array/trace/regions.h"
#include "calibrax/metrics/call.h"

typedef struct bound_fn {
    cbx_allocator al;
    cbx__bound b;
    cbx_array *mask, *weights;              /* ours, unless they are operands */
    cbx_fn *function;                       /* counted; NULL: the caller's */
    size_t at[CBX_METRIC_MAX_OPERANDS + 2]; /* of each operand: its place among the metric's, mask and weights */
} bound_fn;

static void bound_free(void *user)
{
    bound_fn *f = user;
    cbx_allocator al = f->al;
    cbx_array_free(f->mask);
    cbx_array_free(f->weights);
    cbx_fn_free(f->function);
    cbx_mem_free(&al, f, sizeof *f);
}

CBX__BODY(call_bound)
{
    const bound_fn *f = user;
    const cbx__bound *b = &f->b;
    cbx_array *all[CBX_METRIC_MAX_OPERANDS + 2] = { 0 };
    cbx_metric_options o = { .parameters = b->parameters,
                             .mask = f->mask,
                             .weights = f->weights,
                             .reduction = b->reduction,
                             .axes = b->has_axes ? &b->axes : NULL,
                             .function = b->function };

    for (size_t i = 0; i < nin; i++) all[f->at[i]] = in[i];
    if (b->has_mask && !o.mask) o.mask = all[b->nin];
    if (b->has_weights && !o.weights) o.weights = all[b->nin + b->has_mask];
    out[0] = cbx_metric_apply(ctx, b->metric, b->nin, all, &o);
    return CBX_OK;
}

static cbx_status bound_create(cbx_ctx *ctx, const cbx__bound *b, bound_fn **out, cbx_err *err)
{
    bound_fn *f = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *f);

    if (!f) return cbx_fail_nomem(err, "a metric as a function");
    f->al = *cbx_ctx_allocator(ctx);
    f->b = *b;
    *out = f;
    return CBX_OK;
}

/* A metric that reads values, in a trace: one operation that calls it with data. */
cbx_array *cbx__metric_later(cbx_ctx *ctx, const cbx__checked *c)
{
    const cbx_metric_function *m = c->bound.metric;
    cbx_array_desc result = { .dtype = CBX_F64 };
    cbx_array *given[CBX_METRIC_MAX_OPERANDS + 2], *out = cbx__array_failed();
    cbx_err err = CBX_ERR_INIT;
    bound_fn *f = NULL;
    cbx_fn *fn = NULL;
    size_t n = 0;
    cbx_status st = bound_create(ctx, &c->bound, &f, &err);

    for (size_t i = 0; !st && i < c->n; i++)
        if (c->all[i]) given[n] = c->all[i], f->at[n++] = i;
    if (!st && c->bound.function) st = cbx_fn_keep(ctx, c->bound.function, &f->function, &err);
    if (!st) f->b.function = f->function;
    if (!st) st = cbx_fn_create(ctx, &(cbx_fn){ m->name, call_bound, f, n, 1, NULL }, bound_free, &fn, &err);
    if (st && f) bound_free(f);
    if (st) return cbx__refuse(ctx, st, "%s", err.message);
    if (m->result)
        m->result(&(cbx_metric_call){ .metric = m, .in = c->all, .parameters = c->bound.parameters }, &result);
    cbx__host_apply(ctx, fn, &result, m->invariances & CBX_INVARIANT_MONOTONE, given, &out);
    cbx_fn_free(fn);
    return out;
}

cbx_status cbx_metric_fn(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, const cbx_metric_options *options,
                         cbx_fn **out, cbx_err *err)
{
    cbx__bound b;
    cbx_status st = m ? cbx__metric_bind(m, nin, options, &b, err) : cbx_fail(err, CBX_EINVAL, "the metric is NULL");
    bound_fn *f = NULL;

    if (!st && nin > CBX_METRIC_MAX_OPERANDS)
        st = cbx_fail(err, CBX_EINVAL, "%s: no metric takes %zu operands", m->name, nin);
    if (!st) st = bound_create(ctx, &b, &f, err);
    if (st) return st;
    for (size_t i = 0; i < nin; i++) f->at[i] = i;
    if (b.has_mask) f->mask = cbx_array_ref(options->mask);
    if (b.has_weights) f->weights = cbx_array_ref(options->weights);
    st = cbx_fn_create(ctx, &(cbx_fn){ m->name, call_bound, f, nin, 1, NULL }, bound_free, out, err);
    if (st) bound_free(f);
    return st;
}
