/* Directions and products of rows. */
#include "calibrax/metrics/vectors.h"

cbx_array *cbx__unit_vectors(cbx_ctx *ctx, const cbx_array *x, int axis)
{
    /* the largest element first, so that squares neither overflow nor vanish */
    const cbx_array *largest = cbx_max(ctx, cbx_abs(ctx, cbx_stop_gradient(ctx, x)), CBX_AXIS_KEEP(axis));
    const cbx_array *none = cbx_equal_scalar(ctx, largest, 0);
    const cbx_array *one = cbx__number(ctx, 1), *scaled = cbx_divide(ctx, x, cbx_where(ctx, none, one, largest));
    const cbx_array *squares = cbx_sum(ctx, cbx_square(ctx, scaled), CBX_AXIS_KEEP(axis));

    return cbx_divide(ctx, scaled, cbx_sqrt(ctx, cbx_where(ctx, none, one, squares)));
}

cbx_array *cbx__rows_times_rows(cbx_ctx *ctx, const cbx_array *x, const cbx_array *y)
{
    return cbx_matrix_product(ctx, x, cbx_matrix_transpose(ctx, y));
}
