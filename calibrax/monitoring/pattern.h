/**
 * What one series alone may have, with nothing to compare it with: a drift, or two modes.
 *
 *   drift  Its values creep: Theil-Sen's slope (calibrax/statistics/series.h) times n - 1, as a share of |median|; 0 where its interval,
 *          widened for values that depend on those before them, holds 0.  A step may look like one or not: steps are for calibrax/analysis/changepoint.h.
 *   modes  It goes back and forth between two levels, as launches of a program do that sometimes meet a penalty: the share of all values
 *          that the smaller of the two largest modes has (cbx_stat_modes); 0 unless it has CBX_PATTERN_MODE_LEAST values, the series goes
 *          from one to the other CBX_PATTERN_TURNS times, and the levels are farther apart than 3 times 0.5 %.  A step goes over once.
 *
 * Both are for a window that is looked at again after each value: the evidence asked for (CBX_PATTERN_ALPHA, CBX_PATTERN_TURNS) is so strong
 * that of 100-value series without either at most one in a hundred alarms, at most five where an AR(1) of 0.6 makes them.
 */
#ifndef CALIBRAX_MONITORING_PATTERN_H
#define CALIBRAX_MONITORING_PATTERN_H

#include <stdbool.h>

#include "calibrax/base/ctx.h"

CBX_BEGIN_DECLS

#define CBX_PATTERN_LEAST      10 /* values; of fewer, neither is said */
#define CBX_PATTERN_MOST       2000
#define CBX_PATTERN_WINDOW     50 /* of rules that say none */
#define CBX_PATTERN_MODE_LEAST 3
#define CBX_PATTERN_TURNS      4
#define CBX_PATTERN_ALPHA      1e-4

typedef enum cbx_pattern_kind { CBX_PATTERN_NONE, CBX_PATTERN_DRIFT, CBX_PATTERN_MODES } cbx_pattern_kind;

typedef struct cbx_pattern {
    double
        strength; /* drift: share of |median|, of its sign, infinite about a median of 0; modes: share; 0: neither is seen */
    double low, high; /* drift: ends of the interval of it; modes: the two levels; NaN: none */
    size_t n;         /* values looked at */
} cbx_pattern;

/** "value" for none, "drift", "modes"; "?" outside the list. */
CBX_API const char *cbx_pattern_name(cbx_pattern_kind kind);
/** Of "drift" and "modes"; false for another word or NULL. */
CBX_API bool cbx_pattern_parse(const char *word, cbx_pattern_kind *out);
/**
 * @param x  n finite values, oldest first; n <= CBX_PATTERN_MOST; below CBX_PATTERN_LEAST neither is seen
 * @return CBX_OK; CBX_EINVAL (kind, n); CBX_EDOM (not finite); CBX_ENOMEM.  Safe from any thread.  Since 0.1.
 */
CBX_API cbx_status cbx_pattern_find(cbx_ctx *ctx, cbx_pattern_kind kind, const double *x, size_t n, cbx_pattern *out,
                                    cbx_err *err);

CBX_END_DECLS
#endif
