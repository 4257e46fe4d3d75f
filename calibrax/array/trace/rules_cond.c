/*
 * Derivatives and batches of branches.  Operands are the index, constants of each branch, and what
 * all of them take.
 */
#include <string.h>

#include "calibrax/array/trace/rules_control.h"

typedef struct cond {
    const cbx__control *s;
    size_t n, nin, nout, first_in, *first; /* first: of the constants of each branch */
    cbx__traced *made;                     /* by branch: what it becomes; then its values, and its linear map */
    cbx__graph **graph;
    size_t *consts;
} cond;

static void cond_init(cond *k, cbx__lists *l, const cbx_attrs *attrs, size_t nin)
{
    *k = (cond){ .s = cbx__control_of(attrs) };
    k->n = k->s->n;
    k->nout = k->s->graph[0]->out.n;
    k->first = cbx__list_of(l, k->n, sizeof *k->first);
    k->made = cbx__list_of(l, 3 * k->n, sizeof *k->made);
    k->graph = cbx__list_of(l, k->n, sizeof *k->graph);
    k->consts = cbx__list_of(l, k->n, sizeof *k->consts);
    k->first_in = 1;
    for (size_t b = 0; !l->st && b < k->n; b++) {
        k->first[b] = k->first_in;
        k->first_in += k->s->consts[b];
    }
    k->nin = nin - k->first_in;
}

static void made_branch(cond *k, size_t b, size_t consts)
{
    k->graph[b] = k->made[b].graph;
    k->consts[b] = consts;
}

static void cond_clear(cond *k)
{
    for (size_t b = 0; k->made && b < 3 * k->n; b++) cbx__traced_clear(&k->made[b]);
}

/* What belongs to input i of branch b among what belongs to the operands. */
#define OF_BRANCH(list, b, i) ((list)[(i) < k.s->consts[b] ? k.first[b] + (i) : k.first_in + (i)-k.s->consts[b]])

static void forward(cbx__jvp *r)
{
    bool again = true;
    size_t n = 0;
    CBX_SCOPED(cbx__lists, l, r->ctx);
    CBX_SCOPED(cond, k, &l, r->attrs, r->nin);
    const cbx__groups out = { 1, { k.nout } };
    bool *wanted = cbx__flag_list(&l, r->nin), *moves = cbx__flag_list(&l, k.nout), *found = cbx__flag_list(&l, k.nout);
    cbx_array **operands = cbx__array_list(&l, 2 * r->nin), **results = cbx__array_list(&l, 2 * k.nout);

    while (again && !l.st) {
        again = false;
        for (size_t b = 0; !l.st && b < k.n; b++) {
            const cbx__graph *g = k.s->graph[b];
            const cbx__groups in = { 2, { k.s->consts[b], g->in.n } };
            for (size_t i = 0; i < g->in.n; i++) wanted[i] = OF_BRANCH(r->t, b, i) != NULL;
            cbx__jvp_function(&l, g, &in, wanted, &out, moves, found, false, true, &k.made[b]);
            if (!l.st) again |= cbx__grows(k.nout, moves, found) && k.n > 1;
        }
    }
    if (l.st) return;
    operands[n++] = r->in[0];
    for (size_t b = 0; b < k.n; b++) {
        made_branch(&k, b, cbx__put_operands(r, k.first[b], k.first[b] + k.s->consts[b], NULL, operands + n));
        n += k.consts[b];
    }
    cbx__cond_apply(r->ctx, k.n, k.graph, k.consts, cbx__put_operands(r, k.first_in, r->nin, NULL, operands + n),
                    operands, results);
    cbx__take_results(r, &out, moves, results);
}

/* A branch that gives the residuals of all: its own at their place, zeros elsewhere. */
static void pad_residuals(cbx__lists *l, cond *k, size_t b, const cbx__traced *primal, size_t nres,
                          const cbx_array_desc *d, size_t own, size_t count)
{
    const cbx__graph *g = primal->graph;
    cbx_array **in = cbx__owned_list(l, g->in.n), **out = cbx__owned_list(l, g->out.n);
    cbx_array **ends = cbx__array_list(l, k->nout + nres);

    if (!cbx__lists_trace(l, g->name)) return;
    cbx__inputs(l, g, 0, g->in.n, NULL, in);
    if (!l->st) l->st = cbx__graph_eval(l->ctx, g, in, out, &l->err);
    for (size_t i = 0; !l->st && i < k->nout; i++) ends[i] = out[i];
    for (size_t i = 0; !l->st && i < nres; i++)
        ends[k->nout + i] = i >= own && i < own + count ? out[k->nout + i - own] : cbx__zeros_of(l->ctx, &d[i]);
    cbx__lists_end(l, k->nout + nres, ends, &k->made[b]);
}

/*
 * Values by one cond, which also gives what the linear map of its branch needs; the maps by
 * another.
 */
static void split(cbx__jvp *r)
{
    bool again = true;
    size_t nres = 0, n = 0;
    CBX_SCOPED(cbx__lists, l, r->ctx);
    CBX_SCOPED(cond, k, &l, r->attrs, r->nin);
    if (l.st) return;
    const size_t nout = k.nout;
    bool *moves = cbx__flag_list(&l, nout), *found = cbx__flag_list(&l, nout), *wanted = cbx__flag_list(&l, r->nin);
    cbx_array **operands, **results;
    cbx__traced *primal = k.made + k.n, *map = primal + k.n;
    size_t *own = cbx__list_of(&l, k.n, sizeof *own), *res;
    cbx_array_desc *d = NULL;

    while (again && !l.st) {
        again = false;
        for (size_t b = 0; !l.st && b < k.n; b++) {
            const cbx__graph *g = k.s->graph[b];
            for (size_t i = 0; i < g->in.n; i++) wanted[i] = OF_BRANCH(r->t, b, i) != NULL;
            cbx__linearize_function(&l, g, wanted, moves, NULL, found, &primal[b], &map[b], &res);
            if (!l.st) again |= cbx__grows(nout, moves, found) && k.n > 1;
        }
    }
    for (size_t b = 0; !l.st && b < k.n; b++) {
        own[b] = nres;
        nres += map[b].ncaptured;
    }
    d = cbx__list_of(&l, nres, sizeof *d);
    for (size_t b = 0; !l.st && b < k.n; b++)
        for (size_t i = 0; i < map[b].ncaptured; i++) d[own[b] + i] = *cbx__graph_out(primal[b].graph, nout + i);
    for (size_t b = 0; !l.st && b < k.n; b++) pad_residuals(&l, &k, b, &primal[b], nres, d, own[b], map[b].ncaptured);
    operands = cbx__array_list(&l, r->nin + nres);
    results = cbx__array_list(&l, nout + nres);
    if (l.st) return;
    for (size_t b = 0; b < k.n; b++) made_branch(&k, b, k.s->consts[b]);
    cbx__cond_apply(r->ctx, k.n, k.graph, k.consts, k.nin, r->in, results);
    for (size_t i = 0; i < nout; i++) r->out[i] = results[i];

    /*
     * inputs of a map: tangents of its constants and of in, residuals; as a branch: tangents of
     * constants, residuals, tangents of in
     */
    operands[n++] = r->in[0];
    for (size_t b = 0; !l.st && b < k.n; b++) {
        const cbx__graph *g = k.s->graph[b];
        size_t *order = cbx__list_of(&l, map[b].graph->in.n, sizeof *order), of_consts = 0, at = 0;
        if (l.st) break;
        for (size_t i = 0; i < k.s->consts[b]; i++)
            if (OF_BRANCH(r->t, b, i)) operands[n++] = OF_BRANCH(r->t, b, i), order[at++] = of_consts++;
        size_t tangents = of_consts;
        for (size_t i = k.s->consts[b]; i < g->in.n; i++) tangents += OF_BRANCH(r->t, b, i) != NULL;
        for (size_t i = 0; i < map[b].ncaptured; i++)
            operands[n++] = results[nout + own[b] + i], order[at++] = tangents + i;
        for (size_t i = of_consts; i < tangents; i++) order[at++] = i;
        cbx__reorder(&l, map[b].graph, order);
        k.graph[b] = map[b].graph;
        k.consts[b] = of_consts + map[b].ncaptured;
    }
    const size_t before = n;
    for (size_t i = k.first_in; i < r->nin; i++)
        if (r->t[i]) operands[n++] = r->t[i];
    if (!l.st) cbx__cond_apply(r->ctx, k.n, k.graph, k.consts, n - before, operands, results);
    n = 0;
    for (size_t i = 0; !l.st && i < nout; i++)
        if (moves[i]) r->dt[i] = results[n++];
}

void cbx__jvp_cond(cbx__jvp *r) { (r->linear ? split : forward)(r); }

/*
 * Each branch gives cotangents of the linear constants of all branches, zeros for those of others,
 * then those of in.
 */
void cbx__transpose_cond(cbx__transpose *r)
{
    size_t n = 0, nct = 0;
    CBX_SCOPED(cbx__lists, l, r->ctx);
    CBX_SCOPED(cond, k, &l, r->attrs, r->nin);
    cbx_array **known = cbx__owned_list(&l, r->nin), **ct = cbx__owned_list(&l, r->nout),
              **din = cbx__owned_list(&l, r->nin), **ends = cbx__array_list(&l, r->nin);
    cbx_array **operands = cbx__array_list(&l, r->nin + r->nout), **results = cbx__array_list(&l, r->nin);

    for (size_t b = 0; !l.st && b < k.n; b++) {
        const cbx__graph *g = k.s->graph[b];
        size_t consts = 0;
        if (!cbx__lists_trace(&l, g->name)) break;
        for (size_t i = 0; i < g->in.n; i++) {
            if (!OF_BRANCH(r->in, b, i)) continue;
            cbx__inputs(&l, g, i, i + 1, NULL, known);
            consts += i < k.s->consts[b];
        }
        for (size_t i = 0; !l.st && i < r->nout; i++)
            if (r->ct[i]) l.st = cbx__trace_input(&l.trace, cbx__graph_out(g, i), &ct[i], &l.err);
        if (!l.st) l.st = cbx__graph_transpose(r->ctx, g, known, ct, din, &l.err);
        n = 0;
        for (size_t i = 1; !l.st && i < r->nin; i++) {
            const bool mine = i >= k.first_in || (i >= k.first[b] && i < k.first[b] + k.s->consts[b]);
            const size_t at = i >= k.first_in ? i - k.first_in + k.s->consts[b] : i - k.first[b];
            if (!r->in[i]) ends[n++] = cbx__some(r->ctx, mine ? din[at] : NULL, r->desc[i]);
        }
        cbx__lists_end(&l, n, ends, &k.made[b]);
        if (!l.st) made_branch(&k, b, consts);
    }
    if (l.st) return;
    n = 0;
    for (size_t i = 0; i < r->nin; i++)
        if (r->in[i]) operands[n++] = r->in[i], nct += i >= k.first_in;
    for (size_t i = 0; i < r->nout; i++)
        if (r->ct[i]) operands[n++] = r->ct[i], nct++;
    cbx__cond_apply(r->ctx, k.n, k.graph, k.consts, nct, operands, results);
    n = 0;
    for (size_t i = 1; i < r->nin; i++)
        if (!r->in[i]) r->din[i] = results[n++];
}

/*
 * One index for all: a cond of branches over the batch.  An index for each: every branch is
 * computed, and the results chosen from.
 */
void cbx__batch_cond(cbx__batch *r)
{
    CBX_SCOPED(cbx__lists, l, r->ctx);
    CBX_SCOPED(cond, k, &l, r->attrs, r->nin);
    bool *mapped = cbx__flag_list(&l, r->nin), *forced = cbx__flag_list(&l, k.nout),
         *found = cbx__flag_list(&l, k.nout);
    cbx_array **in = cbx__array_list(&l, r->nin), **out = cbx__array_list(&l, k.nout);

    if (l.st) return;
    memset(forced, true, k.nout * sizeof *forced);
    for (size_t b = 0; !l.st && b < k.n; b++) {
        const cbx__graph *g = k.s->graph[b];
        for (size_t i = 0; i < g->in.n; i++) {
            mapped[i] = OF_BRANCH(r->mapped, b, i);
            in[i] = OF_BRANCH(r->in, b, i);
        }
        if (!r->mapped[0]) {
            memset(found, 0, k.nout * sizeof *found);
            cbx__batch_function(&l, g, r->length, mapped, forced, found, &k.made[b]);
            if (!l.st) made_branch(&k, b, k.s->consts[b]);
            continue;
        }
        l.st = cbx__graph_batch(r->ctx, g, r->length, in, mapped, out, found, &l.err);
        for (size_t i = 0; !l.st && i < k.nout; i++) {
            cbx_array *y = cbx__spread(r->ctx, cbx_scope_hold(r->ctx, out[i]), found[i], r->length);
            if (b)
                y = cbx_where(r->ctx, cbx__widened(r->ctx, cbx_greater_equal_scalar(r->ctx, r->in[0], (double)b), y), y,
                              r->out[i]);
            r->out[i] = y;
            out[i] = NULL;
        }
    }
    if (!l.st && !r->mapped[0]) cbx__cond_apply(r->ctx, k.n, k.graph, k.consts, k.nin, r->in, r->out);
}
