/*
 * The one table behind reading and writing a row: which JSON member, in which order, is which
 * member of cbx_row.  It is in row_table.c; for row.c, row_read.c and row_csv.c alone.
 */
#ifndef CALIBRAX_STORAGE_ROW_TABLE_H
#define CALIBRAX_STORAGE_ROW_TABLE_H

#include "calibrax/storage/row.h"

typedef enum row_kind {
    ROW_NEEDED_STRING, /* const char *, a row without it is no row */
    ROW_STRING,        /* const char *, null when NULL */
    ROW_NUMBER,        /* double, NaN is written as "NaN": the number was computed and is not a number */
    ROW_MAYBE_NUMBER,  /* double, NaN is written as null: there is no such number */
    ROW_COUNT,         /* uint64_t */
    ROW_BOOL,          /* bool */
    ROW_NUMBERS,       /* const double * and, at `count`, its size_t */
    ROW_LIST,          /* const T * of `block`, each of `size` bytes, and, at `count`, its size_t */
    ROW_POINT,         /* point_json, an object */
    ROW_PROVENANCE,    /* provenance, an object; {} when NULL */
    ROW_VERSION,       /* schema_version: what was read, else CBX_ROW_SCHEMA_VERSION */
    ROW_WORD,          /* no member of cbx_row: what was read, else the text in word */
    ROW_TRUE,          /* no member of cbx_row: what was read, else true */
    ROW_NULL,          /* no member of cbx_row: what was read, else null */
    ROW_BLOCK          /* an object of its own */
} row_kind;

struct row_block;

typedef struct row_field {
    const char *key;
    row_kind kind;
    size_t offset; /* in cbx_row; of a list's block: in its element */
    const char *word;
    const struct row_block *block;
    size_t count, size;
    bool optional; /* left out where there is nothing to say: what version 2 added */
} row_field;

typedef enum row_presence {
    ROW_ALWAYS,
    ROW_IF_STRING, /* at offset: a const char * that is not NULL */
    ROW_IF_TRUE,   /* a bool */
    ROW_IF_NUMBER, /* a double that is not NaN */
    ROW_IF_METRIC, /* a cbx_row_metric with a value, launches or a reason */
    ROW_IF_ANY     /* some count of the block is not 0 */
} row_presence;

typedef struct row_block {
    const row_field *fields;
    size_t nfields;
    row_presence presence; /* decides between the object and null */
    size_t offset;         /* of what decides */
} row_block;

extern const row_block cbx__row_table;

/** A member of a row, or of an element of one of its lists, by its offset. */
#define ROW_AT(T, base, offset) (*(T *)((uintptr_t)(base) + (offset)))

/** Every number of a block, and of the blocks in it, absent. */
void cbx__row_block_init(void *base, const row_block *block);

/** Adds the rows of a text of JSON lines; path names it in messages. */
cbx_status cbx__rows_read_text(cbx_rows *rows, const char *text, size_t len, const char *path, cbx_err *err);

/** The next line of a text, without its end; false: the end of the text. */
bool cbx__rows_next_line(const char **at, const char *end, const char **line, size_t *len);
/**
 * A line without what is in its "provenance", which is most of it and which few ask for; out has a
 * capacity of len bytes.  The rest is as it was; a line that has no such member, or none that ends,
 * comes out whole.  @return bytes written
 */
size_t cbx__rows_lean_line(const char *line, size_t len, char *out);
/** Adds the row of one line, or counts it as damage; a blank line is ignored.  @return CBX_OK;
 * CBX_ENOMEM */
cbx_status cbx__rows_read_line(cbx_rows *rows, const char *line, size_t len, const char *path, size_t number,
                               cbx_err *err);
bool cbx__ends_with(const char *s, const char *suffix);
/** The *.jsonl below a folder but *.raw.jsonl, sorted, in the arena.  @return as cbx_dir_list */
cbx_status cbx__rows_list(cbx_ctx *ctx, const char *folder, cbx_arena *arena, const char *const **paths, size_t *count,
                          cbx_err *err);

#endif
