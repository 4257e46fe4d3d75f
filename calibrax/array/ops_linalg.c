/*
 * Linear algebra in terms of a few factors.
 */
#include "calibrax/array/linalg.h"

#include <math.h>

#include "calibrax/array/fn_internal.h"
#include "calibrax/array/ops_internal.h"
#include "calibrax/array/transform.h"

/* A stack of matrices of real or complex numbers; failed, with the reason recorded, otherwise. */
static cbx_array *matrices(cbx_ctx *ctx, const char *name, const cbx_array *x)
{
    if (cbx__unusable(ctx, name, 1, &x)) return cbx__array_failed();
    if (x->desc.ndim < 2)
        return cbx__refuse(ctx, CBX_ESHAPE, "'%s' needs a matrix, not %s", name, CBX__DESC_TEXT(&x->desc));
    return cbx__as(ctx, x, cbx__inexact(x->desc.dtype));
}

static size_t rows(const cbx_array *x) { return x->desc.shape[x->desc.ndim - 2]; }
static size_t columns(const cbx_array *x) { return x->desc.shape[x->desc.ndim - 1]; }

/* The n results of a factorisation, alone of what was made since the mark; all failed if one is. */
static void factors(cbx_ctx *ctx, cbx_prim p, const cbx_array *x, bool mode, size_t n, cbx_array **part)
{
    const size_t mark = cbx__mark(ctx);
    const cbx_array *a = matrices(ctx, cbx_prim_name(p), x);

    cbx_apply_all(ctx, p, 1, &a, &(cbx_attrs){ .mode = mode }, part);
    cbx__tidy_list(ctx, mark, n, part);
}

/* ---- factors ---- */

cbx_array *cbx_cholesky(cbx_ctx *ctx, const cbx_array *x, bool upper)
{
    return cbx__tidied(
        ctx, cbx__apply1(ctx, CBX_PRIM_CHOLESKY, matrices(ctx, "cholesky", x), &(cbx_attrs){ .mode = upper }));
}

cbx_qr_parts cbx_qr(cbx_ctx *ctx, const cbx_array *x, bool complete)
{
    cbx_array *part[2];

    factors(ctx, CBX_PRIM_QR, x, complete, 2, part);
    return (cbx_qr_parts){ part[0], part[1] };
}

cbx_eigh_parts cbx_eigh(cbx_ctx *ctx, const cbx_array *x)
{
    cbx_array *part[2];

    factors(ctx, CBX_PRIM_EIGH, x, false, 2, part);
    return (cbx_eigh_parts){ part[0], part[1] };
}

cbx_array *cbx_eigvalsh(cbx_ctx *ctx, const cbx_array *x)
{
    return cbx__tidied(ctx, cbx__apply1(ctx, CBX_PRIM_EIGVALSH, matrices(ctx, "eigvalsh", x), NULL));
}

static cbx_svd_parts svd_named(cbx_ctx *ctx, const char *name, const cbx_array *x, bool full)
{
    const cbx_array *a = matrices(ctx, name, x);
    cbx_array *part[3];

    cbx_apply_all(ctx, CBX_PRIM_SVD, 1, &a, &(cbx_attrs){ .mode = full }, part);
    return (cbx_svd_parts){ part[0], part[1], part[2] };
}

cbx_svd_parts cbx_svd(cbx_ctx *ctx, const cbx_array *x, bool full_matrices)
{
    cbx_array *part[3];

    factors(ctx, CBX_PRIM_SVD, x, full_matrices, 3, part);
    return (cbx_svd_parts){ part[0], part[1], part[2] };
}

cbx_array *cbx_svdvals(cbx_ctx *ctx, const cbx_array *x)
{
    return cbx__tidied(ctx, cbx__apply1(ctx, CBX_PRIM_SVDVALS, matrices(ctx, "svdvals", x), NULL));
}

/* ---- determinants ---- */

/* What a determinant is made of: each swapped row inverts the sign. */
typedef struct triangle {
    cbx_array *diagonal; /* of U */
    cbx_array *sign;     /* of the row swaps, +-1 */
} triangle;

static triangle factor(cbx_ctx *ctx, const char *name, const cbx_array *x)
{
    const cbx_array *a = matrices(ctx, name, x);
    triangle t = { cbx__array_failed(), cbx__array_failed() };
    cbx_array *lu[2], *moved;

    cbx_apply_all(ctx, CBX_PRIM_LU, 1, &a, NULL, lu);
    if (cbx_array_is_failed(lu[0])) return t;
    moved = cbx_not_equal(ctx, lu[1], cbx_arange_int(ctx, 0, (int64_t)columns(a), 1, CBX_I64));
    moved = cbx_remainder(ctx, cbx_sum(ctx, moved, CBX_AXIS(-1)), cbx_full(ctx, 0, NULL, CBX_I64, cbx_int(2)));
    t.sign = cbx__as(ctx, cbx_subtract(ctx, cbx_weak(ctx, moved, cbx_int(1)), cbx_add(ctx, moved, moved)),
                     a->desc.dtype);
    t.diagonal = cbx_diagonal(ctx, lu[0], 0);
    return t;
}

/* A product that is 0 has no sign. */
static cbx_array *signed_product(cbx_ctx *ctx, triangle t, const cbx_array *factors)
{
    return cbx_add_scalar(ctx, cbx_multiply(ctx, t.sign, cbx_prod(ctx, factors, CBX_AXIS(-1))), 0.0);
}

static cbx_array *det_steps(cbx_ctx *ctx, const cbx_array *x)
{
    const triangle t = factor(ctx, "det", x);
    return signed_product(ctx, t, t.diagonal);
}

/* d / |d|, 0 of 0. */
static cbx_array *unit(cbx_ctx *ctx, const cbx_array *d, const cbx_array *length)
{
    if (cbx_array_is_failed(d)) return cbx__array_failed();
    if (cbx_dtype_kind(d->desc.dtype) < CBX_KIND_COMPLEX) return cbx_sign(ctx, d);
    return cbx_where(ctx, cbx_equal_scalar(ctx, length, 0), cbx_zeros_like(ctx, d),
                     cbx_divide(ctx, d, cbx__as(ctx, length, d->desc.dtype)));
}

cbx_slogdet_parts cbx_slogdet(cbx_ctx *ctx, const cbx_array *x)
{
    size_t mark = cbx__mark(ctx);
    triangle t = factor(ctx, "slogdet", x);
    cbx_array *length = cbx_abs(ctx, t.diagonal), *part[2];

    part[0] = signed_product(ctx, t, unit(ctx, t.diagonal, length));
    part[1] = cbx_sum(ctx, cbx_log(ctx, length), CBX_AXIS(-1));
    if (cbx_array_is_failed(part[1])) part[0] = part[1];
    cbx__tidy_list(ctx, mark, 2, part);
    return (cbx_slogdet_parts){ part[0], part[1] };
}

/* ---- systems of equations ---- */

/* Always false, with the failure recorded. */
static bool misfit(cbx_ctx *ctx, const char *name, const cbx_array *a, const cbx_array *b)
{
    return cbx__refused(ctx, CBX_ESHAPE, "'%s' cannot join %s with %s", name, CBX__DESC_TEXT(&a->desc),
                        CBX__DESC_TEXT(&b->desc));
}

/* Under a common stack, in one dtype; a vector is a column then. */
static bool join(cbx_ctx *ctx, const char *name, const cbx_array *in[2], bool *vector)
{
    const cbx_array *a = in[0], *b = in[1];
    size_t shape[CBX_MAX_RANK];
    cbx_dtype t;
    int n;

    if (cbx__unusable(ctx, name, 2, in)) return false;
    *vector = b->desc.ndim == 1;
    if (a->desc.ndim < 2 || b->desc.ndim < 1 || rows(a) != (*vector ? columns(b) : rows(b)))
        return misfit(ctx, name, a, b);
    t = cbx__inexact(cbx_dtype_promote(a->desc.dtype, b->desc.dtype));
    in[0] = cbx__as(ctx, a, t);
    in[1] = cbx__as(ctx, *vector ? cbx_expand_dims(ctx, b, 1) : b, t);
    if (cbx__unusable(ctx, name, 2, in)) return false;
    if (!cbx__common_lead(in[0], in[1], &n, shape)) return misfit(ctx, name, a, b);
    for (int i = 0; i < 2; i++) {
        shape[n] = rows(in[i]);
        shape[n + 1] = columns(in[i]);
        in[i] = cbx__to_shape(ctx, in[i], n + 2, shape);
    }
    return !cbx__unusable(ctx, name, 2, in);
}

static cbx_array *solve_steps(cbx_ctx *ctx, cbx_prim p, const cbx_array *a, const cbx_array *b, int mode)
{
    const cbx_array *in[2] = { a, b };
    cbx_array *x;
    bool vector;

    if (!join(ctx, cbx_prim_name(p), in, &vector)) return cbx__array_failed();
    x = cbx_apply(ctx, p, 2, in, &(cbx_attrs){ .mode = mode });
    return vector ? cbx_squeeze(ctx, x, -1) : x;
}

cbx_array *cbx_solve(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b)
{
    return cbx__tidied(ctx, solve_steps(ctx, CBX_PRIM_SOLVE, a, b, 0));
}

cbx_array *cbx_triangular_solve(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b, unsigned how)
{
    return cbx__tidied(ctx, solve_steps(ctx, CBX_PRIM_TRIANGULAR_SOLVE, a, b, (int)how));
}

/* Ones on the diagonal, for each matrix of the stack. */
static cbx_array *identities(cbx_ctx *ctx, const cbx_array *x, cbx_dtype t)
{
    return cbx__to_shape(ctx, cbx_eye(ctx, rows(x), rows(x), 0, t), x->desc.ndim, x->desc.shape);
}

static cbx_array *square(cbx_ctx *ctx, const char *name, const cbx_array *x, bool inexact)
{
    if (cbx__unusable(ctx, name, 1, &x)) return cbx__array_failed();
    if (x->desc.ndim < 2 || rows(x) != columns(x))
        return cbx__refuse(ctx, CBX_ESHAPE, "'%s' needs square matrices, not %s", name, CBX__DESC_TEXT(&x->desc));
    return inexact ? matrices(ctx, name, x) : (cbx_array *)(uintptr_t)x;
}

static cbx_array *inv_steps(cbx_ctx *ctx, const char *name, const cbx_array *x)
{
    cbx_array *a = square(ctx, name, x, true);
    cbx__renaming renaming = cbx__rename(ctx, "solve", name);

    if (cbx_array_is_failed(a)) return a;
    return cbx__renamed(ctx, renaming, cbx_solve(ctx, a, identities(ctx, a, a->desc.dtype)));
}

cbx_array *cbx_inv(cbx_ctx *ctx, const cbx_array *x) { return cbx__tidied(ctx, inv_steps(ctx, "inv", x)); }

/* Integers stay integers, but for an inverse. */
cbx_array *cbx_matrix_power(cbx_ctx *ctx, const cbx_array *x, int64_t n)
{
    size_t mark = cbx__mark(ctx);
    cbx_array *power = square(ctx, "matrix_power", x, n < 0), *r = NULL;
    uint64_t times = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

    if (cbx_array_is_failed(power)) return cbx__tidy(ctx, mark, power);
    if (n < 0) power = inv_steps(ctx, "matrix_power", power);
    if (n == 0) return cbx__tidy(ctx, mark, cbx_copy(ctx, identities(ctx, x, x->desc.dtype)));
    for (; times > 0 && !cbx_array_is_failed(power); times >>= 1) {
        if (times & 1) r = r ? cbx_matrix_product(ctx, r, power) : power;
        if (times > 1) power = cbx_matrix_product(ctx, power, power);
    }
    return cbx__tidy(ctx, mark, r == x ? cbx__same(ctx, x) : r);
}

/* ---- what singular values tell ---- */

/* Which of them are above rtol times the largest; s has at least one. */
static cbx_array *large(cbx_ctx *ctx, const cbx_array *s, const cbx_array *rtol, size_t longest)
{
    double eps;
    cbx_array *maximum = cbx_max(ctx, s, CBX_AXIS_KEEP(-1));

    if (cbx_array_is_failed(maximum)) return maximum;
    eps = s->desc.dtype == CBX_F32 ? 0x1p-23 : 0x1p-52;
    if (!rtol) return cbx_greater(ctx, s, cbx_multiply_scalar(ctx, maximum, eps * (double)longest));
    return cbx_greater(ctx, s, cbx_multiply(ctx, maximum, cbx_expand_dims(ctx, rtol, -1)));
}

static size_t longest(const cbx_array *x) { return rows(x) > columns(x) ? rows(x) : columns(x); }
static bool is_empty(const cbx_array *x) { return rows(x) == 0 || columns(x) == 0; }

cbx_array *cbx_matrix_rank(cbx_ctx *ctx, const cbx_array *x, const cbx_array *rtol)
{
    size_t mark = cbx__mark(ctx);
    cbx_array *a = matrices(ctx, "matrix_rank", x);

    if (cbx_array_is_failed(a)) return cbx__tidy(ctx, mark, a);
    if (is_empty(a)) return cbx__tidy(ctx, mark, cbx_zeros(ctx, a->desc.ndim - 2, a->desc.shape, CBX_I64));
    return cbx__tidy(ctx, mark, cbx_sum(ctx, large(ctx, cbx_svdvals(ctx, a), rtol, longest(a)), CBX_AXIS(-1)));
}

/* diag(1 / s) y where s is large, 0 elsewhere. */
static cbx_array *over(cbx_ctx *ctx, const cbx_array *y, const cbx_array *s, const cbx_array *is_large)
{
    const cbx_array *zero = cbx_zeros(ctx, 0, NULL, cbx_array_is_failed(s) ? CBX_F64 : s->desc.dtype);
    cbx_array *inverse = cbx_where(ctx, is_large, cbx_divide(ctx, cbx_add_scalar(ctx, zero, 1), s), zero);

    return cbx_multiply(ctx, y, cbx_expand_dims(ctx, inverse, -1));
}

static cbx_array *adjoint(cbx_ctx *ctx, const cbx_array *x) { return cbx_matrix_transpose(ctx, cbx_conj(ctx, x)); }

static cbx_array *product(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b)
{
    return cbx_matrix_product(ctx, a, b);
}

/* A function of n arrays with a rule for tangents, called. */
static cbx_array *with_rule(cbx_ctx *ctx, const char *name, cbx_array_fn f, cbx_array_fn rule, size_t n,
                            const cbx_array *const *in)
{
    cbx_array *y = cbx__array_failed();
    cbx_fn *made = NULL;

    if (!cbx_custom_jvp(ctx, &(cbx_fn){ name, f, NULL, n, 1, NULL }, &(cbx_fn){ name, rule, NULL, 2 * n, 2, NULL },
                        &made, cbx__sticky(ctx)))
        cbx_fn_call(ctx, made, n, (cbx_array *const *)in, 1, &y);
    cbx_fn_free(made);
    return y;
}

/*
 * ---- derivatives of determinants ----
 * By cofactors, d det = sum(C t), which singular matrices have, too: C = det x^-T, or from singular
 * values, x = U diag(s) V^H, C = det(U V^H) conj(U) diag(products of the other s) V^T.  The
 * derivative of cofactors, dC = (sum(C t) C - C t^T C) / det, is NaN where det is 0.
 */

/* (...) to (..., 1, 1) */
static cbx_array *of_matrices(cbx_ctx *ctx, const cbx_array *x)
{
    return cbx_expand_dims(ctx, cbx_expand_dims(ctx, x, -1), -1);
}

/* For each element of the last axis the product of those before it. */
static cbx_array *products_before(cbx_ctx *ctx, const cbx_array *s)
{
    return cbx_slice(ctx, cbx_cumulative_prod_initial(ctx, s, -1), -1, 0, -1, 1);
}

CBX__BODY(call_singular)
{
    const cbx_svd_parts p = svd_named(ctx, "det", in[0], false);
    const cbx_array *behind = cbx_flip(ctx, products_before(ctx, cbx_flip(ctx, p.s, -1)), -1);
    const cbx_array *others = cbx__as(ctx, cbx_multiply(ctx, products_before(ctx, p.s), behind), in[0]->desc.dtype);
    const cbx_array *sign = cbx_multiply(ctx, det_steps(ctx, p.u), det_steps(ctx, p.vh));

    others = cbx_expand_dims(ctx, cbx_multiply(ctx, others, cbx_expand_dims(ctx, sign, -1)), -2);
    out[0] = product(ctx, cbx_multiply(ctx, cbx_conj(ctx, p.u), others), cbx_conj(ctx, p.vh));
    return CBX_OK;
}

/* Of a singular matrix beside others in a batch, something that is not used. */
CBX__BODY(call_regular)
{
    const cbx_array *one = identities(ctx, in[0], in[0]->desc.dtype), *d = of_matrices(ctx, det_steps(ctx, in[0]));
    const cbx_array *a = cbx_where(ctx, cbx_equal_scalar(ctx, d, 0), one, in[0]);

    out[0] = cbx_multiply(ctx, d, cbx_matrix_transpose(ctx, cbx_solve(ctx, a, one)));
    return CBX_OK;
}

CBX__BODY(call_cofactors)
{
    const cbx_array *is_singular = cbx_any(ctx, cbx_equal_scalar(ctx, det_steps(ctx, in[0]), 0), NULL);

    return cbx_cond(ctx, is_singular, CBX_FN(call_singular, NULL, 1, 1), CBX_FN(call_regular, NULL, 1, 1), 1, in, out);
}

CBX__BODY(call_det)
{
    out[0] = det_steps(ctx, in[0]);
    return CBX_OK;
}

CBX__BODY(move_cofactors);
CBX__BODY(move_det);

static cbx_array *cofactors_of(cbx_ctx *ctx, const cbx_array *a)
{
    return with_rule(ctx, "cofactors", call_cofactors, move_cofactors, 1, &a);
}
static cbx_array *det_of(cbx_ctx *ctx, const cbx_array *a) { return with_rule(ctx, "det", call_det, move_det, 1, &a); }

/* (a, its tangent) */
CBX__BODY(move_cofactors)
{
    const cbx_array *k = cofactors_of(ctx, in[0]), *t = in[1], *sum, *turned;
    const cbx_axes axes = { .n = 2, .axis = { -2, -1 }, .keep = true };

    sum = cbx_sum(ctx, cbx_multiply(ctx, k, t), &axes);
    turned = product(ctx, k, product(ctx, cbx_matrix_transpose(ctx, t), k));
    out[0] = (cbx_array *)(uintptr_t)k;
    out[1] = cbx_divide(ctx, cbx_subtract(ctx, cbx_multiply(ctx, sum, k), turned),
                        of_matrices(ctx, det_of(ctx, in[0])));
    return CBX_OK;
}

CBX__BODY(move_det)
{
    const cbx_axes axes = { .n = 2, .axis = { -2, -1 } };

    out[0] = det_of(ctx, in[0]);
    out[1] = cbx_sum(ctx, cbx_multiply(ctx, cofactors_of(ctx, in[0]), in[1]), &axes);
    return CBX_OK;
}

cbx_array *cbx_det(cbx_ctx *ctx, const cbx_array *x)
{
    size_t mark = cbx__mark(ctx);
    const cbx_array *a = matrices(ctx, "det", x);
    const bool plain = cbx_array_is_failed(a) || is_empty(a) || rows(a) != columns(a) || !cbx__is_recorded(ctx, 1, &a);

    return cbx__tidy(ctx, mark, plain ? det_steps(ctx, a) : det_of(ctx, a));
}

/*
 * ---- pseudoinverses P ----
 * Their derivatives, at constant rank, are formulas of their own; those of singular vectors are
 * infinite where values are equal:
 *   dP = -P dA P + P P^H dA^H (1 - A P) + (1 - P A) dA^H P^H P
 *   dx = P (db - dA x) + P P^H dA^H (b - A x) + (1 - P A) dA^H P^H x
 * Source: Golub & Pereyra, SIAM J. Numer. Anal. 10 (1973) 413-432.
 */

CBX__BODY(call_pinv)
{
    const cbx_svd_parts p = svd_named(ctx, "pinv", in[0], false);
    const cbx_array *is_large = large(ctx, p.s, nin > 1 ? in[1] : NULL, longest(in[0]));

    out[0] = product(ctx, adjoint(ctx, p.vh), over(ctx, adjoint(ctx, p.u), p.s, is_large));
    return CBX_OK;
}

CBX__BODY(move_pinv);

static cbx_array *pinv_of(cbx_ctx *ctx, const cbx_array *a, const cbx_array *rtol)
{
    return with_rule(ctx, "pinv", call_pinv, move_pinv, rtol ? 2 : 1, (const cbx_array *const[]){ a, rtol });
}

/* (a, rtol, their tangents), or (a, its tangent) */
CBX__BODY(move_pinv)
{
    const cbx_array *a = in[0], *t = in[nin / 2], *th = adjoint(ctx, t);
    const cbx_array *p = pinv_of(ctx, a, nin > 2 ? in[1] : NULL), *ph = adjoint(ctx, p);
    const cbx_array *left = product(ctx, product(ctx, p, ph), th), *right = product(ctx, th, product(ctx, ph, p));
    const cbx_array *moved = product(ctx, product(ctx, p, t), p);

    left = cbx_subtract(ctx, left, product(ctx, product(ctx, left, a), p));
    right = cbx_subtract(ctx, right, product(ctx, p, product(ctx, a, right)));
    out[0] = (cbx_array *)(uintptr_t)p;
    out[1] = cbx_subtract(ctx, cbx_add(ctx, left, right), moved);
    return CBX_OK;
}

cbx_array *cbx_pinv(cbx_ctx *ctx, const cbx_array *x, const cbx_array *rtol)
{
    size_t mark = cbx__mark(ctx);
    cbx_array *a = matrices(ctx, "pinv", x);

    if (cbx_array_is_failed(a)) return cbx__tidy(ctx, mark, a);
    if (is_empty(a)) return cbx__tidy(ctx, mark, adjoint(ctx, a));
    return cbx__tidy(ctx, mark, pinv_of(ctx, a, rtol));
}

/* P b */
static cbx_array *solution(cbx_ctx *ctx, const cbx_svd_parts *p, const cbx_array *is_large, const cbx_array *b)
{
    return product(ctx, adjoint(ctx, p->vh), over(ctx, product(ctx, adjoint(ctx, p->u), b), p->s, is_large));
}

CBX__BODY(call_lstsq)
{
    const cbx_svd_parts p = svd_named(ctx, "lstsq", in[0], false);

    out[0] = solution(ctx, &p, large(ctx, p.s, nin > 2 ? in[2] : NULL, longest(in[0])), in[1]);
    return CBX_OK;
}

/* (a, b, rtol, their tangents), or without those of rtol */
CBX__BODY(move_lstsq)
{
    const cbx_array *a = in[0], *b = in[1], *ta = in[nin / 2], *tb = in[nin / 2 + 1], *th = adjoint(ctx, ta);
    const cbx_array *p = pinv_of(ctx, a, nin > 4 ? in[2] : NULL), *ph = adjoint(ctx, p);
    const cbx_array *x = with_rule(ctx, "lstsq", call_lstsq, move_lstsq, nin / 2, (const cbx_array *const *)in);
    const cbx_array *r = cbx_subtract(ctx, b, product(ctx, a, x)), *right = product(ctx, th, product(ctx, ph, x));
    const cbx_array *moved = product(ctx, p, cbx_subtract(ctx, tb, product(ctx, ta, x)));

    right = cbx_subtract(ctx, right, product(ctx, p, product(ctx, a, right)));
    moved = cbx_add(ctx, moved, product(ctx, p, product(ctx, ph, product(ctx, th, r))));
    out[0] = (cbx_array *)(uintptr_t)x;
    out[1] = cbx_add(ctx, moved, right);
    return CBX_OK;
}

static void lstsq_steps(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b, const cbx_array *rtol, cbx_array *part[4])
{
    const cbx_array *in[3] = { a, b, rtol };
    cbx_array *is_large, *y;
    cbx_svd_parts p;
    bool vector;

    if (!join(ctx, "lstsq", in, &vector)) return;
    p = svd_named(ctx, "lstsq", in[0], false);
    is_large = is_empty(in[0]) ? cbx__as(ctx, p.s, CBX_BOOL) : large(ctx, p.s, rtol, longest(in[0]));
    if (is_empty(in[0]) || !cbx__is_recorded(ctx, rtol ? 3 : 2, in))
        part[0] = solution(ctx, &p, is_large, in[1]);
    else
        part[0] = with_rule(ctx, "lstsq", call_lstsq, move_lstsq, rtol ? 3 : 2, in);
    y = cbx_subtract(ctx, in[1], product(ctx, in[0], part[0]));
    part[1] = cbx_sum(ctx, cbx__norm_square(ctx, y), CBX_AXIS(-2));
    part[2] = cbx_sum(ctx, is_large, CBX_AXIS(-1));
    part[3] = p.s;
    for (int i = 0; vector && i < 2; i++) part[i] = cbx_squeeze(ctx, part[i], -1);
}

cbx_lstsq_parts cbx_lstsq(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b, const cbx_array *rtol)
{
    size_t mark = cbx__mark(ctx);
    cbx_array *failed = cbx__array_failed(), *part[4] = { failed, failed, failed, failed };

    lstsq_steps(ctx, a, b, rtol, part);
    for (int i = 0; i < 4; i++)
        if (cbx_array_is_failed(part[i])) part[0] = part[1] = part[2] = part[3] = failed;
    cbx__tidy_list(ctx, mark, 4, part);
    return (cbx_lstsq_parts){ part[0], part[1], part[2], part[3] };
}
