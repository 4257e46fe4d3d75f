/*
 * Files that are replaced one by one, but brought to the disk together: to wait for the disk takes milliseconds, for one file as for many.
 *
 * Each keeps the promise of cbx_file_write_atomic: its content is on the disk before it takes its name.  Until the batch is committed the
 * old content stands there, and a killed process leaves temporaries.  One thread uses a batch at a time.
 */
#ifndef CALIBRAX_BASE_FILE_BATCH_H
#define CALIBRAX_BASE_FILE_BATCH_H

#include "calibrax/base/file.h"

#define CBX__BATCH_MOST 512 /* files; one more commits those before it */

typedef struct cbx__file_batch {
    cbx_replacement *list[CBX__BATCH_MOST];
    size_t n;
    dev_t device;  /* that all of them stand on */
} cbx__file_batch; /* starts zeroed */

/** Takes over a file that is written, whatever the outcome.  @return as cbx_replacement_commit, of any file of the batch */
cbx_status cbx__file_batch_add(cbx__file_batch *b, cbx_replacement *r, cbx_err *err);
/** Whether a file of this path waits to take its place. */
bool cbx__file_batch_has(const cbx__file_batch *b, const char *path);
/** All of them take their places, in the order they came.  After a failure those behind it are discarded. */
cbx_status cbx__file_batch_commit(cbx__file_batch *b, cbx_err *err);
/** What has not been committed is discarded. */
void cbx__file_batch_clear(cbx__file_batch *b);

/* --- file.c: the steps of cbx_replacement_commit --- */

/** Nothing more is written; permissions of the file that it replaces; *device: where it stands.  May be called once. */
cbx_status cbx__replacement_settle(cbx_replacement *r, dev_t *device, cbx_err *err);
/** Its content goes to the disk; with `all`, that of every file beside it, which may cost the same.  Behind settle. */
cbx_status cbx__replacement_sync(const cbx_replacement *r, bool all, cbx_err *err);
/** The rename. */
cbx_status cbx__replacement_place(const cbx_replacement *r, cbx_err *err);
cbx_status cbx__replacement_sync_folder(const cbx_replacement *r, cbx_err *err);
/** After the rename: ends r. */
void cbx__replacement_free(cbx_replacement *r);
const char *cbx__replacement_target(const cbx_replacement *r);
const char *cbx__replacement_folder(const cbx_replacement *r);

#endif
