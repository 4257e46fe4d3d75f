/* Metrics together: collections of states that metrics share, series. */
#include "calibrax/metrics/compose.h"

#include <string.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/idioms.h"
#include "calibrax/metrics/stateful/state_internal.h"

/* ---- members ---- */

typedef struct member {
    cbx_metric_member given; /* its texts and parameters are those below, its function that of the state */
    double *parameters;      /* CBX_METRIC_MAX_PARAMETERS, then group and label, each with its NUL */
    size_t bytes, state;
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

    cbx_mem_free(&c->al, m->parameters, m->bytes);
    if (--s->members == 0) {
        cbx_metric_state_free(s->state);
        s->state = NULL;
    }
}

/* The first member of a state. */
static size_t first_of(const cbx_metric_collection *c, size_t state)
{
    size_t i = 0;
    while (c->members.items[i].state != state) i++;
    return i;
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
    const unsigned matters = CBX_METRIC_WEIGHTED | CBX_METRIC_SCORES | CBX_METRIC_DATA_SHAPED | CBX_METRIC_APART |
                             CBX_METRIC_OF_CLASSES;
    const size_t n = cbx_metric_operands(a);

    if (a->shapes != b->shapes || (a->flags & matters) != (b->flags & matters) || n != cbx_metric_operands(b))
        return false;
    for (size_t i = 0; i < n; i++)
        if (a->operands[i].kind != b->operands[i].kind || a->operands[i].optional != b->operands[i].optional ||
            cbx_metric_operand_items(a, i) != cbx_metric_operand_items(b, i))
            return false;
    return true;
}

/* Whether states of the two keep the same. */
static bool keep_the_same(const cbx__bound *x, const cbx__bound *y)
{
    const cbx_metric_function *a = x->metric, *b = y->metric;
    const size_t n = cbx_metric_parameters(a);

    if (!same_operands(a, b) || n != cbx_metric_parameters(b) || x->function || y->function) return false;
    for (size_t i = 0; i < n; i++)
        if (x->parameters[i] != y->parameters[i] || strcmp(a->parameters[i].name, b->parameters[i].name) != 0)
            return false;
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
        return cbx_fail(err, CBX_EINVAL, "%s: the threshold 'low', %g, must be at most 'high', %g", label, m->low,
                        m->high);
    if (!isfinite(m->weight))
        return cbx_fail(err, CBX_EINVAL, "%s: the weight must be finite, not %g", label, m->weight);
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
    const size_t numbers = CBX_METRIC_MAX_PARAMETERS * sizeof(double), length = strlen(group) + 1;
    cbx_status st = check_member(c, m, label ? label : "?", err);
    member new = { .given = *m };
    const cbx_metric_state *s;
    char *text;

    if (st) return st;
    new.bytes = numbers + length + strlen(label) + 1;
    new.parameters = cbx_mem_alloc(&c->al, new.bytes);
    if (!new.parameters || !cbx_list_reserve(&c->al, &c->members, c->members.n + 1))
        st = cbx_fail_nomem(err, "a metric of a collection");
    if (!st) st = share(ctx, c, m, &new.state, err);
    if (st) {
        cbx_mem_free(&c->al, new.parameters, new.bytes);
        return st;
    }
    s = c->states.items[new.state].state;
    text = (char *)new.parameters + numbers;
    new.given.group = m->group ? strcpy(text, group) : NULL;
    new.given.label = strcpy(text + length, label);
    new.given.function = s->function;
    new.given.parameters = memcpy(new.parameters, s->b.parameters, numbers);
    c->members.items[c->members.n++] = new;
    return CBX_OK;
}

cbx_status cbx_metric_collection_remove(cbx_metric_collection *c, const char *group, const char *label, cbx_err *err)
{
    const size_t i = place_of(c, group, label);

    if (i == c->members.n) return cbx_fail(err, CBX_ENOENT, "there is no metric '%s' in the collection", label);
    drop(c, i);
    const size_t state = c->members.items[i].state;
    memmove(c->members.items + i, c->members.items + i + 1, (--c->members.n - i) * sizeof *c->members.items);
    if (c->states.items[state].state) /* it is that of a metric that is still there */
        c->states.items[state].state->b.metric = c->members.items[first_of(c, state)].given.metric;
    return CBX_OK;
}

/* ---- updates: all states or none ---- */

/* Adds a batch, or, if other is not NULL, what that has seen. */
static cbx_status change_all(cbx_ctx *ctx, cbx_metric_collection *c, size_t nin, cbx_array *const *in,
                             const cbx_metric_options *options, const cbx_metric_collection *other, cbx_err *err)
{
    CBX_SCOPED(cbx_arena, arena, &c->al);
    cbx__state_mark *before = cbx_arena_calloc(&arena, c->states.n, sizeof *before);
    cbx_status st = before ? CBX_OK : cbx_fail_nomem(err, "an update of a collection");
    size_t n = 0;

    for (; !st && n < c->states.n; n++) {
        cbx_metric_state *s = c->states.items[n].state;
        if (!s) continue;
        before[n] = cbx__state_remember(s);
        st = other ? cbx_metric_state_merge(ctx, s, state_of(other, first_of(c, n)), err)
                   : cbx_metric_state_update(ctx, s, nin, in, options, err);
    }
    while (n-- > 0)
        if (c->states.items[n].state) cbx__state_return(st ? c->states.items[n].state : NULL, &before[n]);
    return st;
}

cbx_status cbx_metric_collection_update(cbx_ctx *ctx, cbx_metric_collection *c, size_t nin, cbx_array *const *in,
                                        const cbx_metric_options *options, cbx_err *err)
{
    return change_all(ctx, c, nin, in, options, NULL, err);
}

/* Whether two members keep and compute the same. */
static cbx_status check_same(const member *a, const member *b, cbx_err *err)
{
    const cbx_metric_function *m = a->given.metric, *of = b->given.metric;

    if (strcmp(m->name, of->name) != 0)
        return cbx_fail(err, CBX_EINVAL, "a collection cannot join one of other metrics");
    if (m != of)
        return cbx_fail(err, CBX_EINVAL,
                        "%s was registered again: collections of the old and the new code cannot be joined", m->name);
    if (memcmp(a->parameters, b->parameters, CBX_METRIC_MAX_PARAMETERS * sizeof(double)) != 0)
        return cbx_fail(err, CBX_EINVAL, "%s: a collection cannot join one with other parameters", a->given.label);
    return CBX_OK;
}

cbx_status cbx_metric_collection_merge(cbx_ctx *ctx, cbx_metric_collection *c, const cbx_metric_collection *other,
                                       cbx_err *err)
{
    cbx_status st = CBX_OK;

    if (c->members.n != other->members.n)
        return cbx_fail(err, CBX_EINVAL, "a collection cannot join one of other metrics");
    for (size_t i = 0; !st && i < c->members.n; i++)
        st = check_same(&c->members.items[i], &other->members.items[i], err);
    if (st) return st;
    return change_all(ctx, c, 0, NULL, NULL, other, err);
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
        st = cbx_fail(err, CBX_ESHAPE, "%s: the result must be one number, it has %zu", c->members.items[i].given.label,
                      cbx_array_count(r));
    cbx_array_free(r);
    return st;
}

/* values: of all members; NULL: they are computed. */
static cbx_status weighted_sum(cbx_ctx *ctx, const cbx_metric_collection *c, const double *values,
                               cbx_direction direction, double *out, cbx_err *err)
{
    double sum = 0;

    if (c->members.n == 0) return cbx_fail(err, CBX_EINVAL, "a collection without metrics has no weighted sum");
    for (size_t i = 0; i < c->members.n; i++) {
        const cbx_metric_member *m = &c->members.items[i].given;
        double v = values ? values[i] : 0;
        cbx_status st = CBX_OK;
        if (m->weight == 0) continue;
        if (m->metric->direction == CBX_DIRECTION_INFO || direction == CBX_DIRECTION_INFO)
            return cbx_fail(err, CBX_EINVAL, "%s: has no better direction, so that no weighted sum has it: weight it 0",
                            m->label);
        if (!values) st = cbx_metric_collection_value(ctx, c, i, &v, err);
        if (st) return st;
        sum += m->metric->direction == direction ? m->weight * v : -m->weight * v;
    }
    *out = sum;
    return CBX_OK;
}

cbx_status cbx_metric_collection_weighted(cbx_ctx *ctx, const cbx_metric_collection *c, cbx_direction direction,
                                          double *out, cbx_err *err)
{
    return weighted_sum(ctx, c, NULL, direction, out, err);
}

cbx_status cbx_metric_collection_weigh(const cbx_metric_collection *c, const double *values, cbx_direction direction,
                                       double *out, cbx_err *err)
{
    return weighted_sum(NULL, c, values, direction, out, err);
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

/*
 * ---- bytes: "cbxmetc2", the names of the metrics and the parameters of all as texts, then the
 * bytes of each state, in the order of their first members; a text and bytes come with their length
 * before them, a little-endian number of 64 bits ----
 */

static const char magic[8] = { 'c', 'b', 'x', 'm', 'e', 't', 'c', '2' };

static void put_names(const cbx_metric_collection *c, cbx_text *out)
{
    for (size_t i = 0; i < c->members.n; i++)
        cbx_text_printf(out, "%s%s", i ? "," : "", c->members.items[i].given.metric->name);
}

/* Of all members: those that share a state may be others than in another collection. */
static void put_parameters(const cbx_metric_collection *c, cbx_text *out)
{
    for (size_t i = 0; i < c->members.n; i++) {
        const member *m = &c->members.items[i];
        for (size_t k = 0; k < cbx_metric_parameters(m->given.metric); k++)
            cbx_text_printf(out, "%s ", CBX__TEXT_NUMBER(m->parameters[k]));
        cbx_text_putc(out, ';');
    }
}

cbx_status cbx_metric_collection_pack(cbx_ctx *ctx, const cbx_metric_collection *c, cbx_text *out, cbx_err *err)
{
    CBX_SCOPED(cbx_text, piece, cbx_ctx_allocator(ctx));
    cbx_status st = CBX_OK;

    put_names(c, &piece);
    cbx_text_add(out, magic, sizeof magic);
    cbx__put_bytes(out, cbx_text_str(&piece), piece.len);
    cbx_text_reset(&piece);
    put_parameters(c, &piece);
    cbx__put_bytes(out, cbx_text_str(&piece), piece.len);
    for (size_t i = 0; i < c->members.n && !st; i++) {
        if (first_of(c, c->members.items[i].state) != i) continue;
        cbx_text_reset(&piece);
        st = cbx_metric_state_pack(ctx, state_of(c, i), &piece, err);
        if (!st) cbx__put_bytes(out, cbx_text_str(&piece), piece.len);
    }
    if (!st) st = cbx_text_check(&piece, err);
    return st ? st : cbx_text_check(out, err);
}

/* Whether the next bytes are a text, which is then empty.  False: also after a failure. */
static bool get_same(cbx__reader *r, cbx_text *own)
{
    size_t n;
    const void *bytes = cbx__get_bytes(r, &n);
    const bool same = own->len == n && memcmp(cbx_text_str(own), bytes, n) == 0;

    if (!r->status) r->status = cbx_text_check(own, r->err);
    if (same) cbx_text_reset(own);
    return !r->status && same;
}

/* Whether bytes are of a collection with the same metrics and parameters; the states follow. */
static cbx_status check_members(cbx_ctx *ctx, const cbx_metric_collection *c, cbx__reader *r)
{
    CBX_SCOPED(cbx_text, own, cbx_ctx_allocator(ctx));

    if (r->left < sizeof magic || memcmp(r->at, magic, sizeof magic - 1) != 0)
        return cbx_fail(r->err, CBX_EFORMAT, "these bytes are not a collection of metrics");
    if (r->at[sizeof magic - 1] != (unsigned char)magic[sizeof magic - 1])
        return cbx_fail(r->err, CBX_EVERSION,
                        "these bytes are a collection of metrics in another version of the format: make it again");
    r->at += sizeof magic;
    r->left -= sizeof magic;
    put_names(c, &own);
    if (!get_same(r, &own) && !r->status)
        return cbx_fail(r->err, CBX_EINVAL, "these bytes are a collection of other metrics than %.200s",
                        cbx_text_str(&own));
    put_parameters(c, &own);
    if (!get_same(r, &own) && !r->status)
        return cbx_fail(r->err, CBX_EINVAL, "these bytes are a collection of these metrics with other parameters");
    return r->status;
}

cbx_status cbx_metric_collection_unpack(cbx_ctx *ctx, cbx_metric_collection *c, const void *bytes, size_t size,
                                        cbx_err *err)
{
    cbx__reader r = { bytes, size, "a collection of metrics", err, CBX_OK };
    CBX_SCOPED(cbx_arena, arena, &c->al);
    cbx_metric_state **read = cbx_arena_calloc(&arena, c->states.n, sizeof *read);
    cbx_status st = check_members(ctx, c, &r);

    if (st) return st;
    if (!read) return cbx_fail_nomem(err, "a collection of metrics");
    for (size_t i = 0; i < c->members.n && !st; i++) {
        const size_t k = c->members.items[i].state;
        const cbx_metric_state *s = c->states.items[k].state;
        const void *piece;
        size_t n;
        if (first_of(c, k) != i) continue;
        piece = cbx__get_bytes(&r, &n);
        st = r.status;
        if (!st) st = cbx_metric_state_unpack(ctx, s->b.metric, piece, n, s->function, &read[k], err);
        if (!st && memcmp(read[k]->b.parameters, s->b.parameters, sizeof s->b.parameters) != 0)
            st = cbx_fail(err, CBX_EINVAL, "%s: these bytes are a state with other parameters", s->b.metric->name);
    }
    if (!st && r.left) st = cbx_fail(err, CBX_EFORMAT, "%zu bytes follow a collection of metrics", r.left);
    for (size_t k = 0; k < c->states.n; k++) {
        cbx_metric_state *unused = st ? read[k] : c->states.items[k].state;
        if (!st) c->states.items[k].state = read[k];
        cbx_metric_state_free(unused);
    }
    return st;
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
