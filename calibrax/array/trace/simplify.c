/*
 * A graph is copied operation by operation into a new one, where each operation first asks for
 * something simpler (simplify_rules.c) and then whether it is there already.
 */
#include "calibrax/array/trace/simplify_internal.h"

#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/trace/regions.h"

static void no_memory(cbx__rewrite *w)
{
    if (!w->st) w->st = cbx_fail(&w->err, CBX_ENOMEM, "no memory to simplify '%s'", w->g->name);
}

/* ---- values ---- */

static cbx__vid add_value(cbx__rewrite *w, const cbx_array_desc *d, const cbx_array *constant)
{
    const cbx__vid v = cbx__graph_add_value(w->g, d, constant);

    if (v == CBX__NO_VALUE || !cbx_list_push(&w->g->al, &w->maker, UINT32_MAX)) no_memory(w);
    return w->st ? CBX__NO_VALUE : v;
}

static bool same_constant(const void *user, size_t value, const void *key)
{
    const cbx__rewrite *w = user;
    return w->g->values.items[value].constant == key;
}

/* One element is a number; other arrays stay what they are. */
static cbx__vid constant(cbx__rewrite *w, const cbx_array *a)
{
    const uint64_t key = (uintptr_t)a, hash = cbx_hash_words(CBX_HASH_START, 1, &key);
    cbx_attrs attrs = { .dtype = a->desc.dtype, .ndim = a->desc.ndim };
    const size_t *known;
    cbx__vid v;

    if (a->count == 1 && !cbx_array_is_abstract(a) && cbx__array_number(a, &attrs.value)) {
        memcpy(attrs.shape, a->desc.shape, (size_t)a->desc.ndim * sizeof *attrs.shape);
        return cbx__rewrite_op(w, CBX_PRIM_FULL, 0, NULL, &attrs, &a->desc);
    }
    known = cbx_table_find(&w->constants, hash, same_constant, w, a);
    if (known) return (cbx__vid)*known;
    v = add_value(w, &a->desc, a);
    if (!w->st && !cbx_table_add(&w->constants, hash, v)) no_memory(w);
    return v;
}

/* ---- operations ---- */

/* The first result of an equal operation, or of a new one. */
static cbx__vid emit(cbx__rewrite *w, cbx_prim prim, size_t nin, const cbx__vid *in, const cbx_attrs *attrs,
                     size_t nout, const cbx_array_desc *results)
{
    const cbx_op op = { prim, nin, NULL, attrs, nout, results };
    const cbx__node *node = w->st ? NULL : cbx__graph_node(w->g, &w->nodes, &op, in);

    if (!w->st && !node) no_memory(w);
    while (!w->st && w->maker.n < w->g->values.n) /* it is new */
        if (!cbx_list_push(&w->g->al, &w->maker, (uint32_t)(node - w->g->nodes.items))) no_memory(w);
    return w->st ? CBX__NO_VALUE : node->out;
}

/* Operands in rising order where either order gives the same bits. */
static bool commutes(const cbx__rewrite *w, cbx_prim prim, cbx__vid x)
{
    const bool exact = cbx_dtype_kind(cbx__desc_of(w, x)->dtype) < CBX_KIND_FLOAT;

    switch (prim) {
    case CBX_PRIM_EQ:
    case CBX_PRIM_NE: return true;
    case CBX_PRIM_ADD: /* of two NaN the first is the result: numbers stay as they are */
    case CBX_PRIM_MUL:
    case CBX_PRIM_MAX:
    case CBX_PRIM_MIN:
    case CBX_PRIM_AND:
    case CBX_PRIM_OR:
    case CBX_PRIM_XOR: return exact;
    default: return false;
    }
}

cbx__vid cbx__rewrite_op(cbx__rewrite *w, cbx_prim prim, size_t nin, const cbx__vid *in, const cbx_attrs *attrs,
                         const cbx_array_desc *result)
{
    cbx__vid simpler = w->st ? CBX__NO_VALUE : cbx__simpler(w, prim, nin, in, attrs, result);

    if (w->st || simpler != CBX__NO_VALUE) return simpler;
    if (nin == 2 && in[1] < in[0] && commutes(w, prim, in[0]))
        return emit(w, prim, 2, (const cbx__vid[]){ in[1], in[0] }, attrs, 1, result);
    return emit(w, prim, nin, in, attrs, 1, result);
}

/* ---- control flow ---- */

static bool copy(cbx__rewrite *w, const cbx__graph *g, const cbx__vid *in, cbx__vid *out);

/* With its functions simplified. */
static void copy_control(cbx__rewrite *w, const cbx__node *node, const cbx__vid *in, const cbx_array_desc *results,
                         cbx__vid *out)
{
    const cbx__control *c = cbx__control_of(node->attrs);
    cbx__graph **graph = cbx_mem_calloc(&w->g->al, c->n + 1, sizeof *graph);
    cbx__control *made = NULL;
    cbx__vid first;

    if (!graph) no_memory(w);
    for (size_t i = 0; !w->st && i < c->n; i++) w->st = cbx__graph_simplify(w->ctx, c->graph[i], &graph[i], &w->err);
    if (!w->st) w->st = cbx__control_with(w->ctx, c, graph, &made, &w->err);
    if (!w->st) {
        cbx_attrs attrs = *node->attrs;
        attrs.object = &made->base;
        first = emit(w, node->prim, node->nin, in, &attrs, node->nout, results);
        for (uint32_t r = 0; r < node->nout; r++) out[r] = first + r;
    }
    for (size_t i = 0; graph && i < c->n; i++) cbx__graph_unref(graph[i]);
    cbx_mem_free(&w->g->al, graph, (c->n + 1) * sizeof *graph);
    if (made) cbx__object_unref(&made->base);
}

/* A branch that is known: its constants, and what all of them take. */
static bool copy_branch(cbx__rewrite *w, const cbx__node *node, const cbx__vid *in, cbx__vid *out)
{
    const cbx__control *c = cbx__control_of(node->attrs);
    const cbx__node *index = cbx__maker(w, in[0]);
    size_t first = 1, all = 1, which;
    cbx__vid *own;
    bool done;

    if (!index || index->prim != CBX_PRIM_FULL || index->attrs->value.dtype != CBX_I64) return false;
    const int64_t i = index->attrs->value.v.i;
    which = i < 0 ? 0 : (uint64_t)i >= c->n ? c->n - 1 : (size_t)i;
    for (size_t b = 0; b < c->n; b++) {
        if (b < which) first += c->consts[b];
        all += c->consts[b];
    }
    own = cbx_mem_calloc(&w->g->al, node->nin + 1, sizeof *own);
    if (!own) no_memory(w);
    if (own) {
        memcpy(own, in + first, c->consts[which] * sizeof *own);
        memcpy(own + c->consts[which], in + all, (node->nin - all) * sizeof *own);
    }
    done = own && copy(w, c->graph[which], own, out);
    cbx_mem_free(&w->g->al, own, (node->nin + 1) * sizeof *own);
    return done;
}

/* ---- graphs ---- */

/* Behind copies: only who looks at the array itself sees them. */
static cbx__vid behind_copies(const cbx__rewrite *w, cbx__vid v)
{
    const cbx__node *node = cbx__maker(w, v);
    return node && node->prim == CBX_PRIM_COPY ? node->in[0] : v;
}

/* The node as it is, its functions simplified. */
static void copy_results(cbx__rewrite *w, const cbx__graph *g, const cbx__node *node, const cbx__vid *in, cbx__vid *out)
{
    cbx_array_desc *results = cbx_mem_calloc(&w->g->al, node->nout + 1, sizeof *results);
    cbx__vid first;

    if (!results) no_memory(w);
    for (uint32_t r = 0; results && r < node->nout; r++) results[r] = g->values.items[node->out + r].desc;
    if (!w->st && cbx_prim_get_info(node->prim)->kind == CBX_CLASS_CONTROL) {
        copy_control(w, node, in, results, out);
    } else if (!w->st) {
        first = emit(w, node->prim, node->nin, in, node->attrs, node->nout, results);
        for (uint32_t r = 0; r < node->nout; r++) out[r] = first + r;
    }
    cbx_mem_free(&w->g->al, results, (node->nout + 1) * sizeof *results);
}

static void copy_node(cbx__rewrite *w, const cbx__graph *g, const cbx__node *node, const cbx__vid *in, cbx__vid *out)
{
    const bool control = cbx_prim_get_info(node->prim)->kind == CBX_CLASS_CONTROL;

    switch (node->prim) {
    case CBX_PRIM_COND:
        if (copy_branch(w, node, in, out)) return;
        break;
    case CBX_PRIM_CHECKPOINT:
        if (node->attrs->mode) break; /* merged with what was computed before, it would save nothing */
    /* fall through */
    case CBX_PRIM_CUSTOM_JVP:
    case CBX_PRIM_CUSTOM_VJP: copy(w, cbx__control_of(node->attrs)->graph[0], in, out); return;
    default: break;
    }
    if (w->st) return;
    if (!control && node->nout == 1)
        out[0] = cbx__rewrite_op(w, node->prim, node->nin, in, node->attrs, &g->values.items[node->out].desc);
    else
        copy_results(w, g, node, in, out);
}

/* All of g with values for its inputs; false: a failure, which is recorded. */
static bool copy(cbx__rewrite *w, const cbx__graph *g, const cbx__vid *in, cbx__vid *out)
{
    size_t widest = 1;
    cbx__vid *map, *operands;

    for (size_t k = 0; k < g->nodes.n; k++)
        if (g->nodes.items[k].nin > widest) widest = g->nodes.items[k].nin;
    map = cbx_mem_calloc(&w->g->al, g->values.n + widest, sizeof *map);
    if (!map) no_memory(w);
    if (w->st) goto done;
    operands = map + g->values.n;
    for (size_t i = 0; i < g->values.n; i++) map[i] = CBX__NO_VALUE;
    for (size_t i = 0; i < g->in.n; i++) map[g->in.items[i]] = in[i];
    for (size_t i = 0; !w->st && i < g->values.n; i++)
        if (g->values.items[i].constant) map[i] = constant(w, g->values.items[i].constant);
    for (size_t k = 0; !w->st && k < g->nodes.n; k++) {
        const cbx__node *node = &g->nodes.items[k];
        for (uint32_t i = 0; i < node->nin; i++) operands[i] = behind_copies(w, map[node->in[i]]);
        copy_node(w, g, node, operands, &map[node->out]);
    }
    for (size_t i = 0; !w->st && i < g->out.n; i++) out[i] = map[g->out.items[i]];
done:
    cbx_mem_free(&w->g->al, map, (g->values.n + widest) * sizeof *map);
    return w->st == CBX_OK;
}

cbx_status cbx__graph_simplify(cbx_ctx *ctx, const cbx__graph *g, cbx__graph **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx__rewrite w = { .ctx = ctx };
    cbx__vid *list = cbx_mem_calloc(al, g->in.n + g->out.n + 1, sizeof *list);
    cbx_status st = list ? cbx__graph_create(ctx, g->name, &w.g, err)
                         : cbx_fail(err, CBX_ENOMEM, "no memory to simplify '%s'", g->name);

    if (!st) {
        cbx_table_init(&w.nodes, al);
        cbx_table_init(&w.constants, al);
        for (size_t i = 0; !w.st && i < g->in.n; i++) {
            list[i] = add_value(&w, cbx__graph_in(g, i), NULL);
            if (!w.st && !cbx_list_push(&w.g->al, &w.g->in, list[i])) no_memory(&w);
            if (!w.st) w.g->values.items[list[i]].donated = g->values.items[g->in.items[i]].donated;
        }
        if (!w.st) copy(&w, g, list, list + g->in.n);
        for (size_t i = 0; !w.st && i < g->out.n; i++)
            if (!cbx_list_push(&w.g->al, &w.g->out, list[g->in.n + i])) no_memory(&w);
        st = w.st;
        if (st && err) *err = w.err;
        if (!st) st = cbx__graph_finish(w.g, err);
        cbx_list_clear(&w.g->al, &w.maker);
        cbx_table_clear(&w.nodes);
        cbx_table_clear(&w.constants);
    }
    cbx_mem_free(al, list, (g->in.n + g->out.n + 1) * sizeof *list);
    return CBX_FINISH(st, *out = w.g, cbx__graph_unref(w.g));
}
