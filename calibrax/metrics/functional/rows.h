/*
 * Inside the metrics: rows of vectors with data, read in C where steps over short rows would cost
 * more.  Sums have the order of cbx_sum, so that results have the bits of the steps.
 */
#ifndef CALIBRAX_METRICS_FUNCTIONAL_ROWS_H
#define CALIBRAX_METRICS_FUNCTIONAL_ROWS_H

#include "calibrax/array/internal.h"
#include "calibrax/array/kernels/fold.h"
#include "calibrax/metrics/internal.h"

enum { CBX__LANES = 8 }; /* sums of a leaf, which are joined pairwise; the rest is added in order */

/** Whether the operands have data, on the CPU. */
static inline bool cbx__rows_are_here(cbx_ctx *ctx, const cbx_metric_call *c)
{
    return cbx__metric_has_data(ctx, c) && cbx_array_device(c->in[0]).kind == CBX_DEVICE_CPU &&
           cbx_array_device(c->in[1]).kind == CBX_DEVICE_CPU;
}

/** Results of n rows of d numbers, at x, with what belongs to them at y. */
typedef void cbx__rows_loop(cbx_ctx *ctx, const cbx_metric_call *c, const double *x, const void *y, size_t n, size_t d,
                            void *out);
/** The results of the rows of the first operand, an array of its shape without the last axis;
 * y: the second operand. */
cbx_array *cbx__of_rows(cbx_ctx *ctx, const cbx_metric_call *c, cbx_dtype type, cbx__rows_loop *loop);

static inline double cbx__lanes_joined(const double *s)
{
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

static inline double cbx__row_sum(const double *x, size_t d)
{
    double s[CBX__LANES] = { 0 }, sum;
    size_t k = 0;

    if (d > CBX__LEAF) return 0.0 + cbx__fold_get(cbx_isa_best())->run_sum_f64(x, d);
    for (; k + CBX__LANES <= d; k += CBX__LANES)
        for (size_t l = 0; l < CBX__LANES; l++) s[l] += x[k + l];
    sum = k ? cbx__lanes_joined(s) : 0;
    for (; k < d; k++) sum += x[k];
    return sum;
}

/** sum((x - y)^2) of at most CBX__LEAF numbers; y: NULL for 0. */
static inline double cbx__row_squares(const double *x, const double *y, size_t d)
{
    double s[CBX__LANES] = { 0 }, sum;
    size_t k = 0;

    for (; k + CBX__LANES <= d; k += CBX__LANES)
        for (size_t l = 0; l < CBX__LANES; l++) {
            const double e = y ? x[k + l] - y[k + l] : x[k + l];
            s[l] += e * e;
        }
    sum = k ? cbx__lanes_joined(s) : 0;
    for (; k < d; k++) {
        const double e = y ? x[k] - y[k] : x[k];
        sum += e * e;
    }
    return sum;
}

#endif
