/*
 * Files that are replaced one by one, but brought to the disk together: a wait for the disk takes
 * milliseconds, for one file as for many.
 *
 * Each keeps the promise of cbx_file_write_atomic: its content is on the disk before it takes its
 * name.  Until the batch is committed the old content remains, and a killed process leaves
 * temporaries.  One thread uses a batch at a time.
 */
#ifndef CALIBRAX_BASE_FILE_BATCH_H
#define CALIBRAX_BASE_FILE_BATCH_H

#include "calibrax/base/file.h"

#define CBX__BATCH_MAX 512 /* files; one more commits those before it */

typedef struct cbx__file_batch {
    cbx_replacement *list[CBX__BATCH_MAX];
    size_t n;
    dev_t device;  /* of all of them */
} cbx__file_batch; /* starts zeroed */

/** Takes over a file that is written, whatever the outcome.  @return as cbx_replacement_commit, of
 * any file of the batch */
cbx_status cbx__file_batch_add(cbx__file_batch *b, cbx_replacement *r, cbx_err *err);
/** Whether a file of this path waits to take its place. */
bool cbx__file_batch_has(const cbx__file_batch *b, const char *path);
/** All of them take their places, in their order.  After a failure those behind it are
 * discarded. */
cbx_status cbx__file_batch_commit(cbx__file_batch *b, cbx_err *err);
/** Discards all that was not committed. */
void cbx__file_batch_clear(cbx__file_batch *b);

#endif
