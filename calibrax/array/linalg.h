/**
 * Linear algebra: the linalg extension of the Python array API 2024.12, and related functions.
 *
 * Functions work on the last two axes (matrices) of operands; what is before them is a stack.
 * Operands of integers and bool are float64, two operands meet in their promoted dtype; lengths of
 * 0 are legal.  float32 is computed in float64 and rounded once.
 * Factors come from LAPACK (of OpenBLAS, loaded on first use, one thread): without it
 * CBX_EUNAVAILABLE, with the package.  A matrix with a NaN or an infinity has factors, eigenvalues
 * and singular values of NaN; products, solve, inv and det take such numbers as arithmetic does.  A
 * singular matrix, or one that is not positive definite, is CBX_EDOM, and the sentence names it by
 * its number in the stack.
 * Derivatives are those of JAX.  cholesky, eigh and eigvalsh move with the Hermitian part of a
 * tangent.  Equal eigenvalues, or singular values, give infinity or NaN in the derivatives of
 * vectors; pinv and lstsq move at constant rank (Golub & Pereyra 1973), rtol does not.  Derivatives
 * of slogdet and inv of a singular matrix are CBX_EDOM; det has a first derivative there, by its
 * cofactors, and its second is NaN.  Vectors beyond
 * those that a matrix determines (complete qr of more rows than columns, svd with full matrices)
 * move as little as keeps them orthogonal to the others, right for their span alone; JAX has none.
 * Other errors, ownership and threads as in ops.h, which also has
 * cbx_matrix_product, cbx_matrix_transpose, cbx_tensordot, cbx_vecdot and cbx_outer.  Since 0.1.
 */
#ifndef CALIBRAX_ARRAY_LINALG_H
#define CALIBRAX_ARRAY_LINALG_H

#include "calibrax/array/ops.h"

CBX_BEGIN_DECLS

/* Parts of results; all of them failed arrays if one is. */
typedef struct cbx_eigh_parts {
    cbx_array *values, *vectors; /* (..., n) real, ascending; (..., n, n) in columns */
} cbx_eigh_parts;
typedef struct cbx_qr_parts {
    cbx_array *q, *r;
} cbx_qr_parts;
typedef struct cbx_slogdet_parts {
    cbx_array *sign, *logabsdet; /* the second is real */
} cbx_slogdet_parts;
typedef struct cbx_svd_parts {
    cbx_array *u, *s, *vh;
} cbx_svd_parts;
typedef struct cbx_lstsq_parts {
    cbx_array *x;         /* (..., n, k), or (..., n) of a vector */
    cbx_array *residuals; /* sum |b - a x|^2 over rows: (..., k), or (...); whatever the rank */
    cbx_array *rank;      /* (...) int64 */
    cbx_array *s;         /* (..., min(m, n)) singular values */
} cbx_lstsq_parts;

/** How a triangular matrix is read; or'ed. */
typedef enum cbx_triangle {
    CBX_TRIANGLE_LOWER = 0,
    CBX_TRIANGLE_UPPER = 1,
    CBX_TRIANGLE_TRANSPOSE = 2, /* solve with its transpose */
    CBX_TRIANGLE_ADJOINT = 4,   /* solve with its conjugate transpose */
    CBX_TRIANGLE_UNIT = 8       /* its diagonal counts as ones and is not read */
} cbx_triangle;

/** Norms of a matrix: of its elements, its singular values, its column sums (1) and row sums (inf)
 * of absolute values. */
typedef enum cbx_matrix_ord {
    CBX_ORD_FRO,       /* sqrt(sum |x|^2) */
    CBX_ORD_NUC,       /* sum of singular values */
    CBX_ORD_1,         /* largest column sum */
    CBX_ORD_MINUS_1,   /* smallest column sum */
    CBX_ORD_2,         /* largest singular value */
    CBX_ORD_MINUS_2,   /* smallest singular value */
    CBX_ORD_INF,       /* largest row sum */
    CBX_ORD_MINUS_INF, /* smallest row sum */
    CBX_ORD_COUNT
} cbx_matrix_ord;

/* ---- factors ---- */

/**
 * L with x = L L^H, or U with x = U^H U: only that triangle of x is read, the other one of the
 * result is 0.  Not positive definite: CBX_EDOM.  LAPACK potrf.
 */
CBX_API cbx_array *cbx_cholesky(cbx_ctx *ctx, const cbx_array *x, bool upper);
/** x = q r: q (m, k), r (k, n) with k = min(m, n), or complete: q (m, m), r (m, n).  LAPACK
 * geqrf. */
CBX_API cbx_qr_parts cbx_qr(cbx_ctx *ctx, const cbx_array *x, bool complete);
/** Hermitian x = v diag(w) v^H; only the lower triangle of x is read.  LAPACK syevd, heevd. */
CBX_API cbx_eigh_parts cbx_eigh(cbx_ctx *ctx, const cbx_array *x);
CBX_API cbx_array *cbx_eigvalsh(cbx_ctx *ctx, const cbx_array *x);
/** x = u diag(s) vh, s descending: u (m, k), vh (k, n) with k = min(m, n), or full: (m, m) and (n,
 * n).  LAPACK gesdd. */
CBX_API cbx_svd_parts cbx_svd(cbx_ctx *ctx, const cbx_array *x, bool full_matrices);
CBX_API cbx_array *cbx_svdvals(cbx_ctx *ctx, const cbx_array *x);

/* ---- determinants and systems of equations ---- */

/** Product of the diagonal of the LU factors; of a 0-by-0 matrix 1. */
CBX_API cbx_array *cbx_det(cbx_ctx *ctx, const cbx_array *x);
/** det = sign exp(logabsdet); singular: 0 and -infinity. */
CBX_API cbx_slogdet_parts cbx_slogdet(cbx_ctx *ctx, const cbx_array *x);
/**
 * x of a x = b, by LU with row pivots.  b of rank 1 is one vector for every matrix, any other b a
 * stack of matrices; leading axes broadcast.  Singular: CBX_EDOM.
 */
CBX_API cbx_array *cbx_solve(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b);
/** As cbx_solve for a triangular a: the other triangle is not read.  @param how  or'ed of
 * cbx_triangle */
CBX_API cbx_array *cbx_triangular_solve(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b, unsigned how);
CBX_API cbx_array *cbx_inv(cbx_ctx *ctx, const cbx_array *x);
/** x multiplied n times, by squaring; n < 0 of the inverse; n = 0 the identity. */
CBX_API cbx_array *cbx_matrix_power(cbx_ctx *ctx, const cbx_array *x, int64_t n);
/**
 * Moore-Penrose inverse from singular values above rtol times the largest.
 * @param rtol  broadcasts to the stack; NULL: max(m, n) times the dtype's epsilon, here and below
 */
CBX_API cbx_array *cbx_pinv(cbx_ctx *ctx, const cbx_array *x, const cbx_array *rtol);
/** Number of singular values above rtol times the largest: int64.  A matrix of no elements has rank
 * 0. */
CBX_API cbx_array *cbx_matrix_rank(cbx_ctx *ctx, const cbx_array *x, const cbx_array *rtol);
/** The shortest x that makes |b - a x| least, column by column; b as in cbx_solve. */
CBX_API cbx_lstsq_parts cbx_lstsq(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b, const cbx_array *rtol);

/* ---- norms ---- */

/** Of no elements 0, but CBX_ESHAPE where it would be the least of nothing. */
CBX_API cbx_array *cbx_matrix_norm(cbx_ctx *ctx, const cbx_array *x, cbx_matrix_ord ord, bool keepdims);
/**
 * (sum |x|^ord)^(1/ord) over axes; infinity: the largest |x|, -infinity the least, 0: how many are
 * not 0.  Of no elements 0, for ord < 0 infinity, for -infinity CBX_ESHAPE.  Sums are in float64,
 * without scaling: |x|^ord of float64 may overflow.
 */
CBX_API cbx_array *cbx_vector_norm(cbx_ctx *ctx, const cbx_array *x, double ord, const cbx_axes *axes);

/* ---- diagonals and products ---- */

/** Elements with column - row = offset, along a new last axis: a view where strides allow. */
CBX_API cbx_array *cbx_diagonal(cbx_ctx *ctx, const cbx_array *x, ptrdiff_t offset);
/** Sum of the diagonal; dtype as cbx_sum. */
CBX_API cbx_array *cbx_trace(cbx_ctx *ctx, const cbx_array *x, ptrdiff_t offset);
/** Vector product along an axis of length 3 (else CBX_ESHAPE), counted from the end (axis < 0); the
 * others broadcast. */
CBX_API cbx_array *cbx_cross(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b, int axis);

CBX_END_DECLS
#endif
