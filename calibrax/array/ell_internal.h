/*
 * Inside the ELL functions: the graph, and operands made ready.
 */
#ifndef CALIBRAX_ARRAY_ELL_INTERNAL_H
#define CALIBRAX_ARRAY_ELL_INTERNAL_H

#include "calibrax/array/ell.h"
#include "calibrax/array/kernels/ell_isa.h"

/* Edges by row, places ascending; and by column, rows ascending, then places. */
struct cbx_ell {
    cbx_allocator al;
    size_t rows, cols, width, edges, entries;
    size_t *start, *t_start;   /* rows + 1, cols + 1 */
    int32_t *index, *t_index;  /* column of an edge; row of a transposed one */
    uint32_t *place, *t_place; /* i * width + q; place NULL: every place is an edge */
    uint32_t *entry; /* place of an entry of the compressed rows or the list it came from; NULL: from neither */
};

/** Counts edges, rows and columns; a failure states what is too large. */
cbx_status cbx__ell_check_size(size_t rows, size_t cols, size_t width, cbx_err *err);

/**
 * An operand (lead, last) dense in memory, held by the scope; NULL with a failure recorded.  dtype: that it must have; columns:
 * lengths of its axes.
 */
const void *cbx__ell_operand(cbx_ctx *ctx, const char *name, const char *what, const cbx_array *x, cbx_dtype dtype,
                             int ndim, const size_t *shape);
/** A derivative over g, or over its transpose, without operands; and the threads that are worth their start for it, d set. */
cbx__ell_grad cbx__ell_grad_of(const cbx_ell *g, bool transposed, cbx_algebra algebra);
int cbx__ell_grad_threads(const cbx__ell_grad *q);
/** New array (rows, columns) in the scope; failed without memory. */
cbx_array *cbx__ell_result(cbx_ctx *ctx, cbx_dtype dtype, int ndim, const size_t *shape);
/** New values (rows, width), to be written at every edge: 0 at places without one. */
cbx_array *cbx__ell_values(cbx_ctx *ctx, const cbx_ell *g, cbx_dtype dtype);

#endif
