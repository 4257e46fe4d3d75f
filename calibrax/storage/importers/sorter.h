/*
 * Records in order, however many: sorted in pieces, which wait on disk, and merged.
 */
#ifndef CALIBRAX_STORAGE_IMPORT_SORTER_H
#define CALIBRAX_STORAGE_IMPORT_SORTER_H

#include <stdbool.h>

#include "calibrax/base/scratch.h"

typedef struct cbx__sorter cbx__sorter;

/* @param scratch  where pieces wait, kept by the caller; NULL: everything stays in memory.  @return CBX_OK or CBX_ENOMEM */
cbx_status cbx__sorter_create(const cbx_allocator *al, cbx__scratch *scratch, cbx__sorter **out, cbx_err *err);
/* NULL is fine. */
void cbx__sorter_free(cbx__sorter *s);
/* Copies a record, which sorts by its bytes, a shorter one first.  @return CBX_OK; CBX_ENOMEM; as cbx__scratch_add */
cbx_status cbx__sorter_add(cbx__sorter *s, const void *record, size_t len, cbx_err *err);
/* Nothing may be added from now on. */
cbx_status cbx__sorter_sort(cbx__sorter *s, cbx_err *err);
/* The next record in order, until the next call; *record is NULL behind the last. */
cbx_status cbx__sorter_next(cbx__sorter *s, const char **record, size_t *len, cbx_err *err);

#endif
