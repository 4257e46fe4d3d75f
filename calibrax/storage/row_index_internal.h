/*
 * Inside the row index: what keeping it and asking it share.
 */
#ifndef CALIBRAX_STORAGE_ROW_INDEX_INTERNAL_H
#define CALIBRAX_STORAGE_ROW_INDEX_INTERNAL_H

#include "calibrax/storage/row_index.h"
#include "calibrax/storage/store_internal.h"

/** A file of rows.  Its rank is its place in the list, which is sorted, path by path. */
typedef struct cbx__row_file {
    cbx__index_file file; /* its name: number of the source, slash, path below it */
    const char *path;
    cbx_json **kept; /* lean rows by offset, where the index is in memory and they are few; NULL: not kept */
    size_t nkept;
} cbx__row_file;

typedef enum cbx__row_outcome { ROW_FAILED, ROW_GOOD, ROW_SKIPPED } cbx__row_outcome;

/** Where a row is. */
typedef struct cbx__row_place {
    int64_t kid; /* its key, of the index's keys */
    cbx_row_past past;
    size_t rank;
    int64_t offset, length;
    cbx__row_outcome outcome;
    bool duplicate;
    cbx_json *kept; /* borrowed from the file; NULL: to be read */
} cbx__row_place;

typedef struct cbx__row_series {
    cbx_row_series series;
    const cbx__row_place *first, *shown, *attempt;
} cbx__row_series;

struct cbx_row_index {
    cbx_ctx *ctx;
    cbx_arena arena; /* paths */
    const char **paths;
    size_t npaths;
    cbx__index *db;
    bool keeps; /* lean rows are kept: the database is in memory, and the files small */

    cbx_arena loaded; /* everything below, made again by each refresh */
    cbx__row_file *files;
    size_t nfiles, capacity;
    cbx__row_place *places; /* by file, then offset */
    size_t nplaces;
    const char **keys;
    cbx__row_series *series;
    size_t nseries;
    cbx_row_index_facts facts;
};

/** Looks at the files, reads what changed into the database, loads the rest. */
cbx_status cbx__row_index_refresh(cbx_row_index *ix, cbx_err *err);
/** Gives back what was kept of the files. */
void cbx__row_index_drop(cbx_row_index *ix);
/** Places and series from the database. */
cbx_status cbx__row_index_load(cbx_row_index *ix, cbx_err *err);

#endif
