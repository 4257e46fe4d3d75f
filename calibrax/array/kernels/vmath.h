/** Inline exp and log that compilers turn into vector code.
 *
 * Each function is straight-line arithmetic with selects, so a loop over an array of them is
 * vectorised by gcc and clang in whatever instruction set the including file is compiled for; with
 * FMA compile with -ffp-contract=fast.  No value depends on its lane or on the length of the loop.
 *
 * exp: x = n ln2 + r, |r| <= ln2/2, a polynomial in r (Chebyshev interpolation, relative error 0.18
 * * 2^-24 and 0.15 * 2^-53,
 *      tests/array/fit_exp.py), scaled by 2^n through the exponent bits.
 * log: x = 2^k (1+f), s = f/(2+f), log(1+f) = f - f^2/2 + s (f^2/2 + R(s^2)); coefficients of
 * FreeBSD msun k_logf.h and e_log.c
 *      (Copyright 1993 Sun Microsystems; "freely granted").
 * Errors seen: at most 1.1 ulp (exp) and 0.9 ulp (log) over their domains; tests/array/test_vmath.c
 * holds them to 1.5.
 *
 * Header only; allocates nothing; safe from any thread.  Experimental. */
#ifndef CALIBRAX_ARRAY_KERNELS_VMATH_H
#define CALIBRAX_ARRAY_KERNELS_VMATH_H

#include <stdint.h>

#include "calibrax/base/api.h"

CBX_BEGIN_DECLS

#ifndef CBX_VMATH_INLINE
#define CBX_VMATH_INLINE static inline __attribute__((always_inline, unused))
#endif
/* x * y + z and z - x * y, rounded once or twice, as the compiler's flags say; a device defines
 * them to round once. */
#ifndef CBX_VM_PLUS_F32
#define CBX_VM_PLUS_F32(x, y, z)  ((x) * (y) + (z))
#define CBX_VM_MINUS_F32(z, x, y) ((z) - (x) * (y))
#define CBX_VM_PLUS_F64(x, y, z)  ((x) * (y) + (z))
#define CBX_VM_MINUS_F64(z, x, y) ((z) - (x) * (y))
#endif

/* The bits of a number, and the number of some bits. */
#if defined(CBX_VM_DEVICE)
CBX_VMATH_INLINE uint32_t cbx_vm_bits_f32(float x) { return __float_as_uint(x); }
CBX_VMATH_INLINE float cbx_vm_float_f32(uint32_t u) { return __uint_as_float(u); }
CBX_VMATH_INLINE uint64_t cbx_vm_bits_f64(double x) { return (uint64_t)__double_as_longlong(x); }
CBX_VMATH_INLINE double cbx_vm_float_f64(uint64_t u) { return __longlong_as_double((int64_t)u); }
#else
#define CBX_VM_BITS(To, name, From)                                                                                    \
    CBX_VMATH_INLINE To name(From x)                                                                                   \
    {                                                                                                                  \
        To y;                                                                                                          \
        __builtin_memcpy(&y, &x, sizeof y);                                                                            \
        return y;                                                                                                      \
    }
CBX_VM_BITS(uint32_t, cbx_vm_bits_f32, float)
CBX_VM_BITS(float, cbx_vm_float_f32, uint32_t)
CBX_VM_BITS(uint64_t, cbx_vm_bits_f64, double)
CBX_VM_BITS(double, cbx_vm_float_f64, uint64_t)
#undef CBX_VM_BITS
#endif

/** exp(x).  Below -87.33654 (2^-126) the result is 0 (no subnormals), above 88.37626 (2^127.5)
 * +inf; NaN gives NaN. */
CBX_VMATH_INLINE float cbx_vm_exp_f32(float x)
{
    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it leaves rint() in the low bits */
    const float t = CBX_VM_PLUS_F32(x, 1.44269504088896341f, magic);
    const float n = t - magic;
    const float r = CBX_VM_MINUS_F32(CBX_VM_MINUS_F32(x, n, 0.693359375f), n, -2.12194440e-4f);
    float p = 0x1.6d110ap-10f;
    p = CBX_VM_PLUS_F32(p, r, 0x1.120b6ep-7f);
    p = CBX_VM_PLUS_F32(p, r, 0x1.55551ap-5f);
    p = CBX_VM_PLUS_F32(p, r, 0x1.5554dcp-3f);
    p = CBX_VM_PLUS_F32(p, r, 0.5f);
    p = CBX_VM_PLUS_F32(p, r * r, r) + 1.0f;
    float y = p * cbx_vm_float_f32((cbx_vm_bits_f32(t) - cbx_vm_bits_f32(magic) + 127u) << 23);
    y = x < -87.33654f ? 0.0f : y;
    return x > 88.37626f ? __builtin_inff() : y;
}

/** exp(x).  Below -708.39641 (2^-1022) the result is 0 (no subnormals), above 709.43613 (2^1023.5)
 * +inf; NaN gives NaN. */
CBX_VMATH_INLINE double cbx_vm_exp_f64(double x)
{
    const double magic = 6755399441055744.0; /* 1.5 * 2^52 */
    const double t = CBX_VM_PLUS_F64(x, 1.44269504088896340736, magic);
    const double n = t - magic;
    const double r = CBX_VM_MINUS_F64(CBX_VM_MINUS_F64(x, n, 6.93147180369123816490e-01), n,
                                      1.90821492927058770002e-10);
    double p = 2.510038549551032e-08;
    p = CBX_VM_PLUS_F64(p, r, 2.7620088445409746e-07);
    p = CBX_VM_PLUS_F64(p, r, 2.7557268459997064e-06);
    p = CBX_VM_PLUS_F64(p, r, 2.4801521295954376e-05);
    p = CBX_VM_PLUS_F64(p, r, 0.00019841269863053618);
    p = CBX_VM_PLUS_F64(p, r, 0.0013888888917213717);
    p = CBX_VM_PLUS_F64(p, r, 0.008333333333330062);
    p = CBX_VM_PLUS_F64(p, r, 0.04166666666662413);
    p = CBX_VM_PLUS_F64(p, r, 0.16666666666666669);
    p = CBX_VM_PLUS_F64(p, r, 0.5);
    p = CBX_VM_PLUS_F64(p, r * r, r) + 1.0;
    double y = p * cbx_vm_float_f64((cbx_vm_bits_f64(t) - cbx_vm_bits_f64(magic) + 1023u) << 52);
    y = x < -708.39641 ? 0.0 : y;
    return x > 709.43613 ? __builtin_inf() : y;
}

/** log(x) of a normal, finite x > 0; anything else gives an unspecified value. */
CBX_VMATH_INLINE float cbx_vm_log_f32(float x)
{
    const uint32_t u = cbx_vm_bits_f32(x) +
                       (0x3f800000u - 0x3f3504f3u); /* the mantissa is taken from [sqrt(1/2), sqrt(2)) */
    const float k = (float)((int32_t)(u >> 23) - 127);
    const float f = cbx_vm_float_f32((u & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    const float s = f / (2.0f + f), z = s * s, w = z * z;
    const float R = CBX_VM_PLUS_F32(z, CBX_VM_PLUS_F32(w, 0x91e9ee.0p-25f, 0xaaaaaa.0p-24f),
                                    w * CBX_VM_PLUS_F32(w, 0xf89e26.0p-26f, 0xccce13.0p-25f));
    const float h = 0.5f * f * f;
    const float low = CBX_VM_PLUS_F32(s, h + R, k * 9.0580006145e-06f);
    return CBX_VM_PLUS_F32(k, 6.9313812256e-01f, -((h - low) - f));
}

/** log(x) of a normal, finite x > 0; anything else gives an unspecified value. */
CBX_VMATH_INLINE double cbx_vm_log_f64(double x)
{
    const uint64_t u = cbx_vm_bits_f64(x) + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
    /* the exponent as a double without a 64-bit conversion: 2^52 + e by its bits */
    const double k = cbx_vm_float_f64((u >> 52) | 0x4330000000000000u) - (4503599627370496.0 + 1023.0);
    const double f = cbx_vm_float_f64((u & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu) - 1.0;
    const double s = f / (2.0 + f), z = s * s, w = z * z;
    const double t1 = w * CBX_VM_PLUS_F64(w, CBX_VM_PLUS_F64(w, 1.531383769920937332e-01, 2.222219843214978396e-01),
                                          3.999999999940941908e-01);
    double t2 = CBX_VM_PLUS_F64(w, 1.479819860510658591e-01, 1.818357216161805012e-01);
    t2 = CBX_VM_PLUS_F64(w, t2, 2.857142874366239149e-01);
    t2 = CBX_VM_PLUS_F64(w, t2, 6.666666666666735130e-01);
    const double h = 0.5 * f * f;
    const double low = CBX_VM_PLUS_F64(s, h + CBX_VM_PLUS_F64(z, t2, t1), k * 1.90821492927058770002e-10);
    return CBX_VM_PLUS_F64(k, 6.93147180369123816490e-01, -((h - low) - f));
}

CBX_END_DECLS
#endif
