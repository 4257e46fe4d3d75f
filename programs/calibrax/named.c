/* Each point of its kind is copied once, when it is first named. */
#include "programs/calibrax/named.h"

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

void named_points_init(named_points *all, cbx_arena *arena)
{
    all->arena = arena;
    cbx_point_index_init(&all->index, &arena->al, NULL);
}

void named_points_clear(named_points *all) { cbx_point_index_clear(&all->index); }

const cbx_point *named_point(named_points *all, const cbx_point *p)
{
    const cbx_point_entry *known = cbx_point_index_find(&all->index, p);
    const cbx_point *own = known ? known->point : copy_words(all->arena, p);

    if (!known && own && !cbx_point_index_add(&all->index, own, 0)) return NULL;
    return own;
}
