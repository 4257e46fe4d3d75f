/*
 * JSON when memory runs out.  Values take their memory from malloc, so malloc itself is replaced
 * here and its n-th call fails, while parsing, building, copying: each must come out as a failure
 * or as the right value, with nothing left allocated.
 */
#include "check.h"

#include <math.h>
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

/* Members enough for slots, a number of more than 64 digits, a string and a key with escapes, an
 * array that grows. */
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

/* Nothing is checked on the way: what is missing shows at the end, in the value and in its text. */
static int build_unchecked(void)
{
    static const double x[] = { 1, 2 };
    cbx_json *o = cbx_json_new_object(), *list = cbx_json_set_array(o, "list"), *deep;
    cbx_text out;

    for (int i = 0; i < 6; i++) cbx_json_set_int(cbx_json_push_object(list), "i", i);
    cbx_json_set_doubles(o, "x", x, CBX_LEN(x));
    cbx_json_set_interval(o, "time", 1, 0.5, INFINITY, 0.95);
    deep = cbx_json_new_array();
    cbx_json_push_string(deep, "s");
    cbx_json_push_string(deep, NULL);
    cbx_json_set(o, "deep", deep);
    cbx_text_init(&out, cbx_allocator_default());
    cbx_json_write(o, CBX_JSON_COMPACT, &out);
    int whole = strcmp(cbx_text_str(&out),
                       "{\"list\":[{\"i\":0},{\"i\":1},{\"i\":2},{\"i\":3},{\"i\":4},{\"i\":5}],\"x\":[1.0,2.0],"
                       "\"time\":{\"value\":1.0,\"lower\":0.5,\"upper\":null,\"level\":0.95},\"deep\":[\"s\",null]}") ==
                0;
    int failed = cbx_json_check(o, NULL) == CBX_ENOMEM;
    int right = failed ? !o || out.status : out.status ? 1 : whole ? 2 : 0;
    cbx_text_clear(&out);
    cbx_json_unref(o);
    return right;
}

static void each_call_fails_once(int (*fn)(void), const char *why)
{
    if (!REPLACED) SKIP("sanitizer: malloc belongs to the sanitizer");
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

TEST(parsing) { each_call_fails_once(parse_once, "parsing"); }

TEST(building) { each_call_fails_once(build_once, "building"); }

TEST(building_unchecked) { each_call_fails_once(build_unchecked, "building without checks"); }

TESTS()
