/*
 * A context over the counting allocator, for tests that need no more: before each test or group, and checked behind it.
 *
 *     cmocka_run_group_tests_name("pareto", tests, counted_setup, counted_teardown)
 */
#ifndef CALIBRAX_TESTS_SUPPORT_COUNTED_H
#define CALIBRAX_TESTS_SUPPORT_COUNTED_H

#include "fail_alloc.h"

extern cbx_ctx *ctx;

int counted_setup(void **state);
/** Fails if anything lives that was allocated through ctx, or an old size was wrong. */
int counted_teardown(void **state);

#endif
