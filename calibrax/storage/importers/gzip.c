/*
 * gzip by zlib (its licence), whose types stay here.
 */
#include "calibrax/storage/importers/gzip.h"

#include <zlib.h>

#define PIECE     65536
#define GZIP_ONLY (16 + MAX_WBITS)

bool cbx__is_gzip(const char *bytes, size_t n) { return n >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b'; }

/* One member; *used counts its bytes. */
static cbx_status inflate_member(z_stream *z, size_t most, const char *what, cbx_text *out, cbx_err *err)
{
    unsigned char piece[PIECE];
    int rc = Z_OK;

    while (rc == Z_OK) {
        z->next_out = piece;
        z->avail_out = PIECE;
        rc = inflate(z, Z_NO_FLUSH);
        if (rc == Z_MEM_ERROR) return cbx_fail(err, CBX_ENOMEM, "out of memory while reading '%s'", what);
        if (rc == Z_BUF_ERROR) return cbx_fail(err, CBX_EFORMAT, "'%s': the compressed file ends too early", what);
        if (rc != Z_OK && rc != Z_STREAM_END)
            return cbx_fail(err, CBX_EFORMAT, "'%s': no gzip: %s", what, z->msg ? z->msg : "it is damaged");
        if (PIECE - z->avail_out > most - out->len)
            return cbx_fail(err, CBX_EOVERFLOW, "'%s': holds more than %zu MiB", what, most >> 20);
        cbx_text_add(out, (const char *)piece, PIECE - z->avail_out);
        if (out->status) return cbx_fail(err, CBX_ENOMEM, "out of memory while reading '%s'", what);
    }
    return CBX_OK;
}

cbx_status cbx__gunzip(const char *bytes, size_t n, size_t most, const char *what, cbx_text *out, cbx_err *err)
{
    z_stream z = { .next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)n };
    cbx_status st = CBX_OK;

    if (n > UINT32_MAX) return cbx_fail(err, CBX_EOVERFLOW, "'%s': is larger than 4 GiB", what);
    if (inflateInit2(&z, GZIP_ONLY) != Z_OK) return cbx_fail(err, CBX_ENOMEM, "out of memory while reading '%s'", what);
    do {
        st = inflate_member(&z, most, what, out, err);
    } while (!st && z.avail_in > 0 && inflateReset(&z) == Z_OK);
    inflateEnd(&z);
    return st;
}
