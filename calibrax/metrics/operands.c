/* What the operands of metrics may be: a rule for each kind, their shapes. */
#include "calibrax/metrics/operands.h"

const cbx__operand_rule cbx__operand_rules[CBX_OPERAND_KINDS] = {
    [CBX_OPERAND_REAL] = { .low = NAN },
    [CBX_OPERAND_LABELS] = { .low = 0, .high = 0x1p31, .whole = true },
    [CBX_OPERAND_BINARY] = { .low = 0, .high = 1, .integral = true },
    [CBX_OPERAND_PROBABILITY] = { .low = 0, .high = 1, .neutral = 0.5 },
    [CBX_OPERAND_DISTRIBUTION] = { .low = 0, .high = INFINITY, .sum = CBX__SUM_OF_ALL, .single = true },
    [CBX_OPERAND_JOINT] = { .low = 0, .high = INFINITY, .sum = CBX__SUM_OF_ALL, .single = true },
    [CBX_OPERAND_CLASS_PROBABILITIES] = { .low = 0, .high = INFINITY, .item_axes = 1, .sum = CBX__SUM_OF_ROWS },
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
    [CBX_OPERAND_SPD] = { .low = NAN, .item_axes = 2, .single = true, .of_trace = CBX__SYMMETRIC },
    [CBX_OPERAND_FRAME] = { .low = NAN, .single = true },
    [CBX_OPERAND_ADJACENCY] = { .low = 0, .high = INFINITY, .single = true },
    [CBX_OPERAND_TOKENS] = { .low = 0, .high = INFINITY, .whole = true, .item_axes = 1, .single = true },
    [CBX_OPERAND_TEXTS] = { .low = -1, .high = INFINITY, .whole = true, .item_axes = 1 },
    [CBX_OPERAND_POSITIVE] = { .low = 0x1p-1074, .high = INFINITY, .neutral = 1 },
    [CBX_OPERAND_MATRICES] = { .low = NAN, .item_axes = 2 },
    [CBX_OPERAND_NONNEGATIVE] = { .low = 0, .high = 0x1.fffffffffffffp1023, .item_axes = 1 },
    [CBX_OPERAND_BALL] = { .low = NAN, .item_axes = 1 },
    [CBX_OPERAND_HYPERBOLOID] = { .low = NAN, .item_axes = 1 },
    [CBX_OPERAND_CLASS_ENSEMBLE] = { .low = 0, .high = INFINITY, .item_axes = 2, .sum = CBX__SUM_OF_ROWS },
    [CBX_OPERAND_CLASS_VECTORS] = { .low = NAN, .item_axes = 1, .shared = true },
    [CBX_OPERAND_INDICES] = { .low = -1, .high = INFINITY, .whole = true },
    [CBX_OPERAND_BATCH] = { .low = NAN, .item_axes = CBX__ALL_BUT_FIRST },
    [CBX_OPERAND_TOKEN_VECTORS] = { .low = NAN, .item_axes = 2 },
    [CBX_OPERAND_SYMMETRIC] = { .low = NAN, .item_axes = 2, .matrix = CBX__SYMMETRIC },
    [CBX_OPERAND_SEMIDEFINITE] = { .low = NAN, .item_axes = 2, .matrix = CBX__SEMIDEFINITE },
    [CBX_OPERAND_DEFINITE] = { .low = NAN, .item_axes = 2, .matrix = CBX__DEFINITE },
    [CBX_OPERAND_LOG_PROBABILITY] = { .low = -INFINITY, .high = 0 },
    [CBX_OPERAND_FEATURES] = { .low = NAN, .item_axes = 1 },
    [CBX_OPERAND_EMBEDDINGS] = { .low = -INFINITY, .high = INFINITY, .item_axes = 1 },
};

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
    return (unsigned)kind < CBX_OPERAND_KINDS && cbx__operand_rules[kind].whole ? CBX_I64 : CBX_F64;
}

int cbx__operand_item_axes(cbx_operand_kind kind, int ndim)
{
    return cbx__operand_rules[kind].item_axes == CBX__ALL_BUT_FIRST ? ndim - 1 : cbx__operand_rules[kind].item_axes;
}

/* True of an operand that is one item, without an axis of items: a number, a vector where rows of
 * vectors are items. */
static bool is_one(cbx_operand_kind kind, const cbx_array *x)
{
    const int ndim = cbx_array_ndim(x);

    return ndim == 0 || ndim <= cbx__operand_item_axes(kind, ndim);
}

cbx_operand_items cbx_metric_operand_items(const cbx_metric_function *m, size_t i)
{
    const cbx_metric_operand *o = &m->operands[i];

    if (o->items != CBX_ITEMS_BY_KIND) return o->items;
    if (o->optional || cbx__operand_rules[o->kind].shared) return CBX_ITEMS_NONE;
    return i == 0 ? CBX_ITEMS_FIRST : CBX_ITEMS_SECOND;
}

bool cbx__operand_is_single(const cbx_metric_function *m, size_t i, const cbx_array *x)
{
    return m->operands[i].items == CBX_ITEMS_BY_KIND && cbx_metric_operand_items(m, i) != CBX_ITEMS_NONE &&
           is_one(m->operands[i].kind, x);
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
        if (cbx__operand_rules[o->kind].single) return false;
    return true;
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
        return cbx__refused(ctx, CBX_EDTYPE, "%s: '%s' must be real, not %s", m->name, o->name, cbx_dtype_name(t));
    if (!cbx__operand_rules[o->kind].whole || cbx_dtype_kind(t) <= CBX_KIND_INT) return true;
    return cbx__refused(ctx, CBX_EDTYPE, "%s: '%s' must be %s, not %s: compare with a threshold, or convert", m->name,
                        o->name, names[o->kind].text, cbx_dtype_name(t));
}

static bool check_rank(cbx_ctx *ctx, const cbx_metric_function *m, size_t i, const cbx_array *x)
{
    const cbx_metric_operand *o = &m->operands[i];
    const int n = cbx_array_ndim(x);

    if (n < names[o->kind].low || n > names[o->kind].high)
        return cbx__refused(ctx, CBX_ESHAPE, "%s: '%s' must be %s, not %s", m->name, o->name, names[o->kind].text,
                            CBX__TEXT_OF(x));
    if (cbx_array_count(x) > 0 || o->kind == CBX_OPERAND_TOKENS || o->kind == CBX_OPERAND_TEXTS) return true;
    return cbx__refused(ctx, CBX_ESHAPE, "%s: '%s' has no elements", m->name, o->name);
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

    if (items <= CBX_ITEMS_NONE || i == of || !in[of] || is_one(m->operands[of].kind, in[of])) return true;
    const size_t n = cbx_array_dim(in[of], 0);
    if (cbx__operand_fits(m, i, in[i], (size_t[]){ n, n })) return true;
    if (items == CBX_ITEMS_PAIRS)
        return cbx__refused(ctx, CBX_ESHAPE, "%s: '%s' must be (%zu, %zu), not %s: a number for each pair of items",
                            m->name, m->operands[i].name, n, n, CBX__TEXT_OF(in[i]));
    return cbx__refused(ctx, CBX_ESHAPE, "%s: '%s' must have %zu item%s, as '%s', not %s", m->name, m->operands[i].name,
                        n, cbx__plural(n), m->operands[of].name, CBX__TEXT_OF(in[i]));
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
        if (!in[i] && (m->operands[i].optional || m->flags & CBX_METRIC_APART)) continue;
        if (!in[i]) return cbx__refused(ctx, CBX_EINVAL, "%s: '%s' is missing", m->name, m->operands[i].name);
        if (cbx_array_is_failed(in[i]) || !check_rank(ctx, m, i, in[i]) || !check_dtype(ctx, m, i, in[i])) return false;
        if (!check_items(ctx, m, i, in)) return false;
        if (i == 0 || !in[0] || m->operands[i].items > CBX_ITEMS_BY_KIND ||
            cbx__operand_rules[m->operands[i].kind].shared || shapes_match(m, in[0], in[i]))
            continue;
        return cbx__refused(ctx, CBX_ESHAPE, "%s: '%s' and '%s' %s: %s and %s", m->name, m->operands[0].name,
                            m->operands[i].name, shape_words[m->shapes], CBX__TEXT_OF(in[0]), CBX__TEXT_OF(in[i]));
    }
    return true;
}
