/*
 * Nearest neighbours among points and distances between all, for metrics of sets of points.
 */
#ifndef CALIBRAX_METRICS_NEAREST_H
#define CALIBRAX_METRICS_NEAREST_H

#include "calibrax/metrics/internal.h"

/** Distances of the rows of x to the nearest rows of y: (n).  Differentiable. */
cbx_array *cbx__nearest_distance(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x, const cbx_array *y);
/** The largest of these distances, a scalar.  Differentiable. */
cbx_array *cbx__farthest_nearest(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x, const cbx_array *y);
/**
 * For each row of x (n, d) the squared distance to the (k + 1)-th nearest row of y (m, d), k < m:
 * (n).  NULL, with nothing recorded, in a trace and where a coordinate is not finite.  Memory: of
 * the operands.
 */
cbx_array *cbx__kth_squares(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x, const cbx_array *y,
                            size_t k);
/** How many of the balls around the rows of y, with these squares of radii (m), cover each row of
 * x: float64 (n).  NULL as above. */
cbx_array *cbx__covering_balls(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x, const cbx_array *y,
                               const cbx_array *squares);
/** A cbx__rows_fn: Euclidean distances of rows first..last-1 of the first operand to all its rows,
 * as steps. */
cbx_array *cbx__distances_of_rows(cbx_ctx *ctx, const cbx_metric_call *call, size_t first, size_t last);
/**
 * Euclidean distances of the rows of x (n, d) to all its rows, over a divisor: (n, n), or, if sums,
 * the sum of each row of them: (n).  Differentiable: steps where the others above are NULL, with
 * the same bits.
 */
cbx_array *cbx__all_distances(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x, double divisor, bool sums);

#endif
