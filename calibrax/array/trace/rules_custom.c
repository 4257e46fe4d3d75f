/*
 * Derivatives and batches of functions with a derivative of their own, and of those that reverse
 * mode computes again.
 *
 * The user's rules run when a derivative asks for them, with the arrays of the pass: their
 * operations are carried out or recorded like those of any rule.  What is recorded to be transposed
 * must be linear in the tangents, and no rule of a user has to be: the jvp is traced and linearized
 * in its tangents, and a backward function waits in an operation for the cotangents.
 */
#include <string.h>

#include "calibrax/array/trace/rules_control.h"
#include "calibrax/array/transform.h"

/* The function of an operation. */
typedef struct function {
    cbx__called call;
    const cbx__graph *f;
    size_t nin, nall, nout; /* operands; with constants; results */
} function;

static function function_of(cbx_prim prim, const cbx_attrs *attrs)
{
    const cbx__called call = cbx__called_of(prim, attrs);
    return (function){ call, call.f, call.f->in.n - call.nconst, call.f->in.n, call.f->out.n };
}

static bool has_tangent(const cbx_array_desc *d) { return cbx__has_tangent(d->dtype); }

/* The user's rules are of operands: false, with a failure recorded, if a constant moves. */
static bool constants_rest(const cbx__jvp *r, const function *k)
{
    for (size_t i = k->nin; i < k->nall; i++) {
        if (!r->t[i]) continue;
        return cbx__refused(r->ctx, CBX_EUNSUPPORTED,
                            "'%s' has a '%s', but moves with an array that it uses from outside: pass it as an operand",
                            k->f->name, cbx_prim_name(r->prim));
    }
    return true;
}

/* What a user's rule returned must be as described. */
static bool is_like(cbx_ctx *ctx, const cbx_fn *rule, size_t i, const cbx_array *a, const cbx_array_desc *d)
{
    return !cbx_array_is_failed(a) && !cbx__like_check(rule->name, "result", i, a, d, cbx__sticky(ctx));
}

/* ---- custom_jvp ---- */

/*
 * The rule at tangents of 0, and its derivative along the tangents: what a rule that is linear in
 * them gives of them.
 */
static void linearized_rule(cbx__jvp *r, cbx__lists *l, const function *k, cbx_array *const *operands, cbx_array **ends)
{
    const cbx_fn *rule = k->call.rule[0];
    cbx_array_desc *d = cbx__list_of(l, rule->nin, sizeof *d);
    cbx_array **out = cbx__list_of(l, 2 * rule->nout, sizeof *out), **dt = out + rule->nout, **all, **t;
    CBX_CLEARED(cbx__traced) made = { 0 };

    for (size_t i = 0; !l->st && i < rule->nin; i++) d[i] = operands[i]->desc;
    if (!l->st) l->st = cbx__trace_fn(r->ctx, rule, d, &made, &l->err);
    all = cbx__list_of(l, rule->nin + made.ncaptured, sizeof *all);
    t = cbx__list_of(l, rule->nin + made.ncaptured, sizeof *t);
    for (size_t i = 0; !l->st && i < rule->nin + made.ncaptured; i++)
        all[i] = i < rule->nin ? operands[i] : made.captured[i - rule->nin];
    for (size_t i = 0; !l->st && i < k->nin; i++)
        if (has_tangent(&r->in[i]->desc)) t[k->nin + i] = r->t[i];
    if (!l->st) l->st = cbx__graph_jvp(r->ctx, made.graph, all, t, true, out, dt, &l->err);
    for (size_t i = 0; !l->st && i < rule->nout; i++) {
        out[i] = cbx_scope_hold(r->ctx, out[i]);
        if (dt[i]) dt[i] = cbx_scope_hold(r->ctx, dt[i]);
        ends[i] = i < k->nout ? out[i] : dt[i];
    }
    for (size_t i = k->nout; !l->st && i < rule->nout;
         i++) /* a tangent may not move, and so have no array of its own */
        if (has_tangent(cbx__graph_out(k->f, i - k->nout)) &&
            !is_like(r->ctx, rule, i, out[i], cbx__graph_out(k->f, i - k->nout)))
            l->st = cbx_ctx_pending(r->ctx, &l->err);
}

void cbx__jvp_custom_jvp(cbx__jvp *r)
{
    const function k = function_of(r->prim, r->attrs);
    const cbx_fn *rule = k.call.rule[0];

    if (!constants_rest(r, &k)) return;
    CBX_SCOPED(cbx__lists, l, r->ctx);
    cbx_array **operands = cbx__array_list(&l, 2 * k.nin), **ends = cbx__array_list(&l, 2 * k.nout);
    for (size_t i = 0; !l.st && i < k.nin; i++) {
        operands[i] = r->in[i];
        operands[k.nin + i] = r->linear ? NULL : r->t[i];
        if (!operands[k.nin + i]) operands[k.nin + i] = cbx__zeros_of(r->ctx, &r->in[i]->desc);
    }
    if (!l.st) l.st = cbx_ctx_pending(r->ctx, &l.err);
    if (!l.st && r->linear)
        linearized_rule(r, &l, &k, operands, ends);
    else if (!l.st)
        l.st = cbx_fn_call(r->ctx, rule, rule->nin, operands, rule->nout, ends);
    for (size_t i = 0; !l.st && i < k.nout; i++) {
        const cbx_array_desc *d = cbx__graph_out(k.f, i);
        const bool moves = has_tangent(d) && ends[k.nout + i];
        if (!is_like(r->ctx, rule, i, ends[i], d)) break;
        if (moves && !is_like(r->ctx, rule, k.nout + i, ends[k.nout + i], d)) break;
        r->out[i] = ends[i];
        if (moves) r->dt[i] = ends[k.nout + i];
    }
}

/* ---- custom_vjp ---- */

static void refuse_forward(cbx_ctx *ctx, const cbx__graph *f)
{
    cbx__refuse(ctx, CBX_EUNSUPPORTED,
                "'%s' has a 'custom_vjp', which gives reverse derivatives alone: take 'grad' or 'vjp', or give it a "
                "'custom_jvp'",
                f->name);
}

void cbx__jvp_custom_vjp(cbx__jvp *r)
{
    const function k = function_of(r->prim, r->attrs);
    const cbx_fn *fwd = k.call.rule[CBX__FORWARD];
    const size_t nres = fwd->nout - k.nout;
    size_t n = nres, moving = 0;

    if (!r->linear) {
        refuse_forward(r->ctx, k.f);
        return;
    }
    if (!constants_rest(r, &k)) return;
    CBX_SCOPED(cbx__lists, l, r->ctx);
    cbx_array **ends = cbx__array_list(&l, fwd->nout), **operands = cbx__array_list(&l, nres + k.nin);
    cbx_array **tangents = cbx__array_list(&l, k.nout);
    bool *moves = cbx__flag_list(&l, k.nall);
    if (!l.st) l.st = cbx_fn_call(r->ctx, fwd, k.nin, r->in, fwd->nout, ends);
    for (size_t i = 0; !l.st && i < k.nout; i++) {
        if (!is_like(r->ctx, fwd, i, ends[i], cbx__graph_out(k.f, i))) return;
        r->out[i] = ends[i];
    }
    if (l.st) return;
    memcpy(operands, ends + k.nout, nres * sizeof *operands);
    for (size_t i = 0; i < k.nin; i++) {
        moves[i] = r->t[i] != NULL;
        if (moves[i]) operands[n++] = r->t[i];
    }
    cbx__called_apply(r->ctx,
                      &(cbx__called){ CBX_PRIM_CUSTOM_VJP_MAP, k.call.f, k.call.nconst, k.call.rule, moves, nres, 0 },
                      n, operands, tangents);
    for (size_t i = 0; i < k.nout; i++)
        if (has_tangent(cbx__graph_out(k.f, i))) r->dt[i] = tangents[moving++];
}

void cbx__transpose_custom_vjp_map(cbx__transpose *r)
{
    const function k = function_of(r->prim, r->attrs);
    const cbx_fn *bwd = k.call.rule[CBX__BACKWARD];
    const size_t nres = k.call.nres;
    size_t moving = 0, tangent = nres;

    CBX_SCOPED(cbx__lists, l, r->ctx);
    cbx_array **operands = cbx__array_list(&l, nres + k.nout), **din = cbx__array_list(&l, k.nin);
    if (l.st) return;
    memcpy(operands, r->in, nres * sizeof *operands);
    for (size_t i = 0; i < k.nout; i++) {
        const cbx_array_desc *d = cbx__graph_out(k.f, i);
        operands[nres + i] = cbx__some(r->ctx, has_tangent(d) ? r->ct[moving++] : NULL, d);
    }
    l.st = cbx_fn_call(r->ctx, bwd, nres + k.nout, operands, k.nin, din);
    for (size_t i = 0; !l.st && i < k.nin; i++) {
        if (!k.call.moves[i]) continue;
        if (!is_like(r->ctx, bwd, i, din[i], cbx__graph_in(k.f, i))) break;
        r->din[tangent++] = din[i];
    }
}

/* The map itself is not known. */
void cbx__jvp_custom_vjp_map(cbx__jvp *r) { refuse_forward(r->ctx, function_of(r->prim, r->attrs).f); }
void cbx__batch_custom_vjp_map(cbx__batch *r) { refuse_forward(r->ctx, function_of(r->prim, r->attrs).f); }

/* ---- both over a batch: the function, and the rules, over it ---- */

typedef struct batched_bwd {
    cbx_allocator al;
    size_t bytes;
    cbx_fn *bwd;   /* over the batch */
    bool summed[]; /* operands that all elements share: their cotangents add up */
} batched_bwd;

static void batched_bwd_free(void *user)
{
    batched_bwd *b = user;
    cbx_allocator al = b->al;

    cbx_fn_free(b->bwd);
    cbx_mem_free(&al, b, b->bytes);
}

static cbx_status call_batched_bwd(cbx_ctx *ctx, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out,
                                   void *user)
{
    const batched_bwd *b = user;
    const cbx_status st = cbx_fn_call(ctx, b->bwd, nin, in, nout, out);

    for (size_t i = 0; !st && i < nout; i++)
        if (b->summed[i] && has_tangent(&out[i]->desc)) out[i] = cbx_sum(ctx, out[i], CBX_AXIS(0));
    return st;
}

static cbx_status batch_bwd(cbx_ctx *ctx, const cbx_fn *bwd, const bool *mapped, cbx_fn **out, cbx_err *err)
{
    const size_t bytes = sizeof(batched_bwd) + bwd->nout;
    batched_bwd *b = cbx_mem_zalloc(cbx_ctx_allocator(ctx), bytes);
    cbx_status st;

    if (!b) return cbx_fail(err, CBX_ENOMEM, "no memory for '%s' over a batch", bwd->name);
    b->al = *cbx_ctx_allocator(ctx);
    b->bytes = bytes;
    for (size_t i = 0; i < bwd->nout; i++) b->summed[i] = !mapped[i];
    st = cbx_vmap(ctx, bwd, NULL, NULL, &b->bwd, err);
    if (!st)
        st = cbx_fn_create(ctx, &(cbx_fn){ bwd->name, call_batched_bwd, b, bwd->nin, bwd->nout, NULL },
                           batched_bwd_free, out, err);
    if (st) batched_bwd_free(b);
    return st;
}

/* The jvp and fwd take the operands, and the jvp their tangents, too. */
static cbx_status batch_rules(cbx__lists *l, const function *k, const bool *mapped, cbx_fn *made[2])
{
    cbx_fn *const *rule = k->call.rule;
    int *axes = cbx__list_of(l, 2 * k->nin, sizeof *axes);

    for (size_t i = 0; !l->st && i < 2 * k->nin; i++) axes[i] = mapped[i % k->nin] ? 0 : CBX_NOT_MAPPED;
    for (int i = 0; !l->st && i < 2; i++) {
        if (!rule[i]) continue;
        if (k->nin == 0)
            l->st = cbx_fn_keep(l->ctx, rule[i], &made[i], &l->err); /* nothing to derive in: it is never called */
        else if (i == CBX__BACKWARD)
            l->st = batch_bwd(l->ctx, rule[i], mapped, &made[i], &l->err);
        else
            l->st = cbx_vmap(l->ctx, rule[i], axes, NULL, &made[i], &l->err);
    }
    return l->st;
}

/* All results have the batch, as those of the rules. */
void cbx__batch_custom(cbx__batch *r)
{
    const function k = function_of(r->prim, r->attrs);
    CBX_CLEARED(cbx__traced) all = { 0 };
    cbx_fn *rule[2] = { NULL, NULL };
    bool any = false;

    CBX_SCOPED(cbx__lists, l, r->ctx);
    bool *mapped = cbx__flag_list(&l, k.nall), *forced = cbx__flag_list(&l, k.nout);
    cbx_array **operands = cbx__array_list(&l, k.nall);
    if (l.st) return;
    memcpy(mapped, r->mapped, k.nall * sizeof *mapped);
    memcpy(operands, r->in, k.nall * sizeof *operands);
    memset(forced, true, k.nout * sizeof *forced);
    for (size_t i = 0; i < k.nin; i++) any |= mapped[i];
    if (!any && k.nin > 0) { /* a constant has the batch: rules over it need an operand that has it */
        mapped[0] = true;
        operands[0] = cbx__spread(r->ctx, operands[0], false, r->length);
    }
    cbx__batch_function(&l, k.f, r->length, mapped, forced, r->out_mapped, &all);
    if (!l.st && !batch_rules(&l, &k, mapped, rule))
        cbx__called_apply(r->ctx, &(cbx__called){ r->prim, all.graph, k.call.nconst, rule, NULL, 0, 0 }, k.nall,
                          operands, r->out);
    for (size_t i = 0; i < CBX_LEN(rule); i++) cbx_fn_free(rule[i]);
}

/* ---- checkpoint ---- */

void cbx__jvp_checkpoint(cbx__jvp *r)
{
    const function k = function_of(r->prim, r->attrs);
    const cbx__groups in = { 1, { k.nall } }, out = { 1, { k.nout } };
    CBX_CLEARED(cbx__traced) both = { 0 };
    size_t n = 0, nin;

    CBX_SCOPED(cbx__lists, l, r->ctx);
    cbx_array **operands = cbx__array_list(&l, 2 * k.nall), **ends = cbx__array_list(&l, 2 * k.nout);
    bool *moves = cbx__flag_list(&l, k.nall), *out_moves = cbx__flag_list(&l, k.nout);
    if (l.st) return;
    for (size_t i = 0; i < k.nall; i++) moves[i] = r->t[i] != NULL;
    nin = cbx__put_operands(r, 0, k.nall, moves, operands);
    if (r->linear) {
        cbx_apply_all(r->ctx, r->prim, r->nin, (const cbx_array *const *)r->in, r->attrs, r->out);
        cbx__called_apply(r->ctx, &(cbx__called){ CBX_PRIM_CHECKPOINT_MAP, k.call.f, k.call.nconst, NULL, moves, 0, 0 },
                          nin, operands, ends);
        for (size_t i = 0; i < k.nout; i++)
            if (has_tangent(cbx__graph_out(k.f, i))) r->dt[i] = ends[n++];
        return;
    }
    cbx__jvp_function(&l, k.f, &in, moves, &out, NULL, out_moves, false, true, &both);
    if (l.st) return;
    cbx__called_apply(r->ctx, &(cbx__called){ r->prim, both.graph, 0, NULL, NULL, 0, k.call.mode }, nin, operands,
                      ends);
    cbx__take_results(r, &out, out_moves, ends);
}

void cbx__batch_checkpoint(cbx__batch *r)
{
    const function k = function_of(r->prim, r->attrs);
    CBX_CLEARED(cbx__traced) all = { 0 };

    CBX_SCOPED(cbx__lists, l, r->ctx);
    cbx__batch_function(&l, k.f, r->length, r->mapped, NULL, r->out_mapped, &all);
    if (!l.st)
        cbx__called_apply(r->ctx, &(cbx__called){ r->prim, all.graph, k.call.nconst, NULL, NULL, 0, k.call.mode },
                          k.nall, r->in, r->out);
}

/* ---- the linear map of a checkpoint ---- */

/*
 * The cotangents of what moves from in and the cotangents of results: the values again, and the
 * map, transposed.
 */
static void trace_backward(cbx__lists *l, const cbx__graph *f, const bool *moves, cbx_array *const *wanted_ct,
                           cbx__traced *end)
{
    const size_t nin = f->in.n, nout = f->out.n;
    cbx_array **in = cbx__owned_list(l, nin), **ct = cbx__owned_list(l, nout), **out = cbx__owned_list(l, nout);
    cbx_array **of_moving = cbx__array_list(l, nout), **ends = cbx__array_list(l, nin), **known, **din;
    bool *out_moves = cbx__flag_list(l, nout);
    size_t k = 0, n = 0, wanted = 0;
    CBX_CLEARED(cbx__traced) map = { 0 };

    if (!cbx__lists_trace(l, f->name)) return;
    cbx__inputs(l, f, 0, nin, NULL, in);
    for (size_t i = 0; !l->st && i < nout; i++)
        if (wanted_ct[i]) l->st = cbx__trace_input(&l->trace, cbx__graph_out(f, i), &ct[i], &l->err);
    if (!l->st) l->st = cbx__graph_linearize(l->ctx, f, in, moves, NULL, out, &map, out_moves, &l->err);
    for (size_t i = 0; i < nin; i++) wanted += moves[i];
    known = cbx__array_list(l, wanted + map.ncaptured);
    din = cbx__owned_list(l, wanted + map.ncaptured);
    for (size_t i = 0; !l->st && i < map.ncaptured; i++) known[wanted + i] = map.captured[i];
    for (size_t i = 0; !l->st && i < nout; i++)
        if (out_moves[i]) of_moving[k++] = ct[i];
    if (!l->st) l->st = cbx__graph_transpose(l->ctx, map.graph, known, of_moving, din, &l->err);
    for (size_t i = 0; !l->st && i < nin; i++)
        if (moves[i]) ends[n] = cbx__some(l->ctx, din[n], cbx__graph_in(f, i)), n++;
    cbx__lists_end(l, wanted, ends, end);
}

void cbx__transpose_checkpoint_map(cbx__transpose *r)
{
    const function k = function_of(r->prim, r->attrs);
    CBX_CLEARED(cbx__traced) back = { 0 };
    size_t n = 0, nin = k.nall;

    CBX_SCOPED(cbx__lists, l, r->ctx);
    cbx_array **operands = cbx__array_list(&l, k.nall + k.nout), **ct = cbx__array_list(&l, k.nout);
    if (l.st) return;
    memcpy(operands, r->in, k.nall * sizeof *operands);
    for (size_t i = 0; i < k.nout; i++) {
        if (!has_tangent(cbx__graph_out(k.f, i))) continue;
        ct[i] = r->ct[n++];
        if (ct[i]) operands[nin++] = ct[i];
    }
    trace_backward(&l, k.f, k.call.moves, ct, &back);
    if (!l.st)
        cbx__called_apply(r->ctx, &(cbx__called){ CBX_PRIM_CHECKPOINT, back.graph, 0, NULL, NULL, 0, 1 }, nin, operands,
                          r->din + k.nall);
}

cbx_status cbx__checkpoint_map(cbx_ctx *ctx, const cbx__control *s, cbx__traced *out, cbx_err *err)
{
    const cbx__graph *f = s->graph[0];
    const cbx__groups inputs = { 1, { f->in.n } }, results = { 1, { f->out.n } };
    cbx_status st;

    CBX_SCOPED(cbx__lists, l, ctx);
    bool *forced = cbx__flag_list(&l, f->out.n), *out_moves = cbx__flag_list(&l, f->out.n);
    for (size_t i = 0; !l.st && i < f->out.n; i++) forced[i] = has_tangent(cbx__graph_out(f, i));
    cbx__jvp_function(&l, f, &inputs, s->moves, &results, forced, out_moves, false, false, out);
    st = l.st;
    if (st && err) *err = l.err;
    l.st = CBX_OK; /* reported in err */
    return st;
}

void cbx__jvp_checkpoint_map(cbx__jvp *r)
{
    CBX_CLEARED(cbx__traced) map = { 0 };

    CBX_SCOPED(cbx__lists, l, r->ctx);
    l.st = cbx__checkpoint_map(r->ctx, cbx__control_of(r->attrs), &map, &l.err);
    cbx_array **out = cbx__array_list(&l, 2 * r->nout), **dt = out + r->nout;
    if (!l.st) l.st = cbx__graph_jvp(r->ctx, map.graph, r->in, r->t, r->linear, out, dt, &l.err);
    for (size_t i = 0; !l.st && i < r->nout; i++) {
        r->out[i] = cbx_scope_hold(r->ctx, out[i]);
        if (dt[i]) r->dt[i] = cbx_scope_hold(r->ctx, dt[i]);
    }
}

void cbx__batch_checkpoint_map(cbx__batch *r)
{
    CBX_CLEARED(cbx__traced) map = { 0 };

    CBX_SCOPED(cbx__lists, l, r->ctx);
    l.st = cbx__checkpoint_map(r->ctx, cbx__control_of(r->attrs), &map, &l.err);
    cbx_array **out = cbx__array_list(&l, r->nout);
    if (!l.st) l.st = cbx__graph_batch(r->ctx, map.graph, r->length, r->in, r->mapped, out, r->out_mapped, &l.err);
    for (size_t i = 0; !l.st && i < r->nout; i++) r->out[i] = cbx_scope_hold(r->ctx, out[i]);
}

/* ---- functions that read values ---- */

void cbx__jvp_host_call(cbx__jvp *r)
{
    const cbx__control *c = cbx__control_of(r->attrs);

    if (c->flat)
        cbx_apply_all(r->ctx, r->prim, r->nin, (const cbx_array *const *)r->in, r->attrs, r->out);
    else
        cbx__refuse(r->ctx, CBX_EUNSUPPORTED,
                    "'%s', a '%s', reads values of its operands and has no derivative: 'stop_gradient' of them makes "
                    "it 0",
                    c->rule[0]->name, cbx_prim_name(r->prim));
}
