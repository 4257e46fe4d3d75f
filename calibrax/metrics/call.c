/* Calls of metric functions: checks, options, the three forms of code, and compiled calls. */
#include <stdio.h>
#include <string.h>

#include "calibrax/array/scope_internal.h"
#include "calibrax/array/trace/regions.h"
#include "calibrax/metrics/call.h"

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
        return cbx_fail(err, CBX_EINVAL, "%s: the reduction is unknown", m->name);
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

/* ---- masks and weights ---- */

/* x with n axes of length 1 at its end. */
static cbx_array *with_item_axes(cbx_ctx *ctx, cbx_array *x, int n)
{
    for (int k = 0; k < n; k++) x = cbx_expand_dims(ctx, x, -1);
    return x;
}

/*
 * Shape of the items: the axes in front of those that belong to one item, of the operand with the
 * fewest.
 */
static void item_shape(const cbx__bound *b, cbx_array *const *in, int *ndim, size_t shape[CBX_MAX_RANK])
{
    *ndim = CBX_MAX_RANK;
    for (size_t i = 0; i < b->nin; i++) {
        const int rank = in[i] ? cbx_array_ndim(in[i]) : 0;
        const int n = in[i] ? rank - cbx__operand_item_axes(b->metric->operands[i].kind, rank) : CBX_MAX_RANK;
        if (n >= *ndim || b->metric->operands[i].optional || cbx_metric_operand_items(b->metric, i) == CBX_ITEMS_NONE)
            continue;
        *ndim = n > 0 ? n : 0;
        for (int k = 0; k < *ndim; k++) shape[k] = cbx_array_dim(in[i], k);
    }
}

/*
 * Items with weight 0 get numbers that are legal: what they hold, even NaN, must not reach the
 * result.
 */
static void neutralise(cbx_ctx *ctx, const cbx__bound *b, cbx_array *mask, cbx_array **in)
{
    for (size_t i = 0; i < b->nin; i++) {
        const cbx_operand_items items = cbx_metric_operand_items(b->metric, i);
        const int rank = in[i] ? cbx_array_ndim(in[i]) : 0, n = rank - cbx_array_ndim(mask);
        if (!in[i] || n < 0 || items == CBX_ITEMS_NONE || items == CBX_ITEMS_PAIRS) continue;
        in[i] = cbx_where(ctx, with_item_axes(ctx, mask, n), in[i],
                          cbx__operand_neutral(ctx, b->metric->operands[i].kind, in[i]));
    }
}

/* A mask or weights, of a dtype, for each item; failed, and recorded, where they are not. */
static cbx_array *for_items(cbx_ctx *ctx, const cbx__bound *b, cbx_array *const *in, cbx_array *x, cbx_dtype dtype)
{
    cbx_array_desc items = { .dtype = dtype };
    char given[128], shape[128];
    bool fits;

    item_shape(b, in, &items.ndim, items.shape);
    fits = cbx_array_ndim(x) <= items.ndim;
    for (int k = 1; fits && k <= cbx_array_ndim(x); k++) {
        const size_t n = cbx_array_dim(x, cbx_array_ndim(x) - k);
        fits = n == 1 || n == items.shape[items.ndim - k];
    }
    if (fits) return cbx_broadcast_to(ctx, cbx_astype(ctx, x, dtype), items.ndim, items.shape);
    cbx_array_desc_text(&items, shape, sizeof shape);
    return cbx__refuse(ctx, CBX_ESHAPE, "%s: '%s' is %s: it must be for items of the shape %s", b->metric->name,
                       dtype == CBX_BOOL ? "mask" : "weights",
                       cbx_array_desc_text(cbx_array_get_desc(x), given, sizeof given), strchr(shape, '('));
}

/*
 * Metrics that know no weights: the masked items are left out along the first axis.  The places of
 * the others; NULL: recorded.
 */
static const cbx_array *select(cbx_ctx *ctx, const cbx__bound *b, const cbx_array *mask, cbx_array **in)
{
    const cbx_array *kept;

    if (cbx_array_ndim(mask) != 1) {
        cbx__refuse(ctx, CBX_ESHAPE, "%s: the mask must have one axis", b->metric->name);
        return NULL;
    }
    if (!cbx__metric_has_data(ctx, &(cbx_metric_call){ .in = (cbx_array *[]){ (cbx_array *)mask, NULL } })) {
        cbx__refuse(ctx, CBX_EUNSUPPORTED, "%s: a mask cannot be traced: leave the items out before the call",
                    b->metric->name);
        return NULL;
    }
    kept = cbx_index(ctx, cbx_nonzero(ctx, mask), 0, 0);
    const size_t n = cbx_array_dim(mask, 0);
    for (size_t i = 0; i < b->nin; i++) {
        if (!cbx__operand_fits(b->metric, i, in[i], (size_t[]){ n, n })) {
            cbx__refuse(ctx, CBX_ESHAPE, "%s: the mask has %zu item%s, '%s' has %zu", b->metric->name, n,
                        cbx__plural(n), b->metric->operands[i].name,
                        cbx_array_ndim(in[i]) ? cbx_array_dim(in[i], 0) : 1);
            return NULL;
        }
        in[i] = cbx__operand_at(ctx, b->metric, i, in[i], (const cbx_array *[]){ kept, kept });
    }
    return kept;
}

static const cbx_array *join_weights(cbx_ctx *ctx, const cbx__bound *b, cbx_array *mask, cbx_array *weights,
                                     cbx_array **in)
{
    cbx_array *w = NULL;

    if (mask) neutralise(ctx, b, mask = for_items(ctx, b, in, mask, CBX_BOOL), in);
    if (weights) w = for_items(ctx, b, in, weights, CBX_F64);
    if (mask) w = w ? cbx_where(ctx, mask, w, cbx__number(ctx, 0)) : cbx_astype(ctx, mask, CBX_F64);
    return w;
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
        out->call.weights = join_weights(ctx, b, mask, weights, out->in);
    else if (mask)
        select(ctx, b, mask, out->in);
}

bool cbx__counts_labels(const char *name)
{
    static const char *const names[] = { "num_classes", "num_groups", "num_clusters", "catalog_size" };

    for (size_t i = 0; i < CBX_LEN(names); i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

size_t cbx__counting_parameter(const cbx_metric_function *m)
{
    size_t p = 0;

    while (p < cbx_metric_parameters(m) && !cbx__counts_labels(m->parameters[p].name)) p++;
    return p;
}

/*
 * Labels of the operand are below it: what was given, or could be, or what another operand has;
 * infinite: there is no limit.
 */
static double label_limit(const cbx__bound *b, cbx_array *const *in, const cbx_array *labels, char *what, size_t size)
{
    const cbx_metric_function *m = b->metric;
    const size_t p = cbx__counting_parameter(m);

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
                 ndim == cbx_array_ndim(labels) + 1)
            n = cbx_array_dim(in[i], ndim - 1);
        else if (probability && ndim == cbx_array_ndim(labels))
            n = 2;
        else
            continue;
        snprintf(what, size, "%zu, the number of classes in '%s'", n, m->operands[i].name);
        return (double)n;
    }
    return INFINITY;
}

/*
 * Operands of a trace, whose values are unknown: labels outside become 0.  The factor of the
 * result: 1, or NaN where a value is outside the domain of its operand; NULL: no operand has a
 * domain.
 */
static const cbx_array *legal_values(cbx_ctx *ctx, const cbx__bound *b, cbx_array **in)
{
    const cbx_array *all = NULL;
    char what[160];

    for (size_t i = 0; i < b->nin; i++) {
        const cbx_operand_kind kind = b->metric->operands[i].kind;
        const cbx_array *legal = in[i] ? cbx__operand_legal(ctx, kind, in[i]) : NULL;
        if (!legal) continue;
        if (kind == CBX_OPERAND_LABELS) {
            const double limit = label_limit(b, in, in[i], what, sizeof what);
            if (!isinf(limit)) legal = cbx_logical_and(ctx, legal, cbx_less_scalar(ctx, in[i], limit));
            in[i] = cbx_where(ctx, legal, in[i], cbx_zeros_like(ctx, in[i]));
        }
        legal = cbx_all(ctx, legal, NULL);
        all = all ? cbx_logical_and(ctx, all, legal) : legal;
    }
    return all ? cbx_where(ctx, all, cbx__number(ctx, 1), cbx__number(ctx, NAN)) : NULL;
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

static cbx_array *run(cbx_ctx *ctx, const cbx__bound *b, const cbx__prepared *p)
{
    const cbx_metric_function *m = b->metric;
    cbx_array *result;

    if (b->partial) return partial(ctx, &p->call);
    if (m->whole) return m->whole(ctx, &p->call);
    if (m->parts) return m->finish(ctx, &p->call, m->parts(ctx, &p->call));
    result = reduce_items(ctx, b, &p->call, m->items(ctx, &p->call));
    return m->finish ? m->finish(ctx, &p->call, result) : result;
}

cbx_array *cbx__metric_evaluate(cbx_ctx *ctx, const cbx__bound *b, cbx_array *const *given)
{
    const cbx_array *factor = NULL;
    cbx__prepared p;
    cbx_array *result;

    cbx__metric_prepare(ctx, b, given, &p);
    if (!b->checked) factor = legal_values(ctx, b, p.in);
    result = run(ctx, b, &p);
    return factor && cbx_array_dtype(result) == CBX_F64 ? cbx_multiply(ctx, result, factor) : result;
}

cbx_array *cbx__metric_finished(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *state)
{
    const cbx_metric_function *m = call->metric;
    cbx_array *sums[2], *mean;

    if (m->parts) return m->finish(ctx, call, state);
    cbx__unpack(ctx, state, 2, sums);
    mean = cbx_divide(ctx, sums[0], sums[1]);
    return m->finish ? m->finish(ctx, call, mean) : mean;
}

/* ---- checks ---- */

/* All arrays of a call: operands, mask, weights. */
static size_t gather(const cbx__bound *b, cbx_array *const *in, const cbx_metric_options *o, cbx_array **all)
{
    size_t n = b->nin;

    memcpy(all, in, n * sizeof *in);
    if (b->has_mask) all[n++] = (cbx_array *)o->mask;
    if (b->has_weights) all[n++] = (cbx_array *)o->weights;
    return n;
}

static bool have_data(cbx_ctx *ctx, size_t n, cbx_array *const *all)
{
    bool data = !cbx__is_traced(ctx);
    for (size_t i = 0; i < n; i++) data &= !all[i] || !cbx_array_is_abstract(all[i]);
    return data;
}

/* Whether the mask and the weights leave no item. */
static bool leave_nothing(cbx_ctx *ctx, const cbx__bound *b, cbx_array *const *all)
{
    cbx_array *mask = b->has_mask ? all[b->nin] : NULL, *rest = b->has_weights ? all[b->nin + b->has_mask] : mask;

    if (mask && rest != mask)
        rest = cbx_logical_and(ctx, cbx_astype(ctx, mask, CBX_BOOL), for_items(ctx, b, all, rest, CBX_F64));
    return rest && cbx_array_count(rest) && cbx__metric_element(cbx_any(ctx, rest, NULL), 0) == 0;
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
        neutralise(ctx, b, for_items(ctx, b, in, all[b->nin], CBX_BOOL), in);
    else if (b->has_mask)
        kept = select(ctx, b, all[b->nin], in);
    *nothing = !b->reduction && !b->has_axes && leave_nothing(ctx, b, all);
    if (cbx_ctx_pending(ctx, NULL)) return false;
    if (*nothing) return true;
    for (size_t i = 0; i < b->nin; i++) {
        const cbx_operand_kind kind = b->metric->operands[i].kind;
        const cbx_array *places = cbx_metric_operand_items(b->metric, i) == CBX_ITEMS_NONE ? NULL : kept;
        double limit;
        if (!in[i]) continue;
        if (!cbx__metric_check_values(ctx, b->metric, i, in[i], places, &largest[i])) return false;
        if (kind != CBX_OPERAND_LABELS) continue;
        limit = label_limit(b, in, in[i], what, sizeof what);
        if (largest[i] < limit) continue;
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

/* The value of a parameter that is a flag, of options that are not checked yet. */
static bool is_asked(const cbx_metric_function *m, const cbx_metric_options *o, const char *name)
{
    for (size_t i = 0; o->parameters && i < cbx_metric_parameters(m); i++)
        if (strcmp(m->parameters[i].name, name) == 0) return o->parameters[i] == 1;
    return false;
}

/*
 * Operands as the function of the options maps them, one array of each; those with several are left
 * to the metric.
 */
static void make_features(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, cbx_array *const *in,
                          const cbx_metric_options *o, cbx_array **out)
{
    for (size_t i = 0; i < nin; i++) {
        cbx_array *x = in[i];
        if (x && has_features(m, i) && cbx_fn_call(ctx, o->function, 1, &in[i], 1, &x)) x = cbx__array_failed();
        out[i] = x && x != in[i] && !is_asked(m, o, "gradient") ? cbx_stop_gradient(ctx, x) : x;
    }
}

/* Places of the largest scores; those with a NaN are refused, or -1 in a trace and where they may be masked. */
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

/* Operands whose values are read in C, as arrays of the CPU. */
static void bring_to_host(cbx_ctx *ctx, size_t nin, cbx_array *const *in, cbx_array **out)
{
    const cbx_device_id cpu = { .kind = CBX_DEVICE_CPU };

    for (size_t i = 0; i < nin; i++)
        out[i] = in[i] && cbx_array_device(in[i]).kind != CBX_DEVICE_CPU ? cbx_to_device(ctx, in[i], cpu) : in[i];
}

bool cbx__metric_check(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, cbx_array *const *in,
                       const cbx_metric_options *options, cbx__checked *out)
{
    cbx_array *labels[CBX_METRIC_MAX_OPERANDS], *features[CBX_METRIC_MAX_OPERANDS], *host[CBX_METRIC_MAX_OPERANDS];
    cbx_err err = CBX_ERR_INIT;
    cbx_metric_options given;

    if (cbx_ctx_pending(ctx, NULL)) return false;
    if (m->flags & CBX_METRIC_DATA_SHAPED && nin <= CBX_METRIC_MAX_OPERANDS) {
        bring_to_host(ctx, nin, in, host);
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
    out->n = gather(&out->bound, in, options, out->all);
    out->data = out->bound.checked = have_data(ctx, out->n, out->all);
    out->nothing = false;
    if (out->data && !check_values(ctx, &out->bound, out->all, out->largest, &out->nothing)) return false;
    return out->nothing || (!out->data && m->flags & CBX_METRIC_DATA_SHAPED) || resolve_classes(ctx, out);
}

/* ---- as functions ---- */

typedef struct bound_fn {
    cbx_allocator al;
    cbx__bound b;
    cbx_array *mask, *weights;              /* ours, unless they are operands */
    cbx_fn *function;                       /* counted; NULL: the caller's */
    size_t at[CBX_METRIC_MAX_OPERANDS + 2]; /* of each operand: its place among the metric's, mask and weights */
} bound_fn;

static void bound_free(void *user)
{
    bound_fn *f = user;
    cbx_allocator al = f->al;
    cbx_array_free(f->mask);
    cbx_array_free(f->weights);
    cbx_fn_free(f->function);
    cbx_mem_free(&al, f, sizeof *f);
}

static cbx_status call_bound(cbx_ctx *ctx, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    const bound_fn *f = user;
    const cbx__bound *b = &f->b;
    cbx_array *all[CBX_METRIC_MAX_OPERANDS + 2] = { 0 };
    cbx_metric_options o = { .parameters = b->parameters,
                             .mask = f->mask,
                             .weights = f->weights,
                             .reduction = b->reduction,
                             .axes = b->has_axes ? &b->axes : NULL,
                             .function = b->function };

    (void)nout;
    for (size_t i = 0; i < nin; i++) all[f->at[i]] = in[i];
    if (b->has_mask && !o.mask) o.mask = all[b->nin];
    if (b->has_weights && !o.weights) o.weights = all[b->nin + b->has_mask];
    out[0] = cbx_metric_apply(ctx, b->metric, b->nin, all, &o);
    return CBX_OK;
}

static cbx_status bound_create(cbx_ctx *ctx, const cbx__bound *b, bound_fn **out, cbx_err *err)
{
    bound_fn *f = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *f);

    if (!f) return cbx_fail_nomem(err, "a metric as a function");
    f->al = *cbx_ctx_allocator(ctx);
    f->b = *b;
    *out = f;
    return CBX_OK;
}

/* A metric that reads values, in a trace: one operation that calls it with data. */
static cbx_array *call_later(cbx_ctx *ctx, const cbx__checked *c)
{
    const cbx_metric_function *m = c->bound.metric;
    cbx_array_desc result = { .dtype = CBX_F64 };
    cbx_array *given[CBX_METRIC_MAX_OPERANDS + 2], *out = cbx__array_failed();
    cbx_err err = CBX_ERR_INIT;
    bound_fn *f = NULL;
    cbx_fn *fn = NULL;
    size_t n = 0;
    cbx_status st = bound_create(ctx, &c->bound, &f, &err);

    for (size_t i = 0; !st && i < c->n; i++)
        if (c->all[i]) given[n] = c->all[i], f->at[n++] = i;
    if (!st && c->bound.function) st = cbx_fn_keep(ctx, c->bound.function, &f->function, &err);
    if (!st) f->b.function = f->function;
    if (!st) st = cbx_fn_create(ctx, &(cbx_fn){ m->name, call_bound, f, n, 1, NULL }, bound_free, &fn, &err);
    if (st && f) bound_free(f);
    if (st) return cbx__refuse(ctx, st, "%s", err.message);
    if (m->result)
        m->result(&(cbx_metric_call){ .metric = m, .in = c->all, .parameters = c->bound.parameters }, &result);
    cbx__host_apply(ctx, fn, &result, m->invariances & CBX_INVARIANT_MONOTONE, given, &out);
    cbx_fn_free(fn);
    return out;
}

cbx_status cbx_metric_fn(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, const cbx_metric_options *options,
                         cbx_fn **out, cbx_err *err)
{
    cbx__bound b;
    cbx_status st = m ? cbx__metric_bind(m, nin, options, &b, err) : cbx_fail(err, CBX_EINVAL, "the metric is NULL");
    bound_fn *f = NULL;

    if (!st && nin > CBX_METRIC_MAX_OPERANDS)
        st = cbx_fail(err, CBX_EINVAL, "%s: no metric takes %zu operands", m->name, nin);
    if (!st) st = bound_create(ctx, &b, &f, err);
    if (st) return st;
    for (size_t i = 0; i < nin; i++) f->at[i] = i;
    if (b.has_mask) f->mask = cbx_array_ref(options->mask);
    if (b.has_weights) f->weights = cbx_array_ref(options->weights);
    st = cbx_fn_create(ctx, &(cbx_fn){ m->name, call_bound, f, nin, 1, NULL }, bound_free, out, err);
    if (st) bound_free(f);
    return st;
}

/* ---- calls ---- */

cbx_array *cbx_metric_apply(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, cbx_array *const *in,
                            const cbx_metric_options *options)
{
    const size_t mark = cbx__mark(ctx);
    cbx_array *result;
    cbx__checked c;

    if (!m) return cbx__refuse(ctx, CBX_EINVAL, "the metric is NULL");
    if (!cbx__metric_check(ctx, m, nin, in, options, &c)) return cbx__array_failed();
    if (c.nothing)
        return cbx__refuse(ctx, CBX_EDOM, "%s: %s", m->name,
                           c.bound.has_weights ? "no item has a weight above 0" : "the mask leaves no items");
    if (!c.data && m->flags & CBX_METRIC_DATA_SHAPED) return cbx__tidy(ctx, mark, call_later(ctx, &c));
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
