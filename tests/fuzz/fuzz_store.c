/*
 * Any bytes as the files of a store: the definitions in config.json, a baseline, two runs.  Nothing
 * that stands in one of them keeps the others from being read: what a query gives can be loaded,
 * what cannot be read is told by name, and the index in memory and the one in a file agree.
 */
#include <stdlib.h>
#include <string.h>

#include "calibrax/storage/store.h"
#include "files.h"
#include "fuzz.h"

static const char *const files[] = { "config.json", "baselines/main.json", "runs/a.json", "runs/b.json" };

static void require(bool good)
{
    if (!good) abort();
}

static bool is_told(const cbx_err *err) { return err->message[0] && !strchr(err->message, '\n'); }

static void load_each(cbx_store *store, const cbx_store_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        cbx_run *run = NULL;
        require(cbx_store_load(store, list->entries[i].id, &run, NULL) == CBX_OK);
        require(strcmp(cbx_run_id(run), list->entries[i].id) == 0 && cbx_run_npoints(run) == list->entries[i].npoints);
        cbx_run_free(run);
    }
}

static void baseline(cbx_store *store)
{
    cbx_run *run = NULL;
    cbx_err err = CBX_ERR_INIT;

    if (cbx_store_baseline_get(store, NULL, &run, &err))
        require(is_told(&err));
    else
        cbx_run_free(run);
}

static size_t series(cbx_store *store)
{
    cbx_trend trend;
    size_t n;

    require(cbx_store_trend(store, NULL, &trend, NULL) == CBX_OK);
    n = trend.count;
    for (size_t i = 0; i < n; i++) require(trend.series[i].metric && trend.series[i].point && trend.series[i].npoints);
    cbx_trend_clear(&trend);
    return n;
}

static void care(cbx_store *store, size_t nruns)
{
    cbx_store_report report;

    require(cbx_store_verify(store, &report, NULL) == CBX_OK && report.files >= nruns);
    for (size_t i = 0; i < report.nproblems; i++) {
        require(report.problems[i].file[0] && report.problems[i].message[0]);
        require(!strchr(report.problems[i].message, '\n'));
    }
    cbx_store_report_clear(&report);
    require(cbx_store_migrate(store, true, &report, NULL) == CBX_OK);
    cbx_store_report_clear(&report);
}

/* What is asked of a store, with the index in memory or not. */
static void ask(cbx_ctx *ctx, const char *root, bool in_memory, size_t *nruns, size_t *nseries)
{
    cbx_store_opts opts = CBX_STORE_OPTS_INIT;
    cbx_store *store = NULL;
    cbx_store_list list;
    cbx_metric_def def;
    cbx_arena arena;

    opts.no_index_file = in_memory;
    require(cbx_store_open(ctx, root, &opts, &store, NULL) == CBX_OK);
    require(cbx_store_query_runs(store, NULL, &list, NULL) == CBX_OK);
    load_each(store, &list);
    baseline(store);
    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    cbx_store_metric_def(store, "time", &arena, &def, NULL);
    cbx_arena_clear(&arena);
    *nruns = list.count;
    *nseries = series(store);
    if (in_memory) care(store, list.count);
    cbx_store_list_clear(&list);
    cbx_store_close(store);
}

FUZZ_ENTRY(.most = 50)
{
    static cbx_ctx *ctx;
    const char *root;
    size_t nruns, nseries, nruns_file, nseries_file;

    if (size > 65536) return 0;
    if (!ctx) require(cbx_ctx_create(NULL, &ctx, NULL) == CBX_OK);
    root = fuzz_files_folder(files, CBX_LEN(files));
    fuzz_files_put(data, size);
    ask(ctx, root, true, &nruns, &nseries);
    ask(ctx, root, false, &nruns_file, &nseries_file);
    require(nruns == nruns_file && nseries == nseries_file);
    return 0;
}
