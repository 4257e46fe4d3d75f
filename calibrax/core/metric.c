/* Metrics, their definitions and points: words, look-ups, and deep copies with their checks. */
#include "calibrax/core/metric.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/idioms.h"
#include "calibrax/base/list.h"
#include "calibrax/base/utf8.h"
#include "calibrax/core/record.h"

static const char *const direction_names[] = { "higher", "lower", "info" };
static const char *const priority_names[] = { "secondary", "primary" };

const char *cbx_direction_name(cbx_direction d) { return CBX_WORD(direction_names, d); }

const char *cbx_priority_name(cbx_priority p) { return CBX_WORD(priority_names, p); }

bool cbx_direction_parse(const char *word, cbx_direction *out)
{
    size_t at = CBX_WORD_AT(direction_names, word);

    if (at < CBX_LEN(direction_names)) *out = (cbx_direction)at;
    return at < CBX_LEN(direction_names);
}

bool cbx_priority_parse(const char *word, cbx_priority *out)
{
    size_t at = CBX_WORD_AT(priority_names, word);

    if (at < CBX_LEN(priority_names)) *out = (cbx_priority)at;
    return at < CBX_LEN(priority_names);
}

bool cbx_metric_def_higher_is_better(const cbx_metric_def *def)
{
    return !def || def->direction != CBX_DIRECTION_LOWER;
}

cbx_metric cbx_metric_of(double value) { return (cbx_metric){ .value = value, .lower = NAN, .upper = NAN }; }

/* A duration, also one per something ("ns/op"), of which less is better. */
static bool is_duration(const cbx_metric_def *def)
{
    static const char *const units[] = { "s",     "sec",          "second",       "seconds",    "ms",
                                         "us",    "\xc2\xb5s",    "\xce\xbcs",    "ns",         "ps",
                                         "min",   "minute",       "minutes",      "h",          "hour",
                                         "hours", "milliseconds", "microseconds", "nanoseconds" };
    size_t len;

    if (!def || def->direction != CBX_DIRECTION_LOWER || !def->unit) return false;
    len = strcspn(def->unit, "/");
    for (size_t i = 0; i < CBX_LEN(units); i++)
        if (strlen(units[i]) == len && !strncmp(def->unit, units[i], len)) return true;
    return false;
}

cbx_metric_fault cbx_metric_check(const cbx_metric *m, const cbx_metric_def *def)
{
    double smallest = INFINITY, largest = -INFINITY, slack = 1e-9 * fabs(m->value); /* a mean of equal samples rounds */

    if (!isfinite(m->value)) return CBX_METRIC_NOT_FINITE;
    for (size_t i = 0; m->samples && i < m->nsamples; i++) {
        if (!isfinite(m->samples[i])) return CBX_METRIC_NOT_FINITE;
        smallest = fmin(smallest, m->samples[i]);
        largest = fmax(largest, m->samples[i]);
    }
    if (is_duration(def) && !(fmin(m->value, smallest) > 0)) return CBX_METRIC_NOT_A_TIME;
    if (!(isnan(m->lower) && isnan(m->upper)) && !(m->lower <= m->value && m->value <= m->upper))
        return CBX_METRIC_BAD_BOUNDS;
    if (smallest <= largest && !(smallest - slack <= m->value && m->value <= largest + slack))
        return CBX_METRIC_OUTSIDE_SAMPLES;
    return CBX_METRIC_SOUND;
}

int cbx_tag_compare(const void *a, const void *b)
{
    const cbx_tag *x = a, *y = b;
    int order = strcmp(x->key, y->key);

    return order ? order : strcmp(x->value, y->value);
}

const char *cbx_point_tag(const cbx_point *p, const char *key)
{
    for (size_t i = 0; i < p->ntags; i++) {
        if (strcmp(p->tags[i].key, key) == 0) return p->tags[i].value;
    }
    return NULL;
}

const cbx_metric *cbx_point_metric(const cbx_point *p, const char *name)
{
    for (size_t i = 0; i < p->nmetrics; i++) {
        if (strcmp(p->metrics[i].name, name) == 0) return &p->metrics[i].metric;
    }
    return NULL;
}

/* --- deep copies --- */

#define MAX_DEPTH 48 /* of a free-form value: a file of records can still be parsed with it */

bool cbx__is_utf8(const char *s)
{
    for (size_t used; *s; s += used) {
        used = 1;
        if ((unsigned char)*s < 0x80) continue;
        cbx__utf8_decode(s, strnlen(s, 4), &used);
        if (used == 1) return false;
    }
    return true;
}

static cbx_status check_json(const cbx_json *v, const char *path, int depth, cbx_err *err)
{
    char inner_path[CBX__PATH_SIZE];
    const char *key;
    cbx_json *inner;
    cbx_status st = CBX_OK;

    if (depth > MAX_DEPTH) return cbx_fail(err, CBX_EINVAL, "'%s' is nested deeper than %d", path, MAX_DEPTH);
    switch (cbx_json_typeof(v)) {
    case CBX_JSON_STRING:
        return cbx__is_utf8(cbx_json_string_value(v))
                   ? CBX_OK
                   : cbx_fail(err, CBX_EINVAL, "'%s' is text that is not UTF-8", path);
    case CBX_JSON_ARRAY:
        for (size_t i = 0; !st && i < cbx_json_length(v); i++) {
            snprintf(inner_path, sizeof inner_path, "%s.%zu", path, i);
            st = check_json(cbx_json_at(v, i), inner_path, depth + 1, err);
        }
        return st;
    case CBX_JSON_OBJECT:
        for (size_t i = 0; !st && cbx_json_member(v, i, &key, &inner); i++) {
            if (!cbx__is_utf8(key)) return cbx_fail(err, CBX_EINVAL, "'%s' has a key that is not UTF-8", path);
            snprintf(inner_path, sizeof inner_path, "%s.%s", path, key);
            st = check_json(inner, inner_path, depth + 1, err);
        }
        return st;
    default: return CBX_OK;
    }
}

cbx_status cbx__record_check_json(const cbx_json *value, const char *path, cbx_err *err)
{
    return check_json(value, path, 1, err);
}

cbx_status cbx__record_text(cbx_arena *arena, const char *s, const char *what, const char **out, cbx_err *err)
{
    char *copy;

    if (!s) return cbx_fail(err, CBX_EINVAL, "a record needs its %s", what);
    if (!cbx__is_utf8(s)) return cbx_fail(err, CBX_EINVAL, "the %s of a record is not UTF-8", what);
    copy = cbx_arena_strdup(arena, s);
    if (!copy) return cbx_fail_nomem(err, NULL);
    *out = copy;
    return CBX_OK;
}

/* Sorts the names. */
static cbx_status check_once(const char **names, size_t n, const char *what, cbx_err *err)
{
    if (n) qsort(names, n, sizeof *names, cbx_compare_texts);
    for (size_t i = 1; i < n; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            return cbx_fail(err, CBX_EINVAL, "%s '%s' is listed twice", what, names[i]);
    return CBX_OK;
}

cbx_status cbx__record_tags(cbx_arena *arena, const cbx_tag *tags, size_t n, const cbx_tag **out, cbx_err *err)
{
    cbx_tag *copy = cbx_arena_calloc(arena, n, sizeof *copy);
    const char **names = cbx_arena_calloc(arena, n, sizeof *names);
    cbx_status st = CBX_OK;

    if (!copy || !names) return cbx_fail_nomem(err, NULL);
    for (size_t i = 0; i < n && !st; i++) {
        st = cbx__record_text(arena, tags[i].key, "tag key", &copy[i].key, err);
        if (!st) st = cbx__record_text(arena, tags[i].value, "tag value", &copy[i].value, err);
        names[i] = copy[i].key;
    }
    if (!st) st = check_once(names, n, "tag", err);
    if (!st) *out = copy;
    return st;
}

cbx_status cbx__record_metrics(cbx_arena *arena, const cbx_named_metric *metrics, size_t n,
                               const cbx_named_metric **out, cbx_err *err)
{
    cbx_named_metric *copy = cbx_arena_calloc(arena, n, sizeof *copy);
    const char **names = cbx_arena_calloc(arena, n, sizeof *names);
    cbx_status st = CBX_OK;

    if (!copy || !names) return cbx_fail_nomem(err, NULL);
    for (size_t i = 0; i < n && !st; i++) {
        cbx_metric *m = &copy[i].metric;
        *m = metrics[i].metric;
        st = cbx__record_text(arena, metrics[i].name, "metric name", &copy[i].name, err);
        names[i] = copy[i].name;
        if (!m->samples) m->nsamples = 0;
        if (st || !m->samples) continue;
        m->samples = cbx_arena_calloc(arena, m->nsamples, sizeof *m->samples);
        if (!m->samples) return cbx_fail_nomem(err, NULL);
        if (m->nsamples)
            memcpy((double *)(uintptr_t)m->samples, metrics[i].metric.samples, m->nsamples * sizeof *m->samples);
    }
    if (!st) st = check_once(names, n, "metric", err);
    if (!st) *out = copy;
    return st;
}

cbx_status cbx__record_def(cbx_arena *arena, const cbx_metric_def *def, cbx_metric_def *out, cbx_err *err)
{
    cbx_metric_def copy = *def;
    cbx_status st = cbx__record_text(arena, def->name, "metric name", &copy.name, err);

    if (!st) st = cbx__record_text(arena, def->unit, "metric unit", &copy.unit, err);
    if (!st) st = cbx__record_text(arena, def->group ? def->group : "", "metric group", &copy.group, err);
    if (!st)
        st = cbx__record_text(arena, def->description ? def->description : "", "metric description", &copy.description,
                              err);
    if (!st && ((size_t)def->direction >= CBX_LEN(direction_names) || (size_t)def->priority >= CBX_LEN(priority_names)))
        st = cbx_fail(err, CBX_EINVAL, "metric '%s' has an unknown direction or priority", def->name);
    if (!st) *out = copy;
    return st;
}
