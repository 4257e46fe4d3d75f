/* Steps that the rules of control flow share. */
#include "calibrax/array/trace/rules_control.h"

#include <string.h>

void cbx__lists_open(cbx__lists *l, cbx_ctx *ctx)
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
void cbx__lists_close(cbx__lists *l)
{
    if (l->st) cbx__refuse(l->ctx, l->st, "%s", l->err.message);
    cbx_arena_clear(&l->arena);
}

void cbx__inputs(cbx__lists *l, cbx__trace *t, const cbx__graph *g, size_t from, size_t n, const bool *chosen,
                 cbx_array **out)
{
    for (size_t i = from; !l->st && i < from + n; i++)
        if (!chosen || chosen[i]) l->st = cbx__trace_input(t, cbx__graph_in(g, i), &out[i], &l->err);
}

void cbx__lists_end(cbx__lists *l, cbx__trace *t, cbx_scope *scope, size_t nout, cbx_array *const *out,
                    cbx__traced *end)
{
    if (!l->st) l->st = cbx_ctx_pending(l->ctx, &l->err);
    l->st = cbx__trace_end(t, l->st, nout, out, end, &l->err);
    cbx_scope_close(scope, NULL);
    if (l->st || end->ncaptured == 0) return;
    /*
     * all that a function of control flow takes is among its inputs, but for what a user's rule
     * reaches out for
     */
    l->st = cbx_fail(&l->err, CBX_EUNSUPPORTED,
                     "a derivative that is used in '%s' uses a traced array from outside: pass it as an operand",
                     end->graph->name);
    cbx__traced_clear(l->ctx, end);
}

void cbx__reorder(cbx__lists *l, cbx__graph *g, const size_t *order)
{
    cbx__vid *old = cbx__list_of(l, g->in.n, sizeof *old);

    if (!old) return;
    memcpy(old, g->in.items, g->in.n * sizeof *old);
    for (size_t i = 0; i < g->in.n; i++) g->in.items[i] = old[order[i]];
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
    cbx_array **in = cbx__list_of(l, g->in.n, sizeof *in), **out = cbx__list_of(l, 2 * g->out.n, sizeof *out),
              **ends = out + g->out.n;
    cbx__trace trace;
    cbx_scope scope;

    if (!l->st) l->st = cbx__trace_begin(l->ctx, g->name, true, &trace, &l->err);
    if (l->st) return;
    cbx_scope_open(l->ctx, &scope);
    for (size_t i = 0; !l->st && i < g->in.n; i++) {
        cbx_array_desc d;
        if (mapped[i])
            l->st = cbx__stacked_desc("a batch", length, cbx__graph_in(g, i), &d, &l->err);
        else
            d = *cbx__graph_in(g, i);
        if (!l->st) l->st = cbx__trace_input(&trace, &d, &in[i], &l->err);
    }
    if (!l->st) l->st = cbx__graph_batch(l->ctx, g, length, in, mapped, out, out_mapped, &l->err);
    for (size_t i = 0; !l->st && i < g->out.n; i++) {
        ends[i] = forced && forced[i] ? cbx__spread(l->ctx, out[i], out_mapped[i], length) : out[i];
        out_mapped[i] |= forced && forced[i];
    }
    cbx__lists_end(l, &trace, &scope, g->out.n, ends, end);
    cbx__arrays_free(g->in.n, in);
    cbx__arrays_free(g->out.n, out);
}

cbx_array *cbx__widened(cbx_ctx *ctx, const cbx_array *truth, const cbx_array *x)
{
    size_t shape[CBX_MAX_RANK];

    for (int i = 0; i < x->desc.ndim; i++) shape[i] = i ? 1 : truth->desc.shape[0];
    return cbx__reshaped(ctx, truth, x->desc.ndim, shape);
}
