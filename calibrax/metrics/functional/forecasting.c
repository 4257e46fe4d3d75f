/* Verification of forecasts: ensembles, probabilities of ordered categories and of events. */
#include "calibrax/array/kernels/count.h"
#include "calibrax/metrics/functional/rows.h"

/* ---- ensembles (n, members) against observations (n) ---- */

/* False, recorded, unless there is an ensemble of enough members for each observation. */
static bool check_ensemble(cbx_ctx *ctx, const cbx_metric_call *c, size_t min_members)
{
    const size_t members = cbx_array_dim(c->in[0], 1);
    const int rank = cbx_array_ndim(c->in[0]) - 1;

    if (cbx_array_ndim(c->in[1]) != rank || (rank == 2 && cbx_array_dim(c->in[1], 1) != cbx_array_dim(c->in[0], 2)))
        return cbx__metric_refused(ctx, c, CBX_ESHAPE, "'%s' must have %s for each ensemble, not %s for %s",
                                   c->metric->operands[1].name,
                                   rank == 2 ? "a vector like those of its members" : "one number",
                                   CBX__TEXT_OF(c->in[1]), CBX__TEXT_OF(c->in[0]));
    if (members >= min_members) return true;
    return cbx__metric_refused(ctx, c, CBX_ESHAPE, "'%s' must have at least %zu members, got %zu",
                               c->metric->operands[0].name, min_members, members);
}

/*
 * mean over members of |x - y| less half the mean of |x - x'| over pairs.  Of members in ascending
 * order the sum of |x_i - x_j| over pairs i < j is sum (2 i - members + 1) x_i.
 */
static cbx_array *crps_of(cbx_ctx *ctx, const cbx_metric_call *c, double pairs)
{
    const double members = (double)cbx_array_dim(c->in[0], 1);
    const cbx_array *x = cbx_sort(ctx, c->in[0], 1, false), *y = cbx_expand_dims(ctx, c->in[1], 1);
    const cbx_array *error = cbx_mean(ctx, cbx_abs(ctx, cbx_subtract(ctx, x, y)), CBX_AXIS(1));
    const cbx_array *rank = cbx_arange(ctx, 1 - members, members, 2, CBX_F64);
    const cbx_array *middle = cbx_stop_gradient(ctx, cbx_mean(ctx, x, CBX_AXIS_KEEP(1)));
    const cbx_array *spread = cbx_sum(ctx, cbx_multiply(ctx, rank, cbx_subtract(ctx, x, middle)), CBX_AXIS(1));

    return cbx_subtract(ctx, error, cbx_divide_scalar(ctx, spread, pairs));
}

CBX__OF_CALL(crps)
{
    const double members = (double)cbx_array_dim(c->in[0], 1);
    return check_ensemble(ctx, c, 1) ? crps_of(ctx, c, members * members) : cbx__array_failed();
}

CBX__OF_CALL(fair_crps)
{
    const double members = (double)cbx_array_dim(c->in[0], 1);
    return check_ensemble(ctx, c, 2) ? crps_of(ctx, c, members * (members - 1)) : cbx__array_failed();
}

static cbx_array *norm(cbx_ctx *ctx, const cbx_array *x)
{
    return cbx__root(ctx, cbx_sum(ctx, cbx_square(ctx, x), CBX_AXIS(-1)));
}

static cbx_array *energy_rows(cbx_ctx *ctx, const cbx_metric_call *c, size_t first, size_t last)
{
    const cbx_array *x = cbx_slice(ctx, c->in[0], 0, (ptrdiff_t)first, (ptrdiff_t)last, 1);
    const cbx_array *y = cbx_slice(ctx, c->in[1], 0, (ptrdiff_t)first, (ptrdiff_t)last, 1);
    const cbx_array *e = norm(ctx, cbx_subtract(ctx, x, cbx_expand_dims(ctx, y, 1)));
    const cbx_array *pairs = cbx_subtract(ctx, cbx_expand_dims(ctx, x, 2), cbx_expand_dims(ctx, x, 1));
    const cbx_axes both = { .n = 2, .axis = { 1, 2 } };
    const cbx_array *spread = cbx_mean(ctx, norm(ctx, pairs), &both);

    return cbx_subtract(ctx, cbx_mean(ctx, e, CBX_AXIS(1)), cbx_multiply_scalar(ctx, spread, 0.5));
}

CBX__OF_CALL(energy)
{
    const cbx_array *x = c->in[0];
    const size_t cost = cbx_array_count(x) / cbx_array_dim(x, 0) * cbx_array_dim(x, 1);

    if (!check_ensemble(ctx, c, 1)) return cbx__array_failed();
    return cbx__by_rows(ctx, c, cbx_array_dim(x, 0), cost, energy_rows);
}

/* [sum w, sum w var, sum w ((mean x - y)^2 - var / members)] */
CBX__OF_CALL(spread_and_skill)
{
    const cbx_array *x = c->in[0], *variance, *error, *skill;

    if (!check_ensemble(ctx, c, 2)) return cbx__array_failed();
    variance = cbx_var(ctx, x, CBX_AXIS(1), 1);
    error = cbx_square(ctx, cbx_subtract(ctx, cbx_mean(ctx, x, CBX_AXIS(1)), c->in[1]));
    skill = cbx_subtract(ctx, error, cbx_divide_scalar(ctx, variance, (double)cbx_array_dim(x, 1)));
    const cbx_array *parts[] = { cbx__total_weight(ctx, c, variance), cbx__weighted_sum(ctx, c, variance),
                                 cbx__weighted_sum(ctx, c, skill) };
    return cbx__pack(ctx, 3, parts);
}

CBX__OF_STATE(spread_skill_ratio, state)
{
    CBX__PARTS(s, 3, ctx, state);
    const cbx_array *fine = cbx_greater_scalar(ctx, s[2], 0), *one = cbx__number(ctx, 1);
    const cbx_array *ratio = cbx__root(ctx, cbx_divide(ctx, s[1], cbx_where(ctx, fine, s[2], one)));
    return cbx_where(ctx, fine, ratio, cbx__number(ctx, NAN));
}

static bool has_nan(const double *x, size_t n) { return isnan(cbx__fold_get(cbx_isa_best())->run_max_f64(x, n)); }

static void rank_rows(cbx_ctx *ctx, const cbx_metric_call *c, const double *x, const void *y, size_t n, size_t members,
                      void *out)
{
    const double *target = y;
    const bool some = has_nan(x, n * members);
    int64_t *rank = out;

    (void)ctx, (void)c;
    cbx__count_below_get(cbx_isa_best())(x, target, n, members, rank);
    for (size_t i = 0; i < n; i++)
        if (isnan(target[i]) || (some && has_nan(x + i * members, members))) rank[i] = (int64_t)members + 1;
}

/* Weights in bins 0 to n - 1; NaN where there is one in bin n. */
static cbx_array *histogram(cbx_ctx *ctx, const cbx_metric_call *c, const cbx_array *bins, size_t n)
{
    const cbx_array *w = c->weights ? cbx_flatten(ctx, c->weights) : NULL;
    const cbx_array *counts = cbx_astype(ctx, cbx_bincount_size(ctx, bins, w, n + 1), CBX_F64);
    const cbx_array *nans = cbx_greater_scalar(ctx, cbx_index(ctx, counts, 0, -1), 0);

    return cbx_where(ctx, nans, cbx__number(ctx, NAN), cbx_slice(ctx, counts, 0, 0, (ptrdiff_t)n, 1));
}

/* Numbers of observations with so many members below them: members + 1 where the target or a
 * member is NaN. */
CBX__OF_CALL(rank_counts)
{
    const cbx_array *below, *nan, *gone;

    if (!check_ensemble(ctx, c, 1)) return cbx__array_failed();
    const size_t bins = cbx_array_dim(c->in[0], 1) + 1;
    if (cbx__rows_are_here(ctx, c)) return histogram(ctx, c, cbx__of_rows(ctx, c, CBX_I64, rank_rows), bins);
    below = cbx_less(ctx, c->in[0], cbx_expand_dims(ctx, c->in[1], 1));
    below = cbx_sum(ctx, cbx_astype(ctx, below, CBX_I64), CBX_AXIS(1));
    nan = cbx_full(ctx, 0, NULL, CBX_I64, cbx_int((int64_t)bins));
    gone = cbx_isnan(ctx, cbx_maximum(ctx, cbx_max(ctx, c->in[0], CBX_AXIS(1)), c->in[1]));
    return histogram(ctx, c, cbx_where(ctx, gone, nan, below), bins);
}

/* Sums over thresholds of the squared gap between the distribution functions. */
CBX__OF_CALL(ensemble_rps)
{
    const bool fair = c->parameters[0] != 0;
    const double members = (double)cbx_array_dim(c->in[0], 1);
    const cbx_array *levels = c->in[2] ? cbx_flatten(ctx, c->in[2]) : cbx_zeros(ctx, 1, &(size_t){ 1 }, CBX_F64);
    const cbx_array *x, *y, *gap, *gone;

    if (!check_ensemble(ctx, c, fair ? 2 : 1)) return cbx__array_failed();
    x = cbx_less_equal(ctx, cbx_expand_dims(ctx, c->in[0], 2), levels);
    x = cbx_mean(ctx, cbx_astype(ctx, x, CBX_F64), CBX_AXIS(1));
    y = cbx_astype(ctx, cbx_less_equal(ctx, cbx_expand_dims(ctx, c->in[1], 1), levels), CBX_F64);
    gap = cbx_square(ctx, cbx_subtract(ctx, x, y));
    if (fair) { /* the variance of 0s and 1s of mean x */
        const cbx_array *variance = cbx_multiply(ctx, x, cbx_subtract(ctx, cbx_ones_like(ctx, x), x));
        gap = cbx_subtract(ctx, gap, cbx_divide_scalar(ctx, variance, members - 1));
    }
    gone = cbx_isnan(ctx, cbx_maximum(ctx, cbx_max(ctx, c->in[0], CBX_AXIS(1)), c->in[1]));
    gone = cbx_logical_or(ctx, gone, cbx_isnan(ctx, cbx_max(ctx, levels, NULL)));
    return cbx_where(ctx, gone, cbx__number(ctx, NAN), cbx_sum(ctx, gap, CBX_AXIS(1)));
}

/* ---- probabilities ---- */

/* Row by row, with the bits of the steps below. */
static void rps_rows(cbx_ctx *ctx, const cbx_metric_call *c, const double *p, const void *labels, size_t n,
                     size_t classes, void *out)
{
    double *square = cbx__scratch(ctx, c->metric, classes, sizeof *square, "rows of %zu numbers", classes);

    for (size_t i = 0; square && i < n; i++, p += classes) {
        const int64_t label = ((const int64_t *)labels)[i];
        double sum = 0;
        for (size_t k = 0; k < classes; k++) {
            const double gap = (sum += p[k]) - ((int64_t)k >= label);
            square[k] = gap * gap;
        }
        ((double *)out)[i] = cbx__row_sum(square, classes);
    }
}

/* Sums over classes of (cumulative probability - whether the label is not above)^2, of each
 * item. */
CBX__OF_CALL(rps)
{
    const ptrdiff_t classes = (ptrdiff_t)cbx_array_dim(c->in[0], 1);
    const cbx_array *cumulative, *label, *step;

    if (classes > 0 && cbx__rows_are_here(ctx, c)) return cbx__of_rows(ctx, c, CBX_F64, rps_rows);
    cumulative = cbx_cumulative_sum(ctx, c->in[0], 1);
    label = cbx_expand_dims(ctx, c->in[1], 1);
    step = cbx_greater_equal(ctx, cbx_arange_int(ctx, 0, classes, 1, CBX_I64), label);
    return cbx_sum(ctx, cbx_square(ctx, cbx_subtract(ctx, cumulative, cbx_astype(ctx, step, CBX_F64))), CBX_AXIS(1));
}

CBX__OF_CALL(skill) { return cbx_subtract(ctx, cbx__number(ctx, 1), cbx_divide(ctx, c->in[0], c->in[1])); }

/* Bin of numbers between 0 and 1; bin number `bins` of NaN. */
static cbx_array *bin_of(cbx_ctx *ctx, const cbx_array *x, double bins)
{
    const cbx_array *bin = cbx_floor(ctx, cbx_multiply_scalar(ctx, cbx_flatten(ctx, x), bins));

    bin = cbx_clip_scalar(ctx, bin, cbx_float(0), cbx_float(bins - 1));
    return cbx_astype(ctx, cbx_where(ctx, cbx_isnan(ctx, bin), cbx__number(ctx, bins), bin), CBX_I64);
}

/* Weights of bins, and sums of probability less event in them: (2, bins). */
CBX__OF_CALL(reliability_parts)
{
    const size_t bins = (size_t)c->parameters[0];
    const cbx_array *bin = bin_of(ctx, c->in[0], (double)bins), *w = c->weights ? cbx_flatten(ctx, c->weights) : NULL;
    const cbx_array *gap = cbx_flatten(ctx, cbx_subtract(ctx, c->in[0], c->in[1]));
    const cbx_array *parts[] = { cbx_segment_sum(ctx, w ? w : cbx_ones_like(ctx, gap), bin, bins),
                                 cbx_segment_sum(ctx, w ? cbx_multiply(ctx, w, gap) : gap, bin, bins) };

    return cbx__pack(ctx, 2, parts);
}

CBX__OF_STATE(reliability, state)
{
    CBX__PARTS(s, 2, ctx, state);
    const cbx_array *sum = cbx_sum(ctx, cbx__ratio_or(ctx, cbx_square(ctx, s[1]), s[0], 0), NULL);
    return cbx_divide(ctx, sum, cbx_sum(ctx, s[0], NULL));
}

/* Numbers of observations in bins of their normal distribution function. */
CBX__OF_CALL(pit_counts)
{
    const double bins = c->parameters[0];
    const cbx_array *e = cbx_subtract(ctx, c->in[0], c->in[2]);
    const cbx_array *z = cbx_divide(ctx, e, cbx_sqrt(ctx, cbx_multiply_scalar(ctx, c->in[1], 2)));
    const cbx_array *below = cbx_multiply_scalar(ctx, cbx_erfc(ctx, z), 0.5);

    return histogram(ctx, c, bin_of(ctx, below, bins), (size_t)bins);
}

#define FORECASTING(...) CBX__ROW("forecasting", __VA_ARGS__)
#define ENSEMBLE         .operands = CBX__TWO("ensemble", ENSEMBLE, "targets", REAL), .shapes = CBX_SHAPES_LENGTH
#define MEMBERS          "ensemble (n, members), targets (n)."
#define BINS             CBX__INTEGER("num_bins", "bins of equal width between 0 and 1", 10, 1, 0x1p20)

/* clang-format off */
CBX__METRIC_TABLE(forecasting,
    { .name = "crps", .summary = "Continuous ranked probability score of ensembles", .formula = "mean over n of (mean |x_i - y| - mean |x_i - x_j| / 2)", FORECASTING(LOWER, 0, INFINITY), ENSEMBLE,
      .axioms = CBX_AXIOM_PROPER, .invariances = CBX_INVARIANT_SHIFT | CBX_INVARIANT_ORDER, .items = crps, CBX__SMOOTH,
      .notes = MEMBERS " Pairs of a member with itself count, so that small ensembles have larger scores: see fair_crps. Of one member it is the absolute error.",
      .source = "Gneiting & Raftery (2007); properscoring crps_ensemble", .example = "[[1.0, 2.0, 4.0], [0.0, 1.0, 1.0]], [2.0, 3.0]" },
    { .name = "fair_crps", .summary = "Fair continuous ranked probability score", .formula = "mean over n of (mean |x_i - y| - mean over i != j of |x_i - x_j| / 2)", FORECASTING(LOWER, -INFINITY, INFINITY), ENSEMBLE,
      .axioms = CBX_AXIOM_PROPER, .invariances = CBX_INVARIANT_SHIFT | CBX_INVARIANT_ORDER, .items = fair_crps, CBX__SMOOTH,
      .notes = MEMBERS " Its expectation does not depend on the number of members; a single value may be negative. At least 2 members.",
      .source = "Ferro (2014)", .example = "[[1.0, 2.0, 4.0], [0.0, 1.0, 1.0]], [2.0, 3.0]" },
    { .name = "energy_score", .summary = "Energy score of ensembles of vectors", .formula = "mean over n of (mean ||x_i - y|| - mean ||x_i - x_j|| / 2)", FORECASTING(LOWER, 0, INFINITY),
      .operands = CBX__TWO("ensemble", VECTOR_ENSEMBLE, "targets", POINTS), .shapes = CBX_SHAPES_LENGTH,
      .axioms = CBX_AXIOM_PROPER, .invariances = CBX_INVARIANT_ORDER, .items = energy, CBX__SMOOTH,
      .notes = "ensemble (n, members, d), targets (n, d). Of one dimension it is the crps.", .source = "Gneiting & Raftery (2007)", .example = "[[[1.0, 0.0], [2.0, 1.0]]], [[2.0, 0.0]]" },
    { .name = "spread_skill_ratio", .summary = "Spread of ensembles over the error of their mean", .formula = "sqrt(mean(var(x)) / mean((mean(x) - y)^2 - var(x) / members))", FORECASTING(INFO, 0, INFINITY), ENSEMBLE,
      .invariances = CBX_INVARIANT_COMMON_SCALE | CBX_INVARIANT_SHIFT | CBX_INVARIANT_ORDER, .parts = spread_and_skill, .finish = spread_skill_ratio, .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_WEIGHTED,
      .notes = MEMBERS " Variances divide by members - 1. Around 1 for an ensemble that is one of its own truths; below 1 it is too narrow. NaN where the error less its sampling part is not positive.",
      .source = "Fortin et al. (2014)", .example = "[[1.0, 2.0, 4.0], [0.0, 1.0, 1.0]], [4.0, 3.0]" },
    { .name = "rank_histogram", .summary = "Ranks of observations in their ensembles", .formula = "out[k] = number of items with k members below the target", FORECASTING(INFO, 0, INFINITY), ENSEMBLE,
      .invariances = CBX_INVARIANT_SHIFT | CBX_INVARIANT_ORDER, .parts = rank_counts, .finish = cbx__state_itself, .flags = CBX_METRIC_WEIGHTED | CBX_METRIC_EAGER,
      .notes = MEMBERS " members + 1 counts, flat for a reliable ensemble. Members equal to the target count as above it. NaN where a target or a member is NaN.", .source = "Hamill (2001)", .example = "[[1.0, 2.0, 4.0], [0.0, 1.0, 1.0]], [2.0, 3.0]" },
    { .name = "ensemble_ranked_probability_score", .summary = "Ranked probability score of ensembles at thresholds", .formula = "mean over n of sum over thresholds of (share of members <= threshold - (y <= threshold))^2", FORECASTING(LOWER, -INFINITY, INFINITY),
      .operands = { { "ensemble", CBX_OPERAND_ENSEMBLE }, { "targets", CBX_OPERAND_REAL }, { "thresholds", CBX_OPERAND_REAL, true } }, .shapes = CBX_SHAPES_FREE,
      .parameters = { CBX__FLAG("fair", "subtract what the sampling of the members adds", 1) }, .axioms = CBX_AXIOM_PROPER, .items = ensemble_rps,
      .notes = MEMBERS " fair subtracts the variance of each share, s (1 - s) / (members - 1), so that the expectation does not depend on the number of members; it needs 2 of them and may be negative. Proper with fair alone: without it ensembles that are narrower than the truth score better. thresholds left out are 0 alone.",
      .source = "Ferro, Richardson & Weigel (2008)", .example = "[[1.0, 2.0, 4.0], [0.0, 1.0, 1.0]], [2.0, 3.0], [1.0, 2.0, 3.0]" },
    { .name = "ranked_probability_score", .summary = "Ranked probability score of ordered classes", .formula = "mean over n of sum over classes k of (probability of class <= k - (label <= k))^2", FORECASTING(LOWER, 0, INFINITY),
      .operands = CBX__TWO("probabilities", CLASS_PROBABILITIES, "targets", LABELS), .shapes = CBX_SHAPES_LENGTH,
      .axioms = CBX_AXIOM_PROPER, .invariances = CBX_INVARIANT_ORDER, .items = rps, .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_EAGER, .notes = "Not divided by the number of classes less 1.", .source = "Epstein (1969); Murphy (1971)", .example = "[[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], [2, 1]" },
    { .name = "ranked_probability_skill_score", .summary = "Skill of a ranked probability score", .formula = "1 - rps / rps_reference", FORECASTING(HIGHER, -INFINITY, 1),
      .operands = CBX__TWO("rps", NONNEGATIVE, "rps_reference", NONNEGATIVE), .whole = skill, CBX__SMOOTH,
      .notes = "Of scores that are computed already, one by one: an array. 0: as the reference, such as the climatology; 1: perfect. NaN or minus infinity where the reference is 0.",
      .source = "Murphy (1971)", .example = "[0.2, 0.5], [0.4, 0.4]" },
    { .name = "event_reliability", .summary = "Reliability of probabilities of an event", .formula = "sum over bins of n_k (mean probability - share of events)^2 / n", FORECASTING(LOWER, 0, 1),
      .operands = CBX__TWO("probabilities", PROBABILITY, "targets", BINARY), .parameters = { BINS },
      .invariances = CBX_INVARIANT_ORDER, .parts = reliability_parts, .finish = reliability, .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_WEIGHTED,
      .notes = "A probability on the edge of two bins is in the upper one.", .source = "Murphy (1973)", .example = "[0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]" },
    { .name = "pit_histogram", .summary = "Histogram of the probability integral transform", .formula = "out[k] = number of items with k / num_bins <= F(target) < (k + 1) / num_bins, F: normal with mean and variance", FORECASTING(INFO, 0, INFINITY),
      .operands = { { "means", CBX_OPERAND_REAL }, { "variances", CBX_OPERAND_POSITIVE }, { "targets", CBX_OPERAND_REAL } }, .parameters = { BINS },
      .parts = pit_counts, .finish = cbx__state_itself, .flags = CBX_METRIC_WEIGHTED, .notes = "num_bins counts, flat where the distributions are reliable.", .source = "Diebold, Gunther & Tay (1998)", .example = "[0.0, 1.0], [1.0, 4.0], [0.5, -2.0]" },
)
/* clang-format on */
