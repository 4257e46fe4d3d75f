/*
 * MLflow's REST API over HTTP, with retries.
 */
#include "calibrax/exporters/mlflow_client.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "calibrax/base/http.h"

enum { ATTEMPTS = 5 };
#define FIRST_WAIT_S   0.25
#define LONGEST_WAIT_S 30.0

struct cbx__mlflow {
    cbx_allocator al;
    cbx__http *http;
    char *address;
    cbx_text url, body, answer;
};

static const char *from_environment(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

cbx_status cbx__mlflow_open(cbx_ctx *ctx, const char *uri, double timeout_s, cbx__mlflow **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    const char *host = strstr(uri, "://");
    size_t n = strlen(uri);
    cbx__mlflow *m;
    cbx_status st;

    if (host && memchr(host + 3, '@', strcspn(host + 3, "/?#")))
        return cbx_fail(err, CBX_EINVAL,
                        "the address of the MLflow server has a user or a password in it: set "
                        "MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD instead");
    m = cbx_mem_zalloc(al, sizeof *m);
    if (!m) return cbx_fail_nomem(err, "an export");
    m->al = *al;
    cbx_text_init(&m->url, al);
    cbx_text_init(&m->body, al);
    cbx_text_init(&m->answer, al);
    while (n && uri[n - 1] == '/') n--;
    cbx_text_add(&m->url, uri, n);
    m->address = m->url.status ? NULL : cbx_mem_strdup(al, cbx_text_str(&m->url));
    st = m->address ? cbx__http_create(ctx, "the MLflow server", m->address, timeout_s, &m->http, err)
                    : cbx_fail_nomem(err, "an export");
    if (st) {
        cbx__mlflow_close(m);
        return st;
    }
    *out = m;
    return CBX_OK;
}

void cbx__mlflow_close(cbx__mlflow *m)
{
    cbx_allocator al;

    if (!m) return;
    al = m->al;
    cbx__http_free(m->http);
    cbx_text_clear(&m->url);
    cbx_text_clear(&m->body);
    cbx_text_clear(&m->answer);
    if (m->address) cbx_mem_strfree(&al, m->address);
    cbx_mem_free(&al, m, sizeof *m);
}

const char *cbx__mlflow_address(const cbx__mlflow *m) { return m->address; }

/* --- answers --- */

/* What the server says about a failure, as the end of a sentence: ": words", on one line; "". */
static void reason_of(const cbx_json *answer, char out[256])
{
    const char *words = cbx_json_get_string(answer, "message", "");
    size_t n = strcspn(words, "\n");

    snprintf(out, 256, "%s%.*s%s", n ? ": " : "", (int)(n < 200 ? n : 200), words, n > 200 ? "..." : "");
    cbx_text_blank(out);
}

/* A status from that of HTTP; *again: it may pass. */
static cbx_status check_answer(cbx__mlflow *m, const char *call, long code, const cbx_json *answer, bool *again,
                               cbx_err *err)
{
    const char *word = cbx_json_get_string(answer, "error_code", "");
    char reason[256];

    *again = code == 408 || code == 429 || code >= 500;
    if (code >= 200 && code < 300) return CBX_OK;
    reason_of(answer, reason);
    if (code == 401 || code == 403)
        return cbx_fail(err, CBX_EPERM,
                        "the MLflow server '%s' refused access (%ld): set MLFLOW_TRACKING_USERNAME and "
                        "MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN",
                        m->address, code);
    return cbx_fail(err,
                    !strcmp(word, "RESOURCE_DOES_NOT_EXIST")   ? CBX_ENOENT
                    : !strcmp(word, "RESOURCE_ALREADY_EXISTS") ? CBX_EEXIST
                                                               : CBX_EPROTO,
                    "the MLflow server '%s' answered %ld to %s%s", m->address, code, call, reason);
}

/* One attempt of what url and body have.  @param out  NULL: the answer is no JSON */
static cbx_status attempt_once(cbx__mlflow *m, const char *method, const char *type, const char *bytes, size_t len,
                               const char *call, bool once, double *wait_s, bool *again, cbx_json **out, cbx_err *err)
{
    const cbx__http_request request = { .method = method,
                                        .url = cbx_text_str(&m->url),
                                        .type = type,
                                        .body = bytes,
                                        .len = len,
                                        .once = once,
                                        .bearer = from_environment("MLFLOW_TRACKING_TOKEN"),
                                        .user = from_environment("MLFLOW_TRACKING_USERNAME"),
                                        .password = from_environment("MLFLOW_TRACKING_PASSWORD") };
    cbx__http_answer answer = { .body = &m->answer };
    cbx_json *json = NULL;
    bool is_json;
    cbx_status st = cbx__http_send(m->http, &request, &answer, err);

    *wait_s = answer.retry_after_s;
    *again = st == CBX_EIO || st == CBX_ETIMEOUT;
    if (st) return st;
    is_json = !cbx_json_parse(cbx_text_str(&m->answer), m->answer.len, "an answer", &json, NULL) &&
              cbx_json_typeof(json) == CBX_JSON_OBJECT;
    st = check_answer(m, call, answer.status, is_json ? json : NULL, again, err);
    if (!st && out && !is_json)
        st = cbx_fail(err, CBX_EPROTO, "'%s' does not answer as an MLflow server does: %s gave no JSON object",
                      m->address, call);
    if (!st && out) {
        *out = json;
        json = NULL;
    }
    cbx_json_unref(json);
    return st;
}

/* Sleeps before the next attempt; false: no more, and the message counts them. */
static bool wait_after(int attempt, double asked_s, cbx_err *err)
{
    double wait_s = isnan(asked_s) ? FIRST_WAIT_S * (double)(1 << attempt) : fmin(asked_s, LONGEST_WAIT_S);
    struct timespec t = { (time_t)wait_s, (long)(1e9 * (wait_s - floor(wait_s))) };
    cbx_err before;

    if (attempt + 1 < ATTEMPTS) {
        nanosleep(&t, NULL);
        return true;
    }
    if (err) {
        before = *err;
        cbx_fail(err, before.status,
                 "%s (%d attempts); what has arrived stays: the same command goes on where this one ended",
                 before.message, ATTEMPTS);
    }
    return false;
}

static cbx_status set_url(cbx__mlflow *m, const char *format, const char *path, cbx_err *err)
{
    cbx_text_reset(&m->url);
    cbx_text_puts(&m->url, m->address);
    cbx_text_puts(&m->url, format);
    cbx_text_puts(&m->url, path);
    return cbx_text_check(&m->url, err);
}

static cbx_status call_once(cbx__mlflow *m, const char *call, cbx_json *body, bool once, int attempt, bool *again,
                            cbx_json **out, cbx_err *err)
{
    const bool has_body = body;
    double wait_s;
    cbx_status st = body ? cbx_json_check(body, err) : CBX_OK;

    *again = false;
    if (!st) st = set_url(m, "/api/2.0/mlflow/", call, err);
    cbx_text_reset(&m->body);
    if (!st && body) cbx_json_write(body, CBX_JSON_NONFINITE_STRING, &m->body);
    cbx_json_unref(body);
    if (!st) st = cbx_text_check(&m->body, err);
    if (st) return st;
    st = attempt_once(m, has_body ? "POST" : "GET", has_body ? "application/json" : NULL, cbx_text_str(&m->body),
                      m->body.len, call, once, &wait_s, again, out, err);
    if (*again) *again = wait_after(attempt, wait_s, err);
    return st;
}

cbx_status cbx__mlflow_call_once(cbx__mlflow *m, const char *call, cbx_json *body, int attempt, bool *again,
                                 cbx_json **out, cbx_err *err)
{
    return call_once(m, call, body, true, attempt, again, out, err);
}

cbx_status cbx__mlflow_call(cbx__mlflow *m, const char *call, cbx_json *body, cbx_json **out, cbx_err *err)
{
    bool again = true;
    cbx_status st = body ? cbx_json_check(body, err) : CBX_OK;

    for (int i = 0; !st && i < ATTEMPTS; i++) {
        st = call_once(m, call, cbx_json_ref(body), false, i, &again, out, err);
        if (!st || !again) break;
        if (i + 1 < ATTEMPTS) st = CBX_OK;
    }
    cbx_json_unref(body);
    return st;
}

cbx_status cbx__mlflow_put(cbx__mlflow *m, const char *path, const char *bytes, size_t len, cbx_err *err)
{
    cbx_status st = set_url(m, "/api/2.0/mlflow-artifacts/artifacts/", path, err);
    bool again = true;
    double wait_s;

    for (int i = 0; !st && i < ATTEMPTS; i++) {
        st = attempt_once(m, "PUT", "application/octet-stream", bytes, len, "an artifact", false, &wait_s, &again, NULL,
                          err);
        if (!st || !again || !wait_after(i, wait_s, err)) break;
        st = CBX_OK;
    }
    return st;
}
