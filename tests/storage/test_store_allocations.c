/* Each question to a store, and each thing done to one, with every allocation of it failing once:
 * CBX_ENOMEM comes out, with a sentence, nothing leaks, and the store answers afterwards as if
 * nothing had been asked. */
#include "check.h"

#include <stdio.h>

#include "calibrax/base/arena.h"
#include "calibrax/storage/store.h"
#include "fail_alloc.h"

typedef struct world {
    char folder[64];
    char root[96], copy[96];
    bool index; /* in a file */
    cbx_ctx *ctx;
    const struct deed *deed;
} world;

typedef struct deed {
    const char *name;
    cbx_status (*fn)(cbx_store *store, cbx_ctx *ctx, world *w, cbx_err *err);
    bool changes; /* the runs are written again before it */
} deed;

/* --- the runs that it is done to --- */

static cbx_status make(cbx_ctx *ctx, int i, cbx_run **out, cbx_err *err)
{
    static const char *const ids[] = { "aaa1", "bbb2", "ccc3" };
    const cbx_tag tag = { "batch", i ? "64" : "32" };
    const cbx_named_metric metrics[] = { { "latency", cbx_metric_of(1 + i) } };
    const cbx_point point = { "forward", "train", &tag, 1, metrics, 1 };
    const cbx_metric_def def = { "latency", i ? "ms" : "s", CBX_DIRECTION_LOWER, "timing", CBX_PRIORITY_PRIMARY, "" };
    cbx_run_opts opts = CBX_RUN_OPTS_INIT;
    cbx_run_builder *b = NULL;
    cbx_status st;

    opts.no_vcs = opts.no_machine = opts.no_versions = true;
    st = cbx_run_builder_create(ctx, &opts, &b, err);
    if (!st) st = cbx_run_builder_set_id(b, ids[i], err);
    if (!st) st = cbx_run_builder_set_timestamp(b, 1000000 * (i + 1), err);
    if (!st) st = cbx_run_builder_set_commit(b, "0f3c2b1a99", "main", err);
    if (!st) st = cbx_run_builder_add_metric_def(b, &def, err);
    if (!st) st = cbx_run_builder_add_point(b, &point, err);
    if (!st) st = cbx_run_builder_freeze(b, out, err);
    cbx_run_builder_free(b);
    return st;
}

static cbx_store *open_at(cbx_ctx *ctx, const world *w, cbx_status *st, cbx_err *err)
{
    cbx_store_opts opts = CBX_STORE_OPTS_INIT;
    cbx_store *store = NULL;

    opts.create = true;
    opts.no_index_file = !w->index;
    *st = cbx_store_open(ctx, w->root, &opts, &store, err);
    return store;
}

/* Three runs and a baseline, as they were before anything was done. */
static void write_runs(world *w)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;
    cbx_store *store = open_at(w->ctx, w, &st, &err);

    CHECK_OK(st, &err, "the store before");
    for (int i = 0; i < 3; i++) {
        cbx_run *run = NULL;
        CHECK_OK(make(w->ctx, i, &run, &err), &err, "a run");
        CHECK_OK(cbx_store_save(store, run, true, &err), &err, "kept");
        cbx_run_free(run);
    }
    CHECK_OK(cbx_store_baseline_set(store, NULL, "aaa1", &err), &err, "the baseline");
    cbx_store_close(store);
}

/* --- what is done --- */

static cbx_status save(cbx_store *store, cbx_ctx *ctx, world *w, cbx_err *err)
{
    cbx_run *run = NULL;
    cbx_status st = make(ctx, 1, &run, err);

    (void)w;
    if (!st) st = cbx_store_save(store, run, true, err);
    cbx_run_free(run);
    return st;
}

static cbx_status load(cbx_store *store, cbx_ctx *ctx, world *w, cbx_err *err)
{
    static const char *const names[] = { "bbb2", "ccc", "latest" };
    cbx_status st = CBX_OK;

    (void)ctx, (void)w;
    for (size_t i = 0; !st && i < CBX_LEN(names); i++) {
        cbx_run *run = NULL;
        st = cbx_store_load(store, names[i], &run, err);
        cbx_run_free(run);
    }
    return st;
}

static cbx_status load_bare(cbx_store *store, cbx_ctx *ctx, world *w, cbx_err *err)
{
    cbx_run *run = NULL;
    cbx_status st = cbx_store_load_bare(store, "latest", &run, err);

    (void)ctx, (void)w;
    cbx_run_free(run);
    return st;
}

static cbx_status delete (cbx_store *store, cbx_ctx *ctx, world *w, cbx_err *err)
{
    (void)ctx, (void)w;
    return cbx_store_remove(store, "bbb2", err);
}

static cbx_status query(cbx_store *store, cbx_ctx *ctx, world *w, cbx_err *err)
{
    const cbx_tag tag = { "batch", "64" };
    const cbx_store_query q = { .branch = "main", .metric = "latency", .tags = &tag, .ntags = 1, .limit = 1 };
    cbx_store_list list = { 0 };
    cbx_status st;

    (void)ctx, (void)w;
    st = cbx_store_query_runs(store, &q, &list, err);
    cbx_store_list_clear(&list);
    return st;
}

static cbx_status series(void *user, const cbx_trend_series *one, cbx_err *err)
{
    (void)one;
    return cbx_store_metric_is_mixed(user, "latency", &(bool){ false }, err);
}

static cbx_status trends(cbx_store *store, cbx_ctx *ctx, world *w, cbx_err *err)
{
    const cbx_store_query q = { .metric = "latency" };

    (void)ctx, (void)w;
    return cbx_store_trend_each(store, &q, series, series, store, err);
}

static cbx_status definitions(cbx_store *store, cbx_ctx *ctx, world *w, cbx_err *err)
{
    cbx_metric_def def;
    cbx_arena arena;
    cbx_status st;
    bool mixed;

    (void)w;
    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    st = cbx_store_metric_def(store, "latency", &arena, &def, err);
    if (!st) st = cbx_store_metric_is_mixed(store, "latency", &mixed, err);
    cbx_arena_clear(&arena);
    return st;
}

static cbx_status baselines(cbx_store *store, cbx_ctx *ctx, world *w, cbx_err *err)
{
    const char *const *names;
    cbx_arena arena;
    cbx_run *run = NULL;
    cbx_status st;
    size_t n;

    (void)w;
    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    st = cbx_store_baseline_set(store, "nightly", "ccc3", err);
    if (!st) st = cbx_store_baselines(store, &arena, &names, &n, err);
    if (!st) st = cbx_store_baseline_get(store, "nightly", &run, err);
    if (!st) st = cbx_store_baseline_remove(store, "nightly", err);
    cbx_run_free(run);
    cbx_arena_clear(&arena);
    return st;
}

/* What gives a report; the report of one that failed is empty, and clearing it is allowed. */
#define REPORT_OF(name, call)                                                                                          \
    static cbx_status name(cbx_store *store, cbx_ctx *ctx, world *w, cbx_err *err)                                     \
    {                                                                                                                  \
        cbx_store_report report = { 0 };                                                                               \
        cbx_status st;                                                                                                 \
        (void)ctx, (void)w;                                                                                            \
        st = (call);                                                                                                   \
        cbx_store_report_clear(&report);                                                                               \
        return st;                                                                                                     \
    }
static const cbx_store_keep newest = { .newest = 1 }, newest_dry = { .newest = 1, .dry = true };
REPORT_OF(problems, cbx_store_problems(store, &report, err))
REPORT_OF(verify, cbx_store_verify(store, &report, err))
REPORT_OF(compact, cbx_store_compact(store, &newest, &report, err))
REPORT_OF(compact_dry, cbx_store_compact(store, &newest_dry, &report, err))
REPORT_OF(migrate, cbx_store_migrate(store, false, &report, err))
REPORT_OF(export, cbx_store_export(store, NULL, w->copy, &report, err))

static const deed deeds[] = {
    { "cbx_store_save", save, false },
    { "cbx_store_load", load, false },
    { "cbx_store_load_bare", load_bare, false },
    { "cbx_store_remove", delete, true },
    { "cbx_store_query_runs", query, false },
    { "cbx_store_trend_each", trends, false },
    { "cbx_store_metric_def", definitions, false },
    { "cbx_store_baselines", baselines, true },
    { "cbx_store_problems", problems, false },
    { "cbx_store_verify", verify, false },
    { "cbx_store_compact", compact, true },
    { "cbx_store_compact, dry", compact_dry, false },
    { "cbx_store_migrate", migrate, false },
    { "cbx_store_export", export, false },
};

static cbx_status attempt(cbx_ctx *ctx, void *user)
{
    world *w = user;
    cbx_err err = CBX_ERR_INIT;
    cbx_store *store;
    cbx_status st;

    if (w->deed->changes) write_runs(w);
    store = open_at(ctx, w, &st, &err);
    if (!st) st = w->deed->fn(store, ctx, w, &err);
    cbx_store_close(store);
    CHECK(!st == !*err.message, "a sentence comes with a failure, and only with one");
    return st;
}

/* The store is whole, whatever was refused. */
static void check_whole(world *w)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_store_report report = { 0 };
    cbx_status st;
    cbx_store *store = open_at(w->ctx, w, &st, &err);

    CHECK_OK(st, &err, w->deed->name);
    CHECK_OK(cbx_store_verify(store, &report, &err), &err, w->deed->name);
    CHECK_INT(report.nproblems, 0, report.nproblems ? report.problems[0].message : w->deed->name);
    cbx_store_report_clear(&report);
    cbx_store_close(store);
}

static void sweep(bool index)
{
    cbx_test_alloc alloc;
    world w = { .index = index };

    cbx_test_alloc_init(&alloc);
    w.ctx = cbx_test_ctx(&alloc);
    cbx_test_folder(w.folder);
    snprintf(w.root, sizeof w.root, "%s/store", w.folder);
    snprintf(w.copy, sizeof w.copy, "%s/copy", w.folder);
    for (size_t i = 0; i < CBX_LEN(deeds); i++) {
        w.deed = &deeds[i];
        write_runs(&w);
        CHECK_GT(cbx_test_fail_each(attempt, &w, w.deed->name), 3, w.deed->name);
        check_whole(&w);
    }
    cbx_test_folder_remove(w.folder);
    cbx_ctx_free(w.ctx);
    cbx_test_alloc_check(&alloc, "after all");
}

TEST(test_without_an_index_file) { sweep(false); }
TEST(test_with_an_index_file) { sweep(true); }

TESTS()
