/*
 * Inside the metrics: counts of pairs of labels, averages over classes, and scores that tie.
 */
#ifndef CALIBRAX_METRICS_FUNCTIONAL_COUNTS_H
#define CALIBRAX_METRICS_FUNCTIONAL_COUNTS_H

#include "calibrax/metrics/internal.h"

/* The parameter of metrics of labels (metrics.h): it has to be the last one of its row. */
#define CBX__NUM_CLASSES CBX__INTEGER("num_classes", "number of classes; 0: from the labels", 0, 0, 0x1p24)

/** Value of the last parameter, num_classes, resolved; 0 in what makes results of states. */
size_t cbx__num_classes(const cbx_metric_call *call);

/* Tables of 32 MiB, above which what is not 0 is counted apart; and of 1 GiB, above which a table
 * is refused. */
enum { CBX__DENSE_COUNTS = 1 << 22, CBX__MAX_COUNTS = 1 << 27 };
/** Counts of targets (rows) and predictions (columns), of operands predictions, targets. */
cbx_array *cbx__confusion(cbx_ctx *ctx, const cbx_metric_call *call);
/** The same of labels 0 and 1 alone. */
cbx_array *cbx__binary_confusion(cbx_ctx *ctx, const cbx_metric_call *call);

/* Averages over classes; a metric that has them has the choice as its first parameter. */
typedef enum cbx__average { CBX__BINARY, CBX__MICRO, CBX__MACRO, CBX__WEIGHTED } cbx__average;
#define CBX__AVERAGE                                                                                                   \
    CBX__CHOICE("average",                                                                                             \
                "binary: of class 1; micro: of all items; macro: mean over the classes; weighted: by their items", 0,  \
                3, "binary|micro|macro|weighted")
/**
 * Weights of right predictions, predictions and targets of each class, (3, classes), of operands
 * predictions, targets: they need no table, however many classes there are.
 */
cbx_array *cbx__marginals(cbx_ctx *ctx, const cbx_metric_call *call);
/** The same; of labels 0 and 1 alone where the average is binary. */
cbx_array *cbx__marginals_by_average(cbx_ctx *ctx, const cbx_metric_call *call);

/** Right predictions, predictions and targets, of each class, and the sum of all. */
typedef struct cbx__tallies {
    cbx_array *hits, *predicted, *actual, *total;
} cbx__tallies;
cbx__tallies cbx__tally(cbx_ctx *ctx, const cbx_array *confusion);
cbx__tallies cbx__tally_marginals(cbx_ctx *ctx, const cbx_array *marginals);

/** The score of a class, or of classes elementwise. */
typedef cbx_array *cbx__class_score(cbx_ctx *ctx, const cbx_array *hits, const cbx_array *predicted,
                                    const cbx_array *actual, double parameter);
/** A score averaged; classes that occur neither among predictions nor targets do not count. */
cbx_array *cbx__class_average(cbx_ctx *ctx, const cbx_array *marginals, cbx__average how, cbx__class_score *score,
                              double parameter);

/** Scores in ascending order with what belongs to them. */
typedef struct cbx__ordered {
    cbx_array *order;       /* places in the operands */
    cbx_array *first, *end; /* of each place: the first place with its score, and the one behind the last */
} cbx__ordered;
cbx__ordered cbx__order_scores(cbx_ctx *ctx, const cbx_array *scores);

#endif
