/* Inside change points: sums, costs, the growing optimal partition. */
#ifndef CALIBRAX_ANALYSIS_CHANGEPOINT_PARTS_H
#define CALIBRAX_ANALYSIS_CHANGEPOINT_PARTS_H

#include "calibrax/analysis/changepoint.h"

/** Sums over x_i - x_0, so that a large level costs no digits: sum[i], square[i] of the first i
 * points. */
typedef struct cbx__sums {
    cbx_allocator al;
    double *sum, *square;
    size_t n;
    double floor; /* least variance that the normal cost knows */
} cbx__sums;

cbx_status cbx__sums_init(cbx_ctx *ctx, const double *x, size_t n, cbx__sums *out, cbx_err *err);
void cbx__sums_clear(cbx__sums *s);
/** Cost of the points a .. b-1. */
double cbx__segment_cost(const cbx__sums *s, cbx_changepoint_cost cost, size_t a, size_t b);

cbx_status cbx__series_check(const double *x, size_t n, cbx_err *err);
cbx_status cbx__changepoint_opts_check(const cbx_changepoint_opts *o, cbx_err *err);
/** The one asked for, or the automatic one. */
cbx_status cbx__changepoint_penalty(cbx_ctx *ctx, const double *x, size_t n, const cbx_changepoint_opts *o, double *out,
                                    cbx_err *err);
/** What (2 ln n + this) stands for: one false alarm in a hundred series of 100 points. */
#define CBX__CHANGEPOINT_MARGIN 4.63

cbx_status cbx__pelt_normal(cbx_ctx *ctx, const cbx__sums *s, size_t min_segment, double penalty, size_t *index,
                            size_t *count, cbx_err *err);
cbx_status cbx__e_divisive(cbx_ctx *ctx, const double *x, size_t n, const cbx_changepoint_opts *o, size_t *index,
                           size_t *count, cbx_err *err);
/** Ascending. */
void cbx__sort_indices(size_t *index, size_t n);

#endif
