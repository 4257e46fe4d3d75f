/* JSON: what is read and refused, looked up, built, written. */
#include "check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/base/file.h"
#include "calibrax/base/json.h"
#include "calibrax/base/rng.h"
#include "fail_alloc.h"

static cbx_json *parse(const char *text)
{
    cbx_json *v = NULL;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_json_parse(text, strlen(text), "test", &v, &err), &err, text);
    return v;
}

/* Compact form in a buffer that lives until the next call. */
static const char *written(const cbx_json *v, unsigned flags)
{
    static char buf[2048];
    cbx_text t;
    cbx_text_init(&t, cbx_allocator_default());
    cbx_json_write(v, flags, &t);
    snprintf(buf, sizeof buf, "%s", cbx_text_str(&t));
    cbx_text_clear(&t);
    return buf;
}

TEST(accepted)
{
    static const struct {
        const char *text, *compact, *why;
    } cases[] = {
        { "null", "null", "bare null" },
        { " \t\r\n12 \n", "12", "white space around" },
        { "-0", "0", "as in Python: an integer has no sign of zero" },
        { "-0.0", "-0.0", "a double has" },
        { "1200.0", "1200.0", "stays a double" },
        { "[1e5,1E-7]", "[100000.0,1e-07]", "an exponent makes a double" },
        { "9223372036854775807", "9223372036854775807", "INT64_MAX" },
        { "9223372036854775808", "9223372036854775808", "beyond, still exact" },
        { "18446744073709551615", "18446744073709551615", "UINT64_MAX" },
        { "-9223372036854775808", "-9223372036854775808", "INT64_MIN" },
        { "-9223372036854775809", "-9223372036854775809", "INT64_MIN - 1" },
        { "[123456789012345678901234567890]", "[123456789012345678901234567890]", "an integer of Python" },
        { "{\"n\":100000000000000000000}", "{\"n\":100000000000000000000}", "zeros at its end" },
        { "[NaN,Infinity,-Infinity]", "[NaN,Infinity,-Infinity]", "bare non-finite" },
        { "1e400", "Infinity", "overflows as in Python" },
        { "{\"b\":1,\"a\":2,\"c\":{\"b\":3}}", "{\"b\":1,\"a\":2,\"c\":{\"b\":3}}", "order kept" },
        { "\xEF\xBB\xBF{}", "{}", "a byte-order mark is passed over" },
        { "[\"\\u00e9\\ud83d\\ude00\\/\"]", "[\"\xC3\xA9\xF0\x9F\x98\x80/\"]", "escapes and a pair of surrogates" },
        { "[\"\\ud800\"]", "[\"\xEF\xBF\xBD\"]", "half a pair" },
        { "[[],{},[{}]]", "[[],{},[{}]]", "empty ones" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_json *v = parse(cases[i].text);
        CHECK_STR(written(v, CBX_JSON_COMPACT), cases[i].compact, cases[i].why);
        cbx_json_unref(v);
    }
}

TEST(refused)
{
    static const struct {
        const char *text, *said, *why;
    } cases[] = {
        { "", "empty", "nothing" },
        { " \n", "empty", "white space only" },
        { "[1,2", "too early, at offset 4", "unended" },
        { "{\"a\":", "too early", "unended" },
        { "\"abc", "too early", "unended string" },
        { "\"abc\\", "too early", "ends in an escape" },
        { "tru", "too early", "part of a word" },
        { "1 2", "after the value at offset 2", "two values" },
        { "{}x", "after the value at offset 2", "trailing garbage" },
        { "[1,]", "offset 3", "trailing comma" },
        { "{\"a\":1,}", "offset", "trailing comma" },
        { "[1 2]", "offset 3", "no comma" },
        { "{\"a\" 1}", "offset 5", "no colon" },
        { "{1:2}", "offset 1", "a key that is not a string" },
        { "{'a':1}", "single quote at offset 1", "single quotes" },
        { "[01]", "malformed number", "leading zero" },
        { "1.", "malformed number", "no digit behind the point" },
        { ".5", "offset 0", "none before it" },
        { "+1", "offset 0", "plus" },
        { "-", "malformed number", "minus alone" },
        { "1e", "malformed number", "no exponent" },
        { "0x10", "after the value", "hexadecimal" },
        { "nan", "offset", "words are case-sensitive" },
        { "infinity", "offset", "words are case-sensitive" },
        { "True", "offset", "words are case-sensitive" },
        { "-NaN", "malformed number", "NaN has no sign" },
        { "\"a\tb\"", "control character in a string at offset 2", "raw tab" },
        { "[\f1]", "control character at offset 1", "form feed" },
        { "// c\n1", "offset 0", "comment" },
        { "/* c */1", "offset 0", "comment" },
        { "\"\\x41\"", "offset", "unknown escape" },
        { "\"\xFF\"", "not UTF-8 in a string at offset 1", "a byte that is in no UTF-8" },
        { "\"\xC3\"", "not UTF-8", "half a sequence" },
        { "\"\xED\xA0\x80\"", "not UTF-8", "a surrogate" },
        { "\"\xE0\x80\xAF\"", "not UTF-8", "overlong" },
        { "{\"\xF4\x90\x80\x80\":1}", "not UTF-8", "beyond U+10FFFF, in a key" },
        { "[\xC3\xA9]", "offset 1", "outside a string" },
        { "\xEF\xBB\xBF\xEF\xBB\xBF{}", "offset 3", "a byte-order mark that is none, behind the first" },
        { "\xFF\xFE[", "is UTF-16, not UTF-8", "the mark of UTF-16" },
        { "\xFE\xFF", "is UTF-16, not UTF-8", "of either byte order" },
        { "\"a\\u0000b\"", "a NUL (\\u0000) in a string at offset 2", "a text that C would cut" },
        { "{\"name\":1,\"na\\u0000me\":2}", "a NUL (\\u0000) in a string", "in a key" },
        { "{\"b\":1,\"a\":2,\"b\":3}", "the key 'b' is listed twice in the object that ends at offset 19",
          "which one counts?" },
        { "[{\"a\":{\"k\":[],\"k\":null}}]", "the key 'k' is listed twice", "deeper" },
        { "{\"1\":0,\"2\":0,\"3\":0,\"4\":0,\"5\":0,\"6\":0,\"7\":0,\"8\":0,\"9\":0,\"5\":{}}",
          "the key '5' is listed twice", "among many" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_json *v = (cbx_json *)&cases[i];
        cbx_err err = CBX_ERR_INIT;
        CHECK_STATUS(cbx_json_parse(cases[i].text, strlen(cases[i].text), "f.json", &v, &err), CBX_EFORMAT,
                     cases[i].text);
        if (!strstr(err.message, cases[i].said))
            fail_msg("%s: \"%s\" does not say \"%s\"", cases[i].why, err.message, cases[i].said);
        CHECK(strstr(err.message, "'f.json'"), "names the source");
        CHECK(v == (cbx_json *)&cases[i], "out untouched");
    }
    cbx_err err = CBX_ERR_INIT;
    cbx_json *v = NULL;
    CHECK_STATUS(cbx_json_parse("[1]\0", 4, "f", &v, &err), CBX_EFORMAT, "NUL behind the value");
    CHECK_STATUS(cbx_json_parse("[1,2]", 3, "f", &v, &err), CBX_EFORMAT, "the length counts, not the NUL");
}

TEST(depth_is_limited)
{
    char text[300];
    cbx_err err = CBX_ERR_INIT;
    cbx_json *v = NULL;
    for (int depth = 60; depth <= 70; depth++)
        for (int filled = 0; filled <= 1; filled++) {
            memset(text, '[', (size_t)depth);
            if (filled) text[depth] = '1';
            memset(text + depth + filled, ']', (size_t)depth);
            cbx_status st = cbx_json_parse(text, (size_t)(2 * depth + filled), "f", &v, &err);
            CHECK_STATUS(st, depth <= 64 ? CBX_OK : CBX_EOVERFLOW, "64 levels, empty or filled at the bottom");
            if (!st) cbx_json_unref(v);
        }
    v = NULL;
    CHECK_STATUS(cbx_json_parse("\"[[[[\\\"[[[\"", 11, "f", &v, &err), CBX_OK, "brackets in a string do not count");
    cbx_json_unref(v);
}

TEST(looking_up)
{
    cbx_json *o = parse(
        "{\"s\":\"x\",\"i\":7,\"d\":2.5,\"whole\":3.0,\"b\":true,\"z\":null,\"n\":\"-Infinity\",\"a\":[1,2],\"o\":{},"
        "\"u\":18446744073709551615,\"low\":-18446744073709551616,\"big\":1e300}");
    cbx_json *value = NULL;
    const char *key = NULL;
    CHECK_STR(cbx_json_get_string(o, "s", "?"), "x", "string");
    CHECK_STR(cbx_json_get_string(o, "i", "?"), "?", "another type");
    CHECK_STR(cbx_json_get_string(o, "absent", "?"), "?", "absent");
    CHECK_INT(cbx_json_get_int(o, "i", -1), 7, "integer");
    CHECK_INT(cbx_json_get_int(o, "whole", -1), 3, "written as 3.0");
    CHECK_INT(cbx_json_get_int(o, "d", -1), -1, "2.5 is none");
    CHECK_INT(cbx_json_get_int(o, "big", -1), -1, "nor is 1e300");
    CHECK_INT(cbx_json_get_int(o, "u", -1), INT64_MAX, "saturates");
    CHECK_INT(cbx_json_get_int(o, "low", -1), INT64_MIN, "at the other end, too");
    CHECK(cbx_json_typeof(cbx_json_get(o, "low")) == CBX_JSON_INT, "it is an integer");
    CHECK(cbx_json_string_value(cbx_json_get(o, "low")) == NULL, "and no string");
    CHECK(cbx_json_get_double(o, "low", -1) == -0x1p64, "the nearest double");
    CHECK(cbx_json_get_double(o, "i", -1) == 7.0, "an integer is a number");
    CHECK(cbx_json_get_double(o, "u", -1) == 0x1p64, "so is a large one");
    CHECK(cbx_json_get_double(o, "big", -1) == 1e300, "and one beyond every integer");
    CHECK(cbx_json_get_double(o, "n", -1) == -INFINITY, "non-finite string");
    CHECK(cbx_json_get_double(o, "s", -1) == -1.0, "another string");
    CHECK(cbx_json_get_bool(o, "b", false), "boolean");
    CHECK(cbx_json_get_bool(o, "i", true), "fallback");
    CHECK(cbx_json_has(o, "z") && !cbx_json_has(o, "absent"), "null is there");
    CHECK(cbx_json_get(o, "z") == NULL && cbx_json_get(NULL, "z") == NULL &&
              cbx_json_get(cbx_json_get(o, "a"), "z") == NULL,
          "NULL");
    CHECK_INT(cbx_json_length(o), 12, "members");
    CHECK_INT(cbx_json_length(cbx_json_get(o, "a")), 2, "elements");
    CHECK_INT(cbx_json_length(NULL), 0, "null has none");
    CHECK(cbx_json_at(cbx_json_get(o, "a"), 2) == NULL && cbx_json_at(o, 0) == NULL, "past the end, no array");
    CHECK(cbx_json_member(o, 2, &key, &value) && !strcmp(key, "d"), "third");
    CHECK(!cbx_json_member(o, 12, &key, &value) && !cbx_json_member(cbx_json_get(o, "a"), 0, &key, &value),
          "past the end, no object");
    CHECK(isnan(cbx_json_double_value(NULL)) && cbx_json_int_value(NULL) == 0 && !cbx_json_bool_value(NULL),
          "values of null");
    cbx_json_unref(o);
}

TEST(strict_getters)
{
    cbx_json *o = parse("{\"s\":\"x\",\"i\":7,\"z\":null,\"a\":[],\"nan\":\"NaN\"}"), *v = NULL;
    cbx_err err = CBX_ERR_INIT;
    const char *s = NULL;
    int64_t i = 5;
    double d = 5;
    CHECK_OK(cbx_json_need_string(o, "s", "run", &s, &err), &err, "string");
    CHECK_OK(cbx_json_need_int(o, "i", "run", &i, &err), &err, "integer");
    CHECK_OK(cbx_json_need_double(o, "i", "run", &d, &err), &err, "number");
    CHECK_OK(cbx_json_need_double(o, "nan", "run", &d, &err), &err, "non-finite string");
    CHECK_OK(cbx_json_need_array(o, "a", "run", &v, &err), &err, "array");
    CHECK(i == 7 && isnan(d), "values");
    CHECK_STATUS(cbx_json_need_int(o, "s", "run", &i, &err), CBX_EFORMAT, "wrong type");
    CHECK_STR(err.message, "'run.s': expected an integer, found a string", "says what it wanted");
    CHECK_STATUS(cbx_json_need_double(o, "s", NULL, &d, &err), CBX_EFORMAT, "no path");
    CHECK_STR(err.message, "'s': expected a number, found a string", "without path");
    CHECK_STATUS(cbx_json_need_string(o, "gone", "run", &s, &err), CBX_EFORMAT, "absent");
    CHECK_STR(err.message, "'run.gone': expected a string, found nothing", "says so");
    CHECK_STATUS(cbx_json_need_object(o, "z", "run", &v, &err), CBX_EFORMAT, "null");
    CHECK_STR(err.message, "'run.z': expected an object, found null", "says so");
    CHECK_STATUS(cbx_json_need_object(cbx_json_get(o, "a"), "z", "run.a", &v, &err), CBX_EFORMAT, "no object");
    CHECK_STR(err.message, "'run.a': expected an object, found an array", "the parent is at fault");
    CHECK(i == 7, "out untouched");
    cbx_json_unref(o);
}

TEST(equality)
{
    static const struct {
        const char *a, *b;
        bool equal;
        const char *why;
    } cases[] = {
        { "1", "1.0", true, "integer and double" },
        { "9007199254740993", "9007199254740992.0", false, "no rounding on the way" },
        { "18446744073709551615", "18446744073709551616.0", false, "no rounding on the way" },
        { "18446744073709551615", "9223372036854775807", false, "no saturation on the way" },
        { "9223372036854775808", "9223372036854775808.0", true, "2^63" },
        { "-18446744073709551616", "-18446744073709551616.0", true, "-2^64" },
        { "18446744073709551616", "18446744073709551617", false, "the last digit" },
        { "[18446744073709551616]", "[18446744073709551616]", true, "long ones" },
        { "18446744073709551616", "\"18446744073709551616\"", false, "number and string" },
        { "NaN", "NaN", true, "NaN equals NaN" },
        { "NaN", "\"NaN\"", false, "number and string" },
        { "{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", true, "order of keys" },
        { "{\"a\":1}", "{\"a\":1,\"b\":null}", false, "a null member counts" },
        { "{\"a\":null}", "{\"b\":null}", false, "other key" },
        { "[1,2]", "[2,1]", false, "order of elements" },
        { "[1]", "[1,1]", false, "length" },
        { "null", "false", false, "null is no boolean" },
        { "0.0", "-0.0", true, "zeros" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_json *a = parse(cases[i].a), *b = parse(cases[i].b);
        CHECK(cbx_json_equal(a, b) == cases[i].equal && cbx_json_equal(b, a) == cases[i].equal, cases[i].why);
        cbx_json_unref(a);
        cbx_json_unref(b);
    }
}

/* The C library's strtod is the truth, also next to the middle of two doubles. */
static size_t misread(const char *text)
{
    cbx_json *v = parse(text);
    double ours = cbx_json_double_value(v), right = strtod(text, NULL);
    cbx_json_unref(v);
    return memcmp(&ours, &right, sizeof ours) != 0;
}

TEST(decimals_are_rounded_right)
{
    cbx_rng rng = cbx_rng_make(20261122, 1);
    size_t wrong = 0;
    char text[64];
    for (int i = 0; i < 200000; i++) { /* as many digits and powers as a fast way may take, and some more */
        uint64_t digits = cbx_rng_u64(&rng) >> cbx_rng_below(&rng, 40);
        snprintf(text, sizeof text, "%s%" PRIu64 "e%d", i % 2 ? "-" : "", digits, (int)cbx_rng_below(&rng, 64) - 32);
        wrong += misread(text);
    }
    CHECK_INT(wrong, 0, "digits and a power");
    for (int i = 0; i < 100000; i++) { /* integers of 54 to 60 bits at, just below and just above a middle */
        int bits = 1 + (int)cbx_rng_below(&rng, 7);
        uint64_t even = (((uint64_t)1 << 52) + cbx_rng_below(&rng, (uint64_t)1 << 52)) << bits;
        uint64_t middle = even + ((uint64_t)1 << (bits - 1));
        snprintf(text, sizeof text, "%" PRIu64 ".%d", middle - 1 + cbx_rng_below(&rng, 3), (int)cbx_rng_below(&rng, 3));
        wrong += misread(text);
        snprintf(text, sizeof text, "%" PRIu64 ".5e-%d", middle, (int)cbx_rng_below(&rng, 28));
        wrong += misread(text);
    }
    CHECK_INT(wrong, 0, "next to a middle");
}

TEST(building)
{
    cbx_json *o = cbx_json_new_object(), *a = cbx_json_new_array();
    CHECK(cbx_json_set_int(o, "i", INT64_MIN) && cbx_json_set_double(o, "d", 2) && cbx_json_set_bool(o, "b", true),
          "scalars");
    CHECK(cbx_json_set_string(o, "s", "x") && cbx_json_set_string(o, "none", NULL) && cbx_json_set_null(o, "z"),
          "strings and null");
    CHECK(cbx_json_push(a, cbx_json_new_string("e")) && cbx_json_push_null(a), "array");
    CHECK(cbx_json_set(o, "a", cbx_json_ref(a)), "shared");
    CHECK_STR(
        written(o, 0),
        "{\"i\":-9223372036854775808,\"d\":2.0,\"b\":true,\"s\":\"x\",\"none\":null,\"z\":null,\"a\":[\"e\",null]}",
        "all");
    cbx_json *copy = cbx_json_copy(o);
    CHECK(cbx_json_equal(o, copy), "copy");
    CHECK(cbx_json_push(a, cbx_json_new_int(1)) && !cbx_json_equal(o, copy), "deep");
    CHECK(cbx_json_remove(o, "i") && !cbx_json_remove(o, "i") && !cbx_json_remove(a, "i"), "remove");
    CHECK(cbx_json_set_int(o, "d", 3) && cbx_json_get_int(o, "d", 0) == 3, "replace");
    CHECK(!cbx_json_set(o, "x", NULL) && !cbx_json_push(a, NULL), "a creator's failure is passed on");
    CHECK(!cbx_json_set(a, "x", cbx_json_new_int(1)) && !cbx_json_push(o, cbx_json_new_int(1)),
          "wrong kind; the value is freed");
    CHECK(cbx_json_copy(NULL) == NULL, "nothing");
    cbx_json_unref(copy);
    cbx_json_unref(a);
    cbx_json_unref(o);
    cbx_json_unref(NULL);
}

static const struct {
    const char *file;
    unsigned flags;
} layouts[] = {
    { "indent2_ascii", CBX_JSON_INDENT2 | CBX_JSON_ASCII },
    { "indent2", CBX_JSON_INDENT2 },
    { "compact_ascii", CBX_JSON_COMPACT | CBX_JSON_ASCII },
    { "compact", CBX_JSON_COMPACT },
    { "compact_sorted", CBX_JSON_COMPACT | CBX_JSON_SORT_KEYS },
    { "indent2_sorted_ascii", CBX_JSON_INDENT2 | CBX_JSON_SORT_KEYS | CBX_JSON_ASCII },
};

TEST(layout_equals_python)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    int unlike = 0;
    for (size_t i = 0; i < CBX_LEN(layouts); i++) {
        const char *path = cbx_test_source("tests/base/fixtures/json_layout.%s", layouts[i].file);
        char *wanted = NULL;
        size_t len = 0;
        cbx_json *v = NULL;
        CHECK_OK(cbx_file_read(ctx, path, 0, &wanted, &len, &err), &err, "fixture");
        CHECK_OK(cbx_json_read(ctx, path, &v, &err), &err, "what Python wrote is read");
        CHECK_STR(written(v, layouts[i].flags), wanted, layouts[i].file);
        unlike += strcmp(written(v, layouts[(i + 1) % CBX_LEN(layouts)].flags), wanted) != 0;
        cbx_json_unref(v);
        cbx_mem_free(cbx_ctx_allocator(ctx), wanted, len + 1);
    }
    CHECK_INT(unlike, CBX_LEN(layouts) - 1,
              "with the flags of its neighbour each differs, but sorted order, once written, stays");
    cbx_ctx_free(ctx);
}

/* The same value, member by member. */
static void write_in_parts(cbx_json_writer *w, const char *key, const cbx_json *v)
{
    cbx_json_type type = cbx_json_typeof(v);
    const char *name;
    cbx_json *member;

    if (type == CBX_JSON_DOUBLE) {
        cbx_json_writer_add_double(w, key, cbx_json_double_value(v));
    } else if (type == CBX_JSON_STRING) {
        cbx_json_writer_add_string(w, key, cbx_json_string_value(v));
    } else if (type != CBX_JSON_ARRAY && type != CBX_JSON_OBJECT) {
        cbx_json_writer_add(w, key, v);
    } else {
        cbx_json_writer_begin(w, key, type == CBX_JSON_ARRAY ? '[' : '{');
        for (size_t i = 0; type == CBX_JSON_ARRAY && i < cbx_json_length(v); i++)
            write_in_parts(w, NULL, cbx_json_at(v, i));
        for (size_t i = 0; cbx_json_member(v, i, &name, &member); i++) write_in_parts(w, name, member);
        cbx_json_writer_end(w);
    }
}

static void count_flushes(void *user, cbx_text *out)
{
    ++*(int *)user;
    CHECK(out->len > 0, "something was written");
}

TEST(parts_are_laid_out_as_the_whole)
{
    static const unsigned flags[] = { CBX_JSON_COMPACT, CBX_JSON_INDENT2, CBX_JSON_INDENT2 | CBX_JSON_ASCII };
    cbx_json *v = parse(
        "{\"a\":[],\"b\":{},\"c\":[1,[2.5,[]],{\"d\":null}],\"e\":{\"\xC3\xA9\":true,\"f\":\"g\"},\"h\":[[]]}");

    for (size_t i = 0; i < CBX_LEN(flags); i++) {
        cbx_text parts;
        int flushes = 0;
        cbx_text_init(&parts, cbx_allocator_default());
        cbx_json_writer w = { .out = &parts, .flags = flags[i], .pour = count_flushes, .user = &flushes };
        write_in_parts(&w, NULL, v);
        CHECK_STR(cbx_text_str(&parts), written(v, flags[i]), "part by part");
        CHECK_GT(flushes, 8, "flushed after each");
        cbx_text_clear(&parts);
    }
    cbx_json_unref(v);
}

TEST(nonfinite_forms)
{
    cbx_json *v = parse("[NaN,Infinity,-Infinity,1.5]");
    CHECK_STR(written(v, CBX_JSON_NONFINITE_BARE), "[NaN,Infinity,-Infinity,1.5]", "bare");
    CHECK_STR(written(v, CBX_JSON_NONFINITE_STRING), "[\"NaN\",\"Infinity\",\"-Infinity\",1.5]", "strings");
    cbx_json_unref(v);
    v = cbx_json_new_string("a\xFF\xC3(\xED\xA0\x80z");
    CHECK_STR(written(v, 0), "\"a\xEF\xBF\xBD\xEF\xBF\xBD(\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz\"",
              "bytes that are no UTF-8");
    CHECK_STR(written(v, CBX_JSON_ASCII), "\"a\\ufffd\\ufffd(\\ufffd\\ufffd\\ufffdz\"", "the same in ASCII");
    cbx_json_unref(v);
}

static cbx_status write_and_check(cbx_ctx *ctx, void *user)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_text t;
    cbx_text_init(&t, cbx_ctx_allocator(ctx));
    cbx_json_write(user, CBX_JSON_INDENT2 | CBX_JSON_SORT_KEYS, &t);
    cbx_status st = cbx_text_check(&t, &err);
    cbx_text_clear(&t);
    return st;
}

static cbx_status read_layout(cbx_ctx *ctx, void *path)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_json *v = NULL;
    cbx_status st = cbx_json_read(ctx, path, &v, &err);
    cbx_json_unref(v);
    return st;
}

TEST(every_allocation_can_fail)
{
    char path[4096];
    cbx_json *v = parse(
        "{\"b\":[1,2,3,{\"z\":1,\"y\":[]}],\"a\":\"a string that makes the text grow beyond its first 64 bytes\"}");
    CHECK_GT(cbx_test_fail_each(write_and_check, v, "writing"), 3, "text grows, keys are sorted twice");
    cbx_json_unref(v);
    snprintf(path, sizeof path, "%s/tests/base/fixtures/json_layout.compact", getenv("CALIBRAX_SOURCE_ROOT"));
    CHECK_GT(cbx_test_fail_each(read_layout, path, "reading"), 1, "the file's buffer");
}

TESTS()
