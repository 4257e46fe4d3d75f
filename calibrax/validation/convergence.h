/**
 * Whether and how fast a series of errors decreases, and which tolerances it reaches to its end.
 * Nothing here allocates; all is safe from any thread.  Since 0.1.
 */
#ifndef CALIBRAX_VALIDATION_CONVERGENCE_H
#define CALIBRAX_VALIDATION_CONVERGENCE_H

#include <stddef.h>

#include "calibrax/base/status.h"

CBX_BEGIN_DECLS

typedef enum cbx_convergence_outcome {
    CBX_CONVERGENCE_CONVERGING,
    CBX_CONVERGENCE_STALLED, /* the rate is not distinguishable from 0 */
    CBX_CONVERGENCE_DIVERGING,
    CBX_CONVERGENCE_TOO_SHORT, /* one value has no rate */
    CBX_CONVERGENCE_EMPTY,
    CBX_CONVERGENCE_NOT_AN_ERROR /* a value is NaN, infinite or negative */
} cbx_convergence_outcome;

typedef enum cbx_tolerance_outcome {
    CBX_TOLERANCE_MET,
    CBX_TOLERANCE_TRANSIENT, /* reached, then exceeded again, or not held long enough */
    CBX_TOLERANCE_NEVER,
    CBX_TOLERANCE_UNKNOWN /* an empty series, or one with a value that is not an error */
} cbx_tolerance_outcome;

/** "converging", "stalled", "diverging", "too-short", "empty", "not-an-error"; "met", "transient",
 * "never", "unknown". */
CBX_API const char *cbx_convergence_outcome_name(cbx_convergence_outcome o);
CBX_API const char *cbx_tolerance_outcome_name(cbx_tolerance_outcome o);

typedef struct cbx_tolerance_result {
    double tolerance;
    cbx_tolerance_outcome outcome;
    size_t iteration; /* first of the values that stay, counted from 1; 0 unless met */
    size_t crossed;   /* first value at or below it, counted from 1; 0: none */
} cbx_tolerance_result;

typedef struct cbx_convergence_result {
    cbx_convergence_outcome outcome;
    double rate;       /* words:ok  minus the slope of ln v_i over i by least squares; > 0: decreasing.  NaN: unknown */
    double rate_error; /* its standard error; NaN for fewer than 3 values */
    size_t iterations;
    size_t bad; /* first value that is not an error, counted from 1; 0: none */
} cbx_convergence_result;

/**
 * Values below max(v) * 2^-52, the rounding error, count as that.  Converging or diverging if the
 * rate is more than two standard errors from 0 (any rate, for two values).
 * @param v           n errors, finite and >= 0; read only
 * @param tolerances  ntol, each finite and >= 0
 * @param hold        values at the end that must be at or below a tolerance, >= 1
 * @param each        ntol results, in the order of tolerances; may be NULL if ntol is 0
 * @return CBX_OK, also for a series without a result: see out; CBX_EINVAL: a tolerance, hold
 */
CBX_API cbx_status cbx_convergence_check(const double *v, size_t n, const double *tolerances, size_t ntol, size_t hold,
                                         cbx_convergence_result *out, cbx_tolerance_result *each, cbx_err *err);

/**
 * Observed order p of err = C h^p: words:ok  slope of ln err over ln h by least squares (LeVeque,
 * Finite Difference Methods, 2007, section A.6).
 * @param h, e         n >= 2 pairs, finite and > 0, not all h equal
 * @param order_error  standard error, NaN for two pairs; may be NULL
 * @return CBX_OK; CBX_EINVAL: too few pairs, or equal h; CBX_EDOM: a value is not finite and > 0
 */
CBX_API cbx_status cbx_convergence_order(const double *h, const double *e, size_t n, double *order, double *order_error,
                                         cbx_err *err);

CBX_END_DECLS
#endif
