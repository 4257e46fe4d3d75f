/* Counts of pairs of labels, and ties of ordered scores. */
#include "calibrax/metrics/functional/counts.h"

size_t cbx__num_classes(const cbx_metric_call *call)
{
    const size_t n = cbx_metric_parameters(call->metric);
    return (size_t)call->parameters[n - 1];
}

/* Pairs of targets and predictions below k: (k, k).  Items of equal labels would wait for each
 * other's count: small tables are kept four times. */
static cbx_array *pair_counts(cbx_ctx *ctx, const cbx_metric_call *call, size_t k)
{
    enum { SMALL = 1 << 10 };
    const cbx_array *a = call->in[1], *b = call->in[0], *w = call->weights;
    const size_t n = cbx_array_count(a), size = k * k, copies = size <= SMALL ? 4 : 1;

    if (k > CBX__MAX_COUNTS / k)
        return cbx__metric_refuse(ctx, call, CBX_EINVAL,
                                  "a table of %zu by %zu counts is too large (at most 2^27 counts): number the classes "
                                  "that occur from 0 on",
                                  k, k);
    if (w || cbx_array_dtype(a) != CBX_I64 || cbx_array_dtype(b) != CBX_I64 || !cbx__metric_has_data(ctx, call)) {
        const ptrdiff_t shape[] = { (ptrdiff_t)k, (ptrdiff_t)k };
        const cbx_array *pairs = cbx_add(ctx, cbx_multiply(ctx, a, cbx_weak(ctx, a, cbx_int((int64_t)k))), b);
        pairs = cbx_bincount_size(ctx, cbx_flatten(ctx, pairs), w ? cbx_flatten(ctx, w) : NULL, size);
        return cbx_reshape(ctx, cbx_astype(ctx, pairs, CBX_F64), 2, shape);
    }
    uint64_t *counts = cbx__scratch(ctx, call->metric, size * copies, sizeof *counts,
                                    "the counts of %zu pairs of labels", size);
    const int64_t *x = cbx__host_view(ctx, a), *y = cbx__host_view(ctx, b);
    if (!counts || !x || !y) return cbx__array_failed();
    for (size_t i = 0; i < n; i++)
        if ((uint64_t)x[i] < k && (uint64_t)y[i] < k)
            counts[(i & (copies - 1)) * size + (size_t)x[i] * k + (size_t)y[i]]++;
    for (size_t i = size; i < size * copies; i++) counts[i % size] += counts[i];
    return cbx_astype(ctx, cbx_asarray(ctx, &(cbx_array_desc){ CBX_U64, 2, { k, k } }, counts), CBX_F64);
}

cbx_array *cbx__confusion(cbx_ctx *ctx, const cbx_metric_call *call)
{
    return pair_counts(ctx, call, cbx__num_classes(call));
}

cbx_array *cbx__binary_confusion(cbx_ctx *ctx, const cbx_metric_call *call)
{
    const size_t k = cbx__num_classes(call);

    if (k > 2) {
        for (size_t i = 0; i < 2 && cbx__metric_has_data(ctx, call); i++)
            if (cbx__metric_element(cbx_max(ctx, call->in[i], NULL), 0) >= 2) {
                cbx__metric_refuse_label(ctx, call->metric, i, call->in[i], 2, "2: the labels are 0 and 1", NULL);
                return cbx__array_failed();
            }
        return cbx__metric_refuse(ctx, call, CBX_EDOM, "'num_classes' must be 2, not %zu: the labels are 0 and 1", k);
    }
    return pair_counts(ctx, call, 2);
}

static cbx_array *marginals_of(cbx_ctx *ctx, const cbx_array *confusion)
{
    const cbx__tallies t = cbx__tally(ctx, confusion);
    return cbx_stack(ctx, 3, (const cbx_array *[]){ t.hits, t.predicted, t.actual }, 0);
}

cbx_array *cbx__marginals(cbx_ctx *ctx, const cbx_metric_call *call)
{
    const size_t k = cbx__num_classes(call);
    const cbx_array *predictions, *targets, *equal, *w, *parts[3];

    if (k <= CBX__DENSE_COUNTS / k) return marginals_of(ctx, cbx__confusion(ctx, call));
    predictions = cbx_flatten(ctx, call->in[0]);
    targets = cbx_flatten(ctx, call->in[1]);
    w = call->weights ? cbx_flatten(ctx, call->weights) : NULL;
    equal = cbx_astype(ctx, cbx_equal(ctx, predictions, targets), CBX_F64);
    parts[0] = cbx_bincount_size(ctx, targets, w ? cbx_multiply(ctx, w, equal) : equal, k);
    parts[1] = cbx_astype(ctx, cbx_bincount_size(ctx, predictions, w, k), CBX_F64);
    parts[2] = cbx_astype(ctx, cbx_bincount_size(ctx, targets, w, k), CBX_F64);
    return cbx_stack(ctx, 3, parts, 0);
}

cbx_array *cbx__marginals_by_average(cbx_ctx *ctx, const cbx_metric_call *call)
{
    if ((int)call->parameters[0] != CBX__BINARY) return cbx__marginals(ctx, call);
    return marginals_of(ctx, cbx__binary_confusion(ctx, call));
}

cbx__tallies cbx__tally(cbx_ctx *ctx, const cbx_array *confusion)
{
    return (cbx__tallies){ cbx_diagonal(ctx, confusion, 0), cbx_sum(ctx, confusion, CBX_AXIS(0)),
                           cbx_sum(ctx, confusion, CBX_AXIS(1)), cbx_sum(ctx, confusion, NULL) };
}

cbx__tallies cbx__tally_marginals(cbx_ctx *ctx, const cbx_array *marginals)
{
    cbx__tallies t;

    t.hits = cbx_index(ctx, marginals, 0, 0);
    t.predicted = cbx_index(ctx, marginals, 0, 1);
    t.actual = cbx_index(ctx, marginals, 0, 2);
    t.total = cbx_sum(ctx, t.actual, NULL);
    return t;
}

cbx_array *cbx__class_average(cbx_ctx *ctx, const cbx_array *marginals, cbx__average how, cbx__class_score *score,
                              double parameter)
{
    const cbx__tallies t = cbx__tally_marginals(ctx, marginals);
    const cbx_array *each, *by, *sum;

    if (how == CBX__BINARY)
        return score(ctx, cbx_index(ctx, t.hits, 0, 1), cbx_index(ctx, t.predicted, 0, 1),
                     cbx_index(ctx, t.actual, 0, 1), parameter);
    if (how == CBX__MICRO) return score(ctx, cbx_sum(ctx, t.hits, NULL), t.total, t.total, parameter);
    each = score(ctx, t.hits, t.predicted, t.actual, parameter);
    by = t.actual;
    if (how == CBX__MACRO)
        by = cbx_astype(ctx, cbx_greater_scalar(ctx, cbx_add(ctx, t.predicted, t.actual), 0), CBX_F64);
    sum = cbx_sum(ctx, by, NULL);
    return cbx__ratio_or(ctx, cbx_sum(ctx, cbx_multiply(ctx, each, by), NULL), sum, 0);
}

/*
 * Groups of equal scores: a group's first place is the running maximum of the places that differ
 * from the one before, its end the running minimum, from behind, of the places behind which
 * another score follows.
 */
cbx__ordered cbx__order_scores(cbx_ctx *ctx, const cbx_array *scores)
{
    const ptrdiff_t n = (ptrdiff_t)cbx_array_count(scores);
    const cbx_array *s, *place, *differs, *yes = cbx_ones(ctx, 1, &(size_t){ 1 }, CBX_BOOL), *starts, *ends;
    cbx__ordered o;

    o.order = cbx_argsort(ctx, scores, 0, false);
    s = cbx_take(ctx, scores, o.order, 0);
    place = cbx_arange_int(ctx, 0, n, 1, CBX_I64);
    differs = cbx_not_equal(ctx, cbx_slice(ctx, s, 0, 1, CBX_OPEN, 1), cbx_slice(ctx, s, 0, 0, n - 1, 1));
    starts = cbx_concat(ctx, 2, (const cbx_array *[]){ yes, differs }, 0);
    ends = cbx_concat(ctx, 2, (const cbx_array *[]){ differs, yes }, 0);
    o.first = cbx_cumulative_max(ctx, cbx_where(ctx, starts, place, cbx_zeros_like(ctx, place)), 0);
    ends = cbx_where(ctx, ends, place, cbx_full_like(ctx, place, cbx_int(n)));
    ends = cbx_flip(ctx, cbx_cumulative_min(ctx, cbx_flip(ctx, ends, 0), 0), 0);
    o.end = cbx_add(ctx, ends, cbx_weak(ctx, ends, cbx_int(1)));
    return o;
}
