/*
 * What every test file includes first: cmocka with the headers it wants before it, and checks that
 * carry a reason.
 *
 * CHECK(cond, why), CHECK_INT(actual, wanted, why), CHECK_STR(actual, wanted, why), CHECK_LE(a, b,
 * why), CHECK_GT(a, b, why), CHECK_OK(status, err, why), CHECK_STATUS(actual, wanted, why): each
 * fails the test with both values and the reason. SKIP(why) leaves a test that cannot run here.
 * worse(x, y): the larger error, NaN, which no bound allows, if one is.
 *
 * A test file holds tests and ends with what is true of all of them.  All files of a folder are one
 * program (runner.c):
 *
 *     TEST(something_holds)
 *     {
 *         CHECK(1 + 1 == 2, "why");
 *     }
 *
 *     TESTS(.seconds = 600)
 *
 * Tests run in the order in which they are written.  TEST(name, setup, teardown) has its own;
 * *test_state is what setup left.  TEST_FILE() { ... } is a file that runs its cases itself, as
 * an int.
 */
#ifndef CALIBRAX_TESTS_SUPPORT_CHECK_H
#define CALIBRAX_TESTS_SUPPORT_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "calibrax/base/ctx.h"
#include "test_file.h"

/* fmax would drop a NaN, and a wrong answer with it. */
static inline double worse(double x, double y) { return x > y || x != x ? x : y; }

#ifndef TEST_FILE /* tests/cross has its own */
#define TEST_FILE(...)                                                                                                 \
    static int cbx_test_run(const cbx_test_file *);                                                                    \
    __attribute__((constructor)) static void cbx_test_enter(void)                                                      \
    {                                                                                                                  \
        static cbx_test_file file = { .run = cbx_test_run, .path = __FILE__, __VA_ARGS__ };                            \
        cbx_test_register(&file);                                                                                      \
    }                                                                                                                  \
    static int cbx_test_run(__attribute__((unused)) const cbx_test_file *cbx_test_this)
#endif

typedef struct cbx_test_case {
    struct CMUnitTest test;
    int line;
    struct cbx_test_case *next;
} cbx_test_case;

static cbx_test_case *cbx_test_cases __attribute__((unused)); /* of this file, by line */

void cbx_test_add(cbx_test_case **cases, cbx_test_case *test);
int cbx_test_run_cases(const cbx_test_file *file);

#define TEST(name, ...)                                                                                                \
    static void name(void **);                                                                                         \
    __attribute__((constructor)) static void cbx_test_enter_##name(void)                                               \
    {                                                                                                                  \
        static cbx_test_case entry = { { #name, name, __VA_ARGS__ }, __LINE__, NULL };                                 \
        cbx_test_add(&cbx_test_cases, &entry);                                                                         \
    }                                                                                                                  \
    static void name(__attribute__((unused)) void **test_state)

#define TESTS(...)                                                                                                     \
    __attribute__((constructor)) static void cbx_test_enter(void)                                                      \
    {                                                                                                                  \
        static cbx_test_file file = {                                                                                  \
            .run = cbx_test_run_cases, .path = __FILE__, .cases = &cbx_test_cases, __VA_ARGS__                         \
        };                                                                                                             \
        cbx_test_register(&file);                                                                                      \
    }

/** Leaves the running test, which cannot run here. */
void cbx_test_skip(const char *why);

#define SKIP(why) cbx_test_skip(why)

/** A context with the defaults, for the caller to free. */
cbx_ctx *cbx_test_context(void);
/** The path of a file of this source tree, until the next call. */
__attribute__((format(printf, 1, 2))) const char *cbx_test_source(const char *format, ...);
/** Writes a file anew, with the folders above it. */
__attribute__((format(printf, 2, 3))) void cbx_test_put(const char *text, const char *path_format, ...);

#define CHECK(cond, why)                                                                                               \
    do {                                                                                                               \
        if (!(cond)) fail_msg("%s: not true: %s", (why), #cond);                                                       \
    } while (0)

#define CHECK_INT(actual, wanted, why)                                                                                 \
    do {                                                                                                               \
        long long check_a = (long long)(actual), check_w = (long long)(wanted);                                        \
        if (check_a != check_w) fail_msg("%s: %s is %lld, not %lld", (why), #actual, check_a, check_w);                \
    } while (0)

#define CHECK_STR(actual, wanted, why)                                                                                 \
    do {                                                                                                               \
        const char *check_a = (actual), *check_w = (wanted);                                                           \
        if (!check_a || !check_w || strcmp(check_a, check_w) != 0)                                                     \
            fail_msg("%s: %s is \"%s\", not \"%s\"", (why), #actual, check_a ? check_a : "(null)",                     \
                     check_w ? check_w : "(null)");                                                                    \
    } while (0)

#define CHECK_LE(a, b, why)                                                                                            \
    do {                                                                                                               \
        double check_a = (double)(a), check_b = (double)(b);                                                           \
        if (!(check_a <= check_b)) fail_msg("%s: %s = %.17g > %.17g", (why), #a, check_a, check_b);                    \
    } while (0)

#define CHECK_GT(a, b, why)                                                                                            \
    do {                                                                                                               \
        double check_a = (double)(a), check_b = (double)(b);                                                           \
        if (!(check_a > check_b)) fail_msg("%s: %s = %.17g <= %.17g", (why), #a, check_a, check_b);                    \
    } while (0)

#define CHECK_OK(status, err, why)                                                                                     \
    do {                                                                                                               \
        cbx_status check_s = (status);                                                                                 \
        if (check_s) fail_msg("%s: CBX_%s: %s", (why), cbx_status_name(check_s), (err)->message);                      \
    } while (0)

#define CHECK_STATUS(status, wanted, why)                                                                              \
    do {                                                                                                               \
        cbx_status check_s = (status), check_w = (wanted);                                                             \
        if (check_s != check_w)                                                                                        \
            fail_msg("%s: CBX_%s, not CBX_%s", (why), cbx_status_name(check_s), cbx_status_name(check_w));             \
    } while (0)

#endif
