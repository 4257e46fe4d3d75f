/* One row of results over an algebra by plain loops: out[j] = fold over i < k of combine(a[i],
 * b[i][j]), j < n.  What the native baselines of sparse products and convolutions share; nothing in
 * it is tuned, and a compiler vectorises it as it can.
 *
 * log goes in two passes (largest term, then the sum of exp) with libm. */
#ifndef SUITES_COMMON_ROWS_H
#define SUITES_COMMON_ROWS_H

#include <stddef.h>

#include "calibrax/array/kernels/semiring.h"

/* k terms: element i of a, and a row of n elements for each. */
typedef struct cbx__suite_terms {
    size_t k, n;
    const void *a;        /* k elements */
    const void *const *b; /* k rows */
} cbx__suite_terms;

/* @param out   n elements, written in full; k = 0 gives the algebra's empty value
 * @param scratch  n elements of scratch */
typedef void cbx__suite_row_fn(const cbx__suite_terms *t, void *out, void *scratch);

/* The loop for an algebra and a dtype that it takes. */
cbx__suite_row_fn *cbx__suite_row(cbx_algebra id, cbx_dtype dtype);

#endif
