/* Polynomials of the vector functions; made by tests/array/fit_elementary.py, which states each
 * function and interval. */
#ifndef CALIBRAX_ARRAY_KERNELS_ELEMENTARY_POLY_H
#define CALIBRAX_ARRAY_KERNELS_ELEMENTARY_POLY_H

#include "calibrax/array/kernels/inline.h"

/* Coefficients from that of the highest power on, by Horner's rule. */
#define POLYNOMIAL(name, T, fma, ...)                                                                                  \
    INLINE T name(T z)                                                                                                 \
    {                                                                                                                  \
        static const T c[] = { __VA_ARGS__ };                                                                          \
        T p = c[0];                                                                                                    \
        UNROLL for (unsigned i = 1; i < sizeof c / sizeof c[0]; i++) p = fma(p, z, c[i]);                              \
        return p;                                                                                                      \
    }
#define POLYNOMIAL_F64(name, ...) POLYNOMIAL(name##_f64, double, __builtin_fma, __VA_ARGS__)
#define POLYNOMIAL_F32(name, ...) POLYNOMIAL(name##_f32, float, __builtin_fmaf, __VA_ARGS__)

/* (cosh(r) - 1) / r^2, z = r^2 */
POLYNOMIAL_F64(cosh_r, /* error 3.4e-20 */ 0x1.1f7f2776cfaf2p-29, 0x1.27e4d41966f2fp-22, 0x1.a01a01a9e991bp-16,
               0x1.6c16c16c15a68p-10, 0x1.5555555555557p-5, 0x1.0p-1)
POLYNOMIAL_F32(cosh_r, /* error 2.7e-09 */ 0x1.6d4324p-10f, 0x1.5554eap-5f, 0x1.0p-1f)
/* (cosh(r) - 1 - r^2/2) / r^4, z = r^2 */
POLYNOMIAL_F64(cosh_rr, /* error 1.3e-17 */ 0x1.1f66df7fca49fp-29, 0x1.27e4e1f48534fp-22, 0x1.a01a01a47b054p-16,
               0x1.6c16c16c167e1p-10, 0x1.5555555555555p-5)
POLYNOMIAL_F32(cosh_rr, /* error 1.1e-06 */ 0x1.6cdef2p-10f, 0x1.55553ep-5f)
/* (sinh(r) - r) / r^3, z = r^2 */
POLYNOMIAL_F64(sinh_r, /* error 4.7e-17 */ 0x1.af38a9b0ec855p-26, 0x1.71de0dae63bb3p-19, 0x1.a01a01a7c41d5p-13,
               0x1.11111111109b3p-7, 0x1.5555555555556p-3)
POLYNOMIAL_F32(sinh_r, /* error 9.0e-10 */ 0x1.a124f2p-13f, 0x1.1110ep-7f, 0x1.555556p-3f)
/* (2^r - 1 - ln2 r) / r^2, |r| <= 1/2 */
POLYNOMIAL_F64(exp2_r, /* error 3.0e-18 */ 0x1.c48f8c2305624p-36, 0x1.e9d419696e0e9p-32, 0x1.e4cf1cc5c8b02p-28,
               0x1.b524fad88ed3p-24, 0x1.62c022401d5c2p-20, 0x1.ffcbfc6712438p-17, 0x1.430912f86bf4ep-13,
               0x1.5d87fe78a526dp-10, 0x1.3b2ab6fba4e78p-7, 0x1.c6b08d704a0c2p-5, 0x1.ebfbdff82c58fp-3)
POLYNOMIAL_F32(exp2_r, /* error 1.3e-07 */ 0x1.43e72ep-13f, 0x1.5ec888p-10f, 0x1.3b2a8p-7f, 0x1.c6afeep-5f,
               0x1.ebfbep-3f)
/* (2 atanh(s) - 2 s) / s^3, z = s^2 */
POLYNOMIAL_F64(log_s, /* error 4.6e-16 */ 0x1.2b59b713616c9p-3, 0x1.39fe42e9740a7p-3, 0x1.7462b58e46ebep-3,
               0x1.c71c62e26208bp-3, 0x1.2492492df3ba9p-2, 0x1.99999999952ccp-2, 0x1.5555555555558p-1)
POLYNOMIAL_F32(log_s, /* error 2.8e-07 */ 0x1.2ee69cp-2f, 0x1.997c2ep-2f, 0x1.55555cp-1f)
/* (2 atanh(s) - 2 s) / s^3, z = s^2 */
POLYNOMIAL_F64(atanh_wide, /* error 3.9e-17 */ 0x1.16d0e176ef65bp-3, 0x1.0e857a14a6872p-3, 0x1.3b2a298d1022p-3,
               0x1.745caa07872fep-3, 0x1.c71c72e6a31a2p-3, 0x1.24924923d8d36p-2, 0x1.9999999999f4ap-2,
               0x1.5555555555555p-1)
POLYNOMIAL_F32(atanh_wide, /* error 6.0e-09 */ 0x1.e68272p-3f, 0x1.242bd4p-2f, 0x1.999a6ep-2f, 0x1.555556p-1f)
/* (atanh(s) - s - s^3/3) / s^5, z = s^2 */
POLYNOMIAL_F64(atanh_s, /* error 4.6e-18 */ 0x1.e02fc68c381f4p-5, 0x1.df7ca8236e9e1p-5, 0x1.1118c8814a0b1p-4,
               0x1.3b1395cf37e45p-4, 0x1.745d177a9cebap-4, 0x1.c71c71c6ea994p-4, 0x1.2492492492522p-3,
               0x1.999999999999ap-3)
POLYNOMIAL_F32(atanh_s, /* error 3.8e-07 */ 0x1.d80798p-4f, 0x1.247a2ep-3f, 0x1.9999a4p-3f)
/* (sin(r) - r) / r^3, z = r^2 */
POLYNOMIAL_F64(sin_r, /* error 1.3e-16 */ 0x1.5e0af186af739p-33, -0x1.ae600a926c89ap-26, 0x1.71de37961e4c6p-19,
               -0x1.a01a019e8357dp-13, 0x1.1111111110bb1p-7, -0x1.5555555555555p-3)
POLYNOMIAL_F32(sin_r, /* error 1.2e-07 */ -0x1.9ac96cp-13f, 0x1.110c28p-7f, -0x1.555552p-3f)
/* (cos(r) - 1 + r^2/2) / r^4, z = r^2 */
POLYNOMIAL_F64(cos_r, /* error 3.1e-17 */ -0x1.907d7aebd5e3dp-37, 0x1.1eeb68b109173p-29, -0x1.27e4fa17a41b4p-22,
               0x1.a01a019f4e867p-16, -0x1.6c16c16c16966p-10, 0x1.5555555555555p-5)
POLYNOMIAL_F32(cos_r, /* error 4.9e-08 */ 0x1.9bd864p-16f, -0x1.6c12d2p-10f, 0x1.555554p-5f)
/* (atan(t) - t) / t^3, z = t^2 */
POLYNOMIAL_F64(atan_t, /* error 1.1e-17 */ -0x1.2dd40041c2c27p-7, 0x1.99984c3613cd5p-6, -0x1.37ce51c509047p-5,
               0x1.7b1d7856d14a5p-5, -0x1.ad441c37157fap-5, 0x1.e1a795c3fb24fp-5, -0x1.110ea393fffe2p-4,
               0x1.3b138e4b5b747p-4, -0x1.745d16016ea5fp-4, 0x1.c71c71c014e0dp-4, -0x1.24924924881f5p-3,
               0x1.99999999998ep-3, -0x1.5555555555555p-2)
POLYNOMIAL_F32(atan_t, /* error 1.3e-08 */ 0x1.5a176ep-5f, -0x1.514dfcp-4f, 0x1.c2d66cp-4f, -0x1.24733ep-3f,
               0x1.9998f2p-3f, -0x1.555556p-2f)
/* (asin(w) - w) / w^3, z = w^2 */
POLYNOMIAL_F64(asin_w, /* error 8.0e-17 */ 0x1.d72b2bc8155f8p-6, -0x1.e6aaa8a0a04ccp-7, 0x1.1d189408314eep-6,
               0x1.65a9c4dfcf8b2p-8, 0x1.52420b04b37bep-7, 0x1.782651caa6547p-7, 0x1.c9cf07674736ap-7,
               0x1.1c4d35cf95421p-6, 0x1.6e8bb1c8209a2p-6, 0x1.f1c71c1db0623p-6, 0x1.6db6db6e31f13p-5,
               0x1.3333333332ecap-4, 0x1.5555555555556p-3)
POLYNOMIAL_F32(asin_w, /* error 3.8e-07 */ 0x1.37fe16p-5f, 0x1.b311d2p-6f, 0x1.70a6bcp-5f, 0x1.332732p-4f,
               0x1.55555ep-3f)
/* (G(a) - 23/32) / (1+t), G(a) = erfc(a) e^(a^2) (a + 23/32), a = 4 (1+t) / (1-t) <= 27.3 */
POLYNOMIAL_F64(erfc_t, /* error 1.4e-19 */ -0x1.0635e0516102ep-34, 0x1.67b8cf2cb0e2dp-38, 0x1.13ba4f7e35b6ep-30,
               0x1.0ab0c8e8c00e4p-31, -0x1.10e644bd0c4bcp-27, -0x1.8b29fd4082c54p-29, 0x1.db908e042c66cp-25,
               -0x1.72f0f27e709abp-27, -0x1.99693b5cd9a76p-22, 0x1.f30f4dd313691p-22, 0x1.34ce495df1013p-19,
               -0x1.e7af8c29e736dp-18, -0x1.66f4a6cad4d34p-18, 0x1.3d9d826205866p-14, -0x1.4b827e75716dep-13,
               -0x1.d90e69c51d261p-13, 0x1.506dbb5207743p-9, -0x1.4063099883abep-7, 0x1.a2a31390a2ffp-6,
               -0x1.a8eb768d987fdp-5, 0x1.5be15056cd376p-4, -0x1.c92d588cde75dp-4, 0x1.c1770368cbcf8p-4,
               -0x1.bbfd33d1197a1p-5, -0x1.28131151c3175p-4)
POLYNOMIAL_F32(erfc_t, /* error 8.7e-10 */ 0x1.642a6cp-17f, 0x1.1d4eb8p-14f, -0x1.7dcdd8p-13f, -0x1.d63d42p-13f,
               0x1.52684ep-9f, -0x1.4059acp-7f, 0x1.a28fe4p-6f, -0x1.a8ec78p-5f, 0x1.5be1fep-4f, -0x1.c92d4ap-4f,
               0x1.c176fap-4f, -0x1.bbfd34p-5f, -0x1.281312p-4f)
/* m^(-1/3), 1 <= m < 2 */
POLYNOMIAL_F64(rcbrt_m, /* error 6.9e-06 */ -0x1.0e87006cbe6bbp-6, 0x1.37ce9e9ed0a1dp-3, -0x1.2c4b958d54c08p-1,
               0x1.3a267a3d49ad4p+0, -0x1.8dd4bd7d34771p+0, 0x1.c713e2847cbe6p+0)
POLYNOMIAL_F32(rcbrt_m, /* error 3.0e-04 */ -0x1.8e66e8p-5f, 0x1.3f54e4p-2f, -0x1.9a40aap-1f, 0x1.89aaa8p+0f)

#endif
