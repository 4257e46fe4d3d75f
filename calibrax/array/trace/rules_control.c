/* Steps that the rules of control flow share. */
#include "calibrax/array/trace/rules_control.h"

#include <string.h>

void cbx__lists_init(cbx__lists *l, cbx_ctx *ctx)
{
    *l = (cbx__lists){ .ctx = ctx };
    cbx_arena_init(&l->arena, cbx_ctx_allocator(ctx));
}

void *cbx__list_of(cbx__lists *l, size_t n, size_t size)
{
    void *p = cbx_arena_calloc(&l->arena, n + 1, size);
    if (!p && !l->st) l->st = cbx_fail(&l->err, CBX_ENOMEM, "no memory for a derivative of control flow");
    return p;
}

typedef struct cbx__owned {
    struct cbx__owned *next;
    size_t n;
    cbx_array *list[];
} cbx__owned;

cbx_array **cbx__owned_list(cbx__lists *l, size_t n)
{
    cbx__owned *o = cbx__list_of(l, n + sizeof *o / sizeof *o->list, sizeof *o->list);

    if (!o) return NULL;
    o->n = n;
    o->next = l->owned;
    l->owned = o;
    return o->list;
}

void cbx__lists_clear(cbx__lists *l)
{
    if (l->st) cbx__refuse(l->ctx, l->st, "%s", l->err.message);
    cbx_arena_clear(&l->arena);
}

bool cbx__lists_trace(cbx__lists *l, const char *name)
{
    if (!l->st) l->st = cbx__trace_begin(l->ctx, name, true, &l->trace, &l->err);
    if (!l->st) cbx_scope_open(l->ctx, &l->scope);
    return !l->st;
}

void cbx__inputs(cbx__lists *l, const cbx__graph *g, size_t from, size_t end, const bool *chosen, cbx_array **out)
{
    for (size_t i = from; !l->st && i < end; i++)
        if (!chosen || chosen[i]) l->st = cbx__trace_input(&l->trace, cbx__graph_in(g, i), &out[i], &l->err);
}

void cbx__lists_end(cbx__lists *l, size_t nout, cbx_array *const *out, cbx__traced *end)
{
    if (!l->st) l->st = cbx_ctx_pending(l->ctx, &l->err);
    cbx__traced_clear(end);
    l->st = cbx__trace_end(&l->trace, l->st, nout, out, end, &l->err);
    cbx_scope_close(&l->scope, NULL);
    for (cbx__owned *o = l->owned; o; o = o->next) cbx__arrays_free(o->n, o->list);
    if (l->st || end->ncaptured == 0) return;
    /*
     * all that a function of control flow takes is among its inputs, but for what a user's rule
     * reaches out for
     */
    l->st = cbx_fail(&l->err, CBX_EUNSUPPORTED,
                     "a derivative that is used in '%s' uses a traced array from outside: pass it as an operand",
                     end->graph->name);
    cbx__traced_clear(end);
}

void cbx__reorder(cbx__lists *l, cbx__graph *g, const size_t *order)
{
    cbx__vid *old = cbx__list_of(l, g->in.n, sizeof *old);

    if (!old) return;
    memcpy(old, g->in.items, g->in.n * sizeof *old);
    for (size_t i = 0; i < g->in.n; i++) g->in.items[i] = old[order[i]];
}

cbx_status cbx__like_check(const char *name, const char *what, size_t i, const cbx_array *a, const cbx_array_desc *d,
                           cbx_err *err)
{
    if (cbx_array_desc_equal(&a->desc, d)) return CBX_OK;
    return cbx_fail(err, a->desc.dtype == d->dtype ? CBX_ESHAPE : CBX_EDTYPE, "%s %zu of '%s' is %s, it must be %s",
                    what, i, name, CBX__DESC_TEXT(&a->desc), CBX__DESC_TEXT(d));
}

bool cbx__grows(size_t n, bool *known, const bool *found)
{
    bool more = false;

    for (size_t i = 0; i < n; i++) {
        more |= found[i] && !known[i];
        known[i] |= found[i];
    }
    return more;
}

/* ---- values and tangents beside ---- */

size_t cbx__jvp_function(cbx__lists *l, const cbx__graph *g, const cbx__groups *in, const bool *moves,
                         const cbx__groups *out, const bool *forced, bool *out_moves, bool linear, bool values,
                         cbx__traced *end)
{
    cbx_array **x = cbx__owned_list(l, g->in.n), **t = cbx__owned_list(l, g->in.n), **y = cbx__owned_list(l, g->out.n),
              **dy = cbx__owned_list(l, g->out.n), **ends = cbx__array_list(l, 2 * g->out.n);
    size_t n = 0;

    if (!cbx__lists_trace(l, g->name)) return 0;
    for (int k = 0; k < in->n; k++) {
        cbx__inputs(l, g, k ? in->end[k - 1] : 0, in->end[k], NULL, x);
        cbx__inputs(l, g, k ? in->end[k - 1] : 0, in->end[k], moves, t);
    }
    if (!l->st) l->st = cbx__graph_jvp(l->ctx, g, x, t, linear, y, dy, &l->err);
    for (int k = 0; !l->st && k < out->n; k++) {
        const size_t from = k ? out->end[k - 1] : 0;
        for (size_t i = from; values && i < out->end[k]; i++) ends[n++] = y[i];
        for (size_t i = from; i < out->end[k]; i++) {
            out_moves[i] = dy[i] || (forced && forced[i]);
            if (out_moves[i]) ends[n++] = cbx__some(l->ctx, dy[i], cbx__graph_out(g, i));
        }
    }
    cbx__lists_end(l, n, ends, end);
    return n;
}

size_t cbx__put_operands(const cbx__jvp *r, size_t from, size_t end, const bool *moves, cbx_array **out)
{
    size_t n = 0;

    for (size_t i = from; i < end; i++) out[n++] = r->in[i];
    for (size_t i = from; i < end; i++)
        if (moves ? moves[i] : r->t[i] != NULL) out[n++] = cbx__some(r->ctx, r->t[i], &r->in[i]->desc);
    return n;
}

void cbx__take_results(cbx__jvp *r, const cbx__groups *out, const bool *moves, cbx_array *const *results)
{
    for (int k = 0; k < out->n; k++) {
        const size_t from = k ? out->end[k - 1] : 0;
        for (size_t i = from; i < out->end[k]; i++) r->out[i] = *results++;
        for (size_t i = from; i < out->end[k]; i++)
            if (moves[i]) r->dt[i] = *results++;
    }
}

size_t cbx__linearize_function(cbx__lists *l, const cbx__graph *g, const bool *moves, const bool *forced,
                               const bool *direct, bool *out_moves, cbx__traced *values, cbx__traced *map, size_t **res)
{
    cbx_array **in = cbx__owned_list(l, g->in.n), **out = cbx__owned_list(l, g->out.n), **ends;
    size_t more = 0;

    cbx__traced_clear(map);
    if (!cbx__lists_trace(l, g->name)) return 0;
    cbx__inputs(l, g, 0, g->in.n, NULL, in);
    if (!l->st) l->st = cbx__graph_linearize(l->ctx, g, in, moves, forced, out, map, out_moves, &l->err);
    *res = cbx__list_of(l, map->ncaptured, sizeof **res);
    ends = cbx__array_list(l, g->out.n + map->ncaptured);
    if (!l->st) memcpy(ends, out, g->out.n * sizeof *ends);
    for (size_t k = 0; !l->st && k < map->ncaptured; k++) {
        const cbx_array *a = map->captured[k];
        size_t i = 0;
        while (i < g->in.n && !(direct && direct[i] && in[i]->trace == a->trace && in[i]->value == a->value)) i++;
        (*res)[k] = i < g->in.n ? i : g->in.n + more;
        if (i == g->in.n) ends[g->out.n + more++] = map->captured[k];
    }
    cbx__lists_end(l, g->out.n + more, ends, values);
    return more;
}

/* ---- a batch beside ---- */

cbx_array *cbx__spread(cbx_ctx *ctx, cbx_array *a, bool mapped, size_t length)
{
    size_t shape[CBX_MAX_RANK];

    if (mapped || cbx_array_is_failed(a)) return a;
    if (a->desc.ndim == CBX_MAX_RANK)
        return cbx__refuse(ctx, CBX_EINVAL, "an array of %d axes has none left for a batch", CBX_MAX_RANK);
    shape[0] = length;
    memcpy(shape + 1, a->desc.shape, (size_t)a->desc.ndim * sizeof *shape);
    return cbx__to_shape(ctx, a, a->desc.ndim + 1, shape);
}

void cbx__batch_function(cbx__lists *l, const cbx__graph *g, size_t length, const bool *mapped, const bool *forced,
                         bool *out_mapped, cbx__traced *end)
{
    cbx_array **in = cbx__owned_list(l, g->in.n), **out = cbx__owned_list(l, g->out.n),
              **ends = cbx__array_list(l, g->out.n);

    if (!cbx__lists_trace(l, g->name)) return;
    for (size_t i = 0; !l->st && i < g->in.n; i++) {
        cbx_array_desc d;
        if (mapped[i])
            l->st = cbx__stacked_desc("a batch", length, cbx__graph_in(g, i), &d, &l->err);
        else
            d = *cbx__graph_in(g, i);
        if (!l->st) l->st = cbx__trace_input(&l->trace, &d, &in[i], &l->err);
    }
    if (!l->st) l->st = cbx__graph_batch(l->ctx, g, length, in, mapped, out, out_mapped, &l->err);
    for (size_t i = 0; !l->st && i < g->out.n; i++) {
        ends[i] = forced && forced[i] ? cbx__spread(l->ctx, out[i], out_mapped[i], length) : out[i];
        out_mapped[i] |= forced && forced[i];
    }
    cbx__lists_end(l, g->out.n, ends, end);
}

cbx_array *cbx__widened(cbx_ctx *ctx, const cbx_array *truth, const cbx_array *x)
{
    size_t shape[CBX_MAX_RANK];

    for (int i = 0; i < x->desc.ndim; i++) shape[i] = i ? 1 : truth->desc.shape[0];
    return cbx__reshaped(ctx, truth, x->desc.ndim, shape);
}
