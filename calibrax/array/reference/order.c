/*
 * Sorting and searching by keys: every real element becomes a 64-bit number that sorts as it does,
 * with NaN above all, so that one sort (kernels/sort.h) serves all dtypes; where elements of up to
 * 32 bits are sorted, keys have 32.  Among values -0 is below 0, places are those of a stable sort
 * in which they are equal.  Scratch for each element of a lane: values 8 bytes, places 16, without
 * AVX-512 8 more.
 */
#include <string.h>

#include "calibrax/array/kernels/search.h"
#include "calibrax/array/kernels/sort.h"
#include "calibrax/array/reference/reference.h"

#define RUN 512 /* keys that are searched for at a time */

void cbx__ref_keys(cbx_dtype wide, size_t n, const void *values, uint64_t *keys)
{
    cbx__sort_get(cbx_isa_best())->keys(wide, false, true, n, values, keys);
}

/* A lane of n elements, step bytes apart. */
typedef struct lane {
    size_t n;
    const char *src;
    char *dst;
    ptrdiff_t step, dst_step;
} lane;

/* Keys of a lane, from its elements as they lie or by way of the wide dtype. */
static void lane_keys(const cbx__sort *k, const cbx_call *call, const lane *l, uint64_t *keys)
{
    cbx_dtype t = cbx_array_dtype(call->in[0]), wide = cbx__ref_wide(t);
    cbx__loop load = cbx__move_loop(t, wide);
    const void *values = l->src;

    if (t != wide || l->step != 8) {
        cbx__move(load, l->n, keys, 8, l->src, l->step);
        values = keys;
    }
    k->keys(wide, call->prim != CBX_PRIM_RANKED && call->attrs->mode, call->prim == CBX_PRIM_ARGSORT, l->n, values,
            keys);
}

static void store_lane(const lane *l, cbx_dtype t, size_t n, const uint64_t *values)
{
    cbx_dtype wide = cbx__ref_wide(t);
    cbx__loop store = cbx__move_loop(wide, t);

    cbx__move(store, n, l->dst, l->dst_step, values, 8);
}

static void argsort_lane(const cbx__sort *k, const cbx_call *call, const lane *l, uint64_t *keys)
{
    const bool there = l->dst_step == 8;
    uint64_t *at = there ? (uint64_t *)(void *)l->dst : keys + l->n;

    lane_keys(k, call, l, keys);
    k->places(keys, l->n, at, keys + 2 * l->n);
    if (!there) store_lane(l, CBX_I64, l->n, at);
}

/* The dtype that elements are sorted in: of 32 bits if they have no more. */
static cbx_dtype sorted_dtype(cbx_dtype t)
{
    if (t == CBX_F32 || cbx_dtype_size(t) > sizeof(uint32_t)) return t;
    return cbx__ref_wide(t) == CBX_I64 ? CBX_I32 : CBX_U32;
}

/* Elements in order; in the result itself if they lie there as keys would. */
static void sort_lane(const cbx__sort *k, const cbx_call *call, const lane *l, void *scratch)
{
    const cbx_dtype t = call->results->dtype, as = sorted_dtype(t);
    const bool descending = call->attrs->mode;
    const ptrdiff_t size = (ptrdiff_t)cbx_dtype_size(as);
    const bool there = t == as && l->dst_step == size;
    void *keys = there ? l->dst : scratch, *work = there ? scratch : (char *)scratch + l->n * (size_t)size;
    const void *values = l->src;

    if (t != as || l->step != size) {
        cbx__move(cbx__move_loop(t, as), l->n, keys, size, l->src, l->step);
        values = keys;
    }
    if (size == (ptrdiff_t)sizeof(uint32_t)) {
        k->keys_32(as, descending, false, l->n, values, keys);
        k->sort_32(as, descending, l->n, keys, work);
    } else {
        k->keys(as, descending, false, l->n, values, keys);
        k->sort(as, descending, l->n, keys, work);
    }
    if (!there) cbx__move(cbx__move_loop(as, t), l->n, l->dst, l->dst_step, keys, size);
}

/* ---- elements of one or two bytes, counted ---- */

static size_t values_of(cbx_dtype t) { return (size_t)1 << 8 * cbx_dtype_size(t); }

/* Counts and results are walked from the lowest value on; of so few elements sorting is faster. */
static bool is_counted(cbx_dtype t, size_t n)
{
    return cbx_dtype_size(t) <= sizeof(uint16_t) && n >= values_of(t) / (cbx_dtype_size(t) == 1 ? 4 : 2) &&
           n <= UINT32_MAX;
}

/* Value number v in rising order, as the bits of an element. */
#define ELEMENT(T, v, sign) (T)((v) ^ (sign))

#define COUNTED(T)                                                                                                     \
    static void count_##T(const lane *l, bool descending, unsigned sign, uint32_t *counts)                             \
    {                                                                                                                  \
        enum { VALUES = 1 << 8 * sizeof(T), ONCE = 16 };                                                               \
        uint32_t(*of)[VALUES] = (uint32_t(*)[VALUES])(void *)counts; /* two: neighbours may be equal */                \
        const char *src = l->src;                                                                                      \
        char *dst = l->dst;                                                                                            \
        const bool there = l->dst_step == sizeof(T);                                                                   \
        memset(counts, 0, 2 * sizeof *of);                                                                             \
        for (size_t i = 0; i < l->n; i++, src += l->step)                                                              \
            of[i % 2][ELEMENT(T, *(const T *)(const void *)src, sign)]++;                                              \
        for (size_t k = 0, left = l->n; left > 0; k++) {                                                               \
            const size_t v = descending ? VALUES - 1 - k : k;                                                          \
            const T element = ELEMENT(T, v, sign);                                                                     \
            size_t n = (size_t)of[0][v] + of[1][v];                                                                    \
            left -= n;                                                                                                 \
            if (there && n <= ONCE && left >= ONCE) { /* what is too many is written again */                          \
                for (int i = 0; i < ONCE; i++) ((T *)(void *)dst)[i] = element;                                        \
                dst += n * sizeof(T);                                                                                  \
            } else if (there) {                                                                                        \
                for (size_t i = 0; i < n; i++) ((T *)(void *)dst)[i] = element;                                        \
                dst += n * sizeof(T);                                                                                  \
            } else {                                                                                                   \
                for (; n > 0; n--, dst += l->dst_step) *(T *)(void *)dst = element;                                    \
            }                                                                                                          \
        }                                                                                                              \
    }
COUNTED(uint8_t)
COUNTED(uint16_t)

/* counts: two for each value */
static void count_lane(const cbx_call *call, const lane *l, uint32_t *counts)
{
    const cbx_dtype t = call->results->dtype;
    const bool descending = call->attrs->mode != 0;
    const unsigned sign = cbx__ref_wide(t) == CBX_I64 ? (unsigned)values_of(t) / 2 : 0;

    if (cbx_dtype_size(t) == 1)
        count_uint8_t(l, descending, sign, counts);
    else
        count_uint16_t(l, descending, sign, counts);
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

CBX__RUN(sort)
{
    const cbx_array *x = call->in[0];
    const cbx__sort *k = cbx__sort_get(cbx_isa_best());
    int axis = call->attrs->axis;
    size_t n = x->desc.shape[axis];
    const bool counted = call->prim == CBX_PRIM_SORT && is_counted(x->desc.dtype, n);
    const size_t words = counted ? values_of(x->desc.dtype) /* two counts of 4 bytes */
                                 : (call->prim == CBX_PRIM_ARGSORT ? 2 : 1) * n + k->work(n);
    cbx__strided op[2];
    cbx__places at;
    CBX_SCOPED(cbx__scratch, scratch, call->ctx);
    cbx_status st;

    if (n > SIZE_MAX / (3 * sizeof(uint64_t)))
        return cbx_fail(err, CBX_EOVERFLOW, "'sort' of %zu elements needs more memory than there can be", n);
    if (x->count == 0) return CBX_OK;
    st = cbx__scratch_get(&scratch, words * sizeof(uint64_t), err);
    if (st) return st;
    op[0] = cbx__ref_strided(x);
    op[1] = cbx__ref_strided(*out);
    cbx__places_init(&at, x->desc.ndim, x->desc.shape, axis, 2, op);
    for (size_t i = 0; i < x->count / n; i++, cbx__places_next(&at)) {
        const lane l = { n, at.op[0].data, at.op[1].data, op[0].strides[axis], op[1].strides[axis] };
        if (call->prim == CBX_PRIM_ARGSORT)
            argsort_lane(k, call, &l, scratch.data);
        else if (counted)
            count_lane(call, &l, scratch.data);
        else if (call->prim == CBX_PRIM_SORT)
            sort_lane(k, call, &l, scratch.data);
        else
            rank_lane(k, call, &l, scratch.data);
    }
    return CBX_OK;
}

CBX__RUN(searchsorted)
{
    const cbx_array *edges = call->in[0], *x = call->in[1];
    cbx_dtype t = edges->desc.dtype, wide = cbx__ref_wide(t);
    cbx__strided e = cbx__ref_strided(edges), v = cbx__ref_strided(x);
    cbx__search search = cbx__search_get(cbx_isa_best());
    cbx__stream s;
    int64_t *to = (*out)->data;
    CBX_SCOPED(cbx__scratch, scratch, call->ctx);
    const cbx_status st = cbx__scratch_get(&scratch, (edges->count + 1) * sizeof(uint64_t), err);

    if (st) return st;
    cbx__stream_init(&s, 1, edges->desc.shape, e.strides, t, wide);
    cbx__stream_start(&s, edges->data);
    if (edges->count) cbx__ref_keys(wide, edges->count, cbx__stream_next(&s, edges->count, scratch.data), scratch.data);
    cbx__stream_init(&s, x->desc.ndim, x->desc.shape, v.strides, t, wide);
    cbx__stream_start(&s, x->data);
    for (size_t i = 0; i < x->count; i += RUN) {
        uint64_t keys[RUN];
        size_t n = x->count - i < RUN ? x->count - i : RUN;
        cbx__ref_keys(wide, n, cbx__stream_next(&s, n, keys), keys);
        search(scratch.data, edges->count, keys, n, call->attrs->mode != 0, to + i);
    }
    return CBX_OK;
}
