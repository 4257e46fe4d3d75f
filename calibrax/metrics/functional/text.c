/*
 * Texts as token numbers: n-grams, longest common subsequences, perplexity.  An n-gram is numbered
 * by the number of its first n - 1 tokens and its last token, so that counting is linear in their
 * length for each n.
 */
#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/metrics/internal.h"

/* ---- numbered n-grams ---- */

typedef struct slot {
    uint64_t gram; /* number of its beginning */
    int64_t token;
    uint64_t number; /* from 1; 0: free */
} slot;

/* Text i has the tokens from start[i] on; text 0 is the first operand. */
typedef struct texts {
    size_t n, total;
    int64_t *tokens;
    uint64_t *gram;         /* number of the n-gram that begins at each token */
    size_t *count, *limit;  /* of each number: occurrences in one text, the largest of those in several texts */
    size_t *start, *length; /* of each text */
    slot *slots;
    size_t mask; /* slots - 1 */
} texts;

/* Adds a text, which ends before the first token below 0. */
static void add_text(texts *t, const int64_t *tokens, size_t n)
{
    size_t length = 0;

    while (length < n && tokens[length] >= 0) length++;
    memcpy(t->tokens + t->total, tokens, length * sizeof *tokens);
    t->start[t->n] = t->total;
    t->length[t->n++] = length;
    t->total += length;
}

/* The operands: a vector is a text, a matrix one in each row.  False: recorded. */
static bool read_texts(cbx_ctx *ctx, const cbx_metric_call *c, size_t operands, texts *t)
{
    size_t total = 0, n = 0, slots = 4;

    for (size_t i = 0; i < operands; i++) {
        total += cbx_array_count(c->in[i]);
        n += cbx_array_ndim(c->in[i]) == 2 ? cbx_array_dim(c->in[i], 0) : 1;
    }
    while (slots < 2 * total) slots *= 2;
    *t = (texts){ .mask = slots - 1 };
    t->slots = cbx__scratch(ctx, c->metric, slots, sizeof *t->slots, "%zu tokens", total);
    t->tokens = cbx__scratch(ctx, c->metric, total, sizeof *t->tokens, "%zu tokens", total);
    t->gram = cbx__scratch(ctx, c->metric, total, sizeof *t->gram, "%zu tokens", total);
    t->count = cbx__scratch(ctx, c->metric, 2 * (total + 1 + n), sizeof *t->count, "%zu tokens", total);
    if (!t->slots || !t->tokens || !t->gram || !t->count) return false;
    t->limit = t->count + total + 1;
    t->start = t->limit + total + 1;
    t->length = t->start + n;
    for (size_t i = 0; i < operands; i++) {
        const int ndim = cbx_array_ndim(c->in[i]);
        const size_t rows = ndim == 2 ? cbx_array_dim(c->in[i], 0) : 1, width = cbx_array_dim(c->in[i], ndim - 1);
        const int64_t *tokens = cbx__host_view(ctx, c->in[i]);
        for (size_t r = 0; tokens && r < rows; r++) add_text(t, tokens + r * width, width);
    }
    return !cbx_ctx_pending(ctx, NULL);
}

/* n-grams in text i. */
static size_t grams_in(const texts *t, size_t i, size_t order)
{
    return t->length[i] >= order ? t->length[i] - order + 1 : 0;
}

static uint64_t number_of(texts *t, uint64_t gram, int64_t token, uint64_t *numbers)
{
    uint64_t h = (gram * UINT64_C(0x9E3779B97F4A7C15)) ^ ((uint64_t)token * UINT64_C(0xC2B2AE3D27D4EB4F));

    for (h ^= h >> 29;; h++) {
        slot *s = &t->slots[h & t->mask];
        if (s->number && (s->gram != gram || s->token != token)) continue;
        if (!s->number) *s = (slot){ gram, token, ++*numbers };
        return s->number - 1;
    }
}

/* Goes on from (order - 1)-grams to those of the order; the number of different ones. */
static size_t number_grams(texts *t, size_t order)
{
    uint64_t numbers = 0;

    memset(t->slots, 0, (t->mask + 1) * sizeof *t->slots);
    for (size_t i = 0; i < t->n; i++)
        for (size_t k = 0; k < grams_in(t, i, order); k++) {
            const size_t at = t->start[i] + k;
            t->gram[at] = number_of(t, order > 1 ? t->gram[at] : 0, t->tokens[at + order - 1], &numbers);
        }
    return numbers;
}

/* n-grams of text 0 that occur in the others, each as often as in the one that has most of it. */
static size_t matches(texts *t, size_t order)
{
    const size_t numbers = number_grams(t, order);
    size_t sum = 0;

    memset(t->count, 0, numbers * sizeof *t->count);
    memset(t->limit, 0, numbers * sizeof *t->limit);
    for (size_t i = 1; i < t->n; i++) {
        const uint64_t *g = t->gram + t->start[i];
        for (size_t k = 0; k < grams_in(t, i, order); k++)
            if (++t->count[g[k]] > t->limit[g[k]]) t->limit[g[k]] = t->count[g[k]];
        for (size_t k = 0; k < grams_in(t, i, order); k++) t->count[g[k]] = 0;
    }
    for (size_t k = 0; k < grams_in(t, 0, order); k++) {
        const uint64_t g = t->gram[t->start[0] + k];
        if (t->limit[g]) t->limit[g]--, sum++;
    }
    return sum;
}

/* ---- BLEU ---- */

enum { MAX_ORDER = 16 };
enum { NO_SMOOTHING, FLOOR, ADD_ONE, HALVES };

/* Of the reference whose length is closest to that of text 0, the shorter one of two. */
static size_t reference_length(const texts *t)
{
    size_t best = t->n > 1 ? t->length[1] : 0;

    for (size_t i = 2; i < t->n; i++) {
        const size_t l = t->length[i], c = t->length[0];
        const size_t gap = l > c ? l - c : c - l, nearest = best > c ? best - c : c - best;
        if (gap < nearest || (gap == nearest && l < best)) best = l;
    }
    return best;
}

/* [matches of each order, n-grams of each order, length, length of the reference]: counts of a
 * corpus add up. */
CBX__OF_CALL(bleu_parts)
{
    const size_t n = (size_t)c->parameters[0];
    double v[2 * MAX_ORDER + 2];
    texts t;

    if (!read_texts(ctx, c, 2, &t)) return cbx__array_failed();
    for (size_t k = 0; k < n; k++) {
        v[k] = (double)matches(&t, k + 1);
        v[n + k] = (double)grams_in(&t, 0, k + 1);
    }
    v[2 * n] = (double)t.length[0];
    v[2 * n + 1] = (double)reference_length(&t);
    return cbx__vector(ctx, 2 * n + 2, v);
}

/* Post (2018), sacrebleu: what replaces a count of 0. */
static double smoothed(double matched, double total, size_t order, int how, double *halves)
{
    if (how == ADD_ONE && order > 1) return (matched + 1) / (total + 1);
    if (matched > 0) return matched / total;
    if (how == FLOOR) return 0.1 / total;
    return how == HALVES ? 1 / ((*halves *= 2) * total) : 0;
}

CBX__OF_STATE(bleu, state)
{
    const size_t n = (size_t)c->parameters[0];
    const bool effective = c->parameters[1] != 0;
    const double length = cbx__metric_element(state, 2 * n), reference = cbx__metric_element(state, 2 * n + 1);
    double sum = 0, halves = 1;
    size_t orders = 0;

    for (size_t k = 0; k < n; k++) {
        const double total = cbx__metric_element(state, n + k);
        if (total == 0 && effective) break;
        sum += total > 0 ? log(smoothed(cbx__metric_element(state, k), total, k + 1, (int)c->parameters[2], &halves))
                         : -INFINITY;
        orders++;
    }
    if (orders == 0 || cbx__metric_element(state, 0) == 0) return cbx__number(ctx, 0);
    return cbx__number(ctx, exp(fmin(0, 1 - reference / length) + sum / (double)orders));
}

/* ---- ROUGE ---- */

enum { RECALL, PRECISION, F };

/* Of a text and its reference with so many units, of which they have some in common. */
static double measured(int measure, double beta, size_t common, size_t in_text, size_t in_reference)
{
    const double p = in_text ? (double)common / (double)in_text : 0;
    const double r = in_reference ? (double)common / (double)in_reference : 0;

    if (measure != F) return measure == RECALL ? r : p;
    return common ? (1 + beta * beta) * p * r / (r + beta * beta * p) : 0;
}

CBX__OF_CALL(rouge_n)
{
    const size_t n = (size_t)c->parameters[0];
    size_t common = 0;
    texts t;

    if (!read_texts(ctx, c, 2, &t)) return cbx__array_failed();
    for (size_t k = 1; k <= n; k++) common = matches(&t, k);
    return cbx__number(ctx, measured((int)c->parameters[1], 1, common, grams_in(&t, 0, n), grams_in(&t, 1, n)));
}

/*
 * Hyyro (2004): a column of the table of lengths as bits, 64 rows at a time.  next[i] is the place
 * behind the next token of text 1 that equals token i of it, and first the first place of each
 * number, both counted from 1.
 */
static size_t common_subsequence(const texts *t, size_t *first, size_t *next, uint64_t *v, uint64_t *m)
{
    const size_t rows = t->length[1], words = rows / 64 + 1;
    const uint64_t *a = t->gram + t->start[1];
    size_t length = 0;

    for (size_t i = rows; i-- > 0;) next[i] = first[a[i]], first[a[i]] = i + 1;
    memset(v, 0xFF, words * sizeof *v);
    for (size_t k = 0; k < t->length[0]; k++) {
        const size_t head = first[t->gram[t->start[0] + k]];
        uint64_t carry = 0;
        if (!head) continue;
        for (size_t i = head; i; i = next[i - 1]) m[(i - 1) / 64] |= UINT64_C(1) << (i - 1) % 64;
        for (size_t w = (head - 1) / 64; w < words; w++) {
            const uint64_t u = v[w] & m[w], s = v[w] + u, sum = s + carry;
            carry = (s < u) | (sum < s);
            v[w] = sum | (v[w] & ~u);
        }
        for (size_t i = head; i; i = next[i - 1]) m[(i - 1) / 64] = 0;
    }
    for (size_t i = 0; i < rows; i++) length += !(v[i / 64] >> i % 64 & 1);
    return length;
}

CBX__OF_CALL(rouge_l)
{
    size_t words, common;
    uint64_t *bits;
    texts t;

    if (!read_texts(ctx, c, 2, &t)) return cbx__array_failed();
    number_grams(&t, 1);
    words = t.length[1] / 64 + 1;
    bits = cbx__scratch(ctx, c->metric, 2 * words, sizeof *bits, "%zu tokens", t.length[1]);
    if (!bits) return cbx__array_failed();
    common = common_subsequence(&t, t.count, t.limit, bits, bits + words);
    return cbx__number(ctx, measured((int)c->parameters[0], c->parameters[1], common, t.length[0], t.length[1]));
}

/* ---- one text ---- */

CBX__OF_CALL(distinct)
{
    const size_t n = (size_t)c->parameters[0];
    size_t numbers = 0;
    texts t;

    if (!read_texts(ctx, c, 1, &t)) return cbx__array_failed();
    for (size_t k = 1; k <= n; k++) numbers = number_grams(&t, k);
    return cbx__number(ctx, grams_in(&t, 0, n) ? (double)numbers / (double)grams_in(&t, 0, n) : 0);
}

CBX__OF_CALL(surprise) { return cbx_negative(ctx, c->in[0]); }

CBX__OF_STATE(exponential, mean) { return cbx_exp(ctx, mean); }

#define TEXT     .domain = "text", .direction = CBX_DIRECTION_HIGHER, .low = 0, .high = 1, .flags = CBX_METRIC_DATA_SHAPED
#define ONE_EACH TEXT, .operands = CBX__PAIR("candidate", "reference", TOKENS), .shapes = CBX_SHAPES_FREE
#define ORDER    CBX__INTEGER("n", "tokens in an n-gram", 1, 1, MAX_ORDER)

/* clang-format off */
CBX__METRIC_TABLE(text,
    { .name = "bleu", .summary = "BLEU", .formula = "min(1, exp(1 - r / c)) exp(mean over n of log(matched n-grams / n-grams)), c and r: lengths", TEXT,
      .operands = CBX__TWO("candidate", TOKENS, "references", TEXTS), .shapes = CBX_SHAPES_FREE,
      .parameters = { CBX__INTEGER("max_n", "longest n-gram", 4, 1, MAX_ORDER),
                      CBX__FLAG("effective_order", "leave out orders for which the candidate is too short", 1),
                      CBX__CHOICE("smoothing", "what an order without a match counts as: 0, 0.1 matches, one match more (from n = 2 on), or 1/2, 1/4 ... matches", 0, 3, "none|floor|add_one|exp") },
      .parts = bleu_parts, .finish = bleu,
      .notes = "A match counts as often as the reference with most of it has it; r is the length of the reference that is closest, the shorter of two. Of several texts: of the counts of the corpus. Not tokenised: words are as they are given.",
      .source = "Papineni et al. (2002); Post (2018), sacrebleu", .example = "[0, 1, 2, 3, 0, 4], [[0, 1, 5, 3, 0, 4]]" },
    { .name = "rouge_n", .summary = "ROUGE-N", .formula = "matched n-grams / n-grams of the reference (recall)", ONE_EACH,
      .parameters = { ORDER, CBX__CHOICE("measure", "recall, precision (of the n-grams of the candidate), or their harmonic mean", 0, 2, "recall|precision|f1") },
      .items = rouge_n, .notes = "0 where a text is too short. A text is an item: batches are averaged text by text.",
      .source = "Lin (2004); rouge_score", .example = "[0, 1, 2, 3, 0, 4], [0, 1, 5, 3, 0, 4], n=2" },
    { .name = "rouge_l", .summary = "ROUGE-L", .formula = "(1 + beta^2) P R / (R + beta^2 P), P and R: length of the longest common subsequence / lengths of candidate and reference", ONE_EACH,
      .parameters = { CBX__CHOICE("measure", "recall, precision, or their weighted harmonic mean", F, 2, "recall|precision|f"),
                      CBX__REAL("beta", "weight of recall", 1, 0, 1e6) },
      .items = rouge_l, .notes = "0 of empty texts. With beta 1 the F1 of rouge_score. A text is an item.",
      .source = "Lin (2004); rouge_score", .example = "[0, 1, 2, 3, 0, 4], [0, 1, 5, 3, 0, 4]" },
    { .name = "perplexity", .summary = "Perplexity", .formula = "exp(-mean(log_probs))", .domain = "text", .direction = CBX_DIRECTION_LOWER, .low = 1, .high = INFINITY,
      .operands = { { "log_probs", CBX_OPERAND_LOG_PROBABILITY } }, .invariances = CBX_INVARIANT_ORDER, .items = surprise, .finish = exponential, .flags = CBX_METRIC_DIFFERENTIABLE,
      .notes = "log_probs are natural logarithms of the probabilities of the tokens that occurred. A mask leaves tokens out.",
      .source = "Jelinek et al. (1977); torchmetrics Perplexity", .example = "[-0.5, -1.0, -0.25]" },
    { .name = "distinct_n", .summary = "Share of distinct n-grams", .formula = "distinct n-grams / n-grams", TEXT, .operands = { { "tokens", CBX_OPERAND_TOKENS } },
      .parameters = { ORDER }, .items = distinct, .notes = "0 of a text shorter than n. Long texts repeat more: compare texts of one length. A text is an item.",
      .source = "Li et al. (2016)", .example = "[0, 1, 2, 0, 1, 3], n=2" },
)
/* clang-format on */
