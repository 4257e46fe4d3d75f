/* Molecules: geometries, affinities, ensembles of conformations. */
#include "calibrax/metrics/nearest.h"

/* ---- lengths and angles inside bounds ---- */

enum { MIN_LENGTH, MAX_LENGTH, MIN_ANGLE, MAX_ANGLE };

/* Numbers of x between low and high, both legal. */
static cbx_array *inside(cbx_ctx *ctx, const cbx_array *x, double low, double high)
{
    const cbx_array *fine = cbx_logical_and(ctx, cbx_greater_equal_scalar(ctx, x, low),
                                            cbx_less_equal_scalar(ctx, x, high));
    return cbx_sum(ctx, cbx_astype(ctx, fine, CBX_F64), NULL);
}

/* [numbers inside their bounds, numbers] */
CBX__OF_CALL(valid_parts)
{
    const double *p = c->parameters, n = (double)(cbx_array_count(c->in[0]) + cbx_array_count(c->in[1]));
    const cbx_array *lengths = inside(ctx, c->in[0], p[MIN_LENGTH], p[MAX_LENGTH]);
    const cbx_array *angles = inside(ctx, c->in[1], p[MIN_ANGLE], p[MAX_ANGLE]);
    const cbx_array *parts[] = { cbx_add(ctx, lengths, angles), cbx__number(ctx, n) };

    return cbx__pack(ctx, 2, parts);
}

CBX__OF_STATE(share, state)
{
    CBX__PARTS(s, 2, ctx, state);
    return cbx_divide(ctx, s[0], s[1]);
}

/* ---- regression of affinities ---- */

CBX__OF_CALL(affinities)
{
    static const char *const names[] = { "mse", "mae", "r_squared", "pearson_correlation" };
    const cbx_array *values[CBX_LEN(names)];

    for (size_t i = 0; i < CBX_LEN(names); i++) {
        const cbx_metric_function *m = NULL;
        (void)cbx_metric_find(ctx, names[i], &m, NULL);
        values[i] = cbx_metric_apply(ctx, m, 2, c->in, &(cbx_metric_options){ .weights = c->weights });
    }
    return cbx__pack(ctx, CBX_LEN(names), values);
}

/* ---- conformations ---- */

CBX__OF_CALL(diversity)
{
    const size_t n = cbx_array_dim(c->in[0], 0);
    const double pairs = (double)n * ((double)n - 1), atoms = (double)cbx_array_dim(c->in[0], 1);
    const cbx_array *rows, *sums;

    if (n < 2)
        return cbx__metric_refuse(ctx, c, CBX_ESHAPE, "'conformations' has %zu conformation: there is no pair of them",
                                  n);
    rows = cbx_reshape(ctx, c->in[0], 2, (const ptrdiff_t[]){ (ptrdiff_t)n, -1 }); /* of all coordinates */
    sums = cbx__all_distances(ctx, c, rows, 1, true);
    return cbx_divide_scalar(ctx, cbx_sum(ctx, sums, NULL), pairs * sqrt(atoms));
}

#define SCIENTIFIC               .domain = "scientific"
#define BOUND(name, what, value) CBX__REAL(name, what, value, 0, 0x1p500)

/* clang-format off */
CBX__METRIC_TABLE(scientific,
    { .name = "chemical_validity", .summary = "Share of plausible bond lengths and angles", .formula = "(number of lengths and angles within their bounds) / (number of lengths and angles)", SCIENTIFIC,
      .direction = CBX_DIRECTION_HIGHER, .low = 0, .high = 1,
      .operands = CBX__PAIR("lengths", "angles", SAMPLE), .shapes = CBX_SHAPES_ROWS,
      .parameters = { BOUND("min_length", "shortest plausible bond [Angstrom]", 0.8), BOUND("max_length", "longest plausible bond [Angstrom]", 2.0),
                      BOUND("min_angle", "smallest plausible angle [rad]", 1.5), BOUND("max_angle", "largest plausible angle [rad]", 3.5) },
      .invariances = CBX_INVARIANT_SAMPLE_ORDER, .parts = valid_parts, .finish = share,
      .notes = "Lengths in Angstrom, angles in radians, each counted alike. The bounds themselves are plausible. Whether atoms have their valences is not looked at.",
      .source = "The Python package's chemical_validity", .example = "[1.09, 1.54, 2.4], [1.91, 2.09, 1.2]" },
    { .name = "binding_affinity_metrics", .summary = "Four measures of predicted affinities", .formula = "[mse, mae, r_squared, pearson_correlation]", SCIENTIFIC,
      .direction = CBX_DIRECTION_INFO, .low = -INFINITY, .high = INFINITY, .operands = CBX__PAIR("predictions", "targets", REAL),
      .invariances = CBX_INVARIANT_ORDER, .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_WEIGHTED, .whole = affinities,
      .notes = "A vector of four. Affinities are logarithms, such as pKd: errors of concentrations are factors.",
      .source = "Of those metrics", .example = "[6.5, 7.2, 8.1], [6.8, 7.0, 8.3]" },
    { .name = "conformational_diversity", .summary = "Mean deviation between conformations", .formula = "mean over pairs i < j of sqrt(mean over atoms of ||x[i] - x[j]||^2)", SCIENTIFIC,
      .direction = CBX_DIRECTION_HIGHER, .low = 0, .high = INFINITY, .operands = { { "conformations", CBX_OPERAND_VECTOR_ENSEMBLE } },
      .invariances = CBX_INVARIANT_SHIFT | CBX_INVARIANT_ROTATION, .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_EAGER, .whole = diversity,
      .notes = "conformations (n, atoms, d), n at least 2. They are neither centred nor superposed: align them first if their places do not count. In the unit of the coordinates.",
      .source = "The Python package's conformational_diversity", .example = "[[[0.0, 0.0], [2.0, 0.0]], [[0.0, 1.0], [2.0, 3.0]]]" },
)
/* clang-format on */
