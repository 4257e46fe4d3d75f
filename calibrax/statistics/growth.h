/** Growth: how a time grows with size, by model selection among orders.
 *
 * Fits minimise sum (1 - model/y)^2: errors of measurements are relative, and large sizes must not
 * decide alone.  Intervals are profile likelihood: the values of a parameter whose best fit has a
 * sum of at most S (1 + t^2/(n - k)), t the Student quantile; they are exact for models linear in
 * their parameters and normal relative errors.  Since 0.1. */
#ifndef CALIBRAX_STATISTICS_GROWTH_H
#define CALIBRAX_STATISTICS_GROWTH_H

#include <stdbool.h>

#include "calibrax/statistics/bootstrap.h"

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
    double relative_error; /* root mean square of 1 - model/y, of the power where the exponent is free */
    double power_gain;     /* AICc of the order less that of the power: more than 0 is evidence for the power */
    bool free_exponent;    /* power_gain is more than 4: the power explains the points, and no named order does */
} cbx_growth;

enum { CBX_GROWTH_TEXT = 32 };
/** "O(n^2 log n)"; with a free exponent "O(n^2.4)".  Returns buf. */
CBX_API const char *cbx_growth_text(const cbx_growth *g, char buf[CBX_GROWTH_TEXT]);

/** @param sizes  > 0, at least four different ones; five for an intercept
 * @return CBX_OK; CBX_EINVAL (too few points, level); CBX_EDOM (a value that is not > 0 and finite)
 * Source of AICc: Hurvich & Tsai, Biometrika 76 (1989) 297-307. */
CBX_API cbx_status cbx_scaling_growth(cbx_ctx *ctx, const double *sizes, const double *y, size_t n, double level,
                                      cbx_growth *out, cbx_err *err);

/** Interval of the exponent by resampling points (percentile bootstrap of pairs): assumes no
 * distribution of the errors, and needs eight points or more to be worth something.
 * @param growth     of the same points: decides whether there is an intercept
 * @param resamples  >= 1
 * @return as cbx_stat_bootstrap */
CBX_API cbx_status cbx_scaling_exponent_bootstrap(cbx_ctx *ctx, const double *sizes, const double *y, size_t n,
                                                  const cbx_growth *growth, double level, size_t resamples,
                                                  uint64_t seed, cbx_interval *out, cbx_err *err);

CBX_END_DECLS
#endif
