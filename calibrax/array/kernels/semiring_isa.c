/* The tiled semiring product of one instruction set: built once for each with other compiler flags
 * (meson.build).
 *
 * A tile of C stays in registers while kk runs over a panel; A is packed as [kk][rows], B as
 * [kk][columns], so that the inner loop reads both in order: a row of B by vectors, an element of A
 * by broadcast.  After Goto & van de Geijn, ACM TOMS 34 (2008) 12. isa/<name>.h has the sizes of
 * tiles and blocks. */
#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "calibrax/array/kernels/convolve.h"
#include "calibrax/array/kernels/float_type.h"
#include "calibrax/array/kernels/isa_name.h"
#include "calibrax/array/kernels/minmax.h"
#include "calibrax/array/kernels/semiring_kernel.h"
#include "calibrax/array/kernels/traits.h"
#include "calibrax/array/kernels/vmath.h"

/* The steps that a register tile does (algebra.h), and which of them an algebra takes. */
typedef enum step {
#define CBX_TILE_STEP(name, term, update) STEP_##name,
#include "calibrax/array/kernels/algebra.h"
    STEPS
} step;
/* What besides NaN operands makes a NaN term. */
typedef enum nan_from { NAN_ALONE, OPPOSITE_INFINITIES, ANY_INFINITY } nan_from;
static const struct {
    step usual, by_fma, careful;
    nan_from nan;
} steps_of[CBX_ALGEBRA_COUNT] = {
#define CBX_ALGEBRA_STEPS(id, usual, by_fma, careful, nan, ...)                                                        \
    [CBX_ALGEBRA_##id] = { STEP_##usual, STEP_##by_fma, STEP_##careful, nan },
#include "calibrax/array/kernels/algebra.h"
};
static const bool is_finished[STEPS] = {
#define CBX_TILE_FINISH(name, ...) [STEP_##name] = true,
#include "calibrax/array/kernels/algebra.h"
};
/* Whether what panels hold decides the step, and whether tiles are finished after their last one,
 * besides those of log. */
static inline bool watches(cbx_algebra g) { return steps_of[g].careful != steps_of[g].usual; }
static inline bool finishes(cbx_algebra g) { return is_finished[steps_of[g].usual]; }

/* A with no more panels of B to meet than these, and B with no more of A, is not worth packing: it
 * is read where it lies.  Where it is met more often, packed panels are 5 % faster: rows that lie a
 * power of two apart share their places in the caches. */
#define FEW_ACROSS    8
#define FEW_DOWN      2
#define PANELS_BESIDE 8  /* of B, packed at a time */
#define BLOCKS_PACKED 16 /* of A for each of several threads */

/* Rows at a time of a product of few elements, or fewer: of one vector, and of more, by as many
 * registers as there are. */
#define FEW_TILE    8
#define FEW_WIDE    (TILE_ROWS < 8 ? 4 : 8)
#define FEW_VECTORS (TILE_VECTORS == 3 ? 4 : 2)
#define FEW_WIDEST  6 /* of four vectors */
#define FEW_SUMS    4 /* of one row */
/* The part of a row's last vector that has columns. */
enum { PART_ALL = VECTOR_BYTES, PART_HALF = 32, PART_QUARTER = 16 };

/* X for tiles of each width, in vectors. */
#if TILE_VECTORS == 3
#define EACH_WIDTH(X, step) X(step, 1) X(step, 2) X(step, 3)
#elif TILE_VECTORS == 2
#define EACH_WIDTH(X, step) X(step, 1) X(step, 2)
#else
#error "a tile is two or three vectors wide"
#endif

/* What specials a panel holds. */
enum { SEEN_NAN = 1, SEEN_PLUS_INF = 2, SEEN_MINUS_INF = 4 };

/* Derivatives: a loop whose turns a team shares, each as it would be alone, and a nest of two;
 * columns of B that one thread takes. */
#define EACH_OF_TEAM(nt)      CBX__EACH_OF_TEAM(nt, schedule(static))
#define EACH_PAIR_OF_TEAM(nt) CBX__EACH_OF_TEAM(nt, collapse(2) schedule(static))
#define GRAD_COLUMNS          128

/* Behind a barrier. */
static inline int seen_in(atomic_int *seen) { return atomic_load_explicit(seen, memory_order_relaxed); }
/* The size of equal parts, in multiples of `of`, none larger than most. */
static inline size_t even_part(size_t whole, size_t largest, size_t of)
{
    if (whole <= largest) return round_up(whole, of);
    const size_t parts = (whole + largest - 1) / largest;
    return round_up((whole + parts - 1) / parts, of);
}

#include "calibrax/array/kernels/convolve_rows.h"

/* Blocks by element type: up to 24 KiB of a panel of A in a first-level cache, 1 to 1.5 MiB of B
 * and 150 to 300 KiB of A in a second-level one; less of all where that is smaller. */
static const cbx__semiring_blocks blocks_f32 = { BLOCK_KC_F32, BLOCK_MC, BLOCK_JC_F32, BLOCK_NC };
static const cbx__semiring_blocks blocks_f64 = { BLOCK_KC_F64, BLOCK_MC, BLOCK_JC_F64, BLOCK_NC };

#define TINY       OF(0x1p-100f, 0x1p-967) /* k times this: a sum of products this large has lost nothing (semiring.h) */
#define ROOT_LOW   OF(0x1p-70f, 0x1p-900)  /* x - sqrt(x)^2 is exact from here to its reciprocal */
#define GRAD_LIMIT OF(60.0f, 650.0)

#define SFX f32
#include "calibrax/array/kernels/semiring_type.h"
#undef SFX
#define SFX f64
#include "calibrax/array/kernels/semiring_type.h"

/* --- boolean --- */
#include "calibrax/array/kernels/semiring_digits.h"
/* then bits, for what digits do not take */
#include "calibrax/array/kernels/semiring_bool.h"

#if defined(__FMA__) || defined(__aarch64__)
#define HAS_FMA true
#else
#define HAS_FMA false
#endif
#define KERNEL(SFX)                                                                                                    \
    {                                                                                                                  \
        .workspace = workspace_##SFX, .small = run_small_##SFX, .run = run_##SFX, .rehearse = rehearse_##SFX,          \
        .limit = limit_##SFX, .grad = grad_##SFX, .conv_workspace = conv_workspace_##SFX, .conv_run = conv_run_##SFX,  \
        .vjp_workspace = vjp_workspace_##SFX, .vjp_run = vjp_run_##SFX, .transpose = transpose_##SFX,                  \
        .has_fma = HAS_FMA                                                                                             \
    }
const cbx__semiring_kernel PASTE(cbx__semiring_, ISA_NAME)[CBX__KERNELS] = {
    [CBX__KERNEL_F32] = KERNEL(f32),
    [CBX__KERNEL_F64] = KERNEL(f64),
    [CBX__KERNEL_BOOL] = { .workspace = workspace_bool, .run = run_bool },
};
