/*
 * Forms that many files of the library have in common.
 */
#ifndef CALIBRAX_BASE_IDIOMS_H
#define CALIBRAX_BASE_IDIOMS_H

#include <string.h>

#include "calibrax/base/status.h"

/** The end of a function that makes something: keep, or after a failure drop; the status.
 *     return CBX_FINISH(st, *out = a, cbx_array_free(a)); */
#define CBX_FINISH(st, keep, drop) ((st) ? ((void)(drop), (st)) : ((void)(keep), CBX_OK))

/** The word of a number in an array of words; "?" of a number beyond it. */
#define CBX_WORD(words, number) ((size_t)(number) < CBX_LEN(words) ? (words)[number] : "?")

/** The number of a word in an array of words; their count of another word, and of NULL. */
#define CBX_WORD_AT(words, word) cbx__word_at(words, CBX_LEN(words), word)
static inline size_t cbx__word_at(const char *const *words, size_t n, const char *word)
{
    size_t i = word ? 0 : n;

    while (i < n && strcmp(words[i], word) != 0) i++;
    return i;
}

/** A variable of a type T that has T_init(&name, ...) and T_clear(&name), cleared where its scope
 * ends:
 *     CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx)); */
#define CBX_SCOPED(T, name, ...)                                                                                       \
    __attribute__((cleanup(T##_clear))) T name;                                                                        \
    T##_init(&name, __VA_ARGS__)

/** A variable that is cleared where its scope ends; of a type T that has T_clear, made by its
 * initialiser:
 *     CBX_CLEARED(cbx_store_list) list = { 0 }; */
#define CBX_CLEARED(T) __attribute__((cleanup(T##_clear))) T

/** A pointer that is freed where its scope ends, by a function that takes NULL:
 *     CBX_FREED_BY(cbx_run, cbx_run_free)      once in a file or header
 *     CBX_OWNED(cbx_run) *run = NULL; */
#define CBX_FREED_BY(T, function)                                                                                      \
    static inline void cbx__drop_##T(T **p) { function(*p); }
#define CBX_OWNED(T) __attribute__((cleanup(cbx__drop_##T))) T

/** Comparators for qsort: of numbers, and of structs by a member that is one.
 *     CBX_BY(by_order, entry, order) */
#define CBX_BY_VALUE(name, T)                                                                                          \
    static int name(const void *a, const void *b)                                                                      \
    {                                                                                                                  \
        const T x = *(const T *)a, y = *(const T *)b;                                                                  \
        return (x > y) - (x < y);                                                                                      \
    }
#define CBX_BY(name, T, member)                                                                                        \
    static int name(const void *a, const void *b)                                                                      \
    {                                                                                                                  \
        const T *x = a, *y = b;                                                                                        \
        return (x->member > y->member) - (x->member < y->member);                                                      \
    }

#endif
