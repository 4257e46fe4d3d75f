/*
 * Any bytes as the documents that nperf reads beside rows: a drift manifest, an op_matrix and a
 * fragment of one, a bundle, the record of a selftest; and as a compressed sidecar.  Whatever they
 * hold, a page made of them has no tag that the page did not make.
 */
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/gzip.h"
#include "calibrax/perf/gate/drift.h"
#include "calibrax/perf/report/report.h"
#include "fuzz.h"
#include "suites/nitrix/feeds/coverage.h"
#include "suites/nitrix/feeds/feed.h"

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part)) n++;
    return n;
}

static void compare(const cbx_json *document)
{
    cbx_json *copy = NULL, *found = NULL;
    size_t n = 0;
    cbx_text out;

    cbx_text_init(&out, cbx_allocator_default());
    if (!cbx_drift_compare(document, "input", document, true, &found, NULL) && cbx_json_get_int(found, "drifted", 1))
        abort(); /* nothing drifts from itself */
    cbx_json_unref(found);
    if (!cbx_feed_apply(document, document, "input", &copy, &n, NULL)) cbx_json_unref(copy);
    if (cbx_json_typeof(document) == CBX_JSON_OBJECT) cbx_bundle_markdown(document, &out);
    cbx_text_clear(&out);
}

static void page(cbx_ctx *ctx, const cbx_json *document)
{
    cbx_report_opts opts = CBX_REPORT_OPTS_INIT;
    cbx_json *coverage = NULL;
    cbx_rows rows;
    cbx_text out;

    cbx_rows_init(&rows, cbx_allocator_default());
    cbx_text_init(&out, cbx_allocator_default());
    opts.selftest = opts.capabilities = document;
    cbx_report_site(&rows, &opts, &out);
    if (out.status || count(cbx_text_str(&out), "<script") != 2 || count(cbx_text_str(&out), "<img")) abort();
    if (!cbx_coverage_make(ctx, &rows, NULL, 0, document, &coverage, NULL)) cbx_json_unref(coverage);
    cbx_text_clear(&out);
    cbx_rows_clear(&rows);
}

FUZZ_ENTRY()
{
    static cbx_ctx *ctx;
    cbx_json *document = NULL;
    cbx_text out;

    if (!ctx && cbx_ctx_create(NULL, &ctx, NULL)) abort();
    cbx_text_init(&out, cbx_allocator_default());
    if (!cbx_gzip_unpack(data, size, 1 << 20, "input", &out, NULL) && out.len > 1 << 20) abort();
    cbx_text_clear(&out);
    if (cbx_json_parse((const char *)data, size, "input", &document, NULL)) return 0;
    compare(document);
    page(ctx, document);
    cbx_json_unref(document);
    return 0;
}
