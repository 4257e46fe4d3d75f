/* Fuzz entry of the states and collections of metrics: what is read computes or refuses, and comes
 * back unchanged from what we write of it. */
#include <stdlib.h>

#include "calibrax/metrics/compose.h"
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

/* Of the metrics that the seed has. */
static void read_collection(cbx_ctx *ctx, const void *data, size_t size)
{
    static const char *const names[] = { "r_squared", "mse", "explained_variance", "mape" };
    cbx_metric_collection *c = NULL;
    cbx_text bytes;
    double v;

    if (cbx_metric_collection_create(ctx, &c, NULL)) return;
    cbx_text_init(&bytes, cbx_ctx_allocator(ctx));
    for (size_t i = 0; i < CBX_LEN(names); i++) {
        cbx_metric_member m = CBX_METRIC_MEMBER_INIT;
        if (cbx_metric_find(ctx, names[i], &m.metric, NULL) || cbx_metric_collection_add(ctx, c, &m, NULL)) abort();
    }
    if (!cbx_metric_collection_unpack(ctx, c, data, size, NULL)) {
        for (size_t i = 0; i < CBX_LEN(names); i++) cbx_metric_collection_value(ctx, c, i, &v, NULL);
        if (cbx_metric_collection_pack(ctx, c, &bytes, NULL)) abort();
        if (cbx_metric_collection_unpack(ctx, c, bytes.data, bytes.len, NULL)) abort();
    }
    cbx_text_clear(&bytes);
    cbx_metric_collection_free(c);
}

FUZZ_ENTRY()
{
    cbx_ctx *ctx = NULL;
    cbx_metric_state *s = NULL;
    cbx_array *r = NULL;
    double error;

    if (cbx_ctx_create(NULL, &ctx, NULL)) return 0;
    read_collection(ctx, data, size);
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
