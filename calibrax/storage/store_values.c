/*
 * Values of series in chunks: gathering many, appending few, reading, pruning.
 */
#include "calibrax/base/idioms.h"
#include "calibrax/base/list.h"
#include "calibrax/storage/store_internal.h"

#include <stdlib.h>
#include <string.h>

#define PAUSE_AT   65536 /* values that are written together */
#define CHUNK_FULL 120   /* values of a chunk that fill one page of the database: more go into another */

static int64_t chunk_key(int64_t sid, uint32_t rid) { return (int64_t)((uint64_t)sid << 32 | rid); }

/* --- gathering --- */

typedef struct gathered {
    uint64_t order; /* sid, and which came first */
    cbx__index_value value;
} gathered;

struct cbx__gatherer {
    cbx__index *ix;
    cbx__select *last, *put;
    gathered *items;
    size_t n, capacity;
    cbx__index_value *chunk; /* being put together */
    size_t chunk_capacity;
};

cbx_status cbx__gatherer_create(cbx__index *ix, cbx__gatherer **out, cbx_err *err)
{
    static const char last[] = "SELECT key, data FROM chunk WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT 1";
    cbx__gatherer *g = cbx_mem_zalloc(cbx_ctx_allocator(cbx__index_ctx(ix)), sizeof *g);
    cbx_status st;

    if (!g) return cbx_fail_nomem(err, "the values of a store");
    g->ix = ix;
    st = cbx__select_open(ix, last, &g->last, err);
    if (!st) st = cbx__select_open(ix, "REPLACE INTO chunk VALUES(?,?)", &g->put, err);
    return CBX_FINISH(st, *out = g, cbx__gatherer_free(g));
}

void cbx__gatherer_free(cbx__gatherer *g)
{
    const cbx_allocator *al;

    if (!g) return;
    al = cbx_ctx_allocator(cbx__index_ctx(g->ix));
    cbx__select_close(g->last, NULL);
    cbx__select_close(g->put, NULL);
    cbx_mem_free(al, g->items, g->capacity * sizeof *g->items);
    cbx_mem_free(al, g->chunk, g->chunk_capacity * sizeof *g->chunk);
    cbx_mem_free(al, g, sizeof *g);
}

static bool reserve_chunk(cbx__gatherer *g, size_t n)
{
    return cbx_grow(cbx_ctx_allocator(cbx__index_ctx(g->ix)), &g->chunk, &g->chunk_capacity, n, sizeof *g->chunk);
}

cbx_status cbx__gatherer_add(cbx__gatherer *g, int64_t sid, const cbx__index_value *v, cbx_err *err)
{
    if (sid >= INT32_MAX || g->n >= UINT32_MAX)
        return cbx_fail(err, CBX_EIO, "the index of the store has no more numbers for series; it may be deleted");
    if (!cbx_grow(cbx_ctx_allocator(cbx__index_ctx(g->ix)), &g->items, &g->capacity, g->n + 1, sizeof *g->items))
        return cbx_fail_nomem(err, "the values of a store");
    g->items[g->n] = (gathered){ (uint64_t)sid << 32 | g->n, *v };
    g->n++;
    return CBX_OK;
}

CBX_BY(by_order, gathered, order)

static cbx_status sort_by_counting(cbx__gatherer *g, uint64_t low, size_t span, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(cbx__index_ctx(g->ix));
    size_t *place = cbx_mem_calloc(al, span, sizeof *place);
    gathered *sorted = place ? cbx_mem_alloc(al, g->capacity * sizeof *sorted) : NULL;

    if (sorted) {
        /* Where each of `span` series begins, counted from `low`, becomes where its next item
         * goes. */
        size_t before = 0;

        for (size_t i = 0; i < g->n; i++) place[(g->items[i].order >> 32) - low]++;
        for (size_t k = 0; k < span; k++) {
            size_t count = place[k];
            place[k] = before;
            before += count;
        }
        for (size_t i = 0; i < g->n; i++) sorted[place[(g->items[i].order >> 32) - low]++] = g->items[i];
        cbx_mem_free(al, g->items, g->capacity * sizeof *g->items);
        g->items = sorted;
    }
    cbx_mem_free(al, place, span * sizeof *place);
    return sorted ? CBX_OK : cbx_fail_nomem(err, "the values of a store");
}

/* By series, each in the order it came; by counting where the series' numbers lie close together,
 * as those of a new index do. */
static cbx_status sort_items(cbx__gatherer *g, cbx_err *err)
{
    uint64_t low = UINT64_MAX, high = 0;

    for (size_t i = 0; i < g->n; i++) {
        uint64_t sid = g->items[i].order >> 32;
        low = sid < low ? sid : low;
        high = sid > high ? sid : high;
    }
    if (g->n && high - low < g->n) return sort_by_counting(g, low, (size_t)(high - low) + 1, err);
    if (g->n) qsort(g->items, g->n, sizeof *g->items, by_order);
    return CBX_OK;
}

static cbx_status put_chunk(cbx__gatherer *g, int64_t key, size_t n, cbx_err *err)
{
    cbx__select_bind_int(g->put, key);
    cbx__select_bind_bytes(g->put, g->chunk, n * sizeof *g->chunk);
    return cbx__select_put(g->put, err);
}

/*
 * The series' last chunk if that has space for n more, before them in g->chunk; otherwise none.
 * One that begins with the same run has space for any number: a run of very many values comes in
 * parts.
 */
static cbx_status last_chunk(cbx__gatherer *g, int64_t sid, size_t n, int64_t *key, size_t *had, cbx_err *err)
{
    bool fits = true;
    cbx_status st;

    *had = 0;
    cbx__select_bind_int(g->last, chunk_key(sid, 0));
    cbx__select_bind_int(g->last, chunk_key(sid, UINT32_MAX));
    if (cbx__select_next(g->last)) {
        size_t bytes;
        const void *data = cbx__select_bytes(g->last, 1, &bytes);
        size_t there = bytes / sizeof *g->chunk;
        if (there + n <= CHUNK_FULL || cbx__select_int(g->last, 0) == *key) {
            *key = cbx__select_int(g->last, 0);
            *had = there;
            fits = reserve_chunk(g, there + n);
            if (fits) memcpy(g->chunk, data, there * sizeof *g->chunk);
        }
    }
    st = cbx__select_again(g->last, err);
    return st || fits ? st : cbx_fail_nomem(err, "the values of a store");
}

static cbx_status put_series(cbx__gatherer *g, const gathered *items, size_t n, cbx_err *err)
{
    int64_t sid = (int64_t)(items->order >> 32), key = chunk_key(sid, items->value.rid);
    size_t had = 0;
    cbx_status st = reserve_chunk(g, n + CHUNK_FULL) ? CBX_OK : cbx_fail_nomem(err, "the values of a store");

    if (!st) st = last_chunk(g, sid, n, &key, &had, err);
    for (size_t i = 0; !st && i < n; i++) g->chunk[had + i] = items[i].value;
    return st ? st : put_chunk(g, key, had + n, err);
}

cbx_status cbx__gatherer_flush(cbx__gatherer *g, cbx_err *err)
{
    cbx_status st = sort_items(g, err);

    for (size_t i = 0, n; !st && i < g->n; i += n) {
        for (n = 1; i + n < g->n && g->items[i + n].order >> 32 == g->items[i].order >> 32;) n++;
        st = put_series(g, &g->items[i], n, err);
    }
    g->n = 0;
    return st;
}

cbx_status cbx__gatherer_pause(cbx__gatherer *g, cbx_err *err)
{
    return g->n < PAUSE_AT ? CBX_OK : cbx__gatherer_flush(g, err);
}

/* --- reading --- */

CBX_BY(by_rid, cbx__rid, rid)

void cbx__rids_sort(cbx__rid *rids, size_t n)
{
    size_t i = 1;

    while (i < n && rids[i - 1].rid < rids[i].rid) i++;
    if (i < n) qsort(rids, n, sizeof *rids, by_rid);
}

const cbx__rid *cbx__rids_find(const cbx__rid *rids, size_t n, uint32_t rid, size_t *near)
{
    const cbx__rid wanted = { rid, 0 }, *found;

    for (size_t i = *near; i < n && i < *near + 2; i++) {
        if (rids[i].rid != rid) continue;
        *near = i;
        return &rids[i];
    }
    found = n ? bsearch(&wanted, rids, n, sizeof *rids, by_rid) : NULL;
    if (found) *near = (size_t)(found - rids);
    return found;
}

cbx_status cbx__values_open(cbx__index *ix, cbx__select **out, cbx_err *err)
{
    return cbx__select_open(ix, "SELECT data FROM chunk WHERE key BETWEEN ? AND ? ORDER BY key", out, err);
}

cbx_status cbx__values_each(cbx__select *s, int64_t sid, cbx__values_fn fn, void *user, cbx_err *err)
{
    cbx_status st = CBX_OK;
    cbx_err *later = err;

    cbx__select_bind_int(s, chunk_key(sid, 0));
    cbx__select_bind_int(s, chunk_key(sid, UINT32_MAX));
    while (!st && cbx__select_next(s)) {
        size_t bytes;
        const char *data = cbx__select_bytes(s, 0, &bytes);
        for (size_t at = 0; !st && at + sizeof(cbx__index_value) <= bytes; at += sizeof(cbx__index_value)) {
            cbx__index_value v;
            memcpy(&v, data + at, sizeof v);
            st = fn(user, &v, err);
        }
    }
    if (st) later = NULL;
    cbx_status closed = cbx__select_again(s, later);
    return st ? st : closed;
}

/* --- pruning --- */

static cbx_status live_rids(cbx__index *ix, cbx_arena *arena, cbx__rid **rids, size_t *n, cbx_err *err)
{
    cbx__select *q = NULL;
    size_t count = 0;
    cbx_status st = cbx__select_open(ix, "SELECT rid, (SELECT COUNT(*) FROM run) FROM run ORDER BY rid", &q, err);

    *n = 0;
    *rids = NULL;
    while (!st && cbx__select_next(q)) {
        if (!*rids) *rids = cbx_arena_calloc(arena, count = (size_t)cbx__select_int(q, 1), sizeof **rids);
        if (!*rids)
            st = cbx_fail_nomem(err, "the values of a store");
        else if (*n < count)
            (*rids)[(*n)++] = (cbx__rid){ (uint32_t)cbx__select_int(q, 0), 0 };
    }
    return cbx__select_end(q, st, err);
}

/* One chunk at a time by its key: a table does not change under a statement that walks it. */
static cbx_status next_chunk(cbx__gatherer *g, cbx__select *walk, int64_t *key, size_t *n, bool *more, cbx_err *err)
{
    bool fits = true;
    cbx_status st;

    cbx__select_bind_int(walk, *key);
    *more = cbx__select_next(walk);
    if (*more) {
        size_t bytes;
        const void *data = cbx__select_bytes(walk, 1, &bytes);
        *key = cbx__select_int(walk, 0);
        *n = bytes / sizeof *g->chunk;
        fits = reserve_chunk(g, *n + 1);
        if (fits) memcpy(g->chunk, data, *n * sizeof *g->chunk);
    }
    st = cbx__select_again(walk, err);
    return st || fits ? st : cbx_fail_nomem(err, "the values of a store");
}

static cbx_status prune_chunks(cbx__gatherer *g, cbx__select *walk, cbx__select *drop, const cbx__rid *rids,
                               size_t nrids, cbx_err *err)
{
    int64_t key = -1;
    bool more = true;
    cbx_status st = CBX_OK;

    while (!st && more) {
        size_t n = 0, kept = 0, near = 0;
        st = next_chunk(g, walk, &key, &n, &more, err);
        if (st || !more) break;
        for (size_t i = 0; i < n; i++)
            if (cbx__rids_find(rids, nrids, g->chunk[i].rid, &near)) g->chunk[kept++] = g->chunk[i];
        if (kept == 0) {
            cbx__select_bind_int(drop, key);
            st = cbx__select_put(drop, err);
        } else if (kept < n) {
            st = put_chunk(g, key, kept, err);
        }
    }
    return st;
}

cbx_status cbx__values_prune(cbx__index *ix, cbx_err *err)
{
    cbx__gatherer *g = NULL;
    cbx__select *walk = NULL, *drop = NULL;
    cbx__rid *rids = NULL;
    size_t n = 0;
    cbx_arena arena;
    cbx_status st = cbx__gatherer_create(ix, &g, err);

    cbx_arena_init(&arena, cbx_ctx_allocator(cbx__index_ctx(ix)));
    if (!st) st = live_rids(ix, &arena, &rids, &n, err);
    if (!st) st = cbx__select_open(ix, "SELECT key, data FROM chunk WHERE key > ? ORDER BY key LIMIT 1", &walk, err);
    if (!st) st = cbx__select_open(ix, "DELETE FROM chunk WHERE key = ?", &drop, err);
    if (!st) st = prune_chunks(g, walk, drop, rids, n, err);
    cbx__select_close(walk, NULL);
    cbx__select_close(drop, NULL);
    cbx__gatherer_free(g);
    cbx_arena_clear(&arena);
    return st;
}
