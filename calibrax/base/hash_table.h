/**
 * Hash tables: from a hash to a number, usually the index of an item in an array of the caller's;
 * and names, which are texts numbered in the order of their first appearance.
 *
 *     cbx_names names;
 *     cbx_names_init(&names, al);
 *     size_t at = cbx_names_add(&names, text); // its number; CBX_NO_NAME if out of memory
 *     if (at == nitems) ...                    // it is new: add its item to the array
 *     cbx_names_clear(&names);
 *
 * One thread uses a table at a time.  Hashes are no protection from a person who makes equal ones
 * on purpose.
 */
#ifndef CALIBRAX_BASE_HASH_TABLE_H
#define CALIBRAX_BASE_HASH_TABLE_H

#include "calibrax/base/arena.h"
#include "calibrax/base/list.h"

CBX_BEGIN_DECLS

#define CBX_HASH_START UINT64_C(0xcbf29ce484222325)
/**
 * FNV-1a (Fowler, Noll, Vo) of a text with its NUL, so that "ab", "c" and "a", "bc" differ; the
 * same on every machine.  h is CBX_HASH_START or the hash of what comes before.
 */
CBX_API uint64_t cbx_hash_text(uint64_t h, const char *s);
/** The same of n words, a word at a time. */
CBX_API uint64_t cbx_hash_words(uint64_t h, size_t n, const uint64_t *words);

typedef struct cbx_table_slot {
    uint64_t hash; /* 0: free */
    size_t value;
} cbx_table_slot;

/** Its members are its own but n, the number of entries. */
typedef struct cbx_table {
    cbx_allocator al;
    cbx_table_slot *slots; /* open addressing, linear probing, at most three quarters taken */
    size_t n, nslots;
} cbx_table;

/** Whether the entry with this value is the one for the key. */
typedef bool (*cbx_table_same_fn)(const void *user, size_t value, const void *key);

/** Allocates nothing yet. */
CBX_API void cbx_table_init(cbx_table *t, const cbx_allocator *al);
/** Frees everything; the table is empty and can be used again. */
CBX_API void cbx_table_clear(cbx_table *t);
/**
 * @param same  NULL: entries of equal hash are the same
 * @return the value of the entry, which the caller may change until the next entry is added; NULL:
 *   no such entry
 */
CBX_API size_t *cbx_table_find(const cbx_table *t, uint64_t hash, cbx_table_same_fn same, const void *user,
                               const void *key);
/** Adds an entry without a search for the same: find comes first.  false: out of memory. */
CBX_API bool cbx_table_add(cbx_table *t, uint64_t hash, size_t value);

#define CBX_NO_NAME SIZE_MAX

/** Texts by number.  list[0] to list[n - 1] may be read. */
typedef struct cbx_names {
    const char **list;
    size_t n, capacity;
    cbx_arena texts; /* copies */
    cbx_table table;
} cbx_names;

/** Allocates nothing yet. */
CBX_API void cbx_names_init(cbx_names *names, const cbx_allocator *al);
/** Frees everything; can be used again. */
CBX_API void cbx_names_clear(cbx_names *names);
/** Frees everything but the texts, which go to an arena that is empty; can be used again. */
CBX_API void cbx_names_release(cbx_names *names, cbx_arena *texts);
/** The number of a text, which is copied if it is new: then the number is the n of before.
 * CBX_NO_NAME: out of memory. */
CBX_API size_t cbx_names_add(cbx_names *names, const char *text);
/** CBX_NO_NAME: unknown. */
CBX_API size_t cbx_names_find(const cbx_names *names, const char *text);

CBX_END_DECLS
#endif
