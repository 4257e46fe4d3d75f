/* Rows of vectors with data, one result each. */
#include "calibrax/metrics/functional/rows.h"

cbx_array *cbx__of_rows(cbx_ctx *ctx, const cbx_metric_call *c, cbx_dtype type, cbx__rows_loop *loop)
{
    cbx_array_desc each = *cbx_array_get_desc(c->in[0]);
    cbx__host hx = { 0 }, hy = { 0 };
    const double *x = cbx__host_view(ctx, c->in[0], &hx), *y = cbx__host_view(ctx, c->in[1], &hy);
    cbx_array *result = NULL;
    size_t d;

    each.dtype = type;
    d = each.shape[--each.ndim];
    if (x && y && !cbx_array_create(ctx, &each, &result, cbx__sticky(ctx))) {
        result = cbx_scope_hold(ctx, result);
        if (!loop(cbx_ctx_allocator(ctx), c, x, y, cbx_array_count(result), d, cbx_array_data_mut(result)))
            result = cbx__refuse(ctx, CBX_ENOMEM, "%s: no memory for rows of %zu numbers", c->metric->name, d);
    }
    cbx__host_free(ctx, &hx);
    cbx__host_free(ctx, &hy);
    return result ? result : cbx__array_failed();
}
