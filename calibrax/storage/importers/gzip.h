/* Files that were compressed with gzip; for the importers. */
#ifndef CALIBRAX_STORAGE_IMPORT_GZIP_H
#define CALIBRAX_STORAGE_IMPORT_GZIP_H

#include "calibrax/base/text.h"

/** True if the bytes begin as a gzip file does. */
bool cbx__is_gzip(const char *bytes, size_t n);
/* Gives what is compressed: up to room bytes more; *got 0 is the end. */
typedef cbx_status (*cbx__gunzip_read_fn)(void *user, char *to, size_t room, size_t *got, cbx_err *err);
/* Takes what came out, piece by piece. */
typedef cbx_status (*cbx__gunzip_fn)(void *user, const char *data, size_t n, cbx_err *err);

typedef struct cbx__gunzip_ends {
    cbx__gunzip_read_fn read;
    void *from;
    cbx__gunzip_fn pour;
    void *to;
} cbx__gunzip_ends;

/**
 * Pours what was compressed, all members of the file, of which a piece of 64 KiB is held at a time.
 * @param most  bytes at most: a small file may hold any number of them
 * @return CBX_OK; CBX_EFORMAT (damaged, cut off, something behind it); CBX_EOVERFLOW; CBX_ENOMEM; as read; as pour
 */
cbx_status cbx__gunzip(const cbx__gunzip_ends *ends, size_t most, const char *what, cbx_err *err);

#endif
