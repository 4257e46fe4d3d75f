/* Generated samples against real ones: distances of their features, coverage, copies. */
#include "calibrax/array/linalg.h"
#include "calibrax/metrics/functional/moments.h"
#include "calibrax/metrics/nearest.h"

/* Of all metrics here operand 0 holds the real rows, operand 1 the generated ones. */
enum { REAL, GENERATED, MAX_SPLITS = 256 };

/* ---- means and covariances ---- */

cbx_array *cbx__moments(cbx_ctx *ctx, const cbx_array *x)
{
    const cbx_array *n = cbx__number(ctx, (double)cbx_array_dim(x, 0)), *mean = cbx_mean(ctx, x, CBX_AXIS_KEEP(0));
    const cbx_array *d = cbx_subtract(ctx, x, mean);
    const cbx_array *products = cbx_matrix_product(ctx, cbx_matrix_transpose(ctx, d), d);
    const cbx_array *parts[] = { cbx_expand_dims(ctx, n, 0), cbx_flatten(ctx, mean), cbx_flatten(ctx, products) };

    return cbx_concat(ctx, 3, parts, 0);
}

CBX__OF_CALL(feature_parts)
{
    const cbx_array *both[] = { cbx__moments(ctx, c->in[REAL]), cbx__moments(ctx, c->in[GENERATED]) };
    return cbx_stack(ctx, 2, both, 0);
}

typedef struct distribution {
    cbx_array *n, *mean, *products; /* (), (d), (d, d) */
} distribution;

static distribution distribution_of(cbx_ctx *ctx, const cbx_array *parts, ptrdiff_t which)
{
    const cbx_array *row = cbx_index(ctx, parts, 0, which);
    ptrdiff_t d = 0;

    while (1 + d + d * d < (ptrdiff_t)cbx_array_dim(row, 0)) d++; /* [n, mean, products] */
    const ptrdiff_t square[] = { d, d };
    return (distribution){ cbx_index(ctx, row, 0, 0), cbx_slice(ctx, row, 0, 1, 1 + d, 1),
                           cbx_reshape(ctx, cbx_slice(ctx, row, 0, 1 + d, CBX_OPEN, 1), 2, square) };
}

/* With products of all pairs of features. */
cbx_array *cbx__moments_merge(cbx_ctx *ctx, CBX__UNUSED const cbx_metric_call *c, const cbx_array *x,
                              const cbx_array *y)
{
    const cbx_array *rows[2];

    for (int i = 0; i < 2; i++) {
        const distribution a = distribution_of(ctx, x, i), b = distribution_of(ctx, y, i);
        const cbx__joint j = cbx__join_weights(ctx, a.n, b.n);
        const cbx_array *gap = cbx_subtract(ctx, b.mean, a.mean);
        const cbx_array *products = cbx__join_products(ctx, &j, a.products, b.products, cbx_outer(ctx, gap, gap));
        const cbx_array *mean = cbx__join_means(ctx, &j, a.mean, gap);
        const cbx_array *parts[] = { cbx_expand_dims(ctx, j.n, 0), mean, cbx_flatten(ctx, products) };
        rows[i] = cbx_concat(ctx, 3, parts, 0);
    }
    return cbx_stack(ctx, 2, rows, 0);
}

/*
 * H with S = H H^T: Cholesky's factor of matrices with data that have one, else V D^1/2 of
 * S = V D V^T, where rounding may have made some of D negative.
 */
static const cbx_array *half_of(cbx_ctx *ctx, const cbx_array *s)
{
    const bool data = !cbx__is_traced(ctx) && !cbx_array_is_abstract(s) && !cbx_array_is_failed(s);
    cbx_err err = CBX_ERR_INIT;
    const cbx_array *l = data ? cbx__factor(ctx, s, &err) : NULL;

    if (l) return l;
    if (err.status && err.status != CBX_EDOM) return cbx__refuse(ctx, err.status, "%s", err.message);
    const cbx_eigh_parts e = cbx_eigh(ctx, s);
    return cbx_multiply(ctx, e.vectors, cbx_expand_dims(ctx, cbx__root(ctx, cbx_maximum_scalar(ctx, e.values, 0)), -2));
}

/*
 * |m1 - m2|^2 + tr(S1) + tr(S2) - 2 tr((S1 S2)^1/2) of m (..., d) and S (..., d, d).  With
 * S1 = H H^T the eigenvalues of S1 S2 are those of H^T S2 H.
 */
static cbx_array *frechet(cbx_ctx *ctx, const cbx_array *m1, const cbx_array *s1, const cbx_array *m2,
                          const cbx_array *s2)
{
    const cbx_array *half = half_of(ctx, s1);
    const cbx_array *inner = cbx_matrix_product(ctx, cbx_matrix_transpose(ctx, half),
                                                cbx_matrix_product(ctx, s2, half));
    const cbx_array *values = cbx_maximum_scalar(ctx, cbx_eigvalsh(ctx, inner), 0);
    const cbx_array *cross = cbx_sum(ctx, cbx__root(ctx, values), CBX_AXIS(-1));
    const cbx_array *means = cbx_sum(ctx, cbx_square(ctx, cbx_subtract(ctx, m1, m2)), CBX_AXIS(-1));
    const cbx_array *traces = cbx_add(ctx, cbx_trace(ctx, s1, 0), cbx_trace(ctx, s2, 0));

    return cbx_maximum_scalar(ctx, cbx_add(ctx, means, cbx_subtract(ctx, traces, cbx_multiply_scalar(ctx, cross, 2))),
                              0);
}

cbx_array *cbx__frechet(cbx_ctx *ctx, CBX__UNUSED const cbx_metric_call *c, const cbx_array *state)
{
    const distribution a = distribution_of(ctx, state, REAL), b = distribution_of(ctx, state, GENERATED);

    return frechet(ctx, a.mean, cbx_divide(ctx, a.products, cbx_subtract_scalar(ctx, a.n, 1)), b.mean,
                   cbx_divide(ctx, b.products, cbx_subtract_scalar(ctx, b.n, 1)));
}

CBX__OF_CALL(frechet_of_moments)
{
    for (size_t i = 0; i < 4; i += 2) {
        const cbx_array *mean = c->in[i], *covariance = c->in[i + 1];
        const int n = cbx_array_ndim(mean);
        const size_t d = cbx_array_dim(mean, n - 1);
        if (cbx_array_ndim(covariance) != n + 1 || cbx_array_dim(covariance, n - 1) != d ||
            cbx_array_dim(covariance, n) != d || cbx_array_dim(mean, 0) != cbx_array_dim(covariance, 0))
            return cbx__metric_refuse(ctx, c, CBX_ESHAPE, "'%s' must be a matrix of %zu by %zu for each mean, not %s",
                                      c->metric->operands[i + 1].name, d, d, CBX__TEXT_OF(covariance));
    }
    return frechet(ctx, c->in[0], c->in[1], c->in[2], c->in[3]);
}

/* 1 - mean gap between the correlations of two features, over all pairs. */
CBX__OF_STATE(correlation_preservation, state)
{
    const cbx_array *r[2], *gaps;
    double pairs = 0;

    for (int i = 0; i < 2; i++) {
        const distribution a = distribution_of(ctx, state, i);
        const cbx_array *s = cbx_diagonal(ctx, a.products, 0), *zero = cbx__number(ctx, 0);
        s = cbx__root(ctx, cbx_where(ctx, cbx__is_constant(ctx, a.n, a.mean, s), zero, s));
        const double d = (double)cbx_array_dim(s, 0);
        r[i] = cbx__ratio_or(ctx, a.products, cbx_outer(ctx, s, s), 0);
        pairs = d * (d - 1);
    }
    gaps = cbx_abs(ctx, cbx_subtract(ctx, r[0], r[1]));
    gaps = cbx_subtract(ctx, cbx_sum(ctx, gaps, NULL), cbx_trace(ctx, gaps, 0));
    if (pairs == 0) return cbx__number(ctx, 1);
    return cbx_maximum_scalar(ctx, cbx_subtract(ctx, cbx__number(ctx, 1), cbx_divide_scalar(ctx, gaps, pairs)), 0);
}

/* ---- of class probabilities ---- */

/* exp of the mean divergence of rows first..last-1 from their mean. */
static cbx_array *score_of_rows(cbx_ctx *ctx, const cbx_array *p, ptrdiff_t first, ptrdiff_t last)
{
    const cbx_array *rows = cbx_slice(ctx, p, 0, first, last, 1), *mean = cbx_mean(ctx, rows, CBX_AXIS_KEEP(0));
    const cbx_array *terms = cbx_subtract(ctx, cbx__xlogy(ctx, rows, rows), cbx__xlogy(ctx, rows, mean));

    return cbx_exp(ctx, cbx_mean(ctx, cbx_sum(ctx, terms, CBX_AXIS(-1)), NULL));
}

CBX__OF_CALL(inception_scores)
{
    const size_t n = cbx_array_dim(c->in[0], 0), splits = (size_t)c->parameters[0];
    const cbx_array *scores[MAX_SPLITS];

    if (splits > n)
        return cbx__metric_refuse(ctx, c, CBX_EINVAL, "'splits' is %zu: it must be at most the number of items, %zu",
                                  splits, n);
    for (size_t i = 0; i < splits; i++)
        scores[i] = score_of_rows(ctx, c->in[0], (ptrdiff_t)(i * n / splits), (ptrdiff_t)((i + 1) * n / splits));
    return cbx_stack(ctx, splits, scores, 0);
}

CBX__OF_CALL(inception_score) { return cbx_mean(ctx, inception_scores(ctx, c), NULL); }

/* ---- of neighbours ---- */

/* Squared distances of rows first..last-1 of operand 1 from all rows of operand 0: (rows, n). */
static cbx_array *distances(cbx_ctx *ctx, const cbx_metric_call *c, size_t first, size_t last)
{
    const cbx_array *x = cbx_slice(ctx, c->in[1], 0, (ptrdiff_t)first, (ptrdiff_t)last, 1);
    const cbx_array *d = cbx_subtract(ctx, cbx_expand_dims(ctx, x, 1), cbx_expand_dims(ctx, c->in[0], 0));

    return cbx_sum(ctx, cbx_square(ctx, d), CBX_AXIS(-1));
}

/* Of a call whose operands are the same rows: squared distance of each to its k-th neighbour. */
static cbx_array *radii_of_rows(cbx_ctx *ctx, const cbx_metric_call *c, size_t first, size_t last)
{
    const size_t k = (size_t)c->parameters[0];
    return cbx_index(ctx, cbx_sort(ctx, distances(ctx, c, first, last), -1, false), -1, (ptrdiff_t)k);
}

/* A call of the same metric with other rows in place of its operands. */
static cbx_metric_call with_rows(const cbx_metric_call *c, cbx_array **in, cbx_array *reference, cbx_array *x)
{
    cbx_metric_call other = *c;

    in[0] = reference;
    in[1] = x;
    in[2] = NULL;
    other.in = in;
    return other;
}

static cbx_array *radii(cbx_ctx *ctx, const cbx_metric_call *c, cbx_array *x)
{
    const size_t n = cbx_array_dim(x, 0), k = (size_t)c->parameters[0];
    cbx_array *in[3], *squares;
    const cbx_metric_call own = with_rows(c, in, x, x);

    if (k >= n)
        return cbx__metric_refuse(ctx, c, CBX_EINVAL, "'k' is %zu: it must be below the number of rows, %zu", k, n);
    squares = cbx__kth_squares(ctx, c, x, x, k);
    return squares ? squares : cbx__by_rows(ctx, &own, n, n * cbx_array_dim(x, 1), radii_of_rows);
}

CBX__OF_CALL(manifold_radii) { return cbx__nan_or(ctx, c, cbx__root(ctx, radii(ctx, c, c->in[0]))); }

/* Number of balls of operand 0, whose squared radii are operand 2, that cover rows first..last-1 of
 * operand 1. */
static cbx_array *covering_rows(cbx_ctx *ctx, const cbx_metric_call *c, size_t first, size_t last)
{
    const cbx_array *inside = cbx_less_equal(ctx, distances(ctx, c, first, last), c->in[2]);
    return cbx_astype(ctx, cbx_count_nonzero(ctx, inside, CBX_AXIS(-1)), CBX_F64);
}

/* The same for all rows. */
static cbx_array *covering(cbx_ctx *ctx, const cbx_metric_call *c, int reference)
{
    cbx_array *in[4], *x = c->in[!reference], *counts;
    cbx_metric_call other = with_rows(c, in, c->in[reference], x);

    in[2] = radii(ctx, c, c->in[reference]);
    in[3] = NULL;
    counts = cbx__covering_balls(ctx, c, x, in[0], in[2]);
    if (counts) return counts;
    return cbx__by_rows(ctx, &other, cbx_array_dim(x, 0), cbx_array_count(in[0]), covering_rows);
}

static cbx_array *covered(cbx_ctx *ctx, const cbx_metric_call *c, int reference)
{
    const cbx_array *some = cbx_greater_scalar(ctx, covering(ctx, c, reference), 0);
    return cbx__nan_or(ctx, c, cbx_mean(ctx, cbx_astype(ctx, some, CBX_F64), NULL));
}

CBX__OF_CALL(manifold_precision) { return covered(ctx, c, REAL); }
CBX__OF_CALL(manifold_recall) { return covered(ctx, c, GENERATED); }

/* Number of balls that cover a row, over k. */
static cbx_array *density(cbx_ctx *ctx, const cbx_metric_call *c, int reference)
{
    const cbx_array *share = cbx_divide_scalar(ctx, covering(ctx, c, reference), c->parameters[0]);
    return cbx__nan_or(ctx, c, cbx_mean(ctx, share, NULL));
}

CBX__OF_CALL(density_precision) { return density(ctx, c, REAL); }
CBX__OF_CALL(density_recall) { return density(ctx, c, GENERATED); }

static cbx_array *min_of_rows(cbx_ctx *ctx, const cbx_metric_call *c, size_t first, size_t last)
{
    return cbx_min(ctx, distances(ctx, c, first, last), CBX_AXIS(-1));
}

/* Squared distances of generated rows to the nearest real one. */
CBX__OF_CALL(nearest)
{
    cbx_array *squares = cbx__kth_squares(ctx, c, c->in[GENERATED], c->in[REAL], 0);

    if (squares) return squares;
    return cbx__by_rows(ctx, c, cbx_array_dim(c->in[GENERATED], 0), cbx_array_count(c->in[REAL]), min_of_rows);
}

/* The same with both sets moved and divided so that each feature of all rows lies between 0 and
 * 1. */
CBX__OF_CALL(closest_record)
{
    const cbx_array *all = cbx_concat(ctx, 2, (const cbx_array *[]){ c->in[0], c->in[1] }, 0);
    const cbx_array *low = cbx_min(ctx, all, CBX_AXIS_KEEP(0));
    const cbx_array *width = cbx_subtract(ctx, cbx_max(ctx, all, CBX_AXIS_KEEP(0)), low);
    cbx_array *in[3], *x[2];
    cbx_metric_call scaled;

    for (int i = 0; i < 2; i++) x[i] = cbx__ratio_or(ctx, cbx_subtract(ctx, c->in[i], low), width, 0);
    scaled = with_rows(c, in, x[0], x[1]);
    return cbx_mean(ctx, nearest(ctx, &scaled), NULL);
}

CBX__OF_CALL(copies)
{
    const cbx_array *same = cbx_equal_scalar(ctx, nearest(ctx, c), 0);
    return cbx__nan_or(ctx, c, cbx_mean(ctx, cbx_astype(ctx, same, CBX_F64), NULL));
}

#define GENERATIVE(...) CBX__ROW("generative", __VA_ARGS__)
#define SETS(better, low_, high_)                                                                                      \
    GENERATIVE(better, low_, high_), .operands = CBX__PAIR("real", "generated", POINTS), .shapes = CBX_SHAPES_ROWS,    \
                                     .invariances = CBX_INVARIANT_SAMPLE_ORDER
#define NEIGHBOURS(k_) .parameters = { CBX__INTEGER("k", "neighbour that a ball reaches to", k_, 1, 0x1p31) }
#define FULL_RANK                                                                                                      \
    "Gradients need positive definite covariances, the first one with eigenvalues that differ where it is "            \
    "differentiated."
#define BALLS                                                                                                          \
    "The ball around a row reaches to its k-th neighbour in the same set. Copies of a row make its ball a point."

/* clang-format off */
CBX__METRIC_TABLE(generative,
    { .name = "frechet_feature_distance", .summary = "Frechet distance of features", .formula = "|m1 - m2|^2 + tr(S1 + S2 - 2 (S1 S2)^(1/2))", SETS(LOWER, 0, INFINITY),
      .axioms = CBX_AXIOM_SYMMETRIC, .parts = feature_parts, .merge = cbx__moments_merge, .finish = cbx__frechet, .flags = CBX_METRIC_EAGER | CBX_METRIC_DIFFERENTIABLE,
      .notes = "m and S are means and covariances (n - 1) of the rows. With features of an Inception network it is the FID. One row in a set gives NaN. " FULL_RANK,
      .source = "Heusel et al. (2017); Dowson & Landau (1982)", .example = "[[0.0, 1.0], [2.0, 0.0], [1.0, 3.0]], [[1.0, 1.0], [3.0, 0.0], [1.0, 4.0]]" },
    { .name = "frechet_distance", .summary = "Frechet distance of normal distributions", .formula = "|m1 - m2|^2 + tr(S1 + S2 - 2 (S1 S2)^(1/2))", GENERATIVE(LOWER, 0, INFINITY),
      .operands = { { "real_mean", CBX_OPERAND_VECTORS }, { "real_covariance", CBX_OPERAND_SEMIDEFINITE }, { "generated_mean", CBX_OPERAND_VECTORS }, { "generated_covariance", CBX_OPERAND_SEMIDEFINITE } },
      .shapes = CBX_SHAPES_FREE, .invariances = CBX_INVARIANT_ORDER, .items = frechet_of_moments, .flags = CBX_METRIC_EAGER | CBX_METRIC_DIFFERENTIABLE,
      .notes = "Of means (d) and covariances (d, d) that were computed before, or of n of each, (n, d) and (n, d, d). Covariances that are not symmetric, or have an eigenvalue below -1e-8 of the largest element of the diagonal, are refused. frechet_feature_distance and fid compute them from features. " FULL_RANK,
      .source = "Dowson & Landau (1982)", .example = "[0.0, 1.0], [[2.0, 0.5], [0.5, 1.0]], [1.0, 1.0], [[1.0, 0.0], [0.0, 1.0]]" },
    { .name = "inception_score", .summary = "Inception score", .formula = "mean over splits of exp(mean KL(row, mean of the rows))", GENERATIVE(HIGHER, 1, INFINITY),
      .operands = { { "probabilities", CBX_OPERAND_CLASS_PROBABILITIES } }, .whole = inception_score, .flags = CBX_METRIC_DIFFERENTIABLE,
      .parameters = { CBX__INTEGER("splits", "parts of the rows, one behind the other", 10, 1, MAX_SPLITS) },
      .notes = "At most the number of classes. It sees no real data: one perfect item of each class has the best score. Small splits bias it down, so that only scores of as many rows and splits compare.",
      .source = "Salimans et al. (2016)", .example = "[[0.9, 0.1], [0.2, 0.8], [0.5, 0.5], [0.1, 0.9]], splits=2" },
    { .name = "inception_score_per_split", .summary = "Inception score of each split", .formula = "exp(mean KL(row, mean of the rows)) of each split", GENERATIVE(INFO, 1, INFINITY),
      .operands = { { "probabilities", CBX_OPERAND_CLASS_PROBABILITIES } }, .whole = inception_scores, .flags = CBX_METRIC_DIFFERENTIABLE,
      .parameters = { CBX__INTEGER("splits", "parts of the rows, one behind the other", 10, 1, MAX_SPLITS) },
      .notes = "The rows are split in the order that they come in: shuffle rows that are sorted by class, each of whose splits scores near 1. Numbers of rows of splits differ by at most one.",
      .source = "Salimans et al. (2016)", .example = "[[0.9, 0.1], [0.2, 0.8], [0.5, 0.5], [0.1, 0.9]], splits=2" },
    { .name = "correlation_preservation", .summary = "Preservation of correlations", .formula = "1 - mean over pairs of features of |corr(real) - corr(generated)|", SETS(HIGHER, 0, 1),
      .parts = feature_parts, .merge = cbx__moments_merge, .finish = correlation_preservation, .flags = CBX_METRIC_DIFFERENTIABLE,
      .notes = "0 where the mean gap is above 1. A constant feature has correlation 0 with all. 1 of a single feature.", .source = "numpy.corrcoef", .example = "[[0.0, 1.0], [2.0, 0.0], [1.0, 3.0]], [[1.0, 1.0], [3.0, 0.0], [1.0, 4.0]]" },
    { .name = "manifold_precision", .summary = "Improved precision", .formula = "share of generated rows in a ball around a real one", SETS(HIGHER, 0, 1), NEIGHBOURS(3), .whole = manifold_precision,
      .flags = CBX_METRIC_EAGER, .notes = BALLS, .source = "Kynkaanniemi et al. (2019)", .example = "[[0.0], [1.0], [2.0], [3.0]], [[0.5], [9.0], [1.5], [2.5]], k=1" },
    { .name = "manifold_recall", .summary = "Improved recall", .formula = "share of real rows in a ball around a generated one", SETS(HIGHER, 0, 1), NEIGHBOURS(3), .whole = manifold_recall,
      .flags = CBX_METRIC_EAGER, .notes = BALLS, .source = "Kynkaanniemi et al. (2019)", .example = "[[0.0], [1.0], [2.0], [3.0]], [[0.5], [9.0], [1.5], [2.5]], k=1" },
    { .name = "density_weighted_precision", .summary = "Density", .formula = "mean number of balls around real rows that cover a generated one, over k", SETS(HIGHER, 0, INFINITY), NEIGHBOURS(5), .whole = density_precision,
      .flags = CBX_METRIC_EAGER, .notes = BALLS " Above 1 where generated rows lie where real ones are dense.", .source = "Naeem et al. (2020), density", .example = "[[0.0], [1.0], [2.0], [3.0]], [[0.5], [9.0], [1.5], [2.5]], k=1" },
    { .name = "density_weighted_recall", .summary = "Density of real rows", .formula = "mean number of balls around generated rows that cover a real one, over k", SETS(HIGHER, 0, INFINITY), NEIGHBOURS(5), .whole = density_recall,
      .flags = CBX_METRIC_EAGER, .notes = BALLS, .source = "Naeem et al. (2020), density with the sets exchanged", .example = "[[0.0], [1.0], [2.0], [3.0]], [[0.5], [9.0], [1.5], [2.5]], k=1" },
    { .name = "manifold_radii", .summary = "Radii of the balls of a set", .formula = "distance of each row to its k-th neighbour", GENERATIVE(INFO, 0, INFINITY), .operands = { { "points", CBX_OPERAND_POINTS } },
      .flags = CBX_METRIC_EAGER | CBX_METRIC_DIFFERENTIABLE, NEIGHBOURS(3), .whole = manifold_radii, .invariances = CBX_INVARIANT_SHIFT | CBX_INVARIANT_ROTATION, .notes = "A row is not its own neighbour, but its copies are: radii are 0 where a row occurs more than k times. One feature of a large scale decides the distances: scale features first.",
      .source = "Kynkaanniemi et al. (2019)", .example = "[[0.0], [1.0], [3.0]], k=1" },
    { .name = "distance_to_closest_record", .summary = "Distance to the closest record", .formula = "mean squared distance of generated rows to the nearest real one, features between 0 and 1", SETS(HIGHER, 0, INFINITY), .whole = closest_record,
      .flags = CBX_METRIC_EAGER | CBX_METRIC_DIFFERENTIABLE, .notes = "Each feature is moved and divided by its range over both sets. Small values warn of copies.", .source = "Zhao et al., CTAB-GAN (2021)", .example = "[[0.0, 1.0], [2.0, 0.0]], [[1.0, 1.0], [2.0, 0.5]]" },
    { .name = "memorization_rate", .summary = "Memorization rate", .formula = "share of generated rows that equal a real one", SETS(LOWER, 0, 1), .whole = copies,
      .flags = CBX_METRIC_EAGER, .notes = "Only exact copies count: a copy that differs in the last bit does not, and float32 against float64 seldom does. distance_to_closest_record sees near copies. Rows of few categories are equal by chance.",
      .source = "scipy.spatial.distance.cdist", .example = "[[0.0, 1.0], [2.0, 0.0]], [[1.0, 1.0], [2.0, 0.0]]" },
)
/* clang-format on */
