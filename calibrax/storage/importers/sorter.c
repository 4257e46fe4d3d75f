/* Sorting by pieces (Knuth, The Art of Computer Programming 3, 5.4): each is sorted in memory, all of them are read side by side. */
#include "calibrax/storage/importers/sorter.h"

#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES  ((size_t)8 << 20)
#define WINDOW_BYTES ((size_t)32 << 10)

/* A record in memory and on disk: its length, its bytes. */
typedef uint32_t record_len;

/* A sorted piece on disk, and what of it is in memory. */
typedef struct piece {
    uint64_t at, end; /* of what is not read yet */
    char *window;
    size_t room, begin, filled;
    const char *record; /* the next one; NULL: it is over */
    record_len len;
} piece;

struct cbx__sorter {
    cbx_allocator al;
    cbx__scratch *scratch;
    char *bytes; /* records of the piece that is being filled */
    size_t nbytes, bytes_room;
    size_t *places; /* of them */
    size_t n, places_room, given;
    piece *pieces, *last; /* last: gave the record that the caller looks at */
    size_t npieces, pieces_room;
};

static cbx_status no_memory(cbx_err *err) { return cbx_fail(err, CBX_ENOMEM, "out of memory for sorting"); }

cbx_status cbx__sorter_create(const cbx_allocator *al, cbx__scratch *scratch, cbx__sorter **out, cbx_err *err)
{
    cbx__sorter *s = cbx_mem_zalloc(al, sizeof *s);

    if (!s) return no_memory(err);
    s->al = *al;
    s->scratch = scratch;
    *out = s;
    return CBX_OK;
}

static void free_bytes(cbx__sorter *s)
{
    cbx_mem_free(&s->al, s->bytes, s->bytes_room);
    cbx_mem_free(&s->al, s->places, s->places_room * sizeof *s->places);
    s->bytes = NULL;
    s->places = NULL;
    s->nbytes = s->bytes_room = s->n = s->places_room = 0;
}

void cbx__sorter_free(cbx__sorter *s)
{
    cbx_allocator al;

    if (!s) return;
    al = s->al;
    free_bytes(s);
    for (size_t i = 0; i < s->npieces; i++) cbx_mem_free(&al, s->pieces[i].window, s->pieces[i].room);
    cbx_mem_free(&al, s->pieces, s->pieces_room * sizeof *s->pieces);
    cbx_mem_free(&al, s, sizeof *s);
}

/* Room for `wanted` items of a size in all; *items moves. */
static bool reserve(const cbx_allocator *al, void *slot, size_t *room, size_t wanted, size_t first, size_t size)
{
    size_t more = *room ? *room : first;
    void *old, *grown;

    if (wanted <= *room) return true;
    while (more < wanted) more *= 2;
    memcpy(&old, slot, sizeof old);
    grown = cbx_mem_resize(al, old, *room * size, more * size);
    if (!grown) return false;
    memcpy(slot, &grown, sizeof grown);
    *room = more;
    return true;
}

/* --- filling --- */

static int compare_bytes(const char *a, record_len na, const char *b, record_len nb)
{
    int order = memcmp(a, b, na < nb ? na : nb);

    return order ? order : (na > nb) - (na < nb);
}

static int compare_places(const void *a, const void *b, void *bytes)
{
    const char *x = (const char *)bytes + *(const size_t *)a, *y = (const char *)bytes + *(const size_t *)b;
    record_len n, m;

    memcpy(&n, x, sizeof n);
    memcpy(&m, y, sizeof m);
    return compare_bytes(x + sizeof n, n, y + sizeof m, m);
}

static void sort_bytes(cbx__sorter *s)
{
    if (s->n) qsort_r(s->places, s->n, sizeof *s->places, compare_places, s->bytes);
}

/* What is in memory becomes a piece on disk. */
static cbx_status put_away(cbx__sorter *s, cbx_err *err)
{
    uint64_t begin = cbx__scratch_size(s->scratch);
    char *out;
    size_t filled = 0;
    cbx_status st = CBX_OK;

    if (!reserve(&s->al, &s->pieces, &s->pieces_room, s->npieces + 1, 8, sizeof *s->pieces)) return no_memory(err);
    out = cbx_mem_alloc(&s->al, WINDOW_BYTES);
    if (!out) return no_memory(err);
    sort_bytes(s);
    for (size_t i = 0; !st && i < s->n; i++) {
        const char *record = s->bytes + s->places[i];
        record_len len;
        size_t whole;
        memcpy(&len, record, sizeof len);
        whole = sizeof len + len;
        if (filled + whole > WINDOW_BYTES) {
            st = cbx__scratch_add(s->scratch, out, filled, NULL, err);
            filled = 0;
        }
        if (!st && whole > WINDOW_BYTES) {
            st = cbx__scratch_add(s->scratch, record, whole, NULL, err);
        } else if (!st) {
            memcpy(out + filled, record, whole);
            filled += whole;
        }
    }
    if (!st) st = cbx__scratch_add(s->scratch, out, filled, NULL, err);
    cbx_mem_free(&s->al, out, WINDOW_BYTES);
    s->pieces[s->npieces] = (piece){ .at = begin, .end = cbx__scratch_size(s->scratch) };
    s->npieces += !st;
    s->nbytes = s->n = 0;
    return st;
}

cbx_status cbx__sorter_add(cbx__sorter *s, const void *record, size_t len, cbx_err *err)
{
    record_len n = (record_len)len;
    cbx_status st = CBX_OK;

    if (len > UINT32_MAX / 2) return cbx_fail(err, CBX_EOVERFLOW, "a record of more than 2 GiB");
    if (s->scratch && s->n && s->nbytes + sizeof n + len > PIECE_BYTES) st = put_away(s, err);
    if (st) return st;
    if (!reserve(&s->al, &s->bytes, &s->bytes_room, s->nbytes + sizeof n + len, 4096, 1) ||
        !reserve(&s->al, &s->places, &s->places_room, s->n + 1, 64, sizeof *s->places))
        return no_memory(err);
    s->places[s->n++] = s->nbytes;
    memcpy(s->bytes + s->nbytes, &n, sizeof n);
    if (len) memcpy(s->bytes + s->nbytes + sizeof n, record, len);
    s->nbytes += sizeof n + len;
    return CBX_OK;
}

/* --- giving --- */

/* The window holds `wanted` bytes from its beginning on, if the piece does. */
static cbx_status look_ahead(cbx__sorter *s, piece *p, size_t wanted, cbx_err *err)
{
    while (p->filled - p->begin < wanted && p->at < p->end) {
        uint64_t left = p->end - p->at;
        size_t got = 0;
        cbx_status st;
        if (p->begin) memmove(p->window, p->window + p->begin, p->filled - p->begin);
        p->filled -= p->begin;
        p->begin = 0;
        if (!reserve(&s->al, &p->window, &p->room, wanted > WINDOW_BYTES ? wanted : WINDOW_BYTES, WINDOW_BYTES, 1))
            return no_memory(err);
        st = cbx__scratch_read(s->scratch, p->at, p->window + p->filled,
                               left < p->room - p->filled ? (size_t)left : p->room - p->filled, &got, err);
        if (!st && !got) st = cbx_fail(err, CBX_EIO, "a temporary file was cut");
        if (st) return st;
        p->at += got;
        p->filled += got;
    }
    return CBX_OK;
}

static cbx_status advance(cbx__sorter *s, piece *p, cbx_err *err)
{
    cbx_status st = look_ahead(s, p, sizeof p->len, err);

    p->record = NULL;
    if (st || p->begin == p->filled) return st;
    memcpy(&p->len, p->window + p->begin, sizeof p->len);
    st = look_ahead(s, p, sizeof p->len + p->len, err);
    if (st) return st;
    p->record = p->window + p->begin + sizeof p->len;
    p->begin += sizeof p->len + p->len;
    return CBX_OK;
}

cbx_status cbx__sorter_sort(cbx__sorter *s, cbx_err *err)
{
    cbx_status st = CBX_OK;

    if (!s->npieces) {
        sort_bytes(s);
        return CBX_OK;
    }
    if (s->n) st = put_away(s, err);
    free_bytes(s);
    for (size_t i = 0; !st && i < s->npieces; i++) st = advance(s, &s->pieces[i], err);
    return st;
}

static cbx_status next_in_memory(cbx__sorter *s, const char **record, size_t *len)
{
    record_len n;

    *record = NULL;
    if (s->given == s->n) return CBX_OK;
    memcpy(&n, s->bytes + s->places[s->given], sizeof n);
    *record = s->bytes + s->places[s->given++] + sizeof n;
    *len = n;
    return CBX_OK;
}

cbx_status cbx__sorter_next(cbx__sorter *s, const char **record, size_t *len, cbx_err *err)
{
    cbx_status st = CBX_OK;
    piece *least = NULL;

    if (!s->npieces) return next_in_memory(s, record, len);
    if (s->last) st = advance(s, s->last, err);
    for (size_t i = 0; !st && i < s->npieces; i++) {
        piece *p = &s->pieces[i];
        if (p->record && (!least || compare_bytes(p->record, p->len, least->record, least->len) < 0)) least = p;
    }
    s->last = least;
    *record = !st && least ? least->record : NULL;
    *len = least ? least->len : 0;
    return st;
}
