/**
 * The widest vectors of the instruction set this file is compiled for, as far as the probe needs
 * them.
 *
 * vf, vd, vi: vectors of float, double, and bits, or single ones where a machine has no vectors
 * that are known here; most operations are the compiler's own.  KEEP(v) makes v unknown to the
 * compiler without an instruction: what was computed before it cannot be reused, moved out of a
 * loop or left away.
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
#define VEC_NAME     "avx512"
#define VEC_BYTES    64
#define VEC_CHAINS   20
#define VEC_CLASS    "v"
#define VF_MAX(a, b) ((vf)_mm512_max_ps(a, b))
#define VD_MAX(a, b) ((vd)_mm512_max_pd(a, b))
#define VI_AND_OR(a, b, c)                                                                                             \
    ((vi)_mm512_ternarylogic_epi64((__m512i)(c), (__m512i)(a), (__m512i)(b), 0xF8)) /* one instruction here */
#define VD_STREAM(p, v) _mm512_stream_pd(p, v)
#elif defined(__AVX2__) && defined(__FMA__)
#define VEC_NAME        "avx2"
#define VEC_BYTES       32
#define VEC_CHAINS      12
#define VEC_CLASS       "x"
#define VF_MAX(a, b)    ((vf)_mm256_max_ps(a, b))
#define VD_MAX(a, b)    ((vd)_mm256_max_pd(a, b))
#define VD_STREAM(p, v) _mm256_stream_pd(p, v)
#elif defined(__x86_64__) /* SSE2, the base of the architecture: no fused multiply-add */
#define VEC_NAME           "plain"
#define VEC_BYTES          16
#define VEC_CHAINS         12
#define VEC_CLASS          "x"
#define VF_MAX(a, b)       ((vf)_mm_max_ps(a, b))
#define VD_MAX(a, b)       ((vd)_mm_max_pd(a, b))
#define VF_FMA(a, b, c)    sum_into_ps((a) * (b), c)
#define VD_FMA(a, b, c)    sum_into_pd((a) * (b), c)
#define VI_AND_OR(a, b, c) or_into((a) & (b), c)
#define VD_STREAM(p, v)    _mm_stream_pd(p, v)
#elif defined(__ARM_NEON) && defined(__aarch64__)
#define VEC_NAME        "neon"
#define VEC_BYTES       16
#define VEC_CHAINS      20
#define VEC_CLASS       "w"
#define VF_MAX(a, b)    ((vf)vmaxq_f32((float32x4_t)(a), (float32x4_t)(b)))
#define VD_MAX(a, b)    ((vd)vmaxq_f64((float64x2_t)(a), (float64x2_t)(b)))
#define VF_FMA(a, b, c) ((vf)vfmaq_f32((float32x4_t)(c), (float32x4_t)(a), (float32x4_t)(b)))
#define VD_FMA(a, b, c) ((vd)vfmaq_f64((float64x2_t)(c), (float64x2_t)(a), (float64x2_t)(b)))
#else /* any other machine: one lane in a scalar register */
#define VEC_NAME   "plain"
#define VEC_BYTES  8
#define VEC_CHAINS 12
#define VEC_CLASS  "f"
#define VEC_SCALAR
#define VF_MAX(a, b) ((a) > (b) ? (a) : (b))
#define VD_MAX(a, b) ((a) > (b) ? (a) : (b))
#if defined(__FP_FAST_FMAF) && defined(__FP_FAST_FMA)
#define VF_FMA(a, b, c) __builtin_fmaf(a, b, c)
#define VD_FMA(a, b, c) __builtin_fma(a, b, c)
#else
#define VF_FMA(a, b, c) ((a) * (b) + (c))
#define VD_FMA(a, b, c) ((a) * (b) + (c))
#endif
#endif

#ifdef VEC_SCALAR
#define VEC_OF(type)
#else
#define VEC_OF(type) __attribute__((vector_size(VEC_BYTES)))
#endif
typedef float vf VEC_OF(float);
typedef double vd VEC_OF(double);
typedef uint64_t vi VEC_OF(uint64_t);
typedef uint32_t vi_32 VEC_OF(uint32_t);

#define KEEP(v) __asm__ volatile("" : "+" VEC_CLASS(v))
#ifdef VEC_SCALAR
#define KEEP_BITS(v) __asm__ volatile("" : "+r"(v)) /* another kind of register */
#else
#define KEEP_BITS(v) KEEP(v)
#endif

#define VF_SET(x)       ((vf){ 0 } + (float)(x))
#define VD_SET(x)       ((vd){ 0 } + (double)(x))
#define VI_SET(x)       ((vi){ 0 } + (uint64_t)(x))
#define VF_ADD(a, b)    ((a) + (b))
#define VD_ADD(a, b)    ((a) + (b))
#define VF_SUB(a, b)    ((a) - (b))
#define VD_SUB(a, b)    ((a) - (b))
#define VI_ADD_32(a, b) ((vi)((vi_32)(a) + (vi_32)(b)))
#define VI_ADD_64(a, b) ((a) + (b))
/* Several instructions where there is no single one. */
#define VI_MUL_32(a, b) ((vi)((vi_32)(a) * (vi_32)(b)))
#define VI_MUL_64(a, b) ((a) * (b))
#define VD_LOAD(p)      (*(const vd *)(const void *)(p))
#define VD_STORE(p, v)  (*(vd *)(void *)(p) = (v))
#ifndef VI_AND_OR
#define VI_AND_OR(a, b, c) ((c) | ((a) & (b)))
#endif
#ifndef VD_STREAM
#define VD_STREAM(p, v) VD_STORE(p, v) /* no intrinsic for a streaming store: the ordinary one */
#endif

/* Written out, so that the sum stays in its register: left to itself one compiler rotates them all
 * and spills. */
#define INTO(name, vec, instruction)                                                                                   \
    static inline vec name(vec t, vec c)                                                                               \
    {                                                                                                                  \
        __asm__(instruction " %1, %0" : "+" VEC_CLASS(c) : VEC_CLASS(t));                                              \
        return c;                                                                                                      \
    }
#define FMA(name, vec, instruction)                                                                                    \
    static inline vec name(vec a, vec b, vec c)                                                                        \
    {                                                                                                                  \
        __asm__(instruction " %2, %1, %0" : "+" VEC_CLASS(c) : VEC_CLASS(a), VEC_CLASS(b));                            \
        return c;                                                                                                      \
    }
#if defined(__x86_64__) && !defined(VF_FMA)
FMA(VF_FMA, vf, "vfmadd231ps")
FMA(VD_FMA, vd, "vfmadd231pd")
#elif defined(__x86_64__)
INTO(sum_into_ps, vf, "addps")
INTO(sum_into_pd, vd, "addpd")
INTO(or_into, vi, "por")
#endif
#undef INTO
#undef FMA

#if defined(__x86_64__)
#define VEC_FENCE() _mm_mfence()
#else
#define VEC_FENCE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif

/* Sends a line of 64 bytes back to memory; undefined where a program may not.  Every CPU with
 * AVX-512 has the unordered form. */
#if defined(__AVX512F__)
#define VEC_FLUSH(p) __asm__ volatile("clflushopt %0" : "+m"(*(volatile char *)(p)))
#elif defined(__x86_64__)
#define VEC_FLUSH(p) _mm_clflush(p)
#elif defined(__aarch64__)
#define VEC_FLUSH(p) __asm__ volatile("dc civac, %0" : : "r"(p) : "memory")
#endif

#endif
