/*
 * Inside the metrics: means and covariances of two sets of rows, which metrics of generated samples
 * compare.
 */
#ifndef CALIBRAX_METRICS_FUNCTIONAL_MOMENTS_H
#define CALIBRAX_METRICS_FUNCTIONAL_MOMENTS_H

#include "calibrax/metrics/internal.h"

/** [n, mean (d), sum of outer products of deviations (d d)] of a set of rows. */
cbx_array *cbx__moments(cbx_ctx *ctx, const cbx_array *x);
/** Of two batches, each with moments of the real and of the generated rows: (2, 1 + d + d d). */
cbx_array *cbx__moments_merge(cbx_ctx *ctx, const cbx_metric_call *c, const cbx_array *x, const cbx_array *y);
/** Their Frechet distance. */
cbx_array *cbx__frechet(cbx_ctx *ctx, const cbx_metric_call *c, const cbx_array *state);

#endif
