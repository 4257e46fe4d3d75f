/*
 * Inside the library: the graph of ELL products, and how operations on it have it.
 */
#ifndef CALIBRAX_ARRAY_ELL_INTERNAL_H
#define CALIBRAX_ARRAY_ELL_INTERNAL_H

#include "calibrax/array/algebra_object.h"
#include "calibrax/array/kernels/ell_isa.h"

/* Edges by row, places ascending; and by column, rows ascending, then places. */
struct cbx_ell {
    cbx_object object; /* first: attributes of operations point to it */
    cbx_allocator al;
    size_t rows, cols, width, edges, entries;
    size_t *start, *t_start;   /* rows + 1, cols + 1 */
    int32_t *index, *t_index;  /* column of an edge; row of a transposed one */
    uint32_t *place, *t_place; /* i * width + q; place NULL: every place is an edge */
    uint32_t *entry; /* place of an entry of the compressed rows or the list it came from; NULL: from neither */
};

/** Counts edges, rows and columns; a failure states what is too large. */
cbx_status cbx__ell_check_size(size_t rows, size_t cols, size_t width, cbx_err *err);

/** Of axis of the attributes of ELL_MATMUL and its derivatives, or'ed. */
enum {
    CBX__ELL_TRANSPOSED = 1, /* the transposed matrix */
    CBX__ELL_SCALED = 2      /* terms are values * b: aggregation */
};

/** Operands of ELL_EDGE, in this order; axis of its attributes has a bit, 1 << role, of each that
 * is given. */
enum { CBX__X_ROW, CBX__X_COL, CBX__ATTR, CBX__EDGE_OPERANDS };

/** False, with a failure recorded, unless x is of a dtype and shape.  what: its name in the
 * sentence. */
bool cbx__ell_expect(cbx_ctx *ctx, const char *name, const char *what, const cbx_array *x, cbx_dtype dtype, int ndim,
                     const size_t *shape);

#endif
