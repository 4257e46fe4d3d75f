/* Words as numbers. */
#include "calibrax/metrics/tokens.h"

#include <string.h>

#include "calibrax/array/ops.h"
#include "calibrax/base/hash_table.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/utf8.h"
#include "calibrax/metrics/internal.h"

struct cbx_vocabulary {
    cbx_allocator al;
    cbx_names words;
};

cbx_status cbx_vocabulary_create(cbx_ctx *ctx, cbx_vocabulary **out, cbx_err *err)
{
    cbx_vocabulary *v = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *v);

    if (!v) return cbx_fail_nomem(err, "a vocabulary");
    v->al = *cbx_ctx_allocator(ctx);
    cbx_names_init(&v->words, &v->al);
    *out = v;
    return CBX_OK;
}

void cbx_vocabulary_free(cbx_vocabulary *v)
{
    if (!v) return;
    cbx_names_clear(&v->words);
    cbx_allocator al = v->al;
    cbx_mem_free(&al, v, sizeof *v);
}

size_t cbx_vocabulary_size(const cbx_vocabulary *v) { return v->words.n; }

const char *cbx_vocabulary_word(const cbx_vocabulary *v, size_t i) { return i < v->words.n ? v->words.list[i] : NULL; }

/* White space of Unicode, and the separators that str.split() knows. */
static bool is_space(uint32_t c)
{
    static const uint32_t others[] = { 0x20, 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000 };

    if ((c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F) || (c >= 0x2000 && c <= 0x200A)) return true;
    for (size_t i = 0; i < CBX_LEN(others); i++)
        if (c == others[i]) return true;
    return false;
}

/* The next word between *at and end: its beginning, NULL behind the last; *at moves behind it. */
static const char *next_word(const char **at, const char *end, size_t *length)
{
    const char *word = NULL;

    for (size_t used = 0; *at < end; *at += used) {
        const bool space = is_space(cbx__utf8_decode(*at, (size_t)(end - *at), &used));
        if (word && space) break;
        if (!word && !space) word = *at;
    }
    *length = word ? (size_t)(*at - word) : 0;
    return word;
}

cbx_array *cbx_tokens_of_words(cbx_ctx *ctx, cbx_vocabulary *v, size_t n, const char *const *words)
{
    cbx_array *out = cbx__fresh(ctx, &(cbx_array_desc){ CBX_I64, 1, { n } });

    for (size_t i = 0; !cbx_array_is_failed(out) && i < n; i++) {
        if (!words[i]) return cbx__refuse(ctx, CBX_EINVAL, "word %zu is NULL", i);
        const size_t number = cbx_names_add(&v->words, words[i]);
        if (number == CBX_NO_NAME) return cbx__refuse(ctx, CBX_ENOMEM, "no memory for %zu words", n);
        ((int64_t *)cbx_array_data_mut(out))[i] = (int64_t)number;
    }
    return out;
}

cbx_array *cbx_tokens_of_text(cbx_ctx *ctx, cbx_vocabulary *v, const char *text)
{
    const char *at = text, *end = text + strlen(text), *word;
    const char **words;
    size_t n = 0, length, i = 0;

    while (next_word(&at, end, &length)) n++;
    CBX_SCOPED(cbx_arena, arena, &v->al);
    words = cbx_arena_calloc(&arena, n + 1, sizeof *words);
    for (at = text; words && (word = next_word(&at, end, &length)); i++)
        if (!(words[i] = cbx_arena_strndup(&arena, word, length))) break;
    return words && i == n ? cbx_tokens_of_words(ctx, v, n, words)
                           : cbx__refuse(ctx, CBX_ENOMEM, "no memory for %zu words", n);
}

cbx_array *cbx_texts(cbx_ctx *ctx, size_t n, cbx_array *const *tokens)
{
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    const cbx_array **rows = cbx_arena_calloc(&arena, n, sizeof *rows);
    size_t longest = 0;

    if (n == 0) return cbx__refuse(ctx, CBX_EINVAL, "there must be at least one text");
    if (!rows) return cbx__refuse(ctx, CBX_ENOMEM, "no memory for %zu texts", n);
    for (size_t i = 0; i < n; i++)
        if (!cbx_array_is_failed(tokens[i]) && cbx_array_count(tokens[i]) > longest)
            longest = cbx_array_count(tokens[i]);
    for (size_t i = 0; i < n; i++) {
        const size_t before = 0, after = longest - (cbx_array_is_failed(tokens[i]) ? 0 : cbx_array_count(tokens[i]));
        rows[i] = cbx_pad(ctx, tokens[i], &before, &after, cbx_int(-1));
    }
    return cbx_stack(ctx, n, rows, 0);
}
