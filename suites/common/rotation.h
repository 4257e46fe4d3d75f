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

/* Along which axis of an array the rows and the columns lie; -1: none.  Neither: it is copied. */
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

/* rotate_inputs and rotate_output of a case: read(params) is a point p, the last argument its
 * rotation number r, axes the list of its n inputs, rows and columns the axes of its answer. */
#define CBX__SUITE_ROTATIONS(point, read, axes, n, rows, columns, ...)                                                 \
    static cbx_status rotate_inputs(cbx_ctx *ctx, const cbx_params *given, uint64_t r, cbx_array *const *in,           \
                                    cbx_array **rotated, cbx_err *err)                                                 \
    {                                                                                                                  \
        const point p = read(given);                                                                                   \
        const cbx__suite_rotation t = __VA_ARGS__;                                                                     \
        return cbx__suite_rotate(ctx, &t, axes, n, in, rotated, err);                                                  \
    }                                                                                                                  \
    static cbx_status rotate_output(cbx_ctx *ctx, const cbx_params *given, uint64_t r, size_t output,                  \
                                    const cbx_array *a, cbx_array **rotated, cbx_err *err)                             \
    {                                                                                                                  \
        const point p = read(given);                                                                                   \
        const cbx__suite_rotation t = __VA_ARGS__;                                                                     \
        (void)output;                                                                                                  \
        return cbx__suite_rotate_one(ctx, &t, (cbx__suite_axes){ rows, columns }, a, rotated, err);                    \
    }

#endif
