/* A file as a text, which frees it; texts into a file. */
#ifndef CALIBRAX_BASE_FILE_TEXT_H
#define CALIBRAX_BASE_FILE_TEXT_H

#include "calibrax/base/file.h"

/** Reads a whole file in the place of what the text holds.  @param max_bytes, @return  as
 * cbx_file_read; the text stays on failure */
static inline cbx_status cbx__file_text(cbx_ctx *ctx, const char *path, size_t max_bytes, cbx_text *out, cbx_err *err)
{
    cbx_text t;
    cbx_status st;

    cbx_text_init(&t, cbx_ctx_allocator(ctx));
    st = cbx_file_read(ctx, path, max_bytes, &t.data, &t.len, err);
    if (st) return st;
    cbx_text_clear(out);
    t.cap = t.len + 1;
    *out = t;
    return CBX_OK;
}

/** Writes all of it; fewer bytes: errno has the reason. */
size_t cbx__write_all(int fd, const char *data, size_t len);
/** Reads n bytes from a place of a file on; false: errno has the reason, 0 if it has fewer. */
bool cbx__read_all(int fd, char *data, size_t n, off_t at);

#endif
