/*
 * Inner loops of reductions of one instruction set: built once for each with other compiler flags (meson.build).
 *
 * No order of additions changes with the width of a vector: rows are summed element by element.  Extremes have no order,
 * but for NaN and the sign of zero, which a second look settles.
 */
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

typedef double vec __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));
typedef int64_t mask __attribute__((vector_size(VECTOR_BYTES), may_alias));
#define VECTORS 4
#define WIDTH   (VECTOR_BYTES / 8)

static inline __attribute__((always_inline)) vec choose(mask m, vec x, vec y)
{
    return (vec)(((mask)x & m) | ((mask)y & ~m));
}

static double first_nan(const double *a)
{
    while (*a == *a) a++;
    return *a;
}

/* Of two zeros the first. */
static double first_zero(const double *a)
{
    while (*a != 0) a++;
    return *a;
}

#define RUN(name, beats)                                                                                               \
    static double name(const double *a, size_t n)                                                                      \
    {                                                                                                                  \
        vec t[VECTORS];                                                                                                \
        mask nan = { 0 };                                                                                              \
        double best = a[0];                                                                                            \
        bool any_nan = false;                                                                                          \
        size_t i = 0;                                                                                                  \
        for (int v = 0; v < VECTORS; v++) t[v] = best - (vec){ 0 };                                                    \
        for (; i + VECTORS * WIDTH <= n; i += VECTORS * WIDTH)                                                         \
            _Pragma("GCC unroll 4") for (int v = 0; v < VECTORS; v++)                                                  \
            {                                                                                                          \
                const vec x = *(const vec *)(a + i + WIDTH * v);                                                       \
                __builtin_prefetch(a + i + WIDTH * v + CBX__AHEAD);                                                    \
                nan |= (mask)(x != x);                                                                                 \
                t[v] = choose((mask)(x beats t[v]), x, t[v]);                                                          \
            }                                                                                                          \
        for (; i < n; i++) {                                                                                           \
            any_nan |= a[i] != a[i];                                                                                   \
            best = a[i] beats best ? a[i] : best;                                                                      \
        }                                                                                                              \
        for (int l = 0; l < VECTORS * WIDTH; l++) {                                                                    \
            best = t[l / WIDTH][l % WIDTH] beats best ? t[l / WIDTH][l % WIDTH] : best;                                \
            any_nan |= nan[l % WIDTH] != 0;                                                                            \
        }                                                                                                              \
        if (any_nan) return first_nan(a);                                                                              \
        return best == 0 ? first_zero(a) : best;                                                                       \
    }
RUN(run_max_f64, >)
RUN(run_min_f64, <)

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
        const uint64_t from_least = (uint64_t)at[i] + length;
        negative |= (uint64_t)at[i];
        outside |= from_least | (2 * (uint64_t)length - 1 - from_least);
    }
    return (unsigned)(negative >> 63) * CBX__INDEX_NEGATIVE | (unsigned)(outside >> 63) * CBX__INDEX_OUTSIDE;
}

static size_t run_find_f64(const double *a, size_t n, double x)
{
    enum { BLOCK = 128 };
    size_t i = 0;

    for (; i + BLOCK <= n; i += BLOCK) {
        mask hit = { 0 };
        bool any = false;
        for (int k = 0; k < BLOCK; k += WIDTH) hit |= (mask)(*(const vec *)(a + i + k) == x);
        for (int l = 0; l < WIDTH; l++) any |= hit[l] != 0;
        if (any) break;
    }
    while (i < n && a[i] != x) i++;
    return i;
}

const cbx__fold PASTE(cbx__fold_, ISA_NAME) = {
#define ENTRY(name, T, step) .name = name,
    CBX__FOLD_MAP(ENTRY) CBX__WINNER_MAP(ENTRY).run_max_f64 = run_max_f64,
    .run_min_f64 = run_min_f64,
    .run_max_i64 = run_max_i64,
    .run_min_i64 = run_min_i64,
    .run_sum_u8 = run_sum_u8,
    .run_find_f64 = run_find_f64,
    .run_indices = run_indices,
};
