/*
 * Reductions, in accumulators of 64 bits (complex: two of them).
 *
 * The elements of one result are taken in row-major order of the reduced axes, whatever the
 * strides, so the answer does not depend on layout.  Sums follow NumPy's tree: halves, the first
 * rounded down to a multiple of 8, until 128 or fewer are left; these in 8 interleaved sums, joined
 * pairwise.  Source: NumPy 2.3 loops_utils.h.src (pairwise_sum).  Elements that must be converted
 * first are summed in chunks of 8192, left to right, as NumPy's buffered iterator does.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "calibrax/array/kernels/fold.h"
#include "calibrax/array/reference/reduce.h"

#define LEAF  CBX__LEAF
#define CHUNK CBX__CHUNK
#define RUN   4096
/* Elements of the buffer for a branch of the tree of sums. */
#define BRANCH 1024

typedef void (*reducer)(cbx__stream *s, size_t n, cbx__total *out);

static const cbx__fold *fold(void) { return cbx__fold_get(cbx_isa_best()); }

/* Elements that are read where they lie need no buffer. */
static bool lies_whole(const cbx__stream *s)
{
    return s->direct && s->ndim == 1 && s->strides[0] == (ptrdiff_t)s->size;
}

/* Recursion of depth log2(n / BRANCH). */
#define PAIRWISE(name, T, sum)                                                                                         \
    static double name(cbx__stream *s, size_t n)                                                                       \
    {                                                                                                                  \
        T buf[BRANCH];                                                                                                 \
        double left;                                                                                                   \
        size_t half;                                                                                                   \
        if (n <= BRANCH || lies_whole(s)) return fold()->sum(cbx__stream_next(s, n, buf), n);                          \
        half = n / 2 - n / 2 % 8;                                                                                      \
        left = name(s, half);                                                                                          \
        return left + name(s, n - half);                                                                               \
    }
PAIRWISE(pairwise, double, run_sum_f64)
PAIRWISE(pairwise_f32, float, run_sum_f32)

static void sum_f32(cbx__stream *s, size_t n, cbx__total *out)
{
    out->f = 0.0;
    for (size_t done = 0; done < n; done += CHUNK) out->f += pairwise_f32(s, n - done < CHUNK ? n - done : CHUNK);
}

static void sum_f64(cbx__stream *s, size_t n, cbx__total *out)
{
    double sum = 0.0;

    if (s->direct) {
        if (n) sum += pairwise(s, n);
    } else {
        for (size_t done = 0; done < n; done += CHUNK) sum += pairwise(s, n - done < CHUNK ? n - done : CHUNK);
    }
    out->f = sum;
}

static double squares(cbx__stream *s, size_t n, double centre, bool skips_nan)
{
    double buf[BRANCH], left;
    size_t half;

    if (n <= BRANCH || lies_whole(s)) {
        const void *a = cbx__stream_next(s, n, buf);
        return s->size == sizeof(float) ? fold()->run_squares_f32[skips_nan](a, n, centre)
                                        : fold()->run_squares_f64[skips_nan](a, n, centre);
    }
    half = n / 2 - n / 2 % 8;
    left = squares(s, half, centre, skips_nan);
    return left + squares(s, n - half, centre, skips_nan);
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

static void sum_c128(cbx__stream *s, size_t n, cbx__total *out)
{
    double sum[2] = { 0.0, 0.0 };

    if (n) pairwise_complex(s, n, sum);
    out->c[0] = 0.0 + sum[0];
    out->c[1] = 0.0 + sum[1];
}

/* Elements of type S go to LINES accumulators in turn, which are joined at the end; one accumulator
 * takes them from left to right.  The buffer is short, so that memory is fetched meanwhile. */
#define IN_LINES(fn, S, T, LINES, begin, step, result)                                                                 \
    static void fn(cbx__stream *s, size_t n, cbx__total *out)                                                          \
    {                                                                                                                  \
        const size_t maximum = lies_whole(s) ? n : LEAF;                                                               \
        S buf[LEAF];                                                                                                   \
        T t[LINES];                                                                                                    \
        for (size_t k = 0; k < LINES; k++) t[k] = begin;                                                               \
        for (size_t done = 0; done < n; done += maximum) {                                                             \
            const size_t m = n - done < maximum ? n - done : maximum;                                                  \
            const S *a = cbx__stream_next(s, m, buf);                                                                  \
            size_t i = 0;                                                                                              \
            for (; i + LINES <= m; i += LINES)                                                                         \
                for (size_t k = 0; k < LINES; k++) t[k] = step(t[k], a[i + k]);                                        \
            for (; i < m; i++) t[0] = step(t[0], a[i]);                                                                \
        }                                                                                                              \
        for (size_t k = 1; k < LINES; k++) t[0] = step(t[0], t[k]);                                                    \
        out->result = t[0];                                                                                            \
    }
#define TIMES(t, x)   ((t) * (x))
#define LARGER(t, x)  ((x) > (t) ? (x) : (t))
#define SMALLER(t, x) ((x) < (t) ? (x) : (t))
IN_LINES(prod_u64, uint64_t, uint64_t, 4, 1, TIMES, u)
IN_LINES(prod_f64, double, double, 1, 1, TIMES, f)
IN_LINES(prod_f32, float, double, 1, 1, TIMES, f)
IN_LINES(max_u64, uint64_t, uint64_t, 4, 0, LARGER, u)
IN_LINES(min_u64, uint64_t, uint64_t, 4, UINT64_MAX, SMALLER, u)

static size_t longest_run(const cbx__stream *s) { return lies_whole(s) ? (size_t)1 << 16 : RUN; }

/* A run at a time; x is what the run of m elements at a gives. */
#define BY_RUNS(fn, T, begin, run, step, result)                                                                       \
    static void fn(cbx__stream *s, size_t n, cbx__total *out)                                                          \
    {                                                                                                                  \
        const cbx__fold *k = fold();                                                                                   \
        const size_t maximum = longest_run(s);                                                                         \
        T buf[RUN], t = begin;                                                                                         \
        for (size_t done = 0; done < n; done += maximum) {                                                             \
            size_t m = n - done < maximum ? n - done : maximum;                                                        \
            const T *a = cbx__stream_next(s, m, buf), x = k->run(a, m);                                                \
            t = step;                                                                                                  \
        }                                                                                                              \
        out->result = t;                                                                                               \
    }
#define EXTREMES(S, T)                                                                                                 \
    BY_RUNS(max_##S, T, -(T)HUGE_VAL, run_max_##S, t >= x || t != t ? t : x, f)                                        \
    BY_RUNS(min_##S, T, (T)HUGE_VAL, run_min_##S, t <= x || t != t ? t : x, f)                                         \
    BY_RUNS(nanmax_##S, T, (T)NAN, run_nanmax_##S, t >= x || x != x ? t : x, f)                                        \
    BY_RUNS(nanmin_##S, T, (T)NAN, run_nanmin_##S, t <= x || x != x ? t : x, f)
EXTREMES(f64, double)
EXTREMES(f32, float)
BY_RUNS(sum_u64, uint64_t, 0, run_sum_u64, t + x, u)
BY_RUNS(max_i64, int64_t, INT64_MIN, run_max_i64, x > t ? x : t, i)
BY_RUNS(min_i64, int64_t, INT64_MAX, run_min_i64, x < t ? x : t, i)

/* Bytes as they are stored: no conversion. */
static void sum_u8(cbx__stream *s, size_t n, cbx__total *out)
{
    const cbx__fold *k = fold();
    uint8_t buf[RUN];

    out->u = 0;
    for (size_t done = 0; done < n; done += RUN) {
        size_t m = n - done < RUN ? n - done : RUN;
        out->u += k->run_sum_u8(cbx__stream_next(s, m, buf), m);
    }
}

/* True if a truth value of n is met; stops there. */
static bool meets(cbx__stream *s, size_t n, bool value)
{
    bool buf[RUN];

    for (size_t done = 0; done < n; done += RUN) {
        size_t m = n - done < RUN ? n - done : RUN;
        if (memchr(cbx__stream_next(s, m, buf), value, m)) return true;
    }
    return false;
}

static void any_bool(cbx__stream *s, size_t n, cbx__total *out) { out->u = meets(s, n, true); }
static void all_bool(cbx__stream *s, size_t n, cbx__total *out) { out->u = !meets(s, n, false); }

static void prod_c128(cbx__stream *s, size_t n, cbx__total *out)
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
    static void fn(cbx__stream *s, size_t n, cbx__total *out)                                                          \
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
WINNER(argmax_u64, uint64_t, x > t)
WINNER(argmin_u64, uint64_t, x < t)

/* The extreme of a run first: only a run that holds a new winner is searched for its place. */
#define WINNER_BY_RUNS(fn, T, run, find, beats)                                                                        \
    static void fn(cbx__stream *s, size_t n, cbx__total *out)                                                          \
    {                                                                                                                  \
        const cbx__fold *k = fold();                                                                                   \
        const size_t maximum = lies_whole(s) ? 4 * RUN : RUN;                                                          \
        T buf[RUN], t = 0;                                                                                             \
        int64_t at = -1;                                                                                               \
        for (size_t done = 0; done < n; done += maximum) {                                                             \
            size_t m = n - done < maximum ? n - done : maximum, i = 0;                                                 \
            const T *a = cbx__stream_next(s, m, buf), x = k->run(a, m);                                                \
            if (at >= 0 && !(beats)) continue;                                                                         \
            t = x;                                                                                                     \
            find;                                                                                                      \
            at = (int64_t)(done + i);                                                                                  \
        }                                                                                                              \
        out->i = at;                                                                                                   \
    }
#define FIND_INT i = k->run_find_i64(a, m, x)
#define FIND_FLOAT(S)                                                                                                  \
    if (x == x)                                                                                                        \
        i = k->run_find_##S(a, m, x);                                                                                  \
    else                                                                                                               \
        while (a[i] == a[i]) i++
WINNER_BY_RUNS(argmax_i64, int64_t, run_max_i64, FIND_INT, x > t)
WINNER_BY_RUNS(argmin_i64, int64_t, run_min_i64, FIND_INT, x < t)
WINNER_BY_RUNS(argmax_f64, double, run_max_f64, FIND_FLOAT(f64), t == t && (x > t || x != x))
WINNER_BY_RUNS(argmin_f64, double, run_min_f64, FIND_FLOAT(f64), t == t && (x < t || x != x))
WINNER_BY_RUNS(argmax_f32, float, run_max_f32, FIND_FLOAT(f32), t == t && (x > t || x != x))
WINNER_BY_RUNS(argmin_f32, float, run_min_f32, FIND_FLOAT(f32), t == t && (x < t || x != x))

/* By primitive and dtype of the elements that it takes, a wide one or float32; NULL: none. */
static reducer find_reducer(const cbx_call *call, cbx_dtype t)
{
    static const reducer ignoring[2][2] = { { nanmax_f64, nanmin_f64 }, { nanmax_f32, nanmin_f32 } };
    static const reducer table[CBX_PRIM_LIMIT][6] = {
        [CBX_PRIM_SUM] = { sum_u64, sum_u64, sum_f64, sum_c128, NULL, sum_f32 },
        [CBX_PRIM_PROD] = { prod_u64, prod_u64, prod_f64, prod_c128, NULL, prod_f32 },
        [CBX_PRIM_REDUCE_MAX] = { max_i64, max_u64, max_f64, [5] = max_f32 },
        [CBX_PRIM_REDUCE_MIN] = { min_i64, min_u64, min_f64, [5] = min_f32 },
        [CBX_PRIM_ANY] = { [4] = any_bool },
        [CBX_PRIM_ALL] = { [4] = all_bool },
        [CBX_PRIM_ARGMAX] = { argmax_i64, argmax_u64, argmax_f64, [5] = argmax_f32 },
        [CBX_PRIM_ARGMIN] = { argmin_i64, argmin_u64, argmin_f64, [5] = argmin_f32 },
    };
    static const unsigned char columns[CBX_DTYPE_COUNT] = {
        [CBX_I64] = 0, [CBX_U64] = 1, [CBX_F64] = 2, [CBX_C128] = 3, [CBX_BOOL] = 4, [CBX_F32] = 5
    };
    if (call->attrs->mode && (t == CBX_F32 || t == CBX_F64))
        return ignoring[t == CBX_F32][call->prim == CBX_PRIM_REDUCE_MIN];
    return table[call->prim][columns[t]];
}

cbx__split cbx__split_axes(const cbx_array *a, int naxes, const int *axes)
{
    cbx__split s = { .each = 1 };
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

const char *cbx__split_advance(const cbx__split *s, int n, size_t *index, const char *at)
{
    for (int i = n - 1; i >= 0; i--) {
        at += s->kept_step[i];
        if (++index[i] < s->kept[i]) return at;
        at -= s->kept_step[i] * (ptrdiff_t)s->kept[i];
        index[i] = 0;
    }
    return at;
}

CBX__RUN(reduce)
{
    const cbx_array *a = call->in[0];
    cbx_dtype from = a->desc.dtype, to = call->results->dtype;
    bool logic = call->prim == CBX_PRIM_ANY || call->prim == CBX_PRIM_ALL;
    bool where = call->prim == CBX_PRIM_ARGMAX || call->prim == CBX_PRIM_ARGMIN;
    cbx_dtype wide = logic ? CBX_BOOL : cbx__ref_wide(to == CBX_BOOL || where ? from : to);
    cbx_dtype given = logic || where ? (where ? CBX_I64 : CBX_BOOL) : wide; /* dtype of the accumulator's result */
    cbx__split axes = cbx__split_axes(a, call->attrs->naxes, call->attrs->axes);
    size_t index[CBX_MAX_RANK] = { 0 }, size = cbx_dtype_size(to);
    reducer reduce = from == CBX_F32 && wide == CBX_F64 ? find_reducer(call, CBX_F32) : NULL;
    const bool narrow = reduce != NULL; /* float32 is read as it lies */
    const char *at = a->data;
    bool bytes = call->prim == CBX_PRIM_SUM && (from == CBX_BOOL || from == CBX_U8) &&
                 (wide == CBX_I64 || wide == CBX_U64);
    cbx__loop store = cbx__move_loop(given, to);
    cbx__stream s;

    if (!narrow) reduce = find_reducer(call, wide);
    assert(reduce); /* the wall let no other dtype through */
    if (cbx__ref_reduce_columns(call, *out, wide, store, NULL)) return CBX_OK;
    if (bytes) reduce = sum_u8;
    cbx__stream_init(&s, axes.ngone, axes.gone, axes.gone_step, from, bytes || narrow ? from : wide);
    for (size_t i = 0; i < (*out)->count; i++) {
        cbx__total t = { 0 };
        cbx__stream_start(&s, at);
        reduce(&s, axes.each, &t);
        cbx__move(store, 1, (char *)(*out)->data + i * size, 0, &t, 0);
        at = cbx__split_advance(&axes, axes.nkept, index, at);
    }
    return CBX_OK;
}

CBX__RUN(squares)
{
    const cbx_array *a = call->in[0];
    CBX_OWNED(cbx_array) *dense = NULL;
    const double *centre;
    cbx__split axes = cbx__split_axes(a, call->attrs->naxes, call->attrs->axes);
    size_t index[CBX_MAX_RANK] = { 0 };
    const char *at = a->data;
    cbx__stream s;
    cbx_status st = cbx__array_dense(call->ctx, call->in[1], &dense, err);

    if (st) return st;
    centre = dense->data;
    if (cbx__ref_reduce_columns(call, *out, CBX_F64, cbx__copy_loop(CBX_F64),
                                &(const cbx__centre){ centre, call->attrs->mode }))
        return CBX_OK;
    cbx__stream_init(&s, axes.ngone, axes.gone, axes.gone_step, a->desc.dtype, a->desc.dtype);
    for (size_t i = 0; i < (*out)->count; i++) {
        cbx__stream_start(&s, at);
        ((double *)(*out)->data)[i] = axes.each ? 0.0 + squares(&s, axes.each, centre[i], call->attrs->mode) : 0.0;
        at = cbx__split_advance(&axes, axes.nkept, index, at);
    }
    return CBX_OK;
}
