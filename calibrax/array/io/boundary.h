/* Inside the library: steps that every format shares. */
#ifndef CALIBRAX_ARRAY_IO_BOUNDARY_H
#define CALIBRAX_ARRAY_IO_BOUNDARY_H

#include "calibrax/array/array.h"

/** CBX_EINVAL, "cannot VERB ...", for an array without data: abstract, failed or NULL. */
cbx_status cbx__boundary_check_data(const cbx_array *a, const char *verb, cbx_err *err);
/** The same but for a device: it may be on one whose memory can be read. */
cbx_status cbx__boundary_check_made(const cbx_array *a, const char *verb, cbx_err *err);
/** Row-major copy in a block of its own, on the CPU. */
cbx_status cbx__boundary_copy(cbx_ctx *ctx, const cbx_array *a, cbx_array **out, cbx_err *err);
/** Whether all elements are 0 or 1 (any dtype other than bool: yes); foreign bytes may be anything,
 * and C's bool may not. */
bool cbx__boundary_bools_are_tidy(const cbx_array *a);
/** Makes every other byte of a dense bool array 1; leaves other dtypes alone. */
void cbx__boundary_tidy_bools(cbx_array *a);

/** Bytes offset .. offset+size-1 of the elements in row-major order; both ends may fall inside an
 * element. */
void cbx__boundary_pack_bytes(const cbx_array *a, uint64_t offset, char *buf, size_t size);

#endif
