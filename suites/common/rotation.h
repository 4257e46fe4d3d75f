/* A rotation of a point's arrays along two axes: rows and columns of a product, images and
 * channels, vertices and features.  Inputs are permuted so that the answer permutes with them, and
 * the work stays the same. */
#ifndef SUITES_COMMON_ROTATION_H
#define SUITES_COMMON_ROTATION_H

#include "calibrax/perf/case/case.h"
#include "suites/common/graph.h"

typedef struct cbx__suite_rotation {
    uint64_t seed, r;
    size_t rows, columns;
    const cbx__suite_graph *graph; /* whose vertices the rows are, permuted as its labels allow; NULL: at random */
} cbx__suite_rotation;

/* Along which axis of an array the rows and the columns lie; -1: none. */
typedef struct cbx__suite_axes {
    int rows, columns;
    bool names; /* it holds numbers of rows (i32), which change with them */
} cbx__suite_axes;

/* n arrays; on failure rotated is left alone.  @return CBX_OK; CBX_ENOMEM */
cbx_status cbx__suite_rotate(cbx_ctx *ctx, const cbx__suite_rotation *t, const cbx__suite_axes *axes, size_t n,
                             cbx_array *const *in, cbx_array **rotated, cbx_err *err);
/* One, such as a result. */
cbx_status cbx__suite_rotate_one(cbx_ctx *ctx, const cbx__suite_rotation *t, cbx__suite_axes axes, const cbx_array *a,
                                 cbx_array **rotated, cbx_err *err);

#endif
