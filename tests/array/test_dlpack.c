/*
 * DLPack: what goes out comes back, every member of a foreign tensor may lie, and the deleter is
 * called once in each case. tests/array/check_dlpack.py does the same with NumPy on the other side.
 */
#include "check.h"

#include <pthread.h>
#include <stdlib.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/io/dlpack.h"
#include "calibrax/array/ops.h"
#include "fail_alloc.h"

static cbx_ctx *ctx;
static cbx_err err;

static int set_up(void **state)
{
    (void)state;
    return cbx_ctx_create(NULL, &ctx, &err) != CBX_OK;
}

static int tear_down(void **state)
{
    (void)state;
    cbx_ctx_free(ctx);
    return 0;
}

/* --- a producer made by hand --- */

typedef struct producer {
    cbx_dl_managed managed;
    cbx_dl_legacy legacy;
    int64_t shape[10], strides[10];
    _Alignas(64) unsigned char bytes[512];
    int deleted;
} producer;

static void count_managed(cbx_dl_managed *m) { ((producer *)m->manager)->deleted++; }
static void count_legacy(cbx_dl_legacy *m) { ((producer *)m->manager)->deleted++; }

/* float64 (2, 3), element i is i. */
static producer *produce(producer *p)
{
    memset(p, 0, sizeof(*p));
    for (int i = 0; i < 64; i++) memcpy(p->bytes + 8 * i, &(double){ i }, 8);
    p->shape[0] = 2;
    p->shape[1] = 3;
    p->strides[0] = 3;
    p->strides[1] = 1;
    p->managed = (cbx_dl_managed){
        { 1, 0 }, p, count_managed, 0, { p->bytes, { CBX_DL_CPU, 0 }, 2, { 2, 64, 1 }, p->shape, p->strides, 0 }
    };
    return p;
}

static cbx_status take(producer *p, bool legacy, cbx_dl_copy copy, cbx_array **out)
{
    if (!legacy) return cbx_dlpack_import(ctx, &p->managed, copy, out, &err);
    p->legacy = (cbx_dl_legacy){ p->managed.tensor, p, p->managed.deleter ? count_legacy : NULL };
    return cbx_dlpack_import_legacy(ctx, &p->legacy, copy, out, &err);
}

static double element(const cbx_array *a, size_t i)
{
    double v;
    cbx__array_pack(a, i, 1, &v);
    return v;
}

TEST(a_tensor_is_borrowed_without_a_copy)
{
    for (int legacy = 0; legacy < 2; legacy++) {
        producer p;
        cbx_array *a = NULL, *more;
        CHECK_OK(take(produce(&p), legacy, CBX_DL_COPY_NEVER, &a), &err, "import");
        CHECK(cbx_array_data(a) == p.bytes, "the same memory");
        CHECK_INT(cbx_array_dim(a, 1), 3, "shape");
        CHECK(element(a, 5) == 5.0, "elements");
        more = cbx_array_ref(a);
        cbx_array_free(a);
        CHECK_INT(p.deleted, 0, "a reference is left");
        cbx_array_free(more);
        CHECK_INT(p.deleted, 1, "given back with the last one");
        CHECK_OK(take(produce(&p), legacy, CBX_DL_COPY_ALWAYS, &a), &err, "copy");
        CHECK_INT(p.deleted, 1, "a copy needs the producer no more");
        memset(p.bytes, 255, sizeof p.bytes);
        CHECK(element(a, 5) == 5.0, "nor its memory");
        cbx_array_free(a);
        produce(&p)->managed.deleter = NULL;
        CHECK_OK(take(&p, legacy, CBX_DL_COPY_IF_NEEDED, &a), &err, "no deleter");
        cbx_array_free(a);
    }
}

TEST(strides_and_offsets)
{
    static const struct {
        const char *why;
        int64_t strides[2];
        uint64_t offset;
        bool null_strides;
        double first, last;
    } cases[] = {
        { "row-major without strides", { 77, 77 }, 0, true, 0, 5 },
        { "an offset in bytes", { 3, 1 }, 16, false, 2, 7 },
        { "backwards", { -3, -1 }, 40, false, 5, 0 },
        { "Fortran order", { 1, 2 }, 0, false, 0, 5 },
        { "every second", { 12, 2 }, 8, false, 1, 17 },
        { "one element seen six times", { 0, 0 }, 24, false, 3, 3 },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        producer p;
        cbx_array *a = NULL;
        produce(&p);
        memcpy(p.strides, cases[i].strides, sizeof cases[i].strides);
        if (cases[i].null_strides) p.managed.tensor.strides = NULL;
        p.managed.tensor.byte_offset = cases[i].offset;
        CHECK_OK(take(&p, false, CBX_DL_COPY_NEVER, &a), &err, cases[i].why);
        CHECK(element(a, 0) == cases[i].first && element(a, 5) == cases[i].last, cases[i].why);
        cbx_array_free(a);
        CHECK_INT(p.deleted, 1, cases[i].why);
    }
}

/* --- tensors that lie --- */

static void other_device(producer *p) { p->managed.tensor.device = (cbx_dl_device){ 8, 3 }; }
static void no_device(producer *p) { p->managed.tensor.device.type = 0; }
static void negative_rank(producer *p) { p->managed.tensor.ndim = -1; }
static void seventeen_axes(producer *p) { p->managed.tensor.ndim = 17; }
static void no_shape(producer *p) { p->managed.tensor.shape = NULL; }
static void negative_length(producer *p) { p->shape[1] = -3; }
static void min_length(producer *p) { p->shape[0] = INT64_MIN; }
static void product_wraps(producer *p) { p->shape[0] = p->shape[1] = (int64_t)1 << 32; }
static void stride_wraps(producer *p) { p->strides[0] = INT64_MAX; }
static void stride_bytes_wrap(producer *p) { p->strides[0] = INT64_MAX / 8; }
static void stride_min(producer *p) { p->strides[1] = INT64_MIN; }
static void strides_wrap_together(producer *p) { p->strides[0] = INT64_MAX / 2, p->strides[1] = INT64_MAX / 2; }
static void below_zero(producer *p) { p->strides[0] = -(INT64_MAX / 16); }
static void offset_wraps(producer *p) { p->managed.tensor.byte_offset = UINT64_MAX - 7; }
static void no_data(producer *p) { p->managed.tensor.data = NULL; }
static void two_lanes(producer *p) { p->managed.tensor.dtype.lanes = 2; }
static void no_lanes(producer *p) { p->managed.tensor.dtype.lanes = 0; }
static void half(producer *p) { p->managed.tensor.dtype.bits = 16; }
static void bfloat(producer *p) { p->managed.tensor.dtype.code = 4; }
static void bool_of_one_bit(producer *p) { p->managed.tensor.dtype = (cbx_dl_dtype){ 6, 1, 1 }; }
static void opaque(producer *p) { p->managed.tensor.dtype.code = 3; }
static void code_255(producer *p) { p->managed.tensor.dtype.code = 255; }
static void version_0(producer *p) { p->managed.version.major = 0; }
static void version_2(producer *p)
{
    p->managed.version.major = 2;
    p->managed.version.minor = 7;
    memset(&p->managed.flags, 0xA5, sizeof p->managed - offsetof(cbx_dl_managed, flags)); /* not to be looked at */
}
static void padded(producer *p) { p->managed.flags = CBX_DL_SUBBYTE_PADDED; }
static void unknown_flag(producer *p) { p->managed.flags = (uint64_t)1 << 40; }
static void unaligned(producer *p) { p->managed.tensor.byte_offset = 3; }

static const struct {
    void (*spoil)(producer *p);
    cbx_status status;
    const char *word; /* in the message */
    bool versioned;   /* the older struct has no such member */
} lies[] = {
    { other_device, CBX_EUNSUPPORTED, "device 8:3", false },
    { no_device, CBX_EUNSUPPORTED, "device 0:0", false },
    { negative_rank, CBX_EFORMAT, "-1 axes", false },
    { seventeen_axes, CBX_EUNSUPPORTED, "17 axes", false },
    { no_shape, CBX_EFORMAT, "no shape", false },
    { negative_length, CBX_EFORMAT, "length -3", false },
    { min_length, CBX_EFORMAT, "length -9223372036854775808", false },
    { product_wraps, CBX_EOVERFLOW, "float64 (4294967296, 4294967296)", false },
    { stride_wraps, CBX_EOVERFLOW, "beyond memory", false },
    { stride_bytes_wrap, CBX_EOVERFLOW, "beyond memory", false },
    { stride_min, CBX_EOVERFLOW, "beyond memory", false },
    { strides_wrap_together, CBX_EOVERFLOW, "beyond memory", false },
    { below_zero, CBX_EOVERFLOW, "beyond memory", false },
    { offset_wraps, CBX_EOVERFLOW, "beyond memory", false },
    { no_data, CBX_EFORMAT, "no data", false },
    { two_lanes, CBX_EDTYPE, "2 lanes", false },
    { no_lanes, CBX_EDTYPE, "0 lanes", false },
    { half, CBX_EDTYPE, "16 bits", false },
    { bfloat, CBX_EDTYPE, "code 4", false },
    { bool_of_one_bit, CBX_EDTYPE, "1 bits", false },
    { opaque, CBX_EDTYPE, "code 3", false },
    { code_255, CBX_EDTYPE, "code 255", false },
    { version_0, CBX_EVERSION, "version 0.0", true },
    { version_2, CBX_EVERSION, "version 2.7", true },
    { padded, CBX_EUNSUPPORTED, "less than a byte", true },
    { unknown_flag, CBX_EUNSUPPORTED, "0x10000000000", true },
    { unaligned, CBX_EUNSUPPORTED, "not aligned", false }, /* with CBX_DL_COPY_NEVER */
};

TEST(lying_tensors_are_refused_and_given_back)
{
    for (size_t i = 0; i < CBX_LEN(lies); i++)
        for (int legacy = 0; legacy < (lies[i].versioned ? 1 : 2); legacy++) {
            producer p;
            cbx_array *a = NULL;
            lies[i].spoil(produce(&p));
            memset(&err, 0, sizeof err);
            CHECK_STATUS(take(&p, legacy, CBX_DL_COPY_NEVER, &a), lies[i].status, lies[i].word);
            CHECK(strstr(err.message, lies[i].word), err.message);
            CHECK(a == NULL, "out is untouched");
            CHECK_INT(p.deleted, 1, lies[i].word);
        }
}

TEST(data_that_cannot_be_used_is_copied)
{
    static const unsigned char bytes[6] = { 0, 1, 2, 255, 0, 1 }, want[6] = { 0, 1, 1, 1, 0, 1 };
    producer p;
    cbx_array *a = NULL;
    unsigned char got[6];

    unaligned(produce(&p));
    memcpy(p.bytes + 3, (double[]){ 1, 2, 3, 4, 5, 6 }, 48);
    CHECK_OK(take(&p, false, CBX_DL_COPY_IF_NEEDED, &a), &err, "not aligned");
    CHECK_INT(p.deleted, 1, "copied");
    CHECK(element(a, 0) == 1 && element(a, 5) == 6, "elements");
    cbx_array_free(a);

    for (int legacy = 0; legacy < 2; legacy++) {
        produce(&p);
        p.managed.tensor.dtype = (cbx_dl_dtype){ 6, 8, 1 };
        memcpy(p.bytes, bytes, 6);
        CHECK_OK(take(&p, legacy, CBX_DL_COPY_IF_NEEDED, &a), &err, "bools of any byte");
        CHECK_OK(cbx_array_read(a, got, 6, &err), &err, "read");
        CHECK_INT(memcmp(got, want, 6), 0, "zeros and ones");
        CHECK_INT(p.bytes[3], 255, "the producer's memory stays");
        cbx_array_free(a);
        p.deleted = 0;
        CHECK_STATUS(take(&p, legacy, CBX_DL_COPY_NEVER, &a), CBX_EUNSUPPORTED, "and no copy allowed");
        CHECK_INT(p.deleted, 1, "given back");
        memcpy(p.bytes, want, 6);
        CHECK_OK(take(&p, legacy, CBX_DL_COPY_NEVER, &a), &err, "zeros and ones need no copy");
        CHECK(cbx_array_data(a) == p.bytes, "the same memory");
        cbx_array_free(a);
    }
}

TEST(nothing_at_all)
{
    producer p;
    cbx_array *a = NULL;
    cbx_dl_managed *back = NULL;

    produce(&p)->managed.tensor.data = NULL;
    p.shape[1] = 0;
    CHECK_OK(take(&p, false, CBX_DL_COPY_NEVER, &a), &err, "no elements, no data");
    CHECK_INT(p.deleted, 1, "given back at once");
    CHECK_INT(cbx_array_dim(a, 0), 2, "the shape stays");
    CHECK_OK(cbx_dlpack_export(ctx, a, CBX_DL_COPY_IF_NEEDED, &back, &err), &err, "and out again");
    CHECK(back->tensor.data == NULL && back->tensor.shape[0] == 2 && back->tensor.shape[1] == 0, "as DLPack has it");
    back->deleter(back);
    cbx_array_free(a);

    produce(&p)->managed.tensor.ndim = 0;
    p.managed.tensor.shape = p.managed.tensor.strides = NULL;
    CHECK_OK(take(&p, false, CBX_DL_COPY_NEVER, &a), &err, "a scalar has no shape");
    CHECK(cbx_array_ndim(a) == 0 && element(a, 0) == 0, "one element");
    cbx_array_free(a);
    CHECK_INT(p.deleted, 1, "given back");
}

/* --- our arrays on their way out --- */

TEST(what_goes_out_comes_back)
{
    for (int t = 0; t < CBX_DTYPE_COUNT; t++)
        for (int legacy = 0; legacy < 2; legacy++) {
            cbx_array_desc d = { (cbx_dtype)t, 3, { 2, 1, 5 } };
            cbx_array *a = NULL, *b = NULL;
            cbx_dl_managed *m = NULL;
            cbx_dl_legacy *l = NULL;
            CHECK_OK(cbx_array_create(ctx, &d, &a, &err), &err, "array");
            for (size_t i = 0; i < cbx_array_bytes(a); i++)
                ((char *)cbx_array_data_mut(a))[i] = (char)(t == CBX_BOOL ? i % 2 : i);
            if (legacy) {
                CHECK_OK(cbx_dlpack_export_legacy(ctx, a, CBX_DL_COPY_IF_NEEDED, &l, &err), &err, "out");
                CHECK(l->tensor.data != cbx_array_data(a), "ours is read only");
                l->deleter(l);
                CHECK_OK(cbx_dlpack_export_legacy(ctx, a, CBX_DL_COPY_NEVER, &l, &err), &err, "out");
                CHECK(l->tensor.data == cbx_array_data(a), "who asks for no copy gets ours");
                CHECK_OK(cbx_dlpack_import_legacy(ctx, l, CBX_DL_COPY_NEVER, &b, &err), &err, "in");
            } else {
                CHECK_OK(cbx_dlpack_export(ctx, a, CBX_DL_COPY_NEVER, &m, &err), &err, "out");
                CHECK(m->version.major == 1 && m->flags == CBX_DL_READ_ONLY, "read only");
                CHECK_OK(cbx_dlpack_import(ctx, m, CBX_DL_COPY_NEVER, &b, &err), &err, "in");
                CHECK(cbx_array_data(b) == cbx_array_data(a), "the same memory");
            }
            CHECK(cbx_array_desc_equal(&d, cbx_array_get_desc(b)), cbx_dtype_name((cbx_dtype)t));
            CHECK_INT(memcmp(cbx_array_data(a), cbx_array_data(b), cbx_array_bytes(a)), 0, "elements");
            cbx_array_free(a);
            cbx_array_free(b);
        }
}

TEST(views_keep_their_strides)
{
    cbx_scope scope;
    cbx_dl_managed *m = NULL, *copied = NULL;
    cbx_array *a;

    cbx_scope_open(ctx, &scope);
    a = cbx_reshape(ctx, cbx_arange_int(ctx, 0, 12, 1, CBX_I32), 2, (const ptrdiff_t[]){ 3, 4 });
    a = cbx_flip(ctx, cbx_matrix_transpose(ctx, a), 0);
    CHECK_OK(cbx_dlpack_export(ctx, a, CBX_DL_COPY_IF_NEEDED, &m, &err), &err, "a view");
    CHECK_OK(cbx_dlpack_export(ctx, a, CBX_DL_COPY_ALWAYS, &copied, &err), &err, "a copy of it");
    CHECK_OK(cbx_scope_close(&scope, &err), &err, "its scope ends");
    CHECK(m->tensor.strides[0] == -1 && m->tensor.strides[1] == 4 && m->tensor.shape[0] == 4, "strides in elements");
    CHECK_INT(*(const int32_t *)m->tensor.data, 3, "and the memory is still there");
    CHECK(copied->flags == CBX_DL_IS_COPIED && copied->tensor.strides[0] == 3 && copied->tensor.strides[1] == 1,
          "row-major");
    CHECK_INT(((const int32_t *)copied->tensor.data)[1], 7, "the second of its first row");
    m->deleter(m);
    copied->deleter(copied);
}

TEST(what_has_no_elements_is_not_lent)
{
    cbx_array_desc d = { CBX_F32, 1, { 3 } };
    cbx_array *abstract = NULL;
    cbx_dl_managed *m = NULL;
    cbx_dl_legacy *l = NULL;

    CHECK_OK(cbx_array_create_abstract(ctx, &d, &abstract, &err), &err, "abstract");
    CHECK_STATUS(cbx_dlpack_export(ctx, abstract, CBX_DL_COPY_IF_NEEDED, &m, &err), CBX_EINVAL, "abstract");
    CHECK(strstr(err.message, "float32 (3,)"), err.message);
    CHECK_STATUS(cbx_dlpack_export_legacy(ctx, cbx__array_failed(), CBX_DL_COPY_IF_NEEDED, &l, &err), CBX_EINVAL,
                 "failed");
    CHECK_STATUS(cbx_dlpack_export_legacy(ctx, abstract, CBX_DL_COPY_NEVER, &l, &err), CBX_EINVAL, "abstract");
    CHECK(!m && !l, "out is untouched");
    cbx_array_free(abstract);
}

static void *delete_elsewhere(void *tensor)
{
    cbx_dl_managed *m = tensor;
    m->deleter(m);
    return NULL;
}

TEST(tensors_outlive_context_and_thread)
{
    cbx_array_desc d = { CBX_F64, 1, { 1000 } };
    cbx_test_alloc t;
    cbx_array *a = NULL;
    cbx_dl_managed *m = NULL;
    pthread_t thread;

    cbx_test_alloc_init(&t);
    cbx_ctx *other = cbx_test_ctx(&t);
    CHECK_OK(cbx_array_create(other, &d, &a, &err), &err, "array");
    CHECK_OK(cbx_dlpack_export(other, a, CBX_DL_COPY_IF_NEEDED, &m, &err), &err, "out");
    cbx_array_free(a);
    cbx_ctx_free(other);
    memset(m->tensor.data, 0, 8000);
    CHECK_INT(pthread_create(&thread, NULL, delete_elsewhere, m), 0, "thread");
    pthread_join(thread, NULL);
    cbx_test_alloc_check(&t, "given back from another thread");
}

static cbx_status out_and_in(cbx_ctx *c, void *user)
{
    producer *p = user;
    cbx_array *a = NULL, *b = NULL;
    cbx_dl_managed *m = NULL;
    cbx_dl_legacy *l = NULL;
    cbx_status st;

    unaligned(produce(p));
    st = cbx_dlpack_import(c, &p->managed, CBX_DL_COPY_IF_NEEDED, &a, &err);
    CHECK_INT(p->deleted, 1, "given back, with memory or without");
    if (!st) st = cbx_dlpack_export(c, a, CBX_DL_COPY_IF_NEEDED, &m, &err);
    if (!st) st = cbx_dlpack_import(c, m, CBX_DL_COPY_ALWAYS, &b, &err);
    if (!st) st = cbx_dlpack_export_legacy(c, b, CBX_DL_COPY_IF_NEEDED, &l, &err);
    if (l) l->deleter(l);
    cbx_array_free(a);
    cbx_array_free(b);
    return st;
}

TEST(no_memory)
{
    producer p;
    CHECK_GT(cbx_test_fail_each(out_and_in, &p, "dlpack"), 5, "handles, tensors and blocks");
}

TESTS(.seconds = 600, .before = set_up, .after = tear_down)
