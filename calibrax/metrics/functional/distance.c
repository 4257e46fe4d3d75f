/* Distances between two vectors, or the mean over the rows of two matrices. */
#include "calibrax/metrics/internal.h"

static cbx_array *difference(cbx_ctx *ctx, const cbx_metric_call *c) { return cbx_subtract(ctx, c->in[0], c->in[1]); }

static cbx_array *euclidean(cbx_ctx *ctx, const cbx_metric_call *c)
{
    return cbx__root(ctx, cbx_sum(ctx, cbx_square(ctx, difference(ctx, c)), CBX_AXIS(-1)));
}

static cbx_array *manhattan(cbx_ctx *ctx, const cbx_metric_call *c)
{
    return cbx_sum(ctx, cbx_abs(ctx, difference(ctx, c)), CBX_AXIS(-1));
}

static cbx_array *chebyshev(cbx_ctx *ctx, const cbx_metric_call *c)
{
    return cbx_max(ctx, cbx_abs(ctx, difference(ctx, c)), CBX_AXIS(-1));
}

static cbx_array *minkowski(cbx_ctx *ctx, const cbx_metric_call *c)
{
    const double p = c->parameters[0];
    const cbx_array *e = cbx_abs(ctx, difference(ctx, c)), *sum;

    if (isinf(p)) return cbx_max(ctx, e, CBX_AXIS(-1));
    sum = cbx_sum(ctx, cbx_pow_scalar(ctx, e, p), CBX_AXIS(-1));
    return cbx_pow_scalar(ctx, sum, 1 / p);
}

/* Norms and the inner product are of vectors divided by their largest element: no overflow, and no underflow to 0. */
static cbx_array *cosine(cbx_ctx *ctx, const cbx_metric_call *c)
{
    const cbx_array *unit[2], *dot;

    for (int i = 0; i < 2; i++) {
        const cbx_array *x = c->in[i], *one = cbx__number(ctx, 1);
        const cbx_array *largest = cbx_max(ctx, cbx_abs(ctx, cbx_stop_gradient(ctx, x)), CBX_AXIS_KEEP(-1));
        const cbx_array *scaled = cbx_divide(ctx, x, cbx_where(ctx, cbx_equal_scalar(ctx, largest, 0), one, largest));
        const cbx_array *norm = cbx__root(ctx, cbx_sum(ctx, cbx_square(ctx, scaled), CBX_AXIS_KEEP(-1)));
        unit[i] = cbx__ratio_or(ctx, scaled, norm, 0);
    }
    dot = cbx_sum(ctx, cbx_multiply(ctx, unit[0], unit[1]), CBX_AXIS(-1));
    return cbx_subtract(ctx, cbx__number(ctx, 1), dot);
}

static cbx_array *mahalanobis(cbx_ctx *ctx, const cbx_metric_call *c)
{
    const cbx_array *d = difference(ctx, c), *p = c->in[2];

    if (!p) return euclidean(ctx, c);
    return cbx__root(ctx, cbx_sum(ctx, cbx_multiply(ctx, cbx_matrix_product(ctx, d, p), d), CBX_AXIS(-1)));
}

static cbx_array *unequal(cbx_ctx *ctx, const cbx_metric_call *c)
{
    return cbx_astype(ctx, cbx_not_equal(ctx, c->in[0], c->in[1]), CBX_F64);
}

/* 1 - sum min / sum max, of two vectors of 0 0: they are equal. */
static cbx_array *jaccard(cbx_ctx *ctx, const cbx_metric_call *c)
{
    const cbx_array *both = cbx_sum(ctx, cbx_minimum(ctx, c->in[0], c->in[1]), CBX_AXIS(-1));
    const cbx_array *any = cbx_sum(ctx, cbx_maximum(ctx, c->in[0], c->in[1]), CBX_AXIS(-1));

    return cbx_subtract(ctx, cbx__number(ctx, 1), cbx__ratio_or(ctx, both, any, 1));
}

#define DISTANCE(high_) .domain = "distance", .direction = CBX_DIRECTION_LOWER, .low = 0, .high = high_
#define VECTORS(high_)  DISTANCE(high_), .operands = CBX__PAIR("x", "y", VECTORS)
#define SMOOTH          .flags = CBX_METRIC_DIFFERENTIABLE
#define ROWS            "Of two matrices the mean over their rows."

/* clang-format off */
CBX__METRIC_TABLE(distance,
    { .name = "cosine_distance", .summary = "Cosine distance", .formula = "1 - x.y / (||x|| ||y||)", VECTORS(2),
      .axioms = CBX_AXIOM_SYMMETRIC, .invariances = CBX_INVARIANT_SCALE | CBX_INVARIANT_ROTATION, .items = cosine, SMOOTH,
      .notes = ROWS " A vector of 0 has distance 1 from all. No triangle inequality: the angle has one.",
      .source = "scipy.spatial.distance.cosine", .example = "[1.0, 0.0], [1.0, 1.0]" },
    { .name = "euclidean_distance", .summary = "Euclidean distance", .formula = "sqrt(sum((x - y)^2))", VECTORS(INFINITY),
      .axioms = CBX_AXIOMS_METRIC, .invariances = CBX_INVARIANT_SHIFT | CBX_INVARIANT_ROTATION, .items = euclidean, SMOOTH, .notes = ROWS,
      .source = "scipy.spatial.distance.euclidean", .example = "[0.0, 3.0], [4.0, 0.0]" },
    { .name = "manhattan_distance", .summary = "Manhattan distance", .formula = "sum(|x - y|)", VECTORS(INFINITY),
      .axioms = CBX_AXIOMS_METRIC, .invariances = CBX_INVARIANT_SHIFT, .items = manhattan, SMOOTH, .notes = ROWS,
      .source = "scipy.spatial.distance.cityblock", .example = "[0.0, 3.0], [4.0, 0.0]" },
    { .name = "chebyshev_distance", .summary = "Chebyshev distance", .formula = "max(|x - y|)", VECTORS(INFINITY),
      .axioms = CBX_AXIOMS_METRIC, .invariances = CBX_INVARIANT_SHIFT, .items = chebyshev, SMOOTH, .notes = ROWS,
      .source = "scipy.spatial.distance.chebyshev", .example = "[0.0, 3.0], [4.0, 0.0]" },
    { .name = "minkowski_distance", .summary = "Minkowski distance", .formula = "sum(|x - y|^p)^(1/p)", VECTORS(INFINITY),
      .parameters = { { "p", "order; infinity gives the Chebyshev distance", 2, 1, INFINITY, CBX_PARAMETER_REAL, NULL } },
      .axioms = CBX_AXIOMS_METRIC, .invariances = CBX_INVARIANT_SHIFT, .items = minkowski, SMOOTH, .notes = ROWS,
      .source = "scipy.spatial.distance.minkowski", .example = "[0.0, 3.0], [4.0, 0.0], p=3" },
    { .name = "mahalanobis_distance", .summary = "Mahalanobis distance", .formula = "sqrt((x - y)^T precision_matrix (x - y))", DISTANCE(INFINITY),
      .operands = { { "x", CBX_OPERAND_VECTORS, false }, { "y", CBX_OPERAND_VECTORS, false }, { "precision_matrix", CBX_OPERAND_MATRICES, true } },
      .shapes = CBX_SHAPES_FREE, .axioms = CBX_AXIOMS_METRIC, .invariances = CBX_INVARIANT_SHIFT, .items = mahalanobis, SMOOTH,
      .notes = ROWS " precision_matrix is the inverse of the covariance; left out, it is the identity. A metric where it is positive definite.",
      .source = "scipy.spatial.distance.mahalanobis", .example = "[0.0, 3.0], [4.0, 0.0], [[1.0, 0.5], [0.5, 1.0]]" },
    { .name = "hamming_distance", .summary = "Hamming distance", .formula = "mean(x != y)", DISTANCE(1), .operands = CBX__PAIR("x", "y", REAL),
      .axioms = CBX_AXIOMS_METRIC, .invariances = CBX_INVARIANT_ORDER, .items = unequal,
      .notes = "The share of elements that differ. NaN differs from all.",
      .source = "scipy.spatial.distance.hamming", .example = "[1, 0, 1, 1], [1, 1, 1, 0]" },
    { .name = "jaccard_distance", .summary = "Jaccard distance of weights", .formula = "1 - sum(min(x, y)) / sum(max(x, y))", DISTANCE(1),
      .operands = CBX__PAIR("x", "y", NONNEGATIVE), .axioms = CBX_AXIOMS_METRIC, .invariances = CBX_INVARIANT_COMMON_SCALE, .items = jaccard, SMOOTH,
      .notes = ROWS " Of 0 and 1 it is the Jaccard distance of sets. Two empty sets have distance 0.",
      .source = "Ruzicka (1958); scipy.spatial.distance.jaccard", .example = "[1, 0, 1, 1], [1, 1, 1, 0]" },
)
/* clang-format on */
