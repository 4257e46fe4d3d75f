/*
 * The tiled semiring product of one instruction set: built once for each with other compiler flags (meson.build).
 *
 * A tile of C stays in registers while kk runs over a panel; A is packed by rows, B as [kk][NR], so that the inner loop reads
 * both in order: a row of B by vectors, an element of A by broadcast.  After Goto & van de Geijn, ACM TOMS 34 (2008) 12.
 * Booleans are the same kernel on 32-bit lanes: a lane holds 32 columns of B, an element of A is a mask of all ones or zeros, and
 * the step is acc | (a & b).
 *
 * Tiles: 12 rows by two vectors of 512 bits hold 24 of 32 registers; 6 by two of 256 bits hold 12 of 16; two of 128 bits likewise.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "calibrax/array/kernels/semiring_isa.h"
#include "calibrax/array/kernels/vmath.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#define ISA_NAME     avx512
#define VECTOR_BYTES 64
#define TILE_ROWS    12
#elif defined(__AVX2__)
#include <immintrin.h>
#define ISA_NAME     avx2
#define VECTOR_BYTES 32
#define TILE_ROWS    6
#else
#define ISA_NAME     plain
#define VECTOR_BYTES 16
#define TILE_ROWS    4
#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif
#endif

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 64")
#endif
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* The step that a register tile does; the algebras and their careful variants map onto these. */
typedef enum step { STEP_FMA, STEP_MAX, STEP_MIN, STEP_MAX_NAN, STEP_MIN_NAN, STEP_SQUARE, STEP_OR } step;

/* What a scan of a matrix saw. */
enum { SEEN_NAN = 1, SEEN_PLUS_INF = 2, SEEN_MINUS_INF = 4 };

static inline size_t round_up(size_t x, size_t to) { return (x + to - 1) / to * to; }
static inline size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

/* --- f32 --- */
#define SFX  f32
#define T    float
#define TI   int32_t
#define KC   256
#define MC   (20 * TILE_ROWS)
#define NC   2048
#define TINY 0x1p-100f /* k times this: a sum of products this large has lost nothing (semiring.h) */
#define VEXP cbx_vm_exp_f32
#define VLOG cbx_vm_log_f32
#define SQRT sqrtf
#if defined(__AVX512F__)
#define VMAX(x, y) ((vec)_mm512_max_ps((__m512)(x), (__m512)(y)))
#define VMIN(x, y) ((vec)_mm512_min_ps((__m512)(x), (__m512)(y)))
#elif defined(__AVX2__)
#define VMAX(x, y) ((vec)_mm256_max_ps((__m256)(x), (__m256)(y)))
#define VMIN(x, y) ((vec)_mm256_min_ps((__m256)(x), (__m256)(y)))
#elif defined(__SSE2__)
#define VMAX(x, y) ((vec)_mm_max_ps((__m128)(x), (__m128)(y)))
#define VMIN(x, y) ((vec)_mm_min_ps((__m128)(x), (__m128)(y)))
#elif defined(__ARM_NEON) && defined(__aarch64__)
#define VMAX(x, y) ((vec)vmaxq_f32((float32x4_t)(x), (float32x4_t)(y)))
#define VMIN(x, y) ((vec)vminq_f32((float32x4_t)(x), (float32x4_t)(y)))
#else
#define VMAX(x, y) select_f32((x) > (y), x, y)
#define VMIN(x, y) select_f32((x) < (y), x, y)
#endif
#include "calibrax/array/kernels/semiring_tile.h"
/* the tile comes first */
#include "calibrax/array/kernels/semiring_float.h"
#undef SFX
#undef T
#undef TI
#undef MC
#undef NC
#undef TINY
#undef VEXP
#undef VLOG
#undef SQRT
#undef VMAX
#undef VMIN

/* --- f64 --- */
#define SFX  f64
#define T    double
#define TI   int64_t
#define MC   (10 * TILE_ROWS)
#define NC   2048
#define TINY 0x1p-967
#define VEXP cbx_vm_exp_f64
#define VLOG cbx_vm_log_f64
#define SQRT sqrt
#if defined(__AVX512F__)
#define VMAX(x, y) ((vec)_mm512_max_pd((__m512d)(x), (__m512d)(y)))
#define VMIN(x, y) ((vec)_mm512_min_pd((__m512d)(x), (__m512d)(y)))
#elif defined(__AVX2__)
#define VMAX(x, y) ((vec)_mm256_max_pd((__m256d)(x), (__m256d)(y)))
#define VMIN(x, y) ((vec)_mm256_min_pd((__m256d)(x), (__m256d)(y)))
#elif defined(__SSE2__)
#define VMAX(x, y) ((vec)_mm_max_pd((__m128d)(x), (__m128d)(y)))
#define VMIN(x, y) ((vec)_mm_min_pd((__m128d)(x), (__m128d)(y)))
#elif defined(__ARM_NEON) && defined(__aarch64__)
#define VMAX(x, y) ((vec)vmaxq_f64((float64x2_t)(x), (float64x2_t)(y)))
#define VMIN(x, y) ((vec)vminq_f64((float64x2_t)(x), (float64x2_t)(y)))
#else
#define VMAX(x, y) select_f64((x) > (y), x, y)
#define VMIN(x, y) select_f64((x) < (y), x, y)
#endif
#include "calibrax/array/kernels/semiring_tile.h"
/* the tile comes first */
#include "calibrax/array/kernels/semiring_float.h"
#undef SFX
#undef T
#undef TI
#undef KC
#undef MC
#undef NC
#undef TINY
#undef VEXP
#undef VLOG
#undef SQRT
#undef VMAX
#undef VMIN

/* --- boolean, 32 columns a lane --- */
#define TILE_BOOL
#define SFX bit
#define T   uint32_t
#define TI  int32_t
#define KC  512
#define MC  (20 * TILE_ROWS)
#define NC  2048 /* lanes */
#include "calibrax/array/kernels/semiring_tile.h"
/* the tile comes first */
#include "calibrax/array/kernels/semiring_bool.h"

static size_t workspace(const cbx_matmul *p)
{
    if (p->dtype == CBX_F32) return workspace_f32(p);
    return p->dtype == CBX_F64 ? workspace_f64(p) : workspace_bit(p);
}

static void run(const cbx_matmul *p)
{
    if (p->dtype == CBX_F32)
        run_f32(p);
    else if (p->dtype == CBX_F64)
        run_f64(p);
    else
        run_bit(p);
}

const cbx__semiring_kernel PASTE(cbx__semiring_, ISA_NAME) = { workspace, run };
