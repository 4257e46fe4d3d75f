/* ELL products of one float type: a row of C in registers, up to NV vectors wide, while its
 * neighbours' rows of B stream past. Included once a type; expects SFX, T, TI, VEXP, VLOG, SQRT,
 * VMAX, VMIN, WATCH, HAS_SEEN, WATCH_TYPE. */

typedef T vec __attribute__((vector_size(VECTOR_BYTES), may_alias, aligned(sizeof(T))));
typedef TI NAME(mask) __attribute__((vector_size(VECTOR_BYTES), may_alias, aligned(sizeof(T))));

/* One row's edges. */
typedef struct NAME(row) {
    size_t n, ldb;
    const int32_t *index;
    const int32_t *ahead;  /* of edges that come some edges later, n of them: hints, which may lead anywhere */
    bool far;              /* B is beyond the second-level cache */
    const uint32_t *place; /* NULL: values[e] */
    const T *values, *b;
} NAME(row);

INLINE vec NAME(select)(NAME(mask) m, vec x, vec y) { return (vec)(((NAME(mask))x & m) | ((NAME(mask))y & ~m)); }

/* For machines without an instruction. */
static inline __attribute__((unused)) bool NAME(lanes_nan)(vec x)
{
    TI odd = 0;
    const NAME(mask) nan = (NAME(mask))(x != x);
    for (int l = 0; l < LANES; l++) odd |= nan[l];
    return odd != 0;
}

typedef WATCH_TYPE(vec) NAME(watch);

#define PICK(m, x, y) NAME(select)((NAME(mask))(m), x, y)
#define EITHER(x, y)  (vec)((NAME(mask))(x) ^ (NAME(mask))(y))
#define PRODUCT(a, b) NAME(product)(a, b)
#define SPREAD(x)     ((x) - (vec){ 0 })

/* One product, not another one in an fma of its own. */
INLINE vec NAME(product)(T a, vec b)
{
    vec t = a * b;
    OPAQUE(t);
    return t;
}

/* s is a constant wherever these are inlined. */
INLINE bool NAME(is_watched)(step s)
{
#define CBX_ELL_STEP(name, watched, term, update)                                                                      \
    if (s == STEP_##name) return watched;
#include "calibrax/array/kernels/algebra.h"
    return false;
}

INLINE vec NAME(term_of)(step s, T a, vec b)
{
#define CBX_ELL_STEP(name, watched, term, update)                                                                      \
    if (s == STEP_##name) return term;
#include "calibrax/array/kernels/algebra.h"
    return b;
}

/* acc' of a term; of a watched step wrong if one of them is NaN. */
INLINE vec NAME(update)(step s, vec acc, vec t)
{
#define CBX_ELL_STEP(name, watched, term, update)                                                                      \
    if (s == STEP_##name) return update;
#include "calibrax/array/kernels/algebra.h"
    if (s == STEP_XOR) return EITHER(acc, t);
    return acc;
}

/* acc' of one edge. */
INLINE vec NAME(step)(step s, vec acc, T a, vec b, NAME(watch) * watch)
{
    const vec t = NAME(term_of)(s, a, b);
    if (NAME(is_watched)(s)) *watch = WATCH(*watch, t, t);
    return NAME(update)(s, acc, t);
}

/* Of two edges of a watched step. */
INLINE vec NAME(two_steps)(step s, vec acc, T a1, vec b1, T a2, vec b2, NAME(watch) * watch)
{
    const vec t = NAME(term_of)(s, a1, b1), u = NAME(term_of)(s, a2, b2);
    *watch = WATCH(*watch, t, u);
    return NAME(update)(s, acc, NAME(update)(s, u, t));
}

INLINE vec NAME(load)(const T *x, size_t live)
{
    vec v = { 0 };
    if (live == (size_t)LANES) return *(const vec *)x;
    memcpy(&v, x, live * sizeof(T));
    return v;
}

/* Asks for nv vectors at an address, from which the compiler is to count: it has no registers for
 * each line's. */
INLINE void NAME(announce)(uintptr_t row, int nv, bool far)
{
    if (far) {
        OPAQUE_ADDRESS(row);
        UNROLL for (int l = 0; l < nv * VECTOR_BYTES; l += 64) __builtin_prefetch((const char *)row + l, 0, 2);
    } else {
        OPAQUE_ADDRESS(row);
        UNROLL for (int l = 0; l < nv * VECTOR_BYTES; l += 64) __builtin_prefetch((const char *)row + l);
    }
}

/* The row of B of an edge, from column j0 on. */
#define ROW_OF(edge)   ((const T *)(from + (uintptr_t)(intptr_t)index[edge] * stride))
#define ANNOUNCE(edge) NAME(announce)(from + (uintptr_t)(intptr_t)ahead[edge] * stride, nv, far)
#define VALUE(edge)    (s == STEP_XOR ? 0 : values[place ? place[edge] : edge])
#define AT(v)          ((v) + 1 == nv ? tail : (size_t)((v)*LANES))
#define VECTOR(row, v) NAME(load)((row) + AT(v), live)

/* nv vectors of one row, the last one `tail` elements behind the first, or, with nv == 1, its
 * `live` first lanes.  False: a NaN took part, and C is not right. */
INLINE bool NAME(fold)(step s, int nv, size_t live, size_t tail, const NAME(row) * r, size_t j0, T start, T *restrict c)
{
    const uintptr_t from = (uintptr_t)(r->b + j0), stride = r->ldb * sizeof(T);
    const int32_t *const index = r->index, *const ahead = r->ahead;
    const uint32_t *const place = r->place;
    const T *const values = r->values;
    const size_t n = r->n;
    const bool far = r->far;
    NAME(watch) watch[WATCHES];
    bool seen = false;
    size_t e = 0;
    vec acc[NV];
    UNROLL for (int v = 0; v < nv; v++) acc[v] = start - (vec){ 0 };
    UNROLL for (int w = 0; w < WATCHES; w++) watch[w] = WATCH_START(NAME(watch));
    for (; NAME(is_watched)(s) && e + 2 <= n; e += 2) {
        const T a1 = VALUE(e), a2 = VALUE(e + 1), *b1 = ROW_OF(e), *b2 = ROW_OF(e + 1);
        ANNOUNCE(e);
        ANNOUNCE(e + 1);
        UNROLL for (int v = 0; v < nv; v++)
            acc[v] = NAME(two_steps)(s, acc[v], a1, VECTOR(b1, v), a2, VECTOR(b2, v), &watch[v % WATCHES]);
    }
    for (; e < n; e++) {
        const T a = VALUE(e), *b = ROW_OF(e);
        ANNOUNCE(e);
        UNROLL for (int v = 0; v < nv; v++) acc[v] = NAME(step)(s, acc[v], a, VECTOR(b, v), &watch[v % WATCHES]);
    }
    UNROLL for (int v = 0; v < nv; v++)
    {
        if (live == (size_t)LANES)
            *(vec *)(c + AT(v)) = acc[v];
        else
            memcpy(c, &acc[v], live * sizeof(T));
    }
    switch (s) {
#define CBX_ELL_FINISH(name, of_scalar)                                                                                \
    case STEP_##name:                                                                                                  \
        for (size_t l = 0; l < tail + live; l++) {                                                                     \
            const T x = c[l];                                                                                          \
            c[l] = of_scalar;                                                                                          \
        }                                                                                                              \
        break;

#include "calibrax/array/kernels/algebra.h"
    default: break;
    }
    UNROLL for (int w = 0; w < WATCHES; w++) seen |= NAME(is_watched)(s) && HAS_SEEN(watch[w]);
    return !seen;
}

/* size: the live lanes of less than a vector; where the last of several vectors begins. */
typedef bool NAME(fold_fn)(const NAME(row) * r, size_t size, size_t j0, T start, T *c);
#define FOLD(s, nv)                                                                                                    \
    static bool NAME(s##_##nv)(const NAME(row) * r, size_t size, size_t j0, T start, T * c)                            \
    {                                                                                                                  \
        return NAME(fold)(s, nv, LANES, size, r, j0, start, c);                                                        \
    }
#define ENTRY(s, nv)  NAME(s##_##nv),
#define UP_TO_8(X, s) X(s, 1) X(s, 2) X(s, 3) X(s, 4) X(s, 5) X(s, 6) X(s, 7) X(s, 8)
#define FOLDS(name)                                                                                                    \
    static bool NAME(STEP_##name##_0)(const NAME(row) * r, size_t size, size_t j0, T start, T * c)                     \
    {                                                                                                                  \
        return NAME(fold)(STEP_##name, 1, size, 0, r, j0, start, c);                                                   \
    }                                                                                                                  \
    UP_TO_8(FOLD, STEP_##name)
#define ROW(name)                                 [STEP_##name] = { NAME(STEP_##name##_0), UP_TO_8(ENTRY, STEP_##name) },
#define CBX_ELL_STEP(name, watched, term, update) FOLDS(name)

#include "calibrax/array/kernels/algebra.h"
FOLDS(XOR)
static NAME(fold_fn) *const NAME(folds)[][WIDTHS] = {
#define CBX_ELL_STEP(name, watched, term, update) ROW(name)

#include "calibrax/array/kernels/algebra.h"
    ROW(XOR)
};

/* All d columns of a row.  Where no number of vectors fills it, its last vector reaches back over
 * columns of the one before: the same terms in the same order give the same bits. */
static void NAME(fold_row)(step s, const NAME(row) * r, size_t d, T start, T *c)
{
    for (size_t j = 0, some; j < d; j += some) {
        some = d - j < (size_t)(NV * LANES) ? d - j : (size_t)(NV * LANES);
        if (some < (size_t)LANES && j > 0) some = LANES, j = d - LANES;
        const size_t w = some < (size_t)LANES ? 0 : (some + LANES - 1) / LANES, size = w ? some - LANES : some;
        if (!NAME(folds)[s][w](r, size, j, start, c + j)) (void)NAME(folds)[s + 1][w](r, size, j, start, c + j);
    }
}

/* --- log: c holds the largest terms already --- */

static void NAME(log_row)(const NAME(row) * r, size_t d, T *restrict c)
{
    enum { WIDE = 4 * LANES };

    NAME(fold_row)(STEP_MAX_ADD, r, d, -(T)INFINITY, c);
    for (size_t j0 = 0; j0 < d; j0 += WIDE) {
        const size_t live = d - j0 < WIDE ? d - j0 : WIDE;
        T sum[WIDE] = { 0 }, top[WIDE] = { 0 }, b[WIDE] = { 0 };
        for (size_t l = 0; l < live; l++) top[l] = c[j0 + l] - c[j0 + l] == 0 ? c[j0 + l] : 0;
        for (size_t e = 0; e < r->n; e++) {
            const T a = r->values[r->place ? r->place[e] : e];
            const T *from = r->b + (size_t)r->index[e] * r->ldb + j0;
            if (live == WIDE)
                for (size_t l = 0; l < WIDE; l++) sum[l] += VEXP(a + from[l] - top[l]);
            else {
                memcpy(b, from, live * sizeof(T));
                for (size_t l = 0; l < WIDE; l++) sum[l] += VEXP(a + b[l] - top[l]);
            }
        }
        for (size_t l = 0; l < WIDE; l++) sum[l] = VLOG(sum[l]) + top[l];
        for (size_t l = 0; l < live; l++) c[j0 + l] = c[j0 + l] - c[j0 + l] == 0 ? sum[l] : c[j0 + l];
    }
}

/* --- rows over threads --- */

static void NAME(one_row)(const cbx_ell_product *p, step s, size_t edges, size_t i)
{
    const size_t first = cbx__ell_first(p, i), n = cbx__ell_degree(p, i);
    const bool far = p->cols * p->ldb * sizeof(T) > NEAR;
    const NAME(row) r = { .n = n,
                          .ldb = p->ldb,
                          .index = p->index + first,
                          .ahead = p->index + first + ahead_of(p, first, n, edges, far),
                          .far = far,
                          .place = p->place ? p->place + first : NULL,
                          .values = s == STEP_XOR ? NULL
                                    : p->place    ? p->values
                                                  : (const T *)p->values + first,
                          .b = p->b };
    T *c = (T *)p->c + i * p->ldc;

    if (s == STEP_LOG)
        NAME(log_row)(&r, p->d, c);
    else
        NAME(fold_row)(s, &r, p->d, s == STEP_XOR ? 0 : (T)p->semiring->identity, c);
}

typedef struct NAME(job) {
    const cbx_ell_product *p;
    step s;
} NAME(job);

static void NAME(some_rows)(const void *job, size_t from, size_t to)
{
    const NAME(job) *j = job;
    const size_t edges = j->p->start ? j->p->start[j->p->rows] : j->p->rows * j->p->width;
    for (size_t i = from; i < to; i++) NAME(one_row)(j->p, j->s, edges, i);
}

static void NAME(rows)(const cbx_ell_product *p, bool gather, int threads)
{
    const cbx__ell_rows rows = cbx__ell_rows_of(p);
    const NAME(job) job = { p, gather ? STEP_XOR : steps_of[p->semiring->id][p->scaled] };
    cbx__ell_share(&rows, threads, NAME(some_rows), &job);
}
