/*
 * The key of a point says how long each part is, so that no two points share one by what their names hold.
 */
#include "calibrax/exporters/points.h"

#include <stdlib.h>
#include <string.h>

void cbx__points_init(cbx__points *s, const cbx_allocator *al, const char *but)
{
    *s = (cbx__points){ .but = but };
    cbx__words_init(&s->keys, al);
    cbx_text_init(&s->key, al);
}

void cbx__points_clear(cbx__points *s)
{
    const cbx_allocator *al = &s->keys.texts.al;

    cbx_mem_free(al, s->first, s->room * sizeof *s->first);
    cbx_mem_free(al, s->tags, s->ntags * sizeof *s->tags);
    cbx_text_clear(&s->key);
    cbx__words_clear(&s->keys);
    s->first = NULL;
    s->tags = NULL;
    s->room = s->ntags = 0;
}

static bool grow(const cbx_allocator *al, void **items, size_t *room, size_t wanted, size_t size)
{
    size_t more = *room ? *room : 16;
    void *grown;

    while (more < wanted) more *= 2;
    if (more == *room) return true;
    grown = cbx_mem_resize(al, *items, *room * size, more * size);
    if (!grown) return false;
    *items = grown;
    *room = more;
    return true;
}

static int by_key(const void *a, const void *b) { return strcmp(((const cbx_tag *)a)->key, ((const cbx_tag *)b)->key); }

static void put_part(cbx_text *t, const char *s) { cbx_text_printf(t, "%zu:%s", strlen(s), s); }

static bool counts(const cbx__points *s, const char *label) { return !s->but || strcmp(s->but, label) != 0; }

static bool write_key(cbx__points *s, const cbx_point *p)
{
    void *tags = s->tags;

    if (!grow(&s->keys.texts.al, &tags, &s->ntags, p->ntags, sizeof *s->tags)) return false;
    s->tags = tags;
    if (p->ntags) memcpy(s->tags, p->tags, p->ntags * sizeof *s->tags);
    if (p->ntags > 1) qsort(s->tags, p->ntags, sizeof *s->tags, by_key);
    cbx_text_reset(&s->key);
    put_part(&s->key, counts(s, "point") ? p->name : "");
    put_part(&s->key, counts(s, "scenario") ? p->scenario : "");
    for (size_t i = 0; i < p->ntags; i++) {
        if (!counts(s, s->tags[i].key)) continue;
        put_part(&s->key, s->tags[i].key);
        put_part(&s->key, s->tags[i].value);
    }
    return s->key.status == CBX_OK;
}

bool cbx__points_add(cbx__points *s, const cbx_point *p, size_t index, size_t *first)
{
    size_t known = s->keys.n, number;
    void *list = s->first;

    if (!write_key(s, p) || !grow(&s->keys.texts.al, &list, &s->room, known + 1, sizeof *s->first)) return false;
    s->first = list;
    number = cbx__words_add(&s->keys, cbx_text_str(&s->key));
    if (number == CBX__NO_WORD) return false;
    if (number == known) s->first[number] = index;
    *first = s->first[number];
    return true;
}

bool cbx__points_find(cbx__points *s, const cbx_point *p, size_t *first)
{
    size_t number;

    if (!write_key(s, p)) return false;
    number = cbx__words_find(&s->keys, cbx_text_str(&s->key));
    *first = number == CBX__NO_WORD ? CBX__NO_POINT : s->first[number];
    return true;
}
