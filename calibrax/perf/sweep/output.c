/*
 * Metrics from a command's standard output: the last line, or all of it, is a JSON object.  It is put into the form of a run file, so
 * that the one strict reader of runs judges it.
 */
#include "calibrax/perf/sweep/output.h"

#include <ctype.h>
#include <string.h>

#include "calibrax/base/clock.h"

typedef struct slice {
    const char *text;
    size_t len;
} slice;

static slice trimmed(const char *text, size_t len)
{
    while (len > 0 && isspace((unsigned char)text[len - 1])) len--;
    while (len > 0 && isspace((unsigned char)*text)) text++, len--;
    return (slice){ text, len };
}

static bool is_object(slice s) { return s.len >= 2 && s.text[0] == '{' && s.text[s.len - 1] == '}'; }

/* The object to read; len 0: there is none. */
static slice find_object(const char *text, size_t len)
{
    slice all = trimmed(text, len), line = all;

    for (size_t i = all.len; i > 0; i--) {
        if (all.text[i - 1] != '\n') continue;
        line = trimmed(all.text + i, all.len - i);
        break;
    }
    if (is_object(line)) return line;
    return is_object(all) ? all : (slice){ text, 0 };
}

/* --- to the form of a run file --- */

/* A metric as a number becomes {"value": number}; all else is for the reader to judge. */
static cbx_json *metric_of(const cbx_json *v)
{
    cbx_json_type type = cbx_json_typeof(v);
    cbx_json *o, *copy = cbx_json_copy(v);

    if (type != CBX_JSON_INT && type != CBX_JSON_DOUBLE) return copy;
    o = cbx_json_new_object();
    if (cbx_json_set(o, "value", copy)) return o;
    cbx_json_unref(o);
    return NULL;
}

static cbx_json *metrics_of(const cbx_json *members)
{
    cbx_json *o = cbx_json_new_object(), *value;
    const char *key;

    for (size_t i = 0; o && cbx_json_member(members, i, &key, &value); i++) {
        bool ok = value ? cbx_json_set(o, key, metric_of(value)) : cbx_json_set_null(o, key);
        if (ok) continue;
        cbx_json_unref(o);
        return NULL;
    }
    return o;
}

static cbx_json *tags_of(const cbx_benchmark_command *c)
{
    cbx_json *o = cbx_json_new_object();

    for (size_t i = 0; o && i < c->ntags; i++) {
        if (cbx_json_set_string(o, c->tags[i].key, c->tags[i].value)) continue;
        cbx_json_unref(o);
        return NULL;
    }
    return o;
}

static cbx_json *point_of(const cbx_benchmark_command *c, const cbx_json *metrics)
{
    cbx_json *points = cbx_json_new_array(), *p = cbx_json_new_object();
    bool ok = p && cbx_json_set_string(p, "name", c->name) &&
              cbx_json_set_string(p, "scenario", c->domain ? c->domain : "") && cbx_json_set(p, "tags", tags_of(c)) &&
              cbx_json_set(p, "metrics", metrics_of(metrics));

    if (!ok) cbx_json_unref(p);
    if (ok && cbx_json_push(points, p)) return points;
    cbx_json_unref(points);
    return NULL;
}

/* {"results":[{"metadata":{"targets":{...}}}]}, the output's own targets behind the command's. */
static cbx_json *metadata_of(const cbx_benchmark_command *c, const cbx_json *told)
{
    cbx_json *metadata = cbx_json_new_object(), *results = cbx_json_new_array(), *entry = cbx_json_new_object();
    cbx_json *inner = cbx_json_new_object(), *targets = told ? cbx_json_copy(told) : cbx_json_new_object();
    bool ok = targets != NULL;

    for (size_t i = 0; ok && i < c->ntargets; i++)
        ok = cbx_json_set_double(targets, c->targets[i].name, c->targets[i].metric.value);
    if (!ok) {
        cbx_json_unref(targets);
        targets = NULL;
    }
    ok = cbx_json_set(inner, "targets", targets);
    if (!ok) {
        cbx_json_unref(inner);
        inner = NULL;
    }
    ok = cbx_json_set(entry, "metadata", inner);
    if (!ok) {
        cbx_json_unref(entry);
        entry = NULL;
    }
    ok = cbx_json_push(results, entry);
    if (!ok) {
        cbx_json_unref(results);
        results = NULL;
    }
    if (cbx_json_set(metadata, "results", results)) return metadata;
    cbx_json_unref(metadata);
    return NULL;
}

static cbx_json *run_of(const cbx_benchmark_command *c, const cbx_json *told)
{
    const cbx_json *inner = cbx_json_get(told, "metrics"), *defs = cbx_json_get(told, "metric_defs");
    bool whole = cbx_json_typeof(inner) == CBX_JSON_OBJECT;
    char now[CBX_TIME_SIZE];
    cbx_json *o = cbx_json_new_object();
    bool ok = o && cbx_json_set_string(o, "id", "launch") &&
              cbx_json_set_string(o, "timestamp", cbx_time_format_iso(cbx_time_now_us(), now)) &&
              cbx_json_set(o, "metadata", metadata_of(c, whole ? cbx_json_get(told, "targets") : NULL)) &&
              (!whole || !defs || cbx_json_set(o, "metric_defs", cbx_json_copy(defs))) &&
              cbx_json_set(o, "points", point_of(c, whole ? inner : told));

    if (ok) return o;
    cbx_json_unref(o);
    return NULL;
}

/* Definitions of the command's declaration go before those of its output. */
static cbx_status with_defs(cbx__session *s, const cbx_benchmark_command *c, cbx_run **run, cbx_err *err)
{
    cbx_run_builder *b = NULL;
    cbx_run *changed = NULL;
    cbx_status st;

    if (!c->ndefs) return CBX_OK;
    st = cbx_run_builder_from(s->ctx, *run, &b, err);
    for (size_t i = 0; i < c->ndefs && !st; i++) st = cbx_run_builder_add_metric_def(b, &c->defs[i], err);
    if (!st) st = cbx_run_builder_freeze(b, &changed, err);
    cbx_run_builder_free(b);
    if (st) return st;
    cbx_run_free(*run);
    *run = changed;
    return CBX_OK;
}

cbx_status cbx__output_read(cbx__session *s, const cbx_benchmark_command *c, const char *text, size_t len,
                            cbx__launch *out, cbx_err *err)
{
    slice object = c->metrics == CBX_COMMAND_NONE ? (slice){ text, 0 } : find_object(text, len);
    cbx_json *told = NULL, *json;
    cbx_err why = CBX_ERR_INIT;
    cbx_status st = CBX_OK;

    if (!object.len && c->metrics == CBX_COMMAND_STDOUT) {
        cbx__launch_fail(s, out, "output", CBX_EFORMAT, "its last line is no JSON object with metrics");
        return CBX_OK;
    }
    if (object.len) st = cbx_json_parse(object.text, object.len, "its output", &told, &why);
    if (!st) {
        json = run_of(c, told);
        st = json ? cbx_run_from_json(s->ctx, json, "its output", &out->run, &why)
                  : cbx_fail(&why, CBX_ENOMEM, "out of memory for what a command printed");
        cbx_json_unref(json);
    }
    if (!st) st = with_defs(s, c, &out->run, &why);
    cbx_json_unref(told);
    if (!st) return CBX_OK;
    cbx__launch_clear(out);
    if (st == CBX_ENOMEM) return cbx_fail(err, st, "%s", why.message);
    cbx__launch_fail(s, out, "output", st, "%s", why.message);
    return CBX_OK;
}
