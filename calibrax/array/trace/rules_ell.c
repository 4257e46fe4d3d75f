/*
 * Derivatives and batches of products over graphs; those that they share with dense products are in
 * rules_semiring.c, those of functions in rules_formulas.c.
 */
#include <math.h>
#include <string.h>

#include "calibrax/array/ell_internal.h"
#include "calibrax/array/kernels/traits.h"
#include "calibrax/array/trace/rules_products.h"

#define MUL(a, b) cbx_multiply(c, a, b)
#define SUB(a, b) cbx_subtract(c, a, b)
#define ADD(a, b) cbx_add(c, a, b)

/* ---- softmax: dy = y (t - sum over the row of y t), which is symmetric ---- */

static cbx_array *softmax_vjp(cbx_ctx *c, const cbx_array *y, const cbx_array *h, const cbx_attrs *a)
{
    return cbx_apply(c, CBX_PRIM_ELL_SOFTMAX_VJP, 2, (const cbx_array *const[]){ y, h }, a);
}

void cbx__jvp_ell_softmax(cbx__jvp *r) { r->dt[0] = softmax_vjp(r->ctx, r->out[0], r->t[0], r->attrs); }

void cbx__transpose_ell_softmax_vjp(cbx__transpose *r)
{
    r->din[1] = softmax_vjp(r->ctx, r->in[0], r->ct[0], r->attrs);
}

/* h where there is an edge, 0 elsewhere: what lies there is not read. */
static cbx_array *at_edges(cbx_ctx *c, const cbx_ell *g, cbx_array *h)
{
    const cbx_array_desc d = { CBX_BOOL, 2, { g->rows, g->width } };
    cbx_array *is_edge = NULL;

    if (!g->place) return h;
    if (cbx_array_create(c, &d, &is_edge, cbx__sticky(c))) return cbx__array_failed();
    memset(is_edge->data, 0, cbx_array_bytes(is_edge));
    for (size_t e = 0; e < g->edges; e++) ((bool *)is_edge->data)[g->place[e]] = true;
    return cbx_where(c, cbx_scope_hold(c, is_edge), h, cbx_zeros_like(c, h));
}

/* Bilinear in h and, but for a square, in y. */
void cbx__jvp_ell_softmax_vjp(cbx__jvp *r)
{
    cbx_ctx *c = r->ctx;
    const cbx_array *y = r->in[0], *ty = r->t[0], *h;

    if (r->t[1]) r->dt[0] = softmax_vjp(c, y, r->t[1], r->attrs);
    if (!ty) return;
    h = at_edges(c, cbx__ell_of(r->attrs), r->in[1]);
    ty = SUB(MUL(ty, SUB(h, cbx_sum(c, MUL(y, h), CBX_AXIS_KEEP(-1)))),
             MUL(y, cbx_sum(c, MUL(ty, h), CBX_AXIS_KEEP(-1))));
    r->dt[0] = cbx__sum_of(c, r->dt[0], (cbx_array *)(uintptr_t)ty);
}

/* ---- values of entries ---- */

void cbx__transpose_ell_pack(cbx__transpose *r)
{
    cbx_ctx *c = r->ctx;
    const cbx_ell *g = cbx__ell_of(r->attrs);
    const size_t all = g->rows * g->width;
    const cbx_array_desc d = { CBX_I64, 1, { g->entries } };
    cbx_array *place = NULL;

    if (cbx_array_create(c, &d, &place, cbx__sticky(c))) {
        r->din[0] = cbx__array_failed();
        return;
    }
    for (size_t e = 0; e < g->entries; e++) ((int64_t *)place->data)[e] = g->entry[e];
    place = cbx_scope_hold(c, place);
    r->din[0] = cbx_apply(c, CBX_PRIM_TAKE, 2, (const cbx_array *const[]){ cbx__reshaped(c, r->ct[0], 1, &all), place },
                          &(cbx_attrs){ .axis = 0 });
}

/*
 * Derivatives of a product as a formula over edges e from column j(e) to row i(e), or the other
 * way round:
 *   c_i = fold of term(v_e, b_j); with p = dc_i / dterm: tc_i = sum of p (term_v tv_e +
 *   term_b tb_j)
 *   log        p = exp(term - c)
 *   euclidean  p = (v - b) / c, term = v - b
 *   optimum    p = 1 of the first edge whose term is c, else 0
 * It keeps all terms: (edges, columns of b) of memory.
 */
typedef struct terms {
    cbx_array *place, *from, *to; /* of each edge: in the values, the rows of b and of c */
    cbx_array *v, *b, *p;         /* (edges, 1), (edges, d), (edges, d) */
    bool scaled, differ;
} terms;

cbx_array *cbx__edge_list(cbx_ctx *c, const cbx_ell_product *g, cbx__edge_number what)
{
    const cbx_array_desc d = { CBX_I64, 1, { g->start[g->rows] } };
    cbx_array *made = NULL;

    if (cbx_array_create(c, &d, &made, cbx__sticky(c))) return cbx__array_failed();
    int64_t *number = made->data;
    for (size_t i = 0; i < g->rows; i++)
        for (size_t e = g->start[i]; e < g->start[i + 1]; e++)
            number[e] = what == CBX__EDGE_TO     ? (int64_t)i
                        : what == CBX__EDGE_FROM ? g->index[e]
                        : g->place               ? g->place[e]
                                                 : (int64_t)e;
    return cbx_scope_hold(c, made);
}

static cbx_array *taken(cbx_ctx *c, const cbx_array *x, const cbx_array *rows) { return cbx_take(c, x, rows, 0); }
cbx_array *cbx__edges_added(cbx_ctx *c, const cbx_array *like, const cbx_array *rows, const cbx_array *x)
{
    return cbx_apply(c, CBX_PRIM_SCATTER, 3, (const cbx_array *const[]){ cbx_zeros_like(c, like), rows, x },
                     &(cbx_attrs){ .mode = CBX_SCATTER_ADD });
}

cbx_array *cbx__first_optimum(cbx_ctx *c, const cbx_array *to, const cbx_array *term, const cbx_array *y)
{
    const int64_t n = (int64_t)term->desc.shape[0];
    const cbx_array *number = cbx_expand_dims(c, cbx_arange_int(c, 0, n, 1, CBX_I64), 1), *first;
    const cbx_array *none = cbx_full(c, 0, NULL, CBX_I64, cbx_int(n));
    const cbx_array *mine = cbx_where(c, cbx_equal(c, term, taken(c, y, to)), number, none);

    first = cbx_full(c, 2, y->desc.shape, CBX_I64, cbx_int(n));
    first = cbx_apply(c, CBX_PRIM_SCATTER, 3, (const cbx_array *const[]){ first, to, mine },
                      &(cbx_attrs){ .mode = CBX_SCATTER_MIN });
    return cbx_equal(c, taken(c, first, to), number);
}

cbx_array *cbx__edge_values(cbx_ctx *c, const cbx_array *values, const cbx_array *place)
{
    const size_t all = values->desc.shape[0] * values->desc.shape[1];
    return cbx_expand_dims(c, taken(c, cbx__reshaped(c, values, 1, &all), place), 1);
}

static terms terms_of(cbx_ctx *c, const cbx_attrs *attrs, cbx_array *const *in)
{
    const cbx__derivative how = cbx__traits_of[cbx__algebra_of(attrs)->id].derivative;
    cbx_ell_product g;
    terms t = { .scaled = attrs->axis & CBX__ELL_SCALED, .differ = how == CBX__BY_DIFFERENCES };
    const cbx_array *term, *y;

    cbx_ell_view(cbx__ell_of(attrs), attrs->axis & CBX__ELL_TRANSPOSED, &g);
    t.place = cbx__edge_list(c, &g, CBX__EDGE_PLACE);
    t.from = cbx__edge_list(c, &g, CBX__EDGE_FROM);
    t.to = cbx__edge_list(c, &g, CBX__EDGE_TO);
    t.v = cbx__edge_values(c, in[A], t.place);
    t.b = taken(c, in[B], t.from);
    y = taken(c, in[C], t.to);
    term = t.scaled ? MUL(t.v, t.b) : t.differ ? SUB(t.v, t.b) : ADD(t.v, t.b);
    if (how == CBX__BY_OPTIMUM) {
        t.p = cbx__as(c, cbx__first_optimum(c, t.to, term, in[C]), term->desc.dtype);
    } else if (t.differ) {
        t.p = cbx__over_distance(c, term, y);
    } else {
        const cbx_array *hidden = cbx_equal_scalar(c, y, -(double)INFINITY), *zero = cbx_zeros_like(c, y);
        t.p = cbx_where(c, hidden, zero, cbx_exp(c, SUB(term, cbx_where(c, hidden, zero, y))));
    }
    return t;
}

CBX__CODE(c, cbx__ell_forward)
{
    const terms t = terms_of(c, user, in);
    cbx_array *tv = cbx__edge_values(c, in[TA], t.place), *tb = taken(c, in[TB], t.from);

    if (t.scaled) tv = MUL(tv, t.b), tb = MUL(tb, t.v);
    out[0] = cbx__edges_added(c, in[C], t.to, MUL(t.p, t.differ ? SUB(tv, tb) : ADD(tv, tb)));
    return CBX_OK;
}

CBX__CODE(c, cbx__ell_backward)
{
    const terms t = terms_of(c, user, in);
    const size_t *shape = in[A]->desc.shape, all = shape[0] * shape[1];
    cbx_array *g = MUL(t.p, taken(c, in[G], t.to)), *db = t.scaled ? MUL(g, t.v) : t.differ ? cbx_negative(c, g) : g;
    cbx_array *dv = cbx_sum(c, t.scaled ? MUL(g, t.b) : g, CBX_AXIS(1));

    out[0] = cbx__reshaped(c, cbx__edges_added(c, cbx__reshaped(c, in[A], 1, &all), t.place, dv), 2, shape);
    out[1] = cbx__edges_added(c, in[B], t.from, db);
    return CBX_OK;
}

/* ---- batches of a product: columns side by side, unless the values differ ---- */

/* (batch, n, d), or (n, d) for all, as (n, batch d) */
static cbx_array *side_by_side(const cbx__batch *r, size_t i)
{
    cbx_ctx *c = r->ctx;
    const cbx_array *x = r->in[i];

    if (r->mapped[i])
        x = cbx_moveaxis(c, x, 0, 1);
    else
        x = cbx__to_shape(c, cbx_expand_dims(c, x, 1), 3,
                          (const size_t[]){ x->desc.shape[0], r->length, x->desc.shape[1] });
    if (cbx_array_is_failed(x)) return cbx__array_failed();
    return cbx__reshaped(c, x, 2, (const size_t[]){ x->desc.shape[0], x->desc.shape[1] * x->desc.shape[2] });
}

void cbx__batch_ell(cbx__batch *r)
{
    enum { VALUES = A, TANGENT_OF_VALUES = TA };
    cbx_ctx *c = r->ctx;
    cbx_array *in[OPERANDS], *y;

    if (r->mapped[VALUES] || (r->nin == OPERANDS && r->mapped[TANGENT_OF_VALUES])) {
        cbx__batch_loop(r);
        return;
    }
    for (size_t i = 0; i < r->nin; i++) in[i] = i == VALUES || i == TANGENT_OF_VALUES ? r->in[i] : side_by_side(r, i);
    y = cbx_apply(c, r->prim, r->nin, (const cbx_array *const *)in, r->attrs);
    if (cbx_array_is_failed(y)) {
        r->out[0] = y;
        return;
    }
    const cbx_array_desc *b = &r->in[1]->desc;
    const size_t shape[] = { y->desc.shape[0], r->length, b->shape[b->ndim - 1] };
    r->out[0] = cbx_moveaxis(c, cbx__reshaped(c, y, 3, shape), 1, 0);
}
