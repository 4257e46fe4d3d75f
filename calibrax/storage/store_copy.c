/*
 * Runs of a store rewritten, or copied into another: many at a time, for each of which to lock the
 * store and to wait for the disk would take longer than all the rest.
 */
#include <sys/stat.h>

#include "calibrax/base/file_batch.h"
#include "calibrax/base/file_text.h"
#include "calibrax/core/run_file.h"
#include "calibrax/storage/store_internal.h"

#define BYTES_MAX ((uint64_t)64 << 20) /* that wait for the disk, and have others wait for the lock */

/* Runs on their way into a store, which is locked while some wait. */
typedef struct keeping {
    cbx_store *to;
    cbx_store_report *out;
    bool dry;
    cbx_lock *lock;
    cbx__file_batch batch;
    uint64_t bytes;
} keeping;

static cbx_status keep_commit(keeping *k, cbx_err *err)
{
    cbx_status st = cbx__file_batch_commit(&k->batch, err);

    cbx_lock_release(k->lock);
    k->lock = NULL;
    k->bytes = 0;
    return st;
}

static cbx_status keep_run(keeping *k, const cbx_run *run, bool replace, uint64_t bytes, cbx_err *err)
{
    cbx_replacement *file = NULL;
    bool done = false;
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(k->to->ctx));
    const char *path = cbx__store_run_path(k->to, &arena, cbx_run_id(run));
    cbx_status st = path ? CBX_OK : cbx_fail_nomem(err, "the store");

    if (!st && !k->lock) st = cbx__store_lock(k->to, &k->lock, err);
    if (!st) st = cbx__store_check_existing(k->to, run, path, replace, &done, err);
    if (!st && !done) st = cbx_replacement_begin(k->to->ctx, path, &file, err);
    if (file) st = cbx__run_write_to(cbx_ctx_allocator(k->to->ctx), run, cbx_replacement_path(file), path, err);
    if (st)
        cbx_replacement_discard(file);
    else if (file)
        st = cbx__file_batch_add(&k->batch, file, err);
    k->bytes += bytes;
    if (!st && (k->batch.n == CBX__BATCH_MAX || k->bytes > BYTES_MAX)) st = keep_commit(k, err);
    return st;
}

/* --- each run --- */

typedef cbx_status (*each_fn)(keeping *k, const cbx_run *run, uint64_t bytes, cbx_err *err);
typedef cbx_status (*load_fn)(cbx_store *s, const char *which, cbx_run **out, cbx_err *err);

/* Each run of a query, one after another; what is kept of them is kept in the end. */
static cbx_status each_run(cbx_store *s, const cbx_store_query *query, keeping *k, load_fn load, each_fn fn,
                           cbx_err *err)
{
    cbx_store_list list;
    cbx_status st;

    cbx_arena_init(&k->out->arena, cbx_ctx_allocator(s->ctx));
    st = cbx_store_query_runs(s, query, &list, err);
    for (size_t i = 0; !st && i < list.count; i++) {
        CBX_OWNED(cbx_run) *run = NULL;
        st = load(s, list.entries[i].id, &run, err);
        if (!st) st = fn(k, run, list.entries[i].bytes, err);
        if (!st) k->out->files++;
    }
    if (!st) st = keep_commit(k, err);
    cbx__file_batch_clear(&k->batch);
    cbx_lock_release(k->lock);
    cbx_store_list_clear(&list);
    return st;
}

static cbx_status migrate_run(keeping *k, const cbx_run *run, uint64_t bytes, cbx_err *err)
{
    CBX_OWNED(cbx_run) *whole = NULL;
    CBX_OWNED(cbx_run) *present = NULL;
    cbx_status st;

    if (cbx_run_schema_version(run) >= CBX_RUN_SCHEMA_VERSION) return CBX_OK;
    cbx__store_changed(k->out, bytes);
    if (k->dry) return CBX_OK;
    st = cbx_store_load(k->to, cbx_run_id(run), &whole, err);
    if (!st) st = cbx_run_with_present_schema(k->to->ctx, whole, &present, err);
    return st ? st : keep_run(k, present, true, bytes, err);
}

cbx_status cbx_store_migrate(cbx_store *s, bool dry, cbx_store_report *out, cbx_err *err)
{
    keeping k = { .to = s, .out = out, .dry = dry };

    *out = (cbx_store_report){ 0 };
    return each_run(s, NULL, &k, cbx_store_load_bare, migrate_run, err);
}

/* --- copies --- */

static cbx_status copy_run(keeping *k, const cbx_run *run, uint64_t bytes, cbx_err *err)
{
    cbx_status st = keep_run(k, run, false, bytes, err);

    if (!st) cbx__store_changed(k->out, bytes);
    return st;
}

static cbx_status copy_config(cbx_store *from, cbx_store *to, cbx_err *err)
{
    CBX_SCOPED(cbx_text, bytes, cbx_ctx_allocator(from->ctx));
    cbx_status st;

    if (!cbx_path_exists(from->config) || cbx_path_exists(to->config)) return CBX_OK;
    st = cbx__file_text(from->ctx, from->config, 0, &bytes, err);
    return st ? st : cbx_file_write_atomic(to->ctx, to->config, bytes.data, bytes.len, err);
}

static bool same_folder(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Looked at before anything is made there; a link to its runs is the store itself, too. */
static cbx_status refuse_itself(cbx_store *s, const char *root, cbx_err *err)
{
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(s->ctx));
    const char *runs = cbx_path_join(&arena, root, "runs");

    if (!runs) return cbx_fail_nomem(err, "the store");
    if (!same_folder(root, s->root) && !same_folder(runs, s->runs)) return CBX_OK;
    return cbx_fail(err, CBX_EINVAL, "'%s' is the store '%s' itself: name another folder to copy its runs to", root,
                    s->root);
}

cbx_status cbx_store_export(cbx_store *s, const cbx_store_query *query, const char *root, cbx_store_report *out,
                            cbx_err *err)
{
    cbx_store_opts opts = CBX_STORE_OPTS_INIT;
    keeping k = { .out = out };
    cbx_status st = refuse_itself(s, root, err);

    opts.create = true;
    *out = (cbx_store_report){ 0 };
    if (!st) st = cbx_store_open(s->ctx, root, &opts, &k.to, err);
    if (!st) st = copy_config(s, k.to, err);
    if (!st) st = each_run(s, query, &k, cbx_store_load, copy_run, err);
    if (!st) st = cbx__store_copy_rows(s, k.to, query, out, err);
    cbx_store_close(k.to);
    return st;
}
