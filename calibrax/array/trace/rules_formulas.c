/*
 * Derivatives of algebras and of messages along edges that are given by functions: those of the
 * formulas, array expressions that their users give beside them.  A product is a scan over its
 * terms, of which reverse mode keeps what its steps need.  Messages are made for all edges at once.
 */
#include <string.h>

#include "calibrax/array/kernels/traits.h"
#include "calibrax/array/trace/rules_products.h"
#include "calibrax/array/transform.h"

/* ---- folds ---- */

typedef struct fold {
    const cbx_semiring *s;
    int ndim; /* of the product */
    const size_t *shape;
    size_t nterm; /* 1: a term; 2: what combine makes one of */
} fold;

/* (states..., term or its operands, and whether there is one) to states */
static CBX__CODE(c, fold_step)
{
    const fold *f = user;
    const cbx_semiring_functions *by = f->s->functions;
    const cbx_fn combine = { f->s->name, by->formulas->combine, by->user, 2, 1, NULL },
                 update = { f->s->name, by->formulas->update, by->user, nout + 1, nout, NULL };
    cbx_array *all[CBX_SEMIRING_STATES + 2];

    memcpy(all, in, nout * sizeof *all);
    for (size_t i = nout; i < nout + f->nterm; i++) all[i] = cbx__to_shape(c, in[i], f->ndim, f->shape);
    if (f->nterm == 2) cbx_fn_call(c, &combine, 2, all + nout, 1, all + nout);
    cbx_fn_call(c, &update, nout + 1, all, nout, out);
    for (size_t i = 0; nin > nout + f->nterm && i < nout; i++) out[i] = cbx_where(c, in[nin - 1], out[i], in[i]);
    return CBX_OK;
}

/* xs (terms, ...): as fold_step says; what is behind their first axis broadcasts to the product. */
static cbx_array *folded(cbx_ctx *c, const fold *f, size_t nxs, cbx_array *const *xs)
{
    const cbx_semiring_functions *by = f->s->functions;
    const size_t n = by->formulas->states;
    const cbx_fn step = { f->s->name, fold_step, (void *)(uintptr_t)f, n + nxs, n, NULL },
                 finish = { f->s->name, by->formulas->finish, by->user, n, 1, NULL };
    cbx_array *states[CBX_SEMIRING_STATES], *y = cbx__array_failed();

    for (size_t i = 0; i < n; i++)
        states[i] = cbx_full(c, f->ndim, f->shape, by->dtype, cbx_float(by->formulas->start[i]));
    cbx_scan(c, &step, n, states, nxs, xs, CBX_LENGTH_OF_XS, false, states);
    cbx_fn_call(c, &finish, n, states, 1, &y);
    return y;
}

/* ---- dense products ---- */

cbx_array *cbx__product_by_formulas(cbx_ctx *c, const cbx_semiring *s, const cbx_array *a, const cbx_array *b,
                                    const cbx_array *inside)
{
    const int ndim = a->desc.ndim;
    size_t shape[CBX_MAX_RANK];
    const fold f = { s, ndim, shape, 2 };
    cbx_array *xs[3] = { cbx_expand_dims(c, cbx_moveaxis(c, a, -1, 0), -1),
                         cbx_expand_dims(c, cbx_moveaxis(c, b, -2, 0), -2) };

    if (cbx_array_is_failed(a) || cbx_array_is_failed(b)) return cbx__array_failed();
    memcpy(shape, a->desc.shape, sizeof shape);
    shape[ndim - 1] = b->desc.shape[ndim - 1];
    if (inside) xs[2] = cbx_expand_dims(c, cbx_moveaxis(c, inside, -1, 0), -1);
    return folded(c, &f, inside ? 3 : 2, xs);
}

CBX__CODE(c, cbx__matmul_by_formulas)
{
    out[0] = cbx__product_by_formulas(c, cbx__algebra_of(user), in[A], in[B], NULL);
    return CBX_OK;
}

/* ---- over edges ---- */

/* x (edges, d) as (most edges of a row, rows, d), and which of these are edges; false, with a
 * failure recorded. */
static bool by_rows(cbx_ctx *c, const cbx_ell_product *g, size_t n, cbx_array **x, cbx_array **inside)
{
    size_t max = 0;
    cbx_array *number = NULL;

    for (size_t i = 0; i < g->rows; i++)
        if (g->start[i + 1] - g->start[i] > max) max = g->start[i + 1] - g->start[i];
    if (cbx_array_create(c, &(cbx_array_desc){ CBX_I64, 2, { max, g->rows } }, &number, cbx__sticky(c))) return false;
    number = cbx_scope_hold(c, number);
    if (cbx_array_create(c, &(cbx_array_desc){ CBX_BOOL, 3, { max, g->rows, 1 } }, inside, cbx__sticky(c)))
        return false;
    *inside = cbx_scope_hold(c, *inside);
    if (cbx_array_is_failed(number) || cbx_array_is_failed(*inside)) return false;
    for (size_t q = 0; q < max; q++)
        for (size_t i = 0; i < g->rows; i++) {
            const bool is_edge = q < g->start[i + 1] - g->start[i];
            ((int64_t *)number->data)[q * g->rows + i] = is_edge ? (int64_t)(g->start[i] + q) : 0;
            ((bool *)(*inside)->data)[q * g->rows + i] = is_edge;
        }
    for (size_t k = 0; k < n; k++) x[k] = cbx_take(c, x[k], number, 0);
    return true;
}

CBX__CODE(c, cbx__ell_by_formulas)
{
    const cbx_attrs *attrs = user;
    cbx_ell_product g;
    cbx_array *xs[3];

    cbx_ell_view(cbx__ell_of(attrs), attrs->axis & CBX__ELL_TRANSPOSED, &g);
    xs[0] = cbx__edge_values(c, in[A], cbx__edge_list(c, &g, CBX__EDGE_PLACE));
    xs[1] = cbx_take(c, in[B], cbx__edge_list(c, &g, CBX__EDGE_FROM), 0);
    const size_t nterm = attrs->axis & CBX__ELL_SCALED ? 1 : 2, shape[] = { g.rows, in[B]->desc.shape[1] };
    if (nterm == 1) xs[0] = cbx_multiply(c, xs[0], xs[1]);
    if (by_rows(c, &g, nterm, xs, &xs[nterm]))
        out[0] = folded(c, &(fold){ cbx__algebra_of(attrs), 2, shape, nterm }, nterm + 1, xs);
    return CBX_OK;
}

/* ---- functions of an edge ---- */

enum { MAX_OPERANDS = 2 * CBX__EDGE_OPERANDS };

/* Operands that are given. */
static size_t given(const cbx_attrs *a)
{
    size_t n = 0;
    for (int r = 0; r < CBX__EDGE_OPERANDS; r++) n += (size_t)(a->axis >> r & 1);
    return n;
}

/* (edges, d_out) */
static cbx_array *messages(cbx_ctx *c, const cbx_attrs *attrs, const cbx_ell_product *g, cbx_array *const *in)
{
    const cbx_ell_edge_functions *f = cbx__ell_edge_of(attrs);
    const cbx_fn one = { "the formula of an edge", f->formula, f->user, given(attrs), 1, NULL };
    cbx_array *x[CBX__EDGE_OPERANDS], *m = cbx__array_failed();
    cbx_fn *all = NULL;
    size_t n = 0;

    for (int role = 0; role < CBX__EDGE_OPERANDS; role++) {
        static const cbx__edge_number of[] = { CBX__EDGE_TO, CBX__EDGE_FROM, CBX__EDGE_PLACE };
        if (!(attrs->axis >> role & 1)) continue;
        const size_t *s = in[n]->desc.shape,
                     flat[] = { role == CBX__ATTR ? s[0] * s[1] : s[0], s[role == CBX__ATTR ? 2 : 1] };
        x[n] = cbx_take(c, cbx__reshaped(c, in[n], 2, flat), cbx__edge_list(c, g, of[role]), 0);
        n++;
    }
    if (!cbx_vmap(c, &one, NULL, NULL, &all, cbx__sticky(c))) cbx_fn_call(c, all, n, x, 1, &m);
    cbx_fn_free(all);
    return cbx__to_shape(c, m, 2, (const size_t[]){ g->start[g->rows], f->d_out });
}

/* ELL_EDGE; rows without edges, which do not move, are 0 here */
static CBX__CODE(c, edges)
{
    const cbx_semiring *s = cbx__algebra_of(user);
    const cbx__messages how = s->functions ? CBX__MESSAGES_NONE : cbx__traits_of[s->id].messages;
    cbx_array *m, *to, *zeros, *best, *inside;
    cbx_ell_product g;

    cbx_ell_view(cbx__ell_of(user), false, &g);
    m = messages(c, user, &g, in);
    if (cbx_array_is_failed(m)) return CBX_OK;
    const size_t shape[] = { g.rows, m->desc.shape[1] };
    if (s->functions) {
        if (by_rows(c, &g, 1, &m, &inside))
            out[0] = folded(c, &(fold){ s, 2, shape, 1 }, 2, (cbx_array *const[]){ m, inside });
        return CBX_OK;
    }
    to = cbx__edge_list(c, &g, CBX__EDGE_TO);
    zeros = cbx_zeros(c, 2, shape, m->desc.dtype);
    if (how != CBX__MESSAGES_ADD) { /* what is chosen does not move */
        best = cbx_full(c, 2, shape, m->desc.dtype, cbx_float(s->identity));
        best = cbx_scatter(c, best, to, cbx_stop_gradient(c, m), 0,
                           how == CBX__MESSAGES_MIN ? CBX_SCATTER_MIN : CBX_SCATTER_MAX);
        m = cbx_where(c, cbx__first_optimum(c, to, m, best), m, cbx_zeros_like(c, m));
    }
    out[0] = cbx__edges_added(c, zeros, to, m);
    return CBX_OK;
}

/* ELL_EDGE_JVP: (operands..., tangents...) */
static CBX__CODE(c, edges_forward)
{
    cbx_fn *d = NULL;
    cbx_array *both[2];
    cbx_status st = cbx_jvp(c, CBX_FN(edges, user, nin / 2, 1), 0, NULL, &d, NULL);

    if (!st) st = cbx_fn_call(c, d, nin, in, 2, both);
    if (!st) out[0] = both[1];
    cbx_fn_free(d);
    return st;
}

/* ELL_EDGE_VJP: (operands..., cotangent) */
static CBX__CODE(c, edges_backward)
{
    const cbx_attrs *attrs = user;
    cbx_fn *d = NULL;
    cbx_array *all[1 + CBX__EDGE_OPERANDS];
    cbx_status st = cbx_vjp(c, CBX_FN(edges, user, nin - 1, 1), 0, NULL, &d, NULL);
    size_t at = 1;

    if (!st) st = cbx_fn_call(c, d, nin, in, nin, all);
    for (int role = 0; !st && role < CBX__EDGE_OPERANDS; role++)
        out[role] = attrs->axis >> role & 1 ? all[at++] : cbx_zeros(c, 1, (const size_t[]){ 0 }, in[0]->desc.dtype);
    cbx_fn_free(d);
    return st;
}

/* The kernels, which call vjp and jvp; where one is missing, or the algebra has none, the
 * formula. */
void cbx__jvp_ell_edge(cbx__jvp *r)
{
    const cbx_ell_edge_functions *f = cbx__ell_edge_of(r->attrs);
    const cbx_semiring *s = cbx__algebra_of(r->attrs);
    const cbx_array *in[MAX_OPERANDS];

    if (f->formula && (s->functions ? cbx__has_formulas(s) : !f->vjp || !f->jvp)) {
        cbx__by_formula(r, edges);
        return;
    }
    if (s->functions) {
        cbx__refuse(r->ctx, CBX_EUNSUPPORTED,
                    "'ell_edge' over '%s' has no derivative: give its functions, and those of an edge, formulas",
                    s->name);
        return;
    }
    for (size_t i = 0; i < r->nin; i++) {
        in[i] = r->in[i];
        in[r->nin + i] = r->t[i] ? r->t[i] : cbx_zeros_like(r->ctx, r->in[i]);
    }
    r->dt[0] = cbx_apply(r->ctx, CBX_PRIM_ELL_EDGE_JVP, 2 * r->nin, in, r->attrs);
}

void cbx__transpose_ell_edge_jvp(cbx__transpose *r)
{
    const size_t n = given(r->attrs);
    const cbx_array *in[MAX_OPERANDS];
    cbx_array *d[CBX__EDGE_OPERANDS];
    size_t at = n;

    memcpy(in, r->in, n * sizeof *in);
    in[n] = r->ct[0];
    cbx_apply_all(r->ctx, CBX_PRIM_ELL_EDGE_VJP, n + 1, in, r->attrs, d);
    for (int role = 0; role < CBX__EDGE_OPERANDS; role++) {
        if (!(r->attrs->axis >> role & 1)) continue;
        if (!r->in[at]) r->din[at] = d[role];
        at++;
    }
}

void cbx__transpose_ell_edge_vjp(cbx__transpose *r)
{
    const size_t n = given(r->attrs);
    const cbx_array *in[MAX_OPERANDS];
    size_t at = 0;

    for (int role = 0; role < CBX__EDGE_OPERANDS; role++) {
        if (!(r->attrs->axis >> role & 1)) continue;
        in[at] = r->in[at];
        in[n + at] = r->ct[role] ? r->ct[role] : cbx__zeros_of(r->ctx, r->desc[at]);
        at++;
    }
    r->din[n] = cbx_apply(r->ctx, CBX_PRIM_ELL_EDGE_JVP, 2 * n, in, r->attrs);
}

/* Linear in what follows the operands; these move by the formula. */
static void second(cbx__jvp *r, cbx_array_fn formula)
{
    const size_t n = given(r->attrs);
    const cbx_array *in[MAX_OPERANDS];

    for (size_t i = 0; i < n; i++) {
        if (!r->t[i]) continue;
        if (cbx__ell_edge_of(r->attrs)->formula)
            cbx__by_formula(r, formula);
        else
            cbx__refuse(
                r->ctx, CBX_EUNSUPPORTED,
                "'%s' has no derivative in operand %zu: functions of an edge without 'formula' have first ones alone",
                cbx_prim_name(r->prim), i);
        return;
    }
    for (size_t i = 0; i < r->nin; i++) in[i] = i < n ? r->in[i] : r->t[i] ? r->t[i] : cbx_zeros_like(r->ctx, r->in[i]);
    cbx_apply_all(r->ctx, r->prim, r->nin, in, r->attrs, r->dt);
}
void cbx__jvp_ell_edge_vjp(cbx__jvp *r) { second(r, edges_backward); }
void cbx__jvp_ell_edge_jvp(cbx__jvp *r) { second(r, edges_forward); }
