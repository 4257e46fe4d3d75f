/* Open addressing; the tags count as a sum, so that their order does not. */
#include "calibrax/core/point_index.h"

#include <string.h>

#include "calibrax/base/words.h"

#define FIRST_SLOTS 64

static bool counts(const char *label, const char *but) { return !but || strcmp(but, label) != 0; }

uint64_t cbx_point_hash(const cbx_point *p, const char *but)
{
    uint64_t h = CBX__HASH_START, tags = 0;

    h = cbx__hash_text(h, counts("point", but) ? p->name : "");
    h = cbx__hash_text(h, counts("scenario", but) ? p->scenario : "");
    for (size_t i = 0; i < p->ntags; i++)
        if (counts(p->tags[i].key, but))
            tags += cbx__hash_text(cbx__hash_text(CBX__HASH_START, p->tags[i].key), p->tags[i].value);
    return h + tags;
}

static size_t tags_that_count(const cbx_point *p, const char *but) { return p->ntags - (but && cbx_point_tag(p, but)); }

bool cbx_point_same(const cbx_point *a, const cbx_point *b, const char *but)
{
    if (a == b) return true;
    if (counts("point", but) && strcmp(a->name, b->name) != 0) return false;
    if (counts("scenario", but) && strcmp(a->scenario, b->scenario) != 0) return false;
    if (tags_that_count(a, but) != tags_that_count(b, but)) return false;
    for (size_t i = 0; i < a->ntags; i++) {
        const char *other = counts(a->tags[i].key, but) ? cbx_point_tag(b, a->tags[i].key) : a->tags[i].value;
        if (!other || strcmp(a->tags[i].value, other) != 0) return false;
    }
    return true;
}

void cbx_point_index_init(cbx_point_index *ix, const cbx_allocator *al, const char *but)
{
    *ix = (cbx_point_index){ .al = *al, .but = but };
}

void cbx_point_index_clear(cbx_point_index *ix)
{
    cbx_mem_free(&ix->al, ix->slots, ix->nslots * sizeof *ix->slots);
    *ix = (cbx_point_index){ .al = ix->al, .but = ix->but };
}

/* Where the point is, or the free slot where it belongs. */
static cbx_point_entry *slot_of(const cbx_point_index *ix, uint64_t hash, const cbx_point *p)
{
    size_t at = hash & (ix->nslots - 1);

    while (ix->slots[at].point && (ix->slots[at].hash != hash || !cbx_point_same(ix->slots[at].point, p, ix->but)))
        at = (at + 1) & (ix->nslots - 1);
    return &ix->slots[at];
}

static bool make_room(cbx_point_index *ix)
{
    cbx_point_index wider = *ix;

    if (2 * (ix->n + 1) <= ix->nslots) return true;
    wider.nslots = ix->nslots ? 2 * ix->nslots : FIRST_SLOTS;
    wider.slots = cbx_mem_calloc(&ix->al, wider.nslots, sizeof *wider.slots);
    if (!wider.slots) return false;
    for (size_t i = 0; i < ix->nslots; i++)
        if (ix->slots[i].point) *slot_of(&wider, ix->slots[i].hash, ix->slots[i].point) = ix->slots[i];
    cbx_mem_free(&ix->al, ix->slots, ix->nslots * sizeof *ix->slots);
    *ix = wider;
    return true;
}

const cbx_point_entry *cbx_point_index_find(const cbx_point_index *ix, const cbx_point *p)
{
    const cbx_point_entry *e = ix->nslots ? slot_of(ix, cbx_point_hash(p, ix->but), p) : NULL;

    return e && e->point ? e : NULL;
}

const cbx_point_entry *cbx_point_index_add(cbx_point_index *ix, const cbx_point *p, size_t value)
{
    uint64_t hash = cbx_point_hash(p, ix->but);
    cbx_point_entry *e = make_room(ix) ? slot_of(ix, hash, p) : NULL;

    if (!e || e->point) return e;
    *e = (cbx_point_entry){ hash, p, value };
    ix->n++;
    return e;
}
