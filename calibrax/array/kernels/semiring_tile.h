/* The register tile, included once an element type: MR rows by up to NV vectors of C over a panel
 * of kk.
 *
 * Expects SFX, T, TI, VMAX, VMIN.  VMAX(x, y) gives y if either is NaN (x86) or NaN (ARM); panels
 * that can make a NaN take the _NAN steps instead.  A is read element by element, so it may lie as
 * it came; B by whole vectors. */
#define MR   TILE_ROWS
#define NV   TILE_VECTORS
#define NR   (NV * LANES)
#define LINE (64 / sizeof(T)) /* elements of a line of the caches */

typedef T vec __attribute__((vector_size(VECTOR_BYTES), may_alias, aligned(sizeof(T))));
typedef TI NAME(mask) __attribute__((vector_size(VECTOR_BYTES), may_alias));

INLINE vec NAME(select)(NAME(mask) m, vec x, vec y) { return (vec)(((NAME(mask))x & m) | ((NAME(mask))y & ~m)); }

#if defined(__AVX2__) && VECTOR_BYTES == 32
/* The first lanes, for loads and stores. */
INLINE __m256i NAME(first)(size_t live)
{
    return sizeof(T) == 4 ? _mm256_cmpgt_epi32(_mm256_set1_epi32((int)live), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
                          : _mm256_cmpgt_epi64(_mm256_set1_epi64x((long long)live), _mm256_setr_epi64x(0, 1, 2, 3));
}
#endif

/* live <= LANES elements, zeros behind them. */
INLINE vec NAME(load_small)(const T *x, size_t live)
{
#if defined(__AVX512F__) && VECTOR_BYTES == 64
    const __mmask16 m = (__mmask16)((1u << live) - 1);
    return sizeof(T) == 4 ? (vec)_mm512_maskz_loadu_epi32(m, x) : (vec)_mm512_maskz_loadu_epi64((__mmask8)m, x);
#elif defined(__AVX2__) && VECTOR_BYTES == 32
    const void *from = x;
    return sizeof(T) == 4 ? (vec)_mm256_maskload_ps(from, NAME(first)(live))
                          : (vec)_mm256_maskload_pd(from, NAME(first)(live));
#else
    vec v = { 0 };
    for (size_t l = 0; l < live; l++) v[l] = x[l];
    return v;
#endif
}

INLINE void NAME(store_small)(T *to, vec v, size_t live)
{
#if defined(__AVX512F__) && VECTOR_BYTES == 64
    const __mmask16 m = (__mmask16)((1u << live) - 1);
    if (sizeof(T) == 4)
        _mm512_mask_storeu_epi32(to, m, (__m512i)v);
    else
        _mm512_mask_storeu_epi64(to, (__mmask8)m, (__m512i)v);
#elif defined(__AVX2__) && VECTOR_BYTES == 32
    void *at = to;
    if (sizeof(T) == 4)
        _mm256_maskstore_ps(at, NAME(first)(live), (__m256)v);
    else
        _mm256_maskstore_pd(at, NAME(first)(live), (__m256d)v);
#else
    for (size_t l = 0; l < live; l++) to[l] = v[l];
#endif
}

/* Fewer elements than a vector has. */
INLINE void NAME(copy_few)(T *to, const T *from, size_t live)
{
#if VECTOR_BYTES >= 32
    NAME(store_small)(to, NAME(load_small)(from, live), live);
#else
    for (size_t l = 0; l < live; l++) to[l] = from[l];
#endif
}

/* Whether x >= limit in all lanes of nv vectors; NaN never is. */
INLINE bool NAME(all_reach)(int nv, const T *x, const T *limit)
{
#if defined(__AVX512F__)
    __mmask16 f32 = 0xffff;
    __mmask8 f64 = 0xff;
    UNROLL for (int v = 0; v < nv; v++)
    {
        const vec a = *(const vec *)(x + v * LANES), b = *(const vec *)(limit + v * LANES);
        if (sizeof(T) == 4)
            f32 = _mm512_mask_cmp_ps_mask(f32, (__m512)a, (__m512)b, _CMP_GE_OQ);
        else
            f64 = _mm512_mask_cmp_pd_mask(f64, (__m512d)a, (__m512d)b, _CMP_GE_OQ);
    }
    return sizeof(T) == 4 ? f32 == 0xffff : f64 == 0xff;
#else
    TI odd = 0;
    for (int l = 0; l < nv * LANES; l++) odd |= x[l] >= limit[l] ? 0 : -1;
    return odd == 0;
#endif
}

/* z + x * y, rounded once where there is such an instruction; as one, even where several sums share
 * x * y. */
INLINE vec NAME(plus)(vec z, vec x, vec y)
{
#if defined(__AVX512F__) && VECTOR_BYTES == 64
    return sizeof(T) == 4 ? (vec)_mm512_fmadd_ps((__m512)x, (__m512)y, (__m512)z)
                          : (vec)_mm512_fmadd_pd((__m512d)x, (__m512d)y, (__m512d)z);
#elif defined(__FMA__) && VECTOR_BYTES == 32
    return sizeof(T) == 4 ? (vec)_mm256_fmadd_ps((__m256)x, (__m256)y, (__m256)z)
                          : (vec)_mm256_fmadd_pd((__m256d)x, (__m256d)y, (__m256d)z);
#else
    return x * y + z;
#endif
}

#if defined(__AVX512F__)
/* z - x * y, rounded once. */
INLINE vec NAME(less)(vec z, vec x, vec y)
{
    return sizeof(T) == 4 ? (vec)_mm512_fnmadd_ps((__m512)x, (__m512)y, (__m512)z)
                          : (vec)_mm512_fnmadd_pd((__m512d)x, (__m512d)y, (__m512d)z);
}
#endif

/* Square roots, correctly rounded.  The instruction takes 18 to 24 cycles for 8 of f64, and
 * multiplications wait meanwhile: so a guess and Newton steps, of which the last one, from x - g^2
 * without rounding, rounds right (Markstein, IBM J. Res. Dev. 34 (1990) 111-119). */
INLINE vec NAME(root)(vec x)
{
#if defined(__AVX512F__)
    const vec half = (T)0.5 - (vec){ 0 };
    const vec low = ROOT_LOW - (vec){ 0 }, high = 1 / ROOT_LOW - (vec){ 0 };
    const unsigned in_range = sizeof(T) == 4 ? _mm512_cmp_ps_mask((__m512)x, (__m512)low, _CMP_GE_OQ) &
                                                   _mm512_cmp_ps_mask((__m512)x, (__m512)high, _CMP_LE_OQ)
                                             : (_mm512_cmp_pd_mask((__m512d)x, (__m512d)low, _CMP_GE_OQ) &
                                                _mm512_cmp_pd_mask((__m512d)x, (__m512d)high, _CMP_LE_OQ));
    if (in_range != (1u << LANES) - 1)
        return sizeof(T) == 4 ? (vec)_mm512_sqrt_ps((__m512)x) : (vec)_mm512_sqrt_pd((__m512d)x);
    vec h = half * (sizeof(T) == 4 ? (vec)_mm512_rsqrt14_ps((__m512)x) : (vec)_mm512_rsqrt14_pd((__m512d)x));
    vec g = (h + h) * x;
    UNROLL for (size_t i = 0; i < sizeof(T) / 4; i++)
    {
        const vec e = NAME(less)(half, h, g);
        g = NAME(plus)(g, g, e);
        h = NAME(plus)(h, h, e);
    }
    return NAME(plus)(g, NAME(less)(x, g, g), h);
#else
    for (int l = 0; l < LANES; l++) x[l] = SQRT(x[l]);
    return x;
#endif
}

INLINE void NAME(copy)(T *to, const T *from, size_t live)
{
    size_t l = 0;

    for (; l + LANES <= live; l += LANES) *(vec *)(to + l) = *(const vec *)(from + l);
    if (l < live) NAME(copy_few)(to + l, from + l, live - l);
}

#define PICK(m, x, y) NAME(select)((NAME(mask))(m), x, y)
#define SPREAD(x)     ((x) - (vec){ 0 })

/* a + b on the pipes of multiplication; one holds ones that the compiler does not know. */
#define SUM_BY_FMA(a, b, one) NAME(plus)(b, SPREAD(a), one)

/* Two accumulators into one; s is a constant wherever this is inlined. */
INLINE vec NAME(merge)(step s, vec acc, vec t)
{
#define CBX_TILE_STEP(name, term, update)                                                                              \
    if (s == STEP_##name) return update;
#include "calibrax/array/kernels/algebra.h"
    return acc;
}

/* Steps of two instructions, of which the first one takes A's element from memory each time
 * (AVX-512): where broadcasts have a port in common with arithmetic, a register that is filled
 * first costs a third more (Zen 4).  One instruction a step would wait for the loads. */
#define FROM_MEMORY(s) (VECTOR_BYTES == 64 && (s) != STEP_FMA)

/* acc' of one step. */
INLINE vec NAME(step)(step s, vec acc, T a, vec b, vec one)
{
    vec t = b;

    (void)one;
    switch (s) {
#define CBX_TILE_STEP(name, term, update)                                                                              \
    case STEP_##name:                                                                                                  \
        t = term;                                                                                                      \
        break;

#include "calibrax/array/kernels/algebra.h"
    default: break;
    }
    return NAME(merge)(s, acc, t);
}

/* What finalize makes of a fold; log has a way of its own. */
INLINE vec NAME(ended)(step s, vec x)
{
#define CBX_TILE_FINISH(name, of_vector, of_scalar)                                                                    \
    if (s == STEP_##name) return of_vector;
#include "calibrax/array/kernels/algebra.h"
    return x;
}

/* What a tile is made of: element (i,kk) of A at i * across + kk * along, rows <= MR of them; row
 * kk of B at kk * ldb.  Meanwhile lines of what comes next are asked for, into the second-level
 * cache: `lines` of each of MR rows. */
typedef struct NAME(operands) {
    const T *a, *b;
    ptrdiff_t across, along, ldb;
    size_t rows, kc;
    size_t high, lanes; /* end_tile */
    const T *next;
    ptrdiff_t next_across;
    size_t lines;
} NAME(operands);

/* How a tile begins and ends, of products and of convolutions: accumulators from `start` and a
 * vector of ones; into C, without first merged into what C holds. */
INLINE void NAME(begin_tile)(int nv, T start, vec acc[MR][NV], vec *one)
{
    T unit = 1;
    __asm__("" : "+m"(unit)); /* a product with a known 1 would be left out */
    *one = unit - (vec){ 0 };
    UNROLL for (int i = 0; i < MR; i++) { UNROLL for (int v = 0; v < nv; v++) acc[i][v] = start - (vec){ 0 }; }
}

/* high, lanes: of a tile that is not whole, rows that are written and lanes of the last vector;
 * high 0: whole. */
INLINE void NAME(end_tile)(step s, int nv, vec acc[MR][NV], size_t high, size_t lanes, T *restrict c, ptrdiff_t ldc,
                           bool first)
{
    if (high == 0) {
        UNROLL for (int i = 0; i < MR; i++)
        {
            UNROLL for (int v = 0; v < nv; v++)
            {
                vec *to = (vec *)(c + i * ldc + v * LANES);
                *to = first ? acc[i][v] : NAME(merge)(s, *to, acc[i][v]);
            }
        }
        return;
    }
    UNROLL for (int i = 0; i < MR; i++)
    {
        T *row = c + i * ldc, *end = row + (nv - 1) * LANES;
        if ((size_t)i >= high) return;
        UNROLL for (int v = 0; v < nv - 1; v++)
        {
            vec *to = (vec *)(row + v * LANES);
            *to = first ? acc[i][v] : NAME(merge)(s, *to, acc[i][v]);
        }
        NAME(store_small)
        (end, first ? acc[i][nv - 1] : NAME(merge)(s, NAME(load_small)(end, lanes), acc[i][nv - 1]), lanes);
    }
}

/* C[MR][nv vectors] = fold over kc.  Rows of A that are not there are its last one.  kk goes in MR
 * parts; before each a row of C and lines of what comes next are asked for, or the last steps would
 * wait for them. */
INLINE void NAME(micro)(step s, int nv, const NAME(operands) * o, T start, T *restrict c, ptrdiff_t ldc, bool first)
{
    const T *restrict a = o->a, *restrict b = o->b, *next = o->next, *to = c;
    const ptrdiff_t along = o->along, ldb = o->ldb, down = o->high ? 0 : ldc;
    const size_t part = (o->kc + MR - 1) / MR;
    ptrdiff_t row[MR] = { 0 };
    vec acc[MR][NV], one;

    NAME(begin_tile)(nv, start, acc, &one);
    UNROLL for (size_t i = 1; i < MR; i++) row[i] = row[i - 1] + (i < o->rows ? o->across : 0);
    for (size_t left = o->kc, n; left > 0; left -= n, to += down, next += o->next_across) {
        n = min_size(part, left);
        UNROLL for (int v = 0; v < nv; v++) __builtin_prefetch(to + v * LANES, 1, 3);
        for (size_t l = 0; l < o->lines; l++) __builtin_prefetch(next + l * LINE, 0, 2);
        for (size_t kk = n; kk > 0; kk--, a += along, b += ldb) {
            vec bv[NV];
            OPAQUE_ADDRESS(a); /* one pointer that moves, not one for each row */
            UNROLL for (int v = 0; v < nv; v++) bv[v] = *(const vec *)(b + v * LANES);
            UNROLL for (int i = 0; i < MR; i++)
            {
                UNROLL for (int v = 0; v < nv; v++)
                {
                    if (FROM_MEMORY(s)) OPAQUE_ADDRESS(a);
                    acc[i][v] = NAME(step)(s, acc[i][v], a[row[i]], bv[v], one);
                }
            }
        }
    }
    NAME(end_tile)(s, nv, acc, o->high, o->lanes, c, ldc, first);
}

/* `rounds` steps of each of CHAINS accumulators, in registers alone.  b is new to the compiler in
 * each step, or it would take what does not change out of the loop; chains enough to cover the
 * latency on every port. */
INLINE void NAME(registers)(step s, size_t rounds)
{
    vec acc[CHAINS], one = 1 - (vec){ 0 }, b = (T)0.7 - (vec){ 0 }, all = { 0 };
    T a = (T)1.3;

    OPAQUE(one);
    UNROLL for (int i = 0; i < CHAINS; i++) acc[i] = (T)i - (vec){ 0 };
    for (size_t r = 0; r < rounds; r++) {
        UNROLL for (int i = 0; i < CHAINS; i++)
        {
            OPAQUE(b);
            acc[i] = NAME(step)(s, acc[i], a, b, one);
        }
    }
    UNROLL for (int i = 0; i < CHAINS; i++) all += acc[i];
    __asm__ volatile("" : "+m"(all)); /* keep it */
}

typedef void NAME(micro_fn)(const NAME(operands) * o, T start, T *c, ptrdiff_t ldc, bool first);

#define TILE(s, nv)                                                                                                    \
    static void NAME(s##_##nv)(const NAME(operands) * o, T start, T * c, ptrdiff_t ldc, bool first)                    \
    {                                                                                                                  \
        NAME(micro)(s, nv, o, start, c, ldc, first);                                                                   \
    }
#define CBX_TILE_STEP(name, term, update) EACH_WIDTH(TILE, STEP_##name)
#include "calibrax/array/kernels/algebra.h"

static NAME(micro_fn) *const NAME(tiles)[][NV] = {
#define ENTRY(s, nv)                      NAME(s##_##nv),
#define CBX_TILE_STEP(name, term, update) [STEP_##name] = { EACH_WIDTH(ENTRY, STEP_##name) },
#include "calibrax/array/kernels/algebra.h"
};
#undef TILE
#undef ENTRY
#undef PICK
#undef SPREAD
