/* Information: entropies and mutual information of distributions and joint distributions. */
#include "calibrax/metrics/internal.h"

CBX__OF_CALL(entropy) { return cbx__entropy(ctx, c->in[0], NULL); }

CBX__OF_CALL(cross_entropy) { return cbx_negative(ctx, cbx_sum(ctx, cbx__xlogy(ctx, c->in[0], c->in[1]), NULL)); }

CBX__OF_CALL(of_rows) { return cbx_sum(ctx, c->in[0], CBX_AXIS(1)); }
CBX__OF_CALL(of_columns) { return cbx_sum(ctx, c->in[0], CBX_AXIS(0)); }

/* sum p_ij log(p_ij / (p_i p_j)), which rounding must not make negative. */
CBX__OF_CALL(mutual_information)
{
    const cbx_array *alone = cbx_outer(ctx, of_rows(ctx, c), of_columns(ctx, c));
    return cbx_maximum_scalar(ctx, cbx_sum(ctx, cbx__kl_terms(ctx, c->in[0], alone), NULL), 0);
}

/* -sum p_ij log(p_ij / p_i) */
CBX__OF_CALL(conditional_entropy)
{
    const cbx_array *terms = cbx__kl_terms(ctx, c->in[0], cbx_sum(ctx, c->in[0], CBX_AXIS_KEEP(1)));
    return cbx_maximum_scalar(ctx, cbx_negative(ctx, cbx_sum(ctx, terms, NULL)), 0);
}

/* Whether at most one outcome has a probability; rounding keeps the entropy of such a variable from
 * 0. */
static cbx_array *is_constant(cbx_ctx *ctx, const cbx_array *p)
{
    return cbx_less_equal_scalar(ctx, cbx_count_nonzero(ctx, p, NULL), 1);
}

CBX__OF_CALL(normalized_mutual_information)
{
    const cbx_array *rows = of_rows(ctx, c), *columns = of_columns(ctx, c), *one = cbx__number(ctx, 1);
    const cbx_array *x = is_constant(ctx, rows), *y = is_constant(ctx, columns);
    const cbx_array *entropies = cbx_multiply(ctx, cbx__entropy(ctx, rows, NULL), cbx__entropy(ctx, columns, NULL));
    const cbx_array *scale = cbx__root(ctx, cbx_maximum_scalar(ctx, entropies, 0));
    const cbx_array *share = cbx__ratio_or(ctx, mutual_information(ctx, c), scale, 0);

    share = cbx_where(ctx, cbx_logical_or(ctx, x, y), cbx__number(ctx, 0), cbx_minimum_scalar(ctx, share, 1));
    return cbx_where(ctx, cbx_logical_and(ctx, x, y), one, share);
}

/* Minus the second derivatives of the log-likelihood. */
CBX__OF_CALL(fisher_information)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *hessian = NULL;
    cbx_array *h = NULL;

    if (cbx_hessian(ctx, c->function, 0, &hessian, &err))
        return cbx__metric_refuse(ctx, c, err.status, "%s", err.message);
    cbx_fn_call(ctx, hessian, 1, &c->in[0], 1, &h);
    cbx_fn_free(hessian);
    return cbx_negative(ctx, h);
}

#define INFORMATION(better, high_)                                                                                     \
    .domain = "information", .direction = CBX_DIRECTION_##better, .low = 0, .high = high_,                             \
    .flags = CBX_METRIC_DIFFERENTIABLE
#define OF_TABLE(better, high_) INFORMATION(better, high_), .operands = { { "joint", CBX_OPERAND_JOINT } }
#define TABLE                                                                                                          \
    "Natural logarithm. joint[i, j] is the probability of outcomes i of the first and j of the second variable."

/* clang-format off */
CBX__METRIC_TABLE(information,
    { .name = "entropy", .summary = "Entropy", .formula = "-sum(p log(p))", INFORMATION(INFO, INFINITY), .operands = { { "p", CBX_OPERAND_DISTRIBUTION } },
      .invariances = CBX_INVARIANT_ORDER, .whole = entropy, .notes = "Natural logarithm; divide by log(2) for bits.", .source = "Shannon (1948); scipy.stats.entropy", .example = "[0.5, 0.25, 0.25]" },
    { .name = "cross_entropy", .summary = "Cross-entropy", .formula = "-sum(p log(q))", INFORMATION(LOWER, INFINITY), .operands = CBX__PAIR("p", "q", DISTRIBUTION),
      .invariances = CBX_INVARIANT_ORDER, .whole = cross_entropy, .notes = "Natural logarithm. p is the true distribution; infinite where q is 0 and p is not.",
      .source = "Good (1963)", .example = "[0.5, 0.5], [0.9, 0.1]" },
    { .name = "mutual_information", .summary = "Mutual information", .formula = "sum(p_ij log(p_ij / (p_i p_j)))", OF_TABLE(HIGHER, INFINITY), .whole = mutual_information,
      .notes = TABLE, .source = "Cover & Thomas (2006), 2.3", .example = "[[0.4, 0.1], [0.1, 0.4]]" },
    { .name = "conditional_entropy", .summary = "Conditional entropy", .formula = "H(joint) - H(rows)", OF_TABLE(LOWER, INFINITY), .whole = conditional_entropy,
      .notes = TABLE " Of the second variable, given the first.", .source = "Cover & Thomas (2006), 2.2", .example = "[[0.4, 0.1], [0.1, 0.4]]" },
    { .name = "normalized_mutual_information", .summary = "Normalised mutual information", .formula = "mutual_information / sqrt(H(rows) H(columns))", OF_TABLE(HIGHER, 1),
      .whole = normalized_mutual_information, .notes = TABLE " 0 where one variable is constant, 1 where both are, as scikit-learn has it.", .source = "Strehl & Ghosh (2002)", .example = "[[0.4, 0.1], [0.1, 0.4]]" },
    { .name = "fisher_information_matrix", .summary = "Observed Fisher information", .formula = "-(second derivatives of the log-likelihood at parameters)", .domain = "information",
      .direction = CBX_DIRECTION_INFO, .low = -INFINITY, .high = INFINITY, .operands = { { "parameters", CBX_OPERAND_REAL } }, .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_COMPILED,
      .function = "parameters to the log-likelihood, one number", .whole = fisher_information,
      .notes = "A matrix, of the data that the function holds: the observed information, whose expectation is the Fisher information. Its inverse estimates the covariance of the maximum-likelihood parameters.",
      .source = "Efron & Hinkley (1978)", .example = "[1.0, 2.0], function=lambda t: -(t * t * t).sum()" },
)
/* clang-format on */
