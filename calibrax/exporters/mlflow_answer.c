/*
 * Answers of an MLflow server, or of a proxy before it.
 */
#include "calibrax/exporters/mlflow_answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/core/owned.h"

/* --- failures --- */

/* A server may repeat what it was sent: words with a credential are not shown. */
static bool has_secret(const char *words)
{
    static const char *const names[] = { "MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_PASSWORD" };

    for (size_t i = 0; i < CBX_LEN(names); i++) {
        const char *secret = getenv(names[i]);
        if (secret && *secret && strstr(words, secret)) return true;
    }
    return strstr(words, "Basic ") || strstr(words, "Bearer ");
}

#define LOG_IN "set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN"

/* Failures whose remedy is known, by status of HTTP. */
static const struct {
    long first, last;
    cbx_status status;
    const char *what, *remedy;
} refusals[] = {
    { 300, 399, CBX_EPROTO, "redirects",
      "give the address that it leads to, or log in at the proxy before the server" },
    { 401, 401, CBX_EPERM, "refused access", LOG_IN },
    { 403, 403, CBX_EPERM, "refused access", LOG_IN },
    { 407, 407, CBX_EPERM, "is behind a proxy that asks for a password",
      "give it in http_proxy or https_proxy, or name the host in no_proxy" },
    { 413, 413, CBX_EPROTO, "or a proxy before it accepts no request of this size",
      "raise its limit (client_max_body_size of nginx)" },
};

static cbx_status refuse(const char *address, const char *call, long code, const cbx_json *answer, cbx_err *err)
{
    const char *word = cbx_json_get_string(answer, "error_code", ""),
               *words = cbx_json_get_string(answer, "message", "");
    size_t length = has_secret(words) ? 0 : strcspn(words, "\n");
    int n = (int)strcspn(call, "?");
    char reason[256]; /* ": words", on one line; "" */

    for (size_t i = 0; i < CBX_LEN(refusals); i++)
        if (code >= refusals[i].first && code <= refusals[i].last)
            return cbx_fail(err, refusals[i].status, "the MLflow server '%s' %s (%ld): %s", address, refusals[i].what,
                            code, refusals[i].remedy);
    snprintf(reason, sizeof reason, "%s%.*s%s", length ? ": " : "", (int)(length < 200 ? length : 200), words,
             length > 200 ? "..." : "");
    cbx_text_blank(reason);
    if (code == 404 && (!*word || !strcmp(word, "ENDPOINT_NOT_FOUND")))
        return cbx_fail(err, CBX_EPROTO,
                        "the server '%s' has no %.*s (404)%s: check that the address is that of MLflow 2.8 or later",
                        address, n, call, reason);
    return cbx_fail(err,
                    !strcmp(word, "RESOURCE_DOES_NOT_EXIST")   ? CBX_ENOENT
                    : !strcmp(word, "RESOURCE_ALREADY_EXISTS") ? CBX_EEXIST
                                                               : CBX_EPROTO,
                    "the MLflow server '%s' answered %ld to %.*s%s", address, code, n, call, reason);
}

/* --- what the API defines --- */

static bool has_text(const cbx_json *object, const char *key) { return *cbx_json_get_string(object, key, "") != '\0'; }

static bool is_nothing(const cbx_json *o) { return !cbx_json_length(o); }
static bool has_run(const cbx_json *o) { return has_text(cbx_json_get(cbx_json_get(o, "run"), "info"), "run_id"); }
static bool has_info(const cbx_json *o) { return has_text(cbx_json_get(o, "run_info"), "run_id"); }
static bool has_experiment_id(const cbx_json *o) { return has_text(o, "experiment_id"); }
static bool has_experiment(const cbx_json *o) { return has_text(cbx_json_get(o, "experiment"), "experiment_id"); }

/* No runs: the member is missing. */
static bool has_runs(const cbx_json *o)
{
    const cbx_json *runs = cbx_json_get(o, "runs");

    for (size_t i = 0; i < cbx_json_length(runs); i++)
        if (!has_text(cbx_json_get(cbx_json_at(runs, i), "info"), "run_id")) return false;
    return runs ? cbx_json_typeof(runs) == CBX_JSON_ARRAY : !cbx_json_length(o) || has_text(o, "next_page_token");
}

static const struct {
    const char *call;
    bool (*is_right)(const cbx_json *object);
    const char *lacks;
} definitions[] = {
    { "experiments/get-by-name", has_experiment, "an experiment with an id" },
    { "experiments/create", has_experiment_id, "the id of an experiment" },
    { "runs/create", has_run, "a run with an id" },
    { "runs/search", has_runs, "a list of runs with ids" },
    { "runs/update", has_info, "a run with an id" },
    { "runs/delete", is_nothing, "an empty object" },
    { "runs/log-batch", is_nothing, "an empty object" },
    { "artifacts", is_nothing, "an empty object" },
};

/* What is missing from an answer; NULL: nothing is. */
static const char *lack_of(const char *call, const cbx_json *object)
{
    const size_t n = strcspn(call, "?");

    if (cbx_json_typeof(object) != CBX_JSON_OBJECT) return "a JSON object";
    for (size_t i = 0; i < CBX_LEN(definitions); i++)
        if (strlen(definitions[i].call) == n && !strncmp(call, definitions[i].call, n))
            return definitions[i].is_right(object) ? NULL : definitions[i].lacks;
    return NULL;
}

cbx_status cbx__mlflow_answer_read(const char *address, const char *call, long code, const char *text, size_t len,
                                   bool *again, cbx_json **out, cbx_err *err)
{
    CBX_OWNED(cbx_json) *json = NULL;
    const char *lack;
    const bool nothing = !len && !strcmp(call, "artifacts"); /* of MLflow 3; before, it was "{}" */
    cbx_status st = nothing ? CBX_OK : cbx_json_parse(text, len, "an answer", &json, NULL);

    *again = st != CBX_ENOMEM && (code == 408 || code == 429 || code >= 500);
    if (st == CBX_ENOMEM) return cbx_fail_nomem(err, "an answer");
    if (code < 200 || code >= 300) return refuse(address, call, code, json, err);
    lack = nothing ? NULL : st ? "a JSON object" : lack_of(call, json);
    if (lack)
        return cbx_fail(err, CBX_EPROTO,
                        "'%s' does not answer as an MLflow server does: %.*s gave %ld without %s; check the address, "
                        "and http_proxy and no_proxy if a proxy answers in its place",
                        address, (int)strcspn(call, "?"), call, code, lack);
    if (out) *out = cbx_json_ref(json);
    return CBX_OK;
}

/* --- runs --- */

/* NULL: the run has no such tag. */
static const char *tag_of(const cbx_json *run, const char *key)
{
    const cbx_json *tags = cbx_json_get(cbx_json_get(run, "data"), "tags");

    for (size_t i = 0; i < cbx_json_length(tags); i++)
        if (!strcmp(cbx_json_get_string(cbx_json_at(tags, i), "key", ""), key))
            return cbx_json_get_string(cbx_json_at(tags, i), "value", NULL);
    return NULL;
}

bool cbx__mlflow_remote_read(cbx_arena *arena, const cbx_json *run, cbx__mlflow_remote *out)
{
    const cbx_json *info = cbx_json_get(run, "info"), *data = cbx_json_get(run, "data");
    const char *complete = tag_of(run, "calibrax.complete"), *point = tag_of(run, "calibrax.point");

    *out = (cbx__mlflow_remote){
        .id = cbx_arena_strdup(arena, cbx_json_get_string(info, "run_id", "")),
        .artifacts = cbx_arena_strdup(arena, cbx_json_get_string(info, "artifact_uri", "")),
        .point = cbx_arena_strdup(arena, point),
        .finished = !strcmp(cbx_json_get_string(info, "status", ""), "FINISHED"),
        .complete = complete && !strcmp(complete, "1"),
        .empty = !cbx_json_length(cbx_json_get(data, "metrics")) && !cbx_json_length(cbx_json_get(data, "params")),
    };
    return out->id && out->artifacts && (out->point || !point);
}

bool cbx__mlflow_remote_precedes(const cbx__mlflow_remote *a, const cbx__mlflow_remote *b)
{
    if (a->complete != b->complete) return a->complete;
    if (a->finished != b->finished) return a->finished;
    if (a->empty != b->empty) return b->empty;
    return strcmp(a->id, b->id) < 0;
}
