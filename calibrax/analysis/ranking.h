/** Ranking: who is best, by how much, over many metrics, and how far chance decides it.
 *
 * Values are given by competitor; a NaN is a missing value: it has no rank, comes last, and is
 * counted.  "info" has no better side, so nothing is ranked by it (CBX_EINVAL).  Nothing depends on
 * the order in which competitors are given, but the order among equals. Since 0.1. */
#ifndef CALIBRAX_ANALYSIS_RANKING_H
#define CALIBRAX_ANALYSIS_RANKING_H

#include <stdint.h>

#include "calibrax/base/ctx.h"
#include "calibrax/core/metric.h"

CBX_BEGIN_DECLS

typedef struct cbx_rank_entry {
    size_t index; /* of the competitor */
    double value;
    size_t rank; /* 1 best; equal values share one, and the next is left out (1 1 3); 0: no value */
    /* how much worse than the best, (value - best) / |best| with worse counted up, >= 0; a best
     * of 0: 0 for equals, infinite for the others; NaN: no value */
    double delta;
} cbx_rank_entry;

/** Best first.
 * @param out  n entries
 * @return CBX_OK; CBX_EINVAL (info).  Allocates nothing. */
CBX_API cbx_status cbx_rank(const double *values, size_t n, cbx_direction direction, cbx_rank_entry *out, cbx_err *err);

typedef enum cbx_score_kind {
    /* weighted geometric mean of best/value (lower) or value/best (higher), in (0, 1]; all values >
     * 0.  The order of two competitors depends on no third. */
    CBX_SCORE_GEOMETRIC,
    /* weighted mean of values mapped to [0, 1], best 1 and worst 0 (all 1 if equal); depends on the
     * worst competitor */
    CBX_SCORE_MIN_MAX
} cbx_score_kind;

/** One score a competitor over several metrics, higher is better.
 * @param values      [competitor n][metric m], row-major; n, m >= 1
 * @param weights     one a metric, >= 0, not all 0; NULL: all alike
 * @param scores      n; NaN for a competitor that misses a metric of weight > 0
 * @param nmissing    how many of those there are; may be NULL
 * @return CBX_OK; CBX_EINVAL (info, weights, no value); CBX_EDOM (geometric: a value that is not >
 *   0 and finite); CBX_ENOMEM */
CBX_API cbx_status cbx_score(cbx_ctx *ctx, cbx_score_kind kind, const double *values, size_t n, size_t m,
                             const cbx_direction *directions, const double *weights, double *scores, size_t *nmissing,
                             cbx_err *err);

/** Samples of one competitor; finite. */
typedef struct cbx_rank_sample {
    const double *x;
    size_t n;
} cbx_rank_sample;

/** How often each competitor has each rank when samples are resampled: bootstrap of the medians;
 * ties share a rank. The same seed gives the same bits.
 * @param share  [competitor n][rank n], row-major: share[i n + r] of the draws in which i had rank
 *   r + 1; rows sum to 1
 * @return CBX_OK; CBX_EINVAL (info, no draws, a competitor without samples); CBX_EDOM (not finite);
 *   CBX_ENOMEM */
CBX_API cbx_status cbx_rank_stability(cbx_ctx *ctx, const cbx_rank_sample *samples, size_t n, cbx_direction direction,
                                      size_t draws, uint64_t seed, double *share, cbx_err *err);

CBX_END_DECLS
#endif
