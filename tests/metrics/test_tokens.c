/* Texts as token numbers: white space, one vocabulary, rows of texts. */
#include "check.h"

#include "calibrax/metrics/tokens.h"
#include "fail_alloc.h"

static cbx_err err;

static void check_tokens(const cbx_array *a, size_t n, const int64_t *wanted, const char *why)
{
    CHECK(!cbx_array_is_failed(a), why);
    CHECK_INT(cbx_array_count(a), n, why);
    for (size_t i = 0; i < n; i++) CHECK_INT(((const int64_t *)cbx_array_data(a))[i], wanted[i], why);
}

TEST(words_have_numbers)
{
    static const struct {
        const char *text, *why;
        size_t n;
        int64_t wanted[4];
    } cases[] = {
        { "b a b", "in the order of their first use", 3, { 0, 1, 0 } },
        { " a\t\n c\r", "the vocabulary is one for all texts", 2, { 1, 2 } },
        { "", "nothing", 0, { 0 } },
        { " \f\v ", "white space alone", 0, { 0 } },
        { "a\xC2\xA0"
          "B\xE3\x80\x80\xC3\xA9",
          "spaces of Unicode; case counts",
          3,
          { 1, 3, 4 } },
        { "\xFF\xFE a", "bytes that are no characters are words", 2, { 5, 1 } },
    };
    const char *words[] = { "a b", "", "b" };
    cbx_vocabulary *v = NULL;
    cbx_array *rows[2];
    cbx_ctx *ctx = cbx_test_context();
    cbx_scope scope;

    CHECK_OK(cbx_vocabulary_create(ctx, &v, &err), &err, "a vocabulary");
    cbx_scope_open(ctx, &scope);
    for (size_t i = 0; i < CBX_LEN(cases); i++)
        check_tokens(cbx_tokens_of_text(ctx, v, cases[i].text), cases[i].n, cases[i].wanted, cases[i].why);
    rows[0] = cbx_tokens_of_words(ctx, v, 3, words);
    check_tokens(rows[0], 3, (int64_t[]){ 6, 7, 0 }, "words are taken as they are");
    CHECK_INT(cbx_vocabulary_size(v), 8, "words");
    CHECK_STR(cbx_vocabulary_word(v, 6), "a b", "a word");
    CHECK(!cbx_vocabulary_word(v, 8), "beyond the last");
    rows[1] = cbx_tokens_of_text(ctx, v, "b");
    check_tokens(cbx_texts(ctx, 2, rows), 6, (int64_t[]){ 6, 7, 0, 0, -1, -1 }, "rows");
    CHECK_OK(cbx_scope_close(&scope, &err), &err, "texts");

    cbx_scope_open(ctx, &scope);
    words[1] = NULL;
    cbx_tokens_of_words(ctx, v, 3, words);
    CHECK_STATUS(cbx_scope_close(&scope, &err), CBX_EINVAL, "a word that is NULL");
    CHECK_STR(err.message, "word 1 is NULL", "its sentence");
    cbx_scope_open(ctx, &scope);
    cbx_texts(ctx, 0, rows);
    CHECK_STATUS(cbx_scope_close(&scope, &err), CBX_EINVAL, "no texts");
    cbx_vocabulary_free(v);
    cbx_ctx_free(ctx);
}

static cbx_status number_two(cbx_ctx *ctx, void *user)
{
    cbx_err e = CBX_ERR_INIT;
    cbx_vocabulary *v = NULL;
    cbx_status st = cbx_vocabulary_create(ctx, &v, &e);
    cbx_array *rows[2];
    cbx_scope scope;

    (void)user;
    if (st) return st;
    cbx_scope_open(ctx, &scope);
    rows[0] = cbx_tokens_of_text(ctx, v, "a text of some words");
    rows[1] = cbx_tokens_of_text(ctx, v, "another text");
    cbx_texts(ctx, 2, rows);
    st = cbx_scope_close(&scope, &e);
    cbx_vocabulary_free(v);
    return st;
}

TEST(memory_may_end) { cbx_test_fail_each(number_two, NULL, "texts"); }

TESTS(.seconds = 60)
