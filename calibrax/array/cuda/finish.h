/* What goes before and after the products of one float type; included once a type.  Expects SFX and
 * TINY (semiring.h: a sum of k products that reaches k * TINY has lost nothing). */

/* --- log: rows' maxima and limits --- */

/* A row's largest element and whether it holds NaN or +inf, into those of another part of
 * the row. */
DEVICE void OF(join)(T *top, int *odd, T other, int other_odd)
{
    *top = other > *top ? other : *top;
    *odd |= other_odd;
}

DEVICE void OF(see)(T *top, int *odd, T x) { OF(join)(top, odd, x, !(x < INF)); }

DEVICE void OF(tell)(const cbx__cuda_top *p, int64_t z, int64_t i, T top, int odd)
{
    ((T *)p->shift)[z * p->rows + i] = top;
    ((T *)p->limit)[z * p->rows + i] = odd ? NOT : (T)p->len * TINY;
}

/* Eight rows a block, a warp each; or 32 rows a block, a lane each, of which every warp sees an
 * eighth. */
KERNEL(PASTE(cbx_top_, SFX), cbx__cuda_top, CBX__CUDA_BLOCK, 2)
{
    typedef struct part {
        T top;
        int odd;
    } part;
    typedef part parts[8][32];
    SHARED(parts, seen);
    const int lane = THREAD % 32, warp = THREAD / 32;
    const int64_t z = BLOCK / a.blocks, first = BLOCK % a.blocks * (a.lanes_along ? 8 : 32);
    const int64_t i = first + (a.lanes_along ? warp : lane);
    const T *x = (const T *)a.x.x + z * a.x.batch + i * a.x.row;
    T top = -INF;
    int odd = 0;

    if (i < a.rows) {
        const int64_t from = a.lanes_along ? lane : warp, by = a.lanes_along ? 32 : 8;
        for (int64_t kk = from; kk < a.len; kk += by) OF(see)(&top, &odd, x[kk * a.x.col]);
    }
    if (a.lanes_along) {
        for (int far = 16; far; far /= 2) {
            const T other = WARP_XOR(top, far);
            OF(join)(&top, &odd, other, WARP_XOR(odd, far));
        }
        if (lane == 0 && i < a.rows) OF(tell)(&a, z, i, top, odd);
    } else {
        seen[warp][lane].top = top;
        seen[warp][lane].odd = odd;
        BARRIER();
        for (int w = 1; warp == 0 && w < 8; w++) OF(join)(&top, &odd, seen[w][lane].top, seen[w][lane].odd);
        if (warp == 0 && i < a.rows) OF(tell)(&a, z, i, top, odd);
    }
}

KERNEL(PASTE(cbx_scale_, SFX), cbx__cuda_scale, CBX__CUDA_BLOCK, 2)
{
    const int64_t each = a.outer * a.inner, at = BLOCK * CBX__CUDA_BLOCK + THREAD, z = at / each, e = at % each;
    const int64_t o = e / a.inner, i = e % a.inner;

    if (z >= a.batches) return;
    const T x = ((const T *)a.x.x)[z * a.x.batch + o * a.x.row + i * a.x.col];
    const T shift = ((const T *)a.shift)[a.shift_by_inner ? z * a.inner + i : z * a.outer + o];
    ((T *)a.y)[at] = OF(exp)(x - shift);
}

/* --- the second way: the largest term, then the sum of exp --- */

DEVICE T OF(stream)(const cbx__cuda_product *p, const T *a, const T *b)
{
    T top = -INF, sum = 0;
    int bad = 0;

    for (int64_t kk = 0; kk < p->k; kk++) {
        const T t = a[kk * p->a.col] + b[kk * p->b.row];
        top = t > top ? t : top;
        bad |= t != t;
    }
    if (bad) return NOT;
    if (!(top - top == 0)) return top;
    for (int64_t kk = 0; kk < p->k; kk++) sum += OF(exp)((a[kk * p->a.col] + b[kk * p->b.row]) - top);
    return top + OF(log)(sum);
}

/* log(s) + shifts where s is certain; -inf where a row or column holds nothing else; or the second
 * way. */
DEVICE T OF(certain)(const cbx__cuda_finish *q, T s, int64_t i, int64_t j, int64_t z)
{
    const cbx__cuda_product *p = &q->p;
    const T row_top = ((const T *)q->row_shift)[z * p->m + i], row_limit = ((const T *)q->row_limit)[z * p->m + i];
    const T col_top = ((const T *)q->col_shift)[z * p->n + j], col_limit = ((const T *)q->col_limit)[z * p->n + j];

    if (s >= row_limit && s >= col_limit) return OF(log)(s) + (row_top + col_top);
    if ((row_top == -INF || col_top == -INF) && row_limit == row_limit && col_limit == col_limit) return -INF;
    return OF(stream)(p, (const T *)p->a.x + z * p->a.batch + i * p->a.row,
                      (const T *)p->b.x + z * p->b.batch + j * p->b.col);
}

DEVICE T OF(add_exps)(T x, T y)
{
    const T hi = x > y ? x : y, lo = x > y ? y : x;
    if (x != x || y != y) return x + y;
    return hi - hi == 0 ? hi + OF(log1p)(OF(exp)(lo - hi)) : hi;
}

DEVICE void OF(finish)(const cbx__cuda_finish *q, int log)
{
    const cbx__cuda_product *p = &q->p;
    const int64_t each = p->m * p->n, at = BLOCK * CBX__CUDA_BLOCK + THREAD, z = at / each, e = at % each;
    const int64_t i = e / p->n, j = e % p->n;

    if (z >= q->batches) return;
    T x = ((const T *)q->s)[at];
    if (p->mask.x && (((const uint8_t *)p->mask.x)[i * p->mask.row + j * p->mask.col + z * p->mask.batch] != 0) ==
                         p->mask_complement) {
        x = log ? -INF : (T)0;
    } else {
        if (log) x = OF(certain)(q, x, i, j, z);
        if (p->d.x) {
            const T d = ((const T *)p->d.x)[i * p->d.row + j * p->d.col + z * p->d.batch];
            x = log ? OF(add_exps)(d, x) : d + x;
        }
    }
    ((T *)p->c.x)[i * p->c.row + j * p->c.col + z * p->c.batch] = x;
}

KERNEL(PASTE(cbx_finish_log_, SFX), cbx__cuda_finish, CBX__CUDA_BLOCK, 2) { OF(finish)(&a, 1); }
KERNEL(PASTE(cbx_finish_real_, SFX), cbx__cuda_finish, CBX__CUDA_BLOCK, 2) { OF(finish)(&a, 0); }
