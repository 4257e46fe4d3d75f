/*
 * Folders of files, and what stands beside a file.
 */
#ifndef CALIBRAX_STORAGE_IMPORT_FOLDER_H
#define CALIBRAX_STORAGE_IMPORT_FOLDER_H

#include "calibrax/storage/importers/importer.h"

#define CBX__FOLDER_DEPTH 16

bool cbx__import_is_folder(const char *path);

/* Either may be NULL.  What they return other than CBX_OK ends the walk. */
typedef struct cbx__folder_visitor {
    /* Before a folder is looked into, `depth` folders below the first.  *deeper false: it is not */
    cbx_status (*enter)(void *user, const char *folder, int depth, bool *deeper, cbx_err *err);
    cbx_status (*file)(void *user, const char *path, const char *name, cbx_err *err);
    void *user;
    int depth; /* how many folders deep to go; 0: not below the first */
} cbx__folder_visitor;
/*
 * A folder and those below it, names in order.  Links are followed, each folder is looked into once, however many links lead to it;
 * folders whose name begins with a dot are left out.  Paths live in the arena.
 */
cbx_status cbx__import_walk_folder(cbx_ctx *ctx, const char *folder, const cbx__folder_visitor *visitor,
                                   cbx_arena *arena, cbx_err *err);

/* A folder of criterion.rs as text: {CBX__CRITERION_KEY: [{"folder", "benchmark", "estimates", "sample"}, ...]} */
cbx_status cbx__import_folder(cbx_ctx *ctx, const char *path, cbx_text *out, cbx_err *err);
/*
 * What asv keeps beside a file of results: {"benchmarks": ../benchmarks.json, "machine": machine.json}; NULL: neither is there and can be
 * read.  The caller unrefs it.  @return CBX_OK or CBX_ENOMEM
 */
cbx_status cbx__import_companion(cbx_ctx *ctx, const char *path, cbx_json **out, cbx_err *err);

#endif
