/*
 * Variables whose value is freed where their block ends, on every way out of it.
 */
#ifndef CALIBRAX_PROGRAMS_SCOPED_H
#define CALIBRAX_PROGRAMS_SCOPED_H

#include "calibrax/base/json.h"
#include "calibrax/base/text.h"
#include "calibrax/storage/store.h"

static inline void drop_cbx_json(cbx_json **x) { cbx_json_unref(*x); }
static inline void drop_cbx_run(cbx_run **x) { cbx_run_free(*x); }
static inline void drop_cbx_run_builder(cbx_run_builder **x) { cbx_run_builder_free(*x); }
static inline void drop_cbx_store(cbx_store **x) { cbx_store_close(*x); }

/* SCOPED(cbx_run) *r = NULL; */
#define SCOPED(type) __attribute__((cleanup(drop_##type))) type
/* CLEARED(cbx_rows) rows; of a type with a TYPE_clear, initialised before the next way out. */
#define CLEARED(type) __attribute__((cleanup(type##_clear))) type

static inline cbx_text text_of(const cbx_allocator *al)
{
    cbx_text text;

    cbx_text_init(&text, al);
    return text;
}

/* An empty text. */
#define SCOPED_TEXT(name, al) __attribute__((cleanup(cbx_text_clear))) cbx_text name = text_of(al)

#endif
