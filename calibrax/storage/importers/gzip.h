/* Files that were compressed with gzip; for the importers. */
#ifndef CALIBRAX_STORAGE_IMPORT_GZIP_H
#define CALIBRAX_STORAGE_IMPORT_GZIP_H

#include "calibrax/base/text.h"

/** True if the bytes begin as a gzip file does. */
bool cbx__is_gzip(const char *bytes, size_t n);
/* Takes what came out, piece by piece. */
typedef cbx_status (*cbx__gunzip_fn)(void *user, const char *data, size_t n, cbx_err *err);
/**
 * Pours what was compressed, all members of the file.
 * @param most  bytes at most: a small file may hold any number of them
 * @return CBX_OK; CBX_EFORMAT (damaged, cut off, something behind it); CBX_EOVERFLOW; CBX_ENOMEM; as pour
 */
cbx_status cbx__gunzip(const char *bytes, size_t n, size_t most, const char *what, cbx__gunzip_fn pour, void *user,
                       cbx_err *err);

#endif
