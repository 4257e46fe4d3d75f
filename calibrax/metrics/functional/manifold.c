/* Distances on manifolds: positive definite matrices, subspaces, frames, and spaces with several
 * times. */
#include "calibrax/array/internal.h"
#include "calibrax/metrics/internal.h"

/* ---- positive definite matrices ---- */

/*
 * Whether the least of these numbers, which have the signs of the eigenvalues of matrix i, is
 * positive; NULL, recorded: one with data is not.
 */
static const cbx_array *definite(cbx_ctx *ctx, const cbx_metric_call *c, size_t i, const cbx_array *values)
{
    const cbx_array *min = cbx_min(ctx, values, NULL), *positive = cbx_greater_scalar(ctx, min, 0);
    const double smallest = cbx__metric_element(min, 0);

    if (!cbx__metric_has_data(ctx, c) || !(smallest <= 0)) return positive;
    return cbx__metric_refuse(ctx, c, CBX_EDOM, "'%s' must be positive definite: an eigenvalue is %s",
                              c->metric->operands[i].name, CBX__TEXT_NUMBER(smallest)),
           NULL;
}

/* Cholesky's factor of matrix i; if it does not exist, eigenvalues show why. */
static cbx_array *factor_of(cbx_ctx *ctx, const cbx_metric_call *c, size_t i)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_array *l;

    if (!cbx__metric_has_data(ctx, c)) return cbx_cholesky(ctx, c->in[i], false);
    if ((l = cbx__factor(ctx, c->in[i], &err))) return l;
    if (err.status != CBX_EDOM || definite(ctx, c, i, cbx_eigvalsh(ctx, c->in[i])))
        cbx__metric_refuse(ctx, c, err.status, "%s", err.message);
    return cbx__array_failed();
}

/*
 * With a = L L^T the eigenvalues of a^-1 b are those of L^-1 b L^-T.  The transposed view has its
 * columns in rows, as LAPACK reads them.
 */
CBX__OF_CALL(affine_invariant)
{
    const cbx_array *l, *half, *whole, *ratios, *positive;

    if (!cbx__metric_symmetric(ctx, c, 0) || !cbx__metric_symmetric(ctx, c, 1)) return cbx__array_failed();
    l = factor_of(ctx, c, 0);
    if (cbx_array_is_failed(l)) return cbx__array_failed();
    half = cbx_triangular_solve(ctx, l, c->in[1], CBX_TRIANGLE_LOWER);
    whole = cbx_triangular_solve(ctx, l, cbx_matrix_transpose(ctx, half), CBX_TRIANGLE_LOWER);
    ratios = cbx_eigvalsh(ctx, cbx_matrix_transpose(ctx, whole));
    if (!(positive = definite(ctx, c, 1, ratios))) return cbx__array_failed();
    return cbx__nan_unless(ctx, c, positive, cbx__root(ctx, cbx_sum(ctx, cbx_square(ctx, cbx_log(ctx, ratios)), NULL)));
}

static cbx_array *matrix_log(cbx_ctx *ctx, const cbx_metric_call *c, size_t i)
{
    const cbx_eigh_parts e = cbx_eigh(ctx, c->in[i]);
    const cbx_array *positive = definite(ctx, c, i, e.values), *scaled;

    if (!positive) return cbx__array_failed();
    scaled = cbx_multiply(ctx, e.vectors, cbx_expand_dims(ctx, cbx_log(ctx, e.values), -2));
    return cbx__nan_unless(ctx, c, positive, cbx_matrix_product(ctx, scaled, cbx_matrix_transpose(ctx, e.vectors)));
}

/* The norm of all elements. */
static cbx_array *frobenius(cbx_ctx *ctx, const cbx_array *x)
{
    return cbx__root(ctx, cbx_sum(ctx, cbx_square(ctx, x), NULL));
}

CBX__OF_CALL(log_euclidean)
{
    if (!cbx__metric_symmetric(ctx, c, 0) || !cbx__metric_symmetric(ctx, c, 1)) return cbx__array_failed();
    return frobenius(ctx, cbx_subtract(ctx, matrix_log(ctx, c, 0), matrix_log(ctx, c, 1)));
}

/* ---- frames ---- */

/*
 * Whether columns of both are orthonormal, also of frames that were computed in float32; NULL,
 * recorded: those with data are not.
 */
static const cbx_array *orthonormal(cbx_ctx *ctx, const cbx_metric_call *c)
{
    const cbx_array *fine[2];

    for (size_t i = 0; i < 2; i++) {
        const cbx_array *x = c->in[i], *gram, *off;
        const size_t p = cbx_array_dim(x, 1);
        const char *name = c->metric->operands[i].name;
        gram = cbx_matrix_product(ctx, cbx_matrix_transpose(ctx, x), x);
        off = cbx_abs(ctx, cbx_subtract(ctx, gram, cbx_eye(ctx, p, p, 0, CBX_F64)));
        fine[i] = cbx_all(ctx, cbx_less_equal_scalar(ctx, off, 1e-5), NULL);
        if (!cbx__metric_has_data(ctx, c)) continue;
        const cbx_array *infinite = cbx_isinf(ctx, x);
        size_t at = (size_t)cbx__metric_element(cbx_argmax(ctx, infinite, NULL), 0);
        if (cbx__metric_element(infinite, at) > 0) /* a product with it may be NaN */
            return cbx__metric_refuse(ctx, c, CBX_EDOM, "'%s' must have orthonormal columns: [%zu, %zu] is %s", name,
                                      at / p, at % p, CBX__TEXT_NUMBER(cbx__metric_element(x, at))),
                   NULL;
        at = (size_t)cbx__metric_element(cbx_argmax(ctx, off, NULL), 0);
        if (!(cbx__metric_element(off, at) > 1e-5)) continue;
        return cbx__metric_refuse(ctx, c, CBX_EDOM,
                                  "'%s' must have orthonormal columns: the product of columns %zu and %zu is %s", name,
                                  at / p, at % p, CBX__TEXT_NUMBER(cbx__metric_element(gram, at))),
               NULL;
    }
    return cbx_logical_and(ctx, fine[0], fine[1]);
}

/* Principal angles by their sines and cosines together: exact for small angles and for right
 * ones. */
CBX__OF_CALL(grassmann)
{
    const cbx_array *u = c->in[0], *v = c->in[1], *product, *outside, *cosines, *sines, *fine = orthonormal(ctx, c);

    if (!fine) return cbx__array_failed();
    product = cbx_matrix_product(ctx, cbx_matrix_transpose(ctx, u), v);
    outside = cbx_subtract(ctx, v, cbx_matrix_product(ctx, u, product));
    cosines = cbx_svdvals(ctx, product);
    sines = cbx_flip(ctx, cbx_svdvals(ctx, outside), 0);
    return cbx__nan_unless(ctx, c, fine, frobenius(ctx, cbx_atan2(ctx, sines, cosines)));
}

CBX__OF_CALL(stiefel)
{
    const cbx_array *fine = orthonormal(ctx, c);

    if (!fine) return cbx__array_failed();
    return cbx__nan_unless(ctx, c, fine, frobenius(ctx, cbx_subtract(ctx, c->in[0], c->in[1])));
}

/* ---- several times ---- */

/* -x0 y0 - ... of the first times coordinates, + of the others. */
static cbx_array *product(cbx_ctx *ctx, const cbx_array *x, const cbx_array *y, ptrdiff_t times)
{
    const cbx_array *xy = cbx_multiply(ctx, x, y);
    const cbx_array *time = cbx_sum(ctx, cbx_slice(ctx, xy, -1, 0, times, 1), CBX_AXIS(-1));
    const cbx_array *space = cbx_sum(ctx, cbx_slice(ctx, xy, -1, times, CBX_OPEN, 1), CBX_AXIS(-1));

    return cbx_subtract(ctx, space, time);
}

/*
 * Whether each point, of those that count, has the square sign; NULL, recorded: one with data has
 * another.
 */
static const cbx_array *on_surface(cbx_ctx *ctx, const cbx_metric_call *c, size_t i, ptrdiff_t times, double sign)
{
    const cbx_array *x = c->in[i], *square = product(ctx, x, x, times), *off, *fine;
    size_t row;

    off = cbx_divide(ctx, cbx_abs(ctx, cbx_subtract_scalar(ctx, square, sign)),
                     cbx_add_scalar(ctx, cbx_sum(ctx, cbx_square(ctx, x), CBX_AXIS(-1)), 1));
    if (c->weights) off = cbx_where(ctx, cbx_equal_scalar(ctx, c->weights, 0), cbx__number(ctx, 0), off);
    fine = cbx_less_equal_scalar(ctx, off, 1e-6);
    if (!cbx__metric_has_data(ctx, c)) return fine;
    row = (size_t)cbx__metric_element(cbx_argmax(ctx, off, NULL), 0);
    if (!(cbx__metric_element(off, row) > 1e-6)) return fine;
    return cbx__metric_refuse(ctx, c, CBX_EDOM, "'%s': the square of row %zu, times negative, is %s, not %s",
                              c->metric->operands[i].name, row, CBX__TEXT_NUMBER(cbx__metric_element(square, row)),
                              sign < 0 ? "-1" : "1"),
           NULL;
}

/*
 * With e = x - y and s = <e, e> / 4 of the sign of <x, x>: cosh(d) = 1 + 2 s gives sinh(d / 2)^2 =
 * s, and cos(d) = 1 + 2 s, s < 0, gives sin(d / 2)^2 = -s.  Below -1 the product's geodesics do not
 * reach.
 */
CBX__OF_CALL(ultrahyperbolic)
{
    const ptrdiff_t d = (ptrdiff_t)cbx_array_dim(c->in[0], cbx_array_ndim(c->in[0]) - 1);
    const ptrdiff_t times = (ptrdiff_t)c->parameters[0];
    const double sign = times ? -1 : 1;
    const cbx_array *e = cbx_subtract(ctx, c->in[0], c->in[1]), *s, *arc, *zero = cbx__number(ctx, 0);
    const cbx_array *far, *one = cbx__number(ctx, 1), *outside, *fine[2];

    if (times > d)
        return cbx__metric_refuse(ctx, c, CBX_EINVAL,
                                  "'times' is %td: it must be at most %td, the number of coordinates", times, d);
    for (size_t i = 0; i < 2; i++)
        if (!(fine[i] = on_surface(ctx, c, i, times, sign))) return cbx__array_failed();
    s = cbx_multiply_scalar(ctx, product(ctx, e, e, times), -sign * 0.25);
    far = cbx_asinh(ctx, cbx__root(ctx, cbx_maximum(ctx, s, zero)));
    outside = cbx_less_scalar(ctx, s, times == 1 ? -0.5 : -1 - 0x1p-40);
    arc = cbx_asin(ctx, cbx_minimum(ctx, cbx__root(ctx, cbx_maximum(ctx, cbx_negative(ctx, s), zero)), one));
    if (times == 1) arc = zero; /* two sheets, which nothing joins; on one of them s < 0 is rounding */
    arc = cbx_where(ctx, outside, cbx__number(ctx, INFINITY), arc);
    arc = cbx_multiply_scalar(ctx, cbx_where(ctx, cbx_less_scalar(ctx, s, 0), arc, far), 2);
    return cbx__nan_unless(ctx, c, cbx_logical_and(ctx, fine[0], fine[1]), arc);
}

#define MANIFOLD       .domain = "manifold", .direction = CBX_DIRECTION_LOWER, .low = 0
#define MATRICES(a, b) MANIFOLD, .operands = CBX__PAIR(a, b, SPD), .high = INFINITY
#define FRAMES         MANIFOLD, .operands = CBX__PAIR("u", "v", FRAME)
/* Values are checked in the code, which a compiled call would not do. */
#define CHECKED .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_EAGER

/* clang-format off */
CBX__METRIC_TABLE(manifold,
    { .name = "spd_affine_invariant_distance", .summary = "Affine-invariant distance of positive definite matrices",
      .formula = "sqrt(sum(log(eigenvalues of a^-1 b)^2))", MATRICES("a", "b"),
      .axioms = CBX_AXIOMS_METRIC, .invariances = CBX_INVARIANT_CONGRUENCE | CBX_INVARIANT_ORTHOGONAL, .whole = affine_invariant, CHECKED,
      .notes = "The Fisher-Rao distance of normal distributions of one mean, times sqrt(2). Matrices that are not symmetric and positive definite are refused.",
      .source = "Pennec, Fillard & Ayache (2006); scipy.linalg.eigvalsh(b, a)", .example = "[[2.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 3.0]]" },
    { .name = "spd_log_euclidean_distance", .summary = "Log-Euclidean distance of positive definite matrices", .formula = "||log(a) - log(b)||, log of matrices",
      MATRICES("a", "b"), .axioms = CBX_AXIOMS_METRIC, .invariances = CBX_INVARIANT_ORTHOGONAL, .whole = log_euclidean, CHECKED,
      .notes = "Equal eigenvalues have a gradient of NaN. Matrices that are not symmetric and positive definite are refused.",
      .source = "Arsigny et al. (2006); scipy.linalg.logm", .example = "[[2.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 3.0]]" },
    { .name = "grassmann_distance", .summary = "Distance of subspaces", .formula = "sqrt(sum(principal angles^2))", FRAMES, .high = INFINITY,
      .axioms = CBX_AXIOMS_PSEUDO, .invariances = CBX_INVARIANT_ORTHOGONAL, .whole = grassmann, CHECKED,
      .notes = "Of the spaces that the columns span, in radians: frames of one space have distance 0. At most sqrt(p) pi / 2 of p columns.",
      .source = "Edelman, Arias & Smith (1998); scipy.linalg.subspace_angles", .example = "[[1.0], [0.0]], [[0.6], [0.8]]" },
    { .name = "stiefel_distance", .summary = "Distance of frames", .formula = "||u - v||", FRAMES, .high = INFINITY,
      .axioms = CBX_AXIOMS_METRIC, .invariances = CBX_INVARIANT_ORTHOGONAL, .whole = stiefel, CHECKED,
      .notes = "The chord, not the geodesic. At most 2 sqrt(p) of p columns.",
      .source = "Edelman, Arias & Smith (1998)", .example = "[[1.0], [0.0]], [[0.6], [0.8]]" },
    { .name = "ultrahyperbolic_distance", .summary = "Geodesic distance on a pseudo-hyperboloid",
      .formula = "arccosh(z) of z >= 1, arccos(z) of -1 <= z <= 1, with z = <x, y> / <x, x> and <x, y> = -x0 y0 - ... + xt yt + ... of t times", MANIFOLD, .high = INFINITY,
      .operands = CBX__PAIR("x", "y", HYPERBOLOID),
      .parameters = { CBX__INTEGER("times", "coordinates in front that are times; 0 gives a sphere, 1 the hyperboloid", 1, 0, 1e6) },
      .axioms = CBX_AXIOM_SYMMETRIC | CBX_AXIOM_IDENTITY, .invariances = CBX_INVARIANT_LORENTZ, .items = ultrahyperbolic, CHECKED,
      .notes = "Of two matrices the mean over their rows. Points have the square -1 (1 without times), others are refused. Infinite where no geodesic joins the points. With one time and on the sphere it is a metric.",
      .source = "Law & Stam (2020)", .example = "[1.0, 0.0], [1.25, 0.75]" },
)
/* clang-format on */
