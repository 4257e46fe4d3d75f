/** Products of a sparse matrix in ELL form with a dense one, over an algebra; plain memory.
 *
 *     C[i, j] = finalize( update over the places q of row i of combine(values[i, q], B[index[i, q],
 *     j]) )
 *
 * Rows of B are gathered whole and folded in registers; each row of C is written once, by one
 * thread, so its bits do not depend on how many there are.  A place that a row does not have is
 * never read, neither its value nor its row of B: padding cannot leak. The algebras and their rules
 * for NaN, infinities and nothing to fold: semiring.h.  Graphs as objects, with their indices
 * checked, and arrays: calibrax/array/ell.h. */
#ifndef CALIBRAX_ARRAY_KERNELS_ELL_H
#define CALIBRAX_ARRAY_KERNELS_ELL_H

#include "calibrax/array/kernels/semiring.h"

CBX_BEGIN_DECLS

struct cbx_ell;

/** One product.  Open struct; start from CBX_ELL_PRODUCT_INIT, then set what differs.  Edges are
 * numbered: with start == NULL edge i*width + q is place q of row i, for q < degree[i]; else row i
 * has the edges start[i] .. start[i+1]-1. */
typedef struct cbx_ell_product {
    uint32_t struct_size;
    cbx_isa isa; /* which kernel; CBX_ISA_COUNT: the best */
    const cbx_semiring *semiring;
    /* Terms are values * B whatever the algebra's combine is: weighted messages, of real, max-plus
     * and min-plus, and of algebras of floats given by functions that have an update. */
    bool scaled;
    cbx_dtype dtype; /* of values, B and C */
    size_t rows, cols, width, d;
    const int32_t *index;  /* of edges: a row of B, 0 <= index < cols; not checked here */
    const int32_t *degree; /* NULL: every row has width places; 0 <= degree <= width; not checked here */
    const size_t *start;   /* rows + 1 of them, ascending; NULL: by width and degree */
    const uint32_t *place; /* where an edge's value lies in values; NULL: at the edge's number */
    const void *values;
    const void *b; /* cols-by-d, row-major, ldb >= d */
    size_t ldb;
    void *c; /* rows-by-d, row-major, ldc >= d; written in full, overlaps nothing that is read */
    size_t ldc;
    int threads; /* at most so many; 0: as many as OpenMP gives this process */
} cbx_ell_product;

#define CBX_ELL_PRODUCT_INIT                                                                                           \
    {                                                                                                                  \
        .struct_size = sizeof(cbx_ell_product), .isa = CBX_ISA_COUNT, .dtype = CBX_F32, .threads = 1                   \
    }

/** The product of a graph (calibrax/array/ell.h), or of its transpose, without operands; pointers
 * live as long as g. */
CBX_API void cbx_ell_view(const struct cbx_ell *g, bool transposed, cbx_ell_product *out);

/** The product.  A row without places gets the algebra's empty value. Accuracy as of cbx_matmul_run
 * with k the number of places; log by two passes, the largest term and the sum of exp. An algebra
 * given by functions: rows of up to 1024 columns, edges in order.
 * @return CBX_OK; CBX_EINVAL (struct_size, no semiring, isa not available, ldb or ldc less than d,
 *         C overlapping what is read, memory that does not start at a multiple of its element's
 *         size, scaled of an algebra that cannot); CBX_EDTYPE; CBX_EOVERFLOW (more rows of B than
 *         32-bit indices reach, an operand larger than memory can be)
 * Allocates nothing.  Safe from any thread.  Since 0.1. */
CBX_API cbx_status cbx_ell_product_run(const cbx_ell_product *p, cbx_err *err);

/** The definition, term by term, places ascending; what cbx_ell_product_run is held to, with the
 * same arguments and statuses. Tropical and boolean products agree with it bit for bit (zeros may
 * differ in sign). */
CBX_API cbx_status cbx_ell_product_define(const cbx_ell_product *p, cbx_err *err);

/** Gathers what the product gathers and does no more: C[i, j] = bitwise exclusive or of B[index[i,
 * q], j].  Its time is the limit of any product over the same graph; values, semiring and scaled
 * are not looked at.  float32 and float64.  Statuses as above. */
CBX_API cbx_status cbx_ell_gather_run(const cbx_ell_product *p, cbx_err *err);

/** y[i, q] = exp(v[i, q] - top) / sum over q of exp(v[i, q] - top), top the largest of the row; at
 * places that a row does not have, and in rows that hold nothing or only -inf, 0.  NaN or +inf in a
 * row: all of it is NaN.
 * @param p  index, b, ldb, d, ldc, semiring and scaled are not looked at; values rows-by-width, c
 *   the same shape */
CBX_API cbx_status cbx_ell_softmax_run(const cbx_ell_product *p, cbx_err *err);

CBX_END_DECLS
#endif
