/*
 * Functions as values.  A call is a scope: it owns what the function makes, and reports why it
 * failed.
 */
#include "calibrax/array/fn.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/array/fn_internal.h"
#include "calibrax/array/scope.h"
#include "calibrax/base/idioms.h"

struct cbx__fn_claim {
    cbx_fn fn; /* what the caller holds */
    atomic_size_t refs;
    cbx_allocator al;
    void (*release)(void *user);
    bool is_closure;
    size_t bytes;
    max_align_t space[]; /* user data of a closure, then the name */
};

cbx_status cbx__begin(cbx_ctx *ctx, cbx_err *err)
{
    if (!cbx__state_get(ctx)) return cbx_fail(err, CBX_ENOMEM, "no memory for the array state of a context");
    return cbx_ctx_pending(ctx, err);
}

cbx_status cbx__fn_check(const char *what, const cbx_fn *f, cbx_err *err)
{
    if (!f || !f->call) return cbx_fail(err, CBX_EINVAL, "the function passed to '%s' has no code", what);
    return CBX_OK;
}

/* A copy of f under the name "what(name)", or with what NULL its own, and `bytes` of user data. */
static struct cbx__fn_claim *claim_create(cbx_ctx *ctx, const char *what, const cbx_fn *f, size_t bytes, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    const char *name = f->name ? f->name : "";
    const size_t all = sizeof(struct cbx__fn_claim) + bytes + (what ? strlen(what) + 2 : 0) + strlen(name) + 1;
    struct cbx__fn_claim *c = cbx_mem_zalloc(al, all);
    char *text = c ? (char *)c->space + bytes : NULL;

    if (!c) {
        cbx_fail(err, CBX_ENOMEM, "no memory for the function '%s'", name);
        return NULL;
    }
    snprintf(text, all - (size_t)(text - (char *)c), what ? "%s(%s)" : "%s%s", what ? what : "", name);
    c->bytes = all;
    c->al = *al;
    atomic_init(&c->refs, 1);
    c->fn = *f;
    c->fn.name = text;
    c->fn.claim = c;
    return c;
}

cbx_status cbx_fn_create(cbx_ctx *ctx, const cbx_fn *f, void (*release)(void *user), cbx_fn **out, cbx_err *err)
{
    struct cbx__fn_claim *c;
    const cbx_status st = cbx__fn_check("fn_create", f, err);

    if (st) return st;
    if (f->claim) return cbx_fail(err, CBX_EINVAL, "'%s' already has an owner: cbx_fn_keep shares it", f->name);
    c = claim_create(ctx, NULL, f, 0, err);
    if (!c) return CBX_ENOMEM;
    c->release = release;
    *out = &c->fn;
    return CBX_OK;
}

cbx_status cbx__closure_create(cbx_ctx *ctx, const char *what, const cbx_fn *f, size_t bytes, cbx_array_fn call,
                               size_t nin, size_t nout, void (*drop)(void *user), cbx_fn **out, cbx_err *err)
{
    struct cbx__fn_claim *c = claim_create(ctx, what, &(cbx_fn){ f->name, call, NULL, nin, nout, NULL }, bytes, err);
    cbx_status st;

    if (!c) return CBX_ENOMEM;
    cbx__closure *user = (cbx__closure *)(void *)c->space;
    c->fn.user = user;
    c->is_closure = true;
    user->name = c->fn.name;
    st = cbx_fn_keep(ctx, f, &user->f, err);
    if (!st) c->release = drop;
    return CBX_FINISH(st, *out = &c->fn, cbx_fn_free(&c->fn));
}

cbx_status cbx_fn_keep(cbx_ctx *ctx, const cbx_fn *f, cbx_fn **out, cbx_err *err)
{
    if (!f || !f->claim) return cbx_fn_create(ctx, f, NULL, out, err);
    atomic_fetch_add_explicit(&f->claim->refs, 1, memory_order_relaxed);
    *out = &f->claim->fn;
    return CBX_OK;
}

void cbx_fn_free(cbx_fn *f)
{
    struct cbx__fn_claim *c = f ? f->claim : NULL;
    cbx_allocator al;

    if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1) return;
    if (c->release) c->release(c->fn.user);
    if (c->is_closure) cbx_fn_free(((cbx__closure *)c->fn.user)->f);
    al = c->al;
    cbx_mem_free(&al, c, c->bytes);
}

cbx_status cbx__operands_check(const char *what, size_t n, cbx_array *const *in, cbx_err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (cbx_array_is_failed(in[i]))
            return cbx_fail(err, CBX_EINVAL, "operand %zu of '%s' is %s", i + 1, what,
                            in[i] ? "the result of an operation that failed" : "NULL");
        if (in[i]->flags & CBX__DONATED) return cbx__array_present(what, in[i], err);
    }
    return CBX_OK;
}

cbx_status cbx__fn_counts_check(const cbx_fn *f, size_t nin, size_t nout, cbx_err *err)
{
    cbx_status st = cbx__fn_check("fn_call", f, err);

    if (st || (nin == f->nin && nout == f->nout)) return st;
    return cbx_fail(err, CBX_EINVAL, "'%s' takes %zu operands and returns %zu results, not %zu and %zu", f->name,
                    f->nin, f->nout, nin, nout);
}

/* Space for results apart from what the caller hands out, which may be the operands' list. */
typedef struct results {
    cbx_ctx *ctx;
    size_t n;
    cbx_array **at; /* failed arrays at first */
    cbx_array *small[8];
} results;

static cbx_status results_init(results *r, cbx_ctx *ctx, size_t n, cbx_err *err)
{
    *r = (results){ .ctx = ctx, .n = n, .at = r->small };
    if (n > CBX_LEN(r->small)) r->at = cbx_mem_calloc(cbx_ctx_allocator(ctx), n, sizeof *r->at);
    if (!r->at) return cbx_fail(err, CBX_ENOMEM, "no memory for %zu results", n);
    for (size_t i = 0; i < n; i++) r->at[i] = cbx__array_failed();
    return CBX_OK;
}

static void results_clear(results *r)
{
    if (r->at != r->small) cbx_mem_free(cbx_ctx_allocator(r->ctx), r->at, r->n * sizeof *r->at);
    r->at = NULL;
}

/* A branch in C on elements that are not there: which one the function took means nothing. */
static void refuse_reads(cbx_ctx *ctx, const char *name, size_t n, cbx_array *const *arrays)
{
    for (size_t i = 0; i < n; i++) {
        if (!(arrays[i]->flags & CBX__WAS_READ)) continue;
        arrays[i]->flags &= ~(unsigned)CBX__WAS_READ;
        cbx__refuse(ctx, CBX_EINVAL,
                    "'%s' reads elements of %s, which are not known while it is traced: decide with 'cond' or "
                    "'while_loop'",
                    name, CBX__DESC_TEXT(&arrays[i]->desc));
    }
}

cbx_status cbx_fn_run(cbx_ctx *ctx, const cbx_fn *f, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out,
                      cbx_err *err)
{
    results r;
    cbx_scope scope;
    cbx_status st = cbx__begin(ctx, err);

    if (!st) st = cbx__fn_counts_check(f, nin, nout, err);
    if (!st) st = cbx__operands_check(f->name, nin, in, err);
    if (!st) st = results_init(&r, ctx, nout, err);
    if (!st) {
        const cbx__state *s = cbx__state_get(ctx);
        cbx_scope_open(ctx, &scope);
        st = f->call(ctx, nin, in, nout, r.at, f->user);
        refuse_reads(ctx, f->name, nin, in);
        if (s && s->count > scope.first) refuse_reads(ctx, f->name, s->count - scope.first, s->held + scope.first);
        /* What the operations have not recorded themselves. */
        if (st) cbx__refuse(ctx, st, "'%s' returned CBX_%s without a reason", f->name, cbx_status_name(st));
        for (size_t i = 0; i < nout; i++)
            if (cbx_array_is_failed(r.at[i]))
                cbx__refuse(ctx, CBX_EINVAL, "'%s' did not set its result %zu to an array", f->name, i);
        st = cbx_scope_close_keep(&scope, nout, r.at, err);
        for (size_t i = 0; !st && i < nout; i++) out[i] = r.at[i];
        results_clear(&r);
    }
    for (size_t i = 0; st && i < nout; i++) out[i] = NULL;
    return st;
}

/*
 * A failure becomes the context's, out[] failed arrays; else the scope takes the references in
 * out[].
 */
static cbx_status settle(cbx_ctx *ctx, cbx_status st, const cbx_err *err, size_t nout, cbx_array **out)
{
    if (st) cbx__refuse(ctx, st, "%s", err->message);
    for (size_t i = 0; i < nout; i++) out[i] = st ? cbx__array_failed() : cbx_scope_hold(ctx, out[i]);
    if (st || !cbx_ctx_pending(ctx, NULL)) return st;
    for (size_t i = 0; i < nout; i++) out[i] = cbx__array_failed(); /* no memory to hold all of them */
    return cbx_ctx_pending(ctx, NULL);
}

cbx_status cbx_fn_call(cbx_ctx *ctx, const cbx_fn *f, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = cbx_fn_run(ctx, f, nin, in, nout, out, &err);

    return settle(ctx, st, &err, nout, out);
}

void cbx__arrays_free(size_t n, cbx_array **arrays)
{
    for (size_t i = 0; i < n; i++) {
        cbx_array_free(arrays[i]);
        arrays[i] = NULL;
    }
}
