/**
 * Intervals of metrics: how far a metric would move with other data of the same kind.
 */
#ifndef CALIBRAX_METRICS_BOOTSTRAP_H
#define CALIBRAX_METRICS_BOOTSTRAP_H

#include "calibrax/metrics/metrics.h"
#include "calibrax/statistics/estimate.h"

CBX_BEGIN_DECLS

typedef struct cbx_metric_bootstrap_opts {
    unsigned struct_size;
    double level;     /* 0 < level < 1; 0.95 */
    size_t resamples; /* >= 1; 1000 */
    uint64_t seed;
} cbx_metric_bootstrap_opts;
#define CBX_METRIC_BOOTSTRAP_OPTS_INIT CBX_OPTS(cbx_metric_bootstrap_opts, 0.95, 1000, 0)

/**
 * Bootstrap interval of a metric whose result is a number.  Items, the places of the first axis,
 * are drawn with replacement: those of all operands together, or of each operand for itself where
 * they are sets of points or samples (CBX_SHAPES_ROWS, or kinds SAMPLE and POINTS of other
 * lengths), and with them those of operands that declare them (cbx_operand_items), such as weights
 * of a sample; what is the same for all items stays as it is.  BCa up to 500 items, which costs
 * one more call for each item; the percentile method above.
 * @param options  parameters, mask and weights; a reduction other than the mean is CBX_EINVAL
 * @param out      value is the metric of the data themselves
 * @return as cbx_metric_value; CBX_ESHAPE (operands of different numbers of items); CBX_EDOM (a
 *         result that is not finite, given or of a resample); CBX_EINVAL (a metric without items:
 *         of distributions, images, signals, graphs, texts; an operand without an axis, level,
 *         resamples)
 * Memory: one resample of the operands.  The same for the same seed.
 * Source: Efron & Tibshirani (1993), chapters 13 and 14.
 */
CBX_API cbx_status cbx_metric_bootstrap(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, cbx_array *const *in,
                                        const cbx_metric_options *options, const cbx_metric_bootstrap_opts *opts,
                                        cbx_interval *out, cbx_err *err);

CBX_END_DECLS
#endif
