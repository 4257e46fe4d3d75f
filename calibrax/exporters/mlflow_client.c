/*
 * MLflow's REST API over HTTP, with retries.
 */
#include "calibrax/exporters/mlflow_client.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "calibrax/base/file.h"
#include "calibrax/base/http.h"
#include "calibrax/base/idioms.h"
#include "calibrax/exporters/mlflow_answer.h"

enum { ATTEMPTS = 5 };
#define FIRST_WAIT_S   0.25
#define LONGEST_WAIT_S 30.0

struct cbx__mlflow {
    cbx_allocator al;
    cbx__http *http;
    char *address;
    bool insecure; /* its certificate is not checked */
    cbx_text url, body, answer;
};

static const char *from_environment(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

#define CERTIFICATES "MLFLOW_TRACKING_SERVER_CERT_PATH"
#define INSECURE     "MLFLOW_TRACKING_INSECURE_TLS"

cbx_status cbx__mlflow_open(cbx_ctx *ctx, const char *uri, double timeout_s, cbx__mlflow **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    const char *scheme = strstr(uri, "://"), *host = scheme ? scheme + 3 : uri;
    const char *trust = from_environment(INSECURE), *certificates = from_environment(CERTIFICATES);
    const bool insecure = trust && (!strcasecmp(trust, "true") || !strcmp(trust, "1"));
    size_t n = strlen(uri);
    cbx__mlflow *m;
    cbx_status st;

    if (memchr(host, '@', strcspn(host, "/?#")))
        return cbx_fail(err, CBX_EINVAL,
                        "the address of the MLflow server has a user or a password in it: set "
                        "MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD instead");
    if (strpbrk(uri, "?#@"))
        return cbx_fail(err, CBX_EINVAL,
                        "the address of the MLflow server has a '?', '#' or '@': give the address without them, and "
                        "credentials in MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or "
                        "MLFLOW_TRACKING_TOKEN");
    /* As MLflow's client reads them: they exclude each other. */
    if (trust && !insecure && strcasecmp(trust, "false") != 0 && strcmp(trust, "0") != 0)
        return cbx_fail(err, CBX_EINVAL, INSECURE " must be true, false, 1 or 0, got '%s'", trust);
    if (insecure && certificates)
        return cbx_fail(err, CBX_EINVAL, INSECURE " is true and " CERTIFICATES " is set: set only one of them");
    if (certificates && !cbx_path_exists(certificates))
        return cbx_fail(err, CBX_EINVAL, "'%s' does not exist: name a PEM file in " CERTIFICATES, certificates);
    m = cbx_mem_zalloc(al, sizeof *m);
    if (!m) return cbx_fail_nomem(err, "an export");
    m->al = *al;
    cbx_text_init(&m->url, al);
    cbx_text_init(&m->body, al);
    cbx_text_init(&m->answer, al);
    while (n && uri[n - 1] == '/') n--;
    cbx_text_add(&m->url, uri, n);
    m->address = m->url.status ? NULL : cbx_mem_strdup(al, cbx_text_str(&m->url));
    m->insecure = insecure;
    st = m->address ? cbx__http_create(ctx, "the MLflow server", m->address, timeout_s, &m->http, err)
                    : cbx_fail_nomem(err, "an export");
    return CBX_FINISH(st, *out = m, cbx__mlflow_close(m));
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

bool cbx__mlflow_is_unchecked(const cbx__mlflow *m) { return m->insecure && !strncmp(m->address, "https:", 6); }

/* --- attempts --- */

/* Sleeps before the next attempt; false: no more, and the message has the reason. */
static bool wait_after(int attempt, double asked_s, cbx_err *err)
{
    double wait_s = isnan(asked_s) ? FIRST_WAIT_S * (double)(1 << attempt) : asked_s;
    struct timespec t = { (time_t)wait_s, (long)(1e9 * (wait_s - floor(wait_s))) };
    cbx_err before;
    char reason[96];

    if (attempt + 1 < ATTEMPTS && wait_s <= LONGEST_WAIT_S) {
        nanosleep(&t, NULL);
        return true;
    }
    if (err) {
        before = *err;
        if (attempt + 1 < ATTEMPTS)
            snprintf(reason, sizeof reason, "asked for a pause of %.0f s", wait_s);
        else
            snprintf(reason, sizeof reason, "%d attempts%s", ATTEMPTS,
                     before.status == CBX_ETIMEOUT ? ", time limit: --timeout" : "");
        cbx_fail(err, before.status, "%s (%s); what has arrived stays: the same command goes on where this one ended",
                 before.message, reason);
    }
    return false;
}

/* Attempts number first to last - 1 of a request to m->url; *again: another one may follow. */
static cbx_status send(cbx__mlflow *m, cbx__http_request *request, const char *call, int first, int last, bool *again,
                       cbx_json **out, cbx_err *err)
{
    cbx_status st = CBX_OK;

    request->url = cbx_text_str(&m->url);
    request->bearer = from_environment("MLFLOW_TRACKING_TOKEN");
    request->user = from_environment("MLFLOW_TRACKING_USERNAME");
    request->password = from_environment("MLFLOW_TRACKING_PASSWORD");
    request->certificates = from_environment(CERTIFICATES);
    request->insecure = m->insecure;
    request->certificates_by = CERTIFICATES;
    *again = true;
    for (int i = first; *again && i < last; i++) {
        cbx__http_answer answer = { .body = &m->answer };
        st = cbx__http_send(m->http, request, &answer, err);
        *again = st == CBX_EIO || st == CBX_ETIMEOUT;
        if (!st)
            st = cbx__mlflow_answer_read(m->address, call, answer.status, cbx_text_str(&m->answer), m->answer.len,
                                         again, out, err);
        if (*again) *again = st && wait_after(i, answer.retry_after_s, err);
    }
    return st;
}

static cbx_status set_url(cbx__mlflow *m, const char *format, const char *path, cbx_err *err)
{
    cbx_text_reset(&m->url);
    cbx_text_puts(&m->url, m->address);
    cbx_text_puts(&m->url, format);
    cbx_text_puts(&m->url, path);
    return cbx_text_check(&m->url, err);
}

/* The request of a call, whose body it takes; it is in m->body. */
static cbx_status prepare(cbx__mlflow *m, const char *call, cbx_json *body, cbx__http_request *out, cbx_err *err)
{
    cbx_status st = body ? cbx_json_check(body, err) : CBX_OK;

    if (!st) st = set_url(m, "/api/2.0/mlflow/", call, err);
    cbx_text_reset(&m->body);
    if (!st && body) cbx_json_write(body, CBX_JSON_NONFINITE_STRING, &m->body);
    if (!st) st = cbx_text_check(&m->body, err);
    *out = (cbx__http_request){ .method = body ? "POST" : "GET",
                                .type = body ? "application/json" : NULL,
                                .body = cbx_text_str(&m->body),
                                .len = m->body.len };
    cbx_json_unref(body);
    return st;
}

cbx_status cbx__mlflow_call_once(cbx__mlflow *m, const char *call, cbx_json *body, int attempt, bool *again,
                                 cbx_json **out, cbx_err *err)
{
    cbx__http_request request;
    cbx_status st = prepare(m, call, body, &request, err);

    request.once = true;
    *again = false;
    return st ? st : send(m, &request, call, attempt, attempt + 1, again, out, err);
}

cbx_status cbx__mlflow_call(cbx__mlflow *m, const char *call, cbx_json *body, cbx_json **out, cbx_err *err)
{
    cbx__http_request request;
    bool again;
    cbx_status st = prepare(m, call, body, &request, err);

    return st ? st : send(m, &request, call, 0, ATTEMPTS, &again, out, err);
}

cbx_status cbx__mlflow_put(cbx__mlflow *m, const char *path, const char *bytes, size_t len, cbx_err *err)
{
    cbx__http_request request = { .method = "PUT", .type = "application/octet-stream", .body = bytes, .len = len };
    bool again;
    cbx_status st = set_url(m, "/api/2.0/mlflow-artifacts/artifacts/", path, err);

    return st ? st : send(m, &request, "artifacts", 0, ATTEMPTS, &again, NULL, err);
}
