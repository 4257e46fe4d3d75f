/*
 * Losses over pairs of items: contrastive, lifted structure, margin, NT-Xent, supervised
 * contrastive, multi-similarity, circle; and those of two arrays whose rows belong together.
 */
#include "calibrax/array/linalg.h"
#include "calibrax/metrics/learning/pairs.h"

/* ---- of distances ---- */

CBX__OF_CALL(contrastive)
{
    const cbx__pairs p = cbx__pairs_chosen(ctx, c);
    const cbx_array *d = cbx__pair_distances(ctx, c, cbx__metric_parameter(c, "normalize") != 0);
    const cbx_array *margin = cbx__number(ctx, cbx__metric_parameter(c, "margin"));
    const cbx_array *apart = cbx__hinge(ctx, cbx_subtract(ctx, margin, d));
    const cbx_array *loss = cbx_square(ctx, cbx_where(ctx, p.positive, d, apart));

    return cbx__mean_where(ctx, cbx_logical_or(ctx, p.positive, p.negative), loss);
}

/* The smallest of logarithms of sums: none of the summands. */
#define NO_SUM (-1e300)

CBX__OF_CALL(lifted_structure)
{
    const cbx__pairs p = cbx__pairs_chosen(ctx, c);
    const cbx_array *d = cbx__pair_distances(ctx, c, cbx__metric_parameter(c, "normalize") != 0);
    const cbx_array *margin = cbx__number(ctx, cbx__metric_parameter(c, "margin"));
    const cbx_array *near = cbx__log_sum_exp(ctx, p.negative, cbx_subtract(ctx, margin, d), false, NO_SUM);
    const cbx_array *both = cbx_logaddexp(ctx, cbx__of_anchor(ctx, near), cbx__of_other(ctx, near));
    const cbx_array *loss = cbx_square(ctx, cbx__hinge(ctx, cbx_add(ctx, both, d)));

    return cbx_multiply_scalar(ctx, cbx__mean_where(ctx, p.positive, loss), 0.5);
}

/* ---- of cosines ---- */

static cbx_array *over_temperature(cbx_ctx *ctx, const cbx_metric_call *c, const cbx_array *x)
{
    return cbx_divide(ctx, x, cbx__number(ctx, cbx__metric_parameter(c, "temperature")));
}

CBX__OF_CALL(cosines) { return cbx__cosines(ctx, c->in[CBX__EMBEDDINGS], c->in[CBX__EMBEDDINGS]); }

/* log(1 + sum over negatives of exp(s[i, n] - s[i, p])) of each positive pair. */
CBX__OF_CALL(nt_xent)
{
    const cbx__pairs p = cbx__pairs_chosen(ctx, c);
    const cbx_array *s = over_temperature(ctx, c, cosines(ctx, c));
    const cbx_array *others = cbx__log_sum_exp(ctx, p.negative, s, false, NO_SUM);

    return cbx__mean_where(ctx, p.positive, cbx__softplus(ctx, cbx_subtract(ctx, cbx__of_anchor(ctx, others), s)));
}

CBX__OF_CALL(supervised_contrastive)
{
    const cbx__pairs p = cbx__pairs_chosen(ctx, c);
    const cbx_array *s = over_temperature(ctx, c, cosines(ctx, c));
    const cbx_array *others = cbx__log_sum_exp(ctx, cbx_logical_or(ctx, p.positive, p.negative), s, false, 0);
    const cbx_array *loss = cbx_subtract(ctx, cbx__of_anchor(ctx, others), s);
    const cbx_array *count = cbx__count(ctx, p.positive, CBX_AXIS(-1));
    const cbx_array *each = cbx__ratio_or(ctx, cbx__sum_where(ctx, p.positive, loss, CBX_AXIS(-1)), count, 0);

    return cbx__mean_where(ctx, cbx_greater_scalar(ctx, count, 0), each);
}

CBX__OF_CALL(multi_similarity)
{
    const double alpha = cbx__metric_parameter(c, "alpha"), beta = cbx__metric_parameter(c, "beta");
    const cbx__pairs p = cbx__pairs_chosen(ctx, c);
    const cbx_array *s = cbx_subtract_scalar(ctx, cosines(ctx, c), cbx__metric_parameter(c, "base"));
    const cbx_array *near = cbx__log_sum_exp(ctx, p.positive, cbx_multiply_scalar(ctx, s, -alpha), true, 0);
    const cbx_array *far = cbx__log_sum_exp(ctx, p.negative, cbx_multiply_scalar(ctx, s, beta), true, 0);

    near = cbx_divide_scalar(ctx, near, alpha);
    return cbx_mean(ctx, cbx_add(ctx, near, cbx_divide_scalar(ctx, far, beta)), NULL);
}

CBX__OF_CALL(circle)
{
    const double m = cbx__metric_parameter(c, "margin"), scale = cbx__metric_parameter(c, "scale");
    const cbx__pairs p = cbx__pairs_chosen(ctx, c);
    const cbx_array *s = cosines(ctx, c), *near, *far, *both;

    near = cbx__hinge(ctx, cbx_subtract(ctx, cbx__number(ctx, 1 + m), s));
    near = cbx_multiply(ctx, near, cbx_subtract_scalar(ctx, s, 1 - m));
    far = cbx_multiply(ctx, cbx__hinge(ctx, cbx_add_scalar(ctx, s, m)), cbx_subtract_scalar(ctx, s, m));
    near = cbx__log_sum_exp(ctx, p.positive, cbx_multiply_scalar(ctx, near, -scale), false, NO_SUM);
    far = cbx__log_sum_exp(ctx, p.negative, cbx_multiply_scalar(ctx, far, scale), false, NO_SUM);
    both = cbx_logical_and(ctx, cbx_any(ctx, p.positive, CBX_AXIS(-1)), cbx_any(ctx, p.negative, CBX_AXIS(-1)));
    return cbx__mean_where(ctx, both, cbx__softplus(ctx, cbx_add(ctx, near, far)));
}

/* ---- of two arrays: row i of one belongs to row i of the other ---- */

/* Mean over rows of log(sum over j of exp(s[i, j])) - s[i, i]. */
static cbx_array *own_row(cbx_ctx *ctx, const cbx_array *s)
{
    const size_t shape[] = { cbx_array_dim(s, 0), cbx_array_dim(s, 1) };
    const cbx_array *all = cbx__log_sum_exp(ctx, cbx_ones(ctx, 2, shape, CBX_BOOL), s, false, 0);

    return cbx_mean(ctx, cbx_subtract(ctx, all, cbx_diagonal(ctx, s, 0)), NULL);
}

CBX__OF_CALL(n_pairs) { return own_row(ctx, cbx__rows_times_rows(ctx, c->in[0], c->in[1])); }

CBX__OF_CALL(info_nce)
{
    const cbx_array *s = over_temperature(ctx, c, cbx__cosines(ctx, c->in[0], c->in[1]));
    cbx_array *there = own_row(ctx, s);

    if (cbx__metric_parameter(c, "symmetric") == 0) return there;
    return cbx_multiply_scalar(ctx, cbx_add(ctx, there, own_row(ctx, cbx_matrix_transpose(ctx, s))), 0.5);
}

#define OF_PAIRS CBX__LOSS_OF("pairs", BINARY)
#define OF_ROWS(a, b)                                                                                                  \
    CBX__LEARNING(0), .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_COMPILED, .operands = CBX__PAIR(a, b, POINTS),   \
                      .invariances = CBX_INVARIANT_ROTATION | CBX_INVARIANT_ORDER
#define CHOSEN                                                                                                         \
    "pairs (n, n) of 0 and 1 leaves pairs out (mine_multi_similarity_pairs makes one; mask[i] mask[j] leaves items "   \
    "out in compiled code). "

/* clang-format off */
CBX__METRIC_TABLE(learning_pairs,
    { .name = "contrastive_loss", .summary = "Contrastive loss", OF_PAIRS, .whole = contrastive,
      .formula = "mean over pairs i != j of d(i, j)^2 where labels are equal, else max(0, margin - d(i, j))^2",
      .parameters = { CBX__REAL("margin", "distance that items of different classes should have", 1, 0, INFINITY), CBX__NORMALIZE(0) },
      .notes = CHOSEN "0 of one item. Equal embeddings have derivative 0. Hadsell et al. have half of it.",
      .source = "Hadsell, Chopra & LeCun (2006)", .example = "[[0.0, 0.0], [0.0, 0.5], [0.0, 1.0]], [0, 0, 1]" },
    { .name = "lifted_structure_loss", .summary = "Lifted structure loss", OF_PAIRS, .whole = lifted_structure,
      .formula = "mean over positive pairs (i, j) of max(0, d(i, j) + log(sum over negatives k of i of exp(margin - d(i, k)) + sum over negatives l of j of exp(margin - d(j, l))))^2 / 2",
      .parameters = { CBX__REAL("margin", "distance that items of different classes should have", 1, 0, INFINITY), CBX__NORMALIZE(0) },
      .notes = CHOSEN "0 where there is no positive pair, or one class.",
      .source = "Oh Song et al. (2016)", .example = "[[0.0, 0.0], [0.0, 0.5], [0.0, 1.0]], [0, 0, 1]" },
    { .name = "nt_xent_loss", .summary = "Normalized temperature-scaled cross entropy", OF_PAIRS, .whole = nt_xent,
      .formula = "mean over positive pairs (i, j) of log(1 + sum over negatives k of i of exp((cos(i, k) - cos(i, j)) / temperature))",
      .parameters = { CBX__POSITIVE("temperature", "divides the cosines", 0.5) },
      .notes = CHOSEN "Other positives of an anchor are in no denominator: supervised_contrastive_loss has them there. Both are the loss of SimCLR where each class has two items. An anchor without positives does not count; 0 where there is no positive pair.",
      .source = "Chen et al. (2020), SimCLR; pytorch_metric_learning.losses.NTXentLoss", .example = "[[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], [0, 0, 1]" },
    { .name = "supervised_contrastive_loss", .summary = "Supervised contrastive loss", OF_PAIRS, .whole = supervised_contrastive,
      .formula = "mean over anchors i of mean over positives j of log(sum over k != i of exp(cos(i, k) / temperature)) - cos(i, j) / temperature",
      .parameters = { CBX__POSITIVE("temperature", "divides the cosines", 0.1) },
      .notes = CHOSEN "An anchor without positives does not count; 0 where there is no positive pair.",
      .source = "Khosla et al. (2020), L_out", .example = "[[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], [0, 0, 1]" },
    { .name = "multi_similarity_loss", .summary = "Multi-similarity loss", OF_PAIRS, .whole = multi_similarity,
      .formula = "mean over i of log(1 + sum over positives j of exp(-alpha (cos(i, j) - base))) / alpha + log(1 + sum over negatives k of exp(beta (cos(i, k) - base))) / beta",
      .parameters = { CBX__POSITIVE("alpha", "sharpness for positives", 2), CBX__POSITIVE("beta", "sharpness for negatives", 50),
                      CBX__REAL("base", "cosine between near and far", 0.5, -INFINITY, INFINITY) },
      .notes = CHOSEN "An item without positives or negatives has 0 for them, and counts in the mean.",
      .source = "Wang et al. (2019)", .example = "[[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], [0, 0, 1]" },
    { .name = "circle_loss", .summary = "Circle loss", OF_PAIRS, .whole = circle,
      .formula = "mean over i of log(1 + sum over negatives k of exp(scale a(k) (cos(i, k) - margin)) * sum over positives j of exp(-scale b(j) (cos(i, j) - 1 + margin))), a = max(0, cos + margin), b = max(0, 1 + margin - cos)",
      .parameters = { CBX__REAL("margin", "width of the decision boundary", 0.4, 0, 1), CBX__POSITIVE("scale", "scale of the cosines", 80) },
      .notes = CHOSEN "Items that lack positives or negatives do not count. The derivative is that of the formula; packages that hold a and b constant have another one.",
      .source = "Sun et al. (2020)", .example = "[[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], [0, 0, 1]" },
    { .name = "n_pairs_loss", .summary = "N-pairs loss", OF_ROWS("anchors", "positives"), .whole = n_pairs,
      .formula = "mean over i of log(sum over j of exp(<anchors[i], positives[j]> - <anchors[i], positives[i]>))",
      .notes = "Row i of both is of one class, all others are of other classes. Without the penalty for large norms.",
      .source = "Sohn (2016)", .example = "[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.5], [0.0, 2.0]]" },
    { .name = "info_nce_loss", .summary = "InfoNCE", OF_ROWS("queries", "keys"), .whole = info_nce,
      .formula = "mean over i of log(sum over j of exp((cos(queries[i], keys[j]) - cos(queries[i], keys[i])) / temperature))",
      .parameters = { CBX__POSITIVE("temperature", "divides the cosines", 0.07),
                      CBX__FLAG("symmetric", "the mean with that of keys and queries exchanged, as in CLIP", 0) },
      .notes = "Row i of both belongs together. log(n) of equal rows.", .source = "van den Oord, Li & Vinyals (2018); Radford et al. (2021)",
      .example = "[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.5], [0.0, 2.0]]" },
)
/* clang-format on */
