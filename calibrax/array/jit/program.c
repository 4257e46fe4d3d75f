/* Programs: the units of a plan as steps, each with the values that it creates and those that it is the last to read. */
#include "calibrax/array/jit/program.h"

#include <string.h>

#include "calibrax/array/fn_internal.h"
#include "calibrax/array/jit/loops.h"
#include "calibrax/array/jit/program_gpu.h"
#include "calibrax/array/kernels/threads.h"
#include "calibrax/array/reference/reference.h"
#include "calibrax/array/state.h"
#include "calibrax/base/clock.h"

/* Outputs of more bytes go past the caches: none of them is there when it is read next. */
#define PAST_CACHES ((size_t)16 << 20)

/* ---- making ---- */

typedef struct maker {
    cbx_ctx *ctx;
    cbx__program *p;
    uint32_t *last; /* step that reads each value last; CBX__NO_INDEX: none does */
    bool *made;
    bool failed; /* out of memory */
    CBX_LIST(cbx__vid) list;
    CBX_LIST(cbx__nest) nests;
    cbx_allocator al; /* of the arena */
} maker;

static bool is_output(const cbx__graph *g, cbx__vid v)
{
    for (size_t i = 0; i < g->out.n; i++)
        if (g->out.items[i] == v) return true;
    return false;
}

/* A copy of the list in the arena, which is then empty; NULL without memory. */
static const cbx__vid *take_list(maker *m, size_t *n)
{
    cbx__vid *copy = cbx_arena_calloc(&m->p->arena, m->list.n + 1, sizeof *copy);
    if (copy && m->list.n) memcpy(copy, m->list.items, m->list.n * sizeof *copy);
    *n = m->list.n;
    m->list.n = 0;
    return copy;
}

/* Calls back with each value that step s reads or makes. */
static void each_value(maker *m, uint32_t s, void (*fn)(maker *m, uint32_t s, cbx__vid v, bool makes))
{
    const cbx__step *step = &m->p->steps[s];
    const cbx__graph *g = m->p->graph;

    if (step->node != CBX__NO_INDEX) {
        const cbx__node *node = &g->nodes.items[step->node];
        for (uint32_t i = 0; i < node->nin; i++) fn(m, s, node->in[i], false);
        for (uint32_t r = 0; r < node->nout; r++) fn(m, s, node->out + r, true);
        return;
    }
    const cbx__nest *n = &m->nests.items[step->nest];
    for (size_t i = 0; i < n->kernel.streams.n; i++)
        if (n->sites[i].base != CBX__NO_VALUE) fn(m, s, n->sites[i].base, i < n->kernel.nout);
    for (size_t f = 0; f < n->nfolds; f++) fn(m, s, n->folds[f].result.base, true);
}

static void note_last(maker *m, uint32_t s, cbx__vid v, bool makes)
{
    (void)makes;
    m->last[v] = s;
}

static void list_made(maker *m, uint32_t s, cbx__vid v, bool makes)
{
    if (!makes || m->made[v]) return;
    m->made[v] = true;
    if (!cbx_list_push(&m->al, &m->list, v)) m->failed = true;
    (void)s;
}

static void list_done(maker *m, uint32_t s, cbx__vid v, bool makes)
{
    (void)makes;
    if (m->last[v] != s || m->p->graph->values.items[v].constant || is_output(m->p->graph, v)) return;
    for (size_t i = 0; i < m->list.n; i++)
        if (m->list.items[i] == v) return;
    if (!cbx_list_push(&m->al, &m->list, v)) m->failed = true;
}

/* Results that nothing reads soon, and that are larger than the caches, are written past them. */
static void set_nontemporal(const cbx__program *p, cbx__nest *n)
{
    for (size_t s = 0; s < n->kernel.nout; s++) {
        cbx__kstream *t = &n->kernel.streams.items[s];
        const cbx__vid v = n->sites[s].base;
        size_t bytes = v == CBX__NO_VALUE ? 0 : cbx_dtype_size((cbx_dtype)t->dtype);
        for (int i = 0; i < n->ndim; i++) bytes *= n->shape[i];
        t->nontemporal = bytes >= PAST_CACHES && t->kind == CBX__STREAM_DENSE && is_output(p->graph, v);
    }
}

static cbx_status add_nest(maker *m, cbx__nest *n, cbx_err *err)
{
    set_nontemporal(m->p, n);
    if (!cbx_list_push(&m->al, &m->nests, *n)) {
        cbx__kernel_clear(&n->kernel);
        return cbx_fail_nomem(err, "the steps of a compiled function");
    }
    m->p->nests = m->nests.items;
    m->p->nnests = m->nests.n;
    if (n->kernel.streams.n <= CBX__MAX_STREAMS) return CBX_OK;
    return cbx_fail(err, CBX_EUNSUPPORTED, "'%s' has a kernel of more than %d operands", m->p->graph->name,
                    CBX__MAX_STREAMS);
}

/* An operation of the backend, or a scan that is a kernel. */
static cbx_status add_node(maker *m, uint32_t k, size_t longest, cbx_err *err)
{
    cbx__program *p = m->p;
    const cbx__node *node = &p->graph->nodes.items[k];
    cbx__nest nest;
    bool done = false;
    cbx_status st = CBX_OK;

    if (longest && node->prim == CBX_PRIM_SCAN) st = cbx__scan_nest(&p->arena, &p->al, node, &done, &nest, err);
    if (st) return st;
    p->steps[p->nsteps++] = (cbx__step){ .node = done ? CBX__NO_INDEX : k, .nest = m->nests.n };
    return done ? add_nest(m, &nest, err) : CBX_OK;
}

static cbx_status add_units(maker *m, size_t longest, cbx_err *err)
{
    cbx__program *p = m->p;
    cbx_status st = CBX_OK;

    for (size_t u = 0; !st && u < p->plan.nunits; u++) {
        const cbx__unit *unit = &p->plan.units[u];
        cbx__nest *nests = NULL;
        size_t n = 0;
        if (unit->apply != CBX__NO_INDEX) {
            st = add_node(m, unit->apply, longest, err);
            continue;
        }
        st = cbx__nests_create(&p->arena, &p->al, &p->plan, unit, &n, &nests, err);
        for (size_t i = 0; !st && i < n; i++) {
            p->steps[p->nsteps++] = (cbx__step){ .node = CBX__NO_INDEX, .nest = m->nests.n };
            st = add_nest(m, &nests[i], err);
            for (size_t rest = i + 1; st && rest < n; rest++) cbx__kernel_clear(&nests[rest].kernel);
        }
    }
    return st;
}

/* The number of the only stream at a value; streams.n: there are several. */
static size_t only_stream(const cbx__nest *n, cbx__vid v)
{
    size_t found = n->kernel.streams.n;

    for (size_t s = 0; s < n->kernel.streams.n; s++) {
        if (n->sites[s].base != v) continue;
        if (found < n->kernel.streams.n) return n->kernel.streams.n;
        found = s;
    }
    return found;
}

static bool same_places(const cbx__nest *n, size_t a, size_t b)
{
    const cbx__site *x = &n->sites[a], *y = &n->sites[b];
    return x->offset == y->offset && memcmp(x->strides, y->strides, (size_t)n->ndim * sizeof *x->strides) == 0;
}

/*
 * A value in whose memory a kernel may write v: of the same shape and dtype, read here for the last time, and each element where
 * that of v is written.  Kernels load an element before they store it, and no other one is there.
 */
static cbx__vid find_reusable(const maker *m, const cbx__step *step, cbx__nest *n, cbx__vid v, const cbx__vid *taken,
                              size_t ntaken)
{
    const cbx__value *values = m->p->graph->values.items;
    const size_t out = only_stream(n, v);

    if (n->nfolds || n->kernel.carries.n || out >= n->kernel.nout) return CBX__NO_VALUE;
    for (size_t i = 0; i < step->ndone; i++) {
        const cbx__vid u = step->done[i];
        const size_t in = only_stream(n, u);
        bool is_taken = false;
        for (size_t t = 0; t < ntaken; t++) is_taken |= taken[t] == u;
        if (is_taken || in < n->kernel.nout || in == n->kernel.streams.n || !same_places(n, in, out)) continue;
        if (!cbx_array_desc_equal(&values[u].desc, &values[v].desc)) continue;
        n->kernel.streams.items[out].nontemporal = false; /* it is in the caches */
        return u;
    }
    return CBX__NO_VALUE;
}

static const cbx__vid *list_reused(maker *m, const cbx__step *step)
{
    cbx__vid *over = cbx_arena_calloc(&m->p->arena, step->nmade + 1, sizeof *over);

    for (size_t i = 0; over && i < step->nmade; i++)
        over[i] = step->node != CBX__NO_INDEX
                      ? CBX__NO_VALUE
                      : find_reusable(m, step, &m->nests.items[step->nest], step->made[i], over, i);
    return over;
}

static bool list_values(maker *m)
{
    cbx__program *p = m->p;

    for (uint32_t s = 0; s < p->nsteps; s++) each_value(m, s, note_last);
    for (uint32_t s = 0; s < p->nsteps; s++) {
        cbx__step *step = &p->steps[s];
        each_value(m, s, list_made);
        step->made = take_list(m, &step->nmade);
        each_value(m, s, list_done);
        step->done = take_list(m, &step->ndone);
        if (!step->made || !step->done || m->failed) return false;
        step->over = list_reused(m, step);
        if (!step->over) return false;
    }
    return true;
}

static cbx_status compile(cbx_ctx *ctx, const cbx__program *p, const cbx__emitter *emitter, cbx__code **out,
                          cbx_err *err)
{
    const size_t bytes = (p->nnests + 1) * sizeof(cbx__kernel *);
    const cbx__kernel **kernels = cbx_mem_alloc(&p->al, bytes);
    cbx_status st;

    if (!kernels) return cbx_fail_nomem(err, "the kernels of a compiled function");
    for (size_t i = 0; i < p->nnests; i++) kernels[i] = &p->nests[i].kernel;
    st = p->nnests ? emitter->compile(ctx, p->nnests, kernels, out, err) : CBX_OK;
    cbx_mem_free(&p->al, kernels, bytes);
    return st;
}

/* What a program for GPUs runs on the CPU; where LLVM is missing, or does not take a kernel, it is interpreted. */
static cbx_status code_of(cbx_ctx *ctx, cbx__program *p, const cbx__code **out, cbx_err *err)
{
    cbx__code *code = atomic_load_explicit(&p->code, memory_order_acquire);
    cbx_err why = CBX_ERR_INIT; /* a record that the context reads must not see attempts */
    cbx_status st = CBX_OK;

    if (!code) {
        pthread_mutex_lock(&p->lock);
        code = atomic_load_explicit(&p->code, memory_order_relaxed);
        if (!code) st = compile(ctx, p, &cbx__emitter_llvm, &code, &why);
        if (st == CBX_EUNAVAILABLE || st == CBX_EUNSUPPORTED)
            st = compile(ctx, p, &cbx__emitter_interpreter, &code, &why);
        if (!st) atomic_store_explicit(&p->code, code, memory_order_release);
        pthread_mutex_unlock(&p->lock);
    }
    *out = code;
    return st ? cbx_fail(err, st, "%s", why.message) : CBX_OK;
}

/* Since a reading of the clock, which is then renewed. */
static double seconds_since(uint64_t *start)
{
    const uint64_t now = cbx_clock_ns();
    const double s = 1e-9 * (double)(now - *start);
    *start = now;
    return s;
}

/* emitter NULL: for GPUs */
static cbx_status create(cbx_ctx *ctx, const cbx__graph *g, const cbx__emitter *emitter, size_t longest,
                         cbx__program **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx__program *p = cbx_mem_zalloc(al, sizeof *p);
    maker m = { .ctx = ctx, .p = p };
    uint64_t start = cbx_clock_ns();
    size_t max = 0;
    cbx_status st;

    if (!p) return cbx_fail_nomem(err, "a compiled function");
    p->al = *al;
    pthread_mutex_init(&p->lock, NULL);
    cbx_arena_init(&p->arena, al);
    p->graph = g;
    m.al = cbx_arena_allocator(&p->arena);
    p->emitter = emitter ? emitter->name : "gpu";
    st = cbx__plan_create(&p->arena, g, longest, !emitter, &p->plan, err);
    p->plan_s = seconds_since(&start);
    for (size_t u = 0; !st && u < p->plan.nunits; u++)
        max += p->plan.units[u].apply == CBX__NO_INDEX ? p->plan.units[u].nroots : 1;
    p->steps = cbx_arena_calloc(&p->arena, max + 1, sizeof *p->steps);
    m.last = cbx_arena_calloc(&p->arena, g->values.n + 1, sizeof *m.last);
    m.made = cbx_arena_calloc(&p->arena, g->values.n + 1, sizeof *m.made);
    if (!st && (!p->steps || !m.last || !m.made)) st = cbx_fail_nomem(err, "the steps of a compiled function");
    if (!st) st = add_units(&m, longest, err);
    if (!st && !list_values(&m)) st = cbx_fail_nomem(err, "the steps of a compiled function");
    p->kernels_s = seconds_since(&start);
    if (!st && emitter) {
        cbx__code *code = NULL;
        st = compile(ctx, p, emitter, &code, err);
        if (!st) atomic_init(&p->code, code);
    }
    p->code_s = seconds_since(&start);
    if (st)
        cbx__program_free(p);
    else
        *out = p;
    return st;
}

cbx_status cbx__program_create(cbx_ctx *ctx, const cbx__graph *g, const cbx__emitter *emitter, size_t longest,
                               cbx__program **out, cbx_err *err)
{
    return create(ctx, g, emitter, longest, out, err);
}

cbx_status cbx__program_create_gpu(cbx_ctx *ctx, const cbx__graph *g, cbx__program **out, cbx_err *err)
{
    static const size_t longest[] = { CBX__LONGEST, 24, 0 };
    cbx_err why = CBX_ERR_INIT; /* as in code_of */
    cbx_status st = CBX_EUNSUPPORTED;

    for (size_t i = 0; st == CBX_EUNSUPPORTED && i < CBX_LEN(longest); i++)
        st = create(ctx, g, NULL, longest[i], out, &why);
    return st ? cbx_fail(err, st, "%s", why.message) : CBX_OK;
}

void cbx__program_free(cbx__program *p)
{
    cbx_allocator al;

    if (!p) return;
    al = p->al;
    for (size_t i = 0; i < CBX_LEN(p->on_gpu); i++) cbx__gpu_nests_free(p->on_gpu[i]);
    pthread_mutex_destroy(&p->lock);
    cbx__code_free(atomic_load_explicit(&p->code, memory_order_relaxed));
    for (size_t i = 0; i < p->nnests; i++) cbx__kernel_clear(&p->nests[i].kernel);
    cbx_arena_clear(&p->arena);
    cbx_mem_free(&al, p, sizeof *p);
}

/* ---- running ---- */

/* The array of a value, without gaps. */
static cbx_status make_dense(cbx_ctx *ctx, cbx_array **env, cbx__vid v, cbx_err *err)
{
    cbx_array *dense;
    cbx_status st;

    if (env[v]->flags & CBX__CONTIGUOUS) return CBX_OK;
    st = cbx__array_dense(ctx, env[v], &dense, err);
    if (st) return st;
    cbx_array_free(env[v]);
    env[v] = dense;
    return CBX_OK;
}

/* A new array, or that of the value whose memory it takes: the step's list of values that are done frees the other handle. */
static cbx_status make_value(cbx_ctx *ctx, const cbx__program *p, cbx__vid v, cbx__vid over, cbx_array **env,
                             cbx_err *err)
{
    const cbx_array *a = over == CBX__NO_VALUE ? NULL : env[over];

    if (!a || !(a->flags & CBX__CONTIGUOUS) || a->flags & CBX__ELSEWHERE || !cbx_array_is_exclusive(a))
        return cbx_array_create(ctx, &p->graph->values.items[v].desc, &env[v], err);
    env[v] = cbx_array_ref(a);
    return CBX_OK;
}

static cbx_status run_nest(cbx_ctx *ctx, cbx__program *p, const cbx__step *step, cbx_array **env, cbx_err *err)
{
    const cbx__nest *n = &p->nests[step->nest];
    const int threads = cbx__omp_threads();
    const size_t bytes = cbx__nest_scratch(n, threads);
    char *results[CBX__MAX_STREAMS];
    const cbx__state *state = cbx__state_peek(ctx);
    cbx__nest_call c = { .nest = n, .results = results, .threads = threads, .stop = state ? state->stop : NULL };
    cbx_block scratch = { 0 };
    const cbx__code *code = NULL;
    cbx_status st = code_of(ctx, p, &code, err);

    for (size_t i = 0; !st && i < step->nmade; i++) st = make_value(ctx, p, step->made[i], step->over[i], env, err);
    for (size_t s = 0; !st && s < n->kernel.streams.n; s++) {
        const cbx__vid v = n->sites[s].base;
        if (v != CBX__NO_VALUE) st = make_dense(ctx, env, v, err);
        if (!st) c.at[s] = (char *)(v == CBX__NO_VALUE ? NULL : env[v]->data) + n->sites[s].offset;
    }
    for (size_t f = 0; !st && f < n->nfolds; f++)
        results[f] = (char *)env[n->folds[f].result.base]->data + n->folds[f].result.offset;
    if (!st && bytes) st = cbx_pool_get(cbx_ctx_pool(ctx), bytes, &scratch, err);
    if (st) return st;
    c.fn = code->fn[step->nest];
    c.self = code->self[step->nest];
    c.scratch = scratch.data;
    if (!cbx__nest_run(&c)) st = cbx_fail(err, CBX_EINTERRUPTED, "'%s' was interrupted", p->graph->name);
    cbx_pool_put(cbx_ctx_pool(ctx), scratch);
    return st;
}

static cbx_status run_node(cbx_ctx *ctx, const cbx__program *p, const cbx__step *step, cbx_array **env, cbx_err *err)
{
    enum { FEW = 8 };
    const cbx__node *node = &p->graph->nodes.items[step->node];
    const cbx_array *small[FEW], **in = small;
    cbx_array_desc few[FEW], *results = few;
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    const cbx_backend *reference = cbx_backend_reference();
    cbx_status st = CBX_OK;

    if (node->nin > FEW) in = cbx_mem_calloc(al, node->nin, sizeof *in);
    if (node->nout > FEW) results = cbx_mem_calloc(al, node->nout, sizeof *results);
    if (!in || !results) st = cbx_fail_nomem(err, "the operands of an operation");
    for (uint32_t i = 0; !st && i < node->nin; i++) in[i] = env[node->in[i]];
    for (uint32_t r = 0; !st && r < node->nout; r++) results[r] = p->graph->values.items[node->out + r].desc;
    if (!st)
        st = reference->apply(reference,
                              &(cbx_call){ ctx, node->prim, node->nin, in, node->attrs, node->nout, results },
                              &env[node->out], err);
    if (st) memset(&env[node->out], 0, node->nout * sizeof *env); /* whatever a backend left there */
    for (uint32_t r = 0; !st && r < node->nout; r++) /* a function of the node may have captured an array of a device */
        st = cbx__array_bring(ctx, &env[node->out + r], err);
    if (in != small) cbx_mem_free(al, in, node->nin * sizeof *in);
    if (results != few) cbx_mem_free(al, results, node->nout * sizeof *results);
    return st;
}

static cbx_status run_step(cbx_ctx *ctx, cbx__program *p, const cbx__gpu_run *r, const cbx__step *step, cbx_err *err)
{
    bool done = false;
    cbx_status st = r->nests ? cbx__gpu_step(ctx, p, r, step, &done, err) : CBX_OK;

    if (!st && !done)
        st = step->node == CBX__NO_INDEX ? run_nest(ctx, p, step, r->env, err) : run_node(ctx, p, step, r->env, err);
    for (size_t i = 0; !st && i < step->ndone; i++) {
        cbx_array_free(r->env[step->done[i]]);
        r->env[step->done[i]] = NULL;
        cbx__gpu_drop(r, step->done[i]);
    }
    return st;
}

cbx_status cbx__program_run(cbx_ctx *ctx, cbx__program *p, cbx__gpu *gpu, cbx_array *const *in, cbx_array **out,
                            cbx_err *err)
{
    enum { FEW = 64 };
    const cbx__graph *g = p->graph;
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_array *small[FEW], **env = small;
    cbx__gpu_run r = { 0 };
    cbx_status st = gpu ? cbx__program_nests(ctx, p, gpu, &r.nests, err) : CBX_OK;

    if (st) return st;
    if (g->values.n > FEW) env = cbx_mem_calloc(al, g->values.n, sizeof *env);
    if (gpu) r.there = cbx_mem_calloc(al, g->values.n + 1, sizeof(cbx_array *));
    if (!env || (gpu && !r.there)) st = cbx_fail(err, CBX_ENOMEM, "no memory to run '%s'", g->name);
    r.env = env;
    for (size_t i = 0; env && i < g->values.n; i++) env[i] = cbx_array_ref(g->values.items[i].constant);
    for (size_t i = 0; env && i < g->in.n; i++) env[g->in.items[i]] = cbx_array_ref(in[i]);
    if (!st && gpu) st = cbx__gpu_begin(ctx, p, &r, err);
    for (size_t s = 0; !st && s < p->nsteps; s++) st = run_step(ctx, p, &r, &p->steps[s], err);
    for (size_t i = 0; !st && r.stays && i < g->out.n; i++) st = cbx__gpu_send(ctx, p, &r, g->out.items[i], err);
    for (size_t i = 0; !st && gpu && !r.stays && i < g->out.n; i++)
        st = cbx__gpu_fetch(ctx, p, &r, g->out.items[i], err);
    for (size_t i = 0; !st && i < g->out.n; i++) out[i] = cbx_array_ref((r.stays ? r.there : env)[g->out.items[i]]);
    if (env) cbx__arrays_free(g->values.n, env);
    if (r.there) cbx__arrays_free(g->values.n, r.there);
    if (r.there) cbx_mem_free(al, r.there, (g->values.n + 1) * sizeof(cbx_array *));
    if (env != small && env) cbx_mem_free(al, env, g->values.n * sizeof *env);
    return st;
}

/* ---- reading ---- */

static void nest_text(const cbx__nest *n, bool kernels, cbx_text *out)
{
    cbx_text_puts(out, "kernel over (");
    for (int i = 0; i < n->ndim; i++)
        cbx_text_printf(out, "%s%zu%s", i ? ", " : "", n->shape[i], n->gone >> i & 1 ? " folded" : "");
    cbx_text_printf(out, "), %zu instructions\n", n->kernel.instr.n);
    for (size_t s = 0; s < n->kernel.streams.n; s++)
        if (n->sites[s].base != CBX__NO_VALUE)
            cbx_text_printf(out, "  %s %%%u\n", s < n->kernel.nout ? "stores" : "loads", n->sites[s].base);
    for (size_t f = 0; f < n->nfolds; f++)
        cbx_text_printf(out, "  folds %%%u by %s\n", n->folds[f].result.base, cbx_prim_name(n->folds[f].prim));
    if (kernels) cbx__kernel_text(&n->kernel, out);
}

static void steps_text(const cbx__program *p, bool kernels, cbx_text *out)
{
    for (size_t s = 0; s < p->nsteps; s++) {
        const cbx__step *step = &p->steps[s];
        if (step->node == CBX__NO_INDEX) {
            nest_text(&p->nests[step->nest], kernels, out);
            continue;
        }
        const cbx__node *node = &p->graph->nodes.items[step->node];
        cbx_text_printf(out, "%%%u = %s", node->out, cbx_prim_name(node->prim));
        for (uint32_t i = 0; i < node->nin; i++) cbx_text_printf(out, " %%%u", node->in[i]);
        cbx_text_puts(out, "\n");
    }
}

static cbx_status ptx_text(cbx_ctx *ctx, const cbx__program *p, cbx_text *out, cbx_err *err)
{
    const cbx__nest **taken = cbx_mem_calloc(&p->al, p->nnests + 1, sizeof *taken);
    bool any = false;
    cbx_status st;

    if (!taken) return cbx_fail_nomem(err, "the kernels of a compiled function");
    for (size_t i = 0; i < p->nnests; i++) {
        cbx_err why = CBX_ERR_INIT;
        if (cbx__gpu_takes(&p->nests[i], &why))
            cbx_text_printf(out, "// kernel %zu runs on the CPU: %s\n", i, why.message);
        else
            taken[i] = &p->nests[i], any = true;
    }
    st = any ? cbx__gpu_code(ctx, false, p->nnests, taken, out, err) : cbx_text_check(out, err);
    cbx_mem_free(&p->al, taken, (p->nnests + 1) * sizeof *taken);
    return st;
}

cbx_status cbx__program_show(cbx_ctx *ctx, const cbx__program *p, cbx_dump_kind kind, cbx_text *out, cbx_err *err)
{
    static const struct {
        const cbx__emitter *by;
        const char *what;
    } texts[] = { [CBX_DUMP_C] = { &cbx__emitter_c, "c" },
                  [CBX_DUMP_LLVM] = { &cbx__emitter_llvm, "ir" },
                  [CBX_DUMP_ASSEMBLY] = { &cbx__emitter_llvm, "asm" } };
    const cbx__kernel **kernels;
    cbx_status st;

    if (kind == CBX_DUMP_SIMPLIFIED) {
        cbx__graph_text(p->graph, 0, out);
        return CBX_OK;
    }
    if (kind == CBX_DUMP_FUSED || kind == CBX_DUMP_KERNELS) {
        steps_text(p, kind == CBX_DUMP_KERNELS, out);
        return CBX_OK;
    }
    if (kind == CBX_DUMP_PTX) return ptx_text(ctx, p, out, err);
    if ((size_t)kind >= CBX_LEN(texts) || !texts[kind].by)
        return cbx_fail(err, CBX_EUNSUPPORTED, "a compiled function has no stage %d", (int)kind);
    kernels = cbx_mem_calloc(&p->al, p->nnests + 1, sizeof *kernels);
    if (!kernels) return cbx_fail_nomem(err, "the kernels of a compiled function");
    for (size_t i = 0; i < p->nnests; i++) kernels[i] = &p->nests[i].kernel;
    st = texts[kind].by->text(ctx, texts[kind].what, p->nnests, kernels, out, err);
    cbx_mem_free(&p->al, kernels, (p->nnests + 1) * sizeof *kernels);
    return st;
}
