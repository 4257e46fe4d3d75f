/*
 * Inside the reference backend: what the ways to reduce share.
 */
#ifndef CALIBRAX_ARRAY_REFERENCE_REDUCE_H
#define CALIBRAX_ARRAY_REFERENCE_REDUCE_H

#include "calibrax/array/kernels/fold.h"
#include "calibrax/array/reference/reference.h"

#define CBX__CHUNK 8192 /* elements that are converted first are summed so many at a time */

/** An accumulator in the wide dtype of a reduction. */
typedef union cbx__total {
    int64_t i;
    uint64_t u;
    double f;
    double c[2];
} cbx__total;

/** Axes that stay around axes that go, with strides in bytes. */
typedef struct cbx__split {
    int nkept, ngone;
    size_t kept[CBX_MAX_RANK], gone[CBX_MAX_RANK], each; /* each: elements to one result */
    ptrdiff_t kept_step[CBX_MAX_RANK], gone_step[CBX_MAX_RANK];
} cbx__split;

cbx__split cbx__split_axes(const cbx_array *a, int naxes, const int *axes);
/** To the next place among the n first kept axes. */
const char *cbx__split_advance(const cbx__split *s, int n, size_t *index, const char *at);

/** Sums of squares of distances from a centre: one for each result. */
typedef struct cbx__centre {
    const double *of;
    bool skips_nan;
} cbx__centre;

/**
 * Many results at once, a row of the operand after the other: for outer axes that go, with a last
 * kept axis without gaps. Same elements in the same order for each result as one by one, so the
 * same bits.
 * @param wide    dtype of the accumulators
 * @param centre  NULL, or of sums of squares
 * @param store  from their dtype (int64 for places) to the result's
 * @return false if the operand lies otherwise: nothing was done
 */
bool cbx__ref_reduce_columns(const cbx_call *call, cbx_array *out, cbx_dtype wide, cbx__loop store,
                             const cbx__centre *centre);

#endif
