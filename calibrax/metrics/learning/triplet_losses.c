/*
 * Losses over triplets of an anchor, a positive and a negative.  Without a miner they are over all
 * triplets, of which there are n^3, in memory of n^2: a hinge is summed over sorted distances, any
 * other function over a block of anchors at a time.
 */
#include "calibrax/metrics/learning/pairs.h"

/* One negative for each pair of anchor and positive, as a miner chose: whether there is one, and
 * its distance from the anchor. */
typedef struct chosen {
    const cbx_array *there, *distance;
} chosen;

static chosen chosen_negatives(cbx_ctx *ctx, const cbx_metric_call *c, const cbx_array *d)
{
    const cbx_array *negatives = c->in[CBX__CHOSEN], *places;
    const size_t n = cbx_array_dim(d, 0);

    places = cbx_clip_scalar(ctx, negatives, cbx_int(0), cbx_int((int64_t)n - 1));
    return (chosen){ cbx_greater_equal_scalar(ctx, negatives, 0), cbx_take_along_axis(ctx, d, places, 1) };
}

/* ---- hinges of all triplets ---- */

/* Sum of all positive max(0, near[i, p] - far[i, n]), and their number. */
typedef struct hinges {
    const cbx_array *sum, *count;
} hinges;

/*
 * Of each anchor the distances are sorted, those of positives raised by the margin.  A positive at
 * x with k negatives of sum s before it contributes k x - s.
 */
static hinges all_hinges(cbx_ctx *ctx, const cbx__pairs *p, const cbx_array *d, double margin)
{
    const size_t n = cbx_array_dim(d, 0), shape[] = { n, n };
    const cbx_array *none = cbx__number(ctx, INFINITY), *zero = cbx__number(ctx, 0), *nothing, *terms, *flags, *counts;
    const cbx_array *near = cbx_where(ctx, p->positive, cbx_add_scalar(ctx, d, margin), none);
    const cbx_array *far = cbx_where(ctx, p->negative, d, none);
    const cbx_array *all = cbx_concat(ctx, 2, (const cbx_array *[]){ near, far }, 1);
    const cbx_array *order = cbx_argsort(ctx, cbx_stop_gradient(ctx, all), 1, false);
    const cbx_array *sorted = cbx_take_along_axis(ctx, all, order, 1), *is_near, *is_far;

    nothing = cbx_zeros(ctx, 2, shape, CBX_BOOL);
    flags = cbx_concat(ctx, 2, (const cbx_array *[]){ p->positive, nothing }, 1);
    is_near = cbx_take_along_axis(ctx, flags, order, 1);
    flags = cbx_concat(ctx, 2, (const cbx_array *[]){ nothing, p->negative }, 1);
    is_far = cbx_take_along_axis(ctx, flags, order, 1);
    sorted = cbx_where(ctx, cbx_logical_or(ctx, is_near, is_far), sorted, zero);
    counts = cbx_cumulative_sum(ctx, cbx_astype(ctx, is_far, CBX_F64), 1);
    terms = cbx_multiply(ctx, counts, sorted);
    terms = cbx_subtract(ctx, terms, cbx_cumulative_sum(ctx, cbx_where(ctx, is_far, sorted, zero), 1));
    return (hinges){ cbx__sum_where(ctx, is_near, terms, NULL), cbx__sum_where(ctx, is_near, counts, NULL) };
}

/* Number of all triplets. */
static cbx_array *triplets(cbx_ctx *ctx, const cbx__pairs *p)
{
    const cbx_array *positives = cbx__count(ctx, p->positive, CBX_AXIS(-1));
    const cbx_array *negatives = cbx__count(ctx, p->negative, CBX_AXIS(-1));

    return cbx_sum(ctx, cbx_multiply(ctx, positives, negatives), NULL);
}

/* Mean over all triplets, or those that are above 0. */
enum { OF_ALL, OF_ACTIVE };

CBX__OF_CALL(triplet_margin)
{
    const double margin = cbx__metric_parameter(c, "margin"), average = cbx__metric_parameter(c, "average");
    const cbx__pairs p = cbx__pairs_of(ctx, c);
    const cbx_array *d = cbx__pair_distances(ctx, c, cbx__metric_parameter(c, "normalize") != 0), *gap, *counted;
    chosen far;
    hinges h;

    if (!c->in[CBX__CHOSEN]) {
        h = all_hinges(ctx, &p, d, margin);
        return cbx__ratio_or(ctx, h.sum, average == OF_ALL ? triplets(ctx, &p) : h.count, 0);
    }
    far = chosen_negatives(ctx, c, d);
    gap = cbx_add_scalar(ctx, cbx_subtract(ctx, d, far.distance), margin);
    counted = average == OF_ALL ? far.there : cbx_logical_and(ctx, far.there, cbx_greater_scalar(ctx, gap, 0));
    return cbx__mean_where(ctx, counted, cbx__hinge(ctx, gap));
}

/* ---- soft hinges ---- */

/* Of a call with distances, positive and negative pairs: sums over triplets of anchors
 * first..last-1. */
static cbx_array *soft_of(cbx_ctx *ctx, const cbx_metric_call *c, size_t first, size_t last)
{
    const cbx_array *part[3], *gap, *mask;

    for (int i = 0; i < 3; i++) part[i] = cbx_slice(ctx, c->in[i], 0, (ptrdiff_t)first, (ptrdiff_t)last, 1);
    gap = cbx_subtract(ctx, cbx_expand_dims(ctx, part[0], 2), cbx_expand_dims(ctx, part[0], 1));
    gap = cbx__softplus(ctx, cbx_add_scalar(ctx, gap, cbx__metric_parameter(c, "margin")));
    mask = cbx_logical_and(ctx, cbx_expand_dims(ctx, part[1], 2), cbx_expand_dims(ctx, part[2], 1));
    return cbx__sum_where(ctx, mask, gap, &(cbx_axes){ .n = 2, .axis = { 1, 2 } });
}

CBX__OF_CALL(triplet_soft_margin)
{
    const cbx__pairs p = cbx__pairs_of(ctx, c);
    cbx_array *d = cbx__pair_distances(ctx, c, cbx__metric_parameter(c, "normalize") != 0), *gap;
    cbx_array *in[] = { d, p.positive, p.negative, NULL };
    const size_t n = cbx_array_dim(d, 0);
    cbx_metric_call blocks = *c;
    chosen far;

    if (c->in[CBX__CHOSEN]) {
        far = chosen_negatives(ctx, c, d);
        gap = cbx_add_scalar(ctx, cbx_subtract(ctx, d, far.distance), cbx__metric_parameter(c, "margin"));
        return cbx__mean_where(ctx, far.there, cbx__softplus(ctx, gap));
    }
    blocks.in = in;
    gap = cbx_sum(ctx, cbx__by_rows(ctx, &blocks, n, n * n, soft_of), NULL);
    return cbx__ratio_or(ctx, gap, triplets(ctx, &p), 0);
}

/* ---- distances from a boundary ---- */

CBX__OF_CALL(margin_based)
{
    const double margin = cbx__metric_parameter(c, "margin"), boundary = cbx__metric_parameter(c, "boundary");
    const cbx__pairs p = cbx__pairs_of(ctx, c);
    const cbx_array *d = cbx__pair_distances(ctx, c, cbx__metric_parameter(c, "normalize") != 0), *count, *sum;
    const cbx_array *near_times, *far_times, *near, *far;
    chosen n;

    if (c->in[CBX__CHOSEN]) {
        n = chosen_negatives(ctx, c, d);
        near_times = far_times = cbx_astype(ctx, n.there, CBX_F64);
    } else { /* each pair as often as it is in a triplet */
        near_times = cbx__of_anchor(ctx, cbx__count(ctx, p.negative, CBX_AXIS(-1)));
        near_times = cbx_multiply(ctx, cbx_astype(ctx, p.positive, CBX_F64), near_times);
        far_times = cbx__of_anchor(ctx, cbx__count(ctx, p.positive, CBX_AXIS(-1)));
        far_times = cbx_multiply(ctx, cbx_astype(ctx, p.negative, CBX_F64), far_times);
        n.distance = d;
    }
    near = cbx__hinge(ctx, cbx_add_scalar(ctx, d, margin - boundary));
    far = cbx__hinge(ctx, cbx_subtract(ctx, cbx__number(ctx, margin + boundary), n.distance));
    sum = cbx_sum(ctx, cbx_add(ctx, cbx_multiply(ctx, near_times, near), cbx_multiply(ctx, far_times, far)), NULL);
    count = cbx_add(ctx, cbx__sum_where(ctx, cbx_greater_scalar(ctx, near, 0), near_times, NULL),
                    cbx__sum_where(ctx, cbx_greater_scalar(ctx, far, 0), far_times, NULL));
    return cbx__ratio_or(ctx, sum, count, 0);
}

#define OF_TRIPLETS   CBX__LOSS_OF("negatives", INDICES)
#define MARGIN(value) CBX__REAL("margin", "by how much negatives should be farther away", value, -INFINITY, INFINITY)
#define CHOSEN                                                                                                         \
    "negatives (n, n) has the place of the negative n of anchor a and positive p at [a, p], or -1: a miner makes it. " \
    "Without it all triplets count. "

/* clang-format off */
CBX__METRIC_TABLE(learning_triplets,
    { .name = "triplet_margin_loss", .summary = "Triplet loss", OF_TRIPLETS, .whole = triplet_margin,
      .formula = "mean over triplets (a, p, n) of max(0, d(a, p) - d(a, n) + margin)",
      .parameters = { MARGIN(0.2), CBX__CHOICE("average", "over all triplets, or those whose loss is above 0", 0, 1, "all|active"), CBX__NORMALIZE(0) },
      .notes = CHOSEN "0 where there is no triplet: one item, one class, no pair of one class, or none that the miner left. Memory is n^2.",
      .source = "Schroff, Kalenichenko & Philbin (2015); Hermans, Beyer & Leibe (2017)", .example = "[[0.0, 0.0], [0.0, 0.5], [0.0, 0.6]], [0, 0, 1]" },
    { .name = "triplet_soft_margin_loss", .summary = "Triplet loss with a soft margin", OF_TRIPLETS, .whole = triplet_soft_margin,
      .formula = "mean over triplets (a, p, n) of log(1 + exp(d(a, p) - d(a, n) + margin))",
      .parameters = { MARGIN(0), CBX__NORMALIZE(0) },
      .notes = CHOSEN "0 where there is no triplet. Without negatives its derivative may need memory of n^3.",
      .source = "Hermans, Beyer & Leibe (2017)", .example = "[[0.0, 0.0], [0.0, 0.5], [0.0, 0.6]], [0, 0, 1]" },
    { .name = "margin_based_loss", .summary = "Margin-based loss", OF_TRIPLETS, .whole = margin_based,
      .formula = "sum over triplets (a, p, n) of max(0, d(a, p) - boundary + margin) + max(0, boundary - d(a, n) + margin), over the number of terms above 0",
      .parameters = { CBX__REAL("margin", "distance that items should have from the boundary", 0.2, 0, INFINITY),
                      CBX__REAL("boundary", "distance between near and far", 1.2, 0, INFINITY), CBX__NORMALIZE(1) },
      .notes = CHOSEN "0 where no term is above 0. Meant for mine_distance_weighted_negatives.",
      .source = "Wu, Manmatha, Smola & Kraehenbuehl (2017)", .example = "[[0.0, 1.0], [0.6, 0.8], [1.0, 0.0]], [0, 0, 1]" },
)
/* clang-format on */
