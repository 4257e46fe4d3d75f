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

/* Of another version is also what a machine of the other byte order wrote. */
#define INDEX_VERSION (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 5 : 0x10005)
#define BUSY_MS       2000
#define STALE_FEW     1000

struct cbx__index {
    cbx_ctx *ctx;
    sqlite3 *db;
};

struct cbx__select {
    cbx__index *ix;
    sqlite3_stmt *stmt;
    int bound;
    int rc;
};

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

static cbx_status sql_failed(cbx__index *ix, cbx_err *err)
{
    int rc = sqlite3_errcode(ix->db);
    cbx_status st = rc == SQLITE_NOMEM                         ? CBX_ENOMEM
                    : rc == SQLITE_FULL                        ? CBX_ENOSPC
                    : rc == SQLITE_BUSY || rc == SQLITE_LOCKED ? CBX_EBUSY
                                                               : CBX_EIO;
    return cbx_fail(err, st, "the index of the store: %s; it is a cache and may be deleted", sqlite3_errmsg(ix->db));
}

cbx_status cbx__index_run(cbx__index *ix, const char *sql, cbx_err *err)
{
    return sqlite3_exec(ix->db, sql, NULL, NULL, NULL) == SQLITE_OK ? CBX_OK : sql_failed(ix, err);
}

/* --- opening --- */

static int64_t single_number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *s = NULL;
    int64_t v = -1;

    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
        v = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return v;
}

static bool execute(sqlite3 *db, const char *sql) { return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK; }

/* Two processes may find the database empty at a time: the second one sees the first one's
 * tables. */
static bool make_tables(sqlite3 *db)
{
    char set_version[64];
    bool ok = execute(db, "BEGIN IMMEDIATE");

    snprintf(set_version, sizeof set_version, "PRAGMA user_version = %d", INDEX_VERSION);
    if (ok && single_number(db, "PRAGMA user_version") == 0) ok = execute(db, schema) && execute(db, set_version);
    return execute(db, ok ? "COMMIT" : "ROLLBACK") && ok && single_number(db, "PRAGMA user_version") == INDEX_VERSION;
}

/* WAL, so that a killed process leaves a whole database; the page cache stays small, the store may
 * be large. */
static sqlite3 *open_database(const char *path)
{
    sqlite3 *db = NULL;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;

    if (sqlite3_open_v2(path ? path : ":memory:", &db, flags, NULL) == SQLITE_OK && !sqlite3_db_readonly(db, "main")) {
        sqlite3_busy_timeout(db, BUSY_MS);
        execute(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16384;"
                    "PRAGMA journal_size_limit = 1048576");
        if (make_tables(db)) return db;
    }
    sqlite3_close(db);
    return NULL;
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
    if (path) ix->db = open_database(path);
    if (path && !ix->db && access(path, W_OK) == 0 && !is_busy(path)) {
        /* With its companions: who has them open keeps their content. */
        static const char *const parts[] = { "", "-wal", "-shm" };
        char name[4096];
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            if (snprintf(name, sizeof name, "%s%s", path, parts[i]) < (int)sizeof name) unlink(name);
        }
        ix->db = open_database(path);
    }
    if (!ix->db) ix->db = open_database(NULL);
    if (!ix->db) {
        cbx_mem_free(cbx_ctx_allocator(ctx), ix, sizeof *ix);
        return cbx_fail(err, CBX_ENOMEM, "SQLite cannot make an index in memory");
    }
    *out = ix;
    return CBX_OK;
}

cbx_ctx *cbx__index_ctx(const cbx__index *ix) { return ix->ctx; }
int64_t cbx__index_last_row(const cbx__index *ix) { return sqlite3_last_insert_rowid(ix->db); }

void cbx__index_close(cbx__index *ix)
{
    if (!ix) return;
    sqlite3_close(ix->db);
    cbx_mem_free(cbx_ctx_allocator(ix->ctx), ix, sizeof *ix);
}

/* --- statements --- */

cbx_status cbx__select_open(cbx__index *ix, const char *sql, cbx__select **out, cbx_err *err)
{
    cbx__select *s = cbx_mem_zalloc(cbx_ctx_allocator(ix->ctx), sizeof *s);

    if (!s) return cbx_fail_nomem(err, "a query of the store");
    s->ix = ix;
    if (sqlite3_prepare_v2(ix->db, sql, -1, &s->stmt, NULL) != SQLITE_OK) {
        cbx_mem_free(cbx_ctx_allocator(ix->ctx), s, sizeof *s);
        return sql_failed(ix, err);
    }
    *out = s;
    return CBX_OK;
}

void cbx__select_bind_text(cbx__select *s, const char *text)
{
    sqlite3_bind_text(s->stmt, ++s->bound, text, -1, SQLITE_STATIC);
}

void cbx__select_bind_int(cbx__select *s, int64_t v) { sqlite3_bind_int64(s->stmt, ++s->bound, v); }

void cbx__select_bind_double(cbx__select *s, double v)
{
    s->bound++;
    if (!isnan(v)) sqlite3_bind_double(s->stmt, s->bound, v);
}

void cbx__select_bind_bytes(cbx__select *s, const void *bytes, size_t n)
{
    sqlite3_bind_blob64(s->stmt, ++s->bound, bytes, n, SQLITE_STATIC);
}

bool cbx__select_next(cbx__select *s)
{
    s->rc = sqlite3_step(s->stmt);
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
    return s->rc == SQLITE_OK || s->rc == SQLITE_ROW || s->rc == SQLITE_DONE ? CBX_OK : sql_failed(s->ix, err);
}

cbx_status cbx__select_again(cbx__select *s, cbx_err *err)
{
    cbx_status st = outcome(s, err);

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

cbx_status cbx__select_close(cbx__select *s, cbx_err *err)
{
    cbx_status st;

    if (!s) return CBX_OK;
    st = outcome(s, err);
    sqlite3_finalize(s->stmt);
    cbx_mem_free(cbx_ctx_allocator(s->ix->ctx), s, sizeof *s);
    return st;
}

cbx_status cbx__select_end(cbx__select *s, cbx_status st, cbx_err *err)
{
    cbx_status closed = cbx__select_close(s, st ? NULL : err);

    return st ? st : closed;
}

static cbx_status ask(cbx__index *ix, const char *sql, const char *text, int64_t *number, char *words, cbx_err *err)
{
    cbx__select *s = NULL;
    cbx_status st = cbx__select_open(ix, sql, &s, err);

    if (st) return st;
    if (text) cbx__select_bind_text(s, text);
    if (cbx__select_next(s)) {
        if (number) *number = cbx__select_int(s, 0);
        if (words && cbx__select_text(s, 0)) snprintf(words, CBX_HASH_SIZE, "%s", cbx__select_text(s, 0));
    }
    return cbx__select_close(s, err);
}

cbx_status cbx__index_number(cbx__index *ix, const char *sql, const char *text, int64_t *out, cbx_err *err)
{
    *out = 0;
    return ask(ix, sql, text, out, NULL, err);
}

cbx_status cbx__index_text(cbx__index *ix, const char *sql, const char *text, char out[CBX_HASH_SIZE], cbx_err *err)
{
    *out = '\0';
    return ask(ix, sql, text, NULL, out, err);
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
    cbx__select *s = NULL;
    char sql[128];
    size_t i = 0, known = 0;
    cbx_status st;

    snprintf(sql, sizeof sql, "SELECT rowid, name, size, ino, mtime, ctime FROM %s ORDER BY name", table);
    st = cbx__select_open(ix, sql, &s, err);
    gone->n = 0;
    for (size_t k = 0; k < n; k++) files[k]->known = false;
    while (!st && cbx__select_next(s)) {
        const char *name = cbx__select_text(s, 1);
        cbx__stamp stamp = { cbx__select_int(s, 2), cbx__select_int(s, 3), cbx__select_int(s, 4),
                             cbx__select_int(s, 5) };
        while (i < n && strcmp(files[i]->name, name) < 0) i++;
        if (i < n && !strcmp(files[i]->name, name) && !memcmp(&files[i]->stamp, &stamp, sizeof stamp)) {
            files[i]->known = true;
            files[i]->id = cbx__select_int(s, 0);
            known++;
        } else if (!cbx_list_push(al, gone, cbx__select_int(s, 0))) {
            st = cbx_fail_nomem(err, "the files of a store");
        }
    }
    *all = known == n && !gone->n;
    return cbx__select_end(s, st, err);
}

static cbx_status forget(cbx__index *ix, const char *const *statements, int64_t id, cbx_err *err)
{
    cbx_status st = CBX_OK;

    for (; !st && *statements; statements++) {
        cbx__select *s = NULL;
        st = cbx__select_open(ix, *statements, &s, err);
        if (st) break;
        cbx__select_bind_int(s, id);
        cbx__select_next(s);
        st = cbx__select_close(s, err);
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

/* --- runs --- */

typedef struct putting {
    cbx__putter *putter;
    size_t left; /* not put yet */
} putting;

static cbx_status put_scanned(void *user, const cbx__scan_file *file, cbx_err *err)
{
    putting *p = user;

    p->left -= file->whole; /* a large one comes in parts */
    return cbx__put_file(p->putter, file, err);
}

static cbx_status put_unknown(cbx__index *ix, cbx__scan *scan, bool *all, cbx_err *err)
{
    putting p = { 0 };
    cbx_status st = cbx__putter_create(ix, &p.putter, err);

    for (size_t i = 0; i < scan->count; i++) p.left += !scan->files[i].known;
    if (!st) st = cbx__scan_read(scan, put_scanned, &p, err);
    if (!st) st = cbx__putter_finish(p.putter, err);
    cbx__putter_free(p.putter);
    *all = p.left == 0; /* else one was gone by then */
    return st;
}

/* Values of forgotten runs are dropped when they outnumber those that count. */
static cbx_status prune_if_due(cbx__index *ix, cbx_err *err)
{
    int64_t stale = single_number(ix->db, "SELECT n FROM stale"),
            runs = single_number(ix->db, "SELECT COUNT(*) FROM run");
    cbx_status st;

    if (stale < STALE_FEW || stale < runs) return CBX_OK;
    st = cbx__values_prune(ix, err);
    return st ? st : cbx__index_run(ix, "UPDATE stale SET n = 0", err);
}

/* --- what is known to be as it was --- */

/* Of names and stamps; "" when memory lacks. */
static void state_of(const cbx__scan *scan, char out[CBX_HASH_SIZE])
{
    cbx_hasher *h = cbx_hasher_create();

    *out = '\0';
    if (!h) return;
    for (size_t i = 0; i < scan->count; i++) {
        cbx_hasher_add(h, scan->files[i].name, strlen(scan->files[i].name) + 1);
        cbx_hasher_add(h, &scan->files[i].stamp, sizeof scan->files[i].stamp);
    }
    cbx_hasher_end(h, out);
}

cbx_status cbx__index_state(cbx__index *ix, char out[CBX_HASH_SIZE], cbx_err *err)
{
    return cbx__index_text(ix, "SELECT state FROM seen", NULL, out, err);
}

/* --- refresh --- */

typedef struct refreshing {
    cbx__index *ix;
    cbx__scan scan;
    char state[CBX_HASH_SIZE];
} refreshing;

static cbx_status take_runs(void *user, bool gone, cbx_err *err)
{
    refreshing *r = user;
    bool all = false;
    int64_t none;
    cbx_status st = put_unknown(r->ix, &r->scan, &all, err);

    if (!st && gone) st = prune_if_due(r->ix, err);
    return st ? st : cbx__index_number(r->ix, "UPDATE seen SET state = ?", all ? r->state : "", &none, err);
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
    cbx__index_file **files = NULL;
    int64_t seen = 0;
    cbx_arena arena;
    cbx_status st;

    cbx_arena_init(&arena, cbx_ctx_allocator(ix->ctx));
    st = cbx__scan_folder(ix->ctx, runs, &arena, &r.scan, err);
    if (!st) {
        state_of(&r.scan, r.state);
        st = cbx__index_number(ix, "SELECT 1 FROM seen WHERE state = ? AND state <> ''", r.state, &seen, err);
    }
    if (!st && !seen) {
        files = cbx_arena_calloc(&arena, r.scan.count, sizeof *files);
        if (!files) st = cbx_fail_nomem(err, "the files of a store");
        for (size_t i = 0; files && i < r.scan.count; i++) files[i] = &r.scan.files[i];
        if (!st) st = cbx__index_sync(ix, &kind, files, r.scan.count, &r, err);
    }
    cbx_arena_clear(&arena);
    return st;
}

static cbx_status sweep(cbx__index *ix, cbx_err *err)
{
    cbx_status st = cbx__values_prune(ix, err);

    if (st) return st;
    return cbx__index_run(ix,
                          "UPDATE stale SET n = 0;"
                          "DELETE FROM series WHERE sid NOT IN (SELECT key >> 32 FROM chunk);"
                          "DELETE FROM def WHERE did NOT IN (SELECT did FROM run_def)",
                          err);
}

cbx_status cbx__index_vacuum(cbx__index *ix, cbx_err *err)
{
    cbx_status st = cbx__index_run(ix, "BEGIN IMMEDIATE", err);

    if (st) return st;
    st = sweep(ix, err);
    if (!st) st = cbx__index_run(ix, "COMMIT", err);
    if (st)
        cbx__index_run(ix, "ROLLBACK", NULL);
    else
        st = cbx__index_run(ix, "VACUUM", err);
    return st;
}
