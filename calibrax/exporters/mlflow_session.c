/*
 * Names that MLflow accepts, values in batches, and runs by their tags.
 *
 * A name is made of parts with slashes between them, and differs where the parts differ.  MLflow's
 * names have the characters [A-Za-z0-9_. /-]: any other byte of a part is _xHH_ (capital digits),
 * also a slash, a '_' before an 'x', and a '.' before another one or alone; an empty part is _x_.
 * "_x" of a name therefore begins an escape, from the left.  A name of more than 250 bytes is cut
 * behind a character and ends in _xh, a hash of it all in small digits and '_', which no other
 * name has.
 */
#include "calibrax/exporters/mlflow_session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/hash.h"
#include "calibrax/base/json_put.h"
#include "calibrax/base/together.h"
#include "calibrax/core/owned.h"

enum { MAX_PARAM = 6000, MAX_TAG = 5000, MAX_METRICS = 1000, MAX_TEXTS = 100, MAX_PAGES = 100000 };

void cbx__mlflow_session_init(cbx__mlflow_session *e, const cbx_allocator *al)
{
    *e = (cbx__mlflow_session){ .page = 1000 };
    cbx_arena_init(&e->arena, al);
    cbx_text_init(&e->name, al);
}

void cbx__mlflow_session_clear(cbx__mlflow_session *e)
{
    cbx_list_clear(&e->name.al, &e->tags_in_order);
    cbx_text_clear(&e->name);
    cbx_arena_clear(&e->arena);
    cbx__mlflow_close(e->server);
}

/* --- names and values --- */

static void put_part(cbx_text *out, const char *s)
{
    if (out->len) cbx_text_putc(out, '/');
    if (!*s) cbx_text_puts(out, "_x_");
    for (const char *c = s; *c; c++) {
        bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
                     strchr("_. -", *c);
        if ((*c == '_' && c[1] == 'x') || (c == s && *c == '.' && (!c[1] || c[1] == '.'))) plain = false;
        if (plain)
            cbx_text_putc(out, *c);
        else
            cbx_text_printf(out, "_x%02X_", (unsigned)(unsigned char)*c);
    }
}

/* Where a name may be cut: n bytes, or less if an escape would be cut. */
static size_t cut_at(const char *name, size_t n)
{
    for (size_t i = 0, size = 1; i < n; i += size) {
        size = name[i] == '_' && name[i + 1] == 'x' ? (name[i + 2] == '_' ? 3 : 5) : 1;
        if (i + size > n) return i;
    }
    return n;
}

/* Cuts what is longer than MLflow allows. */
static const char *name_of(cbx__mlflow_session *e)
{
    char hash[CBX_HASH_SIZE];
    cbx_text *name = &e->name;

    if (name->status) return NULL;
    if (name->len > CBX__MLFLOW_NAME_MAX) {
        size_t n = cut_at(name->data, CBX__MLFLOW_NAME_MAX - (sizeof "_xh_" - 1) - (CBX_HASH_SIZE - 1));
        cbx_hash_bytes(name->data, name->len, hash);
        snprintf(name->data + n, name->len - n, "_xh%s_", hash);
        e->shortened++;
    }
    return name->data;
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
    cbx_text *out = &e->name;

    cbx_text_reset(out);
    if (prefix) cbx_text_puts(out, prefix);
    put_part(out, name);
    if (p) {
        put_part(out, p->scenario);
        put_part(out, p->name);
        if (!cbx_list_reserve(&e->name.al, &e->tags_in_order, p->ntags + 1)) return NULL;
        if (p->ntags) memcpy(e->tags_in_order.items, p->tags, p->ntags * sizeof *p->tags);
        qsort(e->tags_in_order.items, p->ntags, sizeof *p->tags, cbx_tag_compare);
        for (size_t i = 0; i < p->ntags; i++) {
            put_part(out, e->tags_in_order.items[i].key);
            put_part(out, e->tags_in_order.items[i].value);
        }
    }
    return name_of(e);
}

const char *cbx__mlflow_name_against(cbx__mlflow_session *e, const char *baseline, const char *key)
{
    cbx_text_reset(&e->name);
    cbx_text_puts(&e->name, "regression/against");
    put_part(&e->name, baseline);
    put_part(&e->name, key);
    return name_of(e);
}

/* --- what is logged --- */

void cbx__mlflow_push_tag(cbx_json *list, const char *key, const char *value)
{
    cbx_json_put(cbx_json_push_object(list), J_TEXT("key", key), J_TEXT("value", value));
}

static void begin_batch(cbx__mlflow_session *e)
{
    e->metrics = cbx_json_new_array();
    e->params = cbx_json_new_array();
    e->tags = cbx_json_new_array();
}

/* Sends what waits, and takes it. */
static void send(cbx__mlflow_session *e)
{
    cbx_json *body = cbx_json_object(J_TEXT("run_id", e->to), J_JSON("metrics", e->metrics),
                                     J_JSON("params", e->params), J_JSON("tags", e->tags));

    e->metrics = e->params = e->tags = NULL;
    e->st = cbx__mlflow_call(e->server, "runs/log-batch", body, NULL, e->err);
}

static void send_if_full(cbx__mlflow_session *e)
{
    if (cbx_json_length(e->metrics) + 2 * MAX_TEXTS < MAX_METRICS && cbx_json_length(e->params) < MAX_TEXTS &&
        cbx_json_length(e->tags) < MAX_TEXTS)
        return;
    send(e);
    begin_batch(e);
}

void cbx__mlflow_log_begin(cbx__mlflow_session *e, const char *to, cbx_err *err)
{
    e->to = to;
    e->st = CBX_OK;
    e->err = err;
    begin_batch(e);
}

cbx_status cbx__mlflow_log_end(cbx__mlflow_session *e, cbx_status st)
{
    if (!e->st) e->st = st;
    if (!e->st) e->st = cbx_json_check(e->metrics, e->err);
    if (!e->st && (cbx_json_length(e->metrics) || cbx_json_length(e->params) || cbx_json_length(e->tags))) send(e);
    cbx_json_unref(e->metrics);
    cbx_json_unref(e->params);
    cbx_json_unref(e->tags);
    e->metrics = e->params = e->tags = NULL;
    return e->st;
}

static void log_text(cbx__mlflow_session *e, cbx_json *to, const char *name, const char *value, size_t max)
{
    if (e->st) return;
    value = cbx__mlflow_fit(e, value, max);
    if (!name || !value) {
        e->st = cbx_fail_nomem(e->err, "an export");
        return;
    }
    cbx__mlflow_push_tag(to, name, value);
    send_if_full(e);
}

void cbx__mlflow_log_param(cbx__mlflow_session *e, const char *name, const char *value)
{
    log_text(e, e->params, name, value, MAX_PARAM);
}

void cbx__mlflow_log_tag(cbx__mlflow_session *e, const char *name, const char *value)
{
    log_text(e, e->tags, name, value, MAX_TAG);
}

void cbx__mlflow_log_metric(cbx__mlflow_session *e, const char *name, double value, size_t step)
{
    if (!e->st && !name) e->st = cbx_fail_nomem(e->err, "an export");
    if (e->st) return;
    e->infinite += isinf(value);
    cbx_json_put(cbx_json_push_object(e->metrics), J_TEXT("key", name), J_NUMBER("value", value),
                 J_INT("timestamp", cbx_run_timestamp_us(e->run) / 1000), J_INT("step", step));
    send_if_full(e);
}

/* --- runs on the server --- */

/* A page of the runs.  An answer has all of each run: one that is too long is asked for again with
 * fewer of them. */
static cbx_status search(cbx__mlflow_session *e, const char *filter, const char *token, cbx_json **out, cbx_err *err)
{
    static const char *const order[] = { "attribute.start_time ASC" };
    cbx_status st;

    do {
        cbx_json *body = cbx_json_object(J_TEXTS("experiment_ids", &e->experiment, 1), J_TEXT("filter", filter),
                                         J_INT("max_results", e->page), J_TEXTS("order_by", order, 1),
                                         J_GIVEN("page_token", token));
        st = cbx__mlflow_call(e->server, "runs/search", body, out, err);
    } while (st == CBX_EOVERFLOW && e->page > 1 && (e->page /= 10));
    return st;
}

cbx_status cbx__mlflow_list(cbx__mlflow_session *e, const char *filter, cbx__mlflow_remote **out, size_t *n,
                            cbx_err *err)
{
    CBX_LIST(cbx__mlflow_remote) all = { 0 };
    const char *token = NULL;
    size_t pages = 0, runs;
    cbx_status st = filter ? CBX_OK : cbx_fail_nomem(err, "an export");

    do {
        CBX_OWNED(cbx_json) *answer = NULL;
        const cbx_json *list;
        if (pages++ > MAX_PAGES)
            return cbx_fail(err, CBX_EPROTO, "'%s' does not answer as an MLflow server does: its pages do not end",
                            cbx__mlflow_address(e->server));
        if (!st) st = search(e, filter, token, &answer, err);
        if (st) return st;
        list = cbx_json_get(answer, "runs");
        runs = cbx_json_length(list);
        for (size_t i = 0; !st && i < runs; i++) {
            cbx__mlflow_remote remote;
            if (!cbx__mlflow_remote_read(&e->arena, cbx_json_at(list, i), &remote) ||
                !cbx_list_push(CBX_IN_ARENA(&e->arena), &all, remote))
                st = cbx_fail_nomem(err, "an export");
        }
        token = cbx_json_get_string(answer, "next_page_token", "");
        token = *token ? cbx_arena_strdup(&e->arena, token) : NULL;
    } while (!st && token && runs);
    *out = all.items;
    *n = all.n;
    return st;
}

cbx_status cbx__mlflow_find(cbx__mlflow_session *e, const char *filter, cbx__mlflow_remote *out, size_t *count,
                            cbx_err *err)
{
    cbx__mlflow_remote *all;
    cbx_status st = cbx__mlflow_list(e, filter, &all, count, err);

    for (size_t i = 0; !st && i < *count; i++)
        if (!i || cbx__mlflow_remote_precedes(&all[i], out)) *out = all[i];
    return st;
}

cbx_status cbx__mlflow_delete(cbx__mlflow_session *e, const char *id, cbx_err *err)
{
    cbx_status st = cbx__mlflow_call(e->server, "runs/delete", cbx_json_object(J_TEXT("run_id", id)), NULL, err);

    return st == CBX_ENOENT ? CBX_OK : st;
}

cbx_status cbx__mlflow_make(cbx__mlflow_session *e, const char *name, cbx_json *tags, const char *filter,
                            cbx__mlflow_remote *out, cbx_err *err)
{
    CBX_OWNED(cbx_json) *answer = NULL;
    CBX_OWNED(cbx_json) *body = cbx_json_object(J_TEXT("experiment_id", e->experiment), J_TEXT("run_name", name),
                                                J_INT("start_time", cbx_run_timestamp_us(e->run) / 1000),
                                                J_JSON("tags", tags));
    bool again = true;
    size_t found = 0;
    cbx_status st = CBX_OK;

    for (int i = 0; again; i++) {
        st = cbx__mlflow_call_once(e->server, "runs/create", cbx_json_ref(body), i, &again, &answer, err);
        if (!again) break;
        st = cbx__mlflow_find(e, filter, out, &found, err);
        if (st || found) break;
    }
    if (st || found) return st;
    return cbx__mlflow_remote_read(&e->arena, cbx_json_get(answer, "run"), out) ? CBX_OK
                                                                                : cbx_fail_nomem(err, "an export");
}

cbx_status cbx__mlflow_finish(cbx__mlflow_session *e, const char *id, cbx_err *err)
{
    cbx_json *body = cbx_json_object(J_TEXT("run_id", id), J_TEXT("status", "FINISHED"),
                                     J_INT("end_time", cbx_run_timestamp_us(e->run) / 1000));

    return cbx__mlflow_call(e->server, "runs/update", body, NULL, err);
}

/* Two exports may make it at a time. */
cbx_status cbx__mlflow_open_experiment(cbx__mlflow_session *e, const char *name, cbx_arena *arena, cbx_err *err)
{
    CBX_OWNED(cbx_json) *answer = NULL;
    cbx_text call = cbx__arena_text(arena);
    cbx_status st;

    cbx_text_puts(&call, "experiments/get-by-name?experiment_name=");
    for (const char *c = name; *c; c++) cbx_text_printf(&call, "%%%02X", (unsigned)(unsigned char)*c);
    st = cbx_text_check(&call, err);
    if (!st) st = cbx__mlflow_call(e->server, cbx_text_str(&call), NULL, &answer, err);
    if (st == CBX_ENOENT) {
        st = cbx__mlflow_call(e->server, "experiments/create", cbx_json_object(J_TEXT("name", name)), NULL, err);
        if (!st || st == CBX_EEXIST) st = cbx__mlflow_call(e->server, cbx_text_str(&call), NULL, &answer, err);
    }
    if (st) return st;
    const cbx_json *experiment = cbx_json_get(answer, "experiment");
    if (strcmp(cbx_json_get_string(experiment, "lifecycle_stage", "active"), "active"))
        return cbx_fail(err, CBX_EPERM, "the experiment '%s' of '%s' was deleted: restore it, or choose another one",
                        name, cbx__mlflow_address(e->server));
    e->experiment = cbx_arena_strdup(arena, cbx_json_get_string(experiment, "experiment_id", ""));
    return e->experiment ? CBX_OK : cbx_fail_nomem(err, "an export");
}
