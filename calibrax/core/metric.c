/* Metrics, their definitions and points: words, look-ups, and deep copies with their checks. */
#include "calibrax/core/metric.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/core/record.h"

static const char *const direction_names[] = { "higher", "lower", "info" };
static const char *const priority_names[] = { "secondary", "primary" };

static bool find_word(const char *const *words, size_t n, const char *word, size_t *out)
{
    for (size_t i = 0; word && i < n; i++) {
        if (strcmp(words[i], word) != 0) continue;
        *out = i;
        return true;
    }
    return false;
}

const char *cbx_direction_name(cbx_direction d)
{
    return (size_t)d < CBX_LEN(direction_names) ? direction_names[d] : "?";
}
const char *cbx_priority_name(cbx_priority p) { return (size_t)p < CBX_LEN(priority_names) ? priority_names[p] : "?"; }

bool cbx_direction_parse(const char *word, cbx_direction *out)
{
    size_t i;

    if (!find_word(direction_names, CBX_LEN(direction_names), word, &i)) return false;
    *out = (cbx_direction)i;
    return true;
}

bool cbx_priority_parse(const char *word, cbx_priority *out)
{
    size_t i;

    if (!find_word(priority_names, CBX_LEN(priority_names), word, &i)) return false;
    *out = (cbx_priority)i;
    return true;
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
    double least = INFINITY, largest = -INFINITY, slack = 1e-9 * fabs(m->value); /* a mean of equal samples rounds */

    if (!isfinite(m->value)) return CBX_METRIC_NOT_FINITE;
    for (size_t i = 0; m->samples && i < m->nsamples; i++) {
        if (!isfinite(m->samples[i])) return CBX_METRIC_NOT_FINITE;
        least = fmin(least, m->samples[i]);
        largest = fmax(largest, m->samples[i]);
    }
    if (is_duration(def) && !(fmin(m->value, least) > 0)) return CBX_METRIC_NOT_A_TIME;
    if (!(isnan(m->lower) && isnan(m->upper)) && !(m->lower <= m->value && m->value <= m->upper))
        return CBX_METRIC_BAD_BOUNDS;
    if (least <= largest && !(least - slack <= m->value && m->value <= largest + slack))
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

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* Sorts the names. */
static cbx_status check_once(const char **names, size_t n, const char *what, cbx_err *err)
{
    if (n) qsort(names, n, sizeof *names, by_text);
    for (size_t i = 1; i < n; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            return cbx_fail(err, CBX_EINVAL, "%s '%s' stands twice", what, names[i]);
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

static cbx_status copy_samples(cbx_arena *arena, cbx_metric *m, cbx_err *err)
{
    double *copy;

    if (!m->samples) {
        m->nsamples = 0;
        return CBX_OK;
    }
    copy = cbx_arena_calloc(arena, m->nsamples, sizeof *copy);
    if (!copy) return cbx_fail_nomem(err, NULL);
    if (m->nsamples) memcpy(copy, m->samples, m->nsamples * sizeof *copy);
    m->samples = copy;
    return CBX_OK;
}

cbx_status cbx__record_metrics(cbx_arena *arena, const cbx_named_metric *metrics, size_t n,
                               const cbx_named_metric **out, cbx_err *err)
{
    cbx_named_metric *copy = cbx_arena_calloc(arena, n, sizeof *copy);
    const char **names = cbx_arena_calloc(arena, n, sizeof *names);
    cbx_status st = CBX_OK;

    if (!copy || !names) return cbx_fail_nomem(err, NULL);
    for (size_t i = 0; i < n && !st; i++) {
        copy[i].metric = metrics[i].metric;
        st = cbx__record_text(arena, metrics[i].name, "metric name", &copy[i].name, err);
        if (!st) st = copy_samples(arena, &copy[i].metric, err);
        names[i] = copy[i].name;
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
        st = cbx_fail(err, CBX_EINVAL, "metric '%s' has no such direction or priority", def->name);
    if (!st) *out = copy;
    return st;
}
