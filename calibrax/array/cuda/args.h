/* What host and device agree on: the arguments of each kernel, the sizes of tiles, and the list of
 * kernels.  C17 and CUDA C++.
 *
 * Every kernel takes one struct by value.  Strides are in elements, of any sign. */
#ifndef CALIBRAX_ARRAY_CUDA_ARGS_H
#define CALIBRAX_ARRAY_CUDA_ARGS_H

#include <stdint.h>

/* Functions of both languages. */
#if defined(__CUDACC__)
#define CBX__CUDA_BOTH static __device__ __forceinline__
#else
#define CBX__CUDA_BOTH static inline
#endif

/* Bits that look random: the end of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014). */
CBX__CUDA_BOTH uint64_t cbx__cuda_mix(uint64_t x)
{
    x = (x + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* An operand: element (i, j) of product z is at x[i * row + j * col + z * batch]. */
typedef struct cbx__cuda_matrix {
    void *x;
    int64_t row, col, batch;
} cbx__cuda_matrix;

/* C = fold over kk of A and B, tiles of C a block each: block t makes tile t % tiles, tiles =
 * tiles_m * tiles_n, of part t / tiles % parts of product t / tiles / parts, tiles counted down the
 * rows first.  Part q folds kk from q * chunk on; parts follow each other in C as products do, and
 * have neither D nor a mask. */
typedef struct cbx__cuda_product {
    cbx__cuda_matrix a, b, c, d, mask; /* d.x, mask.x NULL: none */
    int64_t m, k, n, tiles_m, tiles_n, parts, chunk;
    int32_t a_along_k,
        b_along_n; /* neighbouring threads load neighbours of a row of A, of a row of B; else of a column */
    int32_t raw, mask_complement;
} cbx__cuda_product;

/* The largest element of each of `rows` rows of len elements, and the certificate's limit
 * (semiring.h): shift, limit [z * rows + i]. */
typedef struct cbx__cuda_top {
    cbx__cuda_matrix x; /* col: along the row */
    void *shift, *limit;
    int64_t rows, len, blocks; /* blocks of one product */
    int32_t lanes_along;       /* lanes of a warp take neighbours in a row; else rows */
} cbx__cuda_top;

/* y[z][o][i] = exp(x - shift), i the inner index: the one along which x has the smaller stride. */
typedef struct cbx__cuda_scale {
    cbx__cuda_matrix x; /* row: stride of the outer index, col: of the inner one */
    void *y;
    const void *shift;
    int64_t outer, inner, batches;
    int32_t shift_by_inner;
} cbx__cuda_scale;

/* What happens to a real or a log product in s (dense, m by n by batches) before it is C. */
typedef struct cbx__cuda_finish {
    cbx__cuda_product p; /* of the operands as given */
    const void *s, *row_shift, *row_limit, *col_shift, *col_limit;
    int64_t batches;
} cbx__cuda_finish;

/* The parts of products in s (dense, m by n, `parts` of them, by batches) become C, in order. */
typedef struct cbx__cuda_join {
    cbx__cuda_product p; /* a and b are not looked at */
    const void *s;
    int64_t batches;
} cbx__cuda_join;

/* Bytes to bits: word w of line l holds elements 32 w .. 32 w + 31, y[z * lines * words + l *
 * y_line + w * y_word]. */
typedef struct cbx__cuda_bits {
    cbx__cuda_matrix x; /* row: from line to line; col: along a line */
    uint32_t *y;
    int64_t lines, len, words, y_line, y_word, batches;
    int32_t lanes_along;
} cbx__cuda_bits;

/* A sparse product as in kernels/ell.h: groups of 2^lanes_log threads take (row, part of the
 * columns). */
typedef struct cbx__cuda_ell {
    const int32_t *index, *degree;
    const uint64_t *start;
    const uint32_t *place;
    const void *values, *b;
    void *c;
    int64_t rows, width, d, ldb, ldc, parts;
    int32_t lanes_log;
} cbx__cuda_ell;

/* --- the probe (probe.cu) --- */

/* A loop of multiply-adds: every thread does `rounds` of CBX__CUDA_STEPS times CBX__CUDA_CHAINS of
 * them, and writes 8 bytes. */
typedef struct cbx__cuda_loop {
    uint64_t *y;
    int64_t rounds;
    uint64_t x, c; /* v = v * x + c; their bits, of the loop's type, twice where two share a word */
} cbx__cuda_loop;

#define CBX__CUDA_CHAINS       8 /* independent sums of a thread */
#define CBX__CUDA_STEPS        16
#define CBX__CUDA_TILE_SUMS    8 /* tiles that a warp adds to */
#define CBX__CUDA_TILE_SUMS_64 2
#define CBX__CUDA_TILE_STEPS   8

/* Arrays of n runs of 16 bytes, gone over `passes` times by `threads` threads: a from b and c. */
typedef struct cbx__cuda_traffic {
    void *a;
    const void *b, *c;
    int64_t n, passes, threads;
} cbx__cuda_traffic;

/* x[i] = mix(i) & keep[i % 2] | put[i % 2]: numbers of any type without zeros, NaN or
 * infinities. */
typedef struct cbx__cuda_fill {
    uint32_t *x;
    int64_t words;
    uint32_t keep[2], put[2];
} cbx__cuda_fill;

/* --- tiles --- */

#define CBX__CUDA_BLOCK 256 /* threads of a block, of all kernels but the smallest tile */

/* size, rows and columns of C of a block, steps of k at a time, rows and columns of C of a thread;
 * by the bits of an element */
#define CBX__CUDA_TILES(X)                                                                                             \
    X(large, 32, 128, 64, 8, 8, 4)                                                                                     \
    X(middle, 32, 64, 64, 16, 4, 4)                                                                                    \
    X(small, 32, 32, 32, 16, 4, 4)                                                                                     \
    X(large, 64, 64, 64, 8, 4, 4)                                                                                      \
    X(middle, 64, 32, 32, 8, 4, 4)                                                                                     \
    X(small, 64, 16, 16, 8, 2, 2)

enum {
#define CBX__CUDA_TILE(size, bits, rows, cols, deep, trows, tcols)                                                     \
    CBX__CUDA_##size##_##bits##_ROWS = rows, CBX__CUDA_##size##_##bits##_COLS = cols,                                  \
    CBX__CUDA_##size##_##bits##_DEEP = deep, CBX__CUDA_##size##_##bits##_TROWS = trows,                                \
    CBX__CUDA_##size##_##bits##_TCOLS = tcols,
    CBX__CUDA_TILES(CBX__CUDA_TILE)
#undef CBX__CUDA_TILE
};

/* --- kernels: name, arguments --- */

#define CBX__CUDA_TILE_KERNELS(X, type, step)                                                                          \
    X(cbx_##step##_##type##_large, cbx__cuda_product)                                                                  \
    X(cbx_##step##_##type##_middle, cbx__cuda_product)                                                                 \
    X(cbx_##step##_##type##_small, cbx__cuda_product)
#define CBX__CUDA_FLOAT_KERNELS(X, type)                                                                               \
    CBX__CUDA_TILE_KERNELS(X, type, fma)                                                                               \
    CBX__CUDA_TILE_KERNELS(X, type, square)                                                                            \
    CBX__CUDA_TILE_KERNELS(X, type, max)                                                                               \
    CBX__CUDA_TILE_KERNELS(X, type, min)                                                                               \
    X(cbx_join_fma_##type, cbx__cuda_join)                                                                             \
    X(cbx_join_square_##type, cbx__cuda_join)                                                                          \
    X(cbx_join_max_##type, cbx__cuda_join)                                                                             \
    X(cbx_join_min_##type, cbx__cuda_join)
#define CBX__CUDA_FINISH_KERNELS(X, type)                                                                              \
    X(cbx_top_##type, cbx__cuda_top)                                                                                   \
    X(cbx_scale_##type, cbx__cuda_scale)                                                                               \
    X(cbx_finish_log_##type, cbx__cuda_finish)                                                                         \
    X(cbx_finish_real_##type, cbx__cuda_finish)
#define CBX__CUDA_ELL_STEP(X, type, step)                                                                              \
    X(cbx_ell_##step##_##type##_one, cbx__cuda_ell)                                                                    \
    X(cbx_ell_##step##_##type##_wide, cbx__cuda_ell)
#define CBX__CUDA_ELL_FLOAT(X, type)                                                                                   \
    CBX__CUDA_ELL_STEP(X, type, fma)                                                                                   \
    CBX__CUDA_ELL_STEP(X, type, square)                                                                                \
    CBX__CUDA_ELL_STEP(X, type, max)                                                                                   \
    CBX__CUDA_ELL_STEP(X, type, min)                                                                                   \
    CBX__CUDA_ELL_STEP(X, type, max_scaled)                                                                            \
    CBX__CUDA_ELL_STEP(X, type, min_scaled)                                                                            \
    CBX__CUDA_ELL_STEP(X, type, log)                                                                                   \
    CBX__CUDA_ELL_STEP(X, type, gather)                                                                                \
    X(cbx_ell_softmax_##type, cbx__cuda_ell)

/* One list a source file: what product.cu, finish.cu, ell.cu and probe.cu define. */
#define CBX__CUDA_PRODUCT_KERNELS(X)                                                                                   \
    CBX__CUDA_FLOAT_KERNELS(X, f32)                                                                                    \
    CBX__CUDA_FLOAT_KERNELS(X, f64)                                                                                    \
    CBX__CUDA_TILE_KERNELS(X, bits, or)
#define CBX__CUDA_OTHER_KERNELS(X)                                                                                     \
    CBX__CUDA_FINISH_KERNELS(X, f32)                                                                                   \
    CBX__CUDA_FINISH_KERNELS(X, f64)                                                                                   \
    X(cbx_bits, cbx__cuda_bits)
#define CBX__CUDA_ELL_KERNELS(X)                                                                                       \
    CBX__CUDA_ELL_FLOAT(X, f32)                                                                                        \
    CBX__CUDA_ELL_FLOAT(X, f64)                                                                                        \
    X(cbx_ell_or_bool_one, cbx__cuda_ell)

#define CBX__CUDA_PROBE_KERNELS(X)                                                                                     \
    X(cbx_probe_f64, cbx__cuda_loop)                                                                                   \
    X(cbx_probe_f32, cbx__cuda_loop)                                                                                   \
    X(cbx_probe_f16, cbx__cuda_loop)                                                                                   \
    X(cbx_probe_bf16, cbx__cuda_loop)                                                                                  \
    X(cbx_probe_tile_f64, cbx__cuda_loop)                                                                              \
    X(cbx_probe_tile_tf32, cbx__cuda_loop)                                                                             \
    X(cbx_probe_tile_f16, cbx__cuda_loop)                                                                              \
    X(cbx_probe_tile_bf16, cbx__cuda_loop)                                                                             \
    X(cbx_probe_tile_i8, cbx__cuda_loop)                                                                               \
    X(cbx_probe_read, cbx__cuda_traffic)                                                                               \
    X(cbx_probe_copy, cbx__cuda_traffic)                                                                               \
    X(cbx_probe_triad, cbx__cuda_traffic)                                                                              \
    X(cbx_probe_triad_stream, cbx__cuda_traffic)                                                                       \
    X(cbx_probe_fill, cbx__cuda_fill)

typedef enum cbx__cuda_kernel {
#define CBX__CUDA_ENUM(name, args) CBX__CUDA_##name,
    CBX__CUDA_PRODUCT_KERNELS(CBX__CUDA_ENUM) CBX__CUDA_OTHER_KERNELS(CBX__CUDA_ENUM)
        CBX__CUDA_ELL_KERNELS(CBX__CUDA_ENUM) CBX__CUDA_PROBE_KERNELS(CBX__CUDA_ENUM)
#undef CBX__CUDA_ENUM
            CBX__CUDA_KERNELS
} cbx__cuda_kernel;

#endif
