/* AVX-512 with F, BW, DQ and VL, 32 registers of 512 bits and masks: Intel's servers from
 * Skylake-SP (2017) on, AMD from Zen 4 (2022) on.
 *
 * flags: -mavx2 -mfma -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512
 */
#include <immintrin.h>

#define VECTOR_BYTES 64

/* Registers of a product's tile, 24 of 32, and accumulators of its limit. */
#define TILE_ROWS    8
#define TILE_VECTORS 3
#define CHAINS       12
/* Blocks of a product (cbx__semiring_blocks): kc of f32 and f64, mc, nc, jc of f32 and f64. */
#define BLOCK_KC_F32 512
#define BLOCK_KC_F64 384
#define BLOCK_MC     (12 * TILE_ROWS)
#define BLOCK_NC     4096
#define BLOCK_JC_F32 672
#define BLOCK_JC_F64 504
/* Steps of a real product up to which rows in registers are sooner done than blocks. */
#define FEW_REAL_STEPS 1000000

#define MINMAX_F32(vec, pick, op, x, y, less) ((vec)_mm512_##op##_ps((__m512)(x), (__m512)(y)))
#define MINMAX_F64(vec, pick, op, x, y, less) ((vec)_mm512_##op##_pd((__m512d)(x), (__m512d)(y)))
/* The watch by masks: one compare for two vectors, none of the pipes that add. */
#define WATCH_F32(w, x, y)  _mm512_mask_cmp_ps_mask(w, (__m512)(x), (__m512)(y), _CMP_ORD_Q)
#define WATCH_F64(w, x, y)  _mm512_mask_cmp_pd_mask(w, (__m512d)(x), (__m512d)(y), _CMP_ORD_Q)
#define HAS_SEEN_F32(w)     ((w) != 0xffff)
#define HAS_SEEN_F64(w)     ((w) != 0xff)
#define WATCH_TYPE_F32(vec) __mmask16
#define WATCH_TYPE_F64(vec) __mmask8
#define WATCH_START(type)   (type) ~0

#define SORT_BODY "calibrax/array/kernels/sort_avx512.h"
