/**
 * 128-bit content hash (XXH3 of libxxhash, BSD-2-Clause): names cached content, machines and binaries.  Not
 * cryptographic.
 */
#ifndef CALIBRAX_BASE_HASH_H
#define CALIBRAX_BASE_HASH_H

#include "calibrax/base/ctx.h"

CBX_BEGIN_DECLS

#define CBX_HASH_SIZE 33 /* 32 lower-case hex digits and NUL */

CBX_API void cbx_hash_bytes(const void *data, size_t len, char out[CBX_HASH_SIZE]);
/** Hash of a file's content. */
CBX_API cbx_status cbx_hash_file(cbx_ctx *ctx, const char *path, char out[CBX_HASH_SIZE], cbx_err *err);

CBX_END_DECLS
#endif
