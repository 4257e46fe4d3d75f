/* Signatures; launches that report given times, die, or keep a cache. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "calibrax/profiling/compilation.h"
#include "fail_alloc.h"

static cbx_ctx *context(void)
{
    cbx_ctx *ctx = NULL;
    CHECK_OK(cbx_ctx_create(NULL, &ctx, NULL), (&(cbx_err){ 0 }), "context");
    return ctx;
}

/* Compilation takes 3 s at a new length, a call 1 ms. */
static cbx_status call_with(cbx_compilation *w, const size_t *lengths, size_t i, cbx_err *err)
{
    char text[24];
    double seconds = 3.001;

    for (size_t k = 0; k < i; k++)
        if (lengths[k] == lengths[i]) seconds = 0.001;
    snprintf(text, sizeof text, "f64(%zu)", lengths[i]);
    return cbx_compilation_record(w, text, seconds, err);
}

static void signatures(void **state)
{
    static const struct {
        size_t lengths[12], n;
        uint64_t hits;
        size_t different, known;
        double compile, health;
        cbx_compile_level level;
        size_t advice;
        const char *why;
    } cases[] = {
        { { 5, 5, 5, 5, 5, 5, 5, 5, 5, 5 }, 10, 9, 1, 1, 3, 0.5 * 0.9 + 0.5 * 0.7, CBX_COMPILE_GOOD, 1, "one shape" },
        { { 5, 6, 5, 6 }, 4, 2, 2, 2, 3, 0.5 * 0.5 + 0.5 * 0.7, CBX_COMPILE_MODERATE, 2, "two by turns" },
        { { 1, 2, 3, 4 }, 4, 0, 4, 0, NAN, 0.5, CBX_COMPILE_MODERATE, 1, "never the same: nothing to take off" },
        { { 1, 2, 3, 3 }, 4, 1, 3, 1, 3, 0.5 * 0.25 + 0.5 * 0.7, CBX_COMPILE_MODERATE, 2, "one of three is known" },
        { { 0 }, 0, 0, 0, 0, NAN, NAN, CBX_COMPILE_POOR, 0, "no call" },
    };
    cbx_ctx *ctx = context();
    cbx_err err = CBX_ERR_INIT;
    (void)state;
    for (size_t k = 0; k < CBX_LEN(cases); k++) {
        cbx_compilation *w = NULL;
        cbx_compilation_report r;
        CHECK_OK(cbx_compilation_open(ctx, &w, &err), &err, cases[k].why);
        for (size_t i = 0; i < cases[k].n; i++) {
            CHECK_OK(call_with(w, cases[k].lengths, i, &err), &err, cases[k].why);
        }
        cbx_compilation_see(w, &r);
        CHECK_INT(r.calls, cases[k].n, cases[k].why);
        CHECK_INT(r.hits, cases[k].hits, cases[k].why);
        CHECK_INT(r.misses, cases[k].n - cases[k].hits, cases[k].why);
        CHECK_INT(r.signatures, cases[k].different, cases[k].why);
        CHECK_INT(r.known, cases[k].known, cases[k].why);
        CHECK(isnan(cases[k].compile) ? isnan(r.mean_compile_s) && isnan(r.max_compile_s)
                                      : fabs(r.mean_compile_s - cases[k].compile) < 1e-9 &&
                                            fabs(r.steady_s - 0.001) < 1e-9 && fabs(r.first_s - 3.001) < 1e-9,
              "the call itself is not in it");
        CHECK(isnan(cases[k].health) ? isnan(r.health) : fabs(r.health - cases[k].health) < 1e-9, cases[k].why);
        CHECK_INT(r.level, cases[k].level, cases[k].why);
        CHECK_INT(r.nadvice, cases[k].advice, cases[k].why);
        cbx_compilation_reset(w);
        cbx_compilation_see(w, &r);
        CHECK(r.calls == 0 && isnan(r.hit_rate), "forgotten");
        cbx_compilation_free(w);
    }
    CHECK_STR(cbx_compile_level_name(CBX_COMPILE_EXCELLENT), "excellent", "name");
    CHECK_STR(cbx_compile_level_name((cbx_compile_level)9), "?", "no name");
    cbx_ctx_free(ctx);
}

/* Two signatures, one of them called once. */
static void recorded(void **state)
{
    cbx_ctx *ctx = context();
    cbx_compilation *b = NULL;
    cbx_compiled_signature s;
    cbx_compilation_report r;
    cbx_err err = CBX_ERR_INIT;
    (void)state;
    CHECK_OK(cbx_compilation_open(ctx, &b, &err), &err, "open");
    CHECK(!cbx_compilation_signature(b, 0, &s), "empty");
    for (int i = 0; i < 4; i++) CHECK_OK(cbx_compilation_record(b, "f32(3)", i ? 0.5 : 2.0, &err), &err, "record");
    CHECK_OK(cbx_compilation_record(b, "f32(4)", 3.0, &err), &err, "another");
    CHECK_STATUS(cbx_compilation_record(b, "f32(4)", NAN, &err), CBX_EDOM, "no time");
    CHECK_STATUS(cbx_compilation_record(b, "f32(4)", -1, &err), CBX_EDOM, "no time");
    CHECK(cbx_compilation_signature(b, 0, &s) && s.calls == 4 && s.first_s == 2 && s.steady_s == 0.5, "known");
    CHECK_LE(fabs(s.compile_s - 1.5), 1e-12, "the call itself is not in it");
    CHECK_STR(s.text, "f32(3)", "as recorded");
    CHECK(cbx_compilation_signature(b, 1, &s) && s.calls == 1 && isnan(s.steady_s) && isnan(s.compile_s), "once");
    CHECK(!cbx_compilation_signature(b, 2, &s), "no more");
    cbx_compilation_see(b, &r);
    CHECK(r.calls == 5 && r.hits == 3 && r.signatures == 2 && r.known == 1 && r.total_compile_s == 1.5, "report");
    cbx_compilation_reset(b);
    CHECK(!cbx_compilation_signature(b, 0, &s), "forgotten");
    CHECK_OK(cbx_compilation_record(b, "f32(4)", 0, &err), &err, "goes on");
    cbx_compilation_free(b);
    cbx_compilation_free(NULL);
    cbx_ctx_free(ctx);
}

static cbx_status books(cbx_ctx *ctx, void *user)
{
    static const char *const words[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "a" };
    cbx_compilation *b = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = cbx_compilation_open(ctx, &b, &err);
    (void)user;
    for (size_t i = 0; !st && i < CBX_LEN(words); i++) st = cbx_compilation_record(b, words[i], 1, &err);
    cbx_compilation_free(b);
    return st;
}

/* ---- launches ---- */

typedef struct plan {
    int launches;
    bool fails, nan;
} plan;

/* Takes 5 s where its cache is empty, 1 s where it is not, and 0.5 s steadily. */
static cbx_status a_launch(void *user, cbx_launch_times *out, cbx_err *err)
{
    const char *folder = getenv("CBX_TEST_CACHE");
    char path[512];
    plan *p = user;
    FILE *f;
    p->launches++;
    if (p->fails) return cbx_fail(err, CBX_EDOM, "the call is as short as an empty one");
    *out = (cbx_launch_times){ 5.5, p->nan ? NAN : 0.5 };
    if (!folder) return CBX_OK;
    snprintf(path, sizeof path, "%s/compiled", folder);
    if (access(path, F_OK) == 0) out->first_s = 1.5;
    f = fopen(path, "w");
    if (f) fclose(f);
    return f ? CBX_OK : cbx_fail(err, CBX_EIO, "no cache in '%s'", folder);
}

static void cold_and_warm(void **state)
{
    cbx_launches_opts o = CBX_LAUNCHES_OPTS_INIT;
    cbx_launches_report r;
    cbx_ctx *ctx = context();
    cbx_err err = CBX_ERR_INIT;
    plan p = { 0 };
    (void)state;
    o.launches = 6;
    setenv("CBX_TEST_CACHE", "/no/such/folder", 1);
    o.cache_env = "CBX_TEST_CACHE";
    CHECK_OK(cbx_launches_measure(ctx, a_launch, &p, &o, &r, &err), &err, "cold and warm");
    CHECK(r.cold.n == 6 && r.warm.n == 6, "so many of each");
    CHECK(r.cold.compile.value == 5 && r.cold.compile.lower == 5 && r.cold.compile.level > 0.95, "all of it");
    CHECK(r.warm.compile.value == 1 && r.warm.first.value == 1.5 && r.warm.steady.value == 0.5, "found in the cache");
    CHECK(r.saved_s == 4, "what the cache saves");
    for (size_t i = 0; i < 6; i++)
        CHECK(r.cold.times[i].first_s == 5.5 && r.warm.times[i].first_s == 1.5, "every cold one, every warm one");
    CHECK_INT(p.launches, 6 + 1 + 6, "cold ones, one that fills the cache, warm ones");
    CHECK_STR(getenv("CBX_TEST_CACHE"), "/no/such/folder", "the variable is as it was");
    cbx_launches_report_clear(&r);
    cbx_launches_report_clear(&r);
    unsetenv("CBX_TEST_CACHE");
    o.cache_env = NULL;
    CHECK_OK(cbx_launches_measure(ctx, a_launch, &p, &o, &r, &err), &err, "cold alone");
    CHECK(r.warm.n == 0 && isnan(r.saved_s) && r.cold.first.value == 5.5, "no cache to be warm with");
    cbx_launches_report_clear(&r);
    cbx_ctx_free(ctx);
}

static void launches_that_fail(void **state)
{
    static const struct {
        plan p;
        cbx_status status;
        const char *part;
    } cases[] = {
        { { .fails = true }, CBX_EDOM, "is as short as an empty one" },
        { { .nan = true }, CBX_EDOM, "must be at least 0 s" },
    };
    cbx_launches_opts o = CBX_LAUNCHES_OPTS_INIT;
    cbx_launches_report r = { .saved_s = 77 };
    cbx_ctx *ctx = context();
    cbx_err err = CBX_ERR_INIT;
    (void)state;
    for (size_t k = 0; k < CBX_LEN(cases); k++) {
        plan p = cases[k].p;
        CHECK_STATUS(cbx_launches_measure(ctx, a_launch, &p, &o, &r, &err), cases[k].status, cases[k].part);
        CHECK(strstr(err.message, cases[k].part) != NULL, err.message);
    }
    o.launches = 0;
    CHECK_STATUS(cbx_launches_measure(ctx, a_launch, &(plan){ 0 }, &o, &r, &err), CBX_EINVAL, "none");
    o.launches = 2;
    o.cache_env = "NO=NAME";
    CHECK_STATUS(cbx_launches_measure(ctx, a_launch, &(plan){ 0 }, &o, &r, &err), CBX_EINVAL, "no variable");
    CHECK_STATUS(cbx_launches_measure(ctx, NULL, NULL, NULL, &r, &err), CBX_EINVAL, "nothing");
    o.struct_size = 3;
    CHECK_STATUS(cbx_launches_measure(ctx, a_launch, &(plan){ 0 }, &o, &r, &err), CBX_EINVAL, "version");
    CHECK(r.saved_s == 77, "untouched");
    cbx_ctx_free(ctx);
}

#define DOCUMENT                                                                                                       \
    "{\"schema\":\"calibrax-profile\",\"version\":1,\"metrics\":{\"first_call\":{\"value\":0.75},\"call_time\":{"      \
    "\"value\":0.25}}}"

static void programs(void **state)
{
    static const struct {
        const char *script;
        cbx_status status;
        const char *part;
    } cases[] = {
        { "echo '" DOCUMENT "'", CBX_OK, "" },
        { "kill -9 $$", CBX_ECHILD, "was killed by signal 9" },
        { "echo first; echo 'no such code' >&2; exit 7", CBX_ECHILD, "ended with status 7: no such code" },
        { "exit 130", CBX_EINTERRUPTED, "interrupted" },
        { "echo '{\"schema\":\"another\"}'", CBX_EFORMAT, "not of schema calibrax-profile" },
        { "echo '{'", CBX_EFORMAT, "a launch" },
        { "true", CBX_EFORMAT, "a launch" },
    };
    cbx_ctx *ctx = context();
    cbx_err err = CBX_ERR_INIT;
    const char *none[] = { "/no/such/program", NULL };
    cbx_launch_program p = { ctx, none, "a launch" };
    cbx_launch_times t = { 7, 7 };
    (void)state;
    CHECK_STATUS(cbx_launch_program_run(&p, &t, &err), CBX_ENOENT, "no such program");
    for (size_t k = 0; k < CBX_LEN(cases); k++) {
        const char *argv[] = { "/bin/sh", "-c", cases[k].script, NULL };
        t = (cbx_launch_times){ 7, 7 };
        p.argv = argv;
        CHECK_STATUS(cbx_launch_program_run(&p, &t, &err), cases[k].status, cases[k].script);
        if (cases[k].status) {
            CHECK(strstr(err.message, cases[k].part) != NULL, err.message);
            CHECK(t.first_s == 7, "untouched");
        } else {
            CHECK(t.first_s == 0.75 && t.steady_s == 0.25, "as it wrote");
        }
    }
    cbx_ctx_free(ctx);
}

static cbx_status launches_here(cbx_ctx *ctx, void *user)
{
    cbx_launches_opts o = CBX_LAUNCHES_OPTS_INIT;
    cbx_launches_report r;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;
    (void)user;
    st = cbx_launches_measure(ctx, a_launch, &(plan){ 0 }, &o, &r, &err);
    if (!st) cbx_launches_report_clear(&r);
    return st;
}

static void memory_that_runs_out(void **state)
{
    (void)state;
    CHECK_GT(cbx_test_fail_each(books, NULL, "book"), 10, "texts are copied");
    CHECK_GT(cbx_test_fail_each(launches_here, NULL, "launches"), 1, "times");
}

TEST_FILE()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signatures),         cmocka_unit_test(cold_and_warm), cmocka_unit_test(recorded),
        cmocka_unit_test(launches_that_fail), cmocka_unit_test(programs),      cmocka_unit_test(memory_that_runs_out),
    };
    return cmocka_run_group_tests_name("profiling/compilation", tests, NULL, NULL);
}
