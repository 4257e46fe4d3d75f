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
typedef int64_t vec_i64 __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));
typedef mask_f64 mask_i64;
#define VECTORS  4
#define WIDTH(T) ((int)(VECTOR_BYTES / sizeof(T)))

/* Whether there was a NaN: masks where the instruction set has them, one compare for two vectors,
 * else lanes. */
#ifdef WATCH_START
#define NANS(S, F)                                                                                                     \
    typedef WATCH_TYPE_##F(vec_##S) nans_##S;                                                                          \
    INLINE nans_##S no_nans_##S(void) { return WATCH_START(nans_##S); }                                                \
    INLINE nans_##S watch_##S(nans_##S w, vec_##S x, vec_##S y) { return WATCH_##F(w, x, y); }                         \
    INLINE bool has_nans_##S(nans_##S w) { return HAS_SEEN_##F(w); }
#else
#define NANS(S, F)                                                                                                     \
    typedef mask_##S nans_##S;                                                                                         \
    INLINE nans_##S no_nans_##S(void) { return (nans_##S){ 0 }; }                                                      \
    INLINE nans_##S watch_##S(nans_##S w, vec_##S x, vec_##S y)                                                        \
    {                                                                                                                  \
        return w | (mask_##S)(x != x) | (mask_##S)(y != y);                                                            \
    }                                                                                                                  \
    INLINE bool has_nans_##S(nans_##S w) { return any_lane((mask_f64)w); }
#endif
INLINE bool any_lane(mask_f64 hit)
{
    int64_t any = 0;

    for (int l = 0; l < WIDTH(int64_t); l++) any |= hit[l];
    return any != 0;
}
NANS(f64, F64)
NANS(f32, F32)
#define PICK_f64(m, x, y) (vec_f64)(((mask_f64)(x) & (mask_f64)(m)) | ((mask_f64)(y) & ~(mask_f64)(m)))
#define PICK_f32(m, x, y) (vec_f32)(((mask_f32)(x) & (mask_f32)(m)) | ((mask_f32)(y) & ~(mask_f32)(m)))

/* The largest or least of n > 0 elements; of two zeros the first, of NaN the first. */
#define RUN(name, S, F, T, op, beats)                                                                                  \
    static T name(const T *a, size_t n)                                                                                \
    {                                                                                                                  \
        vec_##S t[VECTORS];                                                                                            \
        nans_##S nans = no_nans_##S();                                                                                 \
        T best = a[0];                                                                                                 \
        bool any_nan = false;                                                                                          \
        size_t i = 0;                                                                                                  \
        if (n < VECTORS * WIDTH(T)) { /* the lanes would cost more */                                                  \
            for (; i < n && best == best; i++) best = a[i] beats best || a[i] != a[i] ? a[i] : best;                   \
            return best;                                                                                               \
        }                                                                                                              \
        for (int v = 0; v < VECTORS; v++) t[v] = best - (vec_##S){ 0 };                                                \
        for (; i + VECTORS * WIDTH(T) <= n; i += VECTORS * WIDTH(T))                                                   \
            _Pragma("GCC unroll 4") for (int v = 0; v < VECTORS; v += 2)                                               \
            {                                                                                                          \
                const vec_##S *at = (const vec_##S *)(a + i + WIDTH(T) * v), x = at[0], y = at[1];                     \
                __builtin_prefetch(a + i + WIDTH(T) * v + CBX__AHEAD);                                                 \
                __builtin_prefetch(a + i + WIDTH(T) * (v + 1) + CBX__AHEAD);                                           \
                nans = watch_##S(nans, x, y);                                                                          \
                t[v] = MINMAX_##F(vec_##S, PICK_##S, op, x, t[v], beats);                                              \
                t[v + 1] = MINMAX_##F(vec_##S, PICK_##S, op, y, t[v + 1], beats);                                      \
            }                                                                                                          \
        for (int v = 1; v < VECTORS; v++) t[0] = MINMAX_##F(vec_##S, PICK_##S, op, t[v], t[0], beats);                 \
        for (; i < n; i++) {                                                                                           \
            any_nan |= a[i] != a[i];                                                                                   \
            best = a[i] beats best ? a[i] : best;                                                                      \
        }                                                                                                              \
        for (int l = 0; l < WIDTH(T); l++) best = t[0][l] beats best ? t[0][l] : best;                                 \
        i = 0;                                                                                                         \
        if (any_nan || has_nans_##S(nans))                                                                             \
            while (a[i] == a[i]) i++;                                                                                  \
        else if (best != 0)                                                                                            \
            return best;                                                                                               \
        else                                                                                                           \
            while (a[i] != 0) i++;                                                                                     \
        return a[i];                                                                                                   \
    }
/* The same of numbers; NaN only if there is nothing else. */
#define RUN_OF_NUMBERS(name, S, T, beats)                                                                              \
    static T name(const T *a, size_t n)                                                                                \
    {                                                                                                                  \
        vec_##S t[VECTORS];                                                                                            \
        T best = a[0];                                                                                                 \
        size_t i = 0;                                                                                                  \
        if (n < VECTORS * WIDTH(T)) {                                                                                  \
            for (; i < n; i++) best = a[i] beats best || best != best ? a[i] : best;                                   \
            return best;                                                                                               \
        }                                                                                                              \
        for (int v = 0; v < VECTORS; v++) t[v] = best - (vec_##S){ 0 };                                                \
        for (; i + VECTORS * WIDTH(T) <= n; i += VECTORS * WIDTH(T))                                                   \
            _Pragma("GCC unroll 4") for (int v = 0; v < VECTORS; v++)                                                  \
            {                                                                                                          \
                const vec_##S x = *(const vec_##S *)(a + i + WIDTH(T) * v);                                            \
                __builtin_prefetch(a + i + WIDTH(T) * v + CBX__AHEAD);                                                 \
                t[v] = PICK_##S((mask_##S)(x beats t[v]) | (mask_##S)(t[v] != t[v]), x, t[v]);                         \
            }                                                                                                          \
        for (int v = 1; v < VECTORS; v++)                                                                              \
            t[0] = PICK_##S((mask_##S)(t[v] beats t[0]) | (mask_##S)(t[0] != t[0]), t[v], t[0]);                       \
        for (; i < n; i++) best = a[i] beats best || best != best ? a[i] : best;                                       \
        for (int l = 0; l < WIDTH(T); l++) best = t[0][l] beats best || best != best ? t[0][l] : best;                 \
        if (best != 0) return best;                                                                                    \
        for (i = 0; a[i] != 0;) i++;                                                                                   \
        return a[i];                                                                                                   \
    }
#define FIND(name, S, T)                                                                                               \
    static size_t name(const T *a, size_t n, T x)                                                                      \
    {                                                                                                                  \
        enum { BLOCK = 128 };                                                                                          \
        size_t i = 0;                                                                                                  \
        for (; i + BLOCK <= n; i += BLOCK) {                                                                           \
            mask_##S hit = { 0 };                                                                                      \
            for (int k = 0; k < BLOCK; k += WIDTH(T)) hit |= (mask_##S)(*(const vec_##S *)(a + i + k) == x);           \
            if (any_lane((mask_f64)hit)) break;                                                                        \
        }                                                                                                              \
        while (i < n && a[i] != x) i++;                                                                                \
        return i;                                                                                                      \
    }
#define RUNS(S, F, T)                                                                                                  \
    RUN(run_max_##S, S, F, T, max, >)                                                                                  \
    RUN(run_min_##S, S, F, T, min, <)                                                                                  \
    RUN_OF_NUMBERS(run_nanmax_##S, S, T, >)                                                                            \
    RUN_OF_NUMBERS(run_nanmin_##S, S, T, <)                                                                            \
    FIND(run_find_##S, S, T)
RUNS(f64, F64, double)
RUNS(f32, F32, float)
FIND(run_find_i64, i64, int64_t)

/* Sums in NumPy's tree.  The additions of a leaf wait for each other, so STREAMS leaves are summed
 * side by side, and LEAVES of them joined at once; each result is as if its leaf were alone. */
typedef double eight __attribute__((vector_size(64), aligned(8), may_alias));
typedef int64_t eight_mask __attribute__((vector_size(64)));
typedef float eight_f32 __attribute__((vector_size(32), aligned(4), may_alias));
enum { LEAVES = 8, STREAMS = VECTOR_BYTES >= 64 ? LEAVES : LEAVES / 2 };

#pragma GCC diagnostic ignored "-Wpsabi" /* eights wider than a register pass between inline functions alone */
INLINE eight load_f64(const double *a) { return *(const eight *)a; }
/* load_some: n < 8 elements and zeros behind them */
#if VECTOR_BYTES >= 64
INLINE eight load_f32(const float *a) { return (eight)_mm512_cvtps_pd(_mm256_loadu_ps(a)); } /* GCC converts halves */
INLINE eight load_some_f64(const double *a, size_t n)
{
    return (eight)_mm512_maskz_loadu_pd((__mmask8)((1u << n) - 1), a);
}
INLINE eight load_some_f32(const float *a, size_t n)
{
    return (eight)_mm512_cvtps_pd(_mm256_maskz_loadu_ps((__mmask8)((1u << n) - 1), a));
}
#else
INLINE eight load_f32(const float *a) { return __builtin_convertvector(*(const eight_f32 *)a, eight); }
#define LOAD_SOME(S, T)                                                                                                \
    INLINE eight load_some_##S(const T *a, size_t n)                                                                   \
    {                                                                                                                  \
        T x[8] = { 0 };                                                                                                \
        for (size_t i = 0; i < n; i++) x[i] = a[i];                                                                    \
        return load_##S(x);                                                                                            \
    }
LOAD_SOME(f64, double)
LOAD_SOME(f32, float)
#endif

/* No sum is -0, so zeros behind the last element change none. */
#define DOT(S, T)                                                                                                      \
    static double run_dot_##S(const T *a, const T *b, size_t n)                                                        \
    {                                                                                                                  \
        eight low = { 0 }, high = { 0 };                                                                               \
        for (; n >= 16; n -= 16, a += 16, b += 16) {                                                                   \
            low += load_##S(a) * load_##S(b);                                                                          \
            high += load_##S(a + 8) * load_##S(b + 8);                                                                 \
        }                                                                                                              \
        if (n >= 8) {                                                                                                  \
            low += load_##S(a) * load_##S(b);                                                                          \
            high += load_some_##S(a + 8, n - 8) * load_some_##S(b + 8, n - 8);                                         \
        } else {                                                                                                       \
            low += load_some_##S(a, n) * load_some_##S(b, n);                                                          \
        }                                                                                                              \
        low += high;                                                                                                   \
        low += __builtin_shufflevector(low, low, 4, 5, 6, 7, 0, 1, 2, 3);                                              \
        low += __builtin_shufflevector(low, low, 2, 3, 0, 1, 6, 7, 4, 5);                                              \
        return low[0] + low[1];                                                                                        \
    }
DOT(f64, double)
DOT(f32, float)

INLINE double join(eight r)
{
    r += __builtin_shufflevector(r, r, 1, 0, 3, 2, 5, 4, 7, 6);
    r += __builtin_shufflevector(r, r, 2, 3, 0, 1, 6, 7, 4, 5);
    return r[0] + r[4];
}
INLINE eight join_lanes(eight a, eight b)
{
    return __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14) +
           __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
}
INLINE eight join_pairs(eight a, eight b)
{
    return __builtin_shufflevector(a, b, 0, 1, 4, 5, 8, 9, 12, 13) +
           __builtin_shufflevector(a, b, 2, 3, 6, 7, 10, 11, 14, 15);
}
/* join(r[k]) in lane k */
INLINE eight join_each(const eight *r)
{
    return join_pairs(join_pairs(join_lanes(r[0], r[1]), join_lanes(r[2], r[3])),
                      join_pairs(join_lanes(r[4], r[5]), join_lanes(r[6], r[7])));
}

INLINE size_t left_half(size_t n) { return n / 2 - n / 2 % 8; }

/* Where the leaves of a tree of n elements begin; false: it has not LEAVES of them, all at the same
 * depth.  The first leaf is the shortest, the last, which alone may have other than a multiple of 8
 * elements, the longest. */
INLINE bool find_leaves(size_t n, size_t *at)
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
    INLINE double name##_leaves(const T *a, const size_t *at EXTRA)                                                    \
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

/* Sums of columns, rows one after the other; four of them for each reading and writing of a sum. */
#define COLUMNS(S, T, name, term, EXTRA)                                                                               \
    static void name(size_t n, double *restrict acc, const void *first, ptrdiff_t step, size_t rows EXTRA)             \
    {                                                                                                                  \
        const char *at = first;                                                                                        \
        for (; rows >= 4; rows -= 4, at += 4 * step) {                                                                 \
            const T *a = (const T *)(const void *)at, *b = (const T *)(const void *)(at + step);                       \
            const T *c = (const T *)(const void *)(at + 2 * step), *d = (const T *)(const void *)(at + 3 * step);      \
            for (size_t i = 0; i < n; i++) acc[i] = (((acc[i] + term(a[i])) + term(b[i])) + term(c[i])) + term(d[i]);  \
        }                                                                                                              \
        for (; rows > 0; rows--, at += step) {                                                                         \
            const T *a = (const T *)(const void *)at;                                                                  \
            for (size_t i = 0; i < n; i++) acc[i] += term(a[i]);                                                       \
        }                                                                                                              \
    }
#define WIDE(x)        ((double)(x))
#define FROM_CENTRE(x) (((double)(x)-centre[i]) * ((double)(x)-centre[i]))
#define NUMBERS(x)     ((x) == (x) ? FROM_CENTRE(x) : 0.0)
#define COMMA_CENTRE   , const double *restrict centre
#define COLUMN_SUMS(S, T)                                                                                              \
    COLUMNS(S, T, columns_sum_##S, WIDE, )                                                                             \
    COLUMNS(S, T, columns_squares_##S, FROM_CENTRE, COMMA_CENTRE)                                                      \
    COLUMNS(S, T, columns_nansquares_##S, NUMBERS, COMMA_CENTRE)
COLUMN_SUMS(f64, double)
COLUMN_SUMS(f32, float)

#define RUN_INT(name, T, start, step)                                                                                  \
    static T name(const T *a, size_t n)                                                                                \
    {                                                                                                                  \
        enum { LANES = VECTORS * WIDTH(T) };                                                                           \
        T lane[LANES], t = start;                                                                                      \
        size_t i = 0;                                                                                                  \
        for (int l = 0; l < LANES; l++) lane[l] = start;                                                               \
        for (; i + LANES <= n; i += LANES)                                                                             \
            for (int l = 0; l < LANES; l++) {                                                                          \
                const T x = a[i + (size_t)l];                                                                          \
                t = lane[l];                                                                                           \
                lane[l] = step;                                                                                        \
            }                                                                                                          \
        t = start;                                                                                                     \
        for (int l = 0; l < LANES; l++) {                                                                              \
            const T x = lane[l];                                                                                       \
            t = step;                                                                                                  \
        }                                                                                                              \
        for (; i < n; i++) {                                                                                           \
            const T x = a[i];                                                                                          \
            t = step;                                                                                                  \
        }                                                                                                              \
        return t;                                                                                                      \
    }
RUN_INT(run_max_i64, int64_t, INT64_MIN, x > t ? x : t)
RUN_INT(run_min_i64, int64_t, INT64_MAX, x < t ? x : t)
RUN_INT(run_max_u64, uint64_t, 0, x > t ? x : t)
RUN_INT(run_sum_u64, uint64_t, 0, t + x)

static uint64_t run_dot_u64(const uint64_t *a, const uint64_t *b, size_t n)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static void run_axpy_u64(size_t n, const void *a, const void *b, void *acc)
{
    const uint64_t x = *(const uint64_t *)a, *y = b;
    uint64_t *restrict to = acc;

    for (size_t j = 0; j < n; j++) to[j] += x * y[j];
}

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
    .run_squares_##S = { run_squares_##S, run_nansquares_##S }, .columns_sum_##S = columns_sum_##S,                    \
    .columns_squares_##S = { columns_squares_##S, columns_nansquares_##S },
    CBX__FOLD_MAP(ENTRY) CBX__WINNER_MAP(ENTRY) ENTRIES(f64) ENTRIES(f32).run_sum_f32 = run_sum_f32,
    .run_sum_f64 = run_sum_f64,
    .run_find_i64 = run_find_i64,
    .run_sum_u64 = run_sum_u64,
    .run_dot_u64 = run_dot_u64,
    .run_axpy_u64 = run_axpy_u64,
    .run_max_i64 = run_max_i64,
    .run_min_i64 = run_min_i64,
    .run_max_u64 = run_max_u64,
    .run_sum_u8 = run_sum_u8,
    .run_indices = run_indices,
};
