/* Texts by number, found by their hash. */
#include "calibrax/base/words.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define FIRST_SLOTS 64
#define WORDS_MOST  ((size_t)1 << 31)

uint64_t cbx__hash_text(uint64_t h, const char *s)
{
    do h = (h ^ (unsigned char)*s) * 0x100000001b3;
    while (*s++);
    return h;
}

void cbx__words_init(cbx__words *w, const cbx_allocator *al)
{
    *w = (cbx__words){ .n = 0 };
    cbx_arena_init(&w->texts, al);
}

void cbx__words_clear(cbx__words *w)
{
    cbx_mem_free(&w->texts.al, w->list, w->room * sizeof *w->list);
    cbx_mem_free(&w->texts.al, w->slots, w->nslots * sizeof *w->slots);
    cbx_arena_clear(&w->texts);
    *w = (cbx__words){ .texts = w->texts };
}

void cbx__words_leave(cbx__words *w, cbx_arena *texts)
{
    *texts = w->texts;
    cbx_arena_init(&w->texts, &texts->al);
    cbx__words_clear(w);
}

/* Where a text is, or the free slot where it belongs. */
static uint32_t *slot_of(const cbx__words *w, uint32_t *slots, size_t nslots, const char *text)
{
    size_t at = cbx__hash_text(CBX__HASH_START, text) & (nslots - 1);

    while (slots[at] && strcmp(w->list[slots[at] - 1], text) != 0) at = (at + 1) & (nslots - 1);
    return &slots[at];
}

static bool widen_slots(cbx__words *w)
{
    size_t n = w->nslots ? 2 * w->nslots : FIRST_SLOTS;
    uint32_t *slots;

    if (2 * (w->n + 1) <= w->nslots) return true;
    slots = cbx_mem_calloc(&w->texts.al, n, sizeof *slots);
    if (!slots) return false;
    for (size_t i = 0; i < w->n; i++) *slot_of(w, slots, n, w->list[i]) = (uint32_t)i + 1;
    cbx_mem_free(&w->texts.al, w->slots, w->nslots * sizeof *w->slots);
    w->slots = slots;
    w->nslots = n;
    return true;
}

static bool widen_list(cbx__words *w)
{
    size_t room = w->room ? 2 * w->room : FIRST_SLOTS / 2;
    const char **list;

    if (w->n < w->room) return true;
    list = cbx_mem_resize(&w->texts.al, w->list, w->room * sizeof *list, room * sizeof *list);
    if (!list) return false;
    w->list = list;
    w->room = room;
    return true;
}

size_t cbx__words_add(cbx__words *w, const char *text)
{
    uint32_t *slot;
    char *copy;

    if (w->n == WORDS_MOST || !widen_slots(w)) return CBX__NO_WORD;
    slot = slot_of(w, w->slots, w->nslots, text);
    if (*slot) return *slot - 1;
    copy = widen_list(w) ? cbx_arena_strdup(&w->texts, text) : NULL;
    if (!copy) return CBX__NO_WORD;
    w->list[w->n] = copy;
    *slot = (uint32_t)++w->n;
    return w->n - 1;
}

size_t cbx__words_find(const cbx__words *w, const char *text)
{
    uint32_t *slot = w->nslots ? slot_of(w, w->slots, w->nslots, text) : NULL;

    return slot && *slot ? *slot - 1 : CBX__NO_WORD;
}
