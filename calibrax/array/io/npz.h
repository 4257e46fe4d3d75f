/** NPZ files: ZIP archives of NPY members, as numpy.savez and numpy.savez_compressed write them and
 * numpy.load reads them.
 *
 * Read and written through libzip, loaded on first use (CBX_EUNAVAILABLE, with the command that
 * installs it, where it is missing). Members are stored or deflated; other methods and encryption
 * are refused.  One thread uses an archive at a time. */
#ifndef CALIBRAX_ARRAY_IO_NPZ_H
#define CALIBRAX_ARRAY_IO_NPZ_H

#include "calibrax/array/array.h"

CBX_BEGIN_DECLS

/** An archive open for reading. */
typedef struct cbx_npz cbx_npz;

typedef struct cbx_npz_opts {
    uint32_t struct_size;     /* sizeof(cbx_npz_opts) of the header compiled with */
    uint64_t max_array_bytes; /* a member that unpacks to more is refused; 0: 4 GiB */
} cbx_npz_opts;

#define CBX_NPZ_OPTS_INIT CBX_OPTS(cbx_npz_opts, 0)

/** Opens a regular file and reads its directory.
 * @param opts  NULL: all defaults
 * @param out   the caller closes it; must not outlive ctx
 * @return CBX_OK; CBX_EFORMAT (no archive, cut short, inconsistent, two members of one name);
 *         CBX_EUNAVAILABLE; CBX_EINVAL (no regular file, struct_size of another version); the usual
 *         of file.h */
CBX_API cbx_status cbx_npz_open(cbx_ctx *ctx, const char *path, const cbx_npz_opts *opts, cbx_npz **out, cbx_err *err);
/** The same of len bytes at data, which must outlive the archive. */
CBX_API cbx_status cbx_npz_open_memory(cbx_ctx *ctx, const void *data, size_t len, const cbx_npz_opts *opts,
                                       cbx_npz **out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_npz_close(cbx_npz *z);

/** Number of arrays: members whose name does not end in ".npy" are ignored. */
CBX_API size_t cbx_npz_count(const cbx_npz *z);
/** Name of array i, in the order of the directory, without ".npy"; NULL past the last one.  Lives
 * as long as z. */
CBX_API const char *cbx_npz_name(const cbx_npz *z, size_t i);
/** Reads array i into a block of its own; Fortran order becomes strides, foreign byte order is
 * converted (npy.h). What a member claims is believed only as far as it can be true: its size must
 * be that of its header and elements, at most max_array_bytes, and what deflate can pack into so
 * few bytes (1032 to 1); its checksum must be right.
 * @return CBX_OK; CBX_EOVERFLOW (larger than max_array_bytes); CBX_EFORMAT (cut short, lying size,
 *         wrong checksum, bad header); CBX_EUNSUPPORTED (encrypted, a method other than stored and
 *         deflated); CBX_EDTYPE; CBX_EINVAL (i past the last); CBX_EIO; CBX_ENOMEM */
CBX_API cbx_status cbx_npz_read_at(cbx_npz *z, size_t i, cbx_array **out, cbx_err *err);
/** The same by name, with or without ".npy".  @return as above; CBX_ENOENT (the message names the
 * nearest one) */
CBX_API cbx_status cbx_npz_read(cbx_npz *z, const char *name, cbx_array **out, cbx_err *err);

/** One array to write. */
typedef struct cbx_npz_member {
    const char *name;       /* UTF-8, not empty; ".npy" is added unless it ends so */
    const cbx_array *array; /* any strides */
} cbx_npz_member;

typedef enum cbx_npz_packing { CBX_NPZ_STORED, CBX_NPZ_DEFLATED } cbx_npz_packing;

/** Replaces a file as one step (cbx_replacement_begin) by an archive of n arrays; elements go from
 * the arrays to the file without a whole copy in between.  Members are dated 1980-01-01, so that
 * the same arrays make the same file.
 * @param members  n of them; may be NULL if n is 0, which makes an empty archive
 * @return CBX_OK; CBX_EINVAL (an empty name, an abstract or failed array); CBX_EEXIST (a name
 *         twice); CBX_EUNAVAILABLE; CBX_ENOSPC, CBX_EIO and the usual of file.h */
CBX_API cbx_status cbx_npz_write(cbx_ctx *ctx, const char *path, const cbx_npz_member *members, size_t n,
                                 cbx_npz_packing packing, cbx_err *err);

CBX_END_DECLS
#endif
