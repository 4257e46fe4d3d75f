/*
 * Arrays: a description, strides, and a reference-counted claim on the block of elements.
 *
 * The handle carries a copy of the allocator and a reference to the pool, so that it may outlive
 * its context.  Few elements lie behind their handle (handle.c), more in a block of the pool, not
 * in fresh pages: first touch of a page costs more than filling it.
 */
#include "calibrax/array/array.h"

#include <stdio.h>
#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/base/idioms.h"

/*
 * In read-only memory, so that a failure needs no allocation: a reference to it is never counted.
 */
static const struct cbx_array failed_handle = { .flags = CBX__FAILED | CBX__ABSTRACT, .desc = { .dtype = CBX_F64 } };

cbx_array *cbx__array_failed(void) { return (cbx_array *)(uintptr_t)&failed_handle; }

/* Zero lengths do not excuse the other axes: strides are products of them. */
cbx_status cbx_array_desc_count(const cbx_array_desc *d, size_t *count, cbx_err *err)
{
    size_t n = 1, spread;
    bool empty = false;

    if (!d) return cbx_fail(err, CBX_EINVAL, "the description of an array is NULL");
    if (d->ndim < 0 || d->ndim > CBX_MAX_RANK)
        return cbx_fail(err, CBX_EINVAL, "rank %d is outside 0..%d", d->ndim, CBX_MAX_RANK);
    if ((unsigned)d->dtype >= CBX_DTYPE_COUNT)
        return cbx_fail(err, CBX_EINVAL, "no dtype has the number %d", (int)d->dtype);
    for (int i = 0; i < d->ndim; i++) {
        if (d->shape[i] == 0)
            empty = true;
        else if (__builtin_mul_overflow(n, d->shape[i], &n))
            goto overflow;
    }
    if (__builtin_mul_overflow(n, cbx__dtype_size(d->dtype), &spread) || spread > PTRDIFF_MAX) goto overflow;
    *count = empty ? 0 : n;
    return CBX_OK;
overflow:
    return cbx_fail(err, CBX_EOVERFLOW, "an array of %s has more bytes than memory can address", CBX__DESC_TEXT(d));
}

bool cbx_array_desc_equal(const cbx_array_desc *a, const cbx_array_desc *b)
{
    if (a->dtype != b->dtype || a->ndim != b->ndim) return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->shape[i] != b->shape[i]) return false;
    return true;
}

const char *cbx_array_desc_text(const cbx_array_desc *d, char *buf, size_t size)
{
    size_t at = 0;
    int n;

    if (size == 0) return buf;
    n = snprintf(buf, size, "%s (", cbx_dtype_name(d->dtype));
    for (int i = 0; n >= 0 && i <= d->ndim; i++) {
        at += (size_t)n;
        if (at >= size) break;
        if (i == d->ndim)
            n = snprintf(buf + at, size - at, "%s", d->ndim == 1 ? ",)" : ")");
        else
            n = snprintf(buf + at, size - at, "%s%zu", i ? ", " : "", d->shape[i]);
    }
    return buf;
}

void cbx__array_dense_strides(const cbx_array_desc *d, bool fortran, ptrdiff_t strides[CBX_MAX_RANK])
{
    ptrdiff_t step = 1;

    for (int i = 0; i < d->ndim; i++) {
        int axis = fortran ? i : d->ndim - 1 - i;
        strides[axis] = step;
        step *= d->shape[axis] ? (ptrdiff_t)d->shape[axis] : 1;
    }
}

/* Axes of length 1 are never stepped along, so their stride does not matter. */
static bool is_dense(const cbx_array_desc *d, const ptrdiff_t *strides, size_t count)
{
    ptrdiff_t step = 1;

    if (count == 0) return true;
    for (int i = d->ndim - 1; i >= 0; i--) {
        if (d->shape[i] != 1 && strides[i] != step) return false;
        step *= (ptrdiff_t)d->shape[i];
    }
    return true;
}

/* The handle without its elements; strides NULL: row-major. */
static cbx_status make_handle(cbx_ctx *ctx, const cbx_array_desc *desc, const ptrdiff_t *strides, bool owns,
                              cbx_array **out, cbx_err *err)
{
    size_t count = 0, bytes;
    cbx_array *a;
    bool inlined;
    cbx_status st = cbx_array_desc_count(desc, &count, err);

    if (st) return st;
    bytes = count * cbx__dtype_size(desc->dtype);
    inlined = owns && bytes <= CBX__INLINE_BYTES;
    a = cbx__handle_get(ctx, inlined, bytes);
    if (!a) return cbx_fail(err, CBX_ENOMEM, "no memory for the handle of an array");
    atomic_init(&a->refs, 1);
    a->desc.dtype = desc->dtype;
    a->desc.ndim = desc->ndim;
    for (int i = 0; i < desc->ndim; i++) a->desc.shape[i] = desc->shape[i];
    a->count = count;
    if (strides) {
        for (int i = 0; i < desc->ndim; i++) a->strides[i] = strides[i];
        if (is_dense(&a->desc, a->strides, count)) a->flags |= CBX__CONTIGUOUS;
    } else {
        cbx__array_dense_strides(desc, false, a->strides);
        a->flags |= CBX__CONTIGUOUS;
    }
    *out = a;
    return CBX_OK;
}

cbx_status cbx__array_create_order(cbx_ctx *ctx, const cbx_array_desc *desc, bool fortran, cbx_array **out,
                                   cbx_err *err)
{
    ptrdiff_t strides[CBX_MAX_RANK] = { 0 };
    cbx_array *a = NULL;
    cbx_status st;

    if (fortran) cbx__array_dense_strides(desc, true, strides);
    st = make_handle(ctx, desc, fortran ? strides : NULL, true, &a, err);
    if (st) return st;
    if (!a->data) { /* more than fits behind the handle */
        st = cbx_pool_get(cbx_ctx_pool(ctx), cbx_array_bytes(a), &a->block, err);
        if (st) {
            cbx_array_free(a);
            return st;
        }
        a->pool = cbx_pool_ref(cbx_ctx_pool(ctx));
        a->data = a->block.data;
    }
    *out = a;
    return CBX_OK;
}

cbx_status cbx_array_create(cbx_ctx *ctx, const cbx_array_desc *desc, cbx_array **out, cbx_err *err)
{
    return cbx__array_create_order(ctx, desc, false, out, err);
}

/* Of an element, or of a complex one's parts. */
static size_t alignment_of(cbx_dtype t)
{
    const size_t size = cbx_dtype_size(t);
    return t == CBX_C64 || t == CBX_C128 ? size / 2 : size;
}

bool cbx__is_aligned(const void *data, cbx_dtype t) { return (uintptr_t)data % alignment_of(t) == 0; }

cbx_status cbx__array_wrap(cbx_ctx *ctx, const cbx_array_desc *desc, const ptrdiff_t *strides, void *data,
                           void (*release)(void *user), void *user, cbx_array **out, cbx_err *err)
{
    cbx_array *a = NULL;
    cbx_status st = make_handle(ctx, desc, strides, false, &a, err);

    if (st) return st;
    if (!data && a->count) {
        cbx_array_free(a);
        return cbx_fail(err, CBX_EINVAL, "'data' of 'array_wrap' is NULL");
    }
    a->data = data;
    a->release = release;
    a->user = user;
    *out = a;
    return CBX_OK;
}

cbx_status cbx_array_wrap(cbx_ctx *ctx, const cbx_array_desc *desc, const ptrdiff_t *strides, void *data,
                          void (*release)(void *user), void *user, cbx_array **out, cbx_err *err)
{
    cbx_array *a = NULL;
    cbx_status st = cbx__array_wrap(ctx, desc, strides, data, NULL, NULL, &a, err);

    if (st) return st;
    if (a->count && !cbx__is_aligned(data, desc->dtype)) {
        cbx_array_free(a);
        return cbx_fail(err, CBX_EINVAL,
                        "'data' of 'array_wrap' starts %zu bytes past a multiple of %zu: copy it to a multiple",
                        (size_t)((uintptr_t)data % alignment_of(desc->dtype)), alignment_of(desc->dtype));
    }
    a->release = release;
    a->user = user;
    *out = a;
    return CBX_OK;
}

cbx_status cbx__array_view(cbx_ctx *ctx, const cbx_array *base, const cbx_array_desc *desc, const ptrdiff_t *strides,
                           ptrdiff_t offset, cbx_array **out, cbx_err *err)
{
    cbx_array *a = NULL;
    cbx_status st = make_handle(ctx, desc, strides, false, &a, err);

    if (st) return st;
    a->flags |= base->flags & (CBX__ABSTRACT | CBX__ELSEWHERE);
    a->device = base->device;
    a->memory = base->memory;
    a->trace = base->trace;
    a->value = UINT32_MAX; /* of no number there: such a view is recorded by primitives alone */
    a->data = a->count ? (char *)base->data + offset * (ptrdiff_t)cbx__dtype_size(desc->dtype) : base->data;
    a->base = cbx_array_ref(base->base ? base->base : base);
    *out = a;
    return CBX_OK;
}

cbx_status cbx_array_create_abstract(cbx_ctx *ctx, const cbx_array_desc *desc, cbx_array **out, cbx_err *err)
{
    cbx_array *a = NULL;
    cbx_status st = make_handle(ctx, desc, NULL, false, &a, err);

    if (st) return st;
    a->flags |= CBX__ABSTRACT;
    *out = a;
    return CBX_OK;
}

void cbx__array_set_device(cbx_array *a, cbx_device_id device)
{
    const bool elsewhere = device.kind != CBX_DEVICE_CPU || device.index != 0;

    a->device = device;
    a->flags = elsewhere ? a->flags | CBX__ELSEWHERE : a->flags & ~(unsigned)CBX__ELSEWHERE;
}

void cbx__array_set_memory(cbx_array *a, const cbx__memory *m)
{
    cbx__array_set_device(a, m->device);
    a->memory = m;
}

cbx_status cbx__array_here(const char *what, const cbx_array *a, cbx_err *err)
{
    char where[32];

    if (!(a->flags & CBX__ELSEWHERE)) return CBX_OK;
    return cbx_fail(err, CBX_EUNSUPPORTED, "'%s' of an array on %s: bring it to the CPU with 'to_device'", what,
                    cbx_device_id_text(a->device, where, sizeof where));
}

cbx_status cbx__array_present(const char *what, const cbx_array *a, cbx_err *err)
{
    if (!(a->flags & CBX__DONATED)) return CBX_OK;
    return cbx_fail(err, CBX_EINVAL,
                    "'%s' of an array of %s that was donated to a compiled function: copy it before, or do not "
                    "donate it",
                    what, CBX__DESC_TEXT(&a->desc));
}

cbx_status cbx_array_take(cbx_ctx *ctx, cbx_array *a, cbx_array **out, cbx_err *err)
{
    cbx_array *taken = NULL;
    cbx_status st;

    if (a->base || !cbx_array_is_exclusive(a))
        return cbx_fail(err, CBX_EINVAL, "the elements of an array that others may see cannot be taken");
    st = make_handle(ctx, &a->desc, a->strides, true, &taken, err);
    if (st) return st;
    if (a->flags & CBX__INLINE) {
        memcpy(taken->data, a->data, cbx_array_bytes(a));
    } else {
        taken->data = a->data;
        taken->pool = a->pool;
        taken->block = a->block;
    }
    a->data = NULL;
    a->pool = NULL;
    a->flags |= CBX__ABSTRACT | CBX__DONATED;
    *out = taken;
    return CBX_OK;
}

bool cbx_array_is_taken(const cbx_array *a) { return a->flags & CBX__DONATED; }

cbx_array *cbx_array_ref(const cbx_array *a)
{
    cbx_array *shared = (cbx_array *)a; /* the count is the one part of a shared handle that changes */

    if (shared && !(shared->flags & CBX__FAILED)) atomic_fetch_add_explicit(&shared->refs, 1, memory_order_relaxed);
    return shared;
}

const cbx_array_desc *cbx_array_get_desc(const cbx_array *a) { return &a->desc; }
cbx_dtype cbx_array_dtype(const cbx_array *a) { return a->desc.dtype; }
int cbx_array_ndim(const cbx_array *a) { return a->desc.ndim; }
size_t cbx_array_dim(const cbx_array *a, int i) { return i >= 0 && i < a->desc.ndim ? a->desc.shape[i] : 0; }
const ptrdiff_t *cbx_array_strides(const cbx_array *a) { return a->strides; }
size_t cbx_array_count(const cbx_array *a) { return a->count; }
size_t cbx_array_bytes(const cbx_array *a) { return a->count * cbx__dtype_size(a->desc.dtype); }
bool cbx_array_is_contiguous(const cbx_array *a) { return a->flags & CBX__CONTIGUOUS; }
cbx_device_id cbx_array_device(const cbx_array *a) { return a ? a->device : (cbx_device_id){ CBX_DEVICE_CPU, 0 }; }
const void *cbx_array_data(const cbx_array *a) { return a->data; }
void *cbx_array_data_mut(cbx_array *a) { return a->data; }

bool cbx_array_is_abstract(const cbx_array *a) { return a->flags & CBX__ABSTRACT; }
bool cbx_array_is_failed(const cbx_array *a) { return !a || (a->flags & CBX__FAILED); }

/* Reads of an array with gaps on another device: one for each index of the axes of the longest
 * strides, with the gaps inside. */
typedef struct blocks {
    int order[CBX_MAX_RANK]; /* axes by stride, the longest first */
    int outer;               /* so many of them count the blocks */
    size_t n, below, above;  /* blocks; bytes of one below and above its first element */
} blocks;

static size_t stride_of(const cbx_array *a, int axis)
{
    return (size_t)(a->strides[axis] < 0 ? -a->strides[axis] : a->strides[axis]);
}

/* The blocks that cost least, where a read costs as much as CALL bytes more. */
static blocks blocks_of(const cbx_array *a)
{
    enum { CALL = 1 << 17 };
    const size_t size = cbx__dtype_size(a->desc.dtype);
    blocks b = { .n = 1, .above = size }, best;
    double min_cost;

    for (int i = 0; i < a->desc.ndim; i++) {
        int at = i;
        for (; at > 0 && stride_of(a, b.order[at - 1]) < stride_of(a, i); at--) b.order[at] = b.order[at - 1];
        b.order[at] = i;
        *(a->strides[i] < 0 ? &b.below : &b.above) += (a->desc.shape[i] - 1) * stride_of(a, i) * size;
    }
    best = b;
    min_cost = (double)(b.below + b.above);
    for (int k = 0; k < a->desc.ndim && a->strides[b.order[k]] != 0; k++) {
        const int axis = b.order[k];
        *(a->strides[axis] < 0 ? &b.below : &b.above) -= (a->desc.shape[axis] - 1) * stride_of(a, axis) * size;
        b.outer = k + 1;
        b.n *= a->desc.shape[axis];
        if ((double)b.n * (double)(b.below + b.above + CALL) >= min_cost) continue;
        min_cost = (double)b.n * (double)(b.below + b.above + CALL);
        best = b;
    }
    return best;
}

/* The blocks one behind the other, and where their elements are: here. */
static cbx_status read_blocks(const cbx_array *a, const blocks *b, char *copy, struct cbx_array *here, cbx_err *err)
{
    const size_t size = cbx__dtype_size(a->desc.dtype), bytes = b->below + b->above;
    ptrdiff_t step = (ptrdiff_t)(bytes / size);
    cbx_status st = CBX_OK;

    *here = *a;
    here->data = copy + b->below;
    for (int k = b->outer; k-- > 0;) {
        here->strides[b->order[k]] = step;
        step *= (ptrdiff_t)a->desc.shape[b->order[k]];
    }
    for (size_t i = 0; !st && i < b->n; i++) {
        const char *from = a->data;
        size_t rest = i;
        for (int k = b->outer; k-- > 0;) {
            const size_t length = a->desc.shape[b->order[k]];
            from += (ptrdiff_t)(rest % length) * a->strides[b->order[k]] * (ptrdiff_t)size;
            rest /= length;
        }
        st = a->memory->read(a->memory, copy + i * bytes, from - b->below, bytes, err);
    }
    return st;
}

/* All elements of an array on another device; where they have gaps, blocks of them, to be
 * packed here. */
static cbx_status read_elsewhere(const cbx_array *a, void *dst, cbx_err *err)
{
    const cbx_allocator *al = &a->al;
    struct cbx_array here;
    cbx_status st;

    if (!a->memory) return cbx__array_here("array_read", a, err);
    if (a->count == 0) return CBX_OK;
    if (a->flags & CBX__CONTIGUOUS) return a->memory->read(a->memory, dst, a->data, cbx_array_bytes(a), err);
    const blocks b = blocks_of(a);
    const size_t bytes = b.n * (b.below + b.above);
    char *copy = cbx_mem_alloc(al, bytes);
    if (!copy) return cbx_fail_nomem(err, "the elements of an array on another device");
    st = read_blocks(a, &b, copy, &here, err);
    if (!st) cbx__array_pack(&here, 0, a->count, dst);
    cbx_mem_free(al, copy, bytes);
    return st;
}

/* A copy without gaps on the same device, where reading it costs far less than reading a with its
 * gaps; else a. */
static cbx_status close_gaps(cbx_ctx *ctx, const cbx_array *a, cbx_array **out, cbx_err *err)
{
    enum { SMALL = 1 << 20, FAR = 4 };
    cbx_err why = CBX_ERR_INIT; /* a record that the context reads must not see that the device is full */
    cbx_status st = CBX_OK;

    *out = NULL;
    if (a->memory && a->count && !(a->flags & CBX__CONTIGUOUS)) {
        const blocks b = blocks_of(a);
        const size_t bytes = b.n * (b.below + b.above);
        if (bytes > SMALL && bytes / FAR > cbx_array_bytes(a)) st = a->memory->pack(a->memory, ctx, a, out, &why);
    }
    if (st && st != CBX_ENOMEM) return cbx_fail(err, st, "%s", why.message);
    if (!*out) *out = cbx_array_ref(a);
    return CBX_OK;
}

cbx_status cbx__array_fetch(cbx_ctx *ctx, const cbx_array *a, cbx_array **out, cbx_err *err)
{
    cbx_array *copy = NULL, *dense = NULL;
    cbx_status st;

    if (!(a->flags & CBX__ELSEWHERE)) {
        *out = cbx_array_ref(a);
        return CBX_OK;
    }
    st = close_gaps(ctx, a, &dense, err);
    if (!st) st = cbx_array_create(ctx, &a->desc, &copy, err);
    if (!st) st = read_elsewhere(dense, copy->data, err);
    cbx_array_free(dense);
    return CBX_FINISH(st, *out = copy, cbx_array_free(copy));
}

cbx_status cbx__array_bring(cbx_ctx *ctx, cbx_array **a, cbx_err *err)
{
    cbx_array *there = *a;
    cbx_status st;

    if (!(there->flags & CBX__ELSEWHERE)) return CBX_OK;
    st = cbx__array_fetch(ctx, there, a, err);
    if (!st) cbx_array_free(there);
    return st;
}

cbx_status cbx_array_read(const cbx_array *a, void *dst, size_t bytes, cbx_err *err)
{
    if (cbx_array_is_failed(a))
        return cbx_fail(err, CBX_EINVAL, "a failed operation has no elements: close its scope to learn why");
    if (a->flags & CBX__DONATED) return cbx__array_present("array_read", a, err);
    if (a->flags & CBX__ABSTRACT) {
        ((cbx_array *)a)->flags |= CBX__WAS_READ;
        return cbx_fail(err, CBX_EINVAL, "an abstract array of %s has no elements to read", CBX__DESC_TEXT(&a->desc));
    }
    if (bytes != cbx_array_bytes(a))
        return cbx_fail(err, CBX_ESHAPE, "%s has %zu bytes, the buffer %zu", CBX__DESC_TEXT(&a->desc),
                        cbx_array_bytes(a), bytes);
    if (a->flags & CBX__ELSEWHERE) return read_elsewhere(a, dst, err);
    cbx__array_pack(a, 0, a->count, dst);
    return CBX_OK;
}
