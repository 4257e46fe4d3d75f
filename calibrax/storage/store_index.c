/*
 * The index over SQLite (public domain), whose types stay here: opening, statements, and what a
 * refresh does.
 *
 * Workload: 10,000 run files of 10 kB with 50 values each.  A refresh without changes is one stat a
 * file and one hash of them all; one from nothing is dominated by parsing, so that runs on every
 * core while this thread inserts.
 */
#include "calibrax/storage/store_internal.h"

#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/base/hash.h"
#include "calibrax/base/idioms.h"

/* Of another version is also what a machine of the other byte order wrote. */
#define INDEX_VERSION (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 5 : 0x10005)
#define BUSY_MS       2000
#define STALE_FEW     "1000"

static const char schema[] =
    "CREATE TABLE run(rid INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE NOT NULL, size INT, ino INT, mtime INT, "
    "ctime INT,"
    " hash TEXT, problem TEXT, id TEXT, time INT, commit_ TEXT, branch TEXT, machine TEXT, npoints INT);"
    "CREATE INDEX run_time ON run(time, id);"
    "CREATE INDEX run_problem ON run(name) WHERE problem IS NOT NULL;"
    "CREATE TABLE series(sid INTEGER PRIMARY KEY, metric TEXT NOT NULL, point TEXT NOT NULL, scenario TEXT NOT NULL,"
    " tags TEXT NOT NULL, UNIQUE(metric, point, scenario, tags));"
    "CREATE INDEX series_order ON series(point, scenario, tags, metric);" /* in which they are listed */
    "CREATE TABLE chunk(key INTEGER PRIMARY KEY, data BLOB NOT NULL);"
    "CREATE TABLE stale(n INT);" /* forgotten runs whose values are still in chunks */
    "INSERT INTO stale VALUES(0);"
    "CREATE TABLE seen(state TEXT NOT NULL);" /* of the folder, when every row of run was of it; '' is unknown */
    "INSERT INTO seen VALUES('');"
    "CREATE TABLE def(did INTEGER PRIMARY KEY, metric TEXT, unit TEXT, direction INT, grp TEXT, priority INT,"
    " description TEXT, UNIQUE(metric, unit, direction, grp, priority, description));"
    "CREATE TABLE run_def(rid INT, did INT);"
    "CREATE INDEX run_def_did ON run_def(did);"
    "CREATE INDEX run_def_rid ON run_def(rid);";

static cbx_status sql_failed(const cbx__index *ix, int rc, cbx_err *err)
{
    cbx_status st = rc == SQLITE_NOMEM                         ? CBX_ENOMEM
                    : rc == SQLITE_FULL                        ? CBX_ENOSPC
                    : rc == SQLITE_BUSY || rc == SQLITE_LOCKED ? CBX_EBUSY
                                                               : CBX_EIO;
    return cbx_fail(err, st, "the index of the store: %s; it is a cache and may be deleted",
                    rc == sqlite3_errcode(ix->db) ? sqlite3_errmsg(ix->db) : sqlite3_errstr(rc));
}

cbx_status cbx__index_run(cbx__index *ix, const char *sql, cbx_err *err)
{
    int rc = sqlite3_exec(ix->db, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK ? CBX_OK : sql_failed(ix, rc, err);
}

/* --- opening --- */

/* Two processes may find the database empty at a time: the second one sees the first one's
 * tables. */
static bool make_tables(cbx__index *ix)
{
    int64_t version = 0;
    char set_version[64];
    bool ok = !cbx__index_run(ix, "BEGIN IMMEDIATE", NULL);

    snprintf(set_version, sizeof set_version, "PRAGMA user_version = %d", INDEX_VERSION);
    ok = ok && !cbx__index_number(ix, "PRAGMA user_version", NULL, &version, NULL);
    if (ok && version == 0) {
        ok = !cbx__index_run(ix, schema, NULL) && !cbx__index_run(ix, set_version, NULL);
        version = INDEX_VERSION;
    }
    return !cbx__index_run(ix, ok ? "COMMIT" : "ROLLBACK", NULL) && ok && version == INDEX_VERSION;
}

/* WAL, so that a killed process leaves a whole database; the page cache stays small, the store may
 * be large.  false: there is no database. */
static bool open_database(cbx__index *ix, const char *path)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;

    if (sqlite3_open_v2(path ? path : ":memory:", &ix->db, flags, NULL) == SQLITE_OK &&
        !sqlite3_db_readonly(ix->db, "main")) {
        sqlite3_busy_timeout(ix->db, BUSY_MS);
        cbx__index_run(ix,
                       "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16384;"
                       "PRAGMA journal_size_limit = 1048576",
                       NULL);
        if (make_tables(ix)) return true;
    }
    sqlite3_close(ix->db);
    ix->db = NULL;
    return false;
}

/* A database that another process holds is left alone: ours is in memory then. */
static bool is_busy(const char *path)
{
    sqlite3 *db = NULL;
    bool busy = false;

    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK) {
        int rc = sqlite3_exec(db, "BEGIN IMMEDIATE; ROLLBACK", NULL, NULL, NULL);
        busy = rc == SQLITE_BUSY || rc == SQLITE_LOCKED;
    }
    sqlite3_close(db);
    return busy;
}

cbx_status cbx__index_open(cbx_ctx *ctx, const char *path, cbx__index **out, cbx_err *err)
{
    cbx__index *ix = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *ix);

    if (!ix) return cbx_fail_nomem(err, "the index of a store");
    ix->ctx = ctx;
    if (path && !open_database(ix, path) && access(path, W_OK) == 0 && !is_busy(path)) {
        /* With its companions: who has them open keeps their content. */
        static const char *const parts[] = { "", "-wal", "-shm" };
        char name[4096];
        for (size_t i = 0; i < CBX_LEN(parts); i++) {
            if (snprintf(name, sizeof name, "%s%s", path, parts[i]) < (int)sizeof name) unlink(name);
        }
        open_database(ix, path);
    }
    if (!ix->db && !open_database(ix, NULL)) {
        cbx_mem_free(cbx_ctx_allocator(ctx), ix, sizeof *ix);
        return cbx_fail(err, CBX_ENOMEM, "SQLite cannot make an index in memory");
    }
    *out = ix;
    return CBX_OK;
}

int64_t cbx__index_last_row(const cbx__index *ix) { return sqlite3_last_insert_rowid(ix->db); }

void cbx__index_close(cbx__index *ix)
{
    if (!ix) return;
    sqlite3_close(ix->db);
    cbx_mem_free(cbx_ctx_allocator(ix->ctx), ix, sizeof *ix);
}

/* --- statements --- */

cbx__select cbx__select_of(cbx__index *ix, const char *sql)
{
    cbx__select s = { .ix = ix };

    s.rc = sqlite3_prepare_v2(ix->db, sql, -1, &s.stmt, NULL);
    return s;
}

void cbx__bind_text_list(cbx__select *s, const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++) sqlite3_bind_text(s->stmt, ++s->bound, texts[i], -1, SQLITE_STATIC);
}

void cbx__bind_int_list(cbx__select *s, const int64_t *v, size_t n)
{
    for (size_t i = 0; i < n; i++) sqlite3_bind_int64(s->stmt, ++s->bound, v[i]);
}

void cbx__bind_double_list(cbx__select *s, const double *v, size_t n)
{
    for (size_t i = 0; i < n; i++, s->bound++)
        if (!isnan(v[i])) sqlite3_bind_double(s->stmt, s->bound + 1, v[i]);
}

void cbx__bind_bytes(cbx__select *s, const void *bytes, size_t n)
{
    sqlite3_bind_blob64(s->stmt, ++s->bound, bytes, n, SQLITE_STATIC);
}

bool cbx__select_next(cbx__select *s)
{
    if (s->stmt) s->rc = sqlite3_step(s->stmt);
    return s->rc == SQLITE_ROW;
}

const char *cbx__select_text(const cbx__select *s, int column)
{
    return (const char *)sqlite3_column_text(s->stmt, column);
}

int64_t cbx__select_int(const cbx__select *s, int column) { return sqlite3_column_int64(s->stmt, column); }

double cbx__select_double(const cbx__select *s, int column)
{
    return sqlite3_column_type(s->stmt, column) == SQLITE_NULL ? NAN : sqlite3_column_double(s->stmt, column);
}

const void *cbx__select_bytes(const cbx__select *s, int column, size_t *n)
{
    const void *bytes = sqlite3_column_blob(s->stmt, column); /* before its length is asked */

    *n = (size_t)sqlite3_column_bytes(s->stmt, column);
    return bytes ? bytes : "";
}

static cbx_status outcome(const cbx__select *s, cbx_err *err)
{
    return s->rc == SQLITE_OK || s->rc == SQLITE_ROW || s->rc == SQLITE_DONE ? CBX_OK : sql_failed(s->ix, s->rc, err);
}

cbx_status cbx__select_again(cbx__select *s, cbx_err *err)
{
    cbx_status st = outcome(s, err);

    if (!s->stmt) return st;
    sqlite3_reset(s->stmt);
    sqlite3_clear_bindings(s->stmt);
    s->bound = 0;
    s->rc = SQLITE_OK;
    return st;
}

cbx_status cbx__select_put(cbx__select *s, cbx_err *err)
{
    cbx__select_next(s);
    return cbx__select_again(s, err);
}

cbx_status cbx__select_find_or_put(cbx__select *find, cbx__select *put, void (*bind)(cbx__select *s, const void *what),
                                   const void *what, int64_t *key, cbx_err *err)
{
    cbx_status st;
    bool there;

    bind(find, what);
    there = cbx__select_next(find);
    if (there) *key = cbx__select_int(find, 0);
    st = cbx__select_again(find, err);
    if (st || there) return st;
    bind(put, what);
    st = cbx__select_put(put, err);
    *key = cbx__index_last_row(put->ix);
    return st;
}

cbx_status cbx__select_end(cbx__select *s, cbx_status st, cbx_err *err)
{
    if (!st) st = outcome(s, err);
    sqlite3_finalize(s->stmt);
    *s = (cbx__select){ 0 };
    return st;
}

static cbx__select ask(cbx__index *ix, const char *sql, const char *text)
{
    cbx__select s = cbx__select_of(ix, sql);

    if (text) cbx__bind_texts(&s, text);
    cbx__select_next(&s);
    return s;
}

cbx_status cbx__index_number(cbx__index *ix, const char *sql, const char *text, int64_t *out, cbx_err *err)
{
    cbx__select s = ask(ix, sql, text);

    *out = s.rc == SQLITE_ROW ? cbx__select_int(&s, 0) : 0;
    return cbx__select_end(&s, CBX_OK, err);
}

cbx_status cbx__index_text(cbx__index *ix, const char *sql, const char *text, char out[CBX_HASH_SIZE], cbx_err *err)
{
    cbx__select s = ask(ix, sql, text);
    const char *found = s.rc == SQLITE_ROW ? cbx__select_text(&s, 0) : NULL;

    snprintf(out, CBX_HASH_SIZE, "%s", found ? found : "");
    return cbx__select_end(&s, CBX_OK, err);
}

/* --- what differs --- */

const char cbx__link_to_nothing[] = "is a symbolic link whose target is missing";
const char cbx__not_a_file[] = "is not a regular file";

bool cbx__index_stamp(int folder, const char *path, cbx__index_file *f)
{
    struct stat s;
    bool found = fstatat(folder, path, &s, 0) == 0;

    f->stamp = (cbx__stamp){ .size = -1 };
    f->problem = found && !S_ISREG(s.st_mode) ? cbx__not_a_file : NULL;
    if (!found && fstatat(folder, path, &s, AT_SYMLINK_NOFOLLOW) == 0) {
        f->problem = cbx__link_to_nothing;
        found = true;
    }
    if (found)
        f->stamp = (cbx__stamp){ s.st_size, (int64_t)s.st_ino, s.st_mtim.tv_sec * 1000000000 + s.st_mtim.tv_nsec,
                                 s.st_ctim.tv_sec * 1000000000 + s.st_ctim.tv_nsec };
    return found;
}

typedef CBX_LIST(int64_t) id_list;

/* Files and rows are both in the order of names: a merge finds the new, changed and removed
 * ones. */
static cbx_status compare(cbx__index *ix, const char *table, cbx__index_file *const *files, size_t n, id_list *gone,
                          bool *all, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ix->ctx);
    char sql[128];
    size_t i = 0, known = 0;
    cbx_status st = CBX_OK;

    snprintf(sql, sizeof sql, "SELECT rowid, name, size, ino, mtime, ctime FROM %s ORDER BY name", table);
    cbx__select s = cbx__select_of(ix, sql);
    gone->n = 0;
    for (size_t k = 0; k < n; k++) files[k]->known = false;
    while (!st && cbx__select_next(&s)) {
        const char *name = cbx__select_text(&s, 1);
        cbx__stamp stamp = { cbx__select_int(&s, 2), cbx__select_int(&s, 3), cbx__select_int(&s, 4),
                             cbx__select_int(&s, 5) };
        while (i < n && strcmp(files[i]->name, name) < 0) i++;
        if (i < n && !strcmp(files[i]->name, name) && !memcmp(&files[i]->stamp, &stamp, sizeof stamp)) {
            files[i]->known = true;
            files[i]->id = cbx__select_int(&s, 0);
            known++;
        } else if (!cbx_list_push(al, gone, cbx__select_int(&s, 0))) {
            st = cbx_fail_nomem(err, "the files of a store");
        }
    }
    *all = known == n && !gone->n;
    return cbx__select_end(&s, st, err);
}

static cbx_status forget(cbx__index *ix, const char *const *statements, int64_t id, cbx_err *err)
{
    cbx_status st = CBX_OK;

    for (; !st && *statements; statements++) {
        cbx__select s = cbx__select_of(ix, *statements);
        cbx__bind_ints(&s, id);
        cbx__select_next(&s);
        st = cbx__select_end(&s, CBX_OK, err);
    }
    return st;
}

/* Compared again under the lock: another process may have written what is missing in the
 * meantime. */
cbx_status cbx__index_sync(cbx__index *ix, const cbx__index_kind *kind, cbx__index_file *const *files, size_t n,
                           void *user, cbx_err *err)
{
    id_list gone = { 0 };
    bool all = false;
    cbx_status st = compare(ix, kind->table, files, n, &gone, &all, err);

    if (!st && !all) {
        st = cbx__index_run(ix, "BEGIN IMMEDIATE", err);
        if (!st) {
            st = compare(ix, kind->table, files, n, &gone, &all, err);
            for (size_t i = 0; !st && i < gone.n; i++) st = forget(ix, kind->forget, gone.items[i], err);
            if (!st) st = kind->take(user, gone.n > 0, err);
            if (!st) st = cbx__index_run(ix, "COMMIT", err);
            if (st) cbx__index_run(ix, "ROLLBACK", NULL);
        }
    }
    cbx_list_clear(cbx_ctx_allocator(ix->ctx), &gone);
    return st;
}

cbx_status cbx__index_use(cbx_ctx *ctx, const char *path, cbx__index **ix,
                          cbx_status (*refresh)(void *user, cbx__index *ix, cbx_err *err), void *user, cbx_err *err)
{
    cbx_status st = *ix ? CBX_OK : cbx__index_open(ctx, path, ix, err);

    if (!st) st = refresh(user, *ix, err);
    if (st != CBX_EBUSY && st != CBX_EIO && st != CBX_ENOSPC) return st;
    cbx__index_close(*ix);
    *ix = NULL;
    st = cbx__index_open(ctx, NULL, ix, err);
    return st ? st : refresh(user, *ix, err);
}

/* --- refresh --- */

cbx_status cbx__index_state(cbx__index *ix, char out[CBX_HASH_SIZE], cbx_err *err)
{
    return cbx__index_text(ix, "SELECT state FROM seen", NULL, out, err);
}

typedef struct refreshing {
    cbx__index *ix;
    cbx__scan scan;
    char state[CBX_HASH_SIZE]; /* of names and stamps; "" when memory lacks */
} refreshing;

static cbx_status take_runs(void *user, bool gone, cbx_err *err)
{
    refreshing *r = user;
    CBX_SCOPED(cbx__putter, putter, r->ix);
    int64_t prunes = 0, none;
    cbx_status st;

    for (size_t i = 0; i < r->scan.count; i++) putter.left += !r->scan.files[i].known;
    st = cbx__scan_read(&r->scan, cbx__put_file, &putter, err);
    if (!st) st = cbx__gatherer_flush(&putter.values, err);
    /* Values of forgotten runs are dropped when they outnumber those that count. */
    if (!st && gone)
        st = cbx__index_number(r->ix, "SELECT n >= " STALE_FEW " AND n >= (SELECT COUNT(*) FROM run) FROM stale", NULL,
                               &prunes, err);
    if (!st && prunes) st = cbx__values_prune(r->ix, err);
    if (!st && prunes) st = cbx__index_run(r->ix, "UPDATE stale SET n = 0", err);
    /* if some are left, one was gone by then */
    return st ? st : cbx__index_number(r->ix, "UPDATE seen SET state = ?", putter.left ? "" : r->state, &none, err);
}

cbx_status cbx__index_refresh(cbx__index *ix, const char *runs, cbx_err *err)
{
    static const char *const forget_run[] = {
        "UPDATE stale SET n = n + (SELECT COUNT(*) FROM run WHERE rid = ?1)",
        "DELETE FROM run_def WHERE rid = ?1",
        "DELETE FROM run WHERE rid = ?1",
        NULL,
    };
    static const cbx__index_kind kind = { "run", forget_run, take_runs };
    refreshing r = { .ix = ix };
    cbx__index_file **files;
    cbx_hasher *h;
    int64_t seen = 0;
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ix->ctx));
    cbx_status st = cbx__scan_folder(ix->ctx, runs, &arena, &r.scan, err);

    if (st) return st;
    h = cbx_hasher_create();
    for (size_t i = 0; h && i < r.scan.count; i++) {
        cbx_hasher_add(h, r.scan.files[i].name, strlen(r.scan.files[i].name) + 1);
        cbx_hasher_add(h, &r.scan.files[i].stamp, sizeof r.scan.files[i].stamp);
    }
    if (h) cbx_hasher_end(h, r.state);
    st = cbx__index_number(ix, "SELECT 1 FROM seen WHERE state = ? AND state <> ''", r.state, &seen, err);
    if (st || seen) return st;
    files = cbx_arena_calloc(&arena, r.scan.count, sizeof *files);
    if (!files) return cbx_fail_nomem(err, "the files of a store");
    for (size_t i = 0; i < r.scan.count; i++) files[i] = &r.scan.files[i];
    return cbx__index_sync(ix, &kind, files, r.scan.count, &r, err);
}

cbx_status cbx__index_vacuum(cbx__index *ix, cbx_err *err)
{
    cbx_status st = cbx__index_run(ix, "BEGIN IMMEDIATE", err);

    if (st) return st;
    st = cbx__values_prune(ix, err);
    if (!st)
        st = cbx__index_run(ix,
                            "UPDATE stale SET n = 0;"
                            "DELETE FROM series WHERE sid NOT IN (SELECT key >> 32 FROM chunk);"
                            "DELETE FROM def WHERE did NOT IN (SELECT did FROM run_def)",
                            err);
    if (!st) st = cbx__index_run(ix, "COMMIT", err);
    if (!st) return cbx__index_run(ix, "VACUUM", err);
    cbx__index_run(ix, "ROLLBACK", NULL);
    return st;
}
