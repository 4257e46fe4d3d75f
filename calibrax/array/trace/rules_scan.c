/*
 * Derivatives and batches of scans.
 *
 * Forward mode carries tangents beside values in one loop.  Reverse mode needs two: the first
 * computes the values and keeps what the linear map of each step captures of them (its residuals,
 * stacked), the second is that linear map, which is transposed into a loop in the other direction.
 */
#include <string.h>

#include "calibrax/array/trace/rules_control.h"

/* ---- forward ---- */

static void forward(cbx__jvp *r)
{
    const cbx__control *s = cbx__control_of(r->attrs);
    const cbx__graph *body = s->graph[CBX__SCAN_BODY];
    const size_t nin = body->in.n, nout = body->out.n, first = s->consts[0], nc = s->ncarry;
    const cbx__groups in = { 3, { first, first + nc, nin } }, out = { 2, { nc, nout } };
    bool again = true;
    CBX_CLEARED(cbx__traced) both = { 0 };
    size_t n = 0, counts[3];

    CBX_SCOPED(cbx__lists, l, r->ctx);
    bool *moves = cbx__flag_list(&l, nin), *forced = cbx__flag_list(&l, nout), *out_moves = cbx__flag_list(&l, nout);
    cbx_array **operands = cbx__array_list(&l, 2 * nin), **results = cbx__array_list(&l, 2 * nout);

    for (size_t i = 0; !l.st && i < nin; i++) moves[i] = r->t[i] != NULL;
    while (again && !l.st) {
        memcpy(forced, moves + first, nc * sizeof *forced);
        cbx__jvp_function(&l, body, &in, moves, &out, forced, out_moves, false, true, &both);
        again = !l.st && cbx__grows(nc, moves + first, out_moves);
    }
    if (l.st) return;
    for (int k = 0; k < in.n; n += counts[k++])
        counts[k] = cbx__put_operands(r, k ? in.end[k - 1] : 0, in.end[k], moves, operands + n);
    cbx__scan_apply(r->ctx, both.graph, counts[0], counts[1], counts[2], s->length, s->reverse, operands, results);
    cbx__take_results(r, &out, out_moves, results);
}

/* ---- split into values and a linear map ---- */

static void split(cbx__jvp *r)
{
    const cbx__control *s = cbx__control_of(r->attrs);
    const cbx__graph *body = s->graph[CBX__SCAN_BODY];
    const size_t nin = body->in.n, nout = body->out.n, first = s->consts[0], nc = s->ncarry, first_x = first + nc;
    bool again = true;

    CBX_SCOPED(cbx__lists, l, r->ctx);
    bool *moves = cbx__flag_list(&l, nin), *direct = cbx__flag_list(&l, nin), *forced = cbx__flag_list(&l, nout),
         *out_moves = cbx__flag_list(&l, nout);
    cbx_array **operands, **results;
    CBX_CLEARED(cbx__traced) primal = { 0 }, map = { 0 };
    size_t *res = NULL, *order, *place = cbx__list_of(&l, nin, sizeof *place), extra = 0, n = 0, tangents = 0,
           counts[3];

    for (size_t i = 0; !l.st && i < nin; i++) {
        moves[i] = r->t[i] != NULL;
        direct[i] = i < first || i >= first_x;
    }
    while (again && !l.st) {
        memcpy(forced, moves + first, nc * sizeof *forced);
        extra = cbx__linearize_function(&l, body, moves, forced, direct, out_moves, &primal, &map, &res);
        again = !l.st && cbx__grows(nc, moves + first, out_moves);
    }
    const size_t nres = map.ncaptured;
    results = cbx__array_list(&l, nout + extra);
    operands = cbx__array_list(&l, nin + nres);
    order = cbx__list_of(&l, nin + nres, sizeof *order);
    if (l.st) return;
    cbx__scan_apply(r->ctx, primal.graph, first, nc, s->nxs, s->length, s->reverse, r->in, results);
    memcpy(r->out, results, nout * sizeof *results);

    /*
     * the inputs of the map are tangents that move, then residuals; a scan takes constants, carry
     * and xs in this order
     */
    for (size_t i = 0; i < nin; i++) place[i] = moves[i] ? tangents++ : 0;
    for (size_t k = 0; k < nres; k++)
        if (res[k] < first) order[n] = tangents + k, operands[n++] = r->in[res[k]];
    for (size_t i = 0; i < first; i++)
        if (moves[i]) order[n] = place[i], operands[n++] = r->t[i];
    counts[0] = n;
    for (size_t i = first; i < first_x; i++)
        if (moves[i]) order[n] = place[i], operands[n++] = cbx__some(r->ctx, r->t[i], &r->in[i]->desc);
    counts[1] = n - counts[0];
    for (size_t k = 0; k < nres; k++)
        if (res[k] >= first)
            order[n] = tangents + k, operands[n++] = res[k] < nin ? r->in[res[k]] : results[nout + res[k] - nin];
    for (size_t i = first_x; i < nin; i++)
        if (moves[i]) order[n] = place[i], operands[n++] = r->t[i];
    counts[2] = n - counts[0] - counts[1];
    cbx__reorder(&l, map.graph, order);
    if (l.st) return;
    cbx__scan_apply(r->ctx, map.graph, counts[0], counts[1], counts[2], s->length, s->reverse, operands, results);
    n = 0;
    for (size_t i = 0; i < nout; i++)
        if (out_moves[i]) r->dt[i] = results[n++];
}

void cbx__jvp_scan(cbx__jvp *r) { (r->linear ? split : forward)(r); }

void cbx__transpose_scan(cbx__transpose *r)
{
    const cbx__control *s = cbx__control_of(r->attrs);
    const cbx__graph *map = s->graph[CBX__SCAN_BODY];
    const size_t nin = map->in.n, nout = map->out.n, first = s->consts[0], nc = s->ncarry, first_x = first + nc;
    size_t n = 0, nends = 0, counts[3] = { 0 };
    CBX_CLEARED(cbx__traced) back = { 0 };

    CBX_SCOPED(cbx__lists, l, r->ctx);
    cbx_array **known = cbx__owned_list(&l, nin), **ct = cbx__owned_list(&l, nout), **sums = cbx__owned_list(&l, nin),
              **din = cbx__owned_list(&l, nin);
    cbx_array **ends = cbx__array_list(&l, nin), **operands = cbx__array_list(&l, nin + nout + nin),
              **results = cbx__array_list(&l, nin);
    bool *linear = cbx__flag_list(&l, nin);
    if (!cbx__lists_trace(&l, map->name)) return;
    for (size_t i = 0; i < nin; i++) linear[i] = !r->in[i] || (i >= first && i < first_x);
    /*
     * constants: the known ones; carry: cotangents of the carry, sums for linear constants; xs:
     * known ones, cotangents of ys
     */
    for (size_t i = 0; i < first; i++)
        if (!linear[i]) cbx__inputs(&l, map, i, i + 1, NULL, known);
    for (size_t i = 0; !l.st && i < nc; i++) l.st = cbx__trace_input(&l.trace, cbx__graph_out(map, i), &ct[i], &l.err);
    for (size_t i = 0; i < first; i++)
        if (linear[i]) cbx__inputs(&l, map, i, i + 1, NULL, sums);
    for (size_t i = first_x; i < nin; i++)
        if (!linear[i]) cbx__inputs(&l, map, i, i + 1, NULL, known);
    for (size_t i = nc; !l.st && i < nout; i++)
        if (r->ct[i]) l.st = cbx__trace_input(&l.trace, cbx__graph_out(map, i), &ct[i], &l.err);
    if (!l.st) l.st = cbx__graph_transpose(r->ctx, map, known, ct, din, &l.err);
    for (size_t i = first; !l.st && i < first_x; i++) ends[nends++] = cbx__some(r->ctx, din[i], cbx__graph_in(map, i));
    for (size_t i = 0; !l.st && i < first; i++)
        if (linear[i]) ends[nends++] = din[i] ? cbx_add(r->ctx, sums[i], din[i]) : sums[i];
    for (size_t i = first_x; !l.st && i < nin; i++)
        if (linear[i]) ends[nends++] = cbx__some(r->ctx, din[i], cbx__graph_in(map, i));
    cbx__lists_end(&l, nends, ends, &back);
    if (l.st) return;

    for (size_t i = 0; i < first; i++)
        if (!linear[i]) operands[n++] = r->in[i];
    counts[0] = n;
    for (size_t i = 0; i < nc; i++) operands[n++] = cbx__some(r->ctx, r->ct[i], cbx__graph_out(map, i));
    for (size_t i = 0; i < first; i++)
        if (linear[i]) operands[n++] = cbx__zeros_of(r->ctx, r->desc[i]);
    counts[1] = n - counts[0];
    for (size_t i = first_x; i < nin; i++)
        if (!linear[i]) operands[n++] = r->in[i];
    for (size_t i = nc; i < nout; i++)
        if (r->ct[i]) operands[n++] = r->ct[i];
    counts[2] = n - counts[0] - counts[1];
    cbx__scan_apply(r->ctx, back.graph, counts[0], counts[1], counts[2], s->length, !s->reverse, operands, results);
    n = 0;
    for (size_t i = first; i < first_x; i++) r->din[i] = results[n++];
    for (size_t i = 0; i < first; i++)
        if (linear[i]) r->din[i] = results[n++];
    for (size_t i = first_x; i < nin; i++)
        if (linear[i]) r->din[i] = results[n++];
}

void cbx__batch_scan(cbx__batch *r)
{
    const cbx__control *s = cbx__control_of(r->attrs);
    const cbx__graph *body = s->graph[CBX__SCAN_BODY];
    const size_t nin = body->in.n, nout = body->out.n, first = s->consts[0], nc = s->ncarry, first_x = first + nc;
    bool again = true;
    CBX_CLEARED(cbx__traced) all = { 0 };

    CBX_SCOPED(cbx__lists, l, r->ctx);
    bool *mapped = cbx__flag_list(&l, nin), *forced = cbx__flag_list(&l, nout);
    cbx_array **operands = cbx__array_list(&l, nin);
    if (l.st) return;
    memcpy(mapped, r->mapped, nin * sizeof *mapped);
    while (again && !l.st) {
        memcpy(forced, mapped + first, nc * sizeof *forced);
        cbx__batch_function(&l, body, r->length, mapped, forced, r->out_mapped, &all);
        again = !l.st && cbx__grows(nc, mapped + first, r->out_mapped);
    }
    if (l.st) return;
    for (size_t i = 0; i < nin; i++) {
        operands[i] = r->in[i];
        if (i >= first && i < first_x && mapped[i])
            operands[i] = cbx__spread(r->ctx, r->in[i], r->mapped[i], r->length);
        if (i >= first_x && mapped[i]) operands[i] = cbx_moveaxis(r->ctx, r->in[i], 0, 1);
    }
    cbx__scan_apply(r->ctx, all.graph, first, nc, s->nxs, s->length, s->reverse, operands, r->out);
    for (size_t i = nc; i < nout; i++)
        if (r->out_mapped[i]) r->out[i] = cbx_moveaxis(r->ctx, r->out[i], 1, 0);
}
