/* Calls by signature. */
#include "check.h"

#include <math.h>
#include <stdio.h>

#include "calibrax/profiling/compilation.h"
#include "fail_alloc.h"

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

TEST(signatures)
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
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
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
TEST(recorded)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_compilation *b = NULL;
    cbx_compiled_signature s;
    cbx_compilation_report r;
    cbx_err err = CBX_ERR_INIT;
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

TEST(memory_that_runs_out) { CHECK_GT(cbx_test_fail_each(books, NULL, "book"), 10, "texts are copied"); }

TESTS()
