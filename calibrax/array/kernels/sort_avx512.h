/* Partition and the sorting of few keys, eight at a time: included by sort_isa.c.
 *
 * Partition: each vector is permuted to have the keys below the pivot first, and is stored whole at
 * both ends of a gap that is kept open by eight vectors held in registers.  Few: eight columns by a
 * network, turned, and merged bitonically. Source: Batcher, AFIPS Spring Joint Comput. Conf. 32
 * (1968) 307-314; Knuth, TAOCP 3 (1998) 5.3.4. */
#include <immintrin.h>

#define FEW   128
#define LANES 8
#define BLOCK 4 /* vectors at a time */

static size_t work_words(size_t n)
{
    (void)n;
    return 0;
}

/* By the mask of the keys that are not below: their order within a vector, those below first.  A
 * byte each. */
#define BIT(m, i)   ((m) >> (i)&1)
#define BELOW(m, i) (BIT(m, i) ? 0 : (uint64_t)1)
#define RANK_LOW(m, i)                                                                                                 \
    (BELOW(m, 0) * ((i) > 0) + BELOW(m, 1) * ((i) > 1) + BELOW(m, 2) * ((i) > 2) + BELOW(m, 3) * ((i) > 3) +           \
     BELOW(m, 4) * ((i) > 4) + BELOW(m, 5) * ((i) > 5) + BELOW(m, 6) * ((i) > 6))
#define ALL_LOW(m)  (RANK_LOW(m, 7) + BELOW(m, 7))
#define PLACE(m, i) (BIT(m, i) ? ALL_LOW(m) + (i)-RANK_LOW(m, i) : RANK_LOW(m, i))
#define ORDER1(m)                                                                                                      \
    ((uint64_t)1 << 8 * PLACE(m, 1) | (uint64_t)2 << 8 * PLACE(m, 2) | (uint64_t)3 << 8 * PLACE(m, 3) |                \
     (uint64_t)4 << 8 * PLACE(m, 4) | (uint64_t)5 << 8 * PLACE(m, 5) | (uint64_t)6 << 8 * PLACE(m, 6) |                \
     (uint64_t)7 << 8 * PLACE(m, 7)),
#define ORDER4(m)  ORDER1(m) ORDER1(m + 1) ORDER1(m + 2) ORDER1(m + 3)
#define ORDER16(m) ORDER4(m) ORDER4(m + 4) ORDER4(m + 8) ORDER4(m + 12)
#define ORDER64(m) ORDER16(m) ORDER16(m + 16) ORDER16(m + 32) ORDER16(m + 48)
static const uint64_t orders[256] = { ORDER64(0) ORDER64(64) ORDER64(128) ORDER64(192) };

typedef struct ends {
    uint64_t *low, *high; /* the gap: everything below low and from high on is done */
    __m512i pivot;
} ends;

static inline __attribute__((always_inline)) void store_both(ends *e, __m512i v)
{
    const __mmask8 not_below = _mm512_cmpge_epu64_mask(v, e->pivot);
    const size_t above = (size_t)__builtin_popcount(not_below);
    const __m512i order = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)&orders[not_below]));
    const __m512i sorted = _mm512_permutexvar_epi64(order, v);

    _mm512_storeu_si512(e->low, sorted);
    _mm512_storeu_si512(e->high - LANES, sorted);
    e->low += LANES - above;
    e->high -= above;
}

/* Where the gap is narrow: only the lanes that count. */
static inline void store_last(ends *e, __m512i v, __mmask8 here)
{
    const __mmask8 above = _mm512_mask_cmpge_epu64_mask(here, v, e->pivot), below = here & (__mmask8)~above;

    const int nbelow = __builtin_popcount(below), nabove = __builtin_popcount(above);

    e->high -= nabove;
    _mm512_mask_storeu_epi64(e->low, (__mmask8)((1u << nbelow) - 1), _mm512_maskz_compress_epi64(below, v));
    _mm512_mask_storeu_epi64(e->high, (__mmask8)((1u << nabove) - 1), _mm512_maskz_compress_epi64(above, v));
    e->low += nbelow;
}

/* Up to n keys in vectors with the masks of their lanes; behind them the highest.  Where there is no lane the first address
 * is given: processors take long over a masked load from where nothing is mapped. */
static inline __attribute__((always_inline)) void load_some(const uint64_t *a, size_t n, int vectors, __m512i *v,
                                                            __mmask8 *here)
{
    for (int i = 0; i < vectors; i++) {
        const size_t lanes = n < LANES ? n : LANES;
        here[i] = (__mmask8)((1u << lanes) - 1);
        v[i] = _mm512_mask_loadu_epi64(_mm512_set1_epi64(-1), here[i], lanes ? a + LANES * i : a);
        n -= lanes;
    }
}

/* Keys below the pivot to the front; returns how many. */
static size_t partition(uint64_t *a, size_t n, uint64_t pivot, uint64_t *work)
{
    enum { STEP = BLOCK * LANES };
    ends e = { a, a + n, _mm512_set1_epi64((long long)pivot) };
    const uint64_t *left = a + STEP, *right = a + n - STEP; /* not yet read: left up to right */
    __m512i held[2 * BLOCK], v[BLOCK];
    __mmask8 here[2 * BLOCK];

    (void)work;
    if (n < 2 * STEP) {
        load_some(a, n, 2 * BLOCK, held, here);
        for (int i = 0; i < 2 * BLOCK; i++) store_last(&e, held[i], here[i]);
        return (size_t)(e.low - a);
    }
    for (int i = 0; i < BLOCK; i++) {
        held[i] = _mm512_loadu_si512(a + LANES * i);
        held[BLOCK + i] = _mm512_loadu_si512(right + LANES * i);
    }
    while (right - left >= STEP) {
        const uint64_t *from = left;
        if (left - e.low <= e.high - right)
            left += STEP;
        else
            from = right -= STEP;
        for (int i = 0; i < BLOCK; i++) v[i] = _mm512_loadu_si512(from + LANES * i);
        for (int i = 0; i < BLOCK; i++) store_both(&e, v[i]);
    }
    load_some(left, (size_t)(right - left), BLOCK, v, here);
    for (int i = 0; i < BLOCK; i++) store_last(&e, v[i], here[i]);
    for (int i = 0; i < 2 * BLOCK; i++) store_last(&e, held[i], 0xFF);
    return (size_t)(e.low - a);
}

#define EXCHANGE(x, y)                                                                                                 \
    do {                                                                                                               \
        const __m512i min_ = _mm512_min_epu64(x, y);                                                                   \
        y = _mm512_max_epu64(x, y);                                                                                    \
        x = min_;                                                                                                      \
    } while (0)

/* The 19 exchanges of the best network for eight. */
static inline __attribute__((always_inline)) void sort_columns(__m512i r[8])
{
    static const unsigned char pairs[19][2] = { { 0, 2 }, { 1, 3 }, { 4, 6 }, { 5, 7 }, { 0, 4 }, { 1, 5 }, { 2, 6 },
                                                { 3, 7 }, { 0, 1 }, { 2, 3 }, { 4, 5 }, { 6, 7 }, { 2, 4 }, { 3, 5 },
                                                { 1, 4 }, { 3, 6 }, { 1, 2 }, { 3, 4 }, { 5, 6 } };

    _Pragma("GCC unroll 19") for (int i = 0; i < 19; i++) EXCHANGE(r[pairs[i][0]], r[pairs[i][1]]);
}

static inline __attribute__((always_inline)) void transpose(__m512i r[8])
{
    __m512i t[8], u[8];

    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++)
    {
        t[2 * i] = _mm512_unpacklo_epi64(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_epi64(r[2 * i], r[2 * i + 1]);
    }
    _Pragma("GCC unroll 2") for (int h = 0; h < 2; h++) _Pragma("GCC unroll 2") for (int i = 0; i < 2; i++)
    {
        u[4 * h + i] = _mm512_shuffle_i64x2(t[4 * h + i], t[4 * h + i + 2], 0x88);
        u[4 * h + i + 2] = _mm512_shuffle_i64x2(t[4 * h + i], t[4 * h + i + 2], 0xDD);
    }
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++)
    {
        r[i] = _mm512_shuffle_i64x2(u[i], u[4 + i], 0x88);
        r[i + 4] = _mm512_shuffle_i64x2(u[i], u[4 + i], 0xDD);
    }
}

/* A bitonic vector into order. */
static inline __attribute__((always_inline)) __m512i merge_lanes(__m512i v)
{
    __m512i w = _mm512_shuffle_i64x2(v, v, 0x4E);
    v = _mm512_mask_max_epu64(_mm512_min_epu64(v, w), 0xF0, v, w);
    w = _mm512_permutex_epi64(v, 0x4E);
    v = _mm512_mask_max_epu64(_mm512_min_epu64(v, w), 0xCC, v, w);
    w = _mm512_shuffle_epi32(v, (_MM_PERM_ENUM)0x4E);
    return _mm512_mask_max_epu64(_mm512_min_epu64(v, w), 0xAA, v, w);
}

static inline __attribute__((always_inline)) __m512i reversed(__m512i v)
{
    return _mm512_permutexvar_epi64(_mm512_set_epi64(0, 1, 2, 3, 4, 5, 6, 7), v);
}

/* Two runs of n vectors, one behind the other, to one. */
static inline __attribute__((always_inline)) void merge_runs(__m512i *r, int n)
{
    _Pragma("GCC unroll 8") for (int i = 0; i < n; i++)
    {
        const __m512i x = r[i], y = reversed(r[2 * n - 1 - i]);
        r[i] = _mm512_min_epu64(x, y);
        r[2 * n - 1 - i] = _mm512_max_epu64(x, y);
    }
    _Pragma("GCC unroll 3") for (int d = 4; d > 0; d /= 2) _Pragma("GCC unroll 16") for (int i = 0; i < 2 * n; i++)
    {
        if (d < n && !(i & d)) EXCHANGE(r[i], r[i + d]);
    }
    _Pragma("GCC unroll 16") for (int i = 0; i < 2 * n; i++) r[i] = merge_lanes(r[i]);
}

static inline __attribute__((always_inline)) void sort_64(__m512i r[8])
{
    sort_columns(r);
    transpose(r);
    _Pragma("GCC unroll 4") for (int i = 0; i < 8; i += 2) merge_runs(r + i, 1);
    merge_runs(r, 2);
    merge_runs(r + 4, 2);
    merge_runs(r, 4);
}

static void sort_small(uint64_t *a, size_t n)
{
    const int vectors = n <= 64 ? 8 : 16;
    __mmask8 here[16];
    __m512i r[16];

    load_some(a, n, 8, r, here);
    sort_64(r);
    if (vectors == 16) {
        load_some(a + 64, n - 64, 8, r + 8, here + 8);
        sort_64(r + 8);
        merge_runs(r, 8);
    }
    for (int i = 0; i < vectors && here[i]; i++) _mm512_mask_storeu_epi64(a + (size_t)i * LANES, here[i], r[i]);
}
