/*
 * Nearest neighbours among points, for metrics of sets of points.
 */
#ifndef CALIBRAX_METRICS_NEAREST_H
#define CALIBRAX_METRICS_NEAREST_H

#include "calibrax/metrics/internal.h"

/**
 * For each row of x (n, d) the number of the row of y (m, d) whose Euclidean distance to it is least: int64 (n).  A distance that is
 * NaN is least.  With data a k-d tree finds it (few dimensions) or a comparison of all; a trace records the comparison of all.
 */
cbx_array *cbx__nearest(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x, const cbx_array *y);
/** Distances of the rows of x to the nearest rows of y: (n).  Differentiable. */
cbx_array *cbx__nearest_distance(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x, const cbx_array *y);

#endif
