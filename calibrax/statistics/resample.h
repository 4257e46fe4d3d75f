/* Inside statistics: index streams of resamples, and sums along them.
 *
 * Draw i of stream (seed, resample, side) is a word of Threefry-2x32 with 13 rounds (the fewest
 * that pass BigCrush; Salmon et al., SC 2011, table 2), scaled to an index by multiplication: chunk
 * c = i / 32, block 16 c + i % 16, word (i / 16) % 2, counter (block, side), key that of
 * cbx_rng_make(seed, resample).  An index is off its chance 1/n by at most one part in 2^32 / n.
 * The same draws on every machine: one body, compiled for each instruction set, of integer steps
 * and of sums whose order is fixed. */
#ifndef CALIBRAX_STATISTICS_RESAMPLE_H
#define CALIBRAX_STATISTICS_RESAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CBX__CHUNK = 32 }; /* draws are made by the chunk */
#define CBX__RESAMPLE_LIMIT ((size_t)1 << 31)

/** Room that `draws` indices take: the last chunk is whole. */
size_t cbx__draws_capacity(size_t draws);
/** index[0..draws) in 0..n-1; n >= 1.  `key` is that of the resample. */
void cbx__draw(const uint32_t key[2], uint32_t side, uint32_t n, size_t draws, uint32_t *index);
/** The same by one compilation of the body, 0 being plain C; false if there is no such, or this CPU
 * cannot run it. */
bool cbx__draw_by(size_t variant, const uint32_t key[2], uint32_t side, uint32_t n, size_t draws, uint32_t *index);
/** Sum of x[index[i]] in eight interleaved lanes, then pairwise. */
double cbx__gather_sum(const double *x, const uint32_t *index, size_t draws);

#endif
