/* Instructions of the probe that CUDA C++ has no words for.  A device that a CPU plays computes
 * pairs of 16-bit numbers as they are defined, and counts what matrix units would do: each call
 * adds 1 to all four of a thread's sums.
 *
 * Shapes: PTX ISA, "Matrix multiply-accumulate operation using mma instruction". */
#ifndef CALIBRAX_ARRAY_CUDA_PROBE_OPS_H
#define CALIBRAX_ARRAY_CUDA_PROBE_OPS_H

#include "calibrax/array/cuda/device.h"

#if defined(__CUDACC__)
typedef uint4 run_u32;
typedef double2 run_f64;
#define LOAD_FAR(p)        __ldcg(p) /* from L2, whatever L1 holds */
#define STORE_STREAM(p, v) __stcs(p, v)

DEVICE uint32_t fma_f16x2(uint32_t v, uint32_t x, uint32_t c)
{
    uint32_t z;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(z) : "r"(v), "r"(x), "r"(c));
    return z;
}
DEVICE uint32_t fma_bf16x2(uint32_t v, uint32_t x, uint32_t c)
{
    uint32_t z;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(z) : "r"(v), "r"(x), "r"(c));
    return z;
}

/* C 16 by 8, A 16 by 16, B 16 by 8: one instruction since capability 9.0, eight of 8 by 8 by 4
 * before. */
DEVICE void tile_f64(double *c, const double *a, const double *b)
{
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, "
        "{%12,%13,%14,%15}, "
        "{%0,%1,%2,%3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]),
          "d"(b[2]), "d"(b[3]));
#else
    UNROLL
    for (int i = 0; i < 8; i++)
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
            : "+d"(c[i % 2 * 2]), "+d"(c[i % 2 * 2 + 1])
            : "d"(a[i]), "d"(b[i / 2]));
#endif
}

#define TILE_F32(name, shape)                                                                                          \
    DEVICE void name(float *c, const uint32_t *a, const uint32_t *b)                                                   \
    {                                                                                                                  \
        asm("mma.sync.aligned." shape " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                         \
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                           \
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                                       \
    }
TILE_F32(tile_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32")
TILE_F32(tile_f16, "m16n8k16.row.col.f32.f16.f16.f32")
TILE_F32(tile_bf16, "m16n8k16.row.col.f32.bf16.bf16.f32")
#undef TILE_F32

DEVICE void tile_i8(uint32_t *c, const uint32_t *a, const uint32_t *b)
{
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#else
typedef struct run_u32 {
    uint32_t ALIGNED(16) x;
    uint32_t y, z, w;
} run_u32;
typedef struct run_f64 {
    double ALIGNED(16) x;
    double y;
} run_f64;
#define LOAD_FAR(p)        (*(p))
#define STORE_STREAM(p, v) (*(p) = (v))

/* A normal number of 16 bits, `digits` of them behind the point. */
DEVICE double narrow_value(uint32_t u, int digits)
{
    const int e = (int)(u >> digits & ((1u << (15 - digits)) - 1)), bias = (1 << (14 - digits)) - 1;
    const double v = ldexp(1 + ldexp((double)(u & ((1u << digits) - 1)), -digits), e - bias);
    return u & 0x8000 ? -v : v;
}
DEVICE uint32_t narrow_bits(double v, int digits)
{
    const int bias = (1 << (14 - digits)) - 1;
    int e;
    const double f = frexp(fabs(v), &e); /* v = f 2^e, 1/2 <= f < 1 */
    const uint32_t u = ((uint32_t)(e - 1 + bias) << digits) + (uint32_t)nearbyint(ldexp(2 * f - 1, digits));
    return v == 0 ? 0 : u | (v < 0 ? 0x8000u : 0);
}
DEVICE uint32_t fma_narrow(uint32_t v, uint32_t x, uint32_t c, int digits)
{
    uint32_t z = 0;
    for (int half = 0; half < 32; half += 16)
        z |= narrow_bits(fma(narrow_value(v >> half & 0xffff, digits), narrow_value(x >> half & 0xffff, digits),
                             narrow_value(c >> half & 0xffff, digits)),
                         digits)
             << half;
    return z;
}
DEVICE uint32_t fma_f16x2(uint32_t v, uint32_t x, uint32_t c) { return fma_narrow(v, x, c, 10); }
DEVICE uint32_t fma_bf16x2(uint32_t v, uint32_t x, uint32_t c) { return fma_narrow(v, x, c, 7); }

#define TILE(name, T, S)                                                                                               \
    DEVICE void name(S *c, const T *a, const T *b)                                                                     \
    {                                                                                                                  \
        (void)a, (void)b;                                                                                              \
        for (int i = 0; i < 4; i++) c[i] += 1;                                                                         \
    }
TILE(tile_f64, double, double)
TILE(tile_tf32, uint32_t, float)
TILE(tile_f16, uint32_t, float)
TILE(tile_bf16, uint32_t, float)
TILE(tile_i8, uint32_t, uint32_t)
#undef TILE
#endif
#endif
