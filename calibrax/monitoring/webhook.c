/*
 * libcurl (curl licence), loaded on first use.  Proxies come from the environment as curl does it; redirects are not followed.
 */
#include "calibrax/monitoring/webhook.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/library.h"

typedef struct curl_calls {
    CURL *(*easy_init)(void);
    void (*easy_cleanup)(CURL *);
    CURLcode (*easy_perform)(CURL *);
    CURLcode (*easy_set)(CURL *, CURLoption, ...);
    CURLcode (*easy_get)(CURL *, CURLINFO, ...);
    const char *(*easy_words)(CURLcode);
    struct curl_slist *(*list_append)(struct curl_slist *, const char *);
    void (*list_free)(struct curl_slist *);
} curl_calls;

struct cbx__webhook {
    cbx_allocator al;
    cbx_library *lib;
    curl_calls curl;
    CURL *handle;
    struct curl_slist *headers;
    char *url;
};

static cbx_status open_libcurl(cbx_ctx *ctx, cbx__webhook *w, cbx_err *err)
{
    curl_calls *c = &w->curl;
    const cbx_library_symbol symbols[] = {
        { "curl_easy_init", (void **)(void *)&c->easy_init },
        { "curl_easy_cleanup", (void **)(void *)&c->easy_cleanup },
        { "curl_easy_perform", (void **)(void *)&c->easy_perform },
        { "curl_easy_setopt", (void **)(void *)&c->easy_set },
        { "curl_easy_getinfo", (void **)(void *)&c->easy_get },
        { "curl_easy_strerror", (void **)(void *)&c->easy_words },
        { "curl_slist_append", (void **)(void *)&c->list_append },
        { "curl_slist_free_all", (void **)(void *)&c->list_free },
    };
    return cbx_library_open_known(ctx, CBX_LIBRARY_CURL, NULL, symbols, CBX_LEN(symbols), &w->lib, err);
}

/* The body of the answer is not used. */
static size_t ignore(char *data, size_t size, size_t n, void *user)
{
    (void)data;
    (void)user;
    return size * n;
}

static bool set_up(cbx__webhook *w, const char *url, double timeout_s)
{
    const curl_calls *c = &w->curl;
    struct curl_slist *more;

    w->handle = c->easy_init();
    w->headers = c->list_append(NULL, "Content-Type: application/json");
    more = w->headers ? c->list_append(w->headers, "Expect:") : NULL; /* no round trip before a small body */
    if (!w->handle || !more) return false;
    return !c->easy_set(w->handle, CURLOPT_URL, url) && !c->easy_set(w->handle, CURLOPT_POST, 1L) &&
           !c->easy_set(w->handle, CURLOPT_HTTPHEADER, w->headers) && !c->easy_set(w->handle, CURLOPT_NOSIGNAL, 1L) &&
           !c->easy_set(w->handle, CURLOPT_TIMEOUT_MS, (long)(1000 * timeout_s)) &&
           !c->easy_set(w->handle, CURLOPT_USERAGENT, "calibrax") &&
           !c->easy_set(w->handle, CURLOPT_WRITEFUNCTION, ignore);
}

cbx_status cbx__webhook_create(cbx_ctx *ctx, const char *url, double timeout_s, cbx__webhook **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx__webhook *w;
    cbx_status st;

    if (strncmp(url, "http://", 7) && strncmp(url, "https://", 8))
        return cbx_fail(err, CBX_EINVAL, "'%s' is not the address of a webhook: it must begin with http:// or https://",
                        url);
    w = cbx_mem_zalloc(al, sizeof *w);
    if (!w) return cbx_fail_nomem(err, "a webhook");
    w->al = *al;
    w->url = cbx_mem_strdup(al, url);
    st = w->url ? open_libcurl(ctx, w, err) : cbx_fail_nomem(err, "a webhook");
    if (!st && !set_up(w, url, timeout_s))
        st = cbx_fail(err, CBX_ENOMEM, "libcurl cannot set up a request to '%s'", url);
    if (st) {
        cbx__webhook_free(w);
        return st;
    }
    *out = w;
    return CBX_OK;
}

void cbx__webhook_free(cbx__webhook *w)
{
    cbx_allocator al;

    if (!w) return;
    al = w->al;
    if (w->headers) w->curl.list_free(w->headers);
    if (w->handle) w->curl.easy_cleanup(w->handle);
    cbx_library_close(w->lib);
    cbx_mem_strfree(&al, w->url);
    cbx_mem_free(&al, w, sizeof *w);
}

cbx_status cbx__webhook_post(cbx__webhook *w, const char *body, size_t len, cbx_err *err)
{
    CURLcode code;
    long answer = 0;

    w->curl.easy_set(w->handle, CURLOPT_POSTFIELDS, body);
    w->curl.easy_set(w->handle, CURLOPT_POSTFIELDSIZE, (long)len);
    code = w->curl.easy_perform(w->handle);
    if (code == CURLE_OPERATION_TIMEDOUT)
        return cbx_fail(err, CBX_ETIMEOUT, "the webhook '%s' did not answer in time", w->url);
    if (code) return cbx_fail(err, CBX_EIO, "the webhook '%s' cannot be reached: %s", w->url, w->curl.easy_words(code));
    w->curl.easy_get(w->handle, CURLINFO_RESPONSE_CODE, &answer);
    if (answer < 200 || answer > 299) return cbx_fail(err, CBX_EPROTO, "the webhook '%s' answered %ld", w->url, answer);
    return CBX_OK;
}
