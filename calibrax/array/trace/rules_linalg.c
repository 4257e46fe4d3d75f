/*
 * Derivatives of factors, of systems of equations and of products of matrices.
 *
 * x, a are operands, t and da their tangents.  Factors of Hermitian matrices move with the
 * Hermitian part of t, (t + t^H) / 2, though one triangle of x is read: for tangents that keep x
 * Hermitian there is no difference, and gradients are Hermitian.  Where the derivative divides by a
 * difference of eigenvalues, or of squares of singular values, equal ones give infinity or NaN; a
 * singular value of 0 gives 0 in the phase of its vectors, and infinity or NaN in what moves out of
 * their span.  Eigenvalues and singular values themselves move as if they were distinct.  Vectors
 * beyond those that x determines (complete QR, full SVD) are a basis of which functions should not
 * depend on: derivatives of what depends on their span alone are right.
 * Sources: Giles, Oxford NA-08/01 (2008); Murray, arXiv:1602.07527 (Cholesky); Walter & Lehmann,
 * Numer. Math. 113 (2010), and Townsend (2018) (QR); de Hoog et al., SIAM J. Matrix Anal. 32 (2011)
 * (LU); Wan & Zhang, arXiv:1909.02659 (complex SVD).  The conventions are those of JAX
 * (jax.lax.linalg).
 */
#include <string.h>

#include "calibrax/array/linalg.h"
#include "calibrax/array/trace/derive.h"
#include "calibrax/array/transform.h"

#define MUL(a, b)     cbx_multiply(c, a, b)
#define SUB(a, b)     cbx_subtract(c, a, b)
#define ADD(a, b)     cbx_add(c, a, b)
#define PRODUCT(a, b) cbx_matrix_product(c, a, b)

static size_t rows(const cbx_array *x) { return x->desc.shape[x->desc.ndim - 2]; }
static size_t columns(const cbx_array *x) { return x->desc.shape[x->desc.ndim - 1]; }
static cbx_array *transposed(cbx_ctx *c, const cbx_array *x) { return cbx_matrix_transpose(c, x); }
static cbx_array *adjoint(cbx_ctx *c, const cbx_array *x) { return cbx_matrix_transpose(c, cbx_conj(c, x)); }

static cbx_array *solve_by(cbx_ctx *c, cbx_prim p, const cbx_array *a, const cbx_array *b, int how)
{
    return cbx_apply(c, p, 2, (const cbx_array *const[]){ a, b }, &(cbx_attrs){ .mode = how });
}
/* a^-1 b */
static cbx_array *triangle_left(cbx_ctx *c, const cbx_array *a, const cbx_array *b, int how)
{
    return solve_by(c, CBX_PRIM_TRIANGULAR_SOLVE, a, b, how);
}
/* b a^-1, of a as it lies */
static cbx_array *triangle_right(cbx_ctx *c, const cbx_array *b, const cbx_array *a, int how)
{
    return transposed(c, triangle_left(c, a, transposed(c, b), how | CBX_TRIANGLE_TRANSPOSE));
}

static cbx_array *hermitian_part(cbx_ctx *c, const cbx_array *t)
{
    return cbx_multiply_scalar(c, ADD(t, adjoint(c, t)), 0.5);
}

/* Ones on the diagonal, in the real dtype of x. */
static cbx_array *identity(cbx_ctx *c, const cbx_array *x, size_t n)
{
    return cbx_eye(c, n, n, 0, cbx__real_of(x->desc.dtype));
}

/* ---- Cholesky: dL = L phi(L^-1 t L^-H), phi the lower triangle with half of the diagonal ---- */

void cbx__jvp_cholesky(cbx__jvp *r)
{
    cbx_ctx *c = r->ctx;
    const bool upper = r->attrs->mode;
    const cbx_array *l = upper ? adjoint(c, r->out[0]) : r->out[0];
    const cbx_array *t = triangle_left(c, l, hermitian_part(c, r->t[0]), CBX_TRIANGLE_LOWER);
    const cbx_array *half = cbx_add_scalar(c, identity(c, r->in[0], rows(r->in[0])), 1);

    t = adjoint(c, triangle_left(c, l, adjoint(c, t), CBX_TRIANGLE_LOWER));
    t = cbx_divide(c, cbx_tril(c, t, 0), cbx__as(c, half, r->in[0]->desc.dtype));
    r->dt[0] = PRODUCT(l, t);
    if (upper) r->dt[0] = adjoint(c, r->dt[0]);
}

/* ---- systems of equations: dx = a^-1 (db - da x) ---- */

/* da x for what `how` makes of da. */
static cbx_array *moved_triangle(cbx_ctx *c, const cbx_array *da, const cbx_array *x, int how)
{
    const ptrdiff_t k = how & CBX_TRIANGLE_UNIT ? 1 : 0;

    da = how & CBX_TRIANGLE_UPPER ? cbx_triu(c, da, k) : cbx_tril(c, da, -k);
    if (how & CBX_TRIANGLE_ADJOINT)
        da = adjoint(c, da);
    else if (how & CBX_TRIANGLE_TRANSPOSE)
        da = transposed(c, da);
    return PRODUCT(da, x);
}

static void jvp_of_solve(cbx__jvp *r, cbx_array *moved)
{
    cbx_ctx *c = r->ctx;
    cbx_array *b = !moved ? r->t[1] : !r->t[1] ? cbx_negative(c, moved) : SUB(r->t[1], moved);
    r->dt[0] = solve_by(c, r->prim, r->in[0], b, r->attrs->mode);
}

void cbx__jvp_triangular_solve(cbx__jvp *r)
{
    jvp_of_solve(r, r->t[0] ? moved_triangle(r->ctx, r->t[0], r->out[0], r->attrs->mode) : NULL);
}
void cbx__jvp_solve(cbx__jvp *r) { jvp_of_solve(r, r->t[0] ? cbx_matrix_product(r->ctx, r->t[0], r->out[0]) : NULL); }

/* Linear in b.  The transpose of a^-H is the inverse of conj(a). */
void cbx__transpose_triangular_solve(cbx__transpose *r)
{
    int how = r->attrs->mode;
    const cbx_array *a = r->in[0];

    if (how & CBX_TRIANGLE_ADJOINT) {
        a = cbx_conj(r->ctx, a);
        how &= ~(CBX_TRIANGLE_ADJOINT | CBX_TRIANGLE_TRANSPOSE);
    } else {
        how ^= CBX_TRIANGLE_TRANSPOSE;
    }
    r->din[1] = triangle_left(r->ctx, a, r->ct[0], how);
}
void cbx__transpose_solve(cbx__transpose *r)
{
    r->din[1] = solve_by(r->ctx, CBX_PRIM_SOLVE, transposed(r->ctx, r->in[0]), r->ct[0], 0);
}

/* ---- LU of P a: L^-1 P t U^-1 = M; dL = L tril(M, -1), dU = triu(M) U ---- */

/* (order) to (order with rows i and pivot swapped); order (..., n), i (), pivot (...) */
static CBX__CODE(c, swap_step)
{
    const cbx_array *order = in[0], *i = in[1], *pivot = cbx_expand_dims(c, in[2], -1);
    const cbx_array *place = cbx_arange_int(c, 0, (int64_t)order->desc.shape[order->desc.ndim - 1], 1, CBX_I64);
    const cbx_array *first = cbx_take_along_axis(c, order, cbx_add(c, cbx_zeros_like(c, pivot), i), -1);
    const cbx_array *second = cbx_take_along_axis(c, order, pivot, -1);

    out[0] = cbx_where(c, cbx_equal(c, place, i), second, cbx_where(c, cbx_equal(c, place, pivot), first, order));
    return CBX_OK;
}

/* The rows of a in the order that the swaps leave: (..., n). */
static cbx_array *order_of(cbx_ctx *c, const cbx_array *swaps)
{
    const int ndim = swaps->desc.ndim;
    const size_t n = swaps->desc.shape[ndim - 1];
    cbx_array *number = cbx_arange_int(c, 0, (int64_t)n, 1, CBX_I64);
    cbx_array *order = cbx__to_shape(c, number, ndim, swaps->desc.shape), *pivots = cbx_moveaxis(c, swaps, -1, 0);

    cbx_scan(c, CBX_FN(swap_step, NULL, 3, 1), 1, &order, 2, (cbx_array *const[]){ number, pivots }, n, false, &order);
    return order;
}

void cbx__jvp_lu(cbx__jvp *r)
{
    cbx_ctx *c = r->ctx;
    const cbx_array *a = r->in[0], *t = r->t[0], *order = cbx_expand_dims(c, order_of(c, r->out[1]), -1);
    const cbx_array *l = ADD(cbx_tril(c, r->out[0], -1), cbx__as(c, identity(c, a, rows(a)), a->desc.dtype));
    const cbx_array *u = cbx_triu(c, r->out[0], 0);

    t = cbx_take_along_axis(c, t, cbx__to_shape(c, order, a->desc.ndim, a->desc.shape), -2);
    t = triangle_left(c, r->out[0], t, CBX_TRIANGLE_LOWER | CBX_TRIANGLE_UNIT);
    t = triangle_right(c, t, r->out[0], CBX_TRIANGLE_UPPER);
    r->dt[0] = ADD(PRODUCT(l, cbx_tril(c, t, -1)), PRODUCT(cbx_triu(c, t, 0), u));
}

/*
 * Vectors beyond those that x determines turn among themselves as one likes: they move as little as
 * they must to stay orthogonal to the others, v (which move by dv).
 */
static cbx_array *moved_beyond(cbx_ctx *c, const cbx_array *v, const cbx_array *dv, const cbx_array *beyond)
{
    return cbx_negative(c, PRODUCT(v, PRODUCT(adjoint(c, dv), beyond)));
}
/* Columns from .. to - 1. */
static cbx_array *some_columns(cbx_ctx *c, const cbx_array *x, size_t from, size_t to)
{
    return cbx_slice(c, x, -1, (ptrdiff_t)from, (ptrdiff_t)to, 1);
}
static cbx_array *beside(cbx_ctx *c, const cbx_array *a, const cbx_array *b, int axis)
{
    return cbx_concat(c, 2, (const cbx_array *const[]){ a, b }, axis);
}

/*
 * ---- QR: with M = Q^H t R^-1 and W skew as the lower triangle of M: dQ = Q (W - M) + t R^-1, dR =
 * (M - W) R ---- Of more columns than rows the first ones make Q, and the others are Q^H x: dR =
 * Q^H t + dQ^H x.
 */
void cbx__jvp_qr(cbx__jvp *r)
{
    cbx_ctx *c = r->ctx;
    const cbx_array *x = r->in[0], *t = r->t[0], *q = r->out[0], *rr = r->out[1];
    const size_t m = rows(x), n = columns(x), k = m < n ? m : n, all = columns(q);

    if (k < all) { /* complete */
        q = some_columns(c, q, 0, k);
        rr = cbx_slice(c, rr, -2, 0, (ptrdiff_t)k, 1);
    }
    if (k < n) {
        rr = some_columns(c, rr, 0, k);
        t = some_columns(c, t, 0, k);
    }
    cbx_array *over = triangle_right(c, t, rr, CBX_TRIANGLE_UPPER), *inner = PRODUCT(adjoint(c, q), over);
    cbx_array *low = cbx_tril(c, inner, -1), *skew = SUB(low, adjoint(c, low));

    if (cbx_dtype_kind(x->desc.dtype) == CBX_KIND_COMPLEX) { /* the diagonal of R stays real */
        cbx_array *imaginary = SUB(inner, cbx__as(c, cbx_real(c, inner), x->desc.dtype));
        skew = ADD(skew, MUL(imaginary, cbx__as(c, identity(c, x, k), x->desc.dtype)));
    }
    cbx_array *d = SUB(inner, skew);
    r->dt[0] = SUB(over, PRODUCT(q, d));
    r->dt[1] = PRODUCT(d, rr);
    if (k < all) {
        const cbx_array *below = cbx_slice(c, r->out[1], -2, (ptrdiff_t)k, (ptrdiff_t)m, 1);
        r->dt[0] = beside(c, r->dt[0], moved_beyond(c, q, r->dt[0], some_columns(c, r->out[0], k, all)), -1);
        r->dt[1] = beside(c, r->dt[1], cbx_zeros_like(c, below), -2);
    }
    if (k == n) return;
    t = some_columns(c, r->t[0], k, n);
    x = some_columns(c, x, k, n);
    d = ADD(PRODUCT(adjoint(c, q), t), PRODUCT(adjoint(c, r->dt[0]), x));
    r->dt[1] = beside(c, r->dt[1], d, -1);
}

/*
 * ---- Hermitian eigenvalues: M = V^H t V; dw = diag(M), dV = V (F M), F_ij = 1 / (w_j - w_i), 0 on
 * the diagonal ----
 */

static cbx_array *in_basis(cbx_ctx *c, const cbx_array *v, const cbx_array *t)
{
    return PRODUCT(PRODUCT(adjoint(c, v), hermitian_part(c, t)), v);
}

void cbx__jvp_eigh(cbx__jvp *r)
{
    cbx_ctx *c = r->ctx;
    const cbx_array *w = r->out[0], *v = r->out[1], *one = identity(c, r->in[0], rows(r->in[0]));
    const cbx_array *m = in_basis(c, v, r->t[0]);
    const cbx_array *f = SUB(cbx_expand_dims(c, w, -2), cbx_expand_dims(c, w, -1));

    f = SUB(cbx_reciprocal(c, ADD(f, one)), one);
    r->dt[0] = cbx_real(c, cbx_diagonal(c, m, 0));
    r->dt[1] = PRODUCT(v, MUL(cbx__as(c, f, r->in[0]->desc.dtype), m));
}

void cbx__jvp_eigvalsh(cbx__jvp *r)
{
    cbx_array *part[2];

    cbx_apply_all(r->ctx, CBX_PRIM_EIGH, 1, (const cbx_array *const *)r->in, NULL, part);
    r->dt[0] = cbx_real(r->ctx, cbx_diagonal(r->ctx, in_basis(r->ctx, part[1], r->t[0]), 0));
}

/*
 * ---- singular values: M = U^H t V; ds = Re diag(M), F_ij = 1 / (s_j^2 - s_i^2), 0 on the diagonal
 * ----
 *   dU = U (F (M S + S M^H) + (M - M^H) / 2s on the diagonal) + (1 - U U^H) t V / s     dV = V (F
 *                                                                                       (S M + M^H
 *                                                                                       S)) + ...
 */

static cbx_array *in_bases(cbx_ctx *c, const cbx_array *u, const cbx_array *t, const cbx_array *v)
{
    return PRODUCT(PRODUCT(adjoint(c, u), t), v);
}

/* x / s with what lies in the span of u taken out. */
static cbx_array *outside(cbx_ctx *c, const cbx_array *u, const cbx_array *x, const cbx_array *s)
{
    return cbx_divide(c, SUB(x, PRODUCT(u, PRODUCT(adjoint(c, u), x))), s);
}

void cbx__jvp_svd(cbx__jvp *r)
{
    cbx_ctx *c = r->ctx;
    const cbx_array *x = r->in[0], *t = r->t[0], *s = r->out[1];
    const cbx_dtype dtype = x->desc.dtype;
    const size_t m = rows(x), n = columns(x), k = m < n ? m : n;
    cbx_array *all_u = r->out[0], *all_v = adjoint(c, r->out[2]);
    cbx_array *u = columns(all_u) > k ? some_columns(c, all_u, 0, k) : all_u;
    cbx_array *v = rows(r->out[2]) > k ? some_columns(c, all_v, 0, k) : all_v;
    const cbx_array *one = identity(c, x, k), *inner = in_bases(c, u, t, v);
    const cbx_array *column = cbx_expand_dims(c, s, -1), *row = cbx_expand_dims(c, s, -2);
    const cbx_array *f = MUL(ADD(row, column), SUB(row, column)),
                    *zero = cbx__as(c, cbx_equal_scalar(c, row, 0), s->desc.dtype);
    const cbx_array *inverse = MUL(one, SUB(cbx_reciprocal(c, ADD(row, zero)), zero)), *ms, *sm, *phase;

    f = cbx__as(c, SUB(cbx_reciprocal(c, ADD(f, one)), one), dtype);
    row = cbx__as(c, row, dtype);
    column = cbx__as(c, column, dtype);
    ms = MUL(inner, row);
    sm = MUL(inner, column);
    phase = MUL(cbx_multiply_scalar(c, SUB(inner, adjoint(c, inner)), 0.5), cbx__as(c, inverse, dtype));
    cbx_array *du = PRODUCT(u, ADD(MUL(f, ADD(ms, adjoint(c, ms))), phase));
    cbx_array *dv = PRODUCT(v, MUL(f, ADD(sm, adjoint(c, sm))));
    if (m > n) du = ADD(du, outside(c, u, PRODUCT(t, v), row));
    if (n > m) dv = ADD(dv, outside(c, v, PRODUCT(adjoint(c, t), u), row));
    if (u != all_u) du = beside(c, du, moved_beyond(c, u, du, some_columns(c, all_u, k, m)), -1);
    if (v != all_v) dv = beside(c, dv, moved_beyond(c, v, dv, some_columns(c, all_v, k, n)), -1);
    r->dt[0] = du;
    r->dt[1] = cbx_real(c, cbx_diagonal(c, inner, 0));
    r->dt[2] = adjoint(c, dv);
}

void cbx__jvp_svdvals(cbx__jvp *r)
{
    cbx_array *part[3];

    cbx_apply_all(r->ctx, CBX_PRIM_SVD, 1, (const cbx_array *const *)r->in, NULL, part);
    part[2] = adjoint(r->ctx, part[2]);
    r->dt[0] = cbx_real(r->ctx, cbx_diagonal(r->ctx, in_bases(r->ctx, part[0], r->t[0], part[2]), 0));
}

/* ---- products of matrices ---- */

static cbx_array *matmul(cbx_ctx *c, const cbx_array *a, const cbx_array *b)
{
    return cbx_apply(c, CBX_PRIM_MATMUL, 2, (const cbx_array *const[]){ a, b }, NULL);
}

void cbx__jvp_matmul(cbx__jvp *r)
{
    cbx_ctx *c = r->ctx;
    r->dt[0] = cbx__sum_of(c, r->t[0] ? matmul(c, r->t[0], r->in[1]) : NULL,
                           r->t[1] ? matmul(c, r->in[0], r->t[1]) : NULL);
}
void cbx__transpose_matmul(cbx__transpose *r)
{
    cbx_ctx *c = r->ctx;
    if (!r->in[0]) r->din[0] = matmul(c, r->ct[0], cbx_matrix_transpose(c, r->in[1]));
    if (!r->in[1]) r->din[1] = matmul(c, cbx_matrix_transpose(c, r->in[0]), r->ct[0]);
}
