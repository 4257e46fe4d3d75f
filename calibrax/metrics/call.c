/* Calls of metric functions: options, checks, the three forms of code. */
#include <stdio.h>
#include <string.h>

#include "calibrax/array/scope_internal.h"
#include "calibrax/base/idioms.h"
#include "calibrax/metrics/call.h"
#include "calibrax/metrics/operands.h"

/* ---- options ---- */

static cbx_status set_parameters(cbx__bound *b, const double *given, cbx_err *err)
{
    const cbx_metric_parameter *p = b->metric->parameters;
    char v[CBX_FORMAT_SIZE], bounds[96];

    for (size_t i = 0; i < cbx_metric_parameters(b->metric); i++) {
        const double x = given && !isnan(given[i]) ? given[i] : p[i].value;
        b->parameters[i] = x;
        snprintf(v, sizeof v, "%.15g", x);
        if (x < p[i].low || x > p[i].high)
            return cbx_fail(err, CBX_EINVAL, "%s: '%s' must be %s, not %s", b->metric->name, p[i].name,
                            cbx_metric_bounds_text(&p[i], bounds, sizeof bounds), v);
        if (p[i].type != CBX_PARAMETER_REAL && x != rint(x))
            return cbx_fail(err, CBX_EINVAL, "%s: '%s' must be an integer, not %s", b->metric->name, p[i].name, v);
    }
    return CBX_OK;
}

cbx_status cbx__metric_bind(const cbx_metric_function *m, size_t nin, const cbx_metric_options *o, cbx__bound *b,
                            cbx_err *err)
{
    static const cbx_metric_options none;
    cbx_status st;

    if (!o) o = &none;
    *b = (cbx__bound){ .metric = m, .nin = nin, .reduction = o->reduction, .function = o->function };
    b->has_mask = o->mask != NULL;
    b->has_weights = o->weights != NULL;
    b->has_axes = o->axes != NULL;
    if (o->axes) b->axes = *o->axes;
    st = set_parameters(b, o->parameters, err);
    if (st) return st;
    if ((unsigned)o->reduction > CBX_REDUCTION_BATCH_SUM)
        return cbx_fail(err, CBX_EINVAL, "%s: there is no reduction %u", m->name, (unsigned)o->reduction);
    if (!m->items && (o->reduction || o->axes))
        return cbx_fail(err, CBX_EINVAL, "%s: takes no %s, since it is not a mean over items", m->name,
                        o->axes ? "axes" : "reduction");
    if (o->weights && !m->items && !(m->flags & CBX_METRIC_WEIGHTED))
        return cbx_fail(err, CBX_EINVAL, "%s: takes no weights", m->name);
    if (!m->function && o->function) return cbx_fail(err, CBX_EINVAL, "%s: takes no function", m->name);
    if (m->function && !o->function && !(m->flags & CBX_METRIC_FEATURES))
        return cbx_fail(err, CBX_EINVAL, "%s: needs a function of %s", m->name, m->function);
    return CBX_OK;
}

/* ---- the three forms ---- */

static cbx_array *reduce_items(cbx_ctx *ctx, const cbx__bound *b, const cbx_metric_call *call, cbx_array *x)
{
    const cbx_axes *axes = b->has_axes ? &b->axes : NULL;
    const cbx_array *w = call->weights;
    cbx_array *sum, *total;
    cbx_axes rest = { 0 };

    for (int k = 0; axes && k < axes->n; k++)
        if (axes->axis[k] < -cbx_array_ndim(x) || axes->axis[k] >= cbx_array_ndim(x))
            return cbx__refuse(ctx, CBX_ESHAPE, "%s: 'axis' %d is outside of the items' axes, %d in number",
                               b->metric->name, axes->axis[k], cbx_array_ndim(x));
    if (w) w = cbx_broadcast_to(ctx, w, cbx_array_ndim(x), cbx_array_get_desc(x)->shape);
    if (b->reduction == CBX_REDUCTION_MEAN && !w) return cbx_mean(ctx, x, axes);
    if (w) x = cbx_multiply(ctx, x, w);
    if (b->reduction == CBX_REDUCTION_NONE) return x;
    if (b->reduction == CBX_REDUCTION_BATCH_SUM) {
        for (int k = 1; k < cbx_array_ndim(x); k++) rest.axis[rest.n++] = k;
        return cbx_mean(ctx, rest.n ? cbx_sum(ctx, x, &rest) : x, NULL);
    }
    sum = cbx_sum(ctx, x, axes);
    if (b->reduction == CBX_REDUCTION_SUM) return sum;
    total = cbx_sum(ctx, w, axes);
    return cbx_divide(ctx, sum, total);
}

void cbx__metric_prepare(cbx_ctx *ctx, const cbx__bound *b, cbx_array *const *given, cbx__prepared *out)
{
    const cbx_metric_function *m = b->metric;
    cbx_array *mask = b->has_mask ? given[b->nin] : NULL;
    cbx_array *weights = b->has_weights ? given[b->nin + b->has_mask] : NULL;

    *out = (cbx__prepared){ .call = { .metric = m, .parameters = b->parameters, .function = b->function } };
    out->call.in = out->in;
    for (size_t i = 0; i < b->nin; i++)
        if (given[i]) out->in[i] = cbx__metric_operand(ctx, m, i, given[i]);
    if (m->items || m->flags & CBX_METRIC_WEIGHTED)
        out->call.weights = cbx__join_options(ctx, b, mask, weights, out->in);
    else if (mask)
        cbx__select_items(ctx, b, mask, out->in);
}

bool cbx__counts_labels(const char *name)
{
    static const char *const names[] = { "num_classes", "num_groups", "num_clusters", "catalog_size" };

    return CBX_WORD_AT(names, name) < CBX_LEN(names);
}

size_t cbx__counting_parameter(const cbx_metric_function *m)
{
    size_t p = 0;

    while (p < cbx_metric_parameters(m) && !cbx__counts_labels(m->parameters[p].name)) p++;
    return p;
}

/*
 * Labels of operand k are below it: what was given, or could be, or what another operand has;
 * places are below the number of items; infinite: there is no limit.
 */
static double limit_of(const cbx__bound *b, cbx_array *const *in, size_t k, char *what, size_t size)
{
    const cbx_metric_function *m = b->metric;
    const size_t p = cbx__counting_parameter(m);

    if (m->operands[k].kind == CBX_OPERAND_INDICES) {
        const size_t items = cbx_array_ndim(in[0]) ? cbx_array_dim(in[0], 0) : 1;
        snprintf(what, size, "%zu, the number of items", items);
        return (double)items;
    }
    if (m->operands[k].kind != CBX_OPERAND_LABELS) return INFINITY;
    if (p < cbx_metric_parameters(m)) {
        const cbx_metric_parameter *given = &m->parameters[p];
        if (b->parameters[p] > 0)
            snprintf(what, size, "'%s', %.0f", given->name, b->parameters[p]);
        else
            snprintf(what, size, "%.0f, the maximum of '%s': number the labels that occur from 0 on", given->high,
                     given->name);
        return b->parameters[p] > 0 ? b->parameters[p] : given->high;
    }
    for (size_t i = 0; i < b->nin; i++) {
        const cbx_operand_kind kind = m->operands[i].kind;
        const bool probability = kind == CBX_OPERAND_PROBABILITY && m->flags & CBX_METRIC_OF_CLASSES;
        const int ndim = in[i] ? cbx_array_ndim(in[i]) : 0;
        size_t n;
        if (kind == CBX_OPERAND_CLASS_VECTORS && ndim > 0)
            n = cbx_array_dim(in[i], 0);
        else if ((kind == CBX_OPERAND_LOGITS || kind == CBX_OPERAND_CLASS_PROBABILITIES || probability) &&
                 ndim == cbx_array_ndim(in[k]) + 1)
            n = cbx_array_dim(in[i], ndim - 1);
        else if (probability && ndim == cbx_array_ndim(in[k]))
            n = 2;
        else
            continue;
        snprintf(what, size, "%zu, the number of classes in '%s'", n, m->operands[i].name);
        return (double)n;
    }
    return INFINITY;
}

/* Whether all of both are true; all may be NULL. */
static const cbx_array *and_all(cbx_ctx *ctx, const cbx_array *all, const cbx_array *legal)
{
    legal = cbx_all(ctx, legal, NULL);
    return all ? cbx_logical_and(ctx, all, legal) : legal;
}

/* Whether values of a trace are legal; NULL: every value is legal. */
typedef struct legality {
    const cbx_array *each; /* of the values of each item, a boolean */
    const cbx_array *all;  /* of all else, one boolean */
} legality;

/* Adds whether elements, or matrices or sums of them, of an operand of that rank are legal. */
static void add_legality(cbx_ctx *ctx, const cbx__bound *b, size_t i, int rank, const cbx_array *legal, legality *out)
{
    const int axes = rank - cbx__operand_item_axes(b->metric->operands[i].kind, rank);
    const cbx_array *each = legal;

    if (b->metric->items && cbx_metric_operand_items(b->metric, i) != CBX_ITEMS_NONE && axes >= 0) {
        while (cbx_array_ndim(each) > axes) each = cbx_all(ctx, each, CBX_AXIS(-1));
        if (!out->each || cbx_array_desc_equal(cbx_array_get_desc(out->each), cbx_array_get_desc(each))) {
            out->each = out->each ? cbx_logical_and(ctx, out->each, each) : each;
            return;
        }
    }
    out->all = and_all(ctx, out->all, legal);
}

/*
 * Operands of a trace, whose values are unknown: labels outside become 0.  Whether a call with data
 * would be refused, for a value outside the domain of its argument, or because no item is left.
 */
static legality legality_of(cbx_ctx *ctx, const cbx__bound *b, cbx_array *const *given, cbx__prepared *p)
{
    const cbx_array *weights = p->call.weights;
    cbx_array **in = p->in;
    legality out = { 0 };
    char what[160];

    if (b->has_mask && cbx_array_dtype(given[b->nin]) != CBX_BOOL)
        out.all = and_all(ctx, out.all, cbx__operand_legal(ctx, CBX_OPERAND_BINARY, given[b->nin], CBX_F64));
    if (b->has_weights)
        out.all = and_all(ctx, out.all,
                          cbx__operand_legal(ctx, CBX_OPERAND_RELEVANCE, given[b->nin + b->has_mask], CBX_F64));
    if (weights && !b->metric->items)
        out.all = and_all(ctx, out.all, cbx_any(ctx, cbx_greater_scalar(ctx, weights, 0), NULL));
    for (size_t i = 0; i < b->nin; i++) {
        const cbx_operand_kind kind = b->metric->operands[i].kind;
        const cbx_array *legal = in[i] ? cbx__operand_legal(ctx, kind, in[i], cbx_array_dtype(given[i])) : NULL;
        if (!legal) continue;
        const double limit = limit_of(b, in, i, what, sizeof what);
        if (!isinf(limit)) legal = cbx_logical_and(ctx, legal, cbx_less_scalar(ctx, in[i], limit));
        if (kind == CBX_OPERAND_LABELS) in[i] = cbx_where(ctx, legal, in[i], cbx_zeros_like(ctx, in[i]));
        add_legality(ctx, b, i, cbx_array_ndim(in[i]), legal, &out);
    }
    return out;
}

static cbx_array *partial(cbx_ctx *ctx, const cbx_metric_call *call)
{
    cbx_array *x;
    const cbx_array *w = call->weights;

    if (call->metric->parts) return call->metric->parts(ctx, call);
    x = call->metric->items(ctx, call);
    if (w) w = cbx_broadcast_to(ctx, w, cbx_array_ndim(x), cbx_array_get_desc(x)->shape);
    const cbx_array *sums[] = { cbx_sum(ctx, w ? cbx_multiply(ctx, w, x) : x, NULL),
                                w ? cbx_sum(ctx, w, NULL) : cbx__number(ctx, (double)cbx_array_count(x)) };
    return cbx__pack(ctx, 2, sums);
}

/* x, and NaN where it is not legal, also in its derivatives. */
static cbx_array *nan_unless(cbx_ctx *ctx, const cbx_array *legal, const cbx_array *x)
{
    return cbx_multiply(ctx, x, cbx_where(ctx, legal, cbx__number(ctx, 1), cbx__number(ctx, NAN)));
}

/* NaN for items whose values are not legal. */
static cbx_array *legal_items(cbx_ctx *ctx, const cbx_array *x, legality *g)
{
    const cbx_array_desc *of_x = cbx_array_get_desc(x), *of_each = g->each ? cbx_array_get_desc(g->each) : NULL;

    if (!of_each || cbx_array_is_failed(x)) return (cbx_array *)x;
    if (of_x->ndim == of_each->ndim && !memcmp(of_x->shape, of_each->shape, (size_t)of_x->ndim * sizeof *of_x->shape))
        return nan_unless(ctx, g->each, x);
    g->all = and_all(ctx, g->all, g->each);
    return (cbx_array *)x;
}

cbx_array *cbx__metric_evaluate(cbx_ctx *ctx, const cbx__bound *b, cbx_array *const *given)
{
    const cbx_metric_function *m = b->metric;
    legality g = { 0 };
    cbx__prepared p;
    cbx_array *result;

    cbx__metric_prepare(ctx, b, given, &p);
    if (!b->checked) g = legality_of(ctx, b, given, &p);
    if (b->partial)
        result = partial(ctx, &p.call);
    else if (m->whole)
        result = m->whole(ctx, &p.call);
    else if (m->parts)
        result = m->finish(ctx, &p.call, m->parts(ctx, &p.call));
    else
        result = reduce_items(ctx, b, &p.call, legal_items(ctx, m->items(ctx, &p.call), &g));
    if (m->items && m->finish && !b->partial) result = m->finish(ctx, &p.call, result);
    if (!g.all) return result;
    if (cbx_array_dtype(result) == CBX_I64)
        return cbx_where(ctx, g.all, result, cbx_full(ctx, 0, NULL, CBX_I64, cbx_int(-1)));
    return nan_unless(ctx, g.all, result);
}

cbx_array *cbx__metric_finished(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *state)
{
    const cbx_metric_function *m = call->metric;
    cbx_array *mean;

    if (m->parts) return m->finish(ctx, call, state);
    CBX__PARTS(sums, 2, ctx, state);
    mean = cbx_divide(ctx, sums[0], sums[1]);
    return m->finish ? m->finish(ctx, call, mean) : mean;
}

/* ---- checks ---- */

static bool have_data(cbx_ctx *ctx, size_t n, cbx_array *const *all)
{
    bool data = !cbx__is_traced(ctx);
    for (size_t i = 0; i < n; i++) data &= !all[i] || !cbx_array_is_abstract(all[i]);
    return data;
}

/* With a mask the values of items that it leaves out do not count. */
static bool check_values(cbx_ctx *ctx, const cbx__bound *b, cbx_array *const *all, double *largest, bool *nothing)
{
    cbx_array *in[CBX_METRIC_MAX_OPERANDS];
    const cbx_array *kept = NULL;
    char what[160];

    memcpy(in, all, b->nin * sizeof *in);
    if (b->has_mask && !cbx__metric_check_argument(ctx, b->metric, "mask", CBX_OPERAND_BINARY, all[b->nin]))
        return false;
    if (b->has_weights &&
        !cbx__metric_check_argument(ctx, b->metric, "weights", CBX_OPERAND_RELEVANCE, all[b->nin + b->has_mask]))
        return false;
    if (b->has_mask && (b->metric->items || b->metric->flags & CBX_METRIC_WEIGHTED))
        cbx__neutralise(ctx, b, cbx__for_items(ctx, b, in, all[b->nin], CBX_BOOL), in);
    else if (b->has_mask)
        kept = cbx__select_items(ctx, b, all[b->nin], in);
    *nothing = !b->reduction && !b->has_axes && cbx__leave_nothing(ctx, b, all);
    if (cbx_ctx_pending(ctx, NULL)) return false;
    if (*nothing) return true;
    for (size_t i = 0; i < b->nin; i++) {
        const cbx_array *places = cbx_metric_operand_items(b->metric, i) == CBX_ITEMS_NONE ? NULL : kept;
        double limit;
        if (!in[i]) continue;
        if (!cbx__metric_check_values(ctx, b->metric, i, in[i], places, &largest[i])) return false;
        limit = limit_of(b, in, i, what, sizeof what);
        if (isinf(limit) || largest[i] < limit) continue;
        cbx__metric_refuse_label(ctx, b->metric, i, in[i], limit, what, places);
        return false;
    }
    return true;
}

/* num_classes of 0 becomes one more than the largest label. */
static bool resolve_classes(cbx_ctx *ctx, cbx__checked *c)
{
    const cbx_metric_function *m = c->bound.metric;
    const size_t p = cbx__counting_parameter(m);
    double largest = -1;

    if (p == cbx_metric_parameters(m)) return true;
    if (c->bound.parameters[p] > 0) return true;
    if (!c->data)
        return cbx__refused(ctx, CBX_EUNSUPPORTED, "%s: '%s' must be given where the function is traced", m->name,
                            m->parameters[p].name);
    for (size_t i = 0; i < c->bound.nin; i++) {
        if (c->all[i] && m->operands[i].kind == CBX_OPERAND_LABELS) largest = fmax(largest, c->largest[i]);
    }
    c->bound.parameters[p] = fmax(largest + 1, 1);
    return true;
}

/* True of operands that a function may make the features of. */
static bool has_features(const cbx_metric_function *m, size_t i)
{
    const cbx_operand_kind kind = m->operands[i].kind;
    return m->flags & CBX_METRIC_FEATURES &&
           (kind == CBX_OPERAND_BATCH || kind == CBX_OPERAND_FEATURES || kind == CBX_OPERAND_TOKEN_VECTORS);
}

/*
 * Operands as the function of the options maps them, one array of each; those with several are left
 * to the metric.
 */
static void make_features(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, cbx_array *const *in,
                          const cbx_metric_options *o, cbx_array **out)
{
    bool through = false; /* go derivatives; options are not checked yet */

    for (size_t i = 0; o->parameters && i < cbx_metric_parameters(m); i++)
        through |= strcmp(m->parameters[i].name, "gradient") == 0 && o->parameters[i] == 1;
    for (size_t i = 0; i < nin; i++) {
        cbx_array *x = in[i];
        if (x && has_features(m, i) && cbx_fn_call(ctx, o->function, 1, &in[i], 1, &x)) x = cbx__array_failed();
        out[i] = x && x != in[i] && !through ? cbx_stop_gradient(ctx, x) : x;
    }
}

/* Places of the largest scores; those with a NaN are refused, or -1 in a trace and where they may
 * be masked. */
static cbx_array *labels_of_scores(cbx_ctx *ctx, const cbx_metric_function *m, cbx_array *scores, bool masked)
{
    const cbx_array *places = cbx_argmax(ctx, scores, CBX_AXIS(-1)), *none;

    if (!masked && have_data(ctx, 1, &scores))
        return cbx__metric_check_argument(ctx, m, m->operands[0].name, CBX_OPERAND_SCORES, scores)
                   ? (cbx_array *)places
                   : cbx__array_failed();
    none = cbx_isnan(ctx, cbx_max(ctx, scores, CBX_AXIS(-1)));
    return cbx_where(ctx, none, cbx_full(ctx, 0, NULL, CBX_I64, cbx_int(-1)), places);
}

/* What can be checked without values. */
static bool check_form(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, cbx_array *const *in,
                       const cbx_metric_options *options, cbx__checked *out)
{
    cbx_array *labels[CBX_METRIC_MAX_OPERANDS], *features[CBX_METRIC_MAX_OPERANDS], *host[CBX_METRIC_MAX_OPERANDS];
    cbx_err err = CBX_ERR_INIT;
    cbx_metric_options given;

    if (cbx_ctx_pending(ctx, NULL)) return false;
    if (m->flags & CBX_METRIC_DATA_SHAPED && nin <= CBX_METRIC_MAX_OPERANDS) { /* values are read in C */
        const cbx_device_id cpu = { .kind = CBX_DEVICE_CPU };
        for (size_t i = 0; i < nin; i++)
            host[i] = in[i] && cbx_array_device(in[i]).kind != CBX_DEVICE_CPU ? cbx_to_device(ctx, in[i], cpu) : in[i];
        in = host;
    }
    if (m->flags & CBX_METRIC_SCORES && nin >= 2 && nin <= CBX_METRIC_MAX_OPERANDS && in[0] && in[1] &&
        cbx_dtype_kind(cbx_array_dtype(in[0])) == CBX_KIND_FLOAT &&
        cbx_array_ndim(in[0]) == cbx_array_ndim(in[1]) + 1) {
        memcpy(labels, in, nin * sizeof *in);
        labels[0] = labels_of_scores(ctx, m, in[0], options && options->mask);
        in = labels;
    }
    const size_t layers = m->flags & CBX_METRIC_FEATURES && options && options->function ? options->function->nout : 0;
    if (layers > 1 && m->operands[0].kind == CBX_OPERAND_FEATURES)
        return cbx__refused(ctx, CBX_EINVAL, "%s: the function must have one result, it has %zu", m->name, layers);
    if (layers == 1 && nin <= CBX_METRIC_MAX_OPERANDS) {
        make_features(ctx, m, nin, in, options, features);
        in = features;
        given = *options;
        given.function = NULL;
        options = &given;
    }
    if (!cbx__metric_check_shapes(ctx, m, nin, in)) return false;
    if (cbx__metric_bind(m, nin, options, &out->bound, &err)) return cbx__refused(ctx, err.status, "%s", err.message);
    memcpy(out->all, in, nin * sizeof *in);
    out->n = nin;
    if (out->bound.has_mask) out->all[out->n++] = (cbx_array *)options->mask;
    if (out->bound.has_weights) out->all[out->n++] = (cbx_array *)options->weights;
    out->data = out->bound.checked = have_data(ctx, out->n, out->all);
    out->nothing = false;
    return true;
}

/* The rest of it. */
static bool check_data(cbx_ctx *ctx, cbx__checked *c)
{
    if (c->data && !check_values(ctx, &c->bound, c->all, c->largest, &c->nothing)) return false;
    return c->nothing || (!c->data && c->bound.metric->flags & CBX_METRIC_DATA_SHAPED) || resolve_classes(ctx, c);
}

bool cbx__metric_check(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, cbx_array *const *in,
                       const cbx_metric_options *options, cbx__checked *out)
{
    return check_form(ctx, m, nin, in, options, out) && check_data(ctx, out);
}

/* ---- calls ---- */

/* Whether compiled code compares all values with bounds that there are, and shows a wrong one by
 * the NaN of one number. */
static bool finds_wrong_values(const cbx__bound *b)
{
    bool bounds = false;

    if (!b->metric->items || b->has_mask || b->has_weights || b->reduction || b->has_axes) return false;
    for (size_t i = 0; i < b->nin; i++) {
        const cbx__operand_rule *r = &cbx__operand_rules[b->metric->operands[i].kind];
        if (r->whole || r->sum || r->matrix || r->of_trace) return false;
        bounds |= !isnan(r->low);
    }
    return bounds;
}

cbx_array *cbx_metric_apply(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, cbx_array *const *in,
                            const cbx_metric_options *options)
{
    const size_t mark = cbx__mark(ctx);
    cbx_array *result;
    cbx__checked c;

    if (!m) return cbx__refuse(ctx, CBX_EINVAL, "the metric is NULL");
    if (!check_form(ctx, m, nin, in, options, &c)) return cbx__array_failed();
    if (c.data && finds_wrong_values(&c.bound)) { /* compiled code reads the operands once */
        cbx__bound unchecked = c.bound;
        unchecked.checked = false;
        result = cbx__metric_compiled(ctx, &unchecked, c.n, c.all);
        if (result && !isnan(cbx__metric_element(result, 0))) return cbx__tidy(ctx, mark, result);
    }
    if (!check_data(ctx, &c)) return cbx__array_failed();
    if (c.nothing)
        return cbx__refuse(ctx, CBX_EDOM, "%s: %s", m->name,
                           c.bound.has_weights ? "no item has a weight above 0" : "the mask leaves no items");
    if (!c.data && m->flags & CBX_METRIC_DATA_SHAPED) return cbx__tidy(ctx, mark, cbx__metric_later(ctx, &c));
    result = c.data ? cbx__metric_compiled(ctx, &c.bound, c.n, c.all) : NULL;
    return cbx__tidy(ctx, mark, result ? result : cbx__metric_evaluate(ctx, &c.bound, c.all));
}

cbx_status cbx_metric_value(cbx_ctx *ctx, const char *name, size_t nin, cbx_array *const *in,
                            const cbx_metric_options *options, double *out, cbx_err *err)
{
    const cbx_metric_function *m;
    cbx_status st = cbx_metric_find(ctx, name, &m, err), closed;
    cbx_array *x;
    cbx_scope scope;

    if (st) return st;
    cbx_scope_open(ctx, &scope);
    x = cbx_metric_apply(ctx, m, nin, in, options);
    if (!cbx_array_is_failed(x) && cbx_array_count(x) != 1)
        st = cbx_fail(err, CBX_ESHAPE, "%s: the result is not a single number: call cbx_metric_apply", name);
    const double v = st ? NAN : cbx__metric_element(x, 0);
    closed = cbx_scope_close(&scope, st ? NULL : err);
    if (!st && !closed) *out = v;
    return st ? st : closed;
}
