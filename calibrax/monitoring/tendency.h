/**
 * Where a series goes, in a word that its noise bears out: rising, falling, stable, or undecided.
 *
 * Slope per value as a share of |median|, by Theil-Sen (calibrax/statistics/series.h); its interval is widened where values depend on
 * those before them, by n over the effective size of what the slope leaves.  With a threshold t:
 *   rising     the interval lies above 0 and the slope is more than t; falling likewise
 *   stable     the interval lies within -t .. t
 *   undecided  neither: more values, or a calmer series, are needed
 * The Python package compares the slope of a least-squares line with 0.01 and knows no noise: a calm series may alternate there.
 */
#ifndef CALIBRAX_MONITORING_TENDENCY_H
#define CALIBRAX_MONITORING_TENDENCY_H

#include "calibrax/core/metric.h"
#include "calibrax/statistics/estimate.h"

CBX_BEGIN_DECLS

#define CBX_TENDENCY_LEAST     5    /* values; fewer say nothing */
#define CBX_TENDENCY_MOST      1000 /* the newest that are looked at */
#define CBX_TENDENCY_THRESHOLD 0.01 /* of the Python package */

/* name, word, word where less is better, where more is */
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
    cbx_interval slope; /* per value, share of |median|; NaN: unknown */
    size_t n;           /* values looked at */
    double effective;   /* as many independent ones say as much */
} cbx_tendency;

/** "rising", or by the metric's direction "improving", "degrading"; "?" for a number that is none */
CBX_API const char *cbx_tendency_name(cbx_tendency_kind kind, cbx_direction direction);
/**
 * @param x          n values, oldest first; those that are not finite are left out; the newest CBX_TENDENCY_MOST of the others count
 * @param threshold  > 0; CBX_TENDENCY_THRESHOLD
 * @param level      of the interval, in (0, 1)
 * @return CBX_OK; CBX_EINVAL; CBX_ENOMEM.  Safe from any thread.  Since 0.1.
 */
CBX_API cbx_status cbx_tendency_find(cbx_ctx *ctx, const double *x, size_t n, double threshold, double level,
                                     cbx_tendency *out, cbx_err *err);

CBX_END_DECLS
#endif
