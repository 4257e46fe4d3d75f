/* gzip by zlib (zlib licence), whose types stay here. */
#include "calibrax/base/gzip.h"

#include <limits.h>
#include <stdbool.h>
#include <zlib.h>

#define GZIP_BITS (15 + 16) /* the largest window, with gzip's header */
#define CHUNK     65536

/* Memory of the streams comes from the text's allocator, with its size in front, which zlib does
 * not give back. */
typedef struct block {
    size_t size;
    max_align_t data[];
} block;

static void *take(void *user, unsigned n, unsigned size)
{
    const cbx_allocator *al = user;
    size_t bytes = sizeof(block) + (size_t)n * size;
    block *b = cbx_mem_alloc(al, bytes);

    if (!b) return NULL;
    b->size = bytes;
    return b->data;
}

static void give(void *user, void *data)
{
    block *b = (block *)(void *)((char *)data - offsetof(block, data));
    cbx_mem_free(user, b, b->size);
}

/* zlib takes lengths as unsigned int: the next piece of what is left. */
static void feed(z_stream *z, size_t *left)
{
    uInt n = *left > UINT_MAX ? UINT_MAX : (uInt)*left;

    z->avail_in = n;
    *left -= n;
}

cbx_status cbx_gzip_pack(const void *data, size_t len, cbx_text *out, cbx_err *err)
{
    z_stream z = { .next_in = (z_const Bytef *)data, .zalloc = take, .zfree = give, .opaque = &out->al };
    unsigned char piece[CHUNK];
    size_t left = len;
    int rc = deflateInit2(&z, 6, Z_DEFLATED, GZIP_BITS, 8, Z_DEFAULT_STRATEGY);

    if (rc != Z_OK) return cbx_fail_nomem(err, "compress bytes");
    do {
        if (!z.avail_in) feed(&z, &left);
        z.next_out = piece;
        z.avail_out = CHUNK;
        rc = deflate(&z, left ? Z_NO_FLUSH : Z_FINISH);
        cbx_text_add(out, (const char *)piece, CHUNK - z.avail_out);
    } while (rc != Z_STREAM_END && !out->status);
    deflateEnd(&z);
    return cbx_text_check(out, err);
}

cbx_status cbx_gzip_unpack(const void *data, size_t len, size_t max_bytes, const char *what, cbx_text *out,
                           cbx_err *err)
{
    z_stream z = { .next_in = (z_const Bytef *)data, .zalloc = take, .zfree = give, .opaque = &out->al };
    size_t left = len, before = out->len;
    unsigned char piece[CHUNK];
    bool again = false; /* another member follows */
    int rc = inflateInit2(&z, GZIP_BITS);

    if (rc != Z_OK) return cbx_fail_nomem(err, what);
    do {
        if (!z.avail_in) feed(&z, &left);
        z.next_out = piece;
        z.avail_out = CHUNK;
        rc = inflate(&z, Z_NO_FLUSH);
        if (rc != Z_OK && rc != Z_STREAM_END) break;
        cbx_text_add(out, (const char *)piece, CHUNK - z.avail_out);
        again = rc == Z_STREAM_END && (z.avail_in || left) && inflateReset(&z) == Z_OK;
    } while ((rc == Z_OK || again) && !out->status && out->len - before <= max_bytes);
    inflateEnd(&z);
    if (out->status || rc == Z_MEM_ERROR) return cbx_fail_nomem(err, what);
    if (out->len - before > max_bytes)
        return cbx_fail(err, CBX_EOVERFLOW, "'%s' has more than %zu bytes", what, max_bytes);
    if (rc == Z_STREAM_END) return CBX_OK;
    return cbx_fail(err, CBX_EFORMAT, "'%s' is not a gzip file, or is damaged", what);
}
