/* Graphs: made by a trace, finished once, then read. */
#include "calibrax/array/trace/graph.h"

#include <string.h>

#include "calibrax/array/backend.h"
#include "calibrax/array/trace/cost.h"
#include "calibrax/array/trace/regions.h"

const cbx_object *cbx__object_ref(const cbx_object *o)
{
    if (o) atomic_fetch_add_explicit(&((cbx_object *)(uintptr_t)o)->refs, 1, memory_order_relaxed);
    return o;
}

void cbx__object_unref(const cbx_object *o)
{
    cbx_object *last = (cbx_object *)(uintptr_t)o;
    if (o && atomic_fetch_sub_explicit(&last->refs, 1, memory_order_acq_rel) == 1) last->free(last);
}

cbx_status cbx__graph_create(cbx_ctx *ctx, const char *name, cbx__graph **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx__graph *g = cbx_mem_zalloc(al, sizeof *g);

    if (!g) return cbx_fail(err, CBX_ENOMEM, "no memory for the graph of '%s'", name);
    atomic_init(&g->refs, 1);
    g->al = *al;
    cbx_arena_init(&g->arena, al);
    g->name = cbx_arena_strdup(&g->arena, name);
    if (!g->name) {
        cbx__graph_unref(g);
        return cbx_fail(err, CBX_ENOMEM, "no memory for the graph of '%s'", name);
    }
    *out = g;
    return CBX_OK;
}

cbx__graph *cbx__graph_ref(const cbx__graph *g)
{
    cbx__graph *shared = (cbx__graph *)(uintptr_t)g;
    if (shared) atomic_fetch_add_explicit(&shared->refs, 1, memory_order_relaxed);
    return shared;
}

/* What a backend has made of a graph. */
typedef struct cbx__compiled {
    const cbx_backend *backend;
    void *executable;
} cbx__compiled;

static void compiled_free(const cbx_allocator *al, cbx__compiled *c)
{
    if (!c) return;
    c->backend->release(c->backend, c->executable);
    cbx_mem_free(al, c, sizeof *c);
}

void cbx__graph_unref(cbx__graph *g)
{
    cbx_allocator al;

    if (!g || atomic_fetch_sub_explicit(&g->refs, 1, memory_order_acq_rel) != 1) return;
    for (size_t i = 0; i < g->nodes.n; i++) cbx__object_unref(g->nodes.items[i].attrs->object);
    for (size_t i = 0; i < g->values.n; i++) cbx_array_free(g->values.items[i].constant);
    al = g->al;
    compiled_free(&al, atomic_load_explicit(&g->compiled, memory_order_acquire));
    cbx_list_clear(&al, &g->nodes);
    cbx_list_clear(&al, &g->values);
    cbx_list_clear(&al, &g->in);
    cbx_list_clear(&al, &g->out);
    cbx_arena_clear(&g->arena);
    cbx_mem_free(&al, g, sizeof *g);
}

cbx__vid cbx__graph_add_value(cbx__graph *g, const cbx_array_desc *desc, const cbx_array *constant)
{
    if (g->values.n == CBX__NO_VALUE ||
        !cbx_list_push(&g->al, &g->values, (cbx__value){ .desc = *desc, .last = CBX__NO_VALUE }))
        return CBX__NO_VALUE;
    g->values.items[g->values.n - 1].constant = cbx_array_ref(constant);
    return (cbx__vid)(g->values.n - 1);
}

bool cbx__graph_add_node(cbx__graph *g, const cbx_op *op, const cbx__vid *in)
{
    const size_t before = g->values.n;
    cbx__vid *operands = cbx_arena_calloc(&g->arena, op->nin + 1, sizeof *operands);
    cbx_attrs *attrs = cbx_arena_alloc(&g->arena, sizeof *attrs);

    if (!operands || !attrs || before + op->nout >= CBX__NO_VALUE ||
        !cbx_list_reserve(&g->al, &g->values, before + op->nout))
        return false;
    if (op->nin) memcpy(operands, in, op->nin * sizeof *in);
    *attrs = *op->attrs;
    if (!cbx_list_push(
            &g->al, &g->nodes,
            (cbx__node){ op->prim, (uint32_t)op->nin, (uint32_t)op->nout, operands, (cbx__vid)before, attrs }))
        return false;
    cbx__object_ref(attrs->object);
    for (size_t i = 0; i < op->nout; i++) cbx__graph_add_value(g, &op->results[i], NULL); /* there is capacity */
    return true;
}

typedef struct candidate {
    const cbx_op *op;
    const cbx__vid *in;
} candidate;

static bool same_node(const void *user, size_t value, const void *key)
{
    const cbx__node *node = &((const cbx__graph *)user)->nodes.items[value];
    const candidate *c = key;
    bool same = node->prim == c->op->prim && node->nin == c->op->nin;

    for (size_t i = 0; same && i < c->op->nin; i++) same = node->in[i] == c->in[i];
    return same && cbx_attrs_equal(node->attrs, c->op->attrs);
}

const cbx__node *cbx__graph_node(cbx__graph *g, cbx_table *nodes, const cbx_op *op, const cbx__vid *in)
{
    uint64_t hash = cbx_hash_words(cbx_attrs_hash(op->attrs), 1, &(const uint64_t){ op->prim });
    const size_t *known;

    for (size_t i = 0; i < op->nin; i++) hash = cbx_hash_words(hash, 1, &(const uint64_t){ in[i] });
    known = cbx_table_find(nodes, hash, same_node, g, &(const candidate){ op, in });
    if (known) return &g->nodes.items[*known];
    if (!cbx__graph_add_node(g, op, in) || !cbx_table_add(nodes, hash, g->nodes.n - 1)) return NULL;
    return &g->nodes.items[g->nodes.n - 1];
}

cbx_status cbx__graph_finish(cbx__graph *g, cbx_err *err)
{
    bool *needed = cbx_mem_calloc(&g->al, g->values.n + 1, sizeof *needed);
    size_t kept = 0;

    if (!needed) return cbx_fail(err, CBX_ENOMEM, "no memory to finish the graph of '%s'", g->name);
    for (size_t i = 0; i < g->out.n; i++) needed[g->out.items[i]] = true;
    for (size_t k = g->nodes.n; k-- > 0;) {
        const cbx__node *node = &g->nodes.items[k];
        bool any = false;
        for (uint32_t r = 0; r < node->nout; r++) any |= needed[node->out + r];
        for (uint32_t i = 0; any && i < node->nin; i++) needed[node->in[i]] = true;
    }
    for (size_t k = 0; k < g->nodes.n; k++) {
        const cbx__node *node = &g->nodes.items[k];
        bool any = false;
        for (uint32_t r = 0; r < node->nout; r++) any |= needed[node->out + r];
        if (!any) {
            cbx__object_unref(node->attrs->object);
            continue;
        }
        for (uint32_t i = 0; i < node->nin; i++) g->values.items[node->in[i]].last = (uint32_t)kept;
        for (uint32_t r = 0; r < node->nout; r++)
            if (!needed[node->out + r]) g->values.items[node->out + r].last = (uint32_t)kept;
        g->nodes.items[kept++] = *node;
    }
    g->nodes.n = kept;
    for (size_t i = 0; i < g->out.n; i++) g->values.items[g->out.items[i]].last = CBX__NO_VALUE;
    cbx_mem_free(&g->al, needed, (g->values.n + 1) * sizeof *needed);
    return CBX_OK;
}

/* ---- to carry it out ---- */

static cbx_status eval_node(cbx_ctx *ctx, const cbx__node *node, cbx_array **env, cbx_err *err)
{
    enum { FEW = 8 };
    const cbx_array *small[FEW], **in = small;
    cbx_status st;

    if (node->nin > FEW) in = cbx_mem_calloc(cbx_ctx_allocator(ctx), node->nin, sizeof *in);
    if (!in) return cbx_fail(err, CBX_ENOMEM, "no memory for the operands of '%s'", cbx_prim_name(node->prim));
    for (uint32_t i = 0; i < node->nin; i++) in[i] = env[node->in[i]];
    st = cbx__apply_owned(ctx, node->prim, node->nin, in, node->attrs, node->nout, &env[node->out], err);
    if (st) memset(&env[node->out], 0, node->nout * sizeof *env); /* whatever a backend left there */
    if (in != small) cbx_mem_free(cbx_ctx_allocator(ctx), in, node->nin * sizeof *in);
    return st;
}

cbx_status cbx__graph_eval(cbx_ctx *ctx, const cbx__graph *g, cbx_array *const *in, cbx_array **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_array **env = cbx_mem_calloc(al, g->values.n + 1, sizeof(cbx_array *));
    cbx_status st = CBX_OK;

    if (!env) return cbx_fail(err, CBX_ENOMEM, "no memory to run '%s'", g->name);
    for (size_t i = 0; i < g->values.n; i++) env[i] = cbx_array_ref(g->values.items[i].constant);
    for (size_t i = 0; i < g->in.n; i++) env[g->in.items[i]] = cbx_array_ref(in[i]);
    for (size_t k = 0; !st && k < g->nodes.n; k++) {
        const cbx__node *node = &g->nodes.items[k];
        st = eval_node(ctx, node, env, err);
        for (uint32_t i = 0; !st && i < node->nin + node->nout; i++) {
            const cbx__vid v = i < node->nin ? node->in[i] : node->out + (i - node->nin);
            if (g->values.items[v].last != k) continue;
            cbx_array_free(env[v]);
            env[v] = NULL;
        }
    }
    for (size_t i = 0; !st && i < g->out.n; i++) out[i] = cbx_array_ref(env[g->out.items[i]]);
    cbx__arrays_free(g->values.n, env);
    cbx_mem_free(al, env, (g->values.n + 1) * sizeof(cbx_array *));
    return st;
}

static cbx_status compile(cbx_ctx *ctx, const cbx_backend *backend, cbx__graph *g, cbx__compiled **out, cbx_err *err)
{
    cbx__compiled *c = cbx_mem_zalloc(&g->al, sizeof *c), *none = NULL;
    cbx_status st;

    if (!c) return cbx_fail_nomem(err, "a compiled function");
    c->backend = backend;
    st = backend->compile(backend, ctx, g, &c->executable, err);
    if (st) {
        cbx_mem_free(&g->al, c, sizeof *c);
        return st;
    }
    *out = c;
    if (atomic_compare_exchange_strong_explicit(&g->compiled, &none, c, memory_order_acq_rel, memory_order_acquire))
        return CBX_OK;
    compiled_free(&g->al, c); /* another thread was faster */
    *out = none;
    return CBX_OK;
}

cbx_status cbx__graph_run(cbx_ctx *ctx, const cbx__graph *g, cbx_array *const *in, cbx_array **out, cbx_err *err)
{
    const cbx_backend *backend = cbx_ctx_backend(ctx);
    cbx__compiled *c = atomic_load_explicit(&((cbx__graph *)(uintptr_t)g)->compiled, memory_order_acquire);
    cbx_status st = CBX_OK;

    if (!backend->compile || (c && c->backend != backend) || cbx__state_get(ctx)->cost)
        return cbx__graph_eval(ctx, g, in, out, err);
    if (!c) st = compile(ctx, backend, (cbx__graph *)(uintptr_t)g, &c, err);
    return st ? st : backend->run(backend, ctx, c->executable, in, out, err);
}

cbx_status cbx__graph_cost(cbx_ctx *ctx, const cbx__graph *g, cbx_cost_program *out, cbx_err *err)
{
    cbx__compiled *c = atomic_load_explicit(&((cbx__graph *)(uintptr_t)g)->compiled, memory_order_acquire);
    const cbx_backend *b = c ? c->backend : cbx_ctx_backend(ctx);
    cbx_status st = CBX_OK;

    if (!b->compile || !b->cost)
        return cbx_fail(err, CBX_EUNSUPPORTED, "the backend '%s' does not compile '%s': choose jit", b->name, g->name);
    if (!c) st = compile(ctx, b, (cbx__graph *)(uintptr_t)g, &c, err);
    return st ? st : b->cost(b, ctx, c->executable, out, err);
}

/* ---- to read it ---- */

static void put_values(const cbx__graph *g, size_t n, const cbx__vid *list, cbx_text *out)
{
    char text[160];

    for (size_t i = 0; i < n; i++)
        cbx_text_printf(out, "%s%%%u:%s", i ? ", " : "", list[i],
                        cbx_array_desc_text(&g->values.items[list[i]].desc, text, sizeof text));
}

/* Attributes that are not 0. */
static void put_attrs(const cbx__node *node, cbx_text *out)
{
    const cbx_attrs *a = node->attrs;

    if (a->dtype) cbx_text_printf(out, " dtype=%s", cbx_dtype_name(a->dtype));
    if (a->axis) cbx_text_printf(out, " axis=%d", a->axis);
    for (int i = 0; i < a->naxes; i++) cbx_text_printf(out, "%s%d", i ? "," : " axes=", a->axes[i]);
    if (a->keep) cbx_text_printf(out, " keep");
    if (a->mode) cbx_text_printf(out, " mode=%d", a->mode);
    for (int i = 0; i < a->ndim; i++) cbx_text_printf(out, "%s%zu", i ? "," : " shape=", a->shape[i]);
    for (int i = 0; i < a->ndim && (node->prim == CBX_PRIM_SLICE || node->prim == CBX_PRIM_PAD); i++)
        cbx_text_printf(out, "%s%td", i ? "," : " start=", a->start[i]);
    for (int i = 0; i < a->ndim && node->prim == CBX_PRIM_SLICE; i++)
        cbx_text_printf(out, "%s%td", i ? "," : " step=", a->step[i]);
    if (a->ndim == 0 && a->shape[0]) cbx_text_printf(out, " length=%zu", a->shape[0]);
    if (node->prim != CBX_PRIM_FULL && a->value.v.u == 0) return;
    switch (cbx_dtype_kind(a->value.dtype)) {
    case CBX_KIND_COMPLEX: cbx_text_printf(out, " value=%.17g%+.17gj", a->value.v.c[0], a->value.v.c[1]); break;
    case CBX_KIND_FLOAT: cbx_text_printf(out, " value=%.17g", a->value.v.f); break;
    default:
        if (cbx_dtype_is_unsigned(a->value.dtype))
            cbx_text_printf(out, " value=%llu", (unsigned long long)a->value.v.u);
        else
            cbx_text_printf(out, " value=%lld", (long long)a->value.v.i);
    }
}

void cbx__graph_text(const cbx__graph *g, int indent, cbx_text *out)
{
    cbx_text_printf(out, "%*s%s(", indent, "", g->name);
    put_values(g, g->in.n, g->in.items, out);
    cbx_text_printf(out, ")\n");
    for (size_t i = 0; i < g->values.n; i++)
        if (g->values.items[i].constant) {
            cbx_text_printf(out, "%*s  %%%zu = constant\n", indent, "", i);
        }
    for (size_t k = 0; k < g->nodes.n; k++) {
        const cbx__node *node = &g->nodes.items[k];
        cbx_text_printf(out, "%*s  ", indent, "");
        for (uint32_t r = 0; r < node->nout; r++) {
            const cbx__vid v = node->out + r;
            put_values(g, 1, &v, out);
            cbx_text_printf(out, r + 1 < node->nout ? ", " : " = ");
        }
        cbx_text_printf(out, "%s", cbx_prim_name(node->prim));
        for (uint32_t i = 0; i < node->nin; i++) cbx_text_printf(out, " %%%u", node->in[i]);
        put_attrs(node, out);
        cbx_text_printf(out, "\n");
        if (cbx_prim_get_info(node->prim)->kind != CBX_CLASS_CONTROL) continue;
        for (size_t i = 0; i < cbx__control_graphs(node->attrs->object); i++)
            cbx__graph_text(cbx__control_graph(node->attrs->object, i), indent + 4, out);
    }
    cbx_text_printf(out, "%*s  return ", indent, "");
    put_values(g, g->out.n, g->out.items, out);
    cbx_text_printf(out, "\n");
}
