/* Graphs carried out forward with tangents, backward with cotangents, and over a batch. */
#include "calibrax/array/trace/derive.h"

#include <string.h>

/* Rules that are no function: there is nothing to do. */
void cbx__jvp_source(cbx__jvp *r) { (void)r; }
void cbx__transpose_source(cbx__transpose *r) { (void)r; }
void cbx__batch_source(cbx__batch *r) { (void)r; }
void cbx__transpose_nonlinear(cbx__transpose *r)
{
    cbx__refuse(r->ctx, CBX_EINTERNAL, "'%s' is linear in none of its operands", cbx_prim_name(r->prim));
}
/* Results are integers or booleans, or do not move: their derivative is 0 wherever there is one. */
void cbx__jvp_zero(cbx__jvp *r) { (void)r; }

const cbx__rules *cbx__rules_of(cbx_prim p)
{
    static const cbx__rules table[CBX_PRIM_LIMIT] = {
#define ROW(name, run, cost, jvp, transpose, batch)                                                                    \
    [CBX_PRIM_##name] = { cbx__jvp_##jvp, cbx__transpose_##transpose, cbx__batch_##batch },
        CBX__RULES_MAP(ROW)
#undef ROW
    };
    return (unsigned)p < CBX_PRIM_LIMIT ? &table[p] : NULL;
}

cbx_array *cbx__zeros_of(cbx_ctx *ctx, const cbx_array_desc *d) { return cbx_zeros(ctx, d->ndim, d->shape, d->dtype); }

/* ---- values of a pass: lists of owned arrays by the number of a value ---- */

typedef struct pass {
    cbx_ctx *ctx;
    const cbx__graph *g;
    size_t n;
    cbx_array **value, **beside; /* beside: tangents or cotangents */
    bool *mapped;
    size_t widest;    /* operands or results of a node */
    cbx_array **list; /* 5 * widest */
    const cbx_array_desc **desc;
    bool *flags;
    void *space;
    size_t bytes;
} pass;

static cbx_status pass_init(pass *p, cbx_ctx *ctx, const cbx__graph *g, cbx_err *err)
{
    *p = (pass){ .ctx = ctx, .g = g, .n = g->values.n, .widest = 1 };
    for (size_t k = 0; k < g->nodes.n; k++) {
        const cbx__node *node = &g->nodes.items[k];
        if (node->nin > p->widest) p->widest = node->nin;
        if (node->nout > p->widest) p->widest = node->nout;
    }
    p->bytes = (2 * p->n + 5 * p->widest) * sizeof(cbx_array *) + p->widest * sizeof *p->desc + p->n + 2 * p->widest;
    p->space = cbx_mem_zalloc(cbx_ctx_allocator(ctx), p->bytes);
    if (!p->space) return cbx_fail(err, CBX_ENOMEM, "no memory for a pass through '%s'", g->name);
    p->value = p->space;
    p->beside = p->value + p->n;
    p->list = p->beside + p->n;
    p->desc = (const cbx_array_desc **)(void *)(p->list + 5 * p->widest);
    p->mapped = (bool *)(void *)(p->desc + p->widest);
    p->flags = p->mapped + p->n;
    for (size_t i = 0; i < p->n; i++) p->value[i] = cbx_array_ref(g->values.items[i].constant);
    return CBX_OK;
}

static void pass_clear(pass *p)
{
    if (p->space) cbx__arrays_free(2 * p->n, p->value);
    cbx_mem_free(cbx_ctx_allocator(p->ctx), p->space, p->bytes);
}

/* Results of a rule, held by an inner scope, become the pass's own; NULL stays NULL. */
static cbx_status keep(cbx_scope *scope, size_t n, cbx_array **list, cbx_err *err)
{
    cbx_array *small[16], **dense = small;
    cbx_ctx *ctx = scope->ctx;
    size_t m = 0;
    cbx_status st;

    if (n > CBX_LEN(small)) dense = cbx_mem_calloc(cbx_ctx_allocator(ctx), n, sizeof *dense);
    if (!dense) {
        cbx_scope_close(scope, NULL);
        memset(list, 0, n * sizeof *list);
        return cbx_fail(err, CBX_ENOMEM, "no memory for the results of a rule");
    }
    for (size_t i = 0; i < n; i++)
        if (list[i]) dense[m++] = list[i];
    st = cbx_scope_close_keep(scope, m, dense, err);
    if (st) memset(list, 0, n * sizeof *list);
    if (dense != small) cbx_mem_free(cbx_ctx_allocator(ctx), dense, n * sizeof *dense);
    return st;
}

/* Values that no later node reads. */
static void drop_used(pass *p, const cbx__node *node, size_t k)
{
    for (uint32_t i = 0; i < node->nin + node->nout; i++) {
        const cbx__vid v = i < node->nin ? node->in[i] : node->out + (i - node->nin);
        if (p->g->values.items[v].last != k) continue;
        cbx_array_free(p->value[v]);
        cbx_array_free(p->beside[v]);
        p->value[v] = p->beside[v] = NULL;
    }
}

/* ---- forward ---- */

static cbx_status jvp_node(pass *p, const cbx__node *node, bool linear, cbx_err *err)
{
    const bool control = cbx_prim_get_info(node->prim)->kind == CBX_CLASS_CONTROL;
    cbx_array **in = p->list, **t = in + p->widest, **out = t + p->widest, **dt = out + p->widest;
    bool moves = false;
    cbx_scope scope;
    cbx_status st;

    for (uint32_t i = 0; i < node->nin; i++) {
        in[i] = p->value[node->in[i]];
        t[i] = p->beside[node->in[i]];
        moves |= t[i] != NULL;
    }
    memset(out, 0, node->nout * sizeof *out);
    memset(dt, 0, node->nout * sizeof *dt);
    cbx_scope_open(p->ctx, &scope);
    if (!(control && moves))
        cbx_apply_all(p->ctx, node->prim, node->nin, (const cbx_array *const *)in, node->attrs, out);
    if (moves && !cbx_ctx_pending(p->ctx, NULL))
        cbx__rules_of(node->prim)
            ->jvp(&(cbx__jvp){ p->ctx, node->prim, node->attrs, node->nin, node->nout, in, t, out, dt, linear });
    /* one list: out[] and dt[] are neighbours */
    for (uint32_t i = 0; i < node->nout; i++) out[node->nout + i] = dt[i];
    st = keep(&scope, 2 * node->nout, out, err);
    for (uint32_t i = 0; !st && i < node->nout; i++) {
        p->value[node->out + i] = out[i];
        p->beside[node->out + i] = out[node->nout + i];
    }
    return st;
}

cbx_status cbx__graph_jvp(cbx_ctx *ctx, const cbx__graph *g, cbx_array *const *in, cbx_array *const *t, bool linear,
                          cbx_array **out, cbx_array **dt, cbx_err *err)
{
    pass p;
    cbx_status st = pass_init(&p, ctx, g, err);

    for (size_t i = 0; !st && i < g->in.n; i++) {
        p.value[g->in.items[i]] = cbx_array_ref(in[i]);
        p.beside[g->in.items[i]] = cbx_array_ref(t[i]);
    }
    for (size_t k = 0; !st && k < g->nodes.n; k++) {
        st = jvp_node(&p, &g->nodes.items[k], linear, err);
        if (!st) drop_used(&p, &g->nodes.items[k], k);
    }
    for (size_t i = 0; !st && i < g->out.n; i++) {
        out[i] = cbx_array_ref(p.value[g->out.items[i]]);
        dt[i] = cbx_array_ref(p.beside[g->out.items[i]]);
    }
    pass_clear(&p);
    return st;
}

cbx_status cbx__graph_linearize(cbx_ctx *ctx, const cbx__graph *g, cbx_array *const *in, const bool *wanted,
                                const bool *forced, cbx_array **out, cbx__traced *map, bool *moves, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    const size_t n = g->in.n + 2 * g->out.n + 1;
    cbx_array **t = cbx_mem_calloc(al, n, sizeof *t), **dt = t + g->in.n, **ends = dt + g->out.n;
    size_t nends = 0;
    cbx__trace trace;
    cbx_scope scope;
    cbx_status st;

    if (!t) return cbx_fail(err, CBX_ENOMEM, "no memory for the tangents of '%s'", g->name);
    memset(out, 0, g->out.n * sizeof *out);
    st = cbx__trace_begin(ctx, g->name, false, &trace, err);
    if (!st) {
        for (size_t i = 0; !st && i < g->in.n; i++)
            if (wanted[i]) st = cbx__trace_input(&trace, cbx__graph_in(g, i), &t[i], err);
        if (!st) st = cbx__graph_jvp(ctx, g, in, t, true, out, dt, err);
        cbx_scope_open(ctx, &scope); /* zeros live in it */
        for (size_t i = 0; !st && i < g->out.n; i++) {
            moves[i] = dt[i] || (forced && forced[i]);
            if (moves[i]) ends[nends++] = dt[i] ? dt[i] : cbx__zeros_of(ctx, cbx__graph_out(g, i));
        }
        if (!st) st = cbx_ctx_pending(ctx, err);
        st = cbx__trace_end(&trace, st, nends, ends, map, err);
        cbx_scope_close(&scope, NULL);
        if (st) cbx__arrays_free(g->out.n, out);
    }
    cbx__arrays_free(g->in.n + g->out.n, t);
    cbx_mem_free(al, t, n * sizeof *t);
    return st;
}

/* ---- backward ---- */

/* Adds a cotangent, which the caller's scope holds, to what a value has. */
static cbx_status add_to(pass *p, cbx__vid v, cbx_array *ct, cbx_err *err)
{
    cbx_scope scope;
    cbx_array *sum = ct;
    cbx_status st;

    cbx_scope_open(p->ctx, &scope);
    if (p->beside[v]) sum = cbx_add(p->ctx, p->beside[v], ct);
    st = cbx_scope_close_keep(&scope, 1, &sum, err);
    if (st) return st;
    cbx_array_free(p->beside[v]);
    p->beside[v] = sum;
    return CBX_OK;
}

static cbx_status transpose_node(pass *p, const cbx__node *node, cbx_err *err)
{
    cbx_array **in = p->list, **ct = in + p->widest, **din = ct + p->widest;
    bool any = false;
    cbx_scope scope;
    cbx_status st = CBX_OK;

    for (uint32_t i = 0; i < node->nout; i++) {
        ct[i] = p->beside[node->out + i];
        any |= ct[i] != NULL;
    }
    if (!any) return CBX_OK;
    for (uint32_t i = 0; i < node->nin; i++) {
        in[i] = p->value[node->in[i]];
        p->desc[i] = &p->g->values.items[node->in[i]].desc;
        din[i] = NULL;
    }
    cbx_scope_open(p->ctx, &scope);
    cbx__rules_of(node->prim)
        ->transpose(&(cbx__transpose){ p->ctx, node->prim, node->attrs, node->nin, node->nout, in, p->desc, ct, din });
    for (uint32_t i = 0; !st && i < node->nin; i++)
        if (din[i] && !in[i]) st = add_to(p, node->in[i], din[i], err);
    if (st)
        cbx_scope_close(&scope, NULL);
    else
        st = cbx_scope_close(&scope, err);
    for (uint32_t i = 0; i < node->nout; i++) { /* no node reads them again */
        cbx_array_free(p->beside[node->out + i]);
        p->beside[node->out + i] = NULL;
    }
    return st;
}

cbx_status cbx__graph_transpose(cbx_ctx *ctx, const cbx__graph *map, cbx_array *const *known, cbx_array *const *ct,
                                cbx_array **din, cbx_err *err)
{
    pass p;
    cbx_status st = pass_init(&p, ctx, map, err);

    for (size_t i = 0; !st && i < map->in.n; i++) p.value[map->in.items[i]] = cbx_array_ref(known[i]);
    for (size_t i = 0; !st && i < map->out.n; i++)
        if (ct[i]) st = add_to(&p, map->out.items[i], ct[i], err);
    for (size_t k = map->nodes.n; !st && k-- > 0;) st = transpose_node(&p, &map->nodes.items[k], err);
    for (size_t i = 0; !st && i < map->in.n; i++) din[i] = known[i] ? NULL : cbx_array_ref(p.beside[map->in.items[i]]);
    pass_clear(&p);
    return st;
}

/* ---- over a batch ---- */

static cbx_status batch_node(pass *p, const cbx__node *node, size_t length, cbx_err *err)
{
    cbx_array **in = p->list, **out = in + p->widest;
    bool *mapped = p->flags, *out_mapped = mapped + p->widest, any = false;
    cbx_scope scope;
    cbx_status st;

    for (uint32_t i = 0; i < node->nin; i++) {
        in[i] = p->value[node->in[i]];
        mapped[i] = p->mapped[node->in[i]];
        any |= mapped[i];
    }
    for (uint32_t i = 0; i < node->nout; i++) {
        out[i] = NULL;
        out_mapped[i] = any;
    }
    cbx_scope_open(p->ctx, &scope);
    if (any)
        cbx__rules_of(node->prim)
            ->batch(&(cbx__batch){ p->ctx, node->prim, node->attrs, node->nin, node->nout, length, in, mapped, out,
                                   out_mapped });
    else
        cbx_apply_all(p->ctx, node->prim, node->nin, (const cbx_array *const *)in, node->attrs, out);
    st = keep(&scope, node->nout, out, err);
    for (uint32_t i = 0; !st && i < node->nout; i++) {
        p->value[node->out + i] = out[i];
        p->mapped[node->out + i] = out_mapped[i];
    }
    return st;
}

cbx_status cbx__graph_batch(cbx_ctx *ctx, const cbx__graph *g, size_t length, cbx_array *const *in, const bool *mapped,
                            cbx_array **out, bool *out_mapped, cbx_err *err)
{
    pass p;
    cbx_status st = pass_init(&p, ctx, g, err);

    for (size_t i = 0; !st && i < g->in.n; i++) {
        p.value[g->in.items[i]] = cbx_array_ref(in[i]);
        p.mapped[g->in.items[i]] = mapped[i];
    }
    for (size_t k = 0; !st && k < g->nodes.n; k++) {
        st = batch_node(&p, &g->nodes.items[k], length, err);
        if (!st) drop_used(&p, &g->nodes.items[k], k);
    }
    for (size_t i = 0; !st && i < g->out.n; i++) {
        out[i] = cbx_array_ref(p.value[g->out.items[i]]);
        out_mapped[i] = p.mapped[g->out.items[i]];
    }
    pass_clear(&p);
    return st;
}
