/* Any bytes as a case file: what is accepted is a whole case, whose points have labels, shapes and work. */
#include <math.h>
#include <stdlib.h>

#include "calibrax/perf/case/declared.h"
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

FUZZ_ENTRY()
{
    static cbx_ctx *ctx;
    cbx_declared *d = NULL;

    if (!ctx && cbx_ctx_create(NULL, &ctx, NULL)) abort();
    if (cbx_declared_parse(ctx, (const char *)data, size, "input", "/f", &d, NULL)) return 0;
    look_at(ctx, d);
    cbx_declared_free(d);
    return 0;
}
