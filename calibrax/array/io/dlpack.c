/* DLPack: tensors out of arrays and arrays out of tensors.
 *
 * What comes in was filled by code that we do not know, so that every member is checked before it
 * is used; what its pointers lead to cannot be checked.  The version is looked at first: with
 * another major one only the deleter has a known place. */
#include "calibrax/array/io/dlpack.h"

#include <inttypes.h>

#include "calibrax/array/backend.h"
#include "calibrax/array/internal.h"
#include "calibrax/array/io/boundary.h"
#include "calibrax/array/scratch.h"

enum { CODE_INT = 0, CODE_UINT = 1, CODE_FLOAT = 2, CODE_COMPLEX = 5, CODE_BOOL = 6 };

static const cbx_dl_dtype dl_dtypes[CBX_DTYPE_COUNT] = {
    [CBX_BOOL] = { CODE_BOOL, 8, 1 },      [CBX_I8] = { CODE_INT, 8, 1 },     [CBX_I16] = { CODE_INT, 16, 1 },
    [CBX_I32] = { CODE_INT, 32, 1 },       [CBX_I64] = { CODE_INT, 64, 1 },   [CBX_U8] = { CODE_UINT, 8, 1 },
    [CBX_U16] = { CODE_UINT, 16, 1 },      [CBX_U32] = { CODE_UINT, 32, 1 },  [CBX_U64] = { CODE_UINT, 64, 1 },
    [CBX_F32] = { CODE_FLOAT, 32, 1 },     [CBX_F64] = { CODE_FLOAT, 64, 1 }, [CBX_C64] = { CODE_COMPLEX, 64, 1 },
    [CBX_C128] = { CODE_COMPLEX, 128, 1 },
};

/* --- out --- */

/* One block: the tensor first, so that the deleter's argument is the block. */
typedef struct lent {
    union {
        cbx_dl_managed managed;
        cbx_dl_legacy legacy;
    } as;
    cbx_allocator al;
    cbx_array *array;
    int64_t shape[CBX_MAX_RANK], strides[CBX_MAX_RANK];
} lent;

static void take_back(lent *l)
{
    cbx_allocator al = l->al;

    /* what a consumer queued on a stream of its own may still read it */
    if (l->array && l->array->memory) (void)l->array->memory->wait(l->array->memory, NULL);
    cbx_array_free(l->array);
    cbx_mem_free(&al, l, sizeof(*l));
}

/* The deleter of what is lent, and how what was borrowed goes back. */
#define DELETERS(kind)                                                                                                 \
    static void delete_##kind(cbx_dl_##kind *self) { take_back((lent *)(void *)self); }                                \
    static void return_##kind(void *tensor)                                                                            \
    {                                                                                                                  \
        cbx_dl_##kind *m = tensor;                                                                                     \
        if (m->deleter) m->deleter(m);                                                                                 \
    }
DELETERS(managed)
DELETERS(legacy)

static void describe(lent *l, cbx_dl_tensor *t)
{
    const cbx_array *a = l->array;

    for (int i = 0; i < a->desc.ndim; i++) {
        l->shape[i] = (int64_t)a->desc.shape[i];
        l->strides[i] = a->strides[i];
    }
    t->data = a->count ? a->data : NULL;
    t->device.type = a->device.kind == CBX_DEVICE_CUDA ? CBX_DL_CUDA : CBX_DL_CPU;
    t->device.id = a->device.index;
    t->ndim = a->desc.ndim;
    t->dtype = dl_dtypes[a->desc.dtype];
    t->shape = l->shape;
    t->strides = l->strides;
}

/* A row-major copy where the array is. */
static cbx_status copy_on_device(cbx_ctx *ctx, const cbx_array *a, cbx_array **out, cbx_err *err)
{
    const cbx_attrs none = { 0 };
    const cbx_backend *b;

    if (!a->memory) return cbx__boundary_copy(ctx, a, out, err);
    b = cbx_ctx_backend(ctx);
    return b->apply(b, &(cbx_call){ ctx, CBX_PRIM_COPY, 1, &a, &none, 1, &a->desc }, out, err);
}

static cbx_status lend(cbx_ctx *ctx, const cbx_array *a, bool copy, lent **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    lent *l = NULL;
    cbx_status st = cbx__boundary_check_made(a, "lend", err);

    if (st) return st;
    l = cbx_mem_zalloc(al, sizeof(*l));
    if (!l) return cbx_fail(err, CBX_ENOMEM, "no memory for a DLPack tensor");
    l->al = *al;
    if (copy)
        st = copy_on_device(ctx, a, &l->array, err);
    else
        l->array = cbx_array_ref(a);
    if (!st && a->memory) st = a->memory->wait(a->memory, err);
    return CBX_FINISH(st, *out = l, take_back(l));
}

cbx_status cbx_dlpack_export(cbx_ctx *ctx, const cbx_array *a, cbx_dl_copy copy, cbx_dl_managed **out, cbx_err *err)
{
    lent *l = NULL;
    cbx_status st = lend(ctx, a, copy == CBX_DL_COPY_ALWAYS, &l, err);

    if (st) return st;
    l->as.managed = (cbx_dl_managed){ .version = { CBX_DL_MAJOR, CBX_DL_MINOR },
                                      .deleter = delete_managed,
                                      .flags = copy == CBX_DL_COPY_ALWAYS ? CBX_DL_IS_COPIED : CBX_DL_READ_ONLY };
    describe(l, &l->as.managed.tensor);
    *out = &l->as.managed;
    return CBX_OK;
}

cbx_status cbx_dlpack_export_legacy(cbx_ctx *ctx, const cbx_array *a, cbx_dl_copy copy, cbx_dl_legacy **out,
                                    cbx_err *err)
{
    lent *l = NULL;

    cbx_status st = lend(ctx, a, copy != CBX_DL_COPY_NEVER, &l, err);
    if (st) return st;
    l->as.legacy = (cbx_dl_legacy){ .deleter = delete_legacy };
    describe(l, &l->as.legacy.tensor);
    *out = &l->as.legacy;
    return CBX_OK;
}

/* --- in --- */

static cbx_status read_dtype(cbx_dl_dtype d, cbx_dtype *out, cbx_err *err)
{
    for (int t = 0; t < CBX_DTYPE_COUNT; t++) {
        if (dl_dtypes[t].code != d.code || dl_dtypes[t].bits != d.bits || d.lanes != 1) continue;
        *out = (cbx_dtype)t;
        return CBX_OK;
    }
    return cbx_fail(err, CBX_EDTYPE,
                    "a DLPack tensor of type code %u with %u bits and %u lanes has no matching dtype: convert it first",
                    d.code, d.bits, d.lanes);
}

static cbx_status read_desc(const cbx_dl_tensor *t, cbx_array_desc *d, size_t *count, cbx_err *err)
{
    if (t->device.type != CBX_DL_CPU && t->device.type != CBX_DL_CUDA)
        return cbx_fail(err, CBX_EUNSUPPORTED,
                        "a DLPack tensor lies on device %" PRId32 ":%" PRId32
                        ", only the CPU (1:0) and GPUs of NVIDIA (2) can be read: move it there",
                        t->device.type, t->device.id);
    if (t->ndim < 0) return cbx_fail(err, CBX_EFORMAT, "a DLPack tensor has %" PRId32 " axes", t->ndim);
    if (t->ndim > CBX_MAX_RANK)
        return cbx_fail(err, CBX_EUNSUPPORTED, "a DLPack tensor has %" PRId32 " axes, at most %d are supported",
                        t->ndim, CBX_MAX_RANK);
    if (t->ndim > 0 && !t->shape)
        return cbx_fail(err, CBX_EFORMAT, "a DLPack tensor of %" PRId32 " axes has no shape", t->ndim);
    cbx_status st = read_dtype(t->dtype, &d->dtype, err);
    if (st) return st;
    d->ndim = t->ndim;
    for (int i = 0; i < t->ndim; i++) {
        if (t->shape[i] < 0)
            return cbx_fail(err, CBX_EFORMAT, "axis %d of a DLPack tensor has length %" PRId64, i, t->shape[i]);
        d->shape[i] = (size_t)t->shape[i];
    }
    return cbx_array_desc_count(d, count, err);
}

/* Strides, and how far [bytes] the elements reach below and above the first one; an axis of one
 * element is never stepped along. */
static bool read_strides(const cbx_dl_tensor *t, const cbx_array_desc *d, ptrdiff_t *strides, size_t *below,
                         size_t *above)
{
    int64_t low = 0, high = 0, step, size = (int64_t)cbx_dtype_size(d->dtype);

    cbx__array_dense_strides(d, false, strides);
    for (int i = 0; i < d->ndim; i++) {
        if (t->strides && d->shape[i] > 1) strides[i] = (ptrdiff_t)t->strides[i];
        if (__builtin_mul_overflow((int64_t)d->shape[i] - 1, (int64_t)strides[i], &step)) return false;
        if (step < 0 ? __builtin_add_overflow(low, step, &low) : __builtin_add_overflow(high, step, &high))
            return false;
    }
    if (__builtin_mul_overflow(low, size, &low) || __builtin_add_overflow(high, 1, &high) ||
        __builtin_mul_overflow(high, size, &high) || low == INT64_MIN)
        return false;
    *below = (size_t)-low;
    *above = (size_t)high;
    return true;
}

/* The first element, if all of them lie in what can be addressed. */
static cbx_status locate(const cbx_dl_tensor *t, const cbx_array_desc *d, ptrdiff_t *strides, char **out, cbx_err *err)
{
    uintptr_t first = (uintptr_t)t->data, end;
    size_t below = 0, above = 0;

    if (!t->data) return cbx_fail(err, CBX_EFORMAT, "a DLPack tensor of %s has no data", CBX__DESC_TEXT(d));
    if (!read_strides(t, d, strides, &below, &above) || __builtin_add_overflow(first, t->byte_offset, &first) ||
        first < below || __builtin_add_overflow(first, above, &end))
        return cbx_fail(err, CBX_EOVERFLOW, "the strides of a DLPack tensor of %s reach beyond memory",
                        CBX__DESC_TEXT(d));
    *out = (char *)first;
    return CBX_OK;
}

/* Whoever lent the tensor: called exactly once by take_over, or by the array that keeps it. */
typedef struct lender {
    void (*give_back)(void *tensor);
    void *tensor;
} lender;

/* Replaces a borrowed array by a copy that can be used as it is, on the same device. */
static cbx_status copy_borrowed(cbx_ctx *ctx, cbx_array **a, bool tidy, cbx_err *err)
{
    cbx_array *own = NULL, *there = NULL;
    const cbx_backend *b;
    cbx_status st = (*a)->memory && tidy ? copy_on_device(ctx, *a, &own, err) : cbx__boundary_copy(ctx, *a, &own, err);

    if (st) return st;
    if (!tidy) cbx__boundary_tidy_bools(own);
    if ((*a)->memory && !tidy) {
        b = cbx_ctx_backend(ctx);
        st = b->to_device(b, ctx, own, (*a)->device, &there, err);
        cbx_array_free(own);
        own = there;
    }
    if (st) return st;
    cbx_array_free(*a);
    *a = own;
    return CBX_OK;
}

/* The array is on a GPU. */
static cbx_status adopt(cbx_ctx *ctx, const cbx_dl_tensor *t, cbx_array *a, cbx_err *err)
{
    const cbx_backend *b = cbx_ctx_backend(ctx);

    if (!b->adopt)
        return cbx_fail(err, CBX_EUNAVAILABLE, "a DLPack tensor lies on a GPU, where the backend '%s' does not compute",
                        b->name);
    return b->adopt(b, ctx, a, (cbx_device_id){ CBX_DEVICE_CUDA, t->device.id }, err);
}

/* Whether bools are all 0 or 1, wherever they are. */
static cbx_status look_at_bools(cbx_ctx *ctx, const cbx_array *a, bool *tidy, cbx_err *err)
{
    CBX_OWNED(cbx_array) *here = NULL;

    if (a->desc.dtype != CBX_BOOL) return CBX_OK;
    const cbx_status st = cbx__array_fetch(ctx, a, &here, err);
    *tidy = !st && cbx__boundary_bools_are_tidy(here);
    return st;
}

static cbx_status empty_there(cbx_ctx *ctx, const cbx_dl_tensor *t, const cbx_array_desc *d, cbx_array **out,
                              cbx_err *err)
{
    cbx_array *a = NULL;
    cbx_status st = cbx__array_wrap(ctx, d, NULL, NULL, NULL, NULL, &a, err);

    if (!st) st = adopt(ctx, t, a, err);
    return CBX_FINISH(st, *out = a, cbx_array_free(a));
}

static cbx_status borrow(cbx_ctx *ctx, const cbx_dl_tensor *t, lender who, cbx_dl_copy copy, cbx_array **out,
                         bool *given_back, cbx_err *err)
{
    ptrdiff_t strides[CBX_MAX_RANK] = { 0 };
    cbx_array_desc d = { 0 };
    cbx_array *a = NULL;
    size_t count = 0;
    char *data = NULL;
    cbx_status st = read_desc(t, &d, &count, err);

    if (st) return st;
    if (count == 0 && t->device.type == CBX_DL_CPU) return cbx_array_create(ctx, &d, out, err);
    if (count == 0) return empty_there(ctx, t, &d, out, err);
    st = locate(t, &d, strides, &data, err);
    if (st) return st;
    st = cbx__array_wrap(ctx, &d, strides, data, who.give_back, who.tensor, &a, err);
    if (st) return st;
    *given_back = true; /* from here the array answers for it */
    if (t->device.type == CBX_DL_CUDA) st = adopt(ctx, t, a, err);
    bool tidy = true;
    if (!st) st = look_at_bools(ctx, a, &tidy, err);
    const bool usable = cbx__is_aligned(data, d.dtype) && tidy;
    if (!st && !usable && copy == CBX_DL_COPY_NEVER)
        st = cbx_fail(err, CBX_EUNSUPPORTED, "a DLPack tensor of %s is %s and must be copied: allow a copy",
                      CBX__DESC_TEXT(&d), cbx__is_aligned(data, d.dtype) ? "not only zeros and ones" : "not aligned");
    else if (!st && (!usable || copy == CBX_DL_COPY_ALWAYS))
        st = copy_borrowed(ctx, &a, usable, err);
    return CBX_FINISH(st, *out = a, cbx_array_free(a));
}

static cbx_status take_over(cbx_ctx *ctx, const cbx_dl_tensor *t, lender who, cbx_dl_copy copy, cbx_array **out,
                            cbx_err *err)
{
    bool given_back = false;
    cbx_status st = borrow(ctx, t, who, copy, out, &given_back, err);

    if (!given_back) who.give_back(who.tensor);
    return st;
}

static cbx_status check_managed(const cbx_dl_managed *m, cbx_err *err)
{
    if (m->version.major != CBX_DL_MAJOR)
        return cbx_fail(err, CBX_EVERSION, "a DLPack tensor has version %" PRIu32 ".%" PRIu32 ", only %d.x can be read",
                        m->version.major, m->version.minor, CBX_DL_MAJOR);
    if (m->flags & CBX_DL_SUBBYTE_PADDED)
        return cbx_fail(err, CBX_EUNSUPPORTED, "a DLPack tensor has elements of less than a byte: convert it first");
    if (m->flags & ~(CBX_DL_READ_ONLY | CBX_DL_IS_COPIED))
        return cbx_fail(err, CBX_EUNSUPPORTED,
                        "a DLPack tensor of version %" PRIu32 ".%" PRIu32 " has unknown flags (0x%" PRIx64 ")",
                        m->version.major, m->version.minor, m->flags);
    return CBX_OK;
}

cbx_status cbx_dlpack_import(cbx_ctx *ctx, cbx_dl_managed *tensor, cbx_dl_copy copy, cbx_array **out, cbx_err *err)
{
    cbx_status st = check_managed(tensor, err);

    if (!st) return take_over(ctx, &tensor->tensor, (lender){ return_managed, tensor }, copy, out, err);
    return_managed(tensor);
    return st;
}

cbx_status cbx_dlpack_import_legacy(cbx_ctx *ctx, cbx_dl_legacy *tensor, cbx_dl_copy copy, cbx_array **out,
                                    cbx_err *err)
{
    return take_over(ctx, &tensor->tensor, (lender){ return_legacy, tensor }, copy, out, err);
}
