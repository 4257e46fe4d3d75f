/*
 * Runs to and from JSON, in the layout of the Python package: json.dumps(run.to_dict(), indent=2).
 *
 * A run that was read keeps the objects of its points and definitions if they have unknown members,
 * and the text of its time if that has an offset, so that reading and writing a file gives the same
 * bytes.
 */
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/json_put.h"
#include "calibrax/core/run_internal.h"

static const char *const run_keys[] = { "id",       "timestamp",   "commit", "branch", "environment",
                                        "metadata", "metric_defs", "points", NULL };
static const char *const point_keys[] = { "name", "scenario", "tags", "metrics", NULL };

/* --- writing --- */

cbx_json *cbx__run_point_json(const cbx_point *p, const cbx_json *raw)
{
    cbx_json *v = cbx_json_object(J_TEXT("name", p->name), J_TEXT("scenario", p->scenario));

    cbx__set_tags(v, p->tags, p->ntags);
    cbx__set_metrics(v, p->metrics, p->nmetrics, raw);
    cbx__keep_unknown(v, raw, point_keys);
    return cbx_json_finish(v);
}

cbx_json *cbx__run_head_json(const cbx_run *run, const char *timestamp)
{
    cbx_json *v = cbx_json_object(J_TEXT("id", run->id), J_TEXT("timestamp", timestamp), J_TEXT("commit", run->commit),
                                  J_TEXT("branch", run->branch), J_COPY("environment", run->environment),
                                  J_COPY("metadata", run->metadata));
    cbx_json *defs = cbx_json_set_object(v, "metric_defs");

    for (size_t i = 0; i < run->defs.n; i++)
        cbx__set_def(defs, run->defs.items[i].key, &run->defs.items[i].def, run->defs.items[i].raw);
    cbx_json_set_array(v, "points");
    cbx__keep_unknown(v, run->extra, run_keys);
    return cbx_json_finish(v);
}

static cbx_json *run_json(const cbx_run *run, const char *timestamp)
{
    cbx_json *v = cbx__run_head_json(run, timestamp), *points = cbx_json_get(v, "points");

    for (size_t i = 0; i < run->points.n; i++)
        cbx_json_push(points, cbx__run_point_json(&run->points.items[i].view, run->points.items[i].raw));
    return v;
}

const char *cbx__run_time_text(const cbx_run *run, char buf[CBX_TIME_SIZE])
{
    char *fraction;

    if (run->timestamp_text) return run->timestamp_text;
    cbx_time_format_iso(run->timestamp_us, buf);
    fraction = strstr(buf, ".000000"); /* which Python's isoformat leaves out */
    if (fraction) memmove(fraction, fraction + 7, strlen(fraction + 7) + 1);
    return buf;
}

cbx_json *cbx_run_to_json(const cbx_run *run)
{
    char buf[CBX_TIME_SIZE];

    return cbx_json_finish(run_json(run, cbx__run_time_text(run, buf)));
}

cbx_json *cbx_run_head_to_json(const cbx_run *run)
{
    char buf[CBX_TIME_SIZE];

    return cbx__run_head_json(run, cbx__run_time_text(run, buf));
}

cbx_json *cbx_run_point_to_json(const cbx_run *run, size_t i)
{
    if (i >= run->points.n) return NULL;
    return cbx__run_point_json(&run->points.items[i].view, run->points.items[i].raw);
}

cbx_status cbx__run_canonical(const cbx_run *run, cbx_text *out, cbx_err *err)
{
    char buf[CBX_TIME_SIZE];
    cbx_json *v = run_json(run, cbx_time_format_iso(run->timestamp_us, buf));

    if (!v) return cbx_fail_nomem(err, NULL);
    cbx_json_write(v, CBX_JSON_COMPACT | CBX_JSON_SORT_KEYS, out);
    cbx_json_unref(v);
    return cbx_text_check(out, err);
}

/* --- reading --- */

/* A time with an offset, "...+00:00", is kept as text, but for a leap second, which Python does not
 * read. */
static bool is_kept(const char *text)
{
    size_t n = strlen(text), second = n > 4 && text[4] == '-' ? 17 : 13; /* 2026-02-20T11:34:24, 20260220T113424 */

    return n > 6 && (text[n - 6] == '+' || text[n - 6] == '-') && text[n - 3] == ':' &&
           !(n > second && text[second] == '6');
}

static cbx_status read_free_form(const cbx_json *v, const char *key, const cbx_run *run, cbx_json **slot, cbx_err *err)
{
    cbx_json *object, *kept;
    cbx_status st = cbx__read_maybe_object(v, key, "", &object, err);

    if (!st && object) st = cbx__run_keep(run, object, &kept, err);
    if (st || !object) return st;
    cbx_json_unref(*slot);
    *slot = kept;
    return CBX_OK;
}

static cbx_status read_defs(const cbx_json *v, cbx_run *run, cbx_err *err)
{
    cbx_json *defs, *value;
    const char *key;
    cbx_status st = cbx__read_maybe_object(v, "metric_defs", "", &defs, err);

    for (size_t i = 0; !st && cbx_json_member(defs, i, &key, &value); i++) {
        char path[CBX__PATH_SIZE];
        cbx_metric_def def;
        st = cbx_json_need_object(defs, key, "metric_defs", &value, err);
        if (!st) st = cbx__read_def(value, cbx__path(path, "metric_defs", key), &def, err);
        if (!st) st = cbx__run_put_def(run, key, &def, value, err);
    }
    return st;
}

cbx_status cbx__run_view_point(const cbx_json *v, const char *path, const cbx__bad_sample *bad, cbx_arena *arena,
                               cbx_point *out, cbx_json **raw, cbx_err *err)
{
    cbx_point p = { 0 };
    cbx_status st;

    if (cbx_json_typeof(v) != CBX_JSON_OBJECT) return cbx_fail(err, CBX_EFORMAT, "'%s': expected an object", path);
    st = cbx_json_need_string(v, "name", path, &p.name, err);
    if (!st) st = cbx_json_need_string(v, "scenario", path, &p.scenario, err);
    if (!st) st = cbx__read_tags(arena, v, path, &p.tags, &p.ntags, err);
    if (!st) st = cbx__read_metrics(arena, v, path, bad, &p.metrics, &p.nmetrics, err);
    if (st) return st;
    *out = p;
    if (raw) *raw = cbx__has_unknown(v, point_keys) ? (cbx_json *)(uintptr_t)v : NULL;
    return CBX_OK;
}

/* The path of every point is made, whether a message needs it or not: no printf. */
void cbx__run_point_path(size_t i, char path[CBX__PATH_SIZE])
{
    char digits[24], *at = digits + sizeof digits;

    *--at = '\0';
    do *--at = (char)('0' + i % 10);
    while (i /= 10);
    cbx__path(path, "points", at);
}

cbx_status cbx__run_read_front(const cbx_json *v, cbx_run *run, cbx_err *err)
{
    cbx_status st;

    if (cbx_json_typeof(v) != CBX_JSON_OBJECT) return cbx_fail(err, CBX_EFORMAT, "expected an object");
    const char *id = NULL, *timestamp = NULL, *commit = NULL, *branch = NULL;
    int64_t version = cbx_json_get_int(v, "schema_version", 0);
    cbx_err why = CBX_ERR_INIT;
    st = cbx_json_need_string(v, "id", "", &id, err);
    if (!st && version > CBX_RUN_SCHEMA_VERSION)
        st = cbx_fail(err, CBX_EVERSION,
                      "'schema_version' is %lld, this release reads up to %d: use a later release of calibrax",
                      (long long)version, CBX_RUN_SCHEMA_VERSION);
    if (!st && !cbx_run_id_is_valid(id))
        st = cbx_fail(err, CBX_EFORMAT,
                      "'id': '%s' cannot name a file: leave out '/', control characters and a '.' in front", id);
    if (!st) st = cbx__record_text(&run->arena, id, "id", &run->id, err);
    if (!st) st = cbx_json_need_string(v, "timestamp", "", &timestamp, err);
    if (!st && cbx_time_parse_iso(timestamp, &run->timestamp_us, &why))
        st = cbx_fail(err, CBX_EFORMAT, "'timestamp': %s", why.message);
    if (!st && is_kept(timestamp))
        st = cbx__record_text(&run->arena, timestamp, "timestamp", &run->timestamp_text, err);
    if (!st) st = cbx__read_maybe_string(v, "commit", "", &commit, err);
    if (!st && commit) st = cbx__record_text(&run->arena, commit, "commit", &run->commit, err);
    if (!st) st = cbx__read_maybe_string(v, "branch", "", &branch, err);
    if (!st && branch) st = cbx__record_text(&run->arena, branch, "branch", &run->branch, err);
    if (!st) st = read_free_form(v, "environment", run, &run->environment, err);
    if (!st) st = read_free_form(v, "metadata", run, &run->metadata, err);
    return st ? st : read_defs(v, run, err);
}

cbx_status cbx__run_read_rest(const cbx_json *v, cbx_run *run, cbx_err *err)
{
    cbx__keep_unknown(run->extra, v, run_keys);
    return cbx_json_check(run->extra, err);
}

cbx_status cbx__run_refuse(const char *what, cbx_status st, const cbx_err *why, cbx_err *err)
{
    if (st == CBX_EINVAL) st = CBX_EFORMAT; /* a setter would have refused it */
    return cbx_fail(err, st, "'%s': %s", what, why->message);
}

cbx_status cbx_run_from_json(cbx_ctx *ctx, const cbx_json *json, const char *what, cbx_run **out, cbx_err *err)
{
    cbx_err why = CBX_ERR_INIT;
    cbx_run *run = NULL;
    cbx_json *points = NULL, *raw;
    cbx_status st = cbx__run_new(cbx_ctx_allocator(ctx), &run, &why);

    if (!st) st = cbx__run_read_front(json, run, &why);
    if (!st) st = cbx_json_need_array(json, "points", "", &points, &why);
    for (size_t i = 0; !st && i < cbx_json_length(points); i++) {
        char path[CBX__PATH_SIZE];
        cbx_point p;
        cbx__run_point_path(i, path);
        st = cbx__run_view_point(cbx_json_at(points, i), path, NULL, &run->arena, &p, &raw, &why);
        if (!st) st = cbx__run_point_text(&run->arena, &p, &why);
        if (!st) st = cbx__run_own_point(run, &p, raw, &why);
    }
    if (!st) st = cbx__run_read_rest(json, run, &why);
    if (!st) *out = run;
    if (!st) return CBX_OK;
    cbx_run_free(run);
    return cbx__run_refuse(what, st, &why, err);
}

cbx_status cbx_run_defs_read(cbx_ctx *ctx, const char *path, cbx_run **out, cbx_err *err)
{
    cbx_err why = CBX_ERR_INIT;
    cbx_json *v = NULL;
    cbx_run *run = NULL;
    cbx_status st = cbx_json_read(ctx, path, &v, err);

    if (st) return st;
    st = cbx__run_new(cbx_ctx_allocator(ctx), &run, &why);
    if (!st && cbx_json_typeof(v) != CBX_JSON_OBJECT) st = cbx_fail(&why, CBX_EFORMAT, "expected an object");
    if (!st) st = read_defs(v, run, &why);
    cbx_json_unref(v);
    if (!st) *out = run;
    if (!st) return CBX_OK;
    cbx_run_free(run);
    return cbx__run_refuse(path, st, &why, err);
}
