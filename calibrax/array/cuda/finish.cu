/* What goes before and after the products: the scaled operands of log, its certificate and the
 * second way, epilogues of products that cuBLAS made, and bytes to bits. */
#include "calibrax/array/cuda/device.h"

#define TINY     OF(tiny)
#define tiny_f32 0x1p-100f
#define tiny_f64 0x1p-967
#define SFX      f32
#include "calibrax/array/cuda/finish.h"
#undef SFX
#define SFX f64
#include "calibrax/array/cuda/finish.h"

/* A warp makes the words of a line, its lanes 32 neighbours; or a thread makes a word, its
 * neighbours those of the next lines. */
KERNEL(cbx_bits, cbx__cuda_bits, CBX__CUDA_BLOCK, 2)
{
    const int64_t all = a.lines * a.words * a.batches, thread = BLOCK * CBX__CUDA_BLOCK + THREAD;
    const int lane = THREAD % 32;

    if (a.lanes_along) {
        const int64_t at = thread / 32; /* one a warp, so that all its lanes stay or leave together */
        if (at >= all) return;
        const int64_t w = at % a.words, l = at / a.words % a.lines, z = at / a.words / a.lines, kk = w * 32 + lane;
        const uint8_t *x = (const uint8_t *)a.x.x + z * a.x.batch + l * a.x.row;
        const uint32_t word = WARP_BALLOT(kk < a.len && x[kk * a.x.col] != 0);
        if (lane == 0) a.y[z * a.lines * a.words + l * a.y_line + w * a.y_word] = word;
    } else {
        if (thread >= all) return;
        const int64_t l = thread % a.lines, w = thread / a.lines % a.words, z = thread / a.lines / a.words;
        const uint8_t *x = (const uint8_t *)a.x.x + z * a.x.batch + l * a.x.row;
        uint32_t word = 0;
        for (int64_t kk = w * 32; kk < at_most(a.len, w * 32 + 32); kk++)
            word |= (uint32_t)(x[kk * a.x.col] != 0) << (kk % 32);
        a.y[z * a.lines * a.words + l * a.y_line + w * a.y_word] = word;
    }
}
