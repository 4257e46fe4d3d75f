/*
 * Any bytes as a run file.  What is read is written, and must read back as an equal run: the second
 * writing equals the first.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/core/run.h"
#include "fuzz.h"

static void require(int good)
{
    if (!good) abort();
}

/* The tree as text, and the text as a tree again; v is consumed. */
static cbx_json *again(cbx_json *v, cbx_text *text)
{
    cbx_json *back = NULL;
    require(v != NULL);
    cbx_text_init(text, cbx_allocator_default());
    cbx_json_write(v, CBX_JSON_INDENT2 | CBX_JSON_ASCII, text);
    require(text->status == CBX_OK && cbx_json_parse(cbx_text_str(text), text->len, "written", &back, NULL) == CBX_OK);
    cbx_json_unref(v);
    return back;
}

static void check_same(cbx_text *first, cbx_text *second)
{
    require(first->len == second->len && memcmp(cbx_text_str(first), cbx_text_str(second), first->len) == 0);
    cbx_text_clear(first);
    cbx_text_clear(second);
}

static void try_run(cbx_ctx *ctx, const cbx_json *v)
{
    cbx_run *run = NULL, *back = NULL;
    cbx_text first, second;
    bool same = false;
    if (cbx_run_from_json(ctx, v, "input", &run, NULL)) return;
    cbx_json *w = again(cbx_run_to_json(run), &first);
    require(cbx_run_from_json(ctx, w, "written", &back, NULL) == CBX_OK);
    require(cbx_run_equal(run, back, &same, NULL) == CBX_OK && same);
    cbx_json_unref(w);
    cbx_json_unref(again(cbx_run_to_json(back), &second));
    check_same(&first, &second);
    cbx_run_free(run);
    cbx_run_free(back);
}

FUZZ_ENTRY()
{
    cbx_ctx *ctx = NULL;
    cbx_json *v = NULL;
    if (cbx_json_parse((const char *)data, size, "input", &v, NULL)) return 0;
    require(cbx_ctx_create(NULL, &ctx, NULL) == CBX_OK);
    try_run(ctx, v);
    cbx_json_unref(v);
    cbx_ctx_free(ctx);
    return 0;
}
