/* Scalar rules that every backend shares: where integers wrap, what a division by zero gives, how
 * NaN travels. */
#ifndef CALIBRAX_ARRAY_KERNELS_SCALAR_H
#define CALIBRAX_ARRAY_KERNELS_SCALAR_H

#include <math.h>
#include <stdint.h>

/* Of x and y with C's remainder m of them.  rem: floor modulo, of which the result has the sign of
 * the divisor, a zero result too.  floor_div: floor(x / y) of the exact quotient; x / 0 as in
 * division.  Source: CPython floatobject.c (float_rem, float_floor_div). */
#define CBX__MODULO(S, T, f)                                                                                           \
    static inline T cbx__rem_of_##S(T x, T y, T m)                                                                     \
    {                                                                                                                  \
        const T moved = (y < 0) != (m < 0) ? m + y : m;                                                                \
        (void)x;                                                                                                       \
        return y == 0 ? m : m == 0 ? copysign##f(0, y) : moved;                                                        \
    }                                                                                                                  \
    static inline T cbx__floor_div_of_##S(T x, T y, T m)                                                               \
    {                                                                                                                  \
        const T q = (x - m) / y, d = m != 0 && (y < 0) != (m < 0) ? q - 1 : q, down = floor##f(d);                     \
        const T nearest = d - down > (T)0.5 ? down + 1 : down;                                                         \
        return y == 0 ? x / y : d == 0 ? copysign##f(0, x / y) : nearest;                                              \
    }                                                                                                                  \
    static inline T cbx__rem_##S(T x, T y) { return cbx__rem_of_##S(x, y, fmod##f(x, y)); }                            \
    static inline T cbx__floor_div_##S(T x, T y) { return cbx__floor_div_of_##S(x, y, fmod##f(x, y)); }
CBX__MODULO(f32, float, f)
CBX__MODULO(f64, double, )
#undef CBX__MODULO

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
