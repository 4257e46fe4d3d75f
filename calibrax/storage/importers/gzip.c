/*
 * gzip by zlib (its licence), whose types stay here.
 */
#include "calibrax/storage/importers/gzip.h"

#include <zlib.h>

#define PIECE     65536
#define GZIP_ONLY (16 + MAX_WBITS)

bool cbx__is_gzip(const char *bytes, size_t n) { return n >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b'; }

typedef struct outlet {
    cbx__gunzip_fn pour;
    void *user;
    size_t left; /* bytes that may still come */
} outlet;

static cbx_status inflate_member(z_stream *z, outlet *to, size_t most, const char *what, cbx_err *err)
{
    unsigned char piece[PIECE];
    int rc = Z_OK;

    while (rc == Z_OK) {
        size_t n;
        cbx_status st;
        z->next_out = piece;
        z->avail_out = PIECE;
        rc = inflate(z, Z_NO_FLUSH);
        if (rc == Z_MEM_ERROR) return cbx_fail(err, CBX_ENOMEM, "out of memory while reading '%s'", what);
        if (rc == Z_BUF_ERROR) return cbx_fail(err, CBX_EFORMAT, "'%s': the compressed file ends too early", what);
        if (rc != Z_OK && rc != Z_STREAM_END)
            return cbx_fail(err, CBX_EFORMAT, "'%s': no gzip: %s", what, z->msg ? z->msg : "it is damaged");
        n = PIECE - z->avail_out;
        if (n > to->left) return cbx_fail(err, CBX_EOVERFLOW, "'%s': holds more than %zu MiB", what, most >> 20);
        to->left -= n;
        st = to->pour(to->user, (const char *)piece, n, err);
        if (st) return st;
    }
    return CBX_OK;
}

cbx_status cbx__gunzip(const char *bytes, size_t n, size_t most, const char *what, cbx__gunzip_fn pour, void *user,
                       cbx_err *err)
{
    z_stream z = { .next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)n };
    outlet to = { pour, user, most };
    cbx_status st = CBX_OK;

    if (n > UINT32_MAX) return cbx_fail(err, CBX_EOVERFLOW, "'%s': is larger than 4 GiB", what);
    if (inflateInit2(&z, GZIP_ONLY) != Z_OK) return cbx_fail(err, CBX_ENOMEM, "out of memory while reading '%s'", what);
    do {
        st = inflate_member(&z, &to, most, what, err);
    } while (!st && z.avail_in > 0 && inflateReset(&z) == Z_OK);
    inflateEnd(&z);
    return st;
}
