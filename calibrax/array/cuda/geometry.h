/*
 * How work is laid over blocks and threads: arithmetic without a device, tested on its own.
 */
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

/** The largest tile of which there is one for every multiprocessor, or else the smallest.  bits: of an element, 32 or 64 */
cbx__cuda_tiling cbx__cuda_tile(int bits, size_t m, size_t n, size_t batches, int multiprocessors);

typedef struct cbx__cuda_rows {
    int lanes_log;
    int64_t parts, blocks;
} cbx__cuda_rows;

/** Groups of 1 to 32 threads for rows of d columns, `wide` columns a thread. */
cbx__cuda_rows cbx__cuda_row_groups(size_t rows, size_t d, size_t wide);

#endif
