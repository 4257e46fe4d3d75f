/*
 * Any bytes as the small documents that programs keep for themselves: the state of changepoints, a
 * probe of the machine, a result.  What is taken comes out again as it was, and what a state says
 * of a series is nothing beyond the series.
 */
#include <stdlib.h>
#include <string.h>

#include "calibrax/analysis/change_state.h"
#include "calibrax/core/probe_internal.h"
#include "calibrax/core/result.h"
#include "fuzz.h"

static const char *const runs[] = { "r1", "r2", "r3", "r4", "r5" };

static void require(int good)
{
    if (!good) abort();
}

/* A state that is made of a series says what it was made of. */
static void remake(const uint8_t *data, size_t size)
{
    size_t n = size ? data[0] % (CBX_LEN(runs) + 1) : 0, at = n && size > 1 ? data[1] % n : 0,
           segment = size > 2 ? data[2] % 4 : 1;
    cbx_json *made = cbx_change_state_make(runs, n, &at, n > 0);

    require(made != NULL);
    require(cbx_change_state_unseen(made, runs, n) == 0);
    for (size_t i = 0; i < n; i++)
        require(cbx_change_state_is_reported(made, runs, n, i, segment) == ((i > at ? i - at : at - i) < segment));
    cbx_json_unref(made);
}

static void read_state(const cbx_json *state)
{
    const char *name;
    cbx_json *series;
    cbx_err err = CBX_ERR_INIT;

    if (cbx_change_state_check(state, "input", &err)) {
        require(err.message[0] && !strchr(err.message, '\n'));
        return;
    }
    for (size_t i = 0; cbx_json_member(cbx_json_get(state, "series"), i, &name, &series); i++) {
        require(cbx_change_state_of(state, name) == series);
        require(cbx_change_state_unseen(series, runs, CBX_LEN(runs)) <= CBX_LEN(runs));
        for (size_t at = 0; at < CBX_LEN(runs); at++)
            require(!cbx_change_state_is_reported(series, runs, CBX_LEN(runs), at, 0));
    }
}

static void read_probe(const cbx_json *v)
{
    cbx_probe probe, again;
    cbx_json *kept;

    memset(&probe, 0, sizeof probe);
    if (!cbx__probe_from_json(v, &probe)) return;
    kept = cbx__probe_to_json(&probe);
    require(kept && cbx__probe_from_json(kept, &again));
    cbx_json_unref(kept);
}

static void read_result(cbx_ctx *ctx, const cbx_json *v)
{
    cbx_run_builder *b = NULL;
    cbx_result result;
    cbx_arena arena;

    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    require(cbx_run_builder_create(ctx, &(cbx_run_opts){ sizeof(cbx_run_opts), NULL, true, true, true }, &b, NULL) ==
            CBX_OK);
    if (!cbx_result_from_json(v, "input", &arena, &result, NULL)) cbx_run_builder_add_result(b, &result, NULL);
    cbx_run_builder_free(b);
    cbx_arena_clear(&arena);
}

FUZZ_ENTRY()
{
    static cbx_ctx *ctx;
    cbx_json *v = NULL;

    if (!ctx && cbx_ctx_create(NULL, &ctx, NULL)) abort();
    remake(data, size);
    if (cbx_json_parse((const char *)data, size, "input", &v, NULL)) return 0;
    read_state(v);
    read_probe(v);
    read_result(ctx, v);
    cbx_json_unref(v);
    return 0;
}
