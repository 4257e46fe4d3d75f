/* The frame of an oracle: operands as doubles, and an answer with its bound. */
#ifndef SUITES_COMMON_ORACLE_H
#define SUITES_COMMON_ORACLE_H

#include "calibrax/array/kernels/semiring.h"
#include "calibrax/perf/case/case.h"

/* The correct answer of one element of an algebra, and its error bound.  For oracles only.
 *
 * Terms t = combine(a[i], b[i]) of k operands are worked on in long double, sums compensated
 * (Neumaier, ZAMM 54 (1974) 39-51), log in two passes.  Operands are float32 or float64 numbers, or
 * 0 and 1 of booleans.  Bounds, with sum_error of bounds.h:
 *
 *   real       sum_error(k) sum |a b|
 *   euclidean  ((min(k, chance(k)) + 4) / 2 + 1) u C: a - b and its square err by 3 u, the root
 *              halves that and adds u
 *   tropical   0: a + b is rounded once and correctly, max and min round nothing
 *   boolean    0
 *   log        u (min(2 (k + 5 R), lambda sqrt(k + 17 R)) + 30 + 6 (amax + bmax) + 4 |C|), R =
 *              min(k, 32): exponents of roundings no larger than amax + bmax, exp and log of 2 ulp,
 *              rescaling of an online sum at most R times
 *
 * Special values have a bound of 0: they must be equal. */

/* The log algebra's bound, amax and bmax the largest finite magnitudes among operands. */
double cbx__suite_log_bound(double u, double k, double amax, double bmax, double answer);

typedef struct cbx__suite_problem {
    const double *in[CBX_CASE_MAX_ARRAYS];
    double *answer, *bound; /* in the shape of output 0; bound: zeros until written */
    uint8_t *truth;         /* in the place of answer, if that is boolean */
    double *scratch;        /* aligned to a cache line */
    cbx_array *made[3];
} cbx__suite_problem;

/* @param scratch  doubles  @return CBX_OK: ends with cbx__suite_problem_end; CBX_ENOMEM */
cbx_status cbx__suite_problem_begin(cbx_ctx *ctx, const cbx_case_ops *c, const cbx_params *given, cbx_array *const *in,
                                    size_t scratch, cbx__suite_problem *q, cbx_err *err);
void cbx__suite_problem_end(cbx__suite_problem *q, cbx_array **answer, cbx_array **bound);

/* Element `at` by such terms; k = 0 gives the algebra's empty value. */
void cbx__suite_problem_fold(const cbx__suite_problem *q, size_t at, const cbx_semiring *s, cbx_dtype dtype, size_t k,
                             const double *a, const double *b);

/* The oracle of a case with one output: read(params) is a point p, which solve(&p, &q) solves with
 * `scratch` doubles (of p). */
#define CBX__SUITE_ORACLE(case_, point, read, scratch, solve)                                                          \
    static cbx_status oracle(cbx_ctx *ctx, const cbx_params *given, cbx_array *const *in, cbx_array **answer,          \
                             cbx_array **bound, cbx_err *err)                                                          \
    {                                                                                                                  \
        const point p = read(given);                                                                                   \
        cbx__suite_problem q;                                                                                          \
        const cbx_status st = cbx__suite_problem_begin(ctx, &case_, given, in, scratch, &q, err);                      \
        if (st) return st;                                                                                             \
        solve(&p, &q);                                                                                                 \
        cbx__suite_problem_end(&q, answer, bound);                                                                     \
        return CBX_OK;                                                                                                 \
    }

#endif
