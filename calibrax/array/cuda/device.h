/* The language of the kernels: what CUDA C++ and C17 have in common, and macros for the rest.
 * Without nvcc a program that plays a device gives cuda_shim.h (tests/array/cuda), so the same text
 * runs on a CPU and gives the same bits: products and sums are fused only in FMA (nvcc -fmad=false,
 * cc -ffp-contract=off), and exp and log are those of kernels/vmath.h, always with FMA. */
#ifndef CALIBRAX_ARRAY_CUDA_DEVICE_H
#define CALIBRAX_ARRAY_CUDA_DEVICE_H

#include <stdint.h>

#include "calibrax/array/cuda/args.h"

#if defined(__CUDACC__)
#include <math_constants.h>
/* threads: of a block; blocks: that a multiprocessor shall hold at a time, which bounds the
 * registers of a thread */
#define KERNEL(name, args, threads, blocks)                                                                            \
    extern "C" __global__ void __launch_bounds__(threads, blocks) name(const __grid_constant__ args a)
#define DEVICE          static __device__ __forceinline__
#define SHARED(T, name) __shared__ T name
#define UNROLL          _Pragma("unroll")
#define NO_UNROLL       _Pragma("unroll 1")
#define ALIGNED(n)      __align__(n)
#define THREAD          ((int)threadIdx.x)
#define BLOCK           ((int64_t)blockIdx.x)
#define BARRIER()       __syncthreads()
/* A barrier that returns whether x is not 0 for some thread of the block. */
#define BARRIER_ANY(x)    __syncthreads_or(x)
#define WARP_XOR(x, lane) __shfl_xor_sync(0xffffffffu, x, lane)
#define WARP_BALLOT(x)    __ballot_sync(0xffffffffu, x)
/* What follows is computed again, not kept in registers over what went before. */
#define FORGET(x) asm volatile("" : "+r"(x))
#define inf_f32   CUDART_INF_F
#define inf_f64   CUDART_INF
#define none_f32  CUDART_NAN_F
#define none_f64  CUDART_NAN

/* The larger or smaller; NaN if either is: one instruction since sm_80 (PTX ISA, max and min with
 * .NaN). */
DEVICE float max_nan_f32(float x, float y)
{
    float z;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
    return z;
}
DEVICE float min_nan_f32(float x, float y)
{
    float z;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
    return z;
}

#define CBX_VMATH_INLINE static __device__ __forceinline__
#define CBX_VM_DEVICE
#else
#include <math.h>

#include "cuda_shim.h"
#define FORGET(x)
#define inf_f32  ((float)INFINITY)
#define inf_f64  ((double)INFINITY)
#define none_f32 ((float)NAN)
#define none_f64 ((double)NAN)
DEVICE float max_nan_f32(float x, float y) { return x != x || y != y ? (float)NAN : x > y ? x : y; }
DEVICE float min_nan_f32(float x, float y) { return x != x || y != y ? (float)NAN : x < y ? x : y; }
#endif

#define CBX_VM_PLUS_F32(x, y, z)  fmaf(x, y, z)
#define CBX_VM_MINUS_F32(z, x, y) fmaf(-(x), y, z)
#define CBX_VM_PLUS_F64(x, y, z)  fma(x, y, z)
#define CBX_VM_MINUS_F64(z, x, y) fma(-(x), y, z)
#include "calibrax/array/kernels/vmath.h"

/* f64 has no such instruction.  A NaN y is taken, a NaN x stays. */
DEVICE double max_nan_f64(double x, double y) { return y > x || y != y ? y : x; }
DEVICE double min_nan_f64(double x, double y) { return y < x || y != y ? y : x; }

/* One name for both types, picked by SFX. */
DEVICE float fma_f32(float x, float y, float z) { return fmaf(x, y, z); }
DEVICE double fma_f64(double x, double y, double z) { return fma(x, y, z); }
DEVICE float sqrt_f32(float x) { return sqrtf(x); }
DEVICE double sqrt_f64(double x) { return sqrt(x); }
DEVICE float exp_f32(float x) { return cbx_vm_exp_f32(x); }
DEVICE double exp_f64(double x) { return cbx_vm_exp_f64(x); }
DEVICE float log_f32(float x) { return cbx_vm_log_f32(x); }
DEVICE double log_f64(double x) { return cbx_vm_log_f64(x); }
DEVICE float log1p_f32(float x) { return log1pf(x); }
DEVICE double log1p_f64(double x) { return log1p(x); }

DEVICE int64_t at_least(int64_t x, int64_t y) { return x > y ? x : y; }
DEVICE int64_t at_most(int64_t x, int64_t y) { return x < y ? x : y; }

#define PASTE2(x, y) x##y
#define PASTE(x, y)  PASTE2(x, y)

/* Of an element type, in files that are included once for each: SFX is f32, f64 or bits then. */
#define OF(name) PASTE(PASTE(name, _), SFX)
#define T        OF(element)
#define INF      OF(inf)
#define NOT      OF(none) /* NaN */
typedef float element_f32;
typedef double element_f64;
typedef uint32_t element_bits;
#endif
