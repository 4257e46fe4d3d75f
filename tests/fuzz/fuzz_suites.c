/* Fuzz entry of suites of metrics: what is read takes a batch and gives a report, or refuses. */
#include "calibrax/metrics/compose.h"
#include "fuzz.h"

FUZZ_ENTRY()
{
    const double v[] = { 0, 1, 1 };
    cbx_metric_collection *c = NULL;
    cbx_json *suite = NULL, *report = NULL;
    cbx_array *x = NULL;
    cbx_text text;
    cbx_ctx *ctx = NULL;
    cbx_scope scope;

    if (cbx_ctx_create(NULL, &ctx, NULL)) return 0;
    cbx_text_init(&text, cbx_ctx_allocator(ctx));
    cbx_scope_open(ctx, &scope);
    x = cbx_asarray(ctx, &(cbx_array_desc){ .dtype = CBX_F64, .ndim = 1, .shape = { 3 } }, v);
    if (!cbx_scope_close_keep(&scope, 1, &x, NULL) &&
        !cbx_json_parse((const char *)data, size, "suite", &suite, NULL) &&
        !cbx_metric_collection_read(ctx, suite, "suite", &c, NULL) &&
        !cbx_metric_collection_update(ctx, c, 2, (cbx_array *[]){ x, x }, NULL, NULL) &&
        !cbx_metric_collection_report(ctx, c, &report, NULL))
        cbx_metric_report_text(report, &text);
    cbx_text_clear(&text);
    cbx_json_unref(report);
    cbx_json_unref(suite);
    cbx_metric_collection_free(c);
    cbx_array_free(x);
    cbx_ctx_free(ctx);
    return 0;
}
