/* Runs: the files of the Python package byte for byte, reading rules, building, sharing,
 * equality, copies. */
#include "check.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/file.h"
#include "calibrax/base/version.h"
#include "calibrax/core/machine.h"
#include "calibrax/core/run.h"
#include "place.h"

typedef cbx_test_place state;

/* A copy under another id. */
static cbx_status with_id(cbx_ctx *ctx, const cbx_run *run, const char *id, cbx_run **out, cbx_err *err)
{
    cbx_run_builder *b = NULL;
    cbx_status st = cbx_run_builder_from(ctx, run, &b, err);

    if (!st) st = cbx_run_builder_set_id(b, id, err);
    if (!st) st = cbx_run_builder_freeze(b, out, err);
    cbx_run_builder_free(b);
    return st;
}

static cbx_status with_point(cbx_ctx *ctx, const cbx_run *run, const cbx_point *point, cbx_run **out, cbx_err *err)
{
    cbx_run_builder *b = NULL;
    cbx_status st = cbx_run_builder_from(ctx, run, &b, err);

    if (!st) st = cbx_run_builder_add_point(b, point, err);
    if (!st) st = cbx_run_builder_freeze(b, out, err);
    cbx_run_builder_free(b);
    return st;
}

static const char *fixture(const char *name) { return cbx_test_source("tests/fixtures/runs/%s", name); }

static const char *path_in(const state *s, const char *name)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/%s", s->folder, name);
    return path;
}

static cbx_status parse(state *s, const char *text, cbx_run **out, cbx_err *err)
{
    cbx_json *v = NULL;
    cbx_status st = cbx_json_parse(text, strlen(text), "text", &v, err);

    if (!st) st = cbx_run_from_json(s->ctx, v, "r", out, err);
    cbx_json_unref(v);
    return st;
}

/* Reads a.json, writes b.json; whether the bytes are the same. */
static bool same_bytes(state *s, const char *a, const char *b)
{
    char *x = NULL, *y = NULL;
    size_t n = 0, m = 0;
    cbx_err err = CBX_ERR_INIT;
    bool same;

    CHECK_OK(cbx_file_read(s->ctx, a, 0, &x, &n, &err), &err, a);
    CHECK_OK(cbx_file_read(s->ctx, b, 0, &y, &m, &err), &err, b);
    same = n == m && memcmp(x, y, n) == 0;
    cbx_mem_free(cbx_ctx_allocator(s->ctx), x, n + 1);
    cbx_mem_free(cbx_ctx_allocator(s->ctx), y, m + 1);
    return same;
}

static cbx_run *read_fixture(state *s, const char *name)
{
    cbx_run *run = NULL;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_run_read(s->ctx, fixture(name), &run, &err), &err, name);
    return run;
}

/* --- the files of the Python package (scripts/fixtures/make_runs.py) --- */

TEST(test_files_of_the_python_package_byte_for_byte)
{
    static const struct {
        const char *name, *why;
    } cases[] = {
        { "full.json", "every member, non-finite numbers, extreme numbers, escapes" },
        { "minimal.json", "no points, a time without a fraction" },
        { "zone.json", "a time with an offset" },
    };
    state *s = *test_state;

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_run *run = read_fixture(s, cases[i].name), *copy = NULL;
        cbx_err err = CBX_ERR_INIT;
        const char *out = path_in(s, "out.json");
        CHECK_OK(cbx_run_write(s->ctx, run, out, &err), &err, cases[i].why);
        CHECK(same_bytes(s, fixture(cases[i].name), out), cases[i].why);
        CHECK_OK(cbx_run_with_metadata(s->ctx, run, "planted", cbx_json_new_bool(true), &copy, &err), &err,
                 "a changed copy");
        CHECK_OK(cbx_run_write(s->ctx, copy, out, &err), &err, "a changed copy");
        cbx_run_free(copy);
        cbx_run_free(run);
    }
    CHECK(!same_bytes(s, fixture("zone.json"), path_in(s, "out.json")), "the comparison sees a change");
}

TEST(test_members_of_a_python_file)
{
    state *s = *test_state;
    cbx_run *run = read_fixture(s, "full.json");
    const cbx_point *p = cbx_run_point(run, 0);
    const cbx_metric *m = cbx_point_metric(p, "latency");
    const cbx_metric_def *def = cbx_run_find_metric_def(run, "latency");

    CHECK_STR(cbx_run_id(run), "abc123def456", "id");
    CHECK_INT(cbx_run_timestamp_us(run), 1771587264346877, "time");
    CHECK_STR(cbx_run_branch(run), "main", "branch");
    CHECK_STR(cbx_json_get_string(cbx_run_environment(run), "machine", ""), "epyc-1", "environment");
    CHECK_STR(cbx_point_tag(p, "batch"), "32", "tag");
    CHECK(cbx_point_tag(p, "none") == NULL && cbx_point_metric(p, "none") == NULL, "what there is not");
    CHECK(m->value == 0.8 && m->lower == 0.78 && m->upper == 0.83 && m->nsamples == 3 && m->samples[1] == 0.8,
          "metric");
    CHECK(isnan(cbx_point_metric(p, "throughput")->lower) && !cbx_point_metric(p, "throughput")->samples,
          "absent bounds and samples");
    CHECK(def->direction == CBX_DIRECTION_LOWER && def->priority == CBX_PRIORITY_PRIMARY, "definition");
    CHECK(!cbx_metric_def_higher_is_better(def), "lower is better");
    CHECK(cbx_metric_def_higher_is_better(NULL), "higher is better where nothing is known");
    CHECK_STR(cbx_run_find_metric_def(run, "note")->name, "anders", "found by its key");
    CHECK(cbx_run_npoints(run) == 3 && cbx_run_nmetric_defs(run) == 3 && !cbx_run_point(run, 3), "counts");
    CHECK_STR(cbx_run_point(run, 1)->name, "backward \u2202 \U0001F600 \"quoted\" \\ / \t\x7f", "escapes");
    cbx_run_free(run);
}

TEST(test_unknown_members_are_kept)
{
    static const char text[] =
        "{\n  \"id\": \"r1\",\n  \"timestamp\": \"2026-02-20T11:34:24+00:00\",\n  \"commit\": null,\n  \"branch\": "
        "null,\n"
        "  \"environment\": {},\n  \"metadata\": {},\n  \"metric_defs\": {\n    \"t\": {\n      \"name\": \"t\",\n     "
        " \"unit\": \"s\",\n"
        "      \"direction\": \"lower\",\n      \"group\": \"\",\n      \"priority\": \"secondary\",\n      "
        "\"description\": \"\",\n"
        "      \"formula\": \"x\"\n    }\n  },\n  \"points\": [\n    {\n      \"name\": \"p\",\n      \"scenario\": "
        "\"s\",\n"
        "      \"tags\": {},\n      \"metrics\": {\n        \"t\": {\n          \"value\": 1.0,\n          \"unit\": "
        "\"s\"\n        }\n"
        "      },\n      \"status\": \"ok\"\n    }\n  ],\n  \"schema_version\": 1,\n  \"signature\": null\n}";
    state *s = *test_state;
    cbx_run *run = NULL, *copy = NULL;
    cbx_err err = CBX_ERR_INIT;
    char wanted[256];

    CHECK_OK(parse(s, text, &run, &err), &err, "unknown members at every level");
    snprintf(wanted, sizeof wanted, "%s", path_in(s, "wanted.json"));
    CHECK_OK(cbx_file_write_atomic(s->ctx, wanted, text, sizeof text - 1, &err), &err, "wanted");
    CHECK_OK(with_id(s->ctx, run, "r2", &copy, &err), &err, "a copy");
    cbx_run_free(run);
    CHECK_OK(with_id(s->ctx, copy, "r1", &run, &err), &err, "and back");
    CHECK_OK(cbx_run_write(s->ctx, run, path_in(s, "out.json"), &err), &err, "write");
    CHECK(same_bytes(s, wanted, path_in(s, "out.json")), "all are there, through copies too");
    cbx_run_free(run);
    cbx_run_free(copy);
}

/* --- what is refused --- */

#define OK_HEAD "\"id\":\"r\",\"timestamp\":\"2026-02-20T11:34:24Z\""

TEST(test_reading_rules)
{
    static const struct {
        const char *text, *message, *why;
    } cases[] = {
        { "[]", "'r': expected an object", "no object" },
        { "{\"timestamp\":\"2026-02-20T11:34:24Z\",\"points\":[]}", "'r': 'id': expected a string, found nothing",
          "no id" },
        { "{\"id\":\"r\",\"points\":[]}", "'r': 'timestamp': expected a string, found nothing", "no time" },
        { "{\"id\":\"r\",\"timestamp\":5,\"points\":[]}", "'r': 'timestamp': expected a string, found an integer",
          "a time in seconds" },
        { "{\"id\":\"r\",\"timestamp\":\"now\",\"points\":[]}", NULL, "no time" },
        { "{\"id\":\"../../evil\",\"timestamp\":\"2026-02-20T11:34:24Z\",\"points\":[]}", NULL, "an id that climbs" },
        { "{\"id\":\"\",\"timestamp\":\"2026-02-20T11:34:24Z\",\"points\":[]}", NULL, "an empty id" },
        { "{" OK_HEAD "}", "'r': 'points': expected an array, found nothing", "no points" },
        { "{" OK_HEAD ",\"points\":{}}", "'r': 'points': expected an array, found an object",
          "points of the wrong type" },
        { "{" OK_HEAD ",\"points\":[7]}", "'r': 'points.0': expected an object", "a point of the wrong type" },
        { "{" OK_HEAD ",\"points\":[{\"name\":\"p\"}]}", "'r': 'points.0.scenario': expected a string, found nothing",
          "no scenario" },
        { "{" OK_HEAD ",\"points\":[{\"name\":\"p\",\"scenario\":\"s\",\"tags\":{\"a\":1}}]}",
          "'r': 'points.0.tags.a': expected a string, found an integer", "a tag that is a number" },
        { "{" OK_HEAD ",\"points\":[{\"name\":\"p\",\"scenario\":\"s\",\"tags\":null}]}",
          "'r': 'points.0.tags': expected an object, found null", "tags that are null" },
        { "{" OK_HEAD
          ",\"points\":[{\"name\":\"p\",\"scenario\":\"s\",\"metrics\":{\"latency\":{\"value\":\"0.8\"}}}]}",
          "'r': 'points.0.metrics.latency.value': expected a number, found a string", "a number in quotes" },
        { "{" OK_HEAD ",\"points\":[{\"name\":\"p\",\"scenario\":\"s\",\"metrics\":{\"latency\":{\"value\":true}}}]}",
          "'r': 'points.0.metrics.latency.value': expected a number, found a boolean", "a boolean is no number" },
        { "{" OK_HEAD ",\"points\":[{\"name\":\"p\",\"scenario\":\"s\",\"metrics\":{\"latency\":{\"lower\":1}}}]}",
          "'r': 'points.0.metrics.latency.value': expected a number, found nothing", "a metric without a value" },
        { "{" OK_HEAD
          ",\"points\":[{\"name\":\"p\",\"scenario\":\"s\",\"metrics\":{\"t\":{\"value\":1,\"samples\":[1,\"2\"]}}}]}",
          "'r': 'points.0.metrics.t.samples.1': expected a number", "a sample in quotes" },
        { "{" OK_HEAD ",\"points\":[],\"metric_defs\":{\"t\":{\"name\":\"t\",\"unit\":\"s\",\"direction\":\"down\"}}}",
          "'r': 'metric_defs.t.direction': 'down' must be 'higher', 'lower' or 'info'", "an unknown direction" },
        { "{" OK_HEAD ",\"points\":[],\"metric_defs\":{\"t\":{\"name\":\"t\",\"unit\":\"s\",\"direction\":\"info\","
          "\"priority\":\"x\"}}}",
          "'r': 'metric_defs.t.priority': 'x' must be 'primary' or 'secondary'", "an unknown priority" },
        { "{" OK_HEAD ",\"points\":[],\"environment\":[]}", "'r': 'environment': expected an object, found an array",
          "environment" },
        { "{" OK_HEAD ",\"points\":[],\"commit\":5}", "'r': 'commit': expected a string, found an integer",
          "a commit that is a number" },
    };
    state *s = *test_state;

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_run *run = NULL;
        cbx_err err = CBX_ERR_INIT;
        CHECK_STATUS(parse(s, cases[i].text, &run, &err), CBX_EFORMAT, cases[i].why);
        CHECK(run == NULL, "out is untouched");
        if (cases[i].message) CHECK_STR(err.message, cases[i].message, cases[i].why);
    }
}

TEST(test_what_is_accepted)
{
    state *s = *test_state;
    cbx_run *run = NULL;
    cbx_err err = CBX_ERR_INIT;
    const cbx_metric *m;

    CHECK_OK(parse(s,
                   "{" OK_HEAD
                   ",\"points\":[{\"name\":\"p\",\"scenario\":\"s\",\"metrics\":{\"t\":{\"value\":1,\"lower\":null,"
                   "\"samples\":null},\"n\":{\"value\":\"NaN\"}}}],\"x\":1}",
                   &run, &err),
             &err, "an integer for a float, nulls for absent ones, words for non-finite ones");
    m = cbx_point_metric(cbx_run_point(run, 0), "t");
    CHECK(m->value == 1.0 && isnan(m->lower) && !m->samples, "metric");
    CHECK(isnan(cbx_point_metric(cbx_run_point(run, 0), "n")->value), "NaN as text");
    CHECK_INT(cbx_run_timestamp_us(run), 1771587264000000, "Z is UTC");
    cbx_run_free(run);
    CHECK_STATUS(cbx_run_read(s->ctx, path_in(s, "none.json"), &run, &err), CBX_ENOENT, "no file");
}

/* --- building --- */

static cbx_status build(cbx_ctx *ctx, const cbx_run_opts *opts, cbx_run **out, cbx_err *err)
{
    static const double samples[] = { 1.0, 2.0, 3.0 };
    static const cbx_tag tags[] = { { "framework", "native" }, { "alg", "log" } };
    cbx_named_metric metrics[] = { { "latency", { 2.0, 1.0, 3.0, samples, 3 } }, { "rate", cbx_metric_of(5.0) } };
    cbx_point point = { "matmul", "cpu", tags, 2, metrics, 2 };
    cbx_metric_def def = { .name = "latency", .unit = "s", .direction = CBX_DIRECTION_LOWER };
    cbx_run_builder *b = NULL;
    cbx_status st = cbx_run_builder_create(ctx, opts, &b, err);

    if (!st) st = cbx_run_builder_set_id(b, "fixed", err);
    if (!st) st = cbx_run_builder_set_timestamp(b, 1771587264000000, err);
    if (!st) st = cbx_run_builder_add_metric_def(b, &def, err);
    if (!st) st = cbx_run_builder_add_point(b, &point, err);
    if (!st) st = cbx_run_builder_set_metadata(b, "note", cbx_json_new_string("x"), err);
    if (!st) st = cbx_run_builder_freeze(b, out, err);
    cbx_run_builder_free(b);
    return st;
}

static const cbx_run_opts bare = { sizeof(cbx_run_opts), NULL, true, true, true };

static cbx_run *built(state *s)
{
    cbx_run *run = NULL;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(build(s->ctx, &bare, &run, &err), &err, "build");
    return run;
}

TEST(test_a_built_run_as_text)
{
    state *s = *test_state;
    cbx_run *run = built(s);
    cbx_json *v = cbx_run_to_json(run);
    cbx_text text;

    cbx_text_init(&text, cbx_ctx_allocator(s->ctx));
    cbx_json_write(v, CBX_JSON_COMPACT, &text);
    CHECK_STR(cbx_text_str(&text),
              "{\"id\":\"fixed\",\"timestamp\":\"2026-02-20T11:34:24+00:00\",\"commit\":null,\"branch\":null,"
              "\"environment\":{},"
              "\"metadata\":{\"note\":\"x\"},\"metric_defs\":{\"latency\":{\"name\":\"latency\",\"unit\":\"s\","
              "\"direction\":\"lower\","
              "\"group\":\"\",\"priority\":\"secondary\",\"description\":\"\"}},\"points\":[{\"name\":\"matmul\","
              "\"scenario\":\"cpu\","
              "\"tags\":{\"framework\":\"native\",\"alg\":\"log\"},\"metrics\":{\"latency\":{\"value\":2.0,\"lower\":1."
              "0,\"upper\":3.0,"
              "\"samples\":[1.0,2.0,3.0]},\"rate\":{\"value\":5.0}}}],\"schema_version\":1}",
              "order of keys as in the Python package, the version behind them");
    cbx_text_clear(&text);
    cbx_json_unref(v);
    cbx_run_free(run);
}

TEST(test_a_new_run_knows_where_it_comes_from)
{
    state *s = *test_state;
    cbx_run_builder *b = NULL;
    cbx_run *run = NULL, *other = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_machine m;
    int64_t before = cbx_time_now_us();

    CHECK_OK(cbx_run_builder_create(s->ctx, NULL, &b, &err), &err, "defaults");
    CHECK_OK(cbx_run_builder_freeze(b, &run, &err), &err, "freeze");
    CHECK_STATUS(cbx_run_builder_freeze(b, &other, &err), CBX_EINVAL, "only once");
    CHECK_STATUS(cbx_run_builder_set_id(b, "x", &err), CBX_EINVAL, "nothing is set after it");
    cbx_run_builder_free(b);
    CHECK_INT(strspn(cbx_run_id(run), "0123456789abcdef"), 12, "12 hex digits");
    CHECK_INT(strlen(cbx_run_id(run)), 12, "and no more");
    CHECK(cbx_run_timestamp_us(run) >= before && cbx_run_timestamp_us(run) <= cbx_time_now_us(), "the time is now");
    CHECK_OK(cbx_machine_read(s->ctx, NULL, &m, &err), &err, "machine");
    CHECK_STR(cbx_json_get_string(cbx_run_environment(run), "machine", ""), m.id, "fingerprint");
    CHECK(cbx_json_get_int(cbx_json_get(cbx_run_environment(run), "hardware"), "cores", 0) >= 1, "hardware");
    CHECK_STR(cbx_json_get_string(cbx_json_get(cbx_run_environment(run), "versions"), "calibrax", ""), CBX_VERSION,
              "versions");
    CHECK_OK(cbx_run_builder_create(s->ctx, NULL, &b, &err), &err, "another one");
    CHECK_OK(cbx_run_builder_freeze(b, &other, &err), &err, "freeze");
    cbx_run_builder_free(b);
    CHECK(strcmp(cbx_run_id(run), cbx_run_id(other)) != 0, "ids differ");
    cbx_run_free(run);
    cbx_run_free(other);
}

TEST(test_capture_can_be_switched_off_or_overridden)
{
    state *s = *test_state;
    cbx_run_builder *b = NULL;
    cbx_run *run = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_run_opts old = CBX_RUN_OPTS_INIT;

    CHECK_OK(cbx_run_builder_create(s->ctx, &bare, &b, &err), &err, "everything off");
    CHECK_OK(cbx_run_builder_set_commit(b, "abc", "topic", &err), &err, "set");
    CHECK_OK(cbx_run_builder_set_environment(b, "machine", cbx_json_new_string("lab-7"), &err), &err, "set");
    CHECK_OK(cbx_run_builder_freeze(b, &run, &err), &err, "freeze");
    cbx_run_builder_free(b);
    CHECK_STR(cbx_run_commit(run), "abc", "commit");
    CHECK_INT(cbx_json_length(cbx_run_environment(run)), 1, "only what was set");
    cbx_run_free(run);
    old.struct_size = sizeof old + 4;
    CHECK_STATUS(cbx_run_builder_create(s->ctx, &old, &b, &err), CBX_EINVAL, "options of another version");
}

TEST(test_commit_of_a_work_tree)
{
    state *s = *test_state;
    cbx_run_opts opts = { sizeof opts, NULL, false, true, true };
    cbx_run_builder *b = NULL;
    cbx_run *run = NULL;
    cbx_err err = CBX_ERR_INIT;
    char command[512];

    snprintf(command, sizeof command,
             "cd '%s' && git init -q -b topic . && git -c user.name=n -c user.email=e@x commit -q --allow-empty -m m "
             "2>/dev/null",
             s->folder);
    CHECK_INT(system(command), 0, command);
    opts.work_tree = s->folder;
    CHECK_OK(cbx_run_builder_create(s->ctx, &opts, &b, &err), &err, "a work tree");
    CHECK_OK(cbx_run_builder_freeze(b, &run, &err), &err, "freeze");
    cbx_run_builder_free(b);
    if (cbx_run_commit(run)) { /* without libgit2 nothing is known */
        CHECK_INT(strspn(cbx_run_commit(run), "0123456789abcdef"), 40, "full hash");
        CHECK_STR(cbx_run_branch(run), "topic", "branch");
        CHECK(!cbx_json_get_bool(cbx_run_environment(run), "dirty", true), "clean");
    }
    cbx_run_free(run);
}

static cbx_json *nested(int depth)
{
    cbx_json *v = cbx_json_new_array();

    for (int i = 1; i < depth; i++) {
        cbx_json *outer = cbx_json_new_array();
        cbx_json_push(outer, v);
        v = outer;
    }
    return v;
}

TEST(test_setters_refuse)
{
    static const char *const ids[] = { "",
                                       "../../evil",
                                       "a/b",
                                       ".hidden",
                                       "a\nb",
                                       "\xc2\x9b"
                                       "31m",
                                       "\x7f",
                                       NULL };
    static const cbx_tag twice[] = { { "a", "1" }, { "a", "2" } };
    state *s = *test_state;
    cbx_named_metric same[] = { { "t", cbx_metric_of(1) }, { "t", cbx_metric_of(2) } };
    cbx_metric_def def = { .name = "t", .unit = "s", .direction = (cbx_direction)9 };
    cbx_point no_name = { .scenario = "s" }, bad_text = { .name = "\xff", .scenario = "s" };
    cbx_point tags = { "p", "s", twice, 2, NULL, 0 }, metrics = { "p", "s", NULL, 0, same, 2 };
    cbx_run_builder *b = NULL;
    cbx_run *run = NULL;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_run_builder_create(s->ctx, &bare, &b, &err), &err, "builder");
    for (size_t i = 0; i < CBX_LEN(ids); i++)
        CHECK_STATUS(cbx_run_builder_set_id(b, ids[i], &err), CBX_EINVAL, "an unsafe id");
    CHECK_STATUS(cbx_run_builder_add_point(b, &no_name, &err), CBX_EINVAL, "no name");
    CHECK_STATUS(cbx_run_builder_add_point(b, &bad_text, &err), CBX_EINVAL, "not UTF-8");
    CHECK_STATUS(cbx_run_builder_add_point(b, &tags, &err), CBX_EINVAL, "a tag twice");
    CHECK_STR(err.message, "tag 'a' is listed twice", "it is named");
    CHECK_STATUS(cbx_run_builder_add_point(b, &metrics, &err), CBX_EINVAL, "a metric twice");
    CHECK_STATUS(cbx_run_builder_add_metric_def(b, &def, &err), CBX_EINVAL, "no such direction");
    CHECK_STATUS(cbx_run_builder_set_metadata(b, "deep", nested(60), &err), CBX_EINVAL, "nested too deeply");
    CHECK_STATUS(cbx_run_builder_set_metadata(b, "x", cbx_json_new_string("\xc0\xaf"), &err), CBX_EINVAL,
                 "an overlong form");
    CHECK(strstr(err.message, "metadata.x"), "its path is named");
    CHECK_STATUS(cbx_run_builder_set_metadata(b, "null", NULL, &err), CBX_ENOMEM, "a creator that failed");
    CHECK_OK(cbx_run_builder_set_metadata(b, "deep", nested(40), &err), &err, "not so deep");
    CHECK_OK(cbx_run_builder_freeze(b, &run, &err), &err, "freeze");
    CHECK_INT(cbx_run_npoints(run) + cbx_run_nmetric_defs(run), 0, "nothing of it was taken");
    CHECK_INT(cbx_json_length(cbx_run_metadata(run)), 1, "but the good one");
    CHECK_OK(cbx_run_write(s->ctx, run, path_in(s, "deep.json"), &err), &err, "write");
    cbx_run_free(run);
    CHECK_OK(cbx_run_read(s->ctx, path_in(s, "deep.json"), &run, &err), &err, "what is accepted can be read back");
    cbx_run_free(run);
    cbx_run_builder_free(b);
}

TEST(test_a_definition_is_replaced_in_its_place)
{
    state *s = *test_state;
    cbx_metric_def a = { .name = "a", .unit = "s" }, c = { .name = "c", .unit = "s" },
                   again = { .name = "a", .unit = "ms" };
    cbx_run_builder *b = NULL;
    cbx_run *run = NULL;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_run_builder_create(s->ctx, &bare, &b, &err), &err, "builder");
    CHECK_OK(cbx_run_builder_add_metric_def(b, &a, &err), &err, "a");
    CHECK_OK(cbx_run_builder_add_metric_def(b, &c, &err), &err, "c");
    CHECK_OK(cbx_run_builder_add_metric_def(b, &again, &err), &err, "a again");
    CHECK_OK(cbx_run_builder_freeze(b, &run, &err), &err, "freeze");
    CHECK_INT(cbx_run_nmetric_defs(run), 2, "two");
    CHECK_STR(cbx_run_metric_def(run, 0)->unit, "ms", "in its place");
    cbx_run_free(run);
    cbx_run_builder_free(b);
}

/* --- equality --- */

static bool equal(const cbx_run *a, const cbx_run *b)
{
    char ha[CBX_HASH_SIZE], hb[CBX_HASH_SIZE];
    bool same = false;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_run_equal(a, b, &same, &err), &err, "equal");
    CHECK_OK(cbx_run_hash(a, ha, &err), &err, "hash");
    CHECK_OK(cbx_run_hash(b, hb, &err), &err, "hash");
    CHECK((strcmp(ha, hb) == 0) == same, "hashes agree with equality");
    return same;
}

TEST(test_equality_and_hash)
{
#define POINTS                                                                                                         \
    ",\"points\":[{\"name\":\"p\",\"scenario\":\"s\",\"tags\":{\"a\":\"1\",\"b\":\"2\"},\"metrics\":{\"t\":{"          \
    "\"value\":1.0}}},{\"name\":\"q\",\"scenario\":\"s\"}]}"
    static const struct {
        const char *text;
        bool same;
        const char *why;
    } cases[] = {
        { "{" OK_HEAD ",\"metadata\":{\"n\":1}" POINTS, true, "the same text" },
        { "{\"timestamp\":\"2026-02-20T11:34:24Z\",\"id\":\"r\",\"metadata\":{\"n\":1}" POINTS, true,
          "keys in another order" },
        { "{\"id\":\"r\",\"timestamp\":\"2026-02-20T17:04:24+05:30\",\"metadata\":{\"n\":1}" POINTS, true,
          "the same instant elsewhere" },
        { "{" OK_HEAD ",\"metadata\":{\"n\":1.0}" POINTS, false, "a float is no integer" },
        { "{" OK_HEAD ",\"metadata\":{\"n\":1},\"x\":0" POINTS, false, "an unknown member" },
        { "{" OK_HEAD ",\"metadata\":{\"n\":1},\"points\":[]}", false, "no points" },
        { "{\"id\":\"r2\",\"timestamp\":\"2026-02-20T11:34:24Z\",\"metadata\":{\"n\":1}" POINTS, false, "another id" },
        { "{\"id\":\"r\",\"timestamp\":\"2026-02-20T11:34:24.000001Z\",\"metadata\":{\"n\":1}" POINTS, false,
          "a microsecond later" },
    };
    state *s = *test_state;
    cbx_run *first = NULL;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(parse(s, cases[0].text, &first, &err), &err, "first");
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_run *run = NULL;
        CHECK_OK(parse(s, cases[i].text, &run, &err), &err, cases[i].why);
        CHECK(equal(first, run) == cases[i].same, cases[i].why);
        cbx_run_free(run);
    }
    CHECK(equal(first, first), "itself");
    cbx_run_free(first);
}

TEST(test_changed_copies)
{
    state *s = *test_state;
    cbx_run *run = built(s), *copy = NULL, *back = NULL;
    cbx_point point = { .name = "more", .scenario = "cpu" };
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(with_point(s->ctx, run, &point, &copy, &err), &err, "one point more");
    CHECK(cbx_run_npoints(copy) == 2 && cbx_run_npoints(run) == 1, "only in the copy");
    CHECK(!equal(run, copy), "another run");
    cbx_run_free(copy);
    CHECK_OK(with_id(s->ctx, run, "other", &copy, &err), &err, "another id");
    CHECK_OK(with_id(s->ctx, copy, "fixed", &back, &err), &err, "and back");
    CHECK(equal(run, back), "the same again");
    cbx_run_free(back);
    back = NULL;
    CHECK_STATUS(with_id(s->ctx, run, "../x", &back, &err), CBX_EINVAL, "an unsafe id");
    CHECK(back == NULL, "out is untouched");
    cbx_run_free(copy);
    cbx_run_free(run);
}

/* --- sharing --- */

typedef struct shared {
    cbx_run *run;
    char hash[CBX_HASH_SIZE];
    bool good;
} shared;

/* Reads, copies and gives back its reference, in a context of its own. */
static void *share_it(void *user)
{
    shared *sh = user;
    cbx_ctx *ctx = NULL;
    bool good = cbx_ctx_create(NULL, &ctx, NULL) == CBX_OK;

    for (int i = 0; good && i < 50; i++) {
        cbx_run *mine = cbx_run_ref(sh->run), *copy = NULL;
        char hash[CBX_HASH_SIZE];
        bool same = false;
        good = cbx_point_metric(cbx_run_point(mine, 0), "latency")->value == 2.0 &&
               cbx_run_hash(mine, hash, NULL) == CBX_OK && strcmp(hash, sh->hash) == 0 &&
               with_id(ctx, mine, "fixed", &copy, NULL) == CBX_OK && cbx_run_equal(copy, mine, &same, NULL) == CBX_OK &&
               same;
        cbx_run_free(copy);
        cbx_run_free(mine);
    }
    cbx_run_free(sh->run);
    cbx_ctx_free(ctx);
    sh->good = good;
    return NULL;
}

TEST(test_threads_share_a_frozen_run)
{
    state *s = *test_state;
    cbx_run *run = built(s);
    pthread_t threads[4];
    shared args[4];

    for (size_t i = 0; i < 4; i++) {
        args[i].run = cbx_run_ref(run);
        CHECK_OK(cbx_run_hash(run, args[i].hash, NULL), (&(cbx_err){ 0 }), "hash");
        CHECK_INT(pthread_create(&threads[i], NULL, share_it, &args[i]), 0, "thread");
    }
    cbx_run_free(run); /* the last thread frees it */
    for (size_t i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK(args[i].good, "every thread read the same");
    }
}

TEST(test_a_run_outlives_its_context)
{
    state *s = *test_state;
    cbx_ctx *ctx = cbx_test_context();
    cbx_run *run = NULL;
    cbx_err err = CBX_ERR_INIT;

    (void)s;
    CHECK_OK(build(ctx, &bare, &run, &err), &err, "build");
    cbx_ctx_free(ctx);
    CHECK_STR(cbx_run_id(run), "fixed", "it carries its allocator");
    cbx_run_free(run);
}

/* --- memory --- */

/* More than are searched one after the other; the second time each is replaced. */
static cbx_status add_many_definitions(cbx_run_builder *b, cbx_err *err)
{
    cbx_status st = CBX_OK;
    char name[32];

    for (size_t i = 0; i < 80 && !st; i++) {
        const cbx_metric_def def = { .name = name, .unit = "s", .direction = CBX_DIRECTION_LOWER };
        snprintf(name, sizeof name, "made %zu", i % 40);
        st = cbx_run_builder_add_metric_def(b, &def, err);
    }
    return st;
}

static cbx_status build_and_copy(cbx_ctx *ctx, void *user)
{
    const char *folder = user;
    char path[128];
    cbx_run *run = NULL, *copy = NULL, *back = NULL, *present = NULL, *many = NULL, *defs = NULL;
    cbx_run_builder *b = NULL;
    cbx_err err = CBX_ERR_INIT;
    bool same = false;
    cbx_status st = build(ctx, &bare, &run, &err);

    snprintf(path, sizeof path, "%s/run.json", folder);
    if (!st) st = cbx_run_with_metadata(ctx, run, "k", cbx_json_new_int(1), &copy, &err);
    if (!st) st = cbx_run_write(ctx, copy, path, &err);
    if (!st) st = cbx_run_read(ctx, path, &back, &err);
    if (!st) st = cbx_run_equal(copy, back, &same, &err);
    if (!st && !same) fail_msg("what is read back is what was written");
    if (!st) st = cbx_run_with_present_schema(ctx, back, &present, &err);
    if (!st) st = cbx_run_builder_from(ctx, back, &b, &err);
    if (!st) st = add_many_definitions(b, &err);
    if (!st) st = cbx_run_builder_freeze(b, &many, &err);
    if (!st) CHECK(cbx_run_find_metric_def(many, "made 30") && !cbx_run_find_metric_def(many, "made 60"), "found");
    if (!st) st = cbx_run_defs_read(ctx, path, &defs, &err);
    cbx_run_builder_free(b);
    cbx_run_free(present);
    cbx_run_free(many);
    cbx_run_free(defs);
    cbx_run_free(run);
    cbx_run_free(copy);
    cbx_run_free(back);
    return st;
}

TEST(test_every_allocation_may_fail)
{
    state *s = *test_state;

    CHECK_GT(cbx_test_fail_each(build_and_copy, s->folder, "build, copy, write, read"), 20,
             "allocations were made to fail");
}

/* --- the Python package reads ours --- */

TEST(test_the_python_package_reads_our_file)
{
    static const char script[] =
        "import json,sys; from calibrax.core.models import Run; r=Run.from_dict(json.load(open(sys.argv[1])));"
        "m=r.points[0].metrics['latency'];"
        "sys.exit(not (len(r.id)==12 and m.samples==(1.0,2.0,3.0) and m.lower==1.0 and "
        "r.metric_defs['latency'].direction=='lower'"
        " and 'machine' in r.environment and r.points[0].tags=={'framework':'native','alg':'log'}))";
    state *s = *test_state;
    const char *python = getenv("CALIBRAX_PYTHON");
    cbx_run *run = NULL, *named = NULL;
    cbx_err err = CBX_ERR_INIT;
    char command[2048];

    if (!python) {
        SKIP("rival: CALIBRAX_PYTHON does not name an interpreter with the package calibrax "
             "(scripts/fixtures/make_runs.py)");
    }
    CHECK_OK(build(s->ctx, NULL, &run, &err), &err, "a run with all it finds out");
    CHECK_OK(with_id(s->ctx, run, "0123456789ab", &named, &err), &err, "12 characters");
    CHECK_OK(cbx_run_write(s->ctx, named, path_in(s, "run.json"), &err), &err, "write");
    snprintf(command, sizeof command, "'%s' -c \"%s\" '%s'", python, script, path_in(s, "run.json"));
    CHECK_INT(system(command), 0, "Run.from_dict reads it");
    cbx_run_free(named);
    cbx_run_free(run);
}

TESTS(.setup = cbx_test_place_open, .teardown = cbx_test_place_close)
