/** Steady state within a launch: does the series warm up, slow down, stay flat, or have no steady
 * state?
 *
 * Nothing is discarded by count: the class and the first steady epoch are found by change points,
 * and a launch without steady state is reported as such.  Source of the classes: Barrett,
 * Bolz-Tereick, Killick, Mount & Tratt, OOPSLA 2017. */
#ifndef CALIBRAX_STATISTICS_STEADY_H
#define CALIBRAX_STATISTICS_STEADY_H

#include <stddef.h>

#include "calibrax/base/ctx.h"

CBX_BEGIN_DECLS

typedef enum cbx_steady_class {
    CBX_STEADY_FLAT,     /* one level throughout */
    CBX_STEADY_WARMUP,   /* the last level is the lowest, and others came before it */
    CBX_STEADY_SLOWDOWN, /* it lasts, but an earlier level was lower */
    CBX_STEADY_NONE      /* the last level is too short to be called one */
} cbx_steady_class;

typedef struct cbx_steady_opts {
    unsigned struct_size;
    double tolerance; /* relative: levels closer than this are one, >= 0; 0.01 */
    double tail;      /* share of the series that the last level must fill, 0 < tail <= 1; 0.25 */
    double penalty;   /* of a change, in units of ln n noise variances, > 0; 3 */
} cbx_steady_opts;

#define CBX_STEADY_OPTS_INIT CBX_OPTS(cbx_steady_opts, 0.01, 0.25, 3)

typedef struct cbx_steady {
    cbx_steady_class kind;
    size_t start;      /* first value of the steady state; n without steady state */
    double level;      /* mean from there on (of the last segment without steady state), single wild values pulled in */
    size_t segments;   /* levels before those closer than the tolerance are joined */
    double dependence; /* lag-1 autocorrelation of the residuals, which widened the penalty */
} cbx_steady;

/** Levels by exact minimisation of sum of squares + penalty per change, at least 5 values each, on
 * values whose distance from the median of nine neighbours is cut to 3 noise deviations.
 * Noise is measured from the residuals of a first pass; positive lag-1 autocorrelation rho widens
 * the penalty by (1 + rho) / (1 - rho).  1 ms for 2000 values.  Sources: Maidstone et al., Stat.
 * Comput. 27 (2017) 519-533; Barrett et al. (above).
 *
 * @param x       n costs (times) in their order, finite, n >= 1; below 10 values everything is one
 *   segment
 * @param opts    NULL: defaults
 * @param breaks  NULL, or `capacity` first positions of the later segments; segments - 1 of
 *   them are written
 * @return CBX_OK; CBX_EINVAL; CBX_EDOM (not finite); CBX_ENOMEM.  Constant: flat. */
CBX_API cbx_status cbx_stat_steady(cbx_ctx *ctx, const double *x, size_t n, const cbx_steady_opts *opts,
                                   cbx_steady *out, size_t *breaks, size_t capacity, cbx_err *err);
/** "flat", "warm-up", "slowdown", "no steady state" */
CBX_API const char *cbx_steady_name(cbx_steady_class kind);

CBX_END_DECLS
#endif
