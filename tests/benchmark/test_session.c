/* Sessions: launches of shared objects, commands and functions of this program into a run;
 * failures, targets, interruption. */
#include "check.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/base/file.h"
#include "calibrax/perf/case/plugin.h"
#include "calibrax/perf/sweep/benchmark_session.h"
#include "fail_alloc.h"

typedef struct state {
    cbx_ctx *ctx;
    char folder[64], plugin[4096], log[96];
    cbx_json *config;
} state;

static int open_state(void **out)
{
    static state s;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_ctx_create(NULL, &s.ctx, &err), &err, "context");
    cbx_test_folder(s.folder);
    snprintf(s.plugin, sizeof s.plugin, "%s/tests/benchmark/libbench_plugin.so", getenv("CALIBRAX_BUILD_ROOT"));
    snprintf(s.log, sizeof s.log, "%s/log", s.folder);
    s.config = cbx_json_new_object();
    cbx_json_set_string(s.config, "log", s.log);
    *out = &s;
    return 0;
}

static int close_state(void **in)
{
    state *s = *in;

    cbx_json_unref(s->config);
    cbx_test_folder_remove(s->folder);
    cbx_ctx_free(s->ctx);
    return 0;
}

static cbx_run_opts bare = { sizeof(cbx_run_opts), NULL, true, true, true };

static cbx_benchmark_opts opts_of(const state *s)
{
    cbx_benchmark_opts o = CBX_BENCHMARK_OPTS_INIT;
    o.run = &bare;
    o.measure.config = s->config;
    o.measure.samples = 5;
    o.measure.sample_s = 1e-5;
    o.measure.batch_size = 4;
    return o;
}

static cbx_benchmark_source object_of(const state *s)
{
    cbx_benchmark_source source = CBX_BENCHMARK_SOURCE_INIT;
    source.kind = CBX_BENCHMARK_OBJECT;
    source.path = s->plugin;
    return source;
}

static cbx_benchmark_report *run(state *s, const cbx_benchmark_source *source, const cbx_benchmark_opts *o)
{
    cbx_benchmark_report *r = NULL;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_benchmark_run(s->ctx, source, o, &r, &err), &err, "run");
    return r;
}

static const cbx_metric *metric(const cbx_benchmark_report *r, size_t point, const char *name)
{
    return cbx_point_metric(cbx_run_point(cbx_benchmark_report_run(r), point), name);
}

/* The log of the plug-in, forgotten afterwards; "" if there is none. */
static const char *take_log(state *s)
{
    static char text[4096];
    char *data;
    size_t len;

    text[0] = '\0';
    if (cbx_file_read(s->ctx, s->log, 0, &data, &len, NULL)) return text;
    snprintf(text, sizeof text, "%s", data);
    cbx_mem_free(cbx_ctx_allocator(s->ctx), data, len + 1);
    unlink(s->log);
    return text;
}

TEST(a_shared_object)
{
    state *s = *test_state;
    cbx_benchmark_source source = object_of(s);
    cbx_benchmark_opts o = opts_of(s);
    cbx_benchmark_report *r;
    const cbx_target_check *t;
    const cbx_json *told;
    size_t n;

    o.launches = 6;
    r = run(s, &source, &o);
    CHECK_INT(cbx_run_npoints(cbx_benchmark_report_run(r)), 5, "a point a benchmark");
    CHECK_INT(metric(r, 0, "accuracy")->nsamples, 6, "a sample a launch");
    CHECK(metric(r, 0, "accuracy")->value == 0.9 && metric(r, 0, "accuracy")->lower == 0.9,
          "the median with its interval");
    CHECK(metric(r, 1, "batch_time")->nsamples == 6 && metric(r, 1, "batch_time")->value > 0, "medians of launches");
    CHECK(metric(r, 2, "examples")->value == 10 && metric(r, 3, "examples")->value == 10, "both kinds of datasets");
    CHECK(metric(r, 0, "launch_seconds")->value > 0 && metric(r, 0, "max_rss")->value > 1, "the process");
    CHECK_INT(cbx_run_find_metric_def(cbx_benchmark_report_run(r), "accuracy")->direction, CBX_DIRECTION_HIGHER,
              "definition");
    t = cbx_benchmark_report_targets(r, &n);
    CHECK(n == 1 && t[0].outcome == CBX_TARGET_MET && t[0].target == 0.8, "the target");
    CHECK_INT(cbx_benchmark_report_exit_code(r), 0, "exit code");
    told = cbx_json_at(cbx_json_get(cbx_run_metadata(cbx_benchmark_report_run(r)), "benchmarks"), 0);
    CHECK_STR(cbx_json_get_string(told, "driver", ""), "object", "who ran it");
    CHECK(cbx_json_get_double(cbx_json_get(told, "targets"), "accuracy", 0) == 0.8, "its targets");
    CHECK_STR(cbx_json_get_string(cbx_json_get(told, "config"), "log", ""), s->log, "its configuration");
    cbx_benchmark_report_free(r);
    CHECK(strncmp(take_log(s), "setup\ntraining\nevaluation\ntargets\nteardown\n", 42) == 0, "phases in order");
}

TEST(one_launch_stands_as_it_is)
{
    static const char *const names[] = { "sum" };
    static const cbx_tag tags[] = { { "size", "2000" } };
    state *s = *test_state;
    cbx_benchmark_source source = object_of(s);
    cbx_benchmark_opts o = opts_of(s);
    cbx_benchmark_report *r;
    const cbx_point *p;

    o.names = names;
    o.nnames = 1;
    o.name = "addition";
    o.scenario = "small";
    o.tags = tags;
    o.ntags = 1;
    r = run(s, &source, &o);
    p = cbx_run_point(cbx_benchmark_report_run(r), 0);
    CHECK_INT(metric(r, 0, "batch_time")->nsamples, 5, "the launch's own samples");
    CHECK(!strcmp(p->name, "addition") && !strcmp(p->scenario, "small"), "names");
    CHECK_STR(cbx_point_tag(p, "size"), "2000", "tag");
    cbx_benchmark_report_free(r);
}

TEST(failures_are_named_and_torn_down)
{
    static const struct {
        const char *key, *phase, *where, *message;
        cbx_status status;
        bool torn_down;
    } cases[] = {
        { "fail", "create", "start", "create was told to fail", CBX_EINVAL, false },
        { "fail", "setup", "setup", "setup was told to fail", CBX_EDOM, true },
        { "fail", "training", "training", "training was told to fail", CBX_EDOM, true },
        { "fail", "evaluation", "evaluation", "evaluation was told to fail", CBX_EDOM, true },
        { "fail", "targets", "targets", "targets was told to fail", CBX_EDOM, true },
        { "crash", "training", "training", "it was killed by signal 11", CBX_ECHILD, false },
        { "crash", "exit", "end", "it ended with status 9", CBX_ECHILD, true },
        { "hang", "evaluation", "evaluation", "it took more than 3 s and was stopped", CBX_ETIMEOUT, true },
    };
    static const char *const names[] = { "model" };
    state *s = *test_state;
    cbx_benchmark_source source = object_of(s);

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_benchmark_opts o = opts_of(s);
        const cbx_benchmark_failure *f;
        cbx_benchmark_report *r;
        cbx_json *config = cbx_json_copy(s->config);
        const char *log;
        size_t n;
        cbx_json_set_string(config, cases[i].key, cases[i].phase);
        o.measure.config = config;
        o.names = names;
        o.nnames = 1;
        o.grace_s = 60;
        if (cases[i].status == CBX_ETIMEOUT) o.timeout_s = 3;
        r = run(s, &source, &o);
        f = cbx_benchmark_report_failures(r, &n);
        CHECK_INT(n, 1, cases[i].phase);
        CHECK_STR(f->phase, cases[i].where, cases[i].phase);
        CHECK_STATUS(f->status, cases[i].status, cases[i].phase);
        CHECK(strstr(f->message, cases[i].message) != NULL, f->message);
        CHECK(cbx_benchmark_report_run(r) == NULL, "nothing came of it");
        CHECK_INT(cbx_benchmark_report_exit_code(r), 2, "no data");
        log = take_log(s);
        CHECK_INT(strstr(log, "teardown") != NULL, cases[i].torn_down, log);
        cbx_benchmark_report_free(r);
        cbx_json_unref(config);
    }
}

/* --- commands --- */

static cbx_benchmark_source command_of(cbx_benchmark_command *c, const char *const argv[4])
{
    cbx_benchmark_source source = CBX_BENCHMARK_SOURCE_INIT;
    c->name = "cmd";
    c->argv = argv;
    source.kind = CBX_BENCHMARK_COMMAND;
    source.commands = c;
    source.ncommands = 1;
    return source;
}

TEST(what_a_command_prints)
{
    static const struct {
        const char *script;
        cbx_command_metrics how;
        double rate; /* NaN: none */
        const char *failure;
    } cases[] = {
        { "echo '{\"rate\": 5}'", CBX_COMMAND_AUTO, 5, NULL },
        { "echo words; echo; echo '{\"rate\": 5.5, \"n\": 1}'; echo", CBX_COMMAND_STDOUT, 5.5, NULL },
        { "printf '{\\n \"metrics\": {\\n \"rate\": {\"value\": 7, \"samples\": [6, 7, 8]}\\n}}\\n'",
          CBX_COMMAND_STDOUT, 7, NULL },
        { "echo '{\"rate\": 5}'", CBX_COMMAND_NONE, NAN, NULL },
        { "echo nothing to see", CBX_COMMAND_AUTO, NAN, NULL },
        { "echo nothing to see", CBX_COMMAND_STDOUT, NAN, "its last line is not a JSON object with metrics" },
        { "true", CBX_COMMAND_STDOUT, NAN, "its last line is not a JSON object with metrics" },
        { "echo '{\"rate\": }'", CBX_COMMAND_AUTO, NAN, "its output" },
        { "echo '{\"rate\": \"fast\"}'", CBX_COMMAND_AUTO, NAN, "'points.0.metrics.rate': expected an object" },
        { "echo '{\"metrics\": {\"rate\": {\"value\": true}}}'", CBX_COMMAND_AUTO, NAN, "expected a number" },
        { "echo broken >&2; exit 3", CBX_COMMAND_AUTO, NAN, "it ended with status 3: broken" },
        { "exec no-such-program-here", CBX_COMMAND_AUTO, NAN, "it ended with status 127" },
        { "kill -9 $$", CBX_COMMAND_AUTO, NAN, "it was killed by signal 9" },
    };
    state *s = *test_state;

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const char *const argv[4] = { "sh", "-c", cases[i].script, NULL };
        cbx_benchmark_command c = { .metrics = cases[i].how };
        cbx_benchmark_source source = command_of(&c, argv);
        cbx_benchmark_opts o = opts_of(s);
        cbx_benchmark_report *r = run(s, &source, &o);
        const cbx_benchmark_failure *f;
        size_t n;
        f = cbx_benchmark_report_failures(r, &n);
        CHECK_INT(n, cases[i].failure != NULL, cases[i].script);
        if (n) {
            CHECK(strstr(f->message, cases[i].failure) != NULL, f->message);
            CHECK_INT(cbx_benchmark_report_exit_code(r), 2, cases[i].script);
        } else {
            CHECK(metric(r, 0, "wall_time")->value > 0, "its time is seen from outside");
            CHECK_INT(!metric(r, 0, "rate"), isnan(cases[i].rate), cases[i].script);
            if (metric(r, 0, "rate")) CHECK(metric(r, 0, "rate")->value == cases[i].rate, cases[i].script);
        }
        cbx_benchmark_report_free(r);
    }
}

TEST(around_a_command)
{
    static const char *const argv[4] = { "sh", "-c",
                                         "echo run >> log; echo \"{\\\"n\\\": $(wc -l < log), \\\"size\\\": $SIZE}\"",
                                         NULL };
    static const char *const before[4] = { "sh", "-c", "echo before > log", NULL };
    static const char *const after[4] = { "sh", "-c", "echo after >> log", NULL };
    static const char *const bad[4] = { "sh", "-c", "echo bad >> log; exit 1", NULL };
    static const cbx_tag environment[] = { { "SIZE", "77" } };
    static const cbx_metric_def defs[] = { { "size", "1", CBX_DIRECTION_LOWER, "", CBX_PRIORITY_PRIMARY, "" } };
    static const cbx_named_metric targets[] = { { "size", { 80, NAN, NAN, NULL, 0 } } };
    state *s = *test_state;
    cbx_benchmark_command c = { .setup = before,
                                .teardown = after,
                                .folder = s->folder,
                                .environment = environment,
                                .nenvironment = 1,
                                .warmup = 2,
                                .defs = defs,
                                .ndefs = 1,
                                .targets = targets,
                                .ntargets = 1 };
    cbx_benchmark_source source = command_of(&c, argv);
    cbx_benchmark_opts o = opts_of(s);
    cbx_benchmark_report *r;
    const cbx_target_check *t;
    size_t n;

    o.launches = 2;
    r = run(s, &source, &o);
    CHECK(metric(r, 0, "n")->value == 4 && metric(r, 0, "n")->nsamples == 2,
          "set-up, two warm-ups, the run; afresh each launch");
    CHECK(metric(r, 0, "size")->value == 77, "environment");
    CHECK_STR(take_log(s), "before\nrun\nrun\nrun\nafter\n", "in order");
    t = cbx_benchmark_report_targets(r, &n);
    CHECK(n == 1 && t[0].outcome == CBX_TARGET_MET, "its target, by its definition");
    CHECK_INT(cbx_run_find_metric_def(cbx_benchmark_report_run(r), "wall_time")->priority, CBX_PRIORITY_PRIMARY,
              "a command's time");
    cbx_benchmark_report_free(r);
    c.argv = bad;
    c.warmup = 0;
    o.launches = 1;
    r = run(s, &source, &o);
    CHECK_STR(take_log(s), "before\nbad\nafter\n", "torn down after a failure");
    cbx_benchmark_report_free(r);
    c.argv = argv;
    c.setup = bad;
    r = run(s, &source, &o);
    CHECK_STR(take_log(s), "bad\nafter\n", "not run without its set-up");
    CHECK_STR(cbx_benchmark_report_failures(r, &n)->phase, "setup", "phase");
    cbx_benchmark_report_free(r);
}

/* Launches of which every second one fails, or says NaN, or lacks a metric. */
TEST(uneven_launches)
{
    static const char *const argv[4] = {
        "sh", "-c", "n=$(cat count 2> /dev/null || echo 0); n=$((n+1)); echo $n > count; eval \"$DO\"", NULL
    };
    static const struct {
        const char *script;
        cbx_target_outcome outcome;
        int exit_code;
        size_t failures;
    } cases[] = {
        { "echo '{\"a\": 1}'", CBX_TARGET_MET, 0, 0 },
        { "[ $((n % 2)) = 1 ] || exit 4; echo '{\"a\": 1}'", CBX_TARGET_INCOMPLETE, 2, 2 },
        { "if [ $n = 3 ]; then echo '{\"a\": NaN}'; else echo '{\"a\": 1}'; fi", CBX_TARGET_NOT_A_NUMBER, 1, 0 },
        { "if [ $n = 3 ]; then echo '{\"b\": 1}'; else echo '{\"a\": 1}'; fi", CBX_TARGET_MISSING, 2, 0 },
        { "echo '{\"a\": -1}'", CBX_TARGET_MISSED, 1, 0 },
        { "echo '{\"b\": 1}'", CBX_TARGET_MISSING, 2, 0 },
    };
    static const cbx_named_metric targets[] = { { "a", { 0, NAN, NAN, NULL, 0 } } };
    static const cbx_metric_def defs[] = { { "a", "1", CBX_DIRECTION_HIGHER, "", CBX_PRIORITY_PRIMARY, "" } };
    state *s = *test_state;
    char path[96];

    snprintf(path, sizeof path, "%s/count", s->folder);
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const cbx_tag environment[] = { { "DO", cases[i].script } };
        cbx_benchmark_command c = { .folder = s->folder, .environment = environment, .nenvironment = 1 };
        cbx_benchmark_source source = command_of(&c, argv);
        cbx_benchmark_opts o = opts_of(s);
        cbx_benchmark_report *r;
        const cbx_target_check *t;
        size_t n;
        o.launches = 4;
        o.targets = targets;
        o.ntargets = 1;
        o.defs = defs;
        o.ndefs = 1;
        unlink(path);
        r = run(s, &source, &o);
        t = cbx_benchmark_report_targets(r, &n);
        CHECK_STR(cbx_target_outcome_name(t->outcome), cbx_target_outcome_name(cases[i].outcome), cases[i].script);
        CHECK_INT(cbx_benchmark_report_exit_code(r), cases[i].exit_code, cases[i].script);
        cbx_benchmark_report_failures(r, &n);
        CHECK_INT(n, cases[i].failures, cases[i].script);
        CHECK(cbx_benchmark_report_run(r) != NULL, "what went well is kept");
        cbx_benchmark_report_free(r);
    }
}

/* --- interruption --- */

static volatile sig_atomic_t stop;

static void stop_after_two(void *user, const char *name, size_t launch, size_t launches,
                           const cbx_benchmark_failure *failure)
{
    (void)user, (void)name, (void)launches, (void)failure;
    if (launch == 2) stop = 1;
}

TEST(interrupted)
{
    static const char *const argv[4] = { "sh", "-c", "echo '{\"a\": 1}'", NULL };
    state *s = *test_state;
    cbx_benchmark_command c = { 0 };
    cbx_benchmark_source source = command_of(&c, argv);
    cbx_benchmark_opts o = opts_of(s);
    cbx_benchmark_report *r;

    stop = 0;
    o.stop = &stop;
    o.launches = 5;
    o.progress = stop_after_two;
    r = run(s, &source, &o);
    CHECK_INT(cbx_benchmark_report_exit_code(r), 130, "interrupted");
    CHECK_INT(cbx_benchmark_report_exit_code(r), 130, "exit code");
    CHECK_INT(metric(r, 0, "a")->nsamples, 2, "what finished is kept");
    CHECK(cbx_json_get_bool(cbx_run_metadata(cbx_benchmark_report_run(r)), "interrupted", false), "and marked");
    cbx_benchmark_report_free(r);
    r = run(s, &source, &o); /* stopped from the beginning */
    CHECK(cbx_benchmark_report_run(r) == NULL && cbx_benchmark_report_exit_code(r) == 130, "nothing ran");
    cbx_benchmark_report_free(r);
}

/* --- of this program --- */

static cbx_status evaluate(cbx_ctx *ctx, void *self, cbx_values *out, cbx_err *err)
{
    (void)ctx;
    return cbx_values_add(out, "a", ++*(int *)self, err);
}

static const cbx_benchmark_ops counter = {
    .struct_size = sizeof counter, .abi = CBX_BENCHMARK_ABI, .name = "counter", .run_evaluation = evaluate
};

TEST(of_this_program)
{
    state *s = *test_state;
    int count = 0;
    const cbx_benchmark_item item = { &counter, &count };
    cbx_benchmark_source source = CBX_BENCHMARK_SOURCE_INIT;
    cbx_benchmark_opts o = opts_of(s);
    cbx_benchmark_report *r;
    char path[96];
    const cbx_json *trace;

    snprintf(path, sizeof path, "%s/trace.json", s->folder);
    source.items = &item;
    source.nitems = 1;
    o.launches = 7;
    o.trace = path;
    r = run(s, &source, &o);
    CHECK(metric(r, 0, "a")->value == 4 && metric(r, 0, "a")->lower == 1 && metric(r, 0, "a")->upper == 7,
          "median, order statistics");
    trace = cbx_json_get(cbx_run_metadata(cbx_benchmark_report_run(r)), "trace");
    CHECK_STR(cbx_json_get_string(trace, "file", ""), path, "the trace's file");
    CHECK_INT(strlen(cbx_json_get_string(trace, "hash", "")), 32, "and hash");
    CHECK(cbx_path_exists(path), "it is there");
    cbx_benchmark_report_free(r);
}

TEST(what_is_refused)
{
    state *s = *test_state;
    const char *const names[] = { "modle" };
    static const struct {
        int fault;
        const char *part;
        cbx_status status;
    } objects[] = {
        { 1, "is a plug-in of ABI 99, and this program takes 1", CBX_EVERSION },
        { 2, "a benchmark of abi 77, not 2: compile it against this library", CBX_EVERSION },
        { 3, "two benchmarks are called 'b'", CBX_EEXIST },
        { 4, "it has no benchmarks", CBX_EINVAL },
        { 5, "exports no 'cbx_plugin_table'", CBX_EFORMAT },
    };
    cbx_benchmark_source source = object_of(s);
    cbx_benchmark_opts o = opts_of(s);
    cbx_benchmark_report *r = NULL;
    cbx_err err = CBX_ERR_INIT;
    char path[4200];

    o.names = names;
    o.nnames = 1;
    CHECK_STATUS(cbx_benchmark_run(s->ctx, &source, &o, &r, &err), CBX_ENOENT, "a slip");
    CHECK_STR(err.message, "no benchmark 'modle': did you mean 'model'?", "is met with the nearest");
    o.nnames = 0;
    o.name = "all";
    CHECK_STATUS(cbx_benchmark_run(s->ctx, &source, &o, &r, &err), CBX_EINVAL, "one name for several");
    o.name = NULL;
    o.launches = 0;
    CHECK_STATUS(cbx_benchmark_run(s->ctx, &source, &o, &r, &err), CBX_EINVAL, "no launch");
    o.launches = 1;
    o.trace = "/proc/no/trace.json";
    CHECK(cbx_benchmark_run(s->ctx, &source, &o, &r, &err) != CBX_OK && strstr(err.message, "/proc/no"),
          "a trace that cannot be");
    o.trace = NULL;
    for (size_t i = 0; i < CBX_LEN(objects); i++) {
        snprintf(path, sizeof path, "%.*s/libwrong_plugin_%d.so", (int)(strrchr(s->plugin, '/') - s->plugin), s->plugin,
                 objects[i].fault);
        source.path = path;
        CHECK_STATUS(cbx_benchmark_run(s->ctx, &source, &o, &r, &err), objects[i].status, objects[i].part);
        CHECK(strstr(err.message, objects[i].part) != NULL, err.message);
    }
    source.path = "none.so";
    CHECK_STATUS(cbx_benchmark_run(s->ctx, &source, &o, &r, &err), CBX_EUNAVAILABLE, "no file");
    CHECK(strstr(err.message, "cannot load the plug-in 'none.so'") != NULL, err.message);
    CHECK(r == NULL, "out is untouched");
}

static cbx_status run_it(cbx_ctx *ctx, void *user)
{
    int count = 0;
    const cbx_benchmark_item item = { &counter, &count };
    static const cbx_named_metric targets[] = { { "a", { 0, NAN, NAN, NULL, 0 } } };
    cbx_benchmark_source source = CBX_BENCHMARK_SOURCE_INIT;
    cbx_benchmark_opts o = CBX_BENCHMARK_OPTS_INIT;
    cbx_benchmark_report *r = NULL;
    cbx_status st;

    (void)user;
    source.items = &item;
    source.nitems = 1;
    o.run = &bare;
    o.launches = 3;
    o.measure.no_resources = true;
    o.targets = targets;
    o.ntargets = 1;
    st = cbx_benchmark_run(ctx, &source, &o, &r, NULL);
    cbx_benchmark_report_free(r);
    return st;
}

static cbx_status list_it(cbx_ctx *ctx, void *user)
{
    cbx_benchmark_source source = object_of(user);
    cbx_benchmark_opts o = opts_of(user);
    const char *const *names;
    cbx_arena arena;
    cbx_status st;
    size_t n = 0;

    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    st = cbx_benchmark_list(ctx, &source, &o, &arena, &names, &n, NULL);
    if (!st) CHECK_GT(n, 1, "several");
    cbx_arena_clear(&arena);
    return st;
}

TEST(every_allocation_may_fail)
{
    CHECK_GT(cbx_test_fail_each(list_it, *test_state, "cbx_benchmark_list"), 5, "allocations were made to fail");
    CHECK_GT(cbx_test_fail_each(run_it, NULL, "cbx_benchmark_run"), 20, "allocations were made to fail");
}

TESTS(.seconds = 600, .setup = open_state, .teardown = close_state)
