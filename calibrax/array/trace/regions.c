/* Control flow as operations: their objects, and how they are applied. */
#include "calibrax/array/trace/regions.h"

#include <string.h>

#include "calibrax/array/ops_internal.h"

static void control_free(cbx_object *o)
{
    cbx__control *c = (cbx__control *)(void *)o;
    cbx_allocator al = c->al;

    for (size_t i = 0; i < c->n; i++) cbx__graph_unref(c->graph[i]);
    for (size_t i = 0; i < CBX_LEN(c->rule); i++) cbx_fn_free(c->rule[i]);
    cbx_mem_free(&al, c, c->bytes);
}

/* The flags lie behind the other lists. */
static cbx_status create(cbx_ctx *ctx, size_t n, cbx__graph *const *graph, const size_t *consts, size_t nout,
                         const cbx_array_desc *results, size_t nflags, cbx__control **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    const size_t bytes = sizeof(cbx__control) + n * (sizeof(cbx__graph *) + sizeof(size_t)) +
                         nout * sizeof(cbx_array_desc) + nflags;
    cbx__control *c = cbx_mem_zalloc(al, bytes);

    if (!c) return cbx_fail(err, CBX_ENOMEM, "no memory for %zu functions of an operation", n);
    atomic_init(&c->base.refs, 1);
    c->base.free = control_free;
    c->al = *al;
    c->bytes = bytes;
    c->n = n;
    c->graph = (cbx__graph **)(void *)(c + 1);
    c->consts = (size_t *)(void *)(c->graph + n);
    c->base.nout = nout;
    c->base.results = memcpy((void *)(c->consts + n), results, nout * sizeof *results);
    for (size_t i = 0; i < n; i++) {
        c->graph[i] = cbx__graph_ref(graph[i]);
        c->consts[i] = consts ? consts[i] : 0;
    }
    if (nflags) c->moves = (bool *)(void *)((char *)(c + 1) + (bytes - sizeof *c - nflags));
    *out = c;
    return CBX_OK;
}

cbx_status cbx__control_create(cbx_ctx *ctx, size_t n, cbx__graph *const *graph, const size_t *consts, size_t nout,
                               const cbx_array_desc *results, cbx__control **out, cbx_err *err)
{
    return create(ctx, n, graph, consts, nout, results, 0, out, err);
}

cbx_status cbx__control_with(cbx_ctx *ctx, const cbx__control *c, cbx__graph *const *graph, cbx__control **out,
                             cbx_err *err)
{
    const size_t nflags = c->moves ? c->graph[0]->in.n : 0;
    cbx__control *made = NULL;
    cbx_status st = create(ctx, c->n, graph, c->consts, c->base.nout, c->base.results, nflags, &made, err);

    if (st) return st;
    made->ncarry = c->ncarry, made->nxs = c->nxs, made->length = c->length, made->reverse = c->reverse;
    made->flat = c->flat;
    made->nres = c->nres;
    if (nflags) memcpy(made->moves, c->moves, nflags);
    for (size_t i = 0; !st && i < CBX_LEN(c->rule); i++)
        if (c->rule[i]) st = cbx_fn_keep(ctx, c->rule[i], &made->rule[i], err);
    return CBX_FINISH(st, *out = made, cbx__object_unref(&made->base));
}

void cbx__graph_rotate(cbx__graph *g, size_t n)
{
    const size_t first = g->in.n - n;

    for (size_t i = 0; i < n; i++) { /* one at a time: few of them are moved, once */
        const cbx__vid v = g->in.items[first + i];
        memmove(g->in.items + i + 1, g->in.items + i, first * sizeof v);
        g->in.items[i] = v;
    }
}

cbx_array_desc cbx__element_desc(const cbx_array_desc *d)
{
    cbx_array_desc e = { .dtype = d->dtype, .ndim = d->ndim - 1 };

    memcpy(e.shape, d->shape + 1, (size_t)e.ndim * sizeof *e.shape);
    return e;
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

/*
 * The operation with its object, which is dropped; a failure so far makes the results failed
 * arrays.
 */
static void apply(cbx_ctx *ctx, cbx_prim prim, int mode, cbx_status st, const cbx_err *err, cbx__control *c, size_t nin,
                  cbx_array *const *in, size_t nout, cbx_array **out)
{
    if (st) {
        cbx__refuse(ctx, st, "%s", err->message);
        for (size_t i = 0; i < nout; i++) out[i] = cbx__array_failed();
        return;
    }
    cbx_apply_all(ctx, prim, nin, (const cbx_array *const *)in, &(cbx_attrs){ .mode = mode, .object = &c->base }, out);
    cbx__object_unref(&c->base);
}

void cbx__scan_apply(cbx_ctx *ctx, cbx__graph *body, size_t nconst, size_t ncarry, size_t nxs, size_t length,
                     bool reverse, cbx_array *const *in, cbx_array **out)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    const size_t nout = body->out.n;
    cbx_array_desc *results = cbx_mem_calloc(al, nout + 1, sizeof *results);
    cbx_err err = CBX_ERR_INIT;
    cbx__control *c = NULL;
    cbx_status st = CBX_OK;

    if (!results) st = cbx_fail(&err, CBX_ENOMEM, "no memory for the results of 'scan'");
    for (size_t i = 0; !st && i < nout; i++) {
        if (i < ncarry)
            results[i] = *cbx__graph_out(body, i);
        else
            st = cbx__stacked_desc("scan", length, cbx__graph_out(body, i), &results[i], &err);
    }
    if (!st) st = cbx__control_create(ctx, 1, &body, &nconst, nout, results, &c, &err);
    if (!st) c->ncarry = ncarry, c->nxs = nxs, c->length = length, c->reverse = reverse;
    apply(ctx, CBX_PRIM_SCAN, 0, st, &err, c, nconst + ncarry + nxs, in, nout, out);
    cbx_mem_free(al, results, (nout + 1) * sizeof *results);
}

/* WHILE and COND: results are as those of one of the functions. */
static void apply_like(cbx_ctx *ctx, cbx_prim prim, size_t n, cbx__graph *const *graph, const size_t *consts,
                       size_t like, size_t ncarry, size_t nin, cbx_array *const *in, cbx_array **out)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    const size_t nout = graph[like]->out.n;
    cbx_array_desc *results = cbx_mem_calloc(al, nout + 1, sizeof *results);
    cbx_err err = CBX_ERR_INIT;
    cbx__control *c = NULL;
    cbx_status st = CBX_OK;

    if (!results) st = cbx_fail(&err, CBX_ENOMEM, "no memory for the results of '%s'", cbx_prim_name(prim));
    for (size_t i = 0; !st && i < nout; i++) results[i] = *cbx__graph_out(graph[like], i);
    if (!st) st = cbx__control_create(ctx, n, graph, consts, nout, results, &c, &err);
    if (!st) c->ncarry = ncarry;
    for (size_t i = 0; i < n; i++) nin += consts[i];
    apply(ctx, prim, 0, st, &err, c, nin, in, nout, out);
    cbx_mem_free(al, results, (nout + 1) * sizeof *results);
}

void cbx__cond_apply(cbx_ctx *ctx, size_t n, cbx__graph *const *branch, const size_t *consts, size_t nin,
                     cbx_array *const *in, cbx_array **out)
{
    apply_like(ctx, CBX_PRIM_COND, n, branch, consts, 0, 0, 1 + nin, in, out);
}

void cbx__while_apply(cbx_ctx *ctx, cbx__graph *const functions[2], const size_t consts[2], size_t ncarry,
                      cbx_array *const *in, cbx_array **out)
{
    apply_like(ctx, CBX_PRIM_WHILE, 2, functions, consts, CBX__WHILE_BODY, ncarry, ncarry, in, out);
}

void cbx__host_apply(cbx_ctx *ctx, const cbx_fn *f, const cbx_array_desc *results, bool flat, cbx_array *const *in,
                     cbx_array **out)
{
    cbx_err err = CBX_ERR_INIT;
    cbx__control *c = NULL;
    cbx_status st = cbx__control_create(ctx, 0, NULL, NULL, f->nout, results, &c, &err);

    if (!st) {
        c->flat = flat;
        st = cbx_fn_keep(ctx, f, &c->rule[0], &err);
        if (st) cbx__object_unref(&c->base);
    }
    apply(ctx, CBX_PRIM_HOST_CALL, 0, st, &err, c, f->nin, in, f->nout, out);
}

cbx__called cbx__called_of(cbx_prim prim, const cbx_attrs *attrs)
{
    const cbx__control *c = cbx__control_of(attrs);
    return (cbx__called){ prim, c->graph[0], c->consts[0], c->rule, c->moves, c->nres, attrs->mode };
}

void cbx__called_apply(cbx_ctx *ctx, const cbx__called *call, size_t nin, cbx_array *const *in, cbx_array **out)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    const size_t n = call->f->out.n, nflags = call->moves ? call->f->in.n : 0;
    cbx_array_desc *results = cbx_mem_calloc(al, n + 1, sizeof *results);
    cbx_err err = CBX_ERR_INIT;
    cbx__control *c = NULL;
    size_t nout = 0;
    cbx_status st = CBX_OK;

    if (!results) st = cbx_fail(&err, CBX_ENOMEM, "no memory for the results of '%s'", call->f->name);
    for (size_t i = 0; i < n; i++) {
        const cbx_array_desc *d = cbx__graph_out(call->f, i);
        if (call->moves && cbx_dtype_kind(d->dtype) < CBX_KIND_FLOAT) continue;
        if (!st) results[nout] = *d;
        nout++;
    }
    if (!st) st = create(ctx, 1, &call->f, &call->nconst, nout, results, nflags, &c, &err);
    if (!st) {
        if (nflags) memcpy(c->moves, call->moves, nflags);
        c->nres = call->nres;
        for (size_t i = 0; !st && call->rule && i < CBX_LEN(c->rule); i++)
            if (call->rule[i]) st = cbx_fn_keep(ctx, call->rule[i], &c->rule[i], &err);
    }
    if (st && c) cbx__object_unref(&c->base);
    apply(ctx, call->prim, call->mode, st, &err, c, nin, in, nout, out);
    cbx_mem_free(al, results, (n + 1) * sizeof *results);
}
