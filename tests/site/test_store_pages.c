/* Pages of a store: addresses, hostile names, links that all lead somewhere, damage, changes,
 * files, no memory. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

#include "calibrax/base/file.h"
#include "calibrax/base/hash_table.h"
#include "calibrax/site/page_request.h"
#include "calibrax/site/store_site.h"
#include "place.h"

/* --- a store --- */

/* Everything that an element, an attribute, an address or a tag could end at. */
#define HOSTILE "<script>alert(1)</script>\"onload='x'&amp;%41=+#?/\\\n\xe2\x80\xae\xc3\xa9"

static void keep(cbx_ctx *ctx, cbx_store *store, const char *id, int64_t second, const char *name, double value)
{
    cbx_run_opts opts = CBX_RUN_OPTS_INIT;
    cbx_run_builder *b = NULL;
    cbx_run *run = NULL;
    double samples[] = { value, value * 1.01, value * 0.99, value * 1.02, value * 0.98, value, value * 1.005 };
    const cbx_tag tags[] = { { name, name }, { "framework", "jax" } };
    const cbx_named_metric metrics[] = { { "time", { value, value * 0.98, value * 1.02, samples, 7 } },
                                         { name, { 5, __builtin_nan(""), __builtin_nan(""), NULL, 0 } } };
    const cbx_point points[] = { { name, name, tags, 2, metrics, 2 },
                                 { "plain", "", NULL, 0, metrics, 1 },
                                 { "call", "profile", tags + 1, 1, metrics, 1 } };
    const cbx_metric_def def = { "time", "s", CBX_DIRECTION_LOWER, "", CBX_PRIORITY_PRIMARY, name };
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;

    opts.no_vcs = opts.no_machine = opts.no_versions = true;
    st = cbx_run_builder_create(ctx, &opts, &b, &err);
    if (!st) st = cbx_run_builder_set_id(b, id, &err);
    if (!st) st = cbx_run_builder_set_timestamp(b, 1000000 * second, &err);
    if (!st) st = cbx_run_builder_set_commit(b, "0f3c2b1a99", name, &err);
    if (!st) st = cbx_run_builder_set_environment(b, "machine", cbx_json_new_string("m1"), &err);
    if (!st) st = cbx_run_builder_set_environment(b, name, cbx_json_new_string(name), &err);
    if (!st) st = cbx_run_builder_set_metadata(b, "profile", cbx_json_new_string(name), &err);
    if (!st) st = cbx_run_builder_add_metric_def(b, &def, &err);
    for (size_t i = 0; !st && i < CBX_LEN(points); i++) st = cbx_run_builder_add_point(b, &points[i], &err);
    if (!st) st = cbx_run_builder_freeze(b, &run, &err);
    if (!st) st = cbx_store_save(store, run, false, &err);
    CHECK_OK(st, &err, id);
    cbx_run_free(run);
    cbx_run_builder_free(b);
}

static cbx_store *open_store(cbx_ctx *ctx, const char *root)
{
    cbx_store_opts opts = CBX_STORE_OPTS_INIT;
    cbx_store *store = NULL;
    cbx_err err = CBX_ERR_INIT;

    opts.create = true;
    CHECK_OK(cbx_store_open(ctx, root, &opts, &store, &err), &err, "open");
    return store;
}

/* Twelve runs: the level of a series changes at the seventh. */
static cbx_store *fill(cbx_ctx *ctx, const char *root)
{
    cbx_store *store = open_store(ctx, root);
    char id[32];

    for (int i = 0; i < 12; i++) {
        snprintf(id, sizeof id, i == 3 ? "<b>&\"%d'" : "run%d", i);
        keep(ctx, store, id, 1700000000 + 3600 * i, HOSTILE, (i < 6 ? 1e-3 : 1.3e-3) * (1 + 0.001 * (i % 3)));
    }
    CHECK_INT(cbx_store_baseline_set(store, "main", "run1", NULL), CBX_OK, "baseline");
    return store;
}

typedef struct place {
    cbx_test_place *at;
    cbx_store *store;
    cbx_site *site;
    cbx_site_reply reply;
} place;

static place enter(void **state)
{
    place p = { .at = *state };
    cbx_err err = CBX_ERR_INIT;

    p.store = fill(p.at->ctx, p.at->folder);
    CHECK_OK(cbx_site_open(p.at->ctx, p.store, NULL, &p.site, &err), &err, "site");
    cbx_site_reply_init(&p.reply, cbx_ctx_allocator(p.at->ctx));
    return p;
}

static void leave(place *p)
{
    cbx_site_reply_clear(&p->reply);
    cbx_site_close(p->site);
    cbx_store_close(p->store);
}

static const char *get(place *p, const char *target, int wanted)
{
    CHECK_INT(cbx_site_get(p->site, target, NULL, &p->reply), CBX_OK, target);
    CHECK_INT(p->reply.status, wanted, target);
    return cbx_text_str(&p->reply.body);
}

/* --- addresses --- */

TEST(test_addresses_are_read_or_refused, cbx_test_place_open, cbx_test_place_close)
{
    static const struct {
        const char *target;
        cbx_status st;
        const char *key, *value, *why;
    } cases[] = {
        { "/", CBX_OK, NULL, NULL, "the first page" },
        { "/run?id=a%2Fb", CBX_OK, "id", "a/b", "an escape" },
        { "/run?id=a+b", CBX_OK, "id", "a b", "a blank" },
        { "/run?id=%E2%82%ac", CBX_OK, "id", "\xe2\x82\xac", "UTF-8" },
        { "/run?id", CBX_OK, "id", NULL, "no value" },
        { "/run?id=&id=b", CBX_OK, "id", NULL, "the first value counts" },
        { "/run?&&id=b&", CBX_OK, "id", "b", "empty parameters" },
        { "", CBX_EINVAL, NULL, NULL, "nothing" },
        { "run", CBX_EINVAL, NULL, NULL, "no slash" },
        { "*", CBX_EINVAL, NULL, NULL, "OPTIONS *" },
        { "http://127.0.0.1/", CBX_EINVAL, NULL, NULL, "a proxy's form" },
        { "/../etc/passwd", CBX_ENOENT, NULL, NULL, "a path" },
        { "/run/../../x", CBX_ENOENT, NULL, NULL, "a path" },
        { "/%2e%2e/x", CBX_ENOENT, NULL, NULL, "an escaped path" },
        { "//evil.example/", CBX_ENOENT, NULL, NULL, "another host" },
        { "/run?id=%", CBX_EINVAL, NULL, NULL, "half an escape" },
        { "/run?id=%4", CBX_EINVAL, NULL, NULL, "half an escape" },
        { "/run?id=%zz", CBX_EINVAL, NULL, NULL, "no hex" },
        { "/run?id=a%00b", CBX_EINVAL, NULL, NULL, "NUL" },
        { "/run?id=%ff", CBX_EINVAL, NULL, NULL, "not UTF-8" },
        { "/run?id=\xc0\x80", CBX_EINVAL, NULL, NULL, "overlong" },
        { "/?a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a&a", CBX_EINVAL, NULL, NULL, "too many" },
    };
    cbx_test_place *at = *test_state;
    cbx_arena arena;

    cbx_arena_init(&arena, cbx_ctx_allocator(at->ctx));
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx__request r;
        cbx_err err = CBX_ERR_INIT;
        CHECK_STATUS(cbx__request_parse(cases[i].target, &arena, &r, &err), cases[i].st, cases[i].why);
        CHECK(!cases[i].st == !err.message[0], cases[i].why);
        if (!cases[i].key) continue;
        const char *value = cbx__request_param(&r, cases[i].key);
        CHECK(value && cases[i].value ? !strcmp(value, cases[i].value) : value == cases[i].value, cases[i].why);
    }
    char *tall = malloc(CBX__TARGET_MAX + 3);
    memset(tall, 'a', CBX__TARGET_MAX + 2);
    memcpy(tall, "/?", 2);
    tall[CBX__TARGET_MAX + 2] = '\0';
    cbx__request r;
    CHECK_STATUS(cbx__request_parse(tall, &arena, &r, NULL), CBX_EINVAL, "too long");
    free(tall);
    cbx_arena_clear(&arena);
}

TEST(test_what_is_written_is_read_the_same, cbx_test_place_open, cbx_test_place_close)
{
    static const char *const texts[] = { "plain", HOSTILE, "a=b", "%", "100%25", "+ +", "&;=?#", "\x7f\x01" };
    cbx_test_place *at = *test_state;
    cbx_arena arena;

    cbx_arena_init(&arena, cbx_ctx_allocator(at->ctx));
    for (size_t i = 0; i < CBX_LEN(texts); i++) {
        const cbx_tag tag = { texts[i], texts[i] }, *tags;
        cbx__request r = { .page = "trend" }, again;
        size_t n;
        cbx__request_add(&r, "point", texts[i]);
        cbx__request_add_tags(&r, &arena, &tag, 1);
        CHECK_STATUS(cbx__request_parse(cbx__request_target(&r, &arena), &arena, &again, NULL), CBX_OK, texts[i]);
        CHECK_STR(cbx__request_param(&again, "point"), texts[i], "the point");
        CHECK_STATUS(cbx__request_tags(&again, &arena, &tags, &n, NULL), CBX_OK, texts[i]);
        CHECK_INT(n, 1, "a tag");
        CHECK_STR(tags[0].key, texts[i], "its key");
        CHECK_STR(tags[0].value, texts[i], "its value");
    }
    cbx_arena_clear(&arena);
}

TEST(test_hosts)
{
    static const struct {
        const char *host;
        bool local;
    } cases[] = {
        { "127.0.0.1:8317", true },
        { "localhost:8317", true },
        { "LOCALHOST:8317", true },
        { "[::1]:8317", true },
        { NULL, false },
        { "", false },
        { "127.0.0.1", false },
        { "127.0.0.1:80", false },
        { "evil.example:8317", false },
        { "127.0.0.1.evil.example:8317", false },
        { "localhost:8317.evil.example", false },
        { "127.0.0.1:8317@evil.example", false },
        { "localhost.:8317", false },
        { "0.0.0.0:8317", false },
        { "127.0.0.1:08317", false },
    };

    for (size_t i = 0; i < CBX_LEN(cases); i++)
        CHECK_INT(cbx_site_host_is_local(cases[i].host, 8317), cases[i].local, cases[i].host ? cases[i].host : "none");
    CHECK(cbx_site_host_is_local("localhost", 80), "the port of http");
}

/* --- pages --- */

static size_t count(const char *text, const char *part)
{
    size_t n = 0;

    for (; (text = strstr(text, part)) != NULL; text += strlen(part)) n++;
    return n;
}

/* An attribute's value as its reader has it. */
static void unescape(char *s)
{
    static const struct {
        const char *entity;
        char c;
    } entities[] = { { "&amp;", '&' }, { "&lt;", '<' }, { "&gt;", '>' }, { "&quot;", '"' }, { "&#39;", '\'' } };
    char *to = s;

    while (*s) {
        size_t k = 0;
        while (k < CBX_LEN(entities) && strncmp(s, entities[k].entity, strlen(entities[k].entity)) != 0) k++;
        *to++ = k < CBX_LEN(entities) ? entities[k].c : *s;
        s += k < CBX_LEN(entities) ? strlen(entities[k].entity) : 1;
    }
    *to = '\0';
}

/* What a page refers to, into names; "#main" is left out. */
static void links_of(const char *page, cbx_names *names)
{
    for (const char *at = page; (at = strstr(at, "href=\"")) != NULL;) {
        size_t n = strcspn(at += 6, "\"");
        char *link = strndup(at, n);
        unescape(link);
        CHECK(cbx_names_add(names, link) != CBX_NO_NAME, "memory");
        free(link);
    }
}

static void check_page(const char *page, const char *what)
{
    CHECK(strstr(page, "<script") == NULL, what);
    CHECK(strstr(page, "onload='") == NULL && strstr(page, "\"onload") == NULL, what);
    CHECK(strstr(page, "<b>") == NULL, what);
    CHECK_INT(count(page, "<main"), 1, what);
    CHECK_INT(count(page, "<h1>"), 1, what);
    CHECK_INT(count(page, "<html lang=en>"), 1, what);
    CHECK_INT(count(page, "style="), 0, what);
    CHECK_INT(count(page, "<table"), count(page, "</table>"), what);
    CHECK_INT(count(page, "<svg"),
              count(page, "role=img") + count(page, "role=\"img\"") + count(page, "aria-hidden=true"), what);
}

TEST(test_every_link_leads_to_a_page, cbx_test_place_open, cbx_test_place_close)
{
    place p = enter(test_state);
    cbx_names names;

    cbx_names_init(&names, cbx_ctx_allocator(p.at->ctx));
    CHECK(cbx_names_add(&names, "/") == 0, "memory");
    for (size_t i = 0; i < names.n && i < 400; i++) {
        const char *page = get(&p, names.list[i], 200);
        check_page(page, names.list[i]);
        links_of(page, &names);
        CHECK(strstr(cbx_text_str(&p.reply.policy), "default-src 'none'") != NULL, "a policy");
        CHECK(strstr(cbx_text_str(&p.reply.policy), "script-src") == NULL, "no script");
    }
    CHECK_GT(names.n, 60, "runs, points, trends, comparisons");
    cbx_names_clear(&names);
    leave(&p);
}

TEST(test_escapes_are_needed)
{
    char text[] = "&lt;a&gt; &amp;lt; &quot;&#39;";
    unescape(text);
    CHECK_STR(text, "<a> &lt; \"'", "entities");
    CHECK_INT(count("<script>x</script>", "<script"), 1, "the check sees a script");
}

TEST(test_a_change_is_found, cbx_test_place_open, cbx_test_place_close)
{
    place p = enter(test_state);
    const char *page = get(&p, "/trend?metric=time&point=plain", 200);

    CHECK(strstr(page, ">run6</a>") != NULL, "the first run of the new level");
    CHECK(strstr(page, "+30.0 %") != NULL, "how much");
    CHECK(strstr(page, "worse") != NULL, "which way");
    CHECK(strstr(page, "No change") == NULL, "found");
    page = get(&p, "/compare?a=run1&b=run8", 200);
    CHECK(strstr(page, "regressed") != NULL, "the engine of the gate");
    page = get(&p, "/compare?a=run1&b=run8&threshold=50", 200);
    CHECK(strstr(page, "regressed") == NULL, "another threshold");
    leave(&p);
}

TEST(test_refusals_are_pages, cbx_test_place_open, cbx_test_place_close)
{
    static const struct {
        const char *target;
        int status;
        const char *says;
    } cases[] = {
        { "/nothing", 404, "no such page" },
        { "/run", 400, "id=ID" },
        { "/run?id=unknown", 404, "no run &#39;unknown&#39;" },
        { "/run?id=..%2F..%2Fetc%2Fpasswd", 404, "no run" },
        { "/run?id=latest", 404, "no run" },
        { "/run?id=run", 404, "no run" },
        { "/run?id=%3Cscript%3E", 404, "&lt;script&gt;" },
        { "/point?run=run1&point=none", 404, "no such point" },
        { "/trend?metric=none&point=none", 404, "no such series" },
        { "/trend", 400, "metric=NAME" },
        { "/compare?a=run1&b=none", 404, "no run" },
        { "/compare?a=baseline:..%2Fmain&b=run1", 404, "no baseline" },
        { "/compare?a=run1&b=run2&threshold=-1", 400, "threshold" },
        { "/compare?a=run1&b=run2&threshold=nan", 400, "threshold" },
        { "/?since=yesterday", 400, "since" },
        { "/case?name=..", 404, "no rows" },
        { "/case", 400, "name=CASE" },
        { "/?%zz", 400, "escape" },
        { "/a/b", 404, "no such page" },
    };
    place p = enter(test_state);

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const char *page = get(&p, cases[i].target, cases[i].status);
        CHECK(strstr(page, cases[i].says) != NULL, cases[i].target);
        check_page(page, cases[i].target);
        CHECK_STR(p.reply.tag, "", "is not kept");
    }
    leave(&p);
}

TEST(test_pages_of_lists, cbx_test_place_open, cbx_test_place_close)
{
    static const char *const targets[] = { "/?page=9999999",
                                           "/?page=0",
                                           "/?page=x",
                                           "/?page=99999999999999999999",
                                           "/trends?page=77",
                                           "/run?id=run1&page=9",
                                           "/trend?metric=time&point=plain&page=5",
                                           "/compare?a=run1&b=run8&page=3",
                                           "/profiles?page=2" };
    place p = enter(test_state);
    char id[16];

    for (size_t i = 0; i < CBX_LEN(targets); i++)
        CHECK(strstr(get(&p, targets[i], 200), "<tr><th") != NULL, targets[i]);
    for (int i = 0; i < 50; i++) {
        snprintf(id, sizeof id, "more%02d", i);
        keep(p.at->ctx, p.store, id, 1700200000 + i, "x", 1);
    }
    CHECK(strstr(get(&p, "/", 200), "Page 1 of 2") != NULL, "the first of two");
    CHECK(strstr(cbx_text_str(&p.reply.body), "more49") && !strstr(cbx_text_str(&p.reply.body), "run1<"), "the newest");
    CHECK(strstr(get(&p, "/?page=2", 200), "Page 2 of 2") != NULL, "the second");
    CHECK(strstr(cbx_text_str(&p.reply.body), "run1<") && !strstr(cbx_text_str(&p.reply.body), "more49"), "the oldest");
    CHECK(strstr(get(&p, "/?text=run1", 200), "3 runs") != NULL, "run1, run10, run11");
    CHECK(strstr(get(&p, "/?metric=time&tag=framework=jax&branch=x", 200), "50 runs") != NULL, "filters together");
    CHECK(strstr(get(&p, "/?tag=framework=torch", 200), "No run matches") != NULL, "none");
    leave(&p);
}

TEST(test_json_of_each_page, cbx_test_place_open, cbx_test_place_close)
{
    static const struct {
        const char *target, *list;
        size_t n;
    } cases[] = { { "/?format=json", "runs", 12 },
                  { "/run?id=run1&format=json", "values", 4 },
                  { "/trends?format=json", "series", 4 },
                  { "/trend?metric=time&point=plain&format=json", "changes", 1 },
                  { "/compare?a=run1&b=run8&format=json", "values", 4 },
                  { "/point?run=run1&point=plain&format=json", "samples", 1 },
                  { "/profiles?format=json", "profiles", 12 },
                  { "/rows?format=json", "cases", 0 } };
    place p = enter(test_state);

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const char *text = get(&p, cases[i].target, 200);
        cbx_json *o = NULL;
        CHECK_INT(cbx_json_parse(text, strlen(text), "page", &o, NULL), CBX_OK, cases[i].target);
        CHECK_STR(cbx_json_get_string(o, "schema", ""), "calibrax-page", cases[i].target);
        CHECK_INT(cbx_json_length(cbx_json_get(o, cases[i].list)), cases[i].n, cases[i].target);
        CHECK_STR(p.reply.type, "application/json", "type");
        cbx_json_unref(o);
    }
    leave(&p);
}

/* --- a store that changes --- */

static void write_text(place *p, const char *name, const char *text)
{
    cbx_test_put(text, "%s/%s", p->at->folder, name);
}

TEST(test_a_torn_file_costs_nothing_else, cbx_test_place_open, cbx_test_place_close)
{
    place p = enter(test_state);
    const char *page;

    write_text(&p, "runs/torn.json", "{\"id\": \"torn\", \"poi");
    page = get(&p, "/", 200);
    CHECK(strstr(page, "runs/torn.json") != NULL, "named");
    CHECK(strstr(page, "12 runs") != NULL, "the others are there");
    get(&p, "/run?id=torn", 404);
    get(&p, "/run?id=run1", 200);
    leave(&p);
}

TEST(test_the_tag_changes_with_the_store, cbx_test_place_open, cbx_test_place_close)
{
    static const char *const targets[] = { "/", "/trends", "/run?id=run1" };
    place p = enter(test_state);
    char tag[64];

    for (size_t i = 0; i < CBX_LEN(targets); i++) {
        get(&p, targets[i], 200);
        snprintf(tag, sizeof tag, "%s", p.reply.tag);
        CHECK_INT(cbx_site_get(p.site, targets[i], tag, &p.reply), CBX_OK, "again");
        CHECK_INT(p.reply.status, 304, "the same");
        CHECK_INT(p.reply.body.len, 0, "nothing is sent");
        char id[16];
        snprintf(id, sizeof id, "new%zu", i);
        keep(p.at->ctx, p.store, id, 1700100000, "x", 1);
        CHECK_INT(cbx_site_get(p.site, targets[i], tag, &p.reply), CBX_OK, "again");
        CHECK_INT(p.reply.status, 200, "another run");
    }
    snprintf(tag, sizeof tag, "%s", p.reply.tag);
    CHECK_INT(cbx_store_remove(p.store, "run1", NULL), CBX_OK, "remove");
    CHECK_INT(cbx_site_get(p.site, "/run?id=run1", tag, &p.reply), CBX_OK, "again");
    CHECK_INT(p.reply.status, 404, "it is gone");
    leave(&p);
}

/* --- files --- */

typedef struct files {
    cbx_names names, links;
    cbx_ctx *ctx;
    size_t n, stop_at;
    bool leaks; /* what names a host or a user */
} files;

static cbx_status take_file(void *user, const char *name, const cbx_text *page, cbx_err *err)
{
    files *f = user;
    const char *text = cbx_text_str(page);

    if (f->stop_at && f->n == f->stop_at) return cbx_fail(err, CBX_ENOSPC, "full");
    f->n++;
    CHECK_INT(cbx_names_add(&f->names, name), f->names.n - 1, "written once");
    CHECK(strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == strlen(name), name);
    CHECK(strstr(text, "<form") == NULL, "no forms");
    check_page(text, name);
    f->leaks |= strstr(text, "myhost") || strstr(text, "/home/me");
    links_of(text, &f->links);
    return CBX_OK;
}

TEST(test_files_refer_to_each_other, cbx_test_place_open, cbx_test_place_close)
{
    place p = enter(test_state);
    cbx_site_pages pages;
    cbx_err err = CBX_ERR_INIT;

    for (size_t limit = 0; limit <= 20; limit += 20) {
        files f = { .ctx = p.at->ctx };
        cbx_names_init(&f.names, cbx_ctx_allocator(p.at->ctx));
        cbx_names_init(&f.links, cbx_ctx_allocator(p.at->ctx));
        CHECK_OK(cbx_site_walk(p.site, limit, take_file, &f, &pages, &err), &err, "walk");
        CHECK_INT(pages.written, f.n, "counted");
        CHECK(limit ? pages.written == limit && pages.left_out > 0 : pages.written > 60 && !pages.left_out, "limit");
        CHECK(cbx_names_find(&f.names, "index.html") == 0, "the first page");
        for (size_t i = 0; i < f.links.n; i++)
            CHECK(cbx_names_find(&f.names, f.links.list[i]) != CBX_NO_NAME, f.links.list[i]);
        cbx_names_clear(&f.names);
        cbx_names_clear(&f.links);
    }
    files f = { .ctx = p.at->ctx, .stop_at = 2 };
    cbx_names_init(&f.names, cbx_ctx_allocator(p.at->ctx));
    cbx_names_init(&f.links, cbx_ctx_allocator(p.at->ctx));
    CHECK_STATUS(cbx_site_walk(p.site, 0, take_file, &f, &pages, &err), CBX_ENOSPC, "the caller's failure");
    cbx_names_clear(&f.names);
    cbx_names_clear(&f.links);
    get(&p, "/", 200); /* forms are back */
    CHECK(strstr(cbx_text_str(&p.reply.body), "<form") != NULL, "a form");
    leave(&p);
}

TEST(test_counts_have_no_unit, cbx_test_place_open, cbx_test_place_close)
{
    place p = enter(test_state);

    write_text(&p, "runs/units.json",
               "{\"id\": \"units\", \"timestamp\": \"2026-03-01T10:00:00+00:00\", \"metric_defs\": {"
               "\"calls\": {\"name\": \"calls\", \"unit\": \"1\", \"direction\": \"lower\"}, \"size\": {\"name\": "
               "\"size\", \"unit\": \"kB\", \"direction\": \"lower\"}},"
               " \"points\": [{\"name\": \"p\", \"scenario\": \"\", \"metrics\": {\"calls\": {\"value\": 23},"
               " \"size\": {\"value\": 2, \"lower\": 1, \"upper\": 3}}}]}");
    const char *page = get(&p, "/run?id=units", 200);
    CHECK(strstr(page, ">23<") != NULL, "a count");
    CHECK(strstr(page, ">2 kB [1, 3]<") != NULL, "and what has a unit");
    leave(&p);
}

/* --- traces --- */

/* A run that was imported from a trace, one with a reference to a trace, and one that the Python
 * package keeps beside the run that was traced. */
static void keep_traces(place *p)
{
    static const char *const metadata[][2] = {
        { "{\"import_format\": \"trace\"}", "imported" },
        { "{\"trace_link\": {\"trace_dir\": \"/home/me/prof\", \"files\": [{\"file\": \"myhost.xplane.pb\"}],"
          " \"kernels\": [{\"name\": \"gemm\", \"process\": \"/device:GPU:0\", \"self_s\": 0.003, \"total_s\": 0.004,"
          " \"calls\": 8, \"share\": 0.75}, {\"name\": 5}, 7, {\"name\": \"odd\", \"share\": \"x\"}],"
          " \"gaps\": [{\"lane\": \"short\", \"longest_s\": 1e-6}, {\"lane\": \"long\", \"longest_s\": 1e-3},"
          " {\"lane\": \"none\"}]}}",
          "linked" },
        { "{\"trace_link\": {\"run_id\": \"run1\", \"kernels\": [{\"name\": \"k\"}]}}", "beside" },
        { "{\"trace_link\": {\"run_id\": \"gone\", \"kernels\": [{\"name\": \"k\"}], \"gaps\": 3}}", "lost" },
        { "{\"trace_link\": {\"kernels\": {\"name\": 1}, \"gaps\": []}}", "nothing" },
        { "{\"trace_link\": []}", "rubbish" },
    };
    char path[64], text[1500];

    for (size_t i = 0; i < CBX_LEN(metadata); i++) {
        snprintf(path, sizeof path, "runs/%s.json", metadata[i][1]);
        snprintf(text, sizeof text,
                 "{\"id\": \"%s\", \"timestamp\": \"2026-03-01T10:00:00+00:00\", \"metadata\": %s, \"points\": ["
                 "{\"name\": \"<k>\", \"scenario\": \"/device:GPU:1\", \"metrics\": {\"self_time\": {\"value\": 0.25},"
                 " \"share\": {\"value\": 0.5}, \"calls\": {\"value\": 4}, \"total_time\": {\"value\": 1}}},"
                 "{\"name\": \"(gaps)\", \"scenario\": \"/device:GPU:1\", \"tags\": {\"lane\": \"<l>\"}, \"metrics\":"
                 " {\"gaps\": {\"value\": 2}, \"busy_share\": {\"value\": 0.125}}}]}",
                 metadata[i][1], metadata[i][0]);
        write_text(p, path, text);
    }
}

TEST(test_traces, cbx_test_place_open, cbx_test_place_close)
{
    static const struct {
        const char *target, *shows[5], *hides;
    } cases[] = {
        { "/run?id=imported", { "<a href=\"/trace?id=imported\">1 kernel, 1 lane</a>" }, "(long)" },
        { "/run?id=linked", { "<a href=\"/trace?id=linked\">2 kernels, 3 lanes</a>" }, "(long)" },
        { "/run?id=rubbish", { "Run rubbish" }, "/trace" },
        { "/trace?id=imported",
          { ">&lt;k&gt;</a>", ">device:GPU:1<", "h50.0v1", "<td class=n>250.0 ms<td class=n>4<td class=n>1.000 s",
            "12.5 %" },
          "<k>" },
        { "/trace?id=linked",
          { ">gemm<", "75.0 %", "<th scope=row>device:GPU:0<td class=n>4.00 ms<td class=n>1", "myhost.xplane.pb",
            "long</span><small></small>" },
          "</a><small>" },
        { "/trace?id=beside", { "<dt>Traced run<dd><a href=\"/run?id=run1\">run1</a>" }, "NaN" },
        { "/trace?id=lost", { "<dt>Traced run<dd>gone<" }, "nan" },
    };
    static const char *const refused[] = { "/trace?id=nothing", "/trace?id=rubbish", "/trace?id=run1" };
    place p = enter(test_state);
    files f = { .ctx = p.at->ctx };
    cbx_site_pages pages;

    keep_traces(&p);
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const char *page = get(&p, cases[i].target, 200);
        check_page(page, cases[i].target);
        for (size_t k = 0; k < CBX_LEN(cases[i].shows) && cases[i].shows[k]; k++)
            CHECK(strstr(page, cases[i].shows[k]) != NULL, cases[i].shows[k]);
        CHECK(strstr(page, cases[i].hides) == NULL, cases[i].target);
    }
    for (size_t i = 0; i < CBX_LEN(refused); i++)
        CHECK(strstr(get(&p, refused[i], 404), "has no kernels of a trace") != NULL, refused[i]);
    get(&p, "/trace", 400);
    CHECK(strstr(get(&p, "/trace?id=linked", 200), ">long<") < strstr(cbx_text_str(&p.reply.body), ">short<"),
          "the longest gap first");
    cbx_json *o = NULL;
    const char *text = get(&p, "/trace?id=imported&format=json", 200);
    CHECK_INT(cbx_json_parse(text, strlen(text), "page", &o, NULL), CBX_OK, "JSON");
    CHECK_STR(cbx_json_get_string(cbx_json_at(cbx_json_get(o, "kernels"), 0), "device", ""), "device:GPU:1", "device");
    CHECK(cbx_json_get_double(cbx_json_at(cbx_json_get(o, "lanes"), 0), "busy_share", 0) == 0.125, "lane");
    cbx_json_unref(o);
    cbx_names_init(&f.names, cbx_ctx_allocator(p.at->ctx));
    cbx_names_init(&f.links, cbx_ctx_allocator(p.at->ctx));
    CHECK_INT(cbx_site_walk(p.site, 0, take_file, &f, &pages, NULL), CBX_OK, "walk");
    CHECK(cbx_names_find(&f.names, "trace-linked.html") != CBX_NO_NAME, "a file of its own");
    CHECK(!f.leaks, "no host and no folder in files");
    cbx_names_clear(&f.names);
    cbx_names_clear(&f.links);
    leave(&p);
}

/* A trace of 250 lanes, the first of 120 devices, and one kernel: pages reach all of them. */
TEST(test_traces_of_many_lanes, cbx_test_place_open, cbx_test_place_close)
{
    place p = enter(test_state);
    cbx_text text;
    size_t lanes = 0, devices = 0;

    cbx_text_init(&text, cbx_ctx_allocator(p.at->ctx));
    cbx_text_puts(&text,
                  "{\"id\": \"many\", \"timestamp\": \"2026-03-01T10:00:00+00:00\", \"points\": [], \"metadata\":"
                  " {\"trace_link\": {\"kernels\": [{\"name\": \"only\", \"process\": \"d0\"}], \"gaps\": [");
    for (int i = 0; i < 250; i++)
        cbx_text_printf(&text, "%s{\"lane\": \"lane%d\", \"process\": \"d%d\", \"longest_s\": %d}", i ? "," : "", i,
                        i % 120, 1000 - i);
    cbx_text_puts(&text, "]}}}");
    write_text(&p, "runs/many.json", cbx_text_str(&text));
    for (int page = 1; page <= 3; page++) {
        char target[64], name[16];
        cbx_json *o = NULL;
        snprintf(target, sizeof target, "/trace?id=many&page=%d&format=json", page);
        const char *found = get(&p, target, 200);
        CHECK_INT(cbx_json_parse(found, strlen(found), "page", &o, NULL), CBX_OK, target);
        lanes += cbx_json_length(cbx_json_get(o, "lanes"));
        devices += cbx_json_length(cbx_json_get(o, "devices"));
        snprintf(name, sizeof name, "lane%d", 100 * (page - 1));
        CHECK_STR(cbx_json_get_string(cbx_json_at(cbx_json_get(o, "lanes"), 0), "lane", ""), name,
                  "the longest gap first");
        cbx_json_unref(o);
    }
    CHECK_INT(lanes, 250, "every lane");
    CHECK_INT(devices, 120, "every device");
    const char *last = get(&p, "/trace?id=many&page=3", 200);
    check_page(last, "the last page");
    CHECK(strstr(last, ">lane249<") && strstr(last, "Page 3 of 3") && strstr(last, "&amp;page=2\" rel=prev"),
          "the last lane");
    CHECK(!strstr(last, "Longest kernels") && !strstr(last, "<caption>devices"), "no empty tables");
    cbx_text_clear(&text);
    leave(&p);
}

/* --- points of any size --- */

#define MANY 450

/* One point with many metrics, each with two samples, and many tags; and one with a long name. */
static void keep_large(place *p)
{
    cbx_text text;

    cbx_text_init(&text, cbx_ctx_allocator(p->at->ctx));
    cbx_text_puts(&text,
                  "{\"id\": \"large\", \"timestamp\": \"2026-03-01T10:00:00+00:00\", \"points\": [{\"name\": \"many\","
                  " \"scenario\": \"\", \"metrics\": {");
    for (int i = 0; i < MANY; i++)
        cbx_text_printf(&text, "%s\"m%d\": {\"value\": 1, \"samples\": [%d.25, %d.75]}", i ? ", " : "", i, i, i);
    cbx_text_puts(&text, "}}, {\"name\": \"tagged\", \"scenario\": \"\","
                         " \"metrics\": {\"t\": {\"value\": 1}}, \"tags\": {");
    for (int i = 0; i < MANY; i++) cbx_text_printf(&text, "%s\"k%d\": \"v\"", i ? ", " : "", i);
    cbx_text_puts(&text, "}}, {\"name\": \"");
    for (int i = 0; i < 5000; i++) cbx_text_putc(&text, 'n');
    cbx_text_puts(&text, "\", \"scenario\": \"\", \"metrics\": {\"t\": {\"value\": 1}}}]}");
    write_text(p, "runs/large.json", cbx_text_str(&text));
    cbx_text_clear(&text);
}

TEST(test_large_points, cbx_test_place_open, cbx_test_place_close)
{
    place p = enter(test_state);
    const char *page;

    keep_large(&p);
    page = get(&p, "/point?run=large&point=many&page=3", 200);
    CHECK(strstr(page, "Page 3 of 3") && strstr(page, ">m449<") && !strstr(page, ">m399<"), "a page of the metrics");
    CHECK(strstr(page, "<th scope=row>m449<td class=n>2<td class=n>449.25<") != NULL, "its samples");
    page = get(&p, "/run?id=large&page=3", 200);
    CHECK(strstr(page, "<th scope=row>tagged<small>k0=v, ") && strstr(page, " and 400 more<"), "too many tags");
    CHECK(strstr(page, "<th scope=row>nnnnnnnn") != NULL, "too long a name");
    cbx_names links;
    cbx_names_init(&links, cbx_ctx_allocator(p.at->ctx));
    links_of(page, &links);
    for (size_t i = 0; i < links.n; i++) get(&p, links.list[i], 200);
    CHECK_GT(links.n, 50, "there are links");
    cbx_names_clear(&links);
    leave(&p);
}

/* --- no memory --- */

typedef struct asking {
    const char *root, *target;
} asking;

static cbx_status ask(cbx_ctx *ctx, void *user)
{
    const asking *a = user;
    cbx_store *store = NULL;
    cbx_site *site = NULL;
    cbx_site_reply reply;
    cbx_status st = cbx_store_open(ctx, a->root, NULL, &store, NULL);

    cbx_site_reply_init(&reply, cbx_ctx_allocator(ctx));
    if (!st) st = cbx_site_open(ctx, store, NULL, &site, NULL);
    if (!st) st = cbx_site_get(site, a->target, NULL, &reply);
    if (!st && reply.status != 200) st = CBX_EINTERNAL;
    cbx_site_reply_clear(&reply);
    cbx_site_close(site);
    cbx_store_close(store);
    return st;
}

TEST(test_without_memory, cbx_test_place_open, cbx_test_place_close)
{
    static const char *const targets[] = { "/",
                                           "/run?id=run1",
                                           "/trends",
                                           "/trend?metric=time&point=plain",
                                           "/compare?a=run1&b=run8",
                                           "/compare",
                                           "/point?run=run1&point=plain",
                                           "/profiles",
                                           "/rows",
                                           "/trends?format=json",
                                           "/trace?id=imported",
                                           "/trace?id=linked",
                                           "/point?run=large&point=many&page=3" };
    place p = enter(test_state);
    cbx_test_place *at = *test_state;

    keep_traces(&p);
    keep_large(&p);
    leave(&p);
    for (size_t i = 0; i < CBX_LEN(targets); i++) {
        asking a = { at->folder, targets[i] };
        cbx_test_fail_each(ask, &a, targets[i]);
    }
}

TESTS(.seconds = 600)
