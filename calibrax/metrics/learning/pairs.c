/* Steps of losses over pairs of items. */
#include "calibrax/metrics/learning/pairs.h"

#include "calibrax/array/scope_internal.h"
#include "calibrax/metrics/nearest.h"

cbx_array *cbx__of_anchor(cbx_ctx *ctx, const cbx_array *x) { return cbx_expand_dims(ctx, x, 1); }
cbx_array *cbx__of_other(cbx_ctx *ctx, const cbx_array *x) { return cbx_expand_dims(ctx, x, 0); }

cbx__pairs cbx__pairs_of(cbx_ctx *ctx, const cbx_metric_call *c)
{
    const cbx_array *labels = c->in[CBX__LABELS];
    const size_t n = cbx_array_dim(labels, 0);
    const cbx_array *same = cbx_equal(ctx, cbx__of_anchor(ctx, labels), cbx__of_other(ctx, labels));

    if (cbx_array_ndim(labels) != 1) {
        cbx__metric_refuse(ctx, c, CBX_ESHAPE, "'labels' must have one axis, not %d", cbx_array_ndim(labels));
        return (cbx__pairs){ cbx__array_failed(), cbx__array_failed() };
    }
    return (cbx__pairs){ cbx_logical_and(ctx, same, cbx_logical_not(ctx, cbx_eye(ctx, n, n, 0, CBX_BOOL))),
                         cbx_logical_not(ctx, same) };
}

cbx__pairs cbx__pairs_chosen(cbx_ctx *ctx, const cbx_metric_call *c)
{
    const cbx__pairs all = cbx__pairs_of(ctx, c);
    const cbx_array *chosen = c->in[CBX__CHOSEN];

    if (!chosen) return all;
    chosen = cbx_not_equal_scalar(ctx, chosen, 0);
    return (cbx__pairs){ cbx_logical_and(ctx, all.positive, chosen), cbx_logical_and(ctx, all.negative, chosen) };
}

cbx_array *cbx__cosines(cbx_ctx *ctx, const cbx_array *x, const cbx_array *y)
{
    const cbx_array *unit_x = cbx__unit_vectors(ctx, x, -1), *unit_y = x == y ? unit_x : cbx__unit_vectors(ctx, y, -1);

    return cbx__rows_times_rows(ctx, unit_x, unit_y);
}

cbx_array *cbx__pair_distances(cbx_ctx *ctx, const cbx_metric_call *c, bool unit)
{
    cbx_array *in[] = { c->in[CBX__EMBEDDINGS], NULL };
    cbx_metric_call own = *c;

    if (unit) in[0] = cbx__unit_vectors(ctx, in[0], -1);
    own.in = in;
    return cbx__by_rows(ctx, &own, cbx_array_dim(in[0], 0), cbx_array_count(in[0]), cbx__distances_of_rows);
}

cbx_array *cbx__hinge(cbx_ctx *ctx, const cbx_array *x) { return cbx_maximum_scalar(ctx, x, 0); }

cbx_array *cbx__softplus(cbx_ctx *ctx, const cbx_array *x) { return cbx_logaddexp(ctx, x, cbx__number(ctx, 0)); }

cbx_array *cbx__count(cbx_ctx *ctx, const cbx_array *mask, const cbx_axes *axes)
{
    return cbx_astype(ctx, cbx_count_nonzero(ctx, mask, axes), CBX_F64);
}

cbx_array *cbx__sum_where(cbx_ctx *ctx, const cbx_array *mask, const cbx_array *x, const cbx_axes *axes)
{
    return cbx_sum(ctx, cbx_where(ctx, mask, x, cbx__number(ctx, 0)), axes);
}

cbx_array *cbx__mean_where(cbx_ctx *ctx, const cbx_array *mask, const cbx_array *x)
{
    return cbx__ratio_or(ctx, cbx__sum_where(ctx, mask, x, NULL), cbx__count(ctx, mask, NULL), 0);
}

cbx_array *cbx__log_sum_exp(cbx_ctx *ctx, const cbx_array *mask, const cbx_array *x, bool one, double none)
{
    const cbx_array *zero = cbx__number(ctx, 0), *peak, *terms, *sum, *any;

    peak = cbx_where(ctx, mask, cbx_stop_gradient(ctx, x), cbx__number(ctx, -INFINITY));
    peak = cbx_max(ctx, peak, CBX_AXIS_KEEP(-1));
    peak = one ? cbx_maximum_scalar(ctx, peak, 0) : cbx_where(ctx, cbx_isfinite(ctx, peak), peak, zero);
    terms = cbx_exp(ctx, cbx_where(ctx, mask, cbx_subtract(ctx, x, peak), zero));
    sum = cbx__sum_where(ctx, mask, terms, CBX_AXIS(-1));
    peak = cbx_squeeze(ctx, peak, -1);
    if (one) return cbx_add(ctx, cbx_log(ctx, cbx_add(ctx, sum, cbx_exp(ctx, cbx_negative(ctx, peak)))), peak);
    any = cbx_any(ctx, mask, CBX_AXIS(-1));
    sum = cbx_log(ctx, cbx_where(ctx, any, sum, cbx__number(ctx, 1)));
    return cbx_where(ctx, any, cbx_add(ctx, sum, peak), cbx__number(ctx, none));
}
