/* Metrics together: selections, collections of states that metrics share, values for each class, series. */
#include "calibrax/metrics/compose.h"

#include <stdlib.h>
#include <string.h>

#include "calibrax/array/scope_internal.h"
#include "calibrax/metrics/stateful/state_internal.h"

/* ---- selection ---- */

static bool fits(const cbx_metric_function *m, const cbx_metric_selection *s)
{
    return (!s->domain || strcmp(m->domain, s->domain) == 0) &&
           (s->direction < 0 || (int)m->direction == s->direction) && (s->tier < 0 || (int)m->tier == s->tier) &&
           (m->axioms & s->axioms) == s->axioms && (m->invariances & s->invariances) == s->invariances &&
           (m->flags & s->flags) == s->flags;
}

const cbx_metric_function *cbx_metric_next(cbx_ctx *ctx, const cbx_metric_selection *s, size_t *at)
{
    const cbx_metric_function *m;

    do m = cbx_metric_at(ctx, (*at)++);
    while (m && s && !fits(m, s));
    return m;
}

/* ---- members ---- */

typedef struct member {
    cbx_metric_member given; /* its texts, parameters and function are those below */
    char *text;              /* group and label, each with its NUL */
    size_t bytes;
    double parameters[CBX_METRIC_MAX_PARAMETERS];
    size_t state;
} member;

typedef struct shared {
    cbx_metric_state *state;
    size_t members;
} shared;

struct cbx_metric_collection {
    cbx_allocator al;
    CBX_LIST(member) members;
    CBX_LIST(shared) states; /* those without members are NULL */
};

cbx_status cbx_metric_collection_create(cbx_ctx *ctx, cbx_metric_collection **out, cbx_err *err)
{
    cbx_metric_collection *c = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *c);

    if (!c) return cbx_fail_nomem(err, "a collection of metrics");
    c->al = *cbx_ctx_allocator(ctx);
    *out = c;
    return CBX_OK;
}

static void drop(cbx_metric_collection *c, size_t i)
{
    const member *m = &c->members.items[i];
    shared *s = &c->states.items[m->state];

    cbx_mem_free(&c->al, m->text, m->bytes);
    if (--s->members == 0) {
        cbx_metric_state_free(s->state);
        s->state = NULL;
    }
}

void cbx_metric_collection_free(cbx_metric_collection *c)
{
    if (!c) return;
    for (size_t i = 0; i < c->members.n; i++) drop(c, i);
    cbx_list_clear(&c->al, &c->members);
    cbx_list_clear(&c->al, &c->states);
    cbx_allocator al = c->al;
    cbx_mem_free(&al, c, sizeof *c);
}

size_t cbx_metric_collection_count(const cbx_metric_collection *c) { return c->members.n; }

const cbx_metric_member *cbx_metric_collection_at(const cbx_metric_collection *c, size_t i)
{
    return i < c->members.n ? &c->members.items[i].given : NULL;
}

size_t cbx_metric_collection_states(const cbx_metric_collection *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->states.n; i++) n += c->states.items[i].state != NULL;
    return n;
}

static const cbx_metric_state *state_of(const cbx_metric_collection *c, size_t i)
{
    return c->states.items[c->members.items[i].state].state;
}

/* The place of a member, or the number of all. */
static size_t place_of(const cbx_metric_collection *c, const char *group, const char *label)
{
    size_t i = 0;

    for (; i < c->members.n; i++) {
        const cbx_metric_member *m = &c->members.items[i].given;
        if (strcmp(m->label, label) == 0 && strcmp(m->group ? m->group : "", group ? group : "") == 0) break;
    }
    return i;
}

/* ---- what metrics share ---- */

/* Whether operands are checked and prepared alike. */
static bool same_operands(const cbx_metric_function *a, const cbx_metric_function *b)
{
    const unsigned matters = CBX_METRIC_WEIGHTED | CBX_METRIC_SCORES | CBX_METRIC_DATA_SHAPED;
    const size_t n = cbx_metric_operands(a);

    if (a->shapes != b->shapes || (a->flags & matters) != (b->flags & matters) || n != cbx_metric_operands(b))
        return false;
    for (size_t i = 0; i < n; i++)
        if (a->operands[i].kind != b->operands[i].kind || a->operands[i].optional != b->operands[i].optional)
            return false;
    return true;
}

static bool same_parameters(const cbx__bound *a, const cbx__bound *b)
{
    const size_t n = cbx_metric_parameters(a->metric);

    if (n != cbx_metric_parameters(b->metric)) return false;
    for (size_t i = 0; i < n; i++)
        if (a->parameters[i] != b->parameters[i] ||
            strcmp(a->metric->parameters[i].name, b->metric->parameters[i].name) != 0)
            return false;
    return true;
}

/* Whether states of the two keep the same. */
static bool keep_the_same(const cbx__bound *x, const cbx__bound *y)
{
    const cbx_metric_function *a = x->metric, *b = y->metric;

    if (!same_operands(a, b) || !same_parameters(x, y) || x->function || y->function) return false;
    if (a->whole) return b->whole != NULL;
    return a->parts && a->parts == b->parts && a->merge == b->merge && a->user == b->user;
}

/* The shared state of a metric, found or made. */
static cbx_status share(cbx_ctx *ctx, cbx_metric_collection *c, const cbx_metric_member *m, size_t *out, cbx_err *err)
{
    const cbx_metric_options o = { .parameters = m->parameters, .function = m->function };
    cbx_metric_state *s = NULL;
    size_t i = 0;
    cbx_status st = cbx_metric_state_create(ctx, m->metric, &o, &s, err);

    if (st) return st;
    while (i < c->states.n && !(c->states.items[i].state && keep_the_same(&c->states.items[i].state->b, &s->b))) i++;
    if (i == c->states.n) {
        if (!cbx_list_push(&c->al, &c->states, (shared){ s, 0 })) st = cbx_fail_nomem(err, "a state of a collection");
        if (!st) s = NULL;
    }
    cbx_metric_state_free(s);
    if (st) return st;
    c->states.items[i].members++;
    *out = i;
    return CBX_OK;
}

static cbx_status check_member(const cbx_metric_collection *c, const cbx_metric_member *m, const char *label,
                               cbx_err *err)
{
    if (m->struct_size != sizeof *m) return cbx_fail(err, CBX_EINVAL, "a metric of a collection is of another version");
    if (!m->metric) return cbx_fail(err, CBX_EINVAL, "a metric of a collection is NULL");
    if (!(m->low <= m->high))
        return cbx_fail(err, CBX_EINVAL, "%s: the threshold 'low' is above 'high', or one is NaN", label);
    if (!isfinite(m->weight)) return cbx_fail(err, CBX_EINVAL, "%s: the weight must be finite", label);
    for (size_t i = 0; i < c->states.n; i++)
        if (c->states.items[i].state && cbx_metric_state_updates(c->states.items[i].state) > 0)
            return cbx_fail(err, CBX_EINVAL, "%s: is added after an update: reset the collection first", label);
    if (place_of(c, m->group, label) < c->members.n)
        return cbx_fail(err, CBX_EEXIST, "there is a metric '%s' in the collection already: give it another label",
                        label);
    return CBX_OK;
}

cbx_status cbx_metric_collection_add(cbx_ctx *ctx, cbx_metric_collection *c, const cbx_metric_member *m, cbx_err *err)
{
    const char *label = m->label || !m->metric ? m->label : m->metric->name, *group = m->group ? m->group : "";
    cbx_status st = check_member(c, m, label ? label : "?", err);
    member new = { .given = *m };

    if (st) return st;
    new.bytes = strlen(group) + strlen(label) + 2;
    if (!(new.text = cbx_mem_alloc(&c->al, new.bytes)) || !cbx_list_reserve(&c->al, &c->members, c->members.n + 1))
        st = cbx_fail_nomem(err, "a metric of a collection");
    if (!st) st = share(ctx, c, m, &new.state, err);
    if (st) {
        cbx_mem_free(&c->al, new.text, new.bytes);
        return st;
    }
    strcpy(new.text, group);
    strcpy(new.text + strlen(group) + 1, label);
    new.given.group = m->group ? new.text : NULL;
    new.given.label = new.text + strlen(group) + 1;
    new.given.function = c->states.items[new.state].state->function;
    memcpy(new.parameters, c->states.items[new.state].state->b.parameters, sizeof new.parameters);
    c->members.items[c->members.n++] = new;
    for (size_t i = 0; i < c->members.n; i++) c->members.items[i].given.parameters = c->members.items[i].parameters;
    return CBX_OK;
}

cbx_status cbx_metric_collection_remove(cbx_metric_collection *c, const char *group, const char *label, cbx_err *err)
{
    const size_t i = place_of(c, group, label);

    if (i == c->members.n) return cbx_fail(err, CBX_ENOENT, "there is no metric '%s' in the collection", label);
    drop(c, i);
    memmove(c->members.items + i, c->members.items + i + 1, (--c->members.n - i) * sizeof *c->members.items);
    for (size_t k = i; k < c->members.n; k++) c->members.items[k].given.parameters = c->members.items[k].parameters;
    return CBX_OK;
}

/* ---- updates: all states or none ---- */

typedef cbx_status change(cbx_ctx *ctx, cbx_metric_state *s, size_t i, const void *with, cbx_err *err);

static cbx_status change_all(cbx_ctx *ctx, cbx_metric_collection *c, change *f, const void *with, cbx_err *err)
{
    cbx__state_mark *before = cbx_mem_calloc(&c->al, c->states.n + 1, sizeof *before);
    cbx_status st = before ? CBX_OK : cbx_fail_nomem(err, "an update of a collection");
    size_t n = 0;

    while (!st && n < c->states.n) {
        cbx_metric_state *s = c->states.items[n].state;
        if (s) before[n] = cbx__state_remember(s);
        if (s) st = f(ctx, s, n, with, err);
        n++;
    }
    while (n-- > 0)
        if (c->states.items[n].state) cbx__state_return(st ? c->states.items[n].state : NULL, &before[n]);
    cbx_mem_free(&c->al, before, (c->states.n + 1) * sizeof *before);
    return st;
}

typedef struct arguments {
    size_t nin;
    cbx_array *const *in;
    const cbx_metric_options *options;
} arguments;

static cbx_status update(cbx_ctx *ctx, cbx_metric_state *s, size_t i, const void *with, cbx_err *err)
{
    const arguments *a = with;

    (void)i;
    return cbx_metric_state_update(ctx, s, a->nin, a->in, a->options, err);
}

cbx_status cbx_metric_collection_update(cbx_ctx *ctx, cbx_metric_collection *c, size_t nin, cbx_array *const *in,
                                        const cbx_metric_options *options, cbx_err *err)
{
    return change_all(ctx, c, update, &(arguments){ nin, in, options }, err);
}

static cbx_status merge(cbx_ctx *ctx, cbx_metric_state *s, size_t i, const void *with, cbx_err *err)
{
    const cbx_metric_collection *other = with;
    return cbx_metric_state_merge(ctx, s, other->states.items[i].state, err);
}

cbx_status cbx_metric_collection_merge(cbx_ctx *ctx, cbx_metric_collection *c, const cbx_metric_collection *other,
                                       cbx_err *err)
{
    bool same = c->states.n == other->states.n && c->members.n == other->members.n;

    for (size_t i = 0; same && i < c->members.n; i++)
        same = c->members.items[i].given.metric == other->members.items[i].given.metric &&
               c->members.items[i].state == other->members.items[i].state;
    if (!same) return cbx_fail(err, CBX_EINVAL, "a collection cannot join one of other metrics");
    return change_all(ctx, c, merge, other, err);
}

void cbx_metric_collection_reset(cbx_metric_collection *c)
{
    for (size_t i = 0; i < c->states.n; i++)
        if (c->states.items[i].state) cbx_metric_state_reset(c->states.items[i].state);
}

/* ---- results ---- */

cbx_status cbx_metric_collection_compute(cbx_ctx *ctx, const cbx_metric_collection *c, size_t i, cbx_array **out,
                                         cbx_err *err)
{
    if (i >= c->members.n)
        return cbx_fail(err, CBX_EINVAL, "a collection has %zu metrics: there is no number %zu", c->members.n, i);
    return cbx__state_compute_as(ctx, state_of(c, i), c->members.items[i].given.metric, out, err);
}

cbx_status cbx_metric_collection_value(cbx_ctx *ctx, const cbx_metric_collection *c, size_t i, double *out,
                                       cbx_err *err)
{
    cbx_array *r = NULL;
    cbx_status st = cbx_metric_collection_compute(ctx, c, i, &r, err);

    if (st) return st;
    if (cbx_array_count(r) == 1)
        *out = cbx__metric_element(r, 0);
    else
        st = cbx_fail(err, CBX_ESHAPE, "%s: the result is no single number", c->members.items[i].given.label);
    cbx_array_free(r);
    return st;
}

cbx_status cbx_metric_collection_weighted(cbx_ctx *ctx, const cbx_metric_collection *c, cbx_direction direction,
                                          double *out, cbx_err *err)
{
    double sum = 0;

    if (c->members.n == 0) return cbx_fail(err, CBX_EINVAL, "a collection without metrics has no weighted sum");
    for (size_t i = 0; i < c->members.n; i++) {
        const cbx_metric_member *m = &c->members.items[i].given;
        double v;
        cbx_status st;
        if (m->weight == 0) continue;
        if (m->metric->direction == CBX_DIRECTION_INFO || direction == CBX_DIRECTION_INFO)
            return cbx_fail(err, CBX_EINVAL, "%s: has no better direction, so that no weighted sum has it: weight it 0",
                            m->label);
        st = cbx_metric_collection_value(ctx, c, i, &v, err);
        if (st) return st;
        sum += m->metric->direction == direction ? m->weight * v : -m->weight * v;
    }
    *out = sum;
    return CBX_OK;
}

bool cbx_metric_member_passes(const cbx_metric_member *m, double value)
{
    return (isinf(m->low) && m->low < 0 && isinf(m->high) && m->high > 0) || (value >= m->low && value <= m->high);
}

cbx_status cbx_metric_collection_error(cbx_ctx *ctx, const cbx_metric_collection *c, size_t i, double *out,
                                       cbx_err *err)
{
    if (i >= c->members.n)
        return cbx_fail(err, CBX_EINVAL, "a collection has %zu metrics: there is no number %zu", c->members.n, i);
    return cbx_metric_state_error(ctx, state_of(c, i), out, err);
}

size_t cbx_metric_collection_updates(const cbx_metric_collection *c)
{
    return c->members.n ? cbx_metric_state_updates(state_of(c, 0)) : 0;
}

/* ---- classes ---- */

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

    for (size_t i = 0; i < c->nin; i++) {
        const cbx_metric_operand *operand = &c->m->operands[i];
        const bool items = c->in[i] && !operand->optional && !cbx__operand_is_shared(operand->kind);
        of[i] = items ? cbx_take(ctx, c->in[i], at, 0) : c->in[i];
    }
    o.mask = factors_at(ctx, o.mask, at, &counts);
    o.weights = factors_at(ctx, o.weights, at, &counts);
    if (counts) {
        r = cbx_metric_apply(ctx, c->m, c->nin, of, &o);
        if (!cbx_array_is_failed(r) && cbx_array_count(r) != 1)
            cbx__refuse(ctx, CBX_ESHAPE, "%s: the result is no single number for each class", c->m->name);
        *out = cbx__metric_element(r, 0);
    }
    cbx__tidy_list(ctx, mark, 0, NULL);
    return counts;
}

/* False: recorded. */
static bool check_classes(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, cbx_array *const *in,
                          const cbx_array *labels, const cbx_metric_options *options)
{
    const size_t n = cbx_array_ndim(labels) == 1 ? cbx_array_dim(labels, 0) : 0;

    if (options && options->reduction) {
        cbx__refuse(ctx, CBX_EINVAL, "%s: the value of a class is a mean", m->name);
        return false;
    }
    if (nin > CBX_METRIC_MAX_OPERANDS || nin > cbx_metric_operands(m)) {
        cbx__refuse(ctx, CBX_EINVAL, "%s takes %zu operands, not %zu", m->name, cbx_metric_operands(m), nin);
        return false;
    }
    if (cbx_dtype_kind(cbx_array_dtype(labels)) > CBX_KIND_INT) {
        cbx__refuse(ctx, CBX_EDTYPE, "%s: the labels of classes must be integers, not %s", m->name,
                    cbx_dtype_name(cbx_array_dtype(labels)));
        return false;
    }
    for (size_t i = 0; i < nin; i++) {
        if (!in[i] || m->operands[i].optional || cbx__operand_is_shared(m->operands[i].kind)) continue;
        if (n > 0 && cbx_array_ndim(in[i]) > 0 && cbx_array_dim(in[i], 0) == n) continue;
        cbx__refuse(ctx, CBX_ESHAPE, "%s: '%s' must have as many items as there are labels of classes, %zu", m->name,
                    m->operands[i].name, n);
        return false;
    }
    return true;
}

cbx_status cbx_metric_classwise(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, cbx_array *const *in,
                                const cbx_array *labels, size_t classes, const cbx_metric_options *options,
                                cbx_array **out, double *mean, cbx_err *err)
{
    const of_class c = { m, nin, in, options };
    const cbx_array *order, *sorted, *counts;
    cbx_array *r = NULL;
    double sum = 0, low, high, *v = NULL;
    ptrdiff_t at = 0;
    size_t present = 0;
    cbx_scope scope;
    cbx_status st;

    cbx_scope_open(ctx, &scope);
    if (!check_classes(ctx, m, nin, in, labels, options)) return cbx_scope_close(&scope, err);
    labels = cbx_astype(ctx, labels, CBX_I64);
    order = cbx_argsort(ctx, labels, 0, false);
    sorted = cbx_take(ctx, labels, order, 0);
    low = cbx__metric_element(sorted, 0);
    high = cbx__metric_element(sorted, cbx_array_count(labels) - 1);
    if (low < 0 || high >= (classes ? (double)classes : 0x1p31))
        cbx__refuse(ctx, CBX_EDOM, "%s: a label of a class is %.0f: it must be between 0 and %.0f", m->name,
                    low < 0 ? low : high, (classes ? (double)classes : 0x1p31) - 1);
    else if (classes == 0)
        classes = (size_t)high + 1;
    counts = cbx_bincount_size(ctx, labels, NULL, classes);
    if (!cbx_ctx_pending(ctx, NULL) && !(v = cbx_mem_calloc(cbx_ctx_allocator(ctx), classes, sizeof *v)))
        cbx__refuse(ctx, CBX_ENOMEM, "%s: no memory for %zu classes", m->name, classes);
    for (size_t k = 0; v && k < classes && !cbx_ctx_pending(ctx, NULL); k++) {
        const ptrdiff_t n = (ptrdiff_t)cbx__metric_element(counts, k);
        v[k] = NAN;
        if (n && value_of_class(ctx, &c, cbx_slice(ctx, order, 0, at, at + n, 1), &v[k])) sum += v[k], present++;
        at += n;
    }
    if (v) r = cbx_asarray(ctx, &(cbx_array_desc){ .dtype = CBX_F64, .ndim = 1, .shape = { classes } }, v);
    if (v) cbx_mem_free(cbx_ctx_allocator(ctx), v, classes * sizeof *v);
    st = cbx_scope_close_keep(&scope, r != NULL, &r, err);
    if (st) return st;
    if (mean) *mean = sum / (double)present;
    *out = r;
    return CBX_OK;
}

/* ---- series ---- */

void cbx_metric_track_init(cbx_metric_track *t, cbx_direction direction)
{
    *t = (cbx_metric_track){ .direction = direction, .current = NAN, .best = NAN, .min = NAN, .max = NAN };
}

bool cbx_metric_track_add(cbx_metric_track *t, double value)
{
    const size_t step = t->steps++;
    const bool below = value < t->min || (isnan(t->min) && !isnan(value));
    const bool above = value > t->max || (isnan(t->max) && !isnan(value));
    const bool better = t->direction == CBX_DIRECTION_HIGHER  ? above
                        : t->direction == CBX_DIRECTION_LOWER ? below
                                                              : false;

    t->current = value;
    if (below) t->min = value, t->min_step = step;
    if (above) t->max = value, t->max_step = step;
    if (better) t->best = value, t->best_step = step;
    return better;
}
