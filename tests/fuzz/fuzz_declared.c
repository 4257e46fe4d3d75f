/* Any bytes as a case file: what is accepted is a whole case, whose points have labels, shapes
 * and work. */
#include <math.h>
#include <stdlib.h>

#include "calibrax/perf/case/declared_internal.h"
#include "fuzz.h"

static void look_at(cbx_ctx *ctx, const cbx_declared *d)
{
    const cbx_case_ops *c = cbx_declared_case(d);

    if (cbx_declared_get_kind(d) == CBX_DECLARED_PYTHON && cbx_case_check(ctx, c, NULL)) abort();
    for (size_t i = 0; i < c->npoints; i++) {
        cbx_array_desc out[CBX_CASE_MAX_ARRAYS];
        cbx_params *p = NULL;
        cbx_work w = { 0 };
        char label[64];
        if (cbx_case_point(ctx, c, c->points[i], "point", &p, NULL)) abort();
        c->label(p, label, sizeof label);
        c->outputs(p, out);
        c->baselines[0]->work(p, &w);
        if (!label[0] || !(w.flop >= 0) || !(w.bytes >= 0)) abort();
        cbx_params_free(p);
    }
}

/* The same as benchmarks of calibrax run. */
static void benchmarks_of(cbx_ctx *ctx, const cbx_declared *d)
{
    const cbx_benchmark_command *c = NULL;
    cbx_arena arena;
    size_t n = 0;

    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    if (cbx__declared_benchmarks(ctx, d, &arena, &c, &n, NULL) || n == 0) abort();
    for (size_t i = 0; i < n; i++) {
        if (!c[i].name[0] || !c[i].argv[0] || (c[i].setup && !c[i].setup[0]) || !c[i].folder != c[i].new_folder)
            abort();
        for (size_t k = 0; k < c[i].ntargets; k++)
            if (!isfinite(c[i].targets[k].metric.value)) abort();
        for (size_t k = 0; k < c[i].ndefs; k++)
            if (!c[i].defs[k].name || !c[i].defs[k].unit) abort();
    }
    cbx_arena_clear(&arena);
}

FUZZ_ENTRY()
{
    static cbx_ctx *ctx;
    cbx_declared *d = NULL;

    if (!ctx && cbx_ctx_create(NULL, &ctx, NULL)) abort();
    if (cbx_declared_parse(ctx, (const char *)data, size, "input", "/f", &d, NULL)) return 0;
    look_at(ctx, d);
    if (cbx_declared_get_kind(d) == CBX_DECLARED_COMMANDS) benchmarks_of(ctx, d);
    cbx_declared_free(d);
    return 0;
}
