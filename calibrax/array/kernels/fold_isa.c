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
        if (n < VECTORS * WIDTH(T)) { /* the lanes would cost more */                                                  \
            for (; i < n && !(nan && best != best); i++)                                                               \
                best = a[i] beats best || (nan ? a[i] != a[i] : best != best) ? a[i] : best;                           \
            return best;                                                                                               \
        }                                                                                                              \
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

/* Sums in NumPy's tree.  The additions of a leaf wait for each other, so STREAMS leaves are summed side by side, and LEAVES of them
 * joined at once; each result is as if its leaf were alone. */
typedef double eight __attribute__((vector_size(64), aligned(8), may_alias));
typedef int64_t eight_mask __attribute__((vector_size(64)));
typedef float eight_f32 __attribute__((vector_size(32), aligned(4), may_alias));
enum { LEAVES = 8, STREAMS = VECTOR_BYTES >= 64 ? LEAVES : LEAVES / 2 };

#pragma GCC diagnostic ignored "-Wpsabi" /* eights wider than a register pass between inline functions alone */
#define ALWAYS static inline __attribute__((always_inline))
ALWAYS eight load_f64(const double *a) { return *(const eight *)a; }
ALWAYS eight load_f32(const float *a) { return __builtin_convertvector(*(const eight_f32 *)a, eight); }

ALWAYS double join(eight r)
{
    r += __builtin_shufflevector(r, r, 1, 0, 3, 2, 5, 4, 7, 6);
    r += __builtin_shufflevector(r, r, 2, 3, 0, 1, 6, 7, 4, 5);
    return r[0] + r[4];
}
ALWAYS eight join_lanes(eight a, eight b)
{
    return __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14) +
           __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
}
ALWAYS eight join_pairs(eight a, eight b)
{
    return __builtin_shufflevector(a, b, 0, 1, 4, 5, 8, 9, 12, 13) +
           __builtin_shufflevector(a, b, 2, 3, 6, 7, 10, 11, 14, 15);
}
/* join(r[k]) in lane k */
ALWAYS eight join_each(const eight *r)
{
    return join_pairs(join_pairs(join_lanes(r[0], r[1]), join_lanes(r[2], r[3])),
                      join_pairs(join_lanes(r[4], r[5]), join_lanes(r[6], r[7])));
}

ALWAYS size_t left_half(size_t n) { return n / 2 - n / 2 % 8; }

/* Where the leaves of a tree of n elements begin; false: it has not LEAVES of them, all at the same depth.  The first leaf
 * is the shortest, the last, which alone may have other than a multiple of 8 elements, the longest. */
ALWAYS bool find_leaves(size_t n, size_t *at)
{
    at[0] = 0;
    at[4] = left_half(n);
    at[8] = n;
    at[2] = left_half(at[4]);
    at[6] = at[4] + left_half(n - at[4]);
    _Pragma("GCC unroll 4") for (int k = 1; k < LEAVES; k += 2) at[k] = at[k - 1] + left_half(at[k + 1] - at[k - 1]);
    return at[2] > CBX__LEAF && n - at[7] <= CBX__LEAF;
}

/* name, T, S; of an element x and of eight of them: one(x), all(x) */
#define SUMS(name, T, S, one, all)                                                                                     \
    static double name##_leaf(const T *a, size_t n EXTRA)                                                              \
    {                                                                                                                  \
        eight r;                                                                                                       \
        double sum = -0.0;                                                                                             \
        size_t i = 0;                                                                                                  \
        if (n >= 8) {                                                                                                  \
            r = all(load_##S(a));                                                                                      \
            _Pragma("GCC unroll 4") for (i = 8; i + 8 <= n; i += 8) r += all(load_##S(a + i));                         \
            sum = join(r);                                                                                             \
        }                                                                                                              \
        for (; i < n; i++) sum += one((double)a[i]);                                                                   \
        return sum;                                                                                                    \
    }                                                                                                                  \
    ALWAYS double name##_leaves(const T *a, const size_t *at EXTRA)                                                    \
    {                                                                                                                  \
        eight r[LEAVES], sums;                                                                                         \
        size_t tail = at[LEAVES] - at[LEAVES] % 8;                                                                     \
        for (int g = 0; g < LEAVES; g += STREAMS) {                                                                    \
            eight t[STREAMS];                                                                                          \
            const T *p[STREAMS];                                                                                       \
            size_t i = 8;                                                                                              \
            _Pragma("GCC unroll 8") for (int k = 0; k < STREAMS; k++) p[k] = a + at[g + k];                            \
            _Pragma("GCC unroll 8") for (int k = 0; k < STREAMS; k++) t[k] = all(load_##S(p[k]));                      \
            for (; i < at[1]; i += 8)                                                                                  \
                _Pragma("GCC unroll 8") for (int k = 0; k < STREAMS; k++) t[k] += all(load_##S(p[k] + i));             \
            _Pragma("GCC unroll 8") for (int k = 0; k < STREAMS; k++)                                                  \
            {                                                                                                          \
                for (i = at[1]; i + 8 <= at[g + k + 1] - at[g + k]; i += 8) t[k] += all(load_##S(p[k] + i));           \
                r[g + k] = t[k];                                                                                       \
            }                                                                                                          \
        }                                                                                                              \
        sums = join_each(r);                                                                                           \
        for (; tail < at[LEAVES]; tail++) sums[LEAVES - 1] += one((double)a[tail]);                                    \
        return join(sums);                                                                                             \
    }                                                                                                                  \
    static double name(const T *a, size_t n EXTRA)                                                                     \
    {                                                                                                                  \
        static const size_t whole[] = { 0, 128, 256, 384, 512, 640, 768, 896, 1024 };                                  \
        const size_t half = left_half(n);                                                                              \
        size_t at[LEAVES + 1];                                                                                         \
        if (n == LEAVES * CBX__LEAF) return name##_leaves(a, whole GIVEN);                                             \
        if (n <= CBX__LEAF) return name##_leaf(a, n GIVEN);                                                            \
        if (n < LEAVES * CBX__LEAF && find_leaves(n, at)) return name##_leaves(a, at GIVEN);                           \
        return name(a, half GIVEN) + name(a + half, n - half GIVEN);                                                   \
    }
#define SAME(x)        (x)
#define SQUARE(x)      (((x)-centre) * ((x)-centre))
#define SKIPPED(x)     ((x) == (x) ? SQUARE(x) : 0.0)
#define ALL_SKIPPED(x) ((eight)((eight_mask)SQUARE(x) & ((x) == (x))))
#define EXTRA
#define GIVEN
SUMS(run_sum_f32, float, f32, SAME, SAME)
SUMS(run_sum_f64, double, f64, SAME, SAME)
#undef EXTRA
#undef GIVEN
#define EXTRA , double centre
#define GIVEN , centre
SUMS(run_squares_f32, float, f32, SQUARE, SQUARE)
SUMS(run_squares_f64, double, f64, SQUARE, SQUARE)
SUMS(run_nansquares_f32, float, f32, SKIPPED, ALL_SKIPPED)
SUMS(run_nansquares_f64, double, f64, SKIPPED, ALL_SKIPPED)
#undef EXTRA
#undef GIVEN

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
