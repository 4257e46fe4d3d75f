/*
 * Any bytes as what a browser asks the server for: an address, whose parameters are written and
 * read the same again, with the tags among them; and as the Host of a request.
 */
#include <stdlib.h>
#include <string.h>

#include "calibrax/site/page_request.h"
#include "calibrax/site/store_site.h"
#include "fuzz.h"

static void require(bool good)
{
    if (!good) abort();
}

static bool is_one_line(const cbx_err *err) { return err->message[0] && !strchr(err->message, '\n'); }

static void read_again(const cbx__request *r, cbx_arena *arena)
{
    cbx__request written = { .page = r->page }, again;
    const cbx_tag *tags, *same;
    size_t n, k;

    for (size_t i = 0; i < r->n; i++) cbx__request_add(&written, r->params[i].key, r->params[i].value);
    require(cbx__request_parse(cbx__request_target(&written, arena), arena, &again, NULL) == CBX_OK ||
            strlen(cbx__request_target(&written, arena)) > CBX__TARGET_MAX); /* escapes make it longer */
    if (strlen(cbx__request_target(&written, arena)) > CBX__TARGET_MAX) return;
    require(again.n == written.n && !strcmp(again.page, r->page));
    for (size_t i = 0; i < again.n; i++)
        require(!strcmp(again.params[i].key, written.params[i].key) &&
                !strcmp(again.params[i].value, written.params[i].value));
    require(cbx__request_page(r) >= 1);
    if (cbx__request_tags(r, arena, &tags, &n, NULL)) return;
    written = (cbx__request){ .page = "x" };
    require(cbx__request_add_tags(&written, arena, tags, n));
    require(cbx__request_tags(&written, arena, &same, &k, NULL) == CBX_OK && k == n);
    for (size_t i = 0; i < n; i++) require(!strcmp(tags[i].key, same[i].key) && !strcmp(tags[i].value, same[i].value));
}

FUZZ_ENTRY()
{
    static cbx_ctx *ctx;
    cbx__request r;
    cbx_err err = CBX_ERR_INIT;
    cbx_arena arena;
    char *text;

    if (size > CBX__TARGET_MAX + 8) return 0;
    if (!ctx) require(cbx_ctx_create(NULL, &ctx, NULL) == CBX_OK);
    text = strndup((const char *)data, size);
    require(text != NULL);
    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    if (cbx__request_parse(text, &arena, &r, &err))
        require(is_one_line(&err));
    else
        read_again(&r, &arena);
    require(!cbx_site_host_is_local(text, 8317) || strlen(text) <= strlen("127.0.0.1:8317"));
    cbx_arena_clear(&arena);
    free(text);
    return 0;
}
