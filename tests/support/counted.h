/*
 * A context over the counting allocator, for test programs that need no more: before each test or
 * group, and checked behind it. Included by one file of a program.
 *
 *     TESTS(.before = counted_setup, .after = counted_teardown)
 */
#ifndef CALIBRAX_TESTS_SUPPORT_COUNTED_H
#define CALIBRAX_TESTS_SUPPORT_COUNTED_H

#include "fail_alloc.h"

static cbx_ctx *ctx;
static cbx_test_alloc counted_memory;

static inline int counted_setup(void **state)
{
    (void)state;
    cbx_test_alloc_init(&counted_memory);
    ctx = cbx_test_ctx(&counted_memory);
    return 0;
}

/** Fails if anything lives that was allocated through ctx, or an old size was wrong. */
static inline int counted_teardown(void **state)
{
    (void)state;
    cbx_ctx_free(ctx);
    cbx_test_alloc_check(&counted_memory, "after the tests");
    return 0;
}

#endif
