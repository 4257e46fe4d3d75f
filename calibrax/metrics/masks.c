/* Masks and weights of calls: what they do to operands. */
#include <string.h>

#include "calibrax/metrics/call.h"

/*
 * Shape of the items: the axes in front of those that belong to one item, of the operand with the
 * fewest.
 */
static void item_shape(const cbx__bound *b, cbx_array *const *in, int *ndim, size_t shape[CBX_MAX_RANK])
{
    *ndim = CBX_MAX_RANK;
    for (size_t i = 0; i < b->nin; i++) {
        const int rank = in[i] ? cbx_array_ndim(in[i]) : 0;
        const int n = in[i] ? rank - cbx__operand_item_axes(b->metric->operands[i].kind, rank) : CBX_MAX_RANK;
        if (n >= *ndim || b->metric->operands[i].optional || cbx_metric_operand_items(b->metric, i) == CBX_ITEMS_NONE)
            continue;
        *ndim = n > 0 ? n : 0;
        for (int k = 0; k < *ndim; k++) shape[k] = cbx_array_dim(in[i], k);
    }
}

void cbx__neutralise(cbx_ctx *ctx, const cbx__bound *b, cbx_array *mask, cbx_array **in)
{
    for (size_t i = 0; i < b->nin; i++) {
        const cbx_operand_items items = cbx_metric_operand_items(b->metric, i);
        const int rank = in[i] ? cbx_array_ndim(in[i]) : 0, n = rank - cbx_array_ndim(mask);
        const cbx_array *each = mask;
        if (!in[i] || n < 0 || items == CBX_ITEMS_NONE || items == CBX_ITEMS_PAIRS) continue;
        for (int k = 0; k < n; k++) each = cbx_expand_dims(ctx, each, -1); /* those of an item */
        in[i] = cbx_where(ctx, each, in[i], cbx__operand_neutral(ctx, b->metric->operands[i].kind, in[i]));
    }
}

cbx_array *cbx__for_items(cbx_ctx *ctx, const cbx__bound *b, cbx_array *const *in, cbx_array *x, cbx_dtype dtype)
{
    cbx_array_desc items = { .dtype = dtype };
    char shape[128];
    bool fits;

    item_shape(b, in, &items.ndim, items.shape);
    fits = cbx_array_ndim(x) <= items.ndim;
    for (int k = 1; fits && k <= cbx_array_ndim(x); k++) {
        const size_t n = cbx_array_dim(x, cbx_array_ndim(x) - k);
        fits = n == 1 || n == items.shape[items.ndim - k];
    }
    if (fits) return cbx_broadcast_to(ctx, cbx_astype(ctx, x, dtype), items.ndim, items.shape);
    cbx_array_desc_text(&items, shape, sizeof shape);
    return cbx__refuse(ctx, CBX_ESHAPE, "%s: '%s' is %s: it must be for items of the shape %s", b->metric->name,
                       dtype == CBX_BOOL ? "mask" : "weights", CBX__TEXT_OF(x), strchr(shape, '('));
}

const cbx_array *cbx__select_items(cbx_ctx *ctx, const cbx__bound *b, const cbx_array *mask, cbx_array **in)
{
    const cbx_array *kept;

    if (cbx_array_ndim(mask) != 1)
        return cbx__refuse(ctx, CBX_ESHAPE, "%s: the mask must have one axis, not %d", b->metric->name,
                           cbx_array_ndim(mask)),
               NULL;
    if (!cbx__metric_has_data(ctx, &(cbx_metric_call){ .in = (cbx_array *[]){ (cbx_array *)mask, NULL } }))
        return cbx__refuse(ctx, CBX_EUNSUPPORTED, "%s: a mask cannot be traced: leave the items out before the call",
                           b->metric->name),
               NULL;
    kept = cbx_index(ctx, cbx_nonzero(ctx, mask), 0, 0);
    const size_t n = cbx_array_dim(mask, 0);
    for (size_t i = 0; i < b->nin; i++) {
        if (!cbx__operand_fits(b->metric, i, in[i], (size_t[]){ n, n }))
            return cbx__refuse(ctx, CBX_ESHAPE, "%s: the mask has %zu item%s, '%s' has %zu", b->metric->name, n,
                               cbx__plural(n), b->metric->operands[i].name,
                               cbx_array_ndim(in[i]) ? cbx_array_dim(in[i], 0) : 1),
                   NULL;
        in[i] = cbx__operand_at(ctx, b->metric, i, in[i], (const cbx_array *[]){ kept, kept });
    }
    return kept;
}

const cbx_array *cbx__join_options(cbx_ctx *ctx, const cbx__bound *b, cbx_array *mask, cbx_array *weights,
                                   cbx_array **in)
{
    cbx_array *w = NULL;

    if (mask) cbx__neutralise(ctx, b, mask = cbx__for_items(ctx, b, in, mask, CBX_BOOL), in);
    if (weights) w = cbx__for_items(ctx, b, in, weights, CBX_F64);
    if (mask) w = w ? cbx_where(ctx, mask, w, cbx__number(ctx, 0)) : cbx_astype(ctx, mask, CBX_F64);
    return w;
}

bool cbx__leave_nothing(cbx_ctx *ctx, const cbx__bound *b, cbx_array *const *all)
{
    cbx_array *mask = b->has_mask ? all[b->nin] : NULL, *rest = b->has_weights ? all[b->nin + b->has_mask] : mask;

    if (mask && rest != mask)
        rest = cbx_logical_and(ctx, cbx_astype(ctx, mask, CBX_BOOL), cbx__for_items(ctx, b, all, rest, CBX_F64));
    return rest && cbx_array_count(rest) && cbx__metric_element(cbx_any(ctx, rest, NULL), 0) == 0;
}
