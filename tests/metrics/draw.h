/*
 * Random operands of metric functions, made for the kind of each operand and the rule of shapes of the row: so that properties can be
 * tested for every row of the table.
 */
#ifndef CALIBRAX_TESTS_METRICS_DRAW_H
#define CALIBRAX_TESTS_METRICS_DRAW_H

#include "check.h"

#include "calibrax/base/rng.h"
#include "calibrax/metrics/metrics.h"

enum { ITEMS = 12, WIDTH = 4 }; /* of a draw: items, and elements of an item */

typedef struct drawn {
    size_t nin;
    cbx_array *in[CBX_METRIC_MAX_OPERANDS]; /* owned */
} drawn;

/* Operands of a metric; items: 0 for ITEMS.  Optional operands are left out. */
void draw_operands(cbx_ctx *ctx, cbx_rng *rng, const cbx_metric_function *m, size_t items, drawn *out);
void drawn_free(drawn *d);

/* An array of float64, or int64 if whole, of these values; owned. */
cbx_array *array_of(cbx_ctx *ctx, int ndim, const size_t *shape, const double *v, bool whole);
/* Whether an operand of the kind is one for all items. */
bool is_shared(cbx_operand_kind kind);
/* Whether a parameter is a number of classes or the like, which a traced call cannot read from labels. */
bool counts_labels(const char *name);
/* Whether labels of operands are 0, 1 and 2, not 0 and 1. */
bool has_many_classes(const cbx_metric_function *m);
/* What a traced call needs: a function for metrics that take one, and the number of classes. */
void set_needs(const cbx_metric_function *m, cbx_metric_options *o);
/* Elements of a result, float64 or int64, as doubles; the caller's to free. */
double *read_all(const cbx_array *r);
/* The result as a number; fails the test where the call fails. */
double value_of(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, cbx_array *const *in,
                const cbx_metric_options *o);
/* As value_of, NaN where the result is no scalar: then properties of numbers do not apply. */
double *values_of(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, cbx_array *const *in,
                  const cbx_metric_options *o, size_t *count);

#endif
