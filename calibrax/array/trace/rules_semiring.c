/*
 * Derivatives of products and convolutions over an algebra.
 *
 * The first one is an operation of its own, with a kernel; it is linear in its tangents, and its
 * transpose is the other one.  Second derivatives go through the same formulas as expressions of
 * ordinary operations:
 *   real       products of matrices
 *   log        sum over k of p (ta + tb), p = exp(a + b - c), a column of the product at a time:
 *              (m, k) of memory
 *   euclidean  sum over k of (a - b) (ta - tb) / c, by products of matrices
 *   tropical   none are needed: what is chosen does not move, so tangents of a, b and c do
 *              not matter
 *   over graphs  the partial derivatives of every edge's term (rules_ell.c)
 *   functions  both by formulas of the user (rules_formulas.c)
 * Convolutions are the product of windows, laid out as rows of a matrix, with the filter.
 */
#include <math.h>
#include <string.h>

#include "calibrax/array/ell_internal.h"
#include "calibrax/array/kernels/traits.h"
#include "calibrax/array/trace/rules_products.h"
#include "calibrax/array/transform.h"

#define MUL(a, b)     cbx_multiply(c, a, b)
#define SUB(a, b)     cbx_subtract(c, a, b)
#define ADD(a, b)     cbx_add(c, a, b)
#define PRODUCT(a, b) cbx_matrix_product(c, a, b)

/* ---- first derivatives ---- */

static void first(cbx__jvp *r, cbx_prim jvp, cbx_array_fn formula)
{
    cbx_ctx *c = r->ctx;
    const cbx_semiring *s = cbx__algebra_of(r->attrs);
    cbx_attrs attrs = *r->attrs;
    const cbx_array *in[OPERANDS] = { r->in[A], r->in[B], r->out[0] };

    if (cbx__has_formulas(s)) {
        cbx__by_formula(r, formula);
        return;
    }
    if (s->functions || cbx__traits_of[s->id].derivative == CBX__NO_DERIVATIVE) {
        cbx__refuse(c, CBX_EUNSUPPORTED, "'%s' over '%s' has no derivative%s", cbx_prim_name(r->prim), s->name,
                    s->functions ? ": give its functions formulas" : "");
        return;
    }
    if (attrs.keep) { /* squares of distances: 2 (a - b), which is (a - b) over a distance of 1/2 */
        in[C] = cbx_full_like(c, r->out[0], cbx_float(0.5));
        attrs.keep = 0;
    }
    for (int i = 0; i < 2; i++) in[TA + i] = r->t[i] ? r->t[i] : cbx_zeros_like(c, r->in[i]);
    r->dt[0] = cbx_apply(c, jvp, OPERANDS, in, &attrs);
}
/* Cotangents of both tangents, of which one may be known. */
static void back_of_jvp(cbx__transpose *r, cbx_prim vjp)
{
    cbx_array *d[2];

    cbx_apply_all(r->ctx, vjp, 4, (const cbx_array *const[]){ r->in[A], r->in[B], r->in[C], r->ct[0] }, r->attrs, d);
    for (int i = 0; i < 2; i++)
        if (!r->in[TA + i]) r->din[TA + i] = d[i];
}
void cbx__transpose_semiring_matmul_jvp(cbx__transpose *r) { back_of_jvp(r, CBX_PRIM_SEMIRING_MATMUL_VJP); }
void cbx__transpose_semiring_conv_jvp(cbx__transpose *r) { back_of_jvp(r, CBX_PRIM_SEMIRING_CONV_VJP); }
void cbx__transpose_ell_matmul_jvp(cbx__transpose *r) { back_of_jvp(r, CBX_PRIM_ELL_MATMUL_VJP); }

/* Linear in g. */
static void back_of_vjp(cbx__transpose *r, cbx_prim jvp)
{
    const cbx_array *in[OPERANDS] = { r->in[A], r->in[B], r->in[C] };

    for (int i = 0; i < 2; i++) in[TA + i] = r->ct[i] ? r->ct[i] : cbx__zeros_of(r->ctx, r->desc[i]);
    r->din[G] = cbx_apply(r->ctx, jvp, OPERANDS, in, r->attrs);
}
void cbx__transpose_semiring_matmul_vjp(cbx__transpose *r) { back_of_vjp(r, CBX_PRIM_SEMIRING_MATMUL_JVP); }
void cbx__transpose_semiring_conv_vjp(cbx__transpose *r) { back_of_vjp(r, CBX_PRIM_SEMIRING_CONV_JVP); }

/* Linear in h, or, of the real algebra (below), in values and b: then it is its own transpose. */
void cbx__transpose_ell_matmul_vjp(cbx__transpose *r)
{
    const cbx_array *in[4] = { NULL, NULL, r->in[C], r->in[G] };
    cbx_array *d[2];

    if (!r->in[G]) {
        back_of_vjp(r, CBX_PRIM_ELL_MATMUL_JVP);
        return;
    }
    for (int i = 0; i < 2; i++) in[i] = r->ct[i] ? r->ct[i] : cbx__zeros_of(r->ctx, r->desc[i]);
    cbx_apply_all(r->ctx, r->prim, 4, in, r->attrs, d);
    for (int i = 0; i < 2; i++)
        if (!r->in[i]) r->din[i] = d[i];
}

/* ---- the formulas: a (batch, m, k), b (batch, k, n), c, g (batch, m, n) ---- */

static cbx_array *transposed(cbx_ctx *c, const cbx_array *x) { return cbx_matrix_transpose(c, x); }
static cbx_array *sum_kept(cbx_ctx *c, const cbx_array *x, int axis) { return cbx_sum(c, x, CBX_AXIS_KEEP(axis)); }

/* p of one column: a (batch, m, k), b (batch, k), y (batch, m); 0 where y is -inf */
static cbx_array *weights(cbx_ctx *c, const cbx_array *a, const cbx_array *b, const cbx_array *y)
{
    const cbx_array *column = cbx_expand_dims(c, y, -1), *hidden = cbx_equal_scalar(c, column, -(double)INFINITY);
    cbx_array *p = SUB(ADD(a, cbx_expand_dims(c, b, -2)), cbx_where(c, hidden, cbx_zeros_like(c, column), column));

    p = cbx_exp(c, p);
    return cbx_where(c, hidden, cbx_zeros_like(c, p), p);
}

typedef struct captured {
    cbx_array *a, *ta;
} captured;

/* (b, y, tb) of a column to the tangent of y */
static CBX__CODE(c, forward_column)
{
    const captured *k = user;

    out[0] = cbx_sum(c, MUL(weights(c, k->a, in[0], in[1]), ADD(k->ta, cbx_expand_dims(c, in[2], -2))), CBX_AXIS(-1));
    return CBX_OK;
}
/* (da; b, y, g) to (da, db) */
static CBX__CODE(c, backward_column)
{
    const captured *k = user;
    cbx_array *w = MUL(weights(c, k->a, in[1], in[2]), cbx_expand_dims(c, in[3], -1));

    out[0] = ADD(in[0], w);
    out[1] = cbx_sum(c, w, CBX_AXIS(-2));
    return CBX_OK;
}

/*
 * x / y of a distance, 0 where it is not larger than four times the smallest normal number, as in
 * the kernel
 */
cbx_array *cbx__over_distance(cbx_ctx *c, const cbx_array *x, const cbx_array *y)
{
    const double tiny = y->desc.dtype == CBX_F32 ? 4 * 0x1p-126 : 4 * 0x1p-1022;
    const cbx_array *far = cbx_greater_scalar(c, y, tiny);

    return cbx_where(c, far, cbx_divide(c, x, cbx_where(c, far, y, cbx_ones_like(c, y))), cbx_zeros_like(c, y));
}

static cbx_array *forward(cbx_ctx *c, cbx__derivative how, cbx_array *const in[OPERANDS])
{
    cbx_array *a = in[A], *b = in[B], *ta = in[TA], *tb = in[TB], *t = NULL;

    if (how == CBX__BY_PRODUCTS) return ADD(PRODUCT(ta, b), PRODUCT(a, tb));
    if (how == CBX__BY_DIFFERENCES) {
        t = ADD(sum_kept(c, MUL(a, ta), -1), sum_kept(c, MUL(b, tb), -2));
        return cbx__over_distance(c, SUB(t, ADD(PRODUCT(ta, b), PRODUCT(a, tb))), in[C]);
    }
    cbx_scan(
        c, CBX_FN(forward_column, (&(captured){ a, ta }), 3, 1), 0, NULL, 3,
        (cbx_array *const[]){ cbx_moveaxis(c, b, -1, 0), cbx_moveaxis(c, in[C], -1, 0), cbx_moveaxis(c, tb, -1, 0) },
        CBX_LENGTH_OF_XS, false, &t);
    return cbx_moveaxis(c, t, 0, -1);
}

static void backward(cbx_ctx *c, cbx__derivative how, cbx_array *const in[4], cbx_array *d[2])
{
    cbx_array *a = in[A], *b = in[B], *w = in[G];

    if (how == CBX__BY_SCALED_PRODUCTS) {
        cbx_array *start = cbx_zeros_like(c, a);
        cbx_scan(
            c, CBX_FN(backward_column, (&(captured){ a, NULL }), 4, 2), 1, &start, 3,
            (cbx_array *const[]){ cbx_moveaxis(c, b, -1, 0), cbx_moveaxis(c, in[C], -1, 0), cbx_moveaxis(c, w, -1, 0) },
            CBX_LENGTH_OF_XS, false, d);
        d[1] = cbx_moveaxis(c, d[1], 0, -1);
        return;
    }
    if (how == CBX__BY_DIFFERENCES) w = cbx__over_distance(c, w, in[C]);
    d[0] = PRODUCT(w, transposed(c, b));
    d[1] = PRODUCT(transposed(c, a), w);
    if (how == CBX__BY_PRODUCTS) return;
    d[0] = SUB(MUL(a, sum_kept(c, w, -1)), d[0]);
    d[1] = SUB(MUL(b, sum_kept(c, w, -2)), d[1]);
}

/* ---- windows: x (batch, lengths..., channels) as rows of one matrix, and back ---- */

typedef struct window {
    cbx_ctx *c;
    const cbx_attrs *attrs;
    int n; /* axes to slide along */
    size_t batch, channels, outs, rows, terms;
    size_t length[CBX_MAX_RANK], padded[CBX_MAX_RANK], taps[CBX_MAX_RANK];
} window;

static window window_of(cbx_ctx *c, const cbx_attrs *attrs, const cbx_array *x, const cbx_array *filter)
{
    const int n = attrs->ndim;
    window w = { .c = c, .attrs = attrs, .n = n, .batch = x->desc.shape[0], .channels = x->desc.shape[n + 1] };

    w.outs = filter->desc.shape[n + 1];
    w.rows = w.batch, w.terms = w.channels;
    for (int i = 0; i < n; i++) {
        const size_t reach = attrs->shape[i] && filter->desc.shape[i]
                                 ? (attrs->shape[i] - 1) * (size_t)attrs->step[i] +
                                       (filter->desc.shape[i] - 1) * (size_t)attrs->axes[i] + 1
                                 : 0;
        w.length[i] = x->desc.shape[i + 1], w.taps[i] = filter->desc.shape[i];
        w.padded[i] = w.length[i] + (size_t)attrs->start[i];
        if (reach > w.padded[i]) w.padded[i] = reach;
        w.rows *= attrs->shape[i], w.terms *= w.taps[i];
    }
    return w;
}

/* (positions, taps): the place of each tap at each position along one axis */
static cbx_array *places(const window *w, int i)
{
    cbx_ctx *c = w->c;
    cbx_array *p = cbx_arange_int(c, 0, (int64_t)w->attrs->shape[i], 1, CBX_I64),
              *t = cbx_arange_int(c, 0, (int64_t)w->taps[i], 1, CBX_I64);

    p = MUL(p, cbx_full(c, 0, NULL, CBX_I64, cbx_int(w->attrs->step[i])));
    t = MUL(t, cbx_full(c, 0, NULL, CBX_I64, cbx_int(w->attrs->axes[i])));
    return ADD(cbx_expand_dims(c, p, 1), t);
}

static cbx_array *windows(const window *w, const cbx_array *x, double outside)
{
    cbx_ctx *c = w->c;
    cbx_attrs pad = { .ndim = w->n + 2, .value = { x->desc.dtype, { 0 } } }, order = { .naxes = 2 * w->n + 2 };

    pad.value = (cbx_scalar){ CBX_F64, { .f = outside } };
    pad.shape[0] = w->batch, pad.shape[w->n + 1] = w->channels;
    memcpy(pad.shape + 1, w->padded, (size_t)w->n * sizeof *w->padded);
    memcpy(pad.start + 1, w->attrs->start, (size_t)w->n * sizeof *pad.start);
    cbx_array *y = cbx__apply1(c, CBX_PRIM_PAD, x, &pad);
    for (int i = 0; i < w->n; i++)
        y = cbx_apply(c, CBX_PRIM_TAKE, 2, (const cbx_array *const[]){ y, places(w, i) },
                      &(cbx_attrs){ .axis = 1 + 2 * i });
    for (int i = 0; i < w->n; i++) order.axes[1 + i] = 1 + 2 * i, order.axes[1 + w->n + i] = 2 + 2 * i;
    order.axes[order.naxes - 1] = order.naxes - 1;
    return cbx__reshaped(c, cbx__apply1(c, CBX_PRIM_TRANSPOSE, y, &order), 3, (const size_t[]){ 1, w->rows, w->terms });
}

/* The transpose: each window's cotangent added to where it came from. */
static cbx_array *unwound(const window *w, const cbx_array *d)
{
    cbx_ctx *c = w->c;
    cbx_attrs order = { .naxes = 2 * w->n + 2 };
    size_t shape[2 * CBX_MAX_RANK] = { w->batch };
    cbx_array *y;

    for (int i = 0; i < w->n; i++) shape[1 + i] = w->attrs->shape[i], shape[1 + w->n + i] = w->taps[i];
    shape[2 * w->n + 1] = w->channels;
    y = cbx__reshaped(c, d, 2 * w->n + 2, shape);
    for (int i = 0; i < w->n; i++) order.axes[1 + 2 * i] = 1 + i, order.axes[2 + 2 * i] = 1 + w->n + i;
    order.axes[order.naxes - 1] = order.naxes - 1;
    y = cbx__apply1(c, CBX_PRIM_TRANSPOSE, y, &order);
    for (int i = w->n - 1; i >= 0; i--) { /* (..., positions, taps, ...) at axis 1 + 2 i becomes (..., padded, ...) */
        cbx_array_desc to;
        if (cbx_array_is_failed(y)) return y;
        to = y->desc;
        memmove(to.shape + 2 + 2 * i, to.shape + 3 + 2 * i, (size_t)(to.ndim - 3 - 2 * i) * sizeof *to.shape);
        to.ndim--;
        to.shape[1 + 2 * i] = w->padded[i];
        y = cbx_apply(c, CBX_PRIM_SCATTER, 3, (const cbx_array *const[]){ cbx__zeros_of(c, &to), places(w, i), y },
                      &(cbx_attrs){ .axis = 1 + 2 * i, .mode = CBX_SCATTER_ADD });
    }
    for (int i = 0; i < w->n; i++)
        y = cbx_slice(c, y, 1 + i, w->attrs->start[i], w->attrs->start[i] + (ptrdiff_t)w->length[i], 1);
    return y;
}

/* ---- second derivatives: those of the formulas ---- */

static cbx__derivative kind_of(const cbx_attrs *a) { return cbx__traits_of[cbx__algebra_of(a)->id].derivative; }

static CBX__CODE(c, matmul_jvp)
{
    out[0] = forward(c, kind_of(user), in);
    return CBX_OK;
}
static CBX__CODE(c, matmul_vjp)
{
    backward(c, kind_of(user), in, out);
    return CBX_OK;
}

/* The operands of a convolution's derivative as those of a product's. */
static void as_product(const window *w, cbx_array *const *in, bool is_forward, cbx_array **m)
{
    const double identity = cbx__algebra_of(w->attrs)->identity;
    const size_t filter[] = { 1, w->terms, w->outs }, result[] = { 1, w->rows, w->outs };

    m[A] = windows(w, in[A], identity);
    m[B] = cbx__reshaped(w->c, in[B], 3, filter);
    m[C] = cbx__reshaped(w->c, in[C], 3, result);
    m[G] = is_forward ? windows(w, in[TA], 0) : cbx__reshaped(w->c, in[G], 3, result);
    if (is_forward) m[TB] = cbx__reshaped(w->c, in[TB], 3, filter);
}
static CBX__CODE(c, conv_jvp)
{
    const window w = window_of(c, user, in[A], in[B]);
    cbx_array *m[OPERANDS];

    as_product(&w, in, true, m);
    out[0] = cbx__reshaped(c, forward(c, kind_of(user), m), in[C]->desc.ndim, in[C]->desc.shape);
    return CBX_OK;
}
static CBX__CODE(c, conv_vjp)
{
    const window w = window_of(c, user, in[A], in[B]);
    cbx_array *m[OPERANDS], *d[2];

    as_product(&w, in, false, m);
    backward(c, kind_of(user), m, d);
    out[0] = unwound(&w, d[0]);
    out[1] = cbx__reshaped(c, d[1], in[B]->desc.ndim, in[B]->desc.shape);
    return CBX_OK;
}

/* Over functions with formulas; what lies outside is left out. */
static CBX__CODE(c, conv_by_formulas)
{
    const window w = window_of(c, user, in[A], in[B]);
    const int n = w.n;
    size_t shape[CBX_MAX_RANK] = { w.batch };
    cbx_array *inside = NULL, *filter = cbx__reshaped(c, in[B], 3, (const size_t[]){ 1, w.terms, w.outs });

    if (memcmp(w.padded, w.length, (size_t)n * sizeof *w.length) != 0)
        inside = windows(&w, cbx_ones(c, n + 2, in[A]->desc.shape, CBX_BOOL), 0);
    memcpy(shape + 1, w.attrs->shape, (size_t)n * sizeof *shape);
    shape[n + 1] = w.outs;
    out[0] = cbx__product_by_formulas(c, cbx__algebra_of(user), windows(&w, in[A], 0), filter, inside);
    out[0] = cbx__reshaped(c, out[0], n + 2, shape);
    return CBX_OK;
}

void cbx__jvp_semiring_matmul(cbx__jvp *r) { first(r, CBX_PRIM_SEMIRING_MATMUL_JVP, cbx__matmul_by_formulas); }
void cbx__jvp_semiring_conv(cbx__jvp *r) { first(r, CBX_PRIM_SEMIRING_CONV_JVP, conv_by_formulas); }
void cbx__jvp_ell_matmul(cbx__jvp *r) { first(r, CBX_PRIM_ELL_MATMUL_JVP, cbx__ell_by_formulas); }

void cbx__by_formula(cbx__jvp *r, cbx_array_fn formula)
{
    enum { MAX_RESULTS = 3, MAX_OPERANDS = 2 * CBX__EDGE_OPERANDS };
    const cbx_fn f = { cbx_prim_name(r->prim), formula, (void *)(uintptr_t)r->attrs, r->nin, r->nout, NULL };
    cbx_array_desc d[MAX_OPERANDS];
    cbx_array *out[MAX_RESULTS] = { NULL }, *dt[MAX_RESULTS] = { NULL };
    CBX_CLEARED(cbx__traced) traced = { 0 };
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;

    for (size_t i = 0; i < r->nin; i++) d[i] = r->in[i]->desc;
    st = cbx__trace_fn(r->ctx, &f, d, &traced, &err);
    if (!st) st = cbx__graph_jvp(r->ctx, traced.graph, r->in, r->t, r->linear, out, dt, &err);
    if (st) {
        cbx__refuse(r->ctx, st, "%s", err.message);
        return;
    }
    for (size_t i = 0; i < r->nout; i++) {
        cbx_array_free(out[i]);
        if (dt[i]) r->dt[i] = cbx_scope_hold(r->ctx, dt[i]);
    }
}

static void no_second(cbx__jvp *r)
{
    cbx__refuse(r->ctx, CBX_EUNSUPPORTED, "'%s' over '%s' has no derivative", cbx_prim_name(r->prim),
                cbx__algebra_of(r->attrs)->name);
}

/* The operation of tangents of what it is linear in, the cotangent or the tangents. */
static void of_tangents(cbx__jvp *r)
{
    cbx_array *in[OPERANDS];
    bool any = false;

    for (size_t i = 0; i < r->nin; i++) {
        in[i] = r->in[i];
        if (i < G) continue;
        any |= r->t[i] != NULL;
        in[i] = r->t[i] ? r->t[i] : cbx_zeros_like(r->ctx, r->in[i]);
    }
    if (any) cbx_apply_all(r->ctx, r->prim, r->nin, (const cbx_array *const *)in, r->attrs, r->dt);
}

static void second(cbx__jvp *r, cbx_array_fn formula)
{
    const cbx__derivative how = kind_of(r->attrs);

    if (how == CBX__BY_TERMS)
        no_second(r);
    else if (how == CBX__BY_OPTIMUM) /* what is chosen does not move */
        of_tangents(r);
    else
        cbx__by_formula(r, formula);
}
void cbx__jvp_semiring_matmul_vjp(cbx__jvp *r) { second(r, matmul_vjp); }
void cbx__jvp_semiring_matmul_jvp(cbx__jvp *r) { second(r, matmul_jvp); }
void cbx__jvp_semiring_conv_vjp(cbx__jvp *r) { second(r, conv_vjp); }
void cbx__jvp_semiring_conv_jvp(cbx__jvp *r) { second(r, conv_jvp); }

/*
 * Over a graph: real products are bilinear, with a second term; of an optimum over sums what is
 * chosen does not move; the others by formulas over edges.
 */
static bool is_bilinear(cbx__jvp *r, cbx_array_fn formula)
{
    const cbx__derivative how = kind_of(r->attrs);

    if (how == CBX__BY_TERMS) {
        no_second(r);
    } else if (how == CBX__BY_PRODUCTS) {
        of_tangents(r);
        return r->t[A] || r->t[B];
    } else if (how == CBX__BY_OPTIMUM && !(r->attrs->axis & CBX__ELL_SCALED)) {
        of_tangents(r);
    } else {
        cbx__by_formula(r, formula);
    }
    return false;
}

/* Tangents of values and b in their places. */
static void put_tangents(const cbx__jvp *r, const cbx_array **in, int at)
{
    for (int i = 0; i < 2; i++) in[at + i] = r->t[i] ? r->t[i] : cbx_zeros_like(r->ctx, r->in[i]);
}

void cbx__jvp_ell_matmul_jvp(cbx__jvp *r)
{
    cbx_ctx *c = r->ctx;
    const cbx_array *in[OPERANDS] = { r->in[TA], r->in[TB], r->in[C] };
    cbx_array *t;

    if (!is_bilinear(r, cbx__ell_forward)) return;
    put_tangents(r, in, TA);
    t = cbx_apply(c, r->prim, OPERANDS, in, r->attrs);
    r->dt[0] = r->dt[0] ? ADD(r->dt[0], t) : t;
}
void cbx__jvp_ell_matmul_vjp(cbx__jvp *r)
{
    cbx_ctx *c = r->ctx;
    const cbx_array *in[4] = { NULL, NULL, r->in[C], r->in[G] };
    cbx_array *d[2];

    if (!is_bilinear(r, cbx__ell_backward)) return;
    put_tangents(r, in, A);
    cbx_apply_all(c, r->prim, 4, in, r->attrs, d);
    for (int i = 0; i < 2; i++) r->dt[i] = r->dt[i] ? ADD(r->dt[i], d[i]) : d[i];
}
