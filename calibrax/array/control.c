/*
 * Control flow: what its operations check, and their functions traced.  Each function runs once
 * with traced operands, also where the operands of the operation have data; the operation then
 * repeats what was recorded.
 */
#include "calibrax/array/fn_internal.h"
#include "calibrax/array/ops_internal.h"
#include "calibrax/array/trace/regions.h"
#include "calibrax/array/trace/trace.h"
#include "calibrax/array/transform.h"

#include <math.h>
#include <string.h>

static cbx_status body_check(const char *what, const cbx_fn *f, size_t nin, size_t nout, bool more, cbx_err *err)
{
    cbx_status st = cbx__fn_check(what, f, err);

    if (st) return st;
    if (f->nin != nin || f->nout < nout || (f->nout > nout && !more))
        return cbx_fail(err, CBX_EINVAL,
                        "'%s' of '%s' takes %zu operands and returns %zu results, and must take %zu and return %s%zu",
                        f->name, what, f->nin, f->nout, nin, more ? "at least " : "", nout);
    return CBX_OK;
}

static cbx_status differ_check(const cbx_array_desc *a, const cbx_array_desc *b)
{
    if (cbx_array_desc_equal(a, b)) return CBX_OK;
    return a->dtype == b->dtype ? CBX_ESHAPE : CBX_EDTYPE;
}

static cbx_status carry_check(const char *what, const cbx_fn *body, size_t i, const cbx_array_desc *in,
                              const cbx_array_desc *out, cbx_err *err)
{
    cbx_status st = differ_check(in, out);

    if (!st) return CBX_OK;
    return cbx_fail(err, st,
                    "value %zu carried by '%s' is %s before '%s' and %s after it: dtype and shape must not change", i,
                    what, CBX__DESC_TEXT(in), body->name, CBX__DESC_TEXT(out));
}

void cbx_ctx_set_stop(cbx_ctx *ctx, const volatile sig_atomic_t *stop)
{
    cbx__state *s = cbx__state_get(ctx);
    if (s) s->stop = stop;
}

/* ---- an operation in the making ---- */

typedef struct flow {
    cbx_ctx *ctx;
    const char *what;
    size_t n; /* functions */
    cbx__traced *traced;
    cbx__graph **graph;
    size_t *consts;
    cbx_array **in; /* operands of the operation */
    size_t nin;
    cbx_arena arena; /* of all lists */
    cbx_err err;
} flow;

static cbx_status flow_begin(flow *w, cbx_ctx *ctx, const char *what)
{
    *w = (flow){ .ctx = ctx, .what = what, .err = CBX_ERR_INIT };
    cbx_arena_init(&w->arena, cbx_ctx_allocator(ctx));
    return cbx__begin(ctx, &w->err);
}

/* A list of n arrays, all NULL; NULL, with a failure in st, without memory. */
static cbx_array **flow_list(flow *w, size_t n, cbx_status *st)
{
    cbx_array **list = cbx_arena_calloc(&w->arena, n, sizeof *list);

    if (!list && !*st) *st = cbx_fail(&w->err, CBX_ENOMEM, "no memory for the operands of '%s'", w->what);
    return list;
}

/* Space for n functions and their descriptions: d is for operands of any of them. */
static cbx_status flow_functions(flow *w, size_t n, size_t widest, cbx_array_desc **d)
{
    w->traced = cbx_arena_calloc(&w->arena, n, sizeof *w->traced);
    w->graph = cbx_arena_calloc(&w->arena, n, sizeof *w->graph);
    w->consts = cbx_arena_calloc(&w->arena, n, sizeof *w->consts);
    *d = cbx_arena_calloc(&w->arena, widest, sizeof **d);
    if (!w->traced || !w->graph || !w->consts || !*d)
        return cbx_fail(&w->err, CBX_ENOMEM, "no memory for the functions of '%s'", w->what);
    w->n = n;
    return CBX_OK;
}

static cbx_status flow_trace(flow *w, size_t i, const cbx_fn *f, const cbx_array_desc *in)
{
    const cbx_status st = cbx__trace_fn(w->ctx, f, in, &w->traced[i], &w->err);

    if (st) return st;
    w->graph[i] = w->traced[i].graph;
    w->consts[i] = w->traced[i].ncaptured;
    cbx__graph_rotate(w->graph[i], w->consts[i]);
    return CBX_OK;
}

/* The list of operands: first (NULL: none), what the functions captured, then two lists. */
static cbx_status flow_operands(flow *w, const cbx_array *first, size_t na, cbx_array *const *a, size_t nb,
                                cbx_array *const *b)
{
    size_t all = 1 + na + nb;
    cbx_status st = CBX_OK;

    for (size_t i = 0; i < w->n; i++) all += w->consts[i];
    w->in = flow_list(w, all, &st);
    if (st) return st;
    if (first) w->in[w->nin++] = (cbx_array *)(uintptr_t)first;
    for (size_t i = 0; i < w->n; i++)
        for (size_t k = 0; k < w->consts[i]; k++) w->in[w->nin++] = w->traced[i].captured[k];
    for (size_t i = 0; i < na; i++) w->in[w->nin++] = a[i];
    for (size_t i = 0; i < nb; i++) w->in[w->nin++] = b[i];
    return CBX_OK;
}

/* The end: out[] were made by the operation, or st is the failure. */
static cbx_status flow_end(flow *w, cbx_status st, size_t nout, cbx_array **out)
{
    for (size_t i = 0; i < w->n; i++) cbx__traced_clear(&w->traced[i]);
    cbx_arena_clear(&w->arena);
    if (st) {
        cbx__refuse(w->ctx, st, "%s", w->err.message);
        for (size_t i = 0; i < nout; i++) out[i] = cbx__array_failed();
    }
    return cbx_ctx_pending(w->ctx, NULL);
}

/* ---- scan ---- */

static cbx_status scan_length(size_t nxs, cbx_array *const *xs, size_t *length, cbx_err *err)
{
    for (size_t i = 0; i < nxs; i++) {
        const cbx_array_desc *d = cbx_array_get_desc(xs[i]);
        if (d->ndim == 0) return cbx_fail(err, CBX_EINVAL, "xs %zu of 'scan' is a scalar: it has no axis to scan", i);
        if (*length == CBX_LENGTH_OF_XS) *length = d->shape[0];
        if (d->shape[0] != *length)
            return cbx_fail(err, CBX_ESHAPE, "xs %zu of 'scan' is %s, but there are %zu steps", i, CBX__DESC_TEXT(d),
                            *length);
    }
    if (*length == CBX_LENGTH_OF_XS) return cbx_fail(err, CBX_EINVAL, "'scan' without xs needs a length");
    return CBX_OK;
}

static void plain_scan(flow *w, size_t ncarry, size_t nxs, size_t length, bool reverse, CBX__UNUSED size_t every,
                       cbx_array **out)
{
    cbx__scan_apply(w->ctx, w->graph[0], w->consts[0], ncarry, nxs, length, reverse, w->in, out);
}

/* The first carried values, hidden of them, are not the caller's. */
static cbx_status scan(cbx_ctx *ctx, const char *what, const cbx_fn *body, size_t hidden, size_t ncarry,
                       cbx_array *const *init, size_t nxs, cbx_array *const *xs, size_t length, bool reverse,
                       size_t every, void (*apply)(flow *, size_t, size_t, size_t, bool, size_t, cbx_array **),
                       cbx_array **out)
{
    const size_t nout = body ? body->nout : 0;
    cbx_array_desc *d = NULL;
    flow w;
    cbx_status st = flow_begin(&w, ctx, what);

    if (!st) st = body_check(what, body, ncarry + nxs, ncarry, true, &w.err);
    if (!st) st = cbx__operands_check(what, ncarry, init, &w.err);
    if (!st) st = cbx__operands_check(what, nxs, xs, &w.err);
    if (!st) st = scan_length(nxs, xs, &length, &w.err);
    if (!st) st = flow_functions(&w, 1, body->nin, &d);
    if (st) return flow_end(&w, st, nout, out);
    for (size_t i = 0; i < ncarry; i++) d[i] = init[i]->desc;
    for (size_t i = 0; i < nxs; i++) d[ncarry + i] = cbx__element_desc(&xs[i]->desc);
    st = flow_trace(&w, 0, body, d);
    for (size_t i = hidden; !st && i < ncarry; i++)
        st = carry_check(what, body, i - hidden, &d[i], cbx__graph_out(w.graph[0], i), &w.err);
    if (!st) st = flow_operands(&w, NULL, ncarry, init, nxs, xs);
    if (!st) apply(&w, ncarry, nxs, length, reverse, every, out);
    return flow_end(&w, st, nout, out);
}

cbx_status cbx_scan(cbx_ctx *ctx, const cbx_fn *body, size_t ncarry, cbx_array *const *init, size_t nxs,
                    cbx_array *const *xs, size_t length, bool reverse, cbx_array **out)
{
    return scan(ctx, "scan", body, 0, ncarry, init, nxs, xs, length, reverse, 0, plain_scan, out);
}

/*
 * ---- scan with few saved carries: a scan over segments, each a checkpoint of the scan over its
 * steps ----
 */

/*
 * A graph with the inputs and results of a segment of m steps: the scan over them, or a checkpoint
 * of that (inner).
 */
static cbx_status segment(flow *w, size_t ncarry, size_t nxs, size_t m, bool reverse, cbx__graph *inner,
                          cbx__traced *made)
{
    const cbx__graph *g = w->graph[0];
    const size_t nin = g->in.n, first_x = nin - nxs;
    cbx_status st = CBX_OK;
    cbx_array **in = flow_list(w, nin + g->out.n, &st), **out = in + nin;
    cbx__trace trace;
    cbx_scope scope;

    if (!st) st = cbx__trace_begin(w->ctx, g->name, true, &trace, &w->err);
    if (st) return st;
    cbx_scope_open(w->ctx, &scope);
    for (size_t i = 0; !st && i < nin; i++) {
        cbx_array_desc d = *cbx__graph_in(inner ? inner : g, i);
        if (!inner && i >= first_x) st = cbx__stacked_desc(w->what, m, cbx__graph_in(g, i), &d, &w->err);
        if (!st) st = cbx__trace_input(&trace, &d, &in[i], &w->err);
    }
    if (!st && inner)
        cbx__called_apply(w->ctx, &(cbx__called){ .prim = CBX_PRIM_CHECKPOINT, .f = inner }, nin, in, out);
    else if (!st)
        cbx__scan_apply(w->ctx, w->graph[0], w->consts[0], ncarry, nxs, m, reverse, in, out);
    if (!st) st = cbx_ctx_pending(w->ctx, &w->err);
    st = cbx__trace_end(&trace, st, g->out.n, out, made, &w->err);
    cbx_scope_close(&scope, NULL);
    cbx__arrays_free(nin, in);
    return st;
}

/* Steps from..from+n*m-1 of operands; n segments of m: (n, m, ...), one: (m, ...). */
static cbx_array *steps_of(cbx_ctx *ctx, const cbx_array *x, size_t from, size_t n, size_t m)
{
    cbx_array *some = cbx_slice(ctx, x, 0, (ptrdiff_t)from, (ptrdiff_t)(from + n * m), 1);
    size_t shape[CBX_MAX_RANK + 1];

    if (n == 1 || m == 1 || cbx_array_is_failed(some)) return some;
    shape[0] = n, shape[1] = m;
    memcpy(shape + 2, x->desc.shape + 1, (size_t)(x->desc.ndim - 1) * sizeof *shape);
    return cbx__reshaped(ctx, some, x->desc.ndim + 1, shape);
}
static cbx_array *joined_steps(cbx_ctx *ctx, const cbx_array *y, size_t n, size_t m)
{
    size_t shape[CBX_MAX_RANK];

    if (n == 1 || m == 1 || cbx_array_is_failed(y)) return (cbx_array *)(uintptr_t)y;
    shape[0] = n * m;
    memcpy(shape + 1, y->desc.shape + 2, (size_t)(y->desc.ndim - 2) * sizeof *shape);
    return cbx__reshaped(ctx, y, y->desc.ndim - 1, shape);
}

/* n segments of m steps each, from a step on; carry in w->in goes in and out of them. */
static cbx_status walk_segments(flow *w, size_t ncarry, size_t nxs, size_t from, size_t n, size_t m, bool reverse,
                                cbx_array **out)
{
    cbx__graph *g = w->graph[0];
    const size_t nout = g->out.n, first_x = w->nin - nxs;
    CBX_CLEARED(cbx__traced) inner = { 0 }, outer = { 0 };
    cbx_status st = CBX_OK;
    cbx_array **in = flow_list(w, w->nin, &st);

    if (!st && (m > 1 || n == 1)) st = segment(w, ncarry, nxs, m, reverse, NULL, &inner);
    if (!st && n > 1) st = segment(w, ncarry, nxs, m, reverse, m > 1 ? inner.graph : g, &outer);
    for (size_t i = 0; !st && i < w->nin; i++) in[i] = i < first_x ? w->in[i] : steps_of(w->ctx, w->in[i], from, n, m);
    if (!st && n > 1)
        cbx__scan_apply(w->ctx, outer.graph, w->consts[0], ncarry, nxs, n, reverse, in, out);
    else if (!st)
        cbx__called_apply(w->ctx, &(cbx__called){ .prim = CBX_PRIM_CHECKPOINT, .f = inner.graph }, w->nin, in, out);
    for (size_t i = 0; !st && i < ncarry; i++) w->in[w->consts[0] + i] = out[i];
    for (size_t i = ncarry; !st && i < nout; i++) out[i] = joined_steps(w->ctx, out[i], n, m);
    return st ? st : cbx_ctx_pending(w->ctx, &w->err);
}

static size_t square_root_up(size_t n)
{
    size_t r = (size_t)sqrt((double)n);
    while (r * r < n) r++;
    return r;
}

/* The steps that make no whole segment come last. */
static void checkpointed_scan(flow *w, size_t ncarry, size_t nxs, size_t length, bool reverse, size_t every,
                              cbx_array **out)
{
    const size_t k = every == CBX_SAVE_SQRT ? square_root_up(length) : every < length ? every : length;
    const size_t n = k ? length / k : 0, rest = k ? length % k : 0, nout = w->graph[0]->out.n;
    cbx_status st = CBX_OK;

    if (length < 2 || !cbx__is_recorded(w->ctx, w->nin, (const cbx_array *const *)w->in)) {
        plain_scan(w, ncarry, nxs, length, reverse, every, out);
        return;
    }
    st = walk_segments(w, ncarry, nxs, reverse ? rest : 0, n, k, reverse, out);
    if (!st && rest) {
        cbx_array **tail = flow_list(w, nout, &st);
        if (!st) st = walk_segments(w, ncarry, nxs, reverse ? 0 : n * k, 1, rest, reverse, tail);
        for (size_t i = 0; !st && i < nout; i++) {
            const cbx_array *both[2] = { reverse ? tail[i] : out[i], reverse ? out[i] : tail[i] };
            out[i] = i < ncarry ? tail[i] : cbx_concat(w->ctx, 2, both, 0);
        }
    }
    if (!st) return;
    cbx__refuse(w->ctx, st, "%s", w->err.message);
    for (size_t i = 0; i < nout; i++) out[i] = cbx__array_failed();
}

cbx_status cbx_scan_checkpointed(cbx_ctx *ctx, const cbx_fn *body, size_t ncarry, cbx_array *const *init, size_t nxs,
                                 cbx_array *const *xs, size_t length, bool reverse, size_t every, cbx_array **out)
{
    if (every == 0) {
        cbx__refuse(ctx, CBX_EINVAL, "'every' of 'scan_checkpointed' must be at least 1, got 0");
        for (size_t i = 0; body && i < body->nout; i++) out[i] = cbx__array_failed();
        return cbx_ctx_pending(ctx, NULL);
    }
    return scan(ctx, "scan", body, 0, ncarry, init, nxs, xs, length, reverse, every, checkpointed_scan, out);
}

/* ---- fori_loop: a scan that carries the index ---- */

CBX__BODY(counted_step)
{
    const cbx_fn *body = user;
    cbx_status st = cbx_fn_call(ctx, body, nin, in, nout - 1, out + 1);

    out[0] = cbx_add(ctx, in[0], cbx_full(ctx, 0, NULL, CBX_I64, cbx_int(1)));
    return st;
}

cbx_status cbx_fori_loop(cbx_ctx *ctx, int64_t lower, int64_t upper, const cbx_fn *body, size_t n,
                         cbx_array *const *init, cbx_array **out)
{
    const size_t length = upper > lower ? (size_t)((uint64_t)upper - (uint64_t)lower) : 0;
    cbx_array **list;
    cbx_scope scope;
    cbx_fn counted;
    flow w;
    cbx_status st = flow_begin(&w, ctx, "fori_loop");

    if (!st) st = body_check("fori_loop", body, n + 1, n, false, &w.err);
    if (!st) st = cbx__operands_check("fori_loop", n, init, &w.err);
    list = flow_list(&w, n + 1, &st);
    if (st) return flow_end(&w, st, n, out);
    cbx_scope_open(ctx, &scope); /* the index lives in it */
    list[0] = cbx_full(ctx, 0, NULL, CBX_I64, cbx_int(lower));
    for (size_t i = 0; i < n; i++) list[i + 1] = init[i];
    counted = (cbx_fn){ body->name, counted_step, (void *)(uintptr_t)body, n + 1, n + 1, NULL };
    scan(ctx, "fori_loop", &counted, 1, n + 1, list, 0, NULL, length, false, 0, plain_scan, list);
    st = cbx_scope_close_keep(&scope, n, list + 1, &w.err);
    for (size_t i = 0; !st && i < n; i++) out[i] = cbx_scope_hold(ctx, list[i + 1]);
    return flow_end(&w, st, n, out);
}

/* ---- while_loop ---- */

cbx_status cbx_while_loop(cbx_ctx *ctx, const cbx_fn *test, const cbx_fn *body, size_t n, cbx_array *const *init,
                          cbx_array **out)
{
    const char *what = "while_loop";
    cbx_array_desc *d = NULL;
    flow w;
    cbx_status st = flow_begin(&w, ctx, what);

    if (!st) st = body_check(what, test, n, 1, false, &w.err);
    if (!st) st = body_check(what, body, n, n, false, &w.err);
    if (!st) st = cbx__operands_check(what, n, init, &w.err);
    if (!st) st = flow_functions(&w, 2, n, &d);
    if (st) return flow_end(&w, st, n, out);
    for (size_t i = 0; i < n; i++) d[i] = init[i]->desc;
    st = flow_trace(&w, CBX__WHILE_TEST, test, d);
    if (!st && cbx__graph_out(w.graph[0], 0)->ndim != 0)
        st = cbx_fail(&w.err, CBX_ESHAPE, "'%s' of 'while_loop' returns %s, it must return a scalar", test->name,
                      CBX__DESC_TEXT(cbx__graph_out(w.graph[0], 0)));
    if (!st) st = flow_trace(&w, CBX__WHILE_BODY, body, d);
    for (size_t i = 0; !st && i < n; i++) st = carry_check(what, body, i, &d[i], cbx__graph_out(w.graph[1], i), &w.err);
    if (!st) st = flow_operands(&w, NULL, n, init, 0, NULL);
    if (!st) cbx__while_apply(ctx, w.graph, w.consts, n, w.in, out);
    return flow_end(&w, st, n, out);
}

/* ---- cond and switch ---- */

static cbx_status branches_check(const char *what, const cbx_array *index, size_t n, const cbx_fn *const *branches,
                                 size_t nin, cbx_array *const *in, cbx_err *err)
{
    cbx_status st = CBX_OK;

    if (n == 0) return cbx_fail(err, CBX_EINVAL, "'%s' needs at least one branch", what);
    st = cbx__fn_check(what, branches[0], err);
    for (size_t i = 0; !st && i < n; i++) st = body_check(what, branches[i], nin, branches[0]->nout, false, err);
    if (!st) st = cbx__operands_check(what, 1, (cbx_array *const[]){ (cbx_array *)(uintptr_t)index }, err);
    if (!st && index->desc.ndim != 0)
        st = cbx_fail(err, CBX_ESHAPE, "'%s' selects by a scalar, not by an array of %d axes", what, index->desc.ndim);
    return st ? st : cbx__operands_check(what, nin, in, err);
}

/* Branch i must give what the first one gives. */
static cbx_status branch_check(const flow *w, const cbx_fn *const *branches, size_t i, cbx_err *err)
{
    for (size_t k = 0; k < w->graph[0]->out.n; k++) {
        const cbx_array_desc *a = cbx__graph_out(w->graph[0], k), *b = cbx__graph_out(w->graph[i], k);
        const cbx_status st = differ_check(a, b);
        if (st)
            return cbx_fail(err, st, "result %zu is %s in branch '%s' and %s in branch '%s': branches must agree", k,
                            CBX__DESC_TEXT(a), branches[0]->name, CBX__DESC_TEXT(b), branches[i]->name);
    }
    return CBX_OK;
}

/* What chooses, as int64; an unsigned number is brought into range before it could wrap. */
static const cbx_array *as_index(cbx_ctx *ctx, const cbx_array *x, size_t n, bool truth)
{
    if (truth) x = cbx__as(ctx, x, CBX_BOOL);
    if (x->desc.dtype == CBX_U64) x = cbx_minimum(ctx, x, cbx_full(ctx, 0, NULL, CBX_U64, cbx_int((int64_t)n - 1)));
    return cbx__as(ctx, x, CBX_I64);
}

static cbx_status choose(cbx_ctx *ctx, const char *what, const cbx_array *index, bool truth, size_t n,
                         const cbx_fn *const *branches, size_t nin, cbx_array *const *in, cbx_array **out)
{
    size_t nout = n ? SIZE_MAX : 0; /* results that every branch has: branches may disagree */
    cbx_array_desc *d = NULL;
    flow w;
    cbx_status st = flow_begin(&w, ctx, what);

    for (size_t i = 0; i < n; i++) {
        const size_t has = branches[i] ? branches[i]->nout : 0;
        if (has < nout) nout = has;
    }
    if (!st) st = branches_check(what, index, n, branches, nin, in, &w.err);
    if (!st && !truth && cbx_dtype_kind(index->desc.dtype) != CBX_KIND_INT)
        st = cbx_fail(&w.err, CBX_EDTYPE, "'%s' takes an integer, not %s", what, cbx_dtype_name(index->desc.dtype));
    if (!st) st = flow_functions(&w, n, nin, &d);
    if (st) return flow_end(&w, st, nout, out);
    for (size_t i = 0; i < nin; i++) d[i] = in[i]->desc;
    for (size_t i = 0; !st && i < n; i++) {
        st = flow_trace(&w, i, branches[i], d);
        if (!st && i > 0) st = branch_check(&w, branches, i, &w.err);
    }
    if (!st) {
        const size_t mark = cbx__mark(ctx);
        st = flow_operands(&w, as_index(ctx, index, n, truth), nin, in, 0, NULL);
        if (!st) cbx__cond_apply(ctx, n, w.graph, w.consts, nin, w.in, out);
        if (!st) cbx__tidy_list(ctx, mark, nout, out);
    }
    return flow_end(&w, st, nout, out);
}

cbx_status cbx_cond(cbx_ctx *ctx, const cbx_array *which, const cbx_fn *yes, const cbx_fn *no, size_t nin,
                    cbx_array *const *in, cbx_array **out)
{
    const cbx_fn *branches[2] = { no, yes };
    return choose(ctx, "cond", which, true, 2, branches, nin, in, out);
}

cbx_status cbx_switch(cbx_ctx *ctx, const cbx_array *index, size_t n, const cbx_fn *const *branches, size_t nin,
                      cbx_array *const *in, cbx_array **out)
{
    return choose(ctx, "switch", index, false, n, branches, nin, in, out);
}
