/* Partition and the sorting of few keys, 64 bytes at a time: included by sort_quick.h once a width.
 *
 * Partition: the keys of each vector go to both ends of a gap, which is kept open by eight vectors
 * held in registers: those below the pivot to its front.  Few: eight columns by a network, turned
 * (of 64 bits; of 32 each vector by itself), and merged bitonically. Source: Batcher, AFIPS Spring
 * Joint Comput. Conf. 32 (1968) 307-314; Knuth, TAOCP 3 (1998) 5.3.4. */
#include <immintrin.h>

#define LANES               (512 / KEY_BITS)
#define FEW                 (16 * 512 / KEY_BITS) /* 16 vectors */
#define WORK(n)             0
#define BLOCK               4 /* vectors at a time */
#define JOINED(a, b, c)     a##b##c
#define INTRINSIC(a, b, c)  JOINED(_mm512_##a, b, c)
#define LANEWISE(name, end) INTRINSIC(name, KEY_BITS, end)
#define MASK                OF(__mmask16, __mmask8)
#define ALL_LANES           ((MASK)((1u << LANES) - 1))

typedef struct NAME(ends) {
    KEY *low, *high; /* the gap: everything below low and from high on is done */
    __m512i pivot;
} NAME(ends);

#if KEY_BITS == 64
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

/* A whole vector at both ends of the gap: the keys below the pivot in front, the others behind. */
INLINE void NAME(put_both)(KEY *low, KEY *high, __m512i v, MASK not_below)
{
    const __m128i order = _mm_loadl_epi64((const __m128i *)&orders[not_below]);
    const __m512i sorted = _mm512_permutexvar_epi64(_mm512_cvtepu8_epi64(order), v);

    _mm512_storeu_si512(low, sorted);
    _mm512_storeu_si512(high - LANES, sorted);
}
#else
INLINE void NAME(put_both)(KEY *low, KEY *high, __m512i v, MASK not_below)
{
    const int above = __builtin_popcount(not_below);

    _mm512_storeu_si512(low, _mm512_maskz_compress_epi32((MASK)~not_below, v));
    _mm512_mask_storeu_epi32(high - above, (MASK)((1u << above) - 1), _mm512_maskz_compress_epi32(not_below, v));
}
#endif

INLINE void NAME(store_both)(NAME(ends) * e, __m512i v)
{
    const MASK not_below = LANEWISE(cmpge_epu, _mask)(v, e->pivot);
    const size_t above = (size_t)__builtin_popcount(not_below);

    NAME(put_both)(e->low, e->high, v, not_below);
    e->low += LANES - above;
    e->high -= above;
}

/* Where the gap is narrow: only the lanes that count. */
static inline void NAME(store_last)(NAME(ends) * e, __m512i v, MASK here)
{
    const MASK above = LANEWISE(mask_cmpge_epu, _mask)(here, v, e->pivot), below = here & (MASK)~above;

    const int nbelow = __builtin_popcount(below), nabove = __builtin_popcount(above);

    e->high -= nabove;
    LANEWISE(mask_storeu_epi, )(e->low, (MASK)((1u << nbelow) - 1), LANEWISE(maskz_compress_epi, )(below, v));
    LANEWISE(mask_storeu_epi, )(e->high, (MASK)((1u << nabove) - 1), LANEWISE(maskz_compress_epi, )(above, v));
    e->low += nbelow;
}

/* Up to n keys in vectors with the masks of their lanes; behind them the highest.  Where there is
 * no lane the first address is given: processors take long over a masked load from where nothing
 * is mapped. */
INLINE void NAME(load_some)(const KEY *a, size_t n, int vectors, __m512i *v, MASK *here)
{
    for (int i = 0; i < vectors; i++) {
        const size_t lanes = n < LANES ? n : LANES;
        here[i] = (MASK)((1u << lanes) - 1);
        v[i] = LANEWISE(mask_loadu_epi, )(LANEWISE(set1_epi, )(-1), here[i], lanes ? a + LANES * i : a);
        n -= lanes;
    }
}

/* Keys below the pivot to the front; returns how many. */
static size_t NAME(partition)(KEY *a, size_t n, KEY pivot, KEY *work)
{
    enum { STEP = BLOCK * LANES };
    NAME(ends) e = { a, a + n, LANEWISE(set1_epi, )((SIGNED_KEY)pivot) };
    const KEY *left = a + STEP, *right = a + n - STEP; /* not yet read: left up to right */
    __m512i held[2 * BLOCK], v[BLOCK];
    MASK here[2 * BLOCK];

    (void)work;
    if (n < 2 * STEP) {
        NAME(load_some)(a, n, 2 * BLOCK, held, here);
        for (int i = 0; i < 2 * BLOCK; i++) NAME(store_last)(&e, held[i], here[i]);
        return (size_t)(e.low - a);
    }
    for (int i = 0; i < BLOCK; i++) {
        held[i] = _mm512_loadu_si512(a + LANES * i);
        held[BLOCK + i] = _mm512_loadu_si512(right + LANES * i);
    }
    while (right - left >= STEP) {
        const KEY *from = left;
        if (left - e.low <= e.high - right)
            left += STEP;
        else
            from = right -= STEP;
        for (int i = 0; i < BLOCK; i++) v[i] = _mm512_loadu_si512(from + LANES * i);
        for (int i = 0; i < BLOCK; i++) NAME(store_both)(&e, v[i]);
    }
    NAME(load_some)(left, (size_t)(right - left), BLOCK, v, here);
    for (int i = 0; i < BLOCK; i++) NAME(store_last)(&e, v[i], here[i]);
    for (int i = 0; i < 2 * BLOCK; i++) NAME(store_last)(&e, held[i], ALL_LANES);
    return (size_t)(e.low - a);
}

#define EXCHANGE(x, y)                                                                                                 \
    do {                                                                                                               \
        const __m512i min_ = LANEWISE(min_epu, )(x, y);                                                                \
        y = LANEWISE(max_epu, )(x, y);                                                                                 \
        x = min_;                                                                                                      \
    } while (0)

#if KEY_BITS == 64
/* The 19 exchanges of the best network for eight. */
INLINE void sort_columns(__m512i r[8])
{
    static const unsigned char pairs[19][2] = { { 0, 2 }, { 1, 3 }, { 4, 6 }, { 5, 7 }, { 0, 4 }, { 1, 5 }, { 2, 6 },
                                                { 3, 7 }, { 0, 1 }, { 2, 3 }, { 4, 5 }, { 6, 7 }, { 2, 4 }, { 3, 5 },
                                                { 1, 4 }, { 3, 6 }, { 1, 2 }, { 3, 4 }, { 5, 6 } };

    _Pragma("GCC unroll 19") for (int i = 0; i < 19; i++) EXCHANGE(r[pairs[i][0]], r[pairs[i][1]]);
}

INLINE void transpose(__m512i r[8])
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
INLINE __m512i NAME(merge_lanes)(__m512i v)
{
    __m512i w = _mm512_shuffle_i64x2(v, v, 0x4E);
    v = _mm512_mask_max_epu64(_mm512_min_epu64(v, w), 0xF0, v, w);
    w = _mm512_permutex_epi64(v, 0x4E);
    v = _mm512_mask_max_epu64(_mm512_min_epu64(v, w), 0xCC, v, w);
    w = _mm512_shuffle_epi32(v, (_MM_PERM_ENUM)0x4E);
    return _mm512_mask_max_epu64(_mm512_min_epu64(v, w), 0xAA, v, w);
}

INLINE __m512i NAME(reversed)(__m512i v)
{
    return _mm512_permutexvar_epi64(_mm512_set_epi64(0, 1, 2, 3, 4, 5, 6, 7), v);
}
#else
/* Lanes of v against those of w, the larger ones where the mask is set. */
INLINE __m512i exchange_lanes(__m512i v, __m512i w, __mmask16 larger)
{
    return _mm512_mask_max_epu32(_mm512_min_epu32(v, w), larger, v, w);
}

/* Runs of four lanes, each bitonic, into order. */
INLINE __m512i merge_fours(__m512i v)
{
    v = exchange_lanes(v, _mm512_shuffle_epi32(v, (_MM_PERM_ENUM)0x4E), 0xCCCC);
    return exchange_lanes(v, _mm512_shuffle_epi32(v, (_MM_PERM_ENUM)0xB1), 0xAAAA);
}

INLINE __m512i NAME(merge_lanes)(__m512i v)
{
    v = exchange_lanes(v, _mm512_shuffle_i64x2(v, v, 0x4E), 0xFF00);
    v = exchange_lanes(v, _mm512_shuffle_i64x2(v, v, 0xB1), 0xF0F0);
    return merge_fours(v);
}

INLINE __m512i NAME(reversed)(__m512i v)
{
    return _mm512_permutexvar_epi32(_mm512_set_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), v);
}

/* Runs of 1, 2, 4 and 8 lanes are merged with their neighbours, turned round. */
INLINE __m512i sort_lanes(__m512i v)
{
    const __m512i eights = _mm512_set_epi32(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);

    v = exchange_lanes(v, _mm512_shuffle_epi32(v, (_MM_PERM_ENUM)0xB1), 0xAAAA);
    v = exchange_lanes(v, _mm512_shuffle_epi32(v, (_MM_PERM_ENUM)0x1B), 0xCCCC);
    v = exchange_lanes(v, _mm512_shuffle_epi32(v, (_MM_PERM_ENUM)0xB1), 0xAAAA);
    v = exchange_lanes(v, _mm512_permutexvar_epi32(eights, v), 0xF0F0);
    v = merge_fours(v);
    v = exchange_lanes(v, NAME(reversed)(v), 0xFF00);
    v = exchange_lanes(v, _mm512_shuffle_i64x2(v, v, 0xB1), 0xF0F0);
    return merge_fours(v);
}
#endif

/* Two runs of n vectors, one behind the other, to one. */
INLINE void NAME(merge_runs)(__m512i *r, int n)
{
    _Pragma("GCC unroll 8") for (int i = 0; i < n; i++)
    {
        const __m512i x = r[i], y = NAME(reversed)(r[2 * n - 1 - i]);
        r[i] = LANEWISE(min_epu, )(x, y);
        r[2 * n - 1 - i] = LANEWISE(max_epu, )(x, y);
    }
    _Pragma("GCC unroll 3") for (int d = 4; d > 0; d /= 2) _Pragma("GCC unroll 16") for (int i = 0; i < 2 * n; i++)
    {
        if (d < n && !(i & d)) EXCHANGE(r[i], r[i + d]);
    }
    _Pragma("GCC unroll 16") for (int i = 0; i < 2 * n; i++) r[i] = NAME(merge_lanes)(r[i]);
}

/* Eight vectors. */
INLINE void NAME(sort_eight)(__m512i *r)
{
#if KEY_BITS == 64
    sort_columns(r);
    transpose(r);
#else
    _Pragma("GCC unroll 8") for (int i = 0; i < 8; i++) r[i] = sort_lanes(r[i]);
#endif
    _Pragma("GCC unroll 4") for (int i = 0; i < 8; i += 2) NAME(merge_runs)(r + i, 1);
    NAME(merge_runs)(r, 2);
    NAME(merge_runs)(r + 4, 2);
    NAME(merge_runs)(r, 4);
}

static void NAME(sort_small)(KEY *a, size_t n)
{
    const int vectors = n <= FEW / 2 ? 8 : 16;
    MASK here[16];
    __m512i r[16];

    NAME(load_some)(a, n, 8, r, here);
    NAME(sort_eight)(r);
    if (vectors == 16) {
        NAME(load_some)(a + FEW / 2, n - FEW / 2, 8, r + 8, here + 8);
        NAME(sort_eight)(r + 8);
        NAME(merge_runs)(r, 8);
    }
    for (int i = 0; i < vectors && here[i]; i++) LANEWISE(mask_storeu_epi, )(a + (size_t)i * LANES, here[i], r[i]);
}
