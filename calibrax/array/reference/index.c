/*
 * Gather and scatter along one axis.  Operands that are not row-major are copied first (that is the
 * scratch), so every array here is (outer, axis, inner).  Negative indices count from the end; one
 * outside is CBX_EINDEX.
 */
#include <string.h>

#include "calibrax/array/kernels/fold.h"
#include "calibrax/array/reference/reference.h"

/* x seen as (outer, length, inner); wrap: what is to be added to negative indices, 0 if there
 * are none. */
typedef struct blocks {
    size_t outer, length, inner, wrap;
} blocks;

static blocks blocks_of(const cbx_array *x, int axis)
{
    blocks b = { .outer = 1, .length = x->desc.shape[axis], .inner = 1 };

    for (int i = 0; i < axis; i++) b.outer *= x->desc.shape[i];
    for (int i = axis + 1; i < x->desc.ndim; i++) b.inner *= x->desc.shape[i];
    return b;
}

static cbx_status check_indices(const char *name, blocks *b, const int64_t *at, size_t n, cbx_err *err)
{
    const size_t length = b->length;
    const unsigned seen = cbx__fold_get(cbx_isa_best())->run_indices(at, n, length);

    for (size_t i = 0; (seen & CBX__INDEX_OUTSIDE) && i < n; i++)
        if (at[i] == INT64_MAX) /* of a batch: the axis holds the rows of all its elements */
            return cbx_fail(err, CBX_EINDEX, "an index of '%s' is outside its axis", name);
        else if (at[i] >= (int64_t)length || at[i] < -(int64_t)length)
            return cbx_fail(err, CBX_EINDEX, "index %lld of '%s' is outside an axis of %zu", (long long)at[i], name,
                            length);
    b->wrap = seen & CBX__INDEX_NEGATIVE ? length : 0;
    return CBX_OK;
}

static size_t place(int64_t i, size_t wrap) { return (size_t)i + (i < 0 ? wrap : 0); }

/* Rows of so many bytes are gathered as elements are. */
static bool is_short(size_t bytes) { return bytes <= 64 && bytes % 8 == 0; }

/* n elements of `size` bytes, found at index[j] * stride + j * along; sizes are constants, so that
 * a copy is a load and a store. */
static void gather(size_t size, size_t n, char *to, const char *from, const int64_t *index, size_t wrap, size_t stride,
                   size_t along)
{
#define GATHER(bytes)                                                                                                  \
    case bytes:                                                                                                        \
        if (wrap == 0 && stride == 1 && along == 0)                                                                    \
            for (size_t j = 0; j < n; j++) memcpy(to + j * (bytes), from + (size_t)index[j] * (bytes), bytes);         \
        else                                                                                                           \
            for (size_t j = 0; j < n; j++)                                                                             \
                memcpy(to + j * (bytes), from + (place(index[j], wrap) * stride + j * along) * (bytes), bytes);        \
        break
    switch (size) {
        GATHER(1);
        GATHER(2);
        GATHER(4);
        GATHER(8);
        GATHER(16);
        GATHER(24);
        GATHER(32);
        GATHER(40);
        GATHER(48);
        GATHER(56);
        GATHER(64);
    }
#undef GATHER
}

/* Elements of one axis: indices are checked a piece at a time, just before they are used, and so
 * read from memory once. */
#define PIECE 2048

static bool is_line(const blocks *b) { return b->outer == 1 && b->inner == 1; }

static cbx_status gather_line(const cbx_call *call, blocks *b, cbx_array *r, cbx_err *err)
{
    const size_t size = cbx__dtype_size(r->desc.dtype), count = call->in[1]->count;
    cbx_status st = CBX_OK;

    for (size_t i = 0; !st && i < count; i += PIECE) {
        const int64_t *at = (const int64_t *)call->in[1]->data + i;
        size_t n = count - i < PIECE ? count - i : PIECE;
        st = check_indices(cbx_prim_name(call->prim), b, at, n, err);
        if (!st) gather(size, n, (char *)r->data + i * size, call->in[0]->data, at, b->wrap, 1, 0);
    }
    return st;
}

CBX__RUN(take)
{
    const int64_t *index = call->in[1]->data;
    blocks b = blocks_of(call->in[0], call->attrs->axis);
    const size_t n = call->in[1]->count, size = cbx_dtype_size(call->results->dtype), run = b.inner * size;
    cbx__loop copy = cbx__copy_loop(call->results->dtype);
    char *to = (*out)->data;
    cbx_status st;

    if (is_line(&b)) return gather_line(call, &b, *out, err);
    st = check_indices(cbx_prim_name(call->prim), &b, index, n, err);
    for (size_t o = 0; !st && (*out)->count && o < b.outer; o++) {
        char *from = (char *)call->in[0]->data + o * b.length * run;
        if (b.inner == 1 || is_short(run)) {
            gather(run, n, to, from, index, b.wrap, 1, 0);
            to += n * run;
            continue;
        }
        for (size_t j = 0; j < n; j++, to += run) {
            char *here = from + place(index[j], b.wrap) * run;
            cbx__move(copy, b.inner, to, (ptrdiff_t)size, here, (ptrdiff_t)size);
        }
    }
    return st;
}

CBX__RUN(take_along)
{
    const int64_t *index = call->in[1]->data;
    blocks b = blocks_of(call->in[0], call->attrs->axis);
    const size_t size = cbx_dtype_size(call->results->dtype), m = call->results->shape[call->attrs->axis];
    char *to = (*out)->data;
    cbx_status st;

    if (is_line(&b)) return gather_line(call, &b, *out, err);
    st = check_indices(cbx_prim_name(call->prim), &b, index, call->in[1]->count, err);
    for (size_t o = 0; !st && (*out)->count && o < b.outer; o++) {
        const char *from = (const char *)call->in[0]->data + o * b.length * b.inner * size;
        if (b.inner == 1) { /* the long way is along the axis */
            gather(size, m, to, from, index, b.wrap, 1, 0);
            to += m * size;
            index += m;
            continue;
        }
        for (size_t j = 0; j < m; j++, to += b.inner * size, index += b.inner)
            gather(size, b.inner, to, from, index, b.wrap, b.inner, 1);
    }
    return st;
}

static cbx__loop join_loop(int mode, cbx_dtype t)
{
    static const cbx_prim prims[] = { [CBX_SCATTER_ADD] = CBX_PRIM_ADD,
                                      [CBX_SCATTER_MUL] = CBX_PRIM_MUL,
                                      [CBX_SCATTER_MIN] = CBX_PRIM_MIN,
                                      [CBX_SCATTER_MAX] = CBX_PRIM_MAX };
    return mode == CBX_SCATTER_SET ? NULL : cbx__loops_get()->binary(prims[mode], t);
}

/* n rows of `inner` elements to places along the axis, in order; step [elements]: of the updates, 0
 * for one that all share. */
typedef void (*scatter_loop)(size_t n, size_t inner, void *to, const int64_t *index, size_t wrap, const void *from,
                             ptrdiff_t step);
enum { SHORT_ROW = 16 }; /* elements; longer ones are joined by vector loops */

#define PUT(i, x, op) o[i] = op(o[i], x)
#define SCATTER(fn, T, op)                                                                                             \
    static void fn(size_t n, size_t inner, void *to, const int64_t *index, size_t wrap, const void *from,              \
                   ptrdiff_t step)                                                                                     \
    {                                                                                                                  \
        T *o = to;                                                                                                     \
        const T *u = from;                                                                                             \
        if (inner > 1)                                                                                                 \
            for (size_t j = 0; j < n; j++, u += step * (ptrdiff_t)inner)                                               \
                for (size_t i = 0, at = place(index[j], wrap) * inner; i < inner; i++)                                 \
                    PUT(at + i, u[(ptrdiff_t)i * step], op);                                                           \
        else if (wrap)                                                                                                 \
            for (size_t j = 0; j < n; j++, u += step) PUT(place(index[j], wrap), *u, op);                              \
        else if (step == 1)                                                                                            \
            for (size_t j = 0; j < n; j++) PUT(index[j], u[j], op);                                                    \
        else                                                                                                           \
            for (size_t j = 0; j < n; j++, u += step) PUT(index[j], *u, op);                                           \
    }
#define SET(t, x) (x)
#define SUM(t, x) ((t) + (x))
#define MUL(t, x) ((t) * (x))
/* the first NaN stays, as of two equal ones the first */
#define MIN(t, x) ((t) <= (x) || (t) != (t) ? (t) : (x))
#define MAX(t, x) ((t) >= (x) || (t) != (t) ? (t) : (x))
SCATTER(set_8, uint8_t, SET)
SCATTER(set_16, uint16_t, SET)
SCATTER(set_32, uint32_t, SET)
SCATTER(set_64, uint64_t, SET)
#define JOINS(S, T) SCATTER(add_##S, T, SUM) SCATTER(mul_##S, T, MUL) SCATTER(min_##S, T, MIN) SCATTER(max_##S, T, MAX)
JOINS(f64, double)
JOINS(f32, float)
JOINS(u64, uint64_t)
SCATTER(min_i64, int64_t, MIN)
SCATTER(max_i64, int64_t, MAX)

/* NULL: none for this join and dtype. */
static scatter_loop find_scatter(int mode, cbx_dtype t)
{
    static const scatter_loop sets[] = { [1] = set_8, [2] = set_16, [4] = set_32, [8] = set_64, [16] = NULL };
    static const scatter_loop joins[][CBX_DTYPE_COUNT] = {
        [CBX_SCATTER_ADD] = { [CBX_F64] = add_f64, [CBX_F32] = add_f32, [CBX_I64] = add_u64, [CBX_U64] = add_u64 },
        [CBX_SCATTER_MUL] = { [CBX_F64] = mul_f64, [CBX_F32] = mul_f32, [CBX_I64] = mul_u64, [CBX_U64] = mul_u64 },
        [CBX_SCATTER_MIN] = { [CBX_F64] = min_f64, [CBX_F32] = min_f32, [CBX_I64] = min_i64, [CBX_U64] = min_u64 },
        [CBX_SCATTER_MAX] = { [CBX_F64] = max_f64, [CBX_F32] = max_f32, [CBX_I64] = max_i64, [CBX_U64] = max_u64 },
    };

    return mode == CBX_SCATTER_SET ? sets[cbx__dtype_size(t)] : joins[mode][t];
}

static bool is_one_element(const cbx_array *a)
{
    for (int i = 0; i < a->desc.ndim; i++)
        if (a->strides[i] != 0 && a->desc.shape[i] != 1) return false;
    return a->count > 0;
}

/* Updates go in row-major order of the indices: the last set wins, sums are in that order.  n of
 * them, step [elements] apart. */
static void scatter_rows(const cbx_call *call, const blocks *b, size_t n, const int64_t *index, const char *from,
                         ptrdiff_t step, cbx_array *r)
{
    cbx_dtype t = call->results->dtype;
    ptrdiff_t size = (ptrdiff_t)cbx_dtype_size(t);
    size_t run = b->inner * (size_t)size;
    cbx__loop join = call->attrs->mode == CBX_SCATTER_SET ? cbx__copy_loop(t) : join_loop(call->attrs->mode, t);
    ptrdiff_t s[3] = { size, size, size };
    scatter_loop loop = b->inner && b->inner <= SHORT_ROW ? find_scatter(call->attrs->mode, t) : NULL;

    s[call->attrs->mode == CBX_SCATTER_SET ? 1 : 2] = step * size;
    for (size_t o = 0; o < b->outer; o++) {
        char *row = (char *)r->data + o * b->length * run;
        if (loop) {
            loop(n, b->inner, row, index, b->wrap, from, step);
            from += (ptrdiff_t)(n * run) * step;
            continue;
        }
        for (size_t j = 0; j < n; j++, from += step * (ptrdiff_t)run) {
            char *to = row + place(index[j], b->wrap) * run, *update = (char *)(uintptr_t)from;
            join(b->inner,
                 call->attrs->mode == CBX_SCATTER_SET ? (char *const[3]){ to, update }
                                                      : (char *const[3]){ to, to, update },
                 s);
        }
    }
}

CBX__RUN(scatter)
{
    CBX_OWNED(cbx_array) *index_copy = NULL, *copy = NULL;
    const cbx_array *index, *from = call->in[2];
    const size_t size = cbx_dtype_size(call->results->dtype);
    blocks b = blocks_of(call->in[0], call->attrs->axis);
    const bool shared = is_one_element(from), /* one update for all places needs no copy of them */
        line = is_line(&b) && from->desc.ndim == 1 && find_scatter(call->attrs->mode, call->results->dtype);
    const ptrdiff_t step = shared ? 0 : line ? from->strides[0] : 1;
    cbx_status st = cbx__ref_packed(call->ctx, call->in[1], &index_copy, &index, err);

    if (!st && !shared && !line) st = cbx__ref_packed(call->ctx, from, &copy, &from, err);
    if (!st && !is_line(&b)) st = check_indices("scatter", &b, index->data, index->count, err);
    if (!st) cbx__array_pack(call->in[0], 0, call->in[0]->count, (*out)->data);
    for (size_t i = 0, n; !st && i < index->count && from->count; i += n) {
        const int64_t *at = (const int64_t *)index->data + i;
        n = is_line(&b) && index->count - i > PIECE ? PIECE : index->count - i;
        if (is_line(&b)) st = check_indices("scatter", &b, at, n, err);
        if (!st) scatter_rows(call, &b, n, at, (const char *)from->data + (ptrdiff_t)(i * size) * step, step, *out);
    }
    return st;
}

cbx_status cbx_array_put(cbx_ctx *ctx, cbx_array *to, const cbx_array *where, const cbx_array *value, cbx_err *err)
{
    CBX_OWNED(cbx_array) *places = NULL, *dense = NULL;
    const bool mask = where && where->desc.dtype == CBX_BOOL, one = value && value->count == 1;
    const ptrdiff_t size = to ? (ptrdiff_t)cbx__dtype_size(to->desc.dtype) : 0;
    char element[16];
    blocks b = { .outer = 1, .inner = 1 };
    cbx__loop convert;
    cbx_status st = CBX_OK;

    if (!to || !where || !value || (to->flags | where->flags | value->flags) & (CBX__FAILED | CBX__ABSTRACT) ||
        !(to->flags & CBX__CONTIGUOUS))
        return cbx_fail(err, CBX_EINVAL, "an assignment needs arrays with data, and row-major elements to write");
    if ((to->flags | where->flags | value->flags) & CBX__ELSEWHERE)
        return cbx__array_here("array_put",
                               to->flags & CBX__ELSEWHERE      ? to
                               : where->flags & CBX__ELSEWHERE ? where
                                                               : value,
                               err);
    if (!mask && where->desc.dtype != CBX_I64)
        return cbx_fail(err, CBX_EDTYPE, "an assignment takes bool or int64 indices, not %s",
                        cbx_dtype_name(where->desc.dtype));
    if (mask ? !one || where->desc.ndim != to->desc.ndim ||
                   memcmp(where->desc.shape, to->desc.shape, (size_t)to->desc.ndim * sizeof(size_t)) != 0
             : to->desc.ndim != 1 || (!one && value->count != where->count))
        return cbx_fail(err, CBX_ESHAPE, "%s cannot be assigned to %s by that mask or index",
                        CBX__DESC_TEXT(&value->desc), CBX__DESC_TEXT(&to->desc));
    convert = cbx__move_loop(value->desc.dtype, to->desc.dtype);
    if (!convert)
        return cbx_fail(err, CBX_EDTYPE, "%s cannot be assigned to %s: use real or imag",
                        cbx_dtype_name(value->desc.dtype), cbx_dtype_name(to->desc.dtype));
    if (one) cbx__move(convert, 1, element, 0, value->data, 0);
    st = cbx__array_dense(ctx, where, &places, err);
    if (!st && mask) {
        char *const p[] = { to->data, places->data, element, to->data };
        const ptrdiff_t s[] = { size, 1, 0, size };
        if (to->count) cbx__loops_get()->binary(CBX_PRIM_SELECT, to->desc.dtype)(to->count, p, s);
    } else if (!st) {
        const int64_t *at = places->data;
        cbx__strided values = { .data = element };
        ptrdiff_t step = 0;
        b.length = to->desc.shape[0];
        st = check_indices("assignment", &b, at, where->count, err);
        if (!st && !one) {
            st = cbx__array_dense(ctx, value, &dense, err);
            if (!st) values.data = dense->data;
            step = (ptrdiff_t)cbx__dtype_size(value->desc.dtype);
        }
        if (!st && (one || value->desc.dtype == to->desc.dtype) && size <= 8)
            find_scatter(CBX_SCATTER_SET, to->desc.dtype)(where->count, 1, to->data, at, b.wrap, values.data, !one);
        else
            for (size_t i = 0; !st && i < where->count; i++, values.data += step)
                cbx__move(one ? cbx__copy_loop(to->desc.dtype) : convert, 1,
                          (char *)to->data + (ptrdiff_t)place(at[i], b.wrap) * size, 0, values.data, 0);
    }
    return st;
}

/* Row-major places of n truth values to `at`; returns how many are true.  Each is written, the next
 * one over a false one. */
static size_t true_places(const bool *hit, size_t n, size_t first, size_t *at)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++) {
        at[found] = first + i;
        found += hit[i];
    }
    return found;
}

/* Row-major places of true elements, a row of the result for each axis; columns beyond them hold
 * the fill. */
CBX__RUN(nonzero)
{
    enum { RUN = 512 };
    const cbx_array *x = call->in[0];
    size_t columns = call->results->shape[1], found = 0, at[RUN];
    cbx__strided v = cbx__ref_strided(x);
    bool buf[RUN];
    int64_t *to = (*out)->data;
    cbx__stream s;

    cbx__stream_init(&s, x->desc.ndim, x->desc.shape, v.strides, x->desc.dtype, CBX_BOOL);
    cbx__stream_start(&s, x->data);
    for (size_t i = 0; i < x->count && found < columns; i += RUN) {
        size_t n = x->count - i < RUN ? x->count - i : RUN, hits;
        const bool *hit = cbx__stream_next(&s, n, buf);
        if (x->desc.ndim == 1 && columns - found >= RUN) { /* space for all that is written */
            found += true_places(hit, n, i, (size_t *)to + found);
            continue;
        }
        hits = true_places(hit, n, i, at);
        if (hits > columns - found) hits = columns - found;
        for (int k = x->desc.ndim - 1; k >= 0; k--)
            for (size_t h = 0; h < hits; h++) {
                size_t rest = k ? at[h] / x->desc.shape[k] : 0;
                to[(size_t)k * columns + found + h] = (int64_t)(at[h] - (k ? rest * x->desc.shape[k] : 0));
                at[h] = rest;
            }
        found += hits;
    }
    for (int k = 0; k < x->desc.ndim; k++)
        for (size_t i = found; i < columns; i++) to[(size_t)k * columns + i] = call->attrs->value.v.i;
    return CBX_OK;
}
