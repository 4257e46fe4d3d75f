/* Hash tables with open addressing. */
#include "calibrax/base/hash_table.h"

#include <string.h>

#define FIRST_SLOTS 64

uint64_t cbx_hash_text(uint64_t h, const char *s)
{
    do h = (h ^ (unsigned char)*s) * 0x100000001b3;
    while (*s++);
    return h;
}

uint64_t cbx_hash_words(uint64_t h, size_t n, const uint64_t *words)
{
    for (size_t i = 0; i < n; i++) {
        h = (h ^ words[i]) * 0x100000001b3;
        h ^= h >> 32; /* high bits of a word reach the slot of a table */
    }
    return h;
}

void cbx_table_init(cbx_table *t, const cbx_allocator *al) { *t = (cbx_table){ .al = *al }; }

void cbx_table_clear(cbx_table *t)
{
    cbx_mem_free(&t->al, t->slots, t->nslots * sizeof *t->slots);
    *t = (cbx_table){ .al = t->al };
}

size_t *cbx_table_find(const cbx_table *t, uint64_t hash, cbx_table_same_fn same, const void *user, const void *key)
{
    hash += hash == 0;
    for (size_t at = hash; t->nslots; at++) {
        cbx_table_slot *slot = &t->slots[at & (t->nslots - 1)];
        if (!slot->hash) break;
        if (slot->hash == hash && (!same || same(user, slot->value, key))) return &slot->value;
    }
    return NULL;
}

static void enter(cbx_table *t, uint64_t hash, size_t value)
{
    size_t at = hash;

    while (t->slots[at & (t->nslots - 1)].hash) at++;
    t->slots[at & (t->nslots - 1)] = (cbx_table_slot){ hash, value };
}

bool cbx_table_add(cbx_table *t, uint64_t hash, size_t value)
{
    if (4 * (t->n + 1) > 3 * t->nslots) {
        cbx_table wider = { .al = t->al, .n = t->n, .nslots = t->nslots ? 2 * t->nslots : FIRST_SLOTS };
        wider.slots = cbx_mem_calloc(&t->al, wider.nslots, sizeof *wider.slots);
        if (!wider.slots) return false;
        for (size_t i = 0; i < t->nslots; i++)
            if (t->slots[i].hash) enter(&wider, t->slots[i].hash, t->slots[i].value);
        cbx_table_clear(t);
        *t = wider;
    }
    enter(t, hash + (hash == 0), value);
    t->n++;
    return true;
}

/* --- names --- */

void cbx_names_init(cbx_names *names, const cbx_allocator *al)
{
    *names = (cbx_names){ 0 };
    cbx_arena_init(&names->texts, al);
    cbx_table_init(&names->table, al);
}

void cbx_names_clear(cbx_names *names)
{
    cbx_mem_free(&names->texts.al, names->list, names->capacity * sizeof *names->list);
    names->list = NULL;
    names->n = names->capacity = 0;
    cbx_table_clear(&names->table);
    cbx_arena_clear(&names->texts);
}

void cbx_names_release(cbx_names *names, cbx_arena *texts)
{
    *texts = names->texts;
    cbx_arena_init(&names->texts, &texts->al);
    cbx_names_clear(names);
}

static bool is_text(const void *names, size_t at, const void *text)
{
    return strcmp(((const cbx_names *)names)->list[at], text) == 0;
}

size_t cbx_names_find(const cbx_names *names, const char *text)
{
    size_t *at = cbx_table_find(&names->table, cbx_hash_text(CBX_HASH_START, text), is_text, names, text);

    return at ? *at : CBX_NO_NAME;
}

size_t cbx_names_add(cbx_names *names, const char *text)
{
    size_t at = cbx_names_find(names, text);
    char *copy;

    if (at != CBX_NO_NAME) return at;
    if (!cbx_grow(&names->texts.al, &names->list, &names->capacity, names->n + 1, sizeof *names->list) ||
        !(copy = cbx_arena_strdup(&names->texts, text)) ||
        !cbx_table_add(&names->table, cbx_hash_text(CBX_HASH_START, text), names->n))
        return CBX_NO_NAME;
    names->list[names->n] = copy;
    return names->n++;
}
