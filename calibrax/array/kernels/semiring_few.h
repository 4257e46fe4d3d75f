/*
 * Products of few elements: no more than FEW_EXTENT rows, terms and columns.  Blocks and panels would take longer than the steps, so rows of C
 * stand in registers, and B is read where it lies, by masks.
 * Included once a type behind semiring_tile.h.
 */

/* The elements of a masked access.  One of 16 or 32 bytes crosses fewer lines of the cache than a whole vector, whatever its mask says. */
ALWAYS_INLINE vec NAME(load_within)(int bytes, const T *x, size_t live)
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
    return NAME(load_few)(x, live);
}

ALWAYS_INLINE void NAME(store_within)(int bytes, T *to, vec v, size_t live)
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
        NAME(store_few)(to, v, live);
#else
    (void)bytes;
    NAME(store_few)(to, v, live);
#endif
}

/* One step of each of `rows` rows, nv vectors wide. */
ALWAYS_INLINE void NAME(few_step)(step s, int bytes, int nv, size_t rows, const T *const *a, ptrdiff_t at, const T *b,
                                  size_t last, vec (*acc)[FEW_VECTORS])
{
    vec bv[FEW_VECTORS];

    UNROLL for (int v = 0; v < nv - 1; v++) bv[v] = *(const vec *)(b + v * LANES);
    bv[nv - 1] = NAME(load_within)(bytes, b + (nv - 1) * LANES, last);
    UNROLL for (size_t r = 0; r < rows; r++)
    {
        const T x = a[r][at];
        UNROLL for (int v = 0; v < nv; v++) acc[r][v] = NAME(step)(s, acc[r][v], x, bv[v], bv[v]);
    }
}

/* Row r of what the sums hold, into C. */
ALWAYS_INLINE void NAME(few_end)(step s, int bytes, int nv, size_t sums, const cbx_matmul *p,
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

/* Rows from i on, `rows` of them, and columns from j on, nv vectors of them; rows that are not there are the last one.  A row that is
 * alone takes terms in turn to several sums, so that no step waits for the one before. */
ALWAYS_INLINE void NAME(few_rows)(step s, int bytes, int nv, size_t rows, size_t sums, const cbx_matmul *p, size_t i,
                                  size_t j)
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
            NAME(few_step)(s, bytes, nv, rows, a, at, b, last, acc[q]);
    for (; sums > 1 && left > 0; left--, at += along, b += ldb)
        NAME(few_step)(s, bytes, nv, rows, a, at, b, last, acc[0]);
    UNROLL for (size_t r = 0; r < rows; r++)
    {
        if (r < live) NAME(few_end)(s, bytes, nv, sums, p, acc, r, c + (ptrdiff_t)r * ldc, last);
    }
}

/* All rows of nv vectors of columns.  Real products, of which most are so small, take as few rows that are not there as can be. */
ALWAYS_INLINE void NAME(few_columns)(step s, int bytes, int nv, size_t tile, const cbx_matmul *p, size_t j)
{
    const size_t m = p->m, half = tile / 2, most = s == STEP_FMA && tile == 8 ? 6 : half;
    size_t i = 0;

    for (; i + most < m; i += tile) NAME(few_rows)(s, bytes, nv, tile, 1, p, i, j);
    if (s == STEP_FMA && i + 1 == m)
        NAME(few_rows)(s, bytes, nv, 1, FEW_SUMS, p, i, j);
    else if (s == STEP_FMA && i + 2 == m)
        NAME(few_rows)(s, bytes, nv, 2, FEW_SUMS / 2, p, i, j);
    else if (most > half && i + half < m)
        NAME(few_rows)(s, bytes, nv, most, 1, p, i, j);
    else if (i < m)
        NAME(few_rows)(s, bytes, nv, half, 1, p, i, j);
}

/* Columns go by two vectors, real ones by three where there are registers, as long as no more than three are left. */
ALWAYS_INLINE void NAME(few_product)(step s, const cbx_matmul *p)
{
    for (size_t j = 0, wide; j < p->n; j += wide * LANES) {
        const size_t bytes = (p->n - j) * sizeof(T);
        wide = 2;
        if (FEW_VECTORS > 2 && s == STEP_FMA && bytes > 2 * VECTOR_BYTES && bytes <= 3 * VECTOR_BYTES) {
            NAME(few_columns)(s, VECTOR_BYTES, FEW_VECTORS, FEW_WIDE, p, j);
            wide = 3;
        } else if (bytes > VECTOR_BYTES)
            NAME(few_columns)(s, VECTOR_BYTES, 2, FEW_WIDE, p, j);
        else if (VECTOR_BYTES == 64 && s == STEP_FMA && bytes <= 16)
            NAME(few_columns)(s, 16, 1, FEW_TILE, p, j);
        else if (VECTOR_BYTES == 64 && s == STEP_FMA && bytes <= 32)
            NAME(few_columns)(s, 32, 1, FEW_TILE, p, j);
        else
            NAME(few_columns)(s, VECTOR_BYTES, 1, FEW_TILE, p, j);
    }
}

#define CBX_TILE_STEP(name, term, update)                                                                              \
    static void NAME(few_##name)(const cbx_matmul *p) { NAME(few_product)(STEP_##name, p); }
#include "calibrax/array/kernels/algebra.h"
static void (*const NAME(few_products)[])(const cbx_matmul *p) = {
#define CBX_TILE_STEP(name, term, update) [STEP_##name] = NAME(few_##name),
#include "calibrax/array/kernels/algebra.h"
};

/* Of a dense product without epilogue, no larger than FEW_EXTENT, checked; false: its algebra has another way. */
static bool NAME(run_few)(const cbx_matmul *p)
{
    if (p->semiring->id == CBX_ALGEBRA_LOG) return false;
    NAME(few_products)[steps_of[p->semiring->id].careful](p);
    return true;
}

static bool NAME(is_few)(const cbx_matmul *p)
{
    return p->m <= FEW_EXTENT && p->k <= FEW_EXTENT && p->n <= FEW_EXTENT && p->b_step == 1 && p->c_step == 1 &&
           !p->d && !p->mask;
}
