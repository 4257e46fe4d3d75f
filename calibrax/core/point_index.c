/* The hashes of tags are added, so that their order does not count. */
#include "calibrax/core/point_index.h"

#include <string.h>

#include "calibrax/base/hash_table.h"

static bool counts(const char *label, const char *but) { return !but || strcmp(but, label) != 0; }

uint64_t cbx_point_hash(const cbx_point *p, const char *but)
{
    uint64_t h = CBX_HASH_START, tags = 0;

    h = cbx_hash_text(h, counts("point", but) ? p->name : "");
    h = cbx_hash_text(h, counts("scenario", but) ? p->scenario : "");
    for (size_t i = 0; i < p->ntags; i++)
        if (counts(p->tags[i].key, but))
            tags += cbx_hash_text(cbx_hash_text(CBX_HASH_START, p->tags[i].key), p->tags[i].value);
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
    *ix = (cbx_point_index){ .but = but };
    cbx_table_init(&ix->table, al);
}

void cbx_point_index_clear(cbx_point_index *ix)
{
    cbx_list_clear(&ix->table.al, &ix->entries);
    cbx_table_clear(&ix->table);
}

static bool is_point(const void *index, size_t at, const void *point)
{
    const cbx_point_index *ix = index;

    return cbx_point_same(ix->entries.items[at].point, point, ix->but);
}

const cbx_point_entry *cbx_point_index_find(const cbx_point_index *ix, const cbx_point *p)
{
    const size_t *at = cbx_table_find(&ix->table, cbx_point_hash(p, ix->but), is_point, ix, p);

    return at ? &ix->entries.items[*at] : NULL;
}

const cbx_point_entry *cbx_point_index_add(cbx_point_index *ix, const cbx_point *p, size_t value)
{
    const cbx_point_entry *known = cbx_point_index_find(ix, p);

    if (known) return known;
    if (!cbx_list_reserve(&ix->table.al, &ix->entries, ix->entries.n + 1) ||
        !cbx_table_add(&ix->table, cbx_point_hash(p, ix->but), ix->entries.n))
        return NULL;
    ix->entries.items[ix->entries.n] = (cbx_point_entry){ p, value };
    return &ix->entries.items[ix->entries.n++];
}
