/* Inside the library: inner loops of reductions, built for each instruction set.  All give the same
 * bits.
 *
 * Rows: acc[i] = acc[i] op row[i], for reductions along an outer axis, many results at once. Runs:
 * n elements lying together to one, n of any size; the first of equal values wins, the first NaN
 * against all. */
#ifndef CALIBRAX_ARRAY_KERNELS_FOLD_H
#define CALIBRAX_ARRAY_KERNELS_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calibrax/array/kernels/semiring.h"

/* Elements of 64 bits that one scan of memory prefetches: the hardware's own reading ahead
 * ends with each page.  A fifth less time for 4 Mi elements; what lies behind the end is asked for
 * in vain. */
#define CBX__AHEAD 512

#define CBX__LEAF 128 /* elements that NumPy's tree of sums does not divide further */

/* name, type, step: t so far, x the next */
#define CBX__FOLD_MAP(X)                                                                                               \
    X(add_f64, double, t + x)                                                                                          \
    X(mul_f64, double, t *x)                                                                                           \
    X(max_f64, double, t >= x || t != t ? t : x)                                                                       \
    X(min_f64, double, t <= x || t != t ? t : x)                                                                       \
    X(nanmax_f64, double, ((x > t) | (t != t)) ? x : t)                                                                \
    X(nanmin_f64, double, ((x < t) | (t != t)) ? x : t)                                                                \
    X(nanmax_f32, float, ((x > t) | (t != t)) ? x : t)                                                                 \
    X(nanmin_f32, float, ((x < t) | (t != t)) ? x : t)                                                                 \
    X(add_f32, float, t + x)                                                                                           \
    X(max_f32, float, t >= x || t != t ? t : x)                                                                        \
    X(min_f32, float, t <= x || t != t ? t : x)                                                                        \
    X(add_u64, uint64_t, t + x)                                                                                        \
    X(mul_u64, uint64_t, t *x)                                                                                         \
    X(max_u64, uint64_t, x > t ? x : t)                                                                                \
    X(min_u64, uint64_t, x < t ? x : t)                                                                                \
    X(max_i64, int64_t, x > t ? x : t)                                                                                 \
    X(min_i64, int64_t, x < t ? x : t)                                                                                 \
    X(or_u8, uint8_t, t | x)                                                                                           \
    X(and_u8, uint8_t, t &x)

/* name, type, true if x takes the place of t */
#define CBX__WINNER_MAP(X)                                                                                             \
    X(argmax_f64, double, (x > t) | ((x != x) & (t == t)))                                                             \
    X(argmin_f64, double, (x < t) | ((x != x) & (t == t)))                                                             \
    X(argmax_u64, uint64_t, x > t)                                                                                     \
    X(argmin_u64, uint64_t, x < t)                                                                                     \
    X(argmax_i64, int64_t, x > t)                                                                                      \
    X(argmin_i64, int64_t, x < t)

enum {
    CBX__INDEX_NEGATIVE = 1, /* counts from the end */
    CBX__INDEX_OUTSIDE = 2   /* not in -length .. length-1 */
};

typedef struct cbx__fold {
#define CBX__ROWS(name, T, step) void (*name)(size_t n, T * acc, const T *row);
    CBX__FOLD_MAP(CBX__ROWS)
#undef CBX__ROWS
    /* where[i] = row_index where the element of this row takes the place of best[i] */
#define CBX__ROWS(name, T, takes) void (*name)(size_t n, T * best, int64_t * where, const T *row, int64_t row_index);
    CBX__WINNER_MAP(CBX__ROWS)
#undef CBX__ROWS
#define CBX__RUNS(S, T)                                                                                                \
    /* sum of the squares of distances, as run_sum; [1]: NaN left out */                                               \
    double (*run_squares_##S[2])(const T *a, size_t n, double centre);                                                 \
    T (*run_max_##S)(const T *a, size_t n); /* n > 0 */                                                                \
    T (*run_min_##S)(const T *a, size_t n);                                                                            \
    T (*run_nanmax_##S)(const T *a, size_t n); /* NaN only if there is nothing else */                                 \
    T (*run_nanmin_##S)(const T *a, size_t n);                                                                         \
    size_t (*run_find_##S)(const T *a, size_t n, T x);       /* place of the first that equals x; n: none */           \
    double (*run_dot_##S)(const T *a, const T *b, size_t n); /* in float64, 16 sums joined pairwise */                 \
    /* acc[i] += element i of each of so many rows, `step` bytes apart, one after the other; n > 0 elements a row */   \
    void (*columns_sum_##S)(size_t n, double *acc, const void *first, ptrdiff_t step, size_t rows);                    \
    /* the same of squares of distances from centre[i]; [1]: NaN left out */                                           \
    void (*columns_squares_##S[2])(size_t n, double *acc, const void *first, ptrdiff_t step, size_t rows,              \
                                   const double *centre);
    CBX__RUNS(f64, double)
    CBX__RUNS(f32, float)
#undef CBX__RUNS
    /* in float64, in NumPy's tree: halves, the first rounded down to a multiple of 8, until
     * CBX__LEAF or fewer are left; these in 8 interleaved sums, joined pairwise; of nothing -0.0 */
    double (*run_sum_f32)(const float *a, size_t n);
    double (*run_sum_f64)(const double *a, size_t n);
    int64_t (*run_max_i64)(const int64_t *a, size_t n);
    int64_t (*run_min_i64)(const int64_t *a, size_t n);
    uint64_t (*run_max_u64)(const uint64_t *a, size_t n); /* of nothing 0 */
    size_t (*run_find_i64)(const int64_t *a, size_t n, int64_t x);
    uint64_t (*run_sum_u64)(const uint64_t *a, size_t n);
    uint64_t (*run_dot_u64)(const uint64_t *a, const uint64_t *b, size_t n);
    void (*run_axpy_u64)(size_t n, const void *a, const void *b, void *acc); /* acc[j] += *a b[j] */
    uint64_t (*run_sum_u8)(const uint8_t *a, size_t n);
    unsigned (*run_indices)(const int64_t *at, size_t n, size_t length); /* of an axis: what CBX__INDEX_... there is */
} cbx__fold;

/** Of an instruction set of this machine. */
const cbx__fold *cbx__fold_get(cbx_isa isa);

#endif
