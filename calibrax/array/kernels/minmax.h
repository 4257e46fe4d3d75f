/*
 * Lane-wise max and min of vectors of VECTOR_BYTES, as the instruction is: VMAX(x, y) gives y if either is NaN (x86), NaN (ARM).
 * `vec` is the vector type, pick(m, x, y) selects lanes where there is no instruction.  HAS_NAN(x): a lane of x is NaN.
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
#define HAS_NAN_F32(x)                        (_mm512_cmp_ps_mask((__m512)(x), (__m512)(x), _CMP_UNORD_Q) != 0)
#define HAS_NAN_F64(x)                        (_mm512_cmp_pd_mask((__m512d)(x), (__m512d)(x), _CMP_UNORD_Q) != 0)
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

#endif
