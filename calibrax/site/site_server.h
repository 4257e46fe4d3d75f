/**
 * Pages of a store over HTTP, for a browser on the same machine.
 *
 * It listens on 127.0.0.1 alone and answers GET and HEAD of requests whose Host is this machine by
 * a local name: a page of another site that resolves its own name to 127.0.0.1 gets 403.  Long
 * addresses and heads and connections beyond 128 are refused; a connection ends when 10 s pass
 * without a byte, or 20 s without an answer sent, not counting the time in which pages are made.
 * Everything runs in the calling thread.  libmicrohttpd (0.9.72 or newer) is loaded on first use.
 * Since 0.1.
 */
#ifndef CALIBRAX_SITE_SITE_SERVER_H
#define CALIBRAX_SITE_SITE_SERVER_H

#include "calibrax/site/store_site.h"

CBX_BEGIN_DECLS

typedef struct cbx_site_server cbx_site_server;

typedef struct cbx_site_served {
    size_t pages;     /* answered with 200 */
    size_t unchanged; /* with 304 */
    size_t refused;   /* with any other status */
} cbx_site_served;

/**
 * @param site  used until the server is closed
 * @param port  0: one that is free
 * @return CBX_OK; CBX_EUNAVAILABLE: no libmicrohttpd; CBX_EBUSY: the port is in use; CBX_EPERM;
 *         CBX_EIO; CBX_ENOMEM
 */
CBX_API cbx_status cbx_site_server_open(cbx_ctx *ctx, cbx_site *site, unsigned port, cbx_site_server **out,
                                        cbx_err *err);
CBX_API unsigned cbx_site_server_port(const cbx_site_server *server);
/** Answers what comes within about so many milliseconds; a signal ends it early.  @return CBX_OK;
 * CBX_EIO */
CBX_API cbx_status cbx_site_server_run(cbx_site_server *server, unsigned wait_ms, cbx_err *err);
/** So far; written at each call. */
CBX_API void cbx_site_server_count(const cbx_site_server *server, cbx_site_served *out);
/** Ends all connections.  NULL is fine. */
CBX_API void cbx_site_server_close(cbx_site_server *server);

CBX_END_DECLS
#endif
