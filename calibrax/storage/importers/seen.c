/* Two tables of hashes: of what was seen, and of what was seen again. */
#include "calibrax/storage/importers/seen.h"

#include <stdbool.h>

#define FIRST_ROOM 64

static uint64_t *once_slot(uint64_t *table, size_t room, uint64_t hash)
{
    size_t i = hash & (room - 1);

    while (table[i] && table[i] != hash) i = (i + 1) & (room - 1);
    return &table[i];
}

static cbx__seen_again *again_slot(cbx__seen_again *table, size_t room, uint64_t hash)
{
    size_t i = hash & (room - 1);

    while (table[i].hash && table[i].hash != hash) i = (i + 1) & (room - 1);
    return &table[i];
}

/* At most three quarters of the slots are taken. */
static bool is_full(size_t used, size_t room) { return 4 * used >= 3 * room; }

static bool grow_once(cbx__seen *s, const cbx_allocator *al)
{
    size_t room = s->once_room ? 2 * s->once_room : FIRST_ROOM;
    uint64_t *more = cbx_mem_calloc(al, room, sizeof *more);

    if (!more) return false;
    for (size_t i = 0; i < s->once_room; i++)
        if (s->once[i]) *once_slot(more, room, s->once[i]) = s->once[i];
    cbx_mem_free(al, s->once, s->once_room * sizeof *s->once);
    s->once = more;
    s->once_room = room;
    return true;
}

static bool grow_again(cbx__seen *s, const cbx_allocator *al)
{
    size_t room = s->again_room ? 2 * s->again_room : FIRST_ROOM;
    cbx__seen_again *more = cbx_mem_calloc(al, room, sizeof *more);

    if (!more) return false;
    for (size_t i = 0; i < s->again_room; i++)
        if (s->again[i].hash) *again_slot(more, room, s->again[i].hash) = s->again[i];
    cbx_mem_free(al, s->again, s->again_room * sizeof *s->again);
    s->again = more;
    s->again_room = room;
    return true;
}

unsigned cbx__seen_count(cbx__seen *s, const cbx_allocator *al, uint64_t hash)
{
    uint64_t *once;
    cbx__seen_again *again;

    hash += hash == 0;
    if (is_full(s->once_used, s->once_room) && !grow_once(s, al)) return 0;
    once = once_slot(s->once, s->once_room, hash);
    if (!*once) {
        *once = hash;
        s->once_used++;
        return 1;
    }
    if (is_full(s->again_used, s->again_room) && !grow_again(s, al)) return 0;
    again = again_slot(s->again, s->again_room, hash);
    if (!again->hash) {
        *again = (cbx__seen_again){ hash, 1 };
        s->again_used++;
    }
    return ++again->count;
}

void cbx__seen_clear(cbx__seen *s, const cbx_allocator *al)
{
    cbx_mem_free(al, s->once, s->once_room * sizeof *s->once);
    cbx_mem_free(al, s->again, s->again_room * sizeof *s->again);
    *s = (cbx__seen){ 0 };
}
