/*
 * libcurl behind one file.
 */
#include "calibrax/base/http.h"

#include <curl/curl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "calibrax/base/file.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/library.h"

#define MAX_ANSWER ((size_t)64 << 20)

/* name, symbol, result, arguments: the part of libcurl that is used here. */
#define CURL_CALLS(X)                                                                                                  \
    X(easy_init, "curl_easy_init", CURL *, (void))                                                                     \
    X(easy_cleanup, "curl_easy_cleanup", void, (CURL *))                                                               \
    X(easy_reset, "curl_easy_reset", void, (CURL *))                                                                   \
    X(easy_perform, "curl_easy_perform", CURLcode, (CURL *))                                                           \
    X(easy_set, "curl_easy_setopt", CURLcode, (CURL *, CURLoption, ...))                                               \
    X(easy_get, "curl_easy_getinfo", CURLcode, (CURL *, CURLINFO, ...))                                                \
    X(easy_words, "curl_easy_strerror", const char *, (CURLcode))                                                      \
    X(list_append, "curl_slist_append", struct curl_slist *, (struct curl_slist *, const char *))                      \
    X(list_free, "curl_slist_free_all", void, (struct curl_slist *))

typedef struct curl_calls {
    CURL_CALLS(CBX_CALL_MEMBER)
} curl_calls;

struct cbx__http {
    cbx_arena arena;
    cbx_library *lib;
    curl_calls curl;
    CURL *handle;
    const char *what, *shown;
    double timeout_s;
    cbx__http_answer *answer; /* of the request that is on its way */
    bool too_long;
};

cbx_status cbx__http_create(cbx_ctx *ctx, const char *what, const char *shown, double timeout_s, cbx__http **out,
                            cbx_err *err)
{
    static const char *const names[] = { CURL_CALLS(CBX_CALL_NAME) };
    cbx_status st;
    cbx__http *h;

    if (strncmp(shown, "http://", 7) && strncmp(shown, "https://", 8))
        return cbx_fail(err, CBX_EINVAL, "'%s' is not the address of %s: it must begin with http:// or https://", shown,
                        what);
    h = CBX_ARENA_OBJECT(cbx__http, cbx_ctx_allocator(ctx));
    if (!h) return cbx_fail_nomem(err, what);
    h->timeout_s = timeout_s;
    h->what = cbx_arena_strdup(&h->arena, what);
    h->shown = cbx_arena_strdup(&h->arena, shown);
    st = h->what && h->shown ? CBX_OK : cbx_fail_nomem(err, what);
    if (!st) st = cbx_library_open_calls(ctx, CBX_LIBRARY_CURL, NULL, names, CBX_LEN(names), &h->curl, &h->lib, err);
    if (!st && !(h->handle = h->curl.easy_init()))
        st = cbx_fail(err, CBX_ENOMEM, "libcurl cannot set up a request to '%s'", shown);
    return CBX_FINISH(st, *out = h, cbx__http_free(h));
}

void cbx__http_free(cbx__http *h)
{
    if (!h) return;
    if (h->handle) h->curl.easy_cleanup(h->handle);
    cbx_library_close(h->lib);
    cbx_arena_end(&h->arena);
}

/* --- a request --- */

static size_t take_body(char *data, size_t size, size_t n, void *user)
{
    cbx__http *h = user;
    cbx_text *body = h->answer->body;

    if (!body) return size * n;
    if (size * n > MAX_ANSWER - body->len) {
        h->too_long = true;
        return 0;
    }
    cbx_text_add(body, data, size * n);
    return body->status ? 0 : size * n;
}

/* "Retry-After: SECONDS"; a date is not read. */
static size_t take_header(char *data, size_t size, size_t n, void *user)
{
    static const char name[] = "retry-after:";
    cbx__http *h = user;
    char line[64];

    if (size * n >= sizeof name && size * n < sizeof line && !strncasecmp(data, name, sizeof name - 1)) {
        char *end;
        double seconds;
        memcpy(line, data, size * n);
        line[size * n] = '\0';
        seconds = strtod(line + sizeof name - 1, &end);
        if (end != line + sizeof name - 1 && seconds >= 0 && seconds < 1e6) h->answer->retry_after_s = seconds;
    }
    return size * n;
}

/* Certificates that are named are trusted in place of the system's. */
static bool set_trust(const cbx__http *h, const cbx__http_request *r)
{
    const curl_calls *c = &h->curl;

    if (r->insecure)
        return !c->easy_set(h->handle, CURLOPT_SSL_VERIFYPEER, 0L) &&
               !c->easy_set(h->handle, CURLOPT_SSL_VERIFYHOST, 0L);
    if (!r->certificates) return true;
    if (cbx_path_is_folder(r->certificates)) {
        (void)c->easy_set(h->handle, CURLOPT_CAINFO, NULL);
        return !c->easy_set(h->handle, CURLOPT_CAPATH, r->certificates);
    }
    (void)c->easy_set(h->handle, CURLOPT_CAPATH, NULL); /* not all libraries of TLS have folders */
    return !c->easy_set(h->handle, CURLOPT_CAINFO, r->certificates);
}

/* A connection that failed. */
static cbx_status fail_code(const cbx__http *h, const cbx__http_request *r, CURLcode code, cbx_err *err)
{
    const char *by = r->certificates_by;

    if (code == CURLE_OPERATION_TIMEDOUT)
        return cbx_fail(err, CBX_ETIMEOUT, "%s '%s' did not answer in time", h->what, h->shown);
    if (code == CURLE_SSL_CACERT_BADFILE)
        return cbx_fail(err, CBX_EPROTO, "the certificates%s%s%s to trust for %s '%s' cannot be read%s%s",
                        r->certificates ? " '" : "", r->certificates ? r->certificates : "", r->certificates ? "'" : "",
                        h->what, h->shown, by ? ": name a PEM file in " : "", by ? by : "");
    if (code == CURLE_PEER_FAILED_VERIFICATION)
        return cbx_fail(err, CBX_EPROTO, "the certificate of %s '%s' is not trusted%s%s", h->what, h->shown,
                        by ? ": name the file of the certificate that signed it, for this host, in " : "",
                        by ? by : "");
    return cbx_fail(err, CBX_EIO, "%s '%s' cannot be reached: %s", h->what, h->shown, h->curl.easy_words(code));
}

static bool set_up(cbx__http *h, const cbx__http_request *r, struct curl_slist *headers)
{
    const curl_calls *c = &h->curl;
    bool fine = !c->easy_set(h->handle, CURLOPT_URL, r->url) &&
                !c->easy_set(h->handle, CURLOPT_CUSTOMREQUEST, r->method) &&
                !c->easy_set(h->handle, CURLOPT_HTTPHEADER, headers) && !c->easy_set(h->handle, CURLOPT_NOSIGNAL, 1L) &&
                !c->easy_set(h->handle, CURLOPT_FRESH_CONNECT, (long)r->once) &&
                !c->easy_set(h->handle, CURLOPT_TIMEOUT_MS, (long)(1000 * h->timeout_s)) &&
                !c->easy_set(h->handle, CURLOPT_USERAGENT, "calibrax") &&
                !c->easy_set(h->handle, CURLOPT_WRITEFUNCTION, take_body) &&
                !c->easy_set(h->handle, CURLOPT_WRITEDATA, h) &&
                !c->easy_set(h->handle, CURLOPT_HEADERFUNCTION, take_header) &&
                !c->easy_set(h->handle, CURLOPT_HEADERDATA, h);

    fine = fine && set_trust(h, r);
    if (fine && r->type)
        fine = !c->easy_set(h->handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->len) &&
               !c->easy_set(h->handle, CURLOPT_POSTFIELDS, r->len ? r->body : "");
    if (fine && r->bearer)
        fine = !c->easy_set(h->handle, CURLOPT_HTTPAUTH, CURLAUTH_BEARER) &&
               !c->easy_set(h->handle, CURLOPT_XOAUTH2_BEARER, r->bearer);
    else if (fine && r->user)
        fine = !c->easy_set(h->handle, CURLOPT_HTTPAUTH, CURLAUTH_BASIC) &&
               !c->easy_set(h->handle, CURLOPT_USERNAME, r->user) &&
               !c->easy_set(h->handle, CURLOPT_PASSWORD, r->password ? r->password : "");
    return fine;
}

/* "Expect:" saves a round trip before a body. */
static struct curl_slist *headers_of(const cbx__http *h, const cbx__http_request *r)
{
    struct curl_slist *list = h->curl.list_append(NULL, "Expect:"), *more;
    char line[128];

    if (!list || !r->type) return list;
    snprintf(line, sizeof line, "Content-Type: %s", r->type);
    more = h->curl.list_append(list, line);
    if (!more) h->curl.list_free(list);
    return more;
}

cbx_status cbx__http_send(cbx__http *h, const cbx__http_request *request, cbx__http_answer *answer, cbx_err *err)
{
    struct curl_slist *headers = headers_of(h, request);
    CURLcode code;
    bool ready;

    answer->status = 0;
    answer->retry_after_s = NAN;
    if (answer->body) cbx_text_reset(answer->body);
    h->answer = answer;
    h->too_long = false;
    h->curl.easy_reset(h->handle); /* options; the connection stays */
    ready = headers && set_up(h, request, headers);
    code = ready ? h->curl.easy_perform(h->handle) : CURLE_OUT_OF_MEMORY;
    if (headers) h->curl.list_free(headers);
    if (!ready) return cbx_fail(err, CBX_ENOMEM, "libcurl cannot set up a request to '%s'", h->shown);
    if (h->too_long)
        return cbx_fail(err, CBX_EOVERFLOW, "%s '%s' answered with more than %zu MiB", h->what, h->shown,
                        MAX_ANSWER >> 20);
    if (answer->body && answer->body->status) return cbx_fail_nomem(err, "an answer");
    if (code) return fail_code(h, request, code, err);
    h->curl.easy_get(h->handle, CURLINFO_RESPONSE_CODE, &answer->status);
    return CBX_OK;
}
