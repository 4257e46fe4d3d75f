/* Which view makes a page, what comes of a failure, and the tag that changes with the store. */
#include "calibrax/site/store_site.h"

#include <stdio.h>
#include <string.h>

#include "calibrax/base/build_id.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/path.h"
#include "calibrax/pages/page_head.h"
#include "calibrax/site/page_view.h"

static const struct {
    const char *page;
    cbx__view_fn view;
} views[] = {
    { "", cbx__view_runs },           { "runs", cbx__view_runs },         { "run", cbx__view_run },
    { "trends", cbx__view_trends },   { "trend", cbx__view_trend },       { "point", cbx__view_point },
    { "compare", cbx__view_compare }, { "profiles", cbx__view_profiles }, { "rows", cbx__view_cases },
    { "case", cbx__view_case },       { "trace", cbx__view_trace },
};

cbx_status cbx_site_open(cbx_ctx *ctx, cbx_store *store, const char *title, cbx_site **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_site *s = CBX_ARENA_OBJECT(cbx_site, al);
    const char *base = cbx_path_base(cbx_store_root(store));

    if (!s) return cbx_fail_nomem(err, "the pages of a store");
    s->ctx = ctx;
    s->store = store;
    cbx_arena_init(&s->passing, al);
    if (!title) title = *base && strcmp(base, ".") != 0 ? base : "calibrax";
    s->title = cbx_arena_strdup(&s->arena, title);
    const cbx_status st = s->title ? CBX_OK : cbx_fail_nomem(err, "the pages of a store");
    return CBX_FINISH(st, *out = s, cbx_site_close(s));
}

void cbx_site_close(cbx_site *s)
{
    if (!s) return;
    cbx_arena_clear(&s->passing);
    cbx_arena_end(&s->arena);
}

void cbx_site_reply_init(cbx_site_reply *r, const cbx_allocator *al)
{
    *r = (cbx_site_reply){ .status = 503, .type = "text/plain; charset=utf-8" };
    cbx_text_init(&r->body, al);
    cbx_text_init(&r->policy, al);
}

void cbx_site_reply_clear(cbx_site_reply *r)
{
    cbx_text_clear(&r->body);
    cbx_text_clear(&r->policy);
}

bool cbx_site_host_is_local(const char *host, unsigned port)
{
    static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };
    char wanted[32];

    for (size_t i = 0; host && i < CBX_LEN(names); i++) {
        snprintf(wanted, sizeof wanted, "%s:%u", names[i], port);
        if (!strcasecmp(host, wanted) || (port == 80 && !strcasecmp(host, names[i]))) return true;
    }
    return false;
}

/* --- a page --- */

static void put_failure(cbx__view *v, int status, const char *message)
{
    const char *title = status == 400   ? "This address is not understood"
                        : status == 404 ? "Not found"
                                        : "This cannot be shown";

    cbx_text_reset(v->out);
    if (v->document) {
        cbx_json_unref(v->document);
        v->document = cbx_json_new_object();
    }
    cbx__view_begin(v, "-", title);
    cbx__view_note(v, "%s.", message);
    cbx__view_end(v);
}

/* Of the store's state, the program and the target; "" where the state is unknown.  This is the one
 * look at the store's folder for a page. */
static cbx_status make_tag(cbx_site *s, const char *target, cbx_site_reply *reply, cbx_err *err)
{
    char state[CBX_HASH_SIZE], hash[CBX_HASH_SIZE];
    cbx_hasher *h;
    cbx_status st = cbx_store_state(s->store, state, err);

    *reply->tag = '\0';
    if (st || !*state) return st;
    h = cbx_hasher_create();
    if (!h) return cbx_fail_nomem(err, "a page");
    cbx_hasher_add(h, state, sizeof state);
    cbx_hasher_add(h, cbx__build_id(), strlen(cbx__build_id()) + 1);
    cbx_hasher_add(h, s->title, strlen(s->title) + 1);
    cbx_hasher_add(h, target, strlen(target));
    cbx_hasher_end(h, hash);
    snprintf(reply->tag, sizeof reply->tag, "\"%s\"", hash);
    return CBX_OK;
}

/* The page of a target, or of a failure.  @param st  one before this call */
static cbx_status get_page(cbx_site *s, const char *target, cbx_status st, cbx_err *err, cbx_site_reply *reply)
{
    cbx__request request = { .page = "" };
    cbx__view v = {
        .site = s, .ctx = s->ctx, .store = s->store, .arena = &s->passing, .request = &request, .out = &reply->body
    };
    size_t i = 0;

    cbx_text_reset(&reply->body);
    cbx_text_reset(&reply->policy);
    if (!st) st = cbx__request_parse(target, &s->passing, &request, err);
    const char *format = cbx__request_param(&request, "format");
    const bool json = format && !strcmp(format, "json");
    if (json) v.document = cbx_json_new_object();
    if (json && !v.document) st = CBX_ENOMEM;
    cbx_store_hold(s->store, true);
    while (!st && i < CBX_LEN(views) && strcmp(views[i].page, request.page) != 0) i++;
    if (!st) st = i < CBX_LEN(views) ? views[i].view(&v, err) : cbx_fail(err, CBX_ENOENT, "there is no such page");
    if (!st && !v.whole) cbx__view_end(&v);
    reply->status = !st ? 200 : st == CBX_EINVAL ? 400 : st == CBX_ENOENT ? 404 : st == CBX_ENOMEM ? 503 : 500;
    if (st && st != CBX_ENOMEM) put_failure(&v, reply->status, err->message);
    reply->type = v.document ? "application/json" : "text/html; charset=utf-8";
    if (!v.document) cbx__pages_put_policy(&reply->policy, st ? NULL : v.script_hash);
    cbx_json_unref(v.document);
    cbx_store_hold(s->store, false);
    cbx_arena_clear(&s->passing);
    return st == CBX_ENOMEM || reply->body.status || reply->policy.status ? CBX_ENOMEM : CBX_OK;
}

cbx_status cbx__site_page(cbx_site *s, const char *target, cbx_site_reply *reply)
{
    cbx_err err = CBX_ERR_INIT;

    return get_page(s, target, CBX_OK, &err, reply);
}

cbx_status cbx_site_get(cbx_site *s, const char *target, const char *known, cbx_site_reply *reply)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = make_tag(s, target, reply, &err);

    if (!st && *reply->tag && known && strstr(known, reply->tag)) {
        cbx_text_reset(&reply->body);
        cbx_text_reset(&reply->policy);
        reply->status = 304;
        return CBX_OK;
    }
    if (!get_page(s, target, st, &err, reply)) {
        if (reply->status != 200) *reply->tag = '\0';
        return CBX_OK;
    }
    *reply->tag = '\0';
    cbx_site_reply_clear(reply);
    reply->status = 503;
    reply->type = "text/plain; charset=utf-8";
    return CBX_ENOMEM;
}
