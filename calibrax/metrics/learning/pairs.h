/*
 * Inside the learning losses: pairs of the items of a batch.  Arrays are (n, n): place [i, j] is
 * the pair of items i and j.
 */
#ifndef CALIBRAX_METRICS_LEARNING_PAIRS_H
#define CALIBRAX_METRICS_LEARNING_PAIRS_H

#include "calibrax/metrics/vectors.h"

/** Operands of all losses of items against each other. */
enum { CBX__EMBEDDINGS, CBX__LABELS, CBX__CHOSEN };

/* Rows of losses, and of those of items against each other with a third operand. */
#define CBX__LEARNING(low_) CBX__ROW("learning", LOWER, low_, INFINITY), .tier = CBX_METRIC_TIER_LEARNING
#define CBX__LOSS_OF(name, kind)                                                                                       \
    CBX__LEARNING(0), .shapes = CBX_SHAPES_LENGTH, .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_COMPILED,           \
                      .invariances = CBX_INVARIANT_ROTATION | CBX_INVARIANT_ORDER | CBX_INVARIANT_RELABEL,             \
                      .operands = { { "embeddings", CBX_OPERAND_POINTS },                                              \
                                    { "labels", CBX_OPERAND_LABELS },                                                  \
                                    { name, CBX_OPERAND_##kind, true, CBX_ITEMS_PAIRS } }
#define CBX__NORMALIZE(value) CBX__FLAG("normalize", "make the norm of each embedding 1 first", value)

/** Which pairs there are: booleans (n, n). */
typedef struct cbx__pairs {
    cbx_array *positive; /* i != j of equal labels */
    cbx_array *negative; /* of different labels */
} cbx__pairs;

/** Pairs by the operand of labels. */
cbx__pairs cbx__pairs_of(cbx_ctx *ctx, const cbx_metric_call *c);
/** Those that the optional operand CBX__CHOSEN, (n, n) of 0 and 1, leaves. */
cbx__pairs cbx__pairs_chosen(cbx_ctx *ctx, const cbx_metric_call *c);

/** Cosines between the rows of x (n, d) and y (m, d): (n, m). */
cbx_array *cbx__cosines(cbx_ctx *ctx, const cbx_array *x, const cbx_array *y);
/** Euclidean distances between the embeddings, of norm 1 each if unit; 0 has derivative 0. */
cbx_array *cbx__pair_distances(cbx_ctx *ctx, const cbx_metric_call *c, bool unit);

/** max(x, 0). */
cbx_array *cbx__hinge(cbx_ctx *ctx, const cbx_array *x);
/** log(1 + exp(x)). */
cbx_array *cbx__softplus(cbx_ctx *ctx, const cbx_array *x);
/** Sum, along the last axis or over all, of x where the mask is true. */
cbx_array *cbx__sum_where(cbx_ctx *ctx, const cbx_array *mask, const cbx_array *x, const cbx_axes *axes);
/** Mean of x where the mask is true; 0 where it is nowhere. */
cbx_array *cbx__mean_where(cbx_ctx *ctx, const cbx_array *mask, const cbx_array *x);
/**
 * log(sum of exp(x) where the mask is true) along the last axis, of any size of x; with one: log(1
 * + the sum). A row without such an element has none, without a derivative.
 */
cbx_array *cbx__log_sum_exp(cbx_ctx *ctx, const cbx_array *mask, const cbx_array *x, bool one, double none);
/** x as a column, or as a row, of pairs. */
cbx_array *cbx__of_anchor(cbx_ctx *ctx, const cbx_array *x);
cbx_array *cbx__of_other(cbx_ctx *ctx, const cbx_array *x);
/** Number of true elements as float64. */
cbx_array *cbx__count(cbx_ctx *ctx, const cbx_array *mask, const cbx_axes *axes);

#endif
