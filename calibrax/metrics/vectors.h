/*
 * Inside the metrics: directions and products of rows, for metrics of embeddings and features.
 */
#ifndef CALIBRAX_METRICS_VECTORS_H
#define CALIBRAX_METRICS_VECTORS_H

#include "calibrax/metrics/internal.h"

/** x with the norm 1 along an axis, which counts from the end; where all is 0 it stays, with
 * derivative 0. */
cbx_array *cbx__unit_vectors(cbx_ctx *ctx, const cbx_array *x, int axis);
/** Products of the rows of x (..., n, d) and y (..., m, d): (..., n, m). */
cbx_array *cbx__rows_times_rows(cbx_ctx *ctx, const cbx_array *x, const cbx_array *y);

#endif
