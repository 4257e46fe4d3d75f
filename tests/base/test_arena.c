/* The arena; built a second time with CBX_ARENA_DEBUG (every allocation alone). */
#include "check.h"

#include <stdalign.h>
#include <stdbool.h>

#include "calibrax/base/together.h"
#include "fail_alloc.h"

TEST(zeroed_aligned_distinct)
{
    cbx_test_alloc t;
    cbx_test_alloc_init(&t);
    cbx_arena a;
    cbx_arena_init(&a, &t.al);
    char *last = NULL;
    for (size_t size = 0; size < 3000; size += 7) {
        char *p = cbx_arena_alloc(&a, size);
        CHECK((uintptr_t)p % alignof(max_align_t) == 0, "aligned");
        CHECK(p && p != last, "distinct, also of size 0");
        for (size_t i = 0; i < size; i++) CHECK(p[i] == 0, "zeroed");
        memset(p, 0xAB, size);
        last = p;
    }
    char *big = cbx_arena_alloc(&a, (size_t)5 << 20);
    CHECK(big && big[((size_t)5 << 20) - 1] == 0, "larger than any chunk");
    cbx_arena_clear(&a);
    cbx_test_alloc_check(&t, "clear frees all");
    CHECK(cbx_arena_alloc(&a, 1), "usable after clear");
    cbx_arena_clear(&a);
    cbx_test_alloc_check(&t, "and again");
}

TEST(sizes_that_cannot_be)
{
    cbx_arena a;
    cbx_arena_init(&a, cbx_allocator_default());
    CHECK(cbx_arena_alloc(&a, SIZE_MAX) == NULL, "rounding up would wrap");
    CHECK(cbx_arena_alloc(&a, SIZE_MAX - 8) == NULL, "rounding up would wrap");
    CHECK(cbx_arena_calloc(&a, SIZE_MAX / 2, 3) == NULL, "product overflows");
    cbx_arena_clear(&a);
}

TEST(strings)
{
    cbx_arena a;
    cbx_arena_init(&a, cbx_allocator_default());
    CHECK_STR(cbx_arena_strdup(&a, "abc"), "abc", "copy");
    CHECK_STR(cbx_arena_strdup(&a, ""), "", "empty");
    CHECK(cbx_arena_strdup(&a, NULL) == NULL, "NULL gives NULL");
    CHECK(cbx_arena_strndup(&a, NULL, 3) == NULL, "NULL gives NULL");
    CHECK_STR(cbx_arena_strndup(&a, "abcdef", 3), "abc", "cut");
    CHECK_STR(cbx_arena_strndup(&a, "ab", 30), "ab", "shorter than n");
    CHECK_STR(cbx_arena_printf(&a, "%s-%d", "x", 5), "x-5", "printf");
    CHECK(strlen(cbx_arena_printf(&a, "%10000d", 1)) == 10000, "long");
    cbx_arena_clear(&a);
}

TEST(arrays_together)
{
    cbx_arena a;
    double *x;
    const char **names;
    char *none;
    cbx_arena_init(&a, cbx_allocator_default());
    CHECK(cbx_arena_arrays(&a, CBX_ARRAY(x, 3), CBX_ARRAY(names, 2), CBX_ARRAY(none, 0)), "capacity for three arrays");
    CHECK(x[0] == 0 && x[2] == 0 && !names[0] && !names[1] && none, "zeroed; none has an address");
    CHECK((void *)names >= (void *)(x + 3) || (void *)(names + 2) <= (void *)x, "apart");
    CHECK(!cbx_arena_arrays(&a, CBX_ARRAY(x, SIZE_MAX / 2), CBX_ARRAY(names, 2)), "one cannot be");
    CHECK(!x && names, "the failed one is NULL, the other is allocated");
    cbx_arena_clear(&a);
}

static cbx_status many(cbx_ctx *ctx, void *user)
{
    (void)user;
    cbx_arena a;
    double *x, *y;
    bool good = true;
    cbx_arena_init(&a, cbx_ctx_allocator(ctx));
    for (int i = 0; i < 40 && good; i++)
        good = cbx_arena_alloc(&a, 500) && cbx_arena_strdup(&a, "x") && cbx_arena_printf(&a, "%d", i) &&
               cbx_arena_calloc(&a, 3, 5);
    if (good) good = cbx_arena_arrays(&a, CBX_ARRAY(x, 900), CBX_ARRAY(y, 900));
    cbx_arena_clear(&a);
    return good ? CBX_OK : CBX_ENOMEM;
}

TEST(every_allocation_can_fail) { CHECK_GT(cbx_test_fail_each(many, NULL, "arena"), 2, "more than two chunks"); }

TESTS()
