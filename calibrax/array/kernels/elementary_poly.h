/* Polynomials of the vector functions; made by tests/array/fit_elementary.py, which states each
 * function and interval. */
#ifndef CALIBRAX_ARRAY_KERNELS_ELEMENTARY_POLY_H
#define CALIBRAX_ARRAY_KERNELS_ELEMENTARY_POLY_H

/* (cosh(r) - 1) / r^2, z = r^2 */
static inline __attribute__((always_inline)) double cosh_r_f64(double z) /* error 3.4e-20 */
{
    double p = 0x1.1f7f2776cfaf2p-29;
    p = __builtin_fma(p, z, 0x1.27e4d41966f2fp-22);
    p = __builtin_fma(p, z, 0x1.a01a01a9e991bp-16);
    p = __builtin_fma(p, z, 0x1.6c16c16c15a68p-10);
    p = __builtin_fma(p, z, 0x1.5555555555557p-5);
    p = __builtin_fma(p, z, 0x1.0000000000000p-1);
    return p;
}
static inline __attribute__((always_inline)) float cosh_r_f32(float z) /* error 2.7e-09 */
{
    float p = 0x1.6d43240000000p-10f;
    p = __builtin_fmaf(p, z, 0x1.5554ea0000000p-5f);
    p = __builtin_fmaf(p, z, 0x1.0000000000000p-1f);
    return p;
}
/* (cosh(r) - 1 - r^2/2) / r^4, z = r^2 */
static inline __attribute__((always_inline)) double cosh_rr_f64(double z) /* error 1.3e-17 */
{
    double p = 0x1.1f66df7fca49fp-29;
    p = __builtin_fma(p, z, 0x1.27e4e1f48534fp-22);
    p = __builtin_fma(p, z, 0x1.a01a01a47b054p-16);
    p = __builtin_fma(p, z, 0x1.6c16c16c167e1p-10);
    p = __builtin_fma(p, z, 0x1.5555555555555p-5);
    return p;
}
static inline __attribute__((always_inline)) float cosh_rr_f32(float z) /* error 1.1e-06 */
{
    float p = 0x1.6cdef20000000p-10f;
    p = __builtin_fmaf(p, z, 0x1.55553e0000000p-5f);
    return p;
}
/* (sinh(r) - r) / r^3, z = r^2 */
static inline __attribute__((always_inline)) double sinh_r_f64(double z) /* error 4.7e-17 */
{
    double p = 0x1.af38a9b0ec855p-26;
    p = __builtin_fma(p, z, 0x1.71de0dae63bb3p-19);
    p = __builtin_fma(p, z, 0x1.a01a01a7c41d5p-13);
    p = __builtin_fma(p, z, 0x1.11111111109b3p-7);
    p = __builtin_fma(p, z, 0x1.5555555555556p-3);
    return p;
}
static inline __attribute__((always_inline)) float sinh_r_f32(float z) /* error 9.0e-10 */
{
    float p = 0x1.a124f20000000p-13f;
    p = __builtin_fmaf(p, z, 0x1.1110e00000000p-7f);
    p = __builtin_fmaf(p, z, 0x1.5555560000000p-3f);
    return p;
}
/* (2^r - 1 - ln2 r) / r^2, |r| <= 1/2 */
static inline __attribute__((always_inline)) double exp2_r_f64(double z) /* error 3.0e-18 */
{
    double p = 0x1.c48f8c2305624p-36;
    p = __builtin_fma(p, z, 0x1.e9d419696e0e9p-32);
    p = __builtin_fma(p, z, 0x1.e4cf1cc5c8b02p-28);
    p = __builtin_fma(p, z, 0x1.b524fad88ed30p-24);
    p = __builtin_fma(p, z, 0x1.62c022401d5c2p-20);
    p = __builtin_fma(p, z, 0x1.ffcbfc6712438p-17);
    p = __builtin_fma(p, z, 0x1.430912f86bf4ep-13);
    p = __builtin_fma(p, z, 0x1.5d87fe78a526dp-10);
    p = __builtin_fma(p, z, 0x1.3b2ab6fba4e78p-7);
    p = __builtin_fma(p, z, 0x1.c6b08d704a0c2p-5);
    p = __builtin_fma(p, z, 0x1.ebfbdff82c58fp-3);
    return p;
}
static inline __attribute__((always_inline)) float exp2_r_f32(float z) /* error 1.3e-07 */
{
    float p = 0x1.43e72e0000000p-13f;
    p = __builtin_fmaf(p, z, 0x1.5ec8880000000p-10f);
    p = __builtin_fmaf(p, z, 0x1.3b2a800000000p-7f);
    p = __builtin_fmaf(p, z, 0x1.c6afee0000000p-5f);
    p = __builtin_fmaf(p, z, 0x1.ebfbe00000000p-3f);
    return p;
}
/* (2 atanh(s) - 2 s) / s^3, z = s^2 */
static inline __attribute__((always_inline)) double log_s_f64(double z) /* error 4.6e-16 */
{
    double p = 0x1.2b59b713616c9p-3;
    p = __builtin_fma(p, z, 0x1.39fe42e9740a7p-3);
    p = __builtin_fma(p, z, 0x1.7462b58e46ebep-3);
    p = __builtin_fma(p, z, 0x1.c71c62e26208bp-3);
    p = __builtin_fma(p, z, 0x1.2492492df3ba9p-2);
    p = __builtin_fma(p, z, 0x1.99999999952ccp-2);
    p = __builtin_fma(p, z, 0x1.5555555555558p-1);
    return p;
}
static inline __attribute__((always_inline)) float log_s_f32(float z) /* error 2.8e-07 */
{
    float p = 0x1.2ee69c0000000p-2f;
    p = __builtin_fmaf(p, z, 0x1.997c2e0000000p-2f);
    p = __builtin_fmaf(p, z, 0x1.55555c0000000p-1f);
    return p;
}
/* (2 atanh(s) - 2 s) / s^3, z = s^2 */
static inline __attribute__((always_inline)) double atanh_wide_f64(double z) /* error 3.9e-17 */
{
    double p = 0x1.16d0e176ef65bp-3;
    p = __builtin_fma(p, z, 0x1.0e857a14a6872p-3);
    p = __builtin_fma(p, z, 0x1.3b2a298d10220p-3);
    p = __builtin_fma(p, z, 0x1.745caa07872fep-3);
    p = __builtin_fma(p, z, 0x1.c71c72e6a31a2p-3);
    p = __builtin_fma(p, z, 0x1.24924923d8d36p-2);
    p = __builtin_fma(p, z, 0x1.9999999999f4ap-2);
    p = __builtin_fma(p, z, 0x1.5555555555555p-1);
    return p;
}
static inline __attribute__((always_inline)) float atanh_wide_f32(float z) /* error 6.0e-09 */
{
    float p = 0x1.e682720000000p-3f;
    p = __builtin_fmaf(p, z, 0x1.242bd40000000p-2f);
    p = __builtin_fmaf(p, z, 0x1.999a6e0000000p-2f);
    p = __builtin_fmaf(p, z, 0x1.5555560000000p-1f);
    return p;
}
/* (atanh(s) - s - s^3/3) / s^5, z = s^2 */
static inline __attribute__((always_inline)) double atanh_s_f64(double z) /* error 4.6e-18 */
{
    double p = 0x1.e02fc68c381f4p-5;
    p = __builtin_fma(p, z, 0x1.df7ca8236e9e1p-5);
    p = __builtin_fma(p, z, 0x1.1118c8814a0b1p-4);
    p = __builtin_fma(p, z, 0x1.3b1395cf37e45p-4);
    p = __builtin_fma(p, z, 0x1.745d177a9cebap-4);
    p = __builtin_fma(p, z, 0x1.c71c71c6ea994p-4);
    p = __builtin_fma(p, z, 0x1.2492492492522p-3);
    p = __builtin_fma(p, z, 0x1.999999999999ap-3);
    return p;
}
static inline __attribute__((always_inline)) float atanh_s_f32(float z) /* error 3.8e-07 */
{
    float p = 0x1.d807980000000p-4f;
    p = __builtin_fmaf(p, z, 0x1.247a2e0000000p-3f);
    p = __builtin_fmaf(p, z, 0x1.9999a40000000p-3f);
    return p;
}
/* (sin(r) - r) / r^3, z = r^2 */
static inline __attribute__((always_inline)) double sin_r_f64(double z) /* error 1.3e-16 */
{
    double p = 0x1.5e0af186af739p-33;
    p = __builtin_fma(p, z, -0x1.ae600a926c89ap-26);
    p = __builtin_fma(p, z, 0x1.71de37961e4c6p-19);
    p = __builtin_fma(p, z, -0x1.a01a019e8357dp-13);
    p = __builtin_fma(p, z, 0x1.1111111110bb1p-7);
    p = __builtin_fma(p, z, -0x1.5555555555555p-3);
    return p;
}
static inline __attribute__((always_inline)) float sin_r_f32(float z) /* error 1.2e-07 */
{
    float p = -0x1.9ac96c0000000p-13f;
    p = __builtin_fmaf(p, z, 0x1.110c280000000p-7f);
    p = __builtin_fmaf(p, z, -0x1.5555520000000p-3f);
    return p;
}
/* (cos(r) - 1 + r^2/2) / r^4, z = r^2 */
static inline __attribute__((always_inline)) double cos_r_f64(double z) /* error 3.1e-17 */
{
    double p = -0x1.907d7aebd5e3dp-37;
    p = __builtin_fma(p, z, 0x1.1eeb68b109173p-29);
    p = __builtin_fma(p, z, -0x1.27e4fa17a41b4p-22);
    p = __builtin_fma(p, z, 0x1.a01a019f4e867p-16);
    p = __builtin_fma(p, z, -0x1.6c16c16c16966p-10);
    p = __builtin_fma(p, z, 0x1.5555555555555p-5);
    return p;
}
static inline __attribute__((always_inline)) float cos_r_f32(float z) /* error 4.9e-08 */
{
    float p = 0x1.9bd8640000000p-16f;
    p = __builtin_fmaf(p, z, -0x1.6c12d20000000p-10f);
    p = __builtin_fmaf(p, z, 0x1.5555540000000p-5f);
    return p;
}
/* (atan(t) - t) / t^3, z = t^2 */
static inline __attribute__((always_inline)) double atan_t_f64(double z) /* error 1.1e-17 */
{
    double p = -0x1.2dd40041c2c27p-7;
    p = __builtin_fma(p, z, 0x1.99984c3613cd5p-6);
    p = __builtin_fma(p, z, -0x1.37ce51c509047p-5);
    p = __builtin_fma(p, z, 0x1.7b1d7856d14a5p-5);
    p = __builtin_fma(p, z, -0x1.ad441c37157fap-5);
    p = __builtin_fma(p, z, 0x1.e1a795c3fb24fp-5);
    p = __builtin_fma(p, z, -0x1.110ea393fffe2p-4);
    p = __builtin_fma(p, z, 0x1.3b138e4b5b747p-4);
    p = __builtin_fma(p, z, -0x1.745d16016ea5fp-4);
    p = __builtin_fma(p, z, 0x1.c71c71c014e0dp-4);
    p = __builtin_fma(p, z, -0x1.24924924881f5p-3);
    p = __builtin_fma(p, z, 0x1.99999999998e0p-3);
    p = __builtin_fma(p, z, -0x1.5555555555555p-2);
    return p;
}
static inline __attribute__((always_inline)) float atan_t_f32(float z) /* error 1.3e-08 */
{
    float p = 0x1.5a176e0000000p-5f;
    p = __builtin_fmaf(p, z, -0x1.514dfc0000000p-4f);
    p = __builtin_fmaf(p, z, 0x1.c2d66c0000000p-4f);
    p = __builtin_fmaf(p, z, -0x1.24733e0000000p-3f);
    p = __builtin_fmaf(p, z, 0x1.9998f20000000p-3f);
    p = __builtin_fmaf(p, z, -0x1.5555560000000p-2f);
    return p;
}
/* (asin(w) - w) / w^3, z = w^2 */
static inline __attribute__((always_inline)) double asin_w_f64(double z) /* error 8.0e-17 */
{
    double p = 0x1.d72b2bc8155f8p-6;
    p = __builtin_fma(p, z, -0x1.e6aaa8a0a04ccp-7);
    p = __builtin_fma(p, z, 0x1.1d189408314eep-6);
    p = __builtin_fma(p, z, 0x1.65a9c4dfcf8b2p-8);
    p = __builtin_fma(p, z, 0x1.52420b04b37bep-7);
    p = __builtin_fma(p, z, 0x1.782651caa6547p-7);
    p = __builtin_fma(p, z, 0x1.c9cf07674736ap-7);
    p = __builtin_fma(p, z, 0x1.1c4d35cf95421p-6);
    p = __builtin_fma(p, z, 0x1.6e8bb1c8209a2p-6);
    p = __builtin_fma(p, z, 0x1.f1c71c1db0623p-6);
    p = __builtin_fma(p, z, 0x1.6db6db6e31f13p-5);
    p = __builtin_fma(p, z, 0x1.3333333332ecap-4);
    p = __builtin_fma(p, z, 0x1.5555555555556p-3);
    return p;
}
static inline __attribute__((always_inline)) float asin_w_f32(float z) /* error 3.8e-07 */
{
    float p = 0x1.37fe160000000p-5f;
    p = __builtin_fmaf(p, z, 0x1.b311d20000000p-6f);
    p = __builtin_fmaf(p, z, 0x1.70a6bc0000000p-5f);
    p = __builtin_fmaf(p, z, 0x1.3327320000000p-4f);
    p = __builtin_fmaf(p, z, 0x1.55555e0000000p-3f);
    return p;
}
/* (G(a) - 23/32) / (1+t), G(a) = erfc(a) e^(a^2) (a + 23/32), a = 4 (1+t) / (1-t) <= 27.3 */
static inline __attribute__((always_inline)) double erfc_t_f64(double z) /* error 1.4e-19 */
{
    double p = -0x1.0635e0516102ep-34;
    p = __builtin_fma(p, z, 0x1.67b8cf2cb0e2dp-38);
    p = __builtin_fma(p, z, 0x1.13ba4f7e35b6ep-30);
    p = __builtin_fma(p, z, 0x1.0ab0c8e8c00e4p-31);
    p = __builtin_fma(p, z, -0x1.10e644bd0c4bcp-27);
    p = __builtin_fma(p, z, -0x1.8b29fd4082c54p-29);
    p = __builtin_fma(p, z, 0x1.db908e042c66cp-25);
    p = __builtin_fma(p, z, -0x1.72f0f27e709abp-27);
    p = __builtin_fma(p, z, -0x1.99693b5cd9a76p-22);
    p = __builtin_fma(p, z, 0x1.f30f4dd313691p-22);
    p = __builtin_fma(p, z, 0x1.34ce495df1013p-19);
    p = __builtin_fma(p, z, -0x1.e7af8c29e736dp-18);
    p = __builtin_fma(p, z, -0x1.66f4a6cad4d34p-18);
    p = __builtin_fma(p, z, 0x1.3d9d826205866p-14);
    p = __builtin_fma(p, z, -0x1.4b827e75716dep-13);
    p = __builtin_fma(p, z, -0x1.d90e69c51d261p-13);
    p = __builtin_fma(p, z, 0x1.506dbb5207743p-9);
    p = __builtin_fma(p, z, -0x1.4063099883abep-7);
    p = __builtin_fma(p, z, 0x1.a2a31390a2ff0p-6);
    p = __builtin_fma(p, z, -0x1.a8eb768d987fdp-5);
    p = __builtin_fma(p, z, 0x1.5be15056cd376p-4);
    p = __builtin_fma(p, z, -0x1.c92d588cde75dp-4);
    p = __builtin_fma(p, z, 0x1.c1770368cbcf8p-4);
    p = __builtin_fma(p, z, -0x1.bbfd33d1197a1p-5);
    p = __builtin_fma(p, z, -0x1.28131151c3175p-4);
    return p;
}
static inline __attribute__((always_inline)) float erfc_t_f32(float z) /* error 8.7e-10 */
{
    float p = 0x1.642a6c0000000p-17f;
    p = __builtin_fmaf(p, z, 0x1.1d4eb80000000p-14f);
    p = __builtin_fmaf(p, z, -0x1.7dcdd80000000p-13f);
    p = __builtin_fmaf(p, z, -0x1.d63d420000000p-13f);
    p = __builtin_fmaf(p, z, 0x1.52684e0000000p-9f);
    p = __builtin_fmaf(p, z, -0x1.4059ac0000000p-7f);
    p = __builtin_fmaf(p, z, 0x1.a28fe40000000p-6f);
    p = __builtin_fmaf(p, z, -0x1.a8ec780000000p-5f);
    p = __builtin_fmaf(p, z, 0x1.5be1fe0000000p-4f);
    p = __builtin_fmaf(p, z, -0x1.c92d4a0000000p-4f);
    p = __builtin_fmaf(p, z, 0x1.c176fa0000000p-4f);
    p = __builtin_fmaf(p, z, -0x1.bbfd340000000p-5f);
    p = __builtin_fmaf(p, z, -0x1.2813120000000p-4f);
    return p;
}
/* m^(-1/3), 1 <= m < 2 */
static inline __attribute__((always_inline)) double rcbrt_m_f64(double z) /* error 6.9e-06 */
{
    double p = -0x1.0e87006cbe6bbp-6;
    p = __builtin_fma(p, z, 0x1.37ce9e9ed0a1dp-3);
    p = __builtin_fma(p, z, -0x1.2c4b958d54c08p-1);
    p = __builtin_fma(p, z, 0x1.3a267a3d49ad4p+0);
    p = __builtin_fma(p, z, -0x1.8dd4bd7d34771p+0);
    p = __builtin_fma(p, z, 0x1.c713e2847cbe6p+0);
    return p;
}
static inline __attribute__((always_inline)) float rcbrt_m_f32(float z) /* error 3.0e-04 */
{
    float p = -0x1.8e66e80000000p-5f;
    p = __builtin_fmaf(p, z, 0x1.3f54e40000000p-2f);
    p = __builtin_fmaf(p, z, -0x1.9a40aa0000000p-1f);
    p = __builtin_fmaf(p, z, 0x1.89aaa80000000p+0f);
    return p;
}

#endif
