/** Scaling: how a time grows with size (statistics/growth.h), and how a speed grows with workers,
 * each parameter with an interval.
 *
 * All fits minimise sum (1 - model/y)^2: errors of measurements are relative, and large sizes must
 * not decide alone.  Intervals are profile likelihood: the values of a parameter whose best fit has
 * a sum of at most S (1 + t^2/(n - k)), t the Student quantile; they are exact for models linear in
 * their parameters and normal relative errors.  Since 0.1.
 * @return of all: CBX_OK; CBX_EINVAL (too few points, as said; level); CBX_EDOM (a value that is
 *   not > 0 and finite); CBX_ENOMEM. */
#ifndef CALIBRAX_ANALYSIS_SCALING_H
#define CALIBRAX_ANALYSIS_SCALING_H

#include <stdbool.h>

#include "calibrax/statistics/growth.h"

CBX_BEGIN_DECLS

typedef enum cbx_speedup_law {
    CBX_LAW_AMDAHL,    /* y: time; y = T1 (s + (1 - s)/p); first parameter s, 0..1, the serial share (Amdahl 1967) */
    CBX_LAW_GUSTAFSON, /* y: throughput at a size that grows with p; y = X1 (s + (1 - s) p); s, 0..1 (Gustafson 1988) */
    CBX_LAW_USL /* y: throughput; y = X1 p / (1 + a (p - 1) + b p (p - 1)); a, b >= 0: contention, coherence (Gunther 1993) */
} cbx_speedup_law;

typedef struct cbx_speedup_fit {
    double scale;              /* T1 or X1, in the unit of y */
    cbx_interval parameter[2]; /* s; or a and b */
    double relative_error;     /* root mean square */
    double peak_workers; /* USL: sqrt((1 - a)/b), beyond which more workers are slower; infinite: none; else NaN */
} cbx_speedup_fit;

/** @param workers  > 0, at least three different ones; four for the USL */
CBX_API cbx_status cbx_scaling_speedup(cbx_ctx *ctx, cbx_speedup_law law, const double *workers, const double *y,
                                       size_t n, double level, cbx_speedup_fit *out, cbx_err *err);

CBX_END_DECLS
#endif
