/* What pages of a store ask for: a part of the series, names to choose from, the state of the
 * folder, one look for many queries. */
#include "check.h"

#include <stdio.h>

#include "calibrax/base/file.h"
#include "calibrax/storage/store.h"
#include "place.h"

typedef struct recipe {
    const char *id, *scenario, *batch;
} recipe;

static const recipe many[] = {
    { "r1", "train", "32" }, { "r2", "train", "64" }, { "r3", "eval", "32" }, { "r4", "train", "32" }
};

typedef struct place {
    cbx_test_place *at;
    cbx_store *store;
} place;

static place enter(void **state)
{
    cbx_store_opts opts = CBX_STORE_OPTS_INIT;
    place p = { .at = *state };
    cbx_err err = CBX_ERR_INIT;

    opts.create = true;
    CHECK_OK(cbx_store_open(p.at->ctx, p.at->folder, &opts, &p.store, &err), &err, "open");
    return p;
}

/* As another process writes it. */
static void keep(place *p, const recipe *r)
{
    char text[512];

    snprintf(text, sizeof text,
             "{\"id\": \"%s\", \"timestamp\": \"2026-01-01T00:00:00+00:00\", \"points\": [{\"name\": \"forward\", "
             "\"scenario\": "
             "\"%s\", \"tags\": {\"batch\": \"%s\"}, \"metrics\": {\"latency\": {\"value\": 1}, \"loss\": {\"value\": "
             "2}}}]}",
             r->id, r->scenario, r->batch);
    cbx_test_put(text, "%s/runs/%s.json", p->at->folder, r->id);
}

static size_t runs_of(place *p)
{
    cbx_store_list list;
    cbx_err err = CBX_ERR_INIT;
    size_t n;

    CHECK_OK(cbx_store_query_runs(p->store, NULL, &list, &err), &err, "runs");
    n = list.count;
    cbx_store_list_clear(&list);
    return n;
}

TEST(test_parts_of_the_series)
{
    place p = enter(test_state);
    const cbx_store_query all = { 0 }, latency = { .metric = "latency" };
    const char *const *names;
    cbx_arena arena;
    size_t n = 0, seen = 0;
    cbx_trend whole, part;
    cbx_err err = CBX_ERR_INIT;

    for (size_t i = 0; i < CBX_LEN(many); i++) keep(&p, &many[i]);
    CHECK_OK(cbx_store_count_series(p.store, &all, &n, &err), &err, "all");
    CHECK_INT(n, 6, "three configurations of two metrics");
    CHECK_OK(cbx_store_count_series(p.store, &latency, &n, &err), &err, "one metric");
    CHECK_INT(n, 3, "three");
    CHECK_OK(cbx_store_trend(p.store, &all, &whole, &err), &err, "trend");
    for (size_t first = 0; first < 7; first += 2) {
        const cbx_store_query q = { .series_first = first, .series_limit = first == 4 ? 0 : 2 };
        CHECK_OK(cbx_store_trend(p.store, &q, &part, &err), &err, "a part");
        CHECK_INT(part.count, first < 6 ? 2 : 0, "as many as asked for");
        for (size_t i = 0; i < part.count; i++, seen++) {
            CHECK_STR(part.series[i].metric, whole.series[first + i].metric, "the same series");
            CHECK_STR(part.series[i].scenario, whole.series[first + i].scenario, "in the same order");
        }
        cbx_trend_clear(&part);
    }
    CHECK_INT(seen, 6, "all of them");
    cbx_trend_clear(&whole);
    cbx_arena_init(&arena, cbx_ctx_allocator(p.at->ctx));
    CHECK_OK(cbx_store_metric_names(p.store, 10, &arena, &names, &n, &err), &err, "metrics");
    CHECK(n == 2 && !strcmp(names[0], "latency") && !strcmp(names[1], "loss"), "sorted");
    CHECK_OK(cbx_store_metric_names(p.store, 1, &arena, &names, &n, &err), &err, "one");
    CHECK_INT(n, 1, "limit");
    CHECK_OK(cbx_store_point_names(p.store, 10, &arena, &names, &n, &err), &err, "points");
    CHECK(n == 1 && !strcmp(names[0], "forward"), "one point");
    cbx_arena_clear(&arena);
    cbx_store_close(p.store);
}

TEST(test_the_state_changes_with_every_file)
{
    place p = enter(test_state);
    char seen[5][CBX_HASH_SIZE];
    const char *const files[] = { "config.json", "mine/20260101T000000.000000+0000__nosha.jsonl", "baselines/x.json" };
    cbx_err err = CBX_ERR_INIT;
    bool there = true;

    CHECK_OK(cbx_store_state(p.store, seen[0], &err), &err, "empty");
    keep(&p, &many[0]);
    CHECK_OK(cbx_store_state(p.store, seen[1], &err), &err, "a run");
    for (size_t i = 0; i < 3; i++) {
        cbx_test_put("{}", "%s/%s", p.at->folder, files[i]);
        CHECK_OK(cbx_store_state(p.store, i + 2 < 5 ? seen[i + 2] : seen[4], &err), &err, files[i]);
    }
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 0; k < i; k++) CHECK(strcmp(seen[i], seen[k]) != 0, "each is another state");
    CHECK_OK(cbx_store_state(p.store, seen[0], &err), &err, "again");
    CHECK_STR(seen[0], seen[4], "nothing changed");
    CHECK_OK(cbx_store_has_run(p.store, "r1", &there, &err), &err, "a run");
    CHECK(there, "it is listed");
    CHECK_OK(cbx_store_has_run(p.store, "r", &there, &err), &err, "the beginning of an id");
    CHECK(!there, "is no id");
    cbx_store_close(p.store);
}

TEST(test_a_held_store_answers_from_one_look)
{
    place p = enter(test_state);

    cbx_store_hold(p.store, true);
    CHECK_INT(runs_of(&p), 0, "the first query looks");
    keep(&p, &many[0]);
    CHECK_INT(runs_of(&p), 0, "as it was");
    cbx_store_hold(p.store, false);
    CHECK_INT(runs_of(&p), 1, "as it is");
    cbx_store_close(p.store);
}

TESTS(.setup = cbx_test_place_open, .teardown = cbx_test_place_close)
