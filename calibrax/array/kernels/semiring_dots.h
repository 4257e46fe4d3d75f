/* Real products with few columns: each element is a dot product along kk, of a row of A as it lies
 * and a column of B that is laid out first. A vector of columns would be empty but for them.
 * Included once a type behind semiring_tile.h. */

/* Rows at a time, as many as halves of f32's vectors have lanes; and sums of each element, or steps
 * would wait for the ones before. */
#define DOT_ROWS       (VECTOR_BYTES / 8)
#define DOT_SUMS(cols) (DOT_ROWS * (cols) < 8 ? 8 / DOT_ROWS / (cols) : 1)

typedef T NAME(sums) __attribute__((vector_size(DOT_ROWS * sizeof(T)), may_alias, aligned(sizeof(T))));

/* Sums of neighbours, those of x and then those of y. */
INLINE NAME(sums) NAME(pairs)(NAME(sums) x, NAME(sums) y)
{
#if DOT_ROWS == 8
    return __builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14) +
           __builtin_shufflevector(x, y, 1, 3, 5, 7, 9, 11, 13, 15);
#elif DOT_ROWS == 4
    return __builtin_shufflevector(x, y, 0, 2, 4, 6) + __builtin_shufflevector(x, y, 1, 3, 5, 7);
#else
    return __builtin_shufflevector(x, y, 0, 2) + __builtin_shufflevector(x, y, 1, 3);
#endif
}

#if DOT_ROWS == 8
#define PART(x, y, o) __builtin_shufflevector(x, y, o, o + 1, o + 2, o + 3, o + 4, o + 5, o + 6, o + 7)
#elif DOT_ROWS == 4
#define PART(x, y, o) __builtin_shufflevector(x, y, o, o + 1, o + 2, o + 3)
#else
#define PART(x, y, o) __builtin_shufflevector(x, y, o, o + 1)
#endif

/* The upper half of a vector on the lower one, where it has twice the lanes. */
INLINE NAME(sums) NAME(folded)(vec x)
{
    const NAME(sums) low = PART(x, x, 0), high = PART(x, x, DOT_ROWS);

    if (LANES == DOT_ROWS) return low;
    return low + high;
}

/* out[r] = the sum of all lanes of x[r] */
INLINE NAME(sums) NAME(sum_each)(const vec x[DOT_ROWS])
{
    NAME(sums) s[DOT_ROWS];

    UNROLL for (int r = 0; r < DOT_ROWS; r++) s[r] = NAME(folded)(x[r]);
    UNROLL for (int n = DOT_ROWS / 2; n > 0; n /= 2) UNROLL for (int r = 0; r < n; r++)
        s[r] = NAME(pairs)(s[2 * r], s[2 * r + 1]);
    return s[0];
}

/* Adds to acc[q][r] the products of `left` <= LANES terms, of row r and column q. */
INLINE void NAME(dot_step)(size_t cols, const T *const row[DOT_ROWS], const T *b, size_t capacity, size_t kk,
                           size_t left, vec (*acc)[DOT_ROWS])
{
    vec x[NV];

    UNROLL for (size_t q = 0; q < cols; q++) x[q] = *(const vec *)(b + q * capacity + kk);
    UNROLL for (size_t r = 0; r < DOT_ROWS; r++)
    {
        const vec y = left == LANES ? *(const vec *)(row[r] + kk) : NAME(load_small)(row[r] + kk, left);
        UNROLL for (size_t q = 0; q < cols; q++) acc[q][r] = NAME(plus)(acc[q][r], y, x[q]);
    }
}

/* What dots take: rows of A from a on; columns of B, each of `capacity` elements, past the k-th one
 * zeros; and their elements of C. */
typedef struct NAME(dots) {
    const T *a, *b;
    ptrdiff_t lda, ldc;
    size_t k, capacity;
    T *c;
} NAME(dots);

/* C[i + r][q] = A[i + r] . B[q] of DOT_ROWS rows, or of the `live` that there are. */
INLINE void NAME(dot_rows)(size_t cols, const NAME(dots) * d, size_t i, size_t live)
{
    const size_t k = d->k, capacity = d->capacity, sums = DOT_SUMS(cols);
    const T *row[DOT_ROWS], *b = d->b;
    T *c = d->c + (ptrdiff_t)i * d->ldc;
    vec acc[DOT_SUMS(1)][NV][DOT_ROWS];
    size_t kk = 0;

    row[0] = d->a + (ptrdiff_t)i * d->lda;
    UNROLL for (size_t r = 1; r < DOT_ROWS; r++) row[r] = row[r - 1] + (r < live ? d->lda : 0);
    UNROLL for (size_t s = 0; s < sums; s++) UNROLL for (size_t q = 0; q < cols; q++)
        UNROLL for (size_t r = 0; r < DOT_ROWS; r++) acc[s][q][r] = (vec){ 0 };
    for (; kk + sums * LANES <= k; kk += sums * LANES)
        UNROLL for (size_t s = 0; s < sums; s++) NAME(dot_step)(cols, row, b, capacity, kk + s * LANES, LANES, acc[s]);
    for (; kk < k; kk += LANES) NAME(dot_step)(cols, row, b, capacity, kk, min_size(k - kk, LANES), acc[0]);
    UNROLL for (size_t q = 0; q < cols; q++)
    {
        UNROLL for (size_t s = 1; s < sums; s++) UNROLL for (size_t r = 0; r < DOT_ROWS; r++)
            acc[0][q][r] += acc[s][q][r];
        const NAME(sums) x = NAME(sum_each)(acc[0][q]);
        for (size_t r = 0; r < live; r++) c[(ptrdiff_t)r * d->ldc + (ptrdiff_t)q] = x[r];
    }
}

#define DOTS(s, cols)                                                                                                  \
    static __attribute__((noinline)) void NAME(dots_##cols)(const NAME(dots) * d, size_t i, size_t live)               \
    {                                                                                                                  \
        NAME(dot_rows)(cols, d, i, live);                                                                              \
    }
#define DOTS_OF(s, cols) NAME(dots_##cols),
EACH_WIDTH(DOTS, )
static void (*const NAME(dots_of)[])(const NAME(dots) * d, size_t i, size_t live) = { NULL, EACH_WIDTH(DOTS_OF, ) };

/* Columns at the end of a row of C that are sooner done so: a row of them takes a step for each
 * LANES terms and four for its sum, and a vector of columns one a term, or half of one where it is
 * half empty. */
static size_t NAME(dot_columns)(const cbx_matmul *p)
{
    const size_t c = p->n % LANES, steps = c * (p->k / LANES + 4), half = VECTOR_BYTES == 64 && c * sizeof(T) <= 32;

    return p->k > 8 && p->a_step == 1 && steps < p->k >> half ? c : 0;
}

/* The last n columns of C, NV of them at a time. */
static void NAME(dot_product)(const cbx_matmul *p, size_t n)
{
    const size_t capacity = round_up(p->k, LANES);

    for (size_t cols, j = p->n - n; j < p->n; j += cols) {
        T *column = p->workspace;
        const T *b = (const T *)p->b + j;
        cols = min_size(p->n - j, NV);
        for (size_t q = 0; q < cols; q++) {
            for (size_t kk = 0; kk < p->k; kk++) column[q * capacity + kk] = b[(ptrdiff_t)kk * p->ldb + (ptrdiff_t)q];
            for (size_t kk = p->k; kk < capacity; kk++) column[q * capacity + kk] = 0;
        }
        const NAME(dots) d = { p->a, column, p->lda, p->ldc, p->k, capacity, (T *)p->c + j };
        for (size_t i = 0; i < p->m; i += DOT_ROWS) NAME(dots_of)[cols](&d, i, min_size(p->m - i, DOT_ROWS));
    }
}
