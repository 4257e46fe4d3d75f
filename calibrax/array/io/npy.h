/** NPY files, versions 1 to 3, in memory and on disk.  Format: numpy.lib.format (NumPy enhancement
 * proposal 1).
 *
 * Reading: bounded header, no evaluation, overflow-checked shape, Fortran order becomes strides,
 * byte-swapped data is converted, object and structured dtypes are refused.  Writing: version 1
 * when the header fits, data on a 64-byte boundary, row-major. */
#ifndef CALIBRAX_ARRAY_IO_NPY_H
#define CALIBRAX_ARRAY_IO_NPY_H

#include "calibrax/array/array.h"

CBX_BEGIN_DECLS

/** What a header says, and where its data begins. */
typedef struct cbx_npy_header {
    cbx_array_desc desc;
    bool fortran_order;
    bool swapped;       /* big-endian data */
    size_t data_offset; /* [bytes] from the magic */
} cbx_npy_header;

/** Reads the header of len bytes at data.  @return CBX_OK; CBX_EFORMAT; CBX_EDTYPE (refused dtype);
 * CBX_EVERSION; CBX_EOVERFLOW; CBX_EUNSUPPORTED (more than CBX_MAX_RANK axes) */
CBX_API cbx_status cbx_npy_parse_header(const void *data, size_t len, cbx_npy_header *out, cbx_err *err);
/** Header bytes for a row-major array, a multiple of 64; buf may be NULL to ask for the size
 * only. */
CBX_API cbx_status cbx_npy_make_header(const cbx_array_desc *desc, void *buf, size_t buf_size, size_t *needed,
                                       cbx_err *err);

/** Copies out of memory into a new array. */
CBX_API cbx_status cbx_npy_decode(cbx_ctx *ctx, const void *data, size_t len, cbx_array **out, cbx_err *err);
CBX_API cbx_status cbx_npy_read(cbx_ctx *ctx, const char *path, cbx_array **out, cbx_err *err);
/** Atomic write of any strided array.  @return CBX_OK; CBX_EINVAL (an abstract or failed array);
 * the usual of file.h */
CBX_API cbx_status cbx_npy_write(cbx_ctx *ctx, const char *path, const cbx_array *a, cbx_err *err);

/** Writes an NPY into an open descriptor from its start (truncating it first).  @return as
 * cbx_npy_write */
CBX_API cbx_status cbx_npy_write_fd(cbx_ctx *ctx, int fd, const cbx_array *a, cbx_err *err);
/** Reads an NPY from a descriptor of a regular or memory file; later changes of the file do not
 * show, and the descriptor may be closed after.  A memory file sealed with F_SEAL_WRITE and
 * F_SEAL_SHRINK is mapped privately without a copy (its data must begin on 64 bytes, as ours does);
 * anything else is copied, since a private mapping follows changes and faults when the file is cut.
 */
CBX_API cbx_status cbx_npy_map_fd(cbx_ctx *ctx, int fd, cbx_array **out, cbx_err *err);

CBX_END_DECLS
#endif
