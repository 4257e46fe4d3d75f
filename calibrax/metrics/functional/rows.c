/* Rows of vectors with data, one result each. */
#include "calibrax/metrics/functional/rows.h"

cbx_array *cbx__of_rows(cbx_ctx *ctx, const cbx_metric_call *c, cbx_dtype type, cbx__rows_loop *loop)
{
    cbx_array_desc each = *cbx_array_get_desc(c->in[0]);
    const double *x = cbx__host_view(ctx, c->in[0]), *y = cbx__host_view(ctx, c->in[1]);
    const size_t d = each.shape[--each.ndim];
    cbx_array *result;

    each.dtype = type;
    result = cbx__fresh(ctx, &each);
    if (x && y && !cbx_array_is_failed(result))
        loop(ctx, c, x, y, cbx_array_count(result), d, cbx_array_data_mut(result));
    return result;
}
