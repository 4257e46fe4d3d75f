/*
 * What rows mean over time: store keys, run ids, and the durable store on disk.
 */
#include "calibrax/base/clock.h"
#include "calibrax/base/file_text.h"
#include "calibrax/base/gzip.h"
#include "calibrax/base/text_keep.h"
#include "calibrax/storage/store_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOCK_WAIT_NS 10000000000u /* a store is held for one small write */
#define MAX_SAME_ID  99           /* runs that share one microsecond and revision */

/* --- keys --- */

/* The point with sorted keys, so that the order in which a case wrote them does not matter. */
static const char *canonical_point(cbx_arena *arena, const char *point_json)
{
    const char *text = point_json ? point_json : "{}";
    cbx_json *point = NULL;
    cbx_text out;

    if (cbx_json_parse(text, strlen(text), "point", &point, NULL)) return text;
    cbx_text_init(&out, &arena->al);
    cbx_json_write(point, CBX_JSON_COMPACT | CBX_JSON_NONFINITE_STRING | CBX_JSON_SORT_KEYS, &out);
    cbx_json_unref(point);
    return cbx__text_keep(&out, arena);
}

const char *cbx_row_key(cbx_arena *arena, const cbx_row *row)
{
    const char *point = canonical_point(arena, row->point_json);
    const char *variant = row->variant ? row->variant : "default";

    if (!point) return NULL;
    /* no name has the unit separator */
    return cbx_arena_printf(arena, "%s\x1f%s\x1f%s\x1f%s\x1f%s\x1f%s", row->case_name ? row->case_name : "",
                            row->machine ? row->machine : "", row->platform ? row->platform : "", point,
                            row->baseline ? row->baseline : "", variant);
}

/* --- run ids --- */

const char *cbx_row_run_id(int64_t us, const char *revision, char buf[CBX_RUN_ID_SIZE])
{
    char time[CBX_TIME_SIZE];
    size_t digits = revision ? strspn(revision, "0123456789abcdef") : 0;

    cbx_time_format_id(us, time);
    snprintf(buf, CBX_RUN_ID_SIZE, "%s__%.7s", time, digits >= 7 ? revision : "nosha");
    return buf;
}

/* --- the store --- */

/* A run id is a safe file name that may hold the '+' of its time zone. */
static bool run_id_is_safe(const char *run_id)
{
    char plain[CBX_RUN_ID_SIZE];
    size_t n = strlen(run_id);

    if (n >= sizeof plain) return false;
    memcpy(plain, run_id, n + 1);
    for (char *c = plain; *c; c++) {
        if (*c == '+') *c = '_';
    }
    return cbx_name_is_safe(plain) && run_id[0] != '+';
}

static cbx_status check_names(const char *case_name, const char *run_id, cbx_err *err)
{
    if (!cbx_name_is_safe(case_name)) {
        return cbx_fail(err, CBX_EINVAL,
                        "case name '%s' cannot be a folder of the store: use letters, digits, '.', '_', '-'",
                        case_name);
    }
    if (!run_id_is_safe(run_id)) {
        return cbx_fail(err, CBX_EINVAL,
                        "run id '%s' cannot be a file of the store: use letters, digits, '.', '_', '-', '+'", run_id);
    }
    return CBX_OK;
}

/* The first of ID, ID-02, ID-03 ... that is no file yet. */
static cbx_status free_run_id(cbx_arena *arena, const char *folder, const char *run_id, const char **out, cbx_err *err)
{
    for (unsigned i = 1; i <= MAX_SAME_ID; i++) {
        const char *id = i == 1 ? run_id : cbx_arena_printf(arena, "%s-%02u", run_id, i);
        const char *path = id ? cbx_arena_printf(arena, "%s/%s.jsonl", folder, id) : NULL;
        if (!path) return cbx_fail(err, CBX_ENOMEM, "out of memory while naming run '%s'", run_id);
        if (cbx_path_exists(path)) continue;
        *out = id;
        return CBX_OK;
    }
    return cbx_fail(err, CBX_EEXIST, "run '%s' is in the store %d times already", run_id, MAX_SAME_ID);
}

/* The folder of a case, and its lock unless that is missing and is not to be made. */
static cbx_status lock_case(cbx_ctx *ctx, cbx_arena *arena, const char *root, const char *case_name, bool make,
                            const char **folder, cbx_lock **lock, cbx_err *err)
{
    const char *path;
    cbx_status st;

    *folder = cbx_path_join(arena, root, case_name);
    path = *folder ? cbx_path_join(arena, *folder, ".lock") : NULL;
    if (!path) return cbx_fail(err, CBX_ENOMEM, "out of memory for the rows of '%s'", root);
    if (!make && !cbx_path_exists(*folder)) return CBX_OK;
    st = make ? cbx_dir_create(ctx, *folder, err) : CBX_OK;
    return st ? st : cbx_lock_take(ctx, path, LOCK_WAIT_NS, lock, err);
}

cbx_status cbx_row_store_put(cbx_ctx *ctx, const char *root, const char *case_name, const char *run_id,
                             const cbx_row *rows, size_t count, const char *raw_text, cbx_err *err)
{
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    CBX_SCOPED(cbx_text, packed, cbx_ctx_allocator(ctx));
    CBX_OWNED(cbx_lock) *lock = NULL;
    const char *folder, *path, *raw_path, *id = run_id;
    cbx_row *named = cbx_arena_calloc(&arena, count, sizeof *named);
    cbx_status st = check_names(case_name, run_id, err);

    if (!st) st = lock_case(ctx, &arena, root, case_name, true, &folder, &lock, err);
    if (!st) st = free_run_id(&arena, folder, run_id, &id, err);
    if (st) return st;
    path = cbx_arena_printf(&arena, "%s/%s.jsonl", folder, id);
    raw_path = cbx_arena_printf(&arena, "%s/%s" RAW_SUFFIX, folder, id);
    if (!named || !path || !raw_path) return cbx_fail(err, CBX_ENOMEM, "out of memory while storing run '%s'", run_id);
    for (size_t i = 0; i < count; i++) {
        named[i] = rows[i];
        if (id != run_id) named[i].run_id = id;
    }
    /* the rows come last: a run is there once its rows are */
    if (raw_text) st = cbx_gzip_pack(raw_text, strlen(raw_text), &packed, err);
    if (!st && raw_text) st = cbx_file_write_atomic(ctx, raw_path, packed.data, packed.len, err);
    return st ? st : cbx_rows_write(ctx, path, named, count, err);
}

/* --- raw launches --- */

cbx_status cbx_row_store_raw(cbx_ctx *ctx, const char *root, const char *case_name, const char *run_id, cbx_text *out,
                             cbx_err *err)
{
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    CBX_SCOPED(cbx_text, data, cbx_ctx_allocator(ctx));
    const char *packed, *plain;
    bool is_packed;
    cbx_status st = check_names(case_name, run_id, err);

    if (st) return st;
    packed = cbx_arena_printf(&arena, "%s/%s/%s" RAW_SUFFIX, root, case_name, run_id);
    plain = cbx_arena_printf(&arena, "%s/%s/%s" RAW_PLAIN, root, case_name, run_id);
    if (!packed || !plain) return cbx_fail(err, CBX_ENOMEM, "out of memory while reading run '%s'", run_id);
    is_packed = cbx_path_exists(packed) || !cbx_path_exists(plain);
    st = cbx__file_text(ctx, is_packed ? packed : plain, 0, &data, err);
    if (st) return st;
    if (is_packed) return cbx_gzip_unpack(data.data, data.len, RAW_MAX, packed, out, err);
    cbx_text_add(out, data.data, data.len);
    return cbx_text_check(out, err);
}

/* --- keeping it small --- */

cbx_status cbx_row_store_prune(cbx_ctx *ctx, const char *root, const char *case_name, size_t keep, size_t *removed,
                               cbx_err *err)
{
    const cbx_store_keep rule = { .newest = keep };
    cbx_store_report report = { 0 };
    cbx__store_case c = { 0 };
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    CBX_OWNED(cbx_lock) *lock = NULL;
    size_t gone = 0;
    cbx_status st = check_names(case_name, "run", err);

    if (removed) *removed = 0;
    if (st || keep == 0) return st;
    st = lock_case(ctx, &arena, root, case_name, false, &c.path, &lock, err);
    if (lock) st = cbx_dir_list(ctx, c.path, NULL, &arena, &c.files, &c.n, err);
    if (lock && !st) st = cbx__store_compact_case(&arena, &c, &rule, &report, &gone, err);
    if (removed) *removed = gone;
    return st;
}
