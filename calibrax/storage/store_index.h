/*
 * Inside storage: the index of a store, an SQLite database that knows what each run file holds.
 *
 * The files are the truth: a refresh compares name, size, inode and times of each with what the index remembers (all in one
 * hash, and one by one where that differs) and reads only those that differ.  Nothing here outlives a deleted index but the time to make it again.
 */
#ifndef CALIBRAX_STORAGE_STORE_INDEX_H
#define CALIBRAX_STORAGE_STORE_INDEX_H

#include "calibrax/storage/store.h"

typedef struct cbx__index cbx__index;
typedef struct cbx__select cbx__select;

/**
 * @param path  of the database; NULL: in memory.  One that is damaged, of another version or not writable gives way to a
 *              new one, in memory if need be
 */
cbx_status cbx__index_open(cbx_ctx *ctx, const char *path, cbx__index **out, cbx_err *err);
void cbx__index_close(cbx__index *ix);
cbx_ctx *cbx__index_ctx(const cbx__index *ix);

/* --- files: those of runs and those of rows --- */

/** Changes whenever a file is written, replaced, or put back by hand. */
typedef struct cbx__stamp {
    int64_t size, ino, mtime_ns, ctime_ns;
} cbx__stamp;

/** A file that is there, of which nothing has been read: tens of thousands of them are compared for each query. */
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
    /** Reads the files that are not known into the index, in a transaction.  gone: files were forgotten */
    cbx_status (*take)(void *user, bool gone, cbx_err *err);
} cbx__index_kind;

/**
 * Marks the files that the index knows as they are; if there are others, or fewer, forgets and takes what changed, as one step.
 * @param files  sorted by name
 */
cbx_status cbx__index_sync(cbx__index *ix, const cbx__index_kind *kind, cbx__index_file *const *files, size_t n,
                           void *user, cbx_err *err);
/**
 * Calls refresh with an index, which is opened first if *ix is NULL.  One that another process is filling is not waited for, and one
 * on a full or broken disk is left: then refresh is called again with an index in memory.
 */
cbx_status cbx__index_use(cbx_ctx *ctx, const char *path, cbx__index **ix,
                          cbx_status (*refresh)(void *user, cbx__index *ix, cbx_err *err), void *user, cbx_err *err);

/** Looks at every *.json in the folder, reads what changed, forgets what is gone; as one step. */
cbx_status cbx__index_refresh(cbx__index *ix, const char *runs, cbx_err *err);
/** Statements that give no rows, separated by semicolons. */
cbx_status cbx__index_run(cbx__index *ix, const char *sql, cbx_err *err);
/** Gives slack back to the file system. */
cbx_status cbx__index_vacuum(cbx__index *ix, cbx_err *err);

/* --- asking: SQL with ? places that are bound in order --- */

cbx_status cbx__select_open(cbx__index *ix, const char *sql, cbx__select **out, cbx_err *err);
/** Text NULL binds null.  Text and bytes are borrowed until the select is made ready again or closed. */
void cbx__select_bind_text(cbx__select *s, const char *text);
void cbx__select_bind_int(cbx__select *s, int64_t v);
/** NaN binds null. */
void cbx__select_bind_double(cbx__select *s, double v);
void cbx__select_bind_bytes(cbx__select *s, const void *bytes, size_t n);
/** true: a row is there to be read; false: the end, or a failure that close returns. */
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
/** NULL is fine. */
cbx_status cbx__select_close(cbx__select *s, cbx_err *err);
/** Closes after work that came to st: the first failure counts. */
cbx_status cbx__select_end(cbx__select *s, cbx_status st, cbx_err *err);
/** The key of the row that was put last. */
int64_t cbx__index_last_row(const cbx__index *ix);

/*
 * Tables, for those who ask:
 *   run     rid, name (file), size, ino, mtime, ctime, hash (of the bytes), problem (text; null: it is a run),
 *           id, time (us), commit_, branch, machine, npoints
 *   series  sid, metric, point, scenario, tags   (tags: key \x1f value \x1e, sorted by key)
 *   chunk   key, data: values of a series, see store_values.h
 *   def     did, metric, unit, direction, grp, priority, description;  run_def  rid, did
 *   seen    state: hash of names and stamps of the folder of runs
 * and those of the rows of nperf, see row_index.c.  A rid is never used twice.
 */

#endif
