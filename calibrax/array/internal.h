/**
 * Inside the library: the array handle itself, views, and elements as a row-major stream.
 */
#ifndef CALIBRAX_ARRAY_INTERNAL_H
#define CALIBRAX_ARRAY_INTERNAL_H

#include <stdatomic.h>

#include "calibrax/array/array.h"
#include "calibrax/base/pool.h"

enum {
    CBX__CONTIGUOUS = 1, /* row-major without gaps */
    CBX__ABSTRACT = 2,   /* shape and dtype, no data */
    CBX__FAILED = 4      /* what a failed operation returns: one constant handle, never counted */
};

struct cbx_array {
    atomic_size_t refs;
    unsigned flags;
    cbx_array_desc desc;
    ptrdiff_t strides[CBX_MAX_RANK]; /* [elements] */
    size_t count;
    void *data;
    cbx_allocator al;
    cbx_array *base; /* the handle whose elements a view shows; NULL: none */
    cbx_pool *pool;  /* NULL: wrapped memory, or a view */
    cbx_block block;
    void (*release)(void *user);
    void *user;
};

/** Row-major (or, with fortran, column-major) strides of a shape, in elements. */
void cbx__array_dense_strides(const cbx_array_desc *d, bool fortran, ptrdiff_t strides[CBX_MAX_RANK]);

/** As cbx_array_create, elements in row-major or Fortran order. */
cbx_status cbx__array_create_order(cbx_ctx *ctx, const cbx_array_desc *desc, bool fortran, cbx_array **out,
                                   cbx_err *err);

/** A handle on elements of base, which lives as long; the caller answers for strides and offset [elements]. */
cbx_status cbx__array_view(cbx_ctx *ctx, const cbx_array *base, const cbx_array_desc *desc, const ptrdiff_t *strides,
                           ptrdiff_t offset, cbx_array **out, cbx_err *err);

/** The handle that failed operations return; its count is never touched. */
cbx_array *cbx__array_failed(void);

/** Copies elements first .. first+count-1, counted in row-major order, to dst. */
void cbx__array_pack(const cbx_array *a, size_t first, size_t count, void *dst);

#endif
