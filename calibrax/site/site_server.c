/*
 * HTTP through libmicrohttpd (LGPL-2.1), loaded on first use; the only file that calls it.
 *
 * Its calls are declared here as its manual gives them (gnu.org/software/libmicrohttpd/manual); the
 * numbers of flags and options have not changed since 0.9.  No thread is started: the caller's runs
 * the loop, makes the pages, and libmicrohttpd sends them without blocking, so a slow reader holds
 * up no one else.  Its own limit is on the time between two bytes; the limit on the time from one
 * answer to the next is kept here, so that bytes that drip cannot hold a connection.
 */
#include "calibrax/site/site_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/library.h"
#include "calibrax/site/page_request.h"

#define MAX_CONNECTIONS 128
#define IDLE_S          10
#define REQUEST_NS      ((uint64_t)20 * 1000000000) /* from a connection, or its last answer, to the next answer */
#define HEAD_BYTES      ((size_t)16 << 10)          /* of a request with its headers */
#define BACKLOG         64

typedef struct mhd_daemon mhd_daemon;
typedef struct mhd_connection mhd_connection;
typedef struct mhd_response mhd_response;
typedef int (*mhd_handler)(void *user, mhd_connection *c, const char *url, const char *method, const char *version,
                           const char *upload, size_t *upload_size, void **request);
typedef void *(*mhd_uri)(void *user, const char *uri, mhd_connection *c);
typedef void (*mhd_completed)(void *user, mhd_connection *c, void **request, int how);
typedef void (*mhd_connected)(void *user, mhd_connection *c, void **kept, int how);
typedef int (*mhd_value)(void *user, int kind, const char *key, const char *value);

enum {
    USE_EPOLL = 512,
    OPTION_END = 0,
    OPTION_MEMORY_LIMIT = 1,
    OPTION_CONNECTION_LIMIT = 2,
    OPTION_TIMEOUT = 3,
    OPTION_NOTIFY_COMPLETED = 4,
    OPTION_URI_LOG = 7,
    OPTION_LISTEN_SOCKET = 12,
    OPTION_NOTIFY_CONNECTION = 27,
    OPTION_STRICT = 29,
    CONNECTION_STARTED = 0, /* how of mhd_connected */
    INFO_SOCKET = 6,
    KIND_HEADER = 1,
    MEMORY_COPIED = 2,
    YES = 1,
    NO = 0
};

/* name, result, arguments: the part of libmicrohttpd that is used here. */
#define MHD_CALLS(X)                                                                                                   \
    X(start_daemon, mhd_daemon *, (unsigned flags, uint16_t port, void *, void *, mhd_handler, void *, ...))           \
    X(stop_daemon, void, (mhd_daemon *))                                                                               \
    X(run_wait, int, (mhd_daemon *, int32_t ms))                                                                       \
    X(lookup_connection_value, const char *, (mhd_connection *, int kind, const char *key))                            \
    X(get_connection_values, int, (mhd_connection *, int kind, mhd_value, void *))                                     \
    X(get_connection_info, const int *, (mhd_connection *, int what, ...))                                             \
    X(create_response_from_buffer, mhd_response *, (size_t size, void *buffer, int mode))                              \
    X(add_response_header, int, (mhd_response *, const char *name, const char *value))                                 \
    X(queue_response, int, (mhd_connection *, unsigned status, mhd_response *))                                        \
    X(destroy_response, void, (mhd_response *))

typedef struct mhd_calls {
#define MHD_MEMBER(name, result, arguments) result(*name) arguments;
    MHD_CALLS(MHD_MEMBER)
#undef MHD_MEMBER
} mhd_calls;

typedef struct place {
    int socket;     /* -1: free */
    uint64_t since; /* [ns] by waiting_ns: it was connected, or had its last answer */
} place;

struct cbx_site_server {
    cbx_ctx *ctx;
    cbx_site *site;
    cbx_library *library;
    mhd_calls mhd;
    mhd_daemon *daemon;
    int listening; /* -1 once libmicrohttpd has it */
    unsigned port;
    place places[MAX_CONNECTIONS];
    uint64_t making_ns; /* spent on pages */
    cbx_site_reply reply;
    cbx_site_served served;
};

static cbx_status open_library(cbx_site_server *s, cbx_err *err)
{
    const cbx_library_symbol symbols[] = {
#define MHD_SYMBOL(name, result, arguments) { "MHD_" #name, (void **)(void *)&s->mhd.name },
        MHD_CALLS(MHD_SYMBOL)
#undef MHD_SYMBOL
    };
    return cbx_library_open_known(s->ctx, CBX_LIBRARY_MICROHTTPD, NULL, symbols, CBX_LEN(symbols), &s->library, err);
}

/* --- time limit --- */

/* A clock that stops while a page is made, so that no connection is late because of the pages of
 * others. */
static uint64_t waiting_ns(const cbx_site_server *s) { return cbx_clock_ns() - s->making_ns; }

static place *place_of(cbx_site_server *s, int socket)
{
    for (size_t i = 0; i < MAX_CONNECTIONS; i++)
        if (s->places[i].socket == socket) return &s->places[i];
    return NULL;
}

static place *place_of_connection(cbx_site_server *s, mhd_connection *c)
{
    const int *socket = s->mhd.get_connection_info(c, INFO_SOCKET);

    return socket && *socket >= 0 ? place_of(s, *socket) : NULL;
}

static void keep_place(void *user, mhd_connection *c, void **kept, int how)
{
    cbx_site_server *s = user;
    const int *socket = s->mhd.get_connection_info(c, INFO_SOCKET);
    place *at = how == CONNECTION_STARTED ? place_of(s, -1) : place_of_connection(s, c);

    (void)kept;
    if (at && socket) *at = (place){ how == CONNECTION_STARTED ? *socket : -1, waiting_ns(s) };
}

/* --- a request --- */

typedef struct asked {
    char target[CBX__TARGET_MAX + 2]; /* as it came, before libmicrohttpd takes its escapes out */
    bool begun;                       /* its head was looked at: what was answered at once would end the connection */
} asked;

static void *keep_uri(void *user, const char *uri, mhd_connection *c)
{
    asked *a = cbx_mem_zalloc(cbx_ctx_allocator(((cbx_site_server *)user)->ctx), sizeof *a);

    (void)c;
    if (a) memcpy(a->target, uri, strnlen(uri, CBX__TARGET_MAX + 1)); /* one byte more, and it is refused */
    return a;
}

static void forget_uri(void *user, mhd_connection *c, void **request, int how)
{
    cbx_site_server *s = user;
    place *at = place_of_connection(s, c);

    (void)how;
    if (at) at->since = waiting_ns(s);
    cbx_mem_free(cbx_ctx_allocator(s->ctx), *request, sizeof(asked));
    *request = NULL;
}

/* Sends the reply.  A browser takes the headers of a 304 for those of the page that it has: it has
 * no policy and no type of its own.  What is refused ends its connection. */
static int send_reply(cbx_site_server *s, mhd_connection *c)
{
    const cbx_site_reply *p = &s->reply;
    const bool page = p->status != 304;
    const char *policy = *cbx_text_str(&p->policy) ? cbx_text_str(&p->policy) : "default-src 'none'";
    const char *const headers[][2] = {
        { "Content-Type", page ? p->type : NULL },
        { "Content-Security-Policy", page ? policy : NULL },
        { "X-Frame-Options", "DENY" },
        { "X-Content-Type-Options", "nosniff" },
        { "Referrer-Policy", "no-referrer" },
        { "Cross-Origin-Resource-Policy", "same-origin" },
        { "Cross-Origin-Opener-Policy", "same-origin" },
        { "Cache-Control", *p->tag ? "no-cache" : "no-store" },
        { "ETag", *p->tag ? p->tag : NULL },
        { "Allow", p->status == 405 ? "GET, HEAD" : NULL },
        { "Connection", p->status >= 400 ? "close" : NULL },
    };
    mhd_response *r = s->mhd.create_response_from_buffer(p->body.len, p->body.len ? p->body.data : NULL, MEMORY_COPIED);
    int sent = r ? YES : NO;

    for (size_t i = 0; sent == YES && i < CBX_LEN(headers); i++)
        if (headers[i][1]) sent = s->mhd.add_response_header(r, headers[i][0], headers[i][1]);
    if (sent == YES) sent = s->mhd.queue_response(c, (unsigned)p->status, r);
    if (!r) return NO;
    s->mhd.destroy_response(r);
    if (p->status == 200)
        s->served.pages++;
    else if (p->status == 304)
        s->served.unchanged++;
    else
        s->served.refused++;
    return sent;
}

static int refuse(cbx_site_server *s, mhd_connection *c, int status, const char *why)
{
    cbx_site_reply_clear(&s->reply);
    s->reply.status = status;
    s->reply.type = "text/plain; charset=utf-8";
    s->reply.tag[0] = '\0';
    cbx_text_printf(&s->reply.body, "%s\n", why);
    return send_reply(s, c);
}

static int count_host(void *user, int kind, const char *key, const char *value)
{
    (void)kind;
    (void)value;
    *(size_t *)user += !strcasecmp(key, "Host");
    return YES;
}

static int answer(void *user, mhd_connection *c, const char *url, const char *method, const char *version,
                  const char *upload, size_t *upload_size, void **request)
{
    cbx_site_server *s = user;
    asked *a = *request;
    size_t hosts = 0;
    uint64_t begin;

    (void)url;
    (void)version;
    (void)upload;
    if (!a) return refuse(s, c, 503, "out of memory");
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return refuse(s, c, 405, "only GET and HEAD are answered");
    if (*upload_size) return NO; /* a body, which neither has: the connection ends */
    if (!a->begun) {
        a->begun = true;
        return YES;
    }
    s->mhd.get_connection_values(c, KIND_HEADER, count_host, &hosts);
    if (hosts > 1) return refuse(s, c, 400, "the request has several Host headers"); /* RFC 9112, 3.2 */
    if (!cbx_site_host_is_local(s->mhd.lookup_connection_value(c, KIND_HEADER, "Host"), s->port))
        return refuse(s, c, 403, "the Host of this request is not this machine: use http://127.0.0.1 with the port");
    if (strlen(a->target) > CBX__TARGET_MAX) return refuse(s, c, 414, "the address is too long");
    begin = cbx_clock_ns();
    /* Without memory it is a reply, too. */
    (void)cbx_site_get(s->site, a->target, s->mhd.lookup_connection_value(c, KIND_HEADER, "If-None-Match"), &s->reply);
    s->making_ns += cbx_clock_ns() - begin;
    return send_reply(s, c);
}

/* --- the server --- */

static cbx_status listen_on(cbx_site_server *s, unsigned port, cbx_err *err)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    socklen_t size = sizeof at;
    int on = 1;

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    s->listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->listening < 0) return cbx_fail_errno(err, errno, "cannot open a socket");
    (void)setsockopt(s->listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(s->listening, (struct sockaddr *)&at, sizeof at) != 0 || listen(s->listening, BACKLOG) != 0) {
        if (errno == EADDRINUSE)
            return cbx_fail(err, CBX_EBUSY, "port %u is in use: choose another one, or 0 for one that is free", port);
        return cbx_fail_errno(err, errno, "cannot listen on port %u", port);
    }
    if (getsockname(s->listening, (struct sockaddr *)&at, &size) != 0)
        return cbx_fail_errno(err, errno, "cannot listen on port %u", port);
    s->port = ntohs(at.sin_port);
    return CBX_OK;
}

cbx_status cbx_site_server_open(cbx_ctx *ctx, cbx_site *site, unsigned port, cbx_site_server **out, cbx_err *err)
{
    cbx_site_server *s = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *s);
    cbx_status st;

    if (!s) return cbx_fail_nomem(err, "a server");
    s->ctx = ctx;
    s->site = site;
    s->listening = -1;
    for (size_t i = 0; i < MAX_CONNECTIONS; i++) s->places[i].socket = -1;
    cbx_site_reply_init(&s->reply, cbx_ctx_allocator(ctx));
    st = open_library(s, err);
    if (!st) st = listen_on(s, port, err);
    if (!st) {
        s->daemon = s->mhd.start_daemon(
            USE_EPOLL, 0, NULL, NULL, answer, s, OPTION_LISTEN_SOCKET, s->listening, OPTION_CONNECTION_LIMIT,
            (unsigned)MAX_CONNECTIONS, OPTION_TIMEOUT, (unsigned)IDLE_S, OPTION_MEMORY_LIMIT, (size_t)HEAD_BYTES,
            OPTION_STRICT, 1, OPTION_URI_LOG, (mhd_uri)keep_uri, s, OPTION_NOTIFY_COMPLETED, (mhd_completed)forget_uri,
            s, OPTION_NOTIFY_CONNECTION, (mhd_connected)keep_place, s, OPTION_END);
        if (s->daemon)
            s->listening = -1;
        else
            st = cbx_fail(err, CBX_EIO, "libmicrohttpd cannot serve port %u", s->port);
    }
    return CBX_FINISH(st, *out = s, cbx_site_server_close(s));
}

unsigned cbx_site_server_port(const cbx_site_server *s) { return s->port; }
void cbx_site_server_count(const cbx_site_server *s, cbx_site_served *out) { *out = s->served; }

cbx_status cbx_site_server_run(cbx_site_server *s, unsigned wait_ms, cbx_err *err)
{
    if (s->mhd.run_wait(s->daemon, (int32_t)wait_ms) != YES)
        return cbx_fail(err, CBX_EIO, "libmicrohttpd cannot go on serving port %u", s->port);
    for (size_t i = 0; i < MAX_CONNECTIONS; i++) /* libmicrohttpd sees their ends next round */
        if (s->places[i].socket >= 0 && waiting_ns(s) - s->places[i].since > REQUEST_NS)
            (void)shutdown(s->places[i].socket, SHUT_RDWR);
    return CBX_OK;
}

void cbx_site_server_close(cbx_site_server *s)
{
    if (!s) return;
    if (s->daemon) s->mhd.stop_daemon(s->daemon);
    if (s->listening >= 0) close(s->listening);
    cbx_library_close(s->library);
    cbx_site_reply_clear(&s->reply);
    cbx_mem_free(cbx_ctx_allocator(s->ctx), s, sizeof *s);
}
