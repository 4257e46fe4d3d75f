/*
 * Random operands of metric functions (calibrax/metrics/draw.h), and values of them.
 */
#ifndef CALIBRAX_TESTS_METRICS_DRAW_H
#define CALIBRAX_TESTS_METRICS_DRAW_H

#include <math.h>
#include <string.h>

#include "check.h"

#include "calibrax/metrics/draw.h"
#include "calibrax/metrics/stateful/state.h"

enum { ITEMS = CBX__DRAWN_ITEMS, WIDTH = CBX__DRAWN_WIDTH };

typedef cbx__drawn drawn;
static inline void drawn_free(drawn *d) { cbx__drawn_free(d); }
static inline bool is_shared(const cbx_metric_function *m, size_t i)
{
    return cbx_metric_operand_items(m, i) == CBX_ITEMS_NONE;
}
static inline bool has_many_classes(const cbx_metric_function *m) { return cbx__draws_many_classes(m); }
static inline bool counts_labels(const char *name) { return cbx__counts_labels(name); }

/*
 * Whether a trace may round otherwise than a call with data: of metrics that take Cholesky's factor
 * of a matrix with data, and its eigenvectors, which always exist, in a trace.
 */
static inline bool rounds_otherwise(const cbx_metric_function *m, double x, double y)
{
    const bool factor = strncmp(m->name, "frechet_", 8) == 0 || strcmp(m->name, "fid") == 0;
    return factor && fabs(x - y) <= 1e-12 * fmax(1, fabs(y));
}

/*
 * The rows of the table, then rows with other parameters and with the operands that may be left
 * out: NULL behind the last.  Those are the registered ones but for their defaults, and operands
 * that must be given.
 */
const cbx_metric_function *metric_at(cbx_ctx *ctx, size_t i);
void draw_operands(cbx_ctx *ctx, cbx_rng *rng, const cbx_metric_function *m, size_t items, drawn *out);
/* An array of float64, or int64 if whole, of these values; owned. */
cbx_array *array_of(cbx_ctx *ctx, int ndim, const size_t *shape, const double *v, bool whole);
/* Items of operands at places of the first axis; what is the same for all items as it is. */
void pick(cbx_ctx *ctx, const cbx_metric_function *m, const drawn *d, size_t n, const double *places, drawn *out);
/* True if the first axis of all operands that must be given is that of the items. */
bool has_items(const cbx_metric_function *m);
/* The state that another process gets of the bytes of a state, which is freed. */
cbx_metric_state *through_bytes(cbx_ctx *ctx, cbx_metric_state *s, const cbx_fn *function);
/* mean(|x - y|), whose code counts its runs. */
extern const cbx_metric_function counted_error;
extern size_t counted_runs;
/* What a traced call needs: a function for metrics that take one, and the number of classes. */
void set_needs(const cbx_metric_function *m, cbx_metric_options *o);
/* Sets the numbers of labels that are not given: a traced function does not know the
 * largest one. */
void give_classes(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, cbx_array *const *in, double *parameters);
/* Elements of a result, float64 or int64, as doubles; the caller's to free. */
double *read_all(const cbx_array *r);
/* The result as a number; fails the test where the call fails. */
double value_of(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, cbx_array *const *in,
                const cbx_metric_options *o);
/* As value_of, NaN where the result is no scalar: then properties of numbers do not apply. */
double *values_of(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, cbx_array *const *in,
                  const cbx_metric_options *o, size_t *count);

#endif
