/* Fairness: rates of decisions compared between groups.  A prediction above 0.5 is a selection. */
#include "calibrax/metrics/functional/counts.h"

CBX__OF_CALL(selected) { return cbx_astype(ctx, cbx_greater_scalar(ctx, c->in[0], 0.5), CBX_I64); }

static cbx_array *integer(cbx_ctx *ctx, int64_t v) { return cbx_full(ctx, 0, NULL, CBX_I64, cbx_int(v)); }

/* Weights of numbers below groups * width, (groups, width). */
static cbx_array *table(cbx_ctx *ctx, const cbx_metric_call *c, const cbx_array *id, size_t width)
{
    const size_t groups = cbx__num_classes(c);
    const ptrdiff_t shape[] = { (ptrdiff_t)groups, (ptrdiff_t)width };
    const cbx_array *counts = cbx_bincount_size(ctx, id, c->weights, groups * width);

    return cbx_reshape(ctx, cbx_astype(ctx, counts, CBX_F64), 2, shape);
}

/* (groups, 2): not selected, selected. */
CBX__OF_CALL(selections)
{
    const cbx_array *id = cbx_multiply(ctx, c->in[1], integer(ctx, 2));
    return table(ctx, c, cbx_add(ctx, id, selected(ctx, c)), 2);
}

/* (groups, 4): true negatives, false positives, false negatives, true positives. */
CBX__OF_CALL(outcomes)
{
    const cbx_array *target = cbx_astype(ctx, c->in[1], CBX_I64);
    const cbx_array *id = cbx_add(ctx, cbx_multiply(ctx, c->in[2], integer(ctx, 2)), target);

    return table(ctx, c, cbx_add(ctx, cbx_multiply(ctx, id, integer(ctx, 2)), selected(ctx, c)), 4);
}

static cbx_array *column(cbx_ctx *ctx, const cbx_array *m, ptrdiff_t i) { return cbx_index(ctx, m, 1, i); }

/* x of groups with members, and another value for the others. */
static cbx_array *of_members(cbx_ctx *ctx, const cbx_array *x, const cbx_array *members, double other)
{
    return cbx_where(ctx, cbx_greater_scalar(ctx, members, 0), x, cbx__number(ctx, other));
}

CBX__OF_STATE(parity_ratio, m)
{
    const cbx_array *n = cbx_sum(ctx, m, CBX_AXIS(1)), *rate = cbx__ratio_or(ctx, column(ctx, m, 1), n, 0);
    const cbx_array *lowest = cbx_min(ctx, of_members(ctx, rate, n, INFINITY), NULL);

    return cbx__ratio_or(ctx, lowest, cbx_max(ctx, rate, NULL), 1);
}

/* The largest difference of hits / (hits + others) between groups that have any; 0 if none has. */
static cbx_array *spread(cbx_ctx *ctx, const cbx_array *hits, const cbx_array *others)
{
    const cbx_array *n = cbx_add(ctx, hits, others), *rate = cbx__ratio_or(ctx, hits, n, 0);
    const cbx_array *highest = cbx_max(ctx, of_members(ctx, rate, n, -INFINITY), NULL);
    const cbx_array *lowest = cbx_min(ctx, of_members(ctx, rate, n, INFINITY), NULL);

    return cbx_maximum(ctx, cbx_subtract(ctx, highest, lowest), cbx__number(ctx, 0));
}

CBX__OF_STATE(equal_opportunity, m) { return spread(ctx, column(ctx, m, 3), column(ctx, m, 2)); }

CBX__OF_STATE(equalized_odds, m)
{
    return cbx_maximum(ctx, equal_opportunity(ctx, c, m), spread(ctx, column(ctx, m, 1), column(ctx, m, 0)));
}

CBX__OF_STATE(breakdown, m)
{
    const cbx_array *n = cbx_sum(ctx, m, CBX_AXIS(1)), *tn = column(ctx, m, 0), *fp = column(ctx, m, 1);
    const cbx_array *fn = column(ctx, m, 2), *tp = column(ctx, m, 3), *chosen = cbx_add(ctx, tp, fp);
    const cbx_array *columns[] = {
        n,
        cbx__ratio_or(ctx, chosen, n, 0),
        cbx__ratio_or(ctx, cbx_add(ctx, tp, tn), n, 0),
        cbx__ratio_or(ctx, tp, cbx_add(ctx, tp, fn), 0),
        cbx__ratio_or(ctx, fp, cbx_add(ctx, fp, tn), 0),
        cbx__ratio_or(ctx, tp, chosen, 0),
    };

    return cbx_stack(ctx, CBX_LEN(columns), columns, 1);
}

#define FAIRNESS(better, high_)                                                                                        \
    .domain = "fairness", .direction = CBX_DIRECTION_##better, .low = 0, .high = high_, .shapes = CBX_SHAPES_LENGTH,   \
    .flags = CBX_METRIC_WEIGHTED,                                                                                      \
    .parameters = { CBX__INTEGER("num_groups", "number of groups; 0: from the labels", 0, 0, 0x1p20) }
#define FAIR(better) FAIRNESS(better, 1), .invariances = CBX_INVARIANT_ORDER | CBX_INVARIANT_RELABEL
#define DECISIONS                                                                                                      \
    .operands = CBX__TWO("predictions", SCORES, "groups", LABELS), .parts = selections, .finish = parity_ratio
#define OUTCOMES                                                                                                       \
    .operands = { { "predictions", CBX_OPERAND_SCORES },                                                               \
                  { "targets", CBX_OPERAND_BINARY },                                                                   \
                  { "groups", CBX_OPERAND_LABELS } },                                                                  \
    .parts = outcomes
#define SELECTED "A prediction above 0.5 is a selection. "

/* clang-format off */
CBX__METRIC_TABLE(fairness,
    { .name = "demographic_parity_ratio", .summary = "Demographic parity ratio", .formula = "lowest selection rate of a group / highest one", FAIR(HIGHER), DECISIONS,
      .notes = SELECTED "1 where none is selected. Group numbers without items do not count.",
      .source = "fairlearn demographic_parity_ratio", .example = "[1, 0, 1, 1], [0, 0, 1, 1]" },
    { .name = "disparate_impact_ratio", .summary = "Disparate impact ratio", .formula = "lowest selection rate of a group / highest one", FAIR(HIGHER), DECISIONS,
      .notes = SELECTED "The four-fifths rule asks for at least 0.8. The same number as demographic_parity_ratio.",
      .source = "Feldman et al. (2015)", .example = "[1, 0, 1, 1], [0, 0, 1, 1]" },
    { .name = "equal_opportunity_difference", .summary = "Equal opportunity difference", .formula = "highest true positive rate of a group - lowest one", FAIR(LOWER), OUTCOMES, .finish = equal_opportunity,
      .notes = SELECTED "A group without positive targets has no such rate and does not count; fairlearn takes it as 0.",
      .source = "Hardt, Price & Srebro (2016); fairlearn equal_opportunity_difference", .example = "[1, 0, 1, 1], [1, 1, 1, 0], [0, 0, 1, 1]" },
    { .name = "equalized_odds_difference", .summary = "Equalized odds difference", .formula = "the larger one of the differences of true and of false positive rates between groups", FAIR(LOWER), OUTCOMES, .finish = equalized_odds,
      .notes = SELECTED "A group without positive (negative) targets does not count for the true (false) positive rate; fairlearn takes it as 0.",
      .source = "Hardt, Price & Srebro (2016); fairlearn equalized_odds_difference", .example = "[1, 0, 1, 1], [1, 1, 1, 0], [0, 0, 1, 1]" },
    { .name = "group_metric_breakdown", .summary = "Rates by group", .formula = "a row for each group: items, selection rate, accuracy, true positive rate, false positive rate, precision", FAIRNESS(INFO, INFINITY), OUTCOMES, .finish = breakdown,
      .invariances = CBX_INVARIANT_ORDER, .notes = SELECTED "A rate of nothing is 0.",
      .source = "fairlearn MetricFrame", .example = "[1, 0, 1, 1], [1, 1, 1, 0], [0, 0, 1, 1]" },
)
/* clang-format on */
