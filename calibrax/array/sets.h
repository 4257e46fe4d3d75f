/**
 * Sets: distinct values, membership, and what two arrays have in common.
 *
 * Rules of all: as ops.h.  Operands are flattened, results of values are of rank 1, ascending
 * (complex numbers by real part, then imaginary; NaN last).  How long most results are depends on
 * data, so they cannot be traced: CBX_EINVAL, and the sentence names the form that can.  Scratch:
 * as cbx_sort and cbx_searchsorted.  Since 0.1.
 */
#ifndef CALIBRAX_ARRAY_SETS_H
#define CALIBRAX_ARRAY_SETS_H

#include "calibrax/array/ops.h"

CBX_BEGIN_DECLS

/** Distinct values, index of the first of each, number of each element's value (shape of x), how
 * often each occurs. */
typedef struct cbx_unique_parts {
    cbx_array *values, *indices, *inverse, *counts; /* the last three int64 */
} cbx_unique_parts;

/** Distinct values; all NaNs are one (numpy.unique). */
CBX_API cbx_array *cbx_unique(cbx_ctx *ctx, const cbx_array *x);
/** With all parts; equal_nan: all NaNs are one, else each is a value of its own.  *out is written
 * in any case. */
CBX_API void cbx_unique_with(cbx_ctx *ctx, const cbx_array *x, bool equal_nan, cbx_unique_parts *out);
/**
 * The first size distinct values, all NaNs one: a shape that does not depend on data.  Places
 * beyond the values hold *fill in the dtype of x (NULL: the smallest value, as JAX), the index of
 * the smallest value (-1 if x is empty) and count 0.  inverse is as without a size: numbers from
 * size on were cut.  CBX_EINVAL: x is empty and fill NULL.
 */
CBX_API void cbx_unique_size(cbx_ctx *ctx, const cbx_array *x, size_t size, const cbx_scalar *fill,
                             cbx_unique_parts *out);
/** The array API's four: each NaN is a value of its own. */
CBX_API void cbx_unique_all(cbx_ctx *ctx, const cbx_array *x, cbx_unique_parts *out);
CBX_API void cbx_unique_counts(cbx_ctx *ctx, const cbx_array *x, cbx_array **values, cbx_array **counts);
CBX_API void cbx_unique_inverse(cbx_ctx *ctx, const cbx_array *x, cbx_array **values, cbx_array **inverse);
CBX_API cbx_array *cbx_unique_values(cbx_ctx *ctx, const cbx_array *x);

/** Where elements of x (whose shape the result has) are among those of test; invert: are not.  NaN
 * is in no set. */
CBX_API cbx_array *cbx_isin(cbx_ctx *ctx, const cbx_array *x, const cbx_array *test, bool invert);
/** Distinct values of a, b or both; in both; in a only; in one of the two.  NaN equals none: it is
 * in no intersection. */
CBX_API cbx_array *cbx_union1d(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b);
CBX_API cbx_array *cbx_intersect1d(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b);
CBX_API cbx_array *cbx_setdiff1d(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b);
CBX_API cbx_array *cbx_setxor1d(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b);
/** Elements of x where the condition, of as many elements, holds, in row-major order. */
CBX_API cbx_array *cbx_extract(cbx_ctx *ctx, const cbx_array *condition, const cbx_array *x);

CBX_END_DECLS
#endif
