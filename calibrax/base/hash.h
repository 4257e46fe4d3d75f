/**
 * 128-bit content hash (XXH3 of libxxhash, BSD-2-Clause): names cached content, machines and
 * binaries.  Not cryptographic.
 */
#ifndef CALIBRAX_BASE_HASH_H
#define CALIBRAX_BASE_HASH_H

#include "calibrax/base/ctx.h"

CBX_BEGIN_DECLS

#define CBX_HASH_SIZE 33 /* 32 lower-case hex digits and NUL */

/** The same bytes give the same digits on every machine; len 0 is fine, data may then be NULL.
 * Safe from any thread. */
CBX_API void cbx_hash_bytes(const void *data, size_t len, char out[CBX_HASH_SIZE]);
/**
 * Hash of a file's content, equal to cbx_hash_bytes of it; read in pieces of 64 KiB, so any size
 * will do.
 * @param out  written on success only
 * @param err  may be NULL
 * @return CBX_OK; CBX_ENOENT, CBX_EPERM, CBX_EIO (a folder too), CBX_ENOMEM; the message names the
 *   path
 */
CBX_API cbx_status cbx_hash_file(cbx_ctx *ctx, const char *path, char out[CBX_HASH_SIZE], cbx_err *err);

/** The same of bytes that come in pieces.  One thread uses a hasher at a time. */
typedef struct cbx_hasher cbx_hasher;
/** NULL: out of memory. */
CBX_API cbx_hasher *cbx_hasher_create(void);
CBX_API void cbx_hasher_add(cbx_hasher *h, const void *data, size_t len);
/** Of all that was added; the hasher is freed.  NULL is fine, and gives the hash of nothing. */
CBX_API void cbx_hasher_end(cbx_hasher *h, char out[CBX_HASH_SIZE]);

CBX_END_DECLS
#endif
