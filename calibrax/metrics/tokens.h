/**
 * Texts as the token numbers that text metrics take: equal words of one vocabulary, equal numbers.
 *
 *     cbx_vocabulary *v = NULL;
 *     st = cbx_vocabulary_create(ctx, &v, err);
 *     cbx_array *candidate = cbx_tokens_of_text(ctx, v, "the cat sat on the mat");
 *     cbx_array *reference = cbx_tokens_of_text(ctx, v, "the cat is on the mat");
 *     cbx_array *in[] = { candidate, cbx_texts(ctx, 1, &reference) };
 *     r = cbx_metric_apply(ctx, bleu, 2, in, NULL);
 *
 * Arrays belong to the current scope (scope.h).  One thread uses a vocabulary at a time.
 * Since 0.1.
 */
#ifndef CALIBRAX_METRICS_TOKENS_H
#define CALIBRAX_METRICS_TOKENS_H

#include "calibrax/array/scope.h"

CBX_BEGIN_DECLS

/** Words by number, from 0 in the order of their first use. */
typedef struct cbx_vocabulary cbx_vocabulary;

/** @return CBX_OK; CBX_ENOMEM */
CBX_API cbx_status cbx_vocabulary_create(cbx_ctx *ctx, cbx_vocabulary **out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_vocabulary_free(cbx_vocabulary *v);
/** Number of words so far, and one of them: NULL beyond the last; ends with the vocabulary. */
CBX_API size_t cbx_vocabulary_size(const cbx_vocabulary *v);
CBX_API const char *cbx_vocabulary_word(const cbx_vocabulary *v, size_t i);

/**
 * Words of a text in UTF-8, separated by white space, that of Unicode, as str.split() of Python:
 * int64 (n), n >= 0.  Case and punctuation count.
 * Errors: CBX_ENOMEM.
 */
CBX_API cbx_array *cbx_tokens_of_text(cbx_ctx *ctx, cbx_vocabulary *v, const char *text);
/** n words as they are, whatever they hold.  Errors: CBX_EINVAL (a word is NULL), CBX_ENOMEM. */
CBX_API cbx_array *cbx_tokens_of_words(cbx_ctx *ctx, cbx_vocabulary *v, size_t n, const char *const *words);
/** n >= 1 texts as the rows of one array, int64 (n, longest), filled with -1. */
CBX_API cbx_array *cbx_texts(cbx_ctx *ctx, size_t n, cbx_array *const *tokens);

CBX_END_DECLS
#endif
