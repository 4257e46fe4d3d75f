/* Softmax of the rows of one float type: a row of up to SOFTMAX_NV vectors is read once, and stays
 * in registers until its quotients are written; of a longer one the exponentials are in the
 * result in between.  Included once a type, after ell_float.h.
 *
 * Dead lanes hold -inf, whose exp is 0, so that they add nothing and are written as the zeros that
 * they have to be.  A vector that begins in a row may end behind it: what it reads there is masked,
 * what it writes there is written again by the rows that follow of the same thread. */

static const TI NAME(lanes)[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

/* Element l of the result is element l ^ w of x. */
INLINE vec NAME(swap)(vec x, TI w)
{
#if defined(__clang__)
    vec y;
    UNROLL for (int l = 0; l < LANES; l++) y[l] = x[l ^ w];
    return y;
#else
    return __builtin_shuffle(x, *(const NAME(mask) *)NAME(lanes) ^ w);
#endif
}

INLINE vec NAME(larger)(vec x, vec y) { return NAME(select)((NAME(mask))(x > y), x, y); }

INLINE T NAME(largest_lane)(vec x)
{
    UNROLL for (TI w = LANES / 2; w > 0; w /= 2) x = NAME(larger)(x, NAME(swap)(x, w));
    return x[0];
}

INLINE T NAME(sum_lanes)(vec x)
{
    UNROLL for (TI w = LANES / 2; w > 0; w /= 2) x += NAME(swap)(x, w);
    return x[0];
}

INLINE vec NAME(exp_lanes)(vec x)
{
    T y[LANES];
    memcpy(y, &x, sizeof y);
    for (int l = 0; l < LANES; l++) y[l] = VEXP(y[l]);
    memcpy(&x, y, sizeof y);
    return x;
}

/* `live` lanes from v on, of which `capacity` may be read; -inf in the others. */
INLINE vec NAME(read_live)(const T *v, size_t live, size_t capacity)
{
    vec x = { 0 };

    if (live >= (size_t)LANES) return *(const vec *)v;
    if (capacity >= (size_t)LANES)
        x = *(const vec *)v;
    else
        memcpy(&x, v, live * sizeof(T));
    return NAME(select)((NAME(mask))(*(const NAME(mask) *)NAME(lanes) < (TI)live), x, -(T)INFINITY - (vec){ 0 });
}

INLINE void NAME(write_all)(T *y, vec x, size_t capacity)
{
    if (capacity >= (size_t)LANES)
        *(vec *)y = x;
    else
        memcpy(y, &x, capacity * sizeof(T));
}

/* What exponents are taken off, and NaN or 0 to be added to each quotient: with +inf in the row,
 * and without a finite value. */
INLINE T NAME(finite_top)(T top, T *wrong)
{
    *wrong = top - top == 0 || top < 0 ? 0 : (T)NAN;
    return top - top == 0 ? top : 0;
}

/* Row v of n values in nv vectors; `in` elements may be read from v on, `out` written from y on.
 * Returns the reciprocal of the sum, NaN if all of the row has to be. */
INLINE T NAME(softmax_short)(int nv, const T *v, size_t n, size_t in, T *y, size_t out)
{
    vec x[SOFTMAX_NV], sum = { 0 };
    T wrong;

    UNROLL for (int i = 0; i < nv; i++)
    {
        const size_t e = (size_t)(i * LANES);
        x[i] = NAME(read_live)(v + e, n - e, in - e);
        sum = i ? NAME(larger)(x[i], sum) : x[i];
    }
    T top = NAME(finite_top)(NAME(largest_lane)(sum), &wrong);
    sum = (vec){ 0 };
    UNROLL for (int i = 0; i < nv; i++) sum += x[i] = NAME(exp_lanes)(x[i] - top);
    T total = NAME(sum_lanes)(sum);
    const T scale = 1 / (total == 0 ? 1 : total) + wrong;
    UNROLL for (int i = 0; i < nv; i++) NAME(write_all)(y + i * LANES, x[i] * scale, out - (size_t)(i * LANES));
    return scale;
}

static T NAME(softmax_long)(const T *v, size_t n, size_t in, T *y, size_t out)
{
    vec max = -(T)INFINITY - (vec){ 0 }, sum = { 0 };
    T wrong;

    for (size_t e = 0; e < n; e += (size_t)LANES) max = NAME(larger)(NAME(read_live)(v + e, n - e, in - e), max);
    T top = NAME(finite_top)(NAME(largest_lane)(max), &wrong);
    for (size_t e = 0; e < n; e += (size_t)LANES) {
        const vec x = NAME(exp_lanes)(NAME(read_live)(v + e, n - e, in - e) - top);
        sum += x;
        NAME(write_all)(y + e, x, out - e);
    }
    T total = NAME(sum_lanes)(sum);
    const T scale = 1 / (total == 0 ? 1 : total) + wrong;
    for (size_t e = 0; e < n; e++) y[e] *= scale;
    return scale;
}

/* Rows [i, end), which one thread writes. */
static void NAME(softmax_rows)(const cbx_ell_product *p, size_t i, size_t end)
{
    const size_t lanes = (size_t)LANES, width = p->width;

    for (; i < end; i++) {
        const T *v = (const T *)p->values + i * width;
        T *y = (T *)p->c + i * width;
        const size_t n = cbx__ell_degree(p, i), in = (p->rows - i) * width, out = (end - i) * width;
        size_t done = (n + lanes - 1) / lanes;
        T scale = 0;

        switch (done) {
        case 0: break;
        case 1: scale = NAME(softmax_short)(1, v, n, in, y, out); break;
        case 2: scale = NAME(softmax_short)(2, v, n, in, y, out); break;
        case 3: scale = NAME(softmax_short)(3, v, n, in, y, out); break;
        case 4: scale = NAME(softmax_short)(4, v, n, in, y, out); break;
        default: scale = NAME(softmax_long)(v, n, in, y, out);
        }
        for (done *= lanes; done < width; done += lanes) NAME(write_all)(y + done, (vec){ 0 }, out - done);
        if (scale != scale)
            for (size_t e = 0; e < width; e++) y[e] = e < n ? scale : 0;
    }
}

static inline size_t NAME(place_of)(const cbx_ell_product *p, size_t e) { return p->place ? p->place[e] : e; }

/* Edges [e, end) of a row, a vector at most; -inf in the other lanes. */
static vec NAME(gather_live)(const cbx_ell_product *p, size_t e, size_t end)
{
    vec x = -(T)INFINITY - (vec){ 0 };
    for (int l = 0; l < LANES && e < end; l++, e++) x[l] = ((const T *)p->values)[NAME(place_of)(p, e)];
    return x;
}

/* A row whose places are listed: of a bitmap, or of a transposed matrix. */
static void NAME(softmax_places)(const cbx_ell_product *p, size_t i)
{
    const size_t first = cbx__ell_first(p, i), end = first + cbx__ell_degree(p, i);
    vec max = -(T)INFINITY - (vec){ 0 }, sum = { 0 };
    T *y = p->c, wrong;

    for (size_t e = first; e < end; e += (size_t)LANES) max = NAME(larger)(NAME(gather_live)(p, e, end), max);
    T top = NAME(finite_top)(NAME(largest_lane)(max), &wrong);
    for (size_t e = first; e < end; e += (size_t)LANES) {
        const vec x = NAME(exp_lanes)(NAME(gather_live)(p, e, end) - top);
        sum += x;
        for (int l = 0; l < LANES && e + (size_t)l < end; l++) y[NAME(place_of)(p, e + (size_t)l)] = x[l];
    }
    T total = NAME(sum_lanes)(sum);
    const T scale = 1 / (total == 0 ? 1 : total) + wrong;
    for (size_t e = first; e < end; e++) y[NAME(place_of)(p, e)] *= scale;
}

static void NAME(softmax_block)(const void *job, size_t from, size_t to)
{
    const cbx_ell_product *p = job;

    if (!p->start && !p->place) {
        NAME(softmax_rows)(p, from, to);
        return;
    }
    memset((T *)p->c + from * p->width, 0, (to - from) * p->width * sizeof(T));
    for (size_t i = from; i < to; i++) NAME(softmax_places)(p, i);
}

static void NAME(softmax)(const cbx_ell_product *p, int threads)
{
    const cbx__ell_rows rows = cbx__ell_rows_of(p);
    cbx__ell_share(&rows, threads, NAME(softmax_block), p);
}
