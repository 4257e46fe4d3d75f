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

void cbx__gatherer_init(cbx__gatherer *g, cbx__index *ix)
{
    *g = (cbx__gatherer){
        .ix = ix,
        .al = cbx_ctx_allocator(ix->ctx),
        .last = cbx__select_of(ix, "SELECT key, data FROM chunk WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT 1"),
        .put = cbx__select_of(ix, "REPLACE INTO chunk VALUES(?,?)"),
    };
}

void cbx__gatherer_clear(cbx__gatherer *g)
{
    cbx__select_end(&g->last, CBX_OK, NULL);
    cbx__select_end(&g->put, CBX_OK, NULL);
    cbx_list_clear(g->al, &g->items);
    cbx_list_clear(g->al, &g->chunk);
}

cbx_status cbx__gatherer_add(cbx__gatherer *g, int64_t sid, const cbx__index_value *v, cbx_err *err)
{
    if (sid >= INT32_MAX || g->items.n >= UINT32_MAX)
        return cbx_fail(err, CBX_EIO, "the index of the store has no more numbers for series; it may be deleted");
    if (!cbx_list_push(g->al, &g->items, (cbx__series_value){ (uint64_t)sid << 32 | g->items.n, *v }))
        return cbx_fail_nomem(err, "the values of a store");
    return CBX_OK;
}

CBX_BY(by_order, cbx__series_value, order)

static cbx_status sort_by_counting(cbx__gatherer *g, uint64_t low, size_t span, cbx_err *err)
{
    cbx__series_value *items = g->items.items;
    size_t *place = cbx_mem_calloc(g->al, span, sizeof *place);
    cbx__series_value *sorted = place ? cbx_mem_alloc(g->al, g->items.capacity * sizeof *sorted) : NULL;

    if (sorted) {
        /* Where each of `span` series begins, counted from `low`, becomes where its next item
         * goes. */
        size_t before = 0;

        for (size_t i = 0; i < g->items.n; i++) place[(items[i].order >> 32) - low]++;
        for (size_t k = 0; k < span; k++) {
            size_t count = place[k];
            place[k] = before;
            before += count;
        }
        for (size_t i = 0; i < g->items.n; i++) sorted[place[(items[i].order >> 32) - low]++] = items[i];
        cbx_mem_free(g->al, items, g->items.capacity * sizeof *items);
        g->items.items = sorted;
    }
    cbx_mem_free(g->al, place, span * sizeof *place);
    return sorted ? CBX_OK : cbx_fail_nomem(err, "the values of a store");
}

/* By series, each in the order it came; by counting where the series' numbers lie close together,
 * as those of a new index do. */
static cbx_status sort_items(cbx__gatherer *g, cbx_err *err)
{
    uint64_t low = UINT64_MAX, high = 0;
    size_t n = g->items.n;

    for (size_t i = 0; i < n; i++) {
        uint64_t sid = g->items.items[i].order >> 32;
        low = sid < low ? sid : low;
        high = sid > high ? sid : high;
    }
    if (n && high - low < n) return sort_by_counting(g, low, (size_t)(high - low) + 1, err);
    if (n) qsort(g->items.items, n, sizeof *g->items.items, by_order);
    return CBX_OK;
}

static cbx_status put_chunk(cbx__gatherer *g, int64_t key, size_t n, cbx_err *err)
{
    cbx__bind_ints(&g->put, key);
    cbx__bind_bytes(&g->put, g->chunk.items, n * sizeof *g->chunk.items);
    return cbx__select_put(&g->put, err);
}

/* The chunk of a row, key and data, into g->chunk, where there is space for `more` values
 * behind it. */
static cbx_status take_chunk(cbx__gatherer *g, const cbx__select *row, size_t more, cbx_err *err)
{
    size_t bytes;
    const void *data = cbx__select_bytes(row, 1, &bytes);

    if (!cbx_list_reserve(g->al, &g->chunk, bytes / sizeof *g->chunk.items + more))
        return cbx_fail_nomem(err, "the values of a store");
    g->chunk.n = bytes / sizeof *g->chunk.items;
    memcpy(g->chunk.items, data, g->chunk.n * sizeof *g->chunk.items);
    return CBX_OK;
}

/*
 * Behind the values of the series' last chunk if that has space for n more, else as a chunk of its
 * own.  One that begins with the same run has space for any number: a run of very many values comes
 * in parts.
 */
static cbx_status put_series(cbx__gatherer *g, const cbx__series_value *items, size_t n, cbx_err *err)
{
    int64_t sid = (int64_t)(items->order >> 32), key = chunk_key(sid, items->value.rid);
    cbx_status st = CBX_OK, again;

    g->chunk.n = 0;
    cbx__bind_ints(&g->last, chunk_key(sid, 0), chunk_key(sid, UINT32_MAX));
    if (cbx__select_next(&g->last)) {
        int64_t last = cbx__select_int(&g->last, 0);
        st = take_chunk(g, &g->last, n + CHUNK_FULL, err);
        if (g->chunk.n + n > CHUNK_FULL && last != key)
            g->chunk.n = 0;
        else
            key = last;
    } else if (!cbx_list_reserve(g->al, &g->chunk, n + CHUNK_FULL)) {
        st = cbx_fail_nomem(err, "the values of a store");
    }
    again = cbx__select_again(&g->last, st ? NULL : err);
    if (!st) st = again;
    for (size_t i = 0; !st && i < n; i++) g->chunk.items[g->chunk.n++] = items[i].value;
    return st ? st : put_chunk(g, key, g->chunk.n, err);
}

cbx_status cbx__gatherer_flush(cbx__gatherer *g, cbx_err *err)
{
    cbx_status st = sort_items(g, err);
    const cbx__series_value *items = g->items.items;

    for (size_t i = 0, n; !st && i < g->items.n; i += n) {
        for (n = 1; i + n < g->items.n && items[i + n].order >> 32 == items[i].order >> 32;) n++;
        st = put_series(g, &items[i], n, err);
    }
    g->items.n = 0;
    return st;
}

cbx_status cbx__gatherer_pause(cbx__gatherer *g, cbx_err *err)
{
    return g->items.n < PAUSE_AT ? CBX_OK : cbx__gatherer_flush(g, err);
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

cbx__select cbx__values_select(cbx__index *ix)
{
    return cbx__select_of(ix, "SELECT data FROM chunk WHERE key BETWEEN ? AND ? ORDER BY key");
}

cbx_status cbx__values_each(cbx__select *s, int64_t sid, cbx__values_fn fn, void *user, cbx_err *err)
{
    cbx_status st = CBX_OK, again;

    cbx__bind_ints(s, chunk_key(sid, 0), chunk_key(sid, UINT32_MAX));
    while (!st && cbx__select_next(s)) {
        size_t bytes;
        const char *data = cbx__select_bytes(s, 0, &bytes);
        for (size_t at = 0; !st && at + sizeof(cbx__index_value) <= bytes; at += sizeof(cbx__index_value)) {
            cbx__index_value v;
            memcpy(&v, data + at, sizeof v);
            st = fn(user, &v, err);
        }
    }
    again = cbx__select_again(s, st ? NULL : err);
    return st ? st : again;
}

/* --- pruning --- */

/* One chunk at a time by its key: a table does not change under a statement that walks it. */
cbx_status cbx__values_prune(cbx__index *ix, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ix->ctx);
    CBX_SCOPED(cbx__gatherer, g, ix);
    CBX_LIST(cbx__rid) rids = { 0 };
    cbx__select live = cbx__select_of(ix, "SELECT rid FROM run ORDER BY rid");
    cbx__select walk = cbx__select_of(ix, "SELECT key, data FROM chunk WHERE key > ? ORDER BY key LIMIT 1");
    cbx__select drop = cbx__select_of(ix, "DELETE FROM chunk WHERE key = ?");
    int64_t key = -1;
    bool more = true;
    cbx_status st = CBX_OK;

    while (!st && cbx__select_next(&live))
        if (!cbx_list_push(al, &rids, (cbx__rid){ (uint32_t)cbx__select_int(&live, 0), 0 }))
            st = cbx_fail_nomem(err, "the values of a store");
    st = cbx__select_end(&live, st, err);
    while (!st && more) {
        size_t kept = 0, near = 0;
        cbx__bind_ints(&walk, key);
        more = cbx__select_next(&walk);
        if (more) {
            key = cbx__select_int(&walk, 0);
            st = take_chunk(&g, &walk, 1, err);
        }
        if (!st) st = cbx__select_again(&walk, err);
        if (st || !more) break;
        for (size_t i = 0; i < g.chunk.n; i++)
            if (cbx__rids_find(rids.items, rids.n, g.chunk.items[i].rid, &near))
                g.chunk.items[kept++] = g.chunk.items[i];
        if (kept == 0) {
            cbx__bind_ints(&drop, key);
            st = cbx__select_put(&drop, err);
        } else if (kept < g.chunk.n) {
            st = put_chunk(&g, key, kept, err);
        }
    }
    st = cbx__select_end(&walk, st, err);
    cbx_list_clear(al, &rids);
    return cbx__select_end(&drop, st, err);
}
