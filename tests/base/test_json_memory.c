/*
 * JSON when memory runs out.  Values take their memory from malloc, so malloc itself is replaced here and its n-th call
 * fails, while parsing, building, copying: each must come out as a failure or as the right value, with nothing left
 * allocated.
 */
#include "check.h"

#include <stdbool.h>
#include <stdlib.h>

#include "calibrax/base/json.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
#define REPLACED 1
#else
#define REPLACED 0
#endif

static bool armed;
static long calls, fail_at, live;

#if REPLACED
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void __libc_free(void *p);

static bool fails(void) { return armed && ++calls == fail_at; }

CBX_API void *malloc(size_t size)
{
    void *p = fails() ? NULL : __libc_malloc(size);
    if (armed && p) live++;
    return p;
}

CBX_API void *calloc(size_t n, size_t size)
{
    void *p = fails() ? NULL : __libc_calloc(n, size);
    if (armed && p) live++;
    return p;
}

CBX_API void *realloc(void *old, size_t size)
{
    void *p = fails() ? NULL : __libc_realloc(old, size);
    if (armed && p && !old) live++;
    return p;
}

CBX_API void free(void *p)
{
    if (armed && p) live--;
    __libc_free(p);
}
#endif

/* Members enough for slots, a number of more than 64 digits, a string and a key with escapes, an array that grows. */
static const char text[] =
    "[[1,2.5,NaN,true,12345678901234567890,7,8,9,10],{\"a\":1,\"b\":\"c\",\"\\u00e9\":\"\\n\",\"d\":{},"
    "\"e\":0,\"f\":0,\"g\":0,\"h\":0,\"i\":0,\"j\":0},null,0."
    "12345678901234567890123456789012345678901234567890123456789012345678901234567890]";

/* 0: came out wrong; 1: failed as it should; 2: came out right. */
static int parse_once(void)
{
    cbx_json *v = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = cbx_json_parse(text, sizeof text - 1, "t", &v, &err);
    if (st) return st == CBX_ENOMEM && v == NULL;
    const cbx_json *numbers = cbx_json_at(v, 0);
    const cbx_json *members = cbx_json_at(v, 1);
    int right = cbx_json_length(v) == 4 && cbx_json_length(numbers) == 9 && cbx_json_length(members) == 10 &&
                cbx_json_double_value(cbx_json_at(numbers, 1)) == 2.5 && cbx_json_has(members, "\xC3\xA9") &&
                cbx_json_has(members, "j");
    cbx_json_unref(v);
    return right ? 2 : 0;
}

static int build_once(void)
{
    cbx_json *o = cbx_json_new_object(), *a = cbx_json_new_array();
    bool good = cbx_json_set_string(o, "s", "text") && cbx_json_set_double(o, "d", 1.5) && cbx_json_set_int(o, "i", 1);
    good = cbx_json_push(a, cbx_json_new_bool(true)) && good;
    good = cbx_json_set(o, "a", a) && good;
    cbx_json *copy = good ? cbx_json_copy(o) : NULL;
    int right = copy && cbx_json_equal(o, copy) ? 2 : 1;
    cbx_json_unref(copy);
    cbx_json_unref(o);
    return right;
}

static void each_call_fails_once(int (*fn)(void), const char *why)
{
    if (!REPLACED) SKIP("malloc belongs to the sanitizer");
    for (fail_at = 1; fail_at < 1000; fail_at++) {
        calls = live = 0;
        armed = true;
        int outcome = fn();
        armed = false;
        CHECK(outcome != 0, why);
        CHECK_INT(live, 0, "nothing is left");
        if (calls < fail_at) {
            CHECK_INT(outcome, 2, "no call failed");
            CHECK_GT(fail_at, 10, "there were calls that could");
            return;
        }
    }
    fail_msg("%s: no end", why);
}

static void parsing(void **state)
{
    (void)state;
    each_call_fails_once(parse_once, "parsing");
}

static void building(void **state)
{
    (void)state;
    each_call_fails_once(build_once, "building");
}

TEST_FILE()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parsing),
        cmocka_unit_test(building),
    };
    return cmocka_run_group_tests_name("base/json_memory", tests, NULL, NULL);
}
