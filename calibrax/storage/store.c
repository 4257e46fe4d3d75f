/* A store of runs: opening, keeping, finding and removing runs, baselines. */
#include "calibrax/storage/store.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/base/file_text.h"
#include "calibrax/base/options.h"
#include "calibrax/core/run_file.h"
#include "calibrax/storage/store_internal.h"

#define LOCK_WAIT_NS 30000000000u
#define NEAREST_MAX  4096 /* ids that are looked at for "did you mean" */

/* --- opening --- */

static cbx_status make_folders(const cbx_store *s, cbx_err *err)
{
    cbx_status st = cbx_dir_create(s->ctx, s->runs, err);

    return st ? st : cbx_dir_create(s->ctx, s->baselines, err);
}

cbx_status cbx__store_check_file(const char *path, cbx_err *err)
{
    struct stat s;

    if (stat(path, &s) == 0)
        return S_ISREG(s.st_mode) ? CBX_OK : cbx_fail(err, CBX_EIO, "'%s': %s", path, cbx__not_a_file);
    return lstat(path, &s) == 0 ? cbx_fail(err, CBX_EIO, "'%s': %s", path, cbx__link_to_nothing) : CBX_OK;
}

/* A store of rows alone has no runs yet. */
static cbx_status check_folders(cbx_store *s, const cbx_store_opts *o, cbx_err *err)
{
    cbx__store_case *cases;
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(s->ctx));
    cbx_status st;
    size_t n = 0;

    if (o->create_late) return CBX_OK;
    if (o->create) return make_folders(s, err);
    if (!cbx_path_exists(s->root)) return cbx_fail(err, CBX_ENOENT, "there is no store '%s'", s->root);
    if (cbx_path_exists(s->runs)) return cbx__store_check_file(s->config, err);
    st = cbx__store_cases(s, &arena, &cases, &n, err);
    s->late = n > 0;
    if (st || n) return st;
    return cbx_fail(err, CBX_ENOENT, "'%s' is not a store: it has no folder 'runs' and no rows", s->root);
}

cbx_status cbx_store_open(cbx_ctx *ctx, const char *root, const cbx_store_opts *opts, cbx_store **out, cbx_err *err)
{
    cbx_store_opts o = CBX_STORE_OPTS_INIT;
    cbx_store *s;
    cbx_status st = cbx_take_options(&o, sizeof o, opts, "cbx_store_opts", err);

    if (st) return st;
    if (!root || !*root) return cbx_fail(err, CBX_EINVAL, "the store has no path");
    s = CBX_ARENA_OBJECT(cbx_store, cbx_ctx_allocator(ctx));
    if (!s) return cbx_fail_nomem(err, "the store");
    s->ctx = ctx;
    s->no_index_file = o.no_index_file;
    s->late = o.create_late;
    s->lock_wait_ns = o.lock_wait_ns ? o.lock_wait_ns : LOCK_WAIT_NS;
    s->root = cbx_arena_strdup(&s->arena, root);
    s->runs = cbx_path_join(&s->arena, root, "runs");
    s->baselines = cbx_path_join(&s->arena, root, "baselines");
    s->config = cbx_path_join(&s->arena, root, "config.json");
    s->lock = cbx_path_join(&s->arena, root, ".lock");
    s->index_path = cbx_path_join(&s->arena, root, "index.sqlite");
    st = s->root && s->runs && s->baselines && s->config && s->lock && s->index_path ? check_folders(s, &o, err)
                                                                                     : cbx_fail_nomem(err, "the store");
    return CBX_FINISH(st, *out = s, cbx_store_close(s));
}

void cbx_store_close(cbx_store *store)
{
    if (!store) return;
    cbx__index_close(store->index);
    cbx_arena_end(&store->arena);
}

const char *cbx_store_root(const cbx_store *store) { return store->root; }

cbx_status cbx__store_make(cbx_store *s, cbx_err *err)
{
    cbx_status st = s->late ? make_folders(s, err) : CBX_OK;

    if (s->late && !st) {
        cbx__index_close(s->index); /* one of nothing, in memory */
        s->index = NULL;
        s->late = false;
    }
    return st;
}

static cbx_status refresh_runs(void *user, cbx__index *ix, cbx_err *err)
{
    const cbx_store *s = user;

    return !s->late || cbx_path_exists(s->runs) ? cbx__index_refresh(ix, s->runs, err) : CBX_OK;
}

cbx_status cbx__store_index(cbx_store *s, cbx_err *err)
{
    bool made = !s->late || cbx_path_exists(s->runs);
    bool in_file = made && !s->no_index_file && access(s->root, W_OK) == 0;

    if (s->held && s->index) return CBX_OK;
    return cbx__index_use(s->ctx, in_file ? s->index_path : NULL, &s->index, refresh_runs, s, err);
}

void cbx_store_hold(cbx_store *s, bool held) { s->held = held; }

cbx_status cbx__store_lock(cbx_store *s, cbx_lock **out, cbx_err *err)
{
    cbx_err why = CBX_ERR_INIT;
    cbx_status st = cbx_lock_take(s->ctx, s->lock, s->lock_wait_ns, out, &why);

    if (st == CBX_EBUSY)
        return cbx_fail(err, st, "another process is writing to the store '%s'; try again when it is done", s->root);
    return st ? cbx_fail(err, st, "the store '%s' cannot be written: %s", s->root, why.message) : CBX_OK;
}

const char *cbx__store_run_path(const cbx_store *s, cbx_arena *arena, const char *id)
{
    return cbx_arena_printf(arena, "%s/%s.json", s->runs, id);
}

const char *cbx__store_baseline_path(const cbx_store *s, cbx_arena *arena, const char *name)
{
    return cbx_arena_printf(arena, "%s/%s.json", s->baselines, name);
}

/* --- keeping --- */

cbx_status cbx__store_check_existing(cbx_store *s, const cbx_run *run, const char *path, bool replace, bool *done,
                                     cbx_err *err)
{
    CBX_OWNED(cbx_run) *old = NULL;
    cbx_err why = CBX_ERR_INIT;
    cbx_status st;

    *done = false;
    st = cbx__store_check_file(path, err);
    if (st || replace || !cbx_path_exists(path)) return st;
    st = cbx_run_read(s->ctx, path, &old, &why);
    if (st == CBX_ENOMEM) return cbx_fail(err, st, "%s", why.message);
    if (!st) st = cbx_run_equal(old, run, done, err);
    if (st == CBX_ENOMEM || *done) return st;
    return cbx_fail(err, CBX_EEXIST, "another run '%s' is in the store '%s' already", cbx_run_id(run), s->root);
}

cbx_status cbx_store_save(cbx_store *s, const cbx_run *run, bool replace, cbx_err *err)
{
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(s->ctx));
    CBX_OWNED(cbx_lock) *lock = NULL;
    const char *path = cbx__store_run_path(s, &arena, cbx_run_id(run));
    bool done = false;
    cbx_status st = path ? cbx__store_make(s, err) : cbx_fail_nomem(err, "the store");

    if (!st) st = cbx__store_lock(s, &lock, err);
    if (!st) st = cbx__store_check_existing(s, run, path, replace, &done, err);
    return st || done ? st : cbx_run_write(s->ctx, run, path, err);
}

cbx_status cbx_store_remove(cbx_store *s, const char *which, cbx_err *err)
{
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(s->ctx));
    CBX_OWNED(cbx_lock) *lock = NULL;
    bool valid = cbx_run_id_is_valid(which);
    const char *path = valid ? cbx__store_run_path(s, &arena, which) : NULL;
    cbx_status st = !valid ? CBX_OK : path ? cbx__store_lock(s, &lock, err) : cbx_fail_nomem(err, "the store");

    if (!st && !(valid && cbx_path_exists(path)))
        st = cbx_fail(err, CBX_ENOENT, "no run '%s' in the store '%s'", which, s->root);
    return st ? st : cbx_file_remove(path, err);
}

/* --- finding --- */

/* Ids that begin so: one is enough, and two are reported. */
static cbx_status ids_like(cbx__index *ix, const char *sql, const char *word, cbx_arena *arena, const char **ids,
                           size_t max, size_t *n, cbx_err *err)
{
    cbx__select q = cbx__select_of(ix, sql);
    cbx_status st = CBX_OK;

    if (word) cbx__bind_texts(&q, word);
    for (*n = 0; !st && *n < max && cbx__select_next(&q); ++*n) {
        ids[*n] = cbx_arena_strdup(arena, cbx__select_text(&q, 0));
        if (!ids[*n]) st = cbx_fail_nomem(err, "the store");
    }
    return cbx__select_end(&q, st, err);
}

static cbx_status no_such_run(cbx_store *s, const char *which, cbx_arena *arena, cbx_err *err)
{
    const char **ids = cbx_arena_calloc(arena, NEAREST_MAX, sizeof *ids);
    const char *near = NULL;
    size_t n = 0;

    if (ids && !ids_like(s->index, "SELECT id FROM run WHERE id IS NOT NULL ORDER BY time DESC", NULL, arena, ids,
                         NEAREST_MAX, &n, NULL))
        near = cbx_nearest_word(which, ids, n);
    return cbx_fail(err, CBX_ENOENT, "no run '%s' in the store '%s'%s%s%s", which, s->root,
                    near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

cbx_status cbx__store_last_look(cbx_store *s, cbx_err *err) { return s->index ? CBX_OK : cbx__store_index(s, err); }

cbx_status cbx__store_resolve(cbx_store *s, const char *which, cbx_arena *arena, const char **id, cbx_err *err)
{
    static const char begins[] = "SELECT id FROM run WHERE id IS NOT NULL AND substr(id, 1, length(?1)) = ?1 LIMIT 2";
    static const char newest[] = "SELECT id FROM run WHERE id IS NOT NULL ORDER BY time DESC, id DESC LIMIT 1";
    bool latest = strcmp(which, "latest") == 0;
    const char *ids[2];
    size_t n = 0;
    cbx_status st = cbx__store_index(s, err);

    if (!st) st = ids_like(s->index, latest ? newest : begins, latest ? NULL : which, arena, ids, 2, &n, err);
    if (st) return st;
    if (n == 0 && latest) return cbx_fail(err, CBX_ENOENT, "there is no run in the store '%s' yet", s->root);
    if (n == 0 || !*which) return no_such_run(s, which, arena, err);
    if (n == 2)
        return cbx_fail(err, CBX_EINVAL, "several runs of the store '%s' begin with '%s': '%s', '%s'", s->root, which,
                        ids[0], ids[1]);
    *id = ids[0];
    return CBX_OK;
}

/* A whole id needs no index. */
static cbx_status path_of(cbx_store *s, const char *which, cbx_arena *arena, const char **path, cbx_err *err)
{
    const char *id = which;
    cbx_status st = CBX_OK;

    *path = cbx_run_id_is_valid(which) ? cbx__store_run_path(s, arena, which) : "";
    if (*path && **path) st = cbx__store_check_file(*path, err);
    if (!st && *path && (!**path || !cbx_path_exists(*path))) {
        st = cbx__store_resolve(s, which, arena, &id, err);
        if (!st) *path = cbx__store_run_path(s, arena, id);
    }
    return st || *path ? st : cbx_fail_nomem(err, "the store");
}

static cbx_status load(cbx_store *s, const char *which, bool bare, cbx_run **out, cbx_err *err)
{
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(s->ctx));
    const char *path = NULL;
    cbx_status st = path_of(s, which, &arena, &path, err);

    if (st) return st;
    return bare ? cbx__run_read_bare(s->ctx, path, out, err) : cbx_run_read(s->ctx, path, out, err);
}

cbx_status cbx_store_load(cbx_store *s, const char *which, cbx_run **out, cbx_err *err)
{
    return load(s, which, false, out, err);
}

cbx_status cbx_store_load_bare(cbx_store *s, const char *which, cbx_run **out, cbx_err *err)
{
    return load(s, which, true, out, err);
}

/* --- baselines --- */

/* The file of a baseline; name NULL: the main one. */
static cbx_status baseline_path(cbx_store *s, const char **name, cbx_arena *arena, const char **path, cbx_err *err)
{
    if (!*name) *name = CBX_BASELINE_MAIN;
    if (!cbx_name_is_safe(*name))
        return cbx_fail(err, CBX_EINVAL, "'%s' is not a name for a baseline: use letters, digits, '.', '_', '-'",
                        *name);
    *path = cbx__store_baseline_path(s, arena, *name);
    return *path ? CBX_OK : cbx_fail_nomem(err, "the store");
}

/* A byte copy, as the Python package makes it. */
cbx_status cbx_store_baseline_set(cbx_store *s, const char *name, const char *which, cbx_err *err)
{
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(s->ctx));
    CBX_SCOPED(cbx_text, bytes, cbx_ctx_allocator(s->ctx));
    CBX_OWNED(cbx_lock) *lock = NULL;
    CBX_OWNED(cbx_run) *run = NULL;
    const char *from, *to;
    cbx_status st = baseline_path(s, &name, &arena, &to, err);

    if (!st) st = cbx_store_load(s, which, &run, err); /* what cannot be read is no baseline */
    if (st) return st;
    from = cbx__store_run_path(s, &arena, cbx_run_id(run));
    st = from ? cbx__file_text(s->ctx, from, 0, &bytes, err) : cbx_fail_nomem(err, "the store");
    if (!st) st = cbx__store_lock(s, &lock, err);
    if (!st) st = cbx_dir_create(s->ctx, s->baselines, err);
    return st ? st : cbx_file_write_atomic(s->ctx, to, bytes.data, bytes.len, err);
}

/* @param wanted  it was to be read: then there is a way to have one */
static cbx_status no_baseline(cbx_store *s, const char *name, bool wanted, cbx_arena *arena, cbx_err *err)
{
    const char *const *names = NULL, *near = NULL;
    size_t n = 0;

    if (!cbx_store_baselines(s, arena, &names, &n, NULL)) near = cbx_nearest_word(name, names, n);
    if (near)
        return cbx_fail(err, CBX_ENOENT, "the store '%s' has no baseline '%s'; did you mean '%s'?", s->root, name,
                        near);
    return cbx_fail(err, CBX_ENOENT, "the store '%s' has no baseline '%s'%s", s->root, name,
                    wanted ? ": set it with 'calibrax baseline'" : "");
}

cbx_status cbx_store_baseline_get(cbx_store *s, const char *name, cbx_run **out, cbx_err *err)
{
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(s->ctx));
    const char *path;
    cbx_status st = baseline_path(s, &name, &arena, &path, err);

    if (!st) st = cbx__store_check_file(path, err);
    if (!st && !cbx_path_exists(path)) st = no_baseline(s, name, true, &arena, err);
    return st ? st : cbx_run_read(s->ctx, path, out, err);
}

cbx_status cbx_store_baseline_remove(cbx_store *s, const char *name, cbx_err *err)
{
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(s->ctx));
    CBX_OWNED(cbx_lock) *lock = NULL;
    const char *path;
    cbx_status st = baseline_path(s, &name, &arena, &path, err);

    if (!st) st = cbx__store_lock(s, &lock, err);
    if (!st && !cbx_path_exists(path)) st = no_baseline(s, name, false, &arena, err);
    return st ? st : cbx_file_remove(path, err);
}

cbx_status cbx_store_baselines(cbx_store *s, cbx_arena *arena, const char *const **names, size_t *count, cbx_err *err)
{
    const char *const *files = NULL;
    const char **out;
    size_t n = 0;
    cbx_status st = CBX_OK;

    if (cbx_path_exists(s->baselines)) st = cbx_dir_list(s->ctx, s->baselines, ".json", arena, &files, &n, err);
    if (st) return st;
    out = cbx_arena_calloc(arena, n, sizeof *out);
    *count = 0;
    for (size_t i = 0; out && i < n; i++) {
        if (files[i][0] == '.') continue;
        out[*count] = cbx_arena_strndup(arena, files[i], strlen(files[i]) - 5);
        if (!out[(*count)++]) return cbx_fail_nomem(err, "the store");
    }
    *names = out;
    return out ? CBX_OK : cbx_fail_nomem(err, "the store");
}
