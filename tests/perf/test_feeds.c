/*
 * What is made of rows, from C: the gate, the feeds and the page survive every failed allocation,
 * and say what options may not be. What they answer is tested through the program:
 * tests/cli/test_gate.py, test_feeds.py, test_page.py.
 */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/rng.h"
#include "calibrax/perf/gate/drift.h"
#include "calibrax/perf/gate/gate.h"
#include "calibrax/perf/report/growth_lines.h"
#include "calibrax/perf/report/report.h"
#include "calibrax/perf/sweep/run_table.h"
#include "calibrax/statistics/estimate.h"
#include "fail_alloc.h"
#include "suites/nitrix/feeds/coverage.h"
#include "suites/nitrix/feeds/feed.h"

/* Four rows of a baseline that grows and of its rival, twenty launches each; slow: the rival of the
 * second run. */
static char *make_rows(int run, double slow)
{
    size_t size = 1 << 16, used = 0;
    char *text = malloc(size);

    for (int i = 0; i < 10; i++) {
        int n = 16 << (i / 2);
        double t = 1e-6 * n * (i % 2 ? slow : 1);
        used += (size_t)snprintf(
            text + used, size - used,
            "{\"run_id\":\"20260101T0000%02d.000000+0000__abcdef0\",\"case\":\"semiring_matmul\",\"baseline\":\"%s\","
            "\"platform\":\"cpu\",\"framework\":\"native\",\"param_point\":{\"n\":%d,\"alg\":\"log\",\"seed\":0},"
            "\"status\":\"ok\","
            "\"metrics\":{\"steady_time\":{\"min\":%g,\"median\":%g,\"p95\":%g,\"n\":20,\"launches\":[",
            run, i % 2 ? "naive-dense" : "stream", n, t, t, t);
        for (int k = 0; k < 20; k++)
            used += (size_t)snprintf(text + used, size - used, "%s%.9g", k ? "," : "",
                                     t * (1 + 0.001 * ((k * 7) % 20 - 9.5)));
        used += (size_t)snprintf(
            text + used, size - used,
            "]},\"host_rss\":{\"value\":9}},\"ratio\":{\"vs\":\"stream\",\"metric\":\"min\",\"value\":1},"
            "\"provenance\":{},\"schema_version\":1,\"machine\":\"m\",\"representative\":%s}\n",
            i < 2 ? "true" : "false");
    }
    return text;
}

typedef struct tables {
    cbx_ctx *ctx;
    cbx_rows base, now;
} tables;

static void read_text(cbx_rows *rows, char *text)
{
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        cbx_json *v = NULL;
        CHECK_STATUS(cbx_json_parse(line, strlen(line), "row", &v, NULL), CBX_OK, line);
        CHECK_STATUS(cbx_rows_add_json(rows, v, "row", NULL), CBX_OK, line);
        cbx_json_unref(v);
    }
    free(text);
}

static int setup(void **state)
{
    static tables t;

    cbx_rows_init(&t.base, cbx_allocator_default());
    cbx_rows_init(&t.now, cbx_allocator_default());
    read_text(&t.base, make_rows(0, 4));
    read_text(&t.now, make_rows(1, 4.4));
    *state = &t;
    return cbx_ctx_create(NULL, &t.ctx, NULL);
}

static int teardown(void **state)
{
    tables *t = *state;

    cbx_rows_clear(&t->base);
    cbx_rows_clear(&t->now);
    cbx_ctx_free(t->ctx);
    return 0;
}

static cbx_status gate_once(cbx_ctx *ctx, void *user)
{
    tables *t = user;
    cbx_regression *r = NULL;
    cbx_row_gate_facts facts;
    cbx_gate g;
    cbx_status st = cbx_row_gate(ctx, &t->base, &t->now, NULL, &r, &facts, NULL);

    if (st) return st;
    cbx_regression_gate(r, NULL, &g);
    CHECK_INT(g.exit_code, 1, g.sentence);
    CHECK_INT(g.counts[CBX_OUTCOME_REGRESSED], 5, "every rival is ten per cent slower");
    CHECK_INT(facts.nboth, 10, "keys");
    cbx_regression_free(r);
    return CBX_OK;
}

TEST(gate, setup, teardown)
{
    tables *t = *test_state;
    cbx_row_gate_opts bad[3] = { CBX_ROW_GATE_OPTS_INIT, CBX_ROW_GATE_OPTS_INIT, CBX_ROW_GATE_OPTS_INIT };
    cbx_regression *r = NULL;
    cbx_err err = CBX_ERR_INIT;

    CHECK_GT(cbx_test_fail_each(gate_once, t, "cbx_row_gate"), 50, "allocations");
    bad[0].struct_size = 1;
    bad[1].memory = -1;
    bad[2].p95_ratio = 0.5;
    for (size_t i = 0; i < CBX_LEN(bad); i++)
        CHECK_STATUS(cbx_row_gate(t->ctx, &t->base, &t->now, &bad[i], &r, NULL, &err), CBX_EINVAL, "an option");
    for (size_t i = 0; i < t->now.count; i++) /* what was slower is a limit now: the machine's business */
        if (!strcmp(t->now.rows[i].baseline, "naive-dense")) t->now.rows[i].role = t->base.rows[i].role = "limit";
    CHECK_OK(cbx_row_gate(t->ctx, &t->base, &t->now, NULL, &r, NULL, &err), &err, "limits");
    {
        cbx_gate g;
        cbx_regression_gate(r, NULL, &g);
        CHECK_INT(g.counts[CBX_OUTCOME_REGRESSED], 0, "a limit is not judged");
        cbx_regression_free(r);
    }
    cbx_rows_clear(&t->now);
    CHECK_OK(cbx_row_gate(t->ctx, &t->base, &t->now, NULL, &r, NULL, &err), &err, "an empty table");
    {
        cbx_gate g;
        cbx_regression_gate(r, NULL, &g);
        CHECK_INT(g.exit_code, 2, "is nothing to compare");
        cbx_regression_free(r);
    }
}

/* --- the gate's promise, on drawn launches --- */

enum { DRAWN_ROWS = 50, DRAWN_LAUNCHES = 25, DRAWN_TABLES = 60 };

typedef struct drawn {
    cbx_row rows[DRAWN_ROWS];
    double launches[DRAWN_ROWS][DRAWN_LAUNCHES];
    char points[DRAWN_ROWS][16];
} drawn;

static void draw_table(cbx_rng *rng, const char *run_id, double factor_of_first, drawn *d)
{
    for (int i = 0; i < DRAWN_ROWS; i++) {
        cbx_row *r = &d->rows[i];
        double sorted[DRAWN_LAUNCHES];
        cbx_row_init(r);
        for (int k = 0; k < DRAWN_LAUNCHES; k++)
            d->launches[i][k] = 1e-3 * (i ? 1 : factor_of_first) * exp(0.01 * cbx_rng_normal(rng));
        memcpy(sorted, d->launches[i], sizeof sorted);
        cbx_stat_sort(sorted, DRAWN_LAUNCHES);
        snprintf(d->points[i], sizeof d->points[i], "{\"n\":%d}", i);
        r->run_id = run_id;
        r->case_name = "drawn";
        r->baseline = "stream";
        r->platform = "cpu";
        r->framework = "native";
        r->status = "ok";
        r->machine = "m";
        r->point_json = d->points[i];
        r->has_metrics = true;
        r->min_s = sorted[0];
        r->median_s = r->steady.value = sorted[DRAWN_LAUNCHES / 2];
        r->launch_medians_s = d->launches[i];
        r->nlaunches = DRAWN_LAUNCHES;
    }
}

/* How many of the tables flag a regression, and in how many of them the first row is the
 * only one. */
static void count_flags(cbx_ctx *ctx, double factor, size_t *any, size_t *first_only)
{
    static drawn base, now;
    cbx_rng rng = cbx_rng_make(20260101, (uint64_t)(1000 * factor));
    cbx_rows b = { .rows = base.rows, .count = DRAWN_ROWS }, n = { .rows = now.rows, .count = DRAWN_ROWS };

    *any = *first_only = 0;
    for (int t = 0; t < DRAWN_TABLES; t++) {
        cbx_regression *r = NULL;
        cbx_gate g;
        draw_table(&rng, "20260101T000000.000000+0000__aaaaaaa", 1, &base);
        draw_table(&rng, "20260102T000000.000000+0000__bbbbbbb", factor, &now);
        CHECK_STATUS(cbx_row_gate(ctx, &b, &n, NULL, &r, NULL, NULL), CBX_OK, "a gate");
        cbx_regression_gate(r, NULL, &g);
        *any += g.counts[CBX_OUTCOME_REGRESSED] > 0;
        for (size_t i = 0; g.counts[CBX_OUTCOME_REGRESSED] == 1 && i < cbx_regression_nfindings(r); i++)
            *first_only += cbx_regression_finding(r, i)->outcome == CBX_OUTCOME_REGRESSED &&
                           strstr(cbx_regression_finding(r, i)->tags, "n=0") != NULL;
        cbx_regression_free(r);
    }
}

/* 25 launches that vary by 1 %, tables of 50 rows: at most 5 % of equal tables are flagged, and +2
 * % in one row is found in 90 % and more. */
TEST(false_alarms_and_power, setup, teardown)
{
    size_t any = 0, only = 0;
    tables *t = *test_state;

    count_flags(t->ctx, 1, &any, &only);
    print_message("# of %d equal tables %zu are flagged\n", DRAWN_TABLES, any);
    CHECK_LE(any, 0.05 * DRAWN_TABLES, "false alarms");
    count_flags(t->ctx, 1.02, &any, &only);
    print_message("# of %d tables with +2 %% in one row %zu are flagged, %zu by that row alone\n", DRAWN_TABLES, any,
                  only);
    CHECK_GT(only, 0.9 * DRAWN_TABLES, "power");
}

static cbx_status feeds_once(cbx_ctx *ctx, void *user)
{
    tables *t = user;
    cbx_bundle_opts bundle = CBX_BUNDLE_OPTS_INIT;
    cbx_feed_opts feed = CBX_FEED_OPTS_INIT;
    cbx_growth_line *lines = NULL;
    cbx_json *v = NULL;
    cbx_arena arena;
    size_t n = 0;
    cbx_status st;

    bundle.case_name = feed.case_name = "semiring_matmul";
    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    st = cbx_bundle_make(ctx, &t->now, &bundle, &v, NULL);
    if (!st) cbx_json_unref(v);
    if (!st) st = cbx_feed_make(ctx, &t->now, &feed, &v, NULL);
    if (!st) {
        CHECK(cbx_json_get_double(cbx_json_get(v, "nitrix.semiring.semiring_matmul"), "perf_cpu_ratio", 0) == 0.2273,
              "1 over 4.4, four decimals");
        cbx_json_unref(v);
        st = cbx_coverage_make(ctx, &t->now, NULL, 0, NULL, &v, NULL);
    }
    if (!st) cbx_json_unref(v);
    if (!st) st = cbx_growth_of_rows(ctx, &t->now, 0.95, &arena, &lines, &n, NULL);
    if (!st) {
        CHECK_INT(n, 2, "two lines");
        CHECK(lines[0].exponent.value > 0.99 && lines[0].exponent.value < 1.01, "linear");
        CHECK_INT(lines[0].trust, CBX_GROWTH_VALIDATED, "five sizes on a line");
    }
    cbx_arena_clear(&arena);
    return st;
}

TEST(feeds, setup, teardown)
{
    cbx_json *v = NULL;
    cbx_bundle_opts none = CBX_BUNDLE_OPTS_INIT;
    cbx_err err = CBX_ERR_INIT;
    tables *t = *test_state;

    CHECK_GT(cbx_test_fail_each(feeds_once, t, "the feeds"), 20, "allocations");
    CHECK_STATUS(cbx_bundle_make(t->ctx, &t->now, &none, &v, &err), CBX_EINVAL, "no case");
    CHECK_STR(cbx_growth_trust_name((cbx_growth_trust)99), "?", "a number outside the list");
}

/* The page of three runs with a history; memory may run out anywhere. */
static cbx_status page_once(cbx_ctx *ctx, void *user)
{
    const char *paths[] = { user };
    cbx_report_opts opts = CBX_REPORT_OPTS_INIT;
    cbx_row_index *ix = NULL;
    cbx_rows rows;
    cbx_text out;
    cbx_status st = cbx_row_index_open(ctx, paths, 1, &ix, NULL);

    cbx_rows_init(&rows, cbx_ctx_allocator(ctx));
    cbx_text_init(&out, cbx_ctx_allocator(ctx));
    if (!st) st = cbx_row_index_latest(ix, CBX_ROWS_WHOLE, &rows, NULL, NULL);
    if (!st) {
        opts.history = ix;
        opts.max_bytes = CBX_REPORT_FIRST_PAGE;
        cbx_report_site(&rows, &opts, &out);
        st = cbx_text_check(&out, NULL);
        if (!st) CHECK(strstr(cbx_text_str(&out), "over 3 runs"), "the history is there");
    }
    cbx_text_clear(&out);
    cbx_rows_clear(&rows);
    cbx_row_index_close(ix);
    return st;
}

TEST(page)
{
    char folder[64], path[100];

    cbx_test_folder(folder);
    for (int run = 0; run < 3; run++) {
        char *text = make_rows(run, 4);
        FILE *f;
        snprintf(path, sizeof path, "%s/%d.jsonl", folder, run);
        f = fopen(path, "w");
        CHECK(f != NULL, path);
        *strchr(strchr(text, '\n') + 1, '\n') = 0; /* one point is enough */
        fprintf(f, "%s\n", text);
        fclose(f);
        free(text);
    }
    CHECK_GT(cbx_test_fail_each(page_once, folder, "the page"), 50, "allocations");
    cbx_test_folder_remove(folder);
}

TEST(names)
{
    char buf[160];

    CHECK_STR(cbx_report_case_page("a/b <c>", buf), "case-a-b--c-.html", "a safe file name");
}

/* --- rows corrected as one table --- */

/* Read with the allocator that is told to fail, then corrected: what could not be is as it was. */
static cbx_status settle_once(cbx_ctx *ctx, void *user)
{
    tables *t = user;
    cbx_rows rows;
    cbx_status st = CBX_OK;

    cbx_rows_init(&rows, cbx_ctx_allocator(ctx));
    for (size_t i = 0; !st && i < t->now.count; i++) st = cbx_rows_add_json(&rows, t->now.rows[i].json, "row", NULL);
    if (!st) st = cbx__table_settle("semiring_matmul", &rows, NULL);
    if (!st) CHECK_INT(rows.count, t->now.count, "every row");
    for (size_t i = 0; i < rows.count; i++)
        CHECK_STR(rows.rows[i].baseline, t->now.rows[i].baseline, "in its order, corrected or not");
    cbx_rows_clear(&rows);
    return st;
}

TEST(settling, setup, teardown)
{
    CHECK_GT(cbx_test_fail_each(settle_once, *test_state, "cbx__table_settle"), 10, "allocations");
}

/* --- drift --- */

static cbx_json *manifest_of(const char *cases)
{
    char text[400];
    cbx_json *v = NULL;
    int n = snprintf(text, sizeof text, "{\"schema\":\"nperf-drift\",\"version\":1,\"cases\":{%s}}", cases);

    CHECK_STATUS(cbx_json_parse(text, (size_t)n, "manifest", &v, NULL), CBX_OK, text);
    return v;
}

/* A case that one side alone has was not compared, and does not pass. */
TEST(one_sided_cases_drift)
{
#define CASE(name) "\"" name "\":{\"signature\":\"s\",\"points\":{}}"
    static const struct {
        const char *kept, *now;
        bool all;
        size_t drifted;
        const char *says;
    } cases[] = {
        { CASE("a"), CASE("a"), true, 0, "" },
        { CASE("a"), CASE("a") "," CASE("b"), true, 1, "b: is not in the manifest" },
        { CASE("a") "," CASE("b"), CASE("b"), false, 0, "" },
        { CASE("a") "," CASE("b"), CASE("b"), true, 1, "a: is in the manifest, and there is no such case now" },
        { CASE("a"), CASE("b"), false, 1, "b: is not in the manifest" },
        { "", CASE("b"), false, 1, "b: is not in the manifest" },
    };
#undef CASE

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_json *kept = manifest_of(cases[i].kept), *now = manifest_of(cases[i].now);
        cbx_json *found = NULL;
        const cbx_json *first;
        CHECK_STATUS(cbx_drift_compare(kept, "kept", now, cases[i].all, &found, NULL), CBX_OK, cases[i].now);
        first = cbx_json_at(cbx_json_get(found, "findings"), 0);
        CHECK_INT(cbx_json_get_int(found, "drifted", 99), cases[i].drifted, cases[i].now);
        CHECK_STR(cbx_json_get_string(first, "sentence", ""), cases[i].says, cases[i].says);
        cbx_json_unref(found);
        cbx_json_unref(kept);
        cbx_json_unref(now);
    }
}

TESTS()
