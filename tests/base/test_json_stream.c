/* JSON in pieces of any length is what the parser of whole texts reads, fault by fault; sieves take
 * elements out. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

#include "calibrax/base/json_stream.h"

/* A text that comes in pieces of some length; past `fails` bytes it cannot be read. */
typedef struct feed {
    const char *text;
    size_t len, at, piece, fails;
} feed;

static cbx_status give(void *user, char *to, size_t size, size_t *got, cbx_err *err)
{
    feed *f = user;
    size_t n = f->len - f->at;

    if (f->fails && f->at >= f->fails) return cbx_fail(err, CBX_EIO, "the disk is gone");
    if (n > f->piece) n = f->piece;
    if (n > size) n = size;
    memcpy(to, f->text + f->at, n);
    f->at += n;
    *got = n;
    return CBX_OK;
}

static cbx_status read_in_pieces(feed f, cbx_json **out, cbx_err *err)
{
    return cbx__json_stream(&(cbx__json_source){ give, &f }, NULL, "f.json", out, err);
}

static void check_same(const char *text, size_t len, size_t piece)
{
    cbx_json *whole = NULL, *read = NULL;
    cbx_err reported = CBX_ERR_INIT, err = CBX_ERR_INIT;
    cbx_status wanted = cbx_json_parse(text, len, "f.json", &whole, &reported);

    CHECK_STATUS(read_in_pieces((feed){ text, len, 0, piece, 0 }, &read, &err), wanted, text);
    if (wanted) CHECK_STR(err.message, reported.message, text);
    CHECK(cbx_json_equal(whole, read), text);
    cbx_json_unref(whole);
    cbx_json_unref(read);
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

TEST(as_the_parser_byte_by_byte)
{
    for (size_t i = 0; i < CBX_LEN(texts); i++)
        for (size_t piece = 1; piece < 12; piece++) check_same(texts[i], strlen(texts[i]), piece);
}

TEST(cut_at_each_byte)
{
    for (size_t i = 0; i < CBX_LEN(texts); i++)
        for (size_t cut = 0; cut < strlen(texts[i]); cut++) check_same(texts[i], cut, 3);
}

TEST(depth_is_limited)
{
    char text[300];

    for (size_t depth = 60; depth <= 70; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        check_same(text, 2 * depth, 7);
    }
}

/* --- longer than the window --- */

TEST(long_tokens_and_long_files)
{
    enum { N = 300000 };
    cbx_text text;

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

TEST(a_failing_source_is_reported)
{
    static const char text[] = "{\"a\": [1, 2, \"three\", true], \"b\": 5}";

    for (size_t i = 1; i < sizeof text - 1; i++) {
        cbx_err err = CBX_ERR_INIT;
        cbx_json *v = NULL;
        CHECK_STATUS(read_in_pieces((feed){ text, sizeof text - 1, 0, 1, i }, &v, &err), CBX_EIO, text + i);
        CHECK_STR(err.message, "the disk is gone", text + i);
    }
}

/* --- a sieve --- */

typedef struct sieving {
    double sum;
    size_t taken, stop;
} sieving;

static bool wants_list(void *user, const cbx__json_reader *r)
{
    const char *key = cbx__json_reader_key(r, 1);

    (void)user;
    return cbx__json_reader_depth(r) == 2 && key && strcmp(key, "list") == 0;
}

static cbx_status take_number(void *user, const cbx__json_reader *r, size_t i, const cbx_json *element, cbx_err *err)
{
    sieving *s = user;

    CHECK_INT(i, s->taken, "in order");
    CHECK_INT(cbx__json_reader_depth(r), 2, "the array's depth");
    s->taken++;
    if (s->taken == s->stop) return cbx_fail(err, CBX_EBUSY, "enough");
    s->sum += cbx_json_double_value(element);
    return CBX_OK;
}

TEST(a_sieve_takes_elements_out)
{
    static const char text[] = "{\"a\": [7], \"list\": [1, 2, 3.5], \"b\": {\"list\": [4]}}";
    static const char left[] = "{\"a\": [7], \"list\": [], \"b\": {\"list\": [4]}}";

    for (size_t stop = 0; stop < 3; stop++) {
        sieving s = { .stop = stop };
        feed f = { text, sizeof text - 1, 0, 3, 0 };
        cbx_err err = CBX_ERR_INIT;
        cbx_json *v = NULL, *wanted = NULL;
        cbx_status st = cbx__json_stream(&(cbx__json_source){ give, &f },
                                         &(cbx__json_sieve){ wants_list, take_number, &s }, "f.json", &v, &err);
        CHECK_STATUS(st, stop ? CBX_EBUSY : CBX_OK, "ends where the sieve ends it");
        CHECK_INT(s.taken, stop ? stop : 3, "elements taken");
        if (stop) continue;
        CHECK(s.sum == 6.5, "their values");
        CHECK_OK(cbx_json_parse(left, sizeof left - 1, "left", &wanted, &err), &err, "the rest");
        CHECK(cbx_json_equal(v, wanted), "the array stays empty, all others are held");
        cbx_json_unref(v);
        cbx_json_unref(wanted);
    }
}

TESTS()
