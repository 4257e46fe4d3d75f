/* How work is laid over blocks and threads: arithmetic without a device, tested on its own. */
#ifndef CALIBRAX_ARRAY_CUDA_GEOMETRY_H
#define CALIBRAX_ARRAY_CUDA_GEOMETRY_H

#include <stddef.h>

#include "calibrax/array/cuda/args.h"

typedef enum cbx__cuda_size { CBX__CUDA_LARGE, CBX__CUDA_MIDDLE, CBX__CUDA_SMALL, CBX__CUDA_SIZES } cbx__cuda_size;

typedef struct cbx__cuda_tiling {
    cbx__cuda_size size;
    int64_t tiles_m, tiles_n, blocks; /* of one product; of all */
    unsigned threads;
} cbx__cuda_tiling;

static inline int64_t cbx__cuda_parts(int64_t whole, int64_t part) { return whole / part + (whole % part != 0); }

/** The largest tile of which there is one for every multiprocessor, or else the smallest.  bits: of
 * an element, 32 or 64 */
cbx__cuda_tiling cbx__cuda_tile(int bits, size_t m, size_t n, size_t batches, int multiprocessors);

/** Parts of a fold along k. */
typedef struct cbx__cuda_split {
    int64_t parts, chunk; /* steps of a part, a multiple of CBX__CUDA_STEP; the last may have less */
} cbx__cuda_split;

enum { CBX__CUDA_STEP = 16, CBX__CUDA_SHORTEST = 256, CBX__CUDA_ENOUGH = 512 };

/** Few tiles and a long k leave most of a device idle: parts of CBX__CUDA_SHORTEST steps or more,
 * as many as make CBX__CUDA_ENOUGH of the smallest tiles.  By the shape of one product alone, so
 * that no bit depends on the device or on how many products there are.
 * @param k  steps; 0 gives one part */
cbx__cuda_split cbx__cuda_split_k(int bits, size_t m, size_t k, size_t n);

typedef struct cbx__cuda_rows {
    int lanes_log;
    int64_t parts, blocks;
} cbx__cuda_rows;

/** Groups of 1 to 32 threads for rows of d columns, `wide` columns a thread. */
cbx__cuda_rows cbx__cuda_row_groups(size_t rows, size_t d, size_t wide);

#endif
