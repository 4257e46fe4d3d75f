/*
 * Rankings of one query by score.  Items whose scores tie are in random order: results are
 * expectations over all orders of theirs.  Source: McSherry & Najork, Computing information
 * retrieval performance measures efficiently in the presence of tied scores (2008).
 */
#include <string.h>

#include "calibrax/metrics/functional/counts.h"

/* ---- the order ---- */

typedef struct ranking {
    cbx__ordered o;
    cbx_array *grade; /* in ascending order of scores, as all below */
    cbx_array *above; /* items with a higher score */
    cbx_array *ties;  /* items with the same score */
    double n;
} ranking;

static ranking rank(cbx_ctx *ctx, const cbx_metric_call *c)
{
    const size_t n = cbx_array_count(c->in[0]);
    ranking r = { .o = cbx__order_scores(ctx, c->in[0]), .n = (double)n };
    const cbx_array *first = cbx_astype(ctx, r.o.first, CBX_F64), *end = cbx_astype(ctx, r.o.end, CBX_F64);

    r.grade = cbx_take(ctx, c->in[1], r.o.order, 0);
    r.above = cbx_subtract(ctx, cbx__number(ctx, r.n), end);
    r.ties = cbx_subtract(ctx, end, first);
    return r;
}

static cbx_array *is_relevant(cbx_ctx *ctx, const cbx_array *grade)
{
    return cbx_astype(ctx, cbx_greater_scalar(ctx, grade, 0), CBX_F64);
}

/* 0, 1, ... n - 1. */
static cbx_array *places(cbx_ctx *ctx, double n) { return cbx_arange(ctx, 0, n, 1, CBX_F64); }

/* ---- gains and discounts ---- */

enum { EXPONENTIAL, LINEAR }; /* gains */

static cbx_array *gain(cbx_ctx *ctx, const cbx_metric_call *c, const cbx_array *grade)
{
    const double how = c->parameters[cbx_metric_parameters(c->metric) - 1];

    if ((int)how == LINEAR) return cbx_copy(ctx, grade);
    return cbx_expm1(ctx, cbx_multiply_scalar(ctx, grade, M_LN2));
}

/* Items that tie share the discounts of their places. */
static cbx_array *gain_at(cbx_ctx *ctx, const cbx_metric_call *c, double k)
{
    const ranking r = rank(ctx, c);
    const cbx_array *place = places(ctx, r.n), *gains = gain(ctx, c, r.grade), *best, *sums, *discount, *shared, *n;
    const cbx_array *inside = cbx_less_scalar(ctx, place, k), *above = cbx_astype(ctx, r.above, CBX_I64);

    discount = cbx_reciprocal(ctx, cbx_log2(ctx, cbx_add_scalar(ctx, place, 2)));
    discount = cbx_where(ctx, inside, discount, cbx__number(ctx, 0));
    sums = cbx_cumulative_sum_initial(ctx, discount, 0);
    n = cbx_full(ctx, 0, NULL, CBX_I64, cbx_int((int64_t)r.n));
    shared = cbx_subtract(ctx, cbx_take(ctx, sums, cbx_subtract(ctx, n, r.o.first), 0), cbx_take(ctx, sums, above, 0));
    shared = cbx_divide(ctx, shared, r.ties);
    best = cbx_sum(ctx, cbx_multiply(ctx, cbx_sort(ctx, gains, 0, true), discount), NULL);
    return cbx__ratio_or(ctx, cbx_sum(ctx, cbx_multiply(ctx, gains, shared), NULL), best, 0);
}

CBX__OF_CALL(ndcg) { return gain_at(ctx, c, INFINITY); }
CBX__OF_CALL(ndcg_at_k) { return gain_at(ctx, c, c->parameters[0]); }

/* ---- relevant items among the first k ---- */

/* Moves down what lies at `at` in a heap of n numbers whose smallest is first. */
static void sift(double *heap, size_t n, size_t at)
{
    const double x = heap[at];

    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= x) break;
        heap[at] = heap[child];
    }
    heap[at] = x;
}

/* The k-th largest of n numbers, k at most n; heap: scratch for k. */
static double kth_largest(const double *x, size_t n, size_t k, double *heap)
{
    memcpy(heap, x, k * sizeof *x);
    for (size_t i = k / 2; i-- > 0;) sift(heap, k, i);
    for (size_t i = k; i < n; i++) {
        if (!(x[i] > heap[0])) continue;
        heap[0] = x[i];
        sift(heap, k, 0);
    }
    return heap[0];
}

/* With data: no order is made. */
CBX__OF_CALL(hits_in_c)
{
    const size_t n = cbx_array_count(c->in[0]), k = c->parameters[0] < (double)n ? (size_t)c->parameters[0] : n;
    double *heap = cbx__scratch(ctx, c->metric, k, sizeof *heap, "the best %zu items", k);
    const double *s = cbx__host_view(ctx, c->in[0]), *grade = cbx__host_view(ctx, c->in[1]);
    double best = 0, above = 0, ties = 0, tied = 0;

    if (!heap || !s || !grade) return cbx__array_failed();
    const double bound = kth_largest(s, n, k, heap);
    for (size_t i = 0; i < n; i++) {
        if (s[i] < bound) continue;
        const double relevant = grade[i] > 0;
        const bool is_tie = s[i] == bound;
        best += is_tie ? 0 : relevant;
        above += !is_tie;
        ties += is_tie;
        tied += is_tie ? relevant : 0;
    }
    return cbx__number(ctx, best + ((double)k - above) / ties * tied);
}

/* The expected number: of items that tie at place k a share counts. */
CBX__OF_CALL(hits)
{
    ranking r;
    const cbx_array *left, *share;

    if (cbx__metric_has_data(ctx, c)) return hits_in_c(ctx, c);
    r = rank(ctx, c);
    left = cbx_subtract(ctx, cbx__number(ctx, c->parameters[0]), r.above);
    share = cbx_clip_scalar(ctx, cbx_divide(ctx, left, r.ties), cbx_float(0), cbx_float(1));
    return cbx_sum(ctx, cbx_multiply(ctx, share, is_relevant(ctx, r.grade)), NULL);
}

CBX__OF_CALL(precision_at_k) { return cbx_divide(ctx, hits(ctx, c), cbx__number(ctx, c->parameters[0])); }

CBX__OF_CALL(recall_at_k)
{
    return cbx__ratio_or(ctx, hits(ctx, c), cbx_sum(ctx, is_relevant(ctx, c->in[1]), NULL), 0);
}

/* Precision at the score of each relevant item, averaged. */
CBX__OF_CALL(average_precision)
{
    const ranking r = rank(ctx, c);
    const cbx_array *y = is_relevant(ctx, r.grade), *before = cbx_cumulative_sum_initial(ctx, y, 0);
    const cbx_array *all = cbx_index(ctx, before, 0, -1);
    const cbx_array *found = cbx_subtract(ctx, all, cbx_take(ctx, before, r.o.first, 0));
    const cbx_array *precision = cbx_divide(ctx, found, cbx_add(ctx, r.above, r.ties));

    return cbx__ratio_or(ctx, cbx_sum(ctx, cbx_multiply(ctx, y, precision), NULL), all, 0);
}

/* ---- the first relevant item ---- */

/*
 * For each place, 0 the best, the probability that the first relevant item has it.  The best score
 * of relevant items has g items, q of them relevant, and a items have a higher score:
 * P(none at j places) = prod_{i<j} (g - q - i) / (g - i).
 */
CBX__OF_CALL(first_relevant)
{
    const ranking r = rank(ctx, c);
    const cbx_array *y = is_relevant(ctx, r.grade), *place = places(ctx, r.n), *none = cbx__number(ctx, -1);
    const cbx_array *one = cbx__number(ctx, 1), *zero = cbx__number(ctx, 0);
    const cbx_array *last = cbx_max(ctx, cbx_where(ctx, cbx_greater_scalar(ctx, y, 0), place, none), NULL);
    const cbx_array *at = cbx_astype(ctx, cbx_maximum(ctx, last, zero), CBX_I64);
    const cbx_array *a = cbx_take(ctx, r.above, at, 0), *g = cbx_take(ctx, r.ties, at, 0);
    const cbx_array *tied = cbx_equal(ctx, r.above, a);
    const cbx_array *q = cbx_sum(ctx, cbx_where(ctx, tied, y, zero), NULL), *j = cbx_subtract(ctx, place, a);
    const cbx_array *inside = cbx_logical_and(ctx, cbx_greater_equal_scalar(ctx, j, 0), cbx_less(ctx, j, g));
    const cbx_array *left = cbx_where(ctx, inside, cbx_subtract(ctx, g, j), one);
    const cbx_array *missed = cbx_divide(ctx, cbx_maximum(ctx, cbx_subtract(ctx, left, q), zero), left);
    const cbx_array *so_far = cbx_cumulative_prod_initial(ctx, cbx_where(ctx, inside, missed, one), 0);

    so_far = cbx_slice(ctx, so_far, 0, 0, -1, 1);
    return cbx_where(ctx, inside, cbx_multiply(ctx, so_far, cbx_divide(ctx, q, left)), zero);
}

CBX__OF_CALL(hit_rate)
{
    const cbx_array *p = first_relevant(ctx, c), *place = places(ctx, (double)cbx_array_count(p));
    const cbx_array *inside = cbx_less_scalar(ctx, place, c->parameters[0]);

    return cbx_sum(ctx, cbx_where(ctx, inside, p, cbx__number(ctx, 0)), NULL);
}

CBX__OF_CALL(reciprocal_rank)
{
    const cbx_array *p = first_relevant(ctx, c), *place = places(ctx, (double)cbx_array_count(p));

    return cbx_sum(ctx, cbx_divide(ctx, p, cbx_add_scalar(ctx, place, 1)), NULL);
}

/* ---- the catalogue ---- */

/* 1 of each item of the catalogue that occurs, else 0. */
CBX__OF_CALL(occurrences)
{
    const size_t catalog = cbx__num_classes(c), n = cbx_array_count(c->in[0]);

    if (!cbx__metric_has_data(ctx, c)) {
        const cbx_array *counts = cbx_bincount_size(ctx, cbx_flatten(ctx, c->in[0]), NULL, catalog);
        return cbx_astype(ctx, cbx_greater_scalar(ctx, counts, 0), CBX_F64);
    }
    const int64_t *x = cbx__host_view(ctx, c->in[0]);
    uint8_t *found = cbx__scratch(ctx, c->metric, catalog, sizeof *found, "%zu items", catalog);
    if (!x || !found) return cbx__array_failed();
    for (size_t i = 0; i < n; i++)
        if ((uint64_t)x[i] < catalog) found[x[i]] = 1;
    return cbx_astype(ctx, cbx_asarray(ctx, &(cbx_array_desc){ CBX_BOOL, 1, { catalog } }, found), CBX_F64);
}

CBX__OF_STATE(share_seen, state)
{
    return cbx_mean(ctx, cbx_astype(ctx, cbx_greater_scalar(ctx, state, 0), CBX_F64), NULL);
}

#define RANKING(operand)                                                                                               \
    .domain = "ranking", .direction = CBX_DIRECTION_HIGHER, .low = 0, .high = 1,                                       \
    .operands = CBX__TWO(operand, SCORES, "targets", RELEVANCE), .shapes = CBX_SHAPES_LENGTH,                          \
    .invariances = CBX_INVARIANT_ORDER | CBX_INVARIANT_MONOTONE
#define K     CBX__INTEGER("k", "number of best items", 10, 1, 0x1p53)
#define GAINS CBX__CHOICE("gains", "exponential: 2^grade - 1; linear: the grade", 0, 1, "exponential|linear")
#define ONE_QUERY                                                                                                      \
    "All items belong to one query, those of all batches of a state, too: of several queries take the mean of the "    \
    "results. "
#define TIES                                                                                                           \
    ONE_QUERY                                                                                                          \
    "Items with equal scores are taken in random order: the result is its expectation. "

/* clang-format off */
CBX__METRIC_TABLE(ranking,
    { .name = "ndcg", .summary = "Normalised discounted cumulative gain", .formula = "sum_i gain_i / log2(rank_i + 1), divided by its largest value", RANKING("predictions"),
      .parameters = { GAINS }, .whole = ndcg, .notes = TIES "0 where all grades are 0. scikit-learn has linear gains.",
      .source = "Jarvelin & Kekalainen (2002); Burges et al. (2005); scikit-learn ndcg_score", .example = "[0.9, 0.2, 0.7, 0.1], [3, 0, 2, 1]" },
    { .name = "ndcg_at_k", .summary = "Normalised discounted cumulative gain of the first k", .formula = "ndcg whose sums have the ranks up to k", RANKING("predictions"),
      .parameters = { K, GAINS }, .whole = ndcg_at_k, .notes = TIES "0 where all grades are 0.",
      .source = "scikit-learn ndcg_score", .example = "[0.9, 0.2, 0.7, 0.1], [3, 0, 2, 1], k=2" },
    { .name = "mean_average_precision", .summary = "Average precision of a ranking", .formula = "mean over relevant items of the precision among the items with at least their score", RANKING("predictions"),
      .whole = average_precision, .notes = ONE_QUERY "Items with a grade above 0 are relevant. Items with equal scores have the same precision. 0 without relevant items.",
      .source = "scikit-learn average_precision_score", .example = "[0.9, 0.2, 0.7, 0.1], [1, 0, 0, 1]" },
    { .name = "precision_at_k", .summary = "Precision of the first k", .formula = "relevant items among the first k / k", RANKING("predictions"), .parameters = { K },
      .whole = precision_at_k, .flags = CBX_METRIC_EAGER, .notes = TIES "With less than k items the divisor is still k.",
      .source = "McSherry & Najork (2008); torchmetrics RetrievalPrecision", .example = "[0.9, 0.2, 0.7, 0.1], [1, 0, 0, 1], k=2" },
    { .name = "recall_at_k", .summary = "Recall of the first k", .formula = "relevant items among the first k / relevant items", RANKING("predictions"), .parameters = { K },
      .whole = recall_at_k, .flags = CBX_METRIC_EAGER, .notes = TIES "0 without relevant items.",
      .source = "McSherry & Najork (2008); torchmetrics RetrievalRecall", .example = "[0.9, 0.2, 0.7, 0.1], [1, 0, 0, 1], k=2" },
    { .name = "hit_rate", .summary = "Hit rate of the first k", .formula = "1 if a relevant item is among the first k, else 0", RANKING("predictions"), .parameters = { K },
      .whole = hit_rate, .notes = TIES "0 without relevant items.",
      .source = "torchmetrics RetrievalHitRate", .example = "[0.9, 0.2, 0.7, 0.1], [0, 0, 1, 1], k=1" },
    { .name = "mean_reciprocal_rank", .summary = "Reciprocal rank", .formula = "1 / rank of the first relevant item", RANKING("predictions"),
      .whole = reciprocal_rank, .notes = TIES "0 without relevant items.",
      .source = "McSherry & Najork (2008); torchmetrics RetrievalMRR", .example = "[0.9, 0.2, 0.7, 0.1], [0, 0, 1, 1]" },
    { .name = "coverage", .summary = "Coverage of a catalogue", .formula = "number of different items / catalog_size", .domain = "ranking", .direction = CBX_DIRECTION_HIGHER, .low = 0, .high = 1,
      .operands = { { "items", CBX_OPERAND_LABELS } },
      .parameters = { CBX__INTEGER("catalog_size", "number of items there are; 0: one more than the largest number", 0, 0, 0x1p27) },
      .invariances = CBX_INVARIANT_ORDER, .parts = occurrences, .finish = share_seen, .flags = CBX_METRIC_EAGER,
      .notes = "items: numbers of the items that were recommended. Give catalog_size, since items that were never recommended are not among the numbers.",
      .source = "Ge, Delgado-Battenfeld & Jannach (2010)", .example = "[0, 3, 3, 1], catalog_size=10" },
)
/* clang-format on */
