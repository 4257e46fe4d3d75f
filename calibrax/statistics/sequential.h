/** Confidence sequences: intervals that hold at every sample size at once, so one may look after
 * each value and stop when one likes.
 *
 * P(the mean lies in the interval after every n >= 1) >= level, for the kinds marked exact; an
 * interval that was computed for one n and looked at many times has no such level.  Intersecting
 * all intervals so far is valid, too. A sequence is a struct of the caller's, started by
 * cbx_sequence_init; nothing is allocated; one thread uses it at a time.  Since 0.1. */
#ifndef CALIBRAX_STATISTICS_SEQUENTIAL_H
#define CALIBRAX_STATISTICS_SEQUENTIAL_H

#include "calibrax/statistics/estimate.h"

CBX_BEGIN_DECLS

typedef enum cbx_sequence_kind {
    /** Normal data of unknown variance, exact: all means whose mixture Bayes factor, effect size ~
     * N(0, g), stays below 1 / alpha. With K = (sqrt(1 + n g) / alpha)^(2/n): mean -+ sqrt(s^2/n
     * (n-1) (K-1) / (1 - K/(1 + n g))); endless while K >= 1 + n g. The choice for log ratios of
     * launch medians.  Sources: Lai, Ann. Statist. 4 (1976) 265-280; Rouder et al., Psychon. Bull.
     * Rev. 16 (2009) 225-237, for the Bayes factor; Wang & Ramdas, Sequential Analysis (2025),
     * arXiv 2310.03722. */
    CBX_SEQUENCE_NORMAL,
    /** Any distribution on [low, high], exact: predictable plug-in empirical Bernstein. Source:
     * Waudby-Smith & Ramdas, J. R. Stat. Soc. B 86 (2024) 1-27, theorem 2. */
    CBX_SEQUENCE_BOUNDED,
    /** Any distribution with a variance, in the limit of many values: mean -+ s sqrt(2 (n g + 1) /
     * (n^2 g) ln(sqrt(n g + 1) / alpha)). Too narrow for few values: no interval before n = 20,
     * and log-normal data of sigma 1 are missed by 21 % of sequences up to n = 300.  Source:
     * Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas, Ann. Statist. 52 (2024) 2613-2640. */
    CBX_SEQUENCE_ASYMPTOTIC
} cbx_sequence_kind;

typedef struct cbx_sequence_opts {
    unsigned struct_size;
    cbx_sequence_kind kind;
    double level;     /* 0 < level < 1; 0.95 */
    double planned;   /* n at which the interval is to be narrowest, > 0; 30.  Unused by CBX_SEQUENCE_BOUNDED */
    double low, high; /* of CBX_SEQUENCE_BOUNDED: low < high, finite */
} cbx_sequence_opts;

#define CBX_SEQUENCE_OPTS_INIT CBX_OPTS(cbx_sequence_opts, CBX_SEQUENCE_NORMAL, 0.95, 30, 0, 0)

/** Open for its place on the stack; members are the library's. */
typedef struct cbx_sequence {
    cbx_sequence_opts opts;
    double n, origin, mean, squares;   /* mean about the origin, squares about the mean */
    double scale;                      /* g */
    double weights, weighted, guarded; /* empirical Bernstein: sums of bets, of bets times values, of the bound */
    double bet_mean, bet_variance;     /* its predictable mean and variance, of values scaled to [0, 1] */
} cbx_sequence;

/** @param opts  NULL: normal data, level 0.95.  @return CBX_OK; CBX_EINVAL */
CBX_API cbx_status cbx_sequence_init(cbx_sequence *s, const cbx_sequence_opts *opts, cbx_err *err);
/** @return CBX_OK; CBX_EDOM (not finite, or outside [low, high]): the sequence is as before */
CBX_API cbx_status cbx_sequence_add(cbx_sequence *s, double x, cbx_err *err);
/** Adds log(a / b).  @param a, b  > 0 */
CBX_API cbx_status cbx_sequence_add_ratio(cbx_sequence *s, double a, double b, cbx_err *err);
/** Interval of the mean after what was added; level 0 and endless while nothing can be said.
 * CBX_SEQUENCE_BOUNDED stays in [low, high]. */
CBX_API cbx_interval cbx_sequence_mean(const cbx_sequence *s);
/** The same, exponentiated: of the geometric mean ratio after cbx_sequence_add_ratio. */
CBX_API cbx_interval cbx_sequence_ratio(const cbx_sequence *s);

CBX_END_DECLS
#endif
