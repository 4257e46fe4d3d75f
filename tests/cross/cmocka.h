/*
 * As much of cmocka as the kernels' tests use, for machines that are emulated and have no such
 * library: a failed assertion ends the program with status 1.
 */
#ifndef TESTS_CROSS_CMOCKA_H
#define TESTS_CROSS_CMOCKA_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*run)(void **state);
};

#define cmocka_unit_test(f)                                                                                            \
    {                                                                                                                  \
#f, f                                                                                                          \
    }
#define fail_msg(...)                                                                                                  \
    (printf("%s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), printf("\n"), fflush(stdout), exit(1))
#define print_message printf
#define CROSS_CHECK(x)                                                                                                 \
    do {                                                                                                               \
        if (!(x)) fail_msg("%s", #x);                                                                                  \
    } while (0)
#define assert_true(x)                   CROSS_CHECK(x)
#define assert_false(x)                  CROSS_CHECK(!(x))
#define assert_null(x)                   CROSS_CHECK(!(x))
#define assert_non_null(x)               CROSS_CHECK(x)
#define assert_int_equal(x, y)           CROSS_CHECK((long long)(x) == (long long)(y))
#define assert_int_not_equal(x, y)       CROSS_CHECK((long long)(x) != (long long)(y))
#define assert_ptr_equal(x, y)           CROSS_CHECK((const void *)(x) == (const void *)(y))
#define assert_string_equal(x, y)        CROSS_CHECK(strcmp(x, y) == 0)
#define assert_memory_equal(x, y, n)     CROSS_CHECK(memcmp(x, y, n) == 0)
#define assert_memory_not_equal(x, y, n) CROSS_CHECK(memcmp(x, y, n) != 0)

static inline int cross_run(const char *group, const struct CMUnitTest *t, size_t n)
{
    void *state = NULL;

    for (size_t i = 0; i < n; i++) {
        t[i].run(&state);
        printf("ok %s %s\n", group, t[i].name);
    }
    return 0;
}
#define cmocka_run_group_tests_name(name, tests, setup, teardown)                                                      \
    cross_run(name, tests, sizeof(tests) / sizeof *(tests))

#define TEST_FILE(...) int main(void)

#endif
