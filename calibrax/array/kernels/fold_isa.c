/* Inner loops of reductions of one instruction set: built once for each with other compiler flags
 * (meson.build).
 *
 * No order of additions changes with the width of a vector: rows are summed element by element.
 * Extremes have no order, but for NaN and the sign of zero, which a second scan decides. */
#include "calibrax/array/kernels/fold.h"

#include "calibrax/array/kernels/isa_name.h"

#define ROWS(name, T, step)                                                                                            \
    static void name(size_t n, T *restrict acc, const T *restrict row)                                                 \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const T t = acc[i], x = row[i];                                                                            \
            acc[i] = (T)(step);                                                                                        \
        }                                                                                                              \
    }
CBX__FOLD_MAP(ROWS)
#undef ROWS

#define ROWS(name, T, takes)                                                                                           \
    static void name(size_t n, T *restrict best, int64_t *restrict where, const T *restrict row, int64_t row_index)    \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const T t = best[i], x = row[i];                                                                           \
            const bool wins = takes;                                                                                   \
            best[i] = wins ? x : t;                                                                                    \
            where[i] = wins ? row_index : where[i];                                                                    \
        }                                                                                                              \
    }
CBX__WINNER_MAP(ROWS)
#undef ROWS

typedef double vec_f64 __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));
typedef int64_t mask_f64 __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef float vec_f32 __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef int32_t mask_f32 __attribute__((vector_size(VECTOR_BYTES), may_alias));
#define VECTORS  4
#define WIDTH(T) ((int)(VECTOR_BYTES / sizeof(T)))

/* Of two zeros the first; NaN against all, or (nan 0) only if there is nothing else. */
#define RUN(name, S, T, beats, nan)                                                                                    \
    static T name(const T *a, size_t n)                                                                                \
    {                                                                                                                  \
        vec_##S t[VECTORS];                                                                                            \
        mask_##S any = { 0 };                                                                                          \
        T best = a[0];                                                                                                 \
        bool any_nan = false;                                                                                          \
        size_t i = 0;                                                                                                  \
        for (int v = 0; v < VECTORS; v++) t[v] = best - (vec_##S){ 0 };                                                \
        for (; i + VECTORS * WIDTH(T) <= n; i += VECTORS * WIDTH(T))                                                   \
            _Pragma("GCC unroll 4") for (int v = 0; v < VECTORS; v++)                                                  \
            {                                                                                                          \
                const vec_##S x = *(const vec_##S *)(a + i + WIDTH(T) * v);                                            \
                const mask_##S takes = (mask_##S)(x beats t[v]) | (nan ? (mask_##S){ 0 } : (mask_##S)(t[v] != t[v]));  \
                __builtin_prefetch(a + i + WIDTH(T) * v + CBX__AHEAD);                                                 \
                if (nan) any |= (mask_##S)(x != x);                                                                    \
                t[v] = (vec_##S)(((mask_##S)x & takes) | ((mask_##S)t[v] & ~takes));                                   \
            }                                                                                                          \
        for (; i < n; i++) {                                                                                           \
            any_nan |= a[i] != a[i];                                                                                   \
            best = a[i] beats best || (!nan && best != best) ? a[i] : best;                                            \
        }                                                                                                              \
        for (int l = 0; l < VECTORS * WIDTH(T); l++) {                                                                 \
            const T x = t[l / WIDTH(T)][l % WIDTH(T)];                                                                 \
            best = x beats best || (!nan && best != best) ? x : best;                                                  \
            any_nan |= any[l % WIDTH(T)] != 0;                                                                         \
        }                                                                                                              \
        i = 0;                                                                                                         \
        if (nan && any_nan)                                                                                            \
            while (a[i] == a[i]) i++;                                                                                  \
        else if (best != 0)                                                                                            \
            return best;                                                                                               \
        else                                                                                                           \
            while (a[i] != 0) i++;                                                                                     \
        return a[i];                                                                                                   \
    }
#define FIND(name, S, T)                                                                                               \
    static size_t name(const T *a, size_t n, T x)                                                                      \
    {                                                                                                                  \
        enum { BLOCK = 128 };                                                                                          \
        size_t i = 0;                                                                                                  \
        for (; i + BLOCK <= n; i += BLOCK) {                                                                           \
            mask_##S hit = { 0 };                                                                                      \
            bool any = false;                                                                                          \
            for (int k = 0; k < BLOCK; k += WIDTH(T)) hit |= (mask_##S)(*(const vec_##S *)(a + i + k) == x);           \
            for (int l = 0; l < WIDTH(T); l++) any |= hit[l] != 0;                                                     \
            if (any) break;                                                                                            \
        }                                                                                                              \
        while (i < n && a[i] != x) i++;                                                                                \
        return i;                                                                                                      \
    }
#define DOT(name, T)                                                                                                   \
    static double name(const T *a, const T *b, size_t n)                                                               \
    {                                                                                                                  \
        double part[16] = { 0 };                                                                                       \
        size_t k = 0;                                                                                                  \
        for (; k + 16 <= n; k += 16)                                                                                   \
            for (size_t l = 0; l < 16; l++) part[l] += (double)a[k + l] * (double)b[k + l];                            \
        for (; k < n; k++) part[k % 16] += (double)a[k] * (double)b[k];                                                \
        for (size_t l = 8; l > 0; l /= 2)                                                                              \
            for (size_t i = 0; i < l; i++) part[i] += part[i + l];                                                     \
        return part[0];                                                                                                \
    }
#define RUNS(S, T)                                                                                                     \
    RUN(run_max_##S, S, T, >, 1)                                                                                       \
    RUN(run_min_##S, S, T, <, 1)                                                                                       \
    RUN(run_nanmax_##S, S, T, >, 0)                                                                                    \
    RUN(run_nanmin_##S, S, T, <, 0)                                                                                    \
    FIND(run_find_##S, S, T)                                                                                           \
    DOT(run_dot_##S, T)
RUNS(f64, double)
RUNS(f32, float)

/* 8 sums joined pairwise; e(x) of the elements. */
#define EIGHTS(name, T, e)                                                                                             \
    static double name(const T *a, size_t n EXTRA)                                                                     \
    {                                                                                                                  \
        double r[8], sum = -0.0;                                                                                       \
        size_t i = 0;                                                                                                  \
        if (n >= 8) {                                                                                                  \
            for (size_t k = 0; k < 8; k++) r[k] = e((double)a[k]);                                                     \
            for (i = 8; i < n - n % 8; i += 8)                                                                         \
                for (size_t k = 0; k < 8; k++) r[k] += e((double)a[i + k]);                                            \
            sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));                                   \
        }                                                                                                              \
        for (; i < n; i++) sum += e((double)a[i]);                                                                     \
        return sum;                                                                                                    \
    }
#define SAME(x)    (x)
#define SQUARE(x)  (((x)-centre) * ((x)-centre))
#define SKIPPED(x) ((x) == (x) ? SQUARE(x) : 0.0)
#define EXTRA
EIGHTS(run_sum_f32, float, SAME)
EIGHTS(run_sum_f64, double, SAME)
#undef EXTRA
#define EXTRA , double centre
EIGHTS(run_squares_f32, float, SQUARE)
EIGHTS(run_squares_f64, double, SQUARE)
EIGHTS(run_nansquares_f32, float, SKIPPED)
EIGHTS(run_nansquares_f64, double, SKIPPED)
#undef EXTRA

static void widen_f32(size_t n, double *restrict acc, const float *restrict row)
{
    for (size_t i = 0; i < n; i++) acc[i] += (double)row[i];
}

#define RUN_INT(name, T, start, step)                                                                                  \
    static T name(const T *a, size_t n)                                                                                \
    {                                                                                                                  \
        T t = start;                                                                                                   \
        for (size_t i = 0; i < n; i++) t = step;                                                                       \
        return t;                                                                                                      \
    }
RUN_INT(run_max_i64, int64_t, INT64_MIN, a[i] > t ? a[i] : t)
RUN_INT(run_min_i64, int64_t, INT64_MAX, a[i] < t ? a[i] : t)

static uint64_t run_sum_u8(const uint8_t *a, size_t n)
{
    uint64_t sum = 0;

    while (n > 0) { /* short sums have narrow, and so more, lanes */
        const size_t m = n < 4096 ? n : 4096;
        uint32_t part = 0;
        for (size_t k = 0; k < m; k++) part += a[k];
        sum += part;
        a += m;
        n -= m;
    }
    return sum;
}

/* By the top bits of sums: comparisons of 64 bits are what narrow vectors lack. */
static unsigned run_indices(const int64_t *at, size_t n, size_t length)
{
    uint64_t negative = 0, outside = 0;

    for (size_t i = 0; i < n; i++) {
        const uint64_t from_min = (uint64_t)at[i] + length;
        negative |= (uint64_t)at[i];
        outside |= from_min | (2 * (uint64_t)length - 1 - from_min);
    }
    return (unsigned)(negative >> 63) * CBX__INDEX_NEGATIVE | (unsigned)(outside >> 63) * CBX__INDEX_OUTSIDE;
}

const cbx__fold PASTE(cbx__fold_, ISA_NAME) = {
#define ENTRY(name, T, step) .name = name,
#define ENTRIES(S)                                                                                                     \
    .run_max_##S = run_max_##S, .run_min_##S = run_min_##S, .run_nanmax_##S = run_nanmax_##S,                          \
    .run_nanmin_##S = run_nanmin_##S, .run_find_##S = run_find_##S, .run_dot_##S = run_dot_##S,                        \
    .run_squares_##S = { run_squares_##S, run_nansquares_##S },
    CBX__FOLD_MAP(ENTRY) CBX__WINNER_MAP(ENTRY) ENTRIES(f64) ENTRIES(f32).run_sum_f32 = run_sum_f32,
    .run_sum_f64 = run_sum_f64,
    .widen_f32 = widen_f32,
    .run_max_i64 = run_max_i64,
    .run_min_i64 = run_min_i64,
    .run_sum_u8 = run_sum_u8,
    .run_indices = run_indices,
};
