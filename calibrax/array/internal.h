/**
 * Inside the library: arrays whose strides the maker chooses, and their elements as a row-major stream.
 */
#ifndef CALIBRAX_ARRAY_INTERNAL_H
#define CALIBRAX_ARRAY_INTERNAL_H

#include "calibrax/array/array.h"

/** Row-major (or, with fortran, column-major) strides of a shape, in elements. */
void cbx__array_dense_strides(const cbx_array_desc *d, bool fortran, ptrdiff_t strides[CBX_MAX_RANK]);

/** As cbx_array_create, elements in row-major or Fortran order. */
cbx_status cbx__array_create_order(cbx_ctx *ctx, const cbx_array_desc *desc, bool fortran, cbx_array **out,
                                   cbx_err *err);

/** Copies elements first .. first+count-1, counted in row-major order, to dst. */
void cbx__array_pack(const cbx_array *a, size_t first, size_t count, void *dst);

#endif
