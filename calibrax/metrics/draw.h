/*
 * Inside the metrics: random operands, by the kind of each operand and the rule of shapes of the
 * row, so that properties can be checked of every row.
 */
#ifndef CALIBRAX_METRICS_DRAW_H
#define CALIBRAX_METRICS_DRAW_H

#include "calibrax/base/rng.h"
#include "calibrax/metrics/internal.h"

enum { CBX__DRAWN_ITEMS = 12, CBX__DRAWN_WIDTH = 4 }; /* items, and elements of an item */

typedef struct cbx__drawn {
    size_t nin;
    cbx_array *in[CBX_METRIC_MAX_OPERANDS]; /* owned */
} cbx__drawn;

/** Operands of a metric; items: 0 for CBX__DRAWN_ITEMS.  Optional operands are left out. */
cbx_status cbx__draw_operands(cbx_ctx *ctx, cbx_rng *rng, const cbx_metric_function *m, size_t items, cbx__drawn *out,
                              cbx_err *err);
void cbx__drawn_free(cbx__drawn *d);
/** An array of float64, or int64 if whole, of these values; the caller's. */
cbx_status cbx__draw_array(cbx_ctx *ctx, int ndim, const size_t *shape, const double *v, bool whole, cbx_array **out,
                           cbx_err *err);
/** Whether labels of operands are 0, 1 and 2, not 0 and 1. */
bool cbx__draws_many_classes(const cbx_metric_function *m);

#endif
