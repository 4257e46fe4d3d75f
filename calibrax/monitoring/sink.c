/*
 * One line out.  Webhooks go through libcurl (curl licence), loaded on first use: proxies come from
 * the environment as curl does it, redirects are not followed.  A command reads the line from a
 * memory file, not from a pipe: a command that does not read cannot hold us up, nor raise a signal
 * here.
 */
#include "calibrax/monitoring/sink.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/base/library.h"
#include "calibrax/base/process.h"

/* --- webhooks --- */

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

typedef struct webhook {
    cbx_allocator al;
    cbx_library *lib;
    curl_calls curl;
    CURL *handle;
    struct curl_slist *headers;
    char *url;
} webhook;

static cbx_status open_libcurl(cbx_ctx *ctx, webhook *w, cbx_err *err)
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

static bool set_up(webhook *w, const char *url, double timeout_s)
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

static void webhook_free(webhook *w)
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

static cbx_status webhook_create(cbx_ctx *ctx, const char *url, double timeout_s, webhook **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    webhook *w;
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
        webhook_free(w);
        return st;
    }
    *out = w;
    return CBX_OK;
}

static cbx_status webhook_post(webhook *w, const char *body, size_t len, cbx_err *err)
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

/* --- sinks --- */

struct cbx_sink {
    cbx_allocator al;
    cbx_sink_kind kind;
    char *target;
    double timeout_s;
    int fd;
    bool torn; /* the last line was written in part: the next one starts a new line */
    struct webhook *webhook;
};

static cbx_status open_file(cbx_sink *s, cbx_err *err)
{
    s->fd = open(s->target, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    return s->fd < 0 ? cbx_fail_errno(err, errno, "cannot write alerts to '%s'", s->target) : CBX_OK;
}

cbx_status cbx_sink_create(cbx_ctx *ctx, cbx_sink_kind kind, const char *target, double timeout_s, cbx_sink **out,
                           cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_status st = CBX_OK;
    cbx_sink *s;

    if (!target || !*target)
        return cbx_fail(err, CBX_EINVAL, "a receiver of alerts needs a file, a command or an address");
    if (!(timeout_s > 0 && timeout_s < 1e6))
        return cbx_fail(err, CBX_EINVAL, "the time limit of an alert must be above 0 and below 10^6 s, got %g",
                        timeout_s);
    s = cbx_mem_zalloc(al, sizeof *s);
    if (!s) return cbx_fail_nomem(err, "a receiver of alerts");
    *s = (cbx_sink){ *al, kind, cbx_mem_strdup(al, target), timeout_s, -1, false, NULL };
    if (!s->target) st = cbx_fail_nomem(err, "a receiver of alerts");
    if (!st && kind == CBX_SINK_FILE) st = open_file(s, err);
    if (!st && kind == CBX_SINK_WEBHOOK) st = webhook_create(ctx, target, s->timeout_s, &s->webhook, err);
    if (st) {
        cbx_sink_free(s);
        return st;
    }
    *out = s;
    return CBX_OK;
}

void cbx_sink_free(cbx_sink *s)
{
    cbx_allocator al;

    if (!s) return;
    al = s->al;
    if (s->fd >= 0) close(s->fd);
    webhook_free(s->webhook);
    if (s->target) cbx_mem_strfree(&al, s->target);
    cbx_mem_free(&al, s, sizeof *s);
}

/* @param part  true if some of it was written before it failed */
static cbx_status write_all(int fd, const char *line, size_t len, const char *target, bool *part, cbx_err *err)
{
    *part = false;
    while (len > 0) {
        ssize_t n = write(fd, line, len);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return cbx_fail_errno(err, errno, "cannot write an alert to '%s'", target);
        line += n;
        len -= (size_t)n;
        *part = true;
    }
    return CBX_OK;
}

/* The file may have been removed, or renamed by a rotation of logs. */
static cbx_status follow_file(cbx_sink *s, cbx_err *err)
{
    struct stat named, held;

    if (s->fd >= 0 && stat(s->target, &named) == 0 && fstat(s->fd, &held) == 0 && named.st_dev == held.st_dev &&
        named.st_ino == held.st_ino)
        return CBX_OK;
    if (s->fd >= 0) close(s->fd);
    s->torn = false;
    return open_file(s, err);
}

static cbx_status append(cbx_sink *s, const char *line, size_t len, cbx_err *err)
{
    bool part;
    cbx_status st = follow_file(s, err);

    if (!st && s->torn) st = write_all(s->fd, "\n", 1, s->target, &part, err);
    if (st) return st;
    st = write_all(s->fd, line, len, s->target, &part, err);
    s->torn = st && part;
    return st;
}

static cbx_status run_command(const cbx_sink *s, const char *line, size_t len, cbx_err *err)
{
    const char *const argv[] = { "sh", "-c", s->target, NULL };
    cbx__process_opts o = CBX__PROCESS_OPTS_INIT;
    cbx__process p;
    cbx_status st;
    bool part;
    int code;

    cbx__process_init(&p);
    o.argv = argv;
    o.output = CBX__FD_OURS;
    o.own_group = true;
    st = cbx__memory_file("alert", &o.input, err);
    if (st) return st;
    st = write_all(o.input, line, len, s->target, &part, err);
    if (!st) {
        lseek(o.input, 0, SEEK_SET);
        st = cbx__process_start(&o, &p, err);
    }
    if (!st && !cbx__process_wait(&p, (uint64_t)(1e9 * s->timeout_s)))
        st = cbx_fail(err, CBX_ETIMEOUT, "'%s' ran for more than %g s on an alert and was stopped", s->target,
                      s->timeout_s);
    cbx__process_finish(&p);
    code = cbx__process_exit_status(&p);
    if (!st && code > 0) st = cbx_fail(err, CBX_ECHILD, "'%s' failed on an alert with status %d", s->target, code);
    close(o.input);
    return st;
}

cbx_status cbx_sink_send(cbx_sink *s, const cbx_alert *alert, int64_t time_us, cbx_err *err)
{
    cbx_json *json = cbx_alert_json(alert, time_us);
    cbx_status st;
    cbx_text line;

    if (!json) return cbx_fail_nomem(err, "an alert");
    cbx_text_init(&line, &s->al);
    cbx_json_write(json, CBX_JSON_COMPACT | CBX_JSON_NONFINITE_STRING | CBX_JSON_NO_CONTROL, &line);
    cbx_text_putc(&line, '\n');
    cbx_json_unref(json);
    st = cbx_text_check(&line, err);
    if (!st) {
        switch (s->kind) {
        case CBX_SINK_FILE: st = append(s, line.data, line.len, err); break;
        case CBX_SINK_COMMAND: st = run_command(s, line.data, line.len, err); break;
        case CBX_SINK_WEBHOOK: st = webhook_post(s->webhook, line.data, line.len, err); break;
        }
    }
    cbx_text_clear(&line);
    return st;
}
