/** Shared by the two halves of NPY: the header's text and the files. */
#ifndef CALIBRAX_ARRAY_IO_NPY_INTERNAL_H
#define CALIBRAX_ARRAY_IO_NPY_INTERNAL_H

#include "calibrax/array/io/npy.h"

#define CBX__NPY_PREFIX_MAX 12  /* magic, version, length */
#define CBX__NPY_HEADER_MAX 320 /* what we write: 8 lengths of 20 digits, and 64 bytes of padding, fit */

/** From the first 8..12 bytes: how long the whole header is, so that data begins there.  Errors as
 * cbx_npy_parse_header. */
cbx_status cbx__npy_header_bytes(const void *data, size_t len, size_t *out, cbx_err *err);

/** Gives up to size bytes, fewer only at the end. */
typedef cbx_status (*cbx__npy_source)(void *user, void *buf, size_t size, size_t *got, cbx_err *err);
/** Reads an NPY of exactly total bytes from its start; less or more is CBX_EFORMAT. */
cbx_status cbx__npy_read_stream(cbx_ctx *ctx, cbx__npy_source source, void *user, uint64_t total, cbx_array **out,
                                cbx_err *err);

#endif
