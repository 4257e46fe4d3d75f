/*
 * Texts by number: a text that was not there before gets the next one, so that what belongs to it stands in an array.
 */
#ifndef CALIBRAX_BASE_WORDS_H
#define CALIBRAX_BASE_WORDS_H

#include "calibrax/base/arena.h"

/** FNV-1a, of Fowler, Noll and Vo, over a text and its end: of several texts one after the other.  Begins with CBX__HASH_START. */
#define CBX__HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t cbx__hash_text(uint64_t h, const char *s);

#define CBX__NO_WORD SIZE_MAX

typedef struct cbx__words {
    cbx_arena texts;   /* copies */
    const char **list; /* by number */
    size_t n, room;
    uint32_t *slots; /* open addressing, at most half taken: 1 + number; 0: free */
    size_t nslots;
} cbx__words;

void cbx__words_init(cbx__words *w, const cbx_allocator *al);
/** Gives everything back; fit for use again. */
void cbx__words_clear(cbx__words *w);
/** Gives everything back but the texts, which go into an arena that holds nothing yet; fit for use again. */
void cbx__words_leave(cbx__words *w, cbx_arena *texts);
/** The number of a text, which is copied if it is new; CBX__NO_WORD: out of memory. */
size_t cbx__words_add(cbx__words *w, const char *text);
/** CBX__NO_WORD: it is not there. */
size_t cbx__words_find(const cbx__words *w, const char *text);

#endif
