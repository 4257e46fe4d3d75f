/*
 * Keeping runs that are too large to be held: what is to be kept is written first, and compared with what is there as bytes.
 */
#include "calibrax/storage/store_keep.h"

#include <stdio.h>
#include <string.h>

#include "calibrax/storage/store_parts.h"

static bool same_bytes(const char *a, const char *b)
{
    FILE *x = fopen(a, "rbe"), *y = fopen(b, "rbe");
    char p[16384], q[sizeof p];
    bool same = x && y;

    while (same) {
        size_t n = fread(p, 1, sizeof p, x), m = fread(q, 1, sizeof q, y);
        same = n == m && memcmp(p, q, n) == 0;
        if (n < sizeof p) break;
    }
    same = same && !ferror(x) && !ferror(y);
    if (x) fclose(x);
    if (y) fclose(y);
    return same;
}

/* The same content in other bytes (another time zone, other order of keys) is the same run, too. */
static cbx_status same_run(cbx_store *s, const char *a, const char *b, bool *same, cbx_err *err)
{
    cbx_run *x = NULL, *y = NULL;
    cbx_err why = CBX_ERR_INIT;
    cbx_status st = cbx_run_read(s->ctx, a, &x, &why);

    *same = false;
    if (!st) st = cbx_run_read(s->ctx, b, &y, &why);
    if (!st) st = cbx_run_equal(x, y, same, &why);
    cbx_run_free(x);
    cbx_run_free(y);
    return st == CBX_ENOMEM ? cbx_fail(err, st, "%s", why.message) : CBX_OK;
}

/* What was written takes its place, unless that is taken. */
static cbx_status settle(cbx_store *s, const cbx_run *head, cbx_replacement *file, const char *path, bool replace,
                         cbx_err *err)
{
    bool same = false;
    cbx_status st = CBX_OK;

    if (replace || !cbx_path_exists(path)) return cbx_replacement_commit(file, err);
    same = same_bytes(cbx_replacement_path(file), path);
    if (!same) st = same_run(s, cbx_replacement_path(file), path, &same, err);
    cbx_replacement_discard(file);
    return st || same ? st : cbx__store_exists(s, head, err);
}

cbx_status cbx__store_save_spooled(cbx_store *s, const cbx_run *head, const cbx__spooled *points,
                                   const cbx__scratch *scratch, bool replace, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(s->ctx);
    cbx_replacement *file = NULL;
    cbx_lock *lock = NULL;
    cbx_arena arena;
    const char *path;
    cbx_status st;

    cbx_arena_init(&arena, al);
    path = cbx__store_run_path(s, &arena, cbx_run_id(head));
    st = path ? cbx__store_make(s, err) : cbx__store_no_memory(err);
    if (!st) st = cbx__store_lock(s, &lock, err);
    if (!st) st = cbx_replacement_begin(s->ctx, path, &file, err);
    if (!st) st = cbx__spooled_write(al, head, points, scratch, cbx_replacement_path(file), path, err);
    if (st)
        cbx_replacement_discard(file);
    else
        st = settle(s, head, file, path, replace, err);
    cbx_lock_release(lock);
    cbx_arena_clear(&arena);
    return st;
}
