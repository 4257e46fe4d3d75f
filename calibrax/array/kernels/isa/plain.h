/* What any CPU of the family has, in vectors of 128 bits: SSE2 on x86-64, with 16 registers; NEON
 * on 64-bit ARM, with 32.
 *
 * flags:
 */
#define VECTOR_BYTES 16

/* Registers of a product's tile, 8 of 16, and accumulators of its limit. */
#define TILE_ROWS    4
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
#define FEW_REAL_STEPS 0

#if defined(__x86_64__)
#include <immintrin.h>
#define MINMAX_F32(vec, pick, op, x, y, less) ((vec)_mm_##op##_ps((__m128)(x), (__m128)(y)))
#define MINMAX_F64(vec, pick, op, x, y, less) ((vec)_mm_##op##_pd((__m128d)(x), (__m128d)(y)))
#define HAS_NAN_F32(x)                        (_mm_movemask_ps(_mm_cmpunord_ps((__m128)(x), (__m128)(x))) != 0)
#define HAS_NAN_F64(x)                        (_mm_movemask_pd(_mm_cmpunord_pd((__m128d)(x), (__m128d)(x))) != 0)
#elif defined(__aarch64__) && defined(__ARM_NEON)
#include <arm_neon.h>
#define MINMAX_F32(vec, pick, op, x, y, less) ((vec)v##op##q_f32((float32x4_t)(x), (float32x4_t)(y)))
#define MINMAX_F64(vec, pick, op, x, y, less) ((vec)v##op##q_f64((float64x2_t)(x), (float64x2_t)(y)))
#else
#define MINMAX_F32(vec, pick, op, x, y, less) pick((x)less(y), x, y)
#define MINMAX_F64(vec, pick, op, x, y, less) pick((x)less(y), x, y)
#endif
