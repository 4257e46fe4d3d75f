/*
 * Miners: which negative goes with each pair of anchor and positive, as a table (n, n) of places,
 * -1: none; or which pairs count.  Of static shape, so that a loss with a miner in front of it is
 * traced, compiled and batched as one function.
 */
#include "calibrax/array/random.h"
#include "calibrax/metrics/learning/pairs.h"

enum { POSITIVES_ALL, POSITIVES_HARDEST, POSITIVES_EASIEST };

/* Pairs of anchors and positives that get a negative. */
static cbx_array *wanted(cbx_ctx *ctx, const cbx_metric_call *c, const cbx__pairs *p, const cbx_array *d)
{
    const double which = cbx__metric_parameter(c, "positives");
    const bool hardest = which == POSITIVES_HARDEST;
    const cbx_array *none = cbx__number(ctx, hardest ? -INFINITY : INFINITY), *near, *place;

    if (which == POSITIVES_ALL) return p->positive;
    near = cbx_where(ctx, p->positive, d, none);
    place = hardest ? cbx_argmax(ctx, near, CBX_AXIS_KEEP(1)) : cbx_argmin(ctx, near, CBX_AXIS_KEEP(1));
    place = cbx_equal(ctx, place, cbx_arange_int(ctx, 0, (int64_t)cbx_array_dim(near, 1), 1, CBX_I64));
    return cbx_logical_and(ctx, p->positive, place);
}

/* places where the mask is true, else -1. */
static cbx_array *or_none(cbx_ctx *ctx, const cbx_array *mask, const cbx_array *places)
{
    return cbx_where(ctx, mask, places, cbx_full(ctx, 0, NULL, CBX_I64, cbx_int(-1)));
}

CBX__OF_CALL(distances)
{
    const cbx_array *d = cbx__pair_distances(ctx, c, cbx__metric_parameter(c, "normalize") != 0);
    return cbx_stop_gradient(ctx, d);
}

CBX__OF_CALL(hard)
{
    const cbx__pairs p = cbx__pairs_of(ctx, c);
    const cbx_array *d = distances(ctx, c), *far = cbx_where(ctx, p.negative, d, cbx__number(ctx, INFINITY));
    const cbx_array *there = cbx_any(ctx, p.negative, CBX_AXIS_KEEP(1)), *closest;

    closest = cbx_argmin(ctx, far, CBX_AXIS_KEEP(1));
    return or_none(ctx, cbx_logical_and(ctx, wanted(ctx, c, &p, d), there), closest);
}

/*
 * Distances of negatives and of positives are sorted together: the number of negatives up to d(a,
 * p) is the place, among the sorted negatives, of the first one that is farther.
 */
CBX__OF_CALL(semi_hard)
{
    const double margin = cbx__metric_parameter(c, "margin");
    const cbx__pairs p = cbx__pairs_of(ctx, c);
    const cbx_array *d = distances(ctx, c), *none = cbx__number(ctx, INFINITY);
    const size_t n = cbx_array_dim(d, 0);
    const cbx_array *far = cbx_where(ctx, p.negative, d, none), *near = cbx_where(ctx, p.positive, d, none);
    const cbx_array *order, *rank, *before, *first, *by_distance, *negative, *inside;

    order = cbx_argsort(ctx, cbx_concat(ctx, 2, (const cbx_array *[]){ far, near }, 1), 1, false);
    rank = cbx_slice(ctx, cbx_argsort(ctx, order, 1, false), 1, (ptrdiff_t)n, CBX_OPEN, 1); /* of the positives */
    before = cbx_less_scalar(ctx, order, (double)n);
    before = cbx_cumulative_sum(ctx, cbx_astype(ctx, before, CBX_I64), 1);
    first = cbx_take_along_axis(ctx, before, rank, 1);
    first = cbx_clip_scalar(ctx, first, cbx_int(0), cbx_int((int64_t)n - 1));
    by_distance = cbx_argsort(ctx, far, 1, false);
    negative = cbx_take_along_axis(ctx, by_distance, first, 1);
    far = cbx_take_along_axis(ctx, far, negative, 1);
    inside = cbx_logical_and(ctx, cbx_less(ctx, far, cbx_add_scalar(ctx, d, margin)), cbx_greater(ctx, far, d));
    return or_none(ctx, cbx_logical_and(ctx, wanted(ctx, c, &p, d), inside), negative);
}

/* ---- distance-weighted sampling ---- */

/* Of a call with sums of weights up to each negative and thresholds: how many sums are at most each
 * threshold. */
static cbx_array *number_below(cbx_ctx *ctx, const cbx_metric_call *c, size_t first, size_t last)
{
    const cbx_array *sums = cbx_slice(ctx, c->in[0], 0, (ptrdiff_t)first, (ptrdiff_t)last, 1);
    const cbx_array *at = cbx_slice(ctx, c->in[1], 0, (ptrdiff_t)first, (ptrdiff_t)last, 1);
    const cbx_array *below = cbx_less_equal(ctx, cbx_expand_dims(ctx, sums, 1), cbx_expand_dims(ctx, at, 2));

    return cbx_count_nonzero(ctx, below, CBX_AXIS(-1));
}

/* The given numbers between 0 and 1, or those of the seed: (n, n). */
static cbx_array *uniforms(cbx_ctx *ctx, const cbx_metric_call *c, size_t n)
{
    const size_t shape[] = { n, n };
    cbx_array *given = c->in[CBX__CHOSEN];

    if (given) return given;
    const cbx_array *key = cbx_random_key(ctx, (uint64_t)cbx__metric_parameter(c, "seed"));
    return cbx_random_uniform(ctx, key, 2, shape, CBX_F64, 0, 1);
}

CBX__OF_CALL(distance_weighted)
{
    const double cutoff = cbx__metric_parameter(c, "cutoff"), dims = (double)cbx_array_dim(c->in[CBX__EMBEDDINGS], 1);
    const cbx__pairs p = cbx__pairs_of(ctx, c);
    const cbx_array *d = cbx_stop_gradient(ctx, cbx__pair_distances(ctx, c, true)), *clipped, *rest, *w, *total, *there;
    const size_t n = cbx_array_dim(d, 0);
    cbx_array *in[] = { NULL, NULL, NULL }, *place;
    cbx_metric_call blocks = *c;

    clipped = cbx_maximum_scalar(ctx, d, cutoff);
    there = cbx_less_scalar(ctx, clipped, cbx__metric_parameter(c, "max_distance"));
    there = cbx_logical_and(ctx, p.negative, there);
    clipped = cbx_where(ctx, there, clipped, cbx__number(ctx, 1));
    /* the logarithm of 1 / q(d), q(d) = d^(dims - 2) (1 - d^2 / 4)^((dims - 3) / 2) */
    rest = cbx_log1p(ctx, cbx_multiply_scalar(ctx, cbx_square(ctx, clipped), -0.25));
    w = cbx_multiply_scalar(ctx, cbx_log(ctx, clipped), 2 - dims);
    w = cbx_subtract(ctx, w, cbx_multiply_scalar(ctx, rest, (dims - 3) / 2));
    w = cbx_where(ctx, there, w, cbx__number(ctx, -INFINITY));
    total = cbx_max(ctx, w, CBX_AXIS_KEEP(1));
    total = cbx_where(ctx, cbx_isfinite(ctx, total), total, cbx__number(ctx, 0));
    in[0] = cbx_cumulative_sum(ctx, cbx_exp(ctx, cbx_subtract(ctx, w, total)), 1);
    total = cbx_index(ctx, in[0], 1, -1);
    in[1] = cbx_multiply(ctx, uniforms(ctx, c, n), cbx__of_anchor(ctx, total));
    blocks.in = in;
    place = cbx__by_rows(ctx, &blocks, n, n * n, number_below);
    place = cbx_clip_scalar(ctx, place, cbx_int(0), cbx_int((int64_t)n - 1));
    there = cbx_take_along_axis(ctx, there, place, 1); /* rounding may lead behind the last one */
    return or_none(ctx, cbx_logical_and(ctx, wanted(ctx, c, &p, d), there), place);
}

/* ---- pairs ---- */

CBX__OF_CALL(multi_similarity)
{
    const double epsilon = cbx__metric_parameter(c, "epsilon");
    const cbx__pairs p = cbx__pairs_of(ctx, c);
    const cbx_array *s = cbx__cosines(ctx, c->in[CBX__EMBEDDINGS], c->in[CBX__EMBEDDINGS]), *near, *far;

    s = cbx_stop_gradient(ctx, s);
    near = cbx_min(ctx, cbx_where(ctx, p.positive, s, cbx__number(ctx, INFINITY)), CBX_AXIS_KEEP(1));
    far = cbx_max(ctx, cbx_where(ctx, p.negative, s, cbx__number(ctx, -INFINITY)), CBX_AXIS_KEEP(1));
    near = cbx_logical_and(ctx, p.negative, cbx_greater(ctx, cbx_add_scalar(ctx, s, epsilon), near));
    far = cbx_logical_and(ctx, p.positive, cbx_less(ctx, cbx_subtract_scalar(ctx, s, epsilon), far));
    return cbx_astype(ctx, cbx_logical_or(ctx, near, far), CBX_F64);
}

#define MINER(low_, high_)                                                                                             \
    CBX__ROW("learning", INFO, low_, high_), .tier = CBX_METRIC_TIER_LEARNING, .shapes = CBX_SHAPES_LENGTH,            \
                                             .invariances = CBX_INVARIANT_RELABEL
#define EMBEDDED                                                                                                       \
    { "embeddings", CBX_OPERAND_EMBEDDINGS }, { "labels", CBX_OPERAND_LABELS }
#define NEGATIVES MINER(-1, INFINITY)
#define POSITIVES                                                                                                      \
    CBX__CHOICE("positives", "those of an anchor that get a negative: all, or the farthest, or the nearest", 0, 2,     \
                "all|hardest|easiest")
#define TABLE                                                                                                          \
    "The result (n, n) has the place of the negative at [anchor, positive], and -1 where there is no negative: the "   \
    "operand "                                                                                                         \
    "negatives of the triplet losses. "

/* clang-format off */
CBX__METRIC_TABLE(learning_miners,
    { .name = "mine_hard_negatives", .summary = "Hard negatives", NEGATIVES, .operands = { EMBEDDED }, .whole = hard,
      .formula = "out[a, p] = the item n of another class with the smallest d(a, n), p of the class of a",
      .parameters = { POSITIVES, CBX__NORMALIZE(0) }, .notes = TABLE "positives='hardest' is mining within a batch as by Hermans et al., 'easiest' as by Xuan et al. (2020). Of equal distances the first one.",
      .source = "Hermans, Beyer & Leibe (2017)", .example = "[[0.0], [1.0], [3.0]], [0, 0, 1]" },
    { .name = "mine_semi_hard_negatives", .summary = "Semi-hard negatives", NEGATIVES, .operands = { EMBEDDED }, .whole = semi_hard,
      .formula = "out[a, p] = the item n of another class with the smallest d(a, n), of those with d(a, p) < d(a, n) < d(a, p) + margin",
      .parameters = { CBX__REAL("margin", "that of the loss", 1, 0, INFINITY), POSITIVES, CBX__NORMALIZE(0) },
      .notes = TABLE "Pairs without such a negative get none.", .source = "Schroff, Kalenichenko & Philbin (2015)", .example = "[[0.0], [1.0], [1.5]], [0, 0, 1]" },
    { .name = "mine_distance_weighted_negatives", .summary = "Distance-weighted negatives", NEGATIVES, .whole = distance_weighted, .flags = CBX_METRIC_COMPILED,
      .operands = { EMBEDDED, { "uniforms", CBX_OPERAND_PROBABILITY, true, CBX_ITEMS_PAIRS } },
      .formula = "out[a, p] = an item n of another class with d(a, n) < max_distance, drawn in proportion to 1 / q(max(cutoff, d(a, n))), q(d) = d^(D - 2) (1 - d^2 / 4)^((D - 3) / 2), embeddings (n, D) of norm 1",
      .parameters = { CBX__REAL("cutoff", "smallest distance in the weights", 0.5, 0x1p-1074, 2), CBX__REAL("max_distance", "negatives are nearer than it", 1.4, 0, 2),
                      CBX__INTEGER("seed", "of the draw", 0, 0, 0x1p53), POSITIVES },
      .notes = TABLE "uniforms (n, n), a random number for each pair, takes the place of the seed: so a compiled function draws again.",
      .source = "Wu, Manmatha, Smola & Kraehenbuehl (2017)", .example = "[[1.0, 0.0], [1.0, 0.5], [0.5, 1.0]], [0, 0, 1]" },
    { .name = "mine_multi_similarity_pairs", .summary = "Pairs of the multi-similarity miner", MINER(0, 1), .operands = { EMBEDDED }, .whole = multi_similarity,
      .formula = "out[i, j] = 1 for positives with cos(i, j) - epsilon < max over negatives k of cos(i, k), and negatives with cos(i, j) + epsilon > min over positives k of cos(i, k), else 0",
      .parameters = { CBX__REAL("epsilon", "by how much pairs may miss", 0.1, -2, 2) },
      .notes = "The operand pairs of the pair losses. Rows of items without positives, or without negatives, are 0.",
      .source = "Wang et al. (2019)", .example = "[[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], [0, 0, 1]" },
)
/* clang-format on */
