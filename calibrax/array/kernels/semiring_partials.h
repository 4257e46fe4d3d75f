/* Derivatives of products by the partial derivatives of their terms, as the files of algebra.h
 * define them: the first optimum takes all, times its partial derivatives, or every term has its
 * share.  All matrices are dense and row-major.  Rows of A, and blocks of columns of B, are shared
 * by a team; each algebra has functions of its own for one of them, in which it is a constant.
 * Included once a float type behind semiring_tile.h; expects SMALLEST besides. */

#include "calibrax/array/kernels/gradients.h"

INLINE vec NAME(terms_of)(cbx_algebra g, T a, vec y)
{
    vec t = { 0 };

    UNROLL for (int l = 0; l < LANES; l++) t[l] = NAME(plain_term)(g, a, y[l]);
    return t;
}

/* --- the first optimum takes all --- */

/* Rows and vectors of columns whose first optimum is looked for together, and the terms after which
 * it is asked who has found none. */
enum { NAME(SOUGHT_HIGH) = 4, NAME(SOUGHT_VECTORS) = 2, NAME(SOUGHT_DEEP) = 64 };

typedef struct NAME(sought) {
    const T *a[NAME(SOUGHT_HIGH)];
    vec c[NAME(SOUGHT_HIGH)][NAME(SOUGHT_VECTORS)];
    NAME(mask) at[NAME(SOUGHT_HIGH)][NAME(SOUGHT_VECTORS)]; /* -1: not found */
} NAME(sought);

/* at, but kk where t is c, or NaN. */
INLINE NAME(mask) NAME(found)(vec t, vec c, NAME(mask) at, TI kk)
{
    const NAME(mask) all = kk - (NAME(mask)){ 0 };
#if defined(__AVX512F__) && VECTOR_BYTES == 64
    if (sizeof(T) == 4)
        return (NAME(mask))_mm512_mask_mov_epi32((__m512i)at, _mm512_cmp_ps_mask((__m512)t, (__m512)c, _CMP_EQ_UQ),
                                                 (__m512i)all);
    return (NAME(mask))_mm512_mask_mov_epi64((__m512i)at, _mm512_cmp_pd_mask((__m512d)t, (__m512d)c, _CMP_EQ_UQ),
                                             (__m512i)all);
#else
    const NAME(mask) hit = (NAME(mask))((t == c) | (t != t));
    return (all & hit) | (at & ~hit);
#endif
}

/* Terms from the last to the first of a panel: the one that stays is the first, and no lane waits
 * for others. */
INLINE void NAME(seek_in_panel)(NAME(sought) * s, cbx_algebra g, size_t k0, size_t deep, const T *b, size_t n,
                                const size_t live[NAME(SOUGHT_VECTORS)])
{
    enum { HIGH = NAME(SOUGHT_HIGH), VECTORS = NAME(SOUGHT_VECTORS) };
    const NAME(mask) none = (NAME(mask)){ 0 } - 1;
    NAME(mask) here[HIGH][VECTORS];

    UNROLL for (int r = 0; r < HIGH; r++) UNROLL for (int v = 0; v < VECTORS; v++) here[r][v] = none;
    for (size_t kk = k0 + deep; kk-- > k0;) {
        vec y[VECTORS];
        UNROLL for (int v = 0; v < VECTORS; v++) y[v] = NAME(load_small)(b + kk * n + v * LANES, live[v]);
        UNROLL for (int r = 0; r < HIGH; r++) UNROLL for (int v = 0; v < VECTORS; v++)
            here[r][v] = NAME(found)(NAME(terms_of)(g, s->a[r][kk], y[v]), s->c[r][v], here[r][v], (TI)kk);
    }
    UNROLL for (int r = 0; r < HIGH; r++) UNROLL for (int v = 0; v < VECTORS; v++)
    {
        const NAME(mask) open = (NAME(mask))(s->at[r][v] < 0);
        s->at[r][v] = (here[r][v] & open) | (s->at[r][v] & ~open);
    }
}

INLINE bool NAME(some_open)(const NAME(sought) * s)
{
    NAME(mask) open = { 0 };
    TI any = 0;

    UNROLL for (int r = 0; r < NAME(SOUGHT_HIGH); r++) UNROLL for (int v = 0; v < NAME(SOUGHT_VECTORS); v++)
        open |= s->at[r][v]; /* the sign */
    for (int l = 0; l < LANES; l++) any |= open[l];
    return any < 0;
}

/* What is there of c, and -1; other lanes are found. */
INLINE void NAME(sought_row)(NAME(sought) * s, int r, const T *c, const size_t live[NAME(SOUGHT_VECTORS)])
{
    for (int v = 0; v < NAME(SOUGHT_VECTORS); v++) {
        s->c[r][v] = NAME(load_small)(c + v * LANES, live[v]);
        for (int l = 0; l < LANES; l++) s->at[r][v][l] = (size_t)l < live[v] ? -1 : 0;
    }
}

/* first[i,j] of some rows: the smallest kk whose term is c, the first NaN one of a NaN; -1 where
 * every term is the annihilator. */
INLINE void NAME(first_of_rows)(const cbx__grad *q, cbx_algebra g, size_t i0, int64_t *first)
{
    enum { HIGH = NAME(SOUGHT_HIGH), WIDE = NAME(SOUGHT_VECTORS) * LANES, DEEP = NAME(SOUGHT_DEEP) };
    const T empty = (T)q->semiring->empty, *b = q->b, *c = q->c;
    const size_t high = min_size(HIGH, q->m - i0);

    for (size_t j0 = 0; j0 < q->n; j0 += WIDE) {
        const size_t wide = min_size(WIDE, q->n - j0);
        const size_t live[] = { min_size(LANES, wide), wide - min_size(LANES, wide) };
        NAME(sought) s;
        for (size_t r = 0; r < HIGH; r++) { /* rows that are not there repeat the last */
            const size_t i = i0 + min_size(r, high - 1);
            s.a[r] = (const T *)q->a + i * q->k;
            NAME(sought_row)(&s, (int)r, c + i * q->n + j0, live);
        }
        for (size_t k0 = 0; k0 < q->k && NAME(some_open)(&s); k0 += DEEP)
            NAME(seek_in_panel)(&s, g, k0, min_size(DEEP, q->k - k0), b + j0, q->n, live);
        for (size_t r = 0; r < high; r++)
            for (size_t j = 0; j < wide; j++)
                first[(i0 + r) * q->n + j0 + j] = c[(i0 + r) * q->n + j0 + j] == empty
                                                      ? -1
                                                      : (int64_t)s.at[r][j / LANES][j % LANES];
    }
}

INLINE void NAME(optimum_of_row)(const cbx__grad *q, cbx_algebra g, size_t i, const int64_t *first)
{
    const T *a = (const T *)q->a + i * q->k, *b = q->b, *c = q->c, *h = q->g;
    T *da = (T *)q->da + i * q->k;

    memset(da, 0, q->k * sizeof(T));
    for (size_t j = 0, at = i * q->n; j < q->n; j++, at++) {
        if (first[at] < 0) continue;
        const size_t kk = (size_t)first[at];
        da[kk] += h[at] * NAME(slope)(g, a[kk], b[kk * q->n + j], c[at], false);
    }
}

INLINE void NAME(optimum_of_columns)(const cbx__grad *q, cbx_algebra g, size_t j0, size_t live, const int64_t *first)
{
    const T *a = q->a, *b = q->b, *c = q->c, *h = q->g;
    T *db = q->db;

    for (size_t kk = 0; kk < q->k; kk++) memset(db + kk * q->n + j0, 0, live * sizeof(T));
    for (size_t i = 0; i < q->m; i++)
        for (size_t j = j0; j < j0 + live; j++) {
            const size_t at = i * q->n + j, kk = (size_t)first[at];
            if (first[at] < 0) continue;
            db[kk * q->n + j] += h[at] * NAME(slope)(g, a[i * q->k + kk], b[kk * q->n + j], c[at], true);
        }
}

INLINE void NAME(optimum_forward)(const cbx__grad *q, cbx_algebra g, size_t i, const int64_t *first)
{
    const T *a = q->a, *b = q->b, *c = q->c, *ta = q->ta, *tb = q->tb;
    T *tc = q->tc;

    for (size_t j = 0, at = i * q->n; j < q->n; j++, at++) {
        const size_t kk = (size_t)first[at], left = i * q->k + kk, right = kk * q->n + j;
        tc[at] = first[at] < 0 ? 0
                               : NAME(slope)(g, a[left], b[right], c[at], false) * ta[left] +
                                     NAME(slope)(g, a[left], b[right], c[at], true) * tb[right];
    }
}

/* --- every term has its share --- */

/* h w, nothing where h is 0, whatever w is */
INLINE T NAME(share)(T h, T w)
{
    const T x = h * w;
    return h == 0 ? 0 : x;
}

/* dA[i, kk] = sum over j of h d term/d a, LANES sums at a time. */
INLINE void NAME(terms_of_row)(const cbx__grad *q, cbx_algebra g, size_t i)
{
    const T *a = (const T *)q->a + i * q->k, *c = (const T *)q->c + i * q->n, *h = (const T *)q->g + i * q->n;
    T *da = (T *)q->da + i * q->k;

    for (size_t kk = 0; kk < q->k; kk++) {
        const T *y = (const T *)q->b + kk * q->n;
        T sum[LANES] = { 0 };
        size_t j = 0;
        for (; j + LANES <= q->n; j += LANES)
            for (size_t l = 0; l < LANES; l++)
                sum[l] += NAME(share)(h[j + l], NAME(slope)(g, a[kk], y[j + l], c[j + l], false));
        for (; j < q->n; j++) sum[0] += NAME(share)(h[j], NAME(slope)(g, a[kk], y[j], c[j], false));
        for (size_t l = 1; l < LANES; l++) sum[0] += sum[l];
        da[kk] = sum[0];
    }
}

/* dB[kk, j] = sum over i of h d term/d b. */
INLINE void NAME(terms_of_columns)(const cbx__grad *q, cbx_algebra g, size_t j0, size_t live)
{
    const T *a = q->a;

    for (size_t kk = 0; kk < q->k; kk++) {
        const T *y = (const T *)q->b + kk * q->n + j0;
        T *db = (T *)q->db + kk * q->n + j0;
        memset(db, 0, live * sizeof(T));
        for (size_t i = 0; i < q->m; i++) {
            const T x = a[i * q->k + kk], *c = (const T *)q->c + i * q->n + j0, *h = (const T *)q->g + i * q->n + j0;
            for (size_t l = 0; l < live; l++) db[l] += NAME(share)(h[l], NAME(slope)(g, x, y[l], c[l], true));
        }
    }
}

INLINE void NAME(terms_forward)(const cbx__grad *q, cbx_algebra g, size_t i)
{
    const T *a = (const T *)q->a + i * q->k, *ta = (const T *)q->ta + i * q->k, *c = (const T *)q->c + i * q->n;
    T *tc = (T *)q->tc + i * q->n;

    memset(tc, 0, q->n * sizeof(T));
    for (size_t kk = 0; kk < q->k; kk++) {
        const T x = a[kk], tx = ta[kk], *y = (const T *)q->b + kk * q->n, *ty = (const T *)q->tb + kk * q->n;
        for (size_t j = 0; j < q->n; j++)
            tc[j] += NAME(slope)(g, x, y[j], c[j], false) * tx + NAME(slope)(g, x, y[j], c[j], true) * ty[j];
    }
}

/* --- one of each for every algebra; nothing is left of those that go another way --- */

typedef void NAME(row_fn)(const cbx__grad *q, size_t i, int64_t *first);
typedef void NAME(columns_fn)(const cbx__grad *q, size_t j0, size_t live, const int64_t *first);

#define OPTIMUM(id) (cbx__traits_of[CBX_ALGEBRA_##id].derivative == CBX__BY_OPTIMUM)
#define TERMS(id)   (cbx__traits_of[CBX_ALGEBRA_##id].derivative == CBX__BY_TERMS)
#define CBX_ALGEBRA_GRADIENTS(id, ...)                                                                                 \
    static void NAME(id##_first)(const cbx__grad *q, size_t i, int64_t *first)                                         \
    {                                                                                                                  \
        if (OPTIMUM(id)) NAME(first_of_rows)(q, CBX_ALGEBRA_##id, i, first);                                           \
    }                                                                                                                  \
    static void NAME(id##_row)(const cbx__grad *q, size_t i, int64_t *first)                                           \
    {                                                                                                                  \
        if (OPTIMUM(id)) NAME(optimum_of_row)(q, CBX_ALGEBRA_##id, i, first);                                          \
        if (TERMS(id)) NAME(terms_of_row)(q, CBX_ALGEBRA_##id, i);                                                     \
    }                                                                                                                  \
    static void NAME(id##_columns)(const cbx__grad *q, size_t j0, size_t live, const int64_t *first)                   \
    {                                                                                                                  \
        if (OPTIMUM(id)) NAME(optimum_of_columns)(q, CBX_ALGEBRA_##id, j0, live, first);                               \
        if (TERMS(id)) NAME(terms_of_columns)(q, CBX_ALGEBRA_##id, j0, live);                                          \
    }                                                                                                                  \
    static void NAME(id##_forward)(const cbx__grad *q, size_t i, int64_t *first)                                       \
    {                                                                                                                  \
        if (OPTIMUM(id)) NAME(optimum_forward)(q, CBX_ALGEBRA_##id, i, first);                                         \
        if (TERMS(id)) NAME(terms_forward)(q, CBX_ALGEBRA_##id, i);                                                    \
    }

#include "calibrax/array/kernels/algebra.h"
#undef OPTIMUM
#undef TERMS

static const struct {
    NAME(row_fn) * first, *row, *forward;
    NAME(columns_fn) * columns;
} NAME(gradients_of)[CBX_ALGEBRA_COUNT] = {
#define CBX_ALGEBRA_GRADIENTS(id, ...)                                                                                 \
    [CBX_ALGEBRA_##id] = { NAME(id##_first), NAME(id##_row), NAME(id##_forward), NAME(id##_columns) },

#include "calibrax/array/kernels/algebra.h"
};

/* @param high  rows that one call takes */
static void NAME(each_row)(const cbx__grad *q, NAME(row_fn) * go, size_t high, int64_t *first)
{
    EACH_OF_TEAM(q->threads)
    for (size_t i = 0; i < q->m; i += high) go(q, i, first);
}

static void NAME(by_gradients)(const cbx__grad *q, int64_t *first, bool forward)
{
    const cbx_algebra g = q->semiring->id;

    if (cbx__traits_of[g].derivative == CBX__BY_OPTIMUM)
        NAME(each_row)(q, NAME(gradients_of)[g].first, NAME(SOUGHT_HIGH), first);
    NAME(each_row)(q, forward ? NAME(gradients_of)[g].forward : NAME(gradients_of)[g].row, 1, first);
    if (forward) return;
    EACH_OF_TEAM(q->threads)
    for (size_t j0 = 0; j0 < q->n; j0 += GRAD_COLUMNS)
        NAME(gradients_of)[g].columns(q, j0, min_size(GRAD_COLUMNS, q->n - j0), first);
}
