/* Inside statistics: order statistics of all pairs of two sorted samples, without making the pairs.
 */
#ifndef CALIBRAX_STATISTICS_PAIRS_H
#define CALIBRAX_STATISTICS_PAIRS_H

#include <stddef.h>

/** What is formed of a pair. */
typedef enum cbx__pair_kind {
    CBX__PAIR_MEAN, /* (x_i + x_j) / 2, i <= j, of one sample */
    CBX__PAIR_DIFFERENCE /* x_i - y_j */,
    CBX__PAIR_GAP /* x_j - x_i, i < j, of one sample */
} cbx__pair_kind;

/** How many pairs there are, as a double. */
double cbx__pair_count(cbx__pair_kind kind, size_t n, size_t m);
/** The k-th smallest (from 1) of the pairs of sorted x (and y, for differences). */
double cbx__pair_select(cbx__pair_kind kind, const double *x, size_t n, const double *y, size_t m, double k);

#endif
