/** Change points of a series: where the level (or level and spread) changes, with penalties that
 * depend on no unit.
 *
 * A change is named by the index of the first point of the new segment.  Series are finite; n below
 * two segments has no change. Everything is deterministic: the same input gives the same bits.
 * Since 0.1. */
#ifndef CALIBRAX_ANALYSIS_CHANGEPOINT_H
#define CALIBRAX_ANALYSIS_CHANGEPOINT_H

#include "calibrax/analysis/verdict.h"

CBX_BEGIN_DECLS

/** Noise about a level that may change: from the differences of neighbours, so changes hardly touch
 * it. */
typedef struct cbx_noise {
    double sigma; /* standard deviation, 1.4826 MAD of x_t - x_{t-1} over sqrt(2 (1 - phi)) */
    /* AR(1) coefficient, 0 .. 0.9: ratio of the squared MADs of differences over two and one
     * steps, less 1 */
    double phi;
    /* variance that the mean of many points has, times their number: sigma^2 (1 + phi) / (1 -
     * phi) */
    double long_run;
} cbx_noise;

/** Where more than half of the differences are 0, their standard deviation replaces the MAD;
 * constant: all 0.
 * @return CBX_OK; CBX_EINVAL (n < 3); CBX_EDOM (not finite); CBX_ENOMEM */
CBX_API cbx_status cbx_noise_estimate(cbx_ctx *ctx, const double *x, size_t n, cbx_noise *out, cbx_err *err);

typedef enum cbx_changepoint_method {
    /* least total cost plus a penalty a change, exact.  Mean: functional pruning, about n log n
     * (Maidstone et al., Stat. Comput. 27 (2017) 519-533), the same optimum as PELT; normal: PELT
     * (Killick et al., J. Am. Stat. Assoc. 107 (2012) 1590-1598). */
    CBX_CHANGEPOINT_PELT,
    /* the best split, then the best within its parts (Scott & Knott 1974) */
    CBX_CHANGEPOINT_BINARY,
    CBX_CHANGEPOINT_WINDOW, /* where the windows on both sides differ most */
    /* energy distance, permutation p (James & Matteson, J. Stat. Softw. 62 (2014) 7); any change of
     * distribution; ignores cost and penalty */
    CBX_CHANGEPOINT_E_DIVISIVE
} cbx_changepoint_method;

typedef enum cbx_changepoint_cost {
    CBX_CHANGEPOINT_MEAN,  /* sum (x - mean)^2 */
    CBX_CHANGEPOINT_NORMAL /* m ln(variance): a change of level or spread */
} cbx_changepoint_cost;

typedef struct cbx_changepoint_opts {
    uint32_t struct_size;
    cbx_changepoint_method method;
    cbx_changepoint_cost cost;
    size_t min_segment; /* >= 1, normal: >= 2 */
    /* what a change must gain; NaN: (2 ln n + 4.63) times the long-run variance (normal: (3 ln n
     * + 4.63) times its ratio to the variance) */
    double penalty;
    size_t window; /* points on each side; 0: 2 min_segment, at least 10 */
    double alpha;  /* e-divisive: p at most this is a change */
    size_t permutations;
    uint64_t seed;
} cbx_changepoint_opts;

#define CBX_CHANGEPOINT_OPTS_INIT                                                                                      \
    CBX_OPTS(cbx_changepoint_opts, CBX_CHANGEPOINT_PELT, CBX_CHANGEPOINT_MEAN, 3, __builtin_nan(""), 0, 0.01, 199, 1)

/** @param opts   NULL: all defaults
 * @param index  capacity n; the changes, ascending
 * @return CBX_OK; CBX_EINVAL (an option); CBX_EDOM (not finite); CBX_ENOMEM */
CBX_API cbx_status cbx_changepoints_find(cbx_ctx *ctx, const double *x, size_t n, const cbx_changepoint_opts *opts,
                                         size_t *index, size_t *count, cbx_err *err);

/** A series that grows: PELT of the mean, a point at a time, about log n steps each.  With a
 * penalty of its own the changes are those of cbx_changepoints_find; with an automatic one the
 * penalty is that of the series when its length last doubled (from 16 on), and the series series is
 * computed again each time, which adds a constant factor. */
typedef struct cbx_changepoint_stream cbx_changepoint_stream;
/** @param opts  NULL: all defaults; method PELT and cost mean only (CBX_EUNSUPPORTED) */
CBX_API cbx_status cbx_changepoint_stream_create(cbx_ctx *ctx, const cbx_changepoint_opts *opts,
                                                 cbx_changepoint_stream **out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_changepoint_stream_free(cbx_changepoint_stream *s);
/** @return CBX_OK; CBX_EDOM (not finite); CBX_ENOMEM: the point is not in the series then */
CBX_API cbx_status cbx_changepoint_stream_append(cbx_changepoint_stream *s, double x, cbx_err *err);
CBX_API size_t cbx_changepoint_stream_length(const cbx_changepoint_stream *s);
/** @param index  capacity of its length */
CBX_API void cbx_changepoint_stream_changes(const cbx_changepoint_stream *s, size_t *index, size_t *count);

/* --- the detector: propose, then confirm --- */

/** A change of level that the series shows. */
typedef struct cbx_change {
    size_t index; /* first point after it */
    /* level of the segments beside it (geometric mean of a positive series, else mean) */
    double before, after;
    double change; /* (after - before) / |before|; infinite for a level of 0 before */
    double score;  /* difference over its standard error, autocorrelation included */
    bool alarm;    /* sure enough for a gate that checks the series after each new value */
} cbx_change;

/** Values that a series needs before any change can be an alarm. */
#define CBX_CHANGE_ALARM_MIN 16

/** Proposes changes, and marks those that are sure enough for a gate.
 *
 * Spikes first: up to two values in a row (fewer than min_segment) that are more than four standard
 * deviations (cbx_noise) above, or below, everything around them are replaced by what is usual
 * there, unless they are more than one value in twenty and so a mode.  Then the best split of each
 * segment (of the logarithms of a positive series) is kept if its score exceeds sqrt(2 ln n + 5.2);
 * changes that PELT finds together replace them if they are more and each has such a score.  Score:
 * difference of means over sqrt(s^2 (v(m1) + v(m2))), v(m) = (1 + 2 sum_k (1 - k/m) phi^k) / m,
 * with s^2 and phi of the residuals of all segments, phi corrected for its bias and raised by a
 * standard error 1/sqrt(n); 0 where the medians of segments shorter than 2 min_segment do not
 * confirm half of the difference.
 *
 * Alarm: the score, with phi raised by 3/n more and read as Student's t, is beyond the probability
 * of a normal value of 4.6, and Mann-Whitney's p of both segments (their 100 values next to the
 * change) times min(n, 100) is at most 0.004.  Of series without a change that are checked after
 * each of 100 values, at most 1 in 100 raises any alarm: normal, log-normal, Student's t with 3
 * degrees of freedom, two modes in any shares, AR(1) up to 0.3; AR(1) of 0.6: 5 in 100
 * (docs/reference/statistics.md).
 * @param x    n >= 2 min_segment and 4 values, finite
 * @param out  capacity n
 * @return CBX_OK; CBX_EINVAL (min_segment 0, too few values); CBX_EDOM (not finite); CBX_ENOMEM */
CBX_API cbx_status cbx_changes_detect(cbx_ctx *ctx, const double *x, size_t n, size_t min_segment, cbx_change *out,
                                      size_t *count, cbx_err *err);

/** Confirms a proposed change by fresh samples of both sides: the Hodges-Lehmann shift of their
 * logarithms with its interval, and the verdict on it (cbx_verdict_of_change).
 * @param change  the interval; level 0 and CBX_VERDICT_UNDECIDED: too few samples.  May be NULL
 * @return as cbx_stat_hodges_lehmann_shift; CBX_EINVAL (threshold < 0, or NaN); CBX_EDOM (a median
 *   of 0 before) */
CBX_API cbx_status cbx_change_confirm(cbx_ctx *ctx, const double *before, size_t nbefore, const double *after,
                                      size_t nafter, double level, double threshold, cbx_verdict *verdict,
                                      cbx_interval *change, cbx_err *err);

CBX_END_DECLS
#endif
