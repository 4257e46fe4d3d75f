/* Traces: which operations are recorded where, and what becomes of arrays from outside. */
#include "calibrax/array/trace/trace.h"

#include <stdatomic.h>
#include <string.h>

/*
 * Numbers are unique in the process, so that an array that escaped from one context is recognized
 * in all others.
 */
static atomic_uint_fast64_t traces;

cbx_status cbx__trace_begin(cbx_ctx *ctx, const char *name, bool stages, cbx__trace *t, cbx_err *err)
{
    cbx__state *s = cbx__state_get(ctx);
    cbx_status st;

    *t = (cbx__trace){ .ctx = ctx, .stages = stages };
    if (!s) return cbx_fail(err, CBX_ENOMEM, "no memory for the array state of a context");
    st = cbx__graph_create(ctx, name, &t->graph, err);
    if (st) return st;
    cbx_table_init(&t->nodes, cbx_ctx_allocator(ctx));
    cbx_table_init(&t->captured, cbx_ctx_allocator(ctx));
    t->id = atomic_fetch_add_explicit(&traces, 1, memory_order_relaxed) + 1;
    t->outer = s->trace;
    s->trace = t;
    return CBX_OK;
}

static cbx_status no_memory(const cbx__trace *t, cbx_err *err)
{
    return cbx_fail(err, CBX_ENOMEM, "no memory to trace '%s'", t->graph->name);
}

static cbx_status make_handle(cbx__trace *t, cbx__vid v, cbx_array **out, cbx_err *err)
{
    cbx_status st = cbx_array_create_abstract(t->ctx, &t->graph->values.items[v].desc, out, err);

    if (!st) (*out)->trace = t->id;
    if (!st) (*out)->value = v;
    return st;
}

cbx_status cbx__trace_input(cbx__trace *t, const cbx_array_desc *desc, cbx_array **out, cbx_err *err)
{
    const cbx__vid v = cbx__graph_add_value(t->graph, desc, NULL);

    if (v == CBX__NO_VALUE || !cbx_list_push(&t->graph->al, &t->graph->in, v)) return no_memory(t, err);
    return make_handle(t, v, out, err);
}

/* ---- values from outside ---- */

static uint64_t hash_of_handle(const cbx_array *a)
{
    const uint64_t key[2] = { a->trace, a->trace ? a->value : (uintptr_t)a };
    return cbx_hash_words(CBX_HASH_START, 2, key);
}

static bool same_handle(const void *user, size_t value, const void *key)
{
    const cbx__trace *t = user;
    const cbx_array *a = key, *b = t->handles.items[value & UINT32_MAX];

    return a == b || (a->trace && a->trace == b->trace && a->value == b->value);
}

/* The value of an operand: its own, or that of an array from outside. */
static cbx__vid value_of(cbx__trace *t, const cbx_array *a)
{
    const uint64_t hash = hash_of_handle(a);
    const bool abstract = cbx_array_is_abstract(a);
    const size_t *known;
    cbx__vid v;

    if (a->trace == t->id) return a->value;
    known = cbx_table_find(&t->captured, hash, same_handle, t, a);
    if (known) return (cbx__vid)(*known >> 32);
    v = cbx__graph_add_value(t->graph, &a->desc, abstract ? NULL : a);
    if (v == CBX__NO_VALUE || !cbx_list_push(&t->graph->al, &t->handles, cbx_array_ref(a))) return CBX__NO_VALUE;
    if (!cbx_table_add(&t->captured, hash, (size_t)v << 32 | (t->handles.n - 1))) return CBX__NO_VALUE;
    return v;
}

/* ---- operations ---- */

static cbx__trace *open_trace(const cbx__state *s, uint64_t id)
{
    cbx__trace *t = s->trace;
    while (t && t->id != id) t = t->outer;
    return t;
}

static cbx__trace *staging_trace(const cbx__state *s)
{
    cbx__trace *t = s->trace;
    while (t && !t->stages) t = t->outer;
    return t;
}

bool cbx__is_traced(cbx_ctx *ctx)
{
    const cbx__state *s = cbx__state_peek(ctx);
    return s && s->trace && staging_trace(s);
}

cbx_status cbx__trace_find(cbx__state *s, size_t nin, const cbx_array *const *in, cbx_prim prim, cbx__trace **out,
                           cbx_err *err)
{
    cbx__trace *staging = staging_trace(s), *t = NULL;
    bool abstract = nin == 0;

    for (size_t i = 0; i < nin; i++) {
        cbx__trace *of;
        abstract |= cbx_array_is_abstract(in[i]);
        if (!in[i]->trace) continue;
        of = open_trace(s, in[i]->trace);
        if (!of)
            return cbx_fail(err, CBX_EINVAL,
                            "operand %zu of '%s' was made while another function was traced, and that trace has ended: "
                            "return it from the function",
                            i + 1, cbx_prim_name(prim));
        if (!t || of->id > t->id) t = of;
    }
    if (abstract && staging && (!t || staging->id > t->id)) t = staging;
    *out = t;
    return CBX_OK;
}

cbx_status cbx__trace_record(cbx__trace *t, const cbx_call *call, cbx_array **out, cbx_err *err)
{
    enum { FEW = 8 };
    const cbx_allocator *al = &t->graph->al;
    const cbx_op op = { call->prim, call->nin, NULL, call->attrs, call->nout, call->results };
    cbx__vid small[FEW], *in = call->nin > FEW ? cbx_mem_calloc(al, call->nin, sizeof *in) : small;
    const cbx__node *node = NULL;
    cbx_status st = CBX_OK;
    size_t made = 0;

    if (!in) return no_memory(t, err);
    for (size_t i = 0; !st && i < call->nin; i++) {
        in[i] = value_of(t, call->in[i]);
        if (in[i] == CBX__NO_VALUE) st = no_memory(t, err);
    }
    if (!st && !(node = cbx__graph_node(t->graph, &t->nodes, &op, in))) st = no_memory(t, err);
    for (; !st && made < call->nout; made += !st) st = make_handle(t, node->out + (cbx__vid)made, &out[made], err);
    if (st) cbx__arrays_free(made, out);
    if (in != small) cbx_mem_free(al, in, call->nin * sizeof *in);
    return st;
}

/* ---- the end ---- */

/* Captured abstract arrays become inputs, in the order in which they were met. */
static cbx_status take_captured(cbx__trace *t, cbx__traced *end, cbx_err *err)
{
    const cbx_allocator *al = &t->graph->al;

    end->captured = cbx_mem_calloc(al, t->handles.n + 1, sizeof *end->captured);
    if (!end->captured) return no_memory(t, err);
    for (size_t i = 0; i < t->handles.n; i++) {
        cbx_array *a = t->handles.items[i];
        if (!cbx_array_is_abstract(a)) continue;
        if (!cbx_list_push(al, &t->graph->in, value_of(t, a))) return no_memory(t, err);
        end->captured[end->ncaptured++] = cbx_array_ref(a);
    }
    return CBX_OK;
}

cbx_status cbx__trace_end(cbx__trace *t, cbx_status st, size_t nout, cbx_array *const *out, cbx__traced *end,
                          cbx_err *err)
{
    cbx__state *s = cbx__state_get(t->ctx);
    const cbx_allocator *al = &t->graph->al;
    size_t bytes = (t->handles.n + 1) * sizeof *end->captured;
    cbx__traced made = { .graph = t->graph };

    s->trace = t->outer;
    for (size_t i = 0; !st && i < nout; i++) {
        if (out[i]->trace && out[i]->trace != t->id && !open_trace(s, out[i]->trace)) {
            st = cbx_fail(err, CBX_EINVAL,
                          "result %zu of '%s' was made while another function was traced, and that trace has ended", i,
                          t->graph->name);
            break;
        }
        const cbx__vid v = value_of(t, out[i]);
        if (v == CBX__NO_VALUE || !cbx_list_push(al, &t->graph->out, v)) st = no_memory(t, err);
    }
    bytes = (t->handles.n + 1) * sizeof *end->captured;
    if (!st) st = take_captured(t, &made, err);
    if (!st) st = cbx__graph_finish(t->graph, err);
    if (!st && made.ncaptured < t->handles.n) { /* the list as long as cbx__traced_clear believes */
        cbx_array **fit = cbx_mem_resize(al, made.captured, bytes, (made.ncaptured + 1) * sizeof *fit);
        if (fit)
            made.captured = fit;
        else
            st = no_memory(t, err);
    }
    for (size_t i = 0; i < t->handles.n; i++) cbx_array_free(t->handles.items[i]);
    cbx_list_clear(al, &t->handles);
    cbx_table_clear(&t->nodes);
    cbx_table_clear(&t->captured);
    if (!st) {
        *end = made;
        return CBX_OK;
    }
    if (made.captured) cbx__arrays_free(made.ncaptured, made.captured);
    cbx_mem_free(al, made.captured, bytes);
    cbx__graph_unref(t->graph);
    return st;
}

void cbx__traced_clear(cbx__traced *t)
{
    if (!t->graph) return;
    cbx__arrays_free(t->ncaptured, t->captured);
    cbx_mem_free(&t->graph->al, t->captured, (t->ncaptured + 1) * sizeof *t->captured);
    cbx__graph_unref(t->graph);
    *t = (cbx__traced){ 0 };
}

/* ---- functions ---- */

cbx_status cbx__trace_fn(cbx_ctx *ctx, const cbx_fn *f, const cbx_array_desc *in, cbx__traced *out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    const size_t n = f->nin + f->nout + 1;
    cbx_array **list = cbx_mem_calloc(al, n, sizeof(cbx_array *));
    cbx__trace t;
    cbx_status st;

    if (!list) return cbx_fail(err, CBX_ENOMEM, "no memory for the operands of '%s'", f->name);
    st = cbx__trace_begin(ctx, f->name, true, &t, err);
    if (!st) {
        for (size_t i = 0; !st && i < f->nin; i++) st = cbx__trace_input(&t, &in[i], &list[i], err);
        if (!st) st = cbx_fn_run(ctx, f, f->nin, list, f->nout, list + f->nin, err);
        st = cbx__trace_end(&t, st, f->nout, list + f->nin, out, err);
    }
    cbx__arrays_free(n, list);
    cbx_mem_free(al, list, n * sizeof(cbx_array *));
    return st;
}

cbx_status cbx__traced_eval(cbx_ctx *ctx, const cbx__traced *t, size_t nin, cbx_array *const *in, cbx_array **out,
                            cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    const size_t n = nin + t->ncaptured;
    cbx_array **all = cbx_mem_calloc(al, n + 1, sizeof(cbx_array *));
    cbx_status st;

    if (!all) return cbx_fail(err, CBX_ENOMEM, "no memory for the operands of '%s'", t->graph->name);
    memcpy(all, in, nin * sizeof(cbx_array *));
    memcpy(all + nin, t->captured, t->ncaptured * sizeof(cbx_array *));
    st = cbx__graph_eval(ctx, t->graph, all, out, err);
    cbx_mem_free(al, all, (n + 1) * sizeof(cbx_array *));
    return st;
}

cbx_status cbx_fn_infer(cbx_ctx *ctx, const cbx_fn *f, size_t nin, const cbx_array_desc *in, size_t nout,
                        cbx_array_desc *out, cbx_err *err)
{
    cbx__traced t;
    cbx_status st = cbx__begin(ctx, err);

    if (!st) st = cbx__fn_counts_check(f, nin, nout, err);
    if (!st) st = cbx__trace_fn(ctx, f, in, &t, err);
    if (st) return st;
    for (size_t i = 0; i < nout; i++) out[i] = *cbx__graph_out(t.graph, i);
    cbx__traced_clear(&t);
    return CBX_OK;
}
