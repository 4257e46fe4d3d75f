/*
 * Texts compared by vectors of their tokens: each token is matched with the most similar one of the
 * other text.
 */
#include <math.h>
#include <stdlib.h>

#include "calibrax/base/idioms.h"
#include "calibrax/metrics/vectors.h"

enum { CANDIDATES, REFERENCES, CANDIDATE_WEIGHTS, REFERENCE_WEIGHTS };

/* x as a batch of texts. */
static cbx_array *as_batch(cbx_ctx *ctx, const cbx_metric_call *c, cbx_array *x, int rank)
{
    return x && cbx_array_ndim(c->in[CANDIDATES]) == 2 && cbx_array_ndim(x) == rank ? cbx_expand_dims(ctx, x, 0) : x;
}

/* Weights of the tokens of a side, 0 of padding: (n, tokens). */
static cbx_array *token_weights(cbx_ctx *ctx, const cbx_metric_call *c, size_t side, const cbx_array *vectors,
                                const cbx_array *there)
{
    const cbx_array *weights = as_batch(ctx, c, c->in[CANDIDATE_WEIGHTS + side], 1);

    if (!weights) return cbx_astype(ctx, there, CBX_F64);
    if (cbx_array_ndim(weights) != 2 || cbx_array_dim(weights, 0) != cbx_array_dim(vectors, 0) ||
        cbx_array_dim(weights, 1) != cbx_array_dim(vectors, 1))
        return cbx__metric_refuse(ctx, c, CBX_ESHAPE, "'%s' must have a number for each token of '%s': %s and %s",
                                  c->metric->operands[CANDIDATE_WEIGHTS + side].name, c->metric->operands[side].name,
                                  CBX__TEXT_OF(weights), CBX__TEXT_OF(vectors));
    return cbx_where(ctx, there, weights, cbx__number(ctx, 0));
}

/* Mean over tokens, by weight, of the largest similarity to a token of the other text, whose axis
 * it is: (n). */
static cbx_array *matched(cbx_ctx *ctx, const cbx_array *similarity, int other, const cbx_array *weights,
                          const cbx_array *there)
{
    const cbx_array *low = cbx__number(ctx, -2), *best; /* below all cosines */

    best = cbx_where(ctx, cbx_expand_dims(ctx, there, 3 - other), similarity, low);
    best = cbx_max(ctx, best, CBX_AXIS(other));
    best = cbx_where(ctx, cbx_any(ctx, there, CBX_AXIS_KEEP(-1)), best, cbx__number(ctx, 0));
    best = cbx_sum(ctx, cbx_multiply(ctx, weights, best), CBX_AXIS(-1));
    return cbx__ratio_or(ctx, best, cbx_sum(ctx, weights, CBX_AXIS(-1)), 0);
}

/* Whether a token has a vector: (n, tokens). */
static cbx_array *there_are(cbx_ctx *ctx, const cbx_array *vectors)
{
    const cbx_array *largest = cbx_max(ctx, cbx_abs(ctx, cbx_stop_gradient(ctx, vectors)), CBX_AXIS_KEEP(-1));

    return cbx_squeeze(ctx, cbx_not_equal_scalar(ctx, largest, 0), -1);
}

/* Sums over pairs of texts of precision, recall and F1, and the number of pairs. */
CBX__OF_CALL(bert_parts)
{
    const cbx_array *x = as_batch(ctx, c, c->in[CANDIDATES], 2), *y = as_batch(ctx, c, c->in[REFERENCES], 2);
    const cbx_array *similarity, *there[2], *p, *r, *f, *w = c->weights, *parts[4];

    if (cbx_array_is_failed(x) || cbx_array_is_failed(y)) return cbx__array_failed();
    if (c->function && c->function->nout != 1)
        return cbx__metric_refuse(ctx, c, CBX_EINVAL, "the function must have one result, it has %zu",
                                  c->function->nout);
    if (cbx_array_ndim(x) != cbx_array_ndim(y) || cbx_array_dim(x, 0) != cbx_array_dim(y, 0) ||
        cbx_array_dim(x, 2) != cbx_array_dim(y, 2))
        return cbx__metric_refuse(
            ctx, c, CBX_ESHAPE, "'candidates' and 'references' must be as many, with vectors of one length: %s and %s",
            CBX__TEXT_OF(c->in[CANDIDATES]), CBX__TEXT_OF(c->in[REFERENCES]));
    similarity = cbx__rows_times_rows(ctx, cbx__unit_vectors(ctx, x, -1), cbx__unit_vectors(ctx, y, -1));
    there[CANDIDATES] = there_are(ctx, x);
    there[REFERENCES] = there_are(ctx, y);
    p = matched(ctx, similarity, 2, token_weights(ctx, c, CANDIDATES, x, there[CANDIDATES]), there[REFERENCES]);
    r = matched(ctx, similarity, 1, token_weights(ctx, c, REFERENCES, y, there[REFERENCES]), there[CANDIDATES]);
    f = cbx__ratio_or(ctx, cbx_multiply_scalar(ctx, cbx_multiply(ctx, p, r), 2), cbx_add(ctx, p, r), 0);
    w = w && cbx_array_ndim(w) == 0 ? cbx_expand_dims(ctx, w, 0) : w;
    parts[0] = cbx_sum(ctx, w ? cbx_multiply(ctx, w, p) : p, NULL);
    parts[1] = cbx_sum(ctx, w ? cbx_multiply(ctx, w, r) : r, NULL);
    parts[2] = cbx_sum(ctx, w ? cbx_multiply(ctx, w, f) : f, NULL);
    parts[3] = w ? cbx_sum(ctx, w, NULL) : cbx__number(ctx, (double)cbx_array_dim(x, 0));
    return cbx__pack(ctx, 4, parts);
}

enum { RESULT_F1, RESULT_PRECISION, RESULT_RECALL, RESULT_ALL };

CBX__OF_STATE(bert_finish, state)
{
    static const char *const baselines[] = { "precision_baseline", "recall_baseline", "f1_baseline" };
    const double which = cbx__metric_parameter(c, "result");
    cbx_array *out[3];

    CBX__PARTS(sums, 4, ctx, state);
    for (size_t i = 0; i < CBX_LEN(out); i++) {
        const double baseline = cbx__metric_parameter(c, baselines[i]);
        out[i] = cbx_divide(ctx, sums[i], sums[3]);
        if (baseline == 0) continue;
        out[i] = cbx_divide(ctx, cbx_subtract_scalar(ctx, out[i], baseline), cbx__number(ctx, 1 - baseline));
    }
    if (which == RESULT_ALL) return cbx__pack(ctx, 3, (const cbx_array *[]){ out[0], out[1], out[2] });
    return which == RESULT_PRECISION ? out[0] : which == RESULT_RECALL ? out[1] : out[2];
}

/* ---- weights of tokens ---- */

CBX_BY_VALUE(by_token, int64_t)

/* The different tokens of a sorted text, -1 left out, in its front; their number. */
static size_t different(int64_t *text, size_t n)
{
    size_t k = 0;

    for (size_t i = 0; i < n; i++)
        if (text[i] >= 0 && (k == 0 || text[i] != text[k - 1])) text[k++] = text[i];
    return k;
}

/* Number of elements of sorted[n] that equal a token. */
static size_t frequency(const int64_t *sorted, size_t n, int64_t token)
{
    size_t bound[2];

    for (int k = 0; k < 2; k++) { /* the first place with an element of at least, then above, the token */
        size_t low = 0, high = n;
        while (low < high) {
            const size_t middle = low + (high - low) / 2;
            if (k ? sorted[middle] <= token : sorted[middle] < token)
                low = middle + 1;
            else
                high = middle;
        }
        bound[k] = low;
    }
    return bound[1] - bound[0];
}

/* log((texts + 1) / (texts with the token + 1)) of each token. */
static void weigh(int64_t *corpus, size_t texts, size_t length, const int64_t *tokens, size_t n, double *out)
{
    size_t all = 0;

    for (size_t i = 0; i < texts; i++) {
        size_t k;
        qsort(corpus + i * length, length, sizeof *corpus, by_token);
        k = different(corpus + i * length, length);
        for (size_t t = 0; t < k; t++) corpus[all++] = corpus[i * length + t];
    }
    qsort(corpus, all, sizeof *corpus, by_token);
    for (size_t i = 0; i < n; i++)
        out[i] = tokens[i] < 0 ? 0 : log((double)(texts + 1) / (double)(frequency(corpus, all, tokens[i]) + 1));
}

static void one_each(const cbx_metric_call *c, cbx_array_desc *out)
{
    *out = *cbx_array_get_desc(c->in[0]);
    out->dtype = CBX_F64;
}

CBX__OF_CALL(inverse_document_frequency)
{
    const size_t texts = cbx_array_dim(c->in[1], 0), length = cbx_array_dim(c->in[1], 1), n = cbx_array_count(c->in[0]);
    const int64_t *tokens = cbx__host_view(ctx, c->in[0]);
    int64_t *corpus = cbx__host_copy(ctx, c->in[1]);
    cbx_array_desc d;
    cbx_array *out;

    one_each(c, &d);
    out = cbx__fresh(ctx, &d);
    if (tokens && corpus && !cbx_array_is_failed(out)) weigh(corpus, texts, length, tokens, n, cbx_array_data_mut(out));
    return out;
}

#define BASELINE(name_)                                                                                                \
    CBX__REAL(name_, "value of texts that have nothing in common, for the rescaled result", 0, -1, 0x1.fffffffffffffp-1)

/* clang-format off */
CBX__METRIC_TABLE(features_tokens,
    { .name = "bert_score", .summary = "Similarity of texts by vectors of their tokens", .domain = "features", .tier = CBX_METRIC_TIER_FEATURES, .function = "texts to vectors of their tokens (n, tokens, d)",
      .operands = { { "candidates", CBX_OPERAND_TOKEN_VECTORS }, { "references", CBX_OPERAND_TOKEN_VECTORS },
                    { "candidate_weights", CBX_OPERAND_NONNEGATIVE, true, CBX_ITEMS_FIRST }, { "reference_weights", CBX_OPERAND_NONNEGATIVE, true, CBX_ITEMS_SECOND } },
      .shapes = CBX_SHAPES_FREE, .direction = CBX_DIRECTION_HIGHER, .low = -INFINITY, .high = 1, .parts = bert_parts, .finish = bert_finish,
      .flags = CBX_METRIC_FEATURES | CBX_METRIC_WEIGHTED | CBX_METRIC_DIFFERENTIABLE, .invariances = CBX_INVARIANT_ORDER,
      .parameters = { CBX__CHOICE("result", "which of them", 0, 3, "f1|precision|recall|all"), BASELINE("precision_baseline"), BASELINE("recall_baseline"), BASELINE("f1_baseline"),
                      CBX__FLAG("gradient", "derivatives go through the function, too", 0) },
      .formula = "precision = mean over tokens of the candidate of the largest cosine to a token of the reference, recall the same of the reference, f1 = 2 precision recall / (precision + recall); means over pairs; (x - baseline) / (1 - baseline)",
      .notes = "A token whose vector is 0 is padding. Weights of tokens (inverse_document_frequency makes them) weigh the means over tokens. A text without tokens has 0. result='all' is precision, recall and f1.",
      .source = "Zhang, Kishore, Wu, Weinberger & Artzi (2020)", .example = "[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [0.0, 2.0], [0.0, 0.0]]" },
    { .name = "inverse_document_frequency", .summary = "Weights of tokens by how rare they are", .domain = "features", .tier = CBX_METRIC_TIER_FUNCTION,
      .operands = CBX__TWO("texts", TEXTS, "corpus", TEXTS),
      .shapes = CBX_SHAPES_FREE, .direction = CBX_DIRECTION_INFO, .low = 0, .high = INFINITY, .whole = inverse_document_frequency, .result = one_each, .flags = CBX_METRIC_DATA_SHAPED,
      .formula = "out[i, t] = log((number of texts of the corpus + 1) / (number of those that have token texts[i, t] + 1))",
      .notes = "0 behind the end of a text. The weights of bert_score; set those of marks of begin and end to 0.",
      .source = "Zhang, Kishore, Wu, Weinberger & Artzi (2020)", .example = "[[3, 4], [3, -1]], [[3, 4], [3, 5], [3, 3]]" },
)
/* clang-format on */
