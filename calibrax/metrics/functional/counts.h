/*
 * Inside the metrics: counts of pairs of labels, and sums over the elements of ordered scores that tie.
 */
#ifndef CALIBRAX_METRICS_FUNCTIONAL_COUNTS_H
#define CALIBRAX_METRICS_FUNCTIONAL_COUNTS_H

#include "calibrax/metrics/internal.h"

/* The parameter of metrics of labels (metrics.h): it has to be the last one of its row. */
#define CBX__NUM_CLASSES                                                                                               \
    {                                                                                                                  \
        "num_classes", "number of classes; 0: from the labels", 0, 0, 0x1p20, CBX_PARAMETER_INTEGER, NULL              \
    }

/** Value of the parameter num_classes, which the driver has resolved; 0 in what makes results of states. */
size_t cbx__num_classes(const cbx_metric_call *call);
/** Weights of pairs: (rows, columns) float64, element (a, b) the weight of items with labels a and b. */
cbx_array *cbx__pair_counts(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *a, size_t rows,
                            const cbx_array *b, size_t columns);

/** Scores in ascending order with what belongs to them. */
typedef struct cbx__ordered {
    cbx_array *order; /* places in the operands */
    cbx_array *first,
        *end; /* of each place in the order: the first place with its score, and the one behind the last */
} cbx__ordered;
cbx__ordered cbx__order_scores(cbx_ctx *ctx, const cbx_array *scores);

#endif
