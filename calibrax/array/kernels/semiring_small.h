/* Products of few elements (cbx__semiring_is_small).  Blocks and panels would take longer than the
 * steps, so rows of C are in registers, and A and B are read where they lie, the last columns by
 * masks. Included once a type behind semiring_tile.h. */

/* The elements of a masked access.  One of 16 or 32 bytes crosses fewer lines of the cache than a
 * whole vector, whatever its mask says. */
INLINE vec NAME(load_within)(int bytes, const T *x, size_t live)
{
#if defined(__AVX512VL__) && VECTOR_BYTES == 64
    const __mmask8 m = (__mmask8)((1u << live) - 1);
    if (bytes == 16)
        return (vec)_mm512_zextsi128_si512(sizeof(T) == 4 ? _mm_maskz_loadu_epi32(m, x) : _mm_maskz_loadu_epi64(m, x));
    if (bytes == 32)
        return (vec)_mm512_zextsi256_si512(sizeof(T) == 4 ? _mm256_maskz_loadu_epi32(m, x)
                                                          : _mm256_maskz_loadu_epi64(m, x));
#endif
    (void)bytes;
    return NAME(load_small)(x, live);
}

INLINE void NAME(store_within)(int bytes, T *to, vec v, size_t live)
{
#if defined(__AVX512VL__) && VECTOR_BYTES == 64
    const __mmask8 m = (__mmask8)((1u << live) - 1);
    if (bytes == 16 && sizeof(T) == 4)
        _mm_mask_storeu_epi32(to, m, _mm512_castsi512_si128((__m512i)v));
    else if (bytes == 16)
        _mm_mask_storeu_epi64(to, m, _mm512_castsi512_si128((__m512i)v));
    else if (bytes == 32 && sizeof(T) == 4)
        _mm256_mask_storeu_epi32(to, m, _mm512_castsi512_si256((__m512i)v));
    else if (bytes == 32)
        _mm256_mask_storeu_epi64(to, m, _mm512_castsi512_si256((__m512i)v));
    else
        NAME(store_small)(to, v, live);
#else
    (void)bytes;
    NAME(store_small)(to, v, live);
#endif
}

#if defined(__AVX512VL__) && VECTOR_BYTES == 64
#define FMA_WITHIN(bits, ps, pd)                                                                                       \
    sizeof(T) == 4                                                                                                     \
        ? (vec)_mm512_castps##bits##_ps512(ps##_fmadd_ps(ps##_set1_ps((float)a), _mm512_castps512_ps##bits((__m512)b), \
                                                         _mm512_castps512_ps##bits((__m512)acc)))                      \
        : (vec)_mm512_castpd##bits##_pd512(pd##_fmadd_pd(pd##_set1_pd((double)a),                                      \
                                                         _mm512_castpd512_pd##bits((__m512d)b),                        \
                                                         _mm512_castpd512_pd##bits((__m512d)acc)))
#endif

/* A step of the first `bytes` of a vector.  Where 512 bits take two pipes of 256 (Zen 4), half of
 * them take one. */
INLINE vec NAME(step_within)(step s, int bytes, vec acc, T a, vec b)
{
#if defined(__AVX512VL__) && VECTOR_BYTES == 64
    if (s == STEP_FMA && bytes == 16) return FMA_WITHIN(128, _mm, _mm);
    if (s == STEP_FMA && bytes == 32) return FMA_WITHIN(256, _mm256, _mm256);
#endif
    (void)bytes;
    return NAME(step)(s, acc, a, b, b);
}

/* One step of each of `rows` rows, nv vectors wide. */
INLINE void NAME(small_step)(step s, int bytes, int nv, size_t rows, const T *const *a, ptrdiff_t at, const T *b,
                             size_t last, vec (*acc)[FEW_VECTORS])
{
    vec bv[FEW_VECTORS];

    UNROLL for (int v = 0; v < nv - 1; v++) bv[v] = *(const vec *)(b + v * LANES);
    bv[nv - 1] = NAME(load_within)(bytes, b + (nv - 1) * LANES, last);
    UNROLL for (size_t r = 0; r < rows; r++)
    {
        const T x = a[r][at];
        UNROLL for (int v = 0; v < nv - 1; v++) acc[r][v] = NAME(step)(s, acc[r][v], x, bv[v], bv[v]);
        acc[r][nv - 1] = NAME(step_within)(s, bytes, acc[r][nv - 1], x, bv[nv - 1]);
    }
}

/* Row r of what the sums hold, into C. */
INLINE void NAME(few_end)(step s, int bytes, int nv, size_t sums, const cbx_matmul *p,
                          vec (*acc)[FEW_TILE][FEW_VECTORS], size_t r, T *c, size_t last)
{
    UNROLL for (int v = 0; v < nv; v++)
    {
        vec sum = acc[0][r][v];
        UNROLL for (size_t q = 1; q < sums; q++) sum = NAME(merge)(s, sum, acc[q][r][v]);
        if (!p->raw) sum = NAME(ended)(s, sum);
        if (v < nv - 1)
            *(vec *)(c + v * LANES) = sum;
        else
            NAME(store_within)(bytes, c + v * LANES, sum, last);
    }
}

/* Rows from i on, `rows` of them, and columns from j on, nv vectors of them; rows that are not
 * there are the last one.  A row that is alone takes terms in turn to several sums, so that no step
 * waits for the one before. */
INLINE void NAME(few_rows)(step s, int bytes, int nv, size_t rows, size_t sums, const cbx_matmul *p, size_t i, size_t j)
{
    const size_t live = p->m - i, last = min_size(p->n - j - (size_t)(nv - 1) * LANES, LANES);
    const ptrdiff_t along = p->a_step, ldb = p->ldb, ldc = p->ldc;
    const T *a[FEW_TILE], *b = (const T *)p->b + j;
    const T start = (T)p->semiring->identity;
    T *c = (T *)p->c + (ptrdiff_t)i * ldc + (ptrdiff_t)j;
    vec acc[FEW_SUMS][FEW_TILE][FEW_VECTORS];
    size_t left = p->k;
    ptrdiff_t at = 0;

    a[0] = (const T *)p->a + (ptrdiff_t)i * p->lda;
    UNROLL for (size_t r = 1; r < rows; r++) a[r] = a[r - 1] + (r < live ? p->lda : 0);
    UNROLL for (size_t q = 0; q < sums * rows * (size_t)nv; q++)
        acc[q / rows / (size_t)nv][q / (size_t)nv % rows][q % (size_t)nv] = start - (vec){ 0 };
    for (; left >= sums; left -= sums)
        UNROLL for (size_t q = 0; q < sums; q++, at += along, b += ldb)
            NAME(small_step)(s, bytes, nv, rows, a, at, b, last, acc[q]);
    for (; sums > 1 && left > 0; left--, at += along, b += ldb)
        NAME(small_step)(s, bytes, nv, rows, a, at, b, last, acc[0]);
    UNROLL for (size_t r = 0; r < rows; r++)
    {
        if (r < live) NAME(few_end)(s, bytes, nv, sums, p, acc, r, c + (ptrdiff_t)r * ldc, last);
    }
}

typedef void NAME(small_fn)(const cbx_matmul *p, size_t i, size_t j);

/* A tile is a function of its own, never inlined: what the loops around it hold would otherwise be
 * kept in vector registers, and come back from there behind all the steps of the tile before. */
#define FEW(s, part, nv, name, rows, sums)                                                                             \
    static __attribute__((noinline)) void NAME(few_##s##_##part##_##nv##_##name)(const cbx_matmul *p, size_t i,        \
                                                                                 size_t j)                             \
    {                                                                                                                  \
        NAME(few_rows)(STEP_##s, PART_##part, nv, rows, sums, p, i, j);                                                \
    }
#define FEW_WHOLE(s, part, nv, rows) FEW(s, part, nv, whole, rows, 1) FEW(s, part, nv, half, rows / 2, 1)
#define FEW_LEFT(part, nv)           FEW(FMA, part, nv, one, 1, FEW_SUMS) FEW(FMA, part, nv, two, 2, FEW_SUMS / 2)
#define AT(s, part, nv, name)        NAME(few_##s##_##part##_##nv##_##name)

/* By the rows that are left, of each so many vectors.  Real products, of which most are so small,
 * take as few rows that are not there as can be. */
#define CBX_TILE_STEP(name, term, update) FEW_WHOLE(name, ALL, 1, FEW_TILE) FEW_WHOLE(name, ALL, 2, FEW_WIDE)
#include "calibrax/array/kernels/algebra.h"
#define ROWS_8(s, part, nv, one, two, six)                                                                             \
    {                                                                                                                  \
        NULL, AT(s, part, nv, one), AT(s, part, nv, two), AT(s, part, nv, half), AT(s, part, nv, half),                \
            AT(s, part, nv, six), AT(s, part, nv, six), AT(s, part, nv, whole), AT(s, part, nv, whole)                 \
    }
#define ROWS_4(s, part, nv, one, two)                                                                                  \
    {                                                                                                                  \
        NULL, AT(s, part, nv, one), AT(s, part, nv, two), AT(s, part, nv, whole), AT(s, part, nv, whole)               \
    }
#define ROWS_6(s, part, nv, one, two)                                                                                  \
    {                                                                                                                  \
        NULL, AT(s, part, nv, one), AT(s, part, nv, two), AT(s, part, nv, half), AT(s, part, nv, half),                \
            AT(s, part, nv, whole), AT(s, part, nv, whole)                                                             \
    }
#if FEW_WIDE == 8
#define ROWS_WIDE(s, part, nv, one, two, six) ROWS_8(s, part, nv, one, two, six)
#else
#define ROWS_WIDE(s, part, nv, one, two, six) ROWS_4(s, part, nv, one, two)
#endif
static NAME(small_fn) *const NAME(few_tiles)[][2][FEW_TILE + 1] = {
#define CBX_TILE_STEP(name, term, update)                                                                              \
    [STEP_##name] = { ROWS_8(name, ALL, 1, half, half, whole), ROWS_WIDE(name, ALL, 2, half, half, whole) },
#include "calibrax/array/kernels/algebra.h"
};

/* Real ones, by the part of the last vector that has columns. */
FEW_LEFT(ALL, 1)
FEW(FMA, ALL, 1, six, 6, 1)
FEW_LEFT(ALL, 2)
#define REAL_8(part, nv)    ROWS_8(FMA, part, nv, one, two, six)
#define REAL_WIDE(part, nv) ROWS_WIDE(FMA, part, nv, one, two, six)
#define REAL_6(part)        ROWS_6(FMA, part, 4, one, two)
#define REAL_ALL(part, nv)  FEW_WHOLE(FMA, part, nv, 8) FEW_LEFT(part, nv) FEW(FMA, part, nv, six, 6, 1)
#define REAL_WIDEST(part)   FEW(FMA, part, 4, whole, FEW_WIDEST, 1) FEW(FMA, part, 4, half, 4, 1) FEW_LEFT(part, 4)
#if VECTOR_BYTES == 64
FEW(FMA, ALL, 2, six, 6, 1)
REAL_ALL(ALL, 3)
REAL_WIDEST(ALL)
REAL_ALL(HALF, 1)
REAL_ALL(HALF, 2)
REAL_ALL(HALF, 3)
REAL_WIDEST(HALF)
REAL_ALL(QUARTER, 1)
REAL_ALL(QUARTER, 2)
REAL_ALL(QUARTER, 3)
REAL_WIDEST(QUARTER)
static NAME(small_fn) *const NAME(small_real)[][FEW_VECTORS][FEW_TILE + 1] = {
    { REAL_8(ALL, 1), REAL_8(ALL, 2), REAL_8(ALL, 3), REAL_6(ALL) },
    { REAL_8(HALF, 1), REAL_8(HALF, 2), REAL_8(HALF, 3), REAL_6(HALF) },
    { REAL_8(QUARTER, 1), REAL_8(QUARTER, 2), REAL_8(QUARTER, 3), REAL_6(QUARTER) },
};
#else
static NAME(small_fn) *const NAME(small_real)[][FEW_VECTORS][FEW_TILE + 1] = {
    { REAL_8(ALL, 1), REAL_WIDE(ALL, 2) },
};
#endif

/* Vectors of the columns that are left: two at a time, real ones three or four where there are
 * registers, and none alone that can be avoided. */
static size_t NAME(few_wide)(step s, size_t left)
{
    if (s != STEP_FMA || FEW_VECTORS == 2) return left == 1 ? 1 : 2;
    return left <= 4 ? left : left == 7 || left == 8 ? 4 : 3;
}

INLINE void NAME(small_product)(step s, const cbx_matmul *p)
{
    const size_t dots = s == STEP_FMA ? NAME(dot_columns)(p) : 0, n = p->n - dots;

    for (size_t j = 0, wide; j < n; j += wide * LANES) {
        const size_t left = n - j;
        wide = NAME(few_wide)(s, (left + LANES - 1) / LANES);
        const size_t tile = wide == 1 ? FEW_TILE : wide == 4 ? FEW_WIDEST : FEW_WIDE;
        const size_t bytes = (min_size(left, wide * LANES) - (wide - 1) * LANES) * sizeof(T);
        const int part = VECTOR_BYTES < 64 ? 0 : (bytes <= 32) + (bytes <= 16);
        NAME(small_fn) *const *tiles = s == STEP_FMA ? NAME(small_real)[part][wide - 1] : NAME(few_tiles)[s][wide - 1];
        for (size_t i = 0; i < p->m; i += tile) tiles[min_size(p->m - i, tile)](p, i, j);
    }
    if (dots) NAME(dot_product)(p, dots);
}

/* Whether blocks would take longer than rows of C in registers, of what may be done so. */
static bool NAME(takes_few)(const cbx_matmul *p)
{
    return p->semiring->id != CBX_ALGEBRA_LOG &&
           (cbx__semiring_is_within(p, FEW_EXTENT) || p->m * p->k * p->n <= FEW_REAL_STEPS || p->n <= LANES);
}

/* Of a dense product without epilogue, few (semiring_kernel.h), checked; false: it has
 * another way. */
static bool NAME(run_small)(const cbx_matmul *p)
{
    if (!NAME(takes_few)(p)) return false;
    if (p->semiring->id == CBX_ALGEBRA_REAL)
        NAME(small_product)(STEP_FMA, p);
    else
        NAME(small_product)(steps_of[p->semiring->id].careful, p);
    return true;
}

/* to[i][q] = x[i * across + q * along]; returns where it ends. */
static T *NAME(pack_plain)(T *to, const T *x, size_t rows, ptrdiff_t across, size_t columns, ptrdiff_t along)
{
    for (size_t i = 0; i < rows; i++, to += columns)
        for (size_t q = 0; q < columns; q++) to[q] = x[(ptrdiff_t)i * across + (ptrdiff_t)q * along];
    return to;
}

/* The same of operands that have gaps, which are packed first: sums have one order, however
 * operands lie. */
static bool NAME(run_few)(const cbx_matmul *p)
{
    cbx_matmul q = *p;
    T *space = p->workspace;

    if (!cbx__semiring_is_small(p) || p->c_step != 1 || p->d || p->mask || !NAME(takes_few)(p)) return false;
    if (p->b_step != 1) {
        q.b = space, q.ldb = (ptrdiff_t)p->n, q.b_step = 1;
        space = NAME(pack_plain)(space, p->b, p->k, p->ldb, p->n, p->b_step);
    }
    q.a_step = 1;
    if (p->a_step != 1 && (p->semiring->id != CBX_ALGEBRA_REAL || NAME(dot_columns)(&q) == 0)) q.a_step = p->a_step;
    if (p->a_step != q.a_step) {
        q.a = space, q.lda = (ptrdiff_t)p->k;
        space = NAME(pack_plain)(space, p->a, p->m, p->lda, p->k, p->a_step);
    }
    q.workspace = (char *)p->workspace + round_up((size_t)((char *)space - (char *)p->workspace), 64);
    return NAME(run_small)(&q);
}
