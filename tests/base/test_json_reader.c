/* Walking through JSON: what comes byte by byte, or all at once, is what the parser of whole texts reads, fault by fault. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

#include "calibrax/base/json_reader.h"

/* A text that comes in pieces of some length; past `fails` bytes it cannot be read. */
typedef struct feed {
    const char *text;
    size_t len, at, piece, fails;
} feed;

static cbx_status give(void *user, char *to, size_t room, size_t *got, cbx_err *err)
{
    feed *f = user;
    size_t n = f->len - f->at;

    if (f->fails && f->at >= f->fails) return cbx_fail(err, CBX_EIO, "the disk is gone");
    if (n > f->piece) n = f->piece;
    if (n > room) n = room;
    memcpy(to, f->text + f->at, n);
    f->at += n;
    *got = n;
    return CBX_OK;
}

static cbx__json_reader *reader(feed *f)
{
    const cbx__json_source source = { give, f };
    cbx__json_reader *r = NULL;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx__json_reader_create(&source, 0, "f.json", &r, &err), &err, "a reader");
    return r;
}

/* --- the same as the parser --- */

static cbx_status read_whole(feed *f, cbx_json **out, cbx_err *err)
{
    cbx__json_reader *r = reader(f);
    cbx_status st = cbx__json_reader_value(r, out, err);

    if (!st) st = cbx__json_reader_end(r, err);
    if (st) {
        cbx_json_unref(*out);
        *out = NULL;
    }
    cbx__json_reader_free(r);
    return st;
}

static cbx_status skip_whole(feed *f, cbx_err *err)
{
    cbx__json_reader *r = reader(f);
    cbx_status st = cbx__json_reader_skip(r, err);

    if (!st) st = cbx__json_reader_end(r, err);
    cbx__json_reader_free(r);
    return st;
}

/* Every container entered, every member read by its own. */
static cbx_status rebuild(cbx__json_reader *r, cbx_json **out, cbx_err *err)
{
    cbx_json_type type = cbx__json_reader_type(r);
    bool more = true, object = type == CBX_JSON_OBJECT;
    cbx_json *v, *inner;
    const char *key;
    cbx_status st;

    if (type != CBX_JSON_ARRAY && !object) return cbx__json_reader_value(r, out, err);
    st = cbx__json_reader_enter(r, err);
    if (st) return st;
    v = object ? cbx_json_new_object() : cbx_json_new_array();
    while (!(st = cbx__json_reader_next(r, &key, &more, err)) && more) {
        char kept[4096];
        CHECK(!key == !object, "members have keys");
        if (key) snprintf(kept, sizeof kept, "%s", key);
        inner = NULL;
        st = rebuild(r, &inner, err);
        if (st) break;
        if (object)
            CHECK(inner ? cbx_json_set(v, kept, inner) : cbx_json_set_null(v, kept), "memory");
        else
            CHECK(inner ? cbx_json_push(v, inner) : cbx_json_push_null(v), "memory");
    }
    if (st)
        cbx_json_unref(v);
    else
        *out = v;
    return st;
}

static cbx_status walk_whole(feed *f, cbx_json **out, cbx_err *err)
{
    cbx__json_reader *r = reader(f);
    cbx_status st = rebuild(r, out, err);

    if (!st) st = cbx__json_reader_end(r, err);
    if (st) {
        cbx_json_unref(*out);
        *out = NULL;
    }
    cbx__json_reader_free(r);
    return st;
}

static void check_same(const char *text, size_t len, size_t piece)
{
    cbx_json *whole = NULL, *read = NULL, *walked = NULL;
    cbx_err said = CBX_ERR_INIT, err = CBX_ERR_INIT;
    cbx_status wanted = cbx_json_parse(text, len, "f.json", &whole, &said);

    CHECK_STATUS(read_whole(&(feed){ text, len, 0, piece, 0 }, &read, &err), wanted, text);
    if (wanted) CHECK_STR(err.message, said.message, text);
    CHECK(cbx_json_equal(whole, read), text);
    if (strstr(said.message, "stands twice")) return; /* found only in what is read as a value */
    CHECK_STATUS(walk_whole(&(feed){ text, len, 0, piece, 0 }, &walked, &err), wanted, text);
    if (wanted) CHECK_STR(err.message, said.message, text);
    CHECK(cbx_json_equal(whole, walked), text);
    CHECK_STATUS(skip_whole(&(feed){ text, len, 0, piece, 0 }, &err), wanted, text);
    if (wanted) CHECK_STR(err.message, said.message, text);
    cbx_json_unref(whole);
    cbx_json_unref(read);
    cbx_json_unref(walked);
}

static const char *const texts[] = {
    "null",
    " \t\r\n12 \n",
    "-0.0",
    "[1e5,1E-7,-12.25e+3]",
    "18446744073709551615",
    "18446744073709551616",
    "[NaN,Infinity,-Infinity,null,true,false]",
    "{\"b\":1,\"a\":{\"\":[]},\"b\":[3,{}]}",
    "[\"\\u00e9\\ud83d\\ude00\\/\", \"\xC3\xA9\xF0\x9F\x98\x80\"]",
    "{\"a\\nb\" : [ [ ] , { } , \"\" ] }",
    "[0.12345678901234567890123456789012345678901234567890123456789012345678901234567890]",
    "",
    " \n",
    "[1,2",
    "{\"a\":",
    "\"abc\\",
    "tru",
    "-Infinit",
    "1 2",
    "\xEF\xBB\xBF [1]",
    "\xEF\xBB\xBF",
    "\xEF\xBB[]",
    "\xFF\xFE[1]",
    "\xFE\xFF",
    "[\"a\\u0000b\"]",
    "{\"a\\u0000b\":1}",
    "{\"a\":{\"x\":1,\"x\":2}}",
    "[1,]",
    "{\"a\":1,}",
    "[1 2]",
    "{\"a\" 1}",
    "{1:2}",
    "{'a':1}",
    "[01]",
    "1.",
    "-",
    "1e",
    "nan",
    "\"a\tb\"",
    "\"\\x41\"",
    "\"\\u12g4\"",
    "\"\xFF\"",
    "\"\xC3\"",
    "\"\xF0\x9F\x98\"",
    "[\xC3\xA9]",
};

static void as_the_parser_byte_by_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < CBX_LEN(texts); i++)
        for (size_t piece = 1; piece < 12; piece++) check_same(texts[i], strlen(texts[i]), piece);
}

static void cut_at_each_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < CBX_LEN(texts); i++)
        for (size_t cut = 0; cut < strlen(texts[i]); cut++) check_same(texts[i], cut, 3);
}

static void a_key_that_stands_twice_is_named(void **state)
{
    static const char text[] = "{\"a\": 1, \"list\": [2]}";
    feed f = { text, sizeof text - 1, 0, 2, 0 };
    cbx__json_reader *r = reader(&f);
    cbx_err err = CBX_ERR_INIT;
    const char *key;
    bool more;

    (void)state;
    CHECK_OK(cbx__json_reader_enter(r, &err), &err, "the object");
    CHECK_OK(cbx__json_reader_next(r, &key, &more, &err), &err, "its member");
    CHECK_STATUS(cbx__json_reader_twice(r, key, &err), CBX_EFORMAT, "as whoever keeps the members finds");
    CHECK_STR(err.message, "'f.json': the key 'a' stands twice in an object, again before offset 6", "where");
    cbx__json_reader_free(r);
}

static void depth_is_limited(void **state)
{
    char text[300];

    (void)state;
    for (size_t depth = 60; depth <= 70; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        check_same(text, 2 * depth, 7);
    }
}

/* --- what is longer than the window --- */

static void long_tokens_and_long_files(void **state)
{
    enum { N = 300000 };
    cbx_text text;

    (void)state;
    cbx_text_init(&text, cbx_allocator_default());
    cbx_text_puts(&text, "[\"");
    for (int i = 0; i < N; i++) cbx_text_puts(&text, i % 1000 ? "x" : "\xC3\xA9\\n");
    cbx_text_puts(&text, "\",0.");
    for (int i = 0; i < N; i++) cbx_text_putc(&text, (char)('0' + i % 10));
    for (int i = 0; i < N / 10; i++) cbx_text_printf(&text, ", {\"member %d\" : %d.5}", i, i);
    cbx_text_putc(&text, ']');
    check_same(text.data, text.len, SIZE_MAX);
    check_same(text.data, text.len - 1, 5000);
    check_same(text.data, text.len - 9, SIZE_MAX);
    cbx_text_clear(&text);
}

static void offsets_lead_back(void **state)
{
    static const char text[] = "{ \"a\": 1,\n \"list\" :  [10, 20 , [30]] }";
    feed f = { text, sizeof text - 1, 0, 2, 0 };
    cbx__json_reader *r = reader(&f);
    cbx_err err = CBX_ERR_INIT;
    const char *key;
    uint64_t at = 0;
    bool more;

    (void)state;
    CHECK_OK(cbx__json_reader_enter(r, &err), &err, "the object");
    while (!cbx__json_reader_next(r, &key, &more, &err) && more) {
        if (!strcmp(key, "list")) at = cbx__json_reader_offset(r);
        CHECK_OK(cbx__json_reader_skip(r, &err), &err, key);
    }
    CHECK_OK(cbx__json_reader_end(r, &err), &err, "the end");
    CHECK_INT(at, strcspn(text, "["), "where the list begins");
    cbx__json_reader_free(r);
}

static void a_source_that_fails_is_said(void **state)
{
    static const char text[] = "{\"a\": [1, 2, \"three\", true], \"b\": 5}";

    (void)state;
    for (size_t i = 1; i < sizeof text - 1; i++) {
        feed f = { text, sizeof text - 1, 0, 1, i }, again = f;
        cbx_err err = CBX_ERR_INIT;
        cbx_json *v = NULL;
        CHECK_STATUS(walk_whole(&f, &v, &err), CBX_EIO, text + i);
        CHECK_STR(err.message, "the disk is gone", text + i);
        CHECK_STATUS(skip_whole(&again, &err), CBX_EIO, text + i);
    }
}

TEST_FILE()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_the_parser_byte_by_byte),       cmocka_unit_test(cut_at_each_byte),
        cmocka_unit_test(a_key_that_stands_twice_is_named), cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(long_tokens_and_long_files),       cmocka_unit_test(offsets_lead_back),
        cmocka_unit_test(a_source_that_fails_is_said),
    };
    return cmocka_run_group_tests_name("base/json_reader", tests, NULL, NULL);
}
