/* Arrays: descriptions, strides, life of handles and blocks. */
#include "check.h"

#include <pthread.h>

#include "calibrax/array/internal.h"
#include "calibrax/base/pool.h"
#include "fail_alloc.h"

TEST(dtypes_know_their_names)
{
    static const struct {
        cbx_dtype t;
        const char *name;
        size_t size;
    } cases[] = {
        { CBX_BOOL, "bool", 1 },        { CBX_I8, "int8", 1 },     { CBX_I16, "int16", 2 },
        { CBX_I32, "int32", 4 },        { CBX_I64, "int64", 8 },   { CBX_U8, "uint8", 1 },
        { CBX_U16, "uint16", 2 },       { CBX_U32, "uint32", 4 },  { CBX_U64, "uint64", 8 },
        { CBX_F32, "float32", 4 },      { CBX_F64, "float64", 8 }, { CBX_C64, "complex64", 8 },
        { CBX_C128, "complex128", 16 },
    };
    cbx_err err = CBX_ERR_INIT;
    cbx_dtype t = CBX_C64;

    CHECK_INT(CBX_LEN(cases), CBX_DTYPE_COUNT, "every dtype is here");
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        CHECK_INT(cbx_dtype_size(cases[i].t), cases[i].size, cases[i].name);
        CHECK_STR(cbx_dtype_name(cases[i].t), cases[i].name, "array-API name");
        CHECK_OK(cbx_dtype_parse(cases[i].name, &t, &err), &err, cases[i].name);
        CHECK_INT(t, cases[i].t, "round trip");
    }
    t = CBX_C64;
    CHECK_STATUS(cbx_dtype_parse("float16", &t, &err), CBX_EDTYPE, "a name not in the list");
    CHECK(strstr(err.message, "'float16'") != NULL, "the message names the word");
    CHECK_STATUS(cbx_dtype_parse(NULL, &t, NULL), CBX_EDTYPE, "no name at all");
    CHECK_INT(t, CBX_C64, "out is untouched");
    CHECK_INT(cbx_dtype_size((cbx_dtype)99), 0, "no such dtype");
}

TEST(counts_do_not_overflow)
{
    static const struct {
        cbx_array_desc d;
        cbx_status status;
        size_t count;
        const char *why;
    } cases[] = {
        { { CBX_F64, 0, { 0 } }, CBX_OK, 1, "a scalar has one element" },
        { { CBX_F32, 2, { 3, 4 } }, CBX_OK, 12, "a matrix" },
        { { CBX_F32, 3, { 3, 0, 4 } }, CBX_OK, 0, "empty" },
        { { CBX_BOOL, 1, { PTRDIFF_MAX } }, CBX_OK, PTRDIFF_MAX, "the largest" },
        { { CBX_BOOL, 1, { (size_t)PTRDIFF_MAX + 1 } }, CBX_EOVERFLOW, 0, "one more" },
        { { CBX_F64, 1, { PTRDIFF_MAX / 8 + 1 } }, CBX_EOVERFLOW, 0, "bytes overflow, the count does not" },
        { { CBX_U8, 2, { (size_t)1 << 32, (size_t)1 << 32 } }, CBX_EOVERFLOW, 0, "the product wraps to 0" },
        { { CBX_U8, 3, { 0, (size_t)1 << 40, (size_t)1 << 40 } },
          CBX_EOVERFLOW,
          0,
          "strides overflow though it is empty" },
        { { CBX_U8, CBX_MAX_RANK + 1, { 1 } }, CBX_EINVAL, 0, "rank above the limit" },
        { { CBX_U8, -1, { 1 } }, CBX_EINVAL, 0, "negative rank" },
        { { (cbx_dtype)13, 1, { 1 } }, CBX_EINVAL, 0, "no such dtype" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        size_t count = 77;
        CHECK_STATUS(cbx_array_desc_count(&cases[i].d, &count, NULL), cases[i].status, cases[i].why);
        CHECK_INT(count, cases[i].status ? 77 : cases[i].count, cases[i].why);
    }
}

TEST(descriptions_as_text)
{
    static const struct {
        cbx_array_desc d;
        size_t size;
        const char *text;
    } cases[] = {
        { { CBX_F32, 2, { 512, 512 } }, 64, "float32 (512, 512)" },
        { { CBX_BOOL, 0, { 0 } }, 64, "bool ()" },
        { { CBX_I8, 1, { 3 } }, 64, "int8 (3,)" },
        { { CBX_F32, 2, { 512, 512 } }, 12, "float32 (51" },
        { { CBX_F32, 2, { 512, 512 } }, 4, "flo" },
        { { CBX_F32, 2, { 512, 512 } }, 1, "" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        char buf[64] = "unset";
        CHECK_STR(cbx_array_desc_text(&cases[i].d, buf, cases[i].size), cases[i].text, "text");
    }
    cbx_array_desc a = { CBX_F32, 2, { 2, 3, 9 } }, b = { CBX_F32, 2, { 2, 3, 7 } }, c = { CBX_F32, 2, { 3, 2 } };
    CHECK(cbx_array_desc_equal(&a, &b), "lengths past the rank do not count");
    CHECK(!cbx_array_desc_equal(&a, &c), "another shape");
    b.dtype = CBX_I32;
    CHECK(!cbx_array_desc_equal(&a, &b), "another dtype");
}

TEST(created_arrays_are_row_major_and_aligned)
{
    static const cbx_array_desc descs[] = {
        { CBX_F64, 3, { 2, 3, 4 } },
        { CBX_F32, 0, { 0 } },
        { CBX_U8, 2, { 0, 5 } },
        { CBX_C128, 2, { 700, 300 } },
    };
    cbx_test_alloc al;
    cbx_err err = CBX_ERR_INIT;

    cbx_test_alloc_init(&al);
    for (size_t i = 0; i < CBX_LEN(descs); i++) {
        cbx_ctx *ctx = cbx_test_ctx(&al);
        cbx_array *a = NULL;
        CHECK_OK(cbx_array_create(ctx, &descs[i], &a, &err), &err, "create");
        CHECK(cbx_array_desc_equal(cbx_array_get_desc(a), &descs[i]), "description");
        CHECK_INT((uintptr_t)cbx_array_data(a) % 64, 0, "alignment");
        CHECK(cbx_array_is_contiguous(a), "contiguous");
        if (cbx_array_bytes(a)) memset(cbx_array_data_mut(a), 1, cbx_array_bytes(a));
        if (i == 0) {
            CHECK_INT(cbx_array_strides(a)[0] * 100 + cbx_array_strides(a)[1] * 10 + cbx_array_strides(a)[2], 1241,
                      "12, 4, 1");
            CHECK_INT(cbx_array_bytes(a), 24 * 8, "bytes");
            CHECK_INT(cbx_array_dim(a, 1), 3, "an axis");
            CHECK_INT(cbx_array_dim(a, 3) + cbx_array_dim(a, -1), 0, "past the last and before the first axis");
        }
        cbx_ctx_free(ctx);
        if (cbx_array_bytes(a)) memset(cbx_array_data_mut(a), 2, cbx_array_bytes(a));
        cbx_array_free(a); /* behind its context */
    }
    cbx_array_free(NULL);
    CHECK(cbx_array_ref(NULL) == NULL, "NULL gives NULL");
    cbx_test_alloc_check(&al, "arrays that outlive their context");
}

TEST(blocks_are_used_again)
{
    cbx_array_desc d = { CBX_F32, 1, { 100000 } };
    cbx_pool_stats stats;
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx *ctx = cbx_test_context();

    for (int i = 0; i < 3; i++) {
        cbx_array *a = NULL;
        CHECK_OK(cbx_array_create(ctx, &d, &a, &err), &err, "create");
        cbx_array_free(a);
    }
    cbx_pool_get_stats(cbx_ctx_pool(ctx), &stats);
    CHECK_INT(stats.requests, 3, "each array asks the pool");
    CHECK_INT(stats.reused, 2, "and gets the first one's block");
    cbx_ctx_free(ctx);
}

static void count_release(void *user) { ++*(int *)user; }

TEST(wrapped_memory_is_released_once)
{
    float data[6] = { 0, 1, 2, 3, 4, 5 };
    cbx_array_desc d = { CBX_F32, 2, { 2, 3 } }, bad = { CBX_F32, CBX_MAX_RANK + 1, { 1 } };
    cbx_test_alloc al;
    cbx_err err = CBX_ERR_INIT;
    cbx_array *a = NULL, *b;
    int released = 0;

    cbx_test_alloc_init(&al);
    cbx_ctx *ctx = cbx_test_ctx(&al);
    CHECK_OK(cbx_array_wrap(ctx, &d, NULL, data, count_release, &released, &a, &err), &err, "wrap");
    CHECK(cbx_array_data(a) == data && cbx_array_is_contiguous(a), "row-major view of the caller's memory");
    b = cbx_array_ref(a);
    CHECK(b == a, "the same handle");
    cbx_array_free(a);
    CHECK_INT(released, 0, "one reference is left");
    cbx_array_free(b);
    CHECK_INT(released, 1, "the last reference");
    a = NULL;
    CHECK_STATUS(cbx_array_wrap(ctx, &bad, NULL, data, count_release, &released, &a, &err), CBX_EINVAL, "bad rank");
    CHECK(a == NULL && released == 1, "a failure leaves out and the memory alone");
    cbx_ctx_free(ctx);
    cbx_test_alloc_check(&al, "wrap");
}

/* Elements are counted 0, 1, 2 ... in memory, so the packed order shows the strides. */
TEST(strided_arrays_pack_row_major)
{
    static const struct {
        cbx_array_desc d;
        ptrdiff_t strides[3];
        size_t first_element;
        bool contiguous;
        int wanted[12];
        const char *why;
    } cases[] = {
        { { CBX_I32, 2, { 2, 3 } }, { 3, 1 }, 0, true, { 0, 1, 2, 3, 4, 5 }, "row-major" },
        { { CBX_I32, 2, { 2, 3 } }, { 1, 2 }, 0, false, { 0, 2, 4, 1, 3, 5 }, "Fortran order" },
        { { CBX_I32, 2, { 2, 3 } }, { -3, -1 }, 5, false, { 5, 4, 3, 2, 1, 0 }, "both axes reversed" },
        { { CBX_I32, 2, { 2, 3 } }, { 0, 1 }, 0, false, { 0, 1, 2, 0, 1, 2 }, "a broadcast axis" },
        { { CBX_I32, 1, { 4 } }, { 5 }, 1, false, { 1, 6, 11, 16 }, "every fifth" },
        { { CBX_I32, 3, { 2, 1, 3 } },
          { 3, 99, 1 },
          0,
          true,
          { 0, 1, 2, 3, 4, 5 },
          "the stride of a single element counts for nothing" },
        { { CBX_I32, 3, { 2, 3, 2 } },
          { 2, 4, 1 },
          0,
          false,
          { 0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11 },
          "axes swapped" },
    };
    int data[24], got[12];
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx *ctx = cbx_test_context();

    for (int i = 0; i < 24; i++) data[i] = i;
    for (size_t c = 0; c < CBX_LEN(cases); c++) {
        cbx_array *a = NULL;
        CHECK_OK(
            cbx_array_wrap(ctx, &cases[c].d, cases[c].strides, data + cases[c].first_element, NULL, NULL, &a, &err),
            &err, "wrap");
        CHECK_INT(cbx_array_is_contiguous(a), cases[c].contiguous, cases[c].why);
        size_t n = cbx_array_count(a);
        for (size_t first = 0; first <= n; first++)
            for (size_t count = 0; first + count <= n; count++) {
                cbx__array_pack(a, first, count, got);
                CHECK_INT(memcmp(got, cases[c].wanted + first, count * sizeof(int)), 0, cases[c].why);
            }
        cbx_array_free(a);
    }
    cbx_ctx_free(ctx);
}

/* Memory of 2 x 33 x 19 x 40 numbers, of each axis some elements, seen in every order of axes:
 * large enough for tiles and what is left of them. */
TEST(axes_in_any_order_pack_row_major)
{
    enum { N = 2 * 33 * 19 * 40, RANK = 4 };
    static const cbx_dtype dtypes[] = { CBX_U8, CBX_I16, CBX_F32, CBX_F64, CBX_C128 };
    static const size_t lengths[RANK] = { 2, 33, 19, 40 };
    static const ptrdiff_t strides[RANK] = { 33 * 19 * 40, 19 * 40, 40, 1 };
    static unsigned char data[16 * N], got[16 * N];
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx *ctx = cbx_test_context();

    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 2654435761u >> 13);
    for (size_t t = 0; t < CBX_LEN(dtypes); t++)
        for (size_t order = 0; order < 256; order++) {
            const size_t axis[RANK] = { order & 3, order >> 2 & 3, order >> 4 & 3, order >> 6 },
                         size = cbx_dtype_size(dtypes[t]);
            cbx_array_desc d = { dtypes[t], RANK, { 0 } };
            ptrdiff_t step[RANK], from = 0;
            cbx_array *a = NULL;
            if ((1u << axis[0] | 1u << axis[1] | 1u << axis[2] | 1u << axis[3]) != 15) continue;
            for (int i = 0; i < RANK;
                 i++) { /* every other element of axis 3, axis 1 from its end, one of axis 2 is left out */
                const size_t x = axis[i];
                d.shape[i] = x == 3 ? 20 : lengths[x] - (x == 2);
                step[i] = strides[x] * (x == 3 ? 2 : x == 1 ? -1 : 1);
                if (x == 1) from = 32 * strides[1];
            }
            CHECK_OK(cbx_array_wrap(ctx, &d, step, data + (size_t)from * size, NULL, NULL, &a, &err), &err, "wrap");
            cbx__array_pack(a, 0, cbx_array_count(a), got);
            for (size_t k = 0; k < cbx_array_count(a); k++) {
                ptrdiff_t at = from;
                for (size_t rest = k, i = RANK; i-- > 0; rest /= d.shape[i])
                    at += (ptrdiff_t)(rest % d.shape[i]) * step[i];
                if (memcmp(got + k * size, data + (size_t)at * size, size) != 0)
                    fail_msg("%s, axes %zu %zu %zu %zu: element %zu", cbx_dtype_name(dtypes[t]), axis[0], axis[1],
                             axis[2], axis[3], k);
            }
            cbx_array_free(a);
        }
    cbx_ctx_free(ctx);
}

static void *share_and_drop(void *user)
{
    for (int i = 0; i < 20000; i++) cbx_array_free(cbx_array_ref(user));
    return NULL;
}

TEST(references_are_counted_across_threads)
{
    cbx_array_desc d = { CBX_F32, 1, { 10 } };
    cbx_test_alloc al;
    cbx_err err = CBX_ERR_INIT;
    cbx_array *a = NULL;
    pthread_t threads[2];

    cbx_test_alloc_init(&al);
    cbx_ctx *ctx = cbx_test_ctx(&al);
    CHECK_OK(cbx_array_create(ctx, &d, &a, &err), &err, "create");
    for (int i = 0; i < 2; i++) CHECK_INT(pthread_create(&threads[i], NULL, share_and_drop, a), 0, "thread");
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    ((float *)cbx_array_data_mut(a))[9] = 1; /* a lost count would have freed it */
    cbx_array_free(a);
    cbx_ctx_free(ctx);
    cbx_test_alloc_check(&al, "threads");
}

static cbx_status create_one(cbx_ctx *ctx, void *user)
{
    cbx_array_desc d = { CBX_F64, 2, { 30, 40 } };
    cbx_array *a = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = cbx_array_create(ctx, &d, &a, &err);

    (void)user;
    if (st && a) return CBX_EINTERNAL;
    cbx_array_free(a);
    return st;
}

TEST(no_memory) { CHECK_GT(cbx_test_fail_each(create_one, NULL, "cbx_array_create"), 1, "handle and block"); }

TESTS(.seconds = 600)
