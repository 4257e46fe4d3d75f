/*
 * Content hash: XXH3, 128 bits, in its canonical (big-endian) order, as xxh128sum prints it.
 * libxxhash allocates the state of the streaming form itself (576 bytes, aligned to 64).
 */
#include "calibrax/base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
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

struct cbx_hasher {
    XXH3_state_t *state;
};

cbx_hasher *cbx_hasher_create(void)
{
    cbx_hasher *h = malloc(sizeof *h);

    if (!h) return NULL;
    h->state = XXH3_createState();
    if (h->state) {
        XXH3_128bits_reset(h->state);
        return h;
    }
    free(h);
    return NULL;
}

void cbx_hasher_add(cbx_hasher *h, const void *data, size_t len) { XXH3_128bits_update(h->state, data, len); }

void cbx_hasher_end(cbx_hasher *h, char out[CBX_HASH_SIZE])
{
    if (!h) {
        cbx_hash_bytes(NULL, 0, out);
        return;
    }
    write_hex(XXH3_128bits_digest(h->state), out);
    XXH3_freeState(h->state);
    free(h);
}

cbx_status cbx_hash_file(cbx_ctx *ctx, const char *path, char out[CBX_HASH_SIZE], cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_status st = CBX_OK;
    cbx_hasher *hasher = cbx_hasher_create();
    char digits[CBX_HASH_SIZE];
    char *buffer = cbx_mem_alloc(al, BUFFER_BYTES);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        st = cbx_fail_errno(err, errno, "cannot open '%s'", path);
        goto done;
    }
    if (!hasher || !buffer) {
        st = cbx_fail_nomem(err, path);
        goto done;
    }
    for (ssize_t n = 1; n != 0;) {
        n = read(fd, buffer, BUFFER_BYTES);
        if (n > 0) cbx_hasher_add(hasher, buffer, (size_t)n);
        if (n < 0 && errno != EINTR) {
            st = cbx_fail_errno(err, errno, "cannot read '%s'", path);
            goto done;
        }
    }
done:
    if (fd >= 0) close(fd);
    cbx_mem_free(al, buffer, BUFFER_BYTES);
    cbx_hasher_end(hasher, digits);
    if (!st) memcpy(out, digits, sizeof digits);
    return st;
}
