/**
 * A store as pages: runs, trends with their changes, comparisons, launches of a point, profiles and
 * rows of nperf, as HTML that needs no script, or as JSON.
 *
 * A page is asked for by a target, a path and a query as in a URL: "/", "/run?id=abc". The pages:
 *
 *     /            runs, newest first: text, branch, machine, commit, since, until, point,
 *                  scenario, metric, tag, page
 *     /run         a run: id, page
 *     /trace       kernels and gaps of a run's trace: id, page
 *     /trends      series with their newest values: text, point, scenario, metric, tag, page
 *     /trend       one series, where its level changed: metric, point, scenario, tag, machine, page
 *     /point       a point of a run, its launches: run, point, scenario, tag, page
 *     /compare     two runs: a (the reference), b, threshold [%], page
 *     /profiles    runs that `calibrax profile` kept: page
 *     /rows, /case rows of nperf; those of a case: name
 *
 * `tag` is KEY=VALUE and may come several times.  format=json gives the content of any of them as
 * JSON (schema "calibrax-page", version 1).  Nothing of a target becomes a path: runs, baselines
 * and cases are looked up among those that the store lists.
 *
 * One thread uses a site, and its ctx, at a time.  Since 0.1.
 */
#ifndef CALIBRAX_SITE_STORE_SITE_H
#define CALIBRAX_SITE_STORE_SITE_H

#include "calibrax/base/hash.h"
#include "calibrax/base/text.h"
#include "calibrax/storage/store.h"

CBX_BEGIN_DECLS

typedef struct cbx_site cbx_site;

/**
 * @param store  read only, and used until the site is closed
 * @param title  of the store, on each page; NULL: the name of its folder
 */
CBX_API cbx_status cbx_site_open(cbx_ctx *ctx, cbx_store *store, const char *title, cbx_site **out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_site_close(cbx_site *site);

typedef struct cbx_site_reply {
    int status;                  /* as of HTTP: 200; 304; 400, 404: a page with the reason; 500, 503 */
    const char *type;            /* of the body: "text/html; charset=utf-8" */
    cbx_text body;               /* empty for 304 */
    cbx_text policy;             /* Content-Security-Policy of a page, "" for JSON */
    char tag[2 + CBX_HASH_SIZE]; /* in quotes: changes with the store and the program; "": unknown */
} cbx_site_reply;

CBX_API void cbx_site_reply_init(cbx_site_reply *reply, const cbx_allocator *al);
CBX_API void cbx_site_reply_clear(cbx_site_reply *reply);

/**
 * Makes the page of a target.  What cannot be made is a page, too, with a status and the reason.
 * @param target  any bytes, NUL-terminated
 * @param known   tags that the reader has, as in If-None-Match; NULL: none
 * @param reply   is reset, and filled
 * @return CBX_OK; CBX_ENOMEM: reply is a line of text with status 503
 */
CBX_API cbx_status cbx_site_get(cbx_site *site, const char *target, const char *known, cbx_site_reply *reply);

/** Whether a Host header names this machine at a port, by a name that no other site can have:
 * 127.0.0.1, localhost or [::1].  NULL is false. */
CBX_API bool cbx_site_host_is_local(const char *host, unsigned port);

/** What is written of a store. */
typedef struct cbx_site_pages {
    size_t written, left_out; /* links to pages beyond the limit, which are text */
} cbx_site_pages;
/** Takes a page under its file's name; what it returns, if not CBX_OK, ends the walk. */
typedef cbx_status (*cbx_site_page_fn)(void *user, const char *name, const cbx_text *page, cbx_err *err);
/**
 * Every page that can be reached from "/", the nearest first, as files that refer to each other by
 * name; "index.html" is "/".  They have no forms, and paths in texts are left out.
 * @param limit  of pages; 0: 1000
 * @return CBX_OK; CBX_ENOMEM; as the store's queries; what fn returned
 */
CBX_API cbx_status cbx_site_walk(cbx_site *site, size_t limit, cbx_site_page_fn fn, void *user, cbx_site_pages *out,
                                 cbx_err *err);

CBX_END_DECLS
#endif
