/*
 * Compiled functions: traced once for each list of shapes and dtypes that they are called with,
 * then run by what the backend made of the graph.
 */
#include <pthread.h>
#include <stdio.h>

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
    cbx_fn *f;
    cbx_allocator al;
    pthread_mutex_t lock;        /* to add a version */
    _Atomic(version *) versions; /* the newest first; they stay as long as the function */
    char name[80];
} compiled;

static size_t version_bytes(const compiled *c) { return sizeof(version) + c->f->nin * sizeof(cbx_array_desc); }

static void compiled_release(void *user)
{
    compiled *c = user;
    cbx_allocator al = c->al;

    for (version *v = atomic_load(&c->versions), *next; v; v = next) {
        next = v->next;
        cbx__graph_unref(v->graph);
        cbx_mem_free(&al, v, version_bytes(c));
    }
    pthread_mutex_destroy(&c->lock);
    cbx_fn_free(c->f);
    cbx_mem_free(&al, c, sizeof *c);
}

static const version *newest(const compiled *c) { return atomic_load_explicit(&c->versions, memory_order_acquire); }

static const version *find(const compiled *c, cbx_array *const *in)
{
    for (const version *v = newest(c); v; v = v->next) {
        size_t i = 0;
        while (i < c->f->nin && cbx_array_desc_equal(&v->in[i], &in[i]->desc)) i++;
        if (i == c->f->nin) return v;
    }
    return NULL;
}

static cbx_status add_version(cbx_ctx *ctx, compiled *c, cbx_array *const *in, const version **out, cbx_err *err)
{
    const version *other;
    version *v = cbx_mem_zalloc(&c->al, version_bytes(c));
    const uint64_t start = cbx_clock_ns();
    cbx__traced t = { 0 };
    cbx_status st;

    if (!v) return cbx_fail(err, CBX_ENOMEM, "no memory to compile '%s'", c->f->name);
    for (size_t i = 0; i < c->f->nin; i++) v->in[i] = in[i]->desc;
    st = cbx__trace_fn(ctx, c->f, v->in, &t, err);
    if (st) {
        cbx_mem_free(&c->al, v, version_bytes(c));
        return st;
    }
    v->trace_s = 1e-9 * (double)(cbx_clock_ns() - start);
    if (t.ncaptured == 0) v->graph = cbx__graph_ref(t.graph);
    cbx__traced_clear(ctx, &t);
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

static cbx_status call_compiled(cbx_ctx *ctx, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out,
                                void *user)
{
    compiled *c = user;
    const version *v = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = CBX_OK;
    bool data = cbx_ctx_backend(ctx)->compile != NULL;

    for (size_t i = 0; data && i < nin; i++) data = !(in[i]->flags & CBX__ABSTRACT);
    if (data) v = find(c, in);
    if (data && !v) st = add_version(ctx, c, in, &v, &err);
    if (!st && (!v || !v->graph)) return cbx_fn_call(ctx, c->f, nin, in, nout, out);
    if (!st) st = cbx__graph_run(ctx, v->graph, in, out, &err);
    if (st) {
        cbx__refuse(ctx, st, "%s", err.message);
        return CBX_OK;
    }
    for (size_t i = 0; i < nout; i++) out[i] = cbx_scope_hold(ctx, out[i]);
    return CBX_OK;
}

cbx_status cbx_jit(cbx_ctx *ctx, const cbx_fn *f, cbx_fn **out, cbx_err *err)
{
    compiled *c = NULL;
    cbx_status st = cbx__fn_check("jit", f, err);

    if (st) return st;
    c = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *c);
    if (!c) return cbx_fail(err, CBX_ENOMEM, "no memory for 'jit' of '%s'", f->name);
    c->al = *cbx_ctx_allocator(ctx);
    pthread_mutex_init(&c->lock, NULL);
    snprintf(c->name, sizeof c->name, "jit(%s)", f->name);
    st = cbx_fn_keep(ctx, f, &c->f, err);
    if (!st)
        st = cbx_fn_create(ctx, &(cbx_fn){ c->name, call_compiled, c, f->nin, f->nout, NULL }, compiled_release, out,
                           err);
    if (!st) return CBX_OK;
    pthread_mutex_destroy(&c->lock);
    cbx_fn_free(c->f);
    cbx_mem_free(cbx_ctx_allocator(ctx), c, sizeof *c);
    return st;
}

cbx_status cbx_cost_compiled(cbx_ctx *ctx, const cbx_fn *f, size_t nin, const cbx_array_desc *in, cbx_cost_program *out,
                             cbx_err *err)
{
    const compiled *c;
    cbx_status st = cbx__fn_check("cost_compiled", f, err);

    if (st) return st;
    if (f->call != call_compiled)
        return cbx_fail(err, CBX_EINVAL, "'%s' was not made by cbx_jit: count it with cbx_cost_compile", f->name);
    if (nin != f->nin) return cbx_fail(err, CBX_EINVAL, "'%s' takes %zu operands, not %zu", f->name, f->nin, nin);
    c = f->user;
    for (const version *v = newest(c); v; v = v->next) {
        size_t i = 0;
        while (i < nin && cbx_array_desc_equal(&v->in[i], &in[i])) i++;
        if (i < nin || !v->graph) continue;
        st = cbx__graph_cost(ctx, v->graph, out, err);
        if (!st) out->times.trace_s = v->trace_s;
        return st;
    }
    return cbx_fail(err, CBX_ENOENT, "'%s' was not compiled for such operands: call it with them first", f->name);
}
