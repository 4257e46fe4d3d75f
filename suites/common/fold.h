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
#ifndef SUITES_COMMON_FOLD_H
#define SUITES_COMMON_FOLD_H

#include <stddef.h>

#include "calibrax/array/kernels/semiring.h"

/* k = 0 gives the algebra's empty value. */
void cbx__suite_fold(const cbx_semiring *s, cbx_dtype dtype, size_t k, const double *a, const double *b, double *answer,
                     double *bound);

/* The log algebra's bound, amax and bmax the largest finite magnitudes among operands. */
double cbx__suite_log_bound(double u, double k, double amax, double bmax, double answer);

#endif
