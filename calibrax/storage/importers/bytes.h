/*
 * What an importer reads: a text in memory, a file, or what a compressed file holds.  A file is never held whole; it is read again as
 * often as somebody walks through it.
 */
#ifndef CALIBRAX_STORAGE_IMPORT_BYTES_H
#define CALIBRAX_STORAGE_IMPORT_BYTES_H

#include "calibrax/base/json_reader.h"
#include "calibrax/base/scratch.h"

typedef struct cbx__bytes {
    cbx_allocator al;
    const char *what, *text; /* text NULL: on disk */
    char *own;               /* the text, if that is ours: len + 1 bytes */
    size_t len;
    int fd; /* of the file, -1: none */
    int64_t mtime_ns;
    cbx__scratch *scratch; /* what a compressed file holds */
    size_t begin;          /* of the text, behind a byte-order mark */
} cbx__bytes;

/* A text that the caller keeps; decompressed if it is a gzip file. */
cbx_status cbx__bytes_of_text(cbx_ctx *ctx, const char *text, size_t len, size_t most, const char *what,
                              const char *scratch, cbx__bytes *out, cbx_err *err);
/*
 * A file of at most `most` bytes.  @param scratch  folder for what a compressed one holds; NULL: memory
 * @return as cbx_file_read; CBX_EFORMAT (a damaged gzip file, UTF-16); CBX_EOVERFLOW.  The caller clears *out
 */
cbx_status cbx__bytes_of_file(cbx_ctx *ctx, const char *path, size_t most, const char *scratch, cbx__bytes *out,
                              cbx_err *err);
void cbx__bytes_clear(cbx__bytes *b);
/* Of the text; places in it count from 0, a byte-order mark left out. */
size_t cbx__bytes_length(const cbx__bytes *b);
/* Up to room bytes from `at` on; *got 0 is the end. */
cbx_status cbx__bytes_read(const cbx__bytes *b, uint64_t at, void *to, size_t room, size_t *got, cbx_err *err);
/* CBX_EFORMAT: the file is another one than when it was opened. */
cbx_status cbx__bytes_unchanged(const cbx__bytes *b, cbx_err *err);

/* A place in the bytes, as a source of JSON. */
typedef struct cbx__bytes_walk {
    const cbx__bytes *bytes;
    uint64_t at;
    cbx__json_reader *reader;
} cbx__bytes_walk;
cbx_status cbx__bytes_walk_begin(cbx__bytes_walk *w, const cbx__bytes *b, uint64_t at, cbx_err *err);
void cbx__bytes_walk_end(cbx__bytes_walk *w);

#endif
