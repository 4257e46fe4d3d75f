/* Scalar rules that every backend shares: where integers wrap, what a division by zero gives, how
 * NaN travels. */
#ifndef CALIBRAX_ARRAY_KERNELS_SCALAR_H
#define CALIBRAX_ARRAY_KERNELS_SCALAR_H

#include <math.h>
#include <stdint.h>

/* Floor modulo: the result has the sign of the divisor, a zero result too.  Source: CPython
 * floatobject.c (float_rem). */
static inline double cbx__rem_of_f64(double x, double y, double m)
{
    const double moved = (y < 0) != (m < 0) ? m + y : m;

    (void)x;
    return y == 0 ? m : m == 0 ? copysign(0.0, y) : moved;
}
static inline double cbx__rem_f64(double x, double y) { return cbx__rem_of_f64(x, y, fmod(x, y)); }

static inline float cbx__rem_of_f32(float x, float y, float m)
{
    const float moved = (y < 0) != (m < 0) ? m + y : m;

    (void)x;
    return y == 0 ? m : m == 0 ? copysignf(0.0f, y) : moved;
}
static inline float cbx__rem_f32(float x, float y) { return cbx__rem_of_f32(x, y, fmodf(x, y)); }

/* floor(x / y) of the exact quotient; x / 0 as in division.  Source: CPython floatobject.c
 * (float_floor_div). */
static inline double cbx__floor_div_of_f64(double x, double y, double m)
{
    const double q = (x - m) / y, d = m != 0 && (y < 0) != (m < 0) ? q - 1.0 : q, down = floor(d);
    const double nearest = d - down > 0.5 ? down + 1.0 : down;

    return y == 0 ? x / y : d == 0 ? copysign(0.0, x / y) : nearest;
}
static inline double cbx__floor_div_f64(double x, double y) { return cbx__floor_div_of_f64(x, y, fmod(x, y)); }

static inline float cbx__floor_div_of_f32(float x, float y, float m)
{
    const float q = (x - m) / y, d = m != 0 && (y < 0) != (m < 0) ? q - 1.0f : q, down = floorf(d);
    const float nearest = d - down > 0.5f ? down + 1.0f : down;

    return y == 0 ? x / y : d == 0 ? copysignf(0.0f, x / y) : nearest;
}
static inline float cbx__floor_div_f32(float x, float y) { return cbx__floor_div_of_f32(x, y, fmodf(x, y)); }

/* Integers: x // 0 and x % 0 are 0; the smallest // -1 wraps. */
static inline int64_t cbx__floor_div_i64(int64_t x, int64_t y)
{
    if (y == 0) return 0;
    if (y == -1) return (int64_t)(0 - (uint64_t)x);
    return x / y - (x % y != 0 && (x < 0) != (y < 0));
}

static inline int64_t cbx__rem_i64(int64_t x, int64_t y)
{
    if (y == 0 || y == -1) return 0;
    int64_t m = x % y;
    return m != 0 && (m < 0) != (y < 0) ? m + y : m;
}

static inline uint64_t cbx__pow_u64(uint64_t x, uint64_t n)
{
    uint64_t r = 1;

    for (; n > 0; n >>= 1, x *= x)
        if (n & 1) r *= x;
    return r;
}

/* log(exp(x) + exp(y)) without overflow. */
static inline double cbx__logaddexp(double x, double y)
{
    double d = x - y;

    if (x == y) return x + 0.693147180559945309417232121458176568;
    if (d > 0) return x + log1p(exp(-d));
    if (d <= 0) return y + log1p(exp(d));
    return d; /* NaN */
}

/* Towards zero, clamped to the type's range; NaN is 0. */
#define CBX__TRUNCATE(T, min, max, x)                                                                                  \
    ((x) != (x) ? (T)0 : (x) >= (double)(max) ? (T)(max) : (x) > (double)(min) ? (T)(x) : (T)(min))

#endif
