/* Collections of metrics from files, and their results as JSON and as text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/idioms.h"
#include "calibrax/base/json_put.h"
#include "calibrax/base/text.h"
#include "calibrax/metrics/compose.h"
#include "calibrax/metrics/internal.h"

/* ---- parameters ---- */

cbx_status cbx_metric_parameter_parse(const cbx_metric_parameter *p, const char *text, double *out, cbx_err *err)
{
    const char *words = p->type == CBX_PARAMETER_BOOL ? "false|true" : p->words;
    const size_t n = strlen(text);
    char *end;

    for (int i = 0; words; i++) {
        const size_t length = strcspn(words, "|");
        if (length == n && !memcmp(words, text, n)) return *out = i, CBX_OK;
        words = words[length] ? words + length + 1 : NULL;
    }
    if (p->words) return cbx_fail(err, CBX_EINVAL, "'%s' must be one of %s, not '%.64s'", p->name, p->words, text);
    if (!strcmp(text, "inf")) return *out = INFINITY, CBX_OK;
    if (n > 0 && strspn(text, "+-.0123456789eE") == n) {
        const double v = strtod(text, &end);
        if (!*end && isfinite(v)) return *out = v, CBX_OK;
    }
    return cbx_fail(err, CBX_EINVAL, "'%s' must be a number, not '%.64s'", p->name, text);
}

/* ---- reading ---- */

static const char *const member_keys[] = { "metric", "label", "parameters", "low", "high", "weight" };

static cbx_status check_keys(const cbx_json *object, const char *const *keys, size_t n, const char *what, cbx_err *err)
{
    const char *key;
    cbx_json *value;

    for (size_t i = 0; cbx_json_member(object, i, &key, &value); i++) {
        if (cbx__word_at(keys, n, key) < n) continue;
        const char *near = cbx_nearest_word(key, keys, n);
        return cbx_fail(err, CBX_EFORMAT,
                        near ? "%s: unknown key '%.64s': did you mean '%s'?" : "%s: unknown key '%.64s'", what, key,
                        near);
    }
    return CBX_OK;
}

static cbx_status read_parameter(const cbx_metric_parameter *p, const cbx_json *value, double *out, cbx_err *err)
{
    switch (cbx_json_typeof(value)) {
    case CBX_JSON_INT:
    case CBX_JSON_DOUBLE: *out = cbx_json_double_value(value); break;
    case CBX_JSON_BOOL: *out = cbx_json_bool_value(value); break;
    case CBX_JSON_STRING: return cbx_metric_parameter_parse(p, cbx_json_string_value(value), out, err);
    default: return cbx_fail(err, CBX_EFORMAT, "'%s' must be a number, a word or a boolean", p->name);
    }
    if (p->words) return cbx_fail(err, CBX_EFORMAT, "'%s' must be one of %s, not %g", p->name, p->words, *out);
    if (isnan(*out)) return cbx_fail(err, CBX_EFORMAT, "'%s' must be a number, got NaN", p->name);
    return CBX_OK;
}

static cbx_status read_parameters(const cbx_metric_function *m, const cbx_json *object, double *v, cbx_err *err)
{
    const char *key;
    cbx_json *value;

    for (size_t i = 0; i < CBX_METRIC_MAX_PARAMETERS; i++) v[i] = NAN;
    if (object && cbx_json_typeof(object) != CBX_JSON_OBJECT)
        return cbx_fail(err, CBX_EFORMAT, "the parameters of %s must be an object", m->name);
    for (size_t i = 0; cbx_json_member(object, i, &key, &value); i++) {
        const size_t n = cbx_metric_parameters(m);
        size_t k = 0;
        while (k < n && strcmp(m->parameters[k].name, key) != 0) k++;
        if (k == n) return cbx_fail(err, CBX_EFORMAT, "%s has no parameter '%.64s'", m->name, key);
        cbx_status st = read_parameter(&m->parameters[k], value, &v[k], err);
        if (st) return st;
    }
    return CBX_OK;
}

/* A number that may be left out. */
static cbx_status read_number(const cbx_json *object, const char *key, double *out, cbx_err *err)
{
    return cbx_json_get(object, key) ? cbx_json_need_double(object, key, "metric", out, err) : CBX_OK;
}

static cbx_status read_member(cbx_ctx *ctx, cbx_metric_collection *c, const char *group, const cbx_json *value,
                              cbx_err *err)
{
    cbx_metric_member m = CBX_METRIC_MEMBER_INIT;
    double parameters[CBX_METRIC_MAX_PARAMETERS];
    const char *name = cbx_json_string_value(value);
    cbx_status st = CBX_OK;

    m.group = group;
    if (!name) {
        if (cbx_json_typeof(value) != CBX_JSON_OBJECT)
            return cbx_fail(err, CBX_EFORMAT, "a metric must be a name, or an object with the key 'metric'");
        st = check_keys(value, member_keys, CBX_LEN(member_keys), "a metric", err);
        if (!st) st = cbx_json_need_string(value, "metric", "metric", &name, err);
        if (!st) st = read_number(value, "low", &m.low, err);
        if (!st) st = read_number(value, "high", &m.high, err);
        if (!st) st = read_number(value, "weight", &m.weight, err);
        if (st) return st;
        m.label = cbx_json_get_string(value, "label", NULL);
        if (cbx_json_get(value, "label") && !m.label)
            return cbx_fail(err, CBX_EFORMAT, "the label of %s must be text", name);
        if (m.low == INFINITY || m.high == -INFINITY)
            return cbx_fail(err, CBX_EFORMAT, "%s: no value can reach an infinite threshold", name);
    }
    st = cbx_metric_find(ctx, name, &m.metric, err);
    if (!st) st = read_parameters(m.metric, cbx_json_get(value, "parameters"), parameters, err);
    m.parameters = parameters;
    return st ? st : cbx_metric_collection_add(ctx, c, &m, err);
}

static cbx_status read_list(cbx_ctx *ctx, cbx_metric_collection *c, const char *group, const cbx_json *list,
                            cbx_err *err)
{
    cbx_status st = CBX_OK;

    if (cbx_json_typeof(list) != CBX_JSON_ARRAY)
        return cbx_fail(err, CBX_EFORMAT, "'%.64s' must be a list of metrics", group ? group : "metrics");
    for (size_t i = 0; i < cbx_json_length(list) && !st; i++)
        st = read_member(ctx, c, group, cbx_json_at(list, i), err);
    return st;
}

cbx_status cbx_metric_collection_read(cbx_ctx *ctx, const cbx_json *suite, const char *what,
                                      cbx_metric_collection **out, cbx_err *err)
{
    static const char *const keys[] = { "groups", "metrics", "description" };
    const cbx_json *groups = cbx_json_get(suite, "groups"), *list = cbx_json_get(suite, "metrics");
    cbx_metric_collection *c = NULL;
    cbx_err why = CBX_ERR_INIT;
    const char *name;
    cbx_json *members;
    cbx_status st;

    if (!list == !groups || (groups && cbx_json_typeof(groups) != CBX_JSON_OBJECT))
        return cbx_fail(err, CBX_EFORMAT, "%s: a suite of metrics has either an object 'groups' or a list 'metrics'",
                        what);
    st = check_keys(suite, keys, CBX_LEN(keys), what, err);
    if (!st) st = cbx_metric_collection_create(ctx, &c, err);
    if (st) return st;
    if (list) st = read_list(ctx, c, NULL, list, &why);
    for (size_t i = 0; !st && cbx_json_member(groups, i, &name, &members); i++)
        st = read_list(ctx, c, name, members, &why);
    if (!st && cbx_metric_collection_count(c) == 0) st = cbx_fail(&why, CBX_EFORMAT, "there are no metrics in it");
    if (st) {
        cbx_metric_collection_free(c);
        return cbx_fail(err, st, "%s: %s", what, why.message);
    }
    *out = c;
    return CBX_OK;
}

/* ---- reports ---- */

static bool has_threshold(const cbx_metric_member *m) { return isfinite(m->low) || isfinite(m->high); }

/* A result that is not a number: its elements, and its shape. */
static cbx_status set_elements(cbx_ctx *ctx, cbx_json *o, const cbx_array *r, cbx_err *err)
{
    cbx_json *shape = cbx_json_set_array(o, "shape");
    cbx_array *v;
    cbx_scope scope;
    cbx_status st;

    for (int k = 0; k < cbx_array_ndim(r); k++) cbx_json_push_int(shape, (int64_t)cbx_array_dim(r, k));
    cbx_scope_open(ctx, &scope);
    v = cbx_copy(ctx, cbx_astype(ctx, r, CBX_F64));
    st = cbx_scope_close_keep(&scope, 1, &v, err);
    if (!st) cbx_json_set_doubles(o, "value", cbx_array_data(v), cbx_array_count(v));
    if (!st) cbx_array_free(v);
    return st;
}

/* One metric; *passed becomes false where it does not pass. */
static cbx_status set_member(cbx_ctx *ctx, const cbx_metric_collection *c, size_t i, cbx_json *o, bool *passed,
                             cbx_err *err)
{
    const cbx_metric_member *m = cbx_metric_collection_at(c, i);
    cbx_array *r = NULL;
    double v, error;
    cbx_status st = cbx_metric_collection_compute(ctx, c, i, &r, err);

    if (st) return st;
    cbx_json_put(o, J_TEXT("label", m->label), J_TEXT("metric", m->metric->name),
                 J_TEXT("direction", cbx_direction_name(m->metric->direction)));
    if (cbx_array_count(r) != 1) {
        if (has_threshold(m))
            st = cbx_fail(err, CBX_ESHAPE, "%s: the result is not a single number, so that it has no threshold",
                          m->label);
        if (!st) st = set_elements(ctx, o, r, err);
    } else {
        v = cbx__metric_element(r, 0);
        cbx_json_set_double(o, "value", v);
        if (has_threshold(m)) {
            cbx_json_put(o, J_FINITE("low", m->low), J_FINITE("high", m->high),
                         J_BOOL("passed", cbx_metric_member_passes(m, v)));
            *passed &= cbx_metric_member_passes(m, v);
        }
        if (m->metric->error) st = cbx_metric_collection_error(ctx, c, i, &error, err);
        if (!st && m->metric->error) cbx_json_set_double(o, "error", error);
    }
    cbx_array_free(r);
    return st;
}

/* The list of the metrics of a group, made where it is missing. */
static cbx_json *metrics_of(cbx_json *groups, const char *name)
{
    cbx_json *o;

    if (!name) name = "";
    for (size_t i = 0; i < cbx_json_length(groups); i++)
        if (strcmp(cbx_json_get_string(cbx_json_at(groups, i), "name", ""), name) == 0)
            return cbx_json_get(cbx_json_at(groups, i), "metrics");
    o = cbx_json_push_object(groups);
    cbx_json_set_string(o, "name", name);
    return cbx_json_set_array(o, "metrics");
}

cbx_status cbx_metric_collection_report(cbx_ctx *ctx, const cbx_metric_collection *c, cbx_json **out, cbx_err *err)
{
    cbx_json *o = cbx_json_new_object(), *groups = cbx_json_set_array(o, "groups");
    bool passed = true, thresholds = false;
    cbx_status st = CBX_OK;

    for (size_t i = 0; i < cbx_metric_collection_count(c) && !st; i++) {
        const cbx_metric_member *m = cbx_metric_collection_at(c, i);
        thresholds |= has_threshold(m);
        st = set_member(ctx, c, i, cbx_json_push_object(metrics_of(groups, m->group)), &passed, err);
    }
    cbx_json_set_int(o, "updates", (int64_t)cbx_metric_collection_updates(c));
    if (thresholds) cbx_json_set_bool(o, "passed", passed);
    if (!st) st = cbx_json_check(o, err);
    return CBX_FINISH(st, *out = o, cbx_json_unref(o));
}

/* "between 0.1 and 0.5", "at most 0.5" */
static void put_threshold(const cbx_json *o, cbx_text *out)
{
    const char *low = CBX__TEXT_NUMBER(cbx_json_get_double(o, "low", 0));
    const char *high = CBX__TEXT_NUMBER(cbx_json_get_double(o, "high", 0));
    const bool above = cbx_json_get(o, "low") != NULL, below = cbx_json_get(o, "high") != NULL;

    if (above && below)
        cbx_text_printf(out, "  between %s and %s", low, high);
    else
        cbx_text_printf(out, above ? "  at least %s" : "  at most %s", above ? low : high);
    cbx_text_puts(out, cbx_json_get_bool(o, "passed", true) ? ": passed" : ": FAILED");
}

static void put_metric(const cbx_json *o, bool indented, cbx_text *out)
{
    const cbx_json *interval = cbx_json_get(o, "interval");

    cbx_text_printf(out, indented ? "  %-34s " : "%-36s ", cbx_json_get_string(o, "label", ""));
    if (cbx_json_get(o, "shape")) {
        const cbx_json *list = cbx_json_get(o, "value");
        for (size_t i = 0; i < cbx_json_length(list); i++)
            cbx_text_printf(out, "%s%s", i ? " " : "", CBX__TEXT_NUMBER(cbx_json_double_value(cbx_json_at(list, i))));
    } else {
        cbx_text_printf(out, "%-22s", CBX__TEXT_NUMBER(cbx_json_get_double(o, "value", NAN)));
    }
    if (interval)
        cbx_text_printf(out, "  [%s, %s] at %g %%", CBX__TEXT_NUMBER(cbx_json_get_double(interval, "lower", NAN)),
                        CBX__TEXT_NUMBER(cbx_json_get_double(interval, "upper", NAN)),
                        100 * cbx_json_get_double(interval, "level", NAN));
    if (cbx_json_has(o, "passed")) put_threshold(o, out);
    if (cbx_json_has(o, "error"))
        cbx_text_printf(out, "  (error at most %s)", CBX__TEXT_NUMBER(cbx_json_get_double(o, "error", 0)));
    while (out->len && out->data[out->len - 1] == ' ') out->data[--out->len] = '\0';
    cbx_text_putc(out, '\n');
}

void cbx_metric_report_text(const cbx_json *report, cbx_text *out)
{
    const cbx_json *groups = cbx_json_get(report, "groups");

    for (size_t i = 0; i < cbx_json_length(groups); i++) {
        const cbx_json *group = cbx_json_at(groups, i), *list = cbx_json_get(group, "metrics");
        const char *name = cbx_json_get_string(group, "name", "");
        if (*name) cbx_text_printf(out, "%s\n", name);
        for (size_t k = 0; k < cbx_json_length(list); k++) put_metric(cbx_json_at(list, k), *name != '\0', out);
    }
}
