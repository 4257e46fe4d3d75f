/*
 * Quantiles, and areas under curves of scores, of streams that are too long to keep: by sketches
 * (../stateful/sketch.h) with a bound that each state knows (cbx_metric_state_error).  Up to `size`
 * values they are exact.
 */
#include "calibrax/base/idioms.h"
#include "calibrax/metrics/internal.h"
#include "calibrax/metrics/stateful/sketch.h"

enum { POSITIVE, NEGATIVE }; /* classes of scores, in the order of their sketches */

static size_t size_of(const cbx_metric_call *c) { return (size_t)c->parameters[0] & ~(size_t)1; }

CBX__OF_CALL(out_of_memory)
{
    return cbx__metric_refuse(ctx, c, CBX_ENOMEM, "no memory for a sketch of size %zu", size_of(c));
}

/* Of a sample, or of the scores of both classes. */
typedef struct sketches {
    size_t n;
    cbx__sketch of[2];
    cbx__weighted_values values[2];
} sketches;

static void sketches_init(sketches *s, cbx_ctx *ctx, const cbx_metric_call *c, size_t n)
{
    *s = (sketches){ .n = n };
    for (size_t i = 0; i < n; i++) cbx__sketch_init(&s->of[i], cbx_ctx_allocator(ctx), size_of(c));
}

static void sketches_clear(sketches *s)
{
    for (size_t i = 0; i < s->n; i++) {
        cbx_list_clear(&s->of[i].al, &s->values[i]);
        cbx__sketch_clear(&s->of[i]);
    }
}

/* ---- sketches as arrays: [length of the first, the first, the second ...] ---- */

static cbx_array *written(cbx_ctx *ctx, const sketches *s)
{
    cbx_array_desc d = { CBX_F64, 1, { 1 } };
    cbx_array *out;
    double *v;

    for (size_t i = 0; i < s->n; i++) d.shape[0] += cbx__sketch_length(&s->of[i]);
    out = cbx__fresh(ctx, &d);
    if (cbx_array_is_failed(out)) return out;
    v = cbx_array_data_mut(out);
    *v++ = (double)cbx__sketch_length(&s->of[0]);
    for (size_t i = 0; i < s->n; v += cbx__sketch_length(&s->of[i++])) cbx__sketch_write(&s->of[i], v);
    return out;
}

/* False: recorded. */
static bool read_sketches(cbx_ctx *ctx, const cbx_metric_call *c, const cbx_array *parts, sketches *s)
{
    const size_t count = cbx_array_count(parts);
    const double *v = cbx__host_view(ctx, parts);
    cbx_err err = CBX_ERR_INIT;
    size_t first = 0;

    if (!v) return false;
    if (count > 1 && v[0] >= 0 && v[0] <= (double)(count - 1)) first = (size_t)v[0];
    if (s->n == 1 && first + 1 != count) first = 0;
    cbx__sketch_read(&s->of[0], v + 1, first, &err);
    if (s->n == 2 && !err.status) cbx__sketch_read(&s->of[1], v + 1 + first, count - 1 - first, &err);
    if (err.status) cbx__metric_refuse(ctx, c, err.status, "%s", err.message);
    return !err.status;
}

/* With their values. */
static bool read_values(cbx_ctx *ctx, const cbx_metric_call *c, const cbx_array *parts, sketches *s)
{
    if (!read_sketches(ctx, c, parts, s)) return false;
    for (size_t i = 0; i < s->n; i++)
        if (!cbx__sketch_values(&s->of[i], &s->values[i])) return out_of_memory(ctx, c), false;
    return true;
}

/* Adds the values of an array, in any order.  False: recorded. */
static bool add(cbx_ctx *ctx, const cbx_metric_call *c, const cbx_array *x, cbx__sketch *s)
{
    const double *sorted = cbx__host_view(ctx, cbx_sort(ctx, x, 0, false));

    if (!sorted) return false;
    return cbx__sketch_add(s, sorted, cbx_array_count(x)) || (out_of_memory(ctx, c), false);
}

static cbx_array *merged(cbx_ctx *ctx, const cbx_metric_call *c, const cbx_array *a, const cbx_array *b, size_t n)
{
    CBX_SCOPED(sketches, s, ctx, c, n);
    CBX_SCOPED(sketches, t, ctx, c, n);

    if (!read_sketches(ctx, c, a, &s) || !read_sketches(ctx, c, b, &t)) return cbx__array_failed();
    for (size_t i = 0; i < n; i++)
        if (!cbx__sketch_merge(&s.of[i], &t.of[i])) return out_of_memory(ctx, c);
    return written(ctx, &s);
}

/* ---- quantiles ---- */

CBX__OF_CALL(sample_parts)
{
    CBX_SCOPED(sketches, s, ctx, c, 1);
    return add(ctx, c, c->in[0], &s.of[0]) ? written(ctx, &s) : cbx__array_failed();
}

CBX__OF_STATES(sample_merge, a, b) { return merged(ctx, c, a, b, 1); }

CBX__OF_STATE(sample_quantile, parts)
{
    CBX_SCOPED(sketches, s, ctx, c, 1);
    if (!read_values(ctx, c, parts, &s)) return cbx__array_failed();
    return cbx__number(ctx, cbx__sketch_quantile(&s.of[0], &s.values[0], c->parameters[1]));
}

static double error_of(const cbx__sketch *s) { return s->count > 0 ? s->error / s->count : 0; }

CBX__OF_STATE(sample_error, parts)
{
    CBX_SCOPED(sketches, s, ctx, c, 1);
    return read_sketches(ctx, c, parts, &s) ? cbx__number(ctx, error_of(&s.of[0])) : cbx__array_failed();
}

/* Linear between the neighbours of place q (n - 1) in ascending order. */
CBX__OF_CALL(quantile)
{
    const cbx_array *x = cbx_sort(ctx, c->in[0], 0, false);
    const double place = c->parameters[0] * (double)(cbx_array_count(x) - 1), before = floor(place);
    const cbx_array *low = cbx_index(ctx, x, 0, (ptrdiff_t)before);

    if (place == before) return cbx_copy(ctx, low);
    const cbx_array *gap = cbx_subtract(ctx, cbx_index(ctx, x, 0, (ptrdiff_t)before + 1), low);
    return cbx_add(ctx, low, cbx_multiply_scalar(ctx, gap, place - before));
}

/* ---- curves of scores ---- */

CBX__OF_CALL(class_parts)
{
    const cbx_array *positive = cbx_greater_scalar(ctx, c->in[1], 0);
    CBX_SCOPED(sketches, s, ctx, c, 2);

    for (int class = POSITIVE; class <= NEGATIVE; class ++) {
        const cbx_array *of = class == POSITIVE ? positive : cbx_logical_not(ctx, positive);
        const cbx_array *x = cbx_take(ctx, c->in[0], cbx_index(ctx, cbx_nonzero(ctx, of), 0, 0), 0);
        if (!add(ctx, c, x, &s.of[class])) return cbx__array_failed();
    }
    return written(ctx, &s);
}

CBX__OF_STATES(class_merge, a, b) { return merged(ctx, c, a, b, 2); }

/* Each positive value against the negative ones below it, and half of the equal ones. */
static double auc_of(const sketches *s)
{
    const cbx__weighted_values *p = &s->values[POSITIVE], *n = &s->values[NEGATIVE];
    double below = 0, won = 0;
    size_t i = 0, at = 0;

    while (i < p->n) {
        const double score = p->items[i].value;
        double here = 0, equal = 0;
        while (i < p->n && p->items[i].value == score) here += p->items[i++].weight;
        while (at < n->n && n->items[at].value < score) below += n->items[at++].weight;
        while (at < n->n && n->items[at].value == score) equal += n->items[at++].weight;
        won += here * (below + equal / 2);
        below += equal;
    }
    return won / s->of[POSITIVE].count / s->of[NEGATIVE].count;
}

/* From the largest score down: precision at the threshold of each positive value. */
static double precision_of(const sketches *s)
{
    const cbx__weighted *p = s->values[POSITIVE].items, *n = s->values[NEGATIVE].items;
    size_t i = s->values[POSITIVE].n, k = s->values[NEGATIVE].n;
    double tp = 0, fp = 0, sum = 0;

    while (i > 0) {
        const double threshold = p[i - 1].value;
        double here = 0;
        while (i > 0 && p[i - 1].value == threshold) here += p[--i].weight;
        while (k > 0 && n[k - 1].value >= threshold) fp += n[--k].weight;
        tp += here;
        sum += here * (tp / (tp + fp));
    }
    return s->of[POSITIVE].count > 0 ? sum / s->of[POSITIVE].count : 0;
}

CBX__OF_STATE(roc_auc, parts)
{
    CBX_SCOPED(sketches, s, ctx, c, 2);
    return read_values(ctx, c, parts, &s) ? cbx__number(ctx, auc_of(&s)) : cbx__array_failed();
}

CBX__OF_STATE(average_precision, parts)
{
    CBX_SCOPED(sketches, s, ctx, c, 2);
    return read_values(ctx, c, parts, &s) ? cbx__number(ctx, precision_of(&s)) : cbx__array_failed();
}

/* The area is that of one distribution function over the other, so that their errors add up. */
CBX__OF_STATE(auc_error, parts)
{
    CBX_SCOPED(sketches, s, ctx, c, 2);
    if (!read_sketches(ctx, c, parts, &s)) return cbx__array_failed();
    return cbx__number(ctx, fmin(error_of(&s.of[POSITIVE]) + error_of(&s.of[NEGATIVE]), 1));
}

/* x (1 + log(1 / x)), the area under min(1, x / r) for r in 0..1. */
static double under_hyperbola(double x) { return x <= 0 ? 0 : x < 1 ? x * (1 - log(x)) : 1; }

/*
 * Average precision is the area, over recall r, under R / (R + ratio F) with the shares R >= r and
 * F of both classes at the threshold t(r).  Let e and f bound the shares of the sketches.  Its
 * threshold lies between t(r + e) and t(r - e), where with k = max(e, ratio f) its precision
 * differs by at most min(1, k / r) from the true one: k (1 + log(1 / k)) in all.  True precisions
 * between those thresholds differ by at most g(r - e) - g(r + e) + 2 log(R(r + e) / R(r - e)), g
 * the precision at t(r); both differences telescope over r, to 2 e and 2 times 2 e (1 + log(1 / (2
 * e))).
 */
CBX__OF_STATE(precision_error, parts)
{
    CBX_SCOPED(sketches, s, ctx, c, 2);
    if (!read_sketches(ctx, c, parts, &s)) return cbx__array_failed();
    const double positive = s.of[POSITIVE].count, ratio = positive > 0 ? s.of[NEGATIVE].count / positive : 0;
    const double k = fmax(error_of(&s.of[POSITIVE]), ratio * error_of(&s.of[NEGATIVE]));
    const double width = 2 * error_of(&s.of[POSITIVE]);
    return cbx__number(ctx, fmin(under_hyperbola(k) + width + 2 * under_hyperbola(width), 1));
}

#define SIZE                                                                                                           \
    CBX__INTEGER("size", "values that a level of the sketch holds; even", 4096, CBX__SKETCH_MIN_SIZE,                  \
                 CBX__SKETCH_MAX_SIZE)
#define Q              CBX__REAL("q", "share of the sample below the quantile", 0.5, 0, 1)
#define STREAMING(...) CBX__ROW("streaming", __VA_ARGS__)
#define OF_SCORES                                                                                                      \
    STREAMING(HIGHER, 0, 1), .operands = CBX__TWO("scores", SCORES, "targets", BINARY), .parameters = { SIZE },        \
                             .flags = CBX_METRIC_DATA_SHAPED, .shapes = CBX_SHAPES_LENGTH,                             \
                             .invariances = CBX_INVARIANT_ORDER | CBX_INVARIANT_MONOTONE, .parts = class_parts,        \
                             .merge = class_merge
#define BOUND  "A sketch of n values keeps about size log2(n / size) of them, and is exact while n < size. "
#define PAPERS "Manku, Rajagopalan & Lindsay (1998); Agarwal et al. (2013)"

/* clang-format off */
CBX__METRIC_TABLE(streaming,
    { .name = "quantile", .summary = "Quantile", .formula = "x_(i) + (q (n - 1) - i) (x_(i+1) - x_(i)), i = floor(q (n - 1)), x_(0) the smallest", STREAMING(INFO, -INFINITY, INFINITY),
      .operands = { { "x", CBX_OPERAND_SAMPLE } }, .parameters = { Q }, .flags = CBX_METRIC_DIFFERENTIABLE, .invariances = CBX_INVARIANT_ORDER, .whole = quantile,
      .notes = "A state keeps all data: streaming_quantile does not.", .source = "Hyndman & Fan (1996), definition 7; numpy.quantile", .example = "[3.0, 1.0, 2.0, 10.0], q=0.75" },
    { .name = "streaming_quantile", .summary = "Quantile by a sketch", .formula = "the smallest x that at least a share of q of the sample does not exceed, q known to the bound", STREAMING(INFO, -INFINITY, INFINITY),
      .operands = { { "x", CBX_OPERAND_SAMPLE } }, .parameters = { SIZE, Q }, .flags = CBX_METRIC_DATA_SHAPED, .invariances = CBX_INVARIANT_ORDER,
      .parts = sample_parts, .merge = sample_merge, .finish = sample_quantile, .error = sample_error,
      .notes = BOUND "The error of a state bounds the share: the result lies between the quantiles of q - error and q + error. It is at most (1 + log2(n / size)) / size, for any data and any merges. Minimum and maximum are exact. It has no derivative: quantile, of all data, has one.",
      .source = PAPERS, .example = "[3.0, 1.0, 2.0, 10.0], q=0.75" },
    { .name = "streaming_roc_auc", .summary = "Area under the ROC curve by sketches", .formula = "P(score of a positive > score of a negative) + P(equal) / 2", OF_SCORES, .finish = roc_auc, .error = auc_error,
      .notes = BOUND "The error of a state bounds the result: the sum over both classes, of n values each, of at most (1 + log2(n / size)) / size, for any scores and any merges. NaN where one of the classes is missing.",
      .source = PAPERS "; Hanley & McNeil (1982)", .example = "[0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]" },
    { .name = "streaming_average_precision", .summary = "Average precision by sketches", .formula = "sum over thresholds of (recall - recall before) precision", OF_SCORES, .finish = average_precision, .error = precision_error,
      .notes = BOUND "The error of a state bounds the result, and grows with the number of negatives for each positive. 0 without positive items.",
      .source = PAPERS "; scikit-learn average_precision_score", .example = "[0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]" },
)
/* clang-format on */
