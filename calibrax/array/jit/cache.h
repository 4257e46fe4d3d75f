/*
 * Inside the compiler: compiled objects on disk, found by all that they were made from.
 *
 * An entry is a file of its own, ours alone (mode 0600), written under a temporary name and
 * renamed.  It holds its whole key, so that two keys of one hash are not taken for each other, and
 * a hash of its content.  What is cut, damaged, of another user or of another format counts as
 * missing, and is replaced.  Nothing that goes wrong with files is an error: then there is no
 * caching.
 *
 * Folder: "jit" below $CALIBRAX_CACHE_DIR, $XDG_CACHE_HOME/calibrax or ~/.cache/calibrax
 * (cbx_cache_dir).  The files that have not been used for longest are removed when all together
 * pass CALIBRAX_JIT_CACHE_BYTES (256 MiB without it; 0: nothing is kept or read).
 */
#ifndef CALIBRAX_ARRAY_JIT_CACHE_H
#define CALIBRAX_ARRAY_JIT_CACHE_H

#include <stdbool.h>

#include "calibrax/base/ctx.h"

/**
 * @param data  the caller frees it with cbx_mem_free(allocator of ctx, data, len)
 * @param hit   false: not found, and data and len are not written
 * @return CBX_OK; CBX_ENOMEM
 */
cbx_status cbx__jit_cache_load(cbx_ctx *ctx, const void *key, size_t key_len, bool *hit, char **data, size_t *len,
                               cbx_err *err);
/** @return CBX_OK, also if it could not be stored; CBX_ENOMEM */
cbx_status cbx__jit_cache_store(cbx_ctx *ctx, const void *key, size_t key_len, const void *data, size_t len,
                                cbx_err *err);

#endif
