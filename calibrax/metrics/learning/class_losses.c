/*
 * Losses of embeddings against a vector of each class: softmax with margins (ArcFace, CosFace,
 * SphereFace), proxies, centres.  The vectors of the classes are the caller's, who trains them by
 * their gradient.
 */
#include "calibrax/metrics/learning/pairs.h"

enum { EMBEDDINGS, LABELS, VECTORS };

/* Whether class k is that of item i: (n, classes). */
CBX__OF_CALL(own_class)
{
    const size_t classes = cbx_array_dim(c->in[VECTORS], 0), d = cbx_array_dim(c->in[VECTORS], 1);
    const cbx_array *labels = c->in[LABELS];

    if (d != cbx_array_dim(c->in[EMBEDDINGS], 1))
        return cbx__metric_refuse(ctx, c, CBX_ESHAPE, "'embeddings' have %zu number%s, '%s' have %zu",
                                  cbx_array_dim(c->in[EMBEDDINGS], 1), cbx__plural(cbx_array_dim(c->in[EMBEDDINGS], 1)),
                                  c->metric->operands[VECTORS].name, d);
    if (cbx_array_ndim(labels) != 1)
        return cbx__metric_refuse(ctx, c, CBX_ESHAPE, "'labels' must have one axis, not %d", cbx_array_ndim(labels));
    return cbx_equal(ctx, cbx_expand_dims(ctx, labels, 1), cbx_arange_int(ctx, 0, (int64_t)classes, 1, CBX_I64));
}

/* Cosines of embeddings and class vectors: (n, classes). */
CBX__OF_CALL(class_cosines) { return cbx__cosines(ctx, c->in[EMBEDDINGS], c->in[VECTORS]); }

/* log(sum over those of the mask of exp(logits)) - logits of the own class, of each item. */
static cbx_array *cross_entropy(cbx_ctx *ctx, const cbx_array *mask, const cbx_array *own, const cbx_array *logits)
{
    const cbx_array *all = cbx__log_sum_exp(ctx, mask, logits, false, -INFINITY);
    return cbx_subtract(ctx, all, cbx__sum_where(ctx, own, logits, CBX_AXIS(-1)));
}

/* Cross entropy with other logits of the own classes, all times a scale: a number, or one of each
 * item. */
static cbx_array *with_margin(cbx_ctx *ctx, const cbx_array *own, const cbx_array *cosines, const cbx_array *moved,
                              const cbx_array *scale)
{
    const cbx_array *all = cbx_logical_or(ctx, own, cbx_logical_not(ctx, own));
    return cross_entropy(ctx, all, own, cbx_multiply(ctx, cbx_where(ctx, own, moved, cosines), scale));
}

CBX__OF_CALL(scale_of) { return cbx__number(ctx, cbx__metric_parameter(c, "scale")); }

CBX__OF_CALL(normalized_softmax)
{
    const cbx_array *own = own_class(ctx, c), *s = class_cosines(ctx, c);
    return with_margin(ctx, own, s, s, cbx__number(ctx, 1 / cbx__metric_parameter(c, "temperature")));
}

CBX__OF_CALL(cosface)
{
    const cbx_array *own = own_class(ctx, c), *s = class_cosines(ctx, c);
    const cbx_array *moved = cbx_subtract_scalar(ctx, s, cbx__metric_parameter(c, "margin"));

    return with_margin(ctx, own, s, moved, scale_of(ctx, c));
}

/* cos(theta + m) while theta + m is at most pi, behind it a line of the cosine, so that it goes on
 * falling. */
CBX__OF_CALL(arcface)
{
    const double m = cbx__metric_parameter(c, "margin");
    const cbx_array *own = own_class(ctx, c), *moved, *line, *sine;
    const cbx_array *s = cbx_clip_scalar(ctx, class_cosines(ctx, c), cbx_float(-1), cbx_float(1));

    sine = cbx__root(ctx, cbx_subtract(ctx, cbx__number(ctx, 1), cbx_square(ctx, s)));
    moved = cbx_subtract(ctx, cbx_multiply_scalar(ctx, s, cos(m)), cbx_multiply_scalar(ctx, sine, sin(m)));
    line = cbx_subtract_scalar(ctx, s, m * sin(m));
    moved = cbx_where(ctx, cbx_greater_equal_scalar(ctx, s, -cos(m)), moved, line);
    return with_margin(ctx, own, s, moved, scale_of(ctx, c));
}

/* (-1)^k cos(m theta) - 2 k, k = floor(m theta / pi): by Chebyshev polynomials of the cosine, whose
 * derivatives are finite. */
CBX__OF_CALL(sphereface)
{
    const int m = (int)cbx__metric_parameter(c, "margin");
    const cbx_array *own = own_class(ctx, c), *k = cbx__number(ctx, 0), *norms, *sign, *moved;
    const cbx_array *s = cbx_clip_scalar(ctx, class_cosines(ctx, c), cbx_float(-1), cbx_float(1));
    const cbx_array *before = cbx_ones_like(ctx, s), *power = s;

    for (int i = 1; i < m; i++) {
        const cbx_array *next = cbx_multiply(ctx, cbx_multiply_scalar(ctx, s, 2), power);
        const cbx_array *passed = cbx_less_equal_scalar(ctx, s, cos(i * 3.14159265358979323846 / m));
        next = cbx_subtract(ctx, next, before);
        before = power;
        power = next;
        k = cbx_add(ctx, k, cbx_astype(ctx, passed, CBX_F64));
    }
    sign = cbx_subtract(ctx, cbx__number(ctx, 1), cbx_multiply_scalar(ctx, cbx_remainder_scalar(ctx, k, 2), 2));
    moved = cbx_subtract(ctx, cbx_multiply(ctx, sign, power), cbx_multiply_scalar(ctx, k, 2));
    norms = cbx__root(ctx, cbx_sum(ctx, cbx_square(ctx, c->in[EMBEDDINGS]), CBX_AXIS_KEEP(-1)));
    return with_margin(ctx, own, s, moved, cbx_multiply(ctx, norms, scale_of(ctx, c)));
}

/* ---- proxies and centres ---- */

CBX__OF_CALL(proxy_nca)
{
    const bool all = cbx__metric_parameter(c, "positive_in_sum") != 0;
    const cbx_array *own = own_class(ctx, c), *others = cbx_logical_not(ctx, own);
    /* minus the squared distance of vectors of norm 1 */
    const cbx_array *near = cbx_multiply_scalar(ctx, cbx_subtract_scalar(ctx, class_cosines(ctx, c), 1), 2);

    near = cbx_multiply(ctx, near, scale_of(ctx, c));
    return cross_entropy(ctx, all ? cbx_logical_or(ctx, own, others) : others, own, near);
}

/* (2, classes): logarithms of the sums of exp(-scale (cos - margin)) over items of a class, and
 * exp(scale (cos + margin)) over others. */
CBX__OF_CALL(anchor_parts)
{
    const double margin = cbx__metric_parameter(c, "margin");
    const cbx_array *own = own_class(ctx, c), *s = class_cosines(ctx, c), *w = c->weights, *near, *far, *others;

    others = cbx_logical_not(ctx, own);
    near = cbx_multiply(ctx, cbx_subtract(ctx, cbx__number(ctx, margin), s), scale_of(ctx, c));
    far = cbx_multiply(ctx, cbx_add_scalar(ctx, s, margin), scale_of(ctx, c));
    if (w) {
        const cbx_array *counts = cbx_greater_scalar(ctx, w, 0), *log;
        log = cbx_expand_dims(ctx, cbx_log(ctx, cbx_where(ctx, counts, w, cbx__number(ctx, 1))), 1);
        counts = cbx_expand_dims(ctx, counts, 1);
        near = cbx_add(ctx, near, log);
        far = cbx_add(ctx, far, log);
        own = cbx_logical_and(ctx, own, counts);
        others = cbx_logical_and(ctx, others, counts);
    }
    near = cbx__log_sum_exp(ctx, cbx_matrix_transpose(ctx, own), cbx_matrix_transpose(ctx, near), false, -INFINITY);
    far = cbx__log_sum_exp(ctx, cbx_matrix_transpose(ctx, others), cbx_matrix_transpose(ctx, far), false, -INFINITY);
    return cbx__pack(ctx, 2, (const cbx_array *[]){ near, far });
}

CBX__OF_STATES(anchor_merge, a, b)
{
    const cbx_array *none = cbx_equal_scalar(ctx, cbx_maximum(ctx, a, b), -INFINITY), *zero = cbx__number(ctx, 0);

    a = cbx_where(ctx, none, zero, a);
    b = cbx_where(ctx, none, zero, b);
    return cbx_where(ctx, none, cbx__number(ctx, -INFINITY), cbx_logaddexp(ctx, a, b));
}

CBX__OF_STATE(anchor_finish, state)
{
    const cbx_array *near, *seen;

    CBX__PARTS(sums, 2, ctx, state);
    seen = cbx_not_equal_scalar(ctx, sums[0], -INFINITY);
    near = cbx__mean_where(ctx, seen, cbx__softplus(ctx, sums[0]));
    return cbx_add(ctx, near, cbx_mean(ctx, cbx__softplus(ctx, sums[1]), NULL));
}

CBX__OF_CALL(centre)
{
    const cbx_array *own = own_class(ctx, c), *centres = cbx_take(ctx, c->in[VECTORS], c->in[LABELS], 0);
    const cbx_array *squares = cbx_square(ctx, cbx_subtract(ctx, c->in[EMBEDDINGS], centres));

    if (cbx_array_is_failed(own)) return (cbx_array *)own;
    return cbx_multiply_scalar(ctx, cbx_sum(ctx, squares, CBX_AXIS(-1)), 0.5);
}

#define OF_CLASSES(vectors_, low_)                                                                                     \
    CBX__LEARNING(low_), .shapes = CBX_SHAPES_LENGTH, .invariances = CBX_INVARIANT_ROTATION | CBX_INVARIANT_ORDER,     \
                         .operands = { { "embeddings", CBX_OPERAND_POINTS },                                           \
                                       { "labels", CBX_OPERAND_LABELS },                                               \
                                       { vectors_, CBX_OPERAND_CLASS_VECTORS } }
#define SCALE(value) CBX__POSITIVE("scale", "scale of the logits", value)
#define EXAMPLE      "[[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]], [0, 0, 1], [[1.0, 0.2], [0.0, 1.0]]"

/* clang-format off */
CBX__METRIC_TABLE(learning_classes,
    { .name = "normalized_softmax_loss", .summary = "Cross entropy of cosines", OF_CLASSES("class_vectors", 0), .items = normalized_softmax, CBX__SMOOTH,
      .formula = "mean over items of log(sum over classes k of exp(cos(x, w[k]) / temperature)) - cos(x, w[label]) / temperature",
      .parameters = { CBX__POSITIVE("temperature", "divides the cosines", 0.05) },
      .notes = "Cosines are at most 1, so that a large temperature leaves a loss that no embedding can bring to 0; a small one has gradients of the hardest items only. An embedding of 0 has cosine 0 with all.",
      .source = "Zhai & Wu (2019)", .example = EXAMPLE },
    { .name = "arcface_loss", .summary = "ArcFace", OF_CLASSES("class_vectors", 0), .items = arcface, CBX__SMOOTH,
      .formula = "mean over items of the cross entropy of scale cos(theta[k]), that of the label being scale cos(theta + margin), theta: angle of x and w[k]",
      .parameters = { CBX__REAL("margin", "angle that is added (rad)", 0.5, 0, 3.14159265358979323846), SCALE(64) },
      .notes = "Behind theta + margin = pi the logit is scale (cos(theta) - margin sin(margin)), as in InsightFace, so that it goes on falling.",
      .source = "Deng, Guo, Xue & Zafeiriou (2019)", .example = EXAMPLE },
    { .name = "cosface_loss", .summary = "CosFace", OF_CLASSES("class_vectors", 0), .items = cosface, CBX__SMOOTH,
      .formula = "mean over items of the cross entropy of scale cos(x, w[k]), that of the label being scale (cos(x, w[label]) - margin)",
      .parameters = { CBX__REAL("margin", "what is taken from the cosine", 0.35, 0, 2), SCALE(64) },
      .notes = "With a margin a perfect embedding keeps a loss above 0: it is no cross entropy of probabilities. A small scale leaves a large loss, and a large margin may not train from random class vectors. An embedding of 0 has cosine 0 with all.",
      .source = "Wang et al. (2018)", .example = EXAMPLE },
    { .name = "sphereface_loss", .summary = "SphereFace", OF_CLASSES("class_vectors", 0), .items = sphereface, CBX__SMOOTH,
      .formula = "mean over items of the cross entropy of scale ||x|| cos(theta[k]), that of the label being scale ||x|| ((-1)^j cos(margin theta) - 2 j), j = floor(margin theta / pi)",
      .parameters = { CBX__INTEGER("margin", "factor of the angle", 4, 1, 16), SCALE(1) },
      .notes = "The norm of embeddings counts, that of class vectors does not.",
      .source = "Liu et al. (2017)", .example = EXAMPLE },
    { .name = "proxy_nca_loss", .summary = "Proxy-NCA", OF_CLASSES("proxies", -INFINITY), .items = proxy_nca, CBX__SMOOTH,
      .formula = "mean over items of scale ||x - p[label]||^2 + log(sum over classes k of exp(-scale ||x - p[k]||^2)), x and p of norm 1",
      .parameters = { SCALE(1), CBX__FLAG("positive_in_sum", "the sum has the label, too; the paper of 2017 leaves it out", 1) },
      .notes = "Above 0 unless positive_in_sum is False: then it is minus infinity of one class.",
      .source = "Movshovitz-Attias et al. (2017); Teh, DeVries & Taylor (2020)", .example = EXAMPLE },
    { .name = "proxy_anchor_loss", .summary = "Proxy-Anchor", OF_CLASSES("proxies", 0), .parts = anchor_parts, .merge = anchor_merge, .finish = anchor_finish,
      .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_WEIGHTED,
      .formula = "mean over proxies with items of log(1 + sum over items of the class of exp(-scale (cos - margin))) + mean over all proxies of log(1 + sum over other items of exp(scale (cos + margin)))",
      .parameters = { CBX__REAL("margin", "what cosines should exceed, or stay below minus it", 0.1, 0, 1), SCALE(32) },
      .notes = "Weights are numbers of copies of an item.",
      .source = "Kim, Kim, Cho & Kwak (2020)", .example = EXAMPLE },
    { .name = "center_loss", .summary = "Centre loss", OF_CLASSES("centers", 0), .items = centre, CBX__SMOOTH,
      .formula = "mean over items of ||x - centers[label]||^2 / 2",
      .notes = "The sum over items in the paper, which adds it to a cross entropy and moves centres by an update of its own.",
      .source = "Wen, Zhang, Li & Qiao (2016)", .example = EXAMPLE },
)
/* clang-format on */
