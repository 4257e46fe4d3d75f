/*
 * Functions whose derivative is not that of their operations: given by the user, computed again in
 * reverse mode, or 0.
 *
 * Called with data and outside of traces, such a function is called as it is: nothing is derived of
 * it.  Traced, it becomes one operation that holds its graph and the user's rules;
 * trace/rules_custom.c has what derivatives and batches make of it.
 */
#include <string.h>

#include "calibrax/array/fn_internal.h"
#include "calibrax/array/ops_internal.h"
#include "calibrax/array/trace/regions.h"
#include "calibrax/array/trace/trace.h"
#include "calibrax/array/transform.h"

cbx_array *cbx_stop_gradient(cbx_ctx *ctx, const cbx_array *x)
{
    return cbx__apply1(ctx, CBX_PRIM_STOP_GRADIENT, x, NULL);
}

/* ---- the function of residuals ---- */

typedef struct forward {
    cbx__closure of;
    size_t nout; /* results; residuals follow */
} forward;

/* Residuals that are not needed are left unset: they become a scalar. */
CBX__BODY(call_forward)
{
    const forward *w = user;
    const cbx_status st = w->of.f->call(ctx, nin, in, nout, out, w->of.f->user);

    if (st || cbx_ctx_pending(ctx, NULL)) return st;
    for (size_t i = w->nout; i < nout; i++)
        if (out[i] == cbx__array_failed()) out[i] = cbx_zeros(ctx, 0, NULL, CBX_F64);
    return CBX_OK;
}

static cbx_status keep_forward(cbx_ctx *ctx, const cbx_fn *fwd, size_t nout, cbx_fn **out, cbx_err *err)
{
    const cbx_status st = cbx__closure_create(ctx, NULL, fwd, sizeof(forward), call_forward, fwd->nin, fwd->nout, NULL,
                                              out, err);

    if (!st) ((forward *)(*out)->user)->nout = nout;
    return st;
}

/* ---- calls ---- */

typedef struct custom {
    cbx__closure of;
    cbx_prim prim;
    cbx_fn *rule[2];
} custom;

static void custom_drop(void *user)
{
    custom *m = user;

    for (size_t i = 0; i < CBX_LEN(m->rule); i++) cbx_fn_free(m->rule[i]);
}

/* As an operation of the open trace. */
static void record(cbx_ctx *ctx, const custom *m, size_t nin, cbx_array *const *in, cbx_array **out)
{
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    cbx_err err = CBX_ERR_INIT;
    CBX_CLEARED(cbx__traced) t = { 0 };
    cbx_array_desc *d = cbx_arena_calloc(&arena, nin + 1, sizeof *d);
    cbx_array **all;
    cbx_status st = CBX_OK;

    if (!d) st = cbx_fail(&err, CBX_ENOMEM, "no memory for the operands of '%s'", m->of.name);
    for (size_t i = 0; !st && i < nin; i++) d[i] = in[i]->desc;
    if (!st) st = cbx__trace_fn(ctx, m->of.f, d, &t, &err);
    all = cbx_arena_calloc(&arena, nin + t.ncaptured + 1, sizeof *all);
    if (!st && !all) st = cbx_fail(&err, CBX_ENOMEM, "no memory for the operands of '%s'", m->of.name);
    if (!st) {
        memcpy(all, in, nin * sizeof *all);
        memcpy(all + nin, t.captured, t.ncaptured * sizeof *all);
        cbx__called_apply(ctx, &(cbx__called){ m->prim, t.graph, t.ncaptured, m->rule, NULL, 0, 0 }, nin + t.ncaptured,
                          all, out);
    }
    if (st) cbx__refuse(ctx, st, "%s", err.message);
}

bool cbx__is_recorded(cbx_ctx *ctx, size_t n, const cbx_array *const *in)
{
    bool abstract = false;

    for (size_t i = 0; i < n; i++) abstract |= in[i] && cbx_array_is_abstract(in[i]);
    return abstract || cbx__is_traced(ctx);
}

CBX__BODY(call_custom)
{
    const custom *m = user;

    if (!cbx__is_recorded(ctx, nin, (const cbx_array *const *)in)) return cbx_fn_call(ctx, m->of.f, nin, in, nout, out);
    record(ctx, m, nin, in, out);
    return CBX_OK;
}

/* ---- the transforms ---- */

static cbx_status counts_check(const char *what, const cbx_fn *f, const cbx_fn *rule, const char *which, size_t nin,
                               size_t nout, bool more, cbx_err *err)
{
    if (!rule || !rule->call)
        return cbx_fail(err, CBX_EINVAL, "the function '%s' passed to '%s' of '%s' has no code", which, what, f->name);
    if (rule->nin == nin && (rule->nout == nout || (more && rule->nout > nout))) return CBX_OK;
    return cbx_fail(err, CBX_EINVAL,
                    "'%s', which is '%s' in '%s' of '%s', takes %zu operands and returns %zu results, and must take "
                    "%zu and return %s%zu",
                    rule->name, which, what, f->name, rule->nin, rule->nout, nin, more ? "at least " : "", nout);
}

/* What is made of f; rule[0] belongs to it from here on, also on failure. */
static cbx_status make(cbx_ctx *ctx, cbx_prim prim, const cbx_fn *f, cbx_fn *first, const cbx_fn *second, cbx_fn **out,
                       cbx_err *err)
{
    cbx_fn *made = NULL;
    cbx_status st = cbx__closure_create(ctx, NULL, f, sizeof(custom), call_custom, f->nin, f->nout, custom_drop, &made,
                                        err);

    if (st) {
        cbx_fn_free(first);
        return st;
    }
    custom *m = made->user;
    m->prim = prim;
    m->rule[0] = first;
    if (second) st = cbx_fn_keep(ctx, second, &m->rule[1], err);
    return CBX_FINISH(st, *out = made, cbx_fn_free(made));
}

cbx_status cbx_custom_jvp(cbx_ctx *ctx, const cbx_fn *f, const cbx_fn *rule, cbx_fn **out, cbx_err *err)
{
    cbx_fn *kept = NULL;
    cbx_status st = cbx__fn_check("custom_jvp", f, err);

    if (!st) st = counts_check("custom_jvp", f, rule, "rule", 2 * f->nin, 2 * f->nout, false, err);
    if (!st) st = cbx_fn_keep(ctx, rule, &kept, err);
    return st ? st : make(ctx, CBX_PRIM_CUSTOM_JVP, f, kept, NULL, out, err);
}

cbx_status cbx_custom_vjp(cbx_ctx *ctx, const cbx_fn *f, const cbx_fn *fwd, const cbx_fn *bwd, cbx_fn **out,
                          cbx_err *err)
{
    cbx_fn *kept = NULL;
    cbx_status st = cbx__fn_check("custom_vjp", f, err);

    if (!st) st = counts_check("custom_vjp", f, fwd, "fwd", f->nin, f->nout, true, err);
    if (!st) st = counts_check("custom_vjp", f, bwd, "bwd", fwd->nout, f->nin, false, err);
    if (!st) st = keep_forward(ctx, fwd, f->nout, &kept, err);
    return st ? st : make(ctx, CBX_PRIM_CUSTOM_VJP, f, kept, bwd, out, err);
}

cbx_status cbx_checkpoint(cbx_ctx *ctx, const cbx_fn *f, cbx_fn **out, cbx_err *err)
{
    const cbx_status st = cbx__fn_check("checkpoint", f, err);
    return st ? st : make(ctx, CBX_PRIM_CHECKPOINT, f, NULL, NULL, out, err);
}
