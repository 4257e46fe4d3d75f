/*
 * The product around the register tile for float types: scan, packing, finalizing, and the exact second way of the log algebra.
 * Included once a type behind semiring_tile.h; expects TINY, VEXP, VLOG, SQRT besides.
 */

typedef struct NAME(job) {
    const cbx_matmul *p;
    const T *a, *b;
    T *c;
    NAME(room) room;
    bool special_col; /* log: some column of B holds NaN or +inf */
} NAME(job);

/* --- scans --- */

/* What specials a matrix holds.  A finite row costs one pass: x - x is 0 unless x is special. */
static int NAME(scan)(const T *x, size_t rows, size_t cols, size_t ld)
{
    int seen = 0;
    for (size_t i = 0; i < rows; i++) {
        const T *row = x + i * ld;
        TI odd = 0;
        for (size_t j = 0; j < cols; j++) odd |= (row[j] - row[j] != 0) ? -1 : 0;
        for (size_t j = 0; odd && j < cols; j++)
            seen |= isnan(row[j]) ? SEEN_NAN : !isinf(row[j]) ? 0 : row[j] > 0 ? SEEN_PLUS_INF : SEEN_MINUS_INF;
    }
    return seen;
}

/* True if a term a + b can be NaN. */
static bool NAME(nan_possible)(const cbx_matmul *p)
{
    const int a = NAME(scan)(p->a, p->m, p->k, p->lda), b = NAME(scan)(p->b, p->k, p->n, p->ldb);
    return ((a | b) & SEEN_NAN) || ((a & SEEN_PLUS_INF) && (b & SEEN_MINUS_INF)) ||
           ((a & SEEN_MINUS_INF) && (b & SEEN_PLUS_INF));
}

/* Row maxima, as the shift of the row; NaN as the limit of a row that holds NaN or +inf, which no sum reaches. */
static void NAME(row_shifts)(const NAME(job) * job)
{
    const cbx_matmul *p = job->p;
    for (size_t i = 0; i < p->m; i++) {
        const T *row = job->a + i * p->lda;
        T best[LANES], top = -INFINITY;
        TI odd[LANES] = { 0 };
        for (int l = 0; l < LANES; l++) best[l] = -INFINITY;
        size_t kk = 0;
        for (; kk + LANES <= p->k; kk += LANES) {
            for (int l = 0; l < LANES; l++) {
                const T x = row[kk + (size_t)l];
                best[l] = x > best[l] ? x : best[l];
                odd[l] |= x < (T)INFINITY ? 0 : -1;
            }
        }
        for (; kk < p->k; kk++) {
            best[0] = row[kk] > best[0] ? row[kk] : best[0];
            odd[0] |= row[kk] < (T)INFINITY ? 0 : -1;
        }
        TI special = 0;
        for (int l = 0; l < LANES; l++) {
            top = best[l] > top ? best[l] : top;
            special |= odd[l];
        }
        job->room.row_shift[i] = top;
        job->room.row_limit[i] = special ? (T)NAN : (T)p->k * TINY;
    }
}

/* Likewise for columns. */
static void NAME(col_shifts)(NAME(job) * job)
{
    const cbx_matmul *p = job->p;
    T *restrict shift = job->room.col_shift, *restrict limit = job->room.col_limit;
    const T enough = (T)p->k * TINY;
    for (size_t j = 0; j < p->n; j++) {
        shift[j] = -INFINITY;
        limit[j] = enough;
    }
    for (size_t kk = 0; kk < p->k; kk++) {
        const T *restrict row = job->b + kk * p->ldb;
        for (size_t j = 0; j < p->n; j++) {
            shift[j] = row[j] > shift[j] ? row[j] : shift[j];
            limit[j] = row[j] < (T)INFINITY ? limit[j] : (T)NAN;
        }
    }
    job->special_col = false;
    for (size_t j = 0; j < p->n; j++) job->special_col |= isnan(limit[j]);
}

/* --- packing --- */

/* A[i0..i0+mc) x [k0..k0+kc) as [row][KA]; rows past the end are zero, which only reaches lanes that are not stored. */
ALWAYS_INLINE void NAME(pack_a)(const NAME(job) * job, size_t i0, size_t mc, size_t k0, size_t kc, bool shifted)
{
    for (size_t r = 0; r < round_up(mc, MR); r++) {
        T *restrict out = job->room.a + r * KA;
        if (r >= mc) {
            for (size_t kk = 0; kk < kc; kk++) out[kk] = 0;
            continue;
        }
        const T *restrict in = job->a + (i0 + r) * job->p->lda + k0;
        if (shifted) {
            const T top = job->room.row_shift[i0 + r];
            for (size_t kk = 0; kk < kc; kk++) out[kk] = VEXP(in[kk] - top);
        } else {
            for (size_t kk = 0; kk < kc; kk++) out[kk] = in[kk];
        }
    }
}

/* B[k0..k0+kc) x [j0..j0+nc) as [block][kk][NR]. */
ALWAYS_INLINE void NAME(pack_b)(const NAME(job) * job, size_t k0, size_t kc, size_t j0, size_t nc, bool shifted)
{
    for (size_t jb = 0; jb < nc; jb += NR) {
        T *restrict out = job->room.b + jb * kc;
        const size_t live = min_size(NR, nc - jb);
        T top[NR];
        for (size_t j = 0; j < NR; j++) top[j] = shifted && j < live ? job->room.col_shift[j0 + jb + j] : 0;
        for (size_t kk = 0; kk < kc; kk++, out += NR) {
            const T *restrict in = job->b + (k0 + kk) * job->p->ldb + j0 + jb;
            if (live < NR) {
                for (size_t j = 0; j < NR; j++) out[j] = j < live ? in[j] : 0;
                if (shifted)
                    for (size_t j = 0; j < NR; j++) out[j] = VEXP(out[j] - top[j]);
            } else if (shifted) {
                for (size_t j = 0; j < NR; j++) out[j] = VEXP(in[j] - top[j]);
            } else {
                for (size_t j = 0; j < NR; j++) out[j] = in[j];
            }
        }
    }
}

/* --- the log algebra's exact second way --- */

/* `live` columns of one row from j0 by two passes: max, then sum of exp(t - max).  need[l] picks the lanes that are written. */
static __attribute__((noinline)) void NAME(stream_row)(const NAME(job) * job, size_t i, size_t j0, size_t live,
                                                       const TI *need, T *out)
{
    const cbx_matmul *p = job->p;
    const T *a = job->a + i * p->lda;
    T top[NR], sum[NR];
    TI bad[NR];
    for (size_t l = 0; l < NR; l++) top[l] = -INFINITY, sum[l] = 0, bad[l] = 0;
    for (size_t kk = 0; kk < p->k; kk++) {
        const T *b = job->b + kk * p->ldb + j0;
        const T x = a[kk];
        for (size_t l = 0; l < live; l++) {
            const T t = x + b[l];
            top[l] = t > top[l] ? t : top[l];
            bad[l] |= t != t ? -1 : 0;
        }
    }
    for (size_t kk = 0; kk < p->k; kk++) {
        const T *b = job->b + kk * p->ldb + j0;
        const T x = a[kk];
        for (size_t l = 0; l < live; l++) sum[l] += VEXP((x + b[l]) - top[l]);
    }
    for (size_t l = 0; l < live; l++) {
        if (!need[l]) continue;
        out[l] = bad[l] ? (T)NAN : isinf(top[l]) ? top[l] : top[l] + VLOG(sum[l]);
    }
}

/* One row of a finished tile: C = log(s) + shifts where the sum s is certain, else the second way. */
ALWAYS_INLINE void NAME(finish_log)(const NAME(job) * job, size_t i, size_t j0, size_t live, T *restrict c)
{
    const T row_top = job->room.row_shift[i], row_limit = job->room.row_limit[i];
    const T *restrict col_top = job->room.col_shift + j0, *restrict col_limit = job->room.col_limit + j0;
    TI need[NR], any = 0;
    for (size_t l = 0; l < live; l++) {
        need[l] = (c[l] >= row_limit ? 0 : -1) | (c[l] >= col_limit[l] ? 0 : -1);
        any |= need[l];
        c[l] = VLOG(c[l]) + (row_top + col_top[l]);
    }
    if (!any) return;
    if (row_top == -(T)INFINITY && !isnan(row_limit) && !job->special_col) { /* a masked row: every term is -inf */
        for (size_t l = 0; l < live; l++) c[l] = -INFINITY;
        return;
    }
    any = 0;
    for (size_t l = 0; l < live; l++) {
        if (need[l] && col_top[l] == -(T)INFINITY && !isnan(col_limit[l]) && !isnan(row_limit)) { /* a masked column */
            c[l] = -INFINITY;
            need[l] = 0;
        }
        any |= need[l];
    }
    if (any) NAME(stream_row)(job, i, j0, live, need, c);
}

/* --- one tile into C --- */

ALWAYS_INLINE void NAME(store_row)(const NAME(job) * job, cbx_algebra g, step s, bool first, bool last,
                                   const T *restrict t, size_t i, size_t j0, size_t live)
{
    T *restrict c = job->c + i * job->p->ldc + j0;
    if (first) {
        for (size_t l = 0; l < live; l++) c[l] = t[l];
    } else if (s == STEP_FMA || s == STEP_SQUARE) {
        for (size_t l = 0; l < live; l++) c[l] += t[l];
    } else if (s == STEP_MAX || s == STEP_MAX_NAN) {
        for (size_t l = 0; l < live; l++) c[l] = ((t[l] > c[l]) | (t[l] != t[l])) ? t[l] : c[l];
    } else {
        for (size_t l = 0; l < live; l++) c[l] = ((t[l] < c[l]) | (t[l] != t[l])) ? t[l] : c[l];
    }
    if (!last) return;
    if (g == CBX_ALGEBRA_EUCLIDEAN)
        for (size_t l = 0; l < live; l++) c[l] = SQRT(c[l]);
    if (g == CBX_ALGEBRA_LOG) NAME(finish_log)(job, i, j0, live, c);
}

/* mc-by-nc of C from the packed panels. */
ALWAYS_INLINE void NAME(block)(const NAME(job) * job, cbx_algebra g, step s, size_t i0, size_t mc, size_t j0, size_t nc,
                               size_t kc, bool first, bool last)
{
    const T start = (T)(g == CBX_ALGEBRA_LOG ? 0 : job->p->semiring->identity);
    T tile[MR * NR] __attribute__((aligned(64)));
    for (size_t jb = 0; jb < nc; jb += NR) {
        const size_t live = min_size(NR, nc - jb);
        for (size_t ib = 0; ib < mc; ib += MR) {
            NAME(micro)(s, kc, job->room.a + ib * KA, job->room.b + jb * kc, start, tile);
            const size_t rows = min_size(MR, mc - ib);
            for (size_t r = 0; r < rows; r++) {
                if (live == NR)
                    NAME(store_row)(job, g, s, first, last, tile + r * NR, i0 + ib + r, j0 + jb, NR);
                else
                    NAME(store_row)(job, g, s, first, last, tile + r * NR, i0 + ib + r, j0 + jb, live);
            }
        }
    }
}

/* The whole product; g and s are constants wherever this is inlined. */
ALWAYS_INLINE void NAME(product)(const NAME(job) * job, cbx_algebra g, step s)
{
    const cbx_matmul *p = job->p;
    const bool shifted = g == CBX_ALGEBRA_LOG;
    for (size_t j0 = 0; j0 < p->n; j0 += NC) {
        const size_t nc = min_size(NC, p->n - j0);
        for (size_t k0 = 0; k0 < p->k; k0 += KC) {
            const size_t kc = min_size(KC, p->k - k0);
            NAME(pack_b)(job, k0, kc, j0, nc, shifted);
            for (size_t i0 = 0; i0 < p->m; i0 += MC) {
                const size_t mc = min_size(MC, p->m - i0);
                NAME(pack_a)(job, i0, mc, k0, kc, shifted);
                NAME(block)(job, g, s, i0, mc, j0, nc, kc, k0 == 0, k0 + kc == p->k);
            }
        }
    }
}

static void NAME(real)(NAME(job) * job) { NAME(product)(job, CBX_ALGEBRA_REAL, STEP_FMA); }
static void NAME(euclidean)(NAME(job) * job) { NAME(product)(job, CBX_ALGEBRA_EUCLIDEAN, STEP_SQUARE); }
static void NAME(max_plus)(NAME(job) * job) { NAME(product)(job, CBX_ALGEBRA_TROPICAL_MAX_PLUS, STEP_MAX); }
static void NAME(min_plus)(NAME(job) * job) { NAME(product)(job, CBX_ALGEBRA_TROPICAL_MIN_PLUS, STEP_MIN); }
static void NAME(max_plus_nan)(NAME(job) * job) { NAME(product)(job, CBX_ALGEBRA_TROPICAL_MAX_PLUS, STEP_MAX_NAN); }
static void NAME(min_plus_nan)(NAME(job) * job) { NAME(product)(job, CBX_ALGEBRA_TROPICAL_MIN_PLUS, STEP_MIN_NAN); }
static void NAME(log)(NAME(job) * job)
{
    NAME(row_shifts)(job);
    NAME(col_shifts)(job);
    NAME(product)(job, CBX_ALGEBRA_LOG, STEP_FMA);
}

static size_t NAME(workspace)(const cbx_matmul *p) { return NAME(layout)(p, p->n, NULL).bytes; }

static void NAME(run)(const cbx_matmul *p)
{
    static void (*const way[CBX_ALGEBRA_COUNT][2])(NAME(job) *) = {
        [CBX_ALGEBRA_REAL] = { NAME(real), NAME(real) },
        [CBX_ALGEBRA_LOG] = { NAME(log), NAME(log) },
        [CBX_ALGEBRA_TROPICAL_MAX_PLUS] = { NAME(max_plus), NAME(max_plus_nan) },
        [CBX_ALGEBRA_TROPICAL_MIN_PLUS] = { NAME(min_plus), NAME(min_plus_nan) },
        [CBX_ALGEBRA_EUCLIDEAN] = { NAME(euclidean), NAME(euclidean) },
    };
    const cbx_algebra g = p->semiring->id;
    const bool tropical = g == CBX_ALGEBRA_TROPICAL_MAX_PLUS || g == CBX_ALGEBRA_TROPICAL_MIN_PLUS;
    NAME(job) job = { p, p->a, p->b, p->c, NAME(layout)(p, p->n, p->workspace), false };
    way[g][tropical && NAME(nan_possible)(p)](&job);
}

#undef NAME
#undef MR
#undef LANES
#undef NV
#undef NR
#undef KA
#undef vec
