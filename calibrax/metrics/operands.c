/* What the operands of metrics may be: a rule for each kind. */
#include <stdio.h>
#include <string.h>

#include "calibrax/array/kernels/fold.h"
#include "calibrax/array/scope_internal.h"
#include "calibrax/metrics/internal.h"

typedef enum sum_rule { NO_SUM, SUM_OF_ALL, SUM_OF_ROWS } sum_rule;

enum { ALL_BUT_FIRST = -1 };

/*
 * Values of a kind.  low and high: smallest and largest legal value, NaN: values are not checked.
 */
typedef struct value_rule {
    double low, high;
    bool whole;    /* integers and booleans alone */
    int item_axes; /* axes at the end that belong to one item; ALL_BUT_FIRST */
    sum_rule sum;
    double neutral;
    bool shared; /* one for all items */
    bool single; /* one thing, whose first axis is not that of items */
    cbx__definiteness matrix;
} value_rule;

static const value_rule rules[CBX_OPERAND_KINDS] = {
    [CBX_OPERAND_REAL] = { .low = NAN },
    [CBX_OPERAND_LABELS] = { .low = 0, .high = 0x1p31, .whole = true },
    [CBX_OPERAND_BINARY] = { .low = 0, .high = 1 },
    [CBX_OPERAND_PROBABILITY] = { .low = 0, .high = 1, .neutral = 0.5 },
    [CBX_OPERAND_DISTRIBUTION] = { .low = 0, .high = INFINITY, .sum = SUM_OF_ALL, .single = true },
    [CBX_OPERAND_JOINT] = { .low = 0, .high = INFINITY, .sum = SUM_OF_ALL, .single = true },
    [CBX_OPERAND_CLASS_PROBABILITIES] = { .low = 0, .high = INFINITY, .item_axes = 1, .sum = SUM_OF_ROWS },
    [CBX_OPERAND_LOGITS] = { .low = NAN, .item_axes = 1 },
    [CBX_OPERAND_SCORES] = { .low = -INFINITY, .high = INFINITY },
    [CBX_OPERAND_RELEVANCE] = { .low = 0, .high = INFINITY },
    [CBX_OPERAND_VECTORS] = { .low = NAN, .item_axes = 1 },
    [CBX_OPERAND_SAMPLE] = { .low = -INFINITY, .high = INFINITY },
    [CBX_OPERAND_POINTS] = { .low = NAN, .item_axes = 1 },
    [CBX_OPERAND_ENSEMBLE] = { .low = NAN, .item_axes = 1 },
    [CBX_OPERAND_VECTOR_ENSEMBLE] = { .low = NAN, .item_axes = 2 },
    [CBX_OPERAND_SIGNAL] = { .low = NAN, .single = true },
    [CBX_OPERAND_IMAGE] = { .low = NAN, .single = true },
    [CBX_OPERAND_SPD] = { .low = NAN, .item_axes = 2, .single = true },
    [CBX_OPERAND_FRAME] = { .low = NAN, .single = true },
    [CBX_OPERAND_ADJACENCY] = { .low = 0, .high = INFINITY, .single = true },
    [CBX_OPERAND_TOKENS] = { .low = 0, .high = INFINITY, .whole = true, .item_axes = 1, .single = true },
    [CBX_OPERAND_TEXTS] = { .low = -1, .high = INFINITY, .whole = true, .item_axes = 1 },
    [CBX_OPERAND_POSITIVE] = { .low = 0x1p-1074, .high = INFINITY, .neutral = 1 },
    [CBX_OPERAND_MATRICES] = { .low = NAN, .item_axes = 2 },
    [CBX_OPERAND_NONNEGATIVE] = { .low = 0, .high = 0x1.fffffffffffffp1023, .item_axes = 1 },
    [CBX_OPERAND_BALL] = { .low = NAN, .item_axes = 1 },
    [CBX_OPERAND_HYPERBOLOID] = { .low = NAN, .item_axes = 1 },
    [CBX_OPERAND_CLASS_ENSEMBLE] = { .low = 0, .high = INFINITY, .item_axes = 2, .sum = SUM_OF_ROWS },
    [CBX_OPERAND_CLASS_VECTORS] = { .low = NAN, .item_axes = 1, .shared = true },
    [CBX_OPERAND_INDICES] = { .low = -1, .high = INFINITY, .whole = true },
    [CBX_OPERAND_BATCH] = { .low = NAN, .item_axes = ALL_BUT_FIRST },
    [CBX_OPERAND_TOKEN_VECTORS] = { .low = NAN, .item_axes = 2 },
    [CBX_OPERAND_SYMMETRIC] = { .low = NAN, .item_axes = 2, .matrix = CBX__SYMMETRIC },
    [CBX_OPERAND_SEMIDEFINITE] = { .low = NAN, .item_axes = 2, .matrix = CBX__SEMIDEFINITE },
    [CBX_OPERAND_DEFINITE] = { .low = NAN, .item_axes = 2, .matrix = CBX__DEFINITE },
    [CBX_OPERAND_LOG_PROBABILITY] = { .low = -INFINITY, .high = 0 },
    [CBX_OPERAND_FEATURES] = { .low = NAN, .item_axes = 1 },
    [CBX_OPERAND_EMBEDDINGS] = { .low = -INFINITY, .high = INFINITY, .item_axes = 1 },
};

/* An operand, the mask or the weights of a call. */
typedef struct argument {
    const cbx_metric_function *metric;
    const char *name;
    const value_rule *rule;
    bool binary; /* 0 or 1, nothing between them */
} argument;

static const struct {
    const char *word, *text;
    int low, high; /* rank */
} names[CBX_OPERAND_KINDS] = {
#define NAME(name, number, word, low, high, text) [number] = { word, text, low, high },
    CBX_OPERAND_MAP(NAME)
#undef NAME
};

const char *cbx_operand_kind_name(cbx_operand_kind kind)
{
    return (unsigned)kind < CBX_OPERAND_KINDS ? names[kind].word : "?";
}

const char *cbx_operand_kind_text(cbx_operand_kind kind)
{
    return (unsigned)kind < CBX_OPERAND_KINDS ? names[kind].text : "?";
}

cbx_dtype cbx_operand_kind_dtype(cbx_operand_kind kind)
{
    return (unsigned)kind < CBX_OPERAND_KINDS && rules[kind].whole ? CBX_I64 : CBX_F64;
}

int cbx__operand_item_axes(cbx_operand_kind kind, int ndim)
{
    return rules[kind].item_axes == ALL_BUT_FIRST ? ndim - 1 : rules[kind].item_axes;
}

bool cbx__operand_is_one(cbx_operand_kind kind, const cbx_array *x)
{
    const int ndim = cbx_array_ndim(x);

    return ndim == 0 || ndim <= cbx__operand_item_axes(kind, ndim);
}

const char *cbx_operand_items_name(cbx_operand_items items)
{
    static const char *const words[] = {
#define WORD(name, number, word, text) [number] = word,
        CBX_OPERAND_ITEMS_MAP(WORD)
#undef WORD
    };
    return (unsigned)items < CBX_OPERAND_ITEMS ? words[items] : "?";
}

cbx_operand_items cbx_metric_operand_items(const cbx_metric_function *m, size_t i)
{
    const cbx_metric_operand *o = &m->operands[i];

    if (o->items != CBX_ITEMS_BY_KIND) return o->items;
    if (o->optional || rules[o->kind].shared) return CBX_ITEMS_NONE;
    return i == 0 ? CBX_ITEMS_FIRST : CBX_ITEMS_SECOND;
}

bool cbx__operand_is_single(const cbx_metric_function *m, size_t i, const cbx_array *x)
{
    return m->operands[i].items == CBX_ITEMS_BY_KIND && cbx_metric_operand_items(m, i) != CBX_ITEMS_NONE &&
           cbx__operand_is_one(m->operands[i].kind, x);
}

bool cbx__operand_fits(const cbx_metric_function *m, size_t i, const cbx_array *x, const size_t n[2])
{
    const cbx_operand_items items = cbx_metric_operand_items(m, i);

    if (!x || items == CBX_ITEMS_NONE) return true;
    if (items == CBX_ITEMS_PAIRS)
        return cbx_array_ndim(x) == 2 && cbx_array_dim(x, 0) == n[0] && cbx_array_dim(x, 1) == n[0];
    return cbx_array_ndim(x) > 0 && cbx_array_dim(x, 0) == n[items == CBX_ITEMS_SECOND];
}

/* Places among n items as places among those at some of the places. */
static cbx_array *renumbered(cbx_ctx *ctx, const cbx_array *x, size_t n, const cbx_array *at)
{
    const cbx_array *missing = cbx_full(ctx, 1, &n, CBX_I64, cbx_int(-1)), *none = cbx_less_scalar(ctx, x, 0);
    const cbx_array *places = cbx_arange_int(ctx, 0, (ptrdiff_t)cbx_array_count(at), 1, CBX_I64);
    const cbx_array *became = cbx_scatter(ctx, missing, at, places, 0, CBX_SCATTER_SET);

    x = cbx_where(ctx, none, cbx_zeros_like(ctx, x), x);
    return cbx_where(ctx, none, cbx_full(ctx, 0, NULL, CBX_I64, cbx_int(-1)), cbx_take(ctx, became, x, 0));
}

cbx_array *cbx__operand_at(cbx_ctx *ctx, const cbx_metric_function *m, size_t i, cbx_array *x,
                           const cbx_array *const at[2])
{
    const cbx_operand_items items = cbx_metric_operand_items(m, i);
    size_t n;

    if (!x || cbx_array_is_failed(x) || items == CBX_ITEMS_NONE) return x;
    n = cbx_array_dim(x, 0);
    x = cbx_take(ctx, x, at[items == CBX_ITEMS_SECOND], 0);
    if (items == CBX_ITEMS_PAIRS) x = cbx_take(ctx, x, at[0], 1);
    return items == CBX_ITEMS_PAIRS && m->operands[i].kind == CBX_OPERAND_INDICES ? renumbered(ctx, x, n, at[0]) : x;
}

bool cbx__metric_has_items(const cbx_metric_function *m)
{
    for (const cbx_metric_operand *o = m->operands; o->name && !o->optional; o++)
        if (rules[o->kind].single) return false;
    return true;
}

cbx_array *cbx__operand_legal(cbx_ctx *ctx, cbx_operand_kind kind, const cbx_array *x)
{
    const value_rule *r = &rules[kind];
    cbx_array *legal, *sums;

    if (isnan(r->low)) return NULL;
    legal = cbx_greater_equal_scalar(ctx, x, r->low);
    if (!isinf(r->high)) legal = cbx_logical_and(ctx, legal, cbx_less_equal_scalar(ctx, x, r->high));
    if (r->sum == NO_SUM) return legal;
    sums = cbx_sum(ctx, x, r->sum == SUM_OF_ROWS ? CBX_AXIS(-1) : NULL);
    sums = cbx_less_equal_scalar(ctx, cbx_abs(ctx, cbx_subtract_scalar(ctx, sums, 1)), 1e-3);
    return cbx_logical_and(ctx, cbx_all(ctx, legal, NULL), sums);
}

cbx_array *cbx__operand_neutral(cbx_ctx *ctx, cbx_operand_kind kind, const cbx_array *x)
{
    const value_rule *r = &rules[kind];
    const int rank = cbx_array_ndim(x);
    const size_t last = rank ? cbx_array_dim(x, rank - 1) : 1;

    if (r->matrix && rank > 1) return cbx_eye(ctx, cbx_array_dim(x, rank - 2), last, 0, CBX_F64);
    if (r->whole) return cbx_weak(ctx, x, cbx_int(0));
    return cbx_weak(ctx, x, cbx_float(r->sum == SUM_OF_ROWS ? 1 / (double)(last ? last : 1) : r->neutral));
}

cbx_array *cbx__metric_operand(cbx_ctx *ctx, const cbx_metric_function *m, size_t i, cbx_array *x)
{
    return cbx_astype(ctx, x, cbx_operand_kind_dtype(m->operands[i].kind));
}

static bool check_dtype(cbx_ctx *ctx, const cbx_metric_function *m, size_t i, const cbx_array *x)
{
    const cbx_metric_operand *o = &m->operands[i];
    const cbx_dtype t = cbx_array_dtype(x);

    if (cbx_dtype_kind(t) == CBX_KIND_COMPLEX)
        cbx__refuse(ctx, CBX_EDTYPE, "%s: '%s' must be real, not %s", m->name, o->name, cbx_dtype_name(t));
    else if (rules[o->kind].whole && cbx_dtype_kind(t) > CBX_KIND_INT)
        cbx__refuse(ctx, CBX_EDTYPE, "%s: '%s' must be %s, not %s: compare with a threshold, or convert", m->name,
                    o->name, names[o->kind].text, cbx_dtype_name(t));
    else
        return true;
    return false;
}

static bool check_rank(cbx_ctx *ctx, const cbx_metric_function *m, size_t i, const cbx_array *x)
{
    const cbx_metric_operand *o = &m->operands[i];
    const int n = cbx_array_ndim(x);
    char desc[128];

    cbx_array_desc_text(cbx_array_get_desc(x), desc, sizeof desc);
    if (n < names[o->kind].low || n > names[o->kind].high)
        cbx__refuse(ctx, CBX_ESHAPE, "%s: '%s' must be %s, not %s", m->name, o->name, names[o->kind].text, desc);
    else if (cbx_array_count(x) == 0 && o->kind != CBX_OPERAND_TOKENS && o->kind != CBX_OPERAND_TEXTS)
        cbx__refuse(ctx, CBX_ESHAPE, "%s: '%s' has no elements", m->name, o->name);
    else
        return true;
    return false;
}

/* Whether two operands go together by the row's rule. */
static bool shapes_match(const cbx_metric_function *m, const cbx_array *a, const cbx_array *b)
{
    const int first = m->shapes == CBX_SHAPES_ROWS;

    if (m->shapes == CBX_SHAPES_FREE) return true;
    if (m->shapes == CBX_SHAPES_LENGTH)
        return cbx_array_ndim(a) > 0 && cbx_array_ndim(b) > 0 && cbx_array_dim(a, 0) == cbx_array_dim(b, 0);
    if (cbx_array_ndim(a) != cbx_array_ndim(b)) return false;
    for (int k = first; k < cbx_array_ndim(a); k++)
        if (cbx_array_dim(a, k) != cbx_array_dim(b, k)) return false;
    return true;
}

/*
 * Whether an operand that declares it has a row for each item, or a number for each pair of items,
 * of another one.
 */
static bool check_items(cbx_ctx *ctx, const cbx_metric_function *m, size_t i, cbx_array *const *in)
{
    const cbx_operand_items items = m->operands[i].items;
    const size_t of = items == CBX_ITEMS_SECOND;
    char desc[128];

    if (items <= CBX_ITEMS_NONE || i == of || !in[of] || cbx__operand_is_one(m->operands[of].kind, in[of])) return true;
    const size_t n = cbx_array_dim(in[of], 0);
    if (cbx__operand_fits(m, i, in[i], (size_t[]){ n, n })) return true;
    cbx_array_desc_text(cbx_array_get_desc(in[i]), desc, sizeof desc);
    if (items == CBX_ITEMS_PAIRS)
        return cbx__refused(ctx, CBX_ESHAPE, "%s: '%s' must be (%zu, %zu), not %s: a number for each pair of items",
                            m->name, m->operands[i].name, n, n, desc);
    return cbx__refused(ctx, CBX_ESHAPE, "%s: '%s' must have %zu item%s, as '%s', not %s", m->name, m->operands[i].name,
                        n, cbx__plural(n), m->operands[of].name, desc);
}

static const char *const shape_words[] = {
    [CBX_SHAPES_SAME] = "must have one shape",
    [CBX_SHAPES_LENGTH] = "must be equally long",
    [CBX_SHAPES_ROWS] = "must have rows of one shape",
    [CBX_SHAPES_FREE] = "",
};

bool cbx__metric_check_shapes(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, cbx_array *const *in)
{
    const size_t max = cbx_metric_operands(m);
    size_t required = 0;

    while (required < max && !m->operands[required].optional) required++;
    if (nin < required || nin > max) {
        if (required == max)
            return cbx__refused(ctx, CBX_EINVAL, "%s takes %zu operand%s, not %zu", m->name, max, cbx__plural(max),
                                nin);
        return cbx__refused(ctx, CBX_EINVAL, "%s takes %zu to %zu operands, not %zu", m->name, required, max, nin);
    }
    for (size_t i = 0; i < nin; i++) {
        char a[128], b[128];
        if (!in[i] && (m->operands[i].optional || m->flags & CBX_METRIC_APART)) continue;
        if (!in[i]) return cbx__refused(ctx, CBX_EINVAL, "%s: '%s' is missing", m->name, m->operands[i].name);
        if (cbx_array_is_failed(in[i]) || !check_rank(ctx, m, i, in[i]) || !check_dtype(ctx, m, i, in[i])) return false;
        if (!check_items(ctx, m, i, in)) return false;
        if (i == 0 || !in[0] || m->operands[i].items > CBX_ITEMS_BY_KIND || rules[m->operands[i].kind].shared ||
            shapes_match(m, in[0], in[i]))
            continue;
        return cbx__refused(ctx, CBX_ESHAPE, "%s: '%s' and '%s' %s: %s and %s", m->name, m->operands[0].name,
                            m->operands[i].name, shape_words[m->shapes],
                            cbx_array_desc_text(cbx_array_get_desc(in[0]), a, sizeof a),
                            cbx_array_desc_text(cbx_array_get_desc(in[i]), b, sizeof b));
    }
    return true;
}

const char *cbx__place(const cbx_array *x, int ndim, size_t n, const cbx_array *kept, char *buf, size_t size)
{
    size_t at[CBX_MAX_RANK], used = 0;

    for (int k = ndim - 1; k >= 0; k--) {
        at[k] = n % cbx_array_dim(x, k);
        n /= cbx_array_dim(x, k);
    }
    if (kept && ndim) at[0] = (size_t)cbx__metric_element(kept, at[0]);
    used = (size_t)snprintf(buf, size, "[");
    for (int k = 0; k < ndim && used < size; k++)
        used += (size_t)snprintf(buf + used, size - used, "%s%zu", k ? ", " : "", at[k]);
    if (used < size) snprintf(buf + used, size - used, "]");
    return buf;
}

void cbx__metric_refuse_label(cbx_ctx *ctx, const cbx_metric_function *m, size_t i, const cbx_array *x, double limit,
                              const char *what, const cbx_array *kept)
{
    const cbx_array *fine = cbx_less_scalar(ctx, cbx_astype(ctx, x, CBX_F64), limit);
    const size_t n = (size_t)cbx__metric_element(cbx_argmin(ctx, fine, NULL), 0);
    char where[160];

    cbx__refuse(ctx, CBX_EDOM, "%s: '%s'%s is %.0f: it must be below %s", m->name, m->operands[i].name,
                cbx__place(x, cbx_array_ndim(x), n, kept, where, sizeof where), cbx__metric_element(x, n), what);
}

/* Names the first value that is not fine. */
static void refuse_value(cbx_ctx *ctx, const argument *a, const cbx_array *x, const cbx_array *fine,
                         const cbx_array *kept)
{
    const cbx_metric_parameter bounds = { .low = a->rule->low, .high = a->rule->high };
    const size_t n = (size_t)cbx__metric_element(cbx_argmin(ctx, fine, NULL), 0);
    const double v = cbx__metric_element(x, n);
    char where[160], value[CBX_FORMAT_SIZE], must[96];

    if (cbx_dtype_kind(cbx_array_dtype(x)) == CBX_KIND_FLOAT)
        cbx_format_double(v, value);
    else
        snprintf(value, sizeof value, "%.0f", v);
    cbx__refuse(ctx, CBX_EDOM, "%s: '%s'%s is %s: it must be %s", a->metric->name, a->name,
                cbx__place(x, cbx_array_ndim(x), n, kept, where, sizeof where), value,
                a->binary ? "0 or 1" : cbx_metric_bounds_text(&bounds, must, sizeof must));
}

const void *cbx__host_view(cbx_ctx *ctx, const cbx_array *x, cbx__host *h)
{
    if (cbx_ctx_pending(ctx, NULL)) return NULL;
    if (cbx_array_is_contiguous(x) && cbx_array_device(x).kind == CBX_DEVICE_CPU) return cbx_array_data(x);
    return cbx__host_read(ctx, x, h) ? h->data : NULL;
}

/* What the checks need of an operand; NaN where it holds one. */
typedef struct survey {
    double low, high;
    double sum; /* of the row whose sum is farthest from 1 */
    size_t row;
} survey;

static void include_sum(survey *s, double sum, size_t row)
{
    if (row && !(fabs(sum - 1) > fabs(s->sum - 1)) && !isnan(sum)) return;
    s->sum = sum;
    s->row = row;
}

/*
 * Extremes of n > 0 numbers, the upper one where there is a bound.  Bits of numbers from 0 to
 * infinity order as unsigned integers, below those of NaN and of what has a sign: one pass shows
 * that there are no others.
 */
static void extremes(const double *x, size_t n, const value_rule *r, double *low, double *high)
{
    const cbx__fold *k = cbx__fold_get(cbx_isa_best());

    if (r->low == 0) {
        const uint64_t bits = k->run_max_u64((const void *)x, n);
        memcpy(high, &bits, sizeof bits);
        *low = 0;
        if (*high >= 0 && !signbit(*high)) return;
    }
    *low = k->run_min_f64(x, n);
    *high = isinf(r->high) ? *low : k->run_max_f64(x, n);
}

/* float64 that lies together, in one pass; length: of the rows that are summed, 0: none are. */
static void survey_numbers(const double *x, size_t n, const value_rule *r, size_t length, survey *out)
{
    enum { BLOCK = 2048 };
    const cbx__fold *k = cbx__fold_get(cbx_isa_best());
    size_t in_row = 0, row = 0;
    double sum = 0;

    for (size_t at = 0; at < n; at += BLOCK) {
        const size_t count = n - at < BLOCK ? n - at : BLOCK;
        double low, high;
        extremes(x + at, count, r, &low, &high);
        if (at == 0 || low < out->low || isnan(low)) out->low = low;
        if (at == 0 || high > out->high || isnan(high)) out->high = high;
        for (size_t i = 0; length && i < count;) {
            const size_t some = count - i < length - in_row ? count - i : length - in_row;
            sum += some < 16 ? 0 : k->run_sum_f64(x + at + i, some);
            for (size_t j = 0; some < 16 && j < some; j++) sum += x[at + i + j];
            i += some;
            if ((in_row += some) < length) continue;
            include_sum(out, sum, row++);
            sum = 0;
            in_row = 0;
        }
        if (isnan(low)) return;
    }
}

/* As unsigned numbers negative ones are largest: without them one pass is enough for a kind that
 * may be 0. */
static void survey_integers(const int64_t *x, size_t n, double low, survey *out)
{
    const cbx__fold *k = cbx__fold_get(cbx_isa_best());
    const uint64_t largest = k->run_max_u64((const uint64_t *)x, n);
    const bool negative = largest > INT64_MAX;

    out->high = negative ? (double)k->run_max_i64(x, n) : (double)largest;
    out->low = negative || low > 0 ? (double)k->run_min_i64(x, n) : 0;
}

static void survey_array(cbx_ctx *ctx, const cbx_array *x, const value_rule *r, survey *out)
{
    const sum_rule rule = r->sum;
    const size_t n = cbx_array_count(x), last = cbx_array_ndim(x) ? cbx_array_dim(x, -1 + cbx_array_ndim(x)) : 1;
    const bool flat = cbx_array_is_contiguous(x) && cbx_array_device(x).kind == CBX_DEVICE_CPU;
    const cbx_array *sums, *off;

    if (flat && cbx_array_dtype(x) == CBX_F64) {
        survey_numbers(cbx_array_data(x), n, r, rule == NO_SUM ? 0 : rule == SUM_OF_ALL ? n : last, out);
        return;
    }
    if (flat && cbx_array_dtype(x) == CBX_I64 && rule == NO_SUM) {
        survey_integers(cbx_array_data(x), n, r->low, out);
        return;
    }
    out->low = cbx__metric_element(cbx_min(ctx, x, NULL), 0);
    out->high = cbx__metric_element(cbx_max(ctx, x, NULL), 0);
    if (rule == NO_SUM) return;
    sums = cbx_sum(ctx, cbx_astype(ctx, x, CBX_F64), rule == SUM_OF_ROWS ? CBX_AXIS(-1) : NULL);
    off = cbx_abs(ctx, cbx_subtract_scalar(ctx, sums, 1));
    out->row = (size_t)cbx__metric_element(cbx_argmax(ctx, off, NULL), 0);
    out->sum = cbx__metric_element(sums, out->row);
}

/* Sums must be 1 up to the rounding of so many additions of numbers in the operand's dtype. */
static bool check_sums(cbx_ctx *ctx, const cbx_metric_function *m, size_t i, const cbx_array *x, const survey *s,
                       const cbx_array *kept)
{
    const bool rows = rules[m->operands[i].kind].sum == SUM_OF_ROWS;
    const double tolerance = cbx_array_dtype(x) == CBX_F32 ? 1e-3 : 1e-6;
    char where[160] = "", value[CBX_FORMAT_SIZE];

    if (fabs(s->sum - 1) <= tolerance) return true;
    if (rows) cbx__place(x, cbx_array_ndim(x) - 1, s->row, kept, where, sizeof where);
    return cbx__refused(ctx, CBX_EDOM, "%s: the sum of '%s'%s is %s, not 1: divide by it", m->name, m->operands[i].name,
                        where, cbx_format_double(s->sum, value));
}

/* Whether the values are in the domain of the argument.  False: recorded. */
static bool check_domain(cbx_ctx *ctx, const argument *a, const cbx_array *x, const cbx_array *kept, survey *s)
{
    const value_rule *r = a->rule;
    bool fine;

    if (cbx_array_dtype(x) != CBX_BOOL || r->sum || r->whole) survey_array(ctx, x, r, s);
    fine = s->low >= r->low && s->high <= r->high;
    if (!fine)
        refuse_value(
            ctx, a, x,
            cbx_logical_and(ctx, cbx_greater_equal_scalar(ctx, x, r->low), cbx_less_equal_scalar(ctx, x, r->high)),
            kept);
    if (fine && a->binary && cbx_dtype_kind(cbx_array_dtype(x)) == CBX_KIND_FLOAT) {
        const cbx_array *whole = cbx_equal(ctx, x, cbx_floor(ctx, x));
        fine = cbx__metric_element(cbx_all(ctx, whole, NULL), 0) == 1;
        if (!fine) refuse_value(ctx, a, x, whole, kept);
    }
    return fine;
}

bool cbx__metric_check_values(cbx_ctx *ctx, const cbx_metric_function *m, size_t i, const cbx_array *x,
                              const cbx_array *kept, double *largest)
{
    const cbx_metric_operand *o = &m->operands[i];
    const argument a = { m, o->name, &rules[o->kind], o->kind == CBX_OPERAND_BINARY };
    const size_t mark = cbx__mark(ctx);
    survey s = { 0, 1, 1, 0 };
    bool fine;

    *largest = 0;
    if (a.rule->matrix) return cbx__check_definite(ctx, m, i, x, kept, a.rule->matrix);
    if (isnan(a.rule->low) || cbx_array_count(x) == 0) return true;
    fine = check_domain(ctx, &a, x, kept, &s);
    *largest = s.high;
    if (fine && a.rule->sum) fine = check_sums(ctx, m, i, x, &s, kept);
    cbx__tidy_list(ctx, mark, 0, NULL);
    return fine;
}

bool cbx__metric_check_argument(cbx_ctx *ctx, const cbx_metric_function *m, const char *name, cbx_operand_kind kind,
                                const cbx_array *x)
{
    const argument a = { m, name, &rules[kind], kind == CBX_OPERAND_BINARY };
    const size_t mark = cbx__mark(ctx);
    survey s = { 0, 1, 1, 0 };
    bool fine = true;

    if (cbx_dtype_kind(cbx_array_dtype(x)) == CBX_KIND_COMPLEX)
        return cbx__refused(ctx, CBX_EDTYPE, "%s: '%s' must be real, not %s", m->name, a.name,
                            cbx_dtype_name(cbx_array_dtype(x)));
    if (cbx_array_count(x)) fine = check_domain(ctx, &a, x, NULL, &s);
    cbx__tidy_list(ctx, mark, 0, NULL);
    return fine;
}
