/* Derivatives of products, the parts that are no products themselves.  All matrices are dense and
 * row-major. What belongs to A is shared by rows, what belongs to B by columns, in parts of one
 * size: each element is added up by one thread in one order, so its bits do not depend on how many
 * there are. Included once a float type behind semiring_float.h and semiring_partials.h; expects
 * GRAD_LIMIT: exp of that, times what exp flushes to 0, is nothing. */

/* --- log: weights p = exp(a + b - c) = A' B' exp(r + q - c), r and q the maxima of row and column
 * --- */

/* A' = exp(a - r), with r = 0 and A' = 0 for a row that holds NaN or +inf or only -inf; odd[i]
 * marks it. */
static void NAME(scale_rows)(size_t rows, size_t n, int threads, const T *a, T *out, T *shift, uint8_t *odd)
{
    EACH_OF_TEAM(threads)
    for (size_t i = 0; i < rows; i++) {
        const T *x = a + i * n;
        T *scaled = out + i * n, top, limit;
        (void)NAME(row_maxima)(x, 1, (ptrdiff_t)n, n, 1, &top, &limit);
        odd[i] = isnan(limit) || isinf(top);
        shift[i] = odd[i] ? 0 : top;
        for (size_t kk = 0; kk < n; kk++) scaled[kk] = odd[i] ? 0 : VEXP(x[kk] - shift[i]);
    }
}

static void NAME(scale_columns)(size_t rows, size_t n, int threads, const T *b, T *out, T *shift, T *limit,
                                uint8_t *odd)
{
    EACH_OF_TEAM(threads)
    for (size_t j0 = 0; j0 < n; j0 += GRAD_COLUMNS) {
        const size_t live = min_size(GRAD_COLUMNS, n - j0);
        (void)NAME(row_maxima)(b + j0, live, 1, rows, (ptrdiff_t)n, shift + j0, limit + j0);
        for (size_t j = j0; j < j0 + live; j++) {
            odd[j] = isnan(limit[j]) || isinf(shift[j]);
            if (odd[j]) shift[j] = 0;
        }
    }
    EACH_OF_TEAM(threads)
    for (size_t kk = 0; kk < rows; kk++) {
        const T *x = b + kk * n;
        T *scaled = out + kk * n;
        for (size_t j = 0; j < n; j++) scaled[j] = odd[j] ? 0 : VEXP(x[j] - shift[j]);
    }
}

/* W = g exp(r + q - c); 0 where that is not certain, which late = 1 says, and where c has no finite
 * term. */
static void NAME(log_weights)(const cbx__grad *q, T *weights, const T *r, const T *s, const uint8_t *odd_r,
                              const uint8_t *odd_s, uint8_t *all_late)
{
    EACH_OF_TEAM(q->threads)
    for (size_t i = 0; i < q->m; i++) {
        const T *c = (const T *)q->c + i * q->n, *g = (const T *)q->g + i * q->n;
        T *w = weights + i * q->n;
        uint8_t *late = all_late + i * q->n;
        for (size_t j = 0; j < q->n; j++) {
            const T x = r[i] + s[j] - c[j];
            const bool masked = c[j] == -(T)INFINITY || g[j] == 0;
            const bool certain = !odd_r[i] && !odd_s[j] && x <= GRAD_LIMIT;
            late[j] = !masked && !certain;
            w[j] = masked || !certain ? 0 : g[j] * VEXP(x);
        }
    }
}

/* The terms of the elements of one row and some columns that were not certain, added to dA, or to
 * dB. */
static void NAME(late_terms)(const cbx__grad *q, size_t i, size_t j0, size_t live, bool of_a, const uint8_t *late)
{
    const T *a = (const T *)q->a + i * q->k, *b = q->b, *c = (const T *)q->c + i * q->n,
            *g = (const T *)q->g + i * q->n;
    T *da = (T *)q->da + i * q->k, *db = q->db;

    for (size_t j = j0; j < j0 + live; j++)
        for (size_t kk = 0; late[i * q->n + j] && kk < q->k; kk++) {
            const T t = a[kk] + b[kk * q->n + j];
            const T w = t == -(T)INFINITY ? 0 : g[j] * VEXP(t - c[j]);
            if (of_a)
                da[kk] += w;
            else
                db[kk * q->n + j] += w;
        }
}

/* dA *= A', dB *= B', then the terms of elements that were not certain. */
static void NAME(log_finish)(const cbx__grad *q, const T *scaled_a, const T *scaled_b, const uint8_t *late)
{
    T *da = q->da, *db = q->db;

    EACH_OF_TEAM(q->threads)
    for (size_t i = 0; i < q->m; i++) {
        for (size_t kk = 0; kk < q->k; kk++) da[i * q->k + kk] *= scaled_a[i * q->k + kk];
        NAME(late_terms)(q, i, 0, q->n, true, late);
    }
    EACH_OF_TEAM(q->threads)
    for (size_t j0 = 0; j0 < q->n; j0 += GRAD_COLUMNS) {
        const size_t live = min_size(GRAD_COLUMNS, q->n - j0);
        for (size_t kk = 0; kk < q->k; kk++)
            for (size_t j = j0; j < j0 + live; j++) db[kk * q->n + j] *= scaled_b[kk * q->n + j];
        for (size_t i = 0; i < q->m; i++) NAME(late_terms)(q, i, j0, live, false, late);
    }
}

/* --- euclidean: by differences, as the distances; nothing at distance 0 --- */

/* 1/c, or 0 where c is 0 or next to it. */
static inline T NAME(over)(T c) { return c <= 4 * SMALLEST ? 0 : 1 / c; }

/* Rows of a tile, and rows of y that it meets at a time, two vectors of columns of which lie side
 * by side: in y itself, a power of two apart, they would have a few places of a cache
 * among them. */
#define DIFFER_ROWS 4
#define DIFFER_DEEP 128

/* sum += w (x - y) of DIFFER_ROWS rows with `deep` rows of y. */
INLINE void NAME(differ_tile)(size_t deep, const T *const *w, const vec *y, vec x[][2], vec sum[][2])
{
    const T *weights[DIFFER_ROWS];
    vec acc[DIFFER_ROWS][2];

    UNROLL for (size_t e = 0; e < 2 * DIFFER_ROWS; e++) acc[e / 2][e % 2] = sum[e / 2][e % 2];
    UNROLL for (size_t r = 0; r < DIFFER_ROWS; r++) weights[r] = w[r];
    for (size_t j = 0; j < deep; j++, y += 2) UNROLL for (size_t e = 0; e < 2 * DIFFER_ROWS; e++)
        {
            if (VECTOR_BYTES == 64) OPAQUE_ADDRESS(weights[e / 2]); /* each from memory: FROM_MEMORY */
            acc[e / 2][e % 2] += weights[e / 2][j] * (x[e / 2][e % 2] - y[e % 2]);
        }
    UNROLL for (size_t e = 0; e < 2 * DIFFER_ROWS; e++) sum[e / 2][e % 2] = acc[e / 2][e % 2];
}

/* Rows [i0, i1) of out, `live` columns of them, to which `deep` rows of y are added; first: they
 * are the first. */
static void NAME(differ_rows)(size_t i0, size_t i1, size_t k, size_t live, const T *x, const T *w, size_t across,
                              size_t deep, bool first, const vec *y, T *out)
{
    const size_t low = min_size(live, LANES), high = live - low;

    for (size_t i = i0; i < i1; i += DIFFER_ROWS) {
        vec at[DIFFER_ROWS][2], sum[DIFFER_ROWS][2] = { 0 };
        const T *weights[DIFFER_ROWS];
        for (size_t r = 0; r < DIFFER_ROWS; r++) { /* rows that are not there are the last one */
            const size_t row = min_size(i + r, i1 - 1);
            weights[r] = w + row * across;
            at[r][0] = NAME(load_small)(x + row * k, low);
            at[r][1] = NAME(load_small)(x + row * k + low, high);
            if (first) continue;
            sum[r][0] = NAME(load_small)(out + row * k, low);
            sum[r][1] = NAME(load_small)(out + row * k + low, high);
        }
        NAME(differ_tile)(deep, weights, y, at, sum);
        for (size_t r = 0; r < min_size(DIFFER_ROWS, i1 - i); r++) {
            NAME(store_small)(out + (i + r) * k, sum[r][0], low);
            NAME(store_small)(out + (i + r) * k + low, sum[r][1], high);
        }
    }
}

/* out[i,:] = sum over j of w[i,j] (x[i,:] - y[j,:]); x is rows-by-k, y others-by-k, w
 * rows-by-others. */
static void NAME(differ)(size_t rows, size_t others, size_t k, int threads, const T *x, const T *y, const T *w, T *out)
{
    const size_t wide = 2 * LANES, part = GRAD_COLUMNS;

    EACH_PAIR_OF_TEAM(threads)
    for (size_t k0 = 0; k0 < k; k0 += wide)
        for (size_t i0 = 0; i0 < rows; i0 += part) {
            const size_t live = min_size(wide, k - k0), low = min_size(live, LANES);
            vec beside[DIFFER_DEEP][2];
            for (size_t j0 = 0; j0 < others; j0 += DIFFER_DEEP) {
                const size_t deep = min_size(DIFFER_DEEP, others - j0);
                for (size_t j = 0; j < deep; j++) {
                    const T *from = y + (j0 + j) * k + k0;
                    beside[j][0] = NAME(load_small)(from, low);
                    beside[j][1] = NAME(load_small)(from + low, live - low);
                }
                NAME(differ_rows)
                (i0, min_size(rows, i0 + part), k, live, x + k0, w + j0, others, deep, j0 == 0, beside[0], out + k0);
            }
        }
}

/* out[j][i] = x[i][j], eight rows by TURNED columns in registers. */
static void NAME(transpose)(size_t rows, size_t columns, int threads, const void *from, void *to)
{
    const size_t side = TURNED;
    const T *x = from;
    T *out = to;

    EACH_OF_TEAM(threads)
    for (size_t j0 = 0; j0 < columns; j0 += GRAD_COLUMNS) {
        const size_t upto = min_size(columns, j0 + GRAD_COLUMNS), whole = j0 + (upto - j0) / 8 * 8;
        for (size_t i = 0; i < rows; i += 8) {
            const size_t high = min_size(8, rows - i), ready = high == 8 ? whole : j0;
            for (size_t j = j0; j < ready; j += side)
                NAME(transpose_small)(out + j * rows + i, rows, x + i * columns + j, 8, (ptrdiff_t)columns, side);
            for (size_t r = i; r < i + high; r++)
                for (size_t j = ready; j < upto; j++) out[j * rows + r] = x[r * columns + j];
        }
    }
}

/* w, transposed: m*n, columns and result: n*k each */
static void NAME(euclid_vjp)(const cbx__grad *q, T *w, T *transposed, T *columns, T *result)
{
    const T *c = q->c, *g = q->g;

    EACH_OF_TEAM(q->threads)
    for (size_t i = 0; i < q->m * q->n; i++) w[i] = g[i] * NAME(over)(c[i]);
    NAME(transpose)(q->k, q->n, q->threads, q->b, columns);
    NAME(transpose)(q->m, q->n, q->threads, w, transposed);
    NAME(differ)(q->m, q->n, q->k, q->threads, q->a, columns, w, q->da);
    NAME(differ)(q->n, q->m, q->k, q->threads, columns, q->a, transposed, result);
    NAME(transpose)(q->n, q->k, q->threads, result, q->db);
}

/* --- forward --- */

/* dC = sum over kk of exp(a + b - c) (da + db); euclidean: sum over kk of (a - b) (da - db) / c */

INLINE void NAME(forward_row)(const cbx__grad *q, size_t i, bool log)
{
    const T *a = (const T *)q->a + i * q->k, *ta = (const T *)q->ta + i * q->k, *c = (const T *)q->c + i * q->n;
    T *tc = (T *)q->tc + i * q->n;

    for (size_t j = 0; j < q->n; j++) tc[j] = 0;
    for (size_t kk = 0; kk < q->k; kk++) {
        const T x = a[kk], tx = ta[kk], *y = (const T *)q->b + kk * q->n, *ty = (const T *)q->tb + kk * q->n;
        for (size_t j = 0; log && j < q->n; j++) {
            const T t = x + y[j], w = VEXP(t - c[j]) * (tx + ty[j]);
            tc[j] += t == -(T)INFINITY ? 0 : w;
        }
        for (size_t j = 0; !log && j < q->n; j++) tc[j] += (x - y[j]) * (tx - ty[j]);
    }
    for (size_t j = 0; !log && j < q->n; j++) tc[j] *= NAME(over)(c[j]);
}

static void NAME(forward)(const cbx__grad *q, bool log)
{
    EACH_OF_TEAM(q->threads)
    for (size_t i = 0; i < q->m; i++) {
        if (log)
            NAME(forward_row)(q, i, true);
        else
            NAME(forward_row)(q, i, false);
    }
}

/* --- what the dispatcher calls, between its products --- */

/* Rooms of the scratch memory. */
typedef struct NAME(grad_capacity) {
    T *w, *scaled_a, *scaled_b, *row, *column, *limit, *transposed;
    int64_t *first;
    uint8_t *odd_row, *odd_column, *late;
} NAME(grad_capacity);

static NAME(grad_capacity) NAME(grad_layout)(const cbx__grad *q, size_t *bytes)
{
    char *base = q->scratch;
    size_t at = 0;
    NAME(grad_capacity) r;
    void **const part[] = { (void **)&r.w,      (void **)&r.scaled_a,   (void **)&r.scaled_b, (void **)&r.row,
                            (void **)&r.column, (void **)&r.limit,      (void **)&r.odd_row,  (void **)&r.odd_column,
                            (void **)&r.late,   (void **)&r.transposed, (void **)&r.first };
    const size_t count[] = { q->m * q->n * sizeof(T),
                             q->m * q->k * sizeof(T),
                             q->k * q->n * sizeof(T),
                             q->m * sizeof(T),
                             q->n * sizeof(T),
                             q->n * sizeof(T),
                             q->m,
                             q->n,
                             q->m * q->n,
                             q->k * q->n * sizeof(T),
                             q->m * q->n * sizeof(int64_t) };
    for (size_t i = 0; i < CBX_LEN(part); i++) {
        *part[i] = base ? base + at : NULL;
        at += round_up(count[i], 64);
    }
    *bytes = at;
    return r;
}

static void NAME(grad)(cbx__grad *q, cbx__grad_phase phase)
{
    NAME(grad_capacity) r = NAME(grad_layout)(q, &q->scratch_bytes);
    const cbx__derivative way = cbx__traits_of[q->semiring->id].derivative;

    q->w = r.w, q->scaled_a = r.scaled_a, q->scaled_b = r.scaled_b;
    if (phase == CBX__GRAD_SIZE) return;
    if (way == CBX__BY_OPTIMUM || way == CBX__BY_TERMS) {
        NAME(by_gradients)(q, r.first, phase == CBX__GRAD_FORWARD);
    } else if (phase == CBX__GRAD_FORWARD) {
        NAME(forward)(q, way == CBX__BY_SCALED_PRODUCTS);
    } else if (way == CBX__BY_DIFFERENCES) {
        NAME(euclid_vjp)(q, r.w, (T *)(void *)r.first, r.scaled_b, r.transposed);
    } else if (phase == CBX__GRAD_BEFORE) {
        NAME(scale_rows)(q->m, q->k, q->threads, q->a, r.scaled_a, r.row, r.odd_row);
        NAME(scale_columns)(q->k, q->n, q->threads, q->b, r.scaled_b, r.column, r.limit, r.odd_column);
        NAME(log_weights)(q, r.w, r.row, r.column, r.odd_row, r.odd_column, r.late);
    } else {
        NAME(log_finish)(q, r.scaled_a, r.scaled_b, r.late);
    }
}
