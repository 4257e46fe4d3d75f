/*
 * Names that MLflow accepts, values in batches, and runs by their tags.
 *
 * MLflow's names have the characters [A-Za-z0-9_. /-].  Any other byte of a part is _xHH_, also a
 * slash, and so is the '_' of what would read as that; an empty part is _x_.
 */
#include "calibrax/exporters/mlflow_session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/hash.h"

enum { MAX_PARAM = 6000, MAX_TAG = 5000, MAX_METRICS = 1000, MAX_TEXTS = 100 };

/* --- names and values --- */

static bool is_escape(const char *s)
{
    static const char hex[] = "0123456789ABCDEF";

    return s[0] == '_' && s[1] == 'x' &&
           (s[2] == '_' || (s[2] && strchr(hex, s[2]) && s[3] && strchr(hex, s[3]) && s[4] == '_'));
}

static void put_part(cbx_text *out, const char *s)
{
    bool dots = !strcmp(s, ".") || !strcmp(s, "..");

    if (!*s) cbx_text_puts(out, "_x_");
    for (; *s; s++) {
        bool plain = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
                     strchr("_. -", *s);
        if (plain && !is_escape(s) && !dots)
            cbx_text_putc(out, *s);
        else
            cbx_text_printf(out, "_x%02X_", (unsigned)(unsigned char)*s);
    }
}

const char *cbx__mlflow_fit(cbx__mlflow_session *e, const char *s, size_t max)
{
    char hash[CBX_HASH_SIZE];
    size_t n = s ? strlen(s) : 0;

    if (n <= max) return s;
    cbx_hash_bytes(s, n, hash);
    e->shortened++;
    for (n = max - 20; n && ((unsigned char)s[n] & 0xC0) == 0x80;) n--; /* whole characters */
    return cbx_arena_printf(&e->arena, "%.*s...%.16s", (int)n, s, hash);
}

const char *cbx__mlflow_name(cbx__mlflow_session *e, const char *prefix, const char *name, const cbx_point *p)
{
    cbx_allocator al = cbx_arena_allocator(&e->arena);
    cbx_text out;

    cbx_text_init(&out, &al);
    if (prefix) cbx_text_printf(&out, "%s/", prefix);
    put_part(&out, name);
    if (p) {
        cbx_tag *tags = cbx_arena_calloc(&e->arena, p->ntags + 1, sizeof *tags);
        cbx_text_putc(&out, '/');
        put_part(&out, p->scenario);
        cbx_text_putc(&out, '/');
        put_part(&out, p->name);
        if (!tags) return NULL;
        if (p->ntags) memcpy(tags, p->tags, p->ntags * sizeof *tags);
        qsort(tags, p->ntags, sizeof *tags, cbx_tag_compare);
        for (size_t i = 0; i < p->ntags; i++) {
            cbx_text_putc(&out, '/');
            put_part(&out, tags[i].key);
            cbx_text_putc(&out, '/');
            put_part(&out, tags[i].value);
        }
    }
    return out.status ? NULL : cbx__mlflow_fit(e, cbx_text_str(&out), CBX__MLFLOW_NAME_MAX);
}

/* --- what is logged --- */

void cbx__mlflow_log_begin(cbx__mlflow_session *e, const char *to)
{
    e->to = to;
    e->metrics = cbx_json_new_array();
    e->params = cbx_json_new_array();
    e->tags = cbx_json_new_array();
}

static void drop(cbx__mlflow_session *e)
{
    cbx_json_unref(e->metrics);
    cbx_json_unref(e->params);
    cbx_json_unref(e->tags);
    e->metrics = e->params = e->tags = NULL;
}

static cbx_status send(cbx__mlflow_session *e, cbx_err *err)
{
    cbx_json *body = cbx_json_new_object();

    cbx_json_set_string(body, "run_id", e->to);
    cbx_json_set(body, "metrics", e->metrics);
    cbx_json_set(body, "params", e->params);
    cbx_json_set(body, "tags", e->tags);
    e->metrics = e->params = e->tags = NULL;
    return cbx__mlflow_call(e->server, "runs/log-batch", body, NULL, err);
}

cbx_status cbx__mlflow_log_end(cbx__mlflow_session *e, cbx_status st, cbx_err *err)
{
    if (!st) st = cbx_json_check(e->metrics, err);
    if (!st && (cbx_json_length(e->metrics) || cbx_json_length(e->params) || cbx_json_length(e->tags)))
        st = send(e, err);
    drop(e);
    return st;
}

static cbx_status send_if_full(cbx__mlflow_session *e, cbx_err *err)
{
    const char *to = e->to;
    cbx_status st;

    if (cbx_json_length(e->metrics) + 2 * MAX_TEXTS < MAX_METRICS && cbx_json_length(e->params) < MAX_TEXTS &&
        cbx_json_length(e->tags) < MAX_TEXTS)
        return CBX_OK;
    st = send(e, err);
    if (!st) cbx__mlflow_log_begin(e, to);
    return st;
}

static cbx_status log_text(cbx__mlflow_session *e, cbx_json *to, const char *name, const char *value, size_t max,
                           cbx_err *err)
{
    cbx_json *o = cbx_json_push_object(to);

    value = cbx__mlflow_fit(e, value, max);
    if (!name || !value) return cbx_fail_nomem(err, "an export");
    cbx_json_set_string(o, "key", name);
    cbx_json_set_string(o, "value", value);
    return send_if_full(e, err);
}

cbx_status cbx__mlflow_log_param(cbx__mlflow_session *e, const char *name, const char *value, cbx_err *err)
{
    return log_text(e, e->params, name, value, MAX_PARAM, err);
}

cbx_status cbx__mlflow_log_tag(cbx__mlflow_session *e, const char *name, const char *value, cbx_err *err)
{
    return log_text(e, e->tags, name, value, MAX_TAG, err);
}

cbx_status cbx__mlflow_log_metric(cbx__mlflow_session *e, const char *name, double value, size_t step, cbx_err *err)
{
    cbx_json *o = cbx_json_push_object(e->metrics);

    if (!name) return cbx_fail_nomem(err, "an export");
    e->infinite += isinf(value);
    cbx_json_set_string(o, "key", name);
    cbx_json_set_double(o, "value", value);
    cbx_json_set_int(o, "timestamp", cbx_run_timestamp_us(e->run) / 1000);
    cbx_json_set_int(o, "step", (int64_t)step);
    return send_if_full(e, err);
}

/* --- runs on the server --- */

void cbx__mlflow_push_tag(cbx_json *list, const char *key, const char *value)
{
    cbx_json *o = cbx_json_push_object(list);

    cbx_json_set_string(o, "key", key);
    cbx_json_set_string(o, "value", value);
}

const char *cbx__mlflow_tag_of(const cbx_json *run, const char *key)
{
    const cbx_json *tags = cbx_json_get(cbx_json_get(run, "data"), "tags");

    for (size_t i = 0; i < cbx_json_length(tags); i++)
        if (!strcmp(cbx_json_get_string(cbx_json_at(tags, i), "key", ""), key))
            return cbx_json_get_string(cbx_json_at(tags, i), "value", NULL);
    return NULL;
}

cbx_status cbx__mlflow_take(cbx__mlflow_session *e, const cbx_json *run, cbx__mlflow_remote *out, cbx_err *err)
{
    const cbx_json *info = cbx_json_get(run, "info");
    const char *id = cbx_json_get_string(info, "run_id", NULL),
               *complete = cbx__mlflow_tag_of(run, "calibrax.complete");

    if (!id || !*id)
        return cbx_fail(err, CBX_EPROTO, "'%s' does not answer as an MLflow server does: a run has no id",
                        cbx__mlflow_address(e->server));
    out->id = cbx_arena_strdup(&e->arena, id);
    out->artifacts = cbx_arena_strdup(&e->arena, cbx_json_get_string(info, "artifact_uri", ""));
    out->finished = !strcmp(cbx_json_get_string(info, "status", ""), "FINISHED");
    out->complete = complete && !strcmp(complete, "1");
    return out->id && out->artifacts ? CBX_OK : cbx_fail_nomem(err, "an export");
}

cbx_status cbx__mlflow_search(cbx__mlflow_session *e, const char *filter, const char **token, cbx_json **out,
                              cbx_err *err)
{
    cbx_json *body = cbx_json_new_object(), *answer;
    const char *next;
    cbx_status st;

    cbx_json_push_string(cbx_json_set_array(body, "experiment_ids"), e->experiment);
    cbx_json_set_string(body, "filter", filter);
    cbx_json_set_int(body, "max_results", 1000);
    cbx_json_push_string(cbx_json_set_array(body, "order_by"), "attribute.start_time ASC");
    if (*token) cbx_json_set_string(body, "page_token", *token);
    st = filter ? CBX_OK : cbx_fail_nomem(err, "an export");
    if (st) {
        cbx_json_unref(body);
        return st;
    }
    st = cbx__mlflow_call(e->server, "runs/search", body, &answer, err);
    if (st) return st;
    next = cbx_json_get_string(answer, "next_page_token", NULL);
    *token = next && *next ? cbx_arena_strdup(&e->arena, next) : NULL;
    *out = answer;
    return CBX_OK;
}

cbx_status cbx__mlflow_find(cbx__mlflow_session *e, const char *filter, cbx__mlflow_remote *out, bool *found,
                            cbx_err *err)
{
    const char *token = NULL;
    cbx_json *answer, *run;
    cbx_status st = cbx__mlflow_search(e, filter, &token, &answer, err);

    if (st) return st;
    run = cbx_json_at(cbx_json_get(answer, "runs"), 0);
    *found = run;
    if (run) st = cbx__mlflow_take(e, run, out, err);
    cbx_json_unref(answer);
    return st;
}

cbx_status cbx__mlflow_make(cbx__mlflow_session *e, const char *name, cbx_json *tags, const char *filter,
                            cbx__mlflow_remote *out, cbx_err *err)
{
    cbx_json *body = cbx_json_new_object(), *answer = NULL;
    bool again = true, found = false;
    cbx_status st = CBX_OK;

    cbx_json_set_string(body, "experiment_id", e->experiment);
    cbx_json_set_string(body, "run_name", name);
    cbx_json_set_int(body, "start_time", cbx_run_timestamp_us(e->run) / 1000);
    cbx_json_set(body, "tags", tags);
    for (int i = 0; again; i++) {
        st = cbx__mlflow_call_once(e->server, "runs/create", cbx_json_ref(body), i, &again, &answer, err);
        if (!again) break;
        st = cbx__mlflow_find(e, filter, out, &found, err);
        if (st || found) break;
    }
    if (!st && !found) st = cbx__mlflow_take(e, cbx_json_get(answer, "run"), out, err);
    cbx_json_unref(answer);
    cbx_json_unref(body);
    return st;
}

cbx_status cbx__mlflow_finish(cbx__mlflow_session *e, const char *id, cbx_err *err)
{
    cbx_json *body = cbx_json_new_object();

    cbx_json_set_string(body, "run_id", id);
    cbx_json_set_string(body, "status", "FINISHED");
    cbx_json_set_int(body, "end_time", cbx_run_timestamp_us(e->run) / 1000);
    return cbx__mlflow_call(e->server, "runs/update", body, NULL, err);
}

/* Two exports may make it at a time. */
cbx_status cbx__mlflow_open_experiment(cbx__mlflow_session *e, const char *name, cbx_arena *arena, cbx_err *err)
{
    cbx_allocator al = cbx_arena_allocator(arena);
    cbx_json *body = cbx_json_new_object(), *answer = NULL;
    const char *id;
    cbx_text call;
    cbx_status st;

    cbx_json_set_string(body, "name", name);
    cbx_text_init(&call, &al);
    cbx_text_puts(&call, "experiments/get-by-name?experiment_name=");
    for (const char *c = name; *c; c++) cbx_text_printf(&call, "%%%02X", (unsigned)(unsigned char)*c);
    st = cbx_text_check(&call, err);
    if (!st) st = cbx__mlflow_call(e->server, cbx_text_str(&call), NULL, &answer, err);
    if (st == CBX_ENOENT) {
        st = cbx__mlflow_call(e->server, "experiments/create", cbx_json_ref(body), NULL, err);
        if (!st || st == CBX_EEXIST) st = cbx__mlflow_call(e->server, cbx_text_str(&call), NULL, &answer, err);
    }
    id = cbx_json_get_string(cbx_json_get(answer, "experiment"), "experiment_id", NULL);
    if (!st && (!id || !*id))
        st = cbx_fail(err, CBX_EPROTO, "'%s' does not answer as an MLflow server does: the experiment has no id",
                      cbx__mlflow_address(e->server));
    if (!st && strcmp(cbx_json_get_string(cbx_json_get(answer, "experiment"), "lifecycle_stage", "active"), "active"))
        st = cbx_fail(err, CBX_EPERM, "the experiment '%s' of '%s' was deleted: restore it, or choose another one",
                      name, cbx__mlflow_address(e->server));
    e->experiment = st ? NULL : cbx_arena_strdup(arena, id);
    if (!st && !e->experiment) st = cbx_fail_nomem(err, "an export");
    cbx_json_unref(answer);
    cbx_json_unref(body);
    return st;
}
