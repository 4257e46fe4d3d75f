/*
 * Reductions and cumulative operations, in accumulators of 64 bits (complex: two of them).
 *
 * The elements of one result are taken in row-major order of the reduced axes, whatever the strides, so the answer does
 * not depend on layout.  Sums follow NumPy's tree: halves, the first rounded down to a multiple of 8, until 128 or fewer
 * are left; these in 8 interleaved sums, joined pairwise.  Source: NumPy 2.3 loops_utils.h.src (pairwise_sum).  Elements
 * that must be converted first are summed in chunks of 8192, left to right, as NumPy's buffered iterator does.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "calibrax/array/promote.h"
#include "calibrax/array/reference/reference.h"

#define LEAF  128
#define CHUNK 8192

/* An accumulator in the wide dtype of the reduction; at: position of the winner of argmin and argmax. */
typedef union total {
    int64_t i;
    uint64_t u;
    double f;
    double c[2];
} total;

typedef void (*reducer)(cbx__stream *s, size_t n, total *out);

static double leaf_sum(const double *a, size_t n, size_t step)
{
    double r[8], sum = -0.0;
    size_t i;

    if (n < 8) {
        for (i = 0; i < n; i++) sum += a[i * step];
        return sum;
    }
    for (size_t k = 0; k < 8; k++) r[k] = a[k * step];
    for (i = 8; i < n - n % 8; i += 8)
        for (size_t k = 0; k < 8; k++) r[k] += a[(i + k) * step];
    sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    for (; i < n; i++) sum += a[i * step];
    return sum;
}

/* Recursion of depth log2(n / 128). */
static double pairwise(cbx__stream *s, size_t n)
{
    double buf[LEAF], left;
    size_t half;

    if (n <= LEAF) return leaf_sum(cbx__stream_next(s, n, buf), n, 1);
    half = n / 2 - n / 2 % 8;
    left = pairwise(s, half);
    return left + pairwise(s, n - half);
}

static void sum_f64(cbx__stream *s, size_t n, total *out)
{
    double sum = 0.0;

    if (s->direct) {
        if (n) sum += pairwise(s, n);
    } else {
        for (size_t done = 0; done < n; done += CHUNK) sum += pairwise(s, n - done < CHUNK ? n - done : CHUNK);
    }
    out->f = sum;
}

/* n counts numbers; NumPy's tree counts their two halves, 4 pairs to a row of 8. */
static void pairwise_complex(cbx__stream *s, size_t n, double sum[2])
{
    double buf[LEAF], left[2];
    size_t half, i, whole = n - n % 4;
    const double *a;
    double r[8];

    if (2 * n > LEAF) {
        half = (n - n % 8) / 2;
        pairwise_complex(s, half, left);
        pairwise_complex(s, n - half, sum);
        sum[0] = left[0] + sum[0];
        sum[1] = left[1] + sum[1];
        return;
    }
    a = cbx__stream_next(s, n, buf);
    sum[0] = sum[1] = -0.0;
    i = 0;
    if (n >= 4) {
        for (size_t k = 0; k < 8; k++) r[k] = a[k];
        for (i = 4; i < whole; i += 4)
            for (size_t k = 0; k < 8; k++) r[k] += a[2 * i + k];
        sum[0] = (r[0] + r[2]) + (r[4] + r[6]);
        sum[1] = (r[1] + r[3]) + (r[5] + r[7]);
    }
    for (; i < n; i++) {
        sum[0] += a[2 * i];
        sum[1] += a[2 * i + 1];
    }
}

static void sum_c128(cbx__stream *s, size_t n, total *out)
{
    double sum[2] = { 0.0, 0.0 };

    if (n) pairwise_complex(s, n, sum);
    out->c[0] = 0.0 + sum[0];
    out->c[1] = 0.0 + sum[1];
}

/* Left to right; a leaf at a time through the buffer. */
#define IN_ORDER(fn, T, begin, step, result)                                                                           \
    static void fn(cbx__stream *s, size_t n, total *out)                                                               \
    {                                                                                                                  \
        T buf[LEAF], t = begin;                                                                                        \
        for (size_t done = 0; done < n; done += LEAF) {                                                                \
            size_t m = n - done < LEAF ? n - done : LEAF;                                                              \
            const T *a = cbx__stream_next(s, m, buf);                                                                  \
            for (size_t i = 0; i < m; i++) {                                                                           \
                const T x = a[i];                                                                                      \
                step;                                                                                                  \
            }                                                                                                          \
        }                                                                                                              \
        out->result = t;                                                                                               \
    }
IN_ORDER(sum_u64, uint64_t, 0, t += x, u)
IN_ORDER(prod_u64, uint64_t, 1, t *= x, u)
IN_ORDER(prod_f64, double, 1, t *= x, f)
IN_ORDER(max_i64, int64_t, INT64_MIN, t = x > t ? x : t, i)
IN_ORDER(min_i64, int64_t, INT64_MAX, t = x < t ? x : t, i)
IN_ORDER(max_u64, uint64_t, 0, t = x > t ? x : t, u)
IN_ORDER(min_u64, uint64_t, UINT64_MAX, t = x < t ? x : t, u)
IN_ORDER(max_f64, double, -HUGE_VAL, t = t >= x || t != t ? t : x, f)
IN_ORDER(min_f64, double, HUGE_VAL, t = t <= x || t != t ? t : x, f)
IN_ORDER(any_bool, bool, false, t |= x, u)
IN_ORDER(all_bool, bool, true, t &= x, u)

static void prod_c128(cbx__stream *s, size_t n, total *out)
{
    double t[2] = { 1.0, 0.0 }, buf[2];

    for (size_t i = 0; i < n; i++) {
        const double *x = cbx__stream_next(s, 1, buf);
        double re = t[0] * x[0] - t[1] * x[1];
        t[1] = t[0] * x[1] + t[1] * x[0];
        t[0] = re;
    }
    memcpy(out->c, t, sizeof t);
}

/* The first of equal winners; the first NaN wins against everything. */
#define WINNER(fn, T, beats)                                                                                           \
    static void fn(cbx__stream *s, size_t n, total *out)                                                               \
    {                                                                                                                  \
        T buf[LEAF], t = 0;                                                                                            \
        int64_t at = -1;                                                                                               \
        for (size_t done = 0; done < n; done += LEAF) {                                                                \
            size_t m = n - done < LEAF ? n - done : LEAF;                                                              \
            const T *a = cbx__stream_next(s, m, buf);                                                                  \
            for (size_t i = 0; i < m; i++) {                                                                           \
                const T x = a[i];                                                                                      \
                if (at < 0 || (beats)) {                                                                               \
                    t = x;                                                                                             \
                    at = (int64_t)(done + i);                                                                          \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        out->i = at;                                                                                                   \
    }
WINNER(argmax_i64, int64_t, x > t)
WINNER(argmin_i64, int64_t, x < t)
WINNER(argmax_u64, uint64_t, x > t)
WINNER(argmin_u64, uint64_t, x < t)
WINNER(argmax_f64, double, t == t && (x > t || x != x))
WINNER(argmin_f64, double, t == t && (x < t || x != x))

/* By primitive and wide dtype: 0 int64, 1 uint64, 2 float64, 3 complex128, 4 bool. */
static reducer find_reducer(cbx_prim p, cbx_dtype wide)
{
    static const reducer table[CBX_PRIM_LIMIT][5] = {
        [CBX_PRIM_SUM] = { sum_u64, sum_u64, sum_f64, sum_c128 },
        [CBX_PRIM_PROD] = { prod_u64, prod_u64, prod_f64, prod_c128 },
        [CBX_PRIM_REDUCE_MAX] = { max_i64, max_u64, max_f64 },
        [CBX_PRIM_REDUCE_MIN] = { min_i64, min_u64, min_f64 },
        [CBX_PRIM_ANY] = { [4] = any_bool },
        [CBX_PRIM_ALL] = { [4] = all_bool },
        [CBX_PRIM_ARGMAX] = { argmax_i64, argmax_u64, argmax_f64 },
        [CBX_PRIM_ARGMIN] = { argmin_i64, argmin_u64, argmin_f64 },
    };
    int column = wide == CBX_I64 ? 0 : wide == CBX_U64 ? 1 : wide == CBX_F64 ? 2 : wide == CBX_C128 ? 3 : 4;
    return table[p][column];
}

/* Axes that stay around axes that go, with strides in bytes. */
typedef struct split {
    int nkept, ngone;
    size_t kept[CBX_MAX_RANK], gone[CBX_MAX_RANK], each; /* each: elements to one result */
    ptrdiff_t kept_step[CBX_MAX_RANK], gone_step[CBX_MAX_RANK];
} split;

static split split_axes(const cbx_array *a, int naxes, const int *axes)
{
    split s = { .each = 1 };
    cbx__strided from = cbx__ref_strided(a);
    unsigned gone = 0;

    for (int i = 0; i < naxes; i++) gone |= 1u << axes[i];
    for (int i = 0; i < a->desc.ndim; i++) {
        if (gone & (1u << i)) {
            s.gone[s.ngone] = a->desc.shape[i];
            s.gone_step[s.ngone++] = from.strides[i];
            s.each *= a->desc.shape[i];
        } else {
            s.kept[s.nkept] = a->desc.shape[i];
            s.kept_step[s.nkept++] = from.strides[i];
        }
    }
    return s;
}

/* To the next place among the kept axes. */
static const char *advance(const split *s, size_t *index, const char *at)
{
    for (int i = s->nkept - 1; i >= 0; i--) {
        at += s->kept_step[i];
        if (++index[i] < s->kept[i]) return at;
        at -= s->kept_step[i] * (ptrdiff_t)s->kept[i];
        index[i] = 0;
    }
    return at;
}

cbx_status cbx__ref_run_reduce(const cbx_call *call, cbx_array **out, cbx_err *err)
{
    const cbx_array *a = call->in[0];
    cbx_dtype from = a->desc.dtype, to = call->result->dtype;
    bool logic = call->prim == CBX_PRIM_ANY || call->prim == CBX_PRIM_ALL;
    bool where = call->prim == CBX_PRIM_ARGMAX || call->prim == CBX_PRIM_ARGMIN;
    cbx_dtype wide = logic ? CBX_BOOL : cbx__ref_wide(to == CBX_BOOL || where ? from : to);
    cbx_dtype given = logic || where ? (where ? CBX_I64 : CBX_BOOL) : wide; /* dtype of the accumulator's result */
    split axes = split_axes(a, call->attrs->naxes, call->attrs->axes);
    size_t index[CBX_MAX_RANK] = { 0 }, size = cbx_dtype_size(to);
    reducer reduce = find_reducer(call->prim, wide);
    const char *at = a->data;
    cbx__loop store = given == to ? cbx__ref_copy(to) : cbx__ref_cast(given, to);
    cbx__stream s;
    cbx_status st;

    assert(reduce); /* the wall let no other dtype through */
    st = cbx_array_create(call->ctx, call->result, out, err);
    if (st) return st;
    cbx__stream_init(&s, axes.ngone, axes.gone, axes.gone_step, from, wide);
    for (size_t i = 0; i < (*out)->count; i++) {
        total t = { 0 };
        cbx__stream_start(&s, at);
        reduce(&s, axes.each, &t);
        store(1, (char *const[]){ (char *)(*out)->data + i * size, (char *)&t }, (const ptrdiff_t[]){ 0, 0 });
        at = advance(&axes, index, at);
    }
    return CBX_OK;
}

typedef void (*cumulator)(void *a, size_t n, total *t, bool begin);

/* In place; t carries the state from one run to the next. */
#define RUNNING(fn, T, field, step)                                                                                    \
    static void fn(void *values, size_t n, total *t, bool begin)                                                       \
    {                                                                                                                  \
        T *a = values, s = begin ? a[0] : t->field;                                                                    \
        for (size_t i = begin ? 1 : 0; i < n; i++) {                                                                   \
            const T x = a[i];                                                                                          \
            s = step;                                                                                                  \
            a[i] = s;                                                                                                  \
        }                                                                                                              \
        t->field = s;                                                                                                  \
    }
RUNNING(cumsum_u64, uint64_t, u, s + x)
RUNNING(cumsum_f64, double, f, s + x)
RUNNING(cumprod_u64, uint64_t, u, s *x)
RUNNING(cumprod_f64, double, f, s *x)
RUNNING(cummax_i64, int64_t, i, x > s ? x : s)
RUNNING(cummin_i64, int64_t, i, x < s ? x : s)
RUNNING(cummax_u64, uint64_t, u, x > s ? x : s)
RUNNING(cummin_u64, uint64_t, u, x < s ? x : s)
RUNNING(cummax_f64, double, f, s >= x || s != s ? s : x)
RUNNING(cummin_f64, double, f, s <= x || s != s ? s : x)

static void cumsum_c128(void *values, size_t n, total *t, bool begin)
{
    double *a = values;

    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < 2; k++) t->c[k] = begin && i == 0 ? a[k] : t->c[k] + a[2 * i + (size_t)k];
        memcpy(a + 2 * i, t->c, sizeof t->c);
    }
}

static void cumprod_c128(void *values, size_t n, total *t, bool begin)
{
    double *a = values;

    for (size_t i = 0; i < n; i++) {
        double re = a[2 * i], im = a[2 * i + 1];
        total old = *t;
        t->c[0] = begin && i == 0 ? re : old.c[0] * re - old.c[1] * im;
        t->c[1] = begin && i == 0 ? im : old.c[0] * im + old.c[1] * re;
        memcpy(a + 2 * i, t->c, sizeof t->c);
    }
}

static cumulator find_cumulator(cbx_prim p, cbx_dtype wide)
{
    static const cumulator table[CBX_PRIM_LIMIT][4] = {
        [CBX_PRIM_CUMSUM] = { cumsum_u64, cumsum_u64, cumsum_f64, cumsum_c128 },
        [CBX_PRIM_CUMPROD] = { cumprod_u64, cumprod_u64, cumprod_f64, cumprod_c128 },
        [CBX_PRIM_CUMMAX] = { cummax_i64, cummax_u64, cummax_f64 },
        [CBX_PRIM_CUMMIN] = { cummin_i64, cummin_u64, cummin_f64 },
    };
    return table[p][wide == CBX_I64 ? 0 : wide == CBX_U64 ? 1 : wide == CBX_F64 ? 2 : 3];
}

cbx_status cbx__ref_run_cumulative(const cbx_call *call, cbx_array **out, cbx_err *err)
{
    const cbx_array *a = call->in[0];
    cbx_dtype from = a->desc.dtype, to = call->result->dtype, wide = cbx__ref_wide(to);
    split in = split_axes(a, 1, &call->attrs->axis), result;
    size_t index[2][CBX_MAX_RANK] = { { 0 } };
    cumulator run = find_cumulator(call->prim, wide);
    cbx__loop load = from == wide ? cbx__ref_copy(from) : cbx__ref_cast(from, wide);
    cbx__loop store = to == wide ? cbx__ref_copy(to) : cbx__ref_cast(wide, to);
    ptrdiff_t size = (ptrdiff_t)cbx_dtype_size(wide);
    const char *src = a->data, *dst;
    double buf[2 * LEAF];
    cbx_status st;

    assert(run && load);
    st = cbx_array_create(call->ctx, call->result, out, err);
    if (st) return st;
    result = split_axes(*out, 1, &call->attrs->axis);
    dst = (*out)->data;
    for (size_t lane = 0; in.each > 0 && lane < a->count / in.each; lane++) {
        total t = { 0 };
        for (size_t i = 0; i < in.each; i += LEAF) {
            size_t m = in.each - i < LEAF ? in.each - i : LEAF;
            char *here = (char *)(uintptr_t)src + (ptrdiff_t)i * in.gone_step[0];
            char *there = (char *)(uintptr_t)dst + (ptrdiff_t)i * result.gone_step[0];
            load(m, (char *const[]){ (char *)buf, here }, (const ptrdiff_t[]){ size, in.gone_step[0] });
            run(buf, m, &t, i == 0);
            store(m, (char *const[]){ there, (char *)buf }, (const ptrdiff_t[]){ result.gone_step[0], size });
        }
        src = advance(&in, index[0], src);
        dst = advance(&result, index[1], dst);
    }
    return CBX_OK;
}
