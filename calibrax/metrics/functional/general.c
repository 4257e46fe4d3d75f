/* Regression: how far predictions are from targets. */
#include "calibrax/metrics/internal.h"

CBX__OF_CALL(absolute_error) { return cbx_abs(ctx, cbx__difference(ctx, c)); }

CBX__OF_STATE(root, mean) { return cbx__root(ctx, mean); }

/* ---- of variance ---- */

/* [sum w, mean t, sum w (t - mean t)^2, mean e, sum w (e - mean e)^2, sum w e^2] with e = t - p. */
CBX__OF_CALL(variance_parts)
{
    const cbx_array *t = c->in[1], *e = cbx_subtract(ctx, t, c->in[0]);
    const cbx_array *mean_t = cbx__weighted_mean(ctx, c, t), *mean_e = cbx__weighted_mean(ctx, c, e);
    const cbx_array *parts[] = {
        cbx__total_weight(ctx, c, t),
        mean_t,
        cbx__weighted_sum(ctx, c, cbx_square(ctx, cbx_subtract(ctx, t, mean_t))),
        mean_e,
        cbx__weighted_sum(ctx, c, cbx_square(ctx, cbx_subtract(ctx, e, mean_e))),
        cbx__weighted_sum(ctx, c, cbx_square(ctx, e)),
    };

    return cbx__pack(ctx, 6, parts);
}

CBX__OF_STATES(variance_merge, x, y)
{
    CBX__JOINT(6, ctx, x, y);
    cbx__join_spread(ctx, &j, a + 1, b + 1, out + 1); /* of t */
    cbx__join_spread(ctx, &j, a + 3, b + 3, out + 3); /* of e */
    out[5] = cbx_add(ctx, a[5], b[5]);
    return cbx__pack(ctx, 6, out);
}

/* 1 - loss / total; of a constant target 1 without loss and 0 with, as in scikit-learn. */
static cbx_array *share_explained(cbx_ctx *ctx, const cbx_array *loss, const cbx_array *flat, const cbx_array *total)
{
    const cbx_array *one = cbx__number(ctx, 1), *zero = cbx__number(ctx, 0);
    const cbx_array *constant = cbx_where(ctx, cbx_equal_scalar(ctx, loss, 0), one, zero);
    const cbx_array *safe = cbx_where(ctx, flat, one, total);

    return cbx_where(ctx, flat, constant, cbx_subtract(ctx, one, cbx_divide(ctx, loss, safe)));
}

CBX__OF_STATE(r_squared, state)
{
    CBX__PARTS(s, 6, ctx, state);
    return share_explained(ctx, s[5], cbx__is_constant(ctx, s[0], s[1], s[2]), s[2]);
}

CBX__OF_STATE(explained_variance, state)
{
    CBX__PARTS(s, 6, ctx, state);
    const cbx_array *loss = cbx_where(ctx, cbx__is_constant(ctx, s[0], s[3], s[4]), cbx__number(ctx, 0), s[4]);
    return share_explained(ctx, loss, cbx__is_constant(ctx, s[0], s[1], s[2]), s[2]);
}

/* ---- relative ---- */

CBX__OF_CALL(percentage_error)
{
    const cbx_array *floor = cbx__number(ctx, 0x1p-52);
    return cbx_divide(ctx, absolute_error(ctx, c), cbx_maximum(ctx, cbx_abs(ctx, c->in[1]), floor));
}

/* Sizes whose sum overflows are halved. */
CBX__OF_CALL(symmetric_percentage_error)
{
    const cbx_array *x = c->in[0], *y = c->in[1], *gap = absolute_error(ctx, c);
    const cbx_array *size = cbx_add(ctx, cbx_abs(ctx, x), cbx_abs(ctx, y)), *large = cbx_isinf(ctx, size);

    x = cbx_multiply_scalar(ctx, x, 0.5);
    y = cbx_multiply_scalar(ctx, y, 0.5);
    gap = cbx_where(ctx, large, cbx_abs(ctx, cbx_subtract(ctx, x, y)), gap);
    size = cbx_where(ctx, large, cbx_add(ctx, cbx_abs(ctx, x), cbx_abs(ctx, y)), size);
    return cbx_multiply_scalar(ctx, cbx__ratio_or(ctx, gap, size, 0), 2);
}

CBX__OF_CALL(relative_parts)
{
    const cbx_array *parts[] = { cbx__weighted_sum(ctx, c, cbx__squared_error(ctx, c)),
                                 cbx__weighted_sum(ctx, c, cbx_square(ctx, c->in[1])) };
    return cbx__pack(ctx, 2, parts);
}

/* a / b; 0 / 0 is 0, and what is left over 0 is infinite. */
static cbx_array *relative(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b)
{
    const cbx_array *nothing = cbx_logical_and(ctx, cbx_equal_scalar(ctx, a, 0), cbx_equal_scalar(ctx, b, 0));
    cbx_array *safe = cbx_where(ctx, nothing, cbx__number(ctx, 1), b);

    return cbx_divide(ctx, cbx__root(ctx, a), cbx_sqrt(ctx, safe));
}

CBX__OF_STATE(relative_error, state)
{
    CBX__PARTS(s, 2, ctx, state);
    return relative(ctx, s[0], s[1]);
}

/* Sum over all axes but the first. */
static cbx_array *row_sums(cbx_ctx *ctx, const cbx_array *x)
{
    cbx_axes rest = { 0 };

    for (int k = 1; k < cbx_array_ndim(x); k++) rest.axis[rest.n++] = k;
    return rest.n ? cbx_sum(ctx, x, &rest) : cbx_copy(ctx, x);
}

CBX__OF_CALL(relative_rows)
{
    return relative(ctx, row_sums(ctx, cbx__squared_error(ctx, c)), row_sums(ctx, cbx_square(ctx, c->in[1])));
}

/* ---- losses ---- */

CBX__OF_CALL(huber)
{
    const double delta = c->parameters[0];
    const cbx_array *e = absolute_error(ctx, c);
    const cbx_array *inside = cbx_multiply_scalar(ctx, cbx_square(ctx, e), 0.5);
    const cbx_array *outside = cbx_multiply_scalar(ctx, cbx_subtract_scalar(ctx, e, 0.5 * delta), delta);

    return cbx_where(ctx, cbx_less_equal_scalar(ctx, e, delta), inside, outside);
}

CBX__OF_CALL(charbonnier)
{
    const double epsilon = c->parameters[0], alpha = c->parameters[1];
    cbx_array *x = cbx_sqrt(ctx, cbx_add_scalar(ctx, cbx__squared_error(ctx, c), epsilon * epsilon));

    return alpha == 1 ? x : cbx_pow_scalar(ctx, x, alpha);
}

CBX__OF_CALL(pinball)
{
    const double q = c->parameters[0];
    const cbx_array *e = cbx_subtract(ctx, c->in[1], c->in[0]);

    return cbx_maximum(ctx, cbx_multiply_scalar(ctx, e, q), cbx_multiply_scalar(ctx, e, q - 1));
}

CBX__OF_CALL(log_cosh)
{
    const cbx_array *e = cbx__difference(ctx, c);
    return cbx_subtract_scalar(ctx, cbx_logaddexp(ctx, e, cbx_negative(ctx, e)), M_LN2);
}

CBX__OF_CALL(largest_error) { return cbx_max(ctx, absolute_error(ctx, c), NULL); }

CBX__OF_STATES(larger, a, b) { return cbx_maximum(ctx, a, b); }

#define PAIR         CBX__PAIR("predictions", "targets", REAL)
#define GENERAL(...) CBX__ROW("general", __VA_ARGS__), .operands = PAIR
#define LOSS         GENERAL(LOWER, 0, INFINITY)
#define WEIGHTED     .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_WEIGHTED
#define OF_SHIFTS    CBX_INVARIANT_SHIFT | CBX_INVARIANT_ORDER

/* clang-format off */
CBX__METRIC_TABLE(general,
    { .name = "mse", .summary = "Mean squared error", .formula = "mean((predictions - targets)^2)", LOSS,
      .axioms = CBX_AXIOM_SYMMETRIC | CBX_AXIOMS_DIVERGENCE, .invariances = OF_SHIFTS, .items = cbx__squared_error, CBX__SMOOTH,
      .notes = "In the square of the targets' unit. One large error outweighs many small ones.",
      .source = "scikit-learn mean_squared_error", .example = "[2.5, 0.0, 2.0, 8.0], [3.0, -0.5, 2.0, 7.0]" },
    { .name = "mae", .summary = "Mean absolute error", .formula = "mean(|predictions - targets|)", LOSS,
      .axioms = CBX_AXIOMS_METRIC, .invariances = OF_SHIFTS, .items = absolute_error, CBX__SMOOTH,
      .notes = "Its gradient at an error of 0 is 0.",
      .source = "scikit-learn mean_absolute_error", .example = "[2.5, 0.0, 2.0, 8.0], [3.0, -0.5, 2.0, 7.0]" },
    { .name = "rmse", .summary = "Root mean squared error", .formula = "sqrt(mean((predictions - targets)^2))", LOSS,
      .axioms = CBX_AXIOMS_METRIC, .invariances = OF_SHIFTS, .items = cbx__squared_error, CBX__SMOOTH, .finish = root,
      .notes = "With axes the root of the mean over these axes. Infinite where the square of an error is: above 1.3e154.",
      .source = "scikit-learn root_mean_squared_error", .example = "[2.5, 0.0, 2.0, 8.0], [3.0, -0.5, 2.0, 7.0]" },
    { .name = "r_squared", .summary = "Coefficient of determination",
      .formula = "1 - sum((targets - predictions)^2) / sum((targets - mean(targets))^2)", GENERAL(HIGHER, -INFINITY, 1),
      WEIGHTED,
      .invariances = CBX_INVARIANT_COMMON_SCALE | OF_SHIFTS, .parts = variance_parts, .merge = variance_merge, .finish = r_squared,
      .notes = "Of targets that are constant, up to the rounding of a mean (16 2^-52 of it), it is 1 where all predictions are right and 0 otherwise. All elements count as one series. Squares of errors must be within float64: sizes of 1e-150 to 1e150.",
      .source = "scikit-learn r2_score", .example = "[2.5, 0.0, 2.0, 8.0], [3.0, -0.5, 2.0, 7.0]" },
    { .name = "mape", .summary = "Mean absolute percentage error",
      .formula = "mean(|predictions - targets| / max(|targets|, 2^-52))", LOSS, .invariances = CBX_INVARIANT_ORDER,
      .axioms = CBX_AXIOM_IDENTITY, .items = percentage_error, CBX__SMOOTH,
      .notes = "A fraction: 0.1 is 10 %. A target of 0 makes it very large: use smape or mae there.",
      .source = "scikit-learn mean_absolute_percentage_error", .example = "[2.5, 0.5, 2.0, 8.0], [3.0, 0.4, 2.0, 7.0]" },
    { .name = "relative_error", .summary = "Relative error in the 2-norm",
      .formula = "||predictions - targets|| / ||targets||", LOSS, .axioms = CBX_AXIOM_IDENTITY,
      WEIGHTED, .invariances = CBX_INVARIANT_COMMON_SCALE | CBX_INVARIANT_ORDER,
      .parts = relative_parts, .finish = relative_error, .notes = "One ratio of all elements. Targets of 0 give 0 where all predictions are right and infinity otherwise.",
      .source = "numpy.linalg.norm", .example = "[3.0, 4.0], [3.0, 5.0]" },
    { .name = "relative_l2_error", .summary = "Mean relative error of rows",
      .formula = "mean over i of ||predictions[i] - targets[i]|| / ||targets[i]||", LOSS, .axioms = CBX_AXIOM_IDENTITY,
      .invariances = CBX_INVARIANT_COMMON_SCALE | CBX_INVARIANT_ORDER, .items = relative_rows, CBX__SMOOTH,
      .notes = "A row is an element of the first axis, with all that is below it. A target row of 0 gives 0 where it is right and infinity otherwise.",
      .source = "Li et al., Fourier neural operator (2021), relative L2 loss", .example = "[[3.0, 4.0], [1.0, 0.0]], [[3.0, 5.0], [1.0, 0.0]]" },
    { .name = "explained_variance", .summary = "Explained variance",
      .formula = "1 - var(targets - predictions) / var(targets)", GENERAL(HIGHER, -INFINITY, 1), WEIGHTED,
      .invariances = CBX_INVARIANT_COMMON_SCALE | OF_SHIFTS,
      .parts = variance_parts, .merge = variance_merge, .finish = explained_variance,
      .notes = "Unlike r_squared it does not see a constant error of all predictions. Constant targets: as r_squared.",
      .source = "scikit-learn explained_variance_score", .example = "[2.5, 0.0, 2.0, 8.0], [3.0, -0.5, 2.0, 7.0]" },
    { .name = "max_error", .summary = "Largest absolute error", .formula = "max(|predictions - targets|)", LOSS,
      .axioms = CBX_AXIOMS_METRIC, .invariances = OF_SHIFTS, .parts = largest_error, .merge = larger, CBX__SMOOTH, .finish = cbx__state_itself,
      .notes = "One outlier decides it, and it grows with the number of items: compare it only between sets of one size.",
      .source = "scikit-learn max_error", .example = "[3.0, 2.0, 7.0, 1.0], [4.0, 2.0, 7.0, 1.0]" },
    { .name = "huber_loss", .summary = "Huber loss", .formula = "mean of e^2 / 2 if e <= delta, else delta (e - delta / 2), with e = |predictions - targets|",
      LOSS, .parameters = { CBX__REAL("delta", "error at which the square becomes linear", 1, 0x1p-1022, INFINITY) },
      .axioms = CBX_AXIOM_SYMMETRIC | CBX_AXIOMS_DIVERGENCE, .invariances = OF_SHIFTS, .items = huber, CBX__SMOOTH,
      .notes = "delta has the unit of the targets: scale them, or choose another delta for other data. SciPy's and this one's linear part is delta (e - delta / 2); PyTorch's smooth_l1_loss is this one divided by delta.",
      .source = "Huber (1964); scipy.special.huber", .example = "[2.5, 0.0, 2.0, 9.0], [3.0, -0.5, 2.0, 7.0]" },
    { .name = "charbonnier_loss", .summary = "Charbonnier loss", .formula = "mean(((predictions - targets)^2 + epsilon^2)^(alpha / 2))", LOSS,
      .parameters = { CBX__REAL("epsilon", "error below which the loss is quadratic", 1e-3, 0x1p-1022, INFINITY),
                      CBX__REAL("alpha", "power for large errors", 1, 0x1p-1022, INFINITY) },
      .axioms = CBX_AXIOM_SYMMETRIC, .invariances = OF_SHIFTS, .items = charbonnier, CBX__SMOOTH,
      .notes = "A smooth mae: equal operands give epsilon^alpha, its least value.",
      .source = "Charbonnier et al. (1994); Barron (2019)", .example = "[2.5, 0.0, 2.0, 8.0], [3.0, -0.5, 2.0, 7.0]" },
    { .name = "quantile_loss", .summary = "Pinball loss", .formula = "mean(max(q e, (q - 1) e)) with e = targets - predictions, q = quantile", LOSS,
      .parameters = { CBX__REAL("quantile", "the quantile that predictions estimate", 0.5, 0, 1) },
      .axioms = CBX_AXIOM_IDENTITY, .invariances = OF_SHIFTS, .items = pinball, CBX__SMOOTH,
      .notes = "Its expectation is least at that quantile of the targets. At 0.5 half the mae.",
      .source = "Koenker & Bassett (1978); scikit-learn mean_pinball_loss", .example = "[1.0, 2.0, 3.0], [2.0, 2.0, 1.0], quantile=0.9" },
    { .name = "log_cosh_loss", .summary = "Log-cosh loss", .formula = "mean(log(cosh(predictions - targets)))", LOSS,
      .axioms = CBX_AXIOM_SYMMETRIC | CBX_AXIOMS_DIVERGENCE, .invariances = OF_SHIFTS, .items = log_cosh, CBX__SMOOTH,
      .notes = "Quadratic for small errors, linear for large ones; it does not overflow.",
      .source = "torchmetrics LogCoshError", .example = "[2.5, 0.0, 2.0, 8.0], [3.0, -0.5, 2.0, 7.0]" },
    { .name = "smape", .summary = "Symmetric mean absolute percentage error",
      .formula = "mean(2 |predictions - targets| / (|predictions| + |targets|))", GENERAL(LOWER, 0, 2), .axioms = CBX_AXIOM_SYMMETRIC | CBX_AXIOMS_DIVERGENCE,
      .invariances = CBX_INVARIANT_COMMON_SCALE | CBX_INVARIANT_ORDER, .items = symmetric_percentage_error, CBX__SMOOTH,
      .notes = "A fraction between 0 and 2. Where both are 0 the error is 0. Where one is 0 it is 2, however small the other.",
      .source = "torchmetrics SymmetricMeanAbsolutePercentageError", .example = "[2.5, 0.0, 2.0, 8.0], [3.0, -0.5, 2.0, 7.0]" },
)
/* clang-format on */
