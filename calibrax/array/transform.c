/*
 * Transforms: functions made of functions.  A call traces the operand for the shapes that it is
 * given, and carries the graph out with tangents, cotangents or a batch beside; with traced
 * operands that is recorded in their trace, so transforms nest.
 */
#include "calibrax/array/transform.h"

#include <string.h>

#include "calibrax/array/fn_internal.h"
#include "calibrax/array/ops_internal.h"
#include "calibrax/array/trace/rules_control.h"

/* What the backend makes of a graph. */
static cbx_status show_compiled(cbx_ctx *ctx, const cbx__graph *g, cbx_dump_kind kind, cbx_text *out, cbx_err *err)
{
    const cbx_backend *b = cbx_ctx_backend(ctx);
    void *executable = NULL;
    cbx_status st;

    if (!b->compile || !b->show)
        return cbx_fail(err, CBX_EUNSUPPORTED,
                        "the backend '%s' does not compile '%s': choose jit, or ask for the graph alone", b->name,
                        g->name);
    st = b->compile(b, ctx, g, &executable, err);
    if (st) return st;
    st = b->show(b, ctx, executable, kind, out, err);
    b->release(b, executable);
    return st;
}

cbx_status cbx_dump(cbx_ctx *ctx, const cbx_fn *f, const cbx_array_desc *in, cbx_dump_kind kind, cbx_text *out,
                    cbx_err *err)
{
    CBX_CLEARED(cbx__traced) t = { 0 };
    cbx_status st = cbx__begin(ctx, err);

    if (!st) st = cbx__fn_check("dump", f, err);
    if (!st) st = cbx__trace_fn(ctx, f, in, &t, err);
    if (!st && kind == CBX_DUMP_GRAPH)
        cbx__graph_text(t.graph, 0, out);
    else if (!st)
        st = show_compiled(ctx, t.graph, kind, out, err);
    return st;
}

/* ---- what all derivatives have ---- */

typedef struct derived {
    cbx__closure of;
    bool value; /* value_and_grad */
    size_t n;   /* operands in which to derive */
    size_t argnums[];
} derived;

/*
 * A function of nin operands and nout results that derives f in n operands; argnums NULL: the first
 * n.
 */
static cbx_status derive(cbx_ctx *ctx, const char *what, cbx_array_fn call, const cbx_fn *f, size_t n,
                         const size_t *argnums, bool value, size_t nin, size_t nout, cbx_fn **out, cbx_err *err)
{
    cbx_status st;

    if (n > f->nin)
        return cbx_fail(err, CBX_EINVAL, "'%s' in %zu operands of '%s', which takes %zu", what, n, f->name, f->nin);
    for (size_t i = 0; argnums && i < n; i++) {
        if (argnums[i] >= f->nin)
            return cbx_fail(err, CBX_EINVAL, "'%s' in operand %zu of '%s', which takes %zu: they count from 0", what,
                            argnums[i], f->name, f->nin);
        for (size_t k = 0; k < i; k++)
            if (argnums[k] == argnums[i])
                return cbx_fail(err, CBX_EINVAL, "'%s' of '%s' lists operand %zu twice", what, f->name, argnums[i]);
    }
    st = cbx__closure_create(ctx, what, f, sizeof(derived) + n * sizeof *argnums, call, nin, nout, NULL, out, err);
    if (st) return st;
    derived *d = (*out)->user;
    d->value = value;
    d->n = n;
    for (size_t i = 0; i < n; i++) d->argnums[i] = argnums ? argnums[i] : i;
    return CBX_OK;
}

/*
 * A call at work: the traced operand, its inputs with what it captured, and lists as long as them.
 */
typedef struct work {
    cbx_ctx *ctx;
    const derived *d;
    cbx__traced f, map;
    size_t nin, nout; /* of the graph */
    cbx_array **in, **out, **t, **ct, **din;
    bool *wanted, *moves;
    cbx_arena arena;
    cbx_err err;
    cbx_status st;
} work;

static void *space(work *w, size_t n, size_t size)
{
    void *p = cbx_arena_calloc(&w->arena, n + 1, size);
    if (!p && !w->st) w->st = cbx_fail(&w->err, CBX_ENOMEM, "no memory for '%s'", w->d->of.name);
    return p;
}

static void work_init(work *w, cbx_ctx *ctx, const derived *d, cbx_array *const *in)
{
    const cbx_fn *f = d->of.f;
    cbx_array_desc *descs;

    *w = (work){ .ctx = ctx, .d = d };
    cbx_arena_init(&w->arena, cbx_ctx_allocator(ctx));
    descs = space(w, f->nin, sizeof *descs);
    if (w->st) return;
    for (size_t i = 0; i < f->nin; i++) descs[i] = in[i]->desc;
    w->st = cbx__trace_fn(ctx, f, descs, &w->f, &w->err);
    if (w->st) return;
    w->nin = w->f.graph->in.n;
    w->nout = f->nout;
    w->in = space(w, w->nin, sizeof *w->in);
    w->t = space(w, w->nin, sizeof *w->t);
    w->wanted = space(w, w->nin, sizeof *w->wanted);
    w->din = space(w, w->nin, sizeof *w->din);
    w->out = space(w, w->nout, sizeof *w->out);
    w->ct = space(w, w->nout, sizeof *w->ct);
    w->moves = space(w, w->nout, sizeof *w->moves);
    for (size_t i = 0; !w->st && i < w->nin; i++) w->in[i] = i < f->nin ? in[i] : w->f.captured[i - f->nin];
}

/* Derivatives are asked for in real and complex operands alone. */
static void want(work *w, size_t operand)
{
    const cbx_dtype t = w->in[operand]->desc.dtype;

    if (!cbx__has_tangent(t) && !w->st)
        w->st = cbx_fail(&w->err, CBX_EDTYPE, "'%s' in operand %zu, which is %s: derive in float or complex operands",
                         w->d->of.name, operand, cbx_dtype_name(t));
    w->wanted[operand] = true;
}

/* Values, and the linear map of the wanted operands. */
static void linearize(work *w)
{
    if (!w->st)
        w->st = cbx__graph_linearize(w->ctx, w->f.graph, w->in, w->wanted, NULL, w->out, &w->map, w->moves, &w->err);
    for (size_t i = 0; !w->st && i < w->nout; i++) w->out[i] = cbx_scope_hold(w->ctx, w->out[i]);
}

/*
 * Cotangents of the wanted operands, in their order, held by the scope; ct: one for each result of
 * f, NULL: 0.
 */
static void transpose(work *w, cbx_array *const *ct, cbx_array **din)
{
    const size_t n = w->map.graph ? w->map.graph->in.n : 0;
    cbx_array **known = space(w, n, sizeof *known), **of_moving = space(w, w->nout, sizeof *known);
    cbx_array **all = space(w, n, sizeof *all);
    size_t k = 0, wanted = 0;

    if (w->st) return;
    for (size_t i = 0; i < w->nin; i++) wanted += w->wanted[i];
    for (size_t i = 0; i < w->map.ncaptured; i++) known[wanted + i] = w->map.captured[i];
    for (size_t i = 0; i < w->nout; i++)
        if (w->moves[i]) of_moving[k++] = ct[i];
    w->st = cbx__graph_transpose(w->ctx, w->map.graph, known, of_moving, all, &w->err);
    for (size_t i = 0, at = 0; !w->st && i < w->nin; i++) {
        if (!w->wanted[i]) continue;
        din[i] = all[at] ? cbx_scope_hold(w->ctx, all[at]) : cbx__zeros_of(w->ctx, &w->in[i]->desc);
        at++;
    }
}

/* The end of a call: out[] are set, or the failure is recorded. */
static void work_clear(work *w)
{
    cbx__traced_clear(&w->map);
    cbx__traced_clear(&w->f);
    if (w->st) cbx__refuse(w->ctx, w->st, "%s", w->err.message);
    cbx_arena_clear(&w->arena);
}

/* ---- gradients ---- */

CBX__BODY(call_grad)
{
    const derived *d = user;
    CBX_SCOPED(work, w, ctx, d, in);

    if (w.st) return CBX_OK;
    const cbx_array_desc *y = cbx__graph_out(w.f.graph, 0);
    if (y->ndim != 0 || cbx_dtype_kind(y->dtype) != CBX_KIND_FLOAT)
        w.st = cbx_fail(&w.err, y->ndim ? CBX_ESHAPE : CBX_EDTYPE,
                        "'%s' needs a real scalar result, '%s' gives %s: take its sum, or 'vjp'", d->of.name,
                        d->of.f->name, CBX__DESC_TEXT(y));
    for (size_t i = 0; !w.st && i < d->n; i++) want(&w, d->argnums[i]);
    linearize(&w);
    if (w.st) return CBX_OK;
    w.ct[0] = cbx_ones_like(ctx, w.out[0]);
    transpose(&w, w.ct, w.din);
    if (!w.st && d->value) out[0] = w.out[0];
    for (size_t i = 0; !w.st && i < d->n; i++) out[d->value + i] = w.din[d->argnums[i]];
    return CBX_OK;
}

static cbx_status make_grad(cbx_ctx *ctx, const char *what, const cbx_fn *f, size_t n, const size_t *argnums,
                            bool value, cbx_fn **out, cbx_err *err)
{
    cbx_status st = cbx__fn_check(what, f, err);

    if (st) return st;
    if (f->nout != 1)
        return cbx_fail(err, CBX_EINVAL, "'%s' of '%s', which returns %zu results: it must return one, a scalar", what,
                        f->name, f->nout);
    if (n == 0) n = 1, argnums = NULL;
    return derive(ctx, what, call_grad, f, n, argnums, value, f->nin, n + value, out, err);
}

cbx_status cbx_grad(cbx_ctx *ctx, const cbx_fn *f, size_t n, const size_t *argnums, cbx_fn **out, cbx_err *err)
{
    return make_grad(ctx, "grad", f, n, argnums, false, out, err);
}

cbx_status cbx_value_and_grad(cbx_ctx *ctx, const cbx_fn *f, size_t n, const size_t *argnums, cbx_fn **out,
                              cbx_err *err)
{
    return make_grad(ctx, "value_and_grad", f, n, argnums, true, out, err);
}

/* ---- products with Jacobians ---- */

static void expect(work *w, const char *what, size_t i, const cbx_array *a, const cbx_array_desc *d)
{
    if (!w->st) w->st = cbx__like_check(w->d->of.name, what, i, a, d, &w->err);
}

/* (in..., tangents of the chosen) to (out..., their tangents) */
CBX__BODY(call_jvp)
{
    const derived *d = user;
    CBX_SCOPED(work, w, ctx, d, in);
    cbx_array **dt = space(&w, w.nout, sizeof *dt);

    for (size_t i = 0; !w.st && i < d->n; i++) {
        want(&w, d->argnums[i]);
        expect(&w, "tangent", i, in[d->of.f->nin + i], &w.in[d->argnums[i]]->desc);
        w.t[d->argnums[i]] = in[d->of.f->nin + i];
    }
    if (!w.st) w.st = cbx__graph_jvp(ctx, w.f.graph, w.in, w.t, false, w.out, dt, &w.err);
    for (size_t i = 0; !w.st && i < w.nout; i++) {
        out[i] = cbx_scope_hold(ctx, w.out[i]);
        out[w.nout + i] = dt[i] ? cbx_scope_hold(ctx, dt[i]) : cbx_zeros_like(ctx, out[i]);
    }
    return CBX_OK;
}

/* (in..., cotangents) to (out..., cotangents of the chosen) */
CBX__BODY(call_vjp)
{
    const derived *d = user;
    CBX_SCOPED(work, w, ctx, d, in);

    for (size_t i = 0; !w.st && i < d->n; i++) want(&w, d->argnums[i]);
    for (size_t i = 0; !w.st && i < w.nout; i++)
        expect(&w, "cotangent", i, in[d->of.f->nin + i], cbx__graph_out(w.f.graph, i));
    linearize(&w);
    if (!w.st) transpose(&w, in + d->of.f->nin, w.din);
    for (size_t i = 0; !w.st && i < w.nout; i++) out[i] = w.out[i];
    for (size_t i = 0; !w.st && i < d->n; i++) out[w.nout + i] = w.din[d->argnums[i]];
    return CBX_OK;
}

cbx_status cbx_jvp(cbx_ctx *ctx, const cbx_fn *f, size_t n, const size_t *argnums, cbx_fn **out, cbx_err *err)
{
    cbx_status st = cbx__fn_check("jvp", f, err);

    if (st) return st;
    if (n == 0) n = f->nin, argnums = NULL;
    return derive(ctx, "jvp", call_jvp, f, n, argnums, false, f->nin + n, 2 * f->nout, out, err);
}

cbx_status cbx_vjp(cbx_ctx *ctx, const cbx_fn *f, size_t n, const size_t *argnums, cbx_fn **out, cbx_err *err)
{
    cbx_status st = cbx__fn_check("vjp", f, err);

    if (st) return st;
    if (n == 0) n = f->nin, argnums = NULL;
    return derive(ctx, "vjp", call_vjp, f, n, argnums, false, f->nin + f->nout, f->nout + n, out, err);
}

/* ---- a linear map as a function ---- */

typedef struct linear {
    cbx__closure of;
    cbx__traced map;
    size_t nout;
    cbx_array *zeros[]; /* descriptions of results that do not move; NULL: it moves */
} linear;

static void linear_drop(void *user)
{
    linear *m = user;

    cbx__traced_clear(&m->map);
    cbx__arrays_free(m->nout, m->zeros);
}

CBX__BODY(call_linear)
{
    const linear *m = user;
    cbx_array **moving = cbx_mem_calloc(cbx_ctx_allocator(ctx), nout + 1, sizeof(cbx_array *));
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = moving ? CBX_OK : cbx_fail(&err, CBX_ENOMEM, "no memory for the results of '%s'", m->of.name);
    size_t k = 0;

    for (size_t i = 0; !st && i < nin; i++)
        st = cbx__like_check(m->of.name, "tangent", i, in[i], cbx__graph_in(m->map.graph, i), &err);
    if (!st) st = cbx__traced_eval(ctx, &m->map, nin, in, moving, &err);
    for (size_t i = 0; !st && i < nout; i++)
        out[i] = m->zeros[i] ? cbx_zeros_like(ctx, m->zeros[i]) : cbx_scope_hold(ctx, moving[k++]);
    if (st) cbx__refuse(ctx, st, "%s", err.message);
    cbx_mem_free(cbx_ctx_allocator(ctx), moving, (nout + 1) * sizeof(cbx_array *));
    return CBX_OK;
}

cbx_status cbx_linearize(cbx_ctx *ctx, const cbx_fn *f, cbx_array *const *in, cbx_array **out, cbx_fn **map,
                         cbx_err *err)
{
    const derived d = { .of = { (cbx_fn *)(uintptr_t)f, "linearize" } };
    cbx_fn *made = NULL;
    linear *m = NULL;
    cbx_status st = cbx__begin(ctx, err);

    if (!st) st = cbx__fn_check("linearize", f, err);
    if (!st) st = cbx__operands_check(f->name, f->nin, in, err);
    if (st) return st;
    CBX_SCOPED(work, w, ctx, &d, in);
    for (size_t i = 0; !w.st && i < f->nin; i++) want(&w, i);
    if (!w.st) w.st = cbx__graph_linearize(ctx, w.f.graph, w.in, w.wanted, NULL, w.out, &w.map, w.moves, &w.err);
    if (!w.st)
        w.st = cbx__closure_create(ctx, "linearize", f, sizeof *m + w.nout * sizeof *m->zeros, call_linear, f->nin,
                                   f->nout, linear_drop, &made, &w.err);
    if (!w.st) {
        m = made->user;
        m->nout = w.nout;
    }
    for (size_t i = 0; !w.st && i < w.nout; i++)
        if (!w.moves[i]) w.st = cbx_array_create_abstract(ctx, &w.out[i]->desc, &m->zeros[i], &w.err);
    if (!w.st) {
        m->map = w.map;
        w.map = (cbx__traced){ 0 };
        *map = made;
    }
    for (size_t i = 0; i < w.nout && w.out; i++) {
        if (w.st)
            cbx_array_free(w.out[i]);
        else
            out[i] = w.out[i];
    }
    if (w.st) cbx_fn_free(made);
    st = w.st;
    if (st && err) *err = w.err;
    w.st = CBX_OK; /* reported in err */
    return st;
}

/* ---- Jacobians ---- */

/* Unit vectors of an array: (its number of elements, its shape...). */
static cbx_array *basis(cbx_ctx *ctx, const cbx_array_desc *d, size_t *count)
{
    size_t shape[CBX_MAX_RANK + 1];

    *count = 1;
    for (int i = 0; i < d->ndim; i++) *count *= d->shape[i];
    shape[0] = *count;
    memcpy(shape + 1, d->shape, (size_t)d->ndim * sizeof *shape);
    return cbx__reshaped(ctx, cbx_eye(ctx, *count, *count, 0, d->dtype), d->ndim + 1, shape);
}

/*
 * The axis of unit vectors, in front or (last) behind, as the axes of d: results have the shape of
 * y, then of d.
 */
static cbx_array *unfold(cbx_ctx *ctx, const cbx_array *a, const cbx_array_desc *y, const cbx_array_desc *d,
                         bool behind)
{
    size_t shape[2 * CBX_MAX_RANK];

    if (y->ndim + d->ndim > CBX_MAX_RANK)
        return cbx__refuse(ctx, CBX_EINVAL, "a Jacobian of %d and %d axes has more than %d", y->ndim, d->ndim,
                           CBX_MAX_RANK);
    memcpy(shape, y->shape, (size_t)y->ndim * sizeof *shape);
    memcpy(shape + y->ndim, d->shape, (size_t)d->ndim * sizeof *shape);
    if (behind) a = cbx_moveaxis(ctx, a, 0, -1);
    return cbx__reshaped(ctx, a, y->ndim + d->ndim, shape);
}

/* The linear map, batched over unit vectors of one operand. */
CBX__BODY(call_jacfwd)
{
    const derived *d = user;
    const size_t operand = d->argnums[0];
    size_t count = 0, k = 0, n;
    CBX_SCOPED(work, w, ctx, d, in);

    if (!w.st) want(&w, operand);
    linearize(&w);
    n = w.st ? 0 : w.map.graph->in.n;
    cbx_array **operands = space(&w, n, sizeof *operands), **moving = space(&w, nout, sizeof *moving);
    bool *mapped = space(&w, n, sizeof *mapped), *out_mapped = space(&w, nout, sizeof *out_mapped);
    if (!w.st) {
        operands[0] = basis(ctx, &in[operand]->desc, &count);
        mapped[0] = true;
        for (size_t i = 0; i < w.map.ncaptured; i++) operands[i + 1] = w.map.captured[i];
        w.st = cbx_ctx_pending(ctx, &w.err);
    }
    if (!w.st) w.st = cbx__graph_batch(ctx, w.map.graph, count, operands, mapped, moving, out_mapped, &w.err);
    for (size_t i = 0; !w.st && i < nout; i++) {
        const cbx_array_desc *y = &w.out[i]->desc;
        cbx_array *j = NULL;
        if (w.moves[i]) {
            j = cbx_scope_hold(ctx, moving[k]);
            j = cbx__spread(ctx, j, out_mapped[k++], count);
        } else {
            size_t shape[CBX_MAX_RANK + 1] = { count };
            memcpy(shape + 1, y->shape, (size_t)y->ndim * sizeof *shape);
            j = cbx_zeros(ctx, y->ndim + 1, shape, y->dtype);
        }
        out[i] = unfold(ctx, j, y, &in[operand]->desc, true);
    }
    return CBX_OK;
}

/* The transposed map, traced, batched over unit vectors of each result. */
CBX__BODY(call_jacrev)
{
    const derived *d = user;
    const size_t operand = d->argnums[0];
    CBX_SCOPED(work, w, ctx, d, in);

    if (!w.st) want(&w, operand);
    linearize(&w);
    for (size_t i = 0; !w.st && i < nout; i++) {
        const cbx_array_desc *y = &w.out[i]->desc;
        CBX_CLEARED(cbx__traced) back = { 0 };
        cbx_array *ct = NULL, *one = NULL, **ops = NULL;
        bool *mapped = NULL, out_mapped = true;
        size_t count = 0;
        cbx__trace trace;
        cbx_scope scope;

        if (!cbx__has_tangent(y->dtype)) {
            w.st = cbx_fail(&w.err, CBX_EDTYPE, "'%s' of result %zu, which is %s: it has no derivative", d->of.name, i,
                            cbx_dtype_name(y->dtype));
            break;
        }
        w.st = cbx__trace_begin(ctx, d->of.name, true, &trace, &w.err);
        if (w.st) break;
        cbx_scope_open(ctx, &scope);
        w.st = cbx__trace_input(&trace, y, &ct, &w.err);
        for (size_t k = 0; k < w.nout; k++) w.ct[k] = k == i ? ct : NULL;
        if (!w.st) transpose(&w, w.ct, w.din);
        if (!w.st) w.st = cbx_ctx_pending(ctx, &w.err);
        w.st = cbx__trace_end(&trace, w.st, 1, &w.din[operand], &back, &w.err);
        cbx_scope_close(&scope, NULL);
        cbx_array_free(ct);
        ops = space(&w, 1 + back.ncaptured, sizeof *ops);
        mapped = space(&w, 1 + back.ncaptured, sizeof *mapped);
        if (!w.st) {
            ops[0] = basis(ctx, y, &count);
            mapped[0] = true;
            for (size_t k = 0; k < back.ncaptured; k++) ops[k + 1] = back.captured[k];
            w.st = cbx_ctx_pending(ctx, &w.err);
        }
        if (!w.st) w.st = cbx__graph_batch(ctx, back.graph, count, ops, mapped, &one, &out_mapped, &w.err);
        if (!w.st) {
            one = cbx_scope_hold(ctx, one);
            one = cbx__spread(ctx, one, out_mapped, count);
            out[i] = unfold(ctx, one, y, &in[operand]->desc, false);
        }
    }
    return CBX_OK;
}

static cbx_status make_jacobian(cbx_ctx *ctx, const char *what, cbx_array_fn call, const cbx_fn *f, size_t argnum,
                                cbx_fn **out, cbx_err *err)
{
    const cbx_status st = cbx__fn_check(what, f, err);
    return st ? st : derive(ctx, what, call, f, 1, &argnum, false, f->nin, f->nout, out, err);
}

cbx_status cbx_jacfwd(cbx_ctx *ctx, const cbx_fn *f, size_t argnum, cbx_fn **out, cbx_err *err)
{
    return make_jacobian(ctx, "jacfwd", call_jacfwd, f, argnum, out, err);
}

cbx_status cbx_jacrev(cbx_ctx *ctx, const cbx_fn *f, size_t argnum, cbx_fn **out, cbx_err *err)
{
    return make_jacobian(ctx, "jacrev", call_jacrev, f, argnum, out, err);
}

/* Forward over reverse. */
cbx_status cbx_hessian(cbx_ctx *ctx, const cbx_fn *f, size_t argnum, cbx_fn **out, cbx_err *err)
{
    cbx_fn *g = NULL;
    cbx_status st = make_grad(ctx, "hessian", f, 1, &argnum, false, &g, err);

    if (!st) st = cbx_jacfwd(ctx, g, argnum, out, err);
    cbx_fn_free(g);
    return st;
}

/* (in..., v) to the tangent of the gradient along v */
CBX__BODY(call_hessian_vector)
{
    const cbx_fn *f = user; /* jvp of grad: gives the gradient, too */
    cbx_array *both[2];
    const cbx_status st = cbx_fn_call(ctx, f, nin, in, 2, both);

    out[0] = both[1];
    return st;
}

static void release_fn(void *user) { cbx_fn_free(user); }

cbx_status cbx_hessian_vector(cbx_ctx *ctx, const cbx_fn *f, size_t argnum, cbx_fn **out, cbx_err *err)
{
    cbx_fn *g = NULL, *j = NULL;
    cbx_status st = make_grad(ctx, "hessian_vector", f, 1, &argnum, false, &g, err);

    if (!st) st = cbx_jvp(ctx, g, 1, &argnum, &j, err);
    if (!st)
        st = cbx_fn_create(ctx, &(cbx_fn){ "hessian_vector", call_hessian_vector, j, f->nin + 1, 1, NULL }, release_fn,
                           out, err);
    if (st) cbx_fn_free(j);
    cbx_fn_free(g);
    return st;
}

/* ---- batches ---- */

typedef struct batched {
    cbx__closure of;
    int axes[]; /* of f->nin operands, of f->nout results */
} batched;

/*
 * Mapped operands with the batch on axis 0; false, with a failure recorded, if they do not make one
 * batch.
 */
static bool line_up(cbx_ctx *ctx, const batched *v, cbx_array *const *in, cbx_array **moved, bool *mapped,
                    size_t *length)
{
    size_t first = SIZE_MAX;

    for (size_t i = 0; i < v->of.f->nin; i++) {
        const cbx_array_desc *d = &in[i]->desc;
        int axis = v->axes[i];
        moved[i] = in[i];
        mapped[i] = axis != CBX_NOT_MAPPED;
        if (!mapped[i]) continue;
        if (axis < -d->ndim || axis >= d->ndim)
            return cbx__refused(ctx, CBX_EINVAL, "'%s' maps axis %d of operand %zu, which is %s", v->of.name, axis, i,
                                CBX__DESC_TEXT(d));
        if (axis < 0) axis += d->ndim;
        if (first == SIZE_MAX) {
            first = i;
            *length = d->shape[axis];
        }
        if (d->shape[axis] != *length)
            return cbx__refused(
                ctx, CBX_ESHAPE, "'%s' maps axis %d of %s and axis %d of %s: mapped axes must be equally long",
                v->of.name, v->axes[first], CBX__DESC_TEXT(&in[first]->desc), v->axes[i], CBX__DESC_TEXT(d));
        moved[i] = cbx_moveaxis(ctx, in[i], axis, 0);
        if (cbx_array_is_failed(moved[i])) return false;
    }
    return true;
}

static cbx_array *put_axis(cbx_ctx *ctx, const batched *v, size_t i, cbx_array *r, bool mapped, size_t length)
{
    const int axis = v->axes[v->of.f->nin + i];

    if (axis == CBX_NOT_MAPPED) {
        if (!mapped) return r;
        return cbx__refuse(ctx, CBX_EINVAL, "result %zu of '%s' differs over the batch: it needs an axis for it", i,
                           v->of.name);
    }
    r = cbx__spread(ctx, r, mapped, length);
    if (cbx_array_is_failed(r) || (axis >= -r->desc.ndim && axis < r->desc.ndim)) return cbx_moveaxis(ctx, r, 0, axis);
    return cbx__refuse(ctx, CBX_EINVAL, "'%s' puts the batch on axis %d of result %zu, which is %s", v->of.name, axis,
                       i, CBX__DESC_TEXT(&r->desc));
}

CBX__BODY(call_batched)
{
    const batched *v = user;
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    cbx_err err = CBX_ERR_INIT;
    CBX_CLEARED(cbx__traced) f = { 0 };
    size_t length = 0, n;
    cbx_status st;
    cbx_array **moved = cbx_arena_calloc(&arena, nin + 1, sizeof *moved), **all = NULL;
    bool *mapped = cbx_arena_calloc(&arena, nin + 1, sizeof *mapped), *all_mapped = NULL;
    bool *out_mapped = cbx_arena_calloc(&arena, nout + 1, sizeof *out_mapped);
    cbx_array_desc *d = cbx_arena_calloc(&arena, nin + 1, sizeof *d);

    if (!moved || !mapped || !out_mapped || !d) {
        cbx__refuse(ctx, CBX_ENOMEM, "no memory for the operands of '%s'", v->of.name);
        return CBX_OK;
    }
    if (!line_up(ctx, v, in, moved, mapped, &length)) return CBX_OK;
    for (size_t i = 0; i < nin; i++) d[i] = mapped[i] ? cbx__element_desc(&moved[i]->desc) : moved[i]->desc;
    st = cbx__trace_fn(ctx, v->of.f, d, &f, &err);
    n = nin + f.ncaptured;
    all = cbx_arena_calloc(&arena, n + 1, sizeof *all);
    all_mapped = cbx_arena_calloc(&arena, n + 1, sizeof *all_mapped);
    if (!st && (!all || !all_mapped)) st = cbx_fail(&err, CBX_ENOMEM, "no memory for the operands of '%s'", v->of.name);
    for (size_t i = 0; !st && i < n; i++) {
        all[i] = i < nin ? moved[i] : f.captured[i - nin];
        all_mapped[i] = i < nin && mapped[i];
    }
    if (!st) st = cbx__graph_batch(ctx, f.graph, length, all, all_mapped, out, out_mapped, &err);
    for (size_t i = 0; !st && i < nout; i++)
        out[i] = put_axis(ctx, v, i, cbx_scope_hold(ctx, out[i]), out_mapped[i], length);
    if (st) cbx__refuse(ctx, st, "%s", err.message);
    return CBX_OK;
}

static cbx_status axes_check(const cbx_fn *f, const int *in_axes, cbx_err *err)
{
    bool any = false;

    for (size_t i = 0; i < f->nin; i++) any |= !in_axes || in_axes[i] != CBX_NOT_MAPPED;
    if (!any) return cbx_fail(err, CBX_EINVAL, "'vmap' of '%s' maps no operand: one must have an axis", f->name);
    return CBX_OK;
}

cbx_status cbx_vmap(cbx_ctx *ctx, const cbx_fn *f, const int *in_axes, const int *out_axes, cbx_fn **out, cbx_err *err)
{
    cbx_status st = cbx__fn_check("vmap", f, err);

    if (!st) st = axes_check(f, in_axes, err);
    if (!st)
        st = cbx__closure_create(ctx, "vmap", f, sizeof(batched) + (f->nin + f->nout) * sizeof *in_axes, call_batched,
                                 f->nin, f->nout, NULL, out, err);
    if (st) return st;
    batched *v = (*out)->user;
    if (in_axes) memcpy(v->axes, in_axes, f->nin * sizeof *in_axes);
    if (out_axes) memcpy(v->axes + f->nin, out_axes, f->nout * sizeof *out_axes);
    return CBX_OK;
}
