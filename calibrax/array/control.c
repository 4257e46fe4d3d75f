/*
 * Control flow: what the operations check before anything runs, and who runs it.  The plain loops are in
 * reference/control.c, shapes of abstract operands in control_shapes.c.
 */
#include "calibrax/array/fn_internal.h"
#include "calibrax/array/ops_internal.h"
#include "calibrax/array/transform.h"

bool cbx__any_abstract(size_t n, cbx_array *const *in)
{
    for (size_t i = 0; i < n; i++)
        if (cbx_array_is_abstract(in[i])) return true;
    return false;
}

static cbx_status body_check(const char *what, const cbx_fn *f, size_t nin, size_t nout, bool more, cbx_err *err)
{
    cbx_status st = cbx__fn_check(what, f, err);

    if (st) return st;
    if (f->nin != nin || f->nout < nout || (f->nout > nout && !more))
        return cbx_fail(err, CBX_EINVAL,
                        "'%s' of '%s' takes %zu operands and gives %zu results, it must be %zu and %s%zu", f->name,
                        what, f->nin, f->nout, nin, more ? "at least " : "", nout);
    return CBX_OK;
}

/* ---- scan ---- */

static cbx_status scan_length(cbx_scan_call *call, cbx_err *err)
{
    char text[160];

    for (size_t i = 0; i < call->nxs; i++) {
        const cbx_array_desc *d = cbx_array_get_desc(call->xs[i]);
        if (d->ndim == 0)
            return cbx_fail(err, CBX_EINVAL, "xs %zu of 'scan' is a scalar: it has no axis to walk along", i);
        if (call->length == CBX_LENGTH_OF_XS) call->length = d->shape[0];
        if (d->shape[0] != call->length)
            return cbx_fail(err, CBX_ESHAPE, "xs %zu of 'scan' is %s, but there are %zu steps", i,
                            cbx_array_desc_text(d, text, sizeof text), call->length);
    }
    if (call->length == CBX_LENGTH_OF_XS) return cbx_fail(err, CBX_EINVAL, "'scan' without xs needs a length");
    return CBX_OK;
}

static cbx_status scan_check(cbx_scan_call *call, cbx_err *err)
{
    cbx_status st = cbx__begin(call->ctx, err);

    if (!st) st = body_check("scan", call->body, call->ncarry + call->nxs, call->ncarry, true, err);
    if (!st) st = cbx__operands_check("scan", call->ncarry, call->init, err);
    if (!st) st = cbx__operands_check("scan", call->nxs, call->xs, err);
    return st ? st : scan_length(call, err);
}

cbx_status cbx_scan(cbx_ctx *ctx, const cbx_fn *body, size_t ncarry, cbx_array *const *init, size_t nxs,
                    cbx_array *const *xs, size_t length, bool reverse, cbx_array **out)
{
    cbx_scan_call call = { ctx, body, ncarry, nxs, init, xs, length, reverse };
    cbx_err err = CBX_ERR_INIT;
    cbx__results r;
    cbx_status st = cbx__results_init(&r, ctx, body ? body->nout : 0, &err);

    if (!st) st = scan_check(&call, &err);
    CBX__CARRY_OUT(st, scan, cbx__any_abstract(ncarry, init) || cbx__any_abstract(nxs, xs), cbx__scan_shapes, &call,
                   r.at, &err);
    return cbx__deliver(&r, st, &err, out);
}

/* ---- fori_loop and while_loop ---- */

static cbx_status loop_check(const cbx_loop_call *call, const char *what, cbx_err *err)
{
    cbx_status st = cbx__begin(call->ctx, err);

    if (!st && call->test) st = body_check(what, call->test, call->n, 1, false, err);
    if (!st) st = body_check(what, call->body, call->n + !call->test, call->n, false, err);
    return st ? st : cbx__operands_check(what, call->n, call->init, err);
}

cbx_status cbx_fori_loop(cbx_ctx *ctx, int64_t lower, int64_t upper, const cbx_fn *body, size_t n,
                         cbx_array *const *init, cbx_array **out)
{
    const cbx_loop_call call = { ctx, NULL, body, lower, upper, n, init };
    cbx_err err = CBX_ERR_INIT;
    cbx__results r;
    cbx_status st = cbx__results_init(&r, ctx, n, &err);

    if (!st) st = loop_check(&call, "fori_loop", &err);
    CBX__CARRY_OUT(st, fori_loop, cbx__any_abstract(n, init), cbx__loop_shapes, &call, r.at, &err);
    return cbx__deliver(&r, st, &err, out);
}

cbx_status cbx_while_loop(cbx_ctx *ctx, const cbx_fn *test, const cbx_fn *body, size_t n, cbx_array *const *init,
                          cbx_array **out)
{
    const cbx_loop_call call = { ctx, test, body, 0, 0, n, init };
    cbx_err err = CBX_ERR_INIT;
    cbx__results r;
    cbx_status st = cbx__results_init(&r, ctx, n, &err);

    if (!st) st = cbx__fn_check("while_loop", test, &err);
    if (!st) st = loop_check(&call, "while_loop", &err);
    CBX__CARRY_OUT(st, while_loop, cbx__any_abstract(n, init), cbx__loop_shapes, &call, r.at, &err);
    return cbx__deliver(&r, st, &err, out);
}

/* ---- cond and switch ---- */

/* Results that every branch has: branches may disagree. */
static size_t min_results(size_t n, const cbx_fn *const *branches)
{
    size_t minimum = n ? SIZE_MAX : 0;

    for (size_t i = 0; i < n; i++) {
        size_t nout = branches[i] ? branches[i]->nout : 0;
        if (nout < minimum) minimum = nout;
    }
    return minimum;
}

static cbx_status branches_check(const char *what, const cbx_cond_call *call, cbx_err *err)
{
    cbx_status st = cbx__begin(call->ctx, err);

    if (!st && call->n == 0) return cbx_fail(err, CBX_EINVAL, "'%s' of no branches", what);
    if (!st) st = cbx__fn_check(what, call->branches[0], err);
    for (size_t i = 0; !st && i < call->n; i++)
        st = body_check(what, call->branches[i], call->nin, call->branches[0]->nout, false, err);
    if (!st) st = cbx__operands_check(what, 1, (cbx_array *const[]){ (cbx_array *)(uintptr_t)call->index }, err);
    if (!st && call->index->desc.ndim != 0)
        st = cbx_fail(err, CBX_ESHAPE, "'%s' chooses by a scalar, not by an array of %d axes", what,
                      call->index->desc.ndim);
    return st ? st : cbx__operands_check(what, call->nin, call->in, err);
}

/* What chooses, as backends take it: int64; an unsigned one is brought into range before it could wrap. */
static const cbx_array *as_index(const cbx_cond_call *call, bool truth)
{
    const cbx_array *x = call->index;
    const uint64_t maximum = call->n - 1;

    if (truth) x = cbx__as(call->ctx, x, CBX_BOOL);
    if (x->desc.dtype == CBX_U64)
        x = cbx_minimum(call->ctx, x, cbx_full(call->ctx, 0, NULL, CBX_U64, cbx_int((int64_t)maximum)));
    return cbx__as(call->ctx, x, CBX_I64);
}

static cbx_status branch(const char *what, cbx_cond_call *call, bool truth, cbx_array **out, cbx_err *err)
{
    cbx_status st = branches_check(what, call, err);
    cbx_scope scope;

    if (st) return st;
    if (!truth && cbx_dtype_kind(call->index->desc.dtype) != CBX_KIND_INT)
        return cbx_fail(err, CBX_EDTYPE, "'%s' takes an integer, not %s", what,
                        cbx_dtype_name(call->index->desc.dtype));
    cbx_scope_open(call->ctx, &scope); /* the index lives in it; results are references of our own */
    call->index = as_index(call, truth);
    st = cbx_ctx_pending(call->ctx, err);
    CBX__CARRY_OUT(st, cond, cbx_array_is_abstract(call->index) || cbx__any_abstract(call->nin, call->in),
                   cbx__cond_shapes, call, out, err);
    cbx_scope_close(&scope, NULL);
    return st;
}

cbx_status cbx_cond(cbx_ctx *ctx, const cbx_array *which, const cbx_fn *yes, const cbx_fn *no, size_t nin,
                    cbx_array *const *in, cbx_array **out)
{
    const cbx_fn *branches[2] = { no, yes };
    cbx_cond_call call = { ctx, which, 2, branches, nin, in };
    cbx_err err = CBX_ERR_INIT;
    cbx__results r;
    cbx_status st = cbx__results_init(&r, ctx, min_results(2, branches), &err);

    if (!st) st = branch("cond", &call, true, r.at, &err);
    return cbx__deliver(&r, st, &err, out);
}

cbx_status cbx_switch(cbx_ctx *ctx, const cbx_array *index, size_t n, const cbx_fn *const *branches, size_t nin,
                      cbx_array *const *in, cbx_array **out)
{
    cbx_cond_call call = { ctx, index, n, branches, nin, in };
    cbx_err err = CBX_ERR_INIT;
    cbx__results r;
    cbx_status st = cbx__results_init(&r, ctx, min_results(n, branches), &err);

    if (!st) st = branch("switch", &call, false, r.at, &err);
    return cbx__deliver(&r, st, &err, out);
}
