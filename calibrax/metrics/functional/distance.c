/* Distances between two vectors, or the mean over the rows of two matrices. */
#include "calibrax/array/internal.h"
#include "calibrax/metrics/functional/rows.h"

CBX__OF_CALL(euclidean) { return cbx__root(ctx, cbx_sum(ctx, cbx_square(ctx, cbx__difference(ctx, c)), CBX_AXIS(-1))); }

CBX__OF_CALL(manhattan) { return cbx_sum(ctx, cbx_abs(ctx, cbx__difference(ctx, c)), CBX_AXIS(-1)); }

CBX__OF_CALL(chebyshev) { return cbx_max(ctx, cbx_abs(ctx, cbx__difference(ctx, c)), CBX_AXIS(-1)); }

CBX__OF_CALL(minkowski)
{
    const double p = c->parameters[0];
    const cbx_array *e, *sum;

    if (isinf(p)) return chebyshev(ctx, c);
    if (p == 1) return manhattan(ctx, c);
    if (p == 2) return euclidean(ctx, c);
    e = cbx_abs(ctx, cbx__difference(ctx, c));
    sum = cbx_sum(ctx, cbx_pow_scalar(ctx, e, p), CBX_AXIS(-1));
    return cbx_pow_scalar(ctx, sum, 1 / p);
}

/* ---- rows with data ---- */

/* Whether vectors are read in C, row by row: their sums are leaves of cbx_sum's tree. */
static bool in_rows(cbx_ctx *ctx, const cbx_metric_call *c)
{
    return cbx__rows_are_here(ctx, c) && cbx_array_dim(c->in[0], cbx_array_ndim(c->in[0]) - 1) <= CBX__LEAF;
}

/* Defines the loop `rows` of of_row(x, y, d). */
#define OF_ROWS(rows, of_row)                                                                                          \
    static void rows(cbx_ctx *ctx, const cbx_metric_call *c, const double *x, const void *y, size_t n, size_t d,       \
                     void *out)                                                                                        \
    {                                                                                                                  \
        (void)ctx, (void)c;                                                                                            \
        for (size_t i = 0; i < n; i++) ((double *)out)[i] = of_row(x + i * d, (const double *)y + i * d, d);           \
    }

/* ---- cosine ---- */

/* [x.x, y.y, x.y] of at most CBX__LEAF numbers in the order of cbx_sum. */
static void products(const double *x, const double *y, size_t d, double scale_x, double scale_y, double *out)
{
    double s[3][CBX__LANES] = { { 0 } };
    size_t k = 0;

    for (; k + CBX__LANES <= d; k += CBX__LANES)
        for (size_t l = 0; l < CBX__LANES; l++) {
            const double u = x[k + l] * scale_x, v = y[k + l] * scale_y;
            s[0][l] += u * u;
            s[1][l] += v * v;
            s[2][l] += u * v;
        }
    for (size_t i = 0; i < 3; i++) out[i] = k ? cbx__lanes_joined(s[i]) : 0;
    for (; k < d; k++) {
        const double u = x[k] * scale_x, v = y[k] * scale_y;
        out[0] += u * u;
        out[1] += v * v;
        out[2] += u * v;
    }
}

/* Between these the squares of what counts neither overflow nor underflow. */
#define SMALL 0x1p-250
#define LARGE 0x1p250

/* What a vector is multiplied by: the reciprocal of its largest element, 1 if that is neither small
 * nor large. */
static double factor_of(const double *x, size_t d)
{
    double largest = 0x1p-1021;
    for (size_t k = 0; k < d; k++) largest = !(fabs(x[k]) <= largest) ? fabs(x[k]) : largest;
    return largest >= SMALL && largest <= LARGE ? 1 : 1 / largest;
}

/* In one pass if the squares prove that both factors are 1. */
static double cosine_of_row(const double *x, const double *y, size_t d)
{
    const double low = SMALL * SMALL * 2 * (double)d, high = LARGE * LARGE / 2;
    double p[3];

    products(x, y, d, 1, 1, p);
    if (!(p[0] > low && p[1] > low && p[0] < high && p[1] < high))
        products(x, y, d, factor_of(x, d), factor_of(y, d), p);
    return p[0] == 0 || p[1] == 0 ? 1 : 1 - p[2] / sqrt(p[0] * p[1]);
}

OF_ROWS(cosine_rows, cosine_of_row)

/*
 * Of vectors times the reciprocal of their largest element, where it is small or large: no
 * overflow, and no underflow to 0. The reciprocal of what is smaller than 2^-1021 would be
 * infinite; that of 2^-1021 still makes its squares normal.
 */
CBX__OF_CALL(cosine)
{
    const cbx_array *x[2], *squares[2], *dot;

    if (in_rows(ctx, c)) return cbx__of_rows(ctx, c, CBX_F64, cosine_rows);
    for (int i = 0; i < 2; i++) {
        const cbx_array *largest = cbx_max(ctx, cbx_abs(ctx, cbx_stop_gradient(ctx, c->in[i])), CBX_AXIS_KEEP(-1));
        const cbx_array *usual = cbx_logical_and(ctx, cbx_greater_equal_scalar(ctx, largest, SMALL),
                                                 cbx_less_equal_scalar(ctx, largest, LARGE));
        const cbx_array *factor = cbx_reciprocal(ctx, cbx_maximum_scalar(ctx, largest, 0x1p-1021));
        factor = cbx_where(ctx, usual, cbx__number(ctx, 1), factor);
        x[i] = cbx_multiply(ctx, c->in[i], factor);
        squares[i] = cbx_sum(ctx, cbx_square(ctx, x[i]), CBX_AXIS(-1));
    }
    dot = cbx_sum(ctx, cbx_multiply(ctx, x[0], x[1]), CBX_AXIS(-1));
    dot = cbx__ratio_or(ctx, dot, cbx__root(ctx, cbx_multiply(ctx, squares[0], squares[1])), 0);
    return cbx_subtract(ctx, cbx__number(ctx, 1), dot);
}

CBX__OF_CALL(mahalanobis)
{
    const cbx_array *d = cbx__difference(ctx, c), *p = c->in[2];

    if (!p) return euclidean(ctx, c);
    return cbx__root(ctx, cbx_sum(ctx, cbx_multiply(ctx, cbx_matrix_product(ctx, d, p), d), CBX_AXIS(-1)));
}

CBX__OF_CALL(unequal) { return cbx_astype(ctx, cbx_not_equal(ctx, c->in[0], c->in[1]), CBX_F64); }

/* 1 - sum min / sum max, of two vectors of 0 0: they are equal. */
CBX__OF_CALL(jaccard)
{
    const cbx_array *both = cbx_sum(ctx, cbx_minimum(ctx, c->in[0], c->in[1]), CBX_AXIS(-1));
    const cbx_array *any = cbx_sum(ctx, cbx_maximum(ctx, c->in[0], c->in[1]), CBX_AXIS(-1));

    return cbx_subtract(ctx, cbx__number(ctx, 1), cbx__ratio_or(ctx, both, any, 1));
}

/* ---- curved spaces ---- */

static cbx_array *dot(cbx_ctx *ctx, const cbx_array *x, const cbx_array *y)
{
    return cbx_sum(ctx, cbx_multiply(ctx, x, y), CBX_AXIS(-1));
}

/*
 * Whether the number of each row in x is below bound, or the row does not count; NULL, recorded:
 * one with data is not, and is named by its place.
 */
static const cbx_array *below(cbx_ctx *ctx, const cbx_metric_call *c, size_t operand, const cbx_array *x, double bound,
                              const char *what)
{
    const cbx_array *inside = cbx_less_scalar(ctx, x, bound);
    size_t row;

    if (c->weights) inside = cbx_logical_or(ctx, inside, cbx_equal_scalar(ctx, c->weights, 0));
    if (!cbx__metric_has_data(ctx, c) || cbx__metric_element(cbx_all(ctx, inside, NULL), 0) != 0) return inside;
    row = (size_t)cbx__metric_element(cbx_argmin(ctx, inside, NULL), 0);
    return cbx__metric_refuse(ctx, c, CBX_EDOM, "'%s': %s of row %zu is %s", c->metric->operands[operand].name, what,
                              row, CBX__TEXT_NUMBER(cbx__metric_element(x, row))),
           NULL;
}

/* sinh(sqrt(c) d / 2) = sqrt(c) |x - y| / sqrt((1 - c |x|^2) (1 - c |y|^2)): no cancellation for
 * points that are close. */
CBX__OF_CALL(poincare)
{
    const double k = c->parameters[0];
    const cbx_array *e = cbx__difference(ctx, c), *inside[2], *ratio;

    for (size_t i = 0; i < 2; i++) {
        const cbx_array *norm = cbx_multiply_scalar(ctx, dot(ctx, c->in[i], c->in[i]), k);
        if (!below(ctx, c, i, norm, 1, "curvature |x|^2 must be below 1, and that")) return cbx__array_failed();
        norm = cbx_where(ctx, cbx_less_scalar(ctx, norm, 1), norm, cbx__number(ctx, NAN)); /* of a trace */
        inside[i] = cbx_subtract(ctx, cbx__number(ctx, 1), norm);
    }
    ratio = cbx_divide(ctx, cbx_multiply_scalar(ctx, dot(ctx, e, e), k), cbx_multiply(ctx, inside[0], inside[1]));
    return cbx_multiply_scalar(ctx, cbx_asinh(ctx, cbx__root(ctx, ratio)), 2 / sqrt(k));
}

/* -x0 y0 + x1 y1 + ... */
static cbx_array *lorentz_product(cbx_ctx *ctx, const cbx_array *x, const cbx_array *y)
{
    const cbx_array *time = cbx_multiply(ctx, cbx_index(ctx, x, -1, 0), cbx_index(ctx, y, -1, 0));
    const cbx_array *space = dot(ctx, cbx_slice(ctx, x, -1, 1, CBX_OPEN, 1), cbx_slice(ctx, y, -1, 1, CBX_OPEN, 1));

    return cbx_subtract(ctx, space, time);
}

enum { TIME, SPACE }; /* places of a point's numbers */

/* Relative error of -x0^2 + x1^2 + ... = -1, up to which x is a point of the hyperboloid. */
#define OFF 1e-6

static bool is_on_hyperboloid(const double *x, size_t d)
{
    const double product = cbx__row_squares(x + SPACE, NULL, d - 1) - x[TIME] * x[TIME];
    return x[TIME] > 0 && fabs(product + 1) / (x[TIME] * x[TIME] + 1) < OFF;
}

/* sqrt(<x - y, x - y>) / 2; NaN where one of them is not a point. */
static double half_chord(const double *x, const double *y, size_t d)
{
    const double e = x[TIME] - y[TIME], square = cbx__row_squares(x + SPACE, y + SPACE, d - 1) - e * e;

    return is_on_hyperboloid(x, d) && is_on_hyperboloid(y, d) ? sqrt(square > 0 ? square : 0) * 0.5 : NAN;
}

OF_ROWS(half_chord_rows, half_chord)

/* The same by steps, which refuse a row that is not a point by its place; NaN in a trace. */
static const cbx_array *half_chords(cbx_ctx *ctx, const cbx_metric_call *c)
{
    const cbx_array *e = cbx__difference(ctx, c), *half;

    half = cbx__root(ctx, cbx_maximum(ctx, lorentz_product(ctx, e, e), cbx__number(ctx, 0)));

    for (size_t i = 0; i < 2; i++) {
        const cbx_array *x = c->in[i], *time = cbx_index(ctx, x, -1, 0);
        const cbx_array *off = cbx_abs(ctx, cbx_add_scalar(ctx, lorentz_product(ctx, x, x), 1));
        const cbx_array *scale = cbx_add_scalar(ctx, cbx_square(ctx, time), 1), *future, *on;
        future = below(ctx, c, i, cbx_negative(ctx, time), 0, "the first number must be positive, and minus that");
        on = future ? below(ctx, c, i, cbx_divide(ctx, off, scale), OFF,
                            "-x0^2 + x1^2 + ... must be -1, and its relative error")
                    : NULL;
        if (!on) return cbx__array_failed();
        half = cbx__nan_unless(ctx, c, cbx_logical_and(ctx, future, on), half);
    }
    return cbx_multiply_scalar(ctx, half, 0.5);
}

/* cosh(d) = -<x, y>, so that sinh(d / 2)^2 = <x - y, x - y> / 4: exact for points that are
 * close. */
CBX__OF_CALL(lorentz)
{
    const cbx_array *half = in_rows(ctx, c) ? cbx__of_rows(ctx, c, CBX_F64, half_chord_rows) : NULL;

    if (!half || isnan(cbx__metric_element(cbx_max(ctx, half, NULL), 0))) half = half_chords(ctx, c);
    return cbx_multiply_scalar(ctx, cbx_asinh(ctx, half), 2);
}

CBX__OF_CALL(randers)
{
    const cbx_array *there = cbx_subtract(ctx, c->in[1], c->in[0]), *u = c->in[2], *along;

    if (u)
        along = cbx__ratio_or(ctx, dot(ctx, u, there), cbx__root(ctx, dot(ctx, u, u)), 0);
    else
        along = cbx_index(ctx, there, -1, 0);
    return cbx_add(ctx, cbx__root(ctx, dot(ctx, there, there)), cbx_multiply_scalar(ctx, along, c->parameters[0]));
}

#define DISTANCE(high_) .domain = "distance", .direction = CBX_DIRECTION_LOWER, .low = 0, .high = high_
#define VECTORS(high_)  DISTANCE(high_), .operands = CBX__PAIR("x", "y", VECTORS)
/* Values are checked in the code, which a compiled call would not do. */
#define CHECKED .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_EAGER
#define ROWS    "Of two matrices the mean over their rows."

/* clang-format off */
CBX__METRIC_TABLE(distance,
    { .name = "cosine_distance", .summary = "Cosine distance", .formula = "1 - x.y / (||x|| ||y||)", VECTORS(2),
      .axioms = CBX_AXIOM_SYMMETRIC, .invariances = CBX_INVARIANT_SCALE | CBX_INVARIANT_ROTATION, .items = cosine, .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_EAGER,
      .notes = ROWS " A vector of 0 has distance 1 from all. No triangle inequality: the angle has one.",
      .source = "scipy.spatial.distance.cosine", .example = "[1.0, 0.0], [1.0, 1.0]" },
    { .name = "euclidean_distance", .summary = "Euclidean distance", .formula = "sqrt(sum((x - y)^2))", VECTORS(INFINITY),
      .axioms = CBX_AXIOMS_METRIC, .invariances = CBX_INVARIANT_SHIFT | CBX_INVARIANT_ROTATION, .items = euclidean, CBX__SMOOTH, .notes = ROWS,
      .source = "scipy.spatial.distance.euclidean", .example = "[0.0, 3.0], [4.0, 0.0]" },
    { .name = "manhattan_distance", .summary = "Manhattan distance", .formula = "sum(|x - y|)", VECTORS(INFINITY),
      .axioms = CBX_AXIOMS_METRIC, .invariances = CBX_INVARIANT_SHIFT, .items = manhattan, CBX__SMOOTH, .notes = ROWS,
      .source = "scipy.spatial.distance.cityblock", .example = "[0.0, 3.0], [4.0, 0.0]" },
    { .name = "chebyshev_distance", .summary = "Chebyshev distance", .formula = "max(|x - y|)", VECTORS(INFINITY),
      .axioms = CBX_AXIOMS_METRIC, .invariances = CBX_INVARIANT_SHIFT, .items = chebyshev, CBX__SMOOTH, .notes = ROWS,
      .source = "scipy.spatial.distance.chebyshev", .example = "[0.0, 3.0], [4.0, 0.0]" },
    { .name = "minkowski_distance", .summary = "Minkowski distance", .formula = "sum(|x - y|^p)^(1/p)", VECTORS(INFINITY),
      .parameters = { CBX__REAL("p", "order; infinity gives the Chebyshev distance", 2, 1, INFINITY) },
      .axioms = CBX_AXIOMS_METRIC, .invariances = CBX_INVARIANT_SHIFT, .items = minkowski, CBX__SMOOTH, .notes = ROWS,
      .source = "scipy.spatial.distance.minkowski", .example = "[0.0, 3.0], [4.0, 0.0], p=3" },
    { .name = "mahalanobis_distance", .summary = "Mahalanobis distance", .formula = "sqrt((x - y)^T precision_matrix (x - y))", DISTANCE(INFINITY),
      .operands = { { "x", CBX_OPERAND_VECTORS }, { "y", CBX_OPERAND_VECTORS }, { "precision_matrix", CBX_OPERAND_SYMMETRIC, true } },
      .shapes = CBX_SHAPES_FREE, .axioms = CBX_AXIOMS_METRIC, .invariances = CBX_INVARIANT_SHIFT, .items = mahalanobis, CBX__SMOOTH,
      .notes = ROWS " precision_matrix is the inverse of the covariance; left out, it is the identity. A metric where it is positive definite; refused if it is not symmetric, or has a negative minor of one or two rows; NaN where the root is of a negative number.",
      .source = "scipy.spatial.distance.mahalanobis", .example = "[0.0, 3.0], [4.0, 0.0], [[1.0, 0.5], [0.5, 1.0]]" },
    { .name = "hamming_distance", .summary = "Hamming distance", .formula = "mean(x != y)", DISTANCE(1), .operands = CBX__PAIR("x", "y", REAL),
      .axioms = CBX_AXIOMS_METRIC, .invariances = CBX_INVARIANT_ORDER, .items = unequal,
      .notes = "The share of elements that differ. NaN differs from all.",
      .source = "scipy.spatial.distance.hamming", .example = "[1, 0, 1, 1], [1, 1, 1, 0]" },
    { .name = "jaccard_distance", .summary = "Jaccard distance of weights", .formula = "1 - sum(min(x, y)) / sum(max(x, y))", DISTANCE(1),
      .operands = CBX__PAIR("x", "y", NONNEGATIVE), .axioms = CBX_AXIOMS_METRIC, .invariances = CBX_INVARIANT_COMMON_SCALE, .items = jaccard, CBX__SMOOTH,
      .notes = ROWS " Of 0 and 1 it is the Jaccard distance of sets. Two empty sets have distance 0.",
      .source = "Ruzicka (1958); scipy.spatial.distance.jaccard", .example = "[1, 0, 1, 1], [1, 1, 1, 0]" },
    { .name = "poincare_distance", .summary = "Distance in the Poincare ball",
      .formula = "2 / sqrt(curvature) asinh(sqrt(curvature) ||x - y|| / sqrt((1 - curvature ||x||^2) (1 - curvature ||y||^2)))", DISTANCE(INFINITY),
      .operands = CBX__PAIR("x", "y", BALL), .parameters = { CBX__REAL("curvature", "minus the curvature of the space", 1, 0x1p-1022, 0x1p1022) },
      .axioms = CBX_AXIOMS_METRIC, .invariances = CBX_INVARIANT_ROTATION, .items = poincare, CHECKED,
      .notes = ROWS " Points on or outside the ball of radius 1 / sqrt(curvature) are refused.",
      .source = "Nickel & Kiela (2017)", .example = "[0.0, 0.5], [0.5, 0.0]" },
    { .name = "lorentz_distance", .summary = "Distance on the hyperboloid", .formula = "arccosh(x0 y0 - x1 y1 - ... - xd yd)", DISTANCE(INFINITY),
      .operands = CBX__PAIR("x", "y", HYPERBOLOID), .axioms = CBX_AXIOMS_METRIC, .invariances = CBX_INVARIANT_LORENTZ, .items = lorentz, CHECKED,
      .notes = ROWS " Points have -x0^2 + x1^2 + ... + xd^2 = -1 and x0 > 0; others are refused. Computed of x - y, so that points that are close lose no digits.",
      .source = "Nickel & Kiela (2018)", .example = "[1.0, 0.0], [1.25, 0.75]" },
    { .name = "randers_distance", .summary = "Distance with a drift", .formula = "||y - x|| + magnitude (y - x).direction / ||direction||", DISTANCE(INFINITY),
      .operands = { { "x", CBX_OPERAND_VECTORS }, { "y", CBX_OPERAND_VECTORS }, { "direction", CBX_OPERAND_VECTORS, true } },
      .parameters = { CBX__REAL("magnitude", "strength of the drift", 0.5, 0, 0x1.fffffffffffffp-1) },
      .shapes = CBX_SHAPES_FREE, .axioms = CBX_AXIOM_IDENTITY | CBX_AXIOM_POSITIVE | CBX_AXIOM_TRIANGLE, .invariances = CBX_INVARIANT_SHIFT, .items = randers, CBX__SMOOTH,
      .notes = ROWS " Going along direction costs more than going back: not symmetric. direction left out is the first axis; a direction of 0 has no drift.",
      .source = "Randers (1941)", .example = "[0.0, 0.0], [3.0, 4.0], [1.0, 0.0], magnitude=0.25" },
)
/* clang-format on */
