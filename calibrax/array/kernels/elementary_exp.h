/* Inside a file that is built for each instruction set: exp of float64, of a number and of a block,
 * which takes the widest vectors and permutes their tables. */
#ifndef CALIBRAX_ARRAY_KERNELS_ELEMENTARY_EXP_H
#define CALIBRAX_ARRAY_KERNELS_ELEMENTARY_EXP_H

#include <stdbool.h>
#include <stddef.h>

#include "calibrax/array/kernels/inline.h"
#include "calibrax/array/kernels/vmath.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

/* exp of the first is 0, of the second infinity. They are defined elsewhere since gcc makes one
 * instruction of a maximum with what it does not know, and two of one with a constant. */
extern const double cbx__exp_range_f64[2];
extern const float cbx__exp_range_f32[2];

INLINE double exp_clamp_f64(double x)
{
    const double lowest = cbx__exp_range_f64[0], highest = cbx__exp_range_f64[1], a = lowest > x ? lowest : x;
    return highest < a ? highest : a;
}

/* a to h: selections, of which the compiler's vectors make 7, or 1 permutation
 * (jit/llvm_lookup.c). */
INLINE double of_eight_f64(uint64_t u, double a, double b, double c, double d, double e, double f, double g, double h)
{
    const bool one = u & 1, two = u & 2;
    const double low = two ? (one ? d : c) : (one ? b : a), high = two ? (one ? h : g) : (one ? f : e);
    return u & 4 ? high : low;
}

#define T         double
#define U         uint64_t
#define NAME      exp_f64
#define FMA       __builtin_fma
#define BITS      cbx_vm_bits_f64
#define FROM_BITS cbx_vm_float_f64
#define CLAMP     exp_clamp_f64
#define OF_EIGHT  of_eight_f64
#include "calibrax/array/kernels/elementary_exp_body.h"

#if defined(__AVX512F__)
typedef double exp_vector __attribute__((vector_size(64)));
typedef uint64_t exp_bits __attribute__((vector_size(64)));

#define FMA(x, y, z) (exp_vector) _mm512_fmadd_pd(x, y, z)
#define CLAMP(x)                                                                                                       \
    (exp_vector)                                                                                                       \
        _mm512_min_pd(_mm512_set1_pd(cbx__exp_range_f64[1]), _mm512_max_pd(_mm512_set1_pd(cbx__exp_range_f64[0]), x))
#define OF_EIGHT(u, a, b, c, d, e, f, g, h)                                                                            \
    (exp_vector) _mm512_permutexvar_pd((__m512i)(u), _mm512_setr_pd(a, b, c, d, e, f, g, h))
#elif defined(__AVX2__)
typedef double exp_vector __attribute__((vector_size(32)));
typedef uint64_t exp_bits __attribute__((vector_size(32)));

/* Each half of the table by pairs of 32 bits, then one half. */
INLINE exp_vector of_eight_avx2(__m256i u, __m256d low, __m256d high)
{
    const __m256i twice = _mm256_slli_epi32(_mm256_shuffle_epi32(u, 0xa0), 1);
    const __m256i at = _mm256_or_si256(twice, _mm256_set1_epi64x((int64_t)1 << 32));
    const __m256 a = _mm256_permutevar8x32_ps(_mm256_castpd_ps(low), at);
    const __m256 b = _mm256_permutevar8x32_ps(_mm256_castpd_ps(high), at);
    const __m256d upper = _mm256_castsi256_pd(_mm256_slli_epi64(u, 61));
    return (exp_vector)_mm256_blendv_pd(_mm256_castps_pd(a), _mm256_castps_pd(b), upper);
}

#define FMA(x, y, z) (exp_vector) _mm256_fmadd_pd(x, y, z)
#define CLAMP(x)                                                                                                       \
    (exp_vector)                                                                                                       \
        _mm256_min_pd(_mm256_set1_pd(cbx__exp_range_f64[1]), _mm256_max_pd(_mm256_set1_pd(cbx__exp_range_f64[0]), x))
#define OF_EIGHT(u, a, b, c, d, e, f, g, h)                                                                            \
    of_eight_avx2((__m256i)(u), _mm256_setr_pd(a, b, c, d), _mm256_setr_pd(e, f, g, h))
#endif

#if defined(__AVX2__)
#define T            exp_vector
#define U            exp_bits
#define NAME         exp_of_vector
#define BITS(x)      ((exp_bits)(x))
#define FROM_BITS(u) ((exp_vector)(u))
#include "calibrax/array/kernels/elementary_exp_body.h"
#endif

/* y = e^x; n is a multiple of 8.  y may be x. */
static inline void exp_all_f64(size_t n, const double *x, double *y)
{
#if defined(__AVX2__)
    for (size_t i = 0; i < n; i += sizeof(exp_vector) / sizeof *x) {
        exp_vector v;
        __builtin_memcpy(&v, x + i, sizeof v);
        v = exp_of_vector(v);
        __builtin_memcpy(y + i, &v, sizeof v);
    }
#else
    for (size_t i = 0; i < n; i++) y[i] = exp_f64(x[i]);
#endif
}

#endif
