/**
 * Files: read whole, write atomically, lock, make folders.
 */
#ifndef CALIBRAX_BASE_FILE_H
#define CALIBRAX_BASE_FILE_H

#include <stdbool.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/text.h"

CBX_BEGIN_DECLS

/**
 * Reads a whole file into memory, NUL-terminated behind its last byte.
 * @param max_bytes  refuse anything larger (CBX_EOVERFLOW); 0: 1 GiB
 * @param data       the caller frees it with cbx_mem_free(allocator of ctx, data, len + 1)
 * @return CBX_OK; CBX_ENOENT, CBX_EPERM, CBX_EIO, CBX_ENOMEM, CBX_EOVERFLOW
 */
CBX_API cbx_status cbx_file_read(cbx_ctx *ctx, const char *path, size_t max_bytes, char **data, size_t *len,
                                 cbx_err *err);

/**
 * Replaces a file as one step: temporary file in the same folder, fsync, rename, fsync of the folder.
 * After a crash at any point the path holds the old content or the new, never a part.  A failure leaves no temporary
 * behind.
 */
CBX_API cbx_status cbx_file_write_atomic(cbx_ctx *ctx, const char *path, const void *data, size_t len, cbx_err *err);

/** Says whether cbx_file_write_atomic could write there: makes missing parent folders, tries a temporary file, removes
 * it. */
CBX_API cbx_status cbx_file_check_writable(cbx_ctx *ctx, const char *path, cbx_err *err);

/** Makes a folder and its parents (mode 0777 less umask); an existing folder is fine. */
CBX_API cbx_status cbx_dir_create(cbx_ctx *ctx, const char *path, cbx_err *err);
/** Makes the parent folders of a path. */
CBX_API cbx_status cbx_dir_create_parent(cbx_ctx *ctx, const char *path, cbx_err *err);
/**
 * Names in a folder that end with suffix (NULL: all), sorted by byte value, without "." and "..".
 * The names live in the arena.
 */
CBX_API cbx_status cbx_dir_list(cbx_ctx *ctx, const char *path, const char *suffix, cbx_arena *arena,
                                const char *const **names, size_t *count, cbx_err *err);
/** "dir/name" in the arena; dir "" gives name. */
CBX_API const char *cbx_path_join(cbx_arena *arena, const char *dir, const char *name);
CBX_API bool cbx_path_exists(const char *path);
/**
 * A folder of our own below $XDG_CACHE_HOME (or ~/.cache, or /tmp/calibrax-UID), made with mode 0700.
 * @param name  last part, for instance "probe"; the path lives in the arena
 */
CBX_API cbx_status cbx_cache_dir(cbx_ctx *ctx, const char *name, cbx_arena *arena, const char **path, cbx_err *err);

/** An exclusive lock on a file, held by an open descriptor (it dies with its last holder). */
typedef struct cbx_lock cbx_lock;
/**
 * @param wait_ns  0: try once; UINT64_MAX: wait for ever
 * @return CBX_OK; CBX_EBUSY (still held by another after wait_ns; the message names the file)
 */
CBX_API cbx_status cbx_lock_take(cbx_ctx *ctx, const char *path, uint64_t wait_ns, cbx_lock **out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_lock_release(cbx_lock *lock);

CBX_END_DECLS
#endif
