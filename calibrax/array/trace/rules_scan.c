/*
 * Derivatives and batches of scans.
 *
 * Forward mode carries tangents beside values in one loop.  Reverse mode needs two: the first
 * computes the values and keeps what the linear map of each step captures of them (its residuals,
 * stacked), the second is that linear map, which is transposed into a loop in the other direction.
 */
#include <string.h>

#include "calibrax/array/trace/rules_control.h"

static void linearize_scan(cbx__jvp *r);

/* ---- scan, forward ---- */

void cbx__jvp_scan(cbx__jvp *r)
{
    const cbx__control *s = cbx__control_of(r->attrs);
    const cbx__graph *body = s->graph[CBX__SCAN_BODY];
    const size_t nin = body->in.n, nout = body->out.n, first = s->consts[0], nxs = s->nxs, nc = s->ncarry;
    cbx__lists l;

    if (r->linear) {
        linearize_scan(r);
        return;
    }
    cbx__lists_open(&l, r->ctx);
    bool *moves = cbx__flag_list(&l, nin), *out_moves = cbx__flag_list(&l, nout), again = true;
    cbx_array **in = cbx__array_list(&l, nin), **t = cbx__array_list(&l, nin), **out = cbx__array_list(&l, 2 * nout),
              **dt, **ends = cbx__array_list(&l, 2 * nout);
    cbx_array **operands = cbx__array_list(&l, 2 * nin);
    cbx__traced both = { 0 };
    size_t nends = 0, n = 0, counts[3] = { 0 };

    if (l.st) goto done;
    dt = out + nout;
    for (size_t i = 0; i < nin; i++) moves[i] = r->t[i] != NULL;
    while (again && !l.st) {
        cbx__trace trace;
        cbx_scope scope;
        cbx__traced_clear(r->ctx, &both);
        l.st = cbx__trace_begin(r->ctx, body->name, true, &trace, &l.err);
        if (l.st) break;
        cbx_scope_open(r->ctx, &scope);
        /* each group of operands, and behind it its tangents */
        for (int k = 0; k < 3; k++) {
            const size_t from = k == 0 ? 0 : k == 1 ? first : first + nc, many = k == 0 ? first : k == 1 ? nc : nxs;
            cbx__inputs(&l, &trace, body, from, many, NULL, in);
            cbx__inputs(&l, &trace, body, from, many, moves, t);
        }
        if (!l.st) l.st = cbx__graph_jvp(r->ctx, body, in, t, false, out, dt, &l.err);
        nends = 0;
        for (size_t i = 0; !l.st && i < nout; i++) {
            out_moves[i] = dt[i] != NULL;
            if (i < nc) out_moves[i] |= moves[first + i];
        }
        for (int k = 0; !l.st && k < 2; k++) {
            const size_t from = k ? nc : 0, to = k ? nout : nc;
            for (size_t i = from; i < to; i++) ends[nends++] = out[i];
            for (size_t i = from; i < to; i++)
                if (out_moves[i]) ends[nends++] = cbx__some(r->ctx, dt[i], cbx__graph_out(body, i));
        }
        cbx__lists_end(&l, &trace, &scope, nends, ends, &both);
        cbx__arrays_free(nin, in);
        cbx__arrays_free(nin, t);
        cbx__arrays_free(2 * nout, out);
        again = !l.st && cbx__grows(nc, moves + first, out_moves);
    }
    if (l.st) goto done;
    for (int k = 0; k < 3; k++) {
        const size_t from = k == 0 ? 0 : k == 1 ? first : first + nc, many = k == 0 ? first : k == 1 ? nc : nxs;
        const size_t before = n;
        for (size_t i = from; i < from + many; i++) operands[n++] = r->in[i];
        for (size_t i = from; i < from + many; i++)
            if (moves[i]) operands[n++] = cbx__some(r->ctx, r->t[i], &r->in[i]->desc);
        counts[k] = n - before;
    }
    cbx__scan_apply(r->ctx, both.graph, counts[0], counts[1], counts[2], s->length, s->reverse, operands, ends);
    n = 0;
    for (int k = 0; k < 2; k++) {
        const size_t from = k ? nc : 0, to = k ? nout : nc;
        for (size_t i = from; i < to; i++) r->out[i] = ends[n++];
        for (size_t i = from; i < to; i++)
            if (out_moves[i]) r->dt[i] = ends[n++];
    }
done:
    cbx__traced_clear(r->ctx, &both);
    cbx__lists_close(&l);
}

/* ---- scan, split into values and a linear map ---- */

/*
 * Where a residual of a step comes from: an operand of the primal body, or a result that is added
 * to it.
 */
typedef struct residual {
    bool is_const, is_x;
    size_t at;
} residual;

/* The number of a traced input among in[0..n-1]; n if it is not among them. */
static size_t input_number(const cbx_array *a, size_t n, cbx_array *const *in)
{
    size_t i = 0;
    while (i < n && !(in[i] && in[i]->trace == a->trace && in[i]->value == a->value)) i++;
    return i;
}

static void linearize_scan(cbx__jvp *r)
{
    const cbx__control *s = cbx__control_of(r->attrs);
    const cbx__graph *body = s->graph[CBX__SCAN_BODY];
    const size_t nin = body->in.n, nout = body->out.n, first = s->consts[0], nc = s->ncarry, first_x = first + nc;
    bool again = true;
    cbx__lists l;

    cbx__lists_open(&l, r->ctx);
    bool *moves = cbx__flag_list(&l, nin), *forced = cbx__flag_list(&l, nout), *out_moves = cbx__flag_list(&l, nout);
    cbx_array **in = cbx__array_list(&l, nin), **out = cbx__array_list(&l, nout), **ends = NULL, **operands, **results;
    cbx__traced primal = { 0 }, map = { 0 };
    residual *res = NULL;
    size_t *order, nres = 0, extra = 0, n = 0;

    if (l.st) goto done;
    for (size_t i = 0; i < nin; i++) moves[i] = r->t[i] != NULL;
    while (again && !l.st) {
        cbx__trace trace;
        cbx_scope scope;
        cbx__traced_clear(r->ctx, &primal);
        cbx__traced_clear(r->ctx, &map);
        l.st = cbx__trace_begin(r->ctx, body->name, true, &trace, &l.err);
        if (l.st) break;
        cbx_scope_open(r->ctx, &scope);
        cbx__inputs(&l, &trace, body, 0, nin, NULL, in);
        for (size_t i = 0; i < nc; i++) forced[i] = moves[first + i];
        if (!l.st) l.st = cbx__graph_linearize(r->ctx, body, in, moves, forced, out, &map, out_moves, &l.err);
        nres = map.ncaptured;
        extra = 0;
        res = cbx__list_of(&l, nres, sizeof *res);
        ends = cbx__array_list(&l, nout + nres);
        for (size_t i = 0; !l.st && i < nout; i++) ends[i] = out[i];
        for (size_t k = 0; !l.st && k < nres; k++) {
            const size_t at = input_number(map.captured[k], nin, in);
            res[k] = (residual){ at < first, at >= first_x && at < nin, at };
            if (res[k].is_const || res[k].is_x) continue;
            res[k].at = extra;
            ends[nout + extra++] = map.captured[k];
        }
        cbx__lists_end(&l, &trace, &scope, nout + extra, ends, &primal);
        cbx__arrays_free(nin, in);
        cbx__arrays_free(nout, out);
        again = !l.st && cbx__grows(nc, moves + first, out_moves);
    }
    if (l.st) goto done;
    results = cbx__array_list(&l, nout + extra);
    operands = cbx__array_list(&l, nin + nres);
    order = cbx__list_of(&l, nin + nres, sizeof *order);
    if (l.st) goto done;
    cbx__scan_apply(r->ctx, primal.graph, first, nc, s->nxs, s->length, s->reverse, r->in, results);
    for (size_t i = 0; i < nout; i++) r->out[i] = results[i];

    /*
     * the inputs of the map are tangents that move, then residuals; a scan takes constants, carry
     * and xs in this order
     */
    size_t tangents = 0, counts[3] = { 0 };
    size_t *place = cbx__list_of(&l, nin, sizeof *place); /* of a tangent among the inputs of the map */
    if (l.st) goto done;
    for (size_t i = 0; i < nin; i++) place[i] = moves[i] ? tangents++ : 0;
    for (size_t k = 0; k < nres; k++)
        if (res[k].is_const) order[n] = tangents + k, operands[n++] = r->in[res[k].at];
    for (size_t i = 0; i < first; i++)
        if (moves[i]) order[n] = place[i], operands[n++] = r->t[i];
    counts[0] = n;
    for (size_t i = first; i < first_x; i++)
        if (moves[i]) order[n] = place[i], operands[n++] = cbx__some(r->ctx, r->t[i], &r->in[i]->desc);
    counts[1] = n - counts[0];
    for (size_t k = 0; k < nres; k++)
        if (!res[k].is_const)
            order[n] = tangents + k, operands[n++] = res[k].is_x ? r->in[res[k].at] : results[nout + res[k].at];
    for (size_t i = first_x; i < nin; i++)
        if (moves[i]) order[n] = place[i], operands[n++] = r->t[i];
    counts[2] = n - counts[0] - counts[1];
    cbx__reorder(&l, map.graph, order);
    if (l.st) goto done;
    cbx__scan_apply(r->ctx, map.graph, counts[0], counts[1], counts[2], s->length, s->reverse, operands, results);
    n = 0;
    for (size_t i = 0; i < nout; i++)
        if (out_moves[i]) r->dt[i] = results[n++];
done:
    cbx__traced_clear(r->ctx, &primal);
    cbx__traced_clear(r->ctx, &map);
    cbx__lists_close(&l);
}

void cbx__transpose_scan(cbx__transpose *r)
{
    const cbx__control *s = cbx__control_of(r->attrs);
    const cbx__graph *map = s->graph[CBX__SCAN_BODY];
    const size_t nin = map->in.n, nout = map->out.n, first = s->consts[0], nc = s->ncarry, first_x = first + nc;
    size_t n = 0, nends = 0, counts[3] = { 0 };
    cbx__traced back = { 0 };
    cbx__trace trace;
    cbx_scope scope;
    cbx__lists l;

    cbx__lists_open(&l, r->ctx);
    cbx_array **known = cbx__array_list(&l, nin), **ct = cbx__array_list(&l, nout), **sums = cbx__array_list(&l, nin),
              **din = cbx__array_list(&l, nin);
    cbx_array **ends = cbx__array_list(&l, nin), **operands = cbx__array_list(&l, nin + nout + nin),
              **results = cbx__array_list(&l, nin);
    bool *linear = cbx__flag_list(&l, nin);
    if (l.st) goto done;
    for (size_t i = 0; i < nin; i++) linear[i] = !r->in[i] || (i >= first && i < first_x);
    l.st = cbx__trace_begin(r->ctx, map->name, true, &trace, &l.err);
    if (l.st) goto done;
    cbx_scope_open(r->ctx, &scope);
    /*
     * constants: the known ones; carry: cotangents of the carry, sums for linear constants; xs:
     * known ones, cotangents of ys
     */
    for (size_t i = 0; i < first; i++)
        if (!linear[i]) cbx__inputs(&l, &trace, map, i, 1, NULL, known);
    for (size_t i = 0; !l.st && i < nc; i++) l.st = cbx__trace_input(&trace, cbx__graph_out(map, i), &ct[i], &l.err);
    for (size_t i = 0; i < first; i++)
        if (linear[i]) cbx__inputs(&l, &trace, map, i, 1, NULL, sums);
    for (size_t i = first_x; i < nin; i++)
        if (!linear[i]) cbx__inputs(&l, &trace, map, i, 1, NULL, known);
    for (size_t i = nc; !l.st && i < nout; i++)
        if (r->ct[i]) l.st = cbx__trace_input(&trace, cbx__graph_out(map, i), &ct[i], &l.err);
    if (!l.st) l.st = cbx__graph_transpose(r->ctx, map, known, ct, din, &l.err);
    for (size_t i = first; !l.st && i < first_x; i++) ends[nends++] = cbx__some(r->ctx, din[i], cbx__graph_in(map, i));
    for (size_t i = 0; !l.st && i < first; i++)
        if (linear[i]) ends[nends++] = din[i] ? cbx_add(r->ctx, sums[i], din[i]) : sums[i];
    for (size_t i = first_x; !l.st && i < nin; i++)
        if (linear[i]) ends[nends++] = cbx__some(r->ctx, din[i], cbx__graph_in(map, i));
    cbx__lists_end(&l, &trace, &scope, nends, ends, &back);
    cbx__arrays_free(nin, known);
    cbx__arrays_free(nout, ct);
    cbx__arrays_free(nin, sums);
    cbx__arrays_free(nin, din);
    if (l.st) goto done;

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
done:
    cbx__traced_clear(r->ctx, &back);
    cbx__lists_close(&l);
}

void cbx__batch_scan(cbx__batch *r)
{
    const cbx__control *s = cbx__control_of(r->attrs);
    const cbx__graph *body = s->graph[CBX__SCAN_BODY];
    const size_t nin = body->in.n, nout = body->out.n, first = s->consts[0], nc = s->ncarry, first_x = first + nc;
    bool again = true;
    cbx__traced all = { 0 };
    cbx__lists l;

    cbx__lists_open(&l, r->ctx);
    bool *mapped = cbx__flag_list(&l, nin), *forced = cbx__flag_list(&l, nout);
    cbx_array **operands = cbx__array_list(&l, nin);
    if (l.st) goto done;
    memcpy(mapped, r->mapped, nin * sizeof *mapped);
    while (again && !l.st) {
        cbx__traced_clear(r->ctx, &all);
        for (size_t i = 0; i < nc; i++) forced[i] = mapped[first + i];
        cbx__batch_function(&l, body, r->length, mapped, forced, r->out_mapped, &all);
        again = !l.st && cbx__grows(nc, mapped + first, r->out_mapped);
    }
    if (l.st) goto done;
    for (size_t i = 0; i < nin; i++) {
        operands[i] = r->in[i];
        if (i >= first && i < first_x && mapped[i])
            operands[i] = cbx__spread(r->ctx, r->in[i], r->mapped[i], r->length);
        if (i >= first_x && mapped[i]) operands[i] = cbx_moveaxis(r->ctx, r->in[i], 0, 1);
    }
    cbx__scan_apply(r->ctx, all.graph, first, nc, s->nxs, s->length, s->reverse, operands, r->out);
    for (size_t i = nc; i < nout; i++)
        if (r->out_mapped[i]) r->out[i] = cbx_moveaxis(r->ctx, r->out[i], 1, 0);
done:
    cbx__traced_clear(r->ctx, &all);
    cbx__lists_close(&l);
}
