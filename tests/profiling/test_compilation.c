/* Signatures on a played clock; launches that say what they are told, die, or keep a cache. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "calibrax/array/backend.h"
#include "calibrax/array/ops.h"
#include "calibrax/array/transform.h"
#include "calibrax/profiling/compilation.h"
#include "fail_alloc.h"

static uint64_t now_ns;
static uint64_t played_clock(void) { return now_ns; }

/* Compiles for 3 s whenever a length is new, works 1 ms a call. */
typedef struct compiler {
    size_t known[16], n;
} compiler;

static cbx_status compiled(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    compiler *k = user;
    size_t length = cbx_array_count(in[0]);
    bool found = false;
    (void)nin, (void)nout;
    for (size_t i = 0; i < k->n; i++) found |= k->known[i] == length;
    if (!found) {
        k->known[k->n++] = length;
        now_ns += 3000000000u;
    }
    now_ns += 1000000;
    out[0] = cbx_add(c, in[0], in[0]);
    return CBX_OK;
}

static cbx_ctx *context(void)
{
    cbx_ctx *ctx = NULL;
    CHECK_OK(cbx_ctx_create(NULL, &ctx, NULL), (&(cbx_err){ 0 }), "context");
    return ctx;
}

static cbx_status call_with(cbx_ctx *ctx, const cbx_compilation *w, size_t length, cbx_err *err)
{
    cbx_array *r = NULL, *x;
    cbx_scope scope;
    cbx_status st;
    cbx_scope_open(ctx, &scope);
    x = cbx_ones(ctx, 1, &length, CBX_F64);
    cbx_fn_call(ctx, cbx_compilation_fn(w), 1, &x, 1, &r);
    st = cbx_scope_close(&scope, err);
    return st;
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
    cbx_compilation_opts o = CBX_COMPILATION_OPTS_INIT;
    cbx_ctx *ctx = context();
    cbx_err err = CBX_ERR_INIT;
    (void)state;
    o.clock_ns = played_clock;
    for (size_t k = 0; k < CBX_LEN(cases); k++) {
        compiler user = { .n = 0 };
        cbx_compilation *w = NULL;
        cbx_compilation_report r;
        CHECK_OK(cbx_compilation_watch(ctx, CBX_FN(compiled, &user, 1, 1), &o, &w, &err), &err, cases[k].why);
        for (size_t i = 0; i < cases[k].n; i++) {
            CHECK_OK(call_with(ctx, w, cases[k].lengths[i], &err), &err, cases[k].why);
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

static void faults(void **state)
{
    cbx_compilation_opts o = CBX_COMPILATION_OPTS_INIT;
    cbx_ctx *ctx = context();
    compiler user = { .n = 0 };
    cbx_compilation *w = NULL;
    cbx_compilation_report r;
    const cbx_array_desc d = { CBX_F64, 1, { 4 } };
    cbx_array_desc result;
    cbx_err err = CBX_ERR_INIT;
    (void)state;
    o.as_it_is = true;
    CHECK_STATUS(cbx_compilation_watch(ctx, NULL, NULL, &w, &err), CBX_EINVAL, "no function");
    CHECK_OK(cbx_compilation_watch(ctx, CBX_FN(compiled, &user, 1, 1), &o, &w, &err), &err, "watch");
    CHECK_OK(cbx_fn_infer(ctx, cbx_compilation_fn(w), 1, &d, 1, &result, &err), &err, "shapes");
    cbx_compilation_see(w, &r);
    CHECK_INT(r.calls, 0, "abstract operands are no call");
    cbx_compilation_free(w);
    cbx_compilation_free(NULL);
    o.struct_size = 2;
    CHECK_STATUS(cbx_compilation_watch(ctx, CBX_FN(compiled, &user, 1, 1), &o, &w, &err), CBX_EINVAL, "version");
    cbx_ctx_free(ctx);
}

/* Calls that somebody else makes: two signatures, one of them called once. */
static void book(void **state)
{
    cbx_ctx *ctx = context();
    cbx_compilation *b = NULL, *w = NULL;
    cbx_compiled_signature s;
    cbx_compilation_report r;
    compiler user = { .n = 0 };
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
    CHECK_OK(cbx_compilation_watch(ctx, CBX_FN(compiled, &user, 1, 1), NULL, &w, &err), &err, "watch");
    CHECK_STATUS(cbx_compilation_record(w, "f32(4)", 1, &err), CBX_EINVAL, "its calls are recorded by themselves");
    CHECK_OK(call_with(ctx, w, 3, &err), &err, "call");
    CHECK(cbx_compilation_signature(w, 0, &s) && !s.text && s.calls == 1, "of arrays");
    cbx_compilation_free(w);
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

static cbx_status watches(cbx_ctx *ctx, void *user)
{
    compiler k = { .n = 0 };
    cbx_compilation *w = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = cbx_ctx_set_backend(ctx, NULL, &err); /* makes what the engine keeps in a context */
    (void)user;
    if (!st) st = cbx_compilation_watch(ctx, CBX_FN(compiled, &k, 1, 1), NULL, &w, &err);
    for (size_t i = 1; i <= 10 && !st; i++) st = call_with(ctx, w, i, &err);
    cbx_compilation_free(w);
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
    if (p->fails) return cbx_fail(err, CBX_EDOM, "the call cannot be told from none");
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
        { { .fails = true }, CBX_EDOM, "cannot be told from none" },
        { { .nan = true }, CBX_EDOM, "no times" },
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
        { "kill -9 $$", CBX_ECHILD, "died of signal 9" },
        { "echo first; echo 'no such code' >&2; exit 7", CBX_ECHILD, "ended with status 7: no such code" },
        { "exit 130", CBX_EINTERRUPTED, "interrupted" },
        { "echo '{\"schema\":\"another\"}'", CBX_EFORMAT, "no document of schema calibrax-profile" },
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
    CHECK_GT(cbx_test_fail_each(watches, NULL, "watch"), 3, "signatures grow");
    CHECK_GT(cbx_test_fail_each(books, NULL, "book"), 10, "texts are copied");
    CHECK_GT(cbx_test_fail_each(launches_here, NULL, "launches"), 1, "times");
}

TEST_FILE()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signatures),           cmocka_unit_test(faults),
        cmocka_unit_test(cold_and_warm),        cmocka_unit_test(book),
        cmocka_unit_test(launches_that_fail),   cmocka_unit_test(programs),
        cmocka_unit_test(memory_that_runs_out),
    };
    return cmocka_run_group_tests_name("profiling/compilation", tests, NULL, NULL);
}
