/*
 * Sorting and searching by keys: every real element becomes a 64-bit number that sorts as it does, with NaN above all
 * and -0 equal to 0, so that one stable radix sort serves all dtypes.
 * Scratch: 32 bytes for each element of a lane.
 */
#include <string.h>

#include "calibrax/array/reference/reference.h"

#define INSERTION_MOST 48

typedef struct pair {
    uint64_t key;
    size_t at;
} pair;

static uint64_t key_f64(double x)
{
    uint64_t bits;

    if (x != x) return UINT64_MAX;
    x += 0.0; /* -0 becomes 0 */
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

void cbx__ref_keys(cbx_dtype wide, size_t n, const void *values, uint64_t *keys)
{
    if (wide == CBX_F64)
        for (size_t i = 0; i < n; i++) keys[i] = key_f64(((const double *)values)[i]);
    else if (wide == CBX_I64)
        for (size_t i = 0; i < n; i++) keys[i] = ((const uint64_t *)values)[i] ^ (uint64_t)1 << 63;
    else
        memmove(keys, values, n * sizeof *keys);
}

static void sort_few(pair *a, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        pair x = a[i];
        size_t k = i;
        for (; k > 0 && a[k - 1].key > x.key; k--) a[k] = a[k - 1];
        a[k] = x;
    }
}

/* Byte by byte from the lowest; bytes that all keys share are passed over. */
static void sort_pairs(pair *a, pair *work, size_t n)
{
    size_t first[8][256] = { { 0 } };
    pair *from = a, *to = work;

    if (n <= INSERTION_MOST) {
        sort_few(a, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        for (int b = 0; b < 8; b++) first[b][a[i].key >> 8 * b & 255]++;
    for (int b = 0; b < 8; b++) {
        size_t at = 0;
        pair *swap = from;
        if (first[b][a[0].key >> 8 * b & 255] == n) continue;
        for (int v = 0; v < 256; v++) {
            size_t count = first[b][v];
            first[b][v] = at;
            at += count;
        }
        for (size_t i = 0; i < n; i++) to[first[b][from[i].key >> 8 * b & 255]++] = from[i];
        from = to;
        to = swap;
    }
    if (from != a) memcpy(a, from, n * sizeof *a);
}

/* One lane: n elements from src, step bytes apart, to dst. */
static void sort_lane(const cbx_call *call, size_t n, const char *src, ptrdiff_t step, char *dst, ptrdiff_t dst_step,
                      pair *a)
{
    cbx_dtype t = cbx_array_dtype(call->in[0]), wide = cbx__ref_wide(t);
    size_t size = cbx_dtype_size(t);
    cbx__loop load = t == wide ? cbx__ref_copy(t) : cbx__ref_cast(t, wide);
    uint64_t *keys = (uint64_t *)(a + n); /* in the second half, which the sort overwrites later */

    load(n, (char *const[]){ (char *)keys, (char *)(uintptr_t)src }, (const ptrdiff_t[]){ 8, step });
    cbx__ref_keys(wide, n, keys, keys);
    for (size_t i = 0; i < n; i++) a[i] = (pair){ call->attrs->mode ? ~keys[i] : keys[i], i };
    sort_pairs(a, a + n, n);
    for (size_t i = 0; i < n; i++, dst += dst_step) {
        if (call->prim == CBX_PRIM_SORT)
            memcpy(dst, src + (ptrdiff_t)a[i].at * step, size);
        else
            *(int64_t *)dst = (int64_t)a[i].at;
    }
}

/* Moves both places to the next lane. */
static void next_lane(const cbx_array *x, int axis, const cbx__strided *from, const cbx__strided *to, size_t *index,
                      const char **src, char **dst)
{
    for (int i = x->desc.ndim - 1; i >= 0; i--) {
        if (i == axis) continue;
        *src += from->strides[i];
        *dst += to->strides[i];
        if (++index[i] < x->desc.shape[i]) return;
        *src -= from->strides[i] * (ptrdiff_t)x->desc.shape[i];
        *dst -= to->strides[i] * (ptrdiff_t)x->desc.shape[i];
        index[i] = 0;
    }
}

cbx_status cbx__ref_run_sort(const cbx_call *call, cbx_array **out, cbx_err *err)
{
    const cbx_array *x = call->in[0];
    int axis = call->attrs->axis;
    size_t n = x->desc.shape[axis], index[CBX_MAX_RANK] = { 0 };
    cbx__strided from = cbx__ref_strided(x), to;
    const char *src = from.data;
    cbx_block scratch = { 0 };
    char *dst;
    cbx_status st = CBX_OK;

    if (n > SIZE_MAX / (2 * sizeof(pair)))
        return cbx_fail(err, CBX_EOVERFLOW, "'sort' of %zu elements needs more memory than there can be", n);
    if (x->count) st = cbx_pool_get(cbx_ctx_pool(call->ctx), 2 * n * sizeof(pair), &scratch, err);
    if (!st) st = cbx_array_create(call->ctx, call->result, out, err);
    if (st || x->count == 0) goto done;
    to = cbx__ref_strided(*out);
    dst = to.data;
    for (size_t lane = 0; lane < x->count / n; lane++) {
        sort_lane(call, n, src, from.strides[axis], dst, to.strides[axis], scratch.data);
        next_lane(x, axis, &from, &to, index, &src, &dst);
    }
done:
    cbx_pool_put(cbx_ctx_pool(call->ctx), scratch);
    return st;
}

/* Number of keys below x (left), or not above it (right). */
static size_t bisect(const uint64_t *keys, size_t n, uint64_t x, bool right)
{
    size_t low = 0;

    while (n > 0) {
        size_t half = n / 2;
        bool up = right ? keys[low + half] <= x : keys[low + half] < x;
        if (up) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low;
}

cbx_status cbx__ref_run_searchsorted(const cbx_call *call, cbx_array **out, cbx_err *err)
{
    const cbx_array *edges = call->in[0], *x = call->in[1];
    cbx_dtype t = edges->desc.dtype, wide = cbx__ref_wide(t);
    cbx_block scratch = { 0 };
    cbx__strided e = cbx__ref_strided(edges), v = cbx__ref_strided(x);
    cbx__stream s;
    int64_t *to;
    cbx_status st = cbx_pool_get(cbx_ctx_pool(call->ctx), (edges->count + 1) * sizeof(uint64_t), &scratch, err);

    if (!st) st = cbx_array_create(call->ctx, call->result, out, err);
    if (st) goto done;
    cbx__stream_init(&s, 1, edges->desc.shape, e.strides, t, wide);
    cbx__stream_start(&s, edges->data);
    if (edges->count) cbx__ref_keys(wide, edges->count, cbx__stream_next(&s, edges->count, scratch.data), scratch.data);
    cbx__stream_init(&s, x->desc.ndim, x->desc.shape, v.strides, t, wide);
    cbx__stream_start(&s, x->data);
    to = (*out)->data;
    for (size_t i = 0; i < x->count; i++) {
        uint64_t key;
        cbx__ref_keys(wide, 1, cbx__stream_next(&s, 1, &key), &key);
        to[i] = (int64_t)bisect(scratch.data, edges->count, key, call->attrs->mode != 0);
    }
done:
    cbx_pool_put(cbx_ctx_pool(call->ctx), scratch);
    return st;
}
