/* Calibration: whether events that get probability p happen in a share p of the cases. */
#include "calibrax/array/scope_internal.h"
#include "calibrax/metrics/functional/counts.h"

/* ---- bins of equal width ---- */

static size_t num_bins(const cbx_metric_call *c) { return (size_t)c->parameters[0]; }

/* Numbers of the bins: bin i is i / bins <= p < (i + 1) / bins, the last one has 1, too. */
static cbx_array *bins_of(cbx_ctx *ctx, const cbx_array *p, size_t bins)
{
    const cbx_array *edges = cbx_linspace(ctx, 0, 1, bins + 1, true, CBX_F64);

    return cbx_searchsorted(ctx, cbx_slice(ctx, edges, 0, 1, -1, 1), p, true);
}

/* (3, bins): weights, and weighted sums of p and of t, of each bin. */
CBX__OF_CALL(binned)
{
    const cbx_array *p = cbx_flatten(ctx, c->in[0]), *t = cbx_flatten(ctx, c->in[1]), *sums[3];
    const cbx_array *w = c->weights ? cbx_flatten(ctx, c->weights) : NULL;
    const size_t bins = num_bins(c);
    const cbx_array *ids = bins_of(ctx, p, bins);

    sums[0] = cbx_segment_sum(ctx, w ? w : cbx_ones_like(ctx, p), ids, bins);
    sums[1] = cbx_segment_sum(ctx, w ? cbx_multiply(ctx, w, p) : p, ids, bins);
    sums[2] = cbx_segment_sum(ctx, w ? cbx_multiply(ctx, w, t) : t, ids, bins);
    return cbx__pack(ctx, 3, sums);
}

/* Of classes, too: each class has all items. */
CBX__OF_STATE(expected, state)
{
    CBX__PARTS(s, 3, ctx, state);
    return cbx_divide(ctx, cbx_sum(ctx, cbx_abs(ctx, cbx_subtract(ctx, s[2], s[1])), NULL), cbx_sum(ctx, s[0], NULL));
}

CBX__OF_STATE(largest, state)
{
    CBX__PARTS(s, 3, ctx, state);
    return cbx_max(ctx, cbx__ratio_or(ctx, cbx_abs(ctx, cbx_subtract(ctx, s[2], s[1])), s[0], 0), NULL);
}

/* (bins, 3): mean prediction, share of events, weight. */
CBX__OF_STATE(diagram, state)
{
    const cbx_array *columns[3];

    CBX__PARTS(s, 3, ctx, state);
    columns[0] = cbx__ratio_or(ctx, s[1], s[0], 0);
    columns[1] = cbx__ratio_or(ctx, s[2], s[0], 0);
    columns[2] = s[0];
    return cbx_stack(ctx, 3, columns, 1);
}

/* ---- Murphy's parts of the Brier score ---- */

/* binned, and a row whose first element is the sum of squared errors. */
CBX__OF_CALL(brier_parts)
{
    const cbx_array *error = cbx__weighted_sum(ctx, c, cbx__squared_error(ctx, c));
    const size_t before[] = { 0, 0 }, after[] = { 0, num_bins(c) - 1 };
    const ptrdiff_t shape[] = { 1, 1 };
    const cbx_array *row = cbx_pad(ctx, cbx_reshape(ctx, error, 2, shape), before, after, cbx_float(0));
    const cbx_array *rows[] = { binned(ctx, c), row };

    return cbx_concat(ctx, 2, rows, 0);
}

CBX__OF_STATE(brier_decomposition, state)
{
    const cbx_array *n, *rate, *each, *out[5], *explained;

    CBX__PARTS(s, 4, ctx, state);
    n = cbx_sum(ctx, s[0], NULL);
    rate = cbx_divide(ctx, cbx_sum(ctx, s[2], NULL), n);
    each = cbx__ratio_or(ctx, s[2], s[0], 0);
    out[0] = cbx_square(ctx, cbx_subtract(ctx, cbx__ratio_or(ctx, s[1], s[0], 0), each));
    out[1] = cbx_square(ctx, cbx_subtract(ctx, each, rate));
    for (int i = 0; i < 2; i++) out[i] = cbx_divide(ctx, cbx_sum(ctx, cbx_multiply(ctx, s[0], out[i]), NULL), n);
    out[2] = cbx_multiply(ctx, rate, cbx_subtract(ctx, cbx__number(ctx, 1), rate));
    out[4] = cbx_divide(ctx, cbx_index(ctx, s[3], 0, 0), n);
    explained = cbx_add(ctx, cbx_subtract(ctx, out[0], out[1]), out[2]);
    out[3] = cbx_subtract(ctx, out[4], explained);
    return cbx__pack(ctx, 5, out);
}

/* ---- bins of equal numbers of items ---- */

/* Sums of count bins of size elements of x, from element first on. */
static cbx_array *sums_of_runs(cbx_ctx *ctx, const cbx_array *x, size_t first, size_t count, size_t size)
{
    const ptrdiff_t shape[] = { (ptrdiff_t)count, (ptrdiff_t)size };
    const cbx_array *run = cbx_slice(ctx, x, 0, (ptrdiff_t)first, (ptrdiff_t)(first + count * size), 1);

    return cbx_sum(ctx, cbx_reshape(ctx, run, 2, shape), CBX_AXIS(1));
}

CBX__OF_CALL(adaptive)
{
    const cbx_array *p = c->in[0], *t = c->in[1];
    const size_t n = cbx_array_count(p), bins = num_bins(c), more = n % bins, size = n / bins;
    const cbx__ordered o = cbx__order_scores(ctx, p);
    const cbx_array *before = cbx_cumulative_sum_initial(ctx, cbx_take(ctx, t, o.order, 0), 0);
    const cbx_array *tied = cbx_subtract(ctx, cbx_take(ctx, before, o.end, 0), cbx_take(ctx, before, o.first, 0));
    const cbx_array *share = cbx_divide(ctx, tied, cbx_astype(ctx, cbx_subtract(ctx, o.end, o.first), CBX_F64));
    const cbx_array *gap = cbx_subtract(ctx, share, cbx_take(ctx, p, o.order, 0)), *total = cbx__number(ctx, 0);

    if (more) total = cbx_add(ctx, total, cbx_sum(ctx, cbx_abs(ctx, sums_of_runs(ctx, gap, 0, more, size + 1)), NULL));
    if (size) {
        gap = sums_of_runs(ctx, gap, more * (size + 1), bins - more, size);
        total = cbx_add(ctx, total, cbx_sum(ctx, cbx_abs(ctx, gap), NULL));
    }
    return cbx_divide(ctx, total, cbx__number(ctx, (double)n));
}

/* ---- of several classes ---- */

/* (3, classes, bins): as binned, of each class against the others. */
CBX__OF_CALL(binned_by_class)
{
    const cbx_array *p = c->in[0], *labels = c->in[1], *w = c->weights, *one, *ids, *own, *class, *sums[3];
    const size_t n = cbx_array_dim(p, 0), k = cbx_array_dim(p, 1), bins = num_bins(c), shape[] = { n, k };
    const ptrdiff_t split[] = { 3, (ptrdiff_t)k, (ptrdiff_t)bins };

    class = cbx_arange_int(ctx, 0, (int64_t)(k * bins), (int64_t)bins, CBX_I64);
    ids = cbx_add(ctx, bins_of(ctx, p, bins), class);
    own = cbx_squeeze(ctx, cbx_take_along_axis(ctx, ids, cbx_expand_dims(ctx, labels, 1), 1), 1);
    one = w ? w : cbx_ones(ctx, 1, &n, CBX_F64);
    w = cbx_flatten(ctx, cbx_broadcast_to(ctx, cbx_expand_dims(ctx, one, 1), 2, shape));
    ids = cbx_flatten(ctx, ids);
    sums[0] = cbx_segment_sum(ctx, w, ids, k * bins);
    sums[1] = cbx_segment_sum(ctx, cbx_multiply(ctx, w, cbx_flatten(ctx, p)), ids, k * bins);
    sums[2] = cbx_segment_sum(ctx, one, own, k * bins);
    return cbx_reshape(ctx, cbx__pack(ctx, 3, sums), 3, split);
}

#define PAIR             CBX__TWO("predictions", PROBABILITY, "targets", BINARY)
#define CALIBRATION(...) CBX__ROW("calibration", __VA_ARGS__), .invariances = CBX_INVARIANT_ORDER
#define BINS             .parameters = { CBX__INTEGER("num_bins", "number of bins", 10, 1, 0x1p20) }
#define BINNED           .operands = PAIR, BINS, .parts = binned
#define WEIGHTED         .flags = CBX_METRIC_WEIGHTED | CBX_METRIC_DIFFERENTIABLE
#define EDGES            "Bin i has i / num_bins <= p < (i + 1) / num_bins, the last one 1 as well. "

/* clang-format off */
CBX__METRIC_TABLE(calibration,
    { .name = "brier_score", .summary = "Brier score", .formula = "mean((predictions - targets)^2)", CALIBRATION(LOWER, 0, 1), .operands = PAIR,
      .axioms = CBX_AXIOM_PROPER, .items = cbx__squared_error, .flags = CBX_METRIC_DIFFERENTIABLE,
      .notes = "It measures calibration and resolution together: see brier_decomposition.",
      .source = "Brier (1950); scikit-learn brier_score_loss", .example = "[0.1, 0.9, 0.8, 0.3], [0, 1, 1, 0]" },
    { .name = "expected_calibration_error", .summary = "Expected calibration error", .formula = "sum over bins of share of items |share of events - mean prediction|", CALIBRATION(LOWER, 0, 1),
      BINNED, .finish = expected, WEIGHTED, .notes = EDGES "It depends on the number of bins, and is biased upwards where bins have few items.",
      .source = "Naeini, Cooper & Hauskrecht (2015)", .example = "[0.1, 0.15, 0.8, 0.85], [0, 0, 1, 0]" },
    { .name = "maximum_calibration_error", .summary = "Maximum calibration error", .formula = "max over bins of |share of events - mean prediction|", CALIBRATION(LOWER, 0, 1),
      BINNED, .finish = largest, WEIGHTED, .notes = EDGES "A bin with few items decides it easily.",
      .source = "Naeini, Cooper & Hauskrecht (2015)", .example = "[0.1, 0.15, 0.8, 0.85], [0, 0, 1, 0]" },
    { .name = "adaptive_calibration_error", .summary = "Calibration error of equal bins", .formula = "sum over bins of |sum of targets - sum of predictions| / n", CALIBRATION(LOWER, 0, 1),
      .operands = PAIR, .shapes = CBX_SHAPES_LENGTH, BINS, .whole = adaptive, .flags = CBX_METRIC_DIFFERENTIABLE,
      .notes = "Each bin has n / num_bins items, in order of prediction, the first ones one more. Targets of equal predictions are shared equally among them.",
      .source = "Nixon et al. (2019)", .example = "[0.1, 0.15, 0.8, 0.85], [0, 0, 1, 0], num_bins=2" },
    { .name = "classwise_ece", .summary = "Class-wise calibration error", .formula = "mean over classes of expected_calibration_error of the class against the others", CALIBRATION(LOWER, 0, 1),
      .operands = CBX__TWO("predictions", CLASS_PROBABILITIES, "targets", LABELS), .shapes = CBX_SHAPES_LENGTH, BINS,
      .parts = binned_by_class, .finish = expected, .flags = CBX_METRIC_WEIGHTED | CBX_METRIC_EAGER | CBX_METRIC_DIFFERENTIABLE, .notes = EDGES "There are as many classes as predictions has columns.",
      .source = "Kull et al. (2019)", .example = "[[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]], [0, 1]" },
    { .name = "reliability_diagram_bins", .summary = "Bins of a reliability diagram", .formula = "a row for each bin: mean prediction, share of events, number of items", CALIBRATION(INFO, 0, INFINITY),
      BINNED, .finish = diagram, WEIGHTED, .notes = EDGES "Rows of empty bins are 0.",
      .source = "scikit-learn calibration_curve", .example = "[0.1, 0.15, 0.8, 0.85], [0, 0, 1, 0], num_bins=5" },
    { .name = "brier_decomposition", .summary = "Parts of the Brier score", .formula = "calibration, resolution, uncertainty, within, brier, with brier = calibration - resolution + uncertainty + within", CALIBRATION(INFO, -1, 1),
      .operands = PAIR, BINS, .parts = brier_parts, .finish = brier_decomposition, WEIGHTED,
      .notes = EDGES "within is what predictions differ in a bin; it is 0 where each bin has one prediction.",
      .source = "Murphy (1973); Stephenson, Coelho & Jolliffe (2008)", .example = "[0.1, 0.1, 0.8, 0.8], [0, 0, 1, 0]" },
)
/* clang-format on */
