/* The store of runs as a user meets it: keep, find, list, trends, baselines; what others did to the
 * folder; damage; care. */
#include "check.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calibrax/base/file.h"
#include "calibrax/storage/store.h"
#include "fail_alloc.h"

typedef struct state {
    cbx_test_alloc alloc;
    cbx_ctx *ctx;
    char folder[64];
    char root[96];
    cbx_store *store;
} state;

static cbx_store *open_at(cbx_ctx *ctx, const char *root)
{
    cbx_store_opts opts = CBX_STORE_OPTS_INIT;
    cbx_store *s = NULL;
    cbx_err err = CBX_ERR_INIT;

    opts.create = true;
    CHECK_OK(cbx_store_open(ctx, root, &opts, &s, &err), &err, "open");
    return s;
}

static int setup(void **out)
{
    static state s;

    memset(&s, 0, sizeof s);
    cbx_test_alloc_init(&s.alloc);
    s.ctx = cbx_test_ctx(&s.alloc);
    cbx_test_folder(s.folder);
    snprintf(s.root, sizeof s.root, "%s/store", s.folder);
    s.store = open_at(s.ctx, s.root);
    *out = &s;
    return 0;
}

static int teardown(void **in)
{
    state *s = *in;

    cbx_store_close(s->store);
    cbx_test_folder_remove(s->folder);
    cbx_ctx_free(s->ctx);
    cbx_test_alloc_check(&s->alloc, "after the test");
    return 0;
}

/* --- runs to keep --- */

typedef struct recipe {
    const char *id;
    int64_t us;
    const char *branch, *machine, *scenario, *batch;
    double latency;
} recipe;

static const recipe plain = { "aaa111", 1000000, "main", "m1", "train", "32", 1.0 };

static cbx_status make(cbx_ctx *ctx, const recipe *r, cbx_run **out, cbx_err *err)
{
    cbx_run_opts opts = CBX_RUN_OPTS_INIT;
    cbx_run_builder *b = NULL;
    const cbx_tag tags[] = { { "framework", "flax" }, { "batch", r->batch } };
    cbx_named_metric metrics[] = { { "latency", cbx_metric_of(r->latency) }, { "loss", cbx_metric_of(0.5) } };
    const cbx_point point = { "forward", r->scenario, tags, 2, metrics, 2 };
    const cbx_metric_def def = { "latency", "ms", CBX_DIRECTION_LOWER, "timing", CBX_PRIORITY_PRIMARY, "median" };
    cbx_status st;

    metrics[0].metric.lower = r->latency - 0.1;
    opts.no_vcs = opts.no_machine = opts.no_versions = true;
    st = cbx_run_builder_create(ctx, &opts, &b, err);
    if (!st) st = cbx_run_builder_set_id(b, r->id, err);
    if (!st) st = cbx_run_builder_set_timestamp(b, r->us, err);
    if (!st) st = cbx_run_builder_set_commit(b, "0f3c2b1a99", r->branch, err);
    if (!st && r->machine) st = cbx_run_builder_set_environment(b, "machine", cbx_json_new_string(r->machine), err);
    if (!st) st = cbx_run_builder_add_metric_def(b, &def, err);
    if (!st) st = cbx_run_builder_add_point(b, &point, err);
    if (!st) st = cbx_run_builder_freeze(b, out, err);
    cbx_run_builder_free(b);
    return st;
}

static cbx_status keep(cbx_store *store, cbx_ctx *ctx, const recipe *r, bool replace, cbx_err *err)
{
    cbx_run *run = NULL;
    cbx_status st = make(ctx, r, &run, err);

    if (!st) st = cbx_store_save(store, run, replace, err);
    cbx_run_free(run);
    return st;
}

static void keep_ok(state *s, const recipe *r)
{
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(keep(s->store, s->ctx, r, false, &err), &err, r->id);
}

static size_t count(state *s, const cbx_store_query *q)
{
    cbx_store_list list;
    cbx_err err = CBX_ERR_INIT;
    size_t n;

    CHECK_OK(cbx_store_query_runs(s->store, q, &list, &err), &err, "query");
    n = list.count;
    cbx_store_list_clear(&list);
    return n;
}

static void write_file(const state *s, const char *name, const char *text)
{
    cbx_test_put(text, "%s/%s", s->root, name);
}

/* --- keeping and finding --- */

TEST(test_keep_and_load)
{
    state *s = *test_state;
    cbx_err err = CBX_ERR_INIT;
    cbx_run *run = NULL;
    recipe other = plain, second = plain;

    keep_ok(s, &plain);
    keep_ok(s, &plain); /* an equal one costs nothing */
    other.latency = 2.0;
    CHECK_STATUS(keep(s->store, s->ctx, &other, false, &err), CBX_EEXIST, "another run of the same id");
    CHECK_OK(keep(s->store, s->ctx, &other, true, &err), &err, "unless it may replace");
    CHECK_OK(cbx_store_load(s->store, "aaa111", &run, &err), &err, "by its id");
    CHECK(cbx_point_metric(cbx_run_point(run, 0), "latency")->value == 2.0, "the new one");
    cbx_run_free(run);

    second.id = "aab222";
    second.us = 5000000;
    keep_ok(s, &second);
    CHECK_OK(cbx_store_load(s->store, "aab", &run, &err), &err, "by the beginning of its id");
    CHECK_STR(cbx_run_id(run), "aab222", "that one");
    cbx_run_free(run);
    CHECK_OK(cbx_store_load(s->store, "latest", &run, &err), &err, "the newest");
    CHECK_STR(cbx_run_id(run), "aab222", "by time");
    cbx_run_free(run);
    CHECK_STATUS(cbx_store_load(s->store, "aa", &run, &err), CBX_EINVAL, "two begin so");
    CHECK(strstr(err.message, "'aaa111', 'aab222'"), err.message);
    CHECK_STATUS(cbx_store_load(s->store, "aab221", &run, &err), CBX_ENOENT, "none");
    CHECK(strstr(err.message, "did you mean 'aab222'?"), err.message);
    CHECK_STATUS(cbx_store_load(s->store, "../../etc/passwd", &run, &err), CBX_ENOENT, "no way out of the folder");
    CHECK(strstr(err.message, "no run '../../etc/passwd'"), err.message);
    CHECK_STATUS(cbx_store_remove(s->store, "../config", &err), CBX_ENOENT, "nor for removal");
    CHECK_OK(cbx_store_remove(s->store, "aab222", &err), &err, "removed");
    CHECK_INT(count(s, NULL), 1, "and gone");
}

TEST(test_what_is_no_store)
{
    state *s = *test_state;
    cbx_err err = CBX_ERR_INIT;
    cbx_store *none = NULL;
    cbx_run *run = NULL;
    char path[160];

    CHECK_STATUS(cbx_store_open(s->ctx, "/nowhere/at/all", NULL, &none, &err), CBX_ENOENT, "no folder");
    snprintf(path, sizeof path, "%s/runs", s->root);
    CHECK_STATUS(cbx_store_open(s->ctx, path, NULL, &none, &err), CBX_ENOENT, "a folder of something else");
    CHECK(strstr(err.message, "no folder 'runs'"), err.message);
    snprintf(path, sizeof path, "%s/new", s->folder);
    CHECK_STATUS(cbx_store_open(s->ctx, path, NULL, &none, &err), CBX_ENOENT, "asking makes nothing");
    CHECK(!cbx_path_exists(path), "no folder came to be");
    CHECK_STATUS(cbx_store_load(s->store, "latest", &run, &err), CBX_ENOENT, "an empty store");
    CHECK(strstr(err.message, "no run in the store"), err.message);
}

/* --- queries --- */

static const recipe many[] = {
    { "r1", 1000000, "main", "m1", "train", "32", 1.0 }, { "r2", 2000000, "main", "m1", "train", "64", 2.0 },
    { "r3", 3000000, "dev", "m1", "train", "32", 3.0 },  { "r4", 4000000, "main", "m2", "eval", "32", 4.0 },
    { "r5", 4000000, "main", NULL, "train", "32", 5.0 },
};

TEST(test_queries)
{
    state *s = *test_state;
    static const cbx_tag batch64 = { "batch", "64" }, odd = { "batch", "6" };
    static const struct {
        cbx_store_query q;
        size_t n;
        const char *why;
    } cases[] = {
        { { 0 }, 5, "all" },
        { { .branch = "main" }, 4, "branch" },
        { { .commit = "0f3c" }, 5, "the beginning of the commit" },
        { { .commit = "0f3d" }, 0, "another commit" },
        { { .machine = "m1" }, 3, "machine" },
        { { .machine = "-" }, 1, "no machine" },
        { { .since_us = 2000000, .until_us = 4000000 }, 2, "half-open in time" },
        { { .scenario = "eval" }, 1, "scenario" },
        { { .point = "forward", .metric = "loss" }, 5, "point and metric" },
        { { .metric = "nothing" }, 0, "a metric of no run" },
        { { .tags = &batch64, .ntags = 1 }, 1, "tag" },
        { { .tags = &odd, .ntags = 1 }, 0, "a tag's value is compared whole" },
        { { .limit = 2 }, 2, "the newest two" },
        { { .run_text = "MAIN" }, 4, "a text in the branch, in either case" },
        { { .run_text = "r4" }, 1, "in the id" },
        { { .run_text = "0f3C2" }, 5, "in the commit" },
        { { .run_text = "%" }, 0, "a text, and no pattern" },
        { { .series_text = "EVAL" }, 1, "in the scenario" },
        { { .series_text = "batch=64" }, 1, "in a tag" },
        { { .series_text = "loss" }, 5, "in a metric" },
        { { .series_text = "nothing" }, 0, "nowhere" },
    };
    cbx_store_list list;
    cbx_err err = CBX_ERR_INIT;

    for (size_t i = 0; i < sizeof many / sizeof *many; i++) keep_ok(s, &many[i]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_INT(count(s, &cases[i].q), cases[i].n, cases[i].why);
    CHECK_OK(cbx_store_query_runs(s->store, NULL, &list, &err), &err, "all");
    CHECK_STR(list.entries[0].id, "r5", "newest first, of equal times by id");
    CHECK_STR(list.entries[1].id, "r4", "falling");
    CHECK_STR(list.entries[4].id, "r1", "oldest last");
    CHECK(list.entries[0].machine == NULL, "an unknown machine stays unknown");
    CHECK_INT(list.entries[0].npoints, 1, "points");
    cbx_store_list_clear(&list);
}

TEST(test_trends_never_mix_configurations)
{
    state *s = *test_state;
    const cbx_store_query q = { .metric = "latency" },
                          newest = { .metric = "latency", .scenario = "train", .limit = 1 };
    cbx_trend t;
    cbx_err err = CBX_ERR_INIT;

    for (size_t i = 0; i < sizeof many / sizeof *many; i++) keep_ok(s, &many[i]);
    CHECK_OK(cbx_store_trend(s->store, &q, &t, &err), &err, "trend");
    CHECK_INT(t.count, 3, "eval; train of 32; train of 64");
    CHECK_STR(t.series[0].scenario, "eval", "by scenario");
    CHECK_INT(t.series[1].npoints, 3, "train of 32");
    CHECK_STR(t.series[1].tags[0].key, "batch", "tags by key");
    CHECK_STR(t.series[1].tags[0].value, "32", "their value");
    CHECK_STR(t.series[1].points[0].run_id, "r1", "oldest first");
    CHECK(t.series[1].points[2].value == 5.0 && fabs(t.series[1].points[2].lower - 4.9) < 1e-12, "values and bounds");
    CHECK(isnan(t.series[1].points[2].upper), "an absent bound is NaN");
    cbx_trend_clear(&t);
    CHECK_OK(cbx_store_trend(s->store, &newest, &t, &err), &err, "the newest of each");
    CHECK_INT(t.count, 2, "two series of train");
    CHECK_STR(t.series[0].points[0].run_id, "r5", "its newest value");
    cbx_trend_clear(&t);
}

TEST(test_not_a_number_is_kept)
{
    state *s = *test_state;
    recipe r = plain;
    const cbx_store_query q = { .metric = "latency" };
    cbx_trend t;
    cbx_err err = CBX_ERR_INIT;

    r.latency = NAN;
    keep_ok(s, &r);
    CHECK_OK(cbx_store_trend(s->store, &q, &t, &err), &err, "trend");
    CHECK(t.count == 1 && isnan(t.series[0].points[0].value), "NaN is a value, not a gap");
    cbx_trend_clear(&t);
}

typedef struct walk {
    state *s;
    size_t checked, shown, values;
    bool refuse;
} walk;

/* Another writer comes in between. */
static cbx_status check_one(void *user, const cbx_trend_series *one, cbx_err *err)
{
    walk *w = user;

    (void)one;
    CHECK_INT(w->shown, 0, "all are checked first");
    w->checked++;
    keep_ok(w->s, &plain);
    CHECK_INT(count(w->s, NULL), 3, "a look at the folder in between");
    return w->refuse ? cbx_fail(err, CBX_EINVAL, "no") : CBX_OK;
}

static cbx_status show_one(void *user, const cbx_trend_series *one, cbx_err *err)
{
    walk *w = user;

    (void)err;
    w->shown++;
    w->values += one->npoints;
    return CBX_OK;
}

TEST(test_shown_is_what_was_checked)
{
    state *s = *test_state;
    const cbx_store_query q = { .metric = "latency" };
    walk w = { .s = s }, refused = { .s = s, .refuse = true };
    cbx_err err = CBX_ERR_INIT;

    keep_ok(s, &many[0]);
    keep_ok(s, &many[1]);
    CHECK_OK(cbx_store_trend_each(s->store, &q, check_one, show_one, &w, &err), &err, "walk");
    CHECK_INT(w.checked, 2, "series checked");
    CHECK_INT(w.shown, 2, "the same are shown");
    CHECK_INT(w.values, 2, "without the run that came in between");
    CHECK_STATUS(cbx_store_trend_each(s->store, &q, check_one, show_one, &refused, &err), CBX_EINVAL, "refused");
    CHECK_INT(refused.checked, 1, "at once");
    CHECK_INT(refused.shown, 0, "nothing is shown");
}

TEST(test_definitions)
{
    state *s = *test_state;
    cbx_arena arena;
    cbx_metric_def def;
    bool mixed = true;
    cbx_err err = CBX_ERR_INIT;

    cbx_arena_init(&arena, cbx_ctx_allocator(s->ctx));
    keep_ok(s, &plain);
    write_file(s, "config.json",
               "{\"metric_defs\":{\"loss\":{\"name\":\"loss\",\"unit\":\"1\",\"direction\":\"lower\"}}}");
    CHECK_OK(cbx_store_metric_def(s->store, "latency", &arena, &def, &err), &err, "of a run");
    CHECK(strcmp(def.unit, "ms") == 0 && def.direction == CBX_DIRECTION_LOWER, "as the run says");
    CHECK_OK(cbx_store_metric_def(s->store, "loss", &arena, &def, &err), &err, "of the configuration");
    CHECK_STR(def.unit, "1", "as the file says");
    CHECK_STATUS(cbx_store_metric_def(s->store, "unknown", &arena, &def, &err), CBX_ENOENT, "of no run");
    write_file(s, "config.json", "{");
    CHECK_STATUS(cbx_store_metric_def(s->store, "loss", &arena, &def, &err), CBX_EFORMAT, "a broken file is named");
    CHECK(strstr(err.message, "config.json"), err.message);
    CHECK_OK(cbx_store_metric_is_mixed(s->store, "latency", &mixed, &err), &err, "asked");
    CHECK(!mixed, "one unit");
    write_file(s, "runs/seconds.json",
               "{\"id\":\"seconds\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"points\":[],\"metric_defs\":{\"latency\":{"
               "\"name\":"
               "\"latency\",\"unit\":\"s\",\"direction\":\"lower\"}}}");
    CHECK_OK(cbx_store_metric_def(s->store, "latency", &arena, &def, &err), &err, "a query looks at the folder");
    CHECK_OK(cbx_store_metric_is_mixed(s->store, "latency", &mixed, &err), &err, "asked again");
    CHECK(mixed, "seconds and milliseconds");
    cbx_arena_clear(&arena);
}

/* --- baselines --- */

TEST(test_baselines)
{
    state *s = *test_state;
    cbx_arena arena;
    const char *const *names;
    size_t n;
    cbx_run *run = NULL;
    cbx_err err = CBX_ERR_INIT;

    CHECK_STATUS(cbx_store_baseline_get(s->store, NULL, &run, &err), CBX_ENOENT, "none yet");
    CHECK(strstr(err.message, "calibrax baseline"), err.message);
    for (size_t i = 0; i < 2; i++) keep_ok(s, &many[i]);
    CHECK_OK(cbx_store_baseline_set(s->store, NULL, "r1", &err), &err, "main");
    CHECK_OK(cbx_store_baseline_set(s->store, "release-1", "latest", &err), &err, "another");
    CHECK_STATUS(cbx_store_baseline_set(s->store, "../x", "r1", &err), CBX_EINVAL, "no path");
    CHECK_STATUS(cbx_store_baseline_set(s->store, "y", "r9", &err), CBX_ENOENT, "no run");
    CHECK_OK(cbx_store_remove(s->store, "r1", &err), &err, "its run goes");
    CHECK_OK(cbx_store_baseline_get(s->store, "main", &run, &err), &err, "the copy stays");
    CHECK_STR(cbx_run_id(run), "r1", "as it was");
    cbx_run_free(run);
    cbx_arena_init(&arena, cbx_ctx_allocator(s->ctx));
    CHECK_OK(cbx_store_baselines(s->store, &arena, &names, &n, &err), &err, "names");
    CHECK(n == 2 && strcmp(names[0], "main") == 0 && strcmp(names[1], "release-1") == 0, "sorted");
    cbx_arena_clear(&arena);
    CHECK_OK(cbx_store_baseline_remove(s->store, "main", &err), &err, "removed");
    CHECK_STATUS(cbx_store_baseline_remove(s->store, "main", &err), CBX_ENOENT, "once");
}

/* --- what others do to the folder --- */

TEST(test_changes_behind_our_back)
{
    state *s = *test_state;
    cbx_store *other = open_at(s->ctx, s->root);
    recipe r = plain;
    cbx_err err = CBX_ERR_INIT;
    char path[160];

    keep_ok(s, &plain);
    CHECK_INT(count(s, NULL), 1, "ours");
    r.id = "other";
    CHECK_OK(keep(other, s->ctx, &r, false, &err), &err, "another writer");
    CHECK_INT(count(s, NULL), 2, "is seen");
    r.branch = "dev";
    CHECK_OK(keep(other, s->ctx, &r, true, &err), &err, "and what it rewrites");
    CHECK_INT(count(s, &(cbx_store_query){ .branch = "dev" }), 1, "is seen");
    snprintf(path, sizeof path, "%s/runs/other.json", s->root);
    unlink(path);
    CHECK_INT(count(s, NULL), 1, "and what another program removes");
    snprintf(path, sizeof path, "%s/index.sqlite", s->root);
    cbx_store_close(other);
    write_file(s, "index.sqlite", "this is no database, and quite long enough to be looked at as one");
    other = open_at(s->ctx, s->root);
    cbx_store_close(s->store);
    s->store = other;
    CHECK_INT(count(s, NULL), 1, "a damaged index is rebuilt");
    cbx_store_close(s->store);
    unlink(path);
    s->store = open_at(s->ctx, s->root);
    CHECK_INT(count(s, NULL), 1, "as is a missing one");
}

/* So many that several threads ask for their stamps. */
TEST(test_changes_among_many_files)
{
    enum { FILES = 1500 };
    state *s = *test_state;
    char name[64], path[160], text[160];

    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "runs/many%04d.json", i);
        snprintf(text, sizeof text,
                 "{\"id\": \"many%04d\", \"timestamp\": \"2026-01-01T00:00:00+00:00\", \"points\": []}", i);
        write_file(s, name, text);
    }
    CHECK_INT(count(s, NULL), FILES, "all of them");
    CHECK_INT(count(s, NULL), FILES, "and again");
    write_file(s, "runs/many0000.json", "{}");
    CHECK_INT(count(s, NULL), FILES - 1, "the first is torn");
    snprintf(path, sizeof path, "%s/runs/many1499.json", s->root);
    unlink(path);
    CHECK_INT(count(s, NULL), FILES - 2, "the last is gone");
    snprintf(text, sizeof text, "{\"id\": \"new\", \"timestamp\": \"2026-01-01T00:00:00+00:00\", \"points\": []}");
    write_file(s, "runs/new.json", text);
    CHECK_INT(count(s, NULL), FILES - 1, "one came");
    snprintf(path, sizeof path, "%s/runs/folder.json", s->root);
    CHECK_INT(mkdir(path, 0777), 0, "a folder beside the files");
    CHECK_INT(count(s, NULL), FILES - 1, "is no run");
}

/* A run of n points, every other of which is the same series; `end` closes it. */
static void write_long_run(const state *s, const char *id, int n, const char *end)
{
    char name[64];
    cbx_text t;

    cbx_text_init(&t, cbx_allocator_default());
    cbx_text_printf(&t, "{\"id\": \"%s\", \"timestamp\": \"2026-01-01T00:00:00+00:00\", \"points\": [", id);
    for (int i = 0; i < n; i++) {
        cbx_text_printf(&t, "%s{\"name\": \"", i ? "," : "");
        cbx_text_printf(&t, i % 2 ? "p" : "q%d", i);
        cbx_text_printf(&t, "\", \"scenario\": \"s\", \"metrics\": {\"t\": {\"value\": %d}}}", i);
    }
    cbx_text_printf(&t, "]%s", end);
    snprintf(name, sizeof name, "runs/%s.json", id);
    write_file(s, name, cbx_text_str(&t));
    cbx_text_clear(&t);
}

static void check_long_series(state *s, const char *point, size_t wanted, const char *why)
{
    const cbx_store_query q = { .point = point };
    cbx_err err = CBX_ERR_INIT;
    cbx_trend t;

    CHECK_OK(cbx_store_trend(s->store, &q, &t, &err), &err, "trend");
    CHECK_INT(t.count, wanted > 0, why);
    CHECK_INT(t.count ? t.series[0].npoints : 0, wanted, why);
    for (size_t i = 0; i < wanted && point[0] == 'p'; i++)
        CHECK(t.series[0].points[i].value == (double)(2 * (i % (wanted / 2)) + 1), "in their order");
    cbx_trend_clear(&t);
}

/* Too many values to be held: they come into the index in parts, those of one series several
 * times. */
TEST(test_runs_of_many_values)
{
    enum { POINTS = 80000 };
    state *s = *test_state;

    for (int i = 0; i < 70; i++) {
        char id[32];
        snprintf(id, sizeof id, "few%d", i);
        write_long_run(s, id, 1, "}");
    }
    write_long_run(s, "many", POINTS, "}");
    write_long_run(s, "more", POINTS, "}");
    write_long_run(s, "torn", POINTS, "");
    write_long_run(s, "wrong", POINTS, ", \"commit\": 7}");
    CHECK_INT(count(s, NULL), 72, "those that are runs");
    check_long_series(s, "p", POINTS, "both runs have every value");
    check_long_series(s, "q79998", 2, "the last of each");
    check_long_series(s, "q0", 72, "and the first");
    write_long_run(s, "torn", 2, "}");
    CHECK_INT(count(s, NULL), 73, "repaired");
    check_long_series(s, "q79998", 2, "what the torn one had does not come back");
    check_long_series(s, "q0", 73, "what it has now counts");
    write_long_run(s, "more", 2, "}");
    check_long_series(s, "q79998", 1, "one is another now");
}

TEST(test_one_bad_file_costs_nothing_else)
{
    state *s = *test_state;
    cbx_store_report report;
    cbx_err err = CBX_ERR_INIT;
    cbx_run *run = NULL;

    keep_ok(s, &plain);
    write_file(s, "runs/torn.json", "{\"id\": \"torn\", \"timest");
    write_file(s, "runs/lies.json",
               "{\"id\": \"truth\", \"timestamp\": \"2026-01-01T00:00:00+00:00\", \"points\": []}");
    write_file(s, "runs/.cbx-0123456789abcdef.tmp", "left by a killed writer");
    CHECK_INT(count(s, NULL), 1, "the good one is there");
    CHECK_OK(cbx_store_load(s->store, "latest", &run, &err), &err, "and the newest");
    cbx_run_free(run);
    CHECK_OK(cbx_store_problems(s->store, &report, &err), &err, "problems");
    CHECK_INT(report.nproblems, 2, "two files");
    CHECK_STR(report.problems[0].file, "runs/lies.json", "by name");
    CHECK(strstr(report.problems[0].message, "'truth'"), report.problems[0].message);
    CHECK_STR(report.problems[1].file, "runs/torn.json", "by name");
    cbx_store_report_clear(&report);
    write_file(s, "baselines/main.json", "[]");
    CHECK_OK(cbx_store_verify(s->store, &report, &err), &err, "verify");
    CHECK_INT(report.nproblems, 4, "the baseline and the leftover too");
    CHECK_STR(report.problems[0].file, "baselines/main.json", "by name");
    cbx_store_report_clear(&report);
    CHECK_STATUS(cbx_store_load(s->store, "torn", &run, &err), CBX_EFORMAT, "asked for by name it is an error");
}

/* Bytes that change under an unchanged stamp are what a disk does; here the remembered hash is
 * changed instead. */
TEST(test_verify_sees_a_flipped_bit)
{
    state *s = *test_state;
    cbx_store_report report;
    cbx_err err = CBX_ERR_INIT;
    sqlite3 *db = NULL;
    char path[160];

    keep_ok(s, &plain);
    CHECK_INT(count(s, NULL), 1, "indexed");
    snprintf(path, sizeof path, "%s/index.sqlite", s->root);
    CHECK_INT(sqlite3_open(path, &db), SQLITE_OK, "the index");
    CHECK_INT(sqlite3_exec(db, "UPDATE run SET hash = '00'", NULL, NULL, NULL), SQLITE_OK, "another hash");
    sqlite3_close(db);
    CHECK_OK(cbx_store_problems(s->store, &report, &err), &err, "the quick look");
    CHECK_INT(report.nproblems, 0, "sees nothing");
    cbx_store_report_clear(&report);
    CHECK_OK(cbx_store_verify(s->store, &report, &err), &err, "verify");
    CHECK_INT(report.nproblems, 1, "reads the bytes");
    CHECK(strstr(report.problems[0].message, "bytes changed"), report.problems[0].message);
    cbx_store_report_clear(&report);
}

TEST(test_a_store_that_cannot_be_written)
{
    state *s = *test_state;
    cbx_err err = CBX_ERR_INIT;
    recipe r = plain;
    pid_t child;
    int status = 0;

    keep_ok(s, &plain);
    cbx_store_close(s->store);
    s->store = NULL;
    chmod(s->folder, 0755); /* others may come in */
    child = fork();
    if (child == 0) { /* as a user who may only read */
        cbx_ctx *ctx = NULL;
        cbx_store *store = NULL;
        cbx_store_list list;
        int bad = 0;
        if (geteuid() == 0 && (setgid(65534) || setuid(65534))) _exit(9);
        bad |= cbx_ctx_create(NULL, &ctx, NULL) != CBX_OK;
        if (cbx_store_open(ctx, s->root, NULL, &store, &err)) _exit(8);
        bad |= (cbx_store_query_runs(store, NULL, &list, &err) != CBX_OK || list.count != 1) << 1;
        r.id = "second";
        bad |= (keep(store, ctx, &r, false, &err) != CBX_EPERM) << 2;
        _exit(bad);
    }
    waitpid(child, &status, 0);
    if (geteuid() != 0) SKIP("permission: only root can become a user who may not write");
    CHECK(WIFEXITED(status), "no crash");
    CHECK_INT(WEXITSTATUS(status), 0, "it can be listed, and a write reports why not");
    s->store = open_at(s->ctx, s->root);
}

/* --- writers --- */

static void write_many(const char *root, const char *prefix, int n)
{
    cbx_ctx *ctx = NULL;
    cbx_store *store = NULL;
    cbx_store_list list;

    if (cbx_ctx_create(NULL, &ctx, NULL) || cbx_store_open(ctx, root, NULL, &store, NULL)) _exit(1);
    for (int i = 0; i < n; i++) {
        char id[32];
        recipe r = plain;
        snprintf(id, sizeof id, "%s-%04d", prefix, i);
        r.id = id;
        if (keep(store, ctx, &r, false, NULL)) _exit(2);
        if (i % 8 == 0 && cbx_store_query_runs(store, NULL, &list, NULL)) _exit(3);
        if (i % 8 == 0) cbx_store_list_clear(&list);
    }
    cbx_store_close(store);
    cbx_ctx_free(ctx);
    _exit(0);
}

TEST(test_writers_lose_nothing)
{
    state *s = *test_state;
    static const char *const prefixes[] = { "a", "b", "c" };
    pid_t child[3];
    int status;

    for (int i = 0; i < 3; i++)
        if ((child[i] = fork()) == 0) write_many(s->root, prefixes[i], 40);
    for (int i = 0; i < 3; i++) {
        waitpid(child[i], &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "every write and every query succeeded");
    }
    CHECK_INT(count(s, NULL), 120, "all runs of all writers");
}

/* --- care --- */

TEST(test_compaction_keeps_the_newest_and_the_baselines)
{
    state *s = *test_state;
    const cbx_store_keep rule = { .newest = 1 }, dry = { .newest = 1, .dry = true };
    cbx_store_report report;
    cbx_err err = CBX_ERR_INIT;
    recipe r = { "x", 0, "main", "m1", "train", "32", 1.0 };

    for (int i = 1; i <= 4; i++) {
        char id[8];
        snprintf(id, sizeof id, "x%d", i);
        r.id = id;
        r.us = i * 1000000;
        keep_ok(s, &r);
    }
    r = (recipe){ "d1", 500000, "dev", "m1", "train", "32", 1.0 };
    keep_ok(s, &r);
    CHECK_OK(cbx_store_baseline_set(s->store, NULL, "x2", &err), &err, "baseline");
    CHECK_OK(cbx_store_compact(s->store, &dry, &report, &err), &err, "dry");
    CHECK_INT(report.changed, 2, "reports what would be removed");
    cbx_store_report_clear(&report);
    CHECK_INT(count(s, NULL), 5, "and removes nothing");
    CHECK_OK(cbx_store_compact(s->store, &rule, &report, &err), &err, "compact");
    CHECK_INT(report.changed, 2, "x1 and x3");
    cbx_store_report_clear(&report);
    CHECK_INT(count(s, NULL), 3, "x4, the baseline's x2, and dev's only one");
}

TEST(test_export_and_migration)
{
    state *s = *test_state;
    cbx_store_report report;
    cbx_err err = CBX_ERR_INIT;
    cbx_store *copy = NULL;
    cbx_store_list list;
    char root[160];

    for (size_t i = 0; i < sizeof many / sizeof *many; i++) keep_ok(s, &many[i]);
    write_file(s, "config.json", "{\"metric_defs\":{}}");
    write_file(s, "runs/old.json", "{\"id\": \"old\", \"timestamp\": \"2026-01-01T00:00:00+00:00\", \"points\": []}");
    CHECK_OK(cbx_store_migrate(s->store, false, &report, &err), &err, "migrate");
    CHECK_INT(report.changed, 1, "the one without a version");
    cbx_store_report_clear(&report);
    CHECK_OK(cbx_store_migrate(s->store, false, &report, &err), &err, "again");
    CHECK_INT(report.changed, 0, "nothing left to do");
    cbx_store_report_clear(&report);
    snprintf(root, sizeof root, "%s/copy", s->folder);
    CHECK_OK(cbx_store_export(s->store, &(cbx_store_query){ .branch = "dev" }, root, &report, &err), &err, "export");
    CHECK_INT(report.changed, 1, "the one of dev");
    cbx_store_report_clear(&report);
    copy = open_at(s->ctx, root);
    CHECK_OK(cbx_store_query_runs(copy, NULL, &list, &err), &err, "list");
    CHECK(list.count == 1 && strcmp(list.entries[0].id, "r3") == 0, "that one");
    cbx_store_list_clear(&list);
    snprintf(root, sizeof root, "%s/copy/config.json", s->folder);
    CHECK(cbx_path_exists(root), "with the configuration");
    cbx_store_close(copy);
}

/* --- memory --- */

static cbx_status everything(cbx_ctx *ctx, void *user)
{
    cbx_store_opts opts = CBX_STORE_OPTS_INIT;
    cbx_store *store = NULL;
    cbx_store_list list = { 0 };
    cbx_trend trend = { 0 };
    cbx_store_report report = { 0 };
    cbx_run *run = NULL;
    const cbx_tag tag = { "batch", "32" };
    const cbx_store_query q = { .metric = "latency", .tags = &tag, .ntags = 1 };
    cbx_status st;

    opts.create = opts.no_index_file = true;
    st = cbx_store_open(ctx, user, &opts, &store, NULL);
    if (!st) st = keep(store, ctx, &plain, true, NULL);
    if (!st) st = cbx_store_query_runs(store, &q, &list, NULL);
    if (!st) st = cbx_store_trend(store, &q, &trend, NULL);
    if (!st) st = cbx_store_baseline_set(store, NULL, "aaa", NULL);
    if (!st) st = cbx_store_baseline_get(store, NULL, &run, NULL);
    if (!st) st = cbx_store_verify(store, &report, NULL);
    cbx_run_free(run);
    cbx_store_report_clear(&report);
    cbx_trend_clear(&trend);
    cbx_store_list_clear(&list);
    cbx_store_close(store);
    return st;
}

TEST(test_every_allocation_may_fail)
{
    state *s = *test_state;
    CHECK_GT(cbx_test_fail_each(everything, s->root, "a store"), 20, "allocations that were made to fail");
}

TESTS(.seconds = 600, .setup = setup, .teardown = teardown)
