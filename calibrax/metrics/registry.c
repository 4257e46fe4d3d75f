/* Metric functions by name: the built-in tables, then what the context registered. */
#include <stdio.h>
#include <string.h>

#include "calibrax/base/list.h"
#include "calibrax/base/text.h"
#include "calibrax/metrics/compose.h"
#include "calibrax/metrics/internal.h"

static const cbx__metric_table *const tables[] = {
#define TABLE(domain) &cbx__metrics_##domain,
    CBX__METRIC_DOMAINS(TABLE)
#undef TABLE
};
enum { TABLES = sizeof tables / sizeof *tables };

/* What a context registered. */
typedef CBX_LIST(const cbx_metric_function *) registered;

static void registered_clear(void *state, const cbx_allocator *al)
{
    registered *r = state;
    cbx_list_clear(al, r);
}

/* NULL without memory. */
static registered *registered_of(cbx_ctx *ctx) { return cbx__state_of(ctx, sizeof(registered), registered_clear); }

size_t cbx_metric_count(cbx_ctx *ctx)
{
    const registered *r = registered_of(ctx);
    size_t n = r ? r->n : 0;

    for (size_t t = 0; t < TABLES; t++) n += tables[t]->count;
    return n;
}

const cbx_metric_function *cbx_metric_at(cbx_ctx *ctx, size_t i)
{
    const registered *r = registered_of(ctx);

    for (size_t t = 0; t < TABLES; i -= tables[t++]->count)
        if (i < tables[t]->count) return &tables[t]->rows[i];
    return r && i < r->n ? r->items[i] : NULL;
}

/* NULL: there is no such metric. */
static const cbx_metric_function *by_name(cbx_ctx *ctx, const char *name)
{
    const cbx_metric_function *m;

    for (size_t i = 0; (m = cbx_metric_at(ctx, i)); i++)
        if (strcmp(m->name, name) == 0) return m;
    return NULL;
}

cbx_status cbx_metric_find(cbx_ctx *ctx, const char *name, const cbx_metric_function **out, cbx_err *err)
{
    CBX_LIST(const char *) names = { 0 };
    const cbx_metric_function *m;
    const char *near = NULL;

    if (!name) return cbx_fail(err, CBX_EINVAL, "the name of a metric is NULL");
    m = by_name(ctx, name);
    if (m) {
        *out = m;
        return CBX_OK;
    }
    for (size_t i = 0; (m = cbx_metric_at(ctx, i)); i++)
        if (!cbx_list_push(cbx_ctx_allocator(ctx), &names, m->name)) break;
    near = cbx_nearest_word(name, names.items, names.n);
    cbx_list_clear(cbx_ctx_allocator(ctx), &names);
    return cbx_fail(err, CBX_ENOENT, near ? "there is no metric '%s': did you mean '%s'?" : "there is no metric '%s'",
                    name, near);
}

const cbx_metric_function *cbx_metric_next(cbx_ctx *ctx, const cbx_metric_selection *s, size_t *at)
{
    const cbx_metric_function *m;

    while ((m = cbx_metric_at(ctx, (*at)++)) && s) {
        if ((!s->domain || strcmp(m->domain, s->domain) == 0) &&
            (s->direction < 0 || (int)m->direction == s->direction) && (s->tier < 0 || (int)m->tier == s->tier) &&
            (m->axioms & s->axioms) == s->axioms && (m->invariances & s->invariances) == s->invariances &&
            (m->flags & s->flags) == s->flags)
            break;
    }
    return m;
}

/* Functions for the words of numbers. */
#define WORD(name, number, word, ...)                                                                                  \
    case number:                                                                                                       \
        return word;
#define WORDS(function, type, MAP)                                                                                     \
    const char *function(type number)                                                                                  \
    {                                                                                                                  \
        switch (number) {                                                                                              \
            MAP(WORD)                                                                                                  \
        default: return "?";                                                                                           \
        }                                                                                                              \
    }
WORDS(cbx_metric_axiom_name, unsigned, CBX_METRIC_AXIOM_MAP)
WORDS(cbx_metric_invariance_name, unsigned, CBX_METRIC_INVARIANCE_MAP)
WORDS(cbx_metric_tier_name, cbx_metric_tier, CBX_METRIC_TIER_MAP)
WORDS(cbx_operand_items_name, cbx_operand_items, CBX_OPERAND_ITEMS_MAP)
#undef WORDS
#undef WORD

static bool is_identifier(const char *s)
{
    if (!s || !*s || strspn(s, "0123456789") > 0) return false;
    return s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")] == '\0';
}

/* The name of an operand or parameter that another one has, too; NULL: none. */
static const char *name_twice(const cbx_metric_function *m)
{
    const char *names[CBX_METRIC_MAX_OPERANDS + CBX_METRIC_MAX_PARAMETERS];
    size_t n = 0;

    for (size_t i = 0; i < cbx_metric_operands(m); i++) names[n++] = m->operands[i].name;
    for (size_t i = 0; i < cbx_metric_parameters(m); i++) names[n++] = m->parameters[i].name;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(names[i], names[k]) == 0) return names[i];
    return NULL;
}

/* A bound in decimals; integers with all their digits. */
static const char *bound_text(double x, char *buf, size_t size)
{
    snprintf(buf, size, x == rint(x) && fabs(x) < 1e16 ? "%.0f" : "%.15g", x);
    return buf;
}

cbx_status cbx_metric_row_check(const cbx_metric_function *m, cbx_err *err)
{
    const int forms = !!m->items + !!m->parts + !!m->whole;
    char v[CBX_FORMAT_SIZE], bounds[96];
    bool optional = false;

    if (!is_identifier(m->name))
        return cbx_fail(err, CBX_EINVAL, "the name of a metric must be an identifier, not '%.64s'",
                        m->name ? m->name : "");
    if (forms != 1)
        return cbx_fail(err, CBX_EINVAL, "metric '%s' must have one of the functions items, parts and whole, it has %d",
                        m->name, forms);
    if (m->parts && !m->finish) return cbx_fail(err, CBX_EINVAL, "metric '%s' has parts, but no finish", m->name);
    if (!m->domain || !m->summary) return cbx_fail(err, CBX_EINVAL, "metric '%s' has no domain or summary", m->name);
    if (!m->operands[0].name) return cbx_fail(err, CBX_EINVAL, "metric '%s' has no operand", m->name);
    for (size_t i = 0; m->operands[i].name; i++) {
        const cbx_metric_operand *o = &m->operands[i];
        if (i == CBX_METRIC_MAX_OPERANDS || !is_identifier(o->name) || (unsigned)o->kind >= CBX_OPERAND_KINDS ||
            (unsigned)o->items >= CBX_OPERAND_ITEMS)
            return cbx_fail(err, CBX_EINVAL,
                            "metric '%s': operand %zu of at most %d has the name '%.64s', kind %u and items %u: one of "
                            "them is not valid",
                            m->name, i + 1, CBX_METRIC_MAX_OPERANDS, o->name, (unsigned)o->kind, (unsigned)o->items);
        if (i == 0 && o->items != CBX_ITEMS_BY_KIND && o->items != CBX_ITEMS_FIRST)
            return cbx_fail(err, CBX_EINVAL, "metric '%s': the items of the first operand are its own, not '%s'",
                            m->name, cbx_operand_items_name(o->items));
        if (optional && !o->optional)
            return cbx_fail(err, CBX_EINVAL, "metric '%s': operand '%s' follows an optional one", m->name, o->name);
        optional = o->optional;
    }
    for (size_t i = 0; m->parameters[i].name; i++) {
        const cbx_metric_parameter *p = &m->parameters[i];
        if (i == CBX_METRIC_MAX_PARAMETERS || !is_identifier(p->name))
            return cbx_fail(err, CBX_EINVAL,
                            "metric '%s': parameter %zu of at most %d must be an identifier, not '%.64s'", m->name,
                            i + 1, CBX_METRIC_MAX_PARAMETERS, p->name);
        if (!(p->value >= p->low && p->value <= p->high))
            return cbx_fail(err, CBX_EINVAL, "metric '%s': the default of '%s' must be %s, not %s", m->name, p->name,
                            cbx_metric_bounds_text(p, bounds, sizeof bounds), bound_text(p->value, v, sizeof v));
    }
    if (name_twice(m)) return cbx_fail(err, CBX_EINVAL, "metric '%s' has two arguments '%s'", m->name, name_twice(m));
    if (!(m->low <= m->high))
        return cbx_fail(err, CBX_EINVAL, "metric '%s': the range is empty: 'low', %g, must be at most 'high', %g",
                        m->name, m->low, m->high);
    return CBX_OK;
}

cbx_status cbx_metric_register(cbx_ctx *ctx, const cbx_metric_function *m, bool replace, cbx_err *err)
{
    cbx_status st = m ? cbx_metric_row_check(m, err) : cbx_fail(err, CBX_EINVAL, "the metric is NULL");
    registered *r = st ? NULL : registered_of(ctx);
    const cbx_metric_function *old;

    if (st) return st;
    if (!r) return cbx_fail_nomem(err, "the registered metrics");
    old = by_name(ctx, m->name);
    for (size_t i = 0; old && replace && i < r->n; i++)
        if (r->items[i] == old) {
            r->items[i] = m;
            return CBX_OK;
        }
    if (old)
        return cbx_fail(err, CBX_EEXIST, "there is a metric '%s' already%s", m->name,
                        replace ? ", and it is built in" : ": replace it, or choose another name");
    if (!cbx_list_push(cbx_ctx_allocator(ctx), r, m)) return cbx_fail_nomem(err, "the registered metrics");
    return CBX_OK;
}

const char *cbx_metric_bounds_text(const cbx_metric_parameter *p, char *buf, size_t size)
{
    const bool above = p->low > 0 && p->low < 0x1p-1000; /* the smallest number that is not 0 */
    const bool finite = p->high == 0x1.fffffffffffffp1023;
    char low[CBX_FORMAT_SIZE], high[CBX_FORMAT_SIZE];

    bound_text(above ? 0 : p->low, low, sizeof low);
    bound_text(p->high, high, sizeof high);
    if (isinf(p->low) && isinf(p->high))
        snprintf(buf, size, "a number");
    else if (isinf(p->low))
        snprintf(buf, size, "at most %s", high);
    else if (isinf(p->high) || finite)
        snprintf(buf, size, "%s%s %s", finite ? "finite and " : "", above ? "above" : "at least", low);
    else
        snprintf(buf, size, above ? "above %s and at most %s" : "between %s and %s", low, high);
    return buf;
}

size_t cbx_metric_operands(const cbx_metric_function *m)
{
    size_t n = 0;
    while (n < CBX_METRIC_MAX_OPERANDS && m->operands[n].name) n++;
    return n;
}

size_t cbx_metric_parameters(const cbx_metric_function *m)
{
    size_t n = 0;
    while (n < CBX_METRIC_MAX_PARAMETERS && m->parameters[n].name) n++;
    return n;
}
