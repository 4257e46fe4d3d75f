/* The context and the conveniences over an allocator. */
#include "check.h"

#include "calibrax/base/ctx.h"
#include "calibrax/base/pool.h"
#include "fail_alloc.h"

TEST(options_are_checked)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx *ctx = (cbx_ctx *)&err; /* must stay as it is */
    cbx_ctx_opts opts = CBX_CTX_OPTS_INIT;
    opts.struct_size++;
    CHECK_STATUS(cbx_ctx_create(&opts, &ctx, &err), CBX_EINVAL, "options of another version");
    CHECK(strstr(err.message, "'struct_size'"), "the message names the member");
    CHECK(ctx == (cbx_ctx *)&err, "out untouched");
    CHECK_OK(cbx_ctx_create(NULL, &ctx, NULL), &err, "defaults");
    CHECK(cbx_ctx_allocator(ctx)->resize == cbx_allocator_default()->resize, "the C library's");
    cbx_ctx_free(ctx);
    cbx_ctx_free(NULL);
}

TEST(creation_can_fail)
{
    for (size_t n = 1; n <= 3; n++) {
        cbx_test_alloc t;
        cbx_test_alloc_init(&t);
        t.fail_at = n;
        cbx_ctx_opts opts = CBX_CTX_OPTS_INIT;
        opts.allocator = t.al;
        cbx_ctx *ctx = NULL;
        cbx_err err = CBX_ERR_INIT;
        CHECK_STATUS(cbx_ctx_create(&opts, &ctx, &err), n < 3 ? CBX_ENOMEM : CBX_OK, "context, then pool");
        cbx_ctx_free(ctx);
        cbx_test_alloc_check(&t, "creation");
    }
}

TEST(sizes_are_told)
{
    cbx_test_alloc t;
    cbx_test_alloc_init(&t);
    CHECK(cbx_mem_alloc(&t.al, 0) == NULL, "0 bytes are NULL");
    CHECK(cbx_mem_calloc(&t.al, SIZE_MAX / 2, 3) == NULL, "product overflows");
    CHECK_INT(t.calls, 0, "neither reached the allocator");
    char *p = cbx_mem_zalloc(&t.al, 100);
    for (int i = 0; i < 100; i++) CHECK(p[i] == 0, "zeroed");
    p = cbx_mem_resize(&t.al, p, 100, 200);
    char *s = cbx_mem_strdup(&t.al, "hello");
    CHECK_STR(s, "hello", "copy");
    CHECK_INT(t.live_bytes, 206, "200 and 6");
    cbx_mem_strfree(&t.al, s);
    cbx_mem_strfree(&t.al, NULL);
    cbx_mem_free(&t.al, NULL, 17);
    cbx_mem_free(&t.al, p, 200);
    cbx_test_alloc_check(&t, "conveniences");
    p = cbx_mem_resize(cbx_allocator_default(), NULL, 99, 10);
    CHECK(p, "an old size with NULL is ignored");
    CHECK(cbx_mem_resize(cbx_allocator_default(), p, 10, 0) == NULL, "0 frees");
}

/* The harness itself: a leak, a wrong size and a failure must show in its counters. */
TEST(the_harness_sees_faults)
{
    cbx_test_alloc t;
    cbx_test_alloc_init(&t);
    char *p = cbx_mem_alloc(&t.al, 10);
    CHECK_INT(t.live_bytes, 10, "what lives is counted");
    cbx_mem_free(&t.al, p, 11);
    CHECK_INT(t.wrong_sizes, 1, "a wrong old size is counted");
    CHECK_INT(t.live_bytes, 0, "freed by its true size");
    t.fail_at = 3;
    p = cbx_mem_alloc(&t.al, 8);
    strcpy(p, "kept");
    CHECK(cbx_mem_resize(&t.al, p, 8, 16) == NULL, "third request fails");
    CHECK_STR(p, "kept", "and leaves the block");
    CHECK_INT(t.failures, 1, "failure counted");
    cbx_mem_free(&t.al, p, 8);
}

TESTS()
