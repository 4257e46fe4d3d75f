/*
 * Sums of oracles, and error bounds of a correct floating-point sum.  u is the unit roundoff, 2^-24
 * or 2^-53.
 *
 * A sum of k terms t in any order errs by sum_j s_j d_j to first order, with partial sums s_j and
 * roundings |d_j| <= u.
 *
 *   always      gamma_k S, S = sum |t|, gamma_k = k u / (1 - k u); N. J. Higham, Accuracy and
 *               Stability of Numerical Algorithms, 2nd ed. (2002), (3.7), p. 63
 *   by chance   lambda u sqrt(sum_j s_j^2) <= lambda sqrt(k) u S.  With d_j independent and of mean
 *               zero, the model of Higham & Mary, SIAM J. Sci. Comput. 41 (2019) A2815, Hoeffding's
 *               inequality (J. Am. Stat. Assoc. 58 (1963) 13-30) gives that an element exceeds it
 *               with probability 2 exp(-lambda^2 / 2) at most: 3.0e-8 at lambda = 6.  Terms of one
 *               distribution make s_j = (j / k) S, whose squares add to k S^2 / 3.
 *
 * The first grows like k and would accept operands of 12 bits at k = 1024; where both hold, the
 * smaller is used.
 */
#ifndef SUITES_COMMON_BOUNDS_H
#define SUITES_COMMON_BOUNDS_H

#include <float.h>
#include <math.h>

#include "calibrax/array/dtype.h"

/* A compensated sum (Neumaier, ZAMM 54 (1974) 39-51), for oracles. */
typedef struct cbx__suite_total {
    long double sum, lost, plain,
        size; /* the sum is sum + lost; plain: without compensation; size: of the magnitudes */
    size_t count;
} cbx__suite_total;

static inline void cbx__suite_include(cbx__suite_total *t, long double x)
{
    const long double s = t->sum + x;
    t->lost += fabsl(t->sum) >= fabsl(x) ? (t->sum - s) + x : (x - s) + t->sum;
    t->sum = s;
    t->plain += x;
    t->size += fabsl(x);
    t->count++;
}

#define CBX__SUITE_LAMBDA 6.0

static inline double cbx__suite_unit(cbx_dtype t) { return t == CBX_F32 ? FLT_EPSILON / 2 : DBL_EPSILON / 2; }

/* gamma_k; infinite where the formula does not apply. */
static inline double cbx__suite_gamma(double k, double u) { return k * u < 0.5 ? k * u / (1 - k * u) : INFINITY; }

/* In units of u S: a sum of k independent draws. */
static inline double cbx__suite_chance(double k) { return CBX__SUITE_LAMBDA * sqrt(k / 3); }

/* Of S: the smaller of both for k independent draws. */
static inline double cbx__suite_sum_error(double k, double u)
{
    return fmin(cbx__suite_gamma(k, u), cbx__suite_chance(k) * u);
}

#endif
