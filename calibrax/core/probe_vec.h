/**
 * The widest vectors of the instruction set this file is compiled for, as far as the probe needs them.
 *
 * vf, vd, vi: vectors of float, double, and bits.  KEEP(v) makes v unknown to the compiler without an instruction: what was
 * computed before it cannot be reused, moved out of a loop or left away.
 */
#ifndef CALIBRAX_CORE_PROBE_VEC_H
#define CALIBRAX_CORE_PROBE_VEC_H

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif
#include <stdint.h>

#if defined(__AVX512F__)
#define VEC_NAME   "avx512"
#define VEC_BYTES  64
#define VEC_CHAINS 20
#define KEEP(v)    __asm__ volatile("" : "+v"(v))
typedef __m512 vf;
typedef __m512d vd;
typedef __m512i vi;
#define VEC_CLASS          "v"
#define VF_SET(x)          _mm512_set1_ps(x)
#define VD_SET(x)          _mm512_set1_pd(x)
#define VI_SET(x)          _mm512_set1_epi64(x)
#define VF_ADD(a, b)       _mm512_add_ps(a, b)
#define VD_ADD(a, b)       _mm512_add_pd(a, b)
#define VF_SUB(a, b)       _mm512_sub_ps(a, b)
#define VD_SUB(a, b)       _mm512_sub_pd(a, b)
#define VF_MAX(a, b)       _mm512_max_ps(a, b)
#define VD_MAX(a, b)       _mm512_max_pd(a, b)
#define VI_AND_OR(a, b, c) _mm512_ternarylogic_epi64(c, a, b, 0xF8) /* c | (a & b): one instruction here */
#define VI_ADD_32(a, b)    _mm512_add_epi32(a, b)
#define VI_ADD_64(a, b)    _mm512_add_epi64(a, b)
#define VI_MUL_32(a, b)    _mm512_mullo_epi32(a, b)
#define VI_MUL_64(a, b)    _mm512_mullo_epi64(a, b)
#define VD_LOAD(p)         _mm512_load_pd(p)
#define VD_STORE(p, v)     _mm512_store_pd(p, v)
#define VD_STREAM(p, v)    _mm512_stream_pd(p, v)

#elif defined(__AVX2__) && defined(__FMA__)
#define VEC_NAME           "avx2"
#define VEC_BYTES          32
#define VEC_CHAINS         12
#define KEEP(v)            __asm__ volatile("" : "+x"(v))
typedef __m256 vf;
typedef __m256d vd;
typedef __m256i vi;
#define VEC_CLASS          "x"
#define VF_SET(x)          _mm256_set1_ps(x)
#define VD_SET(x)          _mm256_set1_pd(x)
#define VI_SET(x)          _mm256_set1_epi64x(x)
#define VF_ADD(a, b)       _mm256_add_ps(a, b)
#define VD_ADD(a, b)       _mm256_add_pd(a, b)
#define VF_SUB(a, b)       _mm256_sub_ps(a, b)
#define VD_SUB(a, b)       _mm256_sub_pd(a, b)
#define VF_MAX(a, b)       _mm256_max_ps(a, b)
#define VD_MAX(a, b)       _mm256_max_pd(a, b)
#define VI_AND_OR(a, b, c) _mm256_or_si256(c, _mm256_and_si256(a, b))
#define VI_ADD_32(a, b)    _mm256_add_epi32(a, b)
#define VI_ADD_64(a, b)    _mm256_add_epi64(a, b)
#define VI_MUL_32(a, b)    _mm256_mullo_epi32(a, b)
#define VI_MUL_64(a, b)    vi_mul_64(a, b)
/* No instruction: halves multiplied and put together. */
static inline __m256i vi_mul_64(__m256i a, __m256i b)
{
    __m256i cross = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(a, 32), b),
                                     _mm256_mul_epu32(a, _mm256_srli_epi64(b, 32)));
    return _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64(cross, 32));
}
#define VD_LOAD(p)         _mm256_load_pd(p)
#define VD_STORE(p, v)     _mm256_store_pd(p, v)
#define VD_STREAM(p, v)    _mm256_stream_pd(p, v)

#elif defined(__x86_64__) /* SSE2, the base of the architecture: no fused multiply-add */
#define VEC_NAME           "plain"
#define VEC_BYTES          16
#define VEC_CHAINS         12
#define KEEP(v)            __asm__ volatile("" : "+x"(v))
typedef __m128 vf;
typedef __m128d vd;
typedef __m128i vi;
#define VF_SET(x)          _mm_set1_ps(x)
#define VD_SET(x)          _mm_set1_pd(x)
#define VI_SET(x)          _mm_set1_epi64x(x)
#define VF_ADD(a, b)       _mm_add_ps(a, b)
#define VD_ADD(a, b)       _mm_add_pd(a, b)
#define VF_SUB(a, b)       _mm_sub_ps(a, b)
#define VD_SUB(a, b)       _mm_sub_pd(a, b)
#define VF_MAX(a, b)       _mm_max_ps(a, b)
#define VD_MAX(a, b)       _mm_max_pd(a, b)
#define VF_FMA(a, b, c)    sum_into_ps(_mm_mul_ps(a, b), c)
#define VD_FMA(a, b, c)    sum_into_pd(_mm_mul_pd(a, b), c)
#define VI_AND_OR(a, b, c) or_into(_mm_and_si128(a, b), c)
#define VI_ADD_32(a, b)    _mm_add_epi32(a, b)
#define VI_ADD_64(a, b)    _mm_add_epi64(a, b)
#define VI_MUL_32(a, b)    vi_mul_32(a, b)
#define VI_MUL_64(a, b)    vi_mul_64(a, b)
/* No instruction for either: even and odd lanes apart; halves multiplied and put together. */
static inline __m128i vi_mul_32(__m128i a, __m128i b)
{
    __m128i even = _mm_mul_epu32(a, b), odd = _mm_mul_epu32(_mm_srli_epi64(a, 32), _mm_srli_epi64(b, 32));
    return _mm_unpacklo_epi32(_mm_shuffle_epi32(even, 0x08), _mm_shuffle_epi32(odd, 0x08));
}
static inline __m128i vi_mul_64(__m128i a, __m128i b)
{
    __m128i cross = _mm_add_epi64(_mm_mul_epu32(_mm_srli_epi64(a, 32), b), _mm_mul_epu32(a, _mm_srli_epi64(b, 32)));
    return _mm_add_epi64(_mm_mul_epu32(a, b), _mm_slli_epi64(cross, 32));
}
/* Written out for the reason given at vf_fma. */
#define INTO(name, vec, instruction)                                                                                   \
    static inline vec name(vec t, vec c)                                                                               \
    {                                                                                                                  \
        __asm__(instruction " %1, %0" : "+x"(c) : "x"(t));                                                             \
        return c;                                                                                                      \
    }
INTO(sum_into_ps, __m128, "addps")
INTO(sum_into_pd, __m128d, "addpd")
INTO(or_into, __m128i, "por")
#undef INTO
#define VD_LOAD(p)      _mm_load_pd(p)
#define VD_STORE(p, v)  _mm_store_pd(p, v)
#define VD_STREAM(p, v) _mm_stream_pd(p, v)

#elif defined(__ARM_NEON) && defined(__aarch64__)
#define VEC_NAME           "neon"
#define VEC_BYTES          16
#define VEC_CHAINS         20
#define KEEP(v)            __asm__ volatile("" : "+w"(v))
typedef float32x4_t vf;
typedef float64x2_t vd;
typedef uint64x2_t vi;
#define VF_SET(x)          vdupq_n_f32(x)
#define VD_SET(x)          vdupq_n_f64(x)
#define VI_SET(x)          vdupq_n_u64(x)
#define VF_ADD(a, b)       vaddq_f32(a, b)
#define VD_ADD(a, b)       vaddq_f64(a, b)
#define VF_SUB(a, b)       vsubq_f32(a, b)
#define VD_SUB(a, b)       vsubq_f64(a, b)
#define VF_MAX(a, b)       vmaxq_f32(a, b)
#define VD_MAX(a, b)       vmaxq_f64(a, b)
#define VF_FMA(a, b, c)    vfmaq_f32(c, a, b)
#define VD_FMA(a, b, c)    vfmaq_f64(c, a, b)
#define VI_AND_OR(a, b, c) vorrq_u64(c, vandq_u64(a, b))
#define VI_ADD_32(a, b)    vreinterpretq_u64_u32(vaddq_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b)))
#define VI_ADD_64(a, b)    vaddq_u64(a, b)
#define VI_MUL_32(a, b)    vreinterpretq_u64_u32(vmulq_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b)))
#define VI_MUL_64(a, b)    vi_mul_64(a, b)
/* No instruction: lane by lane. */
static inline uint64x2_t vi_mul_64(uint64x2_t a, uint64x2_t b)
{
    uint64x2_t r = vdupq_n_u64(vgetq_lane_u64(a, 0) * vgetq_lane_u64(b, 0));
    return vsetq_lane_u64(vgetq_lane_u64(a, 1) * vgetq_lane_u64(b, 1), r, 1);
}
#define VD_LOAD(p)         vld1q_f64(p)
#define VD_STORE(p, v)     vst1q_f64(p, v)
#define VD_STREAM(p, v)    vst1q_f64(p, v) /* no intrinsic for a streaming store: the ordinary one */

#else /* any other machine: one lane in a scalar register */
#define VEC_NAME   "plain"
#define VEC_BYTES  8
#define VEC_CHAINS 12
#define KEEP(v)    __asm__ volatile("" : "+f"(v))
#define VEC_SCALAR
typedef float vf;
typedef double vd;
typedef uint64_t vi;
#define VF_SET(x)    (x)
#define VD_SET(x)    (x)
#define VI_SET(x)    ((uint64_t)(x))
#define VF_ADD(a, b) ((a) + (b))
#define VD_ADD(a, b) ((a) + (b))
#define VF_SUB(a, b) ((a) - (b))
#define VD_SUB(a, b) ((a) - (b))
#define VF_MAX(a, b) ((a) > (b) ? (a) : (b))
#define VD_MAX(a, b) ((a) > (b) ? (a) : (b))
#if defined(__FP_FAST_FMAF) && defined(__FP_FAST_FMA)
#define VF_FMA(a, b, c) __builtin_fmaf(a, b, c)
#define VD_FMA(a, b, c) __builtin_fma(a, b, c)
#else
#define VF_FMA(a, b, c) ((a) * (b) + (c))
#define VD_FMA(a, b, c) ((a) * (b) + (c))
#endif
#define VI_AND_OR(a, b, c) ((c) | ((a) & (b)))
#define VI_ADD_32(a, b)    ((uint64_t)((uint32_t)(a) + (uint32_t)(b)))
#define VI_ADD_64(a, b)    ((a) + (b))
#define VI_MUL_32(a, b)    ((uint64_t)((uint32_t)(a) * (uint32_t)(b)))
#define VI_MUL_64(a, b)    ((a) * (b))
#define VD_LOAD(p)         (*(p))
#define VD_STORE(p, v)     (*(p) = (v))
#define VD_STREAM(p, v)    (*(p) = (v))
#endif

#ifdef VEC_CLASS
/* Written out, so that the sum stays in its register: left to itself one compiler rotates them all and spills. */
static inline vf vf_fma(vf a, vf b, vf c)
{
    __asm__("vfmadd231ps %2, %1, %0" : "+" VEC_CLASS(c) : VEC_CLASS(a), VEC_CLASS(b));
    return c;
}

static inline vd vd_fma(vd a, vd b, vd c)
{
    __asm__("vfmadd231pd %2, %1, %0" : "+" VEC_CLASS(c) : VEC_CLASS(a), VEC_CLASS(b));
    return c;
}
#define VF_FMA(a, b, c) vf_fma(a, b, c)
#define VD_FMA(a, b, c) vd_fma(a, b, c)
#endif

/* The register kind of bits differs from that of numbers where vectors are scalars. */
#ifdef VEC_SCALAR
#define KEEP_BITS(v) __asm__ volatile("" : "+r"(v))
#else
#define KEEP_BITS(v) KEEP(v)
#endif

#if defined(__x86_64__)
#define VEC_FENCE() _mm_mfence()
#else
#define VEC_FENCE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif

/* Sends a line of 64 bytes back to memory; undefined where a program may not.  Every CPU with AVX-512 has the unordered form. */
#if defined(__AVX512F__)
#define VEC_FLUSH(p) __asm__ volatile("clflushopt %0" : "+m"(*(volatile char *)(p)))
#elif defined(__x86_64__)
#define VEC_FLUSH(p) _mm_clflush(p)
#elif defined(__aarch64__)
#define VEC_FLUSH(p) __asm__ volatile("dc civac, %0" : : "r"(p) : "memory")
#endif

#endif
