/**
 * Scaling: how a time grows with size, and how a speed grows with workers, each parameter with an interval.
 *
 * All fits minimise sum (1 - model/y)^2: errors of measurements are relative, and large sizes must not decide alone.  Intervals are profile
 * likelihood: the values of a parameter whose best fit has a sum of at most S (1 + t^2/(n - k)), t the Student quantile; they are exact for
 * models linear in their parameters and normal relative errors.  Since 0.1.
 * @return of all: CBX_OK; CBX_EINVAL (too few points, as said; level); CBX_EDOM (a value that is not > 0 and finite); CBX_ENOMEM.
 */
#ifndef CALIBRAX_ANALYSIS_SCALING_H
#define CALIBRAX_ANALYSIS_SCALING_H

#include <stdbool.h>

#include "calibrax/statistics/estimate.h"

CBX_BEGIN_DECLS

/* name, what it is called */
#define CBX_COMPLEXITY_MAP(X)                                                                                          \
    X(CONSTANT, "O(1)")                                                                                                \
    X(LOG, "O(log n)")                                                                                                 \
    X(SQRT, "O(sqrt n)")                                                                                               \
    X(LINEAR, "O(n)")                                                                                                  \
    X(N_LOG_N, "O(n log n)")                                                                                           \
    X(N_SQRT_N, "O(n^1.5)")                                                                                            \
    X(QUADRATIC, "O(n^2)")                                                                                             \
    X(QUADRATIC_LOG, "O(n^2 log n)")                                                                                   \
    X(CUBIC, "O(n^3)")

typedef enum cbx_complexity {
#define CBX_COMPLEXITY_ENUM(name, words) CBX_COMPLEXITY_##name,
    CBX_COMPLEXITY_MAP(CBX_COMPLEXITY_ENUM)
#undef CBX_COMPLEXITY_ENUM
        CBX_COMPLEXITY_COUNT
} cbx_complexity;
/** "?" for a number outside the list. */
CBX_API const char *cbx_complexity_name(cbx_complexity c);

typedef struct cbx_growth {
    cbx_complexity order;                /* the least AICc among orders, each with and without an intercept */
    bool intercept;                      /* y = intercept_value + coefficient f(n), else y = coefficient f(n) */
    double intercept_value, coefficient; /* >= 0 */
    double weight[CBX_COMPLEXITY_COUNT]; /* Akaike weights of the orders; sum to 1 */
    cbx_interval exponent;               /* of y = a + b n^p, a free where the order has an intercept, -4 <= p <= 8 */
    double power_intercept, power_coefficient; /* its a and b */
    double relative_error;                     /* root mean square of 1 - model/y of the order */
} cbx_growth;

/**
 * @param sizes  > 0, at least four different ones; five for an intercept
 * Source of AICc: Hurvich & Tsai, Biometrika 76 (1989) 297-307.
 */
CBX_API cbx_status cbx_scaling_growth(cbx_ctx *ctx, const double *sizes, const double *y, size_t n, double level,
                                      cbx_growth *out, cbx_err *err);

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
