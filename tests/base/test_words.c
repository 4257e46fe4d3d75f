/* Texts by number: as an array of them that is searched would say, through many widenings. */
#include "check.h"

#include <stdio.h>

#include "calibrax/base/words.h"
#include "fail_alloc.h"

#define MANY 5000

static const char *word(size_t i, char buf[32])
{
    snprintf(buf, 32, "%s%zu", i % 3 ? "word/" : "", i);
    return buf;
}

static void numbers_in_order_of_first_appearance(void **state)
{
    char buf[32];
    cbx__words w;

    (void)state;
    cbx__words_init(&w, cbx_allocator_default());
    CHECK(cbx__words_find(&w, "") == CBX__NO_WORD, "nothing is there yet");
    for (size_t i = 0; i < MANY; i++) {
        CHECK_INT(cbx__words_add(&w, word(i, buf)), i, buf);
        CHECK_INT(cbx__words_add(&w, word(i / 2, buf)), i / 2, "it was there");
    }
    CHECK_INT(w.n, MANY, "each once");
    for (size_t i = 0; i < MANY; i++) {
        CHECK_INT(cbx__words_find(&w, word(i, buf)), i, buf);
        CHECK_STR(w.list[i], buf, "a copy");
    }
    CHECK(cbx__words_find(&w, "word") == CBX__NO_WORD, "the beginning of one is none");
    CHECK_INT(cbx__words_add(&w, ""), MANY, "the empty text is one");
    cbx__words_clear(&w);
    CHECK(cbx__words_find(&w, "") == CBX__NO_WORD, "cleared");
    CHECK_INT(cbx__words_add(&w, "again"), 0, "fit for use again");
    cbx__words_clear(&w);
}

static cbx_status add_all(cbx_ctx *ctx, void *user)
{
    cbx_status st = CBX_OK;
    char buf[32];
    cbx__words w;

    (void)user;
    cbx__words_init(&w, cbx_ctx_allocator(ctx));
    for (size_t i = 0; i < 200 && !st; i++)
        if (cbx__words_add(&w, word(i, buf)) == CBX__NO_WORD) st = CBX_ENOMEM;
    cbx__words_clear(&w);
    return st;
}

static void memory_runs_out(void **state)
{
    (void)state;
    CHECK_GT(cbx_test_fail_each(add_all, NULL, "words"), 5, "something was allocated");
}

TEST_FILE()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_in_order_of_first_appearance),
        cmocka_unit_test(memory_runs_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
