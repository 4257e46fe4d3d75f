/**
 * Row index: all rows of files and folders, known by key, without reading them again.
 *
 * A series is what has one store key (cbx_row_key: case, machine, platform, point, baseline,
 * variant).  Of each the index has the rows over time and finds the newest good one; rows
 * themselves are read from their files when asked for.  The files are the truth: opening compares
 * name, size, inode and times of each file with what is remembered and reads only those that
 * differ.
 *
 * A folder of 4 MiB of rows and more keeps its index in `<folder>/index.sqlite` (the store's,
 * storage/store.h), a cache that may be deleted at any time; smaller ones, single files and several
 * paths are read into memory each time, and so is a store whose index is being written by another
 * process or cannot be written.  A row that is listed twice (same key and run id) counts once, the
 * first in the order of files.  One thread uses an index, and its ctx, at a time.  Since 0.1.
 */
#ifndef CALIBRAX_STORAGE_ROW_INDEX_H
#define CALIBRAX_STORAGE_ROW_INDEX_H

#include "calibrax/storage/row.h"

CBX_BEGIN_DECLS

typedef struct cbx_row_index cbx_row_index;

/** One row of a series, as far as the index knows it.  Absent numbers are NaN. */
typedef struct cbx_row_past {
    const char *run_id;
    double median_s, lower_s, upper_s; /* of steady_time */
    bool good;
    double compile_s; /* with an empty cache */
    double memory_mb; /* growth, 10^6 bytes */
    double error;     /* largest over its bound */
    double energy_j;  /* of one call */
    double gflop_per_s, gbyte_per_s;
} cbx_row_past;

/** Lives as long as the index. */
typedef struct cbx_row_series {
    const char *key;          /* as cbx_row_key */
    const cbx_row_past *past; /* by run id */
    size_t npast;
    bool newer_failed; /* rows newer than the newest good one are not good */
} cbx_row_series;

typedef struct cbx_row_index_facts {
    size_t files, rows;
    size_t duplicates; /* of these rows, left out */
    size_t damaged;    /* lines that are no row */
    size_t newer;      /* rows of a schema version above CBX_ROW_SCHEMA_VERSION: read as far as they are known */
    char first_damage[CBX_ERR_MESSAGE_SIZE]; /* names file and line; "" */
} cbx_row_index_facts;

/**
 * @param paths  files of rows, or folders (all *.jsonl below but *.raw.jsonl); npaths >= 1
 * @return CBX_OK; CBX_EINVAL (no path); as cbx_rows_read for the paths themselves.  A file of a
 *   folder that cannot be read is damage
 */
CBX_API cbx_status cbx_row_index_open(cbx_ctx *ctx, const char *const *paths, size_t npaths, cbx_row_index **out,
                                      cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_row_index_close(cbx_row_index *ix);
CBX_API const cbx_row_index_facts *cbx_row_index_facts_of(const cbx_row_index *ix);
CBX_API size_t cbx_row_index_count(const cbx_row_index *ix);
/** In the order of first appearance, whatever the index was made from; NULL past the end. */
CBX_API const cbx_row_series *cbx_row_index_series(const cbx_row_index *ix, size_t i);
/** How much of a row is read: all of it, or all but its provenance, which is most of its bytes. */
typedef enum cbx_row_extent { CBX_ROWS_WHOLE, CBX_ROWS_LEAN } cbx_row_extent;
/**
 * Adds the row of each series to show, in their order: the newest good one, else the newest ; a
 * newer row that is not good never hides an older good one.  A row whose file was changed or
 * removed since the index was opened is looked up again and then left out.
 * @param newer_failed  may be NULL: number of series whose good row is not their newest
 * @return CBX_OK; CBX_ENOMEM, CBX_EIO
 */
CBX_API cbx_status cbx_row_index_latest(cbx_row_index *ix, cbx_row_extent extent, cbx_rows *rows, size_t *newer_failed,
                                        cbx_err *err);
/**
 * Adds the newest attempt of each series, good or not, in their order; the newest row where none is
 * an attempt (cbx_row_is_attempt).  What a gate looks at: a failure is not hidden by the good row
 * before it.  @return as cbx_row_index_latest
 */
CBX_API cbx_status cbx_row_index_attempts(cbx_row_index *ix, cbx_row_extent extent, cbx_rows *rows, cbx_err *err);
/** Adds every row of a case (NULL: of all) in the order of files; duplicates stay out.  @return as
 * cbx_row_index_latest */
CBX_API cbx_status cbx_row_index_rows(cbx_row_index *ix, const char *case_name, cbx_row_extent extent, cbx_rows *rows,
                                      cbx_err *err);

CBX_END_DECLS
#endif
