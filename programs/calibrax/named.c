/* Open addressing, at most half full. */
#include "programs/calibrax/named.h"

#include <stdint.h>
#include <string.h>

struct named_slot {
    uint64_t hash;
    const cbx_point *point; /* NULL: free */
};

/* FNV-1a, of Fowler, Noll and Vo, with the end of each word. */
static uint64_t mix(uint64_t h, const char *s)
{
    do h = (h ^ (unsigned char)*s) * 0x100000001b3;
    while (*s++);
    return h;
}

static uint64_t hash_of(const cbx_point *p)
{
    uint64_t h = mix(mix(0xcbf29ce484222325, p->name), p->scenario);

    for (size_t i = 0; i < p->ntags; i++) h = mix(mix(h, p->tags[i].key), p->tags[i].value);
    return h;
}

static bool same_words(const cbx_point *a, const cbx_point *b)
{
    if (a->ntags != b->ntags || strcmp(a->name, b->name) != 0 || strcmp(a->scenario, b->scenario) != 0) return false;
    for (size_t i = 0; i < a->ntags; i++)
        if (strcmp(a->tags[i].key, b->tags[i].key) != 0 || strcmp(a->tags[i].value, b->tags[i].value) != 0)
            return false;
    return true;
}

/* Where the point is, or the free slot where it belongs. */
static struct named_slot *find(const named_points *all, uint64_t hash, const cbx_point *p)
{
    size_t at = hash & (all->nslots - 1);

    while (all->slots[at].point && (all->slots[at].hash != hash || !same_words(all->slots[at].point, p)))
        at = (at + 1) & (all->nslots - 1);
    return &all->slots[at];
}

static bool make_room(named_points *all)
{
    named_points wider = { all->arena, NULL, all->n, all->nslots ? 2 * all->nslots : 64 };

    if (2 * (all->n + 1) <= all->nslots) return true;
    wider.slots = cbx_arena_calloc(all->arena, wider.nslots, sizeof *wider.slots);
    if (!wider.slots) return false;
    for (size_t i = 0; i < all->nslots; i++)
        if (all->slots[i].point) *find(&wider, all->slots[i].hash, all->slots[i].point) = all->slots[i];
    *all = wider;
    return true;
}

static const cbx_point *copy_words(cbx_arena *arena, const cbx_point *p)
{
    cbx_point *own = cbx_arena_calloc(arena, 1, sizeof *own);
    cbx_tag *tags = cbx_arena_calloc(arena, p->ntags, sizeof *tags);
    bool good = own && tags;

    for (size_t i = 0; good && i < p->ntags; i++) {
        tags[i] = (cbx_tag){ cbx_arena_strdup(arena, p->tags[i].key), cbx_arena_strdup(arena, p->tags[i].value) };
        good = tags[i].key && tags[i].value;
    }
    if (!good) return NULL;
    *own = (cbx_point){ .name = cbx_arena_strdup(arena, p->name),
                        .scenario = cbx_arena_strdup(arena, p->scenario),
                        .tags = tags,
                        .ntags = p->ntags };
    return own->name && own->scenario ? own : NULL;
}

const cbx_point *named_point(named_points *all, const cbx_point *p)
{
    uint64_t hash = hash_of(p);
    struct named_slot *slot = make_room(all) ? find(all, hash, p) : NULL;

    if (!slot || slot->point) return slot ? slot->point : NULL;
    *slot = (struct named_slot){ hash, copy_words(all->arena, p) };
    all->n += slot->point != NULL;
    return slot->point;
}
