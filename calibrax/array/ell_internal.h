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

/**
 * The operation p of a graph, an algebra and (NULL: none) functions of an edge on n operands; its
 * failures name the function that called it.  attrs: all else.
 */
void cbx__ell_apply(cbx_ctx *ctx, cbx_prim p, const char *name, const cbx_ell *g, const cbx_ell_edge_functions *f,
                    const cbx_semiring *s, size_t n, const cbx_array *const *in, cbx_attrs attrs, size_t nout,
                    cbx_array **out);

#endif
