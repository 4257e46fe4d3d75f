/* AVX2 with FMA, 16 registers of 256 bits: Intel from Haswell (2013) on, AMD from Excavator (2015)
 * on.
 *
 * flags: -mavx2 -mfma
 */
#include <immintrin.h>

#define VECTOR_BYTES 32

/* Registers of a product's tile, 12 of 16, and accumulators of its limit. */
#define TILE_ROWS    6
#define TILE_VECTORS 2
#define CHAINS       10
/* Blocks of a product (cbx__semiring_blocks): kc of f32 and f64, mc, nc, jc of f32 and f64. */
#define BLOCK_KC_F32 256
#define BLOCK_KC_F64 256
#define BLOCK_MC     (16 * TILE_ROWS)
#define BLOCK_NC     4096
#define BLOCK_JC_F32 256
#define BLOCK_JC_F64 128
/* Steps of a real product up to which rows in registers are sooner done than blocks. */
#define FEW_REAL_STEPS 120000

#define MINMAX_F32(vec, pick, op, x, y, less) ((vec)_mm256_##op##_ps((__m256)(x), (__m256)(y)))
#define MINMAX_F64(vec, pick, op, x, y, less) ((vec)_mm256_##op##_pd((__m256d)(x), (__m256d)(y)))
#define HAS_NAN_F32(x)                        (_mm256_movemask_ps(_mm256_cmp_ps((__m256)(x), (__m256)(x), _CMP_UNORD_Q)) != 0)
#define HAS_NAN_F64(x)                        (_mm256_movemask_pd(_mm256_cmp_pd((__m256d)(x), (__m256d)(x), _CMP_UNORD_Q)) != 0)
