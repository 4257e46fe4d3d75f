/**
 * Matrix products over six algebras: C[i,j] = finalize( update over kk of combine(A[i,kk], B[kk,j]) ).
 *
 * The algebra is a const descriptor; the product is one tiled kernel, compiled for each instruction set and chosen by the CPU's
 * features at run time.  Working memory is lent by the caller, so a call allocates nothing and can fail only on bad arguments.
 */
#ifndef CALIBRAX_ARRAY_KERNELS_SEMIRING_H
#define CALIBRAX_ARRAY_KERNELS_SEMIRING_H

#include <stdbool.h>
#include <stdint.h>

#include "calibrax/array/dtype.h"

CBX_BEGIN_DECLS

typedef enum cbx_algebra {
    CBX_ALGEBRA_REAL,
    CBX_ALGEBRA_LOG,
    CBX_ALGEBRA_TROPICAL_MAX_PLUS,
    CBX_ALGEBRA_TROPICAL_MIN_PLUS,
    CBX_ALGEBRA_EUCLIDEAN,
    CBX_ALGEBRA_BOOLEAN,
    CBX_ALGEBRA_COUNT
} cbx_algebra;

/**
 * One algebra.  `identity` starts the fold and is the answer for k = 0 (after finalize); `annihilator` is the value that masks a
 * term, which euclidean has none of: its identity 0 does not mask, it adds b^2.
 */
typedef struct cbx_semiring {
    cbx_algebra id;
    const char *name;     /* "tropical_max_plus" */
    const char *combine;  /* "a + b" */
    const char *update;   /* "max(acc, t)" */
    const char *finalize; /* "" if none */
    double identity, empty;
    bool has_annihilator;
    double annihilator;
    /* what C[i,j] is when a term t = combine(A[i,kk], B[kk,j]) is special; NaN terms come from NaN operands and from inf - inf, 0*inf */
    const char *nan_rule, *plus_inf_rule, *minus_inf_rule;
    bool
        is_exact; /* the right answer in the dtype is unique: every right implementation agrees bit for bit (up to the sign of 0) */
} cbx_semiring;

/** Descriptor of an algebra; NULL for a number outside the list. */
CBX_API const cbx_semiring *cbx_semiring_get(cbx_algebra id);
/** Descriptor by exact name: real, log, tropical_max_plus, tropical_min_plus, euclidean, boolean; NULL for any other. */
CBX_API const cbx_semiring *cbx_semiring_find(const char *name);
/** boolean takes bool only, the others float32 and float64. */
CBX_API bool cbx_semiring_takes(const cbx_semiring *s, cbx_dtype dtype);

/** Instruction sets that kernels are compiled for. */
typedef enum cbx_isa { CBX_ISA_PLAIN, CBX_ISA_AVX2, CBX_ISA_AVX512, CBX_ISA_COUNT } cbx_isa;
/** "plain" (on ARM that is NEON), "avx2", "avx512" */
CBX_API const char *cbx_isa_name(cbx_isa isa);
/** Compiled in, and this CPU and its operating system can run it. */
CBX_API bool cbx_isa_available(cbx_isa isa);
/** The widest available one. */
CBX_API cbx_isa cbx_isa_best(void);

/** One product.  Open struct; start from CBX_MATMUL_INIT. */
typedef struct cbx_matmul {
    uint32_t struct_size;
    cbx_isa isa; /* which kernel; CBX_ISA_COUNT: the best */
    const cbx_semiring *semiring;
    cbx_dtype dtype; /* of A, B and C */
    size_t m, k, n;
    const void *a; /* m-by-k, row-major, element (i,kk) at i*lda + kk; lda >= k */
    size_t lda;    /* [elements] */
    const void *b; /* k-by-n, ldb >= n */
    size_t ldb;
    void *c; /* m-by-n, ldc >= n; written in full, never read before; must not overlap a, b or the workspace */
    size_t ldc;
    void *workspace; /* 64-byte aligned; content undefined before and after */
    size_t workspace_bytes;
} cbx_matmul;

#define CBX_MATMUL_INIT                                                                                                \
    {                                                                                                                  \
        sizeof(cbx_matmul), CBX_ISA_COUNT, 0, CBX_F32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                 \
    }

/** Bytes of workspace that a product of this algebra, dtype and shape needs with this isa (pointers and strides are not looked at);
 * at least 64, at most about 3 MiB + 16 (m + n).
 * @return CBX_OK; CBX_EINVAL (struct_size, no semiring, isa not available); CBX_EDTYPE */
CBX_API cbx_status cbx_semiring_workspace(const cbx_matmul *p, size_t *out, cbx_err *err);

/**
 * The product.  k = 0 fills C with the algebra's empty value.  bool operands: any byte but 0 is true; C holds 0 and 1.
 *
 * Accuracy, u = 2^-24 or 2^-53, gamma_k = k u / (1 - k u) (Higham, Accuracy and Stability, 2002, section 3.1):
 *   real       |error| <= gamma_k sum |a||b|
 *   euclidean  relative error <= gamma_(k+4) / 2 + u, by direct differences: nothing cancels
 *   tropical   the exact max or min of the correctly rounded sums; NaN if a term is NaN
 *   log        A' = exp(a - rowmax), B' = exp(b - colmax), C = log(A'B') + rowmax + colmax, with a certificate for each element: every
 *              product is accurate or off by at most 3 * 2^-126 (2^-1022), so a sum of k of them that reaches k * 2^-100 (k * 2^-967)
 *              has lost nothing; an element that does not, or whose row or column holds NaN or +inf, is computed by two streaming
 *              passes (max, then sum of exp).  Terms holding NaN give NaN, else +inf gives +inf, else all -inf gives -inf.
 *   boolean    exact, packed to bits
 *
 * @return CBX_OK; CBX_EINVAL (struct_size, no semiring, stride too small, workspace too small or not aligned, isa not available);
 *         CBX_EDTYPE
 * Allocates nothing.  Safe from any thread.  Since 0.1.
 */
CBX_API cbx_status cbx_semiring_matmul(const cbx_matmul *p, cbx_err *err);

CBX_END_DECLS
#endif
