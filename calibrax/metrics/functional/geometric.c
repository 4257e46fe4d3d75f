/* Sets of points, conformations and shapes. */
#include "calibrax/metrics/nearest.h"

/* ---- distances of sets: to the nearest point ---- */

CBX__OF_CALL(chamfer)
{
    const cbx_array *there = cbx_mean(ctx, cbx__nearest_distance(ctx, c, c->in[0], c->in[1]), NULL);
    const cbx_array *back = cbx_mean(ctx, cbx__nearest_distance(ctx, c, c->in[1], c->in[0]), NULL);

    return cbx_multiply_scalar(ctx, cbx_add(ctx, there, back), 0.5);
}

CBX__OF_CALL(directed_hausdorff) { return cbx__farthest_nearest(ctx, c, c->in[0], c->in[1]); }

CBX__OF_CALL(hausdorff)
{
    const cbx_array *back = cbx__farthest_nearest(ctx, c, c->in[1], c->in[0]);
    return cbx_maximum(ctx, directed_hausdorff(ctx, c), back);
}

/* ---- deviations of points that belong together ---- */

/* w as a column, or NULL. */
static const cbx_array *column(cbx_ctx *ctx, const cbx_metric_call *c)
{
    return c->weights ? cbx_expand_dims(ctx, c->weights, 1) : NULL;
}

/* Mean over the points, weighted: (1, d). */
static cbx_array *centre(cbx_ctx *ctx, const cbx_array *w, const cbx_array *x)
{
    if (!w) return cbx_mean(ctx, x, CBX_AXIS_KEEP(0));
    return cbx_divide(ctx, cbx_sum(ctx, cbx_multiply(ctx, w, x), CBX_AXIS_KEEP(0)), cbx_sum(ctx, w, NULL));
}

/* [sum w, mean e, sum w |e - mean e|^2] of e = x - y: 2 + d numbers. */
CBX__OF_CALL(deviation_parts)
{
    const cbx_array *w = column(ctx, c), *e = cbx_subtract(ctx, c->in[0], c->in[1]), *mean = centre(ctx, w, e);
    const cbx_array *squares = cbx_square(ctx, cbx_subtract(ctx, e, mean));
    const cbx_array *n = w ? cbx_sum(ctx, w, NULL) : cbx__number(ctx, (double)cbx_array_dim(e, 0));
    const cbx_array *sum = cbx_sum(ctx, w ? cbx_multiply(ctx, w, squares) : squares, NULL);
    const cbx_array *parts[] = { cbx_expand_dims(ctx, n, 0), cbx_flatten(ctx, mean), cbx_expand_dims(ctx, sum, 0) };

    return cbx_concat(ctx, 3, parts, 0);
}

CBX__OF_STATES(deviation_merge, a, b)
{
    const cbx__joint j = cbx__join_weights(ctx, cbx_index(ctx, a, 0, 0), cbx_index(ctx, b, 0, 0));
    const cbx_array *ma = cbx_slice(ctx, a, 0, 1, -1, 1), *gap = cbx_subtract(ctx, cbx_slice(ctx, b, 0, 1, -1, 1), ma);
    const cbx_array *gaps = cbx_sum(ctx, cbx_square(ctx, gap), NULL);
    const cbx_array *sum = cbx__join_products(ctx, &j, cbx_index(ctx, a, 0, -1), cbx_index(ctx, b, 0, -1), gaps);
    const cbx_array *parts[] = { cbx_expand_dims(ctx, j.n, 0), cbx__join_means(ctx, &j, ma, gap),
                                 cbx_expand_dims(ctx, sum, 0) };

    return cbx_concat(ctx, 3, parts, 0);
}

CBX__OF_STATE(deviation, state)
{
    return cbx__root(ctx, cbx_divide(ctx, cbx_index(ctx, state, 0, -1), cbx_index(ctx, state, 0, 0)));
}

/* The best rotation is where the deviation is least, so that it moves the deviation in no
 * direction: it needs no derivative. */
static cbx_array *best_rotation(cbx_ctx *ctx, const cbx_array *w, const cbx_array *x, const cbx_array *y)
{
    const size_t d = cbx_array_dim(x, 1);
    const cbx_array *weighted = w ? cbx_multiply(ctx, w, x) : x;
    const cbx_array *h = cbx_matrix_product(ctx, cbx_matrix_transpose(ctx, weighted), y);
    const cbx_svd_parts s = cbx_svd(ctx, cbx_stop_gradient(ctx, h), false);
    const cbx_array *turned = cbx_sign(ctx, cbx_multiply(ctx, cbx_det(ctx, s.u), cbx_det(ctx, s.vh)));
    const cbx_array *last = cbx_equal_scalar(ctx, cbx_arange(ctx, 0, (double)d, 1, CBX_F64), (double)d - 1);
    const cbx_array *signs = cbx_where(ctx, last, turned, cbx__number(ctx, 1));

    return cbx_matrix_product(ctx, cbx_multiply(ctx, s.u, signs), s.vh);
}

CBX__OF_CALL(superposed)
{
    const cbx_array *w = column(ctx, c), *x, *y, *squares;

    x = cbx_subtract(ctx, c->in[0], centre(ctx, w, c->in[0]));
    y = cbx_subtract(ctx, c->in[1], centre(ctx, w, c->in[1]));
    x = cbx_matrix_product(ctx, x, best_rotation(ctx, w, x, y));
    squares = cbx_sum(ctx, cbx_square(ctx, cbx_subtract(ctx, x, y)), CBX_AXIS(-1));
    return cbx__root(ctx, cbx__weighted_mean(ctx, c, squares));
}

/* Conformations, centred if that is asked for, each a row of its coordinates. */
static const cbx_array *conformations(cbx_ctx *ctx, const cbx_metric_call *c)
{
    const cbx_array *x = c->in[0];
    const ptrdiff_t atoms = (ptrdiff_t)cbx_array_dim(x, 1);
    const ptrdiff_t flat[] = { (ptrdiff_t)cbx_array_dim(x, 0), atoms * (ptrdiff_t)cbx_array_dim(x, 2) };

    if (c->parameters[0] != 0) x = cbx_subtract(ctx, x, cbx_mean(ctx, x, CBX_AXIS_KEEP(1)));
    return cbx_reshape(ctx, x, 2, flat);
}

CBX__OF_CALL(pairwise)
{
    const double root_atoms = sqrt((double)cbx_array_dim(c->in[0], 1));
    return cbx__all_distances(ctx, c, conformations(ctx, c), root_atoms, false);
}

#define GEOMETRIC .domain = "geometric", .direction = CBX_DIRECTION_LOWER, .low = 0, .high = INFINITY
#define SETS      GEOMETRIC, .operands = CBX__PAIR("x", "y", POINTS), .shapes = CBX_SHAPES_ROWS
#define MATCHED   GEOMETRIC, .operands = CBX__PAIR("x", "y", POINTS)
#define MOTIONS   CBX_INVARIANT_SHIFT | CBX_INVARIANT_ROTATION
#define SEARCHED  .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_EAGER
#define WEIGHTED  .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_WEIGHTED

/* clang-format off */
CBX__METRIC_TABLE(geometric,
    { .name = "chamfer_distance", .summary = "Chamfer distance of two sets of points",
      .formula = "(mean over x of min over y of ||x - y|| + mean over y of min over x of ||x - y||) / 2", SETS,
      .axioms = CBX_AXIOM_SYMMETRIC | CBX_AXIOMS_DIVERGENCE, .invariances = MOTIONS | CBX_INVARIANT_SAMPLE_ORDER, .whole = chamfer, SEARCHED,
      .notes = "The mean of both directions, of distances and not of their squares: other packages have the sum of both, or squares. No triangle inequality. The gradient is that at the nearest points.",
      .source = "Fan, Su & Guibas (2017), with distances", .example = "[[0.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0], [3.0, 0.0]]" },
    { .name = "directed_hausdorff", .summary = "Directed Hausdorff distance", .formula = "max over x of min over y of ||x - y||", SETS,
      .axioms = CBX_AXIOM_IDENTITY | CBX_AXIOM_TRIANGLE, .invariances = MOTIONS | CBX_INVARIANT_SAMPLE_ORDER, .whole = directed_hausdorff, SEARCHED,
      .notes = "How far the worst point of x is from y; 0 where x is a subset of y.",
      .source = "scipy.spatial.distance.directed_hausdorff", .example = "[[0.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0], [3.0, 0.0]]" },
    { .name = "hausdorff_distance", .summary = "Hausdorff distance", .formula = "max(directed_hausdorff(x, y), directed_hausdorff(y, x))", SETS,
      .axioms = CBX_AXIOMS_METRIC, .invariances = MOTIONS | CBX_INVARIANT_SAMPLE_ORDER, .whole = hausdorff, SEARCHED,
      .notes = "One point far from all others decides it.",
      .source = "Hausdorff (1914); scipy.spatial.distance.directed_hausdorff", .example = "[[0.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0], [3.0, 0.0]]" },
    { .name = "earth_movers_distance_1d", .summary = "Earth mover's distance of two samples of numbers",
      .formula = "integral of |F_x(t) - F_y(t)| over t, F: empirical distribution functions", GEOMETRIC, .operands = CBX__PAIR("x", "y", SAMPLE),
      .shapes = CBX_SHAPES_ROWS, .axioms = CBX_AXIOMS_METRIC, .invariances = CBX_INVARIANT_SHIFT | CBX_INVARIANT_SAMPLE_ORDER, .whole = cbx__metric_wasserstein, CBX__SMOOTH,
      .notes = "The Wasserstein distance of order 1, as wasserstein_1d. The samples may differ in size; of equal sizes it is the mean of |x - y| in sorted order.",
      .source = "scipy.stats.wasserstein_distance", .example = "[0.0, 1.0, 3.0], [5.0, 6.0, 8.0]" },
    { .name = "rmsd", .summary = "Root mean square deviation of centred points", .formula = "sqrt(mean over i of ||(x[i] - mean x) - (y[i] - mean y)||^2)", MATCHED,
      .axioms = CBX_AXIOMS_PSEUDO, .invariances = MOTIONS | CBX_INVARIANT_ORDER, .parts = deviation_parts, .merge = deviation_merge, .finish = deviation, WEIGHTED,
      .notes = "Point i of x belongs to point i of y. Shifts do not count, rotations do: see kabsch_rmsd. A mask leaves atoms out of both.",
      .source = "Kabsch (1976), without the rotation", .example = "[[0.0, 0.0], [2.0, 0.0]], [[0.0, 1.0], [2.0, 3.0]]" },
    { .name = "kabsch_rmsd", .summary = "Root mean square deviation of superposed points",
      .formula = "min over rotations R of sqrt(mean over i of ||(x[i] - mean x) R - (y[i] - mean y)||^2)", MATCHED,
      .axioms = CBX_AXIOMS_PSEUDO, .invariances = MOTIONS | CBX_INVARIANT_ORDER, .whole = superposed, WEIGHTED,
      .notes = "Mirror images do not count as rotations. Any number of dimensions.",
      .source = "Kabsch (1976); scipy.spatial.transform.Rotation.align_vectors", .example = "[[0.0, 0.0], [2.0, 0.0]], [[1.0, 0.0], [1.0, 3.0]]" },
    { .name = "pairwise_rmsd", .summary = "Root mean square deviations between all conformations", .formula = "out[i, j] = rmsd(conformations[i], conformations[j])", GEOMETRIC,
      .operands = { { "conformations", CBX_OPERAND_VECTOR_ENSEMBLE } },
      .parameters = { CBX__FLAG("centre", "move the mean of each conformation's points to the origin first", 1) },
      .invariances = CBX_INVARIANT_SHIFT | CBX_INVARIANT_ROTATION, .whole = pairwise, SEARCHED,
      .notes = "conformations (n, atoms, d); the result is a matrix (n, n). Rotations count.",
      .source = "rmsd, for all pairs", .example = "[[[0.0, 0.0], [2.0, 0.0]], [[0.0, 1.0], [2.0, 3.0]]]" },
)
/* clang-format on */
