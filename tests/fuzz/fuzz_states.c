/* Fuzz entry of the states of metrics: what is read computes or refuses, and comes back unchanged from what we write of it. */
#include <stdlib.h>

#include "calibrax/metrics/stateful/state.h"
#include "fuzz.h"

static void write_again(cbx_ctx *ctx, const cbx_metric_state *s)
{
    cbx_metric_state *again = NULL;
    cbx_text bytes;

    cbx_text_init(&bytes, cbx_ctx_allocator(ctx));
    if (cbx_metric_state_pack(ctx, s, &bytes, NULL)) abort();
    if (cbx_metric_state_unpack(ctx, NULL, bytes.data, bytes.len, NULL, &again, NULL)) abort();
    if (cbx_metric_state_updates(again) != cbx_metric_state_updates(s)) abort();
    cbx_metric_state_free(again);
    cbx_text_clear(&bytes);
}

FUZZ_ENTRY()
{
    cbx_ctx *ctx = NULL;
    cbx_metric_state *s = NULL;
    cbx_array *r = NULL;
    double error;

    if (cbx_ctx_create(NULL, &ctx, NULL)) return 0;
    if (!cbx_metric_state_unpack(ctx, NULL, data, size, NULL, &s, NULL)) {
        write_again(ctx, s);
        cbx_metric_state_compute(ctx, s, &r, NULL);
        cbx_metric_state_error(ctx, s, &error, NULL);
        cbx_metric_state_merge(ctx, s, s, NULL);
    }
    cbx_array_free(r);
    cbx_metric_state_free(s);
    cbx_ctx_free(ctx);
    return 0;
}
