/*
 * Any bytes in the place of a store's index, index.sqlite: a cache that may hold anything, and
 * costs at most the time to make it again.  The runs are found all the same.
 */
#include <stdlib.h>
#include <string.h>

#include "calibrax/storage/store.h"
#include "files.h"
#include "fuzz.h"

static const char *const files[] = { "runs/a.json", "index.sqlite" };

static const char run[] =
    "{\"id\":\"a\",\"timestamp\":\"2026-01-01T00:00:00+00:00\",\"points\":[{\"name\":\"f\",\"scenario\":\"s\",\"tags\":"
    "{},"
    "\"metrics\":{\"time\":{\"value\":1.5}}}],\"metric_defs\":{},\"environment\":{},\"metadata\":{}}\xff";

static void require(bool good)
{
    if (!good) abort();
}

static void ask(cbx_ctx *ctx, const char *root)
{
    cbx_store *store = NULL;
    cbx_store_list list;
    cbx_trend trend;
    cbx_run *found = NULL;

    require(cbx_store_open(ctx, root, NULL, &store, NULL) == CBX_OK);
    require(cbx_store_query_runs(store, NULL, &list, NULL) == CBX_OK && list.count == 1);
    require(strcmp(list.entries[0].id, "a") == 0 && list.entries[0].npoints == 1);
    require(cbx_store_trend(store, NULL, &trend, NULL) == CBX_OK && trend.count == 1 && trend.series[0].npoints == 1);
    require(trend.series[0].points[0].value == 1.5);
    require(cbx_store_load(store, "a", &found, NULL) == CBX_OK);
    cbx_run_free(found);
    cbx_trend_clear(&trend);
    cbx_store_list_clear(&list);
    cbx_store_close(store);
}

FUZZ_ENTRY(.most = 100)
{
    static cbx_ctx *ctx;
    const char *root;
    uint8_t *whole;

    if (size > 262144) return 0;
    if (!ctx) require(cbx_ctx_create(NULL, &ctx, NULL) == CBX_OK);
    root = fuzz_files_folder(files, CBX_LEN(files));
    whole = malloc(sizeof run - 1 + size);
    require(whole != NULL);
    memcpy(whole, run, sizeof run - 1);
    memcpy(whole + sizeof run - 1, data, size);
    fuzz_files_put(whole, sizeof run - 1 + size);
    free(whole);
    ask(ctx, root);
    return 0;
}
