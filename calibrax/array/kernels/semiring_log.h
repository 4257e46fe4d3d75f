/*
 * What the log algebra needs besides the tile: row and column maxima, the certificate, and the exact second way.
 * Included once a type behind semiring_tile.h; expects TINY, VEXP, VLOG besides.
 */

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

/* Of `count` rows (stride `across`) of len elements (stride `along`): the maximum, as the shift of the row, and NaN as the limit of a
 * row that holds NaN or +inf, which no sum reaches.  True if there is one. */
ALWAYS_INLINE bool NAME(shifts)(const T *x, size_t count, ptrdiff_t across, size_t len, ptrdiff_t along,
                                T *restrict shift, T *restrict limit)
{
    const T enough = (T)len * TINY;
    TI special = 0;

    for (size_t i = 0; i < count; i++) shift[i] = -(T)INFINITY, limit[i] = enough;
    if (along == 1) {
        for (size_t i = 0; i < count; i++) {
            const T *row = x + (ptrdiff_t)i * across;
            T best[4 * LANES], top = -(T)INFINITY;
            TI odd[4 * LANES] = { 0 }, any = 0;
            size_t kk = 0;
            for (int l = 0; l < 4 * LANES; l++) best[l] = -(T)INFINITY;
            for (; kk + 4 * LANES <= len; kk += 4 * LANES)
                for (int l = 0; l < 4 * LANES; l++) {
                    const T v = row[kk + (size_t)l];
                    best[l] = v > best[l] ? v : best[l];
                    odd[l] |= v < (T)INFINITY ? 0 : -1;
                }
            for (; kk < len; kk++) {
                top = row[kk] > top ? row[kk] : top;
                any |= row[kk] < (T)INFINITY ? 0 : -1;
            }
            for (int l = 0; l < 4 * LANES; l++) {
                top = best[l] > top ? best[l] : top;
                any |= odd[l];
            }
            shift[i] = top;
            if (any) limit[i] = (T)NAN;
            special |= any;
        }
        return special != 0;
    }
    for (size_t kk = 0; kk < len; kk++) {
        const T *row = x + (ptrdiff_t)kk * along;
        for (size_t i = 0; i < count; i++) {
            const T v = row[(ptrdiff_t)i * across];
            shift[i] = v > shift[i] ? v : shift[i];
            limit[i] = v < (T)INFINITY ? limit[i] : (T)NAN;
            special |= v < (T)INFINITY ? 0 : -1;
        }
    }
    return special != 0;
}

static bool NAME(row_maxima)(const T *x, size_t count, ptrdiff_t across, size_t len, ptrdiff_t along, T *shift,
                             T *limit)
{
    if (along == 1) return NAME(shifts)(x, count, across, len, 1, shift, limit);
    if (across == 1) return NAME(shifts)(x, count, 1, len, along, shift, limit);
    return NAME(shifts)(x, count, across, len, along, shift, limit);
}

/* `live` columns of one row from j0 by two passes: max, then sum of exp(t - max).  need[l] picks the lanes that are written. */
ALWAYS_INLINE void NAME(stream_lanes)(const NAME(job) * job, size_t i, size_t j0, size_t live, ptrdiff_t b_step,
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

/* One row of a finished tile: C = log(s) + shifts where the sum s is certain, else the second way. */
ALWAYS_INLINE void NAME(finish_log)(const NAME(job) * job, size_t i, size_t j0, size_t live, T *restrict c)
{
    const T row_top = job->row_shift[i], row_limit = job->row_limit[i];
    const T *restrict col_top = job->col_shift + j0, *restrict col_limit = job->col_limit + j0;
    TI need[NR], any = 0;
    for (size_t l = 0; l < live; l++) {
        need[l] = (c[l] >= row_limit ? 0 : -1) | (c[l] >= col_limit[l] ? 0 : -1);
        any |= need[l];
        c[l] = VLOG(c[l]) + (row_top + col_top[l]);
    }
    if (!any) return;
    if (row_top == -(T)INFINITY && !isnan(row_limit) &&
        !atomic_load(&job->special_col)) { /* a masked row: every term is -inf */
        for (size_t l = 0; l < live; l++) c[l] = -(T)INFINITY;
        return;
    }
    any = 0;
    for (size_t l = 0; l < live; l++) {
        if (need[l] && col_top[l] == -(T)INFINITY && !isnan(col_limit[l]) && !isnan(row_limit)) { /* a masked column */
            c[l] = -(T)INFINITY;
            need[l] = 0;
        }
        any |= need[l];
    }
    if (any) NAME(stream_row)(job, i, j0, live, need, c);
}
