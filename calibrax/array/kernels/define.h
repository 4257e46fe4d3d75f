/*
 * The definition of the algebras on scalars, which dense and sparse products are held to; written apart from the kernels' steps.
 */
#ifndef CALIBRAX_ARRAY_KERNELS_DEFINE_H
#define CALIBRAX_ARRAY_KERNELS_DEFINE_H

#include <math.h>

#include "calibrax/array/kernels/semiring.h"

#define CBX__DEFINE(T, SFX)                                                                                            \
    /* combine */                                                                                                      \
    static inline T term_##SFX(cbx_algebra g, T a, T b)                                                                \
    {                                                                                                                  \
        switch (g) {                                                                                                   \
        case CBX_ALGEBRA_REAL: return a * b;                                                                           \
        case CBX_ALGEBRA_EUCLIDEAN: return (a - b) * (a - b);                                                          \
        default: return a + b;                                                                                         \
        }                                                                                                              \
    }                                                                                                                  \
    /* update; log comes here as max-plus first, then with the largest term known */                                   \
    static inline T update_##SFX(cbx_algebra g, T acc, T t)                                                            \
    {                                                                                                                  \
        const bool sums = g == CBX_ALGEBRA_REAL || g == CBX_ALGEBRA_EUCLIDEAN;                                         \
        if (sums || isnan(acc) || isnan(t)) return acc + t;                                                            \
        return g == CBX_ALGEBRA_TROPICAL_MIN_PLUS ? (t < acc ? t : acc) : (t > acc ? t : acc);                         \
    }
CBX__DEFINE(float, f32)
CBX__DEFINE(double, f64)
#undef CBX__DEFINE

#endif
