/*
 * Inside storage: what a run file holds, put into the index.
 */
#ifndef CALIBRAX_STORAGE_STORE_PUT_H
#define CALIBRAX_STORAGE_STORE_PUT_H

#include "calibrax/storage/store_index.h"
#include "calibrax/storage/store_scan.h"

typedef struct cbx__putter cbx__putter;

/** For use within one transaction. */
cbx_status cbx__putter_create(cbx__index *ix, cbx__putter **out, cbx_err *err);
/** A file that the index does not know, or the next part of it. */
cbx_status cbx__put_file(cbx__putter *p, const cbx__scan_file *file, cbx_err *err);
/** Writes what is still on its way. */
cbx_status cbx__putter_finish(cbx__putter *p, cbx_err *err);
/** NULL is fine. */
void cbx__putter_free(cbx__putter *p);

#endif
