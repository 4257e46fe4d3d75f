/*
 * Variables whose value is freed where their block ends, on every way out of it.
 */
#ifndef CALIBRAX_PROGRAMS_SCOPED_H
#define CALIBRAX_PROGRAMS_SCOPED_H

#include "calibrax/base/text.h"
#include "calibrax/core/owned.h"
#include "calibrax/storage/store.h"

CBX_FREED_BY(cbx_store, cbx_store_close)

/* SCOPED(cbx_run) *r = NULL; */
#define SCOPED(type) CBX_OWNED(type)
/* CLEARED(cbx_rows) rows; of a type with a TYPE_clear, initialised before the next way out. */
#define CLEARED(type) CBX_CLEARED(type)

/* An empty text. */
#define SCOPED_TEXT(name, al) CBX_SCOPED(cbx_text, name, al)

#endif
