/*
 * Any bytes as what a command prints: what is accepted is complete, what is not is a failure
 * with words.
 */
#include <stdlib.h>
#include <string.h>

#include "calibrax/perf/sweep/benchmark_session.h"
#include "fuzz.h"

static void check(cbx__launch *l)
{
    if (!l->run == !l->status) abort(); /* one of both */
    if (l->run && cbx_run_npoints(l->run) != 1) abort();
    if (l->status && (!l->phase || !l->message)) abort();
    cbx__launch_clear(l);
}

FUZZ_ENTRY()
{
    static cbx_ctx *ctx;
    static const cbx_benchmark_opts opts = CBX_BENCHMARK_OPTS_INIT;
    static const char *const argv[] = { "x", NULL };
    static const cbx_metric_def def = { "m", "1", CBX_DIRECTION_LOWER, "", CBX_PRIORITY_PRIMARY, "" };
    const cbx_benchmark_command command = {
        .name = "c", .argv = argv, .metrics = CBX_COMMAND_STDOUT, .defs = &def, .ndefs = 1
    };
    const cbx_benchmark_source source = CBX_BENCHMARK_SOURCE_INIT;
    cbx_arena arena;
    cbx__session s = { NULL, &arena, &source, &opts, NULL };
    cbx__launch l = { 0 };
    char *text;

    if (!ctx && cbx_ctx_create(NULL, &ctx, NULL)) abort();
    s.ctx = ctx;
    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    text = malloc(size + 1); /* NUL-terminated, as files are read */
    if (!text) abort();
    if (size) memcpy(text, data, size);
    text[size] = '\0';
    if (!cbx__output_read(&s, &command, text, size, &l, NULL)) check(&l);
    cbx_arena_clear(&arena);
    free(text);
    return 0;
}
