/* The block pool. */
#include "check.h"

#include <pthread.h>

#include "calibrax/base/pool_internal.h"
#include "fail_alloc.h"

#define MIB ((size_t)1 << 20)

TEST(classes_waste_little)
{
    for (size_t size = 1; size < 64 * MIB; size += size / 7 + 1) {
        size_t c = cbx__pool_class(size);
        CHECK(c >= size && c % 64 == 0, "holds the request, in whole cache lines");
        CHECK(cbx__pool_class(c) == c, "a class serves itself");
        if (c >= 2 * MIB) CHECK(c % (2 * MIB) == 0, "whole huge pages");
        if (size > 256 && c < 2 * MIB) CHECK_LE((double)c, 1.25 * (double)size, "a quarter more at most");
        if (size > 16 * MIB) CHECK_LE((double)c, 1.25 * (double)size, "a quarter more at most");
    }
    CHECK_INT(cbx__pool_class(SIZE_MAX), 0, "too large for any");
    CHECK_INT(cbx__pool_class(SIZE_MAX / 4 + 1), 0, "too large for any");
}

TEST(blocks_come_back)
{
    static const struct {
        size_t size;
        const char *why;
    } cases[] = {
        { 1, "smallest" },
        { 1000, "small" },
        { 100000, "from the allocator" },
        { 2 * MIB - 1, "just below the mapped ones" },
        { 2 * MIB, "first mapped" },
        { 5 * MIB, "mapped" },
    };
    cbx_test_alloc t;
    cbx_test_alloc_init(&t);
    cbx_ctx *ctx = cbx_test_ctx(&t);
    cbx_pool *pool = cbx_ctx_pool(ctx);
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_block a, b;
        cbx_err err = CBX_ERR_INIT;
        CHECK_OK(cbx_pool_get(pool, cases[i].size, &a, &err), &err, cases[i].why);
        CHECK((uintptr_t)a.data % 64 == 0 && a.capacity >= cases[i].size, cases[i].why);
        if (cases[i].size >= 2 * MIB) CHECK((uintptr_t)a.data % (2 * MIB) == 0, "on a huge page's boundary");
        memset(a.data, 0x5A, a.capacity);
        cbx_pool_put(pool, a);
        CHECK_OK(cbx_pool_get(pool, cases[i].size, &b, &err), &err, cases[i].why);
        CHECK(b.data == a.data && b.capacity == a.capacity, "the same block again");
        memset(b.data, 0xA5, b.capacity);
        cbx_pool_put(pool, b);
    }
    cbx_pool_stats s;
    cbx_pool_get_stats(pool, &s);
    CHECK_INT(s.requests, 2 * CBX_LEN(cases), "requests");
    CHECK_INT(s.reused, CBX_LEN(cases) + 1, "each second time, and once 2 MiB of the one before");
    CHECK_INT(s.bytes_in_use, 0, "all given back");
    CHECK_GT(s.bytes_kept, 8 * MIB, "all kept");
    cbx_pool_trim(pool);
    cbx_pool_get_stats(pool, &s);
    CHECK_INT(s.bytes_kept, 0, "trimmed");
    cbx_ctx_free(ctx);
    cbx_test_alloc_check(&t, "pool");
}

TEST(nothing_and_too_much)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx *ctx = cbx_test_context();
    cbx_block b = { &err, 7 };
    CHECK_STATUS(cbx_pool_get(cbx_ctx_pool(ctx), SIZE_MAX, &b, &err), CBX_ENOMEM, "larger than the address space");
    CHECK_STATUS(cbx_pool_get(cbx_ctx_pool(ctx), (size_t)1 << 60, &b, &err), CBX_ENOMEM, "more than the kernel maps");
    CHECK(b.data == &err && b.capacity == 7, "out untouched");
    CHECK_OK(cbx_pool_get(cbx_ctx_pool(ctx), 0, &b, &err), &err, "no bytes");
    CHECK(b.data == NULL && b.capacity == 0, "no block");
    cbx_pool_put(cbx_ctx_pool(ctx), b);
    cbx_ctx_free(ctx);
}

TEST(the_limit_evicts_the_oldest)
{
    cbx_pool *pool = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_block b[4], again;
    cbx_pool_stats s;
    CHECK_OK(cbx__pool_create(cbx_allocator_default(), 2500, &pool, &err), &err, "pool");
    for (int i = 0; i < 4; i++) CHECK_OK(cbx_pool_get(pool, i == 3 ? 512 : 1024, &b[i], &err), &err, "get");
    cbx_pool_put(pool, b[0]);
    cbx_pool_put(pool, b[3]);
    cbx_pool_put(pool, b[1]); /* 2560: b[0], the oldest, goes */
    cbx_pool_get_stats(pool, &s);
    CHECK_INT(s.bytes_kept, 1536, "within the limit");
    CHECK_OK(cbx_pool_get(pool, 1024, &again, &err), &err, "get");
    CHECK(again.data == b[1].data, "the younger one is still there");
    cbx_pool_put(pool, again);
    CHECK_OK(cbx_pool_get(pool, 512, &again, &err), &err, "get");
    CHECK(again.data == b[3].data, "and the other class");
    cbx_pool_put(pool, again);
    cbx_pool_put(pool, b[2]);
    CHECK_OK(cbx_pool_get(pool, 4096, &again, &err), &err, "larger than the limit");
    cbx_pool_put(pool, again);
    cbx_pool_get_stats(pool, &s);
    CHECK_LE(s.bytes_kept, 2500, "not kept");
    CHECK_INT(s.bytes_in_use_peak, 4096, "the last block alone; 3 * 1024 + 512 before");
    cbx_pool_unref(pool);
}

TEST(outlives_its_context)
{
    cbx_test_alloc t;
    cbx_err err = CBX_ERR_INIT;
    cbx_block small, large;
    cbx_pool_stats s;
    cbx_test_alloc_init(&t);
    cbx_ctx *ctx = cbx_test_ctx(&t);
    cbx_pool *pool = cbx_pool_ref(cbx_ctx_pool(ctx));
    CHECK_OK(cbx_pool_get(pool, 100, &small, &err), &err, "get");
    CHECK_OK(cbx_pool_get(pool, 3 * MIB, &large, &err), &err, "get");
    cbx_ctx_free(ctx);
    memset(small.data, 1, small.capacity);
    cbx_pool_put(pool, small);
    cbx_pool_put(pool, large);
    cbx_pool_get_stats(pool, &s);
    CHECK_INT(s.bytes_kept, 0, "nothing is kept for a dead context");
    cbx_pool_unref(pool);
    cbx_pool_unref(NULL);
    cbx_test_alloc_check(&t, "pool that outlived its context");
}

typedef struct worker {
    pthread_t thread;
    cbx_pool *pool;
    unsigned char mark;
    int faults;
} worker;

static void *get_and_put(void *user)
{
    worker *w = user;
    for (size_t i = 0; i < 2000; i++) {
        cbx_block b[3];
        for (size_t j = 0; j < 3; j++) {
            if (cbx_pool_get(w->pool, 64 + (i * 37 + j * 101) % 5000, &b[j], NULL)) return w->faults++, NULL;
            memset(b[j].data, w->mark, b[j].capacity);
        }
        for (size_t j = 0; j < 3; j++) {
            const unsigned char *p = b[j].data;
            for (size_t k = 0; k < b[j].capacity; k += 63) w->faults += p[k] != w->mark;
            cbx_pool_put(w->pool, b[j]);
        }
    }
    return NULL;
}

TEST(threads_never_share_a_block)
{
    cbx_test_alloc t;
    cbx_test_alloc_init(&t);
    cbx_ctx *ctx = cbx_test_ctx(&t);
    worker w[4];
    for (int i = 0; i < 4; i++) {
        w[i] = (worker){ .pool = cbx_pool_ref(cbx_ctx_pool(ctx)), .mark = (unsigned char)(i + 1) };
        CHECK(pthread_create(&w[i].thread, NULL, get_and_put, &w[i]) == 0, "thread");
    }
    cbx_ctx_free(ctx);
    for (int i = 0; i < 4; i++) {
        pthread_join(w[i].thread, NULL);
        CHECK_INT(w[i].faults, 0, "only our own bytes");
        cbx_pool_unref(w[i].pool);
    }
    cbx_test_alloc_check(&t, "threads");
}

static cbx_status use_blocks(cbx_ctx *ctx, void *user)
{
    (void)user;
    cbx_err err = CBX_ERR_INIT;
    cbx_block b[3] = { { NULL, 0 } };
    cbx_status st = CBX_OK;
    for (size_t i = 0; i < 3 && !st; i++) st = cbx_pool_get(cbx_ctx_pool(ctx), 1000 * (i + 1), &b[i], &err);
    for (size_t i = 0; i < 3; i++) cbx_pool_put(cbx_ctx_pool(ctx), b[i]);
    return st;
}

TEST(every_allocation_can_fail) { CHECK_INT(cbx_test_fail_each(use_blocks, NULL, "pool"), 3, "three blocks"); }

TESTS()
