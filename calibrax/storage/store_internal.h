/* What the files of the store share; for store*.c alone. */
#ifndef CALIBRAX_STORAGE_STORE_INTERNAL_H
#define CALIBRAX_STORAGE_STORE_INTERNAL_H

#include "calibrax/base/file.h"
#include "calibrax/base/list.h"
#include "calibrax/storage/store_index.h"

struct cbx_store {
    cbx_ctx *ctx;
    cbx_arena arena; /* the paths */
    const char *root, *runs, *baselines, *config, *lock, *index_path;
    uint64_t lock_wait_ns;
    bool no_index_file;
    bool late;         /* the folders may be missing still */
    cbx__index *index; /* NULL until something is asked */
};

/** The index, up to date with the folder. */
cbx_status cbx__store_index(cbx_store *store, cbx__index **out, cbx_err *err);
/** As the last query left it, without a look at the folder; brought up to date only if nothing was asked before. */
cbx_status cbx__store_last_look(cbx_store *store, cbx__index **out, cbx_err *err);
/** Of a run by its id, of a baseline by its name, in the arena; NULL: out of memory. */
const char *cbx__store_run_path(const cbx_store *store, cbx_arena *arena, const char *id);
const char *cbx__store_baseline_path(const cbx_store *store, cbx_arena *arena, const char *name);
/** The id that cbx_store_load's which means, in the arena. */
cbx_status cbx__store_resolve(cbx_store *store, const char *which, cbx_arena *arena, const char **id, cbx_err *err);
/** Makes the folders of a store that was opened with create_late; for who keeps a run. */
cbx_status cbx__store_make(cbx_store *store, cbx_err *err);
/** The lock that every write holds. */
cbx_status cbx__store_lock(cbx_store *store, cbx_lock **out, cbx_err *err);
cbx_status cbx__store_no_memory(cbx_err *err);
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
/** Whether a file, by its name, holds rows; raw launches of rows. */
bool cbx__store_is_rows(const char *name);
bool cbx__store_is_raw(const char *name);
/** Reads every file of rows and of raw launches. */
cbx_status cbx__store_verify_rows(cbx_store *store, cbx__store_findings *f, cbx_err *err);
/** Removes what the rule does not keep of each case, raw launches without rows, and temporary files. */
cbx_status cbx__store_compact_rows(cbx_store *store, const cbx_store_keep *keep, cbx_store_report *out, cbx_err *err);
/** Copies the rows, with their raw launches, of the cases that another store has not; those of a time, if the query asks for one. */
cbx_status cbx__store_copy_rows(cbx_store *from, cbx_store *to, const cbx_store_query *query, cbx_store_report *out,
                                cbx_err *err);

/* What is wrong with a path in a store that is not a file. */
extern const char cbx__link_to_nothing[], cbx__not_a_file[];
/** CBX_OK for a regular file, and where there is nothing; CBX_EIO otherwise: to open a pipe would wait for a writer. */
cbx_status cbx__store_check_file(const char *path, cbx_err *err);
/** CBX_EEXIST, with its message. */
cbx_status cbx__store_exists(const cbx_store *store, const cbx_run *run, cbx_err *err);

#endif
