/*
 * States of a bisection, and the benchmark's output.  What is taken in comes out again as it was,
 * and any state leads somewhere.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/ci/bisect.h"
#include "calibrax/ci/shell.h"
#include "fuzz.h"

/* a and b lie side by side, c is the merge, d the bad end. */
static cbx_bisect *make(cbx_ctx *ctx)
{
    static const char *const names[] = { "a", "b", "c", "d" };
    static const size_t first[] = { 0, 0, 0, 2, 3 }, parents[] = { 0, 1, 2 };
    const cbx_bisect_graph graph = { 4, "g", names, first, parents };
    cbx_bisect *b = NULL;

    if (cbx_bisect_create(ctx, &graph, NULL, &b, NULL)) abort();
    return b;
}

static void check_result(cbx_bisect *b)
{
    cbx_bisect_result r;
    size_t commit = 99;

    if (cbx_bisect_next(b, &commit) == CBX_BISECT_RUNNING && commit != CBX_BISECT_GOOD_END && commit >= 4)
        __builtin_trap();
    cbx_bisect_read(b, &r);
    if (r.nsuspects > 4 || (r.outcome == CBX_BISECT_FOUND && r.nsuspects == 0)) __builtin_trap();
}

static void read_state(cbx_ctx *ctx, const cbx_json *state)
{
    cbx_bisect *b = make(ctx), *again = make(ctx);
    cbx_json *kept, *twice;

    if (!cbx_bisect_restore(b, state, "input", NULL)) {
        check_result(b);
        kept = cbx_bisect_state(b);
        if (cbx_bisect_restore(again, kept, "again", NULL)) __builtin_trap();
        twice = cbx_bisect_state(again);
        if (!cbx_json_equal(kept, twice)) __builtin_trap();
        check_result(again);
        cbx_json_unref(kept);
        cbx_json_unref(twice);
    }
    cbx_bisect_free(b);
    cbx_bisect_free(again);
}

FUZZ_ENTRY()
{
    cbx_ctx *ctx = NULL;
    cbx_json *state = NULL;
    char *text = malloc(size + 1);
    double value = 0;

    if (!text || cbx_ctx_create(NULL, &ctx, NULL)) abort();
    memcpy(text, data, size);
    text[size] = '\0';
    if (cbx__metric_scan(text, "cost", &value) && !isfinite(value)) __builtin_trap();
    if (size < 65536 && !cbx_json_parse(text, size, "input", &state, NULL)) read_state(ctx, state);
    cbx_json_unref(state);
    cbx_ctx_free(ctx);
    free(text);
    return 0;
}
