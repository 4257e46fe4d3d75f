/**
 * Compressed text in memory, as gzip files (RFC 1952), by zlib.  The same input gives the same
 * bytes: no time and no name is written.
 */
#ifndef CALIBRAX_BASE_GZIP_H
#define CALIBRAX_BASE_GZIP_H

#include "calibrax/base/text.h"

CBX_BEGIN_DECLS

/** Appends the compressed bytes.  @return CBX_OK; CBX_ENOMEM */
CBX_API cbx_status cbx_gzip_pack(const void *data, size_t len, cbx_text *out, cbx_err *err);
/**
 * Appends what was compressed, of all members of a file.
 * @param what  names the source in messages
 * @param max_bytes  of the unpacked bytes
 * @return CBX_OK; CBX_EFORMAT (not gzip, damaged or cut off, something else behind it);
 *   CBX_EOVERFLOW (more than max_bytes); CBX_ENOMEM
 */
CBX_API cbx_status cbx_gzip_unpack(const void *data, size_t len, size_t max_bytes, const char *what, cbx_text *out,
                                   cbx_err *err);

CBX_END_DECLS
#endif
