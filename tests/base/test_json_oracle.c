/*
 * Our reader against json-c: every JSON text of the fixtures, cut at each byte if it is short, and
 * damaged at random places by a fixed seed.
 */
#include "check.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/base/file.h"
#include "calibrax/base/json.h"
#include "calibrax/base/rng.h"
#include "json_oracle.h"

#define CUT_MOST    800   /* bytes of a text that is cut everywhere */
#define DAMAGE_MOST 30000 /* of one that is damaged */
#define DAMAGES     20

static cbx_ctx *ctx;
static const char *failure;
static char failed_in[4096];
static size_t texts, taken;

static void look_at(const char *name, const char *text, size_t len)
{
    cbx_json *v = NULL;
    char *exact = malloc(len ? len : 1); /* so that a sanitizer sees a byte read behind the end */
    bool good;

    memcpy(exact, text, len);
    good = cbx_json_parse(exact, len, name, &v, NULL) == CBX_OK;
    texts++;
    taken += good;
    failure = cbx_test_json_differs(exact, len, good, v);
    if (failure)
        snprintf(failed_in, sizeof failed_in, "%s: %s: %.*s", name, failure, len < 2000 ? (int)len : 2000, text);
    cbx_json_unref(v);
    free(exact);
}

/* One to four bytes replaced, removed or put in, by what JSON is made of. */
static void damage_and_look(const char *name, const char *text, size_t len, cbx_rng *rng)
{
    static const char bytes[] = "{}[]\",:\\u0019-+.eE'tfnNI \n\t\x01\x7f\xc3\xff";
    char *copy = malloc(len + 8);
    size_t n = len;

    memcpy(copy, text, len);
    for (uint64_t k = 1 + cbx_rng_below(rng, 4); k > 0 && n > 0; k--) {
        size_t at = (size_t)cbx_rng_below(rng, n);
        uint64_t how = cbx_rng_below(rng, 3);
        if (how == 1) memmove(copy + at, copy + at + 1, --n - at);
        if (how == 2) memmove(copy + at + 1, copy + at, n++ - at);
        if (how != 1) copy[at] = bytes[cbx_rng_below(rng, sizeof bytes - 1)];
    }
    look_at(name, copy, n);
    free(copy);
}

static void look_everywhere(const char *name, const char *text, size_t len)
{
    cbx_rng rng = cbx_rng_make(len, 0);

    look_at(name, text, len);
    for (size_t cut = 0; !failure && len <= CUT_MOST && cut < len; cut++) look_at(name, text, cut);
    for (int i = 0; !failure && len <= DAMAGE_MOST && i < DAMAGES; i++) damage_and_look(name, text, len, &rng);
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n >= m && strcmp(s + n - m, end) == 0;
}

static int visit(const char *path, const struct stat *facts, int kind)
{
    char *text = NULL;
    size_t len = 0;

    (void)facts;
    if (kind != FTW_F || !(ends_with(path, ".json") || ends_with(path, ".jsonl") || strstr(path, "/corpus/json/")))
        return 0;
    if (cbx_file_read(ctx, path, 0, &text, &len, NULL)) return 0;
    if (ends_with(path, ".jsonl"))
        for (char *line = text, *end; !failure && (end = strchr(line, '\n')); line = end + 1)
            look_everywhere(path, line, (size_t)(end - line));
    else
        look_everywhere(path, text, len);
    cbx_mem_free(cbx_ctx_allocator(ctx), text, len + 1);
    return failure != NULL;
}

TEST(fixtures_read_the_same)
{
    static const char *const folders[] = { "tests/fixtures", "tests/base/fixtures", "tests/fuzz/corpus" };

    for (size_t i = 0; i < CBX_LEN(folders); i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", getenv("CALIBRAX_SOURCE_ROOT"), folders[i]);
        ftw(path, visit, 16);
        if (failure) fail_msg("%s", failed_in);
    }
    CHECK_GT(texts, 2000, "there was much to look at");
    CHECK(taken > 200 && taken < texts, "some of it is JSON, some not");
}

/* Numbers of every length and size, and both sides of what one operation can do. */
TEST(numbers_read_the_same)
{
    cbx_rng rng = cbx_rng_make(7, 0);

    for (int i = 0; i < 10000 && !failure; i++) {
        char text[128];
        int digits = 1 + (int)cbx_rng_below(&rng, 24), n = 0;
        if (cbx_rng_below(&rng, 2)) text[n++] = '-';
        text[n++] = (char)('1' + cbx_rng_below(&rng, 9));
        for (int k = 1, point = (int)cbx_rng_below(&rng, 24); k < digits; k++) {
            if (k == point) text[n++] = '.';
            text[n++] = (char)('0' + cbx_rng_below(&rng, 10));
        }
        if (cbx_rng_below(&rng, 2)) n += sprintf(text + n, "e%d", (int)cbx_rng_below(&rng, 100) - 50);
        if (cbx_rng_below(&rng, 20) == 0) n += sprintf(text + n, "e%d", (int)cbx_rng_below(&rng, 700) - 350);
        look_at("number", text, (size_t)n);
    }
    if (failure) fail_msg("%s", failed_in);
}

TEST(the_oracle_sees_a_difference)
{
    cbx_json *v = NULL;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_json_parse("[1.5,{\"a\":2}]", 13, "t", &v, &err), &err, "parses");
    CHECK(!cbx_test_json_differs("[1.5,{\"a\":2}]", 13, true, v), "equal");
    CHECK(cbx_test_json_differs("[1.5,{\"a\":3}]", 13, true, v), "another number");
    CHECK(cbx_test_json_differs("[1.5,{\"b\":2}]", 13, true, v), "another key");
    CHECK(cbx_test_json_differs("[1.5,{\"a\":2}]", 13, false, NULL), "refused");
    CHECK(cbx_test_json_differs("[1.5,{\"a\":2}", 12, true, v), "taken");
    cbx_json_unref(v);
}

static int setup(void **state)
{
    (void)state;
    return cbx_ctx_create(NULL, &ctx, NULL);
}

static int teardown(void **state)
{
    (void)state;
    cbx_ctx_free(ctx);
    return 0;
}

TESTS(.before = setup, .after = teardown)
