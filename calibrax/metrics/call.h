/*
 * Inside the metrics: a metric with its options, as calls, compiled calls and stateful metrics run
 * it.
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
    bool checked; /* values of operands are legal */
    bool partial; /* for a state: what a batch adds to it instead of the result */
    cbx_axes axes;
    const cbx_fn *function;
} cbx__bound;

/** Options checked, defaults filled in. */
cbx_status cbx__metric_bind(const cbx_metric_function *m, size_t nin, const cbx_metric_options *o, cbx__bound *b,
                            cbx_err *err);

/**
 * A call whose operands and options are legal: all has the operands, then mask and weights where
 * there are any.
 */
typedef struct cbx__checked {
    cbx__bound bound;
    cbx_array *all[CBX_METRIC_MAX_OPERANDS + 2];
    size_t n;
    bool data;    /* values are known */
    bool nothing; /* the mask and the weights leave no item of what is a mean, or of all items: no value is checked */
    double largest[CBX_METRIC_MAX_OPERANDS]; /* label that counts, of operands of labels with data; else 0 */
} cbx__checked;
/** False, with a failure recorded, where something is not legal. */
bool cbx__metric_check(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, cbx_array *const *in,
                       const cbx_metric_options *options, cbx__checked *out);

/** A mask or weights, of a dtype, for each item; failed, and recorded, where they are not. */
cbx_array *cbx__for_items(cbx_ctx *ctx, const cbx__bound *b, cbx_array *const *in, cbx_array *x, cbx_dtype dtype);
/**
 * Items that the mask leaves out get numbers that are legal: what they hold, even NaN, must not
 * reach the result.
 */
void cbx__neutralise(cbx_ctx *ctx, const cbx__bound *b, cbx_array *mask, cbx_array **in);
/**
 * Of metrics that know no weights: the masked items are left out along the first axis.
 * @return the places of the others; NULL: recorded
 */
const cbx_array *cbx__select_items(cbx_ctx *ctx, const cbx__bound *b, const cbx_array *mask, cbx_array **in);
/** Weights of the items by both, which may be NULL, and operands without what the mask
 * leaves out. */
const cbx_array *cbx__join_options(cbx_ctx *ctx, const cbx__bound *b, cbx_array *mask, cbx_array *weights,
                                   cbx_array **in);
/** Whether the mask and the weights, behind the operands, leave no item. */
bool cbx__leave_nothing(cbx_ctx *ctx, const cbx__bound *b, cbx_array *const *all);

/**
 * What the code gets: operands in its dtypes, mask and weights joined.  The call points into the
 * struct.
 */
typedef struct cbx__prepared {
    cbx_metric_call call;
    cbx_array *in[CBX_METRIC_MAX_OPERANDS + 1]; /* NULL behind the last */
} cbx__prepared;
void cbx__metric_prepare(cbx_ctx *ctx, const cbx__bound *b, cbx_array *const *given, cbx__prepared *out);

/**
 * The result of checked operands; where it is bound as partial, what they add to a state: parts, or
 * (sum of weighted items, sum of weights).
 */
cbx_array *cbx__metric_evaluate(cbx_ctx *ctx, const cbx__bound *b, cbx_array *const *given);
/** The result of all that was added to a state. */
cbx_array *cbx__metric_finished(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *state);
/**
 * What cbx__metric_evaluate gives, by a compiled function, of the second call with the same shapes
 * and options on.
 * @return NULL: not compiled, evaluate
 */
cbx_array *cbx__metric_compiled(cbx_ctx *ctx, const cbx__bound *b, size_t n, cbx_array *const *all);
/** A call of a metric that reads values, in a trace: one operation that calls it with data. */
cbx_array *cbx__metric_later(cbx_ctx *ctx, const cbx__checked *c);
/**
 * Whether calls from here on are of pieces of one batch, whose shapes hardly come again: small ones
 * are not compiled.
 * @return the value before
 */
bool cbx__metric_of_pieces(cbx_ctx *ctx, bool pieces);

#endif
