/* Uncertainty: intervals, distributions, covariances and ensembles against what happened. */
#include "calibrax/array/scope_internal.h"
#include "calibrax/metrics/internal.h"
#include "calibrax/statistics/distribution.h"

/* ---- intervals ---- */

CBX__OF_CALL(covered)
{
    const cbx_array *above = cbx_less_equal(ctx, c->in[0], c->in[2]), *below = cbx_less_equal(ctx, c->in[2], c->in[1]);
    const cbx_array *inside = cbx_astype(ctx, cbx_logical_and(ctx, above, below), CBX_F64),
                    *nan = cbx__number(ctx, NAN);

    for (int i = 0; i < 3; i++) inside = cbx_where(ctx, cbx_isnan(ctx, c->in[i]), nan, inside);
    return (cbx_array *)inside;
}

CBX__OF_CALL(width) { return cbx_subtract(ctx, c->in[1], c->in[0]); }

CBX__OF_CALL(interval_score)
{
    const cbx_array *zero = cbx__number(ctx, 0);
    const cbx_array *under = cbx_maximum(ctx, cbx_subtract(ctx, c->in[0], c->in[2]), zero);
    const cbx_array *over = cbx_maximum(ctx, cbx_subtract(ctx, c->in[2], c->in[1]), zero);

    return cbx_add(ctx, width(ctx, c), cbx_multiply_scalar(ctx, cbx_add(ctx, under, over), 2 / c->parameters[0]));
}

/* ---- distributions ---- */

CBX__OF_CALL(gaussian_nll)
{
    const cbx_array *v = c->in[1], *e = cbx_square(ctx, cbx_subtract(ctx, c->in[2], c->in[0]));
    const cbx_array *size = cbx_add_scalar(ctx, cbx_log(ctx, v), log(2 * M_PI));

    return cbx_multiply_scalar(ctx, cbx_add(ctx, size, cbx_divide(ctx, e, v)), 0.5);
}

/* (2, levels + 1): weights of the values between levels in ascending order, and the levels. */
CBX__OF_CALL(level_parts)
{
    const cbx_array *levels = c->in[1] ? c->in[1] : cbx_linspace(ctx, 0.1, 0.9, 9, true, CBX_F64);
    const cbx_array *one = cbx_ones(ctx, 1, &(size_t){ 1 }, CBX_F64), *rows[2], *at;
    const cbx_array *w = c->weights ? cbx_flatten(ctx, c->weights) : NULL;

    levels = cbx_sort(ctx, cbx_flatten(ctx, levels), 0, false);
    at = cbx_searchsorted(ctx, levels, cbx_flatten(ctx, c->in[0]), false);
    rows[0] = cbx_bincount_size(ctx, at, w, cbx_array_count(levels) + 1);
    rows[0] = cbx_astype(ctx, rows[0], CBX_F64);
    rows[1] = cbx_concat(ctx, 2, (const cbx_array *[]){ levels, one }, 0);
    return cbx__pack(ctx, 2, rows);
}

CBX__OF_STATES(level_merge, a, b)
{
    const cbx_array *levels = cbx_index(ctx, a, 0, 1);

    if (cbx__differ(ctx, levels, cbx_index(ctx, b, 0, 1)))
        return cbx__metric_refuse(ctx, c, CBX_EINVAL, "'%s' must be the same in all batches",
                                  c->metric->operands[1].name);
    return cbx__pack(ctx, 2,
                     (const cbx_array *[]){ cbx_add(ctx, cbx_index(ctx, a, 0, 0), cbx_index(ctx, b, 0, 0)), levels });
}

CBX__OF_STATE(level_error, state)
{
    const cbx_array *counts = cbx_index(ctx, state, 0, 0), *levels = cbx_index(ctx, state, 0, 1);
    const cbx_array *share = cbx_divide(ctx, cbx_cumulative_sum(ctx, counts, 0), cbx_sum(ctx, counts, NULL));
    const cbx_array *error = cbx_abs(ctx, cbx_subtract(ctx, share, levels));

    return cbx_mean(ctx, cbx_slice(ctx, error, 0, 0, -1, 1), NULL);
}

/* ---- covariances ---- */

/* e^T P^-1 e of each item. */
static cbx_array *normalised_square(cbx_ctx *ctx, const cbx_metric_call *c, const cbx_array *e, const cbx_array *p)
{
    const int n = cbx_array_ndim(e);
    const cbx_array *x;

    if (cbx_array_ndim(p) != n + 1)
        return cbx__metric_refuse(ctx, c, CBX_ESHAPE, "each vector must have a covariance: %s and %s", CBX__TEXT_OF(e),
                                  CBX__TEXT_OF(p));
    x = cbx_squeeze(ctx, cbx_solve(ctx, p, cbx_expand_dims(ctx, e, -1)), -1);
    return cbx_sum(ctx, cbx_multiply(ctx, e, x), CBX_AXIS(-1));
}

CBX__OF_CALL(nees)
{
    const cbx_array *e = cbx_subtract(ctx, c->in[2], c->in[0]);
    const double d = (double)cbx_array_dim(e, cbx_array_ndim(e) - 1);

    return cbx_divide(ctx, normalised_square(ctx, c, e, c->in[1]), cbx__number(ctx, d));
}

CBX__OF_CALL(credibility)
{
    const cbx_array *e = cbx_subtract(ctx, c->in[2], c->in[0]);
    const cbx_array *claimed = normalised_square(ctx, c, e, c->in[1]), *real = normalised_square(ctx, c, e, c->in[3]);

    return cbx_multiply_scalar(ctx, cbx_log10(ctx, cbx__ratio_or(ctx, claimed, real, 1)), 10);
}

static void two_columns(const cbx_metric_call *c, cbx_array_desc *out)
{
    *out = (cbx_array_desc){ .dtype = CBX_F64, .ndim = 2, .shape = { cbx_array_count(c->in[0]), 2 } };
}

/* For each dimension the quantiles between which chi-squared lies with this probability. */
CBX__OF_CALL(chi2_interval)
{
    const double tail = (1 - c->parameters[0]) / 2;
    cbx_array_desc d;
    cbx_array *out;

    two_columns(c, &d);
    out = cbx__fresh(ctx, &d);
    for (size_t i = 0; !cbx_array_is_failed(out) && i < d.shape[0]; i++) {
        const double df = cbx__metric_element(c->in[0], i);
        double *v = (double *)cbx_array_data_mut(out) + 2 * i;
        v[0] = cbx_stat_chi2_quantile(tail, df);
        v[1] = cbx_stat_chi2_isf(tail, df);
    }
    return out;
}

/* ---- ensembles ---- */

CBX__OF_CALL(predictive_entropy) { return cbx__entropy(ctx, cbx_mean(ctx, c->in[0], CBX_AXIS(1)), CBX_AXIS(-1)); }

CBX__OF_CALL(mutual_information)
{
    const cbx_array *each = cbx_mean(ctx, cbx__entropy(ctx, c->in[0], CBX_AXIS(-1)), CBX_AXIS(1));
    return cbx_maximum(ctx, cbx_subtract(ctx, predictive_entropy(ctx, c), each), cbx__number(ctx, 0));
}

#define OF_UNCERTAINTY(...)              CBX__ROW("uncertainty", __VA_ARGS__)
#define UNCERTAINTY(better, low_, high_) OF_UNCERTAINTY(better, low_, high_), .invariances = CBX_INVARIANT_ORDER
#define INTERVAL                                                                                                       \
    .operands = { { "lower", CBX_OPERAND_REAL }, { "upper", CBX_OPERAND_REAL }, { "targets", CBX_OPERAND_REAL } }
#define ESTIMATES                                                                                                      \
    { "mean", CBX_OPERAND_VECTORS }, { "covariance", CBX_OPERAND_DEFINITE }, { "targets", CBX_OPERAND_VECTORS, false }
#define MEMBERS .operands = { { "probabilities", CBX_OPERAND_CLASS_ENSEMBLE } }

/* clang-format off */
CBX__METRIC_TABLE(uncertainty,
    { .name = "picp", .summary = "Coverage of prediction intervals", .formula = "mean(lower <= targets <= upper)", UNCERTAINTY(INFO, 0, 1), INTERVAL, .items = covered,
      .notes = "Best at the nominal coverage, not at 1. See mpiw and interval_score.",
      .source = "Khosravi et al. (2011)", .example = "[0.0, 1.0, 2.0], [1.0, 2.0, 3.0], [0.5, 2.5, 3.0]" },
    { .name = "mpiw", .summary = "Mean width of prediction intervals", .formula = "mean(upper - lower)", UNCERTAINTY(LOWER, -INFINITY, INFINITY), .operands = CBX__PAIR("lower", "upper", REAL), .items = width, CBX__SMOOTH,
      .notes = "Negative where upper is below lower. Read it together with the coverage: see picp.",
      .source = "Khosravi et al. (2011)", .example = "[0.0, 1.0, 2.0], [1.0, 2.0, 4.0]" },
    { .name = "interval_score", .summary = "Interval score", .formula = "mean(upper - lower + 2 / alpha (max(lower - targets, 0) + max(targets - upper, 0)))", UNCERTAINTY(LOWER, -INFINITY, INFINITY), INTERVAL,
      .parameters = { CBX__REAL("alpha", "share of targets that intervals may miss", 0.1, 0x1p-1022, 1) },
      .axioms = CBX_AXIOM_PROPER, .items = interval_score, CBX__SMOOTH, .notes = "Also called Winkler score. Least, on average, for the quantiles alpha / 2 and 1 - alpha / 2.",
      .source = "Winkler (1972); Gneiting & Raftery (2007)", .example = "[0.0, 1.0, 2.0], [1.0, 2.0, 3.0], [0.5, 2.5, 3.0], alpha=0.2" },
    { .name = "gaussian_nll", .summary = "Gaussian negative log-likelihood", .formula = "mean((log(2 pi variance) + (targets - mean)^2 / variance) / 2)", UNCERTAINTY(LOWER, -INFINITY, INFINITY),
      .operands = { { "mean", CBX_OPERAND_REAL }, { "variance", CBX_OPERAND_POSITIVE }, { "targets", CBX_OPERAND_REAL } },
      .axioms = CBX_AXIOM_PROPER, .items = gaussian_nll, CBX__SMOOTH, .notes = "Of densities, so that it may be negative.",
      .source = "scipy.stats.norm.logpdf", .example = "[0.0, 1.0], [1.0, 4.0], [0.5, 3.0]" },
    { .name = "regression_calibration_error", .summary = "Calibration error of quantiles", .formula = "mean over levels q of |share of cdf <= q - q|", UNCERTAINTY(LOWER, 0, 1),
      .operands = { { "cdf", CBX_OPERAND_PROBABILITY }, { "quantile_levels", CBX_OPERAND_PROBABILITY, true } }, .shapes = CBX_SHAPES_FREE,
      .parts = level_parts, .merge = level_merge, .finish = level_error, .flags = CBX_METRIC_WEIGHTED,
      .notes = "cdf: each predicted distribution function at its target. quantile_levels left out: 0.1, 0.2, ... 0.9; batches that are joined must have the same ones.",
      .source = "Kuleshov, Fenner & Ermon (2018)", .example = "[0.05, 0.3, 0.55, 0.9], [0.25, 0.5, 0.75]" },
    { .name = "anees", .summary = "Average normalised estimation error squared", .formula = "mean(e^T covariance^-1 e) / d with e = targets - mean of d elements", UNCERTAINTY(INFO, 0, INFINITY),
      .operands = { ESTIMATES }, .shapes = CBX_SHAPES_FREE, .items = nees, CBX__SMOOTH,
      .notes = "1 for covariances that are right, above 1 for ones that are too small. Covariances that are not symmetric and positive definite are refused.",
      .source = "Bar-Shalom, Li & Kirubarajan (2001); Li, Zhao & Jilkov (2002)", .example = "[[0.0, 0.0]], [[[1.0, 0.0], [0.0, 4.0]]], [[1.0, 2.0]]" },
    { .name = "non_credibility_index", .summary = "Non-credibility index", .formula = "10 mean(log10(e^T covariance^-1 e / e^T reference_covariance^-1 e))", UNCERTAINTY(INFO, -INFINITY, INFINITY),
      .operands = { ESTIMATES, { "reference_covariance", CBX_OPERAND_DEFINITE } }, .shapes = CBX_SHAPES_FREE, .items = credibility, CBX__SMOOTH,
      .notes = "In decibels, with its sign: positive for covariances that are too small. An error of 0 counts 0. Covariances that are not symmetric and positive definite are refused.",
      .source = "Li & Zhao (2006)", .example = "[[0.0]], [[[1.0]]], [[1.0]], [[[10.0]]]" },
    { .name = "chi2_confidence_interval", .summary = "Confidence interval of chi-squared", .formula = "quantiles (1 - percentile) / 2 and (1 + percentile) / 2 of chi-squared with dim degrees of freedom, a row for each", OF_UNCERTAINTY(INFO, 0, INFINITY),
      .operands = { { "dim", CBX_OPERAND_POSITIVE } }, .parameters = { CBX__REAL("percentile", "probability of the interval", 0.99, 0, 1) },
      .whole = chi2_interval, .result = two_columns, .flags = CBX_METRIC_DATA_SHAPED,
      .notes = "For n errors of d elements with right covariances n d anees is chi-squared with n d degrees of freedom. Degrees of freedom are a count, by which nothing is differentiated.",
      .source = "scipy.stats.chi2.interval", .example = "[1, 6], percentile=0.95" },
    { .name = "predictive_entropy", .summary = "Entropy of the mean of an ensemble", .formula = "mean over items of H(mean over members of probabilities)", UNCERTAINTY(INFO, 0, INFINITY), MEMBERS, .items = predictive_entropy, CBX__SMOOTH,
      .notes = "In nats. All uncertainty about the class; reduction none gives one number for each item.",
      .source = "Depeweg et al. (2018)", .example = "[[[0.9, 0.1], [0.5, 0.5]]]" },
    { .name = "ensemble_mutual_information", .summary = "Mutual information of class and member", .formula = "mean over items of H(mean over members of probabilities) - mean over members of H(probabilities)", UNCERTAINTY(INFO, 0, INFINITY), MEMBERS, .items = mutual_information, CBX__SMOOTH,
      .notes = "In nats. The uncertainty that members do not agree upon; 0 where they are equal.",
      .source = "Houlsby et al. (2011); Depeweg et al. (2018)", .example = "[[[0.9, 0.1], [0.5, 0.5]]]" },
)
/* clang-format on */
