/*
 * Inside the metrics: a metric with its options, as calls, compiled calls and stateful metrics run it.
 */
#ifndef CALIBRAX_METRICS_CALL_H
#define CALIBRAX_METRICS_CALL_H

#include "calibrax/metrics/internal.h"

/** A metric with its options but for the arrays among them; plain data. */
typedef struct cbx__bound {
    const cbx_metric_function *metric;
    size_t nin;
    double parameters[CBX_METRIC_MAX_PARAMETERS];
    cbx_metric_reduction reduction;
    bool has_axes, has_mask, has_weights;
    cbx_axes axes;
    const cbx_fn *function;
} cbx__bound;

/** Options checked, defaults filled in. */
cbx_status cbx__metric_bind(const cbx_metric_function *m, size_t nin, const cbx_metric_options *o, cbx__bound *b,
                            cbx_err *err);
/** The result of checked operands; mask and weights follow them in given where the metric has them. */
cbx_array *cbx__metric_evaluate(cbx_ctx *ctx, const cbx__bound *b, cbx_array *const *given);
/**
 * The same by a compiled function, of the second call with the same shapes and options on.
 * @return NULL: not compiled, evaluate
 */
cbx_array *cbx__metric_compiled(cbx_ctx *ctx, const cbx__bound *b, size_t n, cbx_array *const *all);

#endif
