/*
 * Content hash: XXH3, 128 bits, in its canonical (big-endian) order, as xxh128sum prints it.
 * libxxhash allocates the state of the streaming form itself (576 bytes, aligned to 64).
 */
#include "calibrax/base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define BUFFER_BYTES ((size_t)64 << 10)

static void write_hex(XXH128_hash_t hash, char out[CBX_HASH_SIZE])
{
    static const char hex[] = "0123456789abcdef";
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, hash);
    for (size_t i = 0; i < sizeof canonical.digest; i++) {
        out[2 * i] = hex[canonical.digest[i] >> 4];
        out[2 * i + 1] = hex[canonical.digest[i] & 15];
    }
    out[CBX_HASH_SIZE - 1] = 0;
}

void cbx_hash_bytes(const void *data, size_t len, char out[CBX_HASH_SIZE]) { write_hex(XXH3_128bits(data, len), out); }

/* --- in pieces --- */

/* A cbx_hasher is the state of libxxhash under another name. */
cbx_hasher *cbx_hasher_create(void)
{
    XXH3_state_t *state = XXH3_createState();

    if (state) XXH3_128bits_reset(state);
    return (void *)state;
}

void cbx_hasher_add(cbx_hasher *h, const void *data, size_t len) { XXH3_128bits_update((void *)h, data, len); }

void cbx_hasher_end(cbx_hasher *h, char out[CBX_HASH_SIZE])
{
    write_hex(h ? XXH3_128bits_digest((void *)h) : XXH3_128bits(NULL, 0), out);
    XXH3_freeState((void *)h);
}

cbx_status cbx_hash_file(cbx_ctx *ctx, const char *path, char out[CBX_HASH_SIZE], cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    char digits[CBX_HASH_SIZE];
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) return cbx_fail_errno(err, errno, "cannot open '%s'", path);
    cbx_hasher *hasher = cbx_hasher_create();
    char *buffer = cbx_mem_alloc(al, BUFFER_BYTES);
    cbx_status st = hasher && buffer ? CBX_OK : cbx_fail_nomem(err, path);
    for (ssize_t n = 1; !st && n != 0;) {
        n = read(fd, buffer, BUFFER_BYTES);
        if (n > 0) cbx_hasher_add(hasher, buffer, (size_t)n);
        if (n < 0 && errno != EINTR) st = cbx_fail_errno(err, errno, "cannot read '%s'", path);
    }
    close(fd);
    cbx_mem_free(al, buffer, BUFFER_BYTES);
    cbx_hasher_end(hasher, digits);
    if (!st) memcpy(out, digits, sizeof digits);
    return st;
}
