/*
 * gzip by zlib (its licence), whose types stay here.
 */
#include "calibrax/storage/importers/gzip.h"

#include <zlib.h>

#define PIECE     65536
#define GZIP_ONLY (16 + MAX_WBITS)

bool cbx__is_gzip(const char *bytes, size_t n) { return n >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b'; }

typedef struct gunzip {
    const cbx__gunzip_ends *ends;
    const char *what;
    size_t most, left; /* bytes that may come; may still come */
    z_stream z;
    unsigned char in[PIECE], out[PIECE];
} gunzip;

/* Has bytes to work on, unless there are none any more. */
static cbx_status refill(gunzip *g, cbx_err *err)
{
    size_t got = 0;
    cbx_status st;

    if (g->z.avail_in) return CBX_OK;
    st = g->ends->read(g->ends->from, (char *)g->in, PIECE, &got, err);
    g->z.next_in = g->in;
    g->z.avail_in = (uInt)got;
    return st;
}

static cbx_status pour_out(gunzip *g, cbx_err *err)
{
    size_t n = PIECE - g->z.avail_out;

    if (n > g->left) return cbx_fail(err, CBX_EOVERFLOW, "'%s': holds more than %zu MiB", g->what, g->most >> 20);
    g->left -= n;
    return g->ends->pour(g->ends->to, (const char *)g->out, n, err);
}

static cbx_status inflate_piece(gunzip *g, bool *ended, cbx_err *err)
{
    cbx_status st = refill(g, err);
    int rc;

    if (st) return st;
    g->z.next_out = g->out;
    g->z.avail_out = PIECE;
    rc = inflate(&g->z, Z_NO_FLUSH);
    *ended = rc == Z_STREAM_END;
    if (rc == Z_OK || *ended) return pour_out(g, err);
    if (rc == Z_MEM_ERROR) return cbx_fail(err, CBX_ENOMEM, "out of memory while reading '%s'", g->what);
    if (rc == Z_BUF_ERROR) return cbx_fail(err, CBX_EFORMAT, "'%s': the compressed file ends too early", g->what);
    return cbx_fail(err, CBX_EFORMAT, "'%s': no gzip: %s", g->what, g->z.msg ? g->z.msg : "it is damaged");
}

/* One after the other, until nothing stands behind one. */
static cbx_status inflate_members(gunzip *g, cbx_err *err)
{
    cbx_status st;

    do {
        bool ended = false;
        for (st = CBX_OK; !st && !ended;) st = inflate_piece(g, &ended, err);
        if (!st) st = refill(g, err);
    } while (!st && g->z.avail_in && inflateReset(&g->z) == Z_OK);
    return st;
}

cbx_status cbx__gunzip(const cbx__gunzip_ends *ends, size_t most, const char *what, cbx_err *err)
{
    gunzip g = { .ends = ends, .what = what, .most = most, .left = most };
    cbx_status st;

    if (inflateInit2(&g.z, GZIP_ONLY) != Z_OK)
        return cbx_fail(err, CBX_ENOMEM, "out of memory while reading '%s'", what);
    st = inflate_members(&g, err);
    inflateEnd(&g.z);
    return st;
}
