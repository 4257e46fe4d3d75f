/**
 * The tendency of a series, as far as its noise allows: rising, falling, stable, or undecided.
 *
 * The change per value as a share of |median|, by Theil-Sen; its interval is widened for
 * autocorrelated values, by n over the effective size of the residuals.  With a threshold t:
 *   rising     the interval lies above 0 and the change is more than t; falling likewise
 *   stable     the interval lies within -t .. t
 *   undecided  neither: more values, or a calmer series, are needed
 * The Python package compares the change of a least-squares line with 0.01 and ignores noise: a
 * calm series may alternate there.
 */
#ifndef CALIBRAX_MONITORING_TENDENCY_H
#define CALIBRAX_MONITORING_TENDENCY_H

#include "calibrax/core/metric.h"
#include "calibrax/statistics/estimate.h"

CBX_BEGIN_DECLS

#define CBX_TENDENCY_MIN       5    /* values */
#define CBX_TENDENCY_MAX       1000 /* the newest values */
#define CBX_TENDENCY_THRESHOLD 0.01 /* of the Python package */

/* name, word, word if less is better, if more is better */
#define CBX_TENDENCY_MAP(X)                                                                                            \
    X(UNKNOWN, "unknown", "unknown", "unknown") /* too few values, or a median of 0 */                                 \
    X(STABLE, "stable", "stable", "stable")                                                                            \
    X(RISING, "rising", "degrading", "improving")                                                                      \
    X(FALLING, "falling", "improving", "degrading")                                                                    \
    X(UNDECIDED, "undecided", "undecided", "undecided")

typedef enum cbx_tendency_kind {
#define CBX_TENDENCY_ENUM(name, ...) CBX_TENDENCY_##name,
    CBX_TENDENCY_MAP(CBX_TENDENCY_ENUM)
#undef CBX_TENDENCY_ENUM
        CBX_TENDENCY_COUNT
} cbx_tendency_kind;

typedef struct cbx_tendency {
    cbx_tendency_kind kind;
    cbx_interval slope; /* words:ok  per value, share of |median|; NaN: unknown */
    size_t n;           /* values */
    double effective;   /* equivalent number of independent values */
} cbx_tendency;

/** "rising", or by the metric's direction "improving", "degrading"; "?" for an invalid number */
CBX_API const char *cbx_tendency_name(cbx_tendency_kind kind, cbx_direction direction);
/**
 * @param x          n values, oldest first; those that are not finite are left out; the newest
 *   CBX_TENDENCY_MAX of the others count
 * @param threshold  > 0; CBX_TENDENCY_THRESHOLD
 * @param level      of the interval, in (0, 1)
 * @return CBX_OK; CBX_EINVAL; CBX_ENOMEM.  Safe from any thread.  Since 0.1.
 */
CBX_API cbx_status cbx_tendency_find(cbx_ctx *ctx, const double *x, size_t n, double threshold, double level,
                                     cbx_tendency *out, cbx_err *err);

CBX_END_DECLS
#endif
