/** Matrix products over six algebras and those given by functions: C[i,j] = finalize( update over
 * kk of combine(A[i,kk], B[kk,j]) ).
 *
 * The algebra is a const descriptor; the product is one tiled kernel, compiled for each instruction
 * set and chosen by the CPU's features at run time.  Working memory is lent by the caller, so a
 * call allocates nothing and can fail only on bad arguments. On arrays: calibrax/array/semiring.h.
 * Bounds, methods and measured shares: docs/explanation/kernels.md. */
#ifndef CALIBRAX_ARRAY_KERNELS_SEMIRING_H
#define CALIBRAX_ARRAY_KERNELS_SEMIRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calibrax/array/semiring.h"
#include "calibrax/base/cpu.h"

CBX_BEGIN_DECLS

/** CBX_ALGEBRA_REAL, ..._LOG, ..._TROPICAL_MAX_PLUS, ..._TROPICAL_MIN_PLUS, ..._EUCLIDEAN,
 * ..._BOOLEAN: a file each in algebras/. */
typedef enum cbx_algebra {
#define CBX_ALGEBRA(id, ...) CBX_ALGEBRA_##id,
#include "calibrax/array/kernels/algebra.h"
    CBX_ALGEBRA_COUNT,
    CBX_ALGEBRA_USER = CBX_ALGEBRA_COUNT /* given by functions: cbx_semiring_define */
} cbx_algebra;

/** Descriptor of an algebra; NULL for a number outside the list. */
CBX_API const cbx_semiring *cbx_semiring_get(cbx_algebra id);
/** One product.  Open struct; start from CBX_MATMUL_INIT, then set what differs. */
typedef struct cbx_matmul {
    uint32_t struct_size;
    cbx_isa isa; /* which kernel; CBX_ISA_COUNT: the best */
    const cbx_semiring *semiring;
    cbx_dtype dtype; /* of A, B, C and D */
    size_t m, k, n;
    /* Element (i,kk) of A is at i*lda + kk*a_step; strides in elements, of any sign, 0 repeats a
     * row or a column.  Each operand starts at a multiple of its element's size. */
    const void *a;
    ptrdiff_t lda, a_step;
    const void *b; /* k-by-n */
    ptrdiff_t ldb, b_step;
    /* m-by-n; written in full, never read before.  No two elements in one place; overlaps nothing
     * that is read. */
    void *c;
    ptrdiff_t ldc, c_step;
    void *workspace; /* 64-byte aligned; content undefined before and after */
    size_t workspace_bytes;
    int threads; /* at most so many; 0: as many as OpenMP gives this process.  The bits of C are the same for any number. */
    /* The epilogue, in this order: C = merge(D, product), by the algebra's update; then elements
     * that the mask hides become the algebra's empty value.  Of euclidean D holds distances: merge
     * is sqrt(d^2 + c^2). */
    const void *d; /* NULL: none */
    ptrdiff_t ldd, d_step;
    const uint8_t *mask; /* NULL: none; 0 hides */
    ptrdiff_t ldm, m_step;
    bool mask_complement; /* what is not 0 hides */
    bool raw;             /* the fold as it is, without finalize: squares of distances; nothing else has a raw form */
} cbx_matmul;

#define CBX_MATMUL_INIT                                                                                                \
    {                                                                                                                  \
        .struct_size = sizeof(cbx_matmul), .isa = CBX_ISA_COUNT, .dtype = CBX_F32, .a_step = 1, .b_step = 1,           \
        .c_step = 1, .threads = 1, .d_step = 1, .m_step = 1                                                            \
    }

/** Bytes of workspace that a product of this algebra, dtype, shape and number of threads needs with
 * this isa (pointers and strides are not looked at); at least 64, at most about 20 MiB + 16 (m + n)
 * a product (booleans: (m + n) k / 8, and 3 MiB a thread).
 * @return CBX_OK; CBX_EINVAL (struct_size, no semiring, isa not available); CBX_EDTYPE;
 *   CBX_EOVERFLOW */
CBX_API cbx_status cbx_matmul_workspace(const cbx_matmul *p, size_t *out, cbx_err *err);

/** The product.  k = 0 fills C with the algebra's empty value.  bool operands: any byte but 0 is
 * true; C holds 0 and 1.
 *
 * Accuracy, u = 2^-24 or 2^-53, gamma_k = k u / (1 - k u) (Higham, Accuracy and Stability, 2002,
 * section 3.1):
 *   real       |error| <= gamma_k sum |a||b|
 *   euclidean  relative error <= gamma_(k+4) / 2 + u, by direct differences: nothing cancels
 *   tropical   the exact max or min of the correctly rounded sums; NaN if a term is NaN
 *   log        A' = exp(a - rowmax), B' = exp(b - colmax), C = log(A'B') + rowmax + colmax, with a
 *              certificate for each element: every product is accurate or off by at most 3 * 2^-126
 *              (2^-1022), so a sum of k of them that reaches k * 2^-100 (k * 2^-967) has lost
 *              nothing; an element that does not, or whose row or column holds NaN or +inf, is
 *              computed by two streaming passes (max, then sum of exp). Terms holding NaN give NaN,
 *              else +inf gives +inf, else all -inf gives -inf.
 *   boolean    exact, packed to bits
 *   user       as its functions are
 *
 * @return CBX_OK; CBX_EINVAL (struct_size, no semiring, elements of C that coincide, C overlapping
 *         what is read, an operand that does not start at a multiple of its element's size,
 *         workspace too small or not aligned, isa not available, raw of an algebra without
 *         finalize); CBX_EDTYPE; CBX_EOVERFLOW (an operand larger than memory can be)
 * Allocates nothing.  Safe from any thread.  Since 0.1. */
CBX_API cbx_status cbx_matmul_run(const cbx_matmul *p, cbx_err *err);

/** As many steps as the product has (log: as its real product has), on registers and on as many
 * threads, and nothing else: its time is the limit of any product over this algebra.  Operands, C
 * and workspace are not looked at.  float32 and float64.
 * @return CBX_OK; CBX_EINVAL (as above, an algebra given by functions); CBX_EDTYPE;
 * CBX_EOVERFLOW */
CBX_API cbx_status cbx_matmul_limit_run(const cbx_matmul *p, cbx_err *err);
/** The same steps by the product's own register tile, whose operands are loaded again for each of
 * them and always from the first-level cache: the limit of what has to be read.  Where loads slow
 * the core's clock it is well above cbx_matmul_limit_run. Arguments and statuses are the same. */
CBX_API cbx_status cbx_matmul_fed_limit_run(const cbx_matmul *p, cbx_err *err);

/** The definition, term by term: kk ascending, one accumulator in the dtype (log: the largest term,
 * then the sum of exp).  What cbx_matmul_run is held to, with the same arguments, rules and
 * statuses; needs no workspace.  Tropical and boolean products agree with it bit for bit (zeros may
 * differ in sign). */
CBX_API cbx_status cbx_matmul_define(const cbx_matmul *p, cbx_err *err);

CBX_END_DECLS
#endif
