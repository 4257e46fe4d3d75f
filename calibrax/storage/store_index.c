/*
 * The index over SQLite (public domain), whose types stay here.
 *
 * Workload: 10,000 run files of 10 kB with 50 values each.  A refresh without changes is one stat a file; one from nothing
 * is dominated by parsing, so that runs on every core while this thread inserts.
 */
#include "calibrax/storage/store_index.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/storage/store_scan.h"

#define INDEX_VERSION 1
#define BUSY_MS       2000

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
    "CREATE TABLE run(rid INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, size INT, ino INT, mtime INT, ctime INT,"
    " hash TEXT, problem TEXT, id TEXT, time INT, commit_ TEXT, branch TEXT, machine TEXT, npoints INT);"
    "CREATE INDEX run_time ON run(time, id);"
    "CREATE TABLE series(sid INTEGER PRIMARY KEY, metric TEXT NOT NULL, point TEXT NOT NULL, scenario TEXT NOT NULL,"
    " tags TEXT NOT NULL, UNIQUE(metric, point, scenario, tags));"
    "CREATE TABLE value(sid INT, rid INT, k INT, v REAL, lower REAL, upper REAL, PRIMARY KEY(sid, rid, k)) WITHOUT "
    "ROWID;"
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

static int64_t pragma(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *s = NULL;
    int64_t v = -1;

    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
        v = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return v;
}

static bool execute(sqlite3 *db, const char *sql) { return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK; }

/* Two processes may find the database empty at a time: the second one sees the first one's tables. */
static bool make_tables(sqlite3 *db)
{
    char set_version[64];
    bool ok = execute(db, "BEGIN IMMEDIATE");

    snprintf(set_version, sizeof set_version, "PRAGMA user_version = %d", INDEX_VERSION);
    if (ok && pragma(db, "PRAGMA user_version") == 0) ok = execute(db, schema) && execute(db, set_version);
    return execute(db, ok ? "COMMIT" : "ROLLBACK") && ok && pragma(db, "PRAGMA user_version") == INDEX_VERSION;
}

/* WAL, so that a killed process leaves a whole database; the page cache stays small, the store may be large. */
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

/* With its companions: who has them open keeps their content. */
static void remove_database(const char *path)
{
    static const char *const parts[] = { "", "-wal", "-shm" };
    char name[4096];

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (snprintf(name, sizeof name, "%s%s", path, parts[i]) < (int)sizeof name) unlink(name);
    }
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

    if (!ix) return cbx_fail(err, CBX_ENOMEM, "no memory for the index of a store");
    ix->ctx = ctx;
    if (path) ix->db = open_database(path);
    if (path && !ix->db && access(path, W_OK) == 0 && !is_busy(path)) {
        remove_database(path);
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

    if (!s) return cbx_fail(err, CBX_ENOMEM, "no memory for a query of the store");
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

bool cbx__select_next(cbx__select *s)
{
    s->rc = sqlite3_step(s->stmt);
    return s->rc == SQLITE_ROW;
}

void cbx__select_again(cbx__select *s)
{
    sqlite3_reset(s->stmt);
    sqlite3_clear_bindings(s->stmt);
    s->bound = 0;
    s->rc = SQLITE_OK;
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

cbx_status cbx__select_put(cbx__select *s, cbx_err *err)
{
    bool ok = sqlite3_step(s->stmt) == SQLITE_DONE;
    cbx_status st = ok ? CBX_OK : sql_failed(s->ix, err);

    sqlite3_reset(s->stmt);
    sqlite3_clear_bindings(s->stmt);
    s->bound = 0;
    return st;
}

cbx_status cbx__select_close(cbx__select *s, cbx_err *err)
{
    cbx_status st = CBX_OK;

    if (!s) return CBX_OK;
    if (s->rc != SQLITE_OK && s->rc != SQLITE_ROW && s->rc != SQLITE_DONE) st = sql_failed(s->ix, err);
    sqlite3_finalize(s->stmt);
    cbx_mem_free(cbx_ctx_allocator(s->ix->ctx), s, sizeof *s);
    return st;
}

/* --- writing what a file holds --- */

enum { PUT_RUN, PUT_SERIES, FIND_SERIES, PUT_VALUE, PUT_DEF, FIND_DEF, PUT_RUN_DEF, NPUTS };
static const char *const put_sql[NPUTS] = {
    [PUT_RUN] =
        "INSERT INTO run(name, size, ino, mtime, ctime, hash, problem, id, time, commit_, branch, machine, npoints)"
        " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [PUT_SERIES] = "INSERT INTO series(metric, point, scenario, tags) VALUES(?,?,?,?)",
    [FIND_SERIES] = "SELECT sid FROM series WHERE metric = ? AND point = ? AND scenario = ? AND tags = ?",
    [PUT_VALUE] = "INSERT INTO value VALUES(?,?,?,?,?,?)",
    [PUT_DEF] = "INSERT INTO def(metric, unit, direction, grp, priority, description) VALUES(?,?,?,?,?,?)",
    [FIND_DEF] = "SELECT did FROM def WHERE metric = ? AND unit = ? AND direction = ? AND grp = ? AND priority = ?"
                 " AND description = ?",
    [PUT_RUN_DEF] = "INSERT INTO run_def VALUES(?,?)",
};

/* Runs of one benchmark hold the same series in the same order: the last file's i-th is asked before the database. */
typedef struct memo {
    const char *metric, *point, *scenario, *tags;
    int64_t sid;
} memo;

typedef struct writer {
    cbx__index *ix;
    cbx__select *sql[NPUTS];
    cbx_arena texts;
    memo *last;
    size_t nlast, renewed;
} writer;

static cbx_status writer_open(writer *w, cbx__index *ix, cbx_err *err)
{
    cbx_status st = CBX_OK;

    *w = (writer){ .ix = ix };
    cbx_arena_init(&w->texts, cbx_ctx_allocator(ix->ctx));
    for (int i = 0; !st && i < NPUTS; i++) st = cbx__select_open(ix, put_sql[i], &w->sql[i], err);
    return st;
}

static void writer_close(writer *w)
{
    for (int i = 0; i < NPUTS; i++) cbx__select_close(w->sql[i], NULL);
    cbx_arena_clear(&w->texts);
}

/* The row that holds these texts, made if there is none yet: bind is called for either statement. */
static cbx_status find_or_put(writer *w, int find, int make, void (*bind)(cbx__select *s, const void *what),
                              const void *what, int64_t *key, cbx_err *err)
{
    cbx__select *s = w->sql[find];
    cbx_status st = CBX_OK;
    bool there;

    bind(s, what);
    there = cbx__select_next(s);
    if (there) *key = cbx__select_int(s, 0);
    if (!there && s->rc != SQLITE_DONE) st = sql_failed(w->ix, err);
    sqlite3_reset(s->stmt);
    s->bound = 0;
    if (st || there) return st;
    bind(w->sql[make], what);
    st = cbx__select_put(w->sql[make], err);
    *key = sqlite3_last_insert_rowid(w->ix->db);
    return st;
}

static void bind_series(cbx__select *s, const void *what)
{
    const cbx__scan_value *v = what;

    cbx__select_bind_text(s, v->metric);
    cbx__select_bind_text(s, v->point);
    cbx__select_bind_text(s, v->scenario);
    cbx__select_bind_text(s, v->tags);
}

static void bind_def(cbx__select *s, const void *what)
{
    const cbx_metric_def *d = what;

    cbx__select_bind_text(s, d->name);
    cbx__select_bind_text(s, d->unit);
    cbx__select_bind_int(s, d->direction);
    cbx__select_bind_text(s, d->group);
    cbx__select_bind_int(s, d->priority);
    cbx__select_bind_text(s, d->description);
}

static bool same_series(const memo *m, const cbx__scan_value *v)
{
    return strcmp(m->metric, v->metric) == 0 && strcmp(m->point, v->point) == 0 &&
           strcmp(m->scenario, v->scenario) == 0 && strcmp(m->tags, v->tags) == 0;
}

static cbx_status remember(writer *w, size_t i, const cbx__scan_value *v, int64_t sid, cbx_err *err)
{
    memo m = { cbx_arena_strdup(&w->texts, v->metric), cbx_arena_strdup(&w->texts, v->point),
               cbx_arena_strdup(&w->texts, v->scenario), cbx_arena_strdup(&w->texts, v->tags), sid };

    if (!m.metric || !m.point || !m.scenario || !m.tags)
        return cbx_fail(err, CBX_ENOMEM, "no memory for the series of a store");
    w->last[i] = m;
    w->renewed++;
    return CBX_OK;
}

/* A file with another number of series starts the memo anew, and so does one that is out of step for long. */
static cbx_status start_memo(writer *w, size_t n, cbx_err *err)
{
    static const memo none = { "", "", "", "", 0 };

    if (n == w->nlast && w->renewed <= 8 * n) return CBX_OK;
    cbx_arena_clear(&w->texts);
    w->last = cbx_arena_calloc(&w->texts, n, sizeof *w->last);
    w->nlast = w->last ? n : 0;
    w->renewed = 0;
    for (size_t i = 0; i < w->nlast; i++) w->last[i] = none;
    return w->last ? CBX_OK : cbx_fail(err, CBX_ENOMEM, "no memory for the series of a store");
}

static cbx_status put_value(writer *w, int64_t rid, size_t i, const cbx__scan_value *v, cbx_err *err)
{
    cbx__select *s = w->sql[PUT_VALUE];
    int64_t sid = 0;
    cbx_status st = CBX_OK;

    if (same_series(&w->last[i], v)) {
        sid = w->last[i].sid;
    } else {
        st = find_or_put(w, FIND_SERIES, PUT_SERIES, bind_series, v, &sid, err);
        if (!st) st = remember(w, i, v, sid, err);
    }
    if (st) return st;
    cbx__select_bind_int(s, sid);
    cbx__select_bind_int(s, rid);
    cbx__select_bind_int(s, (int64_t)i);
    cbx__select_bind_double(s, v->value);
    cbx__select_bind_double(s, v->lower);
    cbx__select_bind_double(s, v->upper);
    return cbx__select_put(s, err);
}

static cbx_status put_def(writer *w, int64_t rid, const cbx_metric_def *d, cbx_err *err)
{
    int64_t did = 0;
    cbx_status st = find_or_put(w, FIND_DEF, PUT_DEF, bind_def, d, &did, err);

    if (st) return st;
    cbx__select_bind_int(w->sql[PUT_RUN_DEF], rid);
    cbx__select_bind_int(w->sql[PUT_RUN_DEF], did);
    return cbx__select_put(w->sql[PUT_RUN_DEF], err);
}

static cbx_status put_file(writer *w, const cbx__scan_file *f, cbx_err *err)
{
    cbx__select *s = w->sql[PUT_RUN];
    const int64_t stamps[] = { f->stamp.size, f->stamp.ino, f->stamp.mtime_ns, f->stamp.ctime_ns };
    const char *const texts[] = { f->hash, f->problem, f->id };
    const char *const more[] = { f->commit, f->branch, f->machine };
    int64_t rid;
    cbx_status st;

    cbx__select_bind_text(s, f->name);
    for (int i = 0; i < 4; i++) cbx__select_bind_int(s, stamps[i]);
    for (int i = 0; i < 3; i++) cbx__select_bind_text(s, texts[i]);
    cbx__select_bind_int(s, f->timestamp_us);
    for (int i = 0; i < 3; i++) cbx__select_bind_text(s, more[i]);
    cbx__select_bind_int(s, (int64_t)f->npoints);
    st = cbx__select_put(s, err);
    rid = sqlite3_last_insert_rowid(w->ix->db);
    if (!st) st = start_memo(w, f->nvalues, err);
    for (size_t i = 0; !st && i < f->nvalues; i++) st = put_value(w, rid, i, &f->values[i], err);
    for (size_t i = 0; !st && i < f->ndefs; i++) st = put_def(w, rid, &f->defs[i], err);
    return st;
}

/* --- refresh --- */

static cbx_status forget(cbx__index *ix, const char *name, cbx_err *err)
{
    static const char *const sql[] = {
        "DELETE FROM value WHERE sid IN (SELECT sid FROM series) AND rid = (SELECT rid FROM run WHERE name = ?)",
        "DELETE FROM run_def WHERE rid = (SELECT rid FROM run WHERE name = ?)",
        "DELETE FROM run WHERE name = ?",
    };
    cbx_status st = CBX_OK;

    for (size_t i = 0; !st && i < sizeof sql / sizeof *sql; i++) {
        cbx__select *s = NULL;
        st = cbx__select_open(ix, sql[i], &s, err);
        if (st) break;
        cbx__select_bind_text(s, name);
        cbx__select_next(s);
        st = cbx__select_close(s, err);
    }
    return st;
}

/* What the index knows, by name, in the order of cbx__scan_folder: a merge tells new, changed and gone files. */
static cbx_status compare(cbx__index *ix, cbx__scan *scan, cbx_arena *arena, const char ***gone, size_t *ngone,
                          cbx_err *err)
{
    cbx__select *s = NULL;
    size_t i = 0, room = 0;
    cbx_status st = cbx__select_open(ix, "SELECT name, size, ino, mtime, ctime FROM run ORDER BY name", &s, err);

    *ngone = 0;
    while (!st && cbx__select_next(s)) {
        const char *name = cbx__select_text(s, 0);
        cbx__stamp known = { cbx__select_int(s, 1), cbx__select_int(s, 2), cbx__select_int(s, 3),
                             cbx__select_int(s, 4) };
        while (i < scan->count && strcmp(scan->files[i].name, name) < 0) i++;
        if (i < scan->count && strcmp(scan->files[i].name, name) == 0) {
            scan->files[i].known = cbx__stamp_equal(&scan->files[i].stamp, &known);
            if (scan->files[i].known) continue;
        }
        if (*ngone == room) {
            const char **more = cbx_arena_calloc(arena, room ? 2 * room : 64, sizeof *more);
            if (more && room) memcpy(more, *gone, room * sizeof *more);
            room = room ? 2 * room : 64;
            *gone = more;
        }
        if (*gone) (*gone)[(*ngone)++] = cbx_arena_strdup(arena, name);
        if (!*gone || !(*gone)[*ngone - 1]) st = cbx_fail(err, CBX_ENOMEM, "no memory for the names of a store");
    }
    if (st)
        cbx__select_close(s, NULL);
    else
        st = cbx__select_close(s, err);
    return st;
}

static cbx_status put_scanned(void *user, const cbx__scan_file *file, cbx_err *err)
{
    return put_file(user, file, err);
}

/* Compared once more under the lock: another process may have written what is missing in the meantime. */
static cbx_status write_changes(cbx__index *ix, cbx__scan *scan, cbx_arena *arena, cbx_err *err)
{
    writer w = { 0 };
    const char **gone = NULL;
    size_t ngone = 0;
    cbx_status st = cbx__index_run(ix, "BEGIN IMMEDIATE", err);

    if (st) return st;
    st = compare(ix, scan, arena, &gone, &ngone, err);
    for (size_t i = 0; !st && i < ngone; i++) st = forget(ix, gone[i], err);
    if (!st) st = writer_open(&w, ix, err);
    if (!st) st = cbx__scan_read(scan, put_scanned, &w, err);
    writer_close(&w);
    if (!st) st = cbx__index_run(ix, "COMMIT", err);
    if (st) cbx__index_run(ix, "ROLLBACK", NULL);
    return st;
}

cbx_status cbx__index_refresh(cbx__index *ix, const char *runs, cbx_err *err)
{
    cbx_arena arena;
    cbx__scan scan;
    const char **gone = NULL;
    size_t ngone = 0;
    cbx_status st;

    cbx_arena_init(&arena, cbx_ctx_allocator(ix->ctx));
    st = cbx__scan_folder(ix->ctx, runs, &arena, &scan, err);
    if (!st) st = compare(ix, &scan, &arena, &gone, &ngone, err);
    if (!st && (ngone || cbx__scan_changed(&scan))) st = write_changes(ix, &scan, &arena, err);
    cbx_arena_clear(&arena);
    return st;
}

cbx_status cbx__index_vacuum(cbx__index *ix, cbx_err *err)
{
    return cbx__index_run(ix,
                          "DELETE FROM series WHERE sid NOT IN (SELECT sid FROM value);"
                          "DELETE FROM def WHERE did NOT IN (SELECT did FROM run_def); VACUUM",
                          err);
}
