/*
 * Linear algebra: NumPy's answers where they are unique, identities of the factors within LAPACK's
 * own bounds, and what is refused.
 */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/array/linalg.h"
#include "calibrax/base/pool.h"
#include "cases.h"

/* ---- NumPy's answers ---- */

#define ONE(name_, expr)                                                                                               \
    static void do_##name_(cbx_ctx *c, const array_case *k, cbx_array **out)                                           \
    {                                                                                                                  \
        const cbx_array *const *in = k->in;                                                                            \
        const double *a = k->attr;                                                                                     \
        (void)a;                                                                                                       \
        (void)in;                                                                                                      \
        out[0] = expr;                                                                                                 \
    }
ONE(cholesky, cbx_cholesky(c, in[0], a[0] != 0))
ONE(det, cbx_det(c, in[0]))
ONE(inv, cbx_inv(c, in[0]))
ONE(solve, cbx_solve(c, in[0], in[1]))
ONE(triangular_solve, cbx_triangular_solve(c, in[0], in[1], (unsigned)a[0]))
ONE(matrix_power, cbx_matrix_power(c, in[0], (int64_t)a[0]))
ONE(svdvals, cbx_svdvals(c, in[0]))
ONE(svd_s, cbx_svd(c, in[0], true).s)
ONE(eigvalsh, cbx_eigvalsh(c, in[0]))
ONE(eigh_values, cbx_eigh(c, in[0]).values)
ONE(pinv, cbx_pinv(c, in[0], NULL))
ONE(pinv_rtol, cbx_pinv(c, in[0], in[1]))
ONE(matrix_rank, cbx_matrix_rank(c, in[0], NULL))
ONE(matrix_rank_rtol, cbx_matrix_rank(c, in[0], in[1]))
ONE(matrix_norm, cbx_matrix_norm(c, in[0], (cbx_matrix_ord)a[0], a[1] != 0))
ONE(vector_norm, cbx_vector_norm(c, in[0], a[0], case_axes(k, 2, a[1] != 0, &(cbx_axes){ 0 })))
ONE(diagonal, cbx_diagonal(c, in[0], (ptrdiff_t)a[0]))
ONE(trace, cbx_trace(c, in[0], (ptrdiff_t)a[0]))
ONE(matrix_transpose, cbx_matrix_transpose(c, in[0]))
ONE(cross, cbx_cross(c, in[0], in[1], (int)a[0]))
ONE(vecdot, cbx_vecdot(c, in[0], in[1], (int)a[0]))
ONE(outer, cbx_outer(c, in[0], in[1]))
ONE(matmul, cbx_matrix_product(c, in[0], in[1]))

static void do_slogdet(cbx_ctx *c, const array_case *k, cbx_array **out)
{
    cbx_slogdet_parts p = cbx_slogdet(c, k->in[0]);
    out[0] = p.sign;
    out[1] = p.logabsdet;
}

static void do_lstsq(cbx_ctx *c, const array_case *k, cbx_array **out)
{
    cbx_lstsq_parts p = cbx_lstsq(c, k->in[0], k->in[1], NULL);
    out[0] = p.x;
    out[1] = p.rank;
    out[2] = p.s;
}

static void do_tensordot(cbx_ctx *c, const array_case *k, cbx_array **out)
{
    int n = (int)k->attr[0], of_a[CBX_MAX_RANK], of_b[CBX_MAX_RANK];
    for (int i = 0; i < n; i++) {
        of_a[i] = cbx_array_ndim(k->in[0]) - n + i;
        of_b[i] = i;
    }
    out[0] = cbx_tensordot(c, k->in[0], k->in[1], n, of_a, of_b);
}

/* clang-format off */
#define ROW(name) { #name, do_##name }
static const case_row rows[] = {
    ROW(cholesky), ROW(det), ROW(inv), ROW(solve), ROW(triangular_solve), ROW(matrix_power), ROW(svdvals), ROW(svd_s),
    ROW(eigvalsh), ROW(eigh_values), ROW(pinv), ROW(pinv_rtol), ROW(matrix_rank), ROW(matrix_rank_rtol), ROW(matrix_norm),
    ROW(vector_norm), ROW(diagonal), ROW(trace), ROW(matrix_transpose), ROW(cross), ROW(vecdot), ROW(outer), ROW(matmul),
    ROW(slogdet), ROW(lstsq), ROW(tensordot),
};
/* clang-format on */

TEST(functions_agree_with_numpy) { cases_agree("linalg.bin", rows, CBX_LEN(rows), 4000); }

TEST(the_comparison_can_fail) { cases_can_fail("linalg.bin", rows, CBX_LEN(rows)); }

TEST(every_allocation_may_fail) { cases_survive("linalg.bin", rows, CBX_LEN(rows)); }

/* ---- identities ---- */

static const cbx_dtype dtypes[] = { CBX_F32, CBX_F64, CBX_C64, CBX_C128 };

static double eps_of(cbx_dtype t) { return t == CBX_F32 || t == CBX_C64 ? 0x1p-23 : 0x1p-52; }

static double item(const cbx_array *x)
{
    double v = 0;
    CHECK_OK(cbx_array_read(x, &v, sizeof v, NULL), (&(cbx_err){ 0 }), "one number of float64");
    return v;
}

/* Not symmetric, of full rank: sin of products of integers. */
static cbx_array *matrix(cbx_ctx *c, cbx_dtype t, size_t batch, size_t m, size_t n)
{
    cbx_array *x = cbx_arange_int(c, 1, (int64_t)(batch * m * n) + 1, 1, CBX_F64);
    cbx_array *re = cbx_sin(c, cbx_multiply_scalar(c, cbx_square(c, x), 0.7));

    re = cbx_reshape(c, re, 3, (const ptrdiff_t[]){ (ptrdiff_t)batch, (ptrdiff_t)m, (ptrdiff_t)n });
    if (t == CBX_C64 || t == CBX_C128) {
        cbx_array *im = cbx_cos(c, cbx_multiply_scalar(c, cbx_square(c, re), 5));
        re = cbx_add(c, re, cbx_multiply(c, im, cbx_weak(c, im, cbx_complex(0, 1))));
    }
    return cbx_astype(c, re, t);
}

static cbx_array *adjoint(cbx_ctx *c, const cbx_array *x) { return cbx_matrix_transpose(c, cbx_conj(c, x)); }

/* Largest 1-norm in the stack, in float64. */
static double norm(cbx_ctx *c, const cbx_array *x)
{
    return item(cbx_astype(c, cbx_max(c, cbx_matrix_norm(c, x, CBX_ORD_1, false), NULL), CBX_F64));
}

/* LAPACK's test ratio |got - want| / (|want| n eps), below 30 in its own tests.  Source: LAPACK
 * Working Note 41, chapter 6. */
static double ratio(cbx_ctx *c, const cbx_array *got, const cbx_array *want, size_t n)
{
    return norm(c, cbx_subtract(c, got, want)) / (norm(c, want) * (double)n * eps_of(cbx_array_dtype(want)));
}

/* |q^H q - 1| / (n eps) */
static double unitary_ratio(cbx_ctx *c, const cbx_array *q)
{
    size_t n = cbx_array_dim(q, 2);
    cbx_array *one = cbx_eye(c, n, n, 0, cbx_array_dtype(q));
    return ratio(c, cbx_matrix_product(c, adjoint(c, q), q), one, cbx_array_dim(q, 1));
}

static cbx_array *scaled(cbx_ctx *c, const cbx_array *columns, const cbx_array *s)
{
    return cbx_multiply(c, columns, cbx_astype(c, cbx_expand_dims(c, s, -2), cbx_array_dtype(columns)));
}

#define LIMIT 30.0

static void check_factors(cbx_ctx *c, cbx_dtype t, size_t m, size_t n)
{
    char why[80];
    cbx_array *a = matrix(c, t, 2, m, n);
    size_t k = m < n ? m : n, longest = m < n ? n : m;

    snprintf(why, sizeof why, "%s %zu by %zu", cbx_dtype_name(t), m, n);
    for (int full = 0; full < 2; full++) {
        cbx_svd_parts p = cbx_svd(c, a, full);
        cbx_qr_parts f = cbx_qr(c, a, full);
        cbx_array *u = cbx_slice(c, p.u, 2, 0, (ptrdiff_t)k, 1), *vh = cbx_slice(c, p.vh, 1, 0, (ptrdiff_t)k, 1);
        CHECK_LE(ratio(c, cbx_matrix_product(c, scaled(c, u, p.s), vh), a, longest), LIMIT, why);
        CHECK_LE(unitary_ratio(c, p.u), LIMIT, why);
        CHECK_LE(unitary_ratio(c, adjoint(c, p.vh)), LIMIT, why);
        CHECK_LE(ratio(c, cbx_matrix_product(c, f.q, f.r), a, longest), LIMIT, why);
        CHECK_LE(unitary_ratio(c, f.q), LIMIT, why);
        CHECK(item(cbx_astype(c, cbx_sum(c, cbx_abs(c, cbx_tril(c, f.r, -1)), NULL), CBX_F64)) == 0, "R is upper");
        CHECK_INT(cbx_array_dim(p.u, 2), full ? m : k, why);
        CHECK_INT(cbx_array_dim(f.q, 2), full ? m : k, why);
        CHECK_INT(cbx_array_dim(p.vh, 1), full ? n : k, why);
    }
}

static void check_square(cbx_ctx *c, cbx_dtype t, size_t n)
{
    cbx_array *a = matrix(c, t, 2, n, n), *h = cbx_add(c, a, adjoint(c, a)), *b = matrix(c, t, 2, n, 3), *x, *l;
    cbx_array *p = cbx_add(c, cbx_matrix_product(c, a, adjoint(c, a)), cbx_eye(c, n, n, 0, t));
    cbx_eigh_parts e = cbx_eigh(c, h);
    const char *why = cbx_dtype_name(t);

    CHECK_LE(ratio(c, cbx_matrix_product(c, scaled(c, e.vectors, e.values), adjoint(c, e.vectors)), h, n), LIMIT, why);
    CHECK_LE(unitary_ratio(c, e.vectors), LIMIT, why);
    l = cbx_cholesky(c, p, false);
    CHECK_LE(ratio(c, cbx_matrix_product(c, l, adjoint(c, l)), p, n), LIMIT, why);
    l = cbx_cholesky(c, p, true);
    CHECK_LE(ratio(c, cbx_matrix_product(c, adjoint(c, l), l), p, n), LIMIT, why);
    x = cbx_solve(c, a, b);
    CHECK_LE(norm(c, cbx_subtract(c, cbx_matrix_product(c, a, x), b)) /
                 (norm(c, a) * norm(c, x) * (double)n * eps_of(t)),
             LIMIT, "|b - a x| / (|a| |x| n eps)");
    x = cbx_inv(c, a);
    CHECK_LE(norm(c, cbx_subtract(c, cbx_matrix_product(c, a, x), cbx_eye(c, n, n, 0, t))) /
                 (norm(c, a) * norm(c, x) * (double)n * eps_of(t)),
             LIMIT, "|1 - a inv a| / (|a| |inv a| n eps)");
}

TEST(factors_give_the_matrix_back)
{
    static const size_t sizes[][2] = { { 1, 1 }, { 5, 5 }, { 9, 4 }, { 4, 9 }, { 40, 33 }, { 33, 40 }, { 70, 70 } };
    cbx_ctx *c = cbx_test_context();

    for (size_t i = 0; i < CBX_LEN(dtypes); i++)
        for (size_t s = 0; s < CBX_LEN(sizes); s++) {
            cbx_scope scope;
            cbx_err err = CBX_ERR_INIT;
            cbx_scope_open(c, &scope);
            check_factors(c, dtypes[i], sizes[s][0], sizes[s][1]);
            if (sizes[s][0] == sizes[s][1]) check_square(c, dtypes[i], sizes[s][0]);
            CHECK_OK(cbx_scope_close(&scope, &err), &err, "all of it");
        }
    cbx_array *a = matrix(c, CBX_F64, 1, 6, 6), *wrong = cbx_qr(c, a, false).q;
    wrong = cbx_multiply_scalar(c, wrong, 1 + 1e-13);
    CHECK_GT(unitary_ratio(c, wrong), LIMIT, "the bound sees columns that are a little too long");
    cbx_ctx_free(c);
}

/* x as it is, as a transposed view, as every other element of rows and columns, as columns of a
 * wider matrix and as rows of a taller one that is transposed. */
static cbx_array *laid_out(cbx_ctx *c, cbx_array *x, int how)
{
    const bool flipped = how == 4;
    if (flipped) x = cbx_matrix_transpose(c, x);
    if (how >= 3) {
        const ptrdiff_t width = (ptrdiff_t)cbx_array_dim(x, 1);
        x = cbx_slice(c, cbx_concat(c, 2, (const cbx_array *const[]){ x, x }, 1), 1, 0, width, 1);
        return flipped ? cbx_matrix_transpose(c, x) : x;
    }
    if (how == 1) return cbx_matrix_transpose(c, cbx_copy(c, cbx_matrix_transpose(c, x)));
    if (how == 2)
        return cbx_slice(c, cbx_slice(c, cbx_repeat(c, cbx_repeat(c, x, 2, 1), 2, 2), 1, 0, CBX_OPEN, 2), 2, 0,
                         CBX_OPEN, 2);
    return x;
}

/* |op(T) X - B| / (|T| |X| n eps), of triangles and columns that lie in each way. */
TEST(triangles_where_they_lie)
{
    enum { N = 7 };
    cbx_ctx *c = cbx_test_context();

    for (unsigned i = 0; i < 16 * 25 * 2; i++) {
        const unsigned mode = i % 16, a_how = i / 16 % 5, b_how = i / 80 % 5;
        cbx_array *a = cbx_add(c, matrix(c, CBX_F64, 2, N, N), cbx_multiply_scalar(c, cbx_eye(c, N, N, 0, CBX_F64), 4));
        cbx_array *b = matrix(c, CBX_F64, 2, N, i / 400 ? 5 : 1),
                  *t = mode & CBX_TRIANGLE_UPPER ? cbx_triu(c, a, 0) : cbx_tril(c, a, 0);
        char why[64];
        snprintf(why, sizeof why, "mode %u, layouts %u and %u", mode, a_how, b_how);
        if (mode & CBX_TRIANGLE_UNIT) t = cbx_where(c, cbx_eye(c, N, N, 0, CBX_BOOL), cbx_ones_like(c, t), t);
        if (mode & (CBX_TRIANGLE_TRANSPOSE | CBX_TRIANGLE_ADJOINT)) t = cbx_matrix_transpose(c, t);
        const cbx_array *x = cbx_triangular_solve(c, laid_out(c, a, (int)a_how), laid_out(c, b, (int)b_how), mode);
        const double gap = norm(c, cbx_subtract(c, cbx_matrix_product(c, t, x), b));
        CHECK_LE(gap, LIMIT * N * 0x1p-52 * norm(c, t) * norm(c, x), why);
    }
    cbx_ctx_free(c);
}

/* The four conditions of Penrose, for a matrix of rank 3. */
TEST(pseudo_inverses)
{
    cbx_ctx *c = cbx_test_context();

    for (size_t i = 0; i < CBX_LEN(dtypes); i++) {
        cbx_array *a = cbx_matrix_product(c, matrix(c, dtypes[i], 2, 8, 3), matrix(c, dtypes[i], 2, 3, 6));
        cbx_array *p = cbx_pinv(c, a, NULL), *ap = cbx_matrix_product(c, a, p), *pa = cbx_matrix_product(c, p, a);
        double cond = norm(c, a) * norm(c, p);
        CHECK_LE(ratio(c, cbx_matrix_product(c, ap, a), a, 8), LIMIT * cond, "a p a = a");
        CHECK_LE(ratio(c, cbx_matrix_product(c, pa, p), p, 8), LIMIT * cond, "p a p = p");
        CHECK_LE(ratio(c, adjoint(c, ap), ap, 8), LIMIT * cond, "a p is Hermitian");
        CHECK_LE(ratio(c, adjoint(c, pa), pa, 8), LIMIT * cond, "p a is Hermitian");
    }
    cbx_ctx_free(c);
}

TEST(least_squares)
{
    cbx_ctx *c = cbx_test_context();
    cbx_array *a = matrix(c, CBX_F64, 2, 9, 4), *b = matrix(c, CBX_F64, 2, 9, 3), *rest;
    cbx_lstsq_parts p = cbx_lstsq(c, a, b, NULL), v;

    rest = cbx_subtract(c, b, cbx_matrix_product(c, a, p.x));
    CHECK_LE(norm(c, cbx_matrix_product(c, adjoint(c, a), rest)), 1e-12, "what is left is normal to the columns");
    rest = cbx_subtract(c, p.residuals, cbx_sum(c, cbx_square(c, rest), CBX_AXIS(-2)));
    CHECK_LE(item(cbx_max(c, cbx_abs(c, rest), NULL)), 1e-12, "residuals");
    CHECK_INT(cbx_array_ndim(p.rank), 1, "one rank for each matrix");
    v = cbx_lstsq(c, cbx_index(c, a, 0, 0), cbx_index(c, cbx_index(c, b, 0, 0), 1, 0), NULL);
    CHECK(cbx_array_ndim(v.x) == 1 && cbx_array_ndim(v.residuals) == 0, "a vector gives a vector");
    v = cbx_lstsq(c, cbx_zeros(c, 2, (const size_t[]){ 0, 3 }, CBX_F64),
                  cbx_zeros(c, 1, (const size_t[]){ 0 }, CBX_F64), NULL);
    CHECK(cbx_array_dim(v.x, 0) == 3 && cbx_array_count(v.s) == 0, "no equations: zeros");
    CHECK_STATUS(cbx_ctx_pending(c, NULL), CBX_OK, "nothing failed");
    cbx_ctx_free(c);
}

/* ---- refusals, NaN, abstract operands ---- */

TEST(what_is_refused)
{
    static const struct {
        cbx_status status;
        const char *words, *why;
    } cases[] = {
        { CBX_EDOM, "matrix 1 of 'cholesky' is not positive definite", "the second of a stack" },
        { CBX_EDOM, "the matrix of 'inv' is singular: pivot 1 is 0", "a single matrix has no number" },
        { CBX_EDOM, "'triangular_solve' is singular: element 0 of its diagonal", "a zero on the diagonal" },
        { CBX_ESHAPE, "'inv' needs square matrices, not float64 (2, 3)", "not square" },
        { CBX_ESHAPE, "'qr' needs a matrix, not float64 (3,)", "a vector" },
        { CBX_ESHAPE, "'solve' cannot join float64 (2, 2) with float64 (3,)", "lengths differ" },
        { CBX_ESHAPE, "'cross' needs three numbers along axis -1, not 2", "a plane" },
        { CBX_EINVAL, "'matrix_norm': unknown order 99", "no such norm" },
        { CBX_EINVAL, "axis 0 of 'cross' counts from the end", "an axis from the front" },
        { CBX_ESHAPE, "an empty array", "the least singular value of none" },
        { CBX_EINVAL, "order NaN", "a norm of no order" },
        { CBX_EINVAL, "operand 1 of 'svd' is NULL", "no operand" },
    };
    cbx_ctx *c = cbx_test_context();

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_scope scope;
        cbx_err err = CBX_ERR_INIT;
        cbx_scope_open(c, &scope);
        cbx_array *one = cbx_eye(c, 2, 2, 0, CBX_F64), *row = cbx_ones(c, 2, (const size_t[]){ 2, 3 }, CBX_F64);
        cbx_array *line = cbx_ones(c, 1, (const size_t[]){ 3 }, CBX_F64),
                  *flat = cbx_ones(c, 2, (const size_t[]){ 2, 2 }, CBX_F64);
        cbx_array *pair = cbx_stack(c, 2, (const cbx_array *const[]){ one, cbx_negative(c, one) }, 0), *r = NULL;
        switch (i) {
        case 0: r = cbx_cholesky(c, pair, false); break;
        case 1: r = cbx_inv(c, flat); break;
        case 2: r = cbx_triangular_solve(c, cbx_subtract(c, one, cbx_eye(c, 2, 2, 0, CBX_F64)), one, 0); break;
        case 3: r = cbx_inv(c, row); break;
        case 4: r = cbx_qr(c, line, false).r; break;
        case 5: r = cbx_solve(c, one, line); break;
        case 6: r = cbx_cross(c, one, one, -1); break;
        case 7: r = cbx_matrix_norm(c, one, (cbx_matrix_ord)99, false); break;
        case 8: r = cbx_cross(c, line, line, 0); break;
        case 9:
            r = cbx_matrix_norm(c, cbx_zeros(c, 2, (const size_t[]){ 0, 3 }, CBX_F64), CBX_ORD_MINUS_2, false);
            break;
        case 10: r = cbx_vector_norm(c, line, (double)NAN, NULL); break;
        case 11: r = cbx_svd(c, NULL, true).s; break;
        }
        CHECK(cbx_array_is_failed(r), cases[i].why);
        CHECK_STATUS(cbx_scope_close(&scope, &err), cases[i].status, cases[i].why);
        if (!strstr(err.message, cases[i].words))
            fail_msg("%s: \"%s\" lacks \"%s\"", cases[i].why, err.message, cases[i].words);
    }
    cbx_ctx_free(c);
}

static bool all_nan(cbx_ctx *c, const cbx_array *x)
{
    bool yes = false;
    CHECK_OK(cbx_array_read(cbx_all(c, cbx_isnan(c, x), NULL), &yes, sizeof yes, NULL), (&(cbx_err){ 0 }), "all");
    return yes;
}

/* A NaN or an infinity in one matrix of a stack: that one is NaN, the other one is as without. */
TEST(what_is_not_finite)
{
    cbx_ctx *c = cbx_test_context();

    for (size_t i = 0; i < CBX_LEN(dtypes); i++)
        for (int infinite = 0; infinite < 2; infinite++) {
            cbx_array *a = matrix(c, dtypes[i], 2, 3, 3), *h, *bad;
            h = cbx_add(c, cbx_matrix_product(c, a, adjoint(c, a)), cbx_eye(c, 3, 3, 0, dtypes[i]));
            bad = cbx_scatter(c, cbx_reshape(c, h, 1, (const ptrdiff_t[]){ 18 }),
                              cbx_full(c, 0, NULL, CBX_I64, cbx_int(12)),
                              cbx_full(c, 0, NULL, CBX_F32, cbx_float(infinite ? (double)INFINITY : (double)NAN)), 0,
                              CBX_SCATTER_SET);
            bad = cbx_reshape(c, bad, 3, (const ptrdiff_t[]){ 2, 3, 3 });
            cbx_eigh_parts e = cbx_eigh(c, bad);
            cbx_svd_parts s = cbx_svd(c, bad, true);
            cbx_qr_parts q = cbx_qr(c, bad, false);
            const cbx_array *parts[] = {
                e.values,
                e.vectors,
                s.u,
                s.s,
                s.vh,
                q.q,
                cbx_eigvalsh(c, bad),
                cbx_svdvals(c, bad),
                cbx_diagonal(c, cbx_cholesky(c, bad, false), 0),
                cbx_pinv(c, bad, NULL),
                cbx_lstsq(c, bad, a, NULL).x,
                cbx_matrix_norm(c, bad, CBX_ORD_2, true),
            };
            for (size_t k = 0; k < CBX_LEN(parts); k++) {
                CHECK(all_nan(c, cbx_index(c, parts[k], 0, 1)), "everything of it is NaN");
                CHECK(!all_nan(c, cbx_index(c, parts[k], 0, 0)), "its neighbour is not touched");
            }
        }
    CHECK_STATUS(cbx_ctx_pending(c, NULL), CBX_OK, "nothing failed");
    cbx_ctx_free(c);
}

TEST(abstract_operands_give_abstract_results)
{
    cbx_ctx *c = cbx_test_context();
    cbx_array *x = NULL, *y = NULL;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_array_create_abstract(c, &(cbx_array_desc){ CBX_C64, 3, { 2, 3, 5 } }, &x, &err), &err, "abstract");
    CHECK_OK(cbx_array_create_abstract(c, &(cbx_array_desc){ CBX_C64, 3, { 2, 3, 3 } }, &y, &err), &err, "abstract");
    const struct {
        const cbx_array *r;
        cbx_array_desc d;
    } cases[] = {
        { cbx_svd(c, x, true).vh, { CBX_C64, 3, { 2, 5, 5 } } },
        { cbx_svd(c, x, false).s, { CBX_F32, 2, { 2, 3 } } },
        { cbx_qr(c, x, false).r, { CBX_C64, 3, { 2, 3, 5 } } },
        { cbx_eigh(c, y).values, { CBX_F32, 2, { 2, 3 } } },
        { cbx_slogdet(c, y).logabsdet, { CBX_F32, 1, { 2 } } },
        { cbx_matrix_rank(c, x, NULL), { CBX_I64, 1, { 2 } } },
        { cbx_lstsq(c, x, x, NULL).x, { CBX_C64, 3, { 2, 5, 5 } } },
        { cbx_pinv(c, x, NULL), { CBX_C64, 3, { 2, 5, 3 } } },
        { cbx_matrix_power(c, y, -2), { CBX_C64, 3, { 2, 3, 3 } } },
        { cbx_matrix_norm(c, x, CBX_ORD_NUC, true), { CBX_F32, 3, { 2, 1, 1 } } },
        { cbx_triangular_solve(c, cbx_cholesky(c, y, false), x, 0), { CBX_C64, 3, { 2, 3, 5 } } },
        { cbx_det(c, y), { CBX_C64, 1, { 2 } } },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        CHECK(!cbx_array_is_failed(cases[i].r) && cbx_array_is_abstract(cases[i].r), "without data");
        CHECK(cbx_array_desc_equal(cbx_array_get_desc(cases[i].r), &cases[i].d), "with shape and dtype");
    }
    CHECK_STATUS(cbx_ctx_pending(c, &err), CBX_OK, "nothing failed");
    cbx_array_free(x);
    cbx_array_free(y);
    cbx_ctx_free(c);
}

/* Results alone are kept: two parts of one packed array, no steps. */
TEST(steps_are_not_kept)
{
    cbx_ctx *home = cbx_test_context(), *c = cbx_test_context();
    cbx_array *a = matrix(home, CBX_F64, 1, 200, 200);
    cbx_pool_stats stats;
    cbx_scope scope;

    cbx_scope_open(c, &scope);
    cbx_qr(c, a, false);
    cbx_svd(c, a, false);
    cbx_lstsq(c, a, a, NULL);
    cbx_pool_get_stats(cbx_ctx_pool(c), &stats);
    CHECK_LE((double)stats.bytes_in_use, 12.0 * (double)cbx_array_bytes(a),
             "two factors, two vectors, a solution and singular values");
    CHECK_STATUS(cbx_scope_close(&scope, NULL), CBX_OK, "close");
    cbx_ctx_free(c);
    cbx_ctx_free(home);
}

TESTS()
