/* A metric of the items of each class. */
#include <math.h>

#include "calibrax/array/scope_internal.h"
#include "calibrax/metrics/call.h"
#include "calibrax/metrics/compose.h"

typedef struct of_class {
    const cbx_metric_function *m;
    size_t nin;
    cbx_array *const *in;
    const cbx_metric_options *options;
} of_class;

/* An array at places; NULL for NULL.  *counts: false where it is 0 at all of them. */
static const cbx_array *factors_at(cbx_ctx *ctx, const cbx_array *x, const cbx_array *at, bool *counts)
{
    if (!x) return NULL;
    x = cbx_take(ctx, x, at, 0);
    if (!(cbx__metric_element(cbx_max(ctx, x, NULL), 0) > 0)) *counts = false;
    return x;
}

/* The metric of the items at these places; false: none of them counts. */
static bool value_of_class(cbx_ctx *ctx, const of_class *c, const cbx_array *at, double *out)
{
    const size_t mark = cbx__mark(ctx);
    const cbx_array *r;
    cbx_metric_options o = c->options ? *c->options : (cbx_metric_options){ 0 };
    cbx_array *of[CBX_METRIC_MAX_OPERANDS];
    bool counts = true;

    for (size_t i = 0; i < c->nin; i++)
        of[i] = cbx__operand_at(ctx, c->m, i, c->in[i], (const cbx_array *[]){ at, at });
    o.mask = factors_at(ctx, o.mask, at, &counts);
    o.weights = factors_at(ctx, o.weights, at, &counts);
    if (counts) {
        const bool before = cbx__metric_of_pieces(ctx, true);
        r = cbx_metric_apply(ctx, c->m, c->nin, of, &o);
        cbx__metric_of_pieces(ctx, before);
        if (!cbx_array_is_failed(r) && cbx_array_count(r) != 1)
            cbx__refuse(ctx, CBX_ESHAPE, "%s: the result is not a single number for each class", c->m->name);
        *out = cbx__metric_element(r, 0);
    }
    cbx__tidy_list(ctx, mark, 0, NULL);
    return counts;
}

/* Of what is not as long as the labels; false: recorded. */
static bool refuse_length(cbx_ctx *ctx, const cbx_metric_function *m, const char *name, size_t n)
{
    return cbx__refused(ctx, CBX_ESHAPE, "%s: '%s' must have as many items as there are labels of classes, %zu",
                        m->name, name, n);
}

/* x: NULL is fine. */
static bool has_length(const cbx_array *x, size_t n)
{
    return !x || (n > 0 && cbx_array_ndim(x) > 0 && cbx_array_dim(x, 0) == n);
}

/* False: recorded. */
static bool check_classes(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, cbx_array *const *in,
                          const cbx_array *labels, const cbx_metric_options *options)
{
    const size_t n = cbx_array_ndim(labels) == 1 ? cbx_array_dim(labels, 0) : 0;

    if (!cbx__metric_has_items(m))
        return cbx__refused(ctx, CBX_EINVAL, "%s: is not a metric of items, so that it has no value for each class",
                            m->name);
    if (options && options->reduction)
        return cbx__refused(ctx, CBX_EINVAL, "%s: takes no reduction: the value of a class is a mean", m->name);
    if (nin > CBX_METRIC_MAX_OPERANDS || nin > cbx_metric_operands(m)) {
        const size_t max = cbx_metric_operands(m);
        return cbx__refused(ctx, CBX_EINVAL, "%s takes %zu operand%s, not %zu", m->name, max, cbx__plural(max), nin);
    }
    for (size_t i = 0; i < nin; i++)
        if (in[i] && cbx__operand_is_single(m, i, in[i]))
            return cbx__refused(ctx, CBX_EINVAL, "%s: '%s' is a single item, so that there is no value for each class",
                                m->name, m->operands[i].name);
    if (cbx_dtype_kind(cbx_array_dtype(labels)) > CBX_KIND_INT)
        return cbx__refused(ctx, CBX_EDTYPE, "%s: the labels of classes must be integers, not %s", m->name,
                            cbx_dtype_name(cbx_array_dtype(labels)));
    for (size_t i = 0; i < nin; i++)
        if (n == 0 || !cbx__operand_fits(m, i, in[i], (size_t[]){ n, n }))
            return refuse_length(ctx, m, m->operands[i].name, n);
    if (options && !has_length(options->mask, n)) return refuse_length(ctx, m, "mask", n);
    if (options && !has_length(options->weights, n)) return refuse_length(ctx, m, "weights", n);
    return true;
}

/* The number of classes; 0: recorded.  order sorts the labels. */
static size_t count_classes(cbx_ctx *ctx, const cbx_metric_function *m, const cbx_array *labels, const cbx_array *order,
                            size_t classes)
{
    const size_t n = cbx_array_count(labels), limit = classes ? classes : CBX_METRIC_MAX_CLASSES;
    const cbx_array *sorted = cbx_take(ctx, labels, order, 0);
    const double low = cbx__metric_element(sorted, 0), high = cbx__metric_element(sorted, n - 1);
    const char *more = classes ? "" : "; for more classes give their number";

    if (cbx_ctx_pending(ctx, NULL)) return 0;
    if (low >= 0 && high < (double)limit) return classes ? classes : (size_t)high + 1;
    cbx__refuse(ctx, CBX_EDOM, "%s: the class of item %.0f is %.0f: it must be between 0 and %zu%s", m->name,
                cbx__metric_element(order, low < 0 ? 0 : n - 1), low < 0 ? low : high, limit - 1, low < 0 ? "" : more);
    return 0;
}

cbx_status cbx_metric_classwise(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, cbx_array *const *in,
                                const cbx_array *labels, size_t classes, const cbx_metric_options *options,
                                cbx_array **out, double *mean, cbx_err *err)
{
    const of_class c = { m, nin, in, options };
    const cbx_array *order, *counts;
    cbx_array *r = NULL;
    double sum = 0, *v;
    ptrdiff_t at = 0;
    size_t present = 0;
    cbx_scope scope;
    cbx_status st;

    cbx_scope_open(ctx, &scope);
    if (!check_classes(ctx, m, nin, in, labels, options)) return cbx_scope_close(&scope, err);
    labels = cbx_astype(ctx, labels, CBX_I64);
    order = cbx_argsort(ctx, labels, 0, false);
    classes = count_classes(ctx, m, labels, order, classes);
    if (!classes) return cbx_scope_close(&scope, err);
    counts = cbx_bincount_size(ctx, labels, NULL, classes);
    v = cbx__scratch(ctx, m, classes, sizeof *v, "%zu classes", classes);
    for (size_t k = 0; v && k < classes && !cbx_ctx_pending(ctx, NULL); k++) {
        const ptrdiff_t n = (ptrdiff_t)cbx__metric_element(counts, k);
        v[k] = NAN;
        if (n && value_of_class(ctx, &c, cbx_slice(ctx, order, 0, at, at + n, 1), &v[k])) sum += v[k], present++;
        at += n;
    }
    if (v) r = cbx__vector(ctx, classes, v);
    st = cbx_scope_close_keep(&scope, r != NULL, &r, err);
    if (st) return st;
    if (mean) *mean = sum / (double)present;
    *out = r;
    return CBX_OK;
}
