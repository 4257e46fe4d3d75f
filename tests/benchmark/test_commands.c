/* Files of commands: all members, what is refused and how it is named, cut at each byte. */
#include "check.h"

#include <stdio.h>

#include "calibrax/base/file.h"
#include "calibrax/perf/case/source.h"
#include "fail_alloc.h"

static const char whole[] =
    "{\"schema\": \"calibrax-benchmarks\", \"version\": 1, \"benchmarks\": [\n"
    " {\"name\": \"sort\", \"domain\": \"cli\", \"command\": [\"./sort\", \"-n\", \"1000\"], \"setup\": \"make -s\",\n"
    "  \"teardown\": [\"rm\", \"-f\", \"data\"], \"folder\": \"work\", \"environment\": {\"LC_ALL\": \"C\"}, "
    "\"metrics\": \"stdout\",\n"
    "  \"warmup\": 2, \"tags\": {\"size\": \"1000\"}, \"metric_defs\": {\"rate\": {\"unit\": \"1/s\", \"direction\": "
    "\"higher\"}},\n"
    "  \"targets\": {\"rate\": 1e6, \"wall_time\": 2}},\n"
    " {\"name\": \"idle\", \"command\": \"sleep 0.01 | cat\"}]}";

static cbx_status parse(cbx_ctx *ctx, const char *text, size_t len, const char *folder, cbx_arena *arena,
                        const cbx_benchmark_command **out, size_t *n, cbx_err *err)
{
    return cbx_benchmark_commands_parse(ctx, text, len, "b.json", folder, arena, out, n, err);
}

static void all_members(void **state)
{
    cbx_ctx *ctx = NULL;
    const cbx_benchmark_command *c = NULL;
    cbx_arena arena;
    cbx_err err = CBX_ERR_INIT;
    size_t n = 0;

    (void)state;
    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "context");
    cbx_arena_init(&arena, cbx_allocator_default());
    CHECK_OK(parse(ctx, whole, strlen(whole), "dir", &arena, &c, &n, &err), &err, "the whole");
    CHECK_INT(n, 2, "benchmarks");
    CHECK(!strcmp(c[0].name, "sort") && !strcmp(c[0].domain, "cli") && !strcmp(c[0].folder, "dir/work"), "text");
    CHECK(!strcmp(c[0].argv[2], "1000") && !c[0].argv[3], "words");
    CHECK(!strcmp(c[0].setup[0], "sh") && !strcmp(c[0].setup[2], "make -s") && !c[0].setup[3],
          "a line is for the shell");
    CHECK(!strcmp(c[0].teardown[0], "rm"), "tear-down");
    CHECK(c[0].nenvironment == 1 && !strcmp(c[0].environment[0].value, "C"), "environment");
    CHECK(c[0].metrics == CBX_COMMAND_STDOUT && c[0].warmup == 2, "how");
    CHECK(c[0].ntags == 1 && !strcmp(c[0].tags[0].key, "size"), "tags");
    CHECK(c[0].ndefs == 1 && !strcmp(c[0].defs[0].name, "rate") && c[0].defs[0].direction == CBX_DIRECTION_HIGHER,
          "definitions");
    CHECK(c[0].ntargets == 2 && c[0].targets[0].metric.value == 1e6 && c[0].targets[1].metric.value == 2, "targets");
    CHECK(!strcmp(c[1].argv[2], "sleep 0.01 | cat") && !strcmp(c[1].folder, "dir") && c[1].metrics == CBX_COMMAND_AUTO,
          "what is left out");
    cbx_arena_clear(&arena);
    cbx_ctx_free(ctx);
}

#define ONE(members) "{\"schema\":\"calibrax-benchmarks\",\"version\":1,\"benchmarks\":[{" members "}]}"

static void what_is_refused(void **state)
{
    static const struct {
        const char *text;
        cbx_status status;
        const char *message;
    } cases[] = {
        { "[]", CBX_EFORMAT, "'b.json' is not a file of benchmarks: its schema must be 'calibrax-benchmarks'" },
        { "{\"schema\":\"nperf-case\"}", CBX_EFORMAT, "'b.json' is a case file: measure it with 'nperf --define'" },
        { "{\"schema\":\"calibrax-benchmarks\",\"version\":2}", CBX_EVERSION,
          "'b.json' is not of version 1 of 'calibrax-benchmarks'" },
        { "{\"schema\":\"calibrax-benchmarks\",\"version\":1}", CBX_EFORMAT,
          "'b.json': member 'benchmarks' is missing" },
        { "{\"schema\":\"calibrax-benchmarks\",\"version\":1,\"benchmarks\":[]}", CBX_EFORMAT,
          "'b.json': 'benchmarks' must be an array with an entry" },
        { ONE(""), CBX_EFORMAT, "'b.json': benchmarks[0]: member 'name' is missing" },
        { ONE("\"name\":\"a\""), CBX_EFORMAT, "'b.json': benchmarks[0]: member 'command' is missing" },
        { ONE("\"name\":\"\""), CBX_EFORMAT, "'b.json': benchmarks[0]: 'name' must be text that is not empty" },
        { ONE("\"name\":7"), CBX_EFORMAT, "'b.json': benchmarks[0]: 'name' must be text that is not empty" },
        { ONE("\"command\":[]"), CBX_EFORMAT,
          "'b.json': benchmarks[0]: 'command' must be an array of words, or a line for the shell" },
        { ONE("\"command\":[1]"), CBX_EFORMAT, "'b.json': benchmarks[0]: 'command' must be an array of words" },
        { ONE("\"target\":{}"), CBX_EFORMAT,
          "'b.json': benchmarks[0]: unknown member 'target': did you mean 'targets'?" },
        { ONE("\"targets\":{\"a\":\"fast\"}"), CBX_EFORMAT,
          "'b.json': benchmarks[0]: 'targets' must be an object of numbers" },
        { ONE("\"targets\":{\"a\":NaN}"), CBX_EFORMAT,
          "'b.json': benchmarks[0]: 'targets' must be an object of numbers" },
        { ONE("\"targets\":[1]"), CBX_EFORMAT, "'b.json': benchmarks[0]: 'targets' must be an object of numbers" },
        { ONE("\"tags\":{\"a\":1}"), CBX_EFORMAT, "'b.json': benchmarks[0]: 'tags' must be an object of text" },
        { ONE("\"environment\":{\"a=b\":\"c\"}"), CBX_EFORMAT,
          "'b.json': benchmarks[0]: 'environment' must be an object of text" },
        { ONE("\"metrics\":\"all\""), CBX_EFORMAT,
          "'b.json': benchmarks[0]: 'metrics' must be 'auto', 'stdout' or 'none'" },
        { ONE("\"warmup\":-1"), CBX_EFORMAT, "'b.json': benchmarks[0]: 'warmup' must be an integer from 0 to 65536" },
        { ONE("\"folder\":null"), CBX_EFORMAT, "'b.json': benchmarks[0]: 'folder' is null: leave it out" },
        { ONE("\"metric_defs\":{\"a\":{\"direction\":\"up\"}}"), CBX_EFORMAT, NULL },
        { ONE("\"metric_defs\":{\"a\":{}}"), CBX_EFORMAT, NULL },
        { ONE("\"metric_defs\":{\"a\":3}"), CBX_EFORMAT, NULL },
        { ONE("\"metric_defs\":[]"), CBX_EFORMAT,
          "'b.json': benchmarks[0]: 'metric_defs' must be an object of definitions" },
    };
    cbx_ctx *ctx = NULL;
    cbx_err err = CBX_ERR_INIT;

    (void)state;
    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "context");
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const cbx_benchmark_command *c = NULL;
        size_t n = 0;
        cbx_arena arena;
        cbx_arena_init(&arena, cbx_allocator_default());
        CHECK_STATUS(parse(ctx, cases[i].text, strlen(cases[i].text), "", &arena, &c, &n, &err), cases[i].status,
                     cases[i].text);
        if (cases[i].message) CHECK_STR(err.message, cases[i].message, cases[i].text);
        CHECK(c == NULL && n == 0, "out is untouched");
        cbx_arena_clear(&arena);
    }
    cbx_ctx_free(ctx);
}

static void cut_at_each_byte(void **state)
{
    cbx_ctx *ctx = NULL;
    cbx_err err = CBX_ERR_INIT;

    (void)state;
    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "context");
    for (size_t len = 0; len < strlen(whole); len++) {
        const cbx_benchmark_command *c = NULL;
        size_t n = 0;
        cbx_arena arena;
        cbx_arena_init(&arena, cbx_allocator_default());
        CHECK_STATUS(parse(ctx, whole, len, "", &arena, &c, &n, &err), CBX_EFORMAT, "a part of it");
        cbx_arena_clear(&arena);
    }
    cbx_ctx_free(ctx);
}

static cbx_status parse_it(cbx_ctx *ctx, void *user)
{
    const cbx_benchmark_command *c = NULL;
    size_t n = 0;
    cbx_arena arena;
    cbx_status st;

    (void)user;
    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    st = parse(ctx, whole, strlen(whole), "dir", &arena, &c, &n, NULL);
    cbx_arena_clear(&arena);
    return st;
}

static cbx_status read_it(cbx_ctx *ctx, void *user)
{
    const cbx_benchmark_command *c;
    cbx_arena arena;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;
    size_t n;

    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    st = cbx_benchmark_commands_read(ctx, user, &arena, &c, &n, &err);
    cbx_arena_clear(&arena);
    CHECK(!st == !*err.message, "a sentence comes with a failure, and only with one");
    return st;
}

static void from_a_file(void **state)
{
    const cbx_benchmark_command *c = NULL;
    cbx_ctx *ctx = NULL;
    cbx_err err = CBX_ERR_INIT;
    char folder[64], path[96], wanted[96];
    cbx_arena arena;
    size_t n = 0;

    (void)state;
    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "context");
    cbx_arena_init(&arena, cbx_allocator_default());
    cbx_test_folder(folder);
    snprintf(path, sizeof path, "%s/b.json", folder);
    snprintf(wanted, sizeof wanted, "%s/", folder);
    CHECK_STATUS(cbx_benchmark_commands_read(ctx, path, &arena, &c, &n, &err), CBX_ENOENT, "none there");
    CHECK_OK(cbx_file_write_atomic(ctx, path, whole, strlen(whole), &err), &err, "write");
    CHECK_OK(cbx_benchmark_commands_read(ctx, path, &arena, &c, &n, &err), &err, "read");
    CHECK_STR(c[1].folder, wanted, "a command runs where its file is");
    CHECK_GT(cbx_test_fail_each(read_it, path, "read"), 4, "allocations were made to fail");
    cbx_test_folder_remove(folder);
    cbx_arena_clear(&arena);
    cbx_ctx_free(ctx);
    CHECK_GT(cbx_test_fail_each(parse_it, NULL, "parse"), 3, "allocations were made to fail");
}

TEST_FILE(.seconds = 600)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_members), cmocka_unit_test(what_is_refused),
                                        cmocka_unit_test(cut_at_each_byte), cmocka_unit_test(from_a_file) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
