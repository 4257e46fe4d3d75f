/*
 * ELL products of one float type: a row of C in registers, up to NV vectors wide, while its neighbours' rows of B stream past.
 * Included once a type; expects SFX, T, TI, VEXP, VLOG, SQRT, VMAX, VMIN, HAS_NAN.
 */
#define NAME(x) PASTE(PASTE(x, _), SFX)
#define LANES   (VECTOR_BYTES / (int)sizeof(T))
#define vec     NAME(vec)

typedef T vec __attribute__((vector_size(VECTOR_BYTES), may_alias, aligned(sizeof(T))));
typedef TI NAME(mask) __attribute__((vector_size(VECTOR_BYTES), may_alias, aligned(sizeof(T))));

/* One row's edges. */
typedef struct NAME(row) {
    size_t n, ldb;
    const int32_t *index;
    const uint32_t *place; /* NULL: values[e] */
    const T *values, *b;
} NAME(row);

ALWAYS_INLINE vec NAME(select)(NAME(mask) m, vec x, vec y) { return (vec)(((NAME(mask))x & m) | ((NAME(mask))y & ~m)); }

/* For machines without an instruction. */
static inline __attribute__((unused)) bool NAME(lanes_nan)(vec x)
{
    TI odd = 0;
    const NAME(mask) nan = (NAME(mask))(x != x);
    for (int l = 0; l < LANES; l++) odd |= nan[l];
    return odd != 0;
}

/* acc' of one term; s is a constant wherever this is inlined.  `sum` of all terms is NaN if one is: then the _NAN step decides. */
ALWAYS_INLINE vec NAME(step)(step s, vec acc, T a, vec b, vec *sum)
{
    if (s == STEP_FMA) return acc + a * b;
    if (s == STEP_XOR) return (vec)((NAME(mask))acc ^ (NAME(mask))b);
    if (s == STEP_SQUARE) {
        const vec x = a - b;
        return acc + x * x;
    }
    const bool scaled = s == STEP_MAX_MUL || s == STEP_MIN_MUL || s == STEP_MAX_MUL_NAN || s == STEP_MIN_MUL_NAN ||
                        s == STEP_MAX_MUL_SURE || s == STEP_MIN_MUL_SURE;
    const vec t = scaled ? a * b : a + b;
    switch (s) {
    case STEP_MAX_ADD:
    case STEP_MAX_MUL: *sum += t; return VMAX(t, acc);
    case STEP_MIN_ADD:
    case STEP_MIN_MUL: *sum += t; return VMIN(t, acc);
    case STEP_MAX_ADD_SURE:
    case STEP_MAX_MUL_SURE: return VMAX(t, acc);
    case STEP_MIN_ADD_SURE:
    case STEP_MIN_MUL_SURE: return VMIN(t, acc);
    case STEP_MAX_ADD_NAN:
    case STEP_MAX_MUL_NAN: return NAME(select)((NAME(mask))(t > acc) | (NAME(mask))(t != t), t, acc);
    default: return NAME(select)((NAME(mask))(t < acc) | (NAME(mask))(t != t), t, acc);
    }
}

ALWAYS_INLINE vec NAME(load)(const T *x, size_t live)
{
    vec v = { 0 };
    if (live == (size_t)LANES) return *(const vec *)x;
    memcpy(&v, x, live * sizeof(T));
    return v;
}

/* Columns [0, nv vectors) of one row, or, with nv == 1, its `live` first lanes.  False: a NaN took part, and C is not right. */
ALWAYS_INLINE bool NAME(fold)(step s, int nv, size_t live, const NAME(row) * r, size_t j0, T start, T *restrict c)
{
    const bool sure = s >= STEP_MAX_ADD_SURE, scaled = s >= STEP_MAX_MUL_SURE;
    bool odd = false; /* sure of B alone: a value may be NaN, and times infinity, too */
    vec acc[NV], sum[NV], all = { 0 };
    UNROLL for (int v = 0; v < nv; v++) acc[v] = start - (vec){ 0 }, sum[v] = (vec){ 0 };
    for (size_t e = 0; e < r->n; e++) {
        const T a = s == STEP_XOR ? 0 : r->values[r->place ? r->place[e] : e];
        const T *b = r->b + (size_t)r->index[e] * r->ldb + j0;
        if (sure) odd |= scaled ? !(a - a == 0) : a != a;
        UNROLL for (int v = 0; v < nv; v++) acc[v] = NAME(step)(s, acc[v], a, NAME(load)(b + v * LANES, live), &sum[v]);
    }
    UNROLL for (int v = 0; v < nv; v++)
    {
        all += sum[v];
        if (live == (size_t)LANES)
            *(vec *)(c + v * LANES) = acc[v];
        else
            memcpy(c, &acc[v], live * sizeof(T));
    }
    if (s == STEP_SQUARE)
        for (size_t l = 0; l < (live < (size_t)LANES ? live : (size_t)(nv * LANES)); l++) c[l] = SQRT(c[l]);
    if (sure) return !odd;
    if (s != STEP_MAX_ADD && s != STEP_MIN_ADD && s != STEP_MAX_MUL && s != STEP_MIN_MUL) return true;
    return !HAS_NAN(all);
}

typedef bool NAME(fold_fn)(const NAME(row) * r, size_t live, size_t j0, T start, T *c);
#define FOLD(s, nv)                                                                                                    \
    static bool NAME(s##_##nv)(const NAME(row) * r, size_t live, size_t j0, T start, T * c)                            \
    {                                                                                                                  \
        (void)live;                                                                                                    \
        return NAME(fold)(s, nv, LANES, r, j0, start, c);                                                              \
    }
#define FOLDS(s)                                                                                                       \
    static bool NAME(s##_0)(const NAME(row) * r, size_t live, size_t j0, T start, T * c)                               \
    {                                                                                                                  \
        return NAME(fold)(s, 1, live, r, j0, start, c);                                                                \
    }                                                                                                                  \
    FOLD(s, 1) FOLD(s, 2) FOLD(s, 4) FOLD(s, 8)
#define ROW(s) [s] = { NAME(s##_0), NAME(s##_1), NAME(s##_2), NAME(s##_4), NAME(s##_8) },
STEP_MAP(FOLDS)
static NAME(fold_fn) *const NAME(folds)[STEPS][WIDTHS] = { STEP_MAP(ROW) };
#undef FOLD
#undef FOLDS
#undef ROW

/* All d columns of a row.  The last vectors of a row that no number of vectors fills reach back over columns that are done: the same
 * terms in the same order give the same bits. */
static void NAME(fold_row)(step s, const NAME(row) * r, size_t d, T start, T *c)
{
    for (size_t j = 0; j < d;) {
        int w = WIDTHS - 1;
        while (w > 0 && ((size_t)LANES << (w - 1)) > d - j) w--;
        if (w == 0 && d >= (size_t)LANES) w = 1, j = d - LANES;
        const size_t live = w > 0 ? (size_t)LANES << (w - 1) : d - j;
        if (!NAME(folds)[s][w](r, live, j, start, c + j)) (void)NAME(folds)[careful_of(s)][w](r, live, j, start, c + j);
        j += live;
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

static void NAME(one_row)(const cbx_ell_product *p, step s, size_t i)
{
    const size_t first = cbx__ell_first(p, i);
    const NAME(row) r = { .n = cbx__ell_degree(p, i),
                          .ldb = p->ldb,
                          .index = p->index + first,
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

/* The rows of B of row i: asked for while the row before it is folded. */
static inline void NAME(announce)(const cbx_ell_product *p, size_t i)
{
    const size_t first = cbx__ell_first(p, i), degree = cbx__ell_degree(p, i), n = degree < AHEAD ? degree : AHEAD,
                 d = p->d * sizeof(T) < AHEAD_BYTES ? p->d : AHEAD_BYTES / sizeof(T);

    for (size_t e = first; e < first + n; e++) {
        const T *b = (const T *)p->b + (size_t)p->index[e] * p->ldb;
        for (size_t j = 0; j < d; j += 64 / sizeof(T)) __builtin_prefetch(b + j);
    }
}

/* --- finite operands --- */

enum { NAME(SCAN) = 16 * LANES };

/* True if n elements are finite: a sum of x * 0 is 0 unless one is not. */
static bool NAME(all_finite)(const T *x, size_t n)
{
    T sum[NAME(SCAN)] = { 0 }, all = 0;
    size_t i = 0;

    for (; i + NAME(SCAN) <= n; i += NAME(SCAN))
        for (size_t l = 0; l < (size_t)NAME(SCAN); l++) sum[l] += x[i + l] * 0;
    for (; i < n; i++) all += x[i] * 0;
    for (size_t l = 0; l < (size_t)NAME(SCAN); l++) all += sum[l];
    return all == 0;
}

/* Whether no term can be NaN; asked only where each row of B is gathered often, so that looking at it once costs little. */
static bool NAME(is_sure)(const cbx_ell_product *p, int threads)
{
    enum { OFTEN = 6, ROWS = 256 };
    const size_t edges = p->start ? p->start[p->rows] : p->rows * p->width;
    bool sure = edges >= OFTEN * p->cols;

    (void)threads;
    if (!sure) return false;
#if defined(_OPENMP)
#pragma omp parallel for num_threads(threads) schedule(static) reduction(&& : sure) if (threads > 1)
#endif
    for (size_t i = 0; i < p->cols; i += ROWS) {
        const size_t n = p->cols - i < ROWS ? p->cols - i : ROWS;
        const T *b = (const T *)p->b + i * p->ldb;
        if (!sure) continue;
        if (p->ldb == p->d)
            sure = NAME(all_finite)(b, n * p->d);
        else
            for (size_t r = 0; sure && r < n; r++) sure = NAME(all_finite)(b + r * p->ldb, p->d);
    }
    return sure;
}

/* The step without care, where every operand that takes part is finite. */
static step NAME(surely)(const cbx_ell_product *p, step s, int threads)
{
    const step sure = s == STEP_MAX_ADD   ? STEP_MAX_ADD_SURE
                      : s == STEP_MIN_ADD ? STEP_MIN_ADD_SURE
                      : s == STEP_MAX_MUL ? STEP_MAX_MUL_SURE
                      : s == STEP_MIN_MUL ? STEP_MIN_MUL_SURE
                                          : s;
    return sure != s && NAME(is_sure)(p, threads) ? sure : s;
}

static void NAME(rows)(const cbx_ell_product *p, step s, int threads)
{
    s = NAME(surely)(p, s, threads);
    (void)threads;
#if defined(_OPENMP)
#pragma omp parallel for num_threads(threads) schedule(dynamic, 64) if (threads > 1)
#endif
    for (size_t i = 0; i < p->rows; i++) {
        if (i + 1 < p->rows) NAME(announce)(p, i + 1);
        NAME(one_row)(p, s, i);
    }
}
