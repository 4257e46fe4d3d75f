/* What the log algebra needs besides the tile: row and column maxima, the certificate, and the
 * exact second way. Included once a type behind semiring_tile.h; expects TINY, VEXP, VLOG
 * besides. */

/* One product under way; shared by its threads. */
typedef struct NAME(job) {
    const cbx_matmul *p;
    const T *a, *b;
    T *c;
    cbx_algebra algebra;
    size_t kc, mc, nc, ms,
        jc;     /* as this product uses them: ms rows of A are packed at a time, a task has mc rows, jc columns */
    T *pa, *pb; /* packed */
    T *row_shift, *row_limit, *col_shift, *col_limit; /* log only */
    size_t bytes;
    bool add_by_fma, finishes;
    bool direct_a, direct_b; /* read where it lies, not packed; of B whole panels */
    atomic_int special_col;  /* log: some column of B holds NaN or +inf */
    atomic_int seen[2][2];   /* tropical, by the parity of the slab: specials in A and B */
    atomic_size_t next[2];   /* task to take */
} NAME(job);

/* The largest of each lane, and a sum that is NaN where a NaN was, or infinities of both signs. */
typedef struct NAME(tops) {
    vec max, sum;
} NAME(tops);

INLINE void NAME(look)(NAME(tops) * t, vec x)
{
    t->max = VMAX(x, t->max);
    t->sum += x;
}

INLINE void NAME(join)(NAME(tops) * t, const NAME(tops) * other)
{
    t->max = VMAX(other->max, t->max);
    t->sum += other->sum;
}

/* Of one lane: the maximum is its shift; no sum reaches the limit of one that holds NaN or +inf.
 * True if it does. */
INLINE bool NAME(put_shift)(T max, T sum, T enough, T *shift, T *limit)
{
    const bool special = isnan(sum) || max == (T)INFINITY;

    *shift = max;
    *limit = special ? (T)NAN : enough;
    return special;
}

/* Of a row of len neighbours; the last vector reaches back over what has been looked at. */
INLINE bool NAME(row_maximum)(const T *x, size_t len, T enough, T *shift, T *limit)
{
    NAME(tops) t[4];
    T max[LANES], sum[LANES];
    size_t kk = 0;

    UNROLL for (int v = 0; v < 4; v++) t[v] = (NAME(tops)){ -(T)INFINITY - (vec){ 0 }, { 0 } };
    for (; kk + 4 * LANES <= len; kk += 4 * LANES)
        UNROLL for (int v = 0; v < 4; v++) NAME(look)(&t[v], *(const vec *)(x + kk + v * LANES));
    for (; kk + LANES <= len; kk += LANES) NAME(look)(&t[0], *(const vec *)(x + kk));
    if (kk < len && len >= LANES) NAME(look)(&t[1], *(const vec *)(x + len - LANES));
    NAME(join)(&t[0], &t[1]);
    NAME(join)(&t[2], &t[3]);
    NAME(join)(&t[0], &t[2]);
    *(vec *)max = t[0].max, *(vec *)sum = t[0].sum;
    for (; len < LANES && kk < len; kk++) {
        max[0] = x[kk] > max[0] ? x[kk] : max[0];
        sum[0] += x[kk];
    }
    UNROLL for (int w = LANES / 2; w > 0; w /= 2)
    {
        UNROLL for (int l = 0; l < w; l++)
        {
            max[l] = max[l + w] > max[l] ? max[l + w] : max[l];
            sum[l] += sum[l + w];
        }
    }
    return NAME(put_shift)(max[0], sum[0], enough, shift, limit);
}

/* Of nv vectors of neighbouring columns, `last` of them in the last vector. */
INLINE bool NAME(look_down)(int nv, size_t last, const T *x, size_t len, ptrdiff_t along, T enough, T *shift, T *limit)
{
    NAME(tops) t[4];
    bool special = false;

    UNROLL for (int v = 0; v < nv; v++) t[v] = (NAME(tops)){ -(T)INFINITY - (vec){ 0 }, { 0 } };
    for (size_t kk = 0; kk < len; kk++, x += along)
        UNROLL for (int v = 0; v < nv; v++)
            NAME(look)(&t[v], v + 1 < nv || last == LANES ? *(const vec *)(x + v * LANES) : NAME(load_small)(x, last));
    for (int v = 0; v < nv; v++)
        for (size_t l = 0; l < (v + 1 < nv ? LANES : last); l++)
            special |= NAME(put_shift)(t[v].max[l], t[v].sum[l], enough, shift + v * LANES + l, limit + v * LANES + l);
    return special;
}

/* Of neighbouring columns of len elements (stride `along`). */
static bool NAME(column_maxima)(const T *x, size_t count, size_t len, ptrdiff_t along, T enough, T *shift, T *limit)
{
    size_t j = 0;
    bool special = false;

    for (; j + 4 * LANES <= count; j += 4 * LANES)
        special |= NAME(look_down)(4, LANES, x + j, len, along, enough, shift + j, limit + j);
    for (; j < count; j += LANES)
        special |= NAME(look_down)(1, min_size(LANES, count - j), x + j, len, along, enough, shift + j, limit + j);
    return special;
}

/* Of `count` rows (stride `across`) of len elements (stride `along`): shifts and limits; true if
 * there is NaN or +inf. */
static bool NAME(row_maxima)(const T *x, size_t count, ptrdiff_t across, size_t len, ptrdiff_t along, T *shift,
                             T *limit)
{
    const T enough = (T)len * TINY;
    bool special = false;

    if (along != 1 && across == 1) return NAME(column_maxima)(x, count, len, along, enough, shift, limit);
    for (size_t i = 0; i < count; i++, x += across) {
        T max = -(T)INFINITY, sum = 0;
        if (along == 1) {
            special |= NAME(row_maximum)(x, len, enough, shift + i, limit + i);
            continue;
        }
        for (size_t kk = 0; kk < len; kk++) {
            const T v = x[(ptrdiff_t)kk * along];
            max = v > max ? v : max;
            sum += v;
        }
        special |= NAME(put_shift)(max, sum, enough, shift + i, limit + i);
    }
    return special;
}

/* `live` columns of one row from j0 by two passes: max, then sum of exp(t - max).  need[l] picks
 * the lanes that are written. */
INLINE void NAME(stream_lanes)(const NAME(job) * job, size_t i, size_t j0, size_t live, ptrdiff_t b_step,
                               const TI *need, T *out)
{
    const cbx_matmul *p = job->p;
    const T *a = job->a + (ptrdiff_t)i * p->lda, *b0 = job->b + (ptrdiff_t)j0 * b_step;
    T top[NR], sum[NR];
    TI bad[NR];
    for (size_t l = 0; l < NR; l++) top[l] = -(T)INFINITY, sum[l] = 0, bad[l] = 0;
    for (size_t kk = 0; kk < p->k; kk++) {
        const T *b = b0 + (ptrdiff_t)kk * p->ldb;
        const T x = a[(ptrdiff_t)kk * p->a_step];
        for (size_t l = 0; l < live; l++) {
            const T t = x + b[(ptrdiff_t)l * b_step];
            top[l] = t > top[l] ? t : top[l];
            bad[l] |= t != t ? -1 : 0;
        }
    }
    for (size_t kk = 0; kk < p->k; kk++) {
        const T *b = b0 + (ptrdiff_t)kk * p->ldb;
        const T x = a[(ptrdiff_t)kk * p->a_step];
        for (size_t l = 0; l < live; l++) sum[l] += VEXP((x + b[(ptrdiff_t)l * b_step]) - top[l]);
    }
    for (size_t l = 0; l < live; l++) {
        if (!need[l]) continue;
        out[l] = bad[l] ? (T)NAN : isinf(top[l]) ? top[l] : top[l] + VLOG(sum[l]);
    }
}

static __attribute__((noinline)) void NAME(stream_row)(const NAME(job) * job, size_t i, size_t j0, size_t live,
                                                       const TI *need, T *out)
{
    if (job->p->b_step == 1)
        NAME(stream_lanes)(job, i, j0, live, 1, need, out);
    else
        NAME(stream_lanes)(job, i, j0, live, job->p->b_step, need, out);
}

/* One row of a finished tile in which some sum is not certain: those are made the second way. */
static __attribute__((noinline)) void NAME(finish_uncertain)(const NAME(job) * job, size_t i, size_t j0, size_t live,
                                                             T *restrict c)
{
    const T row_top = job->row_shift[i], row_limit = job->row_limit[i];
    const T *restrict col_top = job->col_shift + j0, *restrict col_limit = job->col_limit + j0;
    TI need[NR], any = 0;

    for (size_t l = 0; l < live; l++) {
        need[l] = (c[l] >= row_limit ? 0 : -1) | (c[l] >= col_limit[l] ? 0 : -1);
        c[l] = VLOG(c[l]) + (row_top + col_top[l]);
    }
    if (row_top == -(T)INFINITY && !isnan(row_limit) &&
        !atomic_load(&job->special_col)) { /* a masked row: every term is -inf */
        for (size_t l = 0; l < live; l++) c[l] = -(T)INFINITY;
        return;
    }
    for (size_t l = 0; l < live; l++) {
        if (need[l] && col_top[l] == -(T)INFINITY && !isnan(col_limit[l]) && !isnan(row_limit)) { /* a masked column */
            c[l] = -(T)INFINITY;
            need[l] = 0;
        }
        any |= need[l];
    }
    if (any) NAME(stream_row)(job, i, j0, live, need, c);
}

/* Rows [i, i + rows) of a finished tile, nv vectors wide: C = log(s) + shifts.  Rows and columns
 * have one limit unless they hold specials. */
INLINE void NAME(finish_log)(int nv, const NAME(job) * job, size_t i, size_t rows, size_t j0, size_t live, T *c,
                             ptrdiff_t ldc)
{
    const T *col_top = job->col_shift + j0, *col_limit = job->col_limit + j0;

    for (size_t r = 0; r < rows; r++, c += ldc) {
        const T row_top = job->row_shift[i + r];
        if (isnan(job->row_limit[i + r]) || !NAME(all_reach)(nv, c, col_limit)) {
            NAME(finish_uncertain)(job, i + r, j0, live, c);
            continue;
        }
        for (int l = 0; l < nv * LANES; l++) c[l] = VLOG(c[l]) + (row_top + col_top[l]);
    }
}
