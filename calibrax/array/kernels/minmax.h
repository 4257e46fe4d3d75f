/*
 * Lane-wise max and min of vectors of VECTOR_BYTES, as the instruction is: VMAX(x, y) gives y if either is NaN (x86), NaN (ARM).
 * `vec` is the vector type, pick(m, x, y) selects lanes where there is no instruction.
 *
 * A watch sees whether terms were NaN, two vectors of them at a time: WATCH(w, x, y) is what w becomes, from WATCH_START on; HAS_SEEN(w).
 * With masks that is one compare; else a sum, which is NaN then (and where infinities of both signs met: it may see too much).
 */
#ifndef CALIBRAX_ARRAY_KERNELS_MINMAX_H
#define CALIBRAX_ARRAY_KERNELS_MINMAX_H

#include "calibrax/array/kernels/isa_name.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__AVX512F__)
#define MINMAX_F32(vec, pick, op, x, y, less) ((vec)_mm512_##op##_ps((__m512)(x), (__m512)(y)))
#define MINMAX_F64(vec, pick, op, x, y, less) ((vec)_mm512_##op##_pd((__m512d)(x), (__m512d)(y)))
#define WATCH_F32(w, x, y)                    _mm512_mask_cmp_ps_mask(w, (__m512)(x), (__m512)(y), _CMP_ORD_Q)
#define WATCH_F64(w, x, y)                    _mm512_mask_cmp_pd_mask(w, (__m512d)(x), (__m512d)(y), _CMP_ORD_Q)
#define HAS_SEEN_F32(w)                       ((w) != 0xffff)
#define HAS_SEEN_F64(w)                       ((w) != 0xff)
#define WATCH_TYPE_F32(vec)                   __mmask16
#define WATCH_TYPE_F64(vec)                   __mmask8
#define WATCH_START(type)                     (type) ~0
#elif defined(__AVX2__)
#define MINMAX_F32(vec, pick, op, x, y, less) ((vec)_mm256_##op##_ps((__m256)(x), (__m256)(y)))
#define MINMAX_F64(vec, pick, op, x, y, less) ((vec)_mm256_##op##_pd((__m256d)(x), (__m256d)(y)))
#define HAS_NAN_F32(x)                        (_mm256_movemask_ps(_mm256_cmp_ps((__m256)(x), (__m256)(x), _CMP_UNORD_Q)) != 0)
#define HAS_NAN_F64(x)                        (_mm256_movemask_pd(_mm256_cmp_pd((__m256d)(x), (__m256d)(x), _CMP_UNORD_Q)) != 0)
#elif defined(__SSE2__)
#define MINMAX_F32(vec, pick, op, x, y, less) ((vec)_mm_##op##_ps((__m128)(x), (__m128)(y)))
#define MINMAX_F64(vec, pick, op, x, y, less) ((vec)_mm_##op##_pd((__m128d)(x), (__m128d)(y)))
#define HAS_NAN_F32(x)                        (_mm_movemask_ps(_mm_cmpunord_ps((__m128)(x), (__m128)(x))) != 0)
#define HAS_NAN_F64(x)                        (_mm_movemask_pd(_mm_cmpunord_pd((__m128d)(x), (__m128d)(x))) != 0)
#elif defined(__ARM_NEON) && defined(__aarch64__)
#define MINMAX_F32(vec, pick, op, x, y, less) ((vec)v##op##q_f32((float32x4_t)(x), (float32x4_t)(y)))
#define MINMAX_F64(vec, pick, op, x, y, less) ((vec)v##op##q_f64((float64x2_t)(x), (float64x2_t)(y)))
#else
#define MINMAX_F32(vec, pick, op, x, y, less) pick((x)less(y), x, y)
#define MINMAX_F64(vec, pick, op, x, y, less) pick((x)less(y), x, y)
#endif
#ifndef HAS_NAN_F32
#define HAS_NAN_F32(x) lanes_nan_f32(x)
#define HAS_NAN_F64(x) lanes_nan_f64(x)
#endif
#ifndef WATCH_START
#define WATCH_F32(w, x, y)  ((w) + ((x) + (y)))
#define WATCH_F64(w, x, y)  ((w) + ((x) + (y)))
#define HAS_SEEN_F32(w)     HAS_NAN_F32(w)
#define HAS_SEEN_F64(w)     HAS_NAN_F64(w)
#define WATCH_TYPE_F32(vec) vec
#define WATCH_TYPE_F64(vec) vec
#define WATCH_START(type)                                                                                              \
    (type) { 0 }
#endif

#endif
