/*
 * ELL products of one float type: a row of C in registers, up to NV vectors wide, while its neighbours' rows of B stream past.
 * Included once a type; expects SFX, T, TI, VEXP, VLOG, SQRT, VMAX, VMIN, HAS_NAN.
 */
#define NAME(x) PASTE(PASTE(x, _), SFX)
#define LANES   (VECTOR_BYTES / (int)sizeof(T))
#define vec     NAME(vec)

typedef T vec __attribute__((vector_size(VECTOR_BYTES), may_alias, aligned(sizeof(T))));
typedef TI NAME(mask) __attribute__((vector_size(VECTOR_BYTES), may_alias, aligned(sizeof(T))));

/* One row's edges; `left` indices from the first on, of this row and those behind it, `skip` between them and the next row's. */
typedef struct NAME(row) {
    size_t n, ldb, left, skip;
    bool far; /* B is beyond the second-level cache */
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
    const bool scaled = s == STEP_MAX_MUL || s == STEP_MIN_MUL || s == STEP_MAX_MUL_NAN || s == STEP_MIN_MUL_NAN;
    const vec t = scaled ? a * b : a + b;
    switch (s) {
    case STEP_MAX_ADD:
    case STEP_MAX_MUL: *sum += t; return VMAX(t, acc);
    case STEP_MIN_ADD:
    case STEP_MIN_MUL: *sum += t; return VMIN(t, acc);
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

/* Asks for the columns from j0 of the row of B that comes some edges behind e.  An address: what stands behind a row's end may lead
 * anywhere. */
ALWAYS_INLINE void NAME(announce)(const NAME(row) * r, int nv, size_t e, size_t j0)
{
    size_t at = e + (r->far ? FAR_AHEAD : AHEAD);
    at += at >= r->n ? r->skip : 0;
    const uintptr_t row = (uintptr_t)r->b +
                          ((uintptr_t)(intptr_t)r->index[at < r->left ? at : e] * r->ldb + j0) * sizeof(T);
    if (r->far) {
        UNROLL for (int l = 0; l < nv * VECTOR_BYTES; l += 64)
            __builtin_prefetch((const void *)(row + (uintptr_t)l), 0, 2);
    } else {
        UNROLL for (int l = 0; l < nv * VECTOR_BYTES; l += 64) __builtin_prefetch((const void *)(row + (uintptr_t)l));
    }
}

/* Columns [0, nv vectors) of one row, or, with nv == 1, its `live` first lanes.  False: a NaN took part, and C is not right. */
ALWAYS_INLINE bool NAME(fold)(step s, int nv, size_t live, const NAME(row) * r, size_t j0, T start, T *restrict c)
{
    vec acc[NV], sum[NV], all = { 0 };
    UNROLL for (int v = 0; v < nv; v++) acc[v] = start - (vec){ 0 }, sum[v] = (vec){ 0 };
    for (size_t e = 0; e < r->n; e++) {
        const T a = s == STEP_XOR ? 0 : r->values[r->place ? r->place[e] : e];
        const T *b = r->b + (size_t)r->index[e] * r->ldb + j0;
        NAME(announce)(r, nv, e, j0);
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
        if (!NAME(folds)[s][w](r, live, j, start, c + j)) (void)NAME(folds)[s + 1][w](r, live, j, start, c + j);
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

static void NAME(one_row)(const cbx_ell_product *p, step s, size_t edges, size_t i)
{
    const size_t first = cbx__ell_first(p, i), n = cbx__ell_degree(p, i);
    const NAME(row) r = { .n = n,
                          .ldb = p->ldb,
                          .left = edges - first,
                          .skip = p->start ? 0 : p->width - n,
                          .far = p->cols * p->ldb * sizeof(T) > NEAR,
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

static void NAME(rows)(const cbx_ell_product *p, step s, int threads)
{
    const cbx__ell_rows rows = cbx__ell_rows_of(p);
    const NAME(job) job = { p, s };
    cbx__ell_share(&rows, threads, NAME(some_rows), &job);
}
