/*
 * Inside the metrics: distances between two samples that several domains have.
 */
#ifndef CALIBRAX_METRICS_FUNCTIONAL_SAMPLES_H
#define CALIBRAX_METRICS_FUNCTIONAL_SAMPLES_H

#include "calibrax/metrics/internal.h"

/**
 * Integral of |Q_x(u) - Q_y(u)|^p over u in 0..1, Q: quantile functions of samples along axis 0:
 * x (n), y (m), or (n, k) and (m, k) for k pairs of samples.  Sizes may differ.
 */
cbx_array *cbx__quantile_gap(cbx_ctx *ctx, const cbx_metric_function *m, const cbx_array *x, const cbx_array *y,
                             double p);
/** x^(1/p), whose derivative at 0 is 0. */
cbx_array *cbx__root_of(cbx_ctx *ctx, const cbx_array *x, double p);
/** The debiased entropic transport cost of call->in[0] and in[1] (sinkhorn.c). */
cbx_array *cbx__sinkhorn_divergence(cbx_ctx *ctx, const cbx_metric_call *call);

#endif
