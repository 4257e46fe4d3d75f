/* The guard: waivers laid over findings, and every form of the answer. */
#include "check.h"

#include <stdlib.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/file.h"
#include "calibrax/base/json.h"
#include "calibrax/ci/guard.h"
#include "counted.h"
#include "runs.h"

#define MS_AT(name, value)                                                                                             \
    "{\"name\":\"" name "\",\"scenario\":\"s\",\"tags\":{\"k\":\"v\"},\"metrics\":{\"ms\":{\"value\":" value "}}}"

static cbx_err err;

static cbx_regression *compare(const char *machine, const char *now, const char *base)
{
    cbx_run *a = runs_make(cbx_ctx_allocator(ctx), "m", RUNS_DEFS, now),
            *b = runs_make(cbx_ctx_allocator(ctx), machine, RUNS_DEFS, base);
    cbx_regression *r = NULL;

    CHECK_OK(cbx_regression_create(ctx, a, b, NULL, &r, &err), &err, "compared");
    cbx_run_free(a);
    cbx_run_free(b);
    return r;
}

static cbx_waivers *waivers(const char *list)
{
    char text[2048];
    cbx_waivers *w = NULL;
    int n = snprintf(text, sizeof text, "{\"schema\":\"calibrax-waivers\",\"version\":1,\"waivers\":[%s]}", list);

    CHECK_OK(cbx_waivers_from_text(ctx, text, (size_t)n, "w", &w, &err), &err, list);
    return w;
}

static int64_t at(const char *moment)
{
    int64_t us = 0;

    CHECK_OK(cbx_time_parse_iso(moment, &us, &err), &err, moment);
    return us;
}

static cbx_guard *guard(const cbx_regression *r, const cbx_waivers *w, const char *moment)
{
    cbx_guard *g = NULL;

    CHECK_OK(cbx_guard_create(ctx, r, w, at(moment), &g, &err), &err, "guarded");
    return g;
}

static const char *write(const cbx_guard *g, cbx_guard_format format, cbx_text *out)
{
    cbx_text_reset(out);
    CHECK_OK(cbx_guard_write(g, format, out, &err), &err, "written");
    return cbx_text_str(out);
}

static void check_has(const char *text, const char *part, const char *why)
{
    if (!strstr(text, part)) fail_msg("%s: no '%s' in:\n%s", why, part, text);
}

static size_t occurrences(const char *text, const char *part)
{
    size_t n = 0;

    for (; (text = strstr(text, part)); text += strlen(part)) n++;
    return n;
}

#define SLOW          MS_AT("a", "2") "," MS_AT("b", "1")
#define BASE          MS_AT("a", "1") "," MS_AT("b", "1")
#define W(key, until) "{\"key\":\"" key "\",\"reason\":\"known\",\"until\":\"" until "\"}"

TEST(waived)
{
    static const struct {
        const char *list, *moment;
        int exit_code;
        size_t expired, uses;
        const char *why;
    } cases[] = {
        { "", "2026-01-01T00:00:00Z", 1, 0, 0, "no waiver" },
        { W("a@s{k=v}:ms", "2026-06-30"), "2026-01-01T00:00:00Z", 0, 0, 1, "the whole key" },
        { W("a@*", "2026-06-30"), "2026-06-30T23:59:59.999999Z", 0, 0, 1, "to the end of its last day" },
        { W("a@*", "2026-06-30"), "2026-07-01T00:00:00Z", 1, 1, 0, "expired" },
        { W("b@*", "2026-06-30"), "2026-01-01T00:00:00Z", 1, 0, 0, "another's: what is unchanged needs none" },
        { W("a", "2026-06-30"), "2026-01-01T00:00:00Z", 1, 0, 0, "a part of the key is not the key" },
        { W("a@*", "2026-01-31") "," W("*:ms", "2026-12-31"), "2026-06-01T00:00:00Z", 0, 1, 0,
          "a later one still waives" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_regression *r = compare("m", SLOW, BASE);
        cbx_waivers *w = waivers(cases[i].list);
        cbx_guard *g = guard(r, w, cases[i].moment);
        cbx_json *document = NULL, *first;
        const char *text;
        cbx_text out;
        CHECK_INT(cbx_guard_gate(g)->exit_code, cases[i].exit_code, cases[i].why);
        CHECK_INT(cbx_guard_gate(g)->waived, cases[i].exit_code == 0, cases[i].why);
        cbx_text_init(&out, cbx_allocator_default());
        text = write(g, CBX_GUARD_JSON, &out);
        CHECK(!cbx_json_parse(text, out.len, "answer", &document, NULL), cases[i].why);
        first = cbx_json_at(cbx_json_get(document, "waivers"), 0);
        CHECK_INT(cbx_json_get_bool(first, "expired", false), cases[i].expired, cases[i].why);
        CHECK_INT(cbx_json_get_int(first, "uses", 0), cases[i].uses, cases[i].why);
        CHECK(!cbx_waivers_at(w, cbx_waivers_count(w)), "past the end");
        cbx_json_unref(document);
        cbx_text_clear(&out);
        CHECK_INT(cbx_guard_waiver(g, 0) != NULL, cases[i].exit_code == 0, cases[i].why);
        CHECK(!cbx_guard_waiver(g, 1) && !cbx_guard_waiver(g, 2), "b needs none");
        cbx_guard_free(g);
        cbx_waivers_free(w);
        cbx_regression_free(r);
    }
}

TEST(nothing_cannot_be_waived)
{
    cbx_waivers *w = waivers(W("?@*", "2099-01-01"));
    cbx_regression *r = compare("n", SLOW, BASE);
    cbx_guard *g = guard(r, w, "2026-01-01T00:00:00Z");

    CHECK_INT(cbx_guard_gate(g)->exit_code, 2, "another machine");
    cbx_guard_free(g);
    cbx_regression_free(r);
    r = compare("m", MS_AT("c", "1"), BASE);
    g = guard(r, w, "2026-01-01T00:00:00Z");
    CHECK_INT(cbx_guard_gate(g)->exit_code, 2, "no key in common, though both dropped ones are waived");
    cbx_guard_free(g);
    cbx_regression_free(r);
    cbx_waivers_free(w);
}

TEST(waivers_read_strictly)
{
#define HEAD "\"schema\":\"calibrax-waivers\",\"version\":1"
    static const struct {
        const char *text;
        cbx_status wanted;
        const char *part;
    } cases[] = {
        { "{" HEAD ",\"waivers\":[]}", CBX_OK, "" },
        { "[]", CBX_EFORMAT, "expected an object" },
        { "{", CBX_EFORMAT, "" },
        { "{\"schema\":\"x\",\"schema_version\":1,\"waivers\":[]}", CBX_EFORMAT, "not 'calibrax-waivers'" },
        { "{\"schema\":\"calibrax-waivers\",\"schema_version\":2,\"waivers\":[]}", CBX_EVERSION, "version 2" },
        { "{\"schema\":\"calibrax-waivers\",\"version\":2,\"waivers\":[]}", CBX_EVERSION, "version 2" },
        { "{\"schema\":\"calibrax-waivers\",\"waivers\":[]}", CBX_EFORMAT, "version" },
        { "{" HEAD ",\"waivers\":{}}", CBX_EFORMAT, "waivers" },
        { "{" HEAD ",\"waivers\":[],\"waiver\":[]}", CBX_EFORMAT, "unknown member 'waiver';" },
        { "{" HEAD ",\"waivers\":[3]}", CBX_EFORMAT, "waivers.0" },
        { "{" HEAD ",\"waivers\":[{\"key\":\"*:ms\",\"reason\":\"r\"}]}", CBX_EFORMAT, "until" },
        { "{" HEAD ",\"waivers\":[{\"key\":\"*:ms\",\"until\":\"2026-01-01\"}]}", CBX_EFORMAT, "reason" },
        { "{" HEAD ",\"waivers\":[{\"key\":\"*:ms\",\"reason\":\"\",\"until\":\"2026-01-01\"}]}", CBX_EFORMAT,
          "reason is empty" },
        { "{" HEAD ",\"waivers\":[{\"key\":\"*:ms\",\"reason\":\"r\",\"until\":\"2026-02-29\"}]}", CBX_EFORMAT,
          "not a date" },
        { "{" HEAD ",\"waivers\":[{\"key\":\"*:ms\",\"reason\":\"r\",\"until\":\"2026-1-01\"}]}", CBX_EFORMAT,
          "not a date" },
        { "{" HEAD ",\"waivers\":[{\"key\":\"*:ms\",\"reason\":\"r\",\"until\":\"2026-01-01 \"}]}", CBX_EFORMAT,
          "not a date" },
        { "{" HEAD ",\"waivers\":[{\"key\":\"*:ms\",\"reason\":\"r\",\"until\":\"2024-02-29\"}]}", CBX_OK, "" },
        { "{" HEAD ",\"waivers\":[{\"key\":\"*:ms\",\"reason\":\"r\",\"until\":\"2026-01-01\",\"note\":1}]}",
          CBX_EFORMAT, "'note'" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_waivers *w = NULL;
        CHECK_STATUS(cbx_waivers_from_text(ctx, cases[i].text, strlen(cases[i].text), "w", &w, &err), cases[i].wanted,
                     cases[i].text);
        if (cases[i].wanted) check_has(err.message, cases[i].part, cases[i].text);
        CHECK((w != NULL) == !cases[i].wanted, "given on success only");
        cbx_waivers_free(w);
    }
    {
        cbx_waivers *w = NULL;
        CHECK_STATUS(cbx_waivers_read(ctx, "/nonexistent/waivers.json", &w, &err), CBX_ENOENT,
                     "no file is no waiver list");
    }
}

TEST(text_and_commands)
{
    cbx_regression *r = compare("m", SLOW, BASE "," MS_AT("gone", "1"));
    cbx_waivers *w = waivers(W("gone*", "2025-12-31") "," W("b@*", "2027-01-01"));
    cbx_guard *g = guard(r, w, "2026-01-01T00:00:00Z");
    const char *s;
    cbx_text out;

    cbx_text_init(&out, cbx_ctx_allocator(ctx));
    s = write(g, CBX_GUARD_TEXT, &out);
    CHECK(strstr(s, "FAILED: 1 regressed\n") == s, "the answer first");
    check_has(s, "  - a@s{k=v}:ms regressed by +100 %: 2 ms, was 1 (threshold 5 %, by value)\n", "the regression");
    check_has(s, "  - gone@s{k=v}:ms is in the baseline but missing in the run", "what is dropped");
    check_has(s, "waiver 'gone*' expired after 2025-12-31 and has no effect; 1 findings would need it", "expired");
    check_has(s, "waiver 'b@*' (until 2027-01-01) is not needed", "not needed");
    CHECK(!strstr(s, "b@s{k=v}:ms unchanged"), "no line for what is unchanged");

    s = write(g, CBX_GUARD_GITHUB, &out);
    CHECK(strstr(s, "::error title=FAILED::") == s, "the answer first");
    check_has(s, "::error title=regressed::a@s{k=v}:ms regressed by +100 %25", "escaped");
    CHECK_INT(occurrences(s, "\n"), 5, "answer, two findings, two notes");
    cbx_text_clear(&out);
    cbx_guard_free(g);
    cbx_waivers_free(w);
    cbx_regression_free(r);
}

TEST(json)
{
    cbx_regression *r = compare("m", MS_AT("a", "NaN") "," MS_AT("b", "1"), BASE);
    cbx_waivers *w = waivers(W("a@*", "2027-01-01"));
    cbx_guard *g = guard(r, w, "2026-01-01T00:00:00Z");
    cbx_json *root = NULL, *f;
    cbx_text out;

    cbx_text_init(&out, cbx_ctx_allocator(ctx));
    write(g, CBX_GUARD_JSON, &out);
    CHECK_OK(cbx_json_parse(out.data, out.len, "answer", &root, &err), &err, "reads back");
    CHECK_STR(cbx_json_get_string(root, "schema", ""), "calibrax-gate", "schema");
    CHECK_INT(cbx_json_get_int(root, "version", 0), 1, "version");
    CHECK_INT(cbx_json_get_int(root, "exit_code", -1), 0, "waived");
    CHECK_INT(cbx_json_get_int(root, "waived", 0), 1, "one");
    CHECK_STR(cbx_json_get_string(root, "machines", ""), "same", "machines");
    CHECK_INT(cbx_json_get_int(cbx_json_get(root, "counts"), "unchanged", 0), 1, "counts");
    CHECK_INT(cbx_json_length(cbx_json_get(root, "counts")), CBX_OUTCOME_COUNT, "every outcome is counted");
    f = cbx_json_at(cbx_json_get(root, "findings"), 0);
    CHECK_STR(cbx_json_get_string(f, "outcome", ""), "not-a-number", "outcome");
    CHECK_STR(cbx_json_get_string(f, "waived_by", ""), "a@*", "by whom");
    CHECK(cbx_json_has(f, "current") && !cbx_json_get(f, "current"), "not a number is null");
    f = cbx_json_at(cbx_json_get(root, "waivers"), 0);
    CHECK_INT(cbx_json_get_int(f, "uses", 0), 1, "used");
    cbx_json_unref(root);
    cbx_text_clear(&out);
    cbx_guard_free(g);
    cbx_waivers_free(w);
    cbx_regression_free(r);
}

/* Names that would end a cell, a tag, an attribute or a command. */
TEST(hostile_names)
{
#define HOSTILE "x|y<b>&'\\\"`@me`]]>\\u0007\\n::error::z"
    cbx_regression *r = compare("m", MS_AT(HOSTILE, "2"), MS_AT(HOSTILE, "1"));
    cbx_guard *g = guard(r, NULL, "2026-01-01T00:00:00Z");
    const char *s;
    cbx_text out;

    cbx_text_init(&out, cbx_ctx_allocator(ctx));
    s = write(g, CBX_GUARD_MARKDOWN, &out);
    CHECK(!strstr(s, "x|y") && !strstr(s, "<b>") && !strstr(s, "@me"), "no cell, tag or user");
    CHECK_INT(occurrences(s, "\n"), 9, "no line of its own");
    s = write(g, CBX_GUARD_JUNIT, &out);
    CHECK(!strstr(s, "<b>") && !strstr(s, "&'") && !strchr(s, 7), "escaped");
    check_has(s, "x|y&lt;b&gt;&amp;", "escaped");
    s = write(g, CBX_GUARD_GITHUB, &out);
    CHECK_INT(occurrences(s, "\n"), 2, "no command of its own");
    cbx_text_clear(&out);
    cbx_guard_free(g);
    cbx_regression_free(r);
}

TEST(junit)
{
    static const struct {
        const char *machine, *now, *base, *list, *suite;
        size_t failures, errors, skipped;
        const char *why;
    } cases[] = {
        { "m", BASE, BASE, "", "tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"0\"", 0, 0, 0, "all pass" },
        { "m", SLOW, BASE, "", "tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\"", 1, 0, 0, "one failure" },
        { "m", SLOW, BASE, W("?@*", "2099-01-01"), "tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"1\"", 0, 0, 1,
          "waived is skipped" },
        { "m", MS_AT("a", "1"), BASE, "", "tests=\"2\" failures=\"0\" errors=\"1\" skipped=\"0\"", 0, 1, 0,
          "dropped is an error" },
        { "n", BASE, BASE, "", "tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\"", 0, 1, 0,
          "refused is an error of its own" },
        { "m", BASE, "", "", "tests=\"3\" failures=\"0\" errors=\"1\" skipped=\"0\"", 0, 1, 0,
          "nothing to compare with" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_regression *r = compare(cases[i].machine, cases[i].now, cases[i].base);
        cbx_waivers *w = waivers(cases[i].list);
        cbx_guard *g = guard(r, w, "2026-01-01T00:00:00Z");
        cbx_text out;
        const char *s;
        cbx_text_init(&out, cbx_ctx_allocator(ctx));
        s = write(g, CBX_GUARD_JUNIT, &out);
        check_has(s, cases[i].suite, cases[i].why);
        CHECK_INT(occurrences(s, "<failure "), cases[i].failures, cases[i].why);
        CHECK_INT(occurrences(s, "<error "), cases[i].errors, cases[i].why);
        CHECK_INT(occurrences(s, "<skipped "), cases[i].skipped, cases[i].why);
        CHECK_INT(occurrences(s, "<testcase "), strtol(strstr(s, "tests=\"") + 7, NULL, 10), "as many as it says");
        cbx_text_clear(&out);
        cbx_guard_free(g);
        cbx_waivers_free(w);
        cbx_regression_free(r);
    }
}

/* 1,200 findings: the comment stays below its limit, and the regression is in it though it
 * comes last. */
TEST(markdown_is_bounded)
{
    static char points[2][1 << 16];
    cbx_regression *r;
    cbx_guard *g;
    cbx_text out;
    const char *s;

    for (int k = 0; k < 2; k++) {
        int n = snprintf(
            points[k], sizeof points[k],
            "{\"name\":\"a rather long name of a point so that rows take room\",\"scenario\":\"s\",\"metrics\":{");
        for (int i = 0; i < 1200; i++)
            n += snprintf(points[k] + n, sizeof points[k] - (size_t)n, "\"m%d\":{\"value\":1.25},", i);
        snprintf(points[k] + n, sizeof points[k] - (size_t)n, "\"ms\":{\"value\":%d}}}", k + 1);
    }
    r = compare("m", points[1], points[0]);
    g = guard(r, NULL, "2026-01-01T00:00:00Z");
    cbx_text_init(&out, cbx_ctx_allocator(ctx));
    s = write(g, CBX_GUARD_MARKDOWN, &out);
    CHECK_LE(strlen(s), CBX_GUARD_MARKDOWN_BYTES, "[bytes] bounded");
    CHECK_GT(strlen(s), CBX_GUARD_MARKDOWN_BYTES / 2, "[bytes] and used");
    check_has(s, "more rows are not shown.\n", "the rest is counted");
    cbx_text_clear(&out);
    cbx_guard_free(g);
    cbx_regression_free(r);
}

static cbx_status write_all(cbx_ctx *c, void *user)
{
    cbx_regression *r = user;
    cbx_waivers *w = NULL;
    cbx_guard *g = NULL;
    cbx_err e = CBX_ERR_INIT;
    static const char list[] = "{" HEAD ",\"waivers\":[" W("b*", "2020-01-01") "," W("?@*", "2099-01-01") "]}";
    cbx_status st = cbx_waivers_from_text(c, list, sizeof list - 1, "w", &w, &e);

    if (!st) st = cbx_guard_create(c, r, w, 1800000000000000, &g, &e);
    for (int i = 0; !st && i <= CBX_GUARD_BADGE; i++) {
        cbx_text out;
        cbx_text_init(&out, cbx_ctx_allocator(c));
        st = cbx_guard_write(g, (cbx_guard_format)i, &out, &e);
        cbx_text_clear(&out);
    }
    cbx_guard_free(g);
    cbx_waivers_free(w);
    return st;
}

static cbx_status read_waivers(cbx_ctx *c, void *user)
{
    cbx_waivers *w = NULL;
    cbx_err e = CBX_ERR_INIT;
    cbx_status st = cbx_waivers_read(c, user, &w, &e);

    CHECK(!st == (w != NULL), "given on success only");
    CHECK(!st == !*e.message, "a sentence comes with a failure, and only with one");
    cbx_waivers_free(w);
    return st;
}

TEST(out_of_memory)
{
    static const char list[] = "{" HEAD ",\"waivers\":[" W("b*", "2020-01-01") "]}";
    char folder[64], path[96];
    cbx_regression *r = compare("m", SLOW, BASE);

    CHECK_GT(cbx_test_fail_each(write_all, r, "guard"), 8, "allocations failed");
    snprintf(path, sizeof path, "%s/waivers.json", cbx_test_folder(folder));
    CHECK_OK(cbx_file_write_atomic(ctx, path, list, sizeof list - 1, &err), &err, "a file of waivers");
    CHECK_GT(cbx_test_fail_each(read_waivers, path, "cbx_waivers_read"), 2, "allocations failed");
    cbx_test_folder_remove(folder);
    cbx_regression_free(r);
}

TESTS(.seconds = 600, .setup = counted_setup, .teardown = counted_teardown)
