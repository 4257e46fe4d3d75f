/* A rotation of a point's inputs along two axes: rows and columns of a product, images and channels, vertices
 * and features.  The inputs are permuted so that the answer permutes with them, and the work stays
 * the same. */
#ifndef SUITES_COMMON_ROTATION_H
#define SUITES_COMMON_ROTATION_H

#include "calibrax/array/array.h"
#include "suites/common/graph.h"

typedef struct cbx__suite_rotation {
    size_t *rows, *columns; /* order[new] = old */
    size_t nrows, ncolumns;
} cbx__suite_rotation;

/* Rotation r of a seed.  On failure *out is empty.  @return CBX_OK; CBX_ENOMEM */
cbx_status cbx__suite_rotation_make(cbx_ctx *ctx, uint64_t seed, uint64_t r, size_t nrows, size_t ncolumns,
                                    cbx__suite_rotation *out, cbx_err *err);
/* The same with the vertices of a graph as rows, which are permuted as its labels allow. */
cbx_status cbx__suite_rotation_graph(cbx_ctx *ctx, const cbx__suite_graph *g, uint64_t r, size_t ncolumns,
                                     cbx__suite_rotation *out, cbx_err *err);
void cbx__suite_rotation_clear(cbx_ctx *ctx, cbx__suite_rotation *t);

/* Ends the rotation of the n inputs `made`: st is what making them gave; they are the caller's then, or freed.  Clears t.  @return st */
cbx_status cbx__suite_rotation_inputs(cbx_ctx *ctx, cbx__suite_rotation *t, cbx_status st, cbx_array **made, size_t n,
                                      cbx_array **rotated);
/* Permutes a matrix of results, and clears t.  @return CBX_OK; CBX_ENOMEM */
cbx_status cbx__suite_rotation_output(cbx_ctx *ctx, cbx__suite_rotation *t, const cbx_array *a, cbx_array **rotated,
                                      cbx_err *err);

#endif
