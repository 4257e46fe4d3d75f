/* The products over the six algebras: real and log by fused multiply-add, euclidean by squares of
 * differences, max-plus and min-plus, boolean on words of 32 bits.  The tile is in tile.h, its
 * sizes in args.h, what goes before and after in finish.cu. */
#include "calibrax/array/cuda/device.h"

/* What a thread does with two elements. */
enum { STEP_FMA, STEP_SQUARE, STEP_MAX, STEP_MIN, STEP_OR };

/* False: the mask hides element (i, j), or there is none. */
DEVICE int is_wanted(const cbx__cuda_product *p, int64_t i, int64_t j, int64_t z)
{
    if (i >= p->m || j >= p->n) return 0;
    if (!p->mask.x) return 1;
    return (((const uint8_t *)p->mask.x)[i * p->mask.row + j * p->mask.col + z * p->mask.batch] != 0) !=
           p->mask_complement;
}

/* Elements in 16 bytes, bits of one, an element of C and D; panels that can make a NaN are folded by
 * compares where max and min do not keep it by themselves. */
#define VECTOR        ((int)(16 / sizeof(T)))
#define WIDTH         OF(width)
#define width_f32     32
#define width_f64     64
#define width_bits    32
#define TC            OF(result)
#define CAREFUL(step) (sizeof(T) == 8 && ((step) == STEP_MAX || (step) == STEP_MIN))
typedef float result_f32;
typedef double result_f64;
typedef uint8_t result_bits;

#define ENTRIES(X) X(fma, STEP_FMA) X(square, STEP_SQUARE) X(max, STEP_MAX) X(min, STEP_MIN)
#define SFX        f32
#include "calibrax/array/cuda/steps.h"
/* then the tile */
#include "calibrax/array/cuda/tile_sizes.h"
/* and its parts */
#include "calibrax/array/cuda/join.h"
#undef SFX

#define SFX f64
#include "calibrax/array/cuda/steps.h"
/* then the tile */
#include "calibrax/array/cuda/tile_sizes.h"
/* and its parts */
#include "calibrax/array/cuda/join.h"
#undef SFX
#undef ENTRIES

/* --- bits: 32 steps of k a word; C and D are bytes --- */
#define SFX        bits
#define ENTRIES(X) X(or, STEP_OR)

DEVICE uint32_t start_bits(int step) { return step != STEP_OR; }
DEVICE uint8_t empty_bits(int step) { return step != STEP_OR; }
DEVICE int known_bits(uint8_t d) { return d != 0; }
DEVICE uint32_t step_bits(int step, int careful, uint32_t acc, uint32_t x, uint32_t y)
{
    return step == STEP_OR && !careful ? acc | (x & y) : 0;
}
DEVICE int odd_bits(int step, uint32_t x) { return step != STEP_OR && x != 0; }
DEVICE uint8_t finalize_bits(int step, int raw, uint32_t acc) { return step == STEP_OR && !raw && acc != 0; }
DEVICE uint8_t merge_bits(int step, int raw, uint8_t d, uint8_t x)
{
    return step == STEP_OR && !raw ? (d | x) != 0 : 0;
}
#include "calibrax/array/cuda/tile_sizes.h"
