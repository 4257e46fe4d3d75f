/*
 * Random operands of metric functions (calibrax/metrics/draw.h), and values of them.
 */
#ifndef CALIBRAX_TESTS_METRICS_DRAW_H
#define CALIBRAX_TESTS_METRICS_DRAW_H

#include "check.h"

#include "calibrax/metrics/draw.h"

enum { ITEMS = CBX__DRAWN_ITEMS, WIDTH = CBX__DRAWN_WIDTH };

typedef cbx__drawn drawn;
static inline void drawn_free(drawn *d) { cbx__drawn_free(d); }
static inline bool is_shared(cbx_operand_kind kind) { return cbx__operand_is_shared(kind); }
static inline bool has_many_classes(const cbx_metric_function *m) { return cbx__draws_many_classes(m); }
static inline bool counts_labels(const char *name) { return cbx__counts_labels(name); }

void draw_operands(cbx_ctx *ctx, cbx_rng *rng, const cbx_metric_function *m, size_t items, drawn *out);
/* An array of float64, or int64 if whole, of these values; owned. */
cbx_array *array_of(cbx_ctx *ctx, int ndim, const size_t *shape, const double *v, bool whole);
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
