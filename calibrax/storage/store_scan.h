/*
 * Inside storage: the files of a folder of runs, and what the index wants to know of each.
 */
#ifndef CALIBRAX_STORAGE_STORE_SCAN_H
#define CALIBRAX_STORAGE_STORE_SCAN_H

#include "calibrax/base/arena.h"
#include "calibrax/core/run.h"
#include "calibrax/storage/store_index.h"

typedef struct cbx__scan_value {
    const char *metric, *point, *scenario;
    const char *tags; /* key \x1f value \x1e, sorted by key */
    double value, lower, upper;
} cbx__scan_value;

/** The members behind known are there only while cbx__scan_read hands the file out, those behind whole only with its last part. */
typedef struct cbx__scan_file {
    const char *name;
    cbx__stamp stamp;
    size_t first; /* of the values, how many came before these, with parts of the same file */
    const cbx__scan_value *values;
    size_t nvalues;
    bool whole;          /* there is no further part; if there is a problem now, none of its values counts */
    const char *hash;    /* of the bytes; NULL: the file could not be read */
    const char *problem; /* why it is no run; NULL: it is one, and what follows is its content */
    const char *id, *commit, *branch, *machine;
    int64_t timestamp_us;
    size_t npoints;
    const cbx_metric_def *defs;
    size_t ndefs;
} cbx__scan_file;

typedef struct cbx__scan {
    cbx_ctx *ctx;
    const char *folder;
    cbx__index_file *files; /* by name */
    size_t count;
} cbx__scan;

/** Names and stamps of the *.json in a folder; they live in the arena.  @return as cbx_dir_list */
cbx_status cbx__scan_folder(cbx_ctx *ctx, const char *folder, cbx_arena *arena, cbx__scan *out, cbx_err *err);
typedef cbx_status (*cbx__scan_fn)(void *user, const cbx__scan_file *file, cbx_err *err);
/**
 * Reads every file that is not known, several at a time, and hands them to fn in order, in the calling thread; one of very many
 * values in parts.  Memory is bounded by a window of files.  A file that is gone by now is left out.
 * @return CBX_OK; what fn returned; CBX_ENOMEM
 */
cbx_status cbx__scan_read(cbx__scan *scan, cbx__scan_fn fn, void *user, cbx_err *err);

/** "key \x1f value \x1e" of each tag, sorted by key, in the arena; \x1d before such a mark within a tag.  NULL: out of memory. */
const char *cbx__tags_text(cbx_arena *arena, const cbx_tag *tags, size_t n);
/** The way back.  @return CBX_OK; CBX_ENOMEM */
cbx_status cbx__tags_parse(cbx_arena *arena, const char *text, const cbx_tag **tags, size_t *n, cbx_err *err);

#endif
