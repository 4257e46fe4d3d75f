/* Derivatives and batches of loops whose number of steps data decide: forward mode alone. */
#include <string.h>

#include "calibrax/array/trace/rules_control.h"

/* The test of the carry, which also takes the tangents of the carry and ignores them. */
static void trace_test(cbx__lists *l, const cbx__control *s, const bool *moves, cbx__traced *end)
{
    const cbx__graph *test = s->graph[CBX__WHILE_TEST], *body = s->graph[CBX__WHILE_BODY];
    const size_t n = s->consts[CBX__WHILE_TEST] + s->ncarry, nb = s->consts[CBX__WHILE_BODY];
    cbx_array **in = cbx__owned_list(l, n), **t = cbx__owned_list(l, nb + s->ncarry), **truth = cbx__owned_list(l, 1);

    if (!cbx__lists_trace(l, test->name)) return;
    cbx__inputs(l, test, 0, n, NULL, in);
    cbx__inputs(l, body, nb, nb + s->ncarry, moves, t);
    if (!l->st) l->st = cbx__graph_eval(l->ctx, test, in, truth, &l->err);
    cbx__lists_end(l, 1, truth, end);
}

void cbx__jvp_while(cbx__jvp *r)
{
    const cbx__control *s = cbx__control_of(r->attrs);
    const cbx__graph *body = s->graph[CBX__WHILE_BODY];
    const size_t nt = s->consts[CBX__WHILE_TEST], nb = s->consts[CBX__WHILE_BODY], nc = s->ncarry, carry = nt + nb;
    const cbx__groups in = { 2, { nb, nb + nc } }, out = { 1, { nc } };
    bool again = true;
    CBX_CLEARED(cbx__traced) step = { 0 }, test = { 0 };
    size_t nends = 0, counts[2] = { nt, 0 };

    CBX_SCOPED(cbx__lists, l, r->ctx);
    bool *moves = cbx__flag_list(&l, r->nin), *out_moves = cbx__flag_list(&l, nc);
    cbx_array **operands = cbx__array_list(&l, 2 * r->nin), **ends = cbx__array_list(&l, 2 * nc);

    for (size_t i = nt; !l.st && i < r->nin; i++) moves[i] = r->t[i] != NULL;
    while (again && !l.st) {
        nends = cbx__jvp_function(&l, body, &in, moves + nt, &out, moves + carry, out_moves, r->linear, true, &step);
        again = !l.st && cbx__grows(nc, moves + carry, out_moves);
    }
    if (!l.st && nends == nc) {
        cbx__while_apply(r->ctx, s->graph, s->consts, nc, r->in, r->out);
        return;
    }
    if (!l.st && r->linear)
        l.st = cbx_fail(&l.err, CBX_EUNSUPPORTED,
                        "'while_loop' has no reverse derivative: its number of steps is "
                        "unknown; use 'fori_loop' or 'scan'");
    trace_test(&l, s, moves + nt, &test);
    if (l.st) return;
    memcpy(operands, r->in, nt * sizeof *operands);
    counts[CBX__WHILE_BODY] = cbx__put_operands(r, nt, carry, moves, operands + nt);
    cbx__put_operands(r, carry, r->nin, moves, operands + nt + counts[CBX__WHILE_BODY]);
    cbx__while_apply(r->ctx, (cbx__graph *const[]){ test.graph, step.graph }, counts, nends, operands, ends);
    cbx__take_results(r, &out, out_moves, ends);
}

/*
 * Of a test that differs over the batch: whether it holds for any element (body NULL), or body(x)
 * where it holds, else x. Inputs: constants of test, constants of body, carry, all described by
 * like; the test alone takes none of the body's.
 */
static void guarded(cbx__lists *l, const cbx__control *s, const cbx__graph *test, const cbx__graph *body,
                    cbx_array *const *like, cbx__traced *end)
{
    const size_t nt = s->consts[CBX__WHILE_TEST], nb = body ? s->consts[CBX__WHILE_BODY] : 0, nc = s->ncarry;
    const size_t nin = nt + nb + nc, skipped = body ? 0 : s->consts[CBX__WHILE_BODY];
    cbx_array **in = cbx__owned_list(l, nin), **of_test = cbx__array_list(l, nt + nc);
    cbx_array **out = cbx__owned_list(l, nc), **ends = cbx__array_list(l, nc), **truth = cbx__owned_list(l, 1);

    if (!cbx__lists_trace(l, body ? body->name : test->name)) return;
    for (size_t i = 0; !l->st && i < nin; i++)
        l->st = cbx__trace_input(&l->trace, &like[i < nt ? i : i + skipped]->desc, &in[i], &l->err);
    memcpy(of_test, in, nt * sizeof *in);
    memcpy(of_test + nt, in + nt + nb, nc * sizeof *in);
    if (!l->st) l->st = cbx__graph_eval(l->ctx, test, of_test, truth, &l->err);
    if (!l->st && body) l->st = cbx__graph_eval(l->ctx, body, in + nt, out, &l->err);
    if (!l->st && !body) ends[0] = cbx_any(l->ctx, *truth, NULL);
    for (size_t i = 0; !l->st && body && i < nc; i++)
        ends[i] = cbx_where(l->ctx, cbx__widened(l->ctx, cbx__as(l->ctx, *truth, CBX_BOOL), out[i]), out[i],
                            in[nt + nb + i]);
    cbx__lists_end(l, body ? nc : 1, ends, end);
}

/* Elements that are done keep their values while others go on, until the test holds for none. */
void cbx__batch_while(cbx__batch *r)
{
    const cbx__control *s = cbx__control_of(r->attrs);
    const cbx__graph *test = s->graph[CBX__WHILE_TEST], *body = s->graph[CBX__WHILE_BODY];
    const size_t nt = s->consts[CBX__WHILE_TEST], nb = s->consts[CBX__WHILE_BODY], nc = s->ncarry, nin = nt + nb + nc;
    bool again = true, differs = false;
    CBX_CLEARED(cbx__traced) tests = { 0 }, bodies = { 0 }, any = { 0 }, some_go = { 0 };

    CBX_SCOPED(cbx__lists, l, r->ctx);
    bool *mapped = cbx__flag_list(&l, nin), *of_test = cbx__flag_list(&l, nt + nc), *forced = cbx__flag_list(&l, nc);
    cbx_array **operands = cbx__array_list(&l, nin + nt);
    size_t consts[2] = { nt, nb };

    if (l.st) return;
    memcpy(mapped, r->mapped, nin * sizeof *mapped);
    while (again && !l.st) {
        memcpy(of_test, mapped, nt * sizeof *mapped);
        memcpy(of_test + nt, mapped + nt + nb, nc * sizeof *mapped);
        memcpy(forced, mapped + nt + nb, nc * sizeof *mapped);
        cbx__batch_function(&l, test, r->length, of_test, NULL, &differs, &tests);
        cbx__batch_function(&l, body, r->length, mapped + nt, forced, r->out_mapped, &bodies);
        for (size_t i = 0; differs && i < nc; i++) r->out_mapped[i] = true;
        again = !l.st && cbx__grows(nc, mapped + nt + nb, r->out_mapped);
    }
    if (l.st) return;
    for (size_t i = 0; i < nin; i++)
        operands[i] = i >= nt + nb && mapped[i] ? cbx__spread(r->ctx, r->in[i], r->mapped[i], r->length) : r->in[i];
    if (!differs) {
        cbx__while_apply(r->ctx, (cbx__graph *const[]){ tests.graph, bodies.graph }, consts, nc, operands, r->out);
        return;
    }
    guarded(&l, s, tests.graph, NULL, operands, &any);
    guarded(&l, s, tests.graph, bodies.graph, operands, &some_go);
    if (l.st) return;
    /* the body tests, too: it also takes the constants of the test */
    memmove(operands + nt + nt, operands + nt, (nb + nc) * sizeof *operands);
    memcpy(operands + nt, operands, nt * sizeof *operands);
    consts[CBX__WHILE_BODY] = nt + nb;
    cbx__while_apply(r->ctx, (cbx__graph *const[]){ any.graph, some_go.graph }, consts, nc, operands, r->out);
}
