/**
 * The store of runs: a folder that people, git and the Python package `calibrax` can read.
 *
 *     <root>/runs/<id>.json           one run a file (core/run.h), the truth
 *     <root>/baselines/<name>.json    a byte copy of a run; "main" is that of the Python package
 *     <root>/config.json              optional: {"metric_defs": {...}} for runs that have none
 *     <root>/<case>/<run_id>.jsonl    rows of nperf (storage/row.h), with raw launches beside them
 *     <root>/index.sqlite             a cache of both: delete it, and the next query makes it again
 *
 * Every write is temporary file, fsync, rename, under the lock <root>/.lock: readers never see a
 * part of a file, and writers in different processes never lose each other's runs.  A file that
 * cannot be read is reported by name (cbx_store_problems) and costs nothing else.  Queries compare
 * size and time of each file with the index and read only what changed, so files that others wrote,
 * replaced or removed are seen; a folder that cannot be written is queried through an index in
 * memory.
 *
 * Strings in lists live as long as the list.  One thread uses a store, and its ctx, at a time; any
 * number of processes may use one folder.  Since 0.1.
 */
#ifndef CALIBRAX_STORAGE_STORE_H
#define CALIBRAX_STORAGE_STORE_H

#include "calibrax/base/arena.h"
#include "calibrax/core/run.h"

CBX_BEGIN_DECLS

typedef struct cbx_store cbx_store;

typedef struct cbx_store_opts {
    uint32_t struct_size; /* sizeof(cbx_store_opts) of the header compiled with */
    /* make the folders if they are missing; otherwise a missing folder is CBX_ENOENT */
    bool create;
    bool no_index_file; /* keep the index in memory: nothing is written by queries */
    /* make missing folders when the first run is kept; until then the store is there, and empty */
    bool create_late;
    uint64_t lock_wait_ns; /* how long a write waits for another process; 0: 30 s */
} cbx_store_opts;

#define CBX_STORE_OPTS_INIT CBX_OPTS(cbx_store_opts, 0, 0, 0, 0)

/**
 * Opens a folder.  Reads nothing yet and, unless opts->create, makes nothing.
 * @param opts  NULL: all defaults
 * @return CBX_OK; CBX_ENOENT (no such folder, or one without runs/); CBX_EINVAL (struct_size);
 *   CBX_ENOMEM; as cbx_dir_create
 */
CBX_API cbx_status cbx_store_open(cbx_ctx *ctx, const char *root, const cbx_store_opts *opts, cbx_store **out,
                                  cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_store_close(cbx_store *store);
CBX_API const char *cbx_store_root(const cbx_store *store);

/* --- runs --- */

/**
 * Keeps a run under its id.
 * @param replace  false: a run of that id that differs is CBX_EEXIST, an equal one is left as it is
 * @return CBX_OK; CBX_EEXIST; CBX_EBUSY (the lock is held); as cbx_run_write.  What was there stays
 *   on failure
 */
CBX_API cbx_status cbx_store_save(cbx_store *store, const cbx_run *run, bool replace, cbx_err *err);
/**
 * @param which  an id, the beginning of one id only, or "latest" (newest timestamp; of equal ones
 *   the greatest id)
 * @return CBX_OK; CBX_ENOENT ("no run 'x' in ...", with the nearest id); CBX_EINVAL (several ids
 *   begin so); CBX_EFORMAT
 */
CBX_API cbx_status cbx_store_load(cbx_store *store, const char *which, cbx_run **out, cbx_err *err);
/** The same without samples, of which a run may have millions: to be looked at, and not to be
 * kept. */
CBX_API cbx_status cbx_store_load_bare(cbx_store *store, const char *which, cbx_run **out, cbx_err *err);
/** Whether the store lists a run of this id, all of it; nothing else of the folder is looked at.
 * @return as cbx_store_query_runs */
CBX_API cbx_status cbx_store_has_run(cbx_store *store, const char *id, bool *out, cbx_err *err);
/** Removes a run; baselines are copies and stay.  @param which  a whole id.  @return CBX_OK;
 * CBX_ENOENT; the usual */
CBX_API cbx_status cbx_store_remove(cbx_store *store, const char *which, cbx_err *err);

/* --- queries --- */

/** What a run must have; a member left out (NULL, 0) asks nothing. */
typedef struct cbx_store_query {
    const char *branch, *commit; /* commit: the beginning of the hash will do */
    /* fingerprint, or its beginning; "-": runs that name none */
    const char *machine;
    int64_t since_us, until_us; /* timestamps in [since, until); 0: open */
    /* some one point has this name, this scenario, and a metric of this name */
    const char *point, *scenario, *metric;
    const cbx_tag *tags; /* and all these tags */
    size_t ntags;
    size_t limit; /* the newest ones only; 0: all */
    /* a text that is part of the run's id, commit, branch or machine, in either case (ASCII) */
    const char *run_text;
    /* the same of a point's name, scenario, a tag (key or value) or a metric's name */
    const char *series_text;
    /* of trends: leave out so many series, and give so many; 0: all that follow */
    size_t series_first, series_limit;
} cbx_store_query;

typedef struct cbx_store_entry {
    const char *id, *commit, *branch, *machine; /* NULL: unknown */
    int64_t timestamp_us;
    size_t npoints;
    uint64_t bytes; /* of the file */
} cbx_store_entry;

typedef struct cbx_store_list {
    cbx_arena arena;
    const cbx_store_entry *entries; /* newest first; of equal times by id, falling */
    size_t count;
} cbx_store_list;

/** @param query  NULL: all runs.  @return CBX_OK, also for none; CBX_EIO; CBX_ENOMEM; *out is then
 *   empty */
CBX_API cbx_status cbx_store_query_runs(cbx_store *store, const cbx_store_query *query, cbx_store_list *out,
                                        cbx_err *err);
CBX_API void cbx_store_list_clear(cbx_store_list *list);

/** One value of a series. */
typedef struct cbx_trend_point {
    const char *run_id, *commit, *branch, *machine;
    int64_t timestamp_us;
    double value, lower, upper; /* bounds NaN: absent */
} cbx_trend_point;

/** One metric of one configuration over time. */
typedef struct cbx_trend_series {
    const char *metric, *point, *scenario;
    const cbx_tag *tags; /* sorted by key */
    size_t ntags;
    const cbx_trend_point *points; /* oldest first; of equal times by id */
    size_t npoints;
} cbx_trend_series;

typedef struct cbx_trend {
    cbx_arena arena;
    const cbx_trend_series *series; /* by point, scenario, tags, metric */
    size_t count;
} cbx_trend;

/**
 * Every series that the query describes; limit counts the newest values of each series.
 * Points that differ in scenario or in a tag are series of their own and never mixed.
 */
CBX_API cbx_status cbx_store_trend(cbx_store *store, const cbx_store_query *query, cbx_trend *out, cbx_err *err);
CBX_API void cbx_trend_clear(cbx_trend *trend);

/** How many series the query describes, those without a value in its runs included; series_first
 * and series_limit are not read. */
CBX_API cbx_status cbx_store_count_series(cbx_store *store, const cbx_store_query *query, size_t *out, cbx_err *err);

/** Takes a series, which lives until it returns; what it returns, if not CBX_OK, ends the walk. */
typedef cbx_status (*cbx_trend_fn)(void *user, const cbx_trend_series *series, cbx_err *err);
/**
 * The same, one series after the other: of 10^6 values only those of one are held.  Both functions
 * may ask the store.
 * @param check  gets every series of the same runs before fn gets the first; NULL: none does
 * @return as cbx_store_trend, or what check or fn returned
 */
CBX_API cbx_status cbx_store_trend_each(cbx_store *store, const cbx_store_query *query, cbx_trend_fn check,
                                        cbx_trend_fn fn, void *user, cbx_err *err);

/** Definition of a metric: of the newest run that has one, else of config.json.  @return CBX_OK;
 * CBX_ENOENT */
CBX_API cbx_status cbx_store_metric_def(cbx_store *store, const char *metric, cbx_arena *arena, cbx_metric_def *out,
                                        cbx_err *err);

/**
 * True if runs that the last query saw define the metric in more than one unit or direction: values
 * of a series may then be of two kinds.  Looks itself only if nothing was asked before.
 * @param mixed  may be true for runs that were removed
 */
CBX_API cbx_status cbx_store_metric_is_mixed(cbx_store *store, const char *metric, bool *mixed, cbx_err *err);

/** Names of all metrics, or points, that runs have or had, sorted, in the arena: what to choose
 * from.
 * @param limit  at most so many, of the same order */
CBX_API cbx_status cbx_store_metric_names(cbx_store *store, size_t limit, cbx_arena *arena, const char *const **names,
                                          size_t *count, cbx_err *err);
CBX_API cbx_status cbx_store_point_names(cbx_store *store, size_t limit, cbx_arena *arena, const char *const **names,
                                         size_t *count, cbx_err *err);

/**
 * Queries that follow answer from what the store was when the last one looked at it, until it is
 * released: they agree with each other, and cost no look at the folder.  Runs that are loaded are
 * read from their files as ever.
 */
CBX_API void cbx_store_hold(cbx_store *store, bool held);

/**
 * A text that differs whenever something in the store has changed: names, sizes and times of its
 * files, hashed.  "" where that cannot be known (memory is short).
 * @return as cbx_store_query_runs
 */
CBX_API cbx_status cbx_store_state(cbx_store *store, char out[CBX_HASH_SIZE], cbx_err *err);

/* --- baselines --- */

#define CBX_BASELINE_MAIN "main"

/** Makes a run the baseline of a name (NULL: "main").  @param which  as cbx_store_load.  @return
 * also CBX_EINVAL: unsafe name */
CBX_API cbx_status cbx_store_baseline_set(cbx_store *store, const char *name, const char *which, cbx_err *err);
/** @return CBX_OK; CBX_ENOENT (there is no baseline of that name; the message has the remedy);
 *   CBX_EFORMAT */
CBX_API cbx_status cbx_store_baseline_get(cbx_store *store, const char *name, cbx_run **out, cbx_err *err);
CBX_API cbx_status cbx_store_baseline_remove(cbx_store *store, const char *name, cbx_err *err);
/** Names, sorted, in the arena. */
CBX_API cbx_status cbx_store_baselines(cbx_store *store, cbx_arena *arena, const char *const **names, size_t *count,
                                       cbx_err *err);

/* --- care --- */

/** A file that is no run, or that is not what it was written as. */
typedef struct cbx_store_problem {
    const char *file;    /* below the root */
    const char *message; /* one sentence */
} cbx_store_problem;

typedef struct cbx_store_report {
    cbx_arena arena;
    size_t files;                      /* looked at; 0 where only the index was */
    const cbx_store_problem *problems; /* by file */
    size_t nproblems;
    size_t changed; /* by compaction, migration, export: files removed, rewritten, copied */
    uint64_t bytes; /* of them */
} cbx_store_report;

CBX_API void cbx_store_report_clear(cbx_store_report *report);

/** Files that the last query could not read: what a listing has to mention.  Looks itself only if
 * nothing was asked before. */
CBX_API cbx_status cbx_store_problems(cbx_store *store, cbx_store_report *out, cbx_err *err);
/**
 * Reads every file again: JSON, schema, file name against id, content against the hash in the
 * index, leftover temporaries, baselines without their run (no problem, but counted as one if the
 * copy cannot be read); rows, line by line, their schema, and raw launches.
 */
CBX_API cbx_status cbx_store_verify(cbx_store *store, cbx_store_report *out, cbx_err *err);

typedef struct cbx_store_keep {
    size_t newest;    /* runs kept of each branch and machine, and of rows of each case; 0: all */
    int64_t since_us; /* runs from here on are kept in any case; 0: none */
    bool dry;         /* say only */
} cbx_store_keep;
/** Removes what the rule does not keep (never a run that a baseline copies), leftover temporaries,
 * and slack of the index. */
CBX_API cbx_status cbx_store_compact(cbx_store *store, const cbx_store_keep *keep, cbx_store_report *out, cbx_err *err);
/** Rewrites runs of older schemas in the present one, ids and times unchanged; equal content costs
 * nothing. */
CBX_API cbx_status cbx_store_migrate(cbx_store *store, bool dry, cbx_store_report *out, cbx_err *err);
/**
 * Copies the runs of a query into another store (made if missing), config.json if that has none,
 * and the rows, unless the query asks for more than a time.  @return also CBX_EINVAL: the store
 * itself
 */
CBX_API cbx_status cbx_store_export(cbx_store *store, const cbx_store_query *query, const char *root,
                                    cbx_store_report *out, cbx_err *err);

CBX_END_DECLS
#endif
