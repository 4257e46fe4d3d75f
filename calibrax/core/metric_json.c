/* Metrics, definitions and tags to and from JSON; see record.h for the rules. */
#include <math.h>
#include <string.h>

#include "calibrax/base/json_put.h"
#include "calibrax/base/json_stream.h"
#include "calibrax/core/record.h"

/* --- reading --- */

/* The path of every metric is made, whether a message needs it or not: no printf. */
const char *cbx__path(char buf[CBX__PATH_SIZE], const char *path, const char *key)
{
    size_t n = strnlen(path, 120), nkey = strnlen(key, 120);
    char *at = buf;

    memcpy(at, path, n);
    at += n;
    if (n) *at++ = '.';
    memcpy(at, key, nkey);
    at[nkey] = '\0';
    return buf;
}

cbx_status cbx__read_maybe_string(const cbx_json *object, const char *key, const char *path, const char **out,
                                  cbx_err *err)
{
    return cbx_json_get(object, key) ? cbx_json_need_string(object, key, path, out, err) : CBX_OK;
}

/* One search suffices for most members; a message needs a second one. */
cbx_status cbx__read_maybe_double(const cbx_json *object, const char *key, const char *path, double *out, cbx_err *err)
{
    const cbx_json *v = cbx_json_get(object, key);

    if (!v) return CBX_OK;
    if (cbx_json_typeof(v) != CBX_JSON_DOUBLE) return cbx_json_need_double(object, key, path, out, err);
    *out = cbx_json_double_value(v);
    return CBX_OK;
}

cbx_status cbx__read_maybe_object(const cbx_json *object, const char *key, const char *path, cbx_json **out,
                                  cbx_err *err)
{
    cbx_json *v = cbx_json_get(object, key);

    *out = NULL;
    if (v && cbx_json_typeof(v) == CBX_JSON_OBJECT) {
        *out = v;
        return CBX_OK;
    }
    return v || cbx_json_has(object, key) ? cbx_json_need_object(object, key, path, out, err) : CBX_OK;
}

static cbx_status not_a_number(const char *path, const char *key, size_t i, cbx_err *err)
{
    char inner[CBX__PATH_SIZE];

    return cbx_fail(err, CBX_EFORMAT, "'%s.%zu': expected a number", cbx__path(inner, path, key), i);
}

cbx_status cbx__read_samples(cbx_arena *arena, const cbx_json *object, const char *key, const char *path,
                             const double **samples, size_t *n, cbx_err *err)
{
    cbx_json *list = NULL;
    double *copy;
    cbx_status st;

    *samples = NULL;
    *n = 0;
    if (!cbx_json_get(object, key)) return CBX_OK;
    st = cbx_json_need_array(object, key, path, &list, err);
    if (st) return st;
    copy = cbx_arena_calloc(arena, cbx_json_length(list), sizeof *copy);
    if (!copy) return cbx_fail_nomem(err, NULL);
    for (size_t i = 0; i < cbx_json_length(list); i++)
        if (!cbx__json_double(cbx_json_at(list, i), &copy[i])) return not_a_number(path, key, i, err);
    *samples = copy;
    *n = cbx_json_length(list);
    return CBX_OK;
}

static cbx_status keep_text(cbx_arena *arena, const char **text, cbx_err *err)
{
    *text = cbx_arena_strdup(arena, *text);
    return *text ? CBX_OK : cbx_fail_nomem(err, NULL);
}

cbx_status cbx__read_tags(cbx_arena *arena, const cbx_json *record, const char *path, const cbx_tag **tags, size_t *n,
                          cbx_err *err)
{
    char inner[CBX__PATH_SIZE];
    cbx_json *object, *value;
    cbx_tag *list;
    cbx_status st = cbx__read_maybe_object(record, "tags", path, &object, err);

    *tags = NULL;
    *n = 0;
    if (st || !object) return st;
    list = cbx_arena_calloc(arena, cbx_json_length(object), sizeof *list);
    if (!list) return cbx_fail_nomem(err, NULL);
    cbx__path(inner, path, "tags");
    for (size_t i = 0; !st && cbx_json_member(object, i, &list[i].key, &value); i++) {
        st = cbx_json_need_string(object, list[i].key, inner, &list[i].value, err);
        if (!st) st = keep_text(arena, &list[i].key, err);
        if (!st) st = keep_text(arena, &list[i].value, err);
    }
    if (st) return st;
    *tags = list;
    *n = cbx_json_length(object);
    return CBX_OK;
}

static cbx_status read_metric(cbx_arena *arena, const cbx_json *object, const char *path, cbx_metric *out, cbx_err *err)
{
    cbx_metric m = { .lower = NAN, .upper = NAN };
    cbx_status st = cbx_json_need_double(object, "value", path, &m.value, err);

    if (!st) st = cbx__read_maybe_double(object, "lower", path, &m.lower, err);
    if (!st) st = cbx__read_maybe_double(object, "upper", path, &m.upper, err);
    if (!st) st = cbx__read_samples(arena, object, "samples", path, &m.samples, &m.nsamples, err);
    if (!st) *out = m;
    return st;
}

cbx_status cbx__read_metrics(cbx_arena *arena, const cbx_json *record, const char *path, const cbx__bad_sample *bad,
                             const cbx_named_metric **metrics, size_t *n, cbx_err *err)
{
    char inner[CBX__PATH_SIZE], metric_path[CBX__PATH_SIZE];
    cbx_json *object, *value;
    cbx_named_metric *list;
    cbx_status st = cbx__read_maybe_object(record, "metrics", path, &object, err);

    *metrics = NULL;
    *n = 0;
    if (st || !object) return st;
    list = cbx_arena_calloc(arena, cbx_json_length(object), sizeof *list);
    if (!list) return cbx_fail_nomem(err, NULL);
    cbx__path(inner, path, "metrics");
    for (size_t i = 0; !st && cbx_json_member(object, i, &list[i].name, &value); i++) {
        st = cbx_json_need_object(object, list[i].name, inner, &value, err);
        if (!st) st = read_metric(arena, value, cbx__path(metric_path, inner, list[i].name), &list[i].metric, err);
        if (!st && bad && bad->metric && strcmp(bad->metric, list[i].name) == 0)
            st = not_a_number(metric_path, "samples", bad->i, err);
        if (!st) st = keep_text(arena, &list[i].name, err);
    }
    if (st) return st;
    *metrics = list;
    *n = cbx_json_length(object);
    return CBX_OK;
}

cbx_status cbx__read_def(const cbx_json *object, const char *path, cbx_metric_def *out, cbx_err *err)
{
    cbx_metric_def def = { .group = "", .description = "" };
    const char *direction = NULL, *priority = NULL;
    char inner[CBX__PATH_SIZE];
    cbx_status st = cbx_json_need_string(object, "name", path, &def.name, err);

    if (!st) st = cbx_json_need_string(object, "unit", path, &def.unit, err);
    if (!st) st = cbx_json_need_string(object, "direction", path, &direction, err);
    if (!st && cbx_json_has(object, "group")) st = cbx_json_need_string(object, "group", path, &def.group, err);
    if (!st && cbx_json_has(object, "priority")) st = cbx_json_need_string(object, "priority", path, &priority, err);
    if (!st && cbx_json_has(object, "description"))
        st = cbx_json_need_string(object, "description", path, &def.description, err);
    if (!st && !cbx_direction_parse(direction, &def.direction))
        st = cbx_fail(err, CBX_EFORMAT, "'%s': '%s' must be 'higher', 'lower' or 'info'",
                      cbx__path(inner, path, "direction"), direction);
    if (!st && priority && !cbx_priority_parse(priority, &def.priority))
        st = cbx_fail(err, CBX_EFORMAT, "'%s': '%s' must be 'primary' or 'secondary'",
                      cbx__path(inner, path, "priority"), priority);
    if (!st) *out = def;
    return st;
}

static const char *const metric_keys[] = { "value", "lower", "upper", "samples", NULL };

static bool is_listed(const char *const *list, const char *word)
{
    for (; *list; list++) {
        if (**list == *word && strcmp(*list, word) == 0) return true;
    }
    return false;
}

/* A member that is unknown here, or a bound that is NaN. */
static bool metric_has_unknown(const cbx_json *m)
{
    const char *key;
    cbx_json *value;

    for (size_t i = 0; cbx_json_member(m, i, &key, &value); i++) {
        if (!is_listed(metric_keys, key)) return true;
        if ((*key == 'l' || *key == 'u') && value && isnan(cbx_json_double_value(value))) return true;
    }
    return false;
}

bool cbx__has_unknown(const cbx_json *record, const char *const *known)
{
    const cbx_json *metrics = cbx_json_get(record, "metrics");
    const char *key;
    cbx_json *m;

    for (size_t i = 0; cbx_json_member(metrics, i, &key, &m); i++)
        if (metric_has_unknown(m)) return true;
    for (size_t i = 0; cbx_json_member(record, i, &key, &m); i++)
        if (!is_listed(known, key)) return true;
    return false;
}

/* --- writing --- */

void cbx__keep_unknown(cbx_json *object, const cbx_json *raw, const char *const *known)
{
    const char *key;
    cbx_json *value;

    for (size_t i = 0; cbx_json_member(raw, i, &key, &value); i++)
        if (!cbx_json_has(object, key) && !is_listed(known, key)) cbx_json_put(object, J_COPY(key, value));
}

void cbx__set_tags(cbx_json *record, const cbx_tag *tags, size_t n)
{
    cbx_json *object = cbx_json_set_object(record, "tags");

    for (size_t i = 0; i < n; i++) cbx_json_set_string(object, tags[i].key, tags[i].value);
}

/* A bound that was read as NaN is one; otherwise NaN means no bound. */
static void put_bound(cbx_json *object, const char *key, double v, const cbx_json *raw)
{
    if (!isnan(v) || cbx_json_get(raw, key)) cbx_json_set_double(object, key, v);
}

cbx_json *cbx__metric_json(const cbx_metric *m, const cbx_json *raw)
{
    cbx_json *object = cbx_json_new_object();

    cbx_json_set_double(object, "value", m->value);
    put_bound(object, "lower", m->lower, raw);
    put_bound(object, "upper", m->upper, raw);
    if (m->samples) cbx_json_set_doubles(object, "samples", m->samples, m->nsamples);
    cbx__keep_unknown(object, raw, metric_keys);
    return cbx_json_finish(object);
}

void cbx__set_metrics(cbx_json *record, const cbx_named_metric *metrics, size_t n, const cbx_json *raw)
{
    const cbx_json *raw_metrics = cbx_json_get(raw, "metrics");
    cbx_json *object = cbx_json_set_object(record, "metrics");

    for (size_t i = 0; i < n; i++)
        cbx_json_set(object, metrics[i].name,
                     cbx__metric_json(&metrics[i].metric, cbx_json_get(raw_metrics, metrics[i].name)));
}

void cbx__set_def(cbx_json *defs, const char *key, const cbx_metric_def *def, const cbx_json *raw)
{
    static const char *const known[] = { NULL };
    cbx_json *v = cbx_json_set_object(defs, key);

    cbx_json_put(v, J_TEXT("name", def->name), J_TEXT("unit", def->unit),
                 J_TEXT("direction", cbx_direction_name(def->direction)), J_TEXT("group", def->group),
                 J_TEXT("priority", cbx_priority_name(def->priority)), J_TEXT("description", def->description));
    cbx__keep_unknown(v, raw, known);
}
