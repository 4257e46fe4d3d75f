/*
 * Any bytes as a file of commands and as what a command prints: what is accepted is complete, what is not is a failure with words.  The first byte chooses.
 */
#include <stdlib.h>
#include <string.h>

#include "calibrax/perf/sweep/benchmark_session.h"
#include "fuzz.h"

static void file_of_commands(cbx_ctx *ctx, cbx_arena *arena, const char *text, size_t len)
{
    const cbx_benchmark_command *c = NULL;
    size_t n = 0;

    if (cbx_benchmark_commands_parse(ctx, text, len, "input", "", arena, &c, &n, NULL)) return;
    if (n == 0) abort();
    for (size_t i = 0; i < n; i++) {
        if (!c[i].name[0] || !c[i].argv[0] || (c[i].setup && !c[i].setup[0]) || (c[i].folder && !c[i].folder[0]))
            abort();
        for (size_t k = 0; k < c[i].ntargets; k++)
            if (!(c[i].targets[k].metric.value - c[i].targets[k].metric.value == 0)) abort();
        for (size_t k = 0; k < c[i].ndefs; k++)
            if (!c[i].defs[k].name || !c[i].defs[k].unit) abort();
    }
}

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

    if (size == 0) return 0;
    if (!ctx && cbx_ctx_create(NULL, &ctx, NULL)) abort();
    s.ctx = ctx;
    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    text = malloc(size); /* NUL-terminated, as files are read */
    if (!text) abort();
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    switch (data[0]) {
    case 'o':
        if (!cbx__output_read(&s, &command, text, size - 1, &l, NULL)) check(&l);
        break;
    default: file_of_commands(ctx, &arena, text, size - 1);
    }
    cbx_arena_clear(&arena);
    free(text);
    return 0;
}
