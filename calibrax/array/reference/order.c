/*
 * Sorting and searching by keys: every real element becomes a 64-bit number that sorts as it does, with NaN above all, so that one
 * sort serves all dtypes; where elements have 32 bits and are sorted, so have their keys.  Values are sorted and selected by kernels/sort.h, where equal keys are one number; places by a stable
 * radix sort of (key, place), where -0 equals 0.
 * Scratch for each element of a lane: values 8 bytes (16 without AVX-512), places 32.
 */
#include <string.h>

#include "calibrax/array/kernels/search.h"
#include "calibrax/array/kernels/sort.h"
#include "calibrax/array/reference/reference.h"

#define INSERTION_MAX 48
#define RUN           512 /* keys that are searched for at a time */

typedef struct pair {
    uint64_t key;
    size_t at;
} pair;

/* The key of -0 is the one below that of 0: here they are equal. */
void cbx__ref_keys(cbx_dtype wide, size_t n, const void *values, uint64_t *keys)
{
    const uint64_t minus_zero = ((uint64_t)1 << 63) - 1;

    cbx__sort_get(cbx_isa_best())->keys(wide, false, n, values, keys);
    if (wide == CBX_F64)
        for (size_t i = 0; i < n; i++) keys[i] += keys[i] == minus_zero;
}

static void sort_small(pair *a, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        pair x = a[i];
        size_t k = i;
        for (; k > 0 && a[k - 1].key > x.key; k--) a[k] = a[k - 1];
        a[k] = x;
    }
}

/* Byte by byte from the lowest; bytes that all keys share are skipped. */
static void sort_pairs(pair *a, pair *work, size_t n)
{
    size_t first[8][256] = { { 0 } };
    pair *from = a, *to = work;

    if (n <= INSERTION_MAX) {
        sort_small(a, n);
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

/* A lane of n elements, step bytes apart. */
typedef struct lane {
    size_t n;
    const char *src;
    char *dst;
    ptrdiff_t step, dst_step;
} lane;

/* Their places in order; a: 2 n pairs of scratch. */
static void argsort_lane(const cbx_call *call, const lane *l, pair *a)
{
    cbx_dtype t = cbx_array_dtype(call->in[0]), wide = cbx__ref_wide(t);
    cbx__loop load = t == wide ? cbx__copy_loop(t) : cbx__loops_get()->cast(t, wide);
    uint64_t *keys = (uint64_t *)(a + l->n); /* in the second half, which the sort overwrites later */

    load(l->n, (char *const[]){ (char *)keys, (char *)(uintptr_t)l->src }, (const ptrdiff_t[]){ 8, l->step });
    cbx__ref_keys(wide, l->n, keys, keys);
    for (size_t i = 0; i < l->n; i++) a[i] = (pair){ call->attrs->mode ? ~keys[i] : keys[i], i };
    sort_pairs(a, a + l->n, l->n);
    for (size_t i = 0; i < l->n; i++) memcpy(l->dst + (ptrdiff_t)i * l->dst_step, &(int64_t){ (int64_t)a[i].at }, 8);
}

/* Keys of a lane, from its elements as they lie or by way of the wide dtype. */
static void lane_keys(const cbx__sort *k, const cbx_call *call, const lane *l, uint64_t *keys)
{
    cbx_dtype t = cbx_array_dtype(call->in[0]), wide = cbx__ref_wide(t);
    cbx__loop load = t == wide ? cbx__copy_loop(t) : cbx__loops_get()->cast(t, wide);
    const void *values = l->src;

    if (t != wide || l->step != 8) {
        load(l->n, (char *const[]){ (char *)keys, (char *)(uintptr_t)l->src }, (const ptrdiff_t[]){ 8, l->step });
        values = keys;
    }
    k->keys(wide, call->prim == CBX_PRIM_SORT && call->attrs->mode, l->n, values, keys);
}

static void store_lane(const lane *l, cbx_dtype t, size_t n, const uint64_t *values)
{
    cbx_dtype wide = cbx__ref_wide(t);
    cbx__loop store = t == wide ? cbx__copy_loop(t) : cbx__loops_get()->cast(wide, t);

    store(n, (char *const[]){ l->dst, (char *)(uintptr_t)values }, (const ptrdiff_t[]){ l->dst_step, 8 });
}

/* Elements in order; in the result itself if they lie there as keys would. */
static void sort_lane(const cbx__sort *k, const cbx_call *call, const lane *l, uint64_t *scratch)
{
    cbx_dtype t = call->results->dtype, wide = cbx__ref_wide(t);
    bool there = t == wide && l->dst_step == 8;
    uint64_t *keys = there ? (uint64_t *)l->dst : scratch;

    lane_keys(k, call, l, keys);
    k->sort(wide, call->attrs->mode, l->n, keys, scratch + (there ? 0 : l->n));
    if (!there) store_lane(l, t, l->n, keys);
}

/* Whether elements have keys of 32 bits. */
static bool has_narrow_keys(cbx_dtype t) { return t == CBX_F32 || t == CBX_I32 || t == CBX_U32; }

static void sort_narrow_lane(const cbx__sort *k, const cbx_call *call, const lane *l, uint32_t *scratch)
{
    const cbx_dtype t = call->results->dtype;
    const ptrdiff_t size = sizeof *scratch;
    const bool there = l->dst_step == size;
    uint32_t *keys = there ? (uint32_t *)(void *)l->dst : scratch;
    const void *values = l->src;

    if (l->step != size) {
        cbx__copy_loop(t)(l->n, (char *const[]){ (char *)keys, (char *)(uintptr_t)l->src },
                          (const ptrdiff_t[]){ size, l->step });
        values = keys;
    }
    k->keys_32(t, call->attrs->mode, l->n, values, keys);
    k->sort_32(t, call->attrs->mode, l->n, keys, scratch + (there ? 0 : l->n));
    if (!there)
        cbx__copy_loop(t)(l->n, (char *const[]){ l->dst, (char *)keys }, (const ptrdiff_t[]){ l->dst_step, size });
}

/* The elements of some ranks. */
static void rank_lane(const cbx__sort *k, const cbx_call *call, const lane *l, uint64_t *keys)
{
    size_t m = (size_t)call->attrs->ndim;
    uint64_t found[CBX_MAX_RANK];

    lane_keys(k, call, l, keys);
    k->select(keys, l->n, m, call->attrs->shape, found, keys + l->n);
    k->values(cbx__ref_wide(call->results->dtype), false, m, found);
    store_lane(l, call->results->dtype, m, found);
}

cbx_status cbx__ref_run_sort(const cbx_call *call, cbx_array **out, cbx_err *err)
{
    const cbx_array *x = call->in[0];
    const cbx__sort *k = cbx__sort_get(cbx_isa_best());
    int axis = call->attrs->axis;
    size_t n = x->desc.shape[axis];
    size_t words = call->prim == CBX_PRIM_ARGSORT ? 4 * n : n + k->work(n);
    cbx__strided op[2];
    cbx__places at;
    cbx_block scratch = { 0 };
    cbx_status st = CBX_OK;

    if (n > SIZE_MAX / (2 * sizeof(pair)))
        return cbx_fail(err, CBX_EOVERFLOW, "'sort' of %zu elements needs more memory than there can be", n);
    if (x->count) st = cbx_pool_get(cbx_ctx_pool(call->ctx), words * sizeof(uint64_t), &scratch, err);
    if (!st) st = cbx_array_create(call->ctx, call->results, out, err);
    if (st || x->count == 0) goto done;
    op[0] = cbx__ref_strided(x);
    op[1] = cbx__ref_strided(*out);
    cbx__places_init(&at, x->desc.ndim, x->desc.shape, axis, 2, op);
    for (size_t i = 0; i < x->count / n; i++, cbx__places_next(&at)) {
        const lane l = { n, at.op[0].data, at.op[1].data, op[0].strides[axis], op[1].strides[axis] };
        if (call->prim == CBX_PRIM_ARGSORT)
            argsort_lane(call, &l, scratch.data);
        else if (call->prim == CBX_PRIM_SORT && has_narrow_keys(x->desc.dtype))
            sort_narrow_lane(k, call, &l, scratch.data);
        else if (call->prim == CBX_PRIM_SORT)
            sort_lane(k, call, &l, scratch.data);
        else
            rank_lane(k, call, &l, scratch.data);
    }
done:
    cbx_pool_put(cbx_ctx_pool(call->ctx), scratch);
    return st;
}

cbx_status cbx__ref_run_searchsorted(const cbx_call *call, cbx_array **out, cbx_err *err)
{
    const cbx_array *edges = call->in[0], *x = call->in[1];
    cbx_dtype t = edges->desc.dtype, wide = cbx__ref_wide(t);
    cbx_block scratch = { 0 };
    cbx__strided e = cbx__ref_strided(edges), v = cbx__ref_strided(x);
    cbx__search search = cbx__search_get(cbx_isa_best());
    cbx__stream s;
    int64_t *to;
    cbx_status st = cbx_pool_get(cbx_ctx_pool(call->ctx), (edges->count + 1) * sizeof(uint64_t), &scratch, err);

    if (!st) st = cbx_array_create(call->ctx, call->results, out, err);
    if (st) goto done;
    cbx__stream_init(&s, 1, edges->desc.shape, e.strides, t, wide);
    cbx__stream_start(&s, edges->data);
    if (edges->count) cbx__ref_keys(wide, edges->count, cbx__stream_next(&s, edges->count, scratch.data), scratch.data);
    cbx__stream_init(&s, x->desc.ndim, x->desc.shape, v.strides, t, wide);
    cbx__stream_start(&s, x->data);
    to = (*out)->data;
    for (size_t i = 0; i < x->count; i += RUN) {
        uint64_t keys[RUN];
        size_t n = x->count - i < RUN ? x->count - i : RUN;
        cbx__ref_keys(wide, n, cbx__stream_next(&s, n, keys), keys);
        search(scratch.data, edges->count, keys, n, call->attrs->mode != 0, to + i);
    }
done:
    cbx_pool_put(cbx_ctx_pool(call->ctx), scratch);
    return st;
}
