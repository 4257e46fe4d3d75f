/*
 * Case metrics: a row for each metric of the registry, in its order; a reason where no rival has
 * it.  What the library makes of the rows, and which planted faults are found, is in
 * tests/workers/check_metrics.py.
 */
#include "check.h"

#include <stdio.h>

#include "suites/metrics/metrics.h"

#define NAME(name, ...) #name,
static const char *const names[] = { CBX__MS_MAP(NAME) };
static const char *const alone[] = { CBX__MS_ALONE_MAP(NAME) };
#define RIVALS(name, operands, n, d, result, rivals) rivals,
static const char *const rivals[] = { CBX__MS_MAP(RIVALS) };

TEST(every_metric_has_a_row)
{
    cbx_ctx *ctx = cbx_test_context();

    for (size_t i = 0; i < cbx_metric_count(ctx); i++) {
        const char *wanted = cbx_metric_at(ctx, i)->name;
        CHECK_STR(i < CBX_LEN(names) ? names[i] : "no more rows", wanted, "suites/metrics/metrics.h, in this order");
    }
    CHECK_INT(CBX_LEN(names), cbx_metric_count(ctx), "rows of metrics that there are");
    cbx_ctx_free(ctx);
}

TEST(rows_without_rivals_have_a_reason)
{
    size_t k = 0;

    for (size_t i = 0; i < CBX_LEN(names); i++) {
        if (rivals[i][strspn(rivals[i], "=")]) continue;
        CHECK_STR(k < CBX_LEN(alone) ? alone[k] : "no more reasons", names[i], "CBX__MS_ALONE_MAP, in this order");
        k++;
    }
    CHECK_INT(k, CBX_LEN(alone), "reasons of metrics that have rivals");
}

TESTS(.seconds = 60)
