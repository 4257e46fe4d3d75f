/*
 * Reductions along an outer axis: whole rows at once.
 *
 * One result at a time would walk down a column and use one element of each cache line it loads.
 * Here a block of columns is folded row by row; sums keep their tree, whose numbers are then rows
 * of a block.
 */
#include <math.h>
#include <string.h>

#include "calibrax/array/kernels/fold.h"
#include "calibrax/array/reference/reduce.h"

/* 8 KiB a row: long enough for memory to stream; of stack, 64 KiB and 8 for each level of
 * the tree. */
#define COLUMNS 1024

/* A block of columns: width elements of each of n rows. */
typedef struct block {
    const cbx__fold *fold;
    const char *first;
    ptrdiff_t step, inner; /* [bytes] from row to row, and inside one */
    size_t n, width;
    ptrdiff_t wide_size;
    cbx__loop load;       /* NULL: rows are used where they lie */
    bool converts;        /* rows are of another dtype than the accumulators */
    bool single;          /* rows of float32 that are summed in float64 where they lie */
    const double *centre; /* of the first column; NULL: none */
    bool skips_nan;
    void *buf;
} block;

static const void *row(const block *b, size_t i)
{
    char *at = (char *)(uintptr_t)b->first + (ptrdiff_t)i * b->step;

    if (!b->load) return at;
    cbx__move(b->load, b->width, b->buf, b->wide_size, at, b->inner);
    return b->buf;
}

static bool direct(const block *b) { return b->single || !b->load; }

/* Rows i, i + every, ..., so many of them; those that must be loaded first one at a time. */
static void add_rows(const block *b, double *sum, size_t i, size_t every, size_t rows)
{
    const ptrdiff_t step = (ptrdiff_t)every * b->step;
    const cbx__fold *f = b->fold;
    size_t m = direct(b) ? rows : 1;

    for (; rows > 0; rows -= m, i += m * every) {
        const void *first = direct(b) ? b->first + (ptrdiff_t)i * b->step : row(b, i);
        if (!b->centre)
            (b->single ? f->columns_sum_f32 : f->columns_sum_f64)(b->width, sum, first, step, m);
        else if (b->single)
            f->columns_squares_f32[b->skips_nan](b->width, sum, first, step, m, b->centre);
        else
            f->columns_squares_f64[b->skips_nan](b->width, sum, first, step, m, b->centre);
    }
}

/* As the sums of kernels/fold_isa.c, from row i on; one of the eight sums after the other, which
 * keeps it in the nearest cache, but rows with gaps as they lie. */
static void leaf(const block *b, size_t i, size_t n, double *sum)
{
    double r[8][COLUMNS];
    const size_t w = b->width, end = i + n, whole = end - n % 8;

    for (size_t c = 0; c < w; c++) sum[c] = -0.0; /* changes nothing that is added to it */
    if (n >= 8) {
        for (size_t k = 0; k < 8; k++) memcpy(r[k], sum, w * sizeof *sum);
        if (direct(b))
            for (size_t k = 0; k < 8; k++) add_rows(b, r[k], i + k, 8, n / 8);
        else
            for (size_t k = i; k < whole; k++) add_rows(b, r[(k - i) % 8], k, 1, 1);
        for (size_t c = 0; c < w; c++)
            sum[c] = ((r[0][c] + r[1][c]) + (r[2][c] + r[3][c])) + ((r[4][c] + r[5][c]) + (r[6][c] + r[7][c]));
        i = whole;
    }
    add_rows(b, sum, i, 1, end - i);
}

/* Recursion of depth log2(n / 128). */
static void tree(const block *b, size_t i, size_t n, double *sum)
{
    double right[COLUMNS];
    size_t half = n / 2 - n / 2 % 8;

    if (n <= CBX__LEAF) {
        leaf(b, i, n, sum);
        return;
    }
    tree(b, i, half, sum);
    tree(b, i + half, n - half, right);
    b->fold->add_f64(b->width, sum, right);
}

static void sum_f64(const block *b, void *acc)
{
    double *sum = acc, part[COLUMNS];
    size_t chunk = b->converts && !b->centre ? CBX__CHUNK : b->n;

    memset(sum, 0, b->width * sizeof *sum);
    for (size_t i = 0; i < b->n; i += chunk) {
        tree(b, i, b->n - i < chunk ? b->n - i : chunk, part);
        b->fold->add_f64(b->width, sum, part);
    }
}

/* Row by row from a beginning that changes nothing. */
#define IN_ORDER(fn, T, begin, step)                                                                                   \
    static void fn(const block *b, void *acc)                                                                          \
    {                                                                                                                  \
        T *t = acc;                                                                                                    \
        for (size_t c = 0; c < b->width; c++) t[c] = begin;                                                            \
        for (size_t i = 0; i < b->n; i++) b->fold->step(b->width, t, row(b, i));                                       \
    }
IN_ORDER(sum_u64, uint64_t, 0, add_u64)
IN_ORDER(prod_u64, uint64_t, 1, mul_u64)
IN_ORDER(prod_f64, double, 1, mul_f64)
#define EXTREMES(S, T)                                                                                                 \
    IN_ORDER(max_##S, T, -(T)HUGE_VAL, max_##S)                                                                        \
    IN_ORDER(min_##S, T, (T)HUGE_VAL, min_##S)                                                                         \
    IN_ORDER(nanmax_##S, T, (T)NAN, nanmax_##S)                                                                        \
    IN_ORDER(nanmin_##S, T, (T)NAN, nanmin_##S)
EXTREMES(f64, double)
EXTREMES(f32, float)
IN_ORDER(max_i64, int64_t, INT64_MIN, max_i64)
IN_ORDER(min_i64, int64_t, INT64_MAX, min_i64)
IN_ORDER(max_u64, uint64_t, 0, max_u64)
IN_ORDER(min_u64, uint64_t, UINT64_MAX, min_u64)
IN_ORDER(any_bool, uint8_t, 0, or_u8)
IN_ORDER(all_bool, uint8_t, 1, and_u8)

/* Places: the first row wins until another beats it; n > 0. */
#define WINNER(fn, T, step)                                                                                            \
    static void fn(const block *b, void *acc)                                                                          \
    {                                                                                                                  \
        T best[COLUMNS];                                                                                               \
        int64_t *where = acc;                                                                                          \
        memcpy(best, row(b, 0), b->width * sizeof(T));                                                                 \
        memset(where, 0, b->width * sizeof *where);                                                                    \
        for (size_t i = 1; i < b->n; i++) b->fold->step(b->width, best, where, row(b, i), (int64_t)i);                 \
    }
WINNER(argmax_i64, int64_t, argmax_i64)
WINNER(argmin_i64, int64_t, argmin_i64)
WINNER(argmax_u64, uint64_t, argmax_u64)
WINNER(argmin_u64, uint64_t, argmin_u64)
WINNER(argmax_f64, double, argmax_f64)
WINNER(argmin_f64, double, argmin_f64)

typedef void (*column_reducer)(const block *b, void *acc);

/* By primitive and dtype of the accumulators: 0 int64, 1 uint64, 2 float64, 3 bool, 4 float32. */
static column_reducer find_reducer(const cbx_call *call, cbx_dtype wide)
{
    static const column_reducer ignoring[2][2] = { { nanmax_f64, nanmin_f64 }, { nanmax_f32, nanmin_f32 } };
    static const column_reducer table[CBX_PRIM_LIMIT][5] = {
        [CBX_PRIM_SUM] = { sum_u64, sum_u64, sum_f64 },
        [CBX_PRIM_SQUARES] = { [2] = sum_f64 },
        [CBX_PRIM_PROD] = { prod_u64, prod_u64, prod_f64 },
        [CBX_PRIM_REDUCE_MAX] = { max_i64, max_u64, max_f64, NULL, max_f32 },
        [CBX_PRIM_REDUCE_MIN] = { min_i64, min_u64, min_f64, NULL, min_f32 },
        [CBX_PRIM_ANY] = { [3] = any_bool },
        [CBX_PRIM_ALL] = { [3] = all_bool },
        [CBX_PRIM_ARGMAX] = { argmax_i64, argmax_u64, argmax_f64 },
        [CBX_PRIM_ARGMIN] = { argmin_i64, argmin_u64, argmin_f64 },
    };
    const int column = wide == CBX_I64 ? 0 : wide == CBX_U64 ? 1 : wide == CBX_F64 ? 2 : wide == CBX_F32 ? 4 : 3;
    if (call->attrs->mode && call->prim != CBX_PRIM_SQUARES && (wide == CBX_F32 || wide == CBX_F64))
        return ignoring[wide == CBX_F32][call->prim == CBX_PRIM_REDUCE_MIN];
    return wide == CBX_C128 ? NULL : table[call->prim][column];
}

/* Axes that go, if they are rows one step apart. */
static bool one_step(const cbx__split *s, ptrdiff_t *step)
{
    size_t inner = 0; /* rows to one step of the next axis outward; 0: none yet */

    *step = 0;
    for (int i = s->ngone - 1; i >= 0; i--) {
        if (s->gone[i] == 1) continue;
        if (inner == 0)
            *step = s->gone_step[i];
        else if (s->gone_step[i] != *step * (ptrdiff_t)inner)
            return false;
        inner = (inner ? inner : 1) * s->gone[i];
    }
    return true;
}

bool cbx__ref_reduce_columns(const cbx_call *call, cbx_array *out, cbx_dtype wide, cbx__loop store,
                             const cbx__centre *centre)
{
    const cbx_array *a = call->in[0];
    const cbx_dtype from = a->desc.dtype;
    const cbx__split s = cbx__split_axes(a, call->attrs->naxes, call->attrs->axes);
    const bool places = call->prim == CBX_PRIM_ARGMAX || call->prim == CBX_PRIM_ARGMIN;
    const size_t size = cbx__dtype_size(from), to_size = cbx__dtype_size(out->desc.dtype);
    const bool extreme = call->prim == CBX_PRIM_REDUCE_MAX || call->prim == CBX_PRIM_REDUCE_MIN;
    const ptrdiff_t inner = s.nkept ? s.kept_step[s.nkept - 1] : 0;
    const bool dense = inner == (ptrdiff_t)size, narrow = from == CBX_F32 && wide == CBX_F64;
    const cbx_dtype acc_type = narrow && extreme ? CBX_F32 : wide;
    const ptrdiff_t acc_size = places ? 8 : (ptrdiff_t)cbx__dtype_size(acc_type);
    const column_reducer reduce = find_reducer(call, acc_type);
    uint64_t acc[COLUMNS], buf[COLUMNS];
    size_t index[CBX_MAX_RANK] = { 0 }, last;
    const char *at = a->data;
    char *to = out->data;
    block b = { .fold = cbx__fold_get(cbx_isa_best()),
                .n = s.each,
                .inner = inner,
                .buf = buf,
                .converts = from != acc_type,
                .single = narrow && dense && (centre || call->prim == CBX_PRIM_SUM),
                .wide_size = (ptrdiff_t)cbx__dtype_size(acc_type) };

    if (!reduce || s.nkept == 0 || s.each < 2 || out->count == 0 || !one_step(&s, &b.step)) return false;
    last = s.kept[s.nkept - 1];
    if (inner < (ptrdiff_t)size || inner > 4 * (ptrdiff_t)size || last < 4) return false;
    if (acc_type != wide) store = cbx__copy_loop(acc_type);
    b.load = b.converts || !dense ? cbx__move_loop(from, acc_type) : NULL;
    for (size_t done = 0; done < out->count; done += last) {
        for (size_t c = 0; c < last; c += b.width, to += b.width * to_size) {
            b.first = at + (ptrdiff_t)c * inner;
            if (centre) {
                b.centre = centre->of + done + c;
                b.skips_nan = centre->skips_nan;
            }
            b.width = last - c < COLUMNS ? last - c : COLUMNS;
            reduce(&b, acc);
            cbx__move(store, b.width, to, (ptrdiff_t)to_size, acc, acc_size);
        }
        at = cbx__split_advance(&s, s.nkept - 1, index, at);
    }
    return true;
}
