/**
 * Files: read whole, write atomically, lock, make folders.
 *
 * Paths are NUL-terminated bytes, not NULL, and belong to the caller.  `err` may be NULL; a message
 * names the path.  A system call's failure becomes a status as cbx_fail_errno says, listed below as
 * "the usual": CBX_ENOENT (a part of the path is missing), CBX_EPERM, CBX_ENOSPC, CBX_EIO (all
 * else), and CBX_ENOMEM.  One thread uses a ctx at a time.
 */
#ifndef CALIBRAX_BASE_FILE_H
#define CALIBRAX_BASE_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "calibrax/base/ctx.h"
#include "calibrax/base/path.h"
#include "calibrax/base/text.h"

CBX_BEGIN_DECLS

/**
 * Reads a whole file into memory, NUL-terminated behind its last byte.
 * @param max_bytes  refuse anything larger (CBX_EOVERFLOW); 0: 1 GiB
 * @param data       the caller frees it with cbx_mem_free(allocator of ctx, data, len + 1); an
 *   empty file gives ""
 * @param len        bytes without the NUL; both are written on success only
 * @return CBX_OK; CBX_EOVERFLOW; the usual (a folder: CBX_EIO)
 */
CBX_API cbx_status cbx_file_read(cbx_ctx *ctx, const char *path, size_t max_bytes, char **data, size_t *len,
                                 cbx_err *err);

/**
 * Replaces a file as one step: temporary file in the same folder, fsync, rename, fsync of the
 * folder.
 * After a crash at any point the path holds the old content or the new, never a part.  A failure
 * leaves no temporary behind.  An existing file keeps its permission bits; a new one has 0666 less
 * umask.  The folder must exist.
 *
 * A symbolic link stays one: what it leads to is replaced or made.  A character device or a pipe is
 * opened and written as it is, neither atomically nor replaced (/dev/null stays /dev/null); a pipe
 * without a reader is CBX_EIO at once, one whose reader leaves raises SIGPIPE.  Folders, block
 * devices and sockets are refused.
 * @param data  not kept; may be NULL if len is 0, which makes an empty file
 * @return CBX_OK; CBX_EIO: a folder, a block device, a socket, a loop of links; the usual.  The old
 *         content is untouched unless only the last fsync, of the folder, failed: then the new one
 *         is in place but may not survive a crash
 */
CBX_API cbx_status cbx_file_write_atomic(cbx_ctx *ctx, const char *path, const void *data, size_t len, cbx_err *err);

/**
 * A file that a library writes by itself, by name: the replacement grows under a temporary name
 * beside the path, and takes its place at the commit, with the promises of cbx_file_write_atomic.
 */
typedef struct cbx_replacement cbx_replacement;
/**
 * Makes an empty temporary file.
 * @param out  the caller ends it with commit or discard; the allocator of ctx must outlive it
 * @return CBX_OK; CBX_EIO: a folder, a device, a pipe, a socket, a loop of links; the usual
 */
CBX_API cbx_status cbx_replacement_begin(cbx_ctx *ctx, const char *path, cbx_replacement **out, cbx_err *err);
/** The temporary's name, to open, to write, or to be replaced itself; lives as long as r. */
CBX_API const char *cbx_replacement_path(const cbx_replacement *r);
/** Everything down to the disk, then the rename.  Ends r, whatever the outcome.  @return as
 * cbx_file_write_atomic */
CBX_API cbx_status cbx_replacement_commit(cbx_replacement *r, cbx_err *err);
/** Removes the temporary and ends r; NULL is fine. */
CBX_API void cbx_replacement_discard(cbx_replacement *r);

/**
 * Whether cbx_file_write_atomic could write there: makes missing parent folders, tries a temporary
 * file, removes it.  A device or a pipe is not opened, only its permissions are looked at.
 * @return as cbx_file_write_atomic
 */
CBX_API cbx_status cbx_file_check_writable(cbx_ctx *ctx, const char *path, cbx_err *err);

/** Removes a file, for good: the folder is synced.  @return CBX_OK; the usual */
CBX_API cbx_status cbx_file_remove(const char *path, cbx_err *err);

/**
 * Makes a folder and its parents (mode 0777 less umask); an existing folder is fine.  What was made
 * stays on failure.
 * @return CBX_OK; CBX_EINVAL: ""; CBX_EIO: a part of the path is a file; the usual
 */
CBX_API cbx_status cbx_dir_create(cbx_ctx *ctx, const char *path, cbx_err *err);
/** Makes the parent folders of a path, none for a bare name.  @return as cbx_dir_create, without
 * CBX_EINVAL */
CBX_API cbx_status cbx_dir_create_parent(cbx_ctx *ctx, const char *path, cbx_err *err);
/**
 * Names in a folder that end with suffix (NULL: all), sorted by byte value, without "." and "..".
 * The names and their array live in the arena; an empty folder gives a count of 0 and a pointer
 * that is not NULL.
 * @return CBX_OK; the usual (a file: CBX_EIO).  names and count are written on success only
 */
CBX_API cbx_status cbx_dir_list(cbx_ctx *ctx, const char *path, const char *suffix, cbx_arena *arena,
                                const char *const **names, size_t *count, cbx_err *err);
/** Links are followed; false too where the caller may not look. */
CBX_API bool cbx_path_exists(const char *path);
/** A folder, or a link to one. */
CBX_API bool cbx_path_is_folder(const char *path);
/**
 * A folder of our own below $CALIBRAX_CACHE_DIR, which is the only place if it is set; else below
 * calibrax in $XDG_CACHE_HOME or ~/.cache, or in /tmp/calibrax-UID.  Made with mode 0700.
 * Variables that hold no absolute path are ignored.
 * @param name  last part, for instance "probe"; the path lives in the arena
 * @return CBX_OK; CBX_EPERM: /tmp/calibrax-UID is another user's; the usual, of the last place
 *   tried
 */
CBX_API cbx_status cbx_cache_dir(cbx_ctx *ctx, const char *name, cbx_arena *arena, const char **path, cbx_err *err);

/** An exclusive lock on a file (flock), held by an open descriptor: it dies with its last holder, a
 * forked child included. */
typedef struct cbx_lock cbx_lock;
/**
 * Makes a missing file; the content of an existing one is not changed.  Two locks of one process
 * exclude each other too.
 * @param wait_ns  0: try once; UINT64_MAX: wait for ever
 * @param out      written on success only; may outlive ctx, the caller releases it, from any thread
 * @return CBX_OK; CBX_EBUSY (still held by another after wait_ns); CBX_EINTERRUPTED: a signal came;
 *   the usual
 */
CBX_API cbx_status cbx_lock_take(cbx_ctx *ctx, const char *path, uint64_t wait_ns, cbx_lock **out, cbx_err *err);
/** The descriptor that holds the lock: a process that inherits it holds the lock too, and it is
 * released when all of them have ended.  Valid until cbx_lock_release; the caller neither closes
 * nor unlocks it. */
CBX_API int cbx_lock_fd(const cbx_lock *lock);
/** A folder for locks that all users of the machine share: $CALIBRAX_LOCK_DIR, /run/lock/calibrax,
 * or /tmp/calibrax-locks; made, with mode 1777, if it is missing.  A folder that others could
 * replace (a link, or writable without the sticky bit) is not taken.
 * @return CBX_OK; CBX_EPERM (none of them can be used: the message has the last one); CBX_ENOMEM */
CBX_API cbx_status cbx_lock_dir(cbx_ctx *ctx, cbx_arena *arena, const char **path, cbx_err *err);
/** A process that holds the lock on a file, by the descriptors in /proc; of several (children
 * inherit locks) the first one there.  0: none, or a process whose descriptors this user may not
 * see.  Slow: for messages. */
CBX_API pid_t cbx_lock_holder(const char *path);
/** True if that process holds the lock on a file; false also where this user may not see its
 * descriptors. */
CBX_API bool cbx_lock_held_by(pid_t process, const char *path);
/** NULL is fine.  The file stays. */
CBX_API void cbx_lock_release(cbx_lock *lock);

CBX_END_DECLS
#endif
