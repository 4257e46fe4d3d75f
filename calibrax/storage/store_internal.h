/*
 * Inside storage: what the files of the store share.
 */
#ifndef CALIBRAX_STORAGE_STORE_INTERNAL_H
#define CALIBRAX_STORAGE_STORE_INTERNAL_H

#include "calibrax/base/arena.h"
#include "calibrax/base/ctx.h"
#include "calibrax/base/file.h"
#include "calibrax/base/list.h"
#include "calibrax/base/text.h"
#include "calibrax/core/owned.h"
#include "calibrax/storage/row.h"
#include "calibrax/storage/store.h"

CBX_FREED_BY(cbx_lock, cbx_lock_release)

/* --- the index, an SQLite database of what each run file holds --- */

/*
 * The files are the truth: a refresh compares name, size, inode and times of each with what the
 * index has (all in one hash, and one by one where that differs) and reads only those that differ.
 * A deleted index costs only the time to make it again.
 */

typedef struct cbx__index {
    cbx_ctx *ctx;
    struct sqlite3 *db;
} cbx__index;

/**
 * @param path  of the database; NULL: in memory.  One that is damaged, of another version or not
 *              writable gives way to a new one, in memory if need be
 */
cbx_status cbx__index_open(cbx_ctx *ctx, const char *path, cbx__index **out, cbx_err *err);
void cbx__index_close(cbx__index *ix);

/* Files, those of runs and those of rows. */

/** Changes whenever a file is written, replaced, or put back by hand. */
typedef struct cbx__stamp {
    int64_t size, ino, mtime_ns, ctime_ns;
} cbx__stamp;

/** A file that is there, of which nothing has been read: tens of thousands of them are compared for
 * each query. */
typedef struct cbx__index_file {
    const char *name; /* in the index */
    const char *
        problem; /* why it cannot be read: not a regular file, a link whose target is missing; NULL: it can; static text */
    cbx__stamp stamp;
    int64_t id; /* of its row, if it is known */
    bool known; /* the index has its content */
} cbx__index_file;

/** Fills stamp and problem from a path below an open folder.  false: it has been removed. */
bool cbx__index_stamp(int folder, const char *path, cbx__index_file *f);

/** The files of one kind, and what is done about them. */
typedef struct cbx__index_kind {
    const char *table;         /* has a row a file: an INTEGER PRIMARY KEY, name, size, ino, mtime, ctime */
    const char *const *forget; /* statements with the key of a row as ?1; the last is NULL */
    /** Reads the files that are not known into the index, in a transaction.  gone: files were
     * forgotten */
    cbx_status (*take)(void *user, bool gone, cbx_err *err);
} cbx__index_kind;

/**
 * Marks the files that the index knows as they are; if there are others, or fewer, forgets and
 * takes what changed, as one step.
 * @param files  sorted by name
 */
cbx_status cbx__index_sync(cbx__index *ix, const cbx__index_kind *kind, cbx__index_file *const *files, size_t n,
                           void *user, cbx_err *err);
/**
 * Calls refresh with an index, which is opened first if *ix is NULL.  One that another process is
 * filling is not waited for, and one on a full or broken disk is left: then refresh is called again
 * with an index in memory.
 */
cbx_status cbx__index_use(cbx_ctx *ctx, const char *path, cbx__index **ix,
                          cbx_status (*refresh)(void *user, cbx__index *ix, cbx_err *err), void *user, cbx_err *err);

/** Looks at every *.json in the folder, reads what changed, forgets what is gone; as one step. */
cbx_status cbx__index_refresh(cbx__index *ix, const char *runs, cbx_err *err);
/** Hash of names and stamps of the folder that the last refresh saw; "" where that is unknown. */
cbx_status cbx__index_state(cbx__index *ix, char out[CBX_HASH_SIZE], cbx_err *err);
/** Statements that give no rows, separated by semicolons. */
cbx_status cbx__index_run(cbx__index *ix, const char *sql, cbx_err *err);
/** Gives slack back to the file system. */
cbx_status cbx__index_vacuum(cbx__index *ix, cbx_err *err);

/* --- asking: SQL with ? places that are bound in order --- */

/** A statement.  One that cannot be made has no rows, and what ends it returns why. */
typedef struct cbx__select {
    cbx__index *ix;
    struct sqlite3_stmt *stmt;
    int bound, rc;
} cbx__select;

/** To be ended with cbx__select_end. */
cbx__select cbx__select_of(cbx__index *ix, const char *sql);
/** Text NULL binds null.  Text and bytes are borrowed until the select is made ready again or
 * ended. */
#define cbx__bind_texts(s, ...)                                                                                        \
    cbx__bind_text_list(s, (const char *const[]){ __VA_ARGS__ },                                                       \
                        sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))
#define cbx__bind_ints(s, ...)                                                                                         \
    cbx__bind_int_list(s, (const int64_t[]){ __VA_ARGS__ }, sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))
/** NaN binds null. */
#define cbx__bind_doubles(s, ...)                                                                                      \
    cbx__bind_double_list(s, (const double[]){ __VA_ARGS__ }, sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double))
void cbx__bind_text_list(cbx__select *s, const char *const *texts, size_t n);
void cbx__bind_int_list(cbx__select *s, const int64_t *v, size_t n);
void cbx__bind_double_list(cbx__select *s, const double *v, size_t n);
void cbx__bind_bytes(cbx__select *s, const void *bytes, size_t n);
/** true: a row is there to be read; false: the end, or a failure that the end returns. */
bool cbx__select_next(cbx__select *s);
/** Valid until the next step; NULL for null. */
const char *cbx__select_text(const cbx__select *s, int column);
int64_t cbx__select_int(const cbx__select *s, int column);
/** NaN for null. */
double cbx__select_double(const cbx__select *s, int column);
/** Valid until the next step; aligned for nothing. */
const void *cbx__select_bytes(const cbx__select *s, int column, size_t *n);
/** Ready for other values in its places.  @return what its last step failed with, else CBX_OK */
cbx_status cbx__select_again(cbx__select *s, cbx_err *err);
/** Runs a statement that gives no rows, and makes it ready again. */
cbx_status cbx__select_put(cbx__select *s, cbx_err *err);
/** The key of the row that `find` finds, or that `put` makes: bind fills the places of either. */
cbx_status cbx__select_find_or_put(cbx__select *find, cbx__select *put, void (*bind)(cbx__select *s, const void *what),
                                   const void *what, int64_t *key, cbx_err *err);
/** Ends it after work that came to st: the first failure counts.  One that is zero is fine. */
cbx_status cbx__select_end(cbx__select *s, cbx_status st, cbx_err *err);
/** Runs a statement with a text in its only place (NULL: it has none).  @param out  the number that
 * its first row begins with; 0: it gives no row */
cbx_status cbx__index_number(cbx__index *ix, const char *sql, const char *text, int64_t *out, cbx_err *err);
/** The same with a text; "": no row, or null. */
cbx_status cbx__index_text(cbx__index *ix, const char *sql, const char *text, char out[CBX_HASH_SIZE], cbx_err *err);
/** The key of the row that was put last. */
int64_t cbx__index_last_row(const cbx__index *ix);

/*
 * Tables, for those who ask:
 *   run     rid, name (file), size, ino, mtime, ctime, hash (of the bytes), problem (text; null: it
 *           is a run), id, time (us), commit_, branch, machine, npoints
 *   series  sid, metric, point, scenario, tags   (tags: key \x1f value \x1e, sorted by key)
 *   chunk   key, data: values of a series, see below
 *   def     did, metric, unit, direction, grp, priority, description;  run_def  rid, did
 *   seen    state: hash of names and stamps of the folder of runs
 * and those of the rows of nperf, see row_index.c.  A rid is never used twice.
 */

/* --- a query of the store as SQL, and the rows of its answer --- */

/** Asks nothing. */
extern const cbx_store_query cbx__any_run;

#define CBX__BINDS_MAX 64

/** Conditions and, in the same order, the texts of their ?. */
typedef struct cbx__sql {
    cbx_text text;
    cbx_arena *arena;
    const char *binds[CBX__BINDS_MAX];
    size_t nbinds; /* also those beyond the maximum */
} cbx__sql;

void cbx__sql_init(cbx__sql *q, cbx_arena *arena, const char *select);
/** Conditions on the run, whose table is r; there is a WHERE before them. */
void cbx__sql_where_run(cbx__sql *q, const cbx_store_query *w);
/** Conditions on the series, s; there is a condition before them. */
void cbx__sql_where_series(cbx__sql *q, const cbx_store_query *w);
/** True if a query asks anything of series. */
bool cbx__sql_asks_series(const cbx_store_query *w);
/** Ends q, whatever the outcome. */
cbx_status cbx__sql_open(cbx__sql *q, cbx__index *ix, cbx__select *out, cbx_err *err);

/** Text in the arena, the same pointer for the same text as the row before: most rows of a list
 * share theirs. */
bool cbx__keep_text(cbx_arena *arena, const char *text, const char *before, const char **out);

/** Where in a list the run of a rid is. */
typedef struct cbx__rid {
    uint32_t rid, at;
} cbx__rid;

/** Runs of a query, in an arena. */
typedef struct cbx__runs {
    CBX_LIST(cbx_store_entry) list;
    CBX_LIST(cbx__rid) rids; /* of each */
} cbx__runs;

/** @param out  starts zeroed.  @param order  of the runs, as SQL; "": as the index has them */
cbx_status cbx__runs_read(cbx__index *ix, const cbx_store_query *w, const char *order, cbx_arena *arena, cbx__runs *out,
                          cbx_err *err);

/* --- the files of a folder of runs --- */

typedef struct cbx__scan_value {
    const char *metric, *point, *scenario;
    const char *tags; /* key \x1f value \x1e, sorted by key */
    double value, lower, upper;
} cbx__scan_value;

/** The members behind known are there only while cbx__scan_read hands the file out, those behind
 * whole only with its last part. */
typedef struct cbx__scan_file {
    const char *name;
    cbx__stamp stamp;
    size_t first; /* of the values, how many came before these, with parts of the same file */
    const cbx__scan_value *values;
    size_t nvalues;
    bool whole;          /* there is no further part; if there is a problem now, none of its values counts */
    const char *hash;    /* of the bytes; NULL: the file could not be read */
    const char *problem; /* why it is no run; NULL: it is one, and what follows is its content */
    const char *id, *commit, *branch, *machine;
    int64_t timestamp_us;
    size_t npoints;
    const cbx_metric_def *defs;
    size_t ndefs;
} cbx__scan_file;

typedef struct cbx__scan {
    cbx_ctx *ctx;
    const char *folder;
    int dir;                /* open while the files are stamped */
    cbx__index_file *files; /* by name */
    size_t count;
} cbx__scan;

/** Names and stamps of the *.json in a folder; they live in the arena.  @return as cbx_dir_list */
cbx_status cbx__scan_folder(cbx_ctx *ctx, const char *folder, cbx_arena *arena, cbx__scan *out, cbx_err *err);
typedef cbx_status (*cbx__scan_fn)(void *user, const cbx__scan_file *file, cbx_err *err);
/**
 * Reads every file that is not known, several at a time, and hands them to fn in order, in the
 * calling thread; one of very many values in parts.  Memory is bounded by a window of files.  A
 * file that is gone by now is left out.
 * @return CBX_OK; what fn returned; CBX_ENOMEM
 */
cbx_status cbx__scan_read(cbx__scan *scan, cbx__scan_fn fn, void *user, cbx_err *err);

/** "key \x1f value \x1e" of each tag, sorted by key, in the arena; \x1d before such a mark within a
 * tag.  NULL: out of memory. */
const char *cbx__tags_text(cbx_arena *arena, const cbx_tag *tags, size_t n);
/** The way back.  @return CBX_OK; CBX_ENOMEM */
cbx_status cbx__tags_parse(cbx_arena *arena, const char *text, const cbx_tag **tags, size_t *n, cbx_err *err);

/* --- values of series, in chunks --- */

/*
 * A row of `chunk` holds many values of one series: a store of 500,000 values has a few hundred
 * rows, and a series is read in one go.  The key is the series' number and, below it, that of the
 * run whose value comes first.  Values of a forgotten run stay until there are many of them: its
 * number is not among the runs.
 */

/** As chunks hold it, in the byte order of the machine (which is part of the version of the
 * index). */
typedef struct cbx__index_value {
    uint32_t rid, k; /* the run, and the place in it */
    double value, lower, upper;
} cbx__index_value;

/* --- writing --- */

typedef struct cbx__series_value {
    uint64_t order; /* number of the series, and which came first */
    cbx__index_value value;
} cbx__series_value;

/** Values on their way into chunks.  What was not flushed is lost. */
typedef struct cbx__gatherer {
    cbx__index *ix;
    const cbx_allocator *al;
    cbx__select last, put;
    CBX_LIST(cbx__series_value) items;
    CBX_LIST(cbx__index_value) chunk; /* being put together */
} cbx__gatherer;

void cbx__gatherer_init(cbx__gatherer *g, cbx__index *ix);
void cbx__gatherer_clear(cbx__gatherer *g);
cbx_status cbx__gatherer_add(cbx__gatherer *g, int64_t sid, const cbx__index_value *v, cbx_err *err);
/** Between two runs: writes if much has come together. */
cbx_status cbx__gatherer_pause(cbx__gatherer *g, cbx_err *err);
/** Writes what there is. */
cbx_status cbx__gatherer_flush(cbx__gatherer *g, cbx_err *err);

/** Drops the values of runs that are gone, and series without any. */
cbx_status cbx__values_prune(cbx__index *ix, cbx_err *err);

/* --- reading --- */

/** Sorts by rid. */
void cbx__rids_sort(cbx__rid *rids, size_t n);
/** @param near  where the last one was found, which the next one is often behind; moves.  NULL:
 *   none of them */
const cbx__rid *cbx__rids_find(const cbx__rid *rids, size_t n, uint32_t rid, size_t *near);

/** A select for cbx__values_each, which may serve many series. */
cbx__select cbx__values_select(cbx__index *ix);
typedef cbx_status (*cbx__values_fn)(void *user, const cbx__index_value *v, cbx_err *err);
/** Every value of a series, those of forgotten runs too, by run and place within what one refresh
 * saw. */
cbx_status cbx__values_each(cbx__select *s, int64_t sid, cbx__values_fn fn, void *user, cbx_err *err);

/* --- what a run file holds, put into the index --- */

enum { CBX__NPUTS = 9 };

/** For use within one transaction. */
typedef struct cbx__putter {
    cbx__index *ix;
    cbx__select sql[CBX__NPUTS];
    cbx__gatherer values;
    cbx_arena texts;
    struct memo *last; /* see store_put.c */
    size_t nlast, renewed;
    int64_t rid; /* of the file that comes in parts */
    size_t left; /* files that are not put yet */
} cbx__putter;

void cbx__putter_init(cbx__putter *p, cbx__index *ix);
void cbx__putter_clear(cbx__putter *p);
/** Puts a file that the index does not know, or the next part of it: for cbx__scan_read. */
cbx_status cbx__put_file(void *putter, const cbx__scan_file *file, cbx_err *err);

/* --- the store --- */

struct cbx_store {
    cbx_ctx *ctx;
    cbx_arena arena; /* the paths */
    const char *root, *runs, *baselines, *config, *lock, *index_path;
    uint64_t lock_wait_ns;
    bool no_index_file;
    bool late;         /* the folders may be missing still */
    bool held;         /* the index is not brought up to date */
    cbx__index *index; /* NULL until something is asked */
};

/** store->index, up to date with the folder. */
cbx_status cbx__store_index(cbx_store *store, cbx_err *err);
/** The same as the last query left it, without a look at the folder; brought up to date only if
 * nothing was asked before. */
cbx_status cbx__store_last_look(cbx_store *store, cbx_err *err);
/** Of a run by its id, of a baseline by its name, in the arena; NULL: out of memory. */
const char *cbx__store_run_path(const cbx_store *store, cbx_arena *arena, const char *id);
const char *cbx__store_baseline_path(const cbx_store *store, cbx_arena *arena, const char *name);
/** The id that cbx_store_load's which means, in the arena. */
cbx_status cbx__store_resolve(cbx_store *store, const char *which, cbx_arena *arena, const char **id, cbx_err *err);
/** Makes the folders of a store that was opened with create_late; for who keeps a run. */
cbx_status cbx__store_make(cbx_store *store, cbx_err *err);
/** The lock that every write holds. */
cbx_status cbx__store_lock(cbx_store *store, cbx_lock **out, cbx_err *err);
/**
 * Under the lock: whether an equal run is there (*done), and nothing to do.
 * @param replace  another one goes.  @return CBX_OK; CBX_EEXIST: another one is there; CBX_ENOMEM
 */
cbx_status cbx__store_check_existing(cbx_store *store, const cbx_run *run, const char *path, bool replace, bool *done,
                                     cbx_err *err);
/** A report under construction. */
typedef struct cbx__store_findings {
    cbx_store_report *out;
    CBX_LIST(cbx_store_problem) problems; /* in the report's arena */
} cbx__store_findings;
/** Adds a problem, whose texts are copied. */
cbx_status cbx__store_found(cbx__store_findings *f, const char *file, const char *message, cbx_err *err);
/** Counts a file that was removed, rewritten or copied. */
void cbx__store_changed(cbx_store_report *out, uint64_t bytes);
/** The problem of a temporary file that its writer left. */
extern const char cbx__store_leftover[];

/* --- rows of nperf --- */

/** A folder of rows below the root, with all its files. */
typedef struct cbx__store_case {
    const char *name, *path;
    const char *const *files; /* sorted */
    size_t n;
} cbx__store_case;
cbx_status cbx__store_cases(cbx_store *store, cbx_arena *arena, cbx__store_case **out, size_t *n, cbx_err *err);
#define RAW_SUFFIX ".raw.jsonl.gz"
#define RAW_PLAIN  ".raw.jsonl" /* of earlier releases */
#define RAW_MAX    ((size_t)4 << 30)
/** Whether a file, by its name, holds rows; raw launches of rows. */
bool cbx__store_is_rows(const char *name);
bool cbx__store_is_raw(const char *name);
/** Reads every file of rows and of raw launches. */
cbx_status cbx__store_verify_rows(cbx_store *store, cbx__store_findings *f, cbx_err *err);
/**
 * Of one case, under its lock: removes what the rule does not keep, raw launches without rows, and
 * temporary files.  The names of a folder are sorted, and so are the ids of runs by their time: the
 * first ones are the oldest.
 * @param removed  files of rows that went are added
 */
cbx_status cbx__store_compact_case(cbx_arena *arena, const cbx__store_case *c, const cbx_store_keep *keep,
                                   cbx_store_report *out, size_t *removed, cbx_err *err);
/** The same of each case. */
cbx_status cbx__store_compact_rows(cbx_store *store, const cbx_store_keep *keep, cbx_store_report *out, cbx_err *err);
/** Copies the rows, with their raw launches, of the cases that another store has not; those of a
 * time, if the query asks for one. */
cbx_status cbx__store_copy_rows(cbx_store *from, cbx_store *to, const cbx_store_query *query, cbx_store_report *out,
                                cbx_err *err);

/* What is wrong with a path in a store that is not a file. */
extern const char cbx__link_to_nothing[], cbx__not_a_file[];
/** CBX_OK for a regular file, and where there is nothing; CBX_EIO otherwise: to open a pipe would
 * wait for a writer. */
cbx_status cbx__store_check_file(const char *path, cbx_err *err);

#endif
