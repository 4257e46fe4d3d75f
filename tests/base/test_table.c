/* Tables and names: as an array that is searched answers, through many growths. */
#include "check.h"

#include <stdio.h>

#include "calibrax/base/hash_table.h"
#include "fail_alloc.h"

#define MANY 5000

static const char *word(size_t i, char buf[32])
{
    snprintf(buf, 32, "%s%zu", i % 3 ? "word/" : "", i);
    return buf;
}

TEST(numbers_in_order_of_first_appearance)
{
    char buf[32];
    cbx_names w;

    cbx_names_init(&w, cbx_allocator_default());
    CHECK(cbx_names_find(&w, "") == CBX_NO_NAME, "nothing is there yet");
    for (size_t i = 0; i < MANY; i++) {
        CHECK_INT(cbx_names_add(&w, word(i, buf)), i, buf);
        CHECK_INT(cbx_names_add(&w, word(i / 2, buf)), i / 2, "it was there");
    }
    CHECK_INT(w.n, MANY, "each once");
    for (size_t i = 0; i < MANY; i++) {
        CHECK_INT(cbx_names_find(&w, word(i, buf)), i, buf);
        CHECK_STR(w.list[i], buf, "a copy");
    }
    CHECK(cbx_names_find(&w, "word") == CBX_NO_NAME, "the beginning of one is another");
    CHECK_INT(cbx_names_add(&w, ""), MANY, "the empty text is one");
    cbx_names_clear(&w);
    CHECK(cbx_names_find(&w, "") == CBX_NO_NAME, "cleared");
    CHECK_INT(cbx_names_add(&w, "again"), 0, "fit for use again");
    cbx_names_clear(&w);
}

/* An entry's value may change, equal hashes are distinguished by the caller, and hash 0 is one like
 * any other. */
static bool is_even_as(const void *user, size_t value, const void *key)
{
    (void)user;
    return value % 2 == *(const size_t *)key % 2;
}

TEST(numbers_by_hash)
{
    const size_t even = 0, odd = 1;
    cbx_table t;

    cbx_table_init(&t, cbx_allocator_default());
    CHECK(!cbx_table_find(&t, 7, NULL, NULL, NULL), "nothing is there yet");
    for (size_t i = 0; i < MANY; i++) CHECK(cbx_table_add(&t, i * 64, i), "added"); /* all in the same slots at first */
    CHECK_INT(t.n, MANY, "each");
    for (size_t i = 0; i < MANY; i++) {
        size_t *value = cbx_table_find(&t, i * 64, NULL, NULL, NULL);
        CHECK(value && *value == i, "found");
        *value += 2;
    }
    CHECK(*cbx_table_find(&t, 0, NULL, NULL, NULL) == 2, "changed");
    CHECK(!cbx_table_find(&t, 65, NULL, NULL, NULL), "a neighbour is another");
    CHECK(cbx_table_add(&t, 64, 8), "a second of equal hash");
    CHECK_INT(*cbx_table_find(&t, 64, is_even_as, NULL, &even), 8, "the one that is the same");
    CHECK_INT(*cbx_table_find(&t, 64, is_even_as, NULL, &odd), 3, "and the other");
    cbx_table_clear(&t);
    CHECK(!cbx_table_find(&t, 64, NULL, NULL, NULL) && t.n == 0, "cleared");
    CHECK(cbx_hash_text(CBX_HASH_START, "a") == UINT64_C(0xaf63dc4c8601ec8c) * UINT64_C(0x100000001b3),
          "FNV-1a of \"a\" in the authors' list, and of a NUL after it");
}

static cbx_status add_all(cbx_ctx *ctx, void *user)
{
    cbx_status st = CBX_OK;
    char buf[32];
    cbx_names w;

    (void)user;
    cbx_names_init(&w, cbx_ctx_allocator(ctx));
    for (size_t i = 0; i < 200 && !st; i++)
        if (cbx_names_add(&w, word(i, buf)) == CBX_NO_NAME) st = CBX_ENOMEM;
    cbx_names_clear(&w);
    return st;
}

TEST(memory_runs_out) { CHECK_GT(cbx_test_fail_each(add_all, NULL, "names"), 5, "something was allocated"); }

TESTS()
