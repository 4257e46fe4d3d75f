/**
 * Patterns of a single series: a drift, or two modes.
 *
 *   drift  Theil-Sen's slope times n - 1, as a share of |median|; 0 if its interval, widened for
 *          autocorrelated values, contains 0.  A step may count as a drift or not: steps are
 *          for calibrax/analysis/changepoint.h.
 *   modes  The series alternates between two levels: the share of all values in the smaller of the
 *          two largest modes (cbx_stat_modes); 0 unless that has CBX_PATTERN_MODE_MIN values, the
 *          series changes between them CBX_PATTERN_TURNS times, and the levels are farther apart
 *          than 3 times 0.5 %.
 *
 * Both are for a window that is examined after each value: with CBX_PATTERN_ALPHA and
 * CBX_PATTERN_TURNS at most one in a hundred 100-value series without a pattern alarms, at most
 * five of an AR(1) of 0.6.
 */
#ifndef CALIBRAX_MONITORING_PATTERN_H
#define CALIBRAX_MONITORING_PATTERN_H

#include <stdbool.h>

#include "calibrax/base/ctx.h"

CBX_BEGIN_DECLS

#define CBX_PATTERN_MIN      10 /* values */
#define CBX_PATTERN_MAX      2000
#define CBX_PATTERN_WINDOW   50 /* default of rules */
#define CBX_PATTERN_MODE_MIN 3
#define CBX_PATTERN_TURNS    4
#define CBX_PATTERN_ALPHA    1e-4

typedef enum cbx_pattern_kind { CBX_PATTERN_NONE, CBX_PATTERN_DRIFT, CBX_PATTERN_MODES } cbx_pattern_kind;

typedef struct cbx_pattern {
    double strength;  /* drift: signed share of |median|, infinite about a median of 0; modes: share; 0: no pattern */
    double low, high; /* drift: its interval; modes: the two levels; NaN: none */
    size_t n;         /* values */
} cbx_pattern;

/** "value" for none, "drift", "modes"; "?" outside the list. */
CBX_API const char *cbx_pattern_name(cbx_pattern_kind kind);
/** Of "drift" and "modes"; false for another word or NULL. */
CBX_API bool cbx_pattern_parse(const char *word, cbx_pattern_kind *out);
/**
 * @param x  n finite values, oldest first; n <= CBX_PATTERN_MAX; below CBX_PATTERN_MIN there is no
 *   pattern
 * @return CBX_OK; CBX_EINVAL (kind, n); CBX_EDOM (not finite); CBX_ENOMEM.  Safe from any thread.
 *   Since 0.1.
 */
CBX_API cbx_status cbx_pattern_find(cbx_ctx *ctx, cbx_pattern_kind kind, const double *x, size_t n, cbx_pattern *out,
                                    cbx_err *err);

CBX_END_DECLS
#endif
