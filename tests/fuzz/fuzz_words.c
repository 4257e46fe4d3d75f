/*
 * Any bytes as the short texts that come in from options, rows and the environment: a time, a
 * parameter point, a tag list of the index, a platform, a size.  The first byte chooses.  What is
 * accepted is read the same from its own words.
 */
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/settings.h"
#include "calibrax/perf/case/params.h"
#include "calibrax/perf/schedule/platforms.h"
#include "calibrax/perf/sweep/measure.h"
#include "calibrax/storage/store_internal.h"
#include "fuzz.h"

static void require(bool good)
{
    if (!good) abort();
}

static bool is_told(const cbx_err *err) { return err->message[0] && !strchr(err->message, '\n'); }

static void time_of(cbx_ctx *ctx, const char *text)
{
    char written[CBX_TIME_SIZE];
    int64_t us = 0, again = 0;
    cbx_err err = CBX_ERR_INIT;

    (void)ctx;
    if (cbx_time_parse_iso(text, &us, &err)) {
        require(is_told(&err));
        return;
    }
    require(cbx_time_parse_iso(cbx_time_format_iso(us, written), &again, NULL) == CBX_OK && us == again);
}

static void point(cbx_ctx *ctx, const char *text)
{
    static const char *const words[] = { "log", "real", NULL };
    static const cbx_param_def defs[] = {
        { .name = "m", .kind = CBX_PARAM_INT, .min = 1, .max = 1 << 20, .fallback = "8" },
        { .name = "alg", .kind = CBX_PARAM_WORD, .words = words },
        { .name = "seed", .kind = CBX_PARAM_INT, .min = 0, .max = INT64_MAX, .fallback = "0", .omits_fallback = true },
    };
    cbx_params *p = NULL, *again = NULL;
    cbx_err err = CBX_ERR_INIT;

    if (cbx_params_parse(ctx, defs, CBX_LEN(defs), text, "input", &p, &err)) {
        require(is_told(&err));
        return;
    }
    require(cbx_params_int(p, "m") >= 1 && cbx_params_int(p, "m") <= 1 << 20 && cbx_params_int(p, "seed") >= 0);
    require(cbx_params_parse(ctx, defs, CBX_LEN(defs), cbx_params_json(p), "again", &again, NULL) == CBX_OK);
    require(strcmp(cbx_params_json(p), cbx_params_json(again)) == 0);
    cbx_params_free(p);
    cbx_params_free(again);
}

static void tags(cbx_ctx *ctx, const char *text)
{
    const cbx_tag *list = NULL, *again = NULL;
    cbx_tag one;
    const char *written;
    size_t n = 0, nagain = 0;
    cbx_arena arena;

    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    if (!cbx__tags_parse(&arena, text, &list, &n, NULL)) {
        written = cbx__tags_text(&arena, list, n);
        require(written && cbx__tags_parse(&arena, written, &again, &nagain, NULL) == CBX_OK && n == nagain);
    }
    one = (cbx_tag){ text, text }; /* any text may stand in a tag */
    written = cbx__tags_text(&arena, &one, 1);
    require(written && cbx__tags_parse(&arena, written, &again, &nagain, NULL) == CBX_OK && nagain == 1);
    require(strcmp(again[0].key, text) == 0 && strcmp(again[0].value, text) == 0);
    cbx_arena_clear(&arena);
}

static void devices(cbx_ctx *ctx, const char *text)
{
    static cbx__accelerators all = { .n = 3 }, some;
    const char *name = NULL;
    cbx_err err = CBX_ERR_INIT;

    (void)ctx;
    for (unsigned i = 0; i < 3; i++) all.list[i].number = i;
    setenv("CUDA_VISIBLE_DEVICES", text, 1);
    require(cbx__accelerators_choose("cuda12", &all, NULL, 0, &some, NULL) == CBX_OK && some.n <= 3);
    for (size_t i = 0; i < some.n; i++)
        for (size_t k = 0; k < i; k++) require(some.list[i].number != some.list[k].number);
    if (cbx_platform_parse(text, &name, &err)) require(is_told(&err));
}

FUZZ_ENTRY()
{
    static void (*const readers[])(cbx_ctx * ctx, const char *text) = { time_of, point, tags, devices };
    static cbx_ctx *ctx;
    char *text;

    if (size < 1 || size > 4096) return 0;
    if (!ctx) require(cbx_ctx_create(NULL, &ctx, NULL) == CBX_OK);
    text = strndup((const char *)data + 1, size - 1);
    require(text != NULL);
    readers[data[0] % CBX_LEN(readers)](ctx, text);
    free(text);
    return 0;
}
