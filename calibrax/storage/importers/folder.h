/*
 * What stands beside a file.
 */
#ifndef CALIBRAX_STORAGE_IMPORT_FOLDER_H
#define CALIBRAX_STORAGE_IMPORT_FOLDER_H

#include "calibrax/storage/importers/importer.h"

bool cbx__import_is_folder(const char *path);
/* A folder of criterion.rs as text: {CBX__CRITERION_KEY: [{"folder", "benchmark", "estimates", "sample"}, ...]} */
cbx_status cbx__import_folder(cbx_ctx *ctx, const char *path, cbx_text *out, cbx_err *err);
/*
 * What asv keeps beside a file of results: {"benchmarks": ../benchmarks.json, "machine": machine.json}; NULL: neither is there and can be
 * read.  The caller unrefs it.  @return CBX_OK or CBX_ENOMEM
 */
cbx_status cbx__import_companion(cbx_ctx *ctx, const char *path, cbx_json **out, cbx_err *err);

#endif
