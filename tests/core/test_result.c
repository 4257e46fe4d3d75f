/* Results: the files of the Python package, reading rules, the way to a run. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/core/result.h"
#include "place.h"

typedef cbx_test_place state;

static const char *fixture(const char *name) { return cbx_test_source("tests/fixtures/runs/%s", name); }

/* A result as it is read from a file, with what it lives on. */
typedef struct kept {
    cbx_json *json;
    cbx_arena arena;
    cbx_result result;
} kept;

static cbx_status read_text(cbx_ctx *ctx, const char *text, kept *k, cbx_err *err)
{
    cbx_status st = cbx_json_parse(text, strlen(text), "text", &k->json, err);

    cbx_arena_init(&k->arena, cbx_ctx_allocator(ctx));
    return st ? st : cbx_result_from_json(k->json, "r", &k->arena, &k->result, err);
}

static cbx_status read_file(cbx_ctx *ctx, const char *path, kept *k, cbx_err *err)
{
    cbx_status st = cbx_json_read(ctx, path, &k->json, err);

    cbx_arena_init(&k->arena, cbx_ctx_allocator(ctx));
    return st ? st : cbx_result_from_json(k->json, path, &k->arena, &k->result, err);
}

static void forget(kept *k)
{
    cbx_json_unref(k->json);
    cbx_arena_clear(&k->arena);
}

TEST(test_members)
{
    state *s = *test_state;
    kept k = { 0 };
    cbx_err err = CBX_ERR_INIT;
    const cbx_result *c = &k.result;

    CHECK_OK(read_file(s->ctx, fixture("result.json"), &k, &err), &err, "read");
    CHECK(c->timing->nbatch_times == 3 && c->timing->per_batch_times[2] == 0.75 &&
              c->timing->warmup_batches_excluded == 1,
          "timing");
    CHECK(c->timing->compilation_time_sec == 0.75, "compilation");
    CHECK(isnan(c->resources->peak_gpu_mem_mb) && c->resources->mean_gpu_power_w == 55.0, "resources");
    CHECK(c->timestamp == 1771587264.346877, "time");
    CHECK_INT(cbx_json_get_int(c->config, "batch", 0), 32, "config");
    forget(&k);
    k = (kept){ 0 };
    CHECK_OK(read_file(s->ctx, fixture("result-bare.json"), &k, &err), &err, "one without timing and resources");
    CHECK(!c->timing && !c->resources, "they are missing");
    forget(&k);
}

TEST(test_reading_rules)
{
    static const struct {
        const char *text, *message, *why;
    } cases[] = {
        { "5", "'r': expected an object", "no object" },
        { "{\"timestamp\":1}", "'r': 'name': expected a string, found nothing", "no name" },
        { "{\"name\":\"n\"}", "'r': 'timestamp': expected a number, found nothing", "no time" },
        { "{\"name\":\"n\",\"timestamp\":1,\"timing\":{\"wall_clock_sec\":\"1\"}}",
          "'r': 'timing.wall_clock_sec': expected a number, found a string", "a number in quotes" },
        { "{\"name\":\"n\",\"timestamp\":1,\"timing\":{\"wall_clock_sec\":1,\"per_batch_times\":[1],\"first_batch_"
          "time\":1,\"num_batches\":-1}}",
          "'r': 'timing.num_batches': expected a count, found -1", "a negative count" },
        { "{\"name\":\"n\",\"timestamp\":1,\"timing\":{\"wall_clock_sec\":1}}",
          "'r': 'timing.per_batch_times': expected an array, found nothing", "no batches" },
        { "{\"name\":\"n\",\"timestamp\":1,\"resources\":{}}",
          "'r': 'resources.peak_rss_mb': expected a number, found nothing", "resources" },
        { "{\"name\":\"n\",\"timestamp\":1,\"config\":[]}", "'r': 'config': expected an object, found an array",
          "config" },
    };
    state *s = *test_state;

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        kept k = { 0 };
        cbx_err err = CBX_ERR_INIT;
        CHECK_STATUS(read_text(s->ctx, cases[i].text, &k, &err), CBX_EFORMAT, cases[i].why);
        CHECK_STR(err.message, cases[i].message, cases[i].why);
        CHECK(k.result.name == NULL, "out is untouched");
        forget(&k);
    }
}

/* --- to a run --- */

static const cbx_run_opts bare = { sizeof(cbx_run_opts), NULL, true, true, true };

static cbx_status convert(cbx_ctx *ctx, const char *path, cbx_run **out, cbx_err *err)
{
    cbx_run_builder *b = NULL;
    kept k = { 0 };
    cbx_status st = read_file(ctx, path, &k, err);

    if (!st) st = cbx_run_builder_create(ctx, &bare, &b, err);
    if (!st) st = cbx_run_builder_add_result(b, &k.result, err);
    if (!st) st = cbx_run_builder_add_result(b, &k.result, err);
    if (!st) st = cbx_run_builder_freeze(b, out, err);
    if (!st && cbx_run_builder_add_result(b, &k.result, err) != CBX_EINVAL)
        fail_msg("nothing is added to a frozen run");
    cbx_run_builder_free(b);
    forget(&k);
    return st;
}

TEST(test_refused_results_leave_the_run_as_it_was)
{
    static const cbx_tag tags[] = { { "a", "1" }, { "a", "2" } };
    state *s = *test_state;
    cbx_json *list = cbx_json_new_array();
    const cbx_timing_sample timing = { .wall_clock_sec = 1.0 };
    const struct {
        cbx_result result;
        const char *why;
    } cases[] = {
        { { .timing = &timing }, "no name" },
        { { .name = "n", .timing = &timing, .metadata = list }, "metadata that is no object" },
        { { .name = "n", .timing = &timing, .config = list }, "config that is no object" },
        { { .name = "n", .timing = &timing, .tags = tags, .ntags = 2 }, "a tag twice" },
        { { .name = "\xff", .timing = &timing }, "text that is not UTF-8" },
    };
    cbx_run_builder *b = NULL;
    cbx_run *run = NULL;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_run_builder_create(s->ctx, &bare, &b, &err), &err, "builder");
    for (size_t i = 0; i < CBX_LEN(cases); i++)
        CHECK_STATUS(cbx_run_builder_add_result(b, &cases[i].result, &err), CBX_EINVAL, cases[i].why);
    CHECK_OK(cbx_run_builder_freeze(b, &run, &err), &err, "freeze");
    CHECK_INT(cbx_run_npoints(run), 0, "no point");
    CHECK_INT(cbx_run_nmetric_defs(run), 0, "no definition");
    CHECK_INT(cbx_json_length(cbx_run_metadata(run)), 0, "no metadata");
    cbx_run_free(run);
    cbx_run_builder_free(b);
    cbx_json_unref(list);
}

TEST(test_results_become_a_run)
{
    static const struct {
        const char *name;
        double value;
        const char *why;
    } metrics[] = {
        { "accuracy", 0.9, "its own" },         { "batch_time", 0.5, "median of 0.5, 0.25, 0.75" },
        { "wall_clock", 2.5, "timing" },        { "first_batch_time", 1.0, "timing" },
        { "compilation_time", 0.75, "timing" }, { "peak_rss", 100.5, "resources" },
        { "memory_growth", 1.5, "resources" },  { "mean_gpu_power", 55.0, "resources" },
    };
    state *s = *test_state;
    cbx_run *run = NULL;
    cbx_err err = CBX_ERR_INIT;
    const cbx_point *p;
    const cbx_json *entry;

    CHECK_OK(convert(s->ctx, fixture("result.json"), &run, &err), &err, "convert");
    CHECK_INT(cbx_run_npoints(run), 2, "a point a result");
    p = cbx_run_point(run, 1);
    CHECK_STR(p->name, "resnet", "name");
    CHECK_STR(p->scenario, "vision", "domain");
    CHECK_STR(cbx_point_tag(p, "framework"), "flax", "tags");
    CHECK_INT(p->nmetrics, CBX_LEN(metrics), "what was not measured is left out");
    for (size_t i = 0; i < CBX_LEN(metrics); i++) {
        const cbx_metric *m = cbx_point_metric(p, metrics[i].name);
        CHECK(m && m->value == metrics[i].value, metrics[i].name);
        CHECK(i == 0 || cbx_run_find_metric_def(run, metrics[i].name), "what was derived is defined");
    }
    CHECK_INT(cbx_point_metric(p, "batch_time")->nsamples, 3, "batches are samples, in their order");
    CHECK(cbx_point_metric(p, "batch_time")->samples[1] == 0.25, "in their order");
    CHECK_INT(cbx_json_length(cbx_json_get(cbx_run_metadata(run), "results")), 2, "an entry a result");
    entry = cbx_json_at(cbx_json_get(cbx_run_metadata(run), "results"), 1);
    CHECK_INT(cbx_json_get_int(cbx_json_get(entry, "config"), "batch", 0), 32, "config is kept");
    cbx_run_free(run);
}

TEST(test_a_metric_of_its_own_wins)
{
    static const double times[] = { 4.0, 1.0, 3.0, 2.0 };
    state *s = *test_state;
    cbx_named_metric own[] = { { "wall_clock", cbx_metric_of(99.0) } };
    cbx_timing_sample timing = {
        .wall_clock_sec = 1.0, .per_batch_times = times, .nbatch_times = 4, .compilation_time_sec = NAN
    };
    cbx_result result = { .name = "n", .timing = &timing, .metrics = own, .nmetrics = 1 };
    cbx_run_builder *b = NULL;
    cbx_run *run = NULL;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_run_builder_create(s->ctx, &bare, &b, &err), &err, "builder");
    CHECK_OK(cbx_run_builder_add_result(b, &result, &err), &err, "add");
    CHECK_OK(cbx_run_builder_freeze(b, &run, &err), &err, "freeze");
    CHECK(cbx_point_metric(cbx_run_point(run, 0), "wall_clock")->value == 99.0, "the result's own");
    CHECK(cbx_point_metric(cbx_run_point(run, 0), "batch_time")->value == 2.5, "median of an even number");
    CHECK(!cbx_point_metric(cbx_run_point(run, 0), "compilation_time"), "not measured");
    cbx_run_free(run);
    cbx_run_builder_free(b);
}

static cbx_status convert_it(cbx_ctx *ctx, void *user)
{
    cbx_run *run = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = convert(ctx, user, &run, &err);

    cbx_run_free(run);
    return st;
}

TEST(test_every_allocation_may_fail)
{
    CHECK_GT(cbx_test_fail_each(convert_it, (void *)(uintptr_t)fixture("result.json"), "read and convert"), 5,
             "allocations were made to fail");
}

TESTS(.setup = cbx_test_place_open, .teardown = cbx_test_place_close)
