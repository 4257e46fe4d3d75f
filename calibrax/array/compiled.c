/*
 * Compiled functions: traced once for each list of shapes and dtypes that they are called with,
 * then run by what the backend made of the graph.
 */
#include <pthread.h>

#include "calibrax/array/fn_internal.h"
#include "calibrax/array/trace/cost.h"
#include "calibrax/array/trace/trace.h"
#include "calibrax/array/transform.h"
#include "calibrax/base/clock.h"

/* What a function does with operands so described. */
typedef struct version {
    struct version *next;
    cbx__graph *graph; /* NULL: it depends on values of an open trace, and is called */
    double trace_s;    /* that tracing took */
    cbx_array_desc in[];
} version;

typedef struct compiled {
    cbx__closure of;
    cbx_allocator al;
    pthread_mutex_t lock;        /* to add a version */
    _Atomic(version *) versions; /* the newest first; they stay as long as the function */
    bool donated[];              /* of each operand */
} compiled;

static size_t version_bytes(const compiled *c) { return sizeof(version) + c->of.f->nin * sizeof(cbx_array_desc); }

static void compiled_drop(void *user)
{
    compiled *c = user;

    for (version *v = atomic_load(&c->versions), *next; v; v = next) {
        next = v->next;
        cbx__graph_unref(v->graph);
        cbx_mem_free(&c->al, v, version_bytes(c));
    }
    pthread_mutex_destroy(&c->lock);
}

/* Operands by arrays, or by their descriptions. */
typedef struct operands {
    cbx_array *const *arrays; /* NULL: descriptions */
    const cbx_array_desc *descs;
} operands;

static const cbx_array_desc *desc_of(operands in, size_t i) { return in.arrays ? &in.arrays[i]->desc : &in.descs[i]; }

static const version *find(const compiled *c, operands in)
{
    for (const version *v = atomic_load_explicit(&c->versions, memory_order_acquire); v; v = v->next) {
        size_t i = 0;
        while (i < c->of.f->nin && cbx_array_desc_equal(&v->in[i], desc_of(in, i))) i++;
        if (i == c->of.f->nin) return v;
    }
    return NULL;
}

static cbx_status add_version(cbx_ctx *ctx, compiled *c, operands in, const version **out, cbx_err *err)
{
    const version *other;
    version *v = cbx_mem_zalloc(&c->al, version_bytes(c));
    const uint64_t start = cbx_clock_ns();
    cbx__traced t = { 0 };
    cbx_status st;

    if (!v) return cbx_fail(err, CBX_ENOMEM, "no memory to compile '%s'", c->of.f->name);
    for (size_t i = 0; i < c->of.f->nin; i++) v->in[i] = *desc_of(in, i);
    st = cbx__trace_fn(ctx, c->of.f, v->in, &t, err);
    if (st) {
        cbx_mem_free(&c->al, v, version_bytes(c));
        return st;
    }
    v->trace_s = 1e-9 * (double)(cbx_clock_ns() - start);
    for (size_t i = 0; i < c->of.f->nin; i++) t.graph->values.items[t.graph->in.items[i]].donated = c->donated[i];
    if (t.ncaptured == 0) v->graph = cbx__graph_ref(t.graph);
    cbx__traced_clear(&t);
    pthread_mutex_lock(&c->lock);
    other = find(c, in);
    if (!other) {
        v->next = atomic_load_explicit(&c->versions, memory_order_relaxed);
        atomic_store_explicit(&c->versions, v, memory_order_release);
    }
    pthread_mutex_unlock(&c->lock);
    *out = other ? other : v;
    if (other) { /* another thread was faster */
        cbx__graph_unref(v->graph);
        cbx_mem_free(&c->al, v, version_bytes(c));
    }
    return CBX_OK;
}

CBX__BODY(call_compiled)
{
    compiled *c = user;
    const version *v = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = CBX_OK;
    bool data = cbx_ctx_backend(ctx)->compile != NULL;

    for (size_t i = 0; data && i < nin; i++) data = !(in[i]->flags & CBX__ABSTRACT);
    if (data) v = find(c, (operands){ in, NULL });
    if (data && !v) st = add_version(ctx, c, (operands){ in, NULL }, &v, &err);
    if (!st && (!v || !v->graph)) return cbx_fn_call(ctx, c->of.f, nin, in, nout, out);
    if (!st) st = cbx__graph_run(ctx, v->graph, in, out, &err);
    if (st) {
        cbx__refuse(ctx, st, "%s", err.message);
        return CBX_OK;
    }
    for (size_t i = 0; i < nout; i++) out[i] = cbx_scope_hold(ctx, out[i]);
    return CBX_OK;
}

cbx_status cbx_jit_donate(cbx_ctx *ctx, const cbx_fn *f, size_t n, const size_t *argnums, cbx_fn **out, cbx_err *err)
{
    cbx_status st = cbx__fn_check("jit", f, err);

    for (size_t i = 0; !st && i < n; i++)
        if (argnums[i] >= f->nin)
            st = cbx_fail(err, CBX_EINVAL, "operand %zu of '%s' cannot be donated: it has %zu", argnums[i], f->name,
                          f->nin);
    if (!st)
        st = cbx__closure_create(ctx, "jit", f, sizeof(compiled) + f->nin * sizeof(bool), call_compiled, f->nin,
                                 f->nout, compiled_drop, out, err);
    if (st) return st;
    compiled *c = (*out)->user;
    c->al = *cbx_ctx_allocator(ctx);
    pthread_mutex_init(&c->lock, NULL);
    for (size_t i = 0; i < n; i++) c->donated[argnums[i]] = true;
    return CBX_OK;
}

cbx_status cbx_jit(cbx_ctx *ctx, const cbx_fn *f, cbx_fn **out, cbx_err *err)
{
    return cbx_jit_donate(ctx, f, 0, NULL, out, err);
}

cbx_status cbx_cost_compiled(cbx_ctx *ctx, const cbx_fn *f, size_t nin, const cbx_array_desc *in, cbx_cost_program *out,
                             cbx_err *err)
{
    const version *v;
    cbx_status st = cbx__fn_check("cost_compiled", f, err);

    if (st) return st;
    if (f->call != call_compiled)
        return cbx_fail(err, CBX_EINVAL, "'%s' was not made by cbx_jit: count it with cbx_cost_compile", f->name);
    if (nin != f->nin) return cbx_fail(err, CBX_EINVAL, "'%s' takes %zu operands, not %zu", f->name, f->nin, nin);
    v = find(f->user, (operands){ NULL, in });
    if (!v) st = add_version(ctx, f->user, (operands){ NULL, in }, &v, err);
    if (!st && !v->graph)
        st = cbx_fail(err, CBX_EINVAL, "'%s' is not compiled: it reads an array of a function that is traced", f->name);
    if (!st) st = cbx__graph_cost(ctx, v->graph, out, err);
    if (!st) out->times.trace_s = v->trace_s;
    return st;
}
