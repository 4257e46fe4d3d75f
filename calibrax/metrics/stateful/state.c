/* Stateful metrics: sums, joined parts, or all operands of a metric function over batches. */
#include "calibrax/metrics/stateful/state_internal.h"

#include <string.h>

#include "calibrax/array/scope_internal.h"
#include "calibrax/base/arena.h"
#include "calibrax/base/idioms.h"

/* What code gets that makes results of states: no operands. */
static cbx_metric_call call_of(const cbx_metric_state *s)
{
    return (cbx_metric_call){ .metric = s->b.metric, .parameters = s->b.parameters, .function = s->b.function };
}

cbx_status cbx_metric_state_create(cbx_ctx *ctx, const cbx_metric_function *m, const cbx_metric_options *options,
                                   cbx_metric_state **out, cbx_err *err)
{
    cbx__bound b;
    cbx_metric_state *s;
    cbx_status st = m ? cbx__metric_bind(m, cbx_metric_operands(m), options, &b, err)
                      : cbx_fail(err, CBX_EINVAL, "the metric is NULL");

    if (!st && (b.has_mask || b.has_weights || b.has_axes || b.reduction))
        st = cbx_fail(err, CBX_EINVAL, "%s: a state takes parameters; masks and weights belong to its updates",
                      m->name);
    if (st) return st;
    s = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *s);
    if (!s) return cbx_fail_nomem(err, "a stateful metric");
    s->al = *cbx_ctx_allocator(ctx);
    s->b = b;
    memcpy(s->resolved, b.parameters, sizeof s->resolved);
    if (b.function) {
        st = cbx_fn_keep(ctx, b.function, &s->function, err);
        s->b.function = s->function;
        s->mapped = m->flags & CBX_METRIC_FEATURES;
    }
    return CBX_FINISH(st, *out = s, cbx_metric_state_free(s));
}

static void batch_free(cbx__batch *b)
{
    for (size_t i = 0; i < CBX_LEN(b->in); i++) cbx_array_free(b->in[i]);
}

void cbx_metric_state_reset(cbx_metric_state *s)
{
    for (size_t i = 0; i < s->batches.n; i++) batch_free(&s->batches.items[i]);
    s->batches.n = 0;
    cbx_array_free(s->sum);
    cbx_array_free(s->rest);
    s->sum = s->rest = NULL;
    memcpy(s->resolved, s->b.parameters, sizeof s->resolved);
    s->updates = 0;
}

void cbx_metric_state_free(cbx_metric_state *s)
{
    if (!s) return;
    cbx_metric_state_reset(s);
    cbx_list_clear(&s->al, &s->batches);
    cbx_fn_free(s->function);
    cbx_allocator al = s->al;
    cbx_mem_free(&al, s, sizeof *s);
}

size_t cbx_metric_state_updates(const cbx_metric_state *s) { return s->updates; }
const double *cbx_metric_state_parameters(const cbx_metric_state *s) { return s->b.parameters; }

/* ---- sums and parts ---- */

/* Neumaier: what the larger of two summands loses of the smaller one. */
static cbx_array *lost(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b, const cbx_array *sum)
{
    const cbx_array *first = cbx_greater_equal(ctx, cbx_abs(ctx, a), cbx_abs(ctx, b));
    const cbx_array *large = cbx_where(ctx, first, a, b), *small = cbx_where(ctx, first, b, a);
    const cbx_array *error = cbx_add(ctx, cbx_subtract(ctx, large, sum), small);

    return cbx_where(ctx, cbx_isfinite(ctx, sum), error, cbx__number(ctx, 0));
}

/*
 * Whether parts can be added: of one shape, or, of metrics whose number of classes comes from the
 * labels, with axes of one length that have another one.
 */
static bool can_add(cbx_ctx *ctx, const cbx_metric_function *m, const cbx_array *a, const cbx_array *b)
{
    bool fine = cbx_array_ndim(a) == cbx_array_ndim(b);
    size_t from = 0, to = 0;

    for (int k = 0; fine && k < cbx_array_ndim(a); k++) {
        const size_t na = cbx_array_dim(a, k), nb = cbx_array_dim(b, k);
        if (na == nb) continue;
        fine = cbx__counting_parameter(m) < cbx_metric_parameters(m) && (from == 0 || (na == from && nb == to));
        from = na;
        to = nb;
    }
    if (fine) return true;
    return cbx__refused(ctx, CBX_ESHAPE, "%s: parts of the shape %s cannot be added to parts of the shape %s", m->name,
                        CBX__TEXT_OF(b), CBX__TEXT_OF(a));
}

/*
 * x with zeros behind its elements, up to the shape of another array: counts of classes that it has
 * not seen.
 */
static const cbx_array *padded(cbx_ctx *ctx, const cbx_array *x, const cbx_array *to)
{
    size_t before[CBX_MAX_RANK] = { 0 }, after[CBX_MAX_RANK] = { 0 };
    bool same = true;

    for (int k = 0; k < cbx_array_ndim(x); k++)
        if (cbx_array_dim(to, k) > cbx_array_dim(x, k)) {
            after[k] = cbx_array_dim(to, k) - cbx_array_dim(x, k);
            same = false;
        }
    return same ? x : cbx_pad(ctx, x, before, after, cbx_float(0));
}

/* What rounding lost of parts that were not added yet: one number where it is never more. */
static cbx_array *nothing_lost(cbx_ctx *ctx, const cbx_metric_state *s, const cbx_array *parts)
{
    return s->b.metric->merge ? cbx__number(ctx, 0) : cbx_zeros_like(ctx, parts);
}

/* Parts are joined by the metric's merge, or added. */
static void join(cbx_ctx *ctx, const cbx_metric_state *s, const cbx_array *sum, const cbx_array *rest, cbx_array **out)
{
    const cbx_metric_call call = call_of(s);
    const cbx_array *a = s->sum, *lost_of_a = s->rest;

    if (s->b.metric->merge) {
        out[0] = s->b.metric->merge(ctx, &call, a, sum);
        out[1] = nothing_lost(ctx, s, out[0]);
        return;
    }
    if (cbx_array_is_failed(sum) || !can_add(ctx, s->b.metric, a, sum)) {
        out[0] = out[1] = cbx__array_failed();
        return;
    }
    a = padded(ctx, a, sum);
    lost_of_a = padded(ctx, lost_of_a, sum);
    sum = padded(ctx, sum, a);
    rest = padded(ctx, rest, a);
    out[0] = cbx_add(ctx, a, sum);
    out[1] = cbx_add(ctx, cbx_add(ctx, lost_of_a, rest), lost(ctx, a, sum, out[0]));
}

/* Adds parts to the state: all or nothing.  The scope is open, and closed here. */
static cbx_status add_parts(cbx_ctx *ctx, cbx_metric_state *s, cbx_scope *scope, const cbx_array *sum,
                            const cbx_array *rest, cbx_err *err)
{
    cbx_array *joined[2];
    cbx_status st;

    if (s->sum)
        join(ctx, s, sum, rest, joined);
    else
        joined[0] = cbx_copy(ctx, sum), joined[1] = cbx_copy(ctx, rest);
    st = cbx_scope_close_keep(scope, 2, joined, err);
    if (st) return st;
    cbx_array_free(s->sum);
    cbx_array_free(s->rest);
    s->sum = joined[0];
    s->rest = joined[1];
    return CBX_OK;
}

/* ---- all operands ---- */

/* Keeps copies of the arrays of a batch.  The scope is open, and closed here. */
static cbx_status keep_batch(cbx_ctx *ctx, cbx_metric_state *s, cbx_scope *scope, const cbx__batch *batch, cbx_err *err)
{
    cbx_array *copies[CBX_LEN(batch->in)];
    size_t n = 0, at[CBX_LEN(batch->in)];
    cbx__batch b = { { NULL } };
    cbx_status st;

    for (size_t i = 0; i < CBX_LEN(b.in); i++) {
        if (!batch->in[i]) continue;
        at[n] = i;
        copies[n++] = cbx_copy(ctx, batch->in[i]);
    }
    st = cbx_scope_close_keep(scope, n, copies, err);
    if (st) return st;
    for (size_t k = 0; k < n; k++) b.in[at[k]] = copies[k];
    if (cbx_list_push(&s->al, &s->batches, b)) return CBX_OK;
    batch_free(&b);
    return cbx_fail_nomem(err, "a batch of a stateful metric");
}

/* Of each operand and of the weights the first array that a state keeps. */
static cbx__batch first_arrays(const cbx_metric_state *s)
{
    cbx__batch first = { { NULL } };

    for (size_t i = 0; i < CBX_LEN(first.in); i++)
        for (size_t k = 0; k < s->batches.n && !first.in[i]; k++) first.in[i] = s->batches.items[k].in[i];
    return first;
}

/*
 * Whether operand i of a batch goes together with that of those before it: what is the same for all
 * items, what is of pairs of items, rows of one shape.
 */
static bool operand_joins(cbx_ctx *ctx, const cbx_metric_function *m, size_t i, const cbx_array *a, const cbx_array *b)
{
    const bool apart = m->flags & CBX_METRIC_APART;
    const cbx_operand_items items = cbx_metric_operand_items(m, i);
    const char *name = m->operands[i].name;
    bool fits = a && b && cbx_array_ndim(a) > 0 && cbx_array_ndim(a) == cbx_array_ndim(b);

    for (int k = 1; fits && k < cbx_array_ndim(a); k++) fits = cbx_array_dim(a, k) == cbx_array_dim(b, k);
    if (!a != !b && !apart)
        return cbx__refused(ctx, CBX_EINVAL, "%s: some batches have '%s', others do not", m->name, name);
    if (!a || !b) return true;
    if (items == CBX_ITEMS_NONE && !apart)
        return !cbx__differ(ctx, a, b) ||
               cbx__refused(ctx, CBX_EINVAL, "%s: '%s' must be the same in all batches", m->name, name);
    if (items == CBX_ITEMS_PAIRS)
        return cbx__refused(ctx, CBX_EINVAL, "%s: '%s' is of pairs of items: a state with it holds one batch", m->name,
                            name);
    return fits || cbx__refused(ctx, CBX_ESHAPE, "%s: '%s' of %s cannot follow batches of %s along the first axis",
                                m->name, name, CBX__TEXT_OF(b), CBX__TEXT_OF(a));
}

/* Whether a batch can be joined with those of a state, of which it has the first arrays.  False:
 * recorded. */
static bool can_join(cbx_ctx *ctx, const cbx_metric_state *s, const cbx__batch *batch)
{
    const cbx_metric_function *m = s->b.metric;
    cbx__batch all = first_arrays(s);

    if (s->batches.n == 0) return true;
    for (size_t i = 0; i < cbx_metric_operands(m); i++) {
        if (!operand_joins(ctx, m, i, all.in[i], batch->in[i])) return false;
        if (!all.in[i]) all.in[i] = batch->in[i];
    }
    return !(m->flags & CBX_METRIC_APART) || cbx__metric_check_shapes(ctx, m, cbx_metric_operands(m), all.in);
}

/*
 * Operand i of all batches, joined along the first axis; NULL where none has it.  Batches without
 * weights count as 1 each.
 */
static cbx_array *joined(cbx_ctx *ctx, const cbx_metric_state *s, size_t i, const cbx_array **list)
{
    const bool weights = i == CBX_METRIC_MAX_OPERANDS, apart = s->b.metric->flags & CBX_METRIC_APART;
    cbx_array *first = first_arrays(s).in[i];
    size_t used = 0;

    if (!first) return NULL;
    if (!weights && !apart && cbx_metric_operand_items(s->b.metric, i) == CBX_ITEMS_NONE) return first;
    for (size_t k = 0; k < s->batches.n; k++) {
        const cbx__batch *b = &s->batches.items[k];
        cbx_array_desc d = *cbx_array_get_desc(first);
        if (b->in[i]) {
            list[used++] = b->in[i];
        } else if (weights) {
            if (d.ndim) d.shape[0] = cbx_array_dim(b->in[0], 0);
            list[used++] = cbx_ones(ctx, d.ndim, d.shape, CBX_F64);
        }
    }
    return used == 1 ? first : cbx_concat(ctx, used, list, 0);
}

static cbx_array *compute_all(cbx_ctx *ctx, const cbx_metric_state *s, const cbx_metric_function *m)
{
    cbx__prepared p = { .call = call_of(s) };
    CBX_SCOPED(cbx_arena, arena, &s->al);
    const cbx_array **list = cbx_arena_calloc(&arena, s->batches.n, sizeof *list);

    if (!list) return cbx__refuse(ctx, CBX_ENOMEM, "no memory for the batches of '%s'", m->name);
    for (size_t i = 0; i < CBX_METRIC_MAX_OPERANDS; i++) p.in[i] = joined(ctx, s, i, list);
    p.call.metric = m;
    p.call.in = p.in;
    p.call.parameters = s->resolved;
    p.call.weights = joined(ctx, s, CBX_METRIC_MAX_OPERANDS, list);
    return m->whole(ctx, &p.call);
}

/* ---- the protocol ---- */

/*
 * Whether a state of so many batches can be computed: those of metrics that need all data are
 * joined along the first axis.
 */
static cbx_status check_batches(const cbx_metric_state *s, size_t n, cbx_err *err)
{
    if (n <= 1 || !cbx__state_keeps_all(s) || cbx__metric_has_items(s->b.metric)) return CBX_OK;
    return cbx_fail(err, CBX_EINVAL, "%s: is not a metric of items, so that its state holds one batch",
                    s->b.metric->name);
}

/* What is the same for all batches is not an option of one. */
static cbx_status check_options(const cbx_metric_state *s, const cbx_metric_options *o, cbx_err *err)
{
    const cbx_metric_function *m = s->b.metric;

    if (o->axes || o->reduction)
        return cbx_fail(err, CBX_EINVAL, "%s: a state is of all items: an update takes no %s", m->name,
                        o->axes ? "axes" : "reduction");
    for (size_t i = 0; o->parameters && i < cbx_metric_parameters(m); i++)
        if (!isnan(o->parameters[i]) && o->parameters[i] != s->b.parameters[i])
            return cbx_fail(err, CBX_EINVAL, "%s: '%s' belongs to the whole state: give it when that is created",
                            m->name, m->parameters[i].name);
    return CBX_OK;
}

cbx_status cbx_metric_state_update(cbx_ctx *ctx, cbx_metric_state *s, size_t nin, cbx_array *const *in,
                                   const cbx_metric_options *options, cbx_err *err)
{
    cbx_metric_options o = { .parameters = s->b.parameters, .function = s->b.function };
    cbx__batch batch;
    cbx_array *parts;
    cbx__prepared p;
    cbx__checked c;
    cbx_scope scope;
    cbx_status st;

    if (options) {
        st = check_options(s, options, err);
        if (st) return st;
        o.mask = options->mask;
        o.weights = options->weights;
    }
    if (options && options->function) o.function = options->function;
    if (s->lost && !o.function)
        return cbx_fail(err, CBX_EINVAL,
                        "%s: a function made the features of this state, and bytes hold none: give it again with the "
                        "bytes (from Python: State.from_bytes(data, features=f))",
                        s->b.metric->name);
    cbx_scope_open(ctx, &scope);
    if (!cbx__metric_check(ctx, s->b.metric, nin, in, &o, &c)) return cbx_scope_close(&scope, err);
    if (!c.data) {
        st = cbx_fail(err, CBX_EUNSUPPORTED,
                      "%s: a state takes arrays with data: update it outside of traced functions", s->b.metric->name);
        return cbx_scope_close(&scope, NULL), st;
    }
    if (c.nothing) { /* a batch of which nothing counts */
        s->updates++;
        return cbx_scope_close(&scope, err);
    }
    if ((st = check_batches(s, s->batches.n + 1, err))) return cbx_scope_close(&scope, NULL), st;
    if (cbx__state_keeps_all(s)) {
        cbx__metric_prepare(ctx, &c.bound, c.all, &p);
        memcpy(batch.in, p.in, sizeof p.in);
        batch.in[CBX_METRIC_MAX_OPERANDS] = (cbx_array *)p.call.weights;
        if (cbx_ctx_pending(ctx, NULL) || !can_join(ctx, s, &batch)) return cbx_scope_close(&scope, err);
        st = keep_batch(ctx, s, &scope, &batch, err);
    } else {
        c.bound.partial = true;
        parts = c.data ? cbx__metric_compiled(ctx, &c.bound, c.n, c.all) : NULL;
        if (!parts) parts = cbx__metric_evaluate(ctx, &c.bound, c.all);
        st = add_parts(ctx, s, &scope, parts, nothing_lost(ctx, s, parts), err);
    }
    if (!st) {
        s->updates++;
        s->mapped |= o.function && s->b.metric->flags & CBX_METRIC_FEATURES;
        for (size_t i = 0; i < CBX_METRIC_MAX_PARAMETERS; i++)
            s->resolved[i] = fmax(s->resolved[i], c.bound.parameters[i]);
    }
    return st;
}

cbx_status cbx_metric_state_merge(cbx_ctx *ctx, cbx_metric_state *s, const cbx_metric_state *other, cbx_err *err)
{
    const cbx_metric_function *m = s->b.metric, *of = other->b.metric;
    cbx_status st = CBX_OK;
    cbx_scope scope;

    if (m != of && strcmp(m->name, of->name) == 0)
        return cbx_fail(err, CBX_EINVAL, "%s was registered again: states of the old and the new code cannot be joined",
                        m->name);
    if (m != of || memcmp(s->b.parameters, other->b.parameters, sizeof s->b.parameters) != 0)
        return cbx_fail(err, CBX_EINVAL, "%s cannot join a state of %s%s", m->name, of->name,
                        m == of ? " with other parameters" : "");
    st = check_batches(s, s->batches.n + other->batches.n, err);
    if (st) return st;
    if (cbx__state_keeps_all(s)) {
        const size_t had = s->batches.n, n = other->batches.n;
        const cbx__batch first = first_arrays(other);
        cbx_scope_open(ctx, &scope);
        if (n) can_join(ctx, s, &first);
        if ((st = cbx_scope_close(&scope, err))) return st;
        if (!cbx_list_reserve(&s->al, &s->batches, had + n)) return cbx_fail_nomem(err, "the joined batches");
        for (size_t i = 0; i < n; i++) {
            cbx__batch *b = &s->batches.items[s->batches.n++];
            for (size_t k = 0; k < CBX_LEN(b->in); k++) b->in[k] = cbx_array_ref(other->batches.items[i].in[k]);
        }
    } else if (other->sum) {
        cbx_scope_open(ctx, &scope);
        st = add_parts(ctx, s, &scope, other->sum, other->rest, err);
    }
    if (st) return st;
    s->updates += other->updates;
    for (size_t i = 0; i < CBX_METRIC_MAX_PARAMETERS; i++) s->resolved[i] = fmax(s->resolved[i], other->resolved[i]);
    return st;
}

cbx_status cbx__state_compute_as(cbx_ctx *ctx, const cbx_metric_state *s, const cbx_metric_function *m, cbx_array **out,
                                 cbx_err *err)
{
    cbx_metric_call call = call_of(s);
    cbx_array *r;
    cbx_scope scope;
    cbx_status st;

    call.metric = m;
    if (s->updates == 0) return cbx_fail(err, CBX_EINVAL, "%s: nothing was added yet", m->name);
    if (!s->sum && !s->batches.n) return cbx_fail(err, CBX_EINVAL, "%s: nothing that was added counts", m->name);
    cbx_scope_open(ctx, &scope);
    r = cbx__state_keeps_all(s) ? compute_all(ctx, s, m)
                                : cbx__metric_finished(ctx, &call, cbx_add(ctx, s->sum, s->rest));
    r = cbx_copy(ctx, r);
    st = cbx_scope_close_keep(&scope, 1, &r, err);
    if (!st) *out = r;
    return st;
}

cbx_status cbx_metric_state_compute(cbx_ctx *ctx, const cbx_metric_state *s, cbx_array **out, cbx_err *err)
{
    return cbx__state_compute_as(ctx, s, s->b.metric, out, err);
}

cbx_status cbx_metric_state_error(cbx_ctx *ctx, const cbx_metric_state *s, double *out, cbx_err *err)
{
    const cbx_metric_call call = call_of(s);
    cbx_scope scope;
    cbx_status st;
    double v = 0;

    if (s->b.metric->error && s->sum) {
        cbx_scope_open(ctx, &scope);
        v = cbx__metric_element(s->b.metric->error(ctx, &call, s->sum), 0);
        st = cbx_scope_close(&scope, err);
        if (st) return st;
    }
    *out = v;
    return CBX_OK;
}

cbx__state_mark cbx__state_remember(const cbx_metric_state *s)
{
    cbx__state_mark mark = {
        .sum = cbx_array_ref(s->sum), .rest = cbx_array_ref(s->rest), .batches = s->batches.n, .updates = s->updates
    };

    memcpy(mark.resolved, s->resolved, sizeof mark.resolved);
    return mark;
}

void cbx__state_return(cbx_metric_state *s, cbx__state_mark *mark)
{
    if (s) {
        while (s->batches.n > mark->batches) batch_free(&s->batches.items[--s->batches.n]);
        cbx_array_free(s->sum);
        cbx_array_free(s->rest);
        s->sum = mark->sum;
        s->rest = mark->rest;
        s->updates = mark->updates;
        memcpy(s->resolved, mark->resolved, sizeof s->resolved);
    } else {
        cbx_array_free(mark->sum);
        cbx_array_free(mark->rest);
    }
}
