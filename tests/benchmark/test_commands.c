/* Case files of commands as benchmarks: all members, what is refused and how it is named, cut at
 * each byte. */
#include "check.h"

#include <stdio.h>

#include "calibrax/base/file.h"
#include "calibrax/perf/case/declared_internal.h"
#include "fail_alloc.h"

#define HEAD "{\"schema\": \"nperf-case\", \"version\": 1, \"name\": \"t\", \"kind\": \"commands\", "

static const char whole[] = HEAD
    "\"folder\": \"work\", \"setup\": \"make -s N={n}\", \"params\": [{\"name\": \"n\", \"min\": 1, \"max\": 9}],\n"
    " \"points\": [{\"n\": 3}, {\"n\": 4}], \"check\": [{\"file\": \"out{n}\", \"numbers\": \"right\", \"rtol\": "
    "0.5}],\n"
    " \"baselines\": [\n"
    " {\"name\": \"sort\", \"scenario\": \"cli\", \"command\": [\"./sort\", \"-n\", \"{n}\"], \"prepare\": [\"rm\", "
    "\"a b\"],\n"
    "  \"conclude\": [\"rm\", \"-f\", \"data\"], \"environment\": {\"LC_ALL\": \"C\"}, "
    "\"metrics\": \"stdout\",\n"
    "  \"warmup\": 2, \"tags\": {\"size\": \"1000\"}, \"metric_defs\": {\"rate\": {\"unit\": \"1/s\", \"direction\": "
    "\"higher\"}},\n"
    "  \"targets\": {\"rate\": 1e6, \"wall_time\": 2}},\n"
    " {\"name\": \"idle\", \"command\": \"sleep 0.01 | cat\"}]}";

/* Cases that benchmarks refer to, freed by forget(). */
static cbx_declared *cases[4];
static size_t cases_read;

static void forget(void)
{
    while (cases_read) cbx_declared_free(cases[--cases_read]);
}

/* What `calibrax run` makes of a text; the case stays in the arena. */
static cbx_status parse(cbx_ctx *ctx, const char *text, size_t len, const char *folder, cbx_arena *arena,
                        const cbx_benchmark_command **out, size_t *n, cbx_err *err)
{
    cbx_declared *d = NULL;
    cbx_status st = cbx_declared_parse(ctx, text, len, "b.json", folder, &d, err);

    if (!st) st = cbx__declared_benchmarks(ctx, d, arena, out, n, err);
    if (!st && cases_read < CBX_LEN(cases))
        cases[cases_read++] = d;
    else
        cbx_declared_free(d);
    return st;
}

static const char bare[] = HEAD "\"baselines\": [{\"name\": \"idle\", \"command\": [\"true\"]}]}";

TEST(all_members)
{
    cbx_ctx *ctx = cbx_test_context();
    const cbx_benchmark_command *c = NULL;
    cbx_arena arena;
    cbx_err err = CBX_ERR_INIT;
    size_t n = 0;

    cbx_arena_init(&arena, cbx_allocator_default());
    CHECK_OK(parse(ctx, whole, strlen(whole), "dir", &arena, &c, &n, &err), &err, "the whole");
    CHECK_INT(n, 4, "each baseline at each point");
    CHECK(!strcmp(c[0].name, "sort[n=3]") && !strcmp(c[3].name, "idle[n=4]"), "names");
    CHECK(!strcmp(c[0].domain, "cli") && !strcmp(c[1].domain, "t"), "the scenario is the case, or its own");
    CHECK(!strcmp(c[0].folder, "dir/work") && !c[0].new_folder, "the folder is beside the file");
    CHECK(!strcmp(c[0].argv[2], "3") && !strcmp(c[2].argv[2], "4") && !c[0].argv[3], "words with values");
    CHECK_STR(c[0].setup[2], "(make -s N=3\n) && ('rm' 'a b'\n)", "before a launch: set-up, then its own");
    CHECK(!strcmp(c[0].setup[0], "sh") && !strcmp(c[0].setup[1], "-c") && !c[0].setup[3], "by the shell");
    CHECK(!strcmp(c[0].teardown[0], "rm") && !c[1].teardown, "behind it");
    CHECK(c[0].nenvironment == 1 && !strcmp(c[0].environment[0].value, "C"), "environment");
    CHECK(c[0].metrics == CBX_COMMAND_STDOUT && c[0].warmup == 2, "how");
    CHECK(c[2].ntags == 2 && !strcmp(c[2].tags[0].key, "n") && !strcmp(c[2].tags[0].value, "4") &&
              !strcmp(c[2].tags[1].key, "size"),
          "parameters are tags");
    CHECK(c[0].ndefs == 1 && !strcmp(c[0].defs[0].name, "rate") && c[0].defs[0].direction == CBX_DIRECTION_HIGHER,
          "definitions");
    CHECK(c[0].ntargets == 2 && c[0].targets[0].metric.value == 1e6 && c[0].targets[1].metric.value == 2, "targets");
    CHECK(c[3].nchecks == 1 && !strcmp(c[3].checks[0].file, "out4") && c[3].checks[0].rtol == 0.5, "checks");
    CHECK(!strcmp(c[1].argv[2], "sleep 0.01 | cat") && c[1].metrics == CBX_COMMAND_AUTO, "what is left out");
    CHECK_OK(parse(ctx, bare, strlen(bare), "dir", &arena, &c, &n, &err), &err, "neither parameters nor points");
    CHECK(n == 1 && !strcmp(c[0].name, "idle") && !c[0].setup && c[0].new_folder && !c[0].folder && !c[0].ntags,
          "the defaults");
    forget();
    cbx_arena_clear(&arena);
    cbx_ctx_free(ctx);
}

#define ONE(members) HEAD "\"baselines\":[{" members "}]}"

TEST(what_is_refused)
{
    static const struct {
        const char *text;
        cbx_status status;
        const char *message;
    } faults[] = {
        { "[]", CBX_EFORMAT, "'b.json' is not a case file: expected \"schema\": \"nperf-case\"" },
        { "{\"schema\":\"calibrax-benchmarks\",\"version\":1}", CBX_EFORMAT,
          "'b.json' is of the former schema 'calibrax-benchmarks': write \"schema\": \"nperf-case\", \"version\": 1, "
          "\"name\": \"NAME\", \"kind\": \"commands\", and \"baselines\", \"prepare\" and \"conclude\" for benchmarks, "
          "setup and teardown" },
        { HEAD "\"baselines\":[]}", CBX_EFORMAT, "'b.json': 'baselines' must be an array of 1 to 64 entries" },
        { ONE(""), CBX_EFORMAT, "'b.json': baselines[0]: member 'name' is missing" },
        { ONE("\"name\":\"a\""), CBX_EFORMAT, "'b.json': baselines[0]: member 'command' is missing" },
        { ONE("\"name\":\"\""), CBX_EFORMAT, "'b.json': baselines[0]: 'name' must be text that is not empty" },
        { ONE("\"name\":7"), CBX_EFORMAT, "'b.json': baselines[0]: 'name' must be text that is not empty" },
        { ONE("\"command\":[]"), CBX_EFORMAT,
          "'b.json': baselines[0]: 'command' must be an array of words, or a line for the shell" },
        { ONE("\"command\":[1]"), CBX_EFORMAT, "'b.json': baselines[0]: 'command' must be an array of words" },
        { ONE("\"target\":{}"), CBX_EFORMAT,
          "'b.json': baselines[0]: unknown member 'target': did you mean 'targets'?" },
        { ONE("\"targets\":{\"a\":\"fast\"}"), CBX_EFORMAT,
          "'b.json': baselines[0]: 'targets' must be an object of numbers" },
        { ONE("\"targets\":{\"a\":NaN}"), CBX_EFORMAT,
          "'b.json': baselines[0]: 'targets' must be an object of numbers" },
        { ONE("\"targets\":[1]"), CBX_EFORMAT, "'b.json': baselines[0]: 'targets' must be an object of numbers" },
        { ONE("\"tags\":{\"a\":1}"), CBX_EFORMAT, "'b.json': baselines[0]: 'tags' must be an object of text" },
        { ONE("\"environment\":{\"a\":1}"), CBX_EFORMAT,
          "'b.json': baselines[0]: 'environment' must be an object of text" },
        { ONE("\"environment\":{\"a b\":\"c\"}"), CBX_EFORMAT,
          "'b.json': baselines[0]: 'a b' is not the name of a variable" },
        { ONE("\"metrics\":\"all\""), CBX_EFORMAT,
          "'b.json': baselines[0]: 'metrics' must be 'auto', 'stdout' or 'none'" },
        { ONE("\"warmup\":-1"), CBX_EFORMAT, "'b.json': baselines[0]: 'warmup' must be an integer from 0 to 65536" },
        { ONE("\"prepare\":null"), CBX_EFORMAT, "'b.json': baselines[0]: 'prepare' is null: leave it out" },
        { ONE("\"metric_defs\":{\"a\":{\"direction\":\"up\"}}"), CBX_EFORMAT, NULL },
        { ONE("\"metric_defs\":{\"a\":{}}"), CBX_EFORMAT, NULL },
        { ONE("\"metric_defs\":{\"a\":3}"), CBX_EFORMAT, NULL },
        { ONE("\"metric_defs\":[]"), CBX_EFORMAT,
          "'b.json': baselines[0]: 'metric_defs' must be an object of definitions" },
    };
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;

    for (size_t i = 0; i < CBX_LEN(faults); i++) {
        const cbx_benchmark_command *c = NULL;
        size_t n = 0;
        cbx_arena arena;
        cbx_arena_init(&arena, cbx_allocator_default());
        CHECK_STATUS(parse(ctx, faults[i].text, strlen(faults[i].text), "", &arena, &c, &n, &err), faults[i].status,
                     faults[i].text);
        if (faults[i].message) CHECK_STR(err.message, faults[i].message, faults[i].text);
        CHECK(c == NULL && n == 0, "out is untouched");
        cbx_arena_clear(&arena);
    }
    cbx_ctx_free(ctx);
}

TEST(cut_at_each_byte)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;

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
    forget();
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

TEST(from_a_file)
{
    const cbx_benchmark_command *c = NULL;
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    char folder[64], path[96], wanted[96];
    cbx_arena arena;
    size_t n = 0;

    cbx_arena_init(&arena, cbx_allocator_default());
    cbx_test_folder(folder);
    snprintf(path, sizeof path, "%s/b.json", folder);
    snprintf(wanted, sizeof wanted, "%s/work", folder);
    CHECK_STATUS(cbx_benchmark_commands_read(ctx, path, &arena, &c, &n, &err), CBX_ENOENT, "none there");
    CHECK_OK(cbx_file_write_atomic(ctx, path, whole, strlen(whole), &err), &err, "write");
    CHECK_OK(cbx_benchmark_commands_read(ctx, path, &arena, &c, &n, &err), &err, "read");
    CHECK_STR(c[1].folder, wanted, "the folder is beside the file");
    CHECK_GT(cbx_test_fail_each(read_it, path, "read"), 4, "allocations were made to fail");
    cbx_test_folder_remove(folder);
    cbx_arena_clear(&arena);
    cbx_ctx_free(ctx);
    CHECK_GT(cbx_test_fail_each(parse_it, NULL, "parse"), 3, "allocations were made to fail");
}

TESTS(.seconds = 600)
