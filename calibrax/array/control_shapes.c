/*
 * Control flow of abstract operands: what a body or branch gives is found by running it once, and only shapes and dtypes
 * are made of it.  Also the sentences about values that change and branches that differ, for concrete operands, too.
 */
#include "calibrax/array/fn_internal.h"
#include "calibrax/array/state.h"

static cbx_status differ_check(const cbx_array_desc *a, const cbx_array_desc *b)
{
    if (cbx_array_desc_equal(a, b)) return CBX_OK;
    return a->dtype == b->dtype ? CBX_ESHAPE : CBX_EDTYPE;
}

cbx_status cbx__carry_check(const char *what, const cbx_fn *body, size_t i, const cbx_array_desc *in,
                            const cbx_array_desc *out, cbx_err *err)
{
    char a[160], b[160];
    cbx_status st = differ_check(in, out);

    if (!st) return CBX_OK;
    return cbx_fail(err, st, "value %zu carried by '%s' is %s before '%s' and %s after it: it must stay as it is", i,
                    what, cbx_array_desc_text(in, a, sizeof a), body->name, cbx_array_desc_text(out, b, sizeof b));
}

static cbx_status branch_check(const cbx_fn *a, const cbx_fn *b, size_t i, const cbx_array_desc *of_a,
                               const cbx_array_desc *of_b, cbx_err *err)
{
    char ta[160], tb[160];
    cbx_status st = differ_check(of_a, of_b);

    if (!st) return CBX_OK;
    return cbx_fail(err, st, "result %zu is %s in branch '%s' and %s in branch '%s': branches must agree", i,
                    cbx_array_desc_text(of_a, ta, sizeof ta), a->name, cbx_array_desc_text(of_b, tb, sizeof tb),
                    b->name);
}

cbx_status cbx__stacked_desc(const char *what, size_t n, const cbx_array_desc *d, cbx_array_desc *out, cbx_err *err)
{
    char text[160];
    size_t count;

    if (d->ndim == CBX_MAX_RANK)
        return cbx_fail(err, CBX_EINVAL, "'%s' cannot stack results of %s: they have all %d axes already", what,
                        cbx_array_desc_text(d, text, sizeof text), CBX_MAX_RANK);
    *out = (cbx_array_desc){ .dtype = d->dtype, .ndim = d->ndim + 1, .shape = { n } };
    for (int i = 0; i < d->ndim; i++) out->shape[i + 1] = d->shape[i];
    return cbx_array_desc_count(out, &count, err);
}

cbx_status cbx__untraced_check(cbx_ctx *ctx, const char *what, cbx_err *err)
{
    if (!cbx__records(cbx__state_get(ctx))) return CBX_OK;
    return cbx_fail(err, CBX_EUNSUPPORTED,
                    "backend '%s' takes abstract operands but has no '%s' to record: it must bring one",
                    cbx_ctx_backend(ctx)->name, what);
}

/* One element of it: without axis 0. */
static cbx_array_desc element(const cbx_array_desc *d)
{
    cbx_array_desc e = { .dtype = d->dtype, .ndim = d->ndim - 1 };

    for (int i = 0; i < e.ndim; i++) e.shape[i] = d->shape[i + 1];
    return e;
}

/* Descriptions of operands, results behind them; NULL without memory. */
static cbx_array_desc *lists_create(cbx_ctx *ctx, const cbx_fn *f, cbx_err *err)
{
    cbx_array_desc *in = cbx_mem_calloc(cbx_ctx_allocator(ctx), f->nin + f->nout + 1, sizeof *in);

    if (!in) cbx_fail(err, CBX_ENOMEM, "no memory for the operands of '%s'", f->name);
    return in;
}

static void lists_free(cbx_ctx *ctx, const cbx_fn *f, cbx_array_desc *in)
{
    cbx_mem_free(cbx_ctx_allocator(ctx), in, (f->nin + f->nout + 1) * sizeof *in);
}

static cbx_status stack_all(const char *what, size_t length, size_t n, cbx_array_desc *d, cbx_err *err)
{
    cbx_status st = CBX_OK;

    for (size_t i = 0; !st && i < n; i++) {
        const cbx_array_desc one = d[i];
        st = cbx__stacked_desc(what, length, &one, &d[i], err);
    }
    return st;
}

cbx_status cbx__scan_shapes(const cbx_scan_call *call, cbx_array **out, cbx_err *err)
{
    const cbx_fn *body = call->body;
    const size_t n = call->ncarry;
    cbx_array_desc *in = lists_create(call->ctx, body, err), *d;
    cbx_status st = CBX_OK;

    if (!in) return CBX_ENOMEM;
    d = in + body->nin;
    for (size_t i = 0; i < n; i++) in[i] = *cbx_array_get_desc(call->init[i]);
    for (size_t i = 0; i < call->nxs; i++) in[n + i] = element(cbx_array_get_desc(call->xs[i]));
    st = cbx_fn_infer(call->ctx, body, body->nin, in, body->nout, d, err);
    for (size_t i = 0; !st && i < n; i++) st = cbx__carry_check("scan", body, i, &in[i], &d[i], err);
    if (!st) st = stack_all("scan", call->length, body->nout - n, d + n, err);
    if (!st) st = cbx__abstract_all(call->ctx, body->nout, d, out, err);
    lists_free(call->ctx, body, in);
    return st;
}

cbx_status cbx__test_check(const cbx_fn *test, const cbx_array_desc *d, cbx_err *err)
{
    char text[160];

    if (d->ndim == 0) return CBX_OK;
    return cbx_fail(err, CBX_ESHAPE, "'%s' of 'while_loop' gives %s, it must give a scalar", test->name,
                    cbx_array_desc_text(d, text, sizeof text));
}

cbx_status cbx__loop_shapes(const cbx_loop_call *call, cbx_array **out, cbx_err *err)
{
    const char *what = call->test ? "while_loop" : "fori_loop";
    const cbx_fn *body = call->body;
    cbx_array_desc *in = lists_create(call->ctx, body, err), *d, *values, truth;
    cbx_status st = CBX_OK;

    if (!in) return CBX_ENOMEM;
    d = in + body->nin;
    values = in;
    if (!call->test) *values++ = (cbx_array_desc){ .dtype = CBX_I64 };
    for (size_t i = 0; i < call->n; i++) values[i] = *cbx_array_get_desc(call->init[i]);
    if (call->test) {
        st = cbx_fn_infer(call->ctx, call->test, call->n, values, 1, &truth, err);
        if (!st) st = cbx__test_check(call->test, &truth, err);
    }
    if (!st) st = cbx_fn_infer(call->ctx, body, body->nin, in, call->n, d, err);
    for (size_t i = 0; !st && i < call->n; i++) st = cbx__carry_check(what, body, i, &values[i], &d[i], err);
    if (!st) st = cbx__abstract_all(call->ctx, call->n, values, out, err);
    lists_free(call->ctx, body, in);
    return st;
}

cbx_status cbx__branches_check(const cbx_cond_call *call, size_t known, const cbx_array_desc *of_known, cbx_err *err)
{
    const cbx_fn *f = call->branches[known];
    cbx_array_desc *in = lists_create(call->ctx, f, err), *d;
    cbx_status st = CBX_OK;

    if (!in) return CBX_ENOMEM;
    d = in + f->nin;
    for (size_t i = 0; i < call->nin; i++) in[i] = *cbx_array_get_desc(call->in[i]);
    for (size_t b = 0; !st && b < call->n; b++) {
        if (b == known) continue;
        st = cbx_fn_infer(call->ctx, call->branches[b], call->nin, in, f->nout, d, err);
        for (size_t i = 0; !st && i < f->nout; i++)
            st = branch_check(f, call->branches[b], i, &of_known[i], &d[i], err);
    }
    lists_free(call->ctx, f, in);
    return st;
}

cbx_status cbx__cond_shapes(const cbx_cond_call *call, cbx_array **out, cbx_err *err)
{
    const cbx_fn *first = call->branches[0];
    cbx_array_desc *in = lists_create(call->ctx, first, err), *d;
    cbx_status st = CBX_OK;

    if (!in) return CBX_ENOMEM;
    d = in + first->nin;
    for (size_t i = 0; i < call->nin; i++) in[i] = *cbx_array_get_desc(call->in[i]);
    st = cbx_fn_infer(call->ctx, first, call->nin, in, first->nout, d, err);
    if (!st) st = cbx__branches_check(call, 0, d, err);
    if (!st) st = cbx__abstract_all(call->ctx, first->nout, d, out, err);
    lists_free(call->ctx, first, in);
    return st;
}

cbx_status cbx__vmap_shapes(const cbx_vmap_call *call, cbx_array **out, cbx_err *err)
{
    const cbx_fn *f = call->f;
    cbx_array_desc *in = lists_create(call->ctx, f, err), *d;
    cbx_status st = CBX_OK;

    if (!in) return CBX_ENOMEM;
    d = in + f->nin;
    for (size_t i = 0; i < f->nin; i++) {
        const cbx_array_desc *whole = cbx_array_get_desc(call->in[i]);
        in[i] = call->mapped[i] ? element(whole) : *whole;
    }
    st = cbx_fn_infer(call->ctx, f, f->nin, in, f->nout, d, err);
    if (!st) st = stack_all("vmap", call->length, f->nout, d, err);
    if (!st) st = cbx__abstract_all(call->ctx, f->nout, d, out, err);
    lists_free(call->ctx, f, in);
    return st;
}
